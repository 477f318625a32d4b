# SPDX-License-Identifier: GPL-3.0-or-later
"""
usersload.py - the program users-load (bench/users-load): its command lines, and what it says.

Flow: bench/mail-users -> Load -> users-load fill, verify and run in front of a server -> a dict of its JSON.

An address is (host, port). at("begin", seconds) and at("end", seconds) are called when the window has begun and ended
by the clock, so that counters are read then; the seconds are those of processors that the load has had.
"""
import json
import os
import subprocess
import sys
import time

sys.path.insert(1, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from replays import ROOT, Failure  # noqa: E402  (of bench)

WORKLOAD = os.path.join(ROOT, "bench", "enterprise.workload")
TICKS = os.sysconf("SC_CLK_TCK")
# Beyond window and drain, for a load on a machine that does not keep up.
PATIENCE_S = 240
# Of users: an option of the command, or what the server has.
NAMES = ("domain", "password", "name", "login", "prefix", "tls", "remote_domain")


def text_of(address):
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def cpu_s(pid):
    """User and system, since it began."""
    with open(f"/proc/{pid}/stat", encoding="latin-1") as file:
        words = file.read().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / TICKS


def stop(process):
    process.kill()
    process.wait()


class Load:
    """users-load before one server, whose mailboxes it has filled."""

    def __init__(self, options, server, directory):
        self.options, self.server, self.directory = options, server, directory
        self.known = {"domain": server.domain, "remote_domain": server.remote, "password": server.password,
                      "name": server.name_template}
        self.program = os.path.join(options.programs, "bench", "users-load", "users-load")

    def command(self, verb, *more):
        options = self.options
        words = [self.program, verb, "--workload", options.workload, "--seed", options.seed, "--scale", options.scale]
        for name in NAMES:
            value = getattr(options, name) or self.known.get(name)
            if value and (name != "remote_domain" or verb == "run"):
                words += [f"--{name.replace('_', '-')}", value]
        return [str(word) for word in (*words, *more)]

    def call(self, verb, *more, timeout_s):
        done = subprocess.run(self.command(verb, *more), capture_output=True, text=True, check=False,
                              timeout=timeout_s)
        if done.returncode != 0:
            raise Failure(f"users-load {verb}: {last_line(done.stderr or done.stdout) or done.returncode}")
        return done.stdout

    def fill(self, users):
        if self.options.fill_by == "lmtp":
            door = ("--lmtp", text_of(self.server.lmtp))
        else:
            door = ("--imap", text_of(self.server.imap))
        return self.call("fill", *door, "--users", users, timeout_s=3600)

    def verify(self, users, is_after=False):
        return self.call("verify", "--imap", text_of(self.server.imap), "--users", users,
                         *(("--after",) if is_after else ()), timeout_s=3600)

    def run(self, mailboxes, rate, window_s, at):
        """What users-load says of a window."""
        options = self.options
        path = os.path.join(self.directory, "result.json")
        doors = ["--imap", text_of(self.server.imap), "--smtp", text_of(self.server.smtp),
                 "--submit", text_of(self.server.submit)]
        if self.server.sink:
            doors += ["--sink", text_of(self.server.sink)]
        command = self.command("run", *doors, "--users", mailboxes, "--rate", f"{rate:.6g}", "--warmup", options.warmup,
                               "--window", f"{window_s:.6g}", "--drain", options.drain, "--result", path)
        said_path = os.path.join(self.directory, "users-load.log")
        with open(said_path, "w+", encoding="utf-8", errors="replace") as said, \
                subprocess.Popen(command, stdout=said, stderr=said) as process:
            try:
                follow(process, options.warmup, window_s, at)
                process.wait(timeout=options.drain + PATIENCE_S)
            finally:
                if process.poll() is None:
                    stop(process)
            said.seek(0)
            if process.returncode != 0:
                raise Failure(f"users-load run: {last_line(said.read()) or process.returncode}")
        with open(path, encoding="utf-8") as file:
            return json.load(file)


def follow(process, warmup_s, window_s, at):
    """Tells begin and end of the window; of a load that ends before, with the seconds that it was last seen with."""
    seen_s = 0
    for name, seconds in (("begin", warmup_s), ("end", window_s)):
        end = time.monotonic() + seconds
        while process.poll() is None:
            seen_s = cpu_s(process.pid)
            if time.monotonic() >= end:
                break
            time.sleep(min(0.25, max(0, end - time.monotonic())))
        at(name, seen_s)


def last_line(text):
    return (text.strip().splitlines() or [""])[-1]


def parameters(options):
    """Lines of a table: names, values and sources."""
    program = os.path.join(options.programs, "bench", "users-load", "users-load")
    done = subprocess.run([program, "workload", "--markdown", "--workload", options.workload], capture_output=True,
                          text=True, check=False, timeout=60)
    if done.returncode != 0:
        raise Failure(f"users-load workload: {last_line(done.stderr) or done.returncode}")
    return done.stdout.splitlines()
