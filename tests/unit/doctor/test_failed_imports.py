# SPDX-License-Identifier: Apache-2.0
"""What a failed import lacks, and whose that is."""

import pytest

from rekindle.doctor import diagnose_texts, imports, texts

INSIDE = "/v/lib/python3.11/site-packages/nvflare/x.py"


def _cause(line):
    return diagnose_texts([texts.text("log.txt", f"{line}\n".encode())]).cause


@pytest.mark.parametrize(
    ("line", "layer", "remedy"),
    [
        (
            "ModuleNotFoundError: No module named 'monai'",
            "environment",
            "package that has monai as requirements:",
        ),
        ("ModuleNotFoundError: No module named 'utils.data'", "job", "job's own utils.data"),
        ("ModuleNotFoundError: No module named 'my_networks'", "job", "job's own my_networks"),
        (
            "ModuleNotFoundError: No module named 'nvflare.old.thing'",
            "environment",
            "release of nvflare that has",
        ),
        ("ModuleNotFoundError: No module named 'torch.nn'; 'torch' is not a package", "job", "own torch.py"),
        ("ModuleNotFoundError: No module named 'distutils'", "environment", "another Python"),
        (
            f"ImportError: cannot import name 'Gone' from 'nvflare.x' ({INSIDE})",
            "environment",
            "nvflare.x.Gone",
        ),
        ("ImportError: cannot import name 'Net' from 'net' (/w/custom/net.py)", "job", "job's own net"),
        (
            "ImportError: cannot import name 'a' from partially initialized module 'b' (/w/b.py)",
            "job",
            "import each other",
        ),
    ],
)
def test_what_is_missing_decides_what_to_do(line, layer, remedy):
    assert (_cause(line).layer, remedy in _cause(line).remedy) == (layer, True)


def test_a_package_that_is_installed_is_not_seen_by_a_wrong_python():
    finding = _cause("ModuleNotFoundError: No module named 'monai'")
    assert "environment's Python" in imports.explained(finding, {"monai": "1.5"}).remedy


def test_the_releases_that_have_a_name_are_told_where_they_are_known(monkeypatch):
    monkeypatch.setattr(
        imports, "released_in", lambda name: "nvflare 2.5" if name == "nvflare.x.Gone" else ""
    )
    known = _cause(f"ImportError: cannot import name 'Gone' from 'nvflare.x' ({INSIDE})")
    assert known.remedy.startswith("nvflare.x.Gone is in nvflare 2.5: pin that release")
