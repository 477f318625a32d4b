#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
What the processes of a running server have given up, as the kernel tells it.

That they lack nothing is what every other test of the server shows: all run
confined. What a worker cannot do is in tests/unit/server/confine.cc.

Needs root for "user", "chroot" and permissions.
"""

import os
import pwd
import re
import shutil
import signal
import socket
import unittest

from harness import (A, AAAA, CLASSIC, DEADLINE_S, IS_SANITIZED, NOERROR, SERVFAIL, ZONE, Case, Process,
                     bitmap_name, children_of, config_text, framed, ip, main, program, query,
                     wait_for)

NAME = bitmap_name(ip("192.0.2.25"))
CAP_SYS_CHROOT = 1 << 18
EX_OSERR, EX_NOPERM = 71, 77
needs_root = unittest.skipIf(os.geteuid() != 0, "not root")
# LeakSanitizer traces its process: neither Landlock nor a filter then.
is_confinable = unittest.skipIf(IS_SANITIZED, "sanitizers want more than workers may do")


def status_of(pid):
    """/proc/PID/status as a dictionary of texts."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return {key: value.strip() for key, value in
                (line.split(":", 1) for line in file if ":" in line)}


def capabilities_of(pid):
    """Of the five sets, those that are not empty."""
    status = status_of(pid)
    return {name: int(status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")
            if int(status[name], 16) != 0}



class ConfineCase(Case):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path("stores"))
        self.store = self.path("stores/bl6.mdb")
        self.build_list("192.0.2.25")

    def build_list(self, *lines, store=None):
        path = self.write("list.txt", "".join(line + "\n" for line in lines))
        self.build(store or self.store, path, "--max-shrink", "100", "--max-grow", "1000000")

    def give_away(self, *paths):
        """To the user of the server: who reads a store writes its lock file."""
        for path in paths:
            os.chown(path, self.nobody.pw_uid, self.nobody.pw_gid)

    def serve_here(self, *lines, workers=2):
        return self.serve(zones=[(ZONE, self.store, CLASSIC)],
                          server_lines=[f"workers: {workers}", *lines])

    def assert_serves(self, server, count=1):
        """count addresses of the block are listed; over UDP and TCP."""
        reply = server.ask(NAME, AAAA)
        self.assertEqual(reply.rcode, NOERROR)
        self.assertEqual(self.count_bits(reply), count)
        packet = query("25.2.0.192." + CLASSIC, A, 7)
        with socket.create_connection(server.address, DEADLINE_S) as tcp:
            tcp.sendall(framed(packet))
            self.assertGreater(len(tcp.recv(2)), 0)

    def count_bits(self, reply):
        return sum(bin(byte).count("1") for rdata in reply.rdata(AAAA) for byte in rdata)

    def wait_for_bits(self, server, count):
        wait_for(lambda: self.count_bits(server.ask(NAME, AAAA)) == count, f"{count} addresses")

    def reload(self, server):
        before = server.children()
        server.send_signal(signal.SIGHUP)
        server.wait_for_log(r"^info: \[dnsblv6d\] reloaded, ")
        wait_for(lambda: not set(server.children()) & set(before), "the old workers to end")

    def replace_workers(self, server):
        """By killing them, one after the other; the log says nothing when others have begun."""
        workers = server.children()
        for worker in workers:
            os.kill(worker, signal.SIGKILL)
        server.wait_for_log(r"^error: \[dnsblv6d\] worker died, ", len(workers))
        wait_for(lambda: [capabilities_of(pid) for pid in server.children()] == [{}] * len(workers),
                 "others that have none of root's rights")

    @property
    def nobody(self):
        return pwd.getpwnam("nobody")


class ProcessesTest(ConfineCase):
    @is_confinable
    def test_parent_workers_and_transfers_are_confined(self):
        self.expect_log("transfer failed")
        self.build_list("192.0.2.25", *(f"198.{i}.{k}.1" for i in range(20, 40)
                                        for k in range(256)))
        address = self.free_address()
        config = self.write("d.conf", config_text(address, [(ZONE, self.store, None)],
                                                  ["workers: 2", "pin-workers: on"])
                            + "    secondary: any\nsecondary:\n  - id: any\n    allow: 127.0.0.0/8\n")
        server = self.start([program("dnsblv6d"), "--config", config], "dnsblv6d")
        server.wait_for_log(r"^info: \[dnsblv6d\] ready, ")
        server.wait_for_log(r"^info: \[dnsblv6d\] confined, landlock=\d+ seccomp=yes$")
        self.check_process(server.pid, filters=1)
        for worker in server.children():
            self.check_process(worker, filters=2)
            self.assertEqual(set(capabilities_of(worker)) - self.unavoidable(), set())
            wait_for(lambda worker=worker: len(os.sched_getaffinity(worker)) == 1, "one core")
        # A client that takes nothing keeps its transfer where it can be looked at. Its
        # segments are small, as the buffer of the server's socket goes by their size,
        # and would otherwise take the whole zone.
        packet = query(ZONE, 252, 7)
        with socket.socket() as tcp:
            tcp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            tcp.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)
            tcp.connect(address)
            tcp.sendall(framed(packet))
            transfer = wait_for(lambda: [pid for worker in server.children()
                                         for pid in children_of(worker)], "a transfer")[0]
            self.check_process(transfer, filters=2)
            self.assertEqual(set(capabilities_of(transfer)) - self.unavoidable(), set())
            # Its first step, which it may not have made yet.
            wait_for(lambda: os.sched_getaffinity(transfer) == os.sched_getaffinity(0), "all cores")

    def unavoidable(self):
        """Only root may empty the bounding set; nobody else has a way to it."""
        return set() if os.geteuid() == 0 else {"CapBnd"}

    def check_process(self, pid, filters):
        status = status_of(pid)
        self.assertEqual(status["NoNewPrivs"], "1")
        self.assertEqual(status["Seccomp"], "2")
        # On top of what the test itself runs under.
        mine = int(status_of(os.getpid()).get("Seccomp_filters", 0))
        if "Seccomp_filters" in status:
            self.assertEqual(int(status["Seccomp_filters"]) - mine, filters)

    def test_off_leaves_the_system_calls(self):
        server = self.serve_here("confine: off")
        self.assert_serves(server)
        for pid in (server.pid, *server.children()):
            self.assertEqual(status_of(pid)["Seccomp"], status_of(os.getpid())["Seccomp"])
        self.assertNotIn("confined", server.log())

    @is_confinable
    def test_on_serves_where_everything_is_there(self):
        found = self.serve_here().wait_for_log(
            r"^info: \[dnsblv6d\] confined, landlock=(\d+) seccomp=yes$")
        if found[0] == "0":
            self.skipTest("no Landlock in this kernel")
        self.assert_serves(self.serve_here("confine: on"))

    @unittest.skipUnless(IS_SANITIZED, "everything is there")
    def test_on_ends_the_server_where_something_is_missing(self):
        self.assertEqual(self.end_of("confine: on")[0], EX_OSERR)

    def end_of(self, *lines, **how):
        """Exit status and log of a server that does not start."""
        config = self.write("bad.conf", config_text(self.free_address(),
                                                    [(ZONE, self.store, None)], lines))
        server = program("dnsblv6d")
        if "user" in how:
            server = self.readable_program(server)
        process = Process([server, "--config", config], self.path("bad.log"), **how)
        self.processes.append(process)
        return process.popen.wait(DEADLINE_S), process.log()

    def test_a_forbidden_system_call_is_named_and_the_worker_replaced(self):
        self.expect_log("worker died")
        server = self.serve_here(workers=1)
        worker = server.children()[0]
        os.kill(worker, signal.SIGSYS)  # as the kernel does
        server.wait_for_log(rf"^error: \[dnsblv6d\] worker died, worker=0 pid={worker} signal=31"
                            r" restart_ms=\d+ \(it made a system call that no server makes\)$")
        wait_for(lambda: server.children() not in ([], [worker]), "another worker")
        self.assert_serves(server)

    def test_a_change_needs_a_restart(self):
        server = self.serve_here()
        with open(server.config_path, encoding="utf-8") as file:
            text = file.read()
        self.write(os.path.basename(server.config_path),
                   text.replace("    workers: 2\n", "    workers: 2\n    confine: off\n"))
        self.reload(server)
        server.wait_for_log(r"^warning: \[dnsblv6d\] configuration change needs a restart,"
                            r" item=confine$")
        if not IS_SANITIZED:
            for worker in server.children():
                self.assertEqual(status_of(worker)["Seccomp"], "2")


class FilesTest(ConfineCase):
    @is_confinable
    def test_a_path_that_comes_to_lead_elsewhere_needs_a_reload(self):
        server = self.serve_here()
        if "landlock=0" in server.log():
            self.skipTest("no Landlock in this kernel")
        os.mkdir(self.path("new"))
        self.build_list("192.0.2.25", "192.0.2.26", store=self.path("new/bl6.mdb"))
        os.rename(self.path("stores"), self.path("old"))
        os.symlink("new", self.path("stores"))
        server.wait_for_log(r"^warning: .*store not switched, serving the old one,"
                            r".*\(Permission denied\)$")
        self.assert_serves(server)
        self.reload(server)
        self.wait_for_bits(server, 2)

    @needs_root
    def test_permissions_hold_for_workers_of_root(self):
        self.give_away(self.store, self.store + "-lock")
        os.chmod(self.store, 0o600)
        server = self.serve_here()
        server.wait_for_log(r"^error: .*store not opened, answering SERVFAIL,"
                            r".*\(Permission denied; workers of root .*\)$")
        self.assertEqual(server.ask(NAME, AAAA).rcode, SERVFAIL)
        os.chmod(self.store, 0o644)
        os.chmod(self.store + "-lock", 0o666)
        wait_for(lambda: server.ask(NAME, AAAA).rcode == NOERROR, "the store to be opened")


@needs_root
class UserTest(ConfineCase):
    def setUp(self):
        super().setUp()
        self.give_away(self.store + "-lock")

    def check_ids(self, pid):
        ids = [str(self.nobody.pw_uid)] * 4
        self.assertEqual(status_of(pid)["Uid"].split(), ids)

    def check_all(self, server, kept):
        """kept: what the parent has for later."""
        self.check_ids(server.pid)
        self.assertEqual(capabilities_of(server.pid), kept)
        self.assertEqual(len(server.children()), 2)
        for worker in server.children():
            self.check_ids(worker)
            self.assertEqual(capabilities_of(worker), {})

    def test_nothing_is_left_of_root(self):
        server = self.serve_here("user: nobody")
        self.check_all(server, {})
        self.assert_serves(server)
        self.reload(server)
        self.check_all(server, {})
        self.assert_serves(server)

    def test_workers_live_below_chroot_and_the_parent_does_not(self):
        server = self.serve_here("user: nobody", f"chroot: {self.path('stores')}")
        for change in (lambda: None, lambda: self.reload(server),
                       lambda: self.replace_workers(server)):
            change()
            self.assertEqual([os.readlink(f"/proc/{worker}/root") for worker in server.children()],
                             [self.path("stores")] * 2)
            self.wait_for_bits(server, 1)
            self.assert_serves(server)
            self.check_all(server, {"CapPrm": CAP_SYS_CHROOT})
        self.assertEqual(os.readlink(f"/proc/{server.pid}/root"), "/")
        self.assertIn("serving, path=/bl6.mdb ", server.log())

    def test_a_new_file_is_verified_below_chroot(self):
        server = self.serve_here("user: nobody", f"chroot: {self.directory}", workers=1)
        self.build_list("192.0.2.25", "192.0.2.26")
        self.wait_for_bits(server, 2)
        os.mkdir(self.path("other"))
        new = self.path("other/bl6.mdb")
        self.build_list("192.0.2.25", "192.0.2.26", "192.0.2.27", store=new)
        self.give_away(new + "-lock")
        os.rename(new + "-lock", self.store + "-lock")
        os.rename(new, self.store)
        self.wait_for_bits(server, 3)
        with open(self.path("cut.mdb"), "wb") as out, open(self.store, "rb") as whole:
            out.write(whole.read()[:20000])
        os.rename(self.path("cut.mdb"), self.store)
        server.wait_for_log(r"^warning: .*store not switched, serving the old one, "
                            r"path=/stores/bl6.mdb ")
        self.assert_serves(server, 3)

    def test_a_lock_file_of_a_worker_is_for_the_group_of_its_directory(self):
        os.chown(self.path("stores"), -1, self.nobody.pw_gid)
        os.chmod(self.path("stores"), 0o2775)
        for lines in ([], [f"chroot: {self.path('stores')}"]):
            with self.subTest(lines=lines):
                os.unlink(self.store + "-lock")
                server = self.serve_here("user: nobody", *lines)
                self.assert_serves(server)
                made = os.stat(self.store + "-lock")
                self.assertEqual((made.st_uid, made.st_gid, made.st_mode & 0o777),
                                 (self.nobody.pw_uid, self.nobody.pw_gid, 0o664))
                server.stop()

    def test_chroot_needs_its_directory_and_the_right(self):
        self.expect_log("control socket not opened", "not confined")
        status, log = ProcessesTest.end_of(self, f"chroot: {self.path('stores/')}",
                                           f"control: {self.path('ctl')}", user="nobody")
        self.assertEqual(status, EX_NOPERM, log)
        self.assertRegex(log, r"(?m)^error: .*(step=chroot|control socket)")
        os.chmod(self.directory, 0o777)
        status, log = ProcessesTest.end_of(self, f"chroot: {self.path('stores')}", user="nobody")
        self.assertEqual(status, EX_NOPERM, log)
        self.assertRegex(log, r"(?m)^error: \[dnsblv6d\] not confined, step=chroot path=/\S+ \(.*\)$")
        shutil.move(self.path("stores"), self.path("gone"))
        status, log = ProcessesTest.end_of(self, f"chroot: {self.path('stores')}", "user: nobody")
        self.assertEqual(status, EX_OSERR, log)
        self.assertTrue(re.search(r"not confined, step=chroot path=/\S+ \(No such file", log), log)


if __name__ == "__main__":
    main()
