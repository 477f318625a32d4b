# SPDX-License-Identifier: GPL-3.0-or-later
"""
disks.py - disks of one test, which lose their power, die and fill up. For root.

    enter_own_mounts()                 before the first of them
    disk = Disk(directory, owner)      an empty ext4 in a file beside the directory, mounted there
    disk.cut(pids)                     from now on each write and each sync fails, and nothing reaches the disk
    disk.revive()                      what was in memory alone is gone; nothing has a file of it open
    disk.fill(); disk.empty()
    disk.freeze(); disk.thaw()         each write between waits, and the process of it cannot be killed

ioctl(2) stops ext4 without its journal (xfstests' "godown"). It may not be within fsync(), which then says that
all is well with what is lost: so processes that use the disk stand still meanwhile.

    disk = ClonedDisk(case, "ext4")    or "xfs"; for programs that go on, and amid a sync
    ... programs write below disk.path ...
    with disk.after_power_loss() as path:
        ... what is below path? ...

It is a file on XFS, which clones it at one moment (FICLONE). A clone has all that the file system has written by
then: a disk that keeps back what it was not told to flush, or mixes it, loses more.
"""

import contextlib
import ctypes
import errno
import fcntl
import os
import signal
import struct
import subprocess
import unittest

from clusters import send
from harness import peer, state_of, wait_for

CLONE_NEWNS = 0x20000
BYTES = 1 << 30  # a sparse file
SHUTDOWN = 0x8004587D  # EXT4_IOC_SHUTDOWN
NO_LOG_FLUSH = 2
FICLONE = 0x40049409
# A clone has the name of what it is a clone of.
MOUNT_OPTIONS = {"ext4": "loop", "xfs": "loop,nouuid"}
CLONED_BYTES = 320 << 20  # XFS has no smaller ones


def enter_own_mounts():
    """
    What this thread and its children mount from now on goes with them, and no other process has it, which would
    keep the file system as it is behind umount.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    run("mount", "--make-rprivate", "/")


def run(*words):
    subprocess.run(words, check=True, capture_output=True, timeout=120)


class Disk:
    """See above. owner is (user, group) of the directory."""

    def __init__(self, directory, owner):
        self.directory, self.image = directory, f"{directory}.ext4"
        os.makedirs(directory, exist_ok=True)
        with open(self.image, "wb") as file:
            file.truncate(BYTES)
        run("mkfs.ext4", "-q", self.image)
        self._mount()
        os.rmdir(os.path.join(directory, "lost+found"))
        os.chown(directory, *owner)

    def _mount(self):
        run("mount", "-o", "loop", self.image, self.directory)

    def cut(self, pids):
        """These processes are stopped afterwards."""
        send(pids, signal.SIGSTOP)
        wait_for(lambda: all(state_of(pid) in "TtZX" for pid in pids), f"processes that stand still: {pids}")
        fd = os.open(self.directory, os.O_RDONLY)
        fcntl.ioctl(fd, SHUTDOWN, struct.pack("I", NO_LOG_FLUSH))
        os.close(fd)

    def revive(self):
        self.end()
        self._mount()

    def fill(self):
        """To the last block."""
        with open(os.path.join(self.directory, "filling"), "wb", buffering=0) as file:
            for size in (1 << 20, 4096):
                try:
                    while True:
                        file.write(bytes(size))
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise

    def empty(self):
        os.remove(os.path.join(self.directory, "filling"))

    def freeze(self):
        run("fsfreeze", "--freeze", self.directory)

    def thaw(self):
        run("fsfreeze", "--unfreeze", self.directory)

    def end(self):
        run("umount", self.directory)


class ClonedDisk:
    """See above. It is mounted at case.path(name) until the case ends."""

    def __init__(self, case, kind, name="disk"):
        if os.geteuid() != 0:
            raise unittest.SkipTest("only root mounts file systems")
        self.case, self.kind = case, kind
        enter_own_mounts()
        clones = self._make("xfs", case.path("clones.xfs"), 4 * BYTES, case.path("clones"))
        self.image, self.clone = os.path.join(clones, "disk"), os.path.join(clones, "clone")
        self.path = self._make(kind, self.image, CLONED_BYTES, case.path(name))

    def _make(self, kind, image, size, path):
        with open(image, "wb") as file:
            file.truncate(size)
        run(peer(f"mkfs.{kind}"), "-q", image)
        self._mount(kind, image, path)
        # With programs that still run: it goes when they have ended.
        self.case.addCleanup(run, "umount", "--lazy", path)
        return path

    @staticmethod
    def _mount(kind, image, path):
        os.makedirs(path, exist_ok=True)
        try:
            run("mount", "-t", kind, "-o", MOUNT_OPTIONS[kind], image, path)
        except subprocess.CalledProcessError as error:
            raise unittest.SkipTest(f"no loop device, or no {kind}: {error.stderr.decode().strip()}") from error

    @contextlib.contextmanager
    def after_power_loss(self):
        """What a start would find now, mounted at another path; programs go on with what they have."""
        with open(self.image, "rb") as source, open(self.clone, "wb") as file:
            fcntl.ioctl(file.fileno(), FICLONE, source.fileno())
        path = self.case.path("after")
        self._mount(self.kind, self.clone, path)
        try:
            yield path
        finally:
            run("umount", path)
            os.unlink(self.clone)
