#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fails when prose names what is not there, or a manual leaves a diagnostic out.

    prose.py SOURCE-DIRECTORY [BUILD-DIRECTORY]

Read are the comments of the product's C, and the pages: README, ARCHITECTURE,
HACKING, docs/, and what stands in Markdown beside the code. Checked is:

    a file that is named exists, by its path or by its name alone
    a directory of the tree that is named exists
    a link between pages has a target, and its heading is there
    a function that is named, name(), is in the code, or in the C library or
    one of OUTSIDE
    ARCHITECTURE.md keeps within its size; a function of its tables is in the
    file that the table names; the words of its glossary stand in the code
    a figure in a table of README.md stands in the page that its row links
    a manual that another one names has that section
    every error and warning line of a program, and each finding about a list
    or a store, is in the DIAGNOSTICS of its manual, and the lines there are
    those of programs; the first wants the build directory, which knows
    what a program links

Each finding is one line with its place; any is exit status 1.
"""

import ctypes
import os
import re
import subprocess
import sys

import walls

PRODUCT = ("lib/", "server/", "zone-tools/", "client-lib/", "integration/")
CODE = (".c", ".h", ".cc", ".hh", ".py", ".sh", ".lua", ".js", ".rs", ".go", ".proto")
ARCHITECTURE_MAX = 12000  # bytes

# Functions of others, by their prefix.
OUTSIDE = re.compile(
    r"uv_|mdb_|knot_|dnssec_|yp_|SSL_|EVP_|RSA_|EC_|ECDSA_|BIO_|X509_|PEM_|CRYPTO_"  # server, signing, TLS
    r"|fstrm_|protobuf_c_|seccomp_|smfi_|xxfi_|ub_|event_|TAILQ_|LIST_|STAILQ_"
    r"|inflate|deflate|gz|pthread_|sd_|snprintf|va_")
# System calls that the C library has no function for, and words of other languages.
OUTSIDE_NAMES = {"bpf", "seccomp", "landlock_restrict_self", "landlock_create_ruleset", "close_range",
                 "assert", "offsetof", "sizeof", "main", "parent_shutdown"}
# Files of others that comments name by a name like one of ours.
OUTSIDE_FILES = {"lmdb.h", "uv.h", "unbound.h", "mfdef.h", "mfapi.h", "smtpd.c"}
# Lines that a program links and never writes.
NEVER = {("integration/adapters/opensmtpd/dnsblv6-filter.8", "metrics not written")}  # it has none
# What prose names already, and the next commits bring.
COMING = {"door.h", "quota.h"}


def is_pattern(name):
    """tests/fuzz/NAME.c, sink_KIND.c: a reader puts a word there."""
    return "*" in name or (re.search(r"[A-Z]{4}", name) is not None and not name.endswith(".md"))


class Tree:
    """What there is: paths, names of files, and every name that code calls or defines."""

    def __init__(self, source_dir):
        self.source_dir = source_dir
        self.paths = set(walls.source_files(source_dir))
        self.names = {os.path.basename(path) for path in self.paths}
        self.directories = set()
        for path in self.paths:
            while "/" in path:
                path = path.rsplit("/", 1)[0]
                self.directories.add(path)
        self.functions = set()
        self.words = set()  # that names in the product's C are made of, and those of its files
        for path in self.paths:
            if path.endswith(CODE):
                self.functions.update(names_in_code(path, self.read(path)))
            if path.startswith(PRODUCT) and path.endswith((".c", ".h")):
                self.words.update(re.findall(r"[A-Za-z]+", without_comments(self.read(path)).lower()
                                             .replace("_", " ")))
                self.words.update(re.findall(r"[a-z]+", path))
        self.libc = ctypes.CDLL(None)

    def read(self, path):
        with open(os.path.join(self.source_dir, path), encoding="utf-8", errors="replace") as file:
            return file.read()

    def has_file(self, name, origin):
        """A path from the top or beside origin, or a name alone, wherever that is."""
        if walls.LIBC.fullmatch(name) or is_pattern(name):
            return True
        if "/" not in name:
            return name in self.names or name in OUTSIDE_FILES or name in COMING
        beside = os.path.normpath(os.path.join(os.path.dirname(origin), name))
        return (name in self.paths or beside in self.paths or name + ".in" in self.paths
                or any(path.endswith("/" + name) for path in self.paths))

    def has_function(self, name):
        return (name in self.functions or OUTSIDE.match(name) is not None or name in OUTSIDE_NAMES
                or hasattr(self.libc, name))


# ---- C, taken apart ----

PIECES = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)


def comments(text):
    """(number of its first line, text) of each."""
    for found in PIECES.finditer(text):
        if found.group().startswith("/"):
            yield text.count("\n", 0, found.start()) + 1, found.group()


def without_comments(text):
    return PIECES.sub(lambda found: " " if found.group().startswith("/") else found.group(), text)


def names_in_code(path, text):
    """Names before a bracket, and members and parameters that are functions."""
    if path.endswith((".c", ".h", ".cc", ".hh", ".js", ".rs", ".go", ".proto")):
        text = without_comments(text)
    return (set(re.findall(r"(\w+)\s*\(", text)) | set(re.findall(r"\(\s*\*\s*(\w+)\s*\)\s*\(", text))
            # A member whose type is a function's; and macros that make names.
            | set(re.findall(r"_fn\s*\*?\s*(\w+)\s*[;,)]", text)))


# ---- what prose names ----

FILE = re.compile(r"(?<![\w./@*-])((?:[\w*.-]+/)*[\w*-]+\.(?:c|h|cc|hh|py|md|sh|lua|proto|png|svg))\b(?![\w*({-]|\.\w)")
DIRECTORY = re.compile(r"(?<![\w./-])((?:lib|server|zone-tools|client-lib|integration|tests|bench|docs|debian)"
                       r"/[\w./*-]*[\w*])")
FUNCTION = re.compile(r"(?<![\w.>])([a-z]\w{2,})\(\)")
LINK = re.compile(r"\]\(([^)\s]+)\)")


def lines_of(text, first=1):
    for number, line in enumerate(text.splitlines(), first):
        yield number, line


def check_names(tree, path, number, line):
    for name in FILE.findall(line):
        if not tree.has_file(name, path):
            yield f"{path}:{number}: names the file {name}, which is not there"
    for name in DIRECTORY.findall(line):
        if not has_place(tree, name, path) and not FILE.fullmatch(name):
            yield f"{path}:{number}: names {name}, which is not there"
    for name in FUNCTION.findall(line):
        if not tree.has_function(name):
            yield f"{path}:{number}: names the function {name}(), which is not there"


def has_place(tree, name, origin):
    """A directory, or a file with its ending or without."""
    if is_pattern(name) or name in COMING:
        return True
    beside = os.path.normpath(os.path.join(os.path.dirname(origin), name))
    # A program is built beside the directory of its source.
    built = re.sub(r"^bench/", "bench/programs/", name)
    return any(place in tree.directories or place + end in tree.paths
               for place in (name, beside, built) for end in ("", ".in", ".md", *CODE))


def check_comments(tree):
    for path in sorted(tree.paths):
        if path.startswith(PRODUCT) and path.endswith((".c", ".h")):
            for first, comment in comments(tree.read(path)):
                for number, line in lines_of(comment, first):
                    yield from check_names(tree, path, number, line)


# ---- pages ----


def pages(tree):
    """NEWS tells of what was, and pages of measurements of what was measured."""
    return sorted(path for path in tree.paths if path.endswith(".md") and path != "NEWS.md"
                  and not path.startswith(("docs/bench/", "tests/fuzz/")))


def anchors(text):
    """GitHub's, of the headings."""
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def check_link(tree, path, target):
    if re.match(r"[a-z]+:", target):
        return None
    name, _, anchor = target.partition("#")
    full = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
    if not os.path.exists(os.path.join(tree.source_dir, full)):
        return f"links {target}, which is not there"
    if anchor and anchor not in anchors(tree.read(full)):
        return f"links {target}: no such heading"
    return None


def check_page(tree, path):
    for number, line in lines_of(tree.read(path)):
        for target in LINK.findall(line):
            reason = check_link(tree, path, target)
            if reason:
                yield f"{path}:{number}: {reason}"
        yield from check_names(tree, path, number, LINK.sub("]", line))


def check_pages(tree):
    for path in pages(tree):
        yield from check_page(tree, path)


ROW = re.compile(r"^\| (\d) \| `(\w+)` \| ([\w./-]+) \|", re.MULTILINE)


def architecture_tables(text):
    """[[(function, file), ...], ...]: the tables whose rows are numbered from 1."""
    tables = []
    for number, function, file in ROW.findall(text):
        if number == "1":
            tables.append([])
        tables[-1].append((function, file))
    return tables


def check_architecture(tree, path="ARCHITECTURE.md"):
    text = tree.read(path)
    size = len(text.encode())
    if size > ARCHITECTURE_MAX:
        yield f"{path}:1: has {size} bytes, at most {ARCHITECTURE_MAX}"
    tables = architecture_tables(text)
    if [len(table) for table in tables] != [9, 9]:
        yield f"{path}:1: has tables of {[len(table) for table in tables]} functions, not two of nine"
    for function, file in (row for table in tables for row in table):
        number = text[:text.index(f"`{function}` |")].count("\n") + 1
        if file in tree.paths and not re.search(rf"^[a-z].*\b{function}\(", tree.read(file), re.MULTILINE):
            yield f"{path}:{number}: {function}() is not in {file}"


def check_glossary(tree, path="ARCHITECTURE.md"):
    is_glossary = False
    for number, line in lines_of(tree.read(path)):
        if line.startswith("#"):
            is_glossary = line == "## Glossary"
        row = re.match(r"\| (\w[^|*]*) \| [^|]+ \|$", line)
        for word in re.split(r", ", row.group(1)) if is_glossary and row else ():
            if word not in tree.words and word + "s" not in tree.words:
                yield f"{path}:{number}: the word {word} is not in the code any more"


def check_figures(tree, path="README.md"):
    """A row of a table with a link to a page of measurements."""
    for number, line in lines_of(tree.read(path)):
        linked = re.findall(r"\]\((docs/bench/[^)]+\.md)\)", line)
        if not linked or not line.startswith("|"):
            continue
        text = "".join(tree.read(name) for name in linked if name in tree.paths)
        for figure in re.findall(r"(?<![\w.])(\d+\.\d+|\d+,\d{3}|\d+(?= us| ns| %))", LINK.sub("]", line)):
            if not re.search(rf"(?<![\d.]){re.escape(figure)}(?![\d])", text):
                yield f"{path}:{number}: the figure {figure} is not in {', '.join(linked)}"


# ---- diagnostics ----

CALL = re.compile(r"\blog_(error|warning|line)\s*\(")
LEVELS = {"LOG_LEVEL_ERROR": "error", "LOG_LEVEL_WARNING": "warning"}
FINDING = re.compile(r"\b(findings_add|reading_warn|refuse)\s*\((?=(?!struct)\S*(?:findings|read))")
GRADES = {"FINDING_REFUSAL": "error", "refuse(": "error", "FINDING_WARNING": "warning", "reading_warn(": "warning"}


def arguments_of(text, start):
    """The arguments of a call, from behind its bracket."""
    depth, begin, found = 0, start, []
    for piece in re.finditer(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|[(),]', text[start:]):
        mark, at = piece.group(), start + piece.start()
        if mark == "(":
            depth += 1
        elif mark == ")" and depth == 0:
            return [*found, text[begin:at]]
        elif mark == ")":
            depth -= 1
        elif mark == "," and depth == 0:
            found.append(text[begin:at])
            begin = at + 1
    return found


def blank_comments(text):
    """The same with comments blank, so that lines keep their numbers."""
    return PIECES.sub(lambda found: re.sub(r"[^\n]", " ", found.group())
                      if found.group().startswith("/") else found.group(), text)


def event_of(argument):
    """What a format says has happened; "" when it is no text."""
    form = "".join(re.findall(r'"((?:\\.|[^"\\])*)"', argument))
    return re.split(r", | \(|%|\\", form)[0].strip()


def finding_lines(text):
    """The same of findings about a list or a store, which findings.h logs."""
    for call in FINDING.finditer(text):
        arguments = arguments_of(text, call.end())
        levels = [level for word, level in GRADES.items() if word in text[call.start():call.end()] + arguments[1]]
        event = event_of(arguments[2 if call.group(1) == "refuse" else 3 if call.group(1) == "findings_add" else 1])
        if event and len(levels) == 1:
            yield call.start(), levels, event
    for made in re.finditer(r"\bsnprintf\((?=what,)", text) if "finding" in text else ():
        event = event_of(arguments_of(text, made.end())[2])
        if event:
            yield made.start(), [None], event


def log_lines(text):
    """(offset, levels, what happened) of each call at error or warning."""
    yield from finding_lines(text)
    for call in CALL.finditer(text):
        arguments = arguments_of(text, call.end())
        levels = [call.group(1)]
        if call.group(1) == "line":
            levels = [level for word, level in LEVELS.items() if arguments and word in arguments[0]]
            arguments = arguments[1:]
        if not levels or len(arguments) < 2:
            continue
        event = event_of(arguments[1])
        if event:
            yield call.start(), levels, event


class Source:
    """A file of C as the house writes it: bodies of functions begin and end at the margin."""

    FUNCTION = re.compile(r"^(?P<head>[a-z_][^;{}]*?)\n\{\n(?P<body>.*?)^\}", re.MULTILINE | re.DOTALL)

    def __init__(self, path, text):
        self.path, self.text = path, blank_comments(text)
        self.functions = []  # (name, is it static, start, body)
        rest, end = [], 0
        for found in self.FUNCTION.finditer(self.text):
            head = re.sub(r"__attribute__\(\(.*?\)\)", "", found["head"]).strip()
            name = re.search(r"(\w+)\(", head)
            if name is None:
                continue
            self.functions.append((name.group(1), head.startswith("static"), found.start("body"),
                                   found["body"]))
            rest.append(self.text[end:found.start()])
            end = found.end()
        # A table may name functions; a declaration does not use them.
        self.named = set(re.findall(r"\b(\w+)\b(?!\()", "".join([*rest, self.text[end:]])))


def used_log_lines(sources):
    """(path, number, levels, event) of the calls in functions that can be reached from main()."""
    own, of_all = {}, {}  # more than one of a name: of two systems, or of two programs
    for source in sources:
        for function in source.functions:
            own.setdefault((source.path, function[0]), []).append((source, function))
            if not function[1]:
                of_all.setdefault(function[0], []).append((source, function))
    waiting = [(source, name) for source in sources for name in ("main", *source.named)
               if (source.path, name) in own or name in of_all]
    seen = set()
    while waiting:
        source, name = waiting.pop()
        for source, (_, _, start, body) in own.get((source.path, name)) or of_all.get(name, ()):
            if (source.path, start) in seen:
                continue
            seen.add((source.path, start))
            waiting += [(source, used) for used in set(re.findall(r"\w+", body))]
            for offset, levels, event in log_lines(body):
                yield source.path, source.text.count("\n", 0, start + offset) + 1, levels, event


def linked_sources(build_dir, program):
    """
    What was compiled for a program, and is in it: an object of an archive is only there when it is
    used. Paths are from the top of the tree.
    """
    listed = subprocess.run(["ninja", "-C", build_dir, "-t", "inputs", program], check=True, text=True,
                            stdout=subprocess.PIPE).stdout.split()
    symbols = subprocess.run(["readelf", "-sW", os.path.join(build_dir, program)], check=True, text=True,
                             stdout=subprocess.PIPE).stdout
    files = set(re.findall(r" FILE +LOCAL +DEFAULT +ABS (\S+)", symbols))
    top = os.path.realpath(os.path.join(build_dir, "..", ".."))
    for name in listed:
        if name.endswith(".c") and os.path.basename(name) in files:
            yield os.path.relpath(os.path.realpath(os.path.join(build_dir, name)), top)


def diagnostics(manual):
    """
    (level, text) of the items of that part of a manual. The level is the item's first word, or what
    the heading of its section begins with; else None: any.
    """
    part = re.search(r"^\.Sh DIAGNOSTICS\n(.*?)^\.Sh ", manual, re.MULTILINE | re.DOTALL)
    level = None
    for line in part.group(1).splitlines() if part else ():
        heading = re.match(r"\.Ss (Error|Warning|Info)?", line)
        item = re.match(r'\.It (?:Li )?"?(?:(error|warning|info): )?(.*?)"?$', line)
        if heading:
            level = heading.group(1) and heading.group(1).lower()
        elif item:
            yield item.group(1) or level, re.sub(r"^\[.*?\] ", "", item.group(2))


def is_told(items, level, event):
    """Is there an item of that level, or with None of any, that begins with what happened?"""
    return any(re.match(re.escape(event) + r"(,| |:?$)", item) and (level is None or told in (level, None))
               for told, item in items)


CONVERSION = re.compile(r"%[-+ #0-9.*]*(?:hh?|ll?|[jzt])?[a-zA-Z]")


def head_of(line):
    """What has happened, before all that is told with it."""
    return re.split(r", | \(|\\|=", re.sub(r"^(?:error|warning|info): ", "", line))[0].strip().rstrip(":")


def said_heads(tree):
    """What texts of the product's C begin with: (as they stand, and expressions of those with conversions)."""
    whole, made = set(), set()
    for path in tree.paths:
        if path.startswith(PRODUCT) and path.endswith((".c", ".h")):
            text = re.sub(r'"\s*PRI\w+\s*"', "u", blank_comments(tree.read(path)))
            text = re.sub(r'"\s*\n\s*"', "", text)
            for head in map(head_of, re.findall(r'"((?:\\.|[^"\\])*)"', text)):
                parts = CONVERSION.split(head)
                if len(parts) == 1:
                    whole.add(head)
                elif sum(len(part.strip()) for part in parts) > 3:
                    made.add(".+".join(map(re.escape, parts)))
    return whole, re.compile("|".join(sorted(made)) or "(?!)")


def check_stale(tree):
    """A line in the DIAGNOSTICS of a manual that no program writes any more."""
    whole, made = said_heads(tree)
    for path in sorted(tree.paths):
        if path.startswith(PRODUCT) and re.search(r"\.[18]$", path):
            for level, item in diagnostics(tree.read(path)):
                head = head_of(item)
                if level and head not in whole and not made.fullmatch(head):
                    yield f"{path}:1: no program writes \"{level}: {head}\""


def check_manual(tree, build_dir, path, program):
    items = list(diagnostics(tree.read(path)))
    sources = [Source(source, tree.read(source))
               for source in sorted(set(linked_sources(build_dir, program))) if source in tree.paths]
    for source, number, levels, event in sorted(used_log_lines(sources)):
        for level in levels:
            if (path, event) not in NEVER and not is_told(items, level, event):
                yield (f"{source}:{number}: the line \"{level or 'any'}: {event}\" is not in the DIAGNOSTICS"
                       f" of {path}")


def check_manuals(tree, build_dir):
    for path in sorted(tree.paths):
        program = re.sub(r"\.[18]$", "", path)
        if (path.startswith(PRODUCT) and program != path
                and os.path.isfile(os.path.join(build_dir, program))):
            yield from check_manual(tree, build_dir, path, program)


def check_sections(tree):
    manuals = [path for path in sorted(tree.paths) if path.startswith(PRODUCT) and re.search(r"\.[1-8]$", path)]
    sections = {}
    for path in manuals:
        name, section = os.path.basename(path).rsplit(".", 1)
        sections.setdefault(name, set()).add(section)
    for path in manuals:
        for number, line in enumerate(tree.read(path).splitlines(), 1):
            found = re.match(r"\.Xr (\S+) (\S+)", line)
            if found and found[1] in sections and found[2] not in sections[found[1]]:
                yield f"{path}:{number}: no {found[1]}({found[2]})"


def main(arguments):
    if len(arguments) not in (1, 2):
        sys.exit("usage: prose.py SOURCE-DIRECTORY [BUILD-DIRECTORY]")
    tree = Tree(arguments[0])
    findings = [*check_comments(tree), *check_pages(tree), *check_architecture(tree),
                *check_glossary(tree), *check_figures(tree), *check_stale(tree), *check_sections(tree)]
    if len(arguments) == 2:
        findings += check_manuals(tree, arguments[1])
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
