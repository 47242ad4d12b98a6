# SPDX-License-Identifier: Apache-2.0
"""A federation is shut down once no site has a process of its job any more, or after a while."""

import pytest

from rekindle.federation import server

ENDS = [{"client_name": "one", "job_id": "j"}, {"client_name": "two", "status": "no_jobs"}]
OTHER = [{"client_name": "one", "job_id": "another"}]


class Session:
    """Has answers to give, the last one for ever."""

    def __init__(self, *answers):
        self.answers, self.asked = answers, 0

    def get_client_job_status(self):
        self.asked += 1
        return self.answers[min(self.asked, len(self.answers)) - 1]


@pytest.mark.parametrize(
    ("answers", "asked"),
    [([ENDS, ENDS, OTHER], 3), ([ENDS, None], 2), ([[]], 1)],
    ids=["other", "none", "empty"],
)
def test_sites_that_still_end_are_waited_for(monkeypatch, answers, asked):
    monkeypatch.setattr(server, "_POLL_S", 0.0)
    session = Session(*answers)
    server._await_ends(session, "j")
    assert session.asked == asked


def test_a_site_that_never_ends_is_waited_for_a_while(monkeypatch):
    monkeypatch.setattr(server, "_POLL_S", 0.01)
    monkeypatch.setattr(server, "_LEAVES_S", 0.1)
    session = Session(ENDS)
    server._await_ends(session, "j")
    assert session.asked > 1
