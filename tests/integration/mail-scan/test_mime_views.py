#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
The parts of odd mails, as lib/mstream has them, beside Python's email, ripmime and munpack.

Each mail of mime_mails.py goes through all four. Whatever one of the three has taken out of it must be
among the parts of part_events, byte for byte; the text of a mail, whose ends of lines the three
change as they like, line for line. What is not, and why, is DIFFERENCES. Tools that are not installed
are left out.
"""

import email
import functools
import os
import re
import shutil
import subprocess
import tempfile

import harness
import mime_mails
from harness import BUILD, Case

EVENTS = os.path.join(BUILD, "tests/integration/part_events")
SEEDS = (0, 1, 2, 77)

# (mail, without "crlf ", tool): why what it takes out is none of ours.
DIFFERENCES = {
    ("quoted-printable", "munpack"): "it drops each CR, also one that is encoded; =CRLF is a byte ff",
    ("quoted-printable in small letters", "munpack"): "the same",
    ("quoted-printable text", "munpack"): "=CRLF is a byte ff",
    ("a text's coding of blanks", "munpack"): "=es and =ZZ are a byte ff",
    ("base64 with a comment", "python"): "it knows no comment there, and leaves the base64 as it stands",
    ("a boundary without its quote", "python"): "no multipart, and the whole body, as it stands, is one part",
    ("no semicolon", "python"): "the same",
    ("uuencode without an end", "ripmime"): "an empty file",
    ("a NUL in a field's name", "munpack"): "the base64 as it stands, behind what of the name is before the NUL",
    ("quoted-printable with CR CR LF", "ripmime"): "an empty line before it, and one in each soft line break",
    ("quoted-printable with CR CR LF", "munpack"): "the same",
    ("CR CR LF", "ripmime"): "a file of what stands between CR CR and LF",
}


def parse_events(output):
    """[(view, position, coding, is whole, type, name, bytes)] and [(position, oddity)]"""
    parts, odd, at = [], [], 0
    while at < len(output):
        end = output.index(b"\n", at)
        words = output[at:end].decode().split(" ", 7)
        at = end + 1
        if words[0] == "odd":
            odd.append((words[1], " ".join(words[2:])))
            continue
        size = int(words[5])
        parts.append((int(words[1]), words[2], words[3], words[4] == "1", words[6], words[7],
                      output[at:at + size]))
        at += size + 1
    return parts, odd


def lines_of(data):
    return b"\n".join(data.splitlines()).strip()


def is_found(data, is_text, ours, mail):
    """
    A text may also be what stands in the mail as it is, more or less of it: that is what is looked at
    besides its parts. munpack takes the CRLF of an empty line for a line of a body, and ripmime, and
    munpack of CRLF the CR, leave the end of line to a part that RFC 2046, 5.1.1, gives to the delimiter.
    """
    bare = data.removeprefix(b"\r\n")
    if any(one in ours for one in (data, bare, data.removesuffix(b"\n"), data.removesuffix(b"\r\n"), bare.removesuffix(b"\r"))):
        return True
    return is_text and (lines_of(data) in {lines_of(one) for one in ours} or lines_of(data) in lines_of(mail))


def taken_by_python(text, _directory):
    for part in email.message_from_bytes(text).walk():
        if not part.is_multipart():
            yield part.get_content_type(), part.get_payload(decode=True) or b"", \
                part.get_content_maintype() == "text"


def files_below(directory):
    for place, _, names in os.walk(directory):
        for name in sorted(names):
            path = os.path.join(place, name)
            with open(path, "rb") as file:
                yield os.path.relpath(path, directory), file.read()


def run_tool(directory, *command):
    subprocess.run(command, cwd=directory, check=False, timeout=harness.DEADLINE_S,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def taken_by_ripmime(text, directory):
    out = os.path.join(directory, "out")
    os.mkdir(out)
    with open(os.path.join(directory, "mail"), "wb") as file:
        file.write(text)
    run_tool(directory, "ripmime", "-i", "mail", "-d", "out", "-q")
    for name, data in files_below(out):
        yield name, data, name.startswith("textfile")


def taken_by_munpack(text, directory):
    out = os.path.join(directory, "out")
    os.mkdir(out)
    with open(os.path.join(directory, "mail"), "wb") as file:
        file.write(text)
    run_tool(out, "munpack", "-q", "-t", "-f", "../mail")
    for name, data in files_below(out):
        # Without a name of their own they are texts, mostly.
        yield name, data, re.fullmatch(r"part\d+|.*\.desc", name) is not None


TOOLS = {"python": taken_by_python, "ripmime": taken_by_ripmime, "munpack": taken_by_munpack}


@functools.cache
def run_events(text, seed):
    return subprocess.run([EVENTS, str(seed)], input=text, capture_output=True, check=False,
                          timeout=harness.DEADLINE_S)


class MimeViews(Case):
    def read(self, text, seed=0):
        done = run_events(text, seed)
        said = done.stderr.decode()
        self.assertEqual(harness.sanitizer_reports(said), [])
        self.assertEqual(done.returncode, 0, said)
        return parse_events(done.stdout)

    def test_mails_are_enough_and_their_parts_do_not_depend_on_cuts(self):
        self.assertGreaterEqual(len(mime_mails.MAILS), 60)
        for name, text in mime_mails.MAILS.items():
            parts, odd = self.read(text)
            for seed in SEEDS[1:]:
                others, other_odd = self.read(text, seed)
                with self.subTest(mail=name, seed=seed):
                    self.assertEqual(sorted(others), sorted(parts))
                    self.assertEqual(sorted(other_odd), sorted(odd))

    def test_a_payload_is_found_in_each_mail_that_hides_it(self):
        for name, text in mime_mails.MAILS.items():
            if name in mime_mails.WITHOUT_PAYLOAD:
                continue
            with self.subTest(mail=name):
                self.assertIn(mime_mails.PAYLOAD, [part[6] for part in self.read(text)[0]])

    def test_plain_mails_are_not_odd(self):
        for name, text in mime_mails.MAILS.items():
            parts, odd = self.read(text)
            with self.subTest(mail=name):
                self.assertEqual(bool(odd), name in mime_mails.ODD, odd)
                if name not in mime_mails.ODD:
                    self.assertEqual({part[0] for part in parts}, {0})

    def check_tool(self, tool):
        if tool != "python" and shutil.which(tool) is None:
            self.skipTest(f"no {tool}")
        taken_count = 0
        for name, text in mime_mails.MAILS.items():
            if (name.removeprefix("crlf "), tool) in DIFFERENCES:
                continue
            ours = [part[6] for part in self.read(text)[0]]
            with tempfile.TemporaryDirectory() as directory, self.subTest(mail=name, tool=tool):
                for file_name, data, is_text in TOOLS[tool](text, directory):
                    taken_count += 1
                    if is_found(data, is_text, ours, text):
                        continue
                    self.fail(f"{file_name}: {data[:300]!r} ({len(data)} bytes) is not among "
                              f"{[(len(one), one[:80]) for one in ours]}")
        self.assertGreater(taken_count, len(mime_mails.MAILS) / 2)

    def test_what_python_takes_out_is_ours(self):
        self.check_tool("python")

    def test_what_ripmime_takes_out_is_ours(self):
        self.check_tool("ripmime")

    def test_what_munpack_takes_out_is_ours(self):
        self.check_tool("munpack")


if __name__ == "__main__":
    harness.main()
