#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
mail-scan-milter behind a real Postfix, and before peer_asker: what is found is refused at the dot,
what is clean comes through as it was, and what dies is made again.
"""

import os
import pwd
import re
import signal
import socket
import struct
import subprocess

import harness
from clamd import MARKER, clamav_database, eicar, start_clamd
from harness import BUILD, Case, Connection, has_ended, program, wait_for
from mta import Outcome, Postfix, Session, need_root, send
from scanned import compile_signatures, in_tar, in_zip, mail_with

ASKER = os.path.join(BUILD, "tests/integration/peer_asker")
NAME = "Eicar-Test-Signature"
CLEAN = mail_with(bytes(range(256)) * 1000, "clean.bin")


class ScanMilter(Case):
    def start_milter(self, *scan, has_signatures=True, user=None):
        """(process, Postfix's word for it)"""
        host, port = self.free_address()
        self.place = f"{host}@{port}"
        lines = ["milter:", f"    socket: {self.place}", "    log-level: debug",
                 f"    user: {user}" if user else f"    metrics: {self.path('metrics.prom')}",
                 "scan:"]
        if has_signatures:
            lines.append(f"    signatures: {compile_signatures(self)}")
        lines += [f"    {line}" for line in scan]
        self.config = self.write("scan-milter.conf", "\n".join(lines) + "\n")
        milter = self.start([program("mail-scan-milter"), "--config", self.config], "milter")
        milter.wait_for_log(r"^info: \[mail-scan-milter\] ready, ")
        return milter, f"inet:{host}:{port}"

    def start_both(self, *scan, **how):
        milter, place = self.start_milter(*scan, **how)
        postfix = Postfix(self, main=[f"smtpd_milters = {place}",
                                      "milter_default_action = tempfail",
                                      "milter_command_timeout = 60s"])
        return milter, postfix

    def refusal(self, postfix, message, code=550):
        """The text of the reply to the dot."""
        outcome = send(postfix.address, message=message)
        self.assertEqual(outcome.replies[-2][:2], (".", code), outcome.replies)
        return outcome.replies[-2][2]

    def check_clean(self, postfix, message=CLEAN):
        """It comes through, and nothing but what Postfix adds is added."""
        def matching():
            return [mail for mail in postfix.delivered() if mail.endswith(message.encode())]

        count = len(matching())
        outcome = send(postfix.address, message=message)
        self.assertTrue(outcome.is_accepted, outcome.replies)
        found = wait_for(lambda: len(matching()) > count and matching(), "the mail as it was sent")
        added = found[-1][:-len(message)].decode()
        self.assertEqual(re.findall(r"^([\w-]+):", added, re.MULTILINE),
                         ["Return-Path", "X-Original-To", "Delivered-To", "Received"])

    def metric(self, name):
        with open(self.path("metrics.prom"), encoding="ascii") as file:
            return int(re.search(rf"^mail_scan_milter_{name}_total (\d+)$", file.read(),
                                 re.MULTILINE).group(1))

    def ask(self, mail, piece=65536):
        done = subprocess.run([ASKER, "milter", self.place, str(piece), "60000"], input=mail,
                              capture_output=True, check=True, timeout=3 * harness.DEADLINE_S)
        return done.stdout.decode().rstrip()

    def test_what_is_found_is_refused_with_its_name_and_place(self):
        milter, postfix = self.start_both()
        self.check_clean(postfix)
        self.assertIn(NAME, self.refusal(postfix, mail_with(eicar(), "eicar.com")))
        text = self.refusal(postfix, mail_with(in_zip(eicar()), "a.zip"))
        self.assertRegex(text, rf"^5\.7\.1 {NAME}.* in .*a\.zip / eicar\.com")
        text = self.refusal(postfix, mail_with(in_tar(eicar()), "a.tar.bz2"))
        self.assertRegex(text, rf"^5\.7\.1 {NAME}.* in .*a\.tar\.bz2 / ")
        self.check_clean(postfix, mail_with(in_zip(b"clean" * 1000), "clean.zip"))
        self.check_clean(postfix, mail_with(in_tar(b"clean" * 1000), "clean.tar.bz2"))
        self.assertEqual(len(postfix.delivered()), 3)
        milter.wait_for_log(r"^info: \[[0-9a-f]+\] rejected, client=127\S+ queue=\w+"
                            rf' sender="sender@example.net" found={NAME}', 3)
        self.assertEqual(milter.stop(), 0)
        self.assertEqual((self.metric("mails"), self.metric("rejected"), self.metric("accepted"),
                          self.metric("found"), self.metric("aborted")), (6, 3, 3, 3, 0))

    def test_a_mail_server_that_hands_over_bytes_one_by_one(self):
        self.start_milter()
        bad = mail_with(in_zip(eicar()), "a.zip").replace("\n", "\r\n").encode()
        good = mail_with(in_zip(b"clean"), "a.zip").replace("\n", "\r\n").encode()
        for piece in (1, 7, 4096, 65536):
            self.assertRegex(self.ask(bad, piece), rf"^reject - {NAME}.* in .*a\.zip / eicar\.com")
            self.assertEqual(self.ask(good, piece), "accept -")

    def connect(self, steps):
        """A mail server's connection, which offers these steps."""
        host, port = self.place.split("@")
        server = Connection(socket.create_connection((host, int(port)), harness.DEADLINE_S))
        self.addCleanup(server.close)
        self.tell(server, (b"O", struct.pack(">III", 6, 0x3f, steps)))
        return server

    def tell(self, server, *packets):
        """The packets of the answer to all of them, with what is to be done to a mail before it."""
        server.send(b"".join(struct.pack(">I", len(data) + 1) + letter + data for letter, data in packets))

        def read(size):
            while len(server.unread) < size:
                server.unread += server.more()
            got, server.unread = server.unread[:size], server.unread[size:]
            return got

        replies = []
        while not replies or replies[-1][:1] == b"h":
            replies.append(read(int.from_bytes(read(4), "big")))
        return replies

    def test_a_mail_server_that_tells_of_a_body_alone(self):
        """libmilter permits it, behind RCPT. The steps are offered as by the first version of the protocol."""
        self.start_milter()
        server = self.connect(steps=0x7f)
        for packet in ((b"M", b"<a@b.example>\0"), (b"R", b"<c@d.example>\0"), (b"B", eicar())):
            self.assertEqual(self.tell(server, packet), [b"c"])
        answer = self.tell(server, (b"E", b""))
        self.assertIn(NAME.encode(), answer[0])

    def test_one_client_after_another_on_a_connection(self):
        """SMFIC_QUIT_NC. What was agreed upon for the connection holds for each of them."""
        self.start_milter("on-found: mark")
        server = self.connect(steps=0x1fffff)
        for _ in range(2):
            answer = self.tell(
                server, (b"C", b"client.example\0" + b"4" + struct.pack(">H", 25) + b"192.0.2.1\0"),
                (b"H", b"client.example\0"), (b"M", b"<a@b.example>\0"), (b"R", b"<c@d.example>\0"),
                (b"L", b"Subject\0 one\0"), (b"N", b""), (b"B", eicar()), (b"E", b""))
            self.assertRegex(answer[0], rb"^hX-Mail-Scan\0 \S")
            self.assertEqual(answer[1:], [b"c"])
            server.send(struct.pack(">I", 1) + b"K")

    def test_marked_and_put_into_quarantine(self):
        _, postfix = self.start_both("on-found: mark")
        message = mail_with(in_zip(eicar()), "a.zip")
        self.assertTrue(send(postfix.address, message=message).is_accepted)
        mail = postfix.wait_for_delivered(1)[0].decode()
        self.assertRegex(mail, rf"(?m)^X-Mail-Scan: .*{NAME}")
        self.assertIn(message[message.index("\n\n"):], mail)

    def test_put_into_quarantine(self):
        _, postfix = self.start_both("on-found: quarantine")
        self.assertTrue(send(postfix.address, message=mail_with(eicar(), "a.com")).is_accepted)
        hold = os.path.join(postfix.queue, "hold")
        wait_for(lambda: os.listdir(hold), "the mail to be held")
        self.check_clean(postfix)
        self.assertEqual(len(postfix.delivered()), 1)

    def test_more_mails_at_a_time_than_may_be(self):
        milter, postfix = self.start_both("mails: 1")
        self.expect_log(r"deferred, .*max=1 \(limit of mails scanned at once\)")
        with Session(postfix.address, outcome=Outcome(None)) as first:
            for line in ("EHLO us.example.net", "MAIL FROM:<a@b.example>",
                         "RCPT TO:<inbox@example.com>", "DATA"):
                self.assertLess(first.command(line), 400)
            with Session(postfix.address, outcome=Outcome(None)) as second:
                for line in ("EHLO us.example.net", "MAIL FROM:<a@b.example>",
                             "RCPT TO:<inbox@example.com>"):
                    self.assertLess(second.command(line), 400)
                self.assertEqual(second.command("DATA"), 451)
                self.assertIn("4.3.2 Scanner is busy", second.outcome.text)
            self.assertEqual(first.command("Subject: test\r\n\r\ntest\r\n."), 250)
        self.check_clean(postfix)
        milter.wait_for_log(r"max=1 \(limit of mails scanned at once\)")

    def template(self, milter):
        """Of the process that has decoders: a child of the keeper's."""
        keepers = milter.children()
        self.assertEqual(len(keepers), 1)
        return wait_for(lambda: harness.children_of(keepers[0]), "a template")[0]

    def test_the_template_of_decoders_is_killed(self):
        milter, postfix = self.start_both()
        for count in (1, 2, 3):
            old = self.template(milter)
            os.kill(old, signal.SIGKILL)
            milter.wait_for_log(r"template of decoders died, signal=9", count)
            text = self.refusal(postfix, mail_with(in_tar(eicar()), "a.tar.bz2"))
            self.assertIn(NAME, text)
            self.assertNotEqual(self.template(milter), old)
            self.check_clean(postfix, mail_with(in_tar(b"clean" * count), "a.tar.bz2"))

    def test_its_processes_are_the_users_and_end_with_it(self):
        need_root()
        milter, _ = self.start_milter(user="postfix")
        uid = pwd.getpwnam("postfix").pw_uid
        keeper = milter.children()[0]
        template = self.template(milter)
        for pid in (milter.pid, keeper, template):
            with open(f"/proc/{pid}/status", encoding="ascii") as file:
                self.assertRegex(file.read(), rf"(?m)^Uid:\t{uid}\t{uid}\t{uid}\t{uid}$")
        bad = mail_with(in_tar(eicar()), "a.tar.bz2").replace("\n", "\r\n").encode()
        self.assertRegex(self.ask(bad), rf"^reject - {NAME}")
        milter.stop(signal.SIGKILL)
        for pid in (keeper, template):
            wait_for(lambda pid=pid: has_ended(pid), "processes to end")

    def test_the_milter_is_gone(self):
        milter, postfix = self.start_both()
        self.check_clean(postfix)
        milter.stop(signal.SIGKILL)
        outcome = send(postfix.address, message=CLEAN)
        self.assertFalse(outcome.is_accepted)
        self.assertFalse(outcome.is_refused)

    def test_other_signatures_while_it_runs(self):
        milter, postfix = self.start_both()
        message = mail_with(b"it is another-marker-of-this-test", "x.bin")
        self.check_clean(postfix, message)
        directory = clamav_database(self, "more")
        self.write("more/more.ndb", f"Another.One:0:*:{b'another-marker-of-this-test'.hex()}\n")
        os.rename(compile_signatures(self, "new.signatures", directory),
                  self.path("mail.signatures"))
        milter.send_signal(signal.SIGHUP)
        wait_for(lambda: not send(postfix.address, message=message).is_accepted,
                 "the other signatures")
        self.assertIn("Another.One", self.refusal(postfix, message))

    def test_check_opens_the_signatures(self):
        host, port = self.free_address()
        texts = {"mail-scan-milter": f"milter:\n    socket: {host}@{port}\n",
                 "mail-proxy": f"listener:\n  - listen: {host}@{port}\n    next-hop: 127.0.0.1@25\n",
                 "smtp-front": "front:\n    hostname: mx.example.org\ntrust:\n"
                               f"    forward: 127.0.0.1@25\nsink:\n    kind: smtp\n    to: 127.0.0.1@25\n"}
        for name, text in texts.items():
            with self.subTest(name=name):
                path = self.path(f"{name}.signatures")
                config = self.write(f"{name}.conf", f"{text}scan:\n    signatures: {path}\n")
                command = [program(name), "--config", config, "--check"]
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 66, done.stderr)
                line = f"error: [{name}] signatures not opened, {path}: No such file or directory\n"
                self.assertEqual(done.stderr, line)
                if name != "mail-scan-milter":
                    # The start says no more, though each of a hundred processes would.
                    done = subprocess.run(command[:-1], capture_output=True, text=True, check=False)
                    self.assertEqual(done.returncode, 66)
                    self.assertEqual(re.findall("(?m)^error: .*\n", done.stderr), [line])
                compile_signatures(self, f"{name}.signatures")
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                self.assertEqual((done.returncode, done.stdout), (0, "configuration OK\n"), done.stderr)

    def test_signatures_that_cannot_be_seen_any_more_stay(self):
        milter, postfix = self.start_both()
        os.rename(self.path("mail.signatures"), self.path("elsewhere"))
        self.expect_log(r"signatures stay as they are")
        milter.send_signal(signal.SIGHUP)
        milter.wait_for_log(r"^warning: \[mail-scan-milter\] signatures stay as they are, path=\S+ \(No such file")
        self.assertIn(NAME, self.refusal(postfix, mail_with(eicar(), "a.com")))

    def test_signatures_that_are_none_leave_those_before(self):
        milter, _ = self.start_milter()
        bad = mail_with(in_tar(eicar()), "a.tar.bz2").replace("\n", "\r\n").encode()
        path = self.path("mail.signatures")
        with open(path, "rb") as file:
            good = file.read()
        refused = r"^error: \[mail-scan-milter\] signatures not opened, "
        self.expect_log(refused)
        # The template of decoders has opened them by then.
        self.assertRegex(self.ask(bad), rf"^reject - {NAME}")
        # As cp does it, over the one that is in use.
        self.write("mail.signatures", good[:100])
        for count, content in enumerate((good[:-64], b"none", good), 1):
            milter.send_signal(signal.SIGHUP)
            milter.wait_for_log(refused, count)
            milter.send_signal(signal.SIGHUP)
            self.assertRegex(self.ask(bad), rf"^reject - {NAME}")
            os.rename(self.write("new.signatures", content), path)
        milter.send_signal(signal.SIGHUP)
        milter.wait_for_log(r"signatures opened anew")
        self.assertRegex(self.ask(bad), rf"^reject - {NAME}")
        self.assertEqual(len(re.findall(refused, milter.log(), re.MULTILINE)), 3)

    def test_clamd_besides(self):
        clamd, path = start_clamd(self)
        _, postfix = self.start_both(f"clamd: {path}", has_signatures=False)
        self.check_clean(postfix)
        text = self.refusal(postfix, mail_with(MARKER.encode(), "x.bin"))
        self.assertIn("Test.Marker-1", text)
        clamd.stop()
        self.assertTrue(self.refusal(postfix, CLEAN, 451))

    def test_clamd_is_done_without(self):
        _, postfix = self.start_both(f"clamd: {self.path('none')}", "on-unavailable: accept")
        self.check_clean(postfix)
        self.assertIn(NAME, self.refusal(postfix, mail_with(eicar(), "a.com")))


if __name__ == "__main__":
    harness.main()
