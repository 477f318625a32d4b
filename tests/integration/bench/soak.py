# SPDX-License-Identifier: GPL-3.0-or-later
"""
soak.py - everything at once that a server meets in a bad year, and who lost what.

Flow: bench/soak and test_soak.py -> Soak builds and serves a signed zone and runs
      Questions, Junk, SlowClients and Changes beside each other in threads, kills
      and reloads itself -> the counts, and problems() out of them.

A question that stays without an answer was in flight at a kill when it was sent
before that worker was gone and no question sent after it over the same socket had been
answered by then: a socket of ours always talks to the same socket of the server,
which is read in order. While a reload goes on two workers read one socket,
and a question counts that was sent within IN_FLIGHT_S before the kill.
"""

import collections
import os
import select
import signal
import socket
import struct
import threading
import time

from harness import (AAAA, ANY_SIZE, DEADLINE_S, ZONE, Reply, anonymous_kb, bitmap_name, framed, ip, query,
                     question_of, wait_for)
from updates import UpdateCase, Versions, bitmap_of, random_change
from validator import Validator

SOCKETS, WINDOW = 8, 16  # of the ordinary questions: on both workers, in flight on each socket
OVERTAKEN_S = 5  # one that was sent later has its answer since then: this one gets none
LOST_S = 30
STALLED_S = 0.2  # then one question more, or a socket that lost a whole window stays silent
IN_FLIGHT_S = 1
VALIDATED_EVERY = 50
PARENT_GROWTH_KB, WORKER_GROWTH_KB = 64, 256
FLAWS_KEPT = 10
DO = {"edns_size": 1232, "edns_flags": 0x8000}


class Part(threading.Thread):
    """A thread that runs turn() until it is ended. error is what ended it early."""

    def __init__(self):
        super().__init__(daemon=True)
        self.error = None
        self.is_ending = threading.Event()

    def run(self):
        try:
            while not self.is_ending.is_set():
                self.turn()
        except Exception as error:  # in a thread: the soak looks at it
            self.error = error

    def end(self):
        self.is_ending.set()
        self.join()


class Judge:
    """Right or wrong, by the list before and after each change."""

    def __init__(self, versions, validator):
        self.versions, self.validator = versions, validator
        self.judged, self.wrong, self.validated, self.flaws = 0, 0, 0, []
        self.lock = threading.Lock()

    def judge(self, name, wire, sent, is_signed=False):
        received = time.monotonic()
        with self.lock:
            self.judged += 1
            try:
                said = bitmap_of(Reply(wire))
                if not self.versions.permits(name, said, sent, received):
                    raise ValueError(f"bitmap {said.hex()} of no version at that time")
                if is_signed and self.judged % VALIDATED_EVERY == 0:
                    self.validator.check(wire, name)
                    self.validated += 1
            except Exception as error:
                self.note(f"{name} {error!r}")

    def note(self, flaw):
        self.wrong += 1
        if len(self.flaws) < FLAWS_KEPT:
            self.flaws.append(flaw)


class Lane:
    """One socket of the ordinary questions."""

    def __init__(self, address):
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.connect(address)
        self.udp.setblocking(False)
        self.waiting = collections.OrderedDict()  # id -> (name, sent, packet), oldest first
        self.overtaken = {}  # id -> the same and since when
        self.ident = 0
        self.last_sent = 0
        self.answered_to = 0  # when the newest question was sent that has an answer

    def has_room(self, now):
        return len(self.waiting) < WINDOW or now - self.last_sent > STALLED_S

    def ask(self, name):
        """With DO when the identifier is odd."""
        self.ident = (self.ident + 1) & 0xFFFF
        packet = query(name, AAAA, self.ident, **(DO if self.ident & 1 else {}))
        self.last_sent = time.monotonic()
        self.waiting[self.ident] = (name, self.last_sent, packet)
        try:
            self.udp.send(packet)
        except ConnectionRefusedError:  # of the one before: this one has not been sent
            self.udp.send(packet)

    def receive(self):
        """(name, sent, wire) of an answer that was waited for, None when there are no more."""
        while True:
            try:
                wire = self.udp.recv(65535)
            except BlockingIOError:
                return None
            except ConnectionRefusedError:
                continue
            ident = wire[0] << 8 | wire[1]
            if ident in self.waiting:
                return self._overtake(ident, wire)
            if ident in self.overtaken:
                name, sent, _, _ = self.overtaken.pop(ident)
                return name, sent, wire

    def _overtake(self, ident, wire):
        now = time.monotonic()
        while True:
            first, (name, sent, packet) = self.waiting.popitem(last=False)
            if first == ident:
                self.answered_to = max(self.answered_to, sent)
                return name, sent, wire
            self.overtaken[first] = (name, sent, packet, now)

    def lost(self, now):
        """(name, sent) of what gets no answer any more."""
        gone = [ident for ident, (*_, since) in self.overtaken.items() if now - since > OVERTAKEN_S]
        for ident in gone:
            name, sent, _, _ = self.overtaken.pop(ident)
            yield name, sent
        while self.waiting and now - next(iter(self.waiting.values()))[1] > LOST_S:
            _, (name, sent, _) = self.waiting.popitem(last=False)
            yield name, sent


class Questions(Part):
    """Ordinary questions, rate a second at most; every second one asks for signatures."""

    def __init__(self, address, names, judge, rate):
        super().__init__()
        self.lanes = [Lane(address) for _ in range(SOCKETS)]
        self.names, self.judge, self.rate = names, judge, rate
        self.asked, self.answered = 0, 0
        self.lost = []  # (lane's number, name, sent)
        self.start_s = time.monotonic()

    def turn(self):
        self._ask()
        self._receive(0.002)

    def _ask(self):
        now = time.monotonic()
        budget = int((now - self.start_s) * self.rate) - self.asked
        for lane in self.lanes:
            while budget > 0 and lane.has_room(now):
                self.asked += 1
                budget -= 1
                lane.ask(self.names[self.asked * 7919 % len(self.names)])
                now = time.monotonic()

    def _receive(self, timeout_s):
        ready = select.select([lane.udp for lane in self.lanes], [], [], timeout_s)[0]
        now = time.monotonic()
        for number, lane in enumerate(self.lanes):
            while lane.udp in ready and (answer := lane.receive()):
                name, sent, wire = answer
                self.answered += 1
                self.judge.judge(name, wire, sent, is_signed=bool(wire[1] & 1))
            self.lost += [(number, *question) for question in lane.lost(now)]

    def end(self):
        """Asks no more, and waits until each question has an answer or is lost."""
        super().end()
        while any(lane.waiting or lane.overtaken for lane in self.lanes):
            self._receive(0.1)
            for lane in self.lanes:
                if lane.waiting and time.monotonic() - lane.last_sent > 1:
                    self.asked += 1
                    lane.ask(self.names[0])  # overtakes what is lost
        for lane in self.lanes:
            lane.udp.close()


class Junk(Part):
    """Random packets and damaged questions; a good one behind every few keeps the pace."""

    def __init__(self, address, names, judge, random):
        super().__init__()
        self.names, self.judge, self.random = names, judge, random
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.connect(address)
        self.sent = 0

    def turn(self):
        for _ in range(32):
            self._send(self._packet())
            self.sent += 1
        name = self.random.choice(self.names)
        packet = query(name, AAAA, self.random.randrange(0x8000))
        sent = time.monotonic()
        self._send(packet)
        self._wait(name, packet, sent)
        self.is_ending.wait(0.02)

    def _packet(self):
        """Its identifier has the high bit, which a good question's has not."""
        if self.random.random() < 0.4:
            return b"\x80" + self.random.randbytes(self.random.randrange(600))
        packet = bytearray(query(self.random.choice(self.names), AAAA,
                                 self.random.randrange(0x8000, 65536), edns_size=1232))
        for _ in range(self.random.randrange(1, 6)):
            packet[self.random.randrange(2, len(packet))] = self.random.randrange(256)
        return bytes(packet[:self.random.randrange(len(packet) + 1)]
                     if self.random.random() < 0.3 else packet)

    def _send(self, packet):
        try:
            self.udp.send(packet)
        except ConnectionRefusedError:
            pass

    def _wait(self, name, packet, sent):
        """Until the answer to the good one; the others must be messages."""
        while select.select([self.udp], [], [], 1)[0]:
            try:
                wire = self.udp.recv(65535)
            except ConnectionRefusedError:
                continue
            if wire[:2] == packet[:2] and wire[12:].startswith(question_of(packet)):
                self.judge.judge(name, wire, sent)
                return
            try:
                Reply(wire)
            except (ValueError, IndexError, struct.error) as error:
                with self.judge.lock:
                    self.judge.note(f"{wire.hex()} is no message: {error!r}")


class SlowClient:
    """One TCP connection: says a byte in each step, or all at once and never reads."""

    def __init__(self, address, name, is_deaf):
        self.name, self.is_deaf = name, is_deaf
        packet = query(name, AAAA, 7)
        self.unsent = framed(packet)
        self.reply = b""
        self.sent_s = None
        self.tcp = socket.create_connection(address, 5)
        self.tcp.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.tcp.setblocking(False)
        if is_deaf:
            self.unsent *= 200

    def step(self):
        """False when the connection is over; then reply is whole, or it was closed."""
        try:
            if self.unsent:
                self.sent_s = time.monotonic()
                count = self.tcp.send(self.unsent if self.is_deaf else self.unsent[:1])
                self.unsent = self.unsent[count:]
                return True
            if self.is_deaf:
                return self._age_s() < 4
            more = self.tcp.recv(65535)
            self.reply += more
            return bool(more) and not self.is_whole()
        except BlockingIOError:
            return self._age_s() < 10
        except OSError:
            return False

    def _age_s(self):
        return time.monotonic() - self.sent_s

    def is_whole(self):
        return (len(self.reply) >= 2
                and len(self.reply) >= 2 + struct.unpack(">H", self.reply[:2])[0])


class SlowClients(Part):
    COUNT = 10

    def __init__(self, address, names, judge, random):
        super().__init__()
        self.address, self.names, self.judge, self.random = address, names, judge, random
        self.clients = []
        self.connected, self.answered = 0, 0

    def turn(self):
        while len(self.clients) < self.COUNT:
            try:
                self.clients.append(SlowClient(self.address, self.random.choice(self.names),
                                               is_deaf=self.connected % 5 == 0))
            except OSError:
                break  # its worker is being replaced
            self.connected += 1
        for client in list(self.clients):
            if not client.step():
                self._close(client)
        self.is_ending.wait(0.02)

    def _close(self, client):
        self.clients.remove(client)
        client.tcp.close()
        if client.is_whole():
            self.answered += 1
            self.judge.judge(client.name, client.reply[2:], client.sent_s)

    def end(self):
        super().end()
        for client in self.clients:
            client.tcp.close()


class Changes(Part):
    """Updates of the store, and a whole build of it every few of them."""

    UPDATES_TO_A_BUILD = 10

    def __init__(self, soak):
        super().__init__()
        self.soak = soak
        self.updates, self.builds = 0, 0

    def turn(self):
        word, addresses = random_change(self.soak.random)
        is_added = self.soak.random.random() < 0.5
        is_build = self.updates > (self.builds + 1) * self.UPDATES_TO_A_BUILD
        soak = self.soak
        names = soak.versions.change(addresses, is_added, time.monotonic())
        (soak.listed.update if is_added else soak.listed.difference_update)(addresses)
        if is_build:
            soak.build_listed()
            self.builds += 1
        else:
            soak.update(*ANY_SIZE, "--add" if is_added else "--remove", word)
            self.updates += 1
        soak.versions.end(names, time.monotonic())
        self.is_ending.wait(0.2)


class Soak(UpdateCase):
    """Used by hand: setUp(), then soak(), then doCleanups()."""

    def setUp(self):
        super().setUp()
        self.expect_log("worker died")
        self.versions = Versions()
        self.listed = {ip(f"43.{n >> 8}.{n & 255}.1") for n in range(1500)}
        self.versions.change(self.listed, True, 0)
        self.names = [f"{half}.{third}.0.44.{ZONE}" for third in range(42) for half in (0, 1)]
        self.names += [f"{half}.{high:02x}.0002.0001.2a00.ip6.{ZONE}" for high in range(5)
                       for half in (0, 1)]
        self.names += sorted(bitmap_name(address) for address in self.listed)[::15]
        self.kills = []  # (when gone, since when of each lane)
        self.reloads = 0

    def build_listed(self):
        words = (str(a) if a.version == 4 else f"{a}/64" for a in sorted(self.listed, key=str))
        self.build(self.store, *ANY_SIZE, *self.keys, self.write("list", "\n".join(words) + "\n"))

    def begin(self, rate):
        self.sign()
        self.build_listed()
        self.server = self.serve([(ZONE, self.store, None)], [
            "workers: 2", "tcp-idle-timeout: 2s", "tcp-query-timeout: 2s"])
        dnskey = self.run_zone("ds", "--dnskey", "--zone", ZONE, "--key", self.key).out.strip()
        self.judge = Judge(self.versions, Validator(dnskey))
        address = self.server.address
        self.questions = Questions(address, self.names, self.judge, rate)
        self.junk = Junk(address, self.names, self.judge, self.random)
        self.slow = SlowClients(address, self.names, self.judge, self.random)
        self.changes = Changes(self)
        self.parts = [self.questions, self.junk, self.slow, self.changes]

    def memory_kb(self):
        """(parent, largest worker) of two workers that serve."""
        workers = wait_for(lambda: len(now := self.server.children()) == 2 and now, "two workers")
        return anonymous_kb(self.server.pid), max(map(anonymous_kb, workers))

    def soak(self, seconds, kill_every_s=5, reload_every_s=11, rate=2000):
        """Sets the counts; see problems()."""
        self.begin(rate)
        for part in self.parts:
            part.start()
        start = time.monotonic()
        self._warm_up()
        self.before_kb = self.memory_kb()
        self._trouble(start, start + seconds, kill_every_s, reload_every_s)
        for part in reversed(self.parts):  # the questions last
            part.end()
        self.seconds = time.monotonic() - start
        self.after_kb = self.memory_kb()
        self.lost_otherwise = [lost for lost in self.questions.lost
                               if not self.was_in_flight(*lost)]

    def _warm_up(self):
        """
        As measured, the parent has its size after the second reload and keeps it;
        workers begin as copies of it.
        """
        for count in (1, 2):
            self.server.send_signal(signal.SIGHUP)
            self.reloads += 1
            wait_for(lambda count=count: self._reloaded_count() == count, "the reload")
            self.memory_kb()  # when the old workers are gone
            self._kill()
        target = self.questions.answered + 1000
        wait_for(lambda: self.questions.answered >= target or self.questions.error, "answers")

    def _trouble(self, start, end, kill_every_s, reload_every_s):
        kill_at, reload_at = start + kill_every_s, start + reload_every_s
        while not self._is_over(time.monotonic(), end):
            now = time.monotonic()
            if now >= reload_at:
                self.server.send_signal(signal.SIGHUP)
                self.reloads += 1
                reload_at += reload_every_s
            if now >= kill_at:
                self._kill()
                kill_at += kill_every_s
            time.sleep(max(0.1, min(reload_at, kill_at, end) - time.monotonic()))

    def _is_over(self, now, end):
        """Where updates take long, the first build is waited for: it is one of what a soak is to meet."""
        is_met = self.changes.builds > 0 or now > end + DEADLINE_S
        return (now >= end and is_met) or any(part.error for part in self.parts)

    def _kill(self):
        workers = self.server.children()
        if not workers:
            return  # all are being replaced
        victim = self.random.choice(workers)
        is_reloading = len(workers) != 2 or self._reloaded_count() < self.reloads
        since = [time.monotonic() - IN_FLIGHT_S if is_reloading else lane.answered_to
                 for lane in self.questions.lanes]
        try:
            os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:
            return  # it was an old one and has drained
        wait_for(lambda: victim not in self.server.children(), "the end of the worker")
        self.kills.append((time.monotonic(), since))

    def _reloaded_count(self):
        return self.server.log().count("[dnsblv6d] reloaded, ")

    def was_in_flight(self, lane, _, sent):
        return any(since[lane] < sent <= gone for gone, since in self.kills)

    def problems(self, is_memory_judged=True):
        """Why this soak has failed, in sentences; none when it has not."""
        found = [f"{type(part).__name__} ended early: {part.error!r}" for part in self.parts
                 if part.error]
        if self.judge.wrong:
            found.append(f"{self.judge.wrong} wrong answers: " + "; ".join(self.judge.flaws))
        if self.lost_otherwise:
            found.append(f"{len(self.lost_otherwise)} questions lost that were not in flight"
                         f" at a kill, such as {self.lost_otherwise[0]}")
        growth = [after - before for before, after in zip(self.before_kb, self.after_kb)]
        if is_memory_judged and growth[0] > PARENT_GROWTH_KB:
            found.append(f"the parent has grown by {growth[0]} kB")
        if is_memory_judged and growth[1] > WORKER_GROWTH_KB:
            found.append(f"the largest worker is {growth[1]} kB larger than the one at the start")
        return found
