# SPDX-License-Identifier: GPL-3.0-or-later
"""
clusternodes.py - what bench/cluster measures: some nodes on one machine, whose mailboxes are somewhere.

Flow: bench/cluster -> Place, with the networks of nodes -> Apart, Direct, Nfs, Nodes or Rados start a mail-stored on
      each -> Cluster.load() is bench/smtp-load on each node, before its own LMTP -> Measured.

A node is a network namespace of tests/integration/base/radoscluster.py, and has a host name of its own.
Nothing of that is there any more when the bench has ended.

Apart   each node has all that it takes: no cluster, and the most that its nodes could do
Nfs     mailboxes are maildirs on one server, which all nodes have mounted. This kernel has no NFS
        (see kernel_nfs()): the server is nfs-ganesha, the client bench/programs/nfs_mount.c
Direct  each node has its part of the mailboxes, and mail servers know which
Nodes   the interface module of the paper, version 1 and 2, with the log behind it
Rados   mailboxes in RADOS
"""
import collections
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys

sys.path.insert(1, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from mailservers import FAILURES, figures  # noqa: E402  (of bench, as are the next)
from replays import Failure  # noqa: E402
import mailstores  # noqa: E402
import clusters  # noqa: E402  (of tests/integration/base, as are the next)
import radoscluster  # noqa: E402
import stored  # noqa: E402
from clusters import send  # noqa: E402
from harness import peer, tree_of, wait_for  # noqa: E402
from radoscluster import RadosCluster  # noqa: E402

NODES_MAX = 4
SERVER = NODES_MAX + 1  # its network's number
LMTP, MODULE, NFS, MOUNT = 2424, 4190, 12049, 12050
MAIL_BYTES = 8192  # of the paper
USERS = 100
CLIENTS = 16  # of each node, each with one mail at a time
REUSE = 10**6  # as many as there are on a connection
WARM_S = 0.5
START_S = 120  # of a cluster, on a busy machine
LAYER_SORT, LAYER_LOG, LAYER_NULL = "sort", "log", "null"
TICK = os.sysconf("SC_CLK_TCK")

# Of one run: mails a second of all nodes; {role: ms of a processor for a mail}; syncs for a mail; {name: calls to
# an NFS server for a mail}; ms of a mail; how many were not taken.
Measured = collections.namedtuple("Measured", "rate cpu syncs calls p50_ms p99_ms lost")


# ---- costs ----


def cpu_of(pids):
    """{name of a process: seconds of a processor}, with those of children that have ended."""
    found = collections.Counter()
    for pid in (one for first in pids for one in tree_of(first)):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
                head, _, tail = file.read().rpartition(")")
            ticks = sum(map(int, tail.split()[11:15])) / TICK
            found[head.partition("(")[2]] += max(ticks, sum(map(ran_s, tasks_of(pid))))
    return found


def tasks_of(pid):
    return [f"/proc/{pid}/task/{task}/schedstat" for task in os.listdir(f"/proc/{pid}/task")]


def ran_s(path):
    """Exact, and without threads that have ended: ticks of the process have these."""
    with contextlib.suppress(OSError):
        with open(path, encoding="ascii") as file:
            return int(file.read().split()[0]) / 1e9
    return 0


# ---- a node ----


class Node:
    """A machine of the cluster with its mail-stored. links has its network."""

    def __init__(self, number, links, directory):
        self.number, self.links, self.directory = number, links, directory
        self.address, self.name = links.address(number), f"node{number}"
        self.socket = os.path.join(directory, "socket")
        self.process = None
        os.mkdir(directory)
        shutil.chown(directory, stored.USER)

    def command(self, *words):
        return self.links.command_in(self.number, peer("unshare"), "--uts", "sh", "-c",
                                     'hostname "$0"; exec "$@"', self.name, *words)

    def is_listening(self):
        if self.process.popen.poll() is not None:
            raise Failure(f"mail-stored of {self.name} has ended: {self.process.log()[-500:]}")
        return "LMTP ready" in self.process.log()


CONF = """\
stored:
    directory: {directory}
    socket: {socket}
    layer: {layer}
    user: {user}
    reserve: 0
lmtp:
    listen: [ {address}@{port} ]
"""


class Cluster:
    """Nodes, and what else belongs to them: helpers, {pid: role}."""

    name, layer = "-", LAYER_LOG
    dead = "node"  # what the bench kills

    def __init__(self, place, count):
        self.place, self.case, self.count = place, place.case, count
        self.nodes, self.helpers, self.cpu_offset = [], {}, {}

    def start(self, stack):
        """All of it; what it has made ends with the stack."""
        stack.callback(self.end)
        self.prepare()
        for number in range(1, self.count + 1):
            self.nodes.append(self.make_node(number))
        for node in self.nodes:
            self.start_node(node)
        for node in self.nodes:
            wait_for(node.is_listening, f"{self.name}, node {node.number} to listen")
        self.check()

    def check(self):
        """That it is the cluster which it is taken for."""

    def prepare(self):
        """What nodes need before they start."""

    def links(self):
        """What has the nodes' networks."""
        return self.place.links

    def make_node(self, number):
        return Node(number, self.links(), self.case.path(f"{self.place.next_name()}-{number}"))

    def store_of(self, node):
        """Where its mailboxes are."""
        return os.path.join(node.directory, "store")

    def sections(self, _node):
        """What its configuration has behind CONF."""
        return ""

    def start_node(self, node):
        store = self.store_of(node)
        if not os.path.isdir(store):
            os.mkdir(store)
            shutil.chown(store, stored.USER)
        text = CONF.format(directory=store, socket=node.socket, layer=self.layer, user=stored.USER,
                           address=node.address, port=LMTP) + self.sections(node)
        path = os.path.join(node.directory, "stored.conf")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        node.process = self.case.start(node.command(self.place.mail_stored, "--config", path),
                                       f"{self.place.next_name()}-stored", env=self.place.environment())

    def end(self):
        for node in self.nodes:
            if node.process is not None:
                stop(node.process)
        for process in reversed(list(self.helpers)):
            stop(process)

    # ---- load ----

    def start_load(self, node, to=None, **options):
        """A sender at the node, for its own LMTP or that of another."""
        command = [self.place.program("bench", "smtp-load", "smtp-load"), "--lmtp", "--pipelining",
                   "--spam", "1", "--spam-recipients", "1-1", "--size-sigma", "0"]
        settings = {"size": MAIL_BYTES, "users": USERS, "connections": CLIENTS, "reuse": REUSE,
                    "warmup": WARM_S, "drain": 30,
                    "timeout": 60, "seed": node.number, **options}
        for name, value in settings.items():
            command += [f"--{name.replace('_', '-')}", str(value)]
        return subprocess.Popen(node.command(*command, (to or node).address, str(LMTP)), text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def make_mailboxes(self):
        """Each has a mail before anything is measured; nodes may have to find each other first."""
        wait_for(self.takes_all, f"{self.name} to take mails for all mailboxes", START_S)

    def takes_all(self):
        load = self.start_load(self.nodes[0], connections=1, sessions=6, warmup=0, seconds=START_S,
                               spam_recipients=f"{USERS}-{USERS}")
        return lost_of(figures(load)) == 0

    def cpu(self):
        pids = [node.process.pid for node in self.nodes]
        found = cpu_of(pids)
        for process, role in self.helpers.items():
            found[role] += sum(cpu_of([process.pid]).values())
        return found

    def calls(self):
        """{name: calls to an NFS server}"""
        return collections.Counter()

    def start_loads(self, nodes, **options):
        return [self.start_load(node, **options) for node in nodes]

    def load(self, nodes=None, seconds=None, **options):
        """All nodes at a time, each with its share."""
        place = self.place
        place.settle_disk()
        cpu, syncs, calls = self.cpu(), place.syncs.count()[0], self.calls()
        loads = self.start_loads(nodes or self.nodes, seconds=seconds or place.options.seconds, **options)
        got = [figures(load) for load in loads]
        mails = sum(one["delivered"] for one in got)
        if mails == 0:
            raise Failure("no mail was taken")
        spent = {role: 1000 * (value - cpu.get(role, 0)) / mails for role, value in self.cpu().items()
                 if value > cpu.get(role, 0)}
        return Measured(sum(one["goodput"] for one in got), spent, (place.syncs.count()[0] - syncs) / mails,
                        {name: (value - calls[name]) / mails for name, value in self.calls().items()},
                        sum(one["mail_p50_ms"] * one["delivered"] for one in got) / mails,
                        max(one["mail_p99_ms"] for one in got), sum(map(lost_of, got)))

    # ---- failures ----

    def kill(self):
        """The last node, as if its power had gone. Returns nodes that are left."""
        send(tree_of(self.nodes[-1].process.pid), signal.SIGKILL)
        return self.nodes[:-1]

    def locate(self, _user):
        """The number of the node that has a mailbox; None: all have all."""
        return None


def lost_of(got):
    return sum(got[what] for what in ("refused", "deferred", "broken", "timeouts", "errors",
                                      "rejected", "tempfailed", "open"))


def stop(process):
    """All that comes of it ends, too; what was killed by the bench has ended."""
    with contextlib.suppress(*FAILURES):
        process.stop()


# ---- kinds ----


class Apart(Cluster):
    def __init__(self, place, count, layer):
        super().__init__(place, count)
        self.layer = layer
        self.name = f"apart, {layer}"


class Direct(Apart):
    """Version 2 as a mail server has it that asks for locations: it goes to the node's LMTP by itself."""

    def __init__(self, place, count, layer):
        super().__init__(place, count, layer)
        self.name = f"version 2 by the mail server, {layer}"

    def start_loads(self, nodes, **options):
        """Each node's senders share the nodes, each of which has its part of the mailboxes."""
        at = -(-USERS // self.count)
        return [self.start_load(node, to, valid=f"n{to.number}u%d@example.com", users=at,
                                connections=max(1, CLIENTS // self.count), **options)
                for node in nodes for to in self.nodes]


class Nfs(Cluster):
    name, layer, dead = "NFS, sort", LAYER_SORT, "server"
    # The defaults of ganesha, but for the version and what it would tell other programs.
    GANESHA = """\
NFS_CORE_PARAM {{ Protocols = 3; Enable_NLM = false; Enable_RQUOTA = false; NFS_Port = {nfs}; MNT_Port = {mount}; }}
NFS_KRB5 {{ Active_krb5 = false; }}
EXPORT {{ Export_Id = 1; Path = {path}; Pseudo = /mail; Access_Type = RW; Squash = No_Root_Squash;
    SecType = sys; Protocols = 3; Transports = TCP; FSAL {{ Name = VFS; }} }}
LOG {{ Default_Log_Level = WARN; }}
"""

    def prepare(self):
        name = self.place.next_name()
        self.exported = self.case.path(f"{name}-exported")
        for path in (self.exported, os.path.join(self.exported, "mail")):
            os.mkdir(path)
            shutil.chown(path, stored.USER)
        path = self.case.write(f"{name}.ganesha", self.GANESHA.format(
            nfs=NFS, mount=MOUNT, path=self.exported))
        log = self.case.path(f"{name}.ganesha.log")
        # It tells rpcbind, over a socket in /run that is to be its own.
        script = ("mount -t tmpfs none /run && (rpcbind -f & echo $! >/run/bind.pid; sleep 1) &&"
                  f" exec ganesha.nfsd -F -f {path} -L {log} -p /run/ganesha.pid")
        server = self.case.start(
            self.links().command_in(SERVER, peer("unshare"), "--mount", "--pid", "--fork", "--kill-child", "sh", "-c",
                          script), f"{name}-ganesha", env=self.place.environment())
        self.helpers[server] = "NFS server"
        self.server = server
        wait_for(self.is_there, "the NFS server to listen")

    def is_there(self):
        if self.server.popen.poll() is not None:
            raise Failure(f"the NFS server has ended: {self.server.log()[-300:]}")
        return self.ports() == {NFS, MOUNT}

    def ports(self):
        """Those of the two on which the server listens."""
        said = subprocess.run(self.links().command_in(SERVER, "ss", "-Hltn"), check=True, text=True,
                              capture_output=True, timeout=60).stdout
        return {port for port in (NFS, MOUNT) if re.search(rf":{port}\s", said)}

    def make_node(self, number):
        node = super().make_node(number)
        node.mounted = os.path.join(node.directory, "mounted")
        os.mkdir(node.mounted)
        node.mount = self.case.start(
            node.command(self.place.program("bench", "nfs-mount"), self.links().address(SERVER), str(NFS),
                         str(MOUNT), self.exported, node.mounted, f".{node.name}"),
            f"{self.place.next_name()}-mount")
        node.mount.wait_for_log("^ready$")
        self.helpers[node.mount] = "NFS client"
        return node

    def store_of(self, node):
        return os.path.join(node.mounted, "mail")

    def calls(self):
        """Since they were mounted."""
        found = collections.Counter()
        for node in self.nodes:
            said = len(self.told(node))
            node.mount.send_signal(signal.SIGUSR1)
            wait_for(lambda node=node, said=said: len(self.told(node)) > said, "counts of calls")
            for name, value in re.findall(r"(\w+)=(\d+)", self.told(node)[-1]):
                found[name] += int(value)
        return found

    @staticmethod
    def told(node):
        return re.findall(r"(?m)^getattr=.*\n", node.mount.log())

    def kill(self):
        """The server; all nodes are left."""
        send(tree_of(self.server.pid), signal.SIGKILL)
        return self.nodes

    def end(self):
        """Programs that wait for a server that is dead cannot end before their mount has gone."""
        for node in self.nodes:
            subprocess.run(["umount", "--lazy", node.mounted], check=False, capture_output=True,
                           timeout=60)
        send(tree_of(self.server.pid), signal.SIGKILL)  # unshare(1) would wait
        super().end()
        wait_for(lambda: not self.ports(), "the NFS server to end")


class Nodes(Cluster):
    """Each node has the mailboxes that hashing gives it."""

    def __init__(self, place, count, version, copies=1):
        super().__init__(place, count)
        self.version, self.copies = version, copies
        self.name = f"version {version}, log" + (", two copies" if copies == 2 else "")

    def prepare(self):
        self.keys = {number: self.place.key(number) for number in range(1, self.count + 1)}
        address = self.links().address
        self.peers = "peer:\n" + "".join(
            f"  - name: n{number}\n    number: {number}\n    address: {address(number)}@{MODULE}\n"
            f"    lmtp: {address(number)}@{LMTP}\n    key: {pin}\n"
            for number, (_, _, pin) in self.keys.items())

    def sections(self, node):
        certificate, key, _ = self.keys[node.number]
        return (f"nodes:\n    node: n{node.number}\n    listen: {node.address}@{MODULE}\n"
                f"    certificate: {certificate}\n    key: {key}\n    version: {self.version}\n"
                f"    copies: {self.copies}\n{self.peers}")

    def check(self):
        found = {self.locate(f"user{number}@example.com") for number in range(USERS)}
        if found != set(self.keys):
            raise Failure(f"{self.name}: mailboxes are on {sorted(found)}, not on {sorted(self.keys)}")

    def locate(self, user):
        with stored.Client(self.nodes[0].socket) as client:
            reply = client.call(stored.LOCATE, name=user.encode())
            if reply.status != 0:
                raise Failure(f"LOCATE: {reply.status}")
            return reply.number


class Rados(Cluster):
    """Nodes are those of tests/integration/base/radoscluster.py."""

    layer, dead = "rados", "node"

    def __init__(self, place, count, copies=None):
        super().__init__(place, count)
        self.copies, self.rados = copies or min(count, 3), None
        self.name = "RADOS" + ("" if copies is None else f", {copies} copies")

    def prepare(self):
        radoscluster.need_programs()
        self.rados = RadosCluster(self.case.path(self.place.next_name()), nodes=self.count, has_spaces=True,
                                  copies=self.copies)
        self.rados.start()

    def links(self):
        return self.rados

    def sections(self, node):
        return (f"cluster:\n    ceph-conf: {self.rados.conf}\n    ceph-user: {self.rados.user}\n    pool: {self.rados.pool}\n"
                f"    node: n{node.number}\n")

    def cpu(self):
        found = super().cpu()
        for number in range(1, self.count + 1):
            found["RADOS"] += sum(cpu_of(self.rados.pids(number)).values())
        return found

    def kill(self):
        left = super().kill()
        self.rados.kill(self.count)
        return left

    def end(self):
        super().end()
        if self.rados is not None:
            self.rados.end()


# ---- what all have ----


def kernel_nfs():
    """What this kernel knows of NFS, for the page."""
    with open("/proc/filesystems", encoding="ascii") as file:
        return sorted({line.split()[-1] for line in file} & {"nfs", "nfs4", "nfsd"})


class Place:
    """Programs, a directory on the disk, networks, counters, keys of nodes."""

    def __init__(self, options, stack):
        self.options, self.programs = options, options.programs
        mailstores.tempfile.tempdir = options.directory
        self.case = mailstores.Place.new_case(stack)
        os.chmod(self.case.directory, 0o755)
        self.links = RadosCluster(self.case.path("links"), nodes=SERVER, has_spaces=True)
        stack.callback(self.links.end)
        self.links.start_spaces()
        self.syncs = mailstores.Syncs(self.case, self.programs)
        self.mail_stored = self.case.readable_program(mailstores.MailStored.find())
        self.number, self.keys = 0, {}

    def program(self, *path):
        return os.path.join(self.programs, *path)

    def next_name(self):
        self.number += 1
        return f"c{self.number}"

    def environment(self):
        return {**os.environ, **self.syncs.environment()}

    def settle_disk(self):
        subprocess.run(["sync", "-f", self.options.directory], check=True, timeout=600)

    def key(self, number):
        """(certificate, key, pin) of a node, made once."""
        if number not in self.keys:
            self.keys[number] = clusters.make_peer(self.case, f"n{number}")
        return self.keys[number]
