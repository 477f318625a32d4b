#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
dnsblv6-policy: what it says to Postfix and to Exim, and that mail flows
whoever is killed. The protocols are spoken by the test; the mail servers are
those of Debian (packages postfix and, unpacked only, exim4-daemon-heavy),
with everything of theirs in the test's directory. Both need root.
"""

import concurrent.futures
import os
import re
import resource
import signal
import socket
import stat

import harness
import mta
from harness import CLASSIC, DEADLINE_S, EX_CONFIG, EX_NOPERM, EX_UNAVAILABLE, ZONE, wait_for
from policy import LISTED, NAME, PROGRAM, SILENT, Connection, PolicyCase, request

LISTED_V6 = "2001:db8:1:2::99"
NEIGHBOUR, NEIGHBOUR_V6 = "192.0.2.65", "2001:db8:1:3::99"
CLEAR = "203.0.113.1"
DUNNO = "action=DUNNO"
REJECT = f"action=REJECT 5.7.1 Service unavailable; {LISTED} is listed by {NAME}"

# As the README has it, for a Postfix of the test's own.
RESTRICTION = ("check_policy_service { unix:dnsblv6-policy/socket, timeout=5s,"
               " default_action=DUNNO }")
IMPATIENT = RESTRICTION.replace("timeout=5s", "timeout=1s, try_limit=1")


def cpu_s(process):
    with open(f"/proc/{process.pid}/stat", encoding="ascii", errors="replace") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Verdicts(PolicyCase):
    def test_listed_unlisted_and_neighbours_of_both_families(self):
        daemon = self.start_policy(self.config(self.serve_list()))
        self.assertEqual(self.ask(LISTED), REJECT)
        self.assertEqual(self.ask(CLEAR), DUNNO)
        self.assertIn(f"{LISTED_V6} is listed by {NAME}", self.ask(LISTED_V6))
        before = self.authority.questions(ZONE)
        with Connection(self.place) as connection:
            self.assertEqual(connection.ask(NEIGHBOUR), DUNNO)
            self.assertEqual(connection.ask(NEIGHBOUR_V6), DUNNO)
            self.assertEqual(connection.ask(LISTED), REJECT)
        self.assertEqual(self.authority.questions(ZONE), before, "a neighbour was asked about")
        counters = self.counters(daemon)
        self.assertEqual((counters["requests"], counters["replies-listed"],
                          counters["replies-clear"]), (6, 3, 3), counters)
        self.assertEqual(len(re.findall(
            rf"^info: .* listed, client={LISTED} score=1 zones={NAME} action=reject state=RCPT$",
            daemon.log(), re.MULTILINE)), 2)

    def test_who_is_exempt_is_let_pass(self):
        self.expect_log("the old allow list holds")
        allow = self.write("allow", "198.51.100.0/24\n")
        daemon = self.start_policy(self.config(
            self.serve_list(), decision=[f"allow-file: {allow}", "exempt: 2001:db8:1::/48"]))
        self.assertEqual(self.ask("198.51.100.7"), DUNNO)
        self.assertEqual(self.ask(LISTED_V6), DUNNO)
        self.assertEqual(self.ask(LISTED, sasl_username="user"), DUNNO)
        self.assertEqual(self.ask(LISTED), REJECT)
        self.assertEqual(self.ask("unknown"), DUNNO)

        # A slip in the list: the old one holds.
        self.write("allow", f"{LISTED}\nnonsense\n")
        daemon.send_signal(signal.SIGHUP)
        daemon.wait_for_log(rf'^error: \[{allow}:2\] allow list refused \("nonsense": ')
        self.assertEqual(self.ask("198.51.100.7"), DUNNO)
        self.assertEqual(self.ask(LISTED), REJECT)
        self.write("allow", f"{LISTED}\n")
        daemon.send_signal(signal.SIGHUP)
        daemon.wait_for_log(r"^info: .* allow list read, networks=1$")
        self.assertEqual(self.ask(LISTED), DUNNO)
        self.assertIn("198.51.100.7 is listed", self.ask("198.51.100.7"))
        counters = self.counters(daemon)
        self.assertEqual((counters["requests-exempt"], counters["requests-authenticated"],
                          counters["requests-addressless"]), (4, 1, 1), counters)

    def test_other_actions(self):
        servers = self.serve_list()
        said = f"score=1 zones={NAME}; {LISTED} is listed by {NAME}"
        for action, reply in (
                ("defer", f"action=DEFER 4.7.1 Service unavailable; {LISTED} is listed by {NAME}"),
                ("warn", f"action=WARN dnsblv6, not refused, {said}"),
                ("prepend", f"action=PREPEND X-DNSBLv6: {said}")):
            with self.subTest(action=action):
                daemon = self.start_policy(self.config(servers, decision=[f"action: {action}"]))
                self.assertEqual(self.ask(LISTED), reply)
                self.assertEqual(self.ask(CLEAR), DUNNO)
                # Whatever the daemon would do, Exim decides by itself.
                self.assertTrue(self.line(LISTED + "\n").startswith("listed 1 "))
                daemon.stop()

    def test_weights_and_a_threshold(self):
        classic = CLASSIC.rstrip(".")
        self.start_policy(self.config(
            self.serve_list(),
            zones=f'[ {NAME}*2, "{classic}=127.0.0.2*3", "{classic}=127.0.0.9*9" ]',
            library=["threshold: 5"], decision=['reject-text: "{score} of {zones} for {address}"']))
        self.assertEqual(self.ask(LISTED),
                         f"action=REJECT 5.7.1 5 of {NAME},{classic} for {LISTED}")
        self.assertEqual(self.ask(CLEAR), DUNNO)

    def test_the_test_point_is_listed_so_that_it_can_be_tried(self):
        self.start_policy(self.config(self.serve_list()))
        with Connection(self.place) as connection:
            connection.send(b"request=smtpd_access_policy\nclient_address=127.0.0.2\n\n")
            connection.socket.shutdown(socket.SHUT_WR)  # as nc -N does
            self.assertEqual(connection.read_all().decode(), REJECT.replace(
                LISTED, "127.0.0.2") + "\n\n")

    def test_a_message_for_many_has_one_header(self):
        self.start_policy(self.config(self.serve_list(), decision=["action: prepend"]))
        with Connection(self.place) as connection:
            for instance in ("1.2", "1.3"):
                self.assertIn("PREPEND", connection.ask(LISTED, instance=instance))
                self.assertEqual(connection.ask(LISTED, instance=instance), DUNNO)
                self.assertEqual(connection.ask(LISTED, instance=instance), DUNNO)

    def test_lines(self):
        self.expect_log("request not understood", "connection cut off")
        self.start_policy(self.config(self.serve_list()))
        listed = f"listed 1 Service unavailable; {LISTED} is listed by {NAME}\n"
        self.assertEqual(self.line(LISTED + "\n"), listed)
        self.assertEqual(self.line(LISTED), listed)  # the end of the stream ends a line
        self.assertEqual(self.line(CLEAR + "\r\n"), "clear\n")
        self.assertEqual(self.line("127.0.0.1\n"), "clear\n")
        self.assertIn(f"{LISTED_V6} is listed", self.line(LISTED_V6 + "\n"))
        self.assertEqual(self.line("nonsense\n"), "unknown\n")
        self.assertEqual(self.line("\n"), "unknown\n")
        self.assertEqual(self.line(""), "")
        self.assertEqual(self.line("1" * 200 + "\n" + CLEAR + "\n"), "unknown\nclear\n")
        self.assertEqual(self.line("9" * 10000 + "\n"), "")
        with Connection(self.lines) as connection:
            connection.send(f"{CLEAR}\n{LISTED}\n{CLEAR}\n".encode())
            self.assertEqual([connection.reply(b"\n") for _ in range(3)],
                             ["clear", listed.rstrip("\n"), "clear"])

    def test_a_line_about_a_client_without_an_address(self):
        """Exim's $sender_host_address is empty in a session of this machine, "exim -bs"."""
        daemon = self.start_policy(self.config(SILENT))
        self.assertEqual(self.line("\n"), "unknown\n")
        counters = self.counters(daemon)
        self.assertEqual(counters["requests-addressless"], 1)
        self.assertEqual(counters["requests-malformed"], 0)

    def test_without_dns_clients_pass_within_the_deadline(self):
        self.start_policy(self.config(SILENT, decision=["deadline: 200ms"]))
        self.assertEqual(self.ask(LISTED), DUNNO)
        self.assertEqual(self.line(LISTED + "\n"), "unknown\n")

    def test_an_outage_is_what_the_administrator_has_chosen(self):
        for policy, reply, line in (
                ("defer", "action=DEFER_IF_PERMIT 4.7.1 Service unavailable, try again later;"
                 f" nothing is known about {LISTED}, no answer from {NAME}", "defer Service"),
                ("closed", "action=REJECT 5.7.1 Service unavailable; nothing is known about"
                 f" {LISTED}, no answer from {NAME}", "listed 1 Service")):
            with self.subTest(policy=policy):
                daemon = self.start_policy(self.config(
                    SILENT, decision=["deadline: 200ms"], library=[f"on-failure: {policy}"]))
                self.assertEqual(self.ask(LISTED), reply)
                self.assertTrue(self.line(LISTED + "\n").startswith(line))
                daemon.stop()

    def test_more_questions_than_may_be_open_pass(self):
        self.expect_log("too much was asked at once")
        daemon = self.start_policy(self.config(SILENT, decision=["deadline: 30s"],
                                               library=["max-requests: 1"]))
        first = self.connect()
        first.send(request(LISTED))
        wait_for(lambda: self.counters(daemon)["requests"] == 1, "the first question")
        self.assertEqual(self.ask(CLEAR), DUNNO)
        self.assertEqual(self.counters(daemon)["replies-busy"], 1)
        daemon.popen.kill()  # it would wait for the first one's answer


class BadInput(PolicyCase):
    """Nobody else is disturbed: after each, another connection is answered."""

    def setUp(self):
        super().setUp()
        self.daemon = self.start_policy(self.config(self.serve_list()))
        self.good = self.connect()
        self.assertEqual(self.good.ask(LISTED), REJECT)

    def assert_undisturbed(self):
        self.assertEqual(self.good.ask(LISTED), REJECT)
        self.assertEqual(self.ask(CLEAR), DUNNO)
        self.assertEqual(self.line(CLEAR + "\n"), "clear\n")

    def test_half_a_request_and_an_end(self):
        data = request(LISTED)
        for size in (1, 20, len(data) - 1):
            with Connection(self.place) as connection:
                connection.send(data[:size])
                connection.socket.shutdown(socket.SHUT_WR)
                self.assertEqual(connection.read_all(), b"")
        half = self.connect()
        half.send(data[:50])  # and nothing more
        self.assert_undisturbed()
        half.send(data[50:])
        self.assertEqual(half.reply(), REJECT)

    def test_a_request_byte_by_byte(self):
        connection = self.connect()
        for byte in request(LISTED):
            connection.send(bytes([byte]))
        self.assertEqual(connection.reply(), REJECT)

    def test_large_requests_with_unknown_attributes(self):
        many = {f"x_{number}": "y" * 70 for number in range(10000)}  # 800 kB
        self.assertEqual(self.ask(LISTED, **many), REJECT)
        self.assertEqual(self.ask(LISTED, x="y" * 900000), REJECT)
        self.assertEqual(self.ask(LISTED, **{"x" * 10000: "=" * 100}), REJECT)
        self.assert_undisturbed()

    def test_a_request_without_an_end_is_cut_off(self):
        connection = self.connect()
        with self.assertRaises(OSError):
            while True:
                connection.send(b"x=y\n" * 10000)
        self.daemon.wait_for_log(r"^warning: .* connection cut off \(a request without an end\)$")
        self.assert_undisturbed()
        self.assertEqual(self.counters(self.daemon)["connections-cut"], 1)

    def test_what_is_no_attribute_lets_the_client_pass(self):
        for bad in ("no equals sign", "=no name", "\0", "\0\0\0=\0"):
            with self.subTest(bad=bad):
                expected = REJECT if bad.startswith("\0\0") else DUNNO
                with Connection(self.place) as connection:
                    connection.send(f"{bad}\n".encode() + request(LISTED))
                    self.assertEqual(connection.reply(), expected)
                    # What follows is a request like any other.
                    self.assertEqual(connection.ask(LISTED), REJECT)
        self.assertEqual(self.ask(f"{LISTED}\0"), DUNNO)
        self.assertEqual(self.ask(LISTED, request="something_else"), DUNNO)
        with Connection(self.place) as connection:
            connection.send(b"\n\nGET / HTTP/1.1\r\n\r\n")
            self.assertEqual([connection.reply(), connection.reply()], [DUNNO, DUNNO])
        self.assert_undisturbed()
        counters = self.counters(self.daemon)
        self.assertEqual(counters["requests-malformed"], 6, counters)
        self.daemon.wait_for_log(r"^warning: .* request not understood, client let pass$")

    def test_the_first_of_two_addresses_holds(self):
        self.assertEqual(self.ask(LISTED, end=f"client_address={CLEAR}\n\n"), REJECT)

    def test_a_thousand_requests_at_once_are_answered_in_order(self):
        addresses = [LISTED if number % 3 == 0 else CLEAR for number in range(1000)]
        connection = self.connect()
        connection.send(b"".join(request(address) for address in addresses))
        replies = [connection.reply() for _ in addresses]
        self.assertEqual(replies, [REJECT if address == LISTED else DUNNO
                                   for address in addresses])
        self.assert_undisturbed()

    def test_who_does_not_take_his_replies_is_read_no_further_and_cut_off(self):
        connection = self.connect()
        connection.socket.setblocking(False)
        data = request(LISTED) * 100
        sent = 0

        def is_full():
            nonlocal sent
            try:
                sent += connection.socket.send(data)
            except BlockingIOError:
                return True
            return False

        wait_for(is_full, "the daemon to read no further")
        memory = harness.anonymous_kb(self.daemon.pid)
        self.assert_undisturbed()
        self.daemon.wait_for_log(
            r"^warning: .* connection cut off \(it does not take its replies\)$")
        self.assert_undisturbed()
        if not harness.IS_SANITIZED:
            self.assertLess(harness.anonymous_kb(self.daemon.pid), memory + 1000)

    def test_a_question_whose_asker_has_gone(self):
        self.daemon.stop()
        self.daemon = self.start_policy(self.config(SILENT, decision=["deadline: 300ms"]))
        for _ in range(20):
            with Connection(self.place) as connection:
                connection.send(request(LISTED))
        wait_for(lambda: self.counters(self.daemon)["replies-unknown"] == 20
                 and self.counters(self.daemon)["connected"] == 0, "all of them to end")


class Sockets(PolicyCase):
    def test_thousands_of_connections(self):
        count = 300 if harness.IS_SANITIZED else 3000
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard < count + 1000:
            self.skipTest(f"{hard} descriptors are too few")
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, count + 500), hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        daemon = self.start_policy(self.config(self.serve_list()))
        self.assertEqual(self.ask(LISTED), REJECT)
        connections = [self.connect() for _ in range(count)]
        for connection in connections:
            connection.send(request(LISTED))
        for connection in connections:
            self.assertEqual(connection.reply(), REJECT)
        self.assertEqual(self.counters(daemon)["connected"], count)
        # Each decision has a line, but a flood of them has not; what is left out is told without another question.
        def lines():
            return len(re.findall(" listed, client=", daemon.log()))

        wait_for(lambda: lines() + sum(map(int, re.findall(r"lines left out, count=(\d+)", daemon.log()))) == count + 1,
                 "what was left out")
        self.assertLess(lines(), count)
        if not harness.IS_SANITIZED:
            self.assertLess(harness.anonymous_kb(daemon.pid), 8000 + 5 * count)

    def test_one_more_than_clients_replaces_the_one_that_was_silent_longest(self):
        daemon = self.start_policy(self.config(self.serve_list(), policy=["clients: 2"]))
        first, second = self.connect(), self.connect()
        self.assertEqual(second.ask(LISTED), REJECT)
        self.assertEqual(first.ask(LISTED), REJECT)
        third = self.connect()
        self.assertEqual(third.ask(CLEAR), DUNNO)
        self.assertIsNone(second.reply())
        self.assertEqual(first.ask(LISTED), REJECT)
        self.assertEqual(self.counters(daemon)["connections-replaced"], 1)

    def test_who_waits_for_an_answer_is_not_replaced(self):
        daemon, go_on = self.start_held("clients: 1")
        first = self.connect()
        first.send(request(LISTED))
        wait_for(lambda: self.counters(daemon)["requests"] == 2, "the question")
        self.assertIsNone(self.ask_or_none(CLEAR))
        go_on()
        self.assertEqual(first.reply(), REJECT)
        self.assertEqual(self.counters(daemon)["connections-refused"], 1)

    def start_held(self, *policy):
        """A daemon that has begun to ask, and what lets its answers come."""
        daemon = self.start_policy(self.config(self.serve_list(), policy=policy, decision=["deadline: 60s"]))
        self.assertEqual(self.ask("198.51.100.8"), DUNNO)
        wait_for(lambda: self.counters(daemon)["connected"] == 0, "the end of this connection")
        return daemon, self.authority.pause(self)

    def test_who_is_idle_gives_way_although_an_older_one_waits(self):
        daemon, go_on = self.start_held("clients: 2")
        waiting = self.connect()
        waiting.send(request(LISTED))
        wait_for(lambda: self.counters(daemon)["requests"] == 2, "the question")
        idle, third = self.connect(), self.connect()
        third.send(request(CLEAR))
        self.assertIsNone(idle.reply())
        go_on()
        self.assertEqual(waiting.reply(), REJECT)
        self.assertEqual(third.reply(), DUNNO)
        self.assertEqual(self.counters(daemon)["connections-replaced"], 1)

    def ask_or_none(self, address):
        try:
            return self.ask(address)
        except OSError:
            return None

    def test_a_question_behind_replies_that_did_not_fit_costs_nothing_while_it_is_open(self):
        daemon = self.start_policy(self.config(SILENT, decision=["deadline: 3s"]))
        exempt = 500
        connection = self.connect(self.lines)
        connection.send(b"::1\n" * exempt + f"{LISTED}\n".encode())  # no more than is read at once
        wait_for(lambda: self.counters(daemon)["requests"] > 0, "the daemon to reply")
        if self.counters(daemon)["requests"] >= exempt:
            self.skipTest("sockets of this system have room for all replies")
        self.assertEqual({connection.reply(b"\n") for _ in range(exempt)}, {"clear"})
        before_s = cpu_s(daemon)
        self.assertEqual(connection.reply(b"\n"), "unknown")
        self.assertLess(cpu_s(daemon) - before_s, 0.25)  # one that turns has all that there is

    def test_tcp_on_loopback_alone(self):
        port = self.free_port()
        servers = self.serve_list()
        with open(self.config(servers), encoding="ascii") as file:
            text = file.read()
        both = text.replace(f"listen: {self.place}",
                            f"listen: [ {self.place}, {self.host}@{port} ]")
        self.start_policy(self.write("tcp.conf", both))
        with Connection((self.host, port)) as connection:
            self.assertEqual(connection.ask(LISTED), REJECT)
        self.assertEqual(self.ask(LISTED), REJECT)
        for place in ("192.0.2.1@10030", "0.0.0.0@10030", "relative/path", f"{self.host}@0",
                      f"{self.host}", f"{self.host}@99999"):
            with self.subTest(place=place):
                refused = self.run_policy("--check", "--config", self.write(
                    "bad.conf", text.replace(self.place, place)))
                self.assertEqual(refused.returncode, EX_CONFIG, refused.stderr)
                self.assertIn("permitted are an absolute path", refused.stderr)

    def test_mode_and_group_of_sockets(self):
        self.start_policy(self.config(SILENT, policy=["socket-mode: 600"]))
        for path in (self.place, self.lines):
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)

    def test_what_is_in_the_way(self):
        config = self.config(SILENT)
        first = self.start_policy(config)
        refused = self.run_policy("--config", config)
        self.assertEqual(refused.returncode, EX_UNAVAILABLE)
        self.assertIn("socket not opened", refused.stderr)
        self.assertEqual(self.ask("unknown"), DUNNO)  # the first one still has it
        first.popen.kill()
        first.popen.wait()
        self.assertTrue(os.path.exists(self.place))
        second = self.start_policy(config)  # takes the place of what was left
        self.assertEqual(self.ask("unknown"), DUNNO)
        self.assertEqual(second.stop(), 0)
        self.assertFalse(os.path.exists(self.place))
        self.write("policy", "a file")
        refused = self.run_policy("--config", config)
        self.assertEqual(refused.returncode, EX_UNAVAILABLE)
        self.assertIn(f"socket not opened, place={self.place} (File exists)", refused.stderr)
        self.assertTrue(os.path.exists(self.place))

    def test_a_start_that_fails_leaves_no_socket_in_the_way_of_the_next(self):
        mta.need_root()
        spool = self.path("spool")
        os.mkdir(spool)
        os.chown(spool, 65534, 65534)
        self.place = os.path.join(spool, "socket")
        program = self.readable_program(PROGRAM)
        config = self.config(SILENT, policy=["socket-group: mail"])
        refused = mta.run_as_nobody(program, "--config", config)
        self.assertEqual(refused.returncode, EX_NOPERM)
        self.assertIn(f"place={self.place} (\"socket-group\" is not one of ", refused.stderr)
        self.assertEqual(os.listdir(spool), [])

    def test_a_socket_that_cannot_be_connected_to_is_said_to_be_one(self):
        mta.need_root()
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(self.place)
        os.chmod(self.place, 0)
        refused = mta.run_as_nobody(self.readable_program(PROGRAM), "--config", self.config(SILENT))
        self.assertEqual(refused.returncode, EX_NOPERM)
        self.assertIn(f"place={self.place} (Permission denied)", refused.stderr)
        self.assertTrue(os.path.exists(self.place))

    def test_as_another_user_in_a_directory_that_is_not_his(self):
        mta.need_root()
        private = self.path("private")
        os.mkdir(private, 0o700)
        self.place = os.path.join(private, "dnsblv6-policy")
        program = self.readable_program(PROGRAM)
        config = self.config(self.serve_list(), policy=["user: nobody", "socket-group: mail"])
        daemon = self.start([program, "--config", config], "policy")
        daemon.wait_for_log(r"^info: \[dnsblv6-policy\] ready, ")
        self.assertEqual(self.ask(LISTED), REJECT)
        with open(f"/proc/{daemon.pid}/status", encoding="ascii") as file:
            self.assertRegex(file.read(), r"\nUid:\t(\d{4,})\t\1\t\1\t\1\n")
        self.assertEqual(daemon.stop(), 0)

    def test_an_allow_list_that_the_user_cannot_read_again_is_told_before_a_reload(self):
        mta.need_root()
        self.place = os.path.join(self.path("private"), "dnsblv6-policy")
        os.mkdir(self.path("private"), 0o700)
        allow = self.write("allow", "192.0.2.1\n")
        config = self.config(SILENT, policy=["user: nobody"], decision=[f"allow-file: {allow}"])
        told = f"warning: [{allow}] allow list cannot be read again, reloads will be refused (Permission denied)\n"
        for mode, said in ((0o644, ""), (0o600, told)):
            os.chmod(allow, mode)
            checked = self.run_policy("--check", "--config", config)
            self.assertEqual((checked.returncode, checked.stdout, checked.stderr), (0, "configuration OK\n", said))
        program = self.readable_program(PROGRAM)
        daemon = self.start([program, "--config", config], "policy")
        daemon.wait_for_log(f"^{re.escape(told.rstrip())}$")
        daemon.wait_for_log(r"^info: \[dnsblv6-policy\] ready, ")
        self.assertEqual(daemon.stop(), 0)


class Life(PolicyCase):
    def test_it_ends_when_all_questions_have_their_replies(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            daemon = self.start_policy(self.config(SILENT, decision=["deadline: 1s"]))
            idle, asking = self.connect(), self.connect()
            asking.send(request(LISTED))
            wait_for(lambda: self.counters(daemon)["requests"] == 1, "the question")
            daemon.send_signal(number)
            self.assertIsNone(idle.reply())
            self.assertEqual(asking.reply(), DUNNO)
            self.assertIsNone(asking.reply())
            self.assertEqual(daemon.popen.wait(DEADLINE_S), 0)
            daemon.wait_for_log(r"^info: \[dnsblv6-policy\] stopped$")

    def test_it_ends_although_somebody_takes_no_replies(self):
        daemon = self.start_policy(self.config(self.serve_list(), decision=["deadline: 100ms"]))
        connection = self.connect()
        connection.socket.setblocking(False)

        def is_full():
            try:
                connection.socket.send(request(LISTED) * 100)
            except BlockingIOError:
                return True
            return False

        wait_for(is_full, "the daemon to read no further")
        self.assertEqual(daemon.stop(), 0)

    def test_metrics(self):
        path = self.path("metrics.prom")
        daemon = self.start_policy(self.config(self.serve_list(), policy=[f"metrics: {path}"]))
        wait_for(lambda: os.path.exists(path), "the metrics")
        self.ask(LISTED)
        self.assertEqual(daemon.stop(), 0)
        with open(path, encoding="ascii") as file:
            text = file.read()
        self.assertIn("\ndnsblv6_policy_requests_total 1\n", text)
        self.assertIn("\ndnsblv6_policy_replies_listed_total 1\n", text)
        self.assertIn(f'\ndnsblv6_policy_zone_state{{zone="{NAME}"}} 1\n', text)

    def test_bad_configurations(self):
        good = self.config(SILENT)
        self.assertEqual(self.run_policy("--check", "--config", good).stdout, "configuration OK\n")
        allow = self.write("allow", "192.0.2.1\n300.0.0.1\n")
        for name, text in {
                "no zone": "policy:\n",
                "no such item": "policy:\n    port: 25\n",
                "no such action": f"decision:\n    action: drop\nlibrary:\n    zones: {NAME}\n",
                "a bad allow list": f"decision:\n    allow-file: {allow}\nlibrary:\n"
                                    f"    zones: {NAME}\n",
        }.items():
            with self.subTest(name=name):
                refused = self.run_policy("--check", "--config", self.write("bad.conf", text))
                self.assertEqual(refused.returncode, EX_CONFIG)
                self.assertRegex(refused.stderr,
                                 r"\Aerror: \[.*\] configuration (refused|not read)")
                self.assertEqual(refused.stderr.count("\n"), 1)
        self.assertIn("300.0.0.1", refused.stderr)
        self.assertIn(f"{allow}:2", refused.stderr)


class WithPostfix(PolicyCase):
    """Postfix asks at RCPT; XCLIENT gives sessions their addresses."""

    def start_postfix(self, restriction=RESTRICTION, **how):
        return mta.Postfix(self, main=[
            "smtpd_recipient_restrictions = reject_unauth_destination,",
            f"  {restriction}"], **how)

    def start_both(self, restriction=RESTRICTION, **how):
        """The daemon's socket is where its unit makes a directory for it."""
        postfix = self.start_postfix(restriction, discard=how.pop("discard", False))
        directory = os.path.join(postfix.queue, "dnsblv6-policy")
        os.mkdir(directory)
        os.chown(directory, 0, postfix.user.pw_gid)
        os.chmod(directory, 0o2750)
        self.place = os.path.join(directory, "socket")
        config = self.config(how.pop("servers", None) or self.serve_list(), **how)
        return postfix, config, self.start_policy(config)

    def test_listed_clients_are_refused_with_the_text_and_others_deliver(self):
        postfix, _, daemon = self.start_both(
            servers=self.serve_list("--reason", "https://bl.example/?ip=$"))
        for client in (LISTED, LISTED_V6):
            outcome = mta.send(postfix.address, client)
            self.assertTrue(outcome.is_refused, outcome)
            self.assertTrue(outcome.text.endswith(
                f"{client} is listed by {NAME}, see https://bl.example/?ip={client}"), outcome)
            self.assertIn("5.7.1", outcome.text)
        for client in (CLEAR, "2001:db8:9::1"):
            self.assertTrue(mta.send(postfix.address, client).is_accepted)
        postfix.wait_for_delivered(2)
        before = self.authority.questions(ZONE)
        for client in (NEIGHBOUR, NEIGHBOUR_V6):
            self.assertTrue(mta.send(postfix.address, client).is_accepted)
        postfix.wait_for_delivered(4)
        self.assertEqual(self.authority.questions(ZONE), before, "a neighbour was asked about")
        self.assertEqual(self.counters(daemon)["replies-listed"], 2)

    def test_a_header_and_a_warning(self):
        postfix, _, daemon = self.start_both(decision=["action: prepend"])
        self.assertTrue(mta.send(postfix.address, LISTED).is_accepted)
        self.assertIn(f"X-DNSBLv6: score=1 zones={NAME}; {LISTED} is listed".encode(),
                      postfix.wait_for_delivered(1)[0])
        daemon.stop()
        self.start_policy(self.config(f"{self.authority.address[0]}@{self.authority.address[1]}",
                                      decision=["action: warn"]))
        self.assertTrue(mta.send(postfix.address, LISTED).is_accepted)
        postfix.wait_for_log(f"warn: RCPT from .*{LISTED}.*: dnsblv6, not refused, score=1 ")

    def test_kill_9_in_the_middle_of_a_hundred_sessions(self):
        postfix, config, daemon = self.start_both(discard=True)
        clients = [f"203.0.113.{host}" for host in range(1, 101)]
        killed = []

        def kill_soon():
            self.assert_asked(daemon, 5)
            daemon.popen.kill()
            daemon.popen.wait()
            killed.append(True)

        outcomes = self.send_while(postfix, clients, kill_soon)
        self.assertTrue(killed)
        self.assertEqual([o.replies for o in outcomes if o.trouble or not o.is_accepted], [])

        # Nobody is refused while it is gone, and listed clients are when it is back.
        self.assertTrue(mta.send(postfix.address, LISTED).is_accepted)
        self.start_policy(config)
        wait_for(lambda: mta.send(postfix.address, LISTED).is_refused, "the service to resume")

    def assert_asked(self, daemon, count):
        wait_for(lambda: self.counters(daemon)["requests"] >= count, "sessions to begin")

    def send_while(self, postfix, clients, do):
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            doing = pool.submit(do)
            outcomes = mta.send_all(postfix.address, clients, parallel=50)
            doing.result()
        return outcomes

    def test_it_is_restarted_in_the_middle_of_sessions(self):
        postfix, config, daemon = self.start_both(discard=True)

        def restart():
            self.assert_asked(daemon, 5)
            self.assertEqual(daemon.stop(), 0)
            self.start_policy(config)

        outcomes = self.send_while(postfix, [LISTED, CLEAR] * 20, restart)
        for outcome in outcomes:
            self.assertEqual([code for code in outcome.codes if 400 <= code < 500], [])
            if outcome.client == CLEAR:
                self.assertTrue(outcome.is_accepted, outcome)

    def test_no_resolver_and_no_daemon_at_all(self):
        postfix, _, daemon = self.start_both(servers=SILENT, decision=["deadline: 200ms"])
        self.assertTrue(mta.send(postfix.address, LISTED).is_accepted)
        daemon.stop()
        self.assertTrue(mta.send(postfix.address, LISTED).is_accepted)
        postfix.wait_for_delivered(2)
        postfix.wait_for_log("problem talking to server dnsblv6-policy/socket")

    def test_a_daemon_that_hangs(self):
        postfix, _, daemon = self.start_both(IMPATIENT)
        self.assertTrue(mta.send(postfix.address, LISTED).is_refused)
        daemon.send_signal(signal.SIGSTOP)
        self.assertTrue(mta.send(postfix.address, LISTED).is_accepted)
        daemon.send_signal(signal.SIGCONT)
        wait_for(lambda: mta.send(postfix.address, LISTED).is_refused, "the service to resume")

    def test_the_shared_cache_is_restarted(self):
        servers = self.serve_list()
        shared = self.path("shared")
        cached_config = self.write("cached.conf", "\n".join([
            "cached:", f"    directory: {shared}", "zone:", f"  - domain: {NAME}",
            "library:", f"    servers: {servers}"]) + "\n")

        def start_cached():
            cached = self.start([harness.program("dnsblv6-cached"), "--config", cached_config],
                                "cached")
            cached.wait_for_log(r"^info: \[dnsblv6-cached\] ready, ")
            return cached

        cached = start_cached()
        postfix, _, _ = self.start_both(servers=servers, library=[f"shared: {shared}"])
        self.assertTrue(mta.send(postfix.address, LISTED).is_refused)
        cached.popen.kill()
        cached.popen.wait()
        self.assertTrue(mta.send(postfix.address, LISTED).is_refused)
        self.assertTrue(mta.send(postfix.address, CLEAR).is_accepted)
        start_cached()
        self.assertTrue(mta.send(postfix.address, LISTED).is_refused)
        self.assertTrue(mta.send(postfix.address, "203.0.113.200").is_accepted)


class WithExim(PolicyCase):
    """The lines of the manual, in the ACL for RCPT."""

    def acl(self):
        manual = os.path.join(harness.SOURCE, "integration/adapters/postfix/dnsblv6-policy.8")
        with open(manual, encoding="ascii") as file:
            text = file.read()
        found = re.search(r"^\.Bd -literal[^\n]*\n(warn +condition = .*?)^\.Ed$", text,
                          re.MULTILINE | re.DOTALL)
        return found[1].replace("\\e", "\\").replace("/run/dnsblv6-policy/lines",
                                                       self.lines).splitlines()

    def test_listed_clients_are_refused_and_others_are_not(self):
        exim = mta.Exim(self, acl=self.acl())
        daemon = self.start_policy(self.config(self.serve_list(), policy=["socket-mode: 666"]))
        for client in (LISTED, LISTED_V6):
            outcome, _ = exim.bh(client)
            self.assertTrue(outcome.is_refused, outcome)
            self.assertIn(f"{client} is listed by {NAME}", outcome.text)
        before = self.authority.questions(ZONE)
        for client in (NEIGHBOUR, NEIGHBOUR_V6):
            outcome, _ = exim.bh(client)
            self.assertEqual(outcome.trouble, [], outcome)
        self.assertEqual(self.authority.questions(ZONE), before, "a neighbour was asked about")
        daemon.popen.kill()
        daemon.popen.wait()
        outcome, _ = exim.bh(LISTED)
        self.assertEqual(outcome.trouble, [], "the daemon is gone")

    def test_an_outage_that_defers(self):
        exim = mta.Exim(self, acl=self.acl())
        self.start_policy(self.config(SILENT, policy=["socket-mode: 666"],
                                      decision=["deadline: 200ms"],
                                      library=["on-failure: defer"]))
        outcome, _ = exim.bh(LISTED)
        self.assertEqual([code for _, code, _ in outcome.trouble], [451], outcome)
        self.assertIn("answer from", outcome.text)  # of a text that Exim has wrapped


if __name__ == "__main__":
    harness.main()
