#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fails when a name or a number of the product means two things.

    names.py SOURCE-DIRECTORY

A function that is not static has one definition: a grep, a debugger and a test that links two
programs find what is meant. A status from -2999 to -2000 has one name, whichever header says it:
errors pass from library to library. Each collision is one line; any is exit status 1.
"""

import os
import re
import sys

FOLDERS = ("lib", "server", "zone-tools", "client-lib", "integration")

# Each program has its own, and C has no other name for it.
TWICE = {"main"}

# The beginnings of names whose numbers are others' too, in a program that links neither.
NUMBERS_TWICE = ()

DEFINITION = re.compile(r"^(?!static|typedef|extern|return|else)[A-Za-z_][\w \t\n\*]*?[ \*\n](\w+)"
                        r"\(([^;{}#]*?)\)\s*\n\{", re.MULTILINE)
STATUSES = (re.compile(r"#define\s+(\w+)\s+\(?(-2\d{3})\)?\s"),
            re.compile(r"\bX\((\w+),\s*(-2\d{3}),"),
            re.compile(r"^\s*(\w+) = (-2\d{3})\b", re.MULTILINE))


def sources(top, suffixes):
    """The text of each file of the product."""
    for folder in FOLDERS:
        for directory, _, files in sorted(os.walk(os.path.join(top, folder))):
            for name in sorted(files):
                if name.endswith(suffixes):
                    path = os.path.join(directory, name)
                    with open(path, encoding="utf-8") as file:
                        yield os.path.relpath(path, top), file.read()


def functions(texts):
    """
    The files that define each function that is not static; one may have it for two systems, and
    X_none.c is what a build without a library has in X.c's place.
    """
    found = {}
    for path, text in texts:
        if path.endswith("_none.c"):
            continue
        for match in DEFINITION.finditer(text):
            found.setdefault(match[1], set()).add(path)
    return found


def statuses(texts):
    """The names of each number."""
    found = {}
    for path, text in texts:
        for pattern in STATUSES:
            for match in pattern.finditer(text):
                if not match[1].startswith(NUMBERS_TWICE):
                    found.setdefault(int(match[2]), {})[match[1]] = path
    return found


def collisions(top):
    """What is wrong, one line each."""
    defined = functions(sources(top, (".c",)))
    for name, paths in sorted(defined.items()):
        if len(paths) > 1 and name not in TWICE:
            yield f"function {name} is defined in {' and in '.join(sorted(paths))}"
    for number, names in sorted(statuses(sources(top, (".c", ".h"))).items()):
        if len(names) > 1:
            places = " and ".join(f"{name} ({path})" for name, path in sorted(names.items()))
            yield f"status {number} is {places}"


def check_itself():
    """The patterns find what they are for."""
    text = "int a_b(int c)\n{\n}\nstatic int d(void)\n{\n}\nconst char *e(int f,\n\tint g)\n{\n}\n"
    assert list(functions([("x", text)])) == ["a_b", "e"], "functions are not found"
    assert statuses([("x", "#define A (-2100) /* */\nX(B, -2100, \"\")\n")]) == {
        -2100: {"A": "x", "B": "x"}}, "statuses are not found"


def main():
    check_itself()
    lines = list(collisions(sys.argv[1]))
    for line in lines:
        print(line)
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
