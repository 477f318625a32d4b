#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
All at once that a mail server meets: mails for one and for many by SMTP and LMTP, with and without TLS, users that
fetch and delete, clients that say nonsense, stop in the middle or go away, and a postmaster that looks, collects,
reloads and makes new lists of users, while programs are killed. No mail that was acknowledged is lost, none is in
a mailbox twice, in another one, or back after QUIT has deleted it; and no process grows.

DNSBLV6_SECONDS is how long, 9 unless it is set; tests/campaign-mail sets it. In the first third programs are
killed. Processes that are there from the half on to the end may not have more memory then, and at the end
no more descriptors than clients that are there; that is looked at in runs of ten minutes and more.
"""

import collections
import contextlib
import os
import poplib
import random
import re
import signal
import smtplib
import socket
import ssl
import threading
import time

from harness import DEADLINE_S, Case, anonymous_kb, main, wait_for
from hub import HOSTNAME, Hub, descendants, make_certificate

SECONDS = int(os.environ.get("DNSBLV6_SECONDS", "9"))
USERS = [f"user{number}@example.com" for number in range(40)]
PASSWORD = "x"
# The store has a connection of each process of the fronts, of which there are 150, and twice as many behind a reload.
GROWTH_KB, DESCRIPTORS_MAX, GROWTH_FROM_S = 1024, 512, 600
KILL_S = max(0.9, SECONDS / 100)
DONE = ("mails", "maildrops", "bad clients", "kills", "the postmaster's")
# What a client is told in vain, and what it does then is to go away.
FAILURES = (OSError, EOFError, smtplib.SMTPException, poplib.error_proto)


class Ledger:
    """What may be in each mailbox, what has to, and what may not. Threads share it."""

    def __init__(self):
        self.lock = threading.Lock()
        self.sent, self.taken, self.fetched, self.deleted = (collections.defaultdict(set) for _ in range(4))
        self.counts = collections.Counter()
        self.flaws = []

    def add(self, what, boxes, tokens):
        with self.lock:
            for box in boxes:
                what[box].update(tokens)

    def count(self, what):
        with self.lock:
            self.counts[what] += 1

    def look_at(self, box, token):
        """A session has seen it, which no other can delete meanwhile."""
        with self.lock:
            if token not in self.sent[box]:
                self.flaws.append(f"{token} in the mailbox of {box} is not for it")
            if token in self.deleted[box]:
                self.flaws.append(f"{token} of {box} is back")

    def look_at_all(self, box, tokens):
        for token in tokens:
            self.look_at(box, token)
        twice = [token for token, count in collections.Counter(tokens).items() if count > 1]
        lost = self.taken[box] - self.fetched[box] - set(tokens)
        self.flaws += [f"{token} of {box} is there twice" for token in twice]
        self.flaws += [f"{token} of {box} is lost" for token in lost]


class Part(threading.Thread):
    """Calls turn() of a client at random until all ends. error is what ended it early."""

    def __init__(self, turn, seed, is_ending):
        super().__init__(daemon=True)
        self.turn, self.chance, self.is_ending, self.error = turn, random.Random(seed), is_ending, None

    def run(self):
        try:
            while not self.is_ending.wait(self.chance.random() * 0.4):
                with contextlib.suppress(*FAILURES):
                    self.turn(self.chance)
        except Exception as error:  # in a thread: the test looks at it
            self.error = error


def text_of(chance, token):
    """Some are one line, and some hundreds of kilobytes; with lines that begin with a dot."""
    lines = int(min(4000, chance.lognormvariate(4, 1.5)))
    return f"Subject: {token}\r\nX-Token: {token}\r\n\r\n" + ("abcdefgh" * 8 + "\r\n") * lines + ".\r\n..\r\nend\r\n"


def token_in(lines):
    return re.search(rb"X-Token: (\w+)", b"\n".join(lines))[1].decode()


def cut_off(client):
    """With a reset, so that the other side cannot write any more."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    client.close()


class Clients:
    """Those of one hub, and what came of them in the ledger."""

    def __init__(self, hub, lmtp, pop3, pop3s):
        self.hub, self.lmtp_path, self.pop3, self.pop3s = hub, lmtp, pop3, pop3s
        self.ledger = Ledger()
        self.lines = "".join(f"{user} {hub.password(PASSWORD)}\n" for user in USERS)
        hub.make_users(self.lines)

    # ---- senders ----

    def send(self, chance, client, users, others=()):
        token = f"{chance.getrandbits(64):016x}"
        self.ledger.add(self.ledger.sent, users, [token])
        refused = client.sendmail("sender@example.net", [*users, *others], text_of(chance, token))
        self.ledger.add(self.ledger.taken, [user for user in users if user not in refused], [token])
        self.ledger.count("mails")

    def smtp(self, chance):
        with smtplib.SMTP(*self.hub.address, local_hostname="client.example.net", timeout=DEADLINE_S) as client:
            if chance.random() < 0.5:
                client._host = HOSTNAME  # the name that its certificate has to have
                client.starttls(context=ssl.create_default_context(cafile=self.hub.items["certificate"]))
            for _ in range(chance.randint(1, 4)):
                users = chance.sample(USERS, chance.choice([1, 1, 1, 2, 5, 20]))
                self.send(chance, client, users, ["unknown@example.com"] if chance.random() < 0.2 else [])

    def lmtp(self, chance):
        with smtplib.LMTP(self.lmtp_path, local_hostname="client.example.net") as client:
            client.sock.settimeout(DEADLINE_S)
            for _ in range(3):  # for one each: smtplib reads a single reply to a mail
                self.send(chance, client, chance.sample(USERS, 1))

    def bad_smtp(self, chance):
        user = chance.choice(USERS).encode()
        envelope = b"EHLO x\r\nMAIL FROM:<a@b.c>\r\nRCPT TO:<" + user + b">\r\n"
        with socket.create_connection(self.hub.address, timeout=5) as client:
            client.recv(512)
            client.sendall(chance.choice([
                b"", chance.randbytes(3000), b"EHLO x\r\nSTARTTLS\r\n" + chance.randbytes(300),
                envelope + b"DATA\r\nSubject: cut\r\n\r\n" + b"x\r\n" * chance.randrange(5000),
                b"EHLO x\r\n" + b"MAIL FROM:<a@b.c>\r\nRCPT TO:<unknown@example.com>\r\nRSET\r\n" * 30,
                b"EHLO " + b"x" * 100000, envelope + b"BDAT 1000\r\n" + b"y" * 200, envelope]))
            client.recv(4096)
            time.sleep(chance.random())
            if chance.random() < 0.5:
                cut_off(client)
        self.ledger.count("bad clients")

    # ---- users ----

    def login(self, user, is_secure=False):
        client = self.hub.pop3(self.pop3s) if is_secure else poplib.POP3(*self.pop3, timeout=DEADLINE_S)
        try:
            client.user(user)
            client.pass_(PASSWORD)
        except FAILURES:
            client.close()
            raise
        return client

    def fetch(self, chance):
        user = chance.choice(USERS)
        with contextlib.closing(self.login(user, chance.random() < 0.5)) as client:
            gone = []
            for number in range(1, client.stat()[0] + 1):
                if chance.random() < 0.3:
                    continue
                lines = client.top(number, 0)[1] if chance.random() < 0.3 else client.retr(number)[1]
                gone.append(token_in(lines))
                self.ledger.look_at(user, gone[-1])
                client.dele(number)
            if chance.random() < 0.1:
                client.rset()
                return
            self.ledger.add(self.ledger.fetched, [user], gone)
            client.quit()
            self.ledger.add(self.ledger.deleted, [user], gone)
            self.ledger.count("maildrops")

    def bad_pop3(self, chance):
        user = chance.choice(USERS).encode()
        with socket.create_connection(chance.choice([self.pop3, self.pop3s]), timeout=5) as client:
            client.sendall(chance.choice([
                b"", chance.randbytes(2000), b"USER " + user + b"\r\nPASS wrong\r\n",
                b"USER " + user + b"\r\nPASS " + PASSWORD.encode() + b"\r\nSTAT\r\nRETR 1\r\nDELE 1\r\nRETR 2\r\n",
                b"AUTH PLAIN " + b"A" * 5000 + b"\r\n", b"USER x\r\n" * 500,
                b"AUTH SCRAM-SHA-256\r\nbiwsbj11c2VyMUBleGFtcGxlLmNvbSxyPWFiYw==\r\n"]))
            client.recv(512)
            time.sleep(chance.random() / 4)
            if chance.random() < 0.5:
                cut_off(client)
        self.ledger.count("bad clients")

    # ---- the postmaster ----

    def administer(self, chance):
        chance.choice([lambda: self.hub.tool("collect"), lambda: self.hub.tool("ls"), self.hub.reload_as_it_is,
                       lambda: self.hub.make_users(f"{self.lines}more{chance.random()}@example.com\n")])()
        self.ledger.count("the postmaster's")
        time.sleep(1 + chance.random() * 2)

    def login_at_last(self, user):
        """None while the store comes back, or a session that was left has the maildrop."""
        try:
            return self.login(user)
        except FAILURES:
            return None

    def look_at_all(self):
        for user in USERS:
            with contextlib.closing(wait_for(lambda user=user: self.login_at_last(user), "a login")) as client:
                tokens = [token_in(client.top(number, 0)[1]) for number in range(1, client.stat()[0] + 1)]
                client.quit()
            self.ledger.look_at_all(user, tokens)


def sizes(pid):
    """Of each process: memory of its own in kB, and descriptors. Without those that have just ended."""
    found = {}
    for one in [pid, *descendants(pid)]:
        with contextlib.suppress(OSError, StopIteration):
            found[one] = anonymous_kb(one), len(os.listdir(f"/proc/{one}/fd"))
    return found


class HubSoak(Case):
    def kill(self, hub):
        """One of the three programs, in turn; nothing is done before it is back."""
        for name in ("mail-stored", "smtp-front", "pop-front"):
            pid = wait_for(lambda name=name: hub.pid_of(name), f"{name} to be there")
            os.kill(pid, signal.SIGKILL)
            wait_for(lambda name=name, pid=pid: hub.pid_of(name) not in (None, pid), f"{name} to come back")
            yield

    def live(self, hub, clients):
        """The whole time, with kills in its first third. Sizes at its half, and at its end."""
        begun = time.monotonic()
        kills = self.kill(hub)
        while time.monotonic() < begun + SECONDS / 3:
            time.sleep(KILL_S)
            if next(kills, self) is self:
                kills = self.kill(hub)
            clients.ledger.count("kills")
        time.sleep(max(0, begun + SECONDS / 2 - time.monotonic()))
        half = sizes(hub.process.pid)
        time.sleep(max(0, begun + SECONDS - time.monotonic()))
        return half, sizes(hub.process.pid)

    def look_at_growth(self, half, end):
        for pid in half.keys() & end.keys():
            with open(f"/proc/{pid}/comm", encoding="ascii") as file:
                name = file.read().strip()
            (memory, _), (memory_at_end, files) = half[pid], end[pid]
            self.assertLessEqual(memory_at_end - memory, GROWTH_KB, name)
            self.assertLessEqual(files, DESCRIPTORS_MAX, name)

    def test_nothing_is_lost_or_twice_while_all_goes_on_at_once(self):
        self.expect_log("")
        lmtp = self.path("lmtp")
        pop3, pop3s = self.free_address(), self.free_address()
        hub = Hub(self, lmtp=lmtp, plain_logins="yes", **make_certificate(self))
        clients = Clients(hub, lmtp, pop3, pop3s)
        hub.write(pop3=f"{pop3[0]}@{pop3[1]}", pop3s=f"{pop3s[0]}@{pop3s[1]}")
        hub.start()
        is_ending = threading.Event()
        parts = [Part(turn, self.random.random(), is_ending) for turn in (
            *[clients.smtp] * 3, *[clients.bad_smtp] * 2, clients.lmtp, *[clients.fetch] * 2,
            *[clients.bad_pop3] * 2, clients.administer)]
        for part in parts:
            part.start()
        half, end = self.live(hub, clients)
        wait_for(lambda: all(clients.ledger.counts[what] > 0 for what in DONE), "each of them to have done something")
        is_ending.set()
        for part in parts:
            part.join()
        self.assertEqual([part.error for part in parts if part.error is not None], [])
        clients.look_at_all()
        print(", ".join(f"{count} {what}" for what, count in sorted(clients.ledger.counts.items())))
        self.assertEqual(clients.ledger.flaws, [])
        if SECONDS >= GROWTH_FROM_S:
            self.look_at_growth(half, end)
        self.assertEqual(hub.process.stop(), 0)


if __name__ == "__main__":
    main()
