#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Under load, and killed at any moment, an update is there whole or not at all.

dnsblv6d serves a signed zone while dnsblv6-zone update changes it some hundred
times. Each answer that a client sees meanwhile says what the version before or
the one after says, and its signatures and proofs hold by the zone's key alone.
When the command has ended, the next answer has the change.
DNSBLV6_ROUNDS sets the number of updates, and of rounds with a kill.
"""

import ipaddress
import os
import subprocess
import threading
import time

from harness import (AAAA, ANY_SIZE, DEADLINE_S, IS_SANITIZED, ZONE, Asker, Reply, exchange, main, program,
                     query, wait_for)
from killing import Moments
from updates import UpdateCase, Versions, bitmap_of, random_change
from validator import Validator

UPDATES = int(os.environ.get("DNSBLV6_ROUNDS", 60 if IS_SANITIZED else 300))
KILLS = int(os.environ.get("DNSBLV6_ROUNDS", 15 if IS_SANITIZED else 30))
DO = {"edns_size": 1232, "edns_flags": 0x8000}
BATCH = 50


class Watch(threading.Thread):
    """Asks for names without end, and judges every answer."""

    def __init__(self, address, names, versions, validator):
        super().__init__(daemon=True)
        self.address, self.names = address, names
        self.versions, self.validator = versions, validator
        self.asked, self.flaws, self.error = 0, [], None
        self.is_ending = threading.Event()

    def run(self):
        try:
            with Asker(self.address, window=BATCH, retry_s=DEADLINE_S, retries=0, **DO) as asker:
                start = 0
                while not self.is_ending.is_set():
                    names = [self.names[(start + i) % len(self.names)] for i in range(BATCH)]
                    start += BATCH
                    sent = time.monotonic()
                    wires = asker.ask_all([(name, AAAA) for name in names], is_raw=True)
                    self.judge(names, wires, sent, time.monotonic())
        except Exception as error:  # in a thread: the test looks at it
            self.error = error

    def judge(self, names, wires, sent, received):
        for name, wire in zip(names, wires):
            self.asked += 1
            try:
                said = bitmap_of(Reply(wire))
                self.validator.check(wire, name)
                if not self.versions.permits(name, said, sent, received):
                    raise ValueError(f"bitmap {said.hex()} of no version at that time")
            except Exception as error:
                self.flaws.append((name, repr(error)))

    def end(self):
        self.is_ending.set()
        self.join()


class Live(UpdateCase):
    def serve_a_signed_zone(self):
        self.sign()
        self.write("list", "".join(f"43.{n >> 8}.{n & 255}.1\n45.{n >> 8}.{n & 255}.1\n"
                                   for n in range(1500)) + "2a00:1:1::/64\n2a00:1:3::/64\n")
        self.build(self.store, *self.keys, self.path("list"))
        self.server = self.serve([(ZONE, self.store, None)])
        self.versions = Versions()
        self.validator = Validator(self.run_zone("ds", "--dnskey", "--zone", ZONE, "--key",
                                                 self.key).out.strip())

    def update_once(self):
        """Returns how long after the end of the command its change was seen, in ms."""
        word, addresses = random_change(self.random)
        is_added = self.random.random() < 0.6
        names = self.versions.change(addresses, is_added, time.monotonic())
        self.update(*ANY_SIZE, "--add" if is_added else "--remove", word)
        end = time.monotonic()
        self.versions.end(names, end)
        wires = [(name, wait_for(lambda name=name: self.see(name), f"the change of {name}"))
                 for name in names[:2]]
        seen_ms = (time.monotonic() - end) * 1000
        for name, wire in wires:
            self.validator.check(wire, name)
        return seen_ms

    def see(self, name):
        wire = exchange(self.server.address, query(name, AAAA, self.random.randrange(65536), **DO))
        return wire if bitmap_of(Reply(wire)) == self.versions.bitmap(name) else None

    def test_every_answer_during_updates_is_of_the_version_before_or_after_and_validates(self):
        self.serve_a_signed_zone()
        names = [f"{half}.{third}.0.44.{ZONE}" for third in range(42) for half in (0, 1)]
        names += [f"{half}.{high:02x}.0002.0001.2a00.ip6.{ZONE}" for high in range(5)
                  for half in (0, 1)]
        names += [f"0.{n % 250}.{n // 250}.43.{ZONE}" for n in range(0, 1500, 100)]
        self.versions.change([ipaddress.ip_address(f"43.{n >> 8}.{n & 255}.1")
                              for n in range(1500)], True, 0)
        watch = Watch(self.server.address, names, self.versions, self.validator)
        watch.start()
        try:
            seen_ms = [self.update_once() for _ in range(UPDATES)]
        finally:
            watch.end()
        self.assertIsNone(watch.error)
        self.assertEqual(watch.flaws[:5], [], f"{len(watch.flaws)} of {watch.asked}")
        self.assertGreater(watch.asked, UPDATES)
        self.assert_sound()
        print(f"{watch.asked} answers during {UPDATES} updates, all right;"
              f" {len(self.validator.seen)} different signatures; a change seen after"
              f" {max(seen_ms):.1f} ms at most")


class Kill(UpdateCase):
    def setUp(self):
        super().setUp()
        self.sign()
        self.build(self.store, *self.keys, self.write("list", "".join(
            f"43.{n >> 8}.{n & 255}.1\n" for n in range(2000))))
        self.more = self.write("more", "".join(
            f"43.{n >> 8}.{n & 255}.9\n44.{n >> 8}.{n & 255}.9\n" for n in range(0, 2000, 3)))
        self.dumps = {"less": self.dump()}
        self.update("--add", self.more)
        self.dumps["more"] = self.dump()

    def dump(self):
        return self.run_zone("dump", "--store", self.store).out

    def command(self, wanted):
        return ["--add" if wanted == "more" else "--remove", self.more]

    def update_and_kill(self, wanted, moments):
        """Returns whether the kill came in time."""
        process = subprocess.Popen(
            [program("dnsblv6-zone"), "update", "--store", self.store, *self.keys,
             *self.command(wanted)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        is_in_time = moments.kill(process)
        with process.stdout:
            process.stdout.read()  # its child may be writing a moment longer
        return is_in_time

    def version_in_store(self):
        """Which list it is; the newest change in its journal is the one that led to it."""
        self.run_zone("check", "--store", self.store)
        dumped = self.dump()
        versions = [version for version, text in self.dumps.items() if text == dumped]
        self.assertEqual(len(versions), 1, "a store that is neither list")
        head = self.run_zone("log", "--store", self.store, "--count", "1").out.splitlines()
        self.assertTrue(head[1].startswith("  + " if versions[0] == "more" else "  - "), head[:2])
        return versions[0]

    def test_kill_at_a_random_moment(self):
        start = time.monotonic()
        self.update(*self.command("less"))
        moments = Moments(self.random, time.monotonic() - start)
        current = "less"
        seen = {(was_killed, is_new): 0 for was_killed in (True, False) for is_new in (True, False)}
        for _ in range(KILLS):
            following = "less" if current == "more" else "more"
            was_killed = self.update_and_kill(following, moments)
            now = self.version_in_store()
            if not was_killed:
                self.assertEqual(now, following)
            seen[was_killed, now == following] += 1
            current = now
        print(f"{KILLS} rounds of an update, killed within {moments.span_s:.2f} s: killed, old version"
              f" {seen[True, False]}; killed, new version {seen[True, True]};"
              f" finished {seen[False, True]}")
        self.assertGreater(seen[True, False], KILLS // 5, "most kills came too late")
        self.update(*self.command("less" if current == "more" else "more"))
        self.assert_sound()


if __name__ == "__main__":
    main()
