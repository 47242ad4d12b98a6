# SPDX-License-Identifier: Apache-2.0
"""Rewrite docs/evidence/: the recorded runs in short form, judged again from their files.

.venv/bin/python scripts/write_evidence.py
"""

from pathlib import Path

from rekindle.judge import is_claim, judge_run

REPOSITORY = Path(__file__).parents[1]
RUNS = REPOSITORY / "tests" / "recordings" / "runs"
EVIDENCE = REPOSITORY / "docs" / "evidence"


def short_form(run: Path) -> str:
    """Return a recorded run as Markdown."""
    verdict = judge_run(run)
    gpus = {device.uuid: device for device in verdict.devices if device.uuid}
    where = f"{len(gpus)} × {next(iter(gpus.values())).name}" if gpus else "CPU"
    applied = [claim for claim in verdict.evidence if claim.applies]
    claims = [claim for claim in applied if is_claim(claim.claim) or not claim.holds]
    versions = ", ".join(f"{name} {version}" for name, version in verdict.versions.items())
    lines = [
        f"# {run.name}: {verdict.verdict}",
        "",
        f"{verdict.started}, {verdict.duration_s} s, {where}; {versions}.",
        f"The run's files are in `{run.relative_to(REPOSITORY).as_posix()}/`.",
        "",
        "| claim | evidence | file |",
        "|---|---|---|",
        *(f"| {claim.claim} | {claim.message} | {claim.file or ''}:{claim.line or ''} |" for claim in claims),
        "",
        f"Beside its claims, {len(applied) - len(claims)} other checks hold, "
        f"and {len(verdict.evidence) - len(applied)} checks do not apply.",
        "",
        "| site, rank | device | peak memory, MiB | mean utilisation, % |",
        "|---|---|---|---|",
    ]
    for device in verdict.devices:
        held = (device.peak_memory_mib or "–", device.mean_utilisation or "–")
        name = device.uuid or device.device
        lines.append(f"| {device.site}, {device.rank} | {name} | {held[0]} | {held[1]} |")
    if verdict.host_memory_mib:
        memory = ", ".join(f"{name} {mib}" for name, mib in sorted(verdict.host_memory_mib.items()))
        lines += ["", f"Peak host memory of NVFlare's processes, MiB: {memory}."]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write one file a run."""
    EVIDENCE.mkdir(exist_ok=True)
    for run in sorted(RUNS.iterdir()):
        (EVIDENCE / f"{run.name}.md").write_text(short_form(run), encoding="utf-8")


if __name__ == "__main__":
    main()
