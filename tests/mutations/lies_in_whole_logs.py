"""Logs that are gone or cut, or are those of another member or run."""

from log_edits import places
from mutation_kinds import lie, lies, pick, several_sites
from mutation_runs import recordings


def _cut(member, part):
    """Return what leaves only a part of a log: a function of its length."""

    def change(run, rng):
        path = f"{run.workspace}/{pick(rng, run.sites) if member == 'site' else member}/log.txt"
        content = run.files[path]
        start, end = part(len(content), rng)
        run.write(path, content[start:end])

    return change


def _gap(member):
    def change(run, rng):
        log = run.log(pick(rng, run.sites) if member == "site" else member)
        start = pick(rng, places(log, r"assigned task to client|got task assignment"))
        del log[start : start + max(12, len(log) // 4)]

    return change


for _who, _member in {"the server's": "server", "a site's": "site"}.items():
    lies(
        "logs whole",
        {
            f"{_who} log lacks its first half": _cut(_member, lambda size, rng: (size // 2, size)),
            f"{_who} log lacks its first lines": _cut(
                _member, lambda size, rng: (rng.randint(300, 2000), size)
            ),
            f"{_who} log lacks its second half": _cut(_member, lambda size, rng: (0, size // 2)),
            f"{_who} log lacks its last tenth": _cut(_member, lambda size, rng: (0, size * 9 // 10)),
            f"{_who} log lacks its last lines": _cut(
                _member, lambda size, rng: (0, size - rng.randint(900, 2500))
            ),
            f"{_who} log lacks its middle": _gap(_member),
            f"{_who} log is empty": _cut(_member, lambda size, rng: (0, 0)),
        },
    )


@lie("logs whole")
def _a_log_is_gone(run, rng):
    run.remove(f"{run.workspace}/{pick(rng, run.members)}/log.txt")


@lie("logs whole")
def _zeros_in_a_log(run, rng):
    """As a host leaves that lost its power."""
    path = f"{run.workspace}/{pick(rng, run.members)}/log.txt"
    content = run.files[path]
    at = rng.randint(len(content) // 4, len(content) // 2)
    size = rng.choice((512, 4096))
    run.write(path, content[:at] + b"\0" * size + content[at + size :])


@lie("logs of their member", several_sites)
def _logs_of_two_sites_swapped(run, rng):
    path, other = (f"{run.workspace}/{site}/log.txt" for site in rng.sample(run.sites, 2))
    first, then = run.files[path], run.files[other]
    run.write(path, then)
    run.write(other, first)


@lie("logs of their member", several_sites)
def _a_site_has_the_log_of_another(run, rng):
    site, other = rng.sample(run.sites, 2)
    run.write(f"{run.workspace}/{site}/log.txt", run.files[f"{run.workspace}/{other}/log.txt"])


@lie("logs of their member")
def _a_site_has_the_log_of_the_server(run, rng):
    run.write(f"{run.workspace}/{pick(rng, run.sites)}/log.txt", run.files[f"{run.workspace}/server/log.txt"])


@lie("logs of their member", several_sites)
def _a_site_has_the_log_of_another_with_names_patched(run, rng):
    """A clone of a site: its tasks are those of the other."""
    site, other = rng.sample(run.sites, 2)
    content = run.files[f"{run.workspace}/{other}/log.txt"].replace(other.encode(), site.encode())
    run.write(f"{run.workspace}/{site}/log.txt", content)


@lie("logs of their member")
def _a_site_s_log_of_another_run(run, rng):
    run_of = [name for name in _same_job(run) if name != run.name]
    other = run.copy_of(pick(rng, run_of))
    site = pick(rng, run.sites)
    run.write(f"{run.workspace}/{site}/log.txt", other.files[f"{other.workspace}/{site}/log.txt"])


@lie("logs of their member")
def _the_server_s_log_of_another_run(run, rng):
    other = run.copy_of(pick(rng, [name for name in _same_job(run) if name != run.name]))
    run.write(f"{run.workspace}/server/log.txt", other.files[f"{other.workspace}/server/log.txt"])


@lie("logs of their member")
def _all_logs_of_another_run(run, rng):
    other = run.copy_of(pick(rng, [name for name in _same_job(run) if name != run.name]))
    for member in run.members:
        run.write(f"{run.workspace}/{member}/log.txt", other.files[f"{other.workspace}/{member}/log.txt"])


def _same_job(run):
    return [name for name in recordings() if name.split("-")[0] == run.name.split("-")[0]]


@lie("logs of their member")
def _a_site_that_the_run_does_not_have_left_a_log(run, rng):
    site = pick(rng, run.sites)
    content = run.files[f"{run.workspace}/{site}/log.txt"].replace(site.encode(), b"site-7")
    run.write(f"{run.workspace}/site-7/log.txt", content)
