#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
No accepted mail is lost and none arrives twice, whichever process of smtp-front is killed; and none is lost with the
power of the disk.

Clients send mails, clear and under TLS, some of them pipelined, while a process chosen by chance
gets kill -9 every second, and behind each eighth of the sessions: an edge, a worker, the keyholder,
and the next hop itself. Each mail has
a Message-ID of its own and is sent once: what was answered with 250 has to be in the sink once,
what was not may be there, since a reply can be lost behind the mail, and no more than once.

DNSBLV6_SESSIONS is how many sessions there are: 1,200 by default, 300 with sanitizers. The loss of power needs root,
loop devices and mkfs.xfs.
"""

import os
import random
import re
import signal
import ssl
import sys
import threading
import time

from disks import ClonedDisk
from front import RECIPIENT, SENDER, Client, Front, make_certificate
from harness import IS_SANITIZED, SEED, Case, main

SESSIONS = int(os.environ.get("DNSBLV6_SESSIONS", 300 if IS_SANITIZED else 1200))
CLIENTS = 8
POWER_CUTS = 10
KILL_S, KILLS = 1, 8
NEXT_HOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "next_hop.py")
# What a client sees when the other end of its connection was killed.
BROKEN = (ConnectionError, EOFError, TimeoutError, ssl.SSLError, AssertionError)


class Sender(threading.Thread):
    """Sessions one after the other. said has the mails that were answered with 250."""

    def __init__(self, front, number, count):
        super().__init__(daemon=True)
        self.front, self.number, self.count = front, number, count
        self.random = random.Random(SEED + number)
        self.said, self.sent, self.failed, self.ended = [], set(), 0, 0

    def run(self):
        for session in range(self.count):
            try:
                with Client(self.front.address) as client:
                    client.hello()
                    if self.random.random() < 0.2:
                        client.starttls()
                        client.say("EHLO client.example.net", 250)
                    for mail in range(self.random.choice((1, 1, 2))):
                        self.send(client, f"<{self.number}.{session}.{mail}@example.net>")
            except BROKEN:
                self.failed += 1
                time.sleep(0.01)
            self.ended += 1

    def send(self, client, ident):
        content = (f"Subject: {ident}\r\nMessage-ID: {ident}\r\n\r\n"
                   + "text\r\n" * self.random.choice((1, 100, 3000))).encode()
        self.sent.add(ident)
        if self.random.random() < 0.5:
            client.send_mail(SENDER, [RECIPIENT], content)
        else:
            client.send(f"MAIL FROM:<{SENDER}>\r\nRCPT TO:<{RECIPIENT}>\r\n"
                        f"BDAT {len(content)} LAST\r\n".encode() + content)
            for _ in range(3):
                client.expect(250)
        self.said.append(ident)


class FrontKillsTest(Case):
    def send_all(self, front, kill_other=None):
        """Until all sessions are over; returns who has sent them, and how many were killed."""
        senders = [Sender(front, number, SESSIONS // CLIENTS) for number in range(CLIENTS)]
        chance = random.Random(SEED)
        killed = {"edge": 0, "worker": 0, "keyholder": 0, "other": 0}
        for sender in senders:
            sender.start()
        kill_s, kill_ended = time.monotonic() + KILL_S, SESSIONS // KILLS
        while any(sender.is_alive() for sender in senders):
            time.sleep(0.02)
            ended = sum(sender.ended for sender in senders)
            if time.monotonic() < kill_s and ended < kill_ended:
                continue
            kill_s, kill_ended = time.monotonic() + KILL_S, ended + SESSIONS // KILLS
            victim = chance.choice(["edge", "worker", "worker", "keyholder"]
                                   + ["other"] * 2 * (kill_other is not None))
            if victim == "other":
                kill_other()
            else:
                pids = front.processes()[victim]
                if not pids:
                    continue  # it has been killed just now
                os.kill(chance.choice(pids), signal.SIGKILL)
            killed[victim] += 1
        return senders, killed

    def check(self, senders, killed, arrived, front):
        said = [ident for sender in senders for ident in sender.said]
        failed = sum(sender.failed for sender in senders)
        print(f"front_kills: seed={SEED} sessions={SESSIONS} failed={failed} answered={len(said)}"
              f" arrived={len(arrived)} killed={killed}", file=sys.stderr)
        self.assertEqual(sorted(set(said) - set(arrived)), [], "answered with 250 and lost")
        self.assertEqual([ident for ident in set(arrived) if arrived.count(ident) > 1], [], "twice")
        self.assertLessEqual(set(arrived), {one for sender in senders for one in sender.sent})
        # It has to have been up meanwhile, and somebody to have been killed.
        self.assertGreater(sum(killed.values()), 0)
        self.assertGreater(len(said), SESSIONS // 2, front.log()[-4000:])
        with front.client() as client:
            client.hello()
            client.send_mail(SENDER, [RECIPIENT], b"Message-ID: <last@example.net>\r\n\r\nlast\r\n")

    def test_maildir(self):
        """Edges, workers and the keyholder are killed."""
        self.expect_log("process died", "handshake not signed")
        front = Front(self, front={"edges": 2, "workers": 6, "sessions": 400, "drain": "5s"},
                      certificates=[make_certificate(self)])
        senders, killed = self.send_all(front)
        arrived = [re.search(rb"(?m)^Message-ID: (\S+)$", mail)[1].decode()
                   for mail in front.mails()]
        self.check(senders, killed, arrived, front)

    def look(self, box, said):
        """What was answered before is there, and nothing is there in part."""
        texts = []
        for name in os.listdir(box) if os.path.exists(box) else ():
            with open(os.path.join(box, name), "rb") as file:
                texts.append(file.read())
        arrived = {re.search(rb"(?m)^Message-ID: (\S+)$", text)[1].decode() for text in texts}
        self.assertEqual(sorted(said - arrived), [], "answered with 250 and lost")
        self.assertLessEqual({text.count(b"text\n") for text in texts}, {1, 100, 3000})

    def test_power(self):
        disk = ClonedDisk(self, self.random.choice(("ext4", "xfs")), "maildir")
        front = Front(self, front={"edges": 2, "workers": 6, "sessions": 400}, certificates=[make_certificate(self)])
        self.addCleanup(front.stop)  # before what it writes on is gone
        senders = [Sender(front, number, SESSIONS // CLIENTS) for number in range(CLIENTS)]
        cuts = 0
        for sender in senders:
            sender.start()
        while any(sender.is_alive() for sender in senders) and cuts < POWER_CUTS:
            time.sleep(self.random.uniform(0, 0.3))
            said = {ident for sender in senders for ident in sender.said}
            with disk.after_power_loss() as path:
                self.look(os.path.join(path, "new"), said)
            cuts += said != set()
        for sender in senders:
            sender.join()
        self.assertGreater(cuts, 0)

    def test_next_hop(self):
        """The next hop is killed too."""
        self.expect_log("process died", "mail not delivered", "next hop is down")
        address, taken = self.free_address(), self.path("taken")
        arguments = ["/usr/bin/python3", NEXT_HOP, address[0], str(address[1]), taken]
        hop = [self.start(arguments, "hop")]
        hop[0].wait_for_log("^ready")

        def kill_hop():
            hop[0].popen.kill()
            hop[0].popen.wait()
            hop[0] = self.start(arguments, "hop")

        front = Front(self, front={"edges": 2, "workers": 6, "sessions": 400, "drain": "5s"},
                      sink={"kind": "smtp", "to": f"{address[0]}@{address[1]}", "timeout": "10s"},
                      certificates=[make_certificate(self)])
        senders, killed = self.send_all(front, kill_hop)
        hop[0].wait_for_log("^ready")  # it may have been killed last of all
        with open(taken, encoding="ascii") as file:
            arrived = file.read().split()
        self.check(senders, killed, arrived, front)


if __name__ == "__main__":
    main(has_own_network=True)
