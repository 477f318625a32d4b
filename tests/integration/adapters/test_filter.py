#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
dnsblv6-filter: what it says to an OpenSMTPD of either version of the protocol, which
is scripted here, and what clients see of the real one (Debian's 6.8, protocol
0.6, which ./check unpacks; it needs root). Whatever happens to DNS and to the
process that asks it, no session waits for nothing.
"""

import concurrent.futures
import os
import re
import select
import signal
import socket
import subprocess

import harness
from harness import BUILD, DEADLINE_S, EX_CONFIG, ZONE, Case, Process, wait_for
from mta import SENDER, SESSION_S, Authority
from opensmtpd import Client, OpenSmtpd, send

NAME = ZONE.rstrip(".")
PROGRAM = os.path.join(BUILD, "integration/adapters/opensmtpd/dnsblv6-filter")
LIST = ["192.0.2.66", "198.51.100.7", "2001:db8:1:2::/64"]
LISTED, UNLISTED, NEIGHBOUR = "192.0.2.66", "192.0.2.65", "192.0.2.64"
LISTED6, UNLISTED6 = "2001:db8:1:2::9", "2001:db8:1:3::9"
REFUSED = f"550 5.7.1 Service unavailable; {LISTED} is listed by {NAME}"

CONFIG = """\
filter:
    log-level: {level}
{filter}
decision:
    deadline: {deadline}
{decision}
library:
    zones: {zones}
    servers: {host}@{port}
"""

GREETING = {
    "0.6": ("config|smtpd-version|6.8.0p2", "config|smtp-session-timeout|300",
            "config|subsystem|smtp-in", "config|admd|mx.example.com", "config|ready"),
    "0.7": ("config|smtpd-version|7.4.0", "config|protocol|0.7",
            "config|smtp-session-timeout|300", "config|subsystem|smtp-in",
            "config|admd|mx.example.com", "config|ready"),
}
REGISTERED = ["register|report|smtp-in|link-connect", "register|report|smtp-in|link-disconnect",
              "register|report|smtp-in|link-auth", "register|filter|smtp-in|mail-from",
              "register|ready"]


class FilterCase(Case):
    def config(self, resolver, deadline="10s", filter_lines=(), decision=(), zones=NAME,
               level="info"):
        return self.write("filter.conf", CONFIG.format(
            filter="".join(f"    {line}\n" for line in filter_lines), deadline=deadline,
            decision="".join(f"    {line}\n" for line in decision), zones=zones,
            host=resolver[0], port=resolver[1], level=level))

    def silence(self):
        """Somebody who is asked and never answers."""
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(udp.close)
        udp.bind((self.host, 0))
        return udp.getsockname()


class Smtpd(Process):
    """Plays OpenSMTPD for a filter."""

    def __init__(self, case, config, version="0.6", name="filter"):
        self.version = version
        self.log_path = case.path(f"{name}-{len(case.processes)}.log")
        self.arguments = [PROGRAM, "--config", config]
        self._log_start = 0
        with open(self.log_path, "ab") as log:
            self.popen = subprocess.Popen(self.arguments, stdin=subprocess.PIPE,
                                          stdout=subprocess.PIPE, stderr=log, bufsize=0)
        self.pid = self.popen.pid
        self.unread = b""
        self.token = 0
        case.processes.append(self)
        case.addCleanup(self.popen.stdout.close)
        case.addCleanup(self.popen.stdin.close)

    def say(self, *lines):
        self.popen.stdin.write("".join(f"{line}\n" for line in lines).encode())

    def hear(self, deadline_s=DEADLINE_S):
        """One line; AssertionError when none comes."""
        while b"\n" not in self.unread:
            if not select.select([self.popen.stdout], [], [], deadline_s)[0]:
                raise AssertionError(f"the filter is silent:\n{self.log()}")
            got = os.read(self.popen.stdout.fileno(), 65536)
            if not got:
                raise AssertionError(f"the filter has ended:\n{self.log()}")
            self.unread += got
        line, self.unread = self.unread.split(b"\n", 1)
        return line.decode()

    def greet(self):
        self.say(*GREETING[self.version])
        return [self.hear() for _ in REGISTERED]

    def report(self, event, session, *fields):
        self.say("|".join(("report", self.version, "1576146008.006099", "smtp-in", event,
                           f"{session:016x}", *fields)))

    def connect(self, session, client):
        source = f"[{client}]:33174" if ":" in client else f"{client}:33174"
        self.report("link-connect", session, "mail.example", "pass", source, "198.51.100.1:25")

    def request(self, session, phase="mail-from", parameter=SENDER):
        self.token += 1
        self.say("|".join(("filter", self.version, "1576146009.012345", "smtp-in", phase,
                           f"{session:016x}", f"{self.token:016x}", parameter)))

    def answer(self):
        """(session, token, decision) that is said next."""
        kind, session, token, decision = self.hear().split("|", 3)
        assert kind == "filter-result", kind
        return int(session, 16), int(token, 16), decision

    def decide(self, session, client):
        """What becomes of a client."""
        self.connect(session, client)
        self.request(session)
        found = self.answer()
        assert found[:2] == (session, self.token), found
        return found[2]

    def wait_for_requests(self, count):
        """Till the process that asks has had so many."""
        def look():
            self.send_signal(signal.SIGUSR1)
            return re.search(rf"counters, .* requests={count} ", self.log())

        wait_for(look, f"{count} requests")

    def child(self):
        return wait_for(self.children, "the process that asks")[0]

    def end(self):
        self.popen.stdin.close()
        return self.popen.wait(DEADLINE_S)


class Scripted(FilterCase):
    def test_clients_of_both_versions(self):
        authority = Authority(self, LIST)
        config = self.config(authority.address)
        for version in GREETING:
            with self.subTest(version):
                smtpd = Smtpd(self, config, version)
                self.assertEqual(smtpd.greet(), REGISTERED)
                self.assertEqual(smtpd.decide(1, LISTED), f"reject|{REFUSED}")
                self.assertEqual(smtpd.decide(2, UNLISTED), "proceed")
                self.assertEqual(smtpd.decide(3, LISTED6), "reject|550 5.7.1 Service unavailable;"
                                 f" {LISTED6} is listed by {NAME}")
                self.assertEqual(smtpd.decide(4, UNLISTED6), "proceed")
                smtpd.connect(5, LISTED)
                smtpd.report("link-auth", 5,
                             *(("fail", "x|pass") if version == "0.7" else ("x|pass", "fail")))
                smtpd.request(5)
                self.assertEqual(smtpd.answer()[2], f"reject|{REFUSED}")
                smtpd.report("link-auth", 5,
                             *(("pass", "x") if version == "0.7" else ("x", "pass")))
                smtpd.request(5)
                self.assertEqual(smtpd.answer()[2], "proceed")
                smtpd.report("link-connect", 6, "", "error", "unix:/var/run/smtpd.sock",
                             "unix:/var/run/smtpd.sock")
                smtpd.request(6)
                self.assertEqual(smtpd.answer()[2], "proceed")
                self.assertEqual(smtpd.decide(7, "127.0.0.1"), "proceed")
                self.assertEqual(smtpd.end(), 0)
                self.assertRegex(smtpd.log(), rf"client listed, session=0000000000000001"
                                 rf" client={LISTED} action=reject score=1 zones={NAME} \(listed\)")

    def test_a_neighbour_causes_no_question(self):
        authority = Authority(self, LIST)
        smtpd = Smtpd(self, self.config(authority.address))
        smtpd.greet()
        self.assertEqual(smtpd.decide(1, LISTED), f"reject|{REFUSED}")
        self.assertEqual(smtpd.decide(2, LISTED6)[:6], "reject")
        before = authority.questions()
        for host in range(128):
            client = f"192.0.2.{host}"
            expected = "reject" if client in LIST else "proceed"
            self.assertEqual(smtpd.decide(100 + host, client).split("|")[0], expected, client)
        self.assertEqual(smtpd.decide(3, UNLISTED6), "proceed")
        self.assertEqual(authority.questions(), before)

    def test_what_the_configuration_says_is_done(self):
        authority = Authority(self, LIST)
        for filter_lines, decision, phase, answer in (
                (["phase: connect"], [], "connect", f"disconnect|554{REFUSED[3:]}"),
                (["phase: rcpt-to"], [], "rcpt-to", f"reject|{REFUSED}"),
                (["disconnect: yes"], [], "mail-from", f"disconnect|{REFUSED}"),
                ([], ["action: prepend"], "mail-from", "junk"),
                ([], ["action: warn"], "mail-from", "proceed"),
                ([], ["action: defer"], "mail-from", f"reject|451 4{REFUSED[5:]}")):
            with self.subTest(filter_lines + decision):
                smtpd = Smtpd(self, self.config(authority.address, filter_lines=filter_lines,
                                                decision=decision))
                self.assertIn(f"register|filter|smtp-in|{phase}", smtpd.greet())
                smtpd.connect(1, LISTED)
                smtpd.request(1, phase)
                self.assertEqual(smtpd.answer()[2], answer)
                smtpd.request(1, "data")
                self.assertEqual(smtpd.answer()[2], "proceed")
                self.assertEqual(smtpd.end(), 0)

    def test_networks_that_are_not_judged_can_be_changed(self):
        self.expect_log("the old allow list holds")
        self.expect_log("process ended and is started again")
        authority = Authority(self, LIST)
        allow = self.write("allow", "192.0.2.0/24\n")
        smtpd = Smtpd(self, self.config(authority.address, decision=(
            f"allow-file: {allow}", "exempt: [ 198.51.100.0/24 ]")))
        smtpd.greet()
        self.assertEqual(smtpd.decide(1, "198.51.100.7"), "proceed")
        self.assertEqual(smtpd.decide(2, LISTED), "proceed")
        self.write("allow", "192.0.2.0/33\n")
        smtpd.send_signal(signal.SIGHUP)
        smtpd.wait_for_log("^error: .*allow")
        self.assertEqual(smtpd.decide(3, LISTED), "proceed")
        self.write("allow", "# nobody\n")
        smtpd.send_signal(signal.SIGHUP)
        smtpd.wait_for_log("allow list read, networks=0")
        self.assertEqual(smtpd.decide(4, LISTED), f"reject|{REFUSED}")
        # So it is in the next process, too.
        os.kill(smtpd.child(), signal.SIGKILL)
        wait_for(lambda: smtpd.decide(1000 + smtpd.token, LISTED) == f"reject|{REFUSED}",
                 "the list to hold")

    def test_lines_as_they_should_not_be(self):
        self.expect_log("line ignored", "protocol is newer", "request not answered", "second request",
                        "session begins twice")
        authority = Authority(self, LIST)
        smtpd = Smtpd(self, self.config(authority.address))
        smtpd.greet()
        smtpd.connect(1, LISTED)
        smtpd.say("", "hello", "|||||||||", "report|0.6|x|smtp-in|link-connect|1", "config|ready",
                  "report|0.6|1|smtp-in|link-connect|z|a|pass|192.0.2.1:1|b:25", "\0" * 100,
                  "report|0.6|1|smtp-in|link-connect|9|" + "x" * (1 << 20),
                  "filter|0.6|1|smtp-in|mail-from|1", "filter|x|1|smtp-in|mail-from|1|2|3")
        smtpd.request(1, parameter="x" * (1 << 20))
        self.assertEqual(smtpd.answer(), (1, smtpd.token, f"reject|{REFUSED}"))
        smtpd.request(77)
        self.assertEqual(smtpd.answer(), (77, smtpd.token, "proceed"))
        smtpd.version = "0.31"  # as 0.7, with fields that nobody knows
        smtpd.report("link-connect", 2, "mail.example", "pass", f"{LISTED}:1", "198.51.100.1:25",
                     "new|field")
        smtpd.request(2, parameter="user@example|new")
        self.assertEqual(smtpd.answer(), (2, smtpd.token, f"reject|{REFUSED}"))
        smtpd.report("link-auth", 2, "pass", "user", "new")
        smtpd.request(2)
        self.assertEqual(smtpd.answer()[2], "proceed")
        smtpd.popen.stdin.write(b"filter|0.6|1|smtp-in|mail-from|1")
        self.assertEqual(smtpd.end(), 0)
        self.assertEqual(len(re.findall("protocol is newer than this filter, version=0.31",
                                        smtpd.log())), 1)
        self.assertIn("(it is too long)", smtpd.log())
        self.assertIn("(it has no end)", smtpd.log())
        self.assertIn('text="hello" (neither config, report nor filter)', smtpd.log())

    def test_a_request_before_the_filter_has_registered_is_answered_behind_that(self):
        smtpd = Smtpd(self, self.config((self.host, self.free_port()), deadline="300ms"))
        smtpd.say(*GREETING[smtpd.version],
                  f"report|0.6|1|smtp-in|link-connect|1|x|pass|{LISTED}:1|x:25",
                  "filter|0.6|1|smtp-in|mail-from|1|2|x")
        self.assertEqual([smtpd.hear() for _ in REGISTERED], REGISTERED)
        self.assertEqual(smtpd.answer(), (1, 2, "proceed"))

    def test_thousands_of_requests_before_an_answer_is_read(self):
        authority = Authority(self, LIST)
        smtpd = Smtpd(self, self.config(authority.address, level="error"))
        smtpd.greet()
        count = 10000  # more than the guard keeps for the process that asks
        lines = []
        for i in range(count):
            client = f"44.{i // 250}.{i % 250}.1" if i % 2 else LISTED
            head = f"1|smtp-in|{{}}|{i:x}|"
            lines.append("report|0.6|" + head.format("link-connect")
                         + f"a|pass|{client}:1|198.51.100.1:25")
            lines.append("filter|0.6|" + head.format("mail-from") + f"{i:x}|" + "x" * 500)
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            said = pool.submit(smtpd.say, *lines)
            answers = [smtpd.answer() for _ in range(count)]
            said.result(DEADLINE_S)
        self.assertEqual(sorted(session for session, _, _ in answers), list(range(count)))
        for session, token, decision in answers:
            self.assertEqual(session, token)
            self.assertEqual(decision, "proceed" if session % 2 else f"reject|{REFUSED}")

    def test_check_and_wrong_configurations(self):
        config = self.config(("127.0.0.1", 53))
        done = subprocess.run([PROGRAM, "--config", config, "--check"], capture_output=True,
                              text=True, check=False, timeout=DEADLINE_S)
        self.assertEqual((done.returncode, done.stdout), (0, "configuration OK\n"), done.stderr)
        done = subprocess.run([PROGRAM, "--config", self.write("bad.conf", "filter:\n    x: 1\n")],
                              capture_output=True, text=True, check=False, timeout=DEADLINE_S)
        self.assertEqual(done.returncode, EX_CONFIG)
        self.assertIn("unknown item", done.stderr)


class Outages(FilterCase):
    def test_without_dns_everybody_passes_when_the_deadline_is_over(self):
        gone = (self.host, self.free_port())
        for resolver in (self.silence(), gone):
            smtpd = Smtpd(self, self.config(resolver, deadline="300ms"))
            smtpd.greet()
            for i in range(20):
                smtpd.connect(i, LISTED if i % 2 else f"44.0.{i}.1")
                smtpd.request(i)
            answers = [smtpd.answer() for _ in range(20)]
            self.assertEqual({decision for _, _, decision in answers}, {"proceed"})
            self.assertEqual(smtpd.end(), 0)

    def test_kill_9_of_the_process_that_asks(self):
        """Whoever waits passes, and the next that asks is as good as the first."""
        self.expect_log("process ended and is started again")
        authority = Authority(self, LIST)
        go_on = authority.pause(self)
        smtpd = Smtpd(self, self.config(authority.address, deadline="60s"))
        smtpd.greet()
        for i in range(100):
            smtpd.connect(i, LISTED)
            smtpd.request(i)
        smtpd.wait_for_requests(100)
        first = smtpd.child()
        os.kill(first, signal.SIGKILL)
        answers = [smtpd.answer() for _ in range(100)]
        self.assertEqual(sorted(session for session, _, _ in answers), list(range(100)))
        self.assertEqual({decision for _, _, decision in answers}, {"proceed"})
        smtpd.wait_for_log("process ended and is started again, signal=9 passed=100")
        # Asked before the other has begun, and unknown to it.
        smtpd.request(5)
        self.assertEqual(smtpd.answer()[2], "proceed")
        go_on()
        wait_for(lambda: smtpd.children() and smtpd.children() != [first], "another process")
        wait_for(lambda: smtpd.decide(1000 + smtpd.token, LISTED) == f"reject|{REFUSED}",
                 "the service to be as before")
        self.assertEqual(smtpd.end(), 0)

    def test_a_process_that_hangs_is_replaced(self):
        self.expect_log("process ended and is started again")
        authority = Authority(self, LIST)
        smtpd = Smtpd(self, self.config(authority.address, deadline="100ms"))
        smtpd.greet()
        child = smtpd.child()
        os.kill(child, signal.SIGSTOP)
        smtpd.connect(1, LISTED)
        smtpd.request(1)
        self.assertEqual(smtpd.answer(), (1, smtpd.token, "proceed"))
        smtpd.wait_for_log("process does not answer")
        wait_for(lambda: smtpd.decide(1000 + smtpd.token, LISTED) == f"reject|{REFUSED}",
                 "the service to be as before")

    def test_a_process_that_hangs_is_replaced_although_nothing_waits_for_an_answer(self):
        self.expect_log("process does not answer", "process ended and is started again")
        authority = Authority(self, LIST)
        smtpd = Smtpd(self, self.config(authority.address, deadline="100ms"))
        smtpd.greet()
        os.kill(smtpd.child(), signal.SIGSTOP)
        event = "report|0.6|1|smtp-in|link-disconnect|1"
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            said = pool.submit(smtpd.say, *[event] * 100000)  # 4 MB
            smtpd.wait_for_log("process does not answer")
            said.result(DEADLINE_S)
        wait_for(lambda: smtpd.decide(1000 + smtpd.token, LISTED) == f"reject|{REFUSED}",
                 "the service to be as before")

    def test_without_opensmtpd_nothing_is_left(self):
        smtpd = Smtpd(self, self.config(self.silence()))
        smtpd.greet()
        child = smtpd.child()
        smtpd.popen.kill()
        smtpd.popen.wait()
        wait_for(lambda: not os.path.exists(f"/proc/{child}"), "the other process to end")


class Real(FilterCase):
    def start_opensmtpd(self, resolver, **how):
        program = self.readable_program(PROGRAM)
        return OpenSmtpd(self, f"{program} --config {self.config(resolver, **how)}")

    def processes_of_filter(self):
        """The one that OpenSMTPD knows, and the one that asks."""
        def look():
            parents = {}
            for pid in filter(str.isdigit, os.listdir("/proc")):
                try:
                    with open(f"/proc/{pid}/cmdline", "rb") as file:
                        words = os.fsdecode(file.read()).split("\0")
                    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
                        parent = re.search(r"^PPid:\s(\d+)", file.read(), re.MULTILINE)[1]
                except OSError:  # it has ended meanwhile
                    continue
                if words[0].endswith("/dnsblv6-filter") and self.directory in words[2]:
                    parents[pid] = parent
            return [int(pid) for pid in parents if parents[pid] not in parents], \
                   [int(pid) for pid in parents if parents[pid] in parents]

        return wait_for(lambda: (found := look()) and found[0] and found[1] and found, "both")

    def test_a_listed_client_is_refused_with_the_list_s_text(self):
        authority = Authority(self, LIST)
        server = self.start_opensmtpd(authority.address)
        for client in (LISTED, LISTED6):
            outcome = send(server.address, client)
            self.assertFalse(outcome.is_accepted)
            self.assertEqual(outcome.trouble, [(f"MAIL FROM:<{SENDER}>", 550, "5.7.1 Service"
                             f" unavailable; {client} is listed by {NAME}")])
        before = authority.questions()
        for client in (UNLISTED, NEIGHBOUR, UNLISTED6):
            outcome = send(server.address, client)
            self.assertEqual(outcome.trouble, [], client)
            self.assertTrue(outcome.is_accepted, client)
        self.assertEqual(authority.questions(), before)
        self.assertEqual(len(server.wait_for_delivered(3)), 3)
        self.assertRegex(server.log(), rf"dnsbl: info: .*client listed, .*client={LISTED} ")

    def test_a_message_is_marked(self):
        authority = Authority(self, LIST)
        server = self.start_opensmtpd(authority.address, decision=["action: prepend"])
        self.assertTrue(send(server.address, LISTED).is_accepted)
        self.assertIn(b"X-Spam: Yes", server.wait_for_delivered(1)[0])

    def test_nobody_is_refused_because_dns_is_down(self):
        server = self.start_opensmtpd(self.silence(), deadline="500ms")
        self.assertEqual(send(server.address, LISTED).trouble, [])
        server.wait_for_delivered(1)

    def test_kill_9_in_the_middle_of_sessions(self):
        """Of the process that asks nobody notices; with the other OpenSMTPD ends, by its design."""
        self.expect_log("process ended and is started again")
        authority = Authority(self, LIST)
        server = self.start_opensmtpd(authority.address, deadline="60s")
        (guard,), (child,) = self.processes_of_filter()
        go_on = authority.pause(self)
        # One after the other: few may wait to be accepted at a time.
        sessions = [Client(server.address, f"44.0.{i}.1") for i in range(100)]

        def all_wait():
            os.kill(guard, signal.SIGUSR1)
            return "requests=100 " in server.log()

        with concurrent.futures.ThreadPoolExecutor(len(sessions)) as pool:
            sent = [pool.submit(session.send_message) for session in sessions]
            wait_for(all_wait, "all to wait for their verdict")
            os.kill(child, signal.SIGKILL)
            for one in sent:
                one.result(SESSION_S)
        go_on()
        for session in sessions:
            session.file.close()
            session.socket.close()
            self.assertEqual(session.outcome.trouble, [])
            self.assertTrue(session.outcome.is_accepted, session.outcome)
        server.wait_for_log("process ended and is started again, signal=9 passed=100")
        wait_for(lambda: send(server.address, LISTED).is_refused, "clients to be refused again")

        os.kill(guard, signal.SIGKILL)
        server.wait_until_ended()
        self.assertEqual(server.process.popen.returncode, 0)  # for "Restart=on-failure" no failure
        self.assertIn("lost processor: dnsbl", server.log())


if __name__ == "__main__":
    harness.main()
