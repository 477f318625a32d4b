#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
A bad list is refused with its file, line, text and reason, and harms nobody.

Each case: exit status 65, the message, the store byte for byte what it was,
and a server that goes on answering from it.
"""

import bz2
import gzip
import lzma
import os
import random
import re
import select
import shutil
import signal
import socket
import subprocess

from harness import (A, AAAA, ANY_SIZE, CLASSIC, EX_DATAERR, EX_IOERR, EX_NOPERM, EX_USAGE, NOERROR,
                     NXDOMAIN, ZONE, Case, has_ended, main, program, wait_for)

GOOD = "192.0.2.1\n198.51.100.0/24\n"

# name of the case: the second line of the list, the reason
BAD_LINES = {
    "octet 300": ("300.1.1.1", "octet above 255"),
    "octet 300 in a CIDR": ("9.300.1.0/24", "octet above 255"),
    "prefix length 33": ("9.1.1.0/33", "prefix length out of range"),
    "prefix length 129": ("2001:db8::/129", "prefix length out of range"),
    "reversed range": ("9.0.0.9-9.0.0.1", "range ends before it begins"),
    "range across families": ("9.0.0.9-2a00::", "range from one address family"),
    "host bits": ("9.0.0.1/24", "host bits set"),
    "leading zero": ("9.0.0.010", "number with a leading zero"),
    "three octets": ("9.0.0", "not an IP address"),
    "a host name": ("mail.example.com", "not an IP address"),
    "two columns": ("9.0.0.1 17", "more than an address"),
    "record": ("1.0.0.9 IN A 127.0.0.2", "the address is reversed"),
    "bytes that are no text": (b"\xff\xfe\x80\x81", "not an IP address"),
    "NUL bytes": (b"9.0.0.\x001", "NUL byte"),
    "an overlong line": (b"9" * 70000, "line longer than"),
    "a line of 10 MB": (b"9.0.0.1 " * (10 << 17), "line longer than"),
    "the world": ("0.0.0.0/0", ""),
    "the other world": ("::/0", ""),
    "half the world": ("0.0.0.0/1", ""),
    "private space": ("10.1.2.3", ""),
    "loopback": ("127.0.0.3", ""),
    "this network": ("0.1.2.3", ""),
    "multicast": ("224.0.0.1", ""),
    "a test point that must not be listed": ("127.0.0.1", ""),
    "an exclusion of the test point": ("!127.0.0.2", ""),
}


class BadLists(Case):
    def setUp(self):
        super().setUp()
        self.store = self.path("bl6.mdb")
        self.build(self.store, self.write("good.txt", GOOD))
        self.before = self.read(self.store)
        self.server = self.serve()

    def read(self, path):
        with open(path, "rb") as file:
            return file.read()

    def assert_unharmed(self):
        self.assertEqual(self.read(self.store), self.before, "the old store was touched")
        reply = self.server.ask(f"0.2.0.192.{ZONE}", AAAA)
        self.assertEqual(reply.rdata(AAAA), [b"\x40" + bytes(15)])

    def refuse(self, *lists, expect=EX_DATAERR, **how):
        """Builds over the served store; it must fail and change nothing. Its messages."""
        result = self.build(self.store, *lists, expect=expect, **how)
        self.assertEqual(result.out, "")
        self.assert_unharmed()
        return result.err

    def test_bad_lines_are_named_with_file_line_text_and_reason(self):
        for name, (line, reason) in BAD_LINES.items():
            line = line if isinstance(line, bytes) else line.encode()
            path = self.write("bad.txt", b"9.9.9.9\n" + line + b"\n9.9.9.8\n")
            with self.subTest(name):
                said = self.refuse(path)
                first = said.splitlines()[0]
                self.assertTrue(first.startswith(f"error: [{path}:2] "), first)
                self.assertIn(reason, first)
                self.assertRegex(first, r'text=".+" \(.+\)$|text=".+"\.\.\. \(.+\)$')
                self.assertLess(len(first), 1000)

    def test_twenty_findings_are_shown_and_the_rest_counted(self):
        path = self.write("bad.txt", "".join(f"300.0.0.{n}\n" for n in range(50)))
        said = self.refuse(path)
        self.assertEqual(len(re.findall(r"(?m)^error: \[.*:\d+\] ", said)), 20)
        self.assertRegex(said, r"(?m)^error: 30 more findings not shown$")

    def test_check_shows_them_all_and_exits_1(self):
        path = self.write("bad.txt", "".join(f"300.0.0.{n}\n" for n in range(50)))
        result = self.run_zone("check", path, expect=1)
        self.assertEqual(len(re.findall(r"(?m)^error: \[.*:\d+\] ", result.out + result.err)), 50)

    def test_an_empty_list_and_one_of_comments_are_refused(self):
        for content in ("", "\n\n", "# nothing\n; at all\n", b"\xef\xbb\xbf"):
            path = self.write("empty.txt", content)
            self.assertIn("empty.txt", self.refuse(path))

    def test_standard_input_that_is_empty_is_refused(self):
        self.refuse("-", input=b"")

    def test_an_html_page_saved_as_a_list_is_named_as_such(self):
        path = self.write("list.txt", "<!DOCTYPE html>\n<html><head><title>404 Not Found</title>"
                                      "</head>\n<body>192.0.2.1</body></html>\n")
        said = self.refuse(path)
        self.assertIn(path, said)
        self.assertIn("HTML", said)

    def test_a_list_in_utf_16_is_named_as_such_in_one_line(self):
        text = "# feed\r\n\r\n9.9.9.9\r\n9.9.9.8\r\n"
        for content in ("\ufeff" + text, text, text[10:]):
            for encoding in ("utf-16-le", "utf-16-be"):
                path = self.write("list.txt", content.encode(encoding))
                for list_ in (path, "ip4set:" + path):
                    with self.subTest(content=content, encoding=encoding, list=list_):
                        said = self.refuse(list_).splitlines()
                        self.assertRegex(said[0], rf"\Aerror: \[{path}:1\] file refused, .*\(looks like UTF-16")
                        self.assertEqual(len(said), 2, said)

    def test_a_packed_list_that_is_not_read_is_named_as_such_in_one_line(self):
        text = "".join(f"44.{n >> 8}.{n & 255}.1\n" for n in range(2000)).encode()
        for content, name in ((gzip.compress(gzip.compress(text)), "gzip data inside"), (bz2.compress(text), "bzip2"),
                              (lzma.compress(text), "xz"), (b"\x28\xb5\x2f\xfd" + lzma.compress(text), "zstd"),
                              (b"PK\x03\x04" + lzma.compress(text), "zip file")):
            with self.subTest(name):
                path = self.write("list.txt", content)
                said = self.refuse("--max-bad-lines", "1000", path).splitlines()
                self.assertRegex(said[0], rf"\Aerror: \[{path}:1\] file refused, .* \(looks like (a )?{name}")
                self.assertEqual(len(said), 2, said)

    def test_gzip_cut_short_and_damaged_is_refused_and_whole_is_read(self):
        numbers = random.Random(7)
        text = "".join(f"44.{numbers.randrange(256)}.{numbers.randrange(256)}.1\n"
                       for _ in range(20000)).encode()
        packed = gzip.compress(text)
        for size in (1, 5, 10, 18, 1000, len(packed) // 2, len(packed) - 8, len(packed) - 1):
            with self.subTest(size=size):
                self.assertIn("cut.gz", self.refuse(*ANY_SIZE, self.write("cut.gz", packed[:size])))
        damaged = bytearray(packed)
        damaged[len(packed) // 2] ^= 0xFF
        self.assertIn("damaged.gz", self.refuse(*ANY_SIZE, self.write("damaged.gz", damaged)))
        self.build(self.path("other.mdb"), self.write("whole.gz", packed))

    def test_a_list_cut_amid_a_line_is_refused_and_permitted(self):
        cut = self.write("cut.txt", "44.0.0.1\n44.0.1.23")
        reason = "no line feed behind it: is the file cut short? --allow-unterminated"
        for list_ in (cut, f"ip4set:{cut}", f"plain:{cut}"):
            self.assertIn(f'error: [{cut}:2] line refused, text="44.0.1.23" ({reason})\n',
                          self.refuse("--max-bad-lines", "5", list_))
        except_ = self.write("except", "44.0.0.0")
        self.assertIn(f"error: [{except_}:1] line refused", self.refuse("--except", except_, self.path("good.txt")))
        refused = self.run_zone("update", "--store", self.store, "--add", cut, expect=EX_DATAERR)
        self.assertIn(reason, refused.err)
        self.build(self.path("other.mdb"), "--allow-unterminated", cut)
        self.assertIn("44.0.1.23", self.run_zone("dump", "--store", self.path("other.mdb")).out)
        self.build(self.path("other.mdb"), self.write("comment", "44.0.0.1\n44.0.1.23\n # the end"))
        self.build(self.path("other.mdb"), self.write("list.gz", gzip.compress(b"44.0.0.1\n44.0.1.23")))

    def test_one_empty_file_among_others_is_refused(self):
        good, none = self.path("good.txt"), self.write("none.txt", "")
        for type_ in ("ip4set", "plain"):
            self.assertIn(f"error: [{none}] file refused (it has not one line;",
                          self.refuse(f"{type_}:{good},{none}"))
        self.build(self.path("other.mdb"), f"ip4set:{good},{self.write('meant.txt', '# none today' + chr(10))}")
        self.build(self.path("other.mdb"), "--allow-empty", f"ip4set:{good},{none}")

    def test_exceptions_may_be_comments_alone_and_not_nothing(self):
        good, none = self.path("good.txt"), self.write("none.txt", "")
        self.assertIn(f"error: [{none}] file refused (it has not one line;", self.refuse("--except", none, good))
        self.assertEqual(self.build(self.path("other.mdb"), "--except",
                                    self.write("meant.txt", "# none today\n"), good).err, "")

    def test_one_file_among_others_that_has_bad_lines_alone_is_refused(self):
        """What a provider says in place of its list, where some bad lines are permitted."""
        good, page = self.path("good.txt"), self.write("page.txt", "Too many requests\n\n# again later\n")
        for type_ in ("ip4set", "plain"):
            self.assertIn(f"error: [{page}] file refused (it has lines, and not one that can be read; --allow-empty)\n",
                          self.refuse("--max-bad-lines", "20", f"{type_}:{good},{page}"))
        # A comment of its author, though it begins as special entries do.
        marked = self.write("marked.txt", "#$Id: list,v 1.7 $\nToo many requests\n ;$Log$\n")
        self.assertIn(f"error: [{marked}] file refused (it has lines, and not one that can be read; --allow-empty)\n",
                      self.refuse("--max-bad-lines", "20", f"ip4set:{good},{marked}"))
        for rest in ("44.0.0.1", "!192.0.2.1", "10.0.0.1", "$NS 1d ns1.example.net", "#$TTL 300", ":127.0.0.3:text"):
            with self.subTest(rest):
                meant = self.write("meant.txt", f"Too many requests\n{rest}\n")
                self.build(self.path("other.mdb"), "--max-bad-lines", "20", "--skip-reserved", f"ip4set:{good},{meant}")
        self.build(self.path("other.mdb"), "--max-bad-lines", "20", "--allow-empty", f"ip4set:{good},{page}")

    def test_what_cannot_be_read_is_named_with_the_systems_reason(self):
        said = self.refuse(self.directory, expect=None)
        self.assertIn(f"[{self.directory}]", said)
        self.assertRegex(said, "(?i)directory")
        os.symlink("loop", self.path("loop"))
        for path, reason in ((self.directory, "Is a directory"), (self.path("loop"), "Too many levels")):
            self.assertIn(f"error: [{path}] file not read ({reason}", self.refuse(path, expect=os.EX_NOINPUT))
        said = self.refuse(self.path("absent.txt"), expect=None)
        self.assertIn(self.path("absent.txt"), said)
        self.assertIn("No such file", said)

    def test_a_device_that_may_have_no_end_is_not_read(self):
        for name in ("/dev/zero", "/dev/urandom"):
            with self.subTest(name=name), open(name, "rb") as device:
                refused = self.run_zone("build", "--zone", ZONE, "--store", self.store, name, expect=EX_IOERR)
                self.assertIn(f"error: [{name}] file not read (a device, which may have no end)\n", refused.err)
                refused = self.run_zone("update", "--store", self.store, "--add", "-", stdin=device, expect=EX_IOERR)
                self.assertIn("error: [-] file not read (a device, which may have no end)\n", refused.err)
        self.build(self.store, "--allow-empty", "/dev/null", self.path("good.txt"))

    def test_a_list_without_permission_is_named(self):
        path = self.write("secret.txt", GOOD)
        os.chmod(path, 0)
        if os.geteuid() == 0:
            self.check_as_nobody(path)
            return
        said = self.refuse(path, expect=None)
        self.assertIn(path, said)
        self.assertIn("Permission denied", said)

    def check_as_nobody(self, path):
        """Root reads everything, so the program runs as somebody else."""
        copy = shutil.copy(program("dnsblv6-zone"), self.path("dnsblv6-zone"))
        result = subprocess.run([copy, "check", path], user="nobody", capture_output=True,
                                text=True, check=False, timeout=60)
        self.assertIn(result.returncode, (EX_DATAERR, EX_IOERR, EX_NOPERM, 1))
        self.assertIn(path, result.stderr + result.stdout)
        self.assertIn("Permission denied", result.stderr + result.stdout)

    def test_a_lock_file_of_another_user_is_no_fault_of_the_store(self):
        if os.geteuid() != 0:
            self.skipTest("only root can become another user")
        os.chmod(self.store + "-lock", 0o644)
        copy = shutil.copy(program("dnsblv6-zone"), self.path("dnsblv6-zone"))
        for command in ("check", "dump"):
            result = subprocess.run([copy, command, "--store", self.store], user="nobody",
                                    capture_output=True, text=True, check=False, timeout=60)
            self.assertEqual((result.returncode, result.stderr), (
                EX_NOPERM, f"error: [{self.store}] store not read (no write permission for the lock"
                           " file beside the store)\n"), command)

    def test_a_store_that_may_not_be_written_is_named(self):
        said = self.build("/proc/bl6.mdb", self.path("good.txt"),
                          expect=None).err
        self.assertRegex(said, r"(?m)^error: .*/proc/bl6\.mdb.*\(.+\)$")
        self.assert_unharmed()

    def test_reserved_entries_are_left_out_with_a_word_and_counted(self):
        reserved = [f"10.0.0.{n}" for n in range(25)] + ["0.0.0.0/0", "fe80::1"]
        path = self.write("feed.txt", "44.0.0.1\n" + "".join(f"{a}\n" for a in reserved) +
                          "44.0.0.2\n")
        said = self.build(self.store, "--skip-reserved", path).err.splitlines()
        self.assertEqual(said[0], f'warning: [{path}:2] entry left out, text="10.0.0.0"'
                                  " (lists 10.0.0.0/8, private space)")
        self.assertEqual(said[20:], [
            "warning: entries left out, count=27 (reserved space; --skip-reserved)",
            "warning: 7 more findings not shown"])
        self.assertEqual(self.run_zone("dump", "--store", self.store).out, "44.0.0.1\n44.0.0.2\n")
        result = self.run_zone("check", "--skip-reserved", path, expect=1)
        self.assertEqual(len(result.out.splitlines()), len(reserved) + 1)
        self.assertNotIn("error: ", result.out)

        update = ["update", "--store", self.store, "--skip-reserved", "--add"]
        result = self.run_zone(*update, self.write("more.txt", "10.1.1.1\n44.0.0.3\n"))
        self.assertIn("(+1)", result.out)
        self.assertIn("warning: entries left out, count=1 (", result.err)

    def test_an_entry_that_a_canary_hides_is_refused_or_said(self):
        path = self.write("list.txt", "44.0.0.1\n127.0.2.10\n")
        said = self.refuse("--allow-reserved", path)
        self.assertRegex(said, r'list\.txt:2\] entry refused, text="127\.0\.2\.10" \(lies in a canary')
        update = ["update", "--store", self.store, "--allow-reserved"]
        self.run_zone(*update, "--add", "127.0.2.10", expect=EX_DATAERR)
        self.assert_unharmed()
        self.run_zone(*update, "--remove", "127.0.2.10")
        result = self.run_zone(*update, "--add", "127.0.2.0/24")
        self.assertIn("warning: [--add] entry not listed whole", result.err)
        self.assertIn("ipv4=385 (+128)", result.out)

    def test_an_empty_list_makes_an_empty_zone_with_a_word(self):
        empty = self.write("empty.txt", "# nothing today\n")
        self.build(self.store, "--allow-empty", empty)
        self.assertEqual(self.run_zone("dump", "--store", self.store).out, "")
        wait_for(lambda: self.server.ask(f"0.2.0.192.{ZONE}", AAAA).rcode == NXDOMAIN,
                 "the empty zone")
        self.assertEqual(self.server.ask(f"0.0.0.127.{ZONE}", AAAA).rcode, NOERROR)
        self.run_zone("check", "--allow-empty", "--store", self.store, empty)
        self.build(self.store, "--allow-empty", self.write("many.txt", "".join(
            f"44.0.{n >> 8}.{n & 255}\n" for n in range(2000))))
        self.assertIn("--max-shrink",
                      self.build(self.store, "--allow-empty", empty, expect=EX_DATAERR).err)

    def test_an_exclusion_of_a_test_point_is_not_skipped(self):
        path = self.write("feed.txt", "44.0.0.1\n!127.0.0.2\n")
        self.assertIn("entry refused", self.refuse("--skip-reserved", path))

    def test_a_list_that_has_reserved_entries_alone_is_empty(self):
        path = self.write("feed.txt", "10.0.0.1\n")
        self.assertIn("list is empty", self.refuse("--skip-reserved", path))

    def test_a_list_that_shrinks_or_grows_too_much_is_refused_until_told(self):
        store = self.path("other.mdb")
        many = self.write("many.txt", "".join(f"44.0.{n >> 4}.{n & 15}\n" for n in range(3000)))
        few = self.write("few.txt", "44.0.0.1\n")
        self.build(store, many)
        before = self.read(store)
        said = self.build(store, few, expect=EX_DATAERR).err
        self.assertRegex(said, "(?m)^error: .*shrink.*before=3000 now=1 .*--max-shrink")
        self.assertEqual(self.read(store), before)
        self.build(store, *ANY_SIZE, few)
        said = self.build(store, many, expect=EX_DATAERR).err
        self.assertRegex(said, "(?m)^error: .*grow.*before=1 now=3000 .*--max-grow")

    def test_an_address_beside_a_test_point_that_must_be_clear_is_refused(self):
        """Its bit is that of the /64."""
        listed = self.write("beside", "2001:db8:7f00:1::5\n192.0.2.1\n")
        result = self.build(self.path("beside.mdb"), "--allow-reserved", listed, expect=EX_DATAERR)
        self.assertIn("zone would list a test point", result.err)
        self.assertIn("2001:db8:7f00:1::/64 must not be listed", result.err)

    def test_a_test_point_that_must_be_clear_is_told_with_its_line(self):
        """Of the list that does not exclude it."""
        listed = self.write("listed", "44.0.0.1\n127.0.0.0/24\n")
        excluded = self.write("excluded", "127.0.0.0/24\n!127.0.0.1\n")
        other = self.write("other", "44.0.0.2\n127.0.0.1\n")
        for lists, place in (((listed,), f"{listed}:2"), ((excluded, listed), f"{listed}:2"),
                             ((f"plain:{other},{excluded}", listed), f"{listed}:2"),
                             ((f"ip4set:{excluded}", f"ip4trie:{listed},{other}"), f"{listed}:2"),
                             ((f"ip4tset:{other}", listed), f"{other}:2")):
            said = self.build(self.path("point.mdb"), "--allow-reserved", *lists, expect=EX_DATAERR).err
            self.assertIn(f"error: [{place}] zone would list a test point", said)
        self.build(self.path("point.mdb"), "--allow-reserved", excluded)

    def test_a_list_of_half_the_internet_is_refused_though_no_line_is_reserved(self):
        path = self.write("much.txt", "".join(f"{n}.0.0.0/8\n" for n in range(20, 100)))
        self.build(self.path("other.mdb"), path, expect=EX_DATAERR)
        self.assertFalse(os.path.exists(self.path("other.mdb")))

    def test_a_list_of_a_continent_of_ipv6_is_refused(self):
        for text, expect in (("2a00::/12", EX_DATAERR), ("2400::/6", EX_DATAERR),
                             ("2a00::/16", EX_DATAERR), ("2a00::/17", 0)):
            with self.subTest(text):
                path = self.write("much.txt", text + "\n")
                said = self.build(self.path("other.mdb"), path, expect=expect).err
                self.assertEqual("zone would list too much of IPv6, /64s=" in said, expect != 0)
        said = self.run_zone("update", "--store", self.path("other.mdb"), "--add", "2a00::/15",
                             *ANY_SIZE, expect=EX_DATAERR).err
        self.assertIn("as many as 131072 /32s; --max-listed6 50000 permits 50000", said)
        self.run_zone("update", "--store", self.path("other.mdb"), "--add", "2a00::/15",
                      *ANY_SIZE, "--max-listed6", "200000")

    def test_too_many_records_are_told_with_their_number_and_the_list_that_makes_them(self):
        small = self.write("small.txt", "".join(f"20.0.{n}.1\n" for n in range(200)))
        wide = self.write("wide.txt", "192.0.2.1\n2a00::/24\n2a01:4f8::/32\n")
        store = self.path("other.mdb")
        said = self.build(store, "--style", "flat", *ANY_SIZE, small, wide, expect=EX_DATAERR).err
        self.assertRegex(said, r"(?m)^error: \[\S+wide\.txt\] zone would have too many records,"
                               r" records=86\d{8} permitted=16000000, text=\"2a00::/24\""
                               r" \(most are of this list, .*flat names .*--max-records")
        self.assertFalse(os.path.exists(store))
        counted = int(re.search(r" records=(\d+)", self.build(store, small).out).group(1))
        said = self.build(self.path("new.mdb"), "--max-records", str(counted - 1), small,
                          expect=EX_DATAERR).err
        self.assertRegex(said, rf"small\.txt\] .* records={counted} permitted={counted - 1}")
        self.build(self.path("new.mdb"), "--max-records", str(counted), small)

    def test_a_type_that_does_not_exist_is_wrong_use_or_a_refused_list(self):
        said = self.refuse("ip5set:" + self.path("good.txt"), expect=None)
        self.assertIn("ip5set", said)
        for nameless in ("ip4set:", "plain:", "dnset:,", f"ip4trie:{self.path('good.txt')},",
                         f"plain:{self.path('good.txt')},,{self.path('good.txt')}"):
            said = self.refuse("--allow-empty", *ANY_SIZE, nameless, expect=EX_USAGE)
            self.assertTrue(said.startswith(f'error: list refused, text="{nameless}" (a file of it has no'
                                            " name)\n"), said)
        said = self.refuse("--no-such-option", self.path("good.txt"), expect=EX_USAGE)
        self.assertIn("--no-such-option", said)
        self.assertEqual(len(said.splitlines()), 1)


class Output(Case):
    def test_a_hole_in_what_is_printed_is_an_error(self):
        """A pipe that does not wait was full for a while; the end is there again, if it has not ended by then."""
        self.build(self.path("bl6.mdb"), "--max-listed", "50", self.write("list", "".join(
            f"44.{n >> 16}.{n >> 8 & 255}.{n & 255}\n" for n in range(0, 900_000, 3))))
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        dump = subprocess.Popen([program("dnsblv6-zone"), "dump", "--store", self.path("bl6.mdb")],
                                stdout=writer, stderr=subprocess.PIPE, text=True)
        poll = select.poll()
        poll.register(writer, select.POLLOUT)
        wait_for(lambda: not poll.poll(0), "the pipe to be full")
        count = self.count_writes(dump.pid)
        wait_for(lambda: self.count_writes(dump.pid) > count or has_ended(dump.pid), "a write into the full pipe")
        os.close(writer)
        with open(reader, "rb") as pipe:
            pipe.read()
        self.assertRegex(dump.communicate()[1], r"^error: output not written \(.*\)$")
        self.assertEqual(dump.returncode, EX_IOERR)

    @staticmethod
    def count_writes(pid):
        """Also those that have failed."""
        with open(f"/proc/{pid}/io", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("syscw:"))

    def test_a_line_of_a_finding_is_one_write(self):
        """Two jobs that have one terminal, or one file, mix no lines."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ours, theirs:
            build = subprocess.run([program("dnsblv6-zone"), "build", "--zone", ZONE, "--ns", "ns1.example.net.",
                                    "--store", self.path("bl6.mdb"), self.write("list", "300.1.1.1\n9.0.0.010\n")],
                                   stderr=theirs, check=False)
            theirs.close()
            writes = list(iter(lambda: ours.recv(1 << 16), b""))
        self.assertEqual(build.returncode, EX_DATAERR)
        self.assertGreaterEqual(len(writes), 2)
        for write in writes:
            self.assertRegex(write, rb"^(error|warning): [^\n]*\n$")

    def test_a_reader_that_has_enough_is_the_end_in_silence(self):
        """More than a pipe holds, as every third address is no network."""
        self.build(self.path("bl6.mdb"), self.write("list", "".join(
            f"44.0.{n >> 8}.{n & 255}\n" for n in range(0, 60_000, 3))))
        dump = subprocess.Popen([program("dnsblv6-zone"), "dump", "--store", self.path("bl6.mdb")],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                restore_signals=False)  # SIGPIPE is ignored
        dump.stdout.readline()
        dump.stdout.close()
        self.assertEqual((dump.stderr.read(), dump.wait()), ("", -signal.SIGPIPE))
        dump.stderr.close()


class LargeLists(Case):
    """What is refused is refused before anything is written."""

    def test_the_world_in_parts_is_too_much_of_it(self):
        quarters = "".join(f"$DATASET ip6trie s{n}\n4000::/2\n" for n in range(4))
        refused = self.build(self.path("bl6.mdb"), "combined:" + self.write("quarters", quarters), expect=EX_DATAERR)
        told = f"error: zone would list too much of IPv6, /64s={2**64 - 1} ("
        self.assertIn(told, refused.err)
        store = self.path("bl6.mdb")
        self.build(store, "combined:" + self.write("two", "$DATASET ip6trie s\n2a00::/64\n$DATASET ip6trie t\n2a00::/63\n"))
        world = self.write("world", "::/0\n!2001:db8:7f00:1::/64\n")
        refused = self.run_zone("update", "--store", store, "--allow-reserved", "--subzone", "s", "--add", world,
                                expect=EX_DATAERR)
        self.assertIn(told, refused.err)

    def test_too_many_values_for_one_address_are_told_with_it_before_a_store_is_written(self):
        def valued(count):
            return "combined:" + self.write("values", "44.0.0.0/24\n".join(
                f"$DATASET ip4set @\n:127.0.{n >> 8}.{n & 255}:x\n44.0.0.7\n" for n in range(3, 3 + count)))

        def told(permitted):
            return (f'error: zone would have too many values for one address, values={permitted + 1},'
                    f' text="44.0.0.7" (more than {permitted} values for one address')

        both = "--classic", CLASSIC, "--classic-store", self.path("bl.mdb")
        for options, permitted in (((), 255), (both, 48)):
            refused = self.build(self.path("bl6.mdb"), *options, valued(permitted + 1), expect=EX_DATAERR)
            self.assertIn(told(permitted), refused.err)
            self.assertFalse(os.path.exists(self.path("bl6.mdb")))
        self.assertIn(told(255), self.run_zone("check", valued(256), expect=1).out)
        self.build(self.path("bl6.mdb"), valued(255))
        self.run_zone("check", valued(255))
        self.build(self.path("other.mdb"), *both, valued(48))
        self.assertIn(told(48), self.run_zone("check", "--store", self.path("bl.mdb"), valued(49), expect=1).out)


class GoodLists(Case):
    def test_what_is_excepted_is_never_listed_whatever_the_lists_say(self):
        own = self.write("own", "44.0.0.0/24\n!44.0.0.9\n10.0.0.0/8\n2a00:1::5\n127.0.0.2\n")
        feed = self.write("feed", "44.0.0.0/23\n44.0.0.7\n44.0.0.9\n2a00:1::/62\n")
        values = self.write("values", ":5:x\n44.0.0.7\n44.0.2.1\n")
        store = self.path("bl6.mdb")
        self.build(store, "--except", own, feed, "ip4set:" + values)
        wanted = ["44.0.0.9", "44.0.1.0/24", "44.0.2.1", "2a00:1:0:1::/64", "2a00:1:0:2::/63"]
        self.assertEqual(self.run_zone("dump", "--store", store).out.split(), wanted)
        server = self.serve()
        self.assertEqual(server.ask("2.0.0.127." + CLASSIC, A).rcode, NOERROR)

        update = ["update", "--store", store, "--except", own]
        result = self.run_zone(*update, *ANY_SIZE, "--add", "44.0.0.0/16")
        self.assertIn(f"(+{65536 - 255 - 258})", result.out)
        self.run_zone("update", "--store", store, "--add", "44.0.0.8")
        result = self.run_zone(*update, "--add", "44.0.0.9")
        self.assertIn("(-1)", result.out)
        self.assertIn("nothing to change", self.run_zone(*update, "--add", "44.0.0.8").out)

    def test_an_exclusion_in_one_file_of_exceptions_is_of_no_other(self):
        feed = self.write("feed", "44.0.0.0/22\n2a00:1::/62\n")
        one = self.write("one", "44.0.0.0/24\n2a00:1::5\n!2a00:1::/64\n2a00:1:0:1::/64\n!2a00:1:0:1::9\n")
        other = self.write("other", "44.0.0.0/23\n!44.0.0.0/24\n!44.0.1.9\n")
        store = self.path("bl6.mdb")
        for files in ((one, other), (other, one)):
            options = [word for path in files for word in ("--except", path)]
            self.build(store, *options, feed)
            self.assertEqual(self.run_zone("dump", "--store", store).out.split(),
                             ["44.0.1.9", "44.0.2.0/23", "2a00:1:0:2::/63"])
        self.run_zone("update", "--store", store, *options, *ANY_SIZE, "--add", "44.0.0.0/22")
        self.assertIn("44.0.1.9\n44.0.2.0/23\n", self.run_zone("dump", "--store", store).out)

    def test_an_exclusion_in_a_file_of_an_update_is_of_that_file_alone(self):
        store, feed = self.path("bl6.mdb"), self.write("feed", "44.0.0.0/24\n!44.0.0.0/26\n")
        other = self.write("other", "44.0.0.0/24\n!44.0.0.128/25\n")
        for options, wanted in (
                (("--remove", "44.0.0.0/26", "--add", feed), ["44.0.0.64/26", "44.0.0.128/25"]),
                (("--add", feed, "--remove", "44.0.0.0/25"), ["44.0.0.128/25"]),
                (("--remove", feed, "--add", "44.0.0.64/27"), ["44.0.0.7", "44.0.0.64/27"]),
                (("--add", feed, "--add", other), ["44.0.0.0/24"]),
        ):
            with self.subTest(options=options):
                self.build(store, self.write("list", "8.8.8.8\n44.0.0.7\n"), *ANY_SIZE)
                self.run_zone("update", "--store", store, *ANY_SIZE, *options)
                self.assertEqual(self.run_zone("dump", "--store", store).out.split(), ["8.8.8.8", *wanted])
        result = self.run_zone("update", "--store", store, "--add", feed, "--remove", other, expect=EX_DATAERR)
        self.assertEqual(result.err.splitlines()[0],
                         'error: change refused, text="44.0.0.64/26" (both added and removed)')
        result = self.run_zone("update", "--store", store, "--add", "44.0.0.0/24", "--add", "!44.0.0.7", expect=EX_DATAERR)
        self.assertEqual(result.err.splitlines()[0], 'error: [--add] line refused, text="!44.0.0.7"'
                         " (! stands in a file, and is for that file alone)")

    def test_a_zone_that_exclusions_empty_is_told_with_its_lists(self):
        """Too small a change for --max-shrink."""
        feed = self.write("feed", "44.0.0.0/25\n2a00:1::/64\n")
        names = self.write("names", "bad.example\n!bad.example\n")
        clients = self.write("clients", "192.0.2.0/24\n")
        own = self.write("own", "44.0.0.0/16\n2a00:1::/32\n")
        none, store = self.write("none", ""), self.path("bl6.mdb")
        told = "warning: [{}] nothing is left of the list (all of it is excluded, by ! or --except)"
        self.assertEqual(self.build(store, feed, "acl:" + clients).err, "")
        self.assertEqual(self.build(store, "--except", own, feed, self.write("more", "44.1.0.0\n")).err, "")
        result = self.build(store, "--except", own, "--allow-empty", feed, none, "dnset:" + names,
                            "acl:" + clients)
        self.assertEqual(result.err.splitlines(), [told.format(feed), told.format("dnset:" + names)])
        self.assertIn("ipv4=0 ipv6=0", result.out)
        result = self.run_zone("check", "--except", own, feed, expect=1)
        self.assertEqual(result.out.splitlines(), [told.format(feed)])

    def test_files_of_a_plain_list_are_read_as_one(self):
        white = self.write("white", "!44.0.0.7\n")
        store = self.path("bl6.mdb")
        self.build(store, f"plain:{self.write('list', '44.0.0.6/31' + chr(10))},{white}")
        self.assertEqual(self.run_zone("dump", "--store", store).out, "44.0.0.6\n")

    def test_an_exclusion_that_excludes_nothing_is_said(self):
        white = self.write("white", "9.9.9.9\n!44.0.0.7\n!44.0.0.0/8\n")
        listed = self.write("list", "44.0.0.0/24\n!44.0.0.8/29\n!44.0.0.0/24\n")
        said = self.build(self.path("bl6.mdb"), listed, white).err
        self.assertEqual(said, f'warning: [{white}] exclusions exclude nothing, count=2,'
                               ' text="44.0.0.7" (no entry of this list holds them; see'
                               " --except)\n")
        self.assertEqual(self.run_zone("check", f"plain:{listed},{white}", expect=1).out.count(
            "exclusions exclude nothing, count=1, text=\"44.0.0.0/8\""), 1)

    def test_crlf_byte_order_mark_latin_1_comments_ranges_and_several_files_are_read(self):
        first = self.write("first.txt", b"\xef\xbb\xbf44.0.0.1\r\n# caf\xe9\r\n44.0.0.2 ; \xff\r\n")
        second = self.write("second.gz", gzip.compress(b"\t44.0.0.5-44.0.0.6  # two\n\n44.0.1.0/24"))
        self.build(self.path("bl6.mdb"), first, second, "-", input=b"2a00::/64\n44.0.0.9\n")
        dumped = self.run_zone("dump", "--store", self.path("bl6.mdb")).out.split()
        self.assertEqual(dumped, ["44.0.0.1", "44.0.0.2", "44.0.0.5", "44.0.0.6", "44.0.0.9",
                                  "44.0.1.0/24", "2a00::/64"])


if __name__ == "__main__":
    main()
