# SPDX-License-Identifier: GPL-3.0-or-later
"""
faults.py - a DNS server that hands questions on and breaks the answers, and the ways it does.

Flow: a client asks a Server -> the Upstream it has, an authority or a validating resolver -> the
      reply, or while the server is sick what its Fault makes of that -> the client.
      fault_clients.py runs one for each cell of the table of test_client_faults.py.

A fault is a function: what was asked and the true reply in, the bytes to be sent out, or None. A
question that comes while the server is sick gets the fault's answer, whenever that is ready.
"""

import asyncio
import collections
import os
import random
import struct

from harness import (A, AAAA, FORMERR, NOERROR, NS, NXDOMAIN, REFUSED, SERVFAIL, SOA, TXT, Reply,
                     query, wire_name)

CNAME, NSEC, RRSIG, OPT = 5, 47, 46, 41
AD, TC, REPLY = 0x0020, 0x0200, 0x8180
TTL_S = 3600
LATE_S = 6
FILTERED, PROHIBITED = 17, 18  # RFC 8914
AT_QUESTION = b"\xc0\x0c"

UNSIGNED, SIGNED, PLAIN = "unsigned", "signed", "classic"
KINDS = (UNSIGNED, SIGNED, PLAIN)
BY_FAITH = (UNSIGNED, PLAIN)  # nothing is validated

# As of many addresses of a block, and the same for each.
FORGED = bytes.fromhex("5ad3b6a96c5be4d9937a2dc65eb1695c")
PUBLIC, PUBLIC6 = bytes((203, 0, 113, 80)), bytes.fromhex("2a0014504001080b0000000000002004")


class Asked:
    """A question. ValueError, IndexError or struct.error when the packet is none."""

    def __init__(self, packet):
        end = 12
        while packet[end] != 0:
            end += 1 + packet[end]
        self.id, self.question = packet[:2], packet[12:end + 5]
        self.name = packet[12:end + 1]
        self.type, = struct.unpack_from(">H", packet, end + 1)


# ---- messages ----


def record(owner, rrtype, rdata, ttl_s=TTL_S):
    return owner + struct.pack(">HHIH", rrtype, 1, ttl_s, len(rdata)) + rdata


def message(asked, rcode=NOERROR, answer=(), authority=(), ede=None, flags=0):
    option = b"" if ede is None else struct.pack(">HHH", 15, 2, ede)
    opt = b"\0" + struct.pack(">HHIH", OPT, 1232, 0, len(option)) + option
    return asked.id + struct.pack(">5H", REPLY | flags | rcode, 1, len(answer), len(authority), 1) \
        + asked.question + b"".join((*answer, *authority)) + opt


def rebuilt(asked, reply, keeps=lambda found: True, ttl_s=None, flags=0):
    """The reply once more, with the records that keeps() has, and other TTLs."""
    parsed = Reply(reply)

    def records(section):
        return [record(wire_name(found.name), found.type, found.rdata,
                       found.ttl if ttl_s is None else ttl_s)
                for found in section if keeps(found)]

    return message(asked, parsed.rcode, records(parsed.answer), records(parsed.authority),
                   flags=flags | parsed.flags & AD)


def rcode_of(reply):
    return reply[3] & 15


# ---- answers of a sick server ----


class Zone:
    """What faults have to know of the zone: its name, and the SOA of its negative answers."""

    def __init__(self, name, soa):
        self.owner, self.soa = wire_name(name), soa

    def negative(self, asked, rcode, ede=None):
        return message(asked, rcode, authority=[record(self.owner, SOA, self.soa)], ede=ede)

    def anew(self, asked):
        """Of a version of the zone that was not seen before. The serial is before four numbers."""
        serial, = struct.unpack_from(">I", self.soa, len(self.soa) - 20)
        soa = self.soa[:-20] + struct.pack(">I", serial + 1 & 0xFFFFFFFF) + self.soa[-16:]
        return message(asked, NXDOMAIN, authority=[record(self.owner, SOA, soa)])

    def parents(self, asked):
        """The zone is gone, and that above it says so."""
        owner = wire_name("example.")
        soa = wire_name("a.nic.example.") + wire_name("hostmaster.nic.example.") + \
            struct.pack(">5I", 7, 1800, 900, 604800, 3600)
        return message(asked, NXDOMAIN, authority=[record(owner, SOA, soa)])


def addresses(asked, v4, v6):
    """Whatever the name, these addresses. No records of another type."""
    rdata = {A: v4, AAAA: v6}.get(asked.type, ())
    return message(asked, answer=[record(AT_QUESTION, asked.type, bytes(one)) for one in rdata])


def low(*numbers):
    return [bytes((127, 0, 0, number)) for number in numbers]


def forge(_zone, asked, reply):
    """A closed list: a wildcard in place of the zone, but for its metadata."""
    return reply if asked.type == TXT else addresses(asked, low(2), [FORGED])


def forge_secure(zone, asked, reply):
    """The resolver itself lies, and claims to have validated."""
    forged = bytearray(forge(zone, asked, reply))
    forged[3] |= AD
    return bytes(forged)


def forge_random(_zone, asked, reply):
    if asked.type == TXT:
        return reply
    return addresses(asked, low(random.randrange(2, 12)), [os.urandom(16)])


def forge_ones(_zone, asked, reply):
    return reply if asked.type == TXT else addresses(asked, low(*range(2, 12)), [b"\xff" * 16])


def forge_tenth(zone, asked, reply):
    return forge(zone, asked, reply) if random.random() < 0.1 else reply


def sinkhole(_zone, asked, _reply):
    return addresses(asked, low(1), [bytes(15) + b"\1"])


def sinkhole_zero(_zone, asked, _reply):
    return addresses(asked, [bytes(4)], [bytes(16)])


def search_page(_zone, asked, reply):
    """A resolver makes what does not exist an address of its operator's."""
    if rcode_of(reply) != NXDOMAIN:
        return reply
    return addresses(asked, [PUBLIC], [PUBLIC6])


def listed_for_nxdomain(zone, asked, reply):
    return forge(zone, asked, reply) if rcode_of(reply) == NXDOMAIN else reply


def too_many_questions(zone, asked, _reply):
    """127.255.255.254, as of lists that a public resolver asks."""
    if asked.type == A:
        return addresses(asked, [bytes((127, 255, 255, 254))], ())
    return zone.negative(asked, NOERROR)


def refuse(_zone, asked, _reply):
    return message(asked, REFUSED)


def fail(_zone, asked, _reply):
    return message(asked, SERVFAIL)


def be_silent(_zone, _asked, _reply):
    return None


def answer_tenth(_zone, _asked, reply):
    return reply if random.random() < 0.1 else None


def truncate(_zone, asked, _reply):
    return message(asked, flags=TC)


def drop_aaaa(zone, asked, reply):
    return zone.negative(asked, NOERROR) if asked.type == AAAA else reply


def nodata(zone, asked, _reply):
    return zone.negative(asked, NOERROR)


def refer(_zone, asked, _reply):
    """A server that has lost the zone: neither an answer nor a SOA."""
    return message(asked, authority=[record(wire_name("example."), NS,
                                            wire_name("a.nic.example."))])


def nxdomain_of_parent(zone, asked, _reply):
    return zone.parents(asked)


def nxdomain_of_zone(zone, asked, _reply):
    return zone.negative(asked, NXDOMAIN)


def nxdomain_of_new_zone(zone, asked, _reply):
    return zone.anew(asked)


def nxdomain_without_soa(_zone, asked, _reply):
    return message(asked, NXDOMAIN)


def prohibit(zone, asked, _reply):
    return zone.negative(asked, NXDOMAIN, ede=PROHIBITED)


def filter_out(zone, asked, _reply):
    return zone.negative(asked, NXDOMAIN, ede=FILTERED)


def park(_zone, asked, _reply):
    target = wire_name("parked.example.net.")
    rdata = {A: PUBLIC, AAAA: PUBLIC6}.get(asked.type, b"\x0bv=spf1 -all")
    return message(asked, answer=[record(AT_QUESTION, CNAME, target),
                                  record(target, asked.type, rdata)])


def add_another(_zone, asked, reply):
    """A second address behind the right one, or two where none is."""
    if asked.type not in (A, AAAA):
        return reply
    right = Reply(reply).rdata(asked.type) or (low(2) if asked.type == A else [FORGED])
    return addresses(asked, right + [PUBLIC], right + [PUBLIC6])


def echo_another(zone, asked, reply):
    forged = bytearray(forge(zone, asked, reply))
    forged[13] ^= 1  # the first letter of the name
    return bytes(forged)


def use_another_id(zone, asked, reply):
    forged = bytearray(forge(zone, asked, reply))
    forged[1] ^= 1
    return bytes(forged)


def send_garbage(_zone, asked, _reply):
    """Half of it behind a header and a question that are right."""
    garbage = os.urandom(random.randrange(1, 200))
    if random.random() < 0.5:
        return garbage
    return asked.id + struct.pack(">5H", REPLY, 1, 5, 1, 1) + asked.question + garbage


def zero_ttl(_zone, asked, reply):
    return rebuilt(asked, reply, ttl_s=0)


def huge_ttl(zone, asked, reply):
    """Listings for 68 years, where there is nothing."""
    forged = listed_for_nxdomain(zone, asked, reply)
    return rebuilt(asked, forged, ttl_s=0x7FFFFFFF)


def turn_ad(_zone, _asked, reply):
    """Lost where it was, and there where it cannot be."""
    return reply[:3] + bytes((reply[3] ^ AD,)) + reply[4:]


def strip(_zone, asked, reply):
    """An old forwarder in the way, which knows nothing of DNSSEC."""
    plain = bytearray(rebuilt(asked, reply, lambda found: found.type not in (RRSIG, NSEC)))
    plain[3] &= ~AD & 0xFF
    return bytes(plain)


def dislike_edns(_zone, asked, _reply):
    return asked.id + struct.pack(">5H", REPLY | FORMERR, 1, 0, 0, 0) + asked.question


def pass_on(_zone, _asked, reply):
    return reply


# No denials: a look at the zone would be content with two of them. And no silence: a probe would be
# half of the sick server's and, when it asks again, half of the well one's.
MIXTURE = (forge, sinkhole, fail, park, add_another)


def mix(zone, asked, reply):
    """Each question meets another of them."""
    return random.choice(MIXTURE)(zone, asked, reply)


# ---- the table's rows ----

# hides_listings, hides_clears: kinds of zones of which nothing tells that verdicts are wrong, once
#     the zone was seen to be well
# hides_from_start: of which nothing tells from the start either
# wrong_max: false verdicts, of each sort, that may come until such a zone is looked at
# needs_secure: answers are right, but no longer secure, and no verdict of a zone that was
# is_old: the server asks the old copy
# is_busy: a burst of listings comes before it
# tcp: what becomes of a connection: it is "cut" or "silent"; refused without
Fault = collections.namedtuple(
    "Fault", "name make kinds hides_listings hides_clears hides_from_start wrong_max"
             " needs_secure is_old is_busy tcp delay_s",
    defaults=(KINDS, (), (), (), 0, False, False, False, None, 0))


FAULTS = (
    Fault("one forged answer for all", forge),
    Fault("the same, after a burst of listings", forge, is_busy=True, wrong_max=80),
    Fault("the same, said to be secure", forge_secure, kinds=(SIGNED,)),
    Fault("forged answers by chance", forge_random),
    Fault("all bits set, all values", forge_ones),
    Fault("one answer in ten forged", forge_tenth, hides_listings=BY_FAITH, hides_clears=BY_FAITH,
          hides_from_start=KINDS),
    Fault("sinkhole: 127.0.0.1, ::1", sinkhole),
    Fault("sinkhole: 0.0.0.0, ::", sinkhole_zero),
    Fault("NXDOMAIN made a public address", search_page),
    Fault("NXDOMAIN made a listing", listed_for_nxdomain),
    Fault("the same with a TTL of 68 years", huge_ttl),
    Fault("127.255.255.254", too_many_questions),
    Fault("REFUSED", refuse),
    Fault("SERVFAIL", fail),
    Fault("silence", be_silent),
    Fault("one question in ten answered", answer_tenth),
    Fault("truncated, TCP refused", truncate),
    Fault("truncated, TCP cut off", truncate, tcp="cut"),
    Fault("truncated, TCP silent", truncate, tcp="silent"),
    Fault("AAAA dropped", drop_aaaa, kinds=(UNSIGNED, SIGNED)),
    Fault("NODATA for all", nodata),
    Fault("referral for all", refer),
    Fault("NXDOMAIN for all, SOA of the parent", nxdomain_of_parent),
    Fault("NXDOMAIN for all, SOA of the zone", nxdomain_of_zone, hides_clears=BY_FAITH),
    Fault("NXDOMAIN for all, SOA with a new serial", nxdomain_of_new_zone, hides_clears=BY_FAITH),
    Fault("NXDOMAIN for all, no SOA", nxdomain_without_soa),
    Fault("NXDOMAIN for all, EDE 18 (prohibited)", prohibit),
    Fault("NXDOMAIN for all, EDE 17 (filtered)", filter_out),
    Fault("CNAME to a parking host", park),
    Fault("a second address in each answer", add_another),
    Fault("forged, wrong question", echo_another),
    Fault("forged, wrong id", use_another_id),
    Fault("garbage", send_garbage),
    Fault("replies six seconds late", pass_on, delay_s=LATE_S),
    Fault("TTL 0", zero_ttl),
    Fault("AD lost, or where it cannot be", turn_ad, needs_secure=True),
    Fault("DNSSEC stripped", strip, needs_secure=True),
    Fault("FORMERR to EDNS", dislike_edns),
    Fault("an old copy of the zone", pass_on, is_old=True, hides_clears=KINDS,
          hides_from_start=KINDS),
    Fault("each question another fault", mix),
)


# ---- the server ----


class Upstream(asyncio.DatagramProtocol):
    """Questions of many clients over one socket, each with an id of its own."""

    def __init__(self):
        self.transport = None
        self.waiting = collections.OrderedDict()  # id -> callback, the oldest first
        self.following = 0

    def connection_made(self, transport):
        self.transport = transport

    def ask(self, packet, done):
        ident = struct.pack(">H", self.following)
        self.following = (self.following + 1) & 0xFFFF
        self.waiting.pop(ident, None)
        self.waiting[ident] = done
        self.transport.sendto(ident + packet[2:])

    def datagram_received(self, reply, _address):
        done = self.waiting.pop(reply[:2], None)
        if done is not None:
            done(reply)

    def error_received(self, _error):
        pass  # the question is lost, and put again


async def open_upstream(address):
    loop = asyncio.get_running_loop()
    _, upstream = await loop.create_datagram_endpoint(Upstream, remote_addr=tuple(address))
    return upstream


class Server(asyncio.DatagramProtocol):
    """upstream and old are Upstreams: that of the zone as it is, and of an old copy."""

    def __init__(self, broken_by, zone, upstream, old):
        self.fault, self.zone, self.upstream, self.old = broken_by, zone, upstream, old
        self.is_sick = False
        self.transport = None

    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, packet, address):
        asked = Asked(packet)
        if not self.is_sick:
            self.upstream.ask(packet, lambda reply: self._pass_on(asked.id + reply[2:], address))
            return
        upstream = self.old if self.fault.is_old else self.upstream
        upstream.ask(packet, lambda reply: self._break(asked, asked.id + reply[2:], address))

    def _pass_on(self, reply, address):
        """Once the server is sick, nothing that is right leaves it: the question is put again."""
        if not self.is_sick:
            self._send(reply, address)

    def _break(self, asked, reply, address):
        made = self.fault.make(self.zone, asked, reply)
        if made is not None:
            asyncio.get_running_loop().call_later(self.fault.delay_s, self._send, made, address)

    def _send(self, packet, address):
        if not self.transport.is_closing():
            self.transport.sendto(packet, address)


async def on_connection(how, reader, writer):
    if how == "silent":
        await reader.read(1 << 16)
        await asyncio.sleep(30)
    writer.close()


async def ask_for_soa(upstream, name):
    """What the zone's negative answers have."""
    while True:
        found = asyncio.get_running_loop().create_future()
        upstream.ask(query(name, SOA), lambda reply: found.done() or found.set_result(reply))
        try:
            return Reply(await asyncio.wait_for(found, 5)).rdata(SOA)[0]
        except (asyncio.TimeoutError, IndexError):
            continue  # a resolver that has just been started


async def serve(broken_by, zone, address, upstream, old):
    """A Server at address, which is this process's until that ends."""
    loop = asyncio.get_running_loop()
    _, server = await loop.create_datagram_endpoint(
        lambda: Server(broken_by, zone, upstream, old), local_addr=tuple(address))
    if broken_by.tcp is not None:
        await asyncio.start_server(lambda *streams: on_connection(broken_by.tcp, *streams),
                                   *address)
    return server
