#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
A cluster in which things break while clients deliver, read and delete at all of its nodes, against what these
were told (told.py): each mail that was acknowledged is there once for each of its recipients, at every
node and with the same unique id, until it is deleted; no deletion that was confirmed comes back.

tests/campaign-cluster runs many rounds. DNSBLV6_ROUNDS is their number; DNSBLV6_KINDS, names of failures with ";"
between them, chooses among those of failures.py; DNSBLV6_EVIDENCE is a directory that gets logs of
a round that went wrong. A round's choices are by DNSBLV6_SEED and its number.
"""

import os
import random
import re
import shutil
import subprocess
import threading
import time
import unittest
from typing import NamedTuple

import disks
import harness
import mailload
from clusters import Cluster
from failures import KINDS, Failure
from harness import SEED, Case, main, wait_for
from mailload import Load, Sender
from told import REFUSED, TAKEN, Session, Told, Violation, text_of

IS_CAMPAIGN = os.environ.get("DNSBLV6_CAMPAIGN") == "1"
ROUNDS = int(os.environ.get("DNSBLV6_ROUNDS", 2))
EVIDENCE = os.environ.get("DNSBLV6_EVIDENCE")
BOXES = [f"user{number}@example.com" for number in range(5)]
KEPT = 6  # mails of a mailbox from round to round
# Of ./check, which has little time; campaigns have all.
SHORT = {"store's process killed", "LMTP's process killed", "mail-stored killed", "mail-stored restarted",
         "pop-front and smtp-front killed", "OSD killed", "monitor killed", "node killed", "node cut off",
         "two nodes cut from each other", "all nodes killed", "store's process stopped"}
SHORT_S = 4


class Stall(NamedTuple):
    """Seconds. None where no node was spared, or no session ended."""
    deliveries: float
    session: float
    again: float  # from the failure's end until all nodes serve

    def text(self):
        deliveries, session, again = ("-" if value is None else f"{value:.1f} s" for value in self)
        return f"nodes not touched: no mail for {deliveries}, a session of {session}; all again after {again}"


class Rounds(Case):
    """Rounds on one cluster: load, one failure or two, all healed, and a look at everything."""

    def begin(self, kind="rados", **how):
        # What is said of failures is of many kinds; processes that crash are looked for in each round.
        self.expect_log("")
        self.told = Told("m", are_ids_said=kind != "nodes")
        has_disks = IS_CAMPAIGN and kind == "nodes" and os.geteuid() == 0 and os.path.exists("/dev/loop-control")
        if has_disks:
            disks.enter_own_mounts()
        self.cluster = Cluster(self, {box: mailload.PASSWORD for box in BOXES}, kind=kind,
                               make_disk=disks.Disk if has_disks else None, **how)
        wanted = [name for name in os.environ.get("DNSBLV6_KINDS", "").split(";") if name]
        self.kinds = [kind for kind in KINDS if kind.is_possible(self.cluster)
                      and (kind.name in wanted if wanted else IS_CAMPAIGN or kind.name in SHORT)]
        self.assertEqual(set(wanted) - {kind.name for kind in self.kinds}, set(), "not failures of this cluster")
        self.stalls = {}  # name of a failure: [Stall, ...]
        self.seen = {}
        self.peak_kb = 0

    def say(self, text):
        print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)

    # ---- one round ----

    def choose(self, chance):
        """One failure, or two of which one is mild."""
        chosen = [chance.choice(self.kinds)]
        mild = [kind for kind in self.kinds if kind.is_mild and kind is not chosen[0]]
        if mild and chance.random() < 0.3:
            chosen.append(chance.choice(mild))
        failures = [Failure(kind, self.cluster, self.told, chance) for kind in chosen]
        if not IS_CAMPAIGN:
            for failure in failures:
                failure.lasts_s = min(failure.lasts_s, SHORT_S)
        return failures

    def round(self, number):
        chance = random.Random(SEED + number)
        failures = self.choose(chance)
        names = " and ".join(failure.kind.name for failure in failures)
        self.told.prefix = f"m{number}"
        self.names = names
        load = Load(self.told, self.cluster.nodes, BOXES, chance)
        with load:
            load.wait(chance.uniform(0.3, 1.5))
            began = time.monotonic()
            touched = self.befall(load, failures, chance)
            healed = time.monotonic()
            self.wait_for_service(load, healed)
            ended = time.monotonic()
            load.wait(chance.uniform(0.2, 1))
        stall = self.note(failures, load, began, healed, ended, touched)
        self.look(chance)
        self.note_end(number, names, load, stall, ended)

    def befall(self, load, failures, chance):
        """Names of nodes that were touched: each failure befalls others. Now and then amid repairs."""
        touched = set()
        mender = threading.Thread(target=self.mend, args=(chance.choice(self.cluster.nodes), load))
        if self.cluster.rados and chance.random() < 0.3:
            mender.start()
        try:
            for failure in failures:
                free = [node for node in self.cluster.nodes if node.name not in touched]
                if not free:
                    break
                failure.begin(free)
                touched.update(node.name for node in failure.touched)
                load.wait(chance.uniform(0, 1))
            load.wait(max(failure.lasts_s for failure in failures))
        finally:
            for failure in reversed(failures):
                failure.end()
            if mender.ident is not None:
                mender.join()
        return touched

    def mend(self, node, load):
        """What it finds amid failures is no word of what is there afterwards."""
        status, text = self.cluster.run_tool(node, "repair", "--timeout", "20")
        load.count(f"repairs with status {status}")
        self.said = text  # for evidence

    def wait_for_service(self, load, since):
        """Until mail has come in at every node again, and was fetched."""

        def is_there():
            load.check()
            return all(times and times[-1] > since for times in load.acks.values()) and any(
                sessions and sessions[-1][1] > since for sessions in load.fetched.values())

        wait_for(is_there, "deliveries at all nodes and a POP session", 180)

    def note(self, failures, load, began, healed, ended, touched):
        """How long nodes that were not touched took no mail, and their slowest session."""
        others = [name for name in load.acks if name not in touched]
        times = sorted(when for name in others for when in load.acks[name])
        sessions = [end - asked for name in others for asked, end in load.fetched[name] if end > began]
        stall = Stall(load.longest_gap(times, began, ended) if others else None, max(sessions, default=None),
                      ended - healed)
        name = failures[0].kind.name if len(failures) == 1 else "two of them"
        self.stalls.setdefault(name, []).append(stall)
        for word, count in load.seen.items():
            self.seen[word] = self.seen.get(word, 0) + count
        self.peak_kb = max([self.peak_kb, *(node.stored_kb() for node in self.cluster.nodes)])
        return stall

    def note_end(self, number, names, load, stall, ended):
        acks = sum(len(times) for times in load.acks.values())
        self.say(f"round {number} seed {SEED + number}: {names}; {acks} mails; {stall.text()},"
                 f" looked at in {time.monotonic() - ended:.1f} s")

    # ---- what must hold ----

    def look(self, chance):
        """At rest: what every node shows is what clients were told."""
        if self.cluster.rados:
            self.cluster.rados.wait_clean()
        crashes = [line for node in self.cluster.nodes for line in node.crashes()]
        if crashes:
            raise Violation(f"processes crashed: {crashes}")
        node = chance.choice(self.cluster.nodes)
        wait_for(lambda: not self.settle(node), "mails that were refused to go", 180)
        self.check_tool(chance.choice(self.cluster.nodes))
        wait_for(self.are_same, "nodes that show the same mails", 180)
        mailload.empty(self.told, chance.choice(self.cluster.nodes), BOXES, KEPT)

    def are_same(self):
        """Unique ids, and their order. A mail may come meanwhile that was open."""
        first, *others = [mailload.read_idents(node, BOXES) for node in self.cluster.nodes]
        return all(other == first for other in others)

    def settle(self, node):
        self.late = self.told.settle(mailload.read_all(node, BOXES), node.name)
        return self.late

    def check_tool(self, node):
        """
        mail-cluster finds nothing that is lost, and after a repair nothing that is left over but mails that were
        never acknowledged: they go when they are a day old.
        """
        if not self.cluster.rados:
            return []
        self.cluster.run_tool(node, "repair", timeout_s=300)
        _, text = self.cluster.run_tool(node, "check", "--deep", timeout_s=300)
        numbers = {word: int(number) for word, number in re.findall(r"^([a-z-]+)\t(\d+)$", text, re.MULTILINE)}
        findings = re.findall(r"^finding=(\S+) .*", text, re.MULTILINE)
        if any(numbers.get(word, 1) for word in ("few-copies", "missing", "damaged")) or set(findings) - {"orphan"}:
            raise Violation(f"mail-cluster check --deep, behind a repair:\n{text}")
        return findings

    def finish(self):
        """For a node whose clock says the day after tomorrow all is old that may go."""
        if not self.cluster.rados:
            return
        node = self.cluster.nodes[0]
        self.say(f"left over: {len(self.check_tool(node))} mails that were never acknowledged")
        node.restart_stored(2 * 24 * 3600)
        wait_for(lambda: self.cluster.run_tool(node, "check")[0] in (0, 1), "a node that has reached its cluster")
        wait_for(lambda: not self.check_tool(node), "a repair that leaves nothing over", 180)
        wait_for(lambda: not self.settle(node), "mails that were refused to go", 180)

    # ---- all rounds ----

    def run_rounds(self, rounds=ROUNDS):
        for number in range(1, rounds + 1):
            try:
                self.round(number)
            except BaseException as error:
                self.say(f"round {number} seed {SEED + number}: {self.names}: {error!r}")
                self.keep_evidence(number, error)
                raise
        self.finish()
        self.report(rounds)
        self.assertGreater(self.told.counts.get("taken", 0), 0)
        self.assertGreater(self.told.counts.get("deleted", 0), 0)

    def keep_evidence(self, number, error):
        if EVIDENCE is None:
            return
        place = os.path.join(EVIDENCE, f"seed-{SEED}-round-{number}")
        os.makedirs(place, exist_ok=True)
        with open(os.path.join(place, "violation"), "w", encoding="utf-8") as file:
            file.write(f"{error}\nnow={time.monotonic():.3f}\nlate={getattr(self, 'late', None)}\n")
            file.write("\n".join(self.told.lines()))
        logs = [name for name in os.listdir(self.directory) if name.endswith((".log", ".conf"))]
        for name in logs:
            shutil.copy(self.path(name), place)
        if self.cluster.rados:
            subprocess.run(["cp", "-r", "--", *(os.path.join(self.cluster.rados.directory, name) for name in
                                                os.listdir(self.cluster.rados.directory)
                                                if name.endswith((".log", ".conf"))), place], check=False)
        self.say(f"evidence is in {place}")

    def report(self, rounds):
        self.say(f"{rounds} rounds, seed {SEED}: {self.told.counts}, {self.seen},"
                 f" mail-stored's memory at most {self.peak_kb >> 10} MB")
        for name, stalls in sorted(self.stalls.items()):
            worst = Stall(*(max((value for value in values if value is not None), default=None)
                            for values in zip(*stalls)))
            print(f"    {len(stalls):4} x {name:34} {worst.text()}")


class Failures(Rounds):
    def test_no_failure_loses_a_mail_that_was_taken_or_brings_one_back_that_was_deleted(self):
        if not has_rados_layer():
            raise unittest.SkipTest("mail-stored was built without librados")
        self.begin()
        self.run_rounds()


class Partitioned(Rounds):
    def test_no_failure_of_nodes_with_stores_of_their_own_loses_a_mail_or_brings_one_back(self):
        self.begin(kind="nodes")
        self.run_rounds()


class Oracle(Rounds):
    """What looks at clusters, tried on a node that shares nothing: by itself a whole mail server."""

    def setUp(self):
        super().setUp()
        self.begin(count=1, kind="alone")
        self.node = self.cluster.nodes[0]

    def deliver(self, boxes, size=100):
        """The token of a mail that was taken."""
        with Sender(self.node.lmtp_address, is_lmtp=True) as sender:
            self.assertTrue(sender.deliver(self.told, self.node.name, boxes, size))
        return f"{self.told.prefix}-{self.told.count}"

    def look_at_all(self):
        self.assertEqual(self.told.settle(mailload.read_all(self.node, BOXES), self.node.name), [])

    def assert_found(self, pattern):
        with self.assertRaisesRegex(Violation, pattern):
            self.look_at_all()

    def test_rounds_find_nothing_wrong_with_one_store(self):
        self.run_rounds()

    def test_a_mail_that_was_taken_and_is_gone_is_found(self):
        self.deliver(BOXES[:2])
        self.look_at_all()
        self.node.stored.run_tool("rm", "--all", BOXES[1])
        self.assert_found("user1.* was taken, and is lost")

    def test_a_session_finds_that_a_mail_is_gone(self):
        self.deliver(BOXES[:1])
        self.node.stored.run_tool("rm", "--all", BOXES[0])
        with self.assertRaisesRegex(Violation, "is not there"):
            mailload.empty(self.told, self.node, BOXES[:1], 0)

    def test_a_mail_that_comes_back_is_found(self):
        token = self.deliver(BOXES[:1])
        mailload.empty(self.told, self.node, BOXES[:1], 0)
        self.look_at_all()
        self.node.stored.run_tool("deliver", BOXES[0], stdin=text_of(token, 100))
        self.assert_found("had gone, and are there")

    def test_a_mail_that_is_there_twice_is_found(self):
        token = self.deliver(BOXES[:1])
        self.node.stored.run_tool("deliver", BOXES[0], stdin=text_of(token, 100))
        self.assert_found("has the ids")

    def test_a_mail_of_another_mailbox_is_found(self):
        token = self.deliver(BOXES[:1])
        self.node.stored.run_tool("deliver", BOXES[1], stdin=text_of(token, 100))
        self.assert_found("is not of this mailbox")

    def test_a_mail_with_another_byte_is_found(self):
        token = self.told.begin(BOXES[:1], self.node.name)
        self.told.note(token, BOXES[0], TAKEN)
        self.node.stored.run_tool("deliver", BOXES[0], stdin=text_of(token, 5000).replace(b"9", b"8", 1))
        self.assert_found("is not as it was sent")

    def test_a_mail_that_was_refused_and_is_there_is_told_of_unless_its_store_was_killed(self):
        token = self.deliver(BOXES[:1])
        self.told.note(token, BOXES[0], REFUSED)
        found = mailload.read_all(self.node, BOXES)
        self.assertRegex(self.told.settle(found, self.node.name)[0], "was refused, and is there")
        self.told.note_kill(self.node.name)
        self.assertEqual(self.told.settle(found, self.node.name), [])

    def test_two_sessions_that_have_a_mailbox_and_delete_are_found(self):
        tokens = [self.deliver(BOXES[:1]), self.deliver(BOXES[:1])]
        sessions = [Session(self.told, BOXES[0], self.node.name) for _ in tokens]
        for session in sessions:
            session.opened()
        for session, token in zip(sessions, tokens):
            session.tries([token])
        sessions[0].ended()
        with self.assertRaisesRegex(Violation, "two sessions had it"):
            sessions[1].ended()


def has_rados_layer():
    result = subprocess.run([harness.program("mail-stored"), "--version"], capture_output=True, text=True, check=False)
    return "rados" in result.stdout + result.stderr


if __name__ == "__main__":
    main()
