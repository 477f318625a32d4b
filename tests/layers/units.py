#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fails when a unit of systemd would give its service up during a fault that passes.

    units.py SOURCE-DIRECTORY

By systemd's own values a service that has ended five times in ten seconds stays down. A unit with
Restart= has no such limit, waits a second between two starts, and is not started again after wrong
options or a wrong configuration. Each finding is one line; any is exit status 1.
"""

import configparser
import os
import sys

import walls

WANTED = {("Unit", "StartLimitIntervalSec"): "0", ("Service", "Restart"): "on-failure",
          ("Service", "RestartSec"): "1s"}
FINAL = {"64", "78"}


def faults(text):
    unit = configparser.ConfigParser(strict=False, interpolation=None, delimiters="=")
    unit.read_string(text)
    if not unit.has_option("Service", "Restart"):
        return
    for (section, key), value in WANTED.items():
        if unit.get(section, key, fallback="none") != value:
            yield f"[{section}] has no {key}={value}"
    missing = FINAL - set(unit.get("Service", "RestartPreventExitStatus", fallback="").split())
    if missing:
        yield f"RestartPreventExitStatus= lacks {', '.join(sorted(missing))}"


def main():
    count, lines = 0, []
    for path in sorted(walls.source_files(sys.argv[1])):
        if path.endswith((".service", ".service.in")):
            count += 1
            with open(os.path.join(sys.argv[1], path), encoding="utf-8") as file:
                lines += [f"{path}: {fault}" for fault in faults(file.read())]
    print("\n".join(lines) if lines else f"{count} units")
    return 1 if lines or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
