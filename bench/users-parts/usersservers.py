# SPDX-License-Identifier: GPL-3.0-or-later
"""
usersservers.py - what bench/mail-users puts under load: mailboxes with IMAP, and what takes mails before them.

Flow: bench/mail-users -> SERVERS[name](case, disks, group) -> .sink is set -> start() -> imap, smtp, submit, lmtp.

A store (Dovecot, Cyrus) has mailboxes; a door (Exim, Postfix, or smtp-front beside a Postfix) takes mails, gives those
of the store's domain to its LMTP, and those of the other domain to the sink. Both are fixtures of the tests, in
directories of their own, and have Debian's settings but for what the fixtures and NOTES below say: above all what
they sync is theirs. smtp-front takes mails for users of the domain alone, from anywhere, and knows no users who send:
what its users submit goes to the Postfix beside it, for their own domain, too.

disks has a path for each of mailbox, index and queue (usersdisks.py); group has all processes, where there is one.
"""
import contextlib
import gzip
import os
import subprocess
import sys

sys.path.insert(1, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import usersdisks  # noqa: E402  (beside this file)
from mailservers import front, harness, mta  # noqa: E402  (of bench)
import cyrus  # noqa: E402  (of tests/integration/base, as is the next)
import dovecot  # noqa: E402

DOMAIN, REMOTE = "example.com", "example.net"
NETWORK = "127.0.0.0/8"
SESSIONS = 2000  # of SMTP at a time

NOTES = {
    "Dovecot": f"{dovecot.SESSIONS:,} sessions of IMAP at a time (100), any number of one user (10), passwords in the"
               " clear and one for all; mail_fsync is optimized, as it comes",
    "Cyrus": f"{cyrus.SESSIONS:,} sessions of IMAP at a time (100), passwords in the clear and one for all, no"
             " suppression of duplicates, no idled; EXPUNGE is delayed, as it comes",
    "Exim": f"{SESSIONS:,} sessions at a time (20), all mails of a connection are delivered at once (10)",
    "Postfix": f"{SESSIONS:,} sessions at a time of one client (50)",
    "smtp-front": "no pause before its greeting, no limit for a client; all addresses of the domain are valid",
}
PACKAGES = {"Dovecot": "dovecot-imapd", "Cyrus": "cyrus-common", "Exim": "exim4-daemon-heavy", "Postfix": "postfix"}


def at(address, separator=":"):
    return f"{address[0]}{separator}{address[1]}"


# ---- doors ----


class Exim:
    """The tests' own, which gives mails on as they come, and looks into its queue as often as Debian's."""

    parts = ("Exim",)

    def __init__(self, case, queue, lmtp, sink):
        self.server = mta.Exim(
            case, proxy=False, acl=(f"accept hosts = {NETWORK}",), spool=queue, runs="30m",
            main=(f"smtp_accept_max = {SESSIONS}", "smtp_accept_queue_per_connection = 0",
                  "smtp_accept_max_per_connection = 0"),
            transport=self._client(lmtp, "protocol = lmtp"),
            routers=("remote:", "  driver = manualroute", f"  domains = {REMOTE}",
                     f"  route_list = * {sink[0]} byname", "  self = send", "  transport = remote"),
            transports=("remote:", *(f"  {line}" for line in self._client(sink))))
        self._replace_items()
        self.server.start()
        self.smtp = self.submit = self.server.address
        self.processes = [self.server.process]

    @staticmethod
    def _client(address, *more):
        return ("driver = smtp", *more, f"hosts = {address[0]}", f"port = {address[1]}", "allow_localhost",
                "hosts_override")

    def _replace_items(self):
        """Exim takes an item once."""
        with open(self.server.config, encoding="utf-8") as file:
            text = file.read()
        self.server.write("exim.conf", text.replace("smtp_accept_max = 200\n", "", 1))


class Postfix:
    """The tests' own, with Debian's limits."""

    parts = ("Postfix",)

    def __init__(self, case, queue, lmtp, sink):
        self.server = mta.Postfix(
            case, xclient=False, queue=queue,
            main=("default_process_limit = 100", "in_flow_delay = 1s", f"mynetworks = {NETWORK}",
                  f"smtpd_client_connection_count_limit = {SESSIONS}",
                  "smtpd_recipient_restrictions = permit_mynetworks, reject_unauth_destination",
                  f"virtual_transport = lmtp:inet:{at(lmtp)}",
                  f"transport_maps = inline:{{ {{ {REMOTE} = smtp:[{sink[0]}]:{sink[1]} }} }}"),
            master=("lmtp unix - - n - - lmtp", "smtp unix - - n - - smtp", "scache unix - - n - 1 scache"))
        self.smtp = self.submit = self.server.address
        self.processes = [self.server.process]


class FrontBeside:
    """smtp-front for what comes from outside, and a Postfix for what users submit."""

    parts = ("smtp-front", "Postfix")

    def __init__(self, case, queue, lmtp, sink):
        self.postfix = Postfix(case, queue, lmtp, sink)
        self.front = front.Front(case, users=[f"@{DOMAIN}"], sink={"kind": "lmtp", "to": at(lmtp, "@")},
                                 front={"edges": 1, "workers": 100, "sessions": SESSIONS})
        self.smtp, self.submit = self.front.address, self.postfix.submit
        self.processes = [self.front.process, *self.postfix.processes]


DOORS = {"exim": Exim, "postfix": Postfix, "smtp-front": FrontBeside}


# ---- stores ----


def start_dovecot(kind):
    def start(case, mailbox, index, certificate):
        return dovecot.Dovecot(case, imap=True, kind=kind, homes=mailbox, index=index, certificate=certificate,
                               lines=("mail_save_crlf = no",))
    return start, "Dovecot"


def start_cyrus(case, mailbox, index, certificate):
    return cyrus.Cyrus(case, imap=True, spool=mailbox, index=index, certificate=certificate)


STORES = {**{f"dovecot-{kind}": start_dovecot(kind) for kind in ("maildir", "sdbox", "mdbox")},
          "cyrus": (start_cyrus, "Cyrus")}


class Server:
    """
    A store and its door. sink has to be set before start(): (host, port) where mails for remote are taken.

        imap, smtp, submit, lmtp   (host, port), from start() on; imaps where there is a certificate
    """

    domain, remote, password, name_template = DOMAIN, REMOTE, dovecot.PASSWORD, "user%d"
    imap = imaps = smtp = submit = lmtp = sink = None

    def __init__(self, name, case, disks=None, group=None, certificate=None):
        self.name, self.case, self.group, self.certificate = name, case, group, certificate
        self.disks = disks or usersdisks.Directories(case)
        store, _, door = name.partition("+")
        self.start_store, self.store_name = STORES[store]
        self.make_door = DOORS[door]
        self.store, self.door, self.first = None, None, None
        self.parts = (self.store_name, *self.make_door.parts)

    def start(self):
        self.first = len(self.case.processes)
        with self.group.entered() if self.group is not None else contextlib.nullcontext():
            self.store = self.start_store(self.case, self._directory("mailbox"), self._directory("index"),
                                          self.certificate)
            self.imap, self.imaps, self.lmtp = self.store.imap_address, self.store.imaps_address, self.store.address
            self.door = self.make_door(self.case, self._directory("queue"), self.lmtp, self.sink)
        self.smtp, self.submit = self.door.smtp, self.door.submit

    def _directory(self, name):
        """Beside what the file system itself has in its own."""
        path = os.path.join(self.disks.path(name), name)
        os.makedirs(path, exist_ok=True)
        return path

    def user(self, number):
        """An address; what stands before its @ is the name to log in with."""
        return f"{self.name_template % number}@{self.domain}"

    def pids(self):
        """Of all its processes, those of the moment too."""
        if self.group is not None:
            return self.group.pids()
        logins = getattr(self.store, "logins", None)
        roots = [*self.door.processes, self.store.process, *([logins] if logins else [])]
        return [pid for process in roots for pid in harness.tree_of(process.pid)]

    def stop(self):
        """All that start() has begun, also when it came no further."""
        for process in reversed(self.case.processes[self.first:] if self.first is not None else []):
            process.stop()
        if self.group is not None:
            self.group.end_processes()
        self.store = self.door = self.first = None

    def revive(self):
        """Begun anew when a process that should be there has ended, as one does that memory has run out for: was it?"""
        if all(process.popen.poll() is None for process in (*self.door.processes, self.store.process)):
            return False
        self.stop()
        self.start()
        return True

    def drop_caches(self):
        """
        What files have in memory: of its group alone. Without one of the machine, which is everything else's
        loss, too.
        """
        if self.group is not None:
            self.group.drop_caches()
            return
        usersdisks.need_root()
        usersdisks.run("sync")
        usersdisks.write("/proc/sys/vm/drop_caches", "3")

    def versions(self):
        """["Dovecot 1:2.3.19.1+dfsg1-2.1+deb12u7", ...]"""
        return [f"{part} {version_of(part)}" for part in self.parts]

    def notes(self):
        """What is not as Debian has it, for a page."""
        return [f"{part}: {NOTES[part]}" for part in self.parts]


def version_of(part):
    """Of Debian's package, which may be one that is unpacked alone; of ours, what the program says."""
    if part not in PACKAGES:
        said = subprocess.run([harness.program(part), "-V"], capture_output=True, text=True, check=False,
                              timeout=60).stdout.split()
        return said[1] if len(said) > 1 else "of this tree"
    said = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Status} ${Version}", PACKAGES[part]],
                          capture_output=True, text=True, check=False, timeout=60).stdout.split()
    if said[:1] == ["installed"]:
        return said[1]
    with contextlib.suppress(OSError, harness.unittest.SkipTest), gzip.open(harness.unpacked(
            PACKAGES[part], f"usr/share/doc/{PACKAGES[part]}/changelog.Debian.gz"), "rt", encoding="utf-8") as file:
        return file.readline().partition("(")[2].partition(")")[0]
    return "?"


class Given:
    """A server that is there already, by its addresses; what it costs is not seen."""

    name = "given"
    group, store = None, None
    imaps = sink = None

    def __init__(self, imap, smtp, lmtp=None, submit=None, domain=DOMAIN, remote=REMOTE,
                 password=dovecot.PASSWORD, name_template="user%d"):
        self.imap, self.smtp, self.lmtp, self.submit = imap, smtp, lmtp, submit or smtp
        self.domain, self.remote, self.password, self.name_template = domain, remote, password, name_template

    user = Server.user

    def start(self):
        """It has begun."""

    def stop(self):
        """It goes on."""

    def revive(self):
        """Is left to whoever runs it."""
        return False

    def pids(self):
        return []

    def drop_caches(self):
        """Is left to whoever runs it."""

    def versions(self):
        return []

    def notes(self):
        return []


def maker(name):
    return lambda case, disks=None, group=None, certificate=None: Server(name, case, disks, group, certificate)


# {name: make(case, disks, group, certificate)}, in the order of a page.
SERVERS = {name: maker(name) for name in (
    *(f"dovecot-{kind}+{door}" for kind in ("maildir", "sdbox", "mdbox") for door in DOORS),
    *(f"cyrus+{door}" for door in ("exim", "postfix")))}
