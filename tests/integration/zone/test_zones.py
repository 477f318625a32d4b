#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
The signed zone of a real list, as transferred, is sound to five other programs.

dig transfers it; ldns-verify-zone, dnssec-verify, kzonecheck and
named-checkzone accept what came; ldns-walk walks the served zone to its end and
finds each name with its types. In both styles of names.

ldns-walk knows no port but 53: it and the server have a network of their own,
which needs user namespaces, or root.

By default the smaller lists. tests/campaign-zones has all, through
DNSBLV6_ZONES: words FILE:STYLE, or "all".
"""

import concurrent.futures
import os
import signal
import sys
import time

from harness import ANY_SIZE, ZONE, data_file, main, numbers, peer, program
from masterfile import DumpCase

# The order is that of their sizes. datacenter-ipv6.txt has 7.3 million names when they are dotted:
# by name only. Flat ones would be more than a store takes.
ALL = [f"{name}:{style}" for name, style in (
    ("tor-nodes-1.lst", "dotted"), ("tor-nodes-1.lst", "flat"),
    ("tor-nodes-2.lst", "dotted"), ("tor-nodes-2.lst", "flat"),
    ("tor-nodes-3.lst", "dotted"), ("tor-nodes-3.lst", "flat"),
    ("dnsbl-1.uceprotect.net", "dotted"), ("dnsbl-1.uceprotect.net", "flat"),
    ("ipsum.txt", "dotted"), ("ipsum.txt", "flat"),
    ("dnsbl-2.uceprotect.net", "dotted"), ("datacenter-ipv4.txt", "dotted"),
    ("dnsbl-2.uceprotect.net", "flat"), ("datacenter-ipv4.txt", "flat"))]
SMALL = [ALL[0], ALL[3]]
CHOSEN = os.environ.get("DNSBLV6_ZONES", "").split() or SMALL
LARGE = 4_000_000  # names
LIMIT_S = 7200

# dig asks for the SOA once where a transfer has it twice: a zone file has it once.
TRANSFER = ["dig", "+onesoa", "+noall", "+answer", "+time=60", "@127.0.0.1", ZONE, "AXFR"]
WALK = ["ldns-walk", "@127.0.0.1", ZONE]
CONFIG = """
server:
    listen: [ 127.0.0.1@53 ]
    transfer-timeout: 1h
secondary:
  - id: test
    allow: [ 127.0.0.0/8 ]
zone:
  - domain: {zone}
    store: {store}
    secondary: test
"""

# Becomes the program behind it, in a network where "lo" is up.
UP = """
import fcntl, os, socket, struct, sys
SIOCSIFFLAGS, IFF_UP_RUNNING = 0x8914, 0x41
with socket.socket() as udp:
    fcntl.ioctl(udp, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP_RUNNING))
os.execv(sys.argv[1], sys.argv[1:])
"""


class Zones(DumpCase):
    # ---- a network with a port 53 for us ----

    def serve_alone(self):
        """dnsblv6d at 127.0.0.1@53 of a network that has nothing else."""
        config = self.write("alone.conf", CONFIG.format(zone=ZONE, store=self.path("bl6.mdb")))
        user = [] if os.geteuid() == 0 else ["--map-root-user"]
        process = self.start([peer("unshare"), "--net", *user, sys.executable, "-c", UP,
                              program("dnsblv6d"), "--config", config], "dnsblv6d")
        try:
            process.wait_for_log(r"^info: \[dnsblv6d\] ready, ")
        except AssertionError:
            if "unshare failed" in process.log() or "Operation not permitted" in process.log():
                self.skipTest("no network namespaces here: " + process.log().strip())
            raise
        return process

    def run_beside(self, server, command, output):
        """A command in the server's network; its standard output becomes the file."""
        user = [] if os.geteuid() == 0 else ["--user", "--preserve-credentials"]
        process = self.start(["sh", "-c", 'exec "$@" >"$0"', output, peer("nsenter"), "--target",
                              str(server.pid), "--net", *user, peer(command[0]), *command[1:]],
                             command[0])
        self.assertEqual(process.popen.wait(LIMIT_S), 0, process.log()[-4000:])

    # ---- checks ----

    def check_file(self, zonefile, names):
        """Two at a time, or one where the zone is large: they hold it in memory."""
        commands = (["ldns-verify-zone", zonefile],
                    # One key signs everything, so its flag says nothing: -z.
                    ["dnssec-verify", "-z", "-o", ZONE, zonefile],
                    ["kzonecheck", "--dnssec", "on", "--origin", ZONE, zonefile],
                    ["named-checkzone", "-i", "local", ZONE, zonefile])

        def check(command):
            begin = time.monotonic()
            checker = self.start([peer(command[0]), *command[1:]], command[0])
            return command[0], checker.popen.wait(LIMIT_S), checker.log(), time.monotonic() - begin

        for command in commands:
            peer(command[0])
        pool = concurrent.futures.ThreadPoolExecutor(2 if names < LARGE else 1)
        # Of a test that is interrupted a checker is ended, and not waited for.
        self.addCleanup(pool.shutdown, wait=False, cancel_futures=True)
        for name, status, log, took_s in pool.map(check, commands):
            self.assertEqual(status, 0, f"{name}: {log[-4000:]}")
            print(f"{name} {took_s:.0f} s", end=", ")

    def names_of(self, zonefile):
        """(owner, types) of each NSEC, in the order of the file."""
        with open(zonefile, encoding="ascii") as file:
            for line in file:
                words = line.split()
                kind = words.index("IN") + 1 if "IN" in words[:3] else 2
                if words[kind] == "NSEC":
                    yield words[0], words[kind + 2:]

    def names_walked(self, path):
        with open(path, encoding="ascii") as file:
            for line in file:
                words = line.split("\t")[-1].split()  # the first line begins with the zone's name
                if words:
                    yield words[0], words[1:]

    def check_list(self, name, style):
        begin = time.monotonic()
        path = data_file(name)
        path = f"ip4set:{path}" if "uceprotect" in name else path
        if not os.path.exists(self.path("bl6.pem")):
            self.run_zone("keygen", "--zone", ZONE, "--key", self.path("bl6.pem"))
        for old in ("bl6.mdb", "bl6.mdb-lock"):
            if os.path.exists(self.path(old)):
                os.unlink(self.path(old))
        built = self.build(self.path("bl6.mdb"), "--key", self.path("bl6.pem"), "--style", style,
                           "--ignore-columns", "--max-listed", "100", *ANY_SIZE, path,
                           timeout=LIMIT_S)
        names = numbers(built.out)["records"]
        server = self.serve_alone()
        zonefile, walked = self.path("zone.txt"), self.path("walked.txt")
        self.run_beside(server, TRANSFER, zonefile)
        print(f"\n{name} {style}: {names} names, {os.path.getsize(zonefile)} bytes", end=", ")
        self.check_file(zonefile, names)

        self.run_beside(server, WALK, walked)
        count = 0
        for wanted, found in zip(self.names_of(zonefile), self.names_walked(walked)):
            self.assertEqual(found, wanted)
            count += 1
        self.assertEqual(count, names, "names that ldns-walk has seen")
        self.assertEqual(server.stop(signal.SIGTERM), 0)
        print(f"{count} names walked, {time.monotonic() - begin:.0f} s in all", flush=True)

    def test_every_list_in_each_style(self):
        for word in ALL if CHOSEN == ["all"] else CHOSEN:
            name, _, style = word.partition(":")
            with self.subTest(name=name, style=style):
                self.check_list(name, style)


if __name__ == "__main__":
    main()
