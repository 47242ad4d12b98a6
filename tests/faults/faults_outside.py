# SPDX-License-Identifier: Apache-2.0
"""Faults from outside: a process of a run is killed, stopped or told to end while a trainer works."""

from signal import SIGKILL as KILL
from signal import SIGSTOP, SIGTERM

from fault_runs import TRAINING, Edit, Fault

SLOW = Edit(
    "client.py",
    "losses, began =",
    f'if SITE == "site-2" and number == 1:\n    {TRAINING}\n    time.sleep(20)',
)
"""A round that takes long enough to be hit."""


def _trainer(live):
    return live.process("custom/client.py", REKINDLE_SITE="site-2")


def _client(live):
    return live.process("nvflare.private.fed.app.simulator.simulator_worker", "site-2")


def _server(live):
    return live.process("nvflare.private.fed.app.simulator.simulator")


def _supervisor(live):
    return live.supervisor


def _fault(name, verdict, cause, victim, number):
    def act(live):
        live.training()
        live.kill(victim(live), number)

    return Fault(
        name, cause, edits=(SLOW,), act=act, leaves=number == KILL and victim is _supervisor, verdict=verdict
    )


FAULTS = [
    _fault("kill -9 of a trainer", "FAIL", r"killed|trainer's process failed", _trainer, KILL),
    _fault(
        "kill -9 of a client",
        "HUNG",
        r"client of site-2 ended|lost its connection to site-2's process: it was killed",
        _client,
        KILL,
    ),
    _fault("kill -9 of the server", "FAIL", r"server.*(killed|died|ended)", _server, KILL),
    _fault("SIGSTOP of a trainer", "HUNG", r"client\.py\) (is|was) stopped", _trainer, SIGSTOP),
    _fault("SIGSTOP of a client", "HUNG", r"simulator_worker.* (is|was) stopped", _client, SIGSTOP),
    _fault("kill -9 of the driver", "UNPROVEN", r"driver was killed", _supervisor, KILL),
    _fault("SIGTERM to the driver", "FAIL", r"Stopped from outside", _supervisor, SIGTERM),
]
