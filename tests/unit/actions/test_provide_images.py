# SPDX-License-Identifier: Apache-2.0
"""Images that jobs run in: pulled, or loaded from a wheelhouse, or why not, which refuses those alone."""

import json
import shutil
from types import SimpleNamespace

import pytest
from msgspec.structs import replace
from stand_ins.docker import Docker, digest

from rekindle.records import Engine, HostRecord, ImagesRecord, PlanRecord, read_record, write_record

IMAGE, OTHER = "registry.example/line:1", "registry.example/other:2"


@pytest.fixture
def docker(tmp_path):
    return Docker(tmp_path / "bin")


@pytest.fixture
def have(load, home, docker, shell, monkeypatch):
    """Have ``images`` on the recorded host, whose engine is the stand-in."""
    action = load("provide_images")
    monkeypatch.setattr(action.module, "Display", lambda: SimpleNamespace(display=lambda text: None))
    engine = Engine(path=str(docker.path), version="29.0.1", nvidia=True)
    root = docker.path.parents[1] / "root"
    (root / "cache").mkdir(parents=True)
    host = read_record(home / "host.json", HostRecord)

    def run(*images, wheelhouse="", engine=engine):
        write_record(home / "host.json", replace(host, host="h200", engines=(engine,), root=str(root)))
        write_record(home / "plan.json", replace(read_record(home / "plan.json", PlanRecord), images=images))
        connection = SimpleNamespace(put_file=shutil.copy)
        answer = action.run(
            {"folder": str(home), "wheelhouse": str(wheelhouse)},
            _connection=connection,
            _low_level_execute_command=shell,
        )
        assert list((root / "cache").glob("*.tar")) == []
        return answer, read_record(home / "images.json", ImagesRecord).images

    return run


@pytest.fixture
def wheelhouse(tmp_path):
    folder = tmp_path / "wheelhouse"
    folder.mkdir()
    (folder / "registry.example-line-1.tar").write_text(json.dumps(IMAGE))
    return folder


def test_an_image_that_is_there_stays_and_one_that_lacks_is_pulled(have, docker):
    docker["images"], docker["registry"] = [IMAGE], [OTHER]
    answer, (image,) = have(IMAGE)
    assert (answer["changed"], image.id, image.message) == (False, digest(IMAGE), None)
    assert [words[0] for words in docker["asked"]] == ["image"]
    answer, (image,) = have(OTHER)
    assert (answer["changed"], answer["warnings"], image.id) == (True, [], digest(OTHER))


@pytest.mark.parametrize(
    "why", [None, "write /var/lib/docker/tmp/GetImageBlob: no space left on device", "no such host"]
)
def test_one_that_cannot_be_pulled_is_a_sentence_and_the_others_are_there(golden, have, docker, why):
    docker["images"], docker["refusal"] = [OTHER], why and f"Error response from daemon: {why}"
    answer, (image, other) = have(IMAGE, OTHER)
    assert (image.id, other.id) == (None, digest(OTHER))
    assert answer["warnings"] == [f"{image.message} Fix: {image.fix}"]
    assert "failed" not in answer
    golden(*answer["warnings"])


def test_a_wheelhouse_brings_it_and_no_registry_is_asked(have, docker, wheelhouse):
    answer, (image,) = have(IMAGE, wheelhouse=wheelhouse)
    assert (answer["changed"], image.id) == (True, digest(IMAGE))
    assert "pull" not in [words[0] for words in docker["asked"]]


def test_a_wheelhouse_without_it_ends_with_how_to_put_it_there(golden, have, docker, wheelhouse):
    docker["registry"] = [OTHER]
    answer, _ = have(OTHER, wheelhouse=wheelhouse)
    assert OTHER not in docker["images"]
    (wheelhouse / "registry.example-line-1.tar").write_text(json.dumps(OTHER))
    _, (image,) = have(IMAGE, wheelhouse=wheelhouse)
    assert image.id is None
    golden(*answer["warnings"], image.message.partition(": ")[0])


def test_an_archive_is_not_sent_where_it_has_no_room(have, docker, wheelhouse):
    archive = wheelhouse / "registry.example-line-1.tar"
    with archive.open("r+b") as stream:
        stream.truncate(1 << 43)  # 8 TiB, without a block
    _, (image,) = have(IMAGE, wheelhouse=wheelhouse)
    assert image.message.startswith("h200 has ")
    assert image.message.endswith(f"and the image {IMAGE} has {1 << 23} MiB.")
    assert image.fix == f"free space there, or remove images that no job needs ({docker.path} image prune)."
    assert "load" not in [words[0] for words in docker["asked"]]


BUILDS = """#!/bin/sh
[ "$1 $2 $3" = "build --disable-cache --force" ] || exit 3
[ "$APPTAINER_TMPDIR $APPTAINER_CONFIGDIR" = "{images} {images}" ] || exit 4
echo "$5" >"$4"
case $5 in docker://*other*) echo FATAL: no such host >&2; exit 255 ;; esac
"""


def test_apptainers_images_are_files_with_their_own_digest(have, tmp_path, wheelhouse):
    images = tmp_path / "root" / "cache" / "images"
    command = tmp_path / "apptainer"
    command.write_text(BUILDS.format(images=images))
    command.chmod(0o755)
    engine = Engine(name="apptainer", path=str(command), version="1.4.5")
    _, (image, other) = have(IMAGE, OTHER, engine=engine)
    assert image.id == "sha256:ca52ecef4eb74f69b4e4e9822dc6d07a46e264e7b9d5a71c6a328ae91f5fe16a"
    assert other.message == f"h200 cannot pull the image {OTHER}: FATAL: no such host."
    assert [path.name for path in images.iterdir()] == ["registry.example-line-1.sif"]
    (images / "registry.example-line-1.sif").unlink()
    _, (image,) = have(IMAGE, engine=engine, wheelhouse=wheelhouse)
    archive = tmp_path / "root" / "cache" / "registry.example-line-1.tar"
    assert (images / "registry.example-line-1.sif").read_text() == f"docker-archive:{archive}\n"
    assert image.id
