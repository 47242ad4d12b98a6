# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C while the command is still loaded, and the command as a module."""

import builtins
import subprocess
import sys

from rekindle.__main__ import run_from_shell


def test_an_interrupt_while_it_is_loaded_is_its_status_alone(monkeypatch, capsys):
    load = builtins.__import__

    def interrupt(name, *args, **kwargs):
        if name == "rekindle.cli":
            raise KeyboardInterrupt
        return load(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", interrupt)
    assert run_from_shell() == 130
    assert capsys.readouterr() == ("", "")


def test_it_is_a_module_too():
    command = [sys.executable, "-m", "rekindle", "--version"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout.split()[0], ended.stderr) == (0, "rekindle", "")
