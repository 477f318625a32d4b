#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
pop-front before the programs that fetch mail: Debian's fetchmail, getmail6, mpop, curl and mutt, Python's
poplib, and what Thunderbird says. Each gets what was delivered, byte by byte, in the clear, behind STLS and
where TLS begins at once, by each way to log in that it has; and knows the mails again when they have
moved to another store.

What a client itself writes into a mail it has fetched is said with the client.
"""

import base64
import grp
import os
import poplib
import pty
import pwd
import re
import select
import shutil
import signal
import subprocess

from harness import DEADLINE_S, Case, main, peer
from popclient import Client, Scram, plain, tls_context
from popfront import MAILBOX, PASSWORD, PopFront, make_certificate
from stored import USER

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

CLEAR, STLS, TLS = "in the clear", "behind STLS", "TLS at once"


def unix(mails):
    """With line ends as programs write them into files."""
    return sorted(mail.replace(b"\r\n", b"\n") for mail in mails)


def read_directory(path):
    found = []
    for name in sorted(os.listdir(path) if os.path.isdir(path) else []):
        with open(os.path.join(path, name), "rb") as file:
            found.append(file.read())
    return found


class Clients(Case):
    def setUp(self):
        super().setUp()
        self.certificate = make_certificate(self)
        self.front = PopFront(self, certificates=[self.certificate])
        for mail in MAILS:
            self.front.deliver(MAILBOX, mail)
        self.run_count = self.session_count = 0

    def address(self, security):
        return self.front.tls_address if security == TLS else self.front.address

    def run_client(self, *arguments, expect=(0,), **how):
        """What it writes to standard output. Its home is the test's; how is for subprocess."""
        result = subprocess.run(arguments, check=False, capture_output=True, timeout=DEADLINE_S, cwd=self.directory,
                                stdin=subprocess.DEVNULL, env=dict(os.environ, HOME=self.directory), **how)
        self.assertIn(result.returncode, expect, result.stdout + result.stderr)
        return result.stdout

    def box(self):
        """A directory that is not there yet."""
        self.run_count += 1
        return self.path(f"box-{self.run_count}")

    def maildir(self):
        box = self.box()
        for part in ("cur", "new", "tmp"):
            os.makedirs(os.path.join(box, part))
        return box

    def check_sessions(self, way, security):
        """All since the last call were what the test meant them to be, and ended well."""
        sessions = self.front.wait_for_sessions(self.session_count + 1)
        for session in sessions[self.session_count:]:
            self.assertEqual((session["end"], session["way"], session["tls"] != "", session["user"]),
                             ("quit", way, security != CLEAR, MAILBOX))
        self.session_count = len(sessions)

    def each(self, ways, look, securities=(CLEAR, STLS, TLS)):
        """look(security, way) of a session, whose line of the log has to say the same."""
        for security in securities:
            for way in ways:
                with self.subTest(security=security, way=way):
                    look(security, way)
                    self.check_sessions(way, security)

    def each_fetches(self, fetch, *ways, wanted=None, securities=(CLEAR, STLS, TLS)):
        def look(security, way):
            self.assertEqual(sorted(fetch(security, way)), wanted or unix(FETCHED))

        self.each(ways, look, securities)

    # ---- fetchmail ----

    def fetchmail(self, security, way, *options, expect=(0,)):
        """
        The mails it hands to a program, with LF. What it would write into them, addresses made whole, its own
        Received, is switched off here; what is left is a blank line for a mail that has no body.
        """
        box, (host, port) = self.box(), self.address(security)
        os.makedirs(box)
        sslproto = {CLEAR: "sslproto ''", STLS: "sslproto 'TLS1.2+' no sslcertck", TLS: "ssl no sslcertck"}[security]
        config = self.write("fetchmailrc", f"""\
set idfile "{self.path('fetchids')}"
set pidfile "{self.path('fetchmail.pid')}"
set invisible
poll {host} service {port} proto pop3 uidl auth {"password" if way == "user" else way}
    user "{MAILBOX}" password "{PASSWORD}" is "john" here
    keep no rewrite pass8bits no dropstatus no dropdelivered {sslproto}
    mda "/bin/sh -c 'cat >{box}/$$'"
""")
        os.chmod(config, 0o600)
        self.run_client(peer("fetchmail"), "--nosyslog", "--fetchmailrc", config, *options, expect=expect)
        return read_directory(box)

    def test_fetchmail(self):
        self.each_fetches(lambda *how: self.fetchmail(*how, "--fetchall"), "user")

    # ---- getmail ----

    def getmail(self, security, way, *options):
        """
        The mails in its maildir. It writes Return-Path, which says that it knows no sender. It delivers nothing
        as root.
        """
        self.assertEqual(way, "user")
        box, (host, port) = self.maildir(), self.address(security)
        home, how = self.path("getmail"), {}
        os.makedirs(home, exist_ok=True)
        if os.geteuid() == 0:
            how = {"user": USER, "group": grp.getgrgid(pwd.getpwnam(USER).pw_gid).gr_name, "extra_groups": []}
            for path in (home, box, *(os.path.join(box, part) for part in ("cur", "new", "tmp"))):
                shutil.chown(path, USER)
        kind = "SimplePOP3SSLRetriever" if security == TLS else "SimplePOP3Retriever"
        config = self.write("getmailrc", f"""\
[retriever]
type = {kind}
server = {host}
port = {port}
username = {MAILBOX}
password = {PASSWORD}
[destination]
type = Maildir
path = {box}/
[options]
delete = false
delivered_to = false
received = false
""")
        self.run_client(peer("getmail"), "--getmaildir", home, "--rcfile", config, *options, **how)
        return [re.sub(rb"\AReturn-Path: <unknown>\n", b"", mail) for mail in read_directory(os.path.join(box, "new"))]

    def test_getmail(self):
        """It does not know STLS."""
        self.each_fetches(lambda *how: self.getmail(*how, "--all"), "user", securities=(CLEAR, TLS))

    # ---- mpop ----

    def mpop(self, security, way, only_new="off"):
        """The mails in its maildir."""
        box, (host, port) = self.maildir(), self.address(security)
        tls = {CLEAR: "tls off", STLS: "tls on\ntls_starttls on\ntls_certcheck off",
               TLS: "tls on\ntls_starttls off\ntls_certcheck off"}[security]
        auth = {"scram": "scram-sha-256"}.get(way, way)
        config = self.write("mpoprc", f"""\
account default
host {host}
port {port}
user {MAILBOX}
password {PASSWORD}
auth {auth}
{tls}
delivery maildir {box}
received_header off
uidls_file {self.path("uidls")}
keep on
only_new {only_new}
""")
        os.chmod(config, 0o600)
        self.run_client(peer("mpop"), "--file", config)
        return read_directory(os.path.join(box, "new"))

    def test_mpop(self):
        self.each_fetches(self.mpop, "user", "plain", "scram")

    # ---- curl ----

    def curl(self, security, way, path, *options):
        host, port = self.address(security)
        ways = {"user": "AUTH=+LOGIN", "plain": "AUTH=PLAIN"}
        secure = {CLEAR: [], STLS: ["--ssl-reqd", "--insecure"], TLS: ["--insecure"]}[security]
        return self.run_client(
            peer("curl"), "--silent", "--show-error", "--user", f"{MAILBOX}:{PASSWORD}", "--login-options", ways[way],
            *secure, *options, f"pop3{'s' if security == TLS else ''}://{host}:{port}/{path}")

    def test_curl(self):
        def fetch(security, way):
            numbers = [line.split()[0].decode() for line in self.curl(security, way, "").splitlines() if line]
            return [self.curl(security, way, number) for number in numbers]

        self.each_fetches(fetch, "plain", wanted=FETCHED)

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

    def poplib(self, security, way):
        """A session that is logged in."""
        host, port = self.address(security)
        if security == TLS:
            session = poplib.POP3_SSL(host, port, timeout=DEADLINE_S, context=tls_context())
        else:
            session = poplib.POP3(host, port, timeout=DEADLINE_S)
        poplib._MAXLINE = 1 << 20  # pylint: disable=protected-access
        if security == STLS:
            session.stls(tls_context())
        if way == "user":
            session.user(MAILBOX)
            session.pass_(PASSWORD)
        elif way == "plain":
            session._shortcmd(f"AUTH PLAIN {plain(MAILBOX, PASSWORD)}")  # pylint: disable=protected-access
        else:
            self.scram(session)
        return session

    def scram(self, session):
        """poplib has no word for it: its own lines."""
        scram = Scram(MAILBOX, PASSWORD)
        say = session._shortcmd  # pylint: disable=protected-access

        def ask(message):
            session._putcmd(message)  # pylint: disable=protected-access
            line, _ = session._getline()  # pylint: disable=protected-access
            self.assertTrue(line.startswith(b"+ "), line)
            return base64.b64decode(line[2:])

        challenge = ask("AUTH SCRAM-SHA-256 " + base64.b64encode(scram.first()).decode())
        self.assertTrue(scram.is_signed(ask(base64.b64encode(scram.final(challenge)).decode())))
        say("")

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
