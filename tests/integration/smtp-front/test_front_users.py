#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
smtp-front-users as an operator has it: lists in, answers out, and nothing lost by a list that is
bad, by a disk that is full or by a kill.
"""

import base64
import ctypes
import ctypes.util
import hashlib
import hmac
import os
import pty
import re
import shutil
import signal
import sqlite3
import subprocess
import termios
import unittest

from front import Front
from harness import (DEADLINE_S, EX_DATAERR, EX_IOERR, EX_NOPERM, EX_USAGE, SOURCE, Case, main, program,
                     sanitizer_reports, wait_for)

EX_NOINPUT = 66
GOOD = "john@example.org\n@example.com # all of it\ndomain example.net\n"
WITH_SETTINGS = ("john@example.org keep=2160h messages=10000\toctets=500M # the boss\n"
                 "mary@example.org octets=0\n@example.com octets=2G\n")
HASH = "$6$saltsalt$" + "x" * 86
KEYS = ("SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:"
        "wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=")
MANUAL = os.path.join(SOURCE, "integration/mail/smtp-front/smtp-front-users.8")


def make_version_1(path):
    """The version is the first of its facts; the checksum is of no matter then."""
    with open(path, "r+b") as file:
        content = file.read()
        file.seek(0)
        file.write(content.replace(b"m\0\0\0\2", b"m\0\0\0\1"))


def is_password(hash_, password):
    library = ctypes.CDLL(ctypes.util.find_library("crypt"))
    library.crypt.restype = ctypes.c_char_p
    return library.crypt(password.encode(), hash_.encode()) == hash_.encode()


def keys_of(password, salt, iterations):
    """StoredKey and ServerKey of RFC 5802, by another implementation."""
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, iterations)
    client = hmac.digest(salted, b"Client Key", "sha256")
    return hashlib.sha256(client).digest(), hmac.digest(salted, b"Server Key", "sha256")


class Users(Case):
    def setUp(self):
        super().setUp()
        self.database = self.path("users.mdb")

    def run_users(self, *arguments, expect=0, **how):
        how.setdefault("timeout", DEADLINE_S)
        if "input" not in how:
            how.setdefault("stdin", subprocess.DEVNULL)
        how.setdefault("stdout", subprocess.PIPE)
        result = subprocess.run([program("smtp-front-users"), *arguments], check=False, text=True,
                                stderr=subprocess.PIPE, **how)
        self.assertEqual(sanitizer_reports(result.stderr), [])
        self.assertEqual(result.returncode, expect, result.stderr)
        return result

    def build(self, *lists, **how):
        return self.run_users("build", "--database", self.database, *lists, **how)

    def dump(self):
        return self.run_users("dump", "--database", self.database).stdout.splitlines()

    def find(self, *addresses, expect=0):
        result = self.run_users("find", "--database", self.database, *addresses, expect=expect)
        return dict(line.split("\t") for line in result.stdout.splitlines())


class Build(Users):
    def test_a_list_becomes_a_database_that_prints_as_the_list(self):
        result = self.build(self.write("list", GOOD))
        self.assertIn("database built, addresses=1 catch-alls=1 domains=3", result.stderr)
        self.assertEqual(self.dump(), ["john@example.org", "@example.com", "domain example.com",
                                       "domain example.net", "domain example.org"])
        again = self.path("again.mdb")
        self.run_users("build", "-d", again, "-", input="\n".join(self.dump()) + "\n")
        first = self.dump()
        self.database = again
        self.assertEqual(self.dump(), first)

    def test_lists_are_one_list(self):
        self.build(self.write("other", "mary@example.net\n"), self.write("list", GOOD))
        self.assertEqual(self.find("john@EXAMPLE.org", "mary@example.net"),
                         {"john@EXAMPLE.org": "valid", "mary@example.net": "valid"})

    def test_users_of_a_system_come_from_passwd_by_the_line_of_the_manual(self):
        with open(MANUAL, encoding="utf-8") as file:
            program_ = re.search(r"^awk -F: '(.*?)' ", file.read(), re.MULTILINE).group(1)
        passwd = self.write("passwd", "root:x:0:0::/root:/bin/sh\nmail:x:8:8::/:/bin/false\n"
                            "anna:x:1000:1::/:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n")
        lines = subprocess.run(["awk", "-F:", program_, passwd], check=True,
                               text=True, stdout=subprocess.PIPE).stdout
        self.build("-", self.write("aliases", "root@example.org\n"), input=lines)
        names = [f"{name}@example.org" for name in ("root", "mail", "anna", "nobody")]
        self.assertEqual(list(self.find(*names, expect=1).values()),
                         ["valid", "unknown", "valid", "unknown"])

    def test_a_list_that_would_shrink_too_much_changes_nothing(self):
        self.build(self.write("all", "".join(f"user{i}@example.org\n" for i in range(100))))
        before = self.dump()
        cut = self.write("cut", "".join(f"user{i}@example.org\n" for i in range(38)))
        result = self.build(cut, expect=EX_DATAERR)
        self.assertIn(f"error: [{self.database}] list would shrink too much, recipients: before=100"
                      " now=38 (62.0%; --max-shrink 50 permits 50%)", result.stderr)
        self.assertIn("database not changed", result.stderr)
        self.assertEqual(self.dump(), before)
        self.build("--max-shrink", "61", cut, expect=EX_DATAERR)
        self.build("--max-shrink", "62", cut)
        self.assertEqual(len(self.dump()), 39)

    def test_a_list_that_is_not_there_is_named_and_the_database_has_no_part_in_it(self):
        missing = self.path("missing")
        result = self.build(missing, expect=os.EX_NOINPUT)
        self.assertEqual(result.stderr, f"error: [{missing}] list not read (No such file or directory)\n"
                         f"error: [{self.database}] database not changed (a list was not read)\n")

    def test_a_small_list_whose_source_is_away_changes_nothing(self):
        aliases = self.write("aliases", "postmaster@example.org to=anna@example.net\n")
        users = [f"{name}@example.org" for name in ("anna", "bert", "carl")] + ["anna@example.net"]
        self.build("-", aliases, input="".join(f"{user}\n" for user in users))
        before = self.dump()
        result = self.build("-", aliases, input="anna@example.net\n", expect=EX_DATAERR)
        self.assertIn("list would shrink too much, recipients: before=5 now=2 (60.0%;", result.stderr)
        self.assertEqual(self.dump(), before)
        self.build("--max-shrink", "0", "-", aliases, input="".join(f"{user}\n" for user in users[1:]))

    def test_addresses_are_found_as_an_edge_finds_them(self):
        self.build("-x", "+", self.write("list", GOOD))
        self.assertEqual(
            self.find("john+list@example.org", "mary@example.org", "any@example.com",
                      "x@example.net", "x@example.edu", "postmaster", expect=1),
            {"john+list@example.org": "valid", "mary@example.org": "unknown",
             "any@example.com": "valid", "x@example.net": "unknown",
             "x@example.edu": "not-ours", "postmaster": "valid"})

    def test_a_line_that_is_no_entry_changes_nothing_and_is_named(self):
        good = self.write("good", GOOD)
        self.build(good)
        before = self.dump()
        bad = self.write("bad", "mary@example.org\nmary example.org\n\n@\n")
        result = self.build(good, bad, expect=EX_DATAERR)
        self.assertIn(f'error: [{bad}:2] line refused, text="* *"'
                      ' (no "@" in the address)', result.stderr)
        self.assertIn(f'error: [{bad}:4] line refused, text="@" (not a domain)', result.stderr)
        self.assertIn("database not changed", result.stderr)
        self.assertEqual(self.dump(), before)

    def test_settings_of_mailboxes_are_kept_printed_and_found(self):
        self.build("-x", "+", self.write("list", WITH_SETTINGS))
        lines = ["john@example.org messages=10000 octets=500M keep=90d", "mary@example.org",
                 "@example.com octets=2G", "domain example.com", "domain example.org"]
        self.assertEqual(self.dump(), lines)
        self.run_users("check", "-d", self.database)
        found = self.run_users("find", "-d", self.database, "John+x@example.org",
                               "any@example.com", "mary@example.org", "eve@example.org", expect=1)
        self.assertEqual(found.stdout.splitlines(),
                         ["John+x@example.org\tvalid\tmessages=10000 octets=500M keep=90d",
                          "any@example.com\tvalid\toctets=2G",
                          "mary@example.org\tvalid", "eve@example.org\tunknown"])
        self.build("-", input="\n".join(lines) + "\n")
        self.assertEqual(self.dump(), lines)

    def test_settings_that_are_none_change_nothing_and_are_told_what_is_permitted(self):
        self.build(self.write("good", WITH_SETTINGS))
        before = self.dump()
        bad = self.write("bad", "a@b quota=5\na@b keep=90\na@b keep=1d keep=2d\na@b octets=5T\n"
                         "a@b messages=1.5\ndomain b octets=5\na@b octets=5\na@b octets=6\n")
        result = self.build(bad, expect=EX_DATAERR)
        for number, text, reason in (
                (1, "a@b *", "behind an address are permitted messages=, octets=, keep=, "
                 "node=, password=, scram= and to="),
                (2, "a@b keep=90", "keep=: permitted are 0, and 1s to 36500d, with s, m, h or d"),
                (3, "a@b keep=1d keep=2d", "the same word twice behind an address"),
                (4, "a@b octets=5T", "octets=: permitted are 0 to 1048576G, with K, M or G"),
                (5, "a@b messages=1.5",
                 "messages=: permitted are whole numbers from 0 to 1000000000"),
                (6, "domain b octets=5",
                 'a line with "domain" has one word behind it, and no settings'),
                (8, "a@b octets=6", "this address is there already, with other settings")):
            self.assertIn(f'error: [{bad}:{number}] line refused, text="{text}" ({reason})\n',
                          result.stderr)
        self.assertEqual(result.stderr.count("line refused"), 7)
        self.assertEqual(self.dump(), before)

    def test_secrets_are_printed_by_dump_alone_and_hide_the_database(self):
        lines = [f"john@example.org keep=1d password={HASH} scram={KEYS}",
                 f"mary@example.org scram={KEYS}", "domain example.org"]
        self.build("-", input="mary@example.org\n")
        os.chmod(self.database, 0o644)
        self.build("-x", "+", "-", input="\n".join(lines) + "\n")
        self.assertEqual(os.stat(self.database).st_mode & 0o777, 0o600)
        self.assertEqual(self.dump(), lines)
        found = self.run_users("find", "-d", self.database, "John@example.org", "mary@example.org",
                               "john+x@example.org").stdout
        self.assertEqual(found.splitlines(),
                         ["John@example.org\tvalid\tkeep=1d password=* scram=*",
                          "mary@example.org\tvalid\tscram=*", "john+x@example.org\tvalid\tkeep=1d"])

    def test_a_secret_in_a_line_that_is_refused_is_not_logged(self):
        bad = self.write("bad", f"a@b password=hunter2\na@b {HASH}\na@b keep=1d Password:hunter2\n"
                         f"a@b scram={KEYS}x\na@b password=abJnggxhB/yWI\n@b password={HASH}\n")
        result = self.build(bad, expect=EX_DATAERR)
        for number, text in enumerate(("a@b password=* (password=: permitted are hashes of crypt(3) with $y$, $gy$, ",
                                       "a@b * (behind an address", "a@b keep=1d * (behind an address",
                                       "a@b scram=* (scram=: permitted is SCRAM-SHA-256$ITERATIONS:SALT$STOREDKEY:",
                                       "a@b password=* (password=: hashes of DES and MD5 are refused, as they are weak)",
                                       "@b password=* (password= and scram= are for one address, not for all of"), 1):
            shown, reason = text.split(" (", 1)
            self.assertIn(f'[{bad}:{number}] line refused, text="{shown}" ({reason}', result.stderr)
        for secret in ("hunter2", HASH[4:], KEYS[20:], "abJn"):
            self.assertNotIn(secret, result.stderr)

    def test_the_wrong_word_of_a_line_is_shown_without_what_may_be_a_secret(self):
        samples = ((f"a@b scram={KEYS} keep=1d keep=9d", "a@b scram=* keep=1d keep=9d"),
                   (f"a@b password={HASH} hunter2", "a@b password=* *"), (f"a@b {KEYS}", "a@b *"),
                   (f"a@b keep=x password={HASH}", "a@b keep=x password=*"),
                   ("a@b keep=90hunter2", "a@b keep=90h*"), ("a@b octets=5{PLAIN}hunter2", "a@b octets=5*"),
                   ("a@b pasword=hunter2", "a@b *"), ("a@b hunter2", "a@b *"), ("a@b hunter2=1", "a@b *"),
                   ("a@b aHVudGVyMg==", "a@b *"), ("a@b {PLAIN}hunter2 keep=1d", "a@b * keep=1d"),
                   ("a@b to=c@d,hunter2", "a@b to=*"), ("a@b:hunter2", "a@b*"), ("a@b,hunter2", "a@b*"),
                   ("a@b/p@hunter2", "a@b*"), ("a@b@hunter2", "a@b*"), ("hunter2 a@b", "* *"), ("hunter2", "*"),
                   ("a:hunter2@", "*"), ('"a@b pasword=hunter2', "*"), ("domain hunter2: a@b", "domain * *"),
                   ("domain b pasword=hunter2", "domain b *"), ("postmaster hunter2", "postmaster *"))
        bad = self.write("bad", "".join(line + "\n" for line, _ in samples[:20]))
        more = self.write("more", "".join(line + "\n" for line, _ in samples[20:]))
        said = self.build(bad, expect=EX_DATAERR).stderr + self.build(more, expect=EX_DATAERR).stderr
        for number, (_, text) in enumerate(samples):
            place = f"{bad}:{number + 1}" if number < 20 else f"{more}:{number - 19}"
            self.assertIn(f'error: [{place}] line refused, text="{text}" (', said)
        for secret in ("hunter2", "aHVu", HASH[4:], KEYS[20:]):
            self.assertNotIn(secret, said)

    def test_a_word_behind_hash_is_not_printed(self):
        result = self.run_users("hash", "hunter2", expect=EX_USAGE)
        self.assertIn("unexpected word", result.stderr)
        self.assertNotIn("hunter2", result.stderr)

    def test_aliases_are_kept_printed_and_found(self):
        lines = ["john@example.org keep=1d", "sales@example.org to=john@example.org,\"m m\"@example.org",
                 "@example.net to=john@example.org", "domain example.net", "domain example.org"]
        lines.insert(0, '"m m"@example.org')
        self.build("-x", "+", "-", input="\n".join(lines) + "\n")
        self.assertEqual(self.dump(), ["john@example.org keep=1d", '"m m"@example.org', *lines[2:]])
        found = self.run_users("find", "-d", self.database, "Sales+x@example.org", "a@example.net",
                               "john@example.org", "postmaster").stdout
        self.assertEqual(found.splitlines(),
                         ['Sales+x@example.org\tvalid\tto=john@example.org,"m m"@example.org',
                          "a@example.net\tvalid\tto=john@example.org",
                          "john@example.org\tvalid\tkeep=1d", "postmaster\tvalid"])

    def test_a_build_warns_when_no_login_has_the_mail_for_postmaster(self):
        warning = (f"warning: [{self.database}] mail for <postmaster> is for no login, mailbox=%s (a line"
                   ' "postmaster to=ADDRESS" gives it to one)\n')
        john = f"john@example.org password={HASH}\n"
        several = john + "postmaster@example.org to=john@example.org\ndomain example.net\n"
        for text, box in ((john, "postmaster"), (several, "postmaster"), (john + "@example.org\n", "@example.org"),
                          (several + "postmaster to=john@example.org\n", None),
                          (john + "postmaster@example.org to=john@example.org\n", None),
                          (john + f"postmaster@example.org scram={KEYS}\n", None),
                          ("john@example.org\n", None)):
            result = self.build("--max-shrink", "100", "-", input=text)
            self.assertEqual(result.stderr.replace("info: ", "").count("\n"), 1 if box is None else 2, text)
            if box is not None:
                self.assertIn(warning % box, result.stderr)
        logins = self.path("logins.mdb")
        result = self.build("--logins", logins, "-", input=john)
        self.assertEqual(result.stderr.count("warning: "), 1)
        self.assertIn(f"warning: [{logins}] ", result.stderr)

    def test_a_target_that_is_no_mailbox_changes_nothing_and_is_named(self):
        self.build(self.write("good", GOOD))
        before = self.dump()
        many = ",".join(f"u{i}@example.com" for i in range(30))
        bad = self.write("bad", f"a@b to=c@b,x@gmail.com\nc@b\nd@b to=a@b\n")
        result = self.build(bad, expect=EX_DATAERR)
        self.assertIn("error: alias refused, a@b to=x@gmail.com (a target is a mailbox of these lists:"
                      " mail is not forwarded to other servers)\n", result.stderr)
        self.assertIn("error: alias refused, d@b to=a@b (a target is a mailbox, and no alias itself)\n",
                      result.stderr)
        self.assertIn("database not changed", result.stderr)
        result = self.build("-", input=f"a@b to={many}\n", expect=EX_DATAERR)
        self.assertEqual(result.stderr.count("alias refused"), 20)
        self.assertIn("more targets refused, count=10", result.stderr)
        self.assertEqual(self.dump(), before)

    def test_the_lists_of_the_manual_build(self):
        with open(MANUAL, encoding="utf-8") as file:
            parts = re.findall(r"^\.Bd -literal[^\n]*\n(john@.*?)^\.Ed", file.read(),
                               re.MULTILINE | re.DOTALL)
        self.assertEqual(len(parts), 2)
        for part in parts:
            self.database = self.path("manual.mdb")
            self.build("--max-shrink", "100", "-", input=part)
        self.assertEqual(self.dump()[0], "john@example.org messages=10000 octets=500M keep=90d")

    def test_a_database_of_another_version_is_refused_by_all_commands(self):
        self.build(self.write("good", GOOD))
        make_version_1(self.database)
        for command in (("check",), ("dump",), ("find", "john@example.org"), ("build", self.write("more", GOOD))):
            result = self.run_users(command[0], "-d", self.database, *command[1:], expect=EX_DATAERR)
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
            self.assertIn("(written with another schema version)", result.stderr)

    def test_of_many_bad_lines_some_are_shown_and_all_are_counted(self):
        result = self.build(self.write("bad", "x\n" * 5000), expect=EX_DATAERR)
        self.assertEqual(result.stderr.count("line refused"), 20)
        self.assertIn("more lines refused, count=4980", result.stderr)
        self.assertFalse(os.path.exists(self.database))

    def test_lists_without_an_entry_change_nothing(self):
        self.build(self.write("good", GOOD))
        before = self.dump()
        for text in ("", "\n# nothing\n"):
            self.build(self.write("empty", text), expect=EX_DATAERR)
        self.assertEqual(self.dump(), before)

    def test_a_line_of_any_length_is_refused_by_its_number(self):
        path = self.write("long", b"a@b\n" + b"x" * 10_000_000 + b"@y\nc@d\n")
        result = self.build(path, expect=EX_DATAERR)
        self.assertIn(f"[{path}:2] line refused", result.stderr)
        self.assertIn("(line of more than 32768 bytes)", result.stderr)

    def test_a_mark_of_byte_order_and_carriage_returns_are_no_harm(self):
        self.build(self.write("list", b"\xef\xbb\xbfjohn@example.org\r\nmary@example.org"))
        self.assertEqual(self.dump(), ["john@example.org", "mary@example.org",
                                       "domain example.org"])

    def test_a_kill_at_any_time_leaves_a_whole_list(self):
        lists = [self.write(f"list{number}", "".join(
            f"user{number}-{i}@example.org\n" for i in range(20000))) for number in range(2)]
        self.build(lists[0])
        for round_ in range(20):
            process = self.start([program("smtp-front-users"), "build", "-d", self.database,
                                  lists[round_ % 2]], "build")
            # At another moment each time: from its start to its end.
            if round_ % 3 == 0:
                wait_for(lambda: os.path.getsize(f"/proc/{process.popen.pid}/cmdline") >= 0,
                         "it to begin")
            else:
                wait_for(lambda: process.popen.poll() is not None or self._has_open(process),
                         "the database to be open")
            process.send_signal(signal.SIGKILL)
            process.popen.wait()
            found = self.dump()
            self.assertEqual(len(found), 20001)
            self.assertEqual(len({line.split("-")[0] for line in found[:-1]}), 1)
            self.run_users("check", "-d", self.database)

    def _has_open(self, process):
        try:
            directory = f"/proc/{process.popen.pid}/fd"
            return any(os.readlink(os.path.join(directory, name)) == self.database
                       for name in os.listdir(directory))
        except OSError:
            return False


class Wrong(Users):
    def test_wrong_use_is_one_line_that_names_the_word(self):
        self.build(self.write("list", GOOD))
        for arguments in (["build"], ["build", "-d", "x"], ["frob"], ["find", "-d", self.database],
                          ["build", "-d", "x", "--extension", "ab", "y"],
                          ["build", "-d", "x", "--max-shrink", "101", "y"],
                          ["check", "-d", self.database, "--max-shrink", "10"],
                          ["check", "-d", self.database, "more"], ["find", "-x", "+", "a@b"],
                          ["dump", "-d", self.database, "more"], ["check"], []):
            with self.subTest(arguments=arguments):
                result = self.run_users(*arguments, expect=EX_USAGE)
                self.assertEqual(len(result.stderr.splitlines()), 1)
                self.assertIn("try 'smtp-front-users", result.stderr)

    def test_what_is_not_there_or_is_something_else_is_said_to_be(self):
        text = self.write("text", "john@example.org\n")
        self.build(self.path("none"), expect=EX_NOINPUT)
        self.build(self.directory, expect=EX_NOINPUT)
        for command in ("dump", "check"):
            self.run_users(command, "-d", self.path("none"), expect=EX_NOINPUT)
            self.run_users(command, "-d", text, expect=EX_DATAERR)
        self.run_users("find", "-d", text, "a@b", expect=EX_DATAERR)
        self.run_users("build", "-d", text, text, expect=EX_DATAERR)
        with open(text, encoding="ascii") as file:
            self.assertEqual(file.read(), "john@example.org\n")

    def test_who_has_no_permission_is_told_so(self):
        if os.geteuid() != 0:
            self.skipTest("needs root to become somebody else")
        list_path = self.write("list", GOOD)
        self.build(list_path)
        tool = self.readable_program(program("smtp-front-users"))
        result = subprocess.run([tool, "build", "-d", self.database, list_path], user=65534,
                                group=65534, extra_groups=[], check=False, capture_output=True,
                                text=True, timeout=DEADLINE_S)
        self.assertEqual(result.returncode, EX_NOPERM, result.stderr)

    def test_a_damaged_database_is_found(self):
        self.build(self.write("list", GOOD))
        with open(self.database, "r+b") as file:
            content = file.read()
            file.seek(content.index(b"john@example.org"))
            file.write(b"k")
        result = self.run_users("check", "-d", self.database, expect=EX_DATAERR)
        self.assertIn("database not OK (damaged store)", result.stderr)

    def test_output_that_nobody_takes_is_an_error(self):
        self.build(self.write("list", GOOD))
        with open("/dev/full", "w", encoding="ascii") as full:
            self.run_users("dump", "-d", self.database, stdout=full, expect=EX_IOERR)


class Manual(Users):
    def test_the_manual_has_every_option(self):
        with open(MANUAL, encoding="utf-8") as file:
            text = file.read()
        shown = self.run_users("build", "--help").stdout
        options = re.findall(r"--([a-z-]+)", shown.split("\n\n", 1)[1])
        self.assertIn("extension", options)
        for option in options:
            self.assertRegex(text, rf"Fl -{option}\b")

    def test_the_manual_has_every_line_that_is_logged(self):
        with open(MANUAL, encoding="utf-8") as file:
            text = file.read()
        with open(os.path.join(SOURCE, "integration/mail/smtp-front/recipients/users_main.c"),
                  encoding="utf-8") as file:
            source = file.read()
        said = re.findall(r'(?<!options_)(?:fail|log_error)\([^"]*?"([a-z ]+)', source)
        self.assertGreater(len(said), 8)
        for words in said:
            self.assertIn(words.strip(), text)


class Opened(Users):
    def test_a_database_of_another_version_is_not_taken_and_settings_change_no_answer(self):
        self.expect_log("recipients not opened")
        front = Front(self, users=["inbox@example.com"])
        other = self.path("other.mdb")
        shutil.copy(front.users_path, other)
        make_version_1(other)
        self.assertFalse(front.reload(trust={"users": other}))
        self.assertIn(f"recipients not opened, users={other} (written with another schema version)",
                      front.log())
        settings = self.path("settings.mdb")
        self.run_users("build", "-d", settings, "-", input="inbox@example.com messages=1 keep=1s\n")
        self.assertTrue(front.reload(trust={"users": settings}))
        for _ in range(2):
            with front.client() as client:
                client.hello()
                client.say("MAIL FROM:<a@example.net>", 250)
                client.say("RCPT TO:<eve@example.com>", 550)
                client.say("RCPT TO:<inbox@example.com>", 250)


class Damaged(Users):
    def test_a_database_with_overwritten_pages_is_refused_and_the_old_one_stays(self):
        self.expect_log("recipients not opened")
        front = Front(self)
        damaged = self.path("damaged.mdb")
        shutil.copy(front.users_path, damaged)
        with open(damaged, "r+b") as file:
            rest = os.path.getsize(damaged) - 8192
            file.seek(8192)
            file.write(b"\x5a" * rest)
        self.assertFalse(front.reload(trust={"users": damaged}))
        self.assertIn(f"recipients not opened, users={damaged} (damaged store)", front.log())
        with front.client() as client:
            client.hello()


class Hash(Users):
    def hash(self, *arguments, text="secret\n", **how):
        return self.run_users("hash", *arguments, input=text, **how)

    def test_a_hash_is_of_the_password_and_a_word_of_a_list(self):
        for arguments, prefix in (((), "$y$"), (("--method", "sha512"), "$6$"), (("-m", "bcrypt"), "$2b$")):
            word, other = (self.hash(*arguments, text=text).stdout.rstrip("\n")
                           for text in ("s\u00e4cret pass\n", "s\u00e4cret pass\nnext"))
            self.assertTrue(word.startswith("password=" + prefix), word)
            self.assertNotEqual(word, other)  # the salt
            for one in (word, other):
                self.assertTrue(is_password(one.partition("=")[2], "s\u00e4cret pass"), one)
                self.assertFalse(is_password(one.partition("=")[2], "s\u00e4cret pass2"), one)
            line = f"john@example.org {word}"
            self.build("-", input=line + "\n")
            self.assertEqual(self.dump()[0], line)

    def test_keys_of_scram_are_of_the_password_and_a_word_of_a_list(self):
        for arguments, iterations in ((("--scram",), 4096), (("-s", "-i", "10000"), 10000)):
            word = self.hash(*arguments).stdout.rstrip("\n")
            found = re.fullmatch(r"scram=SCRAM-SHA-256\$(\d+):([^$]+)\$([^:]+):(.+)", word)
            self.assertEqual(int(found.group(1)), iterations)
            salt, *keys = (base64.b64decode(part) for part in found.groups()[1:])
            self.assertEqual(len(salt), 16)
            self.assertEqual(tuple(keys), keys_of("secret", salt, iterations))
            self.build("-", input=f"john@example.org {word}\n")
            self.assertEqual(self.dump()[0], f"john@example.org {word}")

    def test_what_is_no_password_is_refused(self):
        for text in ("", "\n", "x" * 256, "tab\tted\n", "secret\r\n", "\u0085\n"):
            result = self.hash(text=text, expect=EX_DATAERR)
            self.assertIn("error: password not taken (permitted are 1 to 255 octets of UTF-8 without"
                          " control characters)", result.stderr)
            self.assertEqual(result.stdout, "")
        self.hash(text="x" * 255)
        self.assertIn("bcrypt looks at 72 octets, and the password has more",
                      self.hash("-m", "bcrypt", text="x" * 73, expect=EX_DATAERR).stderr)
        self.hash("-m", "bcrypt", text="x" * 72)

    def test_wrong_use(self):
        for arguments in (("-m", "md5"), ("-s", "-i", "4095"), ("-s", "-i", "1000001"), ("word",),
                          ("-d", self.database)):
            self.hash(*arguments, expect=EX_USAGE)

    def begin_at_terminal(self):
        """A hash whose input is a terminal: the process, and the terminal's other side."""
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        process = subprocess.Popen([program("smtp-front-users"), "hash"], stdin=theirs, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(os.close, theirs)
        wait_for(lambda: not self.echoes(theirs), "the terminal to show nothing")
        return process, ours, theirs

    @staticmethod
    def echoes(terminal):
        return termios.tcgetattr(terminal)[3] & termios.ECHO != 0

    def test_a_terminal_shows_nothing_and_is_asked_twice(self):
        for again, status in (("secret", 0), ("secrets", EX_DATAERR)):
            process, ours, theirs = self.begin_at_terminal()
            os.write(ours, b"secret\n")
            os.write(ours, again.encode() + b"\n")
            self.assertEqual(process.wait(timeout=DEADLINE_S), status)
            said = process.stderr.read()
            self.assertTrue(said.startswith("Password: Again: "), said)
            self.assertEqual("the second is another" in said, status != 0)
            self.assertEqual(is_password(process.stdout.read().strip()[9:], "secret"), status == 0)
            self.assertTrue(self.echoes(theirs))
            self.assertNotIn(b"s", os.read(ours, 1000))

    def test_a_terminal_shows_again_what_is_typed_when_a_signal_comes(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            process, _, theirs = self.begin_at_terminal()
            process.send_signal(number)
            self.assertEqual(process.wait(timeout=DEADLINE_S), -number)
            self.assertTrue(self.echoes(theirs))


class Pipes(Users):
    """Other sources of users, by the lines of the manual as they stand there."""

    def run_of_manual(self, word):
        """Where this word is, in a directory of its own, with our programs and those beside them."""
        with open(MANUAL, encoding="utf-8") as file:
            blocks = re.findall(r"^\.Bd -literal[^\n]*\n(.*?)^\.Ed", file.read(), re.MULTILINE | re.DOTALL)
        text, = (block for block in blocks if word in block)
        text = text.replace("\\e", "\\").replace("/var/lib/smtp-front/users.mdb", self.database)
        text = text.replace("/var/lib/smtp-front/logins.mdb", self.path("logins.mdb"))
        path = os.pathsep.join((self.path("bin"), os.path.dirname(program("smtp-front-users")),
                                os.environ["PATH"]))
        result = subprocess.run(["sh", "-c", text], cwd=self.path("."), check=False, text=True,
                                env={**os.environ, "PATH": path}, capture_output=True, timeout=DEADLINE_S)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(sanitizer_reports(result.stderr), [])
        return result

    def test_passwords_of_the_machine(self):
        self.write("shadow", f"root:*:1:0:99999:7:::\njohn:{HASH}:1:0:99999:7:::\n"
                   f"lock:!{HASH}:1::::::\nnone::1::::::\nmary:{HASH}:1::::::\n")
        os.mkdir(self.path("bin"))
        fake = self.write("bin/getent", f"#!/bin/sh\n[ \"$*\" = shadow ] && cat {self.path('shadow')}\n")
        os.chmod(fake, 0o755)
        self.write("aliases.txt", "postmaster@example.org to=john@example.org\n")
        self.run_of_manual("getent shadow")
        self.assertEqual(self.dump(), [f"john@example.org password={HASH}",
                                       f"mary@example.org password={HASH}",
                                       "postmaster@example.org to=john@example.org",
                                       "domain example.org"])
        self.assertEqual(os.stat(self.database).st_mode & 0o777, 0o600)

    def test_comma_separated_values(self):
        self.write("users.csv", f"address,quota,hash\r\njohn@example.org,5M,{HASH}\r\n"
                   f"mary@example.org,0,{HASH}\r\n")
        self.run_of_manual("users.csv")
        self.assertEqual(self.dump(), [f"john@example.org octets=5M password={HASH}",
                                       f"mary@example.org password={HASH}", "domain example.org"])

    @unittest.skipUnless(shutil.which("sqlite3"), "no sqlite3 (package sqlite3)")
    def test_a_table_of_sqlite(self):
        database = sqlite3.connect(self.path("mail.db"))
        database.execute("CREATE TABLE users (address, hash, active)")
        database.execute("CREATE TABLE aliases (address, target)")
        database.executemany("INSERT INTO users VALUES (?, ?, ?)",
                             [(f"{name}@example.org", HASH, name != "old") for name in ("a", "b", "old")])
        database.executemany("INSERT INTO aliases VALUES ('all@example.org', ?)",
                             [("a@example.org",), ("b@example.org",)])
        database.commit()
        database.close()
        self.run_of_manual("sqlite3")
        self.assertEqual(self.dump(), [f"a@example.org password={HASH}",
                                       "all@example.org to=a@example.org,b@example.org",
                                       f"b@example.org password={HASH}", "domain example.org"])

    def test_a_database_without_secrets(self):
        lines = (f"j@a.b keep=1d password={HASH} scram={KEYS}\nm@a.b scram={KEYS}\n"
                 "all@a.b to=j@a.b,m@a.b\n")
        self.write("list.txt", lines)
        self.run_of_manual("--logins")
        self.assertEqual(self.dump(), ["all@a.b to=j@a.b,m@a.b", "j@a.b keep=1d", "m@a.b", "domain a.b"])
        self.assertEqual(os.stat(self.database).st_mode & 0o077 != 0, os.umask(os.umask(0)) != 0o077)
        with open(self.database, "rb") as file:
            content = file.read()
        self.assertNotIn(b"SCRAM", content)
        self.assertNotIn(HASH.encode(), content)
        logins = self.run_users("dump", "-d", self.path("logins.mdb")).stdout
        self.assertEqual(sorted(logins.splitlines()), sorted([*lines.splitlines(), "domain a.b"]))
        self.assertEqual(os.stat(self.path("logins.mdb")).st_mode & 0o777, 0o600)

    def test_logins_and_all_else_in_one_file(self):
        self.write("users.txt", f"j@a.b password={HASH}\n")
        result = self.run_users("build", "-d", self.database, "--logins", self.database, self.path("users.txt"),
                                expect=EX_USAGE)
        self.assertIn("are the same file", result.stderr)
        self.assertFalse(os.path.exists(self.database))

    def test_a_password_that_is_typed(self):
        os.mkdir(self.path("bin"))
        fake = self.write("bin/smtp-front-users", "#!/bin/sh\necho secret | "
                          f"{program('smtp-front-users')} \"$@\"\n")
        os.chmod(fake, 0o755)
        self.run_of_manual("users.txt")
        self.build(self.path("users.txt"))
        line, _ = self.dump()
        self.assertTrue(line.startswith("john@example.org password=$y$"))


if __name__ == "__main__":
    main(has_own_network=True)
