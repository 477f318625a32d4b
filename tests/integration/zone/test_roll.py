#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Keys follow each other by themselves, each step at its time; and what goes wrong leaves the zone as it is.

The clock of dnsblv6-zone is moved (moved_clock.c), so that days pass in a test; the zone above is a
server of the test's own (rolling.py). After each step ldns-verify-zone and kzonecheck find every
signature of every algorithm good at that time.

Nights: a year of them in a row with DNSBLV6_NIGHTS=365, else sixty, or half with sanitizers. What caches may hold of any two
nights is put together as resolvers do, and has to validate.

Needs ldns-verify-zone and kzonecheck.
"""

import base64
import calendar
import os
import re
import shutil
import struct
import subprocess
import time

from harness import EX_DATAERR, EX_NOPERM, EX_TEMPFAIL, EX_USAGE, IS_SANITIZED, ZONE, main, program
from rolling import DAY, HOUR, MINUTE, Rolling, ds_rdata

EX_NOINPUT = 66
NIGHTS = int(os.environ.get("DNSBLV6_NIGHTS", 30 if IS_SANITIZED else 60))
# What is tried before its time is tried so long before: the machine may be slow.
EARLY_S = 20 * MINUTE


def offset_of(text):
    """Of a time that was printed, from now on: a second behind it."""
    return calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ")) - int(time.time()) + 1


class ByHand(Rolling):
    def test_a_new_zone_gets_a_key_a_directory_and_a_cds(self):
        self.build_at(0)
        key, = self.state_at()
        self.assertEqual(key.state, "active")
        self.assertEqual(os.listdir(self.keys), [f"bl6.example.+13+{key.tag}.pem"])
        self.assertEqual(os.stat(self.keys).st_mode & 0o777, 0o700)
        self.assertEqual(os.stat(self.key_path(key)).st_mode & 0o777, 0o600)
        cds, = self.apex("CDS")
        self.assertEqual(ds_rdata("- - - " + cds), self.ds_of(key))
        self.assertEqual(self.apex("CDNSKEY"), self.apex("DNSKEY"))
        self.step_at(0, "ds-seen")
        self.assertEqual(self.apex("CDS") + self.apex("CDNSKEY"), [])
        self.verify_at(MINUTE)

    def lose_the_store(self):
        for path in (self.store, self.store + "-lock"):
            os.unlink(path)

    def test_a_store_that_was_lost_is_built_with_the_key_that_the_zone_above_knows(self):
        self.build_at(0)
        key, = self.state_at()
        self.step_at(0, "ds-seen")
        self.lose_the_store()
        self.build_at(HOUR, "--keys", self.keys, "--dry-run")
        said = self.build_at(HOUR).err
        self.assertRegex(said, rf"(?m)^info: \[{re.escape(self.key_path(key))}\] key of the zone is there, and signs it$")
        self.assertEqual([key.tag for key in self.state_at(HOUR)], [key.tag])
        self.assertEqual(os.listdir(self.keys), [os.path.basename(self.key_path(key))])
        self.verify_at(HOUR)

    def test_of_several_keys_none_is_chosen_for_a_store_that_was_lost(self):
        self.build_at(0)
        old, = self.state_at()
        self.step_at(0, "start")
        self.lose_the_store()
        there = sorted(os.listdir(self.keys))
        said = self.build_at(HOUR, expect=EX_DATAERR).err
        self.assertEqual(said, f"error: [{self.keys}] key not made (the zone has several there, and no store that says"
                               " which of them signs: leave that one)\n")
        self.assertFalse(os.path.exists(self.store))
        self.assertEqual(sorted(os.listdir(self.keys)), there)
        for name in there:
            if name != os.path.basename(self.key_path(old)):
                os.unlink(os.path.join(self.keys, name))
        self.build_at(HOUR)
        self.assertEqual([key.tag for key in self.state_at(HOUR)], [old.tag])

    def test_a_store_that_was_built_anew_without_keys_is_signed_with_the_key_that_is_there(self):
        self.build_at(0)
        key, = self.state_at()
        self.step_at(0, "ds-seen")
        self.lose_the_store()
        self.build_at(HOUR, "--quiet")
        self.build_at(2 * HOUR)
        self.assertEqual([key.tag for key in self.state_at(2 * HOUR)], [key.tag])

    def test_the_first_key_stays_when_the_store_is_not_written(self):
        """Another build may have taken it meanwhile, and have signed its store with it."""
        store, self.store = self.store, self.path("missing/bl6.mdb")
        self.build_at(0, expect=EX_NOINPUT)
        there = os.listdir(self.keys)
        self.assertEqual(len(there), 1)
        self.store = store
        self.build_at(MINUTE)
        self.assertEqual(os.listdir(self.keys), there)

    def go_through(self, start, steps):
        """Each step by hand, refused before; returns at what distance the last one was made."""
        offset_s = DAY
        self.build_at(0)
        self.step_at(0, "ds-seen")
        self.roll_at(offset_s, "--step", "start", *start)
        self.verify_at(offset_s)
        for step, states in steps:
            refused = self.step_at(offset_s, step, expect=None)
            if step != "ds-seen":
                self.assertEqual(refused.returncode, EX_TEMPFAIL, refused.err)
                possible = re.search(rf"step={step} possible=(\S+Z) \(too early", refused.err)
                offset_s = offset_of(possible[1])
                self.step_at(offset_s - EARLY_S, step, expect=EX_TEMPFAIL)
                self.step_at(offset_s, step)
            self.assertEqual(self.states_at(offset_s), states)
            self.verify_at(offset_s)
        return offset_s

    def test_each_step_is_refused_before_its_time(self):
        self.go_through((), [("submit", ["active", "submitted"]),
                             ("ds-seen", ["active", "submitted"]),
                             ("switch", ["retiring", "active"]), ("remove", ["active"])])
        self.assertEqual(len(os.listdir(self.keys)), 1)

    def test_a_change_of_the_algorithm_signs_everything_twice(self):
        offset_s = self.go_through(
            ("--algorithm", "ed25519"),
            [("publish", ["active", "published"]), ("submit", ["active", "submitted"]),
             ("ds-seen", ["active", "submitted"]), ("switch", ["retiring", "active"])])
        algorithms = {rdata.split()[1] for _, rrtype, rdata in self.records() if rrtype == "RRSIG"}
        self.assertEqual(algorithms, {"13", "15"})
        self.build_at(offset_s, "--keys", self.keys, "--zonemd")
        self.assertIn("nothing changed", self.build_at(offset_s).out)
        self.run_zone_at(offset_s, "update", "--store", self.store, "--keys", self.keys, "--add",
                         "203.0.113.9")
        self.verify_at(offset_s)
        self.step_at(offset_s + DAY, "remove")
        algorithms = {rdata.split()[1] for _, rrtype, rdata in self.records() if rrtype == "RRSIG"}
        self.assertEqual(algorithms, {"15"})
        self.assertEqual([key.algorithm for key in self.state_at(offset_s)], ["15"])
        self.verify_at(offset_s + DAY)

    def test_a_step_that_is_not_the_next_is_refused_with_the_one_that_is(self):
        self.build_at(0)
        for step in ("publish", "submit", "switch", "remove", "cancel"):
            refused = self.step_at(0, step, expect=EX_DATAERR)
            self.assertRegex(refused.err, rf"^error: \[{self.store}\] step not made, step={step}"
                                          r" \(the next is ds-seen\)\n$")
        self.step_at(0, "retire", expect=EX_USAGE)

    def test_a_new_key_may_be_taken_back_before_the_parent_knows_it(self):
        self.build_at(0)
        self.step_at(0, "start")
        self.assertEqual(len(self.apex("DNSKEY")), 2)
        self.step_at(MINUTE, "cancel")
        self.assertEqual(len(self.apex("DNSKEY")), 1)
        self.assertEqual(len(os.listdir(self.keys)), 1)
        self.verify_at(MINUTE)

    def test_a_clock_that_was_years_ahead_leaves_no_step_that_is_waited_for_so_long(self):
        ahead_s = 5 * 365 * DAY
        believed = ("--keys", self.keys, "--trust-clock")
        self.build_at(0)
        self.step_at(0, "ds-seen")
        self.step_at(ahead_s, "start")
        step, when = re.search("next: ([a-z-]+) at (.*)", self.roll_at(HOUR).out).groups()
        self.assertEqual(step, "submit")
        self.assertLess(offset_of(when), HOUR + DAY)
        self.sign_at(HOUR, *believed)
        self.step_at(2 * HOUR, "submit", expect=EX_TEMPFAIL)
        self.sign_at(3 * HOUR)
        self.assertEqual(self.states_at(3 * HOUR), ["active", "submitted"])
        self.step_at(ahead_s, "ds-seen")
        self.build_at(4 * HOUR, *believed)
        self.step_at(DAY, "switch", expect=EX_TEMPFAIL)
        self.sign_at(DAY + 6 * HOUR)
        self.assertEqual(self.states_at(DAY + 6 * HOUR), ["retiring", "active"])
        self.verify_at(DAY + 6 * HOUR)

    def test_a_zone_that_was_signed_with_a_file_is_taken_over_and_given_back(self):
        path = self.path("bl6.pem")
        self.run_zone("keygen", "--zone", ZONE, "--key", path)
        self.build_at(0, "--key", path)
        with self.unchanged():
            refused = self.sign_at(MINUTE, expect=EX_NOINPUT).err
            wanted = re.search(r"error: \[(.*)\] key not read, and it signs the zone \(No such file", refused)[1]
        os.mkdir(self.keys, 0o700)
        os.rename(path, wanted)
        self.sign_at(2 * MINUTE)
        self.verify_at(3 * MINUTE)
        with self.unchanged():
            refused = self.build_at(4 * MINUTE, "--key", wanted, expect=EX_DATAERR).err
            self.assertIn("keys of the store follow each other by themselves; --keys", refused)
            self.assertIn("follow each other",
                          self.sign_at(4 * MINUTE, "--key", wanted, expect=EX_DATAERR).err)
        self.build_at(5 * MINUTE, "--key", wanted, "--unsign")
        self.sign_at(6 * MINUTE, "--key", wanted)
        self.verify_at(7 * MINUTE)

    def test_what_the_store_remembers_and_is_not_understood_is_named(self):
        self.build_at(0, "--keys", self.keys, "--propagation", "1h")
        with open(self.store, "r+b") as store:
            data = store.read()
            self.assertIn(b"propagation1h", data)
            store.seek(0)
            store.write(data.replace(b"propagation1h", b"propagation1y"))
        with self.unchanged():
            refused = self.run_zone_at(MINUTE, "update", "--store", self.store, "--keys", self.keys, "--add",
                                       "192.0.2.9", expect=EX_DATAERR).err
        self.assertIn(f"error: [{self.store}] setting of the store not understood, setting=propagation value=\"1y\" "
                      "(permitted are 0 to 30d, with s, m, h or d)\n", refused)

    def test_options_that_do_not_go_together_are_refused(self):
        self.build_at(0, "--keys", self.keys, "--key", "x.pem", expect=EX_USAGE)
        self.build_at(0, "--roll-every", "1d", expect=EX_USAGE)
        for name, value in (("roll-every", "1y"), ("roll-every", "365"), ("algorithm", "rsa"),
                            ("propagation", "31d"), ("parent", "ns.example")):
            self.build_at(0, "--keys", self.keys, f"--{name}", value, expect=EX_USAGE)
        self.assertFalse(os.path.exists(self.keys))


class Beside(Rolling):
    """What else build can do, with a directory of keys."""

    def test_a_dry_run_makes_no_key_and_no_step(self):
        self.build_at(0, "--keys", self.keys, "--dry-run")
        self.assertFalse(os.path.exists(self.keys))
        self.build_at(0)
        self.step_at(0, "ds-seen")
        with self.unchanged():
            self.build_at(DAY, "--keys", self.keys, "--roll-every", "1h", "--dry-run")
            self.run_zone_at(DAY, "update", "--store", self.store, "--keys", self.keys, "--add",
                             "192.0.2.9", "--dry-run")
        self.assertEqual(len(os.listdir(self.keys)), 1)

    def test_the_classic_zone_beside_it_has_a_key_of_its_own(self):
        classic = self.path("bl.mdb")
        self.build_at(0, "--keys", self.keys, "--classic", "bl.example.", "--classic-store", classic)
        self.assertEqual(sorted(name.split("+")[0] for name in os.listdir(self.keys)),
                         ["bl.example.", "bl6.example."])
        self.store = classic
        self.assertEqual(self.states_at(), ["active"])
        self.verify_at(MINUTE, "bl.example.")

    def test_zones_whose_names_differ_in_special_characters_have_keys_of_their_own(self):
        found = []
        for number, zone in enumerate(("a_b.example.", "a+b.example.", r"a\047b.example.", "a_047b.example.", "a%2fb.example.")):
            self.store = self.path(f"{number}.mdb")
            self.run_zone("build", "--zone", zone, "--store", self.store, "--ns", "ns1.example.net.", "--keys", self.keys,
                          self.list)
            found += [(key.tag, key.algorithm) for key in self.state_at()]
        self.assertEqual(sorted(os.listdir(self.keys)), sorted(
            f"{zone}.example.+{algorithm}+{tag}.pem" for (tag, algorithm), zone in
            zip(found, ("a_b", "a%2bb", "a%2fb", "a_047b", "a%252fb"))))

    def test_a_version_that_comes_back_keeps_the_keys_that_there_are(self):
        self.build_at(0)
        self.step_at(0, "ds-seen")
        before = self.run_zone("dump", "--store", self.store).out
        self.run_zone_at(MINUTE, "update", "--store", self.store, "--keys", self.keys, "--add",
                         "203.0.113.9")
        self.step_at(HOUR, "start")
        with self.unchanged():
            self.run_zone_at(2 * HOUR, "rollback", "--store", self.store, expect=EX_DATAERR)
        self.run_zone_at(2 * HOUR, "rollback", "--store", self.store, "--keys", self.keys)
        self.assertEqual(self.run_zone("dump", "--store", self.store).out, before)
        self.assertEqual(self.states_at(2 * HOUR), ["active", "published"])
        self.assertEqual(len(self.apex("DNSKEY")), 2)
        self.verify_at(2 * HOUR)

    def test_a_zone_of_zones_conf_rolls_by_its_name(self):
        config = self.write("zones.conf", f"""
zone:
  - domain: {ZONE}
    store: {self.store}
    list: {self.list}
    ns: ns1.example.net.
    keys: {self.keys}
    roll-every: 1d
    parent: [ {self.parent.address} ]
""")
        self.run_zone_at(0, "build", "--config", config, ZONE)
        self.give_ds(*self.state_at())
        self.assertIn("step=ds-seen", self.run_zone_at(HOUR, "sign", "--config", config, ZONE).err)
        self.assertIn("step=start", self.run_zone_at(2 * DAY, "build", "--config", config, ZONE).err)
        self.assertIn("next: submit at", self.run_zone_at(2 * DAY, "roll", "--config", config, ZONE).out)
        keys = self.state_at(2 * DAY)
        self.assertEqual(len(keys), 2)
        said = self.run_zone("ds", "--config", config, ZONE).out
        self.assertEqual({ds_rdata(line) for line in said.splitlines()}, {self.ds_of(key) for key in keys})
        self.assertEqual(said.splitlines(), sorted(said.splitlines(), key=lambda line: line.split()[3]))

    def test_a_directory_without_a_key_of_the_zone_is_named(self):
        os.mkdir(self.keys, 0o700)
        self.run_zone("keygen", "--zone", "other.example", "--key", os.path.join(self.keys, "other.example.+13+1.pem"))
        for keys in (self.keys, self.path("absent")):
            result = self.run_zone("ds", "--zone", ZONE, "--keys", keys, expect=None)
            self.assertGreater(result.returncode, 1)
            self.assertRegex(result.err, rf"^error: \[{keys}\] key not read \((not found|No such file or directory)\)\n$")


    def test_a_key_under_the_name_of_another_is_no_key_to_publish(self):
        self.build_at(0, "--keys", self.keys)
        path = self.key_path(*self.state_at())
        name = os.path.basename(path)
        other = os.path.join(self.keys, re.sub(r"\+13\+", "+15+", name))  # as of an Ed25519 key
        os.rename(path, other)
        result = self.run_zone("ds", "--zone", ZONE, "--keys", self.keys, expect=EX_DATAERR)
        self.assertEqual((result.out, result.err), ("", f"error: [{other}] key not read (another key than that of its name is in the file)\n"))


class Wrong(Rolling):
    """A rollover in each of its states, and what may go wrong then."""

    def setUp(self):
        super().setUp()
        self.build_at(0, "--keys", self.keys, "--parent", self.parent.address)
        self.give_ds(*self.state_at())
        self.sign_at(HOUR)
        self.step_at(HOUR, "start")
        self.old, self.new = self.state_at(HOUR)

    def submit(self):
        self.sign_at(DAY)
        self.assertEqual(self.states_at(DAY), ["active", "submitted"])

    def assert_waits(self, pattern, states=("active", "submitted")):
        """One line, and no step: the zone is signed with the old key as before."""
        said = self.sign_at(2 * DAY).err
        self.assertRegex(said, pattern)
        self.assertEqual(said.count("\n"), 1)
        self.assertEqual(self.states_at(2 * DAY), list(states))
        self.verify_at(2 * DAY)
        soa = [rdata.split()[6] for name, rrtype, rdata in self.records()
               if name == ZONE and rrtype == "RRSIG" and rdata.startswith("SOA ")]
        self.assertEqual(soa, [self.old.tag])

    def test_a_parent_that_does_not_follow_is_waited_for(self):
        self.submit()
        self.assert_waits(rf"^info: .* parent has no DS of the key yet, parent=\S+ tag={self.new.tag}")

    def test_a_parent_that_keeps_the_old_ds_is_waited_for(self):
        self.submit()
        self.give_ds(self.old, self.new)
        self.assert_waits("^info: .* parent still has the DS of the key before")

    def test_a_parent_that_does_not_answer_stops_the_rollover(self):
        self.submit()
        self.parent.is_silent = True
        self.assert_waits(r"^warning: .* parent asked for a DS in vain, .*\(no answer\)$")

    def test_a_parent_that_fails_stops_the_rollover(self):
        self.submit()
        self.parent.flags = 0x8402
        self.assert_waits(r"^warning: .* in vain, .*\(it answers with an error\)$")

    def test_a_parent_that_is_not_to_be_trusted_stops_the_rollover(self):
        self.submit()
        self.give_ds(self.new)
        self.parent.flags = 0x8180  # as of a resolver that does not validate
        self.assert_waits(r"^warning: .* in vain, .*\(its answer is neither an authority's nor")

    def test_a_parent_that_lies_stops_the_rollover(self):
        self.submit()
        ds = self.ds_of(self.new)
        self.parent.ds = [ds[:-1] + bytes([ds[-1] ^ 1])]
        self.assert_waits(rf"^warning: .* parent has the DS of another key, .*={self.new.tag} \(keys")

    def test_all_parents_have_to_have_the_ds(self):
        self.submit()
        self.give_ds(self.new)
        self.sign_at(2 * DAY, "--keys", self.keys, "--parent", self.parent.address, "--parent",
                     f"{self.host}@9")
        self.assertIn("next: ds-seen", self.roll_at(2 * DAY).out)

    def test_an_answer_that_is_cut_is_asked_for_by_tcp(self):
        self.submit()
        self.give_ds(self.new)
        self.parent.is_cut = True
        self.assertIn("step=ds-seen", self.sign_at(2 * DAY).err)

    def test_an_answer_that_drips_is_not_waited_for(self):
        self.submit()
        self.give_ds(self.new)
        self.parent.is_cut = self.parent.is_slow = True
        self.assert_waits(r"^warning: .* parent asked for a DS in vain, .*\(no answer\)$")

    def test_a_resolver_that_validates_will_do(self):
        self.submit()
        self.give_ds(self.new)
        self.parent.flags = 0x81a0  # RD, RA, AD
        self.assertIn("step=ds-seen", self.sign_at(2 * DAY).err)

    def test_a_lost_new_key_stops_the_rollover_until_it_is_cancelled(self):
        os.unlink(self.key_path(self.new))
        self.assert_waits(r"^warning: .*\.pem\] key not read, and its rollover does not go on "
                          r"\(No such file", ["active", "published"])
        self.step_at(2 * DAY, "cancel")
        self.assertEqual(self.states_at(2 * DAY), ["active"])
        self.verify_at(2 * DAY)

    def test_without_the_old_key_nothing_is_written(self):
        os.rename(self.key_path(self.old), self.path("away"))
        with self.unchanged():
            for run in (self.sign_at, self.build_at):
                said = run(DAY, expect=EX_NOINPUT).err
                self.assertRegex(said, r"^error: .*\.pem\] key not read, and it signs the zone \(No such file.*\)\n$")
        os.rename(self.path("away"), self.key_path(self.old))
        self.submit()

    def test_another_key_in_the_file_is_seen(self):
        os.rename(self.key_path(self.new), self.key_path(self.old))
        with self.unchanged():
            self.assertIn("(another key than that of its name is in the file)",
                          self.sign_at(DAY, expect=EX_DATAERR).err.splitlines()[0])

    def run_with_read_only_keys(self, offset_s, command, *more, expect=0):
        """Root may write anywhere but where nothing may be written."""
        arguments = [command, "--store", self.store, "--keys", self.keys, *more]
        if os.geteuid() != 0:
            os.chmod(self.keys, 0o500)
            self.addCleanup(os.chmod, self.keys, 0o700)
            return self.run_zone_at(offset_s, *arguments, expect=expect).err
        script = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'
        result = subprocess.run(
            ["unshare", "--mount", "sh", "-c", script, self.keys, program("dnsblv6-zone"),
             *arguments], env=self.clock_environment(offset_s), capture_output=True, check=False,
            text=True)
        self.assertEqual(result.returncode, expect, result.stderr)
        return result.stderr

    def test_a_directory_that_takes_no_key_starts_no_rollover(self):
        self.step_at(HOUR, "cancel")
        said = self.run_with_read_only_keys(DAY, "sign", "--roll-every", "1h")
        self.assertRegex(said, rf"^warning: \[{self.keys}\] key not made, and the zone keeps the one"
                               r" that it has \(.*\)\n$")
        self.assertEqual(self.states_at(DAY), ["active"])
        self.assertEqual(os.listdir(self.keys), [os.path.basename(self.key_path(self.old))])
        self.verify_at(DAY)

    def test_a_step_by_hand_that_gets_no_key_is_an_error(self):
        self.step_at(HOUR, "cancel")
        said = self.run_with_read_only_keys(DAY, "roll", "--step", "start", expect=EX_NOPERM)
        self.assertRegex(said, rf"^error: \[{self.keys}\] key not made \([^()]*\)\n$")
        self.assertEqual(self.states_at(DAY), ["active"])

    def test_a_key_that_a_killed_run_left_is_named(self):
        free = next(tag for tag in "123" if tag not in (self.old.tag, self.new.tag))
        left = self.key_path(self.new._replace(tag=free))
        for path in (left, left.replace(ZONE, "other." + ZONE), left.replace(".pem", ".old")):
            shutil.copy(self.key_path(self.new), path)
        self.assertEqual(self.roll_at(HOUR).err, f"warning: [{left}] key is in no state (a run that was"
                         " killed left it, or it is of another store)\n")

    def test_two_processes_do_not_make_one_step_twice(self):
        self.submit()
        self.give_ds(self.new)
        self.parent.before_answer = lambda: self.step_at(2 * DAY, "ds-seen")
        said = self.sign_at(2 * DAY, expect=EX_TEMPFAIL).err
        self.assertIn("(another process has changed the keys meanwhile; run it again)", said)
        self.verify_at(2 * DAY)


class Version:
    """What caches may keep of one night: DNSKEYs, signatures, and the DS of the zone above."""

    def __init__(self, records, parent_ds):
        dnskeys = [rdata for name, rrtype, rdata in records if (name, rrtype) == (ZONE, "DNSKEY")]
        self.keys = {(key_tag(rdata), int(rdata.split()[2])) for rdata in dnskeys}
        self.ds = {(int.from_bytes(rdata[:2], "big"), rdata[2]) for rdata in parent_ds}
        covered = {}
        for name, rrtype, rdata in records:
            words = rdata.split()
            if rrtype == "RRSIG":
                covered.setdefault((name, words[0]), set()).add((int(words[6]), int(words[1])))
        self.key_signers = covered.pop((ZONE, "DNSKEY"))
        self.data_signers = {frozenset(signers) for signers in covered.values()}


def key_tag(rdata):
    """RFC 4034 appendix B, of a DNSKEY as text."""
    flags, protocol, algorithm, *key = rdata.split()
    wire = struct.pack(">HBB", int(flags), int(protocol), int(algorithm))
    wire += base64.b64decode("".join(key))
    total = sum(byte << 8 if i % 2 == 0 else byte for i, byte in enumerate(wire))
    return (total + (total >> 16)) & 0xFFFF


def problem_of(ds, keys, data):
    """
    What a validator says that has the DS, the DNSKEYs and all else from three nights; also a strict one, that
    wants every algorithm of the DS, and of the DNSKEYs, to lead to signatures.
    """
    for algorithm in {number for _, number in ds.ds}:
        if not any(key in keys.keys and key in keys.key_signers for key in ds.ds
                   if key[1] == algorithm):
            return f"no DNSKEY of the DS with algorithm {algorithm}"
    for algorithm in {number for _, number in keys.keys}:
        for signers in data.data_signers:
            if not any(key in keys.keys for key in signers if key[1] == algorithm):
                return f"no signature with algorithm {algorithm}"
    return None


class Nights(Rolling):
    # Longer than steps and the registry take by themselves: so each wait is one that matters.
    TTL_S, DS_TTL_S = 4 * DAY, 3 * DAY

    def cached(self, versions, ttl_s):
        """What a resolver may have this night: asked last before the night after, and kept for the TTL."""
        return versions[-1 - -(-ttl_s // DAY):]

    def check_caches(self, versions, night):
        for ds in self.cached(versions, self.DS_TTL_S):
            for keys in self.cached(versions, self.TTL_S):
                for data in self.cached(versions, self.TTL_S):
                    self.assertIsNone(problem_of(ds, keys, data), f"night {night}")

    def night(self, night):
        """The list changes now and then; the timer signs; the registry looks at the CDS a day later."""
        offset_s = night * DAY
        cds = [ds_rdata("- - - " + rdata) for rdata in self.apex("CDS")]
        if cds:
            self.parent.ds = cds
        if night % 3 == 0 or night == NIGHTS // 2:
            self.write("list", f"192.0.2.1\n198.51.100.{night % 200}\n")
            options = ("--algorithm", "ed25519") if night == NIGHTS // 2 else ()
            self.build_at(offset_s, "--keys", self.keys, *options)
        self.sign_at(offset_s)
        self.verify_at(offset_s)
        self.assertEqual({os.path.basename(self.key_path(key)) for key in self.state_at(offset_s)},
                         set(os.listdir(self.keys)))

    def test_nights_in_a_row_are_valid_and_keys_follow(self):
        self.parent.ttl = self.DS_TTL_S
        self.build_at(0, "--keys", self.keys, "--ttl", str(self.TTL_S), "--negative-ttl", str(DAY),
                      "--roll-every", "15d", "--parent", self.parent.address)
        versions, keys_seen = [], []
        for night in range(1, NIGHTS + 1):
            self.night(night)
            versions.append(Version(self.records(), self.parent.ds))
            self.check_caches(versions, night)
            for tag, algorithm in sorted(versions[-1].keys):
                if (tag, algorithm) not in keys_seen:
                    keys_seen.append((tag, algorithm))
        rollovers = len(keys_seen) - 1
        print(f"{NIGHTS} nights, {rollovers} rollovers, algorithms {[key[1] for key in keys_seen]}")
        self.assertGreaterEqual(rollovers, NIGHTS // 30)
        self.assertEqual({algorithm for _, algorithm in keys_seen}, {13, 15})
        self.assertEqual({algorithm for _, algorithm in versions[-1].keys}, {15})


if __name__ == "__main__":
    main()
