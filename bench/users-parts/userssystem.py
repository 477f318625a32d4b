# SPDX-License-Identifier: GPL-3.0-or-later
"""
userssystem.py - what is measured as one: a server, its disks and counters, and the load before it.

Flow: bench/mail-users -> start() -> System, whose mailboxes are filled and verified -> measure() for each number
      of users.
"""
import os
import sys
import tempfile
import time

import userscounters  # beside this file, as are the next
import usersdisks
import usersload
import usersservers

sys.path.insert(1, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from mailservers import note  # noqa: E402  (of bench)
import harness  # noqa: E402

OWN = "own"
THIS_DISK, TWO_SATA = "this disk", "two-sata"
DISK_NAMES = {(None, False): THIS_DISK, (None, True): "this disk", (TWO_SATA, False): "two SATA disks",
              (TWO_SATA, True): "two SATA disks, index apart"}
NAMES = tuple(usersservers.SERVERS)
SESSIONS_A_USER = 6  # an hour, about: what `users-load workload` says follows from the parameters
MAILBOX_BYTES = 160e6
# Of what is in mailboxes: what file systems need beside it, and what runs bring, at most.
ROOM, GROWTH_BYTES = 1.5, 3e9
INDEX_SHARE, INDEX_LEAST = 0.1, 400e6
QUEUE_BYTES = 1e9
# The paper's machine had 4 GB beside 50 GB of mail; what processes have for themselves comes on top, since those of a
# small store are no smaller.
MEMORY_SHARE, PROCESSES_BYTES = 0.08, 128e6


def plan(options, users):
    """(mailboxes, how many times as much as one user each is used)"""
    mailboxes = max(1, min(options.mailboxes, round(users / options.rate)))
    return mailboxes, users / mailboxes


def window_s(options, users):
    """Longer for few users: a type of transaction that is rare has to be seen often enough to be judged."""
    return max(options.window, min(options.window_most, 3600 * options.sessions / (SESSIONS_A_USER * users)))


class System:
    """counters: userscounters.py's, or None where the server is another machine's."""

    def __init__(self, options, server, disk, load, disks=None, counters=None):
        self.options, self.server, self.disk = options, server, disk
        self.load, self.disks, self.counters = load, disks, counters
        self.name = server.name
        self.title = f"{self.name}, {disk}"

    def facts(self):
        """For the page: versions, and what is not as it comes."""
        return {"versions": self.server.versions(), "notes": self.server.notes(),
                "disks": self.disks.facts() if hasattr(self.disks, "facts") else ""}

    def prepare(self):
        """Mailboxes for all runs, as they are wanted."""
        begun = time.monotonic()
        self.set_limit(False)
        self.load.fill(self.options.mailboxes)
        self.load.verify(self.options.mailboxes)
        if self.counters:
            self.server.drop_caches()
        self.set_limit(True)
        note(f"{self.title}: {self.options.mailboxes} mailboxes were filled and verified in"
             f" {time.monotonic() - begun:.0f} s")

    def set_limit(self, is_on):
        """Mailboxes are filled and verified faster without."""
        if hasattr(self.disks, "set_limit"):
            self.disks.set_limit(is_on)

    def check(self):
        """Mailboxes still have what no user has deleted or moved."""
        self.revive()
        self.set_limit(False)
        self.load.verify(self.options.mailboxes, is_after=True)

    def revive(self):
        """A run before may have been too much for a server."""
        if self.server.revive():
            note(f"{self.title}: the run before has ended a server; it was begun anew")

    def measure(self, users):
        """One run, not judged."""
        self.revive()
        mailboxes, rate = plan(self.options, users)
        window = Window(self.counters)
        if hasattr(self.disks, "settle"):
            self.disks.settle()
        said = self.load.run(mailboxes, rate, window_s(self.options, users), window.at)
        return {"users": users, "mailboxes": mailboxes, "rate": rate, "seed": self.options.seed, "load": said,
                **window.figures()}


class Window:
    """What was spent between its begin and its end; the load's own part in it, too."""

    def __init__(self, counters):
        self.counters = counters
        self.seen = {}

    def at(self, name, load_s):
        self.seen[name] = (time.monotonic(), load_s + time.process_time(), self.counters and self.counters())

    def figures(self):
        (begun, before_s, before), (ended, after_s, after) = self.seen["begin"], self.seen["end"]
        seconds = ended - begun
        found = {"overhead": (after_s - before_s) / seconds / os.cpu_count()}
        return {**found, **(self.counters.between(before, after, seconds) if self.counters else {})}


# ---- a system is put together ----


def new_case(options, stack):
    """A directory on the disk that is asked for; it and what is started in it end with the stack."""
    tempfile.tempdir = options.directory
    case = harness.Case()
    case.setUp()
    stack.callback(case.doCleanups)
    os.chmod(case.directory, 0o755)
    return case


def sizes(options):
    """Of disks, in bytes."""
    mails = options.mailboxes * MAILBOX_BYTES * options.scale
    found = {"mailbox": ROOM * mails + GROWTH_BYTES, "index": max(INDEX_LEAST, INDEX_SHARE * mails),
             "queue": QUEUE_BYTES}
    return {name: int(size) for name, size in found.items()}


def memory_of(options):
    """What servers and their files may have, with disks that are slow."""
    return int(options.mailboxes * MAILBOX_BYTES * options.scale * MEMORY_SHARE + PROCESSES_BYTES)


def make_group(options, stack, disks):
    """None: this machine has no such groups, and nothing wants one."""
    try:
        group = usersdisks.Group(memory_of(options) if disks else None)
    except usersdisks.Missing as error:
        if disks:
            raise
        note(f"without a group of processes: {error}")
        return None
    stack.callback(group.close)
    return group


def make_disks(options, stack, case, group, disks, index_apart):
    """Directories where there can be no disks, and no limit is wanted."""
    limit = usersdisks.TWO_SATA if disks else None
    try:
        made = usersdisks.Disks(case, sizes(options), limit=limit, index_apart=index_apart, group=group)
    except usersdisks.Missing as error:
        if disks or index_apart:
            raise
        note(f"without disks of its own: {error}")
        return usersdisks.Directories(case)
    stack.callback(made.close)
    return made


def start_own(options, stack):
    """Nothing is started but the load."""
    server = usersservers.Given(options.imap, options.smtp, options.lmtp, options.submit)
    directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="dnsblv6-bench-"))
    server.name, server.sink = OWN, options.sink
    return System(options, server, "its own disk", usersload.Load(options, server, directory))


def start_server(options, stack, name, disks, index_apart):
    case = new_case(options, stack)
    group = make_group(options, stack, disks)
    made = make_disks(options, stack, case, group, disks, index_apart)
    server = usersservers.SERVERS[name](case, made, group)
    server.sink = case.free_address()
    stack.callback(server.stop)
    server.start()
    return System(options, server, DISK_NAMES[disks, index_apart], usersload.Load(options, server, case.directory),
                  made, userscounters.Counters(server, made))


def start(options, stack, name, disks=None, index_apart=False):
    """A System with mailboxes that are filled, until the stack ends."""
    system = start_own(options, stack) if name == OWN else start_server(options, stack, name, disks, index_apart)
    system.prepare()
    return system
