#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Commands of docs/cluster.md are run on three machines (machines.py), from empty disks to a mail that one of them
has taken and another one gives; then what is done with a cluster in its life: users change, a machine is
upgraded, a disk dies, mails come from another store.

Needs ceph-mon and ceph-osd, openssl, swaks and curl; and root. A ceph-mgr is begun where it is installed.
"""

import re
import shutil

from docpage import DocPage
from harness import Case, main, peer
from machines import Machines

CEPH, MAIL, USERS = "Ceph", "Mail", "Daily work"
ANNA = "anna@example.org"
MOVED = "0123456789abcdef" * 2
PROGRAMS = ("mail-cluster", "mail-hub", "mail-store", "mail-stored", "pop-front", "smtp-front",
            "smtp-front-users")
# A disk that is nearly full is no warning here. Nor is it one that there is no manager, where there is none: behind two
# minutes monitors would complain, and a busy machine takes longer.
CONF_HERE = ("mon data avail warn = 2\nmon data avail crit = 1\nmgr initial modules =\n"
             "mon mgr mkfs grace = 1000000\n")


class Cluster(Case):
    def setUp(self):
        super().setUp()
        for name in ("ceph", "ceph-mon", "ceph-osd", "openssl", "swaks", "curl"):
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
        self.make_manager()
        self.next_ones(CEPH, 5, "ceph mon set election_strategy")
        self.machines.wait_for("a", "ceph -s | tr -d '\\n' | grep -q 'HEALTH_OK.* 3 up '",
                               "a cluster that is well")
        self.next(CEPH, "ceph -s")

    def make_manager(self):
        """Where there is one to be had."""
        if shutil.which("ceph-mgr") is None:
            self.page.skip("install -d -o ceph", "ceph auth get-or-create mgr.", "chown ceph: /var/lib/ceph/mgr",
                           "systemctl enable --now ceph-mgr")
            # Without one this command waits for it for ever; the monitors' own is what it has done.
            self.page.replace(("ceph osd destroy ", "ceph osd destroy-actual "))
        else:
            self.next_ones(CEPH, 4, "install -d -o ceph")

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
        self.machines.wait_for("a", "mail-cluster nodes --store /run/mail-hub/store",
                               "the store to have reached the cluster")
        self.next(MAIL, "mail-cluster users")
        self.assertIn("not checked before there are users", self.next(MAIL, "mail-hub --check"))
        self.next_ones(MAIL, 2, "systemctl enable")
        nodes = self.next(MAIL, "mail-cluster nodes").splitlines()
        self.assertEqual(sorted(line.split()[0] for line in nodes), ["a", "b", "c", "node"], nodes)
        self.wait_until_well("c")  # monitors of a busy machine complain for a moment, and are well again
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

    def wait_until_well(self, name):
        self.machines.wait_for(name, "mail-cluster health --store /run/mail-hub/store", "a cluster that is well")

    def watch(self):
        self.wait_until_well("a")
        self.next("Watching it", "mail-cluster health", on="a")
        self.next("Watching it", "ceph health detail", on="a")
        self.assertIn("cluster", self.next("Watching it", "grep", on="a"))

    def upgrade(self):
        for beginning in ("systemctl stop", "apt-get", "systemctl start"):
            self.next("Upgrades", beginning)
        self.wait_until_well("a")
        self.next("Upgrades", "mail-cluster health")
        self.page.skip("reboot")
        self.next_ones("Upgrades", 2, "ceph osd set")

    def replace_disk(self):
        self.next_ones("A dead disk", 4, "systemctl disable")
        self.wait_until_well("b")
        # An object is whole again some time after Ceph has said that the cluster is well.
        check = "mail-cluster check --deep --store /run/mail-hub/store"
        self.machines.wait_for("b", check, "all copies")
        self.assertIn("\nmails\t1\n", "\n" + self.machines.shell("b", check))

    def back_up_and_move(self):
        """An export of this store stands for that of another one: its mail has another id."""
        self.next("Backup", "mail-store export", on="b")
        self.next("Backup", "rados -p mail export", on="b")
        self.page.skip("rados -p mail import")
        title = "From one machine into a cluster"
        self.page.skip("mail-store export", "rsync")
        self.machines.shell("a", "mkdir /var/backups/move && mail-store export --store /run/mail-hub/store "
                            "--maildirs /var/backups/move && cd /var/backups/move/anna@example.org/new && "
                            f"mv * 1790000000.M000000.{MOVED}")
        last = self.page.left[title][0].text
        self.next(title, "mail-store import")
        ids = self.machines.shell("c", f"mail-store ls --store /run/mail-hub/store {ANNA} | cut -f 1").split()
        self.assertEqual((len(ids), MOVED in ids), (2, True), ids)
        self.assertIn("0 mails imported, 1 were there", self.machines.shell("a", last))

    def stores_of_their_own(self):
        title = "Stores of their own"
        self.next(title, "openssl req", on="ab")
        self.page.replace(("chgrp mail-stored", "chgrp mail-hub"))  # the one user that machines have
        self.next(title, "chgrp mail-stored", on="ab")
        self.next(title, "chmod 640", on="ab")
        pins = [self.machines.shell(name, self.page.commands(title)[3].text).strip() for name in "ab"]
        self.next(title, "openssl x509", on="a")
        config = self.page.file(title, "stored:")
        for pin in pins:
            config = re.sub(r"sha256//(?!KEPT)\S+", f"sha256//KEPT{pin}", config, count=1)
        self.machines.shell("a", "mkdir -p /var/lib/smtp-front && smtp-front-users build -d /var/lib/smtp-front/users.mdb -",
                            typed=f"{ANNA} node=2\n")
        self.machines.write("a", "/etc/dnsblv6/stored.conf", config.replace("KEPT", ""))
        self.machines.shell("a", "mail-stored --config /etc/dnsblv6/stored.conf --check")

    def take_one_out(self):
        title = "A machine more, and one less"
        nodes = "mail-cluster nodes --store /run/mail-hub/store"
        self.page.left[title] = [command for command in self.page.left[title] if command.machine != "d"]
        self.next(title, "systemctl disable --now mail-hub")
        self.page.skip("ceph osd out", "systemctl disable --now ceph-osd", "ceph osd purge", "ceph mon remove")
        self.machines.wait_for("a", f"{nodes} | grep -q '^c .*dead'", "c to be dead")
        self.next(title, "name=c; rados")
        self.machines.wait_for("a", f"{nodes} >nodes && ! grep -q '^c ' nodes", "c to be none of them")

    def test_three_machines_from_bare_debian_to_first_mail(self):
        self.make_ceph()
        self.make_mail()
        self.first_mail()
        self.change_users()
        self.watch()
        self.upgrade()
        self.replace_disk()
        self.back_up_and_move()
        self.stores_of_their_own()
        self.take_one_out()
        # Of stores of their own: test_nodes_copies.py, test_nodes_moved.py.
        left = [command for command in self.page.commands_left()
                if not command.text.startswith(("mail-store collect", "mail-store copies", "mail-store gather"))]
        self.assertEqual(left, [])


if __name__ == "__main__":
    main()
