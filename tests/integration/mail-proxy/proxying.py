# SPDX-License-Identifier: GPL-3.0-or-later
"""
proxying.py - mail-proxy as a fixture, a next hop of the test's own, and the mail that is to be found.

Flow: tests of this room -> MailProxy(case, [listener(...)]) writes proxy.conf and starts it -> a client
      at proxy.addresses -> counters() and the log are what became of it.

    proxy = MailProxy(self, [{"next-hop": place(postfix.address)}])
    with smtplib.SMTP(*proxy.addresses[0]) as client: ...

As root, all processes but the nanny become "nobody". What a test does not say has no limit.
"""

import base64
import collections
import os
import re
import signal
import socket
import subprocess
import threading

import harness
from harness import DEADLINE_S, children_of
from popfront import config_text
from stored import USER

HOSTNAME = "proxy.example.org"
SENDER, RECIPIENT = "sender@example.net", "inbox@example.com"
PATIENCE_S = 3 * DEADLINE_S
# In halves, so that nothing takes this file for it.
EICAR = "X5O!P%@AP[4\\PZX54(P^)7CC)7}$EICAR-" + "STANDARD-ANTIVIRUS-TEST-FILE!$H+H*"
# ClamAV's extended format: name, any file, any offset, the bytes.
SIGNATURES = f"Eicar-Signature:0:*:{EICAR.encode().hex()}\n"

DEFAULTS = {
    "proxy": {"hostname": HOSTNAME, "processes": 1, "drain": "5s"},
    "limits": {"connections": 0, "rate": 0, "errors": 0},
    "tls": {},
    "scan": {},
}


def place(address):
    """As the configuration has it."""
    return address if isinstance(address, str) else "{}@{}".format(*address)


def make_signatures(case):
    """A file of signatures, which knows one."""
    path = case.path("signatures")
    if os.path.exists(path):
        return path
    source = case.write("eicar.ndb", SIGNATURES)
    subprocess.run([harness.program("mail-scan"), "compile", "-q", "-o", path, source], check=True, timeout=DEADLINE_S)
    os.chmod(path, 0o644)
    return path


class MailProxy:
    """
    mail-proxy of a test case.

        listeners     items of each; "listen" is a free address unless it is said
        certificates  "CHAIN:KEY" each
        sections      items over DEFAULTS: limits={"size": 1000}
    """

    def __init__(self, case, listeners, certificates=(), is_scanning=True, is_started=True, **sections):
        self.case = case
        self.addresses = []
        self.metrics_path = case.path("proxy.prom")
        self.sections = {name: dict(items) for name, items in DEFAULTS.items()}
        self.sections["proxy"]["metrics"] = self.metrics_path
        if os.geteuid() == 0:
            self.sections["proxy"]["user"] = USER
        if is_scanning:
            self.sections["scan"]["signatures"] = make_signatures(case)
        if certificates:
            self.sections["tls"]["certificates"] = list(certificates)
        for name, items in sections.items():
            self.sections.setdefault(name, {}).update(items)
        self.listeners = [self._complete(items) for items in listeners]
        self.config_path = case.path("proxy.conf")
        self.write_config()
        self.process = None
        if is_started:
            self.start()

    def _complete(self, items):
        items = dict(items)
        if "listen" not in items:
            items["listen"] = self.case.free_address()
        self.addresses.append(items["listen"])
        items["listen"] = place(items["listen"])
        if "next-hop" in items:
            items["next-hop"] = place(items["next-hop"])
        return items

    def write_config(self):
        lines = ["listener:"]
        for items in self.listeners:
            names = ["listen", *(name for name in items if name != "listen")]
            lines += [f"  {'-' if name == 'listen' else ' '} {name}: {items[name]}" for name in names]
        with open(self.config_path, "w", encoding="ascii") as file:
            file.write(config_text(self.sections) + "\n".join(lines) + "\n")

    def start(self):
        self.process = self.case.start([harness.program("mail-proxy"), "-c", self.config_path], "mail-proxy")
        self.process.wait_for_log(r"info: \[mail-proxy\] ready, ")
        return self

    def log(self):
        return self.process.log()

    def counters(self):
        """{"mails": 3, ...}; one that is not in the line is 0."""
        pattern = r"^info: \[mail-proxy\] counters, (.*)"
        seen = len(re.findall(pattern, self.log(), re.MULTILINE))
        self.process.send_signal(signal.SIGUSR1)
        line = self.wait_for_log(pattern, seen + 1)[-1]
        found = {name: int(value) for name, value in re.findall(r"([\w-]+)=(\d+)", line)}
        return collections.defaultdict(int, found)

    def wait_for_log(self, pattern, count=1):
        return self.process.wait_for_log(pattern, count)


def descendants_of(pid):
    """[(pid, name)] of those that have not ended."""
    found, left = [], [pid]
    while left:
        try:
            children = children_of(left.pop())
        except OSError:
            continue
        left += children
        for child in children:
            try:
                with open(f"/proc/{child}/comm", encoding="ascii") as file:
                    found.append((child, file.read().strip()))
            except OSError:
                pass
    return found


def close_listener(listener):
    """So that a thread in accept() ends, and takes no client of a socket that gets the same number."""
    try:
        listener.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    listener.close()


class Hop:
    """
    A next hop of the test's own: a server of SMTP or LMTP that has what it is told.

        mails    whole mails, with their dots undone
        halves   those whose connection ended before theirs did
        dies_at  the verb behind which it closes without a word, "." for the end of a mail, "body"
                 amid one; it is used up by that
    """

    OFFERS = ("hop.example.org", "SIZE 104857600", "8BITMIME", "SMTPUTF8", "PRDR", "DSN")

    def __init__(self, case, is_lmtp=False, offers=OFFERS, host=None, tls=None):
        self.case = case
        self.is_lmtp = is_lmtp
        self.offers = offers
        self.tls = tls  # a context, for STARTTLS
        self.clients = []
        self.mails, self.halves, self.commands = [], [], []
        self.dies_at = None
        self.connections = 0
        self.lock = threading.Lock()
        family = socket.AF_INET6 if host and ":" in host else socket.AF_INET
        self.socket = socket.create_server((host or case.host, 0), family=family, backlog=200)
        self.address = self.socket.getsockname()[:2]
        self.is_closing = False
        case.addCleanup(self.close)
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self.is_closing = True
        close_listener(self.socket)

    def hang_up(self):
        """Now, on all that are connected."""
        for client in self.clients:
            try:
                client.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def _accept(self):
        while not self.is_closing:
            try:
                client, _ = self.socket.accept()
            except OSError:
                return
            self.connections += 1
            self.clients.append(client)
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        with client, client.makefile("rb") as file:
            try:
                self._talk(client, file)
            except OSError:
                pass

    def _is_dead(self, verb):
        with self.lock:
            if self.dies_at != verb:
                return False
            self.dies_at = None
            return True

    def _talk(self, client, file):
        if self._is_dead("connect"):
            return
        client.sendall(b"220 hop.example.org ESMTP\r\n")
        self._answer(client, file)

    def _answer(self, client, file):
        count = 0
        while line := file.readline():
            self.commands.append(line)
            verb = line[:4].decode("ascii", "replace").strip().upper()
            if self._is_dead(verb):
                return
            if verb == "PROX":
                continue
            if verb in ("EHLO", "LHLO"):
                client.sendall("".join(f"250{' ' if offer == self.offers[-1] else '-'}{offer}\r\n"
                                       for offer in self.offers).encode())
            elif verb == "DATA":
                client.sendall(b"354 Go\r\n")
                if not self._take_mail(client, file, count):
                    return
                count = 0
            elif verb == "STAR":
                client.sendall(b"220 Go\r\n")
                with self.tls.wrap_socket(client, server_side=True) as secure, secure.makefile("rb") as lines:
                    self._answer(secure, lines)
                return
            elif verb == "QUIT":
                client.sendall(b"221 Bye\r\n")
                return
            else:
                count += verb == "RCPT"
                client.sendall(b"250 2.0.0 Ok\r\n")

    def _take_mail(self, client, file, count):
        lines = []
        while line := file.readline():
            if line == b".\r\n":
                break
            lines.append(line[1:] if line.startswith(b".") else line)
            if self._is_dead("body"):
                return False
        mail = b"".join(lines)
        if not line:
            self.halves.append(mail)
            return False
        if self._is_dead("."):
            self.halves.append(mail)
            return False
        self.mails.append(mail)
        client.sendall(b"250 2.0.0 Taken\r\n" * (count if self.is_lmtp else 1))
        return True


class Client:
    """Bytes as a test wants them."""

    def __init__(self, address, tls=None):
        self.socket = socket.create_connection(address, timeout=PATIENCE_S)
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_hostname=HOSTNAME)
        self.file = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.socket.close()

    def start_tls(self, context):
        self.file.close()
        self.socket = context.wrap_socket(self.socket, server_hostname=HOSTNAME)
        self.file = self.socket.makefile("rb")

    def send(self, text):
        self.socket.sendall(text if isinstance(text, bytes) else text.encode())

    def reply(self):
        """The lines of one, or "" at the end."""
        text = ""
        while line := self.file.readline().decode():
            text += line
            if line[3:4] != "-":
                break
        return text

    def say(self, line, code):
        self.send(line + "\r\n")
        return self.expect(code)

    def expect(self, code):
        reply = self.reply()
        assert reply.startswith(str(code)), f"wanted {code}, got {reply!r}"
        return reply

    def begin(self, verb="EHLO"):
        self.expect(220)
        return self.say(f"{verb} client.example.net", 250)

    def begin_at_once(self, mail=b""):
        """EHLO, and a mail up to there, before any reply: how long each step takes is the proxy's time alone."""
        self.send(f"EHLO client.example.net\r\nMAIL FROM:<{SENDER}>\r\nRCPT TO:<{RECIPIENT}>\r\nDATA\r\n".encode()
                  + mail)
        for code in (220, 250, 250, 250, 354):
            self.expect(code)

    def begin_mail(self, recipients=(RECIPIENT,)):
        self.say(f"MAIL FROM:<{SENDER}>", 250)
        for recipient in recipients:
            self.say(f"RCPT TO:<{recipient}>", 250)
        self.say("DATA", 354)


def attached(name, content):
    """Headers and a body of one part."""
    text = base64.encodebytes(content).replace(b"\n", b"\r\n")
    return (b"MIME-Version: 1.0\r\nContent-Type: application/octet-stream\r\n"
            b"Content-Transfer-Encoding: base64\r\n"
            b"Content-Disposition: attachment; filename=" + name + b"\r\n\r\n" + text)


def dotted(text):
    return b"".join(b"." + line if line.startswith(b".") else line for line in text.splitlines(True))
