# SPDX-License-Identifier: GPL-3.0-or-later
"""
harness.py - what the integration tests stand on: programs, peers, questions.

Flow: meson runs ROOM/test_NAME.py -> a Case has a temporary directory and ends what
      it started -> run() and build() call dnsblv6-zone, serve() starts
      dnsblv6d, start() any peer -> ask() and ask_all() put questions.

Everything happens on one loopback address of this process's own (127/8 has
enough of them), so that tests run side by side without sharing a port.
Nothing waits for a time: wait_for() waits for a condition, up to a deadline.

Environment, set by Meson: PYTHONPATH has this directory, DNSBLV6_BUILD is the
build directory, DNSBLV6_SANITIZED is "1" when memory figures mean nothing. By hand:
DNSBLV6_DATA is the directory of real lists, DNSBLV6_SEED repeats a run.
"""

import collections
import contextlib
import ipaddress
import ctypes
import os
import random
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

SOURCE = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
BUILD = os.environ.get("DNSBLV6_BUILD", os.path.join(SOURCE, "build/gcc"))
DATA = os.environ.get("DNSBLV6_DATA", os.path.join(SOURCE, "../shared/data"))
IS_SANITIZED = os.environ.get("DNSBLV6_SANITIZED") == "1"
SEED = int(os.environ.get("DNSBLV6_SEED", time.time_ns() & 0xFFFFFFFF))

# For anything that should take a moment, on a machine that has much else to do.
DEADLINE_S = 120 if IS_SANITIZED else 60
ZONE = "bl6.example."
CLASSIC = "bl.example."

A, NS, SOA, TXT, AAAA, OPT, ANY = 1, 2, 6, 16, 28, 41, 255
NAMES_IN_RDATA = {NS: 1, SOA: 2}  # at its beginning; of the types that a zone of ours has
NOERROR, FORMERR, SERVFAIL, NXDOMAIN, NOTIMP, REFUSED = 0, 1, 2, 3, 4, 5

CLONE_NEWNET = 0x40000000

# For a store that tests replace by something of quite another size.
ANY_SIZE = ("--max-shrink", "100", "--max-grow", "1000000")

EX_USAGE, EX_DATAERR, EX_UNAVAILABLE, EX_IOERR, EX_TEMPFAIL = 64, 65, 69, 74, 75
EX_NOPERM, EX_CONFIG = 77, 78


PROGRAMS = {"dnsblv6-zone": "zone-tools", "dnsblv6d": "server", "dnsblv6ctl": "server",
            "dnsblv6-lookup": "client-lib/lookup", "dnsblv6-cached": "integration/adapters/cached",
            "dnsblv6-milter": "integration/adapters/milter",
            "dnsblv6-filter": "integration/adapters/opensmtpd",
            "dnsblv6-policy": "integration/adapters/postfix",
            "dnsblv6-translate": "integration/adapters/dns-translator",
            "mail-cluster": "integration/mail/mail-cluster",
            "mail-hub": "integration/mail/mail-hub",
            "mail-scan-milter": "integration/mail/scan-milter",
            "mail-proxy": "integration/mail/mail-proxy",
            "mail-scan": "integration/mail/mail-scan",
            "mail-store": "integration/mail/mail-store",
            "mail-stored": "integration/mail/mail-stored",
            "pop-front": "integration/mail/pop-front",
            "smtp-front": "integration/mail/smtp-front",
            "smtp-front-users": "integration/mail/smtp-front"}  # and their directories


def program(name):
    return os.path.join(BUILD, PROGRAMS[name], name)


def data_file(name):
    """A real list, or the test is skipped."""
    path = os.path.join(DATA, name)
    if not os.path.exists(path):
        raise unittest.SkipTest(f"no {name} in {DATA}; DNSBLV6_DATA may name another directory")
    return path


def peer(name):
    """Path of a peer program, or the test is skipped."""
    path = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if path is None:
        raise unittest.SkipTest(f"{name} is not installed")
    return path


def unpacked(package, path):
    """A file of a package that ./check only unpacks (tests/setup.sh), or the test is skipped."""
    full = os.path.join(SOURCE, "build/unpacked", package, path)
    if not os.path.exists(full):
        raise unittest.SkipTest(f"{package} is not unpacked; ./check does it")
    return full


def wait_for(condition, what, deadline_s=DEADLINE_S):
    """The first true value of condition(); AssertionError after the deadline."""
    end = time.monotonic() + deadline_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"waited {deadline_s} s in vain for {what}")
        time.sleep(0.01)  # between two looks, not instead of one


# ---- DNS messages; our own few lines, so that nothing is tested with itself ----


def wire_name(name):
    """Presentation form without escapes, such as "0.2.0.192.bl6.example."."""
    labels = [label.encode("ascii") for label in name.rstrip(".").split(".") if label]
    return b"".join(bytes([len(label)]) + label for label in labels) + b"\0"


def query(name, rrtype, ident=0, flags=0x0100, edns_size=None, rrclass=1, edns_flags=0):
    """name is text or wire form. edns_size adds an OPT, DO is edns_flags 0x8000."""
    wire = name if isinstance(name, bytes) else wire_name(name)
    header = struct.pack(">6H", ident, flags, 1, 0, 0, 0 if edns_size is None else 1)
    opt = b"" if edns_size is None else struct.pack(">BHHIH", 0, OPT, edns_size, edns_flags, 0)
    return header + wire + struct.pack(">HH", rrtype, rrclass) + opt


def framed(*packets):
    """As TCP carries them, RFC 1035 section 4.2.2."""
    return b"".join(struct.pack(">H", len(packet)) + packet for packet in packets)


def question_of(packet):
    """The bytes of the question of what query() made."""
    end = 12
    while packet[end] != 0:
        end += 1 + packet[end]
    return packet[12:end + 5]


Record = collections.namedtuple("Record", "name type rrclass ttl rdata")


class Reply:
    """A message taken apart. ValueError or IndexError when it is not one."""

    def __init__(self, wire):
        self.wire = wire
        self.id, self.flags, *counts = struct.unpack_from(">6H", wire)
        self.rcode = self.flags & 15
        self.is_authoritative = bool(self.flags & 0x0400)
        self.is_truncated = bool(self.flags & 0x0200)
        self.is_authentic = bool(self.flags & 0x0020)
        self.question = []
        offset = 12
        for _ in range(counts[0]):
            name, offset = self._name(offset)
            self.question.append((name, *struct.unpack_from(">HH", wire, offset)))
            offset += 4
        self.answer, offset = self._records(counts[1], offset)
        self.authority, offset = self._records(counts[2], offset)
        self.additional, offset = self._records(counts[3], offset)
        if offset != len(wire):
            raise ValueError("bytes behind the message")

    def _name(self, offset):
        labels, end, jumps = [], None, 0
        while True:
            size = self.wire[offset]
            if size >= 0xC0:
                end = end or offset + 2
                target = struct.unpack_from(">H", self.wire, offset)[0] & 0x3FFF
                jumps += 1
                if target >= offset or jumps > 128:
                    raise ValueError("compression pointer forwards or in a loop")
                offset = target
            elif size >= 0x40:
                raise ValueError("reserved label type")
            elif size == 0:
                return ".".join(labels) + ".", end or offset + 1
            else:
                label = self.wire[offset + 1 : offset + 1 + size]
                labels.append("".join(chr(c) if 0x21 <= c < 0x7F and c not in b".\\" else f"\\{c:03}" for c in label))
                offset += 1 + size

    def _records(self, count, offset):
        records = []
        for _ in range(count):
            name, offset = self._name(offset)
            rrtype, rrclass, ttl, size = struct.unpack_from(">HHIH", self.wire, offset)
            offset += 10
            if offset + size > len(self.wire):
                raise ValueError("RDATA beyond the message")
            records.append(Record(name, rrtype, rrclass, ttl, self._rdata(rrtype, offset, size)))
            offset += size
        return records, offset

    def _rdata(self, rrtype, offset, size):
        """Without compression: servers may point to names in it or write them out."""
        end = offset + size
        rdata = b""
        for _ in range(NAMES_IN_RDATA.get(rrtype, 0)):
            name, offset = self._wire_name(offset)
            rdata += name
        if offset > end:
            raise ValueError("a name beyond its RDATA")
        return rdata + self.wire[offset:end]

    def _wire_name(self, offset):
        """The bytes of a name that _name() reads, and where it ends."""
        _, end = self._name(offset)
        name = b""
        while self.wire[offset] != 0:
            size = self.wire[offset]
            if size >= 0xC0:
                offset = struct.unpack_from(">H", self.wire, offset)[0] & 0x3FFF
                continue
            name += self.wire[offset : offset + 1 + size]
            offset += 1 + size
        return name + b"\0", end

    def rdata(self, rrtype):
        """RDATA of the answers of one type, sorted."""
        return sorted(record.rdata for record in self.answer if record.type == rrtype)

    def has_soa(self):
        return any(record.type == SOA for record in self.authority)

    def verdict(self):
        """What matters of an answer when two servers are compared."""
        return (self.rcode, sorted((r.name.lower(), r.type, r.rdata) for r in self.answer),
                self.has_soa())


def ask(address, name, rrtype, timeout_s=DEADLINE_S, **how):
    """One question over UDP. TimeoutError when nothing comes back."""
    return Reply(exchange(address, query(name, rrtype, random.randrange(65536), **how), timeout_s))


def exchange(address, packet, timeout_s=DEADLINE_S):
    """Sends bytes, returns the bytes that come back."""
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as udp:
        udp.connect(address)
        udp.settimeout(timeout_s)
        udp.send(packet)
        return udp.recv(65535)


class Asker:
    """
    Questions by the ten thousand: hundreds in flight on one socket. retry_s is how long a question may stay
    unanswered before it is put again; retries is how often. A question that stays unanswered is None in the result.
    how is for query().
    """

    def __init__(self, address, window=256, retry_s=5, retries=2, **how):
        self.window, self.retry_s, self.retries = window, retry_s, retries
        self.how = how
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        self.udp.connect(address)
        self.udp.setblocking(False)
        self.retried = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.udp.close()

    def ask_all(self, questions, is_raw=False):
        """questions: (name, type) each. Returns one Reply (or its bytes) for each."""
        packets = [query(name, rrtype, index & 0xFFFF, **self.how)
                   for index, (name, rrtype) in enumerate(questions)]
        replies = [None] * len(packets)
        waiting = collections.OrderedDict()  # id -> (index, deadline, tries left), oldest first
        following = 0
        while following < len(packets) or waiting:
            while (following < len(packets) and len(waiting) < self.window
                   and following & 0xFFFF not in waiting):
                self._send(packets[following])
                waiting[following & 0xFFFF] = (following, time.monotonic() + self.retry_s, self.retries)
                following += 1
            select.select([self.udp], [], [], 0.2)
            self._receive(packets, replies, waiting)
            self._put_again(packets, waiting)
        return replies if is_raw else [reply and Reply(reply) for reply in replies]

    def _send(self, packet):
        try:
            self.udp.send(packet)
        except (BlockingIOError, ConnectionRefusedError):
            pass  # lost, as any datagram may be: put again after retry_s

    def _receive(self, packets, replies, waiting):
        while True:
            try:
                wire = self.udp.recv(65535)
            except BlockingIOError:
                return
            except ConnectionRefusedError:
                continue
            ident = wire[0] << 8 | wire[1]
            index = waiting.get(ident, (None,))[0]
            if index is not None and wire[12:].startswith(question_of(packets[index])):
                replies[index] = wire
                del waiting[ident]

    def _put_again(self, packets, waiting):
        now = time.monotonic()
        while waiting:
            ident, (index, deadline, tries) = next(iter(waiting.items()))
            if deadline > now:
                return
            del waiting[ident]
            if tries > 0:
                self.retried += 1
                self._send(packets[index])
                waiting[ident] = (index, now + self.retry_s, tries - 1)


def ask_all(address, questions, **how):
    with Asker(address, **how) as asker:
        return asker.ask_all(questions)


# ---- names and bits, as the text of FORMAT.md has them ----


def bitmap_name(address, zone=ZONE):
    """Owner name of the block that holds an ipaddress object."""
    number = int(address)
    if address.version == 4:
        octets = number.to_bytes(4, "big")
        return f"{octets[3] >> 7}.{octets[2]}.{octets[1]}.{octets[0]}.{zone}"
    text = f"{number:032x}"
    half = int(text[14:16], 16) >> 7
    return f"{half}.{text[12:14]}.{text[8:12]}.{text[4:8]}.{text[0:4]}.ip6.{zone}"


def classic_name(address, zone=CLASSIC):
    if address.version == 4:
        return ".".join(reversed(str(address).split("."))) + "." + zone
    return ".".join(reversed(f"{int(address):032x}")) + "." + zone


def host_index(address):
    return int(address) & 127 if address.version == 4 else int(address) >> 64 & 127


def is_bit_set(bitmap, index):
    return bool(int.from_bytes(bitmap, "big") >> (127 - index) & 1)


# ---- connections ----


def is_open(address):
    """Does something listen?"""
    try:
        socket.create_connection(address, timeout=DEADLINE_S).close()
    except OSError:
        return False
    return True


class Connection:
    """What clients of protocols of lines have in common. Everything that is read has a deadline."""

    def __init__(self, connected):
        self.socket = connected
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.unread = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def reset(self):
        """Ends with RST."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def more(self):
        got = self.socket.recv(1 << 20)
        if not got:
            raise EOFError(f"the connection ended behind {self.unread[-200:]!r}")
        return got

    def line(self):
        """One line without its end; EOFError at the end of the connection."""
        while b"\r\n" not in self.unread:
            self.unread += self.more()
        line, self.unread = self.unread.split(b"\r\n", 1)
        return line.decode("utf-8", "replace")

    def is_closed(self):
        """Has the other side ended, with nothing unread? Waits for it."""
        try:
            return self.unread == b"" and self.socket.recv(1) == b""
        except ConnectionResetError:
            return True


# ---- processes ----


def state_of(pid):
    """As ps(1) has it: "S" is asleep, "T" is stopped; "X" when there is none."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "X"


def has_ended(pid):
    """Also when its parent, or init, has not looked yet."""
    return state_of(pid) in "ZX"


def children_of(pid):
    """Without those that have ended and wait for their parent: they have neither files nor memory."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split() if not has_ended(word)]


def tree_of(pid):
    """A process and all below it, it first."""
    pids = [pid]
    for one in pids:
        try:
            pids += children_of(one)
        except OSError:
            continue
    return pids


def open_files(pid):
    """What its descriptors are, by /proc; those that it closes meanwhile are left out."""
    directory = f"/proc/{pid}/fd"
    links = []
    for name in os.listdir(directory):
        with contextlib.suppress(FileNotFoundError):
            links.append(os.readlink(os.path.join(directory, name)))
    return links


class Process:
    """A program in the foreground, its standard error in a file; ended by pid."""

    waited_for = ()  # patterns of lines that a test has waited for

    def __init__(self, arguments, log_path, **how):
        self.log_path = log_path
        self.arguments = arguments
        with open(log_path, "ab") as log:
            self._log_start = log.tell()  # what another process has said is not ours
            self.popen = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **how)
        self.pid = self.popen.pid

    def log(self):
        with open(self.log_path, "rb") as file:
            file.seek(self._log_start)
            return file.read().decode("utf-8", "replace")

    def wait_for_log(self, pattern, count=1):
        """Until that many lines match: the test expects them, of whatever level; or until the process has ended."""
        self.waited_for = (*self.waited_for, pattern)

        def look():
            is_over = self.popen.poll() is not None  # before its log: behind a look it may still say the line
            found = re.findall(pattern, self.log(), re.MULTILINE)
            if len(found) < count and is_over:
                raise AssertionError(f"{self.arguments[0]} ended with {self.popen.returncode}:\n{self.log()}")
            return found if len(found) >= count else None

        try:
            return wait_for(look, f"/{pattern}/ in its log")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.log()[-4000:]}") from None

    def send_signal(self, number):
        self.popen.send_signal(number)

    def stop(self, number=signal.SIGTERM):
        """Returns the exit status; harder after the deadline."""
        if self.popen.poll() is None:
            self.popen.send_signal(number)
        try:
            return self.popen.wait(DEADLINE_S)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            self.popen.wait()
            raise AssertionError(f"{self.arguments[0]} did not end:\n{self.log()[-4000:]}") from None

    def children(self):
        return children_of(self.pid)

    def complaints(self, expected):
        """Errors and warnings in its log that no pattern matches, if it is a program of ours."""
        is_ours = any(os.path.basename(word) in PROGRAMS for word in self.arguments)
        lines = self.log().splitlines() if is_ours else []
        return [line for line in lines if line.startswith(("error: ", "warning: "))
                and not any(re.search(pattern, line) for pattern in (*self.waited_for, *expected))]


class Server(Process):
    """dnsblv6d, ready to be asked at address."""

    def __init__(self, config_path, address, log_path, **how):
        super().__init__([program("dnsblv6d"), "--config", config_path], log_path, **how)
        self.config_path = config_path
        self.address = address

    def wait_until_ready(self):
        self.wait_for_log(r"^info: \[dnsblv6d\] ready, ")
        return self

    def ask(self, name, rrtype, **how):
        return ask(self.address, name, rrtype, **how)


def anonymous_kb(pid):
    """RssAnon: what a process has of its own."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("RssAnon:"))


def config_text(address, zones, server_lines=(), has_limit=False):
    """
    zones: (domain, store, classic or None, and more lines) each. Tests ask more out of one network than any
    resolver, so there is no rate limit but with has_limit or one among server_lines.
    """
    lines = ["server:", f"    listen: [ {address[0]}@{address[1]} ]"]
    if not has_limit and not any(line.startswith("rate-limit:") for line in server_lines):
        lines.append("    rate-limit: 0")
    lines += [f"    {line}" for line in server_lines]
    lines.append("zone:")
    for domain, store, classic, *more in zones:
        lines += [f"  - domain: {domain}", f"    store: {store}"]
        if classic:
            lines.append(f"    classic: {classic}")
        lines += [f"    {line}" for line in more]
    return "\n".join(lines) + "\n"


def sanitizer_reports(text):
    return re.findall("^.*(?:ERROR: AddressSanitizer|ERROR: LeakSanitizer|: runtime error: ).*", text, re.MULTILINE)


# What a machine that has much else to do may cause in any test: a resolver answers too late, a process is told to
# end before it has a handler for that, and a build takes more than ten seconds.
ON_A_BUSY_MACHINE = (r"zone fell ill, state=unreachable .*\(no reply\)", r" died.* signal=15",
                     r"zone not \w+ yet, pid=\d+ after=")


class Case(unittest.TestCase):
    """A test with a directory, a loopback address and processes of its own."""

    given_ports = set()  # of all tests of a program
    has_own_network = False  # see enter_own_network()

    def setUp(self):
        self.random = random.Random(SEED)
        self.directory = tempfile.mkdtemp(prefix="dnsblv6-test-")
        os.chmod(self.directory, 0o755)  # a server that drops privileges reads it
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.processes = []
        self.expected_log = list(ON_A_BUSY_MACHINE)
        self.addCleanup(self._end_processes)
        pid = os.getpid()
        self.host = f"127.{1 + pid % 250}.{pid // 250 % 250}.{1 + pid // 62500 % 250}"

    def run(self, result=None):
        """Of a test that is interrupted nothing is left either, which unittest sees to for errors alone."""
        try:
            return super().run(result)
        except KeyboardInterrupt:
            self.doCleanups()
            self.doClassCleanups()
            raise

    def _end_processes(self):
        reports = []
        for process in reversed(self.processes):
            if process.popen.poll() is None:
                process.popen.terminate()
                try:
                    process.popen.wait(DEADLINE_S)
                except subprocess.TimeoutExpired:
                    process.popen.kill()
                    process.popen.wait()
            reports += sanitizer_reports(process.log())
        self.assertEqual(reports, [], "a sanitizer complained")
        if IS_SANITIZED:
            return  # too slow for the limits in time that some lines tell of
        complaints = [line for process in self.processes for line in process.complaints(self.expected_log)]
        self.assertEqual(complaints, [], "not said to be expected: see expect_log()")

    def expect_log(self, *patterns):
        """Errors and warnings that this test provokes; any other in a log of ours fails it."""
        self.expected_log += patterns

    def path(self, name):
        return os.path.join(self.directory, name)

    def write(self, name, content):
        """content is text or bytes. Returns the path."""
        path = self.path(name)
        with open(path, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        return path

    def make_certificate(self, name="localhost"):
        """The files (chain, key) of one that has signed itself."""
        chain, key = self.path(f"{name}.pem"), self.path(f"{name}.key")
        subprocess.run([peer("openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                        "-nodes", "-days", "2", "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}",
                        "-keyout", key, "-out", chain], check=True, capture_output=True, timeout=DEADLINE_S)
        os.chmod(key, 0o600)
        return chain, key

    def readable_program(self, path):
        """A copy that another user may run: the checkout may lie where only root can go."""
        copy = self.path(os.path.basename(path))
        if not os.path.exists(copy):
            shutil.copy(path, copy)
        return copy

    def free_port(self, host=None):
        """
        A port that neither UDP nor TCP uses on this process's address, or on host. Not one of those that the
        system gives to clients: where a server shares its port (SO_REUSEPORT), dig may be given the same and hear
        itself. None twice: files and directories have their names by them.
        """
        host = host or self.host
        while True:
            port = random.randrange(10000, 32768)
            with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tcp, \
                    socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
                try:
                    tcp.bind((host, port))
                    udp.bind((host, port))
                except OSError:
                    continue
            if port not in self.given_ports:
                self.given_ports.add(port)
                return port

    def free_address(self):
        return (self.host, self.free_port())

    def make_space(self, name):
        """A process that does nothing in a network of its own."""
        space = self.start([peer("unshare"), "--net", "sh", "-c", "echo there; exec sleep 600"], name)
        space.wait_for_log("^there$")
        return space

    def command_in(self, space, *command):
        return [peer("nsenter"), "--target", str(space.pid), "--net", *command]

    def run_in(self, space, *command):
        process = self.start(self.command_in(space, *command), "command")
        self.assertEqual(process.popen.wait(DEADLINE_S), 0, process.log())
        return process.log()

    def enter_network(self, pid):
        """Of that process, until the test ends; what is open already stays where it is."""
        libc = ctypes.CDLL(None, use_errno=True)
        home = os.open("/proc/self/ns/net", os.O_RDONLY)
        self.addCleanup(os.close, home)
        self.addCleanup(libc.setns, home, CLONE_NEWNET)
        space = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
        ret = libc.setns(space, CLONE_NEWNET)
        os.close(space)
        self.assertEqual(ret, 0, os.strerror(ctypes.get_errno()))

    def run_zone(self, *arguments, expect=0, **how):
        """Runs dnsblv6-zone; its exit status must be expect (None: any)."""
        how.setdefault("stdin", subprocess.DEVNULL)
        if "input" in how:
            del how["stdin"]
        how.setdefault("timeout", 300)
        result = subprocess.run([program("dnsblv6-zone"), *arguments], capture_output=True, check=False, **how)
        result.out = result.stdout.decode("utf-8", "replace")
        result.err = result.stderr.decode("utf-8", "replace")
        self.assertEqual(sanitizer_reports(result.err), [])
        if expect is not None:
            self.assertEqual(result.returncode, expect,
                             f"{' '.join(arguments)}\n{result.out[-2000:]}{result.err[-4000:]}")
        return result

    def run_zone_at(self, offset_s, *arguments, **how):
        """The same with a clock that is so many seconds from the machine's."""
        return self.run_zone(*arguments, env=self.clock_environment(offset_s), **how)

    @staticmethod
    def clock_environment(offset_s):
        """For a dnsblv6-zone that is started otherwise."""
        clock = os.path.join(BUILD, "tests/integration/moved_clock.so")
        if not os.path.exists(clock):  # the loader would go on without, and the time be the machine's
            raise AssertionError(f"{clock} is not built")
        return dict(os.environ, LD_PRELOAD=clock, DNSBLV6_CLOCK_OFFSET=str(offset_s))

    def run_zone_into(self, file, *arguments):
        """The same with standard output into a file, for what may be large."""
        result = subprocess.run([program("dnsblv6-zone"), *arguments], stdin=subprocess.DEVNULL,
                                stdout=file, stderr=subprocess.PIPE, check=False, timeout=300)
        self.assertEqual(result.returncode, 0, result.stderr.decode("utf-8", "replace"))

    def build(self, store, *lists, zone=ZONE, expect=0, **how):
        """dnsblv6-zone build with what every call needs; lists may hold options."""
        return self.run_zone("build", "--zone", zone, "--store", store, "--ns",
                             "ns1.example.net.", *lists, expect=expect, **how)

    def start(self, arguments, name, **how):
        """Any program in the foreground; ended with the test."""
        process = Process(arguments, self.path(f"{name}-{len(self.processes)}.log"), **how)
        self.processes.append(process)
        return process

    def serve(self, zones=None, server_lines=(), address=None, **how):
        """dnsblv6d on these zones, ready. By default bl6.mdb, as both kinds of zone."""
        if zones is None:
            zones = [(ZONE, self.path("bl6.mdb"), CLASSIC)]
        address = address or self.free_address()
        config = self.write(f"dnsblv6d-{address[1]}.conf", config_text(address, zones, server_lines))
        server = Server(config, address, self.path(f"dnsblv6d-{len(self.processes)}.log"), **how)
        self.processes.append(server)
        return server.wait_until_ready()


def numbers(line):
    """{"ipv4": 120430, ...} out of "built bl6.example.: ipv4=120430 ..."."""
    return {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", line)}


# Networks for documentation (RFC 5737, RFC 3849): no program treats their addresses like loopback's.
OUTSIDE = ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32")
CLIENT = "198.51.100.25"  # a client about whose address a test says nothing


def enter_own_network():
    """
    The process and all that it starts get a network of their own, in which every address of OUTSIDE is one of this
    machine's: a client binds to it. For main(), before anything is open. Without root outside() gives loopback's.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if os.geteuid() != 0 or libc.unshare(CLONE_NEWNET) != 0:
        return
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    for network in OUTSIDE:
        family = "-6" if ":" in network else "-4"
        subprocess.run(["ip", family, "route", "add", "local", network, "dev", "lo"], check=True)
    Case.has_own_network = True


def outside(address):
    """The IPv4 address of OUTSIDE, or without a network of our own its stand-in on loopback."""
    if Case.has_own_network:
        return address
    octets = address.split(".")
    return f"127.{octets[0]}.{octets[2]}.{octets[3]}"


def main(has_own_network=False):
    """Exit status as Meson reads it: 77 when every test was skipped. has_own_network: see enter_own_network()."""
    print(f"DNSBLV6_SEED={SEED}")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as SIGINT: see Case.run()
    if has_own_network:
        enter_own_network()
    result = unittest.main(verbosity=2, exit=False).result
    if not result.wasSuccessful():
        sys.exit(1)
    # A test may skip more than once, in its subtests.
    skipped = {getattr(test, "test_case", test).id() for test, _ in result.skipped}
    sys.exit(77 if len(skipped) == result.testsRun else 0)


def ip(text):
    return ipaddress.ip_address(text)
