#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
A stock Unbound resolves both zones, whatever its QNAME minimisation.

10,000 names of each zone through Unbound with minimisation off, on and
strict: no SERVFAIL, every answer equal to the list. Needs unbound; takes
ipsum.txt when it is there and a list of its own otherwise.
"""

import ipaddress
import os

from harness import (A, AAAA, CLASSIC, DATA, IS_SANITIZED, SEED, ZONE, Case, ask, ask_all,
                     bitmap_name, classic_name, main, peer, wait_for)
from oracle import Oracle, classic_differences, differences

NAMES = 2000 if IS_SANITIZED else 10000

CONFIG = """
server:
    interface: {host}
    port: {port}
    do-daemonize: no
    use-syslog: no
    logfile: ""
    chroot: ""
    username: ""
    directory: "{directory}"
    pidfile: ""
    do-ip6: no
    access-control: 127.0.0.0/8 allow
    do-not-query-localhost: no
    qname-minimisation: {minimisation}
    qname-minimisation-strict: {strict}
    module-config: "iterator"
    outgoing-range: 512
remote-control:
    control-enable: no
stub-zone:
    name: "{zone}"
    stub-addr: {server_host}@{server_port}
stub-zone:
    name: "{classic}"
    stub-addr: {server_host}@{server_port}
"""


class Unbound(Case):
    def make_list(self):
        real = os.path.join(DATA, "ipsum.txt")
        if os.path.exists(real):
            return real
        numbers = (self.random.randint(0x20000000, 0x60000000) for _ in range(20000))
        networks = ("203.0.112.0/20", "2a00:1:2::/48", "2a00:1:3:40::/58")
        return self.write("list.txt", "\n".join(
            [*(str(ipaddress.IPv4Address(number)) for number in numbers), *networks]))

    def start_unbound(self, server, minimisation, strict):
        host, port = self.free_address()
        config = self.write("unbound.conf", CONFIG.format(
            host=host, port=port, directory=self.directory, minimisation=minimisation,
            strict=strict, zone=ZONE, classic=CLASSIC, server_host=server.address[0],
            server_port=server.address[1]))
        resolver = self.start([peer("unbound"), "-d", "-c", config], "unbound")
        resolver.wait_for_log("start of service")
        wait_for(lambda: ask((host, port), ZONE, 6).rcode == 0, "Unbound to know the zone")
        return host, port

    def resolve(self, minimisation, strict="no"):
        path = self.make_list()
        oracle = Oracle().read_plain(path)
        self.build(self.path("bl6.mdb"), "--ignore-columns", path)
        server = self.serve()
        resolver = self.start_unbound(server, minimisation, strict)
        addresses = oracle.sample(NAMES, SEED)

        replies = ask_all(resolver, [(bitmap_name(a), AAAA) for a in addresses], window=64)
        wrong = list(differences(oracle, addresses, replies, ZONE))
        self.assertEqual(wrong[:10], [], f"{len(wrong)} of {NAMES} wrong")

        addresses = [address for address in addresses if address.version == 4]
        replies = ask_all(resolver, [(classic_name(a), A) for a in addresses], window=64)
        wrong = list(classic_differences(oracle, addresses, replies, CLASSIC))
        self.assertEqual(wrong[:10], [], f"{len(wrong)} of {NAMES} wrong")

    def test_minimisation_off(self):
        self.resolve("no")

    def test_minimisation_on(self):
        self.resolve("yes")

    def test_minimisation_strict(self):
        self.resolve("yes", strict="yes")


if __name__ == "__main__":
    main()
