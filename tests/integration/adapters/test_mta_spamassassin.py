#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
SpamAssassin scores by bitmaps through dnsblv6-translate, with the rule of docs/mta.md.

Needs root, unbound and spamassassin, and is skipped otherwise. It runs as spamassassin -t with
that rule alone, which takes a second for each message.
"""

import os
import subprocess

from harness import Case, main, peer
from mta import SESSION_S
from translated import (LIST, LISTED, LISTED_6, NEIGHBOURS, NEIGHBOURS_6, OTHER, OTHER_6,
                        Translated, paste)

PLUGINS = """\
loadplugin Mail::SpamAssassin::Plugin::Check
loadplugin Mail::SpamAssassin::Plugin::DNSEval
"""
HEADERS = "dns_available yes\nclear_headers\nadd_header all Tests _TESTS_\n"

MESSAGE = """\
Received: from a.example.net (a.example.net [{client}])
\tby mx.example.com (Postfix) with ESMTP id 4ABC
\tfor <inbox@example.com>; Fri, 20 Nov 2026 12:00:00 +0000 (UTC)
From: sender@example.net
To: inbox@example.com
Subject: test
Message-Id: <test@example.net>
Date: Fri, 20 Nov 2026 12:00:00 +0000

test
"""


class SpamAssassin(Case):
    def setUp(self):
        super().setUp()
        self.program = peer("spamassassin")
        self.wired = Translated(self, LIST)
        self.rules = self.path("rules")
        os.mkdir(self.rules)
        self.write("rules/init.pre", PLUGINS)
        lines = paste("spamassassin", {"127.0.0.1:53": f"[{self.host}]:53"})
        self.write("rules/local.cf", HEADERS + "\n".join(lines) + "\n")

    def is_hit(self, client):
        text = MESSAGE.format(client=f"IPv6:{client}" if ":" in client else client)
        result = subprocess.run([self.program, "--test-mode", "--nocreate-prefs", "--configpath",
                                 self.rules, "--siteconfigpath", self.rules], input=text,
                                capture_output=True, text=True, check=False, timeout=SESSION_S,
                                env={**os.environ, "HOME": self.directory})
        self.assertIn("X-Spam-Tests:", result.stdout, result.stderr)
        return "RCVD_IN_BL6" in result.stdout

    def test_who_is_listed_scores_and_a_block_is_asked_for_once(self):
        for listed, neighbour, other in ((LISTED, NEIGHBOURS[0], OTHER),
                                         (LISTED_6, NEIGHBOURS_6[0], OTHER_6)):
            with self.subTest(listed):
                self.assertTrue(self.is_hit(listed))
                asked = self.wired.authority.questions()
                self.assertFalse(self.is_hit(neighbour))
                self.assertEqual(self.wired.authority.questions(), asked)
                self.assertFalse(self.is_hit(other))

    def test_a_translator_that_is_dead_scores_nobody(self):
        self.wired.kill()
        self.assertFalse(self.is_hit(LISTED))
        self.wired.start()
        self.assertTrue(self.is_hit("203.0.114.9"))


if __name__ == "__main__":
    main()
