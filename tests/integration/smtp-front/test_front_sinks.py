#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
What becomes of mail behind smtp-front: real next hops get it byte by byte, and where the sink
fails nobody is told that it did not.

Needs root, and Debian's postfix, swaks and dovecot-lmtpd; what is missing is skipped.
"""

import errno
import os
import re
import socket
import subprocess
import threading

import mta
from dovecot import Dovecot
from front import RECIPIENT, SENDER, Front, make_certificate
from harness import CLIENT, Case, main, outside, peer, wait_for

# What could go wrong on its way: dots, long lines, bytes, blank lines at the end.
MAIL = (b"From: <sender@example.net>\r\nTo: <inbox@example.com>\r\nSubject: whole\r\n"
        b"Message-ID: <1@example.net>\r\nDate: Sun, 22 Nov 2026 04:42:54 +0000\r\n"
        b"MIME-Version: 1.0\r\nContent-Transfer-Encoding: 8bit\r\n\r\n"
        b".\r\n..\r\n...dots\r\nFrom here\r\n" + b"x" * 990 + b"\r\n"
        + "Grüße\r\n".encode() + b" \t\r\n\r\n\r\n")


def behind_trace(message):
    """What stands behind our Received header, with CRLF."""
    text = message.replace(b"\r\n", b"\n")
    found = re.search(rb"^Received: from [^\n]+\n(?:\t[^\n]*\n)*?\tby [^\n]+ \(smtp-front\)"
                      rb"(?:[^\n]*\n\t)*[^\n]* \+0000\n", text, re.MULTILINE)
    if found is None:
        raise AssertionError(f"no Received header of ours: {message!r}")
    return text[found.end():].replace(b"\n", b"\r\n")


def place(address):
    return f"{address[0]}@{address[1]}"


def refuses(address):
    with socket.socket() as attempt:
        return attempt.connect_ex(address) == errno.ECONNREFUSED


class SinkCase(Case):
    """A front before a next hop."""

    def front(self, kind, to, users=(RECIPIENT,), sink=(), **sections):
        sections.setdefault("front", {"edges": 1})
        self.fixture = Front(self, users, sink={"kind": kind, "to": to, **dict(sink)}, **sections)
        return self.fixture

    def swaks(self, *arguments, recipient=RECIPIENT):
        """Sends MAIL as it stands."""
        data = re.sub(rb"(?m)^\.", b"..", MAIL) + b".\r\n"
        path = self.write("swaks.data", data)
        host, port = self.fixture.address
        result = subprocess.run(
            [peer("swaks"), "--server", host, "--port", str(port), "--from", SENDER, "--to",
             recipient, "--helo", "client.example.net", "--no-data-fixup", "--data", f"@{path}",
             *arguments], capture_output=True, text=True, errors="replace", check=False,
            timeout=mta.SESSION_S)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr + self.fixture.log())
        return result.stdout

    def send_chunks(self, sizes):
        """MAIL by BDAT, in chunks of these sizes and the rest. Everything at once."""
        with self.fixture.client() as client:
            client.hello()
            parts, at = [], 0
            for size in sizes:
                parts.append(b"BDAT %d\r\n" % size + MAIL[at:at + size])
                at += size
            parts.append(b"BDAT %d LAST\r\n" % len(MAIL[at:]) + MAIL[at:])
            client.send(f"MAIL FROM:<{SENDER}> BODY=8BITMIME\r\nRCPT TO:<{RECIPIENT}>\r\n".encode()
                        + b"".join(parts) + b"QUIT\r\n")
            for _ in range(2 + len(parts)):
                client.expect(250)
            client.expect(221)


class PostfixBehind(SinkCase):
    def setUp(self):
        super().setUp()
        self.postfix = mta.Postfix(self)

    def check_delivered(self, count):
        for message in self.postfix.wait_for_delivered(count):
            self.assertEqual(behind_trace(message), MAIL)
        self.assertEqual(len(self.postfix.delivered()), count)

    def test_swaks(self):
        """In the clear and by TLS, one command at a time and pipelined."""
        self.front("smtp", place(self.postfix.address), certificates=[make_certificate(self)])
        self.swaks()
        self.swaks("--pipeline")
        told = self.swaks("--tls", "--pipeline")
        self.assertIn("=== TLS started", told)
        self.check_delivered(3)
        self.assertTrue(any(b"with ESMTPS id" in mail and b"(using TLSv1.3 with cipher " in mail
                            for mail in self.postfix.delivered()))

    def test_chunks(self):
        self.front("smtp", place(self.postfix.address))
        self.send_chunks([])
        self.send_chunks([1, 100, 0, 997])
        self.check_delivered(2)

    def test_postfix_as_client(self):
        """Its smtp client, in the clear and by TLS: whatever it makes of EHLO's reply."""
        self.front("smtp", place(self.postfix.address), certificates=[make_certificate(self)])
        host, port = self.fixture.address
        for level in ("none", "encrypt"):
            options = f"-o myhostname=sender.example.net -o smtp_tls_security_level={level}"
            sender = mta.Postfix(
                self, main=(f"transport_maps = static:smtp:[{host}]:{port}",),
                master=(f"smtp unix - - n - - smtp {options}",
                        "tlsmgr unix - - n 1000? 1 tlsmgr"))
            with mta.Session(sender.address) as session:
                for line in ("EHLO client.example.net", f"MAIL FROM:<{SENDER}> BODY=8BITMIME",
                             f"RCPT TO:<{RECIPIENT}>", "DATA"):
                    self.assertLess(session.command(line), 400)
                session.socket.sendall(re.sub(rb"(?m)^\.", b"..", MAIL) + b".\r\n")
                self.assertEqual(session.read_reply("."), 250)
            sender.wait_for_log(r"status=sent \(250 2\.0\.0 Ok: queued as")
        for message in self.postfix.wait_for_delivered(2):
            got = behind_trace(message)
            # The sender's Postfix has put its own header in front.
            self.assertRegex(got, rb"\AReceived: from client\.example\.net ")
            self.assertTrue(got.endswith(MAIL))

    def test_refusals_are_the_next_hops(self):
        self.front("smtp", place(self.postfix.address), ["@example.com", "@elsewhere.example"])
        with self.fixture.client() as client:
            client.hello()
            client.say(f"MAIL FROM:<{SENDER}>", 250)
            self.assertIn("Relay access denied", client.say("RCPT TO:<a@elsewhere.example>", 454))
            client.say(f"RCPT TO:<{RECIPIENT}>", 250)
            client.say("RSET", 250)
            client.send_mail(SENDER, [RECIPIENT], b"Subject: x\r\n\r\nmail\r\n")
            client.say("QUIT", 221)
        self.postfix.wait_for_delivered(1)

    def test_a_next_hop_that_is_not_there(self):
        """Each mail is put off, and the first behind its return goes through."""
        self.expect_log("next hop is down")
        self.front("smtp", place(self.postfix.address), limits={"errors": 10000})
        self.postfix.process.stop()
        # smtpd has the listening socket for a moment longer than its master.
        wait_for(lambda: refuses(self.postfix.address), "Postfix's port to be closed")
        with self.fixture.client() as client:
            client.hello()
            client.say(f"MAIL FROM:<{SENDER}>", 250)
            client.say(f"RCPT TO:<{RECIPIENT}>", 451)
            client.say("RSET", 250)
            client.say(f"MAIL FROM:<{SENDER}>", 451)
            self.postfix._start()
            wait_for(lambda: client.say(f"MAIL FROM:<{SENDER}>")[0] == 250, "the next attempt")
            client.say("RSET", 250)
            client.send_mail(SENDER, [RECIPIENT], MAIL)
            client.say("QUIT", 221)
        self.check_delivered(1)
        self.fixture.wait_for_log(r"^warning: \[\w+\] mail not delivered, to=\S+ \(connect: Connection refused\)")
        self.fixture.wait_for_log(r"^info: \[smtp-front\] next hop is there again, to=\S+ down_ms=")


class PassedToPostfix(SinkCase):
    def test_a_connection_is_smtpds(self):
        """Descriptor and addresses arrive; from the banner on it is Postfix that speaks."""
        postfix = mta.Postfix(self, master=("passed pass n - n - - smtpd",))
        socket_path = os.path.join(postfix.queue, "public/passed")
        wait_for(lambda: os.path.exists(socket_path), "the pass service")
        # In a Debian the worker's user is in the group postdrop.
        os.chmod(os.path.join(postfix.queue, "public"), 0o711)
        self.front("postfix", socket_path, users=None)
        source = outside(CLIENT)
        with self.fixture.client() as client:
            self.assertIn("mx.example.com ESMTP Postfix", client.expect(220))
            client.say("EHLO client.example.net", 250)
            client.send_mail(SENDER, [RECIPIENT], MAIL)
            client.say("QUIT", 221)
        self.assertTrue(postfix.wait_for_delivered(1)[0].replace(b"\r\n", b"\n").endswith(
            MAIL.replace(b"\r\n", b"\n")))
        postfix.wait_for_log(rf"connect from [\w.]+\[{re.escape(source)}\]")
        self.assertEqual(self.fixture.wait_for_sessions(1)[0]["end"], "passed")

    def test_a_postfix_that_is_not_there(self):
        self.expect_log("mail not delivered")
        self.front("postfix", self.path("absent"), users=None)
        with self.fixture.client() as client:
            client.expect(421)
            self.assertTrue(client.is_closed())


class DovecotBehind(SinkCase):
    def check_delivered(self, dovecot, user, count):
        messages = wait_for(lambda: len(found := dovecot.delivered(user)) >= count and found,
                            f"{count} mails in Dovecot's mailbox\n{dovecot.log()}")
        self.assertEqual(len(messages), count)
        for message in messages:
            self.assertEqual(behind_trace(message), MAIL)

    def test_lmtp(self):
        """By swaks, TLS and chunks, over TCP."""
        dovecot = Dovecot(self)
        self.front("lmtp", place(dovecot.address), certificates=[make_certificate(self)])
        self.swaks()
        self.swaks("--tls", "--pipeline")
        self.send_chunks([500])
        self.check_delivered(dovecot, RECIPIENT, 3)

    def test_lmtp_by_a_path(self):
        dovecot = Dovecot(self)
        self.front("lmtp", dovecot.path)
        self.swaks()
        self.check_delivered(dovecot, RECIPIENT, 1)

    def test_the_next_hop_decides_which_recipients_exist(self):
        dovecot = Dovecot(self, users=[RECIPIENT])
        self.front("lmtp", dovecot.path, trust={"users": None, "forward": dovecot.path})
        with self.fixture.client() as client:
            client.hello()
            client.say(f"MAIL FROM:<{SENDER}>", 250)
            self.assertIn("nobody@example.com", client.say("RCPT TO:<nobody@example.com>", 550))
            client.say("RSET", 250)
            client.send_mail(SENDER, [RECIPIENT], MAIL)
            client.say("QUIT", 221)
        self.check_delivered(dovecot, RECIPIENT, 1)

    def test_several_recipients(self):
        """In one transaction, as many as EHLO says; unless fewer are configured."""
        users = [f"{letter}@example.com" for letter in "abcdefghijklmnopqrst"]
        dovecot = Dovecot(self)
        self.front("lmtp", place(dovecot.address), users)
        with self.fixture.client() as client:
            self.assertIn("RCPTMAX=100", client.hello())
            client.send_mail(SENDER, users, MAIL)
            client.say("QUIT", 221)
        for user in users:
            self.check_delivered(dovecot, user, 1)
        self.assertTrue(self.fixture.reload(sink={"lmtp-recipients": 2}))
        with self.fixture.client() as client:
            self.assertIn("RCPTMAX=2", client.hello())
            client.say(f"MAIL FROM:<{SENDER}>", 250)
            client.say(f"RCPT TO:<{users[0]}>", 250)
            client.say(f"RCPT TO:<{users[1]}>", 250)
            client.say(f"RCPT TO:<{users[2]}>", 452)

    def test_a_mail_that_some_have(self):
        """4xx, and when it comes again the others alone get it: also behind a restart."""
        self.expect_log("mail not delivered")
        users = [f"{letter}@example.com" for letter in "abc"]
        dovecot = Dovecot(self)
        stuck = os.path.join(dovecot.directory, "homes", users[1])
        with open(stuck, "w", encoding="ascii"):
            pass  # no directory can be made there
        front = self.front("lmtp", place(dovecot.address), users,
                           front={"edges": 1, "proxy": ["127.0.0.0/8"]},
                           sink={"delivered": self.path("delivered")})
        for claimed in ("192.0.2.7", "192.0.2.200"):
            self.send_to(users, claimed, 451)
        for user in (users[0], users[2]):
            self.check_delivered(dovecot, user, 1)
        self.assertEqual(len(front.wait_for_log(r"mail not delivered, to=\S+ \(end of mail: 2 of 3 recipients have it")), 1)
        front.stop()
        front.start()
        os.unlink(stuck)
        self.send_to(users, "192.0.2.9", 250)
        for user in users:
            self.check_delivered(dovecot, user, 1)
        self.send_to(users, "198.51.100.9", 250)
        for user in users:
            self.check_delivered(dovecot, user, 2)

    def send_to(self, users, claimed, code):
        with self.fixture.client(claimed=claimed) as client:
            client.hello()
            client.say(f"MAIL FROM:<{SENDER}>", 250)
            for user in users:
                client.say(f"RCPT TO:<{user}>", 250)
            client.say("DATA", 354)
            client.send(re.sub(rb"(?m)^\.", b"..", MAIL) + b".\r\n")
            client.expect(code)
            client.say("QUIT", 221)

    def test_dovecot_is_told(self):
        for tell in ("xclient", "proxy", "proxy2"):
            with self.subTest(tell=tell):
                dovecot = Dovecot(self, proxy=tell != "xclient")
                self.front("lmtp", place(dovecot.address), sink={"tell": tell},
                           front={"edges": 1, "proxy": ["127.0.0.0/8"]})
                with self.fixture.client(claimed="192.0.2.7") as client:
                    client.hello()
                    client.send_mail(SENDER, [RECIPIENT], MAIL)
                    client.say("QUIT", 221)
                self.check_delivered(dovecot, RECIPIENT, 1)
                wait_for(lambda d=dovecot: "from 192.0.2.7" in d.log(), "Dovecot to have heard")
                self.assertNotIn("mail not delivered", self.fixture.log())


class AskedElsewhere(SinkCase):
    def test_a_worker_asks_the_next_hop_of_trust(self):
        """Recipients behind the first, where the sink is another and takes everybody."""
        postfix = mta.Postfix(self, main=(
            "smtpd_relay_restrictions = check_recipient_access"
            " inline:{ { bad@example.com = REJECT } }, reject_unauth_destination",))
        front = Front(self, None, front={"edges": 1}, trust={"forward": place(postfix.address)})
        with front.client() as client:
            client.hello()
            client.say(f"MAIL FROM:<{SENDER}>", 250)
            client.say(f"RCPT TO:<{RECIPIENT}>", 250)
            self.assertIn("Access denied", client.say("RCPT TO:<bad@example.com>", 554))
            client.say("RCPT TO:<other@elsewhere.example>", 554)
            client.say("RCPT TO:<good@example.com>", 250)
            client.say("DATA", 354)
            client.send(b"Subject: x\r\n\r\nmail\r\n.\r\n")
            client.expect(250)
            client.say("QUIT", 221)
        self.assertEqual(len(front.mails()), 1)
        self.assertEqual(postfix.delivered(), [])


class Hop:
    """
    A next hop that speaks SMTP up to a step and goes away there: before the step's command is
    read, or behind it. What it has said 250 to at the end is in mails.
    """

    STEPS = ("connect", "EHLO", "MAIL", "RCPT", "DATA", "mail", "end")

    def __init__(self, case):
        self.listener = socket.create_server((case.host, 0))
        self.address = self.listener.getsockname()
        self.dies_at, self.reads_it = None, False
        self.mails = []
        self.is_going = self.has_gone = False
        threading.Thread(target=self._serve, daemon=True).start()
        case.addCleanup(self.listener.close)

    def _serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection, connection.makefile("rb") as file:
                try:
                    self._speak(connection, file)
                except OSError:
                    pass
            self.has_gone = self.is_going

    def _is_end(self, step, file):
        if self.dies_at != step:
            return False
        if self.reads_it and step != "connect":
            file.readline()
        self.is_going = True
        return True

    def _speak(self, connection, file):
        if self._is_end("connect", file):
            return
        connection.sendall(b"220 hop\r\n")
        step = "EHLO"
        while not self._is_end(step, file):
            line = file.readline().upper()
            if not line or line.startswith(b"QUIT"):
                return
            if line.startswith(b"DATA"):
                connection.sendall(b"354 go\r\n")
                if not self._take_mail(connection, file):
                    return
                step = "MAIL"
                continue
            connection.sendall(b"250-hop\r\n250 8BITMIME\r\n" if line.startswith(b"EHLO")
                               else b"250 2.0.0 Ok\r\n")
            step = {b"EHLO": "MAIL", b"MAIL": "RCPT", b"RCPT": "DATA"}.get(line[:4], "MAIL")

    def _take_mail(self, connection, file):
        if self._is_end("mail", file):
            return False
        lines = []
        while (line := file.readline()) != b".\r\n":
            if not line:
                return False
            lines.append(line)
        if self.dies_at == "end":
            return False
        self.mails.append(b"".join(lines))
        connection.sendall(b"250 2.0.0 Ok: kept\r\n")
        return True


class DroppedPackets(SinkCase):
    """A next hop that answers no packet: its backlog is full, so the kernel drops each SYN."""

    def setUp(self):
        super().setUp()
        self.listener = socket.socket()
        self.addCleanup(self.listener.close)
        self.listener.bind((self.host, 0))
        self.listener.listen(0)
        self.address = self.listener.getsockname()
        self.queued = []
        self.addCleanup(lambda: [one.close() for one in self.queued])
        for _ in range(4):
            one = socket.socket()
            one.setblocking(False)
            one.connect_ex(self.address)
            self.queued.append(one)

    def answer_one(self):
        """From now on it is one that hangs up, and so has answered."""

        def accept():
            while True:
                try:
                    connection, _ = self.listener.accept()
                    connection.sendall(b"220 hop\r\n")
                    connection.close()
                except OSError:
                    return

        threading.Thread(target=accept, daemon=True).start()

    def test_no_worker_waits_for_it_but_one(self):
        """Said once, a metric, and all others answer at once; until it is there again."""
        self.expect_log("mail not delivered")
        self.front("smtp", place(self.address), limits={"errors": 10000, "commands": 100000},
                   sink={"connect-timeout": "500ms"})
        warnings = r"^warning: \[smtp-front\] next hop is down, to=\S+ \(connect: Connection timed out\)"
        with self.fixture.client() as client, self.fixture.client() as other:
            for one in (client, other):
                one.hello()
                one.say(f"MAIL FROM:<{SENDER}>", 250)
                one.say(f"RCPT TO:<{RECIPIENT}>", 451)
                one.say("RSET", 250)
            for _ in range(500):
                client.say(f"MAIL FROM:<{SENDER}>", 451)
            self.assertEqual(len(self.fixture.wait_for_log(warnings)), 1)
            self.assertEqual(self.fixture.counters()["next-hop-down"], 1)
            self.assertEqual(self.fixture.counters()["next-hop-failures"], 1)
            self.answer_one()

            def is_there_again():
                other.say(f"MAIL FROM:<{SENDER}>", 451)
                return "next hop is there again" in self.fixture.log()

            wait_for(is_there_again, "the next attempt")
        self.assertEqual(self.fixture.counters()["next-hop-down"], 0)


class DyingSinks(SinkCase):
    def test_at_each_step(self):
        """The client hears 4xx wherever it dies, in a session that goes on; never 250."""
        self.expect_log("mail not delivered")
        hop = Hop(self)
        self.front("smtp", place(hop.address), limits={"errors": 1000, "mails": 1000})
        for step in Hop.STEPS:
            for reads_it in (False, True):
                with self.subTest(step=step, reads_it=reads_it), self.fixture.client() as client:
                    client.hello()
                    hop.dies_at, hop.reads_it = step, reads_it
                    self.assertIn(self._try(client), (451,))
                    self.assertEqual(hop.mails, [])
                    hop.dies_at = None
                    client.say("RSET", 250)
                    client.send_mail(SENDER, [RECIPIENT], MAIL)
                    client.say("QUIT", 221)
                    self.assertEqual([behind_trace(re.sub(rb"(?m)^\.\.", b".", mail))
                                      for mail in hop.mails], [MAIL])
                    hop.mails.clear()

    def test_a_hop_that_was_idle_for_too_long_is_told_again(self):
        """Behind RCPT: nothing of the mail is there yet, and the client need not come again."""
        hop = Hop(self)
        front = self.front("smtp", place(hop.address))
        hop.dies_at = "DATA"
        with front.client() as client:
            client.hello()
            client.say(f"MAIL FROM:<{SENDER}>", 250)
            client.say(f"RCPT TO:<{RECIPIENT}>", 250)
            wait_for(lambda: hop.has_gone, "the next hop to close")
            hop.dies_at = None
            client.say("DATA", 354)
            client.send(MAIL.replace(b"\r\n.", b"\r\n..") + b".\r\n")
            client.expect(250)
            client.say("QUIT", 221)
        self.assertEqual(len(hop.mails), 1)

    @staticmethod
    def _try(client):
        """The first code that is a refusal, or the last."""
        for line in (f"MAIL FROM:<{SENDER}>", f"RCPT TO:<{RECIPIENT}>", "DATA"):
            code, _ = client.say(line)
            if code >= 400:
                return code
        client.send(re.sub(rb"(?m)^\.", b"..", MAIL) + b".\r\n")
        return client.reply()[0]

    def test_full_disk(self):
        """452 for what does not fit, 250 for what does; nothing half is there."""
        self.expect_log("mail not delivered")
        if os.geteuid() != 0:
            self.skipTest("a file system of the test's own needs root")
        front = Front(self, front={"edges": 1}, is_started=False)
        script = f'mount -t tmpfs -o size=256k,mode=0777 none "{front.maildir}" && exec "$@"'
        program = [peer("unshare"), "--mount", "sh", "-c", script, "sh"]
        original = self.start
        self.start = lambda arguments, name, **how: original(program + arguments, name, **how)
        front.start()
        with front.client() as client:
            client.hello()
            client.send_mail(SENDER, [RECIPIENT], b"Subject: x\r\n\r\nsmall\r\n")
            client.say(f"MAIL FROM:<{SENDER}>", 250)
            client.say(f"RCPT TO:<{RECIPIENT}>", 250)
            client.say("DATA", 354)
            client.send(b"Subject: x\r\n\r\n" + b"large\r\n" * 100000 + b".\r\n")
            client.expect(452)
            client.send_mail(SENDER, [RECIPIENT], b"Subject: x\r\n\r\nagain\r\n")
            client.say("QUIT", 221)
        box = f"/proc/{front.processes()['worker'][0]}/root{front.maildir}"
        self.assertEqual(len(os.listdir(os.path.join(box, "new"))), 2)
        self.assertEqual(os.listdir(os.path.join(box, "tmp")), [])

    def test_a_client_that_goes_away(self):
        """Within the mail, at its end, and behind it: committed is what had its end."""
        front = Front(self, front={"edges": 1})
        for text in (b"DATA\r\n", b"DATA\r\nhalf\r\n", b"DATA\r\nhalf\r\n.", b"BDAT 10\r\nhalf"):
            with front.client() as client:
                client.hello()
                client.say(f"MAIL FROM:<{SENDER}>", 250)
                client.say(f"RCPT TO:<{RECIPIENT}>", 250)
                client.send(text)
                client.reset()
        front.wait_for_sessions(4)
        self.assertEqual(front.mails(), [])
        with front.client() as client:
            client.hello()
            client.send(f"MAIL FROM:<{SENDER}>\r\nRCPT TO:<{RECIPIENT}>\r\n".encode()
                        + b"DATA\r\nwhole\r\n.\r\n")
            wait_for(front.mails, "the mail")


if __name__ == "__main__":
    main(has_own_network=True)
