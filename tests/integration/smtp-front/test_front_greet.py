#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
A client whose mail was taken is spared the pause before the banner, and nothing else.

A client that has to wait is told from others by a byte behind its PROXY header: it is early.
"""

import os

import mta
from edge import CLEAR, INBOX, LISTED, NAME, EdgeCase, proxy_v1
from harness import CLIENT, main, outside, wait_for

BALANCER = f"{outside(CLIENT)}/32"
OTHER = "198.51.100.7"


class GreetCache(EdgeCase):
    def balanced(self, front=(), **limits):
        return self.front(front={"proxy": [BALANCER], **dict(front)},
                          limits={"greet-pause": "200ms", **limits})

    def play(self, address):
        client = self.client()
        client.send(proxy_v1(address))
        return client

    def deliver(self, address):
        with self.play(address) as client:
            client.hello()
            client.send_mail("sender@example.net", [INBOX], b"Subject: x\r\n\r\ny\r\n")
            client.say("QUIT", 221)

    def waits(self, address):
        """Has it to wait for the banner?"""
        with self.client() as client:
            client.send(proxy_v1(address) + b"QUIT\r\n")
            return client.reply()[0] == 521

    def test_client_whose_mail_was_taken_is_spared_the_pause_by_all_edges(self):
        self.balanced(front={"edges": 3})
        self.assertTrue(self.waits(CLEAR))
        self.deliver(CLEAR)
        self.assertEqual([self.waits(CLEAR) for _ in range(12)], 12 * [False])
        self.assertTrue(self.waits(OTHER))
        counters = self.counters()
        self.assertEqual((counters["clients-passed"], counters["pauses-spared"]), (1, 12))

    def test_ipv6_client_is_spared_as_well(self):
        self.balanced()
        header = "PROXY TCP6 {} 2001:db8::25 40000 25\r\n"
        for address, code in (("2001:db8::7", 220), ("2001:db8::8", 521)):
            with self.client() as client:
                client.send(header.format("2001:db8::7").encode())
                client.hello()
                client.send_mail("sender@example.net", [INBOX], b"Subject: x\r\n\r\ny\r\n")
            with self.client() as client:
                client.send(header.format(address).encode() + b"QUIT\r\n")
                client.expect(code)

    def test_client_without_a_mail_waits_again(self):
        self.balanced()
        with self.play(CLEAR) as client:
            client.hello()
            client.say("MAIL FROM:<sender@example.net>", 250)
            client.say(f"RCPT TO:<{INBOX}>", 250)
            client.say("QUIT", 221)
        self.fixture.wait_for_sessions(1)
        self.assertTrue(self.waits(CLEAR))
        self.assertEqual(self.counters()["clients-passed"], 0)

    def test_client_that_was_early_and_was_let_waits_again(self):
        self.balanced(**{"early-talker": "ignore"})
        with self.client() as client:
            client.send(proxy_v1(CLEAR) + b"EHLO client.example.net\r\n")
            client.expect(220)
            client.expect(250)
            client.send_mail("sender@example.net", [INBOX], b"Subject: x\r\n\r\ny\r\n")
            client.say("QUIT", 221)
        self.assertEqual(self.counters()["clients-passed"], 0)

    def test_client_that_xclient_names_has_not_waited(self):
        self.balanced(front={"xclient": [f"{OTHER}/32"]})
        with self.play(OTHER) as client:
            client.hello()
            client.say(f"XCLIENT ADDR={CLEAR}", 220)
            client.say("EHLO client.example.net", 250)
            client.send_mail("sender@example.net", [INBOX], b"Subject: x\r\n\r\ny\r\n")
            client.say("QUIT", 221)
        self.assertEqual(self.counters()["clients-passed"], 0)
        self.assertTrue(self.waits(CLEAR))
        self.assertTrue(self.waits(OTHER))

    def test_without_time_each_session_waits(self):
        self.balanced(**{"greet-cache": "0"})
        self.deliver(CLEAR)
        self.assertTrue(self.waits(CLEAR))

    def test_connection_that_was_passed_on_is_enough(self):
        postfix = mta.Postfix(self, master=("passed pass n - n - - smtpd",))
        place = os.path.join(postfix.queue, "public/passed")
        wait_for(lambda: os.path.exists(place), "the pass service")
        # In a Debian the worker's user is in the group postdrop.
        os.chmod(os.path.join(postfix.queue, "public"), 0o711)
        self.front(limits={"greet-pause": "200ms"}, users=None,
                   sink={"kind": "postfix", "to": place})
        for _ in range(2):
            with self.client() as client:
                client.hello()
                client.say("QUIT", 221)
            wait_for(lambda: self.counters()["clients-passed"] == 1, "the client to be known")
        self.assertEqual(self.counters()["pauses-spared"], 1)

    def test_reload_forgets_no_client_and_a_listed_one_is_refused_all_the_same(self):
        front = self.balanced()
        self.deliver(LISTED)
        self.deliver(CLEAR)
        # Without the cache there would be no banner in the time of the test.
        authority = mta.Authority(self, [LISTED])
        host, port = authority.address
        self.assertTrue(front.reload(limits={"greet-pause": "60s"},
                                     library={"zones": [NAME], "servers": [f"{host}@{port}"]}))
        with self.play(LISTED) as client:
            client.hello()
            client.say("MAIL FROM:<a@b.example>", 250)
            client.say(f"RCPT TO:<{INBOX}>", 550)
        self.assertTrue(self.waits(LISTED))
        self.deliver(CLEAR)
        self.assertFalse(self.waits(CLEAR))
        self.assertEqual(self.counters()["pauses-spared"], 3)


if __name__ == "__main__":
    main()
