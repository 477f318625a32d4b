# SPDX-License-Identifier: GPL-3.0-or-later
"""
killing.py - moments at random in the life of a command, to kill it at.

Flow: test_kill.py, test_rollback.py and test_update_live.py start a command -> Moments ends it, or
      it has ended by then.
"""

import signal
import subprocess


class Moments:
    """
    How long a command takes is a guess, span_s, of a machine that may do something else by then: it
    follows what comes in time and what comes too late.
    """

    def __init__(self, random, span_s):
        self.random, self.span_s = random, span_s

    def kill(self, process):
        """Returns whether that came in time; the process has been waited for."""
        try:
            process.wait(self.random.uniform(0, self.span_s))
        except subprocess.TimeoutExpired:
            process.kill()
        is_in_time = process.wait() == -signal.SIGKILL
        self.span_s *= 1.05 if is_in_time else 0.7
        return is_in_time
