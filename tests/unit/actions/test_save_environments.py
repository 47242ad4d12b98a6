# SPDX-License-Identifier: Apache-2.0
"""What a host says of the environments that it built is written only if it was asked for."""

import pytest
from locked import lock_as_today
from msgspec.structs import replace

from rekindle import locks
from rekindle.records import EnvRecord, PlanRecord, dump_builtins, read_record, write_record


@pytest.fixture
def answer(home):
    """Return the environments of the recorded host, as it tells them; env.json is not there yet."""
    lock_as_today(home)
    environments = dump_builtins(read_record(home / "env.json", EnvRecord))["environments"]
    (home / "env.json").unlink()
    return environments


@pytest.fixture
def save(load, home, answer):
    def run():
        args = {"environments": answer, "folder": str(home), "capsule": ""}
        return load("save_environments").run(args, host="h200")

    return run


def test_what_was_sent_is_written_with_its_locks(save, home, answer):
    assert save() == {}
    env = read_record(home / "env.json", EnvRecord)
    assert (env.host, dump_builtins(env)["environments"]) == ("h200", answer)
    for name in ("driver.txt", "torch-system-py312.txt"):
        assert (home / "locks" / name).read_text() == locks.read_lock(name)


@pytest.mark.parametrize(
    "change",
    [
        list.pop,
        lambda answer: answer.append(answer[0]),
        lambda answer: answer[1].update(lock_sha256="0" * 64),
        lambda answer: answer[1].update(framework="tensorflow"),
        lambda answer: answer[0].pop("python"),
        lambda answer: answer[0].update(more=1),
        lambda answer: answer[0].update(lock="../x"),
        lambda answer: answer[0].update(build_s=float("inf")),
    ],
    ids=["fewer", "more", "lock", "framework", "no python", "field", "path", "inf"],
)
def test_anything_else_is_refused_and_not_written(golden, save, home, answer, change):
    change(answer)
    result = save()
    assert result["failed"]
    golden(result["msg"])
    assert not (home / "env.json").exists()
    assert not (home / "locks").exists()


def test_without_a_record_or_a_build_it_fails(golden, save, home):
    plan = read_record(home / "plan.json", PlanRecord)
    refused = tuple(replace(environment, build=None, refusal="No.") for environment in plan.environments)
    write_record(home / "plan.json", replace(plan, environments=refused))
    lines = [save()["msg"]]
    for name in ("host.json", "plan.json"):
        (home / name).unlink()
        lines.append(save()["msg"])
    golden(*lines)
