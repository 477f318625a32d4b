# SPDX-License-Identifier: GPL-3.0-or-later
"""
mailstores.py - what bench/store delivers to: mail-stored and its peers, under counters of syncs.

Flow: bench/store -> Syncs, the page of memory that bench/costed_sync shares with all it is loaded
      before -> MailStored, Dovecot, Cyrus, Postfix and Sink are servers in a test case's directory ->
      load() is bench/smtp-load in front of one of them.

A server has a name, the address at which it speaks LMTP (or SMTP, when is_lmtp is not set), and
settled(), which waits until all that it took over is in mailboxes. What Syncs says about the cost of
a sync counts for all that run, at once. Servers inherit the processors of this process (Place); the
load has the last one, by itself.
"""
import collections
import glob
import itertools
import mmap
import os
import re
import shutil
import struct
import subprocess
import tempfile

from mailservers import LOAD_CORE, figures  # beside this file
from replays import Failure
import cyrus  # found by mailservers.py, as are the next
import dovecot
import harness  # found by replays.py
import mta
from harness import wait_for

USERS_MOST = 1000
REUSE = 19  # mails that follow the first one on a connection
MEDIAN, SIGMA, LARGEST = 4096, 1.48, 1 << 20
SIZES = {"size": MEDIAN, "size-sigma": SIGMA}
MAIL_STORED, UNWRITTEN, SINK = "mail-stored", "mail-stored, nothing written", "smtp-sink"
CYRUS = cyrus.PROGRAMS
SPARE = 5 << 30  # bytes that stay free on the disk, whatever is measured


# ---- syncs ----


Mode = collections.namedtuple("Mode", "name delay_ms is_off")
DISK, SLOW, OFF = Mode("this disk", 0, False), Mode("5 ms more", 5, False), Mode("no sync", 0, True)


class Syncs:
    """What bench/programs/costed_sync.c and this process have in common: see there."""

    LAYOUT = struct.Struct("=5Q")

    def __init__(self, case, programs):
        # For servers that become others, who may not read the checkout.
        self.module = case.readable_program(os.path.join(programs, "bench", "costed_sync.so"))
        self.path = case.write("syncs", bytes(mmap.PAGESIZE))
        os.chmod(self.path, 0o666)
        with open(self.path, "r+b") as file:
            self.page = mmap.mmap(file.fileno(), mmap.PAGESIZE)

    def environment(self):
        return {"LD_PRELOAD": self.module, "DNSBLV6_SYNC_FILE": self.path}

    def words(self):
        return " ".join(f"{name}={value}" for name, value in self.environment().items())

    def set(self, mode):
        struct.pack_into("=2Q", self.page, 0, round(mode.delay_ms * 1e6), mode.is_off)

    def count(self):
        """(syncs, bytes written) since the beginning."""
        return self.LAYOUT.unpack_from(self.page)[2:4]


# ---- servers ----


class Server:
    is_lmtp = True

    def __init__(self, case, syncs):
        self.case, self.syncs, self.process, self.address = case, syncs, None, None

    def start(self, command, **how):
        how.setdefault("env", {**os.environ, **self.syncs.environment()})
        self.process = self.case.start(command, self.name.replace(" ", "-"), **how)
        wait_for(self.is_listening, f"{self.name} to listen")

    def is_listening(self):
        if self.process.popen.poll() is not None:
            raise Failure(f"{self.name} has ended: {self.process.log()[-500:]}")
        return harness.is_open(self.address)

    def settled(self, _recipients):
        """All that was acknowledged has to be in mailboxes then; those before ended already."""


class MailStored(Server):
    """Ours. All that is known here about its configuration is CONF. With layer "null" it forgets."""

    CONF = """\
stored:
    directory: {directory}
    socket: {socket}
    user: {user}
    layer: {layer}
lmtp:
    listen: [ {host}@{port} ]
"""

    @staticmethod
    def find():
        """The program, or the rows are left out."""
        found = glob.glob(os.path.join(harness.BUILD, "integration", "mail", "*", MAIL_STORED))
        if not found:
            raise harness.unittest.SkipTest(f"there is no {MAIL_STORED} in {harness.BUILD}")
        return found[0]

    def __init__(self, case, syncs, layer="log"):
        self.name = MAIL_STORED if layer == "log" else UNWRITTEN
        super().__init__(case, syncs)
        program = self.find()
        self.address = host, port = case.free_address()
        self.directory = case.path("stored")
        os.mkdir(self.directory)
        shutil.chown(self.directory, dovecot.USER)
        self.config = case.write("mail-stored.conf", self.CONF.format(
            directory=self.directory, socket=case.path("stored.sock"), host=host, port=port,
            user=dovecot.USER, layer=layer))
        self.start([program, "--config", self.config])

    def anonymous_kb(self):
        """Of all its processes."""
        pids = [self.process.pid, *harness.children_of(self.process.pid)]
        return sum(harness.anonymous_kb(pid) for pid in pids)


class Dovecot(Server):
    """The fixture of the tests, with one of its formats and with all syncs on."""

    def __init__(self, case, syncs, kind):
        self.name = f"Dovecot {kind}"
        super().__init__(case, syncs)
        self.server = dovecot.Dovecot(case, lines=[
            f"mail_location = {kind}:~/mail", "mail_fsync = always", "mail_save_crlf = no",
            f"import_environment = TZ {syncs.words()}"])
        self.process, self.address = self.server.process, self.server.address


class Cyrus(Server):
    """The fixture of the tests."""

    name = "Cyrus"

    def __init__(self, case, syncs):
        super().__init__(case, syncs)
        self.server = cyrus.Cyrus(case, environment=syncs.environment())
        self.process, self.address = self.server.process, self.server.address


class Postfix(Server):
    """By SMTP, since it speaks LMTP as a client alone: into its queue, and from there to mailboxes."""

    is_lmtp = False
    SENT = re.compile(rb"postfix/virtual\[.* status=sent ")

    def __init__(self, case, syncs, kind):
        self.name = f"Postfix {kind}"
        super().__init__(case, syncs)
        end = "/" if kind == "maildir" else ""
        path = case.write("boxes", "".join(f"user{number}@example.com user{number}{end}\n"
                                           for number in range(USERS_MOST)))
        self.server = mta.Postfix(case, xclient=False, main=[
            f"virtual_mailbox_maps = texthash:{path}", "virtual_mailbox_limit = 0",
            f"import_environment = MAIL_CONFIG TZ LANG=C {syncs.words()}"])
        self.process, self.address = self.server.process, self.server.address
        self.sent, self.read = 0, 0

    def settled(self, recipients):
        """Until so many more have been put into mailboxes."""
        self.sent -= recipients
        wait_for(self._has_sent, f"{self.name} to empty its queue", 5 * harness.DEADLINE_S)

    def _has_sent(self):
        with open(self.server.log_path, "rb") as log:
            log.seek(self.read)
            text = log.read()
        text = text[:text.rfind(b"\n") + 1]
        self.read += len(text)
        self.sent += len(self.SENT.findall(text))
        return self.sent >= 0


class Sink(Server):
    """Postfix' smtp-sink, which writes nothing: what the load and a connection cost."""

    name = SINK

    def __init__(self, case, syncs):
        super().__init__(case, syncs)
        self.address = host, port = case.free_address()
        self.start([harness.peer("smtp-sink"), "-L", "-u", dovecot.USER, "-m", "1000",
                    f"{host}:{port}", "1000"])


# {name: start(case, syncs)}, in the order of the page.
SERVERS = {
    MAIL_STORED: MailStored,
    **{f"Dovecot {kind}": (lambda case, syncs, kind=kind: Dovecot(case, syncs, kind))
       for kind in ("maildir", "sdbox", "mdbox")},
    "Cyrus": Cyrus,
    **{f"Postfix {kind}": (lambda case, syncs, kind=kind: Postfix(case, syncs, kind))
       for kind in ("mbox", "maildir")},
    UNWRITTEN: lambda case, syncs: MailStored(case, syncs, "null"),
    SINK: Sink,
}
UNCOUNTED = ("Cyrus",)  # libc's stdio writes what it writes
FREE = (UNWRITTEN, SINK)  # of any write
PEERS = tuple(name for name in SERVERS if name not in (MAIL_STORED, *FREE))


# ---- load ----


class Place:
    """What all parts of the bench have: programs, a directory on the disk, counters, users."""

    def __init__(self, options, stack):
        self.options, self.programs, self.users = options, options.programs, options.users
        tempfile.tempdir = options.directory
        self.case = self.new_case(stack)
        self.syncs = Syncs(self.case, self.programs)
        cores = os.sched_getaffinity(0)
        os.sched_setaffinity(0, cores - {LOAD_CORE} or cores)

    @staticmethod
    def new_case(stack):
        """A directory of its own on the disk; it and all processes end with the stack."""
        case = harness.Case()
        case.setUp()

        def end():
            case.doCleanups()
            # Children of a server may outlive it, and make files meanwhile.
            wait_for(lambda: not os.path.exists(case.directory)
                     or shutil.rmtree(case.directory, ignore_errors=True), "a directory to go")

        stack.callback(end)
        return case

    def need_space(self, size):
        """A disk that runs full is everybody's."""
        if shutil.disk_usage(self.options.directory).free < size + SPARE:
            raise Failure(f"{self.options.directory}: less than {(size + SPARE) / 1e9:.0f} GB free")

    def settle_disk(self):
        """What one has written is no work for the disk while the next is measured."""
        subprocess.run(["sync", "-f", self.options.directory], check=True, timeout=600)

    def program(self, *path):
        return os.path.join(self.programs, *path)

    def load(self, server, recipients, **options):
        """What smtp-load says of a run against the server; each mail has so many recipients."""
        command = [self.program("bench", "smtp-load", "smtp-load"), "--pipelining", "--spam", "1",
                   "--spam-recipients", f"{recipients}-{recipients}", "--users", str(self.users),
                   "--timeout", "60"]
        if server.is_lmtp:
            command.append("--lmtp")
        for name, value in {**SIZES, "drain": 60, "reuse": REUSE, **options}.items():
            command += [f"--{name.replace('_', '-')}", str(value)]
        host, port = server.address
        return figures(subprocess.Popen(
            [*command, host, str(port)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            preexec_fn=lambda: os.sched_setaffinity(0, {LOAD_CORE})))

    def ways(self, *arguments, expect=0):
        """{"mails": 12, ...} of bench/ways, under counters."""
        done = subprocess.run(
            [self.program("bench", "ways"), "--size-sigma", str(SIGMA), *map(str, arguments)],
            capture_output=True, text=True, check=False, timeout=900,
            env={**os.environ, **self.syncs.environment()})
        if done.returncode != expect:
            raise Failure(f"ways: {done.returncode}: {done.stderr.strip()}")
        return {key: float(value) for key, value in re.findall(r"(\w+)=([0-9.]+)", done.stdout)}


class Texts:
    """Bytes of the first mails of a load, which are the same for each server."""

    def __init__(self, place, count):
        words = [word for name, value in SIZES.items() for word in (f"--{name}", str(value))]
        lines = subprocess.run(
            [place.program("bench", "smtp-load", "smtp-load"), "--print", str(count), *words],
            capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()
        column = lines[0].split("\t").index("size")
        self.sizes = [int(line.split("\t")[column]) for line in lines[1:]]
        self.ends = [0, *itertools.accumulate(self.sizes)]

    def mean_of(self, count):
        """Of so many; of more than are known, of these."""
        known = min(count, len(self.sizes))
        return self.ends[known] / known if known else 0
