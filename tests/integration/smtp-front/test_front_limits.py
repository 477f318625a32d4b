#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
How an edge of smtp-front shares what is scarce: connections, time, workers, descriptors; and what
becomes of its clients when it has to end.
"""

import collections
import concurrent.futures
import itertools
import os
import random
import re
import resource
import select
import signal
import socket
import time

import harness
from edge import INBOX, NOBODY, EdgeCase, wire
from front import Client, make_certificate, stop_edges
from harness import CLIENT, main, outside, wait_for


class Limits(EdgeCase):
    def test_connections_of_a_network(self):
        self.front(limits={"connections": 2})
        clients = [self.client(), self.client()]
        for client in clients:
            client.hello()
        third = self.client()
        self.assertEqual(third.reply()[0], 421)
        self.assertTrue(third.is_closed())
        clients[0].say("QUIT", 221)
        clients[0].close()
        self.ended(2)  # the third's line was there before
        self.client().hello()
        self.assertEqual(self.counters()["sessions-limited"], 1)
        self.assertIn("limited", {line["end"] for line in self.ended()})

    def test_a_flood_does_not_fill_the_log(self):
        front = self.front(limits={"connections": 1})
        self.client().hello()
        began_s = time.monotonic()
        for _ in range(300):
            with self.client() as client:
                client.expect(421)
        wait_for(lambda: self.counters()["sessions"] == 1, "them to be gone")
        # A slow machine has more seconds for its lines, of which each has ten.
        self.assertLess(len(front.sessions()), 10 * (time.monotonic() - began_s + 2))

    def test_new_connections_of_a_network(self):
        self.front(limits={"rate": 3})
        for _ in range(3):
            self.client().hello()
        self.assertEqual(self.client().reply()[0], 421)

    def test_networks_that_have_none(self):
        self.front(limits={"rate": 1, "connections": 1, "unlimited": [f"{outside(CLIENT)}/32"]})
        for _ in range(5):
            self.client().hello()

    def test_more_sessions_than_there_is_room_for(self):
        self.front(front={"sessions": 5}, limits={"stress-share": 100})
        clients = [self.client() for _ in range(5)]
        for client in clients:
            client.hello()
        self.assertIn("4.3.2", self.client().expect(421))
        clients[0].say("QUIT", 221)
        self.ended()
        self.client().hello()
        self.assertEqual(self.counters()["sessions-full"], 1)

    def test_a_refusal_waits_for_the_tarpit(self):
        self.front(limits={"tarpit": "400ms"})
        client = self.client()
        client.expect(220)
        client.send(wire("EHLO a", "MAIL FROM:<>", f"RCPT TO:<{NOBODY}>", "QUIT"))
        self.assertEqual(self.codes(self.read_all(client)), [250, 250, 550, 221])
        self.assertGreaterEqual(self.ended()[0]["dialogue_ms"], 400)

    def time_of_a_refusal_and_a_command(self, code, limits=(), **how):
        self.front(limits={"command-timeout": "400ms", "stress-timeout": "400ms", **dict(limits)}, **how)

        def talk():
            """None when the machine stood still before the edge had read a word."""
            began_s = time.monotonic()
            with self.client() as client:
                client.send(wire("EHLO a", "MAIL FROM:<>", f"RCPT TO:<{NOBODY}>"))
                client.expect(220)
                codes = self.codes(self.read_all(client))
            return (codes, time.monotonic() - began_s) if codes != [421] else None

        codes, seconds = wait_for(talk, "a client that was in time")
        self.assertEqual(codes, [250, 250, code, 421])
        return seconds

    def test_the_time_in_the_tarpit_is_not_the_client_s(self):
        self.assertGreater(self.time_of_a_refusal_and_a_command(550, {"tarpit": "400ms"}), 0.75)

    def test_the_time_of_the_next_hop_is_not_the_client_s(self):
        with socket.create_server(self.free_address()) as silent:
            host, port = silent.getsockname()
            trust = {"users": None, "forward": f"{host}@{port}", "forward-timeout": "400ms"}
            self.assertGreater(self.time_of_a_refusal_and_a_command(451, trust=trust), 0.75)

    def test_a_silent_client_is_told_so(self):
        self.front(limits={"command-timeout": "400ms", "stress-timeout": "400ms"})
        client = self.client()
        client.expect(220)
        self.assertIn("4.4.2", client.expect(421))
        self.assertTrue(client.is_closed())
        self.assertEqual(self.ended()[0]["end"], "timeout")

    def test_the_time_in_which_an_edge_stands_still_is_not_the_client_s(self):
        front = self.front(limits={"command-timeout": "3s", "stress-timeout": "3s"})

        def talk():
            """What was said before the edge had looked at the clock; None when it had given up already."""
            client = self.client()
            client.hello()
            go_on = stop_edges(self, front)
            is_there = select.select([client.socket], [], [], 0)[0] == []
            if is_there:
                client.send(wire("NOOP"))
                time.sleep(4)
            go_on()
            return client.reply()[0] if is_there else None

        self.assertEqual(wait_for(talk, "a client that was in time"), 250)

    def test_a_byte_now_and_then_does_not_help(self):
        self.front(limits={"command-timeout": "400ms", "stress-timeout": "400ms"})
        client = self.client()
        client.expect(220)
        client.socket.settimeout(0.05)
        for _ in range(2000):
            try:
                client.send(b"x")
                if client.socket.recv(100):
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        self.assertEqual(self.ended()[0]["end"], "timeout")

    def test_behind_a_chunk_or_a_line_that_is_thrown_away_there_is_all_of_the_time(self):
        self.front(limits={"command-timeout": "10s", "stress-timeout": "10s"})
        clients = [self.client() for _ in range(2)]
        for client, thrown in zip(clients, (b"BDAT 2\r\nx", b"x" * 10000)):
            client.hello()
            client.send(thrown)
        time.sleep(2)
        # A machine that is slow behind this makes it more.
        began_s = time.monotonic()
        for client, rest, code in zip(clients, (b"y", b"\r\n"), (503, 500)):
            client.send(rest)
            client.expect(code)
        select.select([client.socket for client in clients], [], [], harness.DEADLINE_S)
        self.assertGreater(time.monotonic() - began_s, 9)
        for client in clients:
            client.expect(421)

    def test_nobody_has_more_than_the_time_of_a_session(self):
        self.front(limits={"session-timeout": "500ms"})
        client = self.client()
        client.expect(220)
        line = "EHLO client.example.net"  # with it the time may be over already
        while (code := client.say(line)[0]) == 250:
            line = "NOOP"
        self.assertEqual(code, 421)

    def clients_at_once(self, count):
        """The edge finds all of them at the same time: one that came late would find none of the others any more."""
        go_on = stop_edges(self, self.fixture)
        clients = [self.client() for _ in range(count)]
        go_on()
        return clients

    def test_when_many_are_there_each_has_less_time(self):
        self.front(front={"sessions": 10},
                   limits={"stress-share": 50, "stress-timeout": "300ms"})
        early = self.client()
        early.hello()
        clients = self.clients_at_once(5)
        for client in clients:
            client.expect(220)
        # Also who was there before.
        for client in [early, *clients]:
            client.expect(421)

    def test_also_amid_a_handshake_or_with_replies_not_taken(self):
        self.front(front={"sessions": 10}, certificates=[make_certificate(self)],
                   limits={"stress-share": 50, "stress-timeout": "300ms", "errors": 10000,
                           "commands": 1000000, "junk-commands": 1000000})
        silent = self.client()
        silent.hello()
        silent.say("STARTTLS", 220)
        deaf = self.client()
        deaf.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.expect(220)
        deaf.socket.settimeout(1)
        with self.assertRaises(TimeoutError):
            while True:
                deaf.send(wire(*["NOOP"] * 1000))
        clients = self.clients_at_once(4)
        self.assertTrue(silent.is_closed())
        self.assertEqual({line["end"] for line in self.ended(2 + len(clients))}, {"timeout"})
        counters = self.counters()
        self.assertEqual((counters["timeouts"], counters["tls-failed"]), (2 + len(clients), 1))


class Queue(EdgeCase):
    """One worker, whom its first client keeps."""

    def fill(self, **front):
        """A client that has the worker, and those behind it."""
        self.front(front={"workers": 1, "queue-size": "16K", "sessions": 500, **front})
        holder = self.client()
        holder.hello()
        holder.say("MAIL FROM:<>", 250)
        holder.say(f"RCPT TO:<{INBOX}>", 250)
        return holder

    def prove(self):
        client = self.client()
        client.expect(220)
        client.send(wire("EHLO a", "MAIL FROM:<>", f"RCPT TO:<{INBOX}>", "QUIT"))
        client.expect(250)
        client.expect(250)
        return client

    def test_who_finds_it_full_waits_for_his_turn(self):
        holder = self.fill()
        clients = [self.prove() for _ in range(60)]
        wait_for(lambda: self.counters()["sessions-waiting"] > 0, "somebody to wait")
        holder.say("QUIT", 221)
        for client in clients:
            client.expect(250)
            client.expect(221)
        self.wait_for_handed_over(61)

    def test_who_has_waited_too_long_is_put_off(self):
        """Also the only one."""
        self.fill(**{"queue-timeout": "300ms"})
        client = self.prove()
        self.assertIn("4.3.2", client.expect(421))
        self.assertTrue(client.is_closed())
        counters = self.counters()
        self.assertEqual((counters["queue-refused"], counters["sessions-unfinished"]), (1, 0))

    def test_or_at_once(self):
        holder = self.fill(**{"at-capacity": "refuse", "queue-timeout": "10m"})
        self.assertIn("4.3.2", self.prove().expect(421))
        holder.say("QUIT", 221)
        wait_for(lambda: self.counters()["workers-busy"] == 0, "the worker to be idle")
        client = self.prove()
        client.expect(250)
        client.expect(221)

    def test_who_leaves_while_he_waits_does_no_harm(self):
        holder = self.fill()
        clients = [self.prove() for _ in range(60)]
        for client in clients[::2]:
            client.reset()
        holder.say("QUIT", 221)
        for client in clients[1::2]:
            client.expect(250)
            client.expect(221)
        self.is_fine()


class Descriptors(EdgeCase):
    def secure(self, client):
        """Up to the recipient that hands it over."""
        client.hello()
        client.starttls()
        client.say("EHLO a", 250)
        client.say("MAIL FROM:<>", 250)

    def take_descriptors(self, pid):
        """pid gets no more of them. Returns the limits that it had."""
        limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        used = {int(fd) for fd in os.listdir(f"/proc/{pid}/fd")}
        first_free = next(fd for fd in itertools.count() if fd not in used)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (first_free, limits[1]))
        return limits

    def test_without_descriptors_connections_wait_and_are_not_lost(self):
        self.expect_log("no user is given, processes of clients stay root")
        # Whose limits may be changed without more than what root is in a container.
        front = self.front(front={"user": None, "chroot": None})
        pid = self.edge()
        used = len(os.listdir(f"/proc/{pid}/fd"))
        limit = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (used + 8, limit[1]))
        clients = [self.client() for _ in range(20)]
        front.wait_for_log("connections have to wait")
        clients[0].hello()
        for client in clients[:10]:
            client.close()
        for client in clients[10:]:
            client.hello()
            client.say("QUIT", 221)
            client.close()
        self.assertEqual(self.edge(), pid)

    def test_a_tls_session_waits_for_the_two_that_its_worker_needs(self):
        self.expect_log("no user is given, processes of clients stay root")
        front = self.front(front={"user": None, "chroot": None},
                           certificates=[make_certificate(self)])
        pid = self.edge()
        client = self.client()
        self.secure(client)
        soft, hard = self.take_descriptors(pid)
        client.send(wire(f"RCPT TO:<{INBOX}>"))
        wait_for(lambda: self.counters()["sessions-waiting"] == 1, "it to wait")
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))
        client.expect(250)
        client.say("QUIT", 221)
        self.assertEqual(front.wait_for_sessions(1)[0]["tls"][:4], "TLSv")

    def test_it_sleeps_while_it_waits_for_them(self):
        """There is room in the queue: waiting for that would be no waiting."""
        self.expect_log("no user is given, processes of clients stay root")
        self.front(front={"user": None, "chroot": None, "queue-timeout": "2s"},
                   certificates=[make_certificate(self)])
        pid = self.edge()
        client = self.client()
        self.secure(client)
        self.take_descriptors(pid)

        def busy_s():
            with open(f"/proc/{pid}/stat", encoding="ascii") as file:
                fields = file.read().rsplit(")", 1)[1].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

        before_s = busy_s()
        client.say(f"RCPT TO:<{INBOX}>", 421)
        self.assertLess(busy_s() - before_s, 0.3)


class Drain(EdgeCase):
    def test_who_has_the_banner_may_finish_and_others_are_put_off(self):
        self.expect_log("process died")
        front = self.front(front={"drain": "60s"}, limits={"greet-pause": "60s"},
                           decision={"exempt": [f"{outside(CLIENT)}/32"]})
        talking = self.client()
        talking.hello()
        waiting = self.client(outside("203.0.113.5"))
        wait_for(lambda: self.counters()["sessions"] == 2, "both to be there")
        pid = self.edge()
        os.kill(pid, signal.SIGTERM)
        self.assertIn("4.3.2", waiting.expect(421))
        talking.say("MAIL FROM:<>", 250)
        talking.say(f"RCPT TO:<{NOBODY}>", 550)
        talking.say("QUIT", 221)
        front.wait_for_log("edge ended")

    def test_nobody_is_refused_by_a_reload_for_having_to_wait(self):
        front = self.front(front={"drain": "60s"}, limits={"greet-pause": "1s"})
        old = self.edge()
        waiting = self.client()
        wait_for(lambda: self.counters()["sessions"] == 1, "it to be there")
        self.assertTrue(front.reload(limits={"mails": 7}))
        front.wait_for_log("edge drains")
        waiting.hello()
        waiting.say("MAIL FROM:<>", 250)
        waiting.say(f"RCPT TO:<{INBOX}>", 250)
        waiting.say("QUIT", 221)
        wait_for(lambda: old not in front.processes()["edge"], "the old edge to end")
        self.is_fine()

    def test_but_not_for_longer_than_it_is_told(self):
        self.expect_log("process died")
        front = self.front(front={"drain": "300ms"})
        client = self.client()
        client.hello()
        os.kill(self.edge(), signal.SIGTERM)
        self.assertIn("4.3.2", client.expect(421))
        front.wait_for_log("edge ended")


class Crowd(EdgeCase):
    """Many at once, who leave when they like: nobody gets another's replies, or mail."""

    CLIENTS, SESSIONS = 20, 60

    def greeted(self):
        """A client that has a place: one that is put off comes again a moment later, since
        sessions that end at once would use up what the others have not begun."""
        def client():
            found = Client(self.fixture.address, outside(CLIENT))
            if found.reply()[0] == 220:
                return found
            found.close()
            return None
        return wait_for(client, "a place")

    def visit(self, number, rng):
        """One session. True when its mail was taken."""
        name = f"{number}.example.net"
        steps = [(f"EHLO {name}", 250), (f"MAIL FROM:<s@{name}>", 250),
                 (f"RCPT TO:<{NOBODY}>", 550), (f"RCPT TO:<{INBOX}>", 250), ("DATA", 354),
                 (f"Subject: {number}\r\n\r\n{name}\r\n.", 250), ("QUIT", 221)]
        is_piped, last = rng.random() < 0.5, rng.randrange(len(steps) + 6)
        is_taken = False
        with self.greeted() as client:
            if is_piped:
                client.send(wire(*(line for line, _ in steps[:last])))
            for line, code in steps[:last]:
                if not is_piped:
                    client.send(wire(line))
                if rng.random() < 0.02:
                    client.reset()
                    return None  # who knows
                found, text = client.reply()
                if found == 421:
                    return False
                self.assertEqual(found, code, (line, text))
                is_taken |= line.startswith("Subject")
            if rng.random() < 0.3:
                client.reset()
        return is_taken

    def test_nobody_is_mixed_with_another(self):
        front = self.front(front={"sessions": 19, "workers": 6, "queue-size": "16K"},
                           sink={"kind": "maildir"}, limits={"stress-share": 60})
        jobs = range(self.CLIENTS * self.SESSIONS)
        with concurrent.futures.ThreadPoolExecutor(self.CLIENTS) as pool:
            taken = list(pool.map(
                lambda number: self.visit(number, random.Random(harness.SEED + number)), jobs))
        self.assertGreater(taken.count(True), len(jobs) / 40)
        arrived = collections.Counter(
            int(re.search(rb"^Subject: (\d+)$", mail, re.MULTILINE).group(1))
            for mail in front.mails())
        for mail in front.mails():
            number = re.search(rb"^Subject: (\d+)$", mail, re.MULTILINE).group(1)
            self.assertIn(b"from " + number + b".example.net", mail)
            self.assertTrue(mail.endswith(b"\n" + number + b".example.net\n"))
        for number in jobs:
            if taken[number] is not None:
                self.assertEqual(arrived[number], 1 if taken[number] else 0, number)
        wait_for(lambda: self.counters()["sessions"] == 0, "all sessions to be gone")


if __name__ == "__main__":
    main(has_own_network=True)
