"""One payload, wanted by many hosts at once."""

from multiprocessing import get_context
from pathlib import Path

from rekindle.payload import build_payload

JOBS = Path(__file__).parents[2] / "flare_jobs"


def _build(barrier, folder, answers):
    barrier.wait()
    try:
        answers.put(str(build_payload(JOBS, folder)))
    except OSError as error:
        answers.put(str(error))


def test_all_that_want_it_at_once_get_the_same_file(tmp_path):
    context = get_context("fork")
    barrier, answers = context.Barrier(8), context.Queue()
    workers = [context.Process(target=_build, args=(barrier, tmp_path, answers)) for _ in range(8)]
    for worker in workers:
        worker.start()
    said = {answers.get(timeout=60) for _ in workers}
    for worker in workers:
        worker.join()
    (payload,) = tmp_path.iterdir()
    assert said == {str(payload)}
