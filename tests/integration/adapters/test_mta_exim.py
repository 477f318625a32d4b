#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Exim understands dnsblv6-translate in every form of dnslists, and loses no mail with it.

A daemon with the lines of docs/mta.md, and "exim -bh" for the forms that Exim's manual
has. Two lists stand behind the zone, so that a client in both has two A records.

Needs root, unbound and an unpacked exim4-daemon-heavy (./check does that), and is skipped
otherwise.
"""

from harness import ZONE, Case, main
from mta import Exim, Session
from translated import (LIST, LISTED, LISTED_6, NEIGHBOURS, OTHER, OTHER_6, Mail, Translated,
                        paste)

TEXT = f"{LISTED} is listed, see https://bl.example/?ip={LISTED}"
YES, NO, LATER = 550, 250, 451
ANYBODY = ["anybody:", "  driver = plaintext", "  public_name = PLAIN", "  server_prompts = :",
           "  server_condition = true", "  server_set_id = $auth2"]

# Both lists have LISTED: 127.0.0.2 and 127.0.0.4. Nothing is in none.local.
FORMS = [
    ("bl.local", YES),
    ("bl.local=127.0.0.2", YES),
    ("bl.local=127.0.0.3", NO),
    ("bl.local=127.0.0.3,127.0.0.4", YES),
    ("bl.local&0.0.0.2", YES),
    ("bl.local&0.0.0.6", NO),
    ("bl.local&0.0.0.8", NO),
    ("bl.local!=127.0.0.2", NO),
    ("bl.local!=127.0.0.3", YES),
    ("bl.local!&0.0.0.8", YES),
    ("bl.local==127.0.0.2,127.0.0.4", YES),
    ("bl.local==127.0.0.2", NO),
    ("bl.local=&0.0.0.2", NO),
    ("bl.local,bl.local=127.0.0.4", YES),
    ("none.local", NO),
    ("none.local : bl.local", YES),
    ("none.local : bl.local=127.0.0.3 : bl.local=127.0.0.4", YES),
    ("none.local,bl.local=127.0.0.3", NO),
    ("bl.local/$sender_host_address", YES),
    (f"bl.local/{OTHER}", NO),
    (f"bl.local/<|{OTHER}|{LISTED}", YES),
]


class Daemon(Mail, Case):
    is_proxied = True

    def setUp(self):
        super().setUp()
        self.wired = Translated(self, LIST)
        self.server = Exim(self, paste("exim"), nameservers=[self.host], authenticators=ANYBODY).start()

    def test_one_that_has_logged_in_passes(self):
        with Session(self.server.address, LISTED, proxy=True) as session:
            session.command("EHLO us.example.net")
            self.assertEqual(session.command("AUTH PLAIN AGpvZQBTZWNyZXQ3"), 235)
            session.send_message()
        self.assertEqual(session.outcome.trouble, [])
        self.assertTrue(session.outcome.is_accepted)


class Forms(Case):
    def setUp(self):
        super().setUp()
        self.wired = Translated(
            self, LIST, {"bl6.example:127.0.0.2": "bl6.example:127.0.0.2, bl.example:127.0.0.4"},
            ['local-zone: "none.local." static'])

    def bh(self, dnslists, client, *lines):
        """The reply to RCPT, its text, and what Exim told aside."""
        exim = Exim(self, ["deny", f"  dnslists = {dnslists}", *lines], nameservers=[self.host])
        outcome, aside = exim.bh(client)
        command, code, text = outcome.replies[3]
        self.assertTrue(command.startswith("RCPT"))
        return code, text, aside

    def test_forms(self):
        for form, code in FORMS:
            with self.subTest(form):
                self.assertEqual(self.bh(form, LISTED)[0], code, self.bh(form, LISTED))
                self.assertEqual(self.bh(form, OTHER)[0],
                                 YES if LISTED in form else NO, self.bh(form, OTHER))

    def test_ipv6(self):
        self.assertEqual(self.bh("bl.local=127.0.0.2", LISTED_6)[0], YES)
        self.assertEqual(self.bh("bl.local", OTHER_6)[0], NO)

    def test_variables(self):
        message = "  message = $dnslist_domain|$dnslist_matched|$dnslist_value|$dnslist_text"
        _, text, _ = self.bh("none.local : bl.local", LISTED, message)
        domain, matched, value, said = " ".join(text.split()).split("|")
        self.assertEqual((domain, matched, said), ("bl.local", LISTED, TEXT))
        self.assertEqual(sorted(value.split(", ")), ["127.0.0.2", "127.0.0.4"])

    def test_neighbours(self):
        self.assertEqual(self.bh("bl.local", LISTED)[0], YES)
        asked = self.wired.authority.questions(ZONE)
        for client in NEIGHBOURS[:5]:
            self.assertEqual(self.bh("bl.local", client)[0], NO)
        self.assertEqual(self.wired.authority.questions(ZONE), asked)

    def test_dead_translator(self):
        """As the administrator chose; by default the client is let through."""
        self.wired.kill()
        for form, code in (("bl.local", NO), ("+exclude_unknown : bl.local", NO),
                           ("+include_unknown : bl.local", YES),
                           ("+defer_unknown : bl.local", LATER)):
            with self.subTest(form):
                self.assertEqual(self.bh(form, LISTED)[0], code, self.bh(form, LISTED))
        self.wired.start()
        self.assertEqual(self.bh("+defer_unknown : bl.local", "203.0.114.9")[0], YES)


if __name__ == "__main__":
    main()
