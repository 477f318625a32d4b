# SPDX-License-Identifier: GPL-3.0-or-later
"""
latency.py - how long a question waits while stores are built and the server is reloaded.

Flow: serve gives the list, its questions and a way to start dnsblv6d; measure() asks at a fixed
      rate, quiet and beside changes, and lines() says what came out.

The worker is pinned (pin-workers) to the first core. bench/load is on the last, and so is half of
the builds: the kernel's stamps tell when an answer was sent, so that what the generator waits
for there is not counted as the server's.
"""
import collections
import contextlib
import os
import shutil
import signal
import statistics
import subprocess
import time

RATE, RELOAD_S = 20000, 1
FIELDS = ("p50_us", "p99_us", "max_us", "lost")

Latency = collections.namedtuple("Latency", "quiet apart together builds reloads")


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


def measure(bench, material, zone, start, cores):
    """
    Medians of quiet moments and of those with builds on the other core and on the worker's.
    start(name, store) is a context that gives the address and the process of a server.
    """
    store = shutil.copy(material.stores[False], bench.path("changing.mdb"))
    questions = material.questions("mixed", False, False)
    rows = collections.defaultdict(list)
    with start("changing", store) as (address, process), staying_on(cores[1]):
        changer = Changer(bench, material, zone, store, process)

        def asking():
            command, how = bench.load(address, questions, cores[1], rate=RATE,
                                      seconds=max(2.0, bench.options.seconds))
            return subprocess.Popen([command[0], "--stamped", *command[1:]],
                                    stdout=subprocess.PIPE, text=True, **how)

        for _ in range(bench.options.rounds):
            rows["quiet"].append(asking().communicate()[0])
            rows["apart"].append(changer.during(asking(), cores[1]))
            rows["together"].append(changer.during(asking(), cores[0]))
    medians = {name: [statistics.median(column) for column in zip(*map(row_of, texts))]
               for name, texts in rows.items()}
    return Latency(**medians, builds=changer.builds, reloads=changer.reloads)


def row_of(text):
    found = dict(word.split("=") for word in text.split())
    return [float(found[name]) for name in FIELDS]


def ratio(latency):
    """Of the 99 % quantiles, with builds where a core is free for them."""
    return latency.apart[1] / max(latency.quiet[1], 1)


METHOD = """## Latency during changes

{rate:,} mixed questions a second to one worker, which is pinned to its core; {builds} builds of the store, one
after another (nice 19, 1 % of the list changed), and {reloads} reloads (SIGHUP), one in {reload} s. "On another core"
is where builds belong that are to disturb nobody (docs/operations.md); there they share the generator's,
so the time of an answer is the kernel's: it notes when the server sends it. On the worker's core a question
waits whenever the kernel works for a build and does not let itself be interrupted, which
depends on the kernel ({preemption}).
"""


def preemption():
    with open("/proc/version", encoding="ascii") as file:
        words = [word for word in file.read().split() if word.startswith("PREEMPT")]
    return words[0] if words else "no PREEMPT in /proc/version"


def lines(latency):
    yield from METHOD.format(rate=RATE, builds=latency.builds, reloads=latency.reloads,
                             reload=RELOAD_S, preemption=preemption()).splitlines()
    yield ""
    yield "| builds and reloads | p50 | p99 | longest | lost | p99 / quiet |"
    yield "|---|---|---|---|---|---|"
    for name, row in (("none", latency.quiet), ("on another core", latency.apart),
                      ("on the worker's core", latency.together)):
        yield (f"| {name} | {row[0]:.0f} us | {row[1]:.0f} us | {row[2]:.0f} us | {row[3]:.0f} |"
               f" {row[1] / max(latency.quiet[1], 1):.2f} |")
    yield ""
