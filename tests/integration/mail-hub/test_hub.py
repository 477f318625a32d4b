#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
mail-hub as a postmaster has it: ten lines, and mails come and are there; a program that is killed comes
back; a bad configuration changes nothing; the end leaves no process. With programs that are played: in which
order they begin and end, who hears which signal, and what their ends mean.
"""

import contextlib
import os
import poplib
import pwd
import re
import signal
import smtplib
import socket
import subprocess
import threading

import stored
from harness import DEADLINE_S, EX_CONFIG, EX_IOERR, EX_TEMPFAIL, EX_UNAVAILABLE, EX_USAGE, Case, main, wait_for
from hub import ANNA, HOSTNAME, USER, Hub, descendants, make_certificate

EX_NOINPUT = 66
ENDED = r"^warning: \[mail-hub\] program ended, program={} {}$"


def is_there(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


class Mail(Case):
    def test_a_mail_under_tls_is_there_and_the_end_leaves_nothing(self):
        hub = Hub(self, lmtp=self.path("lmtp"), **make_certificate(self))
        process = hub.start()
        hub.mail("Subject: one\r\n\r\nHello\r\n", has_tls=True)
        text, = hub.texts()
        self.assertIn("Subject: one", text)
        self.assertRegex(text, rf"(?s)^Return-Path: .*\r\nReceived: from client.example.net .*TLSv1.*\tby {HOSTNAME} ")
        with smtplib.LMTP(self.path("lmtp"), local_hostname="client.example.net") as client:
            client.sendmail("sender@example.net", [ANNA], "Subject: two\r\n\r\nHello\r\n")
            with self.assertRaises(smtplib.SMTPRecipientsRefused):
                client.sendmail("sender@example.net", ["nobody@example.com"], "x\r\n")
        self.assertEqual(len(hub.texts()), 2)
        below = descendants(process.pid)
        self.assertGreater(len(below), 4)
        self.assertEqual(process.stop(), 0)
        process.wait_for_log(r"^info: \[mail-hub\] stopped$")
        # The system buries what has ended a moment later.
        wait_for(lambda: not any(is_there(pid) for pid in below), "all processes to be gone")
        self.assertEqual(sorted(os.listdir(hub.run)), ["empty", "mail-stored.conf", "metrics", "smtp-front.conf"])

    def test_a_user_fetches_by_pop3_what_has_come_by_smtp(self):
        hub = Hub(self, **make_certificate(self))
        address = self.free_address()
        hub.make_users(f"{ANNA} {hub.password('correct horse')}\n")
        hub.write(pop3s=f"{address[0]}@{address[1]}")
        process = hub.start()
        hub.mail("Subject: one\r\n\r\nHello\r\n", has_tls=True)
        client = hub.pop3(address)
        self.assertTrue(client.user(ANNA).startswith(b"+OK"))
        with self.assertRaisesRegex(poplib.error_proto, r"\[AUTH\]"):
            client.pass_("wrong")
        client.user(ANNA)
        self.assertEqual(client.pass_("correct horse")[:3], b"+OK")
        self.assertIn(b"Subject: one", client.retr(1)[1])
        client.dele(1)
        client.quit()
        self.assertEqual(hub.texts(), [])
        with stored.Client(os.path.join(hub.run, "store")) as client:
            reply = client.call(stored.LOGIN, name=ANNA.encode(), memory=b"correct horse")
        self.assertEqual((reply.status, reply.rows), (0, f"mailbox={ANNA}\n".encode()))
        process.wait_for_log(r'^info: \[\w+\] session \{.*"end":"quit",.*"deleted":1,.*"user":"anna@example.com"')
        self.assertEqual(process.stop(), 0)

    def test_a_program_that_is_killed_comes_back_and_mail_flows(self):
        # What they say of each other's ends; sessions have words of their own.
        self.expect_log(r"\[smtp-front\]", r"\[mail-stored\]", r"\[pop-front\]", r"mail not delivered, to=\S+ \(")
        hub = Hub(self, plain_logins="yes")
        address = self.free_address()
        hub.write(pop3=f"{address[0]}@{address[1]}")
        hub.make_users(f"{ANNA} {hub.password('x')}\n")
        hub.start()
        hub.mail()
        for count, name in enumerate(("smtp-front", "mail-stored"), 2):
            pid = hub.pid_of(name)
            below = descendants(pid)
            os.kill(pid, signal.SIGKILL)
            hub.process.wait_for_log(ENDED.format(name, "signal=9"))
            wait_for(lambda: not any(is_there(one) for one in below), "what it has left to end")
            wait_for(lambda: hub.pid_of(name) not in (None, pid), f"{name} to come back")
            wait_for(hub.can_mail, "a mail to be taken again")
            self.assertGreaterEqual(len(hub.texts()), count)
        pid = hub.pid_of("pop-front")
        os.kill(pid, signal.SIGKILL)
        hub.process.wait_for_log(ENDED.format("pop-front", "signal=9"))
        wait_for(lambda: hub.pid_of("pop-front") not in (None, pid), "pop-front to come back")
        self.assertEqual(wait_for(lambda: hub.count_by_pop3(address, "x"), "an answer"), len(hub.texts()))
        self.expect_log(ENDED.format(".*", "status=.*"))  # the store, while the one before had its lock
        self.assertEqual(hub.process.stop(), 0)

    def test_a_hub_that_is_killed_takes_its_programs_with_it(self):
        hub = Hub(self)
        process = hub.start()
        below = descendants(process.pid)
        process.popen.kill()
        process.popen.wait()
        wait_for(lambda: not any(is_there(pid) for pid in below), "its programs to end")

    def test_a_store_that_begins_on_a_full_disk_is_there_once_that_has_room(self):
        if os.geteuid() != 0:
            self.skipTest("a file system of its own needs root")
        self.expect_log(r"\[smtp-front\]", r"\[mail-stored\]", r"mail not delivered, to=\S+ \(", r"\[mail-hub\] program ended, ")
        hub = Hub(self)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=96m", "none", hub.directory], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", hub.directory], check=True)
        hub.make_users(f"{ANNA}\n")
        os.chown(hub.directory, pwd.getpwnam(USER).pw_uid, -1)
        hub.start()
        hub.mail()
        filler = os.path.join(hub.directory, "filler")
        with stored.Client(os.path.join(hub.run, "store")) as client:
            (mail, _, _), = client.entries(ANNA)
            with contextlib.suppress(OSError), open(filler, "wb") as file:  # no store's
                while True:
                    file.write(bytes(1 << 12))
            self.assertEqual(client.erase(ANNA, [mail]), 0)  # the index has to be written for it
        os.kill(hub.pid_of("mail-stored"), signal.SIGKILL)
        hub.process.wait_for_log(r"^error: \[mail-stored\] store not opened, directory=.* \(No space left on device\)$")
        hub.process.wait_for_log(ENDED.format("mail-stored", "status=75"))
        os.unlink(filler)
        wait_for(hub.can_mail, "a mail to be taken again")
        self.assertEqual(hub.process.stop(), 0)

    def test_a_reload_that_is_refused_changes_nothing(self):
        certificate = make_certificate(self)
        hub = Hub(self, **certificate)
        process = hub.start()
        with open(os.path.join(hub.run, "smtp-front.conf"), encoding="ascii") as file:
            before = file.read()
        pids = [hub.pid_of(name) for name in ("smtp-front", "mail-stored")]
        hub.reload(log="loud")
        line, = process.wait_for_log(r"^error: \[mail-hub\] configuration not reloaded, the old one stays: .*")
        self.assertRegex(line, rf"{hub.config}:\d+: configuration refused, item=log value=\"loud\" \(permitted")
        said = [one for one in process.log().splitlines() if not re.search(" ready, | is new, | listening, ", one)]  # edges say so late
        self.assertEqual(said, [line])
        # What only the program can know.
        self.expect_log(r"smtp-front.conf.new\] configuration not read \(certificate .*/empty.pem: ",
                        r"\[mail-hub\] configuration refused, program=smtp-front status=78")
        hub.reload(log="info", certificate=self.write("empty.pem", ""))
        process.wait_for_log(r"^warning: \[mail-hub\] configuration not reloaded, the old one stays$")
        with open(os.path.join(hub.run, "smtp-front.conf"), encoding="ascii") as file:
            self.assertEqual(file.read(), before)
        self.assertEqual([hub.pid_of(name) for name in ("smtp-front", "mail-stored")], pids)
        hub.items.update(certificate)
        hub.mail(has_tls=True)

    def test_a_program_that_does_not_reload_what_it_has_checked_is_told(self):
        hub = Hub(self)
        process = hub.start()
        with open(os.path.join(hub.run, "smtp-front.conf"), "a", encoding="ascii") as file:
            file.write("nonsense:\n")
        self.expect_log(r"smtp-front.conf:\d+\] configuration refused", r"\[smtp-front\] configuration not reloaded")
        os.kill(hub.pid_of("smtp-front"), signal.SIGHUP)
        process.wait_for_log(r"^warning: \[mail-hub\] program has not reloaded, program=smtp-front \(")
        hub.reload()  # it is written anew
        process.wait_for_log(r"^info: \[smtp-front\] reloaded, ")
        self.assertEqual(process.log().count("has not reloaded"), 1)

    def test_a_reload_to_a_port_of_another_server_changes_nothing(self):
        hub = Hub(self, plain_logins="yes", lmtp=self.path("lmtp"))
        process = hub.start()
        pids = [hub.pid_of(name) for name in ("smtp-front", "mail-stored")]
        own = f"{hub.address[0]}@{hub.address[1]}"
        with socket.create_server(self.free_address()) as other:
            place = "{}@{}".format(*other.getsockname())
            for count, items in enumerate(({"smtp": f"[ {own}, {place} ]"}, {"pop3": place}, {"pop3s": place},
                                           {"lmtp": place}), 1):
                hub.reload(**{**{"smtp": own, "lmtp": self.path("lmtp"), "pop3": None, "pop3s": None}, **items},
                           **(make_certificate(self) if "pop3s" in items else {}))
                process.wait_for_log(r"^warning: \[mail-hub\] configuration not reloaded, the old one stays$", count)
                process.wait_for_log(rf"^error: \[mail-hub\] socket not opened, place={place} \(Address already in use\)$",
                                     count)
            self.assertEqual([hub.pid_of(name) for name in ("smtp-front", "mail-stored")], pids)
            # Nor did the files that they begin with.
            self.expect_log(r"\[smtp-front\]", r"\[mail-stored\]", r"mail not delivered, to=\S+ \(", ENDED.format(".*", ".*"))
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
            wait_for(hub.can_mail, "a mail to be taken again")
        hub.reload(smtp=f"[ {own}, {place} ]", lmtp=self.path("lmtp"), pop3=None, pop3s=None)
        process.wait_for_log(r"^info: \[mail-hub\] reloaded$")

    def test_a_reload_to_a_port_of_a_program_of_its_own_changes_nothing(self):
        other, free = ("{}@{}".format(*self.free_address()) for _ in range(2))
        hub = Hub(self, plain_logins="yes", pop3=other)
        own = "{}@{}".format(*hub.address)
        process = hub.start()
        for count, (items, item, place, has) in enumerate((
                ({"smtp": other, "pop3": own}, "smtp", other, f"pop-front has {other}"),
                ({"smtp": f"0.0.0.0@{hub.address[1]}"}, "smtp", f"0.0.0.0@{hub.address[1]}", f"smtp-front has {own}"),
                ({"pop3": own, "smtp": free}, "pop3", own, f"smtp-front has {own}"),
                ({"smtp": f"[ {own}, {free} ]", "pop3": free}, "pop3", free, f"smtp-front has {free}"),
                ({"pop3": f"0.0.0.0@{hub.address[1]}"}, "pop3", f"0.0.0.0@{hub.address[1]}", f"smtp-front has {own}")),
                1):
            hub.reload(**{"smtp": own, "pop3": other, **items})
            why = "given to two programs" if count > 3 else "needs a restart"
            process.wait_for_log(rf"^error: \[mail-hub\] address {why}, item={item} place={place} \({has}\)$")
            process.wait_for_log(r"^warning: \[mail-hub\] configuration not reloaded, the old one stays$", count)
        self.expect_log(r"\[smtp-front\]", ENDED.format(".*", ".*"))
        os.kill(hub.pid_of("smtp-front"), signal.SIGKILL)
        wait_for(hub.can_mail, "a mail to be taken again")
        hub.reload(smtp=own, pop3s=other, pop3=None, **make_certificate(self))
        process.wait_for_log(r"^info: \[mail-hub\] reloaded$")
        process.wait_for_log(r"^info: \[pop-front\] reloaded, ")

    def test_a_reload_moves_smtp_to_another_port(self):
        hub = Hub(self)
        process = hub.start()
        hub.mail()
        pids = [hub.pid_of(name) for name in ("smtp-front", "mail-stored")]
        hub.address = self.free_address()
        hub.reload(smtp=f"{hub.address[0]}@{hub.address[1]}")
        process.wait_for_log(r"^info: \[mail-hub\] reloaded$")
        process.wait_for_log(r"^info: \[smtp-front\] reloaded, ")
        hub.mail()
        self.assertEqual(len(hub.texts()), 2)
        self.assertEqual([hub.pid_of(name) for name in ("smtp-front", "mail-stored")], pids)

    def test_the_service_manager_hears_of_it_once_all_is_ready(self):
        hub = Hub(self)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(self.path("manager"))
            manager.setblocking(False)
            process = hub.start(env={**os.environ, "NOTIFY_SOCKET": self.path("manager")})

            def word():
                try:
                    return manager.recv(1000)
                except BlockingIOError:
                    return None

            self.assertEqual(wait_for(word, "a word"), b"READY=1")
            hub.mail()
            self.assertIsNone(word())
            self.assertEqual(process.stop(), 0)
            self.assertEqual(wait_for(word, "a word"), b"STOPPING=1")
            self.assertIsNone(word())

    def test_metrics_are_written_by_each_program(self):
        hub = Hub(self, plain_logins="yes")
        address = self.free_address()
        hub.write(pop3=f"{address[0]}@{address[1]}")
        os.makedirs(os.path.join(hub.run, "metrics"), 0o755)  # by one that had no user
        hub.start()
        for name in ("smtp-front", "mail-stored", "pop-front"):
            path = os.path.join(hub.run, "metrics", f"{name}.prom")
            wait_for(lambda: os.path.exists(path), path)


class Refusals(Case):
    def check_end(self, hub, status, *patterns):
        """mail-hub ends by itself, with lines that match, and no process is left."""
        result = hub.call()
        self.assertEqual(result.returncode, status, result.stderr)
        for pattern in patterns:
            self.assertRegex(result.stderr, re.compile(pattern, re.MULTILINE))
        return result

    def test_a_port_in_use_ends_it_with_what_and_where(self):
        hub = Hub(self)
        with socket.create_server(hub.address):
            place = f"{hub.address[0]}@{hub.address[1]}"
            self.check_end(hub, EX_UNAVAILABLE,
                           rf"^error: \[smtp-front\] socket not opened, place={place} \(Address already in use\)$",
                           r"^error: \[mail-hub\] stopping, as a program has ended, program=smtp-front status=69$")

    def test_an_address_of_two_programs_is_refused_by_both_before_one_begins(self):
        hub = Hub(self, plain_logins="yes")
        own = "{}@{}".format(*hub.address)
        for items, item, place in (({"pop3": own}, "pop3", own),
                                   ({"pop3": None, "lmtp": f"0.0.0.0@{hub.address[1]}"}, "lmtp", f"0.0.0.0@{hub.address[1]}")):
            hub.write(**items)
            for words in ([], ["--check"]):
                result = hub.call(*words)
                self.assertEqual((result.returncode, result.stdout, result.stderr), (
                    EX_CONFIG, "", f"error: [mail-hub] address given to two programs, item={item} place={place} "
                    f"(smtp-front has {own})\n"))

    def test_a_store_that_is_none_ends_it(self):
        hub = Hub(self)
        with open(os.path.join(hub.directory, "store"), "w", encoding="ascii"):
            pass
        result = self.check_end(hub, EX_NOINPUT, r"^error: \[mail-stored\] store not opened, ",
                                r"^error: \[mail-hub\] stopping, as .*, program=mail-stored status=66$")
        self.assertNotIn("smtp-front", result.stderr)  # it had not begun

    def test_a_disk_without_room_for_a_store_ends_it_with_a_status_that_is_tried_again(self):
        if os.geteuid() != 0:
            self.skipTest("a file system of its own needs root")
        hub = Hub(self)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "nr_inodes=5", "none", hub.directory], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", hub.directory], check=True)
        hub.make_users(f"{ANNA}\n")  # with their lock files and the directory they are all that has room
        self.check_end(hub, EX_UNAVAILABLE,
                       rf"^error: \[mail-hub\] directory not made, path={hub.directory}/store \(No space left on device\)$")

    def test_what_is_missing_is_named_in_one_line(self):
        hub = Hub(self)
        missing = self.path("missing")
        for items, status, pattern in (
                ({"hostname": None}, EX_CONFIG, r'hub\.conf\] configuration not read \(hub: "hostname" is not given\)'),
                ({"hostname": HOSTNAME, "directory": missing}, EX_NOINPUT,
                 rf"\[mail-hub\] directory not opened, path={missing} \(No such file or directory\)"),
                ({"directory": hub.directory, "run-directory": f"{missing}/run"}, EX_NOINPUT,
                 rf"\[mail-hub\] directory not made, path={missing}/run \(No such")):
            hub.write(**items)
            result = self.check_end(hub, status, rf"^error: .*{pattern}")
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)

    def test_a_program_that_is_not_installed_is_named(self):
        hub = Hub(self)
        os.unlink(os.path.join(hub.programs, "mail-stored"))
        self.check_end(hub, EX_UNAVAILABLE,
                       rf"^error: \[mail-hub\] program not started, path={hub.programs}/mail-stored \(No such file")

    def test_a_second_hub_does_not_take_the_files_of_the_first(self):
        hub = Hub(self, is_played=True)
        hub.start()
        with open(os.path.join(hub.run, "smtp-front.conf"), encoding="ascii") as file:
            before = file.read()
        hub.write(smtp="127.0.0.1@1")
        self.check_end(hub, EX_TEMPFAIL, r"^error: \[mail-hub\] another mail-hub has the directory, path=")
        with open(os.path.join(hub.run, "smtp-front.conf"), encoding="ascii") as file:
            self.assertEqual(file.read(), before)

    def test_check_asks_each_program_and_leaves_nothing(self):
        hub = Hub(self, lmtp=self.path("run/lmtp"), pop3="127.0.0.1@110", plain_logins="yes")
        before = {name for name in os.listdir("/tmp") if name.startswith("mail-hub-")}
        locks = [os.path.join(hub.directory, name) for name in ("users.mdb-lock", "logins.mdb-lock")]
        for lock in locks:
            os.unlink(lock)
        result = hub.call("--check")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "configuration OK\n", ""))
        self.assertFalse(os.path.exists(os.path.join(hub.directory, "store")))
        # Root has made them, and the user is to write to them.
        self.assertEqual({os.stat(lock).st_uid for lock in locks}, {os.stat(hub.directory).st_uid})
        os.unlink(os.path.join(hub.directory, "users.mdb"))
        result = hub.call("--check")
        self.assertEqual((result.returncode, result.stdout), (EX_CONFIG, ""))
        self.assertRegex(result.stderr, r"^error: \[mail-stored\] recipients not opened, users=.*/users.mdb")
        self.assertRegex(result.stderr, r"\nerror: \[mail-hub\] configuration refused, program=mail-stored status=78 "
                         r"\(made of hub.conf, mail-hub --show mail-stored prints it\)\n$")
        left = {name for name in os.listdir("/tmp") if name.startswith("mail-hub-")} - before
        # Those of other tests that run now go soon.
        wait_for(lambda: not any(os.path.exists(f"/tmp/{name}") for name in left), f"{left} to be gone")
        self.assertFalse(os.path.exists(hub.run))

    def test_check_says_that_processes_would_stay_root(self):
        """Before they make a store that a user who is named later cannot open."""
        if os.geteuid() != 0:
            self.skipTest("root alone makes what is root's")
        result = Hub(self, user=None).call("--check")
        self.assertEqual((result.returncode, result.stdout), (0, "configuration OK\n"))
        self.assertEqual(result.stderr, "warning: [mail-hub] no user is given, processes stay root\n"
                         "warning: [mail-stored] no user is given, the store's processes stay root\n")

    def test_show_prints_what_a_program_gets(self):
        hub = Hub(self)
        hub.start()
        for name in ("smtp-front", "mail-stored"):
            with open(os.path.join(hub.run, f"{name}.conf"), encoding="ascii") as file:
                self.assertEqual(hub.call("--show", name).stdout, file.read())
        result = hub.call("--show", "pop-front")
        self.assertEqual((result.returncode, result.stdout, result.stderr),
                         (EX_CONFIG, "", "error: [mail-hub] program is not configured, program=pop-front\n"))
        hub.write(pop3="127.0.0.1@110", plain_logins="yes")
        self.assertIn('\n    listen: [ "127.0.0.1@110" ]\n', hub.call("--show", "pop-front").stdout)
        result = hub.call("--show", "postfix")
        self.assertEqual((result.returncode, result.stdout), (EX_USAGE, ""))
        self.assertEqual(hub.call("--show", "smtp-front", "--check").returncode, EX_USAGE)


class Played(Case):
    """The programs say what they are told."""

    def setUp(self):
        super().setUp()
        self.hub = Hub(self, is_played=True, plain_logins="yes", pop3=f"{self.host}@110")

    def words(self):
        """[("mail-stored", "begun"), ...] so far."""
        return re.findall(r"^played (\S+) (\S+)$", self.hub.process.log(), re.MULTILINE)

    def wait_for_word(self, name, word, count=1):
        wait_for(lambda: self.words().count((name, word)) >= count, f"{name} to say {word}")

    def test_the_store_is_first_and_last(self):
        process = self.hub.start()
        self.assertEqual(self.words()[0], ("mail-stored", "begun"))
        self.assertEqual(process.stop(), 0)
        words = [word for word in self.words() if word[1] != "begun"]
        self.assertEqual(sorted(words[:4]), [("pop-front", "SIGTERM"), ("pop-front", "ended"),
                                             ("smtp-front", "SIGTERM"), ("smtp-front", "ended")])
        self.assertEqual(words[4:], [("mail-stored", "SIGTERM"), ("mail-stored", "ended")])

    def test_a_signal_from_a_terminal_is_for_the_hub_alone(self):
        process = self.hub.start(start_new_session=True)
        os.killpg(process.pid, signal.SIGINT)
        self.assertEqual(process.popen.wait(DEADLINE_S), 0)
        self.assertEqual(self.words()[-1], ("mail-stored", "ended"))

    def test_those_that_can_read_their_files_again_are_told(self):
        process = self.hub.start()
        self.hub.reload()
        for name in ("smtp-front", "pop-front"):
            self.wait_for_word(name, "SIGHUP")
        self.assertNotIn(("mail-stored", "SIGHUP"), self.words())  # nothing is new for it
        self.hub.reload(log="warning")
        self.wait_for_word("mail-stored", "SIGHUP")
        self.expect_log(r"configuration change needs a restart, item=directory")
        self.hub.reload(log="info", directory=self.path("elsewhere"))
        process.wait_for_log(r"^info: \[mail-hub\] reloaded$", 2)
        with open(os.path.join(self.hub.run, "mail-stored.conf"), encoding="ascii") as file:
            self.assertNotIn("elsewhere", file.read())

    def test_a_program_that_refuses_its_file_leaves_all_as_they_were(self):
        process = self.hub.start()
        self.expect_log(r"\[played\] not so", r"configuration refused, program=pop-front status=78")
        self.hub.mark("pop-front", "refuses")
        self.hub.reload(smtp="127.0.0.1@1")
        process.wait_for_log(r"^warning: \[mail-hub\] configuration not reloaded, the old one stays$")
        self.assertNotIn(("smtp-front", "SIGHUP"), self.words())
        with open(os.path.join(self.hub.run, "smtp-front.conf"), encoding="ascii") as file:
            self.assertNotIn("127.0.0.1@1", file.read())
        self.assertEqual([name for name in os.listdir(self.hub.run) if ".new" in name], [])

    def test_the_end_does_not_wait_for_a_check_that_hangs(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(number=number):
                process = self.hub.start()
                self.hub.mark("smtp-front", "hangs")
                self.hub.reload(smtp="127.0.0.1@1")
                self.wait_for_word("smtp-front", "checking")
                self.assertEqual(process.stop(number), 0)
                # The check was not judged, as it is when its time is over.
                self.assertNotIn("configuration refused", process.log())
                process.wait_for_log(r"^warning: \[mail-hub\] configuration not reloaded, the old one stays$")
                self.assertNotIn(("smtp-front", "SIGHUP"), self.words())

    def test_a_hub_that_is_killed_takes_a_check_with_it(self):
        process = self.hub.start()
        self.hub.mark("smtp-front", "hangs")
        self.hub.reload()
        self.wait_for_word("smtp-front", "checking")
        below = descendants(process.pid)
        self.assertEqual(len(below), 4)
        process.popen.kill()
        process.popen.wait()
        wait_for(lambda: not any(is_there(pid) for pid in below), "all processes to end")

    def test_a_program_begins_again_amid_reloads_that_have_no_end(self):
        process = self.hub.start()
        self.expect_log(ENDED.format("smtp-front", "signal=9"),
                        r"configuration not reloaded, the old one stays$")  # when the hub is told to end amid one
        has_begun = threading.Event()

        def reload():
            while not has_begun.wait(0.01):  # a reload takes longer: the next one waits at its end
                process.send_signal(signal.SIGHUP)

        reloads = threading.Thread(target=reload)
        reloads.start()
        self.addCleanup(reloads.join)
        self.addCleanup(has_begun.set)
        process.wait_for_log(r"^info: \[mail-hub\] reloaded$")
        os.kill(self.hub.pid_of("smtp-front"), signal.SIGKILL)
        self.wait_for_word("smtp-front", "begun", 2)

    def test_a_configuration_that_all_have_checked_is_not_written_again(self):
        process = self.hub.start()
        os.mkdir(os.path.join(self.hub.run, f"pop-front.conf.new-{process.pid}"))  # a write would fail
        self.hub.reload(smtp="127.0.0.1@1", hostname="other.example.org")
        process.wait_for_log(r"^info: \[mail-hub\] reloaded$")
        for name in ("mail-stored", "smtp-front", "pop-front"):
            with open(os.path.join(self.hub.run, f"{name}.conf"), encoding="ascii") as file:
                self.assertIn("other.example.org", file.read())

    def test_pop3_ends_and_begins_by_reloads(self):
        process = self.hub.start()
        self.hub.reload(pop3=None)
        self.wait_for_word("pop-front", "ended")
        process.wait_for_log(r"^info: \[mail-hub\] reloaded$")
        self.hub.reload(pop3=f"{self.host}@110")
        self.wait_for_word("pop-front", "begun", 2)
        # Wanted again before it has ended: another one follows.
        process.wait_for_log(r"^info: \[mail-hub\] reloaded$", 2)
        self.hub.reload(pop3=None)
        self.wait_for_word("pop-front", "SIGTERM", 2)
        self.hub.reload(pop3=f"{self.host}@110")
        self.wait_for_word("pop-front", "begun", 3)
        self.assertEqual(process.stop(), 0)
        self.assertEqual(self.words().count(("pop-front", "ended")), 3)

    def test_a_program_that_is_never_ready_is_not_waited_for_when_it_is_not_wanted_any_more(self):
        self.hub.mark("pop-front", "silent")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(self.path("manager"))
            manager.settimeout(DEADLINE_S)
            process = self.hub.start(is_ready=False, env={**os.environ, "NOTIFY_SOCKET": self.path("manager")})
            self.wait_for_word("pop-front", "begun")

            def is_ready_but_for_pop3():
                process.send_signal(signal.SIGUSR1)  # those that are ready hear of it
                return ("smtp-front", "SIGUSR1") in self.words()

            wait_for(is_ready_but_for_pop3, "smtp-front to be ready")
            self.hub.reload(pop3=None)
            process.wait_for_log(r"^info: \[mail-hub\] ready, ")
            while manager.recv(1000) != b"READY=1":
                pass
        self.assertEqual(process.stop(), 0)

    def test_counters_are_asked_of_each(self):
        self.hub.start().send_signal(signal.SIGUSR1)
        for name in ("mail-stored", "smtp-front", "pop-front"):
            self.wait_for_word(name, "SIGUSR1")

    def end_all(self, status):
        process = self.hub.start()
        self.hub.mark("mail-stored", "fails", str(status))
        process.send_signal(signal.SIGUSR1)
        process.wait_for_log(r"^error: \[mail-hub\] stopping, as a program has ended, "
                             rf"program=mail-stored status={status}$")
        self.assertEqual(process.popen.wait(DEADLINE_S), status)
        self.assertIn(("smtp-front", "ended"), self.words())

    def test_a_disk_that_has_failed_ends_all(self):
        self.end_all(EX_IOERR)

    def test_a_place_in_the_cluster_that_another_machine_has_taken_ends_all(self):
        self.end_all(EX_CONFIG)

    def test_the_same_status_of_another_program_begins_it_again(self):
        process = self.hub.start()
        self.hub.mark("pop-front", "fails", str(EX_IOERR))
        process.send_signal(signal.SIGUSR1)
        process.wait_for_log(ENDED.format("pop-front", "status=74"))
        self.wait_for_word("pop-front", "begun", 2)

    def test_a_machine_without_users_yet_checks_its_store_alone(self):
        self.hub.write(cluster={"pool": "mail", "node": "a"})
        self.hub.mark("smtp-front", "refuses")
        result = self.hub.call("--check")
        self.assertEqual(result.returncode, EX_CONFIG, result.stderr)
        os.unlink(os.path.join(self.hub.directory, "logins.mdb"))
        result = self.hub.call("--check")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr, r"(?m)^info: \[mail-hub\] not checked before there are users, "
                                        r"program=smtp-front$")
        self.hub.mark("mail-stored", "refuses")
        self.assertEqual(self.hub.call("--check").returncode, EX_CONFIG)

    def test_a_program_that_ends_at_once_is_begun_again_and_again(self):
        process = self.hub.start()
        self.expect_log(r"program not started, path=.*/smtp-front", ENDED.format("smtp-front", "signal=9"))
        os.unlink(os.path.join(self.hub.programs, "smtp-front"))
        os.kill(self.hub.pid_of("smtp-front"), signal.SIGKILL)
        process.wait_for_log(ENDED.format("smtp-front", "status=69"), 3)
        self.hub.play("smtp-front")
        self.wait_for_word("smtp-front", "begun", 2)


if __name__ == "__main__":
    main()
