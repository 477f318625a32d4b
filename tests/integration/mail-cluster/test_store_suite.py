# SPDX-License-Identifier: GPL-3.0-or-later
"""
The suite that all stores of mail run (tests/unit/mailcluster/suite.cc) on a RADOS cluster of three
nodes. Skipped without Debian's ceph-mon and ceph-osd.
"""

import os

import harness
from harness import Case
from radoscluster import RadosCluster

CASES = os.path.join(harness.BUILD, "tests/integration/store_cases")
LIMIT_S = 300


class Suite(Case):
    def test_a_store_on_rados_does_what_one_on_files_does(self):
        cluster = RadosCluster.of(self)
        process = self.start([CASES, "--warn", "NoAssertions", "--durations", "yes"], "cases",
                             env=cluster.environment())
        status = process.popen.wait(LIMIT_S)
        self.assertEqual(status, 0, process.log()[-4000:])
        self.assertIn("All tests passed", process.log())


if __name__ == "__main__":
    harness.main()
