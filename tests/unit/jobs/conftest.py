# SPDX-License-Identifier: Apache-2.0
"""A job of one's own, in a folder."""

import json

import pytest


@pytest.fixture
def project(tmp_path):
    """Return what writes files into the folder of a job, which it returns."""

    def written(**files):
        folder = tmp_path / "My line"
        for name, text in files.items():
            path = folder / name.replace("__", "/").replace("_py", ".py").replace("_json", ".json")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text if isinstance(text, str) else json.dumps(text))
        return folder

    return written
