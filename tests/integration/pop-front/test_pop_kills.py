#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
pop-front and mail-stored with each of their processes killed at any moment, amid deliveries, retrievals and
deletions, against what clients were told: a mail that was acknowledged is there, whole and under one unique
id, until a QUIT that was answered with +OK has deleted it; then it never comes back. A session that was cut
has deleted nothing when it had not said QUIT, and else all or nothing.

DNSBLV6_SESSIONS sets how many sessions there are.
"""

import contextlib
import os
import random
import signal
import socket
import threading
import time

from harness import DEADLINE_S, IS_SANITIZED, Case, children_of, main, wait_for
from popclient import Client
from popfront import PopFront, make_certificate
from stored import SYNCER_GONE, Stored

SESSIONS = int(os.environ.get("DNSBLV6_SESSIONS", 60))
BOXES = [f"user{number}@example.org" for number in range(6)]
PASSWORD = "Secret4all"
OF_ROUND = 2  # sessions of each mailbox, between two beginnings of the programs
DELIVERERS = 2
SIZES = (0, 30, 900, 6000, 40000, 150000)
ROLES = ("edge", "worker", "checker", "keyholder")
TEMPORARY = ("-ERR [SYS/TEMP]", "-ERR [IN-USE]")


class Cut(Exception):
    """The session ended, or was asked to come again, as it may when a process was killed."""


def text_of(subject):
    """Of a mail called "mail7-900": so many bytes that no other has."""
    size = int(subject.split("-")[1])
    line = f"{subject} " * 8
    return (f"Subject: {subject}\r\n\r\n" + f".{line}\r\n" * (size // (len(line) + 3))).encode()


def syncers_of(store):
    """
    And no other child: when the store process ends by itself, LeakSanitizer looks on from one, and waits without
    end when that is killed.
    """
    for pid in children_of(store):
        with open(f"/proc/{pid}/comm", encoding="ascii") as file:
            if file.read().strip() == "syncer":
                yield pid


class Box:
    """What is known of one mailbox. One client at a time has it open, and any number deliver."""

    def __init__(self, name):
        self.name = name
        self.lock = threading.Lock()
        self.wanted = {}  # subject: True when it must be there, False when it must not, None: either
        self.pending = set()  # deleted by a QUIT that was not answered with +OK
        self.uids = {}  # unique id: subject

    def there(self):
        with self.lock:
            return {subject for subject, state in self.wanted.items() if state}

    def set(self, subjects, state):
        with self.lock:
            for subject in subjects:
                self.wanted[subject] = state

    def note(self, subjects, expected):
        """What a session has found, when these had to be there. Returns what is wrong, or nothing."""
        found = set(subjects)
        if len(found) != len(subjects):
            return "a mail is there twice"
        if self.pending:
            left = self.pending & found
            if left not in (set(), self.pending):
                return f"of {len(self.pending)} mails that one session deleted {len(left)} are left"
            expected = expected - self.pending
            self.set(self.pending - left, False)
            self.pending = set()
        with self.lock:
            back = [subject for subject in found if self.wanted.get(subject, True) is False]
        self.set(found - set(back), True)
        lost = expected - found
        return f"lost {sorted(lost)}, come back {sorted(back)}" if lost or back else ""


class Kills(Case):
    def setUp(self):
        super().setUp()
        self.seed = random.randrange(1 << 32)
        self.chance = random.Random(self.seed)
        self.expect_log("process died", "process ended, role=", "process not started", "store begins anew",
                        "maildrop not opened", "mail not read", "mails not deleted")
        store = Stored(self, stored={"segment-size": "256K", "collect-interval": "100ms", "index-delay": "20ms"})
        self.front = PopFront(self, users={box: PASSWORD for box in BOXES}, certificates=[make_certificate(self)],
                              stored=store, pop={"edges": 2, "workers": 8},
                              login={"timeout": "10s" if IS_SANITIZED else "1s", "checkers": 2}, store={"timeout": "5s"})
        self.boxes = [Box(name) for name in BOXES]
        self.count_lock = threading.Lock()
        self.counts = dict.fromkeys(("delivered", "sessions", "cut", "retrieved", "deleted", "killed"), 0)
        self.is_over = threading.Event()
        self.errors = []

    def count(self, what, number=1):
        with self.count_lock:
            self.counts[what] += number
            return self.counts[what]

    # ---- deliveries ----

    def deliver(self, client, chance):
        boxes = chance.sample(self.boxes, chance.randint(1, 3))
        subject = f"mail{self.count('delivered')}-{chance.choice(SIZES)}"
        for box in boxes:
            box.set([subject], None)
        client.send_mail(text_of(subject), [box.name for box in boxes])
        reply = client.take()
        if reply.status in SYNCER_GONE:
            raise ConnectionResetError("the process that syncs was killed")
        assert reply.status == 0, reply
        for box in boxes:
            with box.lock:
                box.uids[reply.id] = subject
                # A session may have found and deleted it before its sender could say so here.
                if box.wanted[subject] is None and subject not in box.pending:
                    box.wanted[subject] = True

    def deliver_all(self, seed):
        chance = random.Random(seed)
        while not self.is_over.is_set():
            try:
                with self.front.stored.client() as client:
                    while not self.is_over.is_set():
                        self.deliver(client, chance)
                        self.is_over.wait(chance.uniform(0, 0.03))
            except OSError:
                self.is_over.wait(0.02)

    # ---- sessions ----

    def say(self, client, line, start="+OK"):
        said = client.say(line)
        if said.startswith(TEMPORARY):
            raise Cut(said)
        assert said.startswith(start), f"{line}: {said}"
        return said

    def open(self, chance, box):
        is_tls = chance.random() < 0.5
        client = Client(self.front.tls_address if is_tls else self.front.address, is_tls=is_tls)
        try:
            if not is_tls and chance.random() < 0.3:
                client.stls()
            getattr(client, chance.choice(("login", "plain", "scram")))(box.name, PASSWORD)
        except AssertionError as error:
            client.close()
            if any(f"'{word}" in str(error) for word in TEMPORARY):
                raise Cut(str(error)) from None
            raise
        except BaseException:
            client.close()
            raise
        return client

    def try_open(self, box):
        """The same, or None from a server that is asked too much for the time it has."""
        try:
            return self.open(self.chance, box)
        except Cut:
            return None

    def subject_of(self, client, box, number, uid):
        with box.lock:
            known = box.uids.get(uid)
        if known is None:
            self.say(client, f"TOP {number} 0")
            known = client.body().decode().split()[1]
            with box.lock:
                box.uids[uid] = known
        return known

    def look(self, client, box, expected):
        """{number: subject}, with all that was promised."""
        found = {number: self.subject_of(client, box, number, uid) for number, uid in client.uids().items()}
        wrong = box.note(list(found.values()), expected)
        assert not wrong, f"{box.name}: {wrong}, seed={self.seed}"
        return found

    def quit(self, client, box, subjects):
        """What became of them is known when it has said so."""
        with box.lock:
            box.pending = set(subjects)
        self.say(client, "QUIT")
        box.set(subjects, False)
        with box.lock:
            box.pending = set()
        self.count("deleted", len(subjects))

    def session(self, chance, box):
        expected = box.there()
        with self.open(chance, box) as client:
            self.count("sessions")
            found = self.look(client, box, expected)
            for number in chance.sample(sorted(found), min(len(found), 3)):
                self.say(client, f"RETR {number}")
                assert client.body() == text_of(found[number]), f"{found[number]}, seed={self.seed}"
                self.count("retrieved")
            chosen = chance.sample(sorted(found), chance.randint(0, len(found)))
            for number in chosen:
                self.say(client, f"DELE {number}")
            dice = chance.random()
            if dice < 0.15:
                return  # without QUIT
            if dice < 0.3:
                self.say(client, "RSET")
                chosen = []
            self.quit(client, box, [found[number] for number in chosen])

    def fetch(self, box, seed, count):
        chance = random.Random(seed)
        end = time.monotonic() + 3 * DEADLINE_S
        done = 0
        while done < count and not self.errors:
            assert time.monotonic() < end, f"{box.name}: no session has got in, seed={self.seed}"
            try:
                self.session(chance, box)
                done += 1
            except (OSError, EOFError, Cut) as error:
                if not str(error).startswith(TEMPORARY[1]):
                    self.count("cut")
                self.is_over.wait(0.02)

    # ---- rounds ----

    def run_thread(self, work, *arguments):
        def run():
            try:
                work(*arguments)
            except BaseException as error:  # pylint: disable=broad-except
                self.errors.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        return thread

    def kill_one(self):
        """A process of either program that is not a parent of all its others."""
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
            store = self.front.stored.pid_of("store")
            choices = [pid for role in ROLES for pid in self.front.processes()[role][:1]]
            choices += [store, *syncers_of(store)] if store else []
            if choices:
                os.kill(self.chance.choice(choices), signal.SIGKILL)
                self.count("killed")

    def kill_while(self, threads):
        left = 4  # with more, the parents would wait longer and longer before they make another
        while any(thread.is_alive() for thread in threads):
            time.sleep(self.chance.uniform(0.01, 0.2))
            if left > 0:
                left -= 1
                self.kill_one()

    def is_free(self, address):
        family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
        kind = socket.SOCK_SEQPACKET if isinstance(address, str) else socket.SOCK_STREAM
        with socket.socket(family, kind) as one:
            return one.connect_ex(address) != 0

    def begin_again(self, program, process, address):
        """By a kill of the parent, behind which the others end, or as an operator does it."""
        pids = process.children()
        process.stop(self.chance.choice((signal.SIGKILL, signal.SIGTERM)))
        wait_for(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids), "the processes to end")
        wait_for(lambda: self.is_free(address), "the socket to be free")
        program.start()

    def round(self):
        self.is_over.clear()
        deliverers = [self.run_thread(self.deliver_all, self.chance.random()) for _ in range(DELIVERERS)]
        fetchers = [self.run_thread(self.fetch, box, self.chance.random(), OF_ROUND) for box in self.boxes]
        try:
            self.kill_while(fetchers)
            if self.chance.random() < 0.5:
                self.begin_again(self.front.stored, self.front.stored.process, self.front.stored.socket)
        except BaseException as error:  # pylint: disable=broad-except
            self.errors.append(error)
        self.is_over.set()
        for thread in deliverers + fetchers:
            thread.join()
        if self.errors:
            raise self.errors[0]
        self.begin_again(self.front, self.front.process, self.front.address)

    def test_what_clients_were_told_holds(self):
        while self.counts["sessions"] < SESSIONS:
            self.round()
        self.begin_again(self.front.stored, self.front.stored.process, self.front.stored.socket)
        for box in self.boxes:
            expected = box.there()
            with wait_for(lambda box=box: self.try_open(box), "a session at the end") as client:
                found = self.look(client, box, expected)
                for number, subject in found.items():
                    self.assertEqual(client.mail(number), text_of(subject))
                client.say("QUIT", "+OK")
        self.assertEqual(self.front.stored.stop(), 0)
        self.assertIn(b"0 findings", self.front.stored.fsck())
        print(self.counts)
        for what in ("killed", "retrieved", "deleted"):
            self.assertGreater(self.counts[what], 0, what)


if __name__ == "__main__":
    main()
