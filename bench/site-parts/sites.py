# SPDX-License-Identifier: GPL-3.0-or-later
"""
sites.py - what bench/site measures: whole sites that take mail, each part of them classic or ours.

Flow: bench/site -> Place, with the traces and the authorities of their lists far away -> Site, one of PLANS
      with empty caches and mailboxes, under counters -> Site.run() is bench/smtp-load before it -> Run.

A site is a mail server that looks each client up in a list by way of a resolver of its own, and puts mails
into mailboxes on a disk. All its processes, the resolver among them, have one processor and are
counted; clients and authorities have the other.
"""
import collections
import contextlib
import os
import pwd
import random
import re
import subprocess
import sys
import time

BENCH = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[1:1] = [BENCH, os.path.join(BENCH, "scan-parts"), os.path.join(BENCH, "upstream-parts")]
import mailstores  # noqa: E402  (of bench)
import scanners  # noqa: E402  (of scan-parts)
import farlists  # noqa: E402  (of upstream-parts, as is the next)
from farlists import Far  # noqa: E402
from mailservers import LOAD_CORE, USERS, Counted, Front, Postfix, figures  # noqa: E402  (of bench)
from replays import ROOT, Failure, read_visits, rows_of_level, trust_anchor  # noqa: E402
import front  # noqa: E402  (found by mailservers.py)
import harness  # noqa: E402  (found by replays.py, as are the next)
import mta  # noqa: E402
from harness import CLASSIC, DATA, ZONE, wait_for  # noqa: E402

# What a site is made of. has_front: smtp-front takes clients, before Postfix or, with has_store, alone. list:
# the kind that is asked. has_store: mailboxes are mail-stored's and no maildirs. scan: None, CLAMD or OURS.
Plan = collections.namedtuple("Plan", "has_front list has_store scan",
                              defaults=(False, "classic", False, None))
CLASSIC_LIST, PLAIN_LIST, SIGNED_LIST = "classic", "bitmaps", "signed bitmaps"
CLAMD, OURS = "clamd", "ours"
POSTFIX, ALL = "Postfix, classic list, maildirs", "smtp-front, DNSBLv6, mail-stored"
POSTFIX_SCANNED, ALL_SCANNED = "Postfix, all of it classic, clamd", f"{ALL}, its scanner"
LISTED, FRONT, STORE = "DNSBLv6", "smtp-front before Postfix", "mail-stored behind Postfix"
PLAIN, SCAN = "bitmaps as the paper's", "mail-scan-milter"
# In the order of the page.
PLANS = {
    POSTFIX: Plan(),
    LISTED: Plan(list=SIGNED_LIST),
    FRONT: Plan(has_front=True),
    STORE: Plan(has_store=True),
    ALL: Plan(True, SIGNED_LIST, True),
    POSTFIX_SCANNED: Plan(scan=CLAMD),
    SCAN: Plan(scan=OURS),
    ALL_SCANNED: Plan(True, SIGNED_LIST, True, OURS),
    PLAIN: Plan(list=PLAIN_LIST),  # its questions alone
}

PROCESSES = 100  # of smtpd, and of smtp-front's workers: the defaults of both
STRANGERS = "9.9.9.0/24"  # clients that no trace has
DRAWN_SHARE, SEED = 0.6, 1
VISITS, QUIET_S = 50000, 2100
SERVER_LINES = ("rate-limit: 100000",)  # far above what is asked
SMALL = ("--connections", "6000", "--addresses", "1200", "--prefixes", "540")
SENT = re.compile(rb" status=sent ")
REMOVED = re.compile(rb"postfix/qmgr\[\d+\]: \w+: removed")
DEFERRED = re.compile(rb" status=(?:deferred|bounced) ")

# clients: a file of addresses, in the order of sessions; addresses: the same as numbers; listed: a file; load:
# options of smtp-load.
# far: {kind of list: a Far}; anchor: of the signed one.
Trace = collections.namedtuple("Trace", "name clients addresses listed load far anchor")
# Of a run: mails and mailbox deliveries a second; milliseconds of a processor, KiB written and syncs for a mail;
# questions to the authority for a session, those for TXT among them, and to the resolver; how many
# sessions, and how many at a time; {what is not as it should be: how many}.
Run = collections.namedtuple("Run", "rate deliveries cpu_ms kib syncs authority texts resolver sessions"
                                    " clients wrong")

WRONG = ("refused", "deferred", "broken", "timeouts", "errors", "tempfailed")


# ---- traces ----


def sinkhole(place):
    """(clients, list) of bench/trace-gen."""
    clients, listed = place.case.path("sinkhole.tsv"), place.case.path("sinkhole.txt")
    with open(clients, "w", encoding="ascii") as out:
        subprocess.run([os.path.join(ROOT, "bench", "trace-gen"), "--seed", "1", "--list", listed,
                        *(SMALL if place.options.quick else ())], stdout=out,
                       stderr=subprocess.DEVNULL, check=True, timeout=600)
    return clients, listed


def university(place):
    """
    (clients, list): a real trace, in which one that comes again within the TTL of a listing is the same
    visit, and a real list with a share of its clients besides, as one of its time would have had them.
    """
    visits = read_visits(harness.data_file("honeypot-trace.tsv.gz"),
                         VISITS // 10 if place.options.quick else VISITS, QUIET_S)
    addresses = [address for _, address in visits]
    known = sorted({one for one in addresses if one.is_global}, key=lambda one: (one.version, one))
    drawn = random.Random(SEED).sample(known, round(DRAWN_SHARE * len(known)))
    rows = {line.strip() for line in rows_of_level(os.path.join(DATA, "ipsum.txt"), 3)}
    return (place.case.write("university.txt", "".join(f"{one}\n" for one in addresses)),
            place.case.write("university-list.txt",
                             "".join(f"{one}\n" for one in sorted(rows | {str(one) for one in drawn}))))


# {name: (its files, what sessions are)}
TRACES = {
    "sinkhole": (sinkhole, {"spam": 1, "spam_recipients": "5-9"}),
    "university": (university, {"bounces": 0.25, "unfinished": 0.1, "spam": 0.67,
                                "spam_recipients": "5-9", "ham_recipients": 1.02}),
}
# Of questions alone: the same sessions, with mails that cost less.
SLIGHT = {"spam": 0, "ham_recipients": 1, "size": 100}


# ---- places ----


class Place(mailstores.Place):
    """A directory on the disk, counters of syncs, signatures, and traces with their authorities."""

    def __init__(self, options, stack):
        super().__init__(options, stack)
        os.sched_setaffinity(0, {LOAD_CORE})  # all but what on_core() says
        database = scanners.take_signatures(self.case, options.signatures)
        self.database, self.signatures = database, self.case.path("mail.signatures")
        scanners.compile_signatures(database, self.signatures)
        self.key = self.case.path("bl6.pem")
        self.case.run_zone("keygen", "--zone", ZONE, "--key", self.key)
        self.traces = {}

    def add_trace(self, name):
        make, load = TRACES[name]
        clients, listed = make(self)
        with open(clients, encoding="ascii") as lines:
            addresses = [int(harness.ip(line.rpartition("\t")[2].strip())) for line in lines]
        servers = {
            CLASSIC_LIST: farlists.start_rbldnsd(self.case, listed),
            PLAIN_LIST: self._serve(listed, f"{name}-plain.mdb"),
            # As docs/resolvers.md recommends it.
            SIGNED_LIST: self._serve(listed, f"{name}.mdb", "--style", "both", "--key", self.key)}
        far = {kind: Far(self.case, server) for kind, server in servers.items()}
        self.traces[name] = Trace(name, clients, addresses, listed, load, far,
                                  trust_anchor(ZONE, servers[SIGNED_LIST]))

    def _serve(self, listed, name, *options):
        store = farlists.build_store(self.case, listed, name, options)
        return self.case.serve([(ZONE, store, None)], server_lines=SERVER_LINES).address

    @staticmethod
    def new_case(stack):
        case = mailstores.Place.new_case(stack)
        case.expect_log(".")  # a listed client is a warning
        return case

    def load(self, address, trace, **options):
        """What smtp-load says of a run."""
        command = [self.program("bench", "smtp-load", "smtp-load"), "--users", str(USERS), "--tell",
                   "proxy1"]
        for name, value in {"clients": trace.clients, **trace.load, **options}.items():
            if value is not None:
                command += [f"--{name.replace('_', '-')}", str(value)]
        return figures(subprocess.Popen([*command, address[0], str(address[1])], text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE))


# ---- parts ----


class Stored(mailstores.MailStored):
    """As bench/store has it, under counters; smtp-front may come to its socket."""

    def __init__(self, site):
        self.site, self.counted = site, None
        super().__init__(site.case, site.place.syncs)
        self.socket = site.case.path("stored.sock")
        os.chown(self.socket, pwd.getpwnam(front.USER).pw_uid, -1)

    def start(self, command, **_how):
        self.counted = Counted(self.site, command, "mail-stored")
        self.process = self.counted.process
        wait_for(self.is_listening, f"{self.name} to listen")

    def stat(self):
        """{"mails": 12, "entries": 34, ...}"""
        said = subprocess.run([harness.program("mail-store"), "stat", "--store", self.socket],
                              capture_output=True, text=True, check=True, timeout=120).stdout
        return {key: int(value) for key, value in re.findall(r"(?m)^([a-z-]+)\s+(\d+)$", said)}


class Mailboxes(Postfix):
    """Postfix with maildirs, or with another transport; knows what it has delivered."""

    def __init__(self, site, **how):
        self.read, self.sent, self.mails, self.deferred = 0, 0, 0, 0
        super().__init__(site, "postfix", discard=False, nameservers=[site.case.host], **how)
        self.box = os.path.join(self.directory, "mail")
        for number in range(USERS):
            for name in ("", "new", "cur", "tmp"):
                path = os.path.join(self.box, str(number), name)
                os.makedirs(path, mode=0o700)
                os.chown(path, self.user.pw_uid, self.user.pw_gid)

    def has_queue(self):
        return any(name for part in ("maildrop", "incoming", "active", "deferred")
                   for _, _, names in os.walk(os.path.join(self.queue, part)) for name in names)

    def look(self):
        """Counts what its log has besides."""
        with open(self.log_path, "rb") as log:
            log.seek(self.read)
            text = log.read()
        text = text[:text.rfind(b"\n") + 1]
        self.read += len(text)
        self.sent += len(SENT.findall(text))
        self.mails += len(REMOVED.findall(text))
        self.deferred += len(DEFERRED.findall(text))

    def count_files(self):
        return sum(len(os.listdir(os.path.join(self.box, str(number), "new")))
                   for number in range(USERS))


POLICY = """\
policy:
    listen: {socket}
    socket-mode: 666
    user: nobody
decision:
    action: warn
library:
    zones: [ {zone} ]
    servers: {resolver}
"""
SCAN_MILTER = """\
milter:
    socket: {host}@{port}
    user: nobody
scan:
    signatures: {signatures}
"""
SECOND_DOOR = ("{host}:{port} inet n - n - - smtpd -o smtpd_proxy_filter="
               " -o smtpd_upstream_proxy_protocol= -o smtpd_client_restrictions=")


class Site:
    """One of PLANS, ready at address; it ends with the stack."""

    def __init__(self, place, name, trace, stack):
        self.place, self.plan, self.trace = place, PLANS[name], trace
        self.case = place.new_case(stack)
        self.environment = place.syncs.environment()
        self.counted = []
        self.resolver = self._start_resolver()
        self.store = self._keep(Stored(self)) if self.plan.has_store else None
        self.postfix = None
        if not self.plan.has_front:
            self.postfix = self._keep(self._start_postfix(self._list_lines(), proxy=True))
            self.address = self.postfix.address
        else:
            if not self.plan.has_store:
                self.postfix = self._keep(self._start_postfix([], xclient=True))
            self.address = self._keep(self._start_front()).address
        self._warm()

    @staticmethod
    def on_core(core, _network=None):
        """For mailservers.py, to which this is a place."""
        return lambda: os.sched_setaffinity(0, {core})

    def _keep(self, part):
        self.counted.append(part.counted)
        return part

    # ---- the list ----

    def _start_resolver(self):
        """Its command."""
        far = self.trace.far
        is_signed = self.plan.list == SIGNED_LIST
        zones = {CLASSIC: far[CLASSIC_LIST].address,
                 ZONE: far[SIGNED_LIST if is_signed else PLAIN_LIST].address}
        command = farlists.unbound_command(self.case, zones, farlists.control_lines(self.case),
                                           self.trace.anchor if is_signed else None)
        counted = Counted(self, command, "unbound")
        counted.process.wait_for_log("start of service")
        self.counted.append(counted)
        wait_for(lambda: farlists.is_listed(self.case, farlists.TEST_POINT + CLASSIC),
                 f"{CLASSIC} to be answered")
        return command

    def _library(self):
        zone = CLASSIC if self.plan.list == CLASSIC_LIST else ZONE
        return {"zone": zone.rstrip("."), "resolver": f"{self.case.host}@{mta.DNS_PORT}"}

    def _list_lines(self):
        """Of main.cf. A listed client is let pass with a line in the log."""
        if self.plan.list == CLASSIC_LIST:
            zone = CLASSIC.rstrip(".")
            return [f"smtpd_client_restrictions = warn_if_reject reject_rbl_client {zone}"]
        path = self.case.path("policy")
        self._start_daemon("dnsblv6-policy", POLICY.format(socket=path, **self._library()))
        return [f"smtpd_client_restrictions = check_policy_service {{ unix:{path}, timeout=5s,"
                " default_action=DUNNO }"]

    def _start_daemon(self, name, config):
        path = self.case.write(f"{name}.conf", config)
        counted = Counted(self, [harness.program(name), "--config", path], name)
        counted.process.wait_for_log(rf"^info: \[{name}\] ready, ")
        self.counted.append(counted)

    # ---- mail servers ----

    def _start_postfix(self, lines, **how):
        master = []
        main = [f"default_process_limit = {PROCESSES}", *lines,
                f"import_environment = MAIL_CONFIG TZ LANG=C {self.place.syncs.words()}"]
        if self.store is not None:
            host, port = self.store.address
            main.append(f"virtual_transport = lmtp:inet:[{host}]:{port}")
            master.append("lmtp unix - - n - - lmtp")
        if self.plan.scan == OURS:
            host, port = self.case.free_address()
            self._start_daemon("mail-scan-milter", SCAN_MILTER.format(
                host=host, port=port, signatures=self.place.signatures))
            main += [f"smtpd_milters = inet:{host}:{port}", "milter_default_action = tempfail"]
        if self.plan.scan == CLAMD:
            host, port = door = self.case.free_address()
            clamd = scanners.start_clamd(self, self.place.database)
            scanner = scanners.start_clamsmtp(self, "clamsmtp", clamd, door)
            self.counted += scanner.counted
            main.append("smtpd_proxy_filter = {}:{}".format(*scanner.address))
            master.append(SECOND_DOOR.format(host=host, port=port))
        return Mailboxes(self, main=main, master=master, **how)

    def _start_front(self):
        library = self._library()
        sink = {"kind": "store", "to": self.store and self.store.socket}
        if not self.plan.has_store:
            sink = {"kind": "smtp", "to": "{}@{}".format(*self.postfix.address), "tell": "xclient"}
        return Front(
            self, "front", sink=sink, decision={"action": "warn"},
            front={"edges": 1, "workers": PROCESSES, "sessions": 10000, "proxy": ["127.0.0.0/8"]},
            library={"zones": [library["zone"]], "servers": [library["resolver"]]},
            scan={"signatures": self.place.signatures} if self.plan.scan == OURS else {})

    def _warm(self):
        """Processes are there, and what libdnsblv6 wants to know of a zone; of the trace nothing is."""
        count = self.place.options.strangers
        self.place.load(self.address, self.trace, clients=None, draw=STRANGERS, drain=60, bounces=0,
                        connections=min(count, PROCESSES), sessions=count, unfinished=1,
                        leave_after="rcpt")

    # ---- what is measured ----

    def run(self, **load):
        """A Run of smtp-load with these options, until what it has brought is in mailboxes."""
        self.place.settle_disk()
        before, start = self._counts(), time.monotonic()
        got = self.place.load(self.address, self.trace, **load)
        self._settle()
        elapsed = time.monotonic() - start
        cpu_ns, syncs, written, questions, texts, asked = (
            now - then for now, then in zip(self._counts(), before))
        mails, recipients = self._delivered(round(got["delivered"]))
        if mails == 0:
            raise Failure("no mail was taken")
        sessions = max(1, got["sessions"] - got["open"])
        return Run(mails / elapsed, recipients / elapsed, cpu_ns / 1e6 / mails, written / 1024 / mails,
                   syncs / mails, questions / sessions, texts / sessions, asked / sessions,
                   round(sessions), load["connections"], self._wrong(got))

    def _counts(self):
        """Of all that is counted, so far."""
        syncs, written = self.place.syncs.count()
        asked = [far.asked() for far in self.trace.far.values()]
        return (sum(counted.cost()[1] for counted in self.counted), syncs, written,
                sum(one.questions for one in asked), sum(one.texts for one in asked),
                farlists.count_queries(self.resolver))

    def _settle(self):
        """Until no queue has a mail. A store has none."""
        if self.postfix is not None:
            wait_for(lambda: self._sleeps() and not self.postfix.has_queue(), "an empty queue",
                     5 * harness.DEADLINE_S)

    @staticmethod
    def _sleeps():
        """The queue's directories are not to be read all the time."""
        time.sleep(0.05)
        return True

    def _delivered(self, acknowledged):
        """(mails, mailboxes that have them), and both are there."""
        if self.postfix is None:
            def look():
                stat = self.store.stat()
                return stat["mails"] >= acknowledged and (stat["mails"], stat["entries"])

            return wait_for(look, f"{acknowledged} mails in the store")

        def is_there():
            self.postfix.look()
            found = self.store.stat()["entries"] if self.store else self.postfix.count_files()
            return self.postfix.mails >= acknowledged and found == self.postfix.sent

        wait_for(is_there, "mailboxes to have what the log says")
        return self.postfix.mails, self.postfix.sent

    def _wrong(self, got):
        """{what: how many}"""
        found = {what: round(got[what]) for what in WRONG if got[what] > 0}
        if self.postfix is not None and self.postfix.deferred > 0:
            found["not delivered at once"] = self.postfix.deferred
        return found


@contextlib.contextmanager
def started(place, name, trace):
    """A Site; nothing of it is left."""
    with contextlib.ExitStack() as stack:
        yield Site(place, name, trace, stack)
