#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Second copies on the next node, without a file system between nodes: they come and go with their mails, keep no
mail back, and give a node whose disk has died its mails back.
"""

import contextlib
import os
import pwd
import re
import shutil
import signal
import struct
import subprocess
import time

import stored
from harness import DEADLINE_S, EX_DATAERR, EX_TEMPFAIL, main, program, wait_for
from sharing import EAWAY, TEXT, USERS, Nodes


class Copies(Nodes):
    """Each mail is on two nodes, and a mailbox of the second has the copy, which no client sees."""

    def begin(self, **how):
        # What is left of a mail that was deleted is collected when a test says so.
        return super().begin(**{**how, "stored": {"collect-interval": "24h", **how.get("stored", {})}})

    def copies(self, box):
        """[(number of the node, [id, ...]), ...] of stores that have copies of a mailbox."""
        found = []
        for node in self.cluster.nodes:
            for number in (1, 2, 3):
                idents = self.copies_at(node, f"\1{number}/{box}")
                if idents:
                    found.append((number, node.number, idents))
        return found

    @staticmethod
    def copies_at(node, box):
        with stored.Client(node.stored.socket + ".store") as client:
            return [ident for _, ident, _ in client.entries(box)]

    def test_the_next_node_has_each_mail_too_until_it_is_deleted(self):
        self.begin(nodes={"copies": 2})
        client = self.client(self.cluster.nodes[0])
        boxes = self.boxes_by_node(client)
        for number, (box, *_) in boxes.items():
            idents = [client.deliver(TEXT, [box]) for _ in range(3)]
            self.assertEqual([ident for _, ident, _ in client.entries(box)], idents)
            self.assertEqual(self.copies(box), [(number, number % 3 + 1, idents)])
            mails = [mail for mail, _, _ in client.entries(box)]
            self.assertEqual(client.erase(box, mails[1:]), 0)
            wait_for(lambda box=box, idents=idents: self.copies(box)[0][2] == idents[:1], "copies to go")
        mixed = [some[1] for some in boxes.values()]
        ident = client.deliver(TEXT, mixed)
        for number, (_, box, *_) in boxes.items():
            self.assertEqual([one for _, one, _ in client.entries(box)], [ident])
            self.assertEqual(self.copies(box), [(number, number % 3 + 1, [ident])])
        reply = client.call(stored.BOXES)
        self.assertNotIn(b"\1", re.findall(rb"[\x01]\d/", client.rows(reply)))

    def test_copies_go_from_any_place_of_a_long_mailbox(self):
        self.begin(nodes={"copies": 2})
        client = self.client(self.cluster.nodes[0])
        box = self.boxes_by_node(client)[2][0]
        many = 1100  # more than a piece of the list
        for _ in range(many // 50):
            for _ in range(50):
                client.send_mail(TEXT, [box])
            self.assertEqual({client.take().status for _ in range(50)}, {0})
        entries = client.entries(box)
        self.assertEqual(len(entries), many)
        gone = [entries[at] for at in (0, 500, many - 1)]
        self.assertEqual(client.erase(box, [mail for mail, _, _ in gone]), 0)
        expected = {ident for _, ident, _ in entries} - {ident for _, ident, _ in gone}
        wait_for(lambda: set(self.copies(box)[0][2]) == expected, "copies to go")

    @contextlib.contextmanager
    def damage(self, client, mail):
        """A byte of its body is another while this lasts."""
        segment, at, _, meta_size = struct.unpack_from(">QQQI", client.call(stored.ROW, number=mail).rows)
        fd, = client.call(stored.SEGMENT, number=segment).fds
        with open(f"/proc/self/fd/{fd}", "r+b", buffering=0) as file:
            os.close(fd)
            place = at + 104 + meta_size
            byte = os.pread(file.fileno(), 1, place)
            os.pwrite(file.fileno(), bytes([byte[0] ^ 1]), place)
            yield
            os.pwrite(file.fileno(), byte, place)

    def run_copies(self, verb, status=0, said=r"^$", at=None, more=()):
        """Numbers that mail-store copies prints, in its order."""
        at = at or self.cluster.nodes[0].stored.socket
        result = subprocess.run([program("mail-store"), "copies", "--store", at, verb, *more],
                                capture_output=True, text=True, timeout=DEADLINE_S, check=False)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        self.assertRegex(result.stderr, said)
        return [int(number) for number in re.findall(r"\d+", result.stdout)]

    def test_a_node_whose_disk_has_died_gets_its_mails_back_from_copies(self):
        nodes = self.begin(nodes={"copies": 2})
        self.expect_log("")
        client = self.client(nodes[0])
        boxes = self.boxes_by_node(client)
        large = b"x" * 200000 + b"\nlone line ends\n"
        idents = {box: [client.deliver(text, [box]) for text in (TEXT, large)] for box in USERS}
        count = 2 * len(USERS)
        self.assertEqual(self.run_copies("check"), [len(USERS), count, *[0] * 8])
        self.lose_store(nodes[1], client)
        lost, copied = 2 * len(boxes[2]), 2 * len(boxes[1])
        self.assertEqual(self.run_copies("check", 1)[2:4], [copied, lost])
        self.assertEqual(self.run_copies("forget")[6], 0)
        self.assertEqual(self.run_copies("restore")[3:5], [lost, lost])
        damaged, _ = client.entries(boxes[1][0])[0][:2]
        with self.damage(client, damaged):
            self.assertEqual(self.run_copies("make", EX_DATAERR, rf"id={idents[boxes[1][0]][0]} \(")[2:5],
                             [copied, 0, copied - 1])
        self.assertEqual(self.run_copies("make")[2:5], [1, 0, 1])
        self.assertEqual(self.run_copies("check"), [len(USERS), count, *[0] * 8])
        for box in USERS:
            entries = client.entries(box)
            self.assertEqual({ident for _, ident, _ in entries}, set(idents[box]))
            bodies = {self.read(client, mail).replace(b"\r\n", b"\n") for mail, _, _ in entries}
            self.assertEqual(bodies, {TEXT.replace(b"\r\n", b"\n"), large})

    def test_a_mail_for_several_mailboxes_comes_back_for_all_of_them(self):
        nodes = self.begin(nodes={"copies": 2})
        self.expect_log("")
        client = self.client(nodes[0])
        boxes = self.boxes_by_node(client)
        here, deleted, *lost = boxes[1][0], *boxes[2][:3]
        self.assertEqual(len(lost), 2)
        ident = client.deliver(TEXT, [here, deleted, *lost])
        self.assertEqual(client.erase(deleted, [client.entries(deleted)[0][0]]), 0)
        wait_for(lambda: self.copies(deleted) == [], "the copy to go")
        self.lose_store(nodes[1], client)
        self.assertEqual(self.run_copies("restore")[3:7], [1, 2, 0, 0])
        self.assertEqual([[one for _, one, _ in client.entries(box)] for box in (deleted, *lost)],
                         [[], [ident], [ident]])

    def test_mailboxes_that_come_back_with_a_mail_of_another_get_their_own_too(self):
        nodes = self.begin(nodes={"copies": 2})
        self.expect_log("")
        client = self.client(nodes[0])
        lost = self.boxes_by_node(client)[2][:2]
        both = client.deliver(TEXT, lost)
        own = [client.deliver(TEXT, [box]) for box in lost]
        self.lose_store(nodes[1], client)
        self.assertEqual(self.run_copies("restore")[4], 4)
        self.assertEqual([sorted(one for _, one, _ in client.entries(box)) for box in lost],
                         [sorted((both, ident)) for ident in own])

    def test_a_mail_for_several_mailboxes_is_copied_for_all_of_them(self):
        nodes = self.begin(nodes={"copies": 2})
        self.expect_log("")
        client = self.client(nodes[0])
        deleted, *boxes = self.boxes_by_node(client)[2][:3]
        ident = client.deliver(TEXT, [deleted, *boxes])
        self.assertEqual(client.erase(deleted, [client.entries(deleted)[0][0]]), 0)
        wait_for(lambda: self.copies(deleted) == [], "the copy to go")
        self.lose_store(nodes[2], client)
        self.assertEqual(self.run_copies("make")[4:6], [2, 0])
        self.assertEqual([self.copies(box) for box in (deleted, *boxes)], [[], *[[(2, 3, [ident])]] * 2])

    def test_a_mail_whose_id_a_copy_has_taken_comes_back_under_another(self):
        nodes = self.begin(nodes={"copies": 2})
        self.expect_log("")
        client = self.client(nodes[0])
        boxes = self.boxes_by_node(client)
        here, lost = boxes[1][0], boxes[2][:2]
        ident = client.deliver(TEXT, [here, *lost])
        self.lose_store(nodes[1], client)
        self.assertEqual(self.run_copies("make")[4], 1)
        self.assertEqual(self.copies(here), [(1, 2, [ident])])
        self.assertEqual(self.run_copies("restore")[3:7], [2, 2, 0, 2])
        for box in lost:
            (mail, again, _), = client.entries(box)
            self.assertEqual(self.read(client, mail), TEXT)
            self.assertEqual(self.copies(box), [(2, 3, [again])])
        self.assertEqual(self.run_copies("check")[2:4], [0, 0])

    def test_a_mail_that_came_back_under_another_id_comes_once_when_that_was_interrupted(self):
        nodes = self.begin(nodes={"copies": 2})
        self.expect_log("")
        client = self.client(nodes[0])
        boxes = self.boxes_by_node(client)
        here, lost = boxes[1][0], boxes[2][:2]
        client.deliver(TEXT, [here, *lost])
        self.lose_store(nodes[1], client)
        self.assertEqual(self.run_copies("make")[4], 1)

        def is_last(packet):
            return stored.REQUEST.unpack_from(packet)[1] == stored.ERASE
        with self.way(nodes[0].stored.socket, is_last, clients=2) as place:
            self.run_copies("restore", EX_TEMPFAIL, "^error: ", place)
        self.assertEqual(sorted(len(client.entries(box)) for box in lost), [0, 1])
        self.assertEqual(self.run_copies("restore")[3:7], [2, 1, 0, 2])
        self.assertEqual([len(client.entries(box)) for box in lost], [1, 1])
        self.assertEqual(self.run_copies("check")[2:4], [0, 0])

    def test_one_that_restores_or_gathers_at_a_time_brings_no_mail_twice(self):
        nodes = self.begin(nodes={"copies": 2})
        self.expect_log("")
        client = self.client(nodes[0])
        box = self.boxes_by_node(client)[2][0]
        idents = [client.deliver(TEXT, [box]) for _ in range(3)]
        self.lose_store(nodes[1], client)
        others = []

        def restore_before_the_first(packet):
            if stored.REQUEST.unpack_from(packet)[1] == stored.DELIVER and not others:
                for words in (("copies", "restore"), ("copies", "make"), ("copies", "forget"), ("copies", "check"),
                              ("gather", box)):
                    others.append(subprocess.run([program("mail-store"), words[0], "--store", nodes[2].stored.socket, *words[1:]],
                                                 capture_output=True, text=True, timeout=DEADLINE_S, check=False))

        with self.way(nodes[0].stored.socket, restore_before_the_first, clients=2) as at:
            self.assertEqual(self.run_copies("restore", at=at)[3:5], [3, 3])
        self.assertEqual([ident for _, ident, _ in client.entries(box)], idents)
        self.assertEqual([other.returncode for other in others], [EX_TEMPFAIL] * 3 + [1, EX_TEMPFAIL])
        self.assertEqual({other.stderr for other in others},
                         {"", f"error: another gather runs, or copies, store={nodes[2].stored.socket}\n"})

    def test_one_whose_lock_is_lost_stops_and_brings_no_mail_twice(self):
        nodes = self.begin(nodes={"copies": 2})
        self.expect_log("")
        client = self.client(nodes[0])
        box = self.boxes_by_node(client)[2][0]
        idents = [client.deliver(TEXT, [box]) for _ in range(3)]
        self.lose_store(nodes[1], client)
        keeper = nodes[client.call(stored.LOCATE, name=b"\1gather").number - 1]
        others = []

        def restore_another():
            return subprocess.run([program("mail-store"), "copies", "--store", nodes[1].stored.socket, "restore"],
                                  capture_output=True, timeout=DEADLINE_S, check=False).returncode == 0

        def restore_without_the_lock(packet):
            if stored.REQUEST.unpack_from(packet)[1] == stored.DELIVER and not others:
                self.assertTrue(keeper.kill_role("store"))
                wait_for(restore_another, "the keeper of the lock to be back")
                others.append(keeper.number)

        with self.way(nodes[0].stored.socket, restore_without_the_lock, clients=2) as at:
            self.run_copies("restore", EX_TEMPFAIL, r"^error: lock lost, store=\S+ \(copies again\)\n$", at)
        self.assertEqual(others, [keeper.number])
        self.assertEqual([ident for _, ident, _ in client.entries(box)], idents)
        self.assertEqual(self.run_copies("check")[1:5], [3, 0, 0, 0])

    def begin_without_the_lock(self):
        """The keeper of the lock is down, and another node has lost its store: (keeper, that one, the third, box, ids)"""
        nodes = self.begin(nodes={"copies": 2})
        self.expect_log("")
        with nodes[0].stored.client() as client:
            keeper = client.call(stored.LOCATE, name=b"\1gather").number
            box = self.boxes_by_node(client)[keeper % 3 + 1][0]
        own, third = nodes[keeper % 3], nodes[(keeper + 1) % 3]
        client = self.client(third)
        idents = [client.deliver(TEXT, [box]) for _ in range(3)]
        self.lose_store(own, client)
        nodes[keeper - 1].kill()
        wait_for(lambda: b"state=away" in client.call(stored.CLUSTER).rows, "the node to be missed")
        return nodes[keeper - 1], third, client, box, idents

    def test_two_at_once_while_the_keeper_of_the_lock_is_down_bring_no_mail_twice(self):
        _, third, client, box, idents = self.begin_without_the_lock()
        others = []

        def restore_without_the_lock(packet):
            if stored.REQUEST.unpack_from(packet)[1] == stored.DELIVER and not others:
                others.append(self.run_copies("restore", 1, ".*", third.stored.socket)[4])

        with self.way(third.stored.socket, restore_without_the_lock, clients=2) as at:
            self.assertEqual(self.run_copies("restore", 1, ".*", at)[4], 0)
        self.assertEqual(others, [3])
        self.assertEqual([ident for _, ident, _ in client.entries(box)], idents)

    def test_one_that_began_without_the_lock_stops_when_its_keeper_is_back(self):
        keeper, third, client, box, idents = self.begin_without_the_lock()
        asked = []

        def restore_with_the_lock(packet):
            asked.append(stored.REQUEST.unpack_from(packet)[1])
            if asked[-1] == stored.LOCK and asked.count(stored.LOCK) == 2:
                self.assertEqual(self.run_copies("restore", at=third.stored.socket)[4], 3)
            elif asked[-1] != stored.LOCK and asked.count(stored.LOCK) == 1 and stored.BOXES not in asked[:-1]:
                self.bring_back(keeper, client)

        with self.way(third.stored.socket, restore_with_the_lock, clients=2) as at:
            self.run_copies("restore", EX_TEMPFAIL, r"^error: lock lost, store=\S+ \(copies again\)\n$", at)
        self.assertEqual([ident for _, ident, _ in client.entries(box)], idents)
        self.assertEqual(self.run_copies("check")[1:5], [3, 0, 0, 0])

    def bring_back(self, node, client):
        """The others have found it, and it has found them."""
        node.revive()
        with node.stored.client() as own:
            for one in (client, own):
                wait_for(lambda one=one: b"state=away" not in one.call(stored.CLUSTER).rows, "the node to be back")
                wait_for(lambda one=one: self.are_stores_known(one), "its store to be known")

    def lose_store(self, node, client):
        """Of a node that is back afterwards."""
        node.kill()
        shutil.rmtree(node.stored.directory)
        self.bring_back(node, client)

    def test_mails_whose_log_alone_was_lost_are_none_that_were_deleted(self):
        nodes = self.begin(nodes={"copies": 2})
        self.expect_log("")
        client = self.client(nodes[0])
        box = self.boxes_by_node(client)[2][0]
        ident = client.deliver(TEXT, [box])
        nodes[1].kill()
        for name in os.listdir(nodes[1].stored.directory):
            if name == "log":
                shutil.rmtree(os.path.join(nodes[1].stored.directory, name))
            elif name.startswith("index."):
                os.unlink(os.path.join(nodes[1].stored.directory, name))
        # The second time the log is there before the daemon.
        for _ in range(2):
            self.bring_back(nodes[1], client)
            self.assertEqual(self.run_copies("forget")[6], 0)
            nodes[1].kill()
            wait_for(lambda: b"state=away" in client.call(stored.CLUSTER).rows, "the node to be missed")
        nodes[1].revive()
        wait_for(lambda: self.are_stores_known(client), "its new store to be known")
        self.assertEqual(self.run_copies("restore")[4], 1)
        self.assertEqual([one for _, one, _ in client.entries(box)], [ident])

    def test_mails_of_a_segment_that_was_lost_are_none_that_were_deleted(self):
        nodes = self.begin(nodes={"copies": 2})
        self.expect_log("")
        client = self.client(nodes[0])
        box = self.boxes_by_node(client)[2][0]
        ident = client.deliver(TEXT, [box])
        nodes[1].kill()
        for name in (f"log/{1:016x}", "index.mdb", "index.mdb-lock"):
            os.unlink(os.path.join(nodes[1].stored.directory, name))
        self.bring_back(nodes[1], client)
        self.assertEqual(client.entries(box), [])
        self.assertEqual(self.run_copies("forget")[6], 0)
        self.assertEqual(self.run_copies("restore")[4], 1)
        self.assertEqual([one for _, one, _ in client.entries(box)], [ident])

    def put_back(self, copy, directory, is_over):
        if is_over:
            subprocess.run(["cp", "-a", "--", copy + "/.", directory], check=True, timeout=DEADLINE_S)
        else:
            shutil.rmtree(directory)
            os.rename(copy, directory)

    def test_mails_that_came_behind_a_copy_of_the_store_that_is_put_back_are_none_that_were_deleted(self):
        nodes = self.begin(nodes={"copies": 2})
        self.expect_log("")
        client, node = self.client(nodes[0]), nodes[1]
        box = self.boxes_by_node(client)[2][0]
        old = client.deliver(TEXT, [box])
        for is_over in (False, True):
            with self.subTest(is_over=is_over):
                node.kill()
                copy = node.stored.directory + "-copy"
                subprocess.run(["cp", "-a", "--", node.stored.directory, copy], check=True, timeout=DEADLINE_S)
                self.bring_back(node, client)
                late = client.deliver(TEXT, [box])
                node.kill()
                self.put_back(copy, node.stored.directory, is_over)
                self.bring_back(node, client)
                self.assertNotIn(late, [one for _, one, _ in client.entries(box)])
                self.assertEqual(self.run_copies("forget", more=["--slack", "0"])[6], 0)
                self.run_copies("restore", more=["--slack", "0"])
                self.assertEqual([one for _, one, _ in client.entries(box)], [old, late])
                self.assertEqual(client.erase(box, [client.entries(box)[1][0]]), 0)
                wait_for(lambda: self.copies(box) == [(2, 3, [old])], "its copy to go")
        since = client.call(stored.LOCATE, name=box.encode()).rows
        node.kill()
        wait_for(lambda: b"state=away" in client.call(stored.CLUSTER).rows, "the node to be missed")
        self.bring_back(node, client)
        self.assertEqual(client.call(stored.LOCATE, name=box.encode()).rows, since)

    def test_mails_that_are_lost_under_a_running_daemon_are_none_that_were_deleted(self):
        nodes = self.begin(nodes={"copies": 2})
        self.expect_log("")
        client = self.client(nodes[0])
        box, other = self.boxes_by_node(client)[2][:2]
        index = os.path.join(nodes[1].stored.directory, "index.mdb")
        before = os.stat(index).st_mtime_ns
        ident = client.deliver(TEXT, [box])
        wait_for(lambda: os.stat(index).st_mtime_ns != before, "the index to have it")
        # Whether the process that has the store begins anew or ends with all of its daemon depends on what it misses
        # first. Here it misses nothing, and the one that replaces it finds nothing.
        store = nodes[1].stored.pid_of("store")
        os.kill(store, signal.SIGSTOP)
        for name in (f"log/{1:016x}", "index.mdb", "index.mdb-lock"):
            os.unlink(os.path.join(nodes[1].stored.directory, name))
        os.kill(store, signal.SIGKILL)

        def has_index():
            client.send_mail(TEXT, [other])
            client.take()
            return os.path.exists(f"{nodes[1].stored.directory}/index.mdb")

        wait_for(has_index, "the index to be made anew")
        for at in (nodes[0], nodes[1]):
            wait_for(lambda at=at: self.are_stores_known(self.client(at)), "its new store to be known")
            self.assertEqual(self.run_copies("forget", at=at.stored.socket)[6], 0)
        self.assertEqual(client.entries(box), [])
        self.run_copies("restore")
        self.assertEqual([one for _, one, _ in client.entries(box)], [ident])

    def test_mails_by_a_clock_that_is_ahead_are_none_that_were_deleted(self):
        nodes = self.begin(nodes={"copies": 2})
        self.expect_log("")
        client = self.client(nodes[0])
        box = self.boxes_by_node(client)[2][0]
        now_us = int(time.time() * 1e6)
        ahead, before = (client.deliver(TEXT, [box], time_us=now_us + us) for us in (3600 * 10**6, 0))
        self.lose_store(nodes[1], client)
        late = client.deliver(TEXT, [box])
        self.assertEqual(self.run_copies("forget")[6], 0)
        self.assertEqual(self.run_copies("restore")[4], 2)
        self.assertEqual({one for _, one, _ in client.entries(box)}, {ahead, before, late})

    def test_mails_by_a_clock_that_was_ahead_are_none_that_were_deleted(self):
        nodes = self.begin(nodes={"copies": 2})
        self.expect_log("")
        client = self.client(nodes[0])
        box = self.boxes_by_node(client)[2][0]
        # By a clock that is right now, their time has come, and is later than the store that is there now.
        ahead_us = 30 * 10**6
        idents = [client.deliver(TEXT, [box], time_us=int(time.time() * 1e6) + ahead_us) for _ in range(6)]
        self.lose_store(nodes[1], client)
        wait_for(lambda: self.run_copies("check", 1, more=["--slack", "0"])[8] == 6, "their time to come")
        self.assertEqual(self.run_copies("check", 1)[8], 0)
        self.assertEqual(self.run_copies("forget")[6], 0)
        self.assertEqual(self.run_copies("restore")[4], 6)
        self.assertEqual([one for _, one, _ in client.entries(box)], idents)
        self.lose_store(nodes[2], client)
        self.assertEqual(self.run_copies("make")[4], 6)
        self.assertEqual(self.copies(box), [(2, 3, idents)])

    def test_copies_of_mails_that_look_deleted_can_be_restored(self):
        nodes = self.begin(nodes={"copies": 2})
        self.expect_log("")
        client = self.client(nodes[0])
        box = self.boxes_by_node(client)[1][0]
        client.deliver(TEXT, [box])
        # Past the module its copy stays; the log still has the id.
        with stored.Client(nodes[0].stored.socket + ".store") as store:
            self.assertEqual(store.erase(box, [store.entries(box)[0][0]]), 0)
        self.assertEqual(self.run_copies("restore", more=["--slack", "0"])[4], 0)
        self.assertEqual(self.run_copies("restore", more=["--slack", "0", "--all"])[4], 1)
        self.assertEqual(len(client.entries(box)), 1)
        self.assertEqual(self.run_copies("check")[2:4], [0, 0])

    def test_copies_of_mails_that_were_deleted_meanwhile_can_be_forgotten(self):
        nodes = self.begin(nodes={"copies": 2})
        self.expect_log("")
        client = self.client(nodes[0])
        box = self.boxes_by_node(client)[1][0]
        client.deliver(TEXT, [box])
        of_second = self.boxes_by_node(client)[2][0].encode()
        since = client.call(stored.LOCATE, name=of_second).rows
        nodes[1].kill()
        wait_for(lambda: b"state=away" in client.call(stored.CLUSTER).rows, "the node to be missed")
        self.assertEqual(client.erase(box, [client.entries(box)[0][0]]), 0)
        nodes[1].revive()
        wait_for(lambda: self.are_stores_known(client), "the node to be back")
        # It has started again, and its store is the one that was there before.
        self.assertEqual(client.call(stored.LOCATE, name=of_second).rows, since)
        self.assertEqual(self.run_copies("check", 1)[2:4], [0, 1])
        # Both came in the first hour of the store, and may be of the one before it, by a clock that was wrong.
        self.assertEqual(self.run_copies("forget")[6:9:2], [0, 0])
        restore = self.run_copies("restore", more=["--slack", "0"])
        self.assertEqual(restore[3:5] + [len(client.entries(box))], [1, 0, 0])
        self.assertEqual(self.run_copies("forget", more=["--slack", "0"])[6], 1)
        self.assertEqual(self.run_copies("check")[2:4], [0, 0])
        self.assertEqual(self.copies(box), [])

    def test_a_mail_that_is_deleted_while_it_is_copied_keeps_no_other_from_it(self):
        nodes = self.begin(nodes={"copies": 2})
        client = self.client(nodes[0])
        box = self.boxes_by_node(client)[1][0]
        # Past the module there are no copies.
        with stored.Client(nodes[0].stored.socket + ".store") as store:
            idents = [store.deliver(TEXT, [box]) for _ in range(3)]
        rows = []

        def delete_behind_its_record(packet):
            _, kind, _, _, _, number, *_ = stored.REQUEST.unpack_from(packet)
            if kind == stored.ROW:
                rows.append(number)
                if len(rows) == 2:
                    self.assertEqual(client.erase(box, [number]), 0)

        with self.way(nodes[0].stored.socket, delete_behind_its_record, clients=2) as at:
            self.assertEqual(self.run_copies("make", at=at)[1:5], [3, 3, 0, 2])
        self.assertEqual(rows[0], rows[1])
        left = sorted(ident for _, ident, _ in client.entries(box))
        self.assertEqual((len(left), set(left) - set(idents)), (2, set()))
        (_, _, copied), = self.copies(box)
        self.assertEqual(sorted(copied), left)

    def test_a_mail_that_comes_into_a_mailbox_of_copies_alone_keeps_its_copy(self):
        nodes = self.begin(nodes={"copies": 2})
        client = self.client(nodes[0])
        box = self.boxes_by_node(client)[1][0]
        idents = [client.deliver(TEXT, [box])]
        # Past the module its copy stays.
        with stored.Client(nodes[0].stored.socket + ".store") as store:
            self.assertEqual(store.erase(box, [store.entries(box)[0][0]]), 0)
        kinds = []

        def deliver_behind_the_first_look(packet):
            kinds.append(stored.REQUEST.unpack_from(packet)[1])
            if stored.LIST in kinds[:-1] and len(idents) == 1:
                idents.append(client.deliver(TEXT, [box]))

        with self.way(nodes[0].stored.socket, deliver_behind_the_first_look, clients=2) as at:
            self.assertEqual(self.run_copies("make", at=at), [1, 1, 0, 1, 0, 0, 0, 0, 0, 0])
        self.assertEqual(self.copies(box), [(1, 2, idents)])

    def test_a_copy_goes_with_its_mailbox_whatever_other_mails_have_none(self):
        nodes = self.begin(nodes={"copies": 2}, stored={"users": self.make_users({})})
        self.expect_log("")
        client = self.client(nodes[1])
        boxes = self.boxes_by_node(client)
        box, other = boxes[1][0], boxes[2][0]
        ident = client.deliver(TEXT, [box])
        client.deliver(TEXT, [other])
        # Past the module, and its store still has the id: this mail has no copy from now on.
        name = f"\1{2}/{other}"
        with stored.Client(nodes[2].stored.socket + ".store") as store:
            self.assertEqual(store.erase(name, [store.entries(name)[0][0]]), 0)
        self.make_users({box: "node=3"})
        wait_for(lambda: client.call(stored.LOCATE, name=box.encode()).number == 3, "the mailbox to move")
        self.lose_store(nodes[0], client)
        self.assertEqual(self.run_copies("restore")[3:5], [1, 1])
        self.assertEqual(self.copies(box), [(3, 1, [ident]), (1, 2, [ident])])
        self.assertEqual(self.run_copies("check", 1)[9], 1)
        self.assertEqual(self.run_copies("make", 1)[4:7], [0, 1, 1])
        self.assertEqual(self.copies(box), [(3, 1, [ident])])
        self.assertEqual(self.run_copies("check", 1)[9], 0)

    def test_a_mail_that_its_node_does_not_take_leaves_no_copy(self):
        nodes = self.begin(nodes={"copies": 2})
        self.expect_log("")
        client = self.client(nodes[1])
        boxes = self.boxes_by_node(client)
        away, there = boxes[1][:2], boxes[3][0]
        client.deliver(TEXT, away)
        nodes[0].kill()
        wait_for(lambda: b"state=away" in client.call(stored.CLUSTER).rows, "the node to be missed")
        # Its sender tries again, and each attempt has another id.
        for _ in range(2):
            client.send_mail(TEXT, [*away, there])
            self.assertEqual(client.take().status, EAWAY)
        self.assertEqual(len(client.entries(there)), 2)
        with stored.Client(nodes[1].stored.socket + ".store") as store:
            wait_for(lambda: [len(store.entries(f"\1{1}/{box}")) for box in away] == [1, 1], "copies to go")

    def test_a_second_node_that_is_down_keeps_no_mail_back(self):
        nodes = self.begin(nodes={"copies": 2})
        self.expect_log("")
        client = self.client(nodes[0])
        box = self.boxes_by_node(client)[1][0]
        nodes[1].kill()
        wait_for(lambda: b"state=away" in client.call(stored.CLUSTER).rows, "the node to be missed")
        client.deliver(TEXT, [box])
        self.assertEqual(len(client.entries(box)), 1)
        self.assertIn(b"uncopied=1", client.call(stored.CLUSTER, number=1).rows)

    def test_a_node_that_is_down_and_has_mails_without_copies_is_told(self):
        nodes = self.begin(nodes={"copies": 2})
        self.expect_log("")
        client = self.client(nodes[0])
        box = self.boxes_by_node(client)[2][0]
        with stored.Client(nodes[1].stored.socket + ".store") as store:
            store.deliver(TEXT, [box])
        nodes[1].kill()
        wait_for(lambda: b"state=away" in client.call(stored.CLUSTER).rows, "the node to be missed")
        for verb in ("check", "make"):
            self.assertEqual(self.run_copies(verb, 1, r"^error: not all mailboxes compared, store=\S+ \(the node "), [0] * 10)

    def test_a_copy_for_another_mailbox_does_not_stand_for_a_mail_that_is_imported(self):
        nodes = self.begin(nodes={"copies": 2})
        self.expect_log("")
        client = self.client(nodes[0])
        here, away = (self.boxes_by_node(client)[number][0] for number in (1, 2))
        nodes[0].stored.run_tool("deliver", here, away, at=self.path("other"), stdin=TEXT)
        nodes[0].stored.run_tool("export", "--maildirs", self.path("all"), at=self.path("other"))
        again = ("import", "--maildirs", self.path("all"), "--only-new")
        nodes[1].kill()
        wait_for(lambda: b"state=away" in client.call(stored.CLUSTER).rows, "the node to be missed")
        nodes[0].stored.run_tool(*again[:-1], status=os.EX_TEMPFAIL)
        nodes[1].revive()
        wait_for(lambda: self.are_stores_known(client), "the node to be back")
        # Now its store has the id.
        self.assertEqual(self.run_copies("make")[4], 1)
        self.assertEqual(nodes[0].stored.run_tool(*again),
                         b"1 mails imported, 1 of them under new ids, 0 were there\n")
        self.assertEqual([len(client.entries(box)) for box in (here, away)], [1, 1])

    def begin_with_three(self):
        """Of four nodes the last is not heard of yet, and has no mailboxes by their names."""
        nodes = self.begin(count=4, nodes={"copies": 2}, stored={"users": self.make_users({})})
        self.expect_log("")
        head, *entries = nodes[0].stored.peers.split("  - name: ")
        entries[3] = entries[3].replace("spread: yes", "spread: no")
        self.peers = ["  - name: ".join([head, *entries[:count]]) for count in (3, 4)]
        for node in nodes:
            node.stored.stop()
            os.unlink(f"{node.stored.directory}/spread")
        self.begin_again(nodes[:3], self.peers[0])
        client = self.client(nodes[0])
        self.wait_for_all(client)
        return nodes, client

    def make_users(self, words):
        """The list of users, with these words behind some."""
        users = self.path("of-copies.mdb")
        subprocess.run([program("smtp-front-users"), "build", "-d", users, "-"], check=True, timeout=DEADLINE_S,
                       input="".join(f"{box} {words.get(box, '')}\n" for box in USERS).encode())
        if os.geteuid() == 0:
            for path in (users, users + "-lock"):
                os.chown(path, pwd.getpwnam(stored.USER).pw_uid, -1)
        return users

    def begin_again(self, nodes, peers):
        for node in nodes:
            node.stored.stop()
            node.stored.peers = peers
            node.stored.write_config()
            node.stored.start()

    def wait_for_all(self, client):
        wait_for(lambda: b"state=away" not in client.call(stored.CLUSTER).rows, "all nodes to be there")
        wait_for(lambda: self.are_stores_known(client), "all stores to be known")

    def grow(self, nodes):
        self.begin_again(nodes, self.peers[1])
        client = self.client(nodes[0])
        self.wait_for_all(client)
        return client

    def test_copies_go_to_the_node_that_is_the_next_one_now(self):
        nodes, client = self.begin_with_three()
        box = self.boxes_by_node(client)[3][0]
        idents = [client.deliver(TEXT, [box]) for _ in range(3)]
        self.grow(nodes)
        client = self.client(nodes[2])
        self.assertEqual(self.copies(box), [(3, 1, idents)])
        self.assertEqual(self.run_copies("check", 1), [1, 3, 3, 0, 0, 0, 0, 0, 0, 3])
        with self.damage(client, client.entries(box)[0][0]):
            self.assertEqual(self.run_copies("make", EX_DATAERR, rf"id={idents[0]} ")[4:7], [2, 0, 2])
        self.assertEqual(self.copies(box), [(3, 1, idents[:1]), (3, 4, idents[1:])])
        self.assertEqual(self.run_copies("make")[4:7], [1, 0, 1])
        self.assertEqual(self.copies(box), [(3, 4, [*idents[1:], idents[0]])])
        self.assertEqual(self.run_copies("check"), [1, 3, *[0] * 8])

    def test_a_mail_that_is_deleted_before_its_copy_has_moved_leaves_it_until_that_is_forgotten(self):
        nodes, client = self.begin_with_three()
        box = self.boxes_by_node(client)[3][0]
        idents = [client.deliver(TEXT, [box]) for _ in range(2)]
        client = self.grow(nodes)
        self.assertEqual(client.erase(box, [client.entries(box)[0][0]]), 0)
        self.assertEqual(self.run_copies("make")[3:7], [1, 1, 0, 1])
        self.assertEqual(self.copies(box), [(3, 1, idents[:1]), (3, 4, idents[1:])])
        self.assertEqual(self.run_copies("check", 1)[3], 1)
        self.assertEqual(self.run_copies("forget", more=["--slack", "0"])[6], 1)
        self.assertEqual(self.run_copies("check")[3], 0)
        self.assertEqual([one for _, one, _ in client.entries(box)], idents[1:])

    def test_copies_are_found_where_they_were_when_there_were_fewer_nodes(self):
        nodes, client = self.begin_with_three()
        box = self.boxes_by_node(client)[3][0]
        idents = [client.deliver(TEXT, [box]) for _ in range(2)]
        client = self.grow(nodes)
        idents.append(client.deliver(TEXT, [box]))
        self.lose_store(nodes[2], client)
        self.assertEqual(self.run_copies("check", 1)[2:4], [0, 3])
        self.assertEqual(self.run_copies("forget")[6], 0)
        self.assertEqual(self.run_copies("restore")[3:5], [3, 3])
        self.assertEqual({ident for _, ident, _ in client.entries(box)}, set(idents))
        # What was restored has got copies where they are now.
        self.assertEqual(self.run_copies("make")[4:7], [0, 0, 2])
        (owner, node, copied), = self.copies(box)
        self.assertEqual((owner, node, set(copied)), (3, 4, set(idents)))

    def test_one_of_two_copies_of_a_mail_goes_and_restores_nothing_twice(self):
        nodes, client = self.begin_with_three()
        box = self.boxes_by_node(client)[3][0]
        ident = client.deliver(TEXT, [box])
        with stored.Client(nodes[0].stored.socket + ".store") as store:
            (mail, *_), = store.entries(f"\1{3}/{box}")
        client = self.grow(nodes)
        # As it is when "make" is stopped between the two.
        text = self.read(client, 1 << 56 | mail)
        with stored.Client(nodes[3].stored.socket + ".store") as store:
            store.deliver(text, [f"\1{3}/{box}"], ident=ident, is_moved=True)
        self.assertEqual(self.copies(box), [(3, 1, [ident]), (3, 4, [ident])])
        self.lose_store(nodes[2], client)
        self.assertEqual(self.run_copies("restore")[3:7], [1, 1, 0, 0])
        self.assertEqual([one for _, one, _ in client.entries(box)], [ident])
        self.assertEqual(self.run_copies("make")[4:7], [0, 0, 1])
        self.assertEqual(self.copies(box), [(3, 4, [ident])])

    def test_mails_of_a_node_that_is_no_peer_any_more_are_restored(self):
        nodes, client = self.begin_with_three()
        box = next(iter(USERS))
        client = self.grow(nodes)
        self.make_users({box: "node=4"})
        wait_for(lambda: client.call(stored.LOCATE, name=box.encode()).number == 4, "the mailbox to move")
        for _ in range(2):
            client.deliver(TEXT, [box])
        nodes[3].stored.stop()
        self.make_users({box: "node=2"})
        self.begin_again(nodes[:3], self.peers[0])
        client = self.client(nodes[0])
        self.wait_for_all(client)
        self.assertEqual(self.run_copies("forget")[6], 0)
        self.assertEqual(self.run_copies("restore")[3:5], [2, 2])
        self.assertEqual([mail >> 56 for mail, _, _ in client.entries(box)], [2, 2])
        self.run_copies("make")
        self.assertEqual(self.run_copies("check")[2:4], [0, 0])


if __name__ == "__main__":
    main()
