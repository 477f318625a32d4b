#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Cookies, rate limits, TCP places, rules and identity, with real clients and
with scripted floods.

Needs dig, delv, kdig, unbound and named.
"""

import os
import re
import resource
import select
import signal
import socket
import struct
import time
import unittest

from harness import (AAAA, CLASSIC, DEADLINE_S, IS_SANITIZED, NOERROR, NXDOMAIN, REFUSED, SOA, ZONE, Reply, ask,
                     exchange, framed, main, query, wait_for)
from limits import ANCHOR, LISTED, Flood, Limits, ask_from, flood, option, with_options
from resolvers import start_bind, start_kresd, start_recursor, start_unbound

SECRET = "e5e973e5a6b2a43f48e7dc849e37bfcf"
OTHER_SECRET = "445536bcd2513298075a5d379663c962"
KEY = "c2VjcmV0c2VjcmV0c2VjcmV0"
COOKIE, BADCOOKIE = 10, 23


class Cookies(Limits):
    def test_dig_and_kdig_get_cookies_that_are_good_the_next_time(self):
        self.start_server("workers: 2")
        first = self.tool("dig", LISTED, "AAAA")
        self.assertIn("(good)", first)
        cookie = re.search(r"COOKIE: (\w+)", first).group(1)
        self.assertEqual(len(cookie), 48)
        for _ in range(8):  # whichever worker: the secret is the same
            self.assertIn("(good)", self.tool("dig", f"+cookie={cookie}", LISTED, "AAAA"))
        self.assertEqual(self.counters()["cookies"], 8)
        self.assertEqual(self.counters()["cookies-bad"], 0)
        text = self.tool("kdig", "+cookie", LISTED, "AAAA")
        self.assertRegex(text, r"COOKIE: \w{48}|COOKIE.*\w{16}, \w{32}")
        self.assertIn("4000::", text)

    def test_servers_with_one_secret_take_each_others_cookies(self):
        self.expect_log("configuration has secrets and everybody may read it")
        first = self.start_server(f"cookie-secret: {SECRET}")
        cookie = self.cookie_of(first)
        second = self.start_server(f"cookie-secret: [ {OTHER_SECRET}, {SECRET} ]")
        self.cookie_of(second, cookie)
        self.assertEqual(self.counters()["cookies"], 1)
        # The first secret makes: an hour later nobody needs the second.
        rolled = self.cookie_of(second)
        third = self.start_server(f"cookie-secret: {OTHER_SECRET}")
        self.cookie_of(third, rolled)
        self.cookie_of(third, cookie)
        self.assertEqual((self.counters()["cookies"], self.counters()["cookies-bad"]), (1, 1))

    def test_a_random_secret_survives_a_reload(self):
        server = self.start_server()
        cookie = self.cookie_of(server)
        server.send_signal(signal.SIGHUP)
        server.wait_for_log(r"\] reloaded, ")
        self.cookie_of(server, cookie)
        self.assertEqual(self.counters()["cookies"], 1)

    def cookie_of(self, server, cookie=b"clientsc"):
        """That of the response to a question with this one."""
        reply = Reply(exchange(server.address,
                               with_options(ZONE, SOA, option(COOKIE, cookie))))
        self.assertEqual(reply.rcode, NOERROR)
        options = reply.additional[0].rdata
        code, size = struct.unpack_from(">HH", options)
        self.assertEqual((code, size), (COOKIE, 24))
        return options[4:28]


class RateLimit(Limits):
    RATE = 10
    BURST = 4 * RATE

    def start_limited(self, *lines):
        # The address of the tests' own questions is not limited.
        return self.start_server(f"rate-limit: {self.RATE}",
                                 f"rate-limit-allow: [ {self.host}/32, 127.0.0.0/24 ]", *lines)

    def most(self, began):
        """Answers that the rate permits, with what time has brought."""
        return self.BURST + self.RATE * (time.monotonic() - began) + 1

    def test_a_flood_in_the_name_of_one_network_gets_the_rate(self):
        server = self.start_limited("rate-limit-slip: 2")
        began = time.monotonic()
        replies = flood(self.flooder, server.address,
                        [query(LISTED, AAAA, n) for n in range(2000)], sockets=8)
        most = self.most(began)
        whole = [reply for reply in replies if not reply.is_truncated]
        cut = [reply for reply in replies if reply.is_truncated]
        self.assertGreaterEqual(len(whole), self.BURST)
        self.assertLessEqual(len(whole), most)
        # Every second of the others, without anything in it.
        self.assertEqual(len(cut), (2000 - len(whole)) // 2)
        self.assertTrue(all(reply.answer == [] and reply.rcode == NOERROR for reply in cut))
        counted = self.counters()
        self.assertEqual(counted["limited-truncated"], len(cut))
        self.assertEqual(counted["limited-dropped"], 2000 - len(whole) - len(cut))
        # Its victim's neighbours are limited with it, everybody else is not.
        self.assertIsNotNone(ask_from(self.stranger, server.address, query(LISTED, AAAA, 1)))

    def test_water_torture_is_limited_and_takes_no_memory(self):
        server = self.start_limited()
        worker = server.children()[0]
        before = resident_kb(worker)
        began = time.monotonic()
        names = [f"{self.random.getrandbits(64):x}.{ZONE}" for _ in range(5000)]
        replies = flood(self.flooder, server.address,
                        [query(name, AAAA, n & 0xFFFF) for n, name in enumerate(names)])
        denied = [reply for reply in replies if reply.rcode == NXDOMAIN]
        self.assertLessEqual(len(denied), self.most(began))
        # As many networks as there are loopback addresses for.
        for number in range(200):
            ask_from(f"127.{self.host.split('.')[1]}.{number % 250}.{number // 250 + 2}",
                     server.address, query(ZONE, SOA, number))
        if not IS_SANITIZED:
            self.assertLess(resident_kb(worker) - before, 1024)

    def test_slip_0_drops_and_slip_1_truncates(self):
        for slip, expected in ((0, 0), (1, 300)):
            server = self.start_limited(f"rate-limit-slip: {slip}")
            replies = flood(self.flooder, server.address,
                            [query(LISTED, AAAA, n) for n in range(300)])
            whole = sum(not reply.is_truncated for reply in replies)
            cut = sum(reply.is_truncated for reply in replies)
            self.assertEqual(cut, max(0, expected - whole) if slip else 0)
            server.stop()

    def drain_bucket(self, server):
        """Until the network of the flooder has nothing left."""
        flood(self.flooder, server.address, [query(LISTED, AAAA, n) for n in range(400)])

    def test_dig_comes_back_with_the_cookie_or_over_tcp(self):
        server = self.start_limited("rate-limit-slip: 1")
        self.drain_bucket(server)
        text = self.tool("dig", LISTED, "AAAA", source=self.neighbour)
        self.assertIn("4000::", text)
        text = self.tool("dig", "+nocookie", LISTED, "AAAA", source=self.neighbour)
        self.assertIn("4000::", text)
        text = self.tool("kdig", "+nocookie", LISTED, "AAAA", source=self.neighbour)
        self.assertIn("4000::", text)

    def test_a_cookie_makes_a_client_of_a_flooded_network_known(self):
        server = self.start_limited("rate-limit-slip: 1")
        self.drain_bucket(server)
        replies = flood(self.neighbour, server.address,
                        [with_options(LISTED, AAAA, option(COOKIE, b"clientsc"), n)
                         for n in range(200)])
        bad = [reply for reply in replies
               if reply.rcode | reply.additional[0].ttl >> 24 << 4 == BADCOOKIE]
        self.assertGreater(len(bad), 0)
        self.assertTrue(all(reply.answer == [] for reply in bad))
        cookie = bad[-1].additional[0].rdata[4:28]
        replies = flood(self.neighbour, server.address,
                        [with_options(LISTED, AAAA, option(COOKIE, cookie), n)
                         for n in range(200)])
        self.assertEqual(sum(reply.answer != [] for reply in replies), 200)
        # In the name of another it is worth nothing.
        replies = flood(self.flooder, server.address,
                        [with_options(LISTED, AAAA, option(COOKIE, cookie), n)
                         for n in range(200)])
        self.assertLess(sum(reply.answer != [] for reply in replies), 200)
        counted = self.counters()
        self.assertGreater(counted["badcookie"], 0)
        self.assertEqual(counted["cookies"], 200)

    def resolve_many(self, resolver):
        """A hundred names through a resolver, each answered."""
        for number in range(100):
            reply = ask(resolver, f"0.{number}.51.198.{ZONE}", AAAA, timeout_s=DEADLINE_S)
            self.assertEqual((number, reply.rcode),
                             (number, NOERROR if number == 100 else NXDOMAIN))

    def test_resolvers_get_through_with_cookies_and_without(self):
        limited = ("rate-limit: 1", "rate-limit-slip: 1")
        for name, start in (
                ("bind with cookies", lambda s: start_bind(self, [s], [])),
                ("bind without", lambda s: start_bind(self, [s], [], ["send-cookie no;"])),
                ("unbound", lambda s: start_unbound(self, [s]))):
            with self.subTest(resolver=name):
                server = self.start_server(*limited)
                self.resolve_many(start(server))
                counted = self.counters()
                if name == "bind with cookies":
                    self.assertGreater(counted["cookies"], 80)
                else:
                    self.assertEqual(counted["cookies"], 0)
                    self.assertGreater(counted["tcp-clients"], 0)


class Defaults(Limits):
    """A resolver in whose network's name somebody floods, or that is over the rate by itself."""

    HAS_LIMIT = True
    NAMES = 300

    def lookups(self, resolver, third):
        """Each is answered; how long they took at the median, one after the other."""
        took_ms = []
        for number in range(self.NAMES):
            began = time.monotonic()
            reply = ask(resolver, f"0.{number & 127}.{third + (number >> 7)}.198.{ZONE}", AAAA,
                        timeout_s=60)
            took_ms.append((time.monotonic() - began) * 1000)
            self.assertEqual((number, reply.rcode), (number, NXDOMAIN))
        return sorted(took_ms)[self.NAMES // 2]

    def test_resolvers_lose_no_lookup_while_their_network_is_over_the_rate(self):
        for name, start in (
                ("BIND", lambda s: start_bind(self, [s], [])),
                ("BIND without cookies", lambda s: start_bind(self, [s], [], ["send-cookie no;"])),
                ("Unbound", lambda s: start_unbound(self, [s])),
                ("Knot Resolver", lambda s: start_kresd(self, [s], [ANCHOR])),
                ("PowerDNS Recursor", lambda s: start_recursor(self, [s], []))):
            with self.subTest(resolver=name):
                server = self.start_server()
                try:
                    resolver = start(server)
                except unittest.SkipTest:
                    continue
                quiet_ms = self.lookups(resolver, 60)
                self.assertEqual(self.counters()["limited-truncated"], 0)
                # The resolvers ask from 127.0.0.1.
                with Flood("127.0.0.9", server.address):
                    wait_for(lambda: self.counters()["limited-truncated"] > 0, "the limit")
                    limited_ms = self.lookups(resolver, 70)
                print(f"{name}: {quiet_ms:.1f} ms below the rate, {limited_ms:.1f} ms above it")
                self.assertEqual(self.counters()["limited-dropped"], 0)
                server.stop()


def resident_kb(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1))


class Tcp(Limits):
    def connect(self, source, timeout_s=DEADLINE_S):
        tcp = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.addCleanup(tcp.close)
        tcp.settimeout(timeout_s)
        tcp.bind((source, 0))
        tcp.connect(self.server.address)
        return tcp

    def answers(self, tcp):
        packet = query(LISTED, AAAA, 9)
        try:
            tcp.sendall(framed(packet))
            return len(tcp.recv(65535)) > 0
        except OSError:
            return False

    def test_one_network_does_not_take_all_places(self):
        self.start_server("tcp-max-clients: 20", "tcp-max-clients-per-network: 5",
                          "tcp-idle-timeout: 1h")
        friend = self.connect(self.stranger)
        self.assertTrue(self.answers(friend))
        greedy = [self.connect(source) for _ in range(50)
                  for source in (self.flooder, self.neighbour)]
        wait_for(lambda: self.counters()["tcp-clients"] == 101, "all clients to be taken")
        self.assertEqual(self.counters()["tcp-network-full"], 95)
        self.assertTrue(self.answers(friend))
        self.assertEqual([self.answers(tcp) for tcp in greedy], [False] * 95 + [True] * 5)

    def test_clients_do_not_get_the_descriptors_that_a_worker_needs(self):
        self.expect_log("fewer clients than configured")
        self.start_server("workers: 1", "tcp-max-clients: 1000",
                          "tcp-max-clients-per-network: 1000", "tcp-idle-timeout: 1h",
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256)))
        told = re.search(r"fewer clients than configured, clients=(\d+) descriptors=256\n",
                         self.server.log())
        places = int(told[1])
        clients = [self.connect(self.flooder) for _ in range(places + 50)]
        wait_for(lambda: self.counters()["tcp-clients"] == places + 50, "all clients to be taken")
        self.assertEqual([self.answers(tcp) for tcp in clients], [False] * 50 + [True] * places)
        # A store that is replaced needs some of its own.
        self.build(self.path("next.mdb"), self.write("list", "203.0.113.1\n"))
        os.rename(self.path("next.mdb"), self.store)
        wait_for(lambda: ask(self.server.address, f"0.113.0.203.{ZONE}", AAAA).answer != [],
                 "the next store")

    def places(self, *zone_lines, sections=""):
        """For clients over TCP, of 256 descriptors."""
        server = self.start_server(
            "tcp-max-clients: 1000", zone_lines=zone_lines, sections=sections,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256)))
        told = re.search(r"fewer clients than configured, clients=(\d+) ", server.log())
        server.stop()
        return int(told[1])

    def test_clients_do_not_get_the_descriptors_that_secondaries_need(self):
        self.expect_log("fewer clients than configured", "NOTIFY")
        addresses = ", ".join(f"{self.flooder}@{port}" for port in range(1, 21))
        followed = self.places("secondary: [ many ]",
                               sections=f"secondary:\n  - id: many\n    address: [ {addresses} ]\n")
        # Each is sent NOTIFY and is asked which serial it has.
        self.assertEqual(self.places() - followed, 2 * 20)

    def test_secondaries_and_zones_leave_descriptors_for_clients(self):
        """They take turns: of 60 that are silent 32 at once, and each is told and asked."""
        silent = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(60)]
        for udp in silent:
            self.addCleanup(udp.close)
            udp.bind((self.flooder, 0))
        text = "".join(f"  - id: s{n}\n    address: {self.flooder}@{udp.getsockname()[1]}\n"
                       for n, udp in enumerate(silent))
        self.expect_log("fewer clients than configured", "secondary does not answer NOTIFY")
        server = self.start_server(
            "tcp-max-clients: 1000", "transfer-max: 100", sections="secondary:\n" + text,
            zone_lines=[f"secondary: [ {', '.join(f's{n}' for n in range(60))} ]"],
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256)))
        server.wait_for_log("too few descriptors to ask all secondaries at once, addresses=60 at-once=32 descriptors=256")
        told = re.search(r"fewer clients than configured, clients=(\d+) ", server.log())
        self.assertGreater(int(told[1]), 32)
        wanted = {(n, opcode) for n in range(60) for opcode in (0, 4)}
        end = time.monotonic() + DEADLINE_S
        while wanted and time.monotonic() < end:
            for udp in select.select(silent, [], [], 1)[0]:
                wanted.discard((silent.index(udp), udp.recv(512)[2] >> 3))
        self.assertEqual(wanted, set())

    def test_half_a_question_is_given_less_time_than_an_idle_connection(self):
        self.start_server("tcp-idle-timeout: 1h", "tcp-query-timeout: 1s")
        silent = self.connect(self.stranger)
        self.assertTrue(self.answers(silent))
        slow = self.connect(self.flooder)
        slow.sendall(b"\0")
        self.assertEqual(slow.recv(1), b"")
        drip = self.connect(self.flooder)
        packet = query(LISTED, AAAA, 9)
        data = framed(packet)
        drip.settimeout(0.2)
        for byte in data:
            self.assertTrue(self.answers(silent))  # so that the server's clock has gone on as well
            try:
                drip.sendall(bytes([byte]))
                if drip.recv(1) == b"":
                    break
            except TimeoutError:
                continue
            except ConnectionError:
                break
        else:
            self.fail("a byte now and then held a place")
        self.assertTrue(self.answers(silent))

    def test_dig_is_told_the_idle_timeout(self):
        self.start_server("tcp-idle-timeout: 25s")
        text = self.tool("dig", "+tcp", "+keepalive", LISTED, "AAAA")
        self.assertRegex(text, r"TCP[- ]KEEPALIVE: 25\.0 secs")
        self.assertNotRegex(self.tool("dig", "+tcp", LISTED, "AAAA"), "KEEPALIVE")
        self.assertNotRegex(self.tool("dig", "+notcp", "+keepalive", LISTED, "AAAA"), "KEEPALIVE")


class Access(Limits):
    SECTIONS = f"key:\n  - id: customer\n    secret: {KEY}\n" \
               f"  - id: stranger\n    secret: {KEY}\n"

    def start_with_rules(self):
        rules = ("access:\n"
                 f"  - id: banned\n    action: drop\n    address: {self.flooder}\n"
                 f"  - id: home\n    address: {self.host}\n"
                 "  - id: customer\n    key: customer\n")
        return self.start_server(sections=self.SECTIONS + rules,
                                 zone_lines=["access: [ banned, home, customer ]"])

    def test_address_and_key_decide_which_client_is_answered(self):
        self.expect_log("configuration has secrets and everybody may read it")
        self.start_with_rules()
        arguments = (LISTED, "AAAA", "+edns=0")
        for tool in ("dig", "kdig"):
            self.assertIn("4000::", self.tool(tool, *arguments, source=self.host))
            refused = self.tool(tool, *arguments, source=self.stranger)
            self.assertIn("REFUSED", refused)
            self.assertIn("Prohibited", refused)
            self.assertIn("4000::", self.tool(tool, "-y", f"hmac-sha256:customer:{KEY}",
                                              *arguments, source=self.stranger))
            self.assertIn("REFUSED", self.tool(tool, "-y", f"hmac-sha256:stranger:{KEY}",
                                               *arguments, source=self.stranger))
        self.assertIsNone(ask_from(self.flooder, self.server.address, query(LISTED, AAAA), 1))
        classic = self.tool("dig", f"1.2.0.192.{CLASSIC}", "A", source=self.stranger)
        self.assertIn("REFUSED", classic)
        delv = self.tool("delv", "-i", LISTED, "AAAA", source=self.host)
        self.assertIn("4000::", delv)

    def test_rules_change_with_a_reload(self):
        self.expect_log("configuration has secrets and everybody may read it")
        server = self.start_with_rules()
        self.assertEqual(Reply(ask_from(self.stranger, server.address,
                                        query(LISTED, AAAA))).rcode, REFUSED)
        self.write(os.path.basename(server.config_path), self.text(server.address, ()))
        server.send_signal(signal.SIGHUP)
        server.wait_for_log(r"\] reloaded, ")
        wait_for(lambda: Reply(ask_from(self.stranger, server.address,
                                        query(LISTED, AAAA))).rcode == NOERROR,
                 "the new rules")


class Identity(Limits):
    def chaos(self, name, tool="dig"):
        return self.tool(tool, "CH", "TXT", name, "+short").strip()

    def test_names_of_chaos_and_nsid(self):
        self.start_server("identity: node-1", 'version: "none of yours"', "nsid: node-1.example")
        for tool in ("dig", "kdig"):
            for name in ("id.server", "hostname.bind"):
                self.assertEqual(self.chaos(name, tool), '"node-1"')
            for name in ("version.server", "VERSION.bind"):
                self.assertEqual(self.chaos(name, tool), '"none of yours"')
            self.assertIn("node-1.example", self.tool(tool, "+nsid", LISTED, "AAAA"))

    def test_auto_is_the_machine_and_the_program(self):
        self.start_server("identity: auto", "version: auto", "nsid: auto")
        self.assertEqual(self.chaos("hostname.bind"), f'"{socket.gethostname()}"')
        self.assertRegex(self.chaos("version.bind"), r'^"dnsblv6d [0-9.]+"$')
        self.assertIn(socket.gethostname(), self.tool("dig", "+nsid", LISTED, "AAAA"))

    def test_nothing_is_told_by_default(self):
        self.start_server()
        for name in ("id.server", "hostname.bind", "version.server", "version.bind"):
            self.assertIn("REFUSED", self.tool("dig", "CH", "TXT", name))
        self.assertNotIn("; NSID", self.tool("dig", "+nsid", LISTED, "AAAA"))


if __name__ == "__main__":
    main()
