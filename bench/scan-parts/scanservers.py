# SPDX-License-Identifier: GPL-3.0-or-later
"""
scanservers.py - what bench/scan looks at: scanners of mails between a client and a next hop, under
counters.

Flow: bench/scan -> Place -> start_proxy(), start_amavisd(), ... -> Arm of mailservers.py, whose
      cost() is that of all processes, clamd among them -> send() is the load before it.

All have the same signatures, one processor, and Postfix' smtp-sink behind them, which forgets what
it gets; the load and smtp-sink have the other processor.
"""
import base64
import http.client
import os
import pwd
import random
import re
import subprocess
import sys
import tempfile
import time
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(1, os.path.join(ROOT, "bench"))
import mailservers  # noqa: E402  (of bench)
import scanners  # noqa: E402  (beside this file)
import rspamd  # noqa: E402  (found by replays.py)
from mailservers import LOAD_CORE, MEMORY, Arm, Counted  # noqa: E402
from replays import Failure  # noqa: E402
from scanners import await_open  # noqa: E402
import harness  # noqa: E402  (found by replays.py)

HOST = "127.0.0.1"
SENDER, RECIPIENT = "sender@example.net", "user0@example.com"
SLOTS = 2000

AMAVISD = """\
use strict;
$MYHOME = '{home}'; $TEMPBASE = "$MYHOME/tmp"; $db_home = "$MYHOME/db";
$pid_file = "$MYHOME/pid"; $lock_file = "$MYHOME/lock"; $logfile = "$MYHOME/log";
$daemon_user = 'amavis'; $daemon_group = 'amavis';
$max_servers = {servers}; $mydomain = 'example.com'; $myhostname = 'mx.example.com';
$enable_db = 0; $enable_zmq = 0; $do_syslog = 0; $log_level = 0;
@inet_acl = qw(127.0.0.0/8); @mynetworks = qw(127.0.0.0/8);
$inet_socket_bind = '{host}'; $inet_socket_port = {port};
$forward_method = 'smtp:[{next_host}]:{next_port}'; $notify_method = $forward_method;
@local_domains_maps = (1);
@bypass_spam_checks_maps = (1); @bypass_banned_checks_maps = (1); @bypass_header_checks_maps = (1);
@bypass_virus_checks_maps = ({bypass});
$bypass_decode_parts = {bypass};
$final_virus_destiny = D_REJECT; $QUARANTINEDIR = undef; $virus_quarantine_to = undef;
@av_scanners = (['ClamAV-clamd', \\&ask_daemon, ["CONTSCAN {{}}\\n", '{clamd}'], qr/\\bOK$/m,
                 qr/\\bFOUND$/m, qr/^.*?: (?!Infected Archive)(.*) FOUND$/m]);
1;
"""

RSPAMD = """\
modules {{ path = "{plugins}/antivirus.lua"; }}
antivirus {{ clamav {{
    type = "clamav"; servers = "{clamd}"; symbol = "CLAMD"; scan_mime_parts = false;
    max_size = 200000000; timeout = 60s;
}} }}
"""

PROXY = """\
proxy:
    hostname: mx.example.com
    processes: 1
    sessions: {slots}
    user: nobody
listener:
  - listen: {host}@{port}
    next-hop: {next_host}@{next_port}
limits:
    connections: 0
    rate: 0
"""


class Place:
    """A case of the harness, mails, signatures, and a next hop; all ends with the stack."""

    environment = {}  # what counted processes have besides

    def __init__(self, options, stack):
        self.options = options
        tempfile.tempdir = MEMORY if os.path.isdir(MEMORY) else None
        self.case = harness.Case()
        self.case.setUp()
        stack.callback(self.case.doCleanups)
        self.case.expect_log(".")
        os.chmod(self.case.directory, 0o755)
        os.sched_setaffinity(0, {LOAD_CORE})
        self.database = scanners.take_signatures(self.case, options.signatures)
        self.signatures = self.case.path("mail.signatures")
        self.compiled = scanners.compile_signatures(self.database, self.signatures)
        self.next_hop = self.case.free_address()
        self.case.start([harness.peer("smtp-sink"), "-u", "nobody", "-m", str(SLOTS),
                         "{}:{}".format(*self.next_hop), "2000"], "smtp-sink",
                        preexec_fn=self.on_core(LOAD_CORE))

    @staticmethod
    def on_core(core, _network=None):
        """For preexec_fn."""
        return lambda: os.sched_setaffinity(0, {core})

    def program(self, *path):
        """Of the build."""
        return os.path.join(self.options.programs, *path)

    def directory(self, name, user=None):
        path = self.case.path(name)
        os.makedirs(path, exist_ok=True)
        os.chmod(path, 0o755)
        if user is not None:
            entry = pwd.getpwnam(user)
            os.chown(path, entry.pw_uid, entry.pw_gid)
        return path

    def pair(self, address):
        return {"host": address[0], "port": address[1], "next_host": self.next_hop[0],
                "next_port": self.next_hop[1]}

    def written(self, name, text):
        return self.case.write(name, text)

    # ---- mails ----

    def mail(self, name, attachment, file_name):
        """A path to a mail with one file in base64, lines ending in LF as smtp-source wants it."""
        encoded = base64.encodebytes(attachment).decode()
        return self.written(name, (
            f"From: <{SENDER}>\nTo: <{RECIPIENT}>\nSubject: {file_name}\nMIME-Version: 1.0\n"
            f"Content-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: text/plain\n\nLook.\n"
            f"--x\nContent-Type: application/octet-stream; name=\"{file_name}\"\n"
            f"Content-Transfer-Encoding: base64\n\n{encoded}--x--\n"))


def executable(size):
    """Bytes of which deflate leaves some half, as of programs; begins as one does."""
    drawn = random.Random(20250101)
    parts = [b"MZ"]
    for number in range(size // 2048 + 1):
        parts.append(drawn.randbytes(2048) if number % 2 else bytes(
            drawn.choices(b"\0\1\2\3\x8b\xff\x45\x48", k=2048)))
    return b"".join(parts)[:size]


def zipped(content, name="a.exe"):
    path = os.path.join(tempfile.gettempdir(), f"bench-scan-{os.getpid()}.zip")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    with open(path, "rb") as file:
        found = file.read()
    os.unlink(path)
    return found


# ---- servers ----


def start_proxy(place, name, scan=()):
    """mail-proxy; scan has lines of that section."""
    word = re.sub("[^a-z0-9]+", "-", name.lower())
    address = place.case.free_address()
    text = PROXY.format(slots=SLOTS, **place.pair(address))
    if scan:
        text += "scan:\n" + "".join(f"    {line}\n" for line in scan)
    config = place.written(f"{word}.conf", text)
    counted = Counted(place, [harness.program("mail-proxy"), "--config", config], word)
    counted.process.wait_for_log(r"\] ready, ")
    return Arm(name, [counted], address)


def start_amavisd(place, name, asked, is_scanning, servers=2):
    """Behind Postfix's smtpd, which gives it mails before they are in a queue."""
    program = harness.peer("amavisd")
    word = re.sub("[^a-z0-9]+", "-", name.lower())
    address = place.case.free_address()
    home = place.directory(word, "amavis")
    for part in ("tmp", "db"):
        place.directory(os.path.join(word, part), "amavis")
    config = place.written(f"{word}.conf", AMAVISD.format(
        home=home, clamd=asked[1], servers=servers, bypass=0 if is_scanning else 1,
        **place.pair(address)))
    counted = Counted(place, [program, "-c", config, "foreground"], word)
    await_open(address, name, counted)
    postfix = Filtered(place, f"{word}-postfix", address)
    return Arm(name, [counted, postfix.counted, *([asked[0]] if is_scanning else [])],
               postfix.address)


class Filtered(mailservers.Postfix):
    """Its smtpd has a filter; or with none it takes mails into its queue and forgets them."""

    def __init__(self, place, name, filtered_by=None):
        main = ["message_size_limit = 0", "mailbox_size_limit = 0",
                "smtpd_client_connection_count_limit = 0"]
        if filtered_by is not None:
            main.append("smtpd_proxy_filter = {}:{}".format(*filtered_by))
        super().__init__(place, name, main=main)


def start_postfix(place, name):
    postfix = Filtered(place, "postfix-alone")
    return Arm(name, [postfix.counted], postfix.address)


def start_front(place, name):
    """smtp-front with its own matcher, and the next hop as its sink."""
    host, port = place.next_hop
    front = mailservers.Front(
        place, re.sub("[^a-z0-9]+", "-", name.lower()), sink={"kind": "smtp", "to": f"{host}@{port}"},
        front={"edges": 1, "workers": 1, "sessions": SLOTS},
        scan={"signatures": place.signatures, "mails": SLOTS})
    return Arm(name, [front.counted], front.address)


def start_rspamd(place, name, asked):
    """Over HTTP: it forwards nothing, and knows no rules but clamd's verdict."""
    address = place.case.free_address()
    directory = place.directory("rspamd")
    for part in ("languages", "lua"):
        place.directory(os.path.join("rspamd", part))
    place.written("rspamd/tld", "com\nexample\n")
    plugins = rspamd.rspamd_file("share/rspamd/plugins")
    config = place.written("rspamd.conf", rspamd.CONFIG.format(
        directory=directory, host=address[0], port=address[1], resolver="127.0.0.1:1").replace(
            'level = "info"', 'level = "warning"') + RSPAMD.format(plugins=plugins, clamd=asked[1]))
    environment = [f"{key}={value}" for key, value in rspamd.rspamd_environment().items()
                   if os.environ.get(key) != value]
    counted = Counted(place, ["env", *environment, rspamd.rspamd_file("bin/rspamd"), "-f", "-i",
                              "-c", config], "rspamd")
    await_open(address, name, counted)
    return Arm(name, [counted, asked[0]], address)


# ---- loads ----


def ask_rspamd(address, path, count):
    """Seconds that it takes to have a mail judged so often, and the last answer."""
    with open(path, "rb") as file:
        content = file.read()
    began = time.monotonic()
    connection = http.client.HTTPConnection(*address, timeout=120)
    try:
        for _ in range(count):
            connection.request("POST", "/checkv2", content, {"From": SENDER, "Rcpt": RECIPIENT})
            answer = connection.getresponse()
            said = answer.read().decode("utf-8", "replace")
            if answer.status != 200:
                raise Failure(f"rspamd: {answer.status} {said[:200]}")
    finally:
        connection.close()
    return time.monotonic() - began, said


def send(address, path, count, sessions):
    """Seconds that it takes to send a mail so often."""
    began = time.monotonic()
    done = subprocess.run(
        [harness.peer("smtp-source"), "-d", "-F", path, "-m", str(count), "-s", str(sessions),
         "-f", SENDER, "-t", RECIPIENT, "{}:{}".format(*address)], capture_output=True, text=True,
        check=False, timeout=600)
    if done.returncode != 0:
        raise Failure(f"smtp-source: {done.stderr.strip() or done.returncode}")
    return time.monotonic() - began
