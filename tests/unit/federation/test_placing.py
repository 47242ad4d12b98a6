"""What hosts of a federation are sent alike, which names their common run."""

import pytest
from msgspec.structs import replace
from report_folders import HOST

from rekindle.federation.placing import Members, common
from rekindle.records import RunSpec, Site, read, write

SITES = tuple(Site(name=f"site-{name}", ranks=1, gpus=(), node=name) for name in ("cpu", "gpu-1", "gpu-2"))


@pytest.fixture
def sent(tmp_path, recordings):
    """Return what a federation of a CPU and two GPU hosts is sent, once one of them has another ``boot``."""
    spec = read(next(recordings.glob("runs/*/spec.json")), RunSpec)

    def of(boot):
        hosts = {"cpu": replace(HOST, gpus=(), driver=None), "gpu-1": HOST, "gpu-2": replace(HOST, boot=boot)}
        for name, host in hosts.items():
            write(tmp_path / name / "host.json", replace(host, host=name))
        members = Members(tmp_path, "server", [*hosts], {*hosts}, 0)
        versions = {"nvflare": "2.7.3", "python": "3.12.3"}
        return replace(spec, sites=SITES, versions={**versions, **members.hardware()})

    return of


def test_all_hosts_run_again_if_one_was_rebooted(sent):
    (first, shared), (second, _), (same, _) = (common(sent(boot), "payload") for boot in ("a", "b", "a"))
    assert first == same != second
    driver = HOST.driver.version
    assert shared.versions == {
        **{"nvflare": "2.7.3", "gpu-1 driver": driver},
        **{"gpu-2 driver": driver, "gpu-2 boot": "a"},
    }
