# SPDX-License-Identifier: GPL-3.0-or-later
"""
translated.py - the wirings of docs/mta.md, and what every mail server behind them has to
show.

Flow: test_mta.py, test_mta_exim.py and others -> Translated or Adapted starts an authority, a
      resolver and the daemon -> a fixture of mta.py asks one of these -> Mail's tests

paste() reads the lines that the tests use out of docs/mta.md, so that those cannot rot.
"""

import os
import re
import signal
import threading

import harness
import resolvers
from harness import CLASSIC, ZONE, wait_for
from mta import DNS_PORT, SESSION_S, Authority, need_root, send, send_all

MANUAL = os.path.join(harness.SOURCE, "docs/mta.md")

# Who is listed, others in the same block, and one of another block.
LISTED, OTHER = "192.0.2.25", "198.51.100.9"
NEIGHBOURS = [f"192.0.2.{host}" for host in range(26, 46)]
LISTED_6, OTHER_6 = "2001:db8:0:2::5", "2001:db8:8::1"
NEIGHBOURS_6 = [f"2001:db8:0:{net:x}::1" for net in range(3, 23)]
LIST = ["192.0.2.25", "2001:db8:0:2::/64", "203.0.114.0/23"]


def paste(name, replacements=None):
    """
    The block of docs/mta.md below the marker <!-- name -->, as lines. replacements: what a
    test has in the place of what an administrator has; each must be there.
    """
    with open(MANUAL, encoding="utf-8") as file:
        found = re.findall(rf"<!-- {re.escape(name)} -->\n```[a-z]*\n(.*?)```\n",
                           file.read(), re.DOTALL)
    if len(found) != 1:
        raise AssertionError(f"docs/mta.md has {len(found)} blocks <!-- {name} -->")
    text = found[0]
    for old, new in (replacements or {}).items():
        if old not in text:
            raise AssertionError(f"<!-- {name} --> of docs/mta.md has no {old}")
        text = text.replace(old, new)
    return text.splitlines()


class Wired:
    """
    The list at an authority, Unbound at port 53 of the test's address before it, and one daemon
    that asks Unbound.

        config       of the daemon, as lines
        unbound      more lines for Unbound, whole clauses
        unbound_own  and of its server clause
    """

    def __init__(self, case, lines, name, config, unbound=(), unbound_own=()):
        need_root()
        self.case, self.name = case, name
        self.authority = Authority(case, lines)
        self.config = case.write("daemon.conf", "\n".join(config) + "\n")
        self.unbound = self._start_unbound(unbound, unbound_own)
        self.daemon = None
        self.start()

    def _start_unbound(self, lines, own):
        where = {"directory": self.case.path("unbound-53"), "host": self.case.host,
                 "port": DNS_PORT}
        os.mkdir(where["directory"])
        text = resolvers.UNBOUND.format(**where, lines="\n    ".join(
            ['module-config: "iterator"', *own]))
        text += "\n".join(lines)
        for zone in (ZONE, CLASSIC):
            text += resolvers.UNBOUND_STUB.format(
                zone=zone, servers="\n    stub-addr: {}@{}".format(*self.authority.address))
        return resolvers.run_unbound(self.case, where, text)

    def start(self):
        """The daemon, when it is not there."""
        self.daemon = self.case.start([harness.program(self.name), "--config", self.config],
                                      self.name)
        self.daemon.wait_for_log(rf"^info: \[{self.name}\] ready, ")

    def kill(self):
        """As kill -9 does."""
        for pid in [*self.daemon.children(), self.daemon.pid]:
            os.kill(pid, signal.SIGKILL)
        self.daemon.popen.wait()


def resolver_of(case):
    return {"127.0.0.1@53": f"{case.host}@{DNS_PORT}"}


class Translated(Wired):
    """dnsblv6-translate, which Unbound has bl.local from. replacements: in translate.conf."""

    def __init__(self, case, lines, replacements=None, unbound_own=()):
        address = {"127.0.0.1@5300": "{}@{}".format(*case.free_address())}
        # A test does not wait for half a minute.
        patience = {"infra-host-ttl: 30": "infra-host-ttl: 1"}
        super().__init__(
            case, lines, "dnsblv6-translate",
            paste("translate.conf", {**address, **resolver_of(case), **(replacements or {})}),
            paste("unbound.conf", {**address, **patience}), unbound_own)


class Adapted(Wired):
    """dnsblv6-policy or dnsblv6-milter, at its place in the queue directory of a Postfix."""

    def __init__(self, case, lines, name, postfix):
        directory = os.path.join(postfix.queue, name)
        os.mkdir(directory)
        os.chown(directory, 0, postfix.user.pw_gid)
        os.chmod(directory, 0o2750)
        super().__init__(case, lines, name, paste(f"{name.removeprefix('dnsblv6-')}.conf", {
            f"/var/spool/postfix/{name}": directory, **resolver_of(case)}))


class Mail:
    """
    The tests of each mail server: a Case that is also this one says in its setUp() how it is
    wired and started.
    """

    is_proxied = False
    text = "$ is listed, see https://bl.example/?ip=$"

    def send(self, client):
        return send(self.server.address, client, proxy=self.is_proxied)

    def send_all(self, clients):
        return send_all(self.server.address, clients, parallel=40, proxy=self.is_proxied)

    def check_refused(self, client):
        outcome = self.send(client)
        self.assertTrue(outcome.is_refused, outcome)
        self.assertFalse(outcome.is_accepted, outcome)
        # A long text has several lines.
        self.assertIn(self.text.replace("$", client), " ".join(outcome.text.split()))

    def check_delivered(self, client):
        before = len(self.server.delivered())
        outcome = self.send(client)
        self.assertEqual(outcome.trouble, [])
        self.assertTrue(outcome.is_accepted, outcome)
        self.server.wait_for_delivered(before + 1)

    def check_all(self, listed, neighbours, other):
        self.check_refused(listed)
        self.check_delivered(other)
        asked = self.wired.authority.questions()
        self.assertGreater(asked, 0)
        for outcome in self.send_all(neighbours):
            self.assertEqual(outcome.trouble, [])
            self.assertTrue(outcome.is_accepted, outcome)
        self.check_refused(listed)
        self.assertEqual(self.wired.authority.questions(), asked, "for neighbours in a block")

    def test_who_is_listed_is_refused_and_a_block_is_asked_for_once(self):
        self.check_all(LISTED, NEIGHBOURS, OTHER)

    def test_the_same_with_ipv6(self):
        self.check_all(LISTED_6, NEIGHBOURS_6, OTHER_6)

    def test_a_daemon_that_is_killed_refuses_nobody(self):
        """Each client in a block of its own: all are questions that the daemon may lose."""
        clients = [f"203.0.{net // 2}.{128 * (net % 2) + 7}" for net in range(100)]
        self.check_delivered(OTHER)
        outcomes = []
        sessions = threading.Thread(target=lambda: outcomes.extend(self.send_all(clients)))
        sessions.start()
        wait_for(lambda: len(self.server.delivered()) > 20, "some sessions", SESSION_S)
        self.wired.kill()
        sessions.join()
        self.assertEqual([outcome.trouble for outcome in outcomes if outcome.trouble], [])
        self.assertEqual([outcome.is_accepted for outcome in outcomes], [True] * len(clients))
        self.check_delivered("203.0.113.77")
        self.wired.start()
        # Another one each time: smtpd remembers what it could not find out about an address.
        listed = (f"203.0.{net}.{host}" for net in (114, 115) for host in range(256))
        wait_for(lambda: self.send(next(listed)).is_refused, "the list to count again", SESSION_S)

    def test_a_resolver_that_is_killed_refuses_nobody(self):
        self.wired.unbound.stop(signal.SIGKILL)
        self.check_delivered(LISTED)
        self.check_delivered(LISTED_6)
