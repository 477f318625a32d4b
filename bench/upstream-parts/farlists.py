# SPDX-License-Identifier: GPL-3.0-or-later
"""
farlists.py - blacklists whose authorities are far away, and a resolver before them.

Flow: bench/figure-14 and bench/site start authorities of a list -> Far, bench/delay in front of one, counts
      and holds back -> unbound_command() is a resolver that has its zones from there, with empty caches.

Everything belongs to a case of the harness, and ends with it.
"""
import collections
import os
import re
import signal
import subprocess
import sys
import tempfile

sys.path.insert(1, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import replays  # noqa: E402,F401  (of bench; it finds the next)
import harness  # noqa: E402
import mta  # noqa: E402
import resolvers  # noqa: E402
from harness import A, CLASSIC, NOERROR  # noqa: E402

TEST_POINT = "2.0.0.127."
SOA = "$SOA 86400 ns1.example.net. hostmaster.example.net. 1 3600 600 604800 86400"
TEXT = ":127.0.0.2:$ is listed, see https://bl.example/?ip=$"
TTL_S = "86400"  # of the paper, and longer than any run
NEVER = "127.0.0.99"  # a value that no listing has

# The delay of an answer, after figure 5 of the spam paper as it is remembered: (share of answers,
# milliseconds at most).
DELAYS = ((0, 8), (0.25, 30), (0.5, 65), (0.65, 100), (0.8, 170), (0.9, 280), (0.97, 600), (1, 1000))

# Questions so far, the sum of their delays, and how many were for TXT.
Asked = collections.namedtuple("Asked", "questions held_ms texts")


def mean_delay_ms():
    return sum((to_share - from_share) * (from_ms + to_ms) / 2
               for (from_share, from_ms), (to_share, to_ms) in zip(DELAYS, DELAYS[1:]))


def delay_lines():
    """As a table of a page."""
    yield "| share of answers | " + " | ".join(f"{share:.0%}" for share, _ in DELAYS) + " |"
    yield "|---|" + "|".join("---:" for _ in DELAYS) + "|"
    yield "| milliseconds at most | " + " | ".join(str(ms) for _, ms in DELAYS) + " |"


# ---- authorities ----


def start_rbldnsd(case, path):
    """The address of one that has the addresses of a file, classically."""
    address = case.free_address()
    with open(path, encoding="ascii") as file:
        zone = case.write("rbldnsd.txt", "\n".join(
            [f"$TTL {TTL_S}", SOA, f"$NS {TTL_S} ns1.example.net.", TEXT, "127.0.0.2", file.read()]))
    process = case.start(
        [harness.peer("rbldnsd"), "-n", "-u", "nobody", "-b", f"{address[0]}/{address[1]}",
         f"{CLASSIC.rstrip('.')}:ip4set:{zone}"], "rbldnsd")
    process.wait_for_log(r"rbldnsd version .* started")
    return address


def build_store(case, path, name="bl6.mdb", options=()):
    """The same list as bitmaps, for case.serve(). options: more of dnsblv6-zone build."""
    store = case.path(name)
    case.build(store, "--ttl", TTL_S, "--negative-ttl", TTL_S, *options, path)
    return store


class Far:
    """A server whose answers take as long as DELAYS says."""

    def __init__(self, case, server, *words):
        self.address = case.free_address()
        self.process = case.start(
            [os.path.join(harness.BUILD, "bench", "delay"), *words, "1", self.address[0],
             str(self.address[1]), server[0], str(server[1]),
             *(f"{share}:{ms}" for share, ms in DELAYS)], "delay")
        self.process.wait_for_log("^ready")

    def asked(self):
        pattern = r"^queries=(\d+) answers=\d+ held_ms=(\d+) lost=\d+ texts=(\d+)"
        seen = len(re.findall(pattern, self.process.log(), re.MULTILINE))
        self.process.send_signal(signal.SIGUSR1)
        return Asked(*map(int, self.process.wait_for_log(pattern, seen + 1)[-1]))


# ---- the resolver ----


def unbound_command(case, zones, lines=(), anchor=None):
    """
    An Unbound at port 53 of the case's address. zones: {apex: address of its authority}; lines: whole
    clauses; anchor: keys of a signed one, as trust_anchor() of replays.py has them.
    """
    where = {"directory": tempfile.mkdtemp(prefix="unbound-", dir=case.directory),
             "host": case.host, "port": mta.DNS_PORT}
    own = ['module-config: "iterator"']
    if anchor is not None:
        path = resolvers.write_into(where, "anchor", anchor)
        own = ['module-config: "validator iterator"', f'trust-anchor-file: "{path}"']
    text = resolvers.UNBOUND.format(**where, lines="\n    ".join([
        *own, "outgoing-range: 4096", "num-queries-per-thread: 2048",
        "msg-cache-size: 64m", "rrset-cache-size: 128m", "qname-minimisation: no",
        # Its guess of a time after which to ask again is made from answers that come
        # as these do, and would double one question in ten.
        "infra-cache-min-rtt: 2000", "infra-cache-max-rtt: 5000"])) + "\n".join(lines)
    for zone, authority in zones.items():
        text += resolvers.UNBOUND_STUB.format(
            zone=zone, servers="\n    stub-addr: {}@{}".format(*authority))
    return [resolvers.unconfined(case, "unbound"), "-d", "-c",
            resolvers.write_into(where, "unbound.conf", text)]


def control_lines(case):
    """Clauses with which count_queries() can ask it."""
    return [f"\nremote-control:\n    control-enable: yes\n    control-interface: {case.path('unbound.ctl')}"
            "\n    control-use-cert: no"]


def count_queries(command):
    """How many it has had so far; command is what has started it."""
    told = subprocess.run([harness.peer("unbound-control"), "-c", command[-1], "stats_noreset"],
                          check=True, capture_output=True, text=True, timeout=60).stdout
    return int(re.search(r"(?m)^total\.num\.queries=(\d+)$", told).group(1))


def is_listed(case, name):
    """Does the resolver say so? Not yet, while it starts."""
    try:
        reply = harness.ask((case.host, mta.DNS_PORT), name, A, timeout_s=2)
    except OSError:
        return False
    return reply.rcode == NOERROR and bool(reply.rdata(A))


# ---- a trace ----


def misses(addresses, ttl, shift):
    """
    The share of sessions of these clients (numbers) that miss, when a cache has answers about all that
    share the bits above shift, and one lives for ttl sessions.
    """
    expires, missed = {}, 0
    for index, address in enumerate(addresses):
        if expires.get(address >> shift, 0) <= index:
            expires[address >> shift] = index + ttl
            missed += 1
    return missed / len(addresses)
