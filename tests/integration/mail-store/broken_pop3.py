# SPDX-License-Identifier: GPL-3.0-or-later
"""
broken_pop3.py - a small POP3 server of the test's own, with one fault, for tests/pop3-suite to find.

Flow: test_pop3_suite.py starts "broken_pop3.py FAULT HOST PORT DIRECTORY" -> the suite's sessions.

The mails are the files of DIRECTORY, in the order of their names. FAULT is one of

    none        a server that passes what is asked of it here
    octets      LIST and STAT count a CRLF as one octet
    stuffing    lines that begin with a dot are sent as they are
    at-once     DELE removes the file, and waits for no QUIT
"""

import os
import socketserver
import sys

USER, PASSWORD = "anna", "Secret4all"
FAULT = sys.argv[1] if len(sys.argv) > 1 else "none"


class Session(socketserver.StreamRequestHandler):
    """One session."""

    def handle(self):
        self.user, self.mails, self.deleted = None, None, set()
        self.say("+OK ready")
        for line in self.rfile:
            if not line.endswith(b"\r\n"):
                return  # cut off
            words = line.rstrip(b"\r\n").decode("latin-1").split(" ")
            method = getattr(self, f"do_{words[0].lower()}", None)
            try:
                if (words[0].upper() in ("USER", "PASS")) != (self.mails is None) and words[0].upper() != "QUIT":
                    raise ValueError("wrong state")
                self.say(method(*words[1:]))
            except (TypeError, ValueError, LookupError) as error:
                self.say(f"-ERR {error}".split("\n", maxsplit=1)[0])
            if words[0].upper() == "QUIT":
                return

    def say(self, text):
        self.wfile.write(text.encode("latin-1") + b"\r\n")

    def do_user(self, name):
        self.user = name
        return "+OK"

    def do_pass(self, password):
        if (self.user, password) != (USER, PASSWORD):
            raise ValueError("no")
        self.mails = {}
        for number, name in enumerate(sorted(os.listdir(self.server.directory)), 1):
            path = os.path.join(self.server.directory, name)
            with open(path, "rb") as file:
                self.mails[number] = (path, file.read())
        return "+OK"

    def mail(self, number):
        """The mail of that number, as text."""
        if not number.isascii() or not number.isdigit() or int(number) in self.deleted:
            raise ValueError("no such mail")
        return self.mails[int(number)][1].decode("latin-1")

    def size(self, number):
        text = self.mail(str(number))
        return len(text.replace("\r\n", "\n") if FAULT == "octets" else text)

    def left(self):
        return [number for number in self.mails if number not in self.deleted]

    def do_stat(self):
        return f"+OK {len(self.left())} {sum(map(self.size, self.left()))}"

    def do_list(self, number=None):
        if number is not None:
            self.mail(number)
            return f"+OK {number} {self.size(number)}"
        return "\r\n".join(["+OK"] + [f"{each} {self.size(each)}" for each in self.left()] + ["."])

    def do_retr(self, number):
        lines = self.mail(number).split("\r\n")[:-1]
        if FAULT != "stuffing":
            lines = ["." + line if line.startswith(".") else line for line in lines]
        return "\r\n".join(["+OK", *lines, "."])

    def do_dele(self, number):
        self.mail(number)
        self.deleted.add(int(number))
        if FAULT == "at-once":
            os.unlink(self.mails[int(number)][0])
        return "+OK"

    def do_noop(self):
        return "+OK"

    def do_rset(self):
        self.deleted.clear()
        return "+OK"

    def do_quit(self):
        for number in self.deleted:
            if os.path.exists(self.mails[number][0]):
                os.unlink(self.mails[number][0])
        return "+OK"


class Server(socketserver.ForkingTCPServer):
    """A process for each session."""

    allow_reuse_address = True


if __name__ == "__main__":
    with Server((sys.argv[2], int(sys.argv[3])), Session) as server:
        server.directory = sys.argv[4]
        server.serve_forever()
