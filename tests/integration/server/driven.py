# SPDX-License-Identifier: GPL-3.0-or-later
"""
driven.py - a server whose questions come over a veth, so that the network driver may answer.

Flow: a Driven case has two networks with a veth between -> serve_driven() starts dnsblv6d in one,
      with a BPF file system of its own -> the test itself, and so ask(), is in the other.

Needs root, veth and a kernel with BPF; without them a test is skipped, with the reason.
"""

import os
import re
import subprocess
import unittest

import harness
from harness import CLASSIC, EX_CONFIG, ZONE, Case, Process, Server, peer, program, wait_for
from passing import join, pass_all

SERVER, CLIENT = "192.0.2.1", "192.0.2.2"
SERVER6, CLIENT6 = "2001:db8::1", "2001:db8::2"
INTERFACE = "driven0"


class DrivenServer(Server):
    """In the network of a space, and with a BPF file system that no other process has."""

    def __init__(self, space, config, log_path):
        Process.__init__(self, [peer("nsenter"), "--target", str(space.pid), "--net", peer("unshare"), "--mount",
                                "sh", "-c", 'mount -t bpf bpf /sys/fs/bpf; exec "$@"', "sh",
                                program("dnsblv6d"), "--config", config], log_path)
        self.config_path = config
        self.address = (SERVER, 53)


class Driven(Case):
    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            raise unittest.SkipTest("only root may attach a program to a driver")
        self.refuse_without_program()
        self.server_space = self.make_space("server-space")
        self.client_space = self.make_space("client-space")
        join(self, (self.server_space, INTERFACE, SERVER, SERVER6), (self.client_space, "client0", CLIENT, CLIENT6))
        self.enter_network(self.client_space.pid)
        self.addCleanup(os.close, self.pass_all())
        self.store = self.path("bl6.mdb")
        self.socket_path = self.path("ctl")

    def refuse_without_program(self):
        config = self.write("any.conf", "xdp:\n    interface: [ lo ]\n")
        result = subprocess.run([program("dnsblv6d"), "--check", "--config", config], check=False,
                                capture_output=True, text=True, timeout=60)
        if result.returncode == EX_CONFIG and "this build" in result.stderr:
            raise unittest.SkipTest("this build has no answers from the network driver")

    def pass_all(self):
        try:
            return pass_all("client0")
        except OSError as error:
            raise unittest.SkipTest(f"no program in a driver here: {error}") from None

    def write_driven(self, zones=None, server_lines=(), xdp_lines=()):
        zones = zones or [(ZONE, self.store, CLASSIC)]
        text = harness.config_text(("0.0.0.0", 53), zones,
                                   (f"control: {self.socket_path}", *server_lines))
        text += "\n".join(["xdp:", f"    interface: [ {INTERFACE} ]",
                           *(f"    {line}" for line in xdp_lines)]) + "\n"
        return self.write("driven.conf", text)

    def serve_driven(self, **how):
        """Ready, and attached, or the test is skipped."""
        config = self.write_driven(**how)
        log_path = self.path(f"driven-{len(self.processes)}.log")
        server = DrivenServer(self.server_space, config, log_path)
        self.processes.append(server)
        server.wait_for_log(r"^info: \[dnsblv6d\] ready, ")
        refused = re.search(r"^warning: \[xdp\] not attached, .*", server.log(), re.MULTILINE)
        if refused:
            self.expect_log("not attached")
            raise unittest.SkipTest(refused.group())
        return server

    def ctl(self, *words, expect=0):
        result = subprocess.run([program("dnsblv6ctl"), "--socket", self.socket_path, *words],
                                capture_output=True, text=True, check=False, timeout=100)
        self.assertEqual(result.returncode, expect, f"{words}: {result.stdout}{result.stderr}")
        return result.stdout

    def rows(self, *words):
        return [line.split("\t") for line in self.ctl(*words).splitlines()]

    def stats(self):
        return {(row[0], row[1]): int(row[2]) for row in self.rows("stats")}

    def filler(self):
        """Generation, process and restarts."""
        return next((int(row[1]), int(row[2]), int(row[4])) for row in self.rows("driver")
                    if row[0] == "filler")

    def zone_rows(self):
        """{name: (serial, state, reason)}"""
        return {row[1]: (int(row[2]), row[5], row[6]) for row in self.rows("driver")
                if row[0] == "zone"}

    def wait_until_driven(self, zone=ZONE, serial=None):
        """Until the driver answers for zone, and with that serial."""
        def is_there():
            found, state, _ = self.zone_rows()[zone]
            return state == "driver" and serial in (None, found)
        wait_for(is_there, f"the driver to answer for {zone}")
