# SPDX-License-Identifier: GPL-3.0-or-later
"""
cached.py - dnsblv6-cached in front of a served list, and processes that ask it.

Flow: a test makes a list and serves it -> start_cached() -> run_clients(), which are cached_clients
      -> what they saw, and the questions that dnsblv6d has counted.
"""

import ipaddress
import os
import random
import re
import signal
import subprocess

import harness
from harness import BUILD, DEADLINE_S, ZONE, Case, sanitizer_reports, wait_for
from lookups import PATIENCE_S, count_queries

PER_BLOCK = 50
TIMEOUT_MS = 60000  # of a check: the machine may be busy, and nothing here is to be late
NAME = ZONE.rstrip(".")
CLIENTS = os.path.join(BUILD, "tests/integration/cached_clients")
# HEALTH_LOOK_CREDIT, and one more for each minute that a test may take
LOOKS_MAX = 30 + 10


class CachedCase(Case):
    def setUp(self):
        super().setUp()
        self.directory_of_cache = self.path("shared")

    # ---- what is asked about ----

    def make_list(self, block_count):
        """Random blocks, PER_BLOCK addresses in each; in every other one some are listed."""
        chosen = random.Random(harness.SEED)
        blocks = set()
        while len(blocks) < block_count:
            first = chosen.randrange(0x20000000, 0x60000000) & ~127  # nothing reserved there
            blocks.add(first)
        rows = []
        for index, block in enumerate(sorted(blocks)):
            for host in sorted(chosen.sample(range(128), PER_BLOCK)):
                is_listed = index % 2 == 0 and chosen.random() < 0.5
                rows.append((str(ipaddress.ip_address(block + host)), int(is_listed)))
        return rows

    def serve_list(self, rows, *options):
        listed = "\n".join(address for address, is_listed in rows if is_listed)
        self.build(self.path("bl6.mdb"), *options, self.write("list", listed + "\n192.0.2.1\n"))
        self.server = self.serve(server_lines=[f"control: {self.path('ctl')}"])
        return self.server

    def questions(self, zone=ZONE):
        """How many the server has had about the zone."""
        return count_queries(self, zone)

    def assert_questions(self, count, wanted):
        """As many, and two for each look at the zone that listings have caused (proof.h)."""
        self.assertIn(count - wanted, range(0, 2 * LOOKS_MAX + 1, 2))

    # ---- the daemon ----

    def config(self, resolver, cached=(), library=(), zones=(NAME,)):
        lines = ["cached:", f"    directory: {self.directory_of_cache}"]
        lines += [f"    {line}" for line in cached]
        lines.append("zone:")
        lines += [f"  - domain: {zone}" for zone in zones]
        lines += ["library:", f"    servers: [ {resolver[0]}@{resolver[1]} ]",
                  f"    attempt-timeout: {PATIENCE_S}s"]
        lines += [f"    {line}" for line in library]
        return self.write("cached.conf", "\n".join(lines) + "\n")

    def start_cached(self, config, **how):
        daemon = self.start([harness.program("dnsblv6-cached"), "--config", config], "cached",
                            **how)
        daemon.wait_for_log(r"^info: \[dnsblv6-cached\] ready, ")
        return daemon

    def run_cached(self, *arguments):
        result = subprocess.run([harness.program("dnsblv6-cached"), *arguments],
                                capture_output=True, text=True, check=False, timeout=DEADLINE_S)
        self.assertEqual(sanitizer_reports(result.stderr), [])
        return result

    def kill(self, daemon):
        """So that nothing of it is left but its files."""
        daemon.popen.kill()
        daemon.popen.wait()

    def wait_until_probed(self, daemon, zone=NAME):
        def look():
            daemon.send_signal(signal.SIGUSR1)
            return re.search(rf"^info: \[{zone}\] zone, state=ok ", daemon.log(), re.MULTILINE)

        wait_for(look, f"{zone} to be ok")

    # ---- the clients ----

    def clients_command(self, resolver, processes, passes, options, timeout_ms, inherit=False):
        return [CLIENTS, *(["inherit"] if inherit else []), str(processes), str(timeout_ms),
                str(passes), f"zones={NAME}", f"servers={resolver[0]}@{resolver[1]}",
                f"shared={self.directory_of_cache}", "cache-size=64K",
                f"attempt-timeout={PATIENCE_S}s", *options]

    def run_clients(self, rows, resolver, processes=4, options=(), timeout_ms=TIMEOUT_MS,
                    inherit=False, **how):
        """Until all have checked all; what they saw."""
        text = "".join(f"{address} {is_listed}\n" for address, is_listed in rows)
        command = self.clients_command(resolver, processes, 1, options, timeout_ms, inherit)
        if "user" in how:
            command[0] = self.readable_program(command[0])
        result = subprocess.run(command, input=text, capture_output=True, text=True, check=False,
                                timeout=600, **how)
        self.assertEqual(sanitizer_reports(result.stderr), [])
        self.assertEqual(result.returncode, 0, result.stdout[-2000:] + result.stderr[-4000:])
        return harness.numbers(result.stdout.splitlines()[-1])

    def assert_right(self, seen, rows):
        self.assertEqual(seen["wrong"] + seen["late"] + seen["errors"] + seen["unknown"], 0, seen)
        self.assertEqual(seen["checked"], len(rows), seen)
        self.assertEqual(seen["listed"], sum(is_listed for _, is_listed in rows), seen)
