# SPDX-License-Identifier: GPL-3.0-or-later
"""
sendmail.py - the real sendmail, as a server that tests may have beside Postfix.

Flow: ./check unpacks Debian's sendmail-bin and sendmail-cf into build/unpacked
      (two mail servers cannot be installed at once) -> Sendmail(case, ...) writes
      a configuration with m4 and runs the daemon on the case's own address.

    server = Sendmail(self, rules=["FEATURE(`enhdnsbl', `bl.example')dnl"],
                      nameserver="127.9.9.9")     # port 53, as resolv.conf has no other
    with server.session("127.7.7.7") as smtp: ...  # smtplib, from that address
    server.mails()                                 # what was delivered, oldest first

All that it reads and writes is below the case's directory, but for what it asks
libc: it runs with a mount namespace of its own, in which /etc/hosts,
nsswitch.conf and resolv.conf are the test's. Hence root.
"""

import os
import smtplib
import subprocess
import unittest

from harness import SOURCE, Case, peer, wait_for

UNPACKED = os.path.join(SOURCE, "build/unpacked")
PROGRAM = os.path.join(UNPACKED, "sendmail-bin/usr/libexec/sendmail/sendmail")
MACROS = os.path.join(UNPACKED, "sendmail-cf/usr/share/sendmail/cf/")
DOMAIN = "sendmail.example"

# Every recipient here is local, and a script takes the mail. "interactive": it is
# delivered before the client is told that it was taken.
CONFIGURATION = """\
VERSIONID(`test')dnl
OSTYPE(`bsd4.4')dnl
define(`confDOMAIN_NAME', `{domain}')dnl
define(`confDEF_USER_ID', `0:0')dnl
define(`confDELIVERY_MODE', `interactive')dnl
define(`confDONT_BLAME_SENDMAIL', `TrustStickyBit')dnl
define(`confDONT_PROBE_INTERFACES', `True')dnl
define(`confMAX_DAEMON_CHILDREN', `0')dnl
define(`confPID_FILE', `{directory}/pid')dnl
define(`confQUEUE_LA', `1000')dnl
define(`confREFUSE_LA', `1000')dnl
define(`confSERVICE_SWITCH_FILE', `{directory}/service.switch')dnl
define(`confTO_IDENT', `0s')dnl
define(`ALIAS_FILE', `')dnl
define(`HELP_FILE', `')dnl
define(`LOCAL_MAILER_FLAGS', `Pmn9')dnl
define(`LOCAL_MAILER_PATH', `/bin/sh')dnl
define(`LOCAL_MAILER_ARGS', `sh {directory}/deliver $u')dnl
define(`QUEUE_DIR', `{directory}/queue')dnl
define(`STATUS_FILE', `')dnl
FEATURE(`no_default_msa')dnl
FEATURE(`nocanonify')dnl
FEATURE(`accept_unqualified_senders')dnl
FEATURE(`accept_unresolvable_domains')dnl
DAEMON_OPTIONS(`Port={port}, Addr={host}, Name=MTA')dnl
{ipv6}{rules}
MODIFY_MAILER_FLAGS(`LOCAL', `-wA5:|/@')dnl
MAILER(`local')dnl
MAILER(`smtp')dnl
LOCAL_CONFIG
Cw{domain}
"""

DELIVER = """\
file=$(mktemp {directory}/mails/part.XXXXXX)
cat >"$file"
mv "$file" "$(mktemp -u {directory}/mails/$(date +%s%N).XXXXXX)"
"""

START = """\
ulimit -n 4096 # it closes all that it might have

cd "$1" || exit
for file in hosts nsswitch.conf resolv.conf; do
	mount --bind "$file" "/etc/$file" || exit
done
exec "$2" -bD -C sendmail.cf
"""


class Sendmail:
    """A running daemon at (host, port), and on ::1 when it is asked for."""

    def __init__(self, case, rules=(), nameserver=None, is_ipv6=False, name="sendmail"):
        if not os.path.exists(PROGRAM) or not os.path.exists(MACROS):
            raise unittest.SkipTest("sendmail is not in build/unpacked; ./check unpacks it there")
        if not Case.has_own_network:
            raise unittest.SkipTest("sendmail needs root for namespaces")
        self.m4 = peer("m4")
        self.directory = case.path(name)
        self.host, self.port = case.free_address()
        self.is_ipv6 = is_ipv6
        for directory in (self.directory, self.path("queue"), self.path("mails")):
            os.mkdir(directory, 0o700)
        self._write_files(list(rules), nameserver)
        self.process = case.start(["unshare", "--mount", "/bin/sh", "-c", START, "sh",
                                   self.directory, PROGRAM], name)
        wait_for(self._answers, "sendmail to answer")

    def path(self, name):
        return os.path.join(self.directory, name)

    def _write(self, name, text):
        with open(self.path(name), "w", encoding="ascii") as file:
            file.write(text)

    def _write_files(self, rules, nameserver):
        ipv6 = f"DAEMON_OPTIONS(`Port={self.port}, Addr=::1, Family=inet6, Name=MTA6')dnl\n"
        self._write("hosts", f"127.0.0.1 localhost\n{self.host} {DOMAIN}\n")
        # Names of clients are in no file, so nobody waits for DNS; what rules
        # ask of DNS goes to the name server.
        self._write("nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n")
        self._write("service.switch", "hosts files\naliases files\n")
        self._write("resolv.conf",
                    f"nameserver {nameserver or self.host}\noptions timeout:1 attempts:2\n")
        self._write("deliver", DELIVER.format(directory=self.directory))
        self._write("sendmail.mc", CONFIGURATION.format(
            domain=DOMAIN, directory=self.directory, host=self.host, port=self.port,
            ipv6=ipv6 if self.is_ipv6 else "", rules="\n".join(rules)))
        with open(self.path("sendmail.cf"), "wb") as file:
            subprocess.run([self.m4, f"-D_CF_DIR_={MACROS}", MACROS + "m4/cf.m4",
                            self.path("sendmail.mc")], stdout=file, check=True, timeout=60)

    def _answers(self):
        if self.process.popen.poll() is not None:
            raise AssertionError(f"sendmail has ended:\n{self.process.log()}")
        try:
            with self.session():
                return True
        except (OSError, smtplib.SMTPException):
            return False

    def session(self, source=None, timeout_s=60):
        """An smtplib.SMTP to it, from an address of this machine."""
        host = "::1" if source is not None and ":" in source else self.host
        return smtplib.SMTP(host, self.port, local_hostname="client.example", timeout=timeout_s,
                            source_address=(source, 0) if source else None)

    def send(self, source=None, text="Subject: test\n\nHello.\n", sender="a@client.example"):
        """Sends one mail; (code, text) of the last reply."""
        with self.session(source) as smtp:
            try:
                smtp.sendmail(sender, [f"user@{DOMAIN}"], text)
            except smtplib.SMTPRecipientsRefused as error:
                return next(iter(error.recipients.values()))
            except smtplib.SMTPResponseException as error:
                return error.smtp_code, error.smtp_error
        return 250, b""

    def mails(self):
        names = sorted(name for name in os.listdir(self.path("mails"))
                       if not name.startswith("part."))
        mails = []
        for name in names:
            with open(os.path.join(self.path("mails"), name), encoding="utf-8") as file:
                mails.append(file.read())
        return mails
