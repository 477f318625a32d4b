# SPDX-License-Identifier: GPL-3.0-or-later
"""
mail-stored for tests: the daemon, and a client that speaks integration/mail/base/store/storewire.h
without our code.
"""

import array
import fcntl
import mmap
import os
import pwd
import re
import socket
import struct
import subprocess
from typing import NamedTuple

import harness
from harness import DEADLINE_S

USER = "nobody"

(HELLO, CHECK, DELIVER, ERASE, MAKE_ID, LIST, BOXES, FIND_ID, ROW, SEGMENT, STAT,
 COLLECT, LOCK, UNLOCK, CLUSTER, LOCATE, LOGIN) = range(17)
HAS_ID, HAS_MEMORY, IS_MOVED = 1, 2, 4
# Of CLUSTER.
(NODES, HEALTH, CLUSTER_CHECK, CLUSTER_CHECK_DEEP, REPAIR, USERS_PUT, USERS_STATE) = range(7)
REQUEST = struct.Struct(">4sBBHQQQ16sQB")
REPLY = struct.Struct(">4sB3xQiIQ16s")
ROW_HEAD = struct.Struct(">QQQI")  # segment, place, size, size of the meta
ENTRY = struct.Struct(">Q16sQQQQ")
EID, EFOREIGN, EBOX, EMAIL, EQUOTA, EUNSEALED = -2606, -2607, -2608, -2612, -2613, -2614
# ECONNRESET, or the store has stopped because of that and kept nothing, or what another sync had covered.
SYNCER_GONE = (-104, -2605, -2619)
ELOCK, ELOST_LOCK, EAWAY = -2616, -2617, -2618
SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
INLINE_MAX = 32768


class Reply(NamedTuple):
    type: int
    serial: int
    status: int
    count: int
    number: int
    id: str
    rows: bytes
    fds: list


def meta(sender, recipients):
    """As in MAILSTORE.md part 4."""
    return (struct.pack(">H", len(sender)) + sender + struct.pack(">I", len(recipients)) +
            b"".join(bytes([len(name)]) + name for name in recipients))


def sealed(content, seals=SEALS):
    fd = os.memfd_create("test", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    view = memoryview(content)
    while view:
        view = view[os.write(fd, view):]
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
    return fd


class Client:
    """A connection to the store; with it as a context it is closed."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(DEADLINE_S)
        self.socket.connect(path)
        self.serial = 0
        self.hello = self.take()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send_raw(self, packet, fds=()):
        control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        self.socket.sendmsg([packet], control)

    def send(self, kind, number=0, size=0, ident=None, name=b"", memory=None, fd=None, time_us=0,
             is_moved=False):
        """Returns the serial."""
        self.serial += 1
        flags = ((HAS_ID if ident else 0) | (HAS_MEMORY if memory is not None else 0) |
                 (IS_MOVED if is_moved else 0))
        packet = REQUEST.pack(b"Msr1", kind, flags, 0, self.serial, number, size,
                              bytes.fromhex(ident or "00" * 16), time_us, len(name)) + name
        self.send_raw(packet + (memory or b""), [fd] if fd is not None else [])
        return self.serial

    def take(self):
        """The next reply; ConnectionError when the daemon has closed."""
        packet, control, _, _ = self.socket.recvmsg(1 << 17, socket.CMSG_SPACE(64))
        if not packet:
            raise ConnectionResetError("closed")
        fds = [fd for _, _, data in control for fd in array.array("i", data)]
        magic, kind, serial, status, count, number, ident = REPLY.unpack_from(packet)
        assert magic == b"Msa1", packet
        return Reply(kind, serial, status, count, number, ident.hex(), packet[REPLY.size:], fds)

    def call(self, kind, **what):
        self.send(kind, **what)
        return self.take()

    # ---- what tests want ----

    def send_mail(self, text, recipients, sender=b"sender@example.net", ident=None,
                  is_moved=False, time_us=0):
        head = meta(sender, [name.encode() for name in recipients])
        content = head + text
        if len(content) <= INLINE_MAX:
            return self.send(DELIVER, number=len(head), size=len(text), ident=ident,
                             is_moved=is_moved, time_us=time_us, memory=content)
        fd = sealed(content)
        try:
            return self.send(DELIVER, number=len(head), size=len(text), ident=ident,
                             is_moved=is_moved, time_us=time_us, fd=fd)
        finally:
            os.close(fd)

    def deliver(self, text, recipients, **how):
        """The mail's id."""
        self.send_mail(text, recipients, **how)
        reply = self.take()
        assert reply.status == 0, reply
        return reply.id

    def rows(self, reply):
        if not reply.fds:
            return reply.rows
        with mmap.mmap(reply.fds[0], 0, mmap.MAP_PRIVATE, mmap.PROT_READ) as view:
            content = bytes(view)
        os.close(reply.fds[0])
        return content

    def entries(self, box):
        """[(mail's number, id, octets), ...] of a mailbox."""
        found, start = [], 0
        while True:
            reply = self.call(LIST, number=start, size=65536, name=box.encode())
            assert reply.status == 0, reply
            rows = list(ENTRY.iter_unpack(self.rows(reply)))
            found += [(mail, ident.hex(), octets) for mail, ident, octets, *_ in rows]
            if not rows:
                return found
            start = rows[-1][0] + 1

    def erase(self, box, mails):
        name = box.encode()
        content = (bytes([len(name)]) + name + struct.pack(">I", len(mails)) +
                   b"".join(struct.pack(">Q", mail) for mail in mails))
        return self.call(ERASE, size=len(content), memory=content).status

    def ask(self, question, memory=None):
        """Lines of a reply to CLUSTER, each as a dictionary."""
        reply = self.call(CLUSTER, number=question, size=len(memory or b""), memory=memory)
        assert reply.status == 0, reply
        rows = []
        for line in self.rows(reply).decode().splitlines():
            words, _, text = f" {line}".partition(" text=")
            row = dict(word.split("=", 1) for word in words.split())
            rows.append({**row, "text": text} if text else row)
        return rows

    def lock(self, box):
        return self.call(LOCK, name=box.encode()).status

    def unlock(self):
        return self.call(UNLOCK).status

    def stat(self, own=False):
        """Of all nodes, or of the daemon's own store."""
        names = ("mails", "entries", "refused", "next-lsn", "segments", "log-bytes", "live-bytes",
                 "syncs", "written", "copied", "reclaimed", "has-failed")
        reply = self.call(STAT, number=int(own))
        assert reply.status == 0, reply
        return dict(zip(names, struct.unpack(">12Q", reply.rows)))


class Stored:
    """
    mail-stored of a test case: items of its configuration as stored={"quota-octets": "1M"} and
    lmtp={"listen": [...]}.
    """

    BEGUN = r"^info: \[mail-stored\] ready, "

    def __init__(self, case, is_started=True, name="stored", directory=None, **sections):
        self.case = case
        self.name = name
        self.directory = directory or case.path("store")
        self.socket = case.path(f"{name}.socket")
        self.process = None
        self.sections = {"stored": {"directory": self.directory, "socket": self.socket},
                         "lmtp": {}}
        if os.geteuid() == 0:
            self.sections["stored"]["user"] = USER
        for name, items in sections.items():
            self.sections.setdefault(name, {}).update(items)
        self.config_path = self.write_config()
        if is_started:
            self.start()

    def write_config(self, **sections):
        """Again, with items over those before. Returns the path."""
        for name, items in sections.items():
            self.sections[name].update(items)

        def text(value):
            return f"[ {', '.join(f'{one}' for one in value)} ]" if isinstance(value, list) else value

        return self.case.write(f"{self.name}.conf", "".join(
            f"{name}:\n" + "".join(f"    {item}: {text(value)}\n" for item, value in items.items())
            for name, items in self.sections.items() if items))

    def make_directory(self):
        """As an operator has to."""
        if not os.path.exists(self.directory):
            os.mkdir(self.directory, 0o700)
            if os.geteuid() == 0:
                os.chown(self.directory, pwd.getpwnam(USER).pw_uid, pwd.getpwnam(USER).pw_gid)

    def start(self, **how):
        self.launch(**how)
        self.wait_until_ready()
        return self.process

    def launch(self, **how):
        self.make_directory()
        self.process = self.case.start([harness.program("mail-stored"), "--config",
                                        self.config_path], self.name, **how)

    def wait_until_ready(self):
        self.process.wait_for_log(self.BEGUN)

    def stop(self):
        return self.process.stop()

    def wait_for_log(self, pattern, count=1):
        return self.process.wait_for_log(pattern, count)

    def client(self):
        return Client(self.socket)

    def pid_of(self, role):
        """Of the process that is called so; None when there is none."""
        for pid in self.process.children():
            try:
                with open(f"/proc/{pid}/comm", encoding="ascii") as file:
                    if file.read().strip() == role:
                        return pid
            except OSError:
                continue
        return None

    def run_tool(self, *arguments, at=None, status=0, stdin=b""):
        """mail-store COMMAND on the running daemon, or on a store; what it prints."""
        result = subprocess.run(
            [harness.program("mail-store"), arguments[0], "--store", at or self.socket, *arguments[1:]],
            input=stdin, capture_output=True, timeout=DEADLINE_S, check=False)
        self.case.assertEqual(result.returncode, status, result.stderr)
        return result.stdout

    def fsck(self):
        """Of the store at rest."""
        return self.run_tool("fsck", at=self.directory)

    def counters(self):
        """{name: number} of the line that SIGUSR1 brings."""
        pattern = r"^info: \[mail-stored\] counters, (.*)"
        seen = len(re.findall(pattern, self.process.log(), re.MULTILINE))
        self.process.send_signal(10)
        line = self.wait_for_log(pattern, seen + 1)[-1]
        return {name: int(number) for name, number in
                (word.split("=") for word in line.split() if "=" in word)}
