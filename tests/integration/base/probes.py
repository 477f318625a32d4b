# SPDX-License-Identifier: GPL-3.0-or-later
"""
probes.py - questions that RFCs say something about, and the words that describe an answer.

Flow: test_conformance.py and test_translate.py put each row of ROWS to a server with probe(), over
      Udp and Tcp -> faults() names the words that the answer does not keep to. SESSIONS are
      several questions in one TCP connection, RFC 7766.

An answer is a set of words, words_of() below. A row says which words the RFC
wants and which it forbids (!word), and by which words Knot's answer differs
from ours, with the reason. "udp:" and "tcp:" in front of a word are for that
transport alone.
"""

import collections
import socket
import struct

import dns.message

from harness import (A, AAAA, ANY, DEADLINE_S, NS, OPT, SOA, TXT, ZONE, Reply, framed, query, wire_name)

DNSKEY, RRSIG = 48, 46
QR, AA, TC, RD, RA, Z, AD, CD = (0x8000, 0x0400, 0x0200, 0x0100, 0x0080, 0x0040, 0x0020, 0x0010)
DO = 0x8000
HEADER_FLAGS = {"qr": QR, "aa": AA, "tc": TC, "rd": RD, "ra": RA, "z": Z, "ad": AD, "cd": CD}
RCODES = {0: "NOERROR", 1: "FORMERR", 2: "SERVFAIL", 3: "NXDOMAIN", 4: "NOTIMP", 5: "REFUSED",
          9: "NOTAUTH", 16: "BADVERS", 23: "BADCOOKIE"}
TYPES = {A: "A", NS: "NS", SOA: "SOA", TXT: "TXT", AAAA: "AAAA", RRSIG: "RRSIG", 47: "NSEC",
         DNSKEY: "DNSKEY"}
NSID, SUBNET, EXPIRE, COOKIE, KEEPALIVE, PADDING, EDE = 3, 8, 9, 10, 11, 12, 15
OPTIONS = {NSID: "nsid", SUBNET: "subnet", EXPIRE: "expire", COOKIE: "cookie",
           KEEPALIVE: "keepalive", PADDING: "padding", EDE: "ede"}

# Unless a row says otherwise. RFC 1035 4.1.1: the opcode is copied, Z is zero. RFC 4035 3.1.6:
# an authoritative server clears CD, and sets AD when told to. RFC 6891 6.1.4: unknown flags are
# zero; 6.1.1: no OPT in the answer to none, 6.2.3: nothing larger than the client takes.
ALWAYS = ("id qr opcode-kept question !ra !z !ad !cd !tc !mbz !small !opts !oversize !unasked-opt"
          " !closed").split()
SENTINEL_ID = 0x5E5E
LISTED = f"0.2.0.192.{ZONE}"
EMPTY = f"2.0.192.{ZONE}"
ABSENT = f"0.9.9.9.{ZONE}"
ELSEWHERE = "www.example.net."
NAME_SERVERS = [f"ns{number}.{'long-' * 11}name.example{number}.net." for number in range(8)]


# ---- questions ----


def opt(size=1232, version=0, flags=0, options=b"", owner=b"\0"):
    return owner + struct.pack(">HHBBHH", OPT, size, 0, version, flags, len(options)) + options


def option(code, data=b""):
    return struct.pack(">HH", code, len(data)) + data


def ask(rrtype=SOA, name=ZONE, flags=0, opcode=0, rrclass=1, edns=None, more=()):
    """One question. edns is an opt(), more are records of the additional section."""
    records = list(more) + ([edns] if edns else [])
    header = struct.pack(">6H", 0x1234, flags | opcode << 11, 1, 0, 0, len(records))
    return (header + wire_name(name) + struct.pack(">HH", rrtype, rrclass) + b"".join(records))


def header_only(opcode=0, flags=0, edns=None):
    counts = (0, 0, 0, 1 if edns else 0)
    return struct.pack(">6H", 0x1234, flags | opcode << 11, *counts) + (edns or b"")


def other_counts(packet, *counts):
    return packet[:4] + struct.pack(">4H", *counts) + packet[12:]


def size_that_fits(packet, is_tcp):
    """RFC 1035 4.2.1 and RFC 6891 6.2.3 and 6.2.5."""
    at = packet.find(struct.pack(">BH", 0, OPT), 12)
    if is_tcp:
        return 65535
    return 512 if at < 0 else max(512, struct.unpack_from(">H", packet, at + 3)[0])


# ---- answers ----


def words_of_opt(records):
    opts = [record for record in records if record.type == OPT]
    if not opts:
        return
    yield "opt"
    if len(opts) > 1:
        yield "opts"
    yield f"version{opts[0].ttl >> 16 & 255}"
    if opts[0].ttl & DO:
        yield "do"
    if opts[0].ttl & ~DO & 0xFFFF:
        yield "mbz"
    if opts[0].rrclass < 512:
        yield "small"
    rdata = opts[0].rdata
    while rdata:
        code, size = struct.unpack_from(">HH", rdata)
        yield OPTIONS.get(code, f"option{code}")
        rdata = rdata[4 + size:]


def rcode_of(reply):
    high = sum(record.ttl >> 24 << 4 for record in reply.additional if record.type == OPT)
    return RCODES.get(high | reply.rcode, f"RCODE{high | reply.rcode}")


def has_same_question(packet, wire):
    """The question as it was; or none, where there was none or none that could be read."""
    count = struct.unpack_from(">H", wire, 4)[0]
    if count == 0:
        return struct.unpack_from(">H", packet, 4)[0] != 1 or len(wire) == 12
    end = packet.find(b"\0", 12) + 5
    return count == 1 and wire[12:end] == packet[12:end]


def words_of(packet, wire, is_tcp):
    """wire is None where nothing came."""
    if wire is None:
        return {"silent"}
    try:
        reply = Reply(wire)
    except (ValueError, IndexError, struct.error):
        return {"unreadable"}
    words = {rcode_of(reply), *words_of_opt(reply.additional)}
    words |= {word for word, bit in HEADER_FLAGS.items() if reply.flags & bit}
    words |= {TYPES.get(record.type, f"TYPE{record.type}") for record in reply.answer}
    words |= {"authority-" + TYPES.get(record.type, f"TYPE{record.type}")
              for record in reply.authority}
    asked = struct.unpack_from(">HH", packet)
    facts = {"id": reply.id == asked[0],
             "opcode-kept": (reply.flags ^ asked[1]) & 0x7800 == 0,
             "question": has_same_question(packet, wire),
             "unasked-opt": "opt" in words and struct.pack(">BH", 0, OPT) not in packet[12:],
             "oversize": len(wire) > size_that_fits(packet, is_tcp)}
    return words | {word for word, is_so in facts.items() if is_so}


def for_transport(words, transport):
    """Those of words that are meant for it, without the prefix."""
    for word in words:
        where, _, rest = word.rpartition(":")
        if where in ("", transport):
            yield rest


def faults(answer, wanted):
    """The words of wanted that an answer does not keep to."""
    for word in wanted:
        if (word[1:] in answer) if word.startswith("!") else (word not in answer):
            yield word


# ---- rows ----

Row = collections.namedtuple("Row", "rfc title packet wanted knot")


def row(rfc, title, packet, wanted, knot=None):
    """
    wanted: words, on top of ALWAYS; ?word takes one of these back. "silent"
    stands for itself. knot: {words in which its answer differs from ours: why}.
    """
    words = wanted.split()
    if "silent" in words:
        return Row(rfc, title, packet, words, knot or {})
    said = {word.rpartition(":")[2].lstrip("!?") for word in words}
    words = [word for word in words if not word.startswith("?")]
    return Row(rfc, title, packet,
               [word for word in ALWAYS if word.lstrip("!") not in said] + words, knot or {})


UNANSWERED = {"FORMERR id opcode-kept qr udp:question tcp:question silent tcp:closed":
              "Knot answers nothing when the question cannot be read"}
NO_OPT = {"opt version0 tcp:closed": "Knot's FORMERR has no OPT, and it closes after it"}
BADCOOKIE = {"udp:NOERROR udp:SOA udp:aa udp:BADCOOKIE":
             "RFC 7873 5.2.3 lets a server ask who has no server cookie to come back with one"}
HAS_EXPIRE = {"expire": "Knot has RFC 7314, we have not"}
EDNS = opt()
V1 = "BADVERS opt version0 !SOA !aa"
PLAIN = "NOERROR aa SOA !rd !opt"
GOOD = "NOERROR aa SOA opt version0"
UNKNOWN = option(100)
CLIENT_COOKIE = bytes(range(8))
ALL_OPTIONS = (option(COOKIE, CLIENT_COOKIE) + option(NSID) + option(EXPIRE)
               + option(SUBNET, b"\0\1\0\0"))

ROWS = [
    # RFC 8906, in its order.
    row("8906 8.1.1", "the zone is there", ask(), PLAIN),
    row("8906 8.1.2", "unknown type", ask(1000), "NOERROR aa !TYPE1000 !SOA !rd !opt"),
    row("8906 8.1.3.1", "CD=1", ask(flags=CD), PLAIN),
    row("8906 8.1.3.2", "AD=1", ask(flags=AD), PLAIN),
    row("8906 8.1.3.3", "reserved bit", ask(flags=Z), PLAIN),
    row("8906 8.1.3.4", "RD=1", ask(flags=RD), "NOERROR aa SOA rd !opt"),
    *(row("8906 8.1.4", f"opcode {opcode}, header only", header_only(opcode),
          "NOTIMP !SOA !aa !rd !opt")
      for opcode in (15, 3, 7, 14)),
    row("8906 8.2.1", "minimal EDNS", ask(edns=EDNS), GOOD),
    row("8906 8.2.2", "EDNS version 1", ask(edns=opt(version=1)), V1),
    row("8906 8.2.3", "unknown option", ask(edns=opt(options=UNKNOWN)), GOOD + " !option100"),
    row("8906 8.2.4", "unknown flag", ask(edns=opt(flags=0x40)), GOOD),
    row("8906 8.2.5", "version 1, unknown flag", ask(edns=opt(version=1, flags=0x40)), V1),
    row("8906 8.2.6", "version 1, unknown option", ask(edns=opt(version=1, options=UNKNOWN)),
        V1 + " !option100"),
    row("8906 8.2.7", "truncated response", ask(DNSKEY, edns=opt(512, flags=DO)),
        "NOERROR opt version0 ?tc"),
    row("8906 8.2.7", "truncated response, NS", ask(NS, edns=opt(512, flags=DO)),
        "NOERROR opt version0 do udp:tc tcp:NS"),
    row("8906 8.2.8", "DO=1", ask(edns=opt(flags=DO)), GOOD + " do RRSIG"),
    row("8906 8.2.9", "version 1, DO=1", ask(edns=opt(version=1, flags=DO)), V1 + " do"),
    row("8906 8.2.10", "several options", ask(edns=opt(options=ALL_OPTIONS)), GOOD,
        {**BADCOOKIE, **HAS_EXPIRE}),

    # Types and names.
    *(row("8906 8.1.2", f"type {rrtype} {where}", ask(rrtype, name), "NOERROR aa !rd !opt")
      for rrtype in (A, AAAA, 15, TXT, 33, 43, 65, 257, 65280)
      for where, name in (("of the zone", ZONE), ("of a bitmap", LISTED))),
    row("8482 4", "ANY of the zone", ask(ANY), "NOERROR aa !opt ?tc",
        {"SOA udp:tc tcp:NS": "Knot gives every RRset, or TC; RFC 8482 lets a server give one"}),
    row("6895 3.1", "a meta type nobody knows", ask(129), "!SOA",
        {"NOTIMP NOERROR aa authority-SOA": "to Knot it is a type that the name has not"}),
    row("2308 2.1", "no such name", ask(AAAA, ABSENT), "NXDOMAIN aa authority-SOA !opt"),
    row("8020 2", "a name with names below it alone", ask(AAAA, EMPTY),
        "NOERROR aa authority-SOA !opt"),
    row("1035 4.1.2", "letters of the name come back as they were", ask(SOA, "bL6.eXample."),
        PLAIN),
    row("1035 4.1.1", "not our zone", ask(A, ELSEWHERE), "REFUSED !aa !opt"),
    row("6891 6.1.1", "not our zone, EDNS", ask(A, ELSEWHERE, edns=EDNS),
        "REFUSED !aa opt version0"),
    row("5936 2.2.1", "AXFR, not our zone", ask(252, ELSEWHERE), "NOTAUTH !aa !opt",
        {"udp:NOTAUTH udp:NOTIMP": "to Knot AXFR over UDP is not implemented, whatever the zone"}),
    row("5936 2.2.1", "IXFR, not our zone", ask(251, ELSEWHERE), "NOTAUTH !aa !opt"),
    *(row("1035 6.2", f"class ANY, {what}", ask(rrtype, name, rrclass=255), words,
          {"aa": "Knot says that it knows all classes"})
      for what, rrtype, name, words in (("the zone", SOA, ZONE, "NOERROR SOA !aa !opt"),
                                        ("no such name", AAAA, ABSENT, "NXDOMAIN !aa !opt"))),
    row("1035 6.2", "class ANY, not our zone", ask(A, ELSEWHERE, rrclass=255),
        "REFUSED !aa !opt"),
    row("1035 3.2.4", "class CS", ask(rrclass=2), "!aa !SOA !opt"),

    # The header.
    row("1035 4.1.1", "AA, TC and RA in a question", ask(flags=AA | TC | RA), PLAIN),
    row("1035 4.1.1", "an RCODE in a question", ask(flags=5), PLAIN),
    row("4035 3.1.6", "AD, CD and RD, no such name", ask(AAAA, ABSENT, AD | CD | RD),
        "NXDOMAIN aa rd !opt"),
    row("4035 3.1.6", "AD, CD and RD, bitmap, DO", ask(AAAA, LISTED, AD | CD | RD,
                                                       edns=opt(flags=DO)),
        "NOERROR aa rd opt version0 do"),
    row("4035 3.1.6", "CD, not our zone", ask(A, ELSEWHERE, CD), "REFUSED !aa !opt"),
    row("1035 4.1.1", "a response", ask(flags=QR), "silent",
        {"tcp:closed": "we do not go on with who sends one"}),
    row("1035 4.1.1", "less than a header", ask()[:11], "silent"),
    row("1035 4.2.2", "5,000 bytes", ask(edns=opt(options=option(PADDING, bytes(5000)))),
        "FORMERR !aa ?opt", {"FORMERR NOERROR SOA aa opt version0":
                             "Knot reads all of it; no question needs half as much"}),
    row("1035 4.1.2", "half a question", ask()[:-3], "FORMERR !aa !opt ?closed", UNANSWERED),
    row("9619 4", "no question", header_only(), "FORMERR !aa !opt"),
    row("9619 4", "two questions", other_counts(ask() + ask()[12:], 2, 0, 0, 0),
        "FORMERR !aa !opt ?question ?closed", UNANSWERED),
    row("8906 8.1.4", "opcode 15, every flag", header_only(15, 0x07F0 | RD), "NOTIMP !aa ?rd !opt"),
    row("8906 8.1.4", "opcode 15, question, EDNS", ask(opcode=15, edns=EDNS),
        "NOTIMP !aa opt version0 !SOA"),
    row("3425 3", "IQUERY", header_only(1), "NOTIMP !aa !opt"),
    row("8906 8.1.4", "STATUS", header_only(2), "NOTIMP !aa !opt"),
    row("8490 5.1", "DSO, which nobody has", header_only(6), "NOTIMP !aa !opt"),
    row("2136 3.1", "UPDATE, which we have not", ask(opcode=5), "!aa !SOA !opt",
        {"NOTIMP NOTAUTH": "Knot has updates, and forbids them"}),
    row("1996 3.12", "NOTIFY by a stranger", ask(opcode=4), "!SOA !opt",
        {"NOTIMP NOTAUTH": "Knot takes NOTIFY, but not from us"}),

    # EDNS.
    *(row("6891 6.2.3", f"payload size {size} means 512", ask(edns=opt(size)), GOOD)
      for size in (0, 3, 254, 255, 511)),
    row("6891 6.2.3", "payload size 1 means 512", ask(edns=opt(1)), GOOD,
        {"FORMERR NOERROR SOA aa opt version0 tcp:closed":
         "libknot takes that size for class IN, in which empty RDATA is malformed"}),
    row("6891 6.2.3", "payload size 65535", ask(edns=opt(65535)), GOOD),
    row("6891 6.1.3", "version 255", ask(edns=opt(version=255)), V1),
    row("6891 6.1.3", "version 1, not our zone", ask(A, ELSEWHERE, edns=opt(version=1)), V1),
    row("6891 6.1.4", "every flag", ask(edns=opt(flags=0xFFFF)), GOOD + " do RRSIG"),
    row("6891 6.1.1", "a record behind the OPT", other_counts(
        ask(edns=EDNS) + b"\0" + struct.pack(">HHIH4s", A, 1, 0, 4, bytes(4)), 1, 0, 0, 2), GOOD),
    row("6891 6.1.1", "two OPTs", ask(edns=EDNS, more=[EDNS]), "FORMERR !aa ?opt ?closed",
        {"tcp:closed": "Knot closes after FORMERR"}),
    row("6891 6.1.2", "the OPT has a name", ask(edns=opt(owner=b"\1x\0")),
        "FORMERR !aa ?opt ?unasked-opt",
        {"FORMERR NOERROR SOA aa opt version0": "Knot does not look at the name"}),
    row("6891 7", "an option longer than the OPT", ask(edns=opt(options=b"\0\x64\0\5abc")),
        "FORMERR !aa opt version0 ?closed", NO_OPT),
    row("6891 7", "half an option", ask(edns=opt(options=b"\0\x64\0")),
        "FORMERR !aa opt version0 ?closed", NO_OPT),
    row("6891 6.1.3", "version 1, half an option", ask(edns=opt(version=1, options=b"\0\x64\0")),
        V1 + " ?closed", {"BADVERS opt version0 FORMERR tcp:closed":
                          "Knot reads the options of a version that it does not know"}),
    row("6891 7", "no such name, EDNS", ask(AAAA, ABSENT, edns=EDNS),
        "NXDOMAIN aa opt version0 authority-SOA"),
    row("4035 3.1", "no signatures without DO", ask(edns=EDNS), GOOD + " !RRSIG"),
    row("4035 3.1", "no such name, DO", ask(AAAA, ABSENT, edns=opt(flags=DO)),
        "NXDOMAIN aa opt version0 do authority-SOA"),
    row("3225 3", "a bitmap, DO", ask(AAAA, LISTED, edns=opt(flags=DO)),
        "NOERROR aa opt version0 do"),

    # Sizes: the NS records need more than 512 bytes and less than 1232.
    row("1035 4.2.1", "larger than 512, no EDNS", ask(NS), "NOERROR aa udp:tc tcp:NS !opt"),
    *(row("6891 6.2.3", f"larger than {size}", ask(NS, edns=opt(size)),
          "NOERROR aa udp:tc tcp:NS opt version0") for size in (100, 512, 700)),
    *(row("2181 9", f"it fits {size}", ask(NS, edns=opt(size)), "NOERROR aa NS opt version0")
      for size in (1232, 4096)),

    # Options.
    row("5001 2.1", "NSID", ask(edns=opt(options=option(NSID))), GOOD + " nsid"),
    row("5001 2.2", "no NSID but to who asks", ask(edns=EDNS), GOOD + " !nsid !cookie !expire"),
    row("7873 5.2.3", "a client cookie", ask(edns=opt(options=option(COOKIE, CLIENT_COOKIE))),
        GOOD + " cookie", BADCOOKIE),
    *(row("7873 5.2.2", f"a cookie of {size} bytes",
          ask(edns=opt(options=option(COOKIE, bytes(size)))), "FORMERR !aa opt version0 !SOA")
      for size in (0, 7, 9, 41)),
    row("7873 5.4", "a cookie and no question",
        header_only(edns=opt(options=option(COOKIE, CLIENT_COOKIE))),
        "NOERROR opt version0 cookie ?question",
        {"NOERROR cookie FORMERR": "Knot has no questions for a cookie alone"}),
    row("7871 7.2.1", "client subnet, which we have not",
        ask(edns=opt(options=option(SUBNET, b"\0\1\x18\0\xc0\0\2"))), GOOD),
    row("7314 2", "expire", ask(edns=opt(options=option(EXPIRE))), GOOD, HAS_EXPIRE),
    row("7828 3.3", "keepalive", ask(edns=opt(options=option(KEEPALIVE))), GOOD + " udp:!keepalive",
        {"tcp:keepalive": "Knot has not RFC 7828; a server may answer it over TCP"}),
    row("7830 4", "padding", ask(edns=opt(options=option(PADDING, bytes(20)))), GOOD),
]


# ---- asking ----


class Udp:
    """
    What follows a probe on the same socket is answered behind it, so that
    silence is seen without waiting for a time.
    """

    name = "udp"

    def __init__(self, address):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.connect(address)
        self.socket.settimeout(DEADLINE_S)

    def exchange(self, packet):
        """(answer or None, whether the other side has gone away)."""
        with self.socket:
            self.socket.send(packet)
            self.socket.send(query(ZONE, SOA, SENTINEL_ID))
            wires = [self.socket.recv(65535)]
            while wires[-1][:2] != struct.pack(">H", SENTINEL_ID):
                wires.append(self.socket.recv(65535))
        return (wires[0] if len(wires) > 1 else None), False


class Tcp:
    name = "tcp"

    def __init__(self, address):
        self.socket = socket.create_connection(address, timeout=DEADLINE_S)
        self.stream = self.socket.makefile("rb")

    def send(self, *packets):
        self.socket.sendall(framed(*packets))

    def receive(self):
        """A message, or None when the other side has closed."""
        try:
            head = self.stream.read(2)
            return self.stream.read(struct.unpack(">H", head)[0]) if len(head) == 2 else None
        except ConnectionResetError:
            return None

    def exchange(self, packet):
        with self.socket, self.stream:
            self.send(packet, query(ZONE, SOA, SENTINEL_ID))
            wires = [self.receive()]
            while wires[-1] is not None and wires[-1][:2] != struct.pack(">H", SENTINEL_ID):
                wires.append(self.receive())
        return (wires[0] if len(wires) > 1 else None), wires[-1] is None


def records_of(wire):
    """Those of the answer, whatever the order and the compression."""
    return {(rrset.name, rrset.rdtype, rrset.ttl, frozenset(rrset))
            for rrset in dns.message.from_wire(wire).answer}


def probe(transport, address, packet):
    """The words of the answer, and its records for comparison."""
    try:
        wire, is_closed = transport(address).exchange(packet)
    except OSError:  # nobody listens there
        return {"silent", "closed"}, set()
    words = words_of(packet, wire, transport is Tcp)
    if is_closed:
        words.add("closed")
    has_answer = not words & {"silent", "unreadable"} and Reply(wire).answer
    return words, records_of(wire) if has_answer else set()


# ---- RFC 7766: one connection and several questions ----


def numbered(count):
    return [query((ZONE, LISTED, ABSENT)[number % 3], (SOA, AAAA, A)[number % 3], number)
            for number in range(count)]


def answers_to(address, packets, pieces):
    """
    Sends pieces, in which the packets are, in segments of their own. Returns the
    questions that were answered, each with its ID, in the order of these.
    """
    tcp = Tcp(address)
    with tcp.socket, tcp.stream:
        tcp.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for piece in pieces:
            tcp.socket.sendall(piece)
        return answered(tcp, len(packets))


def answered(tcp, count):
    wires = [wire for wire in (tcp.receive() for _ in range(count)) if wire is not None]
    return sorted(wire[:2] + wire[12:wire.index(b"\0", 12) + 5] for wire in wires)


def asked(packets):
    return sorted(packet[:2] + packet[12:packet.index(b"\0", 12) + 5] for packet in packets)


def one_after_another(address):
    """7766 6.2.1: a connection is for more than one question."""
    tcp = Tcp(address)
    with tcp.socket, tcp.stream:
        found = []
        for packet in numbered(30):
            tcp.send(packet)
            found += answered(tcp, 1)
        return sorted(found) == asked(numbered(30))


def pipelined(address):
    """7766 6.2.1.1: questions come before the answers to those in front of them."""
    packets = numbered(100)
    return answers_to(address, packets, [framed(*packets)]) == asked(packets)


def pipelined_in_segments(address):
    """7766 6.2.1.1: the same, one segment each."""
    packets = numbered(100)
    return answers_to(address, packets, [framed(packet) for packet in packets]) == asked(packets)


def length_alone(address):
    """7766 8: the length need not come together with the message."""
    packets = numbered(3)
    pieces = [piece for packet in packets for piece in (framed(packet)[:2], packet)]
    return answers_to(address, packets, pieces) == asked(packets)


def byte_by_byte(address):
    """1035 4.2.2: TCP is a stream, and segments mean nothing."""
    packets = numbered(3)
    pieces = [bytes([byte]) for byte in framed(*packets)]
    return answers_to(address, packets, pieces) == asked(packets)


def odd_among_good(address):
    """7766 6.2.1.1: NOTIMP, BADVERS and REFUSED are answers like others."""
    first, last = numbered(2)
    packets = [first, header_only(15), ask(edns=opt(version=1)), ask(A, ELSEWHERE), last]
    tcp = Tcp(address)
    with tcp.socket, tcp.stream:
        tcp.send(*packets)
        wires = [tcp.receive() for _ in packets]
    return sorted(wire[:2] for wire in wires if wire) == sorted(packet[:2] for packet in packets)


def half_closed(address):
    """1035 4.2.2: the server closes when all that was asked is answered."""
    packets = numbered(20)
    tcp = Tcp(address)
    with tcp.socket, tcp.stream:
        tcp.send(*packets)
        tcp.socket.shutdown(socket.SHUT_WR)
        return answered(tcp, len(packets)) == asked(packets)


def two_connections(address):
    """7766 6.2.2: a client may have more than one, and each gets its own answers."""
    packets = numbered(6)
    first, second = Tcp(address), Tcp(address)
    with first.socket, first.stream, second.socket, second.stream:
        first.send(*packets[:3])
        second.send(*packets[3:])
        return (answered(second, 3) == asked(packets[3:])
                and answered(first, 3) == asked(packets[:3]))


SESSIONS = (one_after_another, pipelined, pipelined_in_segments, length_alone, byte_by_byte,
            odd_among_good, half_closed, two_connections)
