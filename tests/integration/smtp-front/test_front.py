#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
smtp-front as a program: its configuration, its processes, what happens when one of them is
killed and when it is stopped. Reloads are in test_front_reload.py, what it says to clients is in
the other test_front_*.py.
As root its processes become "nobody" in another root directory; else that is not tested.
"""

import os
import pwd
import re
import signal
import socket
import ssl
import subprocess
import sys

import harness
from front import (CONTENT, DEFAULTS, RECIPIENT, ROLES, SENDER, USER, Front, FrontCase, config_text,
                   is_root, make_certificate, status_of, stop_edges)
from harness import DEADLINE_S, EX_CONFIG, IS_SANITIZED, sanitizer_reports, wait_for
from translated import paste

EX_UNAVAILABLE = 69
SECCOMP_FILTER = "2"
# What the nanny keeps of root's: DAC_OVERRIDE, KILL, SETGID, SETUID, SETPCAP, NET_BIND_SERVICE,
# SYS_CHROOT.
NANNY_CAPABILITIES = sum(1 << number for number in (1, 5, 6, 7, 8, 10, 18))


def count_listening(address):
    """How many sockets listen there."""
    place = f"{int.from_bytes(socket.inet_aton(address[0]), sys.byteorder):08X}:{address[1]:04X}"
    with open("/proc/net/tcp", encoding="ascii") as file:
        rows = [line.split() for line in file.readlines()[1:]]
    return len([row for row in rows if row[1] == place and row[3] == "0A"])


class Configuration(FrontCase):
    def check(self, text, expect, *, is_start=False):
        """What --check, or the start, says of that file on standard error."""
        path = self.write("checked.conf", text)
        options = [] if is_start else ["--check"]
        result = subprocess.run([harness.program("smtp-front"), "--config", path, *options],
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
                 "permitted are smtp, lmtp, maildir, null, store, postfix"),
                ("sink", "to: localhost", "localhost",
                 "permitted are an absolute path, and an address with @ and a port"),
                ("decision", "deadline: soon", "soon", "permitted are 1ms to 1m, with ms, s, m, h or d")):
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
        errors = self.check(self.config(front={"chroot": damaged}), EX_CONFIG).stderr
        self.assertIn(f"directory refused, chroot={damaged} (Not a directory)", errors)

    def test_a_root_directory_that_systemd_makes_for_the_start_is_missed_by_the_start_alone(self):
        missing = self.path("none")
        config = self.config(front={"chroot": missing})
        self.assertIn(f"directory not there yet, chroot={missing} (No such file or directory)",
                      self.check(config, 0).stderr)
        self.assertIn(f"directory refused, chroot={missing} (No such file or directory)",
                      self.check(config, EX_CONFIG, is_start=True).stderr)

    def test_lines_of_the_documentation(self):
        """docs/mta.md has one to paste; its files and its user are the test's here."""
        users = Front(self, is_started=False).users_path
        lines = paste("front.conf", {"/var/lib/smtp-front/users.mdb": users,
                                     "/run/smtp-front/empty": self.path(""),
                                     "user: smtp-front": f"user: {USER}"})
        self.check("\n".join(lines) + "\n", 0)

    def test_certificates_and_keys_are_looked_at(self):
        chain, key = make_certificate(self).split(":")
        self.check(self.config(tls={"certificates": [f"{chain}:{key}"]}), 0)
        other = make_certificate(self, "other.example.com").split(":")[1]
        errors = self.check(self.config(tls={"certificates": [f"{chain}:{other}"]}),
                            EX_CONFIG).stderr
        self.assertIn(f"private key refused, path={other} (", errors)
        os.chmod(key, 0o644)
        errors = self.check(self.config(tls={"certificates": [f"{chain}:{key}"]}),
                            EX_CONFIG).stderr
        self.assertIn(f"private key refused, path={key} (", errors)

    def test_place_is_taken(self):
        self.expect_log("socket not opened")
        front = Front(self, is_started=False)
        with socket.create_server(front.address):
            process = self.start([harness.program("smtp-front"), "--config", front.config_path],
                                 "taken")
            self.assertEqual(process.popen.wait(DEADLINE_S), EX_UNAVAILABLE)
        self.assertIn("socket not opened, place=", process.log())
        self.assertIn("(Address already in use)", process.log())

    def test_sink_that_is_not_there(self):
        self.expect_log("maildir refused")
        front = Front(self, is_started=False, sink={"to": self.path("none")})
        process = self.start([harness.program("smtp-front"), "--config", front.config_path],
                             "no-sink")
        self.assertEqual(process.popen.wait(DEADLINE_S), EX_CONFIG)
        self.assertIn("maildir refused", process.log())
        self.assertNotIn("ready, version", process.log())

    def test_two_are_not_on_one_port(self):
        self.expect_log("socket not opened")
        front = Front(self)
        second = self.start([harness.program("smtp-front"), "--config", front.config_path],
                            "second")
        self.assertEqual(second.popen.wait(DEADLINE_S), EX_UNAVAILABLE)
        self.deliver(front)

    def test_defaults_of_the_fixture_are_all_sections(self):
        self.assertEqual(list(DEFAULTS), ["front", "limits", "trust", "tls", "sink", "scan",
                                          "decision", "library"])


class Processes(FrontCase):
    def test_there_are_as_many_as_configured(self):
        front = Front(self, certificates=[make_certificate(self)], front={"edges": 3, "workers": 4})
        counts = {role: len(pids) for role, pids in front.processes().items()}
        self.assertEqual(counts, {"keyholder": 1, "decoders": 0, "edge": 3, "worker": 4})

    def test_killed_ones_are_made_again(self):
        # An edge has little patience with a keyholder that has just begun.
        self.expect_log("process died", r"handshake not signed, .* \(the keyholder does not answer\)$")
        front = Front(self, certificates=[make_certificate(self)])
        for role, count in (("edge", 2), ("worker", 2), ("keyholder", 1)):
            with self.subTest(role=role):
                before = front.wait_for_processes(role, count)
                for pid in before:
                    os.kill(pid, signal.SIGKILL)
                front.wait_for_log(rf"^error: \[smtp-front\] process died, role={role} .* signal=9",
                                   count)
                front.wait_for_processes(role, count, but=before)
                with wait_for(lambda: self.secured(front), "a handshake") as client:
                    client.say("EHLO again.example.net", 250)
                    client.send_mail(SENDER, [RECIPIENT], CONTENT)
                    client.say("QUIT", 221)
        counters = front.counters()
        self.assertEqual(counters["edge-restarts"], 2)
        self.assertEqual(counters["worker-restarts"], 2)
        self.assertEqual(counters["keyholder-restarts"], 1)
        self.assertEqual(counters["mails-committed"], 3)

    def secured(self, front):
        """A client behind its handshake; None when there is no key for that yet."""
        client = front.client()
        client.hello()
        try:
            client.starttls()
            return client
        except (ssl.SSLError, ConnectionError):
            client.close()
            return None

    def test_sessions_that_wait_outlive_the_worker(self):
        self.expect_log("process died")
        front = Front(self, front={"workers": 1})
        (worker,) = front.processes()["worker"]
        with front.client() as first, front.client() as second:
            first.hello()
            first.say(f"MAIL FROM:<{SENDER}>", 250)
            first.say(f"RCPT TO:<{RECIPIENT}>", 250)  # the worker's, who waits for its next word
            second.hello()
            second.say(f"MAIL FROM:<{SENDER}>", 250)
            second.send(f"RCPT TO:<{RECIPIENT}>\r\n".encode())
            wait_for(lambda: front.counters().get("sessions-waiting") == 1, "it to wait")
            os.kill(worker, signal.SIGKILL)
            second.expect(250)
            second.say("DATA", 354)
            second.send(CONTENT + b".\r\n")
            second.expect(250)
            self.assertTrue(first.is_closed())
        self.assertEqual(len(front.mails()), 1)

    def test_clients_wait_for_the_next_edge(self):
        """Stopped, so that nobody accepts what is in its backlog; then killed."""
        self.expect_log("process died")
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

    def test_what_is_sent_to_all_is_for_the_nanny(self):
        """As a terminal and a service manager do."""
        self.expect_log("process died")
        front = Front(self, certificates=[make_certificate(self)])
        before = front.processes()
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
            for pid in sum(before.values(), []):
                os.kill(pid, number)
        self.deliver(front)
        self.assertEqual(front.processes(), before)

    def test_no_process_outlives_the_nanny(self):
        self.expect_log("process died")
        front = Front(self, certificates=[make_certificate(self)])
        pids = sum(front.processes().values(), [])
        self.assertEqual(len(pids), 5)
        front.process.popen.kill()
        front.process.popen.wait()
        wait_for(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids),
                 "the end of its processes")


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
                      sink={"kind": "null", "to": None}, certificates=[make_certificate(self)])

        def counts():
            return {pid: len(os.listdir(f"/proc/{pid}/fd"))
                    for role in ROLES for pid in front.processes()[role]}

        def is_at_rest():
            """A worker has some of a session's descriptors for a moment behind its end."""
            counters = front.counters()
            return counters["sessions"] == counters.get("workers-busy", 0) == 0

        self.one_round(front)
        wait_for(is_at_rest, "the first ones to end")
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

    def test_a_client_that_has_connected_is_served(self):
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

    def test_a_client_that_waits_for_the_banner_gets_421(self):
        front = Front(self, limits={"greet-pause": "60s"})
        with front.client() as client:
            wait_for(lambda: front.counters().get("sessions-accepted") == 1, "the session")
            front.process.send_signal(signal.SIGTERM)
            client.expect(421)
        self.assertEqual(front.process.popen.wait(DEADLINE_S), 0)

    def test_sessions_that_wait_are_finished(self):
        front = Front(self, front={"workers": 1, "drain": "60s"})
        with front.client() as first, front.client() as second:
            for count, client in enumerate((first, second)):
                client.hello()
                client.say(f"MAIL FROM:<{SENDER}>", 250)
                client.send(f"RCPT TO:<{RECIPIENT}>\r\n".encode())
                # One after the other: they may have different edges.
                wait_for(lambda count=count: (front.counters().get("sessions-handed-over"),
                                              front.counters().get("sessions-waiting")) ==
                         (1, count), "a worker, and the wait for it")
            front.process.send_signal(signal.SIGTERM)
            front.wait_for_log(r"edge drains", 2)
            for client in (first, second):
                client.expect(250)
                client.say("DATA", 354)
                client.send(CONTENT + b".\r\n")
                client.expect(250)
                client.say("QUIT", 221)
        self.assertEqual(front.process.popen.wait(DEADLINE_S), 0)
        self.assertEqual(len(front.mails()), 2)

    def test_a_silent_client_does_not_outlast_the_drain(self):
        """A client that is silent amid its mail delays the end no longer than "drain" and a bit."""
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
        self.assertEqual(front.sessions()[0]["end"], "drained")

    def test_a_client_that_is_silent_between_mails_gets_421(self):
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

    def test_a_client_that_waits_for_a_worker_does_not_delay_the_end(self):
        """The one worker has a client that is silent."""
        front = Front(self, front={"workers": 1, "drain": "0s"})
        with front.client() as first, front.client() as second:
            for number, client in enumerate((first, second)):
                client.hello()
                client.say(f"MAIL FROM:<{SENDER}>", 250)
                client.send(f"RCPT TO:<{RECIPIENT}>\r\n".encode())
                if number == 0:
                    client.expect(250)
            wait_for(lambda: front.counters().get("sessions-waiting") == 1, "it to wait")
            front.process.send_signal(signal.SIGTERM)
            self.assertEqual(front.process.popen.wait(DEADLINE_S), 0)
            first.expect(421)
            second.expect(421)
            self.assertTrue(first.is_closed())
            self.assertTrue(second.is_closed())
        self.assertEqual(front.mails(), [])

    def test_idle_one_ends_at_once_by_sigint(self):
        front = Front(self, certificates=[make_certificate(self)])
        self.assertEqual(front.process.stop(signal.SIGINT), 0)


class ServiceManager(FrontCase):
    def test_it_is_told(self):
        self.expect_log("configuration refused")
        front = Front(self, is_started=False)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(self.path("notify"))
            manager.settimeout(DEADLINE_S)
            front.start(env={**os.environ, "NOTIFY_SOCKET": self.path("notify")})
            self.assertEqual(manager.recv(4096), b"READY=1")
            for workers, words in ((3, [b"READY=1", b"STATUS="]),
                                   (0, [b"STATUS=configuration not reloaded, the old one stays", b"READY=1"])):
                self.assertEqual(front.reload(front={"workers": workers}), workers > 0)
                self.assertTrue(manager.recv(4096).startswith(b"RELOADING=1"))
                self.assertEqual([manager.recv(4096) for _ in words], words)
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
        # The worker is idle, and the edge without a session, a moment later than the log has its line.
        wait_for(lambda: (found := look()).get("smtp_front_sessions_finished_total") == "1"
                 and found["smtp_front_sessions"] == found["smtp_front_workers_busy"] == "0",
                 "the session and its end in the metrics")
        metrics = look()
        self.assertEqual(metrics["smtp_front_sessions_accepted_total"], "1")
        self.assertEqual(metrics["smtp_front_mails_committed_total"], "1")
        self.assertEqual(metrics["smtp_front_reloads_total"], "0")

    def test_metrics_that_cannot_be_written_are_said_once(self):
        front = Front(self, front={"metrics": self.path("none/front.prom")})
        line = r"^warning: \[smtp-front\] metrics not written, path="
        front.wait_for_log(line)
        self.deliver(front)
        for _ in range(2):
            front.counters()  # the same signal has them written
        self.assertEqual(len(re.findall(line, front.log(), re.MULTILINE)), 1)
        os.mkdir(self.path("none"))
        front.counters()
        front.wait_for_log(r"^info: \[smtp-front\] metrics written again, path=")

    def test_counters_of_a_killed_process_stay(self):
        self.expect_log("process died")
        front = Front(self, front={"edges": 1})
        self.deliver(front)
        front.wait_for_sessions(1)
        (edge,) = front.processes()["edge"]
        os.kill(edge, signal.SIGKILL)
        front.wait_for_processes("edge", 1, but=[edge])
        self.deliver(front)
        front.wait_for_sessions(2)
        self.assertEqual(front.counters()["sessions-accepted"], 2)
        # The worker's line may be there before the edge has counted.
        wait_for(lambda: front.counters()["sessions"] == 0, "the edge to know")

    def test_session_line(self):
        front = Front(self)
        with front.client() as client:
            client.hello("client.example.org")
            client.say(f"MAIL FROM:<{SENDER}>", 250)
            client.say("RCPT TO:<nobody@example.com>", 550)
            client.say("QUIT", 221)
        front.wait_for_sessions(1)  # an edge may say so later than a worker does of the next one
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
        self.front = Front(self, certificates=[make_certificate(self)])
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

    def test_each_role_has_its_own_user_and_root_directory(self):
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
                links = harness.open_files(pid)
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
    harness.main(has_own_network=True)
