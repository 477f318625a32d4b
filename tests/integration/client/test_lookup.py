#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
dnsblv6-lookup: verdicts and what it exits with, blocks, traces, JSON, and how
many questions reach the server for them.
"""

import ipaddress
import json
import re
import signal
import subprocess
import time

import harness
from harness import CLASSIC, DEADLINE_S, EX_DATAERR, EX_IOERR, EX_USAGE, ZONE, bitmap_name
from lookups import PATIENCE_S, ZONES, Served

EX_UNAVAILABLE = 69
NAME, CLASSIC_NAME = ZONE.rstrip("."), CLASSIC.rstrip(".")


class Lookup(Served):
    def lookup(self, *arguments, zones=ZONES, **how):
        words = ["--zones", zones] if zones else []
        servers = ["--server", self.servers, "--set", f"attempt-timeout={PATIENCE_S}s"] if zones else []
        return self.run_program([harness.program("dnsblv6-lookup"), *words, *servers,
                                 *arguments], **how)

    def rows(self, *arguments, **how):
        return [line.split("\t") for line in self.lookup(*arguments, **how).stdout.splitlines()]

    def objects(self, *arguments, **how):
        return [json.loads(line)
                for line in self.lookup("--json", *arguments, **how).stdout.splitlines()]


class Verdicts(Lookup):
    def test_each_address_has_a_line_with_verdict_score_and_zones(self):
        self.assertEqual(
            self.rows("192.0.2.66", "192.0.2.67", "2001:db8:0:2::1", "::ffff:198.51.100.7"),
            [["192.0.2.66", "listed", "3", f"{NAME},{CLASSIC_NAME}"],
             ["192.0.2.67", "clear", "0", "-"],
             ["2001:db8:0:2::1", "listed", "3", f"{NAME},{CLASSIC_NAME}"],
             ["198.51.100.7", "listed", "3", f"{NAME},{CLASSIC_NAME}"]])

    def test_lines_of_standard_input_are_asked_about_in_their_order(self):
        lines = "192.0.2.1\n\n# a remark\n  192.0.2.2\r\n192.0.2.130"
        for operands in ((), ("-",)):
            self.assertEqual([row[:2] for row in self.rows(*operands, input=lines)],
                             [["192.0.2.1", "listed"], ["192.0.2.2", "clear"],
                              ["192.0.2.130", "listed"]])

    def test_a_thousand_lines_are_a_thousand_verdicts(self):
        listed = {1, 66, 127, 130}
        rows = self.rows(input="".join(f"192.0.{i // 256}.{i % 256}\n" for i in range(1024)))
        self.assertEqual([row[:2] for row in rows],
                         [[f"192.0.{i // 256}.{i % 256}",
                           "listed" if i // 256 == 2 and i % 256 in listed else "clear"]
                          for i in range(1024)])

    def test_without_a_listed_address_the_status_is_1(self):
        self.rows("192.0.2.2", expect=1)
        self.rows(expect=1, input="")

    def test_below_the_threshold_nothing_is_listed(self):
        self.assertEqual(self.rows("--threshold", "4", "192.0.2.66", expect=1)[0][1:3],
                         ["clear", "3"])
        self.assertEqual(self.rows("--set", "threshold=3", "192.0.2.66")[0][1:3],
                         ["listed", "3"])

    def test_a_filter_counts_what_fits_it(self):
        zones = f"{CLASSIC}=127.0.0.[3..9] {CLASSIC}=127.0.0.2*5 {NAME}=127.0.0.3"
        self.assertEqual(self.rows("192.0.2.66", zones=zones),
                         [["192.0.2.66", "listed", "5", CLASSIC_NAME]])

    def test_a_line_that_is_no_address_is_named_and_the_others_are_asked_about(self):
        result = self.lookup(input="192.0.2.66\n192.0.2.256\n\n[::1]\n192.0.2.1\0\n192.0.2.1\n",
                             expect=EX_DATAERR)
        self.assertEqual([line.split("\t")[0] for line in result.stdout.splitlines()],
                         ["192.0.2.66", "192.0.2.1"])
        self.assertEqual(re.findall(r'line (\d+): "(.*)" is no IP address', result.stderr),
                         [("2", "192.0.2.256"), ("4", "[::1]"), ("5", "192.0.2.1?")])

    def test_a_line_of_any_length_is_one_line(self):
        result = self.lookup(input="x" * 100000 + "\n192.0.2.1\n", expect=EX_DATAERR)
        self.assertEqual(result.stdout.split("\t")[0], "192.0.2.1")
        self.assertEqual(result.stderr.count("is no IP address"), 1)
        self.assertIn("line 1: ", result.stderr)

    def test_who_writes_a_line_and_waits_for_its_verdict_gets_it(self):
        with subprocess.Popen([harness.program("dnsblv6-lookup"), "--zones", NAME, "--server", self.servers, "--set",
                               f"attempt-timeout={PATIENCE_S}s"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True) as process:
            def verdict(address):
                process.stdin.write(address + "\n")
                process.stdin.flush()
                return process.stdout.readline().split("\t")[1]

            signal.alarm(DEADLINE_S)
            self.assertEqual(verdict("192.0.2.66"), "listed")
            asked = self.queries()
            self.assertEqual([verdict(f"192.0.2.{i}") for i in (1, 2, 66, 127, 0)],
                             ["listed", "clear", "listed", "listed", "clear"])
            self.assertEqual(self.queries(), asked, "the same /25 was asked about again")
            verdict("192.0.2.130")
            # What the zone must deny may be asked for with it, in two questions.
            self.assertIn(self.queries() - asked, (1, 3))
            process.stdin.close()
            self.assertEqual(process.wait(DEADLINE_S), 0)
            signal.alarm(0)

    def test_a_zone_without_an_answer_is_unknown_and_nothing_is_late(self):
        silent = self.free_address()
        with harness.socket.socket(harness.socket.AF_INET, harness.socket.SOCK_DGRAM) as hole:
            hole.bind(silent)
            begin = time.monotonic()
            result = self.run_program(
                [harness.program("dnsblv6-lookup"), "--zones", NAME, "--timeout", "0.5",
                 "--server", f"{silent[0]}@{silent[1]}", "192.0.2.66"], expect=EX_UNAVAILABLE)
            self.assertLess(time.monotonic() - begin, DEADLINE_S)
        self.assertEqual(result.stdout, f"192.0.2.66\tunknown\t0\t{NAME}?\n")

    def test_policies_decide_what_no_answer_means(self):
        port = self.free_port()
        for policy, verdict, status in (("open", "unknown", EX_UNAVAILABLE),
                                        ("closed", "listed", 0),
                                        ("defer", "defer", EX_UNAVAILABLE)):
            with self.subTest(policy=policy):
                result = self.run_program(
                    [harness.program("dnsblv6-lookup"), "--zones", NAME, "--set",
                     f"on-failure={policy}", "--timeout", "1", "--server",
                     f"{self.host}@{port}", "192.0.2.66"], expect=status)
                self.assertEqual(result.stdout.split("\t")[1], verdict)

    def test_the_reason_is_for_the_one_who_is_refused(self):
        rows = self.rows("--reason", "192.0.2.66", "192.0.2.67", zones=NAME)
        self.assertIn("192.0.2.66", rows[0][4])
        self.assertIn(NAME, rows[0][4])
        self.assertEqual(rows[1][4], "-")

    def test_names_are_asked_about_in_zones_of_names(self):
        words = ("--set", "kind=sites", "--name", "192.0.2.66", "not-there.example")
        self.assertEqual(self.rows(*words, zones=CLASSIC),
                         [["192.0.2.66", "listed", "1", CLASSIC_NAME],
                          ["not-there.example", "clear", "0", "-"]])
        found = self.objects(*words, "--reason", zones=CLASSIC)
        self.assertEqual([(each["name"], each["verdict"]) for each in found],
                         [("192.0.2.66", "listed"), ("not-there.example", "clear")])
        self.assertIn("192.0.2.66 is listed", found[0]["reason"])
        result = self.lookup("--set", "kind=sites", "--name", "b\x1b[31md", "192.0.2.66", zones=CLASSIC,
                             expect=65)
        self.assertIn('"b?[31md" is no name', result.stderr)
        self.assertEqual(len(result.stdout.splitlines()), 1)
        self.assertIn("kind=names", self.lookup("--name", "a.com", expect=64).stderr)
        self.assertIn("names behind it", self.lookup("--name", expect=64).stderr)

    def test_wrong_use_is_status_64_and_one_line_that_names_the_word(self):
        for words, named in ((["--zones"], "--zones"), (["-Q"], "-Q"), (["--zone"], "--zone"),
                             (["--set", "nonsense", "-z", NAME], "nonsense"),
                             (["--set", "no-such-key=1"], "no-such-key"),
                             (["-z", NAME, "--threshold", "many"], "many"),
                             (["-z", NAME, "--timeout", "0"], "'0'"),
                             (["-z", NAME, "--server", "nowhere"], "nowhere"),
                             (["-z", "=*1"], "=*1"), (["192.0.2.1"], "--zones is missing"),
                             (["-z", NAME, "--zone-health", "192.0.2.1"], "192.0.2.1"),
                             (["--decode", "192.0.2.1"], "--decode"),
                             (["--decode", "--zone-health", "-z", NAME], "--decode")):
            with self.subTest(words=words):
                result = self.lookup(*words, zones=None, expect=EX_USAGE)
                self.assertEqual(result.stdout, "")
                self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
                self.assertIn(named, result.stderr)
                self.assertIn("--help", result.stderr)

    def test_help_and_version_are_results(self):
        self.assertIn("--zone-health", self.lookup("--help", zones=None).stdout)
        self.assertRegex(self.lookup("-V", zones=None).stdout, r"^dnsblv6-lookup \d+\.\d+\.\d+\n$")

    def test_what_cannot_be_written_is_status_74(self):
        for words in (["--zones", NAME, "--server", self.servers, "192.0.2.1"], ["--help"], ["-V"]):
            with self.subTest(words=words), open("/dev/full", "wb") as full:
                result = subprocess.run(
                    [harness.program("dnsblv6-lookup"), *words], stdout=full,
                    stderr=subprocess.PIPE, text=True, check=False,
                    stdin=subprocess.DEVNULL, timeout=DEADLINE_S)
                self.assertEqual((result.returncode, "not written" in result.stderr),
                                 (EX_IOERR, True))


    def test_a_standard_stream_that_is_closed_fails_where_it_is_used_alone(self):
        row, no_input = f"192.0.2.1\tlisted\t1\t{NAME}\n", "standard input: Bad file descriptor"
        for closed, words, status, printed, said in (
                ("<&-", ["192.0.2.1"], 0, row, ""),
                ("<&-", [], EX_DATAERR, "", no_input),
                ("<&-", ["--decode"], EX_DATAERR, "", no_input),
                ("2>&-", ["192.0.2.1", "nonsense"], EX_DATAERR, row, ""),
                (">&-", ["192.0.2.1"], EX_IOERR, "", "standard output: not written"),
                (">&-", ["--zone-health"], EX_IOERR, "", "standard output: not written"),
                ("<&- >&- 2>&-", ["192.0.2.1"], EX_IOERR, "", "")):
            with self.subTest(closed=closed, words=words):
                result = self.run_program(
                    ["sh", "-c", f'exec "$@" {closed}', "sh", harness.program("dnsblv6-lookup"),
                     "--zones", NAME, "--server", self.servers, *words], expect=status)
                self.assertEqual(result.stdout, printed)
                self.assertIn(said, result.stderr)


class Json(Lookup):
    def test_a_verdict_is_an_object_with_all_that_is_known(self):
        listed, clear = self.objects("--reason", "192.0.2.66", "192.0.2.67")
        self.assertEqual({key: listed[key] for key in ("address", "verdict", "score", "listed",
                                                       "failed", "stale", "secure")},
                         {"address": "192.0.2.66", "verdict": "listed", "score": 3,
                          "listed": [NAME, CLASSIC_NAME], "failed": [], "stale": [],
                          "secure": []})
        self.assertEqual(listed["answered"], [NAME, CLASSIC_NAME])
        self.assertGreater(listed["ttl_s"], 0)
        self.assertIn("192.0.2.66", listed["reason"])
        self.assertIsNone(clear["reason"])

    def test_quotes_and_backslashes_of_a_reason_are_valid_json(self):
        self.build(self.path("bl6.mdb"), self.path("list"), "--reason",
                   'https://bl6.example/?"\\q=$')
        harness.wait_for(lambda: '"' in self.server.ask(f"_dnsblv6.{ZONE}", harness.TXT).rdata(
            harness.TXT)[0].decode("latin-1"), "the new reason")
        found, = self.objects("--reason", "192.0.2.66", zones=NAME)
        self.assertIn('https://bl6.example/?"\\q=192.0.2.66', found["reason"])

    def test_a_zone_is_an_object_too(self):
        bitmap, classic = self.objects("--zone-health")
        self.assertEqual((bitmap["zone"], bitmap["state"], bitmap["mode"], bitmap["weight"]),
                         (NAME, "ok", "bitmap", 2))
        self.assertEqual((classic["zone"], classic["state"], classic["mode"]),
                         (CLASSIC_NAME, "ok", "classic"))
        self.assertEqual((bitmap["failures"], bitmap["asked"] > 0), (0, True))


class Blocks(Lookup):
    def test_an_aaaa_is_decoded_without_dns(self):
        self.assertEqual(self.rows("--decode", "192.0.2.0/25", "4000::2000:0:0:1", zones=None),
                         [["192.0.2.0/25", "-", "4000::2000:0:0:1", "3",
                           "192.0.2.1,192.0.2.66,192.0.2.127"]])
        self.assertEqual(self.rows("--decode", "192.0.2.200", "f000::1", zones=None)[0][::4],
                         ["192.0.2.128/25", "192.0.2.128-192.0.2.131,192.0.2.255"])
        self.assertEqual(self.rows("--decode", "2001:db8::", "6000::", zones=None)[0][::4],
                         ["2001:db8::/57", "2001:db8:0:1::/64-2001:db8:0:2::/64"])
        self.assertEqual(self.rows("--decode", "192.0.2.1", "::", zones=None, expect=1)[0][3:],
                         ["0", "-"])

    def test_any_bits_come_back_from_their_text(self):
        for _ in range(50):
            bits = self.random.getrandbits(128) & self.random.getrandbits(128)
            aaaa = ipaddress.IPv6Address(bits)
            block, = self.objects("--decode", "192.0.2.128/25", str(aaaa), zones=None,
                                  expect=0 if bits else 1)
            found = 0
            for text in block["listed"]:
                first, _, last = text.partition("-")
                for number in range(int(ipaddress.ip_address(first)),
                                    int(ipaddress.ip_address(last or first)) + 1):
                    found |= 1 << (127 - (number & 127))
            self.assertEqual(f"{found:032x}", f"{bits:032x}", harness.SEED)
            self.assertEqual(block["count"], bin(bits).count("1"))
            self.assertEqual(ipaddress.IPv6Address(block["bitmap"]), aaaa)

    def test_what_is_no_block_or_no_aaaa_is_refused(self):
        for words, named in ((("192.0.2.0/24", "::1"), "192.0.2.0/24"),
                             (("192.0.2.1/25", "::1"), "192.0.2.1/25"),
                             (("2001:db8::/56", "::1"), "2001:db8::/56"),
                             (("here", "::1"), "here"), (("192.0.2.0/25", "1.2.3.4"), "1.2.3.4"),
                             (("192.0.2.0/25", "4000::g"), "4000::g")):
            with self.subTest(words=words):
                result = self.lookup("--decode", *words, zones=None, expect=EX_DATAERR)
                self.assertIn(f'"{named}"', result.stderr)

    def test_a_block_of_a_zone_is_one_question_and_equals_the_list(self):
        # What is asked before any block: metadata and test points.
        self.lookup("192.0.2.1", zones=NAME)
        before = self.queries()
        self.lookup("192.0.2.1", zones=NAME)
        probes = self.queries() - before
        for address, aaaa in (("192.0.2.9", "4000::2000:0:0:1"),
                              ("198.51.100.1", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
                              ("203.0.113.1", "::")):
            before = self.queries()
            row, = self.rows("--decode", address, zones=NAME, expect=0 if aaaa != "::" else 1)
            self.assertEqual(row[1:3], [NAME, aaaa])
            self.assertEqual(self.queries() - before, probes)

    def test_a_classic_zone_and_ipv6_have_the_same_bits(self):
        for address in ("192.0.2.9", "2001:db8::1"):
            bitmap, classic = self.rows("--decode", address)
            self.assertEqual((bitmap[1], classic[1]), (NAME, CLASSIC_NAME))
            self.assertEqual(bitmap[2:], classic[2:])
        self.assertEqual(bitmap[4], "2001:db8:0:2::/64,2001:db8:0:4::/64-2001:db8:0:5::/64")


class Explained(Lookup):
    def test_a_trace_tells_names_cache_and_score(self):
        result = self.lookup("--trace", "192.0.2.66", "192.0.2.1")
        first, second = re.split(r"(?m)^192\.0\.2\.1$", result.stderr)
        self.assertIn(bitmap_name(ipaddress.ip_address("192.0.2.66")).rstrip("."), first)
        self.assertIn("66.2.0.192." + CLASSIC_NAME, first)
        self.assertIn(f"server {self.servers}, trusted", first)
        self.assertIn(bitmap_name(ipaddress.ip_address("192.0.2.66")).rstrip(".")
                      + ": AAAA 4000::2000:0:0:1, TTL ", first)
        self.assertIn(f"66.2.0.192.{CLASSIC_NAME}: A 127.0.0.2, TTL ", first)
        self.assertRegex(first, rf"A 127\.0\.0\.2, TTL \d+ s, from {re.escape(self.servers)}\n")
        self.assertIn(f"{NAME}: listed, weight 2", first)
        self.assertIn("score 3: listed", first)
        self.assertIn(f"cache: {NAME}: there: listed", second)
        self.assertIn(f"cache: {CLASSIC_NAME}: not there, DNS is asked", second)
        self.assertEqual([line.split("\t")[0] for line in result.stdout.splitlines()],
                         ["192.0.2.66", "192.0.2.1"])

    def test_counters_are_told_at_the_end(self):
        told = self.lookup("--stats", "192.0.2.66").stderr
        self.assertTrue(re.fullmatch(r"([a-z-]+\t\d+\n)+", told), told)

    def test_without_a_resolver_no_zone_is_reachable(self):
        result = self.run_program(
            [harness.program("dnsblv6-lookup"), "--zones", NAME, "--zone-health", "--server",
             f"{self.host}@{self.free_port()}", "--timeout", "60"], expect=1)
        self.assertEqual(result.stdout.split("\t")[:2], [NAME, "unreachable"])

    def test_a_zone_that_is_not_there_is_not_well(self):
        rows = self.rows("--zone-health", "--timeout", "3", zones=f"{NAME} nowhere.{NAME}",
                         expect=1)
        self.assertEqual([row[:2] for row in rows],
                         [[NAME, "ok"], [f"nowhere.{NAME}", "unreachable"]])


if __name__ == "__main__":
    harness.main()
