# SPDX-License-Identifier: GPL-3.0-or-later
"""
parking.py - connections that stay where they are, before smtp-front, and what they cost.

Flow: bench/smtp -> PARTS: clear connections from far away (bench/smtp-load that does not
      leave), connections under TLS from nearby (they have to be made one by one) -> Parked.
"""
import collections
import concurrent.futures
import os
import ssl
import statistics

from mailservers import Arm, Front, figures  # of bench, which finds it
from replays import Failure
from front import Client  # found by mailservers.py
from harness import wait_for  # found by replays.py

CLEAR, TLS = "in the clear, behind EHLO", "TLS, behind EHLO"
EDGES = 4
EACH_MAX = 15000  # connections of a process: root may be forbidden to have more descriptors
PARK_RATE = 3000
HOLD_S = 600
GOOD_RATE = 200
TLS_PARALLEL = 16

Parked = collections.namedtuple("Parked", "name count kib kernel_kib p99_ms quiet_p99_ms")


def start_front(place, name, sessions, **sections):
    """sessions are at most three quarters of what it may have: beyond, it hurries clients."""
    front = Front(place, name, **{
        "front": {"edges": EDGES, "workers": 20, "sessions": int(sessions / EDGES * 4 / 3) + 500},
        "sink": {"kind": "null", "to": None}, **sections})
    return front, Arm(name, [front.counted], front.address)


def resident_kib(front):
    total = 0
    for pid in [front.process.pid, *front.process.children()]:
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            total += next(int(line.split()[1]) for line in file if line.startswith("VmRSS:"))
    return total


def kernel_kib():
    with open("/proc/meminfo", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Slab:"))


def descriptors(front):
    return sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in front.processes()["edge"])


def wait_until_parked(front, arm, before, count, processes=()):
    def look():
        for process in processes:
            if process.poll() is not None:
                raise Failure(f"clients have ended: {process.communicate()}")
        return descriptors(front) - before >= count

    wait_for(look, f"{count} connections", HOLD_S)
    arm.settle()
    if descriptors(front) - before < count:
        raise Failure(f"of {count} connections some have ended:\n{front.log()[-2000:]}")


# ---- clients ----


def park_clear(place, front, count):
    """Processes that keep them; from many addresses, as a port has room for 64,000 of one only."""
    path = place.case.write("parked-clients", "".join(
        f"10.64.{number >> 8}.{number & 255}\n" for number in range(1, 4001)))
    processes = []
    while count > 0:
        share = min(count, EACH_MAX)
        count -= share
        processes.append(place.start_load(
            front.address, rate=PARK_RATE * share / (share + count) / (1 + count // EACH_MAX),
            sessions=share, open_max=share, unfinished=1, leave_after="helo", hold=HOLD_S,
            drain=HOLD_S, timeout=HOLD_S, tell="bind", clients=path, seed=len(processes)))
    return processes


def park_one(context, address):
    """A socket under TLS, behind EHLO."""
    client = Client(address)
    client.hello()
    client.say("STARTTLS", 220)
    client.socket = context.wrap_socket(client.socket)
    client.say("EHLO client.example.net", 250)
    return client


def park_tls(front, count):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with concurrent.futures.ThreadPoolExecutor(TLS_PARALLEL) as pool:
        return list(pool.map(lambda _: park_one(context, front.address), range(count)))


# ---- measuring ----


def good_p99_ms(place, arm):
    """Of a client nearby; none of its mails may fail."""
    sessions = round(GOOD_RATE * place.options.seconds)
    got = figures(place.start_load(arm.address, is_far=False, rate=GOOD_RATE, sessions=sessions))
    if got["delivered"] != sessions:
        raise Failure(f"{arm.name}: {got['delivered']:.0f} of {sessions} mails delivered")
    return got["mail_p99_ms"]


def compare(place, arm, quiet):
    """(p99 of arm, of quiet): medians of rounds, in turn."""
    found = {arm: [], quiet: []}
    for one in (arm, quiet):
        good_p99_ms(place, one)
    for index in range(2 * place.options.rounds + 1):
        for one in (arm, quiet) if index % 2 == 0 else (quiet, arm):
            found[one].append(good_p99_ms(place, one))
    return statistics.median(found[arm]), statistics.median(found[quiet])


def measure_clear(place):
    count = place.options.clear
    front, arm = start_front(place, "front-parked", count)
    _, quiet = start_front(place, "front-quiet", count)
    for one in (arm, quiet):
        good_p99_ms(place, one)
    arm.settle()
    files, resident, kernel = descriptors(front), resident_kib(front), kernel_kib()
    processes = park_clear(place, front, count)
    try:
        wait_until_parked(front, arm, files, count, processes)
        sizes = ((resident_kib(front) - resident) / count, (kernel_kib() - kernel) / count)
        quantiles = compare(place, arm, quiet)
        if descriptors(front) - files < count:
            raise Failure("parked connections have ended while the good client was there")
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    return Parked(CLEAR, count, *sizes, *quantiles)


def measure_tls(place):
    count = place.options.tls
    front, arm = start_front(place, "front-tls", 2 * count,
                             tls={"certificates": [":".join(place.case.make_certificate("mx.example.com"))]})
    first = park_tls(front, EDGES)
    arm.settle()
    files, resident, kernel = descriptors(front), resident_kib(front), kernel_kib()
    clients = park_tls(front, count)
    try:
        wait_until_parked(front, arm, files, count)
        return Parked(TLS, count, (resident_kib(front) - resident) / count,
                      (kernel_kib() - kernel) / count, 0, 0)
    finally:
        for client in first + clients:
            client.close()


# TLS first: of 50,000 sockets the kernel does not let go at once, and its memory is compared.
PARTS = {TLS: measure_tls, CLEAR: measure_clear}
