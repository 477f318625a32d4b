#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
tests/pop3-suite before pop-front: all of it with sessions in the clear, behind STLS, and where TLS begins
at once. Nothing may fail that an RFC says MUST, SHOULD or MAY of.
"""

from harness import Case, main
from popfront import PopFront, make_certificate
from popsuite import MANY, NOT_OFFERED, PopSuite

# What cannot be looked at behind TLS, and where it is required.
BEHIND_TLS = {"pipelining-half-closed", "half-closed-at-once", "stls-forgets-user"}
ABOUT_STLS = {"stls", "stls-is-listed", "stls-in-lower-case", "stls-after-login", "stls-twice", "stls-dropped",
              "stls-injection", "stls-failed-handshake", "login-is-listed-behind-stls", "capa-behind-stls"}


class Suite(PopSuite, Case):
    def check_that_it_passes(self, front, *options, but=()):
        """All tests but those of NOT_OFFERED and others that this way in leaves out."""
        rows = self.run_suite(front, *options)
        self.assertGreaterEqual(len(rows), 200)
        self.assertEqual([f"{row['level']} {row['name']}: {row['seen']}" for row in rows
                          if row["result"] not in ("pass", "not offered")], [])
        self.assertEqual({row["name"] for row in rows if row["result"] == "not offered"}, NOT_OFFERED | set(but))

    def test_in_the_clear(self):
        front = PopFront(self, certificates=[make_certificate(self)], **MANY)
        self.check_that_it_passes(front, "--stls")

    def test_behind_stls(self):
        front = PopFront(self, certificates=[make_certificate(self)], login={"require-tls": "yes"}, **MANY)
        self.check_that_it_passes(front, "--stls", but=BEHIND_TLS)

    def test_where_tls_begins_at_once(self):
        front = PopFront(self, certificates=[make_certificate(self)], login={"require-tls": "yes"}, **MANY)
        self.check_that_it_passes(front, but=BEHIND_TLS | ABOUT_STLS)


if __name__ == "__main__":
    main()
