# SPDX-License-Identifier: GPL-3.0-or-later
"""
dovecot.py - Debian's Dovecot as a fixture: LMTP on loopback, a maildir for each recipient.

Flow: test_front_sinks.py, test_hub_page.py -> Dovecot(case) -> smtp-front's sink "lmtp" -> delivered().

Nothing of the machine is touched: configuration, sockets and mail lie in the test's directory.
It runs as "nobody", as mail is never delivered to root.
"""

import os
import pwd
import shutil
import socket
import subprocess
import unittest

from harness import DEADLINE_S, wait_for

USER = "nobody"

CONF = """\
base_dir = {directory}/run
state_dir = {directory}/state
log_path = {directory}/dovecot.log
protocols = lmtp
listen = {host}
ssl = no
default_internal_user = {user}
default_internal_group = {group}
default_login_user = {user}
first_valid_uid = 1
login_trusted_networks = 127.0.0.0/8
haproxy_trusted_networks = 127.0.0.0/8
mail_location = maildir:~/mail
mail_save_crlf = yes
postmaster_address = postmaster@example.com
lmtp_save_to_detail_mailbox = no
passdb {{
  driver = static
  args = nopassword=y
}}
userdb {{
  driver = static
  args = uid={uid} gid={gid} home={directory}/homes/%u {userdb}
}}
service anvil {{
  chroot =
}}
service stats {{
  chroot =
}}
service lmtp {{
  inet_listener lmtp {{
    address = {host}
    port = {port}
    haproxy = {haproxy}
  }}
  unix_listener lmtp {{
    mode = 0666
  }}
}}
{lines}
"""


class Dovecot:
    """
    A Dovecot of the test's own, whose LMTP listens at address, and at path.

        proxy   every session begins with a PROXY header
        users   who has a mailbox; None: everybody
        lines   of its configuration
    """

    def __init__(self, case, proxy=False, users=None, lines=()):
        if os.geteuid() != 0:
            raise unittest.SkipTest("a Dovecot that becomes another user needs root")
        self.program = shutil.which("dovecot", path=os.environ.get("PATH", "") + ":/usr/sbin")
        if self.program is None or not os.path.exists("/usr/lib/dovecot/lmtp"):
            raise unittest.SkipTest("dovecot-lmtpd is not installed")
        self.case = case
        self.directory = case.path(f"dovecot-{len(case.processes)}")
        self.address = case.free_address()
        self.path = os.path.join(self.directory, "run/lmtp")
        self._write_config(proxy, users, lines)
        self.process = case.start([self.program, "-F", "-c",
                                   os.path.join(self.directory, "dovecot.conf")], "dovecot",
                                  user=USER, group=self.entry.pw_gid, extra_groups=[])
        wait_for(self._is_listening, "Dovecot to listen")

    def _write_config(self, proxy, users, lines):
        self.entry = pwd.getpwnam(USER)
        for name in ("", "run", "state", "homes"):
            path = os.path.join(self.directory, name)
            os.mkdir(path)
            os.chown(path, self.entry.pw_uid, self.entry.pw_gid)
        group = subprocess.run(["id", "-gn", USER], capture_output=True, text=True, check=True,
                               timeout=DEADLINE_S).stdout.strip()
        # The static driver knows everybody unless the passdb is asked, which has a file then.
        text = CONF.format(directory=self.directory, host=self.address[0], port=self.address[1],
                           user=USER, group=group, uid=self.entry.pw_uid, gid=self.entry.pw_gid,
                           haproxy="yes" if proxy else "no",
                           userdb="allow_all_users=yes" if users is None else "",
                           lines="\n".join(lines))
        if users is not None:
            passwd = os.path.join(self.directory, "users")
            with open(passwd, "w", encoding="ascii") as file:
                file.writelines(f"{user}:{{PLAIN}}x\n" for user in users)
            text = text.replace("driver = static\n  args = nopassword=y",
                                f"driver = passwd-file\n  args = {passwd}", 1)
        with open(os.path.join(self.directory, "dovecot.conf"), "w", encoding="ascii") as file:
            file.write(text)

    def _is_listening(self):
        if self.process.popen.poll() is not None:
            raise AssertionError(f"Dovecot has ended:\n{self.process.log()}{self.log()}")
        try:
            socket.create_connection(self.address, timeout=DEADLINE_S).close()
        except OSError:
            return False
        return True

    def log(self):
        """What its log has till now."""
        path = os.path.join(self.directory, "dovecot.log")
        if not os.path.exists(path):
            return ""
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def delivered(self, user):
        """The messages in that mailbox, as bytes with CRLF."""
        box = os.path.join(self.directory, "homes", user, "mail/new")
        messages = []
        for name in sorted(os.listdir(box)) if os.path.isdir(box) else ():
            with open(os.path.join(box, name), "rb") as file:
                messages.append(file.read())
        return messages
