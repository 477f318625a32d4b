#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
dnsblv6d and its program in the network driver, between two networks of their own.

The server has two interfaces, each one end of a pair: at one of them the driver answers, at the
other the sockets do. The test is the client at the other ends. What the core of the program answers
is in tests/unit/server/xdp-kernel; here are packets, and what becomes of the program when the server
ends, is killed, or may not load it.

Needs root, and a kernel with BPF and veth.
"""

import contextlib
import ctypes
import json
import os
import platform
import pwd
import signal
import socket
import struct
import subprocess
import sys
import time
import unittest

import harness
from harness import (A, AAAA, CLASSIC, DEADLINE_S, NOERROR, NS, SOA, TXT, ZONE, Case, Reply, Server, bitmap_name,
                     children_of, config_text, framed, has_ended, ip, program, query, wait_for)
from passing import BPF_CALLS, join, pass_all

PORT = 5353
DRIVER, SOCKETS = "v0", "w0"  # interfaces of the server
IPV4, IPV6 = 0, 1
# Addresses of the server and of the client.
PAIRS = {DRIVER: (("192.0.2.1", "2001:db8:1::1"), ("192.0.2.2", "2001:db8:1::2")),
         SOCKETS: (("198.51.100.1", "2001:db8:2::1"), ("198.51.100.2", "2001:db8:2::2"))}
KEEP_LONG = "1h"  # no test waits for its end
DO = 0x8000
UNSIGNED = "unsigned.example."
LISTED = [ip(text) for text in ("192.0.2.25", "192.0.2.128", "198.51.100.7", "2001:db8:1:2::")]

CLONE_NEWNS, CLONE_NEWNET = 0x20000, 0x40000000
PR_SET_SECCOMP, SECCOMP_MODE_FILTER, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 22, 2, 24, 38
CAP_NET_ADMIN, CAP_SYS_ADMIN, CAP_PERFMON, CAP_BPF = 12, 21, 38, 39
LIBC = ctypes.CDLL(None, use_errno=True)


def must(ret):
    if ret != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def enter(pid):
    """Network and mounts of that process."""
    for name, kind in (("net", CLONE_NEWNET), ("mnt", CLONE_NEWNS)):
        fd = os.open(f"/proc/{pid}/ns/{name}", os.O_RDONLY)
        must(LIBC.setns(fd, kind))
        os.close(fd)


def drop_capabilities():
    for number in (CAP_NET_ADMIN, CAP_SYS_ADMIN, CAP_PERFMON, CAP_BPF):
        must(LIBC.prctl(PR_CAPBSET_DROP, number, 0, 0, 0))


def forget_bpf():
    """From here on bpf(2) is ENOSYS, as in a kernel without it."""
    steps = [(0x20, 0, 0, 0), (0x15, 0, 1, BPF_CALLS[platform.machine()]),
             (0x06, 0, 0, 0x00050000 | 38), (0x06, 0, 0, 0x7fff0000)]
    code = b"".join(struct.pack("HBBI", *step) for step in steps)
    code = ctypes.create_string_buffer(code, len(code))
    filter_of_it = struct.pack("HP", len(steps), ctypes.addressof(code))
    must(LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    must(LIBC.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter_of_it, 0, 0))


def checksum(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ping(address):
    """Does an echo come back? Put again each second: a neighbour has to be found first."""
    body = struct.pack(">HH8s", os.getpid() & 0xFFFF, 1, b"dnsblv6d")
    echo = struct.pack(">BBH", 8, 0, checksum(b"\x08\0\0\0" + body)) + body
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as icmp:
        icmp.settimeout(1)
        end = time.monotonic() + DEADLINE_S
        while time.monotonic() < end:
            icmp.sendto(echo, (address, 0))
            try:
                while True:
                    packet = icmp.recv(2048)
                    if packet[20] == 0 and packet[24:] == echo[4:]:
                        return True
            except socket.timeout:
                pass
    return False


def udp_datagram(family, source, target, ports, data):
    """The packet from the IP header on."""
    kind = socket.AF_INET6 if family == IPV6 else socket.AF_INET
    addresses = socket.inet_pton(kind, source) + socket.inet_pton(kind, target)
    udp = struct.pack(">HHHH", *ports, 8 + len(data), 0) + data
    covered = addresses + struct.pack(">II", socket.IPPROTO_UDP, len(udp)) + udp
    udp = udp[:6] + struct.pack(">H", checksum(covered + b"\0" * (len(covered) % 2))) + udp[8:]
    if family == IPV6:
        return struct.pack(">IHBB", 0x60000000, len(udp), socket.IPPROTO_UDP, 64) + addresses + udp
    header = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(udp), 1, 0, 64, socket.IPPROTO_UDP, 0) + addresses
    return header[:10] + struct.pack(">H", checksum(header)) + header[12:] + udp


class Client:
    """
    Questions in frames that have bytes behind the packet, as short ones have on every Ethernet. In a
    veth a packet has as much room to grow as its sender has allocated, and so one of a usual socket
    next to none; a card has nearly a page. Answers come to a usual socket, which looks at their sums.
    """

    def __init__(self, interface, server_mac):
        self.addresses, self.name, self.server_mac = PAIRS[interface], client_end(interface), server_mac

    def ask(self, packet, family=IPV4, deadline_s=DEADLINE_S, room=1200):
        """The bytes that come back. Any datagram may be lost: it is put again each second."""
        server, client = (addresses[family] for addresses in self.addresses)
        end = time.monotonic() + deadline_s
        kind = socket.AF_INET6 if family == IPV6 else socket.AF_INET
        with socket.socket(kind, socket.SOCK_DGRAM) as udp, \
                socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as raw:
            raw.bind((self.name, 0))
            udp.bind((client, 0))
            udp.settimeout(1)
            ports = (udp.getsockname()[1], PORT)
            frame = (self.server_mac + raw.getsockname()[4] + (b"\x86\xdd" if family == IPV6 else b"\x08\0") +
                     udp_datagram(family, client, server, ports, packet) + b"\0" * room)
            while time.monotonic() < end:
                raw.send(frame)
                try:
                    return udp.recv(65535)
                except socket.timeout:
                    pass
        raise AssertionError(f"no answer from {server} in {deadline_s} s")


def client_end(interface):
    return interface[0] + "1"


def address_of(interface, family=IPV4):
    return (PAIRS[interface][0][family], PORT)


def common_questions(zone):
    """Packets with questions that the driver may answer, and some that only sockets do."""
    names = [bitmap_name(address, zone) for address in LISTED]
    missing = [bitmap_name(ip(text), zone) for text in ("192.0.2.128", "203.0.113.1", "2001:db8:9::")]
    names += [*missing, zone, f"0.192.{zone}", f"192.{zone}", f"a.b.c.{zone}", f"x.{names[0]}", names[0].upper()]
    for name in names:
        for rrtype in (AAAA, A):
            for how in ({}, {"edns_size": 1232}, {"edns_size": 4096, "edns_flags": DO},
                        {"edns_size": 512, "edns_flags": DO}, {"flags": 0}, {"flags": 0x0110}):
                yield query(name, rrtype, len(name) << 8 | rrtype, **how)
        for rrtype in (TXT, SOA, NS):
            yield query(name, rrtype, 7)


@unittest.skipIf(os.geteuid() != 0, "not root")
class XdpCase(Case):
    def setUp(self):
        self.keepers, self.stopped = [], []
        self.addCleanup(self.end_keepers)  # after their servers: what is added first is last
        super().setUp()
        self.nobody = pwd.getpwnam("nobody")
        self.make_networks()
        key = self.path("key.pem")
        self.run_zone("keygen", "--zone", ZONE, "--key", key)
        self.list_path = self.write("list", "".join(f"{address}\n" for address in LISTED[:3]) +
                                    "2001:db8:1:2::/64\n")
        self.key_options = ("--key", key)
        self.build_all()

    def make_networks(self):
        self.there = self.start(
            [harness.peer("unshare"), "--net", "--mount", "sh", "-c",
             "mount -t bpf bpf /sys/fs/bpf; echo there; exec sleep 3600"], "there")
        self.there.wait_for_log("^there$")
        client = self.make_space("client")
        self.enter_network(client.pid)
        for server_end, (own, others) in PAIRS.items():
            join(self, (self.there, server_end, *own), (client, client_end(server_end), *others))
        self.clients = {name: Client(name, bytes.fromhex(self.shown(name)["address"].replace(":", ""))) for name in PAIRS}
        try:
            self.addCleanup(os.close, pass_all(client_end(DRIVER)))
        except (OSError, KeyError) as error:
            self.skipTest(f"no program for a veth here: {error}")

    def build_all(self):
        self.build(self.path("signed.mdb"), *self.key_options, self.list_path, *harness.ANY_SIZE)
        self.build(self.path("unsigned.mdb"), self.list_path, *harness.ANY_SIZE, zone=UNSIGNED)
        for name in (".", *os.listdir(self.directory)):
            os.chown(self.path(name), self.nobody.pw_uid, self.nobody.pw_gid)

    def start_server(self, *lines, interface=DRIVER, also=lambda: None, server_lines=()):
        """lines: of the section xdp. also() is called in the process before it becomes the server."""
        zones = [(ZONE, self.path("signed.mdb"), CLASSIC), (UNSIGNED, self.path("unsigned.mdb"), None)]
        self.socket_path = self.path(f"ctl-{len(self.processes)}")
        server_lines = ["user: nobody", "workers: 2", f"control: {self.socket_path}", *server_lines]
        text = config_text(("0.0.0.0", PORT), zones, server_lines)
        text = text.replace(f"0.0.0.0@{PORT}", f"0.0.0.0@{PORT}, ::@{PORT}")
        text += "".join(f"{line}\n" for line in ("xdp:", f"    interface: [ {interface} ]", "    memory: 4M",
                                                 *(f"    {line}" for line in lines)))
        path = self.write(f"dnsblv6d-{len(self.processes)}.conf", text)
        checked = subprocess.run([program("dnsblv6d"), "--config", path, "--check"], check=False,
                                 capture_output=True, text=True)
        if "no answers from the network driver" in checked.stderr:
            self.skipTest("a build without libbpf and libxdp")
        self.assertEqual(checked.returncode, 0, checked.stderr)

        def prepare():
            enter(self.there.pid)
            also()

        server = Server(path, address_of(DRIVER), self.path(f"dnsblv6d-{len(self.processes)}.log"), preexec_fn=prepare)
        self.processes.append(server)
        server.wait_until_ready()
        self.keepers += self.keepers_of(server)
        return server

    def serve_by_driver(self, *lines, **how):
        """The same; each zone is in the driver's tables."""
        server = self.start_server(*lines, **how)
        if "program=" not in server.log():
            self.skipTest("this kernel lets no program into a driver: " + server.log())
        wait_for(lambda: self.states() == ["driver", "driver"], "zones in the driver")
        return server

    def ctl(self, *words):
        return subprocess.run([program("dnsblv6ctl"), "--socket", self.socket_path, *words], check=True, text=True,
                              capture_output=True, timeout=DEADLINE_S).stdout

    def metric(self, name):
        return next(int(line.split()[1]) for line in self.ctl("metrics").splitlines() if line.startswith(name + " "))

    def rows(self, kind):
        return [line.split("\t")[1:] for line in self.ctl("driver").splitlines() if line.startswith(kind + "\t")]

    def states(self):
        return [row[4] for row in self.rows("zone")]

    def filler(self):
        return int(self.rows("filler")[0][1])

    def kill(self, server):
        """It, and what ends with it: all but its keeper."""
        others = set(children_of(server.pid)) - set(self.keepers)
        server.stop(signal.SIGKILL)
        wait_for(lambda: all(has_ended(pid) for pid in others), "the end of workers")

    @staticmethod
    def keepers_of(server):
        """It alone has capabilities."""
        found = []
        for pid in children_of(server.pid):
            with open(f"/proc/{pid}/status", encoding="ascii") as file:
                effective = next(line for line in file if line.startswith("CapEff:"))
            if int(effective.split()[1], 16) != 0:
                found.append(pid)
        return found

    def end_keepers(self):
        for pid in self.keepers:
            self.end_keeper(pid)

    @staticmethod
    def end_keeper(pid):
        """Its parent has ended with the server; the second signal ends its waiting."""
        def look():
            if has_ended(pid):
                return True
            os.kill(pid, signal.SIGTERM)
            return False
        wait_for(look, "the end of a keeper")

    def stop_workers(self, server):
        """What answers from here on is the driver."""
        for pid in set(children_of(server.pid)) - {self.filler(), *self.keepers_of(server)}:
            os.kill(pid, signal.SIGSTOP)
            self.stopped.append(pid)
        self.addCleanup(self.continue_workers)

    def continue_workers(self):
        while self.stopped:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.stopped.pop(), signal.SIGCONT)

    def shown(self, interface):
        return json.loads(self.run_in(self.there, "ip", "-j", "link", "show", "dev", interface))[0]

    def attached(self, interface=DRIVER):
        """(mode, id) of the program at an interface, or None."""
        shown = self.shown(interface)
        return (shown["xdp"]["mode"], shown["xdp"]["prog"]["id"]) if "xdp" in shown else None

    def assert_sockets_answer(self):
        for interface in PAIRS:
            for family in (IPV4, IPV6):
                reply = Reply(self.clients[interface].ask(query(bitmap_name(LISTED[0]), AAAA, 7), family))
                self.assertEqual((reply.rcode, len(reply.rdata(AAAA))), (NOERROR, 1))

    def assert_driver_answers(self, zone=UNSIGNED):
        reply = Reply(self.clients[DRIVER].ask(query(bitmap_name(LISTED[0], zone), AAAA, 7)))
        self.assertEqual((reply.rcode, len(reply.rdata(AAAA))), (NOERROR, 1))


class Answers(XdpCase):
    def test_answers_are_those_of_sockets_byte_by_byte(self):
        for mode in ("driver", "generic"):
            server = self.serve_by_driver(f"mode: {mode}")
            for family in (IPV4, IPV6):
                for packet in (*common_questions(ZONE), *common_questions(UNSIGNED)):
                    with self.subTest(mode=mode, family=family, packet=packet):
                        self.assertEqual(self.clients[DRIVER].ask(packet, family),
                                         self.clients[SOCKETS].ask(packet, family))
            wait_for(lambda: self.metric("dnsblv6_server_driver_answered_total") > 0, "answers to be counted")
            server.stop()

    def test_the_driver_answers_while_no_worker_does(self):
        for mode in ("driver", "generic"):
            server = self.serve_by_driver(f"mode: {mode}")
            self.stop_workers(server)
            for family in (IPV4, IPV6):
                for zone in (ZONE, UNSIGNED):
                    for how in ({}, {"edns_size": 1232, "edns_flags": DO}):
                        for name in (bitmap_name(LISTED[0], zone), bitmap_name(ip("203.0.113.1"), zone), f"192.{zone}"):
                            with self.subTest(mode=mode, family=family, name=name, how=how):
                                self.clients[DRIVER].ask(query(name, AAAA, 7, **how), family)
            self.continue_workers()
            server.stop()

    def test_other_traffic_passes(self):
        self.serve_by_driver()
        other = self.start([*self.command_in(self.there, sys.executable, "-c", """if True:
            import socket
            udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            udp.bind(("0.0.0.0", 5354))
            print("there", flush=True)
            while True:
                data, client = udp.recvfrom(2048)
                udp.sendto(data, client)
            """)], "other")
        other.wait_for_log("^there$")
        packet = query(bitmap_name(LISTED[0]), AAAA, 7)
        self.assertTrue(ping(address_of(DRIVER)[0]))
        self.assertEqual(harness.exchange((address_of(DRIVER)[0], 5354), packet), packet)
        for family in (IPV4, IPV6):
            with socket.create_connection(address_of(DRIVER, family), DEADLINE_S) as tcp:
                tcp.sendall(framed(packet))
                size = struct.unpack(">H", tcp.recv(2, socket.MSG_WAITALL))[0]
                reply = Reply(tcp.recv(size, socket.MSG_WAITALL))
                self.assertEqual((reply.rcode, len(reply.rdata(AAAA))), (NOERROR, 1))

    def test_a_list_that_changes_changes_answers_of_the_driver(self):
        server = self.serve_by_driver()
        self.stop_workers(server)
        packet = query(bitmap_name(ip("203.0.113.1"), UNSIGNED), AAAA, 7)
        ask = self.clients[DRIVER].ask
        self.assertEqual(Reply(ask(packet)).rcode, harness.NXDOMAIN)
        self.write("list", "203.0.113.1\n")
        self.build_all()
        wait_for(lambda: Reply(ask(packet)).rcode == NOERROR, "the new list")

    def test_a_reload_changes_nothing_for_those_that_ask(self):
        server = self.serve_by_driver()
        before, filler = self.attached(), self.filler()
        server.send_signal(signal.SIGHUP)
        server.wait_for_log(r"^info: \[dnsblv6d\] reloaded, ")
        wait_for(lambda: self.filler() not in (0, filler), "a new filler")
        wait_for(lambda: self.states() == ["driver", "driver"], "zones in the driver")
        self.assertEqual(self.attached(), before)
        self.stop_workers(server)
        for zone in (ZONE, UNSIGNED):
            self.assert_driver_answers(zone)


class Ends(XdpCase):
    def assert_gone(self):
        wait_for(lambda: self.attached() is None, "no program at the interface")

    def test_the_program_goes_with_the_server(self):
        for mode, shown in (("driver", 1), ("generic", 2)):
            with self.subTest(mode=mode):
                server = self.serve_by_driver(f"mode: {mode}")
                self.assertEqual(self.attached()[0], shown)
                self.assertEqual(server.stop(), 0)
                self.assertIsNone(self.attached())

    def test_the_program_goes_when_the_server_is_killed(self):
        server = self.serve_by_driver()
        self.kill(server)
        self.assert_gone()

    def test_the_program_answers_on_for_as_long_as_configured(self):
        server = self.serve_by_driver(f"keep: {KEEP_LONG}")
        keeper = self.keepers_of(server)[0]
        self.kill(server)
        for zone in (ZONE, UNSIGNED):
            self.assert_driver_answers(zone)
        self.end_keeper(keeper)
        self.assertIsNone(self.attached())

    def test_the_program_goes_after_as_long_as_configured(self):
        server = self.serve_by_driver("keep: 3s")
        self.kill(server)
        self.assert_gone()

    def test_a_server_that_starts_meanwhile_takes_over(self):
        first = self.serve_by_driver(f"keep: {KEEP_LONG}")
        keeper = self.keepers_of(first)[0]
        self.kill(first)
        before = self.attached()
        second = self.serve_by_driver()
        after = self.attached()
        self.assertNotEqual(before, after)
        self.end_keeper(keeper)
        self.assertEqual(self.attached(), after)
        self.stop_workers(second)
        self.assert_driver_answers()

    def test_what_a_dead_keeper_has_left_is_replaced_in_another_mode(self):
        first = self.serve_by_driver("mode: generic")
        os.kill(self.keepers_of(first)[0], signal.SIGKILL)
        first.wait_for_log(r"^error: \[xdp\] keeper died, ")
        first.stop()
        self.assertEqual(self.attached()[0], 2)
        second = self.serve_by_driver("mode: driver")
        self.assertEqual(self.attached()[0], 1)
        second.stop()
        self.assertIsNone(self.attached())

    def test_the_keeper_alone_keeps_capabilities_and_no_socket(self):
        server = self.serve_by_driver()
        keepers = self.keepers_of(server)
        self.assertEqual(len(keepers), 1)
        with open(f"/proc/{keepers[0]}/status", encoding="ascii") as file:
            status = dict(line.split(":", 1) for line in file)
        kept = 1 << CAP_NET_ADMIN | 1 << CAP_SYS_ADMIN | 1 << CAP_BPF
        self.assertEqual((int(status["CapPrm"], 16) & ~kept, int(status["CapBnd"], 16)), (0, 0))
        opened = os.listdir(f"/proc/{keepers[0]}/fd")
        self.assertEqual(sorted(opened), ["0", "1", "2", "3"])


class Refusals(XdpCase):
    """Each is one line, and sockets serve."""

    def assert_one_line(self, pattern, *lines, **how):
        server = self.start_server(*lines, **how)
        server.wait_for_log(rf"^warning: \[xdp\] not attached, sockets answer, {pattern}")
        said = [line for line in server.log().splitlines() if line.startswith(("warning: ", "error: "))]
        self.assertEqual(len(said), 1, said)
        self.assertNotIn("libbpf:", server.log())
        self.assertIsNone(self.attached())
        self.assert_sockets_answer()
        self.assertEqual(self.ctl("driver"), "")
        self.assertEqual(server.stop(), 0)

    def test_without_permission(self):
        self.assert_one_line("interface=v0 step=attach .*CAP_SYS_ADMIN", also=drop_capabilities)

    @unittest.skipIf(platform.machine() not in BPF_CALLS, "no number of bpf(2) for this machine")
    def test_in_a_kernel_without_bpf(self):
        self.assert_one_line("interface=v0 step=load .*without BPF", also=forget_bpf)

    def test_at_an_interface_that_is_not_there(self):
        self.assert_one_line("interface=nope0 step=attach .*No such device", interface="nope0")

    def test_at_an_interface_that_is_no_ethernet(self):
        self.assert_one_line("interface=lo step=attach .*Ethernet", interface="lo")

    def test_at_an_interface_whose_frames_are_too_large_for_its_driver(self):
        # At the pair without a program, which would not let it be set.
        self.run_in(self.there, "ip", "link", "set", SOCKETS, "mtu", "9000")
        subprocess.run(["ip", "link", "set", client_end(SOCKETS), "mtu", "9000"], check=True)
        self.assert_one_line("interface=w0 step=attach .*MTU", "mode: driver", interface=SOCKETS)
        server = self.start_server("mode: auto", interface=SOCKETS)
        server.wait_for_log(r"^warning: \[xdp\] generic mode, which is slower, interface=w0 .*MTU")
        self.assertEqual(self.attached(SOCKETS)[0], 2)

    def test_one_interface_of_two(self):
        server = self.start_server(interface=f"nope0, {DRIVER}")
        server.wait_for_log(r"^warning: \[xdp\] not attached, sockets answer, interface=nope0 ")
        if "program=" in server.log():
            self.assertIsNotNone(self.attached())
        self.assert_sockets_answer()


@unittest.skipIf(harness.shutil.which("xdp-loader", path="/usr/sbin:/usr/bin:/sbin") is None, "xdp-loader is not there")
class Others(XdpCase):
    """Another program at the same interface: what it passes, ours gets."""

    def load_other(self):
        clang = harness.peer("clang")
        source = self.write("other.c", """
            __attribute__((section("xdp"), used)) int other_pass(void *packet) { return 2; }
            __attribute__((section("license"), used)) char program_license[] = "GPL";
            """)
        subprocess.run([clang, "-O2", "-g", "-target", "bpf", "-c", source, "-o", self.path("other.o")], check=True)
        return subprocess.run([harness.peer("nsenter"), "--target", str(self.there.pid), "--net", "--mount",
                               harness.peer("xdp-loader"), "load", "--mode", "native", DRIVER, self.path("other.o")],
                              check=False, capture_output=True, text=True)

    def test_beside_another_by_the_dispatcher_or_not_at_all(self):
        done = self.load_other()
        self.assertEqual(done.returncode, 0, done.stderr)
        before = self.attached()
        server = self.start_server()
        if "program=" not in server.log():  # it is alone, as this kernel has no dispatcher
            server.wait_for_log(r"^warning: \[xdp\] not attached, .* another XDP program is there")
            self.assertEqual(self.attached(), before)
            self.assert_sockets_answer()
            return
        self.assertIn("dispatcher=yes", server.log())
        wait_for(lambda: self.states() == ["driver", "driver"], "zones in the driver")
        self.stop_workers(server)
        self.assert_driver_answers()
        self.continue_workers()
        server.stop()
        self.assertIsNotNone(self.attached())


if __name__ == "__main__":
    harness.main()
