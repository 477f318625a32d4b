#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Very many clients at once over many zones: none is lost, and a sick zone costs the others nothing.

dnsblv6d serves the zones; between it and the library is the relay of client_burst.c, which drops
what is asked of one zone once that was well. Time limits are what a busy machine needs and more:
what ends early does not wait for them.
"""

import os
import re
import subprocess

import harness
from harness import Case, main

CLIENTS = int(os.environ.get("DNSBLV6_CLIENTS", "200"))
WAIT_S = 600
SICK_WAIT_S = 120  # who asks a sick zone may have to wait so long


class Burst(Case):
    def serve_zones(self, count):
        """Their names. The stores are of one list, whose addresses nobody has."""
        names = [f"z{number}.example." for number in range(count)]
        path = self.write("list", "192.0.2.1\n")
        for name in names:
            self.run_zone("build", "--zone", name, "--store", self.path(f"{name}mdb"), "--ns",
                          "ns1.example.net.", path)
        self.server = self.serve([(name, self.path(f"{name}mdb"), None) for name in names])
        return [name.rstrip(".") for name in names]

    def burst(self, names, clients, timeout_s, sick="-", one_in=0, **options):
        options = {"zones": " ".join(names), "max-requests": "16384", **options}
        done = subprocess.run(
            [os.path.join(harness.BUILD, "tests/integration/client_burst"), *map(str, self.server.address), str(clients),
             str(timeout_s * 1000), sick, str(one_in)]
            + [f"{key}={value}" for key, value in options.items()],
            capture_output=True, text=True, check=False, timeout=timeout_s + 60)
        self.assertEqual(harness.sanitizer_reports(done.stderr), [])
        self.assertEqual(done.returncode, 0, done.stderr)
        print(done.stdout, end="")
        found = dict(re.findall(r"([a-z-]+)=([\d,]+)", done.stdout))
        self.assertEqual(int(found["clients"]), clients)
        self.failed = [int(number) for number in found.pop("failed").split(",")]
        self.assertEqual(len(self.failed), len(names))
        return {key: int(value) for key, value in found.items()}

    def test_64_zones_and_clients_at_once_lose_nothing(self):
        found = self.burst(self.serve_zones(64), CLIENTS, WAIT_S)
        self.assertEqual(found, {"clients": CLIENTS, "unknown": 0, "requests-refused": 0,
                                 "fetches-dropped": 0, "questions-unsent": 0,
                                 "questions-refused": 0})
        self.assertEqual(sum(self.failed), 0)

    def test_a_zone_that_falls_silent_costs_the_others_nothing(self):
        self.burst(self.serve_zones(16), CLIENTS, SICK_WAIT_S, sick=".z3.example")
        self.assertGreater(self.failed.pop(3), 0)
        self.assertLessEqual(sum(self.failed), 16 * CLIENTS // 1000, self.failed)

    def test_a_zone_that_answers_a_tenth_costs_the_one_beside_it_nothing(self):
        self.burst(self.serve_zones(2), 3 * CLIENTS, SICK_WAIT_S, sick=".z1.example",
                   one_in=10)
        self.assertLessEqual(self.failed[0], 3 * CLIENTS // 1000, self.failed)


if __name__ == "__main__":
    main()
