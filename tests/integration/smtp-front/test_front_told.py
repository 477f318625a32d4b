#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
What real mail servers behind smtp-front hear of a client that is not on this machine: by each
"tell" that they know, it is the client that they judge.

Needs root, Debian's postfix, and its exim4-daemon-heavy and opensmtpd unpacked; what is missing
is skipped. Clients are of documentation networks, by a PROXY header to smtp-front.
"""

import re

import mta
from front import CONTENT, RECIPIENT, SENDER, Front
from harness import Case, main, wait_for
from opensmtpd import OpenSmtpd

CLIENTS = ("192.0.2.7", "2001:db8::7")
HELO = "client.example.net"
BAD_HELO = "bad.example.net"


class ToldCase(Case):
    def front(self, hop, tell):
        host, port = hop.address
        self.fixture = Front(self, front={"edges": 1, "proxy": ["127.0.0.0/8"]},
                             sink={"kind": "smtp", "to": f"{host}@{port}", "tell": tell})
        return self.fixture

    def send(self, claimed, helo=HELO):
        with self.fixture.client(claimed=claimed) as client:
            client.hello(helo)
            client.send_mail(SENDER, [RECIPIENT], CONTENT)
            client.send_mail(SENDER, [RECIPIENT], CONTENT)
            client.say("QUIT", 221)

    def check_refused(self, claimed, helo, *codes):
        with self.fixture.client(claimed=claimed) as client:
            client.hello(helo)
            client.say(f"MAIL FROM:<{SENDER}>", 250)
            client.say(f"RCPT TO:<{RECIPIENT}>", *codes)

    def check_headers(self, hop, count, wanted):
        """Both mails of the last of count sessions have it."""
        headers = received_of(hop, count)
        self.assertEqual([wanted in header for header in headers].count(True), 2, headers)

    def check_log(self, pattern):
        """Of smtp-front, which has nothing to complain of but what is permitted."""
        lines = re.findall(r"^warning: .*", self.fixture.log(), re.MULTILINE)
        self.assertEqual([line for line in lines if not re.search(pattern, line)], [])


def received_of(hop, count):
    """The first Received header of count sessions' mails, which the next hop has written."""
    return [re.search(rb"^Received: .*?\n(?![ \t])", message.replace(b"\r", b""),
                      re.MULTILINE | re.DOTALL).group().decode()
            for message in hop.wait_for_delivered(2 * count)]


class NamingPostfix(mta.Postfix):
    """It knows the name of the first client, and wants one of each."""

    LINES = ("smtpd_peername_lookup = yes", "smtpd_authorized_xclient_hosts = 127.0.0.1/32",
             "smtpd_client_restrictions = reject_unknown_client_hostname")

    def __init__(self, case, **how):
        super().__init__(case, main=self.LINES, xclient=False, **how)

    def use_nameservers(self, nameservers):
        super().use_nameservers(nameservers)
        self.files["/etc/hosts"] = self.write("hosts", f"{CLIENTS[0]} {HELO}\n")


class PostfixIsTold(ToldCase):
    """Behind, a Postfix that believes smtp-front's address alone, and looks at HELO."""

    LINES = ("smtpd_authorized_xclient_hosts = 127.0.0.1/32",
             f"smtpd_helo_restrictions = check_helo_access inline:{{ {{ {BAD_HELO} = REJECT }} }}")

    def check_clients(self, tell, **how):
        postfix = mta.Postfix(self, main=self.LINES, xclient=False, **how)
        self.front(postfix, tell)
        for count, claimed in enumerate(CLIENTS, 1):
            self.send(claimed)
            shown = f"IPv6:{claimed}" if ":" in claimed else claimed
            self.check_headers(postfix, count, f"from {HELO} (unknown [{shown}])")
            wait_for(lambda c=claimed: f"client=unknown[{c}]" in postfix.log(), "its log")
            self.check_refused(claimed, BAD_HELO, 554)
        self.check_log("nothing")

    def test_xclient(self):
        self.check_clients("xclient")

    def test_proxy(self):
        self.check_clients("proxy", proxy=True)

    def test_proxy2(self):
        self.check_clients("proxy2", proxy=True)

    def test_none(self):
        """It knows smtp-front, and judges nothing but the mail."""
        postfix = mta.Postfix(self, main=self.LINES, xclient=False)
        self.front(postfix, "none")
        self.send(CLIENTS[0], BAD_HELO)
        self.assertRegex(received_of(postfix, 1)[0], r"from mx\.example\.com \(\w+ \[127\.0\.0\.1\]\)")
        self.check_log("nothing")


class PostfixKnowsRecipients(ToldCase):
    """It is asked about them at the port to which mail goes, by edges that have no client to name."""

    LINES = ("virtual_mailbox_maps = inline:{ inbox@example.com=inbox/ }",
             "smtpd_recipient_restrictions = reject_unlisted_recipient, reject_unauth_destination")

    def check(self, tell, **how):
        postfix = mta.Postfix(self, main=self.LINES, **how)
        host, port = postfix.address
        place = f"{host}@{port}"
        self.fixture = Front(self, users=None, front={"edges": 1, "proxy": ["127.0.0.0/8"]},
                             trust={"forward": place},
                             sink={"kind": "smtp", "to": place, "tell": tell})
        with self.fixture.client(claimed=CLIENTS[0]) as client:
            client.hello()
            client.say(f"MAIL FROM:<{SENDER}>", 250)
            self.assertIn("User unknown", client.say("RCPT TO:<other@example.com>", 550))
        self.send(CLIENTS[0])
        self.check_headers(postfix, 1, f"from {HELO} (unknown [{CLIENTS[0]}])")
        self.check_log("nothing")

    def test_proxy(self):
        self.check("proxy", proxy=True)

    def test_proxy2(self):
        self.check("proxy2", proxy=True)

    def test_xclient(self):
        self.check("xclient")


class PostfixWantsNames(ToldCase):
    """As the manual says: behind a PROXY header it finds them, behind XCLIENT it does not look."""

    def test_proxy2(self):
        postfix = NamingPostfix(self, proxy=True)
        self.front(postfix, "proxy2")
        self.send(CLIENTS[0])
        self.check_headers(postfix, 1, f"from {HELO} ({HELO} [{CLIENTS[0]}])")

    def test_xclient(self):
        self.front(NamingPostfix(self), "xclient")
        self.check_refused(CLIENTS[0], HELO, 450)


class EximIsTold(ToldCase):
    ACL = (f"deny condition = ${{if eq{{$sender_helo_name}}{{{BAD_HELO}}}}}",)

    def test_proxy(self):
        for tell in ("proxy", "proxy2"):
            with self.subTest(tell=tell):
                exim = mta.Exim(self, acl=self.ACL).start()
                self.front(exim, tell)
                for count, claimed in enumerate(CLIENTS, 1):
                    self.send(claimed)
                    self.check_headers(exim, count, f"from [{claimed}] (helo={HELO})")
                    self.check_refused(claimed, BAD_HELO, 550)
                self.check_log("nothing")

    def test_none_and_what_it_does_not_offer(self):
        self.expect_log("next hop is not as wanted")
        for tell in ("none", "xclient"):
            with self.subTest(tell=tell):
                exim = mta.Exim(self, acl=self.ACL, proxy=False).start()
                self.front(exim, tell)
                self.send(CLIENTS[0], BAD_HELO)
                self.check_headers(exim, 1, "from [127.0.0.1] (helo=mx.example.com)")
                self.check_log("XCLIENT: not offered, so the client is not told")


class OpenSmtpdIsTold(ToldCase):
    def test_proxy2(self):
        smtpd = OpenSmtpd(self)
        self.front(smtpd, "proxy2")
        for count, claimed in enumerate(CLIENTS, 1):
            self.send(claimed)
            self.check_headers(smtpd, count, f"from {HELO} (<unknown> [{claimed}])")
        self.check_log("nothing")

    def test_none_and_what_it_does_not_offer(self):
        self.expect_log("next hop is not as wanted")
        for tell in ("none", "xclient"):
            with self.subTest(tell=tell):
                smtpd = OpenSmtpd(self, proxy=False)
                self.front(smtpd, tell)
                self.send(CLIENTS[0])
                self.check_headers(smtpd, 1, "from mx.example.com (localhost [127.0.0.1])")
                self.check_log("XCLIENT: not offered, so the client is not told")


if __name__ == "__main__":
    main(has_own_network=True)
