#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
popclients.py - clients of a POP3 server, for what servers do with them.

Flow: bench/pop -> visit(), log_in(), fetch() and transfer() here, or Crowd, which is this file as a
      process of its own: connections that stay, or wrong passwords without end.

Clients go in step: all of a batch send, then the answers of all are read. So a process of Python
keeps a server busy without threads of its own. An answer that is not +OK is a Failure.
"""
import base64
import hashlib
import hmac
import os
import socket
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(1, os.path.join(ROOT, "tests", "pop3-suite"))
from pop3 import CRLF, Failure, Pop, lax_tls  # noqa: E402  (found by the line above)

BATCH = 16
WAIT_S = 120
EACH_MAX = 15000  # connections of a process: root may be forbidden to have more descriptors
WRONG = "not-the-password"


class Client(Pop):
    """Greeted."""

    def __init__(self, address, has_tls=False):
        super().__init__(address, lax_tls() if has_tls else None, WAIT_S)

    def good(self, command=b""):
        """The next answer, which has to be +OK."""
        reply = self.reply(command)
        if not reply.is_ok:
            raise Failure(str(reply))
        return reply

    def say(self, text):
        """A command that has to succeed."""
        self.send(text.encode() + CRLF)
        return self.good(text.encode())

    def read_lines(self):
        """
        What stands behind a +OK, as it came and as one piece: line by line it would cost the load
        more than the server.
        """
        parts = [self.buffer]
        while not (b"".join(parts[-2:]).endswith(b"\r\n.\r\n") or b"".join(parts) == b".\r\n"):
            self.buffer = b""
            if not self.receive():
                raise Failure("the connection ended amid an answer")
            parts.append(self.buffer)
        self.buffer = b""
        return b"".join(parts)

    def lines(self, text):
        """A command whose answer has lines."""
        self.say(text)
        return self.read_lines()

    def log_in(self, user, password):
        """With USER and PASS."""
        self.say(f"USER {user}")
        self.say(f"PASS {password}")

    def challenge(self):
        """What a server says in an exchange of SASL."""
        reply = self.reply()
        if not reply.is_challenge:
            raise Failure(str(reply))
        return reply.text

    def end_scram(self):
        """Its last challenge is the server's signature; a server may say +OK at once."""
        reply = self.reply()
        if reply.is_challenge:
            self.send(CRLF)
            reply = self.reply()
        if not reply.is_ok:
            raise Failure(str(reply))


# ---- many, in step ----


class Scram:
    """An exchange of RFC 7677, the salted password of which is made once."""

    salted = {}

    def __init__(self, user, password):
        self.password = password
        self.first = f"n={user},r={base64.b64encode(os.urandom(18)).decode()}"

    def begin(self):
        """What AUTH has behind it."""
        return base64.b64encode(f"n,,{self.first}".encode()).decode()

    def answer(self, challenge):
        """The proof."""
        server = base64.b64decode(challenge).decode()
        nonce, salt, count = (part[2:] for part in server.split(","))
        key = self.password, salt, count
        if key not in self.salted:
            self.salted[key] = hashlib.pbkdf2_hmac("sha256", self.password.encode(),
                                                   base64.b64decode(salt), int(count))
        client = hmac.digest(self.salted[key], b"Client Key", "sha256")
        final = f"c=biws,r={nonce}"
        signed = hmac.digest(hashlib.sha256(client).digest(),
                             f"{self.first},{server},{final}".encode(), "sha256")
        proof = bytes(one ^ other for one, other in zip(client, signed))
        return base64.b64encode(f"{final},p={base64.b64encode(proof).decode()}".encode()).decode()


def in_step(clients, text):
    for client in clients:
        client.send(text.encode() + CRLF)
    return [client.good(text.encode()) for client in clients]


def meet(address, count):
    clients = [Client(address) for _ in range(count)]
    for client in clients:
        client.good()
    return clients


def leave(clients):
    in_step(clients, "QUIT")
    for client in clients:
        client.socket.close()


def batches(count):
    while count > 0:
        yield min(count, BATCH)
        count -= BATCH


def visit(address, count):
    """So many that ask what there is, and go."""
    for size in batches(count):
        clients = meet(address, size)
        in_step(clients, "CAPA")
        for client in clients:
            client.read_lines()
        leave(clients)


def log_in(address, users, password):
    """A batch, each as another user, which goes again; how many."""
    clients = meet(address, BATCH)
    for client, user in zip(clients, users):
        client.send(f"USER {user}".encode() + CRLF)
    for client in clients:
        client.good(b"USER")
    in_step(clients, f"PASS {password}")
    leave(clients)
    return len(clients)


def log_in_scram(address, users, password):
    """The same with SCRAM-SHA-256."""
    clients = meet(address, BATCH)
    exchanges = [Scram(user, password) for user in users[:BATCH]]
    for client, scram in zip(clients, exchanges):
        client.send(f"AUTH SCRAM-SHA-256 {scram.begin()}".encode() + CRLF)
    for client, scram in zip(clients, exchanges):
        client.send(scram.answer(client.challenge()).encode() + CRLF)
    for client in clients:
        client.end_scram()
    leave(clients)
    return len(clients)


# ---- one ----


def fetch(address, user, password, count, has_tls):
    """Looks for mail and reads the newest; how many mails there are."""
    client = Client(address, has_tls)
    client.good()
    client.log_in(user, password)
    messages = int(client.say("STAT").text.split()[0])
    listed = client.lines("UIDL").count(CRLF) - 1
    if listed != messages:
        raise Failure(f"STAT says {messages}, and UIDL {listed}")
    for number in range(messages - count + 1, messages + 1):
        client.lines(f"RETR {number}")
    leave([client])
    return messages


def drain(connection, size, rate):
    """So many bytes, which are not looked at; at most so many a second, or as they come."""
    room, start, done = bytearray(1 << 20), time.monotonic(), 0
    while done < size:
        got = connection.recv_into(room, min(size - done, len(room)))
        if got <= 0:
            raise Failure("the connection ended amid a mail")
        done += got
        ahead = start + done / rate - time.monotonic() if rate else 0
        if ahead > 0.001:
            time.sleep(ahead)


def transfer(address, user, password, rate=None):
    """(bytes, seconds) of the first mail, which has no line that begins with a dot."""
    client = Client(address)
    client.good()
    client.log_in(user, password)
    size = int(client.say("LIST 1").text.split()[1])
    start = time.monotonic()
    client.say("RETR 1")
    drain(client.socket, size + 3 - len(client.buffer), rate)
    seconds = time.monotonic() - start
    client.buffer = b""
    leave([client])
    return size, seconds


def transfer_bare(address, size, rate=None):
    """Seconds for as many bytes of the server that does nothing else."""
    with socket.create_connection(address, WAIT_S) as connection:
        start = time.monotonic()
        connection.sendall(b"\n")
        drain(connection, size, rate)
        return time.monotonic() - start


def look(address, user, password):
    """Milliseconds of a whole session that looks whether there is mail."""
    start = time.monotonic()
    client = Client(address)
    client.good()
    client.log_in(user, password)
    client.say("STAT")
    leave([client])
    return (time.monotonic() - start) * 1000


def retrieve_ms(client):
    """Of a mail, in a session that is in."""
    start = time.monotonic()
    client.lines("RETR 1")
    return (time.monotonic() - start) * 1000


# ---- crowds ----


def park(address, first, count):
    """Greeted, from several addresses, as a port has room for 64,000 of one only."""
    parked = []
    for number in range(first, first + count):
        connection = socket.create_connection(
            address, WAIT_S, source_address=(f"127.77.{1 + number // 10000}.1", 0))
        parked.append(connection)
        if not connection.recv(512).startswith(b"+OK"):
            raise Failure("no greeting")
    print("ready", flush=True)
    sys.stdin.read()


def flood(address, user, count):
    """Wrong passwords of so many clients, in step, until it is ended."""
    print("ready", flush=True)
    while True:
        clients = meet(address, count)
        in_step(clients, f"USER {user}")
        for client in clients:
            client.send(f"PASS {WRONG}".encode() + CRLF)
        for client in clients:
            if client.reply().is_ok:
                raise Failure("a wrong password was right")
            client.socket.close()


class Crowd:
    """Processes of this file that are ready; they end with it."""

    def __init__(self, place, kind, address, *words):
        self.kind = kind
        self.processes = []
        try:
            for more in words:
                self.processes.append(subprocess.Popen(
                    [sys.executable, os.path.abspath(__file__), kind, address[0], str(address[1]),
                     *map(str, more)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                    preexec_fn=place.on_load_core))
            for process in self.processes:
                if process.stdout.readline() != b"ready\n":
                    raise Failure(f"{kind}: a crowd has ended")
        except BaseException:
            self.end()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.check()
        self.end()

    def check(self):
        """They are all there."""
        if any(process.poll() is not None for process in self.processes):
            raise Failure(f"{self.kind}: a crowd has ended before its time")

    def end(self):
        """By their numbers."""
        for process in self.processes:
            process.kill()
            process.wait()
            process.stdin.close()
            process.stdout.close()


def parked(place, address, count):
    """A Crowd that stays, of as many processes as its descriptors want."""
    return Crowd(place, "park", address, *((first, min(EACH_MAX, count - first))
                                           for first in range(0, count, EACH_MAX)))


if __name__ == "__main__":
    {"park": lambda address, first, count: park(address, int(first), int(count)),
     "flood": lambda address, user, count: flood(address, user, int(count))}[sys.argv[1]](
         (sys.argv[2], int(sys.argv[3])), *sys.argv[4:])
