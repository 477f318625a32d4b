#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
The query log: what is in it, and that nothing in its way is in the way of answers.

Needs a server with dnstap, fstrm_capture and fstrm_dump (fstrm-bin) as the real
peers, and root, mount and unshare for the full disk. Messages are taken apart
by the few lines below.
"""

import collections
import errno
import glob
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import time

from harness import (A, AAAA, CLASSIC, DEADLINE_S, IS_SANITIZED, NOERROR, NXDOMAIN, ZONE, Asker, Case, Reply,
                     Server, ask, ask_all, bitmap_name, config_text, framed, has_ended, ip, main, peer,
                     program, query, wait_for)

NAME = bitmap_name(ip("192.0.2.25"))
ABSENT = bitmap_name(ip("198.51.100.1"))
QUERY, RESPONSE = 1, 2
UDP, TCP = 1, 2
CONTENT = b"protobuf:dnstap.Dnstap"
START, STOP = 2, 3


# ---- Frame Streams and protobuf, as their specifications have them ----


class Stream:
    """What is whole in a file: frames, and whether the end is there."""

    def __init__(self, data):
        self.frames, self.has_end, self.rest = [], False, b""
        offset = 0
        controls = []
        while offset + 4 <= len(data) and not self.has_end:
            size = struct.unpack_from(">I", data, offset)[0]
            is_control = size == 0
            head = 8 if is_control else 4
            if is_control:
                size = struct.unpack_from(">I", data, offset + 4)[0]
            if offset + head + size > len(data):
                break
            payload = data[offset + head:offset + head + size]
            offset += head + size
            if is_control:
                controls.append(struct.unpack_from(">I", payload)[0])
                self.has_end = controls[-1] == STOP
                if controls[-1] == START and payload[4:] != struct.pack(">II", 1, 22) + CONTENT:
                    raise ValueError("another content type")
            else:
                self.frames.append(payload)
        self.rest = data[offset:]
        if data and controls[:1] != [START]:
            raise ValueError("does not begin with START")


def fields(data):
    """{number: value} of a protobuf message without repeated fields."""
    found, offset = {}, 0

    def varint():
        nonlocal offset
        value = shift = 0
        while True:
            byte = data[offset]
            offset += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while offset < len(data):
        key = varint()
        if key & 7 == 0:
            value = varint()
        elif key & 7 == 5:
            value = struct.unpack_from("<I", data, offset)[0]
            offset += 4
        elif key & 7 == 2:
            size = varint()
            value = data[offset:offset + size]
            offset += size
        else:
            raise ValueError("a wire type that dnstap has not")
        found[key >> 3] = value
    if offset != len(data):
        raise ValueError("cut")
    return found


Entry = collections.namedtuple("Entry", "identity version type family protocol client server"
                               " client_port server_port asked query zone answered response")


def entry(frame):
    outer = fields(frame)
    assert outer[15] == 1
    inner = fields(outer[14])
    return Entry(outer.get(1), outer.get(2), inner[1], inner[2], inner[3], inner[4], inner.get(5),
                 inner[6], inner[7], inner[8] + inner[9] / 1e9, inner.get(10), inner.get(11),
                 inner[12] + inner[13] / 1e9 if 12 in inner else None, inner.get(14))


class DnstapCase(Case):
    def setUp(self):
        super().setUp()
        self.build(self.path("bl6.mdb"), self.write("list.txt", "192.0.2.25\n"))
        os.mkdir(self.path("log"))
        self.log_path = self.path("log/queries.fstrm")

    def configure(self, *lines, address=None, server_lines=(), where=None):
        address = address or self.free_address()
        text = config_text(address, [(ZONE, self.path("bl6.mdb"), CLASSIC)], server_lines)
        text += "dnstap:\n" + "".join(f"    {line}\n" for line in
                                      (where or f"file: {self.log_path}", *lines))
        return self.write("dnsblv6d.conf", text), address

    def serve_logged(self, *lines, **how):
        config, address = self.configure(*lines, **how)
        server = Server(config, address, self.path("dnsblv6d.log"))
        self.processes.append(server)
        try:
            return server.wait_until_ready()
        except AssertionError:
            if "this build has no dnstap" in server.log():
                self.skipTest("this build has no dnstap")
            raise

    def stream(self, path=None):
        with open(path or self.log_path, "rb") as file:
            return Stream(file.read())

    def entries(self, path=None):
        return [entry(frame) for frame in self.stream(path).frames]

    def wait_for_entries(self, count, path=None):
        wait_for(lambda: os.path.exists(path or self.log_path)
                 and len(self.stream(path).frames) >= count, f"{count} entries")
        return self.entries(path)

    def logger_of(self, server, but=()):
        """Of the children the one without sockets of its own."""
        def count_files(pid):
            try:
                return len(os.listdir(f"/proc/{pid}/fd"))
            except OSError:
                return 1000
        return wait_for(lambda: [pid for pid in server.children()
                                 if 0 < count_files(pid) <= 6 and pid not in but], "its process")[0]

    def counters(self, server):
        count = len(re.findall(r"(?m)^info: \[dnsblv6d\] counters, ", server.log()))
        server.send_signal(signal.SIGUSR1)
        line = server.wait_for_log(r"^info: \[dnsblv6d\] counters, (.*)$", count + 1)[-1]
        return {key: int(value) for key, value in re.findall(r"([\w-]+)=(\d+)", line)}

    def ask_tcp(self, server, packet):
        with socket.create_connection(server.address, DEADLINE_S) as tcp:
            tcp.sendall(framed(packet))
            reader = tcp.makefile("rb")
            return tcp.getsockname(), reader.read(struct.unpack(">H", reader.read(2))[0])


class SettingsTest(DnstapCase):
    def test_a_section_that_logs_nothing_is_told(self):
        warning = "query log without socket or file, nothing is logged"
        self.expect_log(warning)
        for where, is_told in (("sample: 100", True), (f"zone: [ {ZONE} ]", True), (None, False)):
            config, _ = self.configure(where=where)
            result = subprocess.run([program("dnsblv6d"), "--config", config, "--check"], check=False,
                                    capture_output=True, text=True)
            if "this build has no dnstap" in result.stderr:
                self.skipTest("this build has no dnstap")
            self.assertEqual((result.returncode, warning in result.stderr), (0, is_told), result.stderr)


class ContentTest(DnstapCase):
    def test_each_query_and_response_is_in_it_as_it_was_sent(self):
        server = self.serve_logged("identity: here", "version: auto", f"zone: [ {ZONE}, {CLASSIC} ]")
        before = time.time()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            udp.connect(server.address)
            udp.settimeout(DEADLINE_S)
            packet = query(NAME.upper(), AAAA, 7)
            udp.send(packet)
            response = udp.recv(65535)
            udp_port = udp.getsockname()[1]
        other = query("25.2.0.192." + CLASSIC, A, 8, edns_size=1232)
        (tcp_host, tcp_port), other_response = self.ask_tcp(server, other)
        entries = self.wait_for_entries(4)
        after = time.time()
        self.assertEqual(len(entries), 4)
        for found in entries:
            self.assertEqual((found.identity, found.server, found.server_port),
                             (b"here", socket.inet_aton(server.address[0]), server.address[1]))
            self.assertTrue(found.version.startswith(b"dnsblv6d "))
            self.assertEqual(found.family, 1)
            self.assertTrue(before - 1 <= found.asked <= after + 1)
        by_kind = {(found.protocol, found.type): found for found in entries}
        for protocol, port, asked, answered, zone in (
                (UDP, udp_port, packet, response, ZONE), (TCP, tcp_port, other, other_response, CLASSIC)):
            asking, answering = by_kind[protocol, QUERY], by_kind[protocol, RESPONSE]
            self.assertEqual((asking.query, asking.response, asking.answered), (asked, None, None))
            self.assertEqual((answering.query, answering.response), (None, answered))
            self.assertGreaterEqual(answering.answered, answering.asked)
            for found in (asking, answering):
                self.assertEqual(found.client_port, port)
                self.assertEqual(found.zone, b"".join(bytes([len(label)]) + label.encode() for label
                                                      in zone.rstrip(".").split(".")) + b"\0")
        self.assertEqual(by_kind[TCP, QUERY].client, socket.inet_aton(tcp_host))
        self.assertEqual(server.stop(), 0)
        stream = self.stream()
        self.assertTrue(stream.has_end)
        self.assertEqual(stream.rest, b"")
        self.assertEqual(os.stat(self.log_path).st_mode & 0o007, 0, "everybody may read it")

    def test_only_zones_and_messages_that_are_wanted(self):
        server = self.serve_logged("messages: responses", f"zone: {CLASSIC}")
        for name, rrtype in ((NAME, AAAA), ("x.example.", A), ("25.2.0.192." + CLASSIC, A),
                             ("25.2.0.192.x" + CLASSIC, A)):
            server.ask(name, rrtype)
        self.assertEqual(server.stop(), 0)
        entries = self.entries()
        self.assertEqual([found.type for found in entries], [RESPONSE])
        self.assertEqual(Reply(entries[0].response).question[0][0], "25.2.0.192." + CLASSIC)

    def test_what_is_not_answered_has_no_response(self):
        server = self.serve_logged()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            udp.sendto(b"short", server.address)
        entries = self.wait_for_entries(1)
        server.ask(NAME, AAAA)
        entries = self.wait_for_entries(3)
        self.assertEqual([(found.type, found.query) for found in entries][0], (QUERY, b"short"))
        self.assertEqual([found.type for found in entries], [QUERY, QUERY, RESPONSE])

    def test_one_in_so_many_by_chance(self):
        server = self.serve_logged("sample: 10", "messages: queries")
        names = [NAME, ABSENT] * 2500
        replies = ask_all(server.address, [(name, AAAA) for name in names])
        self.assertEqual([reply.rcode for reply in replies], [NOERROR, NXDOMAIN] * 2500)
        counters = self.counters(server)
        self.assertEqual(server.stop(), 0)
        entries = self.entries()
        self.assertEqual(len(entries), counters["tapped"])
        self.assertEqual(counters["tapped-lost"], 0)
        # 500; six standard deviations, and a few questions that were put twice.
        self.assertTrue(420 <= len(entries) <= 600, len(entries))
        listed = sum(Reply(found.query).question[0][0] == NAME for found in entries)
        self.assertTrue(len(entries) // 4 <= listed <= len(entries) * 3 // 4, "in step with clients")


class PeersTest(DnstapCase):
    def capture(self, path, number):
        peer("fstrm_capture")
        return self.start([peer("fstrm_capture"), "-t", CONTENT.decode(), "-u", path, "-w",
                           self.path(f"captured-{number}"), "-d"], "capture")

    def dump(self, path):
        return subprocess.run([peer("fstrm_dump"), path], check=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=60).stdout

    def test_a_file_is_what_fstrm_dump_reads(self):
        server = self.serve_logged()
        server.ask(NAME, AAAA)
        self.assertEqual(server.stop(), 0)
        dumped = self.dump(self.log_path)
        self.assertEqual(len(re.findall(rb"(?m)^Data frame", dumped)), 2)
        self.assertIn(b"FSTRM_CONTROL_STOP", dumped)

    def test_a_collector_that_comes_goes_and_comes(self):
        path = self.path("log/tap")
        server = self.serve_logged(where=f"socket: {path}")
        self.assertEqual(server.ask(NAME, AAAA).rcode, NOERROR)
        server.wait_for_log(r"^warning: \[dnsblv6d\] query log not written, path=")
        collector = self.capture(path, 1)
        self.wait_until_collected(server)
        self.stop_collector(collector, server)
        self.assertEqual(server.ask(NAME, AAAA).rcode, NOERROR)
        os.unlink(path)
        server.wait_for_log(r"^warning: \[dnsblv6d\] query log not written, path=", 2)
        collector = self.capture(path, 2)
        self.wait_until_collected(server, 2)
        self.assertEqual(server.stop(), 0)
        collector.stop()
        for number in (1, 2):
            self.assertGreater(len(self.entries(self.path(f"captured-{number}"))), 0)
        self.assertTrue(self.stream(self.path("captured-2")).has_end)
        self.assertGreater(len(re.findall(rb"(?m)^Data frame",
                                          self.dump(self.path("captured-2")))), 0)

    def stop_collector(self, collector, server):
        """A signal that comes just before it waits is seen when it is woken the next time."""
        collector.send_signal(signal.SIGTERM)

        def look():
            self.assertEqual(server.ask(NAME, AAAA).rcode, NOERROR)
            return collector.popen.poll() is not None
        wait_for(look, "the collector to end")

    def wait_until_collected(self, server, count=1):
        """It is tried once a second, and said when it has been well for two."""
        def look():
            self.assertEqual(server.ask(NAME, AAAA).rcode, NOERROR)
            return len(re.findall(r"query log written again, ", server.log())) >= count
        wait_for(look, "a connection")

    def test_a_collector_that_says_nothing_costs_samples_alone(self):
        self.expect_log("query log not written")
        path = self.path("log/tap")
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as hung:
            hung.bind(path)
            hung.listen(1)
            server = self.serve_logged(where=f"socket: {path}", server_lines=["workers: 2"])
            replies = ask_all(server.address, [(NAME, AAAA)] * 20000)
            self.assertTrue(all(reply and reply.rcode == NOERROR for reply in replies))
            wait_for(lambda: self.counters(server)["tapped-lost"] > 0, "lost samples")


class LifeTest(DnstapCase):
    def wait_for_files(self, count):
        def look():
            files = set(glob.glob(self.log_path + "*"))
            return files if len(files) == count else None

        return wait_for(look, f"{count} files")

    def test_a_reload_begins_another_file_and_writes_over_none(self):
        server = self.serve_logged("messages: queries")
        for number in range(3):
            server.ask(NAME, AAAA)
            before = self.wait_for_files(number + 1)
            logger = self.logger_of(server)
            server.send_signal(signal.SIGHUP)
            server.wait_for_log(r"^info: \[dnsblv6d\] reloaded, ", number + 1)
            self.logger_of(server, but=[logger])
            server.ask(NAME, AAAA)
            wait_for(lambda before=before: set(glob.glob(self.log_path + "*")) > before, "a file")
        self.assertEqual(server.stop(), 0)
        files = glob.glob(self.log_path + "*")
        self.assertEqual(len(files), 4)
        for path in files:
            self.assertTrue(self.stream(path).has_end, path)
        self.assertEqual(sum(len(self.entries(path)) for path in files), 6)

    def test_it_is_restarted_when_it_is_killed(self):
        self.expect_log("query log died")
        server = self.serve_logged("messages: queries")
        server.ask(NAME, AAAA)
        self.wait_for_entries(1)
        workers = set(server.children()) - {self.logger_of(server)}
        logger = self.logger_of(server)
        os.kill(logger, signal.SIGKILL)
        server.wait_for_log(rf"^error: \[dnsblv6d\] query log died, pid={logger} signal=9$")
        self.logger_of(server, but=[logger])
        self.assertEqual(server.ask(NAME, AAAA).rcode, NOERROR)
        wait_for(lambda: len(glob.glob(self.log_path + "*")) == 2, "another file")
        self.assertTrue(workers <= set(server.children()), "workers are not concerned")
        self.assertEqual(server.stop(), 0)
        self.assertEqual(sum(len(self.entries(path)) for path in glob.glob(self.log_path + "*")), 2)

    def test_it_ends_with_a_parent_that_is_killed(self):
        server = self.serve_logged()
        logger = self.logger_of(server)
        server.popen.kill()
        server.popen.wait()
        wait_for(lambda: has_ended(logger), "its end")

    def test_it_is_confined(self):
        server = self.serve_logged()
        logger = self.logger_of(server)
        wanted = {"NoNewPrivs": 1, "CapPrm": 0, "CapEff": 0, "CapAmb": 0}
        if not IS_SANITIZED:
            wanted["Seccomp"] = 2

        def is_confined():
            with open(f"/proc/{logger}/status", encoding="ascii") as file:
                status = dict(line.split(":", 1) for line in file if ":" in line)
            return {name: int(status[name], 16) for name in wanted} == wanted

        # It is no worker, for which the server is not ready before.
        wait_for(is_confined, f"it to have {wanted}")

    def test_a_full_disk_is_said_once_and_survived(self):
        if os.geteuid() != 0:
            self.skipTest("only root mounts")
        config, address = self.configure("messages: queries")
        command = (f"mount -t tmpfs -o size=256k none {self.path('log')} &&"
                   f" exec {program('dnsblv6d')} --config {config}")
        server = self.start([peer("unshare"), "--mount", "sh", "-c", command], "dnsblv6d")
        wait_for(lambda: "ready, " in server.log() or server.popen.poll() is not None, "an end")
        if re.search("^(mount|unshare):", server.log(), re.MULTILINE):
            self.skipTest(f"no mount here: {server.log().strip()}")
        server.wait_for_log(r"^info: \[dnsblv6d\] ready, ")
        inside = f"/proc/{server.pid}/root{self.path('log')}"
        self.assertEqual(ask(address, NAME, AAAA).rcode, NOERROR)
        path = f"{inside}/queries.fstrm"
        wait_for(lambda: os.path.exists(path) and os.path.getsize(path) > 100, "a beginning")
        self.fill(f"{inside}/filler")
        for _ in range(20):
            with Asker(address) as asker:
                replies = asker.ask_all([(NAME, AAAA)] * 500)
            self.assertTrue(all(reply.rcode == NOERROR for reply in replies))
            if "query log not written" in server.log():
                break
        server.wait_for_log(r"query log not written, path=\S+ \(No space left on device\)$")
        self.assertGreater(self.counters(server)["tapped-lost"], 0)
        os.unlink(f"{inside}/filler")
        wait_for(lambda: ask(address, NAME, AAAA).rcode == NOERROR
                 and "query log written again" in server.log(), "room to be used")
        self.assertEqual(server.log().count("query log not written"), 1)
        shutil.copy(f"{inside}/queries.fstrm", self.path("copy"))
        stream = self.stream(self.path("copy"))
        self.assertEqual(stream.rest, b"", "a frame is cut")
        self.assertGreater(len(stream.frames), 1)
        for frame in stream.frames:
            self.assertEqual(entry(frame).type, QUERY)
        self.assertEqual(server.stop(), 0)

    def fill(self, path):
        """The disk, to the last byte."""
        with open(path, "wb", buffering=0) as filler:
            try:
                while True:
                    filler.write(bytes(4096))
            except OSError as error:
                self.assertEqual(error.errno, errno.ENOSPC)


if __name__ == "__main__":
    main()
