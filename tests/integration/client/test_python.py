#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Python binding, client-lib/python/dnsblv6.py, against a served list."""

import asyncio
import ctypes
import ipaddress
import math
import os
import re
import sys
import threading
import time
import unittest.mock
import weakref

import harness
from binding import dnsblv6
from harness import CLASSIC, ZONE, wait_for
from lookups import PATIENCE_S, ZONES, Served

NAME, CLASSIC_NAME = ZONE.rstrip("."), CLASSIC.rstrip(".")


class Python(Served):
    def client(self, zones=ZONES, **options):
        client = dnsblv6.Client(zones, servers=self.servers,
                                **{"attempt_timeout": PATIENCE_S * 1000, **options})
        self.addCleanup(client.close)
        return client

    def test_a_verdict_has_names_for_its_bits(self):
        result = self.client(threshold=3).check("192.0.2.66")
        self.assertTrue(result.is_listed)
        self.assertEqual((result.verdict_name, result.score, result.listed, result.failed),
                         ("listed", 3, (NAME, CLASSIC_NAME), ()))
        self.assertGreater(result.ttl_s, 0)
        with self.assertRaises(AttributeError):
            result.nonsense

    def test_labels_and_codes_of_what_lists_are_told(self):
        client = self.client(f"{NAME}==BITS {CLASSIC_NAME}=127.0.0.2=SBL*2 "
                             f"{CLASSIC_NAME}=127.0.0.4=XBL*3 {CLASSIC_NAME}")
        self.assertEqual([zone.label for zone in client.zones()], ["BITS", "SBL", "XBL", ""])
        for _ in ("DNS", "the cache"):
            result = client.check("192.0.2.66")
            self.assertEqual((result.labels, result.codes, result.score),
                             (("BITS", "SBL"), ((CLASSIC_NAME, "127.0.0.2", "SBL"),), 4))
        self.assertEqual(client.check("192.0.2.67").codes, ())

    def test_a_name_is_asked_about_in_each_way(self):
        client = self.client(f"{NAME} {CLASSIC_NAME}=127.0.0.2=SITE",
                             kind=f"{CLASSIC_NAME}=sites")
        found = []
        self.assertIsNone(client.peek_name("192.0.2.66"))
        result = client.check_name("192.0.2.66")
        self.assertEqual((result.listed, result.labels), ((CLASSIC_NAME,), ("SITE",)))
        self.assertTrue(client.peek_name("192.0.2.66", client.zone_set("SITE")).is_listed)
        self.assertIn("192.0.2.66", client.reason_name("192.0.2.66", result))
        self.assertFalse(client.check_name("not-there.example").is_listed)
        client.submit_name("192.0.2.66", found.append)
        wait_for(lambda: client.process() and found, "a callback")
        self.assertTrue(found[0].is_listed)
        for asked, zone, other in ((client.check_async, NAME, "SITE"), (client.check_name_async, "SITE", NAME)):
            result = asyncio.run(asked("192.0.2.66", zones=client.zone_set(zone)))
            self.assertTrue(result.is_listed)
            with self.assertRaises(dnsblv6.Error):
                asyncio.run(asked("192.0.2.66", zones=client.zone_set(other)))

    def test_what_is_no_name_is_refused(self):
        client = self.client(f"{NAME} {CLASSIC_NAME}=127.0.0.2=SITE", kind=f"{CLASSIC_NAME}=sites")
        result = client.check_name("192.0.2.66")
        for wrong in ("", "b@d", "2001:db8::1", "192.0.2.66\0.example", "b\udcfcd.example"):
            with self.assertRaises(dnsblv6.Error):
                client.check_name(wrong)
            with self.assertRaises(dnsblv6.Error):
                client.peek_name(wrong)
            with self.assertRaises(dnsblv6.Error):
                client.submit_name(wrong, print)
            with self.assertRaises(dnsblv6.Error):
                asyncio.run(client.check_name_async(wrong))
            with self.assertRaises(dnsblv6.Error):
                client.reason_name(wrong, result)
        with self.assertRaises(dnsblv6.Error):
            client.zone_set("SITE\0")
        with self.assertRaises(dnsblv6.Error):
            dnsblv6.qname("192.0.2.66", "dotted", "bl.example\0.net")
        with self.assertRaises(dnsblv6.Error):
            self.client(f"{NAME}\0*2")

    def test_a_set_of_zones_is_asked_alone(self):
        client = self.client(f"{NAME} {CLASSIC_NAME}=127.0.0.2=SBL*2")
        zones = client.zone_set("SBL")
        self.assertEqual((zones, client.zone_set([NAME, "SBL"])), (2, 3))
        self.assertEqual(client.check("192.0.2.66", zones=zones).answered, (CLASSIC_NAME,))
        self.assertEqual(client.peek("192.0.2.66", zones=zones).score, 2)
        self.assertIsNone(client.peek("192.0.2.66"))
        with self.assertRaisesRegex(dnsblv6.Error, "^SBL nowhere.example: not all "):
            client.zone_set("SBL nowhere.example")

    def test_addresses_come_as_text_objects_or_bytes(self):
        client = self.client()
        for address in ("192.0.2.66", "::ffff:192.0.2.66", ipaddress.ip_address("192.0.2.66"),
                        bytes([192, 0, 2, 66])):
            self.assertTrue(client.check(address).is_listed, address)
        for wrong in ("192.0.2.256", "here", "fe80::1%lo", ""):
            with self.assertRaises(ValueError):
                client.check(wrong)

    def test_the_cache_alone_has_none_and_then_all_of_a_block(self):
        client = self.client(NAME)
        self.assertIsNone(client.peek("192.0.2.66"))
        client.check("192.0.2.1")
        before = self.queries()
        self.assertEqual([client.peek(f"192.0.2.{i}").is_listed for i in range(128)],
                         [i in (1, 66, 127) for i in range(128)])
        self.assertEqual(self.queries(), before)

    def test_a_timeout_is_taken_as_it_is_or_refused(self):
        client = self.client(NAME)
        result = client.check("192.0.2.66")
        calls = (lambda timeout: client.check("192.0.2.66", timeout),
                 lambda timeout: client.check_batch(["192.0.2.66"], timeout),
                 lambda timeout: client.submit("192.0.2.66", lambda _: None, timeout),
                 lambda timeout: client.reason("192.0.2.66", result, timeout), client.probe)
        for call in calls:
            for taken in (-math.inf, -2.0 ** 31, -1, 0, 1e-9, 3600):
                call(taken)
            for refused in (3600.001, 2 ** 31 / 1000, 2 ** 32 / 1000 + 0.2, 1e30, math.inf):
                with self.subTest(refused=refused), self.assertRaises(dnsblv6.Error):
                    call(refused)
        for call in calls[:3]:
            for nonsense in (math.nan, None, "1"):
                with self.assertRaises((TypeError, ValueError)):
                    call(nonsense)

    def test_a_batch_is_in_order(self):
        results = self.client(NAME).check_batch([f"192.0.2.{i}" for i in range(256)])
        self.assertEqual([i for i, result in enumerate(results) if result.is_listed],
                         [1, 66, 127, 130])
        self.assertEqual(self.client(NAME).check_batch([]), [])

    def test_reasons_are_for_listed_addresses(self):
        client = self.client(NAME)
        listed, clear = client.check("192.0.2.66"), client.check("192.0.2.67")
        self.assertIn("192.0.2.66", client.reason("192.0.2.66", listed))
        self.assertIsNone(client.reason("192.0.2.67", clear))

    def test_what_is_refused_says_why(self):
        for options, named in (({"no_such_key": 1}, "no-such-key"), ({"threshold": "x"}, "x"),
                               ({"cache_size": 1}, "cache-size")):
            with self.assertRaises(dnsblv6.Error) as caught:
                self.client(**options)
            self.assertIn(named, str(caught.exception))
            self.assertLess(caught.exception.status, 0)

    def test_requests_come_back_through_process(self):
        client, found = self.client(NAME), {}
        for i in range(40):
            client.submit(f"192.0.2.{i}", lambda result, i=i: found.update({i: result}))
        cancelled = client.submit("192.0.2.66", lambda result: found.update(cancelled=result))
        self.assertTrue(client.cancel(cancelled))
        self.assertEqual(found, {}, "a callback came before process()")

        def is_done():
            harness.select.select([client], [], [], min(client.timeout() or 0, 0.1))
            client.process()
            return len(found) >= 40

        wait_for(is_done, "40 callbacks")
        self.assertEqual([i for i in found if found[i].is_listed], [1])
        self.assertNotIn("cancelled", found)
        self.assertFalse(client.cancel(cancelled))

    def test_a_cancel_that_comes_too_late_takes_no_callback_away(self):
        client, found = self.client(NAME), []
        key, ident = client.submit("192.0.2.1", found.append)
        # What the library says when another thread has begun the callback.
        self.assertFalse(client.cancel((key, ident + 1)))
        wait_for(lambda: client.process() or found, "the callback")
        self.assertEqual([result.is_listed for result in found], [True])

    def test_what_c_calls_lives_until_process_has_returned(self):
        client, made, lived = self.client(NAME), [], []
        client.check("192.0.2.1")

        def make(function):
            thunk = make_thunk(function)
            made.append(weakref.ref(thunk))
            return thunk

        make_thunk = dnsblv6._VERDICT_FN
        with unittest.mock.patch.object(dnsblv6, "_VERDICT_FN", make):
            for i in range(2, 42):
                client.submit(f"192.0.2.{i}", lambda _, i=i: lived.append(made[i - 2]() is not None))
        wait_for(lambda: client.process() and len(lived) == 40, "40 callbacks")
        self.assertEqual(set(lived), {True})
        self.assertEqual({thunk() for thunk in made}, {None}, "kept for ever")

    def test_an_error_in_a_callback_leaves_the_client_good(self):
        client, errors = self.client(NAME), []
        client.check("192.0.2.1")
        with unittest.mock.patch("sys.unraisablehook", lambda raised: errors.append(raised.exc_type)):
            for i in range(40):
                client.submit(f"192.0.2.{i}", lambda _: 1 // 0)
            wait_for(lambda: client.process() and len(errors) == 40, "40 callbacks")
        self.assertEqual(set(errors), {ZeroDivisionError})
        self.assertTrue(client.check("192.0.2.66").is_listed)

    def test_threads_that_submit_at_once_lose_no_callback(self):
        client, found, keys = self.client(NAME), [], []
        client.check("192.0.2.1")

        def let_others_run(frame, event, _):
            if event == "call" and frame.f_code.co_name != "_submit":
                return None
            frame.f_trace_opcodes = True
            time.sleep(0.0001)
            return let_others_run

        def submit():
            sys.settrace(let_others_run)
            for i in range(8):
                keys.append(client.submit(f"192.0.2.{i}", found.append)[0])

        threads = [threading.Thread(target=submit) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(set(keys)), 64)
        wait_for(lambda: client.process() or len(found) == 64, "64 callbacks")

    def test_a_callback_may_close_the_client(self):
        client, found = self.client(NAME), []
        client.check("192.0.2.1")

        def on_verdict(result):
            found.append(result)
            client.close()

        for i in range(40):
            client.submit(f"192.0.2.{i}", on_verdict)
        self.assertGreaterEqual(client.process(), 1)
        self.assertEqual(len(found), 1, "callbacks came behind close()")
        self.assertRaises(ValueError, client.process)
        client.close()

    def test_a_probe_may_go_on_in_the_loop(self):
        client = self.client(NAME)
        client.probe_start()

        def is_well():
            harness.select.select([client], [], [], 0.1)
            client.process()
            return client.zones()[0].state == "ok"

        wait_for(is_well, "the probe's end")

    def test_asyncio_asks_many_at_once_and_is_cancelled_cleanly(self):
        client = self.client(NAME)

        async def ask():
            results = await asyncio.gather(*(client.check_async(f"192.0.2.{i}")
                                             for i in range(128)))
            task = asyncio.ensure_future(client.check_async("203.0.113.1"))
            await asyncio.sleep(0)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            return [i for i, result in enumerate(results) if result.is_listed]

        self.assertEqual(asyncio.run(ask()), [1, 66, 127])
        self.assertEqual(asyncio.run(ask()), [1, 66, 127], "in another loop")

    def test_closing_ends_what_asyncio_waits_for(self):
        async def close():
            client = dnsblv6.Client(NAME, servers=f"{self.host}@{self.free_port()}")
            tasks = [asyncio.ensure_future(client.check_async("192.0.2.1")) for _ in range(3)]
            await asyncio.sleep(0)
            client.close()
            tasks[0].cancel()
            return await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True),
                                          harness.DEADLINE_S)

        self.assertEqual([type(error) for error in asyncio.run(close())],
                         [asyncio.CancelledError, ValueError, ValueError])

    def test_threads_share_a_client(self):
        client, wrong = self.client(NAME), []

        def check(third):
            for i in range(0, 256, 16):
                if client.check(f"198.51.{third}.{i}").is_listed != (third == 100):
                    wrong.append((third, i))

        threads = [threading.Thread(target=check, args=(third,)) for third in range(96, 104)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_a_child_uses_what_its_parent_has_started(self):
        client = self.client(NAME)
        client.check("192.0.2.1")
        before = self.queries()
        child = os.fork()
        if child == 0:
            ok = client.peek("192.0.2.66").is_listed and client.check("192.0.2.66").is_listed
            os._exit(0 if ok else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertEqual(self.queries(), before)

    def test_zones_and_counters_are_told(self):
        client = self.client()
        self.assertEqual(client.probe(), 2)
        bitmap, classic = client.zones()
        self.assertEqual((bitmap.name, bitmap.weight, bitmap.state, bitmap.is_bitmap),
                         (NAME, 2, "ok", True))
        self.assertEqual((classic.name, classic.is_bitmap), (CLASSIC_NAME, False))
        self.assertGreater(len(client.stats()), 3)

    def test_the_log_gets_what_goes_wrong(self):
        lines = []
        client = self.client("nowhere." + NAME, log=lambda level, line: lines.append(line))
        self.assertEqual(client.probe(), 0)
        self.assertTrue(any("nowhere." + NAME in line for line in lines), lines)

    def test_a_closed_client_says_so(self):
        client = self.client()
        client.close()
        client.close()
        with self.assertRaises(ValueError):
            client.check("192.0.2.1")

    def test_structs_and_functions_are_those_of_the_header(self):
        self.assertEqual((ctypes.sizeof(dnsblv6._Result), ctypes.sizeof(dnsblv6._ZoneInfo)),
                         (128, 384))
        with open(os.path.join(harness.SOURCE, "client-lib/dnsblv6.h"), encoding="ascii") as file:
            text = file.read()
        for struct, fields in (("result", dnsblv6._Result), ("zone_info", dnsblv6._ZoneInfo)):
            body = re.search(rf"(?s)struct dnsblv6_{struct} {{(.*?)}};", text).group(1)
            members = re.findall(r"(?m)^\t(?:struct )?\w+ (\w+)[;\[]", body)
            self.assertEqual(members, [name for name, _ in fields._fields_])

    def test_names_are_made_without_a_client(self):
        self.assertEqual(dnsblv6.qname("192.0.2.66", "dotted", NAME), "0.2.0.192." + NAME)
        escaped = ".".join(["\\001" * 63] * 3)
        self.assertEqual(dnsblv6.qname("192.0.2.66", "flat", escaped), "c000020." + escaped)
        self.assertRegex(dnsblv6.version(), r"^\d+\.\d+\.\d+$")


if __name__ == "__main__":
    harness.main()
