# SPDX-License-Identifier: Apache-2.0
"""What a host or a job may put in a file's place."""

import os
import socket
from pathlib import Path


def plant_socket(path):
    """Make a socket at ``path``."""
    with socket.socket(socket.AF_UNIX) as sock:
        here = Path.cwd()
        os.chdir(path.parent)  # a socket's path is short
        sock.bind(path.name)
        os.chdir(here)


UNFIT = {
    "FIFO": os.mkfifo,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "link": lambda path: path.symlink_to(__file__),
    "link to nothing": lambda path: path.symlink_to("nothing"),
    "folder": Path.mkdir,
    "socket": plant_socket,
}
