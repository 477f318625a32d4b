# SPDX-License-Identifier: GPL-3.0-or-later
"""
Mails that are as they should be, and mails that are not: what test_mime_views.py compares.

MAILS has each twice, with LF and, as "crlf NAME", with CRLF. But for those of WITHOUT_PAYLOAD each has
the file PAYLOAD somewhere, encoded in some way. ODD are those of which a reader cannot be sure.
"""

import base64
import binascii
import quopri
import random

PAYLOAD = random.Random(2045).randbytes(1500) + b"\x00\r\n--bound\n" + bytes(range(254))
TEXT = b"A text of some lines,\n--\nwith dashes -- and = signs,\n\n.and dots\n"
B64 = base64.encodebytes(PAYLOAD)
QP = b"".join(b"=%02X" % byte + (b"=\n" if i % 25 == 24 else b"") for i, byte in enumerate(PAYLOAD))

FROM = b"From: a@example.org\nTo: b@example.org\nSubject: x\nMIME-Version: 1.0\n"
FILE = b"Content-Type: application/octet-stream\nContent-Disposition: attachment; filename=\"a.bin\"\n"
CODED = FILE + b"Content-Transfer-Encoding: base64\n\n" + B64


def multipart(*parts, boundary=b"bound", written=None, kind=b"mixed", fields=b"", preamble=b"", end=b"--", epilogue=b""):
    """written: as the header has the boundary."""
    written = b'"' + boundary + b'"' if written is None else written
    text = b"Content-Type: multipart/" + kind + b"; boundary=" + written + b"\n" + fields + b"\n" + preamble
    for part in parts:
        text += b"--" + boundary + b"\n" + part.rstrip(b"\n") + b"\n"
    return text + (b"--" + boundary + end + b"\n" if end is not None else b"") + epilogue


def plain(text=TEXT):
    return b"Content-Type: text/plain; charset=us-ascii\n\n" + text


def uuencoded(data, name=b"u.bin", end=b"`\nend\n"):
    lines = b"".join(binascii.b2a_uu(data[at:at + 45], backtick=True) for at in range(0, len(data), 45))
    return b"begin 644 " + name + b"\n" + lines + end


def lines_of(data, size, end=b"\n"):
    flat = base64.b64encode(data)
    return b"".join(flat[at:at + size] + end for at in range(0, len(flat), size))


def coded(body, coding=b"base64", fields=b""):
    """In a multipart, behind a text."""
    return FROM + multipart(plain(), FILE + fields + b"Content-Transfer-Encoding: " + coding + b"\n\n" + body)


def named(disposition, kind=b"application/octet-stream"):
    return FROM + multipart(plain(), b"Content-Type: " + kind + b"\nContent-Disposition: " + disposition +
                            b"\nContent-Transfer-Encoding: base64\n\n" + B64)


MESSAGE = FROM + multipart(plain(b"inner\n"), CODED, boundary=b"inner")

GOOD = {
    # ---- codings ----
    "text alone": FROM + plain(),
    "no MIME at all": b"From: a@example.org\nSubject: x\n\n" + TEXT,
    "file alone": FROM + CODED,
    "base64": coded(B64),
    "base64 in one line": coded(base64.b64encode(PAYLOAD)),
    "base64 in lines of 1": coded(lines_of(PAYLOAD, 1)),
    "base64 in lines of 75": coded(lines_of(PAYLOAD, 75)),
    "base64 with blanks": coded(lines_of(PAYLOAD, 60, b" \n")),
    "base64 with empty lines": coded(lines_of(PAYLOAD, 60, b"\n\n")),
    "base64 in capitals": coded(B64, b"BASE64"),
    "base64 with a comment": coded(B64, b"base64 (of course)"),
    "quoted-printable": coded(QP, b"quoted-printable"),
    "quoted-printable in small letters": coded(QP.lower(), b"quoted-printable"),
    "quoted-printable text": FROM + b"Content-Type: text/plain\nContent-Transfer-Encoding: quoted-printable\n\n" +
    quopri.encodestring(TEXT * 5 + b"a line that is much longer than the seventy-six characters that a line may have\n"),
    "8bit": FROM + multipart(b"Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n" +
                             "Grüße\n".encode()),
    "uuencode in a text": FROM + b"\nSee:\n\n" + uuencoded(PAYLOAD) + b"\nBye\n",
    "uuencode in a part": FROM + multipart(plain(b"See:\n" + uuencoded(PAYLOAD))),
    "uuencode twice": FROM + b"\n" + uuencoded(b"first" * 30, b"one.txt") + b"\n" + uuencoded(PAYLOAD, b"two.bin"),
    # ---- trees ----
    "preamble and epilogue": FROM + multipart(plain(), CODED, preamble=b"This is a multi-part message.\n",
                                              epilogue=b"An epilogue.\n"),
    "alternative in mixed": FROM + multipart(multipart(plain(), b"Content-Type: text/html\n\n<p>x</p>\n",
                                                       boundary=b"alt", kind=b"alternative"), CODED),
    "related in alternative in mixed": FROM + multipart(multipart(plain(), multipart(
        b"Content-Type: text/html\n\n<img>\n", CODED, boundary=b"rel", kind=b"related"), boundary=b"alt",
        kind=b"alternative")),
    "a message": FROM + multipart(plain(), b"Content-Type: message/rfc822\n\n" + MESSAGE),
    "a message in a message": FROM + b"Content-Type: message/rfc822\n\n" + FROM +
    multipart(b"Content-Type: message/rfc822\n\n" + MESSAGE, boundary=b"mid"),
    "a digest": FROM + multipart(b"\n" + MESSAGE, b"\n" + FROM + plain(), kind=b"digest"),
    "two files": FROM + multipart(CODED, CODED.replace(b"a.bin", b"b.bin")),
    "an empty part": FROM + multipart(b"\n", CODED),
    "twenty parts": FROM + multipart(*[plain(b"%d\n" % i) for i in range(19)], CODED),
    # ---- boundaries ----
    "a boundary that is the beginning of another": FROM + multipart(
        multipart(plain(), CODED, boundary=b"bound2"), plain(b"behind\n")),
    "a boundary that ends in dashes": FROM + multipart(plain(), CODED, boundary=b"x--y--z"),
    "a boundary of signs": FROM + multipart(plain(), CODED, boundary=b"'()+_,-./:=?"),
    "a boundary of blanks": FROM + multipart(plain(), CODED, boundary=b"a b c"),
    "a boundary of 70": FROM + multipart(plain(), CODED, boundary=b"b" * 70),
    "a boundary without quotes": FROM + multipart(plain(), CODED, written=b"bound"),
    "blanks behind a delimiter": FROM + multipart(plain(), CODED).replace(b"\n--bound\n", b"\n--bound \t\n"),
    "no line behind the end": (FROM + multipart(plain(), CODED)).rstrip(b"\n"),
    # ---- fields ----
    "a folded type": FROM + multipart(plain(), CODED).replace(b"; boundary", b";\n\tcharset=x;\n boundary"),
    "a type in capitals": FROM + multipart(plain(), CODED).replace(b"Content-Type: multipart/mixed; boundary",
                                                                  b"CONTENT-TYPE: MULTIPART/MIXED; BOUNDARY"),
    "no blank behind a colon": FROM + multipart(plain(), CODED).replace(b"Content-Type: ", b"Content-Type:"),
    "no MIME-Version": FROM.replace(b"MIME-Version: 1.0\n", b"") + multipart(plain(), CODED),
    "a mailbox's line": b"From a@example.org Thu Nov 26 05:00:00 2026\n" + FROM + multipart(plain(), CODED),
    "a long field before": FROM + b"X-Long: " + b"y" * 5000 + b"\n" + multipart(plain(), CODED),
    "a long parameter before": FROM + multipart(plain(), CODED).replace(b"; boundary", b"; x=" + b"y" * 700 + b"; boundary"),
    "many parameters before": FROM + multipart(plain(), CODED).replace(
        b"; boundary", b"".join(b";\n x%d=y" % i for i in range(300)) + b";\n boundary"),
    # ---- names ----
    "a name of RFC 2231": named(b"attachment; filename*=utf-8''%C3%A4.bin"),
    "a name in sections": named(b"attachment; filename*0=\"a\";\n filename*1=\".bin\""),
    "a name of RFC 2047": named(b"attachment; filename=\"=?utf-8?B?w6QuYmlu?=\""),
    "a name with quotes": named(b"attachment; filename=\"a \\\"b\\\".bin\""),
    "a name with a path": named(b"attachment; filename=\"../../a/b.bin\""),
    "no name": named(b"attachment"),
    "a name of the type alone": FROM + multipart(plain(), b"Content-Type: application/octet-stream; name=a.bin\n"
                                                 b"Content-Transfer-Encoding: base64\n\n" + B64),
}

BAD = {
    # ---- codings ----
    "base64 with foreign bytes": coded(lines_of(PAYLOAD, 60, b"!\n")),
    "base64 with padding amid": coded(lines_of(PAYLOAD[:400], 60) + lines_of(PAYLOAD[400:], 60)),
    "base64 without padding": coded(lines_of(PAYLOAD, 60).replace(b"=", b"")),
    "base64 with text behind it": coded(lines_of(PAYLOAD[:1500], 60) + lines_of(PAYLOAD[1500:], 60) +
                                        b"\n_______\nA list's footer\n"),
    "an unknown coding": coded(B64, b"base-64"),
    "two codings": coded(B64, fields=b"Content-Transfer-Encoding: 8bit\n"),
    "a text's coding of blanks": FROM + b"Content-Type: text/plain\nContent-Transfer-Encoding: quoted-printable\n\n"
    b"blanks \nat the end\t\nof lines =\nand a bad =escape =ZZ\n",
    "uuencode without an end": FROM + b"\n" + uuencoded(PAYLOAD, end=b""),
    # ---- trees ----
    "no end": FROM + multipart(plain(), CODED, end=None),
    "no end of the inner": FROM + multipart(multipart(plain(), CODED, boundary=b"in", end=None), plain(b"behind\n")),
    "parts behind the end": FROM + multipart(plain()) + multipart(CODED).split(b"\n\n", 1)[1],
    "an encoded message": FROM + multipart(plain(), b"Content-Type: message/rfc822\nContent-Transfer-Encoding: base64\n\n" +
                                           base64.encodebytes(MESSAGE)),
    "an encoded multipart": FROM + b"Content-Transfer-Encoding: base64\n" + multipart(plain(), CODED),
    "a multipart that is really encoded": FROM + b"Content-Transfer-Encoding: base64\n" +
    b"Content-Type: multipart/mixed; boundary=bound\n\n" +
    base64.encodebytes(multipart(plain(), CODED).split(b"\n\n", 1)[1]),
    # ---- boundaries ----
    "no boundary": FROM + multipart(plain(), CODED).replace(b"; boundary=\"bound\"", b""),
    "a boundary of no bytes": FROM + multipart(plain(b"A text\n"), CODED, boundary=b""),
    "an empty boundary": FROM + multipart(plain(), CODED, written=b'""'),
    "two boundaries, the first": FROM + multipart(plain(), CODED, written=b"bound; boundary=other"),
    "two boundaries, the last": FROM + multipart(plain(), CODED, written=b"other; boundary=bound"),
    "a boundary in small quotes": FROM + multipart(plain(), CODED, written=b"'bound'"),
    "a boundary with a backslash": FROM + multipart(plain(), CODED, written=b'"bo\\und"'),
    "a boundary of RFC 2231": FROM + multipart(plain(), CODED).replace(b'boundary="bound"', b"boundary*=us-ascii''b%6Fund"),
    "a boundary in sections": FROM + multipart(plain(), CODED).replace(b'boundary="bound"', b'boundary*0="bo"; boundary*1="und"'),
    "a boundary without its quote": FROM + multipart(plain(), CODED, written=b'"bound'),
    "a boundary with a comment": FROM + multipart(plain(), CODED, written=b"bound (a comment)"),
    "a boundary of an encoded word": FROM + multipart(plain(), CODED, written=b'"=?us-ascii?Q?bo=75nd?="'),
    "a boundary behind a blank": FROM + multipart(plain(), CODED, written=b'" bound"'),
    "a boundary in two quotes": FROM + multipart(plain(), CODED, written=b'""bound""'),
    "a boundary with a NUL": FROM + multipart(plain(), CODED, written=b'"bound\0ary"'),
    "a boundary folded by a tab": FROM + multipart(plain(), CODED, written=b'"bo\n\tund"', boundary=b"bo\tund"),
    "a boundary in sections, not in their order": FROM + multipart(plain(), CODED).replace(
        b'boundary="bound"', b'boundary*1="u"; boundary*0="bo"; boundary*2="nd"'),
    "something behind a delimiter": FROM + multipart(plain(), CODED).replace(b"\n--bound\n", b"\n--bound.\n", 1),
    # ---- fields ----
    "two types, the first": FROM + b"Content-Type: text/plain\n" + multipart(plain(), CODED),
    "two types, the last": FROM + multipart(plain(), CODED, fields=b"Content-Type: text/plain\n"),
    "a blank before a colon": FROM + multipart(plain(), CODED).replace(b"Content-Type: multi", b"Content-Type : multi"),
    "no semicolon": FROM + multipart(plain(), CODED).replace(b"mixed;", b"mixed"),
    "a type that is none": FROM + multipart(plain(), CODED).replace(b"multipart/mixed", b"multipart"),
    "a line that is no field": FROM + b"not a field\n" + multipart(plain(), CODED),
    "a NUL in a field's name": coded(B64).replace(b"Encoding:", b"Encoding\0:"),
    "an empty line before a part's header": FROM + multipart(plain(), b"\n" + CODED),
    "a line of blanks": FROM + multipart(plain(), CODED, fields=b" \t\n"),
    "a part without an empty line": FROM + multipart(b"no field here", CODED),
}

MAILS = {**GOOD, **BAD}
MAILS.update({"crlf " + name: text.replace(b"\n", b"\r\n") for name, text in MAILS.items()
              if "8bit" not in name})
# What a gateway makes of CRLF that takes LF for the end of a line.
MAILS["quoted-printable with CR CR LF"] = (FROM + FILE + b"Content-Transfer-Encoding: quoted-printable\n\n" +
                                           QP).replace(b"\n", b"\r\r\n")
MAILS["CR CR LF"] = (FROM + multipart(plain(), CODED)).replace(b"\n", b"\r\r\n")


def both(*names):
    return {prefix + name for name in names for prefix in ("", "crlf ")}


WITHOUT_PAYLOAD = both("text alone", "no MIME at all", "quoted-printable text", "8bit", "a text's coding of blanks")
ODD = both(*BAD, "CR CR LF", "quoted-printable with CR CR LF")
