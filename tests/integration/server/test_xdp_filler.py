#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
The process that fills the tables of the network driver: it follows lists and reloads, is replaced
when it dies, and what the driver answers is counted.

test_xdp.py has packets, faults and permissions.
"""

import os
import re
import signal
import subprocess
import threading

from driven import SERVER, Driven
from harness import (A, AAAA, ANY_SIZE, CLASSIC, NOERROR, NXDOMAIN, REFUSED, SOA, ZONE, Asker,
                     ask, ask_all, bitmap_name, ip, main, program, wait_for)

LISTED = bitmap_name(ip("198.51.100.1"))
ABSENT = bitmap_name(ip("203.0.113.1"))
BLOCKS = [f"51.15.{number}.1" for number in range(8)]
ADDRESS = (SERVER, 53)


def serial_of(reply):
    """Of the SOA in a negative answer."""
    rdata = next(record.rdata for record in reply.authority if record.type == SOA)
    return int.from_bytes(rdata[-20:-16], "big")


class Filler(Driven):
    def put(self, *addresses):
        """
        The list is these from now on. Returns its serial. The SOA is short: behind a question
        from a socket, a veth has room for less than 64 bytes.
        """
        result = self.run_zone("build", "--zone", ZONE, "--store", self.store, "--ns", "n.", "--mailbox", "m.",
                               *ANY_SIZE, self.write("list", "\n".join(addresses) + "\n"))
        return int(re.search(r"serial=(\d+)", result.out)[1])

    def change(self, added, removed):
        result = self.run_zone("update", "--store", self.store, *ANY_SIZE, "--add", added, "--remove", removed)
        return int(re.search(r"serial=(\d+)", result.out)[1])

    def driven_count(self):
        return self.stats()["server", "driver-answered"]

    def ask_until_driven(self, name=LISTED):
        """Until one more question was answered in the driver: it answers, whatever the status says."""
        before = self.driven_count()

        def is_answered():
            ask(ADDRESS, name, AAAA)
            return self.driven_count() > before
        wait_for(is_answered, "an answer of the driver")


class Counting(Filler):
    def test_what_the_driver_answers_is_counted_as_what_workers_answer(self):
        self.put("198.51.100.1")
        self.serve_driven(server_lines=("cookies: off",))
        self.wait_until_driven()
        ask_all(ADDRESS, [(LISTED, AAAA)] * 30 + [(ABSENT, AAAA)] * 20 + [(LISTED, A)] * 10)
        ask_all(ADDRESS, [(f"1.100.51.198.{CLASSIC}", A)] * 5)

        def all_counters():
            now = self.stats()
            is_all = (now["server", "driver-answered"] == 60 and now["server", "driver-passed"] >= 5
                      and now["server", "queries"] >= 65)
            return now if is_all else None

        stats = wait_for(all_counters, "all counters")
        self.assertEqual([stats[ZONE, name] for name in ("queries", "noerror", "nxdomain", "nodata")],
                         [60, 30, 20, 10])
        self.assertEqual(stats[CLASSIC, "queries"], 5)
        self.assertEqual(stats["server", "queries"], 65)
        self.assertEqual(stats["server", "driver-changed"], 0)
        metrics = self.ctl("metrics").splitlines()
        self.assertIn("dnsblv6_server_driver_answered_total 60", metrics)
        self.assertIn(f'dnsblv6_zone_driver_up{{zone="{ZONE}"}} 1', metrics)
        self.assertIn(f'dnsblv6_zone_driver_serial{{zone="{ZONE}"}} {self.zone_rows()[ZONE][0]}', metrics)

    def test_a_reload_keeps_what_was_counted(self):
        self.put("198.51.100.1")
        self.serve_driven(server_lines=("cookies: off",))
        self.wait_until_driven()
        ask_all(ADDRESS, [(LISTED, AAAA)] * 30)
        self.ctl("reload")
        self.wait_until_driven()
        ask_all(ADDRESS, [(LISTED, AAAA)] * 12)
        wait_for(lambda: self.stats()["server", "driver-answered"] == 42, "the counters of both")
        self.assertEqual(self.stats()[ZONE, "noerror"], 42)


class Following(Filler):
    def test_no_answer_is_of_two_versions_while_lists_and_configuration_change(self):
        versions = {self.put(BLOCKS[0]): 0}
        server = self.serve_driven(server_lines=("cookies: off",))
        self.wait_until_driven()
        mixed, asked, is_done = [], [0], threading.Event()

        def keep_asking():
            names = [bitmap_name(ip(block)) for block in BLOCKS]
            with Asker(ADDRESS) as asker:
                while not is_done.is_set():
                    replies = asker.ask_all([(name, AAAA) for name in names])
                    asked[0] += len(replies)
                    mixed.extend((serial_of(reply), number) for number, reply in enumerate(replies)
                                 if reply.rcode == NXDOMAIN)

        asking = threading.Thread(target=keep_asking)
        asking.start()
        try:
            for number in range(1, len(BLOCKS)):
                serial = self.change(BLOCKS[number], BLOCKS[number - 1])
                if number % 3 == 0:
                    self.ctl("reload")
                versions[serial] = number
                self.wait_until_driven(serial=serial)
                before = asked[0]
                wait_for(lambda start=before: asked[0] > start + 200 or not asking.is_alive(), "questions")
        finally:
            is_done.set()
            asking.join()
        self.assertGreater(len(mixed), 1000)
        wait_for(lambda: self.driven_count() > 1000, "that they are counted")
        # A name that is not there is not there in the version of that serial.
        self.assertEqual([pair for pair in mixed if versions[pair[0]] == pair[1]], [])
        self.assertEqual(server.popen.poll(), None)

    def test_a_zone_that_loses_its_room_goes_to_the_sockets_and_comes_back(self):
        self.put("198.51.100.0/24")
        self.serve_driven(server_lines=("cookies: off",), xdp_lines=("memory: 1M",))
        self.wait_until_driven()
        self.put("198.51.100.0/24", *(f"51.{i // 256}.{i % 256}.1" for i in range(20000)))
        wait_for(lambda: self.zone_rows()[ZONE] == (0, "sockets", "there is no room for it"), "no room")
        self.assertEqual(ask(ADDRESS, LISTED, AAAA).rcode, NOERROR)
        self.put("198.51.100.0/24")
        self.wait_until_driven()
        self.ask_until_driven()


class Reloading(Filler):
    def test_no_answer_of_the_driver_follows_old_rules_behind_a_reload(self):
        self.put("198.51.100.1")
        self.serve_driven(server_lines=("cookies: off",))
        refused = [(ZONE, self.store, CLASSIC, "access: [ all ]")]
        rules = "access:\n  - id: all\n    action: refuse\n"
        for _ in range(3):
            self.wait_until_driven()
            self.ask_until_driven()
            path = self.write_driven(zones=refused, server_lines=("cookies: off",))
            with open(path, "a", encoding="ascii") as file:
                file.write(rules)
            self.ctl("reload")
            self.assertEqual({reply.rcode for reply in ask_all(ADDRESS, [(LISTED, AAAA)] * 200)}, {REFUSED})
            wait_for(lambda: self.zone_rows()[ZONE] == (0, "sockets", "it has rules by address or key"),
                     "the reason")
            self.write_driven(server_lines=("cookies: off",))
            self.ctl("reload")
            wait_for(lambda: ask(ADDRESS, LISTED, AAAA).rcode == NOERROR, "the rules to be gone")

    def test_questions_for_the_query_log_are_left_to_workers(self):
        self.put("198.51.100.1")
        config = self.write_driven()
        server = self.serve_driven()
        self.wait_until_driven()
        with open(config, "a", encoding="ascii") as file:
            file.write(f"dnstap:\n    file: {self.path('log.fstrm')}\n")
        if "this build has no dnstap" in self.try_reload():
            self.expect_log("configuration refused", "not reloaded")
            self.skipTest("this build has no dnstap")
        server.wait_for_log(rf"^info: \[{ZONE}\] left to sockets by the network driver "
                            r"\(its questions are in the query log\)$")
        self.assertEqual(self.zone_rows()[ZONE][1], "sockets")

    def try_reload(self):
        return subprocess.run([program("dnsblv6ctl"), "--socket", self.socket_path, "reload"],
                              capture_output=True, text=True, check=False, timeout=100).stderr


class Dying(Filler):
    def test_a_filler_that_is_killed_is_replaced_and_answers_go_on(self):
        self.expect_log("filler died")
        self.put("198.51.100.1")
        self.serve_driven(server_lines=("cookies: off",))
        self.wait_until_driven()
        for restarts in (1, 2, 3):
            generation, pid, _ = self.filler()
            os.kill(pid, signal.SIGKILL)
            replies = ask_all(ADDRESS, [(LISTED, AAAA)] * 100)
            self.assertEqual({reply.rcode for reply in replies}, {NOERROR})
            wait_for(lambda now=restarts, old=pid: (lambda found: found[2] == now
                     and found[1] not in (0, old))(self.filler()), "another filler")
            self.assertEqual(self.filler()[0], generation)
            self.wait_until_driven()
            self.ask_until_driven()

    def test_without_a_filler_that_lives_sockets_answer_when_leases_have_run_out(self):
        self.put("198.51.100.1")
        self.serve_driven(server_lines=("cookies: off",))
        self.wait_until_driven()
        self.ask_until_driven()
        _, pid, _ = self.filler()
        os.kill(pid, signal.SIGSTOP)
        self.addCleanup(os.kill, pid, signal.SIGCONT)  # or it would not hear that it is to end
        before = self.stats()[ZONE, "queries"]  # nothing of the driver's is counted from here on

        def is_answered_by_worker():
            self.assertEqual(ask(ADDRESS, LISTED, AAAA).rcode, NOERROR)
            return self.stats()[ZONE, "queries"] > before
        wait_for(is_answered_by_worker, "an answer of a worker")
        os.kill(pid, signal.SIGCONT)
        self.ask_until_driven()
        self.assertEqual(self.filler()[1:], (pid, 0))

    def test_it_has_what_a_worker_has_and_workers_do_not_have_its_tables(self):
        self.put("198.51.100.1")
        self.serve_driven()
        self.wait_until_driven()
        _, filler, _ = self.filler()
        worker = next(int(row[3]) for row in self.rows("status") if row[0] == "worker")
        for pid, has_tables in ((filler, True), (worker, False)):
            with open(f"/proc/{pid}/maps", encoding="ascii") as file:
                self.assertEqual("bpf-map" in file.read(), has_tables)
            with open(f"/proc/{pid}/status", encoding="ascii") as file:
                status = dict(line.split(":\t", 1) for line in file.read().splitlines() if ":\t" in line)
            self.assertEqual(int(status["CapEff"], 16) | int(status["CapPrm"], 16), 0)


if __name__ == "__main__":
    main()
