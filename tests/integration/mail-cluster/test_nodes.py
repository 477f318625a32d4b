#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Nodes that share mailboxes without a file system between them: each has a store of its own, and clients of each reach
all mailboxes. A node that is down takes its own mailboxes with it, and no others.
"""

import contextlib
import ctypes
import errno
import os
import pwd
import re
import select
import signal
import smtplib
import socket
import ssl
import struct
import subprocess
import threading
import time

import harness
import popclient
import popfront
import stored
from clusters import make_peer
from harness import DEADLINE_S, EX_CONFIG, children_of, main, program, wait_for
from sharing import EAWAY, TEXT, USERS, Nodes, node_of


ROW_SIZE = 65


def name_of(pid):
    with open(f"/proc/{pid}/comm", encoding="ascii") as file:
        return file.read().strip()


class Sharing(Nodes):
    def test_a_mail_is_delivered_at_one_node_and_read_and_deleted_at_all(self):
        clients = [self.client(node) for node in self.begin()]
        boxes = self.boxes_by_node(clients[0])
        self.assertEqual(set(boxes), {1, 2, 3})
        large = b"." + os.urandom(200000).replace(b"\r", b"x").replace(b"\n", b"\r\n") + b"\r\n"
        for number, (box, *_) in boxes.items():
            for text in (TEXT, large):
                ident = clients[0].deliver(text, [box])
                for client in clients:
                    mail, found, _ = client.entries(box)[-1]
                    self.assertEqual((node_of(mail), found), (number, ident))
                    self.assertEqual(client.call(stored.FIND_ID, ident=ident).number, mail)
                    self.assertEqual(self.read(client, mail), text)
        for number, (box, *_) in boxes.items():
            (mail, _, _), _ = clients[1].entries(box)
            self.assertEqual(clients[2].erase(box, [mail]), 0)
            for client in clients:
                self.assertEqual(len(client.entries(box)), 1)

    def test_a_mail_for_mailboxes_of_all_nodes_is_one_mail_at_each(self):
        nodes = self.begin()
        client = self.client(nodes[1])
        client.deliver(TEXT, list(USERS))
        for box in USERS:
            self.assertEqual(len(client.entries(box)), 1)
        self.assertEqual(client.stat()["mails"], 3)
        names = []
        while (reply := client.call(stored.BOXES, name=names[-1] if names else b"")).count:
            names += re.findall(rb"user\d+@example\.com", client.rows(reply))
        self.assertEqual(names, sorted(box.encode() for box in USERS))

    def test_clients_that_are_too_many_are_counted(self):
        node = self.begin(stored={"clients": 10})[0]
        clients = []
        with self.assertRaises(ConnectionResetError):
            for _ in range(20):
                clients.append(self.client(node))
        node.stored.process.send_signal(signal.SIGUSR1)
        line, = node.stored.wait_for_log(r"^info: \[mail-stored-nodes\] counters, (.*)")
        self.assertIn("connections-refused=1", line.split())
        self.assertEqual({client.call(stored.MAKE_ID).status for client in clients}, {0})

    def test_a_login_is_checked_at_the_node_that_is_asked(self):
        logins, box = self.path("logins.mdb"), next(iter(USERS))
        path = self.write("logins", f"{box} {popfront.secret_words(USERS[box])}\n")
        subprocess.run([program("smtp-front-users"), "build", "--database", logins, path], check=True,
                       timeout=DEADLINE_S, capture_output=True)
        for node in self.begin(stored={"logins": logins}):
            client = self.client(node)
            right = client.call(stored.LOGIN, name=box.encode(), memory=USERS[box].encode())
            self.assertEqual((right.status, right.rows), (0, f"mailbox={box}\n".encode()))
            wrong = client.call(stored.LOGIN, name=box.encode(), memory=b"another")
            self.assertEqual((wrong.status, wrong.rows), (-errno.EACCES, b""))
            # Its answer waits while the node ends, which does not wait for it.
            client.send(stored.LOGIN, name=box.encode(), memory=b"another")
            client.call(stored.LOCATE, name=box.encode())
            self.assertEqual(node.stored.stop(), 0)
            self.assertIn(client.take().status, (-errno.EACCES, -errno.EAGAIN))

    def test_a_lock_is_one_for_all_nodes_and_ends_with_its_client_or_its_node(self):
        nodes = self.begin()
        one, other, third = (self.client(node) for node in nodes)
        boxes = self.boxes_by_node(one)
        for number in (1, 2):
            box = boxes[number][0]
            self.assertEqual(one.lock(box), 0)
            self.assertEqual(one.lock(box), 0)
            self.assertEqual(one.lock(boxes[3][0]), stored.ELOCK)
            self.assertEqual(other.lock(box), -16)
            self.assertEqual(one.unlock(), 0)
            self.assertEqual(other.lock(box), 0)
            self.assertEqual(third.lock(box), -16)
            self.assertEqual(other.unlock(), 0)
        box = boxes[3][0]
        self.assertEqual(one.lock(box), 0)
        one.close()
        wait_for(lambda: third.lock(box) == 0, "the lock to end with its client")
        self.assertEqual(third.unlock(), 0)
        self.assertEqual(other.lock(box), 0)
        self.expect_log("")
        nodes[1].kill()
        wait_for(lambda: third.lock(box) == 0, "the lock to end with its node")



class Failing(Nodes):
    def test_a_node_that_is_killed_takes_its_own_mailboxes_alone(self):
        nodes = self.begin()
        self.expect_log("")
        client = self.client(nodes[0])
        boxes = self.boxes_by_node(client)
        idents = {box: client.deliver(TEXT, [box]) for box in USERS}
        nodes[2].kill()
        wait_for(lambda: client.call(stored.CHECK, name=boxes[3][0].encode()).status == EAWAY, "the node to be missed")
        for box in boxes[3]:
            client.send_mail(TEXT, [box])
            self.assertEqual(client.take().status, EAWAY)
            self.assertEqual(client.call(stored.LIST, size=10, name=box.encode()).status, EAWAY)
        for box in boxes[1] + boxes[2]:
            client.deliver(TEXT, [box])
            self.assertEqual(len(client.entries(box)), 2)
        # Some of a mail's recipients: which ones is in rows.
        mixed = [boxes[1][0], boxes[3][0]]
        client.send_mail(TEXT, mixed)
        reply = client.take()
        self.assertEqual(reply.status, EAWAY)
        self.assertEqual(struct.unpack(">2i", reply.rows), (0, EAWAY))
        self.check_that_its_mailboxes_are_missed(nodes[0], set(USERS) - set(boxes[3]))
        nodes[2].revive()
        wait_for(lambda: client.call(stored.CHECK, name=boxes[3][0].encode()).status == 0, "the node to be back")
        for box in boxes[3]:
            self.assertEqual([ident for _, ident, _ in client.entries(box)], [idents[box]])

    def check_that_its_mailboxes_are_missed(self, node, left):
        """What reads all mailboxes has those that are left, and says that these are not all."""
        said = node.stored.run_tool("ls", status=os.EX_TEMPFAIL)
        self.assertEqual({line.split(b"\t")[0].decode() for line in said.splitlines()}, left)
        directory = self.path("export")
        node.stored.run_tool("export", "--maildirs", directory, status=os.EX_TEMPFAIL)
        self.assertEqual(set(os.listdir(directory)) - {"tmp"}, left)
        self.check_that_numbers_are_those_of_the_others(node)

    def check_that_numbers_are_those_of_the_others(self, node):
        def call(command):
            return subprocess.run([program("mail-store"), command, "--store", node.stored.socket], timeout=DEADLINE_S,
                                  capture_output=True, check=False)
        said, name = call("stat"), self.cluster.nodes[2].name
        self.assertEqual((said.returncode, said.stderr.decode()),
                         (os.EX_TEMPFAIL, f"error: nodes do not answer, store={node.stored.socket} nodes={name}\n"))
        stores = [other.stored.client() for other in self.cluster.nodes[:2]]
        mails = 0
        for client in stores:
            with client:
                mails += client.stat(own=True)["mails"]
        self.assertIn(f"mails\t{mails}\n".encode(), said.stdout)
        # A store is collected by itself: no other one is asked.
        said = call("collect")
        self.assertEqual((said.returncode, said.stderr), (0, b""))
        self.assertRegex(said.stdout, rb"^reclaimed-bytes\t\d+\ncopied-bytes\t\d+\n$")

    def test_lmtp_tells_each_recipient_what_its_node_has_said(self):
        self.check_lmtp(1)

    def test_lmtp_of_version_2_goes_to_each_node_by_itself(self):
        self.check_lmtp(2)

    def check_lmtp(self, version):
        nodes = self.begin(nodes={"version": version, "silence": "3s"})
        self.expect_log("")
        client = self.client(nodes[0])
        boxes = self.boxes_by_node(client)
        first, away, other = boxes[1][0], boxes[3][0], boxes[2][0]
        recipients = [first, away, other]

        def deliver():
            """Replies to RCPT, and those behind the mail."""
            with socket.create_connection(nodes[0].lmtp_address, DEADLINE_S) as link, link.makefile("rb") as lines:
                link.settimeout(DEADLINE_S)
                link.sendall(b"LHLO c.example\r\n")
                self.assertTrue(lines.readline().startswith(b"220 "))
                while not (line := lines.readline()).startswith(b"250 "):
                    self.assertTrue(line.startswith(b"250-"), line)
                link.sendall(b"MAIL FROM:<s@example.net>\r\n" + b"".join(
                    f"RCPT TO:<{box}>\r\n".encode() for box in recipients))
                self.assertTrue(lines.readline().startswith(b"250"))
                said = [lines.readline()[:9] for _ in recipients]
                link.sendall(b"DATA\r\n")
                self.assertTrue(lines.readline().startswith(b"354"))
                link.sendall(TEXT.replace(b"\r\n.", b"\r\n..") + b".\r\n")
                return said, [lines.readline()[:9] for word in said if word.startswith(b"250")]

        # LMTP has links of its own in version 2, and a node that did not listen yet is away for half a second.
        wait_for(lambda: deliver() == ([b"250 2.1.5"] * 3, [b"250 2.0.0"] * 3), "LMTP to have found all nodes")
        before = [len(client.entries(box)) for box in (first, other)]
        nodes[2].stop()
        try:
            # It is not known at first that it hangs.
            said, replies = deliver()
            self.assertEqual(replies[0], b"250 2.0.0")
            self.assertEqual(replies[-1], b"250 2.0.0")
            self.assertIn(b"451 4.4.1", said + replies)
            wait_for(lambda: client.call(stored.CHECK, name=away.encode()).status == EAWAY, "the node to be missed")
            self.assertEqual(deliver(), ([b"250 2.1.5", b"451 4.4.1", b"250 2.1.5"], [b"250 2.0.0"] * 2))
        finally:
            nodes[2].cont()
        self.assertEqual([len(client.entries(box)) for box in (first, other)], [count + 2 for count in before])

    def test_a_node_that_hangs_is_down_and_comes_back(self):
        nodes = self.begin(nodes={"silence": "3s"})
        self.expect_log("")
        client = self.client(nodes[0])
        boxes = self.boxes_by_node(client)
        nodes[1].stop()
        try:
            wait_for(lambda: client.call(stored.CHECK, name=boxes[2][0].encode()).status == EAWAY,
                     "the node to be missed")
            client.deliver(TEXT, [boxes[3][0]])
        finally:
            nodes[1].cont()
        wait_for(lambda: client.call(stored.CHECK, name=boxes[2][0].encode()).status == 0, "the node to be back")
        client.deliver(TEXT, [boxes[2][0]])

    def test_a_lock_of_a_node_that_hangs_ends_and_does_not_come_back_with_it(self):
        nodes = self.begin(nodes={"silence": "3s"})
        self.expect_log("")
        client, other, idle = self.client(nodes[0]), self.client(nodes[1]), self.client(nodes[2])
        box, another = self.boxes_by_node(client)[2][:2]
        mail = client.deliver(TEXT, [box]) and client.entries(box)[0][0]
        self.assertEqual((client.lock(box), idle.lock(another)), (0, 0))
        nodes[0].stop()
        try:
            wait_for(lambda: other.lock(box) == 0, "the lock to end with what has it")
            self.assertEqual(other.unlock(), 0)
            self.assertEqual(other.lock(another), -errno.EBUSY)
        finally:
            nodes[0].cont()
        with self.assertRaises(OSError):
            client.erase(box, [mail])
        self.assertEqual(len(other.entries(box)), 1)
        self.assertEqual(idle.unlock(), 0)

    def test_a_node_whose_store_hangs_is_down_and_comes_back(self):
        nodes = self.begin(nodes={"silence": "3s"})
        self.expect_log("")
        client = self.client(nodes[0])
        box = self.boxes_by_node(client)[2][0].encode()
        store = nodes[1].stored.pid_of("store")
        os.kill(store, signal.SIGSTOP)
        try:
            wait_for(lambda: client.call(stored.CHECK, name=box).status == EAWAY, "the node to be missed")
            self.assertEqual(client.call(stored.LIST, size=10, name=box).status, EAWAY)
        finally:
            os.kill(store, signal.SIGCONT)
        wait_for(lambda: client.call(stored.CHECK, name=box).status == 0, "the node to be back")
        client.deliver(TEXT, [box.decode()])

    def test_a_node_whose_disk_hangs_takes_no_mail_and_gives_what_it_has(self):
        nodes = self.begin(nodes={"timeout": "5s"})
        self.expect_log("warning: .mail-stored. node takes no mail, ")
        client, other = self.client(nodes[0]), self.client(nodes[0])
        boxes = self.boxes_by_node(client)
        box = boxes[2][0]
        client.deliver(TEXT, [box])
        syncers = [pid for pid in children_of(nodes[1].stored.pid_of("store")) if name_of(pid) == "syncer"]
        self.assertTrue(syncers)
        for pid in syncers:
            os.kill(pid, signal.SIGSTOP)
        try:
            client.send_mail(TEXT, [box])
            self.assertIn(client.take().status, (-errno.ETIMEDOUT, EAWAY))
            nodes[0].stored.wait_for_log(r"^warning: \[mail-stored\] node takes no mail, .* \(no answer in 5 s\)$")

            # One finds out, and others do not wait for that; on a slow machine its time may be over before.
            def is_put_off():
                client.send_mail(TEXT, [box])
                other.send_mail(TEXT, [box])
                refused = other.take().status
                is_first = select.select([client.socket], [], [], 0)[0] == []
                self.assertIn(client.take().status, (-errno.ETIMEDOUT, EAWAY))
                return refused == EAWAY and is_first
            wait_for(is_put_off, "a mail to be put off at once")
            self.assertEqual(client.call(stored.CHECK, name=box.encode()).status, 0)
            self.assertEqual(self.read(client, client.entries(box)[0][0]), TEXT)
            client.deliver(TEXT, [boxes[1][0], boxes[3][0]])
        finally:
            for pid in syncers:
                os.kill(pid, signal.SIGCONT)

        def is_taken():
            client.send_mail(TEXT, [box])
            return client.take().status == 0
        wait_for(is_taken, "the node to take mail again")
        nodes[0].stored.wait_for_log(r"^info: \[mail-stored\] node takes mail again, ")

    def test_a_module_that_ends_says_so_about_what_waits_for_a_node_that_hangs(self):
        nodes = self.begin()
        self.expect_log("warning: .mail-stored. process ended, role=module ")
        self.expect_log("warning: .mail-stored. store is not there, ")  # to mail servers, meanwhile
        client, idle = self.client(nodes[0]), self.client(nodes[0])
        boxes = self.boxes_by_node(client)
        idle.lock(boxes[1][0])
        store = nodes[1].stored.pid_of("store")
        os.kill(store, signal.SIGSTOP)
        try:
            client.send(stored.LIST, size=10, name=boxes[2][0].encode())
            os.kill(nodes[0].stored.pid_of("module"), signal.SIGTERM)
            self.assertEqual(idle.socket.recv(1), b"")  # at once, and with it its lock
            self.assertEqual(client.take().status, EAWAY)
            self.assertEqual(client.socket.recv(1), b"")
        finally:
            os.kill(store, signal.SIGCONT)
        wait_for(lambda: self.client(nodes[0]).call(stored.CHECK, name=boxes[1][0].encode()).status == 0,
                 "another module")

    def test_the_store_of_a_node_is_replaced_and_goes_on(self):
        nodes = self.begin()
        self.expect_log("")
        client = self.client(nodes[0])
        boxes = self.boxes_by_node(client)
        for node, box in ((nodes[0], boxes[1][0]), (nodes[1], boxes[2][0])):
            client.deliver(TEXT, [box])
            for role in ("store", "node", "store"):
                node.kill_role(role)

                def again(box=box):
                    client.send_mail(TEXT, [box])
                    return client.take().status == 0
                wait_for(again, f"{role} to be made again")


class Imports(Nodes):
    """mail-store import of another store's mailboxes, where a mail for several is at several nodes."""

    def export_of_other(self, node, *groups):
        """A directory with a maildir for each mailbox of a store elsewhere, which has one mail for each of groups."""
        for boxes in groups:
            node.stored.run_tool("deliver", *boxes, at=self.path("other"), stdin=TEXT)
        node.stored.run_tool("export", "--maildirs", self.path("all"), at=self.path("other"))
        return self.path("all")

    def test_a_mail_comes_with_the_second_import_to_the_node_that_was_down(self):
        nodes = self.begin()
        self.expect_log("")
        client = self.client(nodes[0])
        here, away = (self.boxes_by_node(client)[number][0] for number in (1, 2))
        directory = self.export_of_other(nodes[0], (here, away))
        nodes[1].kill()
        wait_for(lambda: client.call(stored.CHECK, name=away.encode()).status == EAWAY, "the node to be missed")
        again = ("import", "--maildirs", directory, "--only-new")
        for words in (again[:-1], again):
            nodes[0].stored.run_tool(*words, status=os.EX_TEMPFAIL)
        nodes[1].revive()
        wait_for(lambda: client.call(stored.CHECK, name=away.encode()).status == 0, "the node to be back")
        self.assertEqual(nodes[0].stored.run_tool(*again), b"1 mails imported, 0 were there\n")
        self.assertEqual(nodes[0].stored.run_tool(*again), b"0 mails imported, 1 were there\n")
        idents = [[ident for _, ident, _ in client.entries(box)] for box in (here, away)]
        self.assertEqual((idents[0], len(idents[0])), (idents[1], 1))

    def test_a_mail_that_several_nodes_have_is_deleted_from_the_mailbox_that_is_named(self):
        nodes = self.begin()
        client = self.client(nodes[0])
        boxes = [some[0] for some in self.boxes_by_node(client).values()]
        nodes[0].stored.run_tool("import", "--maildirs", self.export_of_other(nodes[0], boxes))
        for left, box in enumerate(boxes):
            (_, ident, _), = client.entries(box)
            nodes[0].stored.run_tool("rm", box, ident)
            self.assertEqual([len(client.entries(box)) for box in boxes],
                             [0] * (left + 1) + [1] * (len(boxes) - left - 1))


class Servers(Nodes):
    has_fronts = True

    def test_smtp_takes_mail_at_any_node_and_pop3_gives_it_out_at_any(self):
        nodes = self.begin()
        boxes = self.boxes_by_node(self.client(nodes[0]))
        for sender in nodes:
            with smtplib.SMTP(*sender.smtp_address, timeout=DEADLINE_S) as session:
                session.sendmail("sender@example.net", [some[0] for some in boxes.values()],
                                 b"Subject: once\r\n\r\n.dot\r\n")
        uids = {}
        for node in nodes:
            for box, *_ in boxes.values():
                with popclient.Client(node.pop_address) as client:
                    client.login(box, USERS[box])
                    found = client.uids()
                    self.assertEqual(len(found), 3)
                    self.assertEqual(uids.setdefault(box, found), found)
                    self.assertTrue(client.mail(2).endswith(b"Subject: once\r\n\r\n.dot\r\n"))
                    client.say("QUIT", "+OK")
        box = boxes[3][0]
        with popclient.Client(nodes[0].pop_address) as client:
            client.login(box, USERS[box])
            client.say("DELE 1", "+OK")
            client.say("QUIT", "+OK")
        with popclient.Client(nodes[1].pop_address) as client:
            client.login(box, USERS[box])
            self.assertEqual(len(client.uids()), 2)

    def test_a_mail_that_its_node_moves_in_its_log_is_read_at_another_before_and_after(self):
        """What moves it leaves out a mailbox that has deleted it, so that the record is another one."""
        nodes = self.begin(stored={"collect-share": 0})
        owner = self.client(nodes[1])
        box, other = self.boxes_by_node(owner)[2][:2]
        ident = owner.deliver(TEXT, [box, other])
        owner.deliver(TEXT * 100, [other])
        with popclient.Client(nodes[0].pop_address) as client:
            client.login(box, USERS[box])
            found = client.mail(1)
            self.assertEqual(owner.erase(other, [mail for mail, _, _ in owner.entries(other)]), 0)
            self.assertEqual(owner.call(stored.COLLECT, number=90).status, 0)
            self.assertEqual(client.mail(1), found)
            client.say("QUIT", "+OK")
        self.assertEqual(nodes[0].stored.run_tool("cat", ident), TEXT)

    def test_a_mail_that_the_disk_of_its_node_does_not_give_keeps_no_other_back(self):
        nodes = self.begin()
        line = r"(?m)^error: \[mail-stored\] mail not read, segment=0000000000000001 at="
        self.expect_log(line)
        self.expect_log(r"error: \[\w+\] mail is damaged, id=")
        owner = self.client(nodes[1])
        box = self.boxes_by_node(owner)[2][0]
        _, lost = (owner.deliver(text * 20000, [box]) for text in (b"kept\r\n", b"lost\r\n"))
        segment = os.path.join(nodes[1].stored.directory, "log", f"{1:016x}")
        os.truncate(segment, os.path.getsize(segment) - 1000)
        with popclient.Client(nodes[0].pop_address) as client:
            client.login(box, USERS[box])
            client.say("RETR 2", "-ERR [SYS/PERM] ")
            self.assertTrue(client.mail(1).endswith(b"kept\r\n"))
            client.say("DELE 1", "+OK")
            client.say("RETR 2", "-ERR [SYS/PERM] ")
            self.assertEqual(len(re.findall(line, nodes[1].stored.process.log())), 1)
            nodes[0].stored.run_tool("export", "--maildir", self.path("maildir"), box, status=os.EX_DATAERR)
            self.assertEqual(len(os.listdir(self.path("maildir/new"))), 1)
            client.say("QUIT", "+OK")
        self.assertEqual([ident for _, ident, _ in owner.entries(box)], [lost])

    def test_a_mail_for_a_node_whose_disk_is_full_goes_to_the_others_once(self):
        nodes = self.begin()
        client = self.client(nodes[0])
        here, full = (self.boxes_by_node(client)[number][0] for number in (1, 2))
        self.expect_log("")
        nodes[1].stored.stop()
        nodes[1].stored.write_config(stored={"reserve": "1000000G"})
        nodes[1].stored.start()
        wait_for(lambda: client.call(stored.CHECK, name=full.encode()).status != EAWAY, "the node to be back")

        def send(*boxes):
            with smtplib.SMTP(*nodes[0].smtp_address, timeout=DEADLINE_S) as session:
                return session.sendmail("sender@example.net", boxes, b"Subject: once\r\n\r\n.dot\r\n")

        self.assertEqual({box: said[0] for box, said in send(here, full).items()}, {full: 452})
        self.assertEqual([len(client.entries(box)) for box in (here, full)], [1, 0])

    def test_a_mail_that_a_node_has_not_taken_comes_again_for_its_mailboxes_alone(self):
        nodes = self.begin()
        client = self.client(nodes[0])
        self.expect_log("")
        here, lost = (self.boxes_by_node(client)[number][:2] for number in (1, 2))
        for text in (b"Subject: small\r\n\r\n.dot\r\n", b"Subject: large\r\n\r\n" + b"x\r\n" * 50000):
            before = [len(client.entries(box)) for box in here + lost]
            with smtplib.SMTP(*nodes[0].smtp_address, timeout=DEADLINE_S) as session:
                session.ehlo()
                said = [session.mail("sender@example.net")[0], *(session.rcpt(box)[0] for box in here + lost)]
                self.assertEqual(said, [250] * 5)
                nodes[1].kill()
                self.assertEqual(session.data(text)[0], 451)
            nodes[1].revive()
            wait_for(lambda: client.call(stored.CHECK, name=lost[0].encode()).status == 0, "the node to be back")
            for sender, more in (("sender@example.net", 0), ("other@example.net", 1)):
                with smtplib.SMTP(*nodes[0].smtp_address, timeout=DEADLINE_S) as session:
                    self.assertEqual(session.sendmail(sender, here + lost, text), {})
                self.assertEqual([len(client.entries(box)) - count for box, count in zip(here, before)], [1 + more] * 2)

    def test_an_entry_of_a_user_says_the_node_and_the_rest_is_spread(self):
        users = self.path("of-nodes.mdb")
        subprocess.run([program("smtp-front-users"), "build", "-d", users, "-"], check=True, timeout=DEADLINE_S,
                       input="".join(f"{box} node={3 - at % 3}\n" for at, box in enumerate(USERS)).encode())
        if os.geteuid() == 0:
            for path in (users, users + "-lock"):
                os.chown(path, pwd.getpwnam(stored.USER).pw_uid, -1)
        nodes = self.begin(stored={"users": users})
        client = self.client(nodes[0])
        self.assertEqual([client.call(stored.LOCATE, name=box.encode()).number for box in USERS],
                         [3 - at % 3 for at in range(len(USERS))])


class Liar:
    """In the place of a node that is not there: what goes with a request, and its reply, are the test's."""

    def __init__(self, case, node):
        self.case = case
        self.has_mail, self.may_answer, self.is_deaf = threading.Event(), threading.Event(), False
        self.pause_s = 0  # with each piece of a mail, and of its reply
        case.addCleanup(self.may_answer.set)
        section = node.stored.sections["nodes"]
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(section["certificate"], section["key"])
        host, port = section["listen"].split("@")
        thread = threading.Thread(target=self.listen, args=(node, (host, int(port))))
        thread.start()
        thread.join()
        case.addCleanup(self.listener.close)
        threading.Thread(target=self.run, daemon=True).start()

    def listen(self, node, address):
        """In a thread of its own, which goes into the network of the node."""
        if links := node.cluster.links:
            libc = ctypes.CDLL(None, use_errno=True)
            with open(f"/run/netns/{links.space(node.number)}", "rb") as space:
                self.case.assertEqual(libc.setns(space.fileno(), harness.CLONE_NEWNET), 0)
        self.listener = socket.create_server(address)
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)

    def run(self):
        with contextlib.suppress(OSError):
            while True:
                link, _ = self.listener.accept()
                if self.is_deaf:
                    link.close()
                else:
                    threading.Thread(target=self.talk, args=(link,), daemon=True).start()

    def talk(self, raw):
        with contextlib.suppress(OSError), self.context.wrap_socket(raw, server_side=True) as link, \
             link.makefile("rb") as stream:
            while head := stream.read(16):
                _, packet_size, memory_size = struct.unpack(">4sIQ", head)
                packet = stream.read(packet_size)
                for _ in range(0, memory_size, 1 << 18):
                    stream.read(min(1 << 18, memory_size))
                    memory_size -= 1 << 18
                    time.sleep(self.pause_s)
                kind, serial = (packet[4], int.from_bytes(packet[8:16], "big")) if packet else (stored.HELLO, 0)
                rows = b""
                if kind == stored.DELIVER:
                    self.has_mail.set()
                    self.may_answer.wait(DEADLINE_S)
                elif kind == stored.ROW:
                    rows = stored.ROW_HEAD.pack(1, 4096, 5000, 0xffffffff) + bytes(ROW_SIZE - stored.ROW_HEAD.size)
                reply = stored.REPLY.pack(b"Msa1", kind, serial, 0, len(rows) // ROW_SIZE, 0, bytes(16)) + rows
                reply = struct.pack(">4sIQ", b"Mnf1", len(reply), 0) + reply
                pieces = [reply] if kind != stored.DELIVER else [reply[at:at + 8] for at in range(0, len(reply), 8)]
                for piece in pieces:
                    time.sleep(self.pause_s)
                    link.sendall(piece)


class Liars(Nodes):
    def begin_with_liar(self, **settings):
        nodes = self.begin(nodes=settings)
        self.expect_log("")
        boxes = self.boxes_by_node(self.client(nodes[0]))
        nodes[1].kill()
        client = self.client(nodes[0])
        wait_for(lambda: b"state=away" in client.call(stored.CLUSTER).rows, "the node to be missed")
        liar = Liar(self, nodes[1])
        wait_for(lambda: b"state=away" not in client.call(stored.CLUSTER).rows, "what is in its place to be taken")
        return nodes, boxes[2][0], liar

    def test_a_connection_that_fails_leaves_mails_of_others_under_way(self):
        nodes, box, liar = self.begin_with_liar()
        one, other = self.client(nodes[0]), self.client(nodes[0])
        one.send_mail(TEXT, [box])
        self.assertTrue(liar.has_mail.wait(DEADLINE_S))
        liar.is_deaf = True
        other.send_mail(TEXT, [box])
        self.assertEqual(other.take().status, EAWAY)
        liar.may_answer.set()
        self.assertEqual(one.take().status, 0)

    def test_a_large_mail_on_a_slow_link_has_the_time_that_it_takes(self):
        nodes, box, liar = self.begin_with_liar(timeout="15s")
        liar.pause_s, begun = 0.8, time.monotonic()
        liar.may_answer.set()
        client = self.client(nodes[0])
        client.socket.settimeout(DEADLINE_S)
        client.send_mail(bytes(4 << 20), [box])
        self.assertEqual(client.take().status, 0)
        self.assertGreater(time.monotonic() - begun, 15)
        self.assertNotIn("takes no mail", nodes[0].stored.process.log())

    def test_a_mail_that_takes_too_long_for_clients_is_put_off(self):
        nodes, box, liar = self.begin_with_liar(timeout="3s")
        liar.pause_s = 1
        liar.may_answer.set()
        client = self.client(nodes[0])
        client.send_mail(bytes(4 << 20), [box])
        self.assertEqual(client.take().status, -errno.ETIMEDOUT)

    def test_a_node_that_stood_still_takes_no_other_for_silent(self):
        nodes, box, liar = self.begin_with_liar(timeout="8s", silence="5s")
        client = self.client(nodes[0])
        client.send_mail(TEXT, [box])
        self.assertTrue(liar.has_mail.wait(DEADLINE_S))
        module, before = nodes[0].stored.pid_of("module"), nodes[0].stored.process.log().count("node is down")
        os.kill(module, signal.SIGSTOP)
        try:
            liar.may_answer.set()
            time.sleep(13)  # more than both, and others give its links up
        finally:
            os.kill(module, signal.SIGCONT)
        self.assertEqual(client.take().status, 0)
        client = self.client(nodes[0])
        wait_for(lambda: client.call(stored.CHECK, name=self.boxes_by_node(client)[3][0].encode()).status == 0,
                 "the third node")
        self.assertNotIn("takes no mail", nodes[0].stored.process.log())
        self.assertEqual(nodes[0].stored.process.log().count("node is down"), before)

    def test_a_row_that_no_store_has_is_refused(self):
        nodes, _, _ = self.begin_with_liar()
        self.assertEqual(self.client(nodes[0]).call(stored.ROW, number=2 << 56 | 5).status, -errno.EPROTO)


class Strangers(Nodes):
    def connect(self, node, certificate=None, key=None):
        """TLS to what a node has for others."""
        host, port = node.stored.sections["nodes"]["listen"].split("@")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        if certificate:
            context.load_cert_chain(certificate, key)
            self.expect_log("warning: .mail-stored. node comes from two addresses, ")  # its own, and that of clients
        raw = socket.create_connection((host, int(port)), DEADLINE_S)
        self.addCleanup(raw.close)
        return context.wrap_socket(raw)

    def is_answered(self, node, **how):
        try:
            with self.connect(node, **how) as link:
                link.sendall(struct.pack(">4sIQ", b"Mnf1", 0, 0))
                return bool(link.recv(100))
        except (OSError, ssl.SSLError):
            return False

    def test_only_the_keys_of_peers_are_answered(self):
        node = self.begin()[0]
        self.expect_log("warning: .mail-stored. connection of no node refused")
        other = self.cluster.nodes[1].stored.sections["nodes"]
        self.assertTrue(self.is_answered(node, certificate=other["certificate"], key=other["key"]))
        self.assertFalse(self.is_answered(node))
        certificate, key, _ = make_peer(self, "stranger")
        self.assertFalse(self.is_answered(node, certificate=certificate, key=key))

    def test_a_check_reads_the_key_of_the_node(self):
        nodes = self.begin()
        one, other = (node.stored.sections["nodes"] for node in nodes[:2])
        with open(nodes[0].stored.config_path, encoding="utf-8") as file:
            config = file.read()
        for key, status, said in ((one["key"], 0, ""), (other["key"], EX_CONFIG, "certificate of this node not taken"),
                                  (self.path("missing.key"), EX_CONFIG, "certificate of this node not taken")):
            path = self.write("checked.conf", config.replace(f"key: {one['key']}\n", f"key: {key}\n"))
            result = subprocess.run([program("mail-stored"), "--check", "--config", path], capture_output=True,
                                    text=True, timeout=DEADLINE_S, check=False)
            self.assertEqual((result.returncode, said in result.stderr), (status, True), result.stderr)

    def deliver_as_a_peer(self, node, box, text=TEXT, pause_s=0):
        """Status of the node. With a pause after each octet of the head."""
        other = self.cluster.nodes[1].stored.sections["nodes"]
        head = stored.meta(b"s@example.net", [box.encode()])
        packet = stored.REQUEST.pack(b"Msr1", stored.DELIVER, stored.HAS_ID | stored.IS_MOVED, 0, 7, len(head),
                                     len(text), os.urandom(16), 0, 0)
        with self.connect(node, other["certificate"], other["key"]) as link, link.makefile("rb") as replies:
            frame = struct.pack(">4sIQ", b"Mnf1", len(packet), len(head + text))
            for octet in frame:
                link.sendall(bytes([octet]))
                time.sleep(pause_s)
            link.sendall(packet + head + text)
            _, size, _ = struct.unpack(">4sIQ", replies.read(16))
            return stored.REPLY.unpack_from(replies.read(size))[3]

    def test_a_mail_that_is_too_large_or_for_a_mailbox_of_another_node_is_refused(self):
        node = self.begin(stored={"size": "64K"})[0]
        self.expect_log("warning: .mail-stored. mail refused whose mailbox is of another node, count=1 ")
        boxes = self.boxes_by_node(self.client(node))
        for box in (boxes[1][0], "\x013/" + boxes[3][0]):
            self.assertEqual(self.deliver_as_a_peer(node, box), 0)
        for box in (boxes[2][0], "\x012/" + boxes[2][0]):
            self.assertEqual(self.deliver_as_a_peer(node, box), EAWAY)
        # The other node may take larger ones.
        for size in (1 << 20, 9 << 20):
            self.assertEqual(self.deliver_as_a_peer(node, boxes[1][0], bytes(size)), -errno.EFBIG)

    def test_what_is_no_frame_ends_the_link(self):
        node = self.begin()[0]
        self.expect_log("warning: .mail-stored. node breaks the protocol, node=")
        other = self.cluster.nodes[1].stored.sections["nodes"]
        for junk in (b"Mnf2" + bytes(12), struct.pack(">4sIQ", b"Mnf1", 1 << 20, 0), struct.pack(">4sIQ", b"Mnf1", 0, 5),
                     struct.pack(">4sIQ", b"Mnf1", 60, 1 << 42), struct.pack(">4sIQ", b"Mnf1", 60, 0) + bytes(60)):
            with self.connect(node, other["certificate"], other["key"]) as link:
                link.sendall(junk)
                self.assertEqual(link.recv(100), b"")

    def test_half_a_frame_ends_the_link_in_time(self):
        node = self.begin(nodes={"timeout": "3s"})[0]
        self.expect_log("warning: .mail-stored. node breaks the protocol, node=")
        other = self.cluster.nodes[1].stored.sections["nodes"]
        whole = struct.pack(">4sIQ", b"Mnf1", 0, 0)
        for half in (whole[:1], whole[:15], struct.pack(">4sIQ", b"Mnf1", 60, 1 << 20) + bytes(30)):
            with self.connect(node, other["certificate"], other["key"]) as link:
                link.sendall(whole)
                self.assertTrue(link.recv(100))
                link.sendall(half)
                self.assertEqual(link.recv(100), b"")

    def test_a_frame_that_goes_on_is_taken_for_twice_the_time(self):
        node = self.begin(nodes={"timeout": "7s"})[0]
        self.expect_log("warning: .mail-stored. node breaks the protocol, node=")
        box = self.boxes_by_node(self.client(node))[1][0]
        self.assertEqual(self.deliver_as_a_peer(node, box, pause_s=0.5), 0)
        with self.assertRaises((OSError, struct.error)):
            self.deliver_as_a_peer(node, box, pause_s=1.2)

    def test_a_reply_that_is_on_its_way_is_read_before_the_next_request_and_whole_at_the_end(self):
        node = self.begin()[0]
        client = self.client(node)
        text = os.urandom(8 << 20).hex().encode() + b"\r\n"
        box = self.boxes_by_node(client)[1][0]
        client.deliver(text, [box])
        (mail, _, _), = client.entries(box)
        other = self.cluster.nodes[1].stored.sections["nodes"]
        packet = stored.REQUEST.pack(b"Msr1", stored.SEGMENT, 0, 0, 7, mail & 0xffffffffffffff, 0, bytes(16), 0, 0)
        with self.connect(node, other["certificate"], other["key"]) as link, link.makefile("rb") as replies:
            link.sendall(struct.pack(">4sIQ", b"Mnf1", len(packet), 0) + packet)
            self.assertTrue(replies.read(16))
            link.sendall(struct.pack(">4sIQ", b"Mnf1", 0, 0))  # before the rest was read
            node.stored.wait_for_log("warning: .mail-stored. node breaks the protocol, node=")
        with self.connect(node, other["certificate"], other["key"]) as idle, \
                self.connect(node, other["certificate"], other["key"]) as link, link.makefile("rb") as replies:
            link.sendall(struct.pack(">4sIQ", b"Mnf1", len(packet), 0) + packet)
            _, packet_size, memory_size = struct.unpack(">4sIQ", replies.read(16))
            os.kill(node.stored.pid_of("node"), signal.SIGTERM)
            self.assertEqual(idle.recv(1), b"")
            self.assertEqual(len(replies.read(packet_size + memory_size)), packet_size + memory_size)
            self.assertEqual(link.recv(1), b"")
        self.expect_log("warning: .mail-stored. process ended, role=node ")
        # Other nodes come again while the next process begins, or while all end.
        self.expect_log("warning: .mail-stored. connection of no node refused")

    def test_connections_of_strangers_do_not_fill_the_log(self):
        node = self.begin()[0]
        line = r"(?m)^warning: .mail-stored. connection of no node refused, client=[0-9.]+ \("
        self.expect_log(line)
        host, port = node.stored.sections["nodes"]["listen"].split("@")

        def flood():
            for _ in range(40):
                with socket.create_connection((host, int(port)), DEADLINE_S) as stranger:
                    stranger.shutdown(socket.SHUT_WR)
                    while stranger.recv(100):
                        continue

        def count():
            log = node.stored.process.log()
            left_out = re.findall(r"(?m)^info: .mail-stored. lines left out, count=(\d+)$", log)
            return len(re.findall(line, log)), sum(map(int, left_out))

        begun = time.monotonic()
        flood()
        wait_for(lambda: sum(count()) == 40, "what was left out")
        flood()
        lines_max = 5 * (time.monotonic() - begun + 2)  # of each second that a machine takes
        node.stored.stop()
        self.assertEqual(sum(count()), 80)
        self.assertLess(count()[0], lines_max)

    def test_connections_of_strangers_take_no_places_of_nodes(self):
        links = 46
        node = self.begin(nodes={"links": links}, stored={"clients": 10})[0]
        self.expect_log("warning: .mail-stored. connection of no node refused")
        own = node.stored.sections["nodes"]
        host, port = own["listen"].split("@")
        for _ in range(3 * (2 * links + 16) + 10):
            self.addCleanup(socket.create_connection((host, int(port)), DEADLINE_S).close)
        other = self.cluster.nodes[1].stored.sections["nodes"]
        for _ in range(2 * 2 * (links + 1)):  # of two nodes, whose modules and LMTP have links and a pulse each
            link = self.connect(node, other["certificate"], other["key"])
            self.addCleanup(link.close)
            link.sendall(struct.pack(">4sIQ", b"Mnf1", 0, 0))
            with link.makefile("rb") as replies:
                _, size, _ = struct.unpack(">4sIQ", replies.read(16))
                self.assertEqual(stored.REPLY.unpack_from(replies.read(size))[3], 0)  # its store is there


if __name__ == "__main__":
    main()
