#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
No mail with a signature is ever committed by a server behind mail-proxy, and each mail that a client was
told is accepted is there with its bytes: sessions at random, with mails cut in odd places, clients that
are slow or go away, connections between the proxy and its next hop that are cut anywhere, and processes
of the proxy that are killed. The next hops are Postfix, Exim, OpenSMTPD and Dovecot, which need root;
./check unpacks some of them.

DNSBLV6_SESSIONS is how many there are of each, 60 unless it is set; tests/campaign-proxy sets it.
"""

import base64
import bz2
import collections
import concurrent.futures
import io
import lzma
import os
import random
import re
import signal
import socket
import ssl
import tarfile
import threading
import time
import zipfile

import mta
import opensmtpd
from dovecot import Dovecot
from harness import Case, main, wait_for
from popfront import make_certificate
from proxying import (EICAR, HOSTNAME, PATIENCE_S, RECIPIENT, SENDER, Client, MailProxy, attached, close_listener,
                      descendants_of, dotted)

SESSIONS = int(os.environ.get("DNSBLV6_SESSIONS", "60"))
PARALLEL = 8
STEP_S = 0.02  # of slow clients
SETTLE_S = 0.5
# Between kills, on average. A process that lives for less than two seconds comes back later and later.
KILL_S = 0.1
# By the names of processes, with the chance of each: a decoder's own, its template, an edge, what has the keys,
# and the nanny, with which all others end; it is started again, as systemd would.
NANNY = "nanny"  # by its pid: its children have its name, too, before they have their own
KINDS = {"decoder": 0.74, "decoders": 0.1, "edge": 0.1, "keyholder": 0.05, NANNY: 0.01}
# These take some sessions with them: so many more have ended before another is killed.
WITH_SESSIONS = ("edge", "keyholder", NANNY)
SESSIONS_BETWEEN = 20
SECURE = 0.3  # of the sessions have STARTTLS, for which the keyholder signs
FOR_ALL_KINDS = 500  # sessions, in which each kind of process is met


class Cutter:
    """Between the proxy and its next hop: some connections end after so many bytes, either way."""

    def __init__(self, case, target):
        self.target = target
        self.chance = random.Random(case.random.randrange(1 << 30))
        self.cuts = 0
        self.socket = socket.create_server((case.host, 0), backlog=200)
        self.address = self.socket.getsockname()
        case.addCleanup(close_listener, self.socket)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                near, _ = self.socket.accept()
                far = socket.create_connection(self.target, timeout=PATIENCE_S)
            except OSError:
                return
            left = self.chance.choice([None, None, None, 200, 2000, 20000])
            budget = [self.chance.randrange(left)] if left else None
            ended = []
            for ends in ((near, far), (far, near)):
                threading.Thread(target=self._pass, args=(*ends, budget, ended), daemon=True).start()

    def _pass(self, source, sink, budget, ended):
        self._pass_all(source, sink, budget)
        ended.append(source)
        if len(ended) == 2:
            source.close()
            sink.close()

    def _pass_all(self, source, sink, budget):
        try:
            while data := source.recv(65536):
                if budget is not None:
                    budget[0] -= len(data)
                    if budget[0] < 0:
                        sink.sendall(data[:budget[0]])
                        self.cuts += 1
                        break
                sink.sendall(data)
            else:
                sink.shutdown(socket.SHUT_WR)
                return
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class Killer:
    """Ends processes of a proxy at random, as long as it is used by "with"."""

    def __init__(self, case, proxy):
        self.proxy = proxy
        self.chance = random.Random(case.random.randrange(1 << 30))
        self.kills = collections.Counter()
        self.ended = 0  # sessions; the next of WITH_SESSIONS is for when there are so many
        self.next_at = 0
        self.lock = threading.Lock()
        self.is_over = threading.Event()
        self.error = None
        self.thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.thread.join()
        if self.error:
            raise self.error

    def _run(self):
        try:
            self._kill_all()
        except AssertionError as error:  # it did not start again
            self.error = error

    def _kill_all(self):
        while not self.is_over.wait(self.chance.uniform(0, 2 * KILL_S)):
            # Each is to be met, and seldom ones not only by chance.
            unmet = [kind for kind in KINDS if not self.kills[kind]]
            kind = self.chance.choice(unmet) if unmet and self.chance.random() < 0.5 else \
                self.chance.choices(list(KINDS), list(KINDS.values()))[0]
            # A decoder lives for a moment only: it is waited for, and not for long.
            end = time.monotonic() + KILL_S
            while not self._kill_one(kind) and time.monotonic() < end:
                if self.is_over.wait(0.001):
                    return

    def note_end(self):
        with self.lock:
            self.ended += 1

    def _kill_one(self, kind):
        if kind in WITH_SESSIONS and self.ended < self.next_at:
            return False
        nanny = self.proxy.process.pid
        there = [nanny] if kind == NANNY else [pid for pid, name in descendants_of(nanny) if name == kind]
        if not there:
            return False
        try:
            os.kill(self.chance.choice(there), signal.SIGKILL)
        except ProcessLookupError:
            return False
        self.kills[kind] += 1
        if kind == NANNY:
            self.proxy.process.popen.wait()
            self.proxy.start()
        if kind in WITH_SESSIONS:
            self.next_at = self.ended + SESSIONS_BETWEEN
        return True


def zipped(content):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("member.com", content)
    return file.getvalue()


def tarred(content):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        member = tarfile.TarInfo("member.com")
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return file.getvalue()


# Those that a decoder process opens.
APART = [(b"a.com.xz", lzma.compress), (b"a.tar.bz2", lambda content: bz2.compress(tarred(content))),
         (b"a.tar.xz", lambda content: lzma.compress(tarred(content))), (b"a.tar", tarred)]


def mail_of(chance, number, is_bad):
    """Whole lines, with its number in the subject."""
    size = chance.choice([10, 1000, 30000, 200000])
    content = chance.randbytes(size)
    bad = EICAR.encode()
    head = b"From: sender@example.net\r\nDate: Thu, 26 Nov 2026 04:42:54 +0000\r\n" \
           b"Message-Id: <%d@example.net>\r\nSubject: number-%d.\r\n" % (number, number)
    kind = chance.randrange(5)
    if kind == 0:
        lines = base64.encodebytes(content).replace(b"\n", b"\r\n.")
        return head + b"\r\n" + (bad + b"\r\n" if is_bad else b"") + lines + b"end\r\n"
    if kind == 1:
        # Alone in its part, as a file of EICAR is.
        return head + attached(b"a.com", bad if is_bad else content)
    if kind == 2:
        return head + attached(b"a.zip", zipped(bad if is_bad else content))
    name, pack = chance.choice(APART)
    return head + attached(name, pack(bad if is_bad else content))


class Session:
    """One client, with one mail."""

    def __init__(self, seed, number, is_lmtp):
        self.chance = random.Random(seed)
        self.number = number
        self.verb = "LHLO" if is_lmtp else "EHLO"
        self.is_bad = self.chance.random() < 0.5
        self.mail = mail_of(self.chance, number, self.is_bad)
        self.is_chunked = self.chance.random() < 0.3
        self.is_slow = self.chance.random() < 0.05
        self.goes_away = self.chance.random() < 0.15
        self.is_secure = self.chance.random() < SECURE
        self.code = 0  # of the mail; 0: not known

    def run(self, address, tls):
        wait_for(lambda: self._has_run(address, tls), "the proxy to listen", PATIENCE_S)

    def _has_run(self, address, tls):
        """Not while nothing listens, as a nanny is started again."""
        try:
            with Client(address) as client:
                self._talk(client, tls)
        except ConnectionRefusedError:
            return False
        except (OSError, AssertionError):
            pass
        return True

    def _talk(self, client, tls):
        client.begin(self.verb)
        if self.is_secure:
            client.say("STARTTLS", 220)
            client.start_tls(tls)
            client.say(f"{self.verb} client.example.net", 250)
        client.say(f"MAIL FROM:<{SENDER}>", 250)
        client.say(f"RCPT TO:<{RECIPIENT}>", 250)
        if self.is_chunked:
            stream = b"BDAT %d LAST\r\n" % len(self.mail) + self.mail
        else:
            client.say("DATA", 354)
            stream = dotted(self.mail) + b".\r\n"
        end = self.chance.randrange(len(stream)) if self.goes_away else len(stream)
        self._send(client, stream[:end])
        if end < len(stream):
            return
        reply = client.reply()
        self.code = int(reply[:3]) if reply else 0
        client.send("QUIT\r\n")
        client.reply()

    def _send(self, client, stream):
        at = 0
        while at < len(stream):
            size = self.chance.choice([1, 3, 100, 1460, 20000])
            client.send(stream[at:at + size])
            at += size
            if self.is_slow:
                time.sleep(STEP_S)  # it is what a slow client does
                self.is_slow = self.chance.random() < 0.95


class Storm:
    """By start_server(): its address, and what gives the mails it has."""

    protocol = "smtp"

    def test_storm(self):
        address, mails = self.start_server()
        cutter = Cutter(self, address)
        self.expect_log(r"warning: \[mail-proxy\] next hop not reached", r"process died, .* signal=9 ",
                        r"archive decoders are gone")
        certificate = make_certificate(self, HOSTNAME)
        tls = ssl.create_default_context(cafile=certificate.partition(":")[0])
        proxy = MailProxy(self, [{"next-hop": cutter.address, "protocol": self.protocol}], [certificate],
                          proxy={"processes": 2})
        sessions = [Session(self.random.randrange(1 << 30), number, self.protocol == "lmtp")
                    for number in range(SESSIONS)]
        with Killer(self, proxy) as killer, \
                concurrent.futures.ThreadPoolExecutor(PARALLEL) as pool:
            def run(session):
                session.run(proxy.addresses[0], tls)
                killer.note_end()

            list(pool.map(run, sessions))
        # Of few sessions chance may leave none of a kind.
        for number in range(SESSIONS, 2 * SESSIONS):
            if {250, 550} <= {session.code for session in sessions}:
                break
            sessions.append(Session(self.random.randrange(1 << 30), number, self.protocol == "lmtp"))
            sessions[-1].run(proxy.addresses[0], tls)
        self.tell(sessions, cutter, killer)
        self.assertGreater(cutter.cuts, 0)
        least = SESSIONS // 20 if SESSIONS >= FOR_ALL_KINDS else 0
        if SESSIONS >= FOR_ALL_KINDS:
            self.assertEqual(set(killer.kills), set(KINDS))
        accepted = [session for session in sessions if session.code == 250]
        self.assertEqual([session.number for session in accepted if session.is_bad], [])
        self.assertGreater(len(accepted), least)
        self.assertGreater(len([session for session in sessions if session.code == 550]), least)
        wait_for(lambda: {session.number for session in accepted} <= set(self.numbers(mails())),
                 "what was accepted", PATIENCE_S)
        self.look(sessions, self.settled(mails))

    def settled(self, mails):
        """What a server has committed it may still be delivering: until nothing comes any more."""
        count, found = -1, mails()
        while len(found) != count:
            count = len(found)
            time.sleep(SETTLE_S)  # it can only find more
            found = mails()
        return found

    def tell(self, sessions, cutter, killer):
        codes = collections.Counter(session.code // 100 for session in sessions)
        clean = len([one for one in sessions if one.code // 100 == 5 and not one.is_bad])
        kills = " ".join(f"{kind}={killer.kills[kind]}" for kind in KINDS)
        print(f"{type(self).__name__}: sessions={SESSIONS} accepted={codes[2]} refused={codes[5]}"
              f" deferred={codes[4]} unknown={codes[0]} cuts={cutter.cuts} clean-refused={clean}"
              f" killed: {kills}")

    def numbers(self, found):
        return [int(re.search(rb"number-(\d+)\.", mail)[1]) for mail in found]

    def look(self, sessions, found):
        for number, mail in zip(self.numbers(found), found):
            session = sessions[number]
            with self.subTest(number=number):
                self.assertFalse(session.is_bad, "committed")
                wanted = session.mail.replace(b"\r\n", b"\n")
                self.assertTrue(mail.replace(b"\r\n", b"\n").endswith(wanted[wanted.index(b"Subject: "):]))


class WithPostfix(Storm, Case):
    def start_server(self):
        server = mta.Postfix(self)
        return server.address, server.delivered


class WithExim(Storm, Case):
    def start_server(self):
        server = mta.Exim(self, proxy=False, main=["accept_8bitmime = true"]).start()
        return server.address, server.delivered


class WithOpenSmtpd(Storm, Case):
    def start_server(self):
        server = opensmtpd.OpenSmtpd(self, proxy=False)
        return server.address, server.delivered


class WithDovecot(Storm, Case):
    protocol = "lmtp"

    def start_server(self):
        server = Dovecot(self)
        return server.address, lambda: server.delivered("inbox") or server.delivered(RECIPIENT)


if __name__ == "__main__":
    main()
