#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
A mail that was answered with 250 is in the sink, exactly once, whoever is killed meanwhile: an
edge, a worker or the next hop, one of them after the other. None is mixed with another.

Clients here never send a mail again, so each is there once or not at all. Two thousand sessions in
./check; by hand DNSBLV6_SESSIONS is how many, and DNSBLV6_KILL_EVERY seconds from one to the next.
"""

import collections
import concurrent.futures
import itertools
import os
import re
import signal
import socket
import sys
import threading

from front import RECIPIENT, Client, Front
from harness import DEADLINE_S, SOURCE, Case, main, wait_for

SESSIONS = int(os.environ.get("DNSBLV6_SESSIONS", "2000"))
CLIENTS = 20
KILL_EVERY_S = float(os.environ.get("DNSBLV6_KILL_EVERY", "0.25"))  # of what is tested


class Killed(Case):
    def setUp(self):
        super().setUp()
        self.kept = self.path("kept")
        self.hop_address = self.free_address()
        self.numbers = itertools.count(1)
        self.sent, self.answered = set(), set()
        self.is_over = threading.Event()
        self.kills = collections.Counter()

    def start_hop(self):
        self.hop = self.start([sys.executable,
                               os.path.join(SOURCE, "tests/integration/front_hop.py"),
                               self.hop_address[0], str(self.hop_address[1]), self.kept], "hop")

        def is_listening():
            try:
                socket.create_connection(self.hop_address, timeout=DEADLINE_S).close()
            except OSError:
                return False
            return True

        wait_for(is_listening, "the next hop to listen")

    # ---- clients ----

    def send_mail(self, client, number):
        """One mail that is like no other; True when it was answered with 250."""
        steps = (f"MAIL FROM:<s{number}@example.net>", f"RCPT TO:<{RECIPIENT}>", "DATA")
        for step in steps:
            code, _ = client.say(step)
            if code >= 400:
                client.say("RSET")
                return False
        self.sent.add(number)
        client.send(f"Subject: n{number}\r\n\r\n".encode() + f"<{number}>\r\n".encode() * 200
                    + b".\r\n")
        return client.reply()[0] == 250

    def session(self, count):
        """So many mails, as far as it is let."""
        try:
            with Client(self.front.address) as client:
                client.hello()
                for _ in range(count):
                    number = next(self.numbers)
                    if self.send_mail(client, number):
                        self.answered.add(number)
                client.say("QUIT", 221)
        except (OSError, EOFError, AssertionError):
            return False  # somebody was killed
        return True

    # ---- the one who kills ----

    def kill_one(self):
        role = self.random.choice(("edge", "worker", "hop"))
        if role == "hop":
            self.hop.popen.kill()
            self.hop.popen.wait()
            self.start_hop()
        else:
            pids = self.front.processes()[role]
            if not pids:
                return
            os.kill(self.random.choice(pids), signal.SIGKILL)
        self.kills[role] += 1

    def kill_some(self):
        while not self.is_over.wait(KILL_EVERY_S):
            try:
                self.kill_one()
            except ProcessLookupError:
                pass  # a worker that has just retired

    # ---- what has become of the mails ----

    def check_kept(self):
        """Numbers of the mails that the next hop has, each as it was sent."""
        numbers = []
        directory = os.path.join(self.kept, "new")
        for name in os.listdir(directory):
            with open(os.path.join(directory, name), "rb") as file:
                text = file.read().decode()
            number = int(re.match(r"MAIL FROM:<s(\d+)@example\.net>\r\n", text)[1])
            self.assertRegex(text, rf"\r\nSubject: n{number}\r\n\r\n(?:<{number}>\r\n){{200}}\Z")
            self.assertEqual(re.findall(r"^RCPT TO:<(.*)>", text, re.MULTILINE), [RECIPIENT])
            numbers.append(number)
        return numbers

    def test_mails_answered_are_kept(self):
        self.start_hop()
        self.front = Front(self, front={"edges": 2, "workers": 10, "mails-per-worker": 50},
                           sink={"kind": "smtp", "timeout": "10s",
                                 "to": f"{self.hop_address[0]}@{self.hop_address[1]}"})
        killer = threading.Thread(target=self.kill_some)
        killer.start()
        try:
            with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
                whole = sum(pool.map(self.session, [1 + number % 3 for number in range(SESSIONS)]))
        finally:
            self.is_over.set()
            killer.join()
        kept = self.check_kept()
        print(f"{SESSIONS} sessions, {whole} of them whole; {len(self.sent)} mails,"
              f" {len(self.answered)} answered with 250, {len(kept)} kept; killed:"
              f" {dict(self.kills)}", file=sys.stderr)
        self.assertEqual(len(kept), len(set(kept)), "a mail is there twice")
        self.assertEqual(self.answered - set(kept), set(), "a mail is lost")
        self.assertEqual(set(kept) - self.sent, set(), "a mail that nobody has sent")
        self.assertGreater(whole, SESSIONS // 2)
        with self.front.client() as client:
            client.hello()
            self.assertTrue(wait_for(lambda: self.send_mail(client, next(self.numbers)), "a mail"))
            client.say("QUIT", 221)


if __name__ == "__main__":
    main()
