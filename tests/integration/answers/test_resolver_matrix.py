#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
What a resolver does to names and answers never makes a wrong verdict.

Unbound, BIND, Knot Resolver and PowerDNS Recursor, each with and without QNAME minimisation,
protection against rebinding (none, on, on with the zone excepted) and DNS64, find the lists
from a root server down. dnsblv6-lookup asks each about the same addresses in a signed zone, in
an unsigned one and in a classic one. A verdict is what the list says; or there is none, and
then the state of the zone says why.

docs/resolvers.md has the table, and this test compares. tests/campaign-resolvers writes it.

Needs root: everything is in a network namespace of its own, with port 53. nsd is the root
server. A resolver that is not installed is skipped.
"""

import itertools
import json
import os
import subprocess
import sys
import unittest

import harness
import resolvers
from harness import CLASSIC, SOURCE, ZONE, Case, ip, main, peer, program
from resolvers import unconfined, wait_until_it_answers, write_into

PAGE = os.path.join(SOURCE, "docs/resolvers.md")
IS_WRITING = os.environ.get("DNSBLV6_WRITE") == "1"
MARK = "<!-- below: tests/campaign-resolvers -->\n"
ROOT, AUTHORITIES = "192.0.2.1", ("192.0.2.2", "192.0.2.3")
UNSIGNED = "plain6.example."
ZONES = (ZONE, UNSIGNED, CLASSIC)

# Blocks whose bitmaps look like addresses of private networks, beside ordinary ones.
LISTED = """198.51.100.0/24 203.0.112.0/20 45.9.3.7 45.9.3.9 45.9.3.200 2a00:1:2:40::/58
 2a00:1:2:3::/64 2a00:1:9:9::/64""".split()
LIKE_PRIVATE = {"45.10.1.0": 0xFD00 << 112 | 0x77, "45.10.2.0": 0xFE80 << 112 | 1,
                "45.10.3.0": 0xFFFF << 32 | 0x0A430001, "2a00:5:6::": 0xFC12 << 112}
CLEAR = """45.9.3.8 45.9.3.129 45.9.4.1 9.9.9.9 193.0.0.1 2a00:1:2:4:: 2a00:1:9:8:: 2a00:77::
 2620:fe::""".split()

PRIVATE = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "fc00::/7",
           "fe80::/10", "fec0::/10", "::1/128", "::ffff:0:0/96")
DNS64_PREFIX = "64:ff9b::/96"
OFF, ON, EXCEPTED = "off", "on", "on, zone excepted"
# QNAME minimisation, protection against rebinding, DNS64; each resolver in each is a row.
SETTINGS = list(itertools.product((False, True), (OFF, ON, EXCEPTED), (False, True)))

ROOT_ZONE = f"""\
. 3600 SOA a.root. nobody.root. 1 3600 600 86400 60
. 3600 NS a.root.
a.root. 3600 A {ROOT}
""" + "".join(f"{zone} 3600 NS {name}.example.\n" for zone in ZONES for name in ("ns1", "ns2")) \
    + "".join(f"{name}.example. 3600 A {address}\n"
              for name, address in zip(("ns1", "ns2"), AUTHORITIES))
HINTS = f". 3600 NS a.root.\na.root. 3600 A {ROOT}\n"

NSD = """
server:
    ip-address: {host}
    username: ""
    zonesdir: "{directory}"
    database: ""
    pidfile: "{directory}/nsd.pid"
    xfrdfile: ""
    xfrdir: "{directory}"
    zonelistfile: "{directory}/zone.list"
    cookie-secret-file: ""
    server-count: 1
remote-control:
    control-enable: no
zone:
    name: "."
    zonefile: "root.zone"
"""

# PowerDNS Recursor has no protection of its own, but a place for one.
RECURSOR_SCRIPT = """
private = newNMG()
private:addMasks({{ {masks} }})
excepted = newDS()
excepted:add({{ {excepted} }})
function postresolve(dq)
    if excepted:check(dq.qname) then
        return false
    end
    local kept = {{}}
    for _, record in pairs(dq:getRecords()) do
        if (record.type ~= pdns.A and record.type ~= pdns.AAAA)
                or not private:match(newCA(record:getContent())) then
            table.insert(kept, record)
        end
    end
    dq:setRecords(kept)
    return true
end
"""


def quoted(names):
    return ", ".join(f'"{name}"' for name in names)


def enter_namespace():
    """This process anew, alone with its network; returns in the new one."""
    if os.environ.get("DNSBLV6_NAMESPACE") == "1":
        for command in (["link", "set", "lo", "up"],
                        *(["address", "add", f"{address}/32", "dev", "lo"]
                          for address in (ROOT, *AUTHORITIES))):
            subprocess.run([peer("ip"), *command], check=True)
        return
    if subprocess.run(["unshare", "--net", "true"], check=False).returncode != 0:
        print("no network namespace can be made here")
        sys.exit(77)
    os.environ["DNSBLV6_NAMESPACE"] = "1"
    os.execvp("unshare", ["unshare", "--net", sys.executable, *sys.argv])


class Setting:
    """One resolver with its three switches; start() starts it and returns its address."""

    def __init__(self, case, where, anchor, minimises, rebinding, dns64):
        self.case, self.where, self.anchor = case, where, anchor
        self.minimises, self.rebinding, self.dns64 = minimises, rebinding, dns64

    def start_unbound(self):
        lines = [f'module-config: "{"dns64 " if self.dns64 else ""}validator iterator"',
                 f"qname-minimisation: {'yes' if self.minimises else 'no'}",
                 f"root-hints: {write_into(self.where, 'hints', HINTS)}",
                 f'trust-anchor: "{self.anchor}"']
        if self.dns64:
            lines.append(f"dns64-prefix: {DNS64_PREFIX}")
        if self.rebinding != OFF:
            lines += [f"private-address: {network}" for network in PRIVATE]
        if self.rebinding == EXCEPTED:
            lines += [f'private-domain: "{zone}"' for zone in ZONES]
        text = resolvers.UNBOUND.format(**self.where, lines="\n    ".join(lines))
        resolvers.run_unbound(self.case, self.where, text)

    def start_bind(self):
        lines = [f"qname-minimization {'relaxed' if self.minimises else 'off'};"]
        if self.dns64:
            # Excluded are by default the addresses that IPv4 is mapped to, and so are bitmaps.
            exclude = f"exclude {{ {DNS64_PREFIX}; }}; " if self.rebinding == EXCEPTED else ""
            lines.append(f"dns64 {DNS64_PREFIX} {{ clients {{ any; }}; {exclude}}};")
        if self.rebinding != OFF:
            excepted = f" except-from {{ {'; '.join(quoted([zone]) for zone in ZONES)}; }}"
            lines.append(f"deny-answer-addresses {{ {'; '.join(PRIVATE)}; }}"
                         f"{excepted if self.rebinding == EXCEPTED else ''};")
        resolvers.run_bind(self.case, self.where, HINTS, [self.anchor], lines)

    def start_kresd(self):
        lines = ["modules.load('hints > iterate')", f"hints.root({{ ['a.root.'] = '{ROOT}' }})"]
        if not self.minimises:
            lines.append("option('NO_MINIMIZE', true)")
        if self.rebinding != OFF:
            lines.append("modules.load('rebinding < iterate')")
        if self.rebinding == EXCEPTED:
            names = ", ".join(f"todname('{zone}')" for zone in ZONES)
            lines.append(f"policy.add(policy.suffix(policy.FLAGS('ALLOW_LOCAL'), {{ {names} }}))")
        if self.dns64:
            lines.append("modules.load('dns64')")
        resolvers.run_kresd(self.case, self.where, [self.anchor], lines)

    def start_recursor(self):
        lines = [f"qname-minimization={'yes' if self.minimises else 'no'}"]
        if self.dns64:
            lines.append(f"dns64-prefix={DNS64_PREFIX}")
        if self.rebinding != OFF:
            script = RECURSOR_SCRIPT.format(
                masks=quoted(PRIVATE), excepted=quoted(ZONES if self.rebinding == EXCEPTED else ()))
            lines.append(f"lua-dns-script={write_into(self.where, 'script.lua', script)}")
        resolvers.run_recursor(self.case, self.where, [self.anchor], lines,
                               write_into(self.where, "hints", HINTS))

    def start(self, resolver):
        {"Unbound": self.start_unbound, "BIND": self.start_bind,
         "Knot Resolver": self.start_kresd, "PowerDNS Recursor": self.start_recursor}[resolver]()
        return wait_until_it_answers(self.where)


class Matrix(Case):
    def setUp(self):
        super().setUp()
        self.listed = self.addresses_listed()
        self.anchor = self.serve_zones()
        self.start_root()

    def addresses_listed(self):
        """Of each line one, and all of the blocks that look like something else."""
        listed = [str(ip(line.split("/")[0])) for line in LISTED]
        for block, bits in LIKE_PRIVATE.items():
            for index in range(128):
                if bits >> (127 - index) & 1:
                    listed.append(str(ip(block) + (index if "." in block else index << 64)))
        return listed

    def serve_zones(self):
        """The DS record of the signed one."""
        lines = LISTED + [address if "." in address else address + "/64"
                          for address in self.listed]
        path = self.write("list.txt", "\n".join(lines) + "\n")
        key = self.path("key.pem")
        self.run_zone("keygen", "--zone", ZONE, "--key", key)
        for zone, store, *how in ((ZONE, "signed.mdb", "--key", key, "--classic", CLASSIC),
                                  (UNSIGNED, "plain.mdb")):
            # Its servers, as the zone above has them: a resolver believes the zone itself.
            self.run_zone("build", "--zone", zone, "--store", self.path(store),
                          "--ns", "ns1.example.", "--ns", "ns2.example.", *how, path)
        for address in AUTHORITIES:
            self.serve([(ZONE, self.path("signed.mdb"), CLASSIC),
                        (UNSIGNED, self.path("plain.mdb"), None)], address=(address, 53))
        return self.run_zone("ds", "--zone", ZONE, "--key", key).out.splitlines()[0]

    def start_root(self):
        where = {"directory": self.path("root"), "host": ROOT}
        os.mkdir(where["directory"])
        write_into(where, "root.zone", ROOT_ZONE)
        nsd = self.start([unconfined(self, "nsd"), "-d", "-c",
                          write_into(where, "nsd.conf", NSD.format(**where))], "nsd")
        nsd.wait_for_log("nsd started")

    # ---- one setting ----

    def lookup(self, server, *arguments):
        result = subprocess.run([program("dnsblv6-lookup"), "--server", "{}@{}".format(*server),
                                 "--timeout", "10", "--json", *arguments], capture_output=True,
                                check=False, timeout=100, encoding="ascii")
        self.assertEqual(harness.sanitizer_reports(result.stderr), [])
        return [json.loads(line) for line in result.stdout.splitlines()]

    def ask_zone(self, server, zone):
        """A cell of the table. Fails when a verdict is not what the list says."""
        wanted = {**dict.fromkeys(self.listed, "listed"), **dict.fromkeys(CLEAR, "clear")}
        verdicts = {row["address"]: row["verdict"]
                    for row in self.lookup(server, "--zones", zone, *wanted)}
        self.assertEqual(set(verdicts), set(wanted))
        given = {address: verdict for address, verdict in verdicts.items()
                 if verdict != "unknown"}
        self.assertEqual(given, {address: wanted[address] for address in given})
        health = self.lookup(server, "--zones", zone, "--zone-health")[0]
        if len(given) == len(wanted):
            return "same" if health["state"] == "ok" else f"{health['state']}: same, by classic"
        self.assertNotEqual(health["state"], "ok", verdicts)
        # How many were answered before the probe has found that out is chance.
        return f"{health['state']}: same or none"

    def measure(self, resolver, minimises, rebinding, dns64):
        where = resolvers.prepare(self, host=resolvers.BIND_HOST)
        server = Setting(self, where, self.anchor, minimises, rebinding, dns64).start(resolver)
        process = self.processes[-1]
        try:
            return [self.ask_zone(server, zone) for zone in ZONES]
        finally:
            process.stop()

    # ---- the table ----

    def rows(self):
        for resolver in resolvers.VALIDATORS:
            try:
                peer({"Unbound": "unbound", "BIND": "named", "Knot Resolver": "kresd",
                      "PowerDNS Recursor": "pdns_recursor"}[resolver])
            except unittest.SkipTest as reason:
                with self.subTest(resolver=resolver):
                    raise reason
                continue
            for setting in SETTINGS:
                with self.subTest(resolver=resolver, setting=setting):
                    yield resolver, setting, self.measure(resolver, *setting)

    def test_every_verdict_is_what_the_list_says_or_there_is_none(self):
        lines = []
        for resolver, (minimises, rebinding, dns64), cells in self.rows():
            words = [resolver, "yes" if minimises else "no", rebinding, "yes" if dns64 else "no"]
            lines.append(f"| {' | '.join(words + cells)} |\n")
        with open(PAGE, encoding="utf-8") as file:
            page = file.read()
        head, table = page.split(MARK)
        if IS_WRITING:
            self.assertEqual(len(lines), len(SETTINGS) * len(resolvers.VALIDATORS), "docs/resolvers.md stays as it was")
            with open(PAGE, "w", encoding="utf-8") as file:
                file.write(head + MARK + TABLE_HEAD + "".join(lines))
            return
        for line in lines:
            self.assertIn(line, table, "tests/campaign-resolvers writes docs/resolvers.md anew")


TABLE_HEAD = """
| resolver | QNAME minimisation | rebinding protection | DNS64 | signed zone | unsigned zone \
| classic zone |
|---|---|---|---|---|---|---|
"""


if __name__ == "__main__":
    enter_namespace()
    main()
