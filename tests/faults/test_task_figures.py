# SPDX-License-Identifier: Apache-2.0
"""What our component at the server tells of a result, in an environment that it runs in."""

import pytest

BEGIN = """
import math
import numpy as np
import torch
from rekindle.trainer.arrays import sketch_model, walk_leaves
from rekindle.trainer.comparison import compare_result
from rekindle.trainer.correlation import correlate_models

chance = np.random.default_rng(0)
MODEL = {"w": chance.normal(size=(70, 33)).astype(np.float32), "b": np.float32(chance.normal(size=13))}

def moved(sent, got):
    return compare_result(dict(walk_leaves(sent)), got, {}).moved

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
    "other values under another name, or of another size, are compared with nothing": """
        assert moved(MODEL, {"v": 2 * MODEL["w"]}) is None
        assert moved(MODEL, {"w": MODEL["w"][1:]}) is None
    """,
    "the same values under another name, or a name with a prefix, are what was sent": """
        assert moved(MODEL, {"v": MODEL["w"]}) == 0
        assert moved(MODEL, {"module.w": MODEL["w"]}) == 0
        assert moved(MODEL, {"module.w": 2 * MODEL["w"]}) > 0
    """,
    "what moves by rounding alone, and what are running statistics, is not trained": """
        weights = {"w": np.float32([0.5, -0.25] * 600), "norm.running_mean": np.zeros(8, np.float32)}
        near = {"w": np.nextafter(weights["w"], np.float32(9)), "norm.running_mean": np.ones(8, np.float32)}
        found = compare_result(dict(walk_leaves(weights)), near, {})
        assert found.moved > 0 and found.trained == 0
        near["w"] = weights["w"] + np.float32(1e-5)
        assert compare_result(dict(walk_leaves(weights)), near, {}).trained > 0
    """,
    "a correlation tells a model that comes from another from one by chance": """
        drawn = np.random.default_rng(1).normal(size=(2, 4000)).astype(np.float32)
        sent = dict(walk_leaves({"w": drawn[0]}))
        assert compare_result(sent, {"w": drawn[0] + drawn[1] / 4}, {}).kept > 0.9
        assert abs(compare_result(sent, {"w": drawn[1]}, {}).kept) < 4 / math.sqrt(4000)
        assert compare_result(sent, {"w": drawn[0]}, dict(walk_leaves({"w": drawn[0]}))).alike > 0.99
        few = dict(walk_leaves({"w": drawn[0][:100]}))
        assert compare_result(few, {"w": drawn[1][:100]}, {}).kept is None
        assert correlate_models(sent, sent) > 0.99
        assert abs(correlate_models(sent, dict(walk_leaves({"w": drawn[1]})))) < 4 / math.sqrt(4000)
    """,
    "a mask of attention, infinite where it was sent so, is no part of what was trained": """
        mask = np.triu(np.full((16, 16), -np.inf, np.float32), 1)
        got = {**MODEL, "w": MODEL["w"] + np.float32(0.01)}
        plain = compare_result(dict(walk_leaves(MODEL)), got, dict(walk_leaves(MODEL)))
        sent = {**MODEL, "mask": mask}
        found = compare_result(dict(walk_leaves(sent)), {**got, "mask": mask}, dict(walk_leaves(sent)))
        assert (found.finite, found.moved, found.trained) == (True, plain.moved, plain.trained)
        assert math.isclose(found.kept, plain.kept) and math.isclose(found.norm, plain.norm)
        assert math.isclose(correlate_models(sent, {**got, "mask": mask}), correlate_models(MODEL, got))
        assert compare_result(dict(walk_leaves(sent)), {**got, "mask": -mask}, {}).finite is False
        lost = {**got, "b": MODEL["b"] * -np.inf}
        assert compare_result(dict(walk_leaves(MODEL)), lost, {}).finite is False
        saved = sketch_model(sent)
        assert (saved["infinite"], saved["norm"]) == (120, sketch_model(MODEL)["norm"])
        assert sketch_model({"w": np.float32([1, np.nan])})["infinite"] == 1
    """,
    "two differences are alike as the models that they make, whatever noise is in them": """
        drawn = np.random.default_rng(1).normal(size=(3, 4000)).astype(np.float32)
        sent, other = dict(walk_leaves({"w": drawn[0]})), dict(walk_leaves({"w": drawn[1] / 10}))
        assert compare_result(sent, {"w": drawn[2] / 10}, other, difference=True).alike > 0.9
        noise = dict(walk_leaves({"w": 100 * drawn[1]}))
        assert compare_result(sent, {"w": 100 * drawn[2]}, noise, difference=True).alike < 0.1
    """,
    "the digest of a model is the same as long as a forward pass alone has changed it": """
        def digest(w, mean):
            return sketch_model({"w": MODEL["w"] + w, "n.running_mean": np.float32([mean])})["digest"]

        began, counted, trained = digest(0, 0), digest(0, 1), digest(1, 1)
        assert began == counted != trained
    """,
    "integers are a model's numbers where it has no others, as trees in bytes": """
        trees = {"tree": np.arange(9, dtype=np.uint8), "none": np.zeros(0, np.uint8), "raw": [("a", b"tree")]}
        assert sketch_model(trees)["values"] == 13 and sketch_model(trees)["digest"]
        assert sketch_model({**MODEL, **trees}) == sketch_model(MODEL)
        assert sketch_model({"raw": b"", "text": "tree"})["values"] == 0
    """,
    "what a model has as a buffer is no weight, whatever its name": """
        got = {**MODEL, "w": MODEL["w"] + np.float32(0.01)}
        assert compare_result(dict(walk_leaves(MODEL)), got, {}).trained > 0
        found = compare_result(dict(walk_leaves(MODEL)), got, {}, ["w"])
        assert (found.trained, found.moved > 0) == (0, True)
    """,
    "a difference is what a result adds to what was sent": """
        found = compare_result(dict(walk_leaves(MODEL)), {"w": 0 * MODEL["w"]}, {}, difference=True)
        assert (found.moved, found.trained) == (0, 0)
        change = {"w": 0.1 + 0 * MODEL["w"]}
        assert compare_result(dict(walk_leaves(MODEL)), change, {}, difference=True).trained > 0
    """,
    "a large array is read part by part, as a language model's would take a run's time and memory": """
        import tracemalloc
        sent = dict(walk_leaves({"w": np.linspace(-1, 1, 1 << 22, dtype=np.float32)}))
        got, other = ({"w": sent["/w"] * np.float32(times)} for times in (1.5, 0.5))
        tracemalloc.start()
        compare_result(sent, got, dict(walk_leaves(other)))
        correlate_models(sent, sent)
        sketch_model(got)
        assert tracemalloc.get_traced_memory()[1] < sent["/w"].nbytes / 2
    """,
    "values at the end of a large array count as those at its beginning": """
        sent = {"w": np.zeros(200_000, np.float32)}
        for where in (0, -1):
            got = {"w": sent["w"].copy()}
            got["w"][where] = 3
            assert moved(sent, got) == 3
    """,
}


@pytest.mark.parametrize("what", HOLDS)
def test_of_what_a_site_sent_back(what, in_torch):
    assert in_torch(BEGIN, HOLDS, what) is None
