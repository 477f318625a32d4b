#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
The two ways through the code that ARCHITECTURE.md shows, taken under a debugger.

Peers: gdb, dig. A function of a table that is not called, or not in its place,
fails the test by its name. Programs with the sanitizers are left out:
LeakSanitizer does not bear a debugger.
"""

import os
import re
import signal
import subprocess
import sys
import unittest

import harness
from harness import DEADLINE_S, IS_SANITIZED, SOURCE, ZONE, Case, config_text, peer
from milter import Milter
from mta import Authority

sys.path.insert(0, os.path.join(SOURCE, "tests/layers"))
from prose import architecture_tables  # pylint: disable=wrong-import-position

LISTED = "192.0.2.25"
HALF = "0.2.0.192." + ZONE

# Signals are the program's own; what it maps and where is its own as well.
BEGIN = """set confirm off
set pagination off
set breakpoint pending off
set startup-with-shell off
handle all nostop noprint pass
"""


def tables():
    """[[(function, file), ...], ...] as they stand in the page."""
    with open(os.path.join(SOURCE, "ARCHITECTURE.md"), encoding="utf-8") as file:
        return architecture_tables(file.read())


@unittest.skipIf(IS_SANITIZED, "LeakSanitizer does not bear a debugger")
class Walks(Case):
    def walk(self, functions, program, *arguments, worker=None, fork=None, child=None,
             is_strict=True):
        """
        gdb with the program, which says when it first reaches each function, and goes on after the
        last. worker is a function: the first child is followed until there, and none after it.
        fork is a function: the child that is made behind it is followed, and none after that has
        reached child, a function too.
        Without is_strict a function counts only when the one before it was reached.
        """
        lines, go_on = [BEGIN], "run"
        if worker is not None:
            lines += ["set follow-fork-mode child", f"tbreak {worker}", "run",
                      "set follow-fork-mode parent"]
            go_on = "continue"
        stops = [f"tbreak {function}\ncommands\nsilent\necho \\nreached {function}\\n\nend"
                 for function in functions]
        if fork is not None:
            stops.append(f"tbreak {fork}\ncommands\nsilent\nset follow-fork-mode child\nend")
            stops.append(f"tbreak {child}\ncommands\nsilent\nset follow-fork-mode parent\nend")
        if is_strict:
            lines += [*stops, go_on]
        else:
            lines += [stops[0], go_on]
        for stop in stops[1:]:
            lines += ["continue"] if is_strict else [stop, "continue"]
        command = [peer("gdb"), "-q", "-nx", "-batch", "-x",
                   self.write("script", "\n".join([*lines, "continue\n"])),
                   "--args", harness.program(program), *arguments]
        gdb = self.start(command, "gdb", env=dict(os.environ, DEBUGINFOD_URLS="", LC_ALL="C"))
        # The program is gdb's child, also when gdb has let go of it to follow a worker.
        self.addCleanup(self.end_children, gdb)
        return gdb

    def end_children(self, gdb):
        if gdb.popen.poll() is None:
            for pid in gdb.children():
                os.kill(pid, signal.SIGTERM)
        gdb.popen.wait(DEADLINE_S)

    def wait_until_ready(self, gdb, program):
        try:
            gdb.wait_for_log(rf"^info: \[{program}\] ready, ")
        except AssertionError:
            if re.search(r"ptrace: Operation not permitted|Could not trace", gdb.log()):
                self.skipTest("this system lets no debugger trace a program")
            raise

    def assert_reached(self, gdb, functions):
        for function in functions:
            try:
                gdb.wait_for_log(rf"^reached {function}$")
            except AssertionError as error:
                raise AssertionError(f"ARCHITECTURE.md: {function}() is not reached:"
                                     f" {' -> '.join(functions)}\n{error}") from None
        reached = re.findall(r"^reached (\w+)$", gdb.log(), re.MULTILINE)
        self.assertEqual(reached, functions, "ARCHITECTURE.md: another order")

    def build_under_gdb(self, functions):
        gdb = self.walk(functions, "dnsblv6-zone", "build", "--zone", ZONE, "--store",
                        self.path("bl6.mdb"), "--ns", "ns1.example.net.",
                        self.write("list.txt", LISTED + "\n"), fork="fence_run",
                        child="prctl")
        gdb.popen.wait(DEADLINE_S)
        if re.search(r"ptrace: Operation not permitted|Could not trace", gdb.log()):
            self.skipTest("this system lets no debugger trace a program")
        self.assert_reached(gdb, functions)

    def answer_under_gdb(self, functions):
        address = self.free_address()
        config = self.write("dnsblv6d.conf",
                            config_text(address, [(ZONE, self.path("bl6.mdb"), None)]))
        gdb = self.walk(functions, "dnsblv6d", "--config", config, worker="worker_serve")
        self.wait_until_ready(gdb, "dnsblv6d")
        # As a stranger types it: dig sends EDNS and a cookie of its own accord.
        dig = subprocess.run([peer("dig"), "+short", "+tries=1", f"+timeout={DEADLINE_S}",
                              f"@{address[0]}", "-p", str(address[1]), "AAAA", HALF],
                             capture_output=True, text=True, check=False, timeout=2 * DEADLINE_S)
        self.assert_reached(gdb, functions)
        self.assertEqual(dig.stdout, "0:40::\n")

    def test_a_line_of_a_list_becomes_an_answer(self):
        table = tables()[0]
        peer("dig")
        self.build_under_gdb([name for name, file in table if file.startswith("zone-tools/")])
        self.answer_under_gdb([name for name, file in table if not file.startswith("zone-tools/")])

    def test_an_address_becomes_a_verdict(self):
        functions = [name for name, _ in tables()[1]]
        if not os.path.exists(harness.program("dnsblv6-milter")):
            self.skipTest("built without libmilter")
        host, port = Authority(self, [LISTED]).address
        config = self.write("milter.conf", f"milter:\n    socket: {self.path('socket')}\n"
                            f"decision:\n    deadline: {DEADLINE_S}s\n"
                            f"library:\n    zones: {ZONE}\n    servers: {host}@{port}\n")
        # Its zone is probed at any time: only what comes after dnsblv6_check() counts.
        gdb = self.walk(functions, "dnsblv6-milter", "--config", config, is_strict=False)
        self.wait_until_ready(gdb, "dnsblv6-milter")
        with Milter(self.path("socket")) as milter:
            milter.connect(LISTED)
            milter.mail()
            reply = milter.rcpt()
        self.assert_reached(gdb, functions)
        self.assertEqual(reply[0], "y", reply)


if __name__ == "__main__":
    harness.main()
