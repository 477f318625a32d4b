#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Every probe of RFC 8906 section 8, and what RFC 6891, 1035, 7766 and their
neighbours say about EDNS, flags and TCP, put to dnsblv6d over UDP and TCP.

Needs knotd, which serves the dump of the same zone, and python3-dnspython.
rbldnsd is asked too when it is installed: how many probes it passes is printed
and nothing else.

The probes are the rows of probes.py, which say what the RFC wants and by
which words Knot's answer differs from ours. Our answer must be what the RFC
says; Knot's must differ by exactly these words, so that no row goes stale.
"""

import collections

from harness import ZONE, main
from masterfile import DumpCase
from probes import ALWAYS, NAME_SERVERS, ROWS, SESSIONS, Tcp, Udp, faults, for_transport, probe
from rbldnsd import start_rbldnsd

KNOT_LINES = """
mod-cookies:
  - id: default
template:
  - id: default
    global-module: mod-cookies/default
"""


class Conformance(DumpCase):
    def setUp(self):
        super().setUp()
        self.run_zone("keygen", "--zone", ZONE, "--key", self.path("bl6.pem"))
        arguments = ["--key", self.path("bl6.pem")]
        for name in NAME_SERVERS:
            arguments += ["--ns", name]
        zonefile = self.dump(*arguments, self.write("list.txt", "192.0.2.0\n192.0.2.9\n"))
        self.knot = self.start_knot(zonefile, KNOT_LINES)
        self.ours = self.serve([(ZONE, self.path("bl6.mdb"), None)],
                               ['nsid: "ours"', "workers: 1"]).address

    def check_row(self, line, transport):
        ours, our_records = probe(transport, self.ours, line.packet)
        knot, their_records = probe(transport, self.knot, line.packet)
        wanted = list(for_transport(line.wanted, transport.name))
        different = ours ^ knot
        if not different and our_records != their_records:
            different = {"records"}
        stated = {word for words in line.knot
                  for word in for_transport(words.split(), transport.name)}
        knot_faults = sorted(faults(knot, wanted))
        special = " ".join(word for word in wanted if word not in ALWAYS)
        print(f"{line.rfc:<13} {transport.name} {line.title}\n    RFC:  {special}\n"
              f"    ours: {' '.join(sorted(ours))}\n"
              f"    Knot: {' '.join(sorted(knot)) if different else 'the same'}")
        if knot_faults:
            print(f"    Knot is not what the RFC says: {' '.join(knot_faults)}")
        if different:
            print(f"    because: {'; '.join(line.knot.values())}")
        self.assertEqual(sorted(faults(ours, wanted)), [], f"ours: {sorted(ours)}")
        self.assertEqual(sorted(different), sorted(stated), "in which Knot differs from us")
        return not knot_faults

    def test_every_probe_over_udp_and_tcp(self):
        passed = 0
        print("in each row, unless it says otherwise:", *ALWAYS)
        for line in ROWS:
            for transport in (Udp, Tcp):
                with self.subTest(rfc=line.rfc, title=line.title, transport=transport.name):
                    passed += self.check_row(line, transport)
        print(f"{2 * len(ROWS)} probes: Knot passes {passed}")

    def test_tcp_connections(self):
        for session in SESSIONS:
            with self.subTest(session.__doc__):
                ours, knot = session(self.ours), session(self.knot)
                print(f"{session.__doc__}\n    ours: {ours}, Knot: {knot}")
                self.assertTrue(ours)
                self.assertTrue(knot)

    def test_how_many_probes_rbldnsd_passes(self):
        address = self.start_rbldnsd()
        counts = collections.Counter()
        for line in ROWS:
            for transport in (Udp, Tcp):
                words, _ = probe(transport, address, line.packet)
                is_there = words != {"silent", "closed"}
                is_good = is_there and not any(
                    faults(words, for_transport(line.wanted, transport.name)))
                counts["all", transport.name] += is_good
                if line.rfc.startswith("8906"):
                    counts["8906", transport.name] += is_good
                    counts["of 8906"] += transport is Udp
        print(f"rbldnsd passes {counts['all', 'udp']} of {len(ROWS)} probes over UDP and"
              f" {counts['all', 'tcp']} over TCP; of those in RFC 8906 {counts['8906', 'udp']} of"
              f" {counts['of 8906']} and {counts['8906', 'tcp']}")
        self.assertGreater(counts["all", "udp"], 0, "it was not asked")

    def start_rbldnsd(self):
        """On a classic zone of this name, with as many name servers."""
        header = (f"$SOA 3000 ns1.example.net. hostmaster.{ZONE} 0 600 300 86400 300\n"
                  f"$NS 3000 {' '.join(NAME_SERVERS)}\n")
        path = self.write("rbldnsd.txt", header + "192.0.2.0\n192.0.2.9\n")
        return start_rbldnsd(self, f"{ZONE.rstrip('.')}:ip4set:{path}")


if __name__ == "__main__":
    main()
