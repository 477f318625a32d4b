# SPDX-License-Identifier: GPL-3.0-or-later
"""
cases_capa.py - RFC 2449, 3206 and 6856: CAPA, response codes, pipelining, UTF8 and LANG.
"""

import re

from mailbox import KIND
from pop3 import Closed, show
from suite import (NotOffered, case, expect, expect_err, expect_mail, expect_ok, read_capabilities,
                   retr, stat)

# Codes of RFC 2449, 3206 and 6856.
CODES = {b"LOGIN-DELAY", b"IN-USE", b"SYS/TEMP", b"SYS/PERM", b"AUTH", b"UTF8"}

# What may stand in brackets: levels, with slashes between.
CODE = rb"\[[\x21-\x2e\x30-\x5c\x5e-\x7e]+(/[\x21-\x2e\x30-\x5c\x5e-\x7e]+)*\]( |\r\n)"


def _capa(bench, pop):
    if bench.capabilities() is None:
        raise NotOffered("CAPA is not offered")
    return expect_ok(pop.command("CAPA", more=True))


@case("2449", "5", "MUST", "CAPA is taken before and after login")
def capa_in_both_states(bench):
    if bench.capabilities() is None:
        raise NotOffered("CAPA is not offered")
    expect(bench.capabilities("after") is not None, "CAPA is refused after login")


@case("2449", "3", "MUST", "A capability is a tag and arguments of 0x21 to 0x7E, with single blanks, in 512 octets")
def capa_syntax(bench):
    for pop in (bench.ready(), bench.login()):
        for line in _capa(bench, pop).lines:
            expect(re.fullmatch(rb"[A-Za-z0-9][A-Za-z0-9._-]*( [\x21-\x7e]+)*", line) and len(line) <= 510,
                   f"CAPA has {show(line)}")


@case("2449", "3", "MUST", "What CAPA lists before login it lists after it, too")
def capa_after_login_has_all(bench):
    if bench.capabilities() is None:
        raise NotOffered("CAPA is not offered")
    gone = set(bench.capabilities()) - set(bench.capabilities("after") or ()) - {"STLS"}
    expect(not gone, f"after login CAPA lacks {', '.join(sorted(gone))}")


@case("2449", "5", "MUST", "CAPA in lower case is the same")
def capa_in_lower_case(bench):
    pop = bench.ready()
    lines = _capa(bench, pop).lines
    expect(expect_ok(pop.command("capa", more=True)).lines == lines, "capa lists something else")


@case("2449", "6", "MUST", "USER, TOP and UIDL are taken where CAPA lists them", mails="three")
def capa_tells_the_truth(bench):
    offered = bench.capabilities("after")
    if offered is None:
        raise NotOffered("CAPA is not offered")
    pop = bench.login()
    if "TOP" in offered:
        expect_ok(pop.command("TOP 1 0", more=True))
    if "UIDL" in offered:
        expect_ok(pop.command("UIDL", more=True))


@case("2449", "6", "MUST", "USER, TOP and UIDL are listed where they are taken", mails="three")
def capa_hides_nothing(bench):
    offered = bench.capabilities("after")
    if offered is None:
        raise NotOffered("CAPA is not offered")
    pop = bench.login()
    for text in ("TOP 1 0", "UIDL"):
        word = text.split()[0]
        expect(word in offered or pop.command(text, more=True).is_err, f"{word} is taken and not listed")
    pop = bench.ready()
    expect("USER" in bench.capabilities() or bench.try_login(pop).is_err, "USER is taken and not listed")


@case("2449", "6.9", "SHOULD", "IMPLEMENTATION has a word about the server")
def capa_implementation(bench):
    expect(bench.offer("IMPLEMENTATION", "after").strip(), "IMPLEMENTATION has no argument")


@case("2449", "6.7", "MUST", "EXPIRE has a number of days or NEVER, and USER only before login")
def capa_expire(bench):
    value = bench.offer("EXPIRE", "after")
    expect(re.fullmatch(r"NEVER|\d+", value.upper()), f"after login EXPIRE has \"{value}\"")
    before = (bench.capabilities() or {}).get("EXPIRE", "NEVER")
    expect(re.fullmatch(r"NEVER|\d+( USER)?", before.upper()), f"before login EXPIRE has \"{before}\"")


@case("2449", "6.5", "MUST", "LOGIN-DELAY has a number of seconds, and USER only before login")
def capa_login_delay(bench):
    value = bench.offer("LOGIN-DELAY", "after")
    expect(re.fullmatch(r"\d+", value), f"after login LOGIN-DELAY has \"{value}\"")
    before = (bench.capabilities() or {}).get("LOGIN-DELAY", "0")
    expect(re.fullmatch(r"\d+( USER)?", before.upper()), f"before login LOGIN-DELAY has \"{before}\"")


@case("2449", "4", "MUST", "A command of 255 octets is taken whole")
def command_of_255(bench):
    bench.offer("USER")
    pop = bench.ready()
    pop.command(b"USER " + b"u" * (255 - 5 - 2))
    expect_err(pop.command(b"X" * 253))
    bench.login(pop)


@case("2449", "8", "MUST", "What begins with a bracket is a response code, where RESP-CODES is listed", mails="three")
def resp_codes_syntax(bench):
    bench.offer("RESP-CODES", "after")
    pop = bench.ready()
    for text in ("XYZZY", "STAT", "USER pop3-suite-no-such-user", "PASS wrong"):
        try:
            pop.command(text)
        except Closed:
            break
    first = bench.login()
    for text in ("RETR 9", "DELE x", "XYZZY", "STAT", "USER x"):
        first.command(text)
    bench.second_login()
    for opened in bench.opened:
        for line in opened.log:
            text = line.partition(b" ")[2]
            expect(not text.startswith(b"[")
                   or re.match(CODE, text),
                   f"a reply is {show(line)}")


@case("2449", "8.1.1", "SHOULD", "A login that the lock of another session refuses has the code IN-USE")
def in_use(bench):
    bench.offer("RESP-CODES")
    bench.login()
    reply = bench.refused_second()
    expect(reply.text.upper().startswith(b"[IN-USE]"), str(reply))


@case("2449", "6.4", "SHOULD", "The codes of errors are registered ones, where RESP-CODES is listed")
def codes_are_known(bench):
    bench.offer("RESP-CODES")
    pop = bench.ready()
    pop.command("USER pop3-suite-no-such-user")
    reply = pop.command("PASS wrong")
    found = re.match(rb"\[([^\]]+)\]", reply.text)
    expect(found is None or found.group(1).upper() in CODES, str(reply))


def _pipelined(bench, pop, commands):
    bench.offer("PIPELINING", "after")
    pop.send(b"".join(text.encode() + b"\r\n" for text in commands))
    for text in commands:
        reply = pop.reply(text.encode())
        yield pop.rest(reply) if text in ("LIST", "UIDL", "CAPA") or text.startswith(("RETR", "TOP")) else reply


@case("2449", "6.6", "MUST", "A whole session of commands in one packet is answered in order", mails="three")
def pipelining_a_session(bench):
    bench.offer("PIPELINING")
    pop = bench.ready()
    replies = list(_pipelined(bench, pop, [f"USER {bench.user}", f"PASS {bench.password}", "STAT", "LIST",
                                           "RETR 2", "RETR 1", "NOOP", "QUIT"]))
    for reply in replies:
        expect_ok(reply)
    expect(replies[2].text.split()[0] == b"3" and len(replies[3].lines) == 3, "STAT and LIST have not three mails")
    expect_mail(replies[4].content, bench.mails[1])
    expect_mail(replies[5].content, bench.mails[0])
    expect(pop.is_closed(), "something came behind the reply to QUIT")


@case("2449", "6.6", "MUST", "Errors among commands in one packet leave their order as it is", mails="three")
def pipelining_with_errors(bench):
    replies = list(_pipelined(bench, bench.login(), ["RETR 9", "NOOP", "XYZZY", "RETR 3", "DELE", "STAT"]))
    expect([reply.is_ok for reply in replies] == [False, True, False, True, False, True],
           f"the replies are {[reply.line for reply in replies]}")
    expect_mail(replies[3].content, bench.mails[2])


@case("2449", "6.6", "MUST", "DELE and QUIT in one packet remove the mail", mails="three")
def pipelining_to_quit(bench):
    for reply in _pipelined(bench, bench.login(), ["DELE 1", "DELE 2", "QUIT"]):
        expect_ok(reply)
    number = bench.count()
    expect(number == 1, f"{number} mails are left for 1")


@case("2449", "6.6", "MUST", "500 commands in one write have 500 replies")
def pipelining_many(bench):
    for reply in _pipelined(bench, bench.login(), ["NOOP"] * 500):
        expect_ok(reply)


@case("2449", "6.6", "MUST", "Commands cut anywhere between packets are taken as in one", mails="three")
def pipelining_cut(bench):
    bench.offer("PIPELINING", "after")
    text = b"NOOP\r\nSTAT\r\nNOOP\r\n"
    for cut in range(1, len(text)):
        pop = bench.login() if cut == 1 else pop
        pop.send(text[:cut])
        pop.send(text[cut:])
        for word in (b"NOOP", b"STAT", b"NOOP"):
            expect_ok(pop.reply(word))


@case("2449", "6.6", "SHOULD", "Replies come to a client that has sent all, QUIT last, and closed its half")
def pipelining_half_closed(bench):
    bench.offer("PIPELINING", "after")
    if bench.way != "plain":
        raise NotOffered("there is TLS between")
    pop = bench.login()
    pop.send(b"NOOP\r\nSTAT\r\nQUIT\r\n")
    pop.socket.shutdown(1)
    for word in (b"NOOP", b"STAT", b"QUIT"):
        expect_ok(pop.reply(word))


# RFC 3206.

def _refusal(bench, user):
    bench.offer("AUTH-RESP-CODE")
    pop = bench.ready()
    reply = pop.command(f"USER {user}")
    return pop.command("PASS wrong") if reply.is_ok else reply


@case("3206", "6", "MUST", "A wrong password has the code AUTH, where AUTH-RESP-CODE is listed")
def auth_code_for_password(bench):
    reply = _refusal(bench, bench.user)
    expect(reply.text.upper().startswith(b"[AUTH]"), str(reply))


@case("3206", "6", "MUST", "An unknown user has the code AUTH, where AUTH-RESP-CODE is listed")
def auth_code_for_user(bench):
    reply = _refusal(bench, "pop3-suite-no-such-user")
    expect(reply.text.upper().startswith(b"[AUTH]"), str(reply))


@case("3206", "4", "MUST", "Neither SYS/TEMP, SYS/PERM nor IN-USE is said of a wrong password")
def no_sys_code_for_password(bench):
    bench.offer("RESP-CODES")
    pop = bench.ready()
    expect_ok(pop.command(f"USER {bench.user}"))
    reply = expect_err(pop.command("PASS wrong"))
    expect(not reply.text.upper().startswith((b"[SYS/", b"[IN-USE]")), str(reply))


@case("3206", "4", "MUST", "No code AUTH is said of a login that the lock of another session refuses")
def no_auth_code_for_lock(bench):
    bench.offer("RESP-CODES")
    bench.login()
    reply = bench.refused_second()
    expect(not reply.text.upper().startswith(b"[AUTH]"), str(reply))


# RFC 6856.

@case("6856", "2.1", "MUST", "UTF8 has +OK before login")
def utf8_command(bench):
    bench.offer("UTF8")
    pop = bench.ready()
    expect_ok(pop.command("UTF8"))
    bench.login(pop)


@case("6856", "2.1", "MUST", "UTF8 is refused after login")
def utf8_after_login(bench):
    bench.offer("UTF8")
    expect_err(bench.login().command("UTF8"))


@case("6856", "2.1", "MUST", "UTF8 is refused where it is not listed")
def utf8_not_listed(bench):
    if "UTF8" in (bench.capabilities() or ()):
        raise NotOffered("UTF8 is listed")
    expect_err(bench.ready().command("UTF8"))


@case("6856", "2.1", "MUST", "A header in UTF-8 comes as it was behind UTF8", mails="kind-utf8-header")
def utf8_header(bench):
    bench.offer("UTF8")
    pop = bench.ready()
    expect_ok(pop.command("UTF8"))
    pop = bench.login(pop)
    expect_mail(retr(pop), KIND["utf8-header"])
    expect(stat(pop)[1] == len(retr(pop)), "STAT has other octets than RETR")


@case("6856", "2.2", "MUST", "USER and PASS in UTF-8 are answered as others, where UTF8 has the argument USER")
def utf8_user(bench):
    if "USER" not in bench.offer("UTF8").upper().split():
        raise NotOffered("UTF8 has no argument USER")
    pop = bench.ready()
    expect_ok(pop.command("UTF8"))
    if pop.command("USER gr\u00fc\u00dfe").is_ok:
        expect_err(pop.command("PASS gr\u00fc\u00dfe"))
    bench.login(pop)


@case("6856", "3.1", "MUST", "LANG without argument lists languages, each a tag of RFC 5646 and a text")
def lang_list(bench):
    bench.offer("LANG", "after")
    lines = expect_ok(bench.login().command("LANG", more=True)).lines
    expect(lines, "LANG lists nothing")
    for line in lines:
        expect(re.match(rb"[A-Za-z0-9-]+ ", line), f"LANG has {show(line)}")


@case("6856", "3.1", "MUST", "LANG refuses an unknown language, and takes * for any")
def lang_choice(bench):
    bench.offer("LANG", "after")
    pop = bench.login()
    expect_err(pop.command("LANG qaa-x-none"))
    expect_ok(pop.command("LANG *"))


@case("2449", "3", "MUST", "CAPA is the same in two sessions")
def capa_is_steady(bench):
    if bench.capabilities() is None:
        raise NotOffered("CAPA is not offered")
    found = [read_capabilities(bench.ready()) for _ in range(2)]
    expect(found[0] == found[1], f"{found[0]} became {found[1]}")
