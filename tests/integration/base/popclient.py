# SPDX-License-Identifier: GPL-3.0-or-later
"""
popclient.py - a client that speaks POP3 byte by byte, and SCRAM without our code.

Flow: tests of several rooms -> Client(front.address) -> login(), uids(), mail() -> what pop-front said.

    with Client(front.address) as client:
        client.login("john@example.org", "Secret4all")
        client.mail(1)                              # b"Subject: x\\r\\n\\r\\nHello\\r\\n"
        client.say("QUIT", "+OK")

Everything that is read has a deadline.
"""

import base64
import hashlib
import hmac
import os
import re
import socket
import ssl

from harness import DEADLINE_S, Connection


def plain(user, password):
    """The message of SASL PLAIN, for a line."""
    return base64.b64encode(f"\0{user}\0{password}".encode()).decode()


def tls_context():
    """Believes anything: it is about what is inside."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # the system's authorities take 30 ms of a processor to read
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


class Scram:
    """A client's side of SCRAM-SHA-256 (RFC 5802, RFC 7677) without channel binding."""

    def __init__(self, user, password):
        self.password = password.encode()
        self.bare = f"n={user.replace('=', '=3D').replace(',', '=2C')},r={base64.b64encode(os.urandom(18)).decode()}"
        self.expected = None

    def first(self):
        return ("n,," + self.bare).encode()

    def final(self, challenge):
        """The proof for the server's challenge."""
        parts = dict(part.split("=", 1) for part in challenge.decode().split(","))
        if not parts["r"].startswith(self.bare.split(",r=", 1)[1]):
            raise AssertionError("the nonce is not ours")
        salted = hashlib.pbkdf2_hmac("sha256", self.password, base64.b64decode(parts["s"]), int(parts["i"]))
        key = hmac.digest(salted, b"Client Key", "sha256")
        without_proof = f"c=biws,r={parts['r']}"
        message = f"{self.bare},{challenge.decode()},{without_proof}".encode()
        signature = hmac.digest(hashlib.sha256(key).digest(), message, "sha256")
        proof = bytes(a ^ b for a, b in zip(key, signature))
        self.expected = hmac.digest(hmac.digest(salted, b"Server Key", "sha256"), message, "sha256")
        return f"{without_proof},p={base64.b64encode(proof).decode()}".encode()

    def is_signed(self, said):
        return base64.b64decode(said.decode().removeprefix("v=")) == self.expected


class Client(Connection):
    """
    One connection.

        source     the address to connect from
        claimed    the address that a PROXY header says, with which it begins
        is_tls     TLS begins at once
        is_greeted the greeting is read
    """

    def __init__(self, address, source=None, claimed=None, is_tls=False, is_greeted=True, timeout_s=DEADLINE_S):
        super().__init__(socket.create_connection(address, timeout_s, (source, 0) if source else None))
        try:
            if claimed is not None:
                self.send(f"PROXY TCP4 {claimed} 198.51.100.25 41234 {address[1]}\r\n".encode())
            if is_tls:
                self.begin_tls()
            if is_greeted:
                self.expect("+OK")
        except BaseException:
            self.close()
            raise

    def begin_tls(self):
        self.socket = tls_context().wrap_socket(self.socket)

    def stls(self):
        self.say("STLS", "+OK")
        self.begin_tls()

    def expect(self, start):
        """A line that has to begin so."""
        line = self.line()
        if not line.startswith(start):
            raise AssertionError(f"{line!r}, expected {start!r}")
        return line

    def say(self, line, start=""):
        """A command, and the line that answers it."""
        self.send(line.encode() + b"\r\n")
        return self.expect(start)

    def body(self):
        """What follows up to the line with a dot, without dots that were added."""
        whole, start = bytearray(b"\r\n" + self.unread), 0
        while (end := whole.find(b"\r\n.\r\n", start)) < 0:
            start = max(0, len(whole) - 4)
            whole += self.more()
        self.unread = bytes(whole[end + 5:])
        return re.sub(rb"(?m)^\.", b"", whole[2:end + 2])

    def ask(self, line):
        """A command with an answer of many lines; these."""
        self.say(line, "+OK")
        return self.body().decode().splitlines()

    def mail(self, number):
        self.say(f"RETR {number}", "+OK")
        return self.body()

    def uids(self):
        """{number: unique id}"""
        return {int(number): uid for number, uid in (line.split() for line in self.ask("UIDL"))}

    def login(self, user, password, start="+OK"):
        """By USER and PASS; the last answer."""
        self.say(f"USER {user}", "+OK")
        return self.say(f"PASS {password}", start)

    def plain(self, user, password, start="+OK"):
        return self.say(f"AUTH PLAIN {plain(user, password)}", start)

    def challenge(self, line):
        return base64.b64decode(self.say(line, "+ ")[2:])

    def scram(self, user, password, start="+OK"):
        """The last answer; AssertionError when the server does not know the password either."""
        scram = Scram(user, password)
        challenge = self.challenge("AUTH SCRAM-SHA-256 " + base64.b64encode(scram.first()).decode())
        said = self.say(base64.b64encode(scram.final(challenge)).decode())
        if said.startswith("+ "):
            if not scram.is_signed(base64.b64decode(said[2:])):
                raise AssertionError("the server's signature is wrong")
            said = self.say("")
        if not said.startswith(start):
            raise AssertionError(f"{said!r}, expected {start!r}")
        return said
