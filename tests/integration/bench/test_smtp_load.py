#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
bench/smtp-load against a real Postfix: what it counts is what Postfix has done.

Every session is one of the trace that --print shows, Postfix knows the client's address in
each of the ways to tell it, what it took over is what was counted, and servers that say
nothing, nonsense, or are not there end sessions too. Needs postfix and root; measures nothing.
"""

import collections
import os
import re
import socket
import subprocess
import threading

import harness
from harness import EX_DATAERR, EX_USAGE, main, wait_for
from mta import SESSION_S, Postfix

EX_UNAVAILABLE = 69
PROGRAM = os.path.join(harness.BUILD, "bench/smtp-load/smtp-load")
MIXED = ("--bounces", "0.3", "--unfinished", "0.2", "--spam", "0.5", "--size-sigma", "1",
         "--seed", "7")


# A Postfix that begins puts a service that it finds missing off for a minute.
PATIENT = ("--timeout", 150)


def load(*arguments, expect=0):
    """What it printed, {"delivered": "12", ...}."""
    result = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True,
                            check=False, timeout=SESSION_S)
    if result.returncode != expect or harness.sanitizer_reports(result.stderr):
        raise AssertionError(f"{result.returncode}: {result.stdout}{result.stderr}")
    return dict(word.split("=") for word in result.stdout.split()), result.stderr


def planned(*arguments):
    """The sessions of a trace, as dictionaries."""
    result = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True,
                            check=True, timeout=SESSION_S)
    names, *rows = (line.split("\t") for line in result.stdout.splitlines())
    return [dict(zip(names, row)) for row in rows]


class Served(harness.Case):
    """A Postfix that has user0@example.com and so on, and no others."""

    def serve_mail(self, *main_lines, **how):
        users = self.write("users", "/^user[0-9]+@example[.]com$/ inbox/\n")
        return Postfix(self, discard=True, main=[f"virtual_mailbox_maps = regexp:{users}",
                                                 "smtpd_error_sleep_time = 0",
                                                 *main_lines], **how)

    def check_counts(self, server, *arguments):
        """All sessions end as they were planned, and Postfix says the same."""
        counts, _ = load(*PATIENT, *arguments, *server.address)
        kinds = collections.Counter(row["kind"] for row in planned(
            "--print", counts["sessions"], *arguments))
        self.assertEqual({name: int(counts[name]) for name in (
            "delivered", "bounced", "left", "refused", "deferred", "broken", "timeouts", "errors",
            "open")}, {"delivered": kinds["mail"], "bounced": kinds["bounce"],
                       "left": kinds["unfinished"], "refused": 0, "deferred": 0, "broken": 0,
                       "timeouts": 0, "errors": 0, "open": 0})
        taken = sum(int(row["recipients"]) for row in planned(
            "--print", counts["sessions"], *arguments) if row["kind"] == "mail")
        wait_for(lambda: server.discarded() == taken, "all to be thrown away", SESSION_S)
        return counts


class Counts(Served):
    def test_what_is_counted_is_what_the_server_did(self):
        server = self.serve_mail()
        counts = self.check_counts(server, *MIXED, "--sessions", 60, "--connections", 8)
        self.assertLessEqual(int(counts["open_max"]), 8)
        # Sizes are as planned: Postfix adds its own header only behind its count.
        sizes = {int(size) for size in re.findall(r" size=(\d+), nrcpt", server.log())}
        self.assertEqual(len(sizes), int(counts["delivered"]), "log-normal: all differ")
        # The fixture has looked once whether somebody listens.
        server.wait_for_log(r"lost connection after (?:CONNECT|EHLO|MAIL|RCPT) ",
                            int(counts["left"]) + 1)

    def test_the_same_with_pipelining_and_at_a_rate(self):
        self.check_counts(self.serve_mail(), *MIXED, "--sessions", 60, "--pipelining", "--rate",
                          100, "--poisson")

    def test_the_same_with_many_sessions_on_a_connection(self):
        server = self.serve_mail()
        self.check_counts(server, "--bounces", "0.1", "--spam", "0.5", "--sessions", 60,
                          "--connections", 4, "--reuse", 9)
        connects = len(re.findall(r"postfix/smtpd\[.* connect from ", server.log()))
        self.assertLess(connects, 60)

    def test_the_series_has_all_sessions(self):
        path = self.path("series.tsv")
        counts, _ = load(*PATIENT, "--sessions", 20, "--series", path,
                         *self.serve_mail().address)
        with open(path, encoding="ascii") as file:
            names, *rows = (line.split("\t") for line in file.read().splitlines())
        for name in ("begun", "delivered"):
            self.assertEqual(sum(int(row[names.index(name)]) for row in rows), 20, name)
        self.assertEqual(counts["delivered"], "20")


class Addresses(Served):
    def check_told(self, way, prefix, pattern, **how):
        server = self.serve_mail(**how)
        arguments = ("--draw", prefix, "--sessions", 10, "--connections", 2)
        counts, _ = load(*PATIENT, *arguments, "--tell", way, *server.address)
        self.assertEqual(counts["delivered"], "10")
        told = {row["client"] for row in planned("--print", 10, "--draw", prefix)}
        self.assertEqual(len(told), 10)
        logged = wait_for(lambda: (found := set(re.findall(pattern, server.log())))
                          and told <= found and found, f"{told} in the log", SESSION_S)
        self.assertGreaterEqual(logged, told)

    def test_postfix_is_told_by_xclient(self):
        self.check_told("xclient", "198.18.0.0/15", r"client=unknown\[([^]]+)\]")

    def test_postfix_is_told_by_a_proxy_header(self):
        for way, prefix in (("proxy1", "198.18.0.0/15"), ("proxy2", "198.18.0.0/15"),
                            ("proxy1", "2001:db8::/32"), ("proxy2", "2001:db8::/32")):
            with self.subTest(way=way, prefix=prefix):
                self.check_told(way, prefix, r"client=unknown\[([^]]+)\]", proxy=True,
                                xclient=False)

    def test_postfix_sees_the_address_that_a_connection_comes_from(self):
        self.check_told("bind", "127.99.0.0/16", r"client=unknown\[([^]]+)\]", xclient=False)

    def test_a_trace_is_played_in_its_order(self):
        path = self.write("trace.tsv", "1\t192.0.2.7\n2\t192.0.2.9\n")
        rows = planned("--print", 3, "--clients", path)
        self.assertEqual([row["client"] for row in rows], ["192.0.2.7", "192.0.2.9", "192.0.2.7"])


class Trouble(harness.Case):
    def listen(self):
        server = socket.create_server((self.host, 0))
        self.addCleanup(server.close)
        return server, server.getsockname()

    def test_who_says_nothing_is_given_up(self):
        _, address = self.listen()
        counts, _ = load("--rate", 1000, "--sessions", 30, "--timeout", 0.5, *address,
                         expect=EX_UNAVAILABLE)
        self.assertEqual((counts["sessions"], counts["timeouts"]), ("30", "30"))

    def test_what_is_due_above_the_limit_is_skipped(self):
        _, address = self.listen()
        counts, _ = load("--rate", 10000, "--sessions", 30, "--open-max", 10, "--seconds", 1,
                         "--drain", 0, *address, expect=EX_UNAVAILABLE)
        self.assertEqual([counts[name] for name in ("sessions", "open", "open_max", "skipped")],
                         ["10", "10", "10", "20"])

    def test_who_hangs_up_is_an_error(self):
        server, address = self.listen()

        def hang_up():
            for _ in range(5):
                server.accept()[0].close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        counts, said = load("--sessions", 5, *address, expect=EX_UNAVAILABLE)
        thread.join()
        self.assertEqual(counts["errors"], "5")
        self.assertIn("5 errors, the last: recv: Connection reset by peer", said)

    def test_who_speaks_something_else_breaks_a_session(self):
        server, address = self.listen()

        def speak():
            connection = server.accept()[0]
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n")
            connection.close()

        thread = threading.Thread(target=speak)
        thread.start()
        counts, _ = load("--sessions", 1, *address)
        thread.join()
        self.assertEqual(counts["broken"], "1")

    def test_nobody_there_is_an_exit_status(self):
        server, address = self.listen()
        server.close()
        counts, said = load("--sessions", 3, *address, expect=EX_UNAVAILABLE)
        self.assertEqual(counts["errors"], "3")
        self.assertIn("connect: Connection refused", said)

    def test_wrong_use_is_one_line(self):
        for arguments in (("--bounces", "1.5"), ("--rate", "1", "--connections", "1"),
                          ("--tell", "proxy1"), ("--tell", "shouting"), ("--valid", "user@x"),
                          ("--leave-after", "lunch"), ("--size-range", "9-1"),
                          ("--draw", "192.0.2.1/24"), ("--bounces", "0.6", "--unfinished", "0.6"),
                          ("--rate", "1", "--reuse", "1"), (*MIXED, "--reuse", "1"), ("--draw", "192.0.2.0/24", "--tell",
                                                            "xclient", "--reuse", "1")):
            with self.subTest(arguments=arguments):
                _, said = load(*arguments, "127.0.0.1", "25", expect=EX_USAGE)
                self.assertRegex(said, r"^smtp-load: [^\n]+; try 'smtp-load --help'\n$")

    def test_a_file_of_addresses_is_told_the_line_of(self):
        path = self.write("clients", "192.0.2.1\n192.0.2.256\n")
        _, said = load("--clients", path, "127.0.0.1", "25", expect=EX_DATAERR)
        self.assertIn(f"{path}:2: ", said)


if __name__ == "__main__":
    main()
