#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Whatever arrives, dnsblv6d answers with the right RCODE or not at all.

Every packet is followed by an honest question on the same socket. With one
worker, answers come in order: what arrives before the honest answer is the
answer to the packet, and its absence is seen without waiting for a time.
"""

import select
import socket
import struct

from harness import (A, AAAA, ANY, ANY_SIZE, CLASSIC, DEADLINE_S, FORMERR, NOERROR, NOTIMP, NS, NXDOMAIN, OPT,
                     REFUSED, SOA, TXT, ZONE, Case, Reply, framed, main, query, wire_name)

LISTED = f"0.2.0.192.{ZONE}"
SENTINEL_ID = 0x5E5E


class Packets(Case):
    def setUp(self):
        super().setUp()
        self.build(self.path("bl6.mdb"),
                   self.write("list.txt", "192.0.2.1\n198.51.100.0/24\n"))
        self.server = self.serve(server_lines=["workers: 1"])
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(self.udp.close)
        self.udp.connect(self.server.address)
        self.udp.settimeout(DEADLINE_S)

    def probe(self, packet):
        """The answer to packet, or None; the server answers others either way."""
        self.udp.send(packet)
        self.udp.send(query(LISTED, AAAA, SENTINEL_ID))
        wires = []
        while True:
            wire = self.udp.recv(65535)
            if wire[:2] == struct.pack(">H", SENTINEL_ID):
                break
            wires.append(wire)
        self.assertEqual(Reply(wire).rdata(AAAA), [b"\x40" + bytes(15)])
        self.assertLessEqual(len(wires), 1, "more than one answer to one packet")
        return Reply(wires[0]) if wires else None

    def rcode_of(self, packet):
        reply = self.probe(packet)
        self.assertIsNotNone(reply, "no answer")
        self.assertEqual(reply.wire[:2], packet[:2])
        self.assertTrue(reply.flags & 0x8000, "an answer without QR")
        return reply.rcode


class Mangled(Packets):
    def check_mangled(self, packet):
        """Any packet whose id is 0x1234: an answer must be one, and an honest one."""
        reply = self.probe(packet)
        if reply is None:
            return None
        self.assertEqual(reply.id, struct.unpack(">H", packet[:2])[0])
        self.assertTrue(reply.flags & 0x8000)
        self.assertIn(reply.rcode, (NOERROR, FORMERR, NXDOMAIN, NOTIMP, REFUSED))
        if reply.question:
            question_size = reply.wire.index(b"\0", 12) + 5 - 12
            self.assertEqual(reply.wire[12 : 12 + question_size], packet[12 : 12 + question_size])
        if reply.rcode != NOERROR:
            self.assertEqual(reply.answer, [])
        return reply

    def test_every_bit_of_a_query_flipped(self):
        for edns_size in (None, 1232):
            packet = query(LISTED, AAAA, 0x1234, edns_size=edns_size)
            for bit in range(len(packet) * 8):
                flipped = bytearray(packet)
                flipped[bit // 8] ^= 0x80 >> bit % 8
                with self.subTest(bit=bit, edns=edns_size):
                    reply = self.check_mangled(bytes(flipped))
                    if bit == 16:
                        self.assertIsNone(reply, "an answer to an answer")
                    else:
                        self.assertIsNotNone(reply)

    def test_every_byte_of_a_query_inverted_and_zeroed(self):
        packet = query(LISTED, AAAA, 0x1234, edns_size=1232)
        for offset in range(len(packet)):
            for value in (0, packet[offset] ^ 0xFF):
                mangled = packet[:offset] + bytes([value]) + packet[offset + 1 :]
                with self.subTest(offset=offset, value=value):
                    self.check_mangled(mangled)

    def test_a_query_cut_after_every_byte(self):
        packet = query(LISTED, AAAA, 0x1234, edns_size=1232)
        for size in range(len(packet)):
            with self.subTest(size=size):
                reply = self.check_mangled(packet[:size])
                if size < 12:
                    self.assertIsNone(reply, "an answer to less than a header")
                else:
                    self.assertIsNotNone(reply)
                    self.assertEqual(reply.rcode, FORMERR)

    def test_random_bytes(self):
        for _ in range(2000):
            packet = self.random.randbytes(self.random.randrange(600))
            if packet[:2] != struct.pack(">H", SENTINEL_ID):  # its answer would be taken for ours
                self.check_mangled(packet)


class Refused(Packets):
    def test_no_question_and_two_questions_are_formerr(self):
        packet = bytearray(query(LISTED, AAAA, 1))
        packet[5] = 0
        self.assertEqual(self.rcode_of(bytes(packet[:12])), FORMERR)
        packet[5] = 2
        self.assertEqual(self.rcode_of(bytes(packet)), FORMERR)
        self.assertEqual(self.rcode_of(bytes(packet) + bytes(packet[12:])), FORMERR)

    def test_compression_in_a_question_is_formerr_loop_or_not(self):
        for pointer in (b"\xc0\x0c", b"\xc0\x0e", b"\x01a\xc0\x0c", b"\xc0\x00", b"\xff\xff",
                        b"\xc0"):
            packet = struct.pack(">6H", 1, 0x0100, 1, 0, 0, 0) + pointer + b"\0\x1c\0\1"
            with self.subTest(pointer=pointer):
                self.assertEqual(self.rcode_of(packet), FORMERR)

    def test_reserved_label_types_are_formerr(self):
        for length in (0x40, 0x41, 0x80, 0xBF):
            packet = struct.pack(">6H", 1, 0x0100, 1, 0, 0, 0) + bytes([length]) + bytes(200)
            self.assertEqual(self.rcode_of(packet), FORMERR)

    def test_a_name_of_255_octets_is_a_name_and_one_of_256_is_not(self):
        zone = wire_name(ZONE)
        for size, rcode in ((255, NXDOMAIN), (256, FORMERR)):
            padding = size - len(zone)
            labels = b"".join([b"\x3f" + b"a" * 63] * (padding // 64))
            rest = padding - len(labels)
            labels += bytes([rest - 1]) + b"b" * (rest - 1)
            name = labels + zone
            self.assertEqual(len(name), size)
            self.assertEqual(self.rcode_of(query(name, AAAA, 7)), rcode)

    def test_names_of_many_and_of_odd_labels(self):
        self.assertEqual(self.rcode_of(query(b"\1a" * 120 + wire_name(ZONE), AAAA, 7)), NXDOMAIN)
        self.assertEqual(self.rcode_of(query(b"\1\0\2\1\2\1." + wire_name(ZONE), AAAA, 7)),
                         NXDOMAIN)
        self.assertEqual(self.rcode_of(query(b"\1a" * 127 + b"\0", AAAA, 7)), REFUSED)

    def test_classes_other_than_in_are_not_answered_with_data(self):
        for rrclass in (0, 2, 3, 4, 254, 65535):
            reply = self.probe(query(LISTED, AAAA, 7, rrclass=rrclass))
            self.assertEqual((reply.rcode, reply.answer), (REFUSED, []))

    def test_answers_sent_to_the_server_are_not_answered(self):
        self.assertIsNone(self.probe(query(LISTED, AAAA, 7, flags=0x8180)))
        self.assertIsNone(self.probe(query("example.com.", A, 7, flags=0x8583)))

    def test_other_opcodes_are_notimp(self):
        for opcode in (1, 2, 4, 5, 6, 15):
            self.assertEqual(self.rcode_of(query(LISTED, AAAA, 7, flags=opcode << 11)), NOTIMP)

    def test_off_zone_names_are_refused(self):
        for name in (".", "example.", "com.", "bl6.example.com.", "xbl6.example."):
            self.assertEqual(self.rcode_of(query(name, AAAA, 7)), REFUSED)

    def test_zone_transfers_and_meta_types_get_no_data(self):
        for rrtype in (251, 252, 253, 254, OPT):
            reply = self.probe(query(ZONE, rrtype, 7))
            self.assertIn(reply.rcode, (NOTIMP, REFUSED, FORMERR))
            self.assertEqual(reply.answer, [])


class Edns(Packets):
    def opt(self, version=0, flags=0, options=b"", name=b"\0"):
        packet = bytearray(query(LISTED, AAAA, 7))
        packet[11] = 1
        ttl = version << 16 | flags
        return bytes(packet) + name + struct.pack(">HHIH", OPT, 1232, ttl, len(options)) + options

    def extended_rcode(self, reply):
        opt = [record for record in reply.additional if record.type == OPT]
        self.assertEqual(len(opt), 1)
        return opt[0].ttl >> 24 << 4 | reply.rcode

    def test_a_later_version_is_badvers(self):
        self.assertEqual(self.extended_rcode(self.probe(self.opt(version=1))), 16)
        self.assertEqual(self.extended_rcode(self.probe(self.opt(version=255))), 16)

    def test_unknown_options_and_flags_are_ignored_and_not_echoed(self):
        reply = self.probe(self.opt(flags=0x7FFF, options=struct.pack(">HH", 65001, 4) + b"abcd"))
        self.assertEqual(self.extended_rcode(reply), NOERROR)
        self.assertEqual(reply.rdata(AAAA), [b"\x40" + bytes(15)])
        opt = next(record for record in reply.additional if record.type == OPT)
        self.assertEqual((opt.ttl & 0x7FFF, opt.rdata), (0, b""))

    def test_no_opt_in_the_answer_when_there_was_none_in_the_question(self):
        self.assertEqual(self.probe(query(LISTED, AAAA, 7)).additional, [])

    def test_two_opts_and_an_opt_with_a_name_are_formerr(self):
        packet = bytearray(self.opt() + self.opt()[len(query(LISTED, AAAA)):])
        packet[11] = 2
        self.assertEqual(self.rcode_of(bytes(packet)), FORMERR)
        self.assertEqual(self.rcode_of(self.opt(name=b"\1a\0")), FORMERR)

    def test_an_option_longer_than_its_opt_is_formerr(self):
        self.assertEqual(self.rcode_of(self.opt(options=b"\xfd\xe9\0\xff")), FORMERR)

    def test_any_is_answered_minimally(self):
        reply = self.probe(query(ZONE, ANY, 7))
        self.assertEqual(reply.rcode, NOERROR)
        self.assertEqual(len({record.type for record in reply.answer}), 1)

    def test_the_question_comes_back_in_the_case_it_came_in(self):
        reply = self.probe(query("0.2.0.192.Bl6.eXaMpLe.", AAAA, 7))
        self.assertEqual(reply.question[0][0], "0.2.0.192.Bl6.eXaMpLe.")
        self.assertEqual(reply.rdata(AAAA), [b"\x40" + bytes(15)])


class Tcp(Packets):
    IDLE_S = 1

    def setUp(self):
        super().setUp()
        self.server = self.serve(server_lines=["workers: 1", f"tcp-idle-timeout: {self.IDLE_S}s",
                                               "tcp-max-clients: 20"])

    def connect(self):
        tcp = socket.create_connection(self.server.address, DEADLINE_S)
        self.addCleanup(tcp.close)
        tcp.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return tcp

    def framed(self, name=LISTED, rrtype=AAAA, ident=7):
        return framed(query(name, rrtype, ident))

    def receive(self, tcp):
        """One message; None when the server closed before it was whole."""
        data = b""
        while len(data) < 2 or len(data) < 2 + struct.unpack(">H", data[:2])[0]:
            wanted = 2 - len(data) if len(data) < 2 else \
                2 + struct.unpack(">H", data[:2])[0] - len(data)
            try:
                got = tcp.recv(wanted)
            except ConnectionResetError:
                return None
            if not got:
                return None
            data += got
        return Reply(data[2:])

    def assert_serves(self):
        with self.connect() as tcp:
            tcp.sendall(self.framed())
            self.assertEqual(self.receive(tcp).rdata(AAAA), [b"\x40" + bytes(15)])

    def test_a_byte_at_a_time(self):
        tcp = self.connect()
        for byte in self.framed():
            tcp.sendall(bytes([byte]))
        self.assertEqual(self.receive(tcp).rdata(AAAA), [b"\x40" + bytes(15)])

    def test_a_byte_now_and_then_does_not_hold_the_connection_for_ever(self):
        tcp = self.connect()
        # Slower than the idle time in all, faster than it from byte to byte.
        for byte in self.framed()[:-1]:
            if select.select([tcp], [], [], self.IDLE_S / 8)[0]:
                break
            self.assert_serves()  # so that its clock has gone on as well
            try:
                tcp.sendall(bytes([byte]))
            except (BrokenPipeError, ConnectionResetError):
                break
        else:
            self.fail("each byte gave it more time")
        self.assertIsNone(self.receive(tcp))

    def test_half_a_length_and_silence_is_closed(self):
        tcp = self.connect()
        tcp.sendall(b"\0")
        self.assert_serves()
        self.assertIsNone(self.receive(tcp))

    def test_less_than_the_length_and_silence_is_closed(self):
        tcp = self.connect()
        tcp.sendall(self.framed()[:-3])
        self.assertIsNone(self.receive(tcp))
        self.assert_serves()

    def test_an_idle_connection_is_closed(self):
        tcp = self.connect()
        tcp.sendall(self.framed())
        self.assertIsNotNone(self.receive(tcp))
        self.assertIsNone(self.receive(tcp))

    def test_an_empty_message_and_a_cut_one_get_formerr_or_an_end(self):
        for message in (b"\0\0", b"\0\1a", b"\0\x0c" + bytes(12)):
            tcp = self.connect()
            tcp.sendall(message + self.framed())
            first = self.receive(tcp)
            if first is not None and first.id != 7:
                self.assertEqual(first.rcode, FORMERR)
        self.assert_serves()

    def test_a_hundred_questions_at_once_are_all_answered(self):
        tcp = self.connect()
        tcp.sendall(b"".join(self.framed(ident=ident) for ident in range(100)))
        replies = [self.receive(tcp) for _ in range(100)]
        self.assertEqual(sorted(reply.id for reply in replies), list(range(100)))
        self.assertTrue(all(reply.rdata(AAAA) == [b"\x40" + bytes(15)] for reply in replies))

    def test_a_client_that_asks_and_never_reads_does_not_stop_others(self):
        tcp = self.connect()
        tcp.setblocking(False)
        batch = b"".join(self.framed() for _ in range(1000))
        sent = 0
        while sent < 64 << 20:
            if not select.select([], [tcp], [], 0.3)[1]:
                break
            try:
                sent += tcp.send(batch)
            except (BlockingIOError, BrokenPipeError, ConnectionResetError):
                break
        self.assertLess(sent, 64 << 20, "the server took everything and kept it")
        self.assert_serves()

    def test_more_clients_than_permitted_leave_udp_and_the_rest_served(self):
        crowd = [self.connect() for _ in range(40)]
        self.assertEqual(self.server.ask(LISTED, AAAA).rdata(AAAA), [b"\x40" + bytes(15)])
        for tcp in crowd:
            tcp.close()
        self.assert_serves()


class Truncation(Packets):
    def setUp(self):
        super().setUp()
        lines = [f"192.0.2.7 :127.0.0.{n}:{'x' * 200}{n}" for n in range(2, 32)]
        self.build(self.path("bl6.mdb"), *ANY_SIZE,
                   "ip4set:" + self.write("many", "\n".join(lines) + "\n"))

    def test_what_does_not_fit_has_tc_over_udp_and_is_whole_over_tcp(self):
        name = f"7.2.0.192.{CLASSIC}"
        server = self.serve()
        for edns_size in (None, 1232, 65535):
            reply = server.ask(name, TXT, edns_size=edns_size)
            self.assertTrue(reply.is_truncated, edns_size)
            self.assertLessEqual(len(reply.wire), 1232 if edns_size else 512)
        with socket.create_connection(server.address, DEADLINE_S) as tcp:
            packet = query(name, TXT, 9)
            tcp.sendall(framed(packet))
            file = tcp.makefile("rb")
            reply = Reply(file.read(struct.unpack(">H", file.read(2))[0]))
        self.assertFalse(reply.is_truncated)
        self.assertEqual(len(reply.rdata(TXT)), 30)
        for rrtype, count in ((NS, 0), (SOA, 0), (A, 30)):
            self.assertEqual(len(server.ask(name, rrtype, edns_size=1232).rdata(rrtype)), count)


if __name__ == "__main__":
    main()
