#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Debian's Postfix refuses by dnsblv6-policy and by dnsblv6-milter, with the lines of docs/mta.md:
what test_mta.py wants of dnsblv6-translate is wanted of them.

Needs root, unbound and postfix, and is skipped otherwise.
"""

import os

import harness
from harness import Case, main
from mta import Postfix
from translated import LIST, Adapted, Mail, paste


class Policy(Mail, Case):
    text = "$ is listed by bl6.example"

    def setUp(self):
        super().setUp()
        self.server = Postfix(self, paste("postfix policy"))
        self.wired = Adapted(self, LIST, "dnsblv6-policy", self.server)


class Milter(Mail, Case):
    text = "$ is listed by bl6.example"

    def setUp(self):
        super().setUp()
        if not os.path.exists(harness.program("dnsblv6-milter")):
            self.skipTest("no libmilter when this was built")
        self.server = Postfix(self, paste("postfix milter"))
        self.wired = Adapted(self, LIST, "dnsblv6-milter", self.server)


if __name__ == "__main__":
    main()
