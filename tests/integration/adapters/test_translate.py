#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
dnsblv6-translate answers classic questions out of bitmaps as rbldnsd does from
the same list, asks as little as its cache allows, takes any packet, and
comes back by itself from whatever has failed behind it.

Needs rbldnsd for the comparison, and python3-dnspython for the probes of
test_conformance.py. DNSBLV6_QUESTIONS is how many questions both servers are asked,
spread over all forms, 8000 by default.
"""

import ipaddress
import os
import pwd
import re
import signal
import socket
import struct
import subprocess
import unittest

import harness
import probes
import rbldnsd as peers
from harness import (A, AAAA, ANY, CLASSIC, FORMERR, NOERROR, NOTIMP, NS, NXDOMAIN, OPT, REFUSED,
                     SERVFAIL, SOA, TXT, ZONE, Case, Reply, classic_name, framed, ip, query,
                     wait_for, wire_name)
from lookups import count_queries
from translators import LISTS, LOCAL, start_translator

QUESTIONS = int(os.environ.get("DNSBLV6_QUESTIONS", 2000 if harness.IS_SANITIZED else 8000))
CODE = b"\x7f\0\0\2"


def name_of(text, zone=LOCAL):
    return classic_name(ip(text), zone)


class TranslateCase(Case):
    def serve_list(self, *lines, **how):
        self.build(self.path("bl6.mdb"), self.write("list.txt", "\n".join(lines) + "\n"))
        self.server = self.serve(server_lines=[f"control: {self.path('ctl')}"], **how)
        return self.server

    def questions(self, zone=ZONE):
        """How many the authority has had about the zone."""
        return count_queries(self, zone)

    def signal_all(self, server, number):
        for pid in [server.pid, *server.children()]:
            os.kill(pid, number)

    def is_listed(self, translator, text="192.0.2.66"):
        return bool(translator.ask(name_of(text), A, timeout_s=harness.DEADLINE_S).rdata(A))

    def codes(self, translator, text, zone=LOCAL):
        reply = translator.ask(name_of(text, zone), A, timeout_s=harness.DEADLINE_S)
        self.assertIn(reply.rcode, (NOERROR, NXDOMAIN), text)
        return reply.rdata(A)


class Answers(TranslateCase):
    def test_listed_and_not(self):
        server = self.serve_list("192.0.2.66", "198.51.100.0/24", "2a00:1:2:40::/60")
        translator = start_translator(self, [server.address])
        for text in ("192.0.2.66", "198.51.100.200", "2a00:1:2:44::25", "127.0.0.2"):
            self.assertEqual(self.codes(translator, text), [CODE], text)
        for text in ("192.0.2.67", "198.51.101.1", "2a00:1:2:50::25", "127.0.0.1"):
            reply = translator.ask(name_of(text), A)
            self.assertEqual((reply.rcode, reply.answer), (NXDOMAIN, []), text)
            self.assertTrue(reply.is_authoritative and reply.has_soa())
        # RFC 5782 section 5: an IPv6 list has IPv4's test points in nibbles.
        self.assertEqual(self.codes(translator, "::ffff:127.0.0.2"), [CODE])
        self.assertEqual(self.codes(translator, "::ffff:127.0.0.1"), [])

    def test_several_lists_are_one_answer(self):
        """What Postfix' bl.local=127.0.0.[2..11]*3 is asked of."""
        for zone, address in (("one.example.", "192.0.2.1"), ("two.example.", "192.0.2.2")):
            self.build(self.path(zone + "mdb"), self.write(zone, f"{address}\n192.0.2.3\n"),
                       zone=zone)
        server = self.serve([(zone, self.path(zone + "mdb"), None)
                             for zone in ("one.example.", "two.example.")])
        lists = ("one.example:127.0.0.2", "two.example:127.0.0.4")
        translator = start_translator(self, [server.address], zones=(
            (LOCAL, lists, ()), ("both.local.", ("two.example:127.0.0.9",), ('text: "see $"',))))
        for text, codes in (("192.0.2.1", [2]), ("192.0.2.2", [4]), ("192.0.2.3", [2, 4]),
                            ("192.0.2.4", [])):
            self.assertEqual(self.codes(translator, text), [bytes((127, 0, 0, code))
                                                            for code in codes])
        self.assertEqual(self.codes(translator, "192.0.2.1", "both.local."), [])
        self.assertEqual(self.codes(translator, "192.0.2.2", "both.local."), [b"\x7f\0\0\x09"])
        texts = translator.ask(name_of("192.0.2.3"), TXT).rdata(TXT)
        self.assertEqual([text[1:].decode() for text in texts],
                         [f"192.0.2.3 is listed by {zone}.example" for zone in ("one", "two")])
        texts = translator.ask(name_of("192.0.2.3", "both.local."), TXT).rdata(TXT)
        self.assertEqual(texts, [b"\x0dsee 192.0.2.3"])

    def test_a_classic_list_has_the_codes_that_filters_keep_apart(self):
        """The map's codes are all there are; a list that stands there twice has two."""
        path = self.write("list.txt", "192.0.2.1 :3:three\n192.0.2.2 :7:seven\n192.0.2.4\n")
        self.build(self.path("bl6.mdb"), f"ip4set:{path}")
        server = self.serve()
        name = CLASSIC.rstrip(".")
        translator = start_translator(
            self, [server.address], library=["mode: classic"],
            zones=((LOCAL, (f"{name}=127.0.0.[2..3]:127.0.0.2", f"{name}=127.0.0.[4..9]:127.0.0.4"),
                    ()),))
        for text, codes in (("192.0.2.1", [2]), ("192.0.2.2", [4]), ("192.0.2.4", [2]),
                            ("192.0.2.5", [])):
            self.assertEqual(self.codes(translator, text), [bytes((127, 0, 0, code))
                                                            for code in codes], text)

    def test_neighbours_cause_no_question_and_the_ttl_runs_down(self):
        server = self.serve_list("192.0.2.66", "2a00:1:2:40::/64")
        translator = start_translator(self, [server.address])
        for first, neighbours in (
                ("192.0.2.66", [f"192.0.2.{host}" for host in range(128)]),
                # The test points of IPv6 are looked at when it is first asked.
                ("2a00:1:2:40::1", [f"2a00:1:2:{host:x}::25" for host in range(128)])):
            before = self.questions()
            ttl = translator.ask(name_of(first), A).answer[0].ttl
            self.assertGreater(self.questions(), before)
            before = self.questions()
            for text in neighbours:
                listed = text in ("192.0.2.66", "2a00:1:2:40::25")
                self.assertEqual(self.codes(translator, text), [CODE] if listed else [], text)
            self.assertEqual(translator.ask(name_of(first), TXT).rcode, NOERROR)
            self.assertEqual(self.questions(), before)
            wait_for(lambda old=ttl, name=name_of(first): translator.ask(name, A).answer[0].ttl
                     < old, "the TTL to run down")
            self.assertEqual(self.questions(), before)

    def test_what_gets_old_is_asked_again_behind_an_answer(self):
        server = self.serve_list("192.0.2.66")
        translator = start_translator(self, [server.address], library=["prefetch: 90", "max-ttl: 5s"])
        asked, looks = [], []

        # A few questions, as of an address that is seldom asked about.
        def is_asked_again():
            looks.append(None)
            if len(looks) % 8 == 1:
                asked.append(self.codes(translator, "192.0.2.66"))
                translator.send_signal(signal.SIGUSR1)
            return re.search(r"library,.* prefetches=[1-9]", translator.log())

        wait_for(is_asked_again, "an answer to be asked for again")
        self.assertLess(len(asked), 60)
        self.assertEqual(asked, [[CODE]] * len(asked))

    def test_check_and_signals(self):
        server = self.serve_list("192.0.2.66")
        metrics = self.path("metrics.prom")
        translator = start_translator(self, [server.address], lines=[f"metrics: {metrics}"])
        checked = subprocess.run([harness.program("dnsblv6-translate"), "--check", "--config",
                                  translator.config_path], capture_output=True, text=True,
                                 check=False, timeout=60)
        self.assertEqual((checked.returncode, checked.stdout), (0, "configuration OK\n"))
        bad = self.write("bad.conf", "zone:\n  - domain: bl.local\n    lists: \"a.example*2\"\n")
        checked = subprocess.run([harness.program("dnsblv6-translate"), "--check", "--config",
                                  bad], capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(checked.returncode, harness.EX_CONFIG)
        self.assertIn("bad.conf:3", checked.stderr)
        translator.send_signal(signal.SIGHUP)
        translator.wait_for_log("^warning: .*configuration not reloaded")
        translator.send_signal(signal.SIGUSR1)
        translator.wait_for_log(r"^info: .*counters, .*answers-listed=[1-9]")
        translator.wait_for_log(r"^info: \[bl6.example\] zone, state=ok ")
        self.assertEqual(translator.stop(), 0)
        with open(metrics, encoding="ascii") as file:
            self.assertRegex(file.read(), r"\ndnsblv6_translate_answers_listed_total [1-9]")

    def assert_nothing_is_left(self, translator):
        """Of root, and of what it could bind its address by."""
        uid = str(pwd.getpwnam("nobody").pw_uid)
        # It says that it is ready before it has begun them.
        workers = wait_for(lambda: len(translator.children()) == 2 and translator.children(), "both workers")
        for pid in [translator.pid, *workers]:
            with open(f"/proc/{pid}/status", encoding="ascii") as file:
                status = file.read()
            self.assertEqual(re.search(r"^Uid:\t(.*)$", status, re.MULTILINE)[1].split(), [uid] * 4)
            for name in ("Inh", "Prm", "Eff", "Amb"):
                self.assertRegex(status, rf"\nCap{name}:\t0+\n")
        self.assertEqual(self.codes(translator, "192.0.2.66"), [CODE])

    @unittest.skipUnless(os.geteuid() == 0, "only root can become somebody else")
    def test_root_is_given_up(self):
        server = self.serve_list("192.0.2.66")
        self.assert_nothing_is_left(start_translator(self, [server.address],
                                                     lines=["user: nobody", "workers: 2"]))

    @unittest.skipUnless(os.geteuid() == 0, "only root can become somebody else")
    def test_what_a_port_of_root_takes_is_given_up(self):
        server = self.serve_list("192.0.2.66")
        os.chmod(self.path("."), 0o755)
        capability = "-all,+net_bind_service"
        # As its unit does.
        starter = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups",
                   f"--inh-caps={capability}", f"--ambient-caps={capability}",
                   f"--bounding-set={capability}", "--no-new-privs", "--"]
        self.assert_nothing_is_left(start_translator(self, [server.address], starter=starter,
                                                     address=(server.address[0], 53),
                                                     lines=["workers: 2"]))


class Packets(TranslateCase):
    """Whatever arrives is answered as it should be, or not at all."""

    def setUp(self):
        super().setUp()
        self.serve_list("192.0.2.66")
        self.translator = start_translator(self, [self.server.address])
        self.assertEqual(self.codes(self.translator, "192.0.2.66"), [CODE])
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(self.udp.close)
        self.udp.connect(self.translator.address)
        self.udp.settimeout(harness.DEADLINE_S)

    def probe(self, packet):
        """The answer to packet, or None: what comes behind it is answered out of the cache."""
        self.udp.send(packet)
        self.udp.send(query(LOCAL, SOA, 0x5E5E))
        wires = [self.udp.recv(65535)]
        while wires[-1][:2] != b"\x5e\x5e":
            wires.append(self.udp.recv(65535))
        self.assertLessEqual(len(wires), 2, "more than one answer to one packet")
        return Reply(wires[0]) if len(wires) > 1 else None

    def rcode(self, name, rrtype=A, **how):
        reply = self.probe(query(name, rrtype, 7, **how))
        self.assertEqual(reply.id, 7)
        return reply.rcode

    def test_names_of_many_labels_and_of_any_bytes(self):
        local = wire_name(LOCAL)
        self.assertEqual(self.rcode("1." * 30 + LOCAL), NOERROR)  # part of an IPv6 address
        self.assertEqual(self.rcode("1." * 33 + LOCAL), NXDOMAIN)
        self.assertEqual(self.rcode("1." * 120 + LOCAL), NXDOMAIN)
        self.assertEqual(self.rcode("10." * 30 + LOCAL), NXDOMAIN)
        self.assertEqual(self.rcode(b"\1\0\2\1\2\1." + local), NXDOMAIN)
        self.assertEqual(self.rcode(b"\x3f" + b"1" * 63 + local), NXDOMAIN)
        for name in (".", "local.", "xbl.local.", ZONE):
            self.assertEqual(self.rcode(name), REFUSED)

    def test_other_types_classes_and_opcodes(self):
        listed = name_of("192.0.2.66")
        for rrtype in (AAAA, NS, SOA, 15, 43, 257, 65280):
            reply = self.probe(query(listed, rrtype, 7))
            self.assertEqual((reply.rcode, reply.answer, reply.has_soa()), (NOERROR, [], True))
        self.assertEqual(self.probe(query(listed, ANY, 7)).rdata(A), [CODE])
        for rrtype in (OPT, 251, 252, 253, 254, 129):
            self.assertIn(self.rcode(listed, rrtype), (NOTIMP, FORMERR))
        for rrclass in (0, 2, 3, 254, 255, 65535):
            self.assertEqual(self.rcode(listed, rrclass=rrclass), REFUSED)
        for opcode in (1, 2, 4, 5, 6, 15):
            self.assertEqual(self.rcode(listed, flags=opcode << 11), NOTIMP)
        self.assertIsNone(self.probe(query(listed, A, 7, flags=0x8180)))

    def test_every_bit_flipped_and_every_cut(self):
        packet = query(name_of("192.0.2.66"), A, 0x1234, edns_size=1232)
        mangled = [packet[:size] for size in range(len(packet))]
        for bit in range(len(packet) * 8):
            flipped = bytearray(packet)
            flipped[bit // 8] ^= 0x80 >> bit % 8
            mangled.append(bytes(flipped))
        mangled += [self.random.randbytes(self.random.randrange(600)) for _ in range(500)]
        for one in mangled:
            # About another address: DNS is asked, so the answer may come behind others.
            self.udp.send(one)
        for text in ("192.0.2.66", "192.0.2.67"):
            self.assertEqual(self.codes(self.translator, text),
                             [CODE] if text == "192.0.2.66" else [])

    # ---- TCP ----

    def connect(self, translator=None):
        translator = translator or self.translator
        tcp = socket.create_connection(translator.address, harness.DEADLINE_S)
        self.addCleanup(tcp.close)
        return tcp

    def receive(self, tcp):
        """One message; None when the server has closed."""
        data = b""
        while len(data) < 2 or len(data) < 2 + struct.unpack_from(">H", data)[0]:
            whole = 2 + struct.unpack_from(">H", data)[0] if len(data) >= 2 else 2
            try:
                got = tcp.recv(whole - len(data))
            except ConnectionResetError:
                return None
            if not got:
                return None
            data += got
        return Reply(data[2:])

    def test_tcp_answers_everything_and_nothing_waits_for_what_is_slow(self):
        tcp = self.connect()
        names = [name_of(f"40.{host}.2.{host}") for host in range(1, 40)] + [name_of("192.0.2.66")]
        tcp.sendall(framed(*(query(name, A, ident) for ident, name in enumerate(names))))
        replies = [self.receive(tcp) for _ in names]
        self.assertEqual(sorted(reply.id for reply in replies), list(range(len(names))))
        for reply in replies:
            self.assertEqual(reply.rcode, NXDOMAIN if reply.id < 39 else NOERROR)

        # The lists are silent: what is known comes first.
        self.signal_all(self.server, signal.SIGSTOP)
        try:
            tcp.sendall(framed(query(name_of("41.1.1.1"), A, 1),
                                    query(name_of("192.0.2.66"), A, 2)))
            self.assertEqual(self.receive(tcp).id, 2)
        finally:
            self.signal_all(self.server, signal.SIGCONT)
        self.assertEqual(self.receive(tcp).id, 1)

    def test_tcp_abuse_leaves_others_served(self):
        good = framed(query(name_of("192.0.2.66"), A, 7))
        translator = start_translator(
            self, [self.server.address], lines=["tcp-max-clients: 20", "timeout: 1s",
                                                "tcp-idle-timeout: 2s"])
        wait_for(lambda: self.is_listed(translator), "an answer")
        crowd = [self.connect(translator) for _ in range(40)]
        for tcp, start in zip(crowd, (b"\0", b"\xff\xff", b"\0\0", good[:-3], b"\0\1a") * 8):
            try:
                tcp.sendall(start)
            except (BrokenPipeError, ConnectionResetError):
                pass  # one of those that gave up their places
        self.assertTrue(self.is_listed(translator))
        tcp = self.connect(translator)
        for byte in good:
            tcp.sendall(bytes([byte]))
        self.assertEqual(self.receive(tcp).rdata(A), [CODE])
        self.assertIsNone(self.receive(tcp), "a silent client is closed")
        leaver = self.connect(translator)
        leaver.sendall(framed(query(name_of("41.1.1.1"), A, 7)))
        leaver.close()  # before the answer
        self.assertTrue(self.is_listed(translator))


class Conformance(TranslateCase):
    def test_probes_of_the_server_where_they_make_sense(self):
        """Those of probes.py, but what is about signatures, cookies, NSID and many NS."""
        self.build(self.path("list.mdb"), self.write("list.txt", "192.0.2.0\n"),
                   zone="list.example.")
        server = self.serve([("list.example.", self.path("list.mdb"), None)])
        translator = start_translator(self, [server.address],
                                      zones=((ZONE, ("list.example",), ()),))
        translator.ask(probes.ABSENT, A)
        for text in ("0.2.0.192", "0.99.9.9"):
            translator.ask(f"{text}.{ZONE}", A)
        # Four digits may have IPv6 addresses below them, so that name is there.
        absent, other = wire_name("0.9.9.9"), wire_name("0.99.9.9")
        left_out = {"RRSIG", "nsid", "cookie", "udp:tc", "expire"}
        asked = 0
        for row in probes.ROWS:
            if row.title.startswith("a cookie") or row.rfc == "2181 9" or "NS" in row.wanted:
                continue
            if "NOTAUTH" in row.wanted or row.title.startswith("class ANY"):
                continue  # it transfers nothing, and has the class IN alone
            wanted = [word for word in row.wanted if word not in left_out]
            packet = row.packet.replace(absent[:-1], other[:-1])
            for transport in (probes.Udp, probes.Tcp):
                with self.subTest(row=row.title, transport=transport.name):
                    words, _ = probes.probe(transport, translator.address, packet)
                    bad = list(probes.faults(words, probes.for_transport(wanted, transport.name)))
                    self.assertEqual(bad, [], f"{row.rfc}: {sorted(words)}")
                    asked += 1
        self.assertGreater(asked, 150)


class Failures(TranslateCase):
    """The lists, the daemon or the shared cache go away, and come back."""

    LIBRARY = ("failure-ttl: 5s", "attempt-timeout: 100ms")

    def rcode(self, translator, text, zone=LOCAL):
        return translator.ask(name_of(text, zone), A, timeout_s=harness.DEADLINE_S).rcode

    def start_translator(self, server, timeout_s=9, **how):
        return start_translator(self, [server.address], lines=[f"timeout: {timeout_s}s"],
                                library=[*self.LIBRARY, *how.pop("library", ())], zones=(
                                    (LOCAL, LISTS, ()),
                                    ("open.local.", LISTS, ("on-failure: nxdomain",))), **how)

    def test_a_list_that_is_silent_is_a_failure_in_time_and_recovers(self):
        server = self.serve_list("192.0.2.66")
        translator = self.start_translator(server, timeout_s=1)
        wait_for(lambda: self.is_listed(translator), "an answer")
        self.signal_all(server, signal.SIGSTOP)
        try:
            begun = harness.time.monotonic()
            self.assertEqual(self.rcode(translator, "203.0.113.1"), SERVFAIL)
            self.assertEqual(self.rcode(translator, "203.0.113.2", "open.local."), NXDOMAIN)
            # Twice the timeout and what a busy machine may add.
            self.assertLess(harness.time.monotonic() - begun, harness.DEADLINE_S)
            # What is known is said all the same.
            self.assertEqual(self.rcode(translator, "192.0.2.66"), NOERROR)
            self.assertEqual(self.rcode(translator, "192.0.2.67"), NXDOMAIN)
        finally:
            self.signal_all(server, signal.SIGCONT)
        wait_for(lambda: self.rcode(translator, "203.0.113.1") == NXDOMAIN, "the list to be back",
                 90)

    def test_a_list_that_is_gone_and_its_resolver_too(self):
        server = self.serve_list("192.0.2.66")
        address = server.address
        translator = self.start_translator(server, timeout_s=1)
        server.stop()
        self.assertEqual(self.rcode(translator, "203.0.113.1"), SERVFAIL)
        for text in ("203.0.113.1", "203.0.113.200", "192.0.2.66"):
            self.assertEqual(self.rcode(translator, text, "open.local."), NXDOMAIN)
        self.serve(address=address)
        wait_for(lambda: self.rcode(translator, "192.0.2.66") == NOERROR, "the list to be back", 90)

    def test_more_questions_than_permitted_fail_at_once(self):
        self.expect_log("too much was asked at once")
        server = self.serve_list("192.0.2.66")
        translator = self.start_translator(server, timeout_s=1, library=["max-requests: 4"])
        self.signal_all(server, signal.SIGSTOP)
        try:
            names = [name_of(f"40.1.{block}.1") for block in range(50)]
            replies = harness.ask_all(translator.address, [(name, A) for name in names],
                                      retry_s=harness.DEADLINE_S)
            self.assertEqual({reply.rcode for reply in replies}, {SERVFAIL})
            translator.send_signal(signal.SIGUSR1)
            translator.wait_for_log(r"counters, .*queries-busy=[1-9]")
        finally:
            self.signal_all(server, signal.SIGCONT)

    def test_killed_and_started_again_on_the_same_address(self):
        server = self.serve_list("192.0.2.66")
        translator = self.start_translator(server)
        for _ in range(3):
            with socket.create_connection(translator.address, harness.DEADLINE_S) as tcp:
                tcp.sendall(b"\0")
                translator.popen.kill()
                translator.popen.wait()
                translator = self.start_translator(server, address=translator.address)
            self.assertEqual(self.codes(translator, "192.0.2.66"), [CODE])

    def start_cached(self, server):
        directory = self.path("shared")
        config = self.write("cached.conf", f"cached:\n    directory: {directory}\nzone:\n"
                            f"  - domain: {ZONE.rstrip('.')}\nlibrary:\n"
                            f"    servers: [ {server.address[0]}@{server.address[1]} ]\n")
        daemon = self.start([harness.program("dnsblv6-cached"), "--config", config],
                            "cached")
        daemon.wait_for_log(r"^info: \[dnsblv6-cached\] ready, ")
        return daemon

    def test_the_cache_daemon_may_come_and_go(self):
        server = self.serve_list("192.0.2.66", "198.51.100.0/24")
        daemon = self.start_cached(server)
        translator = self.start_translator(server, library=[f"shared: {self.path('shared')}"])
        block = 0
        for turn in range(4):
            for text, codes in (("192.0.2.66", [CODE]), ("192.0.2.67", []),
                                ("198.51.100.7", [CODE])):
                self.assertEqual(self.codes(translator, text), codes, f"turn {turn}")
            block += 1
            self.assertEqual(self.codes(translator, f"40.1.{block}.1"), [], f"turn {turn}")
            if turn % 2 == 0:
                daemon.popen.kill()
                daemon.popen.wait()
            else:
                daemon = self.start_cached(server)


class Workers(TranslateCase):
    """Several processes with one cache."""

    def ask_from_many_sockets(self, translator, text, count=40):
        """The kernel chooses a worker for each socket. One that dies takes its question with it."""
        answers = []
        while len(answers) < count:
            try:
                answers.append(translator.ask(name_of(text), A, timeout_s=1).rdata(A))
            except OSError:
                pass
        return answers

    def workers(self, translator):
        return wait_for(lambda: len(translator.children()) == 3 and translator.children(),
                        "three workers")

    def test_they_share_what_one_has_asked_and_are_begun_again(self):
        server = self.serve_list("192.0.2.66")
        translator = start_translator(self, [server.address], lines=["workers: 3"])
        # Another block first: each worker looks at the zone itself, once.
        self.assertEqual(self.ask_from_many_sockets(translator, "192.0.2.200"), [[]] * 40)
        self.assertEqual(self.codes(translator, "192.0.2.66"), [CODE])
        before = self.questions()
        for text, codes in (("192.0.2.66", [CODE]), ("192.0.2.67", [])):
            self.assertEqual(self.ask_from_many_sockets(translator, text), [codes] * 40)
        self.assertEqual(self.questions(), before)
        translator.send_signal(signal.SIGUSR1)
        translator.wait_for_log(r"counters, .* queries=(1[2-9]\d|[2-9]\d\d|\d{4,}) ")  # of all

        for count, pid in enumerate(self.workers(translator), 1):
            os.kill(pid, signal.SIGKILL)
            translator.wait_for_log(r"^warning: .*worker ended, worker=\d signal=9$", count)
            self.workers(translator)
        self.assertEqual(self.ask_from_many_sockets(translator, "192.0.2.66"), [[CODE]] * 40)
        self.assertEqual(translator.stop(), 0)

    def test_they_end_when_their_parent_is_killed(self):
        server = self.serve_list("192.0.2.66")
        translator = start_translator(self, [server.address], lines=["workers: 3"])
        pids = self.workers(translator)
        translator.popen.kill()
        translator.popen.wait()

        wait_for(lambda: all(map(harness.has_ended, pids)), "the workers to end")


class Rbldnsd(TranslateCase):
    """The same list in both, and every difference is one of docs/rbldnsd.md."""

    TEXT = "Listed, see https://bl.example/$"

    def make_lists(self):
        rng = self.random
        lines = []
        for _ in range(3000):
            first = rng.randrange(1 << 24, 224 << 24)
            if first >> 24 == 127:
                continue  # the library looks there for a list that lists the world
            size = rng.choice((32, 32, 32, 32, 31, 28, 25, 24, 20, 16))
            network = ipaddress.ip_network((first >> 32 - size << 32 - size, size))
            lines.append(str(network))
            if size < 30 and rng.random() < 0.3:
                lines.append(f"!{network[rng.randrange(network.num_addresses)]}")
        four = self.write("four", f":127.0.0.2:{self.TEXT}\n" + "\n".join(lines) + "\n")
        # In a bitmap zone a listing is a /64 at least.
        six = [str(network) for network in peers.NETWORKS6 if network.prefixlen <= 64]
        six = self.write("six", f":127.0.0.2:{self.TEXT}\n" + "\n".join(six) + "\n")
        return [f"ip4set:{four}", f"ip6trie:{six}"], peers.read_ranges([four])

    def make_names(self, ranges):
        """(name, kind) each; kinds are those that docs/rbldnsd.md has rows for."""
        rng = self.random
        numbers = [number for number in peers.addresses4(rng, ranges, QUESTIONS * 6 // 10)
                   if number not in peers.TEST_POINTS]
        names = [(peers.name4(number, CLASSIC), "four") for number in numbers]
        names += [(peers.name6(number, CLASSIC), "six")
                  for number in peers.addresses6(rng, QUESTIONS * 2 // 10)]
        for number in rng.choices(numbers, k=QUESTIONS // 10):
            octets = peers.name4(number, "").rstrip(".").split(".")
            kind, labels = rng.choice((
                ("beginning", octets[rng.randrange(1, 4):]),
                ("zeros", ["0" + octets[0], *octets[1:]]),
                ("nothing", ["x", *octets]), ("nothing", [*octets, "x"]),
                ("nothing", ["256", *octets[1:]]), ("nothing", ["mail"])))
            names.append((".".join([*labels, CLASSIC]), kind))
        for number in rng.choices(numbers, k=QUESTIONS // 10):
            kind, above = rng.choice((("four", 0xFFFF << 32), ("six to four", 0x2002 << 112)))
            six = number | above if kind == "four" else above | number << 80 | 1
            names.append((peers.name6(six, CLASSIC).upper(), kind))
        return names

    def explain(self, kind, name, their, our):
        """Is the difference one that docs/rbldnsd.md names?"""
        nothing = frozenset()
        no_data = (NOERROR, nothing)
        absent = (NXDOMAIN, nothing)
        if kind == "beginning":
            return (their, our) == (absent, no_data)
        if kind == "zeros":
            return our == absent and their[0] in (NOERROR, NXDOMAIN)
        if kind == "six to four":
            return our == absent
        digits = all(len(label) == 1 for label in name.split(".")[:4])
        return digits and (their, our) == (absent, no_data)

    def compare(self, names, addresses, rrtype):
        listed = 0
        named = 0
        replies = []
        for address in addresses:
            with harness.Asker(address, window=200, retry_s=2, retries=9) as asker:
                replies.append(asker.ask_all([(name, rrtype) for name, _ in names], is_raw=True))
        differences = []
        for (name, kind), their_wire, our_wire in zip(names, *replies):
            self.assertIsNotNone(their_wire, f"rbldnsd is silent about {name}")
            self.assertIsNotNone(our_wire, f"dnsblv6-translate is silent about {name}")
            their, our = (peers.records(wire, len(name) + 5) for wire in (their_wire, our_wire))
            # Ours is what is left of theirs, to a second.
            self.assertTrue(all(ttl <= 2101 for _, ttl, _ in our[1]), (name, kind, their, our))
            their, our = ((rcode, frozenset((one, rdata) for one, _, rdata in found))
                          for rcode, found in (their, our))
            listed += len(our[1]) > 0
            if their == our:
                continue
            named += 1
            if not self.explain(kind, name, their, our):
                differences.append(f"{name} {rrtype}: rbldnsd {their}, ours {our}")
        self.assertEqual(differences[:10], [], f"{len(differences)} differences")
        return listed, named

    def test_the_same_answers(self):
        lists, ranges = self.make_lists()
        theirs = peers.start_rbldnsd(self, *(f"bl.example:{one}" for one in lists))
        self.build(self.path("bl6.mdb"), "--allow-reserved", *lists)
        server = self.serve()
        translator = start_translator(
            self, [server.address], library=["max-requests: 65536", "cache-size: 64M"],
            zones=((CLASSIC, LISTS, (f'text: "{self.TEXT}"',)),))
        names = self.make_names(ranges)
        half = len(names) // 2
        self.random.shuffle(names)
        counts = [self.compare(part, [theirs, translator.address], rrtype)
                  for part, rrtype in ((names[:half], A), (names[half:], TXT))]
        print(f"questions={len(names)} listed={sum(row[0] for row in counts)}"
              f" named_differences={sum(row[1] for row in counts)} differences=0")
        self.assertGreater(min(row[0] for row in counts), QUESTIONS // 10)
        self.assertGreater(sum(row[1] for row in counts), QUESTIONS // 50)


if __name__ == "__main__":
    harness.main()
