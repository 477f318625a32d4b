#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
smtp-front, when it reads its configuration again: a generation of processes begins as a whole or
not at all, and the one before it goes on until its sessions are over.
"""

import os
import re
import resource
import signal
import socket
import sys
import threading

import harness
from front import (CONTENT, RECIPIENT, SENDER, Client, Front, FrontCase, is_root, make_certificate,
                   status_of, stop_edges)
from harness import IS_SANITIZED, wait_for


def count_listening(address):
    """How many sockets listen there."""
    place = f"{int.from_bytes(socket.inet_aton(address[0]), sys.byteorder):08X}:{address[1]:04X}"
    with open("/proc/net/tcp", encoding="ascii") as file:
        rows = [line.split() for line in file.readlines()[1:]]
    return len([row for row in rows if row[1] == place and row[3] == "0A"])


class Reload(FrontCase):
    def test_bad_file_keeps_the_old_one(self):
        self.expect_log("configuration refused", "recipients not opened")
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
        self.expect_log("socket not opened")
        front = Front(self)
        other = self.free_address()
        with socket.create_server(other):
            both = [f"{host}@{port}" for host, port in (front.address, other)]
            self.assertFalse(front.reload(front={"listen": both}))
        self.deliver(front)

    def test_processes_that_cannot_begin_keep_the_old_ones(self):
        """Nothing that --check looks at is wrong, but there is no memory for so many sessions."""
        self.expect_log("recipients not opened", "process died", "processes not started")
        if IS_SANITIZED:
            self.skipTest("a limit of address space is none for sanitizers")
        front = Front(self, front={"drain": "60s"})
        before = front.processes()
        nanny = front.process.pid
        # Room for both maps of recipients, and not for many sessions beside them.
        size = (int(status_of(nanny)["VmSize"].split()[0]) << 10) + (32 << 30) + (50 << 20)
        resource.prlimit(nanny, resource.RLIMIT_AS, (size, resource.RLIM_INFINITY))
        self.assertFalse(front.reload(front={"sessions": 10000}))
        self.assertRegex(front.log(), r"error: .* \(Cannot allocate memory\)\n(.*\n)*"
                                      r"error: \[smtp-front\] processes not started, status=")
        self.assertEqual(front.processes(), before)
        self.deliver(front)
        self.assertTrue(front.reload(front={"sessions": 200}))

    def test_session_in_the_clear_goes_on_when_tls_becomes_required(self):
        front = Front(self, certificates=[make_certificate(self)], front={"drain": "60s"})
        with front.client() as client:
            client.hello()
            client.say(f"MAIL FROM:<{SENDER}>", 250)
            self.assertTrue(front.reload(tls={"require": "yes"}))
            client.say(f"RCPT TO:<{RECIPIENT}>", 250)
            client.say("DATA", 354)
            client.send(CONTENT + b".\r\n")
            client.expect(250)
        with front.client() as client:
            client.hello()
            client.say(f"MAIL FROM:<{SENDER}>", 530)

    def test_log_level_of_what_is_refused_is_not_taken(self):
        self.expect_log("maildir refused")
        front = Front(self)
        # That it was refused is a warning.
        self.assertFalse(front.reload(front={"log-level": "error"}, sink={"to": self.path("none")}))
        self.assertTrue(front.reload(front={"log-level": "info"}, sink={"to": front.maildir}))
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

    def test_workers_of_three_generations_are_counted_one_by_one(self):
        front = Front(self, front={"workers": 1, "edges": 1, "drain": "60s"})
        clients = []
        for mails in (7, 8, 9):
            client = front.client()
            self.addCleanup(client.close)
            client.hello()
            client.say("MAIL FROM:<>", 250)
            client.say(f"RCPT TO:<{RECIPIENT}>", 250)
            client.say("DATA", 354)
            clients.append(client)
            self.assertEqual(front.counters()["workers-busy"], len(clients))
            if len(clients) < 3:
                self.assertTrue(front.reload(limits={"mails": mails}))
        while clients:
            client = clients.pop(0)
            client.say("end\r\n.", 250)
            client.say("QUIT", 221)
            wait_for(lambda: front.counters().get("workers-busy", 0) <= len(clients),
                     "its worker to end")
            self.assertEqual(front.counters()["workers-busy"], len(clients))

    def test_no_client_is_refused_meanwhile(self):
        front = Front(self, front={"edges": 2, "drain": "60s"})
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
        self.assertEqual(re.findall(r"(?m)^info: \[smtp-front\] listening, place=(\S+)$", front.log()),
                         [both[0], *both, both[1]])

        def is_refused():
            try:
                with front.client() as client:
                    return client.is_closed()
            except ConnectionRefusedError:
                return True

        wait_for(is_refused, "the first place to close")
        with Client(other) as client:
            client.hello()

    def test_fewer_edges_serve_clients_that_wait(self):
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

    def test_a_removed_listener_serves_clients_that_wait(self):
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

    def test_no_session_is_lost_while_edges_come_and_go(self):
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
        """What is in it of that size is a matter of the unit tests."""
        front = Front(self, front={"workers": 1, "queue-size": "16K"})
        self.assertTrue(front.reload(front={"queue-size": "96K"}))
        self.assertNotIn("hand-over socket smaller", front.log())
        self.assertTrue(front.reload(front={"queue-size": "64M"}))
        front.wait_for_log(r"^warning: \[smtp-front\] hand-over socket smaller than wanted, bytes=\d+ "
                           r"wanted=67108864 \(")

    def test_certificate_is_another_one(self):
        front = Front(self, certificates=[make_certificate(self, "one.example.com")])

        def name():
            with front.client() as client:
                client.hello()
                client.starttls()
                pem = client.socket.getpeercert(binary_form=True)
            return [word for word in (b"one.example.com", b"two.example.com") if word in pem]

        self.assertEqual(name(), [b"one.example.com"])
        second = make_certificate(self, "two.example.com")
        self.assertTrue(front.reload(tls={"certificates": [second]}))
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
            ended = len(re.findall(r"\] reloaded, ", front.log()))
            front.process.send_signal(signal.SIGHUP)
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
        self.expect_log("process died", "processes not started")
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
        self.expect_log("process died")
        caught, old, size = self.begin_half(self.front)
        with self.front.client() as client:
            self.assertIn(f"SIZE {size << 20}", client.hello())
        ended = len(re.findall("edge drains", self.front.log()))
        os.kill(caught, signal.SIGCONT)
        self.front.wait_for_log("edge drains", ended + len(old["edge"]))
        with self.front.client() as client:
            self.assertIn(f"SIZE {(size + 1) << 20}", client.hello())
        self.deliver(self.front)

    def test_one_that_hangs_does_not_delay_the_end(self):
        self.expect_log("configuration not reloaded")
        caught, _, _ = self.begin_half(self.front)
        self.front.process.send_signal(signal.SIGTERM)
        self.front.wait_for_log(r"^info: \[smtp-front\] processes not started, signal=15")
        self.assertEqual(self.front.process.popen.wait(harness.DEADLINE_S), 0)
        self.assertFalse(os.path.exists(f"/proc/{caught}"))
        self.assertIn("[smtp-front] stopped", self.front.log())

    def test_a_generation_that_is_begun_ends_with_its_nanny(self):
        self.expect_log("process died")
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


if __name__ == "__main__":
    harness.main(has_own_network=True)
