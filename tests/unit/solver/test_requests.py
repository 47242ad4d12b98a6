"""Pins, the host's own torch, mixed and silent GPUs, and the words of a refusal."""

from __future__ import annotations

from msgspec.structs import replace
from solver_hosts import A100, GB10, H100, P100, RTX5090, failed_axes, gpu, host, plan, python

from rekindle.records import Driver, Gpu


def test_a_pin_that_fits_is_kept() -> None:
    for pin in ("2.10.0", "2.10.0+cu128"):
        planned = plan(host(H100), pin=pin)
        assert planned.build is not None
        assert planned.build.version == "2.10.0"
        assert planned.reasons[0].axis == "pin"


def test_a_pin_without_kernels_is_refused_with_what_fits_instead() -> None:
    refused = plan(host(RTX5090, driver="570.86", pythons=["3.11.7"]), "tensorflow", pin="2.15.1")
    assert failed_axes(refused) == ["gpu"]
    assert refused.refusal is not None
    assert refused.refusal.startswith(
        "TensorFlow 2.15.1 (CUDA 12.2) has no kernels for compute capability 12.0 (NVIDIA GeForce RTX 5090)"
    )
    assert (
        "torch 2.10.0 (CUDA 12.8) fits; it needs driver ≥ 525.60.13, this host has 570.86" in refused.refusal
    )


def test_a_pin_that_the_driver_cannot_run_is_refused_with_both_ways_out() -> None:
    refused = plan(host(H100, driver="550.54.14"), pin="2.15.0")
    assert failed_axes(refused) == ["driver"]
    assert "with driver ≥ 580 instead of 550.54.14, torch 2.15.0 (CUDA 13.2) fits" in str(refused.refusal)
    assert "with no pin to 2.15.0, torch 2.10.0 (CUDA 12.8) fits" in str(refused.refusal)


def test_a_pin_to_a_build_that_does_not_exist_names_those_that_do() -> None:
    refused = plan(host(H100), pin="2.9.9")
    assert failed_axes(refused) == ["pin"]
    assert "2.15.0, 2.13.0, 2.11.0, 2.10.0" in str(refused.refusal)


def test_an_older_build_says_why_the_newest_is_not_taken() -> None:
    planned = plan(host(H100, driver="550.54.14"))
    driver = next(reason.says for reason in planned.reasons if reason.axis == "driver")
    assert "torch 2.15.0 (CUDA 13.2) needs driver ≥ 580, this host has 550.54.14" in driver


def test_what_nvidia_smi_says_of_cuda_wins_over_the_table() -> None:
    forward_compatible = Driver(version="535.54.03", source="nvidia-smi", cuda="12.5")
    on = host(H100, driver="535.54.03", pythons=["3.12.3"])
    assert plan(on, "tensorflow").build is None
    assert plan(replace(on, driver=forward_compatible), "tensorflow").build is not None


def test_a_gpu_that_is_lost_is_left_out_and_said_so() -> None:
    on = host(A100)
    lost = Gpu(index=1, state="lost", says="GPU is lost. Reboot the system to recover this GPU")
    planned = plan(replace(on, gpus=(*on.gpus, lost)))
    assert planned.build is not None
    assert planned.warnings == (
        "GPU 1 is not planned for: GPU is lost. Reboot the system to recover this GPU",
    )
    assert failed_axes(plan(replace(on, gpus=(lost,)))) == ["gpu"]


def test_a_gpu_of_unknown_capability_is_refused() -> None:
    on = host(H100)
    unknown = replace(gpu(1, H100), compute_capability=None)
    assert "gives no compute capability" in str(plan(replace(on, gpus=(*on.gpus, unknown))).refusal)


def test_mixed_gpus_without_a_common_build_say_which_to_leave_out() -> None:
    refusal = str(plan(host(P100, RTX5090)).refusal)
    assert "with GPU 0 (Tesla P100-PCIE-16GB) left out, torch 2.15.0 (CUDA 13.2) fits" in refusal
    assert "with GPU 1 (NVIDIA GeForce RTX 5090) left out, torch 2.7.1 (CUDA 12.6) fits" in refusal


def test_the_hosts_own_torch_is_reused_and_recorded_as_it_is() -> None:
    on = host(H100, pythons=["3.11.9", python("3.12.3", torch="2.11.0+cu130", venv=True)])
    planned = plan(on, system_site=True)
    assert planned.build is not None
    assert (planned.build.version, planned.build.variant, planned.build.cuda) == (
        "2.11.0+cu130",
        "system",
        "13.0",
    )
    assert planned.build.system_site
    assert planned.build.lock == "torch-system-py312.txt"
    assert {"gpu", "driver", "glibc", "system_site"} == {reason.axis for reason in planned.reasons}


def test_the_hosts_own_torch_is_refused_where_it_cannot_run() -> None:
    def refused(torch: str, on_gpu: tuple[str, str] = H100, driver: str = "550.54.14") -> list[str]:
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


def test_a_torch_that_the_catalogue_does_not_know_is_left_to_its_probe() -> None:
    on = host(GB10, machine="aarch64", pythons=[python("3.12.3", torch="2.9.0a0+cu130")])
    planned = plan(on, system_site=True)
    assert planned.build is not None
    assert "its probe will tell" in planned.warnings[0]


def test_another_release_of_nvflare_has_its_own_locks() -> None:
    planned = plan(host(H100, pythons=["3.11.7"]), "torch+vision", nvflare="2.9.0")
    assert planned.build is not None
    assert planned.build.lock == "torch+vision-2.13.0-cu130-nvflare2.9.0-py311.txt"
    assert "NVFlare 2.9.0 supports Python 3.10 to 3.14" in [reason.says for reason in planned.reasons]


def test_a_framework_without_a_lock_of_that_release_is_refused_with_the_way_out() -> None:
    refused = plan(host(H100, pythons=["3.11.7"]), "tensorflow", nvflare="2.9.0")
    assert failed_axes(refused) == ["nvflare"]
    assert refused.refusal is not None
    assert refused.refusal.startswith(
        "tensorflow is not locked with NVFlare 2.9.0. Fix: with rekindle_nvflare: 2.7.3, "
    )


def test_the_hosts_own_torch_takes_another_release_too() -> None:
    own = host(H100, pythons=[python("3.11.7", torch="2.11.0+cu130")])
    planned = plan(own, system_site=True, nvflare="2.8.3")
    assert planned.build is not None
    assert planned.build.lock == "torch-system-nvflare2.8.3-py311.txt"
