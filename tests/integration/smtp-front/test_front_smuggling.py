#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
No mail within a mail: whatever a client writes where a mail should end, smtp-front ends it at
CR LF . CR LF alone, and neither Postfix nor Exim nor OpenSMTPD behind it sees another end; so it is
where a lone LF spoils the mail, and where it is taken for CR LF.

Needs root, and the mail servers that ./check unpacks; what is missing is skipped.
"""

import itertools
import re

import mta
import opensmtpd
from front import RECIPIENT, SENDER, Client, Front
from harness import Case, main

ENDS = ("\r\n", "\n", "\r", "\r\r\n", "\n\r", "\n\n", "\r\r", "")
# What stands where the end of a mail would; the true one, and dots within a line, left out.
TRICKS = [before + "." + after for before, after in itertools.product(ENDS, ENDS)
          if before != "" and (before + after).replace("\r\n", "") != ""]
HIDDEN = ("MAIL FROM:<smuggled@example.net>\r\n" f"RCPT TO:<{RECIPIENT}>\r\n"
          "DATA\r\nSubject: smuggled\r\n\r\nsecond\r\n")
GOOD = b"Subject: good\r\n\r\nthe only one\r\n"
# In a PROXY header.
EXCLUDED, OTHER = "192.0.2.7", "198.51.100.7"

# A filter that takes part in nothing: the fixture's OpenSMTPD has one.
FILTER = """\
#!/bin/sh
while read -r line; do [ "$line" = "config|ready" ] && echo "register|ready"; done
"""


def is_taken(text):
    """By who takes LF for CR LF."""
    return "\r" not in text.replace("\r\n", "")


def lines_of(trick):
    """The lines that a trick makes, as a mail has them; the dot is text."""
    return [line if line == "." else line.removeprefix(".")
            for line in f"first{trick}MAIL".replace("\r\n", "\n").split("\n")]


class Smuggling(Case):
    def front(self, hop, tell, **limits):
        return Front(self, front={"edges": 1, "workers": 4},
                     limits={"mails": 1000, **limits},
                     sink={"kind": "smtp", "to": f"{hop.address[0]}@{hop.address[1]}", "tell": tell})

    def check(self, hop, tell):
        front = self.front(hop, tell)
        for trick in TRICKS:
            text = f"Subject: first\r\n\r\nfirst{trick}{HIDDEN}"
            for is_chunked in (False, True):
                with self.subTest(trick=trick, is_chunked=is_chunked):
                    self.refuse(front, text, is_chunked)
        with front.client() as client:
            client.hello()
            client.send_mail(SENDER, [RECIPIENT], GOOD)
            client.say("QUIT", 221)
        messages = hop.wait_for_delivered(1)
        self.assertEqual(len(messages), 1, messages)
        self.assertIn(b"the only one", messages[0])
        self.assertNotIn("smuggled", hop.log())
        self.assertEqual(front.counters()["mails-committed"], 1)

    def send(self, client, text, is_chunked):
        client.hello()
        client.say(f"MAIL FROM:<{SENDER}>", 250)
        client.say(f"RCPT TO:<{RECIPIENT}>", 250)
        if is_chunked:
            client.send(f"BDAT {len(text)} LAST\r\n{text}QUIT\r\n".encode())
        else:
            client.say("DATA", 354)
            client.send(f"{text}\r\n.\r\nQUIT\r\n".encode())

    def refuse(self, front, text, is_chunked):
        with Client(front.address) as client:
            self.send(client, text, is_chunked)
            client.expect(521)
            self.assertTrue(client.is_closed())

    def take(self, front, text, is_chunked):
        with Client(front.address) as client:
            self.send(client, text, is_chunked)
            client.expect(250)
            client.expect(221)
            self.assertTrue(client.is_closed())

    def check_normalized(self, hop, tell):
        front = self.front(hop, tell, **{"bare-newline": "normalize"})
        taken = []
        for number, (trick, is_chunked) in enumerate(itertools.product(TRICKS, (False, True))):
            text = f"Subject: {number}.\n\nfirst{trick}{HIDDEN}"
            with self.subTest(trick=trick, is_chunked=is_chunked):
                if is_taken(text):
                    self.take(front, text, is_chunked)
                    taken.append((number, trick, is_chunked))
                else:
                    self.refuse(front, text, is_chunked)
        self.assertEqual(len(taken), 20)
        messages = hop.wait_for_delivered(len(taken))
        self.assertEqual(len(messages), len(taken), messages)
        for number, trick, is_chunked in taken:
            with self.subTest(trick=trick, is_chunked=is_chunked):
                found = [one for one in messages if b"Subject: %d.\n" % number in one]
                self.assertEqual(len(found), 1)
                self.check_lines(found[0].decode(), trick, is_chunked)
        self.assertNotIn("from=<smuggled", hop.log())
        counters = front.counters()
        self.assertEqual(counters["mails-committed"], len(taken))
        self.assertEqual(counters["mails-normalized"], len(taken))

    def check_lines(self, message, trick, is_chunked):
        """Both mails are one, whose lines are those that were sent."""
        text = re.sub(r"(?m)^\.", "..", trick) if is_chunked else trick
        first = "\n".join(lines_of(text))
        self.assertIn(f"\n{first} FROM:<smuggled@example.net>\n", message)
        self.assertIn("\nDATA\nSubject: smuggled\n\nsecond\n", message)

    def test_postfix(self):
        self.check(mta.Postfix(self), "none")

    def test_postfix_normalized(self):
        self.check_normalized(mta.Postfix(self), "none")

    def test_exim(self):
        self.check(mta.Exim(self).start(), "proxy")

    def test_exim_normalized(self):
        self.check_normalized(mta.Exim(self).start(), "proxy")

    def test_opensmtpd(self):
        command = self.write("filter", FILTER)
        self.check(opensmtpd.OpenSmtpd(self, f"/bin/sh {command}"), "proxy2")

    def test_opensmtpd_normalized(self):
        command = self.write("filter", FILTER)
        self.check_normalized(opensmtpd.OpenSmtpd(self, f"/bin/sh {command}"), "proxy2")


class LinesOfLf(Case):
    def client(self, front, address):
        client = Client(front.address)
        self.addCleanup(client.close)
        client.send(f"PROXY TCP4 {address} 192.0.2.1 40000 25\r\n".encode())
        return client

    def front(self, **limits):
        return Front(self, front={"proxy": ["127.0.0.0/8"]}, limits=limits)

    def talk(self, client):
        """As a machine that knows no CR; the end of a mail it has to know."""
        client.expect(220)
        for line, code in (("EHLO machine", 250), (f"MAIL FROM:<{SENDER}>", 250),
                           (f"RCPT TO:<{RECIPIENT}>", 250), ("NOOP " + 2000 * "x", 500),
                           ("DATA", 354)):
            client.send(f"{line}\n".encode())
            client.expect(code)
        client.send(b"Subject: machine\n\n.\n..\n.end\n\r\n.\r\nQUIT\n")
        client.expect(250)
        client.expect(221)
        self.assertTrue(client.is_closed())

    def check_mail(self, front):
        mail, = front.mails()
        self.assertTrue(mail.endswith(b"\nSubject: machine\n\n.\n.\nend\n\n"), mail)

    def test_excluded_client_is_understood_and_another_is_not(self):
        front = self.front(**{"bare-newline-exclusions": ["192.0.2.0/28"]})
        self.talk(self.client(front, EXCLUDED))
        client = self.client(front, OTHER)
        client.expect(220)
        client.send(b"EHLO machine\n")
        self.assertIn("lone LF", client.expect(521))
        self.assertTrue(client.is_closed())
        self.check_mail(front)

    def test_normalize_is_for_all_clients(self):
        front = self.front(**{"bare-newline": "normalize"})
        self.talk(self.client(front, OTHER))
        self.check_mail(front)

    def test_mail_waits_for_its_true_end(self):
        front = self.front(**{"bare-newline": "normalize", "data-timeout": "1s"})
        client = self.client(front, OTHER)
        client.hello()
        client.say(f"MAIL FROM:<{SENDER}>", 250)
        client.say(f"RCPT TO:<{RECIPIENT}>", 250)
        client.say("DATA", 354)
        client.send(b"Subject: unfinished\n\ntext\n.\n")
        client.expect(421)
        self.assertEqual(front.mails(), [])


if __name__ == "__main__":
    main(has_own_network=True)
