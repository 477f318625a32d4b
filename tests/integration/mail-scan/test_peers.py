#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
The peers of a scanner, asked by peer_asker: the real clamd, the real rspamd, also as a milter, and
servers that lie, hang, die and are slow, which are threads of this test.
"""

import contextlib
import os
import signal
import socket
import struct
import subprocess
import threading

import harness
from clamd import MARKER, eicar, start_clamd
from harness import BUILD, Case, is_open, wait_for
from rspamd import start_rspamd

ASKER = os.path.join(BUILD, "tests/integration/peer_asker")
PIECES = (1, 7, 4096, 65536)
HEADER = b"From: a@client.example\r\nTo: user@example.com\r\nSubject: test\r\n\r\n"
# In halves as well: rspamd takes any mail with it for spam.
GTUBE = b"XJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-" + b"ANTI-UBE-TEST-EMAIL*C.34X"


def place_of(address):
    return f"{address[0]}@{address[1]}"


class Peers(Case):
    def ask(self, kind, place, mail, piece=65536, timeout_ms=60000):
        done = subprocess.run([ASKER, kind, place, str(piece), str(timeout_ms)], input=mail,
                              capture_output=True, check=False, timeout=3 * harness.DEADLINE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(harness.sanitizer_reports(done.stderr.decode()), [])
        return done.stdout.decode().rstrip()


class Clamd(Peers):
    def test_what_it_finds_and_what_not(self):
        _, path = start_clamd(self)
        marked = HEADER + b"x" * 100000 + MARKER.encode() + b"\r\n"
        for piece in PIECES:
            self.assertEqual(self.ask("clamd", path, HEADER + b"clean\r\n", piece), "accept -")
            self.assertEqual(self.ask("clamd", path, eicar(), piece),
                             "reject found Eicar-Test-Signature.UNOFFICIAL")
        self.assertEqual(self.ask("clamd", path, marked),
                         "reject found Test.Marker-1.UNOFFICIAL")
        self.assertEqual(self.ask("clamd", path, b""), "accept -")
        large = HEADER + b"0123456789abcdef" * (1 << 20)
        self.assertEqual(self.ask("clamd", path, large), "accept -")

    def test_a_mail_that_is_too_large_for_it_has_no_verdict(self):
        _, path = start_clamd(self, "1M")
        self.assertEqual(self.ask("clamd", path, HEADER + b"x" * (8 << 20)),
                         "failed - INSTREAM size limit exceeded. ERROR")

    def test_it_is_stopped_and_killed(self):
        process, path = start_clamd(self)
        process.send_signal(signal.SIGSTOP)
        self.assertEqual(self.ask("clamd", path, HEADER + b"clean\r\n", timeout_ms=2000),
                         "failed - verdict: time is over")
        self.assertEqual(self.ask("clamd", path, HEADER + b"x" * (8 << 20), timeout_ms=2000),
                         "failed - write: time is over")
        process.send_signal(signal.SIGCONT)
        self.assertEqual(self.ask("clamd", path, HEADER + b"clean\r\n"), "accept -")
        process.stop(signal.SIGKILL)
        self.assertEqual(self.ask("clamd", path, HEADER), "failed - connect: Connection refused")
        os.unlink(path)
        self.assertEqual(self.ask("clamd", path, HEADER),
                         "failed - connect: No such file or directory")


PROXY = """
worker "rspamd_proxy" {{
    bind_socket = "{host}:{port}"; milter = yes; timeout = 60s; count = 1;
    upstream "local" {{ default = yes; self_scan = yes; }}
}}
"""


class Rspamd(Peers):
    def test_spam_and_other_mails(self):
        process, address = start_rspamd(self)
        place = place_of(address)
        spam = HEADER + GTUBE + b"\r\n"
        for piece in PIECES:
            self.assertEqual(self.ask("rspamd", place, spam, piece), "reject - Gtube pattern")
            self.assertEqual(self.ask("rspamd", place, HEADER + b"hello\r\n", piece), "accept -")
        large = HEADER + b"0123456789abcdef\r\n" * (1 << 18)
        self.assertEqual(self.ask("rspamd", place, large), "accept -")
        log = process.log()
        self.assertIn(f"len: {len(large)},", log)
        self.assertIn("qid: <4Q1>, ip: 192.0.2.66, from: <a@client.example>,", log)
        self.assertIn("rcpts: <user@example.com,other@example.com>", log)

    def test_as_a_milter(self):
        host, port = self.free_address()
        _, _ = start_rspamd(self, PROXY.format(host=host, port=port))
        place = place_of((host, port))

        wait_for(lambda: is_open((host, port)), "the milter to listen")
        for piece in PIECES:
            self.assertEqual(self.ask("milter", place, HEADER + GTUBE + b"\r\n", piece),
                             "reject - Gtube pattern")
            self.assertEqual(self.ask("milter", place, HEADER + b"hello\r\n", piece), "accept -")


class Server:
    """Accepts connections in a thread and calls act(connection) for each."""

    def __init__(self, case, act):
        self.listening = socket.create_server((case.host, 0))
        self.place = place_of(self.listening.getsockname())
        self.act = act
        self.seen = b""
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()
        case.addCleanup(self.close)

    def run(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listening.accept()
                with connection, contextlib.suppress(OSError):
                    self.act(connection)

    def close(self):
        # shutdown() ends accept(), which close() alone would not.
        with contextlib.suppress(OSError):
            self.listening.shutdown(socket.SHUT_RDWR)
        self.listening.close()
        self.thread.join(harness.DEADLINE_S)


def hear_until(connection, end):
    heard = b""
    while not heard.endswith(end):
        more = connection.recv(65536)
        if not more:
            raise ConnectionError
        heard += more
    return heard


class Bad(Peers):
    """What no real one does."""

    ENDS = {"clamd": b"\0\0\0\0", "rspamd": b"0\r\n\r\n"}

    def test_it_accepts_and_closes(self):
        for kind in ("clamd", "rspamd", "milter"):
            server = Server(self, lambda connection: None)
            answer = self.ask(kind, server.place, HEADER + b"x" * 1000000)
            self.assertRegex(answer, "^failed - (connection was closed|write|read)")

    def test_it_says_nothing(self):
        for kind in ("clamd", "rspamd", "milter"):
            server = Server(self, lambda connection: connection.recv(1 << 20) and
                            hear_until(connection, b"never"))
            answer = self.ask(kind, server.place, HEADER + b"x" * 100, timeout_ms=200)
            self.assertRegex(answer, r"^failed - (verdict|write): time is over$")

    def test_it_says_what_is_none(self):
        for kind, end in self.ENDS.items():
            for lie in (b"\0", b"\xff" * 100000, b"stream: \0", b"HTTP/1.1 200 OK\r\n\r\n{}",
                        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
                        b"HTTP/1.1 200 OK\r\n\r\n{\"action\":null}", b"stream: OK"):
                def act(connection, end=end, lie=lie):
                    hear_until(connection, end)
                    connection.sendall(lie)

                answer = self.ask(kind, Server(self, act).place, HEADER)
                self.assertRegex(answer, "^failed - ", (kind, lie[:80]))

    def test_it_is_slow_but_right(self):
        def act(connection):
            hear_until(connection, self.ENDS["clamd"])
            for byte in b"stream: Slow.One FOUND\0":
                connection.sendall(bytes([byte]))

        self.assertEqual(self.ask("clamd", Server(self, act).place, HEADER),
                         "reject found Slow.One")

    def test_a_milter_lies(self):
        options = b"O" + struct.pack(">III", 6, 0, 0)
        for lie in (b"", b"c", b"O", b"O" + b"\0" * 11, b"O" + b"\xff" * 12, b"y200 no\0",
                    b"O" + struct.pack(">III", 1, 0, 0)):
            def act(connection, lie=lie):
                connection.recv(1024)
                connection.sendall(struct.pack(">I", len(lie)) + lie)
                hear_until(connection, b"never")

            answer = self.ask("milter", Server(self, act).place, HEADER)
            self.assertRegex(answer, "^failed - ", lie)

        def flood(connection):
            connection.recv(1024)
            connection.sendall(struct.pack(">I", len(options)) + options)
            while True:
                connection.sendall(b"\0\0\0\1c" * 10000)

        self.assertRegex(self.ask("milter", Server(self, flood).place, HEADER * 10000 + b"\r\n"),
                         "^failed - ")


if __name__ == "__main__":
    harness.main()
