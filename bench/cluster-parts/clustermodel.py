# SPDX-License-Identifier: GPL-3.0-or-later
"""
clustermodel.py - a simulation of clusters that are larger than this machine, on service times measured here.

Flow: bench/cluster -> Costs of each kind, from Measured of one node and of four -> simulate() -> mails a
      second of so many nodes.

Machines are queues: a processor with some cores (first come, first served), a store's process that does
one thing at a time, and a disk, which takes all that wait for it into one sync. A network takes LINK_MS
for each way and is never full. Each node has CLIENTS senders with one mail at a time, and mailboxes are
spread evenly. Service times are constant: real ones are not, and that costs more than is said here.
"""
import collections
import heapq
import random

LINK_MS = 0.1  # one way, on a network of 10 Gbit/s with a switch
CLIENTS = 16
NODE_CORES = 2
SEED = 1
MAILS_LEAST = 3000

# Of a mail, in ms of a processor: entry is LMTP, owner all else at the node that has the mailbox; server
# that of the one server; others spread over all nodes that keep copies. sync_ms is that of a disk, and
# serial_syncs how many of them the store's process waits for, one after the other (0: it commits
# all that wait at once). calls: to the server, which the store's process waits for. stages: waits for
# all copies, one after the other.
Costs = collections.namedtuple(
    "Costs", "entry owner server others sync_ms serial_syncs calls stages copies",
    defaults=(0, 0, 0, 0, 0.25, 0, 0, 0, 0))


class Clock:
    """Events in the order of their time; a process is a generator that yields what it waits for."""

    def __init__(self):
        self.now, self.events, self.serial = 0.0, [], 0

    def at(self, delay, process):
        self.serial += 1
        heapq.heappush(self.events, (self.now + delay, self.serial, process))

    def run(self, is_over):
        while self.events and not is_over():
            self.now, _, process = heapq.heappop(self.events)
            self.resume(process)

    def resume(self, process):
        """Until it waits: for a time (a number), or for what will call resume()."""
        for wanted in process:
            if isinstance(wanted, float):
                self.at(wanted, process)
            else:
                wanted(process)
            return


class Server:
    """Some cores or one thread: take and give back."""

    def __init__(self, clock, cores):
        self.clock, self.free, self.waiting = clock, cores, collections.deque()

    def take(self, process):
        if self.free > 0:
            self.free -= 1
            self.clock.at(0.0, process)
        else:
            self.waiting.append(process)

    def give(self):
        if self.waiting:
            self.clock.at(0.0, self.waiting.popleft())
        else:
            self.free += 1

    def work(self, ms):
        yield self.take
        yield float(ms)
        self.give()


class Disk:
    """One sync at a time, for all that waited when it began."""

    def __init__(self, clock, sync_ms):
        self.clock, self.sync_ms, self.waiting, self.is_busy = clock, float(sync_ms), [], False

    def sync(self, process):
        self.waiting.append(process)
        if not self.is_busy:
            self.is_busy = True
            self.clock.at(0.0, self._work())

    def _work(self):
        while self.waiting:
            batch, self.waiting = self.waiting, []
            yield self.sync_ms
            for process in batch:
                self.clock.at(0.0, process)
        self.is_busy = False


class Machine:
    def __init__(self, clock, cores, sync_ms):
        self.processor = Server(clock, cores)
        self.store = Server(clock, 1)
        self.disk = Disk(clock, sync_ms)


class Model:
    def __init__(self, costs, nodes, server_cores):
        self.costs, self.clock, self.random = costs, Clock(), random.Random(SEED)
        self.nodes = [Machine(self.clock, NODE_CORES, costs.sync_ms) for _ in range(nodes)]
        self.server = Machine(self.clock, server_cores, costs.sync_ms)
        self.mails = 0

    def sender(self, entry):
        while True:
            yield from self.deliver(entry)
            self.mails += 1

    def deliver(self, entry):
        costs = self.costs
        yield from entry.processor.work(costs.entry)
        if costs.server > 0:
            yield from self.deliver_to_server(entry)
            return
        if costs.stages > 0:
            yield from entry.processor.work(costs.owner)
            yield from self.deliver_to_copies()
            return
        owner = self.random.choice(self.nodes)
        if owner is not entry:
            yield LINK_MS
        if costs.serial_syncs > 0:
            yield owner.store.take
        yield from owner.processor.work(costs.owner)
        for _ in range(round(costs.serial_syncs) or 1):
            yield owner.disk.sync
        if costs.serial_syncs > 0:
            owner.store.give()
        if owner is not entry:
            yield LINK_MS

    def deliver_to_server(self, entry):
        """The store's process of the node waits for each call; one of them is synced."""
        costs = self.costs
        yield entry.store.take
        yield from entry.processor.work(costs.owner)
        for call in range(round(costs.calls) or 1):
            yield LINK_MS
            yield from self.server.processor.work(costs.server / (round(costs.calls) or 1))
            if call == 0:
                yield self.server.disk.sync
            yield LINK_MS
        entry.store.give()

    def deliver_to_copies(self):
        """In each stage the slowest of some nodes counts; work of one is that of all by turns."""
        costs = self.costs
        copies = round(costs.copies)
        for _ in range(round(costs.stages)):
            chosen = self.random.sample(self.nodes, min(copies, len(self.nodes)))
            yield LINK_MS
            waiting = Barrier(self.clock, len(chosen))
            for node in chosen:
                self.clock.at(0.0, self.keep(node, costs.others / costs.stages / len(chosen), waiting))
            yield waiting.wait
            yield LINK_MS

    @staticmethod
    def keep(node, ms, waiting):
        yield from node.processor.work(ms)
        yield node.disk.sync
        waiting.done()


class Barrier:
    def __init__(self, clock, count):
        self.clock, self.count, self.process = clock, count, None

    def wait(self, process):
        self.process = process
        if self.count == 0:
            self.clock.at(0.0, process)

    def done(self):
        self.count -= 1
        if self.count == 0 and self.process is not None:
            self.clock.at(0.0, self.process)


def simulate(costs, nodes, server_cores=NODE_CORES, clients=CLIENTS, mails=MAILS_LEAST):
    """Mails a second of all nodes."""
    model = Model(costs, nodes, server_cores)
    for node in model.nodes:
        for _ in range(clients):
            model.clock.at(0.0, model.sender(node))
    first = clients * nodes
    model.clock.run(lambda: model.mails >= first)
    begin = model.clock.now
    wanted = model.mails + max(mails, 2 * clients * nodes)
    model.clock.run(lambda: model.mails >= wanted)
    return 1000 * (wanted - first) / (model.clock.now - begin)
