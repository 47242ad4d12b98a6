"""The command line, called as a user calls it."""

import sys

import pytest

from rekindle import cli


@pytest.fixture
def call(monkeypatch, capsys):
    """Call ``rekindle``; return its status, and what it said on each stream."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["rekindle", *map(str, arguments)])
        status = cli.main()
        said = capsys.readouterr()
        return status, said.out, said.err

    return run
