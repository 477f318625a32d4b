# SPDX-License-Identifier: GPL-3.0-or-later
"""
pop_page.py - what bench/pop measures, its limits, and the page about it.

Flow: bench/pop measures -> Results -> limits() and report() here.
"""
import collections
import contextlib
import datetime
import os
import statistics
import subprocess
import sys

sys.path.insert(1, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from mailservers import figure, median_of, times  # noqa: E402  (of bench, as are the next)
from replays import machine  # noqa: E402
from store_page import Limit, table  # noqa: E402
import harness  # noqa: E402  (found by replays.py)

# Of a session: context switches, and microseconds of all processes.
Cost = collections.namedtuple("Cost", "switches cpu_us")
Parked = collections.namedtuple("Parked", "count kib")
Logins = collections.namedtuple("Logins", "rate cpu_us")
Sessions = collections.namedtuple("Sessions", "rate cpu_us p99_ms mails")  # mails of each, the mean
Transfer = collections.namedtuple("Transfer", "rate bare")  # bytes a second, one after the other
Flood = collections.namedtuple("Flood", "median_ms p99_ms flooded_median_ms flooded_p99_ms")
# never, logins, flood, sessions: {name or (name, kind): [one for each round]};
# parked: {name: Parked};
# good: [(p99 with connections that stay, without)]; maildrop: {(name, is under TLS): [Cost]};
# large: {(name, of CLIENTS): [Transfer]}.
Results = collections.namedtuple(
    "Results", "never parked good maildrop large logins flood sessions missed")

MAILS_OF_EACH = 28
# How many bytes a second a client takes at most.
CLIENTS = {"as fast as it can": None, "10 Gbit/s": 1.25e9}
OURS, SHIPPED_NAME, BARE = "pop-front", "Dovecot", "sendfile()"
FORMATS = ("Dovecot maildir", "Dovecot mdbox")
NEVER_LIMIT, KIB_LIMIT, GOOD_LIMIT, MAILDROP_LIMIT, LARGE_LIMIT = 0.1, 2, 1.5, 0.5, 0.9


def ratio(table_, field, one, other):
    return times(median_of(table_.get(one, ()), field), median_of(table_.get(other, ()), field))


def way(has_tls):
    return "under TLS" if has_tls else "in the clear"


# ---- limits ----


def never_limits(options, results):
    for field, what in (("switches", "context switches"), ("cpu_us", "processor time")):
        value = ratio(results.never, field, OURS, SHIPPED_NAME)
        yield Limit(f"a connection that never logs in: {what} over {SHIPPED_NAME}'s", value,
                    NEVER_LIMIT, digits=3)
    found = results.parked.get(OURS)
    yield Limit("KiB of memory of one that stays", found and found.kib, KIB_LIMIT)
    yield Limit(f"a good client's p99 beside {options.connections:,} of them, over that without",
                good_ratio(results.good), GOOD_LIMIT)


def good_ratio(rounds):
    """Of the medians."""
    if not rounds:
        return None
    crowded, quiet = (statistics.median(values) for values in zip(*rounds))
    return crowded / quiet


def maildrop_limits(results):
    for name in FORMATS:
        for has_tls in (False, True):
            yield Limit(f"ten new mails, {way(has_tls)}: processor time over {name}'s",
                        ratio(results.maildrop, "cpu_us", (OURS, has_tls), (name, has_tls)),
                        MAILDROP_LIMIT)


def share_of_bare(rounds):
    """The median of what each transfer has of the one next to it."""
    return statistics.median(one.rate / one.bare for one in rounds) if rounds else None


def limits(options, results):
    """Of the parts that were to be measured."""
    if "n" in options.parts:
        yield from never_limits(options, results)
    if "m" in options.parts:
        yield from maildrop_limits(results)
    if "r" in options.parts:
        for client in CLIENTS:
            yield Limit(f"RETR of {options.large >> 20} MiB, {client}: throughput over a bare"
                        f" {BARE}", share_of_bare(results.large.get((OURS, client))), LARGE_LIMIT, False)


# ---- tables ----


def never_lines(results):
    yield "## A connection that never logs in"
    yield ""
    rows = []
    for name, found in results.never.items():
        one = results.parked.get(name)
        rows.append((name, [
            figure(median_of(found, "switches"), 2), f"{figure(median_of(found, 'cpu_us'))} us",
            figure(ratio(results.never, "switches", OURS, name), 3),
            figure(ratio(results.never, "cpu_us", OURS, name), 3),
            f"{one.kib:.2f} KiB of {one.count:,}" if one else "-"]))
    yield from table(["context switches", "CPU", "pop-front's switches over it",
                      "pop-front's CPU over it", "memory of one that stays"], rows)
    if results.good:
        crowded, quiet = (statistics.median(values) for values in zip(*results.good))
        yield ("A good client's session (connection, USER, PASS, STAT, QUIT), 99 % quantile:"
               f" {crowded:.2f} ms beside those that stay, {quiet:.2f} ms without them.")
        yield ""


def maildrop_lines(results):
    yield "## Ten new mails in a maildrop"
    yield ""
    rows = []
    names = list(dict.fromkeys(name for name, _ in results.maildrop))
    for name in names:
        texts = []
        for has_tls in (False, True):
            found = results.maildrop.get((name, has_tls), ())
            milliseconds = median_of(found, "cpu_us")
            texts += [figure(milliseconds and milliseconds / 1000, 2),
                      figure(median_of(found, "switches")),
                      figure(ratio(results.maildrop, "cpu_us", (OURS, has_tls), (name, has_tls)),
                             2)]
        rows.append((name, texts))
    yield from table([f"{text}, {way(has_tls)}" for has_tls in (False, True)
                      for text in ("CPU ms", "switches", "pop-front's CPU over it")], rows)


def large_lines(results):
    yield "## A large mail"
    yield ""
    yield from table(["MB/s", f"MB/s of {BARE} next to it", f"over {BARE}"], [
        (f"{name}, {client}", [
            figure(median_of(rounds, "rate") / 1e6), figure(median_of(rounds, "bare") / 1e6),
            figure(share_of_bare(rounds), 2)])
        for (name, client), rounds in results.large.items()])


def login_lines(results):
    yield "## Logins"
    yield ""
    names = list(dict.fromkeys(name for name, _ in results.logins))
    kinds = list(dict.fromkeys(kind for _, kind in results.logins))
    yield from table([f"{kind}: {what}" for kind in kinds for what in ("a second", "CPU")], [
        (name, [text for kind in kinds for text in (
            figure(median_of(results.logins.get((name, kind), ()), "rate")),
            f"{figure(median_of(results.logins.get((name, kind), ()), 'cpu_us'))} us")])
        for name in names])
    if results.flood:
        yield ("RETR of 4 kB in a session that is in, in ms: without wrong passwords, and while 16"
               " clients try them without end, each of which costs a hash of yescrypt:")
        yield ""
        yield from table(["median, without", "median, with", "p99, without", "p99, with"], [
            (name, [figure(median_of(found, field), 2) for field in (
                "median_ms", "flooded_median_ms", "p99_ms", "flooded_p99_ms")])
            for name, found in results.flood.items()])


def session_lines(results):
    yield "## Sessions of many users"
    yield ""
    rows = []
    for name, rounds in results.sessions.items():
        rows.append((name, [
            figure(median_of(rounds, "rate")), f"{figure(median_of(rounds, 'cpu_us'))} us",
            figure(ratio(results.sessions, "cpu_us", OURS, name), 2),
            f"{figure(median_of(rounds, 'p99_ms'), 1)} ms", figure(median_of(rounds, "mails"), 2)]))
    yield from table(["a second", "CPU of one", "pop-front's CPU over it", "p99",
                      "mails read in one"], rows)


METHOD = """
Figures are medians of {rounds} rounds in which servers take turns. Ratios carry over to other
machines, times do not. Servers have one processor and the load the other, and files are in
memory, but those of the large mail. Context switches and processor time are the kernel's
(perf_event_open(2)), over all processes of a server, from one rest of it to the next: pop-front's
with mail-stored, and Dovecot's with its master, logins, auth and all else that it has. Memory is
the growth of their Pss: shared pages count once.

Dovecot is Debian's as it comes, but for these: no delay after a wrong password and no other
penalty for it, as many sessions of a user as there may be, LMTP beside POP3, and 1 GB of address
space for a process. "Dovecot" has a login process for each connection, its default, and 100 of
these at most; "high-performance" is the mode of its manual, one login process for all. "auth
cache" is `auth_cache_size = 16M`, which it also has for the maildrop and the large mail: it saves
looking a user up, and not the hash. pop-front has no delay after a wrong password either, and no
limits of networks, as all clients are of one. Its cache of logins is on, which is its default,
except where a row says "no cache"; each checker has one of its own, and all of them know the
users when rows are measured.

Connections that never log in come 16 at a time, read the greeting, say CAPA and QUIT. The good
client takes turns with one pop-front that has them, and another that does not.

The maildrop has {mails:,} mails of 4 kB before the first look, and before each ten more are
delivered by LMTP. The client says USER, PASS, STAT, UIDL, ten times RETR, and QUIT, and leaves
all mails there.

The large mail is {large} MiB, in files of a disk that are in memory by then. The client reads it
and does not look at it; bare {bare} (bench/programs/sendfile.c) sends as many bytes of such a
file right before or after it. pop-front reads each mail once more for its sum while it waits for
the client, and sends the last line when the sum was right. A client on loopback that takes all at
once may leave it nothing to wait for: its one processor does TCP's work for both sides there, and
what the sum costs, half as much as {bare} itself, comes on top. "10 Gbit/s" is a client that
takes no more than a network of that kind brings. In a tmpfs, which has files in pages of 4 kB,
the sum costs twice as much as on ext4.

Logins are whole sessions, 16 at a time and each of another user: USER, PASS and QUIT, or AUTH
SCRAM-SHA-256 with 4096 rounds. What the client itself needs is in "a second", and not in "CPU".

Sessions of many users are those of bench/smtp-load, 4 at a time, of {users} users, each with
{each} mails of 4 kB: USER, PASS, STAT, then RETR of as many of the newest as a mailbox of
SPECmail2001 has (its Architecture White Paper, part 4.3, as programs after it quote the table:
none in 26.5 % of them, one in 16.1 %, then a geometric series from 12.25 % on, to {each}), and
QUIT. Mails stay. Passwords are hashes of SHA-512, which Dovecot makes for each login. A session
that finds the maildrop in use is counted and not in "a second".
"""


def report(options, results):
    yield "# What POP3 sessions cost"
    yield ""
    load = ", ".join(f"{value:.1f}" for value in options.load)
    yield (f"Written by `bench/pop` on {datetime.date.today()}: {machine()}; load averages when it"
           f" began: {load}.")
    yield f"{versions()}."
    yield METHOD.format(rounds=options.rounds, mails=options.mails, large=options.large >> 20,
                        bare=BARE, users=options.users, each=MAILS_OF_EACH).rstrip()
    yield ""
    if results.missed:
        yield "Not all is as it should be:"
        yield ""
        yield from (f"* {what}" for what in results.missed)
        yield ""
    for found, lines in ((results.never, never_lines), (results.maildrop, maildrop_lines),
                         (results.large, large_lines), (results.logins, login_lines),
                         (results.sessions, session_lines)):
        if found:
            yield from lines(results)
    yield "## Limits"
    yield ""
    yield from (f"* {limit.text()}" for limit in limits(options, results))


def versions():
    commands = {"": [os.path.join(harness.BUILD, "integration", "mail", OURS, OURS), "-V"],
                "Dovecot ": ["dovecot", "--version"]}
    said = []
    for name, command in commands.items():
        with contextlib.suppress(harness.unittest.SkipTest, subprocess.SubprocessError, OSError):
            command[0] = harness.peer(command[0])
            done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
            said.append(f"{name}{done.stdout.strip().splitlines()[0]}".partition(" (")[0])
    return ", ".join(said)
