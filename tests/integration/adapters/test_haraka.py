#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
The plugin of Haraka, in Haraka itself before dnsblv6-policy. Haraka is npm's:
./check puts it below build/npm where there is npm and a Node.js that it takes.
"""

import contextlib
import os
import shutil
import smtplib
import socket
import sys
import threading

import harness
from harness import DEADLINE_S, SOURCE, wait_for
from policy import NAME, SILENT, PolicyCase

if harness.IS_SANITIZED:
    print("what is asked is not ours, and who answers is tested by test_policy.py: skipped")
    sys.exit(77)

HARAKA = os.path.join(SOURCE, "build/npm/node_modules/Haraka")
# It would ask DNS for the names of clients.
NO_NAMES = "exports.hook_lookup_rdns = (next) => next(OK, 'client.example')\n"
TEST_POINT, CLEAR = "127.0.0.2", "127.0.0.1"


class Haraka(PolicyCase):
    def setUp(self):
        super().setUp()
        if not os.path.exists(HARAKA):
            self.skipTest("no build/npm; ./check brings it where it can")
        self.node = harness.peer("node")

    def start_haraka(self):
        self.port = self.free_port("127.0.0.1")
        for directory in ("config", "plugins"):
            os.makedirs(self.path(f"haraka/{directory}"))
        shutil.copy(os.path.join(SOURCE, "integration/adapters/haraka/dnsblv6.js"),
                    self.path("haraka/plugins"))
        shutil.copy(os.path.join(HARAKA, "config/connection.ini"), self.path("haraka/config"))
        for path, text in (("plugins/no_names.js", NO_NAMES),
                           ("config/plugins", "no_names\nauth/flat_file\ndnsblv6\n"),
                           ("config/auth_flat_file.ini",
                            "[core]\nmethods=PLAIN\nconstrain_sender=false\n[users]\njoe=Secret7\n"),
                           ("config/me", "mail.example.com\n"),
                           ("config/dnsblv6.socket", self.lines + "\n"),
                           ("config/smtp.ini", f"listen=127.0.0.1:{self.port}\nnodes=0\n")):
            self.write(f"haraka/{path}", text)
        haraka = self.haraka = self.start([self.node, os.path.join(HARAKA, "bin/haraka"), "-c",
                             self.path("haraka")], "haraka")

        def is_there():
            with socket.socket() as client:
                self.assertIsNone(haraka.popen.poll(), haraka.log())
                return client.connect_ex(("127.0.0.1", self.port)) == 0

        wait_for(is_there, "Haraka")

    def mail(self, source, *login):
        """(code, text) of the reply to MAIL, which a client from this address gets."""
        with smtplib.SMTP("127.0.0.1", self.port, "client.example", DEADLINE_S, (source, 0)) as client:
            client.ehlo()
            if login:
                client.login(*login)
            code, text = client.mail("sender@client.example")
            return code, text.decode()

    def assert_passes(self, source, *login):
        self.assertEqual(self.mail(source, *login)[0], 250)

    def test_a_listed_client_is_refused_with_the_reason_and_another_is_not(self):
        self.start_policy(self.config(self.serve_list()))
        self.start_haraka()
        code, text = self.mail(TEST_POINT)
        self.assertEqual(code, 550)
        self.assertIn(f"{TEST_POINT} is listed by {NAME}", text)
        self.assert_passes(CLEAR)

    def test_one_that_has_logged_in_passes(self):
        self.start_policy(self.config(self.serve_list()))
        self.start_haraka()
        self.assert_passes(TEST_POINT, "joe", "Secret7")

    def test_without_an_answer_clients_pass_and_without_the_daemon_too(self):
        policy = self.start_policy(self.config(SILENT, decision=["deadline: 200ms"]))
        self.start_haraka()
        self.assert_passes(TEST_POINT)
        policy.stop()
        self.assert_passes(TEST_POINT)

    def test_one_that_is_put_off(self):
        self.start_policy(self.config(SILENT, decision=["deadline: 200ms"],
                                      library=["on-failure: defer"]))
        self.start_haraka()
        self.assertEqual(self.mail(TEST_POINT)[0], 450)

    def test_a_daemon_that_never_ends_its_answer(self):
        with socket.socket(socket.AF_UNIX) as door:
            door.bind(self.lines)
            door.listen()
            over = threading.Event()
            drip = threading.Thread(target=self.drip, args=(door, over))
            drip.start()
            self.addCleanup(drip.join)
            self.addCleanup(over.set)
            self.start_haraka()
            self.assert_passes(TEST_POINT)
            self.haraka.wait_for_log("dnsblv6.* no whole answer in ten seconds")

    def drip(self, door, over):
        """A byte now and then, so that no pause is long."""
        daemon, _ = door.accept()
        with daemon, contextlib.suppress(OSError):
            daemon.sendall(b"listed 5 ")
            while not over.wait(1):
                daemon.sendall(b"x")


if __name__ == "__main__":
    harness.main()
