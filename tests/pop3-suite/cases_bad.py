# SPDX-License-Identifier: GPL-3.0-or-later
"""
cases_bad.py - what no client should send, and clients that go away: the session is refused or ended,
nothing is removed, and the others go on.
"""

import socket

from pop3 import Closed, Failure, Silent, show
from suite import NotOffered, case, expect, expect_err, expect_ok, retr, stat, err_or_closed, expect_mail


def _unharmed(bench, number=3):
    found = bench.count()
    expect(found == number, f"then there are {found} mails of {number}")


@case("1939", "3", "MUST", "A command that ends with LF and no CR is taken as one, refused, or ends the session",
      mails="three")
def bare_lf(bench):
    pop = bench.login()
    pop.send(b"NOOP\nSTAT\r\n")
    try:
        first = pop.reply(b"NOOP")
        if first.is_ok:
            # Two commands by a server that takes LF for an end.
            expect(pop.reply(b"STAT").text.startswith(b"3 "), "STAT has no answer of its own")
        expect(stat(pop)[0] == 3, "STAT has not three mails")
    except Closed:
        pass
    bench.end()
    _unharmed(bench)


@case("1939", "3", "MUST", "A CR within a command ends none: what is behind it is not executed",
      mails="three")
def bare_cr(bench):
    pop = bench.login()
    try:
        pop.command(b"NOOP\rDELE 1")
        expect(stat(pop)[0] == 3, "the command behind a CR was executed")
    except Closed:
        pass
    bench.end()
    _unharmed(bench)


@case("1939", "3", "MUST", "A NUL ends no argument: a command with one is refused", mails="three")
def nul_in_command(bench):
    for text in (b"DELE 1\0", b"DELE 1\0 2", b"DELE\x001", b"\0DELE 1", b"NO\0OP", b"RETR 1\0x"):
        pop = bench.login()
        try:
            reply = pop.command(text, more=text.startswith(b"RETR"))
            expect(reply.is_err, str(reply))
            expect(stat(pop)[0] == 3, f"behind {show(text)} STAT has not three mails")
        except Closed:
            pass
        bench.end()
    _unharmed(bench)


@case("1939", "3", "MUST", "A NUL in the name or the password logs nobody in")
def nul_in_login(bench):
    user, password = bench.user.encode(), bench.password.encode()
    for name, secret in ((user + b"\0x", password), (user, password + b"\0x"), (user + b"\0", password)):
        pop = bench.ready()
        try:
            if pop.command(b"USER " + name).is_ok:
                reply = pop.command(b"PASS " + secret)
                expect(reply.is_err, f"USER {show(name)} and PASS {show(secret)}: {show(reply.line)}")
        except Closed:
            pass


@case("1939", "3", "MUST", "Octets beyond ASCII are refused as a command")
def octets_beyond_ascii(bench):
    pop = bench.login()
    for text in (b"\xff\xfe\xfd", b"N\xd6\xd6P", b"\xe2\x98\x83 1", b"\x1b[A"):
        expect_err(pop.command(text))
    expect_ok(pop.command("NOOP"))


def _endless(bench, logged_in):
    pop = bench.login() if logged_in else bench.ready()
    other = bench.ready()
    try:
        pop.send(b"X" * (1 << 20) + b"\r\n")
        expect_err(pop.reply(b"X..."))
    except (Closed, Silent):
        # A connection that was reset lost the reply.
        pass
    expect_ok(other.command("QUIT"))
    bench.end()
    bench.alive()


@case("2449", "4", "MUST", "A line of a megabyte before login is refused or ends the connection; others go on")
def megabyte_before_login(bench):
    _endless(bench, False)


@case("2449", "4", "MUST", "A line of a megabyte after login is refused or ends the connection; others go on")
def megabyte_after_login(bench):
    _endless(bench, True)


@case("2449", "4", "MUST", "The end of a line that is too long is not executed as a command of its own",
      mails="three")
def long_line_is_one_command(bench):
    for size in (255, 512, 1000, 1024, 2048, 4096, 8192, 16384, 32768, 65536):
        for length in (size - 2, size - 1, size):
            pop = bench.login()
            try:
                pop.command(b"X" * length + b"DELE 1")
                expect(stat(pop)[0] == 3, f"behind {length} octets DELE 1 was executed")
            except (Closed, Silent):
                pass
            bench.end()
    _unharmed(bench)


@case("1939", "3", "MUST", "A session that is sent octet by octet is the same", mails="three")
def octet_by_octet(bench):
    pop = bench.ready()
    for text in (f"USER {bench.user}", f"PASS {bench.password}", "STAT", "RETR 1", "QUIT"):
        for octet in text.encode() + b"\r\n":
            pop.send(bytes([octet]))
        reply = expect_ok(pop.reply(text.encode()))
        if text == "RETR 1":
            expect_mail(pop.rest(reply).content, bench.mails[0])


@case("1939", "6", "MUST", "A connection that ends at any octet of a command removes nothing", mails="three")
def cut_at_each_octet(bench):
    text = b"DELE 1\r\nQUIT\r"
    for cut in range(1, len(text) + 1):
        pop = bench.login()
        pop.send(text[:cut])
        pop.close()
    _unharmed(bench)


@case("1939", "4", "MUST", "A connection that ends at any octet of a login leaves the server as it was")
def login_cut_at_each_octet(bench):
    text = f"USER {bench.user}\r\nPASS {bench.password}".encode()
    for cut in range(len(text) + 1):
        pop = bench.ready()
        pop.send(text[:cut])
        pop.close(abruptly=cut % 2 == 1)
    bench.alive()


def _stalled(bench):
    pop = bench.login()
    pop.send(b"RETR 1\r\n" * 40)
    # Enough that it is under way, and that it waits for this client then.
    pop.socket.recv(1000)
    return pop


@case("1939", "3", "MUST", "A client that reads no more amid RETR keeps no other waiting", mails="kind-large")
def stalled_reader_and_others(bench):
    _stalled(bench)
    for _ in range(3):
        other = bench.ready()
        other.command(f"USER {bench.user}")
        expect_ok(other.command("QUIT"))


@case("1939", "3", "MUST", "A client that closes amid RETR gives the lock back, and the mail is there",
      mails="kind-large")
def closed_amid_retr(bench):
    for abruptly in (True, False):
        pop = _stalled(bench)
        pop.close(abruptly)
        pop = bench.login()
        expect_mail(retr(pop), bench.mails[0])
        bench.end()


@case("1939", "3", "MUST", "30 connections that say nothing keep no other waiting")
def silent_crowd(bench):
    crowd = [bench.raw_connect() for _ in range(30)]
    bench.alive()
    expect(len(crowd) == 30, "not all connected")


@case("1939", "3", "MUST", "40 unknown commands in a row are refused or end the connection; others go on")
def many_errors(bench):
    pop = bench.ready()
    try:
        for _ in range(40):
            expect_err(pop.command("XYZZY"))
    except Closed:
        pass
    bench.alive()


@case("1939", "3", "MUST", "HTTP, SMTP and TLS spoken to the POP3 port have no +OK, and the server goes on")
def other_protocols(bench):
    for text in (b"GET / HTTP/1.1\r\nHost: example.com\r\n\r\n", b"EHLO example.net\r\nMAIL FROM:<>\r\n",
                 b"\x16\x03\x01\x00\x2e\x01\x00\x00\x2a\x03\x03" + b"\x5a" * 32 + b"\0\0\x02\x13\x01\x01\0\r\n"):
        pop = bench.connect()
        pop.send(text)
        try:
            reply = pop.reply(text)
            expect(not reply.is_ok, str(reply))
        except Closed:
            pass
        except Failure as error:
            # An alert of TLS, or silence, is no reply.
            expect("+OK" not in str(error), str(error))
        bench.end()
    bench.alive()


@case("1939", "7", "MUST", "Names that are paths, formats or commands log nobody in, and the server goes on")
def hostile_names(bench):
    for name in ("../../../../etc/passwd", "%s%s%s%n%n", "`id`", "$(id)", "';--", "|id", "\"", "*", "?", "{}",
                 "x" * 200, "@", ".", "/"):
        pop = bench.ready()
        try:
            if pop.command(f"USER {name}").is_ok:
                reply = pop.command("PASS wrong")
                expect(reply.is_err, f"USER {name}: {show(reply.line)}")
        except Closed:
            pass
        bench.end()
    bench.alive()


@case("1939", "3", "MUST", "Blanks before, between and behind words are one command with one reply",
      mails="three")
def surplus_blanks(bench):
    pop = bench.login()
    for text in ("NOOP ", " NOOP", "LIST  1", "LIST 1 ", "LIST\t1", "  ", "LIST 1  2", "UIDL  1"):
        try:
            pop.command(text)
        except Closed:
            pop = bench.login()
        found = pop.command("STAT")
        expect(found.is_ok and found.text.startswith(b"3 "), f'behind "{text}" {found}')


@case("1939", "3", "MUST", "LIST, RETR, DELE with a second argument are refused", mails="three")
def second_arguments(bench):
    pop = bench.login()
    for text in ("LIST 1 2", "RETR 1 2", "DELE 1 2"):
        reply = pop.command(text, more=text.startswith("RETR"))
        expect(reply.is_err, str(reply))
    expect(stat(pop)[0] == 3, "STAT has not three mails")


@case("1939", "3", "MUST", "A connection that ends by RST after each reply leaves the server as it was")
def resets(bench):
    for texts in ((), (f"USER {bench.user}",), (f"USER {bench.user}", f"PASS {bench.password}")):
        pop = bench.ready()
        for text in texts:
            pop.command(text)
        pop.close(abruptly=True)
    bench.alive()


@case("1939", "4", "MUST", "A client that closes its half before it said anything is let go")
def half_closed_at_once(bench):
    if bench.way != "plain":
        raise NotOffered("there is TLS between")
    pop = bench.connect()
    pop.socket.shutdown(socket.SHUT_WR)
    expect(pop.is_closed(), f"{show(pop.buffer)} came")


@case("2449", "4", "MUST", "A line that never ends is bounded: others go on while it comes", mails="three")
def line_without_end(bench):
    pop = bench.ready()
    try:
        for _ in range(64):
            pop.send(b"USER " + b"x" * 65531)
    except Failure:
        pass
    bench.alive()


@case("1939", "6", "MUST", "Commands behind QUIT in one packet are not executed", mails="three")
def commands_behind_quit(bench):
    pop = bench.login()
    pop.send(b"QUIT\r\nDELE 1\r\nQUIT\r\n")
    expect_ok(pop.reply(b"QUIT"))
    try:
        expect(pop.is_closed(), "something came behind the reply to QUIT")
    finally:
        bench.end()
    _unharmed(bench)


@case("1939", "3", "SHOULD", "A command that is refused is not said back with control characters")
def no_echo_of_controls(bench):
    pop = bench.login()
    reply = err_or_closed(pop, b"X\x1b[31m\x07\x08")
    expect(reply is None or not set(reply.line) & set(range(32)), f"the reply is {show(reply.line) if reply else ''}")
