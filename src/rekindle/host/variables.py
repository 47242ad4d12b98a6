# SPDX-License-Identifier: Apache-2.0
"""The variables of a host's user that processes of Rekindle get, and why; they get no others.

A job's environment is collected in tracebacks and a debugger's output, and a list of secrets is never long
enough. Driver, jobs, ladder, probes and installers take their variables from here.
"""

import os
import re
import socket
from collections.abc import Mapping
from pathlib import Path

ALLOWED = {
    "PATH HOME USER LOGNAME SHELL HOSTNAME PWD": "any program",
    "LANG LANGUAGE LC_* TZ TERM": "how a program formats numbers, texts and times",
    "TMPDIR TMP TEMP XDG_*": "where a program puts its files",
    "LD_LIBRARY_PATH LD_PRELOAD": "where the host keeps its driver's libraries and allocators",
    "CUDA_* NVIDIA_* CUDNN_* CUBLAS_*": "NVIDIA's libraries",
    "NCCL_* NVSHMEM_* GLOO_* UCX_* FI_* OMPI_*": "what ranks talk through",
    "TORCH_* TORCHINDUCTOR_* PYTORCH_* TRITON_* TF_* XLA_* KERAS_*": "the frameworks",
    "OMP_* MKL_* OPENBLAS_* KMP_* GOMP_* NUMEXPR_*": "how many threads a library takes",
    "PYTHON*": "Python itself, and where our own code lies",
    "REKINDLE_*": "what our own parts pass to each other",
    "HF_* TRANSFORMERS_* TOKENIZERS_PARALLELISM": "where models are, and whether to download them",
    "WANDB_* MLFLOW_* MPLCONFIGDIR": "where trackers and plots keep their files",
    "SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE": "whom a program trusts",
    "http_proxy https_proxy all_proxy no_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY": "its way out",
    "SLURM_* SLURMD_NODENAME": "what a scheduler gave the host's user, and where",
}

NODE = "REKINDLE_NODE"
"""Variable with the name of this machine in the inventory of a federation, or in its batch system."""

TELEMETRY_OFF = {
    "DO_NOT_TRACK": "1",  # several; https://consoledonottrack.com
    "DISABLE_TELEMETRY": "1",  # Hugging Face
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "GRADIO_ANALYTICS_ENABLED": "False",
    "FLWR_TELEMETRY_ENABLED": "0",  # Flower
    "RAY_USAGE_STATS_ENABLED": "0",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "WANDB_ERROR_REPORTING": "false",
    "VLLM_NO_USAGE_STATS": "1",
    "ANONYMIZED_TELEMETRY": "False",  # Chroma, and what uses PostHog
    "SCARF_NO_ANALYTICS": "true",
}
"""What keeps libraries of jobs from reporting their use, whatever the host's user has set."""

_INSTALLERS = "PIP_* UV_* NETRC http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY"

_SECRET = re.compile(
    r"SECRET|TOKEN|PASSW|PASSPHRASE|CREDENTIAL|KEY|AUTH|JWT|COOKIE|SIGNATURE|BEARER|(^|_)(PASS|PWD|PAT|CREDS?)(_|$)",
    re.IGNORECASE,
)
"""In names that match a prefix."""
_CREDENTIALS = re.compile(r"//(?:(?!//)[^@?#])*[@?#]|^\s*[^\s/:@]+:[^/@]*@")
"""In a URL or a proxy: before an @ or after a ?."""


def _patterns(words: str) -> tuple[frozenset[str], tuple[str, ...]]:
    names = words.split()
    return (
        frozenset(name for name in names if not name.endswith("*")),
        tuple(name[:-1] for name in names if name.endswith("*")),
    )


_NAMES, _BEGINNINGS = _patterns(" ".join(ALLOWED))


def name_machine(environ: Mapping[str, str]) -> str:
    """Return the name of this machine by a process's variables, or else its own."""
    return environ.get(NODE) or environ.get("SLURMD_NODENAME") or socket.gethostname()


def select_for_jobs(environ: Mapping[str, str]) -> dict[str, str]:
    """Return what a job, its supervisor or a probe gets: of ``environ`` names that are allowed, without
    credentials, and `TELEMETRY_OFF`.
    """
    allowed = {
        name: value
        for name, value in environ.items()
        if (name in _NAMES or (name.startswith(_BEGINNINGS) and not _SECRET.search(name)))
        and not _CREDENTIALS.search(value)
    }
    return allowed | TELEMETRY_OFF


def is_secret(name: str) -> bool:
    """Whether a variable of that name has a secret, and not the path of a file that has one."""
    return bool(_SECRET.search(name)) and not name.lower().endswith(("_file", "_path", "_dir"))


def make_path(python: str, environ: Mapping[str, str]) -> str:
    """Return the PATH of ``environ`` with the programs of an interpreter's environment first."""
    return f"{Path(python).parent}{os.pathsep}{environ.get('PATH', os.defpath)}"


def select_for_installers(environ: Mapping[str, str]) -> dict[str, str]:
    """Return what uv gets of ``environ``: a job's variables, and how to reach the package indexes."""
    names, beginnings = _patterns(_INSTALLERS)
    own = {name: value for name, value in environ.items() if name in names or name.startswith(beginnings)}
    return select_for_jobs(environ) | own
