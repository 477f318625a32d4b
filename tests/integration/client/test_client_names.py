#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
libdnsblv6 about names, sites, hashes and codes: rbldnsd serves lists made like Spamhaus' DBL and
ZEN, SURBL and a list of hashed addresses, with the test points that those have, and every answer
of the library is what rbldnsd says when it is asked for the same name.

Needs: rbldnsd.

DNSBLV6_NAMES is how many names are compared, over all lists.
"""

import hashlib
import os

import harness
from binding import dnsblv6
from harness import A, wait_for
from rbldnsd import start_rbldnsd

NAMES = int(os.environ.get("DNSBLV6_NAMES", 4000))
LISTED = 2000  # entries of each list
OPEN = 48      # names asked at once: rbldnsd's socket has little room
SOA = "$SOA 3600 ns.example.net hostmaster.example.net 1 600 300 86400 300\n$TTL 600\n"
TOPS = ["com", "net", "org", "co.uk", "xn--p1ai", "example"]
DBL, MULTI, EBL, ZEN = "dbl.example", "multi.example", "ebl.example", "zen.example"
CODES = {2: "SBL", 3: "SBL", 4: "XBL", 10: "PBL", 11: "PBL", 200: "NEW"}
KINDS = f"{DBL}=names {MULTI}=sites {EBL}=hashes"
POINTS = f"{DBL}=dbltest.com {EBL}={'c0' * 16}"


def label(rng):
    return "".join(rng.choice("abcdefghijklmnopqrstuvwxyz0123456789-_")
                   for _ in range(rng.randrange(1, 12)))


def domain(rng):
    return ".".join([label(rng) for _ in range(rng.randrange(1, 3))] + [rng.choice(TOPS)])


def site(rng):
    return f"198.{rng.randrange(20, 24)}.{rng.randrange(4)}.{rng.randrange(256)}"


def reversed_address(address):
    return ".".join(reversed(address.split(".")))


class Names(harness.Case):
    def setUp(self):
        super().setUp()
        os.chmod(self.directory, 0o755)
        rng = self.random
        self.domains = [domain(rng) for _ in range(LISTED)]
        self.sites = [site(rng) for _ in range(LISTED // 4)]
        self.hashes = [hashlib.md5(domain(rng).encode()).hexdigest() for _ in range(LISTED // 4)]
        self.address = self.serve_lists()
        self.servers = f"{self.address[0]}@{self.address[1]}"

    def serve_lists(self):
        rng = self.random

        def value(values):
            return f" :127.0.{rng.choice(values)}:listed $"

        lists = {
            f"{DBL}:dnset": ["test :127.0.1.2:t", ".dbltest.com :127.0.1.2:t",
                             *(f"{rng.choice(['', '.', '*.'])}{name}"
                               f"{value(['1.2', '1.4', '1.5', '1.102'])}"
                               for name in self.domains)],
            f"{MULTI}:dnset": ["test.surbl.org :127.0.0.254:t",
                               *(f".{name}{value(['0.8', '0.16', '0.24', '0.64', '0.128'])}"
                                 for name in self.domains[::2])],
            f"{MULTI}:ip4set": ["127.0.0.2 :127.0.0.254:t",
                                *(f"{name}{value(['0.8', '0.64'])}" for name in self.sites)],
            f"{EBL}:dnset": [f"{'c0' * 16} :127.0.0.2:t",
                             *(f"{name}{value(['0.2', '0.3'])}" for name in self.hashes)],
        }
        for code in CODES:
            # Some listed by one of them, some by all.
            lists[f"{ZEN}:ip4set:{code}"] = [f":127.0.0.{code}:$", "127.0.0.2", *(
                name for name in self.sites if rng.random() < 0.5)]
        arguments = []
        for number, (name, lines) in enumerate(lists.items()):
            path = self.write(f"list{number}", SOA + "\n".join(lines) + "\n")
            arguments.append(f"{':'.join(name.split(':')[:2])}:{path}")
        return start_rbldnsd(self, *arguments)

    def client(self, zones, **options):
        client = dnsblv6.Client(zones, servers=self.servers, kind=KINDS, test_point=POINTS,
                                cache_size="32M", **options)
        self.addCleanup(client.close)
        return client

    def ask_rbldnsd(self, names):
        """The A records of each, as a set of texts."""
        with harness.Asker(self.address, window=OPEN, retry_s=2, retries=20) as asker:
            replies = asker.ask_all([(harness.wire_name(name + "."), A) for name in names])
        for name, reply in zip(names, replies):
            self.assertIsNotNone(reply, f"rbldnsd is silent about {name}")
        return [{".".join(map(str, record.rdata)) for record in reply.answer}
                for reply in replies]

    def ask_library(self, client, names, zones):
        """The same of the library: {zone: values} of each; no more than OPEN at once."""
        found, following = {}, iter(enumerate(names))

        def ask_next():
            for index, name in following:
                client.submit_name(name, lambda result, index=index: found.update(
                    {index: result}), timeout=harness.DEADLINE_S, zones=zones)
                return

        def is_done():
            while len(client._requests) < OPEN:
                before = len(client._requests)
                ask_next()
                if len(client._requests) == before:
                    break
            harness.select.select([client], [], [], min(client.timeout() or 0.1, 0.1))
            client.process()
            return len(found) == len(names)

        wait_for(is_done, f"{len(names)} names", deadline_s=harness.DEADLINE_S * 10)
        return [found[index] for index in range(len(names))]

    def compare(self, zone, names, asked=None):
        """asked: what is put before the zone, when it is not the name. Returns what lists."""
        client = self.client(zone_entries(zone))
        asked = asked or names
        theirs = self.ask_rbldnsd([f"{name.rstrip('.')}.{zone}" for name in asked])
        ours = self.ask_library(client, names, client.zone_set(zone))
        differences = []
        for name, their, our in zip(names, theirs, ours):
            values = {value for _, value, _ in our.codes}
            verdict = "listed" if their else "clear"
            if values != their or our.verdict_name != verdict or our.failed:
                differences.append(f"{name}: rbldnsd {their}, library {values} {our}")
        self.assertEqual(differences[:10], [], f"{len(differences)} of {len(names)} differ")
        self.assertEqual(client.zones()[0].state, "ok")
        return sum(map(bool, theirs))

    def names_about(self, count):
        names = []
        while len(names) < count:
            name = self.random.choice(self.domains)
            way = self.random.randrange(6)
            if way == 1:
                name = f"{label(self.random)}.{name}"
            elif way == 2:
                name = name.split(".", 1)[1]
            elif way == 3:
                name = domain(self.random)
            elif way == 4:
                name = name.upper() + "."
            names.append(name)
        return names

    def test_names_of_a_domain_list(self):
        names = self.names_about(NAMES // 2)
        self.assertGreater(self.compare(DBL, names), NAMES // 8)

    def test_names_of_a_list_of_sites(self):
        names = self.names_about(NAMES // 4)
        self.assertGreater(self.compare(MULTI, names), NAMES // 32)

    def test_addresses_of_sites(self):
        names = [self.random.choice([site(self.random), self.random.choice(self.sites)])
                 for _ in range(NAMES // 8)]
        found = self.compare(MULTI, names, [reversed_address(name) for name in names])
        self.assertGreater(found, NAMES // 32)

    def test_hashes(self):
        names = [self.random.choice([hashlib.md5(label(self.random).encode()).hexdigest(),
                                     self.random.choice(self.hashes)])
                 for _ in range(NAMES // 8)]
        self.assertGreater(self.compare(EBL, names), NAMES // 32)

    def test_codes_of_a_list_of_addresses(self):
        client = self.client(f"{ZEN}=127.0.0.[2;3]=SBL*2 {ZEN}=127.0.0.[4..7]=XBL*3 "
                             f"{ZEN}=127.0.0.[10;11]=PBL*5 {ZEN}=127.0.0.200=NEW*7 "
                             f"{DBL} {MULTI} {EBL}")
        names = [self.random.choice([site(self.random), self.random.choice(self.sites)])
                 for _ in range(NAMES // 8)]
        theirs = self.ask_rbldnsd([f"{reversed_address(name)}.{ZEN}" for name in names])
        weights = {"SBL": 2, "XBL": 3, "PBL": 5, "NEW": 7}
        for name, their in zip(names, theirs):
            labels = {CODES[int(value.rsplit(".", 1)[1])] for value in their}
            result = client.check(name, harness.DEADLINE_S)
            self.assertEqual({value for _, value, _ in result.codes}, their, name)
            self.assertEqual(set(result.labels), labels, name)
            self.assertEqual(result.score, sum(weights[one] for one in labels), name)
            self.assertEqual(result.answered, (ZEN,))
        self.assertGreater(sum(len(their) > 1 for their in theirs), NAMES // 64)
        self.assertGreater(sum(len(their) > 4 for their in theirs), 0)

    def test_bits_tell_the_lists_of_one_zone_apart(self):
        client = self.client(f"{MULTI}=127.0.0.&8=PH {MULTI}=127.0.0.&16=MW "
                             f"{MULTI}=127.0.0.&64=ABUSE {DBL} {EBL}")
        zones = client.zone_set(MULTI)
        for name in ("127.0.0.2", "test.surbl.org"):
            self.assertEqual(client.check_name(name, harness.DEADLINE_S, zones).labels,
                             ("PH", "MW", "ABUSE"))
        listed = self.domains[0]
        # A name that was drawn twice has the bits of each of its lines.
        bits = 0
        for value in self.ask_rbldnsd([f"{listed}.{MULTI}"])[0]:
            bits |= int(value.rsplit(".", 1)[1])
        self.assertNotEqual(bits, 0, listed)
        wanted = [text for bit, text in ((8, "PH"), (16, "MW"), (64, "ABUSE")) if bits & bit]
        self.assertEqual(client.check_name(listed, harness.DEADLINE_S, zones).labels,
                         tuple(wanted))

    def test_test_points_are_looked_at_as_their_kind_wants(self):
        client = self.client(f"{DBL} {MULTI} {EBL} {ZEN}")
        self.assertEqual(client.probe(harness.DEADLINE_S), 4)
        wrong = dnsblv6.Client(f"{DBL} {MULTI}", servers=self.servers, kind="names",
                               test_point="not-there.example")
        self.addCleanup(wrong.close)
        self.assertEqual(wrong.probe(harness.DEADLINE_S), 0)
        result = wrong.check_name("dbltest.com", harness.DEADLINE_S)
        self.assertEqual((result.verdict_name, result.listed), ("unknown", ()))

    def test_a_reason_is_the_text_of_the_list(self):
        client = self.client(zone_entries(DBL))
        result = client.check_name("dbltest.com", harness.DEADLINE_S)
        reason = client.reason_name("dbltest.com", result, harness.DEADLINE_S)
        self.assertRegex(reason, r"^dbltest\.com is listed by \S+: t$")


def zone_entries(zone):
    """Every zone, that asked about first: which of them is asked is the set's business."""
    return " ".join([zone, *(other for other in (DBL, MULTI, EBL, ZEN) if other != zone)])


if __name__ == "__main__":
    harness.main()
