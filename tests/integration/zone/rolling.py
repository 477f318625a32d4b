# SPDX-License-Identifier: GPL-3.0-or-later
"""
rolling.py - a zone whose keys follow each other, and a zone above that says what a test wants.

Flow: test_roll.py and test_roll_live.py make a Rolling -> sign_at(), build_at() and roll_at() run
      dnsblv6-zone at some distance from the machine's clock -> verify_at() has others look at the zone.

Needs ldns-verify-zone and kzonecheck.
"""

import collections
import contextlib
import os
import re
import select
import socket
import struct
import subprocess
import threading
import time

from harness import ZONE, Case, peer, question_of

DS, DNSKEY, CDS, CDNSKEY = 43, 48, 59, 60
MINUTE, HOUR, DAY = 60, 3600, 86400

Key = collections.namedtuple("Key", "tag algorithm state")


def ds_rdata(line):
    """Of a DS record as dnsblv6-zone ds prints it."""
    tag, algorithm, digest_type, *digest = line.split()[3:]
    return (struct.pack(">HBB", int(tag), int(algorithm), int(digest_type)) +
            bytes.fromhex("".join(digest)))


class Parent:
    """A server of the zone above, in a thread: what it has, and how it misbehaves."""

    def __init__(self, host):
        self.ds, self.ttl = [], 1
        self.flags = 0x8400  # QR, AA
        self.is_silent = self.is_cut = self.is_slow = False
        self.before_answer = lambda: None
        self.asked = 0
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind((host, 0))
        self.tcp = socket.create_server((host, self.udp.getsockname()[1]))
        self.address = "{}@{}".format(*self.udp.getsockname())
        self.end, self.is_ending = os.pipe()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def stop(self):
        os.close(self.is_ending)
        self.thread.join()
        for file in (self.udp, self.tcp):
            file.close()
        os.close(self.end)

    def _answer(self, packet, is_cut):
        self.asked += 1
        self.before_answer()
        flags = self.flags | (0x0200 if is_cut else 0)
        records = [] if is_cut else self.ds
        answer = packet[:2] + struct.pack(">HHHHH", flags, 1, len(records), 0, 0)
        answer += question_of(packet)
        for rdata in records:
            answer += b"\xc0\x0c" + struct.pack(">HHIH", DS, 1, self.ttl, len(rdata)) + rdata
        return answer

    def _run(self):
        while True:
            ready = select.select([self.end, self.udp, self.tcp], [], [])[0]
            if self.end in ready:
                return
            if self.udp in ready:
                packet, address = self.udp.recvfrom(512)
                if not self.is_silent:
                    self.udp.sendto(self._answer(packet, self.is_cut), address)
            if self.tcp in ready:
                with self.tcp.accept()[0] as connection:
                    packet = connection.recv(514)[2:]
                    answer = self._answer(packet, False)
                    self._send(connection, struct.pack(">H", len(answer)) + answer)

    def _send(self, connection, answer):
        if not self.is_slow:
            connection.sendall(answer)
            return
        with contextlib.suppress(OSError):  # the other end has closed
            for octet in answer:
                connection.sendall(bytes([octet]))
                time.sleep(0.3)


class Rolling(Case):
    def setUp(self):
        super().setUp()
        self.store, self.keys = self.path("bl6.mdb"), self.path("keys")
        self.list = self.write("list", "192.0.2.1\n198.51.100.0/24\n2001:db8:bad::/64\n")
        self.parent = Parent(self.host)
        self.addCleanup(self.parent.stop)

    # ---- dnsblv6-zone ----

    def build_at(self, offset_s, *more, **how):
        return self.run_zone_at(offset_s, "build", "--zone", ZONE, "--store", self.store, "--ns",
                                "ns1.example.net.", *(more or ("--keys", self.keys)), self.list,
                                **how)

    def sign_at(self, offset_s, *more, **how):
        return self.run_zone_at(offset_s, "sign", "--store", self.store,
                                *(more or ("--keys", self.keys)), **how)

    def roll_at(self, offset_s, *more, **how):
        return self.run_zone_at(offset_s, "roll", "--store", self.store, "--keys", self.keys, *more,
                                **how)

    def step_at(self, offset_s, step, **how):
        return self.roll_at(offset_s, "--step", step, **how)

    def state_at(self, offset_s=0):
        """The keys as roll prints them, the older one first."""
        lines = self.roll_at(offset_s).out.splitlines()
        return [Key(*re.match(r"(\d+) +(\d+) +(\w+)", line).groups()) for line in lines[1:-1]]

    def states_at(self, offset_s=0):
        return [key.state for key in self.state_at(offset_s)]

    # ---- keys ----

    def key_path(self, key):
        return os.path.join(self.keys, f"bl6.example.+{key.algorithm}+{key.tag}.pem")

    def ds_of(self, key):
        return ds_rdata(self.run_zone("ds", "--zone", ZONE, "--key", self.key_path(key)).out)

    def give_ds(self, *keys):
        self.parent.ds = [self.ds_of(key) for key in keys]

    # ---- what others say ----

    def records(self):
        """[(name, type, RDATA)] of the zone."""
        lines = self.run_zone("dump", "--zonefile", "--store", self.store).out.splitlines()
        return [(fields[0], fields[2], " ".join(fields[3:]))
                for fields in (line.split() for line in lines if line[0] not in "$;")]

    def apex(self, rrtype, zone=ZONE):
        return [rdata for name, found, rdata in self.records() if (name, found) == (zone, rrtype)]

    def verify_at(self, offset_s, zone=ZONE):
        """
        Every signature, of every algorithm among the DNSKEYs, is good at that time. kzonecheck wants all
        keys with flags 257 to sign everything, which RFC 4035 section 2.2 does not.
        """
        path = self.path("zonefile")
        with open(path, "wb") as file:
            self.run_zone_into(file, "dump", "--zonefile", "--store", self.store)
        algorithms = [rdata.split()[2] for rdata in self.apex("DNSKEY", zone)]
        commands = [["ldns-verify-zone", "-t", f"+{offset_s}", path]]
        if len(algorithms) == 1:
            commands.append(["kzonecheck", "-t", f"+{offset_s}", "-o", zone, path])
        for command in commands:
            result = subprocess.run([peer(command[0]), *command[1:]], check=False,
                                    capture_output=True, text=True)
            self.assertEqual(result.returncode, 0, f"{command}\n{result.stdout}{result.stderr}")

    @contextlib.contextmanager
    def unchanged(self):
        """What is done inside leaves the store as it was."""
        def content():
            with open(self.store, "rb") as store:
                return store.read()
        before = content()
        yield
        self.assertEqual(content(), before)
