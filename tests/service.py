#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
service.py - as much of a service manager as tests/package needs.

    service.py ROOT UNIT [SOCKET_UNIT]

Runs ExecStart of a service unit that is installed below ROOT, in ROOT, as the
user and with the capabilities that the unit says, and with the sockets of
SOCKET_UNIT. Prints what the service says to its manager, one line for each
state; what it logs is beside that. SIGTERM goes on to the service, SIGHUP runs
ExecReload. Exits as the service does. Sandboxing is left to systemd, which a
chroot does not have.
"""

import os
import select
import shlex
import signal
import socket
import subprocess
import sys

UNITS = "lib/systemd/system"
NOTIFY = f"run/notify-{os.getpid()}"  # several may run at a time


def read_unit(root, name):
    """{"ExecStart": ["..."], ...}; for an instance its template, with %i filled in."""
    stem, _, suffix = name.rpartition(".")
    template, at, instance = stem.partition("@")
    settings = {}
    with open(os.path.join(root, UNITS, f"{template}{at}.{suffix}"), encoding="utf-8") as file:
        for line in file:
            key, equals, value = line.strip().partition("=")
            if equals and not key.startswith("#"):
                settings.setdefault(key, []).append(value.replace("%i", instance))
    return settings


def open_sockets(unit):
    """In the order of the unit, as sd_listen_fds(3) has them."""
    kinds = {"ListenDatagram": socket.SOCK_DGRAM, "ListenStream": socket.SOCK_STREAM}
    opened = []
    for key, kind in kinds.items():
        for address in unit.get(key, []):
            host, _, port = address.rpartition(":")
            family = socket.AF_INET6 if host.startswith("[") else socket.AF_INET
            made = socket.socket(family, kind)
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY,
                                unit["BindIPv6Only"] == ["ipv6-only"])
            made.bind((host.strip("[]"), int(port)))
            if kind == socket.SOCK_STREAM:
                made.listen(128)
            opened.append(made)
    return opened


def privileges(unit):
    """Arguments of setpriv(1)."""
    capabilities = "".join(f",+{name.removeprefix('CAP_').lower()}"
                           for name in unit.get("AmbientCapabilities", [""])[0].split())
    return ["setpriv", f"--reuid={unit['User'][0]}", f"--regid={unit['Group'][0]}", "--init-groups",
            f"--inh-caps=-all{capabilities}", f"--ambient-caps=-all{capabilities}",
            f"--bounding-set=-all{capabilities}", "--no-new-privs", "--"]


def expand(command, unit):
    """A command line with the variables of Environment=."""
    variables = dict(value.split("=", 1) for value in unit.get("Environment", []))
    words = []
    for word in shlex.split(command):
        words += shlex.split(variables[word[1:]]) if word[1:] in variables else [word]
    return words


def become(root, unit, sockets):
    """In the child: the service."""
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8",
                   "NOTIFY_SOCKET": "/" + NOTIFY}
    if sockets:
        environment.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(len(sockets)))
    high = [os.dup2(made.fileno(), 100 + index) for index, made in enumerate(sockets)]
    os.closerange(3, 100)
    for index, fd in enumerate(high):
        os.dup2(fd, 3 + index)
    os.closerange(100, 100 + len(high))
    os.umask(int(unit["UMask"][0], 8))
    os.chroot(root)
    os.chdir("/")
    os.execvpe("setpriv", privileges(unit) + expand(unit["ExecStart"][0], unit), environment)


def make_directories(root, unit):
    """Below /run; systemd would remove them at the end."""
    for name in unit.get("RuntimeDirectory", []):
        path = os.path.join(root, "run", name)
        os.makedirs(path, exist_ok=True)
        chown = ["chown", f"{unit['User'][0]}:{unit['Group'][0]}", f"/run/{name}"]
        subprocess.run(["chroot", root, *chown], check=True)


def reload(unit, pid):
    os.system(unit["ExecReload"][0].replace("$MAINPID", str(pid)))


def watch(pid, notify):
    """Until the service has ended; its exit status."""
    while True:
        if select.select([notify], [], [], 0.05)[0]:
            print("notify:", notify.recv(4096).decode().replace("\n", " "), flush=True)
            continue
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)


def main():
    root, name, *socket_names = sys.argv[1:]
    unit = read_unit(root, name)
    sockets = open_sockets(read_unit(root, socket_names[0])) if socket_names else []
    path = os.path.join(root, NOTIFY)
    notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    notify.bind(path)
    os.chmod(path, 0o666)
    make_directories(root, unit)
    pid = os.fork()
    if pid == 0:
        try:
            become(root, unit, sockets)
        finally:
            os._exit(126)
    signal.signal(signal.SIGTERM, lambda *_: os.kill(pid, signal.SIGTERM))
    signal.signal(signal.SIGHUP, lambda *_: reload(unit, pid))
    status = watch(pid, notify)
    os.unlink(path)
    sys.exit(128 - status if status < 0 else status)


if __name__ == "__main__":
    main()
