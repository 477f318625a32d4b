#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Debian's Postfix, asked about recipients as an edge of smtp-front asks: its own words, its
patience with a client that is told no again and again, and what comes when it is away.

Needs root and postfix, and is skipped otherwise.
"""

import os
import re
import subprocess

from harness import BUILD, Case, main, sanitizer_reports, wait_for
from mta import Postfix


class CallForward(Case):
    def setUp(self):
        super().setUp()
        self.server = Postfix(self, [
            "virtual_mailbox_maps = inline:{ inbox@example.com=inbox/, second@example.com=second/ }",
            "smtpd_relay_restrictions = reject_unauth_destination",
            "smtpd_recipient_restrictions = reject_unlisted_recipient",
        ])

    def ask(self, *groups, address=None, timeout_ms=30000):
        """{address: (code, text)} for groups of addresses, one after the other."""
        host, port = address or self.server.address
        result = subprocess.run(
            [os.path.join(BUILD, "tests/integration/front_asker"), host, str(port),
             str(timeout_ms)],
            input="\n\n".join("\n".join(group) for group in groups) + "\n",
            capture_output=True, check=False, text=True, timeout=200)
        self.assertEqual(sanitizer_reports(result.stderr), [])
        self.assertEqual(result.returncode, 0, result.stderr)
        answers = {}
        for line in result.stdout.splitlines():
            recipient, code, text = line.split("\t")
            answers[recipient] = (int(code), text)
        return answers

    def test_its_own_replies_say_which_recipients_exist(self):
        answers = self.ask(["inbox@example.com", "second@example.com", "nobody@example.com",
                               "inbox@example.net", "postmaster"])
        self.assertEqual(answers["inbox@example.com"], (250, "2.1.5 Ok"))
        self.assertEqual(answers["second@example.com"], (250, "2.1.5 Ok"))
        code, text = answers["nobody@example.com"]
        self.assertEqual(code, 550)
        self.assertRegex(text, "^5.1.1 .*User unknown in virtual mailbox table")
        code, text = answers["inbox@example.net"]
        self.assertEqual(code, 554)
        self.assertRegex(text, "^5.7.1 .*Relay access denied")

    def test_its_delay_for_clients_with_errors_is_not_run_into(self):
        """It would be a second for each from the tenth on, and the end at the twentieth."""
        groups = [[f"nobody{number}@example.com"] for number in range(120)]
        answers = self.ask(*groups, timeout_ms=10000)
        self.assertEqual({code for code, _ in answers.values()}, {550})
        self.assertEqual(len(answers), 120)
        self.assertNotIn("too many errors", self.server.log())

    def test_many_at_once_come_back_with_their_own_answers(self):
        group = [f"nobody{number}@example.com" for number in range(200)] + ["inbox@example.com"]
        answers = self.ask(group)
        self.assertEqual(answers.pop("inbox@example.com")[0], 250)
        for recipient, (code, text) in answers.items():
            self.assertEqual(code, 550)
            self.assertIn(f"<{recipient}>", text)

    def test_without_it_recipients_are_put_off(self):
        answers = self.ask(["inbox@example.com", "second@example.com"],
                                     ["inbox@example.com"], address=self.free_address())
        for code, text in answers.values():
            self.assertEqual(code, 451)
            self.assertRegex(text, "^4.4.1 ")

    def test_no_mail_was_sent_by_asking(self):
        # Its log was seen without a line of a session that had been there.
        def look():
            self.ask(["inbox@example.com"], ["second@example.com", "nobody@example.com"])
            return re.search("disconnect from .* rcpt=", self.server.log())
        wait_for(look, "a session in the log")
        self.assertEqual(self.server.delivered(), [])
        # After CONNECT is the fixture, which looks whether anybody listens; after EHLO one that was
        # still being opened for the third recipient when another had asked about it.
        self.assertNotRegex(self.server.log(), "lost connection after (?!CONNECT|EHLO)")


if __name__ == "__main__":
    main(has_own_network=True)
