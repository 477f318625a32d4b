#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
dnsblv6-cached with many processes behind it: they cause one question for each
block and zone, whoever is killed, and no wrong or late verdict. cached_clients
are the processes, dnsblv6d counts the questions. Needs nothing else; unbound
is used when it is there.

DNSBLV6_CACHED_PROCESSES and DNSBLV6_CACHED_ADDRESSES are 200 and 100000, and
less with sanitizers; by hand they may be anything:

    DNSBLV6_CACHED_PROCESSES=1000 DNSBLV6_CACHED_ADDRESSES=900000 \
        meson test -C build/gcc --setup all --test-args OneQuestion cached
"""

import ipaddress
import os
import re
import signal
import struct
import subprocess

import harness
from cached import NAME, PER_BLOCK, CachedCase
from harness import CLASSIC, DEADLINE_S, IS_SANITIZED, ZONE, sanitizer_reports, wait_for
from resolvers import start_unbound

PROCESSES = int(os.environ.get("DNSBLV6_CACHED_PROCESSES", 20 if IS_SANITIZED else 200))
ADDRESSES = int(os.environ.get("DNSBLV6_CACHED_ADDRESSES", 2000 if IS_SANITIZED else 100000))


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
        wait_for(lambda: all(map(harness.has_ended, pids)), "the clients to end")

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


if __name__ == "__main__":
    harness.main()
