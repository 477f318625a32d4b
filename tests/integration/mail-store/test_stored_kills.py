#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
mail-stored killed at any moment, amid deliveries, deletions and collections, against what its clients
were told: each mail that was acknowledged is read by each recipient exactly once, no deletion that was
acknowledged comes back, and what was not acknowledged is there whole or not at all.

DNSBLV6_ROUNDS sets how often a process is killed.
"""

import errno
import fcntl
import os
import random
import shutil
import signal
import socket
import threading

import stored
from harness import IS_SANITIZED, Case, children_of, main, wait_for
from stored import Stored

ROUNDS = int(os.environ.get("DNSBLV6_ROUNDS", 40 if IS_SANITIZED else 100))
BOXES = [f"user{number}@example.com" for number in range(6)]
CLIENTS = 3
# Of a run over all rounds a store is looked at as a whole, and begun anew, now and then.
FSCK_EACH = 25
# All mails of a store are looked at in each round: after so many there is another store.
ROUNDS_EACH = 100


class Oracle:
    """What clients have been told. A mail is known by its first line, which is its own."""

    def __init__(self):
        self.lock = threading.Lock()
        self.count = 0
        self.touched = set()  # what a client has begun to delete
        self.wanted = {}  # (box, subject): True when it must be there, False when it must not, None: either

    def new(self, boxes):
        with self.lock:
            self.count += 1
            subject = f"mail{self.count}"
            for box in boxes:
                self.wanted[box, subject] = None
            return subject

    def note_delivery(self, boxes, subject):
        """Another client may have deleted it before its sender could say so here."""
        with self.lock:
            for box in boxes:
                if (box, subject) not in self.touched:
                    self.wanted[box, subject] = True

    def note_deletion(self, box, subjects, is_done):
        with self.lock:
            for subject in subjects:
                self.touched.add((box, subject))
                if is_done or self.wanted[box, subject] is not False:
                    self.wanted[box, subject] = False if is_done else None


class Kills(Case):
    def setUp(self):
        super().setUp()
        seed = random.randrange(1 << 32)
        self.random = random.Random(seed)
        self.seed = seed
        self.oracle = Oracle()
        # A process that was killed is made again, and says so.
        self.expect_log("process ended, role=store", "process not started", "store begins anew")
        self.store = Stored(self, stored={"segment-size": "64K", "collect-interval": "100ms",
                                          "index-delay": "20ms"})

    # ---- one client ----

    def deliver(self, client, chance):
        boxes = chance.sample(BOXES, chance.randint(1, len(BOXES)))
        subject = self.oracle.new(boxes)
        size = chance.choice((0, 10, 500, 3000, 20000, 40000))
        client.send_mail(f"{subject} {' '.join(sorted(boxes))}\r\n".encode() + b"x" * size + b"\r\n", boxes)
        status = client.take().status
        if status in stored.SYNCER_GONE:
            raise ConnectionResetError("the process that syncs was killed")
        assert status == 0, status
        self.oracle.note_delivery(boxes, subject)

    def subjects(self, client, box):
        """[(number, subject), ...] as the mailbox has them, each mail read whole."""
        found = [(mail, self.read(client, mail, octets)) for mail, _, octets in client.entries(box)]
        return [(mail, subject) for mail, subject in found if subject is not None]

    def read(self, client, mail, octets):
        reply = client.call(stored.ROW, number=mail)
        if reply.status == stored.EMAIL:
            return None  # another client has deleted it meanwhile
        assert reply.status == 0, reply
        segment, at, size, meta_size = stored.ROW_HEAD.unpack_from(reply.rows)
        reply = client.call(stored.SEGMENT, number=segment)
        if reply.status == -errno.ENOENT:
            return self.read(client, mail, octets)  # it was collected meanwhile
        fd, = reply.fds
        try:
            body = os.pread(fd, size - 104 - meta_size, at + 104 + meta_size)
        finally:
            os.close(fd)
        assert body[octets:].rstrip(b"\0") == b".\r\n", (mail, octets, body[octets:])
        return body.split(b" ", 1)[0].decode()

    def delete(self, client, chance):
        box = chance.choice(BOXES)
        there = self.subjects(client, box)
        chosen = chance.sample(there, min(len(there), chance.randint(1, 20)))
        if not chosen:
            return
        self.oracle.note_deletion(box, [subject for _, subject in chosen], False)
        status = client.erase(box, [mail for mail, _ in chosen])
        if status in stored.SYNCER_GONE:
            raise ConnectionResetError("the process that syncs was killed")
        assert status == 0, status
        self.oracle.note_deletion(box, [subject for _, subject in chosen], True)

    def work(self, seed, is_over):
        """Until it is over: what fails because the daemon was killed was not acknowledged."""
        chance = random.Random(seed)
        while not is_over.is_set():
            try:
                with self.store.client() as client:
                    while not is_over.is_set():
                        (self.deliver if chance.random() < 0.7 else self.delete)(client, chance)
            except OSError:
                is_over.wait(0.01)

    # ---- the rounds ----

    def kill_one(self):
        """The store, the process that syncs for it, or their parent; False when none is there yet."""
        pid = self.store.pid_of("store")
        if pid is None:
            return False
        syncers = children_of(pid)
        dice = self.random.random()
        victim = pid
        if dice < 0.15 and syncers:
            victim = syncers[0]
        elif dice < 0.3:
            victim = self.store.process.pid
        try:
            os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:
            return False
        return True

    def begin_again(self):
        """A parent that lives would wait longer and longer before it makes another store."""
        self.store.process.stop()
        wait_for(self.is_free, "the store to have no process")
        self.store.start()

    def is_free(self):
        """A process that was told to end has its lock and its socket until it does."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as one:
            if one.connect_ex(self.store.socket) == 0:
                return False
        fd = os.open(os.path.join(self.store.directory, "log"), os.O_RDONLY)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            return False
        finally:
            os.close(fd)

    def look(self):
        """Everything that clients were told holds."""
        with self.store.client() as client:
            for box in BOXES:
                subjects = [subject for _, subject in self.subjects(client, box)]
                there = set(subjects)
                self.assertEqual(len(subjects), len(there), f"{box} has a mail twice, seed={self.seed}")
                for (one, subject), state in self.oracle.wanted.items():
                    if one == box and state is not None:
                        self.assertEqual(subject in there, state, f"{box} {subject} seed={self.seed}")

    def round(self):
        is_over = threading.Event()
        errors = []

        def run(seed):
            try:
                self.work(seed, is_over)
            except BaseException as error:  # pylint: disable=broad-except
                errors.append(error)
                is_over.set()

        workers = [threading.Thread(target=run, args=(self.random.random(),)) for _ in range(CLIENTS)]
        for worker in workers:
            worker.start()
        is_over.wait(self.random.uniform(0, 0.15))
        while not is_over.is_set() and not self.kill_one():
            is_over.wait(0.01)
        is_over.set()
        for worker in workers:
            worker.join()
        if errors:
            raise errors[0]
        self.begin_again()

    def test_no_acknowledged_mail_is_lost_or_doubled_and_no_deletion_comes_back(self):
        for number in range(1, ROUNDS + 1):
            self.round()
            self.look()
            if number % FSCK_EACH == 0 or number == ROUNDS:
                self.assertEqual(self.store.stop(), 0)
                self.assertIn(b"0 findings", self.store.fsck())
                if number % ROUNDS_EACH == 0 or number == ROUNDS:
                    delivered = sum(state is True for state in self.oracle.wanted.values())
                    self.assertGreater(delivered, 0)
                    shutil.rmtree(self.store.directory)
                    self.oracle = Oracle()
                self.store.start()


if __name__ == "__main__":
    main()
