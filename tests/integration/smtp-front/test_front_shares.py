#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
What a network may have of smtp-front once its sessions have proved themselves: it is counted until
their end, whoever has them and however they end, and it cannot have all workers.

Networks are those for documentation. A slow client is one in the middle of its mail.
"""

import collections
import os
import signal

from front import RECIPIENT, Client, Front, make_certificate
from harness import Case, main, outside, wait_for

SLOW, OTHER = "192.0.2", "198.51.100"  # networks


class SharesCase(Case):
    """One edge and four workers, so that a share of two is of all edges, and leaves some."""

    def front(self, front=(), limits=(), **sections):
        self.fixture = Front(self, front={"edges": 1, "workers": 4, **dict(front)},
                             limits={"connections": 10, "workers": 2, **dict(limits)}, **sections)
        return self.fixture

    def counters(self):
        return collections.Counter(self.fixture.counters())  # who is not there is 0

    def client(self, network, host=1):
        client = Client(self.fixture.address, outside(f"{network}.{host}"))
        self.addCleanup(client.close)
        return client

    def ask(self, network, host=1):
        """A client whose RCPT has no answer yet."""
        client = self.client(network, host)
        client.hello()
        client.say("MAIL FROM:<>", 250)
        client.send(f"RCPT TO:<{RECIPIENT}>\r\n".encode())
        return client

    def begin(self, network, host=1):
        """A client in the middle of its mail: it has a worker."""
        client = self.ask(network, host)
        client.expect(250)
        client.say("DATA", 354)
        client.send(b"Subject: slow\r\n")
        return client

    def end(self, client):
        client.send(b"\r\nend\r\n.\r\n")
        client.expect(250)
        client.say("QUIT", 221)

    def wait_for_waiting(self, count):
        wait_for(lambda: self.counters()["sessions-waiting"] == count, f"{count} to wait")

    def wait_for_held(self, count):
        wait_for(lambda: self.counters()["sessions-held"] == count, f"{count} to be held")



class Share(SharesCase):
    """Two workers for a network."""

    def test_slow_mails_hold_no_more_and_others_get_through(self):
        front = self.front()
        slow = [self.begin(SLOW, host) for host in (1, 2)]
        waiting = [self.ask(SLOW, host) for host in (3, 4)]
        self.wait_for_waiting(2)
        counters = self.counters()
        self.assertEqual((counters["workers-busy"], counters["sessions-held"],
                          counters["share-full"], counters["queue-full"]), (2, 2, 2, 0))
        for _ in range(5):
            self.end(self.begin(OTHER))
        self.assertEqual(self.counters()["sessions-waiting"], 2)
        # Who has waited longest is next, as soon as there is a place.
        self.end(slow[0])
        waiting[0].expect(250)
        self.wait_for_waiting(1)  # the worker may have answered before the edge has counted
        self.end(slow[1])
        waiting[1].expect(250)
        for client in waiting:
            client.say("QUIT", 221)
        wait_for(lambda: self.counters()["sessions"] == 0, "all sessions to be gone")
        self.assertEqual(self.counters()["sessions-held"], 0)
        self.assertEqual(len(front.mails()), 7)

    def test_who_waits_for_a_worker_has_none_of_it(self):
        """Nor is another network behind those of one that has sent many."""
        self.front(front={"workers": 1})
        holder = self.begin(SLOW)
        clients = [self.ask(SLOW, host) for host in (2, 3)]
        other = self.ask(OTHER)
        self.wait_for_waiting(3)
        self.assertEqual(self.counters()["sessions-held"], 1)
        self.end(holder)
        # One and no more is with the worker. Which, depends on whether the edge has heard of the end
        # before it sees the worker idle: their network has none any more either then.
        self.wait_for_waiting(2)
        for client in (*clients, other):
            client.send(b"QUIT\r\n")
        for client in (*clients, other):
            client.expect(250)
            client.expect(221)

    def test_the_next_one_is_of_the_network_that_has_fewest(self):
        self.front(front={"workers": 2})
        holders = [self.begin(SLOW, host) for host in (1, 2)]
        clients = [self.ask(SLOW, host) for host in (3, 4)]
        self.wait_for_waiting(2)
        other = self.ask(OTHER)
        self.wait_for_waiting(3)
        self.end(holders[0])
        other.expect(250)
        self.end(holders[1])
        for client in clients:
            client.expect(250)
            client.say("QUIT", 221)

    def test_a_place_is_given_back_however_a_session_ends(self):
        self.front(limits={"workers": 1})
        for end in (self.end, Client.close, Client.reset) * 3:
            client = self.begin(SLOW)
            end(client)
            self.end(self.begin(SLOW))
        self.wait_for_held(0)

    def test_also_when_its_worker_is_killed(self):
        self.expect_log("process died")
        front = self.front(front={"workers": 1}, limits={"workers": 1})
        for _ in range(3):
            slow = self.begin(SLOW)
            waiting = self.ask(SLOW, 2)
            self.wait_for_waiting(1)
            os.kill(front.wait_for_processes("worker", 1)[0], signal.SIGKILL)
            self.assertTrue(slow.is_closed())
            waiting.expect(250)
            waiting.say("QUIT", 221)
        self.wait_for_held(0)

    def test_a_reload_begins_anew_with_workers_of_its_own(self):
        front = self.front()
        before = [self.begin(SLOW, host) for host in (1, 2)]
        workers = front.wait_for_processes("worker", 4)
        self.assertTrue(front.reload(limits={"mails": 7}))
        # The old edge has nothing to wait for.
        front.wait_for_log("edge ended")
        after = [self.begin(SLOW, host) for host in (3, 4)]
        waiting = self.ask(SLOW, 5)
        self.wait_for_waiting(1)
        # That those before end is nobody's gain, nor loss.
        for client in before:
            self.end(client)
        wait_for(lambda: not set(workers) & set(front.processes()["worker"]), "old workers to end")
        counters = self.counters()
        self.assertEqual((counters["sessions-waiting"], counters["sessions-held"]), (1, 2))
        self.end(after[0])
        waiting.expect(250)
        self.end(after[1])
        self.assertEqual(len(front.mails()), 4)

    def test_who_has_waited_too_long_is_put_off(self):
        front = self.front(front={"queue-timeout": "300ms"})
        slow = [self.begin(SLOW, host) for host in (1, 2)]
        self.assertIn("4.7.0", self.ask(SLOW, 3).expect(421))
        counters = self.counters()
        self.assertEqual((counters["share-full"], counters["share-refused"],
                          counters["queue-refused"]), (1, 1, 0))
        line = front.wait_for_sessions(1)[0]
        self.assertEqual((line["client"], line["by"], line["end"]), (f"{SLOW}.3", "edge", "limited"))
        for client in slow:
            self.end(client)

    def test_or_at_once(self):
        self.front(front={"at-capacity": "refuse", "queue-timeout": "10m"})
        slow = [self.begin(SLOW, host) for host in (1, 2)]
        self.assertIn("4.7.0", self.ask(SLOW, 3).expect(421))
        self.end(self.begin(OTHER))
        for client in slow:
            self.end(client)
        self.wait_for_held(0)
        self.end(self.begin(SLOW))

    def test_who_leaves_while_he_waits_does_no_harm(self):
        self.front()
        slow = [self.begin(SLOW, host) for host in (1, 2)]
        waiting = [self.ask(SLOW, 3) for _ in range(6)]
        self.wait_for_waiting(6)
        for client in waiting[::2]:
            client.reset()
        for client in slow:
            self.end(client)
        for client in waiting[1::2]:
            client.expect(250)
            client.say("QUIT", 221)
        self.wait_for_held(0)
        self.wait_for_waiting(0)

    def test_sessions_under_tls_have_the_same_share(self):
        self.front(certificates=[make_certificate(self)])
        slow = self.client(SLOW)
        slow.hello()
        slow.starttls()
        slow.say("EHLO client.example.net", 250)
        slow.say("MAIL FROM:<>", 250)
        slow.say(f"RCPT TO:<{RECIPIENT}>", 250)
        self.begin(SLOW, 2)
        waiting = self.ask(SLOW, 3)
        self.wait_for_waiting(1)
        counters = self.counters()
        self.assertEqual((counters["sessions-relayed"], counters["sessions-held"]), (1, 1))
        slow.say("QUIT", 221)
        waiting.expect(250)

    def test_whoever_is_unlimited_has_none(self):
        self.front(limits={"unlimited": [f"{SLOW}.0/24"]})
        slow = [self.begin(SLOW, host) for host in (1, 2, 3, 4)]
        self.assertEqual(self.counters()["sessions-held"], 0)
        for client in slow:
            self.end(client)

    def test_one_network_cannot_have_all_workers_unless_that_is_said(self):
        """The default is a fifth of them."""
        self.front(front={"workers": 10}, limits={"connections": 100, "workers": None})
        slow = [self.begin(SLOW, host) for host in (1, 2)]
        self.ask(SLOW, 3)
        self.wait_for_waiting(1)
        for client in slow:
            self.end(client)


class Silence(Case):
    """Clients of documentation ranges, by PROXY, at twenty workers and the defaults."""

    NETWORKS = ("192.0.2", "198.51.100", "203.0.113")

    def setUp(self):
        super().setUp()
        self.fixture = Front(self, front={"workers": 20, "proxy": ["127.0.0.0/8"]},
                             limits={"connections": 100, "workers": 10, "give-way": None})

    def client(self, address):
        client = self.fixture.client(claimed=address)
        self.addCleanup(client.close)
        return client

    def test_silent_clients_of_three_networks_keep_no_good_one_waiting(self):
        """They have named a recipient, and could say nothing for five minutes."""
        front = self.fixture
        lines = ["EHLO silent.example.net", "MAIL FROM:<>", f"RCPT TO:<{RECIPIENT}>"]
        for number in range(40):
            silent = self.client(f"{self.NETWORKS[number % 3]}.{number + 1}")
            silent.expect(220)
            silent.send("".join(f"{line}\r\n" for line in lines).encode())
            silent.expect(250)
            silent.expect(250)
        good = self.client("2001:db8::7")
        good.hello()
        good.send_mail("sender@example.net", [RECIPIENT], b"Subject: good\r\n\r\nmail\r\n")
        good.say("QUIT", 221)
        self.assertEqual(len(front.mails()), 1)
        # With more of them than workers some had to be put off for it, and no other clock has.
        ends = collections.Counter(line["end"] for line in front.sessions() if
                                   line["helo"] == "silent.example.net")
        self.assertGreater(ends["gave-way"], 0)
        self.assertNotIn("timeout", ends)


class Site(Case):
    """One IPv6 site, with more networks than there are workers."""

    def test_it_does_not_hold_all_workers(self):
        front = Front(self, front={"edges": 1, "workers": 6, "proxy": ["127.0.0.0/8"]},
                      limits={"connections": 100, "workers": 1})
        lines = ["EHLO silent.example.net", "MAIL FROM:<>", f"RCPT TO:<{RECIPIENT}>"]
        for number in range(8):
            silent = front.client(claimed=f"2001:db8:1:{number:x}00::1")
            self.addCleanup(silent.close)
            silent.expect(220)
            silent.send("".join(f"{line}\r\n" for line in lines).encode())
        wait_for(lambda: front.counters().get("sessions-waiting") == 6, "six to wait")
        wait_for(lambda: front.counters()["workers-busy"] == 2, "two workers to have taken theirs")


class Connections(SharesCase):
    """Two connections of a network, and a worker for each."""

    def front(self, **sections):
        return super().front(limits={"connections": 2, "workers": 0}, **sections)

    def check(self, slow):
        """The two are all, until one of them ends."""
        self.assertIn("4.7.0", self.client(SLOW, 3).expect(421))
        self.end(self.begin(OTHER))
        self.end(slow[0])
        wait_for(lambda: self.counters()["sessions"] == 1, "the edge to know")
        self.begin(SLOW, 3)
        self.assertIn("4.7.0", self.client(SLOW, 4).expect(421))

    def test_a_session_is_one_as_long_as_it_lasts(self):
        self.front()
        self.check([self.begin(SLOW, host) for host in (1, 2)])
        self.assertEqual(self.counters()["sessions-limited"], 2)

    def test_under_tls_it_is_no_more_than_one(self):
        self.front(certificates=[make_certificate(self)])
        tls = self.client(SLOW)
        tls.hello()
        tls.starttls()
        tls.say("EHLO client.example.net", 250)
        tls.say("MAIL FROM:<>", 250)
        tls.say(f"RCPT TO:<{RECIPIENT}>", 250)
        tls.say("DATA", 354)
        self.check([tls, self.begin(SLOW, 2)])

    def test_a_killed_worker_gives_its_connection_back(self):
        self.expect_log("process died")
        front = self.front()
        self.begin(SLOW)
        slow = self.begin(SLOW, 2)
        self.assertIn("4.7.0", self.client(SLOW, 3).expect(421))
        for pid in front.wait_for_processes("worker", 4):
            os.kill(pid, signal.SIGKILL)
        self.assertTrue(slow.is_closed())
        wait_for(lambda: self.counters()["sessions"] == 0, "the edge to know")
        self.end(self.begin(SLOW))


if __name__ == "__main__":
    main(has_own_network=True)
