#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
smtp-front as a program: its configuration, its processes, what happens when one of them is
killed, when it is reloaded and when it is stopped. What it says to clients is in test_front_*.py.
As root its processes become "nobody" in another root directory; else that is not tested.
"""

import contextlib
import os
import pwd
import re
import select
import signal
import socket
import subprocess
import sys
import threading

import harness
from front import DEFAULTS, RECIPIENT, ROLES, SENDER, USER, Client, Front, config_text, is_root
from harness import DEADLINE_S, EX_CONFIG, IS_SANITIZED, Case, peer, sanitizer_reports, wait_for
from translated import paste

EX_NOINPUT, EX_UNAVAILABLE = 66, 69
CONTENT = b"Subject: test\r\n\r\nHello\r\n"
SECCOMP_FILTER = "2"
# What the nanny keeps of root's: DAC_OVERRIDE, KILL, SETGID, SETUID, SETPCAP, NET_BIND_SERVICE,
# SYS_CHROOT.
NANNY_CAPABILITIES = sum(1 << number for number in (1, 5, 6, 7, 8, 10, 18))


def status_of(pid):
    """/proc/PID/status as a dictionary."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


def count_listening(address):
    """How many sockets listen there."""
    place = f"{int.from_bytes(socket.inet_aton(address[0]), sys.byteorder):08X}:{address[1]:04X}"
    with open("/proc/net/tcp", encoding="ascii") as file:
        rows = [line.split() for line in file.readlines()[1:]]
    return len([row for row in rows if row[1] == place and row[3] == "0A"])


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

    def certificate(self, name="mx.example.com"):
        """CHAIN:KEY of one that has signed itself."""
        chain, key = self.path(f"{name}.pem"), self.path(f"{name}.key")
        subprocess.run([peer("openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", f"/CN={name}",
                        "-addext", f"subjectAltName=DNS:{name}", "-keyout", key, "-out", chain],
                       check=True, capture_output=True, timeout=DEADLINE_S)
        os.chmod(key, 0o600)
        return f"{chain}:{key}"


class Configuration(FrontCase):
    def check(self, text, expect):
        """What --check says of that file on standard error."""
        path = self.write("checked.conf", text)
        result = subprocess.run([harness.program("smtp-front"), "--config", path, "--check"],
                                capture_output=True, text=True, check=False, timeout=DEADLINE_S)
        self.assertEqual(sanitizer_reports(result.stderr), [])
        self.assertEqual(result.returncode, expect, result.stderr)
        return result

    def config(self, **sections):
        """A good one, with items over it."""
        front = Front(self, is_started=False)
        front.write_config(**sections)
        return config_text(front.sections)

    def test_good_one(self):
        self.assertEqual(self.check(self.config(), 0).stdout, "configuration OK\n")

    def test_each_error_names_line_word_and_what_is_permitted(self):
        for section, line, value, permitted in (
                ("front", "workers: 0", "0", "permitted are whole numbers from 1 to 1024"),
                ("front", "at-capacity: drop", "drop", "permitted are wait, refuse"),
                ("front", "queue-size: 1T", "1T", "permitted are 16K to 64M, with K, M or G"),
                ("front", "hostname: a_b", "a_b", "permitted is a domain name"),
                ("limits", "greet-pause: 2h", "2h", "permitted are 0 to 1m, with ms, s, m, h or d"),
                ("limits", "early-talker: shout", "shout", "permitted are reject, ignore"),
                ("trust", "users: users.mdb", "users.mdb", "permitted is an absolute path"),
                ("tls", "certificates: mx.pem", "mx.pem",
                 "permitted are CHAIN:KEY and one file with both, as absolute paths"),
                ("sink", "kind: pigeon", "pigeon",
                 "permitted are smtp, lmtp, maildir, null, postfix"),
                ("sink", "to: localhost", "localhost",
                 "permitted are an address with @ and a port, and an absolute path"),
                ("decision", "deadline: soon", "soon", "permitted are 1ms to 60s, with ms or s")):
            with self.subTest(line=line):
                errors = self.check(f"# first\n{section}:\n    {line}\n", EX_CONFIG).stderr
                item = line.split(":", maxsplit=1)[0]
                self.assertIn(f'checked.conf:3] configuration refused, item={item} value="{value}" '
                              f"({permitted})", errors)

    def test_unknown_words(self):
        errors = self.check("front:\n    port: 25\n", EX_CONFIG).stderr
        self.assertIn("checked.conf:2]", errors)
        self.assertIn("port", errors)
        errors = self.check("smtp:\n    port: 25\n", EX_CONFIG).stderr
        self.assertIn("checked.conf:1]", errors)

    def test_what_does_not_go_together(self):
        errors = self.check(self.config(sink={"to": None}), EX_CONFIG).stderr
        self.assertIn('"to" is not given', errors)
        errors = self.check(self.config(tls={"require": "yes"}), EX_CONFIG).stderr
        self.assertIn('"require" needs "certificates"', errors)

    def test_files_it_names_are_looked_at(self):
        missing = self.path("none.mdb")
        errors = self.check(self.config(trust={"users": missing}), EX_CONFIG).stderr
        self.assertIn(f"recipients not opened, users={missing} (No such file or directory)", errors)
        damaged = self.write("damaged.mdb", os.urandom(5000))
        errors = self.check(self.config(trust={"users": damaged}), EX_CONFIG).stderr
        self.assertIn(f"recipients not opened, users={damaged} (", errors)
        errors = self.check(self.config(front={"chroot": missing}), EX_CONFIG).stderr
        self.assertIn(f"directory refused, chroot={missing} (No such file or directory)", errors)

    def test_lines_of_the_documentation(self):
        """docs/mta.md has one to paste; its files and its user are the test's here."""
        users = Front(self, is_started=False).users_path
        lines = paste("front.conf", {"/var/lib/smtp-front/users.mdb": users,
                                     "/run/smtp-front/empty": self.path(""),
                                     "user: smtp-front": f"user: {USER}"})
        self.check("\n".join(lines) + "\n", 0)

    def test_certificates_and_keys_are_looked_at(self):
        chain, key = self.certificate().split(":")
        self.check(self.config(tls={"certificates": [f"{chain}:{key}"]}), 0)
        other = self.certificate("other.example.com").split(":")[1]
        errors = self.check(self.config(tls={"certificates": [f"{chain}:{other}"]}),
                            EX_CONFIG).stderr
        self.assertIn(f"private key refused, path={other} (", errors)
        os.chmod(key, 0o644)
        errors = self.check(self.config(tls={"certificates": [f"{chain}:{key}"]}),
                            EX_CONFIG).stderr
        self.assertIn(f"private key refused, path={key} (", errors)

    def test_place_is_taken(self):
        front = Front(self, is_started=False)
        with socket.create_server(front.address):
            process = self.start([harness.program("smtp-front"), "--config", front.config_path],
                                 "taken")
            self.assertEqual(process.popen.wait(DEADLINE_S), EX_UNAVAILABLE)
        self.assertIn("socket not opened, place=", process.log())
        self.assertIn("(Address already in use)", process.log())

    def test_sink_that_is_not_there(self):
        front = Front(self, is_started=False, sink={"to": self.path("none")})
        process = self.start([harness.program("smtp-front"), "--config", front.config_path],
                             "no-sink")
        self.assertEqual(process.popen.wait(DEADLINE_S), EX_NOINPUT)
        self.assertIn("sink not opened", process.log())
        self.assertNotIn("ready, version", process.log())

    def test_two_are_not_on_one_port(self):
        front = Front(self)
        second = self.start([harness.program("smtp-front"), "--config", front.config_path],
                            "second")
        self.assertEqual(second.popen.wait(DEADLINE_S), EX_UNAVAILABLE)
        self.deliver(front)

    def test_defaults_of_the_fixture_are_all_sections(self):
        self.assertEqual(list(DEFAULTS), ["front", "limits", "trust", "tls", "sink", "decision",
                                          "library"])


class Processes(FrontCase):
    def test_there_are_as_many_as_configured(self):
        front = Front(self, certificates=[self.certificate()], front={"edges": 3, "workers": 4})
        counts = {role: len(pids) for role, pids in front.processes().items()}
        self.assertEqual(counts, {"keyholder": 1, "edge": 3, "worker": 4})

    def test_killed_ones_are_made_again(self):
        front = Front(self, certificates=[self.certificate()])
        for role, count in (("edge", 2), ("worker", 2), ("keyholder", 1)):
            with self.subTest(role=role):
                before = front.wait_for_processes(role, count)
                for pid in before:
                    os.kill(pid, signal.SIGKILL)
                front.wait_for_log(rf"^error: \[smtp-front\] process died, role={role} .* signal=9",
                                   count)
                front.wait_for_processes(role, count, but=before)
                with front.client() as client:
                    client.hello()
                    client.starttls()
                    client.say("EHLO again.example.net", 250)
                    client.send_mail(SENDER, [RECIPIENT], CONTENT)
                    client.say("QUIT", 221)
        counters = front.counters()
        self.assertEqual(counters["edge-restarts"], 2)
        self.assertEqual(counters["worker-restarts"], 2)
        self.assertEqual(counters["keyholder-restarts"], 1)
        self.assertEqual(counters["mails-committed"], 3)

    def test_sessions_in_the_queue_outlive_the_worker(self):
        front = Front(self, front={"workers": 1})
        (worker,) = front.processes()["worker"]
        with front.client() as first, front.client() as second:
            first.hello()
            first.say(f"MAIL FROM:<{SENDER}>", 250)
            first.say(f"RCPT TO:<{RECIPIENT}>", 250)  # the worker's, who waits for its next word
            second.hello()
            second.say(f"MAIL FROM:<{SENDER}>", 250)
            second.send(f"RCPT TO:<{RECIPIENT}>\r\n".encode())
            wait_for(lambda: front.counters().get("sessions-handed-over") == 2, "the queue")
            os.kill(worker, signal.SIGKILL)
            second.expect(250)
            second.say("DATA", 354)
            second.send(CONTENT + b".\r\n")
            second.expect(250)
            self.assertTrue(first.is_closed())
        self.assertEqual(len(front.mails()), 1)

    def test_clients_wait_for_the_next_edge(self):
        """Stopped, so that nobody accepts what is in its backlog; then killed."""
        front = Front(self, front={"edges": 1})
        (edge,) = front.processes()["edge"]
        os.kill(edge, signal.SIGSTOP)
        with front.client() as client:
            os.kill(edge, signal.SIGKILL)
            client.expect(220)
            client.say("QUIT", 221)

    def test_worker_retires_after_its_mails(self):
        front = Front(self, front={"workers": 1, "mails-per-worker": 2})
        (before,) = front.processes()["worker"]
        for _ in range(3):
            self.deliver(front)
        front.wait_for_processes("worker", 1, but=[before])
        self.deliver(front)
        self.assertEqual(len(front.mails()), 4)
        self.assertNotIn("process died", front.log())

    def test_nobody_is_left_without_the_nanny(self):
        front = Front(self, certificates=[self.certificate()])
        pids = sum(front.processes().values(), [])
        self.assertEqual(len(pids), 5)
        front.process.popen.kill()
        front.process.popen.wait()
        wait_for(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids),
                 "the end of its processes")


class Reload(FrontCase):
    def test_bad_file_keeps_the_old_one(self):
        front = Front(self)
        before = front.processes()
        with front.client() as client:
            client.hello()
            self.assertFalse(front.reload(front={"workers": "many"}))
            self.assertIn("item=workers", front.log())
            self.assertFalse(front.reload(front={"workers": 3}, trust={"users": "/nonexistent"}))
            self.assertEqual(front.processes(), before)
            client.send_mail(SENDER, [RECIPIENT], CONTENT)
        self.deliver(front)
        self.assertEqual(front.counters()["reloads-refused"], 2)

    def test_place_that_is_taken_keeps_the_old_one(self):
        front = Front(self)
        other = self.free_address()
        with socket.create_server(other):
            both = [f"{host}@{port}" for host, port in (front.address, other)]
            self.assertFalse(front.reload(front={"listen": both}))
        self.deliver(front)

    def test_processes_that_cannot_begin_keep_the_old_ones(self):
        front = Front(self, front={"drain": "60s"})
        before = front.processes()
        self.assertFalse(front.reload(sink={"to": self.path("none")}))
        self.assertIn("sink not opened", front.log())
        self.assertEqual(front.processes(), before)
        self.deliver(front)
        self.assertTrue(front.reload(sink={"to": front.maildir}))
        self.deliver(front)

    def test_good_file_makes_new_processes_and_ends_the_old_with_their_sessions(self):
        front = Front(self, front={"drain": "60s"})
        before = front.processes()
        with front.client() as in_edge, front.client() as in_worker:
            in_edge.hello()
            in_worker.hello()
            in_worker.say(f"MAIL FROM:<{SENDER}>", 250)
            in_worker.say(f"RCPT TO:<{RECIPIENT}>", 250)
            self.assertTrue(front.reload(front={"workers": 3}, limits={"size": "1M"}))
            front.wait_for_log(r"edge drains")
            in_worker.say("DATA", 354)
            in_worker.send(CONTENT + b".\r\n")
            in_worker.expect(250)
            in_edge.send_mail(SENDER, [RECIPIENT], CONTENT)
        front.wait_for_processes("edge", 2, but=before["edge"])
        front.wait_for_processes("worker", 3, but=before["worker"])
        with front.client() as client:
            self.assertIn(f"SIZE {1 << 20}", client.hello())
        self.assertEqual(len(front.mails()), 2)
        self.assertEqual(front.counters()["reloads"], 1)
        self.assertNotIn("process died", front.log())

    def test_nobody_is_refused_meanwhile(self):
        front = Front(self, front={"edges": 2})
        for number in range(5):
            front.write_config(limits={"mails": 5 + number})
            front.process.send_signal(signal.SIGHUP)
            for _ in range(10):
                with front.client() as client:
                    client.hello()
                    client.say("QUIT", 221)
            front.wait_for_log(r"^info: \[smtp-front\] reloaded, ", number + 1)

    def test_places_come_and_go(self):
        front = Front(self)
        other = self.free_address()
        both = [f"{host}@{port}" for host, port in (front.address, other)]
        self.assertTrue(front.reload(front={"listen": both}))
        for address in (front.address, other):
            with Client(address) as client:
                client.hello()
        self.assertTrue(front.reload(front={"listen": both[1:]}))

        def is_refused():
            try:
                with front.client() as client:
                    return client.is_closed()
            except ConnectionRefusedError:
                return True

        wait_for(is_refused, "the first place to close")
        with Client(other) as client:
            client.hello()

    def test_fewer_edges_serve_who_waits(self):
        """Forty clients in the backlogs of four edges, then of two, of which one stays."""
        front = Front(self, front={"edges": 4})
        for edges in (2, 1):
            stop_edges(self, front)
            clients = [front.client() for _ in range(40)]
            self.assertTrue(front.reload(front={"edges": edges}))
            for client in clients:
                with client:
                    client.hello()
                    client.say("QUIT", 221)
        self.assertEqual(count_listening(front.address), 4)
        self.assertTrue(front.reload(front={"edges": 5}))
        self.assertEqual(count_listening(front.address), 5)
        for _ in range(10):
            self.deliver(front)

    def test_place_that_goes_serves_who_waits(self):
        front = Front(self, is_started=False, front={"edges": 1, "drain": "60s"})
        other = self.free_address()
        both = [f"{host}@{port}" for host, port in (front.address, other)]
        front.write_config(front={"listen": both})
        front.start()
        go_on = stop_edges(self, front)
        clients = [Client(other) for _ in range(150)]  # more than are accepted at a time
        self.assertTrue(front.reload(front={"listen": both[:1]}))
        go_on()
        for client in clients:
            with client:
                client.hello()
                client.say("QUIT", 221)
        wait_for(lambda: count_listening(other) == 0, "the other place to close")
        with self.assertRaises(ConnectionRefusedError):
            Client(other)
        self.deliver(front)

    def test_nobody_is_lost_while_edges_come_and_go(self):
        front = Front(self, front={"edges": 4, "drain": "60s"})
        is_over = threading.Event()
        ends = []

        def come_on():
            while not is_over.is_set():
                try:
                    with front.client() as client:
                        client.hello()
                        client.say("QUIT", 221)
                        ends.append("221")
                except (OSError, EOFError, AssertionError) as error:
                    ends.append(repr(error))

        threads = [threading.Thread(target=come_on) for _ in range(4)]
        for thread in threads:
            thread.start()
        try:
            for edges in (1, 4, 2, 5, 3, 1):
                self.assertTrue(front.reload(front={"edges": edges}))
        finally:
            is_over.set()
            for thread in threads:
                thread.join()
        self.assertEqual(set(ends), {"221"})

    def test_queue_has_another_size(self):
        front = Front(self, front={"workers": 1, "queue-size": "16K", "at-capacity": "refuse"})

        def fit():
            """How many sessions the queue takes while nobody reads it."""
            (worker,) = front.wait_for_processes("worker", 1)
            os.kill(worker, signal.SIGSTOP)
            before = front.counters().get("sessions-handed-over", 0)
            with contextlib.ExitStack() as clients:
                while True:
                    client = clients.enter_context(front.client())
                    client.hello()
                    client.say(f"MAIL FROM:<{SENDER}>", 250)
                    client.send(f"RCPT TO:<{RECIPIENT}>\r\n".encode())
                    taken = front.counters().get("sessions-handed-over", 0) - before
                    if select.select([client.socket], [], [], 0)[0]:
                        client.expect(421)
                        break
            os.kill(worker, signal.SIGCONT)
            return taken

        few = fit()
        self.assertTrue(front.reload(front={"queue-size": "96K"}))
        self.assertGreater(fit(), 3 * few)
        self.assertNotIn("queue smaller", front.log())
        self.assertTrue(front.reload(front={"queue-size": "64M"}))
        front.wait_for_log(r"^warning: \[smtp-front\] queue smaller than wanted, bytes=\d+ "
                           r"wanted=67108864 \(")

    def test_certificate_is_another_one(self):
        front = Front(self, certificates=[self.certificate("one.example.com")])

        def name():
            with front.client() as client:
                client.hello()
                client.starttls()
                pem = client.socket.getpeercert(binary_form=True)
            return [word for word in (b"one.example.com", b"two.example.com") if word in pem]

        self.assertEqual(name(), [b"one.example.com"])
        self.assertTrue(front.reload(tls={"certificates": [self.certificate("two.example.com")]}))
        front.wait_for_log(r"edge drains", 2)  # until then the old ones may still accept
        self.assertEqual(name(), [b"two.example.com"])


class Beginning(FrontCase):
    """One worker of a new generation is stopped before it is ready, while clients come."""

    def is_confined(self, pid, nanny):
        """Has it done the last thing that it does before it says that it is ready?"""
        status = status_of(pid)
        if IS_SANITIZED:
            return status["Uid"] != nanny["Uid"]
        return int(status["Seccomp_filters"]) > int(nanny["Seccomp_filters"])

    def catch_one(self, front, old):
        """Stops a new worker; whether that was in time."""
        seen = set(sum(old.values(), []))
        nanny = status_of(front.process.pid)
        for pid in front.processes()["worker"]:
            try:
                if pid in seen or self.is_confined(pid, nanny):
                    continue
                os.kill(pid, signal.SIGSTOP)
                wait_for(lambda pid=pid: status_of(pid)["State"].startswith("T"), "its stop")
                if not self.is_confined(pid, nanny):
                    return pid
                os.kill(pid, signal.SIGCONT)
            except (FileNotFoundError, ProcessLookupError):
                continue
        return None

    def begin_half(self, front):
        """
        SIGHUP with one more edge, and one more M for a mail. The stopped worker, when all others
        are there; who was there before, and how much those take.
        """
        for number in range(30):
            front.wait_for_processes("edge", number + 1)
            front.wait_for_processes("worker", self.WORKERS)
            old = front.processes()
            front.write_config(front={"edges": number + 2}, limits={"size": f"{number + 2}M"})
            front.process.send_signal(signal.SIGHUP)
            ended = len(re.findall(r"\] reloaded, ", front.log()))
            caught = wait_for(lambda: self.catch_one(front, old)
                              or len(re.findall(r"\] reloaded, ", front.log())) > ended and "none",
                              "a new generation")
            if caught != "none":
                break
            front.wait_for_log("edge ended", sum(range(number + 2)))
        self.assertNotEqual(caught, "none", "each was ready too early")
        nanny = status_of(front.process.pid)

        def others_are_ready():
            new = [pid for role, pids in front.processes().items() for pid in pids
                   if pid not in old[role] and pid != caught]
            return (len(new) == self.WORKERS - 1 + number + 2
                    and all(self.is_confined(pid, nanny) for pid in new))

        wait_for(others_are_ready, "the others of the generation")
        return caught, old, number + 1

    WORKERS = 12

    def setUp(self):
        super().setUp()
        if IS_SANITIZED and not is_root():
            self.skipTest("needs root: without a filter only the user tells who is ready")
        self.front = Front(self, front={"edges": 1, "workers": self.WORKERS, "drain": "60s"},
                           limits={"size": "1M"})

    def test_of_a_generation_that_fails_has_no_session(self):
        caught, old, size = self.begin_half(self.front)
        self.assertEqual(count_listening(self.front.address), len(old["edge"]))
        clients = [self.front.client() for _ in range(10)]
        try:
            for client in clients:
                self.assertIn(f"SIZE {size << 20}", client.hello())
                client.say(f"MAIL FROM:<{SENDER}>", 250)
                client.say(f"RCPT TO:<{RECIPIENT}>", 250)
            os.kill(caught, signal.SIGKILL)
            self.front.wait_for_log(r"^warning: .* not reloaded")
            self.assertEqual(self.front.processes(), old)
            for client in clients:
                client.say("DATA", 354)
                client.send(CONTENT + b".\r\n")
                client.expect(250)
                client.say("QUIT", 221)
        finally:
            for client in clients:
                client.close()
        self.assertEqual(len(self.front.mails()), len(clients))

    def test_of_one_that_is_late_is_that_of_all(self):
        caught, old, size = self.begin_half(self.front)
        with self.front.client() as client:
            self.assertIn(f"SIZE {size << 20}", client.hello())
        ended = len(re.findall("edge drains", self.front.log()))
        os.kill(caught, signal.SIGCONT)
        self.front.wait_for_log("edge drains", ended + len(old["edge"]))
        with self.front.client() as client:
            self.assertIn(f"SIZE {(size + 1) << 20}", client.hello())
        self.deliver(self.front)

    def test_without_a_nanny_is_none(self):
        caught, old, _ = self.begin_half(self.front)
        pids = sum(self.front.processes().values(), [])
        self.assertGreater(len(pids), len(sum(old.values(), [])))
        self.front.process.popen.kill()
        self.front.process.popen.wait()
        os.kill(caught, signal.SIGCONT)
        wait_for(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids),
                 "the end of its processes")


class Retirement(FrontCase):
    def test_of_a_worker_that_is_one_of_the_first_fails_no_reload(self):
        """The queue is never empty, so they retire as soon as they may begin."""
        front = Front(self, front={"edges": 1, "workers": 12, "mails-per-worker": 1},
                      sink={"kind": "null", "to": None})
        is_over = threading.Event()

        def deliver_on():
            while not is_over.is_set():
                try:
                    self.deliver(front)
                except (OSError, EOFError, AssertionError):
                    pass  # drained, with an edge that was told to end

        threads = [threading.Thread(target=deliver_on) for _ in range(6)]
        for thread in threads:
            thread.start()
        try:
            self.assertEqual([front.reload() for _ in range(4)], [True] * 4)
        finally:
            is_over.set()
            for thread in threads:
                thread.join()


class Leaks(FrontCase):
    """Each way in which a session can end, a hundred times; as many descriptors as before."""

    ROUNDS = 100

    def one_round(self, front):
        proven = (f"EHLO a.example\r\nMAIL FROM:<{SENDER}>\r\nRCPT TO:<nobody@example.com>\r\n"
                  f"RCPT TO:<{RECIPIENT}>\r\n").encode()
        mail = b"DATA\r\n" + CONTENT + b".\r\nQUIT\r\n"
        for sent, is_reset in ((b"", False), (b"", True), (b"EHLO a\r\nQUIT\r\n", False),
                               (b"STARTTLS\r\nEHLO a\r\n", False),
                               (b"STARTTLS\r\n", True), (proven, False), (proven, True),
                               (proven + b"DATA\r\nhalf", False), (proven + mail, False)):
            with front.client() as client:
                client.send(sent)
                if is_reset:
                    client.reset()
                elif sent.endswith(b"QUIT\r\n"):
                    while client.reply()[0] != 221:
                        pass
        with front.client() as client:
            client.hello()
            client.starttls()
            client.say("EHLO a.example", 250)
            client.send_mail(SENDER, [RECIPIENT], CONTENT)

    def test_no_descriptor_stays(self):
        if not is_root():
            self.skipTest("needs root: others may not look")
        front = Front(self, front={"edges": 1, "workers": 2, "mails-per-worker": 1000000},
                      sink={"kind": "null", "to": None}, certificates=[self.certificate()])

        def counts():
            return {pid: len(os.listdir(f"/proc/{pid}/fd"))
                    for role in ROLES for pid in front.processes()[role]}

        self.one_round(front)
        wait_for(lambda: front.counters()["sessions"] == 0, "the first ones to end")
        before = counts()
        for _ in range(self.ROUNDS):
            self.one_round(front)
        wait_for(lambda: counts() == before, f"no more descriptors than {before}")


class Stop(FrontCase):
    def test_sessions_end_and_so_does_the_program(self):
        front = Front(self, front={"drain": "60s", "workers": 2})
        with front.client() as in_worker:
            in_worker.hello()
            in_worker.say(f"MAIL FROM:<{SENDER}>", 250)
            in_worker.say(f"RCPT TO:<{RECIPIENT}>", 250)
            front.process.send_signal(signal.SIGTERM)
            front.wait_for_log(r"^info: \[smtp-front\] stopping, signal=15")
            front.wait_for_log(r"edge ended", 2)
            with self.assertRaises(ConnectionRefusedError):
                front.client()
            in_worker.say("DATA", 354)
            in_worker.send(CONTENT + b".\r\n")
            in_worker.expect(250)
            in_worker.say("QUIT", 221)
        self.assertEqual(front.process.popen.wait(DEADLINE_S), 0)
        self.assertEqual(len(front.mails()), 1)
        self.assertIn("[smtp-front] stopped", front.log())

    def test_who_has_connected_is_served(self):
        front = Front(self, front={"edges": 1, "drain": "60s"})
        go_on = stop_edges(self, front)
        clients = [front.client() for _ in range(150)]  # more than are accepted at a time
        front.process.send_signal(signal.SIGTERM)
        front.wait_for_log(r"^info: \[smtp-front\] stopping, signal=15")
        go_on()
        for client in clients:
            with client:
                client.hello()
                client.say("QUIT", 221)
        self.assertEqual(front.process.popen.wait(DEADLINE_S), 0)

    def test_who_waits_for_the_banner_is_told(self):
        front = Front(self, limits={"greet-pause": "60s"})
        with front.client(self.host) as client:  # 127.0.0.1 would not have to wait
            wait_for(lambda: front.counters().get("sessions-accepted") == 1, "the session")
            front.process.send_signal(signal.SIGTERM)
            client.expect(421)
        self.assertEqual(front.process.popen.wait(DEADLINE_S), 0)

    def test_queued_sessions_are_finished(self):
        front = Front(self, front={"workers": 1, "drain": "60s"})
        with front.client() as first, front.client() as second:
            for client in (first, second):
                client.hello()
                client.say(f"MAIL FROM:<{SENDER}>", 250)
                client.send(f"RCPT TO:<{RECIPIENT}>\r\n".encode())
            wait_for(lambda: front.counters().get("sessions-handed-over") == 2, "the queue")
            front.process.send_signal(signal.SIGTERM)
            front.wait_for_log(r"edge ended", 2)
            for client in (first, second):
                client.expect(250)
                client.say("DATA", 354)
                client.send(CONTENT + b".\r\n")
                client.expect(250)
                client.say("QUIT", 221)
        self.assertEqual(front.process.popen.wait(DEADLINE_S), 0)
        self.assertEqual(len(front.mails()), 2)

    def test_who_does_not_end_is_ended(self):
        """A client that is silent amid its mail keeps nobody up longer than "drain" and a bit."""
        front = Front(self, front={"drain": "0s"})
        with front.client() as client:
            client.hello()
            client.say(f"MAIL FROM:<{SENDER}>", 250)
            client.say(f"RCPT TO:<{RECIPIENT}>", 250)
            client.say("DATA", 354)
            client.send(CONTENT)
            front.process.send_signal(signal.SIGTERM)
            self.assertEqual(front.process.popen.wait(DEADLINE_S), 0)
            self.assertTrue(client.is_closed())
        self.assertEqual(front.mails(), [])

    def test_who_is_silent_between_mails_is_told(self):
        """And does not keep it up for as long as others may have."""
        front = Front(self, front={"drain": "10m"})
        with front.client() as client:
            client.hello()
            client.send_mail(SENDER, [RECIPIENT], CONTENT)
            front.process.send_signal(signal.SIGTERM)
            client.expect(421)
            self.assertEqual(front.process.popen.wait(DEADLINE_S), 0)
        (session,) = front.sessions()
        self.assertEqual((session["end"], session["mails"]), ("drained", 1))

    def test_who_waits_in_the_queue_does_not_keep_it_up(self):
        """The one worker has a client that is silent, and so has the queue."""
        front = Front(self, front={"workers": 1, "drain": "0s"})
        with front.client() as first, front.client() as second:
            for number, client in enumerate((first, second)):
                client.hello()
                client.say(f"MAIL FROM:<{SENDER}>", 250)
                client.send(f"RCPT TO:<{RECIPIENT}>\r\n".encode())
                if number == 0:
                    client.expect(250)
            wait_for(lambda: front.counters().get("sessions-handed-over") == 2, "the queue")
            front.process.send_signal(signal.SIGTERM)
            self.assertEqual(front.process.popen.wait(DEADLINE_S), 0)
            first.expect(421)
            self.assertTrue(first.is_closed())
            self.assertTrue(second.is_closed())
        self.assertEqual(front.mails(), [])

    def test_idle_one_ends_at_once_by_sigint(self):
        front = Front(self, certificates=[self.certificate()])
        self.assertEqual(front.process.stop(signal.SIGINT), 0)


class ServiceManager(FrontCase):
    def test_it_is_told(self):
        front = Front(self, is_started=False)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(self.path("notify"))
            manager.settimeout(DEADLINE_S)
            front.start(env={**os.environ, "NOTIFY_SOCKET": self.path("notify")})
            self.assertEqual(manager.recv(4096), b"READY=1")
            self.assertTrue(front.reload(front={"workers": 3}))
            self.assertTrue(manager.recv(4096).startswith(b"RELOADING=1"))
            self.assertEqual(manager.recv(4096), b"READY=1")
            self.assertFalse(front.reload(front={"workers": 0}))
            self.assertTrue(manager.recv(4096).startswith(b"RELOADING=1"))
            self.assertEqual(manager.recv(4096), b"READY=1")
            self.assertEqual(front.stop(), 0)
            self.assertEqual(manager.recv(4096), b"STOPPING=1")


class Accounts(FrontCase):
    def test_metrics(self):
        front = Front(self)
        self.deliver(front)
        front.wait_for_sessions(1)

        def look():
            front.counters()  # the same signal has them written
            with open(front.metrics_path, encoding="ascii") as file:
                return dict(re.findall(r"^(smtp_front_\w+) (\d+)$", file.read(), re.MULTILINE))

        wait_for(lambda: os.path.exists(front.metrics_path), "the metrics")
        wait_for(lambda: look().get("smtp_front_sessions_finished_total") == "1",
                 "the session in the metrics")
        metrics = look()
        self.assertEqual(metrics["smtp_front_sessions_accepted_total"], "1")
        self.assertEqual(metrics["smtp_front_mails_committed_total"], "1")
        self.assertEqual(metrics["smtp_front_sessions"], "0")
        self.assertEqual(metrics["smtp_front_workers_busy"], "0")
        self.assertEqual(metrics["smtp_front_reloads_total"], "0")

    def test_metrics_that_cannot_be_written_are_said(self):
        front = Front(self, front={"metrics": self.path("none/front.prom")})
        front.wait_for_log(r"^warning: \[smtp-front\] metrics not written, path=")
        self.deliver(front)

    def test_counters_of_a_killed_process_stay(self):
        front = Front(self, front={"edges": 1})
        self.deliver(front)
        front.wait_for_sessions(1)
        (edge,) = front.processes()["edge"]
        os.kill(edge, signal.SIGKILL)
        front.wait_for_processes("edge", 1, but=[edge])
        self.deliver(front)
        front.wait_for_sessions(2)
        counters = front.counters()
        self.assertEqual(counters["sessions-accepted"], 2)
        self.assertEqual(counters["sessions"], 0)

    def test_session_line(self):
        front = Front(self)
        with front.client() as client:
            client.hello("client.example.org")
            client.say(f"MAIL FROM:<{SENDER}>", 250)
            client.say("RCPT TO:<nobody@example.com>", 550)
            client.say("QUIT", 221)
        self.deliver(front)
        first, second = front.wait_for_sessions(2)[:2]
        self.assertEqual((first["by"], first["end"], first["mails"], first["refused"]),
                         ("edge", "quit", 0, 1))
        self.assertEqual(first["helo"], "client.example.org")
        self.assertEqual((second["by"], second["end"], second["mails"]), ("worker", "quit", 1))
        self.assertEqual(second["client"], front.sessions()[0]["client"])
        self.assertNotEqual(first["id"], second["id"])


class Confinement(FrontCase):
    def setUp(self):
        super().setUp()
        self.front = Front(self, certificates=[self.certificate()])
        self.statuses = {(role, pid): status_of(pid)
                         for role, pids in self.front.processes().items() for pid in pids}
        self.assertEqual({role for role, _ in self.statuses}, set(ROLES))

    def test_no_process_of_clients_can_gain_anything(self):
        for (role, pid), status in self.statuses.items():
            with self.subTest(role=role, pid=pid):
                self.assertEqual(status["NoNewPrivs"], "1")
                for kind in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
                    self.assertEqual(int(status[kind], 16), 0, kind)

    def test_each_has_a_filter(self):
        if IS_SANITIZED:
            self.skipTest("with AddressSanitizer there is no filter")
        for (role, pid), status in self.statuses.items():
            with self.subTest(role=role, pid=pid):
                self.assertEqual(status["Seccomp"], SECCOMP_FILTER)
        self.assertEqual(status_of(self.front.process.pid)["Seccomp"], SECCOMP_FILTER)

    def test_each_is_somebody_else_somewhere_else(self):
        if not is_root():
            self.skipTest("needs root")
        entry = pwd.getpwnam(USER)
        for (role, pid), status in self.statuses.items():
            with self.subTest(role=role, pid=pid):
                self.assertEqual(status["Uid"].split(), [str(entry.pw_uid)] * 4)
                self.assertEqual(status["Gid"].split(), [str(entry.pw_gid)] * 4)
                self.assertEqual(status["Groups"].split(), [str(entry.pw_gid)])
                self.assertEqual(int(status["CapBnd"], 16), 0)
                root = os.readlink(f"/proc/{pid}/root")
                # A worker has a maildir, which is outside; LeakSanitizer needs /proc.
                is_outside = role == "worker" or IS_SANITIZED
                self.assertEqual(root, "/" if is_outside else self.path("empty"))

    def test_nanny_keeps_what_children_are_made_with(self):
        if not is_root():
            self.skipTest("needs root")
        status = status_of(self.front.process.pid)
        self.assertEqual(status["NoNewPrivs"], "1")
        self.assertEqual(int(status["CapEff"], 16) & ~NANNY_CAPABILITIES, 0)

    def test_each_has_only_descriptors_of_its_own(self):
        """The keyholder has no listener; a worker has the queue; an edge has nobody's key."""
        if not is_root():
            self.skipTest("needs root: others may not look")
        for (role, pid), _ in self.statuses.items():
            with self.subTest(role=role, pid=pid):
                links = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
                self.assertFalse([link for link in links if link.endswith(".key")])
                self.assertEqual(bool([link for link in links if link.endswith("users.mdb")]),
                                 role != "keyholder")
                listening = self.count_listening(pid, links)
                self.assertEqual(listening, 1 if role == "edge" else 0)

    def count_listening(self, pid, links):
        """How many of its sockets listen on the address of the test."""
        with open(f"/proc/{pid}/net/tcp", encoding="ascii") as file:
            rows = [line.split() for line in file.readlines()[1:]]
        inodes = {f"socket:[{row[9]}]" for row in rows if row[3] == "0A"}
        return len([link for link in links if link in inodes])


if __name__ == "__main__":
    harness.main()
