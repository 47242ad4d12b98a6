"""One payload, wanted by several hosts at once: each has a process of its own that builds it."""

from pathlib import Path

from rekindle.payload import build_payload

JOBS = Path(__file__).parents[2] / "flare_jobs"


def test_another_that_is_done_just_before_takes_nothing_away(tmp_path, monkeypatch):
    replace, others = Path.replace, []

    def after_another(path, target):
        if not others:
            others.append(None)
            others[0] = build_payload(JOBS, tmp_path)
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", after_another)
    payload = build_payload(JOBS, tmp_path)
    assert others == [payload]
    assert list(tmp_path.iterdir()) == [payload]
