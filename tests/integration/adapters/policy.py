# SPDX-License-Identifier: GPL-3.0-or-later
"""
policy.py - dnsblv6-policy under a test, and its two protocols.

Flow: test_policy.py and test_haraka.py -> PolicyCase writes a configuration, starts the daemon and
      the server with its list -> a Connection asks as Postfix does, line() as Exim does.
"""

import os
import re
import signal
import socket
import subprocess

import mta
from harness import BUILD, DEADLINE_S, ZONE, Case, sanitizer_reports

PROGRAM = os.path.join(BUILD, "integration/adapters/postfix/dnsblv6-policy")
NAME = ZONE.rstrip(".")
LIST = ["192.0.2.66", "198.51.100.7", "2001:db8:1:2::/64"]
LISTED = LIST[0]
SILENT = "127.0.0.1@9"  # discard: nothing answers there


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
        # Who does not wait is told at once that too many wait already.
        self.socket.connect(place)
        self.socket.settimeout(DEADLINE_S)
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
        if not any(line.startswith("deadline: ") for line in decision):
            decision = (*decision, "deadline: 60s")  # the machine may be busy
        lines += ["decision:"] + [f"    {line}" for line in decision]
        lines += ["library:", f"    zones: {zones}", f"    servers: {servers}"]
        lines += [f"    {line}" for line in library]
        return self.write("policy.conf", "\n".join(lines) + "\n")

    def start_policy(self, config, **how):
        daemon = self.start([PROGRAM, "--config", config], "policy",
                            **how)
        daemon.wait_for_log(r"^info: \[dnsblv6-policy\] ready, ")
        return daemon

    def serve_list(self, *options):
        self.authority = mta.Authority(self, LIST, options=options)
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
