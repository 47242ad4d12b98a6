"""Where Python and the frameworks keep their caches: below Rekindle's root, not in the host's own folders."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from .folders import CACHE

_VARIABLES = {
    "XDG_CACHE_HOME": "xdg",
    "CUDA_CACHE_PATH": "cuda",
    "TRITON_CACHE_DIR": "triton",
    "TORCHINDUCTOR_CACHE_DIR": "inductor",
    "KERAS_HOME": "keras",
    "MPLCONFIGDIR": "matplotlib",
    "WANDB_CONFIG_DIR": "wandb",
    "WANDB_DATA_DIR": "wandb",
    "PYTHONPYCACHEPREFIX": "python",
}


def keep_below(cache: Path, local: Path | None = None) -> None:
    """Set for all child processes where those caches are, but for what the host's own environment sets.

    Hugging Face's is used where it is already, for the models and the token in it. Bytecode is kept below
    ``local``, a node's own folder, where there is one: it is of environments there.
    """
    if local:
        os.environ.setdefault("PYTHONPYCACHEPREFIX", str(local / CACHE / _VARIABLES["PYTHONPYCACHEPREFIX"]))
    theirs = Path.home() / ".cache" / "huggingface"
    if theirs.exists():
        os.environ.setdefault("HF_HOME", str(theirs))
    for name, folder in _VARIABLES.items():
        os.environ.setdefault(name, str(cache / folder))


def move_bytecode(source: Path, target: Path) -> None:
    """Have Python find what it compiled of the folder ``source``, which is about to become ``target``.

    It keeps that by the path of what it compiled, unless it lies beside that and moves with it.
    """
    if prefix := os.environ.get("PYTHONPYCACHEPREFIX"):
        compiled, wanted = (Path(prefix, *path.absolute().parts[1:]) for path in (source, target))
        if compiled.exists():
            shutil.rmtree(wanted, ignore_errors=True)
            compiled.rename(wanted)
