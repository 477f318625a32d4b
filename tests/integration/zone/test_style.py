#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
A zone whose names get another style, flat for dotted or the other way round, under a client that
goes on: libdnsblv6 in a process that was asking before. It must not take the denials of the wrong
names for "not listed" for more than a few questions.

Needs unbound for the half with a resolver between.
"""

import signal
import subprocess

from harness import DEADLINE_S, ZONE, Case, main, program
from resolvers import start_unbound

NAME = ZONE.rstrip(".")
STYLES = ("dotted", "flat", "both", "both6")
CHANGES = (("dotted", "flat"), ("flat", "dotted"), ("dotted", "both"), ("flat", "both"),
           ("dotted", "both6"), ("flat", "both6"))
# A resolver that still has the test point of names that are gone hides it until its TTL ends.
CHANGES_SEEN_AT_THE_SERVER = (*CHANGES, ("both", "dotted"), ("both6", "dotted"), ("both", "flat"))
# A look is two rounds of questions, and each address here is one more.
QUESTIONS_MAX = 50


def listed(number):
    """Each in a block of its own."""
    return f"192.0.{number}.25"


def clear(number):
    return f"198.51.{number}.25"


class Style(Case):
    def setUp(self):
        super().setUp()
        self.address = self.free_address()
        self.server = None
        self.serial = len(STYLES)
        addresses = self.write("list", "".join(f"{listed(i)}\n" for i in range(200)))
        for serial, style in enumerate(STYLES, 1):
            self.build(self.path(f"{style}.mdb"), "--style", style, "--serial", str(serial),
                       addresses)

    def next_serial(self):
        self.serial += 1
        return self.serial

    def serve_style(self, style):
        """As a build into the same store would have it; a build may refuse to."""
        if self.server is not None:
            self.server.stop()
        self.server = self.serve([(ZONE, self.path(f"{style}.mdb"), None)], address=self.address)

    def start_client(self, server):
        client = subprocess.Popen(
            [program("dnsblv6-lookup"), "--zones", NAME, "--server", f"{server[0]}@{server[1]}"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(client.wait)
        self.addCleanup(client.stdout.close)
        self.addCleanup(client.stdin.close)
        return client

    def verdict(self, client, address):
        client.stdin.write(address + "\n")
        client.stdin.flush()
        signal.alarm(DEADLINE_S)
        line = client.stdout.readline()
        signal.alarm(0)
        return line.split("\t")[1]

    def questions_until_listed(self, client, numbers):
        """How many addresses are told to be clear, all of which are listed."""
        told = []
        for number in numbers:
            told.append(self.verdict(client, listed(number)))
            if told[-1] == "listed":
                return told
        return told

    def check_change(self, before, after, server_of):
        # The later serial is that of the style it changes to.
        self.build(self.path(f"{after}.mdb"), "--style", after, "--serial", str(self.next_serial()),
                   self.path("list"))
        self.serve_style(before)
        client = self.start_client(server_of())
        self.assertEqual(self.verdict(client, listed(0)), "listed")
        self.assertEqual(self.verdict(client, clear(0)), "clear")
        self.serve_style(after)
        told = self.questions_until_listed(client, range(100, 100 + QUESTIONS_MAX))
        print(before, "to", after, told)
        self.assertEqual(told[-1], "listed")
        # What was denied by the wrong name is void, and what is clear is clear.
        for number in range(100, 100 + QUESTIONS_MAX):
            self.assertEqual(self.verdict(client, listed(number)), "listed", number)
            self.assertEqual(self.verdict(client, clear(number)), "clear", number)

    def test_a_client_that_asks_the_server_notices_another_style_within_a_few_questions(self):
        for before, after in CHANGES_SEEN_AT_THE_SERVER:
            with self.subTest(before=before, after=after):
                self.check_change(before, after, lambda: self.address)

    def test_a_client_behind_a_resolver_notices_another_style_within_a_few_questions(self):
        for before, after in CHANGES:
            with self.subTest(before=before, after=after):
                self.check_change(before, after, lambda: start_unbound(self, [self.server]))


if __name__ == "__main__":
    main()
