# SPDX-License-Identifier: GPL-3.0-or-later
"""
load.py - questions without end in the background, every answer checked.

Flow: test_kill.py, test_reload.py and others run one beside what they do to a server.

    with Load(server.address, names, is_right) as load:
            ...
    load.assert_flawless(self)

is_right(name, reply) is asked about each answer, when its batch has all of them; pause_s passes between
two batches; how is for harness.Asker(). No question is put twice unless it says so: one that is lost is seen.
"""

import threading

from harness import AAAA, DEADLINE_S, Asker

BATCH = 200
FLAWS_KEPT = 10


class Load:
    def __init__(self, address, names, is_right, pause_s=0, batch=BATCH, **how):
        self.address, self.names, self.is_right = address, names, is_right
        self.pause_s, self.batch = pause_s, batch
        self.how = {"window": 64, "retry_s": DEADLINE_S, "retries": 0, **how}
        self.asked = 0
        self.flaw_count = 0
        self.flaws = []
        self.error = None
        self._is_ending = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._is_ending.set()
        self._thread.join()

    def _run(self):
        try:
            with Asker(self.address, **self.how) as asker:
                start = 0
                while not self._is_ending.is_set():
                    names = [self.names[(start + i) % len(self.names)] for i in range(self.batch)]
                    start += self.batch
                    self._check(names, asker.ask_all([(name, AAAA) for name in names]))
                    self._is_ending.wait(self.pause_s)
        except Exception as error:  # in a thread: told to the test by assert_flawless()
            self.error = error

    def _check(self, names, replies):
        for name, reply in zip(names, replies):
            self.asked += 1
            if reply is None or not self.is_right(name, reply):
                self.flaw_count += 1
                if len(self.flaws) < FLAWS_KEPT:
                    self.flaws.append((name, reply and reply.verdict()))

    def assert_flawless(self, case, at_least=1000):
        """No answer lost or wrong, and enough of them to mean something."""
        case.assertIsNone(self.error)
        case.assertEqual(self.flaws, [], f"{self.flaw_count} of {self.asked} wrong or lost")
        case.assertGreaterEqual(self.asked, at_least)
        print(f"{self.asked} questions in the background, all answered rightly")
