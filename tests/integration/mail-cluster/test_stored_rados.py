#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
mail-stored with layer rados, as clients of three nodes see it: a mail that one takes is given by all, with
the same id and number; a lock holds on all of them and ends with its process; without the cluster nothing
is taken, and nothing is lost.
"""

import errno
import os
import pwd
import shutil
import signal
import smtplib
import struct
import subprocess
import tempfile
import unittest

import radoscluster
import stored
from clusters import Place
from harness import DEADLINE_S, EX_CONFIG, IS_SANITIZED, Case, children_of, main, program, wait_for
from stored import USER, Stored

BOXES = ["anna@example.com", "bert@example.com"]
TEXT = b"Subject: once\r\n\r\n.dot\r\nend\r\n"
WIRE = TEXT.replace(b"\r\n.", b"\r\n..")
# What a busy machine may bring about, and a node that has gone.
READY = r"(?m)^info: \[mail-stored\] ready, "
STALLS = r"warning: \[mail-stored\] (cluster (has stalled|does not answer)|node is dead|interrupted deliveries not completed)"
# The same of a node that waits for seconds alone.
NOT_REACHED = r"warning: \[mail-stored\] cluster not reached, "


class ClusterStored(Stored):
    """mail-stored of one node of a cluster."""

    BEGUN = r"^info: \[mail-stored\] (ready|waiting for the cluster's users), "

    def __init__(self, case, cluster, **sections):
        self.cluster = cluster
        super().__init__(case, **sections)

    def write_config(self, **sections):
        self.sections.setdefault("cluster", self.cluster)
        return super().write_config(**sections)

    def wait_reached(self, count=1):
        self.wait_for_log(r"^info: \[mail-stored\] cluster reached, .*", count)
        return self

    def kill(self):
        """All of it at once, as a machine that loses its power."""
        pids = [self.process.popen.pid, *self.process.children()]
        pids += [child for pid in pids[1:] for child in children_of(pid)]
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        self.process.popen.wait(DEADLINE_S)


class Nodes(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        version = subprocess.run([program("mail-stored"), "--version"], capture_output=True, check=True,
                                 timeout=DEADLINE_S).stdout
        if b"librados" not in version:
            raise unittest.SkipTest("mail-stored was built without librados")

    def setUp(self):
        super().setUp()
        self.expect_log(STALLS)

    def node(self, below, name, is_started=True, **sections):
        """Of a node's configuration sections of stored.conf are changed by name."""
        place = Place(self, name, self.host, lambda *words: words)
        # A busy machine is slow, and that is no cluster that is down; tests in which it is set another.
        own = {"ceph-conf": below.conf, "ceph-user": below.user, "pool": below.pool, "node": name,
               "timeout": f"{DEADLINE_S}s"}
        return ClusterStored(place, {**own, **sections.get("cluster", {})}, is_started=is_started,
                             stored={"layer": "rados", **sections.get("stored", {})},
                             lmtp=sections.get("lmtp", {}))

    def reached(self, below, *names, **sections):
        nodes = [self.node(below, name, **sections) for name in names]
        return [node.wait_reached() for node in nodes]

    def text_of(self, client, number):
        """As a POP3 server reads it: the row, then the descriptor of its segment."""
        reply = client.call(stored.ROW, number=number)
        self.assertEqual(reply.status, 0)
        segment, at, size, meta_size = struct.unpack(">QQQI", reply.rows[:28])
        reply = client.call(stored.SEGMENT, number=segment)
        self.assertEqual(reply.status, 0)
        fd, = reply.fds
        try:
            return os.pread(fd, size - 104 - meta_size, at + 104 + meta_size)
        finally:
            os.close(fd)

    def deliver_until_taken(self, node, boxes, ident=None):
        """As a mail server does: again and again, with the same id. Returns it."""
        def is_taken():
            with node.client() as client:
                client.send_mail(TEXT, boxes, ident=ident)
                reply = client.take()
                taken.append(reply.id)
                return reply.status == 0
        taken = []
        wait_for(is_taken, "a mail to be taken")
        return taken[-1]

    def build_users(self, name, text):
        """The database with passwords."""
        path = self.path(f"{name}-logins.mdb")
        subprocess.run([program("smtp-front-users"), "build", "--database", path, self.write(f"{name}.list", text)],
                       check=True, capture_output=True, timeout=DEADLINE_S)
        return path

    def users_directory(self, name):
        """Where that node's databases are made."""
        path = self.path(f"{name}-users")
        os.mkdir(path)
        if os.geteuid() == 0:
            os.chown(path, pwd.getpwnam(USER).pw_uid, -1)
        return path


class Shared(Nodes):
    """What happens to nodes while the cluster below is well: one for all of these tests."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        radoscluster.need_programs()
        cls.directory_below = tempfile.mkdtemp(prefix="dnsblv6-", dir="/tmp")
        os.chmod(cls.directory_below, 0o755)
        cls.addClassCleanup(shutil.rmtree, cls.directory_below, ignore_errors=True)
        cls.below = radoscluster.RadosCluster(cls.directory_below)
        cls.addClassCleanup(cls.below.end)
        cls.below.start()

    def names(self, *words):
        """Mailboxes of this test alone."""
        return [f"{word}.{self.id().rsplit('.', 1)[1]}"[:200] for word in words]

    def test_a_mail_of_one_node_is_given_by_all_with_its_id_until_it_is_deleted(self):
        nodes = self.reached(self.below, "a", "b", "c")
        boxes = self.names("anna", "bert")
        with nodes[0].client() as one, nodes[1].client() as two, nodes[2].client() as three:
            ident = one.deliver(TEXT, boxes)
            (number, first, octets), = two.entries(boxes[0])
            self.assertEqual((first, octets), (ident, len(TEXT)))
            self.assertEqual(three.entries(boxes[0]), [(number, ident, octets)])
            self.assertEqual(self.text_of(three, number)[:len(WIRE)], WIRE)
            # It begins with no dot: that would be doubled too.
            large = b"x" + os.urandom(400000).replace(b"\r", b"x").replace(b"\n", b"\r\n") + b"\r\n"
            large_ident = two.deliver(large, [boxes[1]])
            # In the order of numbers, which is not that of deliveries at different nodes.
            other, = [mail for mail, found, _ in one.entries(boxes[1]) if found == large_ident]
            wanted = large.replace(b"\r\n.", b"\r\n..")
            self.assertEqual(self.text_of(one, other)[:len(wanted)], wanted)
            self.assertEqual(three.erase(boxes[0], [number]), 0)
            self.assertEqual(one.entries(boxes[0]), [])
            self.assertEqual(two.call(stored.FIND_ID, ident=ident).number, number)
        for node in nodes:
            self.assertEqual(node.stop(), 0)

    def test_a_mail_by_lmtp_at_one_node_is_at_the_other_with_the_id_of_its_reply(self):
        listen = self.free_address()
        one, = self.reached(self.below, "a", lmtp={"listen": ["{}@{}".format(*listen)]})
        two, = self.reached(self.below, "b")
        box = self.names("anna")[0] + "@example.com"
        one.wait_for_log(r"^info: \[mail-stored\] LMTP ready, ")
        with smtplib.LMTP(*listen, timeout=DEADLINE_S) as client:
            client.ehlo()
            client.mail("sender@example.net")
            client.rcpt(box)
            code, text = client.data(TEXT)
        self.assertEqual(code, 250, text)
        with two.client() as client:
            (number, ident, _), = client.entries(box)
            self.assertIn(ident, text.decode())
            self.assertTrue(self.text_of(client, number).startswith(b"Return-Path: <sender@example.net>"))

    def test_the_same_id_is_one_mail_whichever_node_it_is_given_to(self):
        one, two = self.reached(self.below, "a", "b")
        box, = self.names("anna")
        with one.client() as first, two.client() as second:
            ident = first.call(stored.MAKE_ID).id
            self.assertEqual(first.deliver(TEXT, [box], ident=ident), ident)
            self.assertEqual(second.deliver(TEXT, [box], ident=ident), ident)
            self.assertEqual(len(second.entries(box)), 1)
            second.send_mail(b"other\r\n", [box], ident=ident)
            self.assertEqual(second.take().status, stored.EID)

    def test_a_client_may_have_many_mails_under_way(self):
        node, = self.reached(self.below, "a")
        boxes = self.names("anna", "bert")
        with node.client() as client:
            serials = {client.send_mail(TEXT, [boxes[n % 2]]) for n in range(200)}
            replies = [client.take() for _ in range(200)]
            self.assertEqual({reply.serial for reply in replies}, serials)
            self.assertEqual({reply.status for reply in replies}, {0})
            self.assertEqual(sum(len(client.entries(box)) for box in boxes), 200)
        counters = node.counters()
        self.assertEqual(counters["mails-delivered"], 200)
        self.assertEqual(counters["mails-failed"], 0)

    def test_a_lock_holds_on_all_nodes_until_it_is_given_back_or_its_connection_ends(self):
        one, two = self.reached(self.below, "a", "b")
        box, other = self.names("anna", "bert")
        with two.client() as second:
            with one.client() as first:
                self.assertEqual(first.lock(box), 0)
                self.assertEqual(first.lock(box), 0)
                self.assertEqual(first.lock(other), stored.ELOCK)
                self.assertEqual(second.lock(box), -errno.EBUSY)
                second.deliver(TEXT, [box])
                (mail, _, _), = first.entries(box)
                self.assertEqual(first.erase(box, [mail]), 0)
                self.assertEqual(first.unlock(), 0)
                self.assertEqual(second.lock(box), 0)
                self.assertEqual(second.entries(box), [])
                self.assertEqual(second.unlock(), 0)
                self.assertEqual(first.lock(box), 0)
            wait_for(lambda: second.lock(box) == 0, "the lock of a connection that has ended")

    def test_a_lock_ends_with_its_node(self):
        self.expect_log("process ended, role=store")
        one, two = self.reached(self.below, "a", "b")
        box, = self.names("anna")
        with two.client() as second:
            with one.client() as first:
                self.assertEqual(first.lock(box), 0)
                os.kill(one.pid_of("store"), signal.SIGKILL)
                # The next process of the node says that it is another one.
                wait_for(lambda: second.lock(box) == 0, "the lock of a process that was killed")
                self.assertEqual(second.unlock(), 0)
            with one.wait_reached(2).client() as first:
                self.assertEqual(first.lock(box), 0)
                one.kill()
                # Its beat is not seen any more.
                wait_for(lambda: second.lock(box) == 0, "the lock of a node that has gone")
        two.wait_for_log(r"node is dead, node=a")
        one.start()
        two.wait_for_log(r"node is back, node=a")

    def test_a_restart_loses_nothing_and_names_stay(self):
        node, = self.reached(self.below, "a")
        boxes = self.names("anna", "bert")
        with node.client() as client:
            for _ in range(5):
                client.deliver(TEXT, boxes)
            before = client.entries(boxes[0])
        self.assertEqual(node.stop(), 0)
        node.start()
        node.wait_reached()
        with node.client() as client:
            self.assertEqual(client.entries(boxes[0]), before)
            client.deliver(TEXT, boxes)
            self.assertEqual(client.entries(boxes[0])[:5], before)
            self.assertEqual(len(client.entries(boxes[1])), 6)

    def test_a_second_machine_of_the_same_name_ends_the_first_and_harms_no_mail(self):
        self.expect_log(r"error: \[mail-stored\] another machine has this node, node=twice")
        first, = self.reached(self.below, "twice")
        box, = self.names("anna")
        with first.client() as client:
            client.deliver(TEXT, [box])
        place = Place(self, "other", self.host, lambda *words: words)
        second = ClusterStored(place, dict(first.sections["cluster"]), stored={"layer": "rados"})
        second.wait_reached()
        self.assertEqual(first.process.popen.wait(DEADLINE_S), EX_CONFIG)
        with second.client() as client:
            client.deliver(TEXT, [box])
            self.assertEqual(len(client.entries(box)), 2)

    def test_a_node_that_ceph_has_shut_out_begins_anew(self):
        self.expect_log(r"error: \[mail-stored\] Ceph has blocklisted this process, node=a")
        self.expect_log(r"warning: \[mail-stored\] (process ended, role=store|cluster not reached, )")
        node, = self.reached(self.below, "a", cluster={"timeout": "10s"})
        box, = self.names("anna")
        self.deliver_until_taken(node, [box])
        # Of the whole machine: what begins anew has to wait.
        address = "127.0.0.1:0/0"
        self.addCleanup(self.below.insist, "osd blocklist", blocklistop="rm", addr=address)
        self.below.insist("osd blocklist", blocklistop="add", addr=address)
        node.wait_for_log(r"^error: \[mail-stored\] Ceph has blocklisted this process, node=a$")
        node.wait_for_log(r"^warning: \[mail-stored\] cluster not reached, ")
        self.below.insist("osd blocklist", blocklistop="rm", addr=address)
        node.wait_reached(2)
        self.deliver_until_taken(node, [box])
        with node.client() as client:
            self.assertEqual(len(client.entries(box)), 2)

    def test_a_full_mailbox_is_said_so_before_the_mail_comes(self):
        directory = self.users_directory("a")
        box, other = (f"{name}@example.com" for name in self.names("anna", "bert"))
        users = os.path.join(directory, "users.mdb")
        shutil.copy(self.build_users("a", f"{box} messages=1\n{other}\n"), users)
        os.chmod(users, 0o666)
        shutil.copy(users, users + "-lock")
        os.unlink(users + "-lock")
        node, = self.reached(self.below, "a", stored={"users": users})
        with node.client() as client:
            self.assertEqual(client.hello.number, 1)
            self.assertEqual(client.call(stored.CHECK, size=10, name=box.encode()).status, 0)
            client.deliver(TEXT, [box, other])
            wait_for(lambda: client.call(stored.CHECK, size=10, name=box.encode()).status == stored.EQUOTA,
                     "the mailbox to be full")
            self.assertEqual(client.call(stored.CHECK, size=10, name=other.encode()).status, 0)

    def test_mails_that_are_too_old_go_by_themselves(self):
        nodes = self.reached(self.below, "a", "b", "c",
                             stored={"keep": "1s", "keep-interval": "200ms"})
        box, = self.names("anna")
        with nodes[2].client() as client:
            client.deliver(TEXT, [box])
            wait_for(lambda: client.entries(box) == [], "the mail to go")

    def test_users_of_the_cluster_come_to_each_node_and_change_while_it_runs(self):
        lists = [self.build_users("one", "anna@example.com\nbert@example.com\n"),
                 self.build_users("two", "anna@example.com\ncarl@example.com\n")]
        nodes = []
        for name in "ab":
            directory = self.users_directory(name)
            items = {"users": os.path.join(directory, "users.mdb")}
            ours = {"users": "yes", "logins": os.path.join(directory, "logins.mdb")}
            listen = self.free_address()
            nodes.append(self.node(self.below, name, stored=items, cluster=ours,
                                   lmtp={"listen": ["{}@{}".format(*listen)]}))
            nodes[-1].lmtp = listen
        for node in nodes:
            node.wait_for_log(r"lmtp waits for the cluster's users, path=.*/users.mdb")
            self.assertNotRegex(node.process.log(), READY)
        self.put_users(nodes[0].wait_reached(), lists[0])
        for node in nodes:
            node.wait_for_log(r"^info: \[mail-stored\] users of the cluster taken, path=.* version=")
            node.wait_for_log(READY)
            node.wait_for_log(r"^info: \[mail-stored\] LMTP ready, ")
            self.assertEqual(self.recipients(node), [250, 250, 550])
            self.assertEqual(os.stat(node.sections["cluster"]["logins"]).st_mode & 0o077,
                             os.stat(lists[0]).st_mode & 0o077)
            for path in (node.sections["cluster"]["logins"], node.sections["stored"]["users"]):
                with self.assertRaises(subprocess.CalledProcessError) as refused:
                    self.put_users(node, path)
                self.assertIn(b"mail-stored makes it of the cluster's users", refused.exception.stderr)
        self.put_users(nodes[1], lists[1])
        for node in nodes:
            wait_for(lambda node=node: self.recipients(node) == [250, 550, 250], "the other list")
            wait_for(lambda node=node: self.state_of_users(node) == "yes", "that to be said")
            # With databases of another time it is ready at once.
            self.assertEqual(node.stop(), 0)
            node.start()
            node.wait_for_log(READY)
            self.assertNotIn("waiting for the cluster's users", node.process.log())

    def recipients(self, node):
        """Codes of RCPT at its LMTP."""
        with smtplib.LMTP(*node.lmtp, timeout=DEADLINE_S) as client:
            client.ehlo()
            client.mail("sender@example.net")
            return [client.rcpt(f"{name}@example.com")[0] for name in ("anna", "bert", "carl")]

    def put_users(self, node, path):
        subprocess.run([program("mail-cluster"), "users", "--store", node.socket, "put", path],
                       check=True, capture_output=True, timeout=DEADLINE_S)

    def state_of_users(self, node):
        with node.client() as client:
            row, = client.ask(stored.USERS_STATE)
            return row["taken"]

    def test_a_key_that_is_refused_is_said_so(self):
        self.expect_log(r"warning: \[mail-stored\] cluster not reached, conf=.*")
        node = self.node(self.below, "a", cluster={"timeout": "2s", "ceph-user": "other"})
        node.wait_for_log(r"cluster not reached, conf=.* pool=mail \(")
        self.assertEqual(node.stop(), 0)

    def test_what_a_cluster_says_of_itself(self):
        nodes = self.reached(self.below, "a", "b")
        box, = self.names("anna")
        with nodes[0].client() as client:
            client.deliver(TEXT, [box])
            wait_for(lambda: {row["node"] for row in client.ask(stored.NODES) if row["state"] == "up"} >=
                     {"a", "b"}, "both nodes to be seen")
            row, = [row for row in client.ask(stored.NODES) if row["self"] == "yes"]
            self.assertEqual(row["node"], "a")
            health = client.ask(stored.HEALTH)
            self.assertIn(health[0]["state"], ("well", "degraded"))
            engine = [row for row in health if row.get("thing") == "engine"][0]
            self.assertEqual((engine["machines"], engine["machines-up"]), ("3", "3"))
            if os.geteuid() == 0:
                for question in (stored.CLUSTER_CHECK, stored.CLUSTER_CHECK_DEEP, stored.REPAIR):
                    row = client.ask(question)[-1]
                    self.assertGreaterEqual(int(row["mails"]), 1)
                    self.assertEqual((row["missing"], row["damaged"]), ("0", "0"))
            self.assertEqual(client.call(stored.LOCATE, name=b"anna").status, -errno.EOPNOTSUPP)
            self.assertEqual(client.call(stored.USERS_PUT, name=b"").status,
                             client.call(stored.USERS_PUT, name=b"").status)

    def test_what_the_store_process_may_do(self):
        node, = self.reached(self.below, "a")
        pid = node.pid_of("store")
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            status = dict(line.rstrip("\n").split(":\t") for line in file if ":\t" in line)
        for kind in ("CapEff", "CapPrm"):
            self.assertEqual(int(status[kind], 16), 0)
        self.assertEqual(status["NoNewPrivs"], "1")
        if not IS_SANITIZED:
            self.assertEqual(status["Seccomp"], "2")
        if os.geteuid() == 0:
            self.assertNotIn("0", status["Uid"].split())

    def test_metrics_are_written(self):
        directory = self.users_directory("metrics")
        path = os.path.join(directory, "metrics")
        node, = self.reached(self.below, "a", stored={"metrics": path})
        node.stop()
        with open(path, encoding="ascii") as file:
            text = file.read()
        self.assertRegex(text, r"(?m)^mail_stored_cluster_reached 1$")
        self.assertRegex(text, r"(?m)^mail_stored_requests_running 0$")


class Configuration(Nodes):
    def test_wrong_configurations_say_why(self):
        for lines, pattern in (("cluster:\n    node: A b\n", r":4\].*node"),
                               ("cluster:\n    users: yes\n", "needs \"users\""),
                               ("cluster:\n    logins: /x\n", "needs \"users: yes\""),
                               ("cluster:\n    threads: 1\n", r":4\].*threads")):
            path = self.write("wrong.conf", f"stored:\n    layer: rados\n{lines}")
            result = subprocess.run([program("mail-stored"), "-n", "-c", path], capture_output=True,
                                    text=True, check=False, timeout=DEADLINE_S)
            self.assertEqual(result.returncode, EX_CONFIG, result.stderr)
            self.assertRegex(result.stderr, pattern)


class Trouble(Nodes):
    def test_without_the_cluster_nothing_is_taken_and_mails_are_there_when_it_is_back(self):
        below = radoscluster.RadosCluster.of(self)
        self.expect_log(NOT_REACHED)
        node, = self.reached(below, "a", cluster={"timeout": "2s"})
        with node.client() as client:
            # As often as that takes on a machine to which two seconds are little.
            ident = self.deliver_until_taken(node, BOXES, client.call(stored.MAKE_ID).id)
            below.kill(2)
            below.kill(3)
            client.send_mail(TEXT, BOXES)
            self.assertLess(client.take().status, 0)
            self.assertNotEqual(client.call(stored.LIST, size=10, name=b"anna@example.com").status, 0)
            self.assertEqual(client.ask(stored.HEALTH)[0]["state"], "down")
            below.start_node(2)
            below.start_node(3)
            self.deliver_until_taken(node, ["late@example.com"])
        node.wait_for_log(r"cluster answers again, seconds=")
        with node.client() as client:
            self.assertEqual([one for _, one, _ in client.entries(BOXES[0])], [ident])
            wait_for(lambda: client.ask(stored.HEALTH)[0]["state"] == "well", "the cluster to be well")

    def test_a_node_begins_before_the_cluster_and_says_what_it_waits_for(self):
        self.expect_log(r"warning: \[mail-stored\] cluster not reached, conf=.*")
        below = radoscluster.RadosCluster.of(self)
        for number in (1, 2, 3):
            below.kill(number)
        node = self.node(below, "a", cluster={"timeout": "1s"})
        node.wait_for_log(r"cluster not reached, conf=.* pool=mail")
        with node.client() as client:
            client.send_mail(TEXT, BOXES)
            self.assertEqual(client.take().status, -errno.EAGAIN)
            self.assertEqual(client.lock(BOXES[0]), -errno.EAGAIN)
            self.assertEqual(client.ask(stored.HEALTH)[0]["state"], "down")
        for number in (1, 2, 3):
            below.start_node(number)
        node.wait_reached()
        self.deliver_until_taken(node, BOXES)

    def test_a_stall_takes_bounded_memory_and_every_client_is_answered(self):
        below = radoscluster.RadosCluster.of(self)
        self.expect_log(NOT_REACHED)
        node, = self.reached(below, "a", cluster={"timeout": "1s", "threads": "4"})
        below.kill(2)
        below.kill(3)
        pid = node.pid_of("store")
        large = b"x" * 300000 + b"\r\n"
        clients = [node.client() for _ in range(8)]
        for client in clients:
            self.addCleanup(client.close)
            for _ in range(200):
                client.send_mail(large, BOXES)
        statuses = {client.take().status for client in clients for _ in range(200)}
        self.assertEqual({status for status in statuses if status >= 0}, set())
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            anonymous_kb = int(file.read().split("RssAnon:")[1].split()[0])
        if not IS_SANITIZED:
            self.assertLess(anonymous_kb, 256 << 10)
        # 64 KiB is counted for a descriptor: 1,024 of them may wait.
        self.assertGreater(node.counters()["requests-refused"], 0)
        below.start_node(2)
        below.start_node(3)
        self.deliver_until_taken(node, BOXES)

    def test_a_stop_in_a_stall_ends_in_time_and_tells_its_clients(self):
        below = radoscluster.RadosCluster.of(self)
        self.expect_log(NOT_REACHED)
        node, = self.reached(below, "a", cluster={"timeout": "3s", "threads": "2"})
        below.kill(2)
        below.kill(3)
        with node.client() as client:
            for _ in range(10):
                client.send_mail(TEXT, BOXES)
            wait_for(lambda: node.counters() is not None, "the requests to be read")
            self.assertEqual(node.stop(), 0)
            with self.assertRaises(OSError):
                while client.take().status < 0:
                    pass


# It has no test of its own.
del Nodes


if __name__ == "__main__":
    main()
