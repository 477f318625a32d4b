#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
dnsblv6-cached with many processes behind it: they cause one question for each
block and zone, whoever is killed, and no wrong or late verdict. cached_clients
are the processes, dnsblv6d counts the questions. Needs nothing else; unbound
and promtool (Debian's prometheus) are used when they are there.

DNSBLV6_CACHED_PROCESSES and DNSBLV6_CACHED_ADDRESSES are 200 and 100000, and
less with sanitizers; by hand they may be anything:

    DNSBLV6_CACHED_PROCESSES=1000 DNSBLV6_CACHED_ADDRESSES=900000 \
        meson test -C build/gcc --setup all --test-args OneQuestion cached
"""

import ipaddress
import mmap
import os
import random
import re
import resource
import signal
import socket
import stat
import struct
import subprocess

import harness
from harness import (BUILD, CLASSIC, DEADLINE_S, EX_CONFIG, EX_UNAVAILABLE, IS_SANITIZED, ZONE,
                     Case, sanitizer_reports, wait_for)
from lookups import count_queries
from resolvers import start_unbound

PROCESSES = int(os.environ.get("DNSBLV6_CACHED_PROCESSES", 20 if IS_SANITIZED else 200))
ADDRESSES = int(os.environ.get("DNSBLV6_CACHED_ADDRESSES", 2000 if IS_SANITIZED else 100000))
PER_BLOCK = 50
TIMEOUT_MS = 60000  # of a check: the machine may be busy, and nothing here is to be late
NAME = ZONE.rstrip(".")
CLIENTS = os.path.join(BUILD, "tests/integration/cached_clients")

# client-lib/shared/cached.h
HEAD = struct.Struct(">4sI16sI")
REPLY = struct.Struct(">4sIBBHI")
# HEALTH_LOOK_CREDIT, and one more for each minute that a test may take
LOOKS_MAX = 30 + 10
ANSWERED, FAILED, LATE, NO_ZONE, BUSY = 1, 2, 3, 4, 5
OPEN_MAX = 128


def request(ident, address, timeout_ms=TIMEOUT_MS, zone=NAME):
    mapped = ipaddress.ip_address("::ffff:" + address if "." in address else address)
    return HEAD.pack(b"b6c1", ident, mapped.packed, timeout_ms) + zone.encode()


class CachedCase(Case):
    def setUp(self):
        super().setUp()
        self.directory_of_cache = self.path("shared")

    # ---- what is asked about ----

    def make_list(self, block_count):
        """Random blocks, PER_BLOCK addresses in each; in every other one some are listed."""
        chosen = random.Random(harness.SEED)
        blocks = set()
        while len(blocks) < block_count:
            first = chosen.randrange(0x20000000, 0x60000000) & ~127  # nothing reserved there
            blocks.add(first)
        rows = []
        for index, block in enumerate(sorted(blocks)):
            for host in sorted(chosen.sample(range(128), PER_BLOCK)):
                is_listed = index % 2 == 0 and chosen.random() < 0.5
                rows.append((str(ipaddress.ip_address(block + host)), int(is_listed)))
        return rows

    def serve_list(self, rows, *options):
        listed = "\n".join(address for address, is_listed in rows if is_listed)
        self.build(self.path("bl6.mdb"), *options, self.write("list", listed + "\n192.0.2.1\n"))
        self.server = self.serve(server_lines=[f"control: {self.path('ctl')}"])
        return self.server

    def questions(self, zone=ZONE):
        """How many the server has had about the zone."""
        return count_queries(self, zone)

    def assert_questions(self, count, wanted):
        """As many, and two for each look at the zone that listings have caused (proof.h)."""
        self.assertIn(count - wanted, range(0, 2 * LOOKS_MAX + 1, 2))

    # ---- the daemon ----

    def config(self, resolver, cached=(), library=(), zones=(NAME,)):
        lines = ["cached:", f"    directory: {self.directory_of_cache}"]
        lines += [f"    {line}" for line in cached]
        lines.append("zone:")
        lines += [f"  - domain: {zone}" for zone in zones]
        lines += ["library:", f"    servers: [ {resolver[0]}@{resolver[1]} ]"]
        lines += [f"    {line}" for line in library]
        return self.write("cached.conf", "\n".join(lines) + "\n")

    def start_cached(self, config, **how):
        daemon = self.start([harness.program("dnsblv6-cached"), "--config", config], "cached",
                            **how)
        daemon.wait_for_log(r"^info: \[dnsblv6-cached\] ready, ")
        return daemon

    def run_cached(self, *arguments):
        result = subprocess.run([harness.program("dnsblv6-cached"), *arguments],
                                capture_output=True, text=True, check=False, timeout=DEADLINE_S)
        self.assertEqual(sanitizer_reports(result.stderr), [])
        return result

    def kill(self, daemon):
        """So that nothing of it is left but its files."""
        daemon.popen.kill()
        daemon.popen.wait()

    def wait_until_probed(self, daemon, zone=NAME):
        def look():
            daemon.send_signal(signal.SIGUSR1)
            return re.search(rf"^info: \[{zone}\] zone, state=ok ", daemon.log(), re.MULTILINE)

        wait_for(look, f"{zone} to be ok")

    # ---- the clients ----

    def clients_command(self, resolver, processes, passes, options, timeout_ms, inherit=False):
        return [CLIENTS, *(["inherit"] if inherit else []), str(processes), str(timeout_ms),
                str(passes), f"zones={NAME}", f"servers={resolver[0]}@{resolver[1]}",
                f"shared={self.directory_of_cache}", "cache-size=64K", *options]

    def run_clients(self, rows, resolver, processes=4, options=(), timeout_ms=TIMEOUT_MS,
                    inherit=False, **how):
        """Until all have checked all; what they saw."""
        text = "".join(f"{address} {is_listed}\n" for address, is_listed in rows)
        command = self.clients_command(resolver, processes, 1, options, timeout_ms, inherit)
        if "user" in how:
            command[0] = self.readable_program(command[0])
        result = subprocess.run(command, input=text, capture_output=True, text=True, check=False,
                                timeout=600, **how)
        self.assertEqual(sanitizer_reports(result.stderr), [])
        self.assertEqual(result.returncode, 0, result.stdout[-2000:] + result.stderr[-4000:])
        return harness.numbers(result.stdout.splitlines()[-1])

    def assert_right(self, seen, rows):
        self.assertEqual(seen["wrong"] + seen["late"] + seen["errors"] + seen["unknown"], 0, seen)
        self.assertEqual(seen["checked"], len(rows), seen)
        self.assertEqual(seen["listed"], sum(is_listed for _, is_listed in rows), seen)


class OneQuestion(CachedCase):
    def warm_up(self, daemon, resolver):
        """So that the probes of the zone are over; a block of no list."""
        self.wait_until_probed(daemon)
        self.assert_right(self.run_clients([("192.0.2.200", 0)], resolver, 1), [("192.0.2.200", 0)])

    def test_many_processes_cause_one_question_for_each_block(self):
        blocks = max(1, ADDRESSES // PER_BLOCK)
        rows = self.make_list(blocks)
        server = self.serve_list(rows)
        daemon = self.start_cached(self.config(server.address))
        self.warm_up(daemon, server.address)

        before = self.questions()
        seen = self.run_clients(rows, server.address, PROCESSES)
        self.assert_right(seen, rows)
        self.assertEqual(seen["queries"], 0, "clients have asked DNS themselves")
        self.assert_questions(self.questions() - before, blocks)

        # Other processes, while the answers hold: none at all.
        asked = self.questions()
        seen = self.run_clients(rows, server.address, PROCESSES)
        self.assert_right(seen, rows)
        self.assertEqual(self.questions(), asked)
        print(f"processes={PROCESSES} addresses={len(rows)} questions={blocks}")

    def test_a_client_may_want_answers_validated_that_the_daemon_takes_as_they_are(self):
        rows = self.make_list(10)
        server = self.serve_list(rows)
        daemon = self.start_cached(self.config(server.address))
        self.warm_up(daemon, server.address)
        self.assert_right(self.run_clients(rows, server.address), rows)
        seen = self.run_clients(rows, server.address, options=["secure=yes"])
        self.assertEqual(seen["unknown"], len(rows), seen)

    def test_children_that_inherit_a_handle_cause_no_more(self):
        rows = self.make_list(100)
        server = self.serve_list(rows)
        daemon = self.start_cached(self.config(server.address))
        self.warm_up(daemon, server.address)
        before = self.questions()
        seen = self.run_clients(rows, server.address, min(PROCESSES, 50), inherit=True)
        self.assert_right(seen, rows)
        self.assertEqual(seen["queries"], 0)
        self.assert_questions(self.questions() - before, 100)

    def test_a_block_is_asked_again_when_its_ttl_is_over_and_not_before(self):
        rows = [("192.0.2.200", 0)] * 64  # a listing would have the zone looked at, too
        server = self.serve_list([])
        daemon = self.start_cached(self.config(server.address, library=[
            "min-ttl: 1s", "max-ttl: 1s", "max-negative-ttl: 1s", "prefetch: 0"]))
        self.warm_up(daemon, server.address)
        before = self.questions()
        clock = harness.time.monotonic()
        rounds = 0

        def ask():
            nonlocal rounds
            rounds += 1
            self.assert_right(self.run_clients(rows, server.address, 16), rows)
            return self.questions() - before >= 4

        wait_for(ask, "four questions")
        # Seconds begin at any time, and each has one question at most.
        self.assertLessEqual(self.questions() - before, harness.time.monotonic() - clock + 2)
        self.assertGreater(rounds, 1)

    def test_through_unbound(self):
        rows = self.make_list(100)
        server = self.serve_list(rows)
        resolver = start_unbound(self, [server])
        metrics = self.path("metrics.prom")
        daemon = self.start_cached(self.config(resolver, cached=[f"metrics: {metrics}"]))
        self.warm_up(daemon, resolver)
        before = self.zone_queries(daemon)
        self.assert_right(self.run_clients(rows, resolver, PROCESSES), rows)
        self.assert_questions(self.zone_queries(daemon) - before, 100)

    def test_ipv6_clients(self):
        """A block is a /57: 128 networks of 2^64 addresses."""
        network = ipaddress.ip_network("2a00:1:2:80::/57")
        rows = [(str(network[(host << 64) + 1]), int(host % 3 == 0)) for host in range(128)]
        server = self.serve_list([(address + "/64", is_listed) for address, is_listed in [
            (address.replace("::1", "::"), is_listed) for address, is_listed in rows]])
        daemon = self.start_cached(self.config(server.address))
        self.warm_up(daemon, server.address)
        # The test points of IPv6 are looked at when it is first asked.
        self.run_clients([("2a00:1:3::1", 0)], server.address, 1)
        before = self.questions()
        self.assert_right(self.run_clients(rows, server.address, 32), rows)
        self.assert_questions(self.questions() - before, 1)

    def test_a_classic_zone_has_one_question_for_each_address_and_filters_are_the_clients(self):
        name = CLASSIC.rstrip(".")
        rows = self.make_list(2)
        server = self.serve_list(rows)
        daemon = self.start_cached(self.config(server.address, zones=(NAME, name)))
        self.wait_until_probed(daemon)
        self.wait_until_probed(daemon, name)
        before = self.questions(CLASSIC)
        seen = self.run_clients(rows * 4, server.address, 16, [f"zones={name}"])
        self.assert_right(seen, rows * 4)
        asked = self.questions(CLASSIC)
        self.assert_questions(asked - before, len(rows))

        seen = self.run_clients(rows, server.address, 4, [f"zones={name}=127.0.0.2"])
        self.assert_right(seen, rows)
        unlisted = [(address, 0) for address, _ in rows]
        seen = self.run_clients(unlisted, server.address, 4, [f"zones={name}=127.0.0.[3..9]"])
        self.assert_right(seen, unlisted)
        self.assertEqual(seen["queries"], 0)
        self.assertEqual(self.questions(CLASSIC), asked)

    def test_what_is_proven_about_a_range_is_for_all(self):
        """A signed zone: one answer that nothing is there is good for all that is not."""
        key = self.path("bl6.pem")
        self.run_zone("keygen", "--zone", ZONE, "--key", key)
        anchor = self.run_zone("ds", "--zone", ZONE, "--key", key).out.splitlines()[0]
        server = self.serve_list([("93.184.216.34", 1)], "--key", key)
        resolver = start_unbound(self, [server], [anchor])
        daemon = self.start_cached(self.config(resolver))
        self.warm_up(daemon, resolver)
        self.run_clients([("40.0.0.1", 0)], resolver, 1)
        before = self.zone_queries(daemon)
        rows = [(f"{first}.{second}.0.1", 0) for first in range(32, 90)
                for second in range(0, 256, 8)]
        seen = self.run_clients(rows, resolver, 16)
        self.assert_right(seen, rows)
        self.assertEqual(seen["cached"], len(rows))
        self.assertEqual(self.zone_queries(daemon), before)

    def zone_queries(self, daemon):
        count = len(re.findall("zone, state=", daemon.log()))
        daemon.send_signal(signal.SIGUSR1)
        found = daemon.wait_for_log(rf"^info: \[{NAME}\] zone, .*queries=(\d+)", count + 1)
        return int(found[-1])


class Kills(CachedCase):
    """The zone has a TTL of a second, so that there is always something to ask."""

    SHORT = ("min-ttl: 1s", "max-ttl: 1s", "max-negative-ttl: 1s")

    def start_clients(self, rows, resolver, processes, timeout_ms=10000):
        text = "".join(f"{address} {is_listed}\n" for address, is_listed in rows)
        arguments = self.clients_command(
            resolver, processes, 10**9, [line.replace(": ", "=") for line in self.SHORT],
            timeout_ms)
        path = self.path("clients.out")
        with open(path, "wb") as out:
            popen = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=out, stderr=out)
        self.addCleanup(popen.wait)
        self.addCleanup(popen.kill)
        popen.stdin.write(text.encode())
        popen.stdin.close()

        def read_pids():
            with open(path, encoding="ascii") as file:
                found = re.search("^processes (.*)\n", file.read(), re.MULTILINE)
            return found and [int(word) for word in found[1].split()]

        return popen, wait_for(read_pids, "the clients"), path

    def finish_clients(self, popen, path):
        popen.terminate()
        popen.wait(DEADLINE_S)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.assertEqual(sanitizer_reports(text), [])
        self.assertEqual(popen.returncode, 0, text[-4000:])
        return harness.numbers(text.splitlines()[-1])

    def requests(self, daemon):
        count = len(re.findall("counters, clients=", daemon.log()))
        daemon.send_signal(signal.SIGUSR1)
        found = daemon.wait_for_log(r"^info: .*counters, clients=.* requests=(\d+)", count + 1)
        return int(found[-1])

    def wait_for_requests(self, daemon):
        """Clients have found the daemon, and ask it."""
        before = self.requests(daemon)
        wait_for(lambda: self.requests(daemon) > before + 20, "clients to ask the daemon")

    def test_kill_9_of_the_daemon_and_of_clients(self):
        rows = self.make_list(20)
        server = self.serve_list(rows)
        config = self.config(server.address, library=self.SHORT)
        daemon = self.start_cached(config)
        popen, pids, path = self.start_clients(rows, server.address, 24)
        killed = 0
        for turn in range(6):
            self.wait_for_requests(daemon)
            os.kill(pids[turn], signal.SIGKILL)  # in the middle of whatever it does
            killed += 1
            if turn % 2 == 0:
                self.kill(daemon)
            else:
                self.assertEqual(daemon.stop(), 0)
            daemon = self.start_cached(config)
        self.wait_for_requests(daemon)
        # One that hangs is left, and found again.
        daemon.send_signal(signal.SIGSTOP)
        before = self.questions()
        wait_for(lambda: self.questions() > before + 20, "clients to ask DNS themselves")
        daemon.send_signal(signal.SIGCONT)
        self.wait_for_requests(daemon)

        seen = self.finish_clients(popen, path)
        self.assertEqual(seen["killed"], killed)
        self.assertEqual(seen["wrong"] + seen["late"] + seen["errors"] + seen["unknown"], 0, seen)
        self.assertGreater(seen["listed"], 0)
        self.assertGreater(seen["clear"], 0)

    def beat_age_ms(self):
        """How long ago the daemon has said that it is at work (client-lib/cache/cache_table.h)."""
        with open(os.path.join(self.directory_of_cache, "cache"), "rb") as file:
            beat = struct.unpack("=q", file.read(96)[88:])[0]
        return harness.time.clock_gettime(harness.time.CLOCK_MONOTONIC) * 1000 - beat

    def test_a_stopped_daemon_costs_each_client_one_wait(self):
        rows = self.make_list(20)
        server = self.serve_list(rows)
        daemon = self.start_cached(self.config(server.address, library=self.SHORT))
        processes = 8
        popen, _, path = self.start_clients(rows, server.address, processes, 2000)
        self.wait_for_requests(daemon)
        daemon.send_signal(signal.SIGSTOP)
        self.addCleanup(daemon.send_signal, signal.SIGCONT)
        # A daemon that is at work may be late too, on a machine that is busy.
        popen.send_signal(signal.SIGUSR1)
        wait_for(lambda: self.beat_age_ms() > 6000, "the daemon to be missed")
        # As much time again as a client takes to have a daemon that is not there asked anew.
        for _ in range(4):
            before = self.questions()
            wait_for(lambda: self.questions() > before + 40, "clients to ask DNS themselves")
        seen = self.finish_clients(popen, path)
        self.assertEqual(seen["wrong"] + seen["errors"], 0, seen)
        self.assertGreater(seen["asked"], 0)
        self.assertLessEqual(seen["waited"], processes, seen)

        # A process that begins now is told by the file, and does not ask at all.
        seen = self.run_clients(rows, server.address, 8)
        self.assert_right(seen, rows)
        self.assertEqual(seen["asked"] + seen["waited"], 0, seen)

        daemon.send_signal(signal.SIGCONT)
        wait_for(lambda: self.run_clients(rows, server.address, 8)["asked"] > 0,
                 "clients to ask the daemon again")

    def test_a_cache_file_that_is_cut_short_kills_nobody(self):
        rows = self.make_list(20)
        server = self.serve_list(rows)
        config = self.config(server.address, library=self.SHORT)
        daemon = self.start_cached(config)
        popen, _, path = self.start_clients(rows, server.address, 8)
        cache = os.path.join(self.directory_of_cache, "cache")
        size = os.path.getsize(cache)
        for length in (size // 2, 4096, 0):
            self.wait_for_requests(daemon)
            os.truncate(cache, length)
            self.wait_for_requests(daemon)
        self.assertEqual(daemon.stop(), 0)
        daemon = self.start_cached(config)
        self.assertEqual(os.path.getsize(cache), size)
        self.wait_for_requests(daemon)
        seen = self.finish_clients(popen, path)
        self.assertEqual(seen["killed"] + seen["failed"], 0, seen)
        self.assertEqual(seen["wrong"] + seen["late"] + seen["errors"] + seen["unknown"], 0, seen)

    def test_clients_end_with_the_process_that_has_made_them(self):
        rows = self.make_list(1)
        server = self.serve_list(rows)
        popen, pids, _ = self.start_clients(rows, server.address, 4)
        popen.kill()

        def has_ended(pid):
            try:
                with open(f"/proc/{pid}/stat", encoding="ascii") as file:
                    return file.read().rpartition(")")[2].split()[0] in "ZX"
            except (FileNotFoundError, ProcessLookupError):
                return True

        wait_for(lambda: all(map(has_ended, pids)), "the clients to end")

    def test_without_a_daemon_and_with_one_later(self):
        rows = self.make_list(20)
        server = self.serve_list(rows)
        popen, _, path = self.start_clients(rows, server.address, 8)
        before = self.questions()
        wait_for(lambda: self.questions() > before + 20, "clients to ask DNS themselves")
        daemon = self.start_cached(self.config(server.address, library=self.SHORT))
        self.wait_for_requests(daemon)
        seen = self.finish_clients(popen, path)
        self.assertEqual(seen["wrong"] + seen["late"] + seen["errors"] + seen["unknown"], 0, seen)


class Content(CachedCase):
    """With a server that is stopped, what is answered comes out of the daemon's cache."""

    def setUp(self):
        super().setUp()
        self.rows = self.make_list(20)
        self.serve_list(self.rows)
        self.daemon_config = self.config(self.server.address, library=["max-stale: 0"])
        self.daemon = self.start_cached(self.daemon_config)
        self.wait_until_probed(self.daemon)
        self.assert_right(self.run_clients(self.rows, self.server.address), self.rows)
        self.addCleanup(self.go_on)

    def stop_server(self):
        for pid in (self.server.pid, *self.server.children()):
            os.kill(pid, signal.SIGSTOP)

    def go_on(self):
        if self.server.popen.poll() is None:
            for pid in (*self.server.children(), self.server.pid):
                os.kill(pid, signal.SIGCONT)

    def assert_kept(self):
        before = self.questions()
        self.stop_server()
        seen = self.run_clients(self.rows, self.server.address, timeout_ms=10000)
        self.go_on()
        self.assert_right(seen, self.rows)
        self.assertEqual(seen["cached"], len(self.rows))
        self.assertEqual(self.questions(), before)

    def test_of_a_running_daemon(self):
        self.assert_kept()

    def test_of_one_that_was_killed_is_for_those_who_have_it(self):
        self.kill(self.daemon)
        before = self.questions()
        self.assert_right(self.run_clients(self.rows, self.server.address), self.rows)
        self.assertGreaterEqual(self.questions() - before, 20)

    def wait_until_copied(self):
        """An answer is in the copy a moment behind its client; what the daemon does next is to say how it is."""
        said = self.daemon.log().count("state=ok ")
        self.daemon.send_signal(signal.SIGUSR1)
        wait_for(lambda: self.daemon.log().count("state=ok ") > said, "the daemon to be behind its answers")

    def test_of_one_that_was_killed_and_started_again(self):
        self.wait_until_copied()
        self.kill(self.daemon)
        self.daemon = self.start_cached(self.daemon_config)
        self.wait_until_probed(self.daemon)
        self.assert_kept()

    def test_of_one_that_was_restarted(self):
        self.assertEqual(self.daemon.stop(), 0)
        self.daemon = self.start_cached(self.daemon_config)
        self.wait_until_probed(self.daemon)
        self.assert_kept()

    def test_of_one_that_has_ended_is_not_used(self):
        self.assertEqual(self.daemon.stop(), 0)
        before = self.questions()
        self.assert_right(self.run_clients(self.rows, self.server.address), self.rows)
        self.assertGreaterEqual(self.questions() - before, 20)


class BadFiles(CachedCase):
    """A copy that cannot be used harms no client, and the next daemon makes another."""

    def setUp(self):
        super().setUp()
        self.rows = self.make_list(5)
        self.serve_list(self.rows)
        self.daemon_config = self.config(self.server.address)
        daemon = self.start_cached(self.daemon_config)
        self.assert_right(self.run_clients(self.rows, self.server.address), self.rows)
        self.kill(daemon)
        self.cache = os.path.join(self.directory_of_cache, "cache")

    def assert_harmless(self):
        before = self.questions()
        self.assert_right(self.run_clients(self.rows, self.server.address), self.rows)
        self.assertGreaterEqual(self.questions() - before, 5, "the file was used")
        daemon = self.start_cached(self.daemon_config)
        self.wait_until_probed(daemon)
        self.assert_right(self.run_clients(self.rows, self.server.address), self.rows)
        before = self.questions()
        seen = self.run_clients(self.rows, self.server.address)
        self.assert_right(seen, self.rows)
        self.assertEqual(seen["cached"], len(self.rows))
        self.assertEqual(self.questions(), before)

    def test_cut_short(self):
        os.truncate(self.cache, os.path.getsize(self.cache) // 2)
        self.assert_harmless()

    def test_empty(self):
        os.truncate(self.cache, 0)
        self.assert_harmless()

    def test_of_another_version(self):
        with open(self.cache, "r+b") as file:
            head = file.read(16)
            file.seek(0)
            file.write(head[:8] + bytes(byte ^ 1 for byte in head[8:]))
        self.assert_harmless()

    def test_of_another_kind(self):
        os.unlink(self.cache)
        os.mkfifo(self.cache)
        self.assert_harmless()

    def test_of_another_owner(self):
        if os.geteuid() != 0:
            self.skipTest("only root gives files away")
        os.chown(self.cache, 65534, 65534)
        self.assert_harmless()

    def test_that_others_may_write(self):
        os.chmod(self.cache, 0o666)
        self.assert_harmless()


class Socket(CachedCase):
    """Clients that do what they must not, byte by byte."""

    def setUp(self):
        super().setUp()
        self.serve_list([("2a00:1:2:3::/64", 1)])
        self.daemon = None

    def start_small(self, *cached):
        self.daemon = self.start_cached(self.config(self.server.address, cached=cached))
        self.wait_until_probed(self.daemon)

    def open_connection(self):
        client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(client.close)
        client.connect(os.path.join(self.directory_of_cache, "socket"))
        client.settimeout(DEADLINE_S)
        return client

    def greet(self, client):
        """The descriptor that comes with the first packet."""
        packet, fds, flags, _ = socket.recv_fds(client, 100, 4)
        for fd in fds:
            self.addCleanup(os.close, fd)
        self.assertEqual((packet, flags & socket.MSG_CTRUNC), (b"b6t1", 0))
        return fds

    def connect(self):
        client = self.open_connection()
        self.assertEqual(len(self.greet(client)), 1)
        return client

    def receive(self, client):
        magic, ident, outcome, flags, zero, ttl = REPLY.unpack(client.recv(100))
        self.assertEqual((magic, zero), (b"b6r1", 0))
        return ident, outcome, flags, ttl

    def assert_works(self, client=None):
        client = client or self.connect()
        client.send(request(7, "192.0.2.1"))
        ident, outcome, flags, ttl = self.receive(client)
        self.assertEqual((ident, outcome, flags), (7, ANSWERED, 1))
        self.assertGreater(ttl, 0)

    def assert_cut_off(self, client):
        def is_gone():
            try:
                return client.recv(100) == b""
            except ConnectionError:
                return True

        wait_for(is_gone, "the daemon to hang up")

    def test_nobody_can_change_what_is_handed_out(self):
        self.start_small()
        [fd] = self.greet(self.open_connection())
        size = os.fstat(fd).st_size
        for change in (lambda: os.ftruncate(fd, 0), lambda: os.pwrite(fd, b"x", 0),
                       lambda: os.truncate(f"/proc/self/fd/{fd}", 0),
                       lambda: mmap.mmap(fd, size)):
            with self.assertRaises(PermissionError):
                change()
        with mmap.mmap(fd, size, prot=mmap.PROT_READ) as table:
            self.assertEqual(len(table), size)

    def test_questions_and_replies(self):
        self.start_small()
        client = self.connect()
        self.assert_works(client)
        client.send(request(8, "192.0.2.2"))
        self.assertEqual(self.receive(client)[:3], (8, ANSWERED, 0))
        client.send(request(0xFFFFFFFF, "2a00:1:2:3::1"))
        self.assertEqual(self.receive(client)[:3], (0xFFFFFFFF, ANSWERED, 1))
        client.send(request(9, "192.0.2.1", zone=NAME.upper()))
        self.assertEqual(self.receive(client)[:3], (9, ANSWERED, 1))
        client.send(request(10, "192.0.2.1", zone="another.example"))
        self.assertEqual(self.receive(client)[:2], (10, NO_ZONE))

    def test_a_question_without_an_answer_in_time(self):
        self.start_small()
        client = self.connect()
        pids = (self.server.pid, *self.server.children())
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        client.send(request(11, "198.51.100.1", 1))
        self.assertEqual(self.receive(client)[:2], (11, LATE))
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        # What was asked goes on, so that it is there for the next.
        client.send(request(12, "198.51.100.1"))
        self.assertEqual(self.receive(client)[:3], (12, ANSWERED, 0))

    def test_what_cannot_be_read_ends_the_connection_and_no_other(self):
        self.start_small()
        other = self.connect()
        good = request(1, "192.0.2.1")
        for packet in (b"x", good[:28], b"b6c2" + good[4:], good + b"x" * 300, good + b" ",
                       good[:24] + bytes(4) + good[28:], b"\0" * 65536):
            with self.subTest(packet=packet[:40]):
                client = self.connect()
                client.send(packet)
                self.assert_cut_off(client)
        self.assert_works(other)

    def test_a_client_that_never_reads_is_cut_off(self):
        self.start_small()
        client = self.connect()
        client.setblocking(False)
        packet = request(1, "192.0.2.1")

        def is_cut():
            try:
                while True:
                    client.send(packet)
            except BlockingIOError:
                return False
            except (BrokenPipeError, ConnectionResetError):
                return True

        wait_for(is_cut, "the daemon to hang up")
        self.assert_works()

    def test_clients_do_not_get_the_descriptors_that_dns_needs(self):
        self.expect_log("fewer clients than configured")
        self.daemon = self.start_cached(
            self.config(self.server.address),
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (600, 600)))
        self.assertIn("fewer clients than configured, clients=56 descriptors=600\n",
                      self.daemon.log())
        self.wait_until_probed(self.daemon)
        clients = [self.connect() for _ in range(60)]
        for index, client in enumerate(clients[-56:]):
            client.send(request(index, f"203.0.{index}.1"))
            self.assertEqual(self.receive(client)[:3], (index, ANSWERED, 0))

    def test_clients_that_leave_in_the_middle(self):
        self.start_small()
        for index in range(200):
            client = self.connect()
            for ident in range(OPEN_MAX // 2):
                client.send(request(ident, f"203.0.{index}.{ident}"))
            client.close()
        self.assert_works()

    def test_the_one_that_has_been_silent_longest_makes_room(self):
        self.start_small("clients: 4")
        clients = []
        for _ in range(4):
            clients.append(self.connect())
            self.assert_works(clients[-1])
        self.assert_works(clients[0])
        fifth = self.connect()
        self.assert_works(fifth)
        self.assert_cut_off(clients[1])
        for client in (clients[0], clients[2], clients[3], fifth):
            self.assert_works(client)

    def test_who_may_not_write_to_the_socket_asks_dns(self):
        if os.geteuid() != 0:
            self.skipTest("only root becomes another user")
        self.start_small("socket-mode: 600")
        path = os.path.join(self.directory_of_cache, "socket")
        self.assertEqual(stat.S_IMODE(os.lstat(path).st_mode), 0o600)
        rows = [("192.0.2.1", 1), ("198.51.100.77", 0)]
        seen = self.run_clients(rows, self.server.address, 1, user=65534, extra_groups=[])
        self.assert_right(seen, rows)
        self.assertGreater(seen["queries"], 0)


class Life(CachedCase):
    def setUp(self):
        super().setUp()
        self.serve_list([])

    def test_the_configuration_is_checked(self):
        config = self.config(self.server.address)
        result = self.run_cached("--config", config, "--check")
        self.assertEqual((result.returncode, result.stdout), (0, "configuration OK\n"))
        self.assertFalse(os.path.exists(self.directory_of_cache))

        config = self.config(self.server.address, library=["cache-size: 1K"])
        for arguments in (["--config", config, "--check"], ["--config", config]):
            result = self.run_cached(*arguments)
            self.assertEqual(result.returncode, EX_CONFIG)
            self.assertRegex(result.stderr, rf'^error: \[{config}:7\] configuration refused, '
                             r'item=cache-size value="1K" \(permitted is 8K to 64G')

    def test_a_second_daemon_does_not_disturb_the_first(self):
        config = self.config(self.server.address)
        self.start_cached(config)
        result = self.run_cached("--config", config)
        self.assertEqual(result.returncode, EX_UNAVAILABLE)
        self.assertRegex(result.stderr, r"(?m)^error: \[dnsblv6-cached\] cache not opened, ")
        rows = [("192.0.2.1", 1)]
        seen = self.run_clients(rows, self.server.address)
        self.assert_right(seen, rows)
        self.assertEqual(seen["queries"], 0)

    def test_a_file_in_the_place_of_the_socket_stays(self):
        os.mkdir(self.directory_of_cache)
        path = os.path.join(self.directory_of_cache, "socket")
        with open(path, "w", encoding="ascii") as file:
            file.write("mine")
        result = self.run_cached("--config", self.config(self.server.address))
        self.assertEqual(result.returncode, EX_UNAVAILABLE)
        self.assertRegex(result.stderr, r"(?m)^error: \[dnsblv6-cached\] socket not opened, ")
        with open(path, encoding="ascii") as file:
            self.assertEqual(file.read(), "mine")

    def test_a_full_disk_is_told_at_the_start(self):
        if os.geteuid() != 0 or harness.shutil.which("unshare") is None:
            self.skipTest("only root mounts a small disk")
        os.mkdir(self.directory_of_cache)
        config = self.config(self.server.address)
        script = f'mount -t tmpfs -o size=1m none "{self.directory_of_cache}" && exec "$@"'
        result = subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh",
                                 harness.program("dnsblv6-cached"), "--config", config],
                                capture_output=True, text=True, check=False, timeout=DEADLINE_S)
        if re.search("^(mount|unshare):", result.stderr, re.MULTILINE):
            self.skipTest(f"no mount here: {result.stderr.strip()}")
        self.assertEqual(result.returncode, EX_UNAVAILABLE, result.stderr)
        self.assertRegex(result.stderr, r"^error: \[dnsblv6-cached\] cache not opened, "
                         r"directory=.* \(No space left on device\)\n$")

    def test_a_directory_that_cannot_be_made(self):
        self.directory_of_cache = self.path("not/there")
        result = self.run_cached("--config", self.config(self.server.address))
        self.assertEqual(result.returncode, harness.EX_NOPERM)
        self.assertRegex(result.stderr, r"^error: \[dnsblv6-cached\] directory not made, path=")

    def test_the_end_removes_the_socket_and_the_manager_hears_of_it(self):
        path = self.path("notify")
        manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(manager.close)
        manager.bind(path)
        manager.settimeout(DEADLINE_S)
        daemon = self.start_cached(self.config(self.server.address),
                                   env={**os.environ, "NOTIFY_SOCKET": path})
        self.assertEqual(manager.recv(100), b"READY=1")
        self.assertTrue(os.path.exists(os.path.join(self.directory_of_cache, "socket")))
        self.assertEqual(daemon.stop(), 0)
        self.assertEqual(manager.recv(100), b"STOPPING=1")
        self.assertFalse(os.path.exists(os.path.join(self.directory_of_cache, "socket")))
        self.assertTrue(os.path.exists(os.path.join(self.directory_of_cache, "cache")))

    def test_options_that_do_not_go_together(self):
        config = self.config(self.server.address, library=["min-ttl: 60s", "max-ttl: 30s"])
        for arguments in (["--config", config, "--check"], ["--config", config]):
            result = self.run_cached(*arguments)
            self.assertEqual(result.returncode, EX_CONFIG)
            self.assertIn(f'[{config}] configuration not read (max-ttl "30": below min-ttl, 60)', result.stderr)

    def test_a_hangup_is_no_end(self):
        daemon = self.start_cached(self.config(self.server.address))
        daemon.send_signal(signal.SIGHUP)
        daemon.wait_for_log("^warning: .* configuration not reloaded, ")
        self.wait_until_probed(daemon)

    def test_root_is_given_up(self):
        if os.geteuid() != 0:
            self.skipTest("not root")
        daemon = self.start_cached(self.config(self.server.address, cached=[
            "user: nobody", "socket-group: daemon", "socket-mode: 660"]))
        with open(f"/proc/{daemon.pid}/status", encoding="ascii") as file:
            status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
        self.assertEqual(status["Uid"].split(), ["65534"] * 4)
        self.assertEqual(int(status["CapEff"], 16), 0)
        found = os.lstat(os.path.join(self.directory_of_cache, "socket"))
        self.assertEqual((found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)),
                         (65534, 1, 0o660))
        self.assertEqual(os.stat(self.directory_of_cache).st_uid, 65534)
        rows = [("192.0.2.1", 1)]
        seen = self.run_clients(rows, self.server.address)
        self.assert_right(seen, rows)
        self.assertEqual(seen["queries"], 0)

    def test_metrics(self):
        path = self.path("cached.prom")
        daemon = self.start_cached(self.config(self.server.address, cached=[f"metrics: {path}"]))
        wait_for(lambda: os.path.exists(path), "the metrics")
        self.wait_until_probed(daemon)
        self.assert_right(self.run_clients([("192.0.2.1", 1)], self.server.address, 1),
                          [("192.0.2.1", 1)])
        self.assertEqual(daemon.stop(), 0)  # which writes them once more
        with open(path, encoding="ascii") as file:
            text = file.read()
        for line in ("dnsblv6_cached_requests_total 1", "dnsblv6_cached_replies_listed_total 1",
                     "dnsblv6_cached_connections_total 1",
                     f'dnsblv6_cached_zone_state{{zone="{NAME}"}} 1'):
            self.assertIn(line + "\n", text)
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o644)
        self.assertFalse(os.path.exists(path + ".new"))
        promtool = harness.shutil.which("promtool")
        if promtool is not None:
            result = subprocess.run([promtool, "check", "metrics"], input=text, text=True,
                                    capture_output=True, check=False, timeout=DEADLINE_S)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_metrics_that_cannot_be_written_are_a_warning(self):
        daemon = self.start_cached(self.config(self.server.address, cached=[
            f"metrics: {self.path('not/there.prom')}"]))
        daemon.wait_for_log("^warning: .* metrics not written, path=.* ")
        self.assertEqual(daemon.stop(), 0)


if __name__ == "__main__":
    harness.main()
