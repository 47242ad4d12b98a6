"""Settings are checked on the controller; the host is not asked."""

import json
import os
from pathlib import Path


def test_it_says_until_when_everything_has_to_be_at_home():
    lease = json.loads(Path(os.environ["REKINDLE_RESULTS"], "leased", "lease.json").read_text())
    assert (lease["host"], lease["ends"]) == ("leased", None)


def test_it_left_nothing_on_the_host(host):
    assert not host.file("/home/lease/rekindle").exists
