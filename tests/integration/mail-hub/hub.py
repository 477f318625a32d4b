# SPDX-License-Identifier: GPL-3.0-or-later
"""
hub.py - mail-hub as a fixture, with the programs of the build or with ones that are played.

Flow: test_hub*.py -> Hub writes hub.conf and a directory of programs, and starts mail-hub -> mail() and
      boxes() are what a client and the postmaster see, say() of a played program what became of a signal.

As root, processes become "nobody"; else they stay the user of the test.
"""

import os
import poplib
import pwd
import signal
import smtplib
import ssl
import subprocess
import sys

import harness
from harness import DEADLINE_S, children_of

USER = "nobody"
HOSTNAME = "mail.example.org"
ANNA = "anna@example.com"
SENDER = "sender@example.net"

# Says that it is ready, and what it is told. With a file NAME.refuses beside it its --check fails, with
# NAME.hangs that has no end. With NAME.fails it ends at SIGUSR1 with the status that the file has; with
# NAME.silent it is never ready.
PLAYED = """#!{python}
import os, signal, socket, sys, time

name = os.path.basename(sys.argv[0])
config = sys.argv[sys.argv.index("--config") + 1]
text = open(config).read()


def say(word):
    os.write(2, f"played {{name}} {{word}}\\n".encode())


if "--check" in sys.argv:
    if os.path.exists(os.path.join(os.path.dirname(sys.argv[0]), name + ".refuses")):
        os.write(2, b"error: [played] not so\\n")
        sys.exit(78)
    if os.path.exists(sys.argv[0] + ".hangs"):
        say("checking")
        time.sleep(600)
    sys.exit(0)


def on_signal(number):
    say(signal.Signals(number).name)
    if number == signal.SIGTERM:
        time.sleep(0.2)
        say("ended")
        os._exit(0)
    if number == signal.SIGUSR1 and os.path.exists(sys.argv[0] + ".fails"):
        os._exit(int(open(sys.argv[0] + ".fails").read()))


# They wait until they are asked for: a handler would be called behind pause() for one that has come before it.
signals = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)
signal.pthread_sigmask(signal.SIG_BLOCK, signals)
say("begun")
with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as words:
    ready = b"" if os.path.exists(sys.argv[0] + ".silent") else b"\\nREADY=1"
    words.sendto(b"STATUS=played" + ready, os.environ["NOTIFY_SOCKET"])
while True:
    on_signal(signal.sigwait(signals))
"""


def descendants(pid):
    """All processes below it."""
    found = []
    try:
        for child in children_of(pid):
            found += [child, *descendants(child)]
    except FileNotFoundError:
        pass
    return found


def make_certificate(case):
    """The lines of hub.conf for one that has signed itself."""
    chain, key = case.make_certificate(HOSTNAME)
    return {"certificate": chain, "key": key}


class Hub:
    """mail-hub of a test case; items are those of hub.conf, and None leaves one out."""

    def __init__(self, case, is_played=False, **items):
        self.case = case
        self.process = None
        self.directory, self.run = case.path("hub"), case.path("run")
        self.programs = case.path("programs")
        self.address = case.free_address()
        self.items = {"hostname": HOSTNAME, "directory": self.directory, "run-directory": self.run,
                      "programs": self.programs, "smtp": f"{self.address[0]}@{self.address[1]}"}
        if os.geteuid() == 0:
            self.items["user"] = USER
        os.mkdir(self.programs)
        for name in ("mail-stored", "smtp-front", "pop-front"):
            if is_played:
                self.play(name)
            elif name in harness.PROGRAMS:
                os.symlink(harness.program(name), os.path.join(self.programs, name))
        self.make_directory()
        self.config = self.write(**items)

    def play(self, name):
        path = os.path.join(self.programs, name)
        with open(path, "w", encoding="ascii") as file:
            file.write(PLAYED.format(python=sys.executable))
        os.chmod(path, 0o755)

    def mark(self, name, word, text=""):
        """A word of PLAYED: refuses, hangs, fails, silent."""
        with open(os.path.join(self.programs, f"{name}.{word}"), "w", encoding="ascii") as file:
            file.write(text)

    def make_directory(self):
        os.mkdir(self.directory, 0o755)
        self.make_users(f"{ANNA}\n")
        if os.geteuid() == 0:
            os.chown(self.directory, pwd.getpwnam(USER).pw_uid, -1)

    def make_users(self, text):
        """The two databases, of a list."""
        databases = [os.path.join(self.directory, name) for name in ("users.mdb", "logins.mdb")]
        subprocess.run([harness.program("smtp-front-users"), "build", "--database", databases[0],
                        "--logins", databases[1], self.case.write("users", text)], check=True,
                       capture_output=True, timeout=DEADLINE_S)
        if os.geteuid() == 0:
            for path in databases:
                for name in (path, path + "-lock"):
                    os.chown(name, pwd.getpwnam(USER).pw_uid, -1)

    @staticmethod
    def password(text):
        """The word that a line of a list has of it."""
        return subprocess.run([harness.program("smtp-front-users"), "hash"], input=text + "\n", check=True,
                              capture_output=True, text=True, timeout=DEADLINE_S).stdout.strip()

    def write(self, **items):
        """hub.conf with these over those before; its path. "cluster" is a section of its own."""
        self.items.update({name.replace("_", "-"): value for name, value in items.items()})
        cluster = self.items.get("cluster") or {}
        return self.case.write("hub.conf", "hub:\n" + "".join(
            f"    {name}: {value}\n" for name, value in self.items.items()
            if value is not None and name != "cluster") + ("cluster:\n" if cluster else "") + "".join(
                f"    {name}: {value}\n" for name, value in cluster.items()))

    def command(self, *options):
        return [harness.program("mail-hub"), "--config", self.config, *options]

    def call(self, *options):
        """What ends by itself."""
        return subprocess.run(self.command(*options), capture_output=True, text=True, check=False,
                              timeout=2 * DEADLINE_S)

    def start(self, is_ready=True, **how):
        self.process = self.case.start(self.command(), "hub", **how)
        if is_ready:
            self.process.wait_for_log(r"^info: \[mail-hub\] ready, ")
        return self.process

    def pid_of(self, name):
        """The first process of a program, or None."""
        for pid in self.process.children():
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    words = file.read().split(b"\0")
            except OSError:
                continue
            if any(os.path.basename(word) == name.encode() for word in words[:2]):
                return pid
        return None

    def reload(self, **items):
        self.write(**items)
        self.reload_as_it_is()

    def reload_as_it_is(self):
        self.process.send_signal(signal.SIGHUP)

    # ---- mail ----

    def mail(self, text="Subject: x\r\n\r\nHello\r\n", has_tls=False):
        """Sends one; smtplib.SMTPException and OSError when that cannot be done now."""
        with smtplib.SMTP(*self.address, local_hostname="client.example.net", timeout=DEADLINE_S) as client:
            if has_tls:
                context = ssl.create_default_context(cafile=self.items["certificate"])
                client._host = HOSTNAME  # the name that its certificate has to have
                client.starttls(context=context)
            client.sendmail(SENDER, [ANNA], text)

    def can_mail(self):
        try:
            self.mail()
        except (smtplib.SMTPException, OSError):
            return False
        return True

    def pop3(self, address):
        """A client under TLS from the beginning, that has been greeted."""
        context = ssl.create_default_context(cafile=self.items["certificate"])
        context.check_hostname = False  # it is an address here
        return poplib.POP3_SSL(*address, timeout=DEADLINE_S, context=context)

    def count_by_pop3(self, address, password):
        """How many mails ANNA has, in the clear; None while there is no answer."""
        try:
            client = poplib.POP3(*address, timeout=DEADLINE_S)
            client.user(ANNA)
            client.pass_(password)
            count, _ = client.stat()
            client.quit()
        except (poplib.error_proto, OSError):
            return None
        return count

    def tool(self, *arguments):
        result = subprocess.run([harness.program("mail-store"), arguments[0], "--store",
                                 os.path.join(self.run, "store"), *arguments[1:]], capture_output=True,
                                timeout=DEADLINE_S, check=False)
        return result.stdout.decode() if result.returncode == 0 else result.stderr.decode()

    def texts(self):
        return [self.tool("cat", line.split("\t")[0]) for line in self.tool("ls", ANNA).splitlines()]
