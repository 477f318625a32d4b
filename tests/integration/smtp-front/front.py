# SPDX-License-Identifier: GPL-3.0-or-later
"""
front.py - smtp-front as a fixture, and a client that speaks SMTP byte by byte.

Flow: test_front*.py -> Front writes a list of recipients and a configuration, and starts the
      program on a free port -> Client is who connects -> sessions(), mails() and counters()
      are what became of it.

    front = Front(self, users=["inbox@example.com"])
    with front.client() as client:
        client.expect(220)
        client.say("EHLO client.example.net", 250)
        client.send_mail("sender@example.net", ["inbox@example.com"], b"Subject: x\\r\\n\\r\\nHello\\r\\n")
        client.say("QUIT", 221)
    front.wait_for_sessions(1)[0]["end"]        # "quit"
    front.mails()                               # [b"Received: ...\\nSubject: x\\n\\nHello\\n"]

As root, edges, workers and the keyholder become "nobody" in a root directory of their own; else
they stay who runs the test. What a test does not say has no limit and no pause.
"""

import json
import os
import pwd
import re
import signal
import socket
import ssl
import subprocess

import harness
from harness import CLIENT, DEADLINE_S, ZONE, Case, Connection, outside, wait_for

RECIPIENT = "inbox@example.com"
SENDER = "sender@example.net"
CONTENT = b"Subject: test\r\n\r\nHello\r\n"
HOSTNAME = "mx.example.com"
USER = "nobody"
ROLES = ("keyholder", "edge", "worker")

# What tests are not about, unless they say so.
DEFAULTS = {
    "front": {"hostname": HOSTNAME, "edges": 2, "workers": 2, "sessions": 200, "drain": "1s",
              "queue-timeout": "10m"},
    "limits": {"greet-pause": 0, "connections": 0, "rate": 0, "give-way": "5m"},
    # A machine that is busy is no next hop that is down.
    "trust": {"forward-timeout": "5m"},
    "tls": {},
    "sink": {"kind": "maildir"},
    "scan": {},
    "decision": {},
    "library": {},
}


def make_certificate(case, name=HOSTNAME):
    """CHAIN:KEY of one that has signed itself, in the test's directory."""
    return ":".join(case.make_certificate(name))


def is_root():
    return os.geteuid() == 0


def config_text(sections):
    """{"front": {"edges": 2, "listen": [...]}} as front.conf has it; None leaves an item out."""

    def value_text(value):
        if isinstance(value, (list, tuple)):
            return "[ " + ", ".join(f'"{one}"' for one in value) + " ]"
        return str(value)

    lines = []
    for name, items in sections.items():
        kept = {key: value for key, value in items.items() if value is not None}
        if kept:
            lines += [f"{name}:"] + [f"    {key}: {value_text(value)}"
                                     for key, value in kept.items()]
    return "\n".join(lines) + "\n"


def proxy_header(claimed, address):
    """Of version 1: a connection of the address claimed, to one of its family."""
    family, target = ("TCP6", "2001:db8::25") if ":" in claimed else ("TCP4", "198.51.100.25")
    return f"PROXY {family} {claimed} {target} 41234 {address[1]}\r\n".encode()


class Client(Connection):
    """
    One connection. Everything it reads has a deadline.

        source   the address to connect from
        claimed  the address that a PROXY header says, which it begins with; see front.proxy
    """

    def __init__(self, address, source=None, claimed=None):
        super().__init__(socket.create_connection(address, DEADLINE_S, (source, 0) if source else None))
        if claimed is not None:
            self.send(proxy_header(claimed, address))

    def reply(self):
        """(250, ["mx.example.com", "PIPELINING", ...])"""
        lines = []
        while True:
            line = self.line()
            if not re.match(r"[2-5][0-9][0-9][ -]", line + " "):
                raise AssertionError(f"not a reply: {line!r}")
            lines.append(line[4:])
            if line[3:4] != "-":
                return int(line[:3]), lines

    def expect(self, *codes):
        """The text of a reply that has one of these codes."""
        code, lines = self.reply()
        if code not in codes:
            raise AssertionError(f"{code} {lines}, expected {codes}")
        return "\n".join(lines)

    def say(self, line, *codes):
        """A command; with codes, the text of its reply."""
        self.send(line.encode() + b"\r\n")
        return self.expect(*codes) if codes else self.reply()

    def hello(self, name="client.example.net"):
        self.expect(220)
        return self.say(f"EHLO {name}", 250)

    def send_mail(self, sender, recipients, content):
        """content is as it is to arrive, with CRLF; dots are stuffed here."""
        self.say(f"MAIL FROM:<{sender}>", 250)
        for recipient in recipients:
            self.say(f"RCPT TO:<{recipient}>", 250)
        self.say("DATA", 354)
        self.send(re.sub(rb"(?m)^\.", b"..", content) + b".\r\n")
        return self.expect(250)

    def starttls(self, server_hostname=None, cafile=None):
        self.say("STARTTLS", 220)
        # The system's authorities, which a default context has, take 30 ms of a processor to read.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if cafile is None:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        else:
            context.load_verify_locations(cafile)
        self.socket = context.wrap_socket(self.socket, server_hostname=server_hostname)


class Front:
    """
    smtp-front of a test case.

        users         addresses and rules of the list of recipients; None: no database
        authority     of mta.py: its zone is asked
        certificates  "CHAIN:KEY" each
        sections      items over DEFAULTS: sink={"kind": "smtp", "to": "127.0.0.1@25"}
        is_started    False: configuration and database only
    """

    def __init__(self, case, users=(RECIPIENT,), authority=None, certificates=(), is_started=True,
                 **sections):
        self.case = case
        self.address = case.free_address()
        self.users_path = case.path("users.mdb")
        self.maildir = case.path("maildir")
        self.metrics_path = case.path("front.prom")
        self.process = None
        self.sections = {name: dict(items) for name, items in DEFAULTS.items()}
        self._complete(users, authority, certificates)
        for name, items in sections.items():
            self.sections[name].update(items)
        self.config_path = self.write_config()
        if users is not None:
            self.build_users(users)
        if is_started:
            self.start()

    def _complete(self, users, authority, certificates):
        front = self.sections["front"]
        front["listen"] = [f"{self.address[0]}@{self.address[1]}"]
        front["metrics"] = self.metrics_path
        if users is not None:
            self.sections["trust"]["users"] = self.users_path
        self.sections["sink"]["to"] = self.maildir
        os.makedirs(self.maildir, exist_ok=True)
        if is_root():
            entry = pwd.getpwnam(USER)
            front["user"] = USER
            front["chroot"] = self.case.path("empty")
            os.makedirs(front["chroot"], exist_ok=True)
            os.chown(self.maildir, entry.pw_uid, entry.pw_gid)
        if authority is not None:
            host, port = authority.address
            self.sections["library"] = {"zones": [ZONE.rstrip(".")],
                                        "servers": [f"{host}@{port}"]}
        if certificates:
            self.sections["tls"]["certificates"] = list(certificates)

    # ---- files ----

    def write_config(self, **sections):
        """Again, with items over those before. Returns the path."""
        for name, items in sections.items():
            self.sections[name].update(items)
        return self.case.write("front.conf", config_text(self.sections))

    def build_users(self, users, *options):
        """The list of recipients, also while it is being read."""
        path = self.case.write("users.txt", "".join(f"{user}\n" for user in users))
        result = subprocess.run([harness.program("smtp-front-users"), "build", *options,
                                 "--database", self.users_path, path],
                                capture_output=True, text=True, check=False, timeout=DEADLINE_S)
        self.case.assertEqual(result.returncode, 0, result.stderr)

    # ---- the process ----

    def start(self, **how):
        """how is for subprocess.Popen."""
        self.process = self.case.start([harness.program("smtp-front"), "--config",
                                        self.config_path], "front", **how)
        self.process.wait_for_log(r"^info: \[smtp-front\] ready, ")
        return self.process

    def reload(self, **sections):
        """
        SIGHUP, with items over those before. Waits for its end, good or bad, and for those who are
        replaced to have heard of it: none of them takes another session.
        """
        before = [pid for role in ("edge", "worker") for pid in self.processes()[role]]
        self.write_config(**sections)
        pattern = r"^(?:info: \[smtp-front\] reloaded|warning: .* not reloaded), ?.*"
        seen = len(re.findall(pattern, self.log(), re.MULTILINE))
        self.process.send_signal(signal.SIGHUP)
        is_good = self.process.wait_for_log(pattern, seen + 1)[-1].startswith("info")
        wait_for(lambda: not any(has_pending(pid, signal.SIGTERM) for pid in before),
                 "those before to hear")
        return is_good

    def stop(self):
        return self.process.stop()

    def log(self):
        return self.process.log()

    def wait_for_log(self, pattern, count=1):
        return self.process.wait_for_log(pattern, count)

    def processes(self):
        """{"edge": [pid, ...], "worker": [...], "keyholder": [...]}, those that live now."""
        found = {role: [] for role in (*ROLES, "decoders")}
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

    def wait_for_processes(self, role, count, but=()):
        """Pids of count processes of that role, none of which is in but."""

        def look():
            pids = [pid for pid in self.processes()[role] if pid not in but]
            return pids if len(pids) == count else None

        return wait_for(look, f"{count} processes of role {role}")

    # ---- clients, and what became of them ----

    def client(self, source=None, claimed=None):
        """From outside, unless it is a balancer's that claims another's address."""
        if source is None and claimed is None:
            source = outside(CLIENT)
        return Client(self.address, source, claimed)

    def sessions(self):
        """The objects of all session lines, each with its "id"."""
        return [{"id": ident, **json.loads(text)} for ident, text in
                re.findall(r"^info: \[([0-9a-f]{12})\] session (\{.*\})$", self.log(),
                           re.MULTILINE)]

    def wait_for_sessions(self, count):
        return wait_for(lambda: len(self.sessions()) >= count and self.sessions(),
                        f"{count} session lines")

    def counters(self):
        """{"sessions-accepted": 3, ...}; who is not there is 0."""
        pattern = r"^info: \[smtp-front\] counters, (.*)"
        seen = len(re.findall(pattern, self.log(), re.MULTILINE))
        self.process.send_signal(signal.SIGUSR1)
        line = self.process.wait_for_log(pattern, seen + 1)[-1]
        return {name: int(value) for name, value in re.findall(r"([\w-]+)=(\d+)", line)}

    def mails(self):
        """Contents of the sink "maildir", in the order of arrival; as bytes with LF."""
        box = os.path.join(self.maildir, "new")
        paths = [os.path.join(box, name) for name in os.listdir(box)] if os.path.isdir(box) else []
        found = []
        for path in sorted(paths, key=lambda path: (os.stat(path).st_mtime_ns, path)):
            with open(path, "rb") as file:
                found.append(file.read())
        return found


def status_of(pid):
    """/proc/PID/status as a dictionary."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


def has_pending(pid, number):
    """Who was stopped hears of nothing."""
    try:
        status = status_of(pid)
        return (not status["State"].startswith("T")
                and int(status["ShdPnd"], 16) >> (number - 1) & 1 != 0)
    except (FileNotFoundError, ProcessLookupError, KeyError):  # it has ended
        return False


def stop_edges(case, front):
    """So that who connects stays in the backlog. Call what is returned, and they go on."""
    pids = front.processes()["edge"]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)

    def go_on():
        while pids:
            try:
                os.kill(pids.pop(), signal.SIGCONT)
            except ProcessLookupError:
                pass  # another has called and it has ended

    case.addCleanup(go_on)
    return go_on


class FrontCase(Case):
    def deliver(self, front, recipient=RECIPIENT):
        """One mail from a client that knows how."""
        with front.client() as client:
            client.hello()
            client.send_mail(SENDER, [recipient], CONTENT)
            client.say("QUIT", 221)
