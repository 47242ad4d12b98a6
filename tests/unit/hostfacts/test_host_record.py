# SPDX-License-Identifier: Apache-2.0
import json

import jsonschema
import msgspec
import pytest
from answers import FRAMES, NONCE, XML, host
from msgspec.structs import replace

from rekindle import records
from rekindle.hostfacts import FactsError, make_host_record
from rekindle.hostfacts.frames import Frame, parse_frames
from rekindle.records import Complaint, FailedProbe, HostRecord, Memory, PciGpu, Python

NO_FILE = Frame("1", "cat: No such file or directory\n")


def test_a_real_host(golden, tmp_path):
    path, real = tmp_path / "host.json", replace(host(), collected="2026-11-21T02:00:00Z")
    records.write_record(path, real)
    assert records.read_record(path, HostRecord) == real
    found = json.loads(path.read_text())
    jsonschema.validate(found, msgspec.json.schema(HostRecord))
    golden(*(f"{field}: {json.dumps(value)}" for field, value in found.items()))


def test_pythons_newest_first_and_each_once():
    text = FRAMES["pythons"].text + (
        '{"path": "/usr/bin/python3.9", "version": "3.9.18", "venv": false,'
        ' "torch": null, "tensorflow": null, "lightning": null}\n'
        "sh: 1: broken: not found\n"
    )
    assert host(pythons=text).pythons == (
        *host().pythons,
        Python(path="/usr/bin/python3.9", version="3.9.18"),
    )
    assert host(pythons=FRAMES["pythons"].text * 2).pythons == host().pythons


def test_defaults_of_a_host_without_os_release_or_glibc():
    found = host(os=NO_FILE, glibc=Frame("1", "getconf: Unrecognized variable\n")).os
    assert (found.id, found.version, found.name, found.glibc) == ("linux", None, "Linux", None)


def test_an_old_kernel_without_available_memory():
    memory = host(memory="MemTotal:  4096 kB\nMemFree:  2048 kB\n").memory
    assert memory == Memory(total_mib=4, available_mib=2)


def test_a_bus_that_cannot_be_read_is_unknown():
    assert host(pci=Frame("1", "")).pci_gpus is None
    assert host(pci="").pci_gpus == 0


@pytest.mark.parametrize("name", ["kernel", "cores", "memory", "home"])
def test_what_every_host_reports_is_required(name):
    with pytest.raises(FactsError, match=rf"does not report its {name} \(status 1: no output\)\. Fix: "):
        host(**{name: Frame("1", "")})


@pytest.mark.parametrize("name", ["kernel", "cores", "memory", "home", "limit"])
def test_a_slow_host_is_distinguished_from_one_that_lacks_something(name):
    with pytest.raises(FactsError, match=rf"was slow: it did not report its {name} within .* s\. Fix: "):
        host(**{name: Frame("timeout", "")})


def test_a_relative_root_is_refused():
    with pytest.raises(FactsError, match=r"rekindle_root is 'rekindle', a relative path\. Fix: "):
        make_host_record(FRAMES, "lease-1", "rekindle")


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (Frame("timeout", ""), "nvidia-smi -q -x timed out after 20 s."),
        (Frame("127", "sh: 1: nvidia-smi: not found\n"), "nvidia-smi is not on this host."),
        (Frame("9", "It failed.\nMore.\n"), "nvidia-smi -q -x ended with status 9: It failed."),
        (Frame("0", "?!\n"), "nvidia-smi -q -x gave no XML but: ?!."),
        (Frame("0", XML[:9000]), "nvidia-smi -q -x gave broken XML."),
    ],
)
def test_problems_of_nvidia_smi(frame, message):
    failed = FailedProbe(name="nvidia-smi", message=message, timed_out=frame.status == "timeout")
    assert host(nvidia_smi=frame).problems == (failed,)


@pytest.mark.parametrize(
    "home", ["/home/my user", "/home/a'b", "/home/$(id)", "/home/a:b", "/home/a,b", "/home/`id`"]
)
def test_a_home_that_nvflare_or_uv_would_split_is_refused(home):
    with pytest.raises(FactsError, match=r"rekindle_root is .*, and no path may have .* in it\. Fix:"):
        host(home=home)


def test_a_python_whose_version_is_none_is_no_python():
    text = '{"path": "/x", "version": "%s", "venv": false}\n'
    several = "".join(text % version for version in ("3.11.2", "3.11", "{{ 3 }}", "9" * 9 + ".1.1"))
    assert host(pythons=several).pythons == (Python(path="/x", version="3.11.2"),)
    assert host(pythons='{"path": ' + "[" * 200_000).pythons == ()


def test_nvidia_smi_cannot_blow_up():
    entities = "".join(f'<!ENTITY x{n} "{f"&x{n - 1};" * 10}">' for n in range(1, 12))
    bomb = f'<?xml version="1.0"?><!DOCTYPE b [<!ENTITY x0 "boom">{entities}]><nvidia_smi_log>'
    assert host(nvidia_smi=f"{bomb}&x11;</nvidia_smi_log>").problems


def refusal(record):
    """Return why there is no record that can be written."""
    try:
        msgspec.json.encode(record())
    except Complaint as error:
        return error
    return None


@pytest.mark.parametrize("name", FRAMES)
def test_an_answer_without_a_frame_is_a_record_or_a_sentence(name):
    kept = {probe: frame for probe, frame in FRAMES.items() if probe != name}
    raw = "".join(f"@@{NONCE} {probe} {frame.status}\n{frame.text}\n" for probe, frame in kept.items())
    error = refusal(lambda: make_host_record(parse_frames(raw, NONCE), "lease-1", "~/rekindle"))
    assert error is None or str(error).count("Fix: ") == 1


@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize("text", ["\udcff{}", "{}\udcfe\n", "\udcc3", "-", "9" * 5000, "index, name\n0, a\n"])
def test_any_text_is_a_record_or_a_sentence(name, text):
    """Also bytes that are no UTF-8, as Ansible hands them on."""
    changed = Frame(FRAMES[name].status, text.format(FRAMES[name].text))
    error = refusal(lambda: host(**{name.replace("-", "_"): changed}))
    assert error is None or str(error).isprintable()


def test_the_models_on_the_bus():
    found = host(pci="0000:06:00.0 2335 nvidia\n0000:07:00.0 2b85 \n0000:08:00.0 1db4\n0000:09:00.0\nx\n")
    assert found.pci_gpus == 5
    assert found.pci_devices == (
        PciGpu(address="0000:06:00.0", device="2335", kernel_driver="nvidia"),
        PciGpu(address="0000:07:00.0", device="2B85", kernel_driver=None),
        PciGpu(address="0000:08:00.0", device="1DB4", kernel_driver=None),
    )


@pytest.mark.parametrize(
    ("place", "value"),
    [
        *((("gpus", 0, "compute_capability"), value) for value in ("[N/A]", "9.0a", "")),
        (("gpus", 0, "device"), "H200"),
        *((("driver", "version"), value) for value in ("525.60.13-open", "5" * 5000, "580\n")),
        (("driver", "cuda"), "N/A"),
        (("os", "glibc"), "²"),
    ],
)
def test_a_record_with_figures_that_are_none_is_refused(tmp_path, place, value):
    raw = records.dump_builtins(host())
    at = raw
    for step in place[:-1]:
        at = at[step]
    at[place[-1]] = value
    (tmp_path / "host.json").write_text(json.dumps(raw))
    with pytest.raises(records.RecordError, match=r"is not a valid HostRecord: .*Fix: "):
        records.read_record(tmp_path / "host.json", HostRecord)


def test_a_user_without_a_name_is_a_number():
    assert host(user=Frame("1", "id: cannot find name for user ID 1000\n")).user == "1000"
