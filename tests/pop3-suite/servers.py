# SPDX-License-Identifier: GPL-3.0-or-later
"""
servers.py - POP3 servers of Debian as peers: each configured and started in a directory of its own.

Flow: peers -> SERVERS[name](directory) -> start(), options(), stop().
"""

import os
import pwd
import shlex
import shutil
import signal
import socket
import subprocess
import time

USER, PASSWORD = "anna", "Secret4all"
START_S = 60

# Into maildir $d, for user $u. A number before the name keeps their order.
MAILDIR_RESET = """\
set -e
for part in tmp new cur; do mkdir -p "$d/$part"; done
find "$d/new" "$d/cur" -type f -delete
for file in "$POP3_SUITE_MAILS"/*; do
	[ -e "$file" ] || continue
	name=$(basename "$file" .eml)
	%s <"$file" >"$d/tmp/$name"
	mv "$d/tmp/$name" "$d/new/1700000000.P$$Q$name.example"
done
chown -R "$u" "$d"
"""


class NoPeer(Exception):
    """This peer cannot be had here; the text says why."""


def free_port():
    """A port of loopback on which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def debian_version():
    """Of this machine."""
    with open("/etc/debian_version", encoding="ascii") as file:
        return file.read().strip()


class Server:
    """What all have: processes that end with it, a certificate, a reset."""

    note = ""
    package = ""

    def __init__(self, directory):
        self.directory = directory
        self.port, self.tls_port = free_port(), free_port()
        self.processes = []

    def path(self, *names):
        """In its directory."""
        return os.path.join(self.directory, *names)

    def write(self, name, text, mode=0o644):
        """A file in its directory; the path."""
        path = self.path(name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def certificate(self):
        """Paths of certificate and key, which everybody may read."""
        cert, key = self.path("cert.pem"), self.path("key.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj",
                        "/CN=localhost", "-out", cert, "-keyout", key], check=True, capture_output=True)
        os.chmod(key, 0o644)
        return cert, key

    def spawn(self, arguments, **settings):
        """A process that stop() ends."""
        with open(self.path("server.log"), "ab") as log:
            self.processes.append(subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=log,
                                                   stderr=log, start_new_session=True, **settings))

    def await_port(self, port):
        """Waits until something listens."""
        end = time.monotonic() + START_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=5).close()
                return
            except OSError as error:
                if time.monotonic() > end or self.processes[-1].poll() is not None:
                    raise NoPeer(f"it does not listen: {self.log()[-400:]}") from error
                time.sleep(0.1)

    def log(self):
        """What it said."""
        with open(self.path("server.log"), encoding="utf-8", errors="replace") as file:
            return file.read()

    def stop(self):
        """Ends what was started."""
        for process in reversed(self.processes):
            for number in (signal.SIGTERM, signal.SIGKILL):
                try:
                    os.killpg(process.pid, number)
                    process.wait(10)
                except (ProcessLookupError, subprocess.TimeoutExpired):
                    pass

    def version(self):
        """Of its package."""
        return subprocess.run(["dpkg-query", "-W", "-f", "${Version}", self.package], check=True,
                              capture_output=True, text=True).stdout

    def options(self):
        """For pop3-suite."""
        return ["--host", "127.0.0.1", "--port", str(self.port), "--user", USER, "--password", PASSWORD,
                "--tls-port", str(self.tls_port), "--stls",
                "--reset", "sh " + shlex.quote(self.path("reset.sh"))]


DOVECOT_CONF = """\
base_dir = {directory}/run
state_dir = {directory}/state
log_path = /dev/stderr
protocols = pop3
listen = 127.0.0.1
ssl = yes
ssl_cert = <{cert}
ssl_key = <{key}
disable_plaintext_auth = no
auth_mechanisms = plain login apop scram-sha-256
auth_failure_delay = 0
default_internal_user = nobody
default_internal_group = nogroup
default_login_user = nobody
first_valid_uid = 1
mail_location = maildir:~/mail
mail_max_userip_connections = 50
passdb {{
  driver = passwd-file
  args = {directory}/users
}}
userdb {{
  driver = static
  args = uid={uid} gid={gid} home={directory}/homes/%u
}}
service anvil {{
  chroot =
  unix_listener anvil-auth-penalty {{
    mode = 0
  }}
}}
service stats {{
  chroot =
}}
service pop3-login {{
  chroot =
  inet_listener pop3 {{
    port = {port}
  }}
  inet_listener pop3s {{
    port = {tls_port}
    ssl = yes
  }}
}}
{lines}
"""


class Dovecot(Server):
    """Debian's, as it is without settings but those that a test needs."""

    package = "dovecot-pop3d"
    lines = ""
    note = ("Maildir, passwords in a file, defaults but for these: PLAIN, LOGIN, APOP and SCRAM-SHA-256, also in the "
            "clear; no delay after a refused password; 50 sessions for a user.")

    def start(self):
        """As another user, like any Dovecot of its own."""
        program = shutil.which("dovecot", path="/usr/sbin:/usr/bin")
        if program is None or not os.path.exists("/usr/lib/dovecot/pop3"):
            raise NoPeer("dovecot-pop3d is not installed")
        entry = pwd.getpwnam("nobody")
        for name in ("", "run", "state", "homes", f"homes/{USER}"):
            os.makedirs(self.path(name), exist_ok=True)
            os.chown(self.path(name), entry.pw_uid, entry.pw_gid)
        cert, key = self.certificate()
        self.write("users", f"{USER}:{{PLAIN}}{PASSWORD}\n")
        self.write("reset.sh", f"d={self.path('homes', USER, 'mail')} u=nobody:nogroup\n" + MAILDIR_RESET % "cat")
        conf = self.write("dovecot.conf", DOVECOT_CONF.format(
            directory=self.directory, cert=cert, key=key, uid=entry.pw_uid, gid=entry.pw_gid, port=self.port,
            tls_port=self.tls_port, lines=self.lines))
        self.spawn([program, "-F", "-c", conf], user="nobody", group=entry.pw_gid, extra_groups=[])
        self.await_port(self.port)


class DovecotLocking(Dovecot):
    """With its lock."""

    lines = "pop3_lock_session = yes\n"
    note = "As above, with `pop3_lock_session = yes`, which is not its default."


SERVERS = {"dovecot": Dovecot, "dovecot-locking": DovecotLocking}
