#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
libdnsblv6 with libunbound as its resolver: it validates a signed zone by itself.

Nobody between dnsblv6d and the client sets AD, and what a liar on the way forges is a
failure, whichever way it would have turned the verdict. The same through an Unbound
by DNS over TLS, whose name must be that of its certificate.
"""

import os
import socket
import subprocess
import threading

import harness
from harness import AAAA, ZONE, Case, Reply, main, wire_name
from lookups import LIST, count_queries
from oracle import Oracle
from resolvers import start_unbound

NAME = ZONE.rstrip(".")
# Both in 192.0.2.0/25, and one in a block that has no listings.
LISTED, CLEAR, ELSEWHERE = "192.0.2.66", "192.0.2.3", "203.0.113.9"
SAMPLE = 100 if harness.IS_SANITIZED else 300

PROGRAM = os.path.join(harness.BUILD, "tests/integration/unbound_client")
if not os.path.exists(PROGRAM):
    print("built without libunbound: skipped")
    raise SystemExit(77)


class Liar:
    """Forwards questions over UDP, and changes the answers to one name as it is told."""

    def __init__(self, case, server_address):
        self.server_address = server_address
        self.about = wire_name(harness.bitmap_name(harness.ip(LISTED)))
        self.lie = None  # a function of the reply's bytes
        self.lies = 0
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind((case.host, 0))
        self.address = self.udp.getsockname()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()
        case.addCleanup(self.end)

    def end(self):
        self.udp.sendto(b"", self.address)
        self.thread.join()
        self.udp.close()

    def run(self):
        while True:
            packet, peer = self.udp.recvfrom(4096)
            if not packet:
                return
            try:
                reply = harness.exchange(self.server_address, packet)
            except OSError:
                continue
            if self.lie is not None and self.about in packet:
                self.lies += 1
                reply = self.lie(reply)
            self.udp.sendto(reply, peer)


def flip_bitmap(wire):
    """Every host that is listed is not, and the other way round; signatures stay."""
    for rdata in Reply(wire).rdata(AAAA):
        wire = wire.replace(rdata, bytes(byte ^ 0xFF for byte in rdata))
    return wire


def deny(wire):
    """NXDOMAIN without a proof."""
    end = 12 + len(harness.question_of(wire))
    return wire[:3] + b"\x83" + wire[4:6] + b"\0\0\0\0\0\0" + wire[12:end]


class Client:
    """unbound_client, asked line by line."""

    def __init__(self, case, *settings, options=(), arguments=()):
        command = [PROGRAM, "-o", f"zones={NAME}", "-o", "scope=all", *arguments]
        for setting in settings:
            command += ["-u", setting]
        for option in options:
            command += ["-o", option]
        self.popen = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, text=True)
        case.addCleanup(self.end, case)

    def check(self, address):
        self.popen.stdin.write(f"{address}\n")
        self.popen.stdin.flush()
        return self.popen.stdout.readline().split()

    def end(self, case):
        error = self.popen.communicate(timeout=harness.DEADLINE_S)[1]
        case.assertEqual((self.popen.returncode, error), (0, ""))


class Libunbound(Case):
    def setUp(self):
        super().setUp()
        self.key = self.path("key.pem")
        self.run_zone("keygen", "--zone", ZONE, "--key", self.key)
        self.list = self.write("list", LIST)
        self.build(self.path("bl6.mdb"), "--key", self.key, self.list)
        self.server = self.serve(server_lines=(f"control: {self.path('ctl')}",))

    def anchor(self, key=None):
        told = self.run_zone("ds", "--zone", ZONE, "--key", key or self.key).out
        return f"trust-anchor={told.splitlines()[0]}"

    def stub(self, address=None):
        return f"stub={ZONE}={'{}@{}'.format(*(address or self.server.address))}"

    # ---- what is true ----

    def test_a_signed_list_is_secure_without_a_resolver_that_says_so(self):
        client = Client(self, self.stub(), self.anchor())
        oracle = Oracle().read_plain(self.list)
        for address in oracle.sample(SAMPLE, self.random.randrange(1 << 30)):
            if oracle.is_canary(address):
                continue
            verdict = "listed" if oracle.is_listed(address) else "clear"
            self.assertEqual(client.check(address), [verdict, "secure", "ok"], address)

    def queries(self):
        return count_queries(self)

    def test_what_is_cached_or_proven_empty_is_not_asked_again(self):
        # Without libunbound's own use of NSEC: it is the library that remembers ranges.
        client = Client(self, self.stub(), self.anchor(), "aggressive-nsec=no")
        self.assertEqual(client.check(LISTED)[0], "listed")
        self.assertEqual(client.check(ELSEWHERE)[0], "clear")
        asked = self.queries()
        self.assertEqual(client.check(CLEAR), ["clear", "secure", "ok"])
        self.assertEqual(client.check("203.0.114.9"), ["clear", "secure", "ok"])
        self.assertEqual(self.queries(), asked)

    def test_without_an_anchor_nothing_is_secure(self):
        client = Client(self, self.stub())
        self.assertEqual(client.check(LISTED), ["listed", "plain", "ok"])
        self.assertEqual(client.check(ELSEWHERE), ["clear", "plain", "ok"])

    def test_children_have_resolvers_of_their_own(self):
        client = Client(self, self.stub(), self.anchor(), arguments=["-f"])
        # The parent's begins to work, then a child's, and so on; none has the other's answers
        # but by the cache that they share.
        for address, verdict in ((LISTED, "listed"), ("192.0.2.130", "listed"), (CLEAR, "clear"),
                                 (ELSEWHERE, "clear"), ("198.51.100.7", "listed"),
                                 ("198.51.100.200", "listed"), ("203.0.113.200", "clear")):
            self.assertEqual(client.check(address), [verdict, "secure", "ok"], address)

    # ---- what is not ----

    def test_a_forged_answer_is_a_failure_and_no_verdict(self):
        liar = Liar(self, self.server.address)
        for lie in (flip_bitmap, deny):
            with self.subTest(lie=lie.__name__):
                client = Client(self, self.stub(liar.address), self.anchor(),
                                options=["failure-ttl=5"])
                liar.lie = None
                self.assertEqual(client.check(ELSEWHERE), ["clear", "secure", "ok"])
                liar.lie, liar.lies = lie, 0
                for address in (LISTED, CLEAR):
                    self.assertEqual(client.check(address)[:2], ["unknown", "plain"])
                self.assertGreater(liar.lies, 0)

    def test_a_liar_is_believed_by_those_who_have_no_anchor(self):
        # So that the test before does not pass because the lies are clumsy.
        liar = Liar(self, self.server.address)
        client = Client(self, self.stub(liar.address))
        liar.lie = flip_bitmap
        self.assertEqual(client.check(LISTED)[0], "clear")
        self.assertEqual(client.check(CLEAR)[0], "listed")

    def test_a_zone_with_another_key_is_out_of_reach(self):
        other = self.path("other.pem")
        self.run_zone("keygen", "--zone", ZONE, "--key", other)
        client = Client(self, self.stub(), self.anchor(other))
        self.assertEqual(client.check(LISTED), ["unknown", "plain", "unreachable"])
        self.assertEqual(client.check(ELSEWHERE), ["unknown", "plain", "unreachable"])

    def test_silence_is_a_failure_too(self):
        self.server.stop()
        client = Client(self, self.stub(), self.anchor())
        self.assertEqual(client.check(LISTED)[0], "unknown")

    # ---- DNS over TLS ----

    def start_tls(self):
        """An Unbound that speaks TLS on one port, and its address and certificate."""
        certificate, key = self.path("tls.crt"), self.path("tls.key")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                        "/CN=dns.example", "-addext", "subjectAltName=DNS:dns.example",
                        "-keyout", key, "-out", certificate], check=True,
                       capture_output=True, timeout=60)
        port = self.free_port()
        start_unbound(self, [self.server],
                      lines=[f"interface: {self.host}@{port}", f"tls-port: {port}",
                             f'tls-service-key: "{key}"', f'tls-service-pem: "{certificate}"'])
        return f"{self.host}@{port}", certificate

    def over_tls(self, forward, certificate):
        settings = [f"forward={forward}", "tls=yes", f"tls-cert-bundle={certificate}"]
        if "without OpenSSL" in self.told(settings):
            self.skipTest("this libunbound was built without OpenSSL, as Debian's is: no TLS")
        return Client(self, self.anchor(), f"forward={forward}", "tls=yes",
                      f"tls-cert-bundle={certificate}", options=["failure-ttl=5"])

    def test_by_dns_over_tls_to_a_resolver_that_does_not_validate(self):
        address, certificate = self.start_tls()
        client = self.over_tls(f"{address}#dns.example", certificate)
        self.assertEqual(client.check(LISTED), ["listed", "secure", "ok"])
        self.assertEqual(client.check(ELSEWHERE), ["clear", "secure", "ok"])
        # And that it was TLS: over TCP without it the same port says nothing.
        plain = Client(self, self.anchor(), f"forward={address}", "tcp-upstream=yes")
        self.assertEqual(plain.check(LISTED)[0], "unknown")

    def test_a_certificate_of_another_name_is_not_believed(self):
        address, certificate = self.start_tls()
        client = self.over_tls(f"{address}#other.example", certificate)
        self.assertEqual(client.check(LISTED)[0], "unknown")

    # ---- settings ----

    def told(self, settings, expect=None):
        """What unbound_client has to say about them before it asks anything."""
        command = [PROGRAM, "-o", f"zones={NAME}"]
        for setting in settings:
            command += ["-u", setting]
        told = subprocess.run(command, text=True, stdin=subprocess.DEVNULL, capture_output=True,
                              check=False, timeout=harness.DEADLINE_S)
        if expect is not None:
            self.assertEqual((told.returncode, told.stdout), (expect, ""), settings)
        return told.stderr

    def refused(self, setting):
        return self.told([setting], expect=78)

    def test_settings_that_do_not_do_are_refused_at_once(self):
        for setting in ("no-such-key=yes", "forward=192.0.2.300", "stub=bl.example", "tls=maybe"):
            key, value = setting.split("=")
            self.assertIn(f'{key} "{value}" is refused', self.refused(setting))
        for setting in ("trust-anchor=rubbish", f"trust-anchor-file={self.path('none')}"):
            self.assertIn("trust anchor", self.refused(setting))

    def test_a_resolver_without_settings_starts(self):
        self.assertEqual(self.told([], expect=0), "")


if __name__ == "__main__":
    main()
