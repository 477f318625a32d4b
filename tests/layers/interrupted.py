#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""An integration test that is interrupted ends what it has started, and leaves no file."""

import os
import signal
import subprocess
import sys
import tempfile
import unittest

BASE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../integration/base")
SCRIPT = """
import os, tempfile, time
from harness import Case, main

class Waiting(Case):
    @classmethod
    def setUpClass(cls):
        cls.addClassCleanup(os.rmdir, tempfile.mkdtemp())

    def test_for_a_minute(self):
        print("pid", self.start(["sleep", "60"], "sleep").pid, flush=True)
        time.sleep(60)

main()
"""


class Interrupted(unittest.TestCase):
    def test_nothing_is_left(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number), tempfile.TemporaryDirectory() as directory:
                environment = dict(os.environ, PYTHONPATH=BASE, TMPDIR=directory)
                with subprocess.Popen([sys.executable, "-c", SCRIPT], env=environment, stdout=subprocess.PIPE,
                                      stderr=subprocess.DEVNULL, text=True) as process:
                    pid = next(int(line.split()[1]) for line in process.stdout if line.startswith("pid "))
                    process.send_signal(number)
                self.assertNotEqual(process.returncode, 0)
                self.assertEqual(os.listdir(directory), [])
                self.assertFalse(os.path.exists(f"/proc/{pid}"))


if __name__ == "__main__":
    unittest.main()
