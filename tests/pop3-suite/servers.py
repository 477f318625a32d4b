# SPDX-License-Identifier: GPL-3.0-or-later
"""
servers.py - POP3 servers of Debian, and ours, as peers: each configured and started in a directory of its own.

Flow: peers -> SERVERS[name](directory) -> start(), options(), stop().
"""

import os
import pwd
import shlex
import shutil
import signal
import socket
import subprocess
import sys
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


POP_CONF = """\
pop:
    listen: [ 127.0.0.1@{port} ]
    listen-tls: [ 127.0.0.1@{tls_port} ]
    user: nobody
    workers: 60
store:
    socket: {directory}/stored.socket
login:
    users: {directory}/users.mdb
    require-tls: no
    failures: 1000
    failure-rate: 0
    delay: 0
limits:
    connections: 0
    rate: 0
    workers: 0
    errors: 10000
tls:
    certificates: [ "{cert}:{key}" ]
"""

STORED_CONF = """\
stored:
    directory: {directory}/store
    socket: {directory}/stored.socket
    user: nobody
"""


class PopFront(Server):
    """Ours, of the build directory that DNSBLV6_BUILD names, with its mail-stored."""

    note = ("mail-stored, a hash and keys of SCRAM-SHA-256, also in the clear; no limit on errors, refused logins, "
            "connections and workers of a network, and no delay after a refused password.")
    mailbox = f"{USER}@example.org"

    def program(self, name, directory=None):
        """Its path."""
        build = os.environ.get("DNSBLV6_BUILD", os.path.join(os.path.dirname(__file__), "../../build/gcc"))
        path = os.path.join(os.path.abspath(build), "integration/mail", directory or name, name)
        if not os.path.exists(path):
            raise NoPeer(f"there is no {path}")
        return path

    def start(self):
        """The store, which is ready when it answers, then the rest."""
        cert, key = self.certificate()
        os.chmod(key, 0o600)
        os.mkdir(self.path("store"), 0o700)
        shutil.chown(self.path("store"), "nobody", "nogroup")
        self.make_users()
        stored = self.write("stored.conf", STORED_CONF.format(directory=self.directory))
        self.spawn([self.program("mail-stored"), "--config", stored])
        tool = f"{shlex.quote(self.program('mail-store'))} %s --store {shlex.quote(self.path('stored.socket'))}"
        reset = self.write("reset.sh", f"""\
{tool % "rm"} --all {self.mailbox} || exit 1
for file in "$POP3_SUITE_MAILS"/*; do
	[ -e "$file" ] || continue
	{tool % "deliver"} {self.mailbox} <"$file" || exit 1
done
""")
        self.await_command(["sh", reset])
        conf = self.write("pop.conf", POP_CONF.format(directory=self.directory, cert=cert, key=key, port=self.port,
                                                      tls_port=self.tls_port))
        self.spawn([self.program("pop-front"), "--config", conf])
        self.await_port(self.port)

    def make_users(self):
        """One user, in a database."""
        tool = self.program("smtp-front-users", "smtp-front")
        words = [subprocess.run([tool, "hash", *how], input=PASSWORD + "\n", check=True, capture_output=True,
                                text=True).stdout.strip() for how in (("-m", "sha512"), ("-s",))]
        users = self.write("users.txt", " ".join([self.mailbox, *words]) + "\n")
        subprocess.run([tool, "build", "-d", self.path("users.mdb"), users], check=True, capture_output=True)

    def await_command(self, arguments):
        """Waits until it succeeds; there are no mails to be delivered yet."""
        end = time.monotonic() + START_S
        while subprocess.run(arguments, check=False, capture_output=True,
                             env={**os.environ, "POP3_SUITE_MAILS": self.path("none")}).returncode:
            if time.monotonic() > end or self.processes[-1].poll() is not None:
                raise NoPeer(f"it does not start: {self.log()[-400:]}")
            time.sleep(0.1)

    def version(self):
        line = subprocess.run([self.program("pop-front"), "-V"], check=True, capture_output=True, text=True).stdout
        return line.split()[1]

    def options(self):
        options = super().options()
        options[options.index("--user") + 1] = self.mailbox
        return options


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

    def users(self):
        """Lines of its passdb."""
        return f"{USER}:{{PLAIN}}{PASSWORD}\n"

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
        self.write("users", self.users())
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


# The others: each in a Debian of its own, with mounts and processes that end with it.

UID = 5001


class RootServer(Server):
    """A server in a root that debootstrap makes, or that POP3_PEERS_BASE has a copy of."""

    packages = ()
    script = ""  # of sh, in the root, {port}, {tls_port} and {lmtp_port} filled in; its last command lasts

    def __init__(self, directory):
        super().__init__(directory)
        self.root = self.path("root")
        self.lmtp_port = free_port()

    def make_root(self):
        """With the packages, a user with a password, and no daemon started."""
        base = os.environ.get("POP3_PEERS_BASE")
        if base is None and shutil.which("debootstrap") is None:
            raise NoPeer("debootstrap is not installed")
        self.run(["cp", "-a", f"{base}/.", self.root] if base else
                 ["debootstrap", "--variant=minbase", "bookworm", self.root])
        shutil.copy("/etc/resolv.conf", os.path.join(self.root, "etc/resolv.conf"))
        self.write("root/usr/sbin/policy-rc.d", "#!/bin/sh\nexit 101\n", 0o755)
        # What daemons look for, and containers do not always permit to be made.
        self.run_in_root("[ -e /dev/null ] || mknod -m 666 /dev/null c 1 3; "
                         "[ -e /dev/urandom ] || mknod -m 666 /dev/urandom c 1 9")
        self.run_in_root("export DEBIAN_FRONTEND=noninteractive; apt-get update; "
                         f"apt-get install -y --no-install-recommends {' '.join(self.packages)}")
        self.run_in_root(f"useradd -m -u {UID} -s /bin/sh {USER}; echo {USER}:{PASSWORD} | chpasswd")
        cert, key = self.certificate()
        with open(cert, encoding="ascii") as one, open(key, encoding="ascii") as other:
            self.write("root/etc/peer.pem", other.read() + one.read())

    def run(self, arguments):
        """A command that has to succeed."""
        done = subprocess.run(arguments, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        if done.returncode:
            raise NoPeer(f"{' '.join(arguments)[:80]}: {(done.stdout + done.stderr)[-300:]}")

    def run_in_root(self, script):
        """A script of sh that has to succeed in the root."""
        self.run(["chroot", self.root, "sh", "-c", script])

    def start(self):
        """The root, then the script."""
        self.make_root()
        self.configure()
        script = self.script.format(port=self.port, tls_port=self.tls_port, lmtp_port=self.lmtp_port)
        self.spawn(["unshare", "--mount", "--pid", "--fork", "--kill-child", "chroot", self.root, "sh", "-c",
                    "mount -t proc proc /proc\n" + script])
        self.await_port(self.port)

    def configure(self):
        """What the script needs."""

    def version(self):
        return subprocess.run(["chroot", self.root, "dpkg-query", "-W", "-f", "${Version}", self.package],
                              check=True, capture_output=True, text=True).stdout


class Courier(RootServer):
    """Its parts are started as its own scripts start them."""

    package = "courier-pop"
    packages = ("courier-pop", "nullmailer")
    note = ("Maildir with LF, passwords by PAM, its own settings but for these: 60 connections, PLAIN, "
            "STLS.")
    script = """\
mkdir -p /run/courier/authdaemon
chown -R courier:courier /run/courier
/usr/sbin/authdaemond start
set -a
. /etc/courier/pop3d
. /etc/courier/pop3d-ssl
POP3AUTH=PLAIN POP3AUTH_TLS=PLAIN POP3_STARTTLS=YES COURIERTLS=/usr/bin/couriertls TLS_CERTFILE=/etc/peer.pem
[ -x $COURIERTLS ] || COURIERTLS=/usr/lib/courier/couriertls
tcpd="/usr/sbin/couriertcpd -address=127.0.0.1 -maxprocs=60 -maxperip=60 -nodnslookup -noidentlookup"
login="/usr/lib/courier/courier/courierpop3login /usr/lib/courier/courier/courierpop3d Maildir"
POP3_TLS=1 POP3_STARTTLS=NO $tcpd {tls_port} $COURIERTLS -server -tcpd $login &
exec $tcpd {port} $login
"""

    def configure(self):
        self.write("reset.sh", f"d={self.root}/home/{USER}/Maildir u={UID}:{UID}\n"
                   + MAILDIR_RESET % "tr -d '\\r'")
        # It lets nobody in without one.
        self.run(["env", f"POP3_SUITE_MAILS={self.directory}/none", "sh", self.path("reset.sh")])


class Popa3d(RootServer):
    """Its own daemon mode knows port 110 alone, so that each connection is accepted here."""

    package = "popa3d"
    packages = ("popa3d",)
    note = ("mbox with LF in /var/mail, passwords by PAM, as inetd starts it. It has no TLS. An mbox changes lines "
            "that begin with \"From \".")

    def start(self):
        self.make_root()
        box = f"{self.root}/var/mail/{USER}"
        self.write("reset.sh", f"""\
for file in "$POP3_SUITE_MAILS"/*; do
	[ -e "$file" ] || continue
	echo "From sender@example.net Mon Jan  6 12:00:00 2025"
	tr -d '\\r' <"$file" | sed 's/^From />&/'
	echo
done >{box}
chown {UID}:mail {box}
chmod 660 {box}
""")
        self.spawn([sys.executable, os.path.abspath(__file__), str(self.port), "chroot", self.root, "/usr/sbin/popa3d"])
        self.await_port(self.port)

    def options(self):
        options = super().options()
        options.remove("--stls")
        place = options.index("--tls-port")
        return options[:place] + options[place + 2:]


class Cyrus(RootServer):
    """Mails come by its LMTP, as its spool is its own."""

    package = "cyrus-pop3d"
    packages = ("cyrus-pop3d", "sasl2-bin", "libsasl2-modules")
    note = ("Mails by LMTP, passwords in sasldb2, PLAIN and SCRAM-SHA-256, also in the clear; popminpoll 0, "
            "duplicatesuppression no, the mailbox made at the first login.")
    script = """\
mkdir -p /run/cyrus/socket /run/cyrus/proc /run/cyrus/lock
chown -R cyrus:mail /run/cyrus
exec /usr/lib/cyrus/bin/master
"""

    def configure(self):
        conf = os.path.join(self.root, "etc/imapd.conf")
        with open(conf, encoding="utf-8") as file:
            lines = [line for line in file if not line.startswith(("popminpoll", "autocreate", "sasl_mech", "duplicate",
                                                                   "tls_server", "sasl_pwcheck"))]
        self.write("root/etc/imapd.conf", "".join(lines) + """\
popminpoll: 0
duplicatesuppression: no
autocreate_quota: 0
autocreate_post: yes
servername: localhost
sasl_pwcheck_method: auxprop
sasl_auxprop_plugin: sasldb
sasl_mech_list: PLAIN SCRAM-SHA-256
tls_server_cert: /etc/peer.pem
tls_server_key: /etc/peer.pem
""")
        self.write("root/etc/cyrus.conf", f"""\
START {{
	recover cmd="/usr/sbin/cyrus ctl_cyrusdb -r"
}}
SERVICES {{
	pop3 cmd="pop3d" listen="127.0.0.1:{self.port}" prefork=0 maxchild=100
	pop3s cmd="pop3d -s" listen="127.0.0.1:{self.tls_port}" prefork=0 maxchild=100
	lmtp cmd="lmtpd -a" listen="127.0.0.1:{self.lmtp_port}" prefork=0 maxchild=20
}}
EVENTS {{
}}
""")
        self.run_in_root(f"echo {PASSWORD} | saslpasswd2 -p -c -u localhost {USER}; chown cyrus /etc/sasldb2; "
                         "chown cyrus /etc/peer.pem")

    def options(self):
        options = super().options()
        place = options.index("--reset")
        return options[:place] + ["--deliver-lmtp", f"127.0.0.1:{self.lmtp_port}", "--recipient", USER]


SERVERS = {"pop-front": PopFront, "dovecot": Dovecot, "dovecot-locking": DovecotLocking, "courier": Courier,
           "popa3d": Popa3d, "cyrus": Cyrus}


def serve(port, arguments):
    """As inetd does: a process for each connection."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.create_server(("127.0.0.1", port), backlog=100) as listener:
        while True:
            connection, _ = listener.accept()
            with connection:
                subprocess.Popen(arguments, stdin=connection, stdout=connection)


if __name__ == "__main__":
    serve(int(sys.argv[1]), sys.argv[2:])
