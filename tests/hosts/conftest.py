# SPDX-License-Identifier: Apache-2.0
"""A lab for all tests of this folder, and site.yml on two of its hosts; both made once."""

import subprocess

import pytest
from federations import AGAIN, EPOCH, HOSTS, SERVER, Going, root
from lab.labs import Lab
from lab.slots import slot
from lab.slurm import SlurmLab
from lab.wheels import fill_wheelhouse
from listing import listing
from runners.plays import SMALLEST, checkout, play
from slurm_runs import PT_DDP


@pytest.fixture(scope="session")
def named(here):
    """Return what makes names for this run's labs, which no other run on this machine has."""
    with slot() as prefix:
        yield lambda name: prefix + name


SECRETS = {
    "etc/environment": "HF_TOKEN=CANARY\nPIP_EXTRA_INDEX_URL=https://me:CANARY@h.example/p\n",
    "home/lease/.netrc": "machine h.example login me password CANARY\n",
    "home/lease/.ssh/id_ed25519": "CANARY\n",
    "home/lease/.aws/credentials": "[default]\naws_secret_access_key = CANARY\n",
    "home/lease/.cache/huggingface/token": "CANARY\n",
    "home/lease/.config/pip/pip.conf": "[global]\nindex-url = https://CANARY@h.example/p?sig=CANARY\n",
}
"""By their place on a host."""


def _leave_secrets(root):
    """Put secrets where a host of a user who works there has them."""
    for place, secret in SECRETS.items():
        path = root / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(secret)
    subprocess.run(["chown", "-R", "1000:1000", root / "home/lease"], check=True)


@pytest.fixture(scope="session")
def pair(named):
    """Return a lab of two hosts, for which every wheel is here."""
    lab = Lab(named("pair"))
    try:
        lab.up(["first", "second"])
        for host in lab.hosts.values():
            _leave_secrets(host.root)
        fill_wheelhouse(lab)
        yield lab
    finally:
        lab.down()


@pytest.fixture(scope="session")
def bare(pair):
    """Return what is on the second host before Rekindle comes."""
    return listing(pair, "second")


@pytest.fixture(scope="session")
def site(pair, bare, small, tmp_path_factory):
    """Return the first run of site.yml on the two."""
    return play("site.yml", pair.inventory, tmp_path_factory.mktemp("results") / "pair", cwd=small)


@pytest.fixture(scope="session")
def cluster(named):
    """Return a SLURM cluster for whose nodes the wheels of pt_ddp are here."""
    lab = SlurmLab(named("jobs"))
    try:
        lab.up()
        fill_wheelhouse(lab, *PT_DDP)
        yield lab
    finally:
        lab.down()


@pytest.fixture(scope="session")
def small(tmp_path_factory):
    """Return a checkout whose pt_ddp has one site, with one rank a node."""
    return checkout(tmp_path_factory.mktemp("small"), pt_ddp=SMALLEST)


@pytest.fixture(scope="session")
def members(named):
    """Return a lab of these hosts, for which every wheel is here; sites know the server by a name."""
    lab = Lab(named("fed"), light=True)
    try:
        lab.up(HOSTS)
        fill_wheelhouse(lab)
        address = lab.hosts[SERVER].address
        for host in HOSTS:
            root(lab, host, f"echo '{address} flare.lab' >>/etc/hosts")
        known = f"rekindle_federation_address: {address}"
        lab.inventory.write_text(
            lab.inventory.read_text().replace(known, known.replace(address, "flare.lab"))
        )
        yield lab
    finally:
        lab.down()


@pytest.fixture(scope="session")
def shop(tmp_path_factory):
    """Return a checkout whose pt_ddp has one rank a site, and rounds that may be LONG."""
    folder = checkout(tmp_path_factory.mktemp("federation"), pt_ddp={"ranks_per_site": 1})
    client = folder / "flare_jobs/pt_ddp/client.py"
    slow = f"            time.sleep(args.local_epoch > 8)\n{EPOCH}"
    client.write_text(client.read_text().replace(EPOCH, slow))
    return folder


@pytest.fixture(scope="session")
def proven(members, shop, tmp_path_factory):
    """Return the first run of federate.yml, from bare hosts."""
    results = tmp_path_factory.mktemp("results") / "federation"
    return play("playbooks/federate.yml", members.inventory, results, cwd=shop)


@pytest.fixture
def going(proven, members, shop, tmp_path):
    return Going(members, shop, tmp_path).start(*AGAIN)
