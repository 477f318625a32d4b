#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Dovecot in each of its formats, and Cyrus, as fixtures of tests and benchmarks with IMAP: what comes by LMTP
is there by IMAP, in the clear and under TLS.

Needs root, dovecot-imapd, dovecot-lmtpd, cyrus-common, cyrus-imapd as ./check unpacks it, and openssl.
"""

import imaplib
import os
import smtplib
import ssl
import unittest

from cyrus import Cyrus
from dovecot import PASSWORD, Dovecot
from harness import DEADLINE_S, Case, main

MAIL = b"From: <sender@example.net>\r\nMessage-ID: <1@example.net>\r\nSubject: test\r\n\r\nHello\r\n"
USER = "user1"


def untrusting():
    """A context for a certificate that has signed itself."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def files_below(directory):
    return [os.path.join(place, name) for place, _, names in os.walk(directory) for name in names]


class ImapServers(Case):
    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("a server that becomes another user needs root")

    def login(self, server, user=USER, password=PASSWORD):
        session = imaplib.IMAP4(*server.imap_address, timeout=DEADLINE_S)
        self.addCleanup(session.shutdown)
        session.login(user, password)
        return session

    def deliver(self, server, recipient=f"{USER}@example.com"):
        with smtplib.LMTP(*server.address) as client:
            client.sendmail("sender@example.net", [recipient], MAIL)

    def check(self, make):
        """One that is made with these words: its mailboxes and its indexes lie where they are to be."""
        for name in ("mails", "indexes"):
            os.mkdir(self.path(name))
        server = make(self.path("mails"), self.path("indexes"))
        self.deliver(server)
        for user in (USER, f"{USER}@example.com"):
            session = self.login(server, user)
            self.assertEqual(session.select("INBOX"), ("OK", [b"1"]))
            self.assertTrue(session.fetch("1", "(BODY.PEEK[])")[1][0][1].endswith(b"\r\n\r\nHello\r\n"))
        self.assertEqual(session.create("work/old")[0], "OK")
        self.assertIn(b'"/" work/old', b" ".join(session.list()[1]))
        session = imaplib.IMAP4(*server.imap_address, timeout=DEADLINE_S)
        self.addCleanup(session.shutdown)
        session.starttls(untrusting())
        with self.assertRaisesRegex(imaplib.IMAP4.error, "(?i)failed"):
            session.login(USER, f"not-{PASSWORD}")
        session = imaplib.IMAP4_SSL(*server.imaps_address, ssl_context=untrusting(), timeout=DEADLINE_S)
        self.addCleanup(session.shutdown)
        self.assertEqual(session.login(USER, PASSWORD)[0], "OK")
        found = [path for path in files_below(self.path("mails")) if self.has_mail(path)]
        self.assertEqual(len(found), 1)
        self.assertTrue(files_below(self.path("indexes")))

    @staticmethod
    def has_mail(path):
        with open(path, "rb") as file:
            return b"Hello" in file.read()

    def check_dovecot(self, kind):
        certificate = self.make_certificate()
        self.check(lambda mails, indexes: Dovecot(self, imap=True, certificate=certificate, kind=kind,
                                                  homes=mails, index=indexes))

    def test_dovecot_has_maildirs(self):
        self.check_dovecot("maildir")

    def test_dovecot_has_a_file_for_each_mail(self):
        self.check_dovecot("sdbox")

    def test_dovecot_has_files_of_many_mails(self):
        self.check_dovecot("mdbox")

    def test_cyrus_has_the_same(self):
        certificate = self.make_certificate()
        self.check(lambda mails, indexes: Cyrus(self, imap=True, certificate=certificate, spool=mails,
                                                index=indexes))

    def test_mails_are_there_when_a_server_is_started_again(self):
        for make in (Dovecot, Cyrus):
            with self.subTest(server=make.__name__):
                try:
                    server = make(self, imap=True)
                except unittest.SkipTest as error:
                    self.skipTest(str(error))
                self.deliver(server)
                server.stop()
                server.start()
                self.assertEqual(self.login(server).select("INBOX"), ("OK", [b"1"]))


if __name__ == "__main__":
    main()
