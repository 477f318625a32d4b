# SPDX-License-Identifier: GPL-3.0-or-later
"""
mailtool.py - mail-store with a store of its own, called or stopped under way.
"""

import contextlib
import os
import signal
import subprocess
import types

import harness
from harness import program, sanitizer_reports

EX_NOINPUT, EX_CANTCREAT, EX_IOERR, EX_NOPERM = 66, 73, 74, 77
ANNA, BERT = "anna@example.com", "bert@example.com"
MAIL = b"Subject: hello\n\nOnce for both.\n"


class Tool(harness.Case):
    def setUp(self):
        super().setUp()
        self.store = self.path("store")

    def call(self, command, *arguments, expect=0, text=b"", has_store=True):
        """What it prints, and what it logs."""
        store = ["--store", self.store] if has_store else []
        result = subprocess.run([program("mail-store"), command, *store, *arguments], check=False,
                                input=text, capture_output=True, timeout=harness.DEADLINE_S)
        said = result.stderr.decode()
        self.assertEqual(sanitizer_reports(said), [])
        self.assertEqual(result.returncode, expect, said)
        self.assertEqual(bool(said), expect > 1, said)
        return result.stdout, said

    @contextlib.contextmanager
    def stopped(self, call, command, *arguments, path=None):
        """The command stands before the first such call while this lasts, and ends with it."""
        if harness.IS_SANITIZED:
            self.skipTest("needs a program that can be traced")
        trace = self.path("trace")
        ended = types.SimpleNamespace()
        with subprocess.Popen([harness.peer("strace"), *(["-P", path] if path else []), "-e", f"trace={call}", "-e",
                               f"inject={call}:signal=SIGSTOP:when=1", "-o", trace, program("mail-store"), command,
                               "--store", self.store, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as popen:
            def is_stopped():
                with contextlib.suppress(FileNotFoundError), open(trace, encoding="utf-8", errors="replace") as file:
                    return "stopped by SIGSTOP" in file.read()

            def is_done():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
                return popen.poll() is not None

            harness.wait_for(is_stopped, "the call to be stopped at")
            with open(f"/proc/{popen.pid}/task/{popen.pid}/children", encoding="ascii") as file:
                pid = int(file.read())
            try:
                yield ended
            finally:
                harness.wait_for(is_done, "the command to end")
            ended.said, ended.status = popen.stdout.read().decode(), popen.returncode

    def deliver(self, text=MAIL, *boxes, sender=None):
        options = ["--print-id", *(["--sender", sender] if sender is not None else [])]
        return self.call("deliver", *options, *(boxes or (ANNA, BERT)), text=text)[0].decode().strip()
