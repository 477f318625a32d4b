#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Nodes with a store each that have not what is theirs: the disk of another one.
"""

import os

import stored
from harness import DEADLINE_S, EX_CONFIG, main, wait_for
from sharing import TEXT, USERS, Nodes


class Disks(Nodes):
    def swap_stores(self, *nodes):
        first, second = (node.stored.directory for node in nodes)
        for source, target in ((first, first + "-away"), (second, first), (first + "-away", second)):
            os.rename(source, target)

    def test_a_node_does_not_start_with_the_disk_of_another(self):
        first, *nodes = self.begin()
        self.expect_log("")
        client = self.client(first)
        idents = {box: client.deliver(TEXT, [box]) for box in USERS}
        for node in nodes:
            node.kill()
        self.swap_stores(*nodes)
        for node in nodes:
            process = self.start(node.stored.process.arguments, "swapped")
            process.wait_for_log(rf"^error: \[mail-stored\] store is another node's, path=.*/node number={node.number} ")
            self.assertEqual(process.popen.wait(DEADLINE_S), EX_CONFIG)
        self.swap_stores(*nodes)
        for node in nodes:
            node.revive()
        wait_for(lambda: b"state=away" not in client.call(stored.CLUSTER).rows, "the nodes to be back")
        for box, ident in idents.items():
            self.assertEqual([one for _, one, _ in client.entries(box)], [ident])

    def test_a_store_that_a_node_begins_is_told(self):
        node = self.begin()[1]
        line = r"^info: \[mail-stored\] store is this node's from now on, path=.*/node number=2$"
        self.assertEqual(len(node.stored.wait_for_log(line)), 1)
        node.stored.stop()
        node.stored.start()
        self.assertNotRegex(node.stored.process.log(), "(?m)" + line)


if __name__ == "__main__":
    main()
