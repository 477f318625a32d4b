# SPDX-License-Identifier: GPL-3.0-or-later
"""
verdict.py - whether users were served well: what users-load has counted, held against limits.

Flow: a result of users-load (JSON) -> judge() -> Verdict -> search.py, users_page.py.

The limits are those that SPECmail2009 is known to have had: 95 % of each type of transaction within 5 s,
95 % of mails in their mailboxes within 60 s, or with the other domain within the hour, and errors below
1 % of all transactions. A type with fewer than LEAST of it says nothing, and is named as not judged.
Nothing here runs anything or reads a clock.
"""
import collections
import math

SHARE, ERRORS, LEAST = 0.95, 0.01, 20
DELIVERIES = {"local": 60, "remote": 3600}  # seconds
TRANSACTION_S = 5

# kind: "transaction", "delivery", "errors" or "load"; name: of what; value: its share; bound: what it should be.
Reason = collections.namedtuple("Reason", "kind name value bound")
# reasons: why not; unjudged: types of transactions that there were too few of.
Verdict = collections.namedtuple("Verdict", "passes reasons unjudged")


def share_within(row):
    """Of all of a type, those in time; None: there was none."""
    return row["within"] / row["count"] if row["count"] else None


def share_delivered(row):
    return row["within"] / row["sent"] if row["sent"] else None


def error_share(result):
    """Errors of any kind, of all transactions."""
    count = sum(row["count"] for row in result["transactions"].values())
    errors = sum(result["errors"].values())
    return errors / count if count else None


def late_transactions(result):
    for name, row in result["transactions"].items():
        if row["count"] >= LEAST and share_within(row) < SHARE:
            yield Reason("transaction", name, share_within(row), SHARE)


def late_deliveries(result):
    for name in DELIVERIES:
        share = share_delivered(result["deliveries"][name])
        if share is not None and share < SHARE:
            yield Reason("delivery", name, share, SHARE)


def judge(result):
    """The Verdict on one run."""
    reasons = [*late_transactions(result), *late_deliveries(result)]
    errors = error_share(result)
    if errors is not None and errors >= ERRORS:
        reasons.append(Reason("errors", "all", errors, ERRORS))
    counts = {name: row["count"] for name, row in result["transactions"].items()}
    if max(counts.values()) < LEAST:
        reasons.append(Reason("load", "transactions", max(counts.values()), LEAST))
    unjudged = [name for name, count in counts.items() if count < LEAST]
    return Verdict(not reasons, reasons, unjudged)


def percent(share):
    """Rounded down: what is below a limit does not look as if it were not."""
    return f"{math.floor(share * 1000 + 1e-9) / 10:.1f}%"


def text_of(reason):
    """A Reason in words."""
    if reason.kind == "transaction":
        return f"{reason.name}: {percent(reason.value)} within {TRANSACTION_S} s"
    if reason.kind == "delivery":
        return f"{reason.name} deliveries: {percent(reason.value)} within {DELIVERIES[reason.name]} s"
    if reason.kind == "errors":
        return f"errors: {reason.value:.1%} of all transactions"
    return f"no type of transaction was there {LEAST} times"


def error_text(result):
    """Which errors there were, the most of them first."""
    found = sorted(((count, name) for name, count in result["errors"].items() if count), reverse=True)
    return ", ".join(f"{count:,} {name}" for count, name in found) or "none"
