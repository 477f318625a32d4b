#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
What dnsblv6d and a service manager say to each other: READY, RELOADING and
STOPPING over $NOTIFY_SOCKET, and sockets that were bound beforehand. The test
is the service manager. Needs nothing else.
"""

import os
import re
import signal
import socket
import subprocess
import time

import harness
from harness import A, AAAA, CLASSIC, EX_CONFIG, NOERROR, ZONE

EX_OSERR = 71
SOCKETS = 'export LISTEN_PID=$$ LISTEN_FDS=$1; shift; exec "$@"'


def bind(kind, host, port, family=socket.AF_INET, is_shared=False):
    made = socket.socket(family, kind)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if is_shared:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    if family == socket.AF_INET6:
        made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, host != "dual")
    made.bind(("::" if host == "dual" else host, port))
    if kind == socket.SOCK_STREAM:
        made.listen(16)
    return made


class Manager:
    """Hears what a service says. As systemd does, it keeps what it passes open."""

    def __init__(self, path):
        self.path = path
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(path)

    def hear(self):
        self.socket.settimeout(harness.DEADLINE_S)
        return self.socket.recv(4096).decode()

    def hears_nothing(self):
        self.socket.setblocking(False)
        try:
            return not self.socket.recv(4096)
        except BlockingIOError:
            return True


class SystemdCase(harness.Case):
    def setUp(self):
        super().setUp()
        self.build(self.path("bl6.mdb"), self.write("list", "192.0.2.25\n"))
        self.manager = Manager(self.path("notify"))
        self.addCleanup(self.manager.socket.close)

    def write_config(self, address, server_lines=()):
        zones = [(ZONE, self.path("bl6.mdb"), CLASSIC)]
        return self.write("dnsblv6d.conf", harness.config_text(address, zones, server_lines))

    def start_managed(self, address, sockets=(), server_lines=()):
        """The server as a service that is told where to say that it is ready."""
        config = self.write_config(address, server_lines)
        return self.start(self.command(config, sockets), "dnsblv6d",
                          env={**os.environ, "NOTIFY_SOCKET": self.manager.path},
                          preexec_fn=lambda: pass_sockets(sockets), close_fds=False)

    def command(self, config, sockets):
        arguments = [harness.program("dnsblv6d"), "--config", config]
        return ["/bin/sh", "-c", SOCKETS, "sh", str(len(sockets)), *arguments] if sockets \
            else arguments

    def run_managed(self, address, sockets):
        """Until it ends by itself: exit status and log."""
        result = subprocess.run(self.command(self.write_config(address), sockets),
                                capture_output=True, check=False, timeout=harness.DEADLINE_S,
                                preexec_fn=lambda: pass_sockets(sockets), close_fds=False)
        return result.returncode, result.stderr.decode()

    def bind_pair(self, host, port, count=1, **how):
        pairs = [bind(kind, host, port, is_shared=count > 1, **how) for _ in range(count)
                 for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM)]
        for made in pairs:
            self.addCleanup(made.close)
        return pairs

    def assert_answers(self, address):
        self.assertEqual(harness.ask(address, f"0.2.0.192.{ZONE}", AAAA).rcode, NOERROR)
        query = harness.query(f"25.2.0.192.{CLASSIC}", A, 7)
        with socket.create_connection(address, harness.DEADLINE_S) as tcp:
            tcp.sendall(len(query).to_bytes(2, "big") + query)
            stream = tcp.makefile("rb")
            reply = harness.Reply(stream.read(int.from_bytes(stream.read(2), "big")))
        self.assertEqual(reply.rdata(A), [bytes([127, 0, 0, 2])])


def pass_sockets(sockets):
    """In the child: descriptors 3, 4, ... and none behind them."""
    high = [os.dup(made.fileno()) for made in sockets]
    high = [os.dup2(fd, 500 + index) for index, fd in enumerate(high)]
    os.closerange(3, 500)
    for index, fd in enumerate(high):
        os.dup2(fd, 3 + index)
    os.closerange(500, 500 + len(high))


class NotifyTest(SystemdCase):
    def test_the_manager_hears_the_life_of_the_server(self):
        address = self.free_address()
        server = self.start_managed(address, server_lines=["workers: 2"])
        self.assertEqual(self.manager.hear(), "READY=1")
        self.assert_answers(address)  # ready is ready

        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        server.send_signal(signal.SIGHUP)
        match = re.fullmatch("RELOADING=1\nMONOTONIC_USEC=([0-9]+)", self.manager.hear())
        self.assertIsNotNone(match)
        after = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        self.assertTrue(before <= int(match[1]) <= after)
        self.assertEqual(self.manager.hear(), "READY=1")

        self.assertEqual(server.stop(), 0)
        self.assertEqual(self.manager.hear(), "STOPPING=1")
        self.assertTrue(self.manager.hears_nothing())

    def test_a_reload_that_is_refused_ends_as_well(self):
        self.expect_log("configuration refused",
                        "configuration not reloaded",
                        "service manager not told")
        server = self.start_managed(self.free_address())
        self.assertEqual(self.manager.hear(), "READY=1")
        self.write("dnsblv6d.conf", "server:\n    nonsense: 1\n")
        server.send_signal(signal.SIGHUP)
        self.assertTrue(self.manager.hear().startswith("RELOADING=1\n"))
        self.assertEqual(self.manager.hear(), "READY=1")
        self.assertIn("configuration not reloaded", server.log())

    def test_a_manager_that_is_gone_does_no_harm(self):
        address = self.free_address()
        self.manager.socket.close()
        server = self.start_managed(address)
        server.wait_for_log(r"^warning: \[dnsblv6d\] service manager not told \(.*\)$")
        self.assert_answers(address)


class SocketsTest(SystemdCase):
    def setUp(self):
        super().setUp()
        self.address = self.free_address()
        self.elsewhere = (self.host, 1)  # what the configuration says does not matter

    def start_on(self, sockets, **how):
        server = self.start_managed(self.elsewhere, sockets, **how)
        self.assertEqual(self.manager.hear(), "READY=1", server.log())
        return server

    def test_sockets_that_were_passed_are_served(self):
        self.expect_log("service manager not told")
        server = self.start_on(self.bind_pair(*self.address))
        self.assertIn(f"listening, address={self.host} port={self.address[1]}\n", server.log())
        self.assertNotIn("port=1\n", server.log())
        self.assert_answers(self.address)

    def test_questions_wait_in_them_while_there_is_no_server(self):
        self.expect_log("service manager not told")
        sockets = self.bind_pair(*self.address)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            udp.connect(self.address)
            udp.settimeout(harness.DEADLINE_S)
            udp.send(harness.query(f"0.2.0.192.{ZONE}", AAAA, 1))
            first = self.start_on(sockets)
            self.assertEqual(harness.Reply(udp.recv(4096)).id, 1)
            first.stop()
            self.assertEqual(self.manager.hear(), "STOPPING=1")
            udp.send(harness.query(f"0.2.0.192.{ZONE}", AAAA, 2))
            self.start_on(sockets)
            self.assertEqual(harness.Reply(udp.recv(4096)).id, 2)

    def test_workers_share_a_socket(self):
        self.expect_log("service manager not told")
        server = self.start_on(self.bind_pair(*self.address), server_lines=["workers: 3"])
        for worker in server.children():
            self.assert_answers(self.address)
            os.kill(worker, signal.SIGKILL)
            server.wait_for_log(rf"worker died, worker=\d pid={worker} ")
        self.assert_answers(self.address)

    def test_a_reload_keeps_them(self):
        self.expect_log("service manager not told")
        server = self.start_on(self.bind_pair(*self.address), server_lines=["workers: 2"])
        server.send_signal(signal.SIGHUP)
        self.assertTrue(self.manager.hear().startswith("RELOADING=1\n"))
        self.assertEqual(self.manager.hear(), "READY=1")
        self.assert_answers(self.address)

    def test_every_worker_reads_sockets_of_its_own_when_there_are_enough(self):
        """The kernel spreads clients over all of them, so none may be left unread."""
        self.expect_log("service manager not told")
        self.start_on(self.bind_pair(*self.address, count=3), server_lines=["workers: 3"])
        for _ in range(60):  # as many clients; a socket of three is missed once in 10^10
            self.assert_answers(self.address)

    def test_two_addresses(self):
        self.expect_log("service manager not told")
        other = (self.host, self.free_port())
        self.start_on(self.bind_pair(*self.address) + self.bind_pair(*other))
        self.assert_answers(self.address)
        self.assert_answers(other)

    def test_sockets_that_cannot_be_served_are_refused_with_the_reason(self):
        udp, tcp = self.bind_pair(*self.address)
        other_udp, other_tcp = self.bind_pair(self.host, self.free_port())
        dual = bind(socket.SOCK_DGRAM, "dual", 0, family=socket.AF_INET6)
        unbound = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        client = socket.create_connection(self.address)
        for made in (dual, unbound, client):
            self.addCleanup(made.close)
        cases = [
            ([udp], 3, "no TCP socket of the same address"),
            ([udp, tcp, other_tcp], 5, "no UDP socket of the same address"),
            ([udp, tcp, other_udp], 5, "no TCP socket of the same address"),
            ([udp, tcp, udp], 5, "more sockets of this address than workers"),
            ([self.manager.socket], 3, "neither UDP nor TCP over IPv4 or IPv6"),
            ([unbound], 3, "not bound to a port"),
            ([udp, client], 4, "a connection, not a listening socket; Accept=no would pass one"),
            ([dual], 3, "takes IPv4 as well; BindIPv6Only=ipv6-only would not"),
        ]
        for sockets, fd, reason in cases:
            with self.subTest(reason=reason):
                status, log = self.run_managed(self.elsewhere, sockets)
                self.assertEqual(status, EX_CONFIG, log)
                self.assertIn(f"error: [dnsblv6d] socket of the service manager not usable, "
                              f"fd={fd} ({reason})\n", log)

    def test_sockets_that_are_not_there_are_refused(self):
        environment = {**os.environ, "LISTEN_FDS": "2"}
        command = ["/bin/sh", "-c", 'LISTEN_PID=$$ exec "$@"', "sh", harness.program("dnsblv6d"),
                   "--config", self.write_config(self.elsewhere)]
        result = subprocess.run(command, env=environment, capture_output=True, check=False,
                                timeout=harness.DEADLINE_S)
        self.assertEqual(result.returncode, EX_OSERR)
        self.assertIn(b"sockets of the service manager not taken (", result.stderr)


if __name__ == "__main__":
    harness.main()
