#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
mail-proxy between a client and a server of SMTP or LMTP: mails are the same bytes behind it, one with a
signature is refused at its end and never ends at the next hop, whatever kind of server that is; the
next hop may break off anywhere; clients may be slow, pipeline, use TLS, or try to hide a mail in one.

Postfix needs root, Exim and OpenSMTPD are unpacked by ./check, nft is for the transparent mode; what is
missing is skipped.
"""

import contextlib
import lzma
import os
import random
import re
import select
import signal
import smtplib
import socket
import ssl
import struct
import subprocess
import time

import mta
import opensmtpd
from dovecot import Dovecot
from harness import SOURCE, Case, main, peer, program, wait_for
from popfront import make_certificate
from proxying import (EICAR, HOSTNAME, PATIENCE_S, RECIPIENT, SENDER, Client, Hop, MailProxy, attached,
                      descendants_of, dotted)
from stored import USER

MANUAL = os.path.join(SOURCE, "integration/mail/mail-proxy/mail-proxy.8")
HEAD = b"From: sender@example.net\r\nSubject: test\r\n"
TEXTS = {
    "short": HEAD + b"\r\nhello\r\n",
    "dots": HEAD + b"\r\n.\r\n..\r\n.dot\r\n\r\n.\r\n",
    "empty": HEAD + b"\r\n",
    "eight": HEAD + b"\r\ngr\xc3\xbc\xc3\x9fe\r\n",
    "long line": HEAD + b"\r\n" + b"x" * 990 + b"\r\n",
    "large": HEAD + b"\r\n" + (b"y" * 70 + b"\r\n.\r\n") * 20000,
}
BAD = HEAD + b"\r\n" + EICAR.encode() + b"\r\n"


def send(address, text, recipients=(RECIPIENT,), kind=smtplib.SMTP):
    """What came of it: the code and the text of the last reply."""
    with kind(*address, timeout=PATIENCE_S) as client:
        client.ehlo("client.example.net")
        client.mail(SENDER, ["body=8bitmime"])
        for recipient in recipients:
            client.rcpt(recipient)
        return client.data(text)


def tls_of(certificate):
    context = ssl.create_default_context(cafile=certificate.partition(":")[0])
    return context


class OwnHop(Case):
    def start_proxy(self, is_lmtp=False, sections=None, certificates=(), **items):
        self.hop = Hop(self, is_lmtp)
        listener = {"next-hop": self.hop.address, "protocol": "lmtp" if is_lmtp else "smtp", **items}
        self.proxy = MailProxy(self, [listener], certificates, **(sections or {}))
        self.address = self.proxy.addresses[0]
        return self.proxy

    def test_mails_are_the_same_bytes(self):
        self.start_proxy()
        for name, text in TEXTS.items():
            with self.subTest(name):
                self.assertEqual(send(self.address, text)[0], 250)
                self.assertTrue(self.hop.mails[-1] == text)
        self.assertEqual(self.proxy.counters()["mails"], len(TEXTS))

    def test_a_template_of_decoders_that_is_killed(self):
        self.start_proxy()
        self.expect_log(r"archive decoders are gone", r"process died, role=decoders .* signal=9 ")
        packed = {}
        for name, content in (("bad", EICAR.encode()), ("clean", b"clean")):
            packed[name] = HEAD + attached(b"a.xz", lzma.compress(content))
        for count in (1, 2):
            old = dict(descendants_of(self.proxy.process.pid))
            for pid in [pid for pid, name in old.items() if name == "decoders"]:
                os.kill(pid, signal.SIGKILL)
            self.proxy.wait_for_log(r"process died, role=decoders .* signal=9 ", count)
            # It is there again, and what was asked meanwhile is answered by it.
            self.assertEqual(send(self.address, packed["clean"])[0], 250)
            self.assertEqual(send(self.address, packed["bad"])[0], 550)
            self.assertEqual(self.hop.mails, [packed["clean"]] * count)
        self.assertEqual(self.proxy.counters()["process-restarts"], 2)

    def test_new_signatures_are_those_of_decoders_too(self):
        self.start_proxy()
        # So often that only a decoder process sees it: xz would keep a short text as it is.
        text = HEAD + attached(b"a.xz", lzma.compress(b"another evil text " * 300))
        self.assertEqual(send(self.address, text)[0], 250)
        path = self.proxy.sections["scan"]["signatures"]
        source = self.write("more.ndb", f"Another:0:*:{b'another evil'.hex()}\n")
        subprocess.run([program("mail-scan"), "compile", "-q", "-o", path + ".new", source], check=True)
        os.chmod(path + ".new", 0o644)
        os.replace(path + ".new", path)
        code, words = send(self.address, text)
        self.assertEqual(code, 550)
        self.assertIn(b"Another", words)

    def test_a_mail_of_chunks_is_the_same_bytes(self):
        self.start_proxy()
        text = TEXTS["large"]
        with Client(self.address) as client:
            self.assertIn("250 CHUNKING", client.begin())
            client.say(f"MAIL FROM:<{SENDER}>", 250)
            client.say(f"RCPT TO:<{RECIPIENT}>", 250)
            cuts = sorted(self.random.sample(range(len(text)), 20))
            for begin, end in zip([0, *cuts], [*cuts, len(text)]):
                last = " LAST" if end == len(text) else ""
                client.send(f"BDAT {end - begin}{last}\r\n".encode() + text[begin:end])
                client.expect(250)
            client.say("QUIT", 221)
        self.assertTrue(self.hop.mails == [text])

    def test_what_is_found_is_refused_at_its_end_and_never_ends(self):
        self.start_proxy()
        with Client(self.address) as client:
            client.begin()
            for turn in range(3):
                client.begin_mail()
                client.send(dotted(BAD) + b".\r\n")
                self.assertRegex(client.expect(550), "Eicar-Signature")
                client.say("RSET", 250)
                client.begin_mail()
                client.send(b"Subject: good\r\n\r\n%d\r\n.\r\n" % turn)
                client.expect(250)
            client.say("QUIT", 221)
        self.assertEqual(self.hop.mails, [b"Subject: good\r\n\r\n%d\r\n" % turn for turn in range(3)])
        wait_for(lambda: len(self.hop.halves) == 3, "the next hop to see three ends")
        self.assertTrue(all(BAD.startswith(half) for half in self.hop.halves), self.hop.halves)
        self.assertEqual(self.hop.connections, 4)
        self.assertEqual(self.proxy.counters()["mails-rejected"], 3)
        self.proxy.wait_for_log(r"mail judged, client=.* code=550 reply=\"5\.7\.1 Eicar-Signature")

    def test_what_is_kept_apart_elsewhere_is_refused_by_its_name(self):
        self.start_proxy(sections={"scan": {"on-found": "quarantine"}})
        with Client(self.address) as client:
            client.begin()
            client.begin_mail()
            client.send(EICAR.encode() + b"\r\n.\r\n")
            self.assertRegex(client.expect(550), "^550 5.7.1 Eicar-Signature")

    def test_bytes_leave_before_the_mail_is_whole(self):
        self.start_proxy()
        with Client(self.address) as client:
            client.begin()
            client.begin_mail()
            client.send(b"Subject: begun\r\n\r\nfirst\r\n")
            wait_for(lambda: b"DATA\r\n" in self.hop.commands, "DATA at the next hop")
            self.hop.dies_at = "body"
            client.send(b"second\r\n.\r\n")
            client.expect(451)
        self.assertEqual(self.hop.mails, [])

    def test_pipelined_commands_have_their_replies_in_order(self):
        self.start_proxy()
        with Client(self.address) as client:
            client.begin()
            client.send(f"MAIL FROM:<{SENDER}>\r\n" + f"RCPT TO:<{RECIPIENT}>\r\n" * 50 + "VRFY x\r\nDATA\r\n")
            for code in (250, *[250] * 50, 252, 354):
                client.expect(code)
            client.send(f"a\r\n.\r\nMAIL FROM:<{SENDER}>\r\nRCPT TO:<{RECIPIENT}>\r\nDATA\r\n")
            for code in (250, 250, 250, 354):
                client.expect(code)
            client.send("b\r\n.\r\nQUIT\r\n")
            client.expect(250)
            client.expect(221)
        self.assertEqual(self.hop.mails, [b"a\r\n", b"b\r\n"])

    def test_a_byte_at_a_time(self):
        self.start_proxy()
        text = (f"EHLO c\r\nMAIL FROM:<{SENDER}>\r\nRCPT TO:<{RECIPIENT}>\r\nDATA\r\n").encode()
        with Client(self.address) as client:
            client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for byte in text + dotted(TEXTS["dots"]) + b".\r\nQUIT\r\n":
                client.send(bytes([byte]))
            for code in (220, 250, 250, 250, 354, 250, 221):
                client.expect(code)
        self.assertEqual(self.hop.mails, [TEXTS["dots"]])

    def test_the_next_hop_is_gone_at_every_point(self):
        self.start_proxy()
        self.proxy.process.waited_for = (r"warning: \[mail-proxy\] next hop not reached",)
        for place_, code in {"connect": 421, "EHLO": 421, "MAIL": 421, "RCPT": 421, "DATA": 451, "body": 451,
                             ".": 451}.items():
            with self.subTest(place_):
                self.hop.dies_at = place_
                self.assertEqual(self.last_code_of_a_mail(), code)
                self.assertEqual(self.hop.mails, [])
        self.assertEqual(self.last_code_of_a_mail(), 250)
        counters = self.proxy.counters()
        self.assertGreaterEqual(counters["mails-unknown"], 1)
        self.assertEqual(counters["mails-unknown"] + counters["next-hop-lost"], 3)
        self.assertEqual(counters["mails"], 1)
        self.hop.close()

    def last_code_of_a_mail(self):
        with Client(self.address) as client:
            reply = client.reply()
            for step in ("EHLO c", f"MAIL FROM:<{SENDER}>", f"RCPT TO:<{RECIPIENT}>", "DATA", "a\r\nb\r\n."):
                if int(reply[:3]) >= 400:
                    break
                client.send(step + "\r\n")
                reply = client.reply()
            return int(reply[:3])

    def test_no_next_hop_at_all(self):
        address = self.free_address()
        proxy = MailProxy(self, [{"next-hop": address}])
        with Client(proxy.addresses[0]) as client:
            client.expect(421)
            self.assertEqual(client.reply(), "")
        proxy.wait_for_log(r"warning: \[mail-proxy\] next hop not reached, .*\(Connection refused\)")

    def test_a_client_that_is_gone_amid_a_mail_leaves_none(self):
        self.start_proxy()
        with Client(self.address) as client:
            client.begin()
            client.begin_mail()
            client.send(b"half\r\n")
            wait_for(lambda: b"DATA\r\n" in self.hop.commands, "DATA at the next hop")
        wait_for(lambda: self.hop.halves, "the next hop to see the end")
        self.assertEqual((self.hop.mails, self.hop.halves), ([], [b"half\r\n"]))
        self.proxy.wait_for_log("mail cut, ")

    def test_clients_that_reset_leave_no_session(self):
        self.start_proxy()
        told = [b"", b"EHLO c\r\n", f"EHLO c\r\nMAIL FROM:<{SENDER}>\r\nRCPT TO:<{RECIPIENT}>\r\nDATA\r\n".encode(),
                f"EHLO c\r\nMAIL FROM:<{SENDER}>\r\nRCPT TO:<{RECIPIENT}>\r\nBDAT 2 LAST\r\n\r\nQUIT\r\n".encode()]
        for text in told:
            for _ in range(5):
                with socket.create_connection(self.address, PATIENCE_S) as client:
                    client.sendall(text)
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.proxy.wait_for_log("session ended", 5 * len(told))
        wait_for(lambda: self.proxy.counters()["sessions"] == 0, "the end of all sessions")

    def test_slow_clients_and_next_hops_have_their_time(self):
        self.start_proxy(sections={"limits": {"command-timeout": "1s", "data-timeout": "1s"}})
        with Client(self.address) as client:
            client.send("EHLO client.example.net\r\n")
            for code in (220, 250, 421):
                client.expect(code)
            self.assertEqual(client.reply(), "")
        with Client(self.address) as client:
            client.begin_at_once(b"half a mail\r\n")
            client.expect(421)
        wait_for(lambda: self.hop.halves, "the next hop to see the end")
        self.assertEqual(self.hop.mails, [])
        self.assertEqual(self.proxy.counters()["timeouts"], 2)

    def test_the_time_in_which_the_proxy_stands_still_is_not_the_client_s(self):
        self.start_proxy(sections={"limits": {"command-timeout": "3s"}})

        def tell_all(number):
            for pid, _ in descendants_of(self.proxy.process.pid):
                os.kill(pid, number)

        def talk():
            """What was said before the process had looked at the clock; None when it had given up already."""
            with Client(self.address) as client:
                client.begin()
                tell_all(signal.SIGSTOP)
                try:
                    is_there = select.select([client.socket], [], [], 0)[0] == []
                    client.send("NOOP\r\n")
                    time.sleep(4)
                finally:
                    tell_all(signal.SIGCONT)
                return client.reply()[:3] if is_there else None

        self.assertEqual(wait_for(talk, "a client that was in time"), "250")

    def test_the_time_of_a_mail_ends_with_it(self):
        self.start_proxy(sections={"limits": {"mail-timeout": "2s"}})
        with Client(self.address) as client, Client(self.address) as other:
            other.begin()
            client.begin_at_once(HEAD + b"\r\n.\r\n")
            client.expect(250)
            end_s = time.monotonic() + 2.5
            while time.monotonic() < end_s:
                client.say("NOOP", 250)
            # A chunk without a mail is read as that of one is.
            client.send(b"BDAT 2\r\nx")
            for _ in range(100):
                other.say("NOOP", 250)
            client.send(b"x")
            client.expect(503)

    def test_the_time_of_a_mail_runs_between_its_chunks(self):
        self.start_proxy(sections={"limits": {"mail-timeout": "1s"}})
        with Client(self.address) as client:
            client.begin()
            client.say(f"MAIL FROM:<{SENDER}>", 250)
            client.say(f"RCPT TO:<{RECIPIENT}>", 250)
            client.send(b"BDAT 1\r\nx")
            end_s = time.monotonic() + PATIENCE_S
            while (reply := client.reply()).startswith("250") and time.monotonic() < end_s:
                time.sleep(.01)
                client.send("NOOP\r\n")
            self.assertRegex(reply, "^421 4.4.2 ")
        self.proxy.wait_for_log("mail cut, ")
        self.assertEqual(self.proxy.counters()["timeouts"], 1)

    def test_a_mail_in_a_mail_is_none(self):
        self.start_proxy()
        hidden = f"MAIL FROM:<hidden@example.net>\r\nRCPT TO:<{RECIPIENT}>\r\nDATA\r\nhidden\r\n"
        for trick in ("\n.\n", "\n.\r\n", "\r\n.\n", "\r.\r", "\r\n.\r", "\r\n\0.\r\n"):
            for is_chunked in (False, True):
                with self.subTest(trick=trick, is_chunked=is_chunked), Client(self.address) as client:
                    text = f"first{trick}{hidden}"
                    client.begin()
                    client.say(f"MAIL FROM:<{SENDER}>", 250)
                    client.say(f"RCPT TO:<{RECIPIENT}>", 250)
                    if is_chunked:
                        client.send(f"BDAT {len(text)} LAST\r\n{text}")
                    else:
                        client.say("DATA", 354)
                        client.send(f"{text}\r\n.\r\n")
                    client.expect(550 if "\0" in trick else 521)
        self.assertEqual(self.hop.mails, [])
        self.assertFalse([command for command in self.hop.commands if b"hidden" in command])

    def test_lmtp_has_a_reply_for_each_recipient(self):
        self.start_proxy(is_lmtp=True)
        with Client(self.address) as client:
            client.begin("LHLO")
            client.begin_mail(["a@example.com", "b@example.com"])
            client.send(dotted(TEXTS["dots"]) + b".\r\n")
            client.expect(250)
            client.expect(250)
            client.begin_mail(["a@example.com", "b@example.com"])
            client.send(dotted(BAD) + b".\r\n")
            client.expect(550)
            client.expect(550)
            client.say("QUIT", 221)
        self.assertEqual(self.hop.mails, [TEXTS["dots"]])

    def test_tls_of_our_own(self):
        certificate = make_certificate(self, HOSTNAME)
        self.start_proxy(certificates=[certificate])
        with smtplib.SMTP(*self.address, timeout=PATIENCE_S) as client:
            client.ehlo()
            self.assertTrue(client.has_extn("starttls"))
            client._host = HOSTNAME  # smtplib checks what it has connected to
            client.starttls(context=tls_of(certificate))
            client.ehlo()
            self.assertFalse(client.has_extn("starttls"))
            client.sendmail(SENDER, [RECIPIENT], TEXTS["large"])
            with self.assertRaises(smtplib.SMTPDataError):
                client.sendmail(SENDER, [RECIPIENT], BAD)
            client.sendmail(SENDER, [RECIPIENT], TEXTS["short"])
        self.assertTrue(self.hop.mails == [TEXTS["large"], TEXTS["short"]])
        with Client(self.address) as client:
            client.begin()
            client.send("STARTTLS\r\nNOOP\r\n")
            client.expect(521)

    def test_tls_from_the_first_byte(self):
        certificate = make_certificate(self, HOSTNAME)
        self.start_proxy(certificates=[certificate], tls="implicit")
        with Client(self.address, tls_of(certificate)) as client:
            client.begin()
            client.begin_mail()
            client.send(dotted(TEXTS["large"]) + b".\r\n")
            client.expect(250)
            client.say("QUIT", 221)
        self.assertTrue(self.hop.mails == [TEXTS["large"]])

    def test_a_handshake_that_fails_ends_its_session(self):
        self.start_proxy(certificates=[make_certificate(self, HOSTNAME)])
        with Client(self.address) as client:
            client.begin()
            client.say("STARTTLS", 220)
            client.send(b"this is no handshake\r\n" * 10)
            with contextlib.suppress(OSError):  # it may be gone already
                client.socket.shutdown(socket.SHUT_WR)
            self.proxy.wait_for_log("TLS failed, id=")
            self.proxy.wait_for_log("session ended, .* end=tls")
        self.assertEqual(self.proxy.counters()["tls-failed"], 1)

    def test_a_session_that_breaks_off_under_tls_has_had_its_handshake(self):
        certificate = make_certificate(self, HOSTNAME)
        self.start_proxy(certificates=[certificate])
        with Client(self.address) as client:
            client.begin()
            client.say("STARTTLS", 220)
            client.start_tls(tls_of(certificate))
            client.say("EHLO client.example.net", 250)
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.proxy.wait_for_log("session ended, ")
        self.assertEqual(self.proxy.counters()["tls-failed"], 0)

    def test_a_proxy_header_comes_in_and_goes_out(self):
        self.start_proxy(**{"proxy-of": "127.0.0.0/8", "proxy-to": "v1"})
        with Client(self.address) as client:
            client.send("PROXY TCP4 192.0.2.7 198.51.100.1 51234 25\r\n")
            client.expect(220)
            client.say("QUIT", 221)
        wait_for(lambda: len(self.hop.commands) > 1, "the next hop to hear it")
        self.assertEqual(self.hop.commands[0], b"PROXY TCP4 192.0.2.7 198.51.100.1 51234 25\r\n")
        self.proxy.wait_for_log("session ended, client=192.0.2.7 ")
        with Client(self.address) as client:
            client.send("EHLO c\r\n")
            self.assertEqual(client.reply(), "")

    def test_a_handshake_comes_in_one_segment_with_a_proxy_header(self):
        certificate = make_certificate(self, HOSTNAME)
        self.start_proxy(certificates=[certificate], tls="implicit", **{"proxy-of": "127.0.0.0/8"})
        header = b"PROXY TCP4 192.0.2.7 198.51.100.1 51234 465\r\n"
        for cut in (0, 1, 20, len(header) - 1, len(header), len(header) + 1):
            with self.subTest(cut=cut), socket.create_connection(self.address, PATIENCE_S) as raw:
                raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                come, gone = ssl.MemoryBIO(), ssl.MemoryBIO()
                tls = tls_of(certificate).wrap_bio(come, gone, server_hostname=HOSTNAME)
                with self.assertRaises(ssl.SSLWantReadError):
                    tls.do_handshake()
                segment = header + gone.read()
                raw.sendall(segment[:cut])
                raw.sendall(segment[cut:])
                greeting = b""
                while not greeting:
                    come.write(self.some_of(raw))
                    with contextlib.suppress(ssl.SSLWantReadError):
                        tls.do_handshake()
                        raw.sendall(gone.read())
                        greeting = tls.read(100)
                self.assertTrue(greeting.startswith(b"220 "))
        self.proxy.wait_for_log("session ended, client=192.0.2.7 ")

    def some_of(self, raw):
        bytes_ = raw.recv(65536)
        self.assertTrue(bytes_, "the proxy has closed")
        return bytes_

    def test_metrics_have_the_names_of_the_manual(self):
        with open(MANUAL, encoding="ascii") as file:
            told = re.findall(r"(?m)^\.Li (mail_proxy_\w*[a-z])\b", file.read())
        self.start_proxy()
        self.proxy.counters()
        wait_for(lambda: os.path.exists(self.proxy.metrics_path), "metrics")
        with open(self.proxy.metrics_path, encoding="ascii") as file:
            names = re.findall(r"(?m)^(\w+)", file.read())
        self.assertGreater(len(told), 2)
        self.assertEqual(sorted(set(told) - set(names)), [])

    def test_limits_of_a_network(self):
        self.start_proxy(sections={"limits": {"connections": 2}})
        with Client(self.address) as one, Client(self.address) as two, Client(self.address) as three:
            one.expect(220)
            two.expect(220)
            three.expect(421)

    def flood(self):
        """Twice as many clients at once as have a line in a second; one a minute is none of those that are refused."""
        with contextlib.ExitStack() as stack:
            clients = [stack.enter_context(Client(self.address)) for _ in range(20)]
            for client in clients:
                client.reply()

    def told_refusals(self):
        """How many have a line, and how many are counted."""
        left_out = re.findall(r"info: \[mail-proxy\] lines left out, process=0 refusals=(\d+) failures=0$",
                              self.proxy.log(), re.MULTILINE)
        return self.proxy.log().count(" connection refused, "), sum(map(int, left_out))

    def test_a_flood_of_clients_that_are_refused_does_not_fill_the_log(self):
        self.start_proxy(sections={"limits": {"rate": 1}})

        def are_some_left_out():
            self.flood()
            return self.told_refusals()[1] > 0

        wait_for(are_some_left_out, "lines to be left out")
        refused = self.proxy.counters()["sessions-limited"]
        wait_for(lambda: sum(self.told_refusals()) == refused, "all of them to be written or counted")

    def test_lines_that_were_left_out_are_told_at_the_end(self):
        self.start_proxy(sections={"limits": {"rate": 1}})
        for _ in range(20):
            self.flood()
        refused = self.proxy.counters()["sessions-limited"]
        self.proxy.process.send_signal(signal.SIGTERM)
        self.proxy.wait_for_log("process ended, process=0")
        self.assertEqual(sum(self.told_refusals()), refused)

    def test_a_mail_that_is_too_large_is_refused(self):
        self.start_proxy(sections={"limits": {"size": 1000}})
        with Client(self.address) as client:
            self.assertIn("SIZE 1000\r\n", client.begin())
            client.say(f"MAIL FROM:<{SENDER}> SIZE=1001", 552)
            client.begin_mail()
            client.send(b"x" * 1001 + b"\r\n.\r\n")
            client.expect(552)
        self.assertEqual(self.hop.mails, [])

    def test_sigterm_lets_a_mail_come_to_its_end(self):
        self.start_proxy(sections={"proxy": {"drain": "1m"}})
        with Client(self.address) as client, Client(self.address) as idle:
            client.begin()
            idle.begin()
            client.begin_mail()
            self.proxy.process.send_signal(signal.SIGTERM)
            self.proxy.wait_for_log("process drains")
            idle.expect(421)
            client.send(b"late\r\n.\r\n")
            client.expect(250)
            client.expect(421)
        self.assertEqual(self.proxy.process.popen.wait(PATIENCE_S), 0)
        self.assertEqual(self.hop.mails, [b"late\r\n"])

    def test_sigterm_reaches_sessions_that_are_in_their_handshake(self):
        certificate = make_certificate(self, HOSTNAME)
        self.start_proxy(certificates=[certificate], tls="implicit", sections={"proxy": {"drain": "1m"}})
        plain = socket.create_connection(self.address, timeout=PATIENCE_S)
        with plain:
            self.proxy.process.send_signal(signal.SIGTERM)
            self.proxy.wait_for_log("process drains")
            with tls_of(certificate).wrap_socket(plain, server_hostname=HOSTNAME) as secure, \
                    secure.makefile("rb") as file:
                self.assertIn(b"220 ", file.readline())
                self.assertIn(b"421 ", file.readline())
        self.assertEqual(self.proxy.process.popen.wait(PATIENCE_S), 0)

    def test_sighup_reads_the_configuration(self):
        self.start_proxy()
        with Client(self.address) as client:
            client.begin()
            client.begin_mail()
            self.proxy.sections["limits"]["size"] = 1000
            self.proxy.write_config()
            self.proxy.process.send_signal(signal.SIGHUP)
            self.proxy.wait_for_log(r"\[mail-proxy\] reloaded")
            client.send(b"over\r\n.\r\n")
            client.expect(250)
        with Client(self.address) as client:
            self.assertIn("SIZE 1000\r\n", client.begin())
        self.assertEqual(self.hop.mails, [b"over\r\n"])

    def test_many_sessions_with_cuts_kills_and_slow_clients(self):
        self.start_proxy()
        # Of a client that has gone at once, the proxy may look for the hop when that has ended with the test, or ends.
        self.expect_log(r"next hop not reached, .* \(Connection (refused|reset by peer)\)")
        for number in range(60):
            seed = self.random.randrange(1 << 30)
            with self.subTest(number=number, seed=seed):
                self.one_session(random.Random(seed), number)
        self.assertFalse([mail for mail in self.hop.mails if EICAR.encode() in mail])

    def one_session(self, chance, number):
        is_bad = chance.random() < 0.5
        body = b"Subject: %d\r\n\r\n" % number + b"z" * chance.randrange(900) + b"\r\n"
        body += (EICAR.encode() + b"\r\n") * is_bad + b"tail\r\n" * chance.randrange(2000)
        self.hop.dies_at = chance.choice([None, None, None, "MAIL", "DATA", "body", "."])
        told = (f"EHLO c\r\nMAIL FROM:<{SENDER}>\r\nRCPT TO:<{RECIPIENT}>\r\nDATA\r\n").encode()
        stream = told + body + b".\r\nQUIT\r\n"
        end = chance.choice([len(stream), len(stream), chance.randrange(len(stream))])
        is_killed = self.hop.dies_at is not None
        with Client(self.address) as client:
            at = 0
            try:
                while at < end:
                    size = chance.choice([1, 7, 100, 5000])
                    client.send(stream[at:min(at + size, end)])
                    at += size
                if end == len(stream):
                    replies = [client.reply() for _ in range(6)]
                    if not is_bad and not is_killed:
                        self.assertEqual(replies[5][:3], "250")
                        # Of a client before that has gone, a mail may come behind it.
                        self.assertIn(body, self.hop.mails)
                    else:
                        self.assertTrue(is_killed or replies[5].startswith("550"), replies)
            except (ConnectionError, BrokenPipeError):
                self.assertTrue(is_killed)
        self.hop.dies_at = None


class Servers:
    """Real ones, by start_server(): place, and mails()."""

    def check(self, protocol="smtp", kind=smtplib.SMTP):
        server, mails = self.start_server()
        proxy = MailProxy(self, [{"next-hop": server, "protocol": protocol}])
        address = proxy.addresses[0]
        for name, text in TEXTS.items():
            with self.subTest(name):
                before = len(mails())
                self.assertEqual(send(address, text, kind=kind)[0], 250)
                wait_for(lambda: len(mails()) > before, "the mail", PATIENCE_S)
        code, words = send(address, BAD, kind=kind)
        self.assertEqual(code, 550)
        self.assertIn(b"Eicar-Signature", words)
        self.assertEqual(send(address, TEXTS["short"], kind=kind)[0], 250)
        found = wait_for(lambda: len(mails()) >= len(TEXTS) + 1 and mails(), "all mails", PATIENCE_S)
        self.assertFalse([mail for mail in found if EICAR.encode() in mail])
        plain = [mail.replace(b"\r\n", b"\n") for mail in found]
        for name, text in TEXTS.items():
            with self.subTest(name):
                end = text.replace(b"\r\n", b"\n").partition(b"\n\n")[2]
                self.assertTrue(any(mail.endswith(b"\n\n" + end) for mail in plain))


class WithPostfix(Servers, Case):
    def start_server(self):
        server = mta.Postfix(self, main=["smtpd_authorized_xforward_hosts = 127.0.0.0/8"])
        return server.address, server.delivered

    def test_mails(self):
        self.check()

    def test_as_its_filter(self):
        """Postfix gives its mails to the proxy, which gives them to another smtpd of it."""
        inner, proxy_address = self.free_address(), self.free_address()
        host, port = inner
        server = mta.Postfix(
            self, main=["smtpd_authorized_xforward_hosts = 127.0.0.0/8", "smtpd_proxy_filter = " + ":".join(
                map(str, proxy_address))],
            master=[f"{host}:{port} inet n - n - - smtpd -o smtpd_proxy_filter= -o mynetworks=127.0.0.0/8"])
        proxy = MailProxy(self, [{"listen": proxy_address, "mode": "filter", "next-hop": inner}])
        self.assertEqual(send(server.address, TEXTS["dots"])[0], 250)
        code, words = send(server.address, BAD)
        self.assertEqual(code, 550)
        self.assertIn(b"Eicar-Signature", words)
        self.assertEqual(send(server.address, TEXTS["short"])[0], 250)
        found = server.wait_for_delivered(2)
        self.assertEqual(len(found), 2)
        self.assertEqual(proxy.counters()["mails-rejected"], 1)


class WithExim(Servers, Case):
    settings = ()

    def start_server(self):
        server = mta.Exim(self, proxy=False, main=["accept_8bitmime = true", *self.settings]).start()
        return server.address, server.delivered

    def test_mails(self):
        self.check()

    def test_without_pipelining(self):
        """Exim drops a client that goes on before a reply then; PIPELINING is the proxy's own offer."""
        self.settings = ("pipelining_advertise_hosts =",)
        server, mails = self.start_server()
        proxy = MailProxy(self, [{"next-hop": server}])
        with Client(proxy.addresses[0]) as client:
            self.assertIn("PIPELINING", client.begin())
            client.send(f"MAIL FROM:<{SENDER}>\r\n" + f"RCPT TO:<{RECIPIENT}>\r\n" * 3 + "DATA\r\n")
            for code in (250, 250, 250, 250, 354):
                client.expect(code)
            client.send(TEXTS["short"] + b".\r\n")
            client.expect(250)
            client.say("QUIT", 221)
        wait_for(mails, "the mail", PATIENCE_S)


class WithOpenSmtpd(Servers, Case):
    def start_server(self):
        server = opensmtpd.OpenSmtpd(self, proxy=False)
        return server.address, server.delivered

    def test_mails(self):
        self.check()


class Lmtp(smtplib.LMTP):
    """As smtplib.SMTP to send()."""

    def ehlo(self, name=""):
        return super().ehlo(name)


class WithDovecot(Servers, Case):
    def start_server(self):
        server = Dovecot(self)
        return server.address, lambda: server.delivered("inbox") or server.delivered(RECIPIENT)

    def test_mails(self):
        self.check("lmtp", Lmtp)


class Transparent(Case):
    """A network of its own, in which a rule of nftables redirects what goes to the next hop."""

    RULES = """\
table inet proxied {{
  chain out {{
    type nat hook output priority -100; policy accept;
    meta skuid {user} accept
    tcp dport {port} counter redirect to :{own}
  }}
}}
"""

    def setUp(self):
        super().setUp()
        mta.need_root()
        self.nft = peer("nft")

    def check(self, host, own):
        space = self.make_space("space")
        self.enter_network(space.pid)
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        hop = Hop(self, host=host)
        rules = self.write("rules", self.RULES.format(port=hop.address[1], own=own[1], user=USER))
        result = subprocess.run([self.nft, "-f", rules], capture_output=True, text=True, check=False)
        if result.returncode != 0:
            self.skipTest(f"this kernel has no redirection: {result.stderr}")
        proxy = MailProxy(self, [{"listen": own, "mode": "transparent"}])
        self.assertEqual(send(hop.address, TEXTS["dots"])[0], 250)
        code, words = send(hop.address, BAD)
        self.assertEqual(code, 550)
        self.assertIn(b"Eicar-Signature", words)
        self.assertEqual(hop.mails, [TEXTS["dots"]])
        # Nobody is redirected here: the proxy would connect to itself.
        with Client(own) as client:
            self.assertEqual(client.reply(), "")
        proxy.wait_for_log(r"warning: .* connection dropped, .*its destination is this proxy")

    def test_ipv4(self):
        self.check("127.0.0.2", ("127.0.0.1", self.free_port()))

    def test_ipv6(self):
        self.check("::1", ("::1", self.free_port()))


if __name__ == "__main__":
    main()
