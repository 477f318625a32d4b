#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Half a minute of bench/soak ends without a wrong answer and without a loss that no kill
explains; and what judges it notices a wrong answer, a lost question and growth.

DNSBLV6_SECONDS is for a longer one. Needs python3-dnspython and python3-cryptography.
"""

import os
import re
import subprocess
import sys
import time

from harness import BUILD, IS_SANITIZED, SOURCE, ip, main, wait_for
from soak import PARENT_GROWTH_KB, Soak

SECONDS = int(os.environ.get("DNSBLV6_SECONDS", 20 if IS_SANITIZED else 30))


class Command(Soak):
    def test_nothing_is_wrong_and_nothing_lost_that_was_not_in_flight_at_a_kill(self):
        output = self.path("soak.md")
        result = subprocess.run(
            [sys.executable, os.path.join(SOURCE, "bench/soak"), "--programs", BUILD, "--seconds",
             str(SECONDS), "--output", output], capture_output=True, text=True, check=False,
            timeout=SECONDS * 2 + 300)
        print(result.stdout)
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        with open(output, encoding="ascii") as file:
            self.assertEqual(file.read(), result.stdout)
        counts = {what: int(count) for what, count in
                  re.findall(r"^\| ([^|]+) \| (\d+)(?: kB)? \|$", result.stdout, re.MULTILINE)}
        self.assertEqual((counts["wrong"], counts["lost otherwise"]), (0, 0))
        for what in ("answered", "random and damaged packets", "of them answered", "updates",
                     "builds", "reloads", "workers killed", "with their signatures validated"):
            self.assertGreater(counts[what], 0, what)


class Noticed(Soak):
    def setUp(self):
        super().setUp()
        self.begin(rate=200)

    def ask_until(self, condition):
        """The ordinary questions alone."""
        self.parts = [self.questions]
        self.questions.start()
        try:
            wait_for(lambda: self.questions.error or condition(), "questions")
        finally:
            self.questions.end()
        self.lost_otherwise = [lost for lost in self.questions.lost
                               if not self.was_in_flight(*lost)]
        self.before_kb = self.after_kb = self.memory_kb()

    def test_no_problem_is_found_where_there_is_none(self):
        self.ask_until(lambda: self.questions.answered > 300)
        self.assertEqual(self.problems(), [])

    def test_a_wrong_answer(self):
        changed = self.versions.change([ip(f"44.0.{n}.7") for n in range(40)], True, 0)
        self.versions.end(changed, 0)  # which no command has done
        self.ask_until(lambda: self.judge.wrong > 0)
        self.assertRegex(self.problems()[0], "wrong answers: .* of no version at that time")

    def test_a_lost_question(self):
        lane = self.questions.lanes[0]
        lane.waiting[0xFFFF] = (self.names[0], time.monotonic(), b"")  # was never sent
        self.ask_until(lambda: self.questions.answered > 300)
        self.assertRegex(self.problems()[0], "^1 questions lost that were not in flight")
        gone = time.monotonic()
        self.assertTrue(self.was_in_flight_at(gone, 0))
        self.assertFalse(self.was_in_flight_at(gone, gone))
        self.assertFalse(self.was_in_flight_at(0, 0))

    def was_in_flight_at(self, gone, since):
        self.kills = [(gone, [since] * len(self.questions.lanes))]
        return self.was_in_flight(*self.questions.lost[0])

    def test_growth(self):
        self.ask_until(lambda: self.questions.answered > 0)
        self.after_kb = (self.before_kb[0] + PARENT_GROWTH_KB + 1, self.before_kb[1])
        self.assertRegex(self.problems()[0], "the parent has grown")
        self.assertEqual(self.problems(is_memory_judged=False), [])


if __name__ == "__main__":
    main()
