# SPDX-License-Identifier: GPL-3.0-or-later
"""
edge.py - an edge of smtp-front and what clients say to it, for the tests of edges.
"""

import collections
import socket
import struct

from front import Client, Front
from harness import CLIENT, ZONE, Case, outside, wait_for

NAME = ZONE.rstrip(".")
LISTED, CLEAR = "192.0.2.66", "203.0.113.1"
SILENT = "127.0.0.1@9"  # discard: nobody answers there
INBOX, NOBODY, FOREIGN = "inbox@example.com", "nobody@example.com", "someone@elsewhere.example"


def session(*recipients, sender="sender@example.net"):
    """Lines of a client up to its recipients."""
    return ["EHLO client.example.net", f"MAIL FROM:<{sender}>",
            *(f"RCPT TO:<{recipient}>" for recipient in recipients)]


def wire(*lines):
    return "".join(line + "\r\n" for line in lines).encode()


def proxy_v1(client=CLEAR, port=40000):
    return f"PROXY TCP4 {client} 192.0.2.25 {port} 25\r\n".encode()


def proxy_v2(client=CLEAR, port=40000, command=0x21, family=0x11):
    addresses = (socket.inet_aton(client) + socket.inet_aton("192.0.2.25")
                 + struct.pack(">HH", port, 25))
    return (b"\r\n\r\n\0\r\nQUIT\n" + bytes([command, family])
            + struct.pack(">H", len(addresses)) + addresses)


class EdgeCase(Case):
    """One edge, so that there is one of everything; clients come from outside."""

    def front(self, front=(), sink=(), **sections):
        self.fixture = Front(self, front={"edges": 1, **dict(front)},
                             sink=dict(sink) or {"kind": '"null"', "to": None}, **sections)
        return self.fixture

    def client(self, source=None):
        client = Client(self.fixture.address, source or outside(CLIENT))
        self.addCleanup(client.close)
        return client

    def edge(self):
        return self.fixture.wait_for_processes("edge", 1)[0]

    def counters(self):
        return collections.Counter(self.fixture.counters())  # who is not there is 0

    def wait_for_handed_over(self, count):
        """The worker may have answered before the edge has counted."""
        wait_for(lambda: self.counters()["sessions-handed-over"] == count,
                 f"{count} sessions to be handed over")

    def ended(self, count=1):
        """Lines of sessions that an edge has ended."""
        return wait_for(lambda: len(found := [each for each in self.fixture.sessions()
                                              if each["by"] == "edge"]) >= count and found,
                        f"{count} sessions to end")

    def read_all(self, client):
        data = client.unread
        try:
            while more := client.socket.recv(65536):
                data += more
        except ConnectionResetError:
            pass
        return data

    def codes(self, data):
        return [int(line[:3]) for line in data.decode("ascii").splitlines() if line[3:4] == " "]

    def is_fine(self):
        """It takes a session, and hands over its next."""
        client = self.client()
        client.hello()
        client.say("MAIL FROM:<a@b.example>", 250)
        client.say(f"RCPT TO:<{INBOX}>", 250)
        client.say("QUIT", 221)
        client.close()
