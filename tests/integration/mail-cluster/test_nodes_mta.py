#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Postfix before nodes that share mailboxes: it delivers to the LMTP of its own node, which brings each mail to the
node of its mailbox (version 1), or asks the socketmap of a node and goes there by itself (version 2).
"""

import smtplib
import socket

import stored
from clusters import Cluster
from harness import DEADLINE_S, Case, main, wait_for
from mta import SESSION_S, Postfix, need_root

USERS = {f"user{number}@example.com": "secret" for number in range(8)}
TEXT = b"From: sender@example.net\r\nSubject: once\r\n\r\n.dot\r\n"


def ask(path, name, key):
    """The socketmap's word."""
    question = f"{name} {key}".encode()
    with socket.socket(socket.AF_UNIX) as link:
        link.settimeout(DEADLINE_S)
        link.connect(path)
        link.sendall(b"%d:%s," % (len(question), question))
        size, word = link.recv(1000).split(b":", 1)
        assert len(word) == int(size) + 1 and word.endswith(b","), word
        return word[:-1].decode()


class WithPostfix:
    def setUp(self):
        super().setUp()
        need_root()
        self.location = self.path("location")
        self.expect_log(r"warning: \[mail-stored\] node is down, ")
        self.cluster = Cluster(self, USERS, kind="nodes", has_fronts=False, stored={"socket-mode": "666"},
                               nodes={"silence": "30s"})
        self.nodes = self.cluster.nodes
        self.client = self.nodes[0].stored.client()
        self.addCleanup(self.client.close)
        self.wait_for_nodes()

    def wait_for_nodes(self):
        wait_for(lambda: b"state=away" not in self.client.call(stored.CLUSTER).rows, "all nodes to be there")

    def node_of(self, box):
        return self.client.call(stored.LOCATE, name=box.encode()).number

    def start_postfix(self, *lines):
        return Postfix(self, main=[*lines, "minimal_backoff_time = 1s", "maximal_backoff_time = 1s",
                                   "queue_run_delay = 1s"],
                       master=["lmtp unix - - n - - lmtp", "flush unix n - n 1000? 0 flush",
                               "pickup unix n - n 60 1 pickup"])

    def send(self, server, recipients):
        with smtplib.SMTP(*server.address, timeout=SESSION_S) as session:
            session.sendmail("sender@example.net", recipients, TEXT)

    def wait_for_mails(self, boxes, count=1):
        for box in boxes:
            wait_for(lambda box=box: len(self.client.entries(box)) >= count, f"{count} mails in {box}", SESSION_S)

    def check_outage(self, server):
        """Mails for a node that is down wait in the queue, and no others."""
        self.expect_log("")
        self.nodes[2].kill()
        wait_for(lambda: self.client.call(stored.CLUSTER).rows.count(b"state=away") == 1, "the node to be missed")
        self.send(server, list(USERS))
        self.wait_for_mails([box for box in USERS if self.node_of(box) != 3], 2)
        server.wait_for_log(r"status=deferred")
        self.nodes[2].revive()
        self.wait_for_nodes()
        server.run_queue()
        try:
            self.wait_for_mails(list(USERS), 2)
        except AssertionError:
            print(server.log(), *(node.stored.process.log() for node in self.nodes), sep="\n")
            raise
        self.assertEqual({len(self.client.entries(box)) for box in USERS}, {2})


class ByTheLocalNode(WithPostfix, Case):
    def test_the_lmtp_of_one_node_takes_mail_for_all(self):
        host, port = self.nodes[0].lmtp_address
        server = self.start_postfix(f"virtual_transport = lmtp:inet:[{host}]:{port}")
        self.send(server, list(USERS))
        self.wait_for_mails(list(USERS))
        self.assertEqual(self.client.stat()["mails"], 3)
        self.check_outage(server)


class BySocketmap(WithPostfix, Case):
    def setUp(self):
        super().setUp()
        self.restart_with_map(self.nodes[0])

    def restart_with_map(self, node):
        node.stored.stop()
        node.stored.write_config(nodes={"location": self.location})
        node.stored.start()
        self.client.close()
        self.client = node.stored.client()
        self.addCleanup(self.client.close)
        self.wait_for_nodes()

    def test_a_socketmap_says_which_node_to_go_to(self):
        for box in USERS:
            node = self.nodes[self.node_of(box) - 1]
            host, port = node.lmtp_address
            self.assertEqual(ask(self.location, "transport", box), f"OK lmtp:inet:[{host}]:{port}")
            self.assertEqual(ask(self.location, "mailertable", box), f"OK lmtpnode:[{host}]")
            self.assertEqual(ask(self.location, "location", box), f"OK {node.name} {host} {port}")
        self.assertEqual(ask(self.location, "transport", "example.com"), "NOTFOUND ")
        self.assertTrue(ask(self.location, "else", box).startswith("PERM "))
        server = self.start_postfix(f"transport_maps = socketmap:unix:{self.location}:transport")
        self.send(server, list(USERS))
        self.wait_for_mails(list(USERS))
        for node in self.nodes:
            node.stored.wait_for_log(r"mail accepted, ")
        self.check_outage(server)


if __name__ == "__main__":
    main()
