# SPDX-License-Identifier: GPL-3.0-or-later
"""
fault_clients.py - clients of lists that fall ill and recover, and what they were told.

Flow: test_client_faults.py has zones, resolvers and daemons -> a plan of cells, each a fault, a
      zone and a way to it -> this program is the sick servers (faults.py) and the clients of all
      cells of a plan, in one event loop -> a line of JSON for each cell, which the test judges.

    fault_clients.py PLAN LIBRARY BINDING

A cell asks all the time about addresses of which it is known whether they are listed, most of
them in blocks that were not asked about. It goes through eras:

    health    the server is well
    first     it has fallen ill; until MARKERS questions, one after the other, have verdicts in
              time, so that a look at the zone that began before is over; or MARKERS_MAX have none
    sick
    after     it is well again; all that was asked before is asked once more, until each
              verdict is right

A verdict belongs to the era in which it was asked for, but one of "health" that comes later, to
"first". Nothing is judged by the clock, and a slow machine asks less: when the loop is late, it is
given time.
"""

import asyncio
import collections
import importlib
import json
import os
import random
import resource
import sys
import time

import faults

TIMEOUT_S = 1.5
TICK_S = 0.25
REST = 5         # of what a tick was late
STAGGER_S = 0.1  # from one cell's beginning to the next one's: each begins with a probe
HEALTH_S = 6
WELL_MAX_S = 240  # for a machine that is so slow that the library gives a zone up at first
HEALTH_NEW = 24  # blocks that are asked for in health, of which half have something listed
BURST = 45       # listings that take more looks than a zone has credit for
MARKERS, MARKERS_MAX = 2, 4
GOOD_MIN = 8     # right verdicts in a row, about new addresses of all sorts
AGAIN = 25       # addresses asked again at each tick, once the zone gives right verdicts
RIGHT, UNKNOWN, LISTED, CLEAR = "right", "unknown", "listed", "clear"

# Every other block has one address that is listed.
BLOCKS = 4096


def address_of(block, number):
    return f"20.{block >> 8}.{block & 255}.{number}"


def host(block):
    return 1 + block * 37 % 126


def listed_addresses(step=2):
    """4 is an old copy of the list, which has half of them."""
    return [address_of(block, host(block)) for block in range(0, BLOCKS, step)]


class Supply:
    """Addresses in blocks that were not asked about, and whether they are listed."""

    def __init__(self):
        self.block = self.count = 0

    def _following(self):
        self.block += 2
        return self.block - 2

    def listed(self):
        block = self._following()
        return address_of(block, host(block)), True

    def beside(self):
        """Another one of the block is listed."""
        block = self._following()
        return address_of(block, host(block + 60)), False

    def absent(self):
        return address_of(self._following() + 1, 9), False

    def new(self):
        self.count += 1
        return (self.listed, self.absent, self.beside, self.absent)[self.count % 4]()


class Cell:
    def __init__(self, plan, binding):
        self.plan, self.binding = plan, binding
        self.fault = next(one for one in faults.FAULTS if one.name == plan["fault"])
        self.supply = Supply()
        self.era = "health"
        self.counts = collections.defaultdict(collections.Counter)
        self.insecure = 0
        self.known = {}  # what was asked -> is it listed
        self.false = []
        self.tasks = set()
        self.client = self.server = None

    # ---- one question ----

    def judge(self, result, is_listed):
        if result.verdict == self.binding.LISTED:
            return RIGHT if is_listed else LISTED
        if result.verdict == self.binding.CLEAR:
            return CLEAR if is_listed else RIGHT
        return UNKNOWN

    def note(self, era, address, word):
        self.counts[era][word] += 1
        if word in (LISTED, CLEAR):
            self.false.append(f"{era}: {address} {word}, zone {self.client.zones()[0].state}")

    async def ask(self, address, is_listed):
        era = self.era
        self.known[address] = is_listed
        try:
            result = await self.client.check_async(address, TIMEOUT_S)
        except self.binding.Error:  # no room for it: unknown, as the manual has it
            self.note(era, address, UNKNOWN)
            return UNKNOWN
        if era == "health" and self.era != "health":
            era = "first"
        word = self.judge(result, is_listed)
        self.note(era, address, word)
        if word != UNKNOWN and era == "sick" and not result.zones_secure:
            self.insecure += 1
        return word

    def spawn(self, pair):
        task = asyncio.ensure_future(self.ask(*pair))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task

    async def rest(self):
        end = time.monotonic() + TICK_S
        await asyncio.sleep(TICK_S)
        await asyncio.sleep(REST * max(0, time.monotonic() - end))

    async def tick(self, pair):
        """A new address, and one that was asked about before."""
        self.spawn(pair)
        if self.known:
            self.spawn(random.choice(list(self.known.items())))
        await self.rest()

    # ---- the eras ----

    def is_well(self):
        """On a busy machine a first look may lack an answer, and learns less of the zone."""
        return self.counts["health"][RIGHT] >= GOOD_MIN \
            and self.client.zones()[0].state != "filtered"

    async def be_well(self):
        """So few new blocks that the zone has credit for looks left (client-lib/engine/health.h)."""
        begin = time.monotonic()
        while time.monotonic() < begin + HEALTH_S or not self.is_well():
            if time.monotonic() > begin + WELL_MAX_S:
                return
            has_credit = self.supply.count < HEALTH_NEW
            await self.tick(self.supply.new() if has_credit else self.supply.absent())
        for _ in range(BURST if self.fault.is_busy else 0):
            await self.ask(*self.supply.listed())

    async def be_marked(self):
        """A question of its own. False: the client gave it up."""
        begin = time.monotonic()
        marker = self.spawn(self.supply.absent())
        while not marker.done():
            await self.tick(self.supply.new())
        return marker.result() != UNKNOWN or time.monotonic() < begin + TIMEOUT_S

    def is_unnoticed(self):
        """A zone without credit for looks is not suspected before its listings are many enough."""
        return self.fault.is_busy and self.client.zones()[0].state == "ok" \
            and self.counts["sick"].total() <= self.fault.wrong_max

    async def be_sick(self):
        self.server.is_sick = True
        self.era = "first"
        marked = 0
        for _ in range(MARKERS_MAX):
            marked += await self.be_marked()
            if marked == MARKERS:
                break
        self.era = "sick"
        end = time.monotonic() + self.plan["sick_s"]
        while time.monotonic() < end or self.counts["sick"].total() < GOOD_MIN \
                or self.is_unnoticed():
            await self.tick(self.supply.new())

    async def recover(self):
        """Seconds until every verdict was right; None when for so long none has become so."""
        begin = moved = time.monotonic()
        self.server.is_sick = False
        self.era = "after"
        left = collections.deque(() if self.plan["is_hidden"] else self.known.items())
        good = best = 0
        while left or good < GOOD_MIN:
            if time.monotonic() > moved + self.plan["wait_s"]:
                return None
            part = [left.popleft() for _ in range(min(AGAIN if good > 0 else 1, len(left)))]
            word, *words = await asyncio.gather(
                self.ask(*self.supply.new()), *(self.ask(*pair) for pair in part))
            good = good + 1 if word == RIGHT else 0
            if good > best or RIGHT in words:
                best = max(good, best)
                moved = time.monotonic()
            left.extend(pair for pair, found in zip(part, words) if found != RIGHT)
            await self.rest()
        return time.monotonic() - begin

    # ---- the cell ----

    def start_client(self):
        options = {"shared": self.plan["shared"]} if self.plan["shared"] else {}
        self.client = self.binding.Client(
            self.plan["zone"], servers="{}@{}".format(*self.plan["address"]), **options)

    async def run(self, number):
        await asyncio.sleep(number * STAGGER_S)
        while self.plan["shared"] and not os.path.exists(self.plan["shared"] + "/socket"):
            await asyncio.sleep(TICK_S)
        self.start_client()
        if self.plan["begin"] != "start":
            await self.be_well()
        await self.be_sick()
        state = self.client.zones()[0].state
        good_s = await self.recover()
        if self.tasks:
            await asyncio.wait(self.tasks)
        self.client.close()
        return {"plan": self.plan, "counts": self.counts, "insecure": self.insecure,
                "state": state, "good_s": good_s, "false": self.false[:5]}


async def start_servers(cells):
    upstreams, zones = {}, {}
    for plan in (cell.plan for cell in cells):
        for address in (tuple(plan["upstream"]), tuple(plan["old"])):
            if address not in upstreams:
                upstreams[address] = await faults.open_upstream(address)
    for cell in cells:
        plan = cell.plan
        upstream, old = (upstreams[tuple(plan[key])] for key in ("upstream", "old"))
        if plan["zone"] not in zones:
            soa = await faults.ask_for_soa(upstream, plan["zone"])
            zones[plan["zone"]] = faults.Zone(plan["zone"], soa)
        cell.server = await faults.serve(cell.fault, zones[plan["zone"]], plan["address"],
                                         upstream, old)
        cell.server.is_sick = plan["begin"] == "start"


async def run(plans, binding):
    cells = [Cell(plan, binding) for plan in plans]
    await start_servers(cells)
    print("ready", flush=True)
    for done in asyncio.as_completed([cell.run(number) for number, cell in enumerate(cells)]):
        print(json.dumps(await done), flush=True)


def main(plan_path, library, binding_directory):
    with open(plan_path, encoding="ascii") as file:
        plans = json.load(file)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    os.environ["DNSBLV6_LIBRARY"] = library
    sys.path.insert(0, binding_directory)
    asyncio.run(run(plans, importlib.import_module("dnsblv6")))


if __name__ == "__main__":
    main(*sys.argv[1:])
