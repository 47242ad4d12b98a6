"""What can be asked of SLURM, and each mistake in it as one sentence."""

import pytest
import yaml

from rekindle.settings.mistake import Settings
from rekindle.settings.of_slurm import slurm

NAME = "rekindle_slurm"
CANNOT = f"{NAME} cannot be asked of SLURM: "
FIX = "Fix: write it as {partition: gpu, nodes: 2, gpus_per_node: 8, time: '02:00:00'}."


def said(text):
    """Return what is said of the setting, as an inventory has it."""
    return [str(mistake) for mistake in slurm(Settings({NAME: yaml.safe_load(text)}, (), ()))]


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "{partition: gpu, time: '02:00:00'}",
        "{partition: gpu, nodes: 2, gpus_per_node: 8, time: '1-02:00:00', account: research, "
        "extra: ['--exclusive', '--qos=high'], local_disk: /local}",
    ],
)
def test_what_can_be_asked_for_is_no_mistake(text):
    assert said(text) == []


def test_a_time_that_yaml_reads_as_a_number_is_told_as_that():
    assert said("{partition: gpu, time: 2:00:00}") == [
        f"{NAME} has the time 7200, as YAML reads 12:00:00 as a number of seconds. "
        "Fix: write it in quotes, such as '12:00:00'."
    ]


@pytest.mark.parametrize(
    "text",
    [
        "{partition: 5, time: '02:00:00'}",
        "{partition: 'a b', time: '02:00:00'}",
        "{time: '02:00:00'}",
        "{partition: gpu}",
        "{partition: gpu, time: '2 hours'}",
        "{partition: gpu, time: '02:00:00', node: 2}",
        "{partition: gpu, time: '02:00:00', nodes: 0}",
        "{partition: gpu, time: '02:00:00', extra: ['exclusive']}",
        "{partition: gpu, time: '02:00:00', extra: '--exclusive'}",
    ],
)
def test_what_cannot_be_asked_for_is_one_sentence(text):
    (line,) = said(text)
    assert line.startswith(CANNOT)
    assert line.endswith(f". {FIX}")
    assert "\n" not in line


@pytest.mark.parametrize(
    "option", ["--exclusive", "--qos=high", "--constraint=h200", "-C", "--exclude=n9", "-x", "--mem=0"]
)
def test_what_no_script_sets_can_be_chosen(option):
    assert said(f"{{partition: gpu, time: '02:00:00', extra: ['{option}']}}") == []


@pytest.mark.parametrize(
    "option",
    [
        "--export=NONE",
        "--nodes=4",
        "-N",
        "-N4",
        "--time=1",
        "--part=x",
        "--gpus-per-node=1",
        "--signal=USR1",
        "-a1",
    ],
)
def test_an_option_that_a_script_sets_itself_is_refused(option):
    assert said(f"{{partition: gpu, time: '02:00:00', extra: ['--exclusive', '{option}']}}") == [
        f"{NAME} has {option} in extra, which each batch script sets itself. "
        "Fix: leave it out; what can be chosen has a name of its own there."
    ]
