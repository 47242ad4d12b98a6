# SPDX-License-Identifier: Apache-2.0
"""The authority of a federation: whose kits it gives out."""

import io
import tarfile

import pytest

from rekindle.federation import authority
from rekindle.federation.authority import Authority
from rekindle.records import RecordError

SERVER = {"address": "192.0.2.10", "port": 8002, "scheme": "tcp"}


@pytest.fixture(autouse=True)
def provisioned(monkeypatch):
    """Have NVFlare 2.7's provisioning make a kit with its project's server for each participant."""

    def nvflare(self, *words):
        project = authority.yaml.safe_load((self.folder / "project.yaml").read_text())
        server = project["participants"][0]
        for one in project["participants"]:
            kit = self.folder / "work" / self.name / "prod_00" / one["name"]
            kit.mkdir(parents=True, exist_ok=True)
            (kit / "at").write_text(f"{server['default_host']}:{server['fed_learn_port']}")

    monkeypatch.setattr(Authority, "_nvflare", nvflare)


def at(home, server):
    """Return the server's address in a site's kit."""
    packed = Authority(home, "rekindle", "2.7.3", server).kit("gpu-1", "client")
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        return archive.extractfile("./at").read().decode()


@pytest.mark.parametrize("change", [{"address": "192.0.2.99"}, {"port": 8003}])
def test_the_next_leases_server_is_in_the_kits_of_2_7(tmp_path, change):
    assert at(tmp_path, SERVER) == "192.0.2.10:8002"
    new = SERVER | change
    assert at(tmp_path, new) == f"{new['address']}:{new['port']}"
    assert at(tmp_path, SERVER) == "192.0.2.10:8002"


@pytest.mark.parametrize("name", ["x" * 65, ".", "..", "a/b", "", "gpü"])
def test_what_is_no_name_spoils_no_others_kit(tmp_path, name):
    with pytest.raises(RecordError, match="is no name of a site"):
        Authority(tmp_path, "rekindle", "2.7.3", SERVER).kit(name, "client")
    assert at(tmp_path, SERVER) == "192.0.2.10:8002"
