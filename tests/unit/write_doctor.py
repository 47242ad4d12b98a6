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

`rekindle diagnose` names the cause of a failure in any log: first by the catalogue of known failures
(`doctor/catalogue/`), else by the lines that report an error themselves. Their shapes
(`shapes.json`), what their words are about (`subjects.json`) and who printed them (`producers.json`)
give the layer, whether they are a cause, a symptom or an echo, and a remedy. What the log goes on
after, or tries again with success, is no cause, unless the run is known to have failed. Of a chain of
exceptions the first that says what goes wrong is the cause. Where words say little, who printed them tells
the layer; of a missing file its path tells it, of a connection its end. A warning is a cause only of what
says little itself and comes after it: a bare assertion, or a job that finds no GPU. What was tried again in
vain is a cause beside one of its layer. A cause that only quotes a line is never certain.

Of a flood of errors the first 2000 lines that may matter and the last 2000 are read.

An entry names, where there is one, the command that confirms it (`confirm`), with what the log names in it,
quoted for a shell.

On logs of `tests/unit/doctor/field/`, written anew in the words of many tools and labelled before they were
diagnosed; `make doctor` writes this table. The authors of the entries wrote these logs too. At first sight
24 of 30, 20 of 30, 45 of 64, 28 of 45, 24 of 38, 21 of 30 and 22 of 24 were right, of the second to the
eighth set; of the ninth to the fourteenth 53 of 79, 39 of 46, 27 of 40, 19 of 30, 36 of 49 and 37 of 46;
of the fifteenth 21 of 34, of the sixteenth 85 of 124 (23 wrong), of the seventeenth 57 of 68 (6 wrong),
of the eighteenth 60 of 78 (11 wrong), of the nineteenth 31 of 40 (6 wrong), of the twentieth 23 of 30
(5 wrong, each with the right cause and the wrong layer), of the twenty-first 25 of 34 (2 wrong). Of the
first, fourth, fifth, sixth, ninth, sixteenth, seventeenth, eighteenth and twenty-first set one half is held
back from whoever mends the doctor; all others were looked at. What is in doubt counts as silent.

| layer | failures | right | wrong | silent |
|---|---|---|---|---|
{rows}

Of {healthy} logs of good runs that alarm, {alarms} are diagnosed.

## Whose a failure is

A failure is of the layer in which it is mended; a label may name two where it can be mended in either.

- host: what this machine's administrator sees to: memory, disks, paths, ports, clock, rights, kernel,
  hardware, daemons, SLURM's nodes; and a connection that does not leave the machine.
- driver: NVIDIA's kernel modules, the libraries that must fit them, the fabric manager, IMEX, and what brings
  GPUs into containers; also what its installation lacks.
- environment: what is installed for the job: packages, libraries, compilers, programs, images.
- network: what is between machines, and services elsewhere that do not answer, refuse or limit.
- framework: a GPU's memory, crashes, ranks that do not meet, where nothing else is known to be the cause.
- NVFlare: its kits, its admission of sites, its own faults; a job's folder is the job's.
- job: code, data, configuration and what was asked for: of SLURM, Kubernetes, a container, a playbook's text.

## In doubt

Where a cause is in doubt the doctor says that it does not know it, and shows at most four lines that
report an error, the likeliest first, without a layer. Five signs tell that a line is not what its words
are taken for:

- its words say little (`weak` in `subjects.json`, and fewer than 15 letters) and who printed it is not of
  their layer, no words are known, or an exception has no message, which weighs as much as three others;
  of NVFlare's own lines without known words NVFlare is the layer, with one sign;
- they are shorter than twelve letters;
- they are of a layer that everybody has words for: job or framework;
- who printed it is known to be of another layer, and is not NVFlare, which reports all layers;
- another error was reported before it.

Other words for the same layer, in the line or in another one, take the last four away. These were found
by cross-validation, each set of logs left out in turn, on answers at first sight; who printed a line was
chosen on the same answers, without leaving out any. A level's word
(`ERROR`) and causes of other layers beside it told nothing; a path or a device in the line little more.

What `benchmarks/doctor.py` finds of answers at first sight that bear any doubt, by what they rest on:

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

How far from the end a line stands tells nothing. That it is only a symptom tells much, but as a sign it
would silence three right answers for a wrong one. Of the wrong answers more than half name the cause
and miss its layer. A second opinion on the layer does not find them: from the words of the log or of the
line (naive Bayes, logistic regression, each set left out in turn) it is more often wrong than the doctor
where the two disagree. The layer of most error lines and of the tool that printed most lines tell less, and
all together no more than the signs above.

How many of these signs a cause may have (`DOUBTS` in `typed.py`), and what the doctor then says:

| signs | half | right | wrong | silent | the cause is among the lines shown |
|---|---|---|---|---|---|
{curve}

Both halves flatter: one was mended by those who read it, the other by what they learnt. What the doctor
says of logs that nobody had seen is measured by `benchmarks/doctor.py`, which diagnoses each set with
what was known before that set; today's code was chosen on the half that was looked at:

| signs | of 631 logs looked at since: right, wrong, silent | of 264 held back |
|---|---|---|
| 0 | 68 %, 8 %, 24 % | 67 %, 11 %, 22 % |
| 1 | 80 %, 10 %, 10 % | 75 %, 14 %, 11 % |
| 2 | 82 %, 11 %, 7 % | 78 %, 16 %, 6 % |
| any | 83 %, 16 %, 1 % | 79 %, 19 %, 2 % |

No number of signs gives 4 % wrong and 85 % right: an answer without any sign is right nine times in ten.
We take one. With none, of a hundred unseen logs thirteen fewer would be right and two fewer wrong. In
most doubtful logs the cause is among the lines shown: whoever is left in doubt lacks a layer and a remedy,
and whoever is told a wrong cause loses the night.
"""
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
