"""``rekindle verify RESULTS_DIR``: whether the runs in a results folder are as they were sealed."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from rekindle.records import RecordError
from rekindle.records.text import one_line
from rekindle.results import seal, state
from rekindle.results.home import seal_of, why_absent

HELP = "say which files of sealed runs were altered since"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's own."""
    parser.add_argument("results", type=Path, metavar="RESULTS_DIR")
    parser.add_argument(
        "--key",
        type=Path,
        metavar="PUBLIC.pem",
        help="the key that has to have sealed them; yours by default, or the one beside the seals",
    )


def run(args: argparse.Namespace) -> int:
    """Say of each run, by file, what differs from its seal: 0 if nothing does, else 1.

    Raises:
        RecordError: there is no run in the folder, or no public key in the file.
    """
    results: Path = args.results
    folders = sorted({*_folders(results)})
    if not folders:
        raise RecordError(f"{results} holds no run.", "name a folder under results/.")
    own = state.own_key()
    asked = _read_key(args.key) if args.key else seal.public_key(own) if own else None
    differing = False
    for folder in folders:
        name = f"{folder.parent.name}/{folder.name}"
        try:
            keys = [asked] if asked else [*_beside(folder)]
            statement = seal.opened(seal_of(folder).read_bytes(), keys)
            sealed = statement.predicate
            if (sealed.host, sealed.job) != (folder.parent.name, folder.name):
                raise seal.SealError(f"is that of {sealed.host}/{sealed.job}")
            said = [f"{name}/{one}." for one in seal.differences(statement, folder)]
        except seal.SealError as error:
            said = [f"{name}: its seal {error}."]
        except FileNotFoundError:
            if not folder.exists() and (reason := why_absent(folder)):
                print(one_line(f"{name} never came home: {reason}"))
                continue
            gone = "was placed on its host, and neither its files nor its seal are here"
            said = [f"{name} {'has no seal' if folder.exists() else gone}."]
        except OSError as error:
            said = [f"{name}: {error.filename} cannot be read: {error.strerror}."]
        else:
            if not said:
                print(one_line(f"{name} is as it was sealed at {sealed.judged}: {sealed.verdict}."))
        differing = differing or bool(said)
        for one in said:
            print(one_line(one))
    if asked is None:
        print("The keys lie beside the seals: whether they are the controller's, only its user can tell.")
    return 1 if differing else 0


def _folders(results: Path) -> Iterator[Path]:
    for suffix in (".seal.json", ".placed.json"):
        for path in results.glob(f"*/*{suffix}"):
            yield path.with_name(path.name.removesuffix(suffix))
    for name in ("verdict.json", "spec.json"):
        for path in results.glob(f"*/*/{name}"):
            yield path.parent


def _beside(folder: Path) -> Iterator[bytes]:
    for path in folder.parent.glob("*.pem"):
        content = path.read_bytes()
        if seal.is_key(content):
            yield content


def _read_key(path: Path) -> bytes:
    content = path.read_bytes() if path.is_file() else b""
    if not seal.is_key(content):
        raise RecordError(f"{path} is not a public key.", "name the .pem that lies beside a seal.")
    return content
