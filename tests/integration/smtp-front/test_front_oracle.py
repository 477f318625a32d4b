# SPDX-License-Identifier: GPL-3.0-or-later
"""
Random sessions, which Postfix's smtpd answers command by command; smtp-front hears each of them in one
burst, cut anywhere, and says the same codes.

Only commands about which both agree are in them: smtp-front wants a greeting first and mails without NUL,
and it offers neither VRFY nor ETRN.

Needs root and Debian's postfix; without it is skipped.
"""

import random
import threading

from front import RECIPIENT, Client, Front
from harness import SEED, Case, main
from mta import Postfix

SESSIONS = 60
FROM, TO = b"MAIL FROM:<a@b.example>", f"RCPT TO:<{RECIPIENT}>".encode()
COMMANDS = (
    *[FROM] * 4, b"mail from: <a@b.example>", b"MAIL FROM:<>", b"MAIL FROM:<\"a b\"@b.example>",
    b"MAIL FROM:<@x.example,@y.example:a@b.example>", b"MAIL FROM:<a..b.@b.example>", b"MAIL FROM:<a@[127.0.0.1]>",
    b"MAIL FROM:a@b.example", b"MAIL FROM:<a@b.example.>",
    *[FROM + word for word in (
        b" ENVID=", b" SIZE=100", b" SIZE=x", b" BODY=8BITMIME", b" BODY=7BIT", b" RET=FULL ENVID=a+2Bb",
        b" RET=HDRS", b" RET=x", b" FOO=1", b" SMTPUTF8 BODY=8BITMIME")],
    "MAIL FROM:<ü@b.example> SMTPUTF8".encode(), b"MAIL FROM:<a b@b.example>", b"MAIL FROM:<a@-b.example>",
    b"MAIL FROM:<a@b..example>", b"MAIL FROM:<a@b.example", b"MAIL TO:<a@b.example>", b"MAIL",
    *[TO] * 12, TO.lower(), b"RCPT TO:<nobody@example.com>", b"RCPT TO:<postmaster@example.com>", b"RCPT TO:<>",
    b"RCPT TO:<@a.example:inbox@example.com>", b"RCPT TO:<\"inbox\"@example.com>", b"RCPT FROM:<a@b.example>", b"RCPT",
    *[TO + word for word in (
        b" NOTIFY=NEVER", b" NOTIFY=SUCCESS,FAILURE,DELAY", b" NOTIFY=NEVER,DELAY", b" NOTIFY=x",
        b" ORCPT=rfc822;a+2Bb@c.example", b" ORCPT=rfc822;", b" ORCPT=x", b" FOO=1")],
    b"EHLO a.example", b"HELO a.example", b"EHLO [127.0.0.1]", b"EHLO", b"HELO", b"EHLO %COMPUTERNAME%",
    b"HELO my pc", b"EHLO <a>", b"EHLO a(b", b"HELO \"a;b", "EHLO büro".encode(), b"HELO \x01\x7f", b"RSET", b"NOOP",
    b"NOOP x", b"FOO", b"", b"\xff\xfe", b"x" * 600)
BODIES = (b"Subject: x\r\n\r\nhello\r\n", b"", b"..dot\r\n", b"x" * 2500 + b"\r\n", b"\xff\xfe\r\n", b"y\r\n" * 3000)


def code_of(client):
    """Without a recipient DATA may be either, RFC 5321, 3.3."""
    code = client.reply()[0]
    return 503 if code == 554 else code


class Asked:
    """A session with Postfix, and what another server is to be sent and to answer."""

    def __init__(self, address, chance):
        self.client = Client(address)
        self.chance = chance
        self.sent, self.codes = b"", [code_of(self.client)]
        self.has_recipient = False

    def say(self, data):
        self.client.send(data)
        self.sent += data
        self.codes.append(code_of(self.client))
        return self.codes[-1]

    def mail(self):
        """By DATA, or in chunks."""
        body = self.chance.choice(BODIES)
        if self.chance.random() < 0.5 or not self.has_recipient:
            if self.say(b"DATA\r\n") == 354:
                self.say(body + b".\r\n")
        else:
            cuts = sorted(self.chance.randrange(len(body) + 1) for _ in range(self.chance.randrange(3)))
            for begin, end in zip([0, *cuts], cuts):
                if begin < end:
                    self.say(b"BDAT %d\r\n" % (end - begin) + body[begin:end])
            rest = body[cuts[-1] if cuts else 0:]
            self.say(b"BDAT %d LAST\r\n" % len(rest) + rest)
        self.has_recipient = False

    def step(self):
        if self.chance.random() < 0.15:
            self.mail()
            return
        command = self.chance.choice(COMMANDS)
        is_taken = self.say(command + b"\r\n") == 250
        verb = command[:4].upper()
        if is_taken and verb in (b"EHLO", b"HELO", b"RSET"):
            self.has_recipient = False
        self.has_recipient = self.has_recipient or (is_taken and verb == b"RCPT")


class Oracle(Case):
    def burst(self, address, sent, count):
        """The first count codes of what is sent in pieces of any size."""
        with Client(address) as client:

            def send():
                at = 0
                while at < len(sent):
                    size = self.random.choice((1, 2, 7, 100, 5000, len(sent)))
                    client.send(sent[at:at + size])
                    at += size

            sender = threading.Thread(target=send)
            sender.start()
            codes = [code_of(client) for _ in range(count)]
            sender.join()
            return codes

    def test_bursts_are_answered_as_postfix_answers_each_command(self):
        postfix = Postfix(self, discard=True, main=[
            "smtputf8_enable = yes", "virtual_mailbox_maps = inline:{inbox@example.com=x, postmaster@example.com=x}",
            "smtpd_soft_error_limit = 10000", "smtpd_hard_error_limit = 10000",
            "smtpd_junk_command_limit = 10000", "message_size_limit = 52428800"])
        front = Front(self, users=[RECIPIENT, "postmaster@example.com"],
                      limits={"errors": 10000, "junk-commands": 10000, "commands": 10000, "size": "50M"})
        for number in range(SESSIONS):
            asked = Asked(postfix.address, random.Random(f"{SEED} {number}"))
            asked.say(b"EHLO client.example\r\n")
            for _ in range(asked.chance.randint(2, 25)):
                asked.step()
            asked.client.close()
            with self.subTest(number=number, sent=asked.sent):
                self.assertEqual(self.burst(front.address, asked.sent, len(asked.codes)), asked.codes)


if __name__ == "__main__":
    main()
