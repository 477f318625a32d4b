#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Questions that a network card's queue hands over past the kernel (AF_XDP).

Two network namespaces with a virtual cable between them: dnsblv6d with "xdp" in one, this
process, who asks, in the other. That the kernel's own UDP had nothing to do with
an answer is seen in its counters. The rings are given to the next workers when the
configuration is read again and when one is killed, and ordinary sockets answer in between.

Needs root, iproute2, and a kernel with AF_XDP.
"""

import ctypes
import os
import pwd
import re
import signal
import unittest

import harness
from harness import (AAAA, NXDOMAIN, ZONE, Asker, Case, ask, ask_all, bitmap_name, config_text, ip,
                     main, peer)
from oracle import Oracle, differences

SERVER4, SERVER6, CLIENT4, CLIENT6 = "10.9.0.1", "fd09::1", "10.9.0.2", "fd09::2"
PORT, OTHER_PORT = 53, 5353
LISTED = ["192.0.2.25", "192.0.2.64/30", "198.51.100.0/24", "203.0.0.0/16", "2001:db8:7::/64",
          "2a00:1:2::/48"]
SAMPLE = 2000


class Xdp(Case):
    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("only root makes interfaces")
        peer("ip")
        self.server_space = self.make_space("server")
        self.client_space = self.make_space("client")
        self.connect()
        self.enter_network(self.client_space.pid)

    # ---- two machines and a cable ----

    def connect(self):
        try:
            self.run_in(self.server_space, peer("ip"), "link", "add", "left", "type", "veth",
                        "peer", "name", "right", "netns", str(self.client_space.pid))
        except AssertionError as error:
            self.skipTest(f"no virtual cable here: {error}")
        for space, name, four, six in ((self.server_space, "left", SERVER4, SERVER6),
                                       (self.client_space, "right", CLIENT4, CLIENT6)):
            for words in (f"addr add {four}/24 dev {name}", f"addr add {six}/64 dev {name} nodad",
                          f"link set {name} up", "link set lo up"):
                self.run_in(space, peer("ip"), *words.split())

    def kernel_datagrams(self):
        """How many UDP datagrams the server's kernel has delivered to sockets."""
        count = 0
        for name, pattern in (("snmp", r"^Udp: (\d+)"), ("snmp6", r"^Udp6InDatagrams\s+(\d+)")):
            text = self.run_in(self.server_space, "cat", f"/proc/net/{name}")
            count += int(re.search(pattern, text, re.MULTILINE)[1])
        return count

    # ---- the server ----

    def serve_xdp(self, interface="left", lines=()):
        self.oracle = Oracle()
        for line in LISTED:
            self.oracle.add_text(line)
        self.build(self.path("bl6.mdb"), self.write("list.txt", "\n".join(LISTED) + "\n"))
        # Who reads a store writes its lock file.
        nobody = pwd.getpwnam("nobody")
        for path in ("bl6.mdb", "bl6.mdb-lock"):
            os.chown(self.path(path), nobody.pw_uid, nobody.pw_gid)
        text = config_text((SERVER4, PORT), [(ZONE, self.path("bl6.mdb"), None)],
                           [f"listen: [ \"{SERVER6}@{PORT}\", {SERVER4}@{OTHER_PORT} ]",
                            f"xdp: {interface}@{PORT}", "user: nobody", *lines])
        config = self.write("dnsblv6d.conf", text)
        server = self.start(self.command_in(self.server_space, harness.program("dnsblv6d"),
                                            "--config", config), "dnsblv6d")
        server.wait_for_log(r"^info: \[dnsblv6d\] ready, ")
        if "no xdp" in server.log() and interface == "left":
            self.skipTest("no AF_XDP here: " + re.search(".*no xdp.*", server.log())[0])
        return server

    def check_answers(self, host):
        addresses = self.oracle.sample(SAMPLE, harness.SEED)
        questions = [(bitmap_name(address), AAAA) for address in addresses]
        family = {SERVER4: ask_all}.get(host)
        replies = family((host, PORT), questions) if family else \
            [ask((host, PORT), *question) for question in questions[:200]]
        self.assertEqual(list(differences(self.oracle, addresses[:len(replies)], replies,
                                          ZONE))[:5], [])
        return len(replies)

    def workers(self, server):
        return [pid for pid in server.children() if os.path.exists(f"/proc/{pid}")]

    # ---- tests ----

    def test_answers_are_those_of_the_list_and_pass_the_kernel_by(self):
        server = self.serve_xdp()
        self.assertRegex(server.log(), r"info: \[dnsblv6d\] xdp, interface=left queue=0 port=53")
        ask((SERVER4, PORT), bitmap_name(ip("192.0.2.25")), AAAA)  # addresses are resolved now
        ask((SERVER6, PORT), bitmap_name(ip("192.0.2.25")), AAAA)
        before = self.kernel_datagrams()
        asked = self.check_answers(SERVER4) + self.check_answers(SERVER6)
        self.assertEqual(self.kernel_datagrams() - before, 0, f"of {asked} questions")

    def test_what_is_not_for_the_port_is_the_kernels(self):
        self.serve_xdp()
        before = self.kernel_datagrams()
        reply = ask((SERVER4, OTHER_PORT), bitmap_name(ip("192.0.2.25")), AAAA)
        self.assertEqual(len(reply.rdata(AAAA)), 1)
        self.assertEqual(self.kernel_datagrams() - before, 1)

    def test_a_long_answer_is_had_over_tcp(self):
        self.serve_xdp(lines=["udp-max-payload: 512"])
        dig = self.start([peer("dig"), "+tcp", "+short", f"@{SERVER4}", "AAAA",
                          bitmap_name(ip("192.0.2.25"))], "dig")
        self.assertEqual(dig.popen.wait(harness.DEADLINE_S), 0)
        self.assertIn(":", dig.log())

    def test_workers_of_a_reload_take_the_queue_over(self):
        server = self.serve_xdp()
        name = bitmap_name(ip("192.0.2.25"))
        for count in (2, 3):
            server.send_signal(signal.SIGHUP)
            with Asker((SERVER4, PORT), retry_s=1, retries=5) as asker:
                replies = asker.ask_all([(name, AAAA)] * 500)
            self.assertEqual([reply for reply in replies if reply is None], [])
            server.wait_for_log(r"xdp, interface=left", count)
            server.wait_for_log(r"reloaded, ", count - 1)
        before = self.kernel_datagrams()
        self.check_answers(SERVER4)
        self.assertEqual(self.kernel_datagrams(), before)

    def test_the_queue_of_a_killed_worker_is_taken_again(self):
        server = self.serve_xdp()
        os.kill(self.workers(server)[0], signal.SIGKILL)
        server.wait_for_log(r"xdp, interface=left", 2)
        reply = ask((SERVER4, PORT), bitmap_name(ip("10.0.0.1")), AAAA)
        self.assertEqual(reply.rcode, NXDOMAIN)

    def test_workers_keep_no_privileges(self):
        server = self.serve_xdp()
        for pid in [server.pid, *self.workers(server)]:
            with open(f"/proc/{pid}/status", encoding="ascii") as file:
                status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
            self.assertNotIn("0", status["Uid"].split(), pid)
            if pid != server.pid:
                self.assertEqual(int(status["CapEff"], 16), 0)

    def test_without_the_interface_ordinary_sockets_answer(self):
        server = self.serve_xdp(interface="nothing")
        self.assertRegex(server.log(), r"warning: \[dnsblv6d\] no xdp, ordinary sockets answer, "
                                       r"interface=nothing")
        self.check_answers(SERVER4)

    def test_a_wrong_item_is_refused(self):
        for word, reason in (("left@0", "port"), ("left@70000", "port"),
                             ("interface-name-too-long", "interface")):
            config = self.write("bad.conf", config_text((SERVER4, PORT), [], [f"xdp: {word}"]))
            check = self.start([harness.program("dnsblv6d"), "--check", "--config", config],
                               "check")
            self.assertEqual(check.popen.wait(harness.DEADLINE_S), harness.EX_CONFIG)
            self.assertRegex(check.log(), f"(?i){reason}")


if __name__ == "__main__":
    if not hasattr(ctypes.CDLL(None), "setns"):
        raise unittest.SkipTest("no setns()")
    main()
