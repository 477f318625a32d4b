#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
A signed zone is secure to everybody who checks: verifiers, Knot, Unbound, delv.

The dumped zone passes ldns-verify-zone, dnssec-verify and kzonecheck; Knot,
serving the dump, proves every answer as we do, record by record; Unbound and
delv, with the key as trust anchor, find it secure and equal to the list.
"""

import os
import subprocess

from harness import (A, AAAA, CLASSIC, DATA, DEADLINE_S, IS_SANITIZED, NOERROR, NS, NXDOMAIN, SEED,
                     SOA, TXT, ZONE, ask, ask_all, bitmap_name, main, peer)
from masterfile import DO, LIST, DumpCase, proof
from names import flat_name
from oracle import Oracle, differences
from resolvers import start_unbound

RRSIG, NSEC, DNSKEY = 46, 47, 48
RD_AD = 0x0120  # AD in a question asks for AD in the answer
NAMES = 1000 if IS_SANITIZED else 3000
EXCEPTIONS = """\
20.0.0.0/16 !20.0.3.0/24 !20.0.5.0/25 !20.0.7.9 21.0.0.0/8 !21.0.0.0/16 !21.9.9.9 20.1.7.1
2a00:db8::/32 !2a00:db8:5::/48 !2a00:db8:6:8000::/49 !2a00:db8:7:700::/57 !2a00:db8:8:1::/64
2a00:db9::/48 !2a00:db9:0:ff00::/56
"""


class Dnssec(DumpCase):
    def anchor(self, key, *options):
        return self.run_zone("ds", "--zone", ZONE, "--key", key, *options).out.splitlines()[0]

    def remove_store(self):
        for name in ("bl6.mdb", "bl6.mdb-lock"):
            if os.path.exists(self.path(name)):
                os.unlink(self.path(name))

    def real_list(self):
        """A list of some size with a bit of everything."""
        lines = LIST.split()
        path = os.path.join(DATA, "ipsum.txt")
        if os.path.exists(path):
            with open(path, encoding="ascii") as file:
                words = (line.split() for line in file if not line.startswith("#"))
                lines += [address for address, count in words if int(count) >= 3]
        else:
            lines += [f"{20 + self.random.randrange(80)}.{self.random.randrange(256)}."
                      f"{self.random.randrange(256)}.{self.random.randrange(256)}"
                      for _ in range(10000)]
        return self.write("list.txt", "\n".join(lines) + "\n")

    # ---- verifiers ----

    def test_verifiers_accept_the_zone_in_each_style_and_algorithm(self):
        path = self.write("list.txt", LIST)
        flat = self.write("flat.txt", "192.0.2.1\n198.51.100.0/24\n2a00:1:2:40::/58\n")
        both = self.write("both.txt", LIST.replace("44.0.0.0/9", "44.0.0.0/20"))
        for algorithm in ("ecdsap256sha256", "ed25519"):
            key = self.keygen(f"{algorithm}.pem", "--algorithm", algorithm)
            for style, chosen in (("dotted", path), ("flat", flat), ("both", both),
                                  ("both6", flat)):
                with self.subTest(algorithm=algorithm, style=style):
                    self.remove_store()
                    self.verify(self.dump("--key", key, "--style", style, chosen))

    def test_verifiers_accept_a_real_list(self):
        self.verify(self.dump("--key", self.keygen(), self.real_list()))

    # ---- another server of the same zone ----

    def test_knot_proves_every_answer_alike(self):
        path = self.write("list.txt", LIST)
        knot = self.start_knot(self.dump("--key", self.keygen(), path))
        server = self.serve([(ZONE, self.path("bl6.mdb"), None)])
        questions = [(name, rrtype) for name in self.names(Oracle().read_plain(path))
                     for rrtype in (AAAA, self.random.choice((A, TXT, SOA, DNSKEY)))]
        questions += [(ZONE, rrtype) for rrtype in (A, AAAA, NS, SOA, TXT, DNSKEY, NSEC)]
        pairs = zip(questions, ask_all(server.address, questions, **DO),
                    ask_all(knot, questions, window=64, **DO))
        different = [(question, proof(ours), proof(theirs)) for question, ours, theirs in pairs
                     if proof(ours) != proof(theirs)]
        self.assertEqual(different[:3], [], f"{len(different)} of {len(questions)} differ")

    # ---- validating resolvers ----

    def start_unbound(self, server, key, aggressive="yes"):
        return start_unbound(self, [server], [self.anchor(key)], (ZONE, CLASSIC),
                             [f"aggressive-nsec: {aggressive}"])

    def check_list(self, resolver, oracle):
        """Listed, wildcard and not listed addresses."""
        addresses = oracle.sample(NAMES, SEED)
        replies = ask_all(resolver, [(bitmap_name(a), AAAA) for a in addresses], window=64,
                          flags=RD_AD)
        wrong = list(differences(oracle, addresses, replies, ZONE))
        self.assertEqual(wrong[:10], [], f"{len(wrong)} of {NAMES} wrong")
        insecure = [reply.question for reply in replies if not reply.is_authentic]
        self.assertEqual(insecure[:10], [], f"{len(insecure)} of {NAMES} not secure")

    def test_unbound_finds_both_kinds_of_names_secure(self):
        path = self.write("list", "192.0.2.1\n16.0.0.5\n18.112.0.9\n100.7.0.0/16\n"
                          "198.51.100.0/24\n203.0.112.0/20\n2a00:1:2:40::/58\n"
                          "2001:db8:bad::/64\n1.2.3.4\n")
        key = self.keygen()
        self.build(self.path("bl6.mdb"), "--style", "both6", "--key", key, path)
        oracle = Oracle().read_plain(path)
        addresses = oracle.sample(NAMES // 2, SEED)
        for aggressive in ("no", "yes"):
            resolver = self.start_unbound(self.serve(), key, aggressive)
            # Proofs of the one kind of names stand beside those of the other.
            for name_of in (bitmap_name, lambda address: flat_name(address, ZONE), bitmap_name):
                replies = ask_all(resolver, [(name_of(a), AAAA) for a in addresses], window=64,
                                  flags=RD_AD)
                wrong = list(differences(oracle, addresses, replies, ZONE))
                self.assertEqual(wrong[:10], [], f"{len(wrong)} wrong")
                self.assertTrue(all(reply.is_authentic for reply in replies))

    def check_names(self, resolver, server, names):
        """Everything else: what the resolver says is secure and what the server says."""
        questions = [(name, rrtype) for name in names
                     for rrtype in (AAAA, self.random.choice((A, TXT, SOA, DNSKEY)))]
        questions += [(ZONE, rrtype) for rrtype in (A, NS, SOA, TXT, DNSKEY)]
        said = ask_all(server.address, questions)
        replies = ask_all(resolver, questions, window=64, flags=RD_AD)
        for question, direct, reply in zip(questions, said, replies):
            self.assertIsNotNone(reply, question)
            self.assertTrue(reply.is_authentic, question)
            # RDATA of the other types may hold names, which each program compresses its way.
            self.assertEqual((reply.rcode, sorted(reply.rdata(AAAA))),
                             (direct.rcode, sorted(direct.rdata(AAAA))), question)

    def resolve(self, aggressive):
        path = self.real_list()
        key = self.keygen()
        self.build(self.path("bl6.mdb"), "--key", key, path)
        server = self.serve()
        resolver = self.start_unbound(server, key, aggressive)
        oracle = Oracle().read_plain(path)
        self.check_list(resolver, oracle)
        names = self.names(oracle)
        self.check_names(resolver, server, self.random.sample(names, min(len(names), 2000)))
        # The classic zone is another one, and has no signatures to be wrong.
        reply = ask(resolver, f"2.0.0.127.{CLASSIC}", A, flags=RD_AD)
        self.assertEqual((reply.rcode, len(reply.answer), reply.is_authentic), (NOERROR, 1, False))

    def test_unbound_finds_everything_secure_and_equal_to_the_list(self):
        self.resolve("no")

    def test_unbound_concludes_the_same_from_proofs_it_has_seen(self):
        self.resolve("yes")

    def test_exceptions_in_whole_blocks_are_proven(self):
        """Wildcards beside the names of what they do not list (FORMAT.md 2.3)."""
        path = self.write("list.txt", "\n".join(EXCEPTIONS.split()) + "\n")
        oracle = Oracle()
        for word in EXCEPTIONS.split():
            oracle.add_text(word.lstrip("!"), not word.startswith("!"))
        key = self.keygen()
        self.verify(self.dump("--key", key, path))
        server = self.serve()
        names = self.names(oracle) + [
            f"{name}.{ZONE}" for name in ("z.0.0.20", "3.0.20", "x.3.0.20", "0.5.0.20", "z.20",
                                          "5.db8.2a00.ip6", "0005.0db8.2a00.ip6")]
        for aggressive in ("no", "yes"):
            with self.subTest(aggressive=aggressive):
                resolver = self.start_unbound(server, key, aggressive)
                self.check_list(resolver, oracle)
                self.check_names(resolver, server, self.random.sample(names, min(len(names), 2000)))

    def test_delv_validates_each_kind_of_answer(self):
        key = self.keygen()
        self.build(self.path("bl6.mdb"), "--key", key, self.write("list.txt", LIST))
        server = self.serve()
        public = self.anchor(key, "--dnskey").split()[-1]
        anchors = self.write("anchors", f'trust-anchors {{ {ZONE} static-key 257 3 13'
                                        f' "{public}"; }};\n')
        for name, rrtype, wanted in (
                ("0.2.0.192.", "AAAA", "fully validated"),
                ("0.100.51.198.", "AAAA", "fully validated"),
                ("", "SOA", "fully validated"),
                ("", "DNSKEY", "fully validated"),
                ("0.2.0.192.", "A", "negative response, fully validated"),
                ("2.0.192.", "AAAA", "negative response, fully validated"),
                ("0.100.51.198.", "A", "negative response, fully validated"),
                ("1.2.0.192.", "AAAA", "negative response, fully validated"),
                ("zz.", "AAAA", "negative response, fully validated")):
            result = subprocess.run(
                [peer("delv"), "-a", anchors, f"+root={ZONE}", f"@{server.address[0]}",
                 "-p", str(server.address[1]), name + ZONE, rrtype],
                stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                timeout=DEADLINE_S)
            self.assertIn(f"; {wanted}\n", result.stdout, (name, rrtype, result.stderr))

    # ---- who is not asked for it does not get it ----

    def test_clients_without_do_and_of_the_classic_zone_get_no_signature(self):
        self.build(self.path("bl6.mdb"), "--key", self.keygen(), self.write("list.txt", LIST))
        server = self.serve()
        for name, how in ((f"0.2.0.192.{ZONE}", {}), (f"1.2.0.192.{ZONE}", {"edns_size": 1232}),
                          (f"1.2.0.192.{CLASSIC}", DO), (f"9.9.9.9.{CLASSIC}", DO)):
            reply = server.ask(name, AAAA if name.endswith(ZONE) else A, **how)
            self.assertIn(reply.rcode, (NOERROR, NXDOMAIN))
            types = {record.type for record in reply.answer + reply.authority}
            self.assertFalse(types & {RRSIG, NSEC, DNSKEY}, name)


if __name__ == "__main__":
    main()
