# SPDX-License-Identifier: Apache-2.0
"""Times building the three CPU environments beside `python -m venv` and pip, with the same pins.

    .venv/bin/python benchmarks/environments.py

Side by side in one run, three times in turn; medians. Cold: no cache of uv's or pip's. Warm: each tool's
own cache is full. The floor is `cp -a` of the finished environments. Rekindle's probes are timed apart, as
pip has none; uv leaves compiling to bytecode to the first import, pip does it at once. "Nothing to do" is the
complete environments stage, with ansible-playbook, on a host that has what the plan names.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from statistics import median

from rekindle import locks
from rekindle.environments import Specification
from rekindle.environments.build import build_environment
from rekindle.environments.indexes import make_uv_environment

LOCKS = {
    "torch": "torch-2.13.0-cpu-py311.txt",
    "lightning": "lightning-2.6.6-cpu-py311.txt",
    "tensorflow": "tensorflow-2.21.0-cpu-py311.txt",
}
REPEATS = 3
REPOSITORY = Path(__file__).parents[1]


def specs() -> list[Specification]:
    """Return what ``build`` takes, for the Python that runs this."""
    specifications = []
    for name, lock in LOCKS.items():
        text = locks.read_lock(lock)
        digest = hashlib.sha256(text.encode()).hexdigest()
        spec: Specification = {
            "name": name,
            "python": sys.executable,
            "lock": lock,
            "lock_sha256": digest,
            "lock_text": text,
            "system_site": False,
            "gpus": [],
            "offline": False,
        }
        specifications.append(spec)
    return specifications


def rekindle(root: Path) -> tuple[float, float]:
    """Build all three under ``root``; returns seconds of installing, and of everything."""
    (root / "cache" / "bin").mkdir(parents=True, exist_ok=True)
    (root / "tmp").mkdir(exist_ok=True)
    shutil.copy(Path(sys.executable).with_name("uv"), root / "cache" / "bin" / "uv")
    began = time.monotonic()
    records = [build_environment(root, spec)[0] for spec in specs()]
    return sum(record["build_s"] for record in records), time.monotonic() - began


def nothing_to_do(here: Path) -> float:
    """Run the environments stage for three frameworks on a host that has them; returns wall seconds."""
    inventory = here / "hosts.yml"
    host = {
        "ansible_connection": "local",
        "ansible_python_interpreter": sys.executable,
        "rekindle_gpus_required": False,
        "rekindle_min_free_gb": 1,
        "rekindle_frameworks": list(LOCKS),
        "rekindle_root": str(here / "site"),
    }
    inventory.write_text(json.dumps({"all": {"hosts": {"local": host}}}))
    environ = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    took = 0.0
    for stage in ("preflight", "plan", "environments", "environments"):
        command = ["ansible-playbook", f"playbooks/{stage}.yml", "-i", str(inventory)]
        command += ["-e", f"rekindle_results={here / 'results'}"]
        began = time.monotonic()
        done = subprocess.run(
            command, cwd=REPOSITORY, env=environ, capture_output=True, text=True, check=True
        )
        took = time.monotonic() - began
    if "changed=0 " not in done.stdout:
        raise SystemExit(f"something was built where nothing was to do:\n{done.stdout}")
    return took


def pip(folder: Path, cache: Path) -> float:
    """Make the same three with venv and pip; returns wall seconds."""
    environ = {**os.environ, "PIP_CACHE_DIR": str(cache), "TMPDIR": str(folder)}
    began = time.monotonic()
    for name, lock in LOCKS.items():
        subprocess.run(
            [str(Path(sys.base_prefix, "bin", "python3")), "-m", "venv", str(folder / name)], check=True
        )
        path = folder / f"{name}.txt"
        path.write_bytes(locks.read_lock(lock).encode())
        install = [str(folder / name / "bin" / "pip"), "install", "--quiet", "--no-deps", "--require-hashes"]
        subprocess.run([*install, "--requirement", str(path)], env=environ, check=True, capture_output=True)
    return time.monotonic() - began


def disk(*folders: Path) -> float:
    """Return the GB that ``folders`` take together, files with several links counted once."""
    sizes = {}
    for folder in folders:
        for base, _, names in os.walk(folder):
            for name in names:
                status = os.lstat(Path(base, name))
                sizes[status.st_dev, status.st_ino] = status.st_blocks * 512
    return sum(sizes.values()) / 1e9


def main() -> None:
    """Print one table."""
    os.environ.update(make_uv_environment(os.environ))
    times: dict[str, list[float]] = defaultdict(list)
    for _ in range(REPEATS):
        with tempfile.TemporaryDirectory() as scratch:
            here = Path(scratch)
            root, again = here / "rekindle", here / "again"
            times["rekindle, cold"].append(rekindle(root)[0])
            again.mkdir()
            shutil.move(root / "cache", again / "cache")
            install, total = rekindle(again)
            times["rekindle, warm"].append(install)
            times["rekindle's probes, not counted"].append(total - install)
            times["rekindle, nothing to do"].append(nothing_to_do(here))
            envs = sorted(path for path in (again / "envs").iterdir() if path.is_dir())
            began = time.monotonic()
            subprocess.run(["cp", "-a", *map(str, envs), str(here)], check=True)
            times["cp -a (the floor)"].append(time.monotonic() - began)
            shared, apart = disk(*envs), sum(disk(env) for env in envs)
            for name in ("cold", "warm"):
                (here / name).mkdir()
                times[f"venv and pip, {name}"].append(pip(here / name, here / "pip-cache"))
    middle = {name: median(values) for name, values in times.items()}
    for name, value in middle.items():
        print(f"{name:32}{value:8.2f} s")
    print(
        f"cold: {middle['venv and pip, cold'] / middle['rekindle, cold']:.1f} times as fast as venv and pip"
    )
    print(
        f"warm: {middle['venv and pip, warm'] / middle['rekindle, warm']:.1f} times as fast as venv and pip"
    )
    print(f"warm against cp -a: {middle['rekindle, warm'] / middle['cp -a (the floor)']:.2f}")
    print(
        f"disk: {shared:.2f} GB with shared files, {apart:.2f} GB as separate copies ({shared / apart:.2f})"
    )


if __name__ == "__main__":
    main()
