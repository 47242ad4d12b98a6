# SPDX-License-Identifier: Apache-2.0
"""pip's configuration becomes uv's."""

import pytest

from rekindle.environments.indexes import (
    list_configurations,
    make_uv_environment,
    make_uv_variables,
    read_pip_settings,
)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"index-url": "https://mirror.example/s"}, {"UV_DEFAULT_INDEX": "https://mirror.example/s"}),
        (
            {"extra-index-url": "\nhttps://a.example/s\nhttps://b.example/s"},
            {"UV_INDEX": "https://a.example/s https://b.example/s"},
        ),
        ({"find-links": "/a /b"}, {"UV_FIND_LINKS": "/a,/b"}),
        ({"cert": "/ca.pem"}, {"SSL_CERT_FILE": "/ca.pem"}),
        ({"trusted-host": "a.example b.example"}, {"UV_INSECURE_HOST": "a.example b.example"}),
        ({"proxy": "http://p.example:3128"}, {"ALL_PROXY": "http://p.example:3128"}),
        ({"no-index": "true"}, {"UV_NO_INDEX": "1"}),
        ({"no-index": "false"}, {}),
        ({"timeout": "30"}, {"UV_HTTP_TIMEOUT": "30"}),
    ],
)
def test_each_setting_has_its_variable(settings, expected):
    assert make_uv_variables(settings) == {"UV_INDEX_STRATEGY": "unsafe-best-match", **expected}


def test_percent_signs_in_urls_are_not_interpolated():
    found = read_pip_settings(["[global]\nindex-url = https://u:p%40ss@m.example/s"], {})
    assert found["index-url"].count("%40") == 1


def test_files_are_read_weakest_first(tmp_path):
    environ = {"HOME": str(tmp_path), "PIP_CONFIG_FILE": "/nowhere.conf"}
    files = [str(path) for path in list_configurations(environ)]
    assert files[-2:] == [f"{tmp_path}/.pip/pip.conf", f"{tmp_path}/.config/pip/pip.conf"]
    (tmp_path / "last.conf").touch()
    files = list_configurations({**environ, "PIP_CONFIG_FILE": str(tmp_path / "last.conf")})
    assert [path.name for path in files[-2:]] == ["pip.conf", "last.conf"]
    assert not [path for path in files if path.is_relative_to(tmp_path / ".config")]
    assert list_configurations({**environ, "PIP_CONFIG_FILE": "/dev/null"}) == []


def test_what_is_set_for_uv_itself_stays():
    environ = {"PIP_CONFIG_FILE": "/dev/null", "PIP_INDEX_URL": "a", "UV_DEFAULT_INDEX": "b"}
    assert make_uv_environment(environ)["UV_DEFAULT_INDEX"] == "b"
