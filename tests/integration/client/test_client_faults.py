#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
A list that falls ill is not believed, and is used again when it is well.

Between libdnsblv6 and an authority, or a validating Unbound, stands a server that breaks answers in
each of the ways that faults.py has: from the start, and after six seconds of health. The zones are
an unsigned and a signed one of dnsblv6d and a classic one of rbldnsd; they are asked directly, and
by way of dnsblv6-cached. All of them are asked at the same time, each fault by a handle and a
daemon of its own (fault_clients.py).

Once a look at the zone since the fault's beginning is over, no address is listed that is not. No
address that is listed is clear where the fault can be seen. When the fault has ended, every
verdict is right again, that of what was asked meanwhile too.

docs/faults.md has the table, and this test compares: a third of the cells, or all of them for
tests/campaign-faults, which writes it. Needs: unbound, rbldnsd.

DNSBLV6_FAULTS are names of faults, with semicolons between them: these alone, and no comparison.
"""

import datetime
import json
import os
import platform
import subprocess
import sys
import time

import fault_clients
import harness
from fault_clients import CLEAR, LISTED, RIGHT, UNKNOWN
from faults import FAULTS, KINDS, PLAIN, SIGNED, UNSIGNED
from harness import CLASSIC, SOURCE, ZONE, Case, main, program
from lookups import LIBRARY
from rbldnsd import start_rbldnsd
from resolvers import start_unbound

if harness.IS_SANITIZED:
    # The library wants a runtime that the interpreter would have to be started with.
    print("the build is sanitized: skipped")
    sys.exit(77)

PAGE = os.path.join(SOURCE, "docs/faults.md")
MARK = "<!-- below: tests/campaign-faults -->\n"
IS_CAMPAIGN = os.environ.get("DNSBLV6_CAMPAIGN") == "1"
CHOSEN = [name for name in os.environ.get("DNSBLV6_FAULTS", "").split(";") if name]
SICK_S = {"start": 20, "later": 12}  # between two probes of a sick zone, and shortly behind one
GOOD_S = 30           # after which the campaign wants every verdict to be right
WAIT_S = 180          # for something to get better
LIFE_S = 900          # of all clients
DIRECT, CACHED = "direct", "dnsblv6-cached"
START, LATER = "start", "later"
NAMES = {UNSIGNED: "plain6.example.", SIGNED: ZONE, PLAIN: CLASSIC}
BESIDE = "plain.example."  # the classic zone that the unsigned one names
SOA = "$SOA 3600 ns.example.net hostmaster.example.net 1 600 300 86400 300\n$TTL 600\n"
COLUMNS = [(kind, way) for kind in KINDS for way in (DIRECT, CACHED)]


def chosen_faults():
    return [fault for fault in FAULTS if not CHOSEN or fault.name in CHOSEN]


def is_chosen(number, fault, kind, way, begin):
    """Each fault and kind when it begins later; and of each fault one of the others, by turns."""
    if kind not in fault.kinds or (fault.is_busy and begin == START):
        return False
    others = [(other, *cell) for cell in ((CACHED, LATER), (CACHED, START), (DIRECT, START))
              for other in fault.kinds]
    return IS_CAMPAIGN or (way, begin) == (DIRECT, LATER) or \
        (kind, way, begin) == others[number % len(others)]


def hides(fault, plan, kinds):
    """Does nothing tell? Of a list that is sick from the start test points do, mostly."""
    return plan["kind"] in (kinds if plan["begin"] == LATER else fault.hides_from_start)


class Cell:
    """What one client was told: a line of fault_clients.py."""

    def __init__(self, told):
        self.plan, self.told = told["plan"], told
        self.fault = next(fault for fault in FAULTS if fault.name == self.plan["fault"])
        self.hides_listings = hides(self.fault, self.plan, self.fault.hides_listings)
        self.hides_clears = hides(self.fault, self.plan, self.fault.hides_clears)

    def count(self, word, *eras):
        return sum(self.told["counts"].get(era, {}).get(word, 0) for era in eras)

    def limits(self):
        """What is wrong by which limit, and how often."""
        good_s = self.told["good_s"]
        found = {"wrong before": self.count(LISTED, "health") + self.count(CLEAR, "health"),
                 "not well before": self.plan["begin"] == LATER and not self.count(RIGHT, "health"),
                 "not well afterwards": good_s is None or IS_CAMPAIGN and good_s > GOOD_S}
        if not self.hides_listings:
            found["listed"] = self.count(LISTED, "sick") > self.fault.wrong_max
        if not self.hides_clears:
            found["clear"] = self.count(CLEAR, "sick") > self.fault.wrong_max
        if not self.hides_listings and not self.hides_clears:
            found["wrong afterwards"] = self.count(LISTED, "after") + self.count(CLEAR, "after")
        if self.fault.needs_secure and self.plan["kind"] == SIGNED and self.plan["begin"] == LATER:
            found["believed without proof"] = self.told["insecure"]
        return found

    def broken(self):
        where = ", ".join(self.plan[key] for key in ("fault", "kind", "way", "begin"))
        return [f"{where}: {what} {int(count)} {self.told['false']} {self.told['state']}"
                for what, count in self.limits().items() if count]


# ---- the table ----


def print_cells(cells):
    """Everything that was counted; docs/faults.md has what matters of it."""
    print("fault\tkind\tway\tbegin\tfalse listings in the first look, later\tfalse clears\t"
          "unknown\tright\tof them insecure, later\tfalse afterwards\tseconds\tstate")
    order = {fault.name: number for number, fault in enumerate(FAULTS)}
    for cell in sorted(cells, key=lambda cell: order[cell.fault.name]):
        seconds = cell.told["good_s"]
        print(*(cell.plan[key] for key in ("fault", "kind", "way", "begin")),
              *(f"{cell.count(word, 'first')}+{cell.count(word, 'sick')}"
                for word in (LISTED, CLEAR, UNKNOWN, RIGHT)), cell.told["insecure"],
              cell.count(LISTED, "after") + cell.count(CLEAR, "after"),
              "-" if seconds is None else f"{seconds:.0f}", cell.told["state"], sep="\t")


def verdicts_of_page(fault, kind, cells):
    if fault.wrong_max > 0:
        return f"up to {fault.wrong_max}"
    return ", ".join("hidden" if kind in hidden else
                     str(sum(cell.count(word, "sick") for cell in cells
                             if not hides(fault, cell.plan, hidden)))
                     for word, hidden in ((LISTED, fault.hides_listings),
                                          (CLEAR, fault.hides_clears)))


def cell_of_page(fault, kind, cells):
    """cells are those of the fault, the kind and a way: from the start, later, or both."""
    seconds = {cell.plan["begin"]: "-" if cell.told["good_s"] is None
               else f"{cell.told['good_s']:.0f} s" for cell in cells}
    return (f"{verdicts_of_page(fault, kind, cells)};"
            f" {seconds.get(START, '-')}, {seconds.get(LATER, '-')}")


def rows_of_page(cells):
    """(fault, its cells); an empty one where the fault does not concern the kind."""
    for fault in chosen_faults():
        row = []
        for kind, way in COLUMNS:
            found = [cell for cell in cells if cell.fault is fault and cell.plan["kind"] == kind
                     and cell.plan["way"] == way]
            row.append(cell_of_page(fault, kind, found) if found else "")
        yield fault, row


def describe_run():
    """Seconds are those of clients and test points, and hardly of the machine."""
    versions = subprocess.run(["dpkg-query", "--show", "--showformat=${Package} ${Version}, ",
                               "rbldnsd", "unbound"], capture_output=True, text=True, check=True)
    return (f"Of {datetime.date.today()}: {versions.stdout}{os.cpu_count()} processors"
            f" ({platform.machine()}), Linux {platform.release()}.\n\n")


def write_page(cells):
    with open(PAGE, encoding="utf-8") as file:
        head = file.read().split(MARK)[0]
    lines = ["fault", *(f"{kind}, {way}" for kind, way in COLUMNS)], ["---"] * (1 + len(COLUMNS))
    table = [*lines, *([fault.name, *row] for fault, row in rows_of_page(cells))]
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(head + MARK + "\n" + describe_run() + "".join(f"| {' | '.join(row)} |\n" for row in table))


def read_page():
    """{fault: its cells}."""
    with open(PAGE, encoding="utf-8") as file:
        table = file.read().split(MARK)[1]
    rows = [line.strip("| \n").split(" | ") for line in table.splitlines() if line.startswith("|")]
    return {row[0]: row[1:] for row in rows[2:]}


# ---- what is asked ----


class Authorities:
    """upstream[kind] and old[kind]: what is asked for the zone, and for an old copy of it."""

    def __init__(self, case):
        self.case = case
        self.key = case.path("key.pem")
        case.run_zone("keygen", "--zone", ZONE, "--key", self.key)
        self.anchor = case.run_zone("ds", "--zone", ZONE, "--key", self.key).out.splitlines()[0]
        self.upstream = self.serve("new", fault_clients.listed_addresses())
        self.upstream[PLAIN] = self.serve_rbldnsd(fault_clients.listed_addresses())
        self.old = self.serve("old", fault_clients.listed_addresses(4))

    def serve(self, name, listed):
        case = self.case
        stores = {kind: case.path(f"{name}-{kind}.mdb") for kind in KINDS}
        path = case.write(f"{name}.txt", "\n".join(listed) + "\n")
        case.build(stores[UNSIGNED], "--classic", BESIDE, path, zone=NAMES[UNSIGNED])
        case.build(stores[SIGNED], "--key", self.key, path)
        case.build(stores[PLAIN], path, zone="other6.example.")
        server = case.serve([(NAMES[UNSIGNED], stores[UNSIGNED], BESIDE),
                             (ZONE, stores[SIGNED], None),
                             ("other6.example.", stores[PLAIN], CLASSIC)])
        return {UNSIGNED: server.address, PLAIN: server.address,
                SIGNED: start_unbound(case, [server], [self.anchor])}

    def serve_rbldnsd(self, listed):
        case = self.case
        path = case.write("classic.txt", SOA + "\n".join(["127.0.0.2", *listed]) + "\n")
        return start_rbldnsd(case, f"{CLASSIC.rstrip('.')}:ip4set:{path}")


class Faults(Case):
    maxDiff = None  # all that was wrong is told

    def setUp(self):
        super().setUp()
        self.authorities = Authorities(self)

    def plan(self, fault, kind, way, begin):
        plan = {"fault": fault.name, "kind": kind, "way": way, "begin": begin,
                "zone": NAMES[kind].rstrip("."), "address": self.free_address(), "shared": None,
                "upstream": self.authorities.upstream[kind], "old": self.authorities.old[kind],
                "sick_s": SICK_S[begin], "wait_s": WAIT_S}
        plan["is_hidden"] = hides(fault, plan, fault.hides_listings + fault.hides_clears)
        if way == CACHED:
            plan["shared"] = self.path(f"shared-{plan['address'][1]}")
        return plan

    def start_cached(self, plan):
        lines = ["cached:", f"    directory: {plan['shared']}", "zone:",
                 f"  - domain: {plan['zone']}", "library:",
                 "    servers: [ {}@{} ]".format(*plan["address"]), "    cache-size: 256K"]
        config = self.write(f"cached-{plan['address'][1]}.conf", "\n".join(lines) + "\n")
        self.start([program("dnsblv6-cached"), "--config", config], "cached")

    def start_clients(self, kind, way):
        """Those of all cells of a kind of zone and a way to it."""
        plans = [self.plan(fault, kind, way, begin) for number, fault in enumerate(chosen_faults())
                 for begin in (START, LATER) if is_chosen(number, fault, kind, way, begin)]
        path = self.write(f"{kind}-{way}.json", json.dumps(plans))
        process = self.start([sys.executable, fault_clients.__file__, path, LIBRARY,
                              os.path.join(SOURCE, "client-lib/python")], f"{kind}-{way}")
        process.wait_for_log("^ready$")
        for plan in plans:
            if plan["shared"]:
                self.start_cached(plan)
        return process

    def run_cells(self):
        begin = time.monotonic()
        processes = [self.start_clients(kind, way) for kind, way in COLUMNS]
        for process in processes:
            self.assertEqual(process.popen.wait(LIFE_S), 0, process.log()[-4000:])
        cells = [Cell(json.loads(line)) for process in processes
                 for line in process.log().splitlines() if line.startswith("{")]
        print(f"{len(chosen_faults())} faults, {len(cells)} cells,"
              f" {time.monotonic() - begin:.0f} s")
        return cells

    def test_nothing_sick_is_believed_and_all_is_well_again(self):
        self.expect_log("zone fell ill")
        self.assertLessEqual(set(CHOSEN), {fault.name for fault in FAULTS})
        cells = self.run_cells()
        print_cells(cells)
        self.assertEqual([line for cell in cells for line in cell.broken()], [])
        if CHOSEN:
            return
        if IS_CAMPAIGN:
            write_page(cells)
        page = read_page()
        self.assertEqual(list(page), [fault.name for fault in FAULTS])
        for fault, row in rows_of_page(cells):
            for mine, theirs in zip(row, page[fault.name]):
                self.assertIn(mine.split(";")[0], ("", theirs.split(";")[0]), fault.name)


if __name__ == "__main__":
    main()
