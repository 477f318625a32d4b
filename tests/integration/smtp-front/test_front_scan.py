#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
smtp-front scans what it takes: what is found is refused at the dot and never committed, what is
clean is byte-equal, and what scans may be killed.

Needs Debian's clamav-daemon for one part, and root and dovecot-lmtpd for another; what is missing is skipped.
"""

import base64
import io
import lzma
import os
import re
import signal
import subprocess
import zipfile

from clamd import eicar, signatures, start_clamd
from dovecot import Dovecot
from front import RECIPIENT, SENDER, FrontCase, Front
from harness import BUILD, DEADLINE_S, main, program, wait_for

QUARANTINE = "quarantine@example.com"
FOUND = r"5\.7\.1 Eicar-Test-Signature"


def zipped(content, name="eicar.com"):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return out.getvalue()


def mail_with(attachment, name, body=b"Look.\r\n"):
    encoded = base64.encodebytes(attachment).replace(b"\n", b"\r\n")
    return (b"From: <sender@example.net>\r\nTo: <inbox@example.com>\r\nSubject: a file\r\n"
            b"MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n"
            b"--x\r\nContent-Type: text/plain\r\n\r\n" + body +
            b"--x\r\nContent-Type: application/octet-stream\r\n"
            b"Content-Disposition: attachment; filename=\"" + name.encode() + b"\"\r\n"
            b"Content-Transfer-Encoding: base64\r\n\r\n" + encoded + b"--x--\r\n")


INFECTED = mail_with(zipped(eicar()), "a.zip")
CLEAN = mail_with(zipped(b"nothing to see " * 1000), "a.zip")
# What wants a process of its own.
INFECTED_XZ = mail_with(lzma.compress(eicar()), "a.xz")
CLEAN_XZ = mail_with(lzma.compress(b"nothing to see " * 1000), "a.xz")


class ScanCase(FrontCase):
    def front(self, scan=(), **sections):
        self.fixture = Front(self, users=(RECIPIENT, QUARANTINE),
                             scan={"signatures": signatures(self), **dict(scan)}, **sections)
        return self.fixture

    def say(self, content, *codes, recipients=(RECIPIENT,)):
        """The text of the reply to the mail, which has one of these codes."""
        with self.fixture.client() as client:
            client.hello()
            client.say(f"MAIL FROM:<{SENDER}>", 250)
            for recipient in recipients:
                client.say(f"RCPT TO:<{recipient}>", 250)
            client.say("DATA", 354)
            client.send(re.sub(rb"(?m)^\.", b"..", content) + b".\r\n")
            text = client.expect(*codes)
            client.say("QUIT", 221)
        return text

    def bodies(self, mails=None):
        """Of all mails, or of these, behind fields of delivery, with CRLF."""
        field = rb"\A(?:(?:Return-Path|Delivered-To|Received): [^\n]*\n(?:[\t ][^\n]*\n)*)*"
        return [re.sub(field, b"", mail.replace(b"\r\n", b"\n")).replace(b"\n", b"\r\n")
                for mail in (self.fixture.mails() if mails is None else mails)]


class Own(ScanCase):
    def test_a_mail_with_a_signature_is_refused_and_not_there(self):
        front = self.front()
        self.assertRegex(self.say(INFECTED, 550), FOUND + r" in part 2 / a\.zip / eicar\.com")
        self.assertRegex(self.say(INFECTED_XZ, 550), FOUND + r" in part 2 / a\.xz")
        self.assertEqual(front.mails(), [])
        front.wait_for_log(r"\] mail scanned, number=1 .*Eicar-Test-Signature", 2)
        front.wait_for_log(r"\] mail refused, .*\(scanner\)$", 2)
        self.assertEqual(front.counters()["scanned-refused"], 2)

    def test_a_clean_mail_is_byte_equal(self):
        front = self.front()
        for content in (CLEAN, CLEAN_XZ, b"Subject: plain\r\n\r\n.\r\n..dots\r\n"):
            self.say(content, 250)
        self.assertEqual(self.bodies(), [CLEAN, CLEAN_XZ, b"Subject: plain\r\n\r\n.\r\n..dots\r\n"])
        self.assertEqual(front.counters()["scanned-clean"], 3)

    def test_chunks(self):
        front = self.front()
        with front.client() as client:
            client.hello()
            client.say(f"MAIL FROM:<{SENDER}>", 250)
            client.say(f"RCPT TO:<{RECIPIENT}>", 250)
            for at in range(0, len(INFECTED), 100):
                chunk = INFECTED[at:at + 100]
                is_last = at + 100 >= len(INFECTED)
                client.send(f"BDAT {len(chunk)}{' LAST' if is_last else ''}\r\n".encode() + chunk)
                text = client.expect(550 if is_last else 250)
            self.assertRegex(text, FOUND)
        self.assertEqual(front.mails(), [])

    def test_the_session_goes_on_behind_a_refusal(self):
        front = self.front()
        with front.client() as client:
            client.hello()
            for content, code in ((INFECTED, 550), (CLEAN, 250), (INFECTED_XZ, 550)):
                client.say(f"MAIL FROM:<{SENDER}>", 250)
                client.say(f"RCPT TO:<{RECIPIENT}>", 250)
                client.say("DATA", 354)
                client.send(content + b".\r\n")
                client.expect(code)
        self.assertEqual(self.bodies(), [CLEAN])

    def test_a_field_when_it_is_asked_for(self):
        self.front(scan={"on-found": "mark", "header": "on"})
        self.say(INFECTED, 250)
        self.say(CLEAN, 250)
        marked, clean = self.bodies()
        self.assertEqual(clean, CLEAN)
        field, rest = marked.split(b"\r\n", 1)
        self.assertRegex(field.decode(), r"^X-Mail-Scan: .*Eicar-Test-Signature")
        self.assertEqual(rest, INFECTED)

    def test_without_the_field_a_marked_mail_is_as_it_was(self):
        front = self.front(scan={"on-found": "mark"})
        self.say(INFECTED, 250)
        self.assertEqual(self.bodies(), [INFECTED])
        self.assertEqual(front.counters()["scanned-marked"], 1)

    def test_quarantine(self):
        front = self.front(scan={"on-found": "quarantine", "quarantine": QUARANTINE},
                           sink={"maildir": "recipient"})
        self.say(INFECTED, 250)
        self.say(CLEAN, 250)

        def mails_of(box):
            directory = os.path.join(front.maildir, box, "new")
            return len(os.listdir(directory)) if os.path.isdir(directory) else 0

        self.assertEqual((mails_of(QUARANTINE), mails_of(RECIPIENT)), (1, 1))
        self.assertEqual(front.counters()["scanned-quarantined"], 1)


class Lmtp(ScanCase):
    """A mail that is kept for the scanner, before a next hop that answers for each recipient."""

    BOXES = ("a@example.com", "b@example.com")

    def setUp(self):
        super().setUp()
        self.dovecot = Dovecot(self)

    def front(self, scan=(), **sections):
        host, port = self.dovecot.address
        self.fixture = Front(self, users=(*self.BOXES, QUARANTINE),
                             scan={"signatures": signatures(self), **dict(scan)},
                             sink={"kind": "lmtp", "to": f"{host}@{port}"}, **sections)
        return self.fixture

    def stick(self, box):
        """No mail is taken for box; returns what ends that."""
        path = os.path.join(self.dovecot.directory, "homes", box)
        with open(path, "w", encoding="ascii"):
            pass  # no directory can be made there
        return lambda: os.unlink(path)

    def counts(self):
        return [len(self.dovecot.delivered(box)) for box in (*self.BOXES, QUARANTINE)]

    def test_a_marked_mail_that_some_have_comes_to_each_once(self):
        self.expect_log("mail not delivered, ")
        front = self.front(scan={"on-found": "mark", "header": "on"})
        release = self.stick(self.BOXES[1])
        for content in (INFECTED, CLEAN):
            for _ in range(2):
                self.say(content, 451, recipients=self.BOXES)
        self.assertEqual(self.counts(), [2, 0, 0])
        release()
        for content in (INFECTED, CLEAN):
            self.say(content, 250, recipients=self.BOXES)
        self.assertEqual(self.counts(), [2, 2, 0])
        for box in self.BOXES:
            clean, marked = sorted(self.bodies(self.dovecot.delivered(box)))  # "From", "X-Mail-Scan"
            field, rest = marked.split(b"\r\n", 1)
            self.assertRegex(field.decode(), r"^X-Mail-Scan: .*Eicar-Test-Signature")
            self.assertEqual((rest, clean), (INFECTED, CLEAN))
        self.assertEqual(front.counters()["scanned-marked"], 3)

    def test_a_mail_for_quarantine_waits_for_that_mailbox_alone(self):
        front = self.front(scan={"on-found": "quarantine", "quarantine": QUARANTINE})
        release = self.stick(QUARANTINE)
        self.say(INFECTED, 451, recipients=self.BOXES)
        self.say(CLEAN, 250, recipients=self.BOXES)
        self.assertEqual(self.counts(), [1, 1, 0])
        release()
        self.say(INFECTED, 250, recipients=self.BOXES)
        self.assertEqual(self.counts(), [1, 1, 1])
        self.assertEqual(self.bodies(self.dovecot.delivered(QUARANTINE)), [INFECTED])
        for box in self.BOXES:
            self.assertEqual(self.bodies(self.dovecot.delivered(box)), [CLEAN])
        self.assertEqual(front.counters()["scanned-quarantined"], 2)

    def test_a_next_hop_that_has_closed_while_the_mail_was_kept_gets_it_once(self):
        front = self.front(scan={"on-found": "mark", "header": "on"})
        with front.client() as client:
            client.hello()
            client.say(f"MAIL FROM:<{SENDER}>", 250)
            for box in self.BOXES:
                client.say(f"RCPT TO:<{box}>", 250)
            client.say("DATA", 354)
            client.send(CLEAN[:200])
            self.dovecot.stop()
            self.dovecot.start()
            client.send(CLEAN[200:] + b".\r\n")
            client.expect(250)
            client.say("QUIT", 221)
        for box in self.BOXES:
            self.assertEqual(self.bodies(self.dovecot.delivered(box)), [CLEAN])


class Decoders(ScanCase):
    def test_a_killed_template_is_made_again(self):
        front = self.front()
        self.assertRegex(self.say(INFECTED_XZ, 550), FOUND)
        self.expect_log(r"process died, role=decoders")
        for _ in range(3):
            before = front.wait_for_processes("decoders", 1)
            os.kill(before[0], signal.SIGKILL)
            front.wait_for_processes("decoders", 1, but=before)
            self.assertRegex(self.say(INFECTED_XZ, 550), FOUND)
            self.say(CLEAN_XZ, 250)

    def test_decoders_end_with_their_mail(self):
        front = self.front()
        self.say(CLEAN_XZ, 250)
        template = front.wait_for_processes("decoders", 1)[0]

        def has_none():
            with open(f"/proc/{template}/task/{template}/children", encoding="ascii") as file:
                return file.read().split() == []

        wait_for(has_none, "decoders to end")

    def test_a_reload_has_other_signatures(self):
        front = self.front()
        self.say(CLEAN, 250)
        path = self.fixture.sections["scan"]["signatures"]
        other = self.write("other.ndb", f"Other-1:0:*:{b'nothing to see'.hex()}\n")
        os.makedirs(self.path("others"), exist_ok=True)
        os.rename(other, self.path("others/other.ndb"))
        self.assertEqual(signatures(self, self.path("others")), path)
        self.assertTrue(front.reload())
        self.assertRegex(self.say(CLEAN, 550), "5.7.1 Other-1 in part 2")

    def test_new_signatures_are_those_of_decoders_too(self):
        front = self.front()
        # So often that only a decoder process sees it: xz would keep a short text as it is.
        text = mail_with(lzma.compress(b"another evil text " * 300), "a.xz")
        self.say(text, 250)
        path = front.sections["scan"]["signatures"]
        source = self.write("more.ndb", f"Another:0:*:{b'another evil'.hex()}\n")
        subprocess.run([program("mail-scan"), "compile", "-q", "-o", path + ".new", source], check=True)
        os.chmod(path + ".new", 0o644)
        os.replace(path + ".new", path)
        self.assertRegex(self.say(text, 550), "5.7.1 Another in part 2")

    def test_signatures_that_are_not_there(self):
        front = Front(self, scan={"signatures": self.path("missing")}, is_started=False)
        self.expect_log("^(warning|error): ")
        with self.assertRaises(AssertionError):
            front.start()
        self.assertIn(self.path("missing"), front.log())

    def test_a_build_without_a_scanner_checks_the_rest(self):
        for scan, status in ({}, os.EX_OK), ({"clamd": "/nowhere"}, os.EX_UNAVAILABLE):
            front = Front(self, scan=scan, is_started=False)
            done = subprocess.run([os.path.join(BUILD, "tests/integration/front_unscanned"), "--check",
                                   "--config", front.config_path], capture_output=True, text=True,
                                  check=False, timeout=DEADLINE_S)
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertEqual("this build has no scanner" in done.stderr, bool(scan), done.stderr)


class Clamd(ScanCase):
    def test_clamd_besides_and_without(self):
        process, path = start_clamd(self)
        front = self.front(scan={"signatures": None, "clamd": path, "peer-timeout": "30s"})
        self.assertRegex(self.say(INFECTED, 550), "Eicar-Test-Signature")
        self.say(CLEAN, 250)
        process.stop(signal.SIGKILL)
        self.expect_log("clamd")
        self.assertRegex(self.say(CLEAN, 451), r"^4\.")
        self.assertEqual(self.bodies(), [CLEAN])
        self.assertTrue(front.reload(scan={"on-unavailable": "accept"}))
        self.say(CLEAN, 250)
        self.assertEqual(self.bodies(), [CLEAN] * 2)


if __name__ == "__main__":
    main()
