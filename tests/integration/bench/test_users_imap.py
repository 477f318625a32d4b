#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
The IMAP client of bench/users-load against Dovecot and Cyrus, and against servers that are broken.

With real ones each command does what it should, and nothing that they say is a fault: as imaptest's profiles
have it. Broken ones end in errors that are counted by kind, while the load goes on to its end. Needs
root, dovecot-imapd, cyrus-common, cyrus-imapd as ./check unpacks it, and openssl; measures nothing.
"""

import json
import os
import re
import socket
import subprocess
import threading

import harness
from benching import check_no_errors
from cyrus import Cyrus
from dovecot import PASSWORD, Dovecot
from harness import Case, main

PROGRAM = os.path.join(harness.BUILD, "bench/users-load/users-load")
WORKLOAD = os.path.join(harness.SOURCE, "bench/enterprise.workload")
LOAD_S = 120  # a load ends far sooner
NO_COMMAND = b"-"


def run(command, *arguments, expect=0):
    """What it printed."""
    done = subprocess.run([PROGRAM, command, "--workload", WORKLOAD, *map(str, arguments)],
                          capture_output=True, text=True, check=False, timeout=2 * LOAD_S)
    if done.returncode != expect or harness.sanitizer_reports(done.stderr):
        raise AssertionError(f"{command}: {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def at(address):
    return f"{address[0]}:{address[1]}"


# ---- servers that are what they say ----


class Real(Case):
    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("a server that becomes another user needs root")

    def check_server(self, server):
        """In the clear, and under TLS of both kinds."""
        for tls, address in (("no", server.imap_address), ("starttls", server.imap_address),
                             ("implicit", server.imaps_address)):
            with self.subTest(tls=tls):
                text = run("check", "--imap", at(address), "--tls", tls, "--password", PASSWORD)
                *lines, verdict = text.splitlines()
                self.assertEqual(verdict, f"{len(lines)} commands, 0 wrong")
                words = [line.split(maxsplit=2) for line in lines]
                self.assertEqual({word[0] for word in words}, {"ok"})
                self.assertLessEqual({"LOGIN", "LIST", "STATUS", "SELECT", "FETCH_HEADERS",
                                      "FETCH_FLAGS", "FETCH_STRUCTURE", "FETCH_BODY", "SEARCH", "STORE",
                                      "COPY", "APPEND", "EXPUNGE", "IDLE"}, {word[1] for word in words})

    def test_dovecot_does_what_clients_want_in_each_of_its_formats(self):
        certificate = self.make_certificate()
        for kind in ("maildir", "sdbox", "mdbox"):
            with self.subTest(kind=kind):
                self.check_server(Dovecot(self, imap=True, certificate=certificate, kind=kind))

    def test_cyrus_does_what_clients_want(self):
        self.check_server(Cyrus(self, imap=True, certificate=self.make_certificate()))

    def test_a_wrong_password_is_a_no(self):
        server = Dovecot(self, imap=True)
        text = run("check", "--imap", at(server.imap_address), "--password", "not-it", expect=1)
        self.assertRegex(text, r"^WRONG +LOGIN: the server says NO \(.*\)\n")

    def work(self, server):
        """Users at work for some seconds, in mailboxes that are filled: nothing is wrong."""
        common = ("--imap", at(server.imap_address), "--password", PASSWORD, "--users", 8, "--scale", 0.01)
        run("fill", *common)
        run("verify", *common)
        result = json.loads(run("run", *common, "--rate", 300, "--warmup", 1, "--window", 8, "--drain", 10))
        check_no_errors(self, result)
        counts = {name: each["count"] for name, each in result["transactions"].items()}
        for name in ("LOGIN", "SELECT", "FETCH_HEADERS", "FETCH_BODY", "STORE"):
            self.assertGreater(counts[name], 0, counts)
        run("verify", "--after", *common)

    def test_users_of_dovecot_meet_no_fault(self):
        self.work(Dovecot(self, imap=True))

    def test_users_of_cyrus_meet_no_fault(self):
        self.work(Cyrus(self, imap=True))


# ---- servers that are not ----


class Broken(threading.Thread):
    """
    A server of IMAP on loopback that does what a user wants, up to the first command of a kind, which it answers
    with text, or with what text(tag) gives; silent: it says nothing more, and does not close.
    """

    CAPABILITY = b"CAPABILITY IMAP4rev1 IDLE UIDPLUS"
    SELECT = (b"* FLAGS (\\Seen)\r\n* 2 EXISTS\r\n* 0 RECENT\r\n* OK [UIDVALIDITY 7] .\r\n"
              b"* OK [UIDNEXT 21] .\r\n")

    def __init__(self, case, command, text, greeting=b"* OK hello\r\n"):
        super().__init__(daemon=True)
        self.command, self.text, self.greeting = command, text, greeting
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=100)
        self.address = self.listener.getsockname()
        self.sent = 0  # at most, to one client
        self.reached = 0
        case.addCleanup(self.close)
        self.start()

    def close(self):
        self.listener.close()

    def run(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        with client, client.makefile("rb") as file:
            client.settimeout(2 * LOAD_S)
            try:
                client.sendall(self.greeting)
                for line in file:
                    if not self.answer(client, file, *line.rstrip(b"\r\n").split(b" ", 1)):
                        return
            except OSError:
                return

    def answer(self, client, file, tag, rest=b""):
        """Whether there is more to answer."""
        words = rest.upper().split()
        verb = b" ".join(words[:2]) if words[:1] == [b"UID"] else words[0] if words else b""
        if verb.endswith(self.command):
            self.reached += 1
            return self.fail(client, file, tag)
        if verb in (b"SELECT", b"EXAMINE"):
            client.sendall(self.SELECT)
        elif verb == b"CAPABILITY":
            client.sendall(b"* " + self.CAPABILITY + b"\r\n")
        elif verb == b"LIST":
            client.sendall(b'* LIST () "/" INBOX\r\n')
        elif verb == b"STATUS":
            client.sendall(b"* STATUS x (MESSAGES 2 UNSEEN 0 UIDNEXT 21 UIDVALIDITY 7)\r\n")
        elif verb == b"UID FETCH":
            self.fetch(client, rest)
        elif verb == b"IDLE":
            client.sendall(b"+ idling\r\n")
            file.readline()
        elif verb == b"APPEND":
            client.sendall(b"+ go on\r\n")
            file.read(int(re.search(rb"{(\d+)}$", rest)[1]) + len(b"\r\n"))
        client.sendall(tag + b" OK done\r\n")
        return verb != b"LOGOUT"

    @staticmethod
    def fetch(client, rest):
        for number in (1, 2):
            header = b"Message-ID: <%d@x>\r\n\r\n" % number
            value = b" BODY[HEADER.FIELDS (X)] {%d}\r\n%s" % (len(header), header) if b"HEADER" in rest else b""
            client.sendall(b"* %d FETCH (UID %d0 FLAGS (\\Seen)%s)\r\n" % (number, number, value))

    def fail(self, client, file, tag):
        text = self.text
        if callable(text):
            text(self, client, tag)
            return False
        client.sendall(text.replace(b"TAG", tag))
        while client.recv(65536):  # whatever it still says, until it hangs up
            pass
        return False


def endless(server, client, _tag):
    """A line of 10 GB, as far as the client wants it."""
    piece = b"a" * 65536
    for _ in range(10 * 1024 * 1024 * 1024 // len(piece)):
        client.sendall(piece)
        server.sent += len(piece)


def hang_up(_server, client, _tag):
    client.shutdown(socket.SHUT_RDWR)


class Wrong(Case):
    """Some users of each, for seconds."""

    def load(self, command, text, timeout_s=30, **how):
        server = Broken(self, command, text, **how)
        result = json.loads(run("run", "--imap", at(server.address), "--users", 40, "--rate", 300, "--warmup", 0,
                                "--window", 1, "--drain", 20, "--timeout", timeout_s))
        return server, result, {name for name, count in result["errors"].items() if count}

    def check_kind(self, kind, command, text, **how):
        with self.subTest(command=command, text=text):
            server, result, kinds = self.load(command, text, **how)
            self.assertEqual(kinds, {kind}, result)
            self.assertGreater(result["errors"][kind], 0)
            if command != NO_COMMAND:
                self.assertGreater(server.reached, 0)

    def test_a_server_that_keeps_to_its_protocol_has_no_errors(self):
        _, result, kinds = self.load(NO_COMMAND, b"")
        self.assertEqual(kinds, set(), result)
        self.assertGreater(result["transactions"]["FETCH_HEADERS"]["count"], 0, result)

    def test_wrong_literals_are_errors_of_the_protocol(self):
        for text in (b"* 1 FETCH (UID 10 BODY[HEADER.FIELDS (X)] {3}\r\nMessage-ID: <1@x>\r\n\r\n)\r\n",
                     b"* 1 FETCH (UID 10 BODY[HEADER.FIELDS (X)] {-3}\r\n",
                     b"* 1 FETCH (UID 10 BODY[HEADER.FIELDS (X)] {99999999999999}\r\n"):
            self.check_kind("protocol", b"UID FETCH", text)

    def test_a_literal_that_never_ends_is_a_timeout(self):
        self.check_kind("timeout", b"UID FETCH",
                        b"* 1 FETCH (UID 10 BODY[] {1000}\r\nabc)\r\nTAG OK done\r\n", timeout_s=1)

    def test_bye_at_each_point_is_counted_as_such(self):
        self.check_kind("bye", NO_COMMAND, b"", greeting=b"* BYE full\r\n")
        for command in (b"LOGIN", b"LIST", b"SELECT", b"UID FETCH", b"STATUS", b"IDLE"):
            self.check_kind("bye", command, b"* BYE shutting down\r\n")
        self.check_kind("bye", b"UID FETCH", b"* 1 FETCH (UID 10 FLAGS ())\r\n* BYE in the middle\r\n")

    def test_mails_that_cannot_be_put_into_folders_are_errors(self):
        for text in (b"* BYE disk full\r\n", b"TAG NO [OVERQUOTA] full\r\n", b"* 1 EXPUNGE\r\n",
                     b"TAG OK without the mail\r\n", hang_up):
            with self.subTest(text=text):
                server = Broken(self, b"APPEND", text)
                text = run("fill", "--imap", at(server.address), "--users", 2, "--scale", 0.01, expect=69)
                self.assertNotIn(" errors=0", text)
                self.assertGreater(server.reached, 0)

    def test_a_server_that_hangs_up_is_counted_as_such(self):
        for command in (b"LOGIN", b"SELECT", b"UID FETCH"):
            self.check_kind("closed", command, hang_up)

    def test_a_stall_is_a_timeout(self):
        self.check_kind("timeout", NO_COMMAND, b"", greeting=b"", timeout_s=1)
        for command in (b"LOGIN", b"UID FETCH"):
            self.check_kind("timeout", command, b"", timeout_s=1)
        self.check_kind("timeout", b"SELECT", b"* 2 EXI", timeout_s=1)

    def test_garbage_is_an_error_of_the_protocol(self):
        for text in (b"\0" * 1000, b"<html>\r\n", b"* 1 FETCH (((((((\r\n", b"TAG WHAT now\r\n", b"X9 OK done\r\n",
                     b"+ go on\r\n", b"* 9 EXPUNGE\r\n", b"* 9 FETCH (UID 1)\r\n"):
            self.check_kind("protocol", b"UID FETCH", text)
        self.check_kind("protocol", NO_COMMAND, b"", greeting=b"SSH-2.0-x\r\n")

    def test_no_and_bad_are_counted_as_such(self):
        self.check_kind("no", b"LOGIN", b"TAG NO [AUTHENTICATIONFAILED] no\r\n")
        self.check_kind("bad", b"SELECT", b"TAG BAD what\r\n")

    def test_a_line_of_10_gb_is_cut_off_at_its_limit(self):
        for text in (b"* OK ", b"* 1 FETCH (X ", b'* LIST () "/" "', b""):
            with self.subTest(text=text):
                server, result, kinds = self.load(b"LIST", lambda server, client, tag, text=text: (
                    client.sendall(text), endless(server, client, tag)))
                self.assertEqual(kinds, {"protocol"}, result)
                self.assertLess(server.sent, 512 << 20)  # of all clients: what their sockets hold

    def test_check_names_what_is_wrong(self):
        server = Broken(self, b"UID FETCH", b"* 1 FETCH (UID 10 FLAGS ())\r\n* 2 FETCH (UID 9 FLAGS ())\r\n")
        text = run("check", "--imap", at(server.address), expect=69)
        self.assertIn("\nWRONG   NOOP tells of the mails: EXISTS is another number of mails\n", text)
        self.assertIn("\nWRONG   FETCH_FLAGS: UIDs do not ascend", text)


if __name__ == "__main__":
    main()
