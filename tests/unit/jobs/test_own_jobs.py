# SPDX-License-Identifier: Apache-2.0
"""Jobs of a user's, which lie elsewhere: a job.yml that can work, and one sentence for each that cannot."""

import re
import subprocess

import pytest
from msgspec.structs import replace
from runners.plays import REPOSITORY
from samples.folders import PLAN

from rekindle.jobs import load_job, load_planned, name_arguments, resolve_own
from rekindle.records import RecordError

JOBS = REPOSITORY / "flare_jobs"
LINE = REPOSITORY / "tests" / "lookalikes" / "own" / "fitted_line" / "job.yml"
MEND = "before: a, after: b, because: c, fault: example"


@pytest.fixture
def own(tmp_path):
    """Return what writes a job.yml beside its code, altered, and returns its path."""

    def altered(before="", after=""):
        folder = tmp_path / "mine"
        folder.mkdir(exist_ok=True)
        (folder / "job.py").write_text("print()")
        text = LINE.read_text()
        assert before in text
        path = folder / "job.yml"
        path.write_text(text.replace(before, after, 1) if before else after + text)
        return path

    return altered


def refused(path):
    with pytest.raises(RecordError) as error:
        load_job(JOBS, str(path))
    assert "\n" not in str(error.value)
    return str(error.value)


def test_the_page_on_jobs_has_one_that_works(own):
    page = (REPOSITORY / "docs" / "howto" / "own-job.md").read_text()
    shown = re.search(r"(?m)^    schema: .*\n(?:    .+\n)+", page)[0]
    path = own()
    path.write_text(shown)
    name = path.parent.name
    assert load_job(JOBS, str(path)) == replace(load_job(JOBS, str(LINE)), name=name)


def test_its_name_is_its_folders_or_the_one_in_it(own):
    assert load_job(JOBS, str(own())).name == "mine"
    path = own("summary:", "name: line\nsummary:")
    assert name_arguments(load_job(JOBS, str(path))) == "line"


@pytest.mark.parametrize("name", ["train.ipynb", "job", "job.PY"])
def test_a_file_that_nothing_runs_is_refused_as_a_file(own, name):
    path = own().with_name(name)
    path.write_text("{}")
    assert refused(path).startswith(f"{path} cannot be run as a job. Fix: name its folder or a file that ")


def test_a_folder_that_no_job_can_be_named_as_is_spelled_as_one(own, tmp_path):
    path = own().parent.rename(tmp_path / "7 My line") / "job.yml"
    assert load_job(JOBS, str(path)).name == "job_7_my_line"


def test_a_path_is_from_the_current_folder_or_the_users_on(own, monkeypatch, tmp_path):
    path = own()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert {resolve_own(text) for text in ("mine/job.yml", "~/mine/job.yml", str(path))} == {path}
    assert resolve_own("~nobody-has-this-name/job.yml") == tmp_path / "~nobody-has-this-name" / "job.yml"
    assert resolve_own("mine/job.yaml") == tmp_path / "mine" / "job.yaml"
    assert resolve_own("examples/hello-pt") is None


def test_a_plans_jobs_are_found_by_its_paths(own):
    record = replace(PLAN, jobs=("pt_ddp", "mine"), own={"mine": str(own())})
    assert [job.name for job in load_planned(record)] == ["pt_ddp", "mine"]


@pytest.mark.parametrize(
    ("nvflare", "option"), [("2.7.3", "--job_dir"), ("2.8.3", "--job_dir"), ("2.9.0", "--workspace_dir")]
)
def test_an_example_is_as_the_plans_release_has_it(nvflare, option):
    (job,) = load_planned(replace(PLAN, jobs=("kaplan-meier",), nvflare=nvflare))
    assert job.example.command[-2] == option
    assert job.example.data == (() if nvflare == "2.7.3" else ("veteran",))
    assert job.example.variants == {}


CANNOT = {
    "unknown field": ("summary:", "speed: 5\nsummary:"),
    "a field twice": ("summary:", "summary: a\nsummary:"),
    "longer than its limit": ("limit_s: 600", "limit_s: 600\nexpected_s: 5000"),
    "no number": ("sites: 2", "sites: two"),
    "no name": ("summary:", "name: Mine\nsummary:"),
    "an example's name": ("summary:", "name: hello-pt\nsummary:"),
    "a name of ours": ("summary:", "name: retired\nsummary:"),
    "environment": ("torch+vision", "torch+sound"),
    "claim": ("every_site_trained", "all_is_well"),
    "no file": ("[job.py,", "[run.py,"),
    "Python itself": ("[job.py,", "[python3, job.py,"),
    "above": ("[job.py,", "[../mine/job.py,"),
    "elsewhere": ("[job.py,", "[/etc/hostname,"),
    "hidden": ("[job.py,", "[.hidden.py,"),
    "link": ("[job.py,", "[linked.py,"),
    "before": ("  command:", "  before: [[data.py]]\n  command:"),
    "a variant's script": ("  command:", "  variants: {'2.9': {command: [run.py]}}\n  command:"),
    "a variant's mend": ("  command:", f"  variants: {{x: {{mends: [{{file: /x, {MEND}}}]}}}}\n  command:"),
    "folder": ("  command:", "  folder: /etc\n  command:"),
    "data of this machine": ("sites:", "data: {from: data/site-1}\nsites:"),
    "data elsewhere": ("sites:", "data: {from: /data, to: /tmp/data}\nsites:"),
    "data in a container": ("sites:", "data: {from: /data}\ncontainer: {image: a}\nsites:"),
    "code": ("sites:", "code: pt_ddp\nsites:"),
    "mend": ("  command:", f"  mends: [{{file: ../x.py, {MEND}}}]\n  command:"),
}


@pytest.mark.parametrize("name", CANNOT)
def test_what_cannot_work_is_one_sentence_with_the_fix(golden, own, name):
    path = own(*CANNOT[name])
    (path.parent / ".hidden.py").touch()
    (path.parent / "linked.py").symlink_to("/etc/hostname")
    text = refused(path)
    golden(text)
    assert re.search(r"\. Fix: \w.*\.$", text)


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("job.py", b"", "job.py is empty"),
        ("job.py", b"\x7fELF\0\0\1", "job.py is no text in UTF-8"),
        ("job.py", "print('ü')".encode("latin-1"), "job.py is no text in UTF-8"),
        ("job.py", "print('ü')".encode("utf-16"), "job.py is no text in UTF-8"),
        ("meta.json", b'{"name": "x",', "meta.json is no JSON: "),
        ("app/config/config_fed_client.json", b"{,}", "app/config/config_fed_client.json is no JSON: "),
        ("app/config/config_fed_client.yml", b"a: [", "app/config/config_fed_client.yml:1 is no YAML: "),
        (
            "meta.json",
            b'{"deploy_map": {"app2": ["@ALL"]}}',
            "deploy_map of meta.json names 'app2', and there",
        ),
    ],
)
def test_a_file_that_cannot_be_run_is_told(tmp_path, name, content, why):
    (tmp_path / "app" / "config").mkdir(parents=True)
    (tmp_path / "app/config/config_fed_server.json").write_text("{}")
    (tmp_path / ("job.py" if name == "job.py" else "meta.json")).write_text("{}")
    (tmp_path / name).write_bytes(content)
    assert f"{tmp_path} cannot be run as a job: {why}" in refused(tmp_path)


def test_a_script_may_declare_its_encoding(tmp_path):
    text = "# coding: latin-1\nfrom nvflare.recipe import SimEnv\nSimEnv(num_clients=3)  # für drei\n"
    (tmp_path / "job.py").write_bytes(text.encode("latin-1"))
    assert load_job(JOBS, str(tmp_path)).sites == 3


def test_a_folder_without_workflows_is_told(tmp_path):
    (tmp_path / "app" / "config").mkdir(parents=True)
    (tmp_path / "app/config/config_fed_client.json").write_text("{}")
    (tmp_path / "meta.json").write_text('{"deploy_map": {"app": ["@ALL"]}}')
    assert "none of its apps has a config_fed_server (json, conf or yml)." in refused(tmp_path)
    (tmp_path / "app/config/config_fed_server.conf").write_text("workflows = []")
    assert load_job(JOBS, str(tmp_path)).name == tmp_path.name


def test_a_job_yml_without_a_word_changes_nothing(own):
    path = own()
    path.write_text("# to come\n")
    (path.parent / "job.py").write_text("from nvflare.recipe import SimEnv\n")
    assert load_job(JOBS, str(path)).name == "mine"


def test_all_mistakes_of_a_job_are_told_at_once(own):
    path = own("sites: 2", "sites: two\nspeed: 5")
    text = (
        path.read_text()
        .replace("every_site_trained", "all_is_well")
        .replace("  command:", "  gpus: many\n  colour: x\n  command:")
    )
    path.write_text(text)
    found = refused(path)
    for mistake in (
        "`sites` is 'two' and takes a whole number",
        "`example.gpus` is 'many' and takes a whole number",
        "`speed` is no field;",
        "`example.colour` is no field",
        "it claims 'all_is_well', and no check has that name",
    ):
        assert mistake in found
    assert found.count(";") == 4


@pytest.mark.parametrize("claim", ["every_rank_on_its_device", "metric_reached", "bytes_exchanged"])
def test_a_claim_that_only_ranks_which_record_can_show_is_refused_of_others(own, claim):
    path = own("every_site_trained", claim)
    why = "none of its files imports rekindle.trainer, which would show it"
    assert f"it claims '{claim}', and {why}" in refused(path)
    (path.parent / "client.py").write_text("from rekindle.trainer import Evidence\n")
    path.write_text(
        path.read_text().replace(
            "metric_reached", "metric_reached\n    options: {metric: auc, at_least: 0.5}"
        )
    )
    assert load_job(JOBS, str(path)).proof[0].claim == claim


@pytest.mark.parametrize(
    ("options", "mistake"),
    [
        ("{metric: auc}", "it claims 'metric_reached' without its option 'at_least'"),
        (
            "{metric: auc, at_leest: 0.9, at_least: 0.9}",
            "it gives an option 'at_leest' to 'metric_reached', which has metric and at_least",
        ),
        (
            "{metric: auc, at_least: high}",
            "it gives 'high' as 'at_least' of 'metric_reached', which is a number",
        ),
    ],
)
def test_a_claims_options_are_those_that_it_has(own, options, mistake):
    path = own("every_site_trained", "metric_reached")
    (path.parent / "client.py").write_text("from rekindle.trainer import Evidence\n")
    path.write_text(path.read_text().replace("metric_reached", f"metric_reached\n    options: {options}"))
    assert mistake in refused(path)


@pytest.mark.parametrize("claim", ["loss_falls", "no_error_logged"])
def test_what_is_checked_of_every_run_is_no_claim(own, claim):
    assert f"it claims '{claim}', which is checked of every run" in refused(own("every_site_trained", claim))


def test_a_path_that_is_none_is_one_sentence(golden, own, tmp_path):
    (tmp_path / "a.yml").mkdir()
    golden(*map(refused, ("/nowhere/job.yml", f"/{'x' * 300}.yml", tmp_path / "a.yml")))
    assert "/a\0b.yml is not a job: " in refused("/a\0b.yml")
    path = own("schema:", "- schema:")
    assert f"{path}:3 is no YAML: expected <block end>, but found '?'. Fix: correct that line" in refused(
        path
    )
    path.write_bytes("name: Käse".encode("latin-1"))
    assert refused(path) == f"{path} is not in UTF-8. Fix: save it as UTF-8."


def test_a_folder_that_no_host_should_get_is_refused(own):
    path = own()
    with (path.parent / "data.bin").open("wb") as stream:
        stream.truncate(300_000_000)
    message = (
        "has 300 MB that each host would get, data.bin most of all, and at most 256 travel. Fix: keep data"
    )
    assert message in refused(path)


def test_what_git_does_not_track_beside_what_it_does_is_reported(own):
    path = own()
    git = ["git", "-C", str(path.parent)]
    subprocess.run([*git, "init", "-q"], check=True)
    assert load_job(JOBS, str(path)).name == "mine"
    subprocess.run([*git, "add", "job.yml"], check=True)
    assert "runs 'job.py', which is a link, hidden or not tracked by git, and does" in refused(path)
    subprocess.run([*git, "add", "job.py"], check=True)
    assert load_job(JOBS, str(path)).name == "mine"
