#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
mail-cluster beside its manual, what it prints of answers, and what it ends with.

The daemon is one of this test, that says what a cluster might, and mail-stored with a store of one
machine, which has no cluster.
"""

import array
import errno
import os
import re
import socket
import subprocess
import threading

import harness
import stored
from harness import EX_DATAERR, EX_TEMPFAIL, EX_USAGE, SOURCE, program, sanitizer_reports

MANUAL = os.path.join(SOURCE, "integration/mail/mail-cluster/mail-cluster.8")
EX_NOINPUT, EX_UNAVAILABLE, EX_IOERR = 66, 69, 74
WELL, DEGRADED, DOWN = 0, 1, 2
EOPNOTSUPP = -95
NODES_TEXT = "node=a slot=1 state=up self=yes\nnode=b slot=2 state=dead beat-age=31\n"


class Daemon(threading.Thread):
    """Answers each question of CLUSTER, and LOCATE, with the text or the status that it has for it."""

    def __init__(self, path, answers, does_greet=True):
        super().__init__(daemon=True)
        self.answers, self.does_greet = answers, does_greet
        self.asked = []
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.bind(path)
        self.socket.listen()
        self.start()

    def run(self):
        while True:
            try:
                peer, _ = self.socket.accept()
            except OSError:
                return
            with peer:
                self.serve(peer)

    def serve(self, peer):
        if not self.does_greet:
            peer.recv(1)
            return
        peer.send(self.reply(stored.HELLO, 0, 0, b""))
        while True:
            packet, control, _, _ = peer.recvmsg(1 << 17, socket.CMSG_SPACE(64))
            if not packet:
                return
            _, kind, _, _, serial, number, size, _, _, name_size = stored.REQUEST.unpack_from(packet)
            name = packet[stored.REQUEST.size:stored.REQUEST.size + name_size]
            memory = packet[stored.REQUEST.size + name_size:]
            for _, _, data in control:
                for fd in array.array("i", data):
                    with open(fd, "rb") as file:
                        memory = os.pread(file.fileno(), size, 0)
            question = number if kind == stored.CLUSTER else "locate"
            self.asked.append((question, name, memory))
            answer = self.answers.get(question, EOPNOTSUPP)
            peer.send(self.reply(kind, serial, answer, b"") if isinstance(answer, int) else
                      self.reply(kind, serial, 0, answer.encode()))

    @staticmethod
    def reply(kind, serial, status, rows):
        return stored.REPLY.pack(b"Msa1", kind, serial, status, rows.count(b"\n"), 0,
                                 bytes(16)) + rows

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


class Tool(harness.Case):
    def setUp(self):
        super().setUp()
        self.socket = self.path("socket")

    def daemon(self, answers, **how):
        daemon = Daemon(self.socket, answers, **how)
        self.addCleanup(daemon.close)
        return daemon

    def call(self, command, *arguments, expect=0, has_store=True):
        """What it prints, and what it logs."""
        store = ["--store", self.socket] if has_store else []
        result = subprocess.run([program("mail-cluster"), command, *store, *arguments], check=False,
                                capture_output=True, text=True, timeout=harness.DEADLINE_S)
        self.assertEqual(sanitizer_reports(result.stderr), [])
        self.assertEqual(result.returncode, expect, result.stderr)
        return result.stdout, result.stderr


class Manual(Tool):
    def test_the_manual_has_each_command_and_each_option_and_no_other(self):
        with open(MANUAL, encoding="ascii") as file:
            page = file.read()
        commands = re.findall(r"(?m)^  (\w+) ", self.call("--help", has_store=False)[0])
        items = re.findall(r"(?m)^\.It Cm (\w+)", page)
        self.assertEqual(sorted(set(items)), sorted(commands))
        rows = set()
        for command in commands:
            told, _ = self.call(command, "--help", has_store=False)
            rows.update(re.findall(r"(?m)^ +(?:-(\w), )?--([\w-]+)", told))
        items = re.findall(r"(?m)^\.It (?:Fl (\w) (?:Ar \w+ )?, )?Fl -([\w-]+)", page)
        self.assertEqual(sorted(items), sorted(rows))

    def test_wrong_use_is_one_line(self):
        for words in (["nodes", "x"], ["health", "x"], ["check", "x"], ["repair", "--deep"],
                      ["where"], ["where", "a", "b"], ["users"], ["users", "put"], ["users", "show", "x"],
                      ["users", "get"], ["nodes", "--timeout", "0"], ["nothing"]):
            with self.subTest(words=words):
                _, said = self.call(*words, expect=EX_USAGE, has_store=False)
                self.assertEqual(said.count("\n"), 1, said)


class Answers(Tool):
    def test_nodes_are_a_table(self):
        self.daemon({stored.NODES: NODES_TEXT})
        told, _ = self.call("nodes")
        self.assertEqual(told, "node  slot  state  self  beat-age\n"
                               "a     1     up     yes   -\n"
                               "b     2     dead   -     31\n")

    def test_health_ends_with_what_a_monitor_takes(self):
        for state, status in (("well", WELL), ("degraded", DEGRADED), ("down", DOWN),
                              ("splendid", DOWN)):
            with self.subTest(state=state):
                self.socket = self.path(state)
                self.daemon({stored.HEALTH: f"state={state}\nthing=copies wanted=3 had=2\n"
                                            "thing=engine text=1 osds down\n"})
                told, _ = self.call("health", expect=status)
                self.assertEqual(told, f"state           {state}\n"
                                       "copies          wanted=3 had=2\n"
                                       "engine          1 osds down\n")

    def test_health_is_down_where_no_state_is_said_or_nothing_answers(self):
        daemon = self.daemon({stored.HEALTH: "thing=copies wanted=3\n"})
        self.call("health", expect=DOWN)
        daemon.answers[stored.HEALTH] = -110
        told, said = self.call("health", expect=DOWN)
        self.assertRegex(told, r"^state +down\n$")
        self.assertIn(f"error: health not known, store={self.socket} (", said)
        self.socket = self.path("none")
        self.call("health", expect=DOWN)

    def test_a_check_ends_with_what_it_has_found(self):
        rows = (("few-copies=0 orphans=0 missing=0 damaged=0", WELL, WELL),
                ("few-copies=1 orphans=0 missing=0 damaged=0", DEGRADED, DEGRADED),
                ("few-copies=0 orphans=1 missing=0 damaged=0", DEGRADED, WELL),
                ("few-copies=1 orphans=1 missing=1 damaged=0", DOWN, DOWN),
                ("few-copies=0 orphans=0 missing=0 damaged=1", DOWN, DOWN))
        for number, (words, checked, repaired) in enumerate(rows):
            with self.subTest(words=words):
                self.socket = self.path(f"socket{number}")
                text = f"thing=found text=b.1: something\nmails=12 {words}\n"
                daemon = self.daemon({stored.CLUSTER_CHECK: text, stored.CLUSTER_CHECK_DEEP: text,
                                      stored.REPAIR: text})
                expected = ("b.1: something\nmails\t12\n" +
                            "".join(word.replace("=", "\t") + "\n" for word in words.split()))
                for command in (["check"], ["check", "--deep"]):
                    self.assertEqual(self.call(*command, expect=checked)[0], expected)
                self.assertEqual(self.call("repair", expect=repaired)[0], expected)
                self.assertEqual([asked[0] for asked in daemon.asked],
                                 [stored.CLUSTER_CHECK, stored.CLUSTER_CHECK_DEEP, stored.REPAIR])

    def test_a_check_without_numbers_is_none(self):
        self.daemon({stored.CLUSTER_CHECK: "thing=found text=x\n"})
        self.call("check", expect=DOWN)

    def test_a_mailbox_is_on_the_node_that_is_told_or_else_on_all(self):
        daemon = self.daemon({"locate": "node=b host=192.0.2.2 port=24 up=yes self=no\n",
                              stored.NODES: NODES_TEXT})
        told, _ = self.call("where", "anna@example.org")
        self.assertEqual(told.splitlines()[1].split(), ["b", "192.0.2.2", "24", "yes", "no"])
        self.assertEqual(daemon.asked, [("locate", b"anna@example.org", b"")])
        del daemon.answers["locate"]
        told, _ = self.call("where", "anna@example.org")
        self.assertEqual([line.split()[0] for line in told.splitlines()], ["node", "a", "b"])
        self.call("where", "x" * 256, expect=EX_USAGE)

    def test_what_is_no_answer_is_refused(self):
        daemon = self.daemon({stored.NODES: "NODE a\n"})
        for text in ("NODE a\n", "node=a", "node=a\x00b\n"):
            daemon.answers[stored.NODES] = text
            _, said = self.call("nodes", expect=EX_DATAERR)
            self.assertIn("error: nodes not known, store=", said)

    def test_a_daemon_that_does_not_answer_is_waited_for_as_long_as_was_said(self):
        self.daemon({}, does_greet=False)
        _, said = self.call("nodes", "--timeout", "1", expect=EX_TEMPFAIL)
        self.assertIn("error: nodes not known, store=", said)


class Users(Tool):
    def build(self, lines, prefix=""):
        database, logins = (self.path(f"{prefix}{name}.mdb") for name in ("users", "logins"))
        subprocess.run([program("smtp-front-users"), "build", "--database", database, "--logins", logins,
                        "-x", "+", "-"], input=lines, text=True, check=True, capture_output=True,
                       timeout=harness.DEADLINE_S)
        return logins

    def dump(self, database):
        return subprocess.run([program("smtp-front-users"), "dump", "--database", database], text=True,
                              check=True, capture_output=True, timeout=harness.DEADLINE_S).stdout

    def test_all_of_a_database_goes_to_the_cluster(self):
        for count in (3, 3000):
            with self.subTest(count=count):
                self.socket = self.path(f"socket{count}")
                daemon = self.daemon({stored.USERS_PUT: ""})
                logins = self.build("".join(f"user{i}@example.org octets=1G\n" for i in range(count)))
                _, said = self.call("users", "put", logins)
                self.assertIn(f"info: [{logins}] users given to the cluster, addresses={count} ", said)
                (state, *_), (question, _, memory) = daemon.asked
                self.assertEqual(state, stored.USERS_STATE)
                head, lines = memory.decode().split("\n", 1)
                self.assertEqual(question, stored.USERS_PUT)
                self.assertRegex(head, r"^# users 1 fold=yes extension=\+ built=\d+$")
                self.assertEqual(lines, self.dump(logins))

    def test_what_is_no_database_does_not_go_anywhere(self):
        daemon = self.daemon({stored.USERS_PUT: ""})
        self.write("text", "anna@example.org\n")
        _, said = self.call("users", "put", self.path("text"), expect=EX_DATAERR)
        self.assertIn(f"error: [{self.path('text')}] database not given to the cluster (", said)
        self.call("users", "put", self.path("none"), expect=EX_NOINPUT)
        self.assertEqual(daemon.asked, [])

    def test_a_database_that_the_daemon_makes_is_not_given_to_it(self):
        logins = self.build("anna@example.org\n")
        users = self.path("users.mdb")
        os.symlink(logins, self.path("link"))
        for at, (path, status) in enumerate(((logins, EX_USAGE), (users, EX_USAGE), (self.path("link"), EX_USAGE),
                                             (self.build("bert@example.org\n", "new-"), 0))):
            with self.subTest(path=path):
                self.socket = self.path(f"socket{at}")
                daemon = self.daemon({stored.USERS_STATE: f"version=5 taken=yes users={users} logins={logins}\n",
                                      stored.USERS_PUT: ""})
                _, said = self.call("users", "put", path, expect=status)
                self.assertEqual([question for question, *_ in daemon.asked],
                                 [stored.USERS_STATE] + [stored.USERS_PUT] * (status == 0))
                self.assertIn(f"[{path}] " + ("database not given to the cluster (mail-stored makes it" if status else
                                              "users given to the cluster"), said)

    def test_a_list_that_the_cluster_does_not_take_is_said_so(self):
        users = self.build("anna@example.org\n")
        with open(MANUAL, encoding="ascii") as file:
            told = re.findall(r"(?m)^\.It (\d+)$", file.read())
        for refusal, status in ((errno.ETIMEDOUT, EX_TEMPFAIL), (errno.ESHUTDOWN, EX_TEMPFAIL),
                                (errno.EBADMSG, EX_DATAERR), (errno.ENOSPC, EX_IOERR)):
            with self.subTest(refusal=refusal):
                self.socket = self.path(f"socket-{refusal}")
                self.daemon({stored.USERS_PUT: -refusal})
                _, said = self.call("users", "put", users, expect=status)
                self.assertIn(f"error: users not given to the cluster, store={self.socket} (", said)
                self.assertIn(str(status), told)

    def test_which_list_there_is_is_shown(self):
        self.daemon({stored.USERS_STATE: "version=1790000000 size=1234\n"})
        self.assertEqual(self.call("users", "show")[0], "version     size\n1790000000  1234\n")


class OneMachine(Tool):
    def test_a_store_of_one_machine_has_no_cluster(self):
        daemon = stored.Stored(self)
        self.socket = daemon.socket
        for words in (["nodes"], ["health"], ["check"], ["repair"], ["where", "anna"], ["users", "show"]):
            with self.subTest(words=words):
                told, said = self.call(*words, expect=EX_UNAVAILABLE)
                self.assertEqual(told, "")
                self.assertIn(f"store={self.socket} (the store there has no cluster", said)


if __name__ == "__main__":
    harness.main()
