# SPDX-License-Identifier: Apache-2.0
"""The collector, run by dash in a home of its own, and commands for it to find."""

import secrets
from pathlib import Path

import pytest
from runners.commands import capture_command

from rekindle.hostfacts.frames import COLLECTOR, parse_frames


@pytest.fixture
def fake(tmp_path):
    """Put a command on the PATH of the collector."""

    def put(name, script):
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return path

    return put


@pytest.fixture
def collect(tmp_path):
    """Run the collector in a home of its own and return its frames."""
    home = tmp_path / "the home"
    home.mkdir()

    def run(*probes, root="~/rekindle", tmpdir="~/rekindle/tmp", limit=20, **env):
        nonce = secrets.token_hex(8)
        done = capture_command(
            ["dash", "-s", "--", nonce, root, tmpdir, str(limit), *probes],
            stdin=COLLECTOR.open(),
            timeout=30,
            check=True,
            cwd=tmp_path,
            env={"PATH": f"{tmp_path}/bin:/usr/bin:/bin", "HOME": str(home), **env},
        )
        assert done.stderr == ""
        assert not list(Path("/dev/shm").glob(f"*{nonce}*"))
        assert list(home.iterdir()) == []
        return parse_frames(done.stdout, nonce)

    return run
