# SPDX-License-Identifier: GPL-3.0-or-later
"""
xdp_page.py - what bench/xdp measures, its limits, and the page about it.

Flow: bench/xdp measures -> Results -> limits_of() and report() here.
"""
import collections
import datetime
import os
import statistics
import subprocess
import sys

sys.path.insert(1, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from mailservers import figure, median_of  # noqa: E402  (of bench, as are the next)
from replays import machine  # noqa: E402
from store_page import Limit, table  # noqa: E402
from xdpservers import (ECHO, KINDS, KNOT, NAMES, OURS, RBLDNSD, SAME, SIGNED_NAMES,  # noqa: E402
                        SOCKETS, serve)
import harness  # noqa: E402  (found by replays.py)

# Of one run: answers a second, nanoseconds of a processor for one, the share of the server's core that was
# used, and bytes of a message.
Cell = collections.namedtuple("Cell", "rate ns busy bytes")
# cells: {(name, is_signed, kind): [a Cell of each round, or None]}
Results = collections.namedtuple("Results", "cells missed prefixes")

RBLDNSD_LIMIT, ECHO_LIMIT = 5, 0.7
WORDS = {False: "unsigned", True: "signed"}


# ---- figures ----


def both_of(results, is_signed, kind, name, base):
    """[(a Cell, one of base)] of rounds that have both. rbldnsd's are always unsigned: it signs nothing."""
    pairs = zip(results.cells.get((name, is_signed, kind), ()),
                results.cells.get((base, is_signed and base != RBLDNSD, kind), ()))
    return [pair for pair in pairs if None not in pair]


def over(results, is_signed, kind, name, base):
    """Answers of a processor's second, over those of another; the median of the rounds' own."""
    found = [other.ns / one.ns for one, other in both_of(results, is_signed, kind, name, base)]
    return statistics.median(found) if found else None


def rate_over(results, is_signed, kind, name, base):
    """Answers a second, over those of another; the median of the rounds' own."""
    found = [one.rate / other.rate for one, other in both_of(results, is_signed, kind, name, base)]
    return statistics.median(found) if found else None


def limits(results):
    for is_signed, word in WORDS.items():
        for kind in KINDS:
            yield Limit(f"{kind}, {word}: answers for a processor's second, over {RBLDNSD}",
                        over(results, is_signed, kind, OURS, RBLDNSD), RBLDNSD_LIMIT, False)
    for what, ratio in (("answers for a processor's second", over), ("answers a second", rate_over)):
        for kind in KINDS:
            yield Limit(f"{kind}, unsigned: {what}, over the {ECHO}",
                        ratio(results, False, kind, OURS, ECHO), ECHO_LIMIT, False)


def limits_of(options, results):
    """limits(), without those of servers that --only leaves out."""
    return [limit for limit in limits(results) if not options.only or limit.value is not None]


# ---- tables ----


def thousands(value):
    return "-" if value is None else f"{value:,.0f}"


def cost_rows(results, is_signed):
    for name in SIGNED_NAMES if is_signed else NAMES:
        texts, busy = [], []
        for kind in KINDS:
            runs = results.cells.get((name, is_signed, kind), ())
            texts += [thousands(median_of(runs, "rate")), thousands(median_of(runs, "ns"))]
            busy += [run.busy for run in runs if run is not None]
        sizes = [median_of(results.cells.get((name, is_signed, kind), ()), "bytes") for kind in KINDS]
        share = f"{100 * statistics.median(busy):.0f} %" if busy else "-"
        yield name, [*texts, share, figure(sizes[-1])]


def cost_lines(results, is_signed):
    columns = [column for kind in KINDS for column in (f"{kind}: answers a second", "CPU ns of one")]
    yield from table([*columns, "core used", "bytes, mixed"], list(cost_rows(results, is_signed)))


def ratio_rows(results, is_signed):
    for name in SIGNED_NAMES if is_signed else NAMES:
        yield name, [figure(over(results, is_signed, kind, name, base), 2)
                     for kind in KINDS for base in (RBLDNSD, ECHO)]


def ratio_lines(results, is_signed):
    columns = [column for kind in KINDS for column in (f"{kind}: over rbldnsd", f"over the {ECHO}")]
    yield from table(columns, list(ratio_rows(results, is_signed)))


METHOD = """
Server and generator are in two networks with a pair of veth between them, and have a core each. All that a
server costs is counted: user and system time of its processes, and that of the kernel's thread that takes its
packets from the veth (threaded NAPI) and has the same core; by their clocks, over the answers that arrived. In
that thread are XDP programs, and for servers with sockets the way of a question up to its socket.

"{drop}" is the least of all: a program at the server's end drops the question, so that what is counted are
questions. "{echo}" is a program that swaps addresses, ports and MACs, looks at nothing else and sends the question
back (XDP_TX). "{same}" makes room behind the question for an AAAA record, always the same, and sets the
checksums: what is more in "{ours}" is reading the question, finding its hosts, limits and counts. "{ours}" answers in the driver (`xdp:` of dnsblv6d.conf), "{sockets}" is the same program without.
"{knot}" is Debian's knotd with `xdp: listen:`, in native mode. Each server has one worker; rbldnsd is asked for the
A record of an address, the others for the AAAA of its bitmap. Unsigned questions have no EDNS, signed ones DO. There are
{count:,} questions of each kind, asked in turn.

The generator (bench/xdp-load) has the kernel make questions and count answers, since over sockets it would be
slower than what is measured. At most {window} questions wait for an answer, and {burst} at a time are sent, so nothing is
lost in the rings of a veth, which hold 256. A question takes a page of memory there; rbldnsd's receive buffer would
hold thirty, so it is given a larger one. Each answer is held against its question: one that is listed has an answer, any
other is NXDOMAIN, and signatures are where they belong. Of "{ours}" and "{knot}" no question may reach a socket. A
run of which that is not so has no figure, so that a wrong answer is not a cheap one.

Where less than all of the core is used, the generator was the limit: answers a second are then at least so
many, and what one costs is time that was used, that for waking up included. Servers take turns in {rounds} rounds of
{seconds:g} s, another first in each; figures are medians, and ratios those of the rounds' own. Ratios are of answers
for a processor's second: 2 is half the cost. rbldnsd signs nothing; what is over it is over its unsigned answers.

A veth is no card: the driver of a card has work to do that is not here.
"""


def versions(options):
    rbldnsd = subprocess.run(["dpkg-query", "-W", "-f", "rbldnsd ${Version}", "rbldnsd"],
                             capture_output=True, text=True, check=False).stdout
    return ", ".join([serve.version_of(os.path.join(options.programs, "server", "dnsblv6d"), "-V"), rbldnsd,
                      serve.version_of(harness.peer("knotd"), "-V")])


def report(options, results):
    yield "# What an answer from the network driver costs"
    yield ""
    yield (f"Written by `bench/xdp` on {datetime.date.today()}: {machine()}; load averages when it began:"
           f" {', '.join(f'{one:.1f}' for one in options.load)}.")
    yield f"{versions(options)}. {os.path.basename(options.list)}: {results.prefixes:,} IPv4 prefixes."
    if options.realtime:
        yield "Other work on the machine had to wait for servers, kernel and generator (--realtime, SCHED_RR)."
    for is_signed, word in WORDS.items():
        yield ""
        yield f"## {word.capitalize()}{', DO' if is_signed else ''}"
        yield ""
        yield from cost_lines(results, is_signed)
        yield "Answers for a second of a processor, over those of others:"
        yield ""
        yield from ratio_lines(results, is_signed)
    yield "## How it is measured"
    text = METHOD.format(drop=NAMES[0], echo=ECHO, same=SAME, ours=OURS, sockets=SOCKETS, knot=KNOT,
                        count=options.questions, window=options.window, burst=options.burst,
                        rounds=options.rounds, seconds=options.seconds)
    yield text.rstrip()
    yield ""
    yield "## Limits"
    yield ""
    for limit in limits_of(options, results):
        yield f"* {limit.text()}"
    for line in results.missed:
        yield f"* {line}"
