# SPDX-License-Identifier: GPL-3.0-or-later
"""
popservers.py - what bench/pop looks at: pop-front with mail-stored, and Debian's Dovecot, under
counters.

Flow: bench/pop -> Place -> Ours(place, name) and Dovecot(place, name, kind) -> .arm, whose cost() is
      that of all their processes; deliver() puts mails into them by LMTP.

Both know the same users with the same hashes, have one processor, and the same file system.
Dovecot is as tests/pop3-suite starts it, that is as Debian has it but for its directories, ports
and users; what differs from that is in MODES and said on the page.
"""
import os
import pwd
import socket
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(1, os.path.join(ROOT, "bench"))
sys.path.insert(1, os.path.join(ROOT, "tests", "pop3-suite"))
import mailservers  # noqa: E402  (of bench)
import pop3  # noqa: E402  (of tests/pop3-suite, as is the next)
import servers  # noqa: E402
from popclients import EACH_MAX  # noqa: E402  (beside this file)
from mailservers import LOAD_CORE, MEMORY, Arm, Counted  # noqa: E402
from replays import Failure  # noqa: E402  (of bench)
import harness  # noqa: E402  (found by replays.py)
from front import config_text  # noqa: E402  (found by mailservers.py)
from harness import wait_for  # noqa: E402

FAILURES = (*mailservers.FAILURES, pop3.Failure, servers.NoPeer)
USER = "nobody"  # of whom mails and processes are
PASSWORD = "Secret4all"
DOMAIN = "example.com"
# Users of a kind have one hash. So many, as clients at a time are to be of different users.
KINDS = {"sha512": ("password", ["--method", "sha512"]), "yescrypt": ("password", []),
         "scram": ("scram", ["--scram"])}
EACH = 64
SHIPPED, FAST, CACHING = "as shipped", "high-performance", "auth cache"


def users_of(kind):
    """Addresses that have such a hash."""
    return [f"{kind}{number}@{DOMAIN}" for number in range(EACH)]


class Missed(mailservers.Missed):
    """With what clients and peers tell."""

    failures = FAILURES


class Place:
    """A case of the harness, a certificate, hashes; all that was started ends with the stack."""

    environment = {}  # what counted processes have besides

    def __init__(self, options, stack, directory=MEMORY):
        self.options = options
        tempfile.tempdir = directory
        self.case = harness.Case()
        self.case.setUp()
        stack.callback(self.case.doCleanups)
        # A flood of wrong passwords, and clients that are closed, have lines of their own.
        self.case.expect_log(r"^warning: ")
        os.chmod(self.case.directory, 0o755)
        os.sched_setaffinity(0, {LOAD_CORE})
        self.certificate = self.case.make_certificate()
        self.hashes = {kind: self._hash(words) for kind, (_, words) in KINDS.items()}

    @staticmethod
    def on_core(core, _network=None):
        """For preexec_fn."""
        return lambda: os.sched_setaffinity(0, {core})

    @staticmethod
    def on_load_core():
        """The same, of a load."""
        os.sched_setaffinity(0, {LOAD_CORE})

    def program(self, *path):
        """Of the build."""
        return os.path.join(self.options.programs, *path)

    def tool(self, *arguments, stdin=""):
        """What smtp-front-users prints."""
        return subprocess.run([harness.program("smtp-front-users"), *arguments], input=stdin,
                              capture_output=True, text=True, check=True, timeout=60).stdout

    def _hash(self, words):
        """The word of a list behind its name."""
        return self.tool("hash", *words, stdin=PASSWORD + "\n").strip().partition("=")[2]


# ---- ours ----


class Ours:
    """pop-front and mail-stored; sections are items of pop-front's configuration."""

    name = "pop-front"

    def __init__(self, place, name, **sections):
        self.place, case = place, place.case
        self.directory = case.path(name)
        self.socket = os.path.join(self.directory, "socket")
        self.lmtp, self.address, self.tls_address = (case.free_address() for _ in range(3))
        entry = pwd.getpwnam(USER)
        for path in (self.directory, os.path.join(self.directory, "store")):
            os.mkdir(path)
            os.chown(path, entry.pw_uid, entry.pw_gid)
        self._write_users()
        stored = self._start("mail-stored", {
            "stored": {"directory": os.path.join(self.directory, "store"), "socket": self.socket,
                       "user": USER, "size": "100M"},
            "lmtp": {"listen": self._places(self.lmtp)}}, name)
        front = self._start("pop-front", self._sections(sections), name)
        self.arm = Arm(self.name, [stored, front], self.address)
        for address in (self.lmtp, self.address, self.tls_address):
            wait_for(lambda address=address: harness.is_open(address), f"{name} to listen")

    @staticmethod
    def _places(address):
        return [f"{address[0]}@{address[1]}"]

    def _write_users(self):
        path, database = (os.path.join(self.directory, name) for name in ("users", "users.mdb"))
        with open(path, "w", encoding="ascii") as file:
            file.writelines(f"{user} {word}={self.place.hashes[kind]}\n"
                            for kind, (word, _) in KINDS.items() for user in users_of(kind))
        self.place.tool("build", "--database", database, path)
        for name in os.listdir(self.directory):
            if name.startswith("users.mdb"):
                os.chmod(os.path.join(self.directory, name), 0o644)

    def _sections(self, sections):
        own = {"pop": {"hostname": "localhost", "listen": self._places(self.address),
                       "listen-tls": self._places(self.tls_address), "user": USER, "edges": 1},
               "store": {"socket": self.socket},
               "login": {"users": os.path.join(self.directory, "users.mdb"), "require-tls": "no",
                         "delay": 0, "failure-rate": 0},
               # Clients are of one network here.
               "limits": {"connections": 0, "rate": 0, "login-timeout": "20m"},
               "tls": {"certificates": [":".join(self.place.certificate)]}}
        for name, items in sections.items():
            own[name].update(items)
        return own

    def _start(self, program, sections, name):
        path = os.path.join(self.directory, f"{program}.conf")
        with open(path, "w", encoding="ascii") as file:
            file.write(config_text(sections))
        return Counted(self.place, [self.place.program("integration", "mail", program, program),
                                    "--config", path], f"{name}-{program}")


# ---- Dovecot ----

# kind: (its name on the page, mail_location, lines more)
FORMATS = {"maildir": "maildir:~/mail", "mdbox": "mdbox:~/mdbox"}
MODES = {
    SHIPPED: "",
    CACHING: "auth_cache_size = 16M\n",
    # doc.dovecot.org, "Login processes", high-performance mode.
    FAST: """\
auth_cache_size = 16M
service pop3-login {{
  service_count = 0
  client_limit = {clients}
  process_min_avail = {processes}
  vsz_limit = 1G
}}
""",
}
LINES = """\
protocols = pop3 lmtp
listen = {host}
mail_location = {location}
default_vsz_limit = 1G
lmtp_save_to_detail_mailbox = no
postmaster_address = postmaster@example.com
# One user has all clients of a measurement.
mail_max_userip_connections = 0
service lmtp {{
  inet_listener lmtp {{
    address = {host}
    port = {lmtp_port}
  }}
}}
{mode}"""


class Dovecot(servers.Dovecot):
    """Of a format and a mode."""

    def __init__(self, place, name, kind="maildir", mode=SHIPPED):
        directory = place.case.path(name)
        os.mkdir(directory)
        super().__init__(directory)
        self.place, self.counted = place, None
        self.label = f"{name}-dovecot"
        host = "127.0.0.1"
        self.lmtp = host, servers.free_port()
        self.address, self.tls_address = (host, self.port), (host, self.tls_port)
        self.lines = LINES.format(
            host=host, location=FORMATS[kind], lmtp_port=self.lmtp[1],
            mode=MODES[mode].format(clients=min(place.options.connections, EACH_MAX) + 1000,
                                     processes=1 + place.options.connections // EACH_MAX))
        self.start()
        self.name = {SHIPPED: "Dovecot", CACHING: "Dovecot, auth cache",
                     FAST: "Dovecot, high-performance"}[mode]
        self.arm = Arm(self.name, [self.counted], self.address)
        wait_for(lambda: harness.is_open(self.lmtp), f"{name} to listen")

    def certificate(self):
        chain, key = self.place.certificate
        with open(key, encoding="ascii") as file:
            return chain, self.write("key.pem", file.read())

    def users(self):
        def word(kind):
            found = self.place.hashes[kind]
            if kind != "scram":
                return "{CRYPT}" + found
            _, count, keys = found.split("$")
            return "{SCRAM-SHA-256}" + ",".join((*count.split(":"), *keys.split(":")))

        return "".join(f"{user}:{word(kind)}\n" for kind in KINDS for user in users_of(kind))

    def spawn(self, arguments, **settings):
        entry = pwd.getpwnam(USER)
        self.counted = Counted(self.place, [
            harness.peer("setpriv"), f"--reuid={entry.pw_uid}", f"--regid={entry.pw_gid}",
            "--clear-groups", *arguments], self.label)
        self.processes.append(self.counted.process.popen)

    def log(self):
        return self.counted.process.log()


# ---- mails ----


TEMPLATE = f"sha512%d@{DOMAIN}"


def smtp_load(place, address, *words, **options):
    """What it says of a run."""
    command = [place.program("bench", "smtp-load", "smtp-load"), "--valid", TEMPLATE, *words]
    for name, value in {"timeout": 60, "drain": 60, **options}.items():
        command += [f"--{name.replace('_', '-')}", str(value)]
    return mailservers.figures(subprocess.Popen(
        [*command, address[0], str(address[1])], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, preexec_fn=place.on_load_core))


def deliver(place, server, count, recipients=1):
    """Mails of 4 kB, each to so many users, the first of which is users_of("sha512")[0]."""
    done = smtp_load(place, server.lmtp, "--lmtp", "--pipelining", spam=1, users=recipients,
                     spam_recipients=f"{recipients}-{recipients}", sessions=count,
                     connections=min(16, count), reuse=99, size=4096)
    if done["delivered"] != count:
        raise Failure(f"{server.name}: {done['delivered']:.0f} of {count} mails delivered")


def look_for_mail(place, server, seconds):
    """What smtp-load says of sessions for so long."""
    return smtp_load(place, server.address, "--pop", password=PASSWORD, users=place.options.users,
                     connections=4, seconds=seconds)


def deliver_large(server, user, size):
    """One mail of lines that begin with no dot."""
    line = b"x" * 76 + b"\r\n"
    with socket.create_connection(server.lmtp, 120) as connection, \
            connection.makefile("rb") as replies:
        def say(data, count=1):
            connection.sendall(data)
            for _ in range(count):
                while (reply := replies.readline())[3:4] == b"-":
                    pass
                if not reply.startswith((b"2", b"3")):
                    raise Failure(f"{server.name}: {reply!r}")

        say(b"")
        say(b"LHLO localhost\r\n")
        say(f"MAIL FROM:<sender@example.net>\r\nRCPT TO:<{user}>\r\nDATA\r\n".encode(), 3)
        say(b"Subject: large\r\n\r\n" + line * (size // len(line)) + b".\r\n")
