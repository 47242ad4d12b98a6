# SPDX-License-Identifier: Apache-2.0
"""Where Python and the frameworks keep their caches: below Rekindle's root, not in the host's own folders."""

import os
import shutil
from pathlib import Path

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


def redirect_caches(cache: Path) -> None:
    """Set the folders of those caches for all child processes, unless the host's environment sets them.

    Hugging Face's existing cache is used, for the models and the token in it.
    """
    theirs = Path.home() / ".cache" / "huggingface"
    if theirs.exists():
        os.environ.setdefault("HF_HOME", str(theirs))
    for name, folder in _VARIABLES.items():
        os.environ.setdefault(name, str(cache / folder))


def move_bytecode(source: Path, target: Path) -> None:
    """Move the bytecode of the folder ``source``, which is about to become ``target``.

    Under a prefix Python keeps bytecode by its source's path; elsewhere it lies in the folder itself.
    """
    if prefix := os.environ.get("PYTHONPYCACHEPREFIX"):
        compiled, wanted = (Path(prefix, *path.absolute().parts[1:]) for path in (source, target))
        if compiled.exists():
            shutil.rmtree(wanted, ignore_errors=True)
            compiled.rename(wanted)
