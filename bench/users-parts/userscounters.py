# SPDX-License-Identifier: GPL-3.0-or-later
"""
userscounters.py - what a server and the machine spend on a load: processors, waits for disks, switches, memory, and
what each path moves.

Flow: bench/mail-users -> Counters(server, disks) -> counters() at two times -> between() is a dict for the page.

A server's processes come and go, thousands of them in a minute, so that what each has spent cannot be read from /proc
at the end. Processors and memory of all that were ever there are their control group's (usersdisks.Group), where
there is one; switches are those of the whole machine, the load's included. Without a group the time is that of
processes that are there at both times, and of their children that have ended and were waited for.
"""
import collections
import os
import sys

sys.path.insert(1, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from mailservers import pss_of  # noqa: E402  (of bench)

TICKS = os.sysconf("SC_CLK_TCK")
MACHINE = ("user", "nice", "system", "idle", "io_wait", "irq", "softirq", "steal")

# machine: {name of MACHINE: ticks}; server: (user, system) seconds.
Seen = collections.namedtuple("Seen", "machine switches server paths")


def machine_times():
    """({name of MACHINE: ticks of all processors}, switches), since the machine began."""
    with open("/proc/stat", encoding="ascii") as file:
        lines = {words[0]: words[1:] for words in map(str.split, file)}
    return dict(zip(MACHINE, map(int, lines["cpu"]))), int(lines["ctxt"][0])


def times_of(pids):
    """(user, system) seconds of processes that live, and of those that they have waited for."""
    user, system = 0, 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/stat", encoding="latin-1") as file:
                words = file.read().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended meanwhile
        user += int(words[11]) + int(words[13])
        system += int(words[12]) + int(words[14])
    return user / TICKS, system / TICKS


class Counters:
    """Of a server of usersservers.py, and of its disks; what has none of these has no figure."""

    def __init__(self, server, disks=None):
        self.server, self.disks, self.group = server, disks, getattr(server, "group", None)

    def __call__(self):
        """What there is now."""
        machine, switches = machine_times()
        server = self.group.cpu_s() if self.group is not None else times_of(self.server.pids())
        paths = self.disks.stat() if hasattr(self.disks, "stat") else {}
        return Seen(machine, switches, server, paths)

    def between(self, before, after, seconds):
        """
        What was spent between two times, with memory as it is now:

            cpu         {"user", "system", "io_wait", "idle"}: shares of all processors of the machine
            server_cpu  {"user", "system"}: the same of the server alone
            switches    context switches of the machine a second
            memory_kib  what the server's processes have, and of what they share their part
            memory      {"anonymous", "files"}: bytes of the server's group; None: there is none
            paths       {"mailbox": {"requests", "bytes", "requests_read", ...}, ...}; {}: nothing counts them
        """
        spent = {name: after.machine[name] - before.machine[name] for name in MACHINE}
        whole = sum(spent.values()) or 1
        processors = seconds * os.cpu_count()
        return {
            "cpu": {"user": (spent["user"] + spent["nice"]) / whole,
                    "system": (spent["system"] + spent["irq"] + spent["softirq"]) / whole,
                    "io_wait": spent["io_wait"] / whole, "idle": spent["idle"] / whole},
            "server_cpu": (after.server and before.server
                           and {name: (after.server[at] - before.server[at]) / processors
                                for at, name in enumerate(("user", "system"))}),
            "switches": (after.switches - before.switches) / seconds,
            "memory_kib": pss_of(self.server.pids()) or None,
            "memory": self.group.memory() if self.group is not None else None,
            "paths": {name: moved(before.paths[name], after.paths[name]) for name in after.paths}}


def moved(before, after):
    """Of one path."""
    row = {name: getattr(after, name) - getattr(before, name) for name in after._fields}
    return {**row, "requests": row["requests_read"] + row["requests_written"],
            "bytes": row["bytes_read"] + row["bytes_written"]}
