"""A process that ends waits for threads of gloo's that are at work, and for no others, and not for ever."""

import subprocess
import sys
import time

import pytest

BEGIN = """
import hashlib, threading
from pathlib import Path
from rekindle.trainer import gloo

def work(times):
    Path(f"/proc/self/task/{threading.get_native_id()}/comm").write_text(NAME)
    began.set()
    for _ in range(times):
        hashlib.pbkdf2_hmac("sha256", b"", b"", 100_000)
    print("over", flush=True)

began = threading.Event()
gloo.rest_at_exit()
"""
WORKS = "threading.Thread(target=work, args=[8], daemon=True).start(); began.wait()"
NEVER_ENDS = (
    "gloo._LIMIT_S = 0.5; threading.Thread(target=work, args=[10**6], daemon=True).start(); began.wait()"
)


def ended(name, does):
    script = f"NAME = {name!r}\n{BEGIN}{does}"
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout


def test_a_thread_of_gloos_ends_what_it_does():
    assert ended("pt_gloo_runloop", WORKS) == "over\n"


@pytest.mark.parametrize("name", ["pt_tcpstore_uv", "python"])
def test_another_thread_is_not_waited_for(name):
    assert ended(name, WORKS) == ""


def test_one_that_never_rests_is_left():
    began = time.monotonic()
    assert ended("pt_gloo_runloop", NEVER_ENDS) == ""
    assert time.monotonic() - began < 60


def test_a_process_without_threads_of_gloos_ends():
    assert ended("", "print('end')") == "end\n"
