#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
The real rspamd, both ways: its own module rbl with dnsblv6-translate as its resolver, and
the module dnsblv6_rbl on libdnsblv6. The samples of integration/adapters/rspamd are what it
reads. No message waits for a DNS that does not answer longer than it may, and no other for it.
"""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys

import harness
from cached import CachedCase
from harness import BUILD, DEADLINE_S, SOURCE, ZONE, Case, wait_for
from lookups import LIBRARY
from mta import Authority
from rbldnsd import start_rbldnsd
from rspamd import rspamd_environment, rspamd_file, start_rspamd
from translated import paste

if harness.IS_SANITIZED:
    # The library wants a runtime that rspamd would have to be started with.
    print("the build is sanitized: skipped")
    sys.exit(77)

NAME = ZONE.rstrip(".")
SAMPLES = os.path.join(SOURCE, "integration/adapters/rspamd")
TRANSLATE = os.path.join(BUILD, "integration/adapters/dns-translator/dnsblv6-translate")
MODULES = "share/rspamd/plugins"
LIST = ["192.0.2.66", "2001:db8:1:2::/64"]
CLIENTS = {"192.0.2.66": True, "2001:db8:1:2::9": True}
NEIGHBOURS = {"192.0.2.65": False, "192.0.2.66": True, "192.0.2.1": False,
              "2001:db8:1:2:ffff::1": True, "2001:db8:1:3::9": False}


class Rspamd(Case):
    def start_rspamd(self, module, section, resolver):
        self.message = self.write("message", "From: a@example.net\nSubject: test\n\ntest\n")
        process, self.address = start_rspamd(
            self, f'modules {{ path = "{module}"; }}\n{section}', f"{resolver[0]}:{resolver[1]}",
            DNSBLV6_LIBRARY=LIBRARY,
            LUA_PATH=os.path.join(SOURCE, "client-lib/lua/?.lua") + ";;")
        return process

    def scan_command(self, client, *options):
        return [rspamd_file("bin/rspamc"), "-h", f"{self.address[0]}:{self.address[1]}", "-t", "60", "--json",
                "-i", client, *options, "symbols", self.message]

    def scan(self, client, *options):
        """The symbols of a message of client, with their options."""
        done = subprocess.run(self.scan_command(client, *options), capture_output=True, text=True,
                              check=False, timeout=3 * DEADLINE_S, env=rspamd_environment())
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        found = json.loads(done.stdout[done.stdout.index("{"):])
        self.assertEqual(found["action"], "no action")
        return {name: symbol.get("options", []) for name, symbol in found["symbols"].items()}

    def check_clients(self, authority, symbol):
        """Answers are right, and neighbours cause no question."""
        for client, is_listed in CLIENTS.items():
            # The first may come while the test points of the zone are still looked at.
            wait_for(lambda client=client, is_listed=is_listed:
                     (symbol in self.scan(client)) == is_listed, f"{client} to be judged")
        before = authority.questions()
        for client, is_listed in NEIGHBOURS.items():
            self.assertEqual(symbol in self.scan(client), is_listed, client)
        self.assertEqual(authority.questions(), before)

    def silence(self):
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(udp.close)
        udp.bind((self.host, 0))
        return udp

    def start_module(self, resolver, *lines, zones=NAME, library=""):
        with open(os.path.join(SAMPLES, "dnsblv6_rbl.conf.sample"), encoding="utf-8") as file:
            sample = file.read()
        section, count = re.subn(r"zones = .*", f'zones = ["{zones}"]; servers ='
                                 f' ["{resolver[0]}@{resolver[1]}"]; {library}', sample)
        self.assertEqual(count, 1)
        section = section.rstrip().removesuffix("}") + "\n".join(lines) + "\n}\n"
        return self.start_rspamd(os.path.join(SAMPLES, "dnsblv6_rbl.lua"), section, resolver)


class Module(Rspamd):
    """dnsblv6_rbl."""

    def test_listed_unlisted_and_neighbours(self):
        authority = Authority(self, LIST)
        self.start_module(authority.address)
        self.check_clients(authority, "DNSBLV6_LISTED")
        self.assertEqual(self.scan("192.0.2.66"), {"DNSBLV6_LISTED": [NAME]})
        self.assertEqual(self.scan("192.0.2.65"), {})

    def test_sites_and_the_sender_are_judged_by_lists_of_names(self):
        rbldnsd = self.serve_names()
        module = self.start_module(
            rbldnsd, zones='dbl.example", "multi.example=127.0.0.&8=PH',
            library='kind = ["dbl.example=names", "multi.example=sites"];')
        urls = ["http://www.bad.com/x", "https://BAD.com", "http://good.com/", "http://192.0.2.7/",
                "http://a.phish.example/"]
        self.message = self.write("message", "From: a@sender.com\nSubject: test\n\n" +
                                  "\n".join(urls) + "\n")
        wanted = {"DNSBLV6_NAME": ["192.0.2.7 PH", "bad.com dbl.example",
                                   "phish.example dbl.example PH",
                                   "sender.com dbl.example"]}
        options = ("--from", "a@mail.sender.com")
        wait_for(lambda: self.scan("192.0.2.66", *options) == wanted, "all to be judged")
        self.assertEqual(self.scan("198.51.100.1", *options), wanted)
        self.message = self.write("message", "Subject: test\n\nhttp://good.com/\n")
        self.assertEqual(self.scan("192.0.2.66"), {})
        self.assertNotIn("not asked", module.log())

    def test_hosts_that_are_no_names_are_left_out_without_a_word(self):
        rbldnsd = self.serve_names()
        module = self.start_module(rbldnsd, "max_names = 3;", zones="dbl.example",
                                   library='kind = "names";')
        urls = [f"http://{letter * 70}.com/" for letter in "abcdefgh"] + [
            "http://a%20c.com/", "http://[2001:db8::1]/", "http://..../", "http://www.b\u00fc.com/",
            "http://bad.com/", "http://good.com/"]
        self.message = self.write("message", "Subject: test\n\n" + "\n".join(urls) + "\n")
        wanted = {"DNSBLV6_NAME": ["bad.com dbl.example", "xn--b-eha.com dbl.example"]}
        options = ("--from", "a@[192.0.2.1]")
        wait_for(lambda: self.scan("192.0.2.66", *options) == wanted, "all to be judged")
        self.assertNotIn("not asked", module.log())

    def test_what_the_library_cannot_take_is_one_line_of_a_message(self):
        module = self.start_module(self.silence().getsockname(), "deadline = 0.3;",
                                   library='max_requests = 1; kind = "names";')
        self.message = self.write("message", "Subject: test\n\n" + "\n".join(
            f"http://{letter}.com/" for letter in "abcdefgh") + "\n")
        self.assertEqual(self.scan("192.0.2.66"), {"DNSBLV6_UNKNOWN": [NAME]})
        self.assertEqual(len(re.findall("not asked about 7 of 8: ", module.log())), 1)
        self.assertEqual(module.log().count("not asked"), 1)

    def test_a_deadline_that_the_library_does_not_take_is_said(self):
        module = self.start_module((self.host, 53), "deadline = 0;")
        module.wait_for_log("module dnsblv6_rbl is off: .*deadline")

    def serve_names(self):
        """rbldnsd with a list of domains and one of sites; its address."""
        os.chmod(self.directory, 0o755)
        soa = "$SOA 3600 ns.example.net hostmaster.example.net 1 600 300 86400 300\n"
        lists = {
            "dbl.example:dnset": "test :127.0.1.2:t\n.bad.com :127.0.1.2:t\n"
                                 ".sender.com :127.0.1.2:t\n.phish.example :127.0.1.4:t\n"
                                 ".xn--b-eha.com :127.0.1.2:t\n",
            "multi.example:dnset": ".phish.example :127.0.0.8:t\n.good.com :127.0.0.4:t\n",
            "multi.example:ip4set": "127.0.0.2 :127.0.0.254:t\n192.0.2.7 :127.0.0.8:t\n",
        }
        paths = [f"{name}:{self.write('names%d' % number, soa + lines)}"
                 for number, (name, lines) in enumerate(lists.items())]
        return start_rbldnsd(self, *paths)

    def test_who_is_not_judged(self):
        authority = Authority(self, LIST + ["198.51.100.7"])
        self.start_module(authority.address, 'exempt = ["198.51.100.0/24"];')
        wait_for(lambda: "DNSBLV6_LISTED" in self.scan("192.0.2.66"), "a client to be judged")
        self.assertEqual(self.scan("192.0.2.66", "-u", "user"), {})
        self.assertEqual(self.scan("198.51.100.7"), {})
        self.assertEqual(self.scan("127.0.0.1"), {})

    def test_a_message_that_waits_keeps_no_other_waiting(self):
        process = self.start_module(self.silence().getsockname(), "deadline = 300;")
        with subprocess.Popen(self.scan_command("192.0.2.66"), stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, env=rspamd_environment()) as waiting:
            self.addCleanup(waiting.kill)
            process.wait_for_log("loaded message")  # by the only worker
            self.assertEqual(self.scan("192.0.2.66", "-u", "user"), {})
            self.assertIsNone(waiting.poll())
            waiting.kill()

    def test_without_dns_a_message_passes_at_the_deadline(self):
        self.start_module(self.silence().getsockname(), "deadline = 0.3;")
        self.assertEqual(self.scan("192.0.2.66"), {"DNSBLV6_UNKNOWN": [NAME]})
        self.assertEqual(self.scan("2001:db8::1"), {"DNSBLV6_UNKNOWN": [NAME]})

    def test_a_name_with_a_label_is_in_no_symbol_and_no_log(self):
        authority = Authority(self, LIST)
        module = self.start_module(authority.address, zones=f"{NAME}==LABEL")
        wait_for(lambda: self.scan("192.0.2.66") == {"DNSBLV6_LISTED": ["LABEL"]}, "the client to be judged")
        self.assertNotIn(NAME, module.log())

    def test_a_name_with_a_label_that_fails_is_in_no_symbol_and_no_log(self):
        module = self.start_module(self.silence().getsockname(), "deadline = 0.3;", zones=f"{NAME}==LABEL")
        self.assertEqual(self.scan("192.0.2.66"), {"DNSBLV6_UNKNOWN": ["LABEL"]})
        self.assertNotIn(NAME, module.log())

    def test_a_configuration_that_is_read_again_takes_the_place_of_the_other(self):
        authority = Authority(self, LIST)
        process = self.start_module(authority.address)

        def sockets():
            with open(f"/proc/{process.pid}/net/udp", encoding="ascii") as file:
                udp = {line.split()[9] for line in file.readlines()[1:]}
            links = (os.readlink(f"/proc/{process.pid}/fd/{fd}")
                     for fd in os.listdir(f"/proc/{process.pid}/fd"))
            return sum(link[8:-1] in udp for link in links if link.startswith("socket:["))

        def is_judged():
            try:
                return "DNSBLV6_LISTED" in self.scan("192.0.2.66")
            except AssertionError:  # workers of before end
                return False

        before = sockets()
        self.assertGreater(before, 0)
        for count in (2, 3):
            process.send_signal(signal.SIGHUP)
            process.wait_for_log("init lua module dnsblv6_rbl", count)
            wait_for(is_judged, "a client to be judged")
        wait_for(lambda: sockets() == before, "what was opened before to be closed")

    def test_an_option_that_is_wrong_is_said_and_mail_is_scanned(self):
        process = self.start_module((self.host, 53), zones="bl6.example*x")
        process.wait_for_log(r"module dnsblv6_rbl is off: .*zones")
        self.assertEqual(self.scan("192.0.2.66"), {})

    def test_a_setting_that_is_wrong_is_named(self):
        process = self.start_module((self.host, 53), 'check_local = "maybe";')
        process.wait_for_log("module dnsblv6_rbl is off: check_local: a boolean is wanted")
        self.assertEqual(self.scan("192.0.2.66"), {})

    def test_a_setting_that_there_is_not_is_named_and_clients_are_judged(self):
        authority = Authority(self, LIST)
        process = self.start_module(authority.address, "dead_line = 2;")
        process.wait_for_log("dnsblv6_rbl has no option dead_line")
        wait_for(lambda: "DNSBLV6_LISTED" in self.scan("192.0.2.66"), "a client to be judged")
        self.assertEqual(process.log().count("has no option"), 1)

    def test_what_the_library_finds_out_is_in_the_log(self):
        process = self.start_module((self.host, self.free_port()), "deadline = 0.3;", library='failure_ttl = 5;')
        wait_for(lambda: self.scan("192.0.2.66") and re.search(
            rf"\[{NAME}\] zone fell ill, state=unreachable was=unprobed", process.log()), "a line about the zone")
        self.assertNotIn("asks AAAA", process.log())


class Shared(Rspamd, CachedCase):
    """dnsblv6_rbl with what dnsblv6-cached knows."""

    def test_clients_are_judged_when_the_table_has_answers_already(self):
        authority = Authority(self, LIST)
        daemon = self.start_cached(self.config(authority.address))
        self.wait_until_probed(daemon)
        self.assert_right(self.run_clients([("192.0.2.1", 0)], authority.address, 1),
                          [("192.0.2.1", 0)])
        self.start_module(authority.address, library=f'shared = "{self.directory_of_cache}";')
        self.check_clients(authority, "DNSBLV6_LISTED")


class Translated(Rspamd):
    """The module rbl of rspamd, which asks dnsblv6-translate."""

    def start_translate(self, resolver):
        address = self.free_address()
        config = self.write("translate.conf", "\n".join([
            "translate:", f"    listen: [ {address[0]}@{address[1]} ]", "    timeout: 1s",
            "zone:", "  - domain: bl.local", f"    lists: [ {NAME}:127.0.0.2 ]",
            "library:", f"    servers: [ {resolver[0]}@{resolver[1]} ]", ""]))
        self.start([TRANSLATE, "--config", config], "translate").wait_for_log(
            r"^info: \[dnsblv6-translate\] ready, ")
        return address

    def start_rbl(self, resolver):
        with open(os.path.join(SAMPLES, "rbl.conf.sample"), encoding="utf-8") as file:
            sample = file.read()
        return self.start_rspamd(rspamd_file(f"{MODULES}/rbl.lua"), f"rbl {{\n{sample}}}\n",
                                 resolver)

    def test_listed_unlisted_and_neighbours(self):
        authority = Authority(self, LIST)
        self.start_rbl(self.start_translate(authority.address))
        self.check_clients(authority, "DNSBLV6_BL6")

    def test_without_dns_a_message_passes(self):
        self.start_rbl(self.start_translate(self.silence().getsockname()))
        self.assertNotIn("DNSBLV6_BL6", self.scan("192.0.2.66"))

    def test_without_the_translator_a_message_passes(self):
        self.start_rbl((self.host, self.free_port()))
        self.assertNotIn("DNSBLV6_BL6", self.scan("192.0.2.66"))


class Pages(Case):
    """What the pages say to type, with the configuration that Debian's package brings."""

    def setUp(self):
        super().setUp()
        share = rspamd_file("share/rspamd")  # or the test is skipped
        etc = "/etc/rspamd" if share.startswith("/usr/") else os.path.join(share, "../../../etc/rspamd")
        self.etc = shutil.copytree(etc, self.path("etc"))

    def configuration(self):
        environment = rspamd_environment(CONFDIR=self.etc, LOCAL_CONFDIR=self.etc)
        places = [f"--var={name}={value}" for name, value in environment.items()
                  if name.endswith("DIR")]
        done = subprocess.run(
            [rspamd_file("bin/rspamadm"), *places, "configdump", "--json", "--config",
             self.etc + "/rspamd.conf"],
            capture_output=True, text=True, check=False, timeout=3 * DEADLINE_S, env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout[done.stdout.index("{"):])

    def test_the_module_is_installed_and_configured(self):
        with open(os.path.join(SAMPLES, "README.md"), encoding="utf-8") as file:
            commands = re.findall(r"^((?:install|cp|cat) .*)$", file.read(), re.MULTILINE)
        self.assertTrue(commands)
        script = "\n".join(["set -e", *commands]).replace("/etc/rspamd", self.etc)
        for installed in ("/usr/share/dnsblv6/rspamd", "/usr/share/doc/lua-dnsblv6/examples/rspamd"):
            script = script.replace(installed, SAMPLES)
        subprocess.run(["/bin/sh", "-c", script], cwd=SAMPLES, check=True, timeout=DEADLINE_S)
        self.assertTrue(os.path.exists(self.etc + "/plugins.d/dnsblv6_rbl.lua"))
        self.assertIn("zones", self.configuration()["dnsblv6_rbl"]["library"])

    def test_a_listing_has_a_score(self):
        for name in ("rbl", "rbl_group"):
            with open(f"{self.etc}/local.d/{name}.conf", "w", encoding="ascii") as file:
                file.write("\n".join(paste(f"rspamd {name}")) + "\n")
        found = self.configuration()
        self.assertEqual(found["rbl"]["rbls"]["dnsblv6"]["returncodes"], {"DNSBLV6_BL6": "127.0.0.2"})
        self.assertEqual(found["group"]["rbl"]["symbols"]["DNSBLV6_BL6"]["weight"], 4.0)


if __name__ == "__main__":
    harness.main()
