#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
dnsblv6-milter: what it tells a mail server, what it makes of one that does not keep to the
protocol, and what Debian's Postfix and sendmail make of it. dnsblv6d has the list, milter.py
plays a mail server. Both real ones need root; sendmail is unpacked by ./check.
"""

import os
import pwd
import random
import re
import signal
import socket
import stat
import struct
import subprocess
import threading

import harness
from harness import DEADLINE_S, EX_CONFIG, EX_NOPERM, ZONE, Case, sanitizer_reports, wait_for
from milter import (ADDHDRS, ALL_ACTIONS, CHGBODY, CHGHDRS, MAIL_STAGE, NOHDRS, QUARANTINE,
                    Milter, Vanished, connect_data, deleted, inserted, packet, text)
from mta import Authority, Outcome, Postfix, Session, need_root, run_as_nobody, send, send_all
from sendmail import Sendmail
from translated import paste

EX_UNAVAILABLE = 69
NAME = ZONE.rstrip(".")
LISTED, NEIGHBOUR, CLEAR = "192.0.2.66", "192.0.2.67", "198.51.100.1"
LISTED_6, NEIGHBOUR_6, CLEAR_6 = "2001:db8:1::25", "2001:db8:1:1::25", "2001:db8:2::25"
TEST_POINT = "127.0.0.2"  # every list has it (RFC 5782)
REASON = f"is listed by {NAME}"
HEADER = "X-DNSBLv6"
FORGED = f"{HEADER}: score=-9 zones=; trust me"


class MilterCase(Case):
    def setUp(self):
        super().setUp()
        self.path_of_socket = self.path("milter")

    def authority(self):
        if not hasattr(self, "_authority"):
            self._authority = Authority(self, [LISTED, "2001:db8:1::/64"])
        return self._authority

    def config(self, action="reject", decision=(), milter=(), library=(), place=None, server=None,
               deadline="60s", mode=666):
        host, port = server or self.authority().address
        sections = {
            "milter": [f"socket: {place or self.path_of_socket}", f"socket-mode: {mode}",
                       *milter],
            "decision": [f"action: {action}", f"deadline: {deadline}", *decision],
            "library": [f"zones: {NAME}", f"servers: {host}@{port}", *library],
        }
        return self.write("milter.conf", "".join(
            f"{name}:\n" + "".join(f"    {line}\n" for line in lines)
            for name, lines in sections.items()))

    def start_milter(self, *arguments, **how):
        daemon = self.start([harness.program("dnsblv6-milter"), "--config",
                             self.config(*arguments, **how)], "milter")
        daemon.wait_for_log(r"^info: \[dnsblv6-milter\] ready, ")
        return daemon

    def run_milter(self, *arguments):
        result = subprocess.run([harness.program("dnsblv6-milter"), *arguments],
                                capture_output=True, text=True, check=False, timeout=DEADLINE_S)
        self.assertEqual(sanitizer_reports(result.stderr), [])
        return result

    def session(self, **how):
        return Milter(self.path_of_socket, **how)

    def counters(self, daemon):
        """What it logs when it is asked to, as a dictionary."""
        pattern = r"^info: \[dnsblv6-milter\] counters, (.*)"
        seen = len(re.findall(pattern, daemon.log(), re.MULTILINE))
        daemon.send_signal(signal.SIGUSR1)
        line = daemon.wait_for_log(pattern, seen + 1)[-1]
        return {name: int(value) for name, value in re.findall(r"([-\w]+)=(\d+)", line)}

    def wait_until_closed(self, daemon):
        wait_for(lambda: self.counters(daemon)["sessions"] == 0, "all sessions to be closed")

    def assert_serves(self):
        """Whoever comes is judged as ever."""
        with self.session() as milter:
            self.assertEqual((milter.connect(LISTED), milter.mail()), ("c", "c"))
            self.assertEqual(milter.rcpt()[0], "y")


class Decisions(MilterCase):
    def test_listed_clients_are_refused_and_others_are_left(self):
        daemon = self.start_milter()
        for client in (LISTED, LISTED_6, "IPv6:" + LISTED_6, TEST_POINT):
            with self.subTest(client), self.session() as milter:
                self.assertEqual((milter.connect(client), milter.mail()), ("c", "c"))
                address = client.removeprefix("IPv6:")
                for _ in range(2):
                    self.assertEqual(milter.rcpt(), ("y", "550 5.7.1 Service unavailable; "
                                                          f"{address} {REASON}"))
        for client in (CLEAR, CLEAR_6, "127.0.0.1", None, "/run/mail"):
            with self.subTest(client), self.session() as milter:
                self.assertEqual(milter.connect(client), "a")
        counted = self.counters(daemon)
        self.assertEqual([counted[name] for name in (
            "connections", "no-address", "exempt", "listed", "clear", "rejected")],
            [9, 2, 1, 4, 2, 8])
        # One line for a mail, however many recipients it has.
        self.assertEqual(len(re.findall(r"rejected, client=", daemon.log())), 4)

    def test_a_neighbour_costs_no_question(self):
        self.start_milter()
        with self.session() as milter:
            self.assertEqual(milter.connect(LISTED), "c")
        before = self.authority().questions()
        for client in (NEIGHBOUR, LISTED):
            with self.session() as milter:
                self.assertEqual(milter.connect(client), "a" if client == NEIGHBOUR else "c")
        self.assertEqual(self.authority().questions(), before)

    def test_only_what_is_used_is_asked_for(self):
        self.start_milter()
        with self.session() as milter:
            self.assertEqual(milter.actions & (ADDHDRS | CHGHDRS | QUARANTINE), 0)
            self.assertTrue(milter.steps & NOHDRS)
            self.assertEqual(milter.symbols, struct.pack(">I", MAIL_STAGE) + text("{auth_authen}"))

    def test_whoever_has_authenticated_is_let_through(self):
        daemon = self.start_milter()
        with self.session() as milter:
            self.assertEqual(milter.connect(LISTED), "c")
            self.assertEqual(milter.mail(login="joe"), "a")
            self.assertEqual((milter.mail(), milter.rcpt()[0]), ("c", "y"))
        self.assertEqual(self.counters(daemon)["authenticated"], 1)

    def test_one_who_follows_over_the_same_connection_is_judged_anew(self):
        daemon = self.start_milter()
        with self.session() as milter:
            self.assertEqual((milter.connect(LISTED), milter.mail()), ("c", "c"))
            milter.abort()
            milter.quit_session()
            self.assertEqual(milter.connect(LISTED_6), "c")
            self.assertEqual((milter.mail(), milter.rcpt()[0]), ("c", "y"))
            milter.abort()
            milter.quit_session()
            self.assertEqual(milter.connect(CLEAR), "a")
        self.wait_until_closed(daemon)

    def test_put_off(self):
        self.start_milter("defer")
        with self.session() as milter:
            self.assertEqual((milter.connect(LISTED), milter.mail()), ("c", "c"))
            self.assertEqual(milter.rcpt(), ("y", "451 4.7.1 Service unavailable; "
                                                  f"{LISTED} {REASON}"))

    def test_warned_about(self):
        daemon = self.start_milter("warn")
        with self.session() as milter:
            self.assertEqual((milter.connect(LISTED), milter.mail()), ("c", "a"))
        daemon.wait_for_log(f"let through, a warning, client={LISTED} verdict=listed score=1")

    def test_marked(self):
        self.start_milter("prepend")
        with self.session() as milter:
            self.assertEqual(milter.actions & (ADDHDRS | CHGHDRS), ADDHDRS | CHGHDRS)
            self.assertFalse(milter.steps & NOHDRS)
            for login, is_marked in ((None, True), ("joe", False), (None, True)):
                self.assertEqual(milter.connect(LISTED), "c")
                self.assertEqual((milter.mail(login=login), milter.rcpt()), ("c", "c"))
                replies = milter.message(["Subject: x", FORGED, FORGED.lower(), "X-DNSBLv66: y"])
                self.assertEqual(deleted(replies), [(HEADER, 2), (HEADER, 1)])
                marks = [(HEADER, f"score=1 zones={NAME}; {LISTED} {REASON}")] if is_marked else []
                self.assertEqual(inserted(replies), marks)
                self.assertEqual(replies[-1], ("c", b""))
                milter.quit_session()
        with self.session() as milter:
            self.assertEqual((milter.connect(CLEAR), milter.mail(), milter.rcpt()), ("c",) * 3)
            replies = milter.message([FORGED])
            self.assertEqual((deleted(replies), inserted(replies)), ([(HEADER, 1)], []))
        with self.session() as milter:
            self.assertEqual(milter.connect("127.0.0.1"), "a")

    def test_quarantined(self):
        daemon = self.start_milter(milter=["quarantine: yes"])
        with self.session() as milter:
            self.assertEqual((milter.connect(LISTED), milter.mail(), milter.rcpt()), ("c",) * 3)
            replies = milter.message(["Subject: x"])
            self.assertEqual(len(inserted(replies)), 1)
            self.assertIn(("q", text(f"Service unavailable; {LISTED} {REASON}")), replies)
        # A mail server that permits none of it gets its mail as it was.
        with self.session(actions=CHGBODY) as milter:
            self.assertEqual((milter.connect(LISTED), milter.mail(), milter.rcpt()), ("c",) * 3)
            self.assertEqual(milter.message([FORGED]), [("c", b"")])
        daemon.wait_for_log("^warning: .* the mail server does not permit what is to be done, "
                            "missing=SMFIF_ADDHDRS,SMFIF_CHGHDRS,SMFIF_QUARANTINE$")
        daemon.wait_for_log(f"^warning: .* mail not changed, client={LISTED}")

    def test_an_allow_list_is_read_again(self):
        self.expect_log("the old allow list holds")
        allow = self.write("allow", "192.0.2.64/26\n")
        daemon = self.start_milter(decision=[f"allow-file: {allow}", f"exempt: {LISTED_6}"])
        for client in (LISTED, LISTED_6):
            with self.session() as milter:
                self.assertEqual(milter.connect(client), "a")
        self.write("allow", "192.0.2.3.4\n")
        daemon.send_signal(signal.SIGHUP)
        daemon.wait_for_log(r"^error: \[.*/allow:1\] allow list refused ")
        with self.session() as milter:
            self.assertEqual(milter.connect(LISTED), "a")
        self.write("allow", "203.0.113.0/24\n")
        daemon.send_signal(signal.SIGHUP)
        daemon.wait_for_log(r"^info: \[dnsblv6-milter\] allow list read, networks=1$")
        self.assert_serves()


class Outages(MilterCase):
    def test_the_cache_daemon_may_go_and_come(self):
        host, port = self.authority().address
        config = self.write("cached.conf", f"cached:\n    directory: {self.path('shared')}\n"
                            f"zone:\n  - domain: {NAME}\nlibrary:\n    servers: {host}@{port}\n")

        def start_cached():
            daemon = self.start([harness.program("dnsblv6-cached"), "--config", config], "cached")
            daemon.wait_for_log(r"^info: \[dnsblv6-cached\] ready, ")
            return daemon

        cached = start_cached()
        milter = self.start_milter(library=[f"shared: {self.path('shared')}"])
        self.assert_serves()
        self.counters(milter)
        self.assertRegex(milter.log(), "daemon-answered=[1-9]")
        cached.popen.kill()
        cached.popen.wait()
        for client in (LISTED, LISTED_6):
            with self.session() as session:
                self.assertEqual((session.connect(client), session.mail()), ("c", "c"))
                self.assertEqual(session.rcpt()[0], "y")
        start_cached()
        self.assert_serves()

    def test_without_dns_clients_pass(self):
        # Nobody listens there, and nobody answers there.
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
            silent.bind((self.host, 0))
            for server in (self.free_address(), silent.getsockname()):
                daemon = self.start_milter(server=server, deadline="100ms")
                with self.session() as milter:
                    self.assertEqual(milter.connect(LISTED), "a")
                self.assertEqual(self.counters(daemon)["unknown"], 1)
                self.assertEqual(daemon.stop(), 0)

    def test_what_an_outage_means_is_the_administrators_choice(self):
        for policy, reply in (("closed", "550 5.7.1"), ("defer", "451 4.7.1")):
            daemon = self.start_milter(server=self.free_address(), deadline="100ms",
                                       library=[f"on-failure: {policy}"])
            with self.session() as milter:
                self.assertEqual((milter.connect(LISTED), milter.mail()), ("c", "c"))
                self.assertEqual(milter.rcpt()[1][:9], reply)
            self.assertEqual(daemon.stop(), 0)


def packets(stream):
    """(letter, data) of each whole one."""
    offset = 0
    while offset + 5 <= len(stream):
        size = struct.unpack_from(">I", stream, offset)[0]
        if size == 0 or offset + 4 + size > len(stream):
            return
        yield chr(stream[offset + 4]), stream[offset + 5:offset + 4 + size]
        offset += 4 + size


def has_half_a_macro(stream):
    """
    libmilter 8.17.1 looks for a macro beyond the end when one of the names has no value. No
    client can bring a mail server to say so, and we cannot see it: such a mail server is left out.
    """
    return any(letter == "D" and data[1:].count(0) % 2 == 1 for letter, data in packets(stream))


class Hostile(MilterCase):
    def whole_session(self):
        """Bytes of a session that has a refusal, a mail and an end, as one mail server says it."""
        return b"".join((
            packet("O", struct.pack(">III", 6, ALL_ACTIONS, 0x1FFFFF)),
            packet("D", b"C" + text("j", "mx.example.com")), packet("C", connect_data(LISTED)),
            packet("D", b"M" + text("{auth_authen}", "joe")), packet("M", text("<a@b>")),
            packet("R", text("<c@d>")), packet("L", text(HEADER, "x")), packet("E"),
            packet("M", text("<a@b>")), packet("A"), packet("Q")))

    def send_raw(self, data, is_abrupt=False):
        """Says it, reads nothing, and is gone."""
        with self.session(negotiate=False) as milter:
            try:
                milter.socket.sendall(data)
            except (BrokenPipeError, ConnectionResetError):
                pass
            if not is_abrupt:
                milter.socket.shutdown(socket.SHUT_WR)
                while True:
                    try:
                        if not milter.socket.recv(65536):
                            return
                    except ConnectionResetError:
                        return

    def test_a_mail_server_may_vanish_after_every_byte(self):
        daemon = self.start_milter("prepend")
        whole = self.whole_session()
        for cut in range(len(whole) + 1):
            self.send_raw(whole[:cut], is_abrupt=cut % 2 == 0)
        self.wait_until_closed(daemon)
        self.assertEqual(daemon.stop(), 0)

    def test_garbage_ends_one_session_and_no_other(self):
        self.expect_log("the mail server does not permit what is to be done", "mail not changed")
        daemon = self.start_milter("prepend")
        chosen = random.Random(harness.SEED)
        whole = self.whole_session()
        with self.session() as other:
            self.assertEqual(other.connect(LISTED), "c")
            self.send_raw(b"\xff\xff\xff\xff" + b"x" * 100)  # four gigabytes are announced
            self.send_raw(b"\0\0\0\0" * 100)
            self.send_raw(b"GET / HTTP/1.1\r\n\r\n")
            self.send_raw(packet("O", b"") + packet("C", b""))
            for letter in "CMRLEADKQTNBUHX\0\xff":
                start = packet("O", struct.pack(">III", 6, ALL_ACTIONS, 0))
                self.send_raw(start + packet(letter if ord(letter) < 128 else "?"))
                self.send_raw(start + packet(letter if ord(letter) < 128 else "?", b"\0" * 3))
                self.send_raw(start + packet("C", connect_data(LISTED)) * 2 + packet("E") * 2)
            for _ in range(200):
                broken = bytearray(whole)
                for _ in range(chosen.randrange(1, 6)):
                    broken[chosen.randrange(len(broken))] = chosen.randrange(256)
                if not has_half_a_macro(broken):
                    self.send_raw(bytes(broken))
            self.assertEqual((other.mail(), other.rcpt()), ("c", "c"))
            self.assertEqual(len(inserted(other.message())), 1)
        self.wait_until_closed(daemon)
        self.assertEqual(daemon.stop(), 0)

    def test_addresses_that_are_none_pass(self):
        self.start_milter()
        for data in (text("x") + b"4\0\0", text("x") + b"4\0\x19" + text("192.0.2.999"),
                     text("x") + b"6\0\x19" + text("::g"), text("x") + b"4\0\x19" + text(LISTED_6)):
            with self.session() as milter:
                milter.send("C", data)
                try:
                    self.assertEqual(milter.reply(), "a")
                except Vanished:
                    pass  # libmilter refuses to go on; the mail server has its default then
        self.assert_serves()

    def test_connections_that_say_nothing_do_not_keep_others_out(self):
        daemon = self.start_milter()
        silent = [self.session(negotiate=False) for _ in range(300)]
        begun = [self.session() for _ in range(100)]
        for milter in begun:
            self.assertEqual(milter.connect(LISTED), "c")
        self.assert_serves()
        wait_for(lambda: self.counters(daemon)["sessions"] == 100, "100 sessions")
        for milter in silent + begun:
            milter.close()
        self.wait_until_closed(daemon)


class Life(MilterCase):
    def test_ends_when_told_also_with_sessions(self):
        daemon = self.start_milter()
        with self.session() as milter:
            self.assertEqual(milter.connect(LISTED), "c")
            daemon.send_signal(signal.SIGTERM)
            daemon.wait_for_log("stopping, signal=15")
            wait_for(lambda: not os.path.exists(self.path_of_socket), "the socket to go")
            # What has begun goes on.
            self.assertEqual((milter.mail(), milter.rcpt()[0]), ("c", "y"))
            milter.quit()
            self.assertEqual(daemon.popen.wait(DEADLINE_S), 0)
        self.assertNotIn("sessions left", daemon.log())

    def test_a_signal_is_never_libmilters(self):
        """It takes SIGHUP for the end. One in ten thousand came to it."""
        daemon = self.start_milter()
        for _ in range(40_000):
            daemon.send_signal(signal.SIGHUP)
        daemon.wait_for_log(r"^warning: \[dnsblv6-milter\] nothing reloaded, ")
        with self.session() as milter:
            self.assertEqual(milter.connect(LISTED), "c")
        self.assertIsNone(daemon.popen.poll())
        self.assertEqual(daemon.stop(), 0)

    def test_sessions_that_do_not_end_are_left(self):
        self.expect_log("sessions left to the mail server")
        daemon = self.start_milter()
        with self.session() as milter:
            self.assertEqual(milter.connect(LISTED), "c")
            self.assertEqual(daemon.stop(signal.SIGINT), 0)
        self.assertIn("sessions left to the mail server, sessions=1", daemon.log())

    def test_the_socket_of_one_that_was_killed_is_taken_over(self):
        first = self.start_milter()
        second = self.run_milter("--config", self.path("milter.conf"))
        self.assertEqual(second.returncode, EX_UNAVAILABLE)
        self.assertIn("socket not opened", second.stderr)
        self.assert_serves()
        first.popen.kill()
        first.popen.wait()
        self.start_milter(milter=["socket-group: root"])
        self.assert_serves()
        self.assertEqual(stat.S_IMODE(os.stat(self.path_of_socket).st_mode), 0o666)

    def test_a_file_in_the_sockets_place_stays(self):
        self.write("milter", "somebody's")
        result = self.run_milter("--config", self.config())
        self.assertEqual(result.returncode, EX_UNAVAILABLE)
        with open(self.path_of_socket, encoding="ascii") as file:
            self.assertEqual(file.read(), "somebody's")

    def test_a_start_that_fails_leaves_no_socket_in_the_way_of_the_next(self):
        need_root()
        spool = self.path("spool")
        os.mkdir(spool)
        os.chown(spool, 65534, 65534)
        program = self.readable_program(harness.program("dnsblv6-milter"))
        refused = run_as_nobody(program, "--config", self.config(
            place=os.path.join(spool, "socket"), milter=["socket-group: mail"]))
        self.assertEqual(refused.returncode, EX_NOPERM)
        self.assertIn('("socket-group" is not one of ', refused.stderr)
        self.assertEqual(os.listdir(spool), [])

    def test_an_address_will_do_as_well(self):
        host, port = self.free_address()
        self.start_milter(place=f"{host}@{port}")
        with Milter((host, port)) as milter:
            self.assertEqual((milter.connect(LISTED), milter.mail()), ("c", "c"))
            self.assertEqual(milter.rcpt()[0], "y")

    def test_the_configuration_is_checked(self):
        good = self.run_milter("--check", "--config", self.config())
        self.assertEqual((good.returncode, good.stdout), (0, "configuration OK\n"))
        bad = self.run_milter("--check", "--config", self.config("bounce"))
        self.assertEqual(bad.returncode, EX_CONFIG)
        self.assertIn("item=action", bad.stderr)

    def test_metrics_are_a_file_for_prometheus(self):
        path = self.path("metrics.prom")
        daemon = self.start_milter(milter=[f"metrics: {path}"])
        self.assert_serves()
        self.wait_until_closed(daemon)
        self.assertEqual(daemon.stop(), 0)
        with open(path, encoding="ascii") as file:
            metrics = file.read()
        self.assertIn("dnsblv6_milter_rejected_total 1\n", metrics)
        self.assertIn(f'dnsblv6_milter_zone_state{{zone="{NAME}"}} 1\n', metrics)
        promtool = harness.shutil.which("promtool")
        if promtool is not None:
            result = subprocess.run([promtool, "check", "metrics"], input=metrics, text=True,
                                    capture_output=True, check=False, timeout=DEADLINE_S)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)


class WithPostfix(MilterCase):
    def start_postfix(self, place=None, **how):
        return Postfix(self, main=[f"smtpd_milters = unix:{place or self.path_of_socket}",
                                   "milter_default_action = accept"], **how)

    def place_in_queue(self, postfix):
        """As the unit makes it: of the daemon's user, for Postfix' group."""
        directory = os.path.join(postfix.queue, "dnsblv6-milter")
        os.mkdir(directory)
        os.chown(directory, pwd.getpwnam("nobody").pw_uid, postfix.user.pw_gid)
        os.chmod(directory, 0o2750)
        return os.path.join(directory, "socket")

    def test_refuses_and_delivers(self):
        postfix = self.start_postfix("dnsblv6-milter/socket")
        self.start_milter(decision=["reject-text: \"100 % sure: {reason}\""],
                          place=self.place_in_queue(postfix), mode=660, milter=["user: nobody"])
        for client in (LISTED, LISTED_6):
            outcome = send(postfix.address, client)
            self.assertTrue(outcome.is_refused, outcome)
            refusal = outcome.trouble[0]
            self.assertEqual(refusal[0][:4], "RCPT")
            self.assertEqual(refusal[1:], (550, f"5.7.1 100 % sure: {client} {REASON}"))
        for client in (CLEAR, CLEAR_6, NEIGHBOUR, None):
            self.assertTrue(send(postfix.address, client).is_accepted)
        for message in postfix.wait_for_delivered(4):
            self.assertNotIn(HEADER.encode(), message)

    def test_lets_through_who_has_authenticated(self):
        self.start_milter()
        postfix = self.start_postfix()
        outcome = Outcome(LISTED)
        with Session(postfix.address, outcome=outcome) as session:
            session.command("EHLO us.example.net")
            session.command(f"XCLIENT ADDR={LISTED} LOGIN=joe")
            session.send_message()
        self.assertTrue(outcome.is_accepted, outcome)

    def test_marks(self):
        self.start_milter("prepend")
        postfix = self.start_postfix()
        for client in (LISTED, CLEAR):
            self.assertTrue(send(postfix.address, client, message=(
                f"{FORGED}\nSubject: {client}\n{FORGED.upper()}\n\n{FORGED}\n")).is_accepted)
        for message in postfix.wait_for_delivered(2):
            head, body = message.decode().split("\n\n", 1)
            head = head.replace("\n\t", " ").replace("\n ", " ").splitlines()
            marks = [line for line in head if line.lower().startswith(HEADER.lower())]
            is_listed = f"Subject: {LISTED}" in head
            self.assertEqual(marks, [f"{HEADER}: score=1 zones={NAME}; {LISTED} {REASON}"]
                             if is_listed else [])
            self.assertIn(FORGED, body)

    def test_keeps_apart(self):
        self.start_milter(milter=["quarantine: yes"])
        postfix = self.start_postfix()
        self.assertTrue(send(postfix.address, LISTED).is_accepted)
        postfix.wait_for_log(rf"milter-hold: END-OF-MESSAGE from unknown\[{LISTED}\]")
        self.assertTrue(send(postfix.address, CLEAR).is_accepted)
        self.assertEqual(len(postfix.wait_for_delivered(1)), 1)

    def test_no_session_suffers_when_it_is_killed(self):
        daemon = self.start_milter("prepend")
        postfix = self.start_postfix(discard=True)
        clients = [f"198.51.100.{host}" for host in range(100)]
        outcomes = []
        sender = threading.Thread(target=lambda: outcomes.extend(
            send_all(postfix.address, clients, parallel=20)))
        sender.start()
        wait_for(lambda: self.counters(daemon)["connections"] >= 30, "30 sessions")
        daemon.popen.kill()
        daemon.popen.wait()
        sender.join()
        self.assertEqual([outcome for outcome in outcomes if not outcome.is_accepted], [])
        self.assertEqual([outcome.trouble for outcome in outcomes if outcome.trouble], [])
        # On a quick machine all may have been over before.
        self.assertTrue(send(postfix.address, CLEAR).is_accepted)
        postfix.wait_for_log(r"warning: (connect to Milter service|milter) unix:")

        daemon = self.start_milter("reject")
        self.assertTrue(send(postfix.address, LISTED).is_refused)


class WithSendmail(MilterCase):
    def setUp(self):
        super().setUp()
        need_root()
        # As the unit makes it: sendmail trusts no socket below what just anybody may write to.
        os.mkdir(self.path("run"))
        os.chown(self.path("run"), pwd.getpwnam("nobody").pw_uid, pwd.getpwnam("nobody").pw_gid)
        self.path_of_socket = self.path("run/socket")

    def start_milter(self, *arguments, **how):
        return super().start_milter(*arguments, mode=660, milter=["user: nobody"], **how)

    def start_sendmail(self, **how):
        return Sendmail(self, rules=paste("sendmail milter", {
            "/run/dnsblv6-milter/socket": self.path_of_socket,
            "C:5s;S:10s;R:10s": "C:60s;S:60s;R:60s"}), **how)

    def test_refuses_and_delivers(self):
        daemon = self.start_milter(decision=["reject-text: \"100 % sure: {reason}\""])
        sendmail = self.start_sendmail()
        code, said = sendmail.send(LISTED)
        self.assertEqual((code, said.decode()), (
            550, f"5.7.1 <user@sendmail.example>... 100 % sure: {LISTED} {REASON}"))
        self.assertEqual(sendmail.send(CLEAR)[0], 250)
        self.assertEqual(len(sendmail.mails()), 1)
        self.assertNotIn(HEADER, sendmail.mails()[0])

        # Whatever becomes of the filter, mail flows.
        daemon.popen.kill()
        daemon.popen.wait()
        self.assertEqual(sendmail.send(LISTED)[0], 250)
        self.start_milter()
        self.assertEqual(sendmail.send(LISTED)[0], 550)

    def test_marks(self):
        self.start_milter("prepend")
        sendmail = self.start_sendmail()
        for client in (LISTED, CLEAR):
            self.assertEqual(sendmail.send(
                client, f"{FORGED}\nSubject: {client}\n{FORGED.upper()}\n\nHello.\n")[0], 250)
        for mail in sendmail.mails():
            head = mail.split("\n\n", 1)[0].replace("\n\t", " ").replace("\n ", " ").splitlines()
            marks = [line for line in head if line.lower().startswith(HEADER.lower())]
            is_listed = f"Subject: {LISTED}" in head
            self.assertEqual(marks, [f"{HEADER}: score=1 zones={NAME}; {LISTED} {REASON}"]
                             if is_listed else [])
        self.assertEqual(len(sendmail.mails()), 2)

    def test_clients_with_ipv6(self):
        """In a network of its own, where clients can have any address."""
        network = self.start([harness.peer("unshare"), "--net", "sh", "-c",
                              "ip link set lo up && for address; do"
                              " ip addr add $address/128 dev lo nodad || exit; done;"
                              " echo there; exec sleep 600",
                              "sh", LISTED_6, NEIGHBOUR_6, CLEAR_6], "network")
        try:
            network.wait_for_log("^there$")
        except AssertionError as error:
            self.skipTest(f"no network of our own here: {error}")
        self.enter_network(network.pid)
        self.start_milter()
        sendmail = self.start_sendmail(is_ipv6=True)
        code, said = sendmail.send(LISTED_6)
        self.assertEqual(code, 550)
        self.assertIn(f"{LISTED_6} {REASON}", said.decode())
        asked = self.authority().questions()
        self.assertEqual(sendmail.send(NEIGHBOUR_6)[0], 250)
        self.assertEqual(self.authority().questions(), asked)
        self.assertEqual(sendmail.send(CLEAR_6)[0], 250)
        self.assertEqual(len(sendmail.mails()), 2)

    def test_a_session_goes_on_when_it_is_killed_in_between(self):
        daemon = self.start_milter("prepend")
        sendmail = self.start_sendmail()
        with sendmail.session(CLEAR) as smtp:
            smtp.ehlo()
            smtp.mail("a@client.example")
            daemon.popen.kill()
            daemon.popen.wait()
            self.assertEqual(smtp.rcpt("user@sendmail.example")[0], 250)
            self.assertEqual(smtp.data("Subject: test\n\nHello.\n")[0], 250)
        self.assertEqual(len(sendmail.mails()), 1)


if __name__ == "__main__":
    harness.main(has_own_network=True)
