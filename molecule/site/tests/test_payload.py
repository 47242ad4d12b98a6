# SPDX-License-Identifier: Apache-2.0
"""Rekindle's code on the host, in one file that Python imports from."""

JOBS = "/home/lease/rekindle/jobs"


def test_it_is_one_file_for_its_owner_alone(host):
    (name,) = host.file(JOBS).listdir()
    payload = host.file(f"{JOBS}/{name}")
    assert name.startswith("rekindle-")
    assert (payload.user, payload.mode) == ("lease", 0o600)
    assert host.file(JOBS).mode == 0o700


def test_the_hosts_own_python_imports_the_driver_from_it(host):
    (name,) = host.file(JOBS).listdir()
    output = host.check_output(
        f"PYTHONPATH={JOBS}/{name} python3 -c 'import rekindle; print(rekindle.__file__)'"
    )
    assert output == f"{JOBS}/{name}/rekindle/__init__.py"
