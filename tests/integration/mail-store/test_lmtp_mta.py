#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Postfix and Exim deliver into mail-stored by LMTP, over TCP and over its UNIX socket: mails are the
same bytes behind the fields that are put in front on their way, one for many recipients is stored
once, and what a store cannot take now stays with them.

Needs root, and for Exim an unpacked exim4-daemon-heavy (./check does that), and is skipped otherwise.
"""

import os
import re
import signal
import smtplib

from harness import SOURCE, Case, main, wait_for
from lmtp_client import LmtpStored
from mta import SESSION_S, Exim, Postfix, need_root

BOXES = ["anna@example.com", "bert@example.com", "carl@example.com"]
# Whole lines, and all fields that a server would add behind others.
HEAD = (b"From: sender@example.net\r\nDate: Sun, 22 Nov 2026 04:42:54 +0000\r\n"
        b"Message-Id: <1@example.net>\r\n")
TEXTS = {
    "dots": HEAD + b"Subject: dots\r\n\r\n.\r\n..\r\n.dot\r\n\r\n.\r\n",
    "empty": HEAD + b"Subject: empty\r\n\r\n",
    "eight": HEAD + b"Subject: eight\r\nMIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n"
             b"Content-Transfer-Encoding: 8bit\r\n\r\ngr\xc3\xbc\xc3\x9fe\r\n",
    "long": HEAD + b"Subject: long\r\n\r\n" + b"x" * 990 + b"\r\n",
    "large": HEAD + b"Subject: large\r\n\r\n" + (b"y" * 70 + b"\r\n") * 10000,
}


MANUAL = "integration/mail/mail-stored/mail-stored.8"
GROUP = "news"  # no user of these tests is in it


def transport_of_manual(path):
    """The lines that mail-stored(8) has for Exim, with the socket and the group of the test."""
    with open(os.path.join(SOURCE, MANUAL), encoding="utf-8") as file:
        block, = re.findall(r"^mail_store:\n(.*?)^\.Ed$", file.read(), re.MULTILINE | re.DOTALL)
    for old, new in (("/run/mail-stored/lmtp", path), ("group = mail-stored", f"group = {GROUP}")):
        assert old in block, block
        block = block.replace(old, new)
    return [line.strip() for line in block.splitlines()]


class Servers:
    """Of each server, by start(store, is_unix)."""

    stored = {}

    def setUp(self):
        super().setUp()
        need_root()
        self.store = LmtpStored(self, stored=self.stored)

    def send(self, server, text, recipients=tuple(BOXES)):
        with smtplib.SMTP(*server.address, timeout=SESSION_S) as session:
            session.ehlo("client.example.net")
            session.sendmail("sender@example.net", recipients, text, ["BODY=8BITMIME"])

    def wait_for_mails(self, count, box=BOXES[0]):
        return wait_for(lambda: len(found := self.store.idents(box)) >= count and found,
                        f"{count} mails in {box}", SESSION_S)

    def check_texts(self, is_unix):
        server = self.start_server(is_unix)
        for name, text in TEXTS.items():
            with self.subTest(name):
                before = self.store.idents(BOXES[0])
                self.send(server, text)
                ident, = set(self.wait_for_mails(len(before) + 1)) - set(before)
                head, kept = self.store.text_of(ident)
                self.assertEqual(kept[-len(text):], text)
                self.assertRegex(kept[:-len(text)], rb"\A(?:[\w-]+: .*\r\n(?:[ \t].*\r\n)*)+\Z")
                self.assertIn("Return-Path: <sender@example.net>\r\n", head)
                self.assertIn("with LMTP id", head)
                for box in BOXES[1:]:
                    self.assertIn(ident, self.store.idents(box))
        with self.store.client() as client:
            self.assertEqual(client.stat()["mails"], len(TEXTS))

    def test_tcp(self):
        self.check_texts(False)

    def test_unix(self):
        self.check_texts(True)

    def test_an_unknown_recipient_bounces_and_the_others_get_the_mail(self):
        """A server that took it for all of its mail would lose or double one."""
        server = self.start_server(False)
        self.send(server, TEXTS["dots"], [BOXES[0], '""@example.com', BOXES[2]])
        self.assertEqual(self.wait_for_mails(1, BOXES[2]), self.store.idents(BOXES[0]))
        self.store.wait_for_log(r'mail accepted, .* recipients=2 mailboxes=2')
        server.wait_for_log(r"550 5\.1\.3 No name for a mailbox")

    def test_what_the_store_cannot_take_now_stays_with_the_server(self):
        self.store.expect_gone()
        server = self.start_server(False)
        self.store.process.send_signal(signal.SIGSTOP)  # makes no other store meanwhile
        os.kill(self.store.pid_of("store"), signal.SIGKILL)
        self.send(server, TEXTS["dots"])
        server.wait_for_log(r"451 4\.3\.0 Try again later")
        self.store.process.send_signal(signal.SIGCONT)
        self.store.wait_for_log(r"info: \[mail-stored\] store is there, ")
        server.run_queue()
        ident, = self.wait_for_mails(1)
        self.assertTrue(self.store.text_of(ident)[1].endswith(TEXTS["dots"]))


class WithPostfix(Servers, Case):
    def start_server(self, is_unix):
        host, port = self.store.address
        place = f"unix:{self.store.lmtp_path}" if is_unix else f"inet:[{host}]:{port}"
        return Postfix(self, main=[f"virtual_transport = lmtp:{place}", "minimal_backoff_time = 1s",
                                   "maximal_backoff_time = 1s", "queue_run_delay = 1s"],
                       master=["lmtp unix - - n - - lmtp", "flush unix n - n 1000? 0 flush",
                               "pickup unix n - n 60 1 pickup"])


class WithExim(Servers, Case):
    """Root delivers: what the daemon begins itself has lost root by -C, and cannot take a group."""

    stored = {"socket-mode": "660", "socket-group": GROUP}

    def send(self, server, text, recipients=tuple(BOXES)):
        super().send(server, text, recipients)
        server.run_queue()

    def start_server(self, is_unix):
        host, port = self.store.address
        transport = transport_of_manual(self.store.lmtp_path)
        if not is_unix:
            transport = ["driver = smtp", "protocol = lmtp", f"hosts = {host}", f"port = {port}",
                         "hosts_override", "allow_localhost", "hosts_try_chunking = *"]
        return Exim(self, proxy=False, transport=transport, main=["accept_8bitmime = true", "queue_only"]).start()


if __name__ == "__main__":
    main()
