#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
mail-proxy before servers of POP3 that lie, or never come to an end: a client has its answer within the
limits, and only what belongs to it.
"""

import contextlib
import itertools
import time

from harness import Case, main
from popclient import Client
from popproxied import Misfit, PopProxy

MAILS = [b"Subject: %d\r\n\r\nsome words, and some more\r\n" % i for i in range(6)]
PAUSE_S = 0.01
LOGIN_TIMEOUT = "5s"  # within which the servers of this test have to answer USER and PASS as well


class Liar(Misfit):
    """
    A server whose answers are a test's.

        said     {verb: bytes that it says in place of its answer, or pieces of them with a pause behind each}
        pieces   a mail is said in so many, with pause_s behind each
        errors   -ERR with which it breaks off; 0: none
    """

    def __init__(self, case, mails, said=None, pieces=1, pause_s=PAUSE_S, errors=0, **how):
        self.said, self.pieces, self.pause_s, self.errors = said or {}, pieces, pause_s, errors
        super().__init__(case, mails, **how)

    def _answer(self, words):
        answer, is_last = super()._answer(words)
        if answer.startswith(b"-ERR") and self.errors:
            self.errors -= 1
            is_last = self.errors == 0
        if words[0] == b"RETR":
            size = len(answer) // self.pieces + 1
            answer = [answer[at:at + size] for at in range(0, len(answer), size)]
        return self.said.get(words[0], answer), is_last

    def _say(self, connection, answer):
        if isinstance(answer, bytes):
            super()._say(connection, answer)
            return
        for piece in answer:
            super()._say(connection, piece)
            time.sleep(self.pause_s)


def rest_of(client):
    got = client.unread
    with contextlib.suppress(EOFError):
        while True:
            got += client.more()
    return got


class Liars(Case):
    def begin(self, server, **how):
        proxy = PopProxy(self, server.address, **how)
        client = Client(proxy.address)
        self.addCleanup(client.close)
        client.login("john", "secret")
        return proxy, client

    def test_an_answer_that_never_ends_has_its_time(self):
        """Each line of it comes at once, and so does each byte of a line that has no end."""
        for verb, first, rest, limits in ((b"CAPA", b"+OK\r\n", b"X\r\n", {"mail-timeout": "1s"}),
                                          (b"LIST", b"+OK\r\n", b"1 1\r\n", {"mail-timeout": "1s"}),
                                          (b"STAT", b"+OK ", b"1", {"reply-timeout": LOGIN_TIMEOUT})):
            with self.subTest(verb=verb):
                server = Liar(self, MAILS, said={verb: itertools.chain([first], itertools.repeat(rest))})
                proxy, client = self.begin(server, limits=limits)
                client.send(verb + b"\r\n")
                self.assertEqual(proxy.ends(), ["server-timeout"])
                said = rest_of(client)
                self.assertNotIn(b"\r\n.", said)
                self.assertTrue(said.startswith(b"-ERR [SYS/TEMP] " if verb == b"STAT" else first), said[:100])

    def test_a_line_that_was_not_asked_for_and_has_no_end_has_the_time_of_an_answer(self):
        server = Liar(self, MAILS, said={b"NOOP": b"+OK\r\n+"})
        proxy, client = self.begin(server, limits={"reply-timeout": LOGIN_TIMEOUT})
        client.say("NOOP", "+OK")
        client.send(b"STAT\r\n")
        client.expect("-ERR [SYS/TEMP]")
        self.assertTrue(client.is_closed())
        self.assertEqual(proxy.ends(), ["server-timeout"])

    def test_each_of_pipelined_mails_has_its_time(self):
        """Together they take longer than one may."""
        server = Liar(self, MAILS, pieces=2, pause_s=0.5)  # a pause may be longer than that
        proxy, client = self.begin(server, limits={"mail-timeout": "3s"})
        client.send(b"".join(b"RETR %d\r\n" % (i + 1) for i in range(len(MAILS))) + b"QUIT\r\n")
        for mail in MAILS:
            client.expect("+OK")
            self.assertEqual(client.body(), mail)
        client.expect("+OK")
        self.assertEqual(proxy.ends(), ["quit"])

    def test_a_server_without_unique_ids_that_counts_errors(self):
        server = Liar(self, MAILS, has_uids=False, errors=3)
        proxy, client = self.begin(server)
        for i, mail in enumerate(MAILS):
            client.say(f"RETR {i + 1}", "+OK")
            self.assertEqual(client.body(), mail)
        client.say("QUIT", "+OK")
        self.assertEqual(proxy.ends(), ["quit"])


if __name__ == "__main__":
    main()
