# SPDX-License-Identifier: GPL-3.0-or-later
"""
cases_sessions.py - RFC 1939: greeting, states, USER, PASS, APOP, QUIT, the lock, replies.
"""

import hashlib
import re
import time

from pop3 import Closed, Failure, show
from suite import (NotOffered, case, expect, expect_err, expect_mail, expect_ok, listing, retr, stat)


@case("1939", "4", "MUST", "The greeting is one line with +OK")
def greeting(bench):
    pop = bench.raw_connect(tls=bench.way == "tls")
    reply = pop.reply(b"(the connection)")
    expect(reply.is_ok, str(reply))


@case("1939", "3", "MUST", "Keywords are taken in upper, lower and mixed case")
def keywords_in_any_case(bench):
    pop = bench.ready()
    expect_ok(pop.command(f"uSeR {bench.user}"))
    expect_ok(pop.command(f"pass {bench.password}"))
    for word in ("noop", "NoOp", "stat", "Stat", "rset", "quiT"):
        expect_ok(pop.command(word))


@case("1939", "3", "MUST", "Status indicators are in upper case, and the text is behind one blank")
def status_indicators(bench):
    pop = bench.login()
    for word in ("NOOP", "STAT", "RSET", "XNONE", "QUIT"):
        pop.command(word)
    for line in pop.log:
        expect(re.fullmatch(rb"(\+OK|-ERR)( [^\r\n]*)?\r\n", line), f"a reply is {show(line)}")


@case("1939", "3", "MUST", "No reply is longer than 512 octets with its CRLF")
def replies_are_short(bench):
    pop = bench.ready()
    for text in (b"X" * 400, b"USER " + b"u" * 400, b"PASS " + b"p" * 400):
        try:
            pop.command(text)
        except Closed:
            pop = bench.ready()
    pop = bench.login()
    for text in (b"RETR " + b"9" * 400, b"X" * 400, b"QUIT"):
        try:
            pop.command(text)
        except Closed:
            break
    for opened in bench.opened:
        for line in opened.log:
            expect(len(line) <= 512, f"a reply has {len(line)} octets: {show(line)}")


@case("1939", "3", "MUST", "An unknown command before login is refused, and the session goes on")
def unknown_command_before_login(bench):
    pop = bench.ready()
    for text in ("XYZZY", "FOO bar", "HELO example.net"):
        expect_err(pop.command(text))
    bench.login(pop)


@case("1939", "3", "MUST", "An unknown command after login is refused, and the session goes on")
def unknown_command_after_login(bench):
    pop = bench.login()
    for text in ("XYZZY", "FOO bar", "STATX", "STA", "HELO example.net"):
        expect_err(pop.command(text))
    expect_ok(pop.command("NOOP"))


@case("1939", "3", "MUST", "An empty line is refused, and the session goes on")
def empty_line(bench):
    pop = bench.login()
    expect_err(pop.command(""))
    expect_ok(pop.command("NOOP"))


@case("1939", "3", "MUST", "Each command has one reply, in the order of the commands", mails="three")
def one_reply_each(bench):
    pop = bench.login()
    for text in ("NOOP", "XYZZY", "LIST 1", "LIST 9", "RSET", "DELE", "NOOP"):
        pop.command(text)
    expect(stat(pop)[0] == 3, "STAT has not three mails")
    kinds = [line[:1] for line in pop.log[-8:-1]]
    expect(kinds == [b"+", b"-", b"+", b"-", b"+", b"-", b"+"], f"the replies are {pop.log[-8:-1]}")


@case("1939", "3", "MUST", "An argument of 40 characters is taken as any other")
def argument_of_forty(bench):
    pop = bench.ready()
    pop.command("USER " + "u" * 40)
    pop.command("PASS " + "p" * 40)
    bench.login()


def _wrong_state(word, section, level="MUST"):
    def function(bench):
        pop = bench.ready()
        expect_err(pop.command(word))
        bench.login(pop)
    function.__name__ = f"{word.split()[0].lower()}_before_login"
    case("1939", section, level, f"{word.split()[0]} is refused before login, and the session goes on",
         mails="three")(function)


for _word in ("STAT", "LIST", "RETR 1", "DELE 1", "NOOP", "RSET", "UIDL", "TOP 1 0"):
    _wrong_state(_word, "3")


def _login_again(word, sentence):
    def function(bench):
        pop = bench.login()
        expect_err(pop.command(word.replace("@", bench.user)))
        expect_ok(pop.command("NOOP"))
    function.__name__ = f"{word.split()[0].lower()}_after_login"
    case("1939", "3", "MUST", sentence)(function)


_login_again("USER @", "USER is refused after login")
_login_again("PASS x", "PASS is refused after login")
_login_again("APOP @ c4c9334bac560ecc979e58001b3e22fb", "APOP is refused after login")


@case("1939", "7", "MUST", "PASS without USER is refused")
def pass_without_user(bench):
    pop = bench.ready()
    expect_err(pop.command(f"PASS {bench.password}"))
    bench.login(pop)


@case("1939", "7", "MUST", "PASS is refused a second time without a new USER")
def pass_after_refused_pass(bench):
    pop = bench.ready()
    expect_ok(pop.command(f"USER {bench.user}"))
    expect_err(pop.command("PASS wrong"))
    try:
        expect_err(pop.command(f"PASS {bench.password}"))
    except Closed:
        pass


@case("1939", "3", "MUST", "USER and PASS without an argument are refused")
def user_and_pass_without_argument(bench):
    pop = bench.ready()
    expect_err(pop.command("USER"))
    expect_ok(pop.command(f"USER {bench.user}"))
    expect_err(pop.command("PASS"))


@case("1939", "7", "MUST", "A wrong password is refused")
def wrong_password(bench):
    for wrong in (bench.password + "x", bench.password[:-1] or "x", bench.password.swapcase() + "1", "x"):
        pop = bench.ready()
        expect_ok(pop.command(f"USER {bench.user}"))
        expect_err(pop.command(f"PASS {wrong}"))


@case("1939", "4", "MUST", "After a refused password the session takes a new login, or is closed")
def login_after_refusal(bench):
    pop = bench.ready()
    expect_ok(pop.command(f"USER {bench.user}"))
    expect_err(pop.command("PASS wrong"))
    try:
        reply = pop.command(f"USER {bench.user}")
    except Closed:
        return
    expect_ok(reply)
    expect_ok(pop.command(f"PASS {bench.password}"))


@case("1939", "7", "MUST", "An unknown user is refused, at USER or at PASS")
def unknown_user(bench):
    pop = bench.ready()
    if pop.command("USER pop3-suite-no-such-user").is_ok:
        expect_err(pop.command("PASS wrong"))


@case("1939", "13", "MAY", "An unknown user has the same replies as a wrong password")
def unknown_user_is_not_told(bench):
    replies = []
    for user in (bench.user, "pop3-suite-no-such-user"):
        pop = bench.ready()
        replies.append((pop.command(f"USER {user}").line, pop.command("PASS wrong").line))
    expect(replies[0] == replies[1], f"{replies[0]} and {replies[1]}")


@case("1939", "7", "MUST", "A second USER is refused, or replaces the first")
def second_user_replaces(bench):
    pop = bench.ready()
    expect_ok(pop.command(f"USER {bench.user}"))
    if pop.command("USER pop3-suite-no-such-user").is_ok:
        expect_err(pop.command(f"PASS {bench.password}"))


def _timestamp(bench):
    pop = bench.raw_connect(tls=bench.way == "tls")
    found = re.search(rb"<[^<>\s]+>", pop.reply(b"(the connection)").line)
    if found is None:
        raise NotOffered("the greeting has no timestamp")
    return pop, found.group(0)


def _digest(stamp, password):
    return hashlib.md5(stamp + password.encode("utf-8"), usedforsecurity=False).hexdigest()


@case("1939", "7", "MUST", "APOP logs in with the MD5 of timestamp and secret, where the greeting has a timestamp")
def apop(bench):
    pop, stamp = _timestamp(bench)
    expect_ok(pop.command(f"APOP {bench.user} {_digest(stamp, bench.password)}"))
    expect_ok(pop.command("STAT"))


@case("1939", "7", "MUST", "APOP refuses a wrong digest")
def apop_wrong_digest(bench):
    pop, stamp = _timestamp(bench)
    expect_err(pop.command(f"APOP {bench.user} {_digest(stamp, bench.password + 'x')}"))


@case("1939", "7", "MUST", "APOP refuses a digest of another session's timestamp")
def apop_replayed(bench):
    _, stamp = _timestamp(bench)
    pop, _ = _timestamp(bench)
    expect_err(pop.command(f"APOP {bench.user} {_digest(stamp, bench.password)}"))


@case("1939", "7", "MUST", "The timestamp is a msg-id, and another in each greeting")
def apop_timestamps(bench):
    stamps = [_timestamp(bench)[1] for _ in range(3)]
    expect(len(set(stamps)) == 3, f"the timestamps are {stamps}")
    for stamp in stamps:
        expect(re.fullmatch(rb"<[^<>@\s]+@[^<>@\s]+>", stamp), f"{show(stamp)} is no msg-id")


@case("1939", "4", "MUST", "QUIT before login has +OK, and the server closes")
def quit_before_login(bench):
    pop = bench.ready()
    expect_ok(pop.command("QUIT"))
    expect(pop.is_closed(), "something came behind the reply to QUIT")


@case("1939", "6", "MUST", "QUIT after login has +OK, and the server closes")
def quit_after_login(bench):
    pop = bench.login()
    expect_ok(pop.command("QUIT"))
    expect(pop.is_closed(), "something came behind the reply to QUIT")


@case("1939", "5", "MUST", "NOOP has +OK")
def noop(bench):
    expect_ok(bench.login().command("NOOP"))


@case("1939", "4", "MUST",
      "What another session does changes no mail of an open one: it is refused, or its QUIT waits",
      mails="three")
def exclusive_lock(bench):
    first = bench.login()
    expect(stat(first)[0] == 3, "STAT has not three mails")
    reply = bench.second_login()
    if reply is None or not reply.is_ok:
        return
    second = bench.opened[-1]
    expect_ok(second.command("DELE 1"))
    second.command("QUIT")
    try:
        expect_mail(retr(first, 1), bench.mails[0])
    except Failure as error:
        raise Failure(f"a second session was let in, and deleted; then in the first: {error}") from error


@case("1939", "4", "SHOULD", "A second session is refused while a first one has the maildrop")
def second_session_is_refused(bench):
    bench.login()
    reply = bench.second_login()
    expect(reply is None or reply.is_err, f"a second session was let in: {reply}")


@case("1939", "4", "MUST", "A session that was refused for the lock may try again, or is closed; the first goes on")
def after_refused_lock(bench):
    first = bench.login()
    bench.refused_second()
    try:
        expect_ok(bench.opened[-1].command("QUIT"))
    except Closed:
        pass
    expect_ok(first.command("NOOP"))


@case("1939", "6", "MUST", "QUIT gives the lock back: a login right behind its reply succeeds")
def lock_ends_with_quit(bench):
    for _ in range(5):
        pop = bench.login()
        expect_ok(pop.command("QUIT"))
        pop = bench.ready()
        expect_ok(bench.try_login(pop))
        expect_ok(pop.command("QUIT"))
        pop.is_closed()


@case("1939", "3", "SHOULD", "A client that is gone without QUIT gives the lock back within seconds")
def lock_ends_with_connection(bench):
    for abruptly in (False, True):
        pop = bench.login()
        pop.close(abruptly)
        began = time.monotonic()
        bench.login()
        expect(time.monotonic() - began < 10, "it took more than 10 s")
        bench.end()


@case("1939", "5", "MUST", "Mails are numbered from 1 on, in decimal, and anew in the next session",
      mails="three")
def numbers(bench):
    pop = bench.login()
    expect(list(listing(pop)) == [1, 2, 3], f"LIST has {list(listing(pop))}")
    expect_ok(pop.command("DELE 1"))
    expect(list(listing(pop)) == [2, 3], f"behind DELE 1 LIST has {list(listing(pop))}")
    expect_ok(pop.command("QUIT"))
    pop = bench.login()
    expect(list(listing(pop)) == [1, 2], f"in the next session LIST has {list(listing(pop))}")
    expect_mail(retr(pop, 1), bench.mails[1])


def _surplus(word):
    def function(bench):
        expect_err(bench.login().command(f"{word} 1"))
    function.__name__ = f"{word.lower()}_with_argument"
    case("1939", "5", "SHOULD", f"{word} with an argument, which it does not have, is refused")(function)


for _word in ("STAT", "NOOP", "RSET"):
    _surplus(_word)
