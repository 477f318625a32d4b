#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
mail-stored killed at any moment, or its disk cut from power, amid deliveries, deletions and collections, against
what its clients were told: each mail that was acknowledged is read by each recipient exactly once, no deletion
that was acknowledged comes back, and what was not acknowledged is there whole or not at all.

DNSBLV6_ROUNDS sets how often a process is killed, and a disk cut. Power needs root, loop devices and mkfs.xfs.
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
from disks import ClonedDisk
from harness import IS_SANITIZED, Case, children_of, main, wait_for
from stored import Stored

ROUNDS = int(os.environ.get("DNSBLV6_ROUNDS", 40 if IS_SANITIZED else 100))
# A loss of power is a file system that is mounted, and a start.
POWER_ROUNDS = int(os.environ.get("DNSBLV6_ROUNDS", 4 if IS_SANITIZED else 10))
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


class Clients(Case):
    SETTINGS = {"segment-size": "64K", "collect-interval": "100ms", "index-delay": "20ms"}
    store = None

    def setUp(self):
        super().setUp()
        seed = random.randrange(1 << 32)
        self.random = random.Random(seed)
        self.seed = seed
        self.oracle = Oracle()

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

    # ---- all of them ----

    def look(self, store, wanted):
        """Everything that clients were told holds. Returns how many mails are there."""
        count = 0
        with store.client() as client:
            for box in BOXES:
                subjects = [subject for _, subject in self.subjects(client, box)]
                there = set(subjects)
                count += len(there)
                self.assertEqual(len(subjects), len(there), f"{box} has a mail twice, seed={self.seed}")
                for (one, subject), state in wanted.items():
                    if one == box and state is not None:
                        self.assertEqual(subject in there, state, f"{box} {subject} seed={self.seed}")
        return count

    def run_amid(self, act):
        """act(is_over) while clients work, and until it returns."""
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
        try:
            act(is_over)
        finally:
            is_over.set()
            for worker in workers:
                worker.join()
        if errors:
            raise errors[0]


class Kills(Clients):
    def setUp(self):
        super().setUp()
        # A process that was killed is made again, and says so.
        self.expect_log("process ended, role=store", "process not started", "store begins anew")
        self.store = Stored(self, stored=self.SETTINGS)

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

    def kill_amid(self, is_over):
        is_over.wait(self.random.uniform(0, 0.15))
        while not is_over.is_set() and not self.kill_one():
            is_over.wait(0.01)

    def test_no_acknowledged_mail_is_lost_or_doubled_and_no_deletion_comes_back(self):
        for number in range(1, ROUNDS + 1):
            self.run_amid(self.kill_amid)
            self.begin_again()
            self.look(self.store, self.oracle.wanted)
            if number % FSCK_EACH == 0 or number == ROUNDS:
                self.assertEqual(self.store.stop(), 0)
                self.assertIn(b"0 findings", self.store.fsck())
                if number % ROUNDS_EACH == 0 or number == ROUNDS:
                    delivered = sum(state is True for state in self.oracle.wanted.values())
                    self.assertGreater(delivered, 0)
                    shutil.rmtree(self.store.directory)
                    self.oracle = Oracle()
                self.store.start()


class Power(Clients):
    def setUp(self):
        super().setUp()
        self.disk = ClonedDisk(self, self.random.choice(("ext4", "xfs")))
        self.store = Stored(self, directory=os.path.join(self.disk.path, "store"), stored=self.SETTINGS)
        self.addCleanup(self.store.stop)  # before what it writes on is gone

    def test_what_was_not_synced_is_lost(self):
        """Or the next test could not fail."""
        for name in ("synced", "not-synced"):
            with open(os.path.join(self.disk.path, name), "wb") as file:
                file.write(b"x" * 100000)
                if name == "synced":
                    os.fsync(file.fileno())
        with self.disk.after_power_loss() as path:
            sizes = {name: os.path.getsize(os.path.join(path, name))
                     for name in ("synced", "not-synced") if os.path.exists(os.path.join(path, name))}
        self.assertEqual(sizes.get("synced"), 100000)
        self.assertIn(sizes.get("not-synced"), (None, 0))

    def cut_amid(self, is_over):
        """What was acknowledged before holds; what was going on meanwhile may be either."""
        is_over.wait(self.random.uniform(0.05, 0.5))
        with self.oracle.lock:
            wanted = dict(self.oracle.wanted)
        with self.disk.after_power_loss() as path:
            with self.oracle.lock:
                for key in self.oracle.touched:
                    if wanted.get(key):
                        wanted[key] = None
            after = Stored(self, name="after", directory=os.path.join(path, "store"), stored=self.SETTINGS)
            self.found += self.look(after, wanted)
            self.assertEqual(after.stop(), 0)
            self.assertIn(b"0 findings", after.fsck())

    def test_what_was_acknowledged_outlives_a_loss_of_power(self):
        self.found = 0
        for _ in range(POWER_ROUNDS):
            self.run_amid(self.cut_amid)
        self.assertGreater(self.found, 0)


if __name__ == "__main__":
    main()
