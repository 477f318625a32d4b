# SPDX-License-Identifier: GPL-3.0-or-later
"""
sharing.py - a test case of nodes that have a store each, and share mailboxes.
"""

import contextlib
import os
import socket
import struct
import threading

import stored
from clusters import Cluster
from harness import DEADLINE_S, Case, wait_for

EAWAY = -2618
USERS = {f"user{number}@example.com": "secret" for number in range(12)}
TEXT = b"Subject: once\r\n\r\n.dot\r\nend\r\n"
NODE_BITS = 56


def node_of(number):
    return number >> NODE_BITS


class Nodes(Case):
    has_fronts = False  # smtp-front and pop-front at each node

    def begin(self, nodes=None, **how):
        # A busy machine is slow, and that is no silence; tests in which a node hangs set another.
        how["nodes"] = {"silence": "30s", **(nodes or {})}
        # At the end one goes before another.
        self.expect_log(r"warning: \[mail-stored\] node is down, ")
        self.cluster = Cluster(self, USERS, kind="nodes", has_fronts=self.has_fronts, **how)
        for node in self.cluster.nodes:
            with node.stored.client() as client:
                wait_for(lambda client=client: b"state=away" not in client.call(stored.CLUSTER).rows,
                         "all nodes to be there for each")
                wait_for(lambda client=client: self.are_stores_known(client), "all stores to be known")
        return self.cluster.nodes

    def are_stores_known(self, client):
        """Has each node said since when its store is there?"""
        return not any(client.call(stored.LOCATE, name=box.encode()).rows.endswith(b" since=0\n") for box in USERS)

    def client(self, node):
        client = node.stored.client()
        self.addCleanup(client.close)
        return client

    def boxes_by_node(self, client):
        """{number of a node: [mailbox, ...]}, as the cluster says."""
        found = {}
        for box in USERS:
            reply = client.call(stored.LOCATE, name=box.encode())
            self.assertEqual(reply.status, 0)
            found.setdefault(reply.number, []).append(box)
        return found

    def read(self, client, mail):
        """The text of a mail by its number; all of its lines end in CR LF."""
        row = client.call(stored.ROW, number=mail)
        self.assertEqual(row.status, 0)
        segment, at, _, meta_size, _, wire_size = struct.unpack_from(">QQQIBQ", row.rows)
        reply = client.call(stored.SEGMENT, number=segment)
        self.assertEqual(reply.status, 0)
        fd, = reply.fds
        try:
            text = os.pread(fd, wire_size, at + 104 + meta_size)  # as POP3 sends it
            return (b"\r\n" + text).replace(b"\r\n..", b"\r\n.")[2:]
        finally:
            os.close(fd)

    @contextlib.contextmanager
    def way(self, path, before, clients=1, is_kept=False):
        """
        A socket for as many clients of the store at path; before() is told each request, and may say that it is the
        client's last. is_kept: the store hears of their ends behind all else.
        """
        is_over = threading.Event()
        place = self.path("way")

        def pass_on(source, target, tell=lambda packet: None):
            packet, fds, *_ = socket.recv_fds(source, 1 << 17, 4)
            if packet and tell(packet):
                packet = b""
            if packet:
                socket.send_fds(target, [packet], fds)
            for fd in fds:
                os.close(fd)
            return packet

        def serve():
            here, _ = listener.accept()
            with here, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as there:
                there.connect(path)
                pass_on(there, here)
                with contextlib.suppress(BrokenPipeError):  # the store has ended it, and so this does
                    while pass_on(here, there, before):
                        pass_on(there, here)
                if is_kept:
                    is_over.wait(DEADLINE_S)

        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(place)
            listener.listen()
            listener.settimeout(DEADLINE_S)
            threads = [threading.Thread(target=serve) for _ in range(clients)]
            for thread in threads:
                thread.start()
            try:
                yield place
            finally:
                is_over.set()
                for thread in threads:
                    thread.join(DEADLINE_S)
