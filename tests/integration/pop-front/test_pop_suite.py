#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
tests/pop3-suite before pop-front: all of it with sessions in the clear, behind STLS, and where TLS begins
at once. Nothing may fail that an RFC says MUST, SHOULD or MAY of.
"""

import json
import os
import shlex
import subprocess
import sys

import harness
from harness import DEADLINE_S, SOURCE, Case, main
from popfront import MAILBOX, PASSWORD, PopFront, make_certificate

SUITE = os.path.join(SOURCE, "tests/pop3-suite/pop3-suite")

# What pop-front does not have: a digest needs the password itself, and UTF8 is what the suite's negation asks for.
NOT_OFFERED = {"apop", "apop-wrong-digest", "apop-replayed", "apop-timestamps", "capa-login-delay", "utf8-not-listed",
               "lang-list", "lang-choice"}
# What cannot be looked at behind TLS, and where it is required.
BEHIND_TLS = {"pipelining-half-closed", "half-closed-at-once", "stls-forgets-user"}
ABOUT_STLS = {"stls", "stls-is-listed", "stls-in-lower-case", "stls-after-login", "stls-twice", "stls-dropped",
              "stls-injection", "stls-failed-handshake", "login-is-listed-behind-stls", "capa-behind-stls"}

# As many sessions as the suite has at once, and no login that waits for another.
MANY = {"pop": {"workers": 60}}


class Suite(Case):
    def reset_command(self, front):
        """Of the shell: the mailbox has the mails of POP3_SUITE_MAILS and no other."""
        tool, at = shlex.quote(harness.program("mail-store")), shlex.quote(front.stored.socket)
        return (f"{tool} rm --store {at} --all {MAILBOX} && for file in \"$POP3_SUITE_MAILS\"/*; do "
                f"[ -e \"$file\" ] || continue; {tool} deliver --store {at} {MAILBOX} <\"$file\" || exit 1; done")

    def run_suite(self, front, *options):
        """The rows of its document."""
        result = self.path("result.json")
        host, port = front.address
        done = subprocess.run(
            [sys.executable, SUITE, "--host", host, "--port", str(port), "--tls-port", str(front.tls_address[1]),
             "--user", MAILBOX, "--password", PASSWORD, "--reset", self.reset_command(front), "--json",
             result, *options], capture_output=True, text=True, check=False, timeout=20 * DEADLINE_S)
        self.assertIn(done.returncode, (0, 1), done.stdout + done.stderr)
        with open(result, encoding="utf-8") as file:
            return json.load(file)["results"]

    def check_that_it_passes(self, front, *options, but=()):
        """All tests but those of NOT_OFFERED and others that this way in leaves out."""
        rows = self.run_suite(front, *options)
        self.assertGreaterEqual(len(rows), 200)
        self.assertEqual([f"{row['level']} {row['name']}: {row['seen']}" for row in rows
                          if row["result"] not in ("pass", "not offered")], [])
        self.assertEqual({row["name"] for row in rows if row["result"] == "not offered"}, NOT_OFFERED | set(but))

    def test_in_the_clear(self):
        front = PopFront(self, certificates=[make_certificate(self)], **MANY)
        self.check_that_it_passes(front, "--stls")

    def test_behind_stls(self):
        front = PopFront(self, certificates=[make_certificate(self)], login={"require-tls": "yes"}, **MANY)
        self.check_that_it_passes(front, "--stls", but=BEHIND_TLS)

    def test_where_tls_begins_at_once(self):
        front = PopFront(self, certificates=[make_certificate(self)], login={"require-tls": "yes"}, **MANY)
        self.check_that_it_passes(front, but=BEHIND_TLS | ABOUT_STLS)


if __name__ == "__main__":
    main()
