# SPDX-License-Identifier: GPL-3.0-or-later
"""
clamd.py - the real clamd with a database of a few lines, which it has read in a moment.

Flow: a test -> start_clamd(case) -> the path of its socket; signatures(case) is the same for our
      own matcher; eicar() is what both find.
"""

import hashlib
import os
import subprocess

from harness import DEADLINE_S, peer, program

# In halves, so that no scanner takes this file for it.
EICAR_HALVES = (rb"X5O!P%@AP[4\PZX54(P^)7CC)7}$EICAR-", b"STANDARD-ANTIVIRUS-TEST-FILE!$H+H*")
MARKER = "this-is-found-by-a-marker-of-the-test"

CONFIG = """\
Foreground yes
LocalSocket {directory}/clamd.sock
LocalSocketMode 666
DatabaseDirectory {directory}/clamd.db
TemporaryDirectory {directory}
StreamMaxLength {stream_max}
MaxThreads 4
SelfCheck 0
"""


def eicar():
    return b"".join(EICAR_HALVES)


def clamav_database(case, name="clamd.db"):
    """A directory of signatures in ClamAV's formats: EICAR whole, and a marker anywhere."""
    directory = case.path(name)
    os.mkdir(directory)
    os.chmod(directory, 0o755)
    case.write(f"{name}/test.hdb",
               f"{hashlib.md5(eicar()).hexdigest()}:{len(eicar())}:Eicar-Test-Signature\n")
    case.write(f"{name}/test.ndb",
               f"Eicar-Test-Signature:0:*:{eicar().hex()}\nTest.Marker-1:0:*:{MARKER.encode().hex()}\n")
    return directory


def signatures(case, directory=None):
    """The same, compiled by mail-scan. Returns the path."""
    directory = directory or clamav_database(case, "signatures.db")
    path = case.path("mail.signatures")
    subprocess.run([program("mail-scan"), "compile", "--output", path,
                    *(os.path.join(directory, name) for name in sorted(os.listdir(directory)))],
                   check=True, capture_output=True, timeout=5 * DEADLINE_S)
    os.chmod(path, 0o644)
    return path


def start_clamd(case, stream_max="25M"):
    """(process, path of its socket)"""
    clamav_database(case)
    config = case.write("clamd.conf", CONFIG.format(directory=case.directory,
                                                    stream_max=stream_max))
    process = case.start([peer("clamd"), "--config-file", config], "clamd")
    process.wait_for_log("Listening daemon|Self checking|LOCAL: Unix socket file")
    path = case.path("clamd.sock")
    return process, path
