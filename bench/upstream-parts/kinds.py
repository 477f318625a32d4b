# SPDX-License-Identifier: GPL-3.0-or-later
"""
kinds.py - the kinds of zones that one list can be, what each is asked and what its answers say.

Flow: upstream-queries and unbound-queries have a Kind and a list -> ZoneFiles has the stores and
      master files of it -> its authority is started -> Replay puts the lookups of a trace to a
      resolver, and judges each answer by the list.
"""
import collections
import contextlib
import ipaddress
import os
import random
import re
import socket

from replays import (NEGATIVE_TTL_S, SIGN_DEADLINE_S, TTL_S, Truth, build_store, dnsblv6d,
                     key_of)  # of bench
import harness  # found by replays.py
from harness import (A, AAAA, CLASSIC, NOERROR, NXDOMAIN, SERVFAIL, ZONE, bitmap_name,
                     classic_name, host_index, is_bit_set, query, wait_for)

AUTHENTIC_DATA = 0x0020
ANSWER_DEADLINE_S = 10
LIFETIME_S = 1209600  # of signatures; the stock one of both signers
TRIES = 3

# is_flat: what is asked. limit: of unbound-queries. neighbours: dnsblv6d's setting. style: of the
# store, when it is not that of the questions. has_frequent: frequent-ranges as by default, or none.
Kind = collections.namedtuple(
    "Kind", "name is_bitmap is_flat is_signed limit neighbours style has_frequent",
    defaults=(None, 0, None, False))


# ---- zones ----


def classic_owners(prefix):
    """Owner names below the classic apex: an address, or wildcards for each octet or nibble."""
    step = 8 if prefix.version == 4 else 4
    border = -(-prefix.prefixlen // step) * step
    for part in prefix.subnets(new_prefix=border):
        labels = classic_name(part.network_address, "").rstrip(".").split(".")
        fixed = labels[(part.max_prefixlen - border) // step:]
        yield ".".join(fixed if border == part.max_prefixlen else ["*", *fixed])


def write_classic_zone(path, prefixes, zone):
    """zone: a ZoneFiles."""
    with open(path, "w", encoding="ascii") as out:
        out.write(f"$ORIGIN {CLASSIC}\n$TTL {TTL_S}\n"
                  f"@ {zone.negative_ttl_s} SOA {zone.servers[0]} hostmaster 1 3600 600 604800"
                  f" {zone.negative_ttl_s}\n2.0.0.127 A 127.0.0.2\n")
        for server in zone.servers:
            out.write(f"@ NS {server}\n")
        for prefix in prefixes:
            for owner in classic_owners(prefix):
                out.write(f"{owner} A 127.0.0.2\n")


def flat_name(address):
    """Owner name of a block in flat style: FORMAT.md part 3."""
    number = int(address)
    if address.version == 4:
        return f"{number >> 8:06x}{number >> 7 & 1}.{ZONE}"
    return f"{number >> 72:014x}{number >> 71 & 1}.ip6.{ZONE}"


def question_of(kind, address):
    if not kind.is_bitmap:
        return classic_name(address), A
    return (flat_name if kind.is_flat else bitmap_name)(address), AAAA


def says_listed(kind, address, reply):
    """True, False, or None when the reply is neither."""
    if reply.rcode == NXDOMAIN:
        return False
    if reply.rcode != NOERROR:
        return None
    rdata = reply.rdata(AAAA if kind.is_bitmap else A)
    if not rdata:
        return False  # NODATA, at an empty non-terminal
    return is_bit_set(rdata[0], host_index(address)) if kind.is_bitmap else True


KNOT_CONFIG = """
server:
    rundir: "{directory}"
    listen: [ {listen} ]
    udp-workers: 1
control:
    listen: "{socket}"
database:
    storage: "{directory}"
log:
  - target: stderr
    any: info
mod-stats:
  - id: count
policy:
  - id: one-key
    algorithm: ecdsap256sha256
    single-type-signing: on
    rrsig-lifetime: {lifetime}
template:
  - id: default
    global-module: mod-stats/count
zone:
  - domain: "{zone}"
    file: "{file}"
    dnssec-signing: on
    dnssec-policy: one-key
    zonefile-load: whole
    zonefile-sync: -1
    journal-content: none
"""


@contextlib.contextmanager
def knot(bench, apex, zone_file, addresses=(), lifetime_s=LIFETIME_S):
    """As dnsblv6d() of replays.py, for Knot, which signs the zone before it is ready."""
    addresses = addresses or [bench.free_address()]
    directory = bench.new_path("knot")
    os.mkdir(directory)
    control = os.path.join(directory, "s")
    config = bench.write("knot.conf", KNOT_CONFIG.format(
        directory=directory, listen=", ".join(f'"{host}@{port}"' for host, port in addresses),
        socket=control, zone=apex, file=zone_file, lifetime=lifetime_s))
    with bench.started([harness.peer("knotd"), "-c", config], "knotd") as process:
        wait_for(lambda: "successfully signed" in process.log() or process.popen.poll(),
                 "Knot to sign the zone", SIGN_DEADLINE_S)

        def count():
            text = bench.run([harness.peer("knotc"), "-s", control, "stats",
                              "mod-stats.request-protocol"])
            return sum(int(number) for number in re.findall(r"= (\d+)$", text, re.MULTILINE))

        yield addresses[0], count


class ZoneFiles:
    """One list as the stores and master files that the authorities take."""

    def __init__(self, bench, source, path, negative_ttl_s=NEGATIVE_TTL_S,
                 servers=("ns1.example.net.",), lifetime_s=LIFETIME_S):
        self.bench, self.path = bench, path
        self.name = source
        self.negative_ttl_s, self.servers, self.lifetime_s = negative_ttl_s, servers, lifetime_s
        self.stores = {}
        text = bench.run([bench.tool, "dump", "--store", self.store("dotted", False)])
        self.prefixes = [ipaddress.ip_network(line) for line in text.splitlines()
                         if "\t" not in line]
        self.truth = {True: Truth(self.prefixes, 64), False: Truth(self.prefixes, 128)}

    def store_of(self, kind, is_signed):
        return self.store(kind.style or ("flat" if kind.is_flat else "dotted"), is_signed)

    def store(self, style, is_signed):
        if (style, is_signed) not in self.stores:
            key = ["--key", key_of(self.bench), "--lifetime", str(self.lifetime_s)]
            self.stores[style, is_signed] = build_store(
                self.bench, self.path, "--style", style,
                *(key if is_signed else []), negative_ttl_s=self.negative_ttl_s,
                servers=self.servers)
        return self.stores[style, is_signed]

    def master_file(self, kind):
        path = self.bench.new_path("zone")
        if kind.is_bitmap:
            text = self.bench.run([self.bench.tool, "dump", "--zonefile", "--store",
                                   self.store_of(kind, False)])
            with open(path, "w", encoding="ascii") as out:
                out.write(text)
        else:
            write_classic_zone(path, self.prefixes, self)
        return path

    def authority(self, kind, addresses=(), server_lines=(), clock=None):
        """
        A context with the first of the addresses, and a function that counts its queries. clock: a
        Clock that it goes by, if it is dnsblv6d, which gives frequent ranges once in a TTL.
        """
        bench = self.bench
        if kind.is_signed and not (kind.is_bitmap and bench.signer == "dnsblv6"):
            return knot(bench, ZONE if kind.is_bitmap else CLASSIC, self.master_file(kind),
                        addresses, self.lifetime_s)
        zone = collections.namedtuple("Zone", "store")(self.store_of(kind, kind.is_signed))
        lines = [*server_lines, *([] if kind.has_frequent else ["frequent-ranges: 0"])]
        how = {"env": clock.environment()} if clock else {}
        return dnsblv6d(bench, zone, addresses, lines, [f"neighbours: {kind.neighbours}"], **how)


# ---- lookups ----


class Replay:
    """Puts the lookups one after the other, so that a count repeats."""

    def __init__(self, kind, truth):
        self.kind, self.truth = kind, truth
        self.right, self.secure, self.bogus, self.wrong = 0, 0, 0, []

    def run(self, resolver, trace, before_each=None):
        """before_each is called with the number of the lookup that follows."""
        self.run_shared([resolver], trace, before_each and (lambda number, _: before_each(number)))

    def run_shared(self, resolvers, trace, before_each=None):
        """
        Each lookup goes to one of the resolvers, by chance; before_each is told which. Mail servers
        call at many places, each with a resolver of its own.
        """
        packets = {address: query(*question_of(self.kind, address), flags=0x0100 | AUTHENTIC_DATA)
                   for address in set(trace)}
        verdicts = {address: self.truth.lists(address) for address in packets}
        chance = random.Random(len(resolvers))
        with contextlib.ExitStack() as stack:
            sockets = {}
            for resolver in resolvers:
                sockets[resolver] = udp = stack.enter_context(
                    socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
                udp.connect(resolver)
                udp.settimeout(ANSWER_DEADLINE_S)
            for number, address in enumerate(trace):
                resolver = chance.choice(resolvers)
                if before_each:
                    before_each(number, resolver)
                reply = self.ask(sockets[resolver], number, packets[address])
                self.judge(address, reply, verdicts[address])

    def ask(self, udp, number, packet):
        ident = (number & 0xFFFF).to_bytes(2, "big")
        for left in reversed(range(TRIES)):
            udp.send(ident + packet[2:])
            try:
                wire = udp.recv(65535)
                while wire[:2] != ident:
                    wire = udp.recv(65535)
                return harness.Reply(wire)
            except TimeoutError:
                if left == 0:
                    raise
        return None

    def judge(self, address, reply, is_listed):
        said = says_listed(self.kind, address, reply)
        if said is not is_listed:
            self.wrong.append(f"{address}: rcode {reply.rcode}, said {said}, listed {is_listed}")
            self.bogus += reply.rcode == SERVFAIL
            return
        self.right += 1
        self.secure += bool(reply.flags & AUTHENTIC_DATA)
