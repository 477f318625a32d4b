#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
mail-store as a postmaster uses it: one copy for many, mailboxes of other programs in and out byte by
byte, a log or an index that is damaged or lost, and kill -9 at any moment.

DNSBLV6_ROUNDS sets how many deliveries and deletions are killed.
"""

import fcntl
import mailbox
import mmap
import os
import resource
import shutil
import signal
import subprocess
import time

from harness import IS_SANITIZED, Case, main, program

ROUNDS = int(os.environ.get("DNSBLV6_ROUNDS", 50 if IS_SANITIZED else 200))
# All mails of a store are looked at again and again.
ROUNDS_EACH = 200
BOXES = ["anna@example.com", "bert@example.com", "carl@example.com"]
TIMEOUT_S = 120

# What could go wrong on the way: dots, lines that an mbox quotes, bytes, line ends of all kinds.
TEXTS = [
    b"", b"\n", b"Subject: a\n\nb\n", b"Subject: a\r\n\r\nb\r\n", b".\n..\n...dots\n",
    b"From here\n>From there\n>>From everywhere\n\nFrom me\n", b"mixed\r\nends\nof\r\nlines\n",
    bytes(range(256)) * 40 + b"\n", b"x" * 100000 + b"\n", "Grüße\n".encode(), b"\n\n\n",
    b"lone \r CR\r\r\n\n"]


class Store(Case):
    def setUp(self):
        super().setUp()
        self.store = self.path("store")

    def run_tool(self, *arguments, status=0, stdin=b"", limit=None):
        """What it prints, as bytes; its log is in self.log."""
        result = subprocess.run(
            [program("mail-store"), arguments[0], "--store", self.store, *arguments[1:]], input=stdin,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIMEOUT_S, check=False,
            preexec_fn=limit)
        self.log = result.stderr.decode(errors="replace")
        self.assertEqual(result.returncode, status, self.log)
        return result.stdout

    def deliver(self, text, *boxes, status=0, **how):
        options = ["--print-id", "--sender", "sender@example.net"]
        return self.run_tool("deliver", *options, *boxes, status=status, stdin=text,
                             **how).decode().strip()

    def ids(self, box):
        return [line.split("\t")[0] for line in self.run_tool("ls", box).decode().splitlines()]

    def texts(self, box):
        return [self.run_tool("cat", one) for one in self.ids(box)]

    def stat(self):
        return {name: int(number) for name, number in
                (line.split("\t") for line in self.run_tool("stat").decode().splitlines())}

    def fsck(self, *options, status=0):
        return self.run_tool("fsck", *options, status=status).decode()

    def segment(self, number=1):
        return os.path.join(self.store, "log", f"{number:016x}")


class OneCopy(Store):
    def test_a_mail_for_three_goes_when_the_third_has_deleted_it(self):
        text = b"Subject: once\n\n" + b"x" * 5000 + b"\n"
        one = self.deliver(text, *BOXES)
        stat = self.stat()
        self.assertEqual((stat["mails"], stat["entries"]), (1, 3))
        self.assertLess(stat["log-bytes"], len(text) * 1.1 + 3 * 64 + 128)
        for box in BOXES:
            self.assertEqual(self.ids(box), [one])
            self.assertEqual(self.run_tool("cat", one), text)
        for box in BOXES[:2]:
            self.run_tool("rm", box, one)
        self.run_tool("collect")
        self.assertEqual(self.texts(BOXES[2]), [text])
        self.run_tool("rm", BOXES[2], one)
        self.run_tool("collect")
        self.assertEqual(self.stat()["mails"], 0)
        self.assertLess(self.stat()["log-bytes"], 1000)
        self.run_tool("cat", one, status=66)
        self.assertIn("no such mail", self.log)
        self.assertIn(" 0 findings", self.fsck())

    def test_names_of_mailboxes_are_no_paths(self):
        names = ["../../etc", "a/b", "ü", "with blank", "-", "x" * 255]
        for name in names:
            self.deliver(name.encode() + b"\n", "--", name)
        listed = self.run_tool("ls").decode().splitlines()
        self.assertEqual(len(listed), len(names))
        self.assertIn(r"with\x20blank", "\n".join(listed))
        for name in names:
            one = self.run_tool("ls", "--", name).decode().split("\t")[0]
            self.assertEqual(self.run_tool("cat", one), name.encode() + b"\n")
        self.assertEqual(sorted(os.listdir(self.store)), ["index.mdb", "index.mdb-lock", "log"])
        self.deliver(b"x", "y" * 256, status=64)
        self.assertIn("1 to 255 bytes", self.log)

    def test_use(self):
        self.run_tool("ls", status=66)
        self.assertIn(f"error: store not opened, store={self.store} (No such file", self.log)
        self.deliver(b"x\n", "a")
        for arguments in (["cat"], ["rm", "a"], ["rm", "--all"], ["import", "a"], ["stat", "x"],
                          ["collect", "--share", "101"], ["export", "a", "--mbox", "x", "--maildir", "y"]):
            self.run_tool(*arguments, status=64)
        self.run_tool("rm", "a", "0" * 32, status=66)
        self.run_tool("cat", "../x", status=66)


class Exchange(Store):
    def deliver_all(self):
        for text in TEXTS:
            self.deliver(text, "a")

    def test_texts_come_out_as_they_went_in(self):
        self.deliver_all()
        self.assertEqual(self.texts("a"), TEXTS)

    def test_a_maildir_there_and_back(self):
        self.deliver_all()
        maildir = self.path("maildir")
        self.run_tool("export", "--maildir", maildir, "a")
        new = os.path.join(maildir, "new")
        found = []
        for name in os.listdir(new):
            with open(os.path.join(new, name), "rb") as file:
                found.append(file.read())
        self.assertEqual(sorted(found), sorted(TEXTS))
        self.assertEqual(len(mailbox.Maildir(maildir)), len(TEXTS))
        self.assertEqual(os.listdir(os.path.join(maildir, "tmp")), [])
        self.run_tool("import", "--maildir", maildir, "b")
        self.assertEqual(sorted(self.texts("b")), sorted(TEXTS))

    def test_an_mbox_there_and_back(self):
        self.deliver_all()
        path = self.path("mbox")
        self.run_tool("export", "--mbox", path, "a")
        self.run_tool("import", "--mbox", path, "b")
        self.assertEqual(self.texts("b"), [text or b"" for text in TEXTS])
        self.assertEqual(len(mailbox.mbox(path)), len(TEXTS))
        again = self.path("again")
        self.run_tool("export", "--mbox", again, "b")
        with open(path, "rb") as one, open(again, "rb") as other:
            self.assertEqual(one.read(), other.read())
        # A file that is there is nobody's to overwrite.
        self.run_tool("export", "--mbox", path, "a", status=73)

    def test_what_is_no_mailbox(self):
        self.deliver(b"x\n", "a")
        path = self.write("mbox", b"From a@b Tue Nov 24 12:00:00 2026\nx\n\n" + b"not an mbox\n")
        self.run_tool("import", "--mbox", path, "a")
        self.assertEqual(len(self.ids("a")), 2)
        self.run_tool("import", "--mbox", self.write("other", b"Subject: x\n\nx\n"), "a", status=65)
        self.assertRegex(self.log, r"error: not an mbox, file=\S+ at=0\n")
        self.run_tool("import", "--maildir", self.path("absent"), "a", status=66)
        self.assertIn("maildir not read", self.log)


class Damage(Store):
    def setUp(self):
        super().setUp()
        for number in range(5):
            self.deliver(b"Subject: %d\n\n" % number + b"x" * 300 + b"\n", *BOXES)
        self.run_tool("rm", BOXES[0], self.ids(BOXES[0])[1])
        self.wanted = {box: self.texts(box) for box in BOXES}

    def change(self, path, place, value):
        with open(path, "r+b") as file:
            file.seek(place)
            file.write(value)

    def find(self, content):
        with open(self.segment(), "rb") as file:
            return file.read().find(content)

    def remove_index(self):
        for end in ("", "-lock"):
            os.unlink(os.path.join(self.store, "index.mdb" + end))

    def check_all(self):
        self.assertEqual({box: self.texts(box) for box in BOXES}, self.wanted)

    def test_a_lost_index(self):
        self.remove_index()
        self.assertIn("there is none", self.fsck(status=1))
        self.check_all()
        self.assertIn(" 0 findings", self.fsck())

    def test_a_damaged_index_is_made_anew(self):
        index = os.path.join(self.store, "index.mdb")
        with open(index, "rb") as file:
            bytes_before = file.read()
        with open(index, "wb") as file:
            file.write(bytes_before.replace(BOXES[1].encode(), b"XXXX" + BOXES[1].encode()[4:]))
        self.assertIn("index: damaged", self.fsck(status=1))
        self.assertIn("made anew", self.fsck("--repair", status=1))
        self.assertIn(" 0 findings", self.fsck())
        self.check_all()

    def test_a_page_of_the_index_that_is_lost_is_no_fault_of_the_segment(self):
        index = os.path.join(self.store, "index.mdb")
        with open(index, "rb") as file:
            bytes_before = file.read()
        logs = ""
        for at in range(2 * mmap.PAGESIZE, len(bytes_before), mmap.PAGESIZE):
            self.change(index, at, bytes(mmap.PAGESIZE))
            logs += subprocess.run([program("mail-store"), "ls", "--store", self.store], stderr=subprocess.PIPE,
                                   stdout=subprocess.DEVNULL, text=True, timeout=TIMEOUT_S, check=False).stderr
            self.change(index, at, bytes_before[at:at + mmap.PAGESIZE])
        self.assertIn("damaged store", logs)
        self.assertNotIn("segment is missing", logs)

    def test_a_damaged_body_is_named_and_the_rest_is_whole(self):
        self.change(self.segment(), self.find(b"Subject: 2") + 30, b"Y")
        self.assertRegex(self.fsck(status=1), r"segment 0{15}1 at \d+: a committed record is damaged")
        # Whatever is repaired, the mail stays: what is left of it may be what is wanted.
        self.fsck("--repair", status=1)
        self.assertEqual(len(self.ids(BOXES[2])), 5)
        for box in BOXES[:2]:
            self.run_tool("rm", "--all", box)
        self.run_tool("rm", BOXES[2], *self.ids(BOXES[2])[:3])
        self.run_tool("collect", status=65)
        self.assertIn(f"segment is damaged: see fsck, store={self.store} segment={1:016x}", self.log)

    def test_a_missing_segment_is_named(self):
        shutil.move(self.segment(), self.path("moved"))
        self.run_tool("ls", status=65)
        self.assertIn(f"segment is missing, unreadable or cut, store={self.store} segment={1:016x}", self.log)
        shutil.move(self.path("moved"), self.segment())
        self.check_all()

    def test_a_damaged_mail_is_printed_with_an_error_and_left_out_of_an_export(self):
        ids = self.ids(BOXES[2])
        self.change(self.segment(), self.find(b"Subject: 2") + 30, b"Y")
        self.assertEqual(self.run_tool("cat", ids[2], status=65), self.spoil(self.wanted[BOXES[2]][2]))
        self.assertIn(f"mail not printed, store={self.store} id={ids[2]} (damaged record)", self.log)
        for kind in ("mbox", "maildir"):
            with self.subTest(kind=kind):
                self.run_tool("export", f"--{kind}", self.path(kind), BOXES[2], status=65)
                self.assertIn(f"mail not exported, store={self.store} id={ids[2]} (damaged record)", self.log)
                self.assertIn("not all was exported", self.log)
                self.run_tool("import", f"--{kind}", self.path(kind), kind)
                self.assertEqual(len(self.ids(kind)), 4)

    @staticmethod
    def spoil(text):
        return text[:28] + b"Y" + text[29:]  # two lines are one byte longer in the log

    def test_a_segment_that_ends_early_is_named(self):
        os.truncate(self.segment(), os.path.getsize(self.segment()) - 8)
        self.run_tool("ls", status=65)
        self.assertIn(f"segment is missing, unreadable or cut, store={self.store} segment={1:016x}", self.log)
        self.assertIn("the index is newer than the log", self.log)
        self.assertRegex(self.fsck(status=1), r"segment 0{15}1 at \d+: the index is newer than the log")

    def test_an_index_that_was_put_back_behind_another_is_refused(self):
        index = os.path.join(self.store, "index.mdb")
        before = self.path("before")
        for box in BOXES:
            self.run_tool("rm", "--all", box)
        self.run_tool("collect")
        self.assertEqual(os.listdir(os.path.join(self.store, "log")), [f"{0:016x}"])
        shutil.move(index, before)
        self.deliver(b"x\n", "a")
        shutil.copy(before, index)
        self.run_tool("ls", status=65)
        self.assertEqual(self.log, f"error: store not opened, store={self.store} (an index of before was put back; "
                         "fsck --repair makes one of the log)\n")
        self.assertIn("the index is not the last one that this log has had", self.fsck(status=1))
        self.fsck("--repair", status=1)
        self.assertEqual(len(self.ids("a")), 1)

    def test_a_segment_cut_to_less_than_a_head_is_no_reason_to_refuse_the_index_that_a_repair_makes(self):
        for box in BOXES:
            self.run_tool("rm", box, self.ids(box)[0])
        self.run_tool("collect", "--share", "100")
        copied = max(os.listdir(os.path.join(self.store, "log")))
        self.deliver(b"later\n", "a")
        self.assertGreater(max(os.listdir(os.path.join(self.store, "log"))), copied)
        os.truncate(os.path.join(self.store, "log", copied), 0)
        self.run_tool("ls", status=65)
        self.assertIn(f"segment={copied} (", self.log)
        self.fsck("--repair", status=1)
        self.assertEqual(len(self.ids("a")), 1)
        self.assertIn(" 0 findings", self.fsck())
        self.assertFalse(os.path.exists(os.path.join(self.store, "log", copied)))

    def test_an_index_of_another_store_is_refused(self):
        other = self.path("other")
        mine, self.store = self.store, other
        self.deliver(b"x\n", "a")
        self.store = mine
        shutil.copy(os.path.join(other, "index.mdb"), os.path.join(mine, "index.mdb"))
        self.run_tool("ls", status=65)
        self.assertIn("the index belongs to another store", self.log)
        self.assertIn("the index belongs to another store", self.fsck(status=1))
        self.fsck("--repair", status=1)
        self.check_all()

    def test_an_index_of_an_earlier_time(self):
        index = os.path.join(self.store, "index.mdb")
        shutil.copy(index, self.path("kept"))
        self.deliver(b"new\n", BOXES[1])
        self.wanted[BOXES[1]].append(b"new\n")
        shutil.copy(self.path("kept"), index)
        self.assertIn("1 records come into the index", self.fsck())
        self.check_all()
        # The segment that it knows is gone.
        gone = self.ids(BOXES[2])[0]
        for box in BOXES:
            self.run_tool("rm", box, gone)
            del self.wanted[box][0]
        self.run_tool("collect", "--share", "100")
        shutil.copy(self.path("kept"), index)
        self.run_tool("ls", status=65)
        self.assertIn("a segment of the log is missing", self.log)
        self.assertIn("or index.mdb is an old copy: mail-store fsck --repair)\n", self.log)
        self.assertIn("a segment of the log is missing", self.fsck(status=1))
        self.fsck("--repair", status=1)
        self.check_all()
        self.assertIn(" 0 findings", self.fsck())

    def test_a_segment_under_the_name_of_another_is_named_and_kept(self):
        shutil.copy(self.segment(), self.segment(9))
        self.run_tool("ls", status=65)
        self.assertIn(f"segment is missing, unreadable or cut, store={self.store} segment={9:016x} (what is there is not that "
                      "segment of this store: put that there, or nothing)\n", self.log)
        self.assertTrue(os.path.exists(self.segment(9)))
        os.unlink(self.segment(9))
        self.check_all()

    def test_a_record_that_was_not_written_whole(self):
        size = os.path.getsize(self.segment())
        self.deliver(b"never committed\n", BOXES[0])
        self.remove_index()
        os.truncate(self.segment(), os.path.getsize(self.segment()) - 8)
        self.assertIn("bytes never committed go", self.fsck(status=1))
        self.check_all()
        self.assertEqual(os.path.getsize(self.segment()), size)

    def test_what_is_no_store(self):
        self.change(os.path.join(self.store, "log", "0" * 16), 0, b"X")
        self.run_tool("ls", status=65)
        self.assertIn("not a mail store", self.log)

    def test_a_store_of_another_schema(self):
        self.change(os.path.join(self.store, "log", "0" * 16), 11, b"\2")
        self.run_tool("ls", status=65)
        self.assertIn("another schema version", self.log)

    def test_a_second_writer_waits_for_its_turn(self):
        descriptor = os.open(os.path.join(self.store, "log"), os.O_RDONLY)
        self.addCleanup(os.close, descriptor)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        self.deliver(b"x\n", "a", status=75)
        self.assertIn("mail-stored or another process has it", self.log)

    def test_a_disk_that_is_full_at_any_byte(self):
        """By a limit of the size of files; the index, which is larger, cannot be written at all."""
        text = b"x" * 600 + b"\n"
        for more in range(0, 1000, 1 + self.random.randrange(30, 60)):
            with self.subTest(more=more):
                size = os.path.getsize(self.segment())

                def limit(most=size + more):
                    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

                result = subprocess.run(
                    [program("mail-store"), "deliver", "--store", self.store, *BOXES], input=text, check=False,
                    stderr=subprocess.PIPE, timeout=TIMEOUT_S, preexec_fn=limit)
                self.assertIn(result.returncode, (0, 74), result.stderr)
                if result.returncode == 0:
                    for box in BOXES:
                        self.wanted[box].append(text)
                else:
                    self.assertIn(b"mail not delivered", result.stderr)
                    self.assertEqual(os.path.getsize(self.segment()), size)
                self.assertIn(" 0 findings", self.fsck())
                self.run_tool("stat")  # the index has it now
        self.check_all()

    def test_a_full_disk(self):
        """By a limit of the size of files: the log cannot grow."""
        size = os.path.getsize(self.segment())
        large = b"x" * 5000000 + b"\n"

        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (size + 1000000, size + 1000000))

        self.deliver(large, *BOXES, status=74, limit=limit)
        self.assertIn("mail not delivered", self.log)
        self.check_all()
        self.assertIn(" 0 findings", self.fsck())
        self.deliver(large, BOXES[0])
        self.assertEqual(self.texts(BOXES[0])[-1], large)

    def test_a_disk_that_mails_have_filled(self):
        """What they leave free is enough to open the store, and to delete them."""
        if os.geteuid() != 0:
            self.skipTest("a file system of its own needs root")
        disk = self.path("disk")
        os.mkdir(disk)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12m", "none", disk], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", disk], check=True)
        self.store = f"{disk}/store"
        text = b"x" * 500000 + b"\n"
        for _ in range(4):
            self.deliver(text, *BOXES)
        while True:
            result = subprocess.run([program("mail-store"), "deliver", "--store", self.store, *BOXES], input=text,
                                    stderr=subprocess.PIPE, timeout=TIMEOUT_S, check=False)
            if result.returncode != 0:
                break
        self.assertEqual(result.returncode, 74, result.stderr)
        self.assertIn(b"mail not delivered", result.stderr)
        self.assertIn(b"No space left on device", result.stderr)
        free = os.statvfs(disk)
        self.assertGreater(free.f_bavail * free.f_frsize, 7 << 20)
        count = len(self.ids(BOXES[0]))
        self.assertGreaterEqual(count, 4)
        # All but half a megabyte is taken by others.
        with open(f"{disk}/other", "wb") as other:
            other.write(bytes(free.f_bavail * free.f_frsize - (500 << 10)))
        for box in BOXES:
            self.run_tool("rm", "--all", box)
        self.run_tool("collect")
        os.unlink(f"{disk}/other")
        self.deliver(text, *BOXES)
        self.assertEqual(self.texts(BOXES[0]), [text])
        self.assertIn(" 0 findings", self.fsck())


class Killed(Store):
    def test_every_acknowledged_mail_is_with_each_recipient_once(self):
        for first in range(0, ROUNDS, ROUNDS_EACH):
            self.store = self.path(f"store{first}")
            self.kill_in_one_store(min(ROUNDS_EACH, ROUNDS - first))
            shutil.rmtree(self.store)

    def kill_in_one_store(self, rounds):
        acknowledged, deleted, tried = set(), set(), set()
        began = time.monotonic()
        self.deliver(b"first\n", *BOXES)
        whole_s = time.monotonic() - began
        acknowledged.add(b"first\n")
        for number in range(rounds):
            text = b"mail %d\n" % number + b"x" * self.random.randrange(20000) + b"\n"
            is_deletion = self.random.random() < 0.3
            if is_deletion:
                ids = self.ids(BOXES[0])
                if not ids:
                    continue
                one = self.random.choice(ids)
                victim = self.run_tool("cat", one)
                command = ["rm", "--store", self.store, BOXES[0], one]
            else:
                command = ["deliver", "--store", self.store, *BOXES]
                tried.add(text)
            with subprocess.Popen([program("mail-store"), *command], stdin=subprocess.PIPE,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
                try:
                    process.communicate(b"" if is_deletion else text,
                                        timeout=self.random.uniform(0, 1.5 * whole_s))
                except subprocess.TimeoutExpired:
                    process.send_signal(signal.SIGKILL)
                    process.communicate()
            if process.returncode == 0 and is_deletion:
                deleted.add(victim)
            elif process.returncode == 0:
                acknowledged.add(text)
            elif is_deletion:
                tried.add(victim)  # it may be deleted, and may be there
                acknowledged.discard(victim)
            if number % 20 == 19:
                self.run_tool("collect", "--share", "60")
                self.check(acknowledged, deleted, tried)
        self.check(acknowledged, deleted, tried)
        self.assertIn(" 0 findings", self.fsck())

    def check(self, acknowledged, deleted, tried):
        boxes = []
        for box in BOXES:
            path = self.path(f"mbox-{len(os.listdir(self.directory))}")
            self.run_tool("export", "--maildir", path, box)
            texts = []
            for name in os.listdir(os.path.join(path, "new")):
                with open(os.path.join(path, "new", name), "rb") as file:
                    texts.append(file.read())
            shutil.rmtree(path)
            self.assertEqual(len(texts), len(set(texts)), "each once")
            self.assertLessEqual(set(texts), acknowledged | tried | deleted)
            boxes.append(set(texts))
        self.assertEqual(boxes[1], boxes[2])
        self.assertLessEqual(acknowledged - deleted, boxes[0])
        self.assertLessEqual(acknowledged | deleted, boxes[1])
        self.assertEqual(boxes[0] & deleted, set())
        self.assertLessEqual(boxes[0], boxes[1])


if __name__ == "__main__":
    main()
