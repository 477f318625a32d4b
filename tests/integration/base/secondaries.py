# SPDX-License-Identifier: GPL-3.0-or-later
"""
secondaries.py - Knot, NSD and BIND holding copies of a zone of dnsblv6d.

Flow: test_transfer.py and tests of zones start them with a primary's address -> they take the
      zone by AXFR, and NOTIFY and IXFR from then on -> axfr() and dump() read
      a server's zone as sorted lines.

Each has a key of its own and asks from 127.0.0.1, as the three look like to a
primary at another loopback address. None refreshes within a test by itself:
the SOA says an hour.
"""

import base64
import os
import subprocess

from harness import DEADLINE_S, SOA, ZONE, ask, peer, wait_for
from resolvers import unconfined

ALGORITHM = "hmac-sha256"
SOURCE = "127.0.0.1"

KNOT = """
server:
    listen: {host}@{port}
    rundir: {directory}
    tcp-io-timeout: 0 # else a client that waits for a processor for half a second has a part of the zone
database:
    storage: {directory}
log:
  - target: stderr
    any: info
key:
  - id: {name}
    algorithm: {algorithm}
    secret: {secret}
remote:
  - id: primary
    address: {primary_host}@{primary_port}
    key: {name}
acl:
  - id: notify
    address: {primary_host}
    key: {name}
    action: notify
  - id: reader
    address: 127.0.0.0/8
    action: transfer
zone:
  - domain: {zone}
    storage: {directory}
    file: zone.txt
    master: primary
    acl: [ notify, reader ]
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
    verbosity: 2
    server-count: 1
    zonefiles-write: 1
remote-control:
    control-enable: no
key:
    name: "{name}"
    algorithm: {algorithm}
    secret: "{secret}"
zone:
    name: "{zone}"
    zonefile: "zone.txt"
    request-xfr: {primary_host}@{primary_port} {name}
    allow-notify: {primary_host} {name}
    provide-xfr: 127.0.0.0/8 NOKEY
"""

BIND = """
options {{
    directory "{directory}";
    pid-file none;
    session-keyfile none;
    listen-on port {port} {{ {host}; }};
    listen-on-v6 {{ none; }};
    recursion no;
    notify no;
    allow-transfer {{ any; }};
    dnssec-validation no;
    empty-zones-enable no;
    max-cache-size 16m;
}};
controls {{ }};
key "{name}" {{ algorithm {algorithm}; secret "{secret}"; }};
zone "{zone}" {{
    type secondary;
    file "zone.db";
    primaries {{ {primary_host} port {primary_port} key {name}; }};
}};
"""


class Secondary:
    """One program, that can be stopped and started again with what it has on disk."""

    def __init__(self, case, name, primary):
        # named takes only addresses that an interface has; others of 127/8 no interface has.
        host = SOURCE if name == "bind" else case.host
        self.case, self.name = case, name
        self.address = (host, case.free_port(host))
        self.secret = base64.b64encode(f"secret of {name}".encode()).decode()
        self.directory = case.path(f"{name}-secondary")
        os.mkdir(self.directory)
        template = {"knot": KNOT, "nsd": NSD, "bind": BIND}[name]
        self.config = case.write(f"{name}.conf", template.format(
            name=name, host=host, port=self.address[1], directory=self.directory, zone=ZONE,
            primary_host=primary[0], primary_port=primary[1], algorithm=ALGORITHM,
            secret=self.secret))
        self.process = None

    def lines(self):
        """What the primary's configuration says about it: its key and itself."""
        key = f"  - id: {self.name}\n    algorithm: {ALGORITHM}\n    secret: {self.secret}\n"
        itself = (f"  - id: {self.name}\n    address: {self.address[0]}@{self.address[1]}\n"
                  f"    allow: {SOURCE}\n    key: {self.name}\n")
        return key, itself

    def start(self):
        program = {"knot": ["knotd", "-c"], "nsd": ["nsd", "-d", "-c"],
                   "bind": ["named", "-g", "-n", "1", "-c"]}[self.name]
        path = unconfined(self.case, program[0])
        self.process = self.case.start([path, *program[1:], self.config], self.name)

    def stop(self):
        self.process.stop()

    def serial(self):
        """None as long as it does not answer for the zone."""
        try:
            reply = ask(self.address, ZONE, SOA, timeout_s=1)
        except OSError:
            return None
        return serial_of(reply) if reply.rcode == 0 and reply.answer else None

    def wait_for_serial(self, serial):
        try:
            wait_for(lambda: self.serial() == serial, f"{self.name} to have serial {serial}")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.process.log()[-3000:]}") from None

    def dump(self):
        return axfr(self.address)


def serial_of(reply):
    return int.from_bytes(reply.answer[0].rdata[-20:-16], "big")


def axfr(address, *options):
    """A server's zone as a sorted list of records, by dig: all of it, from its SOA to its SOA."""
    result = subprocess.run(
        [peer("dig"), f"@{address[0]}", "-p", str(address[1]), "-b", SOURCE, "+tcp", "+noall",
         "+answer", "+nocomments", "+nostats", f"+time={DEADLINE_S}", "+tries=1", *options, ZONE,
         "AXFR"],
        capture_output=True, check=False, timeout=2 * DEADLINE_S)
    text = result.stdout.decode("ascii", "replace")
    first, *lines = [" ".join(line.split()) for line in text.splitlines()
                     if line and not line.startswith(";")] or [""]
    if "SOA" not in first.split() or lines[-1:] != [first]:
        raise AssertionError(f"no transfer from {address}, or a part: {text[-2000:]}")
    return sorted(lines)
