# SPDX-License-Identifier: GPL-3.0-or-later
"""
popsuite.py - tests/pop3-suite before a PopFront, or what stands before that.

Flow: tests of several rooms -> class X(PopSuite, Case) -> run_suite(front) -> the rows of the suite.
"""

import json
import os
import shlex
import subprocess
import sys

import harness
from harness import DEADLINE_S, SOURCE
from popfront import MAILBOX, PASSWORD

SUITE = os.path.join(SOURCE, "tests/pop3-suite/pop3-suite")

# What pop-front does not have: a digest needs the password itself, and UTF8 is what the suite's negation asks for.
NOT_OFFERED = {"apop", "apop-wrong-digest", "apop-replayed", "apop-timestamps", "capa-login-delay", "utf8-not-listed",
               "lang-list", "lang-choice"}

# As many sessions as the suite has at once, and no login that waits for another.
MANY = {"pop": {"workers": 60}}


class PopSuite:
    """For a Case."""

    def reset_command(self, front):
        """Of the shell: the mailbox has the mails of POP3_SUITE_MAILS and no other."""
        tool, at = shlex.quote(harness.program("mail-store")), shlex.quote(front.stored.socket)
        return (f"{tool} rm --store {at} --all {MAILBOX} && for file in \"$POP3_SUITE_MAILS\"/*; do "
                f"[ -e \"$file\" ] || continue; {tool} deliver --store {at} {MAILBOX} <\"$file\" || exit 1; done")

    def run_suite(self, front, *options, server=None):
        """The rows of its document. server: what stands before it, where that is asked."""
        server = server or front
        result = self.path("result.json")
        host, port = server.address
        done = subprocess.run(
            [sys.executable, SUITE, "--host", host, "--port", str(port), "--tls-port", str(server.tls_address[1]),
             "--user", MAILBOX, "--password", PASSWORD, "--reset", self.reset_command(front), "--json",
             result, *options], capture_output=True, text=True, check=False, timeout=20 * DEADLINE_S)
        self.assertIn(done.returncode, (0, 1), done.stdout + done.stderr)
        with open(result, encoding="utf-8") as file:
            return json.load(file)["results"]
