# SPDX-License-Identifier: GPL-3.0-or-later
"""
Files that signatures of ClamAV are to be found in, made of the signatures themselves: wildcards become
bytes, ranges become fillers, logic becomes as many sub-signatures as it wants. It reads the formats
apart from lib/match, so that a mistake there is none here.

    sample = of_body("A", "414243??{2-5}44")          bytes
    name, sample, wants = of_logical(line)           or ValueError: none can be made

What is between parts is of bytes that no signature is about, 0xf7.
"""

import re
import re._constants as sre  # of the regular expressions of Python, for samples of those of PCRE
import re._parser as sre_parse
import warnings

FILLER = b"\xf7"
MAGIC = {1: None, 2: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), 4: None, 5: b"GIF89a" + bytes(40),
         10: b"%PDF-1.4\n"}


# ---- bytes ----

def one_of(mask, value, rng):
    return bytes([value | rng.randrange(256) & ~mask & 0xff])


def pair(text, rng):
    high, low = text
    mask = (0xf0 if high != "?" else 0) | (0x0f if low != "?" else 0)
    value = (int(high, 16) << 4 if high != "?" else 0) | (int(low, 16) if low != "?" else 0)
    return one_of(mask, value, rng)


def none_of(strings, rng):
    size = len(strings[0])
    while True:
        made = rng.randbytes(size)
        if made not in strings:
            return made


def boundary(which, is_negative):
    if is_negative:
        return b"x"
    return {"B": b" ", "L": b"\n", "W": b"."}[which]


def swap_case(data, rng):
    return bytes(byte ^ 0x20 if chr(byte).isalpha() and byte < 128 and rng.random() < 0.5 else byte
                 for byte in data)


def of_body(hexadecimal, rng, flags="", near=20):
    """(what stands before, the bytes) of one body."""
    made, at, before = b"", 0, b""
    is_wide = "w" in flags
    widen = (lambda data: b"".join(bytes([byte, 0]) for byte in data)) if is_wide else (lambda data: data)
    while at < len(hexadecimal):
        rest = hexadecimal[at:]
        if rest[0] == "*":
            made += FILLER * rng.randrange(near)
            at += 1
        elif rest[0] in "{[":
            inside = re.match(r"[{\[](\d*)(-?)(\d*)[}\]]", rest)
            if not inside:
                raise ValueError(rest)
            low = int(inside[1] or 0)
            high = low if not inside[2] else int(inside[3]) if inside[3] else low + near
            made += FILLER * rng.randint(low, min(high, low + near))
            at += inside.end()
        elif rest[0] in "!(":
            is_negative = rest[0] == "!"
            inside = re.match(r"!?\(([^()]*)\)", rest)
            if not inside:
                raise ValueError(rest)
            if inside[1] in ("B", "L", "W"):
                if at == 0:
                    before = boundary(inside[1], is_negative)
                else:
                    made += boundary(inside[1], is_negative)
            elif is_negative:
                made += widen(none_of([bytes.fromhex(one) for one in inside[1].split("|")], rng))
            else:
                choice = rng.choice(inside[1].split("|"))
                made += widen(b"".join(pair(choice[i:i + 2], rng) for i in range(0, len(choice), 2)))
            at += inside.end()
        else:
            made += widen(pair(rest[:2], rng))
            at += 2
    if "i" in flags:
        made = swap_case(made, rng)
    if "f" in flags:
        before, made = b".", made + b"."
    return before, made


# ---- expressions ----

def matches_in(item, byte):
    kind, value = item
    if kind is sre.LITERAL:
        return byte == value
    if kind is sre.RANGE:
        return value[0] <= byte <= value[1]
    pattern = {sre.CATEGORY_DIGIT: rb"\d", sre.CATEGORY_NOT_DIGIT: rb"\D", sre.CATEGORY_SPACE: rb"\s",
               sre.CATEGORY_NOT_SPACE: rb"\S", sre.CATEGORY_WORD: rb"\w",
               sre.CATEGORY_NOT_WORD: rb"\W"}[value]
    return re.match(pattern, bytes([byte])) is not None


def of_set(items, rng):
    is_negative = items[0][0] is sre.NEGATE
    items = items[1:] if is_negative else items
    fitting = [byte for byte in range(0x20, 0x7f)
               if any(matches_in(item, byte) for item in items) != is_negative]
    fitting = fitting or [byte for byte in range(256)
                          if any(matches_in(item, byte) for item in items) != is_negative]
    return bytes([rng.choice(fitting)])


def of_tree(tree, rng):
    made = b""
    for kind, value in tree:
        if kind is sre.LITERAL:
            made += bytes([value])
        elif kind is sre.NOT_LITERAL:
            made += b"q" if value != ord("q") else b"r"
        elif kind is sre.ANY:
            made += b"q"
        elif kind is sre.IN:
            made += of_set(value, rng)
        elif kind is sre.BRANCH:
            made += of_tree(rng.choice(value[1]), rng)
        elif kind is sre.SUBPATTERN:
            made += of_tree(value[3], rng)
        elif kind in (sre.MAX_REPEAT, sre.MIN_REPEAT):
            low, high, inner = value
            count = rng.randint(low, min(high, low + 2))
            made += b"".join(of_tree(inner, rng) for _ in range(count))
        elif kind is sre.AT:
            pass
        else:
            raise ValueError(kind)
    return made


def of_regex(text, rng):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "[[" and the like
            return of_tree(sre_parse.parse(text.encode("latin-1")), rng)
    except (re.error, OverflowError) as error:
        raise ValueError(error) from error


# ---- logic ----

def divide(text):
    """(left, operator, right), or None when there is no operator outside of parentheses."""
    depth = 0
    for i, char in enumerate(text):
        depth += {"(": 1, ")": -1}.get(char, 0)
        if depth == 0 and char in "&|":
            return text[:i], char, text[i + 1:]
    return None


def wanted(text, rng):
    """{sub-signature: how often}, so that the logic is true."""
    divided = divide(text)
    if divided:
        left, operator, right = divided
        sides = [left, right] if operator == "&" else [rng.choice([left, right])]
        wants = {}
        for side in sides:
            for number, count in wanted(side, rng).items():
                wants[number] = max(count, wants.get(number, 0))
        return wants
    block = re.fullmatch(r"\((.*)\)(?:([=<>])(\d+)(?:,(\d+))?)?", text)
    if block:
        if not block[2]:
            return wanted(block[1], rng)
        numbers = [int(number) for number in re.findall(r"\d+", re.sub(r"[=<>][\d,]+", "", block[1]))]
        if block[2] == "<" or block[3] == "0":
            return {}
        count = int(block[3]) + (block[2] == ">")
        chosen = numbers if int(block[4] or 0) > 1 or "&" in block[1] else [rng.choice(numbers)]
        return {number: -(-count // len(chosen)) for number in chosen}
    single = re.fullmatch(r"(\d+)(?:([=<>])(\d+))?", text)
    if not single:
        raise ValueError(text)
    if single[2] == "<" or single[3] == "0":
        return {}
    return {int(single[1]): int(single[3] or 1) + (single[2] == ">")}


def split_outside(line, separator, first):
    """Fields, where separators within an expression are a part of it."""
    fields, is_inside, begin = [], False, 0
    for i, char in enumerate(line):
        if char == separator and not is_inside:
            fields.append(line[begin:i])
            begin = i + 1
        elif char == "/" and len(fields) >= first and line[i - 1:i] != "\\":
            is_inside = not is_inside
    return fields + [line[begin:]]


def of_sub(text, rng):
    """(offset, what stands before, bytes, trigger)"""
    if "/" in text:
        parts = split_outside(text, ":", 0)
        expression = parts[-1]
        begin, end = expression.index("/"), expression.rindex("/")
        made = of_regex(expression[begin + 1:end], rng)
        if "i" in expression[end + 1:]:
            made = swap_case(made, rng)
        return "*" if len(parts) == 1 else parts[0], b"\n", made + b"\n", expression[:begin]
    fields = text.split(":")
    offset = fields[0] if len(fields) % 2 == 0 else "*"
    body = fields[1] if len(fields) % 2 == 0 else fields[0]
    flags = fields[-1] if len(fields) > 2 else ""
    if "w" in flags and "a" in flags and rng.random() < 0.5:
        flags = flags.replace("w", "")
    return (offset, *of_body(body, rng, flags), None)


def place(sample, offset, before, made, rng):
    match = re.fullmatch(r"(\d+)(?:,(\d+))?", offset)
    if offset == "*":
        sample += FILLER * rng.randrange(1, 20) + before + made
        return
    if not match:
        raise ValueError(offset)
    at = int(match[1]) + rng.randint(0, int(match[2] or 0))
    if at > 1 << 20:
        raise ValueError(offset)
    if len(sample) < at:
        sample += FILLER * (at - len(sample))
    if any(byte != FILLER[0] for byte in sample[at:at + len(made)]):
        raise ValueError("overlapping")
    sample[at:at + len(made)] = made


def of_logical(line, rng):
    """(name, attributes, sample)"""
    fields = split_outside(line, ";", 3)
    name, attributes, logic, subs = fields[0], fields[1], fields[2], fields[3:]
    wants = wanted(logic, rng)
    made = {}
    for _ in range(4):  # triggers may have expressions in them
        for number in list(wants):
            if number not in made:
                made[number] = of_sub(subs[number], rng)
                trigger = made[number][3]
                for other, count in (wanted(trigger, rng) if trigger else {}).items():
                    wants[other] = max(count, wants.get(other, 0))
    sample = bytearray()
    target = int(re.search(r"Target:(\d+)", attributes)[1])
    fixed = [number for number in wants if made[number][0] != "*"]
    if target in MAGIC and (MAGIC[target] is None or (fixed and target != 5)):
        raise ValueError("no such file is made")
    if target in MAGIC and not fixed:
        sample += MAGIC[target]
    for number in sorted(fixed, key=lambda number: int("0" + re.match(r"\d*", made[number][0])[0])):
        place(sample, *made[number][:3], rng)
    for number in sorted(wants, key=lambda _: rng.random()):
        for _ in range(wants[number] if number not in fixed else 0):
            place(sample, *of_sub(subs[number], rng)[:3], rng)
    sample += FILLER * rng.randrange(1, 20)
    return name, attributes, bytes(sample)
