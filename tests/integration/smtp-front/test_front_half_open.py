#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Connections by the ten thousand that never become a mail: edges of smtp-front hold them, and others'
mail goes on.

They fill all edges to the last place: who comes then is told 421. Some leave, and mails go through
each edge beside the rest. Of these a third ends with RST, a third with FIN, and a third waits until
smtp-front has no more patience. Then edges have what they had before, and take mails.

Needs root, for a network of its own. DNSBLV6_HALF_OPEN is how many there are: 10,000 by default,
2,000 with sanitizers. It may be more than a process has descriptors for: edges, and processes of
clients, are as many as that takes.
"""

import math
import os
import re
import resource
import sys
import time

from crowd import NETWORK_SIZE, Crowd
from front import RECIPIENT, SENDER, Client, Front
from harness import IS_SANITIZED, Case, main, peer, wait_for

HALF_OPEN = int(os.environ.get("DNSBLV6_HALF_OPEN", 2000 if IS_SANITIZED else 10000))
PARKED_MAX = 8192  # bytes of resident memory for each
# With both sockets, and pages for half a command; about twice what it is.
BYTES_MAX = 32768
DESCRIPTORS_MAX = 20000  # of a process; with a higher limit it is the same test
OWN_DESCRIPTORS = 1000  # of an edge or a process of clients
# Places beyond an equal share. Chance gives connections to edges: with 100,000 in six of them the
# standard deviation is 118.
SPARE = 800
EDGES_MAX = 64


class TooSlow(Exception):
    """Who was to wait has been told that it took too long."""


def number_in(path, pattern=r"(\d+)"):
    with open(path, encoding="ascii") as file:
        return int(re.search(pattern, file.read(), re.MULTILINE).group(1))


def resident_bytes(pid):
    return number_in(f"/proc/{pid}/smaps_rollup", r"^Rss:\s+(\d+)") * 1024


def descriptor_count(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


class HalfOpen(Case):
    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("only root makes networks")
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        each = min(hard, DESCRIPTORS_MAX) - OWN_DESCRIPTORS
        self.edge_count = max(2, math.ceil(HALF_OPEN / max(1, each - SPARE)))
        self.sessions = HALF_OPEN // self.edge_count + SPARE
        self.process_count = max(2, math.ceil(self.edge_count * self.sessions / each))
        self.mail_count = 0
        self.look_for_room(hard)
        space = self.start([peer("unshare"), "--net", "sh", "-c",
                            "ip link set lo up && echo there; exec sleep 7200"], "network")
        space.wait_for_log("^there$")
        self.enter_network(space.pid)

    def look_for_room(self, hard):
        """What the whole system has, as no limit of ours can change it."""
        if self.edge_count > EDGES_MAX:
            self.skipTest(f"{hard} descriptors in a process are too few for {HALF_OPEN}"
                          f" connections in {EDGES_MAX} edges")
        count = self.edge_count * self.sessions
        for path, pattern, needed in (
                ("/proc/meminfo", r"^MemAvailable:\s+(\d+)", count * BYTES_MAX // 1024),
                ("/proc/sys/fs/file-max", r"(\d+)", 2 * count),
                ("/proc/sys/fs/epoll/max_user_watches", r"(\d+)", count)):
            if number_in(path, pattern) < needed:
                self.skipTest(f"{HALF_OPEN} connections need {needed} in {path}")

    # ---- looks ----

    def resident(self):
        return sum(resident_bytes(pid) for pid in self.edges)

    def held(self, count):
        """Counters, once edges hold so many sessions. Nobody has been sent away yet."""
        counters = {}

        def look():
            counters.update(self.front.counters())
            if "timeouts" in counters:
                raise TooSlow
            return counters["sessions"] == count

        wait_for(look, f"edges to hold {count} sessions", 60)
        return counters

    def deliver(self):
        """A mail. The edge that took it; None when others came or went."""
        before = {pid: descriptor_count(pid) for pid in self.edges}
        with Client(self.front.address, self.host) as client:
            client.hello()
            found = [pid for pid in self.edges if descriptor_count(pid) > before[pid]]
            client.send_mail(SENDER, [RECIPIENT], b"Subject: mail\r\n\r\nText\r\n")
            client.say("QUIT", 221)
        self.mail_count += 1
        return found[0] if len(found) == 1 else None

    def deliver_through_all(self):
        """Chance says which edge takes a mail."""
        missing = set(self.edges)
        for _ in range(100 * self.edge_count):
            missing.discard(self.deliver())
            if not missing:
                break
        self.assertEqual(missing, set(), "edges that have taken no mail")

    # ---- the story ----

    def begin(self, timeout_s):
        self.front = Front(
            self, front={"edges": self.edge_count, "sessions": self.sessions,
                         "mails-per-worker": 100000},
            limits={"stress-share": 100, "connections": NETWORK_SIZE,
                    "command-timeout": f"{timeout_s}s", "stress-timeout": f"{timeout_s}s"})
        self.edges = self.front.wait_for_processes("edge", self.edge_count)
        self.workers = self.front.wait_for_processes("worker", 2)
        self.deliver_through_all()
        # An edge has a descriptor of a session until the worker's end of it is seen to be closed.
        wait_for(lambda: self.front.counters().get("sessions-held", 0) == 0,
                 "the last mail to be over")
        self.resident_before = self.resident()
        self.descriptors_before = [descriptor_count(pid) for pid in self.edges]
        self.crowd = Crowd(self, self.front.address, self.process_count)

    def end(self):
        self.crowd.end()
        self.front.stop()

    def fill(self):
        """Until all places are taken; how many were told 421 meanwhile."""
        refused = 0
        while (left := self.edge_count * self.sessions - self.crowd.count) > 0:
            codes = self.crowd.open(max(left, 100))
            self.assertLessEqual(set(codes), {"220", "421"})
            refused += codes["421"]
            self.held(self.crowd.count)
        return refused

    def park(self):
        """All are there, and hinder nobody."""
        started = time.monotonic()
        codes = self.crowd.open(HALF_OPEN)
        self.held(HALF_OPEN)
        self.assertEqual(codes, {"220": HALF_OPEN})
        opened_s = time.monotonic() - started
        parked = (self.resident() - self.resident_before) / HALF_OPEN
        self.crowd.say(b"EHLO half")
        refused = self.fill()
        codes = self.crowd.open(20 * self.edge_count)
        refused += 20 * self.edge_count
        most = self.crowd.count
        self.assertEqual(self.held(most).get("sessions-full"), refused)
        self.assertEqual(codes, {"421": 20 * self.edge_count})
        full = self.resident()
        self.crowd.close(most - HALF_OPEN)
        self.held(HALF_OPEN)
        self.deliver_through_all()
        self.held(HALF_OPEN)
        print(f"half-open: {HALF_OPEN} in {opened_s:.1f} s, {parked:.0f} bytes each; {most} at"
              f" once in {self.edge_count} edges, of {full >> 20} MiB together,"
              f" {refused} refused", file=sys.stderr)
        if not IS_SANITIZED:  # the sanitizer's memory is not ours
            self.assertLess(parked, PARKED_MAX)

    def leave(self):
        """Two thirds, before any has been told that it took too long."""
        self.crowd.reset(HALF_OPEN // 3)
        self.crowd.close(HALF_OPEN // 3)
        self.held(self.crowd.count)

    def see_out(self, timeout_s):
        """The rest, and nothing stays behind."""
        left = self.crowd.count
        self.assertEqual(self.crowd.see_out(timeout_s + 60), {"421 4.4.2": left})
        counters = {}
        wait_for(lambda: counters.update(self.front.counters()) or counters["sessions"] == 0,
                 "all to be gone", 60)
        self.assertEqual(counters["timeouts"], left)
        wait_for(lambda: [descriptor_count(pid) for pid in self.edges]
                 == self.descriptors_before, "descriptors to be closed")

    def check_all_live(self):
        counters = self.front.counters()
        self.assertEqual([name for name in counters if name.endswith("-restarts")], [])
        self.assertEqual(self.front.processes()["edge"], self.edges)
        self.assertEqual(self.front.processes()["worker"], self.workers)
        self.assertEqual(re.findall(r"^(?:error|warning): .*", self.front.log(), re.MULTILINE), [])
        self.assertEqual(len(self.front.mails()), self.mail_count)

    def test_who_says_nothing_hinders_nobody_and_leaves_nothing(self):
        timeout_s = max(4, HALF_OPEN // 4000)
        while True:
            self.begin(timeout_s)
            try:
                self.park()
                self.leave()
                break
            except TooSlow:
                print(f"half-open: {timeout_s} s were not enough, once more", file=sys.stderr)
                self.end()
                timeout_s *= 3
        self.see_out(timeout_s)
        self.deliver_through_all()
        self.check_all_live()


if __name__ == "__main__":
    main()
