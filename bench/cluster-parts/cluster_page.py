# SPDX-License-Identifier: GPL-3.0-or-later
"""
cluster_page.py - what bench/cluster measures, its limits, and the page about it.

Flow: bench/cluster measures -> Results -> limits() and report() here; simulate_all() -> clustermodel.py.
"""
import collections
import contextlib
import datetime
import os
import statistics
import subprocess
import sys

sys.path.insert(1, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import clusternodes  # noqa: E402
from clusternodes import CLIENTS, MAIL_BYTES, USERS  # noqa: E402
from mailservers import figure, median_of, times  # noqa: E402  (of bench, as are the next)
from replays import machine  # noqa: E402
from store_page import Limit, disk, speed, table  # noqa: E402
import harness  # noqa: E402

# p50_ms: of a mail; cpu_ms: of all processes, for one.
Delay = collections.namedtuple("Delay", "p50_ms cpu_ms")
# By second: mails that were taken and that were not; what died, and when.
Killed = collections.namedtuple("Killed", "name dead delivered refused at")
# cells: {(kind, nodes): [Measured]}; delays: {(what, node of the mailbox): Delay}; floor_ms: of a sync;
# copies: {(kind, copies): [Measured]}; killed: {kind: Killed}; others: {kind: (ms, ms)};
# simulated: {(name, nodes): mails a second}.
Results = collections.namedtuple(
    "Results", "cells delays floor_ms copies killed others simulated missed")

NAMES = {"nfs": "NFS, maildirs", "v2-sort": "version 2 by the mail server, maildirs",
         "v1": "version 1, log", "v2": "version 2, log", "v2-mta": "version 2 by the mail server, log",
         "rados": "RADOS", "apart-sort": "nodes apart, maildirs", "apart": "nodes apart, log"}
SIZES = (1, 4, 16, 64, 256)
LARGE_CORES = 32
MAILDIR_SYNCS = 2  # of a mail, one after the other: the file, and the directory
RADOS_STAGES = 3  # what a mail waits for: a row of the journal, the body, rows of mailboxes
# Four nodes, mails a second: Jeun and others, 2003.
PAPER = {"v2-sort": 35.0, "nfs": 30.9}
RATIO_LIMIT, COPY_LIMIT, OTHERS_LIMIT = 1.15, 0.85, 1.5
SHARE_LIMIT, STALL_LIMIT_S = 0.25, 10


def rate(results, kind, count):
    return median_of(results.cells.get((kind, count), ()), "rate")


def copies_rate(results, kind, copies):
    return median_of(results.copies.get((kind, copies), ()), "rate")


def cpu(results, kind, count):
    """{role: ms of a mail}, medians of the rounds."""
    rows = results.cells.get((kind, count), ())
    roles = sorted({role for row in rows for role in row.cpu})
    return {role: statistics.median(row.cpu.get(role, 0) for row in rows) for role in roles}


def cpu_ms(results, kind, count):
    found = cpu(results, kind, count)
    return sum(found.values()) if found else None


def without_client(results, count):
    """Mails a second of NFS if its client cost nothing, and the processors were all that limits it."""
    spent = cpu(results, "nfs", count)
    left = sum(spent.values()) - spent.get("NFS client", 0)
    return times((rate(results, "nfs", count) or 0) * sum(spent.values()), left) if spent else None


# ---- limits ----


def stall_s(killed):
    """Seconds in a row without a mail, from the death on."""
    longest = now = 0
    for number in killed.delivered[killed.at:]:
        now = now + 1 if number == 0 else 0
        longest = max(longest, now)
    return longest


def least_share(killed):
    """Of what was taken in a second before the death (the first is a start), the least behind it."""
    before = statistics.median(killed.delivered[1:killed.at])
    return times(min(killed.delivered[killed.at:-1]), before)


def limits(options, results):
    """Of the parts that were to be measured."""
    count = max(options.counts)
    if "t" in options.parts:
        yield Limit(f"{count} nodes: version 2 over NFS, both with maildirs",
                    times(rate(results, "v2-sort", count), rate(results, "nfs", count)), RATIO_LIMIT, False)
        yield Limit(f"{count} nodes: version 2 with the log over NFS",
                    times(rate(results, "v2", count), rate(results, "nfs", count)), RATIO_LIMIT, False)
    if "c" in options.parts:
        yield Limit("version 2 with two copies over one",
                    times(copies_rate(results, "v2", 2), copies_rate(results, "v2", 1)), COPY_LIMIT, False)
    if "k" in options.parts:
        for kind in ("v1", "v2", "rados"):
            killed = results.killed.get(kind)
            if kind == "rados":
                yield Limit(f"{NAMES[kind]}: seconds in a row without a mail, a node dead",
                            None if killed is None else stall_s(killed), STALL_LIMIT_S, digits=0)
            else:
                yield Limit(f"{NAMES[kind]}: mails of the worst second with a node dead, over those before",
                            None if killed is None else least_share(killed), SHARE_LIMIT, False)
        for kind in ("v1", "v2"):
            before, after = results.others.get(kind, (None, None))
            yield Limit(f"{NAMES[kind]}: 99 % quantile of others, a second after a death, over before",
                        times(after, before), OTHERS_LIMIT)


# ---- tables ----


def throughput_lines(options, results):
    counts = options.counts
    yield "## Throughput (the paper's tables 3 and 4)"
    yield ""
    yield (f"Mails a second of all nodes together, {MAIL_BYTES // 1024} KB each, {CLIENTS} senders at each node."
           f" In the paper, with four nodes, version 2 had {PAPER['v2-sort']} and NFS {PAPER['nfs']}:"
           f" {PAPER['v2-sort'] / PAPER['nfs']:.2f} x.")
    yield ""
    rows = [(name, [speed(rate(results, kind, count)) for count in counts]) for kind, name in NAMES.items()]
    rows.insert(1, ("NFS, if its client cost nothing (computed)",
                    [speed(without_client(results, count)) for count in counts]))
    for kind in ("v2-sort", "v1", "v2", "v2-mta", "rados"):
        rows.append((f"{NAMES[kind]}, over NFS",
                     [figure(times(rate(results, kind, count), rate(results, "nfs", count)), 2)
                      for count in counts]))
    yield from table([f"{count} node{'s' if count > 1 else ''}" for count in counts], rows)
    yield from cost_lines(max(counts), results)


def cost_lines(count, results):
    yield f"### Milliseconds of a processor for a mail, {count} nodes"
    yield ""
    kinds = [kind for kind in NAMES if cpu(results, kind, count)]
    roles = sorted({role for kind in kinds for role in cpu(results, kind, count)})
    rows = [(NAMES[kind], [figure(cpu(results, kind, count).get(role), 3) for role in roles]
             + [figure(cpu_ms(results, kind, count), 3)]) for kind in kinds]
    yield from table([*roles, "all"], rows)
    rows = results.cells.get(("nfs", count), ())
    if rows:
        calls = ", ".join(f"{name.upper()} {value:.2f}" for name, value in
                          sorted(rows[-1].calls.items(), key=lambda item: -item[1]) if value >= 0.005)
        yield f"Calls to the NFS server for a mail: {calls}."
        yield ""


PARTS = (  # text, what, minus what
    ("LMTP, and the way to the store's process", ("null", 1), None),
    ("the store's commit: log", ("log", 1), ("null", 1)),
    ("the store's commit: maildirs", ("sort", 1), ("null", 1)),
    ("the module, mailbox here: version 1", ("v1", 1), ("log", 1)),
    ("the module, mailbox here: version 2", ("v2", 1), ("log", 1)),
    ("wire and the other module: version 1", ("v1", 2), ("v1", 1)),
    ("wire and the other module: version 2", ("v2", 2), ("v2", 1)),
    ("NFS, over maildirs on the node's own disk", ("nfs", 1), ("sort", 1)),
    ("RADOS, over nothing written", ("rados", 1), ("null", 1)),
)
WHOLES = (("nothing written", ("null", 1)), ("one node, log", ("log", 1)), ("one node, maildirs", ("sort", 1)),
          ("NFS", ("nfs", 1)), ("version 1, mailbox here", ("v1", 1)),
          ("version 1, mailbox on another node", ("v1", 2)), ("version 2, mailbox here", ("v2", 1)),
          ("version 2, mailbox on another node", ("v2", 2)), ("RADOS", ("rados", 1)))


def delay_lines(results):
    yield "## What the time of a mail is made of (the paper's figures 8 and 9)"
    yield ""
    yield (f"One sender, one mail at a time: milliseconds, medians; a bare append of {MAIL_BYTES // 1024} KB and"
           f" fdatasync() takes {results.floor_ms:.2f}. Parts are differences: the same with and without them.")
    yield ""
    delays = results.delays
    yield from table(["ms of a mail", "ms of a processor"], [
        (name, [figure(delays[at].p50_ms, 2), figure(delays[at].cpu_ms, 3)])
        for name, at in WHOLES if at in delays])
    rows = []
    for name, at, base in PARTS:
        if at in delays and (base is None or base in delays):
            less = delays[base] if base else Delay(0, 0)
            rows.append((name, [figure(delays[at].p50_ms - less.p50_ms, 2),
                                figure(delays[at].cpu_ms - less.cpu_ms, 3)]))
    yield from table(["ms", "ms of a processor"], rows)


def copies_lines(results):
    yield "## A second copy (Meta's figure 6)"
    yield ""
    yield "Mails a second; in Meta a second copy cost 15 %."
    yield ""
    rows = []
    for kind in ("v2", "rados"):
        found = [copies_rate(results, kind, copies) for copies in (1, 2, 3)]
        rows.append((NAMES[kind], [speed(one) for one in found]
                     + [figure(times(found[1], found[0]), 2), figure(times(found[2], found[0]), 2)]))
    yield from table(["one copy", "two", "three", "two over one", "three over one"], rows)


def kill_lines(results):
    yield "## A node dies"
    yield ""
    killed = results.killed
    at = next(iter(killed.values())).at
    yield (f"kill -9 of all processes of a node (with NFS, of the server) at second {at}, which stays dead."
           " Mails that the other nodes took in each second (with NFS: all nodes); behind \"/\" mails"
           " they answered with 4xx. A sender who is told 451 goes on with the next mail at once.")
    yield ""
    span = range(max(len(one.delivered) for one in killed.values()))
    rows = [(f"{second}" + (" (death)" if second == at else ""),
             [cell_of(one, second) for one in killed.values()]) for second in span]
    yield from table([NAMES[kind] for kind in killed], rows)
    for kind, one in killed.items():
        yield (f"* {NAMES[kind]}: {stall_s(one)} s without a mail; the least of a second was"
               f" {figure(least_share(one), 2)} x what it had been.")
    for kind, (before, after) in results.others.items():
        yield (f"* {NAMES[kind]}, mails for mailboxes of nodes that live: 99 % in {before:.1f} ms, and from a second"
               f" after the death on in {after:.1f} ms.")
    yield ""


def cell_of(killed, second):
    if second >= len(killed.delivered):
        return "-"
    refused = killed.refused[second]
    return f"{killed.delivered[second]}" + (f" / {refused}" if refused else "")


# ---- simulation ----


def grown(results, kind, count, nodes):
    """ms of a processor for a mail with so many nodes: the share of other nodes' mailboxes grows."""
    one, many = cpu_ms(results, kind, 1), cpu_ms(results, kind, count)
    if one is None or many is None:
        return None
    return one + max(many - one, 0) * count / (count - 1) * (nodes - 1) / nodes


def costs_of(results, model, kind, count, nodes):
    """None: it was not measured."""
    whole = grown(results, kind, count, nodes)
    if whole is None:
        return None
    spent = cpu(results, kind, count)
    entry, sync_ms = spent.get("lmtp", 0), results.floor_ms
    if kind == "nfs":
        rows = results.cells[kind, count]
        return model.Costs(entry, spent.get("store", 0) + spent.get("NFS client", 0), spent.get("NFS server", 0),
                           sync_ms=sync_ms, calls=sum(rows[-1].calls.values()))
    if kind == "rados":
        below = spent.get("RADOS", 0)
        return model.Costs(entry, sum(spent.values()) - entry - below, others=below, sync_ms=sync_ms,
                           stages=RADOS_STAGES, copies=min(nodes, 3))
    return model.Costs(entry, whole - entry, sync_ms=sync_ms,
                       serial_syncs=MAILDIR_SYNCS if kind.endswith("-sort") else 0)


def simulate_all(results, options, model):
    """{(name, nodes): mails a second}"""
    found = {}
    count = max(options.counts)
    for nodes in options.sizes:
        for kind in ("nfs", "v2-sort", "v1", "v2", "v2-mta", "rados"):
            costs = costs_of(results, model, kind, count, nodes)
            if costs is None:
                continue
            if kind == "nfs":
                found[f"{NAMES[kind]}, server as a node", nodes] = model.simulate(costs, nodes)
                found[f"{NAMES[kind]}, server of {LARGE_CORES} cores", nodes] = model.simulate(
                    costs, nodes, LARGE_CORES)
            else:
                found[NAMES[kind], nodes] = model.simulate(costs, nodes)
    return found


SIMULATION = """
This is a simulation (bench/cluster-parts/clustermodel.py), not a measurement. It has the processor times of a
mail from the table above and the sync of this disk, and gives each node {cores} cores and a disk of its own,
each way on the network {link} ms, each node {clients} senders. Service times are constant, networks never full,
mailboxes evenly spread: real clusters have less. Processor times of version 1 and 2 grow with the share of
mailboxes that are elsewhere. The NFS server puts all syncs that wait into one, and its directories cost none.
"""


def simulation_lines(options, results):
    import clustermodel as model
    yield "## Simulation: larger clusters"
    yield SIMULATION.format(cores=model.NODE_CORES, link=model.LINK_MS, clients=model.CLIENTS).rstrip()
    yield ""
    names = list(dict.fromkeys(name for name, _ in results.simulated))
    yield from table([f"{size} node{'s' if size > 1 else ''}" for size in options.sizes], [
        (name, [speed(results.simulated.get((name, size))) for size in options.sizes]) for name in names])


# ---- the page ----

METHOD = """
Figures are medians of {rounds} rounds of {seconds:g} s, in which kinds take turns, each with new mailboxes.
Ratios carry over to other machines, mails a second do not.

Nodes are network namespaces, with a bridge between them. Each has a mail-stored and a sender (bench/smtp-load)
that delivers to the LMTP of its own node: mails of {size} KB with one recipient of {users}, {clients} at a time for
each node, on connections that stay. All syncs are on. mail-stored has `layer: sort` (maildirs, as
a mail server that knows nothing of clusters would have) or `layer: log`.

* NFS, maildirs: one server has all mailboxes, each node has them mounted, and delivers into maildirs there.
* version 1, log: each node has its own mailboxes; the interface module of the sender's node relays to that of
  another by TLS 1.3.
* version 2, log: LMTP asks for the location, and goes to the module of the other node by itself, by TLS.
* version 2 by the mail server: it asks for the location (a socketmap for Postfix and sendmail) and goes to LMTP
  of that node, without TLS. Senders here know the locations: what asking costs them is not in it. With
  maildirs this is the paper's comparison: the same delivery as with NFS beside it, on disks of nodes.
* RADOS: bodies and indices in Ceph, one monitor and one OSD for each node, with as many copies as there are
  nodes, three at most. A mail that is acknowledged is on two nodes' disks; all others here have one copy.
* nodes apart: each node takes all that comes to it. It is no cluster, and the most that its nodes could have.
"""

NFS_METHOD = """
### NFS here

{kernel} So the server is nfs-ganesha (user space, NFSv3 over TCP, its settings as shipped) and the client is
bench/programs/nfs_mount.c, on FUSE and libnfs. It is made to ask as little as Linux' own client: a mail is
CREATE, one WRITE with FILE_SYNC, LINK and REMOVE, without a LOOKUP or GETATTR; names and attributes are cached for
the whole run, which Linux' client would not dare. What is against NFS: both cost more of a processor than the
kernel's; the second row of the table computes what NFS would have if its client cost nothing at all. What is for
NFS: nfs-ganesha does not sync directories when names change, as the protocol (RFC 1813, 4.8) and the kernel's
server do; maildirs on a node's own disk have that sync.
"""

BOUNDS = """
## What two cores cannot show

* That nodes add up: {cores} cores are shared by all nodes, servers and senders. More nodes are more queues for the
  same processors here, and the row "nodes apart" shows that limit. With machines of their own the ratio to
  the NFS server, which does not grow, is that of the simulation.
* Disks of their own: all syncs are of one disk, whose journal commits for all nodes at once.
* A network: namespaces have no wire, no loss and no card. The simulation has its delay alone.
* What Ceph does on fast machines: three OSDs and their monitors share these cores, too.
* A kernel's NFS (see above).
"""


def versions():
    said = []
    for name, command in (("", [harness.program("mail-store"), "-V"]), ("", ["ceph-osd", "--version"]),
                          ("", ["ganesha.nfsd", "-v"])):
        with contextlib.suppress(harness.unittest.SkipTest, subprocess.SubprocessError, OSError):
            command[0] = harness.peer(command[0])
            done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
            said.append(f"{name}{done.stdout.strip().splitlines()[0]}")
    return ", ".join(said)


def report(options, results):
    yield "# What machines do together"
    yield ""
    load = ", ".join(f"{value:.1f}" for value in options.load)
    yield (f"Written by `sudo bench/cluster` on {datetime.date.today()}: {machine()}; {disk(options)}; load"
           f" averages when it began: {load}.")
    yield f"{versions()}."
    yield METHOD.format(rounds=options.rounds, seconds=options.seconds, size=MAIL_BYTES // 1024, users=USERS,
                        clients=CLIENTS).rstrip()
    known = clusternodes.kernel_nfs()
    yield NFS_METHOD.format(kernel="This kernel has no NFS, neither server nor client." if not known else
                            f"(This kernel has {', '.join(known)}; not used, so that pages compare.)").rstrip()
    yield ""
    if results.missed:
        yield "Not all is as it should be:"
        yield ""
        yield from (f"* {what}" for what in results.missed)
        yield ""
    if results.cells:
        yield from throughput_lines(options, results)
    if results.delays:
        yield from delay_lines(results)
    if results.copies:
        yield from copies_lines(results)
    if results.killed:
        yield from kill_lines(results)
    if results.simulated:
        yield from simulation_lines(options, results)
    yield BOUNDS.format(cores=os.cpu_count()).strip()
    yield ""
    yield "## Limits"
    yield ""
    yield from (f"* {limit.text()}" for limit in limits(options, results))
