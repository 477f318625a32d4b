#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
build --zonemd: a digest over the zone that others compute as well (RFC 8976).

dnspython checks the digest of an unsigned zone, ldns-verify-zone that of a
signed one, after every command that changes the zone.
"""

import subprocess

import dns.name
import dns.rdatatype
import dns.zone

from harness import ZONE, Case, main, peer

LIST = "192.0.2.1\n198.51.100.0/24\n203.0.113.7\n2001:db8:1::/64\n"
NS = "ns1." + ZONE + ",192.0.2.53"


class Zonemd(Case):
    def setUp(self):
        super().setUp()
        self.list = self.write("list.txt", LIST)
        self.store = self.path("bl6.mdb")
        self.key = self.path("bl6.pem")

    def build(self, *options):
        return self.run_zone("build", "--zone", ZONE, "--store", self.store, "--ns", NS, *options,
                             self.list)

    def dump(self):
        return self.run_zone("dump", "--zonefile", "--store", self.store).out

    def check_digest(self):
        """By dnspython, of the zone as it is now."""
        zone = dns.zone.from_text(self.dump(), origin=dns.name.from_text(ZONE), relativize=False,
                                  check_origin=False)
        digests = zone.find_rdataset(zone.origin, dns.rdatatype.ZONEMD)
        self.assertEqual(len(digests), 1)
        soa = zone.find_rdataset(zone.origin, dns.rdatatype.SOA)[0]
        self.assertEqual(digests[0].serial, soa.serial)
        zone.verify_digest()  # raises when it is another

    def check_signed(self):
        path = self.write("zone", self.dump())
        result = subprocess.run([peer("ldns-verify-zone"), "-Z", path], check=False,
                                capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_there_is_no_digest_unless_it_was_asked_for(self):
        self.build()
        self.assertNotIn("ZONEMD", self.dump())

    def test_the_digest_of_an_unsigned_zone_follows_every_change(self):
        for style in "dotted", "flat":
            with self.subTest(style=style):
                self.store = self.path(style + ".mdb")
                self.build("--zonemd", "--style", style)
                self.check_digest()
                self.run_zone("update", "--store", self.store, "--add", "192.0.2.99",
                              "--remove", "2001:db8:1::/64")
                self.check_digest()
                self.build("--zonemd", "--style", style)
                self.check_digest()

    def test_the_digest_of_a_signed_zone_follows_every_change(self):
        self.run_zone("keygen", "--zone", ZONE, "--key", self.key)
        self.build("--zonemd", "--key", self.key)
        self.check_signed()
        self.check_digest()
        self.run_zone("update", "--store", self.store, "--key", self.key, "--add", "192.0.2.99")
        self.check_signed()
        self.run_zone("sign", "--store", self.store, "--key", self.key)
        self.check_signed()
        self.check_digest()

    def test_a_digest_that_is_asked_for_no_more_is_gone(self):
        self.build("--zonemd")
        self.build()  # without a word it stays
        self.assertIn("ZONEMD", self.dump())
        self.build("--forget", "zonemd")
        self.assertNotIn("ZONEMD", self.dump())

    def test_a_wrong_digest_would_be_noticed(self):
        self.build("--zonemd")
        broken = self.dump().replace("192.0.2.53", "192.0.2.54")
        zone = dns.zone.from_text(broken, origin=dns.name.from_text(ZONE), relativize=False,
                                  check_origin=False)
        with self.assertRaises(dns.zone.DigestVerificationFailure):
            zone.verify_digest()


if __name__ == "__main__":
    main()
