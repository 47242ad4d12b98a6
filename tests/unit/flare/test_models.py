"""Saved models are read without a framework; what is hostile or damaged in them is reported in a clause."""

import io
import pickle
import struct
import time
import zipfile
from pathlib import Path

import pytest

from rekindle.flare import models
from rekindle.flare.models import read_model
from rekindle.flare.values import UnknownFormatError, UnreadableError
from rekindle.flare.workspace import Member

REAL = Path(__file__).parents[2] / "recordings" / "models"
FLOATS = struct.pack("<4f", 1.0, -2.0, 0.0, 0.5)


def npy(content=FLOATS, kind="<f4", shape="(4,)", version=b"\x01\x00"):
    """Return a file as numpy.save writes it."""
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(117) + b"\n"
    size = struct.pack("<H" if version[0] == 1 else "<I", len(head))
    return b"\x93NUMPY" + version + size + head + content


def zipped(files, how=zipfile.ZIP_STORED):
    """Return a zip file."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", how) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()


def opcodes(tensor=b"", storage="FloatStorage", size=4, offset=0, key="0"):
    """Return data.pkl as torch.save writes one tensor ``w`` below ``model``; ``tensor`` are other opcodes."""
    words = b"X\x05\0\0\0modelq\0"
    inner = (
        b"ctorch._utils\n_rebuild_tensor_v2\n(("
        + b"X\x07\0\0\0storage"
        + f"ctorch\n{storage}\n".encode()
        + b"X"
        + struct.pack("<I", len(key))
        + key.encode()
        + b"X\x03\0\0\0cpu"
        + b"K\x04tQ"
        + b"J"
        + struct.pack("<i", offset)
        + b"J"
        + struct.pack("<i", size)
        + b"\x85K\x01\x85\x89ccollections\nOrderedDict\n)RtR"
    )
    return b"\x80\x02}" + words + b"}X\x01\0\0\0w" + (tensor or inner) + b"ss."


def saved(pickled=None, storage=FLOATS, how=zipfile.ZIP_STORED, **more):
    """Return a file as torch.save writes it."""
    files = {"archive/data.pkl": opcodes() if pickled is None else pickled, "archive/data/0": storage, **more}
    return zipped(files, how)


@pytest.fixture
def look(tmp_path):
    """Return a function that reads a model of a content under a name."""

    def read(name, content):
        (tmp_path / name).write_bytes(content)
        return read_model(Member(tmp_path), name)

    return read


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("m.npy", npy()),
        ("m.npy", npy(struct.pack(">4f", 1, -2, 0, 0.5), ">f4")),
        ("m.npy", npy(struct.pack("<4d", 1, -2, 0, 0.5), "<f8", "(2, 2)")),
        ("m.npy", npy(struct.pack("<4e", 1, -2, 0, 0.5), "<f2", version=b"\x02\x00")),
        ("m.npz", zipped({"a.npy": npy(), "b.npy": npy(b"", shape="(0,)")}, zipfile.ZIP_DEFLATED)),
        ("m.pt", saved()),
        ("m.pth", saved(opcodes(storage="BFloat16Storage"), b"\x80\x3f\x00\xc0\x00\x00\x00\x3f")),
        ("m.ckpt", saved(opcodes(offset=1), FLOATS[:4] + FLOATS)),
        ("m.pt", saved(storage=struct.pack(">4f", 1, -2, 0, 0.5), **{"archive/byteorder": "big"})),
    ],
)
def test_the_numbers_of_a_model_are_read(look, name, content):
    values = look(name, content)
    assert (values.count, values.finite, values.zero, values.whole) == (4, True, False, True)
    assert values.kept == [1.0, -2.0, 0.0, 0.5]


def test_what_torch_itself_saved_is_read():
    values = read_model(Member(REAL), "FL_global_model.pt")
    assert (values.count, values.finite, values.zero) == (15, True, False)


@pytest.mark.parametrize("kind", ["<f2", "<f4", "<f8"])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_one_number_that_is_not_finite_is_seen(look, kind, value):
    code = {"2": "e", "4": "f", "8": "d"}[kind[-1]]
    content = struct.pack(f"<4{code}", 1, value, -value, 2)
    assert look("m.npy", npy(content, kind)).finite is False


def test_a_sum_that_overflows_is_of_finite_numbers(look):
    assert look("m.npy", npy(struct.pack("<4d", 1e308, 1e308, 1e308, 1e308), "<f8")).finite is True


@pytest.mark.parametrize("content", [b"\0" * 16, struct.pack("<4f", -0.0, 0, 0, 0)])
def test_all_zeros_are_seen(look, content):
    assert look("m.npy", npy(content)).zero is True
    assert look("m.pt", saved(storage=content)).zero is True


def _hdf5(size, ends):
    head = b"\x89HDF\r\n\x1a\n" + bytes([0]) + b"\0" * 31 + struct.pack("<Q", ends)
    return head.ljust(size, b"\1")


def test_of_a_keras_file_no_more_than_its_end_is_known(look):
    assert look("m.weights.h5", _hdf5(200, 200)) is None
    for broken in (_hdf5(199, 200), b"no", _hdf5(200, 200)[1:], b""):
        with pytest.raises(UnreadableError):
            look("m.weights.h5", broken)


BOMB = zipped({"a.npy": npy(b"\0" * (1 << 20), shape="(262144,)")}, zipfile.ZIP_DEFLATED)
NESTED = b")" + b"2\x86" * 100
"""A tuple of a tuple twice, a hundred times: to hash or to show it takes forever."""
MANY = b"(" + b"N" * 1_000_000 + b"tq\0"
"""A tuple of a million, that a pickle may hand on in two bytes."""
HOSTILE = {
    "an empty array": ("m.npy", b""),
    "an array that is cut": ("m.npy", npy()[:-1]),
    "an array that is larger than its file": ("m.npy", npy(shape="(99999999999999999999999,)")),
    "a header without end": ("m.npy", b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + b"{" * 100_000),
    "a header with code": ("m.npy", npy(shape="__import__('os').system('false')")),
    "an array of objects": ("m.npy", npy(pickle.dumps([1]), "|O")),
    "an array of no number": ("m.npy", npy(shape="(0,)", content=b"")),
    "no zip": ("m.pt", b"PK"),
    "a zip that is cut": ("m.pt", saved()[:-30]),
    "a zip whose directory is damaged": ("m.pt", saved().replace(b"PK\x01\x02", b"PK\x01\x03")),
    "a zip of something else": ("m.pt", zipped({"a.txt": "a"})),
    "an npz of something else": ("m.npz", zipped({"a.txt": "a"})),
    "a storage that is missing": ("m.pt", zipped({"archive/data.pkl": opcodes()})),
    "a storage that is too small": ("m.pt", saved(storage=FLOATS[:-4])),
    "a tensor beyond its storage": ("m.pt", saved(opcodes(size=2**31 - 1))),
    "a tensor before its storage": ("m.pt", saved(opcodes(offset=-1))),
    "a storage that is compressed": ("m.pt", saved(how=zipfile.ZIP_DEFLATED)),
    "an unknown storage": ("m.pt", saved(opcodes(storage="QUInt8Storage"))),
    "a pickle that is cut": ("m.pt", saved(opcodes()[:-9])),
    "a pickle of nothing": ("m.pt", saved(b".")),
    "a pickle that never stops": ("m.pt", saved(b"}" * 100)),
    "a pickle of too many opcodes": ("m.pt", saved(b"}0" * 9_000 + b".")),
    "a pickle that is too large": ("m.pt", saved(b"}" * (5 << 20))),
    "a pickle with a huge memo": ("m.pt", saved(opcodes(b"}r\xff\xff\xff\xff"))),
    "a pickle of a huge array": ("m.pt", saved(b"\x80\x05\x96" + b"\xff" * 7 + b"\x7f.")),
    "a pickle nested deeply": ("m.pt", saved(b"]" + b"\x85" * 5_000 + b".")),
    "a pickle that would run a command": ("m.pt", saved(b"cos\nsystem\n(X\x05\0\0\0falsetR.")),
    "tuples in each other as a key": ("m.pt", saved(b"\x80\x02}" + NESTED + b"Ns.")),
    "tuples in each other in a set": ("m.pt", saved(b"\x80\x04\x8f(" + NESTED + b"\x90.")),
    "tuples in each other as a storage": ("m.pt", saved(b"\x80\x02(N" + NESTED + b"NtQ.")),
    "tuples in each other as a dictionary": (
        "m.pt",
        saved(b"\x80\x02ccollections\nOrderedDict\n(](" + NESTED + b"N\x86etR."),
    ),
    "calls with a million arguments": ("m.pt", saved(MANY + b"0ca\nb\nq\1" + b"h\1h\0R0" * 200_000 + b".")),
    "objects of a million arguments": (
        "m.pt",
        saved(MANY + b"0ca\nb\nq\1" + b"h\1h\0\x810" * 200_000 + b"."),
    ),
    "storages of a million names": ("m.pt", saved(MANY + b"h\0Q0" * 200_000 + b".")),
    "a tensor of a million dimensions": (
        "m.pt",
        saved(MANY + b"0ctorch._utils\n_rebuild_tensor_v2\n(NK\0h\0h\0tR."),
    ),
    "a change of what a name stands for": ("m.pt", saved(b"cos\nsystem\n}X\1\0\0\0aNsb.")),
    "a pickle of a huge number": ("m.pt", saved(opcodes(b"\x8b\xff\xff\xff\x7f"))),
    "a format that is not known": ("m.safetensors", b"{}"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_or_damaged_model_is_reported_in_a_clause(look, name, monkeypatch):
    began = time.process_time()
    with pytest.raises(UnreadableError) as caught:
        look(*HOSTILE[name])
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300
    assert time.process_time() - began < 10


def test_a_bomb_is_read_no_further_than_its_bound(look, monkeypatch):
    monkeypatch.setattr("rekindle.flare.values.MOST", 1 << 18)
    monkeypatch.setattr("rekindle.flare.values.CHUNK", 1 << 16)
    values = look("m.npz", BOMB)
    assert (values.whole, values.kept) == (False, None)


def test_a_directory_without_end_is_refused_before_it_is_read(look, monkeypatch):
    monkeypatch.setattr(models, "_DIRECTORY", 100)
    with pytest.raises(UnreadableError, match="its directory has"):
        look("m.pt", saved(**{f"archive/{number}": "" for number in range(9)}))


def test_what_is_unknown_is_not_called_damaged(look):
    for name in ("a format that is not known", "an unknown storage", "a zip of something else"):
        with pytest.raises(UnknownFormatError):
            look(*HOSTILE[name])
