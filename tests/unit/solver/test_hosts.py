# SPDX-License-Identifier: Apache-2.0
"""The build, or the axis that refuses, for hosts from Pascal to Blackwell; each with the fact it rests on."""

import pytest
from samples.hosts import (
    A30,
    A100,
    B200,
    B300,
    GB10,
    GH200,
    H100,
    H200,
    K80,
    L40S,
    P100,
    RTX5090,
    T4,
    THOR,
    V100,
    failed_axes,
    host,
    plan,
    python,
)

# (fact, host, version and CUDA of the build, what it runs on the first GPU)
TORCH = [
    ("2.7.1 is the last with sm_60", host(P100), "2.7.1 12.6", "machine code sm_60"),
    ("2.10.0 is the last with sm_70", host(V100), "2.10.0 12.8", "machine code sm_70"),
    ("CUDA 12.8 on a 12.2 driver: minor versions", host(V100, driver="535.183.01"), "2.10.0 12.8", "sm_70"),
    ("sm_75 is the oldest of CUDA 13", host(T4), "2.15.0 13.2", "sm_75"),
    ("CUDA 13 needs driver 580", host(T4, driver="535.54.03"), "2.10.0 12.8", "sm_75"),
    ("2.15.0 has no wheel for Python 3.10", host(A30, pythons=["3.10.12"]), "2.13.0 13.0", "sm_80"),
    ("CUDA 13.2 on a 13.0 driver: minor versions", host(A100, driver="580.65.06"), "2.15.0 13.2", "sm_80"),
    ("8.9 runs sm_86: same major, higher minor", host(L40S), "2.15.0 13.2", "machine code sm_86"),
    ("sm_120 came with CUDA 12.8", host(RTX5090, driver="570.86"), "2.10.0 12.8", "sm_120"),
    ("Hopper on Python 3.11", host(H100, driver="535.54.03", pythons=["3.11.7"]), "2.10.0 12.8", "sm_90"),
    ("the recorded lease", host(H200, H200, driver="580.159.04"), "2.15.0 13.2", "sm_90"),
    ("sm_100 in CUDA 12.8", host(B200, driver="570.86.15"), "2.10.0 12.8", "sm_100"),
    ("10.3 runs sm_100", host(B300, driver="575.57.08"), "2.10.0 12.8", "machine code sm_100"),
    ("12.1 runs sm_120, memory [N/A]", host(GB10, machine="aarch64"), "2.15.0 13.2", "machine code sm_120"),
    ("only aarch64 wheels have sm_110", host(THOR, machine="aarch64"), "2.15.0 13.2", "sm_110"),
    ("aarch64 has no sm_86, an L40S runs sm_80", host(L40S, machine="aarch64"), "2.15.0 13.2", "sm_80"),
    ("one build for Pascal and Hopper", host(P100, H100), "2.7.1 12.6", "sm_90"),
    ("one build for Volta and Blackwell", host(V100, B200), "2.10.0 12.8", "sm_100"),
    ("Python 3.13 beside 3.11", host(H100, pythons=["3.13.0", "3.11.9"]), "2.15.0 13.2", "sm_90"),
]

TENSORFLOW = [
    ("sm_60 in 2.21", host(P100), "2.21.0 12.9", "machine code sm_60"),
    ("7.5 runs sm_70", host(T4, driver="535.54.03"), "2.21.0 12.9", "machine code sm_70"),
    ("machine code needs no PTX", host(A100, driver="525.60.13"), "2.21.0 12.9", "machine code sm_80"),
    ("Hopper has machine code for most", host(H100), "2.21.0 12.9", "machine code sm_90, and the PTX of 3%"),
    ("555 loads PTX of CUDA 12.5", host(H100, driver="555.42.06"), "2.21.0 12.9", "machine code sm_90"),
    ("550 loads PTX of CUDA 12.4", host(H100, driver="550.54.14"), "2.17.1 12.3", "machine code sm_90"),
    ("535: of 12.2", host(H100, driver="535.54.03", pythons=["3.11.7"]), "2.15.1 12.2", "its PTX compute_80"),
    ("Python 3.10", host(A30, pythons=["3.10.12"]), "2.21.0 12.9", "sm_80"),
]

LIGHTNING = [
    ("on torch 2.15.0", host(H100), "2.6.6 13.2", "sm_90"),
    ("on torch 2.13.0, Python 3.10", host(T4, pythons=["3.10.12"]), "2.6.6 13.0", "sm_75"),
    ("on torch 2.7.1", host(P100), "2.6.6 12.6", "sm_60"),
    ("on aarch64", host(GB10, machine="aarch64"), "2.6.6 13.2", "sm_120"),
]
TRANSFORMERS = [
    ("on torch 2.15.0", host(H100), "5.23.0 13.2", "sm_90"),
    ("on aarch64", host(GB10, machine="aarch64"), "5.23.0 13.2", "sm_120"),
    ("5.20.2 is the last for Python 3.10", host(H100, pythons=["3.10.12"]), "5.20.2 13.0", "sm_90"),
]


@pytest.mark.parametrize(
    ("framework", "on", "build", "runs"),
    [
        pytest.param(framework, on, build, runs, id=f"{framework}: {fact}")
        for framework, cases in (
            ("torch", TORCH),
            ("tensorflow", TENSORFLOW),
            ("lightning", LIGHTNING),
            ("transformers", TRANSFORMERS),
        )
        for fact, on, build, runs in cases
    ],
)
def test_a_host_gets_the_newest_build_that_fits(framework, on, build, runs):
    planned = plan(on, framework)
    assert planned.build is not None, planned.refusal
    assert f"{planned.build.version} {planned.build.cuda}" == build
    assert runs in next(reason.message for reason in planned.reasons if reason.axis == "gpu")
    compiles = "its PTX" in runs
    assert any("compiles for minutes" in warning for warning in planned.warnings) == compiles
    assert planned.first_compile == compiles


REFUSED = [
    ("torch", "CUDA 12 needs 525.60.13", host(P100, driver="470.256.02"), ["driver"], "driver ≥ 525.60.13"),
    ("torch", "one release short", host(A100, driver="525.60.12"), ["driver"], "driver ≥ 525.60.13"),
    ("torch", "a driver of CUDA 11", host(V100, driver="450.80.02"), ["driver"], "torch 2.10.0 (CUDA 12.8)"),
    ("torch", "and of CUDA 11.7", host(T4, driver="515.105.01"), ["driver"], "driver ≥ 580"),
    ("torch", "no kernels for Kepler", host(K80, driver="525.60.13"), ["gpu"], "another host"),
    ("torch", "no build has both", host(P100, RTX5090), ["gpu"], "with GPU 0 (Tesla P100"),
    ("torch", "CPU only", host(GH200, driver="550.54.14", machine="aarch64"), ["driver"], "≥ 580"),
    ("torch", "the same for a GB10", host(GB10, driver="575.57.08", machine="aarch64"), ["driver"], "≥ 580"),
    ("torch", "NVFlare ends at 3.12", host(H100, pythons=["3.13.0"]), ["nvflare", "python"], "Python 3.12"),
    ("torch", "locks begin at 3.10", host(H100, pythons=["3.9.18"]), ["python"], "Python 3.12 on the host"),
    ("torch", "no Python at all", host(H100, pythons=[]), ["nvflare", "python"], "Python 3.12"),
    ("torch", "wheels need glibc 2.28", host(A100, glibc="2.17"), ["glibc"], "glibc ≥ 2.28"),
    ("torch", "musl has no glibc", host(A100, glibc=None), ["glibc"], "glibc ≥ 2.28"),
    ("torch", "no driver loaded", host(pci_gpus=2), ["driver"], "load an NVIDIA driver ≥ 525.60.13"),
    ("torch", "no GPU", host(pythons=["3.11.7"]), ["gpu"], "rekindle_gpus_required: false"),
    ("torch", "both", host(A100, driver="470.256.02", glibc="2.17"), ["driver", "glibc"], " and a system"),
    ("tensorflow", "no PTX for Blackwell", host(RTX5090, driver="570.86"), ["gpu"], "this host has 570.86"),
    ("tensorflow", "and of 10.x: XLA writes PTX for neither", host(B200), ["gpu"], "torch 2.15.0"),
    ("tensorflow", "nor for what is newer", host(("NVIDIA Z9", "13.0")), ["gpu"], "another host"),
    ("tensorflow", "no PTX of 12.2", host(H100, driver="525.60.13", pythons=["3.11.7"]), ["driver"], "≥ 535"),
    ("tensorflow", "CPU", host(GB10, machine="aarch64"), ["architecture", "gpu"], "torch 2.15.0"),
    ("tensorflow", "no kernels for Kepler", host(K80), ["gpu"], "another host"),
    ("lightning", "like its torch", host(T4, driver="515.105.01"), ["driver"], "driver ≥ 525.60.13"),
    ("transformers", "Python 3.9", host(H100, pythons=["3.9.18"]), ["python"], "Python 3.12 on the host"),
]


@pytest.mark.parametrize(
    ("framework", "on", "axes", "way_out"),
    [
        pytest.param(framework, on, axes, way, id=f"{framework}: {fact}")
        for framework, fact, on, axes, way in REFUSED
    ],
)
def test_a_host_is_refused_on_the_axis_that_fails_with_the_way_out(framework, on, axes, way_out):
    refused = plan(on, framework)
    assert refused.build is None
    assert failed_axes(refused) == axes
    assert way_out in str(refused.refusal).split("Fix: ")[1]


@pytest.mark.parametrize(
    ("framework", "on", "version"),
    [
        ("torch", host(pythons=["3.11.7"]), "2.13.0"),
        ("torch", host(machine="aarch64"), "2.10.0"),
        ("torch", host(pythons=["3.11.7"], pci_gpus=2), "2.13.0"),
        ("lightning", host(pythons=["3.11.7"]), "2.6.6"),
        ("transformers", host(pythons=["3.11.7"]), "5.23.0"),
        ("tensorflow", host(), "2.21.0"),
        ("tensorflow", host(machine="aarch64"), "2.21.0"),
    ],
)
def test_without_gpus_the_cpu_build_if_the_inventory_allows_it(framework, on, version):
    planned = plan(on, framework, gpus_required=False)
    assert (planned.build.version, planned.build.variant, planned.build.cuda) == (version, "cpu", None)
    assert bool(planned.warnings) == bool(on.pci_gpus)


@pytest.mark.parametrize(
    ("pythons", "build"),
    [(["3.12.3"], "2.15.0 cu132"), (["3.10.12"], "2.13.0 cu130"), (["3.12.3", "3.11.7"], "2.13.0 cpu")],
)
def test_where_the_cpu_build_has_no_lock_the_cpu_has_the_one_for_gpus(pythons, build):
    planned = plan(host(pythons=pythons), gpus_required=False)
    assert f"{planned.build.version} {planned.build.variant}" == build
    assert any("no use for" in warning for warning in planned.warnings) == ("cu" in build)


def test_an_interpreter_outside_of_a_virtual_environment_comes_first():
    both = host(H100, pythons=[python("3.12.3", venv=True), "3.11.7"])
    only = host(H100, pythons=[python("3.12.3", venv=True), "3.10.12"])
    for on, expected in ((both, "3.11.7"), (only, "3.12.3")):
        planned = plan(on)
        assert planned.build.python_version == expected
