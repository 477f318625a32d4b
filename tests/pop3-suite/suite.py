# SPDX-License-Identifier: GPL-3.0-or-later
"""
suite.py - what a test is, what it is given, and how it ends.

Flow: cases_*.py register by @case -> pop3-suite runs CASES -> run() -> Result.

A test is a function of one argument, the Bench. It returns when the server does as its sentence says,
raises pop3.Failure with what was seen when not, and NotOffered when the server has not what it is about
and need not have it.
"""

import signal
import time

from mailbox import SETS, CannotFill
from pop3 import Closed, Failure, Pop, Silent, lax_tls, show

LIMIT_S = 30
AGAIN_S = 8
SECOND_S = 15
LEAVE_S = 15

CASES = []


class NotOffered(Exception):
    """The server does not have what the test is about, and need not."""


class TooLong(Exception):
    """The time of a test is over; no Failure, which a test may expect."""


class Case:
    """A test: name, clause, sentence, the mails it needs (None: any)."""

    def __init__(self, function, clause, sentence, mails):
        self.function = function
        self.name = function.__name__.replace("_", "-")
        self.rfc, self.section, self.level = clause
        self.sentence, self.mails = sentence, mails

    @property
    def clause(self):
        """As it is printed."""
        return f"RFC {self.rfc}, {self.section}"


def case(rfc, section, level, sentence, mails=None):
    """Registers the function below it."""
    def register(function):
        assert level in ("MUST", "SHOULD", "MAY") and (mails is None or mails in SETS)
        CASES.append(Case(function, (rfc, section, level), sentence, mails))
        return function
    return register


class Result:
    """How a test ended: "pass", "fail", "not offered", or "not run" when its mails were not to be had."""

    def __init__(self, test, verdict, seen=""):
        self.test, self.verdict, self.seen = test, verdict, seen

    def as_json(self):
        """A row of --json."""
        test = self.test
        return {"name": test.name, "rfc": test.rfc, "section": test.section, "level": test.level,
                "sentence": test.sentence, "result": self.verdict, "seen": self.seen}


class Bench:
    """The server, as a test has it."""

    def __init__(self, options):
        self.address = (options.host, options.port)
        self.user, self.password = options.user, options.password
        self.tls_address = (options.host, options.tls_port) if options.tls_port else None
        self.stls = options.stls
        self.way = "plain"
        self.mails, self.opened, self.offers = [], [], {}
        self.has_deleted = False  # what is in the mailbox then depends on the server

    # Connections.

    def connect(self, tls=False):
        """A new connection, whose greeting is read."""
        pop = self.raw_connect(tls)
        greeting = pop.reply(b"(the connection)")
        if not greeting.is_ok:
            raise Failure(f"the greeting is {show(greeting.line)}")
        return pop

    def raw_connect(self, tls=False):
        """A new connection, of which nothing is read."""
        if tls and self.tls_address is None:
            raise NotOffered("--tls-port is not given")
        try:
            pop = Pop(self.tls_address if tls else self.address, lax_tls() if tls else None)
        except OSError as error:
            raise Failure(f"no connection: {error}") from error
        self.opened.append(pop)
        return pop

    def ready(self):
        """A connection in AUTHORIZATION in which a password may be sent."""
        if self.way == "tls":
            return self.connect(tls=True)
        return self.stls_connect() if self.way == "stls" else self.connect()

    def stls_connect(self):
        """A connection with TLS by STLS."""
        if not self.stls:
            raise NotOffered("--stls is not given")
        pop = self.connect()
        expect_ok(pop.command("STLS"))
        pop.start_tls()
        return pop

    def login(self, pop=None):
        """A connection in TRANSACTION. A maildrop may be locked yet by the session before: it is tried again."""
        end = time.monotonic() + AGAIN_S
        while True:
            pop = pop or self.ready()
            try:
                reply = self.try_login(pop)
            except Closed:
                reply = None
            if reply is not None and reply.is_ok:
                return pop
            pop.close()
            if time.monotonic() > end:
                raise Failure(f"no login: {show(reply.line) if reply else 'the connection was closed'}")
            time.sleep(0.2)
            pop = None

    def try_login(self, pop):
        """USER and PASS; the last reply."""
        reply = pop.command(f"USER {self.user}")
        return pop.command(f"PASS {self.password}") if reply.is_ok else reply

    def second_login(self):
        """The reply to a login while another session lasts, or None where it waits for its end."""
        pop = self.ready()
        pop.socket.settimeout(SECOND_S)
        try:
            return self.try_login(pop)
        except Silent:
            return None

    def refused_second(self):
        """That reply where it is a refusal, else NotOffered."""
        reply = self.second_login()
        if reply is None:
            raise NotOffered(f"a second session has no reply within {SECOND_S} s")
        if reply.is_ok:
            raise NotOffered("a second session is let in")
        return reply

    def end(self):
        """Closes all that a test left open."""
        for pop in self.opened:
            self.has_deleted |= pop.has_deleted
            pop.leave(LEAVE_S)
        self.opened.clear()

    # What the server has.

    def find_way(self):
        """How a password may be sent: as it is, or by TLS."""
        for way in ("plain", "stls", "tls"):
            self.way = way
            try:
                pop = self.ready()
                if self.try_login(pop).is_ok:
                    pop.command("QUIT")
                    self.end()
                    # Now, as it takes a session, which a test may have already.
                    for when in ("before", "after"):
                        self.capabilities(when)
                    return
            except (Failure, NotOffered) as error:
                if way == "tls":
                    raise Failure(f"no login: {error}") from error
            finally:
                self.end()
        raise Failure("no login with the user and password given")

    def capabilities(self, when="before"):
        """{tag: argument} that CAPA lists "before" or "after" login, or None without CAPA."""
        if when not in self.offers:
            pop = self.login() if when == "after" else self.ready()
            self.offers[when] = read_capabilities(pop)
            quit_politely(pop)
        return self.offers[when]

    def offer(self, tag, when="before"):
        """The argument of a capability, or NotOffered."""
        found = self.capabilities(when)
        if found is None:
            raise NotOffered("CAPA is not offered")
        if tag not in found:
            raise NotOffered(f"CAPA does not list {tag}")
        return found[tag]

    def need_command(self, pop, name):
        """NotOffered unless CAPA lists an optional command, or the server has no CAPA and takes it."""
        found = self.capabilities("after")
        if found is not None:
            if name not in found:
                raise NotOffered(f"CAPA does not list {name}")
        elif pop.command(f"{name} 1 0" if name == "TOP" else name, more=True).is_err:
            raise NotOffered(f"{name} is refused")

    def need_mechanism(self, name):
        """NotOffered unless SASL lists it."""
        if name not in self.offer("SASL").upper().split():
            raise NotOffered(f"SASL does not list {name}")

    # The mailbox.

    def count(self):
        """How many mails there are for a new session."""
        pop = self.login()
        number = stat(pop)[0]
        quit_politely(pop)
        pop.close()
        return number

    def delete_all(self):
        """Deletes all mails by POP3."""
        pop = self.login()
        for number in range(1, stat(pop)[0] + 1):
            expect_ok(pop.command(f"DELE {number}"))
        expect_ok(pop.command("QUIT"))
        self.end()

    def alive(self):
        """Fails unless the server takes another client."""
        pop = self.login()
        expect_ok(pop.command("NOOP"))
        expect_ok(pop.command("QUIT"))


def read_capabilities(pop):
    """{tag: argument}, or None where CAPA is refused."""
    reply = pop.command("CAPA", more=True)
    if reply.is_err:
        return None
    return {line.partition(b" ")[0].decode("latin-1").upper(): line.partition(b" ")[2].decode("latin-1")
            for line in reply.lines}


def quit_politely(pop):
    """QUIT, whatever becomes of it."""
    try:
        pop.command("QUIT")
    except Failure:
        pass
    pop.close()


def expect_ok(reply):
    """The reply, which is +OK."""
    if not reply.is_ok:
        raise Failure(str(reply))
    return reply


def expect_err(reply):
    """The reply, which is -ERR."""
    if not reply.is_err:
        raise Failure(str(reply))
    return reply


def err_or_closed(pop, data):
    """Sends bytes that are to be refused; None when the connection was ended instead."""
    try:
        return expect_err(pop.command(data))
    except Closed:
        return None


def expect(condition, seen):
    """Fails with what was seen unless the condition holds."""
    if not condition:
        raise Failure(seen)


def stat(pop):
    """(mails, octets)"""
    reply = expect_ok(pop.command("STAT"))
    words = reply.text.split(b" ")
    expect(len(words) >= 2 and words[0].isdigit() and words[1].isdigit(), str(reply))
    return int(words[0]), int(words[1])


def listing(pop):
    """{number: octets} of LIST, in its order."""
    reply = expect_ok(pop.command("LIST", more=True))
    found = {}
    for line in reply.lines:
        words = line.split(b" ")
        expect(len(words) >= 2 and words[0].isdigit() and words[1].isdigit(), f"LIST has the line {show(line)}")
        found[int(words[0])] = int(words[1])
    return found


def uidl(pop):
    """{number: id} of UIDL, in its order."""
    reply = expect_ok(pop.command("UIDL", more=True))
    found = {}
    for line in reply.lines:
        number, _, ident = line.partition(b" ")
        expect(number.isdigit() and ident, f"UIDL has the line {show(line)}")
        found[int(number)] = ident
    return found


def retr(pop, number=1):
    """The mail, as bytes with CRLF."""
    return expect_ok(pop.command(f"RETR {number}", more=True)).content


def expect_mail(text, mail):
    """It is the mail; what delivered it may have put fields before."""
    if text.endswith(mail):
        return
    same = 0
    for ours, theirs in zip(reversed(mail), reversed(text)):
        if ours != theirs:
            break
        same += 1
    place = len(mail) - same
    raise Failure(f"{len(text)} octets for {len(mail)}; from the end on the same up to "
                  f"{show(mail[max(0, place - 30):place + 10])}, which is "
                  f"{show(text[max(0, len(text) - same - 30):len(text) - same + 10])}")


def _too_long(*_):
    raise TooLong(f"it took more than {LIMIT_S} s")


def run(test, bench, mailbox):
    """Runs one test in its time."""
    try:
        if test.mails is not None:
            mailbox.fill(test.mails, bench)
            bench.mails = SETS[test.mails]
        bench.has_deleted = False
    except (CannotFill, Failure) as error:
        bench.end()
        return Result(test, "not run", f"no mailbox: {error}")
    signal.signal(signal.SIGALRM, _too_long)
    signal.alarm(LIMIT_S)
    try:
        test.function(bench)
        result = Result(test, "pass")
    except NotOffered as error:
        result = Result(test, "not offered", str(error))
    except Failure as error:
        result = Result(test, "fail", str(error))
    except TooLong as error:
        result = Result(test, "fail", str(error))
    except (OSError, ValueError, KeyError, IndexError) as error:
        result = Result(test, "fail", f"{type(error).__name__}: {error}")
    finally:
        signal.alarm(0)
        bench.end()
    if bench.has_deleted or result.verdict == "fail":
        mailbox.state = None
    return result
