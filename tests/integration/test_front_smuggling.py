#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
No mail within a mail: whatever a client writes where a mail should end, smtp-front ends it at
CR LF . CR LF alone, and neither Postfix nor Exim nor OpenSMTPD behind it sees another end.

Needs root, and the mail servers that ./check unpacks; what is missing is skipped.
"""

import itertools

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

# A filter that takes part in nothing: the fixture's OpenSMTPD has one.
FILTER = """\
#!/bin/sh
while read -r line; do [ "$line" = "config|ready" ] && echo "register|ready"; done
"""


class Smuggling(Case):
    def check(self, hop, tell):
        front = Front(self, front={"edges": 1, "workers": 4},
                      limits={"mails": 1000},
                      sink={"kind": "smtp", "to": f"{hop.address[0]}@{hop.address[1]}",
                            "tell": tell, "timeout": "20s"})
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

    def refuse(self, front, text, is_chunked):
        with Client(front.address) as client:
            client.hello()
            client.say(f"MAIL FROM:<{SENDER}>", 250)
            client.say(f"RCPT TO:<{RECIPIENT}>", 250)
            if is_chunked:
                client.send(f"BDAT {len(text)} LAST\r\n{text}QUIT\r\n".encode())
            else:
                client.say("DATA", 354)
                client.send(f"{text}\r\n.\r\nQUIT\r\n".encode())
            client.expect(521)
            self.assertTrue(client.is_closed())

    def test_postfix(self):
        self.check(mta.Postfix(self), "none")

    def test_exim(self):
        self.check(mta.Exim(self).start(), "proxy")

    def test_opensmtpd(self):
        command = self.write("filter", FILTER)
        self.check(opensmtpd.OpenSmtpd(self, f"/bin/sh {command}"), "proxy2")


if __name__ == "__main__":
    main(has_own_network=True)
