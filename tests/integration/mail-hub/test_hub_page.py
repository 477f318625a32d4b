#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Every command of docs/hub.md is run, from a certificate to a backup, and does what the page says: users
log in with the passwords that it makes, and not with those before; mails come, are exported and are back;
Dovecot gets them by LMTP with the lines of the page.

Needs openssl, swaks and curl; sqlite3, unbound-checkconf and Dovecot where they are wanted; and root, for
the users that processes become.
"""

import glob
import os
import poplib
import re
import shutil
import smtplib
import stat

import harness
from dovecot import Dovecot
from harness import DEADLINE_S, Case, main, wait_for
from hub import USER, Hub
from page import Page, make_peers

ANNA, BERT = "anna@example.org", "bert@example.org"
BUILD = "runuser -u mail-hub"


class PageCase(Case):
    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("users of their own need root")
        make_peers("openssl", "swaks", "curl")
        self.hub = Hub(self)
        self.pop3, self.pop3s = self.free_address(), self.free_address()
        self.page = Page(self, self.hub)
        self.page.on_systemctl = self.on_systemctl
        for name in ("etc", "backups"):
            os.mkdir(self.path(name))
        config = self.path("etc/hub.conf")
        smtp = f"{self.hub.address[0]}:{self.hub.address[1]}"
        self.page.replace(
            ("/etc/dnsblv6/", self.path("etc/")), ("/var/lib/mail-hub", self.hub.directory),
            ("/run/mail-hub", self.hub.run), ("/etc/ssl/mail-hub", self.path("ssl")),
            ("/var/backups", self.path("backups")), ("user: mail-hub", f"user: {USER}"),
            *((f"mail-hub --{word}", f"mail-hub --config {config} --{word}") for word in ("check", "show")),
            ("--server mail.example.org", f"--server {smtp}"),
            ('[ 0.0.0.0@110, "::@110" ]', f"{self.pop3[0]}@{self.pop3[1]}"),
            ('[ 0.0.0.0@995, "::@995" ]', f"{self.pop3s[0]}@{self.pop3s[1]}"),
            ("--user anna@example.org", f"--user '{ANNA}:first' --cacert {self.path('ssl/fullchain.pem')}"
             f" --resolve mail.example.org:{self.pop3s[1]}:{self.pop3s[0]}"),
            ("pop3s://mail.example.org/", f"pop3s://mail.example.org:{self.pop3s[1]}/"))

    # ---- mail-hub ----

    def on_systemctl(self, words):
        if words[-1] != "mail-hub":
            return
        if words[0] in ("enable", "start"):
            self.hub.process = self.start([harness.program("mail-hub"), "--config", self.path("etc/hub.conf")], "hub")
            self.hub.process.wait_for_log(r"^info: \[mail-hub\] ready, ")
        elif words[0] == "reload":
            self.hub.reload_as_it_is()
            self.hub.process.wait_for_log(r"^info: \[pop-front\] reloaded, ")
        else:
            self.assertEqual(self.hub.process.stop(), 0)

    def write_config(self):
        text = self.page.here(self.page.file("hub.conf", "hub:"))
        self.write("etc/hub.conf", text + "".join(
            f"    {name}: {self.hub.items[name]}\n" for name in ("directory", "run-directory", "programs", "smtp")))

    def build(self, title):
        return self.page.run(title, BUILD)

    def logs_in(self, user, password):
        client = poplib.POP3_SSL(*self.pop3s, timeout=DEADLINE_S)
        try:
            client.user(user)
            client.pass_(password)
            client.quit()  # the next session may come as soon as it is answered
            return True
        except poplib.error_proto as error:
            self.assertIn(b"[AUTH]", error.args[0])
            return False
        finally:
            client.close()

    def make_users(self):
        page = self.page
        page.run("Users", "install")
        self.assertEqual(stat.S_IMODE(os.stat(self.path("etc/users")).st_mode), 0o600)
        page.run("Users", 'echo "anna', typed="first\n")
        page.run("Users", 'echo "bert', typed="bert's\n")
        page.run("Users", 'echo "postmaster')
        self.assertIn("database built, addresses=3 ", self.build("Users"))


class Whole(PageCase):
    def test_each_command_does_what_the_page_says(self):
        page = self.page
        page.skip("apt-get", "certbot")
        self.certificate()
        self.make_users()
        self.write_config()
        self.assertEqual(page.run("hub.conf", "mail-hub --check"), "configuration OK\n")
        page.run("hub.conf", "systemctl enable")
        self.first_mails()
        self.daily_work()
        self.backup()
        self.users_from_elsewhere()
        for name in ("mail-stored", "smtp-front", "pop-front"):
            wait_for(lambda: os.path.exists(os.path.join(self.hub.run, f"metrics/{name}.prom")), name)
        self.assertIn("\npop_front_logins_total ", page.run("Watching it", "grep"))
        page.run("Watching it", "journalctl", is_good=False)  # there is none
        page.run("IMAP", "mail-hub --show")
        self.assertIn("kind: store", self.text("etc/front.conf"))
        page.run("IMAP", "systemctl disable", 2)
        self.assertEqual(page.commands_left(), [])

    def text(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def certificate(self):
        page = self.page
        page.run("Certificate", "install -d", 2)
        lineage = self.path("lineage")
        shutil.copytree(self.path("ssl"), lineage)
        os.rename(os.path.join(lineage, "key.pem"), os.path.join(lineage, "privkey.pem"))
        shutil.rmtree(self.path("ssl"))
        result = page.shell(f"RENEWED_LINEAGE={lineage}\n" + page.file("Certificate", "#!/bin/sh"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(stat.S_IMODE(os.stat(self.path("ssl/key.pem")).st_mode), 0o600)
        self.assertIn("BEGIN CERTIFICATE", self.text("ssl/fullchain.pem"))

    def first_mails(self):
        page = self.page
        page.run("Test", "swaks")
        self.assertIn("550 5.1.1", page.run("Test", "swaks", is_good=False))
        self.assertRegex(page.run("Test", "curl"), r"^1 \d+\r?\n")
        self.assertIn("\nSubject: test ", page.run("Test", "curl").replace("\r", ""))
        self.hub.process.wait_for_log(r'"retrieved":1,')  # a worker says so when its client has gone
        self.assertRegex(page.run("Test", "journalctl"), r'(?s)mail accepted, .*"retrieved":1,')

    def daily_work(self):
        page, title = self.page, "Daily work"
        self.assertTrue(self.logs_in(ANNA, "first"))
        page.run(title, "sed")
        page.run(title, "echo", typed="second\n")
        self.build(title)
        self.assertTrue(self.logs_in(ANNA, "second"))
        self.assertFalse(self.logs_in(ANNA, "first"))
        page.run(title, "sed")
        self.build(title)
        self.assertRegex(page.run(title, "smtp-front-users find"),
                         rf"^{BERT}\tvalid\tmessages=10000 octets=500M keep=365d$")
        page.run(title, "echo")
        self.build(title)
        self.send("office@example.org", "for two")
        self.assertRegex(page.run(title, "mail-store ls"), rf"^{ANNA}\t2\t\d+\n{BERT}\t1\t\d+\n$")
        self.assertEqual(len(page.run(title, "mail-store ls").splitlines()), 2)
        self.assertIn("Subject: test ", page.run(title, "mail-store cat"))
        page.run(title, "sed")
        self.build(title)
        self.assertEqual(page.run(title, "mail-store rm"), "")
        with self.assertRaises(smtplib.SMTPRecipientsRefused):
            self.send(BERT, "too late")
        self.send("office@example.org", "for one")
        page.run(title, "systemctl reload")

    def send(self, recipient, subject):
        with smtplib.SMTP(*self.hub.address, local_hostname="client.example.net", timeout=DEADLINE_S) as client:
            client.sendmail("sender@example.net", [recipient], f"Subject: {subject}\r\n\r\nx\r\n")

    def mailboxes(self):
        return dict(line.split("\t")[:2] for line in self.hub.tool("ls").splitlines())

    def backup(self):
        page, title = self.page, "Backup and restore"
        self.assertEqual(self.mailboxes(), {ANNA: "3"})
        page.run(title, "day=", 3)
        self.assertEqual(len(glob.glob(self.path(f"backups/mail/*/{ANNA}/new/*"))), 3)
        self.hub.tool("rm", "--all", ANNA)
        self.assertEqual(self.mailboxes(), {})
        self.assertIn("3 mails imported", page.run(title, "mail-store import"))
        self.assertEqual(self.mailboxes(), {ANNA: "3"})
        page.run(title, "copy=", 4)
        self.assertRegex(page.run(title, "mail-store fsck"), r"\b([3-9]|\d\d+) mails, 0 findings$")
        self.assertTrue(self.logs_in(ANNA, "second"))

    def hash(self, password):
        return self.hub.password(password).removeprefix("password=")

    def users_from_elsewhere(self):
        page, title = self.page, "Users from elsewhere"
        self.write("shadow", f"root:*:1:0:9:7:::\nanna:{self.hash('of shadow')}:1:0:9:7:::\nlocked:!x:1::::::\n"
                   f"bert:{self.hash('of bert')}:1:0:9:7:::\n")
        page.run(title, "getent")
        self.assertTrue(self.logs_in(ANNA, "of shadow"))
        self.write("users.csv", f"address,quota,hash\n{ANNA},500M,{self.hash('of csv')}\n")
        self.write("aliases.txt", f"postmaster@example.org to={ANNA}\n")
        page.run(title, "awk")
        self.assertTrue(self.logs_in(ANNA, "of csv"))
        if shutil.which("sqlite3") is None:
            page.skip("sqlite3")
            return
        self.assertEqual(page.shell(
            "sqlite3 mail.db 'CREATE TABLE users (address, hash, active)' && sqlite3 mail.db "
            f"\"INSERT INTO users VALUES ('{ANNA}', '{self.hash('of sql')}', 1), ('{BERT}', 'none', 0)\""
            .replace("$", r"\$")).returncode, 0)
        page.run(title, "sqlite3")
        self.assertTrue(self.logs_in(ANNA, "of sql"))


class Parts(PageCase):
    def test_records_of_dns_are_records(self):
        make_peers("unbound-checkconf")
        records = self.page.file("DNS", "example.org.").splitlines()
        self.assertEqual(len(records), 5)
        path = self.write("unbound.conf", f'server:\n    directory: "{self.directory}"\n    chroot: ""\n'
                          "    username: \"\"\n" + "".join(f"    local-data: '{record}'\n" for record in records))
        result = self.page.shell(f"PATH=$PATH:/usr/sbin unbound-checkconf {path}")
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_packages_that_are_installed_are_built(self):
        command, = self.page.commands("Install")
        with open(os.path.join(harness.SOURCE, "debian/control"), encoding="utf-8") as file:
            built = re.findall(r"^Package: (.*)$", file.read(), re.MULTILINE)
        for name in re.findall(r"\./([a-z-]+)_", command.text):
            self.assertIn(name, built)

    def test_dovecot_gets_mails_with_the_lines_of_the_page(self):
        dovecot = Dovecot(self, users=[ANNA])
        self.make_users()
        self.write_config()
        self.page.skip("certbot")
        self.page.run("Certificate", "install -d", 2)
        self.page.run("IMAP", "mail-hub --show")
        with open(self.path("etc/front.conf"), encoding="utf-8") as file:
            config = file.read()
        sink = self.page.file("IMAP", "sink:")
        config = re.sub(r"^sink:\n(    .*\n)+", lambda _: sink, config, flags=re.MULTILINE)
        for old, new in (("/run/dovecot/lmtp", dovecot.path),
                         ("/var/lib/smtp-front/delivered", self.path("delivered")),
                         (os.path.join(self.hub.run, "empty"), self.path("backups")),
                         (os.path.join(self.hub.run, "metrics"), self.directory)):
            config = config.replace(old, new)
        front = self.start([harness.program("smtp-front"), "--config", self.write("front.conf", config)], "front")
        front.wait_for_log(r"^info: \[smtp-front\] ready, ")
        with smtplib.SMTP(*self.hub.address, local_hostname="client.example.net", timeout=DEADLINE_S) as client:
            client.sendmail("sender@example.net", [ANNA], "Subject: for Dovecot\r\n\r\nx\r\n")
        wait_for(lambda: any(b"Subject: for Dovecot" in mail for mail in dovecot.delivered(ANNA)), "the mail")
        self.assertEqual(front.stop(), 0)


if __name__ == "__main__":
    main()
