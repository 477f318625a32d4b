# SPDX-License-Identifier: GPL-3.0-or-later
"""
test_output.py - what all programs do when what they print cannot be written.

Standard output is closed, or full: that is status 74 and one line that says so. Or its reader has
ended: then the program does, in silence, as SIGPIPE has it, also where that is ignored.
"""

import os
import signal
import subprocess

import harness
from harness import EX_IOERR, ZONE, program

LINE = r"^(error: output not written \(.+\)|dnsblv6-lookup: standard output: not written)\n\Z"
SERVER = "server:\n    listen: [ 127.0.0.1@5300 ]\nzone:\n  - domain: bl6.example.\n    store: {store}\n"
FRONT = ("front:\n    listen: [ 127.0.0.1@2525 ]\ntrust:\n    users: {users}\nsink:\n    kind: smtp\n"
         "    to: 127.0.0.1@10025\n")


class Output(harness.Case):
    def run_into(self, command, stdout, **how):
        return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE,
                              text=True, check=False, timeout=harness.DEADLINE_S, **how)

    def check(self, name, *words, status=0):
        """status is that of a program which has printed all."""
        command = [program(name), *words]
        with self.subTest(name=name, words=words):
            good = self.run_into(command, subprocess.PIPE)
            self.assertEqual((good.returncode, good.stdout != ""), (status, True), good.stderr)
            self.check_lost(self.run_into(["sh", "-c", 'exec "$@" >&-', "sh", *command], None))
            with open("/dev/full", "wb") as full:
                self.check_lost(self.run_into(command, full))
            for is_ignored in (False, True):
                reader, writer = os.pipe()
                os.close(reader)
                ended = self.run_into(command, writer, restore_signals=not is_ignored)
                os.close(writer)
                if name != "dnsblv6-lookup" or not is_ignored:
                    self.assertEqual((ended.returncode, ended.stderr), (-signal.SIGPIPE, ""))
                else:
                    self.check_lost(ended)

    def check_lost(self, result):
        self.assertEqual(harness.sanitizer_reports(result.stderr), [])
        self.assertEqual(result.returncode, EX_IOERR, result.stderr)
        self.assertRegex(result.stderr, LINE)

    def test_help_and_version(self):
        for name in harness.PROGRAMS:
            if os.path.exists(program(name)):
                self.check(name, "--help")
                self.check(name, "--version")

    def test_commands_that_are_no_options(self):
        self.check("dnsblv6-zone", "build", "--help")
        self.check("mail-store", "ls", "--help")
        self.check("smtp-front-users", "find", "--help")

    def test_zones(self):
        one, other, key = self.path("one.mdb"), self.path("other.mdb"), self.path("key.pem")
        self.build(one, self.write("one", "192.0.2.1\n"))
        self.build(other, self.write("other", "192.0.2.1\n192.0.2.2\n"))
        self.run_zone("keygen", "--zone", ZONE, "--key", key)
        self.check("dnsblv6-zone", "dump", "--store", one)
        self.check("dnsblv6-zone", "diff", one, other, status=1)
        self.check("dnsblv6-zone", "ds", "--zone", ZONE, "--key", key)
        self.check("dnsblv6-zone", "update", "--store", one, "--dry-run", "--add", "192.0.2.7")
        self.run_zone("update", "--store", one, "--add", "192.0.2.7")
        self.check("dnsblv6-zone", "log", "--store", one)
        self.check("dnsblv6d", "--check", "--config", self.write("d.conf", SERVER.format(store=one)))

    def test_mail(self):
        database = self.path("users.mdb")
        subprocess.run([program("smtp-front-users"), "build", "-d", database,
                        self.write("list", "anna@example.org\n")], check=True, capture_output=True,
                       timeout=harness.DEADLINE_S)
        self.check("smtp-front-users", "dump", "-d", database)
        self.check("smtp-front-users", "find", "-d", database, "anna@example.org")
        self.check("smtp-front", "--check", "--config",
                   self.write("front.conf", FRONT.format(users=database)))

    def test_the_store(self):
        store = self.path("store")
        mail = self.write("mail", "Subject: a\r\n\r\nb\r\n")
        with open(mail, "rb") as file:
            subprocess.run([program("mail-store"), "deliver", "-s", store, "anna@example.org"], stdin=file,
                           check=True, timeout=harness.DEADLINE_S)
        self.check("mail-store", "ls", "-s", store)
        self.check("mail-store", "stat", "-s", store)
        self.check("mail-store", "fsck", "-s", store)

    def test_scanning(self):
        if not os.path.exists(program("mail-scan")):
            self.skipTest("mail-scan is not built")
        rows = self.write("rows.ndb", "Test.One:0:*:6461746120746861742069732062616421\n")
        database = self.path("mail.signatures")
        self.check("mail-scan", "compile", "-o", database, rows)
        self.check("mail-scan", "info", database)
        self.check("mail-scan", "-d", database, self.write("file", "data that is good"))
        self.check("mail-scan", "-d", database, self.write("bad", "data that is bad!"), status=1)


if __name__ == "__main__":
    harness.main()
