#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
pop-front when something is wrong: with what clients do, with the mails, with the store, and with its own
processes. What a client was told holds, no other client suffers, and no password is in the log.
"""

import contextlib
import glob
import os
import select
import signal
import socket
import ssl
import threading
import time

import mta
import stored
from harness import DEADLINE_S, IS_SANITIZED, ZONE, Case, anonymous_kb, main, wait_for
from popclient import Client, plain
from popfront import PopFront, make_certificate

JOHN, MARY = "john@example.org", "mary@example.org"
PASSWORDS = {JOHN: "Secret4john", MARY: "Secret4mary"}
MAIL = b"Subject: hello\r\n\r\nOnly this.\r\n"
LISTED, CLEAR = "192.0.2.66", "203.0.113.1"
MEGABYTE = 1 << 20
TEMPORARY = "-ERR [SYS/TEMP]"


class BadCase(Case):
    """One edge and one checker, so that there is one of everything; the log has all levels."""

    def serve_pop(self, pop=(), **sections):
        sections.setdefault("login", {}).setdefault("checkers", 1)
        self.front = PopFront(self, users=PASSWORDS, certificates=[make_certificate(self)],
                              pop={"log-level": "debug", **dict(pop)}, **sections)
        self.addCleanup(self.check_log)
        return self.front

    def check_log(self):
        log = self.front.log()
        for user, password in PASSWORDS.items():
            self.assertNotIn(password, log)
            self.assertNotIn(plain(user, password), log)

    def client(self, user=None, **how):
        """With a user it is logged in."""
        how.setdefault("address", self.front.tls_address if how.get("is_tls") else self.front.address)
        client = Client(**how)
        self.addCleanup(client.close)
        if user is not None:
            client.login(user, PASSWORDS[user])
        return client

    def try_login(self, user, password=None, **how):
        """The answer, and the session is over."""
        with self.client(**how) as client:
            said = client.login(user, password or PASSWORDS[user], "")
            if said.startswith("+OK"):
                client.say("QUIT", "+OK")
            return said

    def wait_for_login(self, user):
        """What ends on the server's side does so a little later than for the client. The session."""

        def look():
            client = self.client()
            if client.login(user, PASSWORDS[user], "").startswith("+OK"):
                return client
            client.close()
            return None

        return wait_for(look, f"a login of {user}")

    def deliver(self, mailbox, *mails):
        for mail in mails:
            self.front.deliver(mailbox, mail)

    def count(self, mailbox):
        return len(self.front.entries(mailbox))

    def end_of_last(self, count):
        return self.front.wait_for_sessions(count)[-1]["end"]

    def kill(self, role):
        """All processes of the role; others are there when this returns."""
        pids = self.front.processes()[role]
        self.expect_log(rf"process died, role={role} ")
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        wait_for(lambda: len([pid for pid in self.front.processes()[role] if pid not in pids]) == len(pids),
                 f"other processes of role {role}")


class Maildrops(BadCase):
    def test_a_maildrop_has_one_session_and_is_free_when_that_has_ended_however(self):
        self.serve_pop()
        self.deliver(JOHN, MAIL)
        ends = {"quit": lambda client: client.say("QUIT", "+OK"), "hangup": lambda client: client.close(),
                "reset": lambda client: client.reset(), "killed": lambda client: self.kill("worker")}
        for how, end in ends.items():
            with self.subTest(how):
                first = self.wait_for_login(JOHN)
                self.assertTrue(self.try_login(JOHN).startswith("-ERR [IN-USE] "))
                self.assertTrue(self.try_login(MARY).startswith("+OK"))
                self.assertEqual(first.mail(1), MAIL)
                end(first)
                with self.wait_for_login(JOHN) as second:
                    self.assertEqual(second.mail(1), MAIL)
                    second.say("QUIT", "+OK")
        self.assertGreaterEqual(self.front.counters()["maildrops-in-use"], len(ends))

    def test_a_session_sees_the_mailbox_as_it_was_when_it_began(self):
        self.serve_pop()
        mails = [b"Subject: %d\r\n\r\nx\r\n" % number for number in range(3)]
        self.deliver(JOHN, *mails)
        client = self.client(JOHN)
        uids = client.uids()
        self.deliver(JOHN, MAIL)
        self.assertEqual(client.say("STAT", "+OK").split()[1], "3")
        self.assertEqual(client.uids(), uids)
        client.say("RETR 4", "-ERR")
        self.front.stored.run_tool("rm", JOHN, uids[2])
        client.say("RETR 2", "-ERR this message has been removed")
        client.say("TOP 2 0", "-ERR this message has been removed")
        self.assertEqual((client.mail(1), client.mail(3)), (mails[0], mails[2]))
        client.say("DELE 2", "+OK")
        client.say("DELE 3", "+OK")
        client.say("QUIT", "+OK")
        with self.client(JOHN) as client:
            self.assertEqual((client.uids()[1], len(client.uids())), (uids[1], 2))
            self.assertEqual((client.mail(1), client.mail(2)), (mails[0], MAIL))

    def test_mails_that_are_gone_count_against_no_client_and_quit_deletes(self):
        self.serve_pop(limits={"errors": 2})
        self.deliver(JOHN, MAIL, MAIL, MAIL)
        client = self.client(JOHN)
        uids = client.uids()
        self.front.stored.run_tool("rm", JOHN, uids[2])
        client.say("DELE 1", "+OK")
        for _ in range(3):
            client.say("RETR 2", "-ERR this message has been removed")
        client.say("QUIT", "+OK")
        self.assertEqual(self.count(JOHN), 1)

    def test_mails_are_read_while_their_segments_are_collected(self):
        store = stored.Stored(self, stored={"segment-size": "64K", "collect-interval": "24h"})
        self.serve_pop(stored=store)
        mails = [b"Subject: %d\r\n\r\n" % number + b"x" * 8000 + b"\r\n" for number in range(60)]
        self.deliver(JOHN, *mails)
        client = self.client(JOHN)
        for number in range(1, 11):
            self.assertEqual(client.mail(number), mails[number - 1])
        with store.client() as other:
            gone = [mail for mail, _, _ in other.entries(JOHN)][1::2]
            self.assertEqual(other.erase(JOHN, gone), 0)
        store.run_tool("collect", "--share", "90")
        with store.client() as other:
            self.assertGreater(other.stat()["reclaimed"], 0)
        for number in range(1, 61):
            if number % 2 == 0:
                client.say(f"RETR {number}", "-ERR this message has been removed")
            else:
                self.assertEqual(client.mail(number), mails[number - 1])
        client.say("QUIT", "+OK")

    def test_nothing_but_quit_deletes(self):
        self.serve_pop(limits={"idle-timeout": "2s"}, pop={"workers": 8, "drain": "100ms"})
        self.deliver(JOHN, MAIL, MAIL)
        ends = {"timeout": self.time_out,
                "hangup": lambda client: client.close(), "reset": lambda client: client.reset(),
                "killed": lambda client: self.kill("worker"),
                "error": lambda client: self.assertTrue(self.is_ended(client, b"x" * 100000 + b"\r\n")),
                "rset": lambda client: (client.say("RSET", "+OK"), client.say("QUIT", "+OK")),
                "reload": lambda client: (self.assertTrue(self.front.reload()), client.expect(TEMPORARY)),
                "stop": lambda client: (self.front.process.send_signal(signal.SIGTERM), client.expect(TEMPORARY))}
        for how, end in ends.items():
            with self.subTest(how):
                client = self.wait_for_login(JOHN)
                client.say("DELE 1", "+OK")
                client.say("DELE 2", "+OK")
                end(client)
                self.assertEqual(self.count(JOHN), 2)
        self.assertEqual(self.front.process.popen.wait(DEADLINE_S), 0)
        self.front.start()
        with self.client(JOHN) as client:
            client.say("DELE 1", "+OK")
            client.say("QUIT", "+OK")
        self.assertEqual(self.count(JOHN), 1)

    def time_out(self, client):
        """And from then on clients have all the time that a machine takes."""
        self.assertTrue(client.is_closed())
        self.assertTrue(self.front.reload(limits={"idle-timeout": "10m"}))
        wait_for(lambda: len(self.front.processes()["worker"]) == 8, "workers of one generation")

    @staticmethod
    def is_ended(client, data):
        with contextlib.suppress(OSError):
            client.send(data)
        with contextlib.suppress(EOFError, ConnectionError):
            while True:
                client.line()
        return True


class Inputs(BadCase):
    COMMANDS = (f"USER {JOHN}\r\nPASS {PASSWORDS[JOHN]}\r\nNOOP\r\nSTAT\r\nUIDL 1\r\nNONSENSE\r\nRETR 1\r\n"
                "DELE 1\r\nRSET\r\nQUIT\r\n").encode()

    def test_commands_may_come_all_at_once_or_byte_by_byte(self):
        self.serve_pop()
        self.deliver(JOHN, MAIL)
        with self.client(JOHN) as client:
            uid = client.uids()[1]
        for is_tls in (False, True):
            for size in (len(self.COMMANDS), 1, 7):
                with self.subTest(is_tls=is_tls, size=size):
                    wait_for(lambda: self.try_login(JOHN).startswith("+OK"), "the maildrop to be free")
                    client = self.client(is_tls=is_tls)
                    for at in range(0, len(self.COMMANDS), size):
                        client.send(self.COMMANDS[at:at + size])
                    for start in ("+OK", "+OK", "+OK", f"+OK 1 {len(MAIL)}", f"+OK 1 {uid}", "-ERR", "+OK"):
                        client.expect(start)
                    self.assertEqual(client.body(), MAIL)
                    for _ in ("DELE", "RSET", "QUIT"):
                        client.expect("+OK")
                    self.assertTrue(client.is_closed())

    def test_commands_behind_stls_are_not_executed(self):
        """CVE-2011-0411: a machine that sits between puts commands before the handshake."""
        self.serve_pop()
        for injected in ("NOOP", f"USER {JOHN}\r\nPASS {PASSWORDS[JOHN]}", f"USER {MARY}", "x", "\0", "\r\n"):
            with self.subTest(injected), self.client() as client:
                client.send(b"STLS\r\n" + injected.encode() + b"\r\n")
                client.expect("-ERR")
                self.assertTrue(client.is_closed())
        self.assertNotIn("logins", self.front.counters())

    def test_commands_behind_the_reply_to_stls_are_no_handshake(self):
        self.serve_pop()
        with self.client() as client:
            client.say("STLS", "+OK")
            client.send(f"USER {JOHN}\r\nPASS {PASSWORDS[JOHN]}\r\nSTAT\r\n".encode())
            with self.assertRaises((EOFError, ConnectionError)):
                client.expect("+OK")
        self.assertEqual(self.end_of_last(1), "tls-failed")

    def test_what_was_said_in_the_clear_does_not_count_under_tls(self):
        self.serve_pop()
        with self.client() as client:
            client.say(f"USER {JOHN}", "+OK")
            client.stls()
            client.say(f"PASS {PASSWORDS[JOHN]}", "-ERR")

    def pour(self, client):
        """Bytes without an end of line, until the other side has had enough."""
        end = time.monotonic() + DEADLINE_S
        with self.assertRaises(OSError):
            while time.monotonic() < end:
                client.send(b"A" * 65536)

    def test_a_line_without_an_end_takes_no_memory(self):
        self.serve_pop()
        for role, user in (("edge", None), ("worker", JOHN)):
            for is_tls in (False, True):
                with self.subTest(role=role, is_tls=is_tls):
                    # The process is at its size when it has had a session.
                    self.wait_for_login(JOHN).close()
                    wait_for(lambda: self.try_login(JOHN).startswith("+OK"), "the maildrop to be free")
                    pids = self.front.processes()[role]
                    before = [anonymous_kb(pid) for pid in pids]
                    self.pour(self.client(user, is_tls=is_tls))
                    self.assertEqual(self.front.processes()[role], pids)
                    for pid, size in zip(pids, before):
                        self.assertLess(0 if IS_SANITIZED else anonymous_kb(pid) - size, 4096)

    def test_proxy_headers_are_believed_from_balancers_alone(self):
        self.serve_pop(pop={"proxy": [f"{self.host}/32"]})
        with self.client(source=self.host, claimed=LISTED) as client:
            client.login(JOHN, PASSWORDS[JOHN])
            client.say("QUIT", "+OK")
        self.assertEqual(self.front.wait_for_sessions(1)[-1]["client"], LISTED)
        with self.client(source=self.host, is_greeted=False) as client:
            client.send(b"CAPA\r\n")
            with self.assertRaises((EOFError, ConnectionError)):
                client.expect("+OK")
        self.assertEqual(self.front.wait_for_sessions(2)[-1]["client"], self.host)
        with self.client(source="127.0.0.9", is_greeted=False) as client:
            client.expect("+OK")
            client.say(f"PROXY TCP4 {LISTED} 198.51.100.25 1 2", "-ERR")
            client.login(JOHN, PASSWORDS[JOHN])
            client.say("QUIT", "+OK")
        self.assertEqual(self.front.wait_for_sessions(3)[-1]["client"], "127.0.0.9")
        self.assertEqual(self.front.counters()["proxy-bad"], 1)

    def test_a_listed_client_is_refused_when_it_logs_in(self):
        authority = mta.Authority(self, [LISTED])
        host, port = authority.address
        self.serve_pop(pop={"proxy": [f"{self.host}/32"]},
                       library={"zones": [ZONE.rstrip(".")], "servers": [f"{host}@{port}"]})
        for way in ("login", "plain", "scram"):
            with self.subTest(way), self.client(source=self.host, claimed=LISTED) as client:
                client.ask("CAPA")
                try:
                    getattr(client, way)(JOHN, PASSWORDS[JOHN], "-ERR [SYS/PERM]")
                except AssertionError as error:
                    self.assertEqual(way, "scram")  # whose first message is refused already
                    self.assertIn("-ERR [SYS/PERM]", str(error))
        self.assertTrue(self.try_login(JOHN, source=self.host, claimed=CLEAR).startswith("+OK"))
        counters = self.front.counters()
        self.assertEqual((counters["listed-refused"], counters["checks"]), (3, 1))


class Slow(BadCase):
    def read_some(self, client):
        """Of a RETR of the large mail, which it reads no further."""
        client.send(b"RETR 1\r\n")
        client.expect("+OK")

    def test_a_client_that_stops_reading_costs_no_memory_and_is_ended(self):
        self.serve_pop(limits={"send-timeout": "2s"}, pop={"workers": 4})
        self.deliver(JOHN, b"Subject: large\r\n\r\n" + (b"x" * 998 + b"\r\n") * (50 * MEGABYTE // 1000 - 1))
        self.deliver(MARY, MAIL)
        for is_tls in (False, True):
            with self.subTest(is_tls=is_tls):
                ended = len(self.front.sessions())
                slow = self.client(JOHN, is_tls=is_tls)
                self.read_some(slow)
                with self.client(MARY) as other:
                    self.assertEqual(other.mail(1), MAIL)
                    other.say("QUIT", "+OK")
                for role in ("edge", "worker"):
                    for pid in self.front.processes()[role]:
                        self.assertLess(0 if IS_SANITIZED else anonymous_kb(pid), 16384, role)
                ends = [session["end"] for session in self.front.wait_for_sessions(ended + 2)[ended:]]
                self.assertEqual(sorted(ends), ["quit", "stuck"])  # on a slow machine the other takes longer
                slow.close()
        with self.wait_for_login(JOHN) as client:
            self.assertEqual(len(client.mail(1)), 18 + 1000 * (50 * MEGABYTE // 1000 - 1))


class Logins(BadCase):
    def test_the_answer_to_a_wrong_password_waits_and_others_do_not(self):
        self.serve_pop({"drain": "100ms"}, login={"delay": "1m"})
        with self.client() as client:
            client.say(f"USER {JOHN}", "+OK")
            client.send(b"PASS wrong\r\n")
            wait_for(lambda: self.front.counters().get("logins-wrong", 0) == 1, "the password to be looked at")
            self.assertTrue(self.try_login(JOHN).startswith("+OK"))
            self.assertEqual(select.select([client.socket], [], [], 0)[0], [])
            # The end of the server is the end of the wait, too.
            self.front.process.send_signal(signal.SIGTERM)
            client.expect("-ERR [AUTH]")
            client.expect("-ERR [SYS/TEMP] Shutting down")

    def test_some_wrong_passwords_end_a_session(self):
        self.serve_pop(login={"failures": 3})
        with self.client() as client:
            for _ in range(3):
                client.login(JOHN, "wrong", "-ERR [AUTH]")
            self.assertTrue(client.is_closed())
        self.assertEqual(self.end_of_last(1), "error")
        with self.client() as client:
            client.plain(JOHN, "wrong", "-ERR [AUTH]")
            client.scram(JOHN, "wrong", "-ERR [AUTH]")
            client.plain(JOHN, PASSWORDS[JOHN])
        self.assertEqual(self.front.counters()["logins-wrong"], 5)

    def test_names_that_are_not_there_are_refused_in_the_same_words(self):
        self.serve_pop()
        for way in ("login", "plain", "scram"):
            answers = []
            for user in (JOHN, "nobody@example.org", "nobody@elsewhere.example", "x"):
                with self.client() as client:
                    answers.append(getattr(client, way)(user, "wrong", "-ERR [AUTH]"))
            self.assertEqual(len(set(answers)), 1, answers)

    def test_a_network_with_too_many_wrong_passwords_is_not_looked_at(self):
        self.serve_pop(login={"failure-rate": 2})
        for _ in range(2):
            self.assertTrue(self.try_login(JOHN, "wrong", source="127.9.1.1").startswith("-ERR [AUTH]"))
        checks = self.front.counters()["checks"]
        for source, password in (("127.9.1.1", PASSWORDS[JOHN]), ("127.9.1.200", "wrong")):
            self.assertTrue(self.try_login(JOHN, password, source=source).startswith(TEMPORARY))
        self.front.wait_for_log(r"login refused, client=127\.9\.1\.\d+ .* reason=limited$", 2)
        self.assertTrue(self.try_login(JOHN, source="127.9.2.1").startswith("+OK"))
        counters = self.front.counters()
        self.assertEqual((counters["logins-limited"], counters["checks"]), (2, checks + 1))

    def flood(self, number, is_over):
        """Wrong logins of names that are not there, as fast as they are refused, each with its hash."""
        while not is_over.is_set():
            with contextlib.suppress(OSError, EOFError), \
                    Client(self.front.address, source=f"127.9.{number}.{number + 1}") as client:
                while not is_over.is_set():
                    client.login(f"user{number}@example.org", "wrong", "-ERR")

    def test_a_flood_of_wrong_logins_keeps_no_user_out(self):
        self.serve_pop()
        self.deliver(JOHN, MAIL)
        self.deliver(MARY, MAIL)
        inside = self.client(MARY)
        is_over = threading.Event()
        threads = [threading.Thread(target=self.flood, args=(number, is_over)) for number in range(40)]
        for thread in threads:
            thread.start()
        try:
            wait_for(lambda: self.front.counters().get("logins-wrong", 0) > 20, "the flood")
            for _ in range(3):
                before = self.front.counters()["logins-wrong"]
                with self.client(JOHN, source="127.8.1.1") as client:
                    self.assertEqual(client.mail(1), MAIL)
                    client.say("QUIT", "+OK")
                self.assertEqual(inside.mail(1), MAIL)
                wait_for(lambda: self.front.counters()["logins-wrong"] > before, "the flood to go on")
        finally:
            is_over.set()
            for thread in threads:
                thread.join()
        inside.say("QUIT", "+OK")

    def test_a_new_list_of_users_counts_at_once(self):
        self.serve_pop()
        for _ in range(2):
            self.assertTrue(self.try_login(JOHN).startswith("+OK"))
        self.assertEqual(self.front.counters()["checks-cached"], 1)
        self.front.build_users({JOHN: "Another4john", MARY: PASSWORDS[MARY]})
        self.assertTrue(self.try_login(JOHN).startswith("-ERR [AUTH]"))
        self.assertTrue(self.try_login(JOHN, "Another4john").startswith("+OK"))
        with self.client() as client:
            client.scram(JOHN, PASSWORDS[JOHN], "-ERR [AUTH]")
            client.scram(JOHN, "Another4john")
            client.say("QUIT", "+OK")
        self.front.build_users({MARY: PASSWORDS[MARY]})
        self.assertTrue(self.try_login(JOHN, "Another4john").startswith("-ERR [AUTH]"))
        self.assertTrue(self.try_login(MARY).startswith("+OK"))
        os.unlink(self.front.users_path + "-lock")  # by someone who tidies up
        self.front.build_users({JOHN: "Another4john"})
        self.assertTrue(self.try_login(JOHN, "Another4john").startswith("+OK"))
        self.assertTrue(self.try_login(MARY).startswith("-ERR [AUTH]"))
        self.assertNotIn("Another4john", self.front.log())


class Processes(BadCase):
    def stop_all(self, role):
        """They take no message until they are let go on."""
        pids = self.front.processes()[role]
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)

        def go_on():
            while pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pids.pop(), signal.SIGCONT)

        self.addCleanup(go_on)
        return go_on

    def settle(self):
        """The edge has taken what clients had sent before: its loop has come round since."""
        with self.client() as client:
            client.ask("CAPA")
            client.ask("CAPA")

    def begin_login(self, user, password, **how):
        client = self.client(**how)
        client.say(f"USER {user}", "+OK")
        client.send(f"PASS {password}\r\n".encode())
        return client

    def test_an_answer_to_an_edge_that_died_is_none_for_a_session_of_the_next(self):
        self.serve_pop()
        self.deliver(JOHN, MAIL)
        go_on = self.stop_all("checker")
        first = self.begin_login(JOHN, PASSWORDS[JOHN])
        self.settle()
        self.kill("edge")
        with self.assertRaises((EOFError, ConnectionError)):
            first.expect("")
        second = self.begin_login(MARY, "wrong")
        self.settle()
        go_on()
        second.expect("-ERR [AUTH]")
        second.login(MARY, PASSWORDS[MARY])
        second.say("STAT", "+OK 0 0")
        second.say("QUIT", "+OK")
        self.assertTrue(self.try_login(MARY).startswith("+OK"))

    def test_checkers_that_are_killed_lose_the_logins_in_their_hands_alone(self):
        self.serve_pop(login={"timeout": "2s", "checkers": 2})
        lost = []
        for _ in range(3):
            go_on = self.stop_all("checker")
            lost += [self.begin_login(user, password) for user, password in PASSWORDS.items()]
            self.kill("checker")
            go_on()
        for client in lost:
            said = client.expect("")
            self.assertTrue(said.startswith(("+OK", "-ERR [IN-USE]", TEMPORARY)), said)
            client.close()
        for user in (JOHN, MARY):
            self.wait_for_login(user).say("QUIT", "+OK")

    def test_a_login_that_no_checker_answers_is_told_to_come_again(self):
        self.serve_pop(login={"timeout": "300ms"})
        go_on = self.stop_all("checker")
        client = self.begin_login(JOHN, PASSWORDS[JOHN])
        client.expect(TEMPORARY)
        self.assertTrue(client.is_closed())
        go_on()
        self.wait_for_login(JOHN)

    def secured(self):
        """A client behind its handshake; None when there is no key for that yet."""
        with contextlib.suppress(ssl.SSLError, ConnectionError):
            return self.client(is_tls=True)
        return None

    def test_others_come_for_processes_that_are_killed(self):
        # An edge has little patience with a keyholder that has just begun.
        self.expect_log(r"handshake not signed, .* \(the keyholder does not answer\)$")
        self.serve_pop()
        self.deliver(JOHN, MAIL)
        for role in ("edge", "worker", "checker", "keyholder"):
            with self.subTest(role):
                inside = self.client(MARY) if role in ("checker", "keyholder") else None
                self.kill(role)
                with self.wait_for_login(JOHN) as client:
                    self.assertEqual(client.mail(1), MAIL)
                    client.say("QUIT", "+OK")
                with wait_for(self.secured, "a handshake") as client:
                    client.login(JOHN, PASSWORDS[JOHN])
                    self.assertEqual(client.mail(1), MAIL)
                    client.say("QUIT", "+OK")
                if inside:
                    inside.say("QUIT", "+OK")
        counters = self.front.counters()
        self.assertEqual([counters[f"{role}-restarts"] for role in ("edge", "checker", "keyholder")], [1, 1, 1])
        self.assertEqual(counters["worker-restarts"], 4)

    def test_sessions_outlive_the_edge_that_handed_them_over(self):
        self.serve_pop()
        self.deliver(JOHN, MAIL)
        client = self.client(JOHN)
        self.kill("edge")
        self.assertEqual(client.mail(1), MAIL)
        client.say("QUIT", "+OK")

    def test_without_a_store_users_are_asked_to_come_again(self):
        self.expect_log("maildrop not opened", "mail not read", "mails not deleted")
        front = self.serve_pop()
        self.deliver(JOHN, MAIL)
        inside = self.client(JOHN)
        self.assertEqual(front.stored.stop(), 0)
        self.assertTrue(self.try_login(MARY).startswith(TEMPORARY))
        inside.say("RETR 1", TEMPORARY)
        inside.say("DELE 1", "+OK")
        inside.say("QUIT", TEMPORARY)
        front.stored.start()
        self.assertEqual(self.count(JOHN), 1)
        for user in (JOHN, MARY):
            self.assertTrue(self.try_login(user).startswith("+OK"))

    def test_a_store_that_was_killed_amid_a_session_deletes_all_or_nothing_of_it(self):
        self.expect_log("maildrop not opened", "mail not read", "mails not deleted", "process ended, role=store")
        front = self.serve_pop()
        self.deliver(JOHN, MAIL, MAIL)
        inside = self.client(JOHN)
        os.kill(front.stored.pid_of("store"), signal.SIGKILL)
        inside.say("DELE 1", "+OK")
        inside.say("QUIT", TEMPORARY)
        wait_for(lambda: self.try_login(JOHN).startswith("+OK"), "another store")
        self.assertEqual(self.count(JOHN), 2)

    def capabilities(self):
        with self.client() as client:
            return client.ask("CAPA")

    def test_a_good_configuration_is_taken_and_a_bad_one_is_not(self):
        front = self.serve_pop(pop={"drain": "1m"})
        self.deliver(JOHN, MAIL)
        inside = self.client(JOHN)
        self.expect_log("not reloaded", "not opened, users=", r"pop\.conf")
        self.assertFalse(front.reload(login={"users": self.path("absent.mdb")}))
        self.assertTrue(self.try_login(MARY).startswith("+OK"))
        self.assertFalse(front.reload(login={"users": front.users_path, "mechanisms": ["digest-md5"]}))
        self.assertTrue(self.try_login(MARY).startswith("+OK"))
        self.assertTrue(front.reload(login={"mechanisms": ["plain"]}))
        # The old generation's edge may take some more clients before it hears of it.
        wait_for(lambda: "SASL PLAIN" in self.capabilities(), "the new generation")
        with self.client() as client:
            self.assertIn("SASL PLAIN", client.ask("CAPA"))
            client.say(f"USER {MARY}", "-ERR")
            client.plain(MARY, PASSWORDS[MARY])
            client.say("QUIT", "+OK")
        # The old generation has this one still, and its maildrop.
        self.assertEqual(inside.mail(1), MAIL)
        inside.say("QUIT", "+OK")

    def is_listening(self):
        with socket.socket() as probe:
            return probe.connect_ex(self.front.address) == 0

    def test_sessions_that_are_logged_in_end_their_work_before_the_server_does(self):
        front = self.serve_pop(pop={"drain": "1m"})
        self.deliver(JOHN, MAIL, MAIL)
        self.deliver(MARY, MAIL)
        clear, secure, outside = self.client(JOHN), self.client(MARY, is_tls=True), self.client()
        front.process.send_signal(signal.SIGTERM)
        wait_for(lambda: not self.is_listening(), "the sockets to be closed")
        outside.say("NOOP", "-ERR")
        outside.close()
        self.assertEqual(clear.mail(2), MAIL)
        self.assertEqual(secure.mail(1), MAIL)
        for client in (clear, secure):
            client.say("DELE 1", "+OK")
            client.say("QUIT", "+OK")
        self.assertEqual(front.process.popen.wait(DEADLINE_S), 0)
        self.assertEqual((self.count(JOHN), self.count(MARY)), (1, 0))


class Damage(BadCase):
    LARGE = b"Subject: large\r\n\r\n" + b"".join(b"line %d\r\n" % i for i in range(60000)) + b"behind it\r\n"

    def flip(self, text):
        """A bit of the one place in the log that has this text."""
        for path in sorted(glob.glob(os.path.join(self.front.stored.directory, "log/*"))):
            with open(path, "r+b") as file:
                at = file.read().find(text)
                if at >= 0:
                    file.seek(at)
                    file.write(bytes([text[0] ^ 1]))
                    return
        raise AssertionError(f"{text!r} is nowhere in the log")

    def test_a_damaged_mail_is_not_passed_off_as_whole_and_not_deleted(self):
        self.expect_log("mail is damaged")
        self.serve_pop()
        self.deliver(JOHN, MAIL, self.LARGE, b"Subject: fine\r\n\r\nx\r\n")
        self.flip(b"Only this.")
        self.flip(b"behind it")
        for is_tls in (False, True):
            with self.subTest(is_tls=is_tls):
                client = self.wait_for_login(JOHN)
                client.close()
                wait_for(lambda: self.try_login(JOHN).startswith("+OK"), "the maildrop to be free")
                client = self.client(JOHN, is_tls=is_tls)
                client.say("RETR 1", "-ERR [SYS/PERM] The message is damaged")
                self.assertEqual(client.mail(3), b"Subject: fine\r\n\r\nx\r\n")
                client.say("RETR 2", "+OK")
                with self.assertRaises((EOFError, ConnectionError)):
                    client.body()
                self.assertFalse(client.unread.endswith(b"\r\n.\r\n"))
                self.assertEqual(self.count(JOHN), 3)
        # How many looked whether the maildrop was free, is the machine's affair.
        wait_for(lambda: [session["end"] for session in self.front.sessions()].count("damaged") == 2,
                 "both sessions to be logged")
        self.assertEqual(self.front.counters()["mails-damaged"], 4)


if __name__ == "__main__":
    main()
