# SPDX-License-Identifier: GPL-3.0-or-later
"""
machines.py - machines of a test: each has a host name, a network, files and processes of its own, and
programs of the system that are played.

Flow: test_cluster_page.py -> Machines(case, "abc") -> shell("a", "ceph -s")

A machine is a process in namespaces of its own, whose end ends all others of it. Its /etc, /var and /usr/local
are those of this machine with what it writes above them, so that paths are as they are in manuals; /var/lib/ceph
is empty. Needs root, and a kernel with overlayfs.

systemctl starts Ceph's daemons and mail-hub in place of systemd, and waits until mail-hub has said that it is
ready; ceph-volume makes a disk of a file; scp copies to another machine; apt-get has done it all.
"""

import os
import shutil
import subprocess
import unittest

import harness
from harness import DEADLINE_S, wait_for

NETWORK = "10.0.0"
USER = "mail-hub"
USER_ID = 990
PLAYED = os.path.join(harness.SOURCE, "tests/integration/mail-hub/played.sh")
# What is in the place of this machine's, with what it takes to begin.
BEGIN = """set -e
hostname {name}
mount -t overlay overlay -o lowerdir=/etc,upperdir={root}/etc,workdir={root}/etc.work /etc
mount -t overlay overlay -o lowerdir=/var,upperdir={root}/var,workdir={root}/var.work /var
mount -t overlay overlay -o lowerdir=/usr/local,upperdir={root}/local,workdir={root}/local.work /usr/local
mount --bind {root}/ceph /var/lib/ceph
mkdir -p /etc/ceph
mount --bind {root}/etc-ceph /etc/ceph
mount --bind {root}/root /root
mount -t tmpfs tmpfs /run
mkdir -p /run/ceph /etc/dnsblv6 /etc/ssl/mail-hub /var/log/ceph /var/lib/mail-hub
rm -rf /etc/dnsblv6/* /var/lib/mail-hub/*
mkdir -p /usr/local/sbin /usr/local/etc
mount --bind {programs} /usr/local/sbin
ln -s /etc/dnsblv6 /usr/local/etc/dnsblv6  # where a build without a prefix looks
echo '{user}:x:{id}:{id}::/nonexistent:/usr/sbin/nologin' >>/etc/passwd
echo '{user}:x:{id}:' >>/etc/group
chown ceph:ceph /run/ceph /var/log/ceph /var/lib/ceph /var/lib/ceph/*
chown {user}:{user} /var/lib/mail-hub
ip link set lo up
"""
# It is the first process of its machine, so that it has to bury the others.
INIT = """import os, signal, subprocess, sys
subprocess.run(["/bin/sh", "-c", sys.argv[1]], check=True)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
print(flush=True)
sys.stdin.read()
"""


class Machines:
    """Their names are letters; the address of the first is NETWORK.1."""

    def __init__(self, case, names, programs):
        if os.geteuid() != 0:
            raise unittest.SkipTest("only root makes namespaces")
        self.case, self.names, self.pids = case, names, {}
        self.programs = case.path("programs")
        os.mkdir(self.programs)
        for program in programs:
            shutil.copy2(harness.program(program), self.programs)
        for played in ("apt-get", "ceph-volume", "scp", "systemctl"):
            os.symlink(PLAYED, os.path.join(self.programs, played))
        for name in names:
            self._begin(name)
        self._connect()

    def root(self, name):
        return self.case.path(f"machine-{name}")

    def address(self, name):
        return f"{NETWORK}.{self.names.index(name) + 1}"

    def _begin(self, name):
        root = self.root(name)
        for part in ("etc", "etc.work", "var", "var.work", "local", "local.work", "ceph/mon", "ceph/mgr", "ceph/osd",
                     "ceph/bootstrap-osd", "etc-ceph", "root"):
            os.makedirs(os.path.join(root, part))
        text = BEGIN.format(name=name, root=root, programs=self.programs, user=USER, id=USER_ID)
        with open(os.path.join(root, "log"), "wb") as log:
            process = subprocess.Popen(
                ["unshare", "--mount", "--uts", "--net", "--pid", "--ipc", "--fork", "--kill-child",
                 "--mount-proc", "--propagation", "private", "/usr/bin/python3", "-c", INIT, text],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
        self.case.addCleanup(self._end, process)
        if process.stdout.readline() != b"\n":
            with open(os.path.join(root, "log"), encoding="utf-8") as log:
                raise AssertionError(f"machine {name}: {log.read()}")
        self.pids[name], = harness.children_of(process.pid)

    @staticmethod
    def _end(process):
        process.stdin.close()
        process.stdout.close()
        process.wait(DEADLINE_S)

    def _connect(self):
        """All links are ports of a bridge in the first one."""
        hub = self.names[0]
        self.shell(hub, "ip link add br0 type bridge && ip link set br0 up && "
                   f"ip addr add {self.address(hub)}/24 dev br0")
        for name in self.names[1:]:
            # The one of the two that is at the hub, by the process there.
            subprocess.run(["nsenter", f"--net=/proc/{self.pids[name]}/ns/net", "ip", "link", "add", "eth0",
                            "type", "veth", "peer", "name", f"v{name}", "netns", str(self.pids[hub])],
                           check=True, timeout=DEADLINE_S)
            self.shell(name, f"ip addr add {self.address(name)}/24 dev eth0 && ip link set eth0 up")
            self.shell(hub, f"ip link set v{name} master br0 up")

    def command(self, name, *words):
        path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        return ["nsenter", "--target", str(self.pids[name]), "--mount", "--uts", "--net", "--pid", "--ipc",
                "env", "-i", "HOME=/root", f"PATH={path}", f"MACHINES={self.case.directory}", *words]

    def run(self, name, text, typed=""):
        return subprocess.run(self.command(name, "/bin/sh", "-c", f"cd /etc/ceph\n{text}"), input=typed,
                              text=True, capture_output=True, check=False, timeout=4 * DEADLINE_S)

    def shell(self, name, text, typed="", status=0):
        """What it says."""
        result = self.run(name, text, typed)
        self.case.assertEqual(result.returncode, status,
                              f"{name}# {text}\n{result.stdout}{result.stderr}")
        return result.stdout + result.stderr

    def write(self, name, path, text):
        self.shell(name, f"cat >{path}", typed=text)

    def wait_for(self, name, text, what):
        wait_for(lambda: self.run(name, text).returncode == 0, what, 3 * DEADLINE_S)
