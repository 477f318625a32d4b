#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Mails of mixed sizes and recipients into one store, half of them by Postfix over LMTP and half by
smtp-front: each is byte-equal in every mailbox, leaves the store into maildirs, and comes into another
store out of these.

DNSBLV6_MAILS sets how many; Postfix needs root, without which smtp-front sends all.
"""

import hashlib
import os
import queue
import random
import re
import smtplib
import threading

from front import SENDER, Front, FrontCase, is_root
from harness import IS_SANITIZED, main, wait_for
from mta import SESSION_S, Postfix
from stored import Stored

MAILS = int(os.environ.get("DNSBLV6_MAILS", 200 if IS_SANITIZED else 1000))
BOXES = [f"user{number}@example.com" for number in range(20)]
CLIENTS = 8
SIZE_MAX = 200000


class Sent:
    """A mail: who gets it, and what its bytes are from the field X-Mail on."""

    def __init__(self, number, chance):
        self.name = f"X-Mail: {number}\r\n".encode()
        self.boxes = chance.sample(BOXES, chance.choice((1, 1, 1, 2, 3, 5, 15)))
        size = min(int(chance.lognormvariate(8.3, 1.4)), SIZE_MAX)
        lines = []
        while size > 0:
            line = chance.choice((b"", b".", b"..", b".x", b"From here", b"text " * 12, b"\xc3\xbc" * 20,
                                  bytes(chance.choices(range(33, 127), k=chance.randint(1, 200)))))
            lines.append(line)
            size -= len(line) + 2
        # Nothing that a mail server on the way would add behind these.
        self.text = (b"From: sender@example.net\r\nDate: Sun, 22 Nov 2026 04:42:54 +0000\r\n"
                     b"Message-Id: <%d@example.net>\r\nMIME-Version: 1.0\r\n"
                     b"Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n"
                     % number + self.name + b"\r\n" + b"\r\n".join(lines) + b"\r\n")
        self.tail = digest(self.text)


def digest(text):
    """(the mail's own field, a hash of what comes from there on)."""
    at = text.index(b"X-Mail: ")
    return text[at:text.index(b"\r\n", at)], hashlib.sha256(text[at:]).digest()


class Many(FrontCase):
    def setUp(self):
        super().setUp()
        self.lmtp_path = self.path("lmtp.socket")
        self.store = Stored(self, stored={"segment-size": "4M", "socket-mode": "666"}, lmtp={"listen": [self.lmtp_path]})
        self.front = Front(self, users=BOXES, sink={"kind": "store", "to": self.store.socket},
                           front={"edges": 1, "workers": CLIENTS},
                           limits={"size": "10M", "mails": "10000", "commands": "1000000"})

    def send_all(self, address, mails):
        """Over several connections at a time."""
        waiting, errors = queue.SimpleQueue(), []
        for mail in mails:
            waiting.put(mail)

        def run():
            try:
                with smtplib.SMTP(*address, local_hostname="client.example.net", timeout=SESSION_S) as session:
                    session.ehlo()
                    while True:
                        mail = waiting.get_nowait()
                        refused = session.sendmail(SENDER, mail.boxes, mail.text, ["BODY=8BITMIME"])
                        assert not refused, refused
            except queue.Empty:
                pass
            except Exception as error:  # pylint: disable=broad-except
                errors.append(error)

        senders = [threading.Thread(target=run) for _ in range(CLIENTS)]
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join()
        if errors:
            raise errors[0]

    def exported(self, box, at, directory):
        """The texts of a mailbox, out of a maildir."""
        maildir = self.path(directory)
        self.store.run_tool("export", "--maildir", maildir, box, at=at)
        texts = []
        for name in os.listdir(os.path.join(maildir, "new")):
            with open(os.path.join(maildir, "new", name), "rb") as file:
                texts.append(file.read())
        return texts

    def test_every_mail_is_byte_equal_in_every_mailbox_out_and_in_again(self):
        chance = random.Random(MAILS)
        mails = [Sent(number, chance) for number in range(MAILS)]
        half = MAILS // 2 if is_root() else 0
        if half:
            postfix = Postfix(self, main=[f"virtual_transport = lmtp:unix:{self.lmtp_path}",
                                          "lmtp_destination_recipient_limit = 100",
                                          "default_destination_concurrency_limit = 20"],
                              master=["lmtp unix - - n - - lmtp"])
            self.send_all(postfix.address, mails[:half])
        self.send_all(self.front.address, mails[half:])
        wanted = {box: sorted(mail.tail for mail in mails if box in mail.boxes) for box in BOXES}
        entries = sum(len(mail.boxes) for mail in mails)
        with self.store.client() as client:
            wait_for(lambda: client.stat()["entries"] >= entries, "Postfix to have delivered all",
                     SESSION_S + MAILS / 10)
            stat = client.stat()
        # One record each: Postfix gives a mail for many in one transaction.
        self.assertEqual((stat["mails"], stat["entries"]), (MAILS, entries))
        self.assertEqual(self.store.stop(), 0)
        self.assertIn(b"0 findings", self.store.fsck())
        other = self.path("other")
        for number, box in enumerate(BOXES):
            texts = self.exported(box, self.store.directory, f"out{number}")
            self.assertEqual(sorted(digest(text) for text in texts), wanted[box], box)
            self.assertTrue(all(re.match(rb"Return-Path: <sender@example.net>\r\n", text) for text in texts))
            self.store.run_tool("import", "--maildir", self.path(f"out{number}"), box, at=other)
            again = self.exported(box, other, f"again{number}")
            self.assertEqual(sorted(again), sorted(texts), box)


if __name__ == "__main__":
    main()
