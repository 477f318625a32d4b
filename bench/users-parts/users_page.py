# SPDX-License-Identifier: GPL-3.0-or-later
"""
users_page.py - the page about what bench/mail-users has measured, its plots, its limits, and all of it as JSON.

Flow: bench/mail-users measures -> Results -> limits(), report(), plot() and as_json() here; findings.py decides.

A run is a dict: users, mailboxes, rate, seed; load: what users-load has said; verdict: verdict.py's; overhead: the
share of the machine that load and bench took; cpu: shares of the machine, user, system and io_wait; server_cpu: the same of the servers; switches: of
context, a second; memory_kib: of the servers; paths: {"mailbox", "index", "queue": {requests, bytes}}. A search
is a dict: name, disk, users, fails_at, is_close, sessions (an hour), facts (versions, notes, disks), runs, and
doubtful, runs that failed and were done again.
"""
import collections
import datetime
import json
import os
import statistics
import sys

sys.path.insert(1, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import findings  # noqa: E402  (beside this file, as is the next)
import verdict  # noqa: E402
from findings import PATHS  # noqa: E402
from mailservers import figure  # noqa: E402  (of bench, as are the next)
from replays import machine  # noqa: E402
from store_page import Limit, table  # noqa: E402

# servers, repeats: [search]; sata, apart: search or None; ladder: [run] with the disk of sata; hour: run or None;
# parameters: lines of a table.
Results = collections.namedtuple("Results", "servers repeats sata apart ladder hour parameters missed")

OVERHEAD_LIMIT, SPREAD_LIMIT = 0.2, 0.05


def share(value, digits=1):
    return "-" if value is None else f"{value:.{digits}%}"


def percent_of(value):
    return "-" if value is None else verdict.percent(value)


def number(value):
    return "-" if value is None else f"{value:,.0f}"


# ---- limits ----


def spread(counts):
    """The largest less the least, over the median; None: there are not two."""
    return (max(counts) - min(counts)) / statistics.median(counts) if len(counts) > 1 and all(counts) else None


def pair_difference(searches):
    """Of the first two: over the larger."""
    counts = [one["users"] for one in searches[:2]]
    return (max(counts) - min(counts)) / max(counts) if len(counts) == 2 and all(counts) else None


def limits(options, results):
    """Of the parts that were to be measured."""
    if "v" in options.parts:
        best = findings.best_run(results.servers[0] if results.servers else None)
        yield Limit("share of the machine that the load takes at the verdict's load", best and best["overhead"],
                    OVERHEAD_LIMIT, digits=3)
    if "r" in options.parts:
        yield Limit("two verdicts with one seed: how far apart", pair_difference(results.repeats), SPREAD_LIMIT,
                    digits=3)


# ---- verdicts ----


def why_it_ends(search):
    """What was not served any more with the fewest users that were too many."""
    broken = [run for run in search["runs"] if run["users"] == search["fails_at"]]
    if not broken:
        return "nothing: the search ended before"
    return "; ".join(verdict.text_of(reason) for reason in broken[-1]["verdict"].reasons)


def verdict_text(search):
    """One line, as it is printed, too."""
    if not search["users"]:
        return f"{search['name']}, {search['disk']}: no number of users passed ({why_it_ends(search)})"
    end = ("the search ended before any failed" if search["fails_at"] is None
           else f"{search['fails_at']:,} do not ({why_it_ends(search)})")
    if search["fails_at"] is not None and not search["is_close"]:
        end += "; the search ended before it had tried what is between"
    best = findings.best_run(search)
    return (f"{search['name']}, {search['disk']}: {search['users']:,} users ({best['mailboxes']:,} mailboxes, each used"
            f" {best['rate']:,.1f} times as much), {search['sessions']:,.0f} sessions an hour; {end}")


def again_text(search):
    passed = {run["users"] for run in search["runs"] if run["verdict"].passes}
    count = sum(run["users"] in passed for run in search["doubtful"])
    return f"; of what passed, {count} had failed at the first try" if count else ""


def cost_texts(run):
    cpu = (run or {}).get("cpu") or {}
    return [*(share(cpu.get(name)) for name in ("user", "system", "io_wait")),
            number((run or {}).get("switches")),
            figure(run["memory_kib"] / 1024) if run and run.get("memory_kib") else "-",
            share(run and run["overhead"])]


PATH_COLUMNS = [f"{path}: {what}" for path in PATHS for what in ("requests", "MB", "sectors each")]
COSTS = ["CPU user", "CPU system", "I/O wait", "context switches a second", "memory, MiB", "the load's share"]


def server_lines(results):
    yield "## Verdicts"
    yield ""
    yield ("The largest number of users that passed, and behind it what the machine did at that load. Shares are of"
           " all processors; memory is that of the servers. The load's share is of the load alone, and is in the"
           " others, too.")
    yield ""
    rows = []
    for search in results.servers:
        best = findings.best_run(search)
        rows.append((search["name"], [number(search["users"]), number(search["sessions"]), number(search["fails_at"]),
                                      why_it_ends(search), *cost_texts(best)]))
    yield from table(["users", "sessions an hour", "too many", "why", *COSTS], rows)
    for search in results.servers:
        yield f"* {verdict_text(search)}{again_text(search)}"
    yield ""
    yield from path_lines(results)


def path_lines(results):
    """What each path of each server has moved, in the window of the verdict."""
    found = {search["name"]: findings.best_run(search) for search in results.servers}
    if any(run and run.get("paths") for run in found.values()):
        yield "Requests to the disk of each path in that window, their bytes, and sectors of 512 bytes in each:"
        yield ""
        yield from table(PATH_COLUMNS, [(name, list(path_texts(run))) for name, run in found.items() if run])


def type_lines(title, search):
    """What each type of transaction took at the verdict, and with the fewest users that were too many."""
    best = findings.best_run(search)
    broken = [run for run in search["runs"] if run["users"] == search["fails_at"]]
    worst = broken[-1] if broken else None
    if best is None and worst is None:
        return
    yield f"## {title}"
    yield ""
    rows = []
    for name in (best or worst)["load"]["transactions"]:
        texts = []
        for run in (best, worst):
            row = run["load"]["transactions"][name] if run else None
            texts += (["-"] * 4 if not row or not row["count"] else
                      [f"{row['count']:,}", percent_of(verdict.share_within(row)), f"{row['p50_ms']:.1f}",
                       f"{row['p95_ms']:.1f}"])
        rows.append((name, texts))
    heads = ["count", "within 5 s", "p50 ms", "p95 ms"]
    yield from table([f"{text}, {users} users" for users in (
        number(search["users"]), number(search["fails_at"])) for text in heads], rows)
    for run in (best, worst):
        if run:
            yield f"* {delivery_text(run)}"
    yield ""


def delivery_text(run):
    texts = []
    for name, seconds in verdict.DELIVERIES.items():
        row = run["load"]["deliveries"][name]
        texts.append(f"{row['sent']:,} {name} deliveries, {percent_of(verdict.share_delivered(row))} within {seconds:,} s,"
                     f" {row['lost']:,} lost, {row['twice']:,} twice")
    unjudged = run["verdict"].unjudged
    few = f"; too few to judge: {', '.join(unjudged)}" if unjudged else ""
    return (f"{run['users']:,} users: {'; '.join(texts)}; errors: {verdict.error_text(run['load'])}; the load was"
            f" late by {run['load']['late_max_ms']:.0f} ms at most{few}{fault_text(run)}")


def fault_text(run):
    """What IMAP servers said that they may not."""
    found = run["load"].get("faults") or {}
    return "".join(f"; {count:,} times: {text}" for text, count in found.items())


# ---- the paper ----


def paper_lines(results):
    yield "## What the paper found"
    yield ""
    yield (f"Decided by code (bench/users-parts/findings.py): a figure is shown again when it is within"
           f" {findings.TOLERANCE:.0%} of the paper's; types that fail first when they are the same two, I/O wait when"
           " its exponent is above 1. The disk is limited as two SATA disks would be.")
    yield ""
    yield "| | the paper | here | |"
    yield "|---|---|---|---|"
    for one in findings.findings(results.sata, results.apart, results.ladder):
        yield f"| {one.what} | {one.paper} | {one.here} | {findings.said(one)} |"
    yield ""


def path_texts(run):
    for path in PATHS:
        row = (run.get("paths") or {}).get(path)
        sectors = findings.sectors_of(run, path) if row else None
        yield from ([f"{row['requests']:,}", f"{row['bytes'] / 1e6:.1f}", figure(sectors, 1)] if row else ["-"] * 3)


def disk_lines(options, results):
    yield "## Two SATA disks"
    yield ""
    for search in (results.sata, results.apart):
        if search:
            yield f"* {verdict_text(search)}. {search['facts']['disks']}."
    yield ""
    runs = sorted([*results.sata["runs"], *results.ladder], key=lambda one: one["users"])
    yield from table(["passes", "CPU user", "CPU system", "I/O wait", *PATH_COLUMNS], [
        (f"{run['users']:,} users", ["yes" if run["verdict"].passes else "no", *cost_texts(run)[:3],
                                     *path_texts(run)]) for run in runs])
    if options.output:
        yield f"![processors, types of transactions, and paths, by load]({os.path.basename(options.output)}.svg)"
    yield ""


# ---- the same again ----


def others_share(search):
    """What processes that are neither the servers nor the load had of the machine, over all runs; None: not counted."""
    runs = [run for run in [*search["runs"], *search["doubtful"]] if run.get("cpu") and run.get("server_cpu")]
    shares = [run["cpu"]["user"] + run["cpu"]["system"] - sum(run["server_cpu"].values()) - run["overhead"]
              for run in runs]
    return statistics.mean(shares) if shares else None


def repeat_lines(results):
    counts = [search["users"] for search in results.repeats]
    yield "## The same again"
    yield ""
    yield (f"{len(counts)} searches with one seed, each with mailboxes that were filled anew:"
           f" {', '.join(f'{count:,}' for count in counts)} users. The spread, largest less least over the median,"
           f" is {share(spread(counts))}; the first two are {share(pair_difference(results.repeats))} apart. Other"
           " processes and the kernel's own had"
           f" {', '.join(share(others_share(search)) for search in results.repeats)} of the machine meanwhile.")
    yield ""


def hour_lines(run):
    yield "## An hour"
    yield ""
    passes = "passes" if run["verdict"].passes else "does not pass"
    reasons = "; ".join(verdict.text_of(reason) for reason in run["verdict"].reasons)
    minutes = run["load"]["window_s"] / 60
    yield f"{run['users']:,} users for {minutes:.0f} minutes: {passes}{reasons and f' ({reasons})'}."
    yield ""
    yield f"* {delivery_text(run)}"
    yield ""


# ---- page ----

METHOD = """
The load is an enterprise IMAP mix of SPECmail2009's shape. It is not SPECmail2009, whose kit cannot be had any more,
and no figure here may be compared with one of that: the table at the end has each parameter and where it comes from.
A number of users passes when 95 % of each type of transaction (of which there were at least {least}) ended within 5 s,
95 % of local deliveries within 60 s and of those to the other domain within the hour, and fewer than 1 % of all
transactions were errors. The verdict is the largest number that passes: doubled from {starts} until one fails, then
halved until what passes and what does not are 4.4 % apart; a number fails when it does so in {tries} of {tries} tries. Each has
{warmup:g} s of warm-up, a window of {window:g} s (longer where that had fewer than {sessions} sessions), and a time
until all that was begun has ended.

Users are {mailboxes:,} mailboxes at most, each with {scales} of a mailbox's size: where there are more users, each
mailbox has the sessions and mails of several, and think times are divided by as much. So the load of the servers is
that of the users, and what they have in memory is less than it would be. Sessions begin when they are due, whether or
not those before have ended. The load (bench/users-load) is on the same machine as the servers, and its share of it is in the tables.
"""


def facts_of(results, name):
    """Of all servers, each once."""
    searches = [*results.servers, *results.repeats, *filter(None, (results.sata, results.apart))]
    return list(dict.fromkeys(text for search in searches for text in search["facts"][name]))


def begin_lines(options):
    calls = getattr(options, "calls", None)  # join.py
    if calls:
        yield f"Written by `bench/mail-users` on {datetime.date.today()}: {machine()}; seed {options.seed}. Measured by"
        yield ""
        yield from (f"* {text}" for text in calls)
        yield ""
        return
    load = ", ".join(f"{value:.1f}" for value in options.load)
    yield (f"Written by `bench/mail-users` on {datetime.date.today()}: {machine()}; load averages when it began:"
           f" {load}; seed {options.seed}.")


def report(options, results):
    yield "# How many users a mail server has room for"
    yield ""
    yield from begin_lines(options)
    if said := facts_of(results, "versions"):
        yield f"{', '.join(said)}."
    starts, scales = f"{options.start:,}", f"{options.scale:g}"
    if results.sata and options.disks_start != options.start:
        starts += f" ({options.disks_start:,} where the disk is limited)"
    if results.sata and options.disks_scale != options.scale:
        scales += f" ({options.disks_scale:g} where it is limited)"
    yield METHOD.format(least=verdict.LEAST, starts=starts, scales=scales, **vars(options)).rstrip()
    yield ""
    if said := facts_of(results, "notes"):
        yield "Servers are as Debian has them, but for these (Debian's in brackets):"
        yield ""
        yield from (f"* {text}" for text in said)
        yield ""
    if results.missed:
        yield "Not all is as it should be:"
        yield ""
        yield from (f"* {what}" for what in results.missed)
        yield ""
    if results.servers:
        yield from server_lines(results)
        yield from type_lines(f"Types of transactions: {results.servers[0]['name']}", results.servers[0])
    if results.sata:
        yield from paper_lines(results)
        yield from disk_lines(options, results)
        yield from type_lines("Types of transactions: two SATA disks", results.sata)
    if results.repeats:
        yield from repeat_lines(results)
    if results.hour:
        yield from hour_lines(results.hour)
    yield "## Limits"
    yield ""
    yield from (f"* {limit.text()}" for limit in limits(options, results))
    if results.parameters:
        yield ""
        yield "## Parameters"
        yield ""
        yield from results.parameters


# ---- plots ----


def plot_processors(axes, runs):
    runs = [run for run in runs if run.get("cpu")]
    for name in ("user", "system", "io_wait"):
        axes.plot([run["users"] for run in runs], [run["cpu"][name] for run in runs], "o-",
                  label=name.replace("_", " "))
    axes.set_ylim(bottom=0)
    axes.set_xlabel("users")
    axes.set_ylabel("share of all processors")
    axes.legend()


def plot_types(axes, runs):
    """The five that fail first, or are the slowest."""
    for name in findings.order_of_failure(runs)[:5]:
        there = [(run["users"], verdict.share_within(run["load"]["transactions"][name])) for run in runs
                 if run["load"]["transactions"][name]["count"] >= verdict.LEAST]
        axes.plot(*zip(*there), "o-", label=name)
    axes.axhline(verdict.SHARE, linestyle=":", color="black")
    axes.set_xlabel("users")
    axes.set_ylabel("share within 5 s")
    if axes.lines[1:]:
        axes.legend(fontsize=8)


def plot_paths(axes, run):
    for at, field in enumerate(("bytes", "requests")):
        left, total = 0, sum(run["paths"][path][field] for path in PATHS) or 1
        for color, path in enumerate(PATHS):
            width = run["paths"][path][field] / total
            axes.barh(at, width, left=left, color=f"C{color}", label=path if at == 0 else None)
            left += width
    axes.set_yticks((0, 1), ("bytes", "requests"))
    axes.set_ylim(-0.5, 2)
    axes.set_xlabel("share of each path")
    axes.legend(fontsize=8, loc="upper center", ncol=len(PATHS))


def plot(pyplot, results, output):
    """PNG and SVG beside the page; of the disk of two SATA disks, or of the first server."""
    search = results.sata or (results.servers[0] if results.servers else None)
    if search is None:
        return
    runs = sorted([*search["runs"], *(results.ladder if search is results.sata else ())], key=lambda one: one["users"])
    figure_, (left, middle, right) = pyplot.subplots(1, 3, figsize=(15, 4.2))
    plot_processors(left, runs)
    plot_types(middle, runs)
    best = findings.best_run(search)
    if best and best.get("paths"):
        plot_paths(right, best)
    figure_.tight_layout()
    figure_.savefig(output + ".png", dpi=120, metadata={"Software": None})
    figure_.savefig(output + ".svg", metadata={"Date": None})


# ---- for machines ----


def plain(value):
    """Without named tuples, which JSON would have as lists without names."""
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return value


# Of options: where things lay, which says nothing about a figure.
PLACES = ("programs", "directory", "output", "workload")


def as_json(options, results):
    """All that the page stands on."""
    return json.dumps({
        "of": "bench/mail-users", "date": str(datetime.date.today()), "machine": machine(), "load": list(options.load),
        "options": {key: value for key, value in sorted(vars(options).items())
                    if isinstance(value, (str, int, float, bool, type(None))) and key not in PLACES},
        "findings": [{**one._asdict(), "said": findings.said(one)} for one in findings.findings(
            results.sata, results.apart, results.ladder)] if results.sata else [],
        "limits": [{"what": limit.what, "value": limit.value, "bound": limit.bound, "is_met": limit.is_met}
                   for limit in limits(options, results)],
        **plain(results._asdict())}, indent=1) + "\n"
