#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
bench/users-load against a real Dovecot and Postfix: mailboxes are filled as they are planned, users do all that the
workload has, each mail is seen where it should be, and what servers do wrong is counted.

Needs root, dovecot-imapd, dovecot-lmtpd, postfix and openssl; measures nothing.
"""

import json
import os
import re
import signal
import socket
import subprocess
import threading
import time

import harness
from benching import check_no_errors
from dovecot import PASSWORD, Dovecot
from harness import DEADLINE_S, EX_USAGE, SOURCE, main
from mta import SESSION_S, Postfix

EX_UNAVAILABLE = 69
EX_DATAERR = 65
PROGRAM = os.path.join(harness.BUILD, "bench/users-load/users-load")
WORKLOAD = os.path.join(SOURCE, "bench/enterprise.workload")
IMAP = ("LOGIN", "LIST", "STATUS", "SELECT", "FETCH_HEADERS", "FETCH_FLAGS", "FETCH_STRUCTURE", "FETCH_BODY", "SEARCH",
        "STORE", "COPY", "APPEND", "EXPUNGE")
SMTP = ("SMTP_LOCAL", "SMTP_REMOTE")
# Users that tidy, search and move more than those of the workload, so that a few seconds have all of it.
BUSIER = {"read-moved": "0.3", "read-deleted": "0.3", "tidy-search": "1", "poller.after-look": "0 60 20 10 10",
          "webmail.after-begin": "40 30 20 10 0", "mailbox-mails": "300", "attachment-median": "3000"}


def text_of(address):
    return f"{address[0]}:{address[1]}"


class Load(harness.Case):
    users = 12
    scale = 0.02

    def setUp(self):
        super().setUp()
        with open(WORKLOAD, encoding="utf-8") as file:
            text = file.read()
        for name, value in BUSIER.items():
            text, count = re.subn(rf"^({re.escape(name)}\s*=)[^#]*#", rf"\1 {value}  #", text, flags=re.MULTILINE)
            self.assertEqual(count, 1, name)
        self.workload = self.write("busier.workload", text)

    def command(self, verb, *arguments):
        return [PROGRAM, verb, "--workload", self.workload, "--users", str(self.users), "--scale", str(self.scale),
                "--password", PASSWORD, "--timeout", str(DEADLINE_S), *map(str, arguments)]

    def call(self, verb, *arguments, expect=0):
        done = subprocess.run(self.command(verb, *arguments), capture_output=True, text=True, check=False,
                              timeout=2 * SESSION_S)
        if done.returncode != expect or harness.sanitizer_reports(done.stderr):
            raise AssertionError(f"{verb}: {done.returncode}: {done.stdout}{done.stderr}")
        return done

    def counts(self, verb, *arguments, expect=0):
        """What it printed, {"users": 12, ...}."""
        words = self.call(verb, *arguments, expect=expect).stdout.split()
        return {name: float(value) for name, value in (word.split("=") for word in words)}

    def run_load(self, *arguments):
        return json.loads(self.call("run", *arguments).stdout)

    def fill(self, server):
        filled = self.counts("fill", "--lmtp", text_of(server.address), "--imap", text_of(server.imap_address))
        self.assertEqual((filled["users"], filled["errors"]), (self.users, 0))
        return filled


class Users(Load):
    def serve(self):
        """Dovecot, and a Postfix that gives it mails for example.com, and a sink those for example.net."""
        dovecot = Dovecot(self, imap=True)
        sink = self.free_address()
        postfix = Postfix(
            self, xclient=False,
            main=(f"mynetworks = {self.host}/32, 127.0.0.1/32", "virtual_mailbox_maps = static:any",
                  "smtpd_recipient_restrictions = permit_mynetworks, reject_unauth_destination",
                  f"virtual_transport = lmtp:inet:{text_of(dovecot.address)}",
                  f"transport_maps = inline:{{ {{ example.net = smtp:[{sink[0]}]:{sink[1]} }} }}"),
            master=("lmtp unix - - n - - lmtp", "smtp unix - - n - - smtp"))
        return dovecot, postfix, sink

    def test_all_that_users_do_is_done_and_each_mail_is_seen(self):
        dovecot, postfix, sink = self.serve()
        self.scale = 0.1
        imap = ("--imap", text_of(dovecot.imap_address), "--sample", self.users)
        filled = self.fill(dovecot)
        before = self.counts("verify", *imap)
        self.assertEqual((before["mails"], before["folders"]), (filled["mails"], filled["folders"] + self.users))
        result = self.run_load("--imap", text_of(dovecot.imap_address), "--smtp", text_of(postfix.address), "--sink",
                               text_of(sink), "--rate", 600, "--warmup", 0, "--window", 8, "--drain", SESSION_S)
        check_no_errors(self, result)
        counted = {name: row["count"] for name, row in result["transactions"].items()}
        self.assertEqual({name for name in IMAP + SMTP if counted[name] == 0}, set(), counted)
        for way in ("local", "remote"):
            deliveries = result["deliveries"][way]
            self.assertGreater(deliveries["sent"], 0)
            self.assertEqual((deliveries["seen"], deliveries["lost"], deliveries["twice"]), (deliveries["sent"], 0, 0))
        # A session ends with a COPY that is refused, which may come when nothing is counted any more.
        self.assertLessEqual(result["sessions"]["failed"], 2, result)
        after = self.counts("verify", *imap, "--after")
        self.assertEqual((after["folders"], after["wrong_mails"]), (before["folders"], 0))

    def test_a_mailbox_that_differs_is_told(self):
        dovecot = Dovecot(self, imap=True)
        self.fill(dovecot)
        imap = ("--imap", text_of(dovecot.imap_address), "--sample", self.users)
        self.counts("fill", "--lmtp", text_of(dovecot.address))
        doubled = self.counts("verify", *imap, expect=1)
        self.assertGreater(doubled["more_mails"], 0)
        self.assertGreater(doubled["wrong_mails"], 0)
        other = self.counts("verify", *imap, "--seed", 2, expect=1)
        self.assertGreater(other["missing_folders"], 0)

    def test_tls_is_spoken_in_both_ways(self):
        dovecot = Dovecot(self, imap=True, certificate=self.make_certificate(),
                          lines=("disable_plaintext_auth = yes", "login_trusted_networks ="))
        for way, address in (("starttls", dovecot.imap_address), ("implicit", dovecot.imaps_address)):
            with self.subTest(way=way):
                imap = ("--imap", text_of(address), "--tls", way)
                if way == "starttls":
                    self.counts("fill", *imap)
                self.counts("verify", *imap, *(("--after",) if way == "implicit" else ()))
                result = self.run_load(*imap, "--rate", 300, "--warmup", 0, "--window", 2)
                check_no_errors(self, result)
                self.assertGreater(result["transactions"]["LOGIN"]["count"], 0)
        self.assertRegex(dovecot.log(), r"Login: .*, TLS")

    def test_one_seed_is_one_load(self):
        dovecot = Dovecot(self, imap=True)
        self.counts("fill", "--imap", text_of(dovecot.imap_address))
        window = ("--imap", text_of(dovecot.imap_address), "--rate", 300, "--warmup", 0.5, "--window", 2)
        results = [self.run_load(*window, "--seed", seed) for seed in (1, 1, 2, 3)]
        begun = [result["sessions"]["begun"] for result in results]
        self.assertEqual(begun[0], begun[1])
        self.assertGreater(len(set(begun)), 1)
        # Also those that were due when the window ended.
        self.assertEqual([result["transactions"]["LOGIN"]["count"] for result in results], begun)

    def test_a_signal_ends_it_with_what_there_is(self):
        dovecot = Dovecot(self, imap=True)
        with subprocess.Popen(self.command("run", "--imap", text_of(dovecot.imap_address), "--rate", 1000, "--warmup",
                                           0, "--window", 3600), stdout=subprocess.PIPE, text=True) as process:
            harness.wait_for(lambda: "Login: " in dovecot.log(), "a session")
            process.send_signal(signal.SIGTERM)
            result = json.loads(process.communicate(timeout=SESSION_S)[0])
        self.assertEqual(process.returncode, 0)
        self.assertGreater(result["sessions"]["begun"], 0)
        self.assertLess(result["window_s"], 3600)


class Trouble(Load):
    """Servers that are none."""

    def serve(self, answer):
        """Each connection gets what answer(connection) does."""
        server = socket.create_server((self.host, 0), backlog=100)
        threads = []

        def handle(connection):
            with connection:
                try:
                    answer(connection)
                except OSError:
                    pass

        def accept():
            while True:
                try:
                    connection = server.accept()[0]
                except OSError:
                    return
                connection.settimeout(DEADLINE_S)
                threads.append(threading.Thread(target=handle, args=(connection,), daemon=True))
                threads[-1].start()

        self.addCleanup(server.close)
        threading.Thread(target=accept, daemon=True).start()
        return server.getsockname()

    def check(self, answer, kind, *options):
        """All sessions are errors of that kind."""
        address = self.serve(answer)
        result = self.run_load("--imap", text_of(address), "--rate", 500, "--warmup", 0, "--window", 1, "--drain", 3,
                               *options)
        self.assertGreater(result["errors"][kind], 0, result)
        self.assertEqual({name for name, count in result["errors"].items() if count}, {kind})
        self.assertEqual(result["errors"][kind], result["sessions"]["failed"])
        self.assertEqual(result["sessions"]["begun"], result["sessions"]["failed"])

    def test_what_servers_do_wrong_is_counted_by_its_kind(self):
        def ends_literal(connection):
            connection.sendall(b"* OK IMAP4rev1\r\n")
            connection.recv(1000)
            connection.sendall(b"* LIST () \"/\" {99999999999}\r\n")
            connection.recv(1000)

        def never_ends(connection):
            connection.sendall(b"* OK IMAP4rev1 ")
            while True:
                connection.sendall(b"x" * 65536)

        def refuses(word):
            def answer(connection):
                connection.sendall(b"* OK IMAP4rev1\r\n")
                line = connection.recv(1000)  # nothing, of a look whether there is a server
                connection.sendall(line.split(b" ")[0] + b" " + word + b" no\r\n")
                connection.recv(1000)
            return answer

        for name, answer, kind, *options in (
                ("another protocol", lambda connection: connection.sendall(b"220 ESMTP\r\n"), "protocol"),
                ("a literal of 100 GB", ends_literal, "protocol"),
                ("a line without an end", never_ends, "protocol"),
                ("BYE", lambda connection: connection.sendall(b"* BYE busy\r\n"), "bye"),
                ("silence", lambda connection: connection.recv(1), "timeout", "--timeout", "0.5"),
                ("a hang-up", lambda connection: None, "closed"),
                ("NO", refuses(b"NO"), "no"),
                ("BAD", refuses(b"BAD"), "bad"),
                ("no TLS", lambda connection: connection.sendall(b"* OK IMAP4rev1\r\n"), "protocol", "--tls", "implicit")):
            with self.subTest(name):
                self.check(answer, kind, *options)

    def test_what_has_no_answer_at_the_end_is_not_in_time(self):
        address = self.serve(lambda connection: time.sleep(DEADLINE_S))
        result = self.run_load("--imap", text_of(address), "--rate", 500, "--warmup", 0, "--window", 1, "--drain", 0.5)
        row = result["transactions"]["LOGIN"]
        self.assertGreater(row["count"], 0)
        self.assertEqual((row["count"], row["errors"], row["within"]), (result["sessions"]["begun"], 0, 0))

    def test_no_server_is_an_exit_status(self):
        address = text_of(self.free_address())
        for arguments in (("run", "--imap", address), ("fill", "--lmtp", address), ("fill", "--imap", address),
                          ("verify", "--imap", address)):
            with self.subTest(arguments=arguments):
                said = self.call(*arguments, expect=EX_UNAVAILABLE).stderr
                self.assertRegex(said, rf"^users-load: no server at {arguments[1]}: Connection refused\n$")

    def test_wrong_use_is_one_line(self):
        for arguments in (("run",), ("run", "--imap", "localhost"), ("run", "--imap", "127.0.0.1:143", "--rate", "0"),
                          ("run", "--imap", "127.0.0.1:1", "--smtp", "127.0.0.1:1"), ("fill",),
                          ("run", "--imap", "127.0.0.1:1", "--tls", "maybe"),
                          ("run", "--imap", "127.0.0.1:1", "--name", "user"),
                          ("fill", "--lmtp", "127.0.0.1:1", "--from", "99")):
            with self.subTest(arguments=arguments):
                self.assertRegex(self.call(*arguments, expect=EX_USAGE).stderr,
                                 rf"^users-load {arguments[0]}: [^\n]+; try 'users-load {arguments[0]} --help'\n$")

    def test_a_workload_is_told_the_line_of(self):
        self.workload = self.write("wrong.workload", "users-min = many  # ours: none\n")
        said = self.call("verify", "--imap", "127.0.0.1:1", expect=EX_DATAERR).stderr
        self.assertIn(f"{self.workload}:1: ", said)


if __name__ == "__main__":
    main()
