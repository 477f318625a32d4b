#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
smtp-front before a mail store: one mail for several recipients is one record and one reply, a full
mailbox is refused before its mail, and a daemon that is gone or slow costs no mail.
"""

import os
import pwd
import signal

import stored
from front import SENDER, USER, Front, FrontCase
from harness import main, wait_for
from stored import Stored

BOXES = ["anna@example.com", "bert@example.com", "carl@example.com"]
CONTENT = b"Subject: once\r\n\r\n.dot\r\nend\r\n"


class StoreCase(FrontCase):
    def front(self, users=tuple(BOXES), **how):
        """smtp-front and the store behind it."""
        self.store = Stored(self, stored=how.pop("stored", {}))
        if os.geteuid() == 0:
            os.chown(self.store.socket, pwd.getpwnam(USER).pw_uid, -1)
        front = Front(self, users=users, sink={"kind": "store", "to": self.store.socket},
                      front={"edges": 1, "workers": 2}, **how)
        return front

    def texts(self, box):
        return [self.store.run_tool("cat", line.split("\t")[0]) for line in
                self.store.run_tool("ls", box).decode().splitlines()]


class Delivery(StoreCase):
    def test_three_recipients_are_one_record_and_one_reply(self):
        front = self.front()
        with front.client() as client:
            client.hello()
            reply = client.send_mail(SENDER, BOXES, CONTENT)
            client.say("QUIT", 221)
        self.assertRegex(str(reply), r"2\.0\.0 Ok: stored as [0-9a-f]{32}")
        with self.store.client() as client:
            stat = client.stat()
            self.assertEqual((stat["mails"], stat["entries"]), (1, 3))
            self.assertEqual(len({ident for box in BOXES for _, ident, _ in client.entries(box)}), 1)
        for box in BOXES:
            text, = self.texts(box)
            head, body = text.split(b"\r\nSubject: ", 1)
            self.assertTrue(head.startswith(f"Return-Path: <{SENDER}>\r\nReceived: ".encode()), head)
            self.assertEqual(b"Subject: " + body, CONTENT)

    def test_an_alias_of_three_mailboxes_is_one_record_and_one_reply(self):
        front = self.front([*BOXES, "all@example.com to=" + ",".join(BOXES),
                            "@example.org to=" + BOXES[0]])
        with front.client() as client:
            client.hello()
            reply = client.send_mail(SENDER, ["All@example.com", BOXES[1], "any@example.org"], CONTENT)
            client.say("QUIT", 221)
        self.assertRegex(str(reply), r"2\.0\.0 Ok: stored as [0-9a-f]{32}")
        with self.store.client() as client:
            stat = client.stat()
            self.assertEqual((stat["mails"], stat["entries"]), (1, 3))
            self.assertEqual([len(client.entries(box)) for box in BOXES], [1, 1, 1])
            self.assertEqual(client.entries("all@example.com"), [])

    def test_an_alias_with_a_full_mailbox_is_refused_and_none_of_them_has_the_mail(self):
        front = self.front([*BOXES, "all@example.com to=" + ",".join(BOXES)],
                           stored={"quota-messages": "1", "index-delay": "10ms"})
        self.deliver(front, BOXES[2])
        with self.store.client() as client:
            wait_for(lambda: client.call(stored.CHECK, name=BOXES[2].encode()).status == stored.EQUOTA,
                     "the index to know of it")
        with front.client() as client:
            client.hello()
            client.say(f"MAIL FROM:<{SENDER}>", 250)
            self.assertIn("4.2.2 Mailbox full", str(client.say("RCPT TO:<all@example.com>", 452)))
            client.say(f"RCPT TO:<{BOXES[0]}>", 250)
            client.say("DATA", 354)
            client.send(CONTENT + b".\r\n")
            client.expect(250)
        with self.store.client() as client:
            self.assertEqual([len(client.entries(box)) for box in BOXES], [1, 0, 1])

    def test_large_and_small_mails_are_byte_equal(self):
        front = self.front(limits={"size": "50M"})
        bodies = [b"", b"x\r\n", b"..\r\n.\r\n..x\r\n"[:4], b"y" * 900 + b"\r\n", b"z" * 70 + b"\r\n",
                  (b"line of some length\r\n") * 40000, b"w" * 33000 + b"\r\n"]
        with front.client() as client:
            client.hello()
            for body in bodies:
                client.send_mail(SENDER, BOXES[:1], CONTENT + body)
        texts = self.texts(BOXES[0])
        self.assertEqual([text.split(b"\r\nSubject: ", 1)[1] for text in texts],
                         [CONTENT[len(b"Subject: "):] + body for body in bodies])

    def test_a_mailbox_is_the_entry_of_the_list(self):
        front = self.front(["bob@example.com", "@example.org"])
        for recipient in ('"bob"@example.com', "BOB@example.com", "any@example.org"):
            self.deliver(front, recipient)
        with self.store.client() as client:
            self.assertEqual(len(client.entries("bob@example.com")), 2)
            self.assertEqual(len(client.entries("@example.org")), 1)

    def test_a_full_mailbox_is_refused_at_its_recipient_and_others_get_the_mail(self):
        front = self.front(stored={"quota-messages": "1", "index-delay": "10ms"})
        self.deliver(front, BOXES[0])
        with self.store.client() as client:
            wait_for(lambda: client.call(stored.CHECK, name=BOXES[0].encode()).status == stored.EQUOTA,
                     "the index to know of it")
        with front.client() as client:
            client.hello()
            client.say(f"MAIL FROM:<{SENDER}>", 250)
            client.say(f"RCPT TO:<{BOXES[1]}>", 250)
            self.assertIn("4.2.2 Mailbox full", str(client.say(f"RCPT TO:<{BOXES[0]}>", 452)))
            client.say("DATA", 354)
            client.send(CONTENT + b".\r\n")
            client.expect(250)
        with self.store.client() as client:
            self.assertEqual([len(client.entries(box)) for box in BOXES], [1, 1, 0])


class Faults(StoreCase):
    def test_without_the_daemon_a_mail_is_put_off_and_comes_when_it_is_back(self):
        front = self.front()
        self.expect_log(r"mail not delivered, to=\S+ \(connect: ")
        self.store.stop()
        with front.client() as client:
            client.hello()
            client.say(f"MAIL FROM:<{SENDER}>", 250)
            client.say(f"RCPT TO:<{BOXES[0]}>", 451)
        self.store.start()
        if os.geteuid() == 0:
            os.chown(self.store.socket, pwd.getpwnam(USER).pw_uid, -1)
        self.deliver(front, BOXES[0])
        with self.store.client() as client:
            self.assertEqual(len(client.entries(BOXES[0])), 1)

    def test_a_daemon_that_is_killed_between_two_mails_of_a_worker_is_found_again(self):
        front = self.front()
        self.expect_log(r"mail not delivered", "process ended, role=store")
        with front.client() as client:
            client.hello()
            client.send_mail(SENDER, BOXES, CONTENT)
            before = self.store.pid_of("store")
            os.kill(before, signal.SIGKILL)
            wait_for(lambda: self.store.pid_of("store") not in (None, before), "another store process")
            client.send_mail(SENDER, BOXES, CONTENT)
        with self.store.client() as client:
            self.assertEqual([len(client.entries(box)) for box in BOXES], [2, 2, 2])

    def test_a_daemon_that_does_not_answer_is_a_451_and_the_mail_is_not_lost(self):
        front = self.front()
        self.assertTrue(front.reload(sink={"timeout": "3s"}))
        self.expect_log(r"mail not delivered, to=\S+ \(deliver: ")
        pid = self.store.pid_of("store")
        with front.client() as client:
            client.hello()
            client.send_mail(SENDER, BOXES[:1], CONTENT)
            client.say(f"MAIL FROM:<{SENDER}>", 250)
            client.say(f"RCPT TO:<{BOXES[0]}>", 250)
            client.say("DATA", 354)
            os.kill(pid, signal.SIGSTOP)
            try:
                client.send(CONTENT + b".\r\n")
                client.expect(451)
            finally:
                os.kill(pid, signal.SIGCONT)
        self.assertTrue(front.reload(sink={"timeout": "5m"}))
        self.deliver(front, BOXES[0])
        with self.store.client() as client:
            self.assertIn(len(client.entries(BOXES[0])), (2, 3))


if __name__ == "__main__":
    main()
