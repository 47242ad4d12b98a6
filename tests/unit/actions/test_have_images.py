"""Images that jobs run in: pulled, or loaded from a wheelhouse, or why not, which refuses those alone."""

import json
import shutil
import sys
from types import SimpleNamespace

import pytest
from engine import digest, running
from msgspec.structs import replace

from rekindle.records import Docker, HostRecord, ImagesRecord, PlanRecord, read, write

IMAGE, OTHER = "registry.example/line:1", "registry.example/other:2"


@pytest.fixture
def engine(tmp_path):
    with running(tmp_path / "bin") as engine:
        yield engine


@pytest.fixture
def have(load, home, engine, shell, monkeypatch):
    """Have ``images`` on the recorded host, whose engine is the stand-in."""
    action = load("have_images")
    monkeypatch.setattr(action.module, "Display", lambda: SimpleNamespace(display=lambda text: None))
    docker = Docker(path=str(engine.docker), version="29.0.1")
    root = engine.bin.parent / "root"
    (root / "cache").mkdir(parents=True)
    host = read(home / "host.json", HostRecord)
    write(home / "host.json", replace(host, host="h200", docker=docker, root=str(root)))

    def run(*images, wheelhouse=""):
        write(home / "plan.json", replace(read(home / "plan.json", PlanRecord), images=images))
        connection = SimpleNamespace(put_file=shutil.copy)
        told = action.run(
            {"folder": str(home), "wheelhouse": str(wheelhouse)},
            _connection=connection,
            _low_level_execute_command=shell,
        )
        assert list((root / "cache").iterdir()) == []
        return told, read(home / "images.json", ImagesRecord).images

    return run


@pytest.fixture
def wheelhouse(tmp_path):
    folder = tmp_path / "wheelhouse"
    folder.mkdir()
    (folder / "registry.example-line-1.tar").write_text(json.dumps(IMAGE))
    return folder


def test_an_image_that_is_there_stays_and_one_that_lacks_is_pulled(have, engine):
    engine.images[IMAGE] = engine.registry[OTHER] = sys.executable
    told, (image,) = have(IMAGE)
    assert (told["changed"], image.id, image.says) == (False, digest(IMAGE), None)
    assert [words[0] for words in engine.asked] == ["image"]
    told, (image,) = have(OTHER)
    assert (told["changed"], told["warnings"], image.id) == (True, [], digest(OTHER))


@pytest.mark.parametrize(
    "why", [None, "write /var/lib/docker/tmp/GetImageBlob: no space left on device", "no such host"]
)
def test_one_that_cannot_be_pulled_is_a_sentence_and_the_others_are_there(golden, have, engine, why):
    engine.images[OTHER], engine.refusal = sys.executable, why
    told, (image, other) = have(IMAGE, OTHER)
    assert (image.id, other.id) == (None, digest(OTHER))
    assert told["warnings"] == [f"{image.says} Fix: {image.fix}"]
    assert "failed" not in told
    golden(*told["warnings"])


def test_a_wheelhouse_brings_it_and_no_registry_is_asked(have, engine, wheelhouse):
    told, (image,) = have(IMAGE, wheelhouse=wheelhouse)
    assert (told["changed"], image.id) == (True, digest(IMAGE))
    assert "pull" not in [words[0] for words in engine.asked]


def test_a_wheelhouse_without_it_says_how_to_put_it_there(golden, have, engine, wheelhouse):
    engine.registry[OTHER] = sys.executable
    told, _ = have(OTHER, wheelhouse=wheelhouse)
    assert OTHER not in engine.images
    (wheelhouse / "registry.example-line-1.tar").write_text(json.dumps(OTHER))
    _, (image,) = have(IMAGE, wheelhouse=wheelhouse)
    assert image.id is None
    golden(*told["warnings"], image.says.partition(": ")[0])
