#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
An integration test that is interrupted ends what it has started, and leaves no file; a campaign that is
killed takes the program with it that runs.
"""

import os
import select
import signal
import subprocess
import sys
import tempfile
import unittest

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BASE = os.path.join(TESTS, "integration/base")
DEADLINE_S = 60
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


def write_program(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    os.chmod(path, 0o755)


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

    def assert_killed(self, arguments, environment):
        """The script itself, by each signal, and with it the program that says its pid and waits."""
        path = os.path.join(environment["TMPDIR"], "pid")
        for number in (signal.SIGTERM, signal.SIGKILL):
            os.mkfifo(path)
            with self.subTest(arguments[0], number=number), \
                    open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0) as pipe, \
                    subprocess.Popen([os.path.join(TESTS, arguments[0]), *arguments[1:]], env=environment,
                                     stdout=subprocess.DEVNULL) as process:
                self.assertTrue(select.select([pipe], [], [], DEADLINE_S)[0], "not begun")
                pid = int(pipe.readline())
                process.send_signal(number)
                process.wait(DEADLINE_S)
                # The program alone has the other end.
                is_over = select.select([pipe], [], [], DEADLINE_S)[0]
                if not is_over:
                    os.kill(pid, signal.SIGKILL)
                self.assertTrue(is_over, "it goes on")
            os.unlink(path)

    def test_programs_end_with_their_campaign(self):
        """In each step: in that of "build" the program is ninja."""
        with tempfile.TemporaryDirectory() as directory:
            build = os.path.join(directory, "build")
            os.makedirs(os.path.join(build, "tests"))
            with open(os.path.join(build, "build.ninja"), "w", encoding="ascii") as file:
                file.write("unit-client-cache unit-xdp-kernel\n")
            waits = "#!/bin/sh\nexec >$TMPDIR/pid\necho $$\nexec sleep 600\n"
            for name in ("unit-client-cache", "unit-xdp-kernel", "fuzz-query"):
                write_program(os.path.join(build, "tests", name), waits)
            write_program(os.path.join(directory, "test_waiting.py"),
                          f"import os\nos.execv('/bin/sh', ['sh', '-c', {waits!r}])\n")
            campaigns = (("campaign-cache",), ("campaign-xdp",), ("campaign-fuzz", "600", "query"),
                         ("campaign-threads",
                          os.path.join(os.path.relpath(directory, os.path.join(TESTS, "integration")), "waiting")))
            environment = dict(os.environ, DNSBLV6_BUILD=build, TMPDIR=directory, PATH=f"{directory}:{os.environ['PATH']}",
                               DNSBLV6_FOUND=os.path.join(directory, "found"))
            for ninja in ("#!/bin/sh\n", waits):
                write_program(os.path.join(directory, "ninja"), ninja)
                for arguments in campaigns:
                    self.assert_killed(arguments, environment)


if __name__ == "__main__":
    unittest.main()
