"""Jobs of a user's, which lie elsewhere: a job.yml that can work, and one sentence for each that cannot."""

import re
import subprocess

import pytest
from msgspec.structs import replace
from plays import REPOSITORY

from rekindle.jobs import asked_as, load_job, load_planned, own_path
from rekindle.records import PlanRecord, RecordError, timestamp

JOBS = REPOSITORY / "flare_jobs"
LINE = REPOSITORY / "tests" / "lookalikes" / "own" / "fitted_line" / "job.yml"


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
    page = (REPOSITORY / "docs" / "jobs.md").read_text()
    shown = re.search(r"(?m)^    schema: .*\n(?:    .+\n)+", page)[0]
    path = own()
    path.write_text(shown)
    name = path.parent.name
    assert load_job(JOBS, str(path)) == replace(load_job(JOBS, str(LINE)), name=name)


def test_its_name_is_its_folders_or_the_one_in_it(own):
    assert load_job(JOBS, str(own())).name == "mine"
    path = own("summary:", "name: line\nsummary:")
    assert asked_as(load_job(JOBS, str(path))) == "line"


def test_a_folder_that_no_job_can_be_named_as_has_the_name_written_down(own, tmp_path):
    path = own().parent.rename(tmp_path / "My line") / "job.yml"
    assert "is not a job: Object missing required field `name`. Fix: correct that field" in refused(path)


def test_a_path_is_from_the_current_folder_or_the_users_on(own, monkeypatch, tmp_path):
    path = own()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert {own_path(text) for text in ("mine/job.yml", "~/mine/job.yml", str(path))} == {path}
    assert own_path("~nobody-has-this-name/job.yml") == tmp_path / "~nobody-has-this-name" / "job.yml"
    assert own_path("mine/job.yaml") == tmp_path / "mine" / "job.yaml"
    assert own_path("examples/hello-pt") is None


def test_a_plans_jobs_are_found_by_its_paths(own):
    record = PlanRecord(
        host="h",
        made=timestamp(),
        host_sha256="0" * 64,
        environments=(),
        jobs=("pt_ddp", "mine"),
        own={"mine": str(own())},
    )
    assert [job.name for job in load_planned(JOBS, record)] == ["pt_ddp", "mine"]


@pytest.mark.parametrize(
    ("nvflare", "option"), [(None, "--job_dir"), ("2.8.3", "--job_dir"), ("2.9.0", "--workspace_dir")]
)
def test_an_example_is_as_the_plans_release_has_it(nvflare, option):
    record = PlanRecord(
        host="h",
        made=timestamp(),
        host_sha256="0" * 64,
        environments=(),
        jobs=("kaplan-meier",),
        nvflare=nvflare,
    )
    (job,) = load_planned(JOBS, record)
    assert job.example.command[-2] == option
    assert job.example.data == (("veteran",) if nvflare else ())
    assert job.example.variants == {}


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("summary:", "speed: 5\nsummary:", "is not a job: Object contains unknown field `speed`. Fix: "),
        ("rounds: 3\n", "", "is not a job: Object missing required field `rounds`. Fix: correct"),
        ("sites: 2", "sites: two", "is not a job: Expected `int`, got `str` - at `$.sites`. Fix: correct"),
        ("schema:", "- schema:", "is not a job: "),
        ("summary:", "name: Mine\nsummary:", "is not a job: Expected `str` matching regex"),
        ("summary:", "name: hello-pt\nsummary:", "is of a job 'hello-pt', and Rekindle has one"),
        ("summary:", "name: retired\nsummary:", "is of a job 'retired', and Rekindle has one of that name."),
        ("torch+vision", "torch+sound", "names the environment 'torch+sound', and there is none."),
        ("every_site_trained", "all_is_well", "claims 'all_is_well', which no validator knows."),
        ("[job.py,", "[run.py,", "runs 'run.py', which is no file in "),
        ("[job.py,", "[../mine/job.py,", "runs '../mine/job.py', which is no file in "),
        ("[job.py,", "[/etc/hostname,", "runs '/etc/hostname', which is no file in "),
        ("[job.py,", "[.hidden.py,", "runs '.hidden.py', which is a link, hidden or not tracked by git"),
        ("[job.py,", "[linked.py,", "runs 'linked.py', which is a link, hidden or not tracked by git"),
        ("  command:", "  before: [[data.py]]\n  command:", "runs 'data.py', which is no file in "),
        (
            "  command:",
            "  variants: {'2.9': {command: [run.py]}}\n  command:",
            "runs 'run.py', which is no file in ",
        ),
        (
            "  command:",
            "  variants: {x: {mends: [{file: /x, before: a, after: b, because: c, fault: example}]}}\n"
            "  command:",
            "mends '/x', which is not in the folder of its code.",
        ),
        ("  command:", "  folder: /etc\n  command:", "has example.folder, and its code lies beside it."),
        ("sites:", "code: pt_ddp\nsites:", "has code, and its code lies beside it."),
        (
            "  command:",
            "  mends: [{file: ../x.py, before: a, after: b, because: c, fault: example}]\n  command:",
            "mends '../x.py', which is not in the folder of its code. Fix: write its path from there on.",
        ),
        (
            'example:\n  command: [job.py, --sites, "{sites}", --rounds, "{rounds}"]\n',
            "",
            "does not have the command of its code. Fix: write example: {command: [job.py]}",
        ),
    ],
)
def test_what_cannot_work_is_one_sentence_with_the_fix(own, before, after, message):
    path = own(before, after)
    (path.parent / ".hidden.py").touch()
    (path.parent / "linked.py").symlink_to("job.py")
    text = refused(path)
    assert text.startswith(f"{path} {message}")
    assert re.search(r"\. Fix: \w.*\.$", text)


def test_a_path_that_is_none_is_one_sentence(tmp_path, own):
    fix = "Fix: name a job.yml that is there in rekindle_jobs."
    assert refused("/nowhere/job.yml") == f"/nowhere/job.yml cannot be read: No such file or directory. {fix}"
    assert "cannot be read: File name too long." in refused("/" + "x" * 300 + ".yml")
    (tmp_path / "a.yml").mkdir()
    assert "cannot be read: Is a directory." in refused(tmp_path / "a.yml")
    assert "is not a job: " in refused("/a\0b.yml")


def test_a_folder_that_no_host_should_get_is_refused(own):
    path = own()
    with (path.parent / "data.bin").open("wb") as stream:
        stream.truncate(300_000_000)
    assert "has 300 MB that each host would get, and at most 256 travel. Fix: keep data" in refused(path)


def test_what_git_does_not_track_beside_what_it_does_is_reported(own):
    path = own()
    git = ["git", "-C", str(path.parent)]
    subprocess.run([*git, "init", "-q"], check=True)
    assert load_job(JOBS, str(path)).name == "mine"
    subprocess.run([*git, "add", "job.yml"], check=True)
    assert "runs 'job.py', which is a link, hidden or not tracked by git, and does" in refused(path)
    subprocess.run([*git, "add", "job.py"], check=True)
    assert load_job(JOBS, str(path)).name == "mine"
