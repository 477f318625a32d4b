# SPDX-License-Identifier: GPL-3.0-or-later
"""
pop3.py - one POP3 connection as bytes: what is sent is sent as given, what comes is kept as it came.

Flow: suite.py's Bench -> Pop -> server. Python's poplib is not used, as it forgives.
Every wait is bounded; what does not come in time, or cannot be POP3, is a Failure with what was seen.
"""

import socket
import ssl
import time
import struct

WAIT_S = 10
LINE_MAX = 4 << 20
CRLF = b"\r\n"


class Failure(Exception):
    """The server did not do what it should have; the text says what it did."""


class Closed(Failure):
    """The connection ended where a reply was due."""


class Silent(Failure):
    """Nothing came where a reply was due."""


def show(data, limit=100):
    """Bytes as text for a result: printable, cut."""
    text = repr(bytes(data[:limit]))[2:-1]
    return f'"{text}"' + (f"... ({len(data)} octets)" if len(data) > limit else "")


def lax_tls():
    """A client's TLS that asks for no name and no issuer: certificates are not tested here."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


class Reply:
    """A status line without its CRLF, and the lines behind it, unstuffed, when it has them."""

    def __init__(self, line, command):
        self.line, self.command, self.lines = line, command, None
        self.is_ok = line == b"+OK" or line.startswith(b"+OK ")
        self.is_err = line == b"-ERR" or line.startswith(b"-ERR ")
        self.is_challenge = line.startswith(b"+ ") or line == b"+"

    @property
    def text(self):
        """What stands behind the status indicator."""
        return self.line.partition(b" ")[2]

    @property
    def content(self):
        """The lines of a multi-line reply as one text with CRLF."""
        return b"".join(line + CRLF for line in self.lines)

    def __str__(self):
        return f"{show(self.command, 60)} was answered {show(self.line)}"


class Pop:
    """A connection; log has every reply line in order, with its CRLF."""

    def __init__(self, address, tls=None, wait_s=WAIT_S):
        self.socket = socket.create_connection(address, timeout=wait_s)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer, self.log, self.raw = b"", [], b""
        self.has_deleted = False
        if tls is not None:
            self.start_tls(tls)

    def start_tls(self, context=None):
        """The handshake, from here on; what came before and was not read stays to be read."""
        try:
            self.socket = (context or lax_tls()).wrap_socket(self.socket, suppress_ragged_eofs=False)
        except (ssl.SSLError, OSError) as error:
            raise Failure(f"no TLS handshake: {error}") from error

    def send(self, data):
        """Sends bytes as they are."""
        self.has_deleted |= b"DELE" in data
        try:
            self.socket.sendall(data)
        except socket.timeout as error:
            raise Silent("the server reads no more") from error
        except OSError as error:
            raise Closed(f"the connection was closed while it was written to: {error}") from error

    def receive(self):
        """More bytes into the buffer; False at the end of the connection."""
        try:
            data = self.socket.recv(1 << 16)
        except socket.timeout as error:
            raise Silent(f"no reply within {self.socket.gettimeout():.0f} s"
                         + (f", but {show(self.buffer)}" if self.buffer else "")) from error
        except (ConnectionError, ssl.SSLEOFError):
            return False
        except (ssl.SSLError, OSError) as error:
            raise Failure(f"the connection broke: {error}") from error
        self.buffer += data
        return bool(data)

    def line(self):
        """The next line, without its CRLF, which it must have."""
        while b"\n" not in self.buffer:
            if len(self.buffer) > LINE_MAX:
                raise Failure("a line without end")
            if not self.receive():
                raise Closed("the connection was closed"
                             + (f" behind {show(self.buffer)}" if self.buffer else ""))
        line, _, self.buffer = self.buffer.partition(b"\n")
        if not line.endswith(b"\r"):
            raise Failure(f"{show(line)} ends with LF and no CR")
        return line[:-1]

    def reply(self, command=b""):
        """The next status line."""
        line = self.line()
        self.log.append(line + CRLF)
        reply = Reply(line, command)
        if not (reply.is_ok or reply.is_err or reply.is_challenge):
            raise Failure(f"{reply}, which is no status line")
        return reply

    def command(self, text, more=False):
        """Sends one command, and takes its reply; more: and what stands behind a +OK, up to the dot."""
        data = text if isinstance(text, bytes) else text.encode("utf-8")
        self.send(data + CRLF)
        return self.rest(self.reply(data)) if more else self.reply(data)

    def rest(self, reply):
        """The lines of a multi-line reply; raw has them as they came."""
        if not reply.is_ok:
            return reply
        lines, raw = [], []
        while True:
            line = self.line()
            raw.append(line)
            if line == b".":
                break
            lines.append(line[1:] if line.startswith(b".") else line)
        reply.lines, self.raw = lines, raw
        return reply

    def is_closed(self):
        """True when nothing but the end comes; waits for it."""
        if self.buffer:
            return False
        return not self.receive()

    def leave(self, wait_s):
        """
        QUIT, twice where the first ends another command, and gives the server that long to close: until
        then its session may have the maildrop, and not every login of the next test is tried again. A server
        that sees the end of what a client sends may close before it lets go of the maildrop: it is not shown
        that end but when QUIT is of no use.
        """
        end = time.monotonic() + wait_s
        try:
            self.socket.settimeout(wait_s)
            self.socket.sendall(b"QUIT" + CRLF + b"QUIT" + CRLF)
            if not self.has_ended(end - wait_s / 3 * 2):
                self.socket.shutdown(socket.SHUT_WR)
                self.has_ended(end)
        except (OSError, ValueError):
            pass  # it is closed already, or takes longer
        self.close()

    def has_ended(self, end):
        """Reads until the server closes, or until that time."""
        while (left_s := end - time.monotonic()) > 0:
            self.socket.settimeout(left_s)
            try:
                if not self.socket.recv(1 << 16):
                    return True
            except TimeoutError:
                break
        return False

    def close(self, abruptly=False):
        """Ends it without QUIT; abruptly: by RST."""
        try:
            if abruptly:
                self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.socket.close()
        except OSError:
            pass
