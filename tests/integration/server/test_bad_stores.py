#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
A bad store is named and not served; a good one survives what happens to it.

Wrong version, cut short, overwritten, absent, without permission; a disk that
is full. dnsblv6d starts all the same and serves the zones that are good.
"""

import fcntl
import os
import subprocess

from harness import (AAAA, EX_DATAERR, NOERROR, SERVFAIL, ZONE, Case, config_text, main, peer, program,
                     wait_for)

BAD = "bad.example."
LISTED = b"\x40" + bytes(15)


def share(key, value):
    """Of an entry of the facts, the fourth table, in the checksum of a store (lib/lmdb/entries.c)."""
    mixed = 0xcbf29ce484222325
    for byte in bytes((3, 0, len(key))) + key + value:
        mixed = (mixed ^ byte) * 0x100000001b3 % 2 ** 64
    mixed = (mixed ^ mixed >> 32) * 0x9e3779b97f4a7c15 % 2 ** 64
    return mixed ^ mixed >> 29


class BadStores(Case):
    def setUp(self):
        super().setUp()
        self.list = self.write("list.txt", "192.0.2.1\n198.51.0.0/16\n" + "".join(
            f"44.{n >> 8}.{n & 255}.{host}\n" for n in range(2000) for host in (1, 200)))
        self.build(self.path("bl6.mdb"), self.list)
        self.build(self.path("bad.mdb"), self.list, zone=BAD)
        with open(self.path("bad.mdb"), "rb") as file:
            self.good = file.read()

    def assert_named_and_not_served(self, pattern):
        """check and dump fail with the reason; the server says so and serves the other zone."""
        store = self.path("bad.mdb")
        for command in ("check", "dump"):
            result = self.run_zone(command, "--store", store, expect=None)
            self.assertGreater(result.returncode, 0, command)
            self.assertRegex(result.err + result.out, pattern)
            self.assertIn("bad.mdb", result.err + result.out)
        server = self.serve([(ZONE, self.path("bl6.mdb"), None), (BAD, store, None)])
        self.assertEqual(server.ask(f"0.2.0.192.{ZONE}", AAAA).rdata(AAAA), [LISTED])
        reply = server.ask(f"0.2.0.192.{BAD}", AAAA)
        self.assertEqual((reply.rcode, reply.answer), (SERVFAIL, []))
        server.wait_for_log(r"^(error|warning): \[bad\.example\.\].*bad\.mdb.*" + pattern)
        return server

    def replace(self, content):
        with open(self.path("bad.mdb"), "wb") as file:
            file.write(content)

    def test_another_schema_version(self):
        dumped = subprocess.run([peer("mdb_dump"), "-n", "-a", self.path("bad.mdb")], check=True,
                                capture_output=True, text=True).stdout
        key = "schema".encode().hex()
        lines = dumped.splitlines()
        at = lines.index(" " + key) + 1
        self.assertRegex(lines[at], r"^ 000000[0-9a-f]{2}$")
        self.assertNotEqual(lines[at], " 00000063")
        lines[at] = " 00000063"
        os.unlink(self.path("bad.mdb"))
        subprocess.run([peer("mdb_load"), "-n", self.path("bad.mdb")], check=True, text=True,
                       input="\n".join(lines) + "\n", stderr=subprocess.DEVNULL)
        self.assert_named_and_not_served("schema version")

    def test_cut_short_anywhere(self):
        for size in (0, 1, 4095, 4096, 8192, 12288, len(self.good) // 2, len(self.good) - 4096,
                     len(self.good) - 1):
            with self.subTest(size=size):
                self.replace(self.good[:size])
                self.assert_named_and_not_served("not a store|cut short|damaged|never been finished")

    def test_random_bytes(self):
        for size in (100, 5000, len(self.good)):
            self.replace(self.random.randbytes(size))
            self.assert_named_and_not_served("not a store|cut short|damaged")

    def test_pages_overwritten_inside_are_found_by_check(self):
        for _ in range(20):
            damaged = bytearray(self.good)
            at = self.random.randrange(2 * 4096, len(damaged) - 600)
            noise = self.random.randbytes(600)
            if damaged[at : at + 600] == noise:
                continue
            damaged[at : at + 600] = noise
            self.replace(bytes(damaged))
            result = self.run_zone("check", "--store", self.path("bad.mdb"), expect=None)
            self.assertIn(result.returncode, (0, 1, 65))
            if result.returncode == 0:  # the noise hit a page that is not in use
                self.check_all_there()
            else:
                self.assertIn("bad.mdb", result.err + result.out)

    def check_all_there(self):
        dumped = self.run_zone("dump", "--store", self.path("bad.mdb")).out
        original = self.run_zone("dump", "--store", self.path("bl6.mdb")).out
        self.assertEqual(dumped, original)

    def test_a_page_that_has_lost_an_entry_is_no_end_of_what_is_printed(self):
        store = self.path("bad.mdb")
        for page in range(2 * 4096, len(self.good), 4096):
            lower = int.from_bytes(self.good[page + 12 : page + 14], "little")  # where places of entries end
            if self.good[page + 10] != 2 or lower <= 18:  # a leaf of two entries or more
                continue
            self.replace(self.good[: page + 12] + (lower - 2).to_bytes(2, "little") + self.good[page + 14 :])
            option = ((), ("--clients",), ("--zonefile",))[page // 4096 % 3]
            with self.subTest(page=page // 4096, option=option):
                result = self.run_zone("dump", "--store", store, *option, expect=EX_DATAERR)
                self.assertRegex(result.err, rf"\Aerror: \[{store}\] store not read \(.*\)\n\Z")

    def test_pages_that_lead_nowhere_end_what_prints_a_store_with_a_line(self):
        commands = (["dump"], ["dump", "--values"], ["dump", "--zonefile"], ["log"],
                    ["log", "--since", "1"], ["update", "--add", "44.0.0.9"])
        for at in (16, 18, 20, 22):  # where nodes of a page are, counted from its beginning
            for words in commands:
                with self.subTest(at=at, words=words):
                    self.replace(self.pages_that_lead_nowhere(at))
                    store = self.path("bad.mdb")
                    result = self.run_zone(words[0], "--store", store, *words[1:], expect=None)
                    self.assertEqual(result.returncode, EX_DATAERR, result.err)
                    self.assertRegex(result.err, rf"\Aerror: \[{store}\] store not "
                                                 r"(read|changed) \(.*\)\n\Z")

    def pages_that_lead_nowhere(self, at):
        """at is where places of entries are, counted from the beginning of each page."""
        damaged = bytearray(self.good)
        for page in range(2 * 4096, len(damaged), 4096):
            damaged[page + at : page + at + 2] = b"\xff\xff"
        return bytes(damaged)

    def test_damage_after_a_look_at_all_of_a_store_ends_with_a_line_that_names_it(self):
        store, lists = self.path("bad.mdb"), self.path("lists")
        os.mkfifo(lists)
        build = ["build", "--zone", BAD, "--store", store, "--max-shrink", "100", lists]
        for words in (build, [*build, "--dry-run"], ["check", "--store", store, lists]):
            for at in (16, 18, 20, 22):
                with self.subTest(words=words, at=at):
                    self.replace(self.good)
                    command = self.start_zone(*words)
                    with open(lists, "wb") as file:  # which it reads when it has looked at the store
                        self.replace(self.pages_that_lead_nowhere(at))
                        file.write(b"192.0.2.1\n")
                    said = command.communicate()[1]
                    self.assertEqual(command.returncode, EX_DATAERR, said)
                    self.assertRegex(said, rf"\Aerror: \[{store}\] store not (read|replaced|written)\b.* \(.*\)\n\Z")

    def test_damage_of_a_classic_store_beside_another_names_that_one(self):
        store, lists, classic = self.path("bad.mdb"), self.path("lists"), self.path("classic.mdb")
        build = ["build", "--zone", BAD, "--store", store, "--classic", "classic.example.", "--classic-store",
                 classic, "--max-shrink", "100"]
        # So few pages that each of them leads out of the file, and no look at it goes well.
        self.run_zone(*build, "--ns", "ns1.example.net.", self.write("few", "192.0.2.1\n192.0.2.9\n"))
        with open(classic, "rb") as file:
            self.good = file.read()
        self.assertLess(len(self.good), 0xffff)
        os.mkfifo(lists)
        command = self.start_zone(*build, lists)
        with open(lists, "wb") as file:
            with open(classic, "r+b") as damaged:
                damaged.write(self.pages_that_lead_nowhere(18))
            file.write(b"192.0.2.1\n")
        said = command.communicate()[1]
        self.assertEqual((command.returncode, said), (EX_DATAERR, (
            f"error: [{classic}] store not replaced (damaged store: move it away and build it again)\n")))
        self.assertEqual(self.run_zone("dump", "--store", store).out, "192.0.2.1\n")

    def test_damage_of_one_of_two_stores_that_have_been_looked_at_names_both(self):
        first, second = self.path("bad.mdb"), self.path("bl6.mdb")
        for at in (16, 18, 20, 22):
            with self.subTest(at=at):
                self.replace(self.good)
                with open(second + "-lock", "r+b") as lock:
                    fcntl.lockf(lock, fcntl.LOCK_EX, 1)  # as one that opens the store for the first time
                    command = self.start_zone("diff", first, second)
                    inode = os.stat(second + "-lock").st_ino
                    wait_for(lambda inode=inode: self.has_waiter(inode), "a look at the second store")
                    self.replace(self.pages_that_lead_nowhere(at))
                said = command.communicate()[1]
                self.assertEqual(command.returncode, EX_DATAERR, said)
                self.assertRegex(said, rf"\Aerror: \[{first} or {second}\] store not read \(.*\)\n\Z")

    def start_zone(self, *words):
        return subprocess.Popen([program("dnsblv6-zone"), *words], stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    @staticmethod
    def has_waiter(inode):
        with open("/proc/locks", encoding="ascii") as file:
            return any("->" in line and f":{inode} " in line for line in file)

    def test_damage_that_writers_alone_meet_ends_them_with_a_line(self):
        store, keys = self.path("signed.mdb"), ("--keys", self.path("keys"))
        build = ["build", "--zone", BAD, "--store", store, "--ns", "ns1.example.net.", *keys]
        self.run_zone(*build, self.list)
        self.run_zone("update", "--store", store, *keys, "--add", "44.0.0.9")
        with open(store, "rb") as file:
            damaged = bytearray(file.read())
        newest = max(0, 4096, key=lambda at: int.from_bytes(damaged[at + 144 : at + 152], "little"))
        # The root of LMDB's table of freed pages, as if it had not been written: no reader looks at that flag.
        page = int.from_bytes(damaged[newest + 80 : newest + 88], "little") * 4096
        self.assertEqual(damaged[page + 10], 2)
        damaged[page + 10] = 18
        for done, words in (("replaced", [*build, self.write("more", "192.0.2.1\n"), "--max-shrink", "100"]),
                            ("changed", ["update", "--store", store, *keys, "--add", "44.0.0.10"]),
                            ("signed", ["sign", "--store", store, *keys]),
                            ("rolled back", ["rollback", "--store", store, *keys]),
                            ("changed", ["roll", "--store", store, *keys, "--step", "start"])):
            with self.subTest(words[0]):
                with open(store, "wb") as file:
                    file.write(damaged)
                result = self.run_zone(*words, expect=EX_DATAERR)
                self.assertEqual(result.out, "")
                self.assertEqual(result.err.splitlines(), [
                    f"error: [{store}] store not {done} (damaged store: move it away and build it again)"])
                with open(store, "rb") as file:
                    self.assertEqual(file.read(len(damaged)), damaged)
        self.assertIn("44.0.0.9\n", self.run_zone("dump", "--store", store).out)

    def test_changes_that_a_journal_has_lost_are_no_end_of_it(self):
        store = self.path("bad.mdb")
        for n in range(1, 5):
            self.run_zone("update", "--store", store, "--add", f"44.0.0.{n + 1}")
        log = ["log", "--store", store, "--brief"]
        printed = self.run_zone(*log).out.splitlines()
        self.assertEqual(len(printed), 4)
        lines = subprocess.run([peer("mdb_dump"), "-n", "-a", store], check=True, capture_output=True,
                               text=True).stdout.splitlines()
        whole = [at for at, line in enumerate(lines) if line.startswith(f" {4:016x}") and len(line) == 25]
        for number, lost in ((4, whole), *((n, [lines.index(f" {n:016x}{0:08x}")]) for n in (1, 2, 3, 4))):
            gone = {*lost, *(at + 1 for at in lost)}  # keys, and a value behind each
            for path in (store, store + "-lock"):
                os.unlink(path)
            subprocess.run([peer("mdb_load"), "-n", store], check=True, text=True, stderr=subprocess.DEVNULL,
                           input="".join(f"{line}\n" for at, line in enumerate(lines) if at not in gone))
            with self.subTest(number=number, lost=len(lost)):
                result = self.run_zone(*log, expect=EX_DATAERR)
                self.assertEqual(result.out.splitlines(), printed[: 4 - number])
                self.assertEqual(result.err, f"error: [{store}] store not read (damaged store)\n")

    def test_an_age_of_lists_that_is_none_costs_one_line_and_a_build_writes_it(self):
        store = self.path("bad.mdb")
        lines = subprocess.run([peer("mdb_dump"), "-n", "-a", store], check=True, capture_output=True,
                               text=True).stdout.splitlines()
        age, total = (lines.index(f" {name.hex()}") + 1 for name in (b"lists", b"sum"))
        self.assertEqual(len(lines[age]), 17)
        changed = (int(lines[total], 16) + share(b"lists", bytes(4)) - share(b"lists", bytes.fromhex(lines[age])))
        lines[age], lines[total] = f" {0:08x}", f" {changed % 2 ** 64:016x}"
        for path in (store, store + "-lock"):
            os.unlink(path)
        subprocess.run([peer("mdb_load"), "-n", store], check=True, text=True, stderr=subprocess.DEVNULL,
                       input="".join(f"{line}\n" for line in lines))
        server = self.serve([(BAD, store, None)])
        self.assertEqual(server.ask(f"0.2.0.192.{BAD}", AAAA).rdata(AAAA), [LISTED])
        server.wait_for_log(r"^warning: \[bad\.example\.\] the time that the lists were written cannot be read, path=")
        self.build(store, self.list, zone=BAD)
        dumped = subprocess.run([peer("mdb_dump"), "-n", "-a", store], check=True, capture_output=True, text=True)
        self.assertRegex(dumped.stdout, rf"(?m)^ {b'lists'.hex()}\n 00000000[0-9a-f]{{8}}$")

    def test_a_damaged_store_leaves_the_server_and_its_other_zones_alive(self):
        self.expect_log("store not opened")
        for _ in range(10):
            damaged = bytearray(self.good)
            for _ in range(20):
                at = self.random.randrange(2 * 4096, len(damaged) - 64)
                damaged[at : at + 64] = self.random.randbytes(64)
            self.replace(bytes(damaged))
            server = self.serve([(ZONE, self.path("bl6.mdb"), None),
                                 (BAD, self.path("bad.mdb"), None)])
            for n in range(0, 2000, 50):
                self.try_ask(server, f"0.{n & 255}.{n >> 8}.44.{BAD}")
            reply = wait_for(lambda server=server: self.try_ask(server, f"0.2.0.192.{ZONE}"),
                             "the good zone")
            self.assertEqual((reply.rcode, reply.rdata(AAAA)), (NOERROR, [LISTED]))
            server.stop()

    def try_ask(self, server, name):
        try:
            return server.ask(name, AAAA, timeout_s=2)
        except OSError:
            return None

    def test_absent(self):
        os.unlink(self.path("bad.mdb"))
        self.assert_named_and_not_served("No such file")

    def test_a_directory(self):
        os.unlink(self.path("bad.mdb"))
        os.mkdir(self.path("bad.mdb"))
        self.assert_named_and_not_served("[Dd]irectory|not a store")

    def test_a_store_of_another_zone_is_not_served_under_this_name(self):
        self.build(self.path("other.mdb"), self.list, zone="other.example.")
        os.rename(self.path("other.mdb"), self.path("bad.mdb"))
        server = self.serve([(ZONE, self.path("bl6.mdb"), None),
                             (BAD, self.path("bad.mdb"), None)])
        self.assertEqual(server.ask(f"0.2.0.192.{BAD}", AAAA).rcode, SERVFAIL)
        server.wait_for_log(r"^(error|warning): \[bad\.example\.\].*another zone")


# Runs in a mount name space of its own, with a small file system at DIRECTORY:
# a disk that is full without filling a disk.
IN_SMALL_DISK = """
set -e
mount -t tmpfs -o size={size_kb}k none {directory}
cp {small_list} {directory}/list.txt
{zone} build --zone {zone_name} --store {directory}/bl6.mdb --ns ns1.example.net. \
    {directory}/list.txt
sum=$(cksum < {directory}/bl6.mdb)
status=0
{zone} build --zone {zone_name} --store {directory}/bl6.mdb --ns ns1.example.net. \
    --max-grow 1000000 {large_list} || status=$?
echo "status=$status"
{zone} check --store {directory}/bl6.mdb
{zone} dump --store {directory}/bl6.mdb
"""


class FullDisk(Case):
    def in_small_disk(self, size_kb, large_count):
        os.makedirs(self.path("small"), exist_ok=True)
        small = self.write("small.txt", "192.0.2.1\n198.51.100.0/24\n")
        large = self.write("large.txt", "".join(
            f"44.{n >> 8}.{n & 255}.1\n" for n in range(large_count)))
        script = IN_SMALL_DISK.format(directory=self.path("small"), size_kb=size_kb,
                                      small_list=small, large_list=large, zone_name=ZONE,
                                      zone=program("dnsblv6-zone"))
        return subprocess.run(["unshare", "--mount", "sh", "-c", script], capture_output=True,
                              text=True, check=False, timeout=120)

    def setUp(self):
        super().setUp()
        allowed = subprocess.run(["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"],
                                 capture_output=True, check=False)
        if allowed.returncode != 0:
            self.skipTest("no mount name space here (not root?)")

    def test_a_store_that_is_read_without_a_lock_is_named_when_it_is_written(self):
        os.mkdir(self.path("store"))
        os.mkdir(self.path("read-only"))
        self.build(self.path("store/bl6.mdb"), self.write("one", "192.0.2.1\n"))
        address = self.free_address()
        config = self.write("locked.conf", config_text(address, [(ZONE, self.path("read-only/bl6.mdb"), None)]))
        server = self.start([peer("unshare"), "--mount", "sh", "-c",
                             f"mount --bind {self.path('store')} {self.path('read-only')} &&"
                             f" mount -o remount,bind,ro {self.path('read-only')} &&"
                             f" exec {program('dnsblv6d')} --config {config}"], "locked")
        server.wait_for_log(r"^info: \[dnsblv6d\] ready, ")
        self.build(self.path("store/bl6.mdb"), self.write("two", "192.0.2.1\n192.0.2.2\n"))
        server.wait_for_log(r"^warning: \[bl6.example.\] store is written and cannot be locked here,"
                            rf" path={self.path('read-only/bl6.mdb')} \(its file system is read-only\)$")

    def test_a_full_disk_leaves_the_old_version_and_is_named(self):
        for size_kb in (200, 300, 400, 600, 800):
            with self.subTest(size_kb=size_kb):
                result = self.in_small_disk(size_kb, 20000)
                self.assertEqual(result.returncode, 0, result.stderr + result.stdout)
                self.assertRegex(result.stderr, r"(?m)^error: .*bl6\.mdb.*No space left on device")
                self.assertRegex(result.stdout, r"status=(74|75)\n")
                self.assertIn("192.0.2.1\n198.51.100.0/24\n", result.stdout)

    def test_the_same_disk_takes_a_list_that_fits(self):
        result = self.in_small_disk(8000, 20000)
        self.assertEqual(result.returncode, 0, result.stderr + result.stdout)
        self.assertIn("status=0\n", result.stdout)
        self.assertIn("44.0.0.1\n", result.stdout)


if __name__ == "__main__":
    main()
