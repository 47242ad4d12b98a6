# SPDX-License-Identifier: Apache-2.0
"""Faults in the job's own code: each is an edit of a copy of the job."""

import socket
import subprocess

from fault_runs import MARK, Edit, Fault

IN_LOOP = "weights = received.params"
IN_ROUND = "losses, began ="
AT_SITE_2 = 'if SITE == "site-2" and number == 1:\n'
HELD = socket.socket()
"""A port that somebody else holds for as long as the tests run."""
HELD.bind(("", 0))
HELD.listen()
PORT = HELD.getsockname()[1]


def _client(at, lines, *, instead=False):
    return (Edit("client.py", at, lines, instead),)


def _job(at, lines, *, instead=False):
    return (Edit("job.py", at, lines, instead),)


def _small_disk(folder):
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(folder)], check=True)


def _tmpdir_on_a_small_disk(work):
    _small_disk(work / "full")


def _run_on_a_small_disk(work):
    _small_disk(work / "run")


FILL = """\
with open({where}, "wb", buffering=0) as filler:
    try:
        while True:
            filler.write(bytes(4096))
    except OSError as error:
        assert error.errno == 28
"""
SHAPES = f'{AT_SITE_2}    {MARK}\n    raise ValueError("shapes differ")'
ON_ITS_OWN = f"""\
if number == 0:
    kept = None
{MARK}
weights = received.params["numpy_key"] if kept is None else kept
received.params["numpy_key"] = weights"""
"""Each site takes the global model once and then goes on with its own."""
UNCHANGED = f"{MARK}\nweights = received.params['numpy_key']"

ONE_SITE = {"sites": 1}
"""Where a second one goes on as the first does."""
FAULTS = [
    Fault(
        "crash on import",
        r"No module named 'no_such_module'",
        _client("from model import", f"{MARK}\nimport no_such_module"),
        changes=ONE_SITE,
    ),
    Fault(
        "crash before flare.init",
        r"site-[12] rank 0 raised FileNotFoundError: no data here at .*client\.py:\d+",
        _client("evidence.device(", f'{MARK}\nraise FileNotFoundError("no data here")'),
        changes=ONE_SITE,
    ),
    Fault(
        "crash after flare.init",
        r"site-2 rank 0 raised ValueError: shapes differ at .*client\.py:\d+",
        _client(IN_LOOP, SHAPES),
    ),
    Fault(
        "crash after flare.init without our guard",
        r"ValueError: shapes differ|raised after flare\.init",
        (
            *_client("install_guard(evidence)", "", instead=True),
            *_client(IN_LOOP, SHAPES),
        ),
        verdict="HUNG",
    ),
    Fault(
        "exit 0 before flare.init",
        r"without ever calling flare\.init|never sent its result",
        _client("evidence.device(", f"{MARK}\nraise SystemExit(0)"),
    ),
    Fault(
        "exit 0 without training",
        r"never sent its result|ended with status 0 while NVFlare still waited for its result",
        _client(IN_LOOP, f"{AT_SITE_2}    {MARK}\n    import os\n    os._exit(0)"),
        verdict="HUNG",
    ),
    Fault(
        "model returned unchanged",
        r"site-\d in round \d sent back the model that it was sent",
        _client("evidence.round(", UNCHANGED),
        changes=ONE_SITE,
    ),
    Fault(
        "model returned unchanged, evidence says otherwise",
        r"site-\d in round \d sent back the model that it was sent",
        _client("send(weights, metrics)", UNCHANGED),
        changes=ONE_SITE,
    ),
    Fault(
        "NaN loss",
        r"reported a loss that is not finite",
        _client("losses.append(loss)", f'{MARK}\nlosses.append(float("nan"))', instead=True),
        changes=ONE_SITE,
    ),
    Fault(
        "NaN weights",
        r"sent what is not finite",
        _client("evidence.round(", f'{MARK}\nweights = weights * float("nan")'),
        changes=ONE_SITE,
    ),
    Fault(
        "metrics invented without training",
        r"no time for|Final accuracy",
        _client(
            "seconds = time.perf_counter()",
            f"{MARK}\nlosses, weights, seconds = [0.7, 0.1], -weights - 1, 0.5",
            instead=True,
        ),
        changes=ONE_SITE,
    ),
    Fault(
        "metrics invented at one site",
        r"site-2.*(no time for|not within|nothing shows that it trained)",
        _client(
            "evidence.round(",
            f'if SITE == "site-2":\n    {MARK}\n'
            "    losses, weights, seconds = [0.7, 0.1], received.params['numpy_key'] + 1e-3, 30.0",
        ),
        verdict="UNPROVEN|FAIL",
    ),
    Fault(
        "global model deleted",
        r"no global model at",
        _job("if not GLOBAL_MODEL.exists()", f"{MARK}\nGLOBAL_MODEL.unlink()"),
        changes=ONE_SITE,
    ),
    Fault(
        "port held by someone else",
        rf"Port {PORT} is held by another process",
        _job(
            "per_site_config=",
            f'per_site_config={{name: {{"command": sites.torchrun(name).partition("rekindle.trainer")[0] + '
            f'"torch.distributed.run --nproc-per-node=2 --master-port={PORT}"}} for name in sites.names}},',
            instead=True,
        )
        + _job("recipe.execute(", MARK),
    ),
    Fault(
        "two runs in one folder",
        r"[Tt]wo runs|same name|another run",
        _job(
            "recipe.execute(",
            "import os, subprocess, sys\n"
            'if "SECOND" not in os.environ:\n'
            "    trained = '\"$REKINDLE_EVIDENCE\"/site-1.rank-0.jsonl'\n"
            "    wait = f'until grep -qs losses {trained}; do sleep 0.1; done'\n"
            "    later = ['sh', '-c', f'{wait}; exec \"$0\" \"$@\"', sys.executable, *sys.argv]\n"
            "    subprocess.Popen(later, env={**os.environ, 'SECOND': '1'})\n"
            f"else:\n    {MARK}",
        ),
        changes={"rounds": 10},
        verdict="FAIL|HUNG",
    ),
    Fault(
        "TMPDIR full",
        r"disk .*full",
        _job(
            "args = make_parser(",
            "import os, tempfile\n"
            "tempfile.tempdir = os.environ['REKINDLE_EVIDENCE'] + '/../../full'  # nor is there another one\n"
            + FILL.format(where="tempfile.tempdir + '/filler'")
            + MARK,
        ),
        before=_tmpdir_on_a_small_disk,
        changes=ONE_SITE,
    ),
    Fault(
        "TMPDIR too long for a socket's path",
        r"TMPDIR|AF_UNIX path too long",
        _job(
            "args = make_parser(",
            "import os, tempfile\n"
            "tempfile.tempdir = os.environ['TMPDIR'] = os.path.abspath('d' * 100)\n"
            f"os.mkdir(tempfile.tempdir)\n{MARK}",
        ),
        changes=ONE_SITE,
    ),
    Fault(
        "results disk full",
        r"disk .*full|No space left on device",
        _client(
            IN_ROUND,
            "import os\n" + FILL.format(where="os.environ['REKINDLE_EVIDENCE'] + '/../filler'") + MARK,
        ),
        before=_run_on_a_small_disk,
        changes=ONE_SITE,
    ),
    Fault(
        "non-UTF-8 flood on stdout",
        r"UTF-8",
        _client(
            IN_ROUND,
            f"{MARK}\nimport os\nfor _ in range(4096):\n    os.write(1, b'\\xff\\xfe' * 128 + b'\\n')",
        ),
        verdict="HUNG",
    ),
    Fault(
        "10 MB log line, then a crash",
        r"site-2 rank 0 raised ValueError: shapes differ at",
        _client(IN_LOOP, SHAPES.replace("    raise", "    print('x' * 10_000_000, flush=True)\n    raise")),
    ),
    Fault(
        "the clock goes back an hour",
        r"clock",
        _client(
            IN_ROUND,
            f"{AT_SITE_2}    {MARK}\n    now = time.time\n    time.time = lambda: now() - 3600",
        ),
        verdict="UNPROVEN",
    ),
    Fault(
        "a FIFO in the evidence",
        r"evidence/more\.jsonl was not read: it is no regular file",
        _client(
            IN_ROUND,
            f"{AT_SITE_2}    import os\n    more = os.environ['REKINDLE_EVIDENCE'] + '/more.jsonl'\n"
            f"    if not os.path.lexists(more):\n        {MARK}\n        os.mkfifo(more)",
        ),
        verdict="UNPROVEN",
    ),
    Fault(
        "endless sleep in a trainer",
        r"Nothing has moved for 60 s|site-2.*client\.py",
        _client(IN_ROUND, f"{AT_SITE_2}    {MARK}\n    time.sleep(10_000)"),
        verdict="HUNG",
    ),
    Fault(
        "endless loop in a trainer",
        r"limit of 60 s",
        _client(IN_ROUND, f"{AT_SITE_2}    {MARK}\n    while True:\n        pass"),
        changes={"limit_s": 60},
        verdict="HUNG",
    ),
    Fault(
        "a trainer that asks for the same model for ever",
        r"site-2 gets the same model at client\.py:\d+ over and over, sends no result",
        _client(
            IN_ROUND,
            f"{MARK}\nwhile SITE == 'site-2' and received is not None:\n"
            "    __import__('nvflare.client').client.receive()\n    sum(range(10**6))",
        ),
        changes={"limit_s": 240},
        verdict="HUNG",
    ),
    Fault(
        "output closed, then a crash",
        r"site-2 rank 0 raised ValueError: shapes differ at",
        _client(
            IN_LOOP,
            SHAPES.replace("    raise", "    import os\n    os.close(1)\n    os.close(2)\n    raise"),
        ),
    ),
    Fault(
        "rank 1 of two crashes",
        r"site-1 rank 1 raised ValueError: shapes differ at .*client\.py:\d+",
        _client(
            "load_weights(model.state_dict()",
            f'if dist.get_rank() == 1:\n    {MARK}\n    raise ValueError("shapes differ")',
        ),
        job="pt_ddp",
        changes=ONE_SITE,
    ),
    Fault(
        "only one of two ranks trained",
        r"site-1 rank 1 trained rounds \[\], not",
        _client("evidence.round(", f"if dist.get_rank() == 1:\n    {MARK}\n    continue"),
        job="pt_ddp",
        changes={"sites": 1, "rounds": 1},
    ),
    Fault(
        "trainers that take the global model once",
        r"site-\d rank 0 started round 1 from another model than",
        (
            *_client(IN_LOOP, ON_ITS_OWN, instead=True),
            *_client("send(weights, metrics)", "kept = weights"),
        ),
    ),
    Fault(
        "an exception on all ranks after the last round",
        r"rank \d raised RuntimeError: too late",
        _client("dist.destroy_process_group()", f'{MARK}\nraise RuntimeError("too late")', instead=True),
        job="pt_ddp",
        changes={"sites": 1, "rounds": 1},
    ),
]
