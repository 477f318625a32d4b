#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Commands of docs/cluster.md are run on three machines (machines.py), from empty disks to a mail that one of them
has taken and another one gives; then a machine dies, and a disk.

Needs ceph-mon, ceph-osd and ceph-mgr, openssl, swaks and curl; and root.
"""

import re

import harness
from docpage import DocPage
from harness import Case, main, peer
from machines import Machines

CEPH, MAIL, USERS = "Ceph", "Mail", "Daily work"
ANNA = "anna@example.org"
PROGRAMS = ("mail-cluster", "mail-hub", "mail-store", "mail-stored", "pop-front", "smtp-front",
            "smtp-front-users")
# A disk that is nearly full is no warning here.
CONF_HERE = "mon data avail warn = 2\nmon data avail crit = 1\nmgr initial modules =\n"


class Cluster(Case):
    def setUp(self):
        super().setUp()
        for name in ("ceph-mon", "ceph-osd", "ceph-mgr", "openssl", "swaks", "curl"):
            peer(name)
        self.page = DocPage("docs/cluster.md")
        self.page.replace(("ms bind msgr1", CONF_HERE + "ms bind msgr1"),
                          ("--user anna@example.org", f"--user {ANNA}:first"))
        self.machines = Machines(self, "abc", PROGRAMS)

    def next(self, title, beginning, typed="", status=0, on="abc"):
        """The next command of a section, on its machine or on all; what it says on the last one."""
        command = self.page.next(title, beginning)
        said = ""
        for name in command.machine or on:
            said = self.machines.shell(name, self.page.here(command.text), typed, status)
        return said

    def next_ones(self, title, count, beginning):
        for number in range(count):
            self.next(title, beginning if number == 0 else "")

    def make_ceph(self):
        self.next(CEPH, "apt-get")
        conf = self.page.here(self.page.file(CEPH, "[global]"))
        uuid = self.machines.shell("a", "cat /proc/sys/kernel/random/uuid").strip()
        self.machines.write("a", "/etc/ceph/ceph.conf", re.sub(r"fsid = \S+", f"fsid = {uuid}", conf))
        self.next_ones(CEPH, 8, "cd /etc/ceph")
        self.next_ones(CEPH, 5, "chown ceph")
        self.next_ones(CEPH, 4, "install -d -o ceph")
        self.next_ones(CEPH, 4, "ceph osd pool create")
        self.machines.wait_for("a", "ceph -s | tr -d '\\n' | grep -q 'HEALTH_OK.* 3 up .*active+clean'",
                               "a cluster that is well")
        self.next(CEPH, "ceph -s")

    def make_mail(self):
        self.next_ones(MAIL, 3, "apt-get")
        config = self.page.file(MAIL, "hub:")
        for name in "abc":
            self.machines.shell(name, "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 "
                                "-subj /CN=mail.example.org -keyout /etc/ssl/mail-hub/key.pem "
                                "-out /etc/ssl/mail-hub/fullchain.pem")
            self.machines.write(name, "/etc/dnsblv6/hub.conf", config)
        self.machines.shell("a", f'echo "{ANNA} $(smtp-front-users hash --scram)" >/etc/dnsblv6/users',
                            typed="first\n")
        self.next(MAIL, "runuser")
        self.assertIn("configuration OK\n", self.next(MAIL, "mail-hub --check"))
        self.next(MAIL, "systemctl enable")
        self.next(MAIL, "mail-cluster users")
        self.assertIn("not checked before there are users", self.next(MAIL, "mail-hub --check"))
        self.next_ones(MAIL, 2, "systemctl enable")
        nodes = self.next(MAIL, "mail-cluster nodes").splitlines()
        self.assertEqual(sorted(line.split()[0] for line in nodes), ["a", "b", "c", "node"], nodes)
        self.assertRegex(self.next(MAIL, "mail-cluster health"), r"(?m)^state +well$")

    def first_mail(self):
        self.next(MAIL, "swaks", on="c")
        self.assertIn("\nSubject: test ", self.next(MAIL, "curl", on="c").replace("\r", ""))

    def change_users(self):
        self.machines.shell("a", f'echo "bert@example.org to={ANNA}" >>/etc/dnsblv6/users')
        self.next(USERS, "runuser", on="a")
        self.next(USERS, "mail-cluster users", on="a")
        self.assertRegex(self.next(USERS, "mail-cluster users"), r"\d")
        for name in "abc":
            self.machines.wait_for(name, "smtp-front-users find -d /var/lib/mail-hub/users.mdb bert@example.org",
                                   f"users at {name}")
        self.assertIn("\nmails\t1\n", "\n" + self.next(USERS, "mail-cluster check", on="b"))
        self.next(USERS, "mail-cluster repair", on="b")

    def test_three_machines_from_bare_debian_to_first_mail(self):
        self.make_ceph()
        self.make_mail()
        self.first_mail()
        self.change_users()


if __name__ == "__main__":
    main()
