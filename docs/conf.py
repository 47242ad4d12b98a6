# SPDX-License-Identifier: Apache-2.0
"""Sphinx's configuration of the site; `make docs` builds it."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1] / folder) for folder in ("scripts", "src")]

import write_reference  # noqa: E402

project = "Rekindle"
html_title = "Rekindle"
extensions = ["myst_parser"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
html_theme = "furo"
html_static_path = []
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
highlight_language = "text"


def setup(app):
    """Have Sphinx write the pages that the code knows before it looks for pages."""
    app.connect("builder-inited", lambda app: write_reference.write_pages())
