# SPDX-License-Identifier: GPL-3.0-or-later
"""
userssystem.py - what is measured as one: a server, its disks and counters, and the load before it.

Flow: bench/mail-users -> start() -> System, whose mailboxes are filled and verified -> measure() for each number of users.
"""
import collections
import os
import sys
import time

import usersload  # beside this file

sys.path.insert(1, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import harness  # noqa: E402  (of bench/replays.py, which the importer has)
from mailservers import note  # noqa: E402  (of bench)

OWN = "own"
THIS_DISK, TWO_SATA = "this disk", "two-sata"
NAMES = ()
SESSIONS_A_USER = 6  # an hour, about: what `users-load workload` says follows from the parameters

# A server of the operator's own; addresses are (host, port).
Own = collections.namedtuple("Own", "imap smtp lmtp submit")


def plan(options, users):
    """(mailboxes, how many times as much as one user each is used)"""
    mailboxes = max(1, min(options.mailboxes, round(users / options.rate)))
    return mailboxes, users / mailboxes


def window_s(options, users):
    """Longer for few users: a type of transaction that is rare has to be seen often enough to be judged."""
    return max(options.window, min(options.window_most, 3600 * options.sessions / (SESSIONS_A_USER * users)))


class System:
    """counters() gives what the machine and the server's disks have done since they began, or None."""

    def __init__(self, options, name, disk, load, counters=None):
        self.options, self.name, self.disk = options, name, disk
        self.load, self.counters = load, counters
        self.title = f"{name}, {disk}"

    def prepare(self):
        """Mailboxes for all runs, as they are wanted."""
        begun = time.monotonic()
        self.load.fill(self.options.mailboxes)
        self.load.verify(self.options.mailboxes)
        note(f"{self.title}: {self.options.mailboxes} mailboxes were filled and verified in"
             f" {time.monotonic() - begun:.0f} s")

    def check(self):
        """Mailboxes still have what no user has deleted or moved."""
        self.load.verify(self.options.mailboxes, is_after=True)

    def measure(self, users):
        """One run, not judged."""
        mailboxes, rate = plan(self.options, users)
        window = Window(self.counters)
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


def start(options, stack, name, disks=None, index_apart=False):
    """A System that lives as long as the stack."""
    if name != OWN:
        raise usersload.Failure(f"no server {name}")
    directory = stack.enter_context(harness.tempfile.TemporaryDirectory(prefix="dnsblv6-bench-"))
    server = Own(options.imap, options.smtp, options.lmtp, options.submit)
    sink = options.sink or ("127.0.0.1", 0)
    system = System(options, name, "its own disk", usersload.Load(options, server, sink, directory))
    system.prepare()
    return system


def versions(_options):
    return []
