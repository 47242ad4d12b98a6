"""Images that jobs run in: pulled, or loaded from a wheelhouse, or why not, which refuses those alone."""

import json
import shutil
import sys
from pathlib import Path
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


def test_an_image_that_is_there_is_left_as_it_is(have, engine):
    engine.images[IMAGE] = sys.executable
    told, (image,) = have(IMAGE)
    assert (told["changed"], image.id, image.says) == (False, digest(IMAGE), None)
    assert [words[0] for words in engine.asked] == ["image"]


def test_one_that_lacks_is_pulled(have, engine):
    engine.registry[IMAGE] = sys.executable
    told, (image,) = have(IMAGE)
    assert (told["changed"], told["warnings"], image.id) == (True, [], digest(IMAGE))


@pytest.mark.parametrize(
    "why", [None, "write /var/lib/docker/tmp/GetImageBlob: no space left on device", "no such host"]
)
def test_one_that_cannot_be_pulled_is_a_sentence_and_the_others_are_there(have, engine, why):
    engine.images[OTHER], engine.refusal = sys.executable, why
    told, (image, other) = have(IMAGE, OTHER)
    why = why or f"pull access denied for {IMAGE}, repository does not exist"
    assert image.says == f"h200 cannot pull the image {IMAGE}: Error response from daemon: {why}."
    assert (image.id, other.id) == (None, digest(OTHER))
    assert told["warnings"] == [f"{image.says} Fix: {image.fix}"]
    assert "failed" not in told


def test_a_wheelhouse_brings_it_and_no_registry_is_asked(have, engine, wheelhouse):
    told, (image,) = have(IMAGE, wheelhouse=wheelhouse)
    assert (told["changed"], image.id) == (True, digest(IMAGE))
    assert "pull" not in [words[0] for words in engine.asked]


def test_a_wheelhouse_without_it_says_how_to_put_it_there(have, engine, wheelhouse):
    engine.registry[OTHER] = sys.executable
    _, (image,) = have(OTHER, wheelhouse=wheelhouse)
    archive = Path(wheelhouse, "registry.example-other-2.tar")
    assert image.says == f"h200 has no image {OTHER}, and {wheelhouse} has no {archive.name} to load it from."
    assert image.fix == f"docker save {OTHER} -o {archive}"
    assert OTHER not in engine.images


def test_an_archive_of_another_image_is_told(have, engine, wheelhouse):
    (wheelhouse / "registry.example-line-1.tar").write_text(json.dumps(OTHER))
    _, (image,) = have(IMAGE, wheelhouse=wheelhouse)
    assert image.id is None
    assert image.says.startswith(f"h200 did not load {IMAGE} from {wheelhouse}/registry.example-line-1.tar: ")
