# SPDX-License-Identifier: GPL-3.0-or-later
"""
radoscluster.py - a Ceph RADOS cluster for tests: some nodes on one machine, from empty folders, of
the programs of Debian's ceph-mon and ceph-osd.

    cluster = RadosCluster(directory)           three nodes on loopback addresses
    cluster = RadosCluster(directory, has_spaces=True)      each in a network namespace (root)
    cluster.start()
    ... cluster.conf, cluster.environment(), cluster.command_in(2, "mail-stored", ...)
    cluster.kill(2); cluster.start_node(2); cluster.wait_clean()
    cluster.end()

    cluster = RadosCluster.of(case, ...)        started, and ended with the test case

A node is numbered from 1 and has an OSD ("osd.N-1"), which is a host of its own, and, if it is one
of the first three, a monitor ("mon.nN"). There is no manager: nothing here needs one. The programs
are children of a keeper (radoskeeper.py), which ends them when the test ends, however it ends. The
module is not called rados.py: the program ceph would take it for the one that it imports.

Without namespaces a link cannot be cut, and several clusters share ports of different addresses.
Settings are those that failures were tried with: reactions within seconds, production has others.
"""

import base64
import contextlib
import errno
import json
import os
import random
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time
import unittest
import uuid

import radoskeeper
from radoskeeper import ClusterError, find_program, remove_stale_spaces

POOL = "mail"
USER = "mail"
OSD_BYTES = 10 << 30  # a sparse file
PLACEMENT_GROUPS = 32
MONITORS_MAX = 3
START_S = 120  # the most that anything may take on a busy machine
# Meson has the C library fill memory that a program takes and frees, which finds faults of ours. Of Ceph's start
# that is a third.
UNFILLED = {"MALLOC_PERTURB_": "0"}

CONF = """[global]
fsid = {fsid}
mon initial members = {mon_names}
mon host = {mon_hosts}
auth cluster required = {auth}
auth service required = {auth}
auth client required = {auth}
auth allow insecure global id reclaim = false
ms bind msgr1 = false
ms bind msgr2 = true
run dir = {directory}
log file = {directory}/$name.log
crash dir = {directory}/crash
osd pool default size = {size}
osd pool default min size = {min_size}
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 1
mon allow pool size one = true
mon max pg per osd = 500
# There is no manager, and nothing is said of that.
mon mgr mkfs grace = 1000000
# Failures are noticed within seconds. The monitors read the grace, too: so here.
osd heartbeat interval = 1
osd heartbeat grace = 5
# What is noticed is said at once: with the default an OSD keeps it to itself for up to 5 s.
osd mon report interval = 1
mon osd min down reporters = {reporters}
mon osd adjust heartbeat grace = false
mon client ping interval = 1
mon client ping timeout = 4
mon lease = 1
mon election timeout = 1
paxos propose interval = 0.1
# New keys and caps are used within seconds.
auth service ticket ttl = {ticket_s}
[client]
keyring = {directory}/$name.keyring
log file =
admin socket =
rados osd op timeout = 30
rados mon op timeout = 30
[mon]
keyring = {directory}/mon.keyring
mon data = {directory}/$name
mon cluster log file = {directory}/cluster.log
mon data avail warn = 2
mon data avail crit = 1
mon allow pool delete = true
[osd]
keyring = {directory}/osd.keyring
osd data = {directory}/$name
osd objectstore = bluestore
bluestore block size = {osd_bytes}
bluestore cache autotune = false
bluestore cache size = 67108864
osd op num shards = 2
osd op num threads per shard = 1
osd recovery sleep hdd = 0
osd recovery sleep ssd = 0
"""

CONF_MON = """[mon.n{node}]
public addr = {address}
"""
CONF_OSD = """[osd.{osd}]
public addr = {address}
cluster addr = {address}
crush location = root=default host=n{node}
"""


def need_programs():
    """What unittest takes for a reason to skip, when Ceph is not installed."""
    for name in ("ceph-mon", "ceph-osd", "monmaptool"):
        if find_program(name) is None:
            raise unittest.SkipTest(f"{name} is not installed")


def free_port(addresses):
    """One that is free on all of them, and that the system gives to no client."""
    while True:
        port = random.randrange(10000, 32768)
        with contextlib.ExitStack() as stack:
            try:
                for address in addresses:
                    tcp = stack.enter_context(socket.socket())
                    tcp.bind((address, port))
            except OSError:
                continue
            return port


def make_key():
    """A key of cephx: kind, time, size, and 16 random bytes."""
    now = time.time_ns()
    return base64.b64encode(struct.pack("<HIIH", 1, now // 10**9, now % 10**9, 16) +
                            os.urandom(16)).decode()


def wait_until(condition, what, deadline_s=START_S):
    """The first true value of condition(); TimeoutError after the deadline."""
    end = time.monotonic() + deadline_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise TimeoutError(f"waited {deadline_s} s in vain for {what}")
        time.sleep(0.05)  # between two looks, not instead of one


class RadosCluster:
    """See above. Functions that take a node's number take 1 for the first."""

    def __init__(self, directory, nodes=3, has_spaces=False, copies=3, has_keys=True,
                 osd_bytes=OSD_BYTES, pools=(POOL,), ticket_s=3600):
        self.directory = os.path.join(os.path.abspath(directory), "rados")
        self.conf = os.path.join(self.directory, "ceph.conf")
        self.pool = pools[0]
        self.pools = pools
        self.user = USER
        self.count = nodes
        self.copies = min(copies, nodes)
        self.has_keys = has_keys
        self.has_spaces = has_spaces
        self.osd_bytes = osd_bytes
        self.ticket_s = ticket_s
        self.mon_count = min(nodes, MONITORS_MAX)
        self.uuids = {}
        self.keeper = None
        self.space_prefix = f"d6r{os.getpid()}-{id(self) & 0xFFFF:x}-"
        self.fsid = str(uuid.uuid4())

    @classmethod
    def of(cls, case, **how):
        """Started; it ends with the test case. Skips the test when Ceph is not installed."""
        need_programs()
        if how.get("has_spaces") and os.geteuid() != 0:
            raise unittest.SkipTest("only root makes network namespaces")
        cluster = cls(case.directory, **how)
        case.addCleanup(cluster.end)
        cluster.start()
        return cluster

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.end()

    # ---- where things are ----

    def address(self, node):
        """0 is where clients are that belong to no node."""
        if self.has_spaces:
            return f"10.99.0.{node or 254}"
        pid = os.getpid()
        return f"127.{1 + pid % 250}.{pid // 250 % 250}.{100 + node}"

    def space(self, node):
        """The name of its network namespace, for "ip netns"."""
        return f"{self.space_prefix}{node}" if self.has_spaces else None

    def command_in(self, node, *command):
        """The words that run a command on a node, or on none (0)."""
        if not self.has_spaces:
            return list(command)
        return ["nsenter", f"--net=/run/netns/{self.space(node)}", *command]

    def environment(self):
        return dict(os.environ, CEPH_CONF=self.conf)

    def keyring(self, user=USER):
        return os.path.join(self.directory, f"client.{user}.keyring")

    # ---- from nothing to the first write ----

    def start(self):
        os.makedirs(self.directory)
        os.chmod(self.directory, 0o755)
        if self.has_spaces:
            remove_stale_spaces()
        self._start_keeper()
        try:
            if self.has_spaces:
                self._make_spaces()
            self._write_files()
            self._make_monitors()
            for process in [self._make_disk(node) for node in self.nodes()]:
                self._await(process)
            for node in self.nodes():
                self.start_osd(node)
            self.wait_up()
            # Two monitors that do not hear each other would call for elections as long as that lasts.
            self.insist("mon set election_strategy", strategy="connectivity")
            for pool in self.pools:
                self.insist("osd pool create", pool=pool, pg_num=PLACEMENT_GROUPS,
                            pgp_num=PLACEMENT_GROUPS, pool_type="replicated")
                self.insist("osd pool application enable", pool=pool, app="mailstore")
            self.wait_clean()
        except BaseException:
            self.end()
            raise

    def start_spaces(self):
        """The network namespaces alone, for nodes without RADOS."""
        os.makedirs(self.directory)
        remove_stale_spaces()
        self._start_keeper()
        try:
            self._make_spaces()
        except BaseException:
            self.end()
            raise

    def _start_keeper(self):
        self.lock = threading.Lock()
        with open(os.path.join(self.directory, "keeper.log"), "ab") as log:
            self.keeper = subprocess.Popen(
                ["/usr/bin/python3", radoskeeper.__file__, self.directory, self.space_prefix],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, start_new_session=True,
                env={**os.environ, **UNFILLED})

    def nodes(self):
        return range(1, self.count + 1)

    def _write_files(self):
        monitors = range(1, self.mon_count + 1)
        # All monitors have a port of that number free, which is not one of those for clients.
        self.mon_port = free_port([self.address(node) for node in monitors]
                                  if not self.has_spaces else [])
        conf = CONF.format(
            fsid=self.fsid, directory=self.directory, osd_bytes=self.osd_bytes,
            auth="cephx" if self.has_keys else "none", size=self.copies,
            min_size=min(2, self.copies), reporters=min(2, max(1, self.count - 1)),
            ticket_s=self.ticket_s,
            mon_names=",".join(f"n{node}" for node in monitors),
            mon_hosts=" ".join(f"[v2:{self.address(node)}:{self.mon_port}]" for node in monitors))
        conf += "".join(CONF_MON.format(node=node, address=self.address(node)) for node in monitors)
        # Some more than there are: for add_node().
        conf += "".join(CONF_OSD.format(node=node, osd=node - 1, address=self.address(node))
                        for node in range(1, self.count + 5))
        self._write("ceph.conf", conf)
        pool_caps = ", ".join(f"allow rw pool={pool}" for pool in self.pools)
        keys = {"mon.": {"mon": "allow *"},
                "client.admin": {"mon": "allow *", "osd": "allow *", "mgr": "allow *"},
                f"client.{USER}": {"mon": "allow r", "osd": pool_caps}}
        for osd in range(self.count + 4):
            keys[f"osd.{osd}"] = {"mon": "allow profile osd", "osd": "allow *", "mgr": "allow *"}
        texts = {name: f"[{name}]\n\tkey = {make_key()}\n" + "".join(
            f'\tcaps {kind} = "{caps}"\n' for kind, caps in all_caps.items())
                 for name, all_caps in keys.items()}
        self._write("mon.keyring", "".join(texts.values()))
        self._write("osd.keyring", "".join(text for name, text in texts.items()
                                           if name.startswith("osd.")))
        for name in ("client.admin", f"client.{USER}"):
            self._write(f"{name}.keyring", texts[name])

    def _write(self, name, text):
        """Of others, too, may read it: they are keys of this test alone."""
        path = os.path.join(self.directory, name)
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        os.chmod(path, 0o644)

    def _make_monitors(self):
        monmap = os.path.join(self.directory, "monmap")
        words = []
        for node in range(1, self.mon_count + 1):
            words += ["--addv", f"n{node}", f"[v2:{self.address(node)}:{self.mon_port}]"]
        self._run(find_program("monmaptool"), "--create", "--fsid", self.fsid, *words, monmap)
        making = []
        for node in range(1, self.mon_count + 1):
            os.makedirs(os.path.join(self.directory, f"mon.n{node}"))
            making.append(self._begin(find_program("ceph-mon"), "-c", self.conf, "-i", f"n{node}",
                                      "--mkfs", "--monmap", monmap, "--keyring",
                                      os.path.join(self.directory, "mon.keyring")))
        for process in making:
            self._await(process)
        for node in range(1, self.mon_count + 1):
            self.start_mon(node)

    def _make_disk(self, node):
        """An OSD of that node, from nothing; returns the process that makes it."""
        osd = node - 1
        self.uuids[osd] = str(uuid.uuid4())
        os.makedirs(os.path.join(self.directory, f"osd.{osd}"))
        self.insist("osd new", uuid=self.uuids[osd], id=osd)
        return self._begin(*self.command_in(node), find_program("ceph-osd"), "-c", self.conf,
                           "-i", str(osd), "--mkfs", "--osd-uuid", self.uuids[osd],
                           "--monmap", os.path.join(self.directory, "monmap"))

    def insist(self, prefix, **arguments):
        """
        Of what may be done twice, until there is a quorum of monitors: a busy machine has none for a moment now and
        then, as they wait for each other no longer than a second.
        """
        def ask():
            try:
                self.command(prefix, **arguments)
                return True
            except ClusterError as error:
                if error.errno not in (errno.ETIMEDOUT, errno.EAGAIN, errno.ENOENT):
                    raise
                return False
        wait_until(ask, prefix)

    def _begin(self, *command):
        log_path = os.path.join(self.directory, "start.log")
        with open(log_path, "ab") as log:
            return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                    cwd=self.directory, env={**os.environ, **UNFILLED})

    def _await(self, process):
        if process.wait(START_S) != 0:
            with open(os.path.join(self.directory, "start.log"), encoding="utf-8",
                      errors="replace") as log:
                raise AssertionError(f"{process.args} ended with {process.returncode}:\n"
                                     f"{log.read()[-3000:]}")

    def _run(self, *command):
        self._await(self._begin(*command))

    def _make_spaces(self):
        """A bridge that has a link to each node."""
        self._add_spaces(0, *self.nodes())

    def _add_spaces(self, *nodes):
        """All at once, by a few processes: clusters are made by the dozen."""
        hub = self.space(0)
        self._ip_batch((), *[f"netns add {self.space(node)}" for node in nodes])
        for node in nodes:
            own = (["link add br0 type bridge", f"addr add {self.address(0)}/24 dev br0", "link set br0 up"]
                   if node == 0 else
                   [f"link add eth0 type veth peer name v{node} netns {hub}",
                    f"addr add {self.address(node)}/24 dev eth0", "link set eth0 up"])
            self._ip_batch(("-n", self.space(node)), "link set lo up", *own)
        self._ip_batch(("-n", hub), *[f"link set v{node} master br0 up" for node in nodes if node != 0])

    def _ip_batch(self, options, *lines):
        """Up to the first that fails, which it says."""
        self._ip(*options, "-batch", "-", given="\n".join(lines) + "\n")

    def _ip(self, *words, given=""):
        result = subprocess.run([find_program("ip"), *words], input=given, text=True, capture_output=True, check=False,
                                timeout=START_S)
        if result.returncode != 0:
            raise AssertionError(f"ip {' '.join(words)}: {result.stderr}\n{given}")

    def end(self, are_files_kept=False):
        """All processes, namespaces and files go; also of what was half made."""
        if self.keeper is None:
            return
        if are_files_kept:
            self._call(what="keep")
        keeper, self.keeper = self.keeper, None
        keeper.stdin.close()
        keeper.stdout.close()
        keeper.wait(START_S)

    # ---- asking ----

    def _call(self, **request):
        """The keeper's answer. It has one question at a time."""
        with self.lock:
            self.keeper.stdin.write(json.dumps(request).encode() + b"\n")
            self.keeper.stdin.flush()
            line = self.keeper.stdout.readline()
        if not line:
            raise AssertionError("the keeper of the cluster has died: see keeper.log")
        reply = json.loads(line)
        if reply["status"] != 0:
            raise ClusterError(-reply["status"], reply["text"])
        return reply["value"]

    def command(self, prefix, given="", **arguments):
        """
        A command of the monitors, as ceph(8) has it, with the text that it is given: its answer,
        out of JSON when it is that.
        """
        return self._call(what="monitors", given=given,
                          command={"prefix": prefix, "format": "json", **arguments})

    def ask_group(self, group):
        """What a placement group says of itself: "1.1f"."""
        return self._call(what="group", group=group)

    def health(self):
        """The names of what the monitors complain about."""
        return sorted(self.command("health")["checks"])

    def osds_up(self):
        try:
            return self.command("osd stat")["num_up_osds"]
        except ClusterError:
            return 0

    def is_up(self, count=None):
        """
        Whether the monitors that run are a quorum, and see all OSDs (or that many) up, as the
        processes that they are now: one that was started again may not have been missed yet.
        """
        wanted = self.count if count is None else count
        pids = self._call(what="pids")
        monitors = sum(name.startswith("mon.") for name in pids)
        try:
            if len(self.command("quorum_status")["quorum"]) != monitors:
                return False
            up = [osd for osd in self.command("osd dump")["osds"] if osd["up"]]
        except ClusterError:
            return False
        return len(up) == wanted and all(
            osd["public_addrs"]["addrvec"][0]["nonce"] == pids.get(f"osd.{osd['osd']}")
            for osd in up)

    def wait_up(self, count=None, deadline_s=START_S):
        """Until is_up()."""
        wait_until(lambda: self.is_up(count), "OSDs that are up", deadline_s)

    def are_groups_clean(self):
        """Whether each placement group has all its copies."""
        try:
            numbers = {pool["poolnum"] for pool in self.command("osd lspools")}
            return all(self.ask_group(f"{number}.{group:x}")["state"] == "active+clean"
                       for number in numbers for group in range(PLACEMENT_GROUPS))
        except ClusterError:
            return False

    def wait_clean(self, deadline_s=START_S):
        """Until all nodes are up, and all has as many copies as it should: between two failures."""
        self.wait_up(deadline_s=deadline_s)
        wait_until(self.are_groups_clean, "placement groups that are all clean", deadline_s)

    # ---- failures ----

    def start_mon(self, node):
        self._call(what="start", name=f"mon.n{node}", command=self.command_in(
            node, find_program("ceph-mon"), "-f", "-c", self.conf, "-i", f"n{node}"))

    def start_osd(self, node):
        self._call(what="start", name=f"osd.{node - 1}", command=self.command_in(
            node, find_program("ceph-osd"), "-f", "-c", self.conf, "-i", str(node - 1)))

    def start_node(self, node):
        """What of it does not run."""
        if node <= self.mon_count:
            self.start_mon(node)
        self.start_osd(node)

    def _signal(self, name, number):
        self._call(what="signal", name=name, number=int(number))

    def signal_node(self, node, number):
        if node <= self.mon_count:
            self._signal(f"mon.n{node}", number)
        self._signal(f"osd.{node - 1}", number)

    def kill(self, node):
        self.signal_node(node, signal.SIGKILL)

    def stop(self, node):
        """It hangs, until cont()."""
        self.signal_node(node, signal.SIGSTOP)

    def cont(self, node):
        self.signal_node(node, signal.SIGCONT)

    def kill_osd(self, node):
        """The node is cut from its disk."""
        self._signal(f"osd.{node - 1}", signal.SIGKILL)

    def stop_osd(self, node):
        """Its disk hangs, until cont()."""
        self._signal(f"osd.{node - 1}", signal.SIGSTOP)

    def kill_mon(self, node):
        self._signal(f"mon.n{node}", signal.SIGKILL)

    def pids(self, node):
        """Those that run, of monitor and OSD."""
        pids = self._call(what="pids")
        return [pids[name] for name in (f"mon.n{node}", f"osd.{node - 1}") if name in pids]

    def cut(self, node):
        """Its link is unplugged."""
        self._need_spaces()
        self._ip("-n", self.space(0), "link", "set", f"v{node}", "down")

    def heal(self, node):
        """What cut() and slow() did."""
        self._need_spaces()
        self.fast(node)
        self._ip("-n", self.space(0), "link", "set", f"v{node}", "up")

    def cut_between(self, node, other):
        """These two do not hear each other, and all others hear both."""
        self._need_spaces()
        for one, far in ((node, other), (other, node)):
            self._ip("-n", self.space(one), "route", "replace", "blackhole",
                     f"{self.address(far)}/32")

    def heal_between(self, node, other):
        for one, far in ((node, other), (other, node)):
            with contextlib.suppress(AssertionError):  # there is none
                self._ip("-n", self.space(one), "route", "del", "blackhole",
                         f"{self.address(far)}/32")

    def lose(self, node, other):
        """What the one sends the other does not arrive; what the other sends, does."""
        self._need_spaces()
        self._nft(other, "add table inet lost; add chain inet lost in { type filter hook input priority 0; };"
                         f"add rule inet lost in ip saddr {self.address(node)} drop")

    def find(self, node):
        """What is sent to it arrives, after lose()."""
        self._nft(node, "add table inet lost; delete table inet lost")

    def _nft(self, node, text):
        subprocess.run(self.command_in(node, "nft", "-f", "-"), input=text.encode(), check=True, timeout=START_S)

    def slow(self, node, delay_ms=50, loss_percent=1):
        """
        Its link delays and loses, in each direction. A process carries the frames, from one tap to
        another, since not every kernel has netem.
        """
        self._need_spaces()
        self.fast(node)
        self._call(what="slow", node=node, near=self.space(node), far=self.space(0),
                   delay_ms=delay_ms, loss_percent=loss_percent)
        address = f"{self.address(node)}/24"
        near = self.space(node)
        self._ip("-n", self.space(0), "link", "set", f"t{node}", "master", "br0", "up")
        self._ip("-n", near, "addr", "del", address, "dev", "eth0")
        self._ip("-n", near, "addr", "add", address, "dev", "tap0")
        self._ip("-n", near, "link", "set", "tap0", "up")

    def fast(self, node):
        """As before slow()."""
        if not self._call(what="fast", node=node):
            return
        near = self.space(node)
        address = f"{self.address(node)}/24"
        self._ip("-n", near, "addr", "replace", address, "dev", "eth0")

    def _need_spaces(self):
        if not self.has_spaces:
            raise AssertionError("links need has_spaces=True")

    def fill(self):
        """From now on there is no room for anything: what is there is more than enough."""
        self.insist("osd set-nearfull-ratio", ratio=0.00001)
        self.insist("osd set-backfillfull-ratio", ratio=0.00002)
        self.insist("osd set-full-ratio", ratio=0.00003)
        wait_until(lambda: self._is_full() is True, "OSDs that are full")

    def empty(self):
        """There is room again."""
        self.insist("osd set-full-ratio", ratio=0.95)
        self.insist("osd set-backfillfull-ratio", ratio=0.9)
        self.insist("osd set-nearfull-ratio", ratio=0.85)
        wait_until(lambda: self._is_full() is False, "OSDs that are not full")

    def _is_full(self):
        """None when the monitors do not say."""
        try:
            return "OSD_FULL" in self.health()
        except ClusterError:
            return None

    def refuse_keys(self):
        """The client's key gives no right any more; what has a ticket has it for ticket_s."""
        self.insist("auth caps", entity=f"client.{USER}", caps=[
            "mon", "allow r", "osd", "allow r pool=no-such-pool"])

    def permit_keys(self):
        caps = ", ".join(f"allow rw pool={pool}" for pool in self.pools)
        self.insist("auth caps", entity=f"client.{USER}", caps=["mon", "allow r", "osd", caps])

    def copy_disk(self, node):
        """The OSD is killed, its disk copied for old_disk(), and it goes on."""
        place = os.path.join(self.directory, f"osd.{node - 1}")
        self.kill_osd(node)
        shutil.rmtree(f"{place}.copy", ignore_errors=True)
        self._run("cp", "--archive", "--sparse=always", place, f"{place}.copy")
        self.start_osd(node)

    def old_disk(self, node):
        """The OSD is killed, and comes back with what it had when its disk was copied."""
        place = os.path.join(self.directory, f"osd.{node - 1}")
        self.kill_osd(node)
        shutil.rmtree(place)
        os.rename(f"{place}.copy", place)
        self.start_osd(node)

    def add_node(self):
        """One more, with an OSD and no monitor. Returns its number."""
        self.count += 1
        if self.has_spaces:
            self._add_spaces(self.count)
        self._await(self._make_disk(self.count))
        self.start_osd(self.count)
        self.wait_up()
        return self.count
