#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
dnsblv6-cached itself: what clients may send to its socket, its configuration, its files, and how it
begins and ends. promtool (Debian's prometheus) is used when it is there.
"""

import ipaddress
import mmap
import os
import re
import resource
import signal
import socket
import stat
import struct
import subprocess

import harness
from cached import NAME, TIMEOUT_MS, CachedCase
from harness import DEADLINE_S, EX_CONFIG, EX_UNAVAILABLE, wait_for
from policy import Connection

# client-lib/shared/cached.h
HEAD = struct.Struct(">4sI16sI")
REPLY = struct.Struct(">4sIBBHI")
ANSWERED, FAILED, LATE, NO_ZONE, BUSY = 1, 2, 3, 4, 5
OPEN_MAX = 128


def request(ident, address, timeout_ms=TIMEOUT_MS, zone=NAME):
    mapped = ipaddress.ip_address("::ffff:" + address if "." in address else address)
    return HEAD.pack(b"b6c1", ident, mapped.packed, timeout_ms) + zone.encode()


class Socket(CachedCase):
    """Clients that do what they must not, byte by byte."""

    def setUp(self):
        super().setUp()
        self.serve_list([("2a00:1:2:3::/64", 1)])
        self.daemon = None

    def start_small(self, *cached):
        self.daemon = self.start_cached(self.config(self.server.address, cached=cached))
        self.wait_until_probed(self.daemon)

    def open_connection(self):
        client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(client.close)
        client.connect(os.path.join(self.directory_of_cache, "socket"))
        client.settimeout(DEADLINE_S)
        return client

    def greet(self, client):
        """The descriptor that comes with the first packet."""
        packet, fds, flags, _ = socket.recv_fds(client, 100, 4)
        for fd in fds:
            self.addCleanup(os.close, fd)
        self.assertEqual((packet, flags & socket.MSG_CTRUNC), (b"b6t1", 0))
        return fds

    def connect(self):
        client = self.open_connection()
        self.assertEqual(len(self.greet(client)), 1)
        return client

    def receive(self, client):
        magic, ident, outcome, flags, zero, ttl = REPLY.unpack(client.recv(100))
        self.assertEqual((magic, zero), (b"b6r1", 0))
        return ident, outcome, flags, ttl

    def assert_works(self, client=None):
        client = client or self.connect()
        client.send(request(7, "192.0.2.1"))
        ident, outcome, flags, ttl = self.receive(client)
        self.assertEqual((ident, outcome, flags), (7, ANSWERED, 1))
        self.assertGreater(ttl, 0)

    def assert_cut_off(self, client):
        def is_gone():
            try:
                return client.recv(100) == b""
            except ConnectionError:
                return True

        wait_for(is_gone, "the daemon to hang up")

    def test_nobody_can_change_what_is_handed_out(self):
        self.start_small()
        [fd] = self.greet(self.open_connection())
        size = os.fstat(fd).st_size
        for change in (lambda: os.ftruncate(fd, 0), lambda: os.pwrite(fd, b"x", 0),
                       lambda: os.truncate(f"/proc/self/fd/{fd}", 0),
                       lambda: mmap.mmap(fd, size)):
            with self.assertRaises(PermissionError):
                change()
        with mmap.mmap(fd, size, prot=mmap.PROT_READ) as table:
            self.assertEqual(len(table), size)

    def test_questions_and_replies(self):
        self.start_small()
        client = self.connect()
        self.assert_works(client)
        client.send(request(8, "192.0.2.2"))
        self.assertEqual(self.receive(client)[:3], (8, ANSWERED, 0))
        client.send(request(0xFFFFFFFF, "2a00:1:2:3::1"))
        self.assertEqual(self.receive(client)[:3], (0xFFFFFFFF, ANSWERED, 1))
        client.send(request(9, "192.0.2.1", zone=NAME.upper()))
        self.assertEqual(self.receive(client)[:3], (9, ANSWERED, 1))
        client.send(request(10, "192.0.2.1", zone="another.example"))
        self.assertEqual(self.receive(client)[:2], (10, NO_ZONE))

    def test_a_question_without_an_answer_in_time(self):
        self.start_small()
        client = self.connect()
        pids = (self.server.pid, *self.server.children())
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        client.send(request(11, "198.51.100.1", 1))
        self.assertEqual(self.receive(client)[:2], (11, LATE))
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        # What was asked goes on, so that it is there for the next.
        client.send(request(12, "198.51.100.1"))
        self.assertEqual(self.receive(client)[:3], (12, ANSWERED, 0))

    def test_what_cannot_be_read_ends_the_connection_and_no_other(self):
        self.start_small()
        other = self.connect()
        good = request(1, "192.0.2.1")
        for packet in (b"x", good[:28], b"b6c2" + good[4:], good + b"x" * 300, good + b" ",
                       good[:24] + bytes(4) + good[28:], b"\0" * 65536):
            with self.subTest(packet=packet[:40]):
                client = self.connect()
                client.send(packet)
                self.assert_cut_off(client)
        self.assert_works(other)

    def test_a_client_that_never_reads_is_cut_off(self):
        self.start_small()
        client = self.connect()
        client.setblocking(False)
        packet = request(1, "192.0.2.1")

        def is_cut():
            try:
                while True:
                    client.send(packet)
            except BlockingIOError:
                return False
            except (BrokenPipeError, ConnectionResetError):
                return True

        wait_for(is_cut, "the daemon to hang up")
        self.assert_works()

    def test_clients_do_not_get_the_descriptors_that_dns_needs(self):
        self.expect_log("fewer clients than configured")
        self.daemon = self.start_cached(
            self.config(self.server.address),
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (600, 600)))
        self.assertIn("fewer clients than configured, clients=56 descriptors=600\n",
                      self.daemon.log())
        self.wait_until_probed(self.daemon)
        clients = [self.connect() for _ in range(60)]
        for index, client in enumerate(clients[-56:]):
            client.send(request(index, f"203.0.{index}.1"))
            self.assertEqual(self.receive(client)[:3], (index, ANSWERED, 0))

    def test_clients_that_leave_in_the_middle(self):
        self.start_small()
        for index in range(200):
            client = self.connect()
            for ident in range(OPEN_MAX // 2):
                client.send(request(ident, f"203.0.{index}.{ident}"))
            client.close()
        self.assert_works()

    def test_the_one_that_has_been_silent_longest_makes_room(self):
        self.start_small("clients: 4")
        clients = []
        for _ in range(4):
            clients.append(self.connect())
            self.assert_works(clients[-1])
        self.assert_works(clients[0])
        fifth = self.connect()
        self.assert_works(fifth)
        self.assert_cut_off(clients[1])
        for client in (clients[0], clients[2], clients[3], fifth):
            self.assert_works(client)

    def test_who_is_idle_gives_way_although_an_older_one_waits(self):
        self.start_small("clients: 2")
        waiting, idle = self.connect(), self.connect()
        for pid in (self.server.pid, *self.server.children()):
            os.kill(pid, signal.SIGSTOP)
            self.addCleanup(os.kill, pid, signal.SIGCONT)

        def wait_for_an_answer(client):
            client.send(request(1, "198.51.100.1"))
            client.send(request(2, "192.0.2.1", zone="another.example"))
            self.assertEqual(self.receive(client)[:2], (2, NO_ZONE))

        wait_for_an_answer(waiting)
        third = self.connect()
        self.assert_cut_off(idle)
        wait_for_an_answer(third)
        self.assert_cut_off(self.open_connection())

    def test_who_may_not_write_to_the_socket_asks_dns(self):
        if os.geteuid() != 0:
            self.skipTest("only root becomes another user")
        self.start_small("socket-mode: 600")
        path = os.path.join(self.directory_of_cache, "socket")
        self.assertEqual(stat.S_IMODE(os.lstat(path).st_mode), 0o600)
        rows = [("192.0.2.1", 1), ("198.51.100.77", 0)]
        seen = self.run_clients(rows, self.server.address, 1, user=65534, extra_groups=[])
        self.assert_right(seen, rows)
        self.assertGreater(seen["queries"], 0)

    def test_who_may_not_write_to_the_socket_is_told(self):
        if os.geteuid() != 0:
            self.skipTest("only root becomes another user")
        self.start_small("socket-mode: 600")
        host, port = self.server.address
        sections = [f"policy:\n    listen: {self.path('policy')}\n    user: nobody",
                    f"library:\n    zones: {NAME}\n    servers: {host}@{port}\n    shared: {self.directory_of_cache}"]
        config = self.write("policy.conf", "\n".join(sections) + "\n")
        policy = self.start([harness.program("dnsblv6-policy"), "--config", config], "policy")
        policy.wait_for_log(r"^info: \[dnsblv6-policy\] ready, ")
        for address in ("192.0.2.1", "198.51.100.77"):
            with Connection(self.path("policy")) as connection:
                connection.ask(address)
        self.assertEqual(len(policy.wait_for_log(
            rf"^warning: \[dnsblv6-policy\] dnsblv6-cached not asked, shared={self.directory_of_cache} \(no permission")), 1)

    def test_who_is_in_the_group_of_the_socket_asks_also_when_root_starts_it(self):
        """With a file of groups of its own: no user of every machine is in a second one."""
        if os.geteuid() != 0 or harness.shutil.which("unshare") is None:
            self.skipTest("only root mounts a file of groups")
        with open("/etc/group", encoding="utf-8") as file:
            groups = re.sub(r"(?m)^mail:.*\n", "", file.read())
        path = self.write("group", f"{groups}mail:x:8:nobody\n")
        in_group = ["unshare", "--mount", "sh", "-c", f'mount --bind "{path}" /etc/group && exec "$@"', "sh"]
        if subprocess.run([*in_group, "true"], check=False, capture_output=True, timeout=DEADLINE_S).returncode != 0:
            self.skipTest("no mount here")
        self.start_small("socket-group: mail")
        host, port = self.server.address
        config = self.write("policy.conf", f"policy:\n    listen: {self.path('policy')}\n    user: nobody\n"
                            f"library:\n    zones: {NAME}\n    servers: {host}@{port}\n"
                            f"    shared: {self.directory_of_cache}\n")
        policy = self.start([*in_group, harness.program("dnsblv6-policy"), "--config", config], "policy")
        policy.wait_for_log(r"^info: \[dnsblv6-policy\] ready, ")
        with Connection(self.path("policy")) as connection:
            connection.ask("192.0.2.1")
        self.daemon.send_signal(signal.SIGUSR1)
        self.daemon.wait_for_log(r"^info: \[dnsblv6-cached\] counters, .*\brequests=1\b")
        self.assertNotIn("not asked", policy.log())


class Life(CachedCase):
    def setUp(self):
        super().setUp()
        self.serve_list([])

    def test_the_configuration_is_checked(self):
        config = self.config(self.server.address)
        result = self.run_cached("--config", config, "--check")
        self.assertEqual((result.returncode, result.stdout), (0, "configuration OK\n"))
        self.assertFalse(os.path.exists(self.directory_of_cache))

        config = self.config(self.server.address, library=["cache-size: 1K"])
        for arguments in (["--config", config, "--check"], ["--config", config]):
            result = self.run_cached(*arguments)
            self.assertEqual(result.returncode, EX_CONFIG)
            self.assertRegex(result.stderr, rf'^error: \[{config}:8\] configuration refused, '
                             r'item=cache-size value="1K" \(permitted is 8K to 64G')

    def test_a_second_daemon_does_not_disturb_the_first(self):
        config = self.config(self.server.address)
        self.start_cached(config)
        result = self.run_cached("--config", config)
        self.assertEqual(result.returncode, EX_UNAVAILABLE)
        self.assertRegex(result.stderr, r"(?m)^error: \[dnsblv6-cached\] cache not opened, ")
        rows = [("192.0.2.1", 1)]
        seen = self.run_clients(rows, self.server.address)
        self.assert_right(seen, rows)
        self.assertEqual(seen["queries"], 0)

    def test_a_file_in_the_place_of_the_socket_stays(self):
        os.mkdir(self.directory_of_cache)
        path = os.path.join(self.directory_of_cache, "socket")
        with open(path, "w", encoding="ascii") as file:
            file.write("mine")
        result = self.run_cached("--config", self.config(self.server.address))
        self.assertEqual(result.returncode, EX_UNAVAILABLE)
        self.assertRegex(result.stderr, r"(?m)^error: \[dnsblv6-cached\] socket not opened, ")
        with open(path, encoding="ascii") as file:
            self.assertEqual(file.read(), "mine")

    def test_a_full_disk_is_told_at_the_start(self):
        if os.geteuid() != 0 or harness.shutil.which("unshare") is None:
            self.skipTest("only root mounts a small disk")
        os.mkdir(self.directory_of_cache)
        config = self.config(self.server.address)
        script = f'mount -t tmpfs -o size=1m none "{self.directory_of_cache}" && exec "$@"'
        result = subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh",
                                 harness.program("dnsblv6-cached"), "--config", config],
                                capture_output=True, text=True, check=False, timeout=DEADLINE_S)
        if re.search("^(mount|unshare):", result.stderr, re.MULTILINE):
            self.skipTest(f"no mount here: {result.stderr.strip()}")
        self.assertEqual(result.returncode, EX_UNAVAILABLE, result.stderr)
        self.assertRegex(result.stderr, r"^error: \[dnsblv6-cached\] cache not opened, "
                         r"directory=.* \(No space left on device\)\n$")

    def test_a_directory_that_cannot_be_made(self):
        self.directory_of_cache = self.path("not/there")
        result = self.run_cached("--config", self.config(self.server.address))
        self.assertEqual(result.returncode, harness.EX_NOPERM)
        self.assertRegex(result.stderr, r"^error: \[dnsblv6-cached\] directory not made, path=")

    def test_the_end_removes_the_socket_and_the_manager_hears_of_it(self):
        path = self.path("notify")
        manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(manager.close)
        manager.bind(path)
        manager.settimeout(DEADLINE_S)
        daemon = self.start_cached(self.config(self.server.address),
                                   env={**os.environ, "NOTIFY_SOCKET": path})
        self.assertEqual(manager.recv(100), b"READY=1")
        self.assertTrue(os.path.exists(os.path.join(self.directory_of_cache, "socket")))
        self.assertEqual(daemon.stop(), 0)
        self.assertEqual(manager.recv(100), b"STOPPING=1")
        self.assertFalse(os.path.exists(os.path.join(self.directory_of_cache, "socket")))
        self.assertTrue(os.path.exists(os.path.join(self.directory_of_cache, "cache")))

    def test_options_that_do_not_go_together(self):
        config = self.config(self.server.address, library=["min-ttl: 60s", "max-ttl: 30s"])
        for arguments in (["--config", config, "--check"], ["--config", config]):
            result = self.run_cached(*arguments)
            self.assertEqual(result.returncode, EX_CONFIG)
            self.assertIn(f'[{config}] configuration not read (max-ttl "30": below min-ttl, 60)', result.stderr)

    def test_a_hangup_is_no_end(self):
        daemon = self.start_cached(self.config(self.server.address))
        daemon.send_signal(signal.SIGHUP)
        daemon.wait_for_log("^warning: .* configuration not reloaded, ")
        self.wait_until_probed(daemon)

    def test_root_is_given_up(self):
        if os.geteuid() != 0:
            self.skipTest("not root")
        daemon = self.start_cached(self.config(self.server.address, cached=[
            "user: nobody", "socket-group: daemon", "socket-mode: 660"]))
        with open(f"/proc/{daemon.pid}/status", encoding="ascii") as file:
            status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
        self.assertEqual(status["Uid"].split(), ["65534"] * 4)
        self.assertEqual(int(status["CapEff"], 16), 0)
        found = os.lstat(os.path.join(self.directory_of_cache, "socket"))
        self.assertEqual((found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)),
                         (65534, 1, 0o660))
        self.assertEqual(os.stat(self.directory_of_cache).st_uid, 65534)
        found = os.lstat(os.path.join(self.directory_of_cache, "cache"))
        self.assertEqual((found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)),
                         (65534, 1, 0o640))
        rows = [("192.0.2.1", 1)]
        seen = self.run_clients(rows, self.server.address)
        self.assert_right(seen, rows)
        self.assertEqual(seen["queries"], 0)

    def test_the_copy_is_read_by_those_that_may_connect(self):
        copy = os.path.join(self.directory_of_cache, "cache")
        for mode, wanted in (("666", 0o644), ("660", 0o640), ("600", 0o600), ("622", 0o644)):
            daemon = self.start_cached(self.config(self.server.address, cached=[f"socket-mode: {mode}"]))
            self.assertEqual(stat.S_IMODE(os.stat(copy).st_mode), wanted, mode)
            self.assertEqual(daemon.stop(), 0)

    def test_metrics(self):
        path = self.path("cached.prom")
        daemon = self.start_cached(self.config(self.server.address, cached=[f"metrics: {path}"]))
        wait_for(lambda: os.path.exists(path), "the metrics")
        self.wait_until_probed(daemon)
        self.assert_right(self.run_clients([("192.0.2.1", 1)], self.server.address, 1),
                          [("192.0.2.1", 1)])
        self.assertEqual(daemon.stop(), 0)  # which writes them once more
        with open(path, encoding="ascii") as file:
            text = file.read()
        for line in ("dnsblv6_cached_requests_total 1", "dnsblv6_cached_replies_listed_total 1",
                     "dnsblv6_cached_connections_total 1",
                     f'dnsblv6_cached_zone_state{{zone="{NAME}"}} 1'):
            self.assertIn(line + "\n", text)
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o644)
        self.assertFalse(os.path.exists(path + ".new"))
        promtool = harness.shutil.which("promtool")
        if promtool is not None:
            result = subprocess.run([promtool, "check", "metrics"], input=text, text=True,
                                    capture_output=True, check=False, timeout=DEADLINE_S)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_metrics_that_cannot_be_written_are_a_warning(self):
        daemon = self.start_cached(self.config(self.server.address, cached=[
            f"metrics: {self.path('not/there.prom')}"]))
        daemon.wait_for_log("^warning: .* metrics not written, path=.* ")
        self.assertEqual(daemon.stop(), 0)


if __name__ == "__main__":
    harness.main()
