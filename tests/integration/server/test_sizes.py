#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
What fits is answered: for each size that a client may take, from 512 bytes on, an answer is
cut exactly when it is longer, and never where Knot or NSD has room for the same one.

Needs knotd and nsd, which serve the dump of the same zone.
"""

from harness import (A, AAAA, NS, SOA, TXT, ZONE, Asker, Reply, ask, exchange, main, peer, query,
                     wait_for)
from masterfile import LIST, DumpCase

DS, RRSIG, NSEC, DNSKEY = 43, 46, 47, 48
DO = 0x8000
SIZES = range(512, 1300)
LARGEST = 4096

NSD = """
server:
    ip-address: {host}@{port}
    server-count: 1
    username: ""
    chroot: ""
    zonesdir: "{directory}"
    database: ""
    zonelistfile: "{directory}/zone.list"
    pidfile: "{directory}/nsd.pid"
    xfrdfile: ""
    xfrdir: "{directory}"
    ipv4-edns-size: 4096
    minimal-responses: no
    verbosity: 2
remote-control:
    control-enable: no
zone:
    name: {zone}
    zonefile: {zonefile}
"""

# Their SOA, NS and NSEC have names inside the zone and outside it, which is what compression is
# about. The letters of the fourth are as resolvers send them (DNS 0x20).
NAME_SERVERS = [f"ns{number}.dns.provider.example." for number in range(14)] + [f"ns.{ZONE},192.0.2.53"]
QUESTIONS = [(f"0.2.0.192.{ZONE}", AAAA), (f"0.2.0.192.{ZONE}", TXT), (f"0.9.9.9.{ZONE}", AAAA),
             ("0.9.9.9.bL6.eXample.", AAAA), (f"a.0.9.9.9.{ZONE}", A), (f"7.9.0.203.{ZONE}", AAAA),
             (f"7.9.0.203.{ZONE}", A), (f"192.{ZONE}", AAAA), (ZONE, SOA), (ZONE, NS), (ZONE, DS),
             (ZONE, DNSKEY), (ZONE, NSEC), (ZONE, A), (f"_dnsblv6.{ZONE}", TXT),
             (f"{'x' * 63}.{'y' * 63}.{'z' * 63}.{ZONE}", AAAA)]


def content(reply):
    """Of answer and authority, whatever the order: what is in additional is a bonus."""
    return [sorted((record.name.lower(), record.type) for record in section)
            for section in (reply.answer, reply.authority)]


class Sizes(DumpCase):
    def setUp(self):
        super().setUp()
        self.run_zone("keygen", "--zone", ZONE, "--key", self.path("bl6.pem"))
        arguments = ["--key", self.path("bl6.pem")]
        for name in NAME_SERVERS:
            arguments += ["--ns", name]
        zonefile = self.dump(*arguments, self.write("list.txt", LIST))
        lines = ["udp-max-payload: 4096", "workers: 1"]
        self.ours = self.serve([(ZONE, self.path("bl6.mdb"), None)], lines).address
        self.peers = {"Knot": self.start_knot(zonefile, "server:\n    udp-max-payload: 4096\n"),
                      "NSD": self.start_nsd(zonefile)}

    def start_nsd(self, zonefile):
        host, port = self.free_address()
        config = self.write("nsd.conf", NSD.format(host=host, port=port, zone=ZONE,
                                                   directory=self.directory, zonefile=zonefile))
        self.start([peer("nsd"), "-d", "-c", config], "nsd")

        def is_loaded():
            try:
                return ask((host, port), ZONE, SOA, timeout_s=1).rcode == 0
            except OSError:
                return False

        wait_for(is_loaded, "NSD to load the zone")
        return host, port

    def test_an_answer_is_cut_when_it_does_not_fit_and_never_before(self):
        for flags in (0, DO):
            whole = {question: exchange(self.ours, query(*question, edns_size=LARGEST,
                                                         edns_flags=flags))
                     for question in QUESTIONS}
            for size in SIZES:
                with Asker(self.ours, edns_size=size, edns_flags=flags) as asker:
                    for question, reply in zip(QUESTIONS, asker.ask_all(QUESTIONS)):
                        self.compare(question, size, reply, whole[question])

    def compare(self, question, size, reply, whole):
        """Addresses of name servers are left out before anything is cut."""
        self.assertIsNotNone(reply, (question, size))
        self.assertLessEqual(len(reply.wire), size, question)
        has_bonus = len(Reply(whole).additional) > 1
        if not has_bonus:
            self.assertEqual(reply.is_truncated, len(whole) > size, (question, size, len(whole)))
        if not reply.is_truncated:
            self.assertEqual(content(reply), content(Reply(whole)), (question, size))

    def test_no_answer_is_cut_where_another_server_has_room_for_it(self):
        for name, address in self.peers.items():
            for question in QUESTIONS:
                for flags in (0, DO):
                    with self.subTest(peer=name, question=question, flags=flags):
                        self.compare_lengths(question, flags, address)

    def compare_lengths(self, question, flags, address):
        """The least size at which each answers with the same content and without TC."""
        ours = self.least_size(self.ours, question, flags)
        theirs = self.least_size(address, question, flags)
        print(f"{question[0]} {question[1]} DO={flags >> 15}: ours {ours[0]}, theirs {theirs[0]}")
        if ours[1] == theirs[1]:
            self.assertLessEqual(ours[0], theirs[0])

    def least_size(self, address, question, flags):
        low, high = SIZES[0], LARGEST
        while low < high:
            middle = (low + high) // 2
            reply = ask(address, *question, edns_size=middle, edns_flags=flags)
            low, high = (middle + 1, high) if reply.is_truncated else (low, middle)
        return low, content(ask(address, *question, edns_size=low, edns_flags=flags))

    def test_without_edns_the_limit_is_512(self):
        for question in QUESTIONS:
            whole = exchange(self.ours, query(*question, edns_size=LARGEST))
            reply = Reply(exchange(self.ours, query(*question)))
            with self.subTest(question=question):
                self.assertLessEqual(len(reply.wire), 512)
                if len(Reply(whole).additional) == 1:
                    self.assertEqual(reply.is_truncated, len(whole) - 11 > 512)


if __name__ == "__main__":
    main()
