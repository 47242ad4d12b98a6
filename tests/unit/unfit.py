"""What a host or a job may put in a file's place."""

import os
import socket
from pathlib import Path


def plant_socket(path):
    """Make a socket at ``path``."""
    with socket.socket(socket.AF_UNIX) as one:
        here = Path.cwd()
        os.chdir(path.parent)  # a socket's path is short
        one.bind(path.name)
        os.chdir(here)
