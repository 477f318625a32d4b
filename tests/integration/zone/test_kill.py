#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
kill -9 at any moment of a build, or a loss of power, leaves the old version or the new one, whole; after a build that has
ended it is the new one.

Two lists of the same blocks, with other bits in every one of them, replace
each other; each build is killed at a random moment of its life. After each
round the store verifies and its dump is wholly one list or the other; all the
while every answer under load is one or the other, and none is SERVFAIL or lost.
DNSBLV6_ROUNDS sets the number of rounds. The loss of power needs root, loop devices and mkfs.xfs.
"""

import concurrent.futures
import ipaddress
import os
import subprocess
import threading
import time

from disks import ClonedDisk
from harness import AAAA, IS_SANITIZED, NOERROR, ZONE, Case, ask_all, main, program, wait_for
from killing import Moments
from load import Load

ROUNDS = int(os.environ.get("DNSBLV6_ROUNDS", 20 if IS_SANITIZED else 50))
# A loss of power is a file system that is mounted.
POWER_ROUNDS = int(os.environ.get("DNSBLV6_ROUNDS", 3 if IS_SANITIZED else 10))
BLOCKS = 20000
BITS = {"a": "8000::1", "b": "4000::2", "c": "2000::4"}
HOSTS = {"a": (0, 127), "b": (1, 126), "c": (2, 125)}


class Kill(Case):
    def setUp(self):
        super().setUp()
        self.store = self.path("bl6.mdb")
        self.bitmaps = {version: ipaddress.IPv6Address(text).packed
                        for version, text in BITS.items()}
        for version, hosts in HOSTS.items():
            self.write(version, "".join(f"{ipaddress.IPv4Address(0x2C000000 + 128 * block + host)}\n"
                                        for block in range(BLOCKS) for host in hosts))
        self.dumps = {}
        for version in ("c", "b", "a"):
            self.build(self.store, self.path(version))
            self.dumps[version] = self.dump()
        self.assertNotEqual(self.dumps["a"], self.dumps["b"])

    def dump(self):
        return self.run_zone("dump", "--store", self.store).stdout

    def build_duration_s(self):
        start = time.monotonic()
        self.build(self.store, self.path("a"))
        return time.monotonic() - start

    def build_and_kill(self, version, moments):
        """Returns whether the kill came in time."""
        return moments.kill(subprocess.Popen(
            [program("dnsblv6-zone"), "build", "--zone", ZONE, "--store", self.store,
             "--ns", "ns1.example.net.", self.path(version)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def version_in_store(self):
        self.run_zone("check", "--store", self.store)
        dumped = self.dump()
        versions = [version for version, text in self.dumps.items() if text == dumped]
        self.assertEqual(len(versions), 1, "a store that is neither list")
        return versions[0]

    def assert_served(self, server, names, version):
        sample = self.random.sample(names, 200)
        for name, reply in zip(sample, ask_all(server.address, [(n, AAAA) for n in sample])):
            self.assertEqual((reply.rcode, reply.rdata(AAAA)),
                             (NOERROR, [self.bitmaps[version]]), name)

    def test_kill_at_a_random_moment(self):
        server = self.serve()
        names = [f"{half}.{third}.{second}.44.{ZONE}" for second in range(BLOCKS >> 9)
                 for third in range(256) for half in (0, 1)]
        moments = Moments(self.random, 1.2 * self.build_duration_s())

        def is_right(_, reply):
            return reply.rcode == NOERROR and reply.rdata(AAAA) in (
                [self.bitmaps["a"]], [self.bitmaps["b"]])

        seen = {(was_killed, is_new): 0 for was_killed in (True, False) for is_new in (True, False)}
        current = "a"
        with Load(server.address, names, is_right) as load:
            for _ in range(ROUNDS):
                following = "b" if current == "a" else "a"
                was_killed = self.build_and_kill(following, moments)
                now = self.version_in_store()
                self.assert_served(server, names, now)
                if not was_killed:
                    self.assertEqual(now, following)
                seen[was_killed, now == following] += 1
                current = now
        load.assert_flawless(self)
        print(f"{ROUNDS} rounds of a build, killed within {moments.span_s:.2f} s: killed, old version"
              f" {seen[True, False]}; killed, new version {seen[True, True]};"
              f" finished {seen[False, True]}")
        self.assertGreater(seen[True, False], ROUNDS // 4, "most kills came too late")

    def test_killed_while_the_first_version_is_made(self):
        moments = Moments(self.random, 0.3)
        for _ in range(max(5, ROUNDS // 10)):
            store = self.path(f"new-{self.random.getrandbits(32)}.mdb")
            kept, self.store = self.store, store
            try:
                self.build_and_kill("a", moments)
                self.build(store, self.path("a"))
                self.assertEqual(self.dump(), self.dumps["a"])
            finally:
                self.store = kept

    def test_a_version_outlives_a_loss_of_power(self):
        disk = ClonedDisk(self, self.random.choice(("ext4", "xfs")))
        live = os.path.join(disk.path, "bl6.mdb")
        built = []
        seen = 0
        is_over = threading.Event()

        def work():
            while not is_over.is_set():
                version = "abc"[len(built) % 3]
                self.build(live, self.path(version))
                built.append(version)

        with concurrent.futures.ThreadPoolExecutor() as pool:
            worker = pool.submit(work)
            try:
                for _ in range(POWER_ROUNDS):
                    wait_for(lambda: built or worker.done(), "a first version")
                    time.sleep(self.random.uniform(0, 0.5))
                    ended = len(built)
                    with disk.after_power_loss() as path:
                        begun = len(built) + 1
                        self.store = os.path.join(path, "bl6.mdb")
                        found = self.version_in_store()
                    possible = {"abc"[number % 3] for number in range(ended - 1, begun)}
                    self.assertIn(found, possible)
                    seen += len(possible) < 3
            finally:
                is_over.set()
                worker.result()
        self.assertGreater(seen, 0, "any version was right, each time")


if __name__ == "__main__":
    main()
