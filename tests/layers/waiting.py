#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What integration tests wait for is seen whatever comes in between, and a process that has ended is none."""

import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../integration/base"))
from harness import Process, children_of, wait_for  # pylint: disable=wrong-import-position


class SlowlyRead(Process):
    """Its log is read once, and then it ends before anything else is looked at."""

    reads = 0

    def log(self):
        text = super().log()
        self.reads += 1
        if self.reads == 1:
            os.kill(self.pid, 15)
            self.popen.wait()
        return text


class Waiting(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = os.path.join(directory.name, "log")

    def begin(self, kind, script):
        process = kind(["sh", "-c", script], self.path)
        self.addCleanup(process.popen.wait)
        self.addCleanup(process.popen.kill)
        return process

    def test_a_line_that_a_process_says_as_it_ends_is_found(self):
        process = self.begin(SlowlyRead, "trap 'echo last words; exit' TERM; while :; do sleep 0.1; done")
        wait_for(lambda: children_of(process.pid), "the trap to be set")
        self.assertEqual(process.wait_for_log("^last words$"), ["last words"])

    def test_a_line_that_a_process_has_not_said_ends_the_waiting_with_it(self):
        with self.assertRaisesRegex(AssertionError, "sh ended with 3:\nsomething else\n"):
            self.begin(Process, "echo something else; exit 3").wait_for_log("^last words$")

    def test_a_child_that_waits_to_be_reaped_is_none(self):
        # The first ends; the second is there until all is over.
        process = self.begin(Process, "sleep 0 & sleep 60 & echo $!; exec sleep 60")
        pid = int(process.wait_for_log(r"^\d+$")[0])
        wait_for(lambda: children_of(process.pid) == [pid], "the first to end")
        os.kill(pid, 9)
        wait_for(lambda: children_of(process.pid) == [], "the second to end")


if __name__ == "__main__":
    unittest.main()
