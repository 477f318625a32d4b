# SPDX-License-Identifier: GPL-3.0-or-later
"""
clusters.py - whole nodes of a cluster for tests: each has mail-stored with LMTP, smtp-front and pop-front,
all at its own address, and with RADOS a monitor and an OSD.

Flow: a Case -> Cluster(case, users={"anna@example.com": "secret"}) -> nodes[0].lmtp_address,
      .smtp_address, .pop_address; nodes[0].kill(), .start(); ...; it ends with the case.

As root each node is in a network namespace of its own (radoscluster.py), so that its link can be cut; the
thread that makes the cluster, and threads that it begins, are in a network beside them until the case ends. Else
nodes have addresses of loopback. kind is "rados"; "nodes", each of which has a store of its own and sends
the others' mailboxes on; or "alone", nodes that know nothing of each other, for a test of what tests a
cluster.
"""

import base64
import ctypes
import hashlib
import os
import pwd
import re
import signal
import subprocess
from pathlib import Path

import harness
import popfront
import radoscluster
from harness import DEADLINE_S, has_ended, tree_of, wait_for
from stored import USER, Stored

NAMES = "abcdefgh"
# Sessions of clients that have gone hold mailboxes: for a test they do so for seconds.
POP = {"pop": {"workers": 12, "drain": "1s"}, "limits": {"idle-timeout": "15s"},
       "store": {"timeout": "1m"}}
SIGNALLED = re.compile(r"signal=(?!(?:9|15)\b)(\d+)")
COUNT_FRONT = 6


class Place:
    """A test case as a program of one node has it: its files have a prefix, its commands run there."""

    def __init__(self, case, name, address, command_in):
        self.case, self.name, self.address, self.command_in = case, name, address, command_in

    def __getattr__(self, name):
        return getattr(self.case, name)

    def path(self, name):
        return self.case.path(f"{self.name}-{name}")

    def write(self, name, content):
        return self.case.write(f"{self.name}-{name}", content)

    def start(self, arguments, name, **how):
        return self.case.start(self.command_in(*arguments), f"{self.name}-{name}", **how)

    def free_address(self):
        return self.address, self.case.free_port(None if self.is_apart() else self.address)

    def is_apart(self):
        """Whether the address is of another network than ours."""
        return self.command_in("true")[0] != "true"


def send(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


made_peers = {}  # of all tests of a program, whose clusters are dozens: name -> (certificate, key, pin), as bytes


def make_peer(case, name):
    """(certificate, key, pin) of a node that has signed for itself."""
    name = f"{name}.example.com"
    if name not in made_peers:
        certificate, key = case.make_certificate(name)
        public = subprocess.run(["openssl", "x509", "-in", certificate, "-noout", "-pubkey"], check=True,
                                capture_output=True, timeout=DEADLINE_S).stdout
        der = subprocess.run(["openssl", "pkey", "-pubin", "-outform", "DER"], input=public, check=True,
                             capture_output=True, timeout=DEADLINE_S).stdout
        made_peers[name] = (*(Path(path).read_bytes() for path in (certificate, key)),
                            "sha256//" + base64.b64encode(hashlib.sha256(der).digest()).decode())
    *contents, pin = made_peers[name]
    certificate, key = (case.write(f"{name}.{end}", content) for end, content in zip(("pem", "key"), contents))
    os.chmod(key, 0o600)
    if os.geteuid() == 0:
        os.chown(key, pwd.getpwnam(USER).pw_uid, -1)
    return certificate, key, pin


class NodeStored(Stored):
    """mail-stored of a node, with LMTP at lmtp_address. peers is text behind its configuration."""

    def __init__(self, place, lmtp_address, sections, peers):
        self.lmtp_address = lmtp_address
        self.peers = peers
        host, port = self.lmtp_address
        merged = {name: dict(items) for name, items in sections.items()}
        merged["lmtp"] = {"listen": [f"{host}@{port}"], "hostname": f"{place.name}.example.com",
                          "timeout": "30s", **merged.get("lmtp", {})}
        super().__init__(place, is_started=False, **merged)

    def write_config(self, **sections):
        path = super().write_config(**sections)
        with open(path, "a", encoding="ascii") as file:
            file.write(self.peers)
        return path

    def wait_until_ready(self):
        super().wait_until_ready()
        self.process.wait_for_log(r"^info: \[mail-stored\] LMTP ready, ")


class Smtp:
    """smtp-front of a node, before its store."""

    def __init__(self, place, users_path, socket):
        self.place = place
        self.address = place.free_address()
        self.process = None
        sections = {
            "front": {"hostname": f"{place.name}.example.com", "listen": ["{}@{}".format(*self.address)],
                      "edges": 1, "workers": COUNT_FRONT, "drain": "1s", "queue-timeout": "1m"},
            "limits": {"greet-pause": 0, "connections": 0, "rate": 0},
            "trust": {"users": users_path},
            "sink": {"kind": "store", "to": socket, "timeout": "1m"},
        }
        if os.geteuid() == 0:
            sections["front"].update(user=USER, chroot=place.path("empty"))
        self.config_path = place.write("front.conf", popfront.config_text(sections))

    def start(self, **how):
        self.process = self.place.start([harness.program("smtp-front"), "--config", self.config_path],
                                        "front", **how)
        self.process.wait_for_log(r"^info: \[smtp-front\] ready, ")


class Node:
    """All that is on one machine. number is from 1."""

    def __init__(self, cluster, number):
        self.cluster, self.number, self.name = cluster, number, NAMES[number - 1]
        self.address = cluster.address(number)
        self.place = Place(cluster.case, self.name, self.address,
                           lambda *words: cluster.command_in(number, *words))
        self.lmtp_address = self.place.free_address()

    def make(self, sections, peers=""):
        """Its programs, of which none runs."""
        self.stored = NodeStored(self.place, self.lmtp_address, sections, peers)
        if self.cluster.make_disk is not None:
            user = pwd.getpwnam(USER)
            self.disk = self.cluster.make_disk(self.stored.directory, (user.pw_uid, user.pw_gid))
            self.cluster.case.addCleanup(self.disk.end)
        self.fronts = ()
        if self.cluster.has_fronts:
            pop = popfront.PopFront(self.place, users=self.cluster.users, stored=self.stored, is_started=False, **POP)
            smtp = Smtp(self.place, pop.users_path, self.stored.socket)
            self.fronts = (pop, smtp)
            self.pop_address, self.smtp_address = pop.address, smtp.address

    def programs(self):
        return (self.stored, *self.fronts)

    def start(self, **how):
        """What of its mail does not run."""
        for program in self.programs():
            if program.process is None or program.process.popen.poll() is not None:
                program.start(**(how if program is self.stored else {}))

    # ---- failures ----

    def pids(self, programs=None):
        return [pid for program in programs or self.programs() if program.process.popen.poll() is None
                for pid in tree_of(program.process.pid)]

    def kill_programs(self, *programs):
        """All their processes at once; they have ended afterwards."""
        pids = self.pids(programs)
        send(pids, signal.SIGSTOP)  # so that none makes another
        pids = self.pids(programs)
        send(pids, signal.SIGKILL)
        for program in programs:
            program.process.popen.wait(DEADLINE_S)
        wait_for(lambda: all(has_ended(pid) for pid in pids), f"the end of {pids}")

    def kill_role(self, role):
        """One process of mail-stored's, "store" or "lmtp", which is made again; False without one."""
        pid = self.stored.pid_of(role)
        send([pid] if pid else [], signal.SIGKILL)
        return pid is not None

    def kill(self):
        """The whole machine."""
        if self.cluster.rados:
            self.cluster.rados.kill(self.number)
        self.kill_programs(*self.programs())

    def revive(self):
        if self.cluster.rados:
            self.cluster.rados.start_node(self.number)
        self.start()

    def stop(self):
        """It hangs as a whole, until cont()."""
        if self.cluster.rados:
            self.cluster.rados.stop(self.number)
        send(self.pids(), signal.SIGSTOP)

    def cont(self):
        send(self.pids(), signal.SIGCONT)
        if self.cluster.rados:
            self.cluster.rados.cont(self.number)

    def restart_stored(self, clock_offset_s=0):
        """mail-stored ends as it is told to, and begins again, perhaps with another clock."""
        self.stored.stop()
        self.stored.start(env=self.place.clock_environment(clock_offset_s))

    # ---- what became of it ----

    def crashes(self):
        """Lines about processes that ended by a signal that is no test's."""
        return [line for program in self.programs() for line in program.process.log().splitlines()
                if SIGNALLED.search(line)]

    def stored_kb(self):
        """Of mail-stored's processes together."""
        total = 0
        for pid in tree_of(self.stored.process.pid):
            try:
                total += harness.anonymous_kb(pid)
            except (OSError, StopIteration):
                continue
        return total


class Cluster:
    """
    Nodes of a test case, started.

        users     {mailbox: password}
        kind      "rados", "nodes" or "alone"
        sections  of stored.conf, for all nodes
        rados     for RadosCluster
        make_disk of (directory, owner): what each store has as its disk, until end() is called
        has_fronts  False: smtp-front and pop-front, some twenty processes of each node, are left out
    """

    def __init__(self, case, users, count=3, kind="rados", rados=None, make_disk=None, has_fronts=True,
                 **sections):
        self.case, self.users, self.kind = case, users, kind
        self.make_disk, self.has_fronts = make_disk, has_fronts
        self.rados = None  # of that kind alone
        self.links = None  # what has the nodes' network; None on loopback
        self._start_below(count, rados or {})
        self.nodes = [Node(self, number) for number in range(1, count + 1)]
        make = {"rados": self._make_rados, "nodes": self._make_nodes,
                "alone": lambda sections: [node.make(sections) for node in self.nodes]}
        make[kind](sections)
        case.addCleanup(self.end)
        for node in self.nodes:
            node.stored.launch()
        for node in self.nodes:
            node.stored.wait_until_ready()
            node.start()
        self._enter_network()

    def end(self):
        """All mail servers, before RADOS: without it they would end later."""
        processes = [program.process for node in self.nodes for program in reversed(node.programs())
                     if program.process is not None]
        send([pid for process in processes for pid in tree_of(process.pid)], signal.SIGCONT)
        for process in processes:
            process.popen.terminate()
        for process in processes:
            process.popen.wait(DEADLINE_S)

    def _start_below(self, count, how):
        is_root = os.geteuid() == 0
        if self.kind == "rados":
            self.rados = radoscluster.RadosCluster.of(
                self.case, nodes=count, **{"has_spaces": is_root, "ticket_s": 10, **how})
            self.links = self.rados if self.rados.has_spaces else None
        elif self.kind == "nodes" and is_root:
            self.links = radoscluster.RadosCluster(self.case.directory, nodes=count, has_spaces=True)
            self.case.addCleanup(self.links.end)
            self.links.start_spaces()

    def _make_rados(self, sections):
        below = {"ceph-conf": self.rados.conf, "ceph-user": self.rados.user, "pool": self.rados.pool}
        for node in self.nodes:
            node.make({**sections, "stored": {"layer": "rados", **sections.get("stored", {})},
                       "cluster": {**below, "node": node.name, **sections.get("cluster", {})}})

    def _make_nodes(self, sections):
        keys = {node.name: make_peer(node.place, node.name) for node in self.nodes}
        listens = {node.name: "{}@{}".format(*node.place.free_address()) for node in self.nodes}
        peers = "peer:\n" + "".join(
            f"  - name: {node.name}\n    number: {node.number}\n    address: {listens[node.name]}\n"
            f"    lmtp: {'{}@{}'.format(*node.lmtp_address)}\n    key: {keys[node.name][2]}\n    spread: yes\n"
            for node in self.nodes)
        for node in self.nodes:
            certificate, key, _ = keys[node.name]
            node.make({**sections, "nodes": {"node": node.name, "listen": listens[node.name],
                                             "certificate": certificate, "key": key,
                                             **sections.get("nodes", {})}}, peers)

    def address(self, number):
        if self.links or self.rados:
            return (self.links or self.rados).address(number)
        return self.case.host.rsplit(".", 1)[0] + f".{100 + number}" if self.kind == "nodes" else self.case.host

    def command_in(self, number, *words):
        return self.links.command_in(number, *words) if self.links else list(words)

    def _enter_network(self):
        """That of clients, from now on."""
        if self.links is None:
            return
        libc = ctypes.CDLL(None, use_errno=True)
        home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        self.case.addCleanup(os.close, home)
        self.case.addCleanup(libc.setns, home, harness.CLONE_NEWNET)
        space = os.open(f"/run/netns/{self.links.space(0)}", os.O_RDONLY)
        ret = libc.setns(space, harness.CLONE_NEWNET)
        os.close(space)
        self.case.assertEqual(ret, 0, os.strerror(ctypes.get_errno()))

    def by_name(self, name):
        return next(node for node in self.nodes if node.name == name)

    def run_tool(self, node, *arguments, timeout_s=DEADLINE_S):
        """mail-cluster at a node: (exit status, what it printed)."""
        result = subprocess.run(
            node.place.command_in(harness.program("mail-cluster"), arguments[0], "--store", node.stored.socket,
                                  *arguments[1:]), stdin=subprocess.DEVNULL, capture_output=True, text=True,
            check=False, timeout=timeout_s)
        return result.returncode, result.stdout + result.stderr
