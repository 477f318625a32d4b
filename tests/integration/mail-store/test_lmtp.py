#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
LMTP of mail-stored as mail servers see it: a reply for each recipient, one mail for all of them,
many sessions in one commit, a store that dies under them, and what is left when one of its
processes ends.
"""

import os
import re
import signal
import smtplib
import subprocess

import stored
from harness import DEADLINE_S, IS_SANITIZED, Case, children_of, main, program, wait_for
from lmtp_client import Lmtp, LmtpStored

BOXES = ["anna@example.com", "bert@example.com", "carl@example.com"]
TEXT = b"Subject: once\r\n\r\n.dot\r\n..\r\nend \xfc\x80\r\n"
LATER = "451 4.3.0 Try again later"


def limit_files(pid, size):
    """As the user of the process: root may not be permitted."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        ids = {line.split()[0]: int(line.split()[1]) for line in file if line.startswith(("Uid:", "Gid:"))}
    user = {"user": ids["Uid:"], "group": ids["Gid:"], "extra_groups": []} if os.geteuid() == 0 else {}
    subprocess.run(["prlimit", f"--pid={pid}", f"--fsize={size}:"], check=True, timeout=DEADLINE_S, **user)


class Mails(Case):
    def test_a_mail_for_three_has_three_replies_and_is_one_mail(self):
        store = LmtpStored(self)
        for address in (store.address, store.lmtp_path):
            with Lmtp(address) as session:
                self.assertEqual(session.greeting, "220 mx.example.com LMTP")
                ident = session.deliver(TEXT, BOXES)
            for box in BOXES:
                self.assertIn(ident, store.idents(box))
            head, text = store.text_of(ident)
            self.assertEqual(text, TEXT)
            client = r"\(\[127\.0\.0\.1\]\)" if address == store.address else ""
            self.assertRegex(head, r"\AReturn-Path: <sender@example.net>\r\n"
                             rf"Received: from client.example.net ?{client}\r\n"
                             r"\tby mx.example.com \(mail-stored\) with LMTP id [0-9a-f]{12}\.1;\r\n"
                             r"\t\w{3}, \d\d \w{3} \d{4} [\d:]{8} \+0000\r\n\Z")
            store.wait_for_log(r"^info: \[[0-9a-f]{12}\] mail accepted, number=1"
                               r' from="sender@example.net" to="anna@example.com" recipients=3'
                               rf' mailboxes=3 size={len(TEXT)} id={ident} reply="250 2.0.0 Ok: ')
        with store.client() as client:
            self.assertEqual(client.stat()["mails"], 2)
        self.assertEqual(store.stop(), 0)
        self.assertIn(b"0 findings", store.fsck())
        self.assertFalse(os.path.exists(store.lmtp_path))

    def test_pythons_client_is_understood(self):
        store = LmtpStored(self)
        with smtplib.LMTP(*store.address) as session:
            self.assertEqual(session.sendmail("a@example.net", BOXES[:1], TEXT, ["BODY=8BITMIME"]), {})
        with smtplib.LMTP(store.lmtp_path) as session:
            self.assertEqual(session.sendmail("", BOXES[:1], TEXT), {})
        self.assertEqual([store.text_of(ident)[1] for ident in store.idents(BOXES[0])], [TEXT, TEXT])

    def test_a_recipient_alone_is_named_and_one_mailbox_has_it_once(self):
        store = LmtpStored(self)
        with Lmtp(store.address) as session:
            ident = session.deliver(TEXT, ["Anna@Example.COM"], sender="")
            head, _ = store.text_of(ident)
            self.assertIn("Return-Path: <>\r\n", head)
            self.assertIn("\r\n\tfor <Anna@Example.COM>;\r\n", head)
            session.deliver(TEXT, ["anna@example.com", "ANNA@example.com", '"anna"@example.com'])
        self.assertEqual(len(store.idents("anna@example.com")), 2)

    def test_a_large_mail_and_one_by_chunks_are_the_same_bytes(self):
        store = LmtpStored(self)
        text = b"a" + os.urandom(3000000).replace(b"\r", b"x").replace(b"\n", b"\r\n").replace(b"\0", b"0") + b"\r\n"
        with Lmtp(store.address) as session:
            ident = session.deliver(text, BOXES)
            self.assertEqual(store.text_of(ident)[1], text)
            session.begin(BOXES)
            for start in range(0, len(text), 100001):
                part = text[start:start + 100001]
                is_last = start + 100001 >= len(text)
                session.socket.sendall(f"BDAT {len(part)}{' LAST' if is_last else ''}\r\n".encode() + part)
            replies = [session.reply() for _ in range(0, len(text), 100001)] + [session.reply(), session.reply()]
            self.assertEqual({reply[:3] for reply in replies}, {"250"})
            ident = replies[-1].split()[-1]
            self.assertEqual(store.text_of(ident)[1], text)

    def test_a_thousand_recipients_pipelined(self):
        store = LmtpStored(self)
        boxes = [f"user{number}@example.com" for number in range(1000)]
        with Lmtp(store.lmtp_path) as session:
            ident = session.deliver(TEXT, boxes)
            replies = session.begin(boxes + ["more@example.com"])
            self.assertEqual(replies[-1], "452 4.5.3 Too many recipients")
        with store.client() as client:
            self.assertEqual(client.stat()["entries"], 1000)
        self.assertEqual(store.text_of(ident)[1], TEXT)

    def test_mails_of_many_sessions_share_commits(self):
        store = LmtpStored(self)
        sessions = [Lmtp(store.address) for _ in range(100)]
        before = store.counters()["commits"]
        for session in sessions:
            session.begin(BOXES[:1])
            self.assertEqual(session.command("DATA")[:3], "354")
        for session in sessions:
            session.socket.sendall(TEXT.replace(b"\r\n.", b"\r\n..") + b".\r\n")
        idents = {session.reply().split()[-1] for session in sessions}
        for session in sessions:
            session.close()
        self.assertEqual(len(idents), 100)
        self.assertEqual(set(store.idents(BOXES[0])), idents)
        self.assertLess(store.counters()["commits"] - before, 100)


class Refusals(Case):
    def build_users(self, *lines):
        """A list that any user may read; its path."""
        users = self.path("users.mdb")
        subprocess.run([program("smtp-front-users"), "build", "--database", users,
                        self.write("list", "".join(f"{line}\n" for line in lines))],
                       check=True, capture_output=True)
        os.chmod(users, 0o666)
        os.chmod(users + "-lock", 0o666)
        return users

    def test_an_alias_of_three_mailboxes_is_one_mail_and_one_reply(self):
        users = self.build_users(*BOXES, "all@example.com to=" + ",".join(BOXES))
        store = LmtpStored(self, stored={"users": users})
        with Lmtp(store.address) as session:
            ident = session.deliver(TEXT, ["all@example.com"])
            session.deliver(TEXT, ["All@example.com", BOXES[0]])
        with store.client() as client:
            stat = client.stat()
            self.assertEqual((stat["mails"], stat["entries"]), (2, 6))
        for box in BOXES:
            self.assertEqual(store.idents(box)[0], ident)
        self.assertEqual(store.idents("all@example.com"), [])

    def test_an_alias_with_a_full_mailbox_is_refused_and_none_of_them_has_the_mail(self):
        users = self.build_users(f"{BOXES[0]} messages=1", *BOXES[1:],
                                 "all@example.com to=" + ",".join(BOXES[::-1]))
        store = LmtpStored(self, stored={"users": users, "index-delay": "10ms"})
        with store.client() as client, Lmtp(store.address) as session:
            session.deliver(TEXT, BOXES[:1])
            wait_for(lambda: client.call(stored.CHECK, name=BOXES[0].encode()).status == stored.EQUOTA,
                     "the index to know of it")
            self.assertEqual([reply[:9] for reply in session.begin(["all@example.com", BOXES[1]])],
                             ["452 4.2.2", "250 2.1.5"])
            self.assertEqual({reply[:3] for reply in session.data(TEXT, 1)}, {"250"})
        self.assertEqual([len(store.idents(box)) for box in BOXES], [1, 1, 0])

    def test_a_list_says_who_has_a_mailbox(self):
        users = self.build_users("anna@example.com", "@example.org")
        store = LmtpStored(self, stored={"users": users})
        with Lmtp(store.address) as session:
            replies = session.begin(["anna@example.com", "x@example.org", "y@example.org",
                                     "eve@example.com", "a@example.net", "postmaster"])
            self.assertEqual([reply[:9] for reply in replies],
                             ["250 2.1.5", "250 2.1.5", "250 2.1.5", "550 5.1.1", "550 5.7.1", "250 2.1.5"])
            ident, = {reply.split()[-1] for reply in session.data(TEXT, 4)}
        for box in ("anna@example.com", "@example.org", "postmaster"):
            self.assertEqual(store.idents(box), [ident])

    def test_a_new_list_counts_though_its_lock_file_was_deleted(self):
        store = LmtpStored(self, stored={"users": self.build_users("anna@example.com")})
        with Lmtp(store.address) as session:
            os.unlink(self.path("users.mdb-lock"))
            self.build_users("eve@example.com messages=1")
            self.assertEqual([reply[:3] for reply in session.begin(["anna@example.com", "eve@example.com"])],
                             ["550", "250"])
            session.data(TEXT, 1)
        with store.client() as client:
            wait_for(lambda: client.call(stored.CHECK, name=b"eve@example.com").status == stored.EQUOTA,
                     "the store to go by the new list")

    def test_a_full_mailbox_is_refused_at_rcpt_and_others_get_the_mail(self):
        store = LmtpStored(self, stored={"quota-messages": "1", "index-delay": "10ms"})
        with store.client() as client, Lmtp(store.address) as session:
            session.deliver(TEXT, BOXES[:1])
            wait_for(lambda: client.call(stored.CHECK, name=BOXES[0].encode()).status == stored.EQUOTA,
                     "the index to know of it")
            self.assertEqual([reply[:9] for reply in session.begin(BOXES, parameters=f" SIZE={len(TEXT)}")],
                             ["452 4.2.2", "250 2.1.5", "250 2.1.5"])
            self.assertEqual({reply[:3] for reply in session.data(TEXT, 2)}, {"250"})
        self.assertEqual([len(store.idents(box)) for box in BOXES], [1, 1, 1])

    def test_sizes_and_memory(self):
        store = LmtpStored(self, stored={"size": "900K"}, lmtp={"memory": "1M"})
        large = (b"x" * 70 + b"\r\n") * 12000
        with Lmtp(store.address) as one, Lmtp(store.address) as other:
            self.assertEqual(one.command("MAIL FROM:<> SIZE=1000000")[:9], "552 5.3.4")
            self.assertEqual([reply[:9] for reply in one.mail(large * 2, BOXES)], ["552 5.3.4"] * 3)
            self.assertEqual(one.begin(BOXES[:1])[0][:3], "250")
            self.assertEqual(one.command("DATA")[:3], "354")
            one.socket.sendall(large)
            wait_for(lambda: memory_of(store.pid_of("lmtp")) > 800000, "most of it to be in memory")
            self.assertEqual([reply[:9] for reply in other.mail(large, BOXES)], ["452 4.3.1"] * 3)
            other.deliver(TEXT, BOXES)
            self.assertEqual(one.say_text(b"", 1)[0][:3], "250")
            other.deliver(large, BOXES)

    def test_recipients_hear_of_a_full_disk_where_mailboxes_have_limits(self):
        self.expect_log(r"warning: \[mail-stored\] mails are refused, ")
        store = LmtpStored(self, stored={"reserve": "1048576G", "quota-messages": "10"})
        with Lmtp(store.address) as session:
            self.assertEqual([reply[:9] for reply in session.begin(BOXES)], ["452 4.3.1"] * 3)

    def test_a_file_that_may_not_grow_is_a_full_disk_and_no_mail_that_is_too_large(self):
        store = LmtpStored(self, stored={"index-delay": "10ms", "collect-interval": "100ms"})
        self.expect_log(r"warning: \[mail-stored\] (index not written|segment not emptied), .*\(Disk quota exceeded\)$")
        large = (b"x" * 70 + b"\r\n") * 3000
        pid = store.pid_of("store")
        with Lmtp(store.address) as session:
            session.deliver(TEXT, BOXES)
            limit_files(pid, 100000)
            self.assertEqual([reply[:9] for reply in session.mail(large, BOXES)], ["452 4.3.1"] * 3)
            # The index cannot grow either, which is said once, however often it is tried.
            session.deliver(TEXT, BOXES)
            for what in ("index not written", "segment not emptied"):
                store.wait_for_log(rf"^warning: \[mail-stored\] {what}, ")
            for _ in range(30):
                store.counters()
            limit_files(pid, "unlimited")
            store.wait_for_log(r"^info: \[mail-stored\] index written again$")
            limit_files(store.pid_of("lmtp"), 100000)
            self.assertEqual([reply[:9] for reply in session.mail(large, BOXES)], ["452 4.3.1"] * 3)
            limit_files(store.pid_of("lmtp"), "unlimited")
            session.deliver(large, BOXES)
        self.assertEqual(len(re.findall("^warning: ", store.process.log(), re.MULTILINE)), 2)
        self.assertEqual([len(store.idents(box)) for box in BOXES], [3] * 3)

    def test_a_file_of_a_maildir_that_may_not_grow_is_a_full_disk(self):
        store = LmtpStored(self, stored={"layer": "sort"})
        large = (b"x" * 70 + b"\r\n") * 3000
        with Lmtp(store.address) as session:
            limit_files(store.pid_of("store"), 100000)
            self.assertEqual([reply[:9] for reply in session.mail(large, BOXES)], ["452 4.3.1"] * 3)
            limit_files(store.pid_of("store"), "unlimited")
            session.deliver(large, BOXES)

    def test_more_sessions_than_configured_hear_so(self):
        store = LmtpStored(self, lmtp={"sessions": "2"})
        with Lmtp(store.address) as one, Lmtp(store.lmtp_path) as other:
            with Lmtp(store.address, is_greeted=False) as third:
                self.assertEqual(third.greeting[:9], "421 4.3.2")
                self.assertEqual(third.reply(), "")
            one.deliver(TEXT, BOXES)
            other.deliver(TEXT, BOXES)

    def test_a_silent_client_is_told_so(self):
        store = LmtpStored(self, lmtp={"timeout": "100ms"})
        with Lmtp(store.address, is_greeted=False) as idle:
            self.assertEqual(idle.reply()[:9], "421 4.4.2")
            self.assertEqual(idle.reply(), "")

    def test_smtp_is_refused(self):
        store = LmtpStored(self)
        with Lmtp(store.address, is_greeted=False) as session:
            self.assertEqual(session.command("EHLO x")[:9], "500 5.5.1")
            self.assertEqual(session.command("LHLO x")[:3], "250")
            self.assertEqual(session.begin(["x"])[0][:3], "501")
            self.assertEqual(session.command("DATA")[:3], "503")


def memory_of(pid):
    """Bytes of the mails that it has in memfds."""
    paths = [f"/proc/{pid}/fd/{fd}" for fd in os.listdir(f"/proc/{pid}/fd")]
    return sum(os.stat(path).st_size for path in paths if os.readlink(path).startswith("/memfd:mail"))


class Processes(Case):
    def kill_store(self, store):
        pid = store.pid_of("store")
        os.kill(pid, signal.SIGKILL)
        return pid

    def recover(self, session):
        """When the store is there again."""
        def is_back():
            session.command("RSET")
            return session.begin(BOXES[:1])[0][:3] == "250"

        wait_for(is_back, "the store to be there again")

    def test_a_store_that_dies_puts_off_what_is_under_way_and_sessions_stay(self):
        """Stopped first, so that all sessions are where they are to be; then killed."""
        store = LmtpStored(self)
        store.expect_gone()
        sessions = {name: Lmtp(store.address) for name in ("idle", "mail", "rcpt", "data", "sent")}
        for session in sessions.values():
            self.addCleanup(session.close)
        os.kill(store.pid_of("store"), signal.SIGSTOP)
        self.assertEqual(sessions["mail"].command("MAIL FROM:<>")[:3], "250")
        sessions["rcpt"].begin(BOXES)
        for name in ("data", "sent"):
            sessions[name].begin(BOXES)
            self.assertEqual(sessions[name].command("DATA")[:3], "354")
        sessions["sent"].socket.sendall(b"Subject: lost\r\n\r\n.\r\n")
        self.kill_store(store)
        self.assertEqual([sessions["sent"].reply() for _ in BOXES], [LATER] * 3)
        store.wait_for_log(r"warning: \[mail-stored\] store is not there, path=\S+ \(Connection reset by peer\)")
        store.wait_for_log(r"info: \[mail-stored\] store is there, ")
        ident = sessions["data"].say_text(TEXT, 3)[0].split()[-1]
        self.assertEqual(store.text_of(ident)[1], TEXT)
        self.assertEqual(sessions["rcpt"].data(TEXT, 3)[0][:3], "250")
        self.assertEqual(sessions["mail"].command(f"RCPT TO:<{BOXES[0]}>")[:3], "250")
        sessions["idle"].deliver(TEXT, BOXES)

    def test_while_there_is_no_store_recipients_are_put_off(self):
        """The daemon's parent is stopped, so that it does not make another."""
        store = LmtpStored(self)
        store.expect_gone()
        with Lmtp(store.address) as session, Lmtp(store.address) as other:
            other.begin(BOXES)
            store.process.send_signal(signal.SIGSTOP)
            self.kill_store(store)
            wait_for(lambda: session.command("RSET") and session.begin(BOXES[:1])[0] == LATER,
                     "the store to be missed")
            self.assertEqual(session.command("DATA")[:3], "503")
            self.assertEqual(other.command("DATA"), LATER)
            self.assertEqual(other.command("NOOP")[:3], "250")
            store.process.send_signal(signal.SIGCONT)
            self.recover(session)
            session.data(TEXT, 1)
            other.deliver(TEXT, BOXES)

    def test_mails_that_were_accepted_survive_a_killed_store(self):
        store = LmtpStored(self)
        store.expect_gone()
        accepted = set()
        with Lmtp(store.address) as session:
            for turn in range(3):
                for _ in range(20):
                    accepted.add(session.deliver(TEXT, BOXES))
                self.kill_store(store)
                store.wait_for_log(r"info: \[mail-stored\] store is there, ", turn + 1)
        self.assertEqual(set(store.idents(BOXES[2])), accepted)
        self.assertEqual(store.stop(), 0)
        self.assertIn(b"0 findings", store.fsck())

    def test_lmtp_that_dies_is_replaced_and_the_store_goes_on(self):
        store = LmtpStored(self)
        store.expect_gone()
        with store.client() as client, Lmtp(store.address) as session:
            session.begin(BOXES)
            os.kill(store.pid_of("lmtp"), signal.SIGKILL)
            self.assertEqual(session.reply(), "")
            client.deliver(TEXT, BOXES)
            with Lmtp(store.address) as other, Lmtp(store.lmtp_path) as third:
                other.deliver(TEXT, BOXES)
                third.deliver(TEXT, BOXES)
            self.assertEqual(client.stat()["mails"], 3)

    def test_at_the_end_mails_under_way_are_taken_and_the_others_hear_421(self):
        store = LmtpStored(self)
        idle, amid = Lmtp(store.address), Lmtp(store.address)
        self.addCleanup(idle.close)
        self.addCleanup(amid.close)
        amid.begin(BOXES)
        store.process.send_signal(signal.SIGTERM)
        self.assertEqual(idle.reply()[:9], "421 4.3.2")
        self.assertEqual(idle.reply(), "")
        replies = amid.data(TEXT, 3)
        self.assertEqual({reply[:3] for reply in replies}, {"250"})
        self.assertEqual(amid.reply()[:9], "421 4.3.2")
        self.assertEqual(store.process.popen.wait(DEADLINE_S), 0)
        listed = store.run_tool("ls", BOXES[0], at=store.directory)
        self.assertIn(replies[0].split()[-1].encode(), listed)

    def test_what_the_process_of_lmtp_may_do(self):
        store = LmtpStored(self)
        pid = store.pid_of("lmtp")
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            status = dict(line.rstrip("\n").split(":\t") for line in file if ":\t" in line)
        self.assertEqual(int(status["CapEff"], 16), 0)
        self.assertEqual(status["NoNewPrivs"], "1")
        if not IS_SANITIZED:
            self.assertEqual(status["Seccomp"], "2")
        if os.geteuid() == 0:
            self.assertNotIn("0", status["Uid"].split())
        self.assertEqual(children_of(pid), [])
        opened = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
        self.assertFalse([path for path in opened if path.startswith(store.directory + "/")], opened)

    def test_descriptors_are_given_back(self):
        store = LmtpStored(self)
        pid = store.pid_of("lmtp")
        before = len(os.listdir(f"/proc/{pid}/fd"))
        large = (b"x" * 70 + b"\r\n") * 1000
        for _ in range(10):
            with Lmtp(store.address) as session:
                session.deliver(large, BOXES)
                session.begin(BOXES)
                self.assertEqual(session.command("DATA")[:3], "354")
                session.socket.sendall(large)
        wait_for(lambda: len(os.listdir(f"/proc/{pid}/fd")) == before, "descriptors to be closed")
        refused = re.findall("mail refused", store.process.log())
        self.assertEqual(refused, [])


if __name__ == "__main__":
    main()
