# SPDX-License-Identifier: Apache-2.0
"""Fingerprints of weights, in the environment that trains them."""

import pytest

BEGIN = """
import numpy as np
import torch
from rekindle.trainer.arrays import fingerprint_weights

chance = np.random.default_rng(0)
TREE = {"b": chance.normal(size=(700, 33)), "a": chance.normal(size=13), "c": chance.normal(size=())}
TREE = {name: np.asarray(value, dtype=np.float32) for name, value in TREE.items()}
PLAIN = fingerprint_weights(TREE)

def close(first, last):
    return np.allclose(first, last, rtol=0, atol=1e-6 * max(map(abs, last)))
"""
HOLDS = {
    "the order in which names come is of no matter": """
        assert fingerprint_weights(dict(sorted(TREE.items()))) == PLAIN == fingerprint_weights(dict(TREE))
    """,
    "tensors are told as arrays are": """
        assert fingerprint_weights({name: torch.tensor(value) for name, value in TREE.items()}) == PLAIN
        parameter = torch.nn.Parameter(torch.tensor(TREE["b"]).T.contiguous().T)
        assert not parameter.is_contiguous()
        assert fingerprint_weights({**TREE, "b": parameter}) == PLAIN
    """,
    "halves and doubles are told as float32 has them": """
        for kind in (torch.bfloat16, torch.float16, torch.float64):
            tensor = torch.arange(20).to(kind)
            plain = fingerprint_weights({"n": np.arange(20, dtype=np.float32)})
            assert fingerprint_weights({"n": tensor}) == plain
        for kind in (np.float16, np.float64):
            array = np.arange(20, dtype=kind)
            assert fingerprint_weights({"n": array}) == fingerprint_weights({"n": array.astype(np.float32)})
    """,
    "integers, which are not averaged, are left out": """
        for counted in (np.arange(20), torch.arange(3)):
            assert fingerprint_weights({**TREE, "n": counted}) == PLAIN
    """,
    "Keras' layers are told as NVFlare's server has them": """
        layers = {"first": [TREE["a"], TREE["b"]], "pool": []}
        named = {"first_nvf_0": TREE["a"], "first_nvf_1": TREE["b"]}
        assert fingerprint_weights(layers) == fingerprint_weights(named)
    """,
    "another value, name or size is other weights": """
        value = TREE["b"].copy()
        value[-1, -1] = np.nextafter(value[-1, -1], 9, dtype=np.float32)
        others = [
            {**TREE, "b": value},
            {"b": TREE["b"], "a": TREE["a"], "d": TREE["c"]},
            {**TREE, "d": np.zeros(0, np.float32)},
            {**TREE, "a": TREE["a"][:-1], "c": np.append(TREE["a"][-1], TREE["c"])},
        ]
        assert len({fingerprint_weights(tree).digest for tree in [TREE, *others]}) == 5
        assert fingerprint_weights(others[0]).sketch != PLAIN.sketch
        name_like = np.frombuffer(b"bcd\\0", np.float32)
        one_name, two_names = {"a": np.append(name_like, TREE["c"])}, {"a": name_like[:0], "bcd": TREE["c"]}
        assert fingerprint_weights(one_name).digest != fingerprint_weights(two_names).digest
    """,
    "a sketch has the sums of every eighth value": """
        flat = np.concatenate([TREE[name].ravel() for name in "abc"]).astype(float)
        assert close(PLAIN.sketch, [flat[k::8].sum() for k in range(8)])
    """,
    "a sketch is linear": """
        other = {name: value + 1 for name, value in TREE.items()}
        mean = {name: (3 * value + 5 * other[name]) / 8 for name, value in TREE.items()}
        expected = (3 * np.array(PLAIN.sketch) + 5 * np.array(fingerprint_weights(other).sketch)) / 8
        assert close(fingerprint_weights(mean).sketch, expected)
    """,
    "a sketch has no place for what is infinite, and weights that are NaN have none": """
        assert fingerprint_weights({**TREE, "d": np.array([1, np.nan])}).sketch == ()
        blank = fingerprint_weights({**TREE, "d": np.array([1.0, 0.0])}).sketch
        assert fingerprint_weights({**TREE, "d": np.array([1, -np.inf])}).sketch == blank
        assert fingerprint_weights({}).sketch == (0.0,) * 8
    """,
    "they need no framework": """
        import sys, subprocess
        code = (
            "import sys; from rekindle.trainer import fingerprint_weights; assert 'numpy' not in sys.modules;"
            "fingerprint_weights({'a': [1.0]}); assert not {'torch', 'tensorflow'} & sys.modules.keys()"
        )
        subprocess.run([sys.executable, "-c", code], check=True)
    """,
}


@pytest.mark.parametrize("what", HOLDS)
def test_of_fingerprints(what, in_torch):
    assert in_torch(BEGIN, HOLDS, what) is None
