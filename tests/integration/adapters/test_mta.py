#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Debian's Postfix, smtpd and postscreen, refuses by bitmaps through dnsblv6-translate, with
the lines of docs/mta.md: who is listed is refused with the list's text, who is not delivers, a
neighbour in the same /25 costs the authority no question, in IPv4 and IPv6; and a translator
that is killed amid a hundred sessions refuses nobody, nor does a resolver.

Needs root, unbound and postfix, and is skipped otherwise.
"""

from harness import IS_SANITIZED, Case, main
from mta import Postfix
from translated import LIST, Mail, Translated, paste


class Smtpd(Mail, Case):
    def setUp(self):
        super().setUp()
        self.wired = Translated(self, LIST)
        self.server = Postfix(self, paste("postfix smtpd"), nameservers=[self.host])


class Postscreen(Mail, Case):
    is_proxied = True
    text = "client [$] blocked using bl.local"  # it asks for no TXT record

    def setUp(self):
        if IS_SANITIZED:
            self.skipTest("what is ours in it is what smtpd has seen, and each session waits")
        super().setUp()
        self.wired = Translated(self, LIST)
        # What a list has not said until then is not waited for.
        self.server = Postfix(self, [*paste("postfix postscreen"), "postscreen_greet_wait = 3s"],
                              postscreen=True, proxy=True, nameservers=[self.host])


if __name__ == "__main__":
    main()
