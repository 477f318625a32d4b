# SPDX-License-Identifier: GPL-3.0-or-later
"""
mailservers.py - what bench/smtp puts under load: mail servers far away, and what they cost; and what
bench/store has of it, too: figures() of a load, and what rounds come to.

Flow: bench/smtp -> Place makes the networks -> PostfixArm, NginxArm and FrontArm are servers in
      it, each started under counters -> Place.load() is bench/smtp-load in front of them.

A Place is two network namespaces with bench/distance between them: the bench's own, where servers
are, and another for clients, which have the addresses CLIENTS. A client that is started in the
bench's own reaches the same address of a server without the distance.

Servers run on the first core; clients, distance and the next hop on the last. Counters are the
kernel's (perf_event_open(2), of a process and all that come of it, those that have ended too).
"""
import contextlib
import ctypes
import json
import os
import platform
import re
import statistics
import struct
import subprocess
import sys
import tempfile
import time

from replays import ROOT, Failure  # beside this file
sys.path.insert(1, os.path.join(ROOT, "tests", "integration", "smtp-front"))
import front  # noqa: E402  (found by the line above)
import harness  # noqa: E402  (found by replays.py)
import mta  # noqa: E402
from harness import wait_for  # noqa: E402

SERVER, CLIENT = "10.25.0.1", "10.25.0.2"
CLIENTS = "10.64.0.0/10"
MEMORY = "/dev/shm"
USERS = 1000
SERVER_CORE, LOAD_CORE = min(os.sched_getaffinity(0)), max(os.sched_getaffinity(0))
CLONE_NEWNET = 0x40000000
FAR_MS = 15  # each way
PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}
SOFTWARE, TASK_CLOCK, CONTEXT_SWITCHES, INHERIT = 1, 1, 3, 1 << 1
WAITING = 'read -r _ <"$0"; exec "$@"'
FAILURES = (Failure, OSError, AssertionError, subprocess.SubprocessError,
            harness.unittest.SkipTest)
libc = ctypes.CDLL(None, use_errno=True)


# ---- places ----


def enter_network(arguments, program, *more):
    """The same program with a network of its own; more: options of unshare."""
    if os.environ.get("DNSBLV6_BENCH_NETWORK") is None:
        os.environ["DNSBLV6_BENCH_NETWORK"] = "1"
        os.execv(harness.peer("unshare"),
                 ["unshare", "--net", *more, sys.executable, program, *arguments])


def tell(*words, network=None):
    command = ["nsenter", f"--net={network}"] if network else []
    subprocess.run([*command, *words], check=True, timeout=60)


def queue_drops(device, network):
    command = ["ip", "-s", "-j", "link", "show", device]
    said = subprocess.run(["nsenter", f"--net={network}", *command] if network else command,
                          check=True, capture_output=True, timeout=60).stdout
    return json.loads(said)[0]["stats64"]["tx"]["dropped"]


class Place:
    """Two networks and what is between them; a Case of the harness ends it all."""

    environment = {}  # what counted processes have besides

    def __init__(self, options, stack):
        self.options = options
        # In memory: a disk that hangs for ten seconds has Postfix' logger end itself.
        tempfile.tempdir = MEMORY if os.path.isdir(MEMORY) else None
        self.case = harness.Case()
        self.case.setUp()
        stack.callback(self.case.doCleanups)
        self.case.host = SERVER
        os.chmod(self.case.directory, 0o755)
        self.own, self.far = "/proc/self/ns/net", None
        self._connect()

    def _connect(self):
        tell("ip", "link", "set", "lo", "up")
        keeper = self.case.start(["unshare", "--net", "sleep", "infinity"], "far")
        own = os.readlink(self.own)
        wait_for(lambda: os.readlink(f"/proc/{keeper.pid}/ns/net") != own, "a second network")
        self.far = f"/proc/{keeper.pid}/ns/net"
        self.distance = self.case.start(
            [self.program("bench", "distance"), str(FAR_MS), f"/proc/{os.getpid()}/ns/net",
             "near", self.far, "far"], "distance", preexec_fn=self.on_core(LOAD_CORE))
        self.distance.wait_for_log("^ready")
        tell("ip", "link", "set", "lo", "up", network=self.far)
        for device, address, network in (("near", SERVER, None), ("far", CLIENT, self.far)):
            tell("ip", "address", "add", f"{address}/24", "dev", device, network=network)
            tell("ip", "link", "set", device, "up", "txqueuelen", "20000", network=network)
        tell("ip", "route", "add", CLIENTS, "dev", "near")
        tell("ip", "route", "add", "local", CLIENTS, "dev", "lo", network=self.far)
        for network in (None, self.far):
            tell("sysctl", "-q", "-w", "net.ipv4.tcp_max_syn_backlog=20000",
                 "net.ipv4.ip_local_port_range=1024 65000", "net.ipv4.tcp_tw_reuse=1",
                 network=network)

    def program(self, *path):
        return os.path.join(self.options.programs, *path)

    def end_distance(self):
        """No client comes from far away any more. Returns how many packets were lost on the way."""
        dropped = queue_drops("near", None) + queue_drops("far", self.far)
        self.distance.stop()
        return dropped + int(re.findall(r"dropped=(\d+)", self.distance.log())[-1])

    @staticmethod
    def on_core(core, network=None):
        """For preexec_fn."""
        def prepare():
            os.sched_setaffinity(0, {core})
            if network is not None:
                fd = os.open(network, os.O_RDONLY)
                if libc.setns(fd, CLONE_NEWNET) != 0:
                    os._exit(71)
                os.close(fd)
        return prepare

    def start_load(self, address, is_far=True, core=LOAD_CORE, **options):
        command = [self.program("bench", "smtp-load", "smtp-load"), "--ham-recipients", "1",
                   "--users", str(USERS)]
        for name, value in options.items():
            command += [f"--{name.replace('_', '-')}", str(value)]
        return subprocess.Popen(
            [*command, address[0], str(address[1])], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
            preexec_fn=self.on_core(core, self.far if is_far else None))

    def load(self, address, **options):
        """What smtp-load says of a run from far away."""
        return figures(self.start_load(address, **options))


def figures(process):
    """What smtp-load has printed, once it has ended."""
    try:
        said, complaint = process.communicate(timeout=300)
    finally:
        process.kill()
        process.wait()
    if process.returncode not in (0, 69):
        raise Failure(f"smtp-load: {complaint.strip() or process.returncode}")
    return {key: float(value) for key, value in re.findall(r"(\w+)=([0-9.]+)", said)}


# ---- rounds ----


def note(text):
    print(text, file=sys.stderr, flush=True)


class Missed(list):
    """A line for each thing that is not as it should be; what was measured beside it is kept."""

    failures = FAILURES

    def add(self, what):
        note(what)
        self.append(what)

    @contextlib.contextmanager
    def keep(self, what):
        """A failure within is a line."""
        try:
            yield
        except self.failures as error:
            reason = str(error).splitlines() or [type(error).__name__]
            self.add(f"{what}: not measured ({reason[0]})")


def median_of(rows, field):
    """Of the rounds that were measured; None: there is none."""
    found = [getattr(row, field) for row in rows if row is not None]
    return statistics.median(found) if found else None


def quantile(values, share):
    """Of all, not of an estimate: the least that so many do not exceed."""
    return sorted(values)[max(0, -int(-len(values) * share // 1) - 1)]


def times(value, base):
    return value / base if value is not None and base else None


def figure(value, digits=0):
    return "-" if value is None else f"{value:.{digits}f}"


# ---- counters ----


class Counter:
    """Of a process and all that come of it."""

    def __init__(self, pid, config):
        attributes = struct.pack("=IIQQQQQ", SOFTWARE, 64, config, 0, 0, 0, INHERIT).ljust(64, b"\0")
        number = PERF_EVENT_OPEN.get(platform.machine())
        if number is None:
            raise Failure(f"no counters known on {platform.machine()}")
        self.fd = libc.syscall(number, attributes, pid, -1, -1, ctypes.c_ulong(8))  # close-on-exec
        if self.fd < 0:
            raise Failure(f"perf_event_open: {os.strerror(ctypes.get_errno())}")

    def value(self):
        return struct.unpack("=Q", os.read(self.fd, 8))[0]


class Counted:
    """A process that begins when its counters are there. place: case, on_core() and environment."""

    def __init__(self, place, command, name):
        fifo = place.case.path(f"{name}-begins")
        os.mkfifo(fifo)
        self.process = place.case.start(["sh", "-c", WAITING, fifo, *command], name,
                                        preexec_fn=place.on_core(SERVER_CORE),
                                        start_new_session=True,
                                        env={**os.environ, **place.environment})
        self.switches = Counter(self.process.pid, CONTEXT_SWITCHES)
        self.cpu_ns = Counter(self.process.pid, TASK_CLOCK)
        with open(fifo, "w", encoding="ascii") as file:
            file.write("\n")

    def cost(self):
        return self.switches.value(), self.cpu_ns.value()


# ---- servers ----


class Arm:
    """A server with a name, an address, and counters of all its processes."""

    def __init__(self, name, counted, address):
        self.name, self.counted, self.address = name, list(counted), address
        self.front = None

    def cost(self):
        """(context switches, nanoseconds) since it began."""
        return tuple(sum(values) for values in zip(*(one.cost() for one in self.counted)))

    def settle(self):
        """Until it has nothing more to do."""
        last = None
        end = time.monotonic() + 60
        while time.monotonic() < end:
            now = self.cost()[1]
            if last is not None and now - last < 5e6:
                return
            last = now
            time.sleep(0.25)
        raise Failure(f"{self.name} does not come to rest")


def pss_kib(arm):
    """What all processes of an arm have in memory, and of what they share their part."""
    return pss_of(pid for one in arm.counted for pid in harness.tree_of(one.process.pid))


def pss_of(pids):
    """What processes have in memory, in KiB, and of what they share their part."""
    total = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
                total += int(re.search(r"(?m)^Pss: +(\d+)", file.read()).group(1))
        except (FileNotFoundError, ProcessLookupError, AttributeError):
            continue  # it has ended meanwhile
    return total


class Postfix(mta.Postfix):
    """As the tests have it, under counters. Knows the users of the load; boxes are maildirs."""

    def __init__(self, place, name, **how):
        self.place, self.name, self.counted = place, name, None
        users = place.case.write(f"{name}-users", "".join(
            f"user{number}@example.com {number}/\n" for number in range(USERS)))
        main = [f"virtual_mailbox_maps = texthash:{users}", *how.pop("main", ())]
        super().__init__(place.case, main=main, **{"discard": True, "xclient": False, **how})

    def _start(self):
        master = os.path.join(mta.POSTFIX_PROGRAMS, "master")
        self.counted = Counted(self.place, mta.with_files(
            self.files, [master, "-c", self.config, "-s"]), self.name)
        self.process = self.counted.process
        self.wait_until_listening()


def start_postfix(place, limits):
    """
    One Postfix with a door for each number of smtpd processes, {limit: Arm}, and an Arm for what
    stands before it and says XCLIENT, since what keeps its connections would take those of others.
    """
    doors = {limit: place.case.free_address() for limit in limits}
    host, port = behind = place.case.free_address()
    postfix = Postfix(place, "postfix", master=[
        f"{host}:{port} inet n - n - {max(limits)} smtpd"
        f" -o smtpd_authorized_xclient_hosts={SERVER}",
        *(f"{host}:{port} inet n - n - {limit} smtpd" for limit, (host, port) in doors.items())])
    return ({limit: Arm("Postfix smtpd", [postfix.counted], address)
             for limit, address in doors.items()}, Arm("behind", [postfix.counted], behind))


def start_postscreen(place, limit):
    postfix = Postfix(place, "postscreen", postscreen=True, main=[
        f"default_process_limit = {limit}", "postscreen_greet_wait = 1s",
        "postscreen_client_connection_count_limit = 0", "postscreen_pre_queue_limit = 20000",
        "postscreen_post_queue_limit = 20000"])
    arm = Arm("postscreen, smtpd", [postfix.counted], postfix.address)
    place.load(arm.address, connections=1, sessions=2)  # who has been let pass once, is known
    return arm


NGINX = """\
load_module /usr/lib/nginx/modules/ngx_mail_module.so;
daemon off;
user nobody nogroup;
worker_processes 1;
error_log {directory}/error.log crit;
pid {directory}/pid;
events {{ worker_connections 20000; }}
mail {{
	server_name mx.example.com;
	auth_http {asked}/;
	server {{
		listen {host}:{port} backlog=4096;
		protocol smtp;
		smtp_auth none;
		smtp_capabilities PIPELINING "SIZE 52428800" 8BITMIME;
		xclient off;
	}}
}}
http {{
	access_log off;
	client_body_temp_path {directory}/body;
	proxy_temp_path {directory}/proxy;
	fastcgi_temp_path {directory}/fastcgi;
	uwsgi_temp_path {directory}/uwsgi;
	scgi_temp_path {directory}/scgi;
	map $http_auth_smtp_to $status_of {{ default OK; ~nouser "5.1.1 User unknown"; }}
	map $http_auth_smtp_to $code_of {{ default ""; ~nouser "550"; }}
	server {{
		listen {asked} backlog=4096;
		location / {{
			add_header Auth-Status $status_of;
			add_header Auth-Error-Code $code_of;
			add_header Auth-Server {next_host};
			add_header Auth-Port {next_port};
			return 204;
		}}
	}}
}}
"""


def start_nginx(place, behind):
    """In front of a door of Postfix, whose cost is among its own."""
    directory = place.case.path("nginx")
    os.mkdir(directory)
    address = place.case.free_address()
    host, port = place.case.free_address()
    config = place.case.write("nginx.conf", NGINX.format(
        directory=directory, host=address[0], port=address[1], asked=f"{host}:{port}",
        next_host=behind.address[0], next_port=behind.address[1]))
    counted = Counted(place, [harness.peer("nginx"), "-p", directory, "-c", config, "-e",
                              os.path.join(directory, "error.log")], "nginx")
    said = []

    def passes_on():
        said.append(place.load(address, connections=1, sessions=1))
        return said[-1]["delivered"] == 1

    try:
        wait_for(passes_on, "nginx to pass a mail on")
    except AssertionError as error:
        with open(os.path.join(directory, "error.log"), encoding="utf-8") as log:
            raise Failure(f"{error}: {said[-1]}\n{log.read()[-2000:]}") from None
    return Arm("nginx, smtpd", [counted, *behind.counted], address)


class Front(front.Front):
    """As the tests have it, under counters."""

    def __init__(self, place, name, **how):
        self.place, self.name, self.counted = place, name, None
        with contextlib.ExitStack() as stack:
            directory = place.case.directory
            stack.callback(setattr, place.case, "directory", directory)
            place.case.directory = os.path.join(directory, name)
            os.mkdir(place.case.directory)
            os.chmod(place.case.directory, 0o755)
            super().__init__(place.case, users=[f"user{number}@example.com"
                                                for number in range(USERS)], **how)

    def start(self):
        self.counted = Counted(self.place, [harness.program("smtp-front"), "--config",
                                            self.config_path], self.name)
        self.process = self.counted.process
        self.process.wait_for_log(r"^info: \[smtp-front\] ready, ")
        return self.process


def start_next_hop(place):
    """Postfix' smtp-sink, which forgets what it gets. Returns its place."""
    host, port = place.case.free_address()
    place.case.start([harness.peer("smtp-sink"), "-u", "nobody", "-m", "1000", f"{host}:{port}",
                      "1000"], "smtp-sink", preexec_fn=place.on_core(LOAD_CORE))
    return f"{host}@{port}"


def start_front(place, name, workers, sink):
    one = Front(place, re.sub("[^a-z]+", "-", name.lower()), sink=sink, front={
        "edges": 1, "workers": workers, "sessions": 20000})
    arm = Arm(name, [one.counted], one.address)
    arm.front = one
    return arm


def start_front_before(place, name, workers, behind):
    """With Postfix behind it, whose cost is among its own."""
    host, port = behind.address
    arm = start_front(place, name, workers,
                      {"kind": "smtp", "to": f"{host}@{port}", "tell": "xclient"})
    arm.counted += behind.counted
    return arm
