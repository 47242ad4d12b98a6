# SPDX-License-Identifier: Apache-2.0
"""What can be asked of SLURM, and each mistake in it as one sentence."""

import pytest
import yaml

from rekindle.slurm.settings import find_allocation_mistakes

NAME = "rekindle_slurm"
GOOD = "partition: gpu, time: '02:00:00'"


def complaints(text, role="", **more):
    """Return the complaints about the setting, as an inventory has it, of a host with a role."""
    values = {NAME: yaml.safe_load(f"{{{text}}}"), **more}
    return [str(mistake) for mistake in find_allocation_mistakes(values, role)]


def test_what_can_be_asked_for_is_no_mistake():
    full = "nodes: 2, gpus_per_node: 8, account: research"
    for text in ("", GOOD, f"{GOOD}, {full}", "partition: gpu, time: '1-02:00:00'"):
        assert complaints(text) == []
    for option in ("--exclusive", "--qos=high", "--constraint=h200", "-C", "--exclude=n9", "-x", "--mem=0"):
        assert complaints(f"{GOOD}, extra: ['{option}']") == []


@pytest.mark.parametrize(
    "text",
    [
        "partition: gpu, time: 2:00:00",
        "partition: 5, time: '02:00:00'",
        "partition: 'a b', time: '02:00:00'",
        "time: '02:00:00'",
        "partition: gpu",
        "partition: gpu, time: '2 hours'",
        f"{GOOD}, node: 2",
        f"{GOOD}, nodes: 0",
        f"{GOOD}, extra: ['exclusive']",
        f"{GOOD}, extra: '--exclusive'",
        f"{GOOD}, extra: ['--exclusive', '--export=NONE']",
    ],
)
def test_what_cannot_be_asked_for_is_one_sentence(golden, text):
    (line,) = complaints(text)
    golden(line)


def test_an_option_that_a_script_sets_itself_is_refused():
    options = "--nodes=4 -N -N4 --time=1 --part=x --gpus-per-node=1 --signal=USR1 -a1"
    for option in options.split():
        (line,) = complaints(f"{GOOD}, extra: ['--exclusive', '{option}']")
        assert line.startswith(f"{NAME} has {option} in extra, which each batch script sets itself.")


def test_a_login_node_is_a_site_of_a_federation_with_one_node_and_never_its_server(golden):
    lines = []
    assert complaints(GOOD, "site") == []
    for group, text, more in (
        ("server", GOOD, {}),
        ("site", f"{GOOD}, nodes: 2", {}),
        ("site", GOOD, {"rekindle_federation_keep": True}),
    ):
        assert complaints(text, **more) == []
        (line,) = complaints(text, group, **more)
        lines.append(line)
    golden(*lines)
