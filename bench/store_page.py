# SPDX-License-Identifier: GPL-3.0-or-later
"""
store_page.py - what bench/store measures, its limits, and the page about it.

Flow: bench/store measures -> Results -> limits() and report() here.
"""
import collections
import contextlib
import datetime
import subprocess

from mailservers import figure, median_of, times  # beside this file, as are the next
from mailstores import (CYRUS, DISK, FREE, LARGEST, MAIL_STORED, MEDIAN, OFF, PEERS, REUSE, SERVERS,
                        SIGMA, SLOW, UNCOUNTED)
from replays import machine
import harness  # found by replays.py

RECIPIENTS, CLIENTS = (1, 3, 5, 10, 15), (1, 64)
LIBRARY = "lib/mailstore"
FLOOR = "floor"
MDBOX = "Dovecot mdbox"

# Of mails: how many a second, syncs and bytes written for one, bytes of one's text.
Cell = collections.namedtuple("Cell", "rate syncs bytes text")
# After a share of mailboxes was emptied, and collection: bytes.
Space = collections.namedtuple("Space", "percent log live index seconds")
# cells: {(name, recipients, clients, mode): [Cell]}; ways: {(way, recipients, group, mode): [Cell]};
# recovery, listing: {what: seconds}; memory: [(what, kB)]; mean_size: of the texts of mails.
Results = collections.namedtuple(
    "Results", "cells ways recovery space listing memory mean_size missed")

BYTES_LIMIT, RECIPIENT_BYTES = 1.1, 64
SYNCS_LIMITS = {1: 1, 64: 0.1}
FAN_OUT_LIMITS = {DISK: 1.3, SLOW: 3}
DURABLE_LIMITS = {DISK: 0.9, SLOW: 0.7}
RECOVERY_S, SPACE_LIMIT, LISTING_MS = 5, 1.3, 50
PAPER = 1.39  # MFS over mbox, 15 recipients, ext3: Pathak, Jafri and Hu, figure 10


def plural(count, what):
    return f"{count} {what}{'' if count == 1 else 's'}"


# ---- limits ----


class Limit:
    """A line of the page; value None: it was not measured."""

    def __init__(self, what, value, bound, is_most=True, digits=2):
        self.what, self.value, self.bound, self.is_most = what, value, bound, is_most
        self.digits = digits

    @property
    def is_met(self):
        return self.value is not None and (self.value <= self.bound if self.is_most
                                           else self.value >= self.bound)

    def text(self):
        wanted = f"{self.what}: {{}}, at {'most' if self.is_most else 'least'} {self.bound:g}: "
        if self.value is None:
            return wanted.format("-") + "not measured"
        by = abs(self.value / self.bound - 1)
        return (wanted.format(f"{self.value:.{self.digits}f}")
                + f"{'met' if self.is_met else 'not met'}, by {by:.0%}")


def rate(table, *key):
    return median_of(table.get(key, ()), "rate")


def best_peer(cells, *key):
    """(mails a second, name), or (None, "-")"""
    found = [(value, name) for name in PEERS if (value := rate(cells, name, *key)) is not None]
    return max(found, default=(None, "-"))


def written_share(rows, recipients):
    """Bytes written for a delivery, over 1.1 x its text and 64 for each recipient."""
    found = median_of(rows, "bytes")
    text = median_of(rows, "text")
    return times(found, BYTES_LIMIT * text + RECIPIENT_BYTES * recipients) if found else None


def cost_limits(name, table, key):
    """Of bytes and syncs; key(recipients, clients) is where they are in the table."""
    for clients in CLIENTS:
        for recipients in (1, 15):
            rows = table.get(key(recipients, clients), ())
            where = f"{name}, {plural(recipients, 'recipient')}, {plural(clients, 'client')}"
            yield Limit(f"{where}: bytes written, over {BYTES_LIMIT:g} x the mail and"
                        f" {RECIPIENT_BYTES} a recipient", written_share(rows, recipients), 1)
            yield Limit(f"{where}: syncs for a mail", median_of(rows, "syncs"),
                        SYNCS_LIMITS[clients], digits=4)


def delivery_limits(cells):
    yield from cost_limits(MAIL_STORED, cells,
                           lambda recipients, clients: (MAIL_STORED, recipients, clients, DISK))
    for mode, least in FAN_OUT_LIMITS.items():
        best, name = best_peer(cells, 15, 64, mode)
        yield Limit(f"15 recipients, 64 clients, {mode.name}: {MAIL_STORED} over the best peer"
                    f" ({name})", times(rate(cells, MAIL_STORED, 15, 64, mode), best), least, False)
    for clients in CLIENTS:
        yield Limit(f"1 recipient, {plural(clients, 'client')}, this disk: {MAIL_STORED} over {MDBOX}",
                    times(rate(cells, MAIL_STORED, 1, clients, DISK),
                          rate(cells, MDBOX, 1, clients, DISK)), 1, False)
    for mode, least in DURABLE_LIMITS.items():
        yield Limit(f"64 clients, 1 recipient, {mode.name}: {MAIL_STORED} over itself without syncs",
                    times(rate(cells, MAIL_STORED, 1, 64, mode),
                          rate(cells, MAIL_STORED, 1, 64, OFF)), least, False)


def limits(options, results):
    """Of the parts that were to be measured."""
    if "d" in options.parts:
        yield from delivery_limits(results.cells)
    if "w" in options.parts:
        yield from cost_limits(LIBRARY, results.ways,
                               lambda recipients, group: ("store", recipients, group, DISK))
    if "r" in options.parts:
        yield Limit(f"seconds to open {options.gib:g} GiB after kill -9",
                    results.recovery.get("after kill -9"), RECOVERY_S)
        yield Limit("log over what lives, at most, after deletions and collection",
                    max((one.log / one.live for one in results.space), default=None), SPACE_LIMIT)
        seconds = results.listing.get("listed")
        yield Limit(f"milliseconds to list {options.listed:,} mails",
                    seconds and seconds * 1000, LISTING_MS, digits=1)


# ---- tables ----


def table(columns, rows):
    """rows: [(name, [texts])]; rows without any figure are left out."""
    yield "| | " + " | ".join(columns) + " |"
    yield "|---|" + "---|" * len(columns)
    for name, texts in rows:
        if any(text != "-" for text in texts):
            yield f"| {name} | " + " | ".join(texts) + " |"
    yield ""


def speed(value):
    return figure(value, 0 if value is None or value >= 100 else 1)


def floor_rate(results, recipients, clients, mode):
    return rate(results.ways, FLOOR, recipients, clients, mode)


def rate_lines(results, mode):
    """Mails a second of each server, one syncs' cost."""
    counts = [count for count in RECIPIENTS
              if any(rate(results.cells, name, count, clients, mode) for name in SERVERS
                     for clients in CLIENTS)]
    places = [(count, clients) for clients in CLIENTS for count in counts]
    rows = [(name, [speed(rate(results.cells, name, *place, mode)) for place in places])
            for name in SERVERS]
    best = [best_peer(results.cells, *place, mode)[0] for place in places]
    rows.append((f"{MAIL_STORED} over the best peer",
                 [figure(times(rate(results.cells, MAIL_STORED, *place, mode), one), 2)
                  for place, one in zip(places, best)]))
    rows.insert(0, ("floor: append, fdatasync", [speed(floor_rate(results, *place, mode))
                                                 for place in places]))
    yield f"### Mails a second, {mode.name}"
    yield ""
    yield from table([f"{plural(clients, 'client')}, {plural(count, 'recipient')}"
                      for count, clients in places], rows)


def cost_texts(found, are_bytes_known=True):
    """Two for each cell: bytes over the text, and syncs."""
    return [text for rows in found for text in (
        figure(times(median_of(rows, "bytes"), median_of(rows, "text")), 2)
        if are_bytes_known else "-",
        figure(median_of(rows, "syncs"), 2))]


def cost_lines(results):
    places = [(count, clients) for clients in CLIENTS for count in (1, 15)]
    yield "### Bytes written for a delivery over its text, and syncs for a mail"
    yield ""
    rows = []
    for name in SERVERS:
        found = [results.cells.get((name, *place, DISK), ()) for place in places]
        rows.append((name, cost_texts(found, name not in UNCOUNTED)))
    yield from table([text for count, clients in places for text in (
        f"bytes: {plural(clients, 'client')}, {plural(count, 'recipient')}", "syncs")], rows)


def meta_lines(results):
    yield "## Table 1 of Meta: what syncs cost"
    yield ""
    yield ("Mails of one recipient a second: a sync for each mail before the next one; for 64 clients,"
           " whose mails may share one; without syncs; and the share of that which durable mails have.")
    yield ""
    rows = []
    for name in SERVERS:
        if name in FREE:
            continue
        alone, durable, slow, free = (rate(results.cells, name, 1, clients, mode) for clients, mode in (
            (1, DISK), (64, DISK), (64, SLOW), (64, OFF)))
        rows.append((name, [speed(alone), speed(durable), speed(free),
                            figure(times(durable, free), 2), speed(slow),
                            figure(times(slow, free), 2)]))
    for name in FREE:
        alone, many = (speed(rate(results.cells, name, 1, clients, DISK)) for clients in CLIENTS)
        rows.append((name, [alone, many, many, "-", "-", "-"]))
    yield from table(["sync, one client", "sync, 64 clients", "no sync, 64 clients", "durable share",
                      "5 ms more, 64 clients", "durable share"], rows)


def way_lines(results):
    yield "## Four ways to keep a mail for many"
    yield ""
    yield ("One process, without a server: what is acknowledged is on disk. Mails a second, by the"
           f" number of recipients. Figure 10 of the paper, on ext3, has MFS at {PAPER} x mbox with 15"
           " recipients; it has no syncs.")
    yield ""
    names = {"mbox": ("mbox", 1), "maildir": ("maildir", 1),
             "maildir with hard links": ("hardlinks", 1), LIBRARY: ("store", 1),
             f"{LIBRARY}, 64 mails for a sync": ("store", 64), FLOOR: (FLOOR, 1),
             f"{FLOOR}, 64 mails for a sync": (FLOOR, 64)}
    for mode in (DISK, OFF, SLOW):
        counts = [count for count in RECIPIENTS if rate(results.ways, "store", count, 1, mode)]
        if not counts:
            continue
        rows = [(name, [speed(rate(results.ways, way, count, group, mode)) for count in counts])
                for name, (way, group) in names.items()]
        for peer in ("mbox", "maildir", "hardlinks"):
            rows.append((f"{LIBRARY} over {peer}",
                         [figure(times(rate(results.ways, "store", count, 1, mode),
                                       rate(results.ways, peer, count, 1, mode)), 2)
                          for count in counts]))
        yield f"### {mode.name[0].upper()}{mode.name[1:]}"
        yield ""
        yield from table([plural(count, "recipient") for count in counts], rows)
    yield from way_cost_lines(results, names)


def way_cost_lines(results, names):
    yield "### Bytes written over the text, and syncs for a mail, this disk"
    yield ""
    counts = [count for count in (1, 15) if rate(results.ways, "store", count, 1, DISK)]
    rows = []
    for name, (way, group) in names.items():
        found = [results.ways.get((way, count, group, DISK), ()) for count in counts]
        rows.append((name, cost_texts(found)))
    yield from table([text for count in counts for text in (
        f"bytes, {plural(count, 'recipient')}", "syncs")], rows)


def store_lines(options, results):
    yield "## Recovery, space, listing, memory"
    yield ""
    for what, seconds in results.recovery.items():
        yield f"* {options.gib:g} GiB, not in memory, opened {what}: {seconds:.2f} s"
    for what, seconds in results.listing.items():
        yield f"* {options.listed:,} mails of one mailbox, {what}: {seconds * 1000:.1f} ms"
    yield ""
    if results.space:
        yield ("Mailboxes of a store were emptied one after the other, and `mail-store collect` ran"
               " at each row.")
        yield ""
        yield from table(["lives", "log", "log / lives", "index", "collection"], [
            (f"{one.percent} % deleted",
             [f"{one.live / 1e6:.0f} MB", f"{one.log / 1e6:.0f} MB", f"{one.log / one.live:.2f}",
              f"{one.index / 1e6:.1f} MB", f"{one.seconds:.2f} s"]) for one in results.space])
    if results.memory:
        yield (f"{MAIL_STORED}'s own memory, RssAnon of all its processes; large mails on their way are"
               " in files in memory, which it does not contain:")
        yield ""
        yield from table(["kB"], [(what, [f"{kb:,}"]) for what, kb in results.memory])


METHOD = """
Figures are medians of {rounds} rounds in which servers take turns, each with new mailboxes in each
round. Ratios carry over to other machines, mails a second do not. Sizes of mails are log-normal, median
{median} bytes, sigma {sigma}, cut at {largest} MiB, equal for all (the seed is fixed): their mean is {mean}.
Mails have 1 to 15 recipients of {users}, and each mailbox has some before it begins. A client is one
connection at a time, for {mails} mails (pipelined, as mail servers keep connections). The load has one
processor, servers have the others. Mails are begun for {seconds:g} s, and all count, over the time until
the last is acknowledged.

All have their syncs on: Dovecot with `mail_fsync = always`, Cyrus as Debian has it with its single
instance store (hard links) on, Postfix as it is. Postfix gets mails by SMTP and has a queue, in which
a mail is synced too: its mails a second are those that were in their mailboxes by the end, in all the
time until then. Nothing is written by mail-stored with `layer: null` and by Postfix' smtp-sink, by LMTP: what
load and connections cost.
The floor is a bare append of the same bytes to one file, and one fdatasync for each mail (one client) or
for 64 of them; it has no server.

"5 ms more" adds 5 ms to each sync of every server, behind the real one; "no sync" lets syncs do nothing.
Both are done by a library loaded before the servers (bench/programs/costed_sync.c), which is there in all
cells and counts: syncs are fsync, fdatasync, sync_file_range, msync, syncfs, sync, and writes to files
opened with O_DSYNC; bytes are those of write, pwrite, writev, pwritev and their like, to files. What is
written through mapped memory is not counted, nor what libc's stdio writes by itself, as Cyrus writes
its mails, whose bytes are not shown. Postfix' are those of its queue, too; and
what a server logs is among all of them.
"""


def report(options, results):
    yield "# What it costs to put a mail into mailboxes"
    yield ""
    load = ", ".join(f"{value:.1f}" for value in options.load)
    yield (f"Written by `bench/store` on {datetime.date.today()}: {machine()}; {disk(options)}; load"
           f" averages when it began: {load}.")
    yield f"{versions()}."
    yield METHOD.format(rounds=options.rounds, seconds=options.seconds, users=options.users,
                        median=MEDIAN, sigma=SIGMA, largest=LARGEST >> 20, mails=REUSE + 1,
                        mean=round(results.mean_size)).rstrip()
    yield ""
    if results.missed:
        yield "Not all is as it should be:"
        yield ""
        yield from (f"* {what}" for what in results.missed)
        yield ""
    if results.cells:
        yield "## Delivery"
        yield ""
        for mode in (DISK, SLOW):
            yield from rate_lines(results, mode)
        yield from cost_lines(results)
        yield from meta_lines(results)
    if results.ways:
        yield from way_lines(results)
    if results.recovery or results.space or results.listing or results.memory:
        yield from store_lines(options, results)
    yield "## Limits"
    yield ""
    yield from (f"* {limit.text()}" for limit in limits(options, results))
    yield ""
    yield "What the index costs, and a sync that takes long: docs/decisions/57 and 58."


def disk(options):
    """Its file system and how that is mounted."""
    said = subprocess.run(["findmnt", "-n", "-o", "FSTYPE,OPTIONS", "-T", options.directory],
                          capture_output=True, text=True, check=True, timeout=60).stdout.split()
    return f"the disk is {said[0]} ({said[1]})"


def versions():
    commands = {"": [harness.program("mail-store"), "-V"], "Dovecot ": ["dovecot", "--version"],
                "Cyrus ": [f"{CYRUS}/cyr_info", "version"],
                "Postfix ": ["postconf", "-d", "-h", "mail_version"]}
    said = []
    for name, command in commands.items():
        with contextlib.suppress(harness.unittest.SkipTest, subprocess.SubprocessError, OSError):
            command[0] = harness.peer(command[0])
            done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
            said.append(f"{name}{done.stdout.strip().splitlines()[0]}")
    return ", ".join(said)
