# SPDX-License-Identifier: GPL-3.0-or-later
"""
usersdisks.py - what servers of bench/mail-users stand on: disks that are counted and may be slow, and memory.

Flow: bench/mail-users -> Group, and Disks -> path("mailbox"), path("index"), path("queue") -> stat() -> close().

Each path is an ext4 of its own on a loop device, so that the kernel counts its requests and bytes. Without a limit
each has an image. With one, they are parts of one device that has an image, and that does no more requests a second
than the limit says: all together, as two disks would that have all paths. No file system lies between, whose own
requests would count. A flush counts as a request. Images are allocated before they are used.

Mounts are in a mount namespace of this process, images have no name once their devices have them, and devices
are given back by the kernel when the last that uses them has ended. So nothing is left of a bench that is killed, but
for what Keeper takes down: a process that waits for this one's end, which undoes all in order, whoever ends it.

Loop devices, mounts and groups need root: Missing says what is not there. Without disks, servers
have directories in the case's directory (Directories).
"""
import atexit
import collections
import contextlib
import ctypes
import functools
import glob
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys

sys.path.insert(1, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from replays import Failure  # noqa: E402  (of bench)
from harness import wait_for  # noqa: E402  (found by replays.py)

PATHS = ("mailbox", "index", "queue")
SECTOR = 512  # bytes, in what the kernel says of any disk
SPARE = 5 << 30  # bytes that stay free on the disk below, whatever is measured
MIB = 1 << 20
IMAGE_LEAST = 16 * MIB
CLONE_NEWNS = 0x20000
PATIENCE_S = 10  # with processes that were told to end
GROUPS = "/sys/fs/cgroup"

# Requests a second of a device.
Limit = collections.namedtuple("Limit", "read write")
# Two of 7,200 turns a minute: a turn and a seek are 8.3 ms, so that each does some 120 requests.
TWO_SATA = Limit(240, 240)

# Since the device was made. wait_ms: of all requests, from their beginning to their end; busy_ms: while there was any.
Moved = collections.namedtuple("Moved", "requests_read requests_written bytes_read bytes_written wait_ms busy_ms")


class Missing(Failure):
    """Of this machine; the text says what."""


def need_root():
    if os.geteuid() != 0:
        raise Missing("loop devices, mounts and groups of processes need root")


def run(*words):
    """What a command prints; it has to succeed."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=600)
    except FileNotFoundError:
        raise Missing(f"{words[0]} is not installed") from None
    if done.returncode != 0:
        raise Failure(f"{' '.join(words)}: {done.stderr.strip() or done.returncode}")
    return done.stdout.strip()


def read(path):
    with open(path, encoding="ascii") as file:
        return file.read()


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


# ---- what is taken down ----


class Keeper:
    """Commands of sh that a process of its own runs when this one ends or says so, the last one first."""

    def __init__(self):
        self.process = subprocess.Popen([sys.executable, "-B", os.path.abspath(__file__)], stdin=subprocess.PIPE,
                                        text=True, start_new_session=True)
        self.owner = os.getpid()
        atexit.register(self.end)

    def undo(self, command):
        """Told before what it undoes is done, so that it must not matter whether it was."""
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()

    def end(self):
        """All of it, now. A child of this process that ends has nothing to do with it."""
        if self.process.returncode is None and os.getpid() == self.owner:
            self.process.stdin.close()
            self.process.wait(120)
        atexit.unregister(self.end)


def keep():
    """The keeper's own life: what a terminal or a service says to the bench is nothing to it."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    for command in reversed(sys.stdin.read().splitlines()):
        subprocess.run(["sh", "-c", command], check=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, timeout=60)


# ---- groups of processes ----


class Group:
    """
    Processes that start within entered(), and all that come of them: their memory, which may have a limit that
    counts what files have in memory, and the time that they have had of processors. memory: bytes, or None.

    Of version 1 of control groups there is one in each hierarchy, below this process's own, whose limits are
    theirs too. Of version 2 there is one below the root, since groups with processes have none below them.
    """

    def __init__(self, memory=None):
        need_root()
        self.name = f"dnsblv6-bench-{os.getpid()}-{id(self):x}"
        self.is_second = os.path.exists(f"{GROUPS}/cgroup.controllers")
        self.paths = {kind: path for kind in ("memory", "cpuacct") if (path := self._place(kind))}
        if not self.paths or memory is not None and "memory" not in self.paths:
            raise Missing(f"no groups of processes for memory and processors below {GROUPS}")
        self.keeper = Keeper()
        self._make()
        if memory is not None:
            write(self.file("memory", "memory.max" if self.is_second else "memory.limit_in_bytes"), f"{memory}")

    def _place(self, kind):
        """None: there is no such controller."""
        if self.is_second:
            wanted = {"memory": "memory", "cpuacct": "cpu"}[kind]
            has = wanted in read(f"{GROUPS}/cgroup.subtree_control").split() or kind == "cpuacct"
            return f"{GROUPS}/{self.name}" if has else None
        if not os.path.exists(f"{GROUPS}/{kind}/cgroup.procs"):
            return None
        return f"{GROUPS}/{kind}{self._own(kind).rstrip('/')}/{self.name}"

    @staticmethod
    def _own(kind):
        """Of this process, in the hierarchy that has the controller."""
        for line in read("/proc/self/cgroup").splitlines():
            _, kinds, path = line.split(":", 2)
            if kind in kinds.split(","):
                return path if os.path.isdir(f"{GROUPS}/{kind}{path}") else "/"
        return "/"

    def _make(self):
        try:
            for path in set(self.paths.values()):
                # Who is in it still has come of this bench.
                word = shlex.quote(path)
                self.keeper.undo(f"for turn in 1 2 3 4 5 6 7 8 9; do [ -d {word} ] || break;"
                                 f" kill -9 $(cat {word}/cgroup.procs); rmdir {word} && break; sleep 0.3; done")
                os.makedirs(path, exist_ok=True)
        except OSError as error:
            self.keeper.end()
            raise Missing(f"no group of processes: {error}") from None

    def file(self, kind, name):
        return os.path.join(self.paths[kind], name)

    def entered(self):
        """A context: what this thread starts within is of the group."""
        return Entered(self)

    def pids(self):
        """Of all its processes."""
        return [int(word) for word in read(os.path.join(next(iter(self.paths.values())), "cgroup.procs")).split()]

    def cpu_s(self):
        """(user, system) of all that were ever in it; None: nothing counts them."""
        if self.is_second:
            found = dict(line.split() for line in read(self.file("cpuacct", "cpu.stat")).splitlines())
            return int(found["user_usec"]) / 1e6, int(found["system_usec"]) / 1e6
        if "cpuacct" not in self.paths:
            return None
        # In nanoseconds where the kernel has them.
        names = [self.file("cpuacct", f"cpuacct.usage_{name}") for name in ("user", "sys")]
        if all(map(os.path.exists, names)):
            return tuple(int(read(name)) / 1e9 for name in names)
        found = dict(line.split() for line in read(self.file("cpuacct", "cpuacct.stat")).splitlines())
        return tuple(int(found[name]) / os.sysconf("SC_CLK_TCK") for name in ("user", "system"))

    def memory(self):
        """{"anonymous": bytes, "files": bytes}; None: nothing counts them."""
        if "memory" not in self.paths:
            return None
        found = dict(line.split() for line in read(self.file("memory", "memory.stat")).splitlines())
        names = ("anon", "file") if self.is_second else ("total_rss", "total_cache")
        return dict(zip(("anonymous", "files"), (int(found[name]) for name in names)))

    def drop_caches(self):
        """What files of the group have in memory, as far as nothing maps it."""
        subprocess.run(["sync"], check=True, timeout=600)
        if self.is_second:
            path, text = self.file("memory", "memory.reclaim"), f"{self.memory()['files']}"
        else:
            path, text = self.file("memory", "memory.force_empty"), "0"
        try:
            write(path, text)
        except OSError:
            pass  # the kernel tells so that something is left, such as the memory of processes

    def limit_requests(self, device, limit):
        """Of version 2: what its processes do to a device; None: no limit."""
        if self.is_second:
            words = ("max", "max") if limit is None else limit
            write(os.path.join(next(iter(self.paths.values())), "io.max"),
                  "{} riops={} wiops={}".format(device, *words))

    def end_processes(self):
        """Those that were told to end, and what they have left behind, such as deliveries on their way."""
        try:
            wait_for(lambda: not self.pids(), "processes to end", PATIENCE_S)
        except AssertionError:
            for pid in self.pids():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            wait_for(lambda: not self.pids(), "processes to be killed")

    def close(self):
        """Its processes have ended, or do now."""
        self.keeper.end()


class Entered:
    def __init__(self, group):
        self.group, self.before = group, {}

    def __enter__(self):
        for kind, path in self.group.paths.items():
            own = GROUPS + next(line.split(":", 2)[2] for line in read("/proc/self/cgroup").splitlines()
                                ) if self.group.is_second else f"{GROUPS}/{kind}{self.group._own(kind)}"
            self.before[kind] = own
            write(os.path.join(path, "cgroup.procs"), f"{os.getpid()}")

    def __exit__(self, *_):
        for path in self.before.values():
            write(os.path.join(path, "cgroup.procs"), f"{os.getpid()}")


# ---- disks ----


@functools.cache
def own_mounts():
    """From here on, mounts of this thread are seen by it and by what it starts, and end with them."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS) == 0:
        run("mount", "--make-rprivate", "/")


def make_image(keeper, directory, name, size):
    """Its path; whoever has it open takes its name away."""
    path = os.path.join(directory, f"{name}.image")
    keeper.undo(f"rm -f {shlex.quote(path)}")
    with open(path, "wb") as file:
        os.posix_fallocate(file.fileno(), 0, size)
    return path


class Loop:
    """A loop device that has a file, or a part of a device."""

    def __init__(self, keeper, below, offset, size):
        self.below = below
        if not os.path.isdir("/sys/block"):
            raise Missing("no /sys/block, which says what a loop device does")
        words = ("--offset", f"{offset}", "--sizelimit", f"{size}")
        try:
            self.device = run("losetup", "--find", "--show", *words, below)
        except Failure as error:
            raise Missing(f"no loop device ({error})") from None
        self.name = os.path.basename(self.device)
        # Another may have the device when it is undone.
        keeper.undo(f"grep -qF {shlex.quote(below)} {self.file('loop/backing_file')} && losetup -d {self.device}")
        # Past the memory of files; where what is below cannot, files are in memory twice.
        subprocess.run(["losetup", "--direct-io=on", self.device], check=False, capture_output=True, timeout=60)
        self.is_direct = read(self.file("loop/dio")).strip() == "1"

    def let_go(self):
        """It is given back with the last that uses it, and the image with it."""
        run("losetup", "-d", self.device)
        if not self.below.startswith("/dev/"):
            os.unlink(self.below)

    def file(self, name):
        return f"/sys/block/{self.name}/{name}"

    def numbers(self):
        """7:3, as the kernel calls it."""
        return read(self.file("dev")).strip()

    def stat(self):
        """What it has moved, as Moved."""
        words = [int(word) for word in read(self.file("stat")).split()]
        return Moved(words[0], words[4], words[2] * SECTOR, words[6] * SECTOR, words[3] + words[7], words[9])

    def is_free(self):
        return not os.path.exists(self.file("loop/backing_file"))


def mount(keeper, loop, path):
    """With an ext4 of its own."""
    # The tables of inodes are written now, and nothing is given back to the image below.
    run("mkfs.ext4", "-q", "-F", "-m", "0", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0", loop.device)
    os.makedirs(path, exist_ok=True)
    keeper.undo(f"umount -l {shlex.quote(path)}")
    try:
        run("mount", "-t", "ext4", "-o", "noatime", loop.device, path)
    except Failure as error:
        raise Missing(f"no mounts ({error})") from None
    loop.let_go()


class Throttle:
    """
    At most so many requests a second of a device. Control groups of version 1 know it of the root, by which writes
    go that come out of memory, and of this process's own group; of version 2, of the server's group.
    """

    def __init__(self, keeper, loop, limit, group):
        self.device, self.limit, self.group = loop.numbers(), limit, group
        self.files = self._files()
        if not self.files and not (group is not None and group.is_second and os.path.exists(
                os.path.join(next(iter(group.paths.values())), "io.max"))):
            raise Missing("no limit for a disk: no blkio.throttle of control groups, and no io.max of a group")
        for path, _ in self.files:
            keeper.undo(f"echo {self.device} 0 > {shlex.quote(path)}")

    @staticmethod
    def _files():
        """(path, index of Limit)"""
        own = Group._own("blkio")
        return [(path, at) for place in sorted({"/", own})
                for at, name in enumerate(("read", "write"))
                if os.path.exists(path := f"{GROUPS}/blkio{place.rstrip('/')}/blkio.throttle.{name}_iops_device")]

    def set(self, is_on):
        for path, at in self.files:
            write(path, f"{self.device} {self.limit[at] if is_on else 0}")
        if self.group is not None:
            self.group.limit_requests(self.device, self.limit if is_on else None)


class Disks:
    """
    A disk for each path that sizes has, {"mailbox": bytes, ...}, in the case's directory. The thread that makes it
    sees it, and what that starts.

        limit        of all together, set by set_limit() or at once
        index_apart  the index is not among those that share the limit
        group        that of the servers, by which version 2 of control groups limits
    """

    def __init__(self, case, sizes, limit=None, index_apart=False, group=None):
        need_root()
        self.directory = case.path(f"disks-{id(self):x}")
        sizes = {name: -(-max(size, IMAGE_LEAST) // MIB) * MIB for name, size in sizes.items()}
        self.loops, self.outer, self.throttle = {}, None, None
        self._need_space(sum(sizes.values()))
        own_mounts()
        self.keeper = Keeper()
        self.keeper.undo(f"rm -rf --one-file-system {shlex.quote(self.directory)}")
        try:
            os.mkdir(self.directory)
            self._make(sizes, limit, index_apart, group)
        except BaseException:
            self.keeper.end()
            raise

    def _make(self, sizes, limit, index_apart, group):
        shared = [name for name in sizes if not (index_apart and name == "index")] if limit else []
        at = 0
        if limit:
            size = sum(sizes[name] for name in shared)
            image = make_image(self.keeper, self.directory, "outer", size)
            self.outer = Loop(self.keeper, image, 0, size)
        for name, size in sizes.items():
            if name in shared:
                self.loops[name] = Loop(self.keeper, self.outer.device, at, size)
                at += size
            else:
                image = make_image(self.keeper, self.directory, name, size)
                self.loops[name] = Loop(self.keeper, image, 0, size)
        if self.outer is not None:
            self.outer.let_go()
        for name, loop in self.loops.items():
            mount(self.keeper, loop, self.path(name))
        if limit:
            # The last, so that it is the first to be undone: another may have the device then.
            self.throttle = Throttle(self.keeper, self.outer, limit, group)
            self.set_limit(True)

    def _need_space(self, size):
        """A disk that runs full is everybody's."""
        where = os.path.dirname(self.directory)
        if shutil.disk_usage(where).free < size + SPARE:
            raise Failure(f"{where}: less than {(size + SPARE) / 1e9:.0f} GB free")

    def path(self, name):
        """Where it is mounted."""
        return os.path.join(self.directory, f"on-{name}")

    def set_limit(self, is_on):
        """A store is filled faster without."""
        if self.throttle is not None:
            self.throttle.set(is_on)

    def stat(self):
        """{"mailbox": Moved, ...}"""
        return {name: loop.stat() for name, loop in self.loops.items()}

    def settle(self):
        """What was written is on the disks, and is no work for them while something is measured."""
        for name in self.loops:
            run("sync", "-f", self.path(name))

    def facts(self):
        """For a page: what the devices are."""
        direct = all(loop.is_direct for loop in self.loops.values())
        return (f"ext4 on loop devices, {'past' if direct else 'through'} the memory of files"
                + (f", of which all together do at most {self.throttle.limit.read} reads and"
                   f" {self.throttle.limit.write} writes a second" if self.throttle else ""))

    def close(self):
        """The servers have ended. A mount that something uses still goes when that ends."""
        self.set_limit(False)
        self.keeper.end()
        wait_for(lambda: all(loop.is_free() for loop in [*self.loops.values(), self.outer] if loop),
                 "loop devices to be given back")


class Directories:
    """The same where nothing is counted: directories of the case."""

    throttle = None

    def __init__(self, case):
        self.directory = case.path(f"directories-{len(glob.glob(case.path('directories-*')))}")
        for name in PATHS:
            os.makedirs(os.path.join(self.directory, name))

    def path(self, name):
        return os.path.join(self.directory, name)


def left_over():
    """Loop devices that have an image of this module: for tests."""
    found = []
    for path in glob.glob("/sys/block/loop*/loop/backing_file"):
        try:
            found += re.findall(r".*/disks-[0-9a-f]+/.*", read(path))
        except OSError:
            continue  # given back meanwhile
    return found


if __name__ == "__main__":
    keep()
