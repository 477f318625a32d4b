# SPDX-License-Identifier: GPL-3.0-or-later
"""
moving.py - a test case of nodes whose list of users names the node of each mailbox.
"""

import os
import pwd
import subprocess

import stored
from harness import DEADLINE_S, program, wait_for
from sharing import USERS, Nodes


class MovedNodes(Nodes):
    has_fronts = True

    def build(self, words=None, without=()):
        """All users are of node 1, but for these: {mailbox: words of its entry}."""
        entries = {box: "node=1" for box in USERS if box not in without} | (words or {})
        subprocess.run([program("smtp-front-users"), "build", "-d", self.users, "-"], check=True, timeout=DEADLINE_S,
                       input="".join(f"{box} {said}\n" for box, said in entries.items()).encode())
        if os.geteuid() == 0:
            for path in (self.users, self.users + "-lock"):
                os.chown(path, pwd.getpwnam(stored.USER).pw_uid, -1)

    def begin_moved(self, count=2, **how):
        self.users = self.path("of-nodes.mdb")
        self.build()
        # What is left of a mail that has moved is collected when a test says so.
        return self.begin(count=count, stored={"users": self.users, "collect-interval": "24h"}, **how)

    def move(self, client, box, number):
        self.build({box: f"node={number}"})
        self.wait_for_node(client, box, number)

    def wait_for_node(self, client, box, number):
        wait_for(lambda: client.call(stored.LOCATE, name=box.encode()).number == number, "the mailbox to move")

    def mails(self, client, box):
        return [mail for mail, _, _ in client.entries(box)]

    def run_tool(self, node, *words, status=0, said=r"^$", at=None):
        command, *more = words
        result = subprocess.run([program("mail-store"), command, "--store", at or node.stored.socket, *more], text=True,
                                capture_output=True, timeout=DEADLINE_S, check=False)
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertRegex(result.stderr, said)
        return result.stdout.splitlines()

    def wait_until_away(self, client):
        wait_for(lambda: b"state=away" in client.call(stored.CLUSTER).rows, "the node to be missed")

    def wait_for_stores(self, client):
        wait_for(lambda: b"state=away" not in client.call(stored.CLUSTER).rows, "the node to be back")
        wait_for(lambda: self.are_stores_known(client), "its store to be known")
