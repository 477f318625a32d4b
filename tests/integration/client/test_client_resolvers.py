#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
The client library finds in any list what the list says, behind any resolver.

dnsblv6d behind Unbound, BIND, Knot Resolver and PowerDNS Recursor, signed and
unsigned, in dotted and flat names; and rbldnsd asked directly, the classic way.
dnsblv6-lookup is given thousands of addresses (DNSBLV6_LOOKUPS, 4,000), half of them listed,
many next to something listed, IPv4 and IPv6. Each must get the verdict that the list gives it.

What the library kept to itself is looked at too: it may ask no more questions than there are
blocks, and behind a signed zone it must have learned ranges.

A resolver that is not installed is skipped.
"""

import collections
import os
import re
import subprocess

import harness
from harness import ANY_SIZE, DATA, IS_SANITIZED, ZONE, Case, main, program
from oracle import BLOCK, Oracle
from rbldnsd import start_rbldnsd
from resolvers import VALIDATORS, start_unbound

LOOKUPS = int(os.environ.get("DNSBLV6_LOOKUPS", 1000 if IS_SANITIZED else 2000))
NETWORKS = ("198.51.100.0/24 203.0.112.0/20 192.0.2.64/30 2a00:1:2:40::/58 2001:db8:bad::/64"
            " 45.9.0.0/16 !45.9.7.7").split()


class Resolvers(Case):
    def list_of(self):
        """A Tor list when there is one, else addresses by chance; and networks."""
        real = os.path.join(DATA, "tor-nodes-1.lst")
        if os.path.exists(real):
            with open(real, encoding="ascii") as file:
                return file.read().split() + NETWORKS
        rng = self.random
        return [f"{20 + rng.randrange(80)}.{rng.randrange(256)}.{rng.randrange(256)}"
                f".{rng.randrange(256)}" for _ in range(5000)] + \
               [f"2a02:{rng.randrange(65536):x}:{rng.randrange(65536):x}::1"
                for _ in range(1000)] + NETWORKS

    def setUp(self):
        super().setUp()
        self.lines = self.list_of()
        self.oracle = Oracle()
        for line in self.lines:
            self.oracle.add_text(line.lstrip("!"), not line.startswith("!"))

    def serve_list(self, style, key):
        store = self.path(f"{style}.mdb")
        signed = ["--key", key] if key else []
        self.build(store, "--style", style, *signed, *ANY_SIZE,
                   self.write("list.txt", "\n".join(self.lines) + "\n"))
        return [self.serve([(ZONE, store, None)]) for _ in range(2)]

    def make_key(self, zone):
        """Key and DS record."""
        key = self.path(f"{zone}pem")
        self.run_zone("keygen", "--zone", zone, "--key", key)
        return key, self.run_zone("ds", "--zone", zone, "--key", key).out.splitlines()[0]

    # ---- looking up ----

    def look_up(self, server, addresses, *arguments):
        """Verdict of each address."""
        command = [program("dnsblv6-lookup"), "--server", "{}@{}".format(*server),
                   "--timeout", "10", *arguments]
        result = subprocess.run(command, input="\n".join(map(str, addresses)) + "\n",
                                capture_output=True, check=False, timeout=280, encoding="ascii")
        self.assertEqual(harness.sanitizer_reports(result.stderr), [])
        self.assertIn(result.returncode, (0, 1, harness.EX_UNAVAILABLE), result.stderr[-4000:])
        rows = [line.split("\t") for line in result.stdout.splitlines()]
        self.assertEqual([row[0] for row in rows], [str(address) for address in addresses])
        return [row[1] for row in rows]

    def settle(self, server, addresses, *arguments):
        """
        {address: verdict}. "unknown" is what a resolver gets that a busy machine holds up for too
        long: those addresses are looked up again, as often as that settles some of them.
        """
        verdicts, rest = {}, addresses
        while True:
            verdicts.update(zip(rest, self.look_up(server, rest, *arguments)))
            unknown = [address for address in rest if verdicts[address] == "unknown"]
            if not unknown or len(unknown) == len(rest):
                return verdicts
            print(f"{len(unknown)} of {len(rest)} addresses unknown, looked up again")
            rest = unknown

    def check(self, server, *arguments, only=None):
        """only: addresses of this version."""
        addresses = self.oracle.sample(LOOKUPS, harness.SEED)
        if only:
            addresses = [address for address in addresses if address.version == only]
        wrong = []
        for address, verdict in self.settle(server, addresses, *arguments).items():
            is_listed = self.oracle.is_listed(address) and not self.oracle.is_canary(address)
            if verdict != ("listed" if is_listed else "clear"):
                wrong.append((str(address), verdict))
        counts = collections.Counter(verdict for _, verdict in wrong)
        self.assertEqual(wrong[:5], [], f"{len(wrong)} of {len(addresses)} wrong: {counts}")
        return addresses

    def check_behind_all(self, style, key, anchors):
        servers = self.serve_list(style, key)
        for name, start in VALIDATORS.items():
            with self.subTest(resolver=name, style=style, is_signed=key is not None):
                self.check(start(self, servers, anchors), "--zones", ZONE)

    def test_signed_zone_in_dotted_names(self):
        key, anchor = self.make_key(ZONE)
        self.check_behind_all("dotted", key, [anchor])

    def test_signed_zone_in_flat_names(self):
        key, anchor = self.make_key(ZONE)
        self.check_behind_all("flat", key, [anchor])

    def test_signed_zone_in_both_is_asked_by_flat_names(self):
        key, anchor = self.make_key(ZONE)
        self.check_behind_all("both", key, [anchor])
        for style, pattern in (("both", r"[0-9a-f]{7}|([01]\.[0-9a-f.]+|[0-9a-f*.]+)?ip6"),
                               ("both6", r"[0-9a-f]{7}|([0-9a-f]{15}\.)?ip6")):
            servers = self.serve_list(style, key)
            resolver = start_unbound(self, servers, [anchor],
                                     lines=["log-queries: yes", "qname-minimisation: no"])
            process = self.processes[-1]
            self.check(resolver, "--zones", ZONE)
            names = set(re.findall(rf" (\S+)\.{re.escape(ZONE)} AAAA IN", process.log()))
            others = {name for name in names if not re.fullmatch(pattern, name)
                      and not name.startswith("_dnsblv6")}
            self.assertEqual(sorted(others)[:5], [], style)
            self.assertGreater(len(names), 100)

    def test_unsigned_zone(self):
        """Validators that have an anchor, but of another zone."""
        _, anchor = self.make_key("elsewhere.example.")
        self.check_behind_all("dotted", None, [anchor])

    def test_questions_are_no_more_than_blocks(self):
        """A signed zone needs fewer: what is not listed comes in ranges."""
        key, anchor = self.make_key(ZONE)
        servers = self.serve_list("dotted", key)
        unbound = start_unbound(self, servers, [anchor], lines=["log-queries: yes"])
        process = self.processes[-1]
        addresses = self.check(unbound, "--zones", ZONE)
        # Names, not packets: what a busy machine holds up is asked twice.
        names = set(re.findall(rf" (\S+)\.{re.escape(ZONE)} AAAA IN", process.log()))
        # Nor what is asked to see whether the zone denies it: a name of no list, and 127.0.0.0/8.
        asked = sum(not name.startswith("_") and not name.endswith(".127") for name in names)
        blocks = len({(address.version, int(address) >> (address.max_prefixlen
                                                         - BLOCK[address.version]))
                      for address in addresses})
        print(f"{len(addresses)} addresses in {blocks} blocks, {asked} questions")
        self.assertLess(asked, blocks)
        self.assertGreater(asked, 0)

    def test_rbldnsd(self):
        """Asked directly: rbldnsd is the authority, and the library needs no recursion."""
        os.chmod(self.directory, 0o755)
        # Its test point is for the operator to put in.
        ipv4 = ["127.0.0.2"] + [line for line in self.lines if ":" not in line]
        path = self.write("classic.txt", "\n".join(ipv4) + "\n")
        self.check(start_rbldnsd(self, f"bl.example:ip4set:{path}"), "--zones", "bl.example", only=4)


if __name__ == "__main__":
    main()
