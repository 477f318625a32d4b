#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
next_hop.py - a mail server that may be killed at any time: what it has said 250 to is in its file.

    next_hop.py ADDRESS PORT FILE

Each mail it accepts is a line of FILE, its Message-ID, on the disk before 250 is said. Who is
killed in between has the mail and did not say so, as any mail server.
"""

import os
import re
import socketserver
import sys


class Session(socketserver.StreamRequestHandler):
    def say(self, text):
        self.wfile.write(text.encode() + b"\r\n")

    def handle(self):
        try:
            self.say("220 next.example.com ESMTP")
            while self.command(self.rfile.readline(4096).rstrip(b"\r\n").upper()):
                pass
        except (BrokenPipeError, ConnectionResetError):
            pass

    def command(self, line):
        if line.startswith(b"EHLO"):
            self.say("250-next.example.com\r\n250 8BITMIME")
        elif line == b"DATA":
            self.say("354 go on")
            self.take()
        elif line in (b"QUIT", b""):
            self.say("221 bye")
            return False
        else:
            self.say("250 ok")
        return True

    def take(self):
        content = []
        for line in self.rfile:
            if line == b".\r\n":
                break
            content.append(line)
        else:
            return
        ident = re.search(rb"(?mi)^Message-ID: (\S+)\r\n", b"".join(content))
        # One write for each: lines of several sessions do not mix.
        os.write(self.server.file, ident[1] + b"\n")
        os.fsync(self.server.file)
        self.say("250 taken")


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128


def main():
    with Server((sys.argv[1], int(sys.argv[2])), Session) as server:
        server.file = os.open(sys.argv[3], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        print("ready", file=sys.stderr, flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
