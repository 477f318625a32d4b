#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Two rollovers by themselves, one of them of the algorithm: no resolver finds the zone bogus.

A timer signs the zone again and again; Knot serves the signed zone above, and a registry of the test's
own takes over what the CDS says. TTLs are of seconds, and real ones: Unbounds are started at each
step and before, and are asked at random moments, so that their DS, DNSKEYs and data are of every age.
Half of them refuse a zone that misses a signature of any algorithm of the DS.

Needs knotd, knotc and Unbound.
"""

import random
import subprocess
import threading
import time

from harness import (AAAA, NOERROR, NXDOMAIN, SEED, SOA, ZONE, ask, bitmap_name, ip, main, peer,
                     wait_for)
from resolvers import UNBOUND, UNBOUND_STUB, prepare, run_unbound, wait_until_it_answers
from rolling import CDS, DNSKEY, Rolling

RD_AD = 0x0120
TTL_S = 2
# What a resolver has begun with an answer ends within that, on a busy machine, too.
PROPAGATION_S = 3
ABOVE = "example."

KNOT = """
server:
    listen: {host}@{port}
    rundir: "{directory}"
control:
    listen: "{directory}/knot.sock"
database:
    storage: "{directory}"
policy:
  - id: above
    algorithm: ecdsap256sha256
    single-type-signing: on
zone:
  - domain: example.
    file: "{directory}/example.zone"
    storage: "{directory}"
    zonefile-sync: -1
    dnssec-signing: on
    dnssec-policy: above
"""

ABOVE_ZONE = """
example. 2 SOA ns.example. hostmaster.example. 1 3600 600 86400 2
example. 2 NS ns.example.
ns.example. 2 A {host}
bl6.example. 2 NS ns1.example.net.
"""

LISTED = ["192.0.2.1", "198.51.100.1", "198.51.100.200"]
QUESTIONS = ([(bitmap_name(ip(address)), AAAA, NOERROR) for address in LISTED] +
             [(f"0.{n}.113.203.{ZONE}", AAAA, NXDOMAIN) for n in range(4)] +
             [(ZONE, SOA, NOERROR), (ZONE, DNSKEY, NOERROR)])


class Crowd:
    """Resolvers that are asked at random moments. An answer has AD, or is noted."""

    def __init__(self):
        self.addresses, self.flaws, self.asked = [], [], 0
        self.stage = ""
        self.random = random.Random(SEED)
        self.is_ending = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def _run(self):
        due = {}
        while not self.is_ending.wait(0.02):
            now = time.monotonic()
            for address in list(self.addresses):
                if due.setdefault(address, now) <= now:
                    due[address] = now + self.random.uniform(0.1, 1.5 * TTL_S)
                    self._ask(address)

    def _ask(self, address):
        stage = self.stage
        for name, rrtype, rcode in self.random.sample(QUESTIONS, 3):
            try:
                reply = ask(address, name, rrtype, flags=RD_AD)
            except OSError as error:
                self.flaws.append((stage, address, name, repr(error)))
                continue
            self.asked += 1
            if reply.rcode != rcode or not reply.is_authentic:
                self.flaws.append((stage, address, name, reply.verdict()))

    def stop(self):
        self.is_ending.set()
        self.thread.join()


class Live(Rolling):
    def setUp(self):
        super().setUp()
        self.start_above()
        self.build_at(0, "--keys", self.keys, "--ttl", str(TTL_S), "--negative-ttl", "1",
                      "--propagation", f"{PROPAGATION_S}s", "--parent", f"{self.host}@{self.above['port']}")
        self.server = self.serve([(ZONE, self.store, None)])
        self.registered = None
        self.crowd = Crowd()

    # ---- the zone above ----

    def start_above(self):
        self.above = prepare(self)
        self.write(f"resolver-{self.above['port']}/example.zone",
                   ABOVE_ZONE.format(**self.above))
        config = self.write("knot.conf", KNOT.format(**self.above))
        self.start([peer("knotd"), "-c", config], "knotd").wait_for_log("server started")
        address = (self.above["host"], self.above["port"])
        wait_for(lambda: ask(address, ABOVE, DNSKEY).rdata(DNSKEY), "the zone above to be signed")
        result = subprocess.run([peer("kdig"), f"@{self.host}", "-p", str(self.above["port"]),
                                 "+short", ABOVE, "DNSKEY"], capture_output=True, check=True,
                                text=True)
        self.anchor = f"{ABOVE} IN DNSKEY {result.stdout.strip()}"

    def tell_above(self, *words):
        subprocess.run([peer("knotc"), "-s", self.above["directory"] + "/knot.sock", *words],
                       check=True, capture_output=True)

    def register(self):
        """As a registry that looks at CDS records does, RFC 7344 section 6."""
        found = [" ".join(str(word) for word in
                          (int.from_bytes(rdata[:2], "big"), rdata[2], rdata[3], rdata[4:].hex()))
                 for rdata in ask(self.server.address, ZONE, CDS).rdata(CDS)]
        if not found or found == self.registered:
            return
        self.tell_above("zone-begin", ABOVE)
        if self.registered is not None:
            self.tell_above("zone-unset", ABOVE, ZONE, "DS")
        for rdata in found:
            self.tell_above("zone-set", ABOVE, ZONE, str(TTL_S), "DS", *rdata.split())
        self.tell_above("zone-commit", ABOVE)
        self.registered = found

    # ---- resolvers ----

    def add_resolver(self):
        is_strict = "yes" if len(self.crowd.addresses) % 2 == 0 else "no"
        where = prepare(self)
        lines = ['module-config: "validator iterator"', f"harden-algo-downgrade: {is_strict}",
                 f'trust-anchor: "{self.anchor}"', "aggressive-nsec: yes"]
        text = UNBOUND.format(**where, lines="\n    ".join(lines))
        for zone, (host, port) in ((ABOVE, (self.above["host"], self.above["port"])),
                                   (ZONE, self.server.address)):
            text += UNBOUND_STUB.format(zone=zone, servers=f"\n    stub-addr: {host}@{port}")
        run_unbound(self, where, text)
        self.crowd.addresses.append(wait_until_it_answers(where))

    # ---- time ----

    def run_until(self, states, algorithm, *options):
        """The timer, and the registry; a resolver more at each step."""
        seen = [self.state_at()]

        def is_there():
            self.sign_at(0, "--keys", self.keys, *options)
            self.register()
            now = self.state_at()
            self.crowd.stage = " ".join(f"{key.algorithm} {key.state}" for key in now)
            if now != seen[-1]:
                seen.append(now)
                self.add_resolver()
            return ([key.state for key in now] == states and now[-1].algorithm == algorithm and
                    now[-1].tag != seen[0][-1].tag and len(seen) > 1)

        wait_for(is_there, f"keys to be {states}", 4 * 60)
        return seen

    def test_two_rollovers_by_themselves_and_no_answer_is_bogus(self):
        wait_for(lambda: self.registered or self.register(), "the first DS")
        wait_for(lambda: self.sign_at(0) and "next: nothing" in self.roll_at(0).out,
                 "the first DS to be seen")
        for _ in range(2):
            self.add_resolver()
        self.crowd.thread.start()
        first = self.run_until(["active"], "13", "--roll-every", "1s")
        second = self.run_until(["active"], "15", "--algorithm", "ed25519")
        # What they have kept of the last step runs out.
        end = time.monotonic() + 2 * TTL_S
        wait_for(lambda: time.monotonic() > end, "caches to forget")
        self.crowd.stop()
        print(f"{len(first)} and {len(second)} states, {len(self.crowd.addresses)} resolvers, "
              f"{self.crowd.asked} answers, {len(self.crowd.flaws)} bogus or wrong")
        self.assertEqual(self.crowd.flaws[:5], [], f"{len(self.crowd.flaws)} flaws")
        self.assertGreater(self.crowd.asked, 100)
        # published, submitted, active; and before these two generated.
        self.assertGreaterEqual(len(first), 4)
        self.assertGreaterEqual(len(second), 5)


if __name__ == "__main__":
    main()
