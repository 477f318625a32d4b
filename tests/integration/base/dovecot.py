# SPDX-License-Identifier: GPL-3.0-or-later
"""
dovecot.py - Debian's Dovecot as a fixture: LMTP on loopback, a mailbox for each recipient, and IMAP.

Flow: test_front_sinks.py, test_hub_page.py -> Dovecot(case) -> smtp-front's sink "lmtp" -> delivered().
      bench/mail-users, tests of IMAP clients -> Dovecot(case, imap=True) -> imap_address, PASSWORD.

Nothing of the machine is touched: configuration, sockets and mail lie in the test's directory.
It runs as "nobody", as mail is never delivered to root.

What it has of its own settings is Debian's but for what CONF and IMAP below say: with IMAP, 2,000
sessions at a time instead of 100, any number of them of one user, passwords in the clear, / between
names of folders. Writes are as durable as Debian has them: mail_fsync = optimized.
"""

import os
import pwd
import re
import shutil
import subprocess
import unittest

from harness import DEADLINE_S, is_open, wait_for

USER = "nobody"
PASSWORD = "Secret4all"  # of everybody, with IMAP
SESSIONS = 2000  # of IMAP at a time

CONF = """\
base_dir = {directory}/run
state_dir = {directory}/state
log_path = {directory}/dovecot.log
protocols = {protocols}
listen = {host}
ssl = {ssl}
default_internal_user = {user}
default_internal_group = {group}
default_login_user = {user}
first_valid_uid = 1
login_trusted_networks = 127.0.0.0/8
haproxy_trusted_networks = 127.0.0.0/8
mail_location = {location}
mail_save_crlf = yes
postmaster_address = postmaster@example.com
lmtp_save_to_detail_mailbox = no
passdb {{
  driver = static
  args = {password}
}}
userdb {{
  driver = static
  args = uid={uid} gid={gid} home={homes}/{home} {userdb}
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
{imap}
{lines}
"""

# A process for each login and one for each session, as Debian has it. Each is a connection to auth,
# anvil and stats.
IMAP = """\
disable_plaintext_auth = no
mail_max_userip_connections = 0
namespace inbox {{
  inbox = yes
  separator = /
}}
service imap-login {{
  chroot =
  process_limit = {sessions}
  inet_listener imap {{
    address = {host}
    port = {port}
  }}
  inet_listener imaps {{
    address = {host}
    port = {tls_port}
    ssl = yes
  }}
}}
service imap {{
  process_limit = {sessions}
}}
service auth {{
  client_limit = {clients}
}}
service anvil {{
  client_limit = {clients}
}}
service stats {{
  client_limit = {clients}
}}
"""

TLS = """\
ssl_cert = <{0}
ssl_key = <{1}
"""


def own_certificate(certificate, directory, entry):
    """Copies of it and of its key that the user may read."""
    copies = []
    for path in certificate:
        copies.append(shutil.copy(path, os.path.join(directory, os.path.basename(path))))
        os.chown(copies[-1], entry.pw_uid, entry.pw_gid)
    return copies


class Dovecot:
    """
    A Dovecot of the test's own, whose LMTP listens at address, and at path.

        proxy        every session begins with a PROXY header
        users        who has a mailbox; None: everybody
        lines        of its configuration
        imap         IMAP at imap_address for each of them, with PASSWORD. A user is then what stands before
                     the @, with LMTP too, so that user1 and user1@example.com have one mailbox
        certificate  paths of it and of its key: STARTTLS, and TLS at imaps_address
        kind         maildir, sdbox, mdbox
        homes        the directory of mailboxes, which is there
        index        the directory of indexes, which is there; None: they are in the mailboxes
        environment  of its processes, {name: value}
    """

    def __init__(self, case, proxy=False, users=None, lines=(), imap=False, certificate=None,
                 kind="maildir", homes=None, index=None, environment=None):
        if os.geteuid() != 0:
            raise unittest.SkipTest("a Dovecot that becomes another user needs root")
        self.program = shutil.which("dovecot", path=os.environ.get("PATH", "") + ":/usr/sbin")
        for part in ("lmtp", "imap") if imap else ("lmtp",):
            if self.program is None or not os.path.exists(f"/usr/lib/dovecot/{part}"):
                raise unittest.SkipTest(f"dovecot-{part}d is not installed")
        self.case, self.kind, self.certificate = case, kind, certificate
        self.entry = pwd.getpwnam(USER)
        self.directory = case.path(f"dovecot-{len(case.processes)}")
        self.homes = homes or os.path.join(self.directory, "homes")
        self.index = index
        self.address = case.free_address()
        self.imap_address = case.free_address() if imap else None
        self.imaps_address = case.free_address() if imap and certificate else None
        self.path = os.path.join(self.directory, "run/lmtp")
        self.environment = environment
        self._make_directories()
        self._write_config(proxy, users, lines)
        self.start()

    def start(self):
        """Again, when it was stopped."""
        how = {} if self.environment is None else {"env": {**os.environ, **self.environment}}
        self.process = self.case.start([self.program, "-F", "-c",
                                        os.path.join(self.directory, "dovecot.conf")], "dovecot",
                                       user=USER, group=self.entry.pw_gid, extra_groups=[], **how)
        wait_for(self._is_listening, "Dovecot to listen")

    def stop(self):
        self.process.stop()

    def _make_directories(self):
        for name in ("", "run", "state", "homes"):
            os.mkdir(os.path.join(self.directory, name))
        for path in (self.directory, os.path.join(self.directory, "run"),
                     os.path.join(self.directory, "state"), self.homes, self.index):
            if path is not None:
                os.chown(path, self.entry.pw_uid, self.entry.pw_gid)
        if self.certificate is not None:
            self.certificate = own_certificate(self.certificate, self.directory, self.entry)

    def _write_config(self, proxy, users, lines):
        group = subprocess.run(["id", "-gn", USER], capture_output=True, text=True, check=True,
                               timeout=DEADLINE_S).stdout.strip()
        # The static driver knows everybody unless the passdb is asked, which has a file then.
        text = CONF.format(directory=self.directory, host=self.address[0], port=self.address[1],
                           user=USER, group=group, uid=self.entry.pw_uid, gid=self.entry.pw_gid,
                           haproxy="yes" if proxy else "no", homes=self.homes,
                           home="%Ln" if self.imap_address else "%u",
                           location=f"{self.kind}:~/mail" + (f":INDEX={self.index}/%Ln" if self.index else ""),
                           protocols="lmtp imap" if self.imap_address else "lmtp",
                           ssl="yes" if self.imaps_address else "no",
                           password=f"password={PASSWORD}" if self.imap_address else "nopassword=y",
                           userdb="allow_all_users=yes" if users is None else "",
                           imap=self._imap_lines() if self.imap_address else "",
                           lines="\n".join(lines))
        if users is not None:
            passwd = os.path.join(self.directory, "users")
            with open(passwd, "w", encoding="ascii") as file:
                file.writelines(f"{user}:{{PLAIN}}{PASSWORD}\n" for user in users)
            text = re.sub(r"driver = static\n  args = (no)?password=\S+",
                          f"driver = passwd-file\n  args = {passwd}", text, count=1)
        with open(os.path.join(self.directory, "dovecot.conf"), "w", encoding="ascii") as file:
            file.write(text)

    def _imap_lines(self):
        return IMAP.format(host=self.address[0], port=self.imap_address[1], sessions=SESSIONS,
                           tls_port=self.imaps_address[1] if self.imaps_address else 0,
                           clients=4 * SESSIONS + 1000) + (
                               TLS.format(*self.certificate) if self.certificate else "")

    def _is_listening(self):
        if self.process.popen.poll() is not None:
            raise AssertionError(f"Dovecot has ended:\n{self.process.log()}{self.log()}")
        return all(map(is_open, filter(None, (self.address, self.imap_address, self.imaps_address))))

    def log(self):
        """What its log has till now."""
        path = os.path.join(self.directory, "dovecot.log")
        if not os.path.exists(path):
            return ""
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def delivered(self, user):
        """The messages in that maildir's new, as bytes with CRLF."""
        box = os.path.join(self.homes, user, "mail/new")
        messages = []
        for name in sorted(os.listdir(box)) if os.path.isdir(box) else ():
            with open(os.path.join(box, name), "rb") as file:
                messages.append(file.read())
        return messages
