#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Mailboxes move between nodes while gathers are interrupted, nodes fail, disks die and old copies of stores are put back:
steps by chance, one behind the other, against a list of what each mailbox has to have.

What happens is by DNSBLV6_SEED; tests/campaign-cluster --moves has many of these.
"""

import os
import random
import shutil
import signal
import subprocess
import time

import stored
from harness import DEADLINE_S, SEED, main, program, wait_for
from moving import MovedNodes
from sharing import TEXT, USERS, node_of

STEPS = 40
BOXES = list(USERS)[:4]
# What a gather is ended before.
KINDS = (stored.FIND_ID, stored.DELIVER, stored.ERASE, stored.LIST, stored.SEGMENT)
COPIES = ("forget", "make", "make")  # behind these all is as it should be


class Model(MovedNodes):
    """
    Texts of each mailbox: has are those that were taken and not deleted, may those of which either is right, as a node
    was down or an old copy has brought them back, gone those that never come again.
    """

    def begin_model(self):
        self.chance = random.Random(SEED)
        self.copies = self.chance.choice((1, 2))
        self.expect_log("")
        self.begin_moved(count=3, nodes={"copies": self.copies})
        self.words = {box: 1 for box in USERS}
        self.has, self.may, self.gone = ({box: set() for box in BOXES} for _ in range(3))
        self.unfinished = set()  # mailboxes whose last gather has not come to its end
        self.down = None
        self.count = 0
        self.said = []

    def note(self, text):
        self.said.append(text)

    def node(self):
        return self.chance.choice([node for node in self.cluster.nodes if node is not self.down])

    # ---- mails ----

    def deliver(self):
        boxes = sorted(self.chance.sample(BOXES, self.chance.choice((1, 1, 2, 3))))
        self.count += 1
        text = TEXT + b"%d\r\n" % self.count
        with self.node().stored.client() as client:
            client.send_mail(text, boxes)
            reply = client.take()
        rows = [int.from_bytes(reply.rows[at:at + 4], "big", signed=True) for at in range(0, len(reply.rows), 4)]
        for box, status in zip(boxes, rows or [reply.status] * len(boxes)):
            (self.has if status == 0 else self.may)[box].add(text)
        self.note(f"mail {self.count} for {boxes}: {reply.status} {rows}")

    def delete(self, boxes=BOXES):
        box = self.chance.choice(boxes)
        with self.node().stored.client() as client:
            if client.call(stored.LIST, size=1, name=box.encode()).status != 0:
                return  # its node is down
            mails = self.mails(client, box)
            if not mails:
                return
            mail = self.chance.choice(mails)
            text = self.read(client, mail)
            self.assert_taken(box, [self.read(client, one) for one in mails])
            self.assertEqual(client.erase(box, [mail]), 0)
        self.has[box].discard(text)
        self.may[box].discard(text)
        self.gone[box].add(text)
        self.note(f"deleted {text[len(TEXT):]} of {box} at {node_of(mail)}")

    # ---- where mailboxes are ----

    def move_some(self, boxes=BOXES):
        box, number = self.chance.choice(boxes), self.chance.randint(1, 3)
        if box in self.unfinished:
            # Back where it was, it would show mails that have gone on, and what is deleted of them would come again.
            if self.down is not None:
                return
            self.gather_all(box)
        self.words[box] = number
        self.build({one: f"node={of}" for one, of in self.words.items()})
        for node in self.cluster.nodes:
            if node is not self.down:
                with node.stored.client() as client:
                    self.wait_for_node(client, box, number)
        self.note(f"{box} moves to {number}")

    def run_gather(self, node, boxes, at=None):
        done = subprocess.run([program("mail-store"), "gather", "--store", at or node.stored.socket, *boxes], text=True,
                              capture_output=True, timeout=DEADLINE_S, check=False)
        self.note(f"gather {boxes} at {node.name}: {done.returncode} {done.stdout}{done.stderr}".rstrip())
        self.assertIn(done.returncode, (0, 75))
        return done.returncode, done.stdout + done.stderr

    def gather(self):
        """A part of them is ended before some request; not with a node down, when it may have no connections yet."""
        node, boxes = self.node(), self.chance.sample(BOXES, self.chance.randint(1, 2))
        kind = self.chance.choice((None, *KINDS, *KINDS)) if self.down is None else None
        left = [self.chance.randint(0, 6)]

        def is_last(packet):
            left[0] -= stored.REQUEST.unpack_from(packet)[1] == kind
            return left[0] < 0

        if self.chance.random() < 0.7:
            self.move_some(boxes[:1])
        if kind is None:
            status, _ = self.run_gather(node, boxes)
        else:
            with self.way(node.stored.socket, is_last, clients=3) as at:
                status, _ = self.run_gather(node, boxes, at)
            os.unlink(at)
        if status != 0:
            self.unfinished.update(boxes)
            for _ in range(self.chance.randint(0, 3)):
                self.delete(boxes)

    def kill_gather(self):
        node, boxes = self.node(), self.chance.sample(BOXES, 2)
        with subprocess.Popen([program("mail-store"), "gather", "--store", node.stored.socket, *boxes],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as tool:
            time.sleep(self.chance.uniform(0, 0.1))
            tool.send_signal(signal.SIGKILL)
        self.unfinished.update(boxes)
        self.note(f"gather {boxes} at {node.name} killed")

    def gather_all(self, box):
        """Twice, as the second has to find nothing. The lock of one that was killed may be there yet."""
        node = self.cluster.nodes[0]
        wait_for(lambda: "another gather runs" not in self.run_gather(node, [box])[1], "another gather to end")
        self.assertEqual(self.run_gather(node, [box]), (0, "0 mails brought\n"))
        self.unfinished.discard(box)

    def collect(self):
        node = self.node()
        self.run_tool(node, "collect", "--share", "100")
        self.note(f"collected at {node.name}")

    # ---- failures ----

    def run_copies(self, *verbs):
        at = self.cluster.nodes[0].stored.socket
        for verb in verbs if self.copies == 2 else ():
            if verb == "restore":
                self.allow_copies()
            wait_for(lambda at=at, verb=verb: self.try_copies(at, verb) != 75, "another gather to end")

    def try_copies(self, at, verb):
        """The lock of a gather that was killed may be there yet."""
        done = subprocess.run([program("mail-store"), "copies", "--store", at, "--slack", "0", verb], text=True,
                              capture_output=True, timeout=DEADLINE_S, check=False)
        self.note(f"copies {verb}: {done.returncode} {done.stdout}{done.stderr}".rstrip())
        if done.returncode == 75:
            self.assertIn("another gather runs", done.stderr)
        self.assertIn(done.returncode, (0, 1, 75))
        return done.returncode

    def allow_copies(self):
        """Copies that "forget" has left are of mails from before their store was begun, or put back: deleted or lost?"""
        for number in (1, 2, 3):
            for box, texts in self.list_copied(number, BOXES).items():
                self.may[box] |= self.gone[box] & texts
                self.gone[box] -= texts

    def settle(self):
        for box in BOXES:
            self.gather_all(box)
        self.run_copies(*COPIES)

    def kill(self, node):
        self.down = node
        node.kill()
        for other in self.cluster.nodes:
            if other is not node:
                with other.stored.client() as client:
                    self.wait_until_away(client)
        self.note(f"{node.name} is down")

    def bring_back(self):
        node, self.down = self.down, None
        node.revive()
        for one in self.cluster.nodes:
            with one.stored.client() as client:
                self.wait_for_stores(client)
        self.note(f"{node.name} is back")

    def fail_or_bring_back(self):
        if self.down is not None:
            self.bring_back()
        else:
            self.kill(self.node())

    def look_at_copies(self):
        if self.down is None:
            self.run_copies(self.chance.choice(("make", "forget", "check")))

    def lose_disk(self):
        """
        What has a copy comes back, and nothing that was deleted. A mail whose id a node has for another mailbox has no
        copy there, and is lost.
        """
        if self.copies == 1 or self.down is not None:
            return
        self.settle()
        node = self.node()
        lost = [box for box in BOXES if self.words[box] == node.number]
        copied = self.list_copied(node.number, lost)
        self.kill(node)
        shutil.rmtree(node.stored.directory)
        self.bring_back()
        self.run_copies("restore", "make")
        for box in lost:
            self.may[box] |= self.has[box] - copied[box]
            self.has[box] &= copied[box]

    def list_copied(self, number, boxes):
        """{mailbox: texts}"""
        store = self.cluster.nodes[number % 3].stored.socket + ".store"
        found = {}
        with stored.Client(store) as client:
            for box in boxes:
                found[box] = {self.read(client, mail) for mail in self.mails(client, f"\1{number}/{box}")}
        return found

    def put_old_copy_back(self):
        """What was deleted since then is back, and what came is lost, but where it has a copy."""
        if self.down is not None:
            return
        self.settle()
        node = self.node()
        directory, copy = node.stored.directory, node.stored.directory + "-copy"
        self.kill(node)
        subprocess.run(["cp", "-a", "--", directory, copy], check=True, timeout=DEADLINE_S)
        self.bring_back()
        before = {box: set(texts) for box, texts in self.has.items()}
        for _ in range(8):
            self.chance.choice((self.deliver, self.delete))()
        own = [box for box in BOXES if self.words[box] == node.number]
        copied = self.list_copied(node.number, own)
        self.kill(node)
        shutil.rmtree(directory)
        os.rename(copy, directory)
        self.bring_back()
        self.run_copies("forget", "restore", "make")
        for box in own:
            back = before[box] - self.has[box]
            self.gone[box] -= back
            kept = before[box] | copied[box]
            self.may[box] |= back | self.has[box] - kept
            self.has[box] &= kept

    # ---- what must hold ----

    def assert_taken(self, box, texts):
        self.assertEqual(len(set(texts)), len(texts), f"twice in {box}: {texts}")
        self.assertEqual(self.gone[box] & set(texts), set(), f"deleted from {box}, and back")
        self.assertEqual(set(texts) - self.has[box] - self.may[box], set(), f"never taken for {box}")

    def look(self):
        if self.down is not None:
            self.bring_back()
        with self.cluster.nodes[0].stored.client() as client:
            for box in BOXES:
                self.gather_all(box)
                texts = [self.read(client, mail) for mail in self.mails(client, box)]
                self.assert_taken(box, texts)
                self.assertEqual(self.has[box] - set(texts), set(), f"lost from {box}")

    def test_what_was_taken_is_there_once_and_what_was_deleted_does_not_come_back(self):
        steps = {self.deliver: 8, self.delete: 6, self.move_some: 2, self.gather: 8, self.kill_gather: 2,
                 self.collect: 2, self.fail_or_bring_back: 2, self.look_at_copies: 2, self.lose_disk: 0.5,
                 self.put_old_copy_back: 0.5}
        self.begin_model()
        try:
            for step in self.chance.choices(list(steps), steps.values(), k=STEPS):
                step()
            self.look()
        except BaseException:
            print(f"seed {SEED}, copies {self.copies}:", *self.said, sep="\n    ", flush=True)
            raise


if __name__ == "__main__":
    main()
