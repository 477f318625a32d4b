# SPDX-License-Identifier: GPL-3.0-or-later
"""
findings.py - what "Workload Analysis of SPECmail2009" (Oi and Niboshi) has found, held against runs of today.

Flow: runs of bench/mail-users -> findings() -> [Finding] -> users_page.py.

Each is decided here, by figures: a number is shown again when it is within a quarter of the paper's, which
had another machine, other disks, Exim 4.69 and Dovecot 1.0.7. Nothing here runs anything.
"""
import collections
import math

import verdict  # beside this file

PATHS = ("mailbox", "index", "queue")
SECTOR = 512  # bytes
TOLERANCE = 0.25
FIRST = ("EXPUNGE", "FETCH_HEADERS")
INDEX_BYTES, INDEX_REQUESTS = (0.07, 0.08), (0.21, 0.23)
SECTORS = {"mailbox": 29.9, "index": 11.7, "queue": 15.0}
GAIN = (350, 550)  # users, with the index where the mailboxes are, and on a faster disk
POINTS_LEAST = 3

# paper, here: texts; is_shown: again, or None: it was not measured.
Finding = collections.namedtuple("Finding", "what paper here is_shown")
NOT_MEASURED = "not measured"


def said(finding):
    return {True: "shown again", False: "different today", None: NOT_MEASURED}[finding.is_shown]


def is_near(value, low, high):
    return low * (1 - TOLERANCE) <= value <= high * (1 + TOLERANCE)


# ---- which types fail first ----


def first_failures(runs):
    """{name of a type: (users, share within)} at the least load at which it fails."""
    found = {}
    for run in sorted(runs, key=lambda one: one["users"]):
        for reason in run["verdict"].reasons:
            if reason.kind == "transaction":
                found.setdefault(reason.name, (run["users"], reason.value))
    return found


def order_of_failure(runs):
    """Types by the load at which they fail, then by how far; behind them others by their 95 % quantile there."""
    failed = first_failures(runs)
    order = sorted(failed, key=lambda name: failed[name])
    broken = [run for run in runs if not run["verdict"].passes]
    if broken:
        rows = min(broken, key=lambda one: one["users"])["load"]["transactions"]
        rest = [name for name in rows if name not in failed and rows[name]["count"] >= verdict.LEAST]
        order += sorted(rest, key=lambda name: -rows[name]["p95_ms"])
    return order


def failing_first(runs):
    what, paper = "which transactions fail first", " and ".join(FIRST)
    broken = [run for run in runs if not run["verdict"].passes]
    if not broken:
        return Finding(what, paper, NOT_MEASURED, None)
    least = min(broken, key=lambda one: one["users"])
    order = order_of_failure(runs)
    reasons = "; ".join(verdict.text_of(reason) for reason in least["verdict"].reasons)
    is_transaction = any(reason.kind == "transaction" for reason in least["verdict"].reasons)
    here = f"{' and '.join(order[:2])} (at {least['users']:,} users: {reasons})"
    return Finding(what, paper, here, is_transaction and set(order[:2]) == set(FIRST))


# ---- paths ----


def share_of_index(run, field):
    """Of what all paths have; None: there was nothing."""
    total = sum(run["paths"][path][field] for path in PATHS)
    return run["paths"]["index"][field] / total if total else None


def sectors_of(run, path):
    """Of a request, the mean; None: there was none."""
    row = run["paths"][path]
    return row["bytes"] / row["requests"] / SECTOR if row["requests"] else None


def index_finding(run, field, bounds):
    paper = f"{bounds[0]:.0%} to {bounds[1]:.0%}"
    share = share_of_index(run, field) if run and run.get("paths") else None
    return Finding(f"index paths' share of {field}", paper, NOT_MEASURED if share is None else f"{share:.1%}",
                   None if share is None else is_near(share, *bounds))


def sector_finding(run, path):
    size = sectors_of(run, path) if run and run.get("paths") else None
    return Finding(f"sectors of a request, {path} paths", f"{SECTORS[path]}",
                   NOT_MEASURED if size is None else f"{size:.1f}",
                   None if size is None else is_near(size, SECTORS[path], SECTORS[path]))


# ---- I/O wait ----


def slope(points):
    """The exponent e of y = c * x^e through points, by least squares of logarithms; None: too few."""
    points = [(math.log(x), math.log(y)) for x, y in points if x > 0 and y > 0]
    if len({x for x, _ in points}) < POINTS_LEAST:
        return None
    mean_x, mean_y = (sum(values) / len(points) for values in zip(*points))
    return (sum((x - mean_x) * (y - mean_y) for x, y in points)
            / sum((x - mean_x) ** 2 for x, _ in points))


def growth_finding(what, points, text):
    """Of points of runs that passed: behind the threshold, a wait has nothing left to grow into."""
    exponent, paper = slope(points), "I/O wait grows faster than load"
    if exponent is None:
        return Finding(what, paper, NOT_MEASURED, None)
    low, high = min(points), max(points)
    return Finding(what, paper, f"{text(low[1])} at {low[0]:,} users, {text(high[1])} at {high[0]:,}:"
                   f" as the load to the power of {exponent:.2f}", exponent > 1)


def wait_finding(runs):
    """The share of processors that have nothing to do but to wait: 0 where another process has them meanwhile."""
    points = [(run["users"], run["cpu"]["io_wait"]) for run in runs if run["verdict"].passes and run.get("cpu")]
    return growth_finding("I/O wait over load", points, lambda share: f"{share:.1%}")


def waiting(run):
    """Requests that wait for a disk at a time, the mean."""
    return sum(run["paths"][path]["wait_ms"] for path in PATHS) / 1000 / run["load"]["window_s"]


def queue_finding(runs):
    """The same as the disks have counted it, whatever processors do."""
    points = [(run["users"], waiting(run)) for run in runs if run["verdict"].passes and run.get("paths")]
    return growth_finding("requests that wait for the disks, over load", points, lambda count: f"{count:.1f}")


# ---- index on a faster disk ----


def gain_finding(same, apart):
    """Of two searches that have found a threshold."""
    what = "users, with the index on a faster disk"
    paper = f"{GAIN[0]} to about {GAIN[1]}: {GAIN[1] / GAIN[0]:.2f} x"
    if not all(search and search["users"] and search["fails_at"] for search in (same, apart)):
        return Finding(what, paper, NOT_MEASURED, None)
    same, apart = same["users"], apart["users"]
    wanted = GAIN[1] / GAIN[0]
    return Finding(what, paper, f"{same:,} to {apart:,}: {apart / same:.2f} x", is_near(apart / same, wanted, wanted))


def best_run(search):
    """Of those that passed, the one with the most users; None: there is none."""
    passed = [run for run in search["runs"] if run["verdict"].passes] if search else []
    return max(passed, key=lambda one: one["users"], default=None)


def findings(sata, apart, ladder):
    """sata, apart: searches with the disk of two SATA disks, the index there or elsewhere; ladder: runs between."""
    runs = [*sata["runs"], *ladder] if sata else []
    best = best_run(sata)
    yield failing_first(runs)
    yield index_finding(best, "bytes", INDEX_BYTES)
    yield index_finding(best, "requests", INDEX_REQUESTS)
    for path in PATHS:
        yield sector_finding(best, path)
    yield wait_finding(runs)
    yield queue_finding(runs)
    yield gain_finding(sata, apart)
