# SPDX-License-Identifier: GPL-3.0-or-later
"""
lookups.py - what the tests of libdnsblv6's programs and bindings share: a served
list, and how many questions the server got.

Flow: test_lookup.py, test_python.py, test_lua.py, test_install.py -> Served
"""

import os
import subprocess

import harness
from harness import CLASSIC, ZONE, Case

# 192.0.2.0/25 has three, as in FORMAT.md; a wildcard; IPv6 by the /64.
LIST = """192.0.2.1
192.0.2.66
192.0.2.127
192.0.2.130
198.51.100.0/24
2001:db8:0:2::/64
2001:db8:0:4::/63
"""
ZONES = f"{ZONE}*2 {CLASSIC}"
# Questions are counted: the server is asked once, however long it takes.
PATIENCE_S = 30
LIBRARY = os.path.join(harness.BUILD, "client-lib/libdnsblv6.so.0")


def count_queries(case, zone=ZONE):
    """How many questions about the zone its server has had, of all kinds; its control socket is "ctl"."""
    told = subprocess.run([harness.program("dnsblv6ctl"), "--socket", case.path("ctl"), "stats"],
                          capture_output=True, text=True, check=True, timeout=harness.DEADLINE_S)
    rows = (line.split("\t") for line in told.stdout.splitlines())
    return sum(int(value) for name, counter, value in rows
               if name == zone and counter == "queries")


class Served(Case):
    """dnsblv6d with LIST, and a control socket; it is asked directly, without a resolver."""

    def setUp(self):
        super().setUp()
        self.build(self.path("bl6.mdb"), self.write("list", LIST))
        self.server = self.serve(server_lines=(f"control: {self.path('ctl')}",))
        self.servers = f"{self.server.address[0]}@{self.server.address[1]}"

    def queries(self):
        """How many the server has had, of all kinds."""
        return count_queries(self)

    def run_program(self, arguments, expect=0, **how):
        """Any program, to its end."""
        how.setdefault("timeout", 60)
        if "input" not in how:
            how.setdefault("stdin", subprocess.DEVNULL)
        result = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, check=False, **how)
        self.assertEqual(harness.sanitizer_reports(result.stderr), [])
        self.assertEqual(result.returncode, expect,
                         f"{arguments}\n{result.stdout[-2000:]}{result.stderr[-4000:]}")
        return result
