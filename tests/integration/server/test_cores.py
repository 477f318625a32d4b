#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Where the processes of dnsblv6d run: pin-workers.

Needs root for what an administrator may choose, and two cores for what is pinned.
"""

import os
import signal
import socket
import unittest

from harness import AAAA, DEADLINE_S, ZONE, Case, config_text, framed, main, program, query, wait_for

NAME = f"0.2.0.192.{ZONE}"
CORES = sorted(os.sched_getaffinity(0))
needs_root = unittest.skipIf(os.geteuid() != 0, "not root")
needs_cores = unittest.skipIf(len(CORES) == 1, "this machine has one core")


class Served(Case):
    def setUp(self):
        super().setUp()
        self.store = self.path("bl6.mdb")
        self.address = self.free_address()
        self.build(self.store, self.write("list.txt", "192.0.2.1\n"))

    def write_config(self, *lines):
        text = config_text(self.address, [(ZONE, self.store, None)], lines)
        return self.write("dnsblv6d.conf", text + "    secondary: any\nsecondary:\n"
                                                  "  - id: any\n    allow: 127.0.0.0/8\n")

    def serve_with(self, *lines, **how):
        # A copy, because "nobody" has to read it.
        command = [self.readable_program(program("dnsblv6d")), "--config",
                   self.write_config(*lines)]
        server = self.start(command, "dnsblv6d", **how)
        server.wait_for_log(r"^info: \[dnsblv6d\] ready, ")
        return server

    def reload(self, server, *lines):
        """Another configuration; ends when new workers serve."""
        self.write_config(*lines)
        server.send_signal(signal.SIGHUP)
        server.wait_for_log(r"^info: \[dnsblv6d\] reloaded, ")

    def connect(self):
        """Half a question, for which a worker that drains waits."""
        client = socket.create_connection(self.address, DEADLINE_S)
        self.addCleanup(client.close)
        asked = framed(query(NAME, AAAA, 1))
        client.sendall(asked + asked[:20])
        client.recv(2)


class Cores(Served):
    def test_pinned_workers_have_a_core_each_as_long_as_there_are_some(self):
        server = self.serve_with(f"workers: {len(CORES) + 1}", "pin-workers: on")
        used = sorted(core for pid in server.children() for core in os.sched_getaffinity(pid))
        self.assertEqual(used, sorted(CORES + [CORES[0]]))
        self.assertEqual(os.sched_getaffinity(server.pid), set(CORES))

    @needs_cores
    def test_nothing_else_runs_on_the_core_of_a_pinned_worker(self):
        lines = "workers: 1", "pin-workers: on", "drain-timeout: 30"
        server = self.serve_with(*lines)
        worker, = server.children()
        self.assertEqual(os.sched_getaffinity(worker), {CORES[0]})
        self.assertEqual(os.sched_getaffinity(server.pid), set(CORES[1:]))
        # One that ends leaves the core to the next.
        self.connect()
        self.reload(server, *lines)
        wait_for(lambda: os.sched_getaffinity(worker) == set(CORES[1:]), "it to leave")
        following, = set(server.children()) - {worker}
        self.assertEqual(os.sched_getaffinity(following), {CORES[0]})

    def test_without_pinning_all_may_run_everywhere_again(self):
        server = self.serve_with("workers: 1", "pin-workers: on")
        self.reload(server, "workers: 1")
        wait_for(lambda: len(server.children()) == 1, "the first worker to end")
        for pid in (server.pid, *server.children()):
            self.assertEqual(os.sched_getaffinity(pid), set(CORES))


@needs_root
class Administrator(Served):
    def test_an_administrators_own_choice_stays(self):
        server = self.serve_with("workers: 1", preexec_fn=lambda: os.sched_setscheduler(
            0, os.SCHED_FIFO, os.sched_param(2)))
        worker, = server.children()
        self.assertEqual(os.sched_getscheduler(worker), os.SCHED_FIFO)
        self.assertEqual(os.sched_getparam(worker).sched_priority, 2)


if __name__ == "__main__":
    main()
