#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
What an edge of smtp-front does by itself: the pause, verdicts, bounces, PROXY, and whatever a
client may send that is no SMTP. A session that ends here has never had a process.
"""

import collections
import os
import re
import socket
import threading

import harness
import mta
from edge import CLEAR, FOREIGN, INBOX, LISTED, NAME, NOBODY, SILENT, EdgeCase, proxy_v1, proxy_v2, session, wire
from front import CONTENT, SENDER
from harness import CLIENT, DEADLINE_S, main, outside, wait_for


class Pause(EdgeCase):
    def test_who_waits_for_the_banner_gets_it(self):
        self.front(limits={"greet-pause": "300ms"})
        client = self.client()
        client.hello()
        client.say("QUIT", 221)
        line = self.ended()[0]
        self.assertGreaterEqual(line["waited_ms"], 300)
        self.assertEqual(line["end"], "quit")

    def test_who_speaks_first_is_refused_without_a_banner(self):
        self.front(limits={"greet-pause": "60s"})
        client = self.client()
        client.send(wire(*session(INBOX)))
        self.assertEqual(client.reply()[0], 521)
        self.assertTrue(client.is_closed())
        self.assertEqual(self.ended()[0]["end"], "early")
        counters = self.counters()
        self.assertEqual(counters["early-talkers"], 1)
        self.assertEqual(counters["sessions-handed-over"], 0)

    def test_it_is_only_counted_where_the_configuration_says_so(self):
        self.front(limits={"greet-pause": "200ms", "early-talker": "ignore"})
        client = self.client()
        client.send(wire(*session(NOBODY), "QUIT"))
        self.assertEqual(self.codes(self.read_all(client)), [220, 250, 250, 550, 221])
        self.assertEqual(self.counters()["early-talkers"], 1)

    def test_without_a_pause_nobody_is_early_however_long_dns_takes(self):
        self.front(library={"zones": [NAME], "servers": [SILENT]}, decision={"deadline": "300ms"})
        client = self.client()
        client.send(wire(*session(NOBODY), "QUIT"))
        self.assertEqual(self.codes(self.read_all(client)), [220, 250, 250, 550, 221])

    def test_own_networks_wait_for_nothing(self):
        self.front(limits={"greet-pause": "60s"},
                   decision={"exempt": [f"{outside(CLIENT)}/32"]})
        client = self.client()
        client.hello()
        client.say("QUIT", 221)
        self.assertEqual(self.ended()[0]["verdict"], "exempt")
        with self.client() as other:
            other.hello()
            other.send_mail("", [INBOX], b"A: b\r\n")
            other.say("QUIT", 221)
        last = self.fixture.wait_for_sessions(2)[1]
        self.assertEqual((last["by"], last["verdict"]), ("worker", "exempt"))

    def test_who_leaves_during_the_pause_is_let_go_at_once(self):
        self.front(limits={"greet-pause": "60s"})
        self.client().close()
        self.client().reset()
        self.assertEqual({line["end"] for line in self.ended(2)} - {"reset"}, {"hangup"})


class Verdicts(EdgeCase):
    """Clients are played by a balancer's header."""

    def listing(self, library=None, **sections):
        authority = mta.Authority(self, [LISTED])
        host, port = authority.address
        return self.front(front={"proxy": [f"{outside(CLIENT)}/32"]},
                          library={"zones": [NAME], "servers": [f"{host}@{port}"],
                                   **(library or {})}, **sections)

    def play(self, address, *recipients):
        client = self.client()
        client.send(proxy_v1(address))
        client.hello()
        client.say("MAIL FROM:<a@b.example>", 250)
        return client, [client.say(f"RCPT TO:<{recipient}>") for recipient in recipients]

    def test_a_listed_client_is_refused_at_its_recipients_and_costs_no_worker(self):
        self.listing()
        client, replies = self.play(LISTED, INBOX, NOBODY)
        for code, lines in replies:
            self.assertEqual(code, 550)
            self.assertEqual(lines, [f"5.7.1 Service unavailable; {LISTED} is listed by {NAME}"])
        self.assertIn(client.say("DATA")[0], (503, 554))
        client.say("QUIT", 221)
        line = self.ended()[0]
        self.assertEqual((line["client"], line["verdict"], line["score"], line["zones"],
                          line["refused"], line["from"], line["to"]),
                         (LISTED, "listed", 1, NAME, 2, "a@b.example", NOBODY))
        counters = self.counters()
        self.assertEqual((counters["listed"], counters["refused"], counters["sessions-bounced"],
                          counters["sessions-handed-over"]), (1, 1, 1, 0))

    def test_others_are_not(self):
        self.listing()
        client, replies = self.play(CLEAR, INBOX)
        self.assertEqual(replies[0][0], 250)
        client.say("QUIT", 221)
        self.assertEqual(self.counters()["clear"], 1)

    def test_a_listed_client_may_be_put_off_or_let_pass(self):
        front = self.listing(decision={"action": "defer"})
        client, replies = self.play(LISTED, INBOX)
        self.assertEqual(replies[0][0], 450)
        self.assertIn("4.7.1", replies[0][1][0])
        client.close()
        for action in "warn", "prepend":
            with self.subTest(action):
                old = self.edge()
                self.assertTrue(front.reload(decision={"action": action}))
                # Who had not been greeted by the old one would be put off.
                wait_for(lambda: old not in front.processes()["edge"], "the old edge to end")
                client, replies = self.play(LISTED, INBOX)
                self.assertEqual(replies[0][0], 250)
                client.say("QUIT", 221)

    def test_where_connections_are_passed_on_a_listed_client_is_not(self):
        place = self.path("pass")
        with socket.socket(socket.AF_UNIX) as smtpd:
            smtpd.bind(place)
            os.chmod(place, 0o666)
            smtpd.listen()
            self.listing(sink={"kind": "postfix", "to": place}, users=None)
            client, replies = self.play(LISTED, INBOX)
            self.assertEqual(replies[0][0], 550)
            client.say("QUIT", 221)
            self.assertEqual(self.ended()[0]["verdict"], "listed")
            self.assertEqual(self.counters()["sessions-handed-over"], 0)
            other = self.client()
            other.send(proxy_v1(CLEAR))
            self.wait_for_handed_over(1)
            with smtpd.accept()[0] as passed:
                # The descriptor's byte and what is behind it: unread, it would not be taken.
                passed.recv(1)
                passed.recv(4096)

    def test_nor_one_whom_xclient_has_named(self):
        authority = mta.Authority(self, [LISTED])
        self.front(front={"xclient": [f"{LISTED}/32"], "proxy": [f"{outside(CLIENT)}/32"]},
                   authority=authority, sink={"kind": "postfix", "to": self.path("pass")},
                   users=None)
        client = self.client()
        client.send(proxy_v1(LISTED))
        client.hello()
        client.say(f"XCLIENT ADDR={CLEAR}", 220)
        client.say("EHLO other.example", 250)
        client.say("MAIL FROM:<>", 250)
        client.say(f"RCPT TO:<{INBOX}>", 451)
        client.say("QUIT", 221)

    def test_silent_dns_lets_pass_at_the_deadline(self):
        self.front(library={"zones": [NAME], "servers": [SILENT]},
                   decision={"deadline": "300ms"})
        self.is_fine()
        self.assertEqual(self.counters()["unknown"], 1)

    def test_xclient_is_judged_anew(self):
        authority = mta.Authority(self, [LISTED])
        self.front(front={"xclient": [f"{outside(CLIENT)}/32"]}, authority=authority)
        client = self.client()
        self.assertIn("XCLIENT", client.hello())
        client.say(f"XCLIENT ADDR={LISTED} PORT=4711", 220)
        client.say("EHLO other.example", 250)
        client.say("MAIL FROM:<a@b.example>", 250)
        self.assertIn(f"{LISTED} is listed", client.say(f"RCPT TO:<{INBOX}>", 550))
        client.say(f"XCLIENT ADDR={CLEAR}", 503)
        client.say("RSET", 250)
        client.say(f"XCLIENT ADDR={CLEAR}", 220)
        client.say("EHLO other.example", 250)
        client.say("MAIL FROM:<a@b.example>", 250)
        client.say(f"RCPT TO:<{INBOX}>", 250)
        client.say("QUIT", 221)

    def test_of_a_client_that_is_not_judged_a_worker_hears_no_verdict_of_the_one_before(self):
        authority = mta.Authority(self, [LISTED])
        self.front(front={"xclient": [f"{outside(CLIENT)}/32"]}, authority=authority,
                   decision={"exempt": ["192.0.2.77/32"]})
        client = self.client()
        client.hello()
        for address, code in (LISTED, 550), ("192.0.2.77", 250):
            client.say(f"XCLIENT ADDR={address}", 220)
            client.say("EHLO other.example", 250)
            client.say("MAIL FROM:<a@b.example>", 250)
            client.say(f"RCPT TO:<{INBOX}>", code)
            client.say("RSET", 250)
        client.say("QUIT", 221)
        line, = self.fixture.wait_for_sessions(1)
        self.assertEqual((line["by"], line["verdict"], line["score"], line["zones"]), ("worker", "exempt", 0, ""))

    def test_a_relay_is_to_come_again_for_another_client_behind_a_mail(self):
        self.front(front={"xclient": [f"{outside(CLIENT)}/32"]}, sink={"kind": "maildir"})
        for count, address in enumerate((CLEAR, "192.0.2.77"), 1):
            client = self.client()
            client.hello()
            client.say(f"XCLIENT ADDR={address}", 220)
            client.say("EHLO other.example", 250)
            client.send_mail("a@b.example", [INBOX], b"A: b\r\n")
            client.say(f"XCLIENT ADDR={LISTED}", 421)
            self.assertTrue(client.is_closed())
            # Of two workers either may say its line first.
            self.assertEqual(self.fixture.wait_for_sessions(count)[-1]["client"], address)

    def test_xclient_is_for_those_who_may(self):
        self.front()
        client = self.client()
        self.assertNotIn("XCLIENT", client.hello())
        self.assertGreaterEqual(client.say(f"XCLIENT ADDR={LISTED}")[0], 500)


class Bounces(EdgeCase):
    def test_recipients_that_are_none_are_refused_by_the_edge_alone(self):
        self.front()
        client = self.client()
        client.hello()
        client.say("MAIL FROM:<a@b.example>", 250)
        self.assertIn("5.1.1", client.say(f"RCPT TO:<{NOBODY}>", 550))
        self.assertIn("5.7.1", client.say(f"RCPT TO:<{FOREIGN}>", 550))
        client.say("QUIT", 221)
        line = self.ended()[0]
        counters = self.counters()
        self.assertEqual((counters["recipients-unknown"], counters["recipients-relay"],
                          counters["sessions-bounced"], counters["sessions-handed-over"]),
                         (1, 1, 1, 0))
        self.assertEqual((line["refused"], line["recipients"], line["helo"]),
                         (2, 0, "client.example.net"))

    def test_the_first_valid_one_is_handed_over_with_what_was_said_before(self):
        front = self.front(sink={"kind": "maildir"})
        client = self.client()
        client.hello()
        client.say("MAIL FROM:<a@b.example> SIZE=100", 250)
        client.say(f"RCPT TO:<{NOBODY}>", 550)
        client.say(f"RCPT TO:<{INBOX}>", 250)
        client.say(f"RCPT TO:<{NOBODY}>", 550)
        client.say("DATA", 354)
        client.send(b"Subject: one\r\n\r\nText\r\n.\r\n")
        client.expect(250)
        client.say("QUIT", 221)
        self.assertIn(b"Subject: one\n\nText\n", front.mails()[0])

    def test_a_list_that_changes_is_seen_at_once(self):
        front = self.front()
        client = self.client()
        client.hello()
        client.say("MAIL FROM:<a@b.example>", 250)
        client.say("RCPT TO:<new@example.com>", 550)
        front.build_users([INBOX, "new@example.com"])
        client.say("RCPT TO:<new@example.com>", 250)

    def test_a_list_that_changes_is_seen_by_edges_and_workers_without_its_lock_file(self):
        front = self.front()
        os.unlink(front.users_path + "-lock")
        for new in ("one@example.com", "two@example.com", "three@example.com"):
            front.build_users([INBOX, new])
            with self.client() as client:
                client.hello()
                client.say("MAIL FROM:<a@b.example>", 250)
                client.say(f"RCPT TO:<{new}>", 250)
                client.say(f"RCPT TO:<{new}>", 250)
                client.say("RCPT TO:<former@example.com>", 550)
                client.say("QUIT", 221)


class NextHop(threading.Thread):
    """Says what a test wants about recipients, and counts how often it is asked."""

    def __init__(self, case, replies):
        super().__init__(daemon=True)
        self.replies = replies  # {address: reply}
        self.asked = collections.Counter()
        self.listener = socket.create_server((case.host, 0))
        self.address = self.listener.getsockname()
        case.addCleanup(self.close)
        self.start()

    def close(self):
        try:
            self.listener.shutdown(socket.SHUT_RDWR)  # of who waits in accept()
        except OSError:
            pass
        self.listener.close()

    def run(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with connection, connection.makefile("rwb", buffering=0) as file:
            try:
                file.write(b"220 hop\r\n")
                for line in file:
                    file.write(self.reply(line.decode().strip()).encode() + b"\r\n")
            except OSError:
                pass  # smtp-front has ended

    def reply(self, line):
        found = re.match(r"RCPT TO:<(.*?)>", line)
        if not found:
            return "250 ok"
        self.asked[found.group(1)] += 1
        return self.replies.get(found.group(1), "250 2.1.5 ok")


class Forward(EdgeCase):
    """Without a list the next hop is asked."""

    def forwarding(self, replies, **trust):
        self.hop = NextHop(self, replies)
        host, port = self.hop.address
        return self.front(front={"workers": 1}, users=None,
                          trust={"forward": f"{host}@{port}", **trust})

    def test_its_words_are_passed_on_and_remembered(self):
        self.forwarding({NOBODY: "550 5.1.1 not one of mine", "full@example.com": "452 4.2.2 full"})
        for _ in range(2):
            client = self.client()
            client.hello()
            client.say("MAIL FROM:<a@b.example>", 250)
            self.assertIn("5.1.1 not one of mine", client.say(f"RCPT TO:<{NOBODY}>", 550))
            self.assertIn("4.2.2 full", client.say("RCPT TO:<full@example.com>", 452))
            client.say(f"RCPT TO:<{INBOX}>", 250)
            client.say("QUIT", 221)
        self.wait_for_handed_over(2)
        # The worker asks again, and remembers that as well.
        self.assertEqual(self.hop.asked, {NOBODY: 1, "full@example.com": 2, INBOX: 2})

    def test_what_is_pipelined_waits_for_the_answer(self):
        self.forwarding({f"n{i}@example.com": "550 5.1.1 no" for i in range(5)})
        client = self.client()
        client.expect(220)
        client.send(wire(*session(*[f"n{i}@example.com" for i in range(5)], INBOX, "n1@example.com"),
                         "RSET", "QUIT"))
        self.assertEqual(self.codes(self.read_all(client))[:8], [250, 250, *[550] * 5, 250])

    def test_who_leaves_while_it_is_asked_does_no_harm(self):
        self.forwarding({})
        for i in range(50):
            client = self.client()
            client.expect(220)
            client.send(wire(*session(f"user{i}@example.com")))
            client.reset()
        self.is_fine()
        self.fixture.wait_for_sessions(51)  # a worker may have one still, for which it asks a hop that is to go

    def test_when_it_is_down_recipients_are_put_off(self):
        self.forwarding({}, **{"forward-timeout": "1s"})
        self.hop.close()
        client = self.client()
        client.hello()
        client.say("MAIL FROM:<a@b.example>", 250)
        self.assertIn("4.4.", client.say(f"RCPT TO:<{INBOX}>", 451))
        client.say("QUIT", 221)
        self.assertEqual(self.ended()[0]["refused"], 1)


class Pieces(EdgeCase):
    """The same dialogue however it is cut, and whatever is pipelined."""

    LINES = (*session(NOBODY, INBOX, FOREIGN), "DATA")
    CODES = [220, 250, 250, 550, 250, 550, 354]
    BODY = b"Subject: x\r\n\r\n..\r\nend\r\n.\r\nQUIT\r\n"

    def test_all_at_once(self):
        self.front()
        client = self.client()
        client.expect(220)
        client.send(wire(*self.LINES) + self.BODY)
        self.assertEqual(self.codes(self.read_all(client)), self.CODES[1:] + [250, 221])

    def test_a_byte_at_a_time(self):
        self.front()
        client = self.client()
        client.expect(220)
        for byte in wire(*self.LINES) + self.BODY:
            client.send(bytes([byte]))
        self.assertEqual(self.codes(self.read_all(client)), self.CODES[1:] + [250, 221])

    def test_cut_in_two_at_every_byte(self):
        """Both parts at once, and the second when the first is answered: each mail arrives once."""
        front = self.front(sink={"kind": "maildir"})
        head = wire(*session(INBOX, NOBODY, INBOX), "DATA")
        expected = []
        for cut in range(1, len(head + self.content(0))):
            for is_patient in False, True:
                data = head + self.content(cut * 2 + is_patient)
                expected.append(b"Subject: %d\n\n.\nend\n" % (1000 + cut * 2 + is_patient))
                self.send_in_two(data, cut, head.count(b"\r\n", 0, cut) if is_patient else 0)
        found = [b"Subject: " + mail.split(b"Subject: ")[1] for mail in front.mails()]
        self.assertEqual(sorted(found), expected)

    def content(self, number):
        return b"Subject: %d\r\n\r\n..\r\nend\r\n.\r\nQUIT\r\n" % (1000 + number)

    def send_in_two(self, data, cut, answered):
        with self.client() as client:
            client.expect(220)
            client.send(data[:cut])
            codes = [client.reply()[0] for _ in range(answered)]
            client.send(data[cut:])
            codes += self.codes(self.read_all(client))
        self.assertEqual(codes, [250, 250, 250, 550, 250, 354, 250, 221], f"cut before {cut}")

    def test_hundreds_of_commands_in_one_group(self):
        """More replies than the edge has room for at a time."""
        self.front(limits={"errors": 10000})
        client = self.client()
        client.expect(220)
        client.send(wire("EHLO a", "MAIL FROM:<>", *[f"RCPT TO:<{NOBODY}>"] * 500, "QUIT"))
        self.assertEqual(self.codes(self.read_all(client)), [250, 250] + [550] * 500 + [221])

    def test_a_client_that_takes_no_replies_is_read_no_further(self):
        self.front(limits={"errors": 10000, "commands": 1000000, "junk-commands": 1000000})
        pid = self.edge()
        client = self.client()
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.expect(220)
        client.send(wire("EHLO a"))
        client.socket.settimeout(1)
        sent = 0
        with self.assertRaises(TimeoutError):
            while sent < 64 << 20:
                sent += client.socket.send(wire(*["NOOP"] * 1000))
        self.is_fine()
        client.socket.settimeout(DEADLINE_S)
        client.expect(250)
        for _ in range(1000):
            client.expect(250)
        self.assertEqual(self.edge(), pid)


class Malformed(EdgeCase):
    def refused(self, data, *codes):
        with self.client() as client:
            client.expect(220)
            client.send(data)
            found = self.codes(self.read_all(client))
            self.assertTrue(found and found[-1] in codes, (data[:40], found))
        return found

    def test_lines_end_with_both_and_nothing_else(self):
        self.front()
        for end in b"\n", b"\r", b"\n\r", b"\r\r\n", b"\0\r\n", b"\r\0\n":
            for line in b"EHLO a", b"EH", b"":
                with self.subTest(line=line, end=end):
                    self.refused(line + end + b"QUIT\r\n", 500, 501, 521)
        self.is_fine()

    def test_a_line_without_an_end_is_cut_off_before_it_costs_anything(self):
        self.front()
        before = harness.anonymous_kb(self.edge())
        client = self.client()
        client.expect(220)
        sent = 0
        try:
            while sent < 64 << 20:
                client.send(b"x" * 65536)
                sent += 65536
        except (BrokenPipeError, ConnectionResetError):
            pass
        self.assertLess(sent, 64 << 20, "nobody has stopped it")
        self.assertLess(harness.anonymous_kb(self.edge()) - before, 1024)
        self.is_fine()

    def test_a_line_that_is_too_long_is_one_error(self):
        self.front()
        found = self.refused(b"NOOP " + b"x" * 20000 + b"\r\n" + wire("NOOP", "QUIT"), 221)
        self.assertEqual(found, [500, 250, 221])

    def test_commands_out_of_order(self):
        self.front(limits={"errors": 1000})
        client = self.client()
        client.expect(220)
        for line in ("DATA", "RCPT TO:<a@b.example>", "MAIL FROM:<a@b.example>", "BDAT 0 LAST",
                     "STARTTLS", "XCLIENT ADDR=1.2.3.4", "AUTH PLAIN", "GARBAGE", "\x7f",
                     "RCPT TO:", "MAIL FROM:<", "EHLO"):
            with self.subTest(line):
                self.assertGreaterEqual(client.say(line)[0], 500)
        client.say("EHLO a", 250)
        client.say(f"RCPT TO:<{INBOX}>", 503)
        client.say("DATA", 503)
        client.say("MAIL FROM:<>", 250)
        client.say("MAIL FROM:<>", 503)
        self.assertIn(client.say("DATA")[0], (503, 554))
        client.say("QUIT", 221)

    def test_a_chunk_without_a_recipient_is_swallowed_not_read_as_commands(self):
        self.front()
        client = self.client()
        client.hello()
        client.say("MAIL FROM:<>", 250)
        body = wire(f"RCPT TO:<{INBOX}>", "QUIT")
        client.send(b"BDAT %d LAST\r\n" % len(body) + body + wire("NOOP", "QUIT"))
        found = self.codes(self.read_all(client))
        self.assertEqual(found, [found[0], 250, 221])
        self.assertGreaterEqual(found[0], 500)
        # It is refused behind its last octet, or not at all.
        self.fixture.stop()
        self.front(limits={"command-timeout": "300ms", "stress-timeout": "300ms"})

        def half():
            """None when the machine stood still before the edge had read a word."""
            with self.client() as client:
                client.send(wire("EHLO a") + b"BDAT 10 LAST\r\nhalf")
                codes = self.codes(self.read_all(client))
            return codes if codes != [220, 421] else None

        self.assertEqual(wait_for(half, "a client that was in time"), [220, 250, 421])
        self.fixture.stop()
        self.front()
        # More than anybody has time for, and nobody knows how much.
        for size in 10**9, 10**20, -1:
            client = self.client()
            client.hello()
            client.send(b"BDAT %d LAST\r\n" % size)
            self.assertGreaterEqual(client.reply()[0], 500)
            self.assertTrue(client.is_closed())

    def test_too_many_errors_and_commands_end_a_session(self):
        self.front(limits={"errors": 3, "commands": 20})
        self.assertIn(421, self.refused(wire("EHLO a", *["NONSENSE"] * 10), 421))
        self.assertIn(421, self.refused(wire("EHLO a", *["NOOP"] * 50), 421))
        self.assertEqual({line["end"] for line in self.ended(2)}, {"error"})

    def test_a_mail_may_have_more_recipients_than_a_session_has_commands(self):
        self.front(limits={"commands": 10, "recipients": 15}, sink={"kind": "null"})
        with self.client() as client:
            client.hello()
            client.send_mail(SENDER, [INBOX] * 15, CONTENT)
            client.say("QUIT", 221)

    def test_a_reset_at_every_byte(self):
        self.front()
        data = wire(*session(NOBODY, FOREIGN), "RSET", "NOOP", "QUIT")
        for cut in range(len(data)):
            client = self.client()
            client.expect(220)
            client.send(data[:cut])
            client.reset()
        lines = self.ended(len(data))
        self.assertEqual(len(lines), len(data))
        self.assertLessEqual({line["end"] for line in lines}, {"reset", "hangup", "quit"})
        self.is_fine()
        wait_for(lambda: self.counters()["sessions"] == 0, "all sessions to be gone")

    def test_an_end_at_every_byte(self):
        self.front()
        data = wire(*session(NOBODY), "QUIT")
        for cut in range(len(data)):
            with self.client() as client:
                client.expect(220)
                client.send(data[:cut])
                client.socket.shutdown(socket.SHUT_WR)
                found = self.codes(self.read_all(client))
                self.assertEqual(found, [250, 250, 550][:data[:cut].count(b"\r\n")])


class Proxy(EdgeCase):
    def balanced(self, **sections):
        return self.front(front={"proxy": [f"{outside(CLIENT)}/32"]}, **sections)

    def test_both_versions_name_the_client(self):
        self.balanced()
        for header in proxy_v1(), proxy_v2():
            client = self.client()
            client.send(header)
            client.hello()
            client.say("QUIT", 221)
        for line in self.ended(2):
            self.assertEqual((line["client"], line["port"], line["local"]),
                             (CLEAR, 40000, "192.0.2.25"))

    def test_ipv6_too(self):
        self.balanced(limits={"connections": 1})
        client = self.client()
        client.send(b"PROXY TCP6 2001:db8:1:2::7 2001:db8::25 40000 25\r\n")
        client.hello()
        other = self.client()
        other.send(b"PROXY TCP6 2001:db8:1:ff::1 2001:db8::25 40000 25\r\n")
        self.assertEqual(other.reply()[0], 421)  # the same /56
        client.say("QUIT", 221)
        line = next(line for line in self.ended(2) if line["end"] == "quit")
        self.assertEqual((line["client"], line["local"]), ("2001:db8:1:2::7", "2001:db8::25"))

    def test_whoever_is_no_balancer_is_not_believed(self):
        self.front(front={"proxy": ["192.0.2.0/24"]})
        for header in proxy_v1(), proxy_v2():
            client = self.client()
            client.send(header + wire("QUIT"))
            codes = self.codes(self.read_all(client))
            self.assertEqual(codes[0], 220)
            self.assertGreaterEqual(codes[1], 500)
        self.assertEqual({line["client"] for line in self.ended(2)}, {outside(CLIENT)})

    def test_it_may_come_in_pieces(self):
        self.balanced()
        for header in proxy_v1(), proxy_v2():
            client = self.client()
            for byte in header:
                client.send(bytes([byte]))
            client.hello()

    def test_the_balancer_itself_may_look_whether_we_live(self):
        self.balanced()
        for header in proxy_v2(command=0x20), b"PROXY UNKNOWN\r\n":
            client = self.client()
            client.send(header)
            client.hello()
            client.say("QUIT", 221)
        self.assertEqual({line["client"] for line in self.ended(2)}, {outside(CLIENT)})

    def test_whoever_does_not_send_it_is_not_spoken_to(self):
        self.balanced()
        bad = [b"EHLO a\r\n", b"PROXY TCP4 1.2.3.4\r\n", b"PROXY TCP4 a b 1 2\r\n",
               b"PROXY TCP4 1.2.3.4 5.6.7.8 99999 25\r\n", b"PROXY " + b"x" * 200,
               proxy_v2(command=0x2f), proxy_v2(family=0x99), b"\r\n\r\n\0\r\nQUIT\n\x21\x11\xff\xff"]
        for header in bad:
            with self.subTest(header), self.client() as client:
                client.send(header)
                self.assertEqual(self.read_all(client), b"")
        for header in proxy_v1(), proxy_v2():
            for cut in range(0, len(header), 3):
                with self.client() as client:
                    client.send(header[:cut])
                    client.socket.shutdown(socket.SHUT_WR)
                    self.assertEqual(self.read_all(client), b"")
        self.assertGreaterEqual(self.counters()["proxy-bad"], len(bad))

    def test_who_speaks_behind_the_header_speaks_early(self):
        self.balanced(limits={"greet-pause": "60s"})
        client = self.client()
        client.send(proxy_v1() + b"EHLO a\r\n")
        self.assertEqual(client.reply()[0], 521)

    def test_limits_are_for_the_client_not_for_the_balancer(self):
        self.balanced(limits={"connections": 1})
        first = self.client()
        first.send(proxy_v1("198.51.100.1"))
        first.hello()
        second = self.client()
        second.send(proxy_v1("198.51.100.2"))
        self.assertEqual(second.reply()[0], 421)
        third = self.client()
        third.send(proxy_v1("198.51.101.1"))
        third.hello()


if __name__ == "__main__":
    main(has_own_network=True)
