#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
What clients of smtp-front are offered in EHLO: what the mail server behind it has. A sender that
sees neither SMTPUTF8 nor 8BITMIME converts its mail; one that is refused for them bounces it.

Next hops are Debian's Postfix, which needs root and is skipped otherwise, and next_hop.py.
"""

import os
import socket
import sys

import mta
from front import CONTENT, RECIPIENT, SENDER, Front, FrontCase
from harness import CLIENT, DEADLINE_S, main, wait_for

NEXT_HOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "next_hop.py")
EXTENSIONS = {"8BITMIME", "SMTPUTF8", "DSN"}


class OffersCase(FrontCase):
    def front(self, address, **sink):
        host, port = address
        self.fixture = Front(self, front={"workers": 2, "proxy": ["127.0.0.0/8"]},
                             sink={"kind": "smtp", "to": f"{host}@{port}", **sink})
        return self.fixture

    def client(self):
        return self.fixture.client(claimed=CLIENT)

    def offered(self):
        with self.client() as client:
            return EXTENSIONS & set(client.hello().split("\n"))

    def wait_for_offer(self, *expected):
        wait_for(lambda: self.offered() == set(expected), f"an offer of {expected}")

    def send(self):
        with self.client() as client:
            client.hello()
            client.send_mail(SENDER, [RECIPIENT], CONTENT)
            client.say("QUIT", 221)


class PostfixLacks(OffersCase):
    def postfix(self, *lines, tell="none"):
        is_proxy = tell.startswith("proxy")
        hop = mta.Postfix(self, main=lines, proxy=is_proxy)
        self.front(hop.address, tell=tell)

    def test_all_that_it_has_is_offered(self):
        self.postfix("smtputf8_enable = yes")
        self.send()
        self.assertEqual(self.offered(), EXTENSIONS)

    def test_without_smtputf8_it_is_not_offered_behind_the_first_mail(self):
        self.postfix("smtputf8_enable = no")
        self.send()
        self.assertEqual(self.offered(), {"8BITMIME", "DSN"})
        with self.client() as client:
            client.hello()
            client.say(f"MAIL FROM:<{SENDER}> SMTPUTF8", 555)
            client.send_mail(SENDER, [RECIPIENT], CONTENT)

    def test_without_8bitmime_it_is_not_offered_behind_the_first_mail(self):
        self.postfix("smtputf8_enable = yes",
                     "smtpd_discard_ehlo_keywords = 8bitmime, silent-discard")
        self.send()
        self.assertEqual(self.offered(), {"SMTPUTF8", "DSN"})
        with self.client() as client:
            client.hello()
            client.say(f"MAIL FROM:<{SENDER}> BODY=8BITMIME", 555)
            client.send_mail(SENDER, [RECIPIENT], CONTENT)

    def test_it_is_asked_before_there_is_a_mail_however_it_is_told_of_clients(self):
        for tell in ("none", "xclient", "proxy", "proxy2"):
            with self.subTest(tell=tell):
                self.postfix("smtputf8_enable = no",
                             "smtpd_discard_ehlo_keywords = dsn, silent-discard", tell=tell)
                self.wait_for_offer("8BITMIME")
                self.fixture.stop()


class NextHopIsAway(OffersCase):
    def start_hop(self, address):
        hop = self.start([sys.executable, NEXT_HOP, address[0], str(address[1]),
                          self.path("mails")], "next-hop")
        hop.wait_for_log("ready")

    def test_all_is_offered_until_its_first_mail(self):
        address = self.free_address()
        with socket.create_server(address) as silent:
            silent.settimeout(DEADLINE_S)
            self.front(address)
            # That it is asked before there is a mail is over then, and has told nothing.
            silent.accept()[0].close()
        self.assertEqual(self.offered(), EXTENSIONS)
        self.start_hop(address)
        with self.client() as early:
            early.hello()
            wait_for(self.mail_is_taken, "the next hop to be tried again")
            self.assertEqual(self.offered(), {"8BITMIME"})
            # What this one was offered it may say; its mail is refused in the next hop's stead.
            early.say(f"MAIL FROM:<{SENDER}> SMTPUTF8 RET=HDRS", 250)
            self.assertIn("5.6.7", early.say(f"RCPT TO:<{RECIPIENT}>", 550))
            early.say("RSET", 250)
            early.say(f"MAIL FROM:<{SENDER}> RET=HDRS", 250)

    def mail_is_taken(self):
        with self.client() as client:
            client.hello()
            client.say(f"MAIL FROM:<{SENDER}>", 250)
            code, _ = client.say(f"RCPT TO:<{RECIPIENT}>")
            return code == 250


class NoNextHop(OffersCase):
    def test_a_maildir_takes_all(self):
        self.fixture = Front(self, front={"proxy": ["127.0.0.0/8"]})
        self.send()
        self.assertEqual(self.offered(), EXTENSIONS)


if __name__ == "__main__":
    main(has_own_network=True)
