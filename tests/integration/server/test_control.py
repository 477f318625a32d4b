#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
The control socket and dnsblv6ctl: what they tell, what they order, and that no
client of theirs can hold up the server. promtool (Debian's prometheus) looks at
the metrics when it is installed.
"""

import json
import os
import re
import signal
import socket
import stat
import subprocess

import harness
from harness import (A, AAAA, CLASSIC, DEADLINE_S, EX_CONFIG, EX_NOPERM, EX_UNAVAILABLE, NOERROR, ZONE,
                     Case, config_text, open_files, wait_for)

CLIENTS_MAX = 16  # of server/control/control.h
OWN_SOCKETS = 3  # UDP and TCP of one worker and one address, and the control socket
NAME = f"0.2.0.192.{ZONE}"


class Control(Case):
    def setUp(self):
        super().setUp()
        self.socket_path = self.path("ctl")
        self.build(self.path("bl6.mdb"), self.write("list", "192.0.2.1\n"))

    def serve_controlled(self, *lines, **how):
        return self.serve(server_lines=(f"control: {self.socket_path}", *lines), **how)

    def ctl(self, *words, expect=0, **how):
        how.setdefault("timeout", 100)
        result = subprocess.run([harness.program("dnsblv6ctl"), "--socket", self.socket_path,
                                 *words], capture_output=True, text=True, check=False, **how)
        self.assertEqual(harness.sanitizer_reports(result.stderr), [])
        self.assertEqual(result.returncode, expect, f"{words}: {result.stdout}{result.stderr}")
        return result

    def rows(self, *words):
        return [line.split("\t") for line in self.ctl(*words).stdout.splitlines()]

    def status(self):
        """The named values, and the lines of the workers."""
        rows = self.rows("status")
        return ({row[0]: row[1] for row in rows if row[0] != "worker"},
                [row[1:] for row in rows if row[0] == "worker"])

    def connect(self):
        client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.addCleanup(client.close)
        client.connect(self.socket_path)  # waits its turn when many do the same
        client.settimeout(DEADLINE_S)
        return client

    def say(self, data):
        """All that comes back for these bytes."""
        client = self.connect()
        try:
            client.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it had heard enough
        return read_all(client)

    def assert_serving(self, server):
        reply = server.ask(NAME, AAAA)
        self.assertEqual((reply.rcode, reply.rdata(AAAA)[0][0]), (NOERROR, 0x40))


def read_all(client):
    data = b""
    while True:
        try:
            more = client.recv(65536)
        except ConnectionResetError:
            return data
        if not more:
            return data
        data += more


class Asking(Control):
    def test_status_names_the_workers_and_counts_what_died(self):
        self.expect_log("worker died")
        server = self.serve_controlled("workers: 2")
        values, workers = self.status()
        self.assertEqual((values["state"], values["generation"], values["zones"],
                          values["restarts"]), ("serving", "1", "1", "0"))
        self.assertEqual(sorted(int(worker[2]) for worker in workers), sorted(server.children()))
        self.assertEqual([worker[3] for worker in workers], ["serving"] * 2)
        os.kill(int(workers[1][2]), 9)
        values, workers = wait_for(
            lambda: (lambda now: now if now[0]["restarts"] == "1"
                     and now[1][1][3] == "serving" else None)(self.status()), "another worker")
        self.assertEqual([worker[5] for worker in workers], ["0", "1"])

    def test_zones_tells_serial_records_and_state(self):
        server = self.serve_controlled()
        row, = self.rows("zones")
        soa = server.ask(ZONE, harness.SOA).rdata(harness.SOA)[0]
        self.assertEqual(row[:3], [ZONE, CLASSIC, str(int.from_bytes(soa[-20:-16], "big"))])
        self.assertGreater(int(row[3]), 1)
        self.assertRegex(row[4], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertEqual(row[5:8], ["-", "-", "serving"])
        self.assertRegex(row[8], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.build(self.path("bl6.mdb"), self.write("more", "192.0.2.1\n198.51.100.1\n"))
        wait_for(lambda: self.rows("zones")[0][2] != row[2], "the new serial")

    def test_zones_says_why_a_store_is_not_served(self):
        self.expect_log("store not opened")
        self.serve_controlled(zones=[(ZONE, self.write("bad", "garbage"), None)])
        row, = self.rows("zones")
        self.assertEqual(row[1:6], ["-", "0", "0", "-", "-"])
        self.assertNotIn(row[7], ("serving", "opening"))
        self.assertIn('dnsblv6_zone_up{zone="bl6.example."} 0', self.ctl("metrics").stdout)

    def test_zones_tells_when_signatures_end(self):
        key = self.path("key.pem")
        self.run_zone("keygen", "--zone", ZONE, "--key", key)
        self.build(self.path("signed.mdb"), self.path("list"), "--key", key)
        self.serve_controlled(zones=[(ZONE, self.path("signed.mdb"), None)])
        row, = self.rows("zones")
        self.assertRegex(row[5], r"^\d{4}-\d\d-\d\dT")
        self.assertEqual(row[7], "serving")

    def test_stats_counts_questions_and_survives_a_reload(self):
        server = self.serve_controlled()
        for _ in range(3):
            server.ask(NAME, AAAA)
        server.ask(f"1.2.0.192.{CLASSIC}", A)
        self.ctl("reload")
        stats = {(row[0], row[1]): int(row[2]) for row in self.rows("stats")}
        self.assertEqual((stats["server", "queries"], stats[ZONE, "noerror"],
                          stats[CLASSIC, "queries"]), (4, 3, 1))

    def test_top_counts_networks_over_workers_and_reloads(self):
        server = self.serve_controlled("workers: 2")
        for _ in range(5):
            server.ask(NAME, AAAA)
        self.ctl("reload")
        server.ask(NAME, AAAA)
        network = self.host.rsplit(".", 1)[0] + ".0/24"
        sources = wait_for(lambda: self.rows("top", "1"), "a row")
        # The source is the first loopback address, or ours.
        self.assertIn(sources, ([["127.0.0.0/24", "6", "6"]], [[network, "6", "6"]]))

    def test_top_is_as_it_was_after_a_reload_that_was_refused(self):
        self.expect_log("store not opened", "store would be lost by the reload", "configuration not reloaded")
        server = self.serve_controlled("top-prefix-ipv4: 32")
        server.ask(NAME, AAAA)
        sources = wait_for(lambda: self.rows("top", "1"), "a row")
        os.unlink(self.path("bl6.mdb"))
        with open(server.config_path, encoding="ascii") as file:
            config = file.read()
        with open(server.config_path, "w", encoding="ascii") as file:
            file.write(config.replace("top-prefix-ipv4: 32", "top-prefix-ipv4: 24"))
        self.ctl("reload", expect=EX_CONFIG)
        self.assertEqual(self.rows("top", "1"), sources)

    def test_top_is_empty_when_it_is_switched_off(self):
        server = self.serve_controlled("top-size: 0")
        server.ask(NAME, AAAA)
        self.assertEqual(self.rows("top"), [])

    def test_a_timeout_that_is_none_is_named_as_the_option_is(self):
        error = self.ctl("--timeout", "0", "status", expect=harness.EX_USAGE).stderr
        self.assertRegex(error, r"^dnsblv6ctl: --timeout takes a whole number from 1 to 3600, not '0'; ")

    def test_what_another_program_says_is_no_answer(self):
        path = self.path("other")
        for said, reason in ((b"220 mail.example ESMTP\r\n", "the answer is not complete"),
                             (b"", "the server has closed the connection without an answer"),
                             (b"x" * 100_000_000, "the answer is longer than one of a dnsblv6d")):
            with self.subTest(said=said[:20]), socket.socket(socket.AF_UNIX) as listener:
                listener.bind(path)
                listener.listen()
                with subprocess.Popen([harness.program("dnsblv6ctl"), "--socket", path, "status"],
                                      stderr=subprocess.PIPE) as asking:
                    client = listener.accept()[0]
                    client.recv(100)
                    try:
                        client.sendall(said)
                    except OSError:
                        pass
                    client.close()
                    self.assertEqual(asking.communicate()[1].decode(), f"dnsblv6ctl: {reason}\n")
                self.assertEqual(asking.returncode, os.EX_SOFTWARE)
                os.unlink(path)

    def test_what_is_no_request_is_refused_by_either_side(self):
        self.serve_controlled()
        for words in (("bogus",), ("top", "0"), ("top", "1", "2"), (), ("status", "1")):
            self.ctl(*words, expect=harness.EX_USAGE)
        for data in (b"bogus\n", b"\n", b"\0\n", b"status 1\n", b"status\nstatus\n"):
            self.assertRegex(self.say(data), rb"^error [ -~]+\n$", data)


class Metrics(Control):
    def metrics(self):
        return self.ctl("metrics").stdout

    def serve_followed(self, store, secondary="itself"):
        """With a secondary that is the server itself: it answers what it asks."""
        address = self.free_address()
        text = config_text(address, [(ZONE, store, None)], [f"control: {self.socket_path}"])
        quoted = secondary.replace('"', '\\"')
        text += (f'    secondary: [ "{quoted}" ]\nsecondary:\n  - id: "{quoted}"\n'
                 f"    address: {address[0]}@{address[1]}\n")
        server = harness.Server(self.write("followed.conf", text), address, self.path("followed.log"))
        self.processes.append(server)
        self.expect_log(r"NOTIFY")
        server.wait_until_ready()
        wait_for(lambda: "dnsblv6_secondary_serial{" in self.metrics(), "an answer of the secondary")
        escaped = secondary.replace("\\", "\\\\").replace('"', '\\"')
        self.assertIn(f'dnsblv6_secondary_serial{{zone="{ZONE}",secondary="{escaped}",address="{address[0]}@{address[1]}"}} '
                      + re.search(r"dnsblv6_zone_serial{[^}]*} (\d+)", self.metrics())[1], self.metrics().splitlines())

    def test_the_format_is_right(self):
        self.serve_followed(self.path("bl6.mdb"))
        text = self.metrics()
        typed = set()
        seen = set()
        for line in text.splitlines():
            if line.startswith("# TYPE "):
                _, _, name, kind = line.split()
                self.assertNotIn(name, typed)
                typed.add(name)
                self.assertEqual(kind, "counter" if name.endswith("_total") else "gauge")
            elif not line.startswith("# HELP "):
                match = re.fullmatch(r'(dnsblv6_[a-z0-9_]+)(\{[a-z]+="[^"]+"(,[a-z]+="[^"]+")*\})? \d+', line)
                self.assertTrue(match, line)
                self.assertIn(match[1], typed)
                self.assertNotIn(match[0].rsplit(" ", 1)[0], seen)
                seen.add(match[0].rsplit(" ", 1)[0])
        self.assertIn('dnsblv6_zone_up{zone="bl6.example."} 1', text.splitlines())

    def test_the_id_of_a_secondary_is_escaped(self):
        self.serve_followed(self.path("bl6.mdb"), 'the "first" a\\b')

    def test_what_each_list_has_is_counted(self):
        self.build(self.path("counted.mdb"), self.write("counted.txt", "192.0.2.0/30\n2a00::/62\n"),
                   "dnset:" + self.write("names.txt", "example.com\nexample.net\n"))
        self.serve_controlled(zones=[(ZONE, self.path("counted.mdb"), None)])
        lines = self.metrics().splitlines()
        for name, value in (("ipv4_addresses", 4), ("ipv6_networks", 4), ("domain_names", 2)):
            self.assertIn(f'dnsblv6_zone_{name}{{zone="{ZONE}"}} {value}', lines)

    def test_promtool_has_nothing_to_say(self):
        promtool = harness.peer("promtool")
        self.serve_followed(self.path("bl6.mdb"))
        result = subprocess.run([promtool, "check", "metrics"], input=self.metrics(), text=True,
                                capture_output=True, check=False, timeout=60)
        self.assertEqual((result.returncode, result.stdout + result.stderr), (0, ""))

    def test_every_metric_of_the_dashboard_exists(self):
        key = self.path("key.pem")
        self.run_zone("keygen", "--zone", ZONE, "--key", key)
        self.build(self.path("signed.mdb"), self.path("list"), "--key", key)
        self.serve_followed(self.path("signed.mdb"))
        with open(os.path.join(harness.SOURCE, "docs/grafana-dnsblv6.json"),
                  encoding="utf-8") as file:
            dashboard = json.load(file)
        named = set()
        for panel in dashboard["panels"]:
            for target in panel["targets"]:
                found = re.findall(r"dnsblv6_\w+", target["expr"])
                self.assertTrue(found, target)
                named |= set(found)
        for variable in dashboard["templating"]["list"]:
            named |= set(re.findall(r"dnsblv6_\w+", variable["query"]))
        exported = set(re.findall(r"^(dnsblv6_\w+)", self.metrics(), re.MULTILINE))
        self.assertEqual(named - exported, set())

    def test_a_file_is_replaced_when_the_answer_is_there_and_only_then(self):
        server = self.serve_controlled()
        path = self.path("dnsblv6.prom")
        self.ctl("--output", path, "metrics")
        with open(path, encoding="utf-8") as file:
            before = file.read()
        self.assertIn("dnsblv6_build_info", before)
        server.stop()
        self.ctl("--output", path, "metrics", expect=EX_UNAVAILABLE)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), before)
        self.assertEqual([name for name in os.listdir(self.directory) if ".prom." in name], [])


class Ordering(Control):
    def test_reload_returns_when_new_workers_serve(self):
        server = self.serve_controlled()
        other = "other.example."
        self.build(self.path("other.mdb"), self.path("list"), zone=other)
        with open(server.config_path, "a", encoding="utf-8") as file:
            file.write(f"  - domain: {other}\n    store: other.mdb\n")
        self.ctl("reload")
        values, workers = self.status()
        self.assertIn(["2", "serving"], [[worker[1], worker[3]] for worker in workers])
        self.assertEqual(server.ask(f"0.2.0.192.{other}", AAAA).rcode, NOERROR)
        self.assertEqual((values["generation"], values["reloads"], values["zones"]),
                         ("2", "1", "2"))

    def test_reload_returns_when_old_workers_have_heard_of_it(self):
        server = self.serve_controlled()
        old = int(self.status()[1][0][2])
        os.kill(old, signal.SIGSTOP)
        self.addCleanup(self.go_on, old)
        with subprocess.Popen([harness.program("dnsblv6ctl"), "--socket", self.socket_path, "reload"]) as reload:
            server.wait_for_log("reloaded, ")
            self.assertRaises(subprocess.TimeoutExpired, reload.wait, 1)
            # A reload that is refused meanwhile says nothing about this one.
            with open(server.config_path, "a", encoding="utf-8") as file:
                file.write("nonsense\n")
            self.expect_log("configuration refused", "configuration not reloaded")
            self.ctl("reload", expect=EX_CONFIG)
            self.go_on(old)
            self.assertEqual(reload.wait(DEADLINE_S), 0)

    def go_on(self, pid):
        try:
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            pass

    def test_a_broken_configuration_is_told_to_dnsblv6ctl_and_changes_nothing(self):
        self.expect_log("configuration refused", "configuration not reloaded")
        server = self.serve_controlled()
        workers = server.children()
        with open(server.config_path, "a", encoding="utf-8") as file:
            file.write("    bogus: 1\n")
        with open(server.config_path, encoding="utf-8") as file:
            line = len(file.readlines())
        error = self.ctl("reload", expect=EX_CONFIG).stderr
        self.assertRegex(error, rf"^dnsblv6ctl: .*:{line}: configuration refused, item=\"bogus\"")
        self.assertIn(error.split(":", 3)[3].strip(), server.log())
        self.assertEqual(server.children(), workers)
        self.assert_serving(server)
        values, _ = self.status()
        self.assertEqual((values["generation"], values["reloads-refused"]), ("1", "1"))

    def test_a_reload_names_a_new_zone_that_has_no_store(self):
        self.expect_log("store not opened")
        server = self.serve_controlled()
        self.assertEqual(self.ctl("reload").stdout, "")
        path = self.path("new.mdb")
        with open(server.config_path, "a", encoding="ascii") as file:
            file.write(f"  - domain: new.example.\n    store: {path}\n")
        self.assertEqual(self.ctl("reload").stdout,
                         "warning: [new.example.] store not opened, answering SERVFAIL, "
                         f"path={path} (No such file or directory)\n")
        self.assert_serving(server)
        self.build(path, self.write("new", "192.0.2.1\n"), zone="new.example.")
        self.assertEqual(self.ctl("reload").stdout, "")

    def test_a_reload_names_what_a_restart_alone_does(self):
        self.expect_log("configuration change needs a restart")
        server = self.serve_controlled()
        with open(server.config_path, encoding="ascii") as file:
            text = file.read()
        self.write(os.path.basename(server.config_path),
                   text.replace("server:\n", "server:\n    workers: 3\n", 1))
        for _ in range(2):
            self.assertEqual(self.ctl("reload").stdout,
                             "warning: [dnsblv6d] configuration change needs a restart, item=workers\n")
        self.write(os.path.basename(server.config_path), text)
        self.assertEqual(self.ctl("reload").stdout, "")

    def test_a_reload_that_would_lose_a_list_is_told_to_dnsblv6ctl(self):
        self.expect_log("store not opened",
                        "store would be lost by the reload",
                        "configuration not reloaded")
        server = self.serve_controlled()
        os.unlink(self.path("bl6.mdb"))
        error = self.ctl("reload", expect=EX_CONFIG).stderr
        self.assertRegex(error, r"^dnsblv6ctl: the store of bl6\.example\. would be lost, "
                                r"path=.*bl6\.mdb \(No such file or directory\)$")
        self.assert_serving(server)
        self.assertEqual(self.status()[0]["reloads-refused"], "1")

    def test_stop_returns_when_the_server_has_ended(self):
        server = self.serve_controlled()
        self.ctl("stop")
        self.assertEqual(server.popen.wait(DEADLINE_S), 0)
        self.assertIn("stopping, as dnsblv6ctl says", server.log())
        self.assertFalse(os.path.exists(self.socket_path))
        self.ctl("status", expect=EX_UNAVAILABLE)


class Permissions(Control):
    def mode(self):
        return stat.S_IMODE(os.stat(self.socket_path).st_mode)

    def test_mode_and_owner_are_as_configured(self):
        self.serve_controlled("control-mode: 600")
        self.assertEqual(self.mode(), 0o600)
        if os.geteuid() != 0:
            self.skipTest("only root gives a socket away")
        self.socket_path = self.path("ctl2")
        self.serve_controlled("control-owner: nobody:daemon", "control-mode: 620")
        status = os.stat(self.socket_path)
        self.assertEqual((status.st_uid, self.mode()), (65534, 0o620))
        self.assertNotEqual(status.st_gid, 0)

    def test_a_user_who_may_not_write_to_the_socket_gets_nothing(self):
        if os.geteuid() != 0:
            self.skipTest("root alone can become somebody else")
        os.chmod(self.directory, 0o755)
        server = self.serve_controlled()
        self.assertEqual(self.mode(), 0o660)
        self.assertEqual(self.status()[0]["state"], "serving")

        def become_nobody():
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)

        # A copy, because the build directory may be root's alone.
        copy = self.path("dnsblv6ctl")
        with open(harness.program("dnsblv6ctl"), "rb") as file:
            content = file.read()
        with open(copy, "wb") as file:
            file.write(content)
        os.chmod(copy, 0o755)
        result = subprocess.run([copy, "--socket", self.socket_path, "stop"], check=False,
                                capture_output=True, text=True, preexec_fn=become_nobody,
                                timeout=60)
        self.assertEqual(result.returncode, EX_NOPERM, result.stderr)
        self.assert_serving(server)

    def test_the_socket_of_a_killed_server_is_replaced(self):
        server = self.serve_controlled()
        os.kill(server.pid, 9)
        server.popen.wait()
        self.assertTrue(os.path.exists(self.socket_path))
        self.serve_controlled()
        self.assertEqual(self.status()[0]["state"], "serving")

    def test_a_start_that_fails_leaves_no_socket_in_the_way_of_the_next(self):
        if os.geteuid() != 0:
            self.skipTest("root alone can become somebody else")
        spool = self.path("spool")
        os.mkdir(spool)
        os.chown(spool, 65534, 65534)
        config = self.write("second.conf", config_text(self.free_address(), [], [
            f"control: {spool}/socket", "control-owner: root:daemon"]))
        result = subprocess.run([self.readable_program(harness.program("dnsblv6d")), "--config", config],
                                user=65534, group=65534, extra_groups=[], check=False,
                                capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, EX_NOPERM, result.stderr)
        self.assertIn("control socket not opened", result.stderr)
        self.assertEqual(os.listdir(spool), [])

    def refuse(self):
        """The log of a server that does not start."""
        config = self.write("second.conf", config_text(
            self.free_address(), [], [f"control: {self.socket_path}"]))
        result = subprocess.run([harness.program("dnsblv6d"), "--config", config], check=False,
                                capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, EX_UNAVAILABLE, result.stderr)
        return result.stderr

    def test_neither_the_socket_of_another_server_nor_a_file_is_taken_over(self):
        self.serve_controlled()
        self.assertIn("control socket not opened", self.refuse())
        self.assertEqual(self.status()[0]["state"], "serving")
        self.socket_path = self.write("precious", "data")
        self.assertIn("control socket not opened", self.refuse())
        with open(self.socket_path, encoding="utf-8") as file:
            self.assertEqual(file.read(), "data")


class Hostile(Control):
    def test_a_client_that_never_reads_holds_up_no_other(self):
        self.expect_log("store not opened")
        # Enough zones that the answer is larger than any socket buffer.
        zones = [(f"z{number}.example.", self.path(f"{number}.mdb"), None)
                 for number in range(600)]
        server = self.serve_controlled(zones=zones + [(ZONE, self.path("bl6.mdb"), None)])
        deaf = [self.connect() for _ in range(5)]
        for client in deaf:
            client.sendall(b"metrics\n")
        text = self.ctl("metrics").stdout
        self.assertGreater(len(text), 300000)
        self.assert_serving(server)
        self.ctl("reload")
        # It is given up in the end, which it sees by an answer that stops short.
        wait_for(lambda: len(self.sockets(server)) <= OWN_SOCKETS,
                 "the deaf to be given up", 60)
        self.assertLess(len(read_all(deaf[0])), len(text))
        self.assert_serving(server)

    def sockets(self, server):
        """Those that the parent has open."""
        return [link for link in open_files(server.pid) if link.startswith("socket:")]

    def test_silent_clients_give_way_to_others_and_are_closed_in_time(self):
        server = self.serve_controlled()
        silent = [self.connect() for _ in range(3 * CLIENTS_MAX)]
        self.assertEqual(self.status()[0]["state"], "serving")
        self.assertLessEqual(len(self.sockets(server)), CLIENTS_MAX + OWN_SOCKETS)
        for client in silent:
            self.assertEqual(read_all(client), b"")
        self.assert_serving(server)

    def test_garbage_and_giant_lines_are_refused(self):
        server = self.serve_controlled()
        pid = server.pid
        for data in (b"x" * 256, b"status" * 100000, self.random.randbytes(100000),
                     b"\n" * 1000, b"top " + b"9" * 5000 + b"\n"):
            answer = self.say(data)
            self.assertTrue(answer == b"" or answer.startswith(b"error "), answer)
        for cut in range(len(b"status\n")):
            client = self.connect()
            client.sendall(b"status\n"[:cut])
            client.close()
        for _ in range(200):
            self.say(self.random.randbytes(self.random.randrange(300)) + b"\n")
        self.assertEqual(self.status()[0]["state"], "serving")
        self.assertEqual(server.pid, pid)
        self.assert_serving(server)

    def test_a_request_may_come_byte_by_byte(self):
        self.serve_controlled()
        client = self.connect()
        for byte in b"status\n":
            client.sendall(bytes([byte]))
        self.assertRegex(read_all(client), rb"^ok \d+\nversion\t")

    def test_many_clients_at_once_are_all_answered(self):
        self.serve_controlled()
        running = [subprocess.Popen([harness.program("dnsblv6ctl"), "--socket", self.socket_path,
                                     "stats"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                   for _ in range(12)]
        for process in running:
            out, err = process.communicate(timeout=60)
            self.assertEqual((process.returncode, err), (0, b""))
            self.assertIn(b"server\tqueries\t", out)

    def test_workers_do_not_keep_the_connections_of_the_operator(self):
        self.expect_log("worker died")
        server = self.serve_controlled()
        waiting = self.connect()
        os.kill(server.children()[0], 9)
        server.wait_for_log("worker died")
        wait_for(lambda: self.status()[1][0][3] == "serving", "another worker")
        waiting.sendall(b"status\n")
        self.assertRegex(read_all(waiting), rb"^ok ")  # and the end of it


if __name__ == "__main__":
    harness.main()
