#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
mail-stored as its clients see it: mails in packets and in sealed memory, one sync for many, quotas,
age and collection, locks of mailboxes, clients that lie or end, a disk that is full or fails, and what is left of a
process that may read nothing but its store.
"""

import contextlib
import errno
import fcntl
import os
import pwd
import shutil
import signal
import struct
import subprocess
import sys

import stored
from harness import DEADLINE_S, EX_CONFIG, EX_IOERR, EX_NOPERM, EX_TEMPFAIL, IS_SANITIZED, Case, children_of, main, \
    peer, program, wait_for
from lmtp_client import Lmtp, LmtpStored
from stored import Client, Stored

BOXES = ["anna@example.com", "bert@example.com", "carl@example.com"]
TEXT = b"Subject: once\r\n\r\n.dot\r\nend\r\n"


class Mails(Case):
    def test_one_record_is_read_by_three_and_goes_when_the_third_has_deleted_it(self):
        store = Stored(self, stored={"collect-interval": "100ms"})
        with store.client() as client:
            ident = client.deliver(TEXT, BOXES)
            stat = client.stat()
            self.assertEqual((stat["mails"], stat["entries"]), (1, 3))
            for box in BOXES:
                (mail, one, octets), = client.entries(box)
                self.assertEqual((one, octets), (ident, len(TEXT)))
            for box in BOXES[:2]:
                self.assertEqual(client.erase(box, [mail]), 0)
            self.assertEqual(client.entries(BOXES[0]), [])
            self.assertEqual(client.call(stored.FIND_ID, ident=ident).number, mail)
            self.assertEqual(client.erase(BOXES[2], [mail]), 0)
            wait_for(lambda: client.stat()["log-bytes"] < 500, "the segment to be emptied")
            self.assertEqual(client.stat()["mails"], 0)
        self.assertEqual(store.stop(), 0)
        self.assertIn(b"0 findings", store.fsck())

    def test_a_large_mail_is_sealed_memory_and_is_read_from_a_descriptor(self):
        store = Stored(self)
        text = b"x" + os.urandom(300000).replace(b"\r", b"x").replace(b"\n", b"\r\n") + b"\r\n"
        with store.client() as client:
            client.deliver(text, BOXES)
            (mail, _, _), = client.entries(BOXES[0])
            reply = client.call(stored.ROW, number=mail)
            segment, at, size, meta_size = struct.unpack(">QQQI", reply.rows[:28])
            reply = client.call(stored.SEGMENT, number=segment)
            fd, = reply.fds
            body = os.pread(fd, size - 104 - meta_size, at + 104 + meta_size)
            with self.assertRaises(OSError):
                os.pwrite(fd, b"x", 0)
            os.close(fd)
            self.assertTrue(body.rstrip(b"\0").endswith(b"\r\n.\r\n"))
            wanted = text.replace(b"\r\n.", b"\r\n..")
            self.assertEqual(body[:len(wanted)], wanted)

    def test_the_identity_with_its_key_is_given_to_none(self):
        store = Stored(self)
        with store.client() as client:
            self.assertLess(client.call(stored.SEGMENT, number=0).status, 0)

    def test_a_client_may_have_many_mails_under_way_and_few_syncs_cover_them(self):
        store = Stored(self)
        with store.client() as client:
            before = store.counters()["commits"]
            serials = {client.send_mail(TEXT, [BOXES[n % 3]]) for n in range(200)}
            replies = [client.take() for _ in range(200)]
            self.assertEqual({reply.serial for reply in replies}, serials)
            self.assertEqual({reply.status for reply in replies}, {0})
            self.assertEqual(len({reply.id for reply in replies}), 200)
            self.assertLess(store.counters()["commits"] - before, 200)
            self.assertEqual(sum(len(client.entries(box)) for box in BOXES), 200)

    def test_a_mailbox_of_many_mails_is_listed_in_memory(self):
        store = Stored(self)
        with store.client() as client:
            for _ in range(3000):
                client.send_mail(b"x\r\n", BOXES[:1])
                if client.serial % 100 == 0:
                    self.assertEqual({client.take().status for _ in range(100)}, {0})
            entries = client.entries(BOXES[0])
            self.assertEqual(len(entries), 3000)
            self.assertEqual(entries, sorted(entries))
            self.assertTrue(client.call(stored.LIST, size=65536, name=BOXES[0].encode()).fds)

    def test_a_client_that_does_not_read_holds_one_list_in_memory(self):
        store = Stored(self)
        with store.client() as client:
            for _ in range(600):
                client.send_mail(TEXT, BOXES[:1])
                self.assertEqual(client.take().status, 0)
            before = store.counters()["requests"]
            for _ in range(5):
                client.send(stored.LIST, size=600, name=BOXES[0].encode())
            wait_for(lambda: store.counters()["requests"] >= before + 5, "all to be answered")
            replies = [client.take() for _ in range(5)]
            self.assertEqual([len(reply.fds) for reply in replies], [1] + [0] * 4)
            self.assertEqual(replies[0].count, 600)
            self.assertTrue(all(0 < reply.count < 600 for reply in replies[1:]))
            os.close(replies[0].fds[0])

    def test_the_same_id_and_mail_is_one_mail_and_another_mail_is_refused(self):
        store = Stored(self)
        with store.client() as client:
            ident = client.call(stored.MAKE_ID).id
            self.assertEqual(client.deliver(TEXT, BOXES, ident=ident), ident)
            self.assertEqual(client.deliver(TEXT, BOXES, ident=ident), ident)
            client.send_mail(TEXT + b"more\r\n", BOXES, ident=ident)
            self.assertEqual(client.take().status, -2606)
            client.send_mail(TEXT, BOXES, ident="11" * 16)
            self.assertEqual(client.take().status, -2607)
            self.assertEqual(len(client.entries(BOXES[0])), 1)
            self.assertEqual(client.stat()["refused"], 2)

    def test_an_id_of_another_store_is_taken_from_the_superuser_and_from_no_other(self):
        with Stored(self).client() as client:
            ident = os.urandom(16).hex()
            client.send_mail(TEXT, BOXES, ident=ident)
            self.assertEqual(client.take().status, stored.EFOREIGN)
            if os.geteuid() != 0:
                self.skipTest("needs root")
            self.assertEqual(client.deliver(TEXT, BOXES, ident=ident, is_moved=True), ident)
            client.send_mail(TEXT, BOXES, ident=ident, is_moved=True)
            self.assertEqual(client.take().status, stored.EID)

    def test_a_store_of_one_machine_says_that_it_is_no_cluster(self):
        with Stored(self).client() as client:
            self.assertEqual(client.call(stored.CLUSTER).status, -errno.EOPNOTSUPP)
            self.assertEqual(client.call(stored.LOCATE, name=b"anna").status, -errno.EOPNOTSUPP)
            self.assertEqual(client.call(stored.LOGIN, name=b"anna", memory=b"x").status,
                             -errno.EOPNOTSUPP)

    def test_a_restart_loses_nothing_and_names_stay(self):
        store = Stored(self)
        with store.client() as client:
            idents = [client.deliver(TEXT, BOXES) for _ in range(5)]
        self.assertEqual(store.stop(), 0)
        self.assertFalse(os.path.exists(store.socket))
        store.start()
        with store.client() as client:
            self.assertEqual([ident for _, ident, _ in client.entries(BOXES[1])], idents)


class Limits(Case):
    def test_a_full_mailbox_is_said_so_before_the_mail_comes(self):
        store = Stored(self, stored={"quota-messages": "2", "quota-octets": "1K", "index-delay": "10ms"})
        with store.client() as client:
            self.assertEqual(client.hello.number, 1)

            def check(octets):
                return client.call(stored.CHECK, name=BOXES[0].encode(), size=octets).status

            self.assertEqual([check(1024), check(1025)], [0, stored.EQUOTA])
            client.deliver(b"x" * 998 + b"\r\n", BOXES[:1])
            wait_for(lambda: check(24 + 1) == stored.EQUOTA, "the index to know of it")
            self.assertEqual(check(24), 0)
            client.deliver(b"x\r\n", BOXES[:1])
            wait_for(lambda: check(0) == stored.EQUOTA, "the index to know of it")
            self.assertEqual(client.call(stored.CHECK, name=BOXES[1].encode()).status, 0)

    def test_a_list_of_users_says_what_each_mailbox_may_have(self):
        users = self.path("users.mdb")
        self.build_users(users, f"{BOXES[0]} messages=1\n{BOXES[1]} octets=1K keep=1s\n{BOXES[2]}\n")
        store = Stored(self, stored={"users": users, "quota-messages": "3", "index-delay": "10ms",
                                     "keep-interval": "100ms"})
        with store.client() as client:
            def check(box, octets=0):
                return client.call(stored.CHECK, name=box.encode(), size=octets).status

            client.deliver(TEXT, BOXES)
            wait_for(lambda: check(BOXES[0]) == stored.EQUOTA, "the index to know of it")
            self.assertEqual(check(BOXES[2], 1 << 30), 0)
            self.assertEqual(check(BOXES[1], 1025), stored.EQUOTA)
            wait_for(lambda: client.entries(BOXES[1]) == [], "the mail to be too old")
            self.build_users(users, "".join(f"{box}\n" for box in BOXES))
            self.assertEqual([check(box) for box in BOXES], [0, 0, 0])
            self.assertEqual(len(client.entries(BOXES[2])), 1)

    def build_users(self, path, text):
        subprocess.run([program("smtp-front-users"), "build", "--database", path, self.write("list", text)],
                       check=True, capture_output=True, timeout=DEADLINE_S)
        if os.geteuid() == 0:
            for name in (path, path + "-lock"):
                os.chown(name, pwd.getpwnam(stored.USER).pw_uid, -1)

    def test_mails_that_are_too_old_go_by_themselves(self):
        store = Stored(self, stored={"keep": "1s", "keep-interval": "100ms"})
        with store.client() as client:
            client.deliver(TEXT, BOXES)
            wait_for(lambda: client.stat()["mails"] == 0, "the mail to be too old")
        self.assertEqual(store.stop(), 0)
        self.assertIn(b"0 findings", store.fsck())

    def test_old_mails_go_from_behind_younger_ones(self):
        store = Stored(self, stored={"keep": "1h", "keep-interval": "100ms"})
        old, future = 1, 1 << 63
        head = stored.meta(b"s", [b"a"])
        with store.client() as client:
            for time_us in [future] + [old] * 600:
                client.send(stored.DELIVER, number=len(head), size=2, memory=head + b"\r\n",
                            time_us=time_us)
                self.assertEqual(client.take().status, 0)
            wait_for(lambda: client.stat()["entries"] == 1, "the old mails to be gone")
            self.assertEqual(len(client.entries("a")), 1)
        self.assertEqual(store.counters()["mails-expired"], 600)

    def test_old_mails_of_an_idle_store_go_behind_a_start_whose_clock_one_before_has_trusted(self):
        store = Stored(self, stored={"keep": "1d", "keep-interval": "100ms"})
        self.assertEqual(store.stop(), 0)
        for part in ("cur", "new"):
            os.makedirs(self.path(f"old/{part}"))
        os.utime(self.write("old/cur/1", TEXT), (1e9, 1e9))
        store.run_tool("import", "--maildir", self.path("old"), "a", at=store.directory)
        store.start()
        with store.client() as client:
            wait_for(lambda: client.stat()["mails"] == 0, "the mail to be too old")

    def test_a_mail_beyond_the_size_is_refused(self):
        store = Stored(self, stored={"size": "100K"})
        with store.client() as client:
            client.deliver(b"x" * 100000 + b"\r\n", BOXES)
            client.send_mail(b"x" * 300000 + b"\r\n", BOXES)
            self.assertLess(client.take().status, 0)
            self.assertEqual(len(client.entries(BOXES[0])), 1)

    def test_ten_thousand_recipients_are_one_mail_and_one_more_is_none(self):
        store = Stored(self)
        boxes = [f"user{number}@example.com" for number in range(10000)]
        with store.client() as client:
            client.deliver(TEXT, boxes)
            self.assertEqual(client.stat()["entries"], 10000)
            client.send_mail(TEXT, boxes + ["one@example.com"])
            self.assertLess(client.take().status, 0)
            self.assertEqual(client.stat()["mails"], 1)

    def test_more_clients_than_configured_are_not_taken(self):
        store = Stored(self, stored={"clients": "2"})
        with store.client(), store.client() as second:
            with self.assertRaises(ConnectionError):
                Client(store.socket)  # a greeting is the first thing that a client gets
            second.deliver(TEXT, BOXES)


class Locks(Case):
    def test_a_lock_is_exclusive_until_it_is_given_back_or_its_connection_ends(self):
        store = Stored(self)
        with store.client() as first, store.client() as second:
            self.assertEqual((first.lock(BOXES[0]), second.lock(BOXES[0])), (0, -errno.EBUSY))
            self.assertEqual((first.lock(BOXES[0]), first.lock(BOXES[1])), (0, stored.ELOCK))
            self.assertEqual((second.lock(BOXES[1]), second.unlock(), second.unlock()), (0, 0, 0))
            self.assertEqual((first.unlock(), second.lock(BOXES[0]), first.lock(BOXES[0])),
                             (0, 0, -errno.EBUSY))
            second.close()
            wait_for(lambda: first.lock(BOXES[0]) == 0, "the lock of a connection that has ended")
            self.assertEqual(first.call(stored.LOCK).status, stored.EBOX)
        counters = store.counters()
        self.assertEqual(counters["locks"], 5)
        self.assertGreaterEqual(counters["locks-refused"], 2)

    def test_a_process_that_is_killed_frees_its_lock(self):
        store = Stored(self)
        code = "import signal, stored, sys; client = stored.Client(sys.argv[1]); " \
               "print(client.lock(sys.argv[2]), flush=True); signal.pause()"
        with subprocess.Popen([sys.executable, "-c", code, store.socket, BOXES[0]], stdout=subprocess.PIPE,
                              env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}) as holder:
            try:
                self.assertEqual(holder.stdout.readline(), b"0\n")
                with store.client() as client:
                    self.assertEqual(client.lock(BOXES[0]), -errno.EBUSY)
                    holder.kill()
                    wait_for(lambda: client.lock(BOXES[0]) == 0, "the lock of a process that is killed")
            finally:
                holder.kill()

    def test_mails_come_and_go_in_a_mailbox_that_is_locked(self):
        store = Stored(self)
        with store.client() as holder, store.client() as other:
            self.assertEqual(holder.lock(BOXES[0]), 0)
            other.deliver(TEXT, BOXES)
            (mail, _, _), = holder.entries(BOXES[0])
            self.assertEqual(other.erase(BOXES[0], [mail]), 0)
            self.assertEqual(holder.entries(BOXES[0]), [])


class Liars(Case):
    """What a client must not be able to do: each is told, or cut off, and the others go on."""

    def setUp(self):
        super().setUp()
        self.store = Stored(self)
        self.good = self.store.client()
        self.addCleanup(self.good.close)
        self.good.stat()  # the index is open from here on

    def tearDown(self):
        self.good.deliver(TEXT, BOXES)
        self.assertEqual(self.good.stat()["mails"], 1)
        super().tearDown()

    def send_memory(self, content, number, size, seals=stored.SEALS):
        fd = stored.sealed(content, seals)
        with self.store.client() as client:
            try:
                return client.call(stored.DELIVER, number=number, size=size, fd=fd).status
            finally:
                os.close(fd)

    def test_memory_that_may_still_change_is_not_read(self):
        head = stored.meta(b"", [b"anna"])
        for seals in (0, fcntl.F_SEAL_SHRINK, stored.SEALS & ~fcntl.F_SEAL_WRITE,
                      stored.SEALS & ~fcntl.F_SEAL_SHRINK, stored.SEALS & ~fcntl.F_SEAL_GROW):
            self.assertEqual(self.send_memory(head + TEXT, len(head), len(TEXT), seals),
                             stored.EUNSEALED)

    def test_sizes_are_those_of_the_memory(self):
        head = stored.meta(b"", [b"anna"])
        for number, size in ((len(head), len(TEXT) + 1), (len(head), len(TEXT) - 1),
                             (len(head) + 1, len(TEXT)), (2**63, 2**63), (2**64 - 1, 1), (0, 2**64 - 1)):
            self.assertLess(self.send_memory(head + TEXT, number, size), 0)

    def test_what_is_no_memory_is_refused(self):
        with self.store.client() as client:
            self.assertLess(client.call(stored.DELIVER, number=0, size=0).status, 0)
            for path in ("/dev/null", "/dev/zero", self.path("stored.conf")):
                fd = os.open(path, os.O_RDONLY)
                self.assertEqual(client.call(stored.DELIVER, number=1, size=1, fd=fd).status,
                                 stored.EUNSEALED)
                os.close(fd)
            self.assertLess(client.call(stored.DELIVER, memory=b"").status, 0)

    def test_recipients_that_cannot_be_are_refused(self):
        for names in ([], [b""], [b"a\0b"]):
            head = stored.meta(b"", names)
            self.assertLess(self.send_memory(head + TEXT, len(head), len(TEXT)), 0)

    def test_what_is_no_request_ends_the_connection(self):
        good = stored.REQUEST.pack(b"Msr1", stored.STAT, 0, 0, 1, 0, 0, bytes(16), 0, 0)
        for packet in (b"x", good[:-1], b"Msr2" + good[4:], good + b"x", bytes(len(good)),
                       good[:4] + bytes([stored.HELLO]) + good[5:], good[:4] + b"\xff" + good[5:],
                       good[:5] + b"\x80" + good[6:], good[:-1] + b"\x05", b"x" * 60000):
            with self.store.client() as client:
                client.send_raw(packet)
                with self.assertRaises(ConnectionError):
                    client.take()

    def test_descriptors_that_are_not_wanted_are_closed(self):
        pid = self.store.pid_of("store")
        before = len(os.listdir(f"/proc/{pid}/fd"))
        with self.store.client() as client:
            one = os.open("/dev/null", os.O_RDONLY)
            for _ in range(20):
                client.send(stored.STAT, fd=one)
                client.take()
            wait_for(lambda: len(os.listdir(f"/proc/{pid}/fd")) == before + 1, "them to be closed")
            client.send_raw(stored.REQUEST.pack(b"Msr1", stored.STAT, 0, 0, 1, 0, 0, bytes(16), 0, 0),
                            [one, one])
            with self.assertRaises(ConnectionError):
                client.take()
            os.close(one)
        wait_for(lambda: len(os.listdir(f"/proc/{pid}/fd")) == before, "descriptors to be closed")

    def test_a_client_that_takes_no_replies_is_cut_off_and_holds_up_none(self):
        client = self.store.client()
        client.socket.setblocking(False)
        try:
            for _ in range(100000):
                client.send(stored.BOXES)
        except (BlockingIOError, ConnectionError):
            pass
        self.good.call(stored.STAT)
        client.close()

    def test_a_client_that_ends_with_a_mail_under_way_harms_none(self):
        for _ in range(20):
            client = self.store.client()
            client.send_mail(TEXT, ["gone@example.com"])
            client.close()
        wait_for(lambda: self.store.counters()["mails-delivered"] == 20, "their mails")
        mails = [mail for mail, _, _ in self.good.entries("gone@example.com")]
        self.assertEqual(len(mails), 20)
        self.assertEqual(self.good.erase("gone@example.com", mails), 0)


class Disk(Case):
    def test_a_full_disk_is_said_to_each_client_and_served_again_with_room(self):
        if os.geteuid() != 0 or IS_SANITIZED:
            self.skipTest("a file system of its own needs root")
        disk = self.path("disk")
        os.mkdir(disk)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "none", disk], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", disk], check=True)
        store = Stored(self, is_started=False, stored={
            "directory": f"{disk}/store", "segment-size": "256K", "reserve": "3M"})
        store.directory = f"{disk}/store"
        store.start()
        text = b"x" * 70 + b"\r\n"
        with store.client() as client:
            kept, status = 0, 0
            while status == 0:
                client.send_mail(text * 1000, BOXES)
                status = client.take().status
                kept += status == 0
            self.assertEqual(status, -28)
            self.assertGreater(kept, 5)
            entries = client.entries(BOXES[0])
            self.assertEqual(len(entries), kept)
            for box in BOXES:
                self.assertEqual(client.erase(box, [mail for mail, _, _ in entries]), 0)
            while client.call(stored.COLLECT, number=77).status == 0:
                pass
            client.deliver(text * 1000, BOXES)
        self.assertEqual(store.stop(), 0)
        self.assertIn(b"0 findings", store.fsck())

    def test_a_sync_that_fails_stops_the_store_and_tells_all(self):
        """The n-th fdatasync() is EIO, by strace: nothing is acknowledged on top of it."""
        store = LmtpStored(self, stored={"index-delay": "1h"})
        store.expect_gone()
        amid = Lmtp(store.address)
        self.addCleanup(amid.close)
        with store.client() as client:
            client.deliver(TEXT, BOXES)
            amid.begin(BOXES[:1])
            self.assertEqual(amid.command("DATA")[:3], "354")
            with self.injected(store, "error=EIO"):
                client.send_mail(TEXT, BOXES)
                self.assertEqual(client.take().status, -5)
                with self.assertRaises(OSError):
                    while True:
                        client.send_mail(TEXT, BOXES)
                        self.assertLess(client.take().status, 0)
        store.wait_for_log(r"^error: \[mail-stored\] store has stopped, look at the disk .*"
                           r"\(Input/output error\)$")
        # While the session of a mail server lasts, there is no other store.
        store.wait_for_log(r"^info: \[mail-stored\] LMTP drains, ")
        store.process.send_signal(signal.SIGHUP)
        store.wait_for_log(r"^warning: \[mail-stored\] configuration not reloaded, ")
        self.assertEqual(store.process.children(), [store.pid_of("lmtp")])
        self.assertEqual([reply[:3] for reply in amid.say_text(TEXT, 1)], ["451"])
        self.assertEqual(store.process.popen.wait(DEADLINE_S), EX_IOERR)
        store.start()
        with store.client() as client:
            self.assertEqual(len(client.entries(BOXES[0])), 1)

    def test_a_mail_is_put_off_whose_sync_ends_with_the_process_that_syncs(self):
        """Whether the disk has it is not known: it is not there twice when it is sent again."""
        self.expect_log("store begins anew, the process that syncs has ended", "process ended, role=store")
        store = Stored(self, stored={"index-delay": "1h"})
        with store.client() as client:
            client.deliver(TEXT, BOXES)
            with self.injected(store, "signal=KILL"):
                client.send_mail(TEXT, BOXES)
                self.assertEqual(client.take().status, -104)
        with store.client() as client:
            self.assertEqual(len(client.entries(BOXES[0])), 1)
            client.deliver(TEXT, BOXES)
            self.assertEqual(len(client.entries(BOXES[0])), 2)

    @contextlib.contextmanager
    def injected(self, store, what):
        """The next fdatasync() of the first process that syncs, by strace."""
        if os.geteuid() != 0 or IS_SANITIZED:
            self.skipTest("strace needs root")
        syncer = children_of(store.pid_of("store"))[0]
        with subprocess.Popen([peer("strace"), "-q", "-o", self.path("trace"), "-p", str(syncer), "-e", "trace=fdatasync",
                               "-e", f"inject=fdatasync:{what}:when=1"], stderr=subprocess.DEVNULL) as tracer:
            try:
                wait_for(lambda: is_traced(syncer), "strace to be there")
                yield
            finally:
                tracer.terminate()


def is_traced(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return not any(line == "TracerPid:\t0\n" for line in file)


class Index(Case):
    def test_a_damaged_index_is_made_anew_from_the_log(self):
        store = Stored(self)
        with store.client() as client:
            for number in range(50):
                client.deliver(TEXT + b"%d\r\n" % number, BOXES)
            wanted = [client.entries(box) for box in BOXES]
        path = os.path.join(store.directory, "index.mdb")
        for damage in ("flip", "cut", "other"):
            with self.subTest(damage):
                self.assertEqual(store.stop(), 0)
                with open(path, "r+b") as file:
                    size = os.path.getsize(path)
                    if damage == "flip":
                        for at in range(3 * 4096, size, 4096):
                            file.seek(at + 16)
                            file.write(os.urandom(2000))
                    elif damage == "cut":
                        file.truncate(size // 2)
                    else:
                        file.truncate(0)
                        file.write(b"no index at all\n" * 1000)
                store.start()
                store.wait_for_log(r"^warning: \[mail-stored\] index put aside, another is made")
                with store.client() as client:
                    self.assertEqual([client.entries(box) for box in BOXES], wanted)

    def test_an_index_that_was_put_back_behind_another_is_put_aside(self):
        store = Stored(self, stored={"collect-interval": "100ms", "collect-share": "100"})
        index = os.path.join(store.directory, "index.mdb")
        with store.client() as client:
            client.deliver(TEXT, BOXES[:1])
            client.erase(BOXES[0], [mail for mail, _, _ in client.entries(BOXES[0])])
            wait_for(lambda: client.stat()["segments"] == 0, "all segments to be emptied")
        self.assertEqual(store.stop(), 0)
        os.rename(index, self.path("before"))
        store.start()
        with store.client() as client:
            client.deliver(TEXT, BOXES)
            wanted = [client.entries(box) for box in BOXES]
        self.assertEqual(store.stop(), 0)
        for start in range(2):
            with self.subTest(start):
                shutil.copyfile(self.path("before"), index)
                store.start()
                store.wait_for_log(r"^warning: \[mail-stored\] index put aside, another is made from the log, directory="
                                   r"\S+ \(the index is not the last one that this log has had\)$")
                with store.client() as client:
                    self.assertEqual([client.entries(box) for box in BOXES], wanted)
                self.assertEqual(store.stop(), 0)

    def test_a_damaged_segment_stays_and_the_others_are_emptied(self):
        store = Stored(self, stored={"segment-size": "64K", "collect-interval": "100ms", "collect-share": "0"})
        with store.client() as client:
            for _ in range(10):
                client.deliver(b"x" * 30000 + b"\r\n", BOXES[:1])
            self.assertGreater(client.stat()["segments"], 3)
            first = client.entries(BOXES[0])[:2]
        self.assertEqual(store.stop(), 0)
        with open(os.path.join(store.directory, "log", f"{1:016x}"), "r+b") as file:
            file.seek(1000)
            file.write(b"y")
        store.write_config(stored={"collect-share": "77"})
        store.start()
        with store.client() as client:
            mails = [mail for mail, _, _ in client.entries(BOXES[0])]
            self.assertEqual(client.erase(BOXES[0], mails), 0)
            store.wait_for_log(r"^error: \[mail-stored\] segment is damaged: see fsck, "
                               rf"directory={store.directory} segment=0{{15}}1$")
            # It, and what its deletions are kept in.
            wait_for(lambda: client.stat()["segments"] <= 2, "the others to be emptied")
        self.assertEqual(len(first), 2)
        self.assertEqual(store.process.log().count("segment is damaged"), 1)

    def test_an_index_that_is_lost_is_made_anew(self):
        store = Stored(self)
        with store.client() as client:
            client.deliver(TEXT, BOXES)
        self.assertEqual(store.stop(), 0)
        for name in ("index.mdb", "index.mdb-lock"):
            os.unlink(os.path.join(store.directory, name))
        store.start()
        with store.client() as client:
            self.assertEqual([len(client.entries(box)) for box in BOXES], [1, 1, 1])


class Processes(Case):
    def test_an_index_that_goes_while_the_daemon_runs_takes_no_mail_with_it(self):
        store = Stored(self, stored={"index-delay": "10ms", "segment-size": "64K"})
        with store.client() as client:
            for number in range(30):
                client.deliver(b"\r\n" + b"%d" % number * 4000, ["a"])
            # With that nothing waits for the index, which is missed when the next mail comes.
            self.assertEqual(len(client.entries("a")), 30)
        os.unlink(f"{store.directory}/index.mdb")
        with store.client() as client:
            client.deliver(b"behind\r\n", ["a"])
        store.wait_for_log("^warning: .mail-stored. store begins anew, its index has gone")
        store.wait_for_log("^warning: .mail-stored. process ended, role=store")
        store.wait_for_log("^info: .mail-stored. ready, ", 2)
        with store.client() as client:
            self.assertEqual(len(client.entries("a")), 31)
        store.stop()
        store.start()
        with store.client() as client:
            self.assertEqual(len(client.entries("a")), 31)
        store.stop()
        self.assertIn(b"0 findings", store.fsck())

    def test_a_store_that_another_process_has_is_left_alone(self):
        store = Stored(self)
        other = self.write("other.conf", f"stored:\n    directory: {store.directory}\n"
                                         f"    socket: {self.path('other')}\n" +
                           (f"    user: {stored.USER}\n" if os.geteuid() == 0 else ""))
        process = self.start([store.process.arguments[0], "-c", other], "other")
        process.wait_for_log(r"error: \[mail-stored\] store not opened, .*")
        self.assertEqual(process.popen.wait(DEADLINE_S), EX_TEMPFAIL)

    def test_a_socket_that_is_in_use_is_left_alone(self):
        store = Stored(self)
        process = self.start([store.process.arguments[0], "-c", store.config_path], "other")
        process.wait_for_log(r"error: \[mail-stored\] socket not opened, .*")
        self.assertNotEqual(process.popen.wait(DEADLINE_S), 0)
        with store.client() as client:
            client.deliver(TEXT, BOXES)

    def test_a_start_that_fails_leaves_no_socket_in_the_way_of_the_next(self):
        if os.geteuid() != 0:
            self.skipTest("root alone can become another user")
        spool = self.path("spool")
        for path in (spool, f"{spool}/store"):
            os.mkdir(path)
            os.chown(path, 65534, 65534)
        config = self.write("stored.conf", f"stored:\n    directory: {spool}/store\n"
                                           f"    socket: {spool}/socket\n    socket-group: mail\n")
        result = subprocess.run([self.readable_program(program("mail-stored")), "-c", config],
                                user=65534, group=65534, extra_groups=[], capture_output=True, text=True,
                                timeout=DEADLINE_S, check=False)
        self.assertEqual(result.returncode, EX_NOPERM, result.stderr)
        self.assertIn(f'socket not opened, place={spool}/socket ("socket-group" is not one of the groups that '
                      "this process has)\n", result.stderr)
        self.assertNotIn("socket", os.listdir(spool))

    def test_a_store_process_that_is_killed_is_replaced_while_clients_wait(self):
        self.expect_log("process ended, role=store")
        store = Stored(self)
        with store.client() as client:
            client.deliver(TEXT, BOXES)
            os.kill(store.pid_of("store"), signal.SIGKILL)
            with self.assertRaises(OSError):
                client.take()
        with store.client() as client:  # it waits in the socket for the next one
            client.deliver(TEXT, BOXES)
            self.assertEqual(len(client.entries(BOXES[0])), 2)

    def test_what_the_store_process_and_its_syncer_may_do(self):
        store = Stored(self)
        with store.client() as client:  # the store process has confined itself before
            client.deliver(TEXT, BOXES)
        pid = store.pid_of("store")

        def status_of(confined):
            with open(f"/proc/{confined}/status", encoding="ascii") as file:
                return dict(line.rstrip("\n").split(":\t") for line in file if ":\t" in line)

        def is_confined(confined):  # by what it does last
            status = status_of(confined)
            return int(status["CapPrm"], 16) == 0 if IS_SANITIZED else status["Seccomp"] != "0"

        for confined in (pid, *children_of(pid)):  # it, and its syncers
            # One of them has taken the mail: the others may be beginning yet.
            wait_for(lambda: is_confined(confined), "a process to confine itself")
            status = status_of(confined)
            for kind in ("CapEff", "CapPrm"):
                self.assertEqual(int(status[kind], 16), 0)
            if confined == pid or not IS_SANITIZED:
                self.assertEqual(status["NoNewPrivs"], "1")
            if not IS_SANITIZED:
                self.assertEqual(status["Seccomp"], "2")
            if os.geteuid() == 0:
                self.assertNotIn("0", status["Uid"].split())

    def test_a_disk_with_less_room_than_mails_leave_free_is_told(self):
        if os.geteuid() != 0:
            self.skipTest("a file system of its own needs root")
        store = Stored(self, is_started=False,
                       stored={"reserve": "16M", "collect-interval": "100ms", "segment-size": "1M"})
        os.mkdir(store.directory)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size=32m,uid={pwd.getpwnam(stored.USER).pw_uid}", "none",
                        store.directory], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", store.directory], check=True)
        filler = os.path.join(store.directory, "filler")
        store.start()
        for count in (1, 2):
            with open(filler, "wb") as file:
                file.write(bytes(20 << 20))
            store.wait_for_log(rf"^warning: \[mail-stored\] mails are refused, path={store.directory} free=\d+ "
                               r'\(less than "reserve"\)$', count)
            os.unlink(filler)
            store.wait_for_log(rf"^info: \[mail-stored\] mails are taken again, path={store.directory}$", count)

    def test_a_directory_that_is_not_there_is_not_made(self):
        """That of a disk that is not mounted would be a new store on another, with empty mailboxes."""
        store = Stored(self, is_started=False)
        for layer in ("log", "sort"):
            store.write_config(stored={"layer": layer})
            result = subprocess.run([program("mail-stored"), "--config", store.config_path], capture_output=True,
                                    text=True, timeout=DEADLINE_S, check=False)
            self.assertEqual((result.returncode, result.stderr), (
                os.EX_NOINPUT,
                f"error: [mail-stored] store not opened, directory={store.directory} (No such file or directory)\n"))
            self.assertFalse(os.path.exists(store.directory))
        store.write_config(stored={"layer": "log"})
        line = f"info: [mail-stored] store is new, directory={store.directory}\n"
        for is_new in (True, False):
            store.start()
            self.assertEqual(line in store.process.log(), is_new)
            store.stop()

    def test_what_is_not_there_ends_the_start_with_one_line(self):
        store = Stored(self, is_started=False)
        store.make_directory()
        lmtp = {"listen": [self.path("lmtp")]}  # which wants them as well
        for sections, pattern in (
                ({"stored": {"directory": self.write("file", "")}}, "store not opened, directory=.*/file "),
                ({"stored": {"directory": store.directory, "users": self.path("missing.mdb")}, "lmtp": lmtp},
                 "recipients not opened, users=.*/missing.mdb ")):
            config = store.write_config(**sections)
            result = subprocess.run([program("mail-stored"), "--config", config], capture_output=True,
                                    text=True, timeout=DEADLINE_S, check=False)
            self.assertEqual(result.returncode, os.EX_NOINPUT, result.stderr)
            self.assertRegex(result.stderr, rf"^error: \[mail-stored\] {pattern}")
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        result = subprocess.run([program("mail-stored"), "--check", "--config", config], capture_output=True,
                                text=True, timeout=DEADLINE_S, check=False)
        self.assertEqual(result.returncode, EX_CONFIG, result.stderr)
        self.assertRegex(result.stderr, rf"^error: \[mail-stored\] {pattern}")

    def test_logins_that_are_not_there_are_told_by_both_before_a_process_begins(self):
        store = Stored(self, is_started=False)
        store.make_directory()
        config = store.write_config(stored={"logins": self.path("missing.mdb")})
        for words, status in ((["--check"], EX_CONFIG), ([], os.EX_NOINPUT)):
            result = subprocess.run([program("mail-stored"), *words, "--config", config], capture_output=True,
                                    text=True, timeout=DEADLINE_S, check=False)
            self.assertEqual(result.returncode, status, result.stderr)
            self.assertRegex(result.stderr, r"^error: \[mail-stored\] recipients not opened, users=.*/missing.mdb ")
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)

    def test_what_is_not_for_the_user_is_told_with_both(self):
        if os.geteuid() != 0:
            self.skipTest("root alone becomes another user")
        store = Stored(self, is_started=False)
        log = os.path.join(store.directory, "log")
        os.makedirs(log, mode=0o700)
        os.chown(store.directory, pwd.getpwnam(stored.USER).pw_uid, 0)
        os.chmod(store.directory, 0o700)
        for paths in ([log], [store.directory, log]):
            os.chown(paths[0], 0, 0)
            result = subprocess.run([program("mail-stored"), "--check", "--config", store.config_path],
                                    capture_output=True, text=True, timeout=DEADLINE_S, check=False)
            self.assertEqual((result.returncode, result.stderr), (0, "".join(
                f"warning: [mail-stored] no access, path={path} user={stored.USER} (Permission denied)\n"
                for path in paths)))

    def test_a_check_says_which_directories_a_start_would_miss(self):
        store = Stored(self, is_started=False)
        places = [self.path(f"missing-{name}/place") for name in ("store", "socket", "lmtp")]
        config = store.write_config(stored={"directory": os.path.dirname(places[0]), "socket": places[1]},
                                    lmtp={"listen": f"[ {places[2]}, /run/missing/lmtp ]"})
        result = subprocess.run([program("mail-stored"), "--check", "--config", config], capture_output=True,
                                text=True, timeout=DEADLINE_S, check=False)
        self.assertEqual((result.returncode, result.stderr), (0, "".join(
            f"warning: [mail-stored] directory not there, path={os.path.dirname(place)} (No such file or directory)\n"
            for place in places)))

    def test_wrong_configurations_name_the_line(self):
        for line, pattern in (("    size: many", r":2\].*size"), ("    layer: heap", r":2\].*layer"),
                              ("    keep: 365", r":2\].*keep.*such as 365d"),
                              ("    nonsense: 1", r":2\]"), ("    socket: relative", r":2\].*socket")):
            path = self.write("wrong.conf", f"stored:\n{line}\n")
            result = subprocess.run([program("mail-stored"), "-n", "-c", path], capture_output=True,
                                    text=True, check=False, timeout=DEADLINE_S)
            self.assertEqual(result.returncode, EX_CONFIG, result.stderr)
            self.assertRegex(result.stderr, pattern)

    def test_sighup_is_answered_and_sigusr1_counts(self):
        store = Stored(self)
        store.process.send_signal(signal.SIGHUP)
        store.wait_for_log(r"warning: \[mail-stored\] configuration not reloaded, .*")
        with store.client() as client:
            client.deliver(TEXT, BOXES)
        counters = store.counters()
        self.assertEqual((counters["mails-delivered"], counters["entries-delivered"]), (1, 3))

    def test_metrics_are_written(self):
        store = Stored(self, is_started=False)
        os.mkdir(self.path("metrics"), 0o777)
        os.chmod(self.path("metrics"), 0o777)
        path = os.path.join(self.path("metrics"), "stored.prom")
        store.write_config(stored={"metrics": path})
        store.start()
        wait_for(lambda: os.path.exists(path), "the metrics")
        with open(path, encoding="ascii") as file:
            text = file.read()
        for name in ("mails_delivered_total", "log_bytes", "clients", "commits_total"):
            self.assertIn(f"\nmail_stored_{name} ", text)


if __name__ == "__main__":
    main()
