#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Where the processes of dnsblv6d run, and before whom: pin-workers and realtime.

Needs root for real-time tasks, and two cores for what is pinned.
"""

import os
import resource
import signal
import socket
import unittest

from harness import (AAAA, NOERROR, ZONE, Case, ask, children_of, config_text, framed, main,
                     program, query, wait_for)

NAME = f"0.2.0.192.{ZONE}"
AXFR = 252
CORES = sorted(os.sched_getaffinity(0))
REALTIME = os.SCHED_RR | os.SCHED_RESET_ON_FORK
needs_root = unittest.skipIf(os.geteuid() != 0, "not root")
needs_cores = unittest.skipIf(len(CORES) == 1, "this machine has one core")


class Turns(Case):
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

    def assert_serves(self):
        self.assertEqual(ask(self.address, NAME, AAAA).rcode, NOERROR)

    def connect(self):
        """Half a question, for which a worker that drains waits."""
        client = socket.create_connection(self.address, 10)
        self.addCleanup(client.close)
        asked = framed(query(NAME, AAAA, 1))
        client.sendall(asked + asked[:20])
        client.recv(2)


class Cores(Turns):
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


def forbid_realtime():
    resource.setrlimit(resource.RLIMIT_RTPRIO, (0, 0))
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)


@needs_root
class Realtime(Turns):
    def test_workers_are_real_time_tasks_while_they_serve(self):
        lines = "workers: 1", "realtime: on", "user: nobody", "drain-timeout: 30"
        os.chown(self.store + "-lock", 65534, 65534)
        server = self.serve_with(*lines)
        worker, = server.children()
        self.assertEqual(os.sched_getscheduler(worker), REALTIME)
        self.assertEqual(os.sched_getparam(worker).sched_priority, 1)
        self.assertEqual(os.sched_getscheduler(server.pid), os.SCHED_OTHER)
        self.assert_serves()
        self.connect()
        self.reload(server, *lines)
        wait_for(lambda: os.sched_getscheduler(worker) in
                 (os.SCHED_OTHER, os.SCHED_OTHER | os.SCHED_RESET_ON_FORK), "it to drain")
        following, = set(server.children()) - {worker}
        self.assertEqual(os.sched_getscheduler(following), REALTIME)

    def test_what_they_start_is_none(self):
        self.build(self.store, self.write("large.txt", "".join(
            f"198.{i}.{k}.1\n" for i in range(20, 40) for k in range(256))),
            "--max-grow", "1000000")
        server = self.serve_with("workers: 1", "realtime: on")
        # A client that takes nothing keeps its transfer where it can be looked at.
        with socket.socket() as tcp:
            tcp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            tcp.connect(self.address)
            tcp.sendall(framed(query(ZONE, AXFR, 1)))
            transfer = wait_for(lambda: [pid for worker in server.children()
                                         for pid in children_of(worker)], "a transfer")[0]
            self.assertEqual(os.sched_getscheduler(transfer), os.SCHED_OTHER)

    def test_where_that_is_forbidden_workers_say_so_and_serve(self):
        os.chmod(self.path("."), 0o777)
        os.chmod(self.store, 0o644)
        os.chmod(self.store + "-lock", 0o666)
        server = self.serve_with("workers: 1", "realtime: on", preexec_fn=forbid_realtime)
        server.wait_for_log(r"^warning: \[dnsblv6d\] worker is no real-time task, pid=\d+ "
                            r"\(Operation not permitted\)$")
        self.assert_serves()

    def test_a_change_needs_a_restart(self):
        server = self.serve_with("workers: 1")
        self.reload(server, "workers: 1", "realtime: on")
        server.wait_for_log(r"^warning: \[dnsblv6d\] configuration change needs a restart, "
                            r"item=realtime$")
        for worker in server.children():
            self.assertNotEqual(os.sched_getscheduler(worker), REALTIME)

    def test_an_administrators_own_choice_stays(self):
        server = self.serve_with("workers: 1", preexec_fn=lambda: os.sched_setscheduler(
            0, os.SCHED_FIFO, os.sched_param(2)))
        worker, = server.children()
        self.assertEqual(os.sched_getscheduler(worker), os.SCHED_FIFO)
        self.assertEqual(os.sched_getparam(worker).sched_priority, 2)


if __name__ == "__main__":
    main()
