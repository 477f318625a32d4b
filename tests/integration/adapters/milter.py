# SPDX-License-Identifier: GPL-3.0-or-later
"""
milter.py - a mail server's side of the milter protocol, for what real ones never do.

Flow: test_milter.py -> Milter(socket) speaks to dnsblv6-milter as sendmail and
      Postfix do, packet by packet -> what it was told.

    with Milter(path) as milter:
        milter.connect("192.0.2.66")            # "c": go on, "a": the session is let through
        milter.mail(login="user")
        milter.rcpt()                           # ("y", "550 5.7.1 ...")
        milter.message(["X: y"])                # [("i", ...), ..., ("c", b"")]

A packet is its size in four bytes, a letter, and data; names are those of libmilter's mfdef.h.
"""

import socket
import struct

VERSION = 6
ADDHDRS, CHGBODY, CHGHDRS, QUARANTINE = 0x01, 0x02, 0x10, 0x20
ALL_ACTIONS = 0x1FF
ALL_STEPS = 0x1FFFFF
NOHDRS = 0x20
MAIL_STAGE = 2
FINAL = "arctdy"  # accept, reject, continue, tempfail, discard, reply code


class Vanished(Exception):
    """The milter has closed the connection."""


def packet(letter, data=b""):
    return struct.pack(">I", len(data) + 1) + letter.encode() + data


def text(*words):
    return b"".join(word.encode() + b"\0" for word in words)


def connect_data(address, name="client.example", port=4321):
    """Of a client with that address; None is one without, "/path" is a socket of UNIX."""
    if address is None:
        return text(name) + b"U"
    if address.startswith("/"):
        return text(name) + b"L" + struct.pack(">H", 0) + text(address)
    family = b"6" if ":" in address else b"4"
    return text(name) + family + struct.pack(">H", port) + text(address)


class Milter:
    """A connection that has negotiated. place is a path, or (host, port)."""

    def __init__(self, place, actions=ALL_ACTIONS, steps=ALL_STEPS, timeout_s=60, negotiate=True):
        family = socket.AF_UNIX if isinstance(place, str) else socket.AF_INET
        self.socket = socket.socket(family, socket.SOCK_STREAM)
        # Who does not wait is told at once that too many wait already.
        self.socket.connect(place)
        self.socket.settimeout(timeout_s)
        if negotiate:
            self.negotiate(actions, steps)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    # ---- packets ----

    def send(self, letter, data=b""):
        self.socket.sendall(packet(letter, data))

    def _receive(self, size):
        data = b""
        while len(data) < size:
            try:
                more = self.socket.recv(size - len(data))
            except ConnectionError:
                more = b""
            if not more:
                raise Vanished()
            data += more
        return data

    def receive(self):
        """(letter, data)"""
        size = struct.unpack(">I", self._receive(4))[0]
        data = self._receive(size)
        return chr(data[0]), data[1:]

    def reply(self):
        """The answer to a step: its letter, or ("y", text) with a text."""
        letter, data = self.receive()
        return (letter, data.rstrip(b"\0").decode()) if letter == "y" else letter

    # ---- steps ----

    def negotiate(self, actions, steps):
        self.send("O", struct.pack(">III", VERSION, actions, steps))
        letter, data = self.receive()
        if letter != "O":
            raise AssertionError(f"the milter has answered {letter!r} to the negotiation")
        self.version, self.actions, self.steps = struct.unpack_from(">III", data)
        self.symbols = data[12:]

    def macros(self, step, **values):
        """"auth_authen" stands for "{auth_authen}"; names of one letter are bare."""
        pairs = [word for name, value in values.items()
                 for word in (name if len(name) == 1 else "{" + name + "}", value)]
        self.send("D", step.encode() + text(*pairs))

    def connect(self, address, **how):
        self.macros("C", j="mx.example.com")
        self.send("C", connect_data(address, **how))
        return self.reply()

    def mail(self, sender="<a@client.example>", login=None):
        self.macros("M", i="1234", **({"auth_authen": login} if login else {}))
        self.send("M", text(sender))
        return self.reply()

    def rcpt(self, recipient="<user@example.com>"):
        self.send("R", text(recipient))
        return self.reply()

    def message(self, headers=()):
        """Headers and the end of a mail; everything that is to be changed, and the reply."""
        for line in headers:
            name, value = line.split(": ", 1)
            self.send("L", text(name, value))
            letter = self.reply()
            if letter != "c":
                raise AssertionError(f"{letter!r} to a header")
        self.send("E")
        replies = []
        while not replies or replies[-1][0] not in FINAL:
            replies.append(self.receive())
        return replies

    def abort(self):
        self.send("A")

    def quit(self):
        self.send("Q")

    def quit_session(self):
        """Another session follows over this connection."""
        self.send("K")


def inserted(replies):
    """Headers that are to be put in: (name, value)."""
    return [tuple(data[4:].rstrip(b"\0").decode().split("\0"))
            for letter, data in replies if letter == "i"]


def deleted(replies):
    """Headers that are to go: (name, index)."""
    return [(data[4:].split(b"\0")[0].decode(), struct.unpack(">I", data[:4])[0])
            for letter, data in replies if letter == "m" and data[4:].split(b"\0")[1] == b""]
