#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
LOGIN of mail-stored's clients: a password is right or it is not, whichever user has it, and its process may be too
slow, or end.
"""

import contextlib
import errno
import os
import pwd
import signal
import subprocess
import time

import stored
from harness import DEADLINE_S, Case, main, program
from popfront import secret_words
from stored import USER, Stored

PASSWORD = "correct horse"
WAITING_MAX = 64
PAUSE_S = 2


class Logins(Case):
    def begin(self, words=None, **sections):
        self.logins = self.path("logins.mdb")
        self.build(words or {"anna@example.com": secret_words(PASSWORD)})
        return Stored(self, stored={"logins": self.logins}, **sections)

    def build(self, words):
        lines = "".join(f"{user} {more}\n" for user, more in words.items())
        subprocess.run([program("smtp-front-users"), "build", "--database", self.logins, self.write("list", lines)],
                       check=True, timeout=DEADLINE_S, capture_output=True)

    def ask(self, client, user, password):
        return client.call(stored.LOGIN, name=user.encode(), memory=password.encode())

    def test_a_right_password_gives_the_mailbox_and_any_other_is_refused_after_a_pause(self):
        store = self.begin()
        with store.client() as client:
            reply = self.ask(client, "Anna@Example.com", PASSWORD)
            self.assertEqual((reply.status, reply.count, reply.rows), (0, 1, b"mailbox=anna@example.com\n"))
            for user, password in (("anna@example.com", "wrong"), ("bert@example.com", PASSWORD),
                                   ("anna@example.com", PASSWORD + "\n"), ("anna@example.com", "x" * 1000),
                                   ("anna", PASSWORD), ("anna@example.com", "")):
                client.send(stored.LOGIN, name=user.encode(), memory=password.encode())
            client.send(stored.LOGIN, name=b"anna@example.com")
            begun = time.monotonic()
            for _ in range(7):
                reply = client.take()
                self.assertEqual((reply.status, reply.count, reply.rows), (-errno.EACCES, 0, b""))
            self.assertGreaterEqual(time.monotonic() - begun, PAUSE_S / 2)

    def test_a_user_with_keys_of_scram_alone_has_its_password_and_one_without_words_has_none(self):
        store = self.begin({"anna@example.com": secret_words(PASSWORD, ("-s",)), "bert@example.com": "",
                            "carl@example.com": "to=anna@example.com"})
        with store.client() as client:
            self.assertEqual(self.ask(client, "anna@example.com", PASSWORD).status, 0)
            for user in ("bert@example.com", "carl@example.com"):
                for password in (PASSWORD, "*"):
                    self.assertEqual(self.ask(client, user, password).status, -errno.EACCES)

    def test_a_password_that_was_changed_counts_at_once(self):
        store = self.begin()
        with store.client() as client:
            self.assertEqual(self.ask(client, "anna@example.com", PASSWORD).status, 0)
            self.build({"anna@example.com": secret_words("another")})
            self.assertEqual(self.ask(client, "anna@example.com", PASSWORD).status, -errno.EACCES)
            self.assertEqual(self.ask(client, "anna@example.com", "another").status, 0)

    def test_when_too_many_wait_the_next_is_told_to_come_again_and_mail_goes_on(self):
        store = self.begin()
        checker = store.pid_of("login")
        with store.client() as client, store.client() as other:
            os.kill(checker, signal.SIGSTOP)
            self.addCleanup(os.kill, checker, signal.SIGCONT)
            for _ in range(WAITING_MAX + 3):
                client.send(stored.LOGIN, name=b"anna@example.com", memory=PASSWORD.encode())
            refused = [client.take() for _ in range(3)]
            self.assertEqual([reply.status for reply in refused], [-errno.EAGAIN] * 3)
            other.deliver(b"Subject: meanwhile\r\n\r\n", ["anna@example.com"])
            os.kill(checker, signal.SIGCONT)
            replies = [client.take() for _ in range(WAITING_MAX)]
            self.assertEqual({reply.status for reply in replies}, {0})
            self.assertEqual([reply.serial for reply in replies], sorted(reply.serial for reply in replies))

    def test_a_process_that_is_killed_over_a_password_is_made_again_and_asked_again(self):
        store = self.begin()
        self.expect_log(r"warning: \[mail-stored\] process ended, role=login ")
        checker = store.pid_of("login")
        with store.client() as client:
            os.kill(checker, signal.SIGSTOP)
            client.send(stored.LOGIN, name=b"anna@example.com", memory=PASSWORD.encode())
            client.stat()  # the one before has been taken
            os.kill(checker, signal.SIGKILL)
            self.assertEqual(client.take().status, 0)
            self.assertNotEqual(store.pid_of("login"), checker)

    def test_a_client_that_goes_with_a_login_under_way_holds_up_no_other(self):
        store = self.begin()
        checker = store.pid_of("login")
        os.kill(checker, signal.SIGSTOP)
        client = store.client()
        client.send(stored.LOGIN, name=b"anna@example.com", memory=PASSWORD.encode())
        client.stat()
        client.close()
        os.kill(checker, signal.SIGCONT)
        with store.client() as other:
            self.assertEqual(self.ask(other, "anna@example.com", PASSWORD).status, 0)

    def test_the_daemon_ends_with_logins_under_way(self):
        store = self.begin()
        checker = store.pid_of("login")
        with store.client() as client:
            client.send(stored.LOGIN, name=b"anna@example.com", memory=b"wrong")
            client.stat()
            os.kill(checker, signal.SIGSTOP)
            client.send(stored.LOGIN, name=b"anna@example.com", memory=PASSWORD.encode())
            client.stat()
            store.process.popen.terminate()
            self.assertLessEqual({client.take().status, client.take().status}, {-errno.EACCES, -errno.EAGAIN})
            with contextlib.suppress(ProcessLookupError):  # the daemon may have ended it
                os.kill(checker, signal.SIGCONT)
            self.assertEqual(store.stop(), 0)

    def test_the_process_that_checks_them_has_no_file_but_its_database(self):
        store = self.begin()
        with store.client() as client:
            self.assertEqual(self.ask(client, "anna@example.com", PASSWORD).status, 0)
        checker = store.pid_of("login")
        if os.geteuid() == 0:
            with open(f"/proc/{checker}/status", encoding="ascii") as file:
                self.assertIn(f"\nUid:\t{pwd.getpwnam(USER).pw_uid}\t", file.read())
        names = [os.readlink(f"/proc/{checker}/fd/{fd}") for fd in os.listdir(f"/proc/{checker}/fd")]
        files = {name for name in names if name.startswith(self.directory) and not name.endswith(".log")}
        self.assertEqual(files, {self.logins, self.logins + "-lock"})
        self.assertNotIn(PASSWORD, store.process.log())
        store.stop()


if __name__ == "__main__":
    main()
