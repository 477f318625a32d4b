#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
tests/pop3-suite, before servers whose faults are known: Debian's Dovecot fails what
pop3_suite_dovecot.txt lists for its version and nothing else, and three small servers with one fault
each (broken_pop3.py) fail the tests of that fault.
"""

import json
import os
import shlex
import socket
import subprocess
import sys
import unittest

from broken_pop3 import PASSWORD, USER
from harness import DEADLINE_S, EX_IOERR, EX_UNAVAILABLE, EX_USAGE, SOURCE, Case, main, wait_for

SUITE = os.path.join(SOURCE, "tests/pop3-suite/pop3-suite")
PEERS = os.path.join(SOURCE, "tests/pop3-suite/peers")
HERE = os.path.dirname(os.path.abspath(__file__))

# What looks at octets, at dots and at deletion.
ONLY = ("octets*", "stat-is-sum-of-list", "list-one", "retr-*", "byte-stuffing", "drop-removes-nothing", "rset",
        "quit-removes", "cut-quit-removes-nothing", "numbers")


def suite(*arguments):
    """Its status, and what it wrote."""
    done = subprocess.run([sys.executable, SUITE, *arguments], capture_output=True, text=True, check=False,
                          timeout=10 * DEADLINE_S)
    return done.returncode, done.stdout + done.stderr


class Broken(Case):
    def failures(self, fault):
        """The status, and the names of the tests that fail, before a server with that fault."""
        box = self.path("box")
        os.makedirs(box, exist_ok=True)
        port = self.free_port()
        process = self.start([sys.executable, os.path.join(HERE, "broken_pop3.py"), fault, self.host, str(port), box],
                             f"broken-{fault}")

        def is_listening():
            self.assertIsNone(process.popen.poll(), "the server has ended")
            with socket.socket() as probe:
                return probe.connect_ex((self.host, port)) == 0

        wait_for(is_listening, "the server to listen")
        reset = f"rm -f {shlex.quote(box)}/*; cp -r \"$POP3_SUITE_MAILS\"/. {shlex.quote(box)}/"
        result = self.path(f"{fault}.json")
        only = [word for pattern in ONLY for word in ("--only", pattern)]
        status, text = suite("--host", self.host, "--port", str(port), "--user", USER, "--password", PASSWORD,
                             "--reset", reset, "--json", result, *only)
        self.assertIn(status, (0, 1), text)
        with open(result, encoding="utf-8") as file:
            rows = json.load(file)["results"]
        self.assertNotIn("not run", [row["result"] for row in rows], text)
        return status, {row["name"] for row in rows if row["result"] == "fail"}

    def test_a_server_without_these_faults_passes(self):
        self.assertEqual(self.failures("none"), (0, set()))

    def test_wrong_octets_are_found(self):
        self.assertEqual(self.failures("octets"), (1, {"octets", "octets-of-large"}))

    def test_forgotten_dots_are_found(self):
        self.assertEqual(self.failures("stuffing"), (1, {
            "retr-dots", "retr-dot-first", "retr-dot-last", "retr-long-line", "retr-deleted", "byte-stuffing", "octets",
            "numbers"}))

    def test_deletion_at_once_is_found(self):
        self.assertEqual(self.failures("at-once"), (1, {"drop-removes-nothing", "rset", "cut-quit-removes-nothing"}))


class Program(Case):
    def test_its_status_tells_usage_and_absence(self):
        self.assertEqual(suite()[0], EX_USAGE)
        self.assertEqual(suite("--list", "--only", "no-such-test")[0], EX_USAGE)
        self.assertEqual(suite("--host", self.host, "--port", str(self.free_port()), "--user", USER, "--password",
                               PASSWORD, "--reset", "true")[0], EX_UNAVAILABLE)

    def test_it_lists_each_test_once(self):
        status, text = suite("--list")
        names = [line[26:].split()[0] for line in text.splitlines()]
        self.assertEqual(status, 0)
        self.assertEqual(len(names), len(set(names)))
        self.assertGreaterEqual(len(names), 90)

    def test_a_reader_that_has_enough_ends_it_without_a_traceback(self):
        reading, writing = os.pipe()
        os.close(reading)
        self.addCleanup(os.close, writing)
        done = subprocess.run([sys.executable, SUITE, "--list"], stdout=writing, stderr=subprocess.PIPE, text=True,
                              check=False, timeout=10 * DEADLINE_S)
        self.assertEqual((done.returncode, done.stderr), (EX_IOERR, ""))


class Dovecot(Case):
    def test_it_fails_what_is_known_of_it(self):
        if os.geteuid() != 0:
            raise unittest.SkipTest("a Dovecot that becomes another user needs root")
        if not os.path.exists("/usr/lib/dovecot/pop3"):
            raise unittest.SkipTest("dovecot-pop3d is not installed")
        with open(os.path.join(HERE, "pop3_suite_dovecot.txt"), encoding="ascii") as file:
            lines = [line.strip() for line in file if line.strip() and not line.startswith("#")]
        version, known = lines[0].removeprefix("version "), lines[1:]
        result = self.path("dovecot.json")
        done = subprocess.run([sys.executable, PEERS, "--peer", "dovecot", "--json", result], capture_output=True,
                              text=True, check=False, timeout=10 * DEADLINE_S)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with open(result, encoding="utf-8") as file:
            found = json.load(file)["dovecot"]
        if version not in found["version"]:
            raise unittest.SkipTest(f"Dovecot {found['version']}: what it fails is known of {version} alone")
        self.assertEqual([f"{row['level']} {row['name']}: {row['seen']}" for row in found["results"]
                          if row["result"] == "fail" and f"{row['level']} {row['name']}" not in known], [])
        failed = {f"{row['level']} {row['name']}" for row in found["results"] if row["result"] == "fail"}
        self.assertEqual(set(known) - failed, set(), "is no failure any more")


if __name__ == "__main__":
    main()
