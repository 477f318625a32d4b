#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Four validating resolvers find a zone secure and equal to the list, always.

Unbound, BIND, Knot Resolver and PowerDNS Recursor, each with the zone's DS as
trust anchor, are asked for names of every kind: listed, not listed, below
wildcards, empty. They go on being asked, with the caches they have, while the
key is changed step by step as dnsblv6-zone(1) has it and while the list
changes by build and by update. No answer may be insecure, and none other than the list before or
after says. Dotted names and ECDSA, flat names and Ed25519; IPv4 and IPv6.

Each resolver is skipped that is not installed; takes two Tor lists when they
are there and lists of its own otherwise.
"""

import collections
import contextlib
import os
import time
import unittest

from harness import (AAAA, ANY_SIZE, DATA, DEADLINE_S, SERVFAIL, ZONE, Case, ask,
                     ask_all, main, wait_for)
from load import Load
from names import ALL_ONES, EMPTY, NOTHING, Answer, Truth
from oracle import Oracle
from resolvers import VALIDATORS, start_unbound

RRSIG, DNSKEY = 46, 48
RD_AD = 0x0120  # AD in a question asks for AD in the answer
DO = {"flags": RD_AD, "edns_size": 1232, "edns_flags": 0x8000}
NAMES = int(os.environ.get("DNSBLV6_NAMES", 300))
FRESH = NAMES // 5
# At once. Of 64 a resolver that has little of a processor gives some up (SERVFAIL), as if they were bogus.
OPEN = 8
CHANGED = 20  # at least, of those that are asked about while a list changes
TTL_S = 2  # so that caches forget within the time of a test
NEGATIVE_TTL_S = 1

# What the real lists are without: networks, wildcards, and what becomes of them.
BEFORE = {
    "dotted": "198.51.100.0/24 203.0.0.0/16 44.0.0.0/9 192.0.2.64/30 2a00:1:2::/48 2a00:6::/31"
              " 2001:db8:bad::/64",
    "flat": "198.51.100.0/24 203.0.112.0/20 192.0.2.64/30 2a00:1:2:40::/58 2001:db8:bad::/64",
}
AFTER = {
    "dotted": "198.51.100.0/25 203.0.0.0/16 !203.0.9.9 44.0.0.0/9 45.0.0.0/8 192.0.2.64/30"
              " 2a00:1:2::/48 !2a00:1:2:3::/64 2a00:6::/32 2001:db8:bad::/63",
    "flat": "198.51.100.0/25 203.0.112.0/20 !203.0.113.9 192.0.2.64/31 2a00:1:2:80::/58"
            " 2001:db8:bad::/63",
}


def said(reply):
    return Answer(reply.rcode, tuple(reply.rdata(AAAA)))


def signers(reply):
    """Key tags of all signatures in it."""
    return {int.from_bytes(record.rdata[16:18], "big")
            for record in reply.answer + reply.authority if record.type == RRSIG}


class Zone:
    """A signed zone whose key and list change, and what may be said about it."""

    def __init__(self, case, style, algorithm):
        self.case, self.style = case, style
        self.store = case.path("bl6.mdb")
        self.keys = [case.path("old.pem"), case.path("new.pem")]
        self.anchors = []
        for key in self.keys:
            case.run_zone("keygen", "--zone", ZONE, "--key", key, "--algorithm", algorithm)
            self.anchors.append(
                case.run_zone("ds", "--zone", ZONE, "--key", key).out.splitlines()[0])
        self.tags = [int(anchor.split()[3]) for anchor in self.anchors]

    def lines(self, number, networks):
        """The list of that number; all of it, with the networks."""
        real = os.path.join(DATA, f"tor-nodes-{number}.lst")
        if os.path.exists(real):
            with open(real, encoding="ascii") as file:
                return file.read().split() + networks.split()
        rng = self.case.random
        lines = [f"{20 + rng.randrange(80)}.{rng.randrange(256)}.{rng.randrange(256)}"
                 f".{rng.randrange(256)}" for _ in range(5000)]
        lines += [f"2a02:{rng.randrange(65536):x}:{rng.randrange(65536):x}::{n:x}"
                  for n in range(1000)]
        return lines + networks.split()

    def truth(self, lines):
        oracle = Oracle()
        for text in lines:
            oracle.add_text(text.lstrip("!"), not text.startswith("!"))
        return Truth(oracle, self.style)

    def build(self, lines, key, ttl_s=TTL_S, negative_ttl_s=NEGATIVE_TTL_S):
        path = self.case.write("list.txt", "\n".join(lines) + "\n")
        self.case.build(self.store, "--style", self.style, "--key", key, *ANY_SIZE,
                        "--ttl", str(ttl_s), "--negative-ttl", str(negative_ttl_s), path)

    def difference(self, lines):
        """For update(): what to add, and what to remove of these lines."""
        hosts = [line for line in lines if "." in line and "/" not in line and "!" not in line]
        rng = self.case.random
        added = [f"{first}.{rng.randrange(256)}.{rng.randrange(256)}.0/{length}"
                 for length in (24, 25, 26, 32) for first in rng.sample(range(20, 40), 20)]
        return (added + ["198.51.100.128/25", "2a03:1:2:3::/64"],
                rng.sample(hosts, 200) + ["203.0.113.64/26", "2001:db8:bad::/64"])

    def update(self, added, removed, key):
        self.case.run_zone("update", "--store", self.store, "--key", key, *ANY_SIZE,
                           "--add", self.case.write("added.txt", "\n".join(added) + "\n"),
                           "--remove", self.case.write("removed.txt", "\n".join(removed) + "\n"))

    def sign(self, *arguments):
        self.case.run_zone("sign", "--store", self.store, *arguments)


class Resolvers(Case):
    def setUp(self):
        super().setUp()
        self.counts = collections.Counter()

    def start_all(self, servers, anchors):
        """Address of each that is installed; the others are told as skipped."""
        addresses = {}
        for name, start in VALIDATORS.items():
            try:
                addresses[name] = start(self, servers, anchors)
            except unittest.SkipTest as reason:
                with self.subTest(resolver=name):
                    raise reason
        if not addresses:
            self.skipTest("no validating resolver is installed")
        return addresses

    def serve_twice(self, zone):
        """
        As zones are. PowerDNS Recursor 4.8 now and then fails to read from one
        of its sockets (EAGAIN), and gives up when there is no other server.
        """
        return [self.serve([(ZONE, zone.store, None)]) for _ in range(2)]

    # ---- answers ----

    def check(self, resolvers, spots, *truths):
        """Every answer is secure, and what one of these lists says."""
        questions = [(truths[0].name(spot), AAAA) for spot in spots]
        for resolver, address in resolvers.items():
            wrong = []
            for spot, reply in zip(spots, ask_all(address, questions, window=OPEN, flags=RD_AD)):
                wanted = {truth.answer(spot) for truth in truths}
                if reply is None or not reply.is_authentic or said(reply) not in wanted:
                    wrong.append((truths[0].name(spot), reply and said(reply),
                                  reply and reply.is_authentic, wanted))
            self.assertEqual(wrong[:5], [], f"{resolver}: {len(wrong)} of {len(spots)} wrong")
            self.counts[resolver] += len(spots)

    @contextlib.contextmanager
    def asking(self, resolvers, spots, *truths):
        """
        Every resolver is asked about these again and again meanwhile. Unbound
        drops questions that have become two seconds old: they are put again.
        """
        wanted = {truths[0].name(spot): {truth.answer(spot) for truth in truths}
                  for spot in spots}

        def is_right(name, reply):
            return reply.is_authentic and said(reply) in wanted[name]

        with contextlib.ExitStack() as stack:
            loads = {resolver: stack.enter_context(Load(address, list(wanted), is_right, pause_s=0.1, batch=len(wanted),
                                                        window=OPEN, retry_s=3, retries=5, flags=RD_AD))
                     for resolver, address in resolvers.items()}
            yield
            for load in loads.values():
                wait_for(lambda load=load: load.asked >= len(wanted) or load.error,
                         "each name to be asked")
        for resolver, load in loads.items():
            print(resolver, end=": ")
            load.assert_flawless(self, at_least=len(wanted))

    def every_kind(self, truth):
        """Names, some of each kind: of flat ones few are empty, and chance alone brings none sometimes."""
        spots, kinds = [], collections.Counter()
        while len(kinds) < 6:
            self.assertLess(len(spots), 20 * NAMES, kinds)
            for spot in truth.sample(NAMES, self.random):
                answer = truth.answer(spot)
                kinds["IPv6" if spot.network.version == 6 else "IPv4"] += 1
                kinds["not listed" if answer == NOTHING else "empty" if answer == EMPTY
                      else "wildcard or full" if answer == ALL_ONES else "listed"] += 1
                spots.append(spot)
        print(f"{len(spots)} names, {dict(kinds)}")
        return spots

    # ---- steps ----

    def wait_for_caches(self):
        """What the manual has the operator wait for: the TTL of the zone."""
        end = time.monotonic() + TTL_S + 1  # caches count whole seconds
        wait_for(lambda: time.monotonic() > end, "caches to forget")

    def dnskeys(self, address):
        return len(ask(address, ZONE, DNSKEY, flags=RD_AD).rdata(DNSKEY))

    def change_key(self, zone, truth, resolvers, servers):
        old, new = zone.keys
        steps = ((("--key", old, "--publish", new), 2, zone.anchors[0]),
                 (("--key", new, "--publish", old), 2, zone.anchors[1]),
                 (("--key", new, "--withdraw", str(zone.tags[0])), 1, zone.anchors[1]))
        for arguments, key_count, anchor in steps:
            with self.asking(resolvers, truth.sample(FRESH, self.random), truth):
                zone.sign(*arguments)
                self.wait_for_caches()
            for resolver, address in resolvers.items():
                self.assertEqual(self.dnskeys(address), key_count, (resolver, arguments))
            self.check(resolvers, truth.sample(FRESH, self.random), truth)
            # One that has seen nothing before, when the zone above has only this DS.
            self.check({"Unbound, new": start_unbound(self, servers, [anchor])},
                       truth.sample(100, self.random), truth)

    def check_signer(self, resolvers, truth, tag):
        questions = [(truth.name(spot), AAAA) for spot in truth.sample(FRESH, self.random)]
        for resolver, address in resolvers.items():
            replies = ask_all(address, questions, window=64, **DO)
            self.assertEqual(set().union(*(signers(reply) for reply in replies)), {tag}, resolver)

    def change_list(self, resolvers, before, after, change):
        spots = after.sample(FRESH, self.random) + before.sample(FRESH, self.random)
        changed = [spot for spot in spots if before.answer(spot) != after.answer(spot)]
        # An update changes few names of many: chance alone brings none sometimes.
        while len(changed) < CHANGED:
            more = [spot for spot in after.sample(FRESH, self.random)
                    if before.answer(spot) != after.answer(spot)]
            changed += more
            spots += more
        with self.asking(resolvers, spots, before, after):
            change()
            self.wait_for_caches()
        self.check(resolvers, changed, after)
        self.check(resolvers, after.sample(FRESH, self.random), after)

    def live(self, style, algorithm):
        zone = Zone(self, style, algorithm)
        old, new = zone.keys
        lines = zone.lines(1, BEFORE[style])
        truth = zone.truth(lines)
        zone.build(lines, old)
        servers = self.serve_twice(zone)
        resolvers = self.start_all(servers, zone.anchors)

        self.check(resolvers, self.every_kind(truth), truth)

        self.change_key(zone, truth, resolvers, servers)
        self.check_signer(resolvers, truth, zone.tags[1])

        built = zone.lines(2, AFTER[style])
        built_truth = zone.truth(built)
        self.change_list(resolvers, truth, built_truth, lambda: zone.build(built, new))

        added, removed = zone.difference(built)
        last_truth = zone.truth(built + added + ["!" + line for line in removed])
        self.change_list(resolvers, built_truth, last_truth,
                         lambda: zone.update(added, removed, new))

        self.check(self.start_all(servers, zone.anchors[1:]),
                   last_truth.sample(FRESH, self.random), last_truth)
        print(dict(self.counts))

    def test_dotted_names_and_ecdsa_through_a_change_of_key_and_list(self):
        self.live("dotted", "ecdsap256sha256")

    def test_flat_names_and_ed25519_through_a_change_of_key_and_list(self):
        self.live("flat", "ed25519")

    def check_names(self, resolvers, names, answers):
        for resolver, address in resolvers.items():
            for name in names:
                reply = ask(address, f"{name}.{ZONE}", AAAA, DEADLINE_S, flags=RD_AD)
                self.assertTrue(reply.is_authentic, (resolver, name))
                self.assertIn(said(reply), answers, (resolver, name))

    def test_proofs_of_one_version_and_wildcards_of_another_list_no_exception(self):
        zone = Zone(self, "dotted", "ecdsap256sha256")
        parts = ["20.0.0.0/24", "20.0.9.0/24", "20.1.0.0/24"]
        zone.build(parts, zone.keys[0], 2100, 600)
        servers = self.serve_twice(zone)
        resolvers = self.start_all(servers, zone.anchors)

        def publish(lines, name, answer):
            zone.build(lines, zone.keys[0], 2100, 600)
            for server in servers:
                wait_for(lambda server=server: said(server.ask(f"{name}.{ZONE}", AAAA)) == answer, "the version")

        self.check_names(resolvers, ("0.5.0.20", "1.7.0.20"), (NOTHING,))
        publish(["20.0.0.0/16", "!20.0.5.0/24", "!20.0.6.0/24"], "0.77.0.20", ALL_ONES)
        self.check_names(resolvers, ("0.77.0.20", "0.0.0.20", "1.200.0.20"), (ALL_ONES, NOTHING))
        self.check_names(resolvers, ("0.5.0.20", "1.5.0.20"), (NOTHING,))
        publish(parts, "0.77.0.20", NOTHING)
        self.check_names(resolvers, ("0.8.0.20", "0.78.0.20"), (ALL_ONES, NOTHING))
        self.check_names(resolvers, ("0.5.0.20", "0.6.0.20", "1.6.0.20"), (NOTHING,))

    def test_with_the_anchor_of_another_key_nothing_is_secure(self):
        zone = Zone(self, "dotted", "ecdsap256sha256")
        lines = zone.lines(1, BEFORE["dotted"])
        truth = zone.truth(lines)
        zone.build(lines, zone.keys[0])
        servers = self.serve_twice(zone)
        for resolver, address in self.start_all(servers, zone.anchors[1:]).items():
            for spot in truth.sample(10, self.random):
                reply = ask(address, truth.name(spot), AAAA, DEADLINE_S, flags=RD_AD)
                self.assertEqual(reply.rcode, SERVFAIL, (resolver, truth.name(spot)))


if __name__ == "__main__":
    main()
