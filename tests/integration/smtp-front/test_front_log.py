#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
What a help desk finds in the log of smtp-front: a line for each mail, whatever became of it, and
one for each refused recipient. Clients are of 192.0.2.0/24, by a balancer's header.

The case behind a real Postfix needs root and Debian's postfix, and is skipped without.
"""

import fcntl
import os
import re
import subprocess
import time

import harness
import mta
from edge import LISTED, NAME, proxy_v1
from front import RECIPIENT, SENDER, Front, FrontCase
from harness import DEADLINE_S, Case, main, wait_for

CLIENT = "192.0.2.7"
MAIL = (b"Received: from x\r\n\tby y\r\nFrom: <sender@example.net>\r\nMessage-ID:\r\n <1@example.net>\r\n"
        b"Subject: x\r\n\r\nMessage-ID: <not@this>\r\n")


class LogCase(Case):
    def front(self, users=(RECIPIENT,), **sections):
        front = {"edges": 1, "proxy": [f"{self.host}/32"], **sections.pop("front", {})}
        self.fixture = Front(self, users, front=front, **sections)
        return self.fixture

    def client(self, address=CLIENT):
        client = self.fixture.client(self.host)
        self.addCleanup(client.close)
        client.send(proxy_v1(address))
        client.hello("told.example.net")
        return client

    def begin(self, client, *recipients, sender=SENDER, options=""):
        """Replies to RCPT."""
        client.say(f"MAIL FROM:<{sender}>{options}", 250)
        return [client.say(f"RCPT TO:<{recipient}>") for recipient in recipients]

    def lines(self, what):
        """(session, rest) of the lines of that kind."""
        return re.findall(rf"(?m)^info: \[([0-9a-f]{{12}})\] {what}, (.*)$", self.fixture.log())

    def line(self, what, count=1):
        return wait_for(lambda: len(found := self.lines(what)) >= count and found,
                        f"{count} lines '{what}' in\n{self.fixture.log()}")[count - 1][1]


class Mails(LogCase):
    def test_a_mail_that_postfix_has_taken(self):
        """Its queue id is the one that Postfix logs, its session the one of the session's line."""
        postfix = mta.Postfix(self)
        host, port = postfix.address
        self.front(sink={"kind": "smtp", "to": f"{host}@{port}"})
        client = self.client()
        client.send_mail(SENDER, [RECIPIENT], MAIL)
        client.say("QUIT", 221)
        line = self.line("mail accepted")
        found = re.fullmatch(
            rf'number=1 client={CLIENT} helo="told\.example\.net" from="{SENDER}"'
            rf' to="{RECIPIENT}" recipients=1 size={len(MAIL)} message_id="<1@example\.net>"'
            r' reply="250 2\.0\.0 Ok: queued as (\w+)" queue_id="(\w+)"', line)
        self.assertIsNotNone(found, line)
        self.assertEqual(found[1], found[2])
        postfix.wait_for_log(rf"{found[1]}: message-id=<1@example\.net>")
        session, = self.fixture.wait_for_sessions(1)
        self.assertEqual(self.lines("mail accepted")[0][0], session["id"])

    def test_a_mail_to_many_names_each(self):
        """Over more lines than one, with the number of the mail."""
        users = [f"user{i}@example.com" for i in range(100)]
        self.front(users)
        client = self.client()
        client.send_mail(SENDER, users[:1], MAIL)
        client.send_mail("", users, MAIL)
        client.say("QUIT", 221)
        self.assertIn('number=2 client=192.0.2.7 helo="told.example.net" from="" to="user0@',
                      self.line("mail accepted", 2))
        text = "".join(rest for _, rest in self.lines("mail accepted")[1:]
                       + self.lines("mail recipients"))
        self.assertEqual(re.findall(r' to="([^"]*)"', text), users)
        self.assertIn(" recipients=100 ", text)
        self.assertTrue(all(rest.startswith("number=2 ")
                            for _, rest in self.lines("mail recipients")))

    def test_a_mail_that_breaks_the_rules(self):
        self.front()
        client = self.client()
        self.begin(client, RECIPIENT)
        client.say("DATA", 354)
        client.send(MAIL + b"lone\nLF\r\n.\r\n")
        client.expect(521)
        line = self.line("mail refused")
        self.assertIn(f' to="{RECIPIENT}" recipients=1 ', line)
        self.assertTrue(line.endswith(' message_id="<1@example.net>" reply="521 5.6.0 Lines end with CR LF,'
                                      ' lone LF received" (bare_lf)'), line)

    def test_a_mail_that_the_sink_cannot_take_now(self):
        self.expect_log("mail not delivered")
        self.front()
        client = self.client()
        self.begin(client, RECIPIENT)
        os.rename(self.fixture.maildir, self.fixture.maildir + ".gone")
        self.addCleanup(os.rename, self.fixture.maildir + ".gone", self.fixture.maildir)
        for folder in ("tmp", "new", "cur"):  # the worker has the directory open
            path = os.path.join(self.fixture.maildir + ".gone", folder)
            if os.path.isdir(path):
                os.rmdir(path)
            with open(path, "w", encoding="ascii"):
                pass
        client.say("DATA", 451)
        client.say("QUIT", 221)
        self.assertRegex(self.line("mail deferred"),
                         rf' to="{RECIPIENT}" .* reply="451 4\.3\.0 [^"]*" \(sink\)$')

    def test_a_mail_whose_client_goes_away(self):
        self.front()
        for text in (b"DATA\r\n" + MAIL, b"BDAT %d\r\n" % len(MAIL) + MAIL):
            client = self.client()
            self.begin(client, RECIPIENT)
            client.send(text)
            client.expect(354 if text.startswith(b"DATA") else 250)
            client.reset()
            self.fixture.wait_for_sessions(1)
        self.line("mail cut", 2)
        ends = sorted(rest.rsplit("(", 1)[1] for _, rest in self.lines("mail cut"))
        self.assertEqual(ends, ["aborted)", "client gone)"])
        for _, rest in self.lines("mail cut"):
            self.assertIn(f'from="{SENDER}" to="{RECIPIENT}" recipients=1 ', rest)

    def test_a_mail_refused_by_a_chunk_that_is_too_large(self):
        self.front(limits={"size": "10K"})
        client = self.client()
        self.begin(client, RECIPIENT)
        client.send(b"BDAT %d\r\n" % len(MAIL) + MAIL + b"BDAT 20000 LAST\r\n" + b"x" * 20000)
        client.expect(250)
        client.expect(552)
        client.say("QUIT", 221)
        self.assertRegex(self.line("mail refused"), r'message_id="<1@example\.net>" reply="552 [^"]*" \(protocol\)')


class Refusals(LogCase):
    def listing(self, **sections):
        authority = mta.Authority(self, [LISTED])
        host, port = authority.address
        return self.front(library={"zones": [NAME], "servers": [f"{host}@{port}"]}, **sections)

    def test_a_recipient_that_there_is_not(self):
        """Of an edge, and of the worker that has the session then."""
        self.front()
        client = self.client()
        self.begin(client, "eve@example.com", RECIPIENT, "mallory@example.com",
                   "someone@elsewhere.example")
        client.say("QUIT", 221)
        who = rf'client={CLIENT} helo="told\.example\.net" from="{SENDER}"'
        self.line("recipient refused", 3)
        for (_, rest), (address, reply) in zip(self.lines("recipient refused"), (
                ("eve@example.com", r'"550 5\.1\.1 No such user here" \(unknown\)'),
                ("mallory@example.com", r'"550 5\.1\.1 No such user here" \(unknown\)'),
                ("someone@elsewhere.example", r'"550 5\.7\.1 We do not relay" \(not ours\)'))):
            self.assertRegex(rest, rf'^{who} to="{address}" reply={reply}$')
        session, = self.fixture.wait_for_sessions(1)
        self.assertEqual({ident for ident, _ in self.lines("recipient refused")}, {session["id"]})

    def test_a_client_that_is_listed(self):
        self.listing()
        client = self.client(LISTED)
        self.begin(client, RECIPIENT)
        client.say("QUIT", 221)
        self.assertRegex(self.line("recipient refused"),
                         rf'^client={LISTED} .* to="{RECIPIENT}" zones="{NAME}" reply="550 5\.7\.1 '
                         rf'Service unavailable; {LISTED} is listed by {NAME}" \(verdict\)$')

    def test_a_recipient_that_the_next_hop_refuses(self):
        """In its words, from the worker; and from the edge where it is asked there."""
        postfix = mta.Postfix(self)
        host, port = postfix.address
        place = f"{host}@{port}"
        self.front(["@example.com", "@elsewhere.example"], sink={"kind": "smtp", "to": place})
        client = self.client()
        self.begin(client, "a@elsewhere.example")
        client.say("QUIT", 221)
        pattern = r' to="a@elsewhere\.example" reply="454 4\.7\.1 .*Relay access denied" \(next hop\)$'
        self.assertRegex(self.line("recipient refused"), pattern)
        self.fixture.stop()
        self.front(None, trust={"users": None, "forward": place}, sink={"kind": "smtp", "to": place})
        client = self.client()
        self.begin(client, "a@elsewhere.example")
        client.say("QUIT", 221)
        self.assertRegex(self.line("recipient refused"), pattern)

    def test_refused_commands_are_logged_as_they_came(self):
        """A line as it came, from edge and worker: a mail announced too large, too many recipients."""
        self.front(limits={"recipients": 1, "size": "10K"})
        client = self.client()
        client.say(f"MAIL FROM:<{SENDER}> SIZE=20000", 552)
        self.assertRegex(self.line("sender refused"),
                         rf'helo="told\.example\.net" command="MAIL FROM:<{SENDER}> SIZE=20000"'
                         r' reply="552 5\.3\.4 [^"]*" \(protocol\)$')
        self.begin(client, RECIPIENT)
        client.say("RCPT TO:<second@example.com>", 452)
        client.say("QUIT", 221)
        self.assertRegex(self.line("recipient refused"),
                         rf'from="{SENDER}" command="RCPT TO:<second@example\.com>"'
                         r' reply="452 4\.5\.3 Too many recipients" \(protocol\)$')

    def test_addresses_in_utf_8_are_readable(self):
        """In all lines; what would turn the line around is not."""
        user = "j\u00fcrgen@example.com"
        self.front([user])
        client = self.client()
        self.begin(client, "\u7528\u6237@example.com", "a\u202eb@example.com", user,
                   sender="gr\u00fc\u00df@example.net", options=" SMTPUTF8")
        client.say("DATA", 354)
        client.send("Message-ID: <gr\u00fc\u00df@example.net>\r\n\r\nx\r\n.\r\n".encode())
        client.expect(250)
        client.say("QUIT", 221)
        self.assertIn(f'from="gr\u00fc\u00df@example.net" to="{user}" ', self.line("mail accepted"))
        self.assertIn('message_id="<gr\u00fc\u00df@example.net>"', self.line("mail accepted"))
        self.assertIn('to="\u7528\u6237@example.com"', self.line("recipient refused"))
        self.assertIn(r'to="a\xe2\x80\xaeb@example.com"', self.line("recipient refused", 2))
        session, = self.fixture.wait_for_sessions(1)
        self.assertEqual((session["from"], session["to"]), ("gr\u00fc\u00df@example.net", user))

    def test_a_flood_of_refusals_does_not_fill_the_log(self):
        """Each session has its first line, and what is left out is told."""
        self.front(limits={"errors": 10000, "commands": 10000})
        clients = [self.client(), self.client()]
        for client in clients:
            client.say(f"MAIL FROM:<{SENDER}>", 250)
        count, begin_s = 3000, time.monotonic()
        self.flood(clients[0], count)
        self.flood(clients[1], 1)
        lines_max = 2 + 50 * (time.monotonic() - begin_s + 2)
        pattern = r"(?m)^info: \[smtp-front\] lines left out, edge=0 sessions=0 refusals=(\d+)$"
        wait_for(lambda: sum(map(int, re.findall(pattern, self.fixture.log())))
                 + len(self.lines("recipient refused")) == count + 1, "what was left out")
        written = self.lines("recipient refused")
        self.assertLess(len(written), lines_max)
        self.assertEqual(len({ident for ident, _ in written}), 2)

    def test_what_is_left_out_is_told_at_the_end(self):
        self.front(limits={"errors": 10000, "commands": 10000})
        client = self.client()
        client.say(f"MAIL FROM:<{SENDER}>", 250)
        self.flood(client, 500)
        client.say("QUIT", 221)
        self.fixture.process.stop()
        told = re.findall(r"(?m)^info: \[smtp-front\] lines left out, edge=0 sessions=0 refusals=(\d+)$", self.fixture.log())
        self.assertEqual(sum(map(int, told)) + len(self.lines("recipient refused")), 500)

    def test_a_flood_behind_a_valid_recipient_neither(self):
        self.front(limits={"errors": 10000, "commands": 10000})
        client = self.client()
        self.begin(client, RECIPIENT)
        count, begin_s = 3000, time.monotonic()
        self.flood(client, count)
        lines_max = 1 + 10 * (time.monotonic() - begin_s + 2)
        client.say("QUIT", 221)
        told, = self.fixture.wait_for_log(
            r"^info: \[[0-9a-f]{12}\] lines left out, refusals=(\d+)$")
        written = self.lines("recipient refused")
        self.assertEqual(int(told) + len(written), count)
        self.assertLess(len(written), lines_max)

    def flood(self, client, count):
        for begin in range(0, count, 100):
            part = min(100, count - begin)
            client.send(b"RCPT TO:<nobody@example.com>\r\n" * part)
            for _ in range(part):
                client.expect(550)


class Unread(FrontCase):
    def test_a_log_whose_reader_hangs_stops_no_session(self):
        front = Front(self, front={"edges": 1, "workers": 1}, is_started=False)
        log, end = os.pipe()
        self.addCleanup(os.close, log)
        fcntl.fcntl(end, fcntl.F_SETPIPE_SZ, 4096)
        process = subprocess.Popen([harness.program("smtp-front"), "--config", front.config_path],
                                   stdin=subprocess.DEVNULL, stderr=end)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        os.close(end)
        text = b""
        while b"] ready, " not in text:
            text += os.read(log, 65536)
        for _ in range(20):  # of which each has some hundred bytes
            self.deliver(front)
        self.assertLessEqual(len(text := os.read(log, 65536)), 4096)
        # Now there is room; which process has more to say first is its own business.
        while b"\nwarning: lines left out, count=" not in text:
            self.deliver(front)
            text += os.read(log, 65536)
        process.terminate()
        self.assertEqual(process.wait(DEADLINE_S), 0)


if __name__ == "__main__":
    main()
