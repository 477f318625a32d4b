#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
zones.conf: commands by the name of a zone make what they make with all options, what is wrong has
its line, and secondaries that have not the new version are named.
"""

import os
import re
import socket
import struct
import threading

from harness import (DEADLINE_S, EX_CONFIG, EX_DATAERR, EX_UNAVAILABLE, EX_USAGE, SOURCE, ZONE, main,
                     numbers)
from updates import UpdateCase

COMMANDS = os.path.join(SOURCE, "zone-tools/dnsblv6-zone.1")
MANUAL = os.path.join(SOURCE, "zone-tools/zones.conf.5")
SAMPLE = os.path.join(SOURCE, "zone-tools/zones.conf.sample")


class Secondary(threading.Thread):
    """Answers each SOA question, from the second on with what is the serial then."""

    def __init__(self, case, serial):
        super().__init__(daemon=True)
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.address = case.free_address()
        self.udp.bind(self.address)
        self.serial, self.asked = serial, 0
        case.addCleanup(self.udp.close)

    def run(self):
        while True:
            try:
                packet, client = self.udp.recvfrom(512)
            except OSError:
                return
            self.asked += 1
            serial = self.serial(self.asked)
            if serial is None:
                continue
            answer = (packet[:2] + b"\x84\x00\0\1\0\1\0\0\0\0" + packet[12:] + b"\xc0\x0c\0\6\0\1\0\0\0\1\0\x16\0\0"
                      + struct.pack(">5I", serial, 1, 1, 1, 1))
            # Neither what is another's nor what is cut counts.
            for wrong in (answer[:2] + b"\x80" + answer[3:], bytes(2) + answer[2:], answer[:30], answer):
                self.udp.sendto(wrong, client)

    @property
    def text(self):
        return f"{self.address[0]}@{self.address[1]}"


class ZonesConf(UpdateCase):
    def configure(self, *lines, name="zones.conf"):
        text = f"zone:\n  - domain: {ZONE}\n    store: {self.store}\n    list: {self.path('list')}\n"
        text += "    ns: ns1.example.net.\n" + "".join(f"    {line}\n" for line in lines)
        self.config = self.write(name, text)
        return self.config

    def call(self, command, *options, name="bl6.example", **how):
        return self.run_zone(command, name, "--config", self.config, *options, **how)

    def test_a_zone_is_what_its_options_make(self):
        self.sign()
        self.write("list", "192.0.2.1\n198.51.100.0/24\n")
        self.configure(f"key: {self.key}", "style: flat", "ttl: 900", "negative-ttl: 300", "zonemd: on",
                       'ns: "ns2.bl6.example.,192.0.2.53,2001:db8::53"', f"except: {self.write('own', '198.51.100.7' + chr(10))}",
                       "reason: https://example.net/?a=$", "mailbox: people.example.net.")
        self.call("build")
        other = self.path("other.mdb")
        self.build(other, *self.keys, "--style", "flat", "--ttl", "900", "--negative-ttl", "300", "--zonemd",
                   "--ns", "ns2.bl6.example.,192.0.2.53,2001:db8::53", "--except", self.path("own"), "--reason",
                   "https://example.net/?a=$", "--mailbox", "people.example.net.", self.path("list"))
        zones = [[line for line in self.zone(store) if " ZONEMD " not in " ".join(line.split())]
                 for store in (self.store, other)]
        self.assertEqual(*zones)
        self.assertIn("nothing changed", self.call("build", name="BL6.Example.").out)
        self.assert_sound()

    def test_every_command_by_the_name(self):
        self.sign()
        self.write("list", "192.0.2.1\n")
        self.configure(f"key: {self.key}", f"except: {self.write('own', '198.51.100.7' + chr(10))}")
        self.call("build")
        self.call("update", "--add", "198.51.100.0/29")
        self.assertEqual(self.call("dump").out.splitlines()[0], "192.0.2.1")
        self.assertNotIn("198.51.100.7\n", self.call("dump").out)
        self.assertIn("lists differ", self.call("check", expect=1).out)
        self.call("sign")
        self.assertEqual(len(self.call("log", "--brief").out.splitlines()), 2)
        self.assertIn("\n  + 198.51.100.0/30\n", self.call("log").out)
        self.call("rollback")
        self.call("check")
        self.assertEqual(self.call("ds").out, self.run_zone("ds", "--zone", ZONE, "--key", self.key).out)

    def test_a_zone_with_another_name_is_told_to_have_a_store_of_its_own(self):
        self.write("list", "192.0.2.1\n")
        self.configure()
        self.call("build")
        with open(self.config, encoding="ascii") as file:
            text = file.read()
        self.write(os.path.basename(self.config), text.replace(ZONE, "other.example."))
        self.assertRegex(self.call("build", name="other.example.", expect=EX_DATAERR).err,
                         r"^error: \[.*\] store not written, zone=other\.example\. \(store holds another zone, and this"
                         r" one needs a store of its own\)\n$")

    def test_sign_renews_both_stores_of_a_zone(self):
        self.sign()
        self.write("list", "192.0.2.1\n")
        self.configure(f"key: {self.key}", "classic: bl.example.", f"classic-store: {self.path('bl.mdb')}")
        self.call("build", "--classic-store", self.path("other.mdb"))
        # The one that is not there yet is the next build's.
        self.assertEqual(re.findall(r"(?m)^signed (\S+):", self.call("sign").out), [ZONE])
        self.call("build")
        self.assertEqual(re.findall(r"(?m)^signed (\S+):", self.call("sign").out), [ZONE, "bl.example."])
        # One that cannot be signed keeps the other from nothing.
        self.write("bl6.mdb", "no store")
        told = self.call("sign", expect=EX_DATAERR)
        self.assertEqual(re.findall(r"(?m)^signed (\S+):", told.out), ["bl.example."])
        self.assertIn(f"error: [{self.store}] store not signed (", told.err)

    def test_the_command_line_goes_before_the_file(self):
        self.write("list", "192.0.2.1\n")
        more = self.write("more", "192.0.2.2\n192.0.2.3\n")
        self.configure("ttl: 900", "ns: ns9.example.net.")
        told = self.call("build", "--ttl", "77", "--ns", "ns5.example.net.", more).out
        self.assertEqual(numbers(told)["ipv4"], 2)
        zone = "\n".join(" ".join(line.split()) for line in self.zone())
        self.assertIn(" 77 AAAA", zone)
        self.assertEqual(re.findall(r" NS (\S+)", zone), ["ns5.example.net."])
        self.call("build", "--forget", "ns", "--dry-run")

    def test_what_is_off_is_off_whatever_the_store_remembers(self):
        self.write("list", "192.0.2.1\n")
        for lines, options, count in ((["zonemd: on"], [], 1), ([], [], 1), (["zonemd: off"], [], 0), ([], [], 0),
                                      (["zonemd: off"], ["--zonemd"], 1), (["zonemd: off"], ["--forget", "ttl"], 0)):
            with self.subTest(lines=lines, options=options):
                self.configure(*lines)
                self.call("build", *options)
                self.call("check")
                self.assertEqual(sum(" ZONEMD " in " ".join(line.split()) for line in self.zone()), count)

    def test_a_store_on_the_command_line_needs_no_file(self):
        self.write("list", "192.0.2.1\n")
        self.config = self.write("zones.conf", "nonsense\n")
        self.run_zone("build", "--config", self.config, "--zone", ZONE, "--store", self.store, "--ns",
                      "ns1.example.net.", self.path("list"))

    def assert_refused(self, line, *patterns):
        """At its line, by conf-check and by a build, which leaves the store as it is."""
        for error in (self.run_zone("conf-check", "--config", self.config, expect=EX_CONFIG).err,
                      self.call("build", expect=EX_CONFIG).err):
            self.assertEqual(len(error.splitlines()), 1, error)
            self.assertTrue(error.startswith(f"error: [{self.config}:{line}] configuration refused, "), error)
            for pattern in patterns:
                self.assertRegex(error, pattern)
        self.assertFalse(os.path.exists(self.store))

    def test_what_is_wrong_has_its_line_and_reason(self):
        self.write("list", "192.0.2.1\n")
        for setting, *patterns in (
                ("ttl: 0", r'item=ttl value="0" \(permitted are whole numbers from 1 to 2147483647\)'),
                ("ttl: soon", r'item=ttl value="soon"'),
                ("lifetime: 60", r"permitted are whole numbers from 864000 to "),
                ("style: round", r'item=style value="round" \(permitted are '),
                ("ns: a..b", r"item=ns .*not a domain name"),
                ("classic: a..b", r"item=classic .*not a domain name"),
                ("mailbox: .a", r"item=mailbox .*not a domain name"),
                (f"reason: {'x' * 247}", r"item=reason .*longer than 246 bytes"),
                ("key: bl6.pem", r"item=key .*absolute path"),
                ("list: list", r"item=list .*absolute path"),
                ('list: "ip4set:/list,other"', r"item=list .*absolute paths"),
                ("zonemd: maybe", r"item=zonemd .*\(permitted are on, off\)"),
                ("secondary: ns1.example.net", r"item=secondary .*not an IPv4 or IPv6 address"),
                ("secondary: 192.0.2.1@0", r"item=secondary .*not an IPv4 or IPv6 address"),
                ("colour: red", r'item="colour" .*unknown item, permitted are domain, list, store'),
                # Of one run alone.
                ("unsign: on", r"unknown item"), ("serial: 7", r"unknown item"), ("dry-run: on", r"unknown item"),
                ("zone: other.example.", r"unknown item"),
                ("\tttl: 7", r"text="),
        ):
            with self.subTest(setting=setting):
                self.configure(setting)
                self.assert_refused(6, *patterns)
        self.configure("ttl: 7", "ttl: 8")
        self.assert_refused(7, r"item=ttl .*\(item is given twice\)")
        self.configure(f"- domain: {ZONE}", )
        with open(self.config, encoding="ascii") as file:
            text = file.read().replace("    - domain", "  - domain")
        self.write("zones.conf", text)
        self.assert_refused(6, r"zone is given twice")
        self.write("zones.conf", text.replace(f"  - domain: {ZONE}\n", "", 1).replace("zone:\n", "zone:\n  - domain: x.\n", 1)
                   + f"    store: {self.store}\n")
        self.assert_refused(7, r"another zone has this store")
        self.write("zones.conf", f"zone:\n  - domain: {ZONE}\n    list: /list\n")
        self.assert_refused(2, r'item=domain value="bl6\.example\." \(store is missing\)')

    def test_a_list_that_is_a_pipe_is_not_waited_for(self):
        self.configure(f"except: {self.path('own')}")
        list_, own = self.write("list", "192.0.2.1\n"), self.path("own")
        os.mkfifo(own)
        refused = f"error: [{own}] file not read (not a regular file: it might be waited for without end)\n"
        self.assertEqual(self.call("build", expect=os.EX_NOINPUT).err, refused)
        self.assertEqual(self.call("check", expect=os.EX_NOINPUT).err, refused)
        os.rename(own, list_)
        self.write("own", "192.0.2.9\n")
        self.assertEqual(self.call("build", expect=os.EX_NOINPUT).err, refused.replace(own, list_))
        self.call("build", self.write("other", "192.0.2.1\n"))
        self.call("dump")

    def test_what_contradicts_the_command_line_has_its_line(self):
        self.sign()
        self.write("list", "192.0.2.1\n")
        keys, seen = self.path("keys"), f"error: [{self.configure(f'key: {self.key}')}:6] configuration refused, item="
        for command in ("build", "sign", "update", "rollback"):
            self.assertEqual(self.call(command, "--keys", keys, expect=EX_USAGE).err,
                             f'{seen}key value="{self.key}" (does not go with --keys)\n')
        self.configure(f"keys: {keys}", "parent: 127.0.0.1@9")
        self.assertEqual(self.call("build", "--key", self.key, expect=EX_USAGE).err,
                         f'{seen}keys value="{keys}" (does not go with --key)\n')
        self.assertFalse(os.path.exists(self.store))

    def test_neither_a_file_nor_a_key_that_is_a_pipe_is_waited_for(self):
        pipe = self.path("pipe")
        os.mkfifo(pipe, 0o600)
        for command in ("conf-check", "watch"):
            self.assertEqual(self.run_zone(command, "--config", pipe, expect=EX_CONFIG, timeout=DEADLINE_S).err,
                             f"error: [{pipe}] configuration not read (a pipe, which might be waited for without end)\n")
        self.assertEqual(self.run_zone("ds", "--zone", ZONE, "--key", pipe, expect=EX_DATAERR, timeout=DEADLINE_S).err,
                         f"error: [{pipe}] key not read (not a private key in PEM without a password, or damaged)\n")

    def test_settings_that_contradict_each_other_are_refused_where_they_stand(self):
        self.write("list", "192.0.2.1\n")
        other = f"  - domain: other.example.\n    store: {self.path('other.mdb')}\n    list: {self.path('list')}\n"
        for line, settings, pattern in (
                (6, ["publish: /new.pem"], r'item=publish value="/new.pem" \(--publish and --withdraw need --key\)'),
                (7, ["key: /a.pem", "keys: /keys"], r"item=keys .*goes without --key"),
                (6, ["parent: 192.0.2.53"], r'item=parent value="192.0.2.53" .*need --keys'),
                (7, ["key: /a.pem", "roll-every: 365d"], r"item=roll-every .*need --keys"),
                (6, [f"classic-store: {self.store}"], r"item=classic-store .*the store itself"),
                (8, ["zonemd: off", "ns: ns2.example.net.", "ns: ns3.bl6.example."],
                 r'item=ns value="ns3.bl6.example." \(a name server inside the zone needs its addresses'),
                (6, ["classic: BL6.example"], r"item=classic .*the name of the zone itself"),
                (8, ["classic: a.", "classic-store: /a.mdb", "- domain: b.", "store: /a.mdb", "list: /list"],
                 r"item=store .*another zone has this store"),
                (11, ["classic: a.", "classic-store: /a.mdb", "- domain: b.", "store: /b.mdb", "list: /list",
                      "classic-store: /a.mdb"], r"item=classic-store .*another zone has this store"),
        ):
            with self.subTest(settings=settings):
                self.configure(*settings)
                with open(self.config, encoding="ascii") as file:
                    text = file.read().replace("    - domain", "  - domain")
                self.write("zones.conf", text + other)
                self.assert_refused(line + (settings[-1].startswith("list")), pattern)

    def check(self, **how):
        return self.run_zone("conf-check", "--config", self.config, **how)

    def test_a_classic_store_needs_a_name_from_the_file_or_the_store(self):
        self.write("list", "192.0.2.1\n")
        self.configure(f"classic-store: {self.path('classic.mdb')}")
        refused = (f'error: [{self.config}:6] configuration refused, item=classic-store '
                   f'value="{self.path("classic.mdb")}" (classic-store needs classic, the zone\'s name)\n')
        self.assertEqual(self.check(expect=EX_CONFIG).err, refused)
        self.build(self.store, self.path("list"))
        self.assertEqual(self.check(expect=EX_CONFIG).err, refused)
        self.build(self.store, "--classic", "bl.example.", self.path("list"))
        self.assertEqual(self.check().err, "")
        self.call("build")

    def test_a_setting_without_effect_is_told(self):
        self.configure("lifetime: 864000", "secondary-wait: 5", "allow-reserved: on", "skip-reserved: on")
        told = self.check()
        self.assertEqual(told.out, f"{ZONE} store={self.store}\n")
        self.assertEqual(told.err.splitlines(), [
            f"warning: [{self.config}:6] setting has no effect, item=lifetime (the zone has neither key nor keys)",
            f"warning: [{self.config}:7] setting has no effect, item=secondary-wait (the zone has no secondary)",
            f"warning: [{self.config}:9] setting has no effect, item=skip-reserved (allow-reserved lists all of it)"])
        self.configure("key: /a.pem", "lifetime: 864000", "secondary: 192.0.2.1", "secondary-wait: 5", "skip-reserved: on")
        self.assertEqual(self.check().err, "")

    def test_no_such_zone_and_no_such_file(self):
        self.write("list", "192.0.2.1\n")
        self.configure()
        error = self.call("build", name="other.example", expect=EX_CONFIG).err
        self.assertEqual(error, f"error: [{self.config}] no such zone, zone=other.example\n")
        self.config = self.path("absent")
        error = self.call("build", expect=EX_CONFIG).err
        self.assertEqual(error, f"error: [{self.config}] configuration not read (No such file or directory)\n")
        self.run_zone("build", "--config", self.config, expect=EX_USAGE)
        self.write("zones.conf", "")
        self.run_zone("conf-check", "--config", self.path("zones.conf"), expect=EX_CONFIG)

    def test_a_list_that_is_refused_leaves_the_zone(self):
        self.write("list", "192.0.2.1\n")
        self.configure("max-shrink: 0")
        self.call("build")
        before = self.content()
        self.write("list", "192.0.2.300\n")
        self.assertIn("line refused", self.call("build", expect=EX_DATAERR).err)
        self.assertEqual(self.content(), before)

    def serial(self):
        return int(next(line.split()[5] for line in self.run_zone(
            "dump", "--zonefile", "--store", self.store).out.splitlines() if line.split()[2] == "SOA"))

    def test_a_build_waits_until_its_secondaries_have_the_version(self):
        self.write("list", "192.0.2.1\n")
        late = Secondary(self, lambda asked: 5 if asked < 4 else 2**32 - 1 if asked < 6 else 1000)
        late.start()
        self.configure(f"secondary: {late.text}")
        self.call("build", "--serial", "990")
        self.assertGreaterEqual(late.asked, 6)

    def test_each_secondary_that_has_not_the_version_is_named(self):
        self.write("list", "192.0.2.1\n")
        old = Secondary(self, lambda asked: 5)
        silent = Secondary(self, lambda asked: None)
        good = Secondary(self, lambda asked: 990)
        for secondary in (old, silent, good):
            secondary.start()
        self.configure(f"secondary: [ {old.text}, {silent.text}, {good.text} ]", "secondary-wait: 2")
        result = self.call("build", "--serial", "990", expect=EX_UNAVAILABLE)
        self.assertEqual(result.err.splitlines(), [
            f"warning: [{self.store}] secondary does not have the version, secondary={old.text} serial=5 wanted=990",
            f"warning: [{self.store}] secondary does not answer, secondary={silent.text} wanted=990"])
        self.assertEqual(self.serial(), 990)
        self.assertRegex(result.out, "^built ")
        self.call("build", "--dry-run")
        self.call("update", "--add", "192.0.2.7", "--serial", "991", expect=EX_UNAVAILABLE)
        self.call("rollback", expect=EX_UNAVAILABLE)

    def test_a_secondary_that_lags_keeps_no_store_from_being_written(self):
        self.write("list", "192.0.2.1\n")
        old, classic = Secondary(self, lambda asked: 5), self.path("bl.mdb")
        old.start()
        self.configure("classic: bl.example.", f"classic-store: {classic}", f"secondary: {old.text}", "secondary-wait: 1")
        result = self.call("build", expect=EX_UNAVAILABLE)
        self.assertEqual(re.findall(r"^built (\S+):", result.out, re.MULTILINE), [ZONE, "bl.example."])
        self.assertEqual(result.err.count("secondary does not have the version"), 2)
        self.run_zone("check", "--store", classic, self.path("list"))


class Words(UpdateCase):
    def settings(self):
        error = self.run_zone("conf-check", "--config", self.write("x", "zone:\n  - domain: a.\n    x: y\n"),
                              expect=EX_CONFIG).err
        return re.search(r"permitted are (.*)\)", error).group(1).split(", ")

    def commands(self):
        return re.findall(r"(?m)^  ([a-z-]+) ", self.run_zone("--help").out)

    def test_the_manual_of_dnsblv6_zone_says_what_each_option_is(self):
        with open(COMMANDS, encoding="ascii") as file:
            told = re.findall(r" -([\w-]+)", " ".join(re.findall(r"(?m)^\.It Fl.*$", file.read())))
        rows = {name for command in self.commands()
                for name in re.findall(r"(?m)^ +(?:-\w, )?--([\w-]+)", self.run_zone(command, "--help").out)}
        self.assertEqual(sorted(set(told)), sorted(rows - {"help", "version"}))

    def test_help_names_the_file_that_is_read(self):
        path = re.search(r"\((/.*/zones\.conf)\)", self.run_zone("conf-check", "--help").out)[1]
        if os.path.exists(path):
            self.skipTest(f"{path} is there")
        told = f"error: [{path}] configuration not read (No such file or directory)\n"
        self.assertEqual(self.run_zone("conf-check", expect=EX_CONFIG).err, told)
        for command in set(self.commands()) - {"check", "watch", "migrate", "conf-check", "keygen", "diff"}:
            self.assertEqual(self.run_zone(command, "bl6.example", expect=EX_CONFIG).err, told, command)

    def test_the_manual_has_each_setting_and_no_other(self):
        with open(MANUAL, encoding="ascii") as file:
            rows = re.findall(r"^\.It Cm (.*)$", file.read(), re.MULTILINE)
        told = [name.strip() for row in rows for name in row.split(" , ")]
        self.assertEqual(sorted(told), sorted(self.settings()))

    def test_the_sample_has_each_setting_and_all_of_it_is_accepted(self):
        with open(SAMPLE, encoding="ascii") as file:
            text = file.read()
        self.assertIn(ZONE, self.run_zone("conf-check", "--config", SAMPLE).out)
        text = re.sub(r"^(\s*)#(\w[\w-]*: )", r"\1\2", text, flags=re.MULTILINE)
        told = set(re.findall(r"^\s+(?:- )?([\w-]+): ", text, re.MULTILINE))
        self.assertEqual(sorted(told), sorted(self.settings()))
        for left_out in ("key|publish", "keys|roll-every|algorithm|propagation|parent"):
            part = re.sub(rf"^ +({left_out}): .*\n", "", text, flags=re.MULTILINE)
            self.assertEqual(text.count("\n") - part.count("\n"), left_out.count("|") + 1)
            self.run_zone("conf-check", "--config", self.write("all.conf", part))


if __name__ == "__main__":
    main()
