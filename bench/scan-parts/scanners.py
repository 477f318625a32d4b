# SPDX-License-Identifier: GPL-3.0-or-later
"""
scanners.py - clamd and clamsmtp under counters, and signatures that they and ours have.

Flow: bench/scan and bench/site take_signatures() -> start_clamd() -> start_clamsmtp() before a next hop.

place is one of mailservers.py, or has the same: case, on_core() and environment.
"""
import hashlib
import os
import random
import subprocess
import sys

sys.path.insert(1, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from mailservers import Arm, Counted  # noqa: E402  (of bench, as is the next)
from replays import Failure  # noqa: E402
import clamd  # noqa: E402  (found by replays.py, as are the next)
import harness  # noqa: E402
from harness import wait_for  # noqa: E402

CLAMD = """\
Foreground yes
LocalSocket {socket}
LocalSocketMode 666
DatabaseDirectory {database}
TemporaryDirectory {directory}
StreamMaxLength 200M
MaxScanSize 400M
MaxFileSize 200M
MaxThreads 4
SelfCheck 0
DisableCache yes
"""

CLAMSMTP = """\
OutAddress: {next_host}:{next_port}
Listen: {host}:{port}
ClamAddress: {clamd}
TempDirectory: {directory}
Action: bounce
MaxConnections: 1000
"""


# ---- signatures ----


def eicar():
    return clamd.eicar()


def own_signatures():
    """{name of a file: text}, in ClamAV's formats, for who has no others."""
    drawn = random.Random(20250102)
    whole = eicar()
    bodies = [f"Eicar-Test-Signature:0:*:{whole.hex()}"]
    hashes = [f"{hashlib.md5(whole).hexdigest()}:{len(whole)}:Eicar-Test-Signature"]
    for number in range(300):
        first = drawn.randbytes(drawn.randrange(12, 40))
        second = drawn.randbytes(drawn.randrange(8, 24))
        between = ("", "*", "??", "{4-16}")[number % 4]
        bodies.append(f"Bench.Body-{number}:0:*:{first.hex()}{between}{second.hex()}")
        size = drawn.randrange(100, 1 << 20)
        hashes.append(f"{drawn.randbytes(16).hex()}:{size}:Bench.Hash-{number}")
    return {"bench.ndb": "\n".join(bodies) + "\n", "bench.hdb": "\n".join(hashes) + "\n"}


def take_signatures(case, source):
    """A directory that clamd may read, with the lists of source or, with None, the bench's own."""
    directory = open_directory(case, "signatures")
    if source is None:
        for name, text in own_signatures().items():
            case.write(os.path.join("signatures", name), text)
        return directory
    for name in sorted(os.listdir(source)):
        if name.endswith(("db", "fp", "ign2")):
            with open(os.path.join(source, name), "rb") as file:
                case.write(os.path.join("signatures", name), file.read())
    case.write("signatures/bench.ndb", f"Eicar-Test-Signature:0:*:{eicar().hex()}\n")
    return directory


def compile_signatures(database, path):
    """For ours. What mail-scan says of them: its table."""
    said = subprocess.run(
        [harness.program("mail-scan"), "compile", "--output", path,
         *(os.path.join(database, name) for name in sorted(os.listdir(database)))],
        capture_output=True, text=True, check=True, timeout=600)
    os.chmod(path, 0o644)
    return said.stdout


# ---- servers ----


def open_directory(case, name, mode=0o755):
    path = case.path(name)
    os.makedirs(path, exist_ok=True)
    os.chmod(path, mode)
    return path


def await_open(address, what, counted):
    """Or to have ended: then with its last words."""
    def look():
        if counted.process.popen.poll() is not None:
            raise Failure(f"{what} has ended: {counted.process.log().strip()[-300:]}")
        return harness.is_open(address)

    wait_for(look, f"{what} to listen")


def start_clamd(place, database, name="clamd"):
    """(Counted, path of its socket)"""
    path = place.case.path(f"{name}.sock")
    config = place.case.write(f"{name}.conf", CLAMD.format(
        socket=path, database=database,
        directory=open_directory(place.case, f"{name}-tmp", 0o777)))
    counted = Counted(place, [harness.peer("clamd"), "--config-file", config], name)
    wait_for(lambda: os.path.exists(path), "clamd to have its signatures", 300)
    return counted, path


def start_clamsmtp(place, name, asked, next_hop):
    """asked is what start_clamd() has returned, whose cost is among its own."""
    address = host, port = place.case.free_address()
    config = place.case.write("clamsmtpd.conf", CLAMSMTP.format(
        clamd=asked[1], host=host, port=port, next_host=next_hop[0], next_port=next_hop[1],
        directory=open_directory(place.case, "clamsmtp", 0o777)))
    counted = Counted(place, [harness.peer("clamsmtpd"), "-f", config, "-d", "1"], "clamsmtpd")
    await_open(address, name, counted)
    return Arm(name, [counted, asked[0]], address)
