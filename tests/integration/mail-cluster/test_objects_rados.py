# SPDX-License-Identifier: GPL-3.0-or-later
"""
The seam of a cluster's mail store on a RADOS cluster of three nodes: the cases of objects_cases.cc
while all is well, with a machine missing, full, refused, and with no machine at all. Skipped without
Debian's ceph-mon and ceph-osd.
"""

import os
import signal
import unittest

import harness
from harness import Case, wait_for
from radoscluster import RadosCluster

CASES = os.path.join(harness.BUILD, "tests/integration/objects_cases")
LIMIT_S = 300


class Objects(Case):
    """One cluster for all: each test leaves it as it was."""

    cluster = None

    @classmethod
    def setUpClass(cls):
        cls.stack = unittest.TestCase()
        cls.stack.directory = harness.tempfile.mkdtemp(prefix="dnsblv6-rados-")
        cls.addClassCleanup(harness.shutil.rmtree, cls.stack.directory, ignore_errors=True)
        cls.addClassCleanup(cls.stack.doCleanups)
        # Rights that are taken from a key are gone within seconds.
        cls.cluster = RadosCluster.of(cls.stack, ticket_s=10)

    def start_cases(self, tag, copies=3, conf=None, **environment):
        environment = dict(self.cluster.environment(), DNSBLV6_COPIES=str(copies), **environment)
        environment["CEPH_CONF"] = conf or self.cluster.conf
        return self.start([CASES, f"[{tag}]", "--warn", "NoAssertions"], tag, env=environment)

    def end_cases(self, process):
        self.assertEqual(process.popen.wait(LIMIT_S), 0, process.log())
        self.assertIn("All tests passed", process.log())

    def run_cases(self, tag, **how):
        self.end_cases(self.start_cases(tag, **how))

    def test_every_promise_is_kept_while_all_is_well(self):
        self.run_cases("whole")

    def test_a_machine_that_is_missing_is_told_and_missed_by_nothing_else(self):
        self.cluster.kill(3)
        self.addCleanup(self.cluster.wait_clean)
        self.addCleanup(self.cluster.start_node, 3)
        self.cluster.wait_up(2)
        self.run_cases("missing", copies=2)

    def test_a_full_cluster_refuses_and_waits_for_nothing(self):
        self.run_cases("before", DNSBLV6_OBJECT="for-full")
        self.addCleanup(self.cluster.empty)
        self.cluster.fill()
        self.run_cases("full", DNSBLV6_OBJECT="for-full")

    def test_a_key_that_has_lost_its_rights_is_refused(self):
        self.run_cases("before", DNSBLV6_OBJECT="for-refused")
        self.addCleanup(self.cluster.permit_keys)
        self.cluster.refuse_keys()
        self.run_cases("refused", DNSBLV6_OBJECT="for-refused")

    def test_a_key_of_another_cluster_is_refused(self):
        with open(self.cluster.conf, encoding="ascii") as file:
            conf = file.read().replace(f"keyring = {self.cluster.directory}/$name.keyring",
                                       f"keyring = {self.directory}/wrong.keyring")
        self.write("wrong.keyring",
                   "[client.mail]\n\tkey = AQBy/iZpAAAAABAAMDEyMzQ1Njc4OWFiY2RlZg==\n")
        self.run_cases("stranger", conf=self.write("wrong.conf", conf))

    def go_away(self, leave, come_back):
        """Calls these with each node, and in between nothing answers."""
        signs = self.path("signs")
        os.mkdir(signs)
        process = self.start_cases("away", DNSBLV6_SIGNS=signs)

        def await_sign(sign):
            wait_for(lambda: os.path.exists(os.path.join(signs, sign)) or
                     process.popen.poll() is not None, sign)

        await_sign("ready")
        self.addCleanup(self.cluster.wait_clean)
        for node in self.cluster.nodes():
            self.addCleanup(come_back, node)
            leave(node)
        self.write("signs/away", "")
        await_sign("seen")
        for node in self.cluster.nodes():
            come_back(node)
        self.write("signs/back", "")
        self.end_cases(process)

    def test_what_no_machine_answers_times_out_and_goes_on_when_they_are_started_again(self):
        self.go_away(self.cluster.kill_osd, self.cluster.start_osd)

    def test_what_hangs_with_its_machines_times_out_and_may_happen_late(self):
        self.go_away(self.cluster.stop, self.cluster.cont)

    def test_without_monitors_opening_times_out(self):
        self.addCleanup(self.cluster.wait_clean)
        for node in self.cluster.nodes():
            self.addCleanup(self.cluster.signal_node, node, signal.SIGCONT)
            self.cluster.stop(node)
        self.run_cases("no-monitor")

    def test_objects_are_in_the_groups_where_ceph_has_them(self):
        # copies of [whole] would be right in most groups by chance; the hash has a test of its own.
        answer = self.cluster.command("osd map", pool="mail", object="x.alice@example.org")
        self.assertEqual(answer["raw_pgid"].split(".")[1], "6535a772")


class Harness(Case):
    """What radoscluster.py promises that other tests do not see."""

    def test_a_cluster_ends_with_its_test_however_that_ends(self):
        RadosCluster.of(self, nodes=1).end()
        code = ("import radoscluster, sys, time\n"
                "cluster = radoscluster.RadosCluster(sys.argv[1], nodes=1)\n"
                "cluster.start()\n"
                "print('pids', *cluster.pids(1), flush=True)\n"
                "time.sleep(600)\n")
        where = self.path("other")
        os.mkdir(where)
        test = self.start(["/usr/bin/python3", "-c", code, where], "other")
        pids = test.wait_for_log(r"^pids (\d+) (\d+)$")[0]
        test.popen.kill()
        test.popen.wait()
        wait_for(lambda: not os.path.exists(os.path.join(where, "rados")), "no files")
        for pid in pids:
            self.assertFalse(os.path.exists(f"/proc/{pid}"), pid)


if __name__ == "__main__":
    harness.main()
