# SPDX-License-Identifier: GPL-3.0-or-later
"""
masterfile.py - a store's zone in other programs, by way of the dumped master file.

Flow: test_masterfile.py, test_dnssec.py and test_conformance.py dump() a zone and start_knot() on it,
      test_servers.py start_nsd() and start_bind(), or verify() it when it is signed; proof() is what is
      compared of a signed answer.
"""

import os

from harness import NS, SEED, SOA, ZONE, Case, ask, bitmap_name, peer, wait_for
from resolvers import BIND_HOST, unconfined

KNOT = """
server:
    # Without it, there is one only where the host has a full name.
    nsid: "theirs"
    listen: {host}@{port}
    rundir: {directory}
database:
    storage: {directory}
log:
  - target: stderr
    any: info
zone:
  - domain: {zone}
    file: {zonefile}
    storage: {directory}
    journal-content: none
"""

NSD = """
server:
    ip-address: {host}@{port}
    username: ""
    zonesdir: "{directory}"
    database: ""
    pidfile: "{directory}/nsd.pid"
    xfrdfile: ""
    xfrdir: "{directory}"
    zonelistfile: "{directory}/zone.list"
    cookie-secret-file: ""
    server-count: 1
    rrl-ratelimit: 0
remote-control:
    control-enable: no
zone:
    name: "{zone}"
    zonefile: "{zonefile}"
"""

BIND = """
options {{
    directory "{directory}";
    pid-file none;
    session-keyfile none;
    listen-on port {port} {{ {host}; }};
    listen-on-v6 {{ none; }};
    recursion no;
    minimal-responses yes;
    minimal-any yes;
    dnssec-validation no;
    empty-zones-enable no;
    max-cache-size 16m;
}};
controls {{ }};
zone "{zone}" {{
    type primary;
    file "{zonefile}";
    check-names ignore;
}};
"""

LIST = """
192.0.2.1
192.0.2.100-192.0.2.103
198.51.100.0/24
203.0.0.0/16
44.0.0.0/9
2001:db8:bad::/64
2a00:1:2::/48
2a00:1:3:40::/58
2a00:6::/31
"""

DO = {"edns_size": 1232, "edns_flags": 0x8000}


def proof(reply):
    """Every record of a reply that matters to a validator, signatures and proofs included."""
    def lines(records):
        return sorted((r.name.lower(), r.type, r.ttl, b"" if r.type in (NS, SOA) else r.rdata)
                      for r in records)
    return reply.rcode, lines(reply.answer), lines(reply.authority)


class DumpCase(Case):
    def dump(self, *lists):
        self.build(self.path("bl6.mdb"), *lists)
        zonefile = self.path("zone.txt")
        with open(zonefile, "wb") as file:
            self.run_zone_into(file, "dump", "--zonefile", "--store", self.path("bl6.mdb"))
        return zonefile

    def keygen(self, name="bl6.pem", *options):
        path = self.path(name)
        self.run_zone("keygen", "--zone", ZONE, "--key", path, *options)
        return path

    def verify(self, zonefile):
        for command in (["ldns-verify-zone", zonefile],
                        # One key signs everything, so its flag says nothing: -z.
                        ["dnssec-verify", "-z", "-o", ZONE, zonefile],
                        ["kzonecheck", "--dnssec", "on", "--origin", ZONE, zonefile]):
            checker = self.start([peer(command[0]), *command[1:]], command[0])
            self.assertEqual(checker.popen.wait(300), 0, checker.log()[-4000:])

    def start_knot(self, zonefile, more=""):
        """more: what else belongs into its configuration."""
        host, port = self.free_address()
        config = self.write("knot.conf", KNOT.format(host=host, port=port, zone=ZONE,
                                                     directory=self.directory,
                                                     zonefile=zonefile) + more)
        knot = self.start([peer("knotd"), "-c", config], "knotd")
        knot.wait_for_log("server started")
        wait_for(lambda: ask((host, port), ZONE, SOA).rcode == 0, "Knot to load the zone")
        return host, port

    def start_nsd(self, zonefile):
        return self._start_primary(["nsd", "-d", "-c"], NSD, self.host, zonefile)

    def start_bind(self, zonefile):
        return self._start_primary(["named", "-g", "-n", "1", "-c"], BIND, BIND_HOST, zonefile)

    def _start_primary(self, command, text, host, zonefile):
        address = (host, self.free_port(host))
        directory = self.path(f"{command[0]}-primary")
        os.mkdir(directory)
        config = self.write(f"{command[0]}.conf", text.format(
            host=host, port=address[1], directory=directory, zone=ZONE, zonefile=zonefile))
        self.start([unconfined(self, command[0]), *command[1:], config], command[0])

        def has_loaded():
            try:
                return ask(address, ZONE, SOA, timeout_s=1).rcode == 0
            except OSError:
                return False

        wait_for(has_loaded, f"{command[0]} to load the zone")
        return address

    def names(self, oracle):
        """Block names, the names above them, and names that nothing stands for."""
        names = {ZONE, f"_dnsblv6.{ZONE}", f"ip6.{ZONE}", f"127.{ZONE}", f"x.{ZONE}",
                 f"0.02.0.192.{ZONE}", f"2.2.0.192.{ZONE}", f"a.0.2.0.192.{ZONE}",
                 f"junk.100.51.198.{ZONE}", f"*.100.51.198.{ZONE}", f"*.2.0.192.{ZONE}",
                 f"junk.junk.0.203.{ZONE}", f"256.{ZONE}", f"ip6.2001.ip6.{ZONE}"}
        for address in oracle.sample(4000, SEED):
            name = bitmap_name(address)
            while name != ZONE:
                names.add(name)
                name = name.split(".", 1)[1]
        return sorted(names)
