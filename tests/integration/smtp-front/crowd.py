# SPDX-License-Identifier: GPL-3.0-or-later
"""
crowd.py - clients who connect and say nothing, more than one process has descriptors for.

Flow: test_front_half_open.py -> Crowd forks its processes -> each has an equal part of what is
      said to the crowd, and does it for each of its connections -> sums of what has happened.

    crowd = Crowd(self, front.address, 6)
    crowd.open(100000)              # Counter({"220": 100000}): codes of the greetings
    crowd.say(b"EHLO half")
    crowd.reset(1000)               # the youngest
    crowd.close(1000)
    crowd.see_out(60)               # Counter({"421 4.4.2": 98000}): who is there waits for its end
    crowd.count

Clients come from NETWORK_SIZE connections to a network 127.x.y.0/24, from 127.251.0.0 on. Who is
not greeted with 220 has left when open() returns. What goes wrong in a process is raised here.
"""

import collections
import multiprocessing
import socket

from harness import DEADLINE_S

NETWORK_SIZE = 250
FIRST_NETWORK, NETWORKS = 251, 5 * 250  # of a Case's own addresses none is there
BATCH = 250  # connections that wait for their greeting at once


class _Part:
    """What one process has."""

    def __init__(self, address, networks):
        self.address, self.networks = address, networks
        self.sockets = []  # the oldest first
        self.opened = 0

    def _connect(self, deadline_s):
        network = self.networks[self.opened // NETWORK_SIZE]
        self.opened += 1
        client = socket.socket()
        client.settimeout(deadline_s)
        client.bind((f"127.{FIRST_NETWORK + network // 250}.{network % 250}.9", 0))
        client.connect(self.address)
        return client

    def open(self, count, deadline_s):
        codes = collections.Counter()
        for start in range(0, count, BATCH):
            for client in [self._connect(deadline_s) for _ in range(min(BATCH, count - start))]:
                code = client.recv(512)[:3].decode()
                codes[code] += 1
                if code == "220":
                    self.sockets.append(client)
                else:
                    client.close()
        return codes

    def say(self, data):
        for client in self.sockets:
            client.sendall(data)
        return collections.Counter()

    def reset(self, count):
        for _ in range(count):
            client = self.sockets.pop()
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            client.close()
        return collections.Counter(reset=count)

    def close(self, count):
        for _ in range(count):
            self.sockets.pop().close()
        return collections.Counter(closed=count)

    def see_out(self, deadline_s):
        """Each has to be told why before the end."""
        ends = collections.Counter()
        for client in self.sockets:
            client.settimeout(deadline_s)
            said = b""
            while more := client.recv(512):
                said += more
            ends[said[:9].decode()] += 1
            client.close()
        self.sockets.clear()
        return ends


def _serve(pipe, address, networks):
    part = _Part(address, networks)
    while True:
        try:
            name, arguments = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send(getattr(part, name)(*arguments))
        except Exception as error:  # raised again by who has asked
            pipe.send(error)


class Crowd:
    def __init__(self, case, address, process_count):
        context = multiprocessing.get_context("fork")
        each = NETWORKS // process_count
        self.counts = [0] * process_count
        self.pipes, self.processes = [], []
        for number in range(process_count):
            ours, its = context.Pipe()
            process = context.Process(target=_serve, daemon=True, args=(
                its, address, range(number * each, (number + 1) * each)))
            process.start()
            its.close()
            self.pipes.append(ours)
            self.processes.append(process)
        case.addCleanup(self.end)

    @property
    def count(self):
        return sum(self.counts)

    def _do(self, name, arguments):
        """arguments of each process. The counters of each."""
        for pipe, its in zip(self.pipes, arguments):
            pipe.send((name, its))
        answers = [pipe.recv() for pipe in self.pipes]
        for answer in answers:
            if isinstance(answer, Exception):
                raise answer
        return answers

    def _share(self, count):
        """Of that many, for each process."""
        each, more = divmod(count, len(self.pipes))
        return [each + (number < more) for number in range(len(self.pipes))]

    def open(self, count, deadline_s=DEADLINE_S):
        answers = self._do("open", [(each, deadline_s) for each in self._share(count)])
        self.counts = [now + answer["220"] for now, answer in zip(self.counts, answers)]
        return sum(answers, collections.Counter())

    def say(self, data):
        self._do("say", [(data,)] * len(self.pipes))

    def _leave(self, name, count):
        shares = self._share(count)
        self._do(name, [(each,) for each in shares])
        self.counts = [now - each for now, each in zip(self.counts, shares)]

    def reset(self, count):
        self._leave("reset", count)

    def close(self, count):
        self._leave("close", count)

    def see_out(self, deadline_s):
        answers = self._do("see_out", [(deadline_s,)] * len(self.pipes))
        self.counts = [0] * len(self.pipes)
        return sum(answers, collections.Counter())

    def end(self):
        for pipe, process in zip(self.pipes, self.processes):
            pipe.close()
            process.kill()
            process.join()
