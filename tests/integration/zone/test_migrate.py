#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
From a command line of rbldnsd to a zone that is served, signed and follows its lists:
migrate writes zones.conf and dnsblv6d.conf, and the services are started (here without systemd).

rbldnsd runs by that very line, beside ours: both answer the same, before and after a list changes.

Needs: rbldnsd; for the real list, the files of UCEPROTECT (harness.data_file).
"""

import os
import pwd
import re
import resource
import shlex
import shutil
import stat
import subprocess
import unittest

import harness
from harness import (CLASSIC, EX_DATAERR, EX_IOERR, EX_USAGE, NXDOMAIN, A, Server, ask, data_file, main, peer, program, wait_for)
from rbldnsd import TEST_POINTS, RbldnsdTest, addresses4, name4, read_ranges

DNSKEY, RRSIG = 48, 46
QUESTIONS = 5000


class Migrate(RbldnsdTest):
    def setUp(self):
        super().setUp()
        os.chmod(self.directory, 0o777)  # as whom rbldnsd runs, it reads from there

    def read(self, name):
        with open(self.path(name), encoding="ascii") as file:
            return file.read()

    def migrate(self, line, *options, **how):
        return self.run_zone("migrate", line, "--output", self.path("zones.conf"), "--server",
                             self.path("dnsblv6d.conf"), "--stores", self.directory, "--key-files", self.directory,
                             *options, cwd=self.directory, **how)

    def start_rbldnsd(self, line):
        rbldnsd = self.start([peer("rbldnsd"), *shlex.split(line)[1:]], "rbldnsd", cwd=self.directory)
        rbldnsd.wait_for_log(r"rbldnsd version .* started")
        return rbldnsd

    def serve_migrated(self, address):
        """What "systemctl enable --now dnsblv6-watch dnsblv6d" does."""
        watch = self.start([program("dnsblv6-zone"), "watch", "--config", self.path("zones.conf"), "--settle", "0"],
                           "watch")
        # All of them: a server that finds a store half made says so.
        for zone in re.findall(r"^  - domain: (\S+)$", self.read("zones.conf"), re.MULTILINE):
            watch.wait_for_log(rf"^info: \[{re.escape(zone)}\] built ")
        text = self.read("dnsblv6d.conf")
        # Tests ask more out of one network than any resolver.
        self.write("dnsblv6d.conf", text.replace("server:\n", "server:\n    rate-limit: 0\n", 1))
        server = Server(self.path("dnsblv6d.conf"), address, self.path("dnsblv6d.log"))
        self.processes.append(server)
        return server.wait_until_ready(), watch

    def move(self, line_of, *options):
        """line_of(ADDRESS/PORT) is the command line. The addresses of both servers."""
        theirs, ours = self.free_address(), self.free_address()
        self.start_rbldnsd(line_of("{}/{}".format(*theirs)))
        told = self.migrate(line_of("{}/{}".format(*ours)), *options)
        server, self.watch = self.serve_migrated(ours)
        self.assertEqual(server.address, ours)
        return told, (theirs, ours)

    def options(self, address):
        user = "-u nobody " if os.geteuid() == 0 else ""
        return f"rbldnsd -n -f {user}-c 1 -w {self.directory} -b{address}"

    def test_the_features_of_rbldnsd_and_a_list_that_changes(self):
        for name in ("set-1", "set-2", "base", "trie", "combined-1", "combined-2"):
            self.feature(name)
        self.write("domains", "$NS 1h ns1.example.net\n:2:bad $\n.spam.example\nwww.other.example\n")
        self.write("clients", ":pass\n192.0.2.0/24\n")
        told, addresses = self.move(lambda address: (
            f"{self.options(address)} -t 35m bl.example:ip4set:set-1,set-2 bl.example:ip4set:base"
            f" bl.example:ip4trie:{self.directory}/trie 'bl.example:combined:combined-1,combined-2'"
            " rhs.example:dnset:domains rhs.example:acl:clients"))
        self.assertRegex(told.err, r"(?m)^info: \[-c\] option has no setting \(.*watch.*\)$")
        paths = [self.path(name) for name in ("set-1", "set-2", "base", "trie")]
        ranges = read_ranges(paths)
        numbers = [n for n in addresses4(self.random, ranges, QUESTIONS) if n not in TEST_POINTS]
        origins = [CLASSIC] * 4 + [f"{zone}.{CLASSIC}" for zone in ("proxies", "relays", "old.relays", "none")]
        names = [name4(number, self.random.choice(origins)) for number in numbers]
        self.assertGreater(self.compare(names, addresses), QUESTIONS // 10)
        self.compare(["a.spam.example.rhs.example.", "www.other.example.rhs.example.", "x.example.rhs.example."],
                     addresses)

        # What rbldnsd passes over in silence; once, and not with every build.
        self.expect_log(r"^warning: \[\S+:\d+\] (text cut|line ignored|entry not listed whole)", r"exclusions exclude nothing",
                        r"serial of \$SOA is not newer")
        # One file of one zone changes.
        new = name4(0x2C010203, CLASSIC)
        self.assertEqual([ask(address, new, A).rcode for address in addresses], [NXDOMAIN] * 2)
        with open(self.path("base"), "a", encoding="ascii") as file:
            file.write("44.1.2.3\n")
        for address in addresses:
            wait_for(lambda a=address: ask(a, new, A).answer, f"the new entry at {address}")
        self.compare(names[:500] + [new], addresses)

    def test_a_real_list_is_served_signed(self):
        name = "dnsbl-1.uceprotect.net"
        path = self.readable(data_file(name))
        _, addresses = self.move(lambda address: f"{self.options(address)} bl.example:ip4set:{name}",
                                 "--ns", "ns1.example.net.")
        ranges = read_ranges([path])
        numbers = {n for n in addresses4(self.random, ranges, QUESTIONS) if n not in TEST_POINTS}
        self.assertGreater(self.compare([name4(n, CLASSIC) for n in numbers], addresses), QUESTIONS // 4)
        reply = ask(addresses[1], harness.ZONE, DNSKEY, edns_size=1232, edns_flags=0x8000)
        self.assertEqual({record.type for record in reply.answer}, {DNSKEY, RRSIG})
        zone = self.path("zone.txt")
        with open(zone, "wb") as file:
            self.run_zone_into(file, "dump", "--zonefile", "--store", self.path("bl6.example.mdb"))
        subprocess.run([peer("ldns-verify-zone"), zone], check=True, capture_output=True, timeout=300)
        self.assertIn("bl6.example. IN DS ", self.run_zone(
            "ds", "bl6.example", "--config", self.path("zones.conf")).out)

    def test_lines_that_rbldnsd_passes_over(self):
        self.feature("bad-set")
        told, addresses = self.move(lambda address: f"{self.options(address)} bl.example:ip4set:bad-set",
                                    "--ns", "ns1.example.net.")
        self.assertIn("line ignored", told.err)
        bad = int(re.search(r"# Its lists have (\d+) lines that cannot be read", self.read("zones.conf")).group(1))
        self.assertGreater(bad, 0)
        self.assertIn(f"max-bad-lines: {max(20, 2 * bad)}\n", self.read("zones.conf"))
        self.expect_log(r"line ignored", r"more findings? not shown", r"exclusions exclude nothing")
        self.compare([name4(0xC0000200 + host, CLASSIC) for host in range(256)], addresses)

    def test_a_list_whose_last_line_has_no_line_feed_stays_one(self):
        self.write("base", "192.0.2.1\n192.0.2.7")
        _, addresses = self.move(lambda address: f"{self.options(address)} bl.example:ip4set:base",
                                 "--ns", "ns1.example.net.")
        self.assertIn("allow-unterminated: on", self.read("zones.conf"))
        self.compare([name4(0xC0000200 + host, CLASSIC) for host in range(16)], addresses)

    def test_an_empty_file_among_others_stays_one(self):
        self.write("base", "192.0.2.1\n")
        self.write("own", "")
        _, addresses = self.move(lambda address: f"{self.options(address)} bl.example:ip4set:base,own",
                                 "--ns", "ns1.example.net.")
        self.assertIn("allow-empty: on", self.read("zones.conf"))
        self.assertNotIn("allow-reserved", self.read("zones.conf"))
        self.compare([name4(0xC0000200 + host, CLASSIC) for host in range(16)], addresses)

    def test_an_acl_of_no_zone_is_that_of_each(self):
        self.write("base", "$NS 1h ns1.example.net\n192.0.2.1\n")
        self.write("domains", "$NS 1h ns1.example.net\nspam.example\n")
        self.write("clients", "127.0.0.0/8 :3:all is listed for $\n192.0.2.0/24 :refuse\n")
        lists = "bl.example:ip4set:base :acl:clients rhs.example:dnset:domains"
        _, addresses = self.move(lambda address: f"{self.options(address)} {lists}")
        self.assertEqual(self.read("zones.conf").count(f'list: "acl:{self.path("clients")}"'), 2)
        names = ["1.2.0.192.bl.example.", "2.2.0.192.bl.example.", "x.example.rhs.example."]
        self.assertEqual(self.compare(names, addresses), 2 * len(names))
        for name in ("zones.conf", "dnsblv6d.conf"):
            os.remove(self.path(name))
        refused = self.migrate(f"rbldnsd {lists} rhs.example:acl:clients", expect=EX_USAGE)
        self.assertRegex(refused.err, r"a zone has one acl; (?s:.*)\[rhs\.example\] zone not migrated")

    def test_every_word_of_the_line_has_its_place(self):
        self.write("base", "$NS 1h ns1.example.net\n10.0.0.1\n192.0.2.77/24\n")
        self.write("more,", "")
        told = self.migrate(
            "/usr/sbin/rbldnsd -naqe -u rbldns:rbldns -r / -w " + self.directory + " -b 192.0.2.53 -b 2001:db8::53/5353"
            " -b ns1.example.net -p/run/rbldnsd.pid -l +/var/log/rbldnsd -s stats -t 1h30m:1m:2h -c0 -vv"
            " \"bl.example:ip4set:base\" BL.example.:ip4trie:base bl.example:ip4set:" + self.path("base"))
        zones, server = self.read("zones.conf"), self.read("dnsblv6d.conf")
        self.assertEqual(re.findall(r"^    (\S+): (.*)$", zones, re.MULTILINE)[:3], [
            ("store", self.path("bl6.example.mdb")), ("classic", "bl.example"), ("key", self.path("bl6.example.pem"))])
        self.assertEqual(re.findall(r"^    list: (.*)$", zones, re.MULTILINE), [
            f'"{kind}:{self.path("base")}"' for kind in ("ip4set", "ip4trie", "ip4set")])
        self.assertIn("ttl: 5400\n", zones)
        self.assertIn("cut-host-bits: on\n", zones)
        self.assertIn("allow-reserved: on\n", zones)
        self.assertIn('listen: [ "192.0.2.53@53", "2001:db8::53@5353" ]\n', server)
        # Not rbldnsd's user, who may read no store.
        self.assertIn("    #user: dnsblv6\n", server)
        for letter in "urcplsvt":
            self.assertRegex(told.err, rf"(?m)^info: \[-{letter}\] option ")
        self.assertRegex(told.err, r"(?m)^warning: \[-b\] address left out, text=ns1\.example\.net ")
        self.run_zone("build", "bl6.example", "--config", self.path("zones.conf"))

    def test_what_cannot_be_moved_is_refused_and_nothing_is_written(self):
        self.write("base", "192.0.2.1\n")
        self.write("half", "$NS 1h ns1.example.net\n")
        for line, status, pattern in (
                ("rbldnsd -b 127.0.0.1", EX_USAGE, r"no ZONE:TYPE:FILE in it"),
                ("rbldnsd -k bl.example:ip4set:base", EX_USAGE, r"-k: rbldnsd has no such option"),
                ("rbldnsd -b", EX_USAGE, r"-b: needs an argument"),
                ("rbldnsd -t soon bl.example:ip4set:base", EX_USAGE, r"-t: not a time"),
                ("rbldnsd bl.example:ip4hash:base", EX_USAGE, r"its type is none"),
                ("rbldnsd bl.example:ip4set:", EX_USAGE, r"no file"),
                ("rbldnsd bl.example:base", EX_USAGE, r"not of the form ZONE:TYPE:FILE"),
                ("rbldnsd ..:ip4set:base", EX_USAGE, r"not the name of a zone"),
                ("rbldnsd 'bl.example:ip4set:base", EX_USAGE, r"a quote is not closed"),
                ("rbldnsd bl.example:ip4set:base", EX_USAGE, r"no list has \$NS: give --ns"),
                ("rbldnsd bl.example:ip4set:absent", 66, r"No such file"),
                ("rbldnsd bl.example:ip4set:half", EX_DATAERR, r"list is empty"),
        ):
            with self.subTest(line=line):
                result = self.migrate(line, expect=status)
                self.assertRegex(result.err, pattern)
                self.assertEqual(sorted(os.listdir(self.directory)), ["base", "half"])
        for options, pattern in ((("--stores", ""), "take an absolute path"),
                                 (("--key-files", "keys"), "take an absolute path"),
                                 (("--server", self.path("zones.conf")), "are one file")):
            result = self.migrate("rbldnsd bl.example:ip4set:base", "--ns", "ns1.example.net.", *options,
                                  expect=EX_USAGE)
            self.assertIn(pattern, result.err)
            self.assertEqual(sorted(os.listdir(self.directory)), ["base", "half"])
        self.migrate("rbldnsd bl.example:ip4set:base", "--ns", "ns1.example.net.")
        before = self.read("zones.conf")
        result = self.migrate("rbldnsd bl.example:ip4set:base", "--ns", "ns2.example.net.", expect=73)
        self.assertRegex(result.err, r"^error: \[.*zones\.conf\] file not written \(File exists\)$")
        self.assertEqual(self.read("zones.conf"), before)
        # As with the dnsblv6d.conf that the package has: then there is no zones.conf or key either.
        os.remove(self.path("zones.conf"))
        os.remove(self.path("bl6.example.pem"))
        result = self.migrate("rbldnsd bl.example:ip4set:base", "--ns", "ns2.example.net.", expect=73)
        self.assertRegex(result.err, r"^error: \[.*dnsblv6d\.conf\] file not written \(File exists\)$")
        self.assertEqual(sorted(os.listdir(self.directory)), ["base", "dnsblv6d.conf", "half"])

    def test_what_an_option_is_wrong_or_missing_for_is_told_before_all_that_lists_say(self):
        self.write("named", "$NS 1h ns1.example.net\n" + "300.0.0.1\n" * 30 + "192.0.2.1\n")
        self.write("nameless", "300.0.0.1\n" * 30 + "10.0.0.1\n192.0.2.1\n")
        line = "rbldnsd a.example:ip4set:named b.example:ip4set:nameless"
        self.assertEqual(self.migrate(line, expect=EX_USAGE).err,
                         "error: [b.example] zone not migrated (no list has $NS: give --ns)\n")
        self.write("dnsblv6d.conf", "")
        self.assertEqual(self.migrate(line, "--ns", "ns1.example.net.", expect=73).err,
                         f"error: [{self.path('dnsblv6d.conf')}] file not written (File exists)\n")

    def test_as_many_zones_as_a_configuration_has(self):
        self.write("base", "192.0.2.1\n")
        zones = [f"z{n}.example:ip4set:base" for n in range(1001)]
        options = ("--unsigned", "--ns", "ns1.example.net.")
        refused = self.migrate(f"rbldnsd {' '.join(zones)}", *options, expect=EX_USAGE)
        self.assertRegex(refused.err, r"^error: \[rbldnsd\] command line refused \(.*more than 1000 zones.*\)\n$")
        self.migrate(f"rbldnsd {' '.join(zones[:1000])}", *options)
        known = self.run_zone("conf-check", "--config", self.path("zones.conf")).out.splitlines()
        self.assertEqual(len(known), 1000)

    def test_a_zone_whose_name_ends_with_a_6_is_not_in_the_way_of_another(self):
        self.write("base", "192.0.2.1\n")
        self.write("base6", "2001:db8:1::/64\n")
        six = "BL6.example.:ip6trie:base6"
        self.migrate(f"rbldnsd bl.example:ip4set:base {six}", "--unsigned", "--ns", "ns1.example.net.")
        self.assertEqual(re.findall(r"(?:domain|classic): (\S+)", self.read("dnsblv6d.conf")),
                         ["bl-6.example.", "bl.example", "BL66.example.", "BL6.example."])
        checked = subprocess.run([program("dnsblv6d"), "--check", "--config", self.path("dnsblv6d.conf")],
                                 capture_output=True, text=True, check=False, timeout=harness.DEADLINE_S)
        self.assertNotIn("another zone", checked.stderr)
        os.remove(self.path("zones.conf"))
        os.remove(self.path("dnsblv6d.conf"))
        refused = self.migrate(f"rbldnsd bl.example:ip4set:base {six} bl-6.example:ip4set:base", "--unsigned",
                               "--ns", "ns1.example.net.", expect=EX_DATAERR)
        self.assertRegex(refused.err, r"^error: \[bl.example\] zone not migrated \(.*another zone\)\n$")

    def test_a_full_disk_leaves_neither_file(self):
        self.write("base", "192.0.2.1\n")
        line, options = "rbldnsd bl.example:ip4set:base", ("--ns", "ns1.example.net.", "--unsigned")
        self.migrate(line, *options)
        sizes = [os.path.getsize(self.path(name)) for name in ("zones.conf", "dnsblv6d.conf")]
        for size in (min(sizes) - 1, max(sizes) - 1):
            for name in ("zones.conf", "dnsblv6d.conf"):
                os.remove(self.path(name))
            result = self.migrate(line, *options, expect=EX_IOERR, preexec_fn=lambda size=size: resource.setrlimit(
                resource.RLIMIT_FSIZE, (size, size)))
            self.assertRegex(result.err, r"^error: \[.*\.conf\] file not written \(File too large\)\n$")
            self.assertEqual(os.listdir(self.directory), ["base"])
            self.migrate(line, *options)

    @unittest.skipUnless(os.geteuid() == 0, "a directory of another user's needs root")
    def test_what_root_makes_belongs_to_the_owner_of_its_directory(self):
        self.write("base", "192.0.2.1\n")
        nobody = pwd.getpwnam("nobody")
        os.chown(self.directory, nobody.pw_uid, nobody.pw_gid)
        self.migrate("rbldnsd bl.example:ip4set:base", "--ns", "ns1.example.net.")
        self.run_zone("keygen", "--zone", harness.ZONE, "--key", self.path("made.pem"))
        store = self.path("bl6.mdb")
        self.build(store, "--keys", self.path("keys"), self.path("base"))
        made = [self.path(name) for name in ("bl6.example.pem", "made.pem", "keys", "bl6.mdb", "bl6.mdb-lock")]
        made += [os.path.join(self.path("keys"), name) for name in os.listdir(self.path("keys"))]
        for path in made:
            found = os.stat(path)
            self.assertEqual((found.st_uid, found.st_gid), (nobody.pw_uid, nobody.pw_gid), path)
            if path.endswith(".pem"):
                self.assertEqual(stat.S_IMODE(found.st_mode), 0o600)
        # What is there stays whose it is; a new lock file is the directory's owner's all the same.
        os.chown(store, 0, 0)
        os.remove(f"{store}-lock")
        self.run_zone("dump", "--store", store)
        self.assertEqual([os.stat(path).st_uid for path in (store, f"{store}-lock")], [0, nobody.pw_uid])
        others = [self.path("one.mdb"), self.path("two.mdb")]
        for other in others:
            shutil.copy(store, other)
            os.chown(other, nobody.pw_uid, nobody.pw_gid)
        self.run_zone("diff", *others)
        self.assertEqual([os.stat(f"{other}-lock").st_uid for other in others], [nobody.pw_uid] * 2)


if __name__ == "__main__":
    main()
