# SPDX-License-Identifier: Apache-2.0
"""A host's kit: made, kept, renewed, and made anew for another lease; a host that asks for more gets none."""

import os
import shutil
import sys
from datetime import datetime, timedelta, timezone
from types import SimpleNamespace

import pytest
from msgspec.structs import replace
from samples.certificate_requests import Signer, csr, packed

from rekindle.federation.authority import Authority
from rekindle.federation.records import KitRecord
from rekindle.records import (
    HostRecord,
    LeaseRecord,
    PlanRecord,
    format_time,
    read_record,
    write_record,
)

NVFLARE = """#!{python}
import pathlib, sys, zipfile
words = sys.argv[sys.argv.index("json") + 1:]
after = lambda option: pathlib.Path(words[words.index(option) + 1])
if words[0] == "cert":
    after("--out").mkdir()
    name = after("--out").name
    asked = pathlib.Path("{asked}")
    (after("--out") / f"{{name}}.request.zip").write_bytes(asked.with_name(asked.name + name).read_bytes())
else:
    (after("--request-dir") / "request.json").read_text()
    with zipfile.ZipFile(words[1]) as archive:
        (member,) = archive.namelist()
        name, signed = member.removesuffix(".crt"), archive.read(member)
    startup = after("-w") / "f" / "prod_00" / name / "startup"
    startup.mkdir(parents=True)
    (startup / ("server.crt" if name == "192.0.2.10" else "client.crt")).write_bytes(signed)
"""


pytestmark = pytest.mark.usefixtures("own_state")


@pytest.fixture
def provision(load, shell, home, tmp_path, monkeypatch):
    """Return what provisions the site gpu-1, whose host has ``asked`` for a certificate."""
    Signer.in_place(monkeypatch)
    monkeypatch.setattr(Authority, "fingerprint", lambda self: "SHA256:0")
    python = tmp_path / "python"
    python.write_text(NVFLARE.format(python=sys.executable, asked=tmp_path / "asked-"))
    python.chmod(0o700)
    write_record(
        home / "host.json", replace(read_record(home / "host.json", HostRecord), root=str(tmp_path / "root"))
    )
    write_record(home / "plan.json", replace(read_record(home / "plan.json", PlanRecord), nvflare="2.9.0"))
    connection = SimpleNamespace(fetch_file=shutil.copy, put_file=shutil.copy)

    def run(asked=None, site="gpu-1", days=None, **more):
        packed(tmp_path / f"asked-{site}", {f"{site}.csr": csr(CN=site)} if asked is None else asked)
        now = datetime.now(timezone.utc)
        ends = format_time(now + timedelta(days=days)) if days else None
        write_record(home / "lease.json", LeaseRecord(host="h200", started=format_time(now), ends=ends))
        args = {
            **{"federation": "rekindle", "role": "site", "site": site, "address": "192.0.2.10", "port": 8002},
            **{"scheme": "tcp", "hosts": ["cpu-1", "gpu-1"], "python": str(python), "wheelhouse": ""},
            **{"payload": "/p", "home": str(home)},
            **more,
        }
        done = load("provision_kit").run(args, _low_level_execute_command=shell, _connection=connection)
        return done.get("msg") or done["changed"]

    return run


def test_a_kit_is_made_once_and_for_another_lease_again(provision, home):
    assert provision() is True
    first = read_record(home / "kit.json", KitRecord)
    assert provision() is False
    assert read_record(home / "kit.json", KitRecord) == first
    for changed in ({"hosts": ["cpu-1", "gpu-1", "gpu-2"]}, {"federation": "other"}):
        assert provision(**changed) is True


def test_a_results_folder_that_was_begun_anew_is_another_lease(provision, home):
    provision()
    (home.parent / "run.json").unlink(missing_ok=True)
    provision()
    assert provision() is False
    content = '{"schema": "rekindle/run/1", "run": "r", "started": "2026-11-27T15:00:00Z", "hosts": []}'
    (home.parent / "run.json").write_text(content)
    assert provision() is True


def test_a_certificate_that_ends_too_early_is_renewed_alone(provision, home, tmp_path):
    provision()
    kit = tmp_path / "root/federation/rekindle/gpu-1"
    (kit / "job").touch()
    assert provision(days=40) is True
    assert (kit / "job").exists()


def test_a_host_that_asks_for_another_name_gets_no_kit(provision, home):
    said = provision({"gpu-1.csr": csr(CN="admin@rekindle.local", role="lead")})
    assert said.startswith("The host asked for a certificate of ")
    assert not (home / "kit.json").exists()


def test_a_request_that_is_too_large_does_not_fill_the_controllers_disk(provision):
    said = provision({"gpu-1.csr": csr(), "a": os.urandom(1 << 20)})
    assert "could not be fetched, or has more than 64 KiB" in said or "has more than 65536 bytes" in said


def test_a_certificate_that_a_host_shows_has_to_be_its_own(provision, tmp_path):
    for site in ("gpu-1", "gpu-2"):
        provision(site=site)
    kits = tmp_path / "root/federation/rekindle"
    shutil.copy(kits / "gpu-2/startup/client.crt", kits / "gpu-1/startup/client.crt")
    assert provision().startswith("The certificate of gpu-1 is for ")


@pytest.mark.parametrize("name", ["server", "admin@rekindle.local", "192.0.2.10"])
def test_a_site_with_the_name_of_another_participant_is_refused(provision, home, name):
    if name == "server":
        write_record(
            home / "plan.json", replace(read_record(home / "plan.json", PlanRecord), nvflare="2.7.3")
        )
    assert "which is the server's or the administrator's" in provision(site=name)
