#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
mail-proxy before servers of POP3, ours and Debian's Dovecot: what is clean is the same behind it, by every
client and in every security; what is not becomes a notice, or ends the connection and is a notice the next
time. And servers that break off, have no unique ids, or say each byte alone.
"""

import base64
import hashlib
import io
import os
import poplib
import re
import signal
import socket
import time
import unittest
import zipfile
from email.message import EmailMessage
from email.policy import SMTP

from dovecot import Dovecot
from harness import DEADLINE_S, Case, is_open, main, wait_for
from popclient import Client, plain, tls_context
from popfetchers import CLEAR, STLS, TLS, Fetchers, unix
from popfront import MAILBOX, PASSWORD, PopFront, make_certificate
from popsuite import MANY, NOT_OFFERED, PopSuite
from popproxied import HOSTNAME, TEST_FILE, Misfit, PopProxy

HEAD = (b"From: Anna <anna@example.net>\r\nTo: john@example.org\r\nDate: Tue, 24 Nov 2026 12:00:00 +0000\r\n"
        b"Message-ID: <%d@example.net>\r\nSubject: number %d\r\n\r\n")
BODIES = (
    b"Hello\r\n",
    b"",
    b".\r\n..\r\n. \r\n.x\r\n\r\n.\r\n",
    "Grüße, čau, 你好\r\n".encode() + bytes(range(0xa0, 0x100)) + b"\r\n",
    b"x" * 990 + b"\r\n" + b"y" * 998 + b"\r\n",
    b"\r\n\r\n \r\n\t\r\nblanks \t \r\n\r\n\r\n",
    b"".join(b"line %d of many: %s\r\n" % (i, b"." * (i % 70)) for i in range(30000)),
)
MAILS = [HEAD % (i, i) + body for i, body in enumerate(BODIES)]
FILLING = b"".join(b"filling %d %s\r\n" % (i, b"f" * 60) for i in range(16000))  # more than 1 MB
SMALL = HEAD % (90, 90) + TEST_FILE + b"\r\n"
LARGE = HEAD % (91, 91) + FILLING + TEST_FILE + b"\r\n" + b"the end\r\n"


def is_notice(mail):
    """Whether it is one, whole; TEST_FILE is in no notice."""
    return (b"From: Mail scanner <postmaster@" + HOSTNAME.encode() in mail and
            re.search(rb"(?m)^    Eicar-", mail) is not None and TEST_FILE not in mail)


def said_all(address, commands):
    """What the server says to these till it closes."""
    with socket.create_connection(address, timeout=DEADLINE_S) as client:
        client.sendall(commands)
        got = b""
        while piece := client.recv(65536):
            got += piece
        return got


def joined(lines):
    return b"".join(line + b"\r\n" for line in lines)


class Before(Fetchers, Case):
    """A PopFront, and a proxy before it."""

    def setUp(self):
        super().setUp()
        poplib._MAXLINE = 1 << 20  # pylint: disable=protected-access
        self.certificate = make_certificate(self)
        self.front = PopFront(self, limits={"connections": 0, "rate": 0, "workers": 0})
        self.proxy = None

    def begin(self, mails, **how):
        for mail in mails:
            self.front.deliver(MAILBOX, mail)
        self.proxy = PopProxy(self, self.front.address, certificate=self.certificate, **how)

    def address(self, security):
        return self.proxy.tls_address if security == TLS else self.proxy.address

    def fetch_all(self, security=CLEAR, way="user"):
        session = self.poplib(security, way)
        mails = [joined(session.retr(i + 1)[1]) for i in range(session.stat()[0])]
        session.quit()
        return mails


class Clean(Before):
    def test_poplib(self):
        self.begin(MAILS)
        for security in (CLEAR, STLS, TLS):
            for way in ("user", "plain", "scram"):
                with self.subTest(security=security, way=way):
                    self.assertEqual(self.fetch_all(security, way), MAILS)
        self.assertEqual(set(self.proxy.fates(9 * len(MAILS))), {"passed"})
        self.assertEqual(set(self.proxy.ends(9)), {"quit"})

    def test_fetchmail(self):
        self.begin(MAILS)
        for security in (CLEAR, STLS, TLS):
            with self.subTest(security=security):
                self.assertEqual(sorted(self.fetchmail(security, "user", "--fetchall")), unix(MAILS))

    def test_getmail(self):
        self.begin(MAILS)
        for security in (CLEAR, TLS):
            with self.subTest(security=security):
                self.assertEqual(sorted(self.getmail(security, "user", "--all")), unix(MAILS))

    def test_mpop(self):
        self.begin(MAILS)
        for security in (CLEAR, STLS, TLS):
            for way in ("user", "plain", "scram"):
                with self.subTest(security=security, way=way):
                    self.assertEqual(sorted(self.mpop(security, way)), unix(MAILS))

    def test_curl(self):
        self.begin(MAILS)
        for security in (CLEAR, STLS, TLS):
            with self.subTest(security=security):
                numbers = [line.split()[0].decode() for line in self.curl(security, "plain", "").splitlines() if line]
                self.assertEqual([self.curl(security, "plain", number) for number in numbers], MAILS)

    def test_unique_ids_and_offers_are_the_servers(self):
        self.begin(MAILS)
        found = []
        for address in (self.front.address, self.proxy.address):
            with Client(address) as client:
                offers = client.ask("CAPA")
                client.login(MAILBOX, PASSWORD)
                found.append((client.uids(), client.ask("LIST"), set(offers) - {"STLS"}))
                client.say("QUIT", "+OK")
        self.assertEqual(found[0], found[1])

    def test_pipelined(self):
        self.begin(MAILS)
        with Client(self.proxy.address) as client:
            self.assertIn("PIPELINING", client.ask("CAPA"))
            client.send(f"AUTH PLAIN {plain(MAILBOX, PASSWORD)}\r\nSTAT\r\nXTND\r\nUIDL\r\n".encode() +
                        b"".join(b"RETR %d\r\nDELE %d\r\n" % (i + 1, i + 1) for i in range(len(MAILS))) + b"QUIT\r\n")
            client.expect("+OK")
            client.expect(f"+OK {len(MAILS)} ")
            client.expect("-ERR The command is not known")
            client.expect("+OK")
            self.assertEqual(client.body().count(b"\r\n"), len(MAILS))
            mails = []
            for _ in MAILS:
                client.expect("+OK")
                mails.append(client.body())
                client.expect("+OK")
            client.expect("+OK")
            self.assertTrue(client.is_closed())
        self.assertEqual(mails, MAILS)
        self.assertEqual(self.front.entries(MAILBOX), [])

    def test_a_client_that_says_each_byte_alone(self):
        self.begin(MAILS[:3])
        with Client(self.proxy.address) as client:
            for line in (f"USER {MAILBOX}", f"PASS {PASSWORD}", "RETR 3"):
                for byte in line.encode() + b"\r\n":
                    client.send(bytes([byte]))
                client.expect("+OK")
            self.assertEqual(client.body(), MAILS[2])

    def test_a_slow_client(self):
        """It takes little at a time of more than all buffers on the way hold; nothing is lost for that."""
        mail = LARGE.replace(TEST_FILE, b"nothing") * 5
        self.begin([mail])
        with socket.create_connection(self.proxy.address, timeout=DEADLINE_S) as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
            client.sendall(f"USER {MAILBOX}\r\nPASS {PASSWORD}\r\nRETR 1\r\nQUIT\r\n".encode())
            got = bytearray()
            while piece := client.recv(1000 if len(got) < 300000 else 300000):
                got += piece
                if len(got) < 300000:
                    time.sleep(0.002)
        found = bytes(got).split(b"\r\n", 4)[4].rsplit(b".\r\n+OK", 1)[0]
        self.assertEqual(hashlib.sha256(found).digest(), hashlib.sha256(mail).digest())
        self.assertEqual(self.proxy.ends(), ["quit"])

    def test_a_mail_on_its_way_ends_before_the_program_does(self):
        self.begin([LARGE.replace(TEST_FILE, b"nothing") * 5])
        with Client(self.proxy.address) as client:
            client.login(MAILBOX, PASSWORD)
            client.send(b"RETR 1\r\n")
            client.expect("+OK")
            self.proxy.process.send_signal(signal.SIGTERM)
            self.proxy.process.wait_for_log(r"process drains", 2)
            self.assertEqual(client.body(), LARGE.replace(TEST_FILE, b"nothing") * 5)
            client.expect("-ERR [SYS/TEMP] Shutting down")
        self.proxy.process.popen.wait(DEADLINE_S)


class Infected(Before):
    def test_a_small_mail_becomes_a_notice_for_each_client(self):
        self.begin([MAILS[0], SMALL, MAILS[2]])
        for security in (CLEAR, STLS, TLS):
            mails = self.fetch_all(security)
            self.assertEqual([mails[0], mails[2]], [MAILS[0], MAILS[2]])
            self.assertTrue(is_notice(mails[1]), mails[1])
            self.assertIn(b"    Subject: number 90\r\n", mails[1])
        for mails in (self.fetchmail(CLEAR, "user", "--fetchall"), self.mpop(STLS, "plain"),
                      self.getmail(TLS, "user", "--all"), [self.curl(TLS, "plain", str(i + 1)) for i in range(3)]):
            self.assertEqual([is_notice(mail) for mail in mails].count(True), 1)
            self.assertEqual(sorted(unix(mail for mail in mails if not is_notice(mail))),
                             unix([MAILS[0], MAILS[2]]))

    def test_its_user_can_delete_it(self):
        self.begin([SMALL, MAILS[0]])
        session = self.poplib(CLEAR, "user")
        self.assertTrue(is_notice(joined(session.retr(1)[1])))
        session.dele(1)
        session.quit()
        self.assertEqual(self.fetch_all(), [MAILS[0]])

    def test_a_large_mail_is_cut_off_and_is_a_notice_from_then_on(self):
        self.begin([MAILS[0], LARGE])
        session = self.poplib(CLEAR, "user")
        self.assertEqual(joined(session.retr(1)[1]), MAILS[0])
        with self.assertRaises(poplib.error_proto):
            session.retr(2)
        session.close()
        self.front.wait_for_sessions(1)  # before that the maildrop is in use
        # Whatever process has it.
        for security in (CLEAR, STLS, TLS) * 2:
            mails = self.fetch_all(security)
            self.assertEqual(mails[0], MAILS[0])
            self.assertTrue(is_notice(mails[1]), mails[1])
            self.assertIn(b"at an earlier try", mails[1])
        self.assertEqual(self.proxy.fates(14)[:2], ["passed", "cut"])

    def test_what_is_sent_of_a_large_mail_has_not_what_was_found(self):
        self.begin([LARGE])
        got = said_all(self.proxy.address, f"USER {MAILBOX}\r\nPASS {PASSWORD}\r\nRETR 1\r\n".encode())
        self.assertGreater(len(got), 1 << 20)
        self.assertNotIn(TEST_FILE[:20], got)
        self.assertFalse(got.endswith(b"\r\n.\r\n"))
        self.assertEqual(self.proxy.ends(), ["found"])

    def test_programs_keep_the_mail_on_the_server_when_it_is_cut_off(self):
        self.begin([LARGE])
        said = self.fetchmail(CLEAR, "user", "--fetchall", expect=range(1, 20))
        self.assertTrue(all(TEST_FILE not in mail for mail in said))
        self.assertEqual(len(self.front.entries(MAILBOX)), 1)
        self.front.wait_for_sessions(1)
        self.assertTrue(is_notice(self.fetchmail(CLEAR, "user", "--fetchall")[-1]))

    def test_top_has_what_was_found_in_no_more_than_its_lines(self):
        self.begin([SMALL])
        session = self.poplib(CLEAR, "user")
        self.assertEqual(joined(session.top(1, 0)[1]), HEAD % (90, 90))
        self.assertTrue(is_notice(joined(session.top(1, 100)[1])))
        session.quit()

    def test_an_archive_in_an_attachment(self):
        """The notice says where."""
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr("eicar.com", TEST_FILE)
        message = EmailMessage(policy=SMTP)
        message["Subject"] = "packed"
        message.set_content("See the attachment.")
        message.add_attachment(packed.getvalue(), maintype="application", subtype="zip", filename="a.zip")
        self.begin([message.as_bytes(), MAILS[0]])
        mails = self.fetch_all()
        self.assertTrue(is_notice(mails[0]), mails[0])
        self.assertRegex(mails[0], rb"Eicar-Test\S* in part 2 / a.zip / eicar.com")
        self.assertEqual(mails[1], MAILS[0])

    def test_without_clamd(self):
        """No verdict is to be had: a mail waits on the server, or does without, as is said."""
        self.expect_log("clamd")
        for mail in (MAILS[0], SMALL):
            self.front.deliver(MAILBOX, mail)
        for policy in ("defer", "accept"):
            with self.subTest(policy=policy):
                self.begin([], scan={"clamd": self.path("none.sock"), "on-unavailable": policy})
                session = self.poplib(CLEAR, "user")
                if policy == "defer":
                    with self.assertRaisesRegex(poplib.error_proto, r"\[SYS/TEMP\]"):
                        session.retr(1)
                else:
                    self.assertEqual(joined(session.retr(1)[1]), MAILS[0])
                self.assertTrue(is_notice(joined(session.retr(2)[1])))
                session.quit()
                self.proxy.process.stop()

    def test_what_is_encrypted_counts_in_a_piece_and_what_is_cut_does_not(self):
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as file:
            file.writestr("a.txt", bytes(2000))
        plain_zip = packed.getvalue()
        secret = bytearray(plain_zip)
        for mark, offset in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
            secret[plain_zip.index(mark) + offset] |= 1
        mails = []
        for content in (plain_zip, bytes(secret)):
            message = EmailMessage(policy=SMTP)
            message["Subject"] = "packed"
            message.set_content("See the attachment.")
            message.add_attachment(content, maintype="application", subtype="zip", filename="a.zip")
            mails.append(message.as_bytes())
        self.begin(mails, scan={"on-encrypted": "reject", "on-suspicious": "reject", "on-ambiguous": "reject"})
        session = self.poplib(CLEAR, "user")
        cut = [joined(session.top(i + 1, 30)[1]) for i in range(2)]
        self.assertTrue(mails[0].startswith(cut[0]) and cut[0] != mails[0], cut[0])
        self.assertIn(b"\r\nSubject: A mail was withheld: encrypted in part 2 / a.zip", cut[1])
        session.quit()

    def test_on_found_quarantine_says_what_was_found(self):
        self.begin([SMALL], scan={"on-found": "quarantine"})
        mail = self.fetch_all()[0]
        self.assertTrue(is_notice(mail), mail)
        self.proxy.process.wait_for_log('mail notice, .* found="Eicar-Test"')

    def test_on_found_mark(self):
        """A mail that was all held gets the field, a longer one is passed on as it is."""
        self.begin([SMALL, LARGE], scan={"on-found": "mark", "header": "on"})
        mails = self.fetch_all()
        self.assertEqual(mails[1], LARGE)
        self.assertRegex(mails[0], rb"\AX-Mail-Scan: .*Eicar-Test.*\r\nFrom: ")
        self.assertTrue(mails[0].endswith(SMALL), mails[0])
        self.assertEqual(self.proxy.fates(2), ["marked", "marked"])
        self.proxy.process.wait_for_log('mail marked, .* found="Eicar-Test"', 2)


class Suite(PopSuite, Case):
    def test_it_passes_what_the_server_does(self):
        front = PopFront(self, **MANY)
        proxy = PopProxy(self, front.address, certificate=make_certificate(self))
        rows = self.run_suite(front, "--stls", server=proxy)
        self.assertGreaterEqual(len(rows), 200)
        self.assertEqual([f"{row['level']} {row['name']}: {row['seen']}" for row in rows
                          if row["result"] not in ("pass", "not offered")], [])
        self.assertEqual({row["name"] for row in rows if row["result"] == "not offered"}, NOT_OFFERED)


class Secret(Before):
    def test_a_login_without_tls_reaches_no_server(self):
        self.begin([MAILS[0]], logins="no")
        self.assertIn("USER", self.offers(self.front.address))
        self.assertEqual({"USER", "SASL"} & set(self.offers(self.proxy.address)), set())
        for line in (f"USER {MAILBOX}", f"AUTH PLAIN {plain(MAILBOX, PASSWORD)}"):
            self.assertEqual(said_all(self.proxy.address, f"{line}\r\nQUIT\r\n".encode()).split(b"\r\n")[1],
                             b"-ERR Send STLS first")
        self.assertEqual(self.fetch_all(STLS), [MAILS[0]])

    @staticmethod
    def offers(address):
        session = poplib.POP3(*address, timeout=DEADLINE_S)
        try:
            return session.capa()
        finally:
            session.close()


class Tunnel(Before):
    def test_stls_is_passed_on_when_that_is_said_and_the_log_tells(self):
        other = PopFront(self, certificates=[self.certificate], stored=self.front.stored)
        self.front = other
        self.expect_log(r"session passed on unscanned")
        self.begin([SMALL], tls="pass")
        self.assertEqual(self.fetch_all(STLS), [SMALL])
        self.proxy.process.wait_for_log(r"session passed on unscanned, client=")
        self.assertTrue(is_notice(self.fetch_all(CLEAR)[0]))


class BeforeDovecot(Fetchers, Case):
    def setUp(self):
        super().setUp()
        if not os.path.exists("/usr/lib/dovecot/pop3-login"):
            raise unittest.SkipTest("dovecot-pop3d is not installed")
        poplib._MAXLINE = 1 << 20  # pylint: disable=protected-access
        server = self.free_address()
        dovecot = Dovecot(self, lines=(
            "protocols = lmtp pop3", "pop3_uidl_format = %g",
            f"service pop3-login {{\n  chroot =\n  inet_listener pop3 {{\n    address = {server[0]}\n"
            f"    port = {server[1]}\n  }}\n  inet_listener pop3s {{\n    port = 0\n  }}\n}}"))
        box = os.path.join(dovecot.directory, "homes", MAILBOX, "mail")
        for part in ("", "new", "cur", "tmp"):
            os.makedirs(os.path.join(box, part), exist_ok=True)
        for i, mail in enumerate([*MAILS, SMALL, LARGE]):
            with open(os.path.join(box, "new", f"{1700000000 + i}.{i}.x"), "wb") as file:
                file.write(mail)
        for path, _, names in os.walk(os.path.join(dovecot.directory, "homes")):
            for name in ("", *names):
                os.chown(os.path.join(path, name), dovecot.entry.pw_uid, dovecot.entry.pw_gid)
        wait_for(lambda: is_open(server), "Dovecot's POP3 to listen")
        self.proxy = PopProxy(self, server, certificate=make_certificate(self))

    def address(self, security):
        return self.proxy.tls_address if security == TLS else self.proxy.address

    def test_clean_infected_and_cut(self):
        for security, way in ((CLEAR, "user"), (STLS, "plain"), (TLS, "user")):
            session = self.poplib(security, way)
            self.assertEqual([joined(session.retr(i + 1)[1]) for i in range(len(MAILS))], MAILS)
            self.assertTrue(is_notice(joined(session.retr(len(MAILS) + 1)[1])))
            if security == CLEAR:
                with self.assertRaises(poplib.error_proto):
                    session.retr(len(MAILS) + 2)
                session.close()
            else:
                self.assertTrue(is_notice(joined(session.retr(len(MAILS) + 2)[1])))
                session.quit()

    def test_programs(self):
        session = self.poplib(CLEAR, "user")
        with self.assertRaises(poplib.error_proto):
            session.retr(len(MAILS) + 2)
        session.close()
        for mails in (self.fetchmail(CLEAR, "user", "--fetchall"), self.mpop(STLS, "plain"),
                      self.getmail(TLS, "user", "--all")):
            self.assertEqual([is_notice(mail) for mail in mails].count(True), 2)
            self.assertEqual(sorted(mail for mail in mails if not is_notice(mail)), unix(MAILS))


class Misfits(Case):
    def setUp(self):
        super().setUp()
        poplib._MAXLINE = 1 << 20  # pylint: disable=protected-access

    def login(self, proxy):
        session = poplib.POP3(*proxy.address, timeout=DEADLINE_S)
        session.user("john")
        session.pass_("secret")
        return session

    def test_a_server_that_says_each_byte_alone(self):
        proxy = PopProxy(self, Misfit(self, [MAILS[2], SMALL], piece=1).address)
        session = self.login(proxy)
        self.assertEqual(joined(session.retr(1)[1]), MAILS[2])
        self.assertTrue(is_notice(joined(session.retr(2)[1])))
        session.quit()

    def test_without_unique_ids_a_mail_is_known_by_its_beginning(self):
        server = Misfit(self, [LARGE, LARGE.replace(b"number", b"another").replace(TEST_FILE, b"")], has_uids=False)
        proxy = PopProxy(self, server.address)
        session = self.login(proxy)
        with self.assertRaises(poplib.error_proto):
            session.retr(1)
        session.close()
        session = self.login(proxy)
        self.assertTrue(is_notice(joined(session.retr(1)[1])))
        self.assertEqual(joined(session.retr(2)[1]), server.mails[1])
        session.quit()
        self.assertEqual(proxy.fates(3), ["cut", "known", "passed"])

    def test_unique_ids_with_blanks_stay_apart(self):
        """No client takes one mail for another that it has, and no mail is withheld for what another one has."""
        class WithBlanks(Misfit):
            def _answer(self, words):
                if words == [b"UIDL"]:
                    return b"+OK\r\n1 same  id 1\r\n2 same  id 2\r\n.\r\n", False
                if words[0] == b"UIDL":
                    return b"+OK %s same  id %s\r\n" % (words[1], words[1]), False
                return super()._answer(words)

        server = WithBlanks(self, [LARGE, MAILS[0]])
        proxy = PopProxy(self, server.address)
        session = self.login(proxy)
        self.assertEqual(session.uidl()[1], [b"1 same  id 1", b"2 same  id 2"])
        with self.assertRaises(poplib.error_proto):
            session.retr(1)
        session.close()
        session = self.login(proxy)
        self.assertTrue(is_notice(joined(session.retr(1)[1])))
        self.assertEqual(joined(session.retr(2)[1]), MAILS[0])
        session.quit()

    def test_a_server_that_breaks_off_amid_a_mail(self):
        for cut, is_told in ((5, True), (300, True), (200000, False)):
            with self.subTest(cut=cut):
                server = Misfit(self, [LARGE.replace(TEST_FILE, b"")], cut=cut)
                proxy = PopProxy(self, server.address)
                session = self.login(proxy)
                with self.assertRaises(poplib.error_proto) as raised:
                    session.retr(1)
                self.assertEqual(b"SYS/TEMP" in str(raised.exception).encode(), is_told, raised.exception)
                session.close()
                self.assertEqual(proxy.ends(), ["server-closed"])

    def test_what_is_held_is_found_before_it_goes_also_in_base64(self):
        """Wherever the blocks end in which what base64 makes is looked at."""
        mails = [self._attached_within_hold_first(behind) for behind in range(1000, 22000, 1500)]
        session = self.login(PopProxy(self, Misfit(self, mails).address))
        for i in range(len(mails)):
            with self.subTest(i=i):
                self.assertTrue(is_notice(joined(session.retr(i + 1)[1])))
        session.quit()

    def _attached_within_hold_first(self, behind):
        """The file stands behind so many bytes of an attachment, and ends just before those that are held do."""
        content = base64.encodebytes(b"x" * behind + TEST_FILE + b"y" * 40000).replace(b"\n", b"\r\n")
        head = (b"MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\n%s\r\n--b\r\n"
                b"Content-Type: application/octet-stream\r\nContent-Transfer-Encoding: base64\r\n\r\n")
        first = (behind + len(TEST_FILE)) * 78 // 57 + len(head)
        filling = FILLING[:32 * 1024 - 200 - first]
        mail = head % filling + content + b"--b--\r\n"
        self.assertIn(len(mail) - len(content) + (behind + len(TEST_FILE)) * 78 // 57, range(31 * 1024, 32 * 1024))
        return mail

    def test_a_server_that_stands_still_amid_a_mail(self):
        server = Misfit(self, [SMALL], cut=5, stalls=True)
        proxy = PopProxy(self, server.address, limits={"data-timeout": "100ms"})
        session = self.login(proxy)
        with self.assertRaises(poplib.error_proto) as raised:
            session.retr(1)
        self.assertIn("SYS/TEMP", str(raised.exception))
        session.close()
        self.assertEqual(proxy.ends(), ["server-timeout"])

    def test_a_server_that_cannot_be_reached(self):
        self.expect_log(r"next hop not reached")
        proxy = PopProxy(self, self.free_address())
        with self.assertRaises(poplib.error_proto) as raised:
            poplib.POP3(*proxy.address, timeout=DEADLINE_S)
        self.assertIn("[SYS/TEMP]", str(raised.exception))

    def test_a_server_gets_what_was_parsed_and_no_more(self):
        server = Misfit(self, [MAILS[0]])
        proxy = PopProxy(self, server.address)
        said_all(proxy.address, b"user  john \r\npass a b\r\nlist   1 \r\nretr 01\r\nX-RAW\r\nretr 1\r\nQuit\r\n")
        self.assertEqual(server.commands, [b"USER john\r\n", b"PASS a b\r\n", b"LIST 1\r\n", b"UIDL 1\r\n",
                                           b"RETR 1\r\n", b"QUIT\r\n"])

    def test_tls_is_ended_here_and_nothing_that_was_said_before_counts(self):
        server = Misfit(self, [MAILS[0]])
        proxy = PopProxy(self, server.address, certificate=make_certificate(self))
        self.assertEqual(said_all(proxy.address, b"STLS\r\nUSER evil\r\n"), b"+OK misfit\r\n-ERR [SYS/TEMP] STLS has to be the last command before TLS\r\n")
        session = poplib.POP3(*proxy.address, timeout=DEADLINE_S)
        session.stls(tls_context())
        session.user("john")
        session.pass_("secret")
        self.assertEqual(joined(session.retr(1)[1]), MAILS[0])
        session.quit()
        self.assertNotIn(b"USER evil\r\n", server.commands)

    def test_nothing_counts_that_was_said_while_the_answer_to_stls_was_on_its_way(self):
        server = Misfit(self, [MAILS[0]])
        proxy = PopProxy(self, server.address, certificate=make_certificate(self), preload="held_send")
        with Client(proxy.address) as client:
            client.send(b"STLS\r\n")
            wait_for(lambda: client.socket.recv(1, socket.MSG_PEEK), "the first byte of the answer")
            client.send(b"USER evil\r\n")
            client.expect("+OK Begin TLS")
            with self.assertRaises(OSError):
                client.begin_tls()
        self.assertEqual((proxy.ends(), server.commands), (["tls"], []))

    def test_small_holds(self):
        """Of the limits of configuration: no more than some bytes wait."""
        proxy = PopProxy(self, Misfit(self, [*MAILS, SMALL]).address, pop3={"hold-first": "1K", "hold-last": "100"})
        session = self.login(proxy)
        for i, mail in enumerate(MAILS):
            self.assertEqual(joined(session.retr(i + 1)[1]), mail)
        self.assertTrue(is_notice(joined(session.retr(len(MAILS) + 1)[1])))
        session.quit()


if __name__ == "__main__":
    main()
