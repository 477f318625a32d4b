# SPDX-License-Identifier: GPL-3.0-or-later
"""
radoskeeper.py - the process that has the programs of a RADOS cluster of tests.

Flow: radoscluster.py starts it, and writes requests, a line of JSON each -> the programs are its
      children, and so is the one that asks librados -> a line of JSON is the answer.

When its input ends, which is when the test has ended in any way, it kills what it has started,
and removes the network namespaces and the directory. It is a process of its own because the
programs must not outlive a test that is killed. librados is in another one: it has threads, hangs
with the cluster that it asks, and crashes now and then when an OSD goes away that it waits for.

    radoskeeper.py DIRECTORY PREFIX-OF-NAMESPACES
    radoskeeper.py ask DIRECTORY PREFIX-OF-NAMESPACES   requests for librados alone, as above
    radoskeeper.py link SPACE SPACE NAME DELAY LOSS      a link that is slow, see carry_frames()
"""

import collections
import contextlib
import ctypes
import errno
import fcntl
import json
import os
import random
import select
import shutil
import signal
import struct
import subprocess
import sys
import time

PR_SET_PDEATHSIG = 1
CLONE_NEWNET = 0x40000000


class ClusterError(Exception):
    """What the monitors or an OSD answered, or that they did not: .errno says it."""

    def __init__(self, number, text):
        super().__init__(f"{errno.errorcode.get(number, number)}: {text}")
        self.errno = number
        self.text = text


def find_program(name):
    return shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


def remove_stale_spaces():
    """Of tests that were killed together with their keepers."""
    for name in os.listdir("/run/netns") if os.path.isdir("/run/netns") else ():
        if name.startswith("d6r"):
            pid = name[3:].split("-")[0]
            if pid.isdigit() and not os.path.exists(f"/proc/{pid}"):
                remove_space(name)


def remove_space(name):
    subprocess.run([find_program("ip"), "netns", "del", name], stdin=subprocess.DEVNULL,
                   capture_output=True, check=False, timeout=60)


def die_with_keeper():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def answer_requests(of):
    """
    Lines of JSON from the input: {"what": "x", ...} is of.do_x(...), whose answer is a line. Until
    the input ends.
    """
    def answer(request):
        try:
            what = getattr(of, f"do_{request.pop('what')}")
            return {"status": 0, "text": "", "value": what(**request)}
        except ClusterError as error:
            return {"status": -error.errno, "text": error.text}
        except Exception as error:  # it must go on, and says what was wrong
            return {"status": -errno.EIO, "text": repr(error)}

    with contextlib.suppress(BrokenPipeError):
        for line in sys.stdin.buffer:
            sys.stdout.buffer.write(json.dumps(answer(json.loads(line))).encode() + b"\n")
            sys.stdout.buffer.flush()


class Keeper:
    """What has the programs. When its input ends, all ends."""

    def __init__(self, directory, space_prefix):
        self.directory = directory
        self.space_prefix = space_prefix
        self.daemons = {}
        self.links = {}
        self.asker = None
        self.is_kept = False

    def run(self):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal: the test ends it
        try:
            answer_requests(self)
        finally:
            self.end()

    def end(self):
        askers = [self.asker] if self.asker else []
        for process in [*askers, *self.links.values(), *self.daemons.values()]:
            process.kill()  # also what is stopped
            process.wait()
        spaces = os.listdir("/run/netns") if os.path.isdir("/run/netns") else ()
        for name in spaces:
            if name.startswith(self.space_prefix):
                remove_space(name)
        if not self.is_kept:
            shutil.rmtree(self.directory, ignore_errors=True)

    # ---- processes ----

    def do_start(self, name, command):
        running = self.daemons.get(name)
        if running is not None and running.poll() is None:
            return
        with open(os.path.join(self.directory, "start.log"), "ab") as log:
            self.daemons[name] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.directory,
                preexec_fn=die_with_keeper)

    def do_signal(self, name, number):
        """Of a process of ours that runs; what is killed has ended afterwards."""
        process = self.daemons.get(name)
        if process is None or process.poll() is not None:
            return
        process.send_signal(number)
        if number == signal.SIGKILL:
            process.wait()

    def do_keep(self):
        """Files stay where they are, for eyes."""
        self.is_kept = True

    def do_pids(self):
        return {name: process.pid for name, process in self.daemons.items()
                if process.poll() is None}

    def do_slow(self, node, near, far, delay_ms, loss_percent):
        self.links[node] = subprocess.Popen(
            [sys.executable, os.path.abspath(__file__), "link", near, far, f"t{node}",
             str(delay_ms), str(loss_percent)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            preexec_fn=die_with_keeper)
        if self.links[node].stdout.readline() != b"ready\n":
            raise ClusterError(errno.EIO, "no taps: see keeper.log")

    def do_fast(self, node):
        link = self.links.pop(node, None)
        if link is None:
            return False
        link.kill()
        link.wait()
        return True

    # ---- librados ----

    def ask(self, **request):
        if self.asker is None:
            self.asker = subprocess.Popen(
                [sys.executable, os.path.abspath(__file__), "ask", self.directory,
                 self.space_prefix], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                preexec_fn=die_with_keeper)
        with contextlib.suppress(BrokenPipeError):
            self.asker.stdin.write(json.dumps(request).encode() + b"\n")
            self.asker.stdin.flush()
        line = self.asker.stdout.readline()
        if not line:
            asker, self.asker = self.asker, None
            asker.kill()
            raise ClusterError(errno.EAGAIN, f"librados has ended with {asker.wait()}")
        reply = json.loads(line)
        if reply["status"] != 0:
            raise ClusterError(-reply["status"], reply["text"])
        return reply["value"]

    def do_monitors(self, **request):
        return self.ask(what="monitors", **request)

    def do_group(self, **request):
        return self.ask(what="group", **request)


class Asker:
    """What asks librados."""

    def __init__(self, directory, space_prefix):
        self.space = f"/run/netns/{space_prefix}0"
        self.conf = os.path.join(directory, "ceph.conf")
        self.cluster = None

    def run(self):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        answer_requests(self)
        os._exit(0)  # librados would wait for monitors that are gone

    def connected(self):
        import rados  # Debian's python3-rados
        if self.cluster is None:
            if os.path.exists(self.space):  # threads of librados are where this thread is
                fd = os.open(self.space, os.O_RDONLY)
                ctypes.CDLL(None).setns(fd, CLONE_NEWNET)
                os.close(fd)
            cluster = rados.Rados(conffile=self.conf, name="client.admin", conf={
                "rados_mon_op_timeout": "10", "rados_osd_op_timeout": "10",
                "client_mount_timeout": "10"})
            try:
                cluster.connect()
            except rados.Error as error:
                cluster.shutdown()
                raise ClusterError(errno.ETIMEDOUT, repr(error)) from None
            self.cluster = cluster
        return self.cluster

    def do_monitors(self, command, given):
        return self.reply(*self.connected().mon_command(json.dumps(command), given.encode(),
                                                        timeout=10))

    def do_group(self, group):
        command = json.dumps({"prefix": "query", "pgid": group, "format": "json"})
        return self.reply(*self.connected().pg_command(group, command, b"", timeout=10))

    @staticmethod
    def reply(status, output, text):
        if status != 0:
            raise ClusterError(abs(status), text or os.strerror(abs(status)))
        try:
            return json.loads(output) if output else None
        except ValueError:
            return output.decode("utf-8", "replace")


# ---- a link that is slow ----


def open_tap(space, name):
    """A tap in that namespace; frames come without offloads, whole and with their checksums."""
    libc = ctypes.CDLL(None, use_errno=True)
    fd = os.open(f"/run/netns/{space}", os.O_RDONLY)
    if libc.setns(fd, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")
    os.close(fd)
    tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tap, 0x400454CA, struct.pack("16sH22x", name.encode(), 0x1002))  # IFF_TAP, NO_PI
    return tap


def carry_frames(near, far, name, delay_ms, loss_percent):
    """Between "tap0" of one namespace and a tap of another, each frame after the delay."""
    taps = [open_tap(near, "tap0"), open_tap(far, name)]
    print("ready", flush=True)
    waiting = collections.deque()  # (when, to which, frame), oldest first
    while True:
        left_s = waiting[0][0] - time.monotonic() if waiting else None
        readable = select.select(taps, [], [], None if left_s is None else max(left_s, 0))[0]
        for tap in readable:
            with contextlib.suppress(BlockingIOError):
                frame = os.read(tap, 65536)
                if random.random() * 100 >= loss_percent and len(waiting) < 10000:
                    other = taps[1] if tap == taps[0] else taps[0]
                    waiting.append((time.monotonic() + delay_ms / 1000, other, frame))
        while waiting and waiting[0][0] <= time.monotonic():
            _, tap, frame = waiting.popleft()
            with contextlib.suppress(OSError):  # down, or full: lost
                os.write(tap, frame)


if __name__ == "__main__":
    if sys.argv[1] == "link":
        carry_frames(*sys.argv[2:5], float(sys.argv[5]), float(sys.argv[6]))
    elif sys.argv[1] == "ask":
        Asker(*sys.argv[2:4]).run()
    else:
        Keeper(*sys.argv[1:3]).run()
