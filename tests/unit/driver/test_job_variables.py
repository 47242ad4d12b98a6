# SPDX-License-Identifier: Apache-2.0
"""Which variables reach a job: those that it needs, and none with a secret in its name or value."""

from pathlib import Path

import pytest
from msgspec.structs import replace
from test_ladder import spec  # noqa: F401 - a fixture

from rekindle.driver import command
from rekindle.environments import build, probe
from rekindle.records import Example, Site

SECRETS = [
    "PGPASSWORD", "HF_TOKEN", "HF_TOKENS", "HUGGING_FACE_HUB_TOKEN",
    "WANDB_API_KEY", "API_KEYS", "AWSSECRETKEY", "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN", "AZURE_CLIENT_SECRET", "GITHUB_TOKEN", "GITLAB_PAT",
    "NPM_AUTH", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "MYSQL_PWD",
    "DATABASE_URL", "REDIS_URL", "SSH_AUTH_SOCK", "KUBECONFIG",
    "VAULT_ADDR", "SLURM_JWT", "NCCL_SECRETKEY", "MLFLOW_TRACKING_PASSWORD",
    "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_INDEX", "UV_DEFAULT_INDEX",
    "TORCH_AUTH_COOKIE", "PYTHON_KEYRING_BACKEND", "TF_PASSPHRASE", "XDG_PASS",
    "CUDA_APIKEY", "SUDO_COMMAND", "MAIL",
]  # fmt: skip
URLS = {
    "https_proxy": "http://user:CANARY@proxy:3128",
    "HTTP_PROXY": "user:CANARY@proxy:3128",
    "ALL_PROXY": "http://CANARY@proxy",
    "MLFLOW_TRACKING_URI": "https://tracker/?access=CANARY",
    "WANDB_BASE_URL": "https://u:CANARY@host/",
}
NEEDED = {
    "PATH": "/usr/bin:/opt/a@1/bin",
    "http_proxy": "http://proxy:3128",
    "no_proxy": "localhost,.example.org",
    "NCCL_NVLS_ENABLE": "0",
    "NCCL_SOCKET_IFNAME": "eth0",
    "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True",
    "XLA_FLAGS": "--xla_gpu_cuda_data_dir=/usr/local/cuda",
    "LC_ALL": "C.UTF-8",
    "TOKENIZERS_PARALLELISM": "false",
    "HF_HUB_OFFLINE": "1",
    "SSL_CERT_FILE": "/etc/ssl/cert.pem",
    "SLURM_JOB_ID": "7",
    "PYTHONPATH": "/a:/b",
    "MLFLOW_TRACKING_URI": "https://tracker/",
}


@pytest.fixture
def canaries(monkeypatch):
    """Set canaries in the names of secrets, and in the values of URLs."""
    assert len(SECRETS) >= 30
    for name, value in {**dict.fromkeys(SECRETS, "CANARY"), **URLS}.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def eight_cores(monkeypatch, spec, tmp_path):  # noqa: F811
    """Return a function: fields of a run to its variables, on a machine of eight cores."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: set(range(8)))
    return lambda **fields: command.make_job_environment(tmp_path, replace(spec, **fields))


def test_a_job_gets_what_it_needs(monkeypatch, canaries, spec, tmp_path):  # noqa: F811
    for name, value in NEEDED.items():
        monkeypatch.setenv(name, value)
    environ = command.make_job_environment(tmp_path, spec)
    ours = {"PATH": f"{Path(spec.python).parent}:", "PYTHONPATH": f"{tmp_path / 'hook'}:"}
    assert {name: ours.get(name, "") + value for name, value in NEEDED.items()}.items() <= environ.items()
    assert [name for name, value in environ.items() if "CANARY" in value] == []


@pytest.mark.parametrize(
    ("ranks", "nodes", "threads"),
    [((1,), (), 8), ((1, 1), (), 4), ((4, 4), (), 1), ((8, 8), (), 1), ((8,), ("n1", "n2"), 2)],
)
def test_the_processes_of_a_machine_share_its_cores(eight_cores, ranks, nodes, threads):
    sites = tuple(Site(name=f"site-{number}", ranks=count, gpus=()) for number, count in enumerate(ranks, 1))
    assert eight_cores(sites=sites, nodes=nodes)["OMP_NUM_THREADS"] == str(threads)


def test_a_probe_and_a_host_python_get_no_secret(canaries, tmp_path):
    seen = tmp_path / "python"
    seen.write_text(f"#!/bin/sh\nenv > {tmp_path}/environ\necho '{{}}'\n")
    seen.chmod(0o755)
    probe.list_packages(seen, tmp_path)
    assert "PATH=" in (tmp_path / "environ").read_text()
    assert "CANARY" not in (tmp_path / "environ").read_text()


def test_an_installer_gets_the_indexes_and_nothing_else(canaries):
    environ = build._uv_environment(Path("/r"), None)
    kept = {name for name, value in environ.items() if "CANARY" in value}
    assert kept == {
        "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_INDEX", "UV_DEFAULT_INDEX",
        "https_proxy", "HTTP_PROXY", "ALL_PROXY",
    }  # fmt: skip
    offline = build._uv_environment(Path("/r"), Path("/w"))
    assert [name for name, value in offline.items() if "CANARY" in value] == []


def test_a_variable_of_an_example_may_name_its_stand_ins(spec, tmp_path):  # noqa: F811
    example = Example(folder="a/b", command=("job.py",), environ={"HF_HUB_CACHE": "{data}/hub"})
    of_example = replace(spec, job=replace(spec.job, example=example))
    environ = command.make_job_environment(tmp_path, of_example)
    assert environ["HF_HUB_CACHE"] == f"{environ['REKINDLE_DATA']}/hub"
    assert environ["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"


def test_a_hosts_own_number_of_threads_stays(eight_cores, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert eight_cores()["OMP_NUM_THREADS"] == "3"
