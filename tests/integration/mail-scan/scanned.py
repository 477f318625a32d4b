# SPDX-License-Identifier: GPL-3.0-or-later
"""
scanned.py - signatures for programs that scan mails, and mails for them.

Flow: a test -> compile_signatures(case) -> "signatures:" of a configuration; mail_with() -> a mail
      with a file in it.

EICAR is put together when it is needed: see clamd.py.
"""

import base64
import io
import os
import subprocess
import tarfile
import zipfile

import harness
from clamd import clamav_database

MAIL_SCAN = os.path.join(harness.BUILD, "integration/mail/mail-scan/mail-scan")


def compile_signatures(case, name="mail.signatures", directory=None):
    """Of a directory in ClamAV's formats; without one, of EICAR and a marker. Their path."""
    path = case.path(name)
    directory = directory or clamav_database(case, f"{name}.db")
    lists = sorted(os.path.join(directory, entry) for entry in os.listdir(directory))
    done = subprocess.run([MAIL_SCAN, "compile", "-o", path, *lists], capture_output=True,
                          check=False, timeout=3 * harness.DEADLINE_S)
    case.assertEqual(done.returncode, 0, done.stderr)
    os.chmod(path, 0o644)
    return path


def in_zip(content, name="eicar.com"):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return out.getvalue()


def in_tar(content, name="eicar.com"):
    """With bzip2, which is opened in a process apart."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:bz2") as archive:
        member = tarfile.TarInfo(name)
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return out.getvalue()


def mail_with(content, name, boundary="=_bound"):
    """A mail with a text and a file, as a string whose lines end with LF."""
    encoded = base64.encodebytes(content).decode()
    return (f"From: a@example.net\nTo: inbox@example.com\nSubject: a file\nMIME-Version: 1.0\n"
            f"Date: Thu, 26 Nov 2026 08:00:00 +0000\nMessage-Id: <1@example.net>\n"
            f"Content-Type: multipart/mixed; boundary=\"{boundary}\"\n\n"
            f"--{boundary}\nContent-Type: text/plain\n\nHello.\n"
            f"--{boundary}\nContent-Type: application/octet-stream; name=\"{name}\"\n"
            f"Content-Transfer-Encoding: base64\n"
            f"Content-Disposition: attachment; filename=\"{name}\"\n\n{encoded}"
            f"--{boundary}--\n")
