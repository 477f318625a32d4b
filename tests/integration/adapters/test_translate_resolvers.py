#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Resolvers in front of dnsblv6-translate, with the lines that
integration/adapters/dns-translator/README.md shows: whoever asks them gets the right answers,
through validation with an anchor above the zone, a filter against DNS rebinding and QNAME
minimisation, IPv4 and IPv6.

A resolver that is not installed is skipped. systemd-resolved is started in
namespaces of its own, which only root can have.
"""

import os
import re
import subprocess

import harness
from harness import A, NOERROR, NXDOMAIN, SOURCE, TXT, Case, classic_name, ip, peer, wait_for
from resolvers import (BIND_HINTS, BIND_HOST, UNBOUND, UNBOUND_STUB, prepare, run_bind, run_kresd,
                       run_unbound, write_into)
from translators import LISTS, LOCAL, start_translator

README = os.path.join(SOURCE, "integration/adapters/dns-translator/README.md")
# Of a key that nobody has: what is below it and not excepted is bogus.
ANCHOR = "local. IN DS 4711 13 2 " + "5a" * 32
WIRED = "127.0.0.1{}5300"  # as the README has it

RESOLVED = """
[Resolve]
DNSStubListener=no
DNSStubListenerExtra={host}:{port}
FallbackDNS=
LLMNR=no
MulticastDNS=no
DNSSEC=yes
"""
RESOLVED_ID = 64999  # of a user for it, in its own /etc/passwd
RESOLVED_MOUNTS = """
mount --bind "$1/passwd" /etc/passwd
mount --bind "$1/group" /etc/group
mount --bind "$1" /etc/systemd
mount -t tmpfs tmpfs /run
mkdir -p /run/systemd/resolve /run/dnssec-trust-anchors.d
cp "$1/negative" /run/dnssec-trust-anchors.d/dnsblv6.negative
chown systemd-resolve: /run/systemd/resolve
exec "$2"
"""

DNSMASQ = """
port={port}
listen-address={host}
bind-interfaces
no-resolv
no-hosts
no-ping
pid-file=
stop-dns-rebind
{lines}
"""


def wiring(marker, form="", address=("", "")):
    """
    The lines of the README behind a marker, with this address in the place of its own; form
    is what stands before the port.
    """
    with open(README, encoding="utf-8") as file:
        found = re.search(f"<!-- {marker} -->\n```\n(.*?)```", file.read(), re.DOTALL)
    wired = WIRED.format(form)
    return found[1].replace(wired, f"{address[0]}{form}{address[1]}")


class Resolvers(Case):
    ZONES = ((LOCAL, LISTS, ('text: "see $"',)),)

    def setUp(self):
        super().setUp()
        self.build(self.path("bl6.mdb"), self.write(
            "list.txt", "192.0.2.66\n198.51.100.0/24\n2a00:1:2:40::/60\n"))
        self.server = self.serve()
        self.translator = start_translator(self, [self.server.address], zones=self.ZONES)

    def replies(self, address, rows):
        """Asked again where a datagram was lost, or the resolver has just begun."""
        return harness.ask_all(address, rows, retry_s=2, retries=9)

    def check(self, address):
        """address is that of the resolver."""
        def is_there():
            try:
                return harness.ask(address, classic_name(ip("127.0.0.2"), LOCAL), A).answer
            except OSError:
                return None

        wait_for(is_there, f"the resolver at {address} to know {LOCAL}")
        listed = ["192.0.2.66", "198.51.100.25", "2a00:1:2:44::25", "127.0.0.2"]
        unlisted = ["192.0.2.67", "203.0.113.9", "2a00:1:2:50::25", "127.0.0.1"]
        rows = [(classic_name(ip(text), LOCAL), rrtype)
                for text in listed + unlisted for rrtype in (A, TXT)]
        for (name, rrtype), reply in zip(rows, self.replies(address, rows)):
            with self.subTest(name, type=rrtype):
                self.assertIsNotNone(reply, "no answer")
                is_listed = name in (classic_name(ip(text), LOCAL) for text in listed)
                self.assertEqual(reply.rcode, NOERROR if is_listed else NXDOMAIN)
                if rrtype == A:
                    self.assertEqual(reply.rdata(A), [b"\x7f\0\0\2"] if is_listed else [])
                else:
                    self.assertEqual(len(reply.rdata(TXT)), int(is_listed))
        text = self.replies(address, [(classic_name(ip("192.0.2.66"), LOCAL), TXT)])[0].rdata(TXT)
        self.assertEqual(text, [b"\x0esee 192.0.2.66"])

    def start_unbound(self, where, translator, more=""):
        lines = ['module-config: "validator iterator"', "qname-minimisation-strict: yes",
                 "private-address: 127.0.0.0/8", f'trust-anchor: "{ANCHOR}"']
        config = UNBOUND.format(**where, lines="\n    ".join(lines))
        config += wiring("unbound", "@", translator.address) + more
        run_unbound(self, where, config)

    def test_unbound(self):
        where = prepare(self)
        self.start_unbound(where, self.translator)
        self.check((where["host"], where["port"]))

    def test_one_unbound_before_and_behind_it(self):
        """As on most mail servers: who asks the translator is who it asks."""
        where = prepare(self)
        address = (where["host"], where["port"])
        translator = start_translator(self, [address], wait_s=0, zones=self.ZONES)
        self.start_unbound(where, translator, UNBOUND_STUB.format(
            zone=harness.ZONE, servers="\n    stub-addr: {}@{}".format(*self.server.address)))
        self.check(address)

    def test_bind(self):
        where = prepare(self, host=BIND_HOST)
        run_bind(self, where, BIND_HINTS.format(host=self.host), [ANCHOR],
                 [wiring("bind options", " port ", self.translator.address)],
                 wiring("bind", " port ", self.translator.address))
        self.check((where["host"], where["port"]))

    def test_knot_resolver(self):
        where = prepare(self)
        run_kresd(self, where, [ANCHOR],
                  [wiring("knot resolver", "@", self.translator.address)])
        self.check((where["host"], where["port"]))

    def test_systemd_resolved(self):
        """Beside the machine's own, whose files it does not see."""
        program = harness.unpacked("systemd-resolved", "lib/systemd/systemd-resolved")
        if subprocess.run(["unshare", "--mount", "true"], capture_output=True,
                          check=False).returncode != 0:
            self.skipTest("only root can have a mount namespace")
        where = prepare(self)
        write_into(where, "resolved.conf", RESOLVED.format(**where))
        lines = wiring("systemd-resolved", ":", self.translator.address)
        write_into(where, "negative", wiring("negative trust anchor"))
        os.mkdir(os.path.join(where["directory"], "resolved.conf.d"))
        write_into(where, "resolved.conf.d/dnsblv6.conf", lines)
        for name, line in (("passwd", "systemd-resolve:x:{0}:{0}::/:/usr/sbin/nologin\n"),
                           ("group", "systemd-resolve:x:{0}:\n")):
            with open(f"/etc/{name}", encoding="utf-8") as file:
                write_into(where, name, file.read() + line.format(RESOLVED_ID))
        self.start(["unshare", "--mount", "sh", "-euc", RESOLVED_MOUNTS, "sh",
                    where["directory"], program], "resolved")
        self.check((where["host"], where["port"]))

    def test_dnsmasq(self):
        where = prepare(self)
        config = DNSMASQ.format(**where, lines=wiring("dnsmasq", "#", self.translator.address))
        if os.geteuid() == 0:
            config += "user=root\n"
        self.start([peer("dnsmasq"), "-k", "-C", write_into(where, "dnsmasq.conf", config),
                    "--log-facility=-"], "dnsmasq")
        self.check((where["host"], where["port"]))


if __name__ == "__main__":
    harness.main()
