#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
bench/mail-users: the verdict fails for each of its reasons, the search finds the threshold of a server that has one,
the page says of the paper's findings what figures say; and one run of all of it, before Dovecot and Exim.

The last needs root, users-load, dovecot-imapd, dovecot-lmtpd, and Exim as ./check unpacks it. Looks at no time.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import unittest

from benching import import_quietly
from harness import BUILD, SOURCE, Case, main, peer, unpacked
from mta import need_root

TYPES = ("LOGIN", "LIST", "STATUS", "SELECT", "FETCH_HEADERS", "FETCH_FLAGS", "FETCH_STRUCTURE", "FETCH_BODY", "SEARCH",
         "STORE", "COPY", "APPEND", "EXPUNGE", "SMTP_LOCAL", "SMTP_REMOTE")


def result_of(types=(), deliveries=(), errors=()):
    """What users-load says of a run in which all was well, but for what is named."""
    rows = {name: {"count": 100, "errors": 0, "within": 100, "p50_ms": 10, "p95_ms": 40, "p99_ms": 60, "max_ms": 99}
            for name in TYPES}
    for name, changed in dict(types).items():
        rows[name].update(changed)
    sent = {name: {"sent": 40, "seen": 40, "within": 40, "p50_s": 1, "p95_s": 2, "max_s": 3, "lost": 0, "twice": 0}
            for name in ("local", "remote")}
    for name, changed in dict(deliveries).items():
        sent[name].update(changed)
    return {"users": 8, "rate": 1, "seed": 1, "scale": 0.01, "window_s": 30,
            "sessions": {"begun": 50, "ended": 50, "failed": 0, "open_max": 9, "per_hour": 6000},
            "transactions": rows, "deliveries": sent, "late_max_ms": 3,
            "errors": {**dict.fromkeys(("connect", "timeout", "bye", "no", "bad", "protocol", "closed", "smtp"), 0),
                       **dict(errors)},
            "load": {"cpu_user_s": 1, "cpu_system_s": 1, "rss_kib": 10000}}


# In the place of users-load: has 900 users' work done in time, notes what it was called with.
FAKE_LOAD = """\
#!{python}
import json, sys, time
options = dict(zip(sys.argv[2::2], sys.argv[3::2]))
with open("{calls}", "a") as calls:
    calls.write(json.dumps(sys.argv[1:]) + "\\n")
if sys.argv[1] == "run":
    time.sleep(float(options["--warmup"]) + float(options["--window"]))
    with open("{result}") as file:
        result = json.load(file)
    users = round(int(options["--users"]) * float(options["--rate"]))
    is_first = sum(json.loads(line)[0] == "run" for line in open("{calls}")) == 1
    if {limit} < users or ({stumbles} and is_first):
        result["transactions"]["EXPUNGE"]["within"] = 1
    with open(options["--result"], "w") as file:
        json.dump(result, file)
elif sys.argv[1] == "workload":
    print("| active-users | 0.78 | paper |")
elif sys.argv[1] == "{broken}":
    sys.exit("the server has closed the connection")
"""


class Command(Case):
    """bench/mail-users before a server of the operator's own, which is not there: a program says how it went."""

    def run_command(self, *arguments, limit=900, broken="none", stumbles=False, expect=0):
        programs = self.path("programs")
        os.makedirs(os.path.join(programs, "bench", "users-load"), exist_ok=True)
        program = os.path.join(programs, "bench", "users-load", "users-load")
        with open(program, "w", encoding="utf-8") as file:
            file.write(FAKE_LOAD.format(
                python=sys.executable, calls=self.path("calls"), limit=limit, broken=broken, stumbles=stumbles,
                result=self.write("fake.json", json.dumps(result_of()))))
        os.chmod(program, 0o755)
        done = subprocess.run(
            [sys.executable, os.path.join(SOURCE, "bench/mail-users"), "--programs", programs, "--imap",
             "127.0.0.1:1143", "--smtp", "127.0.0.1:1025", "--sink", "127.0.0.1:1026", "--warmup", "0.1",
             "--window", "0.2", "--sessions", "0", *arguments], capture_output=True, text=True, check=False, timeout=240)
        print(done.stdout, done.stderr)
        self.assertEqual(done.returncode, expect)
        return done.stdout

    def calls(self, verb):
        with open(self.path("calls"), encoding="utf-8") as file:
            calls = [json.loads(line) for line in file]
        return [dict(zip(words[1::2], words[2::2])) for words in calls if words[0] == verb]

    def test_the_threshold_of_a_server_is_its_verdict_and_is_printed(self):
        said = self.run_command("--quick", "--mailboxes", "64", "--from", "300", "--name", "u%d", "--seed", "7",
                                stumbles=True)
        verdict = re.search(r"^verdict: own, its own disk: (\d+) users"
                            r" \(64 mailboxes, each used ([0-9.]+) times as much\), 6,000 sessions an hour;"
                            r" (\d+) do not \(EXPUNGE: 1.0% within 5 s\)$", said, re.MULTILINE)
        self.assertLessEqual(int(verdict[1]), 900)
        self.assertGreater(int(verdict[3]), 900)
        self.assertAlmostEqual(float(verdict[2]), int(verdict[1]) / 64, delta=0.1)
        self.assertRegex(said, r"(?m)^the load had [0-9.]+% of the machine at \d+ users, of which it may have 20%$")
        self.assertIn("; of what passed, 1 had failed at the first try", said)
        self.assertEqual([call["--users"] for call in self.calls("fill")], ["64"])
        self.assertEqual(len(self.calls("verify")), 2)
        for call in self.calls("run"):
            self.assertEqual((call["--users"], call["--name"], call["--seed"], call["--imap"], call["--sink"]),
                             ("64", "u%d", "7", "127.0.0.1:1143", "127.0.0.1:1026"))

    def test_a_load_that_fails_is_told_and_fails_the_command(self):
        said = self.run_command("--quick", broken="verify", expect=1)
        self.assertIn("* own: not measured (users-load verify: the server has closed the connection)", said)

    def test_an_hour_has_the_users_that_it_is_given_and_its_files(self):
        said = self.run_command("--full", "--users", "128", "--rate", "4", "--output", self.path("mine"))
        self.assertIn("128 users for", said)
        call = self.calls("run")[0]
        self.assertEqual((call["--users"], call["--rate"]), ("32", "4"))
        with open(self.path("mine.json"), encoding="utf-8") as file:
            self.assertTrue(json.load(file)["hour"]["verdict"]["passes"])
        with open(self.path("mine.md"), encoding="utf-8") as file:
            self.assertIn("| active-users | 0.78 | paper |", file.read())

    def test_the_same_again_is_a_search_each_time(self):
        said = self.run_command("--repeat", "2", "--from", "512", "--steps", "2", "--tries", "1")
        self.assertIn("2 searches with one seed, each with mailboxes that were filled anew: 512, 512 users", said)
        self.assertEqual([call["--seed"] for call in self.calls("fill")], ["1"] * 2)


class Join(Case):
    """Parts of several calls are a page as of one."""

    @classmethod
    def setUpClass(cls):
        cls.page = import_quietly("users_page", "users-parts")
        cls.maker = Page("test_the_page_and_the_json_have_all_that_was_measured")
        Page.setUpClass()

    def write(self, name, parts, users, **changed):
        search = self.maker.search_of([self.maker.run_of(users), self.maker.broken_run(2 * users)])
        options = argparse.Namespace(**{**vars(self.maker.options), "parts": parts, "rate": 1, "drain": 30,
                                        "programs": "/some/where", **changed})
        results = self.maker.results(**{{"v": "servers", "r": "repeats"}[parts]: [search] * (1 + (parts == "r"))})
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(self.page.as_json(options, results))
        return self.path(name)

    def join(self, *paths, expect=0):
        done = subprocess.run([sys.executable, os.path.join(SOURCE, "bench/mail-users"), "--output", self.path("all"),
                               "--join", *paths], capture_output=True, text=True, check=False, timeout=100)
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_two_calls_are_one_page_and_a_later_search_replaces_an_earlier_one(self):
        said = self.join(self.write("a", "v", 100), self.write("b", "r", 120, start=60), self.write("c", "v", 130))
        self.assertIn("* `--parts r`, Dovecot, Exim, on ", said)
        self.assertIn("2 searches with one seed, each with mailboxes that were filled anew: 120, 120 users", said)
        self.assertIn("* Dovecot, Exim, this disk: 130 users", said)
        self.assertNotIn("* Dovecot, Exim, this disk: 100 users", said)
        with open(self.path("all.json"), encoding="utf-8") as file:
            text = file.read()
        self.assertNotIn("/some/where", text)
        self.assertEqual(json.loads(text)["servers"][0]["runs"][1]["verdict"]["reasons"][0]["name"], "LOGIN")

    def test_parts_that_were_measured_in_another_way_are_refused_by_name(self):
        paths = self.write("a", "v", 100), self.write("b", "r", 100, window=20)
        self.assertIn(f"{paths[1]}: --window 20, but 30 in {paths[0]}", self.join(*paths, expect=1))

    def test_what_is_no_result_is_refused_by_name(self):
        whole = self.write("whole", "v", 100)
        with open(whole, encoding="utf-8") as file:
            document = json.load(file)
        lacking = [json.dumps({key: value for key, value in document.items() if key != name})
                   for name in ("options", "servers", "machine", "missed")]
        for text in ("", "[]", '{"of": "bench/store"}', "\0" * 100000, *lacking):
            with open(self.path("a"), "w", encoding="utf-8") as file:
                file.write(text)
            self.assertRegex(self.join(self.path("a"), expect=1),
                             f"mail-users: {self.path('a')}: (no|not a whole) result of bench/mail-users \\(")

    def test_parts_are_letters_that_there_are(self):
        for parts in ("x", "vx", ""):
            done = subprocess.run([sys.executable, os.path.join(SOURCE, "bench/mail-users"), "--parts", parts],
                                  capture_output=True, text=True, check=False, timeout=100)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn("--parts: no ", done.stderr)


class Quick(Case):
    """The least of everything: a verdict, whatever it is, and what stands beside it."""

    def test_dovecot_and_exim_have_a_verdict_and_the_load_its_share(self):
        need_root()
        unpacked("exim4-daemon-heavy", "usr/sbin/exim4")
        peer("dovecot")
        done = subprocess.run(
            [sys.executable, os.path.join(SOURCE, "bench/mail-users"), "--quick", "--programs", BUILD, "--directory",
             self.directory, "--mailboxes", "4", "--from", "4000", "--steps", "1", "--tries", "1", "--warmup", "1",
             "--window", "3", "--drain", "20", "--output", self.path("quick")],
            capture_output=True, text=True, check=False, timeout=270)
        print(done.stdout[-2000:], done.stderr)
        self.assertIn("\nverdict: dovecot-maildir+exim, this disk: ", done.stdout, done.stderr)
        self.assertNotIn("not measured (", done.stdout)
        with open(self.path("quick.json"), encoding="utf-8") as file:
            (search,) = json.load(file)["servers"]
        (run,) = search["runs"]
        self.assertEqual((run["users"], run["mailboxes"], run["rate"]), (4000, 4, 1000))
        self.assertGreater(run["load"]["transactions"]["LOGIN"]["count"], 0)
        self.assertGreater(run["cpu"]["user"], 0)
        self.assertLessEqual(run["overhead"], 1)


class Verdict(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.verdict = import_quietly("verdict", "users-parts")

    def reasons(self, **changed):
        found = self.verdict.judge(result_of(**changed))
        self.assertEqual(found.passes, not found.reasons)
        return [(one.kind, one.name) for one in found.reasons]

    def test_a_run_in_which_all_is_well_passes(self):
        self.assertEqual(self.reasons(), [])

    def test_each_type_of_transaction_fails_it_alone(self):
        for name in TYPES:
            with self.subTest(type=name):
                self.assertEqual(self.reasons(types={name: {"within": 94}}), [("transaction", name)])

    def test_95_of_a_hundred_in_time_are_enough(self):
        self.assertEqual(self.reasons(types={"LIST": {"within": 95}}), [])

    def test_a_type_that_is_rare_is_not_judged_and_named(self):
        rare = result_of(types={"EXPUNGE": {"count": 19, "within": 0}})
        self.assertEqual(self.verdict.judge(rare), self.verdict.Verdict(True, [], ["EXPUNGE"]))
        self.assertEqual(self.reasons(types={"EXPUNGE": {"count": 20, "within": 0}}), [("transaction", "EXPUNGE")])

    def test_late_and_lost_deliveries_fail_it_each_way(self):
        for name in ("local", "remote"):
            with self.subTest(to=name):
                self.assertEqual(self.reasons(deliveries={name: {"within": 37}}), [("delivery", name)])
                self.assertEqual(self.reasons(deliveries={name: {"sent": 0, "within": 0}}), [])

    def test_errors_of_all_kinds_together_fail_it_from_one_in_a_hundred_on(self):
        self.assertEqual(self.reasons(errors={"no": 14}), [])
        self.assertEqual(self.reasons(errors={"no": 14, "closed": 1}), [("errors", "all")])

    def test_a_run_in_which_no_type_can_be_judged_does_not_pass(self):
        for count in (0, 19):
            few = {name: {"count": count, "within": count} for name in TYPES}
            self.assertEqual(self.reasons(types=few), [("load", "transactions")])

    def test_what_is_below_a_limit_looks_so(self):
        self.assertEqual([self.verdict.percent(value) for value in (0.94999, 0.95, 0.57, 1)],
                         ["94.9%", "95.0%", "57.0%", "100.0%"])

    def test_each_reason_has_words(self):
        found = self.verdict.judge(result_of(types={"STORE": {"within": 50}}, deliveries={"local": {"within": 10}},
                                             errors={"bye": 50, "no": 3}))
        self.assertEqual([self.verdict.text_of(one) for one in found.reasons],
                         ["STORE: 50.0% within 5 s", "local deliveries: 25.0% within 60 s",
                          "errors: 3.5% of all transactions"])
        self.assertEqual(self.verdict.error_text(result_of(errors={"bye": 50, "no": 3})), "50 bye, 3 no")


class Search(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.search = import_quietly("search", "users-parts")

    def test_the_threshold_of_a_server_is_found_wherever_it_is(self):
        for threshold in (1, 2, 7, 63, 64, 100, 350, 777, 12345):
            with self.subTest(threshold=threshold):
                found = self.search.find_most(lambda users: users <= threshold, 64)
                self.assertLessEqual(found.most, threshold)
                self.assertGreater(found.fails_at, threshold)
                self.assertTrue(found.is_close)
                self.assertLess(found.fails_at - found.most, max(2, 0.05 * found.most))

    def test_each_number_is_tried_once(self):
        found = self.search.find_most(lambda users: users <= 900, 64)
        self.assertEqual(len(found.tried), len(dict(found.tried)))
        self.assertLessEqual(len(found.tried), 9)

    def test_nothing_passes_when_a_single_user_is_too_many(self):
        found = self.search.find_most(lambda users: False, 64)
        self.assertEqual((found.most, found.fails_at), (0, 1))

    def test_a_decision_near_the_threshold_that_goes_the_other_way_moves_a_verdict_by_less_than_5_percent(self):
        one = self.search.find_most(lambda users: users <= 1000, 64)
        near = [users for users, _ in one.tried if abs(users / 1000 - 1) < 0.05]
        self.assertGreater(len(near), 1)
        for other_way in near:
            other = self.search.find_most(lambda users: (users <= 1000) != (users == other_way), 64)
            self.assertNotEqual(other.most, one.most)
            self.assertLess(abs(other.most / one.most - 1), 0.05)

    def test_a_search_that_is_stopped_says_what_it_knows(self):
        found = self.search.find_most(lambda users: users <= 500, 64, steps_max=5)
        self.assertEqual(found, self.search.Found(362, 512, found.tried, False))
        calls = iter([True, True, False])
        found = self.search.find_most(lambda users: True, 64, may_go_on=lambda: next(calls))
        self.assertEqual((found.most, found.fails_at), (128, None))

    def test_no_more_users_are_tried_than_there_may_be(self):
        found = self.search.find_most(lambda users: True, 64, most=300)
        self.assertEqual(max(users for users, _ in found.tried), 256)


class Page(unittest.TestCase):
    """What is said of figures; nothing is run."""

    @classmethod
    def setUpClass(cls):
        cls.verdict = import_quietly("verdict", "users-parts")
        cls.findings = import_quietly("findings", "users-parts")
        cls.page = import_quietly("users_page", "users-parts")

    def run_of(self, users, io_wait=0.1, paths=((700, 29.9), (220, 11.7), (80, 15.0)), overhead=0.1, wait_ms=None,
               **changed):
        load = result_of(**changed)
        return {"users": users, "mailboxes": 64, "rate": users / 64, "seed": 1, "load": load,
                "verdict": self.verdict.judge(load), "overhead": overhead,
                "cpu": {"user": 0.2, "system": 0.1, "io_wait": io_wait}, "switches": 5000,
                "server_cpu": {"user": 0.1, "system": 0.02}, "memory_kib": 300000,
                "paths": {name: {"requests": count, "bytes": round(count * sectors * 512),
                                 "wait_ms": users ** 2 if wait_ms is None else wait_ms}
                          for name, (count, sectors) in zip(self.findings.PATHS, paths)}}

    def search_of(self, runs, name="Dovecot, Exim", disk="this disk"):
        passed = [run["users"] for run in runs if run["verdict"].passes]
        broken = [run["users"] for run in runs if not run["verdict"].passes]
        return {"name": name, "disk": disk, "users": max(passed, default=0), "fails_at": min(broken, default=None),
                "is_close": True, "sessions": 6000.0,
                "facts": {"versions": [f"{name} 1.0"], "notes": ["a note"], "disks": "ext4"}, "runs": runs, "doubtful": []}

    def broken_run(self, users):
        return self.run_of(users, types={"LOGIN": {"within": 10}})

    def paper_search(self):
        late = {"EXPUNGE": {"within": 80}, "FETCH_HEADERS": {"within": 90}}
        return self.search_of([self.run_of(100, 0.01), self.run_of(200, 0.04), self.run_of(350, 0.15),
                               self.run_of(400, 0.2, types=late)], disk="two SATA disks")

    def said(self, sata, apart=None, ladder=()):
        return {one.what: self.findings.said(one) for one in self.findings.findings(sata, apart, list(ladder))}

    def results(self, **parts):
        return self.page.Results([], [], None, None, [], None, [], [])._replace(**parts)

    options = argparse.Namespace(parts="vrd", load=(0.1, 0.2, 0.3), seed=1, start=64, disks_start=32,
                                 disks_scale=0.1, warmup=5, window=30,
                                 mailboxes=64, scale=0.01, output="page", tries=2, sessions=150)

    def test_what_the_paper_found_is_shown_again_by_the_papers_figures(self):
        apart = self.search_of([self.run_of(550), self.broken_run(600)])
        # Its shares of bytes and requests are not those of these sizes of requests.
        sizes = ((70, 29.9), (22, 11.7), (8, 120))
        sata = self.paper_search()
        sata["runs"][2] = self.run_of(350, 0.15, paths=sizes)
        found = self.said(sata, apart)
        self.assertEqual(found.pop("sectors of a request, queue paths"), "different today")
        self.assertEqual(set(found.values()), {"shown again"}, found)

    def test_each_finding_differs_by_its_own_figures(self):
        sata = self.paper_search()
        for what, runs, apart in (
                ("which transactions fail first", [*sata["runs"][:3], self.run_of(400, types={
                    "LOGIN": {"within": 10}, "EXPUNGE": {"within": 80}})], None),
                ("I/O wait over load", [self.run_of(100, 0.1), self.run_of(200, 0.12), self.run_of(350, 0.13)], None),
                ("requests that wait for the disks, over load",
                 [self.run_of(count, wait_ms=1000) for count in (100, 200, 350)], None),
                ("index paths' share of requests", [self.run_of(350, paths=((90, 29.9), (2, 11.7), (8, 15)))], None),
                ("index paths' share of bytes", [self.run_of(350, paths=((50, 8), (45, 8), (5, 15)))], None),
                ("sectors of a request, mailbox paths", [self.run_of(350, paths=((90, 8), (2, 11.7), (8, 15)))], None),
                ("users, with the index on a faster disk", sata["runs"], self.search_of(
                    [self.run_of(360), self.broken_run(380)]))):
            with self.subTest(what=what):
                self.assertEqual(self.said(self.search_of(runs), apart)[what], "different today")

    def test_a_type_that_fails_at_fewer_users_fails_first(self):
        runs = [self.run_of(400, types={"STORE": {"within": 94}}),
                self.run_of(800, types={"STORE": {"within": 90}, "EXPUNGE": {"within": 1}}), self.run_of(200)]
        self.assertEqual(self.findings.order_of_failure(runs)[:2], ["STORE", "EXPUNGE"])

    def test_nothing_fails_first_where_mails_are_late_before_any_type_is(self):
        late = self.run_of(400, deliveries={"local": {"within": 1}},
                           types={"EXPUNGE": {"p95_ms": 900}, "FETCH_HEADERS": {"p95_ms": 800}})
        found = self.findings.failing_first([self.run_of(200), late])
        self.assertIs(found.is_shown, False)
        self.assertIn("EXPUNGE and FETCH_HEADERS (at 400 users: local deliveries", found.here)

    def test_what_was_not_measured_is_not_decided(self):
        quiet = self.run_of(100, io_wait=0)
        del quiet["paths"]
        self.assertEqual(set(self.said(self.search_of([quiet])).values()), {"not measured"})
        found = list(self.page.limits(self.options, self.results()))
        self.assertEqual([limit.is_met for limit in found], [False, False])

    def test_a_gain_is_that_of_thresholds_and_not_of_searches_that_ended_before(self):
        sata = self.paper_search()
        for apart in (self.search_of([self.run_of(550)]), self.search_of([self.broken_run(1)]), None):
            self.assertEqual(self.said(sata, apart)["users, with the index on a faster disk"], "not measured")

    def test_an_exponent_is_that_of_its_points(self):
        self.assertAlmostEqual(self.findings.slope([(x, 3 * x ** 1.5) for x in (1, 2, 5, 9)]), 1.5)
        self.assertIsNone(self.findings.slope([(1, 1), (2, 0), (2, 3)]))

    def test_five_verdicts_have_a_spread_and_the_first_two_a_limit(self):
        counts = (1000, 957, 1045, 1000, 1000)
        repeats = [self.search_of([self.run_of(count)]) for count in counts]
        self.assertAlmostEqual(self.page.spread(counts), 0.088)
        limit = list(self.page.limits(self.options, self.results(repeats=repeats)))[1]
        self.assertAlmostEqual(limit.value, 0.043)
        self.assertTrue(limit.is_met)

    def test_the_load_may_take_a_fifth_of_the_machine_at_the_verdict(self):
        for overhead, is_met in ((0.2, True), (0.21, False)):
            search = self.search_of([self.run_of(50, overhead=0.9), self.run_of(64, overhead=overhead)])
            limit = next(self.page.limits(self.options, self.results(servers=[search])))
            self.assertEqual((limit.value, limit.is_met), (overhead, is_met))

    def test_the_page_and_the_json_have_all_that_was_measured(self):
        sata = self.paper_search()
        results = self.results(servers=[self.paper_search(), self.search_of([], "Cyrus, Exim")], repeats=[sata] * 5,
                               sata=sata, apart=self.search_of([self.run_of(550)], disk="index apart"),
                               ladder=[self.run_of(275, 0.08)], hour=self.run_of(350),
                               parameters=["| active-users | 0.78 | paper |"], missed=["Cyrus, Exim: not measured"])
        text = "\n".join(self.page.report(self.options, results))
        for part in ("Dovecot, Exim, two SATA disks: 350 users", "no number of users passed", "| 275 users | yes |",
                     "EXPUNGE: 80.0% within 5 s", "* Cyrus, Exim: not measured", "## The same again", "## An hour",
                     "| active-users | 0.78 | paper |", "shown again", "](page.svg)",
                     "\n| Dovecot, Exim | 700 | 10.7 | 29.9 | 220 | 1.3 | 11.7 | 80 | 0.6 | 15.0 |\n",
                     "\nDovecot, Exim 1.0, Cyrus, Exim 1.0.\n", "* a note",
                     "had 8.0%, 8.0%, 8.0%, 8.0%, 8.0% of the machine meanwhile."):
            self.assertIn(part, text)
        said = json.loads(self.page.as_json(self.options, results))
        self.assertEqual(said["servers"][0]["runs"][3]["verdict"]["reasons"][0]["name"], "FETCH_HEADERS")
        self.assertEqual(said["options"]["seed"], 1)
        self.assertEqual(len(said["findings"]), 9)


if __name__ == "__main__":
    main()
