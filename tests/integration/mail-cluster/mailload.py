# SPDX-License-Identifier: GPL-3.0-or-later
"""
mailload.py - clients of a cluster, which deliver, read and delete at any node until they are told to stop.

Flow: test_failures.py -> Load(told, nodes, boxes) as a context -> Told.

A node has name, lmtp_address, smtp_address (or None) and pop_address. Clients give a connection up whose
other end has gone silent, as mail servers do, but sooner.
"""

import random
import re
import socket
import threading
import time

import popclient
from told import OPEN, REFUSED, TAKEN, Session, Violation, text_of

PASSWORD = "Secret4all"
SILENCE_MS = 5000  # of a peer that acknowledges nothing
REPLY_S = 120
GONE = (OSError, EOFError)
# Of a POP session that does not come to its mailbox, or whose deletions were not made.
REFUSALS = ("-ERR [IN-USE]", "-ERR [SYS/TEMP]")
DAMAGED = "-ERR [SYS/PERM] The message is damaged"
IDENT = re.compile(r"250 2\.0\.0 Ok: (?:stored as )?([0-9a-f]{32})")


def watch(connection):
    """A peer that has gone is noticed also while we wait for its reply."""
    for option, value in ((socket.TCP_USER_TIMEOUT, SILENCE_MS), (socket.TCP_KEEPIDLE, 1),
                          (socket.TCP_KEEPINTVL, 1), (socket.TCP_KEEPCNT, SILENCE_MS // 1000)):
        connection.setsockopt(socket.IPPROTO_TCP, option, value)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)


class Sender:
    """A session of LMTP or SMTP, behind LHLO or EHLO."""

    def __init__(self, address, is_lmtp):
        self.is_lmtp = is_lmtp
        self.socket = socket.create_connection(address, SILENCE_MS / 1000)
        try:
            watch(self.socket)
            self.socket.settimeout(REPLY_S)
            self.file = self.socket.makefile("rb")
            self.reply()
            self.say("LHLO client.example.net" if is_lmtp else "EHLO client.example.net")
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def reply(self):
        """The last line of the next one; EOFError when the server has hung up, or says that it does."""
        while True:
            line = self.file.readline()
            if not line or line.startswith(b"421"):
                raise EOFError(line.decode())
            if line[3:4] != b"-":
                return line.decode().rstrip("\r\n")

    def say(self, line):
        self.socket.sendall(line.encode() + b"\r\n")
        return self.reply()

    def deliver(self, told, node, boxes, size):
        """One mail, and what came of it into told. Whether a recipient has it."""
        token = told.begin(boxes, node)
        left = list(boxes)  # those without a last word
        try:
            taken = [box for box in boxes if self._asks(told, token, box, left)] \
                if self.say("MAIL FROM:<sender@example.net>")[0] == "2" else []
            if taken and self.say("DATA")[0] == "3":
                return self._says_text(told, token, taken, left, size)
            self._refuse(told, token, left)
            self.say("RSET")
            return False
        except GONE:
            # Before the dot it has not been given to anything.
            state = OPEN if getattr(self, "has_ended", False) else REFUSED
            for box in left:
                told.note(token, box, state)
            raise

    def _asks(self, told, token, box, left):
        if not left:
            return False
        if self.say(f"RCPT TO:<{box}>")[0] == "2":
            return True
        told.note(token, box, REFUSED)
        left.remove(box)
        return False

    @staticmethod
    def _refuse(told, token, left):
        while left:
            told.note(token, left.pop(), REFUSED)

    def _says_text(self, told, token, taken, left, size):
        text = (b"\r\n" + text_of(token, size)).replace(b"\r\n.", b"\r\n..")[2:]
        self.has_ended = True
        self.socket.sendall(text + b".\r\n")
        line, is_taken = None, False
        for box in taken:
            if line is None or self.is_lmtp:
                line = self.reply()
            ident = IDENT.match(line)
            if line[0] == "2" and not ident:
                raise Violation(f"{token}: no id in {line!r}")
            told.note(token, box, TAKEN if ident else REFUSED, ident and ident.group(1))
            left.remove(box)
            is_taken = is_taken or ident is not None
        self.has_ended = False
        return is_taken


class Reader(popclient.Client):
    """A POP3 session; refused() is said of what is no failure of a client's connection."""

    def __init__(self, node):
        super().__init__(node.pop_address, is_greeted=False, timeout_s=SILENCE_MS / 1000)
        watch(self.socket)
        self.socket.settimeout(REPLY_S)
        try:
            self.greeting = self.line()
        except BaseException:
            self.close()
            raise

    def opens(self, box):
        """Whether the session has its mailbox."""
        self.send(f"USER {box}\r\n".encode())
        if not self.line().startswith("+OK"):
            return False
        self.send(f"PASS {PASSWORD}\r\n".encode())
        return self._is_ok(self.line())

    @staticmethod
    def _is_ok(line):
        if line.startswith("+OK"):
            return True
        if line.startswith(REFUSALS):
            return False
        raise Violation(f"{line!r} of POP3")

    def fetch(self, number, told):
        """A mail, or None when it is to be had later."""
        self.send(f"RETR {number}\r\n".encode())
        line = self.line()
        if told.has_dead_disk and line == DAMAGED:
            return None
        return self.body() if self._is_ok(line) else None

    def quits(self):
        self.send(b"QUIT\r\n")
        return self._is_ok(self.line())


class Load:
    """
    Threads over nodes: senders of each to that node, readers at any. As a context it ends them; what one of them
    has found is raised by check() or at the end.
    """

    SIZES = (0, 100, 100, 2000, 2000, 2000, 8000, 8000, 8000, 70000, 300000, 2000000)

    def __init__(self, told, nodes, boxes, chance, senders=1, readers=5):
        self.told, self.nodes, self.boxes = told, nodes, boxes
        self.is_over = threading.Event()
        self.failure = None
        self.acks = {node.name: [] for node in nodes}  # times
        self.fetched = {node.name: [] for node in nodes}  # (begin, end) of sessions
        self.seen = {}  # words: count
        works = [(self._send, node, is_lmtp) for node in nodes for _ in range(senders)
                 for is_lmtp in ((True, False) if node.smtp_address else (True,))]
        works += [(self._read, nodes[0], None)] * readers
        self.threads = [threading.Thread(target=self._run, args=(work, node, how, chance.random()), daemon=True)
                        for work, node, how in works]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, kind, *_):
        self.is_over.set()
        for thread in self.threads:
            thread.join()
        if kind is None:
            self.check()

    def check(self):
        if self.failure is not None:
            raise self.failure

    def wait(self, seconds):
        self.is_over.wait(seconds)
        self.check()

    def count(self, word):
        self.seen[word] = self.seen.get(word, 0) + 1

    def _run(self, work, node, how, seed):
        try:
            chance = random.Random(seed)
            while not self.is_over.is_set():
                try:
                    work(node, chance, how)
                except GONE:
                    self.count("connections gone")
                    self.is_over.wait(0.05)
        except BaseException as error:  # pylint: disable=broad-except
            self.failure = self.failure or error
            self.is_over.set()

    # ---- deliveries ----

    def _send(self, node, chance, is_lmtp):
        with Sender(node.lmtp_address if is_lmtp else node.smtp_address, is_lmtp) as sender:
            while not self.is_over.is_set():
                boxes = chance.sample(self.boxes, chance.choice((1, 1, 2, 3, len(self.boxes))))
                if sender.deliver(self.told, node.name, boxes, chance.choice(self.SIZES)):
                    self.acks[node.name].append(time.monotonic())
                else:
                    self.is_over.wait(0.1)
                self.is_over.wait(chance.uniform(0, 0.3))

    # ---- sessions ----

    def _read(self, _node, chance, _how):
        node, box = chance.choice(self.nodes), chance.choice(self.boxes)
        session = Session(self.told, box, node.name)
        with Reader(node) as client:
            if not client.opens(box):
                self.count("sessions refused")
                self.is_over.wait(0.05)
                return
            session.opened()
            self._visit(client, session, chance)
        self.is_over.wait(chance.uniform(0, 0.05))

    def _visit(self, client, session, chance):
        uids = client.uids()
        new = session.sees(list(uids.values()))
        for number, uid in uids.items():
            if uid in new or chance.random() < 0.1:
                octets = client.fetch(number, self.told)
                if octets is not None:
                    session.reads(uid, octets)
        known = [number for number, uid in uids.items() if self.told.token_of(session.box, uid)]
        chosen = chance.sample(known, chance.randint(0, min(8, len(known)))) if chance.random() < 0.6 else []
        for number in chosen:
            client.say(f"DELE {number}", "+OK")
        if chance.random() < 0.2:  # what has the mailbox may be held dead meanwhile
            self.is_over.wait(chance.uniform(0, 4))
        dice = chance.random()
        if dice < 0.15:
            return  # the connection ends without QUIT
        if dice < 0.25:
            client.say("RSET", "+OK")
            chosen = []
        session.tries([self.told.token_of(session.box, uids[number]) for number in chosen])
        if client.quits():
            session.ended()
            self.fetched[session.node].append((session.asked, time.monotonic()))
        else:
            self.count("deletions refused" if chosen else "QUIT refused")

    # ---- what is said of it ----

    def longest_gap(self, times, begin, end):
        """Without an event, between two times."""
        inner = [begin, *(when for when in times if begin < when < end), end]
        return max(later - earlier for earlier, later in zip(inner, inner[1:]))


def open_reader(node, box, deadline_s=REPLY_S):
    """A session that has its mailbox, once nothing else has it."""
    end = time.monotonic() + deadline_s
    said = None
    while time.monotonic() < end:
        try:
            client = Reader(node)
            if client.opens(box):
                return client
            client.close()
        except GONE as error:
            said = error
        time.sleep(0.1)
    raise Violation(f"{box} cannot be opened at {node.name} within {deadline_s} s: {said}")


def read_all(node, boxes):
    """{box: [(id, octets), ...]} as a node has them."""
    found = {}
    for box in boxes:
        with open_reader(node, box) as client:
            uids = client.uids()
            found[box] = [(uid, client.mail(number)) for number, uid in uids.items()]
            client.say("QUIT", "+OK")
    return found


def read_idents(node, boxes):
    """{box: [id, ...]}"""
    found = {}
    for box in boxes:
        with open_reader(node, box) as client:
            found[box] = list(client.uids().values())
            client.say("QUIT", "+OK")
    return found


def empty(told, node, boxes, kept):
    """All mails of each mailbox go but so many."""
    for box in boxes:
        session = Session(told, box, node.name)
        with open_reader(node, box) as client:
            session.opened()
            uids = client.uids()
            new = session.sees(list(uids.values()))
            for number, uid in uids.items():
                if uid in new:
                    session.reads(uid, client.mail(number))
            chosen = list(uids)[:max(0, len(uids) - kept)]
            for number in chosen:
                client.say(f"DELE {number}", "+OK")
            session.tries([told.token_of(box, uids[number]) for number in chosen])
            client.say("QUIT", "+OK")
            session.ended()
