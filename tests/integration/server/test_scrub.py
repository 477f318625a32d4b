#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
A store that is damaged while it is served is in log, dnsblv6ctl and metrics, and
a good one ends that. What happens to sound stores and to the process that reads
them is never called damage.
"""

import os
import re
import signal
import subprocess

from harness import (AAAA, DEADLINE_S, NOERROR, NXDOMAIN, SERVFAIL, ZONE, Case, children_of, main,
                     program, sanitizer_reports, wait_for)

OTHER = "other.example."
# At default settings it is there within a minute; the rest is for a machine that is full.
DEFAULT_DEADLINE_S = 240
DAMAGED = r"^error: \[bl6\.example\.\] served store is damaged, .* path=\S*bl6\.mdb \(damaged store\)$"
WHOLE = r"^info: \[bl6\.example\.\] served store is whole again, path=\S*bl6\.mdb$"
OBSTACLE = r"^warning: \[bl6\.example\.\] served store cannot be compared with its checksum, "
NAME = f"1.5.7.44.{ZONE}"
KEY = b"44\x007\x005\x001"  # of NAME, as the store has it


class Scrub(Case):
    def setUp(self):
        super().setUp()
        self.store = self.path("bl6.mdb")
        self.control = self.path("ctl")
        self.list = self.write("list", "".join(
            f"44.{n >> 8}.{n & 255}.{host}\n" for n in range(4000) for host in (1, 200)))
        self.build(self.store, self.list)
        self.build(self.path("other.mdb"), self.list, zone=OTHER)

    def serve_both(self, *lines):
        return self.serve([(ZONE, self.store, None), (OTHER, self.path("other.mdb"), None)],
                          (f"control: {self.control}", *lines))

    def damage(self, found=KEY, changed=b"44\x007\x005\x007"):
        """Single bytes, below a server that has the file mapped."""
        with open(self.store, "r+b") as file:
            content = file.read()
            places = [match.start() for match in re.finditer(re.escape(found), content)]
            self.assertTrue(places)
            for place in places:
                file.seek(place)
                file.write(changed)

    def replace(self, list_path):
        """As operations.md has it: the lock file first."""
        self.build(self.path("new.mdb"), list_path)
        for end in ("-lock", ""):
            os.rename(self.path("new.mdb" + end), self.store + end)

    def ctl(self, word):
        result = subprocess.run([program("dnsblv6ctl"), "--socket", self.control, word],
                                capture_output=True, text=True, check=True, timeout=100)
        self.assertEqual(sanitizer_reports(result.stderr), [])
        return result.stdout

    def state(self, zone=ZONE):
        return next(line.split("\t")[7] for line in self.ctl("zones").splitlines()
                    if line.startswith(zone))

    def metric(self, name, zone=ZONE):
        found = re.search(rf'^{name}{{zone="{re.escape(zone)}"}} (\d+)$', self.ctl("metrics"),
                          re.MULTILINE)
        return int(found.group(1))

    def readers(self, server):
        """Processes that a worker has started."""
        return [child for worker in server.children() for child in children_of(worker)]


class Damage(Scrub):
    def test_it_is_told_at_default_settings_and_a_good_store_ends_it(self):
        self.expect_log("served store is damaged")
        server = self.serve_both("workers: 2")
        self.assertEqual(self.metric("dnsblv6_zone_damaged"), 0)
        self.assertEqual(server.ask(NAME, AAAA).rcode, NOERROR)
        self.damage()
        wait_for(lambda: re.search(DAMAGED, server.log(), re.MULTILINE), "the word in the log",
                 DEFAULT_DEADLINE_S)
        # A false answer, of which nothing else tells.
        self.assertEqual(server.ask(NAME, AAAA).rcode, NXDOMAIN)
        self.assertEqual(server.ask(f"1.5.7.44.{OTHER}", AAAA).rcode, NOERROR)
        wait_for(lambda: self.state() == "serving a damaged store", "the state of the zone")
        self.assertEqual(self.metric("dnsblv6_zone_damaged"), 1)
        self.assertEqual(self.metric("dnsblv6_zone_up"), 1)
        self.assertEqual((self.state(OTHER), self.metric("dnsblv6_zone_damaged", OTHER)),
                         ("serving", 0))
        self.replace(self.list)
        wait_for(lambda: self.metric("dnsblv6_zone_damaged") == 0, "the end of it")
        wait_for(lambda: self.state() == "serving", "the state of the zone")
        wait_for(lambda: server.ask(NAME, AAAA).rcode == NOERROR, "the right answer")
        self.assertEqual(len(re.findall(DAMAGED, server.log(), re.MULTILINE)), 1)

    def test_bytes_that_are_put_back_end_it_too(self):
        server = self.serve_both("verify-interval: 1s")
        for count in (1, 2):
            self.damage()
            server.wait_for_log(DAMAGED, count)
            self.damage(b"44\x007\x005\x007", KEY)
            server.wait_for_log(WHOLE, count)
        wait_for(lambda: self.metric("dnsblv6_zone_damaged") == 0, "the metric")

    def test_a_reload_with_a_good_store_ends_it(self):
        self.expect_log("store not opened",
                        "store would be lost by the reload",
                        "configuration not reloaded")
        server = self.serve_both("verify-interval: 1s")
        self.damage()
        server.wait_for_log(DAMAGED)
        refused = subprocess.run([program("dnsblv6ctl"), "--socket", self.control, "reload"],
                                 capture_output=True, text=True, check=False, timeout=100)
        self.assertIn("would be lost", refused.stderr)
        wait_for(lambda: self.metric("dnsblv6_zone_damaged") == 1, "the metric")
        self.replace(self.list)
        self.ctl("reload")
        wait_for(lambda: self.metric("dnsblv6_zone_damaged") == 0, "the end of it")

    def test_a_record_that_cannot_be_read_is_told_when_it_is_asked_for(self):
        server = self.serve_both("verify-interval: 0s")
        self.damage(KEY + b"\x01", KEY + b"\xee")
        for _ in range(3):
            self.assertEqual(server.ask(NAME, AAAA).rcode, SERVFAIL)
        pattern = (r"^error: \[bl6\.example\.\] store has records that cannot be read, "
                   r"answering SERVFAIL for their names, path=\S*bl6\.mdb$")
        server.wait_for_log(pattern)
        self.assertEqual(self.metric("dnsblv6_zone_servfail_total"), 3)
        self.assertEqual(len(re.findall(pattern, server.log(), re.MULTILINE)), 1)

    def test_pages_that_cannot_be_walked_are_told(self):
        server = self.serve_both("verify-interval: 1s", "workers: 2")
        with open(self.store, "r+b") as file:
            size = os.fstat(file.fileno()).st_size
            for page in range(8, size // 4096 - 1, 2):
                file.seek(page * 4096 + 10)  # flags, and where entries begin and end
                file.write(self.random.randbytes(30))
        server.wait_for_log(DAMAGED)
        wait_for(lambda: self.metric("dnsblv6_zone_damaged") == 1, "the metric")
        self.assertEqual(server.ask(f"1.5.7.44.{OTHER}", AAAA).rcode, NOERROR)


class NoDamage(Scrub):
    def assert_no_alarm(self, server):
        self.assertNotRegex(server.log(), r"(?m)^error: ")
        self.assertEqual(self.metric("dnsblv6_zone_damaged"), 0)

    def checked_later(self, than_s):
        return wait_for(lambda: (lambda now: now if now > than_s else None)(
            self.metric("dnsblv6_zone_checked_timestamp_seconds")), "another reading")

    def test_changes_and_other_files_at_the_path(self):
        server = self.serve_both("verify-interval: 1s")
        checked_s = self.metric("dnsblv6_zone_checked_timestamp_seconds")
        for turn in range(3):
            for number in range(5):
                self.run_zone("update", "--store", self.store, "--add", f"45.{turn}.{number}.1")
            self.replace(self.list)
            self.build(self.store, self.list)
            checked_s = self.checked_later(checked_s)
        self.assert_no_alarm(server)

    def test_a_reader_that_is_killed(self):
        self.expect_log("served store cannot be compared with its checksum")
        self.replace(self.write("large", "".join(
            f"{60 + (n >> 16)}.{n >> 8 & 255}.{n & 255}.{n % 99}\n" for n in range(200000))))
        server = self.serve_both("verify-interval: 1s")

        def kill_one():
            for reader in self.readers(server):
                try:
                    os.kill(reader, signal.SIGKILL)
                except ProcessLookupError:
                    pass  # it was done
            return re.search(OBSTACLE + r".*\(its verifier was ended before it had read all of it\)$",
                             server.log(), re.MULTILINE)

        wait_for(kill_one, "the word about it", 4 * DEADLINE_S)
        server.wait_for_log(r"^info: \[bl6\.example\.\] served store is read again, path=")
        self.assert_no_alarm(server)

    def test_a_store_that_may_not_be_opened_any_more(self):
        if os.geteuid() != 0:
            self.skipTest("no other user here (not root?)")
        os.chmod(self.directory, 0o777)
        for name in ("bl6.mdb", "bl6.mdb-lock", "other.mdb", "other.mdb-lock"):
            os.chmod(self.path(name), 0o666)
        server = self.serve_both("verify-interval: 1s", "user: nobody:nogroup")
        os.chmod(self.store, 0o600)
        server.wait_for_log(OBSTACLE + r".*\(Permission denied\)$")
        self.assert_no_alarm(server)
        os.chmod(self.store, 0o666)
        server.wait_for_log(r"^info: \[bl6\.example\.\] served store is read again, path=")
        self.assert_no_alarm(server)

    def test_one_process_reads_for_all_workers_and_gives_way(self):
        server = self.serve_both("verify-interval: 1s", "workers: 2")
        found = set()

        def look():
            readers = self.readers(server)
            self.assertLessEqual(len(readers), 1)
            for reader in readers:
                try:
                    found.add(os.sched_getscheduler(reader))
                except ProcessLookupError:
                    pass
            return os.SCHED_IDLE in found

        wait_for(look, "a reader of idle priority", 4 * DEADLINE_S)

    def test_none_reads_without_an_interval(self):
        server = self.serve_both("verify-interval: 0")
        self.damage()
        once = self.serve([(OTHER, self.path("other.mdb"), None)],
                          ("verify-interval: 1s", f"control: {self.path('ctl2')}"))
        self.control = self.path("ctl2")
        checked_s = self.metric("dnsblv6_zone_checked_timestamp_seconds", OTHER)
        wait_for(lambda: self.metric("dnsblv6_zone_checked_timestamp_seconds", OTHER) > checked_s,
                 "a reading by the other server")
        self.assertNotRegex(once.log() + server.log(), "damaged")


if __name__ == "__main__":
    main()
