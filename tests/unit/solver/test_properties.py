# SPDX-License-Identifier: Apache-2.0
"""What holds for every host, whatever it is."""

from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from samples.hosts import host, plan

from rekindle import locks
from rekindle.gpus.models import parse_version
from rekindle.records import Driver
from rekindle.solver.catalogue import list_builds, load_rules

CAPABILITIES = "3.7 5.2 6.0 6.1 7.0 7.5 8.0 8.6 8.9 9.0 10.0 10.3 12.0 12.1".split()  # noqa: SIM905
DRIVERS = (  # noqa: SIM905
    "450.80.02 470.256.02 525.60.12 525.60.13 535.54.03 545.23.08 550.54.14 555.42.06 560.35.03 570.86 "
    "575.57.08 580.65.06 590.44.01 595.71"
).split()
PYTHONS = ["3.8.18", "3.9.18", "3.10.12", "3.11.7", "3.12.3", "3.13.0", "3.14.0"]

unhurried = settings(deadline=None, max_examples=50)  # the machine may be busy with other tests
frameworks = st.sampled_from(["torch", "lightning", "tensorflow"])
hosts = st.builds(
    lambda capabilities, driver, pythons, machine, glibc: host(
        *(("GPU", capability) for capability in capabilities),
        driver=driver,
        pythons=pythons,
        machine=machine,
        glibc=glibc,
    ),
    st.lists(st.sampled_from(CAPABILITIES), max_size=3),
    st.sampled_from(DRIVERS),
    st.lists(st.sampled_from(PYTHONS), max_size=3, unique=True),
    st.sampled_from(["x86_64", "aarch64", "ppc64le"]),
    st.sampled_from([None, "2.17", "2.28", "2.35", "2.39"]),
)


def _with_driver(on, version):
    driver = Driver(version=version, source="/sys/module/nvidia/version", cuda=None)
    return replace(on, driver=driver if on.gpus else None)


@unhurried
@given(hosts, frameworks, st.sampled_from(DRIVERS))
def test_a_newer_driver_never_loses_a_plan(on, framework, other):
    if on.driver is None or plan(on, framework).build is None:
        return
    if parse_version(other) >= parse_version(on.driver.version):
        assert plan(_with_driver(on, other), framework).build is not None


@unhurried
@given(hosts, frameworks)
def test_a_planned_build_runs_on_the_driver_and_on_every_gpu(on, framework):
    build = plan(on, framework, gpus_required=False).build
    if build is None:
        return
    if not on.gpus:
        assert build.cuda is None or on.os.architecture == "x86_64"  # where CPU builds have one Python
        return
    needed = {"12": "525.60.13", "13": "580"}[build.cuda.split(".")[0]]
    assert parse_version(on.driver.version) >= parse_version(needed)
    known = next(
        candidate
        for candidate in list_builds(framework)
        if (candidate.version, candidate.variant, candidate.architecture)
        == (build.version, build.variant, on.os.architecture)
    )
    table = load_rules().driver_cuda.by.items()
    newest = max(
        parse_version(cuda)
        for since, cuda in table
        if parse_version(since) <= parse_version(on.driver.version)
    )
    for gpu in on.gpus:
        major, minor = (int(part) for part in gpu.compute_capability.split("."))
        code = [int(name[3:]) for name in known.arch_list if name.startswith("sm_")]
        ptx = [int(name[8:]) for name in known.arch_list if name.startswith("compute_")]
        runs = any(number // 10 == major and number % 10 <= minor for number in code)
        compiles = any(number <= major * 10 + minor for number in ptx)
        assert runs or (compiles and newest >= parse_version(str(known.toolkit)))


@unhurried
@given(hosts, frameworks, st.booleans())
def test_a_plan_is_whole(on, framework, required):
    environment = plan(on, framework, gpus_required=required)
    build = environment.build
    if build is None:
        assert not all(reason.holds for reason in environment.reasons)
        assert environment.refusal is not None
        assert ". Fix: " in environment.refusal
        return
    assert all(reason.holds for reason in environment.reasons)
    assert environment.refusal is None
    assert locks.digest_lock(build.lock) == build.lock_sha256
    interpreter = next(python for python in on.pythons if python.path == build.python)
    assert build.lock.endswith(f"-py{''.join(interpreter.version.split('.')[:2])}.txt")
    usual = load_rules().nvflare.releases[load_rules().nvflare.version]
    assert ".".join(interpreter.version.split(".")[:2]) in usual.pythons


@given(st.lists(st.text(st.characters(exclude_characters=".+"))))
@example(["2", "²"])
@example(["9" * 5_000])
def test_any_text_of_a_host_has_a_version_key(parts):
    assert len(parse_version(".".join([*parts, "1+local.2"]))) == len(parts) + 1
