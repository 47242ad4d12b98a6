# SPDX-License-Identifier: Apache-2.0
"""``rekindle plan HOST.json``."""

import msgspec
import pytest
from msgspec.structs import replace
from samples.hosts import H100, P100, RTX5090, V100, host, python

from rekindle.records import Driver, PciGpu, PlanRecord, write_record


@pytest.fixture
def plan(call, tmp_path):
    """Call ``rekindle plan`` for hosts, each of whose records it writes; return its status and lines."""

    def run(*options, **hosts):
        for name, on in hosts.items():
            write_record(tmp_path / name / "host.json", replace(on, host=name))
        status, out, err = call("plan", *(tmp_path / name / "host.json" for name in hosts), *options)
        assert not err
        return status, out.splitlines()

    return run


def decoded(lines, kind=PlanRecord):
    return msgspec.json.decode("\n".join(lines), type=kind)


TORCH = "--framework=torch"
CPU = host(pythons=["3.11.7"])
LOADED = replace(CPU, driver=Driver(version="580.95.05", source="/sys/module/nvidia/version", cuda=None))
NO_DRIVER = replace(host(pci_gpus=1), pci_devices=(PciGpu(address="x", device="2B85", kernel_driver=None),))
IDS = ("plan", "refused", "no driver", "CPU", "no GPU", "buys", "loses", "shows", "not yet", "one", "groups")
MIXED = {"a": host(H100), "b": host(RTX5090), "p": host(P100), "x": host(H100, pythons=[python("3.9.18")])}


@pytest.mark.parametrize(
    ("options", "hosts", "status"),
    [
        ((), {"lease": host(H100)}, 0),
        (("--framework=tensorflow",), {"lease": host(RTX5090)}, 3),
        ((TORCH,), {"lease": host(pci_gpus=1)}, 3),
        ((TORCH,), {"lease": CPU}, 0),
        ((TORCH,), {"lease": LOADED}, 3),  # is no host for the CPU
        (("--what-if=driver=580",), {"lease": host(H100, driver="535.54.03")}, 0),
        (("--what-if=driver=590", TORCH), {"lease": host(V100)}, 3),
        (("--what-if=driver=570.86.16", TORCH), {"lease": NO_DRIVER}, 0),
        (("--what-if=driver=550", TORCH), {"lease": NO_DRIVER}, 3),
        ((TORCH,), {"new": host(H100), "newer": host(RTX5090), "old": host(V100, driver="535.54.03")}, 0),
        ((TORCH,), MIXED, 3),
    ],
    ids=IDS,
)
def test_what_is_planned_or_why_not(golden, plan, options, hosts, status):
    found, lines = plan(*options, **hosts)
    assert found == status
    golden(*lines)


def test_json_is_the_record(plan):
    status, lines = plan(TORCH, "--json", lease=host(H100))
    record = decoded(lines)
    assert status == 0
    assert [environment.framework for environment in record.environments] == ["torch"]
    now, then = decoded(plan("--what-if=driver=580.95", TORCH, "--json", v=host(V100))[1], list[PlanRecord])
    assert [now.environments[0].build] == [then.environments[0].build]
    shared = {"new": host(H100), "newer": host(RTX5090), "old": host(V100, driver="535.54.03")}
    plans = decoded(plan(TORCH, "--json", **shared)[1], list[PlanRecord])
    assert [record.environments[0].build.version for record in plans] == ["2.10.0"] * 3


@pytest.mark.parametrize("gpus", [(), (H100,)], ids=["CPU", "GPU"])
def test_same_hosts_get_the_plan_of_one(plan, gpus):
    on = replace(host(*gpus), driver=host(H100).driver if gpus else None)
    alone = decoded(plan("--json", a=on)[1])
    for planned in decoded(plan("--json", a=on, b=on)[1], list[PlanRecord]):
        assert planned.environments == alone.environments


def test_hosts_of_one_name_are_distinguished(call, tmp_path):
    files = [tmp_path / name / "host.json" for name in ("east", "west")]
    for path, model in zip(files, (H100, RTX5090), strict=True):
        write_record(path, host(model))
    status, out, _ = call("plan", *files, "--framework=tensorflow")
    assert status == 3
    assert f"fits all of lease of {files[0]}\n" in out
    assert f"lease of {files[1]} is refused: TensorFlow" in out


def test_called_wrongly_is_one_sentence_and_2(golden, call, tmp_path):
    path = tmp_path / "host.json"
    lines = [call("plan", path)]
    for content in ("{", '{"schema": "rekindle/plan/2"}'):
        path.write_text(content)
        lines.append(call("plan", path))
    lines.append(call("plan", path, "--framework=jax"))
    for wrong in ("580", "driver=", "python=3.12", "driver=580-open", f"driver={'5' * 99}"):
        lines.append(call("plan", path, f"--what-if={wrong}"))
    assert {(status, out, err.count("\n")) for status, out, err in lines} == {(2, "", 1)}
    golden(*(err.strip() for *_, err in lines))
