#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
dnsblv6-policy: what it says to Postfix and to Exim, and that mail flows
whoever is killed. The protocols are spoken by the test; the mail servers are
those of Debian (packages postfix and, unpacked only, exim4-daemon-heavy),
with everything of theirs in the test's directory. Both need root.
"""

import os
import re
import resource
import signal
import socket
import stat
import subprocess
import time

import harness
import mta
from harness import BUILD, DEADLINE_S, EX_CONFIG, EX_NOPERM, ZONE, Case, sanitizer_reports, wait_for

PROGRAM = os.path.join(BUILD, "integration/postfix/dnsblv6-policy")
NAME = ZONE.rstrip(".")
EX_UNAVAILABLE = 69
LIST = ["192.0.2.66", "198.51.100.7", "2001:db8:1:2::/64"]
LISTED, LISTED_V6 = "192.0.2.66", "2001:db8:1:2::99"
NEIGHBOUR, NEIGHBOUR_V6 = "192.0.2.65", "2001:db8:1:3::99"
CLEAR = "203.0.113.1"
DUNNO = "action=DUNNO"
REJECT = f"action=REJECT 5.7.1 Service unavailable; {LISTED} is listed by {NAME}"
SILENT = "127.0.0.1@9"  # discard: nobody answers there

# As the README has it, for a Postfix of the test's own.
RESTRICTION = ("check_policy_service {{ {place}, timeout=10s, try_limit=2, retry_delay=1s,"
               " default_action=DUNNO }}")


def request(address=LISTED, end="\n", **attributes):
    """The bytes of a request."""
    attributes = {"request": "smtpd_access_policy", "protocol_state": "RCPT",
                  "protocol_name": "ESMTP", "client_address": address, "client_name": "unknown",
                  "sender": "sender@example.net", "recipient": "inbox@example.com",
                  "sasl_username": "", "ccert_subject": "", **attributes}
    return ("".join(f"{name}={value}\n" for name, value in attributes.items()) + end).encode()


class Connection:
    """To the daemon; replies are waited for up to the deadline."""

    def __init__(self, place):
        family = socket.AF_UNIX if isinstance(place, str) else socket.AF_INET
        self.socket = socket.socket(family, socket.SOCK_STREAM)
        self.socket.settimeout(DEADLINE_S)
        self.socket.connect(place)
        self.rest = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def receive(self):
        """Nothing when it is closed, also when what we sent was not read before."""
        try:
            return self.socket.recv(65536)
        except ConnectionResetError:
            return b""

    def reply(self, end=b"\n\n"):
        """None when the connection is closed."""
        while end not in self.rest:
            more = self.receive()
            if not more:
                return None
            self.rest += more
        reply, self.rest = self.rest.split(end, 1)
        return reply.decode()

    def ask(self, *arguments, **attributes):
        self.send(request(*arguments, **attributes))
        return self.reply()

    def read_all(self):
        """Until it is closed."""
        data = self.rest
        while more := self.receive():
            data += more
        return data


class PolicyCase(Case):
    def setUp(self):
        super().setUp()
        self.place = self.path("policy")
        self.lines = self.path("lines")

    def config(self, servers, policy=(), decision=(), library=(), zones=NAME):
        lines = ["policy:", f"    listen: {self.place}", f"    lines: {self.lines}"]
        lines += [f"    {line}" for line in policy]
        lines += ["decision:"] + [f"    {line}" for line in decision]
        lines += ["library:", f"    zones: {zones}", f"    servers: {servers}"]
        lines += [f"    {line}" for line in library]
        return self.write("policy.conf", "\n".join(lines) + "\n")

    def start_policy(self, config, **how):
        daemon = self.start([PROGRAM, "--config", config], "policy",
                            **how)
        daemon.wait_for_log(r"^info: \[dnsblv6-policy\] ready, ")
        return daemon

    def serve_list(self, lines=None):
        self.authority = mta.Authority(self, lines or LIST)
        return f"{self.authority.address[0]}@{self.authority.address[1]}"

    def run_policy(self, *arguments):
        result = subprocess.run([PROGRAM, *arguments],
                                capture_output=True, text=True, check=False, timeout=DEADLINE_S)
        self.assertEqual(sanitizer_reports(result.stderr), [])
        return result

    def connect(self, place=None):
        connection = Connection(place or self.place)
        self.addCleanup(connection.socket.close)
        return connection

    def ask(self, *arguments, **attributes):
        """On a connection of its own."""
        with Connection(self.place) as connection:
            return connection.ask(*arguments, **attributes)

    def line(self, text):
        """What Exim's readsocket gets."""
        with Connection(self.lines) as connection:
            connection.send(text.encode())
            connection.socket.shutdown(socket.SHUT_WR)
            return connection.read_all().decode()

    def counters(self, daemon):
        count = len(re.findall("counters, connected=", daemon.log()))
        daemon.send_signal(signal.SIGUSR1)
        found = daemon.wait_for_log(r"^info: .*counters, (.*)", count + 1)
        return {key: int(value) for key, value in re.findall(r"([\w-]+)=(\d+)", found[-1])}


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

    def test_a_message_for_many_has_one_header(self):
        self.start_policy(self.config(self.serve_list(), decision=["action: prepend"]))
        with Connection(self.place) as connection:
            for instance in ("1.2", "1.3"):
                self.assertIn("PREPEND", connection.ask(LISTED, instance=instance))
                self.assertEqual(connection.ask(LISTED, instance=instance), DUNNO)
                self.assertEqual(connection.ask(LISTED, instance=instance), DUNNO)

    def test_lines(self):
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
        daemon = self.start_policy(self.config(SILENT, decision=["deadline: 30s"],
                                               library=["max-requests: 1"]))
        first = self.connect()
        first.send(request(LISTED))
        wait_for(lambda: self.counters(daemon)["requests"] == 1, "the first question")
        self.assertEqual(self.ask(CLEAR), DUNNO)
        self.assertEqual(self.counters(daemon)["replies-busy"], 1)


if __name__ == "__main__":
    harness.main()
