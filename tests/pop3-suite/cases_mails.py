# SPDX-License-Identifier: GPL-3.0-or-later
"""
cases_mails.py - RFC 1939: STAT, LIST, RETR, DELE, RSET, TOP, UIDL, and what QUIT makes of them.
"""

import re

from mailbox import KIND
from pop3 import CRLF, Failure, show
from suite import (case, expect, expect_err, expect_mail, expect_ok, listing, retr, stat, uidl)


@case("1939", "5", "MUST", 'STAT has "+OK", the number of mails and their octets, with one blank between',
      mails="three")
def stat_syntax(bench):
    reply = bench.login().command("STAT")
    expect(re.fullmatch(rb"\+OK 3 [1-9]\d*( .*)?", reply.line), str(reply))


@case("1939", "5", "MUST", "STAT of an empty maildrop is 0 0", mails="empty")
def stat_empty(bench):
    found = stat(bench.login())
    expect(found == (0, 0), f"STAT has {found}")


@case("1939", "5", "MUST", "STAT has the sum of the octets of LIST", mails="mixed")
def stat_is_sum_of_list(bench):
    pop = bench.login()
    found, sizes = stat(pop), listing(pop)
    expect(found == (len(sizes), sum(sizes.values())), f"STAT has {found}, LIST {sizes}")


@case("1939", "5", "MUST", "STAT counts neither mails nor octets of what is marked as deleted", mails="three")
def stat_without_deleted(bench):
    pop = bench.login()
    sizes = listing(pop)
    expect_ok(pop.command("DELE 2"))
    found = stat(pop)
    expect(found == (2, sizes[1] + sizes[3]), f"STAT has {found} of {sizes}")


@case("1939", "5", "MUST", "LIST of an empty maildrop is +OK and the dot", mails="empty")
def list_empty(bench):
    reply = expect_ok(bench.login().command("LIST", more=True))
    expect(reply.lines == [], f"LIST has {reply.lines}")


@case("1939", "5", "MUST", "A scan listing is number, one blank, octets", mails="three")
def list_syntax(bench):
    for line in expect_ok(bench.login().command("LIST", more=True)).lines:
        expect(re.fullmatch(rb"[1-9]\d* [1-9]\d*( .*)?", line), f"LIST has {show(line)}")


@case("1939", "5", "SHOULD", "A scan listing has nothing behind the octets", mails="three")
def list_has_nothing_more(bench):
    for line in expect_ok(bench.login().command("LIST", more=True)).lines:
        expect(re.fullmatch(rb"\d+ \d+", line), f"LIST has {show(line)}")


@case("1939", "5", "MUST", "LIST with a number has that line of LIST", mails="mixed")
def list_one(bench):
    pop = bench.login()
    for number, octets in listing(pop).items():
        reply = expect_ok(pop.command(f"LIST {number}"))
        expect(re.match(rb"%d %d( |$)" % (number, octets), reply.text), f"{reply}, LIST has {octets}")


@case("1939", "5", "MUST", "LIST has no line for a mail marked as deleted, and refuses its number", mails="three")
def list_deleted(bench):
    pop = bench.login()
    expect_ok(pop.command("DELE 2"))
    expect(list(listing(pop)) == [1, 3], f"LIST has {list(listing(pop))}")
    expect_err(pop.command("LIST 2"))


@case("1939", "5", "MUST", "LIST has each of 120 mails once, in order", mails="many")
def list_many(bench):
    pop = bench.login()
    expect(list(listing(pop)) == list(range(1, 121)), f"LIST has {list(listing(pop))}")
    for number in (1, 60, 120):
        expect_mail(retr(pop, number), bench.mails[number - 1])


def _carries(kind, level, sentence, rfc="1939", section="5"):
    def function(bench):
        pop = bench.login()
        expect_mail(retr(pop), KIND[kind])
    function.__name__ = f"retr_{kind}".replace("-", "_")
    case(rfc, section, level, sentence, mails=f"kind-{kind}")(function)


_carries("dots", "MUST", "RETR gives lines that begin with dots as they were", section="3")
_carries("dot-last", "MUST", "RETR gives a last line that is a dot as it was", section="3")
_carries("dot-first", "MUST", "RETR gives a first line that begins with a dot as it was", section="3")
_carries("long-line", "MUST", "RETR gives lines of 998 octets as they were")
_carries("very-long-line", "SHOULD", "RETR gives a line of 20000 octets as it was")
_carries("eight-bit", "MUST", "RETR gives octets beyond ASCII as they were")
_carries("no-body", "MUST", "RETR gives a mail without a body as it was")
_carries("blank-end", "MUST", "RETR gives empty lines at the end as they were")
_carries("trailing-blanks", "MUST", "RETR gives blanks at the end of lines as they were")
_carries("from-line", "SHOULD", 'RETR gives lines that begin with "From " as they were')
_carries("large", "MUST", "RETR gives a mail of a megabyte as it was")


@case("1939", "3", "MUST", "Each line that begins with the termination octet has one more in front",
      mails="kind-dots")
def byte_stuffing(bench):
    pop = bench.login()
    retr(pop)
    for line in pop.raw[:-1]:
        expect(not line.startswith(b".") or line.startswith(b".."), f"the line {show(line)} was sent")
    expect(b".." in pop.raw and b"...." in pop.raw and b"..first" in pop.raw,
           "the lines with dots were not sent with one more")


@case("1939", "11", "MUST", "LIST counts the octets that RETR sends, CRLF as two, stuffed dots not",
      mails="mixed")
def octets(bench):
    pop = bench.login()
    for number, size in listing(pop).items():
        found = len(retr(pop, number))
        expect(found == size, f"LIST has {size} octets for mail {number}, RETR gives {found}")


@case("1939", "11", "MUST", "The octets of a large mail are counted exactly", mails="kind-large")
def octets_of_large(bench):
    pop = bench.login()
    size, found = listing(pop)[1], len(retr(pop))
    expect(found == size, f"LIST has {size} octets, RETR gives {found}")


@case("1939", "5", "MUST", "RETR deletes nothing, and gives the same again", mails="three")
def retr_again(bench):
    pop = bench.login()
    first = retr(pop, 2)
    expect(retr(pop, 2) == first, "the second RETR gives something else")
    expect_ok(pop.command("QUIT"))
    pop = bench.login()
    expect(stat(pop)[0] == 3, f"{stat(pop)[0]} mails are left of 3")
    expect(retr(pop, 2) == first, "the next session gives something else")


@case("1939", "5", "MUST", "RETR refuses a mail marked as deleted, and gives the others", mails="three")
def retr_deleted(bench):
    pop = bench.login()
    expect_ok(pop.command("DELE 1"))
    expect_err(pop.command("RETR 1", more=True))
    expect_mail(retr(pop, 2), bench.mails[1])


@case("1939", "5", "MUST", "DELE of a mail marked as deleted is refused", mails="three")
def dele_deleted(bench):
    pop = bench.login()
    expect_ok(pop.command("DELE 1"))
    expect_err(pop.command("DELE 1"))
    expect(stat(pop)[0] == 2, "STAT has not two mails")


@case("1939", "6", "MUST", "QUIT removes what is marked as deleted, and nothing else", mails="three")
def quit_removes(bench):
    pop = bench.login()
    expect_ok(pop.command("DELE 2"))
    expect_ok(pop.command("QUIT"))
    pop = bench.login()
    expect(stat(pop)[0] == 2, f"{stat(pop)[0]} mails are left of 3")
    expect_mail(retr(pop, 1), bench.mails[0])
    expect_mail(retr(pop, 2), bench.mails[2])


@case("1939", "6", "MUST", "All mails can be removed at once", mails="many")
def quit_removes_all(bench):
    pop = bench.login()
    for number in range(1, 121):
        expect_ok(pop.command(f"DELE {number}"))
    expect(stat(pop) == (0, 0), f"STAT has {stat(pop)}")
    expect_ok(pop.command("QUIT"))
    expect(bench.count() == 0, "mails are left")


@case("1939", "6", "MUST", "A session that ends without QUIT removes nothing", mails="three")
def drop_removes_nothing(bench):
    for abruptly in (False, True):
        pop = bench.login()
        expect_ok(pop.command("DELE 1"))
        expect_ok(pop.command("DELE 3"))
        pop.close(abruptly)
        number = bench.count()
        expect(number == 3, f"{number} mails are left of 3")


@case("1939", "6", "MUST", "A QUIT that is cut off before its CRLF removes nothing", mails="three")
def cut_quit_removes_nothing(bench):
    for cut in (b"QUIT", b"QUI", b"QUIT\r"):
        pop = bench.login()
        expect_ok(pop.command("DELE 1"))
        pop.send(cut)
        pop.close()
        number = bench.count()
        expect(number == 3, f"behind {show(cut)} and the end {number} mails are left of 3")


@case("1939", "5", "MUST", "RSET unmarks what is marked as deleted", mails="three")
def rset(bench):
    pop = bench.login()
    before = stat(pop)
    expect_ok(pop.command("DELE 1"))
    expect_ok(pop.command("DELE 2"))
    expect_ok(pop.command("RSET"))
    expect(stat(pop) == before, f"STAT has {stat(pop)}, and had {before}")
    expect_mail(retr(pop, 1), bench.mails[0])
    expect_ok(pop.command("QUIT"))
    number = bench.count()
    expect(number == 3, f"behind QUIT {number} mails are left of 3")


@case("1939", "5", "MUST", "What is marked behind RSET is removed", mails="three")
def dele_after_rset(bench):
    pop = bench.login()
    expect_ok(pop.command("DELE 1"))
    expect_ok(pop.command("RSET"))
    expect_ok(pop.command("DELE 3"))
    expect_ok(pop.command("QUIT"))
    pop = bench.login()
    expect(stat(pop)[0] == 2, f"{stat(pop)[0]} mails are left of 3")
    expect_mail(retr(pop, 1), bench.mails[0])
    expect_mail(retr(pop, 2), bench.mails[1])


# TOP.

def _top(bench, number, count):
    pop = bench.login()
    bench.need_command(pop, "TOP")
    whole = retr(pop, number)
    head, _, body = whole.partition(CRLF + CRLF)
    wanted = head + CRLF + CRLF + b"".join(line + CRLF for line in body.split(CRLF)[:-1][:count])
    found = expect_ok(pop.command(f"TOP {number} {count}", more=True)).content
    expect(found == wanted, f"TOP {number} {count} gives {len(found)} octets for {len(wanted)}, "
           f"at the end {show(found[-60:])} for {show(wanted[-60:])}")
    return pop


@case("1939", "7", "MUST", "TOP n 0 gives the header and the empty line", mails="three")
def top_zero(bench):
    _top(bench, 2, 0)


@case("1939", "7", "MUST", "TOP n m gives m lines of the body", mails="three")
def top_lines(bench):
    for count in (1, 3, 4):
        _top(bench, 2, count).command("QUIT")


@case("1939", "7", "MUST", "TOP gives the whole mail when it has fewer lines", mails="three")
def top_beyond_end(bench):
    for count in (5, 6, 100000):
        _top(bench, 2, count).command("QUIT")


@case("1939", "7", "MUST", "TOP puts a dot before lines that begin with one", mails="kind-dots")
def top_stuffs_dots(bench):
    pop = _top(bench, 1, 4)
    expect(pop.raw.count(b"..") == 1 and b"..first" in pop.raw, f"the lines are {pop.raw[-5:]}")


@case("1939", "7", "MUST", "TOP refuses a mail marked as deleted", mails="three")
def top_deleted(bench):
    pop = bench.login()
    bench.need_command(pop, "TOP")
    expect_ok(pop.command("DELE 1"))
    expect_err(pop.command("TOP 1 1", more=True))


@case("1939", "7", "MUST", "TOP without a number of lines, or with a negative one, is refused", mails="three")
def top_bad_lines(bench):
    pop = bench.login()
    bench.need_command(pop, "TOP")
    for text in ("TOP", "TOP 1", "TOP 1 -1", "TOP 1 x"):
        expect_err(pop.command(text, more=True))


@case("1939", "7", "MUST", "TOP of a mail without a body gives its header", mails="kind-no-body")
def top_no_body(bench):
    _top(bench, 1, 5)


@case("1939", "7", "MUST", "TOP with more lines than 32 bits count gives the whole mail or refuses", mails="three")
def top_huge_lines(bench):
    pop = bench.login()
    bench.need_command(pop, "TOP")
    whole = retr(pop, 2)
    for count in (2 ** 31, 2 ** 32, 2 ** 64):
        reply = pop.command(f"TOP 2 {count}", more=True)
        expect(reply.is_err or reply.content == whole, f"TOP 2 {count} gives another text than RETR")


# UIDL.

def _uidl_login(bench):
    pop = bench.login()
    bench.need_command(pop, "UIDL")
    return pop


@case("1939", "7", "MUST", "UIDL has number, one blank, and an id of 1 to 70 octets from 0x21 to 0x7E", mails="three")
def uidl_syntax(bench):
    reply = expect_ok(_uidl_login(bench).command("UIDL", more=True))
    expect(len(reply.lines) == 3, f"UIDL has {reply.lines}")
    for line in reply.lines:
        expect(re.fullmatch(rb"[1-9]\d* [\x21-\x7e]{1,70}", line), f"UIDL has {show(line)}")


@case("1939", "7", "MUST", "UIDL with a number has that line of UIDL", mails="three")
def uidl_one(bench):
    pop = _uidl_login(bench)
    for number, ident in uidl(pop).items():
        reply = expect_ok(pop.command(f"UIDL {number}"))
        expect(reply.text == b"%d %s" % (number, ident), f"{reply}, UIDL has {show(ident)}")


@case("1939", "7", "MUST", "Ids are unique within a maildrop", mails="many")
def uidl_unique(bench):
    found = uidl(_uidl_login(bench))
    expect(len(set(found.values())) == 120, f"{len(set(found.values()))} ids for 120 mails")


@case("1939", "7", "SHOULD", "Mails that are the same octet for octet have ids of their own", mails="twins")
def uidl_of_twins(bench):
    found = uidl(_uidl_login(bench))
    expect(len(set(found.values())) == 3, f"UIDL has {found}")


@case("1939", "7", "MUST", "Ids persist across sessions", mails="three")
def uidl_persists(bench):
    pop = _uidl_login(bench)
    before = uidl(pop)
    retr(pop, 1)
    expect_ok(pop.command("QUIT"))
    pop = bench.login()
    after = uidl(pop)
    expect(after == before, f"{before} became {after}")
    pop.close()
    after = uidl(bench.login())
    expect(after == before, f"without QUIT {before} became {after}")


@case("1939", "7", "MUST", "Ids stay with their mails when another is removed", mails="three")
def uidl_persists_over_removal(bench):
    pop = _uidl_login(bench)
    before = uidl(pop)
    expect_ok(pop.command("DELE 1"))
    expect(uidl(pop) == {number: before[number] for number in (2, 3)}, f"behind DELE 1 UIDL has {uidl(pop)}")
    expect_ok(pop.command("QUIT"))
    after = uidl(bench.login())
    expect(after == {1: before[2], 2: before[3]}, f"{before} became {after}")


@case("1939", "7", "MUST", "UIDL refuses a mail marked as deleted", mails="three")
def uidl_deleted(bench):
    pop = _uidl_login(bench)
    expect_ok(pop.command("DELE 2"))
    expect_err(pop.command("UIDL 2"))


@case("1939", "7", "MUST", "UIDL of an empty maildrop is +OK and the dot", mails="empty")
def uidl_empty(bench):
    pop = bench.login()
    bench.need_command(pop, "UIDL")
    expect(uidl(pop) == {}, "UIDL has lines")


# Numbers of no mail.

BAD_NUMBERS = {"zero": "0", "negative": "-1", "beyond_last": "4", "two_to_31": str(2 ** 31),
               "two_to_32": str(2 ** 32), "two_to_32_and_one": str(2 ** 32 + 1),
               "two_to_64_and_one": str(2 ** 64 + 1), "of_twenty_digits": "99999999999999999999",
               "that_is_a_word": "one", "that_is_hexadecimal": "0x1", "with_a_tail": "1x",
               "with_a_fraction": "1.0", "missing": "", "blank": " "}


def _bad_number(name, text):
    def function(bench):
        pop = bench.login()
        for word in ("RETR", "DELE") + (("LIST",) if text.strip() else ()):
            _refused(pop, f"{word} {text}" if text else word)
        for word in ("TOP", "UIDL"):
            if text.strip() and bench.capabilities("after") is None or \
                    word in (bench.capabilities("after") or ()):
                if word == "TOP" or text.strip():
                    _refused(pop, f"TOP {text} 0" if word == "TOP" else f"UIDL {text}")
        found = stat(pop)[0]
        expect(found == 3, f"STAT has {found} mails of 3")
    function.__name__ = f"number_{name}"
    case("1939", "3", "MUST", f'A message number {name.replace("_", " ")} is refused by every command',
         mails="three")(function)


def _refused(pop, text):
    reply = pop.command(text, more=text.startswith(("RETR", "TOP")))
    if not reply.is_err:
        raise Failure(str(reply))


for _name, _text in BAD_NUMBERS.items():
    _bad_number(_name, _text)
