#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
The trace generator keeps its word, on a trace small enough for every run.

Counts are exact, time never runs backwards, the hit ratios of this file's own
cache are the asked ones, equal seeds give equal bytes, wrong options are
refused. Heads of benchmarks have each option. And bench/smtp keeps what it has measured when something fails,
bench/transfer when a process ends meanwhile, bench/update ends its servers. Measures nothing.
"""

import contextlib
import importlib.machinery
import importlib.util
import io
import ipaddress
import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest

from harness import BUILD, EX_USAGE, SOURCE, Case, main, wait_for

SMALL = ("--connections", "6000", "--addresses", "1200", "--prefixes", "540")


def generate(*arguments):
    return subprocess.run([sys.executable, os.path.join(SOURCE, "bench/trace-gen"), *arguments],
                          capture_output=True, text=True, check=False, timeout=100)


def hit_ratio(trace, ttl_s, prefix_len):
    fetched, hits = {}, 0
    for second, address in trace:
        key = ipaddress.ip_network((address, prefix_len), strict=False)
        if key in fetched and second < fetched[key] + ttl_s:
            hits += 1
        else:
            fetched[key] = second
    return hits / len(trace)


def load_bench(name):
    """bench/NAME as a module; it does not begin."""
    path = os.path.join(SOURCE, "bench", name)
    if os.path.dirname(path) not in sys.path:
        sys.path.insert(0, os.path.dirname(path))
    loader = importlib.machinery.SourceFileLoader(f"bench_{name}", path)
    bench = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    dont_write, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    loader.exec_module(bench)
    sys.dont_write_bytecode = dont_write
    return bench


class TraceGen(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.result = generate(*SMALL, "--seed", "7")
        rows = (line.split("\t") for line in cls.result.stdout.splitlines())
        cls.trace = [(int(second), address) for second, address in rows]

    def test_counts_are_exact(self):
        self.assertEqual(self.result.returncode, 0, self.result.stderr)
        addresses = {ipaddress.IPv4Address(address) for _, address in self.trace}
        self.assertEqual(len(self.trace), 6000)
        self.assertEqual(len(addresses), 1200)
        self.assertEqual(len({int(address) >> 8 for address in addresses}), 540)
        self.assertEqual([a for a in addresses if not a.is_global or a.is_multicast], [])

    def test_time_never_runs_backwards(self):
        seconds = [second for second, _ in self.trace]
        self.assertEqual(seconds, sorted(seconds))
        self.assertLessEqual(seconds[-1] - seconds[0], 60 * 86400)

    def test_hit_ratios_are_the_papers(self):
        self.assertAlmostEqual(hit_ratio(self.trace, 86400, 32), 0.738, delta=0.001)
        self.assertAlmostEqual(hit_ratio(self.trace, 86400, 25), 0.839, delta=0.001)

    def test_equal_seeds_give_equal_bytes_and_others_do_not(self):
        self.assertEqual(generate(*SMALL, "--seed", "7").stdout, self.result.stdout)
        self.assertNotEqual(generate(*SMALL, "--seed", "8").stdout, self.result.stdout)

    def test_a_list_holds_every_client(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "list.txt")
            result = generate(*SMALL, "--seed", "7", "--list", path)
            self.assertEqual(result.stdout, self.result.stdout)
            with open(path, encoding="ascii") as file:
                listed = set(file.read().split())
        self.assertEqual({address for _, address in self.trace} - listed, set())
        self.assertGreater(len(listed), 1200)

    def test_a_ratio_out_of_reach_is_said(self):
        result = generate(*SMALL, "--address-hits", "83.8", "--block-hits", "83.9")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r"hits of a cache of addresses.*MISSED")

    def test_impossible_counts_are_refused(self):
        for arguments in (("--addresses", "5", "--prefixes", "9"), ("--max-density", "255"),
                          ("--prefixes", "0"), ("--block-hits", "10")):
            with self.subTest(arguments=arguments):
                result = generate(*arguments)
                self.assertEqual((result.returncode, result.stdout), (EX_USAGE, ""))
                self.assertIn(arguments[0], result.stderr)


class Heads(unittest.TestCase):
    def test_a_head_has_each_option(self):
        bench = os.path.join(SOURCE, "bench")
        # trace-gen says "..." for those of its model.
        for name in sorted(set(os.listdir(bench)) - {"trace-gen"}):
            path = os.path.join(bench, name)
            if not os.path.isfile(path) or not os.access(path, os.X_OK):
                continue
            with self.subTest(bench=name), open(path, encoding="utf-8") as file:
                head = file.read().split('"""')[1]
                said = subprocess.run([sys.executable, "-B", path, "--help"], capture_output=True, text=True,
                                      check=True, timeout=100).stdout
                options = set(re.findall(r"(?m)^  (?:-\w, )?(--[\w-]+)", said)) - {"--help"}
                self.assertEqual([option for option in sorted(options) if not re.search(rf"{option}\b", head)], [])


def comm(pid):
    """Of a process; None when it has ended."""
    try:
        with open(f"/proc/{pid}/comm", encoding="ascii") as file:
            return file.read().rstrip("\n")
    except OSError:
        return None


class Load:
    """A run of smtp-load that says what it is told to."""

    def __init__(self, said, status):
        self.said, self.returncode = said, status

    def communicate(self, **_):
        return self.said, "it was told to"

    def kill(self):
        pass

    def wait(self):
        return self.returncode


class Arm:
    front, address = None, None

    def __init__(self, name):
        self.name = name
        self.spent = 0

    def settle(self):
        pass

    def cost(self):
        self.spent += 1000
        return self.spent, self.spent


class Place:
    """Loads are counted from 0: some have a session that breaks, some fail."""

    def __init__(self, options, breaks=(), fails=()):
        self.options, self.breaks, self.fails = options, breaks, fails
        self.count = 0

    def start_load(self, _address, **options):
        number, self.count = self.count, self.count + 1
        said = (f"goodput=100.0 mail_p99_ms=7.0 decided_per_s=50.0 bounced={options.get('sessions')}"
                f" broken={int(number in self.breaks)}")
        return Load(said, 70 if number in self.fails else 0)

    def load(self, address, **options):
        return self.bench.figures(self.start_load(address, **options))


class TransferBench(unittest.TestCase):
    def test_a_process_that_has_ended_has_no_memory(self):
        with subprocess.Popen(["sh", "-c", "read -r _"], stdin=subprocess.PIPE) as child:
            server = load_bench("transfer").Server("sh", os.getpid(), None)
            self.assertIn(child.pid, server.tree())
            child.stdin.close()
            os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
            self.assertIn(child.pid, server.tree())
            self.assertGreater(server.memory_kb()[0], 0)


class UpdateBench(Case):
    def test_sigterm_leaves_no_server(self):
        bench = self.start([sys.executable, os.path.join(SOURCE, "bench/update"), "--programs", BUILD, "--rounds",
                            "100000", "--output", self.path("update.md"), self.write("list", "11.2.3.4\n")], "update")
        servers = wait_for(lambda: [pid for pid in bench.children() if comm(pid) == "dnsblv6d"], "its servers")
        self.assertEqual(bench.stop(), 128 + signal.SIGTERM)
        self.assertFalse([pid for pid in servers if comm(pid) == "dnsblv6d"])


class SmtpBench(unittest.TestCase):
    """What bench/smtp does with what a run says; nothing is run."""

    @classmethod
    def setUpClass(cls):
        cls.bench = Place.bench = load_bench("smtp")

    def measure(self, **how):
        """(lines of the page, what was missed)"""
        bench = self.bench
        options = bench.read_options(["--quick"])
        options.rounds = 2
        place, missed = Place(options, **how), bench.Missed()
        arms = [Arm(name) for name in (bench.POSTFIX, bench.NULL, bench.BEHIND)]
        with contextlib.redirect_stderr(io.StringIO()):
            cells = bench.measure_goodput(place, arms, 100, missed)
            costs = bench.measure_costs(place, arms[:2], missed)
        results = bench.Results({20: 100}, 20, 100, cells, costs, [], 0, missed)
        self.assertTrue(all(is_met for text, is_met in bench.limits(results)
                            if text.startswith("smtp-front") and "goodput" in text))
        return [*bench.goodput_lines(results), *bench.cost_lines(costs)], missed

    def test_broken_session_is_named_and_its_cell_is_kept(self):
        lines, missed = self.measure(breaks=(0, 5))
        self.assertEqual(len(missed), 2)
        self.assertEqual(missed[0], "Postfix smtpd, bounces 0: 1 sessions had an answer that is none")
        whole, _ = self.measure()
        self.assertEqual(lines, whole)

    def test_cell_that_fails_is_left_out_of_its_median(self):
        lines, missed = self.measure(fails=(1,))
        self.assertEqual(missed, ["smtp-front, null, bounces 0, round 1: not measured"
                                  " (smtp-load: it was told to)"])
        self.assertIn("| smtp-front, null | 100, 7 " + 5 * "| 100, 7 " + "| 1.00 |", lines)

    def test_server_that_always_fails_has_a_row_without_figures(self):
        bench = self.bench
        arms = [Arm(bench.POSTFIX), Arm(bench.NULL)]
        options, missed = bench.read_options(["--quick"]), bench.Missed()
        with contextlib.redirect_stderr(io.StringIO()):
            costs = bench.measure_costs(Place(options, fails=(0, 2)), arms, missed)
        lines = list(bench.cost_lines(costs))
        self.assertIn("| Postfix smtpd | - | - us | - | - us |", lines)
        results = bench.Results({}, 0, 0, {}, costs, [], 0, missed)
        self.assertFalse(any(is_met for _, is_met in bench.limits(results)))


if __name__ == "__main__":
    main()
