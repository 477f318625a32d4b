# SPDX-License-Identifier: GPL-3.0-or-later
"""
popfetchers.py - programs that fetch mail by POP3, for servers of POP3 and what stands before one.

Flow: tests of several rooms -> class X(Fetchers, Case), with address(security) -> fetchmail(), getmail(),
      mpop(), curl(), poplib() -> the mails that each has fetched.

All are user MAILBOX with PASSWORD. What a client itself writes into a mail is said with the client.
"""

import base64
import grp
import os
import poplib
import pwd
import re
import shutil
import subprocess

from harness import DEADLINE_S, peer
from popclient import Scram, plain, tls_context
from popfront import MAILBOX, PASSWORD
from stored import USER

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


class Fetchers:
    """For a Case that has address(security), of a server in the clear or with TLS at once."""

    run_count = 0

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

    # ---- getmail ----

    def getmail(self, security, way, *options):
        """
        The mails it hands to a program. It writes Return-Path, which says that it knows no sender. It delivers
        nothing as root.
        """
        self.assertEqual(way, "user")
        box, (host, port) = self.box(), self.address(security)
        home, how = self.path("getmail"), {}
        os.makedirs(home, exist_ok=True)
        os.makedirs(box)
        if os.geteuid() == 0:
            how = {"user": USER, "group": grp.getgrgid(pwd.getpwnam(USER).pw_gid).gr_name, "extra_groups": []}
            for path in (home, box):
                shutil.chown(path, USER)
        # On a busy machine its child may end before it waits for one, and it would not see that: whatever
        # the destination, it waits for a minute then, and has failed.
        program = self.write("getmail-takes", """\
#!/bin/sh
cat >"$1/$$"
for try in $(seq 3000); do
    case $(cat "/proc/$PPID/status") in
    *'State:	S'*SigCgt:*[13579bdf]????'
'CapInh:*) exit ;;
    esac
    sleep 0.02
done
""")
        os.chmod(program, 0o755)
        kind = "SimplePOP3SSLRetriever" if security == TLS else "SimplePOP3Retriever"
        config = self.write("getmailrc", f"""\
[retriever]
type = {kind}
server = {host}
port = {port}
username = {MAILBOX}
password = {PASSWORD}
[destination]
type = MDA_external
path = {program}
arguments = ("{box}",)
[options]
delete = false
delivered_to = false
received = false
""")
        self.run_client(peer("getmail"), "--getmaildir", home, "--rcfile", config, *options, **how)
        return [re.sub(rb"\AReturn-Path: <unknown>\n", b"", mail) for mail in read_directory(box)]

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

    # ---- curl ----

    def curl(self, security, way, path, *options):
        host, port = self.address(security)
        ways = {"user": "AUTH=+LOGIN", "plain": "AUTH=PLAIN"}
        secure = {CLEAR: [], STLS: ["--ssl-reqd", "--insecure"], TLS: ["--insecure"]}[security]
        return self.run_client(
            peer("curl"), "--silent", "--show-error", "--user", f"{MAILBOX}:{PASSWORD}", "--login-options", ways[way],
            *secure, *options, f"pop3{'s' if security == TLS else ''}://{host}:{port}/{path}")

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
