# SPDX-License-Identifier: Apache-2.0
"""On the controller, `host/files.py` alone opens what lies in a results folder, as somebody else wrote it.

Elsewhere nothing is opened but our own package's data, and what this table names.
"""

import ast

import pytest

from rekindle.host import paths

_ROOMS = (
    *("acceptance", "actions", "capsule", "cli", "doctor", "federation", "flare", "gpus", "hostfacts"),
    *("jobs", "judge", "locks", "records", "report", "results", "settings", "solver"),
)
"""Those that read on the controller; others run on hosts, or in a job."""
_OPENS = {"open", "read_bytes", "read_text", "fromfile", "mmap"}
_COPIES = {"copy", "copy2", "copyfile", "copytree"}
_OURS = {
    "capsule/packages.py": "what uv answered, in the user's own folder",
    "capsule/python.py": "an archive of Python that the inventory names",
    "capsule/uv.py": "our own lock",
    "cli/job.py": "makes a job.yml, where nothing is",
    "cli/main.py": "/dev/null",
    "cli/plays.py": "what our own playbook wrote",
    "doctor/diagnosis.py": "a file that its user names, or standard input",
    "federation/authority.py": "the user's own authority",
    "federation/federate.py": "what our own playbook wrote",
    "federation/keeper.py": "on a host: its own kit and record",
    "federation/parent.py": "on a host: its own kit",
    "federation/server.py": "on a host: the job's own export",
    "federation/parts.py": "copies what was unpacked here of each host",
    "hostfacts/frames.py": "our own collector",
    "jobs/job_file.py": "the user's job",
    "jobs/own.py": "the user's job",
    "jobs/source.py": "the user's job",
    "results/archive.py": "what our own action has just fetched, and a new folder of ours",
    "results/journal.py": "our own site.yml",
    "results/state.py": "the user's own folder of keys",
    "settings/play.py": "our own specification of settings",
}
_INSIDE = {"archive", "member", "Run", "tarfile", "self"}
"""What is opened inside of an archive that was opened by `host/files.py`, or is ours and opens so."""


def _of(node):
    """Return the name that a call begins with: ``files`` of ``files(x).joinpath(y).read_bytes()``."""
    while not isinstance(node, ast.Name):
        node = getattr(node, "func", None) or getattr(node, "value", None) or getattr(node, "left", None)
        if node is None:
            return ""
    return node.id


def opening(path):
    """Yield the lines in which a file of ours opens another itself."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "attr", None) or getattr(node.func, "id", None)
        begins = _of(node.func.value) if isinstance(node.func, ast.Attribute) else ""
        data = begins in {"files", "layer", *_INSIDE}
        if (name in _OPENS and not data) or (name in _COPIES and begins == "shutil"):
            yield node.lineno


@pytest.mark.parametrize("room", [*_ROOMS, "plugins"])
def test_nothing_else_opens_a_file(room):
    root = paths.find_collection() / ("plugins/action" if room == "plugins" else f"src/rekindle/{room}")
    found = {
        f"{room}/{path.relative_to(root)}": lines
        for path in sorted(root.rglob("*.py"))
        if (lines := list(opening(path)))
    }
    assert {name: lines for name, lines in found.items() if name not in _OURS} == {}


def test_the_table_names_what_is_there():
    for name in _OURS:
        path = paths.find_collection() / "src/rekindle" / name
        assert list(opening(path)), name


@pytest.mark.parametrize(
    "line",
    [
        "x.read_bytes()",
        "(x / y).open('rb')",
        "open(x)",
        "P(x).read_text()",
        "os.open(x)",
        "shutil.copy(x, y)",
    ],
)
def test_each_way_to_open_a_file_is_seen(tmp_path, line):
    (tmp_path / "one.py").write_text(line)
    assert list(opening(tmp_path / "one.py")) == [1]


def test_package_data_and_host_files_are_no_such_ways(tmp_path):
    lines = "files(x).joinpath(y).read_bytes()\nfiles.opened(x)\nfiles.content(x)\nmember.open(x)\n"
    (tmp_path / "one.py").write_text(lines)
    assert list(opening(tmp_path / "one.py")) == []
