# SPDX-License-Identifier: Apache-2.0
"""An error that a job's own code logs is said; one of NVFlare's, or of the server, fails."""

import json

import pytest
from samples.edits import added, result_of

from rekindle.judge import judge_run

STAMP = "2026-11-26 02:32:03,332"
FOLDER = "job/workspace/hello-numpy/{}"


def logged(folder, logger, name="site-2"):
    """Have a logger log an error as NVFlare's formatters write it, in three logs."""
    base = logger.rpartition(".")[2]
    for log in ("log.txt", "log_error.txt"):
        added(f"{FOLDER.format(name)}/{log}", f"{STAMP} - {base} - ERROR - no tracking server")(folder)
    entry = {"asctime": STAMP, "name": base, "fullName": logger, "message": "no tracking server"}
    added(f"{FOLDER.format(name)}/log.json", json.dumps(entry))(folder)


@pytest.mark.parametrize(
    "logger", ["tracker", "my.tracker", "trains.Trains", "custom.client", "root", "__main__"]
)
def test_an_error_of_the_jobs_own_code_at_a_site_is_said(example, logger):
    logged(example, logger)
    result = result_of(judge_run(example), "no_error_logged")
    assert result.state == "holds"
    assert result.message.startswith(
        "The job's own code at site-2 logged 'no tracking server' by its logger "
    )


@pytest.mark.parametrize("logger", ["nvflare.private.aux_runner.AuxRunner", "__main__.ClientTaskWorker"])
def test_an_error_of_nvflares_fails(example, logger):
    logged(example, logger)
    assert result_of(judge_run(example), "no_error_logged").state == "fails"


def test_so_does_one_by_a_name_that_both_use_in_the_same_moment(example):
    logged(example, "my.AuxRunner")
    logged(example, "nvflare.private.aux_runner.AuxRunner")
    assert result_of(judge_run(example), "no_error_logged").state == "fails"


def test_and_one_of_the_server_or_without_a_full_name(example):
    logged(example, "flow.Early", "server")
    assert result_of(judge_run(example), "no_error_logged").state == "fails"


def test_a_damaged_log_of_full_names_shows_nothing(example):
    logged(example, "tracker")
    path = example / FOLDER.format("site-2") / "log.json"
    path.write_text(f"[1]\n{{\n{path.read_text().replace('fullName', 'full')}")
    assert result_of(judge_run(example), "no_error_logged").state == "fails"
