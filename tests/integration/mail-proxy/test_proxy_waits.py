#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
mail-proxy waits for what scans besides, and for nothing else: a clamd that is slow, takes nothing for a
while, breaks off or is not there, and processes that open archives; sessions beside go on, and so does
what goes wrong meanwhile.

The clamd is the test's own; 7z makes an archive for a process, and without it that test is skipped.
"""

import array
import base64
import concurrent.futures
import fcntl
import socket
import ssl
import struct
import subprocess
import termios
import threading
import time

from harness import Case, main, peer, wait_for
from popfront import make_certificate
from proxying import (EICAR, HOSTNAME, PATIENCE_S, RECIPIENT, SENDER, Client, Hop, MailProxy, close_listener,
                      dotted, place)

MAIL = b"Subject: a\r\n\r\n" + b"0123456789\r\n" * 100
LARGE = b"Subject: a\r\n\r\n" + b"0123456789\r\n" * 400000


class Clamd:
    """Takes INSTREAM; answers when it may, and reads when it may."""

    def __init__(self, case, answer="stream: OK", breaks_off=False):
        self.answer = answer
        self.breaks_off = breaks_off
        self.may_answer, self.may_read = threading.Event(), threading.Event()
        self.may_answer.set()
        self.may_read.set()
        self.mails = []
        self.asked = 0
        self.client = None  # the last
        self.path = case.path("clamd.sock")
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(self.path)
        self.socket.listen(100)
        subprocess.run(["chmod", "666", self.path], check=True)
        case.addCleanup(close_listener, self.socket)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self.socket.accept()
            except OSError:
                return
            self.client = client
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def unread(self):
        size = array.array("i", [0])
        fcntl.ioctl(self.client, termios.FIONREAD, size)
        return size[0]

    def _serve(self, client):
        with client, client.makefile("rb") as file:
            try:
                self._scan(client, file)
            except (OSError, struct.error):
                pass

    def _scan(self, client, file):
        assert file.read(10) == b"zINSTREAM\0"
        self.asked += 1
        mail = b""
        self.may_read.wait(PATIENCE_S)
        while size := struct.unpack(">I", file.read(4))[0]:
            mail += file.read(size)
            if self.breaks_off:
                return
        self.mails.append(mail)
        self.may_answer.wait(PATIENCE_S)
        client.sendall(self.answer.encode() + b"\0")


def hand_over(client, clamd):
    """A mail whose end the client has said, to be scanned."""
    client.begin()
    client.begin_mail()
    client.send(MAIL + b".\r\n")
    wait_for(lambda: clamd.mails, "clamd to have the mail")


class Waits(Case):
    def start_proxy(self, clamd_path, limits=None, proxy_of=(), **scan):
        self.hop = Hop(self)
        items = {"next-hop": self.hop.address, **({"proxy-of": proxy_of} if proxy_of else {})}
        self.proxy = MailProxy(self, [items], limits=limits or {},
                               scan={"clamd": clamd_path, **scan})
        self.address = self.proxy.addresses[0]

    def send(self, mail=MAIL, code=250):
        with Client(self.address) as client:
            client.begin()
            client.begin_mail()
            client.send(dotted(mail) + b".\r\n")
            reply = client.expect(code)
            client.say("QUIT", 221)
        return reply

    def test_it_has_the_same_bytes(self):
        clamd = Clamd(self)
        self.start_proxy(clamd.path)
        for mail in (MAIL, LARGE):
            self.send(mail)
        self.assertTrue(clamd.mails == [MAIL, LARGE])
        self.assertTrue(self.hop.mails == [MAIL, LARGE])

    def test_its_verdict_is_waited_for(self):
        clamd = Clamd(self, "stream: Test.Found FOUND")
        clamd.may_answer.clear()
        self.start_proxy(clamd.path)
        with Client(self.address) as client:
            hand_over(client, clamd)
            # Another session is not kept waiting.
            with Client(self.address) as other:
                other.begin()
                other.say("QUIT", 221)
            self.assertEqual(self.hop.mails, [])
            clamd.may_answer.set()
            self.assertIn("Test.Found", client.expect(550))
        self.assertEqual(self.hop.mails, [])

    def test_one_that_reads_nothing_for_a_while_stops_the_client(self):
        clamd = Clamd(self)
        clamd.may_read.clear()
        # Of a machine that is busy, more than it takes to see the first byte.
        self.start_proxy(clamd.path, limits={"data-timeout": "5s"})
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            sending = pool.submit(self.send, LARGE)
            wait_for(lambda: clamd.asked and clamd.unread() > 100000, "clamd to have much to read")
            with Client(self.address) as other:
                other.begin()
                other.begin_mail()
                # The first has waited for longer, and is not to blame.
                other.expect(421)
            self.assertFalse(sending.done())
            clamd.may_read.set()
            self.assertTrue(sending.result(PATIENCE_S).startswith("250"))
        self.assertTrue(self.hop.mails == [LARGE])

    def test_one_that_breaks_off_or_is_not_there(self):
        clamd = Clamd(self, breaks_off=True)
        self.start_proxy(clamd.path)
        self.expect_log("warning: .*clamd", "error: .*clamd")
        self.send(LARGE, 451)
        close_listener(clamd.socket)
        self.send(MAIL, 451)
        self.assertEqual(self.hop.mails, [])
        self.assertEqual(self.proxy.counters()["mails-deferred"], 2)

    def test_without_one_when_the_configuration_says_so(self):
        self.start_proxy(self.path("nowhere"), **{"on-unavailable": "accept"})
        self.expect_log("warning: .*clamd", "error: .*clamd")
        self.send(MAIL)
        self.proxy.wait_for_log("mail scanned, action=accept found=.* class=busy peer=clamd ")
        self.assertIn("Eicar-Signature", self.send(b"\r\n" + EICAR.encode() + b"\r\n", 550))
        self.assertEqual(self.hop.mails, [MAIL])

    def test_a_next_hop_that_is_gone_meanwhile(self):
        clamd = Clamd(self)
        clamd.may_answer.clear()
        self.start_proxy(clamd.path)
        with Client(self.address) as client:
            hand_over(client, clamd)
            self.hop.hang_up()
            client.expect(451)
            clamd.may_answer.set()
            client.say("NOOP", 250)
        self.assertEqual(self.hop.mails, [])

    def test_a_client_that_is_gone_meanwhile(self):
        """It sends its mail again, which is there once then."""
        clamd = Clamd(self)
        clamd.may_answer.clear()
        self.start_proxy(clamd.path)
        for is_reset in (False, True):
            with Client(self.address) as client:
                hand_over(client, clamd)
                if is_reset:
                    client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            clamd.mails.clear()
        self.proxy.wait_for_log("mail cut, ", 2)
        self.proxy.wait_for_log("session ended, ", 2)
        clamd.may_answer.set()
        self.send(MAIL)
        self.assertEqual(self.hop.mails, [MAIL])

    def test_a_client_that_has_said_quit_and_waits(self):
        clamd = Clamd(self)
        clamd.may_answer.clear()
        self.start_proxy(clamd.path)
        with Client(self.address) as client:
            client.begin()
            client.begin_mail()
            client.send(MAIL + b".\r\nQUIT\r\n")
            client.socket.shutdown(socket.SHUT_WR)
            wait_for(lambda: clamd.mails, "clamd to have the mail")
            clamd.may_answer.set()
            client.expect(250)
            client.expect(221)
        self.assertEqual(self.hop.mails, [MAIL])

    def test_many_at_a_time(self):
        clamd = Clamd(self)
        clamd.may_answer.clear()
        self.start_proxy(clamd.path)
        with concurrent.futures.ThreadPoolExecutor(30) as pool:
            sending = [pool.submit(self.send) for _ in range(30)]
            wait_for(lambda: len(clamd.mails) == 30, "all mails at clamd", PATIENCE_S)
            clamd.may_answer.set()
            for one in sending:
                one.result(PATIENCE_S)
        self.assertEqual(self.hop.mails, [MAIL] * 30)

    def test_more_than_may_be_scanned_are_put_off(self):
        clamd = Clamd(self)
        clamd.may_answer.clear()
        self.start_proxy(clamd.path, mails=1)
        with Client(self.address) as client:
            hand_over(client, clamd)
            with Client(self.address) as other:
                other.begin()
                other.say(f"MAIL FROM:<{SENDER}>", 250)
                other.say(f"RCPT TO:<{RECIPIENT}>", 250)
                other.say("DATA", 451)
                other.say("RSET", 250)
            clamd.may_answer.set()
            client.expect(250)
        self.send(MAIL)

    def test_slow_mails_of_one_network_leave_places_to_others(self):
        clamd = Clamd(self)
        clamd.may_answer.clear()
        self.start_proxy(clamd.path, limits={"connections": 100}, proxy_of="127.0.0.0/8", mails=4)
        with Client(self.address) as slow, Client(self.address) as beside, Client(self.address) as other:
            for client, address in ((slow, "192.0.2.1"), (beside, "192.0.2.2"), (other, "198.51.100.1")):
                client.send(f"PROXY TCP4 {address} 203.0.113.1 51234 25\r\n")
            hand_over(slow, clamd)
            for client, code in ((beside, 451), (other, 354)):
                client.begin()
                client.say(f"MAIL FROM:<{SENDER}>", 250)
                client.say(f"RCPT TO:<{RECIPIENT}>", 250)
                client.say("DATA", code)
            clamd.may_answer.set()
            slow.expect(250)
            beside.say("RSET", 250)
            beside.begin_mail()

    def test_an_archive_that_a_process_opens(self):
        seven = peer("7z")
        member, archive = self.write("member.com", EICAR), self.path("member.7z")
        subprocess.run([seven, "a", archive, member], check=True, capture_output=True, timeout=PATIENCE_S)
        with open(archive, "rb") as file:
            text = base64.encodebytes(file.read()).replace(b"\n", b"\r\n")
        self.hop = Hop(self)
        self.proxy = MailProxy(self, [{"next-hop": self.hop.address}])
        self.address = self.proxy.addresses[0]
        mail = (b"MIME-Version: 1.0\r\nContent-Type: application/octet-stream\r\n"
                b"Content-Transfer-Encoding: base64\r\n\r\n" + text)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for reply in pool.map(lambda _: self.send(mail, 550), range(16)):
                self.assertIn("Eicar-Signature", reply)
        self.send(MAIL)
        self.assertEqual(self.hop.mails, [MAIL])


class Milter:
    """Goes on with each packet, and has those that it got: [(letter, data)]."""

    def __init__(self, case):
        self.packets = []
        self.socket = socket.create_server((case.host, 0))
        self.address = self.socket.getsockname()[:2]
        case.addCleanup(close_listener, self.socket)
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        client, _ = self.socket.accept()
        with client, client.makefile("rb") as file:
            while head := file.read(4):
                packet = file.read(struct.unpack(">I", head)[0])
                self.packets.append((packet[:1], packet[1:]))
                if packet[:1] == b"O":
                    client.sendall(struct.pack(">IcIII", 13, b"O", 6, 0, 0))
                elif packet[:1] not in b"DQ":
                    client.sendall(struct.pack(">Ic", 1, b"c"))


class BesideMilter(Case):
    def test_it_hears_of_each_recipient(self):
        recipients = [f"inbox{i}@example.com" for i in range(40)]
        milter, hop = Milter(self), Hop(self)
        proxy = MailProxy(self, [{"next-hop": hop.address}], scan={"milter": place(milter.address)})
        with Client(proxy.addresses[0]) as client:
            client.begin()
            client.begin_mail(recipients)
            client.send(MAIL + b".\r\n")
            client.expect(250)
            client.say("QUIT", 221)
        self.assertEqual([data for letter, data in milter.packets if letter == b"R"],
                         [f"<{recipient}>\0".encode() for recipient in recipients])


class Deaf(Case):
    """Clients that say much and read nothing."""

    def test_its_session_ends(self):
        hop = Hop(self)
        limits = {"command-timeout": "3s", "data-timeout": "1s"}
        proxy = MailProxy(self, [{"next-hop": hop.address}], limits=limits)
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)
            client.connect(proxy.addresses[0])
            client.settimeout(1)
            # Slowly: the system has taken all that it takes of the replies when the last of these come.
            try:
                for _ in range(1000):
                    client.sendall(b"HELP\r\n" * 40)
                    time.sleep(0.005)
            except OSError:
                pass
            proxy.wait_for_log("session ended, ")
        self.assertEqual(proxy.counters()["timeouts"], 1)


class Clear:
    """In place of a context of TLS: the next hop goes on in the clear, and says this first."""

    def __init__(self, said):
        self.said = said

    def wrap_socket(self, client, **_):
        client.sendall(self.said)
        return client


class Passed(Case):
    """STARTTLS of the next hop, which the proxy has no part in."""

    def test_neither_side_says_a_thing_in_the_clear_behind_it(self):
        hop = Hop(self, offers=("hop.example.org", "STARTTLS"), tls=Clear(b"250 injected\r\n"))
        proxy = MailProxy(self, [{"next-hop": hop.address}])
        self.expect_log("warning: .* session passed on unscanned")
        with Client(proxy.addresses[0]) as client:
            client.begin()
            client.send("STARTTLS\r\n")
            self.assertNotIn(b"injected", client.file.read())
        hop.tls.said = b""
        with Client(proxy.addresses[0]) as client:
            client.begin()
            client.say("STARTTLS", 220)
            client.send("RSET\r\n")
            self.assertEqual(client.file.read(), b"")
        self.assertNotIn(b"RSET\r\n", hop.commands)
        proxy.wait_for_log("session ended, .* end=early-input$", 2)

    def test_it_is_passed_on_and_the_log_says_so(self):
        certificate = make_certificate(self, HOSTNAME)
        chain, _, key = certificate.partition(":")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(chain, key)
        hop = Hop(self, offers=("hop.example.org", "STARTTLS"), tls=context)
        proxy = MailProxy(self, [{"next-hop": hop.address}])
        self.expect_log("warning: .* session passed on unscanned")
        with Client(proxy.addresses[0]) as client:
            self.assertIn("STARTTLS", client.begin())
            client.say("STARTTLS", 220)
            client.start_tls(ssl.create_default_context(cafile=chain))
            client.say("EHLO c", 250)
            client.begin_mail()
            client.send(EICAR.encode() + b"\r\n.\r\n")
            client.expect(250)
            client.say("QUIT", 221)
        self.assertEqual(hop.mails, [EICAR.encode() + b"\r\n"])
        proxy.wait_for_log("session ended, .* unscanned_up=")
        self.assertEqual(proxy.counters()["tunnels"], 1)


if __name__ == "__main__":
    main()
