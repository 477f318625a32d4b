#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prints the rooms of the tree, and fails when one is too large or its files know each other.

    rooms.py SOURCE-DIRECTORY

A room is a directory with C sources of the product, and a module what lies there by one name, a .c
and its .h. A line for each room has its files, its modules; the floors, which are how many
modules stand on each other by their includes; the arrows to other rooms of the folder, and how many
of them run back up, against the order in walls.py; and circles, modules that include
each other. Any of these is an error, with a line of its own: more than 28 files, more
than 7 floors, an arrow back up, a circle that HACKING.md does not name with its reason, and one that
it names and that is gone.

Tests and benchmarks have rooms too, which are any directory with sources, scripts included: only
their files are counted. Of tests/integration a module may import what lies beside it and in
base/, and no test. What patch and editors leave behind is an error in any directory but builds.
"""

import ast
import os
import re
import sys

import walls  # beside this file

FOLDERS = ("lib", "server", "zone-tools", "client-lib", "integration")
FILES_MAX, FLOORS_MAX = 28, 7
TEST_FOLDERS = ("tests", "bench")
LEFT_BEHIND = (".orig", ".rej", "~")
TEST_SUFFIXES = (".c", ".h", ".cc", ".hh", ".py", ".sh")


def read_permitted(source_dir):
    """{(directory, modules)} of the table of circles in HACKING.md."""
    with open(os.path.join(source_dir, "HACKING.md"), encoding="utf-8") as file:
        rows = re.findall(r"^\| `([\w/-]+)` \| ([\w, ]+) \| \S.* \|$", file.read(), re.MULTILINE)
    return {(place, names) for place, names in rows}


def read_rooms(source_dir):
    """{directory: {module: set of included paths}}"""
    rooms = {}
    for folder in FOLDERS:
        for directory, _, names in os.walk(os.path.join(source_dir, folder)):
            place = os.path.relpath(directory, source_dir)
            for name in names:
                if not name.endswith((".c", ".h")):
                    continue
                module = rooms.setdefault(place, {}).setdefault(name[:-2], [0, set()])
                module[0] += 1
                with open(os.path.join(directory, name), encoding="latin-1") as file:
                    module[1] |= {found.group(1) for found in
                                  re.finditer(r'^\s*#\s*include\s*"([^"]+)"', file.read(), re.MULTILINE)}
    return rooms


def inner_arrows(place, modules):
    """{module: modules of the same room that it includes}"""
    return {name: {path[len(place) + 1:-2] for path in paths
                   if os.path.dirname(path) == place and path[len(place) + 1:-2] in modules} - {name}
            for name, (_, paths) in modules.items()}


def circles(arrows):
    """Sets of modules that reach each other."""
    def reach(first):
        seen, left = set(), [first]
        while left:
            for used in arrows[left.pop()] - seen:
                seen.add(used)
                left.append(used)
        return seen

    reached = {name: reach(name) for name in arrows}
    found = {frozenset(other for other in reached[name] if name in reached[other])
             for name in arrows if name in reached[name]}
    return sorted(sorted(each) for each in found)


def count_floors(arrows, found):
    """A circle counts as one module."""
    one_of = {name: each[0] for each in found for name in each}
    merged = {}
    for name, used in arrows.items():
        own = one_of.get(name, name)
        merged.setdefault(own, set()).update(one_of.get(each, each) for each in used)
    floors = {}

    def floor(name):
        if name not in floors:
            floors[name] = 1 + max((floor(used) for used in merged[name] - {name}), default=0)
        return floors[name]

    return max(map(floor, merged))


def outer_arrows(place, modules):
    """(to another room of the folder, of those back up)"""
    row_name = walls.row_of(place + "/file")
    used = {path for _, paths in modules.values() for path in paths
            if walls.row_of(path) == row_name and os.path.dirname(path) != place}
    return len(used), sum(not walls.may_use_room(row_name, place + "/file", path) for path in used)


def is_source(path):
    """By its suffix; without one, a script."""
    if path.endswith(TEST_SUFFIXES):
        return True
    if "." in os.path.basename(path):
        return False
    with open(path, "rb") as file:
        return file.read(2) == b"#!"


def read_test_rooms(source_dir):
    """{directory: names of sources}"""
    rooms = {}
    for folder in TEST_FOLDERS:
        for directory, _, names in os.walk(os.path.join(source_dir, folder)):
            found = [name for name in names if is_source(os.path.join(directory, name))]
            if found:
                rooms[os.path.relpath(directory, source_dir)] = found
    return rooms


def imports_of(path):
    """Names of the modules that a Python file imports, anywhere in it."""
    with open(path, encoding="utf-8") as file:
        for node in ast.walk(ast.parse(file.read())):
            if isinstance(node, ast.Import):
                yield from (each.name for each in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield node.module


def faults_of_test_rooms(source_dir, rooms):
    home = {name[:-3]: place for place, names in rooms.items() for name in names
            if place.startswith("tests/integration/") and name.endswith(".py")}
    for place, names in sorted(rooms.items()):
        if len(names) > FILES_MAX:
            yield f"{place}: {len(names)} files are more than {FILES_MAX}"
        for name in sorted(names):
            if home.get(name[:-3]) != place:
                continue
            for used in imports_of(os.path.join(source_dir, place, name)):
                if used.startswith("test_"):
                    yield f"{place}/{name}: imports the test {used}"
                elif home.get(used, place) not in (place, "tests/integration/base"):
                    yield f"{place}/{name}: imports {used} of {home[used]}"


def left_behind(source_dir):
    for directory, inner, names in os.walk(source_dir):
        if directory == source_dir:
            inner[:] = [name for name in inner if name != ".git" and not name.startswith("build")]
        for name in names:
            if name.endswith(LEFT_BEHIND):
                yield f"{os.path.relpath(os.path.join(directory, name), source_dir)}: left behind by patch or an editor"


def main():
    is_broken = False
    permitted = read_permitted(sys.argv[1])
    print(f"{'room':32} files modules floors arrows back circles")
    for place, modules in sorted(read_rooms(sys.argv[1]).items()):
        arrows = inner_arrows(place, modules)
        found = circles(arrows)
        files = sum(count for count, _ in modules.values())
        floors = count_floors(arrows, found)
        out, back = outer_arrows(place, modules)
        print(f"{place:32} {files:5} {len(modules):7} {floors:6} {out:6} {back:4} {len(found):7}")
        reasons = [f"{files} files are more than {FILES_MAX}"] if files > FILES_MAX else []
        if floors > FLOORS_MAX:
            reasons.append(f"{floors} floors are more than {FLOORS_MAX}")
        if back:
            reasons.append(f"{back} arrows run back up")
        named = {(place, ", ".join(each)) for each in found}
        reasons += [f"HACKING.md has no reason for a circle of {names}"
                    for _, names in sorted(named - permitted)]
        permitted -= named
        for reason in reasons:
            is_broken = True
            print(f"{place}: {reason}", file=sys.stderr)
    for place, names in sorted(permitted):
        is_broken = True
        print(f"HACKING.md: there is no circle of {names} in {place}", file=sys.stderr)
    test_rooms = read_test_rooms(sys.argv[1])
    for place, names in sorted(test_rooms.items()):
        print(f"{place:32} {len(names):5}")
    for fault in sorted((*faults_of_test_rooms(sys.argv[1], test_rooms), *left_behind(sys.argv[1]))):
        is_broken = True
        print(fault, file=sys.stderr)
    sys.exit(1 if is_broken else 0)


if __name__ == "__main__":
    main()
