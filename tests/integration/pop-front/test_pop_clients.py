#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
pop-front before the programs that fetch mail: Debian's fetchmail, getmail6, mpop, curl and mutt, Python's
poplib, and what Thunderbird says. Each gets what was delivered, byte by byte, in the clear, behind STLS and
where TLS begins at once, by each way to log in that it has; and knows the mails again when they have
moved to another store.

What a client itself writes into a mail it has fetched is said with the client.
"""

import os
import pty
import re
import select
import signal

from harness import DEADLINE_S, Case, main, peer
from popclient import Client, plain
from popfetchers import CLEAR, STLS, TLS, Fetchers, read_directory, unix
from popfront import MAILBOX, PASSWORD, PopFront, make_certificate

HEAD = (b"From: Anna <anna@example.net>\r\nTo: john@example.org\r\nDate: Tue, 24 Nov 2026 12:00:00 +0000\r\n"
        b"Message-ID: <%d@example.net>\r\nSubject: number %d\r\n\r\n")
BODIES = (
    b"Hello\r\n",
    b"",
    b".\r\n..\r\n. \r\n.x\r\n\r\n.\r\n",
    b"From here on\r\n>From there\r\nno end of a line".replace(b"no end", b"From no end"),
    "Grüße, čau, 你好\r\n".encode() + bytes(range(0xa0, 0x100)) + b"\r\n",
    b"x" * 990 + b"\r\n" + b"y" * 998 + b"\r\n",
    b"\r\n\r\n \r\n\t\r\nblanks \t \r\n\r\n\r\n",
    b"".join(b"line %d of many: %s\r\n" % (i, b"." * (i % 70)) for i in range(6000)),
)
MAILS = [HEAD % (i, i) + body for i, body in enumerate(BODIES)]
# The last line is ended where it was not, as no mail of SMTP is without.
FETCHED = sorted(mail if mail.endswith(b"\r\n") else mail + b"\r\n" for mail in MAILS)


class Clients(Fetchers, Case):
    def setUp(self):
        super().setUp()
        self.certificate = make_certificate(self)
        self.front = PopFront(self, certificates=[self.certificate])
        for mail in MAILS:
            self.front.deliver(MAILBOX, mail)
        self.session_count = 0

    def address(self, security):
        return self.front.tls_address if security == TLS else self.front.address

    def check_sessions(self, way, security, count):
        """All since the last call, so many, were what the test meant them to be, and ended well."""
        sessions = self.front.wait_for_sessions(self.session_count + count)
        for session in sessions[self.session_count:]:
            self.assertEqual((session["end"], session["way"], session["tls"] != "", session["user"]),
                             ("quit", way, security != CLEAR, MAILBOX))
        self.session_count = len(sessions)

    def each(self, ways, look, securities=(CLEAR, STLS, TLS), count=1):
        """look(security, way) of count sessions, whose lines of the log have to say the same."""
        for security in securities:
            for way in ways:
                with self.subTest(security=security, way=way):
                    look(security, way)
                    self.check_sessions(way, security, count)

    def each_fetches(self, fetch, *ways, wanted=None, securities=(CLEAR, STLS, TLS), count=1):
        def look(security, way):
            self.assertEqual(sorted(fetch(security, way)), wanted or unix(FETCHED))

        self.each(ways, look, securities, count)

    # ---- fetchmail ----

    def test_fetchmail(self):
        self.each_fetches(lambda *how: self.fetchmail(*how, "--fetchall"), "user")

    # ---- getmail ----

    def test_getmail(self):
        """It does not know STLS."""
        self.each_fetches(lambda *how: self.getmail(*how, "--all"), "user", securities=(CLEAR, TLS))

    # ---- mpop ----

    def test_mpop(self):
        self.each_fetches(self.mpop, "user", "plain", "scram")

    # ---- curl ----

    def test_curl(self):
        def fetch(security, way):
            numbers = [line.split()[0].decode() for line in self.curl(security, way, "").splitlines() if line]
            return [self.curl(security, way, number) for number in numbers]

        self.each_fetches(fetch, "plain", wanted=FETCHED, count=1 + len(MAILS))

    # ---- mutt ----

    def mutt(self, security, way):
        """
        The mails that it copies into a maildir. It writes Status, Content-Length and Lines into what it copies.
        It has a terminal, as it wants one.
        """
        box, (host, port) = self.maildir(), self.address(security)
        user = MAILBOX.replace("@", "%40")
        auth = {"scram": "SCRAM-SHA-256"}.get(way, way)
        config = self.write("muttrc", f"""\
set folder={self.directory} spoolfile=/dev/null record="" mbox_type=Maildir
set confirmappend=no confirmcreate=no delete=no move=no quit=yes wait_key=no timeout=1 mail_check=0
set pop_delete=no pop_reconnect=no pop_authenticators="{auth}" pop_pass="{PASSWORD}"
set ssl_force_tls=no ssl_starttls={"yes" if security == STLS else "no"} ssl_verify_host=no ssl_verify_dates=no
set ssl_ca_certificates_file={self.certificate.split(":", 1)[0]} certificate_file={self.certificate.split(":", 1)[0]}
set header_cache="" message_cachedir="" sort=mailbox-order
push "<tag-pattern>~A<enter><tag-prefix><copy-message><kill-line>{box}<enter><exit>"
""")
        url = f"pop{'s' if security == TLS else ''}://{user}@{host}:{port}"
        self.run_on_terminal(peer("mutt"), "-n", "-F", config, "-f", url)
        found = read_directory(os.path.join(box, "cur")) + read_directory(os.path.join(box, "new"))
        return [re.sub(rb"(?m)^(?:Status|Content-Length|Lines): .*\n", b"", mail, count=3) for mail in found]

    def run_on_terminal(self, *arguments):
        pid, fd = pty.fork()
        if pid == 0:
            os.environ.update(HOME=self.directory, TERM="xterm", LC_ALL="C.UTF-8")
            os.execv(arguments[0], arguments)
        said = b""
        try:
            while select.select([fd], [], [], DEADLINE_S)[0] and (got := os.read(fd, 65536)):
                said += got
            os.kill(pid, signal.SIGKILL)  # it waits for a key
        except OSError:
            pass  # EIO: it has ended
        os.close(fd)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0, said[-3000:])

    def test_mutt(self):
        self.each_fetches(self.mutt, "user", "plain", "scram")

    # ---- poplib ----

    def test_poplib(self):
        def fetch(security, way):
            session = self.poplib(security, way)
            count, octets = session.stat()
            self.assertEqual((count, octets), (len(MAILS), sum(len(mail) for mail in FETCHED)))
            mails = [b"".join(line + b"\r\n" for line in session.retr(i + 1)[1]) for i in range(count)]
            self.assertEqual(session.quit()[:3], b"+OK")
            return mails

        self.each_fetches(fetch, "user", "plain", "scram", wanted=FETCHED)

    # ---- Thunderbird ----

    def test_thunderbird(self):
        """Its commands in its order: it reads all of an answer before the next command, but for the end."""
        def look(security, way):
            with Client(self.address(security), is_tls=security == TLS) as client:
                if security == STLS:
                    self.assertIn("STLS", client.ask("CAPA"))
                    client.stls()
                offers = client.ask("CAPA")
                self.assertTrue({"UIDL", "USER", "TOP", "SASL SCRAM-SHA-256 PLAIN"} <= set(offers), offers)
                if way == "plain":
                    client.say("AUTH PLAIN", "+ ")
                    client.say(plain(MAILBOX, PASSWORD), "+OK")
                else:
                    client.login(MAILBOX, PASSWORD)
                self.assertEqual(client.say("STAT", "+OK").split()[1], str(len(MAILS)))
                octets = [int(line.split()[1]) for line in client.ask("LIST")]
                self.assertEqual(list(client.uids()), list(range(1, len(MAILS) + 1)))
                for number in range(1, len(MAILS) + 1):
                    self.assertEqual(int(client.say(f"RETR {number}", "+OK").split()[1]), octets[number - 1])
                    mail = client.body()
                    self.assertEqual(len(mail), octets[number - 1])
                    self.assertIn(mail, FETCHED)
                client.say("DELE 1", "+OK")
                client.say("DELE 2", "+OK")
                client.say("RSET", "+OK")
                client.say("QUIT", "+OK")

        self.each(("plain", "user"), look)

    def test_thunderbird_that_leaves_nothing_on_the_server(self):
        """Here the commands are pipelined, as CAPA permits."""
        with Client(self.front.address) as client:
            self.assertIn("PIPELINING", client.ask("CAPA"))
            client.send(f"AUTH PLAIN {plain(MAILBOX, PASSWORD)}\r\nSTAT\r\nLIST\r\nUIDL\r\n".encode() +
                        b"".join(b"RETR %d\r\nDELE %d\r\n" % (i + 1, i + 1) for i in range(len(MAILS))) + b"QUIT\r\n")
            client.expect("+OK")
            client.expect(f"+OK {len(MAILS)} ")
            for _ in ("LIST", "UIDL"):
                client.expect("+OK")
                self.assertEqual(client.body().count(b"\r\n"), len(MAILS))
            mails = []
            for _ in MAILS:
                client.expect("+OK")
                mails.append(client.body())
                client.expect("+OK")
            client.expect("+OK")
            self.assertTrue(client.is_closed())
        self.assertEqual(sorted(mails), FETCHED)
        self.assertEqual(self.front.entries(MAILBOX), [])

    # ---- the same mails in another store ----

    def uids_of_all(self):
        """What each way to ask for them says."""
        with Client(self.front.address) as client:
            client.login(MAILBOX, PASSWORD)
            own = sorted(client.uids().values())
        session = self.poplib(TLS, "scram")
        library = sorted(line.split()[1].decode() for line in session.uidl()[1])
        session.quit()
        told = self.curl(STLS, "plain", "", "--request", "UIDL")
        listed = sorted(line.split()[1].decode() for line in told.splitlines() if line)
        self.assertEqual((library, listed), (own, own))
        return own

    def move(self):
        """The store's mails into a new one, which pop-front then has."""
        maildir = self.path("exported")
        front = self.front
        front.stored.run_tool("export", "--maildir", maildir, MAILBOX)
        self.assertEqual(front.stored.stop(), 0)
        front.stored.directory = self.path("other-store")
        front.stored.write_config(stored={"directory": front.stored.directory})
        front.stored.start()
        self.assertEqual(front.stored.stop(), 0)
        said = front.stored.run_tool("import", "--maildir", maildir, MAILBOX, at=front.stored.directory)
        self.assertEqual(said, b"%d mails imported\n" % len(MAILS))
        self.give_to_user(front.stored.directory)
        front.stored.start()

    @staticmethod
    def give_to_user(directory):
        """What the tool has written as root."""
        entry = os.stat(directory)
        for path, _, names in os.walk(directory):
            for name in names:
                os.chown(os.path.join(path, name), entry.st_uid, entry.st_gid)

    def test_the_unique_ids_outlive_a_move_to_another_store_and_no_client_fetches_twice(self):
        fetchers = {"mpop": lambda: self.mpop(TLS, "scram", only_new="on"),
                    "getmail": lambda: self.getmail(TLS, "user", "--new"),
                    # Its status 1 says that there was nothing new.
                    "fetchmail": lambda: self.fetchmail(CLEAR, "user", expect=(0, 1))}
        for name, fetch in fetchers.items():
            with self.subTest(client=name):
                self.assertEqual(sorted(fetch()), unix(FETCHED))
                self.assertEqual(fetch(), [])
        uids = self.uids_of_all()
        self.assertEqual(len(set(uids)), len(MAILS))
        self.move()
        self.assertEqual(self.uids_of_all(), uids)
        self.front.deliver(MAILBOX, MAILS[0])
        for name, fetch in fetchers.items():
            with self.subTest(client=name):
                self.assertEqual(unix(fetch()), unix(MAILS[:1]))


if __name__ == "__main__":
    main()
