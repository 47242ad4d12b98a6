# SPDX-License-Identifier: Apache-2.0
"""The catalogue compared with the locks that we ship: they install what it describes."""

import re

import pytest
from packaging.requirements import Requirement
from packaging.utils import parse_wheel_filename

from rekindle import locks
from rekindle.solver.catalogue import adapt_to_own_torch, list_builds, list_environments, load_rules

RELEASES = load_rules().nvflare.releases
ASKED = [(framework, release) for framework in list_environments() for release in RELEASES]
BUILDS = [build for asked in ASKED for build in list_builds(*asked)]
SYSTEM = {
    adapt_to_own_torch(build).lock(python): build
    for build in BUILDS
    if build.lent
    for python in build.pythons
}
"""One of the builds that each lock beside a host's own torch replaces."""


def pins(name, architecture):
    """Return what a lock installs on ``architecture``."""
    text = locks.read_lock(name)
    found = {}
    for line in re.findall(r"^\w.*?(?= \\$)", text, re.MULTILINE):
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate({"platform_machine": architecture}):
            assert requirement.name not in found
            (pin,) = requirement.specifier
            found[requirement.name] = pin.version
    return found


def contradictions(build, installed):
    """Return what a lock installs other than the catalogue has for the build."""
    runtime = next((v for name, v in installed.items() if name.startswith("nvidia-cuda-runtime")), None)
    nccl = next((v for name, v in installed.items() if name.startswith("nvidia-nccl")), None)
    framework = build.framework.partition("+")[0]
    names = {"tensorflow", "tensorflow-cpu"} if framework == "tensorflow" else {framework}
    version = next((v for name, v in installed.items() if name in names), "none").split("+")[0]
    facts = {
        "version": (build.version, version),
        "torch": (build.torch, installed.get("torch", "none").split("+")[0] if build.torch else None),
        "cuda": (build.cuda, ".".join(runtime.split(".")[:2]) if runtime else None),
        "nccl": (build.nccl, nccl),
        "nvflare": (build.nvflare, installed.get("nvflare")),
    }
    return [f"{fact}: {ours} is {theirs}" for fact, (ours, theirs) in facts.items() if ours != theirs]


@pytest.mark.parametrize(
    "build", BUILDS, ids=lambda build: f"{build.title} {build.architecture} {build.nvflare}"
)
def test_a_lock_installs_what_the_catalogue_has(build):
    for python in build.pythons:
        installed = pins(build.lock(python), build.architecture)
        assert contradictions(build, installed) == []
        if build.cuda is None:
            assert not [name for name in installed if name.startswith(("nvidia-", "triton"))]


@pytest.mark.parametrize(
    "build", BUILDS, ids=lambda build: f"{build.title} {build.architecture} {build.nvflare}"
)
def test_a_builds_facts_agree_with_each_other(build):
    assert bool(build.cuda) == bool(build.arch_list) == bool(build.toolkit) == (build.variant != "cpu")
    assert build.toolkit is None or build.variant == "cu" + build.toolkit.replace(".", "")
    if build.torch is None:
        assert build.wheel is not None
        _, version, _, tags = parse_wheel_filename(build.wheel)
        assert version.public == build.version
        assert {tag.platform.endswith(build.architecture) for tag in tags} == {True}


def test_frameworks_do_not_meet_in_one_environment():
    for lock in locks.list_locks() - {"driver.txt"}:
        names = set(pins(lock, "x86_64")) | set(pins(lock, "aarch64"))
        assert "+" in lock or "torchvision" not in names
        both = {"torch", "tensorflow", "tensorflow-cpu"} & names
        if len({name.split("-")[0] for name in both}) > 1:  # TensorBoard's writer is torch's
            base, _, rest = lock.partition("+tensorboard")
            assert base == "tensorflow", lock
            assert pins(lock, "x86_64").items() >= pins(base + rest, "x86_64").items()
            assert "triton" not in names


@pytest.mark.parametrize("name", SYSTEM)
def test_the_lock_beside_the_hosts_own_torch_brings_all_but_torch_and_cuda(name):
    build = SYSTEM[name]
    names = pins(name, build.architecture)
    asked = {Requirement(requirement).name for requirement in build.requirements}
    assert {"nvflare", "scikit-learn", *asked} - set(build.lent) <= set(names)
    foreign = [package for package in names if package.startswith(("nvidia-", "triton", "cuda-"))]
    assert not [*foreign, *names.keys() & {"torch", "torchvision", "torchaudio"}]
    base = build.framework.partition("+")[0]
    assert names.get(base, build.version) == build.version


def test_every_lock_is_asked_for_and_pins_by_digest_alone():
    asked = {build.lock(python) for build in BUILDS for python in build.pythons}
    controllers = {f"nvflare-{release}.txt" for release in load_rules().nvflare.releases}
    assert locks.list_locks() == asked | {"driver.txt", *SYSTEM} | controllers
    line = re.compile(
        r"# .*|[a-z0-9._-]+==\S+( ; platform_machine == '\w+')? \\|    --hash=sha256:[0-9a-f]{64}( \\)?"
    )
    for name in locks.list_locks():
        text = locks.read_lock(name)
        assert [row for row in text.splitlines() if not line.fullmatch(row)] == [], name
        assert "://" not in text


def test_the_drivers_own_environment_is_small():
    for architecture in ("x86_64", "aarch64"):
        assert set(pins("driver.txt", architecture)) == {"msgspec", "psutil", "nvidia-ml-py", "py-spy"}
