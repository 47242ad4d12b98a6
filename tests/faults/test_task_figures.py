"""What our component at the server tells of a result, in an environment that it runs in."""

import pytest

BEGIN = """
import math
import numpy as np
import torch
from rekindle.trainer.arrays import leaves
from rekindle.trainer.compared import figures

chance = np.random.default_rng(0)
MODEL = {"w": chance.normal(size=(70, 33)).astype(np.float32), "b": np.float32(chance.normal(size=13))}

def moved(sent, got):
    return figures(dict(leaves(sent)), got, {}).moved

def cast(model, kind):
    return {name: torch.tensor(value).to(kind).float().numpy() for name, value in model.items()}
"""
HOLDS = {
    "a result that is what was sent, or that in the precision of a trainer, did not move": """
        for got in (MODEL, cast(MODEL, torch.bfloat16), cast(MODEL, torch.float16)):
            assert moved(MODEL, got) == 0
        assert moved(MODEL, {name: torch.tensor(value).bfloat16() for name, value in MODEL.items()}) == 0
        large = {"w": np.float32([1e30, -1e-40, 65519.0])}
        assert moved(large, cast(large, torch.bfloat16)) == 0
    """,
    "a result that a step has changed moved as far as it did": """
        for kind in (torch.float32, torch.bfloat16):
            got = cast(MODEL, kind)
            got["b"][3] += 0.5
            assert moved(MODEL, got) > 0.4
        assert math.isclose(moved({"w": np.float32([1, 2])}, {"w": np.float32([4, 6])}), 5)
    """,
    "what has other names or another size is compared with nothing": """
        assert moved(MODEL, {"v": MODEL["w"]}) is None
        assert moved(MODEL, {"w": MODEL["w"][1:]}) is None
    """,
}


@pytest.mark.parametrize("what", HOLDS)
def test_of_what_a_site_sent_back(what, in_torch):
    assert in_torch(BEGIN, HOLDS, what) is None
