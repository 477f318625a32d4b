#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Nodes with a store each that have not what they should have: the disk of another one, or another configuration.
"""

import os
import re
import shutil
import unittest

import stored
from harness import DEADLINE_S, EX_CONFIG, main, program, wait_for
from sharing import TEXT, USERS, Nodes


class Restarted(Nodes):
    def begin(self, **how):
        # Of a node that ends while a link of it begins.
        self.expect_log("warning: .mail-stored. connection of no node refused, ")
        return super().begin(**how)


class Disks(Restarted):
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

    def start_copy(self, node):
        """A client of the same machine, which runs once more: at the address of clients, with a copy of the disk."""
        node.stored.stop()
        directory, socket = self.path("copied-store"), self.path("copied.socket")
        shutil.copytree(node.stored.directory, directory)
        for path, _, files in os.walk(directory):
            for name in ("", *files):
                shutil.chown(os.path.join(path, name), stored.USER)
        node.stored.start()
        with open(node.stored.config_path, encoding="ascii") as file:
            text = file.read()
        for before, after in ((f"directory: {node.stored.directory}\n", f"directory: {directory}\n"),
                              (f"socket: {node.stored.socket}\n", f"socket: {socket}\n"),
                              (f"listen: {node.stored.sections['nodes']['listen']}\n",
                               "listen: {}@{}\n".format(self.cluster.address(0), self.free_port())),
                              ("lmtp:\n    listen: [", "lmtp:\n    #listen: [")):
            self.assertIn(before, text)
            text = text.replace(before, after, 1)
        process = self.start([program("mail-stored"), "--config", self.write("copied.conf", text)], "copied")
        process.wait_for_log(r"^info: \[mail-stored\] ready, ")
        client = stored.Client(socket)
        self.addCleanup(client.close)
        return client

    @unittest.skipUnless(os.geteuid() == 0, "nodes that come from addresses of their own need network namespaces")
    def test_a_copy_of_a_machine_that_runs_beside_it_is_told_by_others(self):
        nodes = self.begin()
        client = self.client(nodes[1])
        copied = self.start_copy(nodes[0])
        wait_for(lambda: self.are_stores_known(copied), "the copy to have all others")
        line = r"^warning: \[mail-stored\] node comes from two addresses, node=a client=\S+ other=\S+$"
        for node in nodes[1:]:
            node.stored.wait_for_log(line)
        box, *_ = self.boxes_by_node(client)[1]
        copied.deliver(TEXT, [box])
        wait_for(lambda: client.call(stored.CHECK, name=box.encode()).status == 0, "the node to be back")
        self.assertEqual([len(one.entries(box)) for one in (copied, client)], [1, 0])
        for node in nodes[1:]:
            self.assertEqual(len(re.findall("(?m)" + line, node.stored.process.log())), 1)


class Configurations(Restarted):
    def entries(self, node):
        """Words of the head of "peer", and of each of its entries."""
        return node.stored.peers.split("  - name: ")

    def begin_again(self, node, entries=None, **sections):
        """Its mail-stored, with other peers or items."""
        node.stored.stop()
        if entries:
            node.stored.peers = "  - name: ".join(entries)
        node.stored.write_config(**sections)
        node.stored.start()

    def wait_for_lines(self, said):
        """{(node that says so, node that has another configuration): what differs}, and nothing else."""
        def lines():
            found = {}
            for node in self.cluster.nodes:
                for name, words in re.findall(
                        r"(?m)^warning: \[mail-stored\] node has another configuration, node=(\w) place=\S+ "
                        r"differs=(\S+)$", node.stored.process.log()):
                    self.assertNotIn((node.name, name), found)  # once
                    found[node.name, name] = words
            return found
        wait_for(lambda: lines() == said, f"{said} to be said")

    def test_peers_in_another_order_are_the_same(self):
        nodes = self.begin()
        head, *entries = self.entries(nodes[2])
        self.begin_again(nodes[2], [head, *reversed(entries)])
        clients = [self.client(node) for node in nodes]
        for client in clients:
            wait_for(lambda client=client: self.are_stores_known(client), "all stores to be known")
        for box in USERS:
            for client in clients:
                client.deliver(TEXT, [box])
            self.assertEqual([len(client.entries(box)) for client in clients], [3] * 3)
        self.wait_for_lines({})

    def test_another_number_of_copies_is_told_by_both_until_it_is_the_same(self):
        nodes = self.begin()
        self.expect_log("warning: .mail-stored. node has another configuration, ")
        self.begin_again(nodes[2], nodes={"copies": 2})
        self.wait_for_lines({pair: "copies" for pair in (("a", "c"), ("b", "c"), ("c", "a"), ("c", "b"))})
        self.check_health(nodes[0], "degraded", 1)
        self.check_health(nodes[2], "degraded", 2)
        self.begin_again(nodes[2], nodes={"copies": 1})
        for node in nodes[:2]:
            node.stored.wait_for_log(r"^info: \[mail-stored\] node has this configuration again, node=c place=")
            self.check_health(node, "well", 0)

    def check_health(self, node, state, differing):
        status, said = self.cluster.run_tool(node, "health")
        self.assertEqual((status, said.splitlines()[0].split()), (int(state != "well"), ["state", state]), said)
        self.assertRegex(said, rf"machines .*\bdiffering={differing}\b")

    def test_a_node_that_is_no_peer_of_another_is_told(self):
        nodes = self.begin()
        self.expect_log("warning: .mail-stored. node has another configuration, ")
        head, *entries = self.entries(nodes[2])
        nodes[2].stored.stop()
        shutil.rmtree(nodes[2].stored.directory)
        self.begin_again(nodes[2], [head, entries[0], entries[2]])
        self.wait_for_lines({("a", "c"): "peer,spread", ("c", "a"): "peer,spread"})

    def test_numbers_of_two_nodes_that_are_swapped_at_a_third_are_told(self):
        nodes = self.begin()
        self.expect_log("warning: .mail-stored. node has another configuration, ")
        head, *entries = self.entries(nodes[0])
        numbers = ("number: 2", "number: 3")
        self.begin_again(nodes[0], [head, entries[0], entries[1].replace(*numbers),
                                    entries[2].replace(*reversed(numbers))])
        self.wait_for_lines({("a", "b"): "number", ("a", "c"): "number"})


if __name__ == "__main__":
    main()
