"""What a host says of the environments that it built is written only if it was asked for."""

from importlib.resources import files

import pytest
from locked import lock_as_today
from msgspec.structs import replace

from rekindle.records import EnvRecord, PlanRecord, read, to_builtins, write


@pytest.fixture
def told(home):
    """Return the environments of the recorded host, as it tells them; env.json is not there yet."""
    lock_as_today(home)
    environments = to_builtins(read(home / "env.json", EnvRecord))["environments"]
    (home / "env.json").unlink()
    return environments


@pytest.fixture
def save(load, home, told):
    def run():
        args = {"environments": told, "folder": str(home), "capsule": ""}
        return load("save_environments").run(args, host="h200")

    return run


def test_what_was_sent_is_written_with_its_locks(save, home, told):
    assert save() == {}
    env = read(home / "env.json", EnvRecord)
    assert (env.host, to_builtins(env)["environments"]) == ("h200", told)
    for name in ("driver.txt", "torch-system-py312.txt"):
        assert (home / "locks" / name).read_text() == files("rekindle.locks").joinpath(name).read_text()


def _assert_fails(result, said):
    assert result["failed"]
    assert result["msg"].startswith("What came from the host is not a valid EnvRecord: ")
    assert said in result["msg"]
    assert result["msg"].endswith(" Fix: run the stage again.")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda told: told.pop(), "its locks are not those that were sent"),
        (lambda told: told.append(told[0]), "its locks are not those that were sent"),
        (lambda told: told[1].update(lock_sha256="0" * 64), "its locks are not those that were sent"),
        (lambda told: told[1].update(framework="tensorflow"), "its locks are not those that were sent"),
        (lambda told: told[0].pop("python"), "missing required field `python`"),
        (lambda told: told[0].update(more=1), "unknown field `more`"),
        (lambda told: told[0].update(lock="../x"), "environments"),
        (lambda told: told[0].update(build_s=float("inf")), ""),
    ],
)
def test_anything_else_is_refused_and_not_written(save, home, told, change, said):
    change(told)
    _assert_fails(save(), said)
    assert not (home / "env.json").exists()
    assert not (home / "locks").exists()


@pytest.mark.parametrize("name", ["plan.json", "host.json"])
def test_without_a_record_it_fails(save, home, name):
    (home / name).unlink()
    _assert_fails(save(), f"{name} does not exist.")


def test_of_a_plan_that_refuses_everything_nothing_can_have_been_built(save, home):
    plan = read(home / "plan.json", PlanRecord)
    refused = tuple(replace(environment, build=None, refusal="No.") for environment in plan.environments)
    write(home / "plan.json", replace(plan, environments=refused))
    _assert_fails(save(), "names no build")
