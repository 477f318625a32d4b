#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
A worker that serves a large list has at most 4 MB of memory of its own.

RssAnon of /proc/PID/status, before and after a million questions. Takes
ipsum.txt when it is there, and a list with as many /25s otherwise.
"""

import ipaddress
import os
import socket

from harness import (AAAA, DATA, DEADLINE_S, IS_SANITIZED, SEED, Case, anonymous_kb, bitmap_name, main,
                     query)
from oracle import Oracle

LIMIT_KB = 4096
QUESTIONS = 1000000
WINDOW = 200  # in flight: far less than a socket buffer holds


class Memory(Case):
    def make_list(self):
        real = os.path.join(DATA, "ipsum.txt")
        if os.path.exists(real):
            return real
        numbers = (self.random.randint(0x20000000, 0x60000000) for _ in range(70000))
        return self.write("list.txt",
                          "".join(f"{ipaddress.IPv4Address(number)}\n" for number in numbers))

    def assert_small(self, server):
        workers = server.children()
        self.assertGreaterEqual(len(workers), 1)
        sizes = {pid: anonymous_kb(pid) for pid in workers}
        print(f"RssAnon of each worker: {sorted(sizes.values())} kB")
        self.assertTrue(all(size <= LIMIT_KB for size in sizes.values()), sizes)

    def put(self, address, packets, count):
        """count questions out of packets, WINDOW at a time. Returns how many were answered."""
        answered = 0
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            udp.connect(address)
            udp.settimeout(DEADLINE_S)
            send, receive = udp.send, udp.recv
            for start in range(0, count, WINDOW):
                for index in range(start, start + WINDOW):
                    send(packets[index % len(packets)])
                for _ in range(WINDOW):
                    receive(2048)
                answered += WINDOW
        return answered

    def test_worker_memory_before_and_after_a_million_questions(self):
        if IS_SANITIZED:
            self.skipTest("the address sanitizer's own memory would be measured")
        path = self.make_list()
        self.build(self.path("bl6.mdb"), "--ignore-columns", path)
        server = self.serve()
        addresses = Oracle().read_plain(path).sample(4000, SEED)
        packets = [query(bitmap_name(address), AAAA, index, edns_size=1232)
                   for index, address in enumerate(addresses)]
        self.put(server.address, packets, WINDOW)
        self.assert_small(server)
        self.assertEqual(self.put(server.address, packets, QUESTIONS), QUESTIONS)
        self.assert_small(server)


if __name__ == "__main__":
    main()
