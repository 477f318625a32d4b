#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
bench/cluster in a quick run: nodes that share mailboxes take mails, a dead node or a dead NFS server shows
where it must; its limits and its simulation are what the page says.

Needs root; NFS needs nfs-ganesha and nfs-mount, RADOS needs Ceph: without them their rows are not there.
Looks at no time.
"""

import argparse
import os
import re
import subprocess
import sys
import unittest

from benching import import_quietly
from harness import BUILD, IS_SANITIZED, SOURCE, Case, main
from mta import need_root


def table_of(page, title):
    """{name of a row: [texts]}"""
    text = page.partition(f"# {title}")[2].partition("\n#")[0]
    rows = [[word.strip() for word in line.strip("|").split("|")] for line in text.splitlines()
            if line.startswith("|")]
    return {row[0]: row[1:] for row in rows}


@unittest.skipIf(IS_SANITIZED, "a library is loaded before the programs, and a sanitizer after it")
class ClusterBench(Case):
    def run_bench(self, parts):
        need_root()
        result = subprocess.run(
            [sys.executable, os.path.join(SOURCE, "bench/cluster"), "--programs", BUILD, "--directory",
             self.directory, "--quick", "--parts", parts], capture_output=True, text=True, check=False,
            timeout=550)
        print(result.stdout, result.stderr)
        self.assertIn(result.returncode, (0, 1), result.stderr)  # limits are of a whole run
        self.assertIn("\n## Limits\n", result.stdout, result.stderr)
        return result.stdout

    def test_every_kind_takes_mails_and_larger_clusters_are_computed_of_that(self):
        page = self.run_bench("ts")
        rows = table_of(page, "Throughput")
        for name in ("version 1, log", "version 2, log", "version 2 by the mail server, log",
                     "version 2 by the mail server, maildirs", "nodes apart, log"):
            with self.subTest(kind=name):
                self.assertNotIn("-", rows[name])
                # Half a second may be one sync of a busy disk.
                self.assertGreater(sum(map(float, rows[name])), 0)
        costs = table_of(page, "Milliseconds of a processor")
        self.assertNotEqual(costs["version 1, log"][-1], "-")
        self.assertNotIn("-", table_of(page, "Simulation")["version 2, log"])
        if "NFS, maildirs" in rows:
            calls = re.search(r"Calls to the NFS server for a mail: (.*)\.", page).group(1)
            # CREATE, WRITE, LINK and REMOVE, and what little is looked up.
            self.assertEqual(sum(f"{name} 1.00" in calls for name in ("CREATE", "WRITE", "LINK", "REMOVE")), 4)

    def test_a_dead_server_stops_all_and_beside_a_dead_node_mails_are_taken(self):
        page = self.run_bench("lck")
        whole = table_of(page, "What the time of a mail is made of")
        self.assertIn("version 1, mailbox on another node", whole)
        self.assertNotIn("-", table_of(page, "A second copy")["version 2, log"][:2])
        rows = list(table_of(page, "A node dies").items())
        kinds, seconds = rows[0][1], rows[2:]  # the first is the head, the second its line
        taken = {kind: [int(texts[at].split()[0]) for _, texts in seconds] for at, kind in enumerate(kinds)}
        death = next(at for at, (name, _) in enumerate(seconds) if "death" in name)
        for kind in ("version 1, log", "version 2, log"):
            self.assertGreater(sum(taken[kind][death + 1:]), 0, kind)
        if "NFS, maildirs" in taken:
            self.assertEqual(taken["NFS, maildirs"][-1], 0)


class Page(unittest.TestCase):
    """What is said of figures; nothing is run."""

    @classmethod
    def setUpClass(cls):
        cls.page = import_quietly("cluster_page", "cluster-parts")
        cls.model = import_quietly("clustermodel", "cluster-parts")

    def limits(self, **parts):
        results = self.page.Results({}, {}, 0.25, {}, {}, {}, {}, [])._replace(**parts)
        options = argparse.Namespace(parts="tlcks", counts=(1, 4))
        return {limit.what: limit for limit in self.page.limits(options, results)}

    def measured(self, rate, **cpu):
        return self.page.clusternodes.Measured(rate, cpu, 1, {"write": 1, "link": 3}, 1, 1, 0)

    def test_what_was_not_measured_is_not_met(self):
        for limit in self.limits().values():
            self.assertFalse(limit.is_met)
            self.assertRegex(limit.text(), ": -, at (most|least) .*: not measured$")

    def test_ratios_are_of_medians(self):
        cells = {("nfs", 4): [self.measured(rate) for rate in (100, 900, 200)],
                 ("v2-sort", 4): [self.measured(rate) for rate in (230, 1, 240)]}
        limit = self.limits(cells=cells)["4 nodes: version 2 over NFS, both with maildirs"]
        self.assertEqual(limit.text().rpartition("maildirs: ")[2], "1.15, at least 1.15: met, by 0%")

    def test_a_stall_is_the_longest_behind_the_death(self):
        killed = self.page.Killed("x", "node", [0, 0, 0, 40, 40, 10, 0, 0, 20, 0, 30], [0] * 11, 5)
        self.assertEqual(self.page.stall_s(killed), 2)
        # Before it: the median of 0, 0, 40 and 40; the last second is no whole one.
        self.assertEqual(self.page.least_share(killed), 0)
        self.assertEqual(self.page.least_share(killed._replace(delivered=[9, 40, 40, 40, 40, 10, 20, 1])), 0.25)

    def test_a_client_that_costs_nothing_leaves_the_rest(self):
        results = self.page.Results(
            {("nfs", 4): [self.measured(300, store=0.1, **{"NFS client": 0.3, "NFS server": 0.6})]},
            {}, 0.25, {}, {}, {}, {}, [])
        self.assertAlmostEqual(self.page.without_client(results, 4), 300 / 0.7)

    def test_a_simulated_processor_is_never_more_than_busy(self):
        costs = self.model.Costs(entry=0.5, owner=0.5, sync_ms=0.01)
        for nodes in (1, 8):
            rate = self.model.simulate(costs, nodes, mails=1000)
            self.assertLessEqual(rate, 1.001 * nodes * self.model.NODE_CORES * 1000)
            self.assertGreater(rate, 0.5 * nodes * self.model.NODE_CORES * 1000)

    def test_a_simulated_server_is_the_limit_of_all_nodes(self):
        costs = self.model.Costs(entry=0.01, owner=0.01, server=1, sync_ms=0.01, calls=4)
        rates = [self.model.simulate(costs, nodes, server_cores=2, mails=500) for nodes in (1, 16)]
        self.assertLess(rates[0], rates[1])
        self.assertLessEqual(rates[1], 2001)

    def test_a_simulated_disk_takes_all_that_wait_into_one_sync(self):
        costs = self.model.Costs(entry=0.001, owner=0.001, sync_ms=1)
        alone = self.model.simulate(costs, 1, clients=1, mails=100)
        many = self.model.simulate(costs, 1, clients=16, mails=1000)
        self.assertLess(alone, 1000)
        self.assertGreater(many, 7 * alone)
        serial = self.model.simulate(costs._replace(serial_syncs=2), 1, clients=16, mails=500)
        self.assertLessEqual(serial, 500.5)


if __name__ == "__main__":
    main()
