# SPDX-License-Identifier: GPL-3.0-or-later
"""
mailbox.py - the mails of the tests, and the ways to have exactly them in the mailbox.

Flow: pop3-suite -> Mailbox.fill(name) -> the command of --reset, or DELE and smtplib.
"""

import os
import smtplib
import subprocess
import tempfile
import time

FILL_S = 30


def mail(subject, body, *headers):
    """A mail as bytes with CRLF; body is bytes with CRLF, or text with LF."""
    if isinstance(body, str):
        body = body.replace("\n", "\r\n").encode("ascii")
    head = ["From: Sender <sender@example.net>", "To: user@example.com",
            f"Subject: {subject}", "Date: Mon, 06 Jan 2025 12:00:00 +0000",
            f"Message-ID: <{subject.replace(' ', '-')}@pop3-suite.example.net>", *headers]
    return "\r\n".join(head).encode("utf-8") + b"\r\n\r\n" + body


def _kinds():
    """Mails that are hard to carry, by the test that wants them."""
    long_line = "0123456789" * 99 + "01234567"
    return {
        "dots": mail("dots", ".\n..\n...\n.first\nin.the.middle\n.\n\n.\nlast\n"),
        "dot-last": mail("dot last", "text\n.\n"),
        "dot-first": b".first: no field\r\n" + mail("dot first", "text\n"),
        "long-line": mail("long line", f"{long_line}\n.{long_line[1:]}\nend\n"),
        "very-long-line": mail("very long line", "x" * 20000 + "\nend\n"),
        "eight-bit": mail("eight bit", "Grüße, χαῖρε\r\n".encode(), "MIME-Version: 1.0",
                          "Content-Type: text/plain; charset=utf-8",
                          "Content-Transfer-Encoding: 8bit"),
        "no-body": mail("no body", ""),
        "blank-end": mail("blank end", "text\n\n\n\n"),
        "trailing-blanks": mail("trailing blanks", "one \ntwo\t\n   \n\t\nend\n"),
        "from-line": mail("from line", "\nFrom the first\n>From the second\nFrom nobody Mon Jan  6\n"),
        "large": mail("large", "".join(f"{number:07} a line of a large mail, which has many\n"
                                       for number in range(24000))),
        "utf8-header": mail("Grüße", "text\n", "MIME-Version: 1.0"),
    }


KIND = _kinds()
TWIN = mail("twin", "twice the same\n")
THREE = [mail("one", "first\n"), mail("two", "line 1\nline 2\n.line 3\nline 4\nline 5\n"),
         mail("three", "third\n\nwith a blank line\n")]

SETS = {"empty": [], "three": THREE, "twins": [TWIN, TWIN, TWIN],
        "many": [mail(f"many {number}", f"mail {number}\n") for number in range(1, 121)]}
SETS.update({f"kind-{name}": [text] for name, text in KIND.items()})
SETS["mixed"] = [KIND[name] for name in ("dots", "eight-bit", "no-body", "blank-end", "long-line")]


class CannotFill(Exception):
    """The mailbox could not be put into its state, which is no fault of POP3."""


class Mailbox:
    """What is in the mailbox, by the name of its set; None: not known."""

    def __init__(self, reset, deliver, user):
        self.reset, self.deliver, self.user = reset, deliver, user
        self.state = None

    def fill(self, name, bench):
        """Has exactly the mails of that set; bench deletes and counts where they are delivered."""
        if self.state == name:
            return
        self.state = None
        if self.reset:
            self._run_reset(SETS[name])
        else:
            bench.delete_all()
            self._deliver(SETS[name], bench)
        self.state = name

    def _run_reset(self, mails):
        with tempfile.TemporaryDirectory(prefix="pop3-suite-") as directory:
            for number, text in enumerate(mails, 1):
                with open(os.path.join(directory, f"{number:04}.eml"), "wb") as file:
                    file.write(text)
            os.chmod(directory, 0o755)
            environ = {**os.environ, "POP3_SUITE_MAILS": directory, "POP3_SUITE_USER": self.user}
            try:
                done = subprocess.run(self.reset, shell=True, env=environ, capture_output=True,
                                      text=True, timeout=FILL_S, check=False)
            except subprocess.TimeoutExpired as error:
                raise CannotFill(f"--reset took more than {FILL_S} s") from error
        if done.returncode:
            raise CannotFill(f"--reset ended with {done.returncode}: {done.stderr.strip()[-300:]}")

    def _deliver(self, mails, bench):
        kind, address, recipient = self.deliver
        host, _, port = address.rpartition(":")
        try:
            with (smtplib.LMTP if kind == "lmtp" else smtplib.SMTP)(
                    *((address, 0) if address.startswith("/") else (host, int(port))),
                    timeout=FILL_S) if kind == "lmtp" or mails else _Nothing() as session:
                for number, text in enumerate(mails, 1):
                    session.sendmail("sender@example.net", [recipient], text, ["BODY=8BITMIME"])
                    if kind == "smtp":
                        # A queue may turn them round.
                        _await(lambda wanted=number: bench.count() == wanted)
        except (OSError, smtplib.SMTPException) as error:
            raise CannotFill(f"--deliver-{kind}: {error}") from error
        _await(lambda: bench.count() == len(mails))


class _Nothing:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


def _await(condition):
    end = time.monotonic() + FILL_S
    while not condition():
        if time.monotonic() > end:
            raise CannotFill("what was delivered is not in the mailbox")
        time.sleep(0.1)
