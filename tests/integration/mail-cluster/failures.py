# SPDX-License-Identifier: GPL-3.0-or-later
"""
failures.py - what befalls a cluster, each thing a function that begins it, and ends it again.

Flow: test_failures.py chooses among KINDS -> Failure: begin(), then end() -> clusters.py, radoscluster.py.

A function is a generator. It yields once, with the nodes that are touched, when the failure is there; what is
behind that heals it. What heals by itself has nothing there. It tells Told of each process of a store
that it kills.
"""

import shutil
import signal

from clusters import send

HOUR_S = 3600


class Kind:
    """A failure: its name, its function, and between what times in seconds it lasts."""

    def __init__(self, name, function, lasts_s, needs, is_mild):
        self.name, self.function, self.lasts_s, self.needs = name, function, lasts_s, needs
        self.is_mild = is_mild

    def is_possible(self, cluster):
        return {"": True, "several": len(cluster.nodes) > 2, "rados": cluster.rados is not None,
                "links": cluster.links is not None, "disks": cluster.make_disk is not None,
                "losses": cluster.links is not None and shutil.which("nft") is not None}[self.needs]


KINDS = []


def kind(name, lasts_s, needs="", is_mild=False):
    """
    needs    "several" nodes, "rados", "links" that can be cut, "losses" on them in one direction, or "disks"
             of their own for stores
    is_mild  beside another failure it leaves enough that mail can be served
    """
    def add(function):
        KINDS.append(Kind(name, function, lasts_s, needs, is_mild))
        return function
    return add


class Failure:
    """One that is under way."""

    def __init__(self, which, cluster, told, chance):
        self.kind, self.cluster, self.told, self.chance = which, cluster, told, chance
        self.lasts_s = chance.uniform(*which.lasts_s)
        self.steps = None
        self.touched = []

    def begin(self, nodes):
        """It befalls one of these nodes, or several."""
        self.steps = self.kind.function(self.cluster, nodes, self.told, self.chance)
        self.touched = next(self.steps)

    def end(self):
        if self.steps is not None:
            next(self.steps, None)
            self.steps = None
        if self.cluster.kind == "nodes":
            # Of a mail that was on its way to another node no node knows whether it has come there.
            self.told.note_kill()


# ---- processes ----


@kind("store's process killed", (0.2, 2), is_mild=True)
def kill_store(cluster, nodes, told, chance):
    node = chance.choice(nodes)
    told.note_kill(node.name)
    node.kill_role("store")
    yield [node]


@kind("LMTP's process killed", (0.2, 2), is_mild=True)
def kill_lmtp(cluster, nodes, _told, chance):
    node = chance.choice(nodes)
    node.kill_role("lmtp")
    yield [node]


@kind("mail-stored killed", (0.5, 4), is_mild=True)
def kill_stored(cluster, nodes, told, chance):
    node = chance.choice(nodes)
    told.note_kill(node.name)
    node.kill_programs(node.stored)
    yield [node]
    node.start()


@kind("mail-stored restarted", (0.1, 0.5), is_mild=True)
def restart_stored(cluster, nodes, _told, chance):
    node = chance.choice(nodes)
    node.restart_stored()
    yield [node]


@kind("pop-front and smtp-front killed", (0.5, 3), is_mild=True)
def kill_fronts(cluster, nodes, _told, chance):
    node = chance.choice(nodes)
    node.kill_programs(*node.fronts)
    yield [node]
    node.start()


@kind("store's process stopped", (1, 8), is_mild=True)
def stop_store(cluster, nodes, _told, chance):
    node = chance.choice(nodes)
    pid = node.stored.pid_of("store")
    send([pid] if pid else [], signal.SIGSTOP)
    yield [node]
    send([pid] if pid else [], signal.SIGCONT)


@kind("store's process held dead", (12, 18), is_mild=True)
def hold_store(cluster, nodes, told, chance):
    """Others take its locks over, and then it goes on as if nothing had been."""
    yield from stop_store(cluster, nodes, told, chance)


@kind("clock an hour off", (2, 6))
def move_clock(cluster, nodes, _told, chance):
    node = chance.choice(nodes)
    node.restart_stored(chance.choice((-HOUR_S, HOUR_S)))
    yield [node]
    node.restart_stored()


# ---- nodes ----


@kind("node killed", (1, 8))
def kill_node(cluster, nodes, told, chance):
    node = chance.choice(nodes)
    told.note_kill(node.name)
    node.kill()
    yield [node]
    node.revive()


@kind("node stopped", (1, 14))
def stop_node(cluster, nodes, _told, chance):
    node = chance.choice(nodes)
    node.stop()
    yield [node]
    node.cont()


@kind("two of three nodes killed", (1, 6), "several")
def kill_two(cluster, nodes, told, chance):
    nodes = chance.sample(nodes, 2)
    for node in nodes:
        told.note_kill(node.name)
        node.kill()
    yield nodes
    for node in nodes:
        node.revive()


@kind("all nodes killed", (0.5, 2))
def kill_all(cluster, _nodes, told, _chance):
    for node in cluster.nodes:
        told.note_kill(node.name)
        node.kill()
    yield cluster.nodes
    for node in cluster.nodes:
        if cluster.rados:
            cluster.rados.start_node(node.number)
    for node in cluster.nodes:
        node.start()


# ---- RADOS ----


@kind("OSD killed", (1, 6), "rados", is_mild=True)
def kill_osd(cluster, nodes, _told, chance):
    node = chance.choice(nodes)
    cluster.rados.kill_osd(node.number)
    yield [node]
    cluster.rados.start_osd(node.number)


@kind("monitor killed", (1, 6), "rados", is_mild=True)
def kill_mon(cluster, nodes, _told, chance):
    node = chance.choice(nodes)
    cluster.rados.kill_mon(node.number)
    yield [node]
    cluster.rados.start_mon(node.number)


@kind("disk hangs", (1, 10), "rados")
def stop_osd(cluster, nodes, _told, chance):
    node = chance.choice(nodes)
    cluster.rados.stop_osd(node.number)
    yield [node]
    cluster.rados.cont(node.number)


@kind("old disk", (3, 6), "rados")
def old_disk(cluster, nodes, _told, chance):
    """As it was some seconds before: it has lost writes that it has acknowledged."""
    node = chance.choice(nodes)
    cluster.rados.copy_disk(node.number)
    yield [node]
    cluster.rados.wait_clean()
    cluster.rados.old_disk(node.number)


@kind("RADOS full", (2, 6), "rados")
def fill(cluster, _nodes, _told, _chance):
    cluster.rados.fill()
    yield cluster.nodes
    cluster.rados.empty()


@kind("keys refused", (2, 8), "rados")
def refuse_keys(cluster, nodes, told, chance):
    """Of a client that comes anew; those that are there have tickets for some seconds more."""
    cluster.rados.refuse_keys()
    node = chance.choice(nodes)
    told.note_kill(node.name)
    node.kill_role("store")
    yield cluster.nodes
    cluster.rados.permit_keys()


# ---- links ----


@kind("node cut off", (1, 14), "links")
def cut_node(cluster, nodes, _told, chance):
    node = chance.choice(nodes)
    cluster.links.cut(node.number)
    yield [node]
    cluster.links.heal(node.number)


@kind("two nodes cut from each other", (2, 12), "links")
def cut_between(cluster, nodes, _told, chance):
    one, other = chance.sample(nodes, 2)
    cluster.links.cut_between(one.number, other.number)
    yield [one, other]
    cluster.links.heal_between(one.number, other.number)


@kind("two of three cut off", (1, 10), "links")
def cut_two(cluster, nodes, _told, chance):
    nodes = chance.sample(nodes, 2)
    for node in nodes:
        cluster.links.cut(node.number)
    yield nodes
    for node in nodes:
        cluster.links.heal(node.number)


@kind("slow link", (3, 8), "links", is_mild=True)
def slow_link(cluster, nodes, _told, chance):
    """50 ms, and one frame in a hundred is lost."""
    node = chance.choice(nodes)
    cluster.links.slow(node.number)
    yield [node]
    cluster.links.fast(node.number)


@kind("one way lost", (2, 20), "losses")
def lose_one_way(cluster, nodes, _told, chance):
    """What one sends another does not arrive."""
    one, other = chance.sample(cluster.nodes, 2)
    cluster.links.lose(one.number, other.number)
    yield [one, other]
    cluster.links.find(other.number)


@kind("node not heard", (2, 20), "losses")
def lose_all(cluster, nodes, _told, chance):
    """It hears all others, and no client either hears it."""
    node = chance.choice(nodes)
    others = [0] + [other.number for other in cluster.nodes if other is not node]
    for other in others:
        cluster.links.lose(node.number, other)
    yield [node]
    for other in others:
        cluster.links.find(other)


# ---- disks of stores ----


@kind("power lost", (0.1, 2), "disks")
def cut_power(cluster, nodes, told, chance):
    node = chance.choice(nodes)
    told.note_kill(node.name)
    node.disk.cut(node.pids())
    node.kill()
    yield [node]
    node.disk.revive()
    node.revive()


@kind("store's disk dies", (0.1, 6), "disks")
def cut_disk(cluster, nodes, told, chance):
    node = chance.choice(nodes)
    told.note_kill(node.name)
    told.has_dead_disk = True
    node.disk.cut(node.pids())
    send(node.pids(), signal.SIGCONT)
    yield [node]
    node.kill()
    node.disk.revive()
    node.revive()


@kind("store's disk full", (1, 6), "disks")
def fill_disk(cluster, nodes, _told, chance):
    node = chance.choice(nodes)
    node.disk.fill()
    yield [node]
    node.disk.empty()


@kind("store's disk hangs", (1, 40), "disks")
def freeze_disk(cluster, nodes, _told, chance):
    """Longer than a mail waits for it, now and then."""
    node = chance.choice(nodes)
    node.disk.freeze()
    yield [node]
    node.disk.thaw()
