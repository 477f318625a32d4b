#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
libdnsblv6-mail as it is installed: its symbols, the example of its manual, and what its functions
say and keep, for a program of another language and for one that is killed.
"""

import ctypes
import errno
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile

import harness

MAILSTORE = os.path.join(harness.SOURCE, "lib/mailstore")
LIBRARY = os.path.join(harness.BUILD, "lib/mailstore/libdnsblv6-mail.so.0")
CREATE = 1
ANNA, BERT = b"anna@example.com", b"bert@example.com"
MAIL = b"Subject: hello\n\nOnce for both.\n"

if harness.IS_SANITIZED:
    print("the build is sanitized, and programs of others are not: skipped")
    sys.exit(77)


class Id(ctypes.Structure):
    _fields_ = [("text", ctypes.c_char * 33)]


class Stat(ctypes.Structure):
    _fields_ = [("id", Id), ("position", ctypes.c_int64), ("size", ctypes.c_uint64),
                ("octets", ctypes.c_uint64), ("time_us", ctypes.c_uint64)]


def load():
    library = ctypes.CDLL(LIBRARY)
    for name in ("mail_strerror", "mail_store_error"):
        getattr(library, name).restype = ctypes.c_char_p
    for name in ("mail_read", "mail_header", "mail_seek"):
        getattr(library, name).restype = ctypes.c_int64
    return library


LIB = load()


class Store:
    def __init__(self, path, flags=CREATE):
        self.handle = ctypes.c_void_p()
        status = LIB.mail_store_open(os.fsencode(path), flags, ctypes.byref(self.handle))
        if status != 0:
            raise OSError(-status, LIB.mail_strerror(status).decode())

    def close(self):
        LIB.mail_store_close(self.handle)

    def error(self):
        return LIB.mail_store_error(self.handle).decode()

    def open(self, name):
        return Box(self, name)

    def write(self, names, text, ident=None):
        """The status, and the mail's id."""
        boxes = [self.open(name) for name in names]
        handles = (ctypes.c_void_p * len(boxes))(*[box.handle.value for box in boxes])
        made = Id(ident or b"")
        status = LIB.mail_nwrite(handles, ctypes.c_size_t(len(boxes)), text, ctypes.c_size_t(len(text)),
                                 ctypes.byref(made))
        for box in boxes:
            box.close()
        return status, made.text

    def make_id(self):
        made = Id()
        assert LIB.mail_make_id(self.handle, ctypes.byref(made)) == 0
        return made.text


class Box:
    def __init__(self, store, name):
        self.handle = ctypes.c_void_p()
        status = LIB.mail_open(store.handle, name, ctypes.byref(self.handle))
        if status != 0:
            raise ValueError(LIB.mail_strerror(status).decode())

    def close(self):
        LIB.mail_close(self.handle)

    def seek(self, offset, whence=os.SEEK_SET):
        return LIB.mail_seek(self.handle, ctypes.c_int64(offset), whence)

    def stat(self):
        stat = Stat()
        found = LIB.mail_stat(self.handle, ctypes.byref(stat))
        return stat if found == 1 else None

    def read(self, size=1 << 16):
        room = ctypes.create_string_buffer(size)
        got = LIB.mail_read(self.handle, room, ctypes.c_size_t(size))
        return room.raw[:got] if got >= 0 else got

    def header(self, name, size=256):
        room = ctypes.create_string_buffer(size)
        got = LIB.mail_header(self.handle, name, room, ctypes.c_size_t(size))
        return got, room.value

    def delete(self):
        return LIB.mail_delete(self.handle)

    def texts(self):
        """Of all mails that are there."""
        found = []
        for place in range(self.seek(0, os.SEEK_END)):
            self.seek(place)
            if self.stat() is not None:
                text = b""
                while piece := self.read():
                    text += piece
                found.append(text)
        return found


def output(*arguments, **how):
    return subprocess.run(arguments, check=True, stdout=subprocess.PIPE, text=True,
                          timeout=200, **how).stdout


def read_source(name):
    with open(os.path.join(MAILSTORE, name), encoding="utf-8") as file:
        return file.read()


class Symbols(harness.Case):
    def test_the_library_shows_what_header_list_and_manual_name_and_nothing_else(self):
        listed = re.findall(r"(?m)^ (mail_\w+)@DNSBLV6_MAIL_[\d.]+ [\d.]+$",
                            read_source("libdnsblv6-mail.symbols"))
        declared = re.findall(r"(?m)^MAIL_API [^;(]*?\b(\w+)\(", read_source("dnsblv6-mail.h"))
        self.assertEqual(sorted(declared), listed)
        shown = [line.split()[-1] for line in output("nm", "-D", "--defined-only", LIBRARY).splitlines()]
        self.assertEqual(sorted(name.split("@")[0] for name in shown if name.startswith("mail_")), listed)
        self.assertEqual([name for name in shown if not name.startswith("mail_")], ["DNSBLV6_MAIL_0.1"])
        head = read_source("man/dnsblv6-mail.3").split(".Sh SYNOPSIS")[0]
        self.assertEqual(sorted(re.findall(r"(?m)^\.Nm (mail_\w+)", head)), listed)

    def test_what_it_needs(self):
        dynamic = output("readelf", "-dW", LIBRARY)
        self.assertEqual(sorted(re.findall(r"\(NEEDED\).*\[lib(.+?)\.so", dynamic)),
                         ["c", "crypto", "isal", "lmdb"])
        self.assertEqual(re.findall(r"\(SONAME\).*\[(.+)\]", dynamic), ["libdnsblv6-mail.so.0"])


class Installed(harness.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.root = tempfile.mkdtemp(prefix="dnsblv6-mail-")
        cls.addClassCleanup(shutil.rmtree, cls.root, ignore_errors=True)
        output(harness.peer("meson"), "install", "-C", harness.BUILD, "--no-rebuild", "--quiet",
               "--destdir", cls.root, "--tags", "devel,runtime,man")
        cls.paths = {name: os.path.join(directory, name) for directory, _, names in os.walk(cls.root)
                     for name in names}

    def test_the_pages_are_there(self):
        for name in ("dnsblv6-mail.h", "dnsblv6-mail.pc", "dnsblv6-mail.3", "mail_open.3",
                     "mail_store_open.3", "mail-store.1", "libdnsblv6-mail.so"):
            self.assertIn(name, self.paths)

    def compile(self, compiler, code, *flags):
        package = os.path.dirname(self.paths["dnsblv6-mail.pc"])
        environment = {**os.environ, "PKG_CONFIG_PATH": package, "PKG_CONFIG_SYSROOT_DIR": self.root}
        words = shlex.split(output("pkg-config", "--cflags", "--libs", "dnsblv6-mail", env=environment))
        program = self.path("program")
        output(harness.peer(compiler), "-Wall", "-Wextra", "-Wpedantic", "-Werror", *flags,
               self.write("example.cc" if compiler == "g++" else "example.c", code), "-o", program, *words)
        return program

    def run_example(self, program):
        environment = {**os.environ,
                       "LD_LIBRARY_PATH": os.path.dirname(self.paths["libdnsblv6-mail.so"])}
        return output(program, self.path("store"), env=environment)

    def test_the_example_of_the_manual(self):
        with open(self.paths["dnsblv6-mail.3"], encoding="utf-8") as file:
            page = file.read()
        code = re.search(r"(?ms)^#include <dnsblv6-mail\.h>.*?(?=^\.Ed)", page).group(0)
        self.assertLessEqual(len(code.splitlines()), 60)
        program = self.compile("gcc", code.replace("\\e", "\\"), "-std=c11")
        for _ in range(2):
            self.assertRegex(self.run_example(program),
                             r"\A[0-9a-f]{32}: hello\n" + re.escape(MAIL.decode()) + r"\Z")
        store = Store(self.path("store"), 0)
        self.assertEqual(store.open(ANNA).texts(), [MAIL, MAIL])
        self.assertEqual(store.open(BERT).texts(), [])
        store.close()

    def test_the_example_of_the_header(self):
        text = re.search(r"(?ms)^ \*     #include <dnsblv6-mail\.h>.*?^ \*     }$",
                         read_source("dnsblv6-mail.h")).group(0)
        code = re.sub(r"(?m)^ \* {0,5}", "", text).replace("/var/mail/store", self.path("store"))
        for compiler, flag in (("gcc", "-std=c11"), ("g++", "-std=c++17")):
            with self.subTest(compiler=compiler):
                said = self.run_example(self.compile(compiler, code, flag))
                self.assertEqual(said, f"bert has a mail of {len(MAIL)} bytes\n")


class Functions(harness.Case):
    def setUp(self):
        super().setUp()
        self.store = Store(self.path("store"))
        self.addCleanup(lambda: self.store.close())

    def box_with(self, *texts):
        for text in texts:
            self.assertEqual(self.store.write([ANNA], text)[0], 0)
        box = self.store.open(ANNA)
        self.addCleanup(box.close)
        return box

    def test_a_mail_for_two_is_one_and_each_deletes_it_for_itself(self):
        status, ident = self.store.write([ANNA, BERT], MAIL)
        self.assertEqual(status, 0)
        anna, bert = self.store.open(ANNA), self.store.open(BERT)
        self.assertEqual(anna.stat().id.text, ident)
        self.assertEqual(bert.stat().id.text, ident)
        self.assertEqual((bert.stat().size, bert.stat().octets), (len(MAIL), len(MAIL) + 3))
        self.assertEqual(anna.delete(), 0)
        self.assertIsNone(anna.stat())
        self.assertEqual(anna.delete(), -errno.ENOMSG)
        self.assertEqual(anna.read(), -errno.ENOMSG)
        self.assertEqual(bert.texts(), [MAIL])
        anna.close()
        bert.close()

    def test_seek_counts_deleted_mails_or_passes_over_them(self):
        box = self.box_with(b"0\n", b"1\n", b"2\n", b"3\n")
        for place in (1, 2):
            box.seek(place)
            self.assertEqual(box.delete(), 0)
        self.assertEqual(box.seek(0), 0)
        self.assertEqual(box.seek(1, os.SEEK_CUR), 3)
        self.assertEqual(box.read(), b"3\n")
        self.assertEqual(box.seek(-1, os.SEEK_CUR), 0)
        self.assertEqual(box.seek(-1, os.SEEK_CUR), -errno.EINVAL)
        self.assertEqual(box.seek(2, os.SEEK_CUR), 4)
        self.assertIsNone(box.stat())
        self.assertEqual(box.seek(-1, os.SEEK_END), 3)
        self.assertEqual(box.seek(1), 1)
        self.assertIsNone(box.stat())
        self.assertEqual(box.seek(99), 4)
        self.store.write([ANNA], b"new\n")
        self.assertEqual(box.stat().position, 4)
        self.assertEqual(box.read(), b"new\n")
        self.assertEqual(box.seek(0, 7), -errno.EINVAL)
        self.assertIn("mail_seek", self.store.error())

    def test_a_text_comes_out_as_it_is_in_pieces_of_any_size(self):
        texts = [b"", b"\n", b".", b"\r\n.\r\n", b"a\nb\r\nc\r", b"\0\xff\n" * 3000, b"." * 9000, b".\n" * 5000]
        box = self.box_with(*texts)
        self.assertEqual(box.texts(), texts)
        box.seek(6)
        self.assertEqual(b"".join(iter(lambda: box.read(7), b"")), texts[6])

    def test_a_header_field_is_unfolded_and_without_blanks_around(self):
        box = self.box_with(b"Received: x\nSUBJECT :\n\tone\r\n  two \nTo:\n\nSubject: no\n", b"\nSubject: no\n")
        self.assertEqual(box.header(b"subject"), (8, b"one  two"))
        self.assertEqual(box.header(b"subject", 4), (8, b"one"))
        self.assertEqual(box.header(b"to"), (0, b""))
        self.assertEqual(box.header(b"cc")[0], -errno.ENODATA)
        box.seek(1)
        self.assertEqual(box.header(b"subject")[0], -errno.ENODATA)
        box.seek(2)
        self.assertEqual(box.header(b"subject")[0], -errno.ENOMSG)

    def test_an_id_makes_a_write_that_may_be_repeated_and_no_other(self):
        ident = self.store.make_id()
        for _ in range(2):
            self.assertEqual(self.store.write([ANNA], MAIL, ident), (0, ident))
        self.assertLess(self.store.write([ANNA], b"other\n", ident)[0], -2000)
        self.assertIn("another mail", self.store.error())
        self.assertLess(self.store.write([ANNA], MAIL, b"0" * 32)[0], -2000)
        self.assertEqual(self.store.write([ANNA], MAIL, b"short")[0], -errno.EINVAL)
        self.assertEqual(self.box_with().texts(), [MAIL])

    def test_space_is_given_back_while_mailboxes_are_open_and_read(self):
        large = b"x" * 9000 + b"\n"
        box = self.box_with(large, b"dead\n" * 9000, b"kept\n")
        self.assertEqual(LIB.mail_collect(self.store.handle, 100), 0)
        box.seek(1)
        self.assertEqual(box.delete(), 0)
        self.assertEqual(LIB.mail_collect(self.store.handle, 10), 0)
        box.seek(0)
        text = box.read(5000)
        before = self.log_size()
        self.assertEqual(LIB.mail_collect(self.store.handle, 75), 1)
        self.assertEqual(LIB.mail_collect(self.store.handle, 75), 0)
        self.assertLess(self.log_size(), before - 40000)
        self.assertEqual(text + box.read(), large)
        self.assertEqual(box.read(), b"")
        self.assertEqual(box.texts(), [large, b"kept\n"])
        for share in (0, 101):
            self.assertEqual(LIB.mail_collect(self.store.handle, share), -errno.EINVAL)
        self.assertIn("mail_collect", self.store.error())
        self.store.close()
        self.store = Store(self.path("store"), 0)
        self.assertEqual(self.box_with().texts(), [large, b"kept\n"])

    def log_size(self):
        log = self.path("store/log")
        return sum(os.path.getsize(os.path.join(log, name)) for name in os.listdir(log))

    def test_a_damaged_mail_ends_in_an_error_and_is_not_collected(self):
        box = self.box_with(b"first\n", b"Subject: x\n\nsecond\n", b"dead\n" * 9000)
        box.seek(2)
        self.assertEqual(box.delete(), 0)
        with open(self.path("store/log/0000000000000001"), "r+b") as file:
            file.seek(file.read().index(b"second"))
            file.write(b"SECOND")
        box.seek(1)
        self.assertEqual(box.header(b"subject"), (1, b"x"))
        self.assertEqual(box.read(), b"Subject: x\n\nSECOND\n")
        self.assertLess(box.read(), -2000)
        self.assertIn("damaged", self.store.error())
        box.seek(0)
        self.assertEqual((box.read(), box.read()), (b"first\n", b""))
        self.assertLess(LIB.mail_collect(self.store.handle, 75), -2000)
        self.assertIn("segment 0000000000000001: damaged", self.store.error())
        # As does a store that is opened without its index.
        self.assertEqual(self.store.write([ANNA], b"behind\n")[0], 0)
        self.store.close()
        os.unlink(os.path.join(self.path("store"), "index.mdb"))
        self.store = Store(self.path("store"))
        self.assertIn("1 damaged places, the first in segment 0000000000000001 at 208", self.store.error())

    def test_names_and_numbers_that_are_refused(self):
        for name in (b"", b"x" * 256):
            with self.assertRaisesRegex(ValueError, "1 to 255"):
                self.store.open(name)
        self.assertIn("1 to 255", self.store.error())
        self.assertLess(self.store.write([], MAIL)[0], -2000)
        for name in (b"../../etc", b"/", b".", b"x" * 255, "\u00fc".encode()):
            self.assertEqual(self.store.write([name], MAIL)[0], 0)
            self.assertEqual(self.store.open(name).texts(), [MAIL])

    def test_another_process_gets_ebusy_until_it_is_closed(self):
        code = f"import test_mail_api as t\ntry: t.Store({self.path('store')!r}, 0).close()\n" \
               "except OSError as error: print(error.errno)"
        again = [sys.executable, "-c", code]
        how = {"env": {**os.environ, "PYTHONPATH": os.pathsep.join(
            [os.path.dirname(os.path.abspath(__file__)), os.environ.get("PYTHONPATH", "")])}}
        self.assertEqual(output(*again, **how), f"{errno.EBUSY}\n")
        self.store.close()
        self.assertEqual(output(*again, **how), "")
        self.store = Store(self.path("store"), 0)

    def test_a_store_that_is_not_there_is_made_only_when_that_is_asked_for(self):
        with self.assertRaises(FileNotFoundError):
            Store(self.path("other"), 0)
        self.assertFalse(os.path.exists(self.path("other")))


WRITER = """
import itertools, os, sys
import test_mail_api as t
store = t.Store(sys.argv[1])
for number in itertools.count():
    text = b"%s %d\\n" % (sys.argv[2].encode(), number)
    assert store.write([t.ANNA, t.BERT], text)[0] == 0
    if number % 3 == 2:
        box = store.open(t.BERT)
        box.seek(-1, os.SEEK_END)
        assert box.delete() == 0
        box.close()
    os.write(1, b"%d\\n" % number)
"""


class Kills(harness.Case):
    def test_a_killed_process_has_lost_and_doubled_nothing_that_was_committed(self):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(
            [os.path.dirname(os.path.abspath(__file__)), os.environ.get("PYTHONPATH", "")])}
        before = []
        for number in range(8):
            begin = b"%d " % number
            with subprocess.Popen([sys.executable, "-c", WRITER, self.path("store"), str(number)],
                                  stdout=subprocess.PIPE, env=environment) as writer:
                lines = [writer.stdout.readline() for _ in range(self.random.randrange(1, 40))]
                writer.send_signal(signal.SIGKILL)
                lines += writer.stdout.read().splitlines()
            store = Store(self.path("store"), 0)
            self.assertEqual(store.error(), "")
            anna, bert = store.open(ANNA).texts(), store.open(BERT).texts()
            store.close()
            self.assertEqual(anna[:len(before)], before)
            count = len(anna) - len(before)
            self.assertEqual(anna[len(before):], [begin + b"%d\n" % mail for mail in range(count)])
            # The last may be on disk and not told.
            self.assertIn(count, (len(lines), len(lines) + 1))
            kept = [mail for mail in range(count) if mail % 3 != 2 or mail >= len(lines)]
            had = [int(text.split()[1]) for text in bert if text.startswith(begin)]
            self.assertIn(had, (kept, [mail for mail in kept if mail % 3 != 2]))
            before = anna


if __name__ == "__main__":
    harness.main()
