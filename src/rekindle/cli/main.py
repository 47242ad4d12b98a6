# SPDX-License-Identifier: Apache-2.0
"""The command line: prints every verb's answer, and every failure as one sentence."""

import codecs
import io
import os
import sys
import traceback
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from rekindle.records.complaint import BundleError, Complaint, VersionError
from rekindle.records.text import fold_line, format_json

from .verb import OK, UNKNOWN, USAGE, Answer, Refusal
from .verbs import HELP, load_verb

_ASCII = str.maketrans({"–": "-", "—": "-", "─": "-", "×": "x", "→": "->", "…": "...", "’": "'", "·": "."})

_HELP = ["-h", "--help"]
_STYLE: dict[str, Any] = {"rich_markup_mode": None, "pretty_exceptions_enable": False}


_KINDS: dict[Any, type] = {bool: bool, str: str, list[str]: str, Path: Path, list[Path]: Path}


class _Words:
    """Words of the command line as what they mean, without pydantic: loading it took a third of each call."""

    def __init__(self, kind: type) -> None:
        """Take what each word becomes."""
        self._kind = kind

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return what was typed: a list where several words can be."""
        if param.nargs == -1 or param.multiple:
            return [self._kind(word) for word in value or ()]
        return None if value is None else self._kind(value)


class _Light:
    """What typer calls, whose flags, texts and paths are read by `_Words`."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return its options and arguments."""
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            of = param.type_descriptor
            if of.annotation in _KINDS and not of.parameter_info.parser:
                words = _Words(_KINDS[of.annotation])
                param.get_runtime_param = lambda words=words: words
        return params


class _Alone(_Light, TyperCommand):
    """One verb."""


class _Verbs(_Light, TyperGroup):
    """The verbs, each of which is loaded as it is called."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Return what typer knows of a verb by its name, with the verb itself."""
        name, known, rest = super().resolve_command(ctx, args)
        return name, _command(name) if known and name else None, rest


def _command(name: str) -> Any:
    verb, alone = load_verb(name), typer.Typer(add_completion=False, **_STYLE)
    alone.command(
        name,
        cls=_Alone,
        help=HELP[name],
        epilog=verb.epilog,
        options_metavar="[--json] [ANSIBLE'S OPTIONS]" if verb.passes_on else "[OPTIONS]",
        context_settings={
            "help_option_names": _HELP,
            **dict.fromkeys(("allow_extra_args", "ignore_unknown_options"), verb.passes_on),
        },
    )(verb.run)
    return get_command(alone)


app = typer.Typer(cls=_Verbs, context_settings={"help_option_names": _HELP}, **_STYLE)


def _version(asked: bool) -> None:
    if asked:
        print(f"rekindle {version('rekindle')}")
        raise typer.Exit()


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Bring a leased GPU host back as a proven NVIDIA FLARE environment, and redo any stage from its records.

    Exit status: 0 good, 1 the answer is bad (failed, differs, found), 2 called wrongly, 3 refused or
    unknown.
    """


for _name, _help in HELP.items():
    app.command(_name, help=_help)(lambda: None)


def main() -> int:
    """Run the verb that the command line names; return the exit status."""
    out = sys.stdout
    codecs.register_error("rekindle", _in_ascii)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="rekindle")
    try:
        answer = app(sys.argv[1:] or ["--help"], prog_name="rekindle", standalone_mode=False)
        if isinstance(answer, Answer):
            _print(answer.text)
            return answer.status
        _print("")  # what --help or --version printed has to arrive, too
        return int(answer)
    except SystemExit as error:  # typer's own, after completion or --help into a closed pipe
        if sys.stdout is not out:
            _forget_output()
            return OK
        return UNKNOWN if error.code else OK
    except Exception as error:
        complaint, status = _failure(error)
        if isinstance(error, OSError) and error.filename is None:
            _forget_output()  # Python would try it again as it ends
        if {"--json", "--json-lines"} & {*sys.argv}:
            what, fix = fold_line(complaint.message), fold_line(complaint.fix)
            _print(format_json(Refusal("rekindle/refusal/1", what, fix)))
        with suppress(OSError):
            print(fold_line(str(complaint)), file=sys.stderr, flush=True)
        return status


def _failure(error: Exception) -> tuple[Complaint, int]:
    """Return the failure in a sentence, and a status other than that of a bad answer."""
    match error:
        case VersionError() | BundleError():
            return error, UNKNOWN
        case Complaint():
            return error, USAGE
        case typer.TyperException():
            return _called_wrongly(error), USAGE
        case OSError():
            what = f"{error.filename or 'The output'} cannot be used: {error.strerror}."
            return Complaint(what, "see its rights and room."), UNKNOWN
    if unreadable := _explain_unreadable(error):
        return unreadable, UNKNOWN
    traceback.print_exc()
    return Complaint("That is a bug of Rekindle.", "report the traceback above."), UNKNOWN


def _explain_unreadable(error: Exception) -> Complaint | None:
    """Return what no file system or record of ours has, where somebody made one; else None."""
    if isinstance(error, RecursionError):
        fix = "move out of the folder what lies a thousand folders deep in it."
        return Complaint("Folders are nested too deeply to be read.", fix)
    if isinstance(error, ValueError) and "null byte" in str(error):
        fix = "see rekindle verify, which names the record that was altered."
        return Complaint("A record has a name with a NUL character, which no file has.", fix)
    return None


def _print(text: str) -> None:
    """Print it; a closed pipe (``| head``) does not change the answer."""
    try:
        print(text, end="\n" if text else "", flush=True)
    except BrokenPipeError:
        _forget_output()


def _forget_output() -> None:
    """Discard further output, also at Python's end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)


def _called_wrongly(error: typer.TyperException) -> Complaint:
    message = error.format_message().replace("Value error, ", "").rstrip(".")
    for near in getattr(error, "possibilities", None) or ():
        message = f"{message.partition(' (Possible')[0]}. Did you mean {near}?"
        break
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "rekindle"
    return Complaint(f"{message}{'' if message.endswith('?') else '.'}", f"see {path} --help.")


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    """Replace what a terminal lacks by ASCII: ``–`` by ``-``, others by ``?``."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    typed = error.object[error.start : error.end].translate(_ASCII)
    return typed.encode("ascii", "replace").decode(), error.end
