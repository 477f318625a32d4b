# SPDX-License-Identifier: GPL-3.0-or-later
"""
site_page.py - what bench/site measures, what the paper has of it, and the page about it.

Flow: bench/site measures -> Results -> limits() and report() here.
"""
import collections
import contextlib
import datetime
import os
import statistics
import subprocess
import sys

sys.path.insert(1, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from mailservers import USERS, figure, median_of, times  # noqa: E402  (of bench, as is the next)
from replays import machine  # noqa: E402
from sites import (ALL, DRAWN_SHARE, LISTED, PLAIN, PLANS, POSTFIX, POSTFIX_SCANNED,  # noqa: E402
                   PROCESSES, QUIET_S)
import farlists  # noqa: E402  (found by sites.py)
from store_page import Limit, disk, speed, table  # noqa: E402
import harness  # noqa: E402  (found by replays.py)

# runs: {(trace, plan): [a Run of each round, or None]}, with the best number of clients; asked: {(trace, plan):
# a Run of slight mails}; misses: {trace: (of a cache of addresses, of one of bitmaps)}.
Results = collections.namedtuple("Results", "runs asked misses missed")

# Of the paper's section 8: mail throughput, and DNS queries.
PAPER = {"sinkhole": (1.40, 0.61), "university": (1.18, 0.80)}
WITHOUT_SCAN = tuple(name for name, plan in PLANS.items() if plan.scan is None and name != PLAIN)
SCANNED = tuple(name for name, plan in PLANS.items() if plan.scan is not None)


# ---- figures ----


def gain(runs, trace, name, base=POSTFIX, field="rate"):
    """One over another, the median of the rounds' own."""
    pairs = zip(runs.get((trace, name), ()), runs.get((trace, base), ()))
    found = [getattr(one, field) / getattr(other, field) for one, other in pairs
             if one is not None and other is not None and getattr(other, field)]
    return statistics.median(found) if found else None


def questions(results, trace, name, has_texts):
    """To the authority, for a session."""
    one = results.asked.get((trace, name))
    return one and one.authority - (0 if has_texts else one.texts)


def saved(results, trace, name, has_texts):
    """Questions over those of Postfix with a classic list."""
    return times(questions(results, trace, name, has_texts),
                 questions(results, trace, POSTFIX, has_texts))


def limits(options, results):
    for trace in options.traces:
        rate, asked = PAPER[trace]
        yield Limit(f"{trace}: mails a second, {ALL} over {POSTFIX}", gain(results.runs, trace, ALL),
                    rate, False)
        yield Limit(f"{trace}: questions to the authority, but for TXT, of the same two",
                    saved(results, trace, ALL, False), asked)


# ---- tables ----


def percent(value):
    """Of a ratio: +40 %"""
    return "-" if value is None else f"{100 * (value - 1):+,.0f} %"


def spread(runs, field):
    """The median, and the least and the most."""
    found = [getattr(run, field) for run in runs if run is not None]
    if not found:
        return "-"
    return f"{speed(statistics.median(found))} ({speed(min(found))} to {speed(max(found))})"


def run_rows(results, trace, names, base):
    for name in names:
        runs = results.runs.get((trace, name), ())
        yield name, [
            spread(runs, "rate"), figure(gain(results.runs, trace, name, base), 2),
            speed(median_of(runs, "deliveries")), figure(median_of(runs, "cpu_ms"), 2),
            figure(gain(results.runs, trace, name, base, "cpu_ms"), 2),
            figure(median_of(runs, "kib"), 1), figure(median_of(runs, "syncs"), 2),
            figure(median_of(runs, "clients"))]


def run_lines(results, trace):
    columns = ["mails a second", "over the first", "mailboxes a second", "CPU ms of a mail",
               "over the first", "KiB written for a mail", "syncs", "clients at a time"]
    yield f"### {trace[0].upper()}{trace[1:]}"
    yield ""
    yield from table(columns, list(run_rows(results, trace, WITHOUT_SCAN, POSTFIX)))
    yield "And of sites that scan:"
    yield ""
    yield from table(columns, list(run_rows(results, trace, SCANNED, POSTFIX_SCANNED)))


def asked_lines(results, trace):
    rows = []
    for name in PLANS:
        one = results.asked.get((trace, name))
        rows.append((name, [
            figure(one and one.authority, 3), figure(one and one.texts, 3),
            percent(saved(results, trace, name, True)), percent(saved(results, trace, name, False)),
            figure(one and one.resolver, 2)]))
    yield f"### {trace[0].upper()}{trace[1:]}"
    yield ""
    yield from table(["to the authority", "for TXT", "over the first", "over the first, but for TXT",
                      "to the resolver"], rows)
    addresses, blocks = results.misses[trace]
    sessions = max((one.sessions for (of, _), one in results.asked.items() if of == trace), default=0)
    yield (f"A cache that forgets nothing misses {addresses:.1%} of these {sessions:,} sessions by address, and"
           f" {blocks:.1%} by blocks of 128 addresses: {percent(times(blocks, addresses))}.")
    yield ""


def paper_lines(options, results):
    """More or less than the paper."""
    rows = []
    for trace in options.traces:
        for what, paper, here, is_most in (
                ("mail throughput", PAPER[trace][0], gain(results.runs, trace, ALL), False),
                ("DNS queries", PAPER[trace][1], saved(results, trace, ALL, False), True),
                ("DNS queries, with those for TXT", PAPER[trace][1], saved(results, trace, ALL, True),
                 True)):
            word = "-" if here is None else (
                "less" if (here > paper if is_most else here < paper) else "more")
            rows.append((f"{trace}, {what}", [percent(paper), percent(here), word]))
    yield from table(["the paper", "here", "gained"], rows)


HEAD = """
What DNSBLv6, smtp-front and the store together give a site, after section 8 of Pathak, Jafri and Hu, "The Case for
Spam-Aware High Performance Mail Server Architecture" (ICDCS 2009): its authors' Postfix with bitmaps of a
blacklist, without a process for clients that have proved nothing, and with mails for many kept once, beside Postfix
without any of these. Here "{first}" is Debian's Postfix with `reject_rbl_client`, and in each other row one part is
ours, or in "{all}" all of them.
"""

METHOD = """
A site is a mail server, an Unbound that it asks, and mailboxes on this disk, with all syncs on. All its processes
have one processor; clients and the authorities of the list have the other. Each run has a new site, with mailboxes,
caches and queues empty, and processes that some sessions of strangers have woken up. Sites take turns in a round,
another first in each; figures are medians of {rounds} rounds, behind them the lowest and the highest, and what is
over the first is the median of the rounds' own ratios. Ratios carry over to other machines, mails a second do not.

Clients are a closed loop (`bench/smtp-load`): as many sessions at a time as the last column says, of {choice} those
with which that site took most mails in the first round. They come for {seconds:g} s without a distance; what was
taken by then counts when it is in its mailboxes, over the time until no queue has a mail. smtpd and smtp-front's
workers are {processes} at most, both defaults. Postfix' `in_flow_delay` is 0. Each session comes from the next
address of its trace, told by a PROXY header, and has at most one mail; there are {users} users.

* **sinkhole**: clients and list of [trace.md](trace.md). All is spam, 4096 bytes for 5 to 9 recipients: the paper's
  mean is about 7, how they are spread is ours.
* **university**: a quarter of the sessions bounce, and 67 % of the others are spam, as in the paper; other mail has
  1.02 recipients. Ours are: that a tenth of all are left by their client, after the greeting, HELO, MAIL or RCPT;
  that spam is as in the sinkhole; and the clients, those of a honeypot (an address that comes again within {quiet}
  s is one visit), with a list of today that also has {drawn:.0%} of them.

A listed client is let pass with a line in the log (`warn_if_reject reject_rbl_client`; `action: warn` of
dnsblv6-policy and smtp-front), so that there is mail to count. A site that refuses saves all that such a mail
costs, with either list. Postfix asks at RCPT, and so not about clients that have left by then; smtp-front asks about all.
"{listed}" is dnsblv6-policy, the adapter of [mta.md](../mta.md), with the list in bitmaps. smtp-front before
Postfix gives it mails by SMTP and XCLIENT, and asks the classic list itself; Postfix gives mails to mail-stored by
LMTP. Sites that scan have the same signatures: "{clamd}" is clamsmtp as `smtpd_proxy_filter` and clamd, which is
what Debian has for Postfix that needs no second queue. Mails are plain text; [scan.md](scan.md) has attachments.

Processor time is the kernel's (perf_event_open(2)) over all processes of the site, its resolver among them, and
that for bounces and sessions that were left is part of a mail's. Syncs and bytes are counted by a library loaded
before the programs (bench/programs/costed_sync.c); the log of each server is among them.

**Questions** are those of the first {sessions:,} sessions of each trace, with mails of 100 bytes for one recipient,
{asking} at a time, and of one run. TTLs are 24 hours as in the paper, and no answer expires in a run of seconds:
[trace.md](trace.md) and [client-queries.md](client-queries.md) have whole traces on their own clocks. Of a listed
address Postfix asks for TXT too, which the paper does not count; so the comparison with it is without these, and
the other one is beside it. "{plain}" are names with dots in a zone that is not signed; "{listed}" is what
[resolvers.md](../resolvers.md) recommends, `--style both` and signed, and Unbound answers what is denied from its
proofs. Of a zone that is not signed, classic ones too, libdnsblv6 makes sure of up to thirty listings at once by
two questions each (docs/decisions/32). An answer of an authority takes as long as in the paper's figure 5 as it is
remembered, the same for both lists:
"""


def report(options, results):
    load = ", ".join(f"{value:.1f}" for value in options.load)
    yield "# What a site gains"
    yield ""
    yield (f"Written by `bench/site` on {datetime.date.today()}: {machine()}; {disk(options)}; load"
           f" averages when it began: {load}.")
    yield f"{versions()}."
    yield HEAD.format(first=POSTFIX, all=ALL).rstrip()
    yield ""
    if results.missed:
        yield "Not all is as it should be:"
        yield ""
        yield from (f"* {what}" for what in results.missed)
        yield ""
    yield from paper_lines(options, results)
    yield "## Mails into mailboxes"
    yield ""
    for trace in options.traces:
        yield from run_lines(results, trace)
    yield "## Questions of a session"
    yield ""
    for trace in options.traces:
        yield from asked_lines(results, trace)
    yield "## How it is measured"
    yield METHOD.format(
        rounds=options.rounds, seconds=options.seconds, processes=PROCESSES, users=f"{USERS:,}",
        choice=" or ".join(map(str, options.clients)), quiet=f"{QUIET_S:,}", drawn=DRAWN_SHARE,
        plain=PLAIN, listed=LISTED, clamd=POSTFIX_SCANNED, sessions=options.sessions,
        asking=options.clients[0]).rstrip()
    yield ""
    yield from farlists.delay_lines()
    yield ""
    yield "## Limits"
    yield ""
    yield from (f"* {limit.text()}" for limit in limits(options, results))


def versions():
    commands = {"": [harness.program("smtp-front"), "-V"],
                "Postfix ": ["postconf", "-d", "-h", "mail_version"], "ClamAV ": ["clamd", "--version"],
                " ": ["unbound", "-V"]}
    said = []
    for name, command in commands.items():
        with contextlib.suppress(harness.unittest.SkipTest, subprocess.SubprocessError, OSError):
            command[0] = harness.peer(command[0])
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
            text = done.stdout.strip().splitlines()[0].replace("ClamAV ", "").replace("Version", "Unbound")
            said.append(f"{name}{text}".strip().partition(" (")[0].partition("/")[0])
    return ", ".join(said)
