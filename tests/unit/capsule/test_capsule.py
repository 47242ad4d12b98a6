# SPDX-License-Identifier: Apache-2.0
"""The capsule: the next lease gets exactly env.json and its locks, or a refusal."""

import hashlib
import json

import pytest
from msgspec.structs import replace
from samples.hosts import solved

from rekindle import capsule, locks
from rekindle.capsule.specs import make_specs
from rekindle.records import Allocation, EnvRecord, HostRecord, RecordError, read_record
from rekindle.results import state

OLD_LOCK = "# a lock of another day\nnvflare==2.7.3 \\\n    --hash=sha256:" + "a" * 64 + "\n"


@pytest.fixture
def host(recordings):
    return read_record(recordings / "h200-x2" / "host.json", HostRecord)


@pytest.fixture
def kept(tmp_path, recordings):
    """Return a capsule whose torch lock is another than ours of that name."""
    env = read_record(recordings / "h200-x2" / "env.json", EnvRecord)
    digest = hashlib.sha256(OLD_LOCK.encode()).hexdigest()
    torch = next(environment for environment in env.environments if environment.framework == "torch")
    env = replace(env, environments=(replace(torch, lock_sha256=digest),))
    state.keep_sent_lock(OLD_LOCK)
    capsule.save_environments(env, tmp_path)
    return tmp_path


def _plan(host, kept, framework="torch", **changes):
    on = replace(host, **changes)
    plan = solved(on, framework, system_site=True, pins=capsule.list_frameworks(kept))
    return capsule.apply_capsule(plan, on, kept)


def test_the_capsule_s_own_lock_is_installed(host, kept):
    plan = _plan(host, kept)
    spec = make_specs(plan, host, kept)[1]
    assert spec["lock_text"] == OLD_LOCK
    assert spec["lock_sha256"] == hashlib.sha256(OLD_LOCK.encode()).hexdigest()
    assert plan.environments[0].build.python_version == "3.12.3"


def test_a_host_without_that_python_is_refused(golden, host, kept):
    other = [replace(python, version="3.11.9") for python in host.pythons]
    planned = _plan(host, kept, pythons=tuple(other)).environments[0]
    assert planned.build is None
    golden(planned.refusal)


@pytest.fixture
def lightning(tmp_path, recordings):
    """Return a capsule of Lightning beside the host's own torch."""
    env = read_record(recordings / "h200-x2" / "env.json", EnvRecord)
    torch = next(environment for environment in env.environments if environment.framework == "torch")
    name = "lightning-system-py312.txt"
    changes = {"lock": name, "lock_sha256": locks.digest_lock(name)}
    changes["packages"] = {**torch.packages, "lightning": "2.6.6"}
    environments = (replace(torch, framework="lightning", **changes),)
    capsule.save_environments(replace(env, environments=environments), tmp_path)
    return tmp_path


def test_what_stands_on_a_lent_torch_is_rebuilt_on_the_same_torch_alone(golden, host, lightning):
    assert capsule.list_frameworks(lightning) == {"lightning": "2.6.6"}
    build = _plan(host, lightning, "lightning").environments[0].build
    assert (build.lock, build.python) == ("lightning-system-py312.txt", "/opt/torch/.venv/bin/python3")
    newer = [replace(python, torch=python.torch and "2.13.0") for python in host.pythons]
    planned = _plan(host, lightning, "lightning", pythons=tuple(newer)).environments[0]
    assert planned.build is None
    golden(planned.refusal)


def test_a_lock_that_is_altered_or_gone_and_a_folder_that_is_no_capsule_are_named(
    golden, host, kept, tmp_path
):
    plan, lines = _plan(host, kept), []
    (lock,) = (kept / "locks").iterdir()
    spoils = (lambda: lock.write_text(OLD_LOCK + "#"), lock.unlink)
    for spoil in spoils:
        spoil()
        with pytest.raises(RecordError) as error:
            make_specs(plan, host, kept)
        lines.append(str(error.value))
    with pytest.raises(RecordError) as error:
        capsule.list_frameworks(tmp_path / "none")
    golden(*lines, str(error.value))


EVIL = {
    "an index": "--index-url https://198.51.100.7/i\n",
    "another one": "--extra-index-url=https://198.51.100.7/i\n",
    "an option of a pin": OLD_LOCK.replace("2.7.3 ", "2.7.3 --config-settings=x=y "),
    "a direct URL": OLD_LOCK.replace("nvflare==2.7.3", "nvflare @ https://198.51.100.7/nvflare.whl"),
    "a URL alone": "https://198.51.100.7/nvflare.whl\n",
    "a file": "-r /etc/passwd\n",
    "a folder": "-e .\n",
    "no digest": "nvflare==2.7.3\n",
    "no exact pin": OLD_LOCK.replace("==", ">="),
    "a line's end of another kind": OLD_LOCK + "#\r--index-url https://198.51.100.7/i\n",
    "bytes": OLD_LOCK + "\x00\n",
}


@pytest.mark.parametrize("text", EVIL.values(), ids=EVIL)
def test_a_lock_is_pins_and_their_digests_or_it_is_refused(kept, host, text):
    env, digest = json.loads((kept / "env.json").read_text()), hashlib.sha256(text.encode()).hexdigest()
    env["environments"][0]["lock_sha256"] = digest
    (kept / "env.json").write_text(json.dumps(env))
    (kept / "locks" / env["environments"][0]["lock"]).write_bytes(text.encode())
    with pytest.raises(RecordError, match=r"torch-system-py312\.txt has the line .* Fix: ") as error:
        make_specs(_plan(host, kept), host, kept)
    assert "\n" not in str(error.value)


def test_our_own_locks_are_pins_and_their_digests():
    for name in locks.list_locks():
        assert capsule.capsules._pins_alone(name, locks.read_lock(name).encode()) == locks.read_lock(name)
        assert capsule.find_lock(name, locks.digest_lock(name)) == locks.read_lock(name)


def test_a_capsule_is_of_locks_that_were_sent_alone(tmp_path, kept):
    env = read_record(kept / "env.json", EnvRecord)
    made_up = hashlib.sha256(b"made up").hexdigest()
    (torch,) = env.environments
    other = replace(env, environments=(replace(torch, lock_sha256=made_up),))
    (tmp_path / "new/locks").mkdir(parents=True)
    (tmp_path / "new/locks" / torch.lock).write_text("made up")
    with pytest.raises(RecordError, match=r"was never sent from here, and no capsule has it\. Fix: "):
        capsule.save_environments(other, tmp_path / "new")
    assert not (tmp_path / "new/env.json").exists()


def test_on_a_cluster_an_environment_is_the_same_on_whichever_node(host, kept):
    slurm = Allocation(room="slurm", partition="gpu", nodes=2, gpus_per_node=2, time="01:00:00")
    login = replace(host, allocation=slurm)
    driver, torch = make_specs(_plan(host, kept), login, kept)
    assert torch["gpus"] == ["0", "1"]
    assert driver["gpus"] == []
