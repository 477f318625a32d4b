# SPDX-License-Identifier: GPL-3.0-or-later
"""
latency.py - how long a question waits while stores are built and the server is reloaded.

Flow: serve gives the list, its questions and a way to start dnsblv6d; measure() asks at a fixed
      rate, quiet and beside changes, and lines() says what came out.

The worker is pinned (pin-workers) to the first core. bench/load is on the last core, and so is half
of the builds: the kernel's stamps tell when an answer was sent, so that what the generator waits for
there is not counted as the server's.
"""
import collections
import contextlib
import functools
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time

RATE, RELOAD_S = 20000, 1
FIELDS = ("p50_us", "p99_us", "max_us", "lost")
QUIET, BUSY, APART, TOGETHER = ("none", "none, but another core is busy", "on another core",
                                "on the worker's core")

# rows: one of the above -> the medians of FIELDS
Latency = collections.namedtuple("Latency", "rows builds reloads")


def in_the_background(core):
    """For preexec_fn: nothing goes behind a build."""
    def prepare():
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        os.sched_setaffinity(0, {core})
        os.nice(19)
    return prepare


@contextlib.contextmanager
def staying_on(core):
    """This process, of which each build begins as a copy: nothing of that is the server's."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


class Changer:
    """Builds the store again and again, and reloads the server, as long as something runs."""

    def __init__(self, bench, material, zone, store, process):
        self.bench, self.material, self.zone = bench, material, zone
        self.store, self.server = store, process
        less = [prefix for number, prefix in enumerate(material.prefixes) if number % 100]
        self.lists = [material.list,
                      bench.write("less.txt", "".join(f"{one}\n" for one in less))]
        self.builds = self.reloads = 0

    def during(self, popen, core):
        """One build after another on that core, and reloads, until popen has ended; its output."""
        building, reload_s = None, 0.0
        while popen.poll() is None:
            if building is None or building.poll() is not None:
                building = self.build(core)
            if time.monotonic() >= reload_s:
                reload_s = time.monotonic() + RELOAD_S
                self.server.send_signal(signal.SIGHUP)
                self.reloads += 1
            time.sleep(0.05)
        building.wait()
        return popen.communicate()[0]

    def build(self, core):
        self.builds += 1
        command = [self.material.tool(), "build", "--quiet", "--zone", self.zone, "--store",
                   self.store, "--ns", "ns1.example.net.", self.lists[self.builds % 2]]
        return subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                preexec_fn=in_the_background(core))


def while_busy(popen, core):
    """Something else on that core, which is neither ours nor asks for anything; popen's output."""
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"],
                            preexec_fn=in_the_background(core))
    try:
        return popen.communicate()[0]
    finally:
        busy.kill()
        busy.wait()


def measure_texts(bench, material, zone, start, cores):
    """The texts that bench/load printed by what went on, and how many builds and reloads there were."""
    store = shutil.copy(material.stores[False], bench.path("changing.mdb"))
    questions = material.questions("mixed", False, False)
    texts = collections.defaultdict(list)
    with start(store) as (address, process):
        changer = Changer(bench, material, zone, store, process)

        def asking():
            command, how = bench.load(address, questions, cores[1], rate=RATE,
                                      seconds=max(2.0, bench.options.seconds))
            return subprocess.Popen([command[0], "--stamped", *command[1:]],
                                    stdout=subprocess.PIPE, text=True, **how)

        for _ in range(bench.options.rounds):
            texts[QUIET].append(asking().communicate()[0])
            texts[BUSY].append(while_busy(asking(), cores[1]))
            texts[APART].append(changer.during(asking(), cores[1]))
            texts[TOGETHER].append(changer.during(asking(), cores[0]))
    return texts, changer.builds, changer.reloads


def measure(bench, material, zone, start, cores):
    """start(name, store, lines) is a context that gives the address and the process of a server."""
    with staying_on(cores[1]):
        texts, builds, reloads = measure_texts(
            bench, material, zone,
            functools.partial(start, "changing", lines=["pin-workers: on"]), cores)
    rows = {what: [statistics.median(values) for values in zip(*map(row_of, column))]
            for what, column in texts.items()}
    return Latency(rows, builds, reloads)


def row_of(text):
    found = dict(word.split("=") for word in text.split())
    return [float(found[name]) for name in FIELDS]


def ratio(latency):
    """Of the 99 % quantiles, with builds where a core is free for them."""
    return latency.rows[APART][1] / max(latency.rows[QUIET][1], 1)


METHOD = """## Latency during changes

{rate:,} mixed questions a second to one worker, which is pinned to its core; {builds} builds of the store, one
after another (nice 19, 1 % of the list changed), and {reloads} reloads (SIGHUP), one in {reload} s. "On another core"
is where builds belong that are to disturb nobody (docs/operations.md); there they share the generator's,
so the time of an answer is the kernel's: it notes when the server sends it. A worker waits for whatever
else the machine does on its core; what a busy core beside it changes, with nothing to do for us, is the second line.
"""


def lines(latency):
    yield from METHOD.format(rate=RATE, builds=latency.builds, reloads=latency.reloads,
                             reload=RELOAD_S).splitlines()
    yield ""
    yield "| builds and reloads | p50 | p99 | longest | lost | p99 / quiet |"
    yield "|---|---|---|---|---|---|"
    for what, row in latency.rows.items():
        quiet = latency.rows[QUIET][1]
        yield (f"| {what} | {row[0]:.0f} us | {row[1]:.0f} us | {row[2]:.0f} us |"
               f" {row[3]:.0f} | {row[1] / max(quiet, 1):.2f} |")
    yield ""
