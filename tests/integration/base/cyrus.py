# SPDX-License-Identifier: GPL-3.0-or-later
"""
cyrus.py - Debian's Cyrus as a fixture: LMTP on loopback, a mailbox for each recipient, and IMAP.

Flow: bench/store -> Cyrus(case) -> address, where its lmtpd is.
      bench/mail-users, tests of IMAP clients -> Cyrus(case, imap=True) -> imap_address, PASSWORD.

Configuration, sockets and mail lie in the test's directory; it runs as "cyrus". Its master has no
other parts than lmtpd and imapd; the latter is unpacked, since no machine has it beside Dovecot's IMAP.
Passwords are checked by a process of this file, which does what
saslauthd(8) does, and knows one password.

Other than Debian has them: 2,000 sessions of IMAP at a time instead of 100, passwords in the clear,
mailboxes that are made when they are needed, no suppression of duplicates (a load that is repeated
has the same Message-IDs again), no idled. Writes are as durable as it has them.
"""

import os
import pwd
import socket
import struct
import sys

import harness
from dovecot import PASSWORD, SESSIONS, own_certificate
from harness import is_open, wait_for

USER = "cyrus"
PROGRAMS = "/usr/lib/cyrus/bin"
IMAP_PROGRAM = ("cyrus-imapd", "usr/lib/cyrus/bin/imapd")

IMAPD = """\
configdirectory: {directory}/conf
partition-default: {spool}
defaultpartition: default
admins: cyrus
unixhierarchysep: yes
autocreate_quota: 0
autocreate_post: yes
duplicatesuppression: no
singleinstancestore: yes
{lines}
"""

LMTP_ALONE = """\
virtdomains: off
sasl_pwcheck_method: auxprop
"""

# user1@example.com and user1 are one.
IMAP = """\
virtdomains: userid
defaultdomain: example.com
allowplaintext: yes
sasl_pwcheck_method: saslauthd
sasl_saslauthd_path: {directory}/logins
sasl_mech_list: PLAIN
"""

# All that is no text of a mail.
META = """\
metapartition-default: {index}
metapartition_files: header index cache expunge squat annotations lock dav archivecache
"""

TLS = """\
tls_server_cert: {0}
tls_server_key: {1}
"""

MASTER = """\
START {{
  recover cmd="{programs}/ctl_cyrusdb -C {directory}/imapd.conf -r"
}}
SERVICES {{
{services}
}}
EVENTS {{
}}
"""

SERVICE = '  {name} cmd="{command}" listen="{host}:{port}" prefork={prefork} maxchild={most}'


class Cyrus:
    """
    A Cyrus of the test's own, whose LMTP listens at address.

        imap         IMAP at imap_address, for everybody with PASSWORD
        certificate  paths of it and of its key: STARTTLS, and TLS at imaps_address
        spool        the directory of mailboxes, which is there
        index        the directory of indexes, which is there; None: they are in the mailboxes
        environment  of its processes, {name: value}
    """

    def __init__(self, case, imap=False, certificate=None, spool=None, index=None, environment=None):
        self.program = harness.peer("cyrmaster")
        self.imapd = case.readable_program(harness.unpacked(*IMAP_PROGRAM)) if imap else None
        self.case, self.environment = case, environment
        self.entry = pwd.getpwnam(USER)
        self.directory = case.path(f"cyrus-{len(case.processes)}")
        self.spool, self.index = spool or os.path.join(self.directory, "spool"), index
        self.address = case.free_address()
        self.imap_address = case.free_address() if imap else None
        self.imaps_address = case.free_address() if imap and certificate else None
        self._make_directories()
        if certificate is not None:
            certificate = own_certificate(certificate, self.directory, self.entry)
        self._write_config(certificate)
        self.logins, self.process = None, None
        self.start()

    def _make_directories(self):
        for name in ("", "conf", "conf/socket", "spool"):
            os.mkdir(os.path.join(self.directory, name))
        for path in (*(os.path.join(self.directory, name) for name in ("", "conf", "conf/socket", "spool")),
                     self.spool, self.index):
            if path is not None:
                os.chown(path, self.entry.pw_uid, self.entry.pw_gid)

    def _write_config(self, certificate):
        lines = (IMAP if self.imap_address else LMTP_ALONE).format(directory=self.directory)
        if self.index is not None:
            lines += META.format(index=self.index)
        if certificate is not None:
            lines += TLS.format(*certificate)
        config = f"-C {self.directory}/imapd.conf"
        services = [("lmtp", f"{PROGRAMS}/lmtpd {config} -a", self.address, 1, 100),
                    ("imap", f"{self.imapd} {config} -U 30", self.imap_address, 0, SESSIONS),
                    ("imaps", f"{self.imapd} {config} -s -U 30", self.imaps_address, 0, SESSIONS)]
        self._write("imapd.conf", IMAPD.format(directory=self.directory, spool=self.spool, lines=lines))
        self._write("cyrus.conf", MASTER.format(
            directory=self.directory, programs=PROGRAMS, services="\n".join(
                SERVICE.format(name=name, command=command, host=address[0],
                               port=address[1], prefork=prefork, most=most)
                for name, command, address, prefork, most in services if address is not None)))

    def _write(self, name, text):
        with open(os.path.join(self.directory, name), "w", encoding="ascii") as file:
            file.write(text)

    def start(self):
        """Again, when it was stopped."""
        how = {"user": self.entry.pw_uid, "group": self.entry.pw_gid, "extra_groups": []}
        if self.imap_address is not None:
            path = os.path.join(self.directory, "logins")
            self.logins = self.case.start([sys.executable, "-B", os.path.abspath(__file__), path, PASSWORD],
                                          "cyrus-logins")
            self.logins.wait_for_log("^ready$")
            os.chmod(path, 0o666)
        self.process = self.case.start(
            [self.program, "-C", f"{self.directory}/imapd.conf", "-M", f"{self.directory}/cyrus.conf",
             "-p", f"{self.directory}/conf/pid", "-D"], "cyrus",
            env={**os.environ, **(self.environment or {})}, **how)
        wait_for(self._is_listening, "Cyrus to listen")

    def stop(self):
        self.process.stop()
        if self.logins is not None:
            self.logins.stop()

    def _is_listening(self):
        if self.process.popen.poll() is not None:
            raise AssertionError(f"Cyrus has ended: {self.process.log()[-500:]}")
        return all(map(is_open, filter(None, (self.address, self.imap_address, self.imaps_address))))


# ---- logins ----


def check_logins(path, password):
    """As saslauthd: user, password, service and realm, each behind its length; then "OK" or "NO"."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        if os.path.exists(path):
            os.unlink(path)
        server.bind(path)
        server.listen(1024)
        print("ready", file=sys.stderr, flush=True)
        while True:
            connection, _ = server.accept()
            with connection, connection.makefile("rb") as file:
                words = [file.read(int.from_bytes(file.read(2), "big")) for _ in range(4)]
                reply = b"OK" if words[1] == password.encode() else b"NO"
                connection.sendall(struct.pack(">H", len(reply)) + reply)


if __name__ == "__main__":
    check_logins(sys.argv[1], sys.argv[2])
