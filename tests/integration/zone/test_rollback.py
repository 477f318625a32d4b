#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
A store that is rolled back holds what a build of the old list would have made: names, values,
clients and settings, as a new version that secondaries follow; and "log --since" and "diff" say
how two versions differ. A rollback that is killed, or has no room, leaves the version before.

Needs ldns-verify-zone, and knotd for the secondary.
"""

import os
import re
import subprocess
import time

from harness import (AAAA, EX_DATAERR, EX_IOERR, EX_USAGE, IS_SANITIZED, NXDOMAIN, NOERROR, ZONE, Server,
                     bitmap_name, config_text, ip, main, numbers, program)
from killing import Moments
from secondaries import SOURCE, Secondary, axfr
from updates import UpdateCase, random_change

ROUNDS = 3 if IS_SANITIZED else 8

VALUED = "$DATASET ip4set @\n:127.0.0.{code}:seen {code} times\n{lines}\n$DATASET dnset domains\n:2:bad\n{names}\n"


class RollbackCase(UpdateCase):
    def serial(self):
        """Of the newest version that the journal led to."""
        return int(re.search(r" serial=(\d+)", self.run_zone(
            "log", "--brief", "--count", "1", "--store", self.store).out).group(1))

    def serial_of_store(self):
        soa = next(line.split() for line in self.run_zone(
            "dump", "--zonefile", "--store", self.store).out.splitlines() if line.split()[2] == "SOA")
        return int(soa[5])

    def rollback(self, *options, **how):
        return self.run_zone("rollback", "--store", self.store, *self.keys, *options, **how)

    def contents(self, store=None):
        """All that a version is, but for its serial and its signatures."""
        store = store or self.store
        clients = self.run_zone("dump", "--clients", "--store", store).out
        lines = [line for line in self.zone(store) if line.split()[2] != "ZONEMD"]  # has the SOA in it
        return lines, self.values(store), clients

    def write_combined(self, code, count):
        """A list with values and names, and none of two calls is the other's subset."""
        first = self.random.randrange(200)
        lines = "\n".join(f"192.0.{(first + i) % 250}.{self.random.randrange(1, 255)}"
                          for i in range(count))
        names = "\n".join(f"a{self.random.randrange(1000)}.example" for _ in range(count // 4))
        return "combined:" + self.write(f"list-{code}", VALUED.format(code=code, lines=lines, names=names))


class Rollback(RollbackCase):
    def check_versions(self, *options):
        """Builds and updates in turn, and then back to each of them."""
        versions = {}
        for turn in range(ROUNDS):
            if turn % 2 == 0:
                lists = [self.write_combined(2 + turn, 40 + turn)]
                built = self.build(self.store, *self.keys, *options, *lists)
                fresh = self.path(f"fresh-{turn}.mdb")
                self.build(fresh, *self.keys, *options, *lists)
                self.assertEqual(self.contents(fresh), self.contents())
            else:
                change, _ = random_change(self.random)
                built = self.update(self.random.choice(("--add", "--remove")), change,
                                    "--add", f"198.51.100.{turn}")
            versions[numbers(built.out)["serial"]] = self.contents()
        newest = max(versions)
        for serial in self.random.sample(sorted(versions), len(versions)):
            told = self.rollback("--to", str(serial)).out
            if self.serial() == newest:
                self.assertEqual(told, "nothing to change\n")
            self.assertEqual(self.contents(), versions[serial], serial)
            self.assert_sound()
        return versions

    def test_each_version_of_an_unsigned_zone(self):
        self.check_versions()

    def test_each_version_of_a_signed_zone(self):
        self.sign()
        self.check_versions()

    def test_each_version_of_a_signed_flat_zone_with_a_digest(self):
        self.sign()
        self.check_versions("--style", "flat", "--zonemd")

    def test_each_version_of_a_signed_zone_with_classic_names(self):
        self.sign()
        self.check_versions("--style", "classic")

    def test_a_build_after_a_rollback_finds_nothing_changed(self):
        """Settings, and what the classic zone says, are those of the version, too."""
        self.sign()
        old, new = (self.write_combined(code, 50) for code in (2, 3))
        self.build(self.store, *self.keys, "--reason", "https://old.example/$", old)
        self.build(self.store, *self.keys, "--reason", "https://new.example/$", new)
        self.rollback()
        self.assertIn("nothing changed", self.build(self.store, *self.keys, old).out)
        self.rollback("--to", str(self.serial()))
        self.assertIn("https://old.example/", "\n".join(self.zone()))

    def test_without_a_serial_it_is_the_version_before_the_last_that_did_more_than_sign(self):
        self.sign()
        self.build(self.store, *self.keys, self.write("list", "192.0.2.1\n"))
        before = self.contents()
        self.update("--add", "192.0.2.2")
        self.run_zone("sign", "--store", self.store, *self.keys)
        self.run_zone("sign", "--store", self.store, *self.keys)
        self.rollback()
        self.assertEqual(self.contents(), before)
        header = self.run_zone("log", "--brief", "--count", "1", "--store", self.store).out
        self.assertRegex(header, r"^\S+ rollback serial=")

    def test_the_keys_stay_those_of_now(self):
        self.sign()
        self.build(self.store, *self.keys, self.write("list", "192.0.2.1\n"))
        serial = numbers(self.build(
            self.store, *self.keys, self.write("list", "192.0.2.1\n192.0.2.9\n")).out)["serial"]
        new = self.keygen("new.pem")
        self.run_zone("sign", "--store", self.store, *self.keys, "--publish", new)
        self.update("--add", "192.0.2.50", "--publish", new)
        keys = [line for line in self.zone() if " DNSKEY " in " ".join(line.split())]
        self.rollback("--to", str(serial), "--publish", new)
        self.assertEqual([line for line in self.zone() if " DNSKEY " in " ".join(line.split())], keys)
        self.assertEqual(len(keys), 2)
        self.assert_sound()

    def test_a_dry_run_says_what_would_be_and_writes_nothing(self):
        self.build(self.store, self.write("list", "192.0.2.1\n"))
        self.update("--add", "192.0.2.2")
        before = self.content()
        told = self.rollback("--dry-run").out
        self.assertRegex(told, r"^would roll back bl6\.example\. to \d+: ipv4=1 ")
        self.assertEqual(self.content(), before)

    def test_a_version_that_has_expired_does_not_come_back(self):
        """It would not be served."""
        end = int(time.time()) - 3600
        stamp = time.strftime("%Y:%m:%d:%H:%M:%S", time.gmtime(end - 86400))
        dated = "ip4set:" + self.write("dated", f"$TIMESTAMP {stamp} +86400\n192.0.2.1\n")
        self.run_zone_at(-7200, "build", "--zone", ZONE, "--store", self.store, "--ns", "ns1.example.net.", dated)
        first = self.serial_of_store()
        self.build(self.store, self.write("list", "192.0.2.2\n"))
        before = self.content()
        for options in ((), ("--dry-run",)):
            result = self.rollback("--to", str(first), *options, expect=EX_DATAERR)
            self.assertEqual(result.err.splitlines(), [
                f"error: [{self.store}] version has expired, expired="
                + time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(end)) + " ($TIMESTAMP of its list)",
                f"error: [{self.store}] store not rolled back, refusals=1"])
            self.assertEqual(self.content(), before)

    def test_what_cannot_be_is_refused_in_one_line(self):
        self.sign()
        first = numbers(self.build(self.store, *self.keys,
                                   self.write("list", "192.0.2.1\n")).out)["serial"]
        self.assertEqual(self.rollback(expect=EX_DATAERR).err,
                         f"error: [{self.store}] store not rolled back (journal has no version before this one)\n")
        self.build(self.store, *self.keys, self.write("list", "192.0.2.1\n192.0.2.2\n"))
        before = self.content()
        signed, self.keys = self.keys, ()
        for options, line in (
                ((), r"published=\d+ \(store is signed; its --key or --keys is needed\)"),
                (("--key", self.keygen("other.pem")), r"published=\d+ given=\d+ \(.*\)"),
                ((*signed, "--to", str(first - 1)), r"\(journal has no version of that serial\)"),
        ):
            result = self.rollback(*options, expect=EX_DATAERR)
            self.assertRegex(result.err, rf"^error: \[{re.escape(self.store)}\] store not rolled back {line}\n$")
        self.assertEqual(self.rollback("--to", "x", expect=EX_USAGE).out, "")
        self.assertEqual(self.content(), before)
        # Another TTL is another RR at every name: the journal keeps no names of such a change.
        self.build(self.store, *signed, "--ttl", "77", self.write("list", "192.0.2.1\n"))
        result = self.rollback(*signed, expect=EX_DATAERR)
        self.assertRegex(result.err, r"\(journal has not kept what changed since that version\)\n$")


class Followed(RollbackCase):
    def test_a_secondary_follows_by_the_difference_alone(self):
        self.sign()
        lines = [f"44.{n >> 7}.{(n & 127) << 1}.1" for n in range(2000)]
        self.build(self.store, *self.keys, self.write("list", "\n".join(lines) + "\n"))
        primary = self.free_address()
        knot = Secondary(self, "knot", primary)
        key, itself = knot.lines()
        itself += f"  - id: reader\n    allow: {self.host}\n"
        config = self.write("primary.conf", f"key:\n{key}" + config_text(primary, [(ZONE, self.store, None)])
                            + f"    secondary: [ knot, reader ]\nsecondary:\n{itself}")
        os.chmod(config, 0o600)
        server = Server(config, primary, self.path("primary.log"))
        self.processes.append(server)
        server.wait_until_ready()
        knot.start()
        knot.wait_for_serial(self.serial_of_store())
        self.update("--remove", lines[0], "--add", "192.0.2.7")
        knot.wait_for_serial(self.serial())
        self.assertEqual(server.ask(bitmap_name(ip("192.0.2.7")), AAAA).rcode, NOERROR)
        self.rollback()
        knot.wait_for_serial(self.serial())
        self.assertEqual(server.ask(bitmap_name(ip("192.0.2.7")), AAAA).rcode, NXDOMAIN)
        self.assertEqual(knot.dump(), axfr(primary, "-b", self.host))
        self.assertEqual(server.log().count(f"transferred, client={SOURCE} kind=ixfr "), 2, server.log())


class Since(RollbackCase):
    def test_the_difference_of_two_versions_is_that_of_their_lists(self):
        self.build(self.store, self.write("list", "192.0.2.1\n192.0.2.2\n"))
        first = self.path("first.mdb")
        self.build(first, self.path("list"))
        self.update("--add", "192.0.2.3")
        since = int(re.search(r"before=(\d+)", self.run_zone("log", "--store", self.store).out).group(1))
        self.update("--remove", "192.0.2.3", "--remove", "192.0.2.1", "--add", "2001:db8:7::/48")
        wanted = ["  - 192.0.2.1", "  + 2001:db8:7::/48"]
        told = self.run_zone("log", "--store", self.store, "--since", str(since)).out.splitlines()
        self.assertEqual(told, [f"since serial={since} until serial={self.serial()}", *wanted])
        told = self.run_zone("diff", first, self.store, expect=1).out.splitlines()
        self.assertEqual(sorted(told), sorted(wanted))
        told = self.run_zone("diff", self.store, first, expect=1).out.splitlines()
        self.assertEqual(sorted(told), ["  + 192.0.2.1", "  - 2001:db8:7::/48"])
        self.assertEqual(self.run_zone("log", "--store", self.store, "--since", str(self.serial())).out,
                         f"since serial={self.serial()} until serial={self.serial()}\n")
        error = self.run_zone("log", "--store", self.store, "--since", "7", expect=EX_DATAERR).err
        self.assertEqual(error, f"error: [{self.store}] store not read (journal has no version of that serial)\n")

    def test_two_stores_differ_in_values_and_names(self):
        stores = []
        for code, names in ((2, "one.example"), (3, "two.example")):
            stores.append(self.path(f"{code}.mdb"))
            self.build(stores[-1], "combined:" + self.write(f"list-{code}", VALUED.format(
                code=code, lines="192.0.2.1", names=names)))
        told = self.run_zone("diff", *stores, expect=1).out.splitlines()
        self.assertEqual(told, ["  ~ 192.0.2.1", "  + two.example.domains", "  - one.example.domains"])
        self.assertEqual(self.run_zone("diff", stores[0], stores[0]).out, "")
        self.run_zone("diff", stores[0], expect=EX_USAGE)


# As in test_update.py: a small file system of its own, which a rollback of many names does not fit into.
IN_SMALL_DISK = """
mount -t tmpfs -o size={size_kb}k none {directory} || exit 1
cp {store} {directory}/bl6.mdb || exit 1
dd if=/dev/zero of={directory}/filler bs=4096 2> {directory}/dd
before=$(cksum < {directory}/bl6.mdb)
status=0
{zone} rollback --store {directory}/bl6.mdb || status=$?
echo "status=$status"
test "$before" = "$(cksum < {directory}/bl6.mdb)" || exit 2
rm {directory}/filler {directory}/dd
{zone} check --store {directory}/bl6.mdb && {zone} dump --store {directory}/bl6.mdb | tail -1
"""


class Cut(RollbackCase):
    def make_two_versions(self, count):
        lines = [f"44.{n >> 7}.{(n & 127) << 1}.1" for n in range(count)]
        self.build(self.store, *self.keys, self.write("list", "\n".join(lines) + "\n"))
        old = self.contents()
        lines = [line.replace("44.", "45.") for line in lines[:count // 2]] + lines[:count // 2]
        self.build(self.store, *self.keys, self.write("list", "\n".join(lines) + "\n"))
        return old, self.contents()

    def test_kill_at_a_random_moment(self):
        self.sign()
        old, new = self.make_two_versions(6000)
        start = time.monotonic()
        self.rollback("--dry-run")
        moments = Moments(self.random, time.monotonic() - start)
        killed = 0
        for _ in range(4 if IS_SANITIZED else 15):
            before = self.contents()
            process = subprocess.Popen([program("dnsblv6-zone"), "rollback", "--store", self.store, *self.keys],
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            killed += moments.kill(process)
            self.run_zone("check", "--store", self.store)
            now = self.contents()
            self.assertIn(now, (old, new))
            if process.returncode == 0:
                self.assertNotEqual(now, before)
        self.assertGreater(killed, 0, "no kill came in time")

    def test_a_full_disk(self):
        allowed = subprocess.run(["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"],
                                 capture_output=True, check=False)
        if allowed.returncode != 0:
            self.skipTest("no mount name space here (not root?)")
        self.make_two_versions(4000)
        os.makedirs(self.path("small"))
        size_kb = os.path.getsize(self.store) // 1024 + 192  # a lock file has 132
        script = IN_SMALL_DISK.format(size_kb=size_kb, directory=self.path("small"), store=self.store,
                                      zone=program("dnsblv6-zone"))
        result = subprocess.run(["unshare", "--mount", "sh", "-c", script], capture_output=True,
                                text=True, check=False, timeout=120)
        self.assertEqual(result.returncode, 0, result.stderr + result.stdout)
        self.assertRegex(result.stderr, r"^error: \[.*bl6\.mdb\] store not rolled back"
                                        r" \(No space left on device\)\n$")
        self.assertEqual(result.stdout.splitlines()[0], f"status={EX_IOERR}")
        self.assertRegex(result.stdout.splitlines()[1], r"^45\.")


if __name__ == "__main__":
    main()
