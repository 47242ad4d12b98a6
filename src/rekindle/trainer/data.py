# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for data sets and models that cannot be reached: scikit-learn's own data, or random.

Each is in the on-disk format of the real one's loader, so that an example that reads it needs no change.
Loaders would compare its digest with the real one's, and download that; patched, they read the stand-in
below the folder that REKINDLE_DATA names.
"""

import json
import os
import pickle
import random
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

_SEED = 7
_TRAIN, _TEST = 1500, 297
"""Of scikit-learn's 1,797 digits."""
_WORDS = {
    1: ("Private", "State-gov"),
    3: ("Bachelors", "HS-grad"),
    5: ("Married", "Never-married"),
    6: ("Sales", "Tech-support"),
    7: ("Husband", "Wife"),
    8: ("White", "Black"),
    9: ("Male", "Female"),
    13: ("United-States", "Cuba"),
    14: ("<=50K", ">50K"),
}
_COLUMNS, _ROWS = 15, 1000
_PEOPLE, _VERBS, _THINGS = ("Ann", "Bob", "Cid"), ("likes", "sees", "sells"), ("apples", "books", "maps")
_SENTENCES = [f"{who} {does} {what}." for who in _PEOPLE for does in _VERBS for what in _THINGS]
_END = "<|endoftext|>"
_VOCABULARY, _LONGEST = 512, 1024
"""Tokens: of the small GPT-2, and of a text."""


def make_stand_in(name: str, data: Path) -> None:
    """Write the stand-in ``name`` into ``data``, in a folder with the name of the data set."""
    folder, maker = _MAKERS[name]
    (data / folder).mkdir(parents=True)
    maker(data / folder)


def _digits() -> tuple[Any, Any]:
    """Return scikit-learn's digits, 8 × 8 from 0 to 255, and their classes; the last ones are held out."""
    import numpy as np  # noqa: PLC0415 - this package is imported where there is none
    from sklearn.datasets import load_digits  # noqa: PLC0415

    digits = load_digits()
    order = np.random.default_rng(_SEED).permutation(len(digits.target))
    return digits.images[order] * (255 / 16), digits.target[order]


def _cifar10(folder: Path, times: int = 1) -> None:
    """Digits of 32 × 32 pixels in three equal colours, each so many times: five batches and a test batch."""
    import numpy as np  # noqa: PLC0415

    images, labels = _digits()
    images, labels = np.repeat(images, times, axis=0), np.repeat(labels, times)
    large = np.kron(images, np.ones((4, 4))).astype(np.uint8)
    pixels = np.repeat(large[:, None], 3, axis=1).reshape(len(large), -1)
    batches = folder / "cifar-10-batches-py"
    batches.mkdir()
    train, test, size = times * _TRAIN, times * _TEST, times * _TRAIN // 5
    parts = {f"data_batch_{n + 1}": slice(n * size, (n + 1) * size) for n in range(5)}
    for name, part in {**parts, "test_batch": slice(train, train + test)}.items():
        with (batches / name).open("wb") as stream:
            pickle.dump({"data": pixels[part], "labels": labels[part].tolist()}, stream)
    with (batches / "batches.meta").open("wb") as stream:
        pickle.dump({"label_names": [str(digit) for digit in range(10)]}, stream)


def _mnist(folder: Path, name: str = "MNIST") -> None:
    """Digits of 28 × 28 pixels, as Keras' file and as those of torchvision's class of that ``name``."""
    import numpy as np  # noqa: PLC0415

    images, labels = _digits()
    large = np.zeros((len(images), 28, 28), np.uint8)
    large[:, 2:26, 2:26] = np.kron(images, np.ones((3, 3)))
    raw = folder / name / "raw"
    raw.mkdir(parents=True)
    for part, rows in (("train", slice(_TRAIN)), ("t10k", slice(_TRAIN, None))):
        for kind, values in (("images-idx3", large[rows]), ("labels-idx1", labels[rows].astype(np.uint8))):
            head = np.array([0x0800 + values.ndim, *values.shape], ">i4").tobytes()
            (raw / f"{part}-{kind}-ubyte").write_bytes(head + values.tobytes())
    np.savez(
        folder / "mnist.npz",
        x_train=large[:_TRAIN],
        y_train=labels[:_TRAIN].astype(np.uint8),
        x_test=large[_TRAIN:],
        y_test=labels[_TRAIN:].astype(np.uint8),
    )


def _heart_disease(folder: Path) -> None:
    """Thirteen features of scikit-learn's breast cancer data, for four sites."""
    import numpy as np  # noqa: PLC0415
    from sklearn.datasets import load_breast_cancer  # noqa: PLC0415

    found = load_breast_cancer()
    features = found.data[:, :13]
    features = (features - features.mean(axis=0)) / features.std(axis=0)
    labels = found.target.reshape(-1, 1).astype(float)
    order = np.random.default_rng(_SEED).permutation(len(features))
    for site, rows in enumerate(np.array_split(order, 4), 1):
        cut = len(rows) * 2 // 3
        for kind, part in (("train", rows[:cut]), ("test", rows[cut:])):
            np.save(folder / f"site-{site}.{kind}.x.npy", features[part])
            np.save(folder / f"site-{site}.{kind}.y.npy", labels[part])


def _adult(folder: Path) -> None:
    """Random rows in Adult's columns, for two sites; the second's file has the test set's first line."""
    import numpy as np  # noqa: PLC0415

    chance = np.random.default_rng(_SEED)
    for site in (1, 2):
        rows = ["|1x3 Cross validator"] if site == 2 else []
        for _ in range(_ROWS):
            cells = (
                str(chance.choice(_WORDS[column])) if column in _WORDS else str(chance.integers(17, 90))
                for column in range(_COLUMNS)
            )
            rows.append(", ".join(cells))
        path = folder / f"site-{site}" / "data.csv"
        path.parent.mkdir()
        path.write_text("\n".join(rows) + "\n", encoding="utf-8")


def _dolly(folder: Path) -> None:
    """Questions with their answers, for two sites, as llm_hf's own preparation of Dolly leaves them."""
    chance = random.Random(_SEED)
    for site in (1, 2):
        (folder / f"site-{site}").mkdir()
        for name, count in (("training", 320), ("validation", 32)):
            texts = [chance.choice(_SENTENCES) for _ in range(count)]
            rows = [{"input": f"{sentence} Who?", "output": sentence.split()[0]} for sentence in texts]
            lines = "".join(f"{json.dumps(row)}\n" for row in rows)
            (folder / f"site-{site}" / f"{name}.jsonl").write_text(lines, encoding="utf-8")


def _veteran(folder: Path) -> None:
    """The Veterans' Lung Cancer Trial as scikit-survival has it, in the columns of R's collection."""
    import pandas as pd  # noqa: PLC0415
    from sksurv.datasets import load_veterans_lung_cancer  # noqa: PLC0415

    _, ends = load_veterans_lung_cancer()
    table = pd.DataFrame({"time": ends["Survival_in_days"], "status": ends["Status"].astype(int)})
    table.to_csv(folder / "veteran.csv", index=False)


def _imdb(folder: Path) -> None:
    from datasets import Dataset  # noqa: PLC0415

    chance = random.Random(_SEED)
    (folder / "plain_text").mkdir()
    for split, count in (("train", 256), ("test", 32), ("unsupervised", 32)):
        rows = [{"text": " ".join(chance.choices(_SENTENCES, k=6)), "label": n % 2} for n in range(count)]
        Dataset.from_list(rows).to_parquet(folder / "plain_text" / f"{split}-00000-of-00001.parquet")


def _gpt2(folder: Path) -> None:
    """An untrained GPT-2 as the Hub's cache keeps it: of 124 million parameters on GPUs, else a small one."""
    import torch  # noqa: PLC0415
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers  # noqa: PLC0415
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast  # noqa: PLC0415

    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    learn = trainers.BpeTrainer(
        vocab_size=_VOCABULARY, special_tokens=[_END], initial_alphabet=alphabet, show_progress=False
    )
    bpe.train_from_iterator(_SENTENCES, learn)
    small = {"vocab_size": _VOCABULARY, "n_positions": _LONGEST, "n_embd": 64, "n_layer": 2, "n_head": 2}
    torch.manual_seed(_SEED)
    model = GPT2LMHeadModel(
        GPT2Config(**({} if torch.cuda.is_available() else small), bos_token_id=0, eos_token_id=0)
    )
    commit = "0" * 40
    (folder / "models--gpt2" / "refs").mkdir(parents=True)
    (folder / "models--gpt2" / "refs" / "main").write_text(commit, encoding="utf-8")
    model.save_pretrained(folder / "models--gpt2" / "snapshots" / commit)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bpe, bos_token=_END, eos_token=_END, unk_token=_END, model_max_length=_LONGEST
    )
    tokenizer.save_pretrained(folder / "models--gpt2" / "snapshots" / commit)


_MAKERS: dict[str, tuple[str, Callable[[Path], None]]] = {
    "adult": ("adult", _adult),
    "cifar10": ("cifar10", _cifar10),
    "cifar10_large": ("cifar10", lambda folder: _cifar10(folder, 9)),
    "dolly": ("dolly", _dolly),
    "gpt2": ("hub", _gpt2),
    "heart_disease": ("heart_disease", _heart_disease),
    "imdb": ("stanfordnlp/imdb", _imdb),
    "fashion_mnist": ("fashion_mnist", lambda folder: _mnist(folder, "FashionMNIST")),
    "mnist": ("mnist", _mnist),
    "veteran": ("veteran", _veteran),
}
"""By name: the folder, of the data set or a cache, and the function that fills it."""

DATA = "REKINDLE_DATA"
"""Variable with the folder of the stand-ins; without it the loaders are unchanged."""


def _read_cifar(module: Any) -> None:
    make = module.CIFAR10.__init__

    def made(self: Any, root: Any, *arguments: Any, **named: Any) -> None:
        Path(root).mkdir(parents=True, exist_ok=True)  # a download would, and models may be kept beside it
        make(self, _folder("cifar10"), *arguments, **named)

    def checked(path: Any, md5: str | None = None) -> bool:
        return Path(path).is_file()

    if _folder("cifar10"):
        module.CIFAR10.__init__ = made
        module.check_integrity = checked


def _read_torch_mnist(module: Any) -> None:
    make, stand_ins = module.MNIST.__init__, {"MNIST": "mnist", "FashionMNIST": "fashion_mnist"}

    def made(self: Any, root: Any, *arguments: Any, **named: Any) -> None:
        Path(root).mkdir(parents=True, exist_ok=True)  # a download would, and models may be kept beside it
        name = stand_ins.get(type(self).__name__)
        make(self, (name and _folder(name)) or root, *arguments, **named)

    module.MNIST.__init__ = made


def _read_mnist(module: Any) -> None:
    folder = _folder("mnist")

    def load_data(path: str = "mnist.npz") -> Any:
        import numpy as np  # noqa: PLC0415 - Keras has it loaded

        with np.load(Path(str(folder), path)) as arrays:
            return (arrays["x_train"], arrays["y_train"]), (arrays["x_test"], arrays["y_test"])

    if folder:
        module.load_data = load_data


def _read_hub(module: Any) -> None:
    load = module.load_dataset

    def loaded(path: str, *arguments: Any, **named: Any) -> Any:
        return load(str(_folder(path) or path), *arguments, **named)

    module.load_dataset = loaded


def _read_keras_cifar(module: Any) -> None:
    """Needed as Keras' own function expects more images than the stand-in has."""
    folder = _folder("cifar10")

    def part(name: str) -> Any:
        import numpy as np  # noqa: PLC0415 - as above

        with Path(str(folder), "cifar-10-batches-py", name).open("rb") as stream:
            batch = pickle.load(stream)
        images = batch["data"].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        return images, np.reshape(batch["labels"], (-1, 1)).astype(np.uint8)

    def load_data() -> Any:
        import numpy as np  # noqa: PLC0415 - as above

        batches = zip(*(part(f"data_batch_{number}") for number in range(1, 6)), strict=True)
        images, labels = map(np.concatenate, batches)
        return (images, labels), part("test_batch")

    if folder:
        module.load_data = load_data


def _folder(name: str) -> Path | None:
    folder = Path(os.environ.get(DATA) or "/nonexistent", name)
    return folder if folder.is_dir() else None


STAND_INS: dict[str, Callable[[ModuleType], None]] = {
    "torchvision.datasets.cifar": _read_cifar,
    "torchvision.datasets.mnist": _read_torch_mnist,
    "keras.src.datasets.cifar10": _read_keras_cifar,
    "keras.src.datasets.mnist": _read_mnist,
    "datasets.load": _read_hub,
}
