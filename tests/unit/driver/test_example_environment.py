"""What the processes of an example are started with."""

import msgspec
from test_ladder import spec  # noqa: F401 - a fixture

from rekindle.driver import command
from rekindle.records import Example


def test_a_variable_of_an_example_may_name_its_stand_ins(spec, tmp_path):  # noqa: F811
    example = Example(folder="a/b", command=("job.py",), environ={"HF_HUB_CACHE": "{data}/hub"})
    of_example = msgspec.structs.replace(spec, job=msgspec.structs.replace(spec.job, example=example))
    environ = command.environment(tmp_path, of_example)
    assert environ["HF_HUB_CACHE"] == f"{environ['REKINDLE_DATA']}/hub"
    assert environ["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"
