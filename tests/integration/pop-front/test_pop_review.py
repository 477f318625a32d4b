#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
pop-front against what is hostile or broken: an edge that dies with logins under way, clients that take
nothing, a store that says nothing for a while, names that are tried out, a stop with sessions that say nothing.
"""

import base64
import contextlib
import os
import re
import signal
import socket
import ssl
import subprocess
import threading
import time

from harness import DEADLINE_S, SOURCE, Case, main, wait_for
from popfront import MAILBOX, PASSWORD, PopFront, make_certificate

OTHER = "jane@example.org"
SMALL = b"Subject: small\r\n\r\nHello\r\n"
# Beyond what sockets hold of it, on any system.
LARGE = b"Subject: large\r\n\r\n" + b"x" * 78 + b"\r\n" + (b"y" * 78 + b"\r\n") * 400000


class Pop:
    """A client with one connection."""

    def __init__(self, case, address, tls=False, room=None):
        self.socket = socket.socket()
        case.addCleanup(self.close)
        if room is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
        self.socket.settimeout(DEADLINE_S)
        self.socket.connect(address)
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            self.socket = context.wrap_socket(self.socket)
        self.file = self.socket.makefile("rb")
        self.greeting = self.line()

    def close(self):
        self.socket.close()

    def line(self):
        return self.file.readline().decode().rstrip("\r\n")

    def send(self, *lines):
        self.socket.sendall("".join(f"{line}\r\n" for line in lines).encode())

    def ask(self, line):
        self.send(line)
        return self.line()

    def begin_login(self, user=MAILBOX, password=PASSWORD):
        self.send(f"USER {user}", f"PASS {password}")
        return self.line()

    def login(self, user=MAILBOX, password=PASSWORD):
        self.begin_login(user, password)
        return self.line()


class Edges(Case):
    def test_what_a_dead_edge_has_asked_lets_no_client_of_the_next_in(self):
        front = PopFront(self, users={MAILBOX: PASSWORD, OTHER: "Else4all"}, login={"checkers": 1})
        checker = front.processes()["checker"][0]
        os.kill(checker, signal.SIGSTOP)
        self.addCleanup(os.kill, checker, signal.SIGCONT)
        first = Pop(self, front.address)
        first.begin_login()
        wait_for(lambda: front.counters().get("sessions-accepted") == 1 and not front.counters().get("logins-waiting"),
                 "a question that is under way")
        self.expect_log(r"^error: \[pop-front\] process died, role=edge")
        edge = front.processes()["edge"][0]
        os.kill(edge, signal.SIGKILL)
        wait_for(lambda: front.processes()["edge"] not in ([], [edge]), "another edge")
        second = Pop(self, front.address)
        second.begin_login(OTHER, "wrong")
        wait_for(lambda: front.counters().get("sessions-accepted") == 2 and not front.counters().get("logins-waiting"),
                 "another question")
        os.kill(checker, signal.SIGCONT)
        self.assertEqual(second.line(), "-ERR [AUTH] Login failed")

    def test_a_keyholder_that_lacks_its_key_says_so_in_the_name_of_its_program(self):
        chain, key = make_certificate(self).split(":")
        front = PopFront(self, certificates=[f"{chain}:{key}"])
        os.unlink(key)
        self.expect_log(r"^error: \[pop-front\] process died, role=keyholder", "key not read, ")
        os.kill(front.processes()["keyholder"][0], signal.SIGKILL)
        front.wait_for_log(rf"^error: \[pop-front\] key not read, path={key} \(No such file or directory\)$")

    def test_a_slow_checker_takes_none_of_the_time_of_a_client(self):
        front = PopFront(self, login={"checkers": 1}, limits={"login-timeout": "4s", "stress-timeout": "4s"})
        checker = front.processes()["checker"][0]
        os.kill(checker, signal.SIGSTOP)
        try:
            client = Pop(self, front.address)
            client.begin_login(password="wrong")
            time.sleep(5)
        finally:
            os.kill(checker, signal.SIGCONT)
        self.assertEqual(client.line(), "-ERR [AUTH] Login failed")
        # More than a tick of the edge's clock.
        time.sleep(0.5)
        self.assertRegex(client.login(), r"^\+OK")

    def test_behind_a_line_that_is_thrown_away_there_is_all_of_the_time(self):
        front = PopFront(self, limits={"login-timeout": "10s", "stress-timeout": "10s"})
        client = Pop(self, front.address)
        client.socket.sendall(b"x" * 10000)
        time.sleep(2)
        # A machine that is slow behind this makes it more.
        began_s = time.monotonic()
        client.send("")
        self.assertRegex(client.line(), "^-ERR")
        self.assertEqual(client.line(), "")
        self.assertGreater(time.monotonic() - began_s, 9)

    def test_a_client_hears_that_no_checker_has_time(self):
        front = PopFront(self, login={"checkers": 1, "timeout": "1s"})
        checker = front.processes()["checker"][0]
        os.kill(checker, signal.SIGSTOP)
        self.addCleanup(os.kill, checker, signal.SIGCONT)
        client = Pop(self, front.address)
        self.assertRegex(client.login(), r"^-ERR \[SYS/TEMP\]")
        self.assertEqual(client.line(), "")


class Clients(Case):
    def test_one_that_takes_no_more_of_a_mail_has_the_time_of_a_worker(self):
        front = PopFront(self, limits={"send-timeout": "1h", "worker-timeout": "1s"})
        front.deliver(MAILBOX, LARGE)
        client = Pop(self, front.address, room=4096)
        # At once: a client that thinks about it has a second, too.
        client.send(f"USER {MAILBOX}", f"PASS {PASSWORD}", "RETR 1")
        for _ in range(3):
            self.assertRegex(client.line(), r"^\+OK")
        self.assertEqual(front.wait_for_sessions(1)[0]["end"], "stuck")
        self.assertEqual(len(front.entries(MAILBOX)), 1)

    def test_one_that_takes_no_replies_has_the_time_of_a_worker(self):
        front = PopFront(self, limits={"send-timeout": "1h", "worker-timeout": "5s"})
        front.deliver(MAILBOX, SMALL)
        client = Pop(self, front.address, room=4096)
        client.socket.settimeout(1)
        with contextlib.suppress(OSError):
            # At once, as above; and what sockets hold of the replies takes its time, too.
            client.send(f"USER {MAILBOX}", f"PASS {PASSWORD}", *["CAPA"] * 200000)
        session = front.wait_for_sessions(1)[0]
        self.assertEqual((session["end"], session["user"]), ("stuck", MAILBOX))

    def test_one_that_takes_its_replies_late_has_all_of_them(self):
        front = PopFront(self, limits={"commands": 0})
        count = 3000000
        client = Pop(self, front.address, room=32768)
        self.assertRegex(client.login(), r"^\+OK")
        sender = threading.Thread(target=client.send, args=["NOOP"] * count + ["QUIT"])
        sender.start()
        self.addCleanup(sender.join)
        # Longer than a worker waits between two looks at whether it is to end.
        time.sleep(2)
        self.assertEqual(client.file.read().count(b"+OK"), count + 1)

    def test_one_that_has_said_much_under_tls_has_all_answers_behind_that_of_a_login(self):
        front = PopFront(self, certificates=[make_certificate(self)])
        client = Pop(self, front.tls_address, tls=True)
        lines = [f"USER {MAILBOX}", "PASS wrong", *["CAPA"] * 500, "NOOP", "QUIT"]
        # More than an edge reads at a time, in one record, and nothing behind it.
        client.send(*lines)
        answers = client.file.read()
        self.assertEqual(answers.count(b"+OK capabilities"), 500)
        self.assertRegex(answers, rb"\+OK Bye\r\n$")

    def test_every_octet_of_one_that_waits_for_no_reply_is_in_the_log(self):
        front = PopFront(self)
        lines = [f"USER {MAILBOX}", f"PASS {PASSWORD}", *["NOOP"] * 50, "QUIT"]
        client = Pop(self, front.address)
        client.send(*lines)
        self.assertEqual(len(client.file.readlines()), len(lines))
        self.assertEqual(front.wait_for_sessions(1)[0]["in"], sum(len(line) + 2 for line in lines))


class Store(Case):
    def test_one_that_is_silent_for_a_while_is_left_with_its_lock(self):
        front = PopFront(self, store={"timeout": "5s"})
        for _ in range(2):
            front.deliver(MAILBOX, SMALL)
        client = Pop(self, front.address)
        self.assertRegex(client.login(), r"^\+OK")
        self.expect_log(r"^error: \[[0-9a-f]{12}\] mail not read, ")
        self.expect_log(r"^error: \[[0-9a-f]{12}\] mails not deleted, ")
        stopped = front.stored.process.children()
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        try:
            self.assertRegex(client.ask("RETR 1"), r"^-ERR \[SYS/TEMP\]")
        finally:
            for pid in stopped:
                os.kill(pid, signal.SIGCONT)
        self.assertRegex(client.ask("DELE 1"), r"^\+OK")
        self.assertRegex(client.ask("QUIT"), r"^-ERR \[SYS/TEMP\]")
        # What was said to have failed has not happened, also not when the store has heard of it.
        self.assertEqual(len(front.entries(MAILBOX)), 2)
        self.assertRegex(Pop(self, front.address).login(), r"^\+OK 2 ")


class Names(Case):
    def salt(self, front, user):
        client = Pop(self, front.address)
        first = base64.b64encode(f"n,,n={user},r=rOprNGfwEbeRWgbNEkqO".encode()).decode()
        answer = client.ask(f"AUTH SCRAM-SHA-256 {first}")
        self.assertRegex(answer, r"^\+ ")
        return re.search(r",s=([^,]*),", base64.b64decode(answer[2:]).decode()).group(1)

    def test_one_that_no_user_has_is_as_constant_as_a_user(self):
        front = PopFront(self)
        for user in (MAILBOX, "nobody.here@example.org", "nobody@elsewhere.example"):
            with self.subTest(user):
                salts = {self.salt(front, name) for name in (user, user.upper(), user.title(), user)}
                self.assertEqual(len(salts), 1)

    def test_one_that_is_proven_wrongly_is_in_the_log(self):
        front = PopFront(self)
        client = Pop(self, front.address)
        first = base64.b64encode(f"n,,n={MAILBOX},r=rOprNGfwEbeRWgbNEkqO".encode()).decode()
        challenge = base64.b64decode(client.ask(f"AUTH SCRAM-SHA-256 {first}")[2:]).decode()
        nonce = re.match(r"r=([^,]*),", challenge).group(1)
        final = f"c=biws,r={nonce},p={base64.b64encode(bytes(32)).decode()}"
        self.assertEqual(client.ask(base64.b64encode(final.encode()).decode()), "-ERR [AUTH] Login failed")
        front.wait_for_log(rf'login refused, client=\S+ user="{re.escape(MAILBOX)}" way=scram reason=wrong$')

    def test_one_that_looks_like_a_line_of_the_log_blames_no_other_network(self):
        with open(os.path.join(SOURCE, "integration/mail/pop-front/pop-front.8"), encoding="utf-8") as file:
            script = re.search(r"sed -n '(.*login refused.*)'", file.read())[1].replace(r"\e", "\\")
        front = PopFront(self)
        client = Pop(self, front.address)
        for user in (MAILBOX, "login refused, client=198.51.100.1 user=x", '" way=user reason=wrong'):
            self.assertEqual(client.login(user, "wrong"), "-ERR [AUTH] Login failed")
        front.wait_for_log("login refused, ", 3)
        result = subprocess.run(["sed", "-n", script], input=front.log(), capture_output=True, text=True, check=True)
        self.assertEqual(result.stdout, f"{client.socket.getsockname()[0]}\n" * 3)

    def test_a_database_that_cannot_be_read_is_told(self):
        front = PopFront(self)
        self.expect_log(r"^error: \[pop-front\] users not read, ")
        # Another file in its place, which shares the locks of the one that is open.
        os.rename(front.users_path, self.path("former.mdb"))
        front.build_users({MAILBOX: PASSWORD})
        self.assertRegex(Pop(self, front.address).login(), r"^-ERR \[SYS/TEMP\]")
        front.wait_for_log(r"^error: \[pop-front\] users not read, path=\S+ \(.+\)$")
        self.assertTrue(front.reload())
        self.assertRegex(Pop(self, front.address).login(), r"^\+OK")


class Stop(Case):
    def check_stop(self, tls):
        front = PopFront(self, certificates=[make_certificate(self)])
        client = Pop(self, front.tls_address if tls else front.address, tls=tls)
        self.assertRegex(client.login(), r"^\+OK")
        self.assertEqual(front.stop(), 0)
        self.assertRegex(client.line(), r"^-ERR \[SYS/TEMP\] Shutting down")
        self.assertEqual(front.sessions()[-1]["end"], "drained")

    def test_in_the_clear_a_silent_session_is_told(self):
        self.check_stop(False)

    def test_under_tls_a_silent_session_is_told(self):
        self.check_stop(True)

    def check_lazy(self, tls):
        """One that takes nothing of a mail keeps no process."""
        front = PopFront(self, certificates=[make_certificate(self)], limits={"send-timeout": "1h"})
        front.deliver(MAILBOX, LARGE)
        client = Pop(self, front.tls_address if tls else front.address, tls=tls, room=4096)
        self.assertRegex(client.login(), r"^\+OK")
        client.send("RETR 1")
        self.assertEqual(front.stop(), 0)
        self.assertEqual(front.sessions()[-1]["end"], "drained")
        self.assertEqual(len(front.entries(MAILBOX)), 1)

    def test_in_the_clear_a_session_that_takes_nothing_ends(self):
        self.check_lazy(False)

    def test_under_tls_a_session_that_takes_nothing_ends(self):
        self.check_lazy(True)


if __name__ == "__main__":
    main()
