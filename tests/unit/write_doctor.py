# SPDX-License-Identifier: Apache-2.0
"""Write docs/doctor.md: how often the doctor is right on failures of the field, by layer.

Usage: PYTHONPATH=src:tests/unit python tests/unit/write_doctor.py
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from field_logs import failures, found, healthy, outcome, root, shown

from rekindle.doctor import typed

DOCS = Path(__file__).parents[2] / "docs" / "doctor.md"
TEXT = """\
# The doctor

`rekindle diagnose` names the root cause of a failure from any log. It first looks for the known failures
of the catalogue (`doctor/catalogue/`). If it finds none, it reads the lines that report an error: by
their shape (`shapes.json`), their words (`subjects.json`) and the program that printed them
(`producers.json`). These give a remedy, the layer, and whether the line is a cause, a symptom or an echo.

- An error after which the log continues, or that a retry overcame, is no cause, unless the run is known to
  have failed.
- In a chain of exceptions, the cause is the first one that names what went wrong.
- If the words are vague, the program that printed them decides the layer. For a missing file its path
  decides, for a connection its other end.
- A warning is a cause only of a later error that is vague itself: a bare assertion, or a job without GPUs.
- A retry that failed is a cause beside another cause of its layer.
- A cause that only quotes a line is never certain.
- In a flood of errors, the first and the last 2000 lines that may matter are read.

An entry of the catalogue may have a command that confirms it (`confirm`). What that command takes from the
log is quoted for a shell.

## How often it is right

The logs of `tests/unit/doctor/field/` are failures in the words of many tools, rewritten and labelled
before the doctor read them; the authors of the catalogue also wrote these logs. `make doctor` writes this
table. When a set was new, right were 24 of 30, 20 of 30, 45 of 64, 28 of 45, 24 of 38, 21 of 30 and 22 of
24 (second to eighth set), 53 of 79, 39 of 46, 27 of 40, 19 of 30, 36 of 49 and 37 of 46 (ninth to
fourteenth), 21 of 34 (fifteenth), 85 of 124 (sixteenth, 23 wrong), 57 of 68 (seventeenth, 6 wrong), 60 of
78 (eighteenth, 11 wrong), 31 of 40 (nineteenth, 6 wrong), 23 of 30 (twentieth, 5 wrong, each with the
right cause and the wrong layer) and 25 of 34 (twenty-first, 2 wrong). One half of the first, fourth,
fifth, sixth, ninth, sixteenth, seventeenth, eighteenth and twenty-first set is held back from
its authors; all others were looked at. An answer in doubt counts as silent.

| layer | failures | right | wrong | silent |
|---|---|---|---|---|
{rows}

Of {healthy} logs of good runs that alarm, {alarms} are diagnosed.

## The layers

A failure belongs to the layer in which it is fixed. A label may name two layers if it can be fixed in
either.

- host: what the machine's administrator fixes: memory, disks, paths, ports, clock, rights, kernel, hardware,
  daemons, SLURM's nodes; also a connection that does not leave the machine.
- driver: NVIDIA's kernel modules, the libraries that must match them, the fabric manager, IMEX, what gives
  containers their GPUs, and what their installation lacks.
- environment: what is installed for the job: packages, libraries, compilers, programs, images.
- network: everything between machines, and remote services that do not answer, refuse, or limit requests.
- framework: a GPU's memory, crashes, and ranks that do not meet, if nothing else is known to be the cause.
- NVFlare: its kits, its admission of sites, its own faults. A job's folder belongs to the job.
- job: code, data, configuration, and what was requested from SLURM, Kubernetes, a container or a playbook.

## In doubt

If a cause is in doubt, the doctor answers that it does not know it. It then shows at most four lines that
report an error, the most likely first, without a layer. Five signs show that a line may not mean what its
words suggest:

- The words are vague (`weak` in `subjects.json`, and fewer than 15 letters) and the program that printed them
  is not of their layer; or no words are known; or an exception has no message. This sign weighs as much as
  three others. A line of NVFlare's own without known words is of the layer NVFlare, with one sign.
- The words are shorter than twelve letters.
- The words are of a layer that every tool has words for: job or framework.
- The program that printed them is known to be of another layer. NVFlare is exempt: it reports all layers.
- Another error was reported before.

Other words for the same layer, in this line or another, cancel the last four. The signs were chosen by
cross-validation on first answers, with each set of logs left out in turn. The data on who printed a line
were chosen on the same answers, without leaving any out. A level word (`ERROR`) and causes of other
layers nearby carried no information; a path or a device in the line carried little.

`benchmarks/doctor.py` on first answers, whatever their doubts, by what they rest on:

| what is named | logs | wrong |
|---|---|---|
| an entry of the catalogue, an exception, a line | 76, 140, 409 | 7 %, 9 %, 21 % |
| no sign in its words, one, two | 352, 136, 23 | 11 %, 15 %, 43 % |
| words that say little | 38 | 76 % |
| other words for its layer, none | 293, 256 | 10 %, 26 % |
| a cause, only a symptom | 481, 68 | 14 %, 43 % |
| the first error, not the first | 489, 60 | 17 %, 27 % |
| 1 line that reports an error, 2, 3, more | 308, 159, 50, 32 | 19 %, 16 %, 16 %, 19 % |
| in the first two thirds of the log, in the last | 297, 252 | 17 %, 19 % |
| layer driver, network, host, environment | 43, 93, 128, 99 | 7 %, 10 %, 12 %, 18 % |
| layer job, framework, NVFlare | 143, 25, 18 | 29 %, 20 %, 33 % |

The distance from the end of the log carries no information. That a line is only a symptom carries much,
but as a sign it would silence three right answers for each wrong one. More than half of the wrong answers
name the right cause with the wrong layer. A second opinion on the layer does not find them: models of the
words of the log or of the line (naive Bayes, logistic regression, each set left out in turn) are wrong
more often than the doctor where the two disagree. The layer of most error lines, and of the tool that
printed most lines, are weaker still. All of these together add nothing to the signs above.

With the number of signs that a cause may have (`DOUBTS` in `typed.py`), the doctor's answers are:

| signs | half | right | wrong | silent | the cause is among the lines shown |
|---|---|---|---|---|---|
{curve}

Both halves flatter: one was used to change the doctor, the other taught its authors.
`benchmarks/doctor.py` measures answers to logs that nobody had seen: it diagnoses each set with what was
known before that set. Today's code was chosen on the half that was looked at.

| signs | of 631 logs looked at since: right, wrong, silent | of 264 held back |
|---|---|---|
| 0 | 68 %, 8 %, 24 % | 67 %, 11 %, 22 % |
| 1 | 80 %, 10 %, 10 % | 76 %, 14 %, 11 % |
| 2 | 82 %, 11 %, 7 % | 78 %, 16 %, 6 % |
| any | 83 %, 16 %, 1 % | 80 %, 19 %, 2 % |

No number of signs gives 85 % right and 4 % wrong: even without any sign, one answer in eight is wrong.
Rekindle allows one sign. Allowing none would lose about ten right answers in a hundred to avoid two or
three wrong ones. In most doubtful logs the cause is among the lines shown. An answer in doubt costs its
reader the layer and the remedy; a wrong answer costs the night."""
DOUBTS = {0: "0", 1: "1", 2: "2", 9: "any"}


def main() -> None:
    """Diagnose all, and write the table."""
    by_layer: dict[str, Counter[str]] = {}
    for failure in failures():
        half = "held back, all layers" if failure.held else "looked at, all layers"
        for name in (failure.layers[0], half):
            by_layer.setdefault(name, Counter())[outcome(failure)] += 1
    rows = [
        f"| {name} | {count.total()} | {count['right']} | {count['wrong']} | {count['silent']} |"
        for name, count in sorted(by_layer.items(), key=lambda pair: (", all" in pair[0], pair[0].lower()))
    ]
    curve = list(_curve())
    alarms = sum(root(log) is not None for _, log in healthy())
    text = TEXT.format(
        rows="\n".join(rows), curve="\n".join(curve), healthy=len(healthy()), alarms=alarms or "none"
    )
    DOCS.write_text(text)
    print("\n".join([*rows, *curve]))


def _curve() -> Iterator[str]:
    """Yield a row for each number of doubts that a cause may have, and each half."""
    chosen = typed.DOUBTS
    for typed.DOUBTS, doubts in DOUBTS.items():
        found.cache_clear()
        for half, held in (("looked at", False), ("held back", True)):
            of_half = [failure for failure in failures() if failure.held is held]
            count = Counter(map(outcome, of_half))
            told = sum(outcome(failure) == "silent" and shown(failure) for failure in of_half)
            shares = " | ".join(f"{count[kind] / len(of_half):.1%}" for kind in ("right", "wrong", "silent"))
            yield f"| {doubts} | {half} | {shares} | {told} of {count['silent']} |"
    typed.DOUBTS = chosen


if __name__ == "__main__":
    main()
