#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
How old a list is, as dnsblv6d tells it: by the file that was built, and not by what has been signed,
read again or refused since. An old list goes on being served, and growing older.
"""

import os
import re
import subprocess
import time

from harness import AAAA, EX_DATAERR, NOERROR, ZONE, bitmap_name, ip, main, program, wait_for
from updates import UpdateCase

DAY_S = 86400
OTHER = "other.example."


def utc(when):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(when))


class AgeCase(UpdateCase):
    def setUp(self):
        super().setUp()
        self.sign()
        self.now = int(time.time())
        self.list = self.write("list", "192.0.2.1\n198.51.100.7\n")

    def date(self, when, path=None):
        os.utime(path or self.list, (when, when))
        return when

    def rebuild(self, *lists, **how):
        return self.build(self.store, *self.keys, *(lists or (self.list,)), **how)

    def start_server(self):
        self.server = self.serve([(ZONE, self.store, None)], (f"control: {self.path('control')}",))

    def ctl(self, word):
        return subprocess.run([program("dnsblv6ctl"), "--socket", self.path("control"), word],
                              capture_output=True, text=True, check=True, timeout=60).stdout

    def metric(self, name):
        """Of our zone; None where there is no such line."""
        found = re.search(rf'^dnsblv6_zone_{name}{{zone="{re.escape(ZONE)}"}} (\d+)$', self.ctl("metrics"), re.MULTILINE)
        return int(found.group(1)) if found else None

    def written(self):
        return self.metric("lists_timestamp_seconds")

    def wait_until_written(self, when):
        wait_for(lambda: self.written() == when, f"lists of {when}")
        self.assertEqual(self.ctl("zones").rstrip("\n").split("\t")[8], "-" if when is None else utc(when))

    def files(self):
        """Of our zone: when each of its lists was written, the oldest first."""
        return [(name, int(when)) for name, when in re.findall(
            rf'^dnsblv6_list_timestamp_seconds{{zone="{re.escape(ZONE)}",file="(.*)"}} (\d+)$',
            self.ctl("metrics"), re.MULTILINE)]

    def wait_for_files(self, *expected):
        wait_for(lambda: self.files() == list(expected), f"{expected}")
        oldest = [utc(expected[0][1]), re.sub(r"\\(.)", r"\1", expected[0][0])] if expected else ["-", "-"]
        self.assertEqual(self.ctl("zones").rstrip("\n").split("\t")[9:], oldest)

    def wait_for_serial(self, serial):
        wait_for(lambda: self.metric("serial") != serial, "a new serial")

    def assert_listed(self, address):
        self.assertEqual(self.server.ask(bitmap_name(ip(address), ZONE), AAAA).rcode, NOERROR)


class Built(AgeCase):
    def test_an_age_begins_with_the_file_and_not_with_a_signature(self):
        written = self.date(self.now - 3 * DAY_S)
        self.rebuild()
        self.start_server()
        self.wait_until_written(written)
        self.assertGreaterEqual(self.metric("built_timestamp_seconds"), self.now)
        serial = self.metric("serial")
        self.run_zone("sign", "--store", self.store, *self.keys)
        self.wait_for_serial(serial)
        self.assertEqual(self.written(), written)
        serial = self.metric("serial")
        self.run_zone_at(10 * DAY_S, "sign", "--store", self.store, *self.keys)
        self.expect_log("signatures are not valid yet")
        self.wait_for_serial(serial)
        self.assertEqual(self.written(), written)

    def test_a_file_that_is_read_again_is_not_younger_and_one_that_is_fetched_again_is(self):
        written = self.date(self.now - 3 * DAY_S)
        self.rebuild()
        self.start_server()
        before = self.content()
        self.assertIn("nothing changed", self.rebuild().out)
        self.assertEqual(self.content(), before)
        self.wait_until_written(written)
        serial = self.metric("serial")
        written = self.date(self.now - DAY_S)
        self.assertIn("nothing changed", self.rebuild("--dry-run", self.list).out)
        self.assertEqual(self.content(), before)
        self.assertIn("nothing changed", self.rebuild().out)
        self.wait_until_written(written)
        self.assertEqual(self.metric("serial"), serial)
        self.assertEqual(self.server.log().count("] serving, "), 1)
        self.assert_sound()

    def test_a_file_of_a_time_to_come_grows_older_from_when_it_was_given_that(self):
        self.date(self.now + 30 * DAY_S)
        self.rebuild()
        built = int(time.time())
        self.start_server()
        written = self.written()
        self.assertIn(written, range(self.now, built + 1))
        self.wait_for_files(("list", written))
        self.run_zone_at(10 * DAY_S, "build", "--zone", ZONE, "--store", self.store, "--ns", "ns1.example.net.", *self.keys,
                         self.list)
        self.expect_log("signatures are not valid yet")
        wait_for(lambda: self.metric("built_timestamp_seconds") > self.now + 9 * DAY_S, "the build")
        self.assertEqual(self.written(), written)

    def test_the_youngest_of_several_lists_counts_and_no_exception(self):
        other = self.write("other", "192.0.2.9\n")
        never = self.write("never", "203.0.113.1\n")
        written = self.date(self.now - DAY_S, other)
        self.date(self.now - 5 * DAY_S)
        self.rebuild("--except", never, self.list, other)
        self.start_server()
        self.wait_until_written(written)
        self.rebuild("-", input=b"192.0.2.1\n")
        wait_for(lambda: self.written() >= self.now, "a list of a pipe")

    def test_each_list_has_its_age_and_a_dead_one_is_seen(self):
        other = self.write("feed.txt", "192.0.2.9\n")
        pair = [self.write(name, "203.0.113.1\n") for name in ("a", "b")]
        never = self.write("never", "203.0.113.1\n")
        lists = (self.list, other, "ip4set:" + ",".join(pair))
        for path, days in ((self.list, 5), (other, 1), (pair[0], 9), (pair[1], 2), (never, 20)):
            self.date(self.now - days * DAY_S, path)
        days = lambda number: self.now - number * DAY_S
        self.rebuild("--except", never, *lists)
        self.start_server()
        self.wait_for_files(("a", days(9)), ("list", days(5)), ("b", days(2)), ("feed.txt", days(1)))
        serial = self.metric("serial")
        # All but one are fetched again, and say the same.
        for path in (self.list, pair[0], pair[1]):
            self.date(self.now, path)
        self.assertIn("nothing changed", self.rebuild("--except", never, *lists).out)
        self.wait_for_files(("feed.txt", days(1)), ("list", self.now), ("a", self.now), ("b", self.now))
        # Only one that is not the newest.
        self.date(days(4), other)
        self.assertIn("nothing changed", self.rebuild("--except", never, *lists).out)
        self.wait_for_files(("feed.txt", days(4)), ("list", self.now), ("a", self.now), ("b", self.now))
        self.assertEqual(self.metric("serial"), serial)
        before = self.content()
        self.assertIn("nothing changed", self.rebuild("--except", never, *lists).out)
        self.assertEqual(self.content(), before)
        # An update is of no list, and a rollback brings those of its version.
        self.update("--add", "192.0.2.7")
        self.wait_for_serial(serial)
        self.assertEqual(self.files()[0], ("feed.txt", days(4)))
        self.rebuild(self.list)
        self.wait_for_files(("list", self.now))
        self.run_zone("rollback", "--store", self.store, *self.keys)
        self.wait_for_files(("feed.txt", days(4)), ("list", self.now), ("a", self.now), ("b", self.now))
        self.assert_sound()

    def test_a_file_of_any_name_has_one_line_and_a_pipe_none(self):
        os.mkdir(self.path("one"))
        os.mkdir(self.path("two"))
        odd = self.write('o"d\\d\t\u00e4\n1', "192.0.2.9\n")
        same = [self.write(name, "203.0.113.1\n") for name in ("one/same", "two/same")]
        for path, days in ((odd, 4), (same[0], 1), (same[1], 3)):
            self.date(self.now - days * DAY_S, path)
        self.rebuild("-", odd, *same, input=b"192.0.2.1\n")
        self.start_server()
        self.wait_for_files(('o\\"d\\\\d????1', self.now - 4 * DAY_S), ("same", self.now - 3 * DAY_S))

    def test_of_too_many_files_the_oldest_are_told(self):
        lists = [self.write(f"{number:0200}", "192.0.2.1\n") for number in range(12)]
        for number, path in enumerate(lists):
            self.date(self.now - number * DAY_S, path)
        self.rebuild(*lists)
        self.start_server()
        # 2048 bytes are nine names of 200.
        self.wait_for_files(*((f"{number:0200}", self.now - number * DAY_S) for number in range(11, 2, -1)))

    def test_an_update_that_has_nothing_to_change_is_of_now(self):
        self.date(self.now - 3 * DAY_S)
        self.rebuild()
        self.start_server()
        serial = self.metric("serial")
        self.assertEqual(self.update("--add", "192.0.2.1").out, "nothing to change\n")
        wait_for(lambda: self.written() >= self.now, "the update")
        self.assertEqual(self.metric("serial"), serial)

    def test_an_update_is_of_now(self):
        self.date(self.now - 3 * DAY_S)
        self.rebuild()
        self.start_server()
        self.update("--add", "192.0.2.7")
        wait_for(lambda: self.written() >= self.now, "the update")
        # Of a file: when that was written, and what is younger stays so.
        written = self.written()
        serial = self.metric("serial")
        changes = self.write("changes", "192.0.2.8\n")
        self.date(self.now - DAY_S, changes)
        self.update("--add", changes)
        self.wait_for_serial(serial)
        self.assertEqual(self.written(), written)

    def test_a_list_that_is_refused_or_missing_goes_on_growing_older(self):
        written = self.date(self.now - 3 * DAY_S)
        self.rebuild()
        self.start_server()
        self.wait_until_written(written)
        before = self.content()
        self.write("list", "192.0.2.1\n300.1.1.1\n")
        self.rebuild(expect=EX_DATAERR)
        os.unlink(self.list)
        self.rebuild(expect=os.EX_NOINPUT)
        self.assertEqual(self.content(), before)
        serial = self.metric("serial")
        self.run_zone("sign", "--store", self.store, *self.keys)
        self.wait_for_serial(serial)
        self.assertEqual(self.written(), written)
        self.assert_listed("198.51.100.7")

    def test_a_rollback_brings_the_age_of_its_version(self):
        written = self.date(self.now - 3 * DAY_S)
        self.rebuild()
        self.start_server()
        self.wait_until_written(written)
        self.write("list", "192.0.2.1\n192.0.2.2\n")
        self.wait_until_rebuilt(self.date(self.now - DAY_S))
        self.run_zone("rollback", "--store", self.store, *self.keys)
        self.wait_until_written(written)

    def wait_until_rebuilt(self, written):
        self.rebuild()
        self.wait_until_written(written)

    def test_a_store_that_does_not_tell_has_no_age(self):
        self.date(0)
        self.rebuild()
        self.start_server()
        wait_for(lambda: self.metric("up") == 1, "the zone")
        self.assertNotIn("dnsblv6_zone_lists_timestamp_seconds", self.ctl("metrics"))
        self.assertNotIn("dnsblv6_list_timestamp_seconds", self.ctl("metrics"))
        self.wait_until_written(None)
        self.wait_for_files()
        self.wait_until_rebuilt(self.date(self.now - DAY_S))


class Watched(AgeCase):
    def replace(self, path, text, when):
        """In one moment, since a list that changes while it is read is refused."""
        self.date(when, self.write("list.new", text))
        os.rename(self.path("list.new"), path)

    def test_a_list_that_watch_reads_again_and_again_grows_older(self):
        other = self.write("other-list", "192.0.2.1\n")
        config = self.write("zones.conf", "zone:\n" + "".join(
            f"  - domain: {zone}\n    store: {store}\n    list: {path}\n    ns: ns1.example.net.\n"
            for zone, store, path in ((ZONE, self.store, self.list), (OTHER, self.path("other.mdb"), other))))
        written = self.date(self.now - 3 * DAY_S)
        self.run_zone("build", "bl6.example", "--config", config)
        self.start_server()
        watch = self.start([program("dnsblv6-zone"), "watch", "--config", config, "--settle", "0", "--refresh", "1"],
                           "watch")

        def take_turns(count):
            """Two builds of the other zone, between which this one has had its turn."""
            for number in (count, count + 1):
                self.replace(other, f"192.0.2.1\n203.0.113.{number}\n", self.now)
                watch.wait_for_log(rf"^info: \[{re.escape(OTHER)}\] built .*", number)

        watch.wait_for_log(rf"^info: \[{re.escape(OTHER)}\] built .*")
        take_turns(2)
        self.assertEqual(self.written(), written)
        written = self.now - DAY_S
        self.replace(self.list, "192.0.2.1\n198.51.100.7\n", written)
        self.wait_until_written(written)
        os.unlink(self.list)
        watch.wait_for_log(r"^error: \[bl6\.example\.\] zone not built, status=66 again=10s ")
        take_turns(4)
        self.assertEqual(self.written(), written)
        self.assert_listed("198.51.100.7")
        self.assertEqual(watch.stop(), 0)


if __name__ == "__main__":
    main()
