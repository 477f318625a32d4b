#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
dnsblv6d goes on answering: new versions, new configurations, lost files,
killed workers, and the end.
"""

import os
import re
import shutil
import signal
import socket
import struct
import time

from harness import (AAAA, DEADLINE_S, EX_CONFIG, NOERROR, NXDOMAIN, REFUSED, SERVFAIL, SOA, ZONE,
                     Case, Reply, ask_all, config_text, framed, has_ended, main, program, query, wait_for)
from load import Load

EX_NOINPUT = 66

NAME = f"0.2.0.192.{ZONE}"
OLD, NEW = b"\x40" + bytes(15), b"\x20" + bytes(15)  # host 1; host 2
SERVED = [f"{half}.{third}.51.198.{ZONE}" for third in range(256) for half in (0, 1)]


class Reload(Case):
    def setUp(self):
        super().setUp()
        self.store = self.path("bl6.mdb")
        self.lists = {OLD: self.write("old.txt", "192.0.2.1\n198.51.0.0/16\n"),
                      NEW: self.write("new.txt", "192.0.2.2\n198.51.0.0/16\n")}
        self.put(OLD)

    def put(self, version, store=None, zone=ZONE):
        self.build(store or self.store, self.lists[version], zone=zone)

    def bitmap(self, server, name=NAME):
        reply = server.ask(name, AAAA)
        return reply.rdata(AAAA)[0] if reply.rcode == NOERROR else reply.rcode

    def wait_until(self, server, version, what):
        wait_for(lambda: self.bitmap(server) == version, what)

    def load(self, server):
        """Names that are listed in every version, and never may be anything else."""
        return Load(server.address, SERVED,
                    lambda _, reply: reply.rcode == NOERROR and reply.rdata(AAAA) == [b"\xff" * 16])


class Versions(Reload):
    def test_a_new_version_is_served_without_restart_or_lost_query(self):
        server = self.serve()
        pid, workers = server.pid, server.children()
        with self.load(server) as load:
            for round_number in range(20):
                version = (NEW, OLD)[round_number % 2]
                self.put(version)
                self.wait_until(server, version, "the new version")
            wait_for(lambda: load.asked >= 1000 or load.error, "the load")
        load.assert_flawless(self)
        self.assertEqual((server.pid, server.children()), (pid, workers))

    def test_the_serial_grows_with_every_version(self):
        server = self.serve()
        serials = []
        for version in (NEW, OLD, NEW):
            self.put(version)
            self.wait_until(server, version, "the new version")
            soa = server.ask(ZONE, SOA).rdata(SOA)[0]
            serials.append(struct.unpack(">I", soa[-20:-16])[0])
        self.assertEqual(serials, sorted(set(serials)))

    def test_new_versions_are_served_though_the_lock_file_was_deleted(self):
        server = self.serve()
        with self.load(server) as load:
            for version in (NEW, OLD):
                os.unlink(f"{self.store}-lock")
                self.put(version)
                self.wait_until(server, version, "the new version")
        load.assert_flawless(self)

    def test_a_store_that_comes_long_after_its_lock_file_is_served(self):
        server = self.serve([(ZONE, self.store, None)], ["workers: 2"])
        other = self.path("other.mdb")
        with self.load(server) as load:
            for versions in ((NEW,), (NEW, OLD)):  # LMDB finds a version by whether its number is even
                for version in versions:
                    self.put(version, other)
                os.rename(f"{other}-lock", f"{self.store}-lock")
                time.sleep(5)  # looks are a second apart
                os.rename(other, self.store)
                wait_for(lambda: {self.bitmap(server) for _ in range(20)} == {versions[-1]}, "both workers")
        load.assert_flawless(self)

    def test_a_store_deleted_while_served_is_served_on(self):
        self.expect_log("store not switched")  # where it takes so long
        server = self.serve()
        with self.load(server) as load:
            os.unlink(self.store)
            wait_for(lambda: load.asked >= 2000 or load.error, "the load")
            self.assertEqual(self.bitmap(server), OLD)
        load.assert_flawless(self)

    def test_a_store_replaced_by_garbage_is_served_on_as_it_was(self):
        self.expect_log("store not switched")  # where it takes so long
        server = self.serve()
        with self.load(server) as load:
            for garbage in (b"", b"garbage", self.random.randbytes(1 << 20)):
                os.rename(self.write("garbage", garbage), self.store)
                target = load.asked + 2000
                wait_for(lambda: load.asked >= target or load.error, "the load")
                self.assertEqual(self.bitmap(server), OLD)
        load.assert_flawless(self)
        server.wait_for_log(r"^(warning|error): \[bl6\.example\.\].*bl6\.mdb")

    def test_a_store_replaced_by_another_file_is_served_from_then_on(self):
        server = self.serve()
        self.put(NEW, self.path("other.mdb"))
        with self.load(server) as load:
            os.rename(self.path("other.mdb"), self.store)
            self.wait_until(server, NEW, "the store that was moved there")
            target = load.asked + 2000
            wait_for(lambda: load.asked >= target or load.error, "the load")
        load.assert_flawless(self)

    def test_a_store_behind_the_lock_file_of_the_one_before_is_served_when_its_own_has_followed(self):
        server = self.serve()
        for value in (NEW, OLD):
            self.put(value, self.store)
            self.wait_until(server, value, "a version more")
        self.put(NEW, self.path("other.mdb"))
        os.rename(self.path("other.mdb"), self.store)
        server.wait_for_log(r"bl6\.mdb.*\(moved to the place of a store that is still open")
        self.assertEqual(self.bitmap(server), OLD)
        os.rename(self.path("other.mdb-lock"), self.path("bl6.mdb-lock"))
        self.wait_until(server, NEW, "the store that was moved there")

    def test_garbage_and_then_a_good_file(self):
        server = self.serve()
        os.rename(self.write("garbage", b"garbage" * 10000), self.store)
        server.wait_for_log(r"^(warning|error): \[bl6\.example\.\].*bl6\.mdb")
        self.put(NEW, self.path("other.mdb"))
        os.rename(self.path("other.mdb"), self.store)
        self.wait_until(server, NEW, "the good file")

    def test_a_store_that_appears_later_is_served_when_it_does(self):
        self.expect_log("store not opened")
        other = "other.example."
        server = self.serve([(ZONE, self.store, None), (other, self.path("later.mdb"), None)])
        self.assertEqual(self.bitmap(server), OLD)
        self.assertEqual(self.bitmap(server, f"0.2.0.192.{other}"), SERVFAIL)
        self.put(NEW, self.path("later.mdb"), zone=other)
        wait_for(lambda: self.bitmap(server, f"0.2.0.192.{other}") == NEW, "the later store")


class Configuration(Reload):
    def rewrite(self, server, zones, extra=""):
        with open(server.config_path, "w", encoding="ascii") as file:
            file.write(config_text(server.address, zones) + extra)

    def test_sighup_with_a_good_file_serves_what_it_says_without_losing_a_query(self):
        other = "other.example."
        self.put(NEW, self.path("other.mdb"), zone=other)
        server = self.serve([(ZONE, self.store, None)])
        self.assertEqual(self.bitmap(server, f"0.2.0.192.{other}"), REFUSED)
        with self.load(server) as load:
            self.rewrite(server, [(ZONE, self.store, None), (other, self.path("other.mdb"), None)])
            server.send_signal(signal.SIGHUP)
            wait_for(lambda: self.bitmap(server, f"0.2.0.192.{other}") == NEW, "the new zone")
            self.rewrite(server, [(ZONE, self.store, None)])
            server.send_signal(signal.SIGHUP)
            wait_for(lambda: self.bitmap(server, f"0.2.0.192.{other}") == REFUSED,
                     "the zone to go")
            wait_for(lambda: load.asked >= 1000 or load.error, "the load")
        load.assert_flawless(self)

    def test_a_reload_that_would_lose_a_list_is_refused(self):
        """Its store was deleted, or replaced by garbage, and is served on by who has it open."""
        self.expect_log("store not opened", "store not switched")
        server = self.serve([(ZONE, self.store, None)], ["workers: 2"])
        refused = r"^warning: \[dnsblv6d\] configuration not reloaded, the old one stays"
        with self.load(server) as load:
            for count, break_store in enumerate((
                    lambda: os.unlink(self.store),
                    lambda: os.rename(self.write("garbage", b"garbage" * 9999), self.store)), 1):
                break_store()
                server.send_signal(signal.SIGHUP)
                server.wait_for_log(refused, count)
                server.wait_for_log(r"^error: \[bl6\.example\.\] store would be lost by the reload, "
                                    r"path=.*bl6\.mdb \(.*\)$", count)
                wait_for(lambda: len(server.children()) == 2, "those who were refused to end")
                target = load.asked + 1000
                wait_for(lambda: load.asked >= target or load.error, "the load")
                self.assertEqual(self.bitmap(server), OLD)
            self.put(NEW, self.path("good.mdb"))
            os.rename(self.path("good.mdb"), self.store)
            server.send_signal(signal.SIGHUP)
            server.wait_for_log(r"^info: \[dnsblv6d\] reloaded, ")
            self.wait_until(server, NEW, "the good one")
        load.assert_flawless(self)

    def test_a_zone_that_never_was_served_does_not_hinder_a_reload(self):
        self.expect_log("store not opened")
        other = "other.example."
        server = self.serve([(ZONE, self.store, None), (other, self.path("none.mdb"), None)])
        server.send_signal(signal.SIGHUP)
        server.wait_for_log(r"^info: \[dnsblv6d\] reloaded, ")
        self.assertEqual(self.bitmap(server), OLD)

    def test_sighup_with_a_bad_file_keeps_the_old_and_says_where_it_is_bad(self):
        self.expect_log("configuration not reloaded")
        server = self.serve([(ZONE, self.store, None)])
        with self.load(server) as load:
            self.rewrite(server, [], extra="  - domain: other.example.\n    colour: blue\n")
            server.send_signal(signal.SIGHUP)
            server.wait_for_log(r"^(warning|error): \[.*:6\].*colour")
            target = load.asked + 1000
            wait_for(lambda: load.asked >= target or load.error, "the load")
            self.assertEqual(self.bitmap(server), OLD)
            os.unlink(server.config_path)
            server.send_signal(signal.SIGHUP)
            server.wait_for_log(r"^(warning|error): .*No such file")
            self.assertEqual(self.bitmap(server), OLD)
        load.assert_flawless(self)

    def test_sighup_with_an_emptied_file_takes_no_zone_away(self):
        self.expect_log("configuration not reloaded")
        server = self.serve([(ZONE, self.store, None)])
        with open(server.config_path, "w", encoding="ascii"):
            pass
        server.send_signal(signal.SIGHUP)
        server.wait_for_log(r"^error: \[.*\] configuration not read "
                            r"\(it has no zone, and 1 are served; a restart ends them\)")
        self.assertEqual(self.bitmap(server), OLD)

    def test_check_says_whether_a_file_is_good(self):
        self.expect_log("configuration refused")
        address = self.free_address()
        good = self.write("good.conf", config_text(address, [(ZONE, self.store, None)]))
        self.assertEqual(self.start_server("--config", good, "--check"), (0, True))
        bad = self.write("bad.conf", config_text(address, [(ZONE, self.store, None)],
                                                 ["workers: many"]))
        self.assertEqual(self.start_server("--config", bad, "--check"), (EX_CONFIG, False))
        self.assertEqual(self.start_server("--config", bad), (EX_CONFIG, False))

    def test_check_names_each_zone_whose_store_cannot_be_opened(self):
        self.expect_log("store cannot be opened")
        self.build(self.path("other.mdb"), self.write("other.txt", "192.0.2.1\n"),
                   zone="other.example.")
        self.write("damaged.mdb", self.random.randbytes(9000))
        config = self.write("bad.conf", config_text(self.free_address(), [
            (ZONE, self.store, None), ("new.example.", self.path("absent.mdb"), None),
            ("wrong.example.", self.path("other.mdb"), None),
            ("damaged.example.", self.path("damaged.mdb"), None)]))
        process = self.start([program("dnsblv6d"), "--config", config, "--check"], "check")
        self.assertEqual(process.popen.wait(DEADLINE_S), EX_NOINPUT)
        self.assertNotIn("OK", process.log())
        self.assertEqual(re.findall(r"^error: \[(\S+)\] store cannot be opened, path=\S+ \((.*)\)$",
                                    process.log(), re.MULTILINE),
                         [("new.example.", "No such file or directory"),
                          ("wrong.example.", "store of another zone"),
                          ("damaged.example.", "not a store")])

    def test_check_misses_directories_that_a_start_needs(self):
        none = self.path("none")
        address = self.free_address()
        self.expect_log("directory refused", "directory not there yet")
        for words, status, line in (
                ([f"control: {none}/socket"], 0,
                 f"warning: [dnsblv6d] directory not there yet, control={none} (No such file or directory)\n"),
                ([f"chroot: {none}"], 0,
                 f"warning: [dnsblv6d] directory not there yet, chroot={none} (No such file or directory)\n"),
                ([f"control: {self.store}/socket"], EX_CONFIG,
                 f"error: [dnsblv6d] directory refused, control={self.store} (Not a directory)\n"),
                ([f"control: {self.path('socket')}"], 0, "")):
            zones = [] if "chroot" in words[0] else [(ZONE, self.store, None)]
            config = self.write("directories.conf", config_text(address, zones, words))
            process = self.start([program("dnsblv6d"), "--config", config, "--check"], "check")
            self.assertEqual(process.popen.wait(DEADLINE_S), status, process.log())
            self.assertEqual(process.log(), line + ("configuration OK\n" if status == 0 else ""))

    def test_check_by_root_leaves_no_lock_file_of_root(self):
        if os.geteuid() != 0:
            self.skipTest("no other user here (not root?)")
        os.chmod(self.directory, 0o777)
        os.unlink(self.store + "-lock")
        config = self.write("user.conf", config_text(self.free_address(), [(ZONE, self.store, None)],
                                                     ["user: nobody:nogroup"]))
        self.assertEqual(self.start_server("--config", config, "--check"), (0, True))
        self.assertNotEqual(os.stat(self.store + "-lock").st_uid, 0)

    def test_a_store_that_root_may_read_by_a_capability_alone_is_told_before_and_when_it_is_not_served(self):
        if os.geteuid() != 0:
            self.skipTest("root alone has capabilities")
        directory = self.path("others")
        os.mkdir(directory)
        store = shutil.move(self.store, directory)
        shutil.chown(directory, "nobody")
        os.chmod(directory, 0o700)
        config = self.write("root.conf", config_text(self.free_address(), [(ZONE, store, None)]))
        reason = r"\(Permission denied; workers of root may have no capabilities: give a \"user\"\)$"
        process = self.start([program("dnsblv6d"), "--config", config, "--check"], "check")
        self.assertEqual(process.popen.wait(DEADLINE_S), EX_NOINPUT, process.log())
        process.wait_for_log(rf"^error: \[{ZONE}\] store cannot be opened, path={store} {reason}")
        server = self.start([program("dnsblv6d"), "--config", config], "server")
        server.wait_for_log(rf"^error: \[{ZONE}\] store not opened, answering SERVFAIL, path={store} {reason}")

    def test_a_file_that_the_user_of_the_server_may_not_read_is_told_before_a_reload(self):
        if os.geteuid() != 0:
            self.skipTest("no other user here (not root?)")
        os.chmod(self.directory, 0o777)
        os.chmod(self.store + "-lock", 0o666)
        line = r"^warning: \[.*\.conf\] configuration cannot be read again, .*\(Permission denied\)$"
        config = self.write("user.conf", config_text(self.free_address(), [(ZONE, self.store, None)],
                                                     ["user: nobody:nogroup"]))
        os.chmod(config, 0o600)
        for words in (["--check"], []):
            server = self.start([program("dnsblv6d"), "--config", config, *words], "unread")
            server.wait_for_log(line)
        server.wait_for_log(r"^info: \[dnsblv6d\] ready, ")
        shutil.chown(config, group="nogroup")
        os.chmod(config, 0o640)
        server = self.start([program("dnsblv6d"), "--config", config, "--check"], "read")
        self.assertEqual((server.popen.wait(DEADLINE_S), server.log()), (0, "configuration OK\n"))

    def start_server(self, *arguments):
        """Exit status, and whether it said that all is well."""
        process = self.start([program("dnsblv6d"), *arguments], "once")
        status = process.popen.wait(DEADLINE_S)
        return status, "configuration OK" in process.log()


class Processes(Reload):
    def test_a_worker_that_dies_is_replaced_and_the_zone_served(self):
        self.expect_log("worker died")
        server = self.serve()
        for _ in range(5):
            workers = server.children()
            os.kill(workers[0], signal.SIGKILL)
            wait_for(lambda: workers[0] not in server.children()
                     and len(server.children()) == len(workers), "another worker")
            wait_for(lambda: self.try_bitmap(server) == OLD, "an answer of the new worker")

    def try_bitmap(self, server):
        try:
            reply = server.ask(NAME, AAAA, timeout_s=0.5)
        except OSError:  # asked between two workers
            return None
        return reply.rdata(AAAA)[0]

    def test_workers_end_with_a_parent_that_is_killed(self):
        server = self.serve()
        workers = server.children()
        server.popen.kill()
        server.popen.wait()
        for worker in workers:
            wait_for(lambda worker=worker: has_ended(worker), "the worker to end")

    def test_sigterm_answers_what_has_arrived_and_ends_with_0(self):
        server = self.serve(server_lines=["workers: 1"])
        with socket.create_connection(server.address, DEADLINE_S) as tcp, \
                socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            udp.connect(server.address)
            udp.settimeout(DEADLINE_S)
            packet = query(NAME, AAAA, 1)
            wire = framed(packet)
            tcp.sendall(wire)
            reader = tcp.makefile("rb")
            reader.read(struct.unpack(">H", reader.read(2))[0])  # now it is accepted
            tcp.sendall(wire * 50)
            for ident in range(100):
                udp.send(query(NAME, AAAA, ident))
            server.send_signal(signal.SIGTERM)
            answered = {Reply(udp.recv(2048)).id for _ in range(100)}
            self.assertEqual(answered, set(range(100)))
            for _ in range(50):
                reply = Reply(reader.read(struct.unpack(">H", reader.read(2))[0]))
                self.assertEqual(reply.rdata(AAAA), [OLD])
            self.assertEqual(reader.read(), b"")
        self.assertEqual(server.popen.wait(DEADLINE_S), 0)
        self.assertRegex(server.log(), r"(?m)^info: \[dnsblv6d\] (stopped|ended)")

    def test_sigusr1_logs_counters_of_each_zone_and_result(self):
        server = self.serve(server_lines=["workers: 1"])
        ask_all(server.address, [(NAME, AAAA)] * 70 + [(f"1.9.9.9.{ZONE}", AAAA)] * 30)
        server.send_signal(signal.SIGUSR1)
        line = server.wait_for_log(r"^info: \[bl6\.example\.\] counters, .*$")[-1]
        self.assertRegex(line, r"\b\w+=70\b")
        self.assertRegex(line, r"\b\w+=30\b")
        self.assertEqual(self.bitmap(server, f"1.9.9.9.{ZONE}"), NXDOMAIN)


if __name__ == "__main__":
    main()
