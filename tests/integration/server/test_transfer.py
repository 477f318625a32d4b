#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Zone transfers and NOTIFY, with real secondaries and with a scripted one.

Needs knotd, nsd, named, dig and python3-dnspython, and for the first test the
three Tor lists.
"""

import contextlib
import ipaddress
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import time
import unittest
import unittest.mock

import dns.flags
import dns.message
import dns.opcode
import dns.query
import dns.rrset
import dns.tsig
import dns.tsigkeyring

from harness import (ANY_SIZE, CLASSIC, DEADLINE_S, IS_SANITIZED, NOERROR, REFUSED, SERVFAIL, SOA, ZONE,
                     Case, Reply, Server, ask, children_of, config_text, data_file, framed, main, numbers, peer,
                     program, query, wait_for, wire_name)
from passing import join
from secondaries import SOURCE, Secondary, axfr, serial_of

IXFR, AXFR, NOTAUTH, FORMERR = 251, 252, 9, 1
UPDATES = 60 if IS_SANITIZED else 100

SECRET = "c2VjcmV0c2VjcmV0c2VjcmV0"
OTHER_SECRET = "b3RoZXJvdGhlcm90aGVyb3RoZXI="
LIST = "192.0.2.1\n192.0.2.200\n198.51.100.0/24\n203.0.113.7\n2001:db8:7::/48\n"


class Transfer:
    """A transfer over TCP, message by message."""

    def __init__(self, address, source, rrtype=AXFR, serial=None, small_window=False, zone=ZONE):
        self.tcp = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.tcp.settimeout(DEADLINE_S)
        if small_window:
            self.tcp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.tcp.bind((source, 0))
        self.tcp.connect(address)
        packet = bytearray(query(zone, rrtype, 77))
        if serial is not None:
            packet[9] = 1  # one record in the authority section
            rdata = b"\0\0" + struct.pack(">5I", serial, 0, 0, 0, 0)
            packet += wire_name(zone) + struct.pack(">HHIH", SOA, 1, 0, len(rdata)) + rdata
        self.tcp.sendall(framed(packet))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.tcp.close()

    def _read(self, size):
        data = b""
        while len(data) < size:
            more = self.tcp.recv(size - len(data))
            if not more:
                return None
            data += more
        return data

    def message(self):
        """The next message, or None when the connection has ended."""
        size = self._read(2)
        wire = size and self._read(struct.unpack(">H", size)[0])
        return wire and Reply(wire)

    def records(self):
        """Everything up to the end of the connection."""
        records = []
        self.tcp.shutdown(socket.SHUT_WR)
        while (reply := self.message()) is not None:
            if reply.rcode != NOERROR:
                raise AssertionError(f"rcode {reply.rcode}")
            records += reply.answer
        return records


def key_of(record):
    return (record.name.lower(), record.type, record.ttl, record.rdata)


def soa_serial(record):
    return int.from_bytes(record.rdata[-20:-16], "big")


def apply_ixfr(zone, records):
    """
    zone is a set of key_of(); records are an IXFR response of differences. What
    it deletes must be there, what it adds must not.
    """
    new = soa_serial(records[0])
    index = 1
    while index < len(records) - 1:
        for is_adding in (False, True):
            assert records[index].type == SOA, records[index]
            soa = key_of(records[index])
            (zone.add if is_adding else zone.remove)(soa)
            index += 1
            while records[index].type != SOA:
                key = key_of(records[index])
                assert (key in zone) != is_adding, (is_adding, key)
                (zone.add if is_adding else zone.remove)(key)
                index += 1
    assert soa_serial(records[-1]) == new and key_of(records[-1]) in zone
    return zone


class TransferCase(Case):
    def configure(self, address, keys="", secondaries="", ids=(), lines=(), classic=None):
        text = config_text(address, [(ZONE, self.path("bl6.mdb"), classic)],
                           lines)
        if ids:
            text += f"    secondary: [ {', '.join(ids)} ]\n"
        if keys:
            text = f"key:\n{keys}{text}"
        # A zone refers to secondaries, wherever they stand.
        return text + (f"secondary:\n{secondaries}" if secondaries else "")

    def start_primary(self, address, text):
        config = self.write("primary.conf", text)
        os.chmod(config, 0o600)
        server = Server(config, address, self.path("primary.log"))
        self.processes.append(server)
        return server.wait_until_ready()

    def primary(self, secondaries=f"  - id: any\n    allow: {SOURCE}\n", ids=("any",), **how):
        address = self.free_address()
        return self.start_primary(address, self.configure(address, secondaries=secondaries,
                                                          ids=ids, **how))

    def make_key(self):
        self.run_zone("keygen", "--zone", ZONE, "--key", self.path("key.pem"))
        return ["--key", self.path("key.pem")]

    def serial(self, server):
        return serial_of(ask(server.address, ZONE, SOA))


def without_signatures(lines):
    """Records that two signed zones of one list share: TTLs and NSECs, but no serial."""
    return [line for line in lines if line.split()[3] not in ("RRSIG", "SOA")]


class SecondariesTest(TransferCase):
    def start_all(self):
        address = self.free_address()
        self.secondaries = [Secondary(self, name, address) for name in ("knot", "nsd", "bind")]
        lines = [secondary.lines() for secondary in self.secondaries]
        self.server = self.start_primary(address, self.configure(
            address, keys="".join(key for key, _ in lines),
            secondaries="".join(itself for _, itself in lines)
            + f"  - id: reader\n    allow: {self.host}\n",
            ids=["knot", "nsd", "bind", "reader"]))
        for secondary in self.secondaries:
            secondary.start()

    def check_all(self):
        serial = self.serial(self.server)
        for secondary in self.secondaries:
            secondary.wait_for_serial(serial)
        mine = axfr(self.server.address, "-b", self.host)
        self.assertGreater(len(mine), 10)
        for secondary in self.secondaries:
            self.assertEqual(secondary.dump(), mine, secondary.name)
        return mine

    def transfers(self, *kinds):
        """By the secondaries, not by us."""
        return sum(self.server.log().count(f"transferred, client={SOURCE} kind={kind} ")
                   for kind in kinds)

    def change(self, *arguments):
        self.run_zone("update", "--store", self.path("bl6.mdb"), "--quiet", *self.key, *ANY_SIZE,
                      *arguments)

    def random_updates(self, listed):
        """listed is a set of integers, and follows."""
        for _ in range(UPDATES):
            near = self.random.choice(sorted(listed)[:1000])
            block = near & ~0xFF
            address = block | self.random.randrange(256)
            what, members = self.random.choice([
                (ipaddress.ip_address(address), {address}),
                (ipaddress.ip_address(near), {near}),
                (ipaddress.ip_network((block, 24)), set(range(block, block + 256)))])
            if self.random.random() < 0.5 and len(listed) > 2000:
                self.change("--remove", str(what))
                listed -= members
            else:
                self.change("--add", str(what))
                listed |= members
        return listed

    def settle(self, listed):
        """
        NSD gives up differences that came while it was taking up others, and may ask again at the next NOTIFY
        alone: another update, now that all is quiet, for each time that one is behind. listed follows.
        """
        for number in range(100, 120):
            try:
                wait_for(lambda: all(secondary.serial() == self.serial(self.server) for secondary in self.secondaries),
                         "all to follow", 15)
                return
            except AssertionError:
                self.change("--add", f"192.0.2.{number}")
                listed.add(int(ipaddress.ip_address(f"192.0.2.{number}")))

    def test_they_follow_by_notify_and_ixfr_and_end_at_equal_zones(self):
        lists = [data_file(f"tor-nodes-{number}.lst") for number in (1, 2, 3)]
        self.key = self.make_key()
        store = self.path("bl6.mdb")
        self.build(store, *self.key, lists[0])
        self.start_all()
        self.check_all()
        # One each; a secondary that a busy machine kept waiting may have asked twice.
        full = self.transfers("axfr", "ixfr-as-axfr")
        self.assertGreaterEqual(full, 3)
        for path in lists[1:]:
            self.build(store, *self.key, path)
            self.check_all()
        # Two each; one that was kept waiting may have taken the whole zone.
        self.assertGreaterEqual(self.transfers("axfr", "ixfr-as-axfr", "ixfr") - full, 6)
        self.assertGreaterEqual(self.transfers("ixfr"), 3)

        for secondary in self.secondaries:
            secondary.stop()
        self.change("--add", "192.0.2.77", "--remove", "198.51.100.0/24")
        for secondary in self.secondaries:
            secondary.start()
        self.check_all()

        listed = set()
        others = []
        with open(lists[2], encoding="ascii") as file:
            for line in file:
                try:
                    listed.add(int(ipaddress.IPv4Address(line.strip())))
                except ValueError:
                    others.append(line)
        listed = self.random_updates(listed | {int(ipaddress.ip_address("192.0.2.77"))})
        self.settle(listed)
        mine = self.check_all()
        # They take differences, not all of the zone. A secondary that a busy machine kept waiting
        # in the middle of some may give up and begin anew: some times, of hundreds.
        self.assertLessEqual(self.transfers("axfr", "ixfr-as-axfr"), full + UPDATES // 5)
        self.assertNotIn("transfer failed", self.server.log())

        final = self.write("final.txt", "".join(
            others + [f"{ipaddress.ip_address(number)}\n" for number in sorted(listed)]))
        self.server.stop()
        os.rename(store, self.path("followed.mdb"))
        os.remove(f"{store}-lock")
        self.build(store, *self.key, final)
        fresh = self.primary()
        self.assertEqual(without_signatures(axfr(fresh.address)), without_signatures(mine))


class DifferencesTest(TransferCase):
    def versions(self, key, *texts):
        """Builds and transfers one after the other: a list of sets, and the server."""
        sets = []
        server = None
        for text in texts:
            self.build(self.path("bl6.mdb"), *key, *ANY_SIZE, self.write("list.txt", text))
            server = server or self.primary()
            with Transfer(server.address, SOURCE) as transfer:
                records = transfer.records()
            self.assertEqual(key_of(records[0]), key_of(records[-1]))
            keys = [key_of(record) for record in records[:-1]]
            self.assertEqual(len(keys), len(set(keys)), "a record came twice")
            sets.append(set(keys))
        return server, sets

    def ixfr(self, server, serial):
        with Transfer(server.address, SOURCE, IXFR, serial) as transfer:
            return transfer.records()

    def check(self, key):
        many = LIST + "".join(f"192.0.{n}.{n}\n" for n in range(3, 200))
        other = many.replace("192.0.7.7\n", "").replace("192.0.9.9\n", "192.0.9.10\n")
        server, sets = self.versions(key, many, other, other + "192.0.2.0/24\n", many)
        serials = [soa for keys in sets for soa in
                   [int.from_bytes(rdata[-20:-16], "big") for _, rrtype, _, rdata in keys
                    if rrtype == SOA]]
        self.assertEqual(len(set(serials)), 4)
        for index, serial in enumerate(serials[:-1]):
            records = self.ixfr(server, serial)
            self.assertLess(len(records), len(sets[-1]) // 2)
            self.assertEqual(apply_ixfr(set(sets[index]), records), sets[-1])
        return server, serials, sets

    def test_differences_lead_from_each_version_to_the_newest(self):
        server, serials, sets = self.check(self.make_key())
        self.assertEqual([soa_serial(record) for record in self.ixfr(server, serials[-1])],
                         [serials[-1]], "nothing new is one SOA")
        self.assertEqual(len(self.ixfr(server, serials[-1] + 5)), 1, "a serial from the future")
        whole = self.ixfr(server, serials[0] - 5)
        self.assertEqual({key_of(record) for record in whole}, sets[-1],
                         "a serial that the journal does not have")
        self.assertEqual(len(whole), len(sets[-1]) + 1)

    def test_differences_of_a_zone_without_signatures(self):
        self.check([])

    def test_over_udp_there_is_the_newest_soa(self):
        server, _ = self.versions([], LIST)
        request = dns.message.make_query(ZONE, "IXFR", use_edns=0, payload=1232)
        request.authority.append(dns.rrset.from_text(ZONE, 0, "IN", "SOA", ". . 1 0 0 0 0"))
        reply = dns.query.udp(request, server.address[0], port=server.address[1], timeout=DEADLINE_S,
                              source=SOURCE)
        self.assertEqual([rrset.rdtype for rrset in reply.answer], [SOA])
        self.assertEqual(reply.answer[0][0].serial, self.serial(server))
        without = dns.message.make_query(ZONE, "IXFR", use_edns=False)
        reply = dns.query.udp(without, server.address[0], port=server.address[1], timeout=DEADLINE_S,
                              source=SOURCE)
        self.assertEqual(reply.rcode(), FORMERR)
        without.use_edns(0)
        reply = dns.query.udp(without, server.address[0], port=server.address[1], timeout=DEADLINE_S,
                              source=SOURCE)
        self.assertEqual((reply.rcode(), reply.options), (FORMERR, ()))


KEYRING = dns.tsigkeyring.from_text({"one": SECRET, "two": SECRET, "nobody": SECRET})
WRONG = dns.tsigkeyring.from_text({"one": OTHER_SECRET})


class OlderTest(TransferCase):
    def test_a_store_that_is_older_than_the_one_before_it_is_told(self):
        store, older = self.path("bl6.mdb"), self.path("older.mdb")
        self.build(store, self.write("list", "192.0.2.1\n"))
        shutil.copy(store, older)
        self.run_zone("check", "--store", older)  # makes its lock file
        server = self.primary()
        serials = [self.serial(server)]
        self.run_zone("update", "--store", store, "--add", "192.0.2.2")
        wait_for(lambda: self.serial(server) != serials[0], "the update")
        serials.append(self.serial(server))
        os.rename(f"{older}-lock", f"{store}-lock")
        os.rename(older, store)
        server.wait_for_log(rf"warning: \[bl6\.example\.\] serial has gone back, before={serials[1]}"
                            rf" serial={serials[0]} \(secondaries keep what they have\)")


class AccessTest(TransferCase):
    def setUp(self):
        super().setUp()
        self.build(self.path("bl6.mdb"), self.write("list.txt", LIST))
        address = self.free_address()
        keys = (f"  - id: one\n    secret: {SECRET}\n"
                f"  - id: two\n    algorithm: hmac-sha512\n    secret: {SECRET}\n")
        secondaries = (f"  - id: signs\n    allow: {SOURCE}\n    key: one\n"
                       f"  - id: plain\n    allow: {self.host}\n")
        self.server = self.start_primary(address, self.configure(
            address, keys, secondaries, ["signs", "plain"], ["log-level: debug"], CLASSIC))

    def query(self, rrtype, source=SOURCE, keyring=None, keyname=None, algorithm="hmac-sha256",
              zone=ZONE, over=dns.query.tcp, skew_s=0):
        request = dns.message.make_query(zone, rrtype, use_edns=0)
        if keyring:
            request.use_tsig(keyring, keyname, algorithm=algorithm)
        real = time.time
        with unittest.mock.patch("time.time", lambda: real() + skew_s):
            wire = request.to_wire()
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM if over is dns.query.tcp
                           else socket.SOCK_DGRAM) as sock:
            sock.settimeout(DEADLINE_S)
            sock.bind((source, 0))
            sock.connect(self.server.address)
            if over is dns.query.tcp:
                sock.sendall(framed(wire))
                data = b""
                while len(data) < 2 or len(data) < 2 + struct.unpack_from(">H", data)[0]:
                    data += sock.recv(65535)
                data = data[2:2 + struct.unpack_from(">H", data)[0]]
            else:
                sock.send(wire)
                data = sock.recv(65535)
        self.wire = data
        return dns.message.from_wire(data, keyring=request.keyring or False,
                                     request_mac=request.request_mac or request.mac,
                                     ignore_trailing=False)

    def ede(self, reply):
        return [int(option.code) for option in reply.options if option.otype == 15]

    def test_a_client_that_is_no_secondary_is_refused(self):
        reply = self.query("AXFR", source="127.0.0.2")
        self.assertEqual((reply.rcode(), self.ede(reply)), (REFUSED, [18]))
        reply = self.query("IXFR", source="127.0.0.2")
        self.assertEqual((reply.rcode(), self.ede(reply)), (REFUSED, [18]))

    def test_a_secondary_with_a_key_must_sign(self):
        reply = self.query("AXFR")
        self.assertEqual((reply.rcode(), self.ede(reply)), (REFUSED, [18]))
        self.server.wait_for_log(r"warning: \[bl6.example.\] transfer refused,"
                                 r" client=127.0.0.1 \(TSIG lacks")

    def test_a_flood_of_refused_requests_does_not_fill_the_disk(self):
        self.expect_log("transfer refused")
        request = framed(dns.message.make_query(ZONE, "AXFR", use_edns=0).to_wire())
        with socket.create_connection(self.server.address, timeout=DEADLINE_S,
                                      source_address=(SOURCE, 0)) as sock:
            sock.sendall(request * 500)
            replies = sock.makefile("rb")
            for _ in range(500):
                size = struct.unpack(">H", replies.read(2))[0]
                self.assertEqual(replies.read(size)[3] & 15, REFUSED)
        def lines():
            return len(re.findall("transfer refused", self.server.log()))

        def left_out():
            return sum(map(int, re.findall(r"lines left out, refusals=(\d+) transfers=0", self.server.log())))

        # Without another request.
        wait_for(lambda: lines() + left_out() == 500, "what was left out")
        self.assertLess(lines(), 100)

    def test_transfers_in_a_loop_do_not_fill_the_disk(self):
        """Of each there is a line, or it is among those that were left out."""
        message = dns.message.make_query(ZONE, "IXFR", use_edns=0)
        message.authority.append(dns.rrset.from_text(ZONE, 0, "IN", "SOA", f". . {2**31} 0 0 0 0"))
        request = framed(message.to_wire())
        count = 0
        with socket.create_connection(self.server.address, timeout=DEADLINE_S,
                                      source_address=(self.host, 0)) as sock:
            replies = sock.makefile("rb")

            def loop():
                nonlocal count
                sock.sendall(request * 100)
                for _ in range(100):
                    size = struct.unpack(">H", replies.read(2))[0]
                    self.assertEqual(replies.read(size)[3] & 15, NOERROR)
                count += 100
                return "lines left out, refusals=0 transfers=" in self.server.log()

            wait_for(loop, "lines to be left out")

        def told():
            log = self.server.log()
            return len(re.findall(r"\] transferred, ", log)) + sum(
                map(int, re.findall(r"lines left out, refusals=0 transfers=(\d+)", log)))

        wait_for(lambda: told() == count, "the rest")

    def test_the_address_alone_decides_about_one_without(self):
        reply = self.query("AXFR", source=self.host)
        self.assertEqual(reply.rcode(), NOERROR)
        self.assertEqual(reply.answer[0].rdtype, SOA)

    def test_a_good_key_transfers(self):
        reply = self.query("AXFR", keyring=KEYRING, keyname="one")
        self.assertTrue(reply.had_tsig)
        self.assertEqual(reply.rcode(), NOERROR)
        self.server.wait_for_log(r"transferred, client=127.0.0.1 kind=axfr .* key=one\.$")

    def test_a_good_key_from_an_address_of_no_secondary_is_refused_and_told(self):
        reply = self.query("AXFR", source="127.0.0.2", keyring=KEYRING, keyname="one")
        self.assertEqual((reply.rcode(), self.ede(reply)), (REFUSED, [18]))
        self.server.wait_for_log(r"warning: \[bl6.example.\] transfer refused, client=127.0.0.2 \(the key is good, but"
                                 r" the address is that of no secondary of this zone; \"allow\" of one permits it\)")

    def test_a_good_key_of_another_secondary_is_refused(self):
        self.expect_log("transfer refused")
        reply = self.query("AXFR", keyring=KEYRING, keyname="two", algorithm="hmac-sha512")
        self.assertTrue(reply.had_tsig)
        self.assertEqual(reply.rcode(), REFUSED)

    def test_questions_of_all_kinds_are_answered_with_a_signature(self):
        for over in (dns.query.udp, dns.query.tcp):
            for zone, rrtype, rcode in ((ZONE, "SOA", 0), (f"x.{ZONE}", "A", 3), ("a.", "A", 5)):
                reply = self.query(rrtype, keyring=KEYRING, keyname="one", zone=zone, over=over)
                self.assertTrue(reply.had_tsig)
                self.assertEqual(reply.rcode(), rcode)

    def check_error(self, error, is_signed, **how):
        for over in (dns.query.udp, dns.query.tcp):
            for rrtype in ("SOA", "AXFR"):
                with self.assertRaises(error):
                    self.query(rrtype, over=over, **how)
                self.assertEqual(self.wire[3] & 15, NOTAUTH)
                reply = Reply(self.wire)
                self.assertEqual(reply.answer, [])
                # Algorithm, time and fudge are before the size of the MAC.
                rdata = reply.additional[-1].rdata
                at = rdata.index(b"\0") + 1 + 8
                self.assertEqual(rdata[at:at + 2] != b"\0\0", is_signed)

    def test_a_key_of_another_name_is_badkey(self):
        self.expect_log("transfer refused")
        self.check_error(dns.tsig.PeerBadKey, False, keyring=KEYRING, keyname="nobody")
        # The right name with another algorithm is another key.
        self.check_error(dns.tsig.PeerBadKey, False, keyring=KEYRING, keyname="one",
                         algorithm="hmac-sha1")

    def test_a_wrong_secret_is_badsig(self):
        self.check_error(dns.tsig.PeerBadSignature, False, keyring=WRONG, keyname="one")
        self.server.wait_for_log(r"warning: .* transfer refused, .* \(TSIG with a wrong signature")

    def cut_mac(self, size, rrtype="AXFR"):
        """The response to a good question whose MAC has that many bytes left, or zeros behind it."""
        request = dns.message.make_query(ZONE, rrtype, use_edns=0)
        request.id = 77
        request.use_tsig(KEYRING, "one", algorithm="hmac-sha256")
        wire = bytearray(request.to_wire())
        at = wire.rindex(struct.pack(">H", 32) + request.mac)
        mac = request.mac[:size].ljust(size, b"\0")
        length = at - len("\x0bhmac-sha256\0") - 8 - 2  # before algorithm, time and fudge
        struct.pack_into(">H", wire, length, struct.unpack_from(">H", wire, length)[0] + size - 32)
        wire[at:at + 2 + 32] = struct.pack(">H", size) + mac
        with socket.create_connection(self.server.address, timeout=DEADLINE_S, source_address=(SOURCE, 0)) as sock:
            sock.sendall(framed(wire))
            replies = sock.makefile("rb")
            return Reply(replies.read(struct.unpack(">H", replies.read(2))[0]))

    def test_a_mac_that_is_cut_is_badtrunc_or_a_formerr(self):
        """RFC 8945 section 5.2.2.1: not below half of it, and not above the whole."""
        for rrtype in ("SOA", "AXFR"):
            for size in (0, 1, 9, 10, 15, 33, 64, 65):
                self.assertEqual(self.cut_mac(size, rrtype).rcode, FORMERR, size)
            for size in (16, 17, 31):
                reply = self.cut_mac(size, rrtype)
                self.assertEqual(reply.rcode, NOTAUTH, size)
                # No MAC, the id, the error, nothing else.
                self.assertEqual(reply.additional[-1].rdata[-8:], struct.pack(">4H", 0, 77, 22, 0), size)
            self.assertEqual(self.cut_mac(32, rrtype).rcode, NOERROR)
        self.server.wait_for_log(r"warning: .* transfer refused, .* \(TSIG with a signature that is cut\)")

    def test_a_clock_an_hour_off_is_badtime(self):
        self.expect_log("transfer refused")
        self.check_error(dns.tsig.PeerBadTime, True, keyring=KEYRING, keyname="one", skew_s=3600)
        self.check_error(dns.tsig.PeerBadTime, True, keyring=KEYRING, keyname="one", skew_s=-3600)

    def test_the_classic_zone_has_no_transfers(self):
        reply = self.query("AXFR", source=self.host, zone=CLASSIC)
        self.assertEqual((reply.rcode(), self.ede(reply)), (REFUSED, [21]))

    def test_a_name_inside_the_zone_has_no_transfers(self):
        self.assertEqual(self.query("AXFR", source=self.host, zone=f"x.{ZONE}").rcode(), NOTAUTH)

    def test_transfers_are_counted(self):
        self.expect_log("transfer refused")
        self.query("AXFR", source=self.host)
        self.query("AXFR")
        self.server.wait_for_log("transferred, ")
        wait_for(lambda: self.counters()["transfers"] == 1, "the transfer to be counted")
        self.assertEqual(self.counters()["refused"], 1)

    def counters(self):
        # Names with a dash are numbers() of their last word.
        lines = self.server.log().count("bl6.example.] counters, ")
        self.server.send_signal(signal.SIGUSR1)
        self.server.wait_for_log(r"\[bl6.example.\] counters, ", lines + 1)
        return numbers([line for line in self.server.log().splitlines()
                        if "[bl6.example.] counters, " in line][-1])


class ClientsOfTheListTest(TransferCase):
    def test_a_secondary_may_ask_whatever_the_list_says_of_clients(self):
        self.build(self.path("bl6.mdb"), self.write("list.txt", LIST),
                   "acl:" + self.write("acl", "127.0.0.0/8 :refuse\n"))
        server = self.primary()
        soa = (dns.message.make_query(ZONE, "SOA"), server.address[0])
        answer = dns.query.udp(*soa, port=server.address[1], timeout=DEADLINE_S, source=SOURCE)
        self.assertEqual((answer.rcode(), len(answer.answer)), (0, 1))
        block = dns.message.make_query(f"0.2.0.192.{ZONE}", "AAAA")
        other = dns.query.udp(block, server.address[0], port=server.address[1], timeout=DEADLINE_S, source=SOURCE)
        self.assertEqual(other.rcode(), REFUSED)
        refused = dns.query.udp(*soa, port=server.address[1], timeout=DEADLINE_S, source="127.0.0.77")
        self.assertEqual(refused.rcode(), REFUSED)


class OneConnectionTest(TransferCase):
    """Requests behind a transfer, as those of NSD with xfrd-tcp-max: 1."""

    def setUp(self):
        super().setUp()
        self.build(self.path("bl6.mdb"), self.write("list.txt", LIST))

    def read(self, tcp, ident):
        """The answer to ident: of so small a zone one message."""
        reply = tcp.message()
        self.assertIsNotNone(reply, f"the connection ended before the answer to {ident}")
        self.assertEqual((reply.id, reply.rcode), (ident, NOERROR))
        return [key_of(record) for record in reply.answer]

    def test_requests_behind_a_transfer_are_answered_in_order(self):
        server = self.primary()
        with Transfer(server.address, SOURCE) as tcp:
            # The last one comes in part while the answers before it are written.
            tcp.tcp.sendall(framed(query(ZONE, SOA, 78)) + framed(query(ZONE, AXFR, 79))
                            + framed(query(ZONE, SOA, 80))[:5])
            whole = self.read(tcp, 77)
            self.assertEqual(whole[0], whole[-1])
            self.assertGreater(len(whole), 10)
            self.assertEqual(self.read(tcp, 78), whole[:1])
            self.assertEqual(self.read(tcp, 79), whole)
            tcp.tcp.sendall(framed(query(ZONE, SOA, 80))[5:])
            self.assertEqual(self.read(tcp, 80), whole[:1])
        server.send_signal(signal.SIGUSR1)
        line = server.wait_for_log(r"^info: \[dnsblv6d\] counters, (.*)$")[0]
        self.assertEqual(numbers(line)["queries"], 4)

    def test_a_transfer_whose_store_cannot_be_opened_leaves_the_connection(self):
        server = self.primary()
        self.assertEqual(server.ask(ZONE, SOA).rcode, NOERROR)
        # The worker has it open, and the process of the transfer has not.
        os.unlink(self.path("bl6.mdb-lock"))
        os.mkdir(self.path("bl6.mdb-lock"))
        with Transfer(server.address, SOURCE) as tcp:
            tcp.tcp.sendall(framed(query(ZONE, SOA, 78)))
            refusal = tcp.message()
            self.assertEqual((refusal.id, refusal.rcode, refusal.answer), (77, SERVFAIL, []))
            self.assertEqual(len(self.read(tcp, 78)), 1)
        server.wait_for_log(r"transfer failed, client=127.0.0.1 kind=axfr ")

    def test_a_transfer_for_which_there_is_no_process_leaves_the_connection(self):
        lines, how = ["workers: 1"], {}
        if os.geteuid() == 0:  # which may have as many processes as it likes
            lines, how = [*lines, "user: nobody:nogroup"], {"user": "nobody", "group": "nogroup"}
            os.chmod(self.directory, 0o777)
            os.chmod(self.path("bl6.mdb-lock"), 0o666)
            self.expect_log("reloads will be refused")
        server = self.primary(lines=lines)

        def limit(count):
            for worker in server.children():
                subprocess.run([peer("prlimit"), f"--pid={worker}", f"--nproc={count}:"], check=True, **how)

        limit(0)
        with Transfer(server.address, SOURCE) as tcp:
            tcp.tcp.sendall(framed(query(ZONE, SOA, 78)))
            refusal = tcp.message()
            self.assertIsNotNone(refusal, "the connection ended")
            self.assertEqual((refusal.id, refusal.rcode, refusal.answer), (77, SERVFAIL, []))
            self.assertEqual(len(self.read(tcp, 78)), 1)
        server.wait_for_log(r"transfer not started \(Resource temporarily unavailable\)$")
        limit(2000)  # a sanitizer looks for leaks in a thread of its own


class SlowClientTest(TransferCase):
    built = {}  # files of one zone for all tests: signing it takes seconds

    def setUp(self):
        super().setUp()
        self.expect_log("transfer failed")
        if not self.built:
            self.build_large()
        for name, content in self.built.items():
            os.chmod(self.write(name, content), 0o600)

    def build_large(self):
        """More than the kernel keeps for a connection that nothing reads."""
        blocks = self.random.sample(range(0x0B000000, 0x60000000, 128), 40000)
        self.build(self.path("bl6.mdb"), *self.make_key(),
                   self.write("list.txt", "".join(f"{ipaddress.ip_address(n)}\n" for n in blocks)))
        self.built.update({name: pathlib.Path(self.path(name)).read_bytes() for name in ("key.pem", "bl6.mdb")})

    def test_a_client_that_stops_reading_blocks_no_other_and_is_given_up(self):
        # Long enough for the other one where the machine is busy.
        server = self.primary(lines=["transfer-max: 3", "transfer-idle-timeout: 10s"])
        with Transfer(server.address, SOURCE, small_window=True) as stuck:
            self.assertEqual(stuck.message().rcode, NOERROR)
            self.assertEqual(server.ask(ZONE, SOA).rcode, NOERROR)
            with Transfer(server.address, SOURCE) as other:
                self.assertGreater(len(other.records()), 4 * 40000)
            server.wait_for_log(r"transfer failed, client=127.0.0.1 kind=axfr .*timed out")
            # What it has got does not look like the whole zone.
            records = []
            try:
                records = stuck.records()
            except ConnectionResetError:
                pass
            self.assertFalse(records and records[-1].type == SOA)

    def test_more_transfers_than_may_be_at_a_time_are_told_so(self):
        self.expect_log("transfer failed")
        server = self.primary(lines=["transfer-max: 1"])
        with Transfer(server.address, SOURCE, small_window=True) as first:
            self.assertEqual(first.message().rcode, NOERROR)
            with Transfer(server.address, SOURCE) as second:
                self.assertEqual(second.message().rcode, SERVFAIL)
            server.wait_for_log(r"transfer refused, .*\(too many transfers under way\)")

    def test_one_address_leaves_places_to_others_however_slow_it_is(self):
        # None of them is given up, and its place free again, while another one is still asked for.
        server = self.primary(secondaries="  - id: any\n    allow: 127.0.0.0/8\n",
                              lines=["workers: 1", "transfer-max: 4", f"transfer-idle-timeout: {10 * DEADLINE_S}s"])
        with contextlib.ExitStack() as stuck:
            def first_of(source):
                transfer = Transfer(server.address, source, small_window=True)
                return stuck.enter_context(transfer).message().rcode
            self.assertEqual([first_of("127.0.0.2") for _ in range(4)], [NOERROR, NOERROR, SERVFAIL, SERVFAIL])
            # Nor do two of them have all, and one of which nothing is under way gets the last place.
            self.assertEqual([first_of("127.0.0.3") for _ in range(2)], [NOERROR, SERVFAIL])
            for client in ("127.0.0.2", "127.0.0.3"):
                server.wait_for_log(rf"transfer refused, client={client} \(too many transfers under way\)")
            with Transfer(server.address, "127.0.0.4") as other:
                self.assertGreater(len(other.records()), 4 * 40000)

    def test_a_transfer_that_outlasts_its_worker_is_named(self):
        server = self.primary(lines=["drain-timeout: 0s"])
        with Transfer(server.address, SOURCE, small_window=True) as transfer:
            self.assertEqual(transfer.message().rcode, NOERROR)
            server.send_signal(signal.SIGHUP)
            server.wait_for_log(r"^warning: \[bl6\.example\.\] transfer failed, client=127\.0\.0\.1"
                                r" \(drain-timeout is over\)$")

    def test_a_transfer_that_is_killed_is_named(self):
        server = self.primary(lines=["workers: 1", "verify-interval: 0s"])  # no other child
        with Transfer(server.address, SOURCE, small_window=True) as transfer:
            self.assertEqual(transfer.message().rcode, NOERROR)
            worker, = server.children()
            os.kill(*children_of(worker), signal.SIGKILL)
            server.wait_for_log(r"^error: \[bl6\.example\.\] transfer died, client=127\.0\.0\.1 signal=9$")

    def test_a_transfer_may_finish_when_its_worker_is_replaced(self):
        server = self.primary(lines=["drain-timeout: 5m"])
        with Transfer(server.address, SOURCE, small_window=True) as transfer:
            first = transfer.message().answer[0]
            server.send_signal(signal.SIGHUP)
            server.wait_for_log(r"reloaded, ")
            self.build(self.path("bl6.mdb"), "--key", self.path("key.pem"), *ANY_SIZE,
                       self.write("list.txt", LIST))
            records = transfer.records()
        # The version that it began with, to the end.
        self.assertEqual(key_of(records[-1]), key_of(first))
        self.assertGreater(len(records), 4 * 39000)


def receive_notify(udp):
    """The next, and where it is from. Between them the server asks which serial there is."""
    while True:
        wire, peer_address = udp.recvfrom(65535)
        if wire[2] >> 3 & 15 != dns.opcode.QUERY:
            return wire, peer_address


class NotifyTest(TransferCase):
    """A secondary that only listens, and answers as it is told."""

    def setUp(self):
        super().setUp()
        self.build(self.path("bl6.mdb"), self.write("list.txt", LIST))
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(self.udp.close)
        self.udp.bind((self.host, 0))
        self.udp.settimeout(DEADLINE_S)
        secondaries = (f"  - id: listens\n    address: {self.host}@{self.udp.getsockname()[1]}\n"
                       "    key: one\n")
        address = self.free_address()
        self.server = self.start_primary(address, self.configure(
            address, f"  - id: one\n    secret: {SECRET}\n", secondaries, ["listens"]))

    def receive(self):
        wire, self.peer = receive_notify(self.udp)
        message = dns.message.from_wire(wire, keyring=KEYRING)
        self.assertTrue(message.had_tsig)
        self.assertEqual(message.opcode(), dns.opcode.NOTIFY)
        self.assertEqual(message.question[0].to_text(), f"{ZONE} IN SOA")
        self.assertEqual(self.peer[0], self.host)
        return message

    def answer(self, message, rcode=NOERROR, ident=None):
        reply = dns.message.make_response(message)
        reply.set_rcode(rcode)
        if ident is not None:
            reply.id = ident
        self.udp.sendto(reply.to_wire(), self.peer)

    def test_it_is_asked_again_until_it_answers_as_it_must(self):
        first = self.receive()
        self.assertEqual(first.answer[0][0].serial, self.serial(self.server))
        again = self.receive()
        self.assertEqual(again.id, first.id)
        # Not the id, not signed: neither counts.
        self.answer(again, ident=again.id ^ 1)
        bare = dns.message.Message(id=again.id)
        bare.flags = dns.flags.QR
        bare.set_opcode(dns.opcode.NOTIFY)
        bare.question = again.question
        self.udp.sendto(bare.to_wire(), self.peer)
        third = self.receive()
        self.answer(third)
        self.build(self.path("bl6.mdb"), *ANY_SIZE,
                   self.write("list.txt", LIST + "192.0.2.9\n"))
        # Had the answer not counted, this would be the old serial again.
        news = self.receive()
        self.assertEqual(news.answer[0][0].serial, self.serial(self.server))
        self.assertNotEqual(news.answer[0][0].serial, first.answer[0][0].serial)
        self.answer(news)

    def test_one_that_refuses_is_named_and_not_asked_again(self):
        first = self.receive()
        self.answer(first, rcode=REFUSED)
        self.server.wait_for_log(r"warning: \[bl6.example.\] secondary refuses NOTIFY,"
                                 r" secondary=listens address=127")
        self.build(self.path("bl6.mdb"), *ANY_SIZE,
                   self.write("list.txt", LIST + "192.0.2.9\n"))
        # What was put again while our answer was on its way is of the same serial.
        while (news := self.receive()).answer[0][0].serial == first.answer[0][0].serial:
            pass
        self.answer(news)
        self.server.wait_for_log(r"info: \[bl6.example.\] secondary answers NOTIFY, ")

    def test_one_that_does_not_know_the_key_is_named_at_once(self):
        message = self.receive()
        # RFC 8945 section 5.3.2: with a key that it does not know it cannot sign that.
        reply = dns.message.Message(id=message.id)
        reply.flags = dns.flags.QR
        reply.set_opcode(dns.opcode.NOTIFY)
        reply.set_rcode(NOTAUTH)
        reply.question = message.question
        self.udp.sendto(reply.to_wire(), self.peer)
        self.server.wait_for_log(r"warning: \[bl6.example.\] secondary refuses NOTIFY unsigned,"
                                 r" secondary=listens address=127")
        # Another machine may have said it: so it is asked on.
        self.answer(self.receive())
        self.server.wait_for_log(r"info: \[bl6.example.\] secondary answers NOTIFY, ")


class UnreachableTest(TransferCase):
    @unittest.skipIf(os.geteuid() != 0, "only root makes networks")
    def test_one_that_there_is_no_way_to_is_tried_until_there_is(self):
        self.build(self.path("bl6.mdb"), self.write("list.txt", LIST))
        space = self.make_space("network")
        self.run_in(space, peer("ip"), "link", "set", "lo", "up")
        config = self.write("primary.conf", self.configure(
            ("0.0.0.0", 5353), secondaries="  - id: far\n    address: 10.9.0.2@5399\n", ids=["far"]))
        server = self.start(self.command_in(space, program("dnsblv6d"), "--config", config), "far")
        server.wait_for_log(r"^warning: \[bl6.example.\] NOTIFY cannot be sent, secondary=far ")
        self.run_in(space, peer("ip"), "address", "add", "10.9.0.2/24", "dev", "lo")
        self.enter_network(space.pid)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            udp.bind(("10.9.0.2", 5399))
            udp.settimeout(DEADLINE_S)
            message = dns.message.from_wire(receive_notify(udp)[0])
        self.assertEqual(message.opcode(), dns.opcode.NOTIFY)


class SourceTest(TransferCase):
    @unittest.skipIf(os.geteuid() != 0, "only root makes networks")
    def test_another_machine_is_told_from_an_address_that_is_not_of_loopback(self):
        self.build(self.path("bl6.mdb"), self.write("list.txt", LIST))
        ours, theirs = self.make_space("ours"), self.make_space("theirs")
        join(self, (ours, "primary0", "192.0.2.1", "2001:db8::1"),
             (theirs, "far0", "192.0.2.2", "2001:db8::2"))
        text = self.configure(("127.0.0.1", 53), ids=["far"], secondaries="  - id: far\n"
                              '    address: [ 192.0.2.2@5399, "2001:db8::2@5399" ]\n')
        config = self.write("primary.conf", text.replace(
            "127.0.0.1@53", '127.0.0.1@53, "::1@53", 192.0.2.1@53, "2001:db8::1@53"'))
        self.enter_network(theirs.pid)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as four, \
                socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as six:
            four.bind(("192.0.2.2", 5399))
            six.bind(("2001:db8::2", 5399))
            self.start(self.command_in(ours, program("dnsblv6d"), "--config", config), "primary")
            for udp, source in ((four, "192.0.2.1"), (six, "2001:db8::1")):
                udp.settimeout(DEADLINE_S)
                self.assertEqual(receive_notify(udp)[1][0], source)


if __name__ == "__main__":
    main()
