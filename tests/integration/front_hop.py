#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
front_hop.py HOST PORT DIRECTORY - a next hop that may be killed at any time.

Flow: smtp-front's sink "smtp" -> a file in DIRECTORY/new for each mail, with sender and
      recipients before it, then 250 -> test_front_kill.py looks at the files.

A mail is whole in DIRECTORY/new before anybody hears 250, and not there before its end.
"""

import itertools
import os
import socketserver
import sys

NUMBERS = itertools.count()


class Session(socketserver.StreamRequestHandler):
    """What smtp-front needs of a server, and no more."""

    def say(self, text):
        self.wfile.write(text.encode() + b"\r\n")

    def handle(self):
        self.envelope = []
        self.say("220 hop")
        while line := self.rfile.readline():
            verb = line[:4].upper()
            if verb == b"QUIT":
                self.say("221 2.0.0 Bye")
                return
            if verb == b"DATA":
                self.say("354 Go")
                if not self.take_mail():
                    return
            elif verb == b"EHLO":
                self.say("250-hop\r\n250 8BITMIME")
            else:
                self.envelope = [] if verb in (b"RSET", b"MAIL") else self.envelope
                self.envelope += [line] if verb in (b"MAIL", b"RCPT") else []
                self.say("250 2.0.0 Ok")

    def take_mail(self):
        lines = []
        while (line := self.rfile.readline()) != b".\r\n":
            if not line:
                return False
            lines.append(line)
        directory = self.server.directory
        name = f"{os.getpid()}.{next(NUMBERS)}"
        half = os.path.join(directory, "tmp", name)
        with open(half, "wb") as file:
            file.write(b"".join(self.envelope + lines))
        os.rename(half, os.path.join(directory, "new", name))
        self.say("250 2.0.0 Ok: kept")
        return True


class Hop(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128


def main():
    host, port, directory = sys.argv[1:]
    for name in ("tmp", "new"):
        os.makedirs(os.path.join(directory, name), exist_ok=True)
    with Hop((host, int(port)), Session) as hop:
        hop.directory = directory
        hop.serve_forever()


if __name__ == "__main__":
    main()
