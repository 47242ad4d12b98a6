# SPDX-License-Identifier: Apache-2.0
"""Python with a thread that is called as gloo's are, and has something to do as the process ends."""

_BUSY = """
import hashlib, threading
from pathlib import Path

def work():
    Path(f"/proc/self/task/{threading.get_native_id()}/comm").write_text(NAME)
    began.set()
    for _ in range(TIMES):
        hashlib.pbkdf2_hmac("sha256", b"", b"", 100_000)
    print("over", flush=True)

began = threading.Event()
threading.Thread(target=work, daemon=True).start()
began.wait()
"""

FOR_EVER = 10**9


def busy(name="pt_gloo_runloop", times=8):
    """Return it; the thread prints ``over`` when it has done that ``times``, each some 30 ms."""
    return f"NAME, TIMES = {name!r}, {times}\n{_BUSY}"
