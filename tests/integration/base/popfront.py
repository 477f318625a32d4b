# SPDX-License-Identifier: GPL-3.0-or-later
"""
popfront.py - pop-front as a fixture, with the mail-stored that has its mailboxes.

Flow: tests of several rooms -> PopFront writes a list of users and both configurations, and starts the
      programs on free ports -> sessions(), counters() and entries() are what became of a client.

    front = PopFront(self, users={"john@example.org": "secret"}, certificates=[make_certificate(self)])
    front.deliver("john@example.org", b"Subject: x\\r\\n\\r\\nHello\\r\\n")
    socket.create_connection(front.address)     # or front.tls_address, where TLS begins at once
    front.wait_for_sessions(1)[0]["end"]

As root, all processes but the nanny become "nobody", and edges, checkers and the keyholder have a root
directory of their own; else they stay who runs the test. What a test does not say has no limit and no
delay.
"""

import functools
import json
import os
import re
import signal
import subprocess

import harness
from harness import DEADLINE_S, wait_for
from stored import USER, Stored

HOSTNAME = "pop.example.org"
MAILBOX, PASSWORD = "john@example.org", "Secret4all"
ROLES = ("keyholder", "checker", "edge", "worker")
DRAINS = r"^info: \[pop-front\] edge drains, "

# What tests are not about, unless they say so.
DEFAULTS = {
    "pop": {"hostname": HOSTNAME, "edges": 1, "workers": 4, "drain": "1s", "queue-timeout": "10m"},
    # A machine that is busy is no store that is down.
    "store": {"timeout": "5m"},
    "login": {"require-tls": "no", "failures": 1000, "failure-rate": 0, "delay": 0, "timeout": "5m"},
    "limits": {"connections": 0, "rate": 0, "workers": 0, "errors": 10000},
    "tls": {},
    "decision": {},
    "library": {},
}


def make_certificate(case, name=HOSTNAME):
    """CHAIN:KEY of one that has signed itself, in the test's directory."""
    return ":".join(case.make_certificate(name))


@functools.cache
def secret_words(password, *ways):
    """What a line of a list of users has of a password: by default a hash that is quick, and SCRAM's keys.
    They are made once for each password."""
    words = []
    for arguments in ways or (("-m", "sha512"), ("-s",)):
        result = subprocess.run([harness.program("smtp-front-users"), "hash", *arguments], input=password + "\n",
                                capture_output=True, text=True, check=True, timeout=DEADLINE_S)
        words.append(result.stdout.strip())
    return " ".join(words)


def config_text(sections):
    """{"pop": {"edges": 2, "listen": [...]}} as pop.conf has it; None leaves an item out."""

    def value_text(value):
        return "[ " + ", ".join(f'"{one}"' for one in value) + " ]" if isinstance(value, (list, tuple)) else str(value)

    lines = []
    for name, items in sections.items():
        kept = {key: value for key, value in items.items() if value is not None}
        lines += [f"{name}:"] * bool(kept) + [f"    {key}: {value_text(value)}" for key, value in kept.items()]
    return "\n".join(lines) + "\n"


class PopFront:
    """
    pop-front of a test case, and its mail-stored, which is stored of stored.py.

        users         {address: password}, or {address: words of a list behind it} for a value with "="
        certificates  "CHAIN:KEY" each; with one there is tls_address
        is_started    False: stored runs, pop-front has its files only
        stored        another Stored, or one of its own
        sections      items over DEFAULTS: login={"require-tls": "yes"}
    """

    def __init__(self, case, users=None, certificates=(), is_started=True, stored=None, **sections):
        self.case = case
        self.address = case.free_address()
        self.tls_address = case.free_address() if certificates else None
        self.users_path = case.path("users.mdb")
        self.metrics_path = case.path("pop.prom")
        self.process = None
        self.stored = stored or Stored(case)
        self.sections = {name: dict(items) for name, items in DEFAULTS.items()}
        self._complete(certificates)
        self.config_path = self.write_config(**sections)
        self.build_users({MAILBOX: PASSWORD} if users is None else users)
        if is_started:
            self.start()

    def _complete(self, certificates):
        pop = self.sections["pop"]
        pop["listen"] = ["{}@{}".format(*self.address)]
        pop["metrics"] = self.metrics_path
        self.sections["login"]["users"] = self.users_path
        self.sections["store"]["socket"] = self.stored.socket
        if certificates:
            pop["listen-tls"] = ["{}@{}".format(*self.tls_address)]
            self.sections["tls"]["certificates"] = list(certificates)
        if os.geteuid() == 0:
            pop["user"] = USER
            pop["chroot"] = self.case.path("empty")
            os.makedirs(pop["chroot"], exist_ok=True)

    # ---- files ----

    def write_config(self, **sections):
        """Again, with items over those before. Returns the path."""
        for name, items in sections.items():
            self.sections[name].update(items)
        return self.case.write("pop.conf", config_text(self.sections))

    def build_users(self, users, *options):
        """The database, also while it is being read."""
        lines = [f"{name} {value if '=' in value else secret_words(value)}" for name, value in users.items()]
        path = self.case.write("users.txt", "".join(f"{line}\n" for line in lines))
        result = subprocess.run([harness.program("smtp-front-users"), "build", *options, "--database", self.users_path,
                                 path], capture_output=True, text=True, check=False, timeout=DEADLINE_S)
        self.case.assertEqual(result.returncode, 0, result.stderr)

    # ---- the process ----

    def start(self, **how):
        """how is for subprocess.Popen."""
        self.process = self.case.start([harness.program("pop-front"), "--config", self.config_path], "pop", **how)
        self.process.wait_for_log(r"^info: \[pop-front\] ready, ")
        return self.process

    def reload(self, **sections):
        """
        SIGHUP, with items over those before. Whether the new configuration was taken; then no edge before takes
        another session.
        """
        edges = self.sections["pop"]["edges"]
        drained = len(re.findall(DRAINS, self.log(), re.MULTILINE))
        self.write_config(**sections)
        pattern = r"^(?:info: \[pop-front\] reloaded|warning: .* not reloaded),? ?.*"
        seen = len(re.findall(pattern, self.log(), re.MULTILINE))
        self.process.send_signal(signal.SIGHUP)
        is_taken = self.process.wait_for_log(pattern, seen + 1)[-1].startswith("info")
        if is_taken:
            self.process.wait_for_log(DRAINS, drained + edges)
        return is_taken

    def stop(self):
        return self.process.stop()

    def log(self):
        return self.process.log()

    def wait_for_log(self, pattern, count=1):
        return self.process.wait_for_log(pattern, count)

    def processes(self):
        """{"edge": [pid, ...], "worker": [...], ...}, those that live now."""
        found = {role: [] for role in ROLES}
        for pid in self.process.children():
            try:
                with open(f"/proc/{pid}/comm", encoding="ascii") as file:
                    role = file.read().strip()
                with open(f"/proc/{pid}/stat", encoding="ascii") as file:
                    state = file.read().rsplit(")", 1)[1].split()[0]
            except (FileNotFoundError, ProcessLookupError):
                continue
            if role in found and state not in "ZX":
                found[role].append(pid)
        return found

    # ---- mails, and what became of sessions ----

    def deliver(self, mailbox, content):
        """One mail, with CRLF."""
        self.stored.run_tool("deliver", mailbox, stdin=content)

    def entries(self, mailbox):
        """[(number, id, octets), ...] of what the mailbox has now."""
        with self.stored.client() as client:
            return client.entries(mailbox)

    def sessions(self):
        """The objects of all session lines, each with its "id"."""
        return [{"id": ident, **json.loads(text)} for ident, text in
                re.findall(r"^info: \[([0-9a-f]{12})\] session (\{.*\})$", self.log(), re.MULTILINE)]

    def wait_for_sessions(self, count):
        return wait_for(lambda: len(self.sessions()) >= count and self.sessions(), f"{count} session lines")

    def counters(self):
        """{"sessions-accepted": 3, ...}; one that is not in the line is 0."""
        pattern = r"^info: \[pop-front\] counters, (.*)"
        seen = len(re.findall(pattern, self.log(), re.MULTILINE))
        self.process.send_signal(signal.SIGUSR1)
        line = self.process.wait_for_log(pattern, seen + 1)[-1]
        return {name: int(value) for name, value in re.findall(r"([\w-]+)=(\d+)", line)}
