# SPDX-License-Identifier: Apache-2.0
"""Pins, the host's own torch, mixed and silent GPUs, and the words of a refusal."""

import pytest
from msgspec.structs import replace
from samples.hosts import A100, GB10, H100, P100, RTX5090, V100, failed_axes, gpu, host, plan, python

from rekindle.records import Driver, Gpu
from rekindle.solver.catalogue import list_environments, load_rules

REFUSED = {
    "a pin without kernels": (host(RTX5090, driver="570.86", pythons=["3.11.7"]), "tensorflow", "2.15.1"),
    "a pin that the driver cannot run": (host(H100, driver="550.54.14"), "torch", "2.15.0"),
    "a pin to a build that does not exist": (host(H100), "torch", "2.9.9"),
    "mixed GPUs without a common build": (host(P100, RTX5090), "torch", None),
    "no PTX that this driver loads": (host(H100, driver="525.60.13", pythons=["3.11.7"]), "tensorflow", None),
    "PTX of a part of its kernels": (host(H100, driver="535.54.03"), "tensorflow", "2.21.0"),
    "an architecture without a build": (host(V100, machine="ppc64le"), "torch", None),
    "one without TensorFlow's": (host(H100, machine="aarch64"), "tensorflow", None),
    "no GPU": (host(), "torch", None),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_request_is_refused_on_its_axis_with_what_fits_instead(golden, name):
    on, framework, pin = REFUSED[name]
    refused = plan(on, framework, pin=pin)
    assert refused.build is None
    golden(*failed_axes(refused), refused.refusal)


def test_an_older_build_has_why_the_newest_is_not_taken():
    planned = plan(host(H100, driver="550.54.14"))
    driver = next(reason.message for reason in planned.reasons if reason.axis == "driver")
    assert "torch 2.15.0 (CUDA 13.2) needs driver ≥ 580, this host has 550.54.14" in driver


def test_nvidia_smis_cuda_wins_over_the_table():
    forward_compatible = Driver(version="535.54.03", source="nvidia-smi", cuda="12.5")
    on = host(H100, driver="535.54.03", pythons=["3.12.3"])
    assert plan(on, "tensorflow").build is None
    assert plan(replace(on, driver=forward_compatible), "tensorflow").build is not None


def test_a_gpu_that_is_lost_is_left_out_with_a_warning():
    on = host(A100)
    lost = Gpu(index=1, state="lost", message="GPU is lost. Reboot the system")
    planned = plan(replace(on, gpus=(*on.gpus, lost)))
    assert planned.build is not None
    assert planned.warnings == ("GPU 1 is not planned for: GPU is lost. Reboot the system",)
    assert failed_axes(plan(replace(on, gpus=(lost,)))) == ["gpu"]


def test_a_gpu_of_unknown_capability_is_refused():
    on = host(H100)
    unknown = replace(gpu(1, H100), name="Graphics Device", compute_capability=None)
    assert "reports no compute capability" in str(plan(replace(on, gpus=(*on.gpus, unknown))).refusal)


def test_the_hosts_own_torch_is_reused_and_recorded_as_it_is():
    on = host(H100, pythons=["3.11.9", python("3.12.3", torch="2.11.0+cu130", venv=True)])
    planned = plan(on, system_site=True)
    build = (planned.build.version, planned.build.variant, planned.build.cuda, planned.build.system_site)
    assert build == ("2.11.0+cu130", "system", "13.0", True)
    assert planned.build.lock == "torch-system-py312.txt"
    assert {"gpu", "driver", "glibc", "system_site"} == {reason.axis for reason in planned.reasons}


def test_the_hosts_own_torch_is_refused_where_it_cannot_run():
    def refused(torch, on_gpu=H100, driver="550.54.14"):
        on = host(on_gpu, driver=driver, pythons=[python("3.12.3", torch=torch)])
        environment = plan(on, system_site=True)
        assert environment.build is None
        assert "Fix: " in str(environment.refusal)
        return failed_axes(environment)

    assert refused("2.11.0+cu130") == ["driver"]
    assert refused("2.10.0", on_gpu=P100) == ["gpu"]
    assert refused("2.10.0+cpu") == ["system_site"]
    assert failed_axes(plan(host(H100), system_site=True)) == ["system_site"]
    assert failed_axes(plan(host(pci_gpus=0), system_site=True)) == ["gpu"]


ON_TORCH = [name for name in list_environments() if not name.startswith("tensorflow")]


@pytest.mark.parametrize("framework", ON_TORCH)
def test_all_that_stands_on_torch_takes_the_hosts_own(framework):
    own = python("3.12.3", torch="2.11.0", torchvision="0.26.0", venv=True)
    planned = plan(host(H100, pythons=["3.11.9", own]), framework, system_site=True)
    assert planned.framework == framework
    assert (planned.build.lock, planned.build.python) == (f"{framework}-system-py312.txt", own.path)
    base = framework.partition("+")[0]
    assert planned.build.version == {"lightning": "2.6.6", "transformers": "5.23.0"}.get(base, "2.11.0")
    assert planned.build.system_site
    assert planned.build.cuda == "13.0"


def test_tensorflow_is_installed_as_always_beside_the_hosts_own_torch():
    own = python("3.11.7", torch="2.11.0", torchvision="0.26.0")
    for framework in ("tensorflow", "tensorflow+tensorboard"):
        planned = plan(host(H100, pythons=[own]), framework, system_site=True)
        assert not planned.build.system_site


def test_what_the_hosts_own_torch_lacks_is_one_sentence(golden):
    def refusal(framework, minor="3.12.3", **facts):
        planned = plan(host(H100, pythons=[python(minor, **facts)]), framework, system_site=True)
        assert planned.build is None
        assert failed_axes(planned) == ["system_site"]
        return planned.refusal

    golden(
        refusal("torch+vision", torch="2.11.0"),
        refusal("lightning+tracking", torch="2.11.0"),
        refusal("lightning+vision", torchvision="0.26.0"),
        refusal("transformers+trl", torch="2.11.0", minor="3.10.12"),
        refusal("transformers", torch="2.3.1"),
        refusal("lightning", torch="2.13.0+cpu"),
    )


def test_of_several_torches_that_is_lent_which_has_all_that_is_needed():
    bare, full = python("3.12.3", torch="2.13.0"), python("3.11.7", torch="2.11.0", torchvision="0.26.0")
    on = host(H100, pythons=[bare, full])
    for framework, lender in {"lightning": bare, "lightning+vision": full}.items():
        planned = plan(on, framework, system_site=True)
        assert planned.build.python == lender.path
    reasons = [reason.message for reason in plan(on, "torch+vision", system_site=True).reasons]
    assert "/usr/bin/python3.11 (Python 3.11.7) has torch 2.11.0 and torchvision 0.26.0" in reasons


def test_a_pin_of_what_stands_on_the_hosts_own_torch_is_its_locks_version_or_refused(golden):
    on = host(H100, pythons=[python("3.12.3", torch="2.11.0")])
    assert plan(on, "lightning", system_site=True, pin="2.6.6").build is not None
    refused = plan(on, "lightning", system_site=True, pin="2.6.6+cu130")
    assert failed_axes(refused) == ["pin"]
    golden(refused.refusal)


def test_what_is_not_locked_for_an_architecture_is_not_lent_a_torch_either():
    own = python("3.12.3", torch="2.11.0", torchvision="0.26.0")
    arm = host(GB10, machine="aarch64", pythons=[own])
    assert "architecture" in failed_axes(plan(arm, "torch+survival", system_site=True))
    vision = plan(host(H100, pythons=[own]), "torch+vision", system_site=True, nvflare="2.9.0")
    assert vision.build.lock == "torch+vision-system-nvflare2.9.0-py312.txt"


@pytest.mark.parametrize(("own", "cuda"), [("2.30.0+cu140", "14.0"), ("1.12.1+cu102", "10.2")])
def test_a_torch_of_the_hosts_for_a_cuda_whose_driver_is_not_known_is_left_to_its_probe(own, cuda):
    planned = plan(host(H100, pythons=[python("3.12.3", torch=own)]), system_site=True)
    assert planned.build.cuda == cuda
    (message,) = (reason.message for reason in planned.reasons if reason.axis == "driver")
    assert f"needs a driver for CUDA {cuda}, which its probe will show: this host has " in message
    assert f"The catalogue does not know torch {own}" in planned.warnings[0]


@pytest.mark.parametrize("framework", list_environments())
@pytest.mark.parametrize("release", [name for name in load_rules().nvflare.releases if name != "2.7.3"])
def test_another_release_of_nvflare_has_its_own_locks(framework, release):
    usual, planned = (
        plan(host(H100, pythons=["3.11.7"]), framework, nvflare=which) for which in (None, release)
    )
    assert planned.build.lock == usual.build.lock.replace("-py311", f"-nvflare{release}-py311")
    assert f"NVFlare {release} supports Python 3.10 to 3.14" in [reason.message for reason in planned.reasons]


def test_a_driver_that_reports_no_capability_is_no_reason_to_use_another_host(golden):
    def silent(name, driver):
        on = host(A100, driver=driver)
        gpus = tuple(replace(gpu, name=name, compute_capability=None) for gpu in on.gpus)
        return str(plan(replace(on, gpus=gpus)).refusal)

    cases = [("Tesla V100-SXM2-32GB", "470.256.02")]
    cases += [("Graphics Device", driver) for driver in ("470.256.02", "580.95.05")]
    golden(*(silent(*case) for case in cases))
    assert silent("Tesla V100-SXM2-32GB", "580.95.05") == "None"


@pytest.mark.parametrize("reported", ["[N/A]", "", "x", "²", "9" * 5000, "9.0.0"])
def test_a_capability_that_is_none_ends_in_a_reason(reported):
    on = host(H100)
    odd = replace(on, gpus=(replace(on.gpus[0], name="a\x1b[31m\nb", compute_capability=reported),))
    assert "GPU 0 (a b) reports no compute capability" in str(plan(odd).refusal)


def test_no_unproven_tensorflow_is_offered():
    for on in (
        host(H100, driver="535.54.03", pythons=["3.10.12"]),
        host(RTX5090),
        host(GB10, machine="aarch64"),
    ):
        for framework in ("torch", "transformers"):
            refused = plan(on, framework, pin="0.1").refusal
            assert "TensorFlow" not in str(refused)


def test_a_plan_that_stands_on_somebodys_virtual_environment_warns():
    planned = plan(host(H100, pythons=[python("3.12.3", venv=True)]))
    assert planned.build is not None
    stands = "This stands on /usr/bin/python3.12, of somebody's virtual environment"
    assert planned.warnings[0].startswith(stands)
    assert plan(host(H100)).warnings == ()
    own = python("3.12.3", torch="2.11.0+cu130", venv=True)
    lent = plan(host(H100, pythons=[own]), system_site=True)
    assert "somebody's virtual environment" in lent.warnings[0]


def test_what_stands_on_the_hosts_torch_is_the_version_that_its_python_has():
    for minor, version in {"3.10.12": "5.20.2", "3.12.3": "5.23.0"}.items():
        own = python(minor, torch="2.11.0", torchvision="0.26.0")
        planned = plan(host(H100, pythons=[own]), "transformers", system_site=True)
        assert planned.build.version == version
