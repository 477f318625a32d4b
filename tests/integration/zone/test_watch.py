#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
dnsblv6-zone watch: a list's file changes, and the zone is served, signed, by dnsblv6d and by a Knot
secondary, without a word. What is wrong leaves the old zone served, is told in one line, and stops no
other zone.

Needs knotd and ldns-verify-zone, and root for the full disk.
"""

import contextlib
import fcntl
import os
import re
import signal
import socket
import subprocess
import sys
import termios
import time
from pathlib import Path

from harness import (AAAA, BUILD, DEADLINE_S, EX_CONFIG, NOERROR, NXDOMAIN, SOA, ZONE, Server, ask, bitmap_name,
                     children_of, config_text, ip, main, peer, program, state_of, wait_for)
from secondaries import Secondary
from updates import UpdateCase

OTHER = "other.example."


class WatchCase(UpdateCase):
    def setUp(self):
        super().setUp()
        self.sign()
        self.list = self.write("list", "192.0.2.1\n198.51.100.0/24\n")
        self.other_list = self.write("other-list", "192.0.2.1\n")
        self.other = self.path("other.mdb")
        self.config = self.path("zones.conf")

    def entry(self, zone, store, path, *settings):
        return (f"  - domain: {zone}\n    store: {store}\n    list: {path}\n    ns: ns1.example.net.\n"
                + "".join(f"    {line}\n" for line in settings))

    def configure(self, *settings):
        self.write("zones.conf", "zone:\n" + self.entry(ZONE, self.store, self.list, f"key: {self.key}",
                                                  "max-grow: 1000000", *settings)
                   + self.entry(OTHER, self.other, self.other_list))

    def watch(self, *words, **how):
        watch = self.start([program("dnsblv6-zone"), "watch", "--config", self.config, "--settle", "0", *words],
                           "watch", **how)
        watch.wait_for_log(r"^info: \[dnsblv6-zone\] watching, zones=")
        return watch

    def replace(self, path, text):
        """As those who publish lists do."""
        self.write("list.new", text)
        os.rename(self.path("list.new"), path)

    def append(self, path, text):
        with open(path, "a", encoding="ascii") as file:
            file.write(text)

    def built(self, watch, count, zone=ZONE):
        return watch.wait_for_log(rf"^info: \[{re.escape(zone)}\] built .*", count)


class Served(WatchCase):
    def start_all(self, wait_s=600):
        """wait_s is how long Knot may take until a line says that it lags."""
        primary = self.free_address()
        self.knot = Secondary(self, "knot", primary)
        self.configure(f"secondary: {self.knot.address[0]}@{self.knot.address[1]}", f"secondary-wait: {wait_s}")
        key, itself = self.knot.lines()
        config = self.write("primary.conf", f"key:\n{key}" + config_text(primary, [(OTHER, self.other, None),
                                                                                  (ZONE, self.store, None)],
                                                                        [f"control: {self.path('control')}"])
                            + f"    secondary: [ knot ]\nsecondary:\n{itself}")
        os.chmod(config, 0o600)
        # The first version, before any server is there to follow.
        for name in ("bl6.example", "other.example"):
            self.run_zone("build", name, "--config", self.config, "--secondary", f"{self.host}@9",
                          "--secondary-wait", "1", expect=None)
        self.server = Server(config, primary, self.path("primary.log"))
        self.processes.append(self.server)
        self.server.wait_until_ready()
        self.knot.start()
        wait_for(lambda: self.knot.serial() is not None, "Knot to have the zone")

    def metric(self, name, of="secondary"):
        """Of our zone; None where there is no such line."""
        text = subprocess.run([program("dnsblv6ctl"), "--socket", self.path("control"), "metrics"],
                              capture_output=True, text=True, check=True, timeout=60).stdout
        found = re.search(rf'^dnsblv6_{of}_{name}{{zone="{re.escape(ZONE)}"[^}}]*}} (\d+)$', text, re.MULTILINE)
        return int(found.group(1)) if found else None

    def is_listed(self, address, zone=ZONE, server=None):
        reply = ask(server or self.server.address, bitmap_name(ip(address), zone), AAAA, edns_size=1232,
                    edns_flags=0x8000)
        self.assertIn(reply.rcode, (NOERROR, NXDOMAIN))
        signed = any(record.type == 46 for record in reply.answer + reply.authority)
        return reply.rcode == NOERROR and (signed or zone != ZONE)

    def wait_until_listed(self, address, servers=None):
        for server in servers or (self.server.address, self.knot.address):
            wait_for(lambda s=server: self.is_listed(address, server=s), f"{address} to be listed by {server}")

    def test_a_list_changes_and_is_served_signed_everywhere(self):
        self.start_all(wait_s=10)
        watch = self.watch()
        for number, change in enumerate((self.replace, self.append, self.replace)):
            change(self.list, f"192.0.2.1\n198.51.100.0/24\n203.0.113.{128 * (number % 2)}\n44.{number}.0.1\n")
            self.wait_until_listed(f"44.{number}.0.1")
        self.built(watch, 3)
        self.assert_sound()
        # What the server says of its secondary, when it has asked it.
        wait_for(lambda: self.metric("serial") == self.knot.serial() == self.metric("serial", "zone"),
                 "the secondary's serial")
        self.assertGreater(self.metric("answered_timestamp_seconds"), self.metric("built_timestamp_seconds", "zone") - 1)
        self.knot.stop()
        self.append(self.list, "44.9.9.9\n")
        wait_for(lambda: self.metric("serial") != self.metric("serial", "zone"), "the server to be ahead")
        self.expect_log(r"secondary does not (answer|have the version)", r"NOTIFY")
        watch.wait_for_log(r"secondary does not answer, secondary=")
        self.assertEqual(watch.stop(), 0)

    def test_each_thing_that_is_wrong_leaves_the_zone_and_is_one_line(self):
        self.start_all()
        watch = self.watch()
        good = "192.0.2.1\n198.51.100.0/24\n" + "".join(f"44.0.{n >> 8}.{n & 255}\n" for n in range(3000))
        self.replace(self.list, good)
        self.wait_until_listed("44.0.3.1")
        serial = ask(self.server.address, ZONE, SOA).answer[0].rdata
        told = 0
        for wrong, reason in (
                (good + "300.1.1.1\n", r"list:\d+\] line refused, text=\"300\.1\.1\.1\""),
                ("", r"list is empty"),
                ("192.0.2.1\n", r"zone would shrink too much"),
                ("<!DOCTYPE html>\n<html>\n", r"looks like an HTML page"),
                (None, r"file not read \(No such file or directory\)"),
        ):
            if wrong is None:
                os.unlink(self.list)
            else:
                self.replace(self.list, wrong)
            told += 1
            # As often as it is tried, in one line each time.
            watch.wait_for_log(rf"^error: \[bl6\.example\.\] zone not built, status=\d+ again=\d+s \(.*{reason}.*\)$")
            self.append(self.other_list, f"203.0.113.{told}\n")
            wait_for(lambda n=told: self.is_listed(f"203.0.113.{n}", OTHER), "the other zone")
            self.assertTrue(self.is_listed("44.0.3.1"))
            self.assertEqual(ask(self.server.address, ZONE, SOA).answer[0].rdata, serial)
        lines = [line for line in watch.log().splitlines() if not line.startswith("info: ")]
        self.assertEqual([line for line in lines if not line.startswith("error: [bl6.example.] zone not built, ")], [])
        self.replace(self.list, good + "44.9.0.1\n")
        self.wait_until_listed("44.9.0.1")

    def test_a_build_that_is_killed(self):
        self.start_all()
        self.run_zone("build", "bl6.example", "--config", self.config)
        watch = self.watch()
        large = "192.0.2.1\n198.51.100.0/24\n" + "".join(f"45.{n >> 8}.{n & 255}.9\n" for n in range(60000))
        self.replace(self.list, large)

        def kill():
            for child in children_of(watch.pid):
                with contextlib.suppress(ProcessLookupError):  # it has ended by itself
                    os.kill(child, signal.SIGKILL)
            return re.search(r"zone not built, signal=9 again=", watch.log())

        # Builds of the other zone may be killed as well; each is tried again.
        wait_for(kill, "a build to be killed")
        watch.wait_for_log(r"zone not built, signal=9 again=")
        self.assertTrue(self.is_listed("198.51.100.1"))
        self.replace(self.list, "192.0.2.1\n198.51.100.0/24\n44.1.0.1\n")
        self.wait_until_listed("44.1.0.1")


# As in test_update.py, a small file system of its own.
ON_SMALL_DISK = """
mount -t tmpfs -o size=300k none {directory} || exit 1
exec {zone} watch --config {config} --settle 0
"""


class Alone(WatchCase):
    def test_a_full_disk(self):
        allowed = subprocess.run(["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"],
                                 capture_output=True, check=False)
        if allowed.returncode != 0:
            self.skipTest("no mount name space here (not root?)")
        os.makedirs(self.path("small"))
        self.store = self.path("small/bl6.mdb")
        self.configure()
        script = ON_SMALL_DISK.format(directory=self.path("small"), zone=program("dnsblv6-zone"), config=self.config)
        watch = self.start(["unshare", "--mount", "sh", "-c", script], "watch")
        self.built(watch, 1)
        self.replace(self.list, "".join(f"45.{n >> 8}.{n & 255}.9\n" for n in range(20000)))
        watch.wait_for_log(r"^error: \[bl6\.example\.\] zone not built, status=74 again=10s"
                           r" \(.*No space left on device\)\)$")
        self.replace(self.list, "192.0.2.1\n192.0.2.9\n")
        self.built(watch, 2)
        self.assertEqual(watch.stop(), 0)

    def test_zones_are_read_again(self):
        self.configure()
        watch = self.watch()
        self.built(watch, 1)
        self.built(watch, 1, OTHER)
        third = self.path("third.mdb")
        with open(self.config, "a", encoding="ascii") as file:
            file.write(self.entry("third.example.", third, self.list))
        watch.send_signal(signal.SIGHUP)
        self.built(watch, 1, "third.example.")
        self.append(self.config, "nonsense\n")
        watch.send_signal(signal.SIGHUP)
        watch.wait_for_log(r"^error: \[.*zones\.conf:\d+\] configuration refused, ")
        self.replace(self.list, "192.0.2.1\n192.0.2.9\n")
        self.built(watch, 2, "third.example.")
        self.built(watch, 2)
        self.assertEqual(watch.stop(signal.SIGINT), 0)

    def test_a_zone_with_two_stores_has_a_line_for_each_and_is_signed_while_its_list_is_wrong(self):
        self.configure("classic: bl.example.", f"classic-store: {self.path('bl.mdb')}")
        watch = self.watch("bl6.example", "--refresh", "1")
        told = [r"^info: \[bl6\.example\.\] (%s %s: .*)" % (done, re.escape(zone))
                for done in ("built", "signed") for zone in (ZONE, "bl.example.")]
        for pattern in told[:2]:
            watch.wait_for_log(pattern)
        self.assertEqual(watch.stop(), 0)
        self.replace(self.list, "192.0.2.300\n")
        # The day until a zone is signed begins with a build: this watch has none.
        watch = self.watch("bl6.example", "--refresh", "1")
        watch.wait_for_log(r"zone not built, status=65 again=")
        for pattern in told[2:]:
            watch.wait_for_log(pattern)
        self.assertEqual(watch.stop(), 0)

    def test_one_zone_of_the_file(self):
        self.configure()
        watch = self.watch("other.example")
        self.built(watch, 1, OTHER)
        self.append(self.other_list, "192.0.2.9\n")
        self.built(watch, 2, OTHER)
        self.assertFalse(os.path.exists(self.store))
        self.assertEqual(watch.stop(), 0)

    def test_a_list_that_is_a_pipe_holds_up_no_other_zone(self):
        self.configure(f"except: {self.path('pipe')}")
        os.mkfifo(self.path("pipe"))
        watch = self.watch()
        watch.wait_for_log(rf"^error: \[{re.escape(ZONE)}\] zone not built, status=66 again=\d+s"
                           rf" \(\[{self.path('pipe')}\] file not read \(not a regular file: ")
        self.built(watch, 1, OTHER)
        os.unlink(self.list)
        os.rename(self.path("pipe"), self.list)
        self.write("pipe", "192.0.2.7\n")
        watch.wait_for_log(rf"^error: .* \(\[{self.list}\] file not read \(not a regular file: ")
        self.replace(self.list, "192.0.2.1\n192.0.2.9\n")
        self.built(watch, 1)
        self.assertEqual(watch.stop(), 0)

    def write_lock(self, store):
        """A process that has the store's write lock, until it is killed."""
        holder = subprocess.Popen([peer("mdb_load"), "-n", "-s", "none", store], stdin=subprocess.PIPE)
        self.addCleanup(holder.wait, 60)
        self.addCleanup(holder.stdin.close)
        self.addCleanup(holder.kill)
        holder.stdin.write(b"VERSION=3\nformat=bytevalue\ntype=btree\nHEADER=END\n")
        holder.stdin.flush()

        def wants_more():
            unread = int.from_bytes(fcntl.ioctl(holder.stdin, termios.FIONREAD, bytes(4)), sys.byteorder)
            return unread == 0 and state_of(holder.pid) == "S"

        wait_for(wants_more, "mdb_load to wait for entries")
        return holder

    def test_a_build_that_takes_long_is_told_and_holds_up_no_other_zone(self):
        self.configure()
        self.run_zone("build", "bl6.example", "--config", self.config)
        self.write_lock(self.store)
        watch = self.watch("--refresh", "1")
        found = watch.wait_for_log(r"^warning: \[bl6\.example\.\] zone not built yet, pid=(\d+) after=10s"
                                   r" \(it has one of two places\)$")
        self.built(watch, 1, OTHER)
        self.append(self.other_list, "192.0.2.9\n")
        self.built(watch, 2, OTHER)
        os.kill(int(found[0]), signal.SIGTERM)
        watch.wait_for_log(r"^error: \[bl6\.example\.\] zone not built, signal=15 again=10s ")
        self.assertEqual(watch.stop(), 0)

    def test_zones_that_wait_for_a_dead_secondary_hold_up_no_other_zone(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
            silent.bind(("127.0.0.1", 0))
            settings = (f"secondary: 127.0.0.1@{silent.getsockname()[1]}", "secondary-wait: 600")
            waiting = [f"{name}.example." for name in ("one", "two", "three")]
            self.write("zones.conf", "zone:\n" + "".join(
                self.entry(zone, self.path(zone + "mdb"), self.list, *settings)
                for zone in waiting) + self.entry(OTHER, self.other, self.other_list))
            watch = self.watch()
            self.built(watch, 1, OTHER)
            for zone in waiting:
                wait_for(lambda zone=zone: os.path.exists(self.path(zone + "mdb")), f"{zone} to be built")
            self.append(self.other_list, "192.0.2.9\n")
            self.built(watch, 2, OTHER)
            self.assertEqual(watch.stop(), 0)
        self.assertNotIn("zone not built", watch.log())

    def test_a_secondary_that_does_not_answer_is_told_and_the_zone_is_built(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
            silent.bind(("127.0.0.1", 0))
            place = f"127.0.0.1@{silent.getsockname()[1]}"
            self.configure(f"secondary: {place}", "secondary-wait: 1")
            watch = self.watch("bl6.example")
            watch.wait_for_log(rf"^warning: \[{self.store}\] secondary does not answer, secondary={place} wanted=\d+$")
            self.built(watch, 1)
        self.assertEqual(watch.stop(), 0)

    def test_its_end_does_not_wait_for_a_configuration_that_is_read_again(self):
        self.configure()
        watch = self.watch()
        watch.send_signal(signal.SIGSTOP)
        wait_for(lambda: state_of(watch.pid) == "T", "it to stop")
        for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGCONT):
            watch.send_signal(number)
        self.assertEqual(watch.popen.wait(60), 0)
        self.assertNotIn("read again", watch.log())

    def test_what_nothing_can_be_watched_with_ends_it(self):
        self.configure()
        result = self.run_zone("watch", "--config", self.config, "third.example", expect=EX_CONFIG)
        self.assertEqual(result.err, f"error: [{self.config}] no such zone, zone=third.example\n")
        self.run_zone("watch", "--config", self.path("absent"), expect=EX_CONFIG)

    def test_a_list_that_is_written_again_with_the_same_content_publishes_nothing(self):
        self.configure()
        watch = self.watch("--refresh", "1")
        self.built(watch, 1)
        self.built(watch, 1, OTHER)  # or its first build has the change below already
        before = self.master_file()
        with open(self.list, encoding="ascii") as file:
            text = file.read()
        self.replace(self.list, text)
        # Two changes of the other zone, between which every zone has had its turn.
        for count in (2, 3):
            self.append(self.other_list, f"192.0.2.{count}\n")
            self.built(watch, count, OTHER)
        self.assertEqual(self.master_file(), before)
        self.assertEqual(watch.stop(), 0)

    def test_a_directory_of_lists_that_is_replaced(self):
        """By a rename, and as a symbolic link; it is not found by looking once in a minute."""
        self.list = self.path("lists/list")
        for number in range(4):
            os.mkdir(self.path(str(number)))
            self.write(f"{number}/list", f"192.0.2.1\n44.{number}.0.1\n")
        os.rename(self.path("0"), self.path("lists"))
        self.configure()
        watch = self.watch()
        self.built(watch, 1)

        def built(count):
            wait_for(lambda: len(re.findall(rf"(?m)^info: \[{re.escape(ZONE)}\] built ", watch.log())) == count,
                     "the new list", deadline_s=DEADLINE_S / 2)

        os.rename(self.path("lists"), self.path("old"))
        os.rename(self.path("1"), self.path("lists"))
        built(2)
        self.append(self.list, "44.9.0.1\n")
        built(3)
        os.rename(self.path("lists"), self.path("older"))
        os.symlink("2", self.path("lists"))
        built(4)
        os.symlink("3", self.path("new"))
        os.rename(self.path("new"), self.path("lists"))
        built(5)
        self.append(self.list, "44.9.0.1\n")
        built(6)
        self.expect_log("zone not built")
        self.assertEqual(watch.stop(), 0)

    def test_a_serial_that_never_grows_is_told_once(self):
        soa = "$SOA 3600 ns1.example.net. hostmaster.example.net. 1 2h 15m 7d 10m\n$NS 3600 ns1.example.net.\n"
        self.write("other-list", soa + "192.0.2.1\n")
        self.write("zones.conf", f"zone:\n  - domain: {OTHER}\n    store: {self.other}\n"
                   f"    list: ip4set:{self.other_list}\n")
        watch = self.watch()
        self.built(watch, 1, OTHER)
        for count in range(2, 5):
            self.append(self.other_list, f"192.0.2.{count}\n")
            self.built(watch, count, OTHER)
        self.assertEqual(watch.stop(), 0)
        self.expect_log(r"serial of \$SOA is not newer")
        self.assertEqual(watch.log().count("serial of $SOA"), 1)

    def test_a_log_that_is_not_read_holds_up_no_zone(self):
        soa = "$SOA 3600 ns1.example.net. hostmaster.example.net. 1 2h 15m 7d 10m\n$NS 3600 ns1.example.net.\n"
        self.write("other-list", soa + "192.0.2.1\n")
        self.write("zones.conf", f"zone:\n  - domain: {OTHER}\n    store: {self.other}\n"
                   f"    list: ip4set:{self.other_list}\n")
        log, end = os.pipe()
        self.addCleanup(os.close, log)
        os.write(end, bytes(fcntl.fcntl(end, fcntl.F_SETPIPE_SZ, 4096)))
        watch = subprocess.Popen([program("dnsblv6-zone"), "watch", "--config", self.config, "--settle", "0"],
                                 stdin=subprocess.DEVNULL, stderr=end)
        self.addCleanup(watch.wait)
        self.addCleanup(watch.kill)
        os.close(end)

        def lists(address):
            return address in self.run_zone("dump", "--store", self.other, expect=None).out.split()

        wait_for(lambda: lists("192.0.2.1"), "the first version")
        for count in range(2, 4):  # with a warning each
            self.append(self.other_list, f"198.51.100.{2 * count}\n")
            wait_for(lambda count=count: lists(f"198.51.100.{2 * count}"), "the next one")
        self.assertEqual(set(os.read(log, 65536)), {0})
        self.append(self.other_list, "198.51.100.9\n")
        self.assertRegex(os.read(log, 65536), rb"^warning: lines left out, count=\d+\n")
        watch.terminate()
        self.assertEqual(watch.wait(DEADLINE_S), 0)

    def test_the_end_of_refusals_is_told_though_nothing_has_changed(self):
        self.configure()
        watch = self.watch("bl6.example")
        self.built(watch, 1)
        with open(self.list, encoding="ascii") as file:
            text = file.read()
        self.replace(self.list, "")
        watch.wait_for_log(r"zone not built, status=65 again=")
        self.replace(self.list, text)
        watch.wait_for_log(r"^info: \[bl6\.example\.\] nothing changed in bl6\.example\.: serial=")
        self.assertEqual(watch.stop(), 0)

    def test_a_process_that_waits_for_a_secondary_keeps_no_watches(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
            silent.bind((self.host, 0))
            self.configure(f"secondary: {self.host}@{silent.getsockname()[1]}", f"secondary-wait: {10 * DEADLINE_S}")
            watch = self.watch()
            self.built(watch, 1, OTHER)
            silent.settimeout(DEADLINE_S)
            silent.recv(512)
            waiting, = children_of(watch.pid)
            links = [os.readlink(link) for link in Path(f"/proc/{waiting}/fd").iterdir()]
            self.assertIn("/memfd:output (deleted)", links)
            self.assertNotIn("anon_inode:inotify", links)
            self.assertEqual(watch.stop(), 0)

    def test_a_link_behind_a_link_is_found_by_looking(self):
        """Once in a minute; where it leads to is watched from then on."""
        for number in range(3):
            os.mkdir(self.path(str(number)))
            self.write(f"{number}/list", f"192.0.2.1\n44.{number}.0.1\n")
        os.mkdir(self.path("place"))
        os.mkdir(self.path("apart"))  # where no log and no store tells the kernel's watches that something has happened
        self.other_list = self.write("apart/list", "192.0.2.1\n")
        os.symlink("../0", self.path("place/current"))
        os.symlink("place/current", self.path("lists"))
        self.list = self.path("lists/list")
        self.configure()
        watch = self.watch()
        self.built(watch, 1)

        def read_open(file):
            """Of a descriptor that may have been closed meanwhile."""
            try:
                return file.read_text(encoding="ascii")
            except FileNotFoundError:
                return ""

        def is_watched(directory):
            inode = os.stat(self.path(directory)).st_ino
            files = [read_open(file) for file in Path(f"/proc/{watch.pid}/fdinfo").iterdir()]
            return any(int(found, 16) == inode for text in files for found in re.findall(r"(?m)^inotify .* ino:(\w+) ", text))

        wait_for(lambda: is_watched("0"), "a watch of the first")
        for number in (1, 2):
            time.sleep(1)  # else the second look of the start, or of the first one, may find it at once
            os.symlink(f"../{number}", self.path("place/new"))
            os.rename(self.path("place/new"), self.path("place/current"))
            wait_for(lambda: is_watched(str(number)), "a watch of the next", deadline_s=60 + DEADLINE_S)
            self.built(watch, 1 + number)
        self.assertEqual(watch.stop(), 0)

    def test_many_zones_are_not_looked_at_for_each_that_is_built(self):
        """But for the one whose turn it is: its list may have been written to since."""
        count = 40
        os.mkdir(self.path("lists"))
        names = [f"z{n}.example." for n in range(count)]
        lists = [self.write(f"lists/{name}", "192.0.2.1\n") for name in names]
        self.write("zones.conf", "zone:\n" + "".join(
            self.entry(name, self.path(f"{name}mdb"), path) for name, path in zip(names, lists)))
        traced = [peer("strace"), "-qq", "-P", lists[-1], "-e", "trace=/^(new)?(stat|fstatat)", "-o", self.path("trace")]
        watch = self.start([*traced, program("dnsblv6-zone"), "watch", "--config", self.config], "watch")
        for name in names:
            self.built(watch, 1, name)
        self.append(lists[-1], "192.0.2.2\n")
        self.built(watch, 2, names[-1])
        [itself] = children_of(watch.popen.pid)
        os.kill(itself, signal.SIGTERM)
        watch.popen.wait(DEADLINE_S)
        with open(self.path("trace"), encoding="ascii") as trace:
            self.assertIn(len(trace.readlines()), range(4, 20))

    def unit(self, name):
        path = os.path.join(BUILD, "zone-tools/systemd", name)
        if not os.path.exists(path):
            self.skipTest("built without units")
        with open(path, encoding="ascii") as file:
            return file.readlines()

    def test_what_the_path_unit_overlooks_during_a_build_is_left_to_the_timer(self):
        self.assertIn("Wants=dnsblv6-zone@%i.timer\n", self.unit("dnsblv6-zone@.path"))

    def test_lists_that_change_one_behind_the_other_do_not_end_the_path_unit(self):
        # Six starts in ten seconds are too many by default: it fails then (unit-start-limit-hit).
        self.assertIn("StartLimitIntervalSec=0\n", self.unit("dnsblv6-zone@.service"))

    def test_a_service_manager_is_told(self):
        self.configure()
        path = self.path("notify")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(path)
            manager.settimeout(60)
            watch = self.watch(env=dict(os.environ, NOTIFY_SOCKET=path))
            self.assertEqual(manager.recv(100), b"READY=1")
            watch.send_signal(signal.SIGHUP)
            self.assertTrue(manager.recv(100).startswith(b"RELOADING=1"))
            self.assertEqual(manager.recv(100), b"READY=1")
            self.assertEqual(watch.stop(), 0)
            self.assertEqual(manager.recv(100), b"STOPPING=1")


if __name__ == "__main__":
    main()
