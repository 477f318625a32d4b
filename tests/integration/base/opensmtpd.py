# SPDX-License-Identifier: GPL-3.0-or-later
"""
opensmtpd.py - the real OpenSMTPD, as a server that tests may have beside Postfix.

Flow: ./check unpacks Debian's opensmtpd into build/unpacked -> OpenSmtpd(case, command)
      runs it with that filter -> send() plays a client of any address, by a PROXY header of
      version 2 -> delivered() is what got through.

Its paths are compiled in, so it runs with a mount namespace in which the directories that
it needs of /run, /var/lib and /var/spool, and its users, are the test's.
"""

import ipaddress
import os
import socket
import struct

from harness import unpacked, wait_for
from mta import SESSION_S, MailServer, Outcome, Session, with_files

SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"
USERS = (("opensmtpd", 64990), ("opensmtpq", 64991))

CONFIG = """\
table users {{ "@" = "mail" }}
{filter}
listen on {host} port {port} hostname mx.example.com {options}
action "in" maildir "{directory}/mail/inbox" user mail virtual <users>
match from any for domain "example.com" action "in"
"""


def header(client, address):
    """PROXY, version 2: a connection of client to address."""
    source = ipaddress.ip_address(client)
    target = ipaddress.ip_address("2001:db8::25" if source.version == 6 else address[0])
    body = source.packed + target.packed + struct.pack(">HH", 41234, address[1])
    family = 0x21 if source.version == 6 else 0x11
    return SIGNATURE + struct.pack(">BBH", 0x21, family, len(body)) + body


class Client(Session):
    """One SMTP session that the server takes for one of client's."""

    def __init__(self, address, client, outcome=None):
        self.outcome = outcome or Outcome(client)
        self.socket = socket.create_connection(address, timeout=SESSION_S)
        self.file = self.socket.makefile("rb")
        self.socket.sendall(header(client, address))
        self.read_reply("")


def send(address, client):
    """A session with one message. An Outcome, also when the server hangs up or is silent."""
    outcome = Outcome(client)
    try:
        with Client(address, client, outcome) as session:
            session.send_message()
    except OSError:
        outcome.is_lost = True
    return outcome


class OpenSmtpd(MailServer):
    """
    A running OpenSMTPD.

        command  that of its filter; None: it has none
        proxy    every session begins with a PROXY header, of version 2
    """

    def __init__(self, case, command=None, proxy=True):
        super().__init__(case, "opensmtpd")
        program = unpacked("opensmtpd", "usr/sbin/smtpd")
        for name in ("mail", "run", "lib", "lib/opensmtpd", "lib/opensmtpd/empty", "spool",
                     "spool/smtpd"):
            os.mkdir(os.path.join(self.directory, name))
        os.chmod(os.path.join(self.directory, "spool/smtpd"), 0o711)
        os.chmod(os.path.join(self.directory, "mail"), 0o777)
        for name in ("run", "lib", "spool"):
            system = {"run": "/run", "lib": "/var/lib", "spool": "/var/spool"}[name]
            self.files[system] = os.path.join(self.directory, name)
        self.files["/usr/libexec"] = unpacked("opensmtpd", "usr/libexec")
        self._know_users()
        # Names of clients are looked up in /etc/hosts alone.
        self.files["/etc/resolv.conf"] = self.write("resolv.conf", "lookup file\n")
        options = ["proxy-v2"] if proxy else []
        if command is not None:
            options.append('filter "dnsbl"')
        config = self.write("smtpd.conf", CONFIG.format(
            directory=self.directory, host=self.address[0], port=self.address[1],
            filter="" if command is None else f'filter "dnsbl" proc-exec "{command}"',
            options=" ".join(options)))
        self.process = case.start(with_files(self.files, [program, "-d", "-f", config]),
                                  "opensmtpd", start_new_session=True)
        self.log_path = self.process.log_path
        self.wait_until_listening()

    def _know_users(self):
        lines = {"/etc/passwd": "{0}:x:{1}:{1}::/var/lib/opensmtpd/empty:/bin/false\n",
                 "/etc/group": "{0}:x:{1}:\n"}
        for path, line in lines.items():
            with open(path, encoding="utf-8") as file:
                text = file.read()
            text += "".join(line.format(*user) for user in USERS)
            self.files[path] = self.write(os.path.basename(path), text)

    def wait_until_ended(self):
        wait_for(lambda: self.process.popen.poll() is not None, "OpenSMTPD to end")
