# SPDX-License-Identifier: Apache-2.0
import re

import pytest
from answers import XML, frames, host, recorded
from msgspec.structs import replace
from samples.mig_hosts import SIZES, cut_gpus, list_instances, name_instance

from rekindle.gpus.visibility import explain_hidden, find_usable_gpus
from rekindle.hostfacts import nvidia
from rekindle.hostfacts.frames import Frame
from rekindle.hostfacts.gpu_flaws import find_gpu_flaws, find_memory_in_use
from rekindle.records import Driver, GpuProcess

NO_COMMAND = Frame("127", "sh: nvidia-smi: not found\n")
NO_FILE = Frame("1", "cat: No such file or directory\n")


def first_gpu(old, new):
    """The first GPU after a change of its XML alone."""
    assert re.search(old, XML)
    return nvidia.parse_nvidia(frames(nvidia_smi=re.sub(old, new, XML, count=1))).gpus[0]


def test_four_gpus_without_csv():
    found = nvidia.parse_nvidia(
        frames(
            nvidia_smi=recorded("h200-x4-nvidia-smi-q.xml"),
            nvidia_query=Frame("2", 'Field "compute_cap" is not a valid field to query.\n'),
            nvidia_topo=recorded("h200-x4-topo-m.txt"),
        )
    )
    assert [gpu.index for gpu in found.gpus] == [0, 1, 2, 3]
    assert {gpu.compute_capability for gpu in found.gpus} == {"9.0"}  # of its model
    assert found.topology[2] == ("NV18", "NV18", "X", "NV18")


@pytest.mark.parametrize("share", [0.2, 0.6, 0.999])
def test_broken_off_xml_leaves_the_csv_and_a_problem(share):
    found = host(nvidia_smi=XML[: int(len(XML) * share)])
    assert len(found.gpus) == 2
    assert [probe.name for probe in found.problems] == ["nvidia-smi"]


def test_xml_with_a_message_around_it_is_read():
    found = host(nvidia_smi=f"WARNING: infoROM is corrupted at gpu 0000:00:06.0\n{XML}\nbye\n")
    assert len(found.gpus) == 2
    (problem,) = found.problems
    assert (problem.answered, problem.timed_out) == (True, False)
    assert host(nvidia_smi=f"Loading\n{XML}\nbye\n").problems == ()


@pytest.mark.parametrize("word", ["N/A", "[N/A]", "Not Supported", "[Not Supported]"])
def test_no_figure_for_memory_is_no_error(word):
    rows = frames()["nvidia-query"].text.replace("143771 MiB, 0 MiB", f"{word}, {word}")
    memory = rf"\1<total>{word}</total><used>{word}</used>"
    xml = re.sub(r"(?s)(<fb_memory_usage>\s*)<total>.*?</used>", memory, XML)
    gpu = nvidia.parse_nvidia(frames(nvidia_smi=xml, nvidia_query=rows)).gpus[0]
    assert (gpu.state, gpu.memory_total_mib, gpu.memory_used_mib, gpu.temperature_c) == ("ok", None, None, 35)


@pytest.mark.parametrize(
    ("word", "state"),
    [("[Unknown Error]", "error"), ("[GPU requires reset]", "error"), ("GPU is lost", "lost")],
)
def test_a_driver_that_complains_in_a_field(word, state):
    gpu = first_gpu(r"<gpu_temp>.*?</gpu_temp>", f"<gpu_temp>{word}</gpu_temp>")
    assert (gpu.state, gpu.message, gpu.temperature_c) == (state, f"temperature_c reads {word}", None)


def test_a_gpu_that_is_lost_in_every_csv_field_is_the_one_of_the_xml():
    first, _ = frames()["nvidia-query"].text.splitlines()[1:]
    lost = ", ".join(["0", *["[GPU is lost]"] * first.count(",")])
    text = frames()["nvidia-query"].text.replace(first, lost)
    first, second = nvidia.parse_nvidia(frames(nvidia_query=text)).gpus
    assert (first.index, first.state, first.pci_bus_id) == (0, "lost", "00000000:00:06.0")
    assert (second.index, second.state, second.pci_bus_id) == (1, "ok", "00000000:00:07.0")


@pytest.mark.parametrize("gpu", ["GPU 0000:00:08.0", "gpu 00000000:00:08.0", "GPU1: 0000:00:08.0"])
def test_a_gpu_without_a_handle_is_lost(gpu):
    message = f"Unable to determine the device handle for {gpu}: GPU is lost.  Reboot the system."
    gpus = nvidia.parse_nvidia(frames(nvidia_query=Frame("15", message + "\n"))).gpus
    assert [(gpu.index, gpu.state, gpu.pci_bus_id) for gpu in gpus][2:] == [(2, "lost", "00000000:00:08.0")]
    assert gpus[2].message == "GPU is lost. Reboot the system"


def test_a_gpu_without_a_handle_keeps_its_number():
    message = "Unable to determine the device handle for GPU5: 0000:00:08.0: Unknown Error\n"
    found = nvidia.parse_nvidia(frames(nvidia_smi=Frame("255", message), nvidia_query=Frame("255", message)))
    assert [(gpu.index, gpu.state) for gpu in found.gpus] == [(5, "error")]


def test_a_handle_denied_for_another_reason_is_an_error_and_no_topology_is_guessed():
    message = "Unable to determine the device handle for GPU0000:00:08.0: Unknown Error\n"
    found = nvidia.parse_nvidia(frames(nvidia_smi=Frame("255", message), nvidia_query=Frame("255", message)))
    assert [(gpu.index, gpu.state, gpu.message) for gpu in found.gpus] == [(0, "error", "Unknown Error")]
    assert found.topology == ()


def test_the_recovery_that_the_driver_asks_for_is_an_error():
    gpu = first_gpu("(<gpu_recovery_action>)None", r"\1Reset")
    assert (gpu.state, gpu.message) == ("error", "gpu_recovery_action is Reset")


def test_uncorrected_errors_add_up():
    xml = XML.replace("<dram_uncorrectable>0", "<dram_uncorrectable>3", 1)
    xml = xml.replace("<sram_uncorrectable_secded>0", "<sram_uncorrectable_secded>2", 1)
    gpu = nvidia.parse_nvidia(frames(nvidia_smi=xml)).gpus[0]
    assert (gpu.ecc_uncorrected_volatile, gpu.ecc_corrected_volatile) == (5, 0)


def test_ecc_counters_of_old_drivers():
    old = (
        "<volatile><single_bit><device_memory>3</device_memory><total>4</total></single_bit>"
        "<double_bit><device_memory>1</device_memory><total>1</total></double_bit></volatile>"
    )
    gpu = first_gpu(r"(?s)<volatile>.*?</volatile>", old)
    assert (gpu.ecc_uncorrected_volatile, gpu.ecc_corrected_volatile) == (1, 4)


@pytest.mark.parametrize("kind", ["event", "throttle"])
def test_active_clock_reasons_of_new_and_old_drivers(kind):
    xml = XML.replace("hw_slowdown>Not Active", "hw_slowdown>Active", 1)
    xml = xml.replace("clocks_event_reason", f"clocks_{kind}_reason")
    assert nvidia.parse_nvidia(frames(nvidia_smi=xml)).gpus[0].throttle_reasons == ("hw_slowdown",)


def test_mig_and_row_remap():
    assert first_gpu("<current_mig>Disabled", "<current_mig>Enabled").mig is True
    assert first_gpu("<remapped_row_pending>No", "<remapped_row_pending>Yes").row_remap_pending is True
    assert first_gpu("<remapped_row_failure>No", "<remapped_row_failure>Yes").row_remap_failure is True


def test_processes():
    info = (
        "<processes><process_info><pid>{}</pid><type>C</type><process_name>python</process_name>"
        "<used_memory>{}</used_memory></process_info></processes>"
    )
    named = first_gpu(r"(?s)<processes>.*?</processes>", info.format(4711, "500 MiB"))
    assert named.processes == (GpuProcess(pid=4711, name="python", memory_mib=500),)
    unknown = first_gpu(r"(?s)<processes>.*?</processes>", info.format(4711, "N/A"))
    assert unknown.processes[0].memory_mib is None


def test_an_inactive_link_is_zero():
    text = frames()["nvidia-nvlink"].text.replace("Link 1: 26.562 GB/s", "Link 1: <inactive>")
    assert nvidia.parse_nvidia(frames(nvidia_nvlink=text)).gpus[0].nvlink_gb_per_s[:3] == (
        26.562,
        0.0,
        26.562,
    )


def test_network_cards_are_no_part_of_the_topology():
    table = "\tGPU0\tGPU1\tNIC0\nGPU0\t X \tSYS\tPIX\nGPU1\tSYS\t X \tSYS\nNIC0\tPIX\tSYS\t X \n"
    assert nvidia.parse_nvidia(frames(nvidia_topo=table)).topology == (("X", "SYS"), ("SYS", "X"))


def test_the_driver_is_known_by_the_first_that_knows():
    known = {"version": "580.159.04", "cuda": "13.0"}
    proc = "/proc/driver/nvidia/version"
    assert nvidia.parse_nvidia(frames()).driver == Driver(
        source="/sys/module/nvidia/version", open_module=True, **known
    )
    by_proc = nvidia.parse_nvidia(frames(driver_sys=NO_FILE)).driver
    assert by_proc == Driver(source=proc, open_module=True, **known)
    closed = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.256.02  Thu May  2 14:37:44 UTC 2024\n"
    old = nvidia.parse_nvidia(frames(driver_sys=NO_FILE, driver_proc=closed, nvidia_smi=NO_COMMAND)).driver
    assert old == Driver(version="470.256.02", source=proc, cuda=None, open_module=False)
    bare = {"driver_sys": NO_FILE, "driver_proc": NO_FILE}
    found = nvidia.parse_nvidia(frames(**bare)).driver
    assert found == Driver(source="nvidia-smi", **known)
    assert nvidia.parse_nvidia(frames(**bare, nvidia_smi=NO_COMMAND, nvidia_query=NO_COMMAND)).driver is None


@pytest.mark.parametrize(
    ("text", "version"),
    [("525.60.13-open", "525.60.13"), ("580.95.05-0ubuntu1", "580.95.05"), ("9" * 5000, None), ("²", None)],
)
def test_a_drivers_version_is_its_numbers_or_the_next_sources(text, version):
    found = nvidia.parse_nvidia(frames(driver_sys=f"{text}\n")).driver
    assert found.version == (version or "580.159.04")
    assert (found.source == "/sys/module/nvidia/version") == bool(version)


def test_numbers_without_end_and_names_with_escapes_are_data():
    xml = XML.replace("143771 MiB", f"{'9' * 5000} MiB").replace("NVIDIA H200", "NVIDIA&#10;H200 ]] $(id)", 1)
    gpu = nvidia.parse_nvidia(frames(nvidia_smi=xml)).gpus[0]
    assert gpu.memory_total_mib is None
    assert gpu.name == "NVIDIA\nH200 ]] $(id)"


def test_a_driver_without_the_field_is_asked_again_and_the_model_has_the_capability():
    lines = frames()["nvidia-query"].text.splitlines()
    old = "\n".join(re.sub(r"( compute_cap| 9\.0),", "", line) for line in lines)
    asked_again = f'Field "compute_cap" is not a valid field to query.\n\n{old}\n'
    gpus = nvidia.parse_nvidia(frames(nvidia_query=asked_again)).gpus
    assert gpus == nvidia.parse_nvidia(frames()).gpus
    assert {(gpu.compute_capability, gpu.memory_total_mib) for gpu in gpus} == {("9.0", 143771)}


def test_each_mig_instance_is_a_gpu_with_its_own_name_memory_and_processes():
    cut = cut_gpus(XML, busy=1)
    found = host(nvidia_smi=cut, nvidia_list=list_instances(cut))
    first, second, whole = found.gpus
    assert [gpu.index for gpu in found.gpus] == [0, 0, 1]
    assert (first.name, first.uuid) == ("NVIDIA H200 MIG 1g.18gb", name_instance(0, 0))
    assert (first.memory_total_mib, second.memory_total_mib) == SIZES
    assert (first.mig, first.pci_bus_id, first.compute_capability) == (False, "00000000:00:06.0", "9.0")
    assert (first.processes, second.processes[0].pid) == ((), 450)
    assert whole.uuid == host().gpus[1].uuid
    assert find_usable_gpus(found) == [*found.gpus]
    assert explain_hidden(found) is None
    assert explain_hidden(replace(found, pci_gpus=3)) is not None
    assert find_gpu_flaws(found) == []
    (used,) = find_memory_in_use(found)
    assert name_instance(0, 1) in used.message
    assert "700 MiB" in used.message


def test_mig_mode_without_an_instance_is_unusable_and_is_told_with_its_fix(golden):
    cut = cut_gpus(XML, instances=0)
    found = host(nvidia_smi=cut, nvidia_list=list_instances(cut, instances=0))
    assert [gpu.uuid for gpu in find_usable_gpus(found)] == [host().gpus[1].uuid]
    (flaw,) = find_gpu_flaws(found)
    golden(str(flaw))
