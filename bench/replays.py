# SPDX-License-Identifier: GPL-3.0-or-later
"""
replays.py - what benchmarks need that put the lookups of a trace.

Flow: upstream-queries, unbound-queries and client-queries read a trace and lists here, build stores, and
      start a dnsblv6d that counts and an Unbound in front of it.

Everything stays on one loopback address of the process's own; a Bench ends what it started.
"""
import argparse
import base64
import collections
import contextlib
import gzip
import hashlib
import ipaddress
import os
import platform
import re
import signal
import socket
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "integration", "base"))
import harness  # noqa: E402  (found by the line above)
from harness import CLASSIC, DATA, ZONE, config_text  # noqa: E402

DNSKEY = 48
SIGN_DEADLINE_S = 600
TTL_S, NEGATIVE_TTL_S = 2100, 600  # what dnsblv6-zone gives unless told

# is_once: each name is asked once, as by a client with a cache of its own.
Setting = collections.namedtuple("Setting", "name minimisation strict aggressive is_once")
STOCK = Setting("minimisation on, aggressive NSEC on (stock)", "yes", "no", "yes", False)


class Ending:
    """SIGTERM and SIGHUP end a program like an exit: its servers do not stay behind."""

    is_held, number = False, None

    def take(self, number, _frame):
        self.number = number
        if not self.is_held:
            sys.exit(128 + number)

    @contextlib.contextmanager
    def held(self):
        """Not within this: a server that is begun, but not kept anywhere, could not be ended."""
        self.is_held = True
        try:
            yield
        finally:
            self.is_held = False
            if self.number is not None:
                sys.exit(128 + self.number)


ENDING = Ending()


def end_on_signals():
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # as of nohup
            signal.signal(number, ENDING.take)


# A test that imports us ends as before.
if os.path.dirname(os.path.abspath(sys.argv[0])) == os.path.join(ROOT, "bench"):
    end_on_signals()


class Failure(Exception):
    """Told on one line; exit 1."""


class Parser(argparse.ArgumentParser):
    """argparse with our exit status for wrong use and one line about it."""

    def error(self, message):
        self.exit(os.EX_USAGE, f"{self.prog}: {message}; try --help\n")


# ---- trace and lists ----


def open_trace(path):
    opener = gzip.open if path.endswith(".gz") else open
    # Bytes that are none make a line that is refused with its place.
    return opener(path, "rt", encoding="ascii", errors="backslashreplace")


def read_trace(path, first):
    """The first addresses of a trace, as ipaddress objects; equal ones are one object."""
    known = {}
    trace = []
    with open_trace(path) as lines:
        for number, line in enumerate(lines, 1):
            if len(trace) == first:
                break
            text = line.rstrip("\n").partition("\t")[2]
            if text not in known:
                try:
                    known[text] = ipaddress.ip_address(text)
                except ValueError:
                    raise Failure(f"{path}:{number}: no \"time TAB address\": {line[:80]!r}")
            trace.append(known[text])
    if not trace:
        raise Failure(f"{path}: no lookups")
    return trace


def read_visits(path, first, quiet_s):
    """
    The first lookups of a trace as (second, address), the first of them in second 0. Lines of an
    address that was looked up less than quiet_s before are left out.
    """
    known, visits, last = {}, [], {}
    with open_trace(path) as lines:
        for number, line in enumerate(lines, 1):
            second, _, text = line.rstrip("\n").partition("\t")
            try:
                second = float(second)
                if text not in known:
                    known[text] = ipaddress.ip_address(text)
            except ValueError:
                raise Failure(f"{path}:{number}: no \"time TAB address\": {line[:80]!r}")
            if second - last.get(text, second - quiet_s) < quiet_s:
                continue
            last[text] = second
            visits.append((second, known[text]))
            if len(visits) == first:
                break
    if not visits:
        raise Failure(f"{path}: no lookups")
    return [(second - visits[0][0], address) for second, address in visits]


def find_list(name):
    """dnsblv6-zone's name of a list whose file may lie in the directory of real lists."""
    kind, colon, path = name.rpartition(":")
    if not os.path.exists(path.rpartition("@")[0] or path) and "/" not in path:
        path = os.path.join(DATA, path)
    return kind + colon + path


def rows_of_level(path, level):
    with open(path, encoding="latin-1") as lines:
        for line in lines:
            words = line.split("#")[0].split()
            if len(words) > 1 and int(words[1]) >= level:
                yield words[0] + "\n"


class Truth:
    """What a list says, from the prefixes that dnsblv6-zone dump prints."""

    def __init__(self, prefixes, v6_unit):
        self.tables = {4: collections.defaultdict(set), 6: collections.defaultdict(set)}
        self.prefixes = prefixes
        for prefix in prefixes:
            if prefix.version == 6 and prefix.prefixlen > v6_unit:
                prefix = prefix.supernet(new_prefix=v6_unit)
            shift = prefix.max_prefixlen - prefix.prefixlen
            self.tables[prefix.version][shift].add(int(prefix.network_address) >> shift)

    def lists(self, address):
        number = int(address)
        return any(number >> shift in table
                   for shift, table in self.tables[address.version].items())


# ---- programs ----


class Bench:
    """A directory, a loopback address of our own, and the processes started."""

    def __init__(self, programs, signer="dnsblv6"):
        self.programs = os.path.abspath(programs)
        self.tool = os.path.join(programs, "zone-tools", "dnsblv6-zone")
        self.server = os.path.join(programs, "server", "dnsblv6d")
        self.signer = signer
        pid = os.getpid()
        self.host = f"127.{1 + pid % 250}.{pid // 250 % 250}.{1 + pid // 62500 % 250}"
        self.count = 0

    def run(self, command):
        try:
            return subprocess.run(command, check=True, capture_output=True, text=True,
                                  timeout=SIGN_DEADLINE_S).stdout
        except (OSError, subprocess.SubprocessError) as error:
            raise Failure(f"{error}: {getattr(error, 'stderr', '') or ''}".strip()) from None

    def new_path(self, name):
        self.count += 1
        return os.path.join(self.directory, f"{self.count}-{name}")

    def write(self, name, text):
        path = self.new_path(name)
        with open(path, "w", encoding="ascii") as out:
            out.write(text)
        return path

    def free_address(self, host=None):
        while True:
            with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tcp, \
                    socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
                tcp.bind((host or self.host, 0))
                with contextlib.suppress(OSError):
                    udp.bind(tcp.getsockname())
                    return tcp.getsockname()

    @contextlib.contextmanager
    def started(self, command, name, **how):
        process = harness.Process(command, self.new_path(name + ".log"), **how)
        try:
            yield process
        finally:
            process.stop()

    def __enter__(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="dnsblv6-bench-")
        self.directory = self.temporary.name
        return self

    def __exit__(self, *_):
        self.temporary.cleanup()


@contextlib.contextmanager
def dnsblv6d(bench, zone, addresses=(), server_lines=(), zone_lines=(), **how):
    """
    (address, function that counts queries so far) of our server; by default at a free address.
    how is for harness.Process.
    """
    address, *more = addresses or [bench.free_address()]
    text = config_text(address, [(ZONE, zone.store, CLASSIC, *zone_lines)], server_lines)
    listen = ", ".join(f"{host}@{port}" for host, port in (address, *more))
    config = bench.write("dnsblv6d.conf", re.sub(r"(?<=listen: \[ )[^ ]*", listen, text))
    with bench.started([bench.server, "--config", config], "dnsblv6d", **how) as process:
        process.wait_for_log(r"^info: \[dnsblv6d\] ready, ")
        pattern = r"^info: \[dnsblv6d\] counters, queries=(\d+)"

        def count():
            seen = len(re.findall(pattern, process.log(), re.MULTILINE))
            process.send_signal(signal.SIGUSR1)
            return int(process.wait_for_log(pattern, seen + 1)[-1])

        yield address, count


def build_store(bench, path, *arguments, ttl_s=TTL_S, negative_ttl_s=NEGATIVE_TTL_S,
                servers=("ns1.example.net.",)):
    """A store of the list at path; arguments are for dnsblv6-zone build."""
    store = bench.new_path("bl6.mdb")
    names = [word for server in servers for word in ("--ns", server)]
    bench.run([bench.tool, "build", "--quiet", "--zone", ZONE, "--store", store, *names,
               "--ignore-columns", "--ttl", str(ttl_s),
               "--negative-ttl", str(negative_ttl_s), *arguments, path])
    return store


def key_of(bench):
    key = bench.new_path("bl6.pem")
    bench.run([bench.tool, "keygen", "--zone", ZONE, "--key", key])
    return key


def pick_list(bench, source):
    """The path of a LIST of the command line; FILE@LEVEL is cut to its rows."""
    path = find_list(source)
    base, at, level = path.rpartition("@")
    if at and level.isdigit():
        return bench.write("list.txt", "".join(rows_of_level(base, int(level))))
    return path


UNBOUND_CONFIG = """
server:
    interface: {host}
    port: {port}
    outgoing-interface: {host}
    do-ip6: no
    do-daemonize: no
    use-syslog: no
    logfile: ""
    chroot: ""
    username: ""
    directory: "{directory}"
    pidfile: ""
    access-control: 127.0.0.0/8 allow
    do-not-query-localhost: no
    qname-minimisation: {setting.minimisation}
    qname-minimisation-strict: {setting.strict}
    aggressive-nsec: {setting.aggressive}
{more}
remote-control:
    control-enable: no
stub-zone:
    name: "{zone}"
    stub-addr: {authority[0]}@{authority[1]}
"""
LARGE_CACHE = """    msg-cache-size: 256m
    rrset-cache-size: 512m
    neg-cache-size: 256m"""


@contextlib.contextmanager
def unbound(bench, apex, authority, anchor, setting, lines=()):
    """lines: more of its server section."""
    address = bench.free_address()
    more = list(lines)
    if anchor:
        path = bench.write("anchor", anchor)
        more.append(f"    trust-anchor-file: \"{path}\"")
    config = bench.write("unbound.conf", UNBOUND_CONFIG.format(
        host=address[0], port=address[1], directory=bench.directory, setting=setting,
        zone=apex, authority=authority, more="\n".join(more)))
    with bench.started([harness.peer("unbound"), "-d", "-c", config], "unbound") as process:
        process.wait_for_log("start of service")
        yield address


def trust_anchor(apex, authority):
    keys = harness.ask(authority, apex, DNSKEY).rdata(DNSKEY)
    if not keys:
        raise Failure(f"{apex} has no DNSKEY at its authority")
    return "".join(f"{apex} DNSKEY {key[0] << 8 | key[1]} {key[2]} {key[3]}"
                   f" {base64.b64encode(key[4:]).decode()}\n" for key in keys)


def ds_of(apex, authority):
    """DS records of its keys, as dnsblv6-zone ds prints them."""
    keys = harness.ask(authority, apex, DNSKEY).rdata(DNSKEY)
    if not keys:
        raise Failure(f"{apex} has no DNSKEY at its authority")
    for key in keys:
        total = sum(byte << 8 if index % 2 == 0 else byte for index, byte in enumerate(key))
        tag = (total + (total >> 16)) & 0xFFFF  # RFC 4034 appendix B
        digest = hashlib.sha256(harness.wire_name(apex) + key).hexdigest()
        yield f"{apex} IN DS {tag} {key[3]} 2 {digest}"


def machine():
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as lines:
        cpu = next((line.split(":")[1].strip() for line in lines
                    if line.startswith("model name")), platform.machine())
    return f"{cpu}, {os.cpu_count()} cores, Linux {platform.release()}"


# ---- plots ----


def find_pyplot():
    try:
        import matplotlib
    except ImportError:
        raise Failure("the plots need Debian's python3-matplotlib") from None
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "dnsblv6"  # equal figures give equal bytes
    from matplotlib import pyplot
    return pyplot
