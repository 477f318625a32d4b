# SPDX-License-Identifier: GPL-3.0-or-later
"""
disks.py - a disk for a store of a node, which loses its power, dies and fills up. For root.

    enter_own_mounts()                 before the first of them
    disk = Disk(directory, owner)      an empty ext4 in a file beside the directory, mounted there
    disk.cut(pids)                     from now on each write and each sync fails, and nothing reaches the disk
    disk.revive()                      what was in memory alone is gone; nothing has a file of it open
    disk.fill(); disk.empty()
    disk.freeze(); disk.thaw()         each write between waits, and the process of it cannot be killed

ioctl(2) stops ext4 without its journal (xfstests' "godown"). It may not be within fsync(), which then says that
all is well with what is lost: so processes that use the disk stand still meanwhile.
"""

import ctypes
import errno
import fcntl
import os
import signal
import struct
import subprocess

from clusters import send
from harness import state_of, wait_for

CLONE_NEWNS = 0x20000
BYTES = 1 << 30  # a sparse file
SHUTDOWN = 0x8004587D  # EXT4_IOC_SHUTDOWN
NO_LOG_FLUSH = 2


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
