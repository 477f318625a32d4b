#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Mailboxes whose node is another one by the list of users than the one that has their mails."""

import os
import poplib
import pwd
import re
import shutil
import subprocess

import stored
from harness import DEADLINE_S, main, program, wait_for
from moving import MovedNodes
from sharing import EAWAY, TEXT, USERS, node_of


class Moved(MovedNodes):
    def test_a_session_deletes_what_it_has_seen_and_nothing_at_another_node(self):
        first, second = self.begin_moved()
        client, (box, *_) = self.client(first), USERS
        for _ in range(3):
            client.deliver(TEXT, [box])
        session = poplib.POP3(*first.pop_address, timeout=DEADLINE_S)
        session.user(box)
        session.pass_(USERS[box])
        for number in (1, 2, 3):
            session.dele(number)
        self.move(client, box, 2)
        new = [client.deliver(TEXT, [box]) for _ in range(3)]
        self.assertTrue(session.quit().startswith(b"+OK"))
        with second.stored.client() as other:
            self.assertEqual([ident for _, ident, _ in other.entries(box)], new)
        self.move(client, box, 1)
        self.assertEqual(client.entries(box), [])

    def test_mails_of_another_node_than_that_of_the_lock_are_not_deleted(self):
        nodes = self.begin_moved()
        client, (box, other, *_) = self.client(nodes[0]), USERS
        client.deliver(TEXT, [box])
        old = self.mails(client, box)
        self.move(client, box, 2)
        client.deliver(TEXT, [box])
        new = self.mails(client, box)
        self.assertEqual([node_of(mail) for mail in old + new], [1, 2])
        self.assertEqual(client.lock(box), 0)
        for mails in (old, old + new):
            self.assertEqual(client.erase(box, mails), stored.ELOST_LOCK)
        self.move(client, box, 1)
        # The session is about the node of its lock until it ends.
        self.assertEqual(self.mails(client, box), new)
        self.assertEqual(client.unlock(), 0)
        self.assertEqual(self.mails(client, box), old)
        for mails in (old + new, [3 << 56 | 1]):
            self.assertEqual(client.erase(other, mails), stored.EMAIL)
        self.assertEqual(self.mails(client, box), old)

    def test_tools_reach_mails_that_are_left_at_another_node(self):
        nodes = self.begin_moved()
        client, (box, lost, *_) = self.client(nodes[0]), USERS
        idents = {one: [client.deliver(TEXT, [one]) for _ in range(2)] for one in USERS}
        self.build({box: "node=2"}, without=(lost,))
        for one in (box, lost):
            self.wait_for_node(client, one, 2)  # spread says so of the other one
        idents[box].append(client.deliver(TEXT, [box]))
        rows = self.run_tool(nodes[1], "ls")
        self.assertEqual([row.split("\t")[:2] for row in rows], sorted([one, str(len(idents[one]))] for one in USERS))
        for one in (box, lost):
            self.assertEqual([row.split("\t")[0] for row in self.run_tool(nodes[1], "ls", one)], idents[one])
        directory = self.path("exported")
        self.run_tool(nodes[1], "export", "--maildirs", directory)
        self.assertEqual({one: len(os.listdir(f"{directory}/{one}/new")) for one in USERS},
                         {one: len(idents[one]) for one in USERS})
        self.run_tool(nodes[1], "rm", box, idents[box][0])
        self.run_tool(nodes[1], "rm", lost, lost, status=66, said="no such mail")
        self.assertEqual([row.split("\t")[0] for row in self.run_tool(nodes[0], "ls", box)], idents[box][1:])
        for one in (box, lost):
            self.run_tool(nodes[1], "rm", "--all", one)
            self.assertEqual(self.run_tool(nodes[0], "ls", one), [])
        self.assertEqual(len(self.run_tool(nodes[0], "ls")), len(USERS) - 2)

    def test_a_mailbox_that_moves_takes_its_mails_along(self):
        nodes = self.begin_moved(count=4, nodes={"copies": 2})
        client, (box, other, *_) = self.client(nodes[0]), USERS
        now_us = 1_700_000_000_000_000
        old = [client.deliver(TEXT, [box], time_us=now_us + at) for at in range(3)]
        both = client.deliver(TEXT, [box, other])
        self.move(client, box, 3)
        new = client.deliver(TEXT, [box])
        self.run_tool(nodes[1], "ls", box)
        self.assertEqual(self.run_tool(nodes[1], "gather", box), ["4 mails brought"])
        entries = client.entries(box)
        self.assertEqual([(node_of(mail), ident) for mail, ident, _ in entries], [(3, ident) for ident in (new, *old, both)])
        self.assertEqual([row.split("\t")[0] for row in self.run_tool(nodes[1], "ls", box)], [new, *old, both])
        self.assertEqual([ident for _, ident, _ in client.entries(other)], [both])
        self.assertIn("2023-11-14T", self.run_tool(nodes[1], "ls", box)[1])
        self.assertEqual(self.run_tool(nodes[1], "gather", box, other), ["0 mails brought"])
        compare = ("mail-store", "copies", "--store", nodes[0].stored.socket, "check")
        wait_for(lambda: subprocess.run([program(compare[0]), *compare[1:]], timeout=DEADLINE_S, check=False,
                                        capture_output=True).stdout.startswith(
            b"2 mailboxes, 6 mails, 0 without a copy, 0 copies without a mail"), "the old copies to go")

    def change_at(self, kind, change):
        """For way(): change() is done before the first request of that kind."""
        left = [change]

        def look(packet):
            if stored.REQUEST.unpack_from(packet)[1] == kind and left:
                left.pop()()

        return look

    def test_a_mailbox_that_moves_back_while_it_is_gathered_loses_nothing(self):
        nodes = self.begin_moved()
        client, (box, other, *_) = self.client(nodes[0]), USERS
        for kind in (stored.LOCATE, stored.FIND_ID, stored.DELIVER, stored.ERASE):
            with self.subTest(kind=kind):
                self.run_tool(nodes[0], "rm", "--all", box)
                self.move(client, box, 1)
                texts = [TEXT + b"%d\r\n" % number for number in range(5)]
                for text in texts:
                    client.deliver(text, [box])
                self.move(client, box, 2)
                back = self.change_at(kind, lambda: self.move(client, box, 1))
                with self.way(nodes[0].stored.socket, back, clients=3) as at:
                    gathered = subprocess.run([program("mail-store"), "gather", "--store", at, box, other], text=True,
                                              capture_output=True, timeout=DEADLINE_S, check=False)
                os.unlink(at)
                is_caught = kind in (stored.FIND_ID, stored.DELIVER, stored.ERASE)
                self.assertEqual(gathered.returncode, 75 if is_caught else 0, gathered.stderr)
                self.assertRegex(gathered.stderr, r"^error: mailbox has moved meanwhile, store=\S+ name="
                                 rf"{re.escape(box)} \(gather it again\)\n$" if is_caught else "^$")
                self.run_tool(nodes[0], "gather", box)
                found = {self.read(client, mail) for mail in self.mails(client, box)}
                self.assertEqual(found, set(texts))

    def test_mails_that_come_back_have_their_ids_again_behind_collection(self):
        nodes = self.begin_moved()
        client, (box, *_) = self.client(nodes[0]), USERS
        idents = [client.deliver(TEXT, [box]) for _ in range(3)]
        for number, renamed in ((2, ""), (1, ""), (2, ", 3 of them under new ids")):
            self.move(client, box, number)
            if number == 1:
                self.run_tool(nodes[0], "collect", "--share", "100")
            self.assertEqual(self.run_tool(nodes[0], "gather", box), ["3 mails brought" + renamed])
            self.assertEqual([ident for _, ident, _ in client.entries(box)] == idents, renamed == "")

    def test_a_list_that_names_no_peer_is_told_once(self):
        nodes = self.begin_moved()
        client, (box, other, *_) = self.client(nodes[0]), USERS
        line = rf"^warning: \[mail-stored\] node of a mailbox is no peer, number=9 mailbox={re.escape(box)}$"
        self.expect_log(line)
        self.build({box: "node=9"})
        for _ in range(2):
            wait_for(lambda: client.call(stored.CHECK, name=box.encode()).status == EAWAY, "the mailbox to be away")
        nodes[0].stored.wait_for_log(line)
        self.assertEqual(client.call(stored.LOCK, name=box.encode()).status, EAWAY)
        self.assertEqual(len(re.findall("(?m)" + line, nodes[0].stored.process.log())), 1)
        client.deliver(TEXT, [other])
        self.move(client, box, 2)
        client.deliver(TEXT, [box])

    def test_one_gather_at_a_time(self):
        nodes = self.begin_moved()
        client, (box, *_) = self.client(nodes[0]), USERS
        client.deliver(TEXT, [box])
        self.move(client, box, 2)
        said = "another gather runs, or copies, store="
        second = self.change_at(stored.ERASE, lambda: self.run_tool(nodes[1], "gather", box, status=75, said=said))
        with self.way(nodes[0].stored.socket, second, clients=3) as at:
            self.assertEqual(self.run_tool(nodes[0], "gather", box, at=at), ["1 mails brought"])
        self.assertEqual(self.run_tool(nodes[1], "gather", box), ["0 mails brought"])

    def test_a_gather_that_is_over_keeps_out_none_however_late_its_node_hears_of_that(self):
        nodes = self.begin_moved()
        client, (box, *_) = self.client(nodes[0]), USERS
        client.deliver(TEXT, [box])
        self.move(client, box, 2)
        with self.way(nodes[0].stored.socket, lambda packet: None, clients=3, is_kept=True) as at:
            self.assertEqual(self.run_tool(nodes[0], "gather", box, at=at), ["1 mails brought"])
            for node in nodes:
                self.assertEqual(self.run_tool(node, "gather", box), ["0 mails brought"])
            self.move(client, box, 1)
            self.assertEqual(client.lock(box), 0)

    def test_a_gather_that_has_lost_its_lock_brings_nothing_and_keeps_another_from_its_mailbox(self):
        nodes = self.begin_moved(count=3)
        self.expect_log("")
        client, (box, *_) = self.client(nodes[0]), USERS
        lock = client.call(stored.LOCATE, name=b"\1gather").number
        old, new = (number for number in (1, 2, 3) if number != lock)
        clients = client, _ = [self.client(nodes[number - 1]) for number in (old, new)]
        self.move(client, box, old)
        texts = {TEXT + b"%d\r\n" % number for number in range(3)}
        for text in texts:
            client.deliver(text, [box])
        self.move(client, box, new)

        def gather_another():
            nodes[lock - 1].kill()
            for client in clients:
                wait_for(lambda client=client: b"state=away" in client.call(stored.CLUSTER).rows, "the node to be missed")
            nodes[lock - 1].revive()
            for client in clients:
                wait_for(lambda client=client: b"state=away" not in client.call(stored.CLUSTER).rows, "the node to be back")
            self.assertEqual(self.run_tool(nodes[new - 1], "gather", box, status=75,
                                           said="^error: mailbox is open at another node, "), ["0 mails brought"])

        with self.way(nodes[old - 1].stored.socket, self.change_at(stored.DELIVER, gather_another), clients=3) as at:
            self.assertEqual(self.run_tool(nodes[old - 1], "gather", box, at=at, status=75,
                                           said=r"^error: lock lost, store=\S+ \(gather again\)\n$"),
                             ["0 mails brought"])
        self.assertEqual(self.run_tool(nodes[new - 1], "gather", box), ["3 mails brought"])
        found = [self.read(client, mail) for mail in self.mails(client, box)]
        self.assertEqual((len(found), set(found)), (3, texts))

    def test_a_mail_that_an_open_session_deletes_while_it_is_brought_does_not_come_back(self):
        nodes = self.begin_moved()
        client, (box, *_) = self.client(nodes[0]), USERS
        idents = [client.deliver(TEXT, [box]) for _ in range(3)]
        old = self.mails(client, box)
        self.move(client, box, 2)
        delete = self.change_at(stored.DELIVER, lambda: self.assertEqual(client.erase(box, old[:1]), 0))
        with self.way(nodes[0].stored.socket, delete, clients=3) as at:
            self.assertEqual(self.run_tool(nodes[0], "gather", box, at=at), ["2 mails brought"])
        self.assertEqual([(node_of(mail), ident) for mail, ident, _ in client.entries(box)],
                         [(2, ident) for ident in idents[1:]])
        self.assertEqual(len(self.run_tool(nodes[0], "ls", box)), 2)

    def test_a_mail_of_two_other_nodes_that_is_deleted_between_the_two_does_not_come_back(self):
        nodes = self.begin_moved(count=3)
        client, (box, *_) = self.client(nodes[0]), USERS
        ident = client.deliver(TEXT, [box])
        self.run_tool(nodes[0], "export", "--maildir", self.path("maildir"), box)
        self.move(client, box, 2)
        self.run_tool(nodes[0], "import", "--maildir", self.path("maildir"), box)
        self.assertEqual([found for _, found, _ in client.entries(box)], [ident])
        self.move(client, box, 3)
        self.assertEqual(len(self.run_tool(nodes[0], "ls", box)), 2)
        delete = self.change_at(stored.ERASE, lambda: self.assertEqual(client.erase(box, self.mails(client, box)), 0))
        with self.way(nodes[0].stored.socket, delete, clients=3) as at:
            self.assertEqual(self.run_tool(nodes[0], "gather", box, at=at), ["2 mails brought"])
        self.assertEqual(self.run_tool(nodes[0], "ls", box), [])
        self.assertEqual(self.run_tool(nodes[0], "gather", box), ["0 mails brought"])

    def test_what_a_session_that_is_open_at_the_old_node_deletes_does_not_come_back(self):
        nodes = self.begin_moved(count=3)
        client, (box, other, *_) = self.client(nodes[0]), USERS
        idents = {one: [client.deliver(TEXT, [one]) for _ in range(3)] for one in (box, other)}
        session = poplib.POP3(*nodes[1].pop_address, timeout=DEADLINE_S)
        session.user(box)
        session.pass_(USERS[box])
        session.dele(1)
        self.build({box: "node=2", other: "node=3"})
        for one, number in ((box, 2), (other, 3)):
            self.wait_for_node(client, one, number)
        said = rf"^error: mailbox is open at another node, store=\S+ name={re.escape(box)} \(gather it again\)\n$"
        self.assertEqual(self.run_tool(nodes[2], "gather", box, other, status=75, said=said), ["3 mails brought"])
        self.assertTrue(session.quit().startswith(b"+OK"))
        self.assertEqual(self.run_tool(nodes[2], "gather", box, other), ["2 mails brought"])
        for one, left in ((box, idents[box][1:]), (other, idents[other])):
            self.assertEqual([ident for _, ident, _ in client.entries(one)], left)
            self.assertEqual(len(self.run_tool(nodes[0], "ls", one)), len(left))

    def test_a_mail_whose_id_the_other_node_has_comes_under_another(self):
        nodes = self.begin_moved(nodes={"copies": 2})
        client, (box, *_) = self.client(nodes[0]), USERS
        client.deliver(TEXT, [box])
        self.move(client, box, 2)  # which has the copy
        self.assertEqual(self.run_tool(nodes[0], "gather", box), ["1 mails brought, 1 of them under new ids"])
        self.assertEqual([node_of(mail) for mail in self.mails(client, box)], [2])
        self.assertEqual(len(self.run_tool(nodes[0], "ls", box)), 1)

    def test_a_mail_that_gets_another_id_comes_once_when_that_was_interrupted(self):
        nodes = self.begin_moved()
        client, (box, *_) = self.client(nodes[0]), USERS
        texts = [TEXT + b"%d\r\n" % number for number in range(3)]
        for text in texts:
            client.deliver(text, [box])
        self.move(client, box, 2)
        self.assertEqual(self.run_tool(nodes[0], "gather", box), ["3 mails brought"])
        self.move(client, box, 1)  # which knows their ids

        def is_last(packet):
            return stored.REQUEST.unpack_from(packet)[1] == stored.ERASE

        with self.way(nodes[0].stored.socket, is_last, clients=3) as at:
            self.run_tool(nodes[0], "gather", box, at=at, status=75, said="^error: mail not brought, ")
        os.unlink(at)
        self.assertEqual(len(self.run_tool(nodes[0], "ls", box)), 4)
        self.assertEqual(self.run_tool(nodes[0], "gather", box), ["3 mails brought, 3 of them under new ids"])
        self.assertEqual([self.read(client, mail) for mail in self.mails(client, box)], texts)

    def end_at(self, node, kind, *boxes):
        """A gather that has ended before its first request of that kind."""
        def is_last(packet):
            return stored.REQUEST.unpack_from(packet)[1] == kind

        with self.way(node.stored.socket, is_last, clients=3) as at:
            self.run_tool(node, "gather", *boxes, at=at, status=75, said="^error: mail not brought, ")
        os.unlink(at)

    def test_a_mail_that_is_deleted_behind_a_gather_that_was_ended_does_not_come_back(self):
        nodes = self.begin_moved(count=3)
        client, (box, *_) = self.client(nodes[0]), USERS
        texts = [TEXT + b"%d\r\n" % number for number in range(3)]
        for text in texts:
            client.deliver(text, [box])
        for number, renamed in ((2, ""), (1, ", 2 of them under new ids")):
            with self.subTest(number=number):
                self.move(client, box, number)
                self.end_at(nodes[0], stored.ERASE, box)
                brought = self.mails(client, box)
                self.assertEqual([self.read(client, mail) for mail in brought], texts[:1])
                self.assertEqual(client.erase(box, brought), 0)
                for node in nodes:
                    self.run_tool(node, "collect", "--share", "100")
                self.run_tool(nodes[0], "gather", box)
                del texts[0]
                self.assertEqual([self.read(client, mail) for mail in self.mails(client, box)], texts)
                self.assertEqual(len(self.run_tool(nodes[0], "ls", box)), len(texts))

    def test_what_marks_a_mail_as_brought_has_no_copies_and_is_shown_to_nothing(self):
        nodes = self.begin_moved(count=3, nodes={"copies": 2})
        client, (box, *_) = self.client(nodes[0]), USERS
        client.deliver(TEXT, [box])
        self.move(client, box, 2)
        self.end_at(nodes[0], stored.ERASE, box)
        copy_box, mark = f"\0012/{box}", f"\001g/{box}"
        with stored.Client(nodes[2].stored.socket + ".store") as third, \
                stored.Client(nodes[1].stored.socket + ".store") as second:
            self.assertEqual(third.erase(copy_box, self.mails(third, copy_box)), 0)
            self.assertEqual(len(second.entries(mark)), 1)
            self.run_tool(nodes[2], "collect", "--share", "100")
            self.run_tool(nodes[0], "copies", "make")
            self.assertEqual(third.rows(third.call(stored.BOXES)).count(box.encode()), 1)
            self.assertEqual(len(third.entries(copy_box)), 1)
            self.assertNotIn(mark.encode(), client.rows(client.call(stored.BOXES)))
            self.run_tool(nodes[0], "gather", box)
            self.assertEqual(second.entries(mark), [])
        self.assertEqual(len(self.mails(client, box)), 1)

    def begin_with_last_copy(self):
        """
        A mail that went from node 1 to node 3 while node 2 was down, which has the second copy of then. Where its next one
        is to be, at node 1, the id is taken.
        """
        nodes = self.begin_moved(count=3, nodes={"copies": 2})
        self.expect_log("")
        client, (box, *_) = self.client(nodes[0]), USERS
        lock = client.call(stored.LOCATE, name=b"\1gather").number
        self.assertNotEqual(lock, 2)
        ident = client.deliver(TEXT, [box])
        nodes[1].kill()
        self.wait_until_away(client)
        self.move(client, box, 3)
        self.run_tool(nodes[0], "gather", box, status=75, said="cannot be reached")
        nodes[1].revive()
        self.wait_for_stores(client)
        self.assertEqual(self.copies(nodes, box), [(2, ident)])
        return nodes, client, box, ident

    def copies(self, nodes, box):
        """[(number of the node that has it, id), ...]"""
        found = []
        for node in nodes:
            with stored.Client(node.stored.socket + ".store") as client:
                for number in (1, 2, 3):
                    found += [(node.number, ident) for _, ident, _ in client.entries(f"\1{number}/{box}")]
        return found

    def test_the_last_copy_of_a_mail_that_a_node_which_is_down_has_is_not_forgotten(self):
        nodes, client, box, ident = self.begin_with_last_copy()
        self.move(client, box, 1)
        nodes[2].kill()
        self.wait_until_away(client)
        forget = ("copies", "forget", "--slack", "0")
        said, = self.run_tool(nodes[0], *forget, status=1)
        self.assertIn(" 0 deleted, 1 mailboxes away, ", said)
        nodes[2].revive()
        self.wait_for_stores(client)
        self.assertIn(" 0 deleted, 0 mailboxes away, ", self.run_tool(nodes[0], *forget)[0])
        self.assertEqual(self.copies(nodes[:2], box), [(2, ident)])

    def test_a_mail_that_a_node_which_is_down_has_is_not_restored_under_another_id(self):
        nodes, client, box, ident = self.begin_with_last_copy()
        self.move(client, box, 1)
        nodes[2].kill()
        self.wait_until_away(client)
        said, = self.run_tool(nodes[0], "copies", "restore", status=1, said="^error: not all mailboxes compared, ")
        self.assertIn(" 1 copies without a mail, 0 made, ", said)
        nodes[2].revive()
        self.wait_for_stores(client)
        self.assertEqual(self.run_tool(nodes[0], "gather", box), ["1 mails brought, 1 of them under new ids"])
        self.assertEqual(len(client.entries(box)), 1)

    def test_a_mail_that_was_lost_where_its_mailbox_had_moved_is_none_that_was_deleted(self):
        nodes, client, box, ident = self.begin_with_last_copy()
        nodes[2].kill()
        shutil.rmtree(nodes[2].stored.directory)
        nodes[2].revive()
        self.wait_for_stores(client)
        self.assertIn(" 0 deleted, ", self.run_tool(nodes[0], "copies", "forget", "--slack", "0")[0])
        self.assertIn(" 1 made, ", self.run_tool(nodes[0], "copies", "restore", "--slack", "0")[0])
        self.assertEqual([(node_of(mail), one) for mail, one, _ in client.entries(box)], [(3, ident)])

    def test_tools_say_that_a_node_which_may_have_mails_of_a_mailbox_is_down(self):
        nodes = self.begin_moved()
        self.expect_log("")
        client, (box, *_) = self.client(nodes[1]), USERS
        lost = client.deliver(TEXT, [box])
        self.move(client, box, 2)
        ident = client.deliver(TEXT, [box])
        nodes[0].kill()
        wait_for(lambda: b"state=away" in client.call(stored.CLUSTER).rows, "the node to be down")
        said = "the node that has this mailbox cannot be reached"
        self.assertEqual([row.split("\t")[0] for row in self.run_tool(nodes[1], "ls", box, status=75, said=said)], [ident])
        self.run_tool(nodes[1], "export", "--mbox", self.path("mbox"), box, status=75, said=said)
        self.run_tool(nodes[1], "rm", box, lost, status=75, said=said)
        self.run_tool(nodes[1], "rm", box, ident)
        client.deliver(TEXT, [box])
        self.run_tool(nodes[1], "rm", "--all", box, status=75, said=said)
        self.assertEqual(client.entries(box), [])

    def test_an_export_of_all_mailboxes_says_that_a_node_was_away_for_a_while(self):
        nodes = self.begin_moved()
        self.expect_log("")
        client, (box, *_) = self.client(nodes[1]), USERS
        client.deliver(TEXT, [box])
        self.move(client, box, 2)
        client.deliver(TEXT, [box])
        lists = []

        def is_away():
            return b"state=away" in client.call(stored.CLUSTER).rows

        def be_away_for_lists(packet):
            kind = stored.REQUEST.unpack_from(packet)[1]
            if kind == stored.LIST:
                lists.append(packet)
                if len(lists) == 1:
                    nodes[0].kill()
                    wait_for(is_away, "the node to be down")
            elif kind == stored.BOXES and len(lists) > 0 and is_away():
                nodes[0].revive()
                wait_for(lambda: not is_away(), "the node to be back")

        with self.way(nodes[1].stored.socket, be_away_for_lists) as at:
            result = subprocess.run([program("mail-store"), "export", "--store", at, "--maildirs", self.path("all")],
                                    text=True, capture_output=True, timeout=DEADLINE_S, check=False)
        self.assertEqual(result.returncode, 75, result.stderr)
        self.assertIn("the node that has this mailbox cannot be reached", result.stderr)


if __name__ == "__main__":
    main()
