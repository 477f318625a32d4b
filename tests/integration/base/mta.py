# SPDX-License-Identifier: GPL-3.0-or-later
"""
mta.py - Debian's mail servers as fixtures, a client that plays any address, and the
authority whose questions are counted.

Flow: test_mta*.py and the tests of adapters -> Authority serves a list -> Postfix or Exim
      with lines of the test -> send() and send_all() are its clients -> delivered() is what
      got through.

Nothing of the machine is touched: configuration, queue and data lie in the test's directory,
and a resolv.conf of the test's own is mounted over /etc/resolv.conf for the mail server alone.
A mail server reads no port there, so what it asks has to listen on port 53 of the test's
address. All of this needs root; without, the test is skipped.
"""

import concurrent.futures
import dataclasses
import grp
import os
import pwd
import re
import shlex
import signal
import socket
import subprocess
import tempfile
import unittest

import harness
from harness import CLASSIC, DEADLINE_S, ZONE, is_open, peer, unpacked, wait_for

DNS_PORT = 53
RECIPIENT = "inbox@example.com"
SENDER = "sender@example.net"
SESSION_S = 3 * DEADLINE_S  # a mail server at its work on a busy machine
POSTFIX_PROGRAMS = "/usr/lib/postfix/sbin"

MAIN_CF = """\
compatibility_level = 3.6
queue_directory = {queue}
data_directory = {data}
command_directory = /usr/sbin
daemon_directory = {programs}
mail_owner = postfix
setgid_group = postdrop
maillog_file = {log}
maillog_file_prefixes = {directory}
myhostname = mx.example.com
mydestination =
mynetworks =
alias_maps =
alias_database =
inet_protocols = all
smtpd_peername_lookup = no
smtputf8_enable = no
smtpd_tls_security_level = none
smtp_tls_security_level = none
smtpd_client_connection_count_limit = 0
default_process_limit = 200
in_flow_delay = 0
virtual_mailbox_domains = example.com
virtual_mailbox_base = {directory}/mail
virtual_mailbox_maps = static:inbox/
virtual_uid_maps = static:{uid}
virtual_gid_maps = static:{gid}
virtual_minimum_uid = 1
virtual_transport = {transport}
smtpd_recipient_restrictions = reject_unauth_destination
"""

MASTER_CF = """\
postlog unix-dgram n - n - 1 postlogd
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
error unix - - n - - error
retry unix - - n - - error
discard unix - - n - - discard
virtual unix - n n - - virtual
anvil unix - - n - 1 anvil
proxymap unix - - n - - proxymap
"""

MASTER_SMTPD = "{host}:{port} inet n - n - - smtpd\n"
MASTER_POSTSCREEN = """\
{host}:{port} inet n - n - 1 postscreen
smtpd pass - - n - - smtpd
dnsblog unix - - n - 0 dnsblog
tlsproxy unix - - n - 0 tlsproxy
"""

# Directory of the queue, its mode, and whether it is the group postdrop's; others are postfix's.
QUEUE = [("active", 0o700, False), ("bounce", 0o700, False), ("corrupt", 0o700, False),
         ("defer", 0o700, False), ("deferred", 0o700, False), ("flush", 0o700, False),
         ("hold", 0o700, False), ("incoming", 0o700, False), ("private", 0o700, False),
         ("saved", 0o700, False), ("trace", 0o700, False), ("maildrop", 0o730, True),
         ("public", 0o710, True)]


def need_root():
    if os.geteuid() != 0:
        raise unittest.SkipTest("a mail server needs root")


def run_as_nobody(*arguments):
    """In no other group."""
    result = subprocess.run(arguments, user="nobody", group=65534, extra_groups=[], capture_output=True,
                            text=True, check=False, timeout=DEADLINE_S)
    if reports := harness.sanitizer_reports(result.stderr):
        raise AssertionError(reports)
    return result


def with_files(files, arguments):
    """
    The command that sees other files where names of the system are, {name: path}, and stays
    one process. With the limit of descriptors that a machine has for itself: mail servers
    close all that they might have.
    """
    mounts = [f"mount --bind {shlex.quote(path)} {shlex.quote(os.path.realpath(name))}"
              for name, path in files.items()]
    script = " && ".join(["ulimit -n 4096", *mounts, 'exec "$@"'])
    return [peer("unshare"), "--mount", "sh", "-c", script, "sh", *arguments]


class MailServer:
    """What fixtures share: case, directory, address, process, and what was delivered."""

    def __init__(self, case, name):
        need_root()
        self.case = case
        self.directory = tempfile.mkdtemp(prefix=f"{name}-", dir=case.directory)
        os.chmod(self.directory, 0o755)
        self.address = case.free_address()
        self.process = None
        self.files = {}  # for with_files()
        self.log_path = os.path.join(self.directory, "maillog")

    def write(self, name, text):
        path = os.path.join(self.directory, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def use_nameservers(self, nameservers):
        """Without any, nobody listens there and a question fails at once."""
        lines = [f"nameserver {server}\n" for server in nameservers or (self.case.host,)]
        self.files["/etc/resolv.conf"] = self.write("resolv.conf", "".join(lines))

    def wait_until_listening(self):
        def is_listening():
            if self.process.popen.poll() is not None:
                raise AssertionError(f"it has ended:\n{self.process.log()}{self.log()}")
            return is_open(self.address)

        wait_for(is_listening, f"{self.directory} to listen")

    def log(self):
        """What its log has till now."""
        if not os.path.exists(self.log_path):
            return ""
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def wait_for_log(self, pattern, count=1):
        try:
            return wait_for(lambda: (found := re.findall(pattern, self.log(), re.MULTILINE))
                            and len(found) >= count and found, f"/{pattern}/ in the log")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.log()[-4000:]}") from None

    def delivered(self):
        """The messages that are in the mailbox, as bytes."""
        box = os.path.join(self.directory, "mail/inbox/new")
        messages = []
        for name in sorted(os.listdir(box)) if os.path.isdir(box) else ():
            with open(os.path.join(box, name), "rb") as file:
                messages.append(file.read())
        return messages

    def wait_for_delivered(self, count):
        return wait_for(lambda: len(self.delivered()) >= count and self.delivered(),
                        f"{count} messages to be delivered", SESSION_S)


class Postfix(MailServer):
    """
    A Postfix of the test's own at address, ready for sessions.

        main         lines of main.cf, instead of those of MAIN_CF that have the same names
        master       lines of master.cf
        postscreen   in front of smtpd, at the same address
        proxy        every session begins with a PROXY header
        xclient      XCLIENT is permitted to us (to postscreen it never is)
        discard      messages are thrown away; delivered() counts nothing then, discarded() does
        nameservers  addresses for its resolv.conf
        queue        an empty directory for its queue

    queue is its queue directory, in which private/ is for sockets of other daemons. Those
    may be run by the user "postfix" or have them owned by him.
    """

    def __init__(self, case, main=(), master=(), postscreen=False, proxy=False, xclient=True,
                 discard=False, nameservers=(), queue=None):
        super().__init__(case, "postfix")
        peer("postconf")
        self.user = pwd.getpwnam("postfix")
        self.queue = queue or os.path.join(self.directory, "queue")
        self.config = os.path.join(self.directory, "etc")
        self.is_discarding = discard
        self._make_directories()
        settings = list(main)
        if proxy:
            settings.append(f"{'postscreen' if postscreen else 'smtpd'}_upstream_proxy_protocol"
                            " = haproxy")
        if xclient:
            settings.append("smtpd_authorized_xclient_hosts = 127.0.0.0/8")
        self._write_config(settings, master, postscreen)
        self.use_nameservers(nameservers)
        self._start()

    def _make_directories(self):
        for name in ("etc", "data", "mail"):
            os.mkdir(os.path.join(self.directory, name))
        os.makedirs(os.path.join(self.queue, "pid"))
        postdrop = grp.getgrnam("postdrop").gr_gid
        for name, mode, is_postdrop in QUEUE:
            path = os.path.join(self.queue, name)
            os.mkdir(path)
            os.chown(path, self.user.pw_uid, postdrop if is_postdrop else 0)
            os.chmod(path, mode)
        for name in ("data", "mail"):
            os.chown(os.path.join(self.directory, name), self.user.pw_uid, self.user.pw_gid)

    def _write_config(self, main, master, postscreen):
        text = MAIN_CF.format(queue=self.queue, data=os.path.join(self.directory, "data"),
                              programs=POSTFIX_PROGRAMS, log=self.log_path,
                              directory=self.directory, uid=self.user.pw_uid,
                              gid=self.user.pw_gid,
                              transport="discard:" if self.is_discarding else "virtual:")
        # Of an item that stands there twice, every process would complain.
        names = {line.partition("=")[0].strip() for line in main}
        kept = [line for line in text.splitlines() if line.partition("=")[0].strip() not in names]
        self.write("etc/main.cf", "\n".join([*kept, *main]) + "\n")
        door = MASTER_POSTSCREEN if postscreen else MASTER_SMTPD
        host, port = self.address
        self.write("etc/master.cf", MASTER_CF + door.format(host=host, port=port)
                   + "\n".join(master) + "\n")

    def _start(self):
        """
        Ready when it has a log. Without one it is started once more: a postlogd that reads
        nothing was met twice in some thousand starts on busy machines, and every other daemon
        of that Postfix stops when the socket to it is full.
        """
        self._start_master()
        try:
            self.wait_for_log("daemon started")
        except AssertionError:
            self.process.stop()
            self._start_master()
            self.wait_for_log("daemon started")

    def _start_master(self):
        master = os.path.join(POSTFIX_PROGRAMS, "master")
        self.process = self.case.start(with_files(self.files, [master, "-c", self.config, "-s"]),
                                       "postfix", start_new_session=True)
        self.wait_until_listening()

    def discarded(self):
        return len(re.findall(r"postfix/discard\[.* status=sent ", self.log()))

    def reload(self):
        """As after a change of main.cf."""
        self.process.send_signal(1)

    def run_queue(self):
        """
        Tries all that waits, now; master has to have a pickup. A mail that the queue manager finds still locked
        by the process that has tried it goes back to incoming, which is not looked at every queue_run_delay but
        when a mail comes, or every 300 s (qmgr's line in master).
        """
        subprocess.run([peer("postqueue"), "-c", self.config, "-f"], check=True, timeout=SESSION_S)


# ---- Exim ----


EXIM = """\
primary_hostname = mx.example.com
exim_path = {program}
spool_directory = {spool}
log_file_path = {directory}/%slog
pid_file_path = {directory}/pid
local_interfaces = {host}
daemon_smtp_ports = {port}
hosts_proxy = {proxy}
disable_ipv6 = true
keep_environment =
smtp_accept_max = 200
smtp_accept_queue = 0
queue_run_in_order = true
rfc1413_query_timeout = 0s
host_lookup =
tls_advertise_hosts =
domainlist local_domains = example.com
acl_smtp_rcpt = acl_rcpt
{main}

begin acl
acl_rcpt:
{acl}
  accept domains = +local_domains
  deny message = relay not permitted

begin routers
{routers}
local:
  driver = accept
  domains = +local_domains
  transport = mailbox

begin transports
mailbox:
{transport}
{transports}

begin authenticators
{authenticators}

begin retry
* * F,1h,1m
"""

EXIM_MAILDIR = ("driver = appendfile", "directory = {directory}/mail/inbox", "maildir_format", "create_directory",
                "user = mail", "group = mail")

EXIM_PROGRAM = ("exim4-daemon-heavy", "usr/sbin/exim4")
EXIM_USER = "Debian-exim"  # compiled in, and looked up before anything is read


class Exim(MailServer):
    """
    An Exim of the test's own: bh() is a session of "exim -bh", start() makes it a daemon at
    address.

        acl          lines of the ACL for RCPT
        main         lines of the main section
        nameservers  addresses for its resolv.conf
        proxy        every session begins with a PROXY header
        transport    lines of the transport that has the mails; delivered() counts nothing then
        routers      lines of routers before that of the mailbox
        transports   lines of their transports
        authenticators  lines of that section
        spool        a directory for its queue
        runs         how often it tries again what it could not deliver, as "30m"; None: when it is told
    """

    def __init__(self, case, acl=(), main=(), nameservers=(), proxy=True, transport=EXIM_MAILDIR,
                 routers=(), transports=(), authenticators=(), spool=None, runs=None):
        super().__init__(case, "exim")
        # Whom it becomes has to run it again; the copy is set-user-ID as well.
        self.program = case.readable_program(unpacked(*EXIM_PROGRAM))
        self.log_path = os.path.join(self.directory, "mainlog")
        mail = pwd.getpwnam("mail")
        self.spool, self.runs = spool or os.path.join(self.directory, "spool"), runs
        for path in (self.spool, os.path.join(self.directory, "mail")):
            os.makedirs(path, exist_ok=True)
            os.chown(path, mail.pw_uid, mail.pw_gid)
        os.chown(self.directory, mail.pw_uid, mail.pw_gid)  # for its log
        self._know_user("/etc/passwd", f"{EXIM_USER}:x:{mail.pw_uid}:{mail.pw_gid}::/:/bin/false")
        self._know_user("/etc/group", f"{EXIM_USER}:x:{mail.pw_gid}:")
        self.use_nameservers(nameservers)
        self.config = self.write("exim.conf", EXIM.format(
            directory=self.directory, spool=self.spool, program=self.program, host=self.address[0],
            port=self.address[1], main="\n".join(main), routers="\n".join(routers),
            transports="\n".join(transports), authenticators="\n".join(authenticators),
            proxy="127.0.0.0/8" if proxy else "",
            transport="\n".join(f"  {line}" for line in transport).format(directory=self.directory),
            acl="\n".join(f"  {line}" for line in acl)))

    def _know_user(self, name, line):
        with open(name, encoding="utf-8") as file:
            self.files[name] = self.write(os.path.basename(name), f"{file.read()}{line}\n")

    def start(self):
        self.process = self.case.start(
            with_files(self.files, [self.program, "-C", self.config, "-bdf",
                                    *([f"-q{self.runs}"] if self.runs else [])]), "exim",
            start_new_session=True)
        self.wait_until_listening()
        return self

    def run_queue(self):
        """Tries what it could not deliver, all of it and now."""
        subprocess.run(with_files(self.files, [self.program, "-C", self.config, "-qff"]), check=True,
                       timeout=SESSION_S)

    def bh(self, client, recipient=RECIPIENT):
        """What it would do with a session of client: an Outcome, and what it told aside."""
        commands = ["EHLO us.example.net", f"MAIL FROM:<{SENDER}>", f"RCPT TO:<{recipient}>",
                    "QUIT"]
        result = subprocess.run(
            with_files(self.files, [self.program, "-C", self.config, "-bh", client]),
            input="".join(f"{command}\r\n" for command in commands), capture_output=True,
            text=True, check=False, timeout=SESSION_S)
        outcome = Outcome(client)
        replies = re.findall(r"^((?:\d{3}-.*\n)*\d{3} .*)$", result.stdout, re.MULTILINE)
        outcome.replies = [(command, int(reply[:3]), re.sub(r"^\d{3}[- ]", "", reply.strip(),
                                                            flags=re.MULTILINE))
                           for command, reply in zip(["", *commands], replies)]
        if len(outcome.replies) <= len(commands):
            raise AssertionError(f"exim -bh {client}:\n{result.stdout}{result.stderr}")
        return outcome, result.stderr


# ---- a client ----


@dataclasses.dataclass
class Outcome:
    """Of a session: what was answered to each command, in order."""

    client: str
    replies: list = dataclasses.field(default_factory=list)  # (command, code, text)
    is_lost: bool = False  # the connection ended before QUIT was answered

    @property
    def codes(self):
        return [code for _, code, _ in self.replies]

    @property
    def is_accepted(self):
        """The message was taken over."""
        return any(command == "." and code == 250 for command, code, _ in self.replies)

    @property
    def is_refused(self):
        """By a 5xx, whatever it was said to."""
        return any(code >= 500 for code in self.codes)

    @property
    def trouble(self):
        """Replies that a client without fault must not get when it is not listed."""
        return [reply for reply in self.replies if reply[1] >= 400]

    @property
    def text(self):
        """Of the last refusal, else of the last reply."""
        return (self.trouble or self.replies or [("", 0, "")])[-1][2]


class Session:
    """
    One SMTP session that the server takes for one of client's, by a PROXY header or by
    XCLIENT, or for one of ours when client is None.
    """

    def __init__(self, address, client=None, proxy=False, outcome=None, timeout_s=SESSION_S):
        self.outcome = outcome or Outcome(client)
        self.socket = socket.create_connection(address, timeout=timeout_s)
        self.file = self.socket.makefile("rb")
        if proxy:
            self.socket.sendall(proxy_header(client, address))
        self.read_reply("")
        if client is not None and not proxy:
            self.command("EHLO us.example.net")
            family = "IPV6:" if ":" in client else ""
            self.command(f"XCLIENT ADDR={family}{client} NAME=[UNAVAILABLE]")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.socket.close()

    def command(self, line):
        """Its reply's code."""
        self.socket.sendall(line.encode() + b"\r\n")
        return self.read_reply(line)

    def read_reply(self, command):
        lines = []
        while True:
            line = self.file.readline()
            if not line:
                raise ConnectionError(f"the server went away after {command!r}")
            lines.append(line.decode("utf-8", "replace").rstrip("\r\n"))
            if line[3:4] != b"-":
                break
        code = int(lines[-1][:3])
        self.outcome.replies.append((command, code, "\n".join(line[4:] for line in lines)))
        return code

    def send_message(self, sender=SENDER, recipient=RECIPIENT, message="Subject: test\n\ntest\n"):
        """As far as the server lets us, and QUIT."""
        steps = ["EHLO us.example.net", f"MAIL FROM:<{sender}>", f"RCPT TO:<{recipient}>", "DATA"]
        if all(self.command(step) < 400 for step in steps):
            body = message.replace("\n", "\r\n").encode()
            self.socket.sendall(body + b".\r\n")
            self.read_reply(".")
        self.command("QUIT")


def proxy_header(client, address):
    """Of version 1, with a destination of the same family."""
    if ":" in client:
        return f"PROXY TCP6 {client} 2001:db8::25 41234 {address[1]}\r\n".encode()
    return f"PROXY TCP4 {client} {address[0]} 41234 {address[1]}\r\n".encode()


def send(address, client=None, proxy=False, **message):
    """A session with one message. An Outcome, also when the server hangs up or is silent."""
    outcome = Outcome(client)
    try:
        with Session(address, client, proxy, outcome) as session:
            session.send_message(**message)
    except OSError:
        outcome.is_lost = True
    return outcome


def send_all(address, clients, parallel=20, **how):
    """The same for many clients, some of them at a time. Outcomes in the order of clients."""
    with concurrent.futures.ThreadPoolExecutor(parallel) as pool:
        return list(pool.map(lambda client: send(address, client, **how), clients))


# ---- the authority ----


class Authority:
    """dnsblv6d with a list, as a bitmap zone and a classic one, and its counters."""

    def __init__(self, case, lines, zone=ZONE, classic=CLASSIC, options=()):
        self.control = case.path(f"authority-{len(case.processes)}.ctl")
        store = case.path(f"authority-{len(case.processes)}.mdb")
        case.build(store, *options, case.write("authority.txt", "\n".join(lines) + "\n"),
                   zone=zone)
        self.server = case.serve([(zone, store, classic)],
                                 server_lines=(f"control: {self.control}",))
        self.address = self.server.address

    def pause(self, case):
        """There are no answers till the function that is returned is called, or the test ends."""
        workers = self.server.children()

        def go_on():
            for pid in workers:
                os.kill(pid, signal.SIGCONT)

        for pid in workers:
            os.kill(pid, signal.SIGSTOP)
        case.addCleanup(go_on)
        return go_on

    def questions(self, zone=None):
        """How many it has had till now, in all or about one of its zones."""
        told = subprocess.run([harness.program("dnsblv6ctl"), "--socket", self.control, "stats"],
                              capture_output=True, text=True, check=True, timeout=SESSION_S)
        rows = [line.split("\t") for line in told.stdout.splitlines()]
        return next(int(value) for name, counter, value in rows
                    if name == (zone or "server") and counter == "queries")
