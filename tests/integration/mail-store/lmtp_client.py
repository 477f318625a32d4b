# SPDX-License-Identifier: GPL-3.0-or-later
"""
lmtp_client.py - a client of LMTP that reads a reply for each recipient, and mail-stored with LMTP.

Python's smtplib.LMTP knows one reply behind a mail.
"""

import os
import re
import socket
import struct

import stored
from harness import DEADLINE_S

HEAD_SIZE = 104  # of a record
OK = re.compile(r"250 2\.0\.0 Ok: ([0-9a-f]{32})")


class LmtpStored(stored.Stored):
    """Its LMTP listens on TCP at address, and at path, where any user may connect."""

    def __init__(self, case, **sections):
        self.address = case.free_address()
        self.lmtp_path = case.path("lmtp.socket")
        host, port = self.address
        sections.setdefault("lmtp", {})
        sections["lmtp"] = {"listen": [f"{host}@{port}", self.lmtp_path],
                            "hostname": "mx.example.com", **sections["lmtp"]}
        sections["stored"] = {"socket-mode": "666", **sections.get("stored", {})}
        super().__init__(case, **sections)

    def start(self, **how):
        process = super().start(**how)
        process.wait_for_log(r"^info: \[mail-stored\] LMTP ready, ")
        return process

    def expect_gone(self):
        """One of its processes is going to be killed."""
        self.case.expect_log(r"warning: \[mail-stored\] (process ended, role=|store is not there, )")

    def text_of(self, ident):
        """As it was delivered, and without the fields of delivery."""
        with self.client() as client:
            whole = read(client, ident)
        found = re.match(rb"Return-Path: <.*>\r\nReceived: .*\r\n(?:\t.*\r\n)+", whole)
        assert found, whole[:500]
        return found.group(0).decode(), whole[found.end():]

    def idents(self, box):
        with self.client() as client:
            return [ident for _, ident, _ in client.entries(box)]


def read(client, ident):
    """A mail's text, from the segment that has it; all of its lines end in CR LF."""
    mail = client.call(stored.FIND_ID, ident=ident).number
    row = client.call(stored.ROW, number=mail).rows
    segment, at, _, meta_size, _, size = struct.unpack_from(">QQQIBQ", row)
    fd, = client.call(stored.SEGMENT, number=segment).fds
    body = os.pread(fd, size, at + HEAD_SIZE + meta_size)
    os.close(fd)
    assert len(body) == size
    return (b"\r\n" + body).replace(b"\r\n..", b"\r\n.")[2:]


class Lmtp:
    """A session behind LHLO; address is a pair, or a path."""

    def __init__(self, address, is_greeted=True):
        family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
        self.socket = socket.socket(family)
        self.socket.settimeout(DEADLINE_S)
        self.socket.connect(address)
        self.file = self.socket.makefile("rb")
        self.greeting = self.reply()
        if is_greeted:
            assert self.command("LHLO client.example.net")[:3] == "250"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.file.close()
        self.socket.close()

    def reply(self):
        """The last line of the next one; "" when the server has hung up."""
        while True:
            try:
                line = self.file.readline().decode().rstrip("\r\n")
            except ConnectionError:
                return ""
            if line[3:4] != "-":
                return line

    def send(self, *lines):
        self.socket.sendall("".join(f"{line}\r\n" for line in lines).encode())

    def command(self, line):
        self.send(line)
        return self.reply()

    def begin(self, recipients, sender="sender@example.net", parameters=""):
        """MAIL and RCPT in one piece; the replies to RCPT."""
        self.send(f"MAIL FROM:<{sender}>{parameters}",
                  *(f"RCPT TO:<{recipient}>" for recipient in recipients))
        first = self.reply()
        assert first[:3] == "250", first
        return [self.reply() for _ in recipients]

    def say_text(self, text, count):
        """The mail behind 354, and count replies."""
        self.socket.sendall((b"\r\n" + text).replace(b"\r\n.", b"\r\n..")[2:] + b".\r\n")
        return [self.reply() for _ in range(count)]

    def data(self, text, count):
        reply = self.command("DATA")
        assert reply[:3] == "354", reply
        return self.say_text(text, count)

    def mail(self, text, recipients, **how):
        """Replies behind the mail, when all recipients are there."""
        replies = self.begin(recipients, **how)
        assert all(reply[:3] == "250" for reply in replies), replies
        return self.data(text, len(recipients))

    def deliver(self, text, recipients, **how):
        """The mail's id."""
        replies = self.mail(text, recipients, **how)
        idents = {OK.fullmatch(reply).group(1) for reply in replies}
        assert len(idents) == 1, replies
        return idents.pop()
