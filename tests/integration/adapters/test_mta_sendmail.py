#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
sendmail refuses by bitmaps through dnsblv6-translate, with the line of docs/mta.md.

Its FEATURE(`enhdnsbl') knows IPv4 alone. Clients connect from outside, since sendmail believes only
the connection. Needs root, unbound and an unpacked sendmail (./check
does that), and is skipped otherwise.
"""

from harness import Case, main, wait_for
from mta import SESSION_S
from sendmail import Sendmail
from translated import LIST, LISTED, NEIGHBOURS, OTHER, Translated, paste


class Dnsbl(Case):
    def setUp(self):
        super().setUp()
        self.wired = Translated(self, LIST)
        self.server = Sendmail(self, paste("sendmail"), nameserver=self.host)

    def test_who_is_listed_is_refused_and_a_block_is_asked_for_once(self):
        code, text = self.server.send(LISTED)
        self.assertEqual(code, 550, text)
        self.assertIn(f"{LISTED} is listed: https://bl.example/?ip={LISTED}".encode(), text)
        asked = self.wired.authority.questions()
        self.assertGreater(asked, 0)
        self.assertEqual(self.server.send(NEIGHBOURS[0])[0], 250)
        self.assertEqual(self.wired.authority.questions(), asked)
        self.assertEqual(self.server.send(OTHER)[0], 250)
        self.assertEqual(len(self.server.mails()), 2)

    def test_a_translator_that_is_dead_refuses_nobody(self):
        self.wired.kill()
        self.assertEqual(self.server.send(LISTED)[0], 250)
        self.wired.start()
        # Unbound keeps for a few seconds that there was no answer about this address.
        wait_for(lambda: self.server.send(LISTED)[0] == 550, "the list to count again", SESSION_S)


class Misled(Case):
    def test_an_address_that_is_no_code_of_a_list_refuses_nobody(self):
        Translated(self, LIST, unbound_own=['local-zone: "bl.local" redirect',
                                            'local-data: "bl.local A 203.0.113.80"'])
        server = Sendmail(self, paste("sendmail"), nameserver=self.host)
        code, text = server.send(OTHER)
        self.assertEqual(code, 250, text)


if __name__ == "__main__":
    main(has_own_network=True)
