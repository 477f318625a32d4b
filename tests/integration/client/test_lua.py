#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Lua binding, client-lib/lua/dnsblv6.lua, in LuaJIT against a served list."""

import os
import sys

import harness
from harness import CLASSIC, ZONE
from lookups import LIBRARY, Served

NAME, CLASSIC_NAME = ZONE.rstrip("."), CLASSIC.rstrip(".")

if harness.IS_SANITIZED:
    # The library wants a runtime that the interpreter would have to be started with.
    print("the build is sanitized: skipped")
    sys.exit(77)

PREAMBLE = """
local dnsblv6 = require "dnsblv6"
local servers = os.getenv "SERVERS"
local function eq(found, wanted)
  if found ~= wanted then
    error(tostring(found) .. " and must be " .. tostring(wanted), 2)
  end
end
"""


class Lua(Served):
    def lua(self, code):
        """Runs code; an error in it fails the test."""
        script = self.write("test.lua", PREAMBLE + code)
        return self.run_program([harness.peer("luajit"), script], env={
            **os.environ, "DNSBLV6_LIBRARY": LIBRARY, "SERVERS": self.servers,
            "LUA_PATH": os.path.join(harness.SOURCE, "client-lib/lua/?.lua")})

    def test_a_verdict_has_names_for_its_bits(self):
        self.lua(f"""
            local client = assert(dnsblv6.new{{
              zones = "{NAME}*2 {CLASSIC_NAME}", servers = servers, threshold = 3, ranges = true }})
            local result = assert(client:check("192.0.2.66"))
            eq(result.verdict, "listed")
            eq(result.score, 3)
            eq(table.concat(result.listed, " "), "{NAME} {CLASSIC_NAME}")
            eq(#result.failed, 0)
            assert(client:reason("192.0.2.66", result):find("192.0.2.66", 1, true))
            eq(client:check("192.0.2.67").verdict, "clear")
            eq(client:check("2001:db8:0:2::9", 2000).verdict, "listed")
        """)

    def test_labels_and_codes_of_what_lists_are_told(self):
        self.lua(f"""
            local client = assert(dnsblv6.new{{ servers = servers,
              zones = "{NAME}==BITS {CLASSIC_NAME}=127.0.0.2=SBL*2 {CLASSIC_NAME}" }})
            eq(client:zones()[2].label, "SBL")
            local result = assert(client:check("192.0.2.66"))
            eq(table.concat(result.labels, " "), "BITS SBL")
            eq(table.concat(result.listed_as, " "), "BITS SBL {CLASSIC_NAME}")
            eq(#result.failed_as, 0)
            eq(#result.codes, 1)
            eq(result.codes[1].zone, "{CLASSIC_NAME}")
            eq(result.codes[1].value, "127.0.0.2")
            eq(result.codes[1].label, "SBL")
            eq(#client:check("192.0.2.67").codes, 0)
        """)

    def test_a_name_is_asked_about_in_each_way(self):
        self.lua(f"""
            local client = assert(dnsblv6.new{{ servers = servers, kind = "sites",
              zones = "{CLASSIC_NAME}=127.0.0.2=SITE" }})
            local nothing, why = client:peek_name("192.0.2.66")
            eq(nothing, nil)
            eq(why, "not cached")
            local result = client:check_name("192.0.2.66")
            eq(result.labels[1], "SITE")
            assert(client:reason_name("192.0.2.66", result):find("192.0.2.66 is listed by SITE", 1, true))
            eq(select(2, client:reason_name("b@d", result)), "Invalid argument")
            eq(select(2, client:reason_name("192.0.2.66", client:check_name("192.0.2.67"))),
              "nothing is listed")
            eq(client:peek_name("192.0.2.66").verdict, "listed")
            eq(client:check_name("not-there.example").verdict, "clear")
            for _, wrong in ipairs{{ "b@d", "192.0.2.66\\0.example" }} do
              eq(client:check_name(wrong), nil)
              eq(select(2, client:peek_name(wrong)), "Invalid argument")
              eq(client:submit_name(wrong, 5000, error), nil)
            end
            eq(client:zone_set("SITE\\0"), nil)
            local found
            assert(client:submit_name("192.0.2.66", 5000, function(result) found = result end))
            while not found do
              assert(client:process())
            end
            eq(found.verdict, "listed")
            client:close()
        """)

    def test_a_set_of_zones_is_asked_alone(self):
        self.lua(f"""
            local client = assert(dnsblv6.new{{ servers = servers,
              zones = "{NAME} {CLASSIC_NAME}=127.0.0.2=SBL*2" }})
            local zones = assert(client:zone_set("SBL"))
            eq(client:check("192.0.2.66", 5000, zones).score, 2)
            eq(table.concat(client:peek("192.0.2.66", zones).answered, " "), "{CLASSIC_NAME}")
            eq(client:peek("192.0.2.66"), nil)
            eq(client:zone_set("nowhere.example"), nil)
            assert(select(2, client:zone_set("SBL nowhere.example")):find("^SBL nowhere.example: not all "))
        """)

    def test_the_cache_alone_has_nothing_and_then_all_of_a_block(self):
        self.lua(f"""
            local client = assert(dnsblv6.new{{ zones = "{NAME}", servers = servers }})
            local nothing, why = client:peek("192.0.2.66")
            eq(nothing, nil)
            eq(why, "not cached")
            assert(client:check("192.0.2.1"))
            for i = 0, 127 do
              local is_listed = i == 1 or i == 66 or i == 127
              eq(client:peek("192.0.2." .. i).verdict, is_listed and "listed" or "clear")
            end
        """)

    def test_a_batch_is_in_order(self):
        self.lua(f"""
            local client = assert(dnsblv6.new{{ zones = "{NAME}", servers = servers }})
            local addresses = {{}}
            for i = 0, 255 do
              addresses[i + 1] = "192.0.2." .. i
            end
            local results = assert(client:check_batch(addresses))
            eq(#results, 256)
            for i = 0, 255 do
              local is_listed = i == 1 or i == 66 or i == 127 or i == 130
              eq(results[i + 1].verdict, is_listed and "listed" or "clear")
            end
            eq(#client:check_batch{{}}, 0)
            eq(select(2, client:check_batch{{ "192.0.2.1", "here" }}), "here: not an address")
            eq(select(2, client:check_batch({{ "192.0.2.1" }}, 3600001)), "Invalid argument")
        """)

    def test_the_log_gets_what_goes_wrong_and_each_question(self):
        self.lua(f"""
            local levels, lines, fails = {{}}, {{}}, false
            local client = assert(dnsblv6.new({{ zones = "nowhere.{NAME} {CLASSIC_NAME}", servers = servers }},
              function(level, line)
                levels[level] = (levels[level] or 0) + 1
                lines[#lines + 1] = line
                if fails then
                  error("mine")
                end
              end))
            eq(client:probe(), 1)
            eq(levels[4], 1)
            assert(table.concat(lines, "\\n"):find("[nowhere.{NAME}] zone fell ill", 1, true))
            fails = true
            -- Often enough to be compiled.
            local before, zones = levels[7], client:zone_set("{CLASSIC_NAME}")
            for i = 0, 255 do
              assert(client:check("192.0.2." .. i, 5000, zones))
            end
            assert(levels[7] >= before + 512, levels[7])
            client:close()
            assert(not dnsblv6.new({{ zones = "{NAME}", no_such_key = 1 }}, print))
        """)

    def test_requests_come_back_through_process(self):
        self.lua(f"""
            local client = assert(dnsblv6.new{{ zones = "{NAME}", servers = servers }})
            local found, count = {{}}, 0
            for i = 0, 199 do
              assert(client:submit("192.0.2." .. i, 5000, function(result)
                found[i] = result.verdict
                count = count + 1
              end))
            end
            local id = assert(client:submit("192.0.2.66", nil, function() count = 1000 end))
            assert(client:cancel(id))
            eq(client:cancel(id), nil)
            eq(count, 0)
            local ffi = require "ffi"
            ffi.cdef "struct pollfd {{ int fd; short events, revents; }};"
            ffi.cdef "int poll(struct pollfd *fds, unsigned long count, int timeout);"
            while count < 200 do
              local polled = ffi.new("struct pollfd", client:fd(), 1, 0)
              ffi.C.poll(polled, 1, client:timeout_ms())
              assert(client:process())
            end
            eq(count, 200)
            eq(found[66], "listed")
            eq(found[67], "clear")
            client:close()
            client:close()
        """)

    def test_a_callback_may_close_the_client(self):
        self.lua(f"""
            local client = assert(dnsblv6.new{{ zones = "{NAME}", servers = servers }})
            assert(client:check("192.0.2.1"))
            assert(client:probe_start())
            local count = 0
            for i = 0, 39 do
              assert(client:submit("192.0.2." .. i, 5000, function(result)
                count = count + 1
                client:close()
              end))
            end
            assert(client:process())
            eq(count, 1)
            eq(client.handle, nil)
            client:close()
        """)

    def test_an_error_in_a_callback_comes_out_of_process(self):
        self.lua(f"""
            local client = assert(dnsblv6.new{{ zones = "{NAME}", servers = servers }})
            assert(client:check("192.0.2.1"))
            assert(client:submit("192.0.2.1", 5000, function() error("mine", 0) end))
            local is_good, why
            repeat
              is_good, why = pcall(client.process, client)
            until not is_good
            eq(why, "mine")
            client:close()
        """)

    def test_what_is_wrong_is_nil_and_a_text(self):
        self.lua(f"""
            local client, why = dnsblv6.new{{ zones = "{NAME}", no_such_key = 1 }}
            eq(client, nil)
            assert(why:find("no-such-key", 1, true), why)
            client = assert(dnsblv6.new{{ zones = "{NAME}", servers = servers }})
            eq(dnsblv6.new{{ zones = "{NAME}\\0*2", servers = servers }}, nil)
            for _, wrong in ipairs{{ "192.0.2.256", "", "here", "192.0.2.66\\0.1" }} do
              local result, why = client:check(wrong)
              eq(result, nil)
              assert(why:find("not an address", 1, true))
            end
        """)

    def test_zones_counters_and_names_are_told(self):
        self.lua(f"""
            local client = assert(dnsblv6.new{{ zones = "{NAME}*2 {CLASSIC_NAME}",
              servers = servers }})
            eq(client:probe(), 2)
            local zones = client:zones()
            eq(zones[1].name, "{NAME}")
            eq(zones[1].is_bitmap, true)
            eq(zones[2].state, "ok")
            assert(next(client:stats()))
            eq(dnsblv6.qname("192.0.2.66", "flat", "{NAME}"), "c000020.{NAME}")
            local escaped = ("\\\\001"):rep(63)
            eq(dnsblv6.qname("192.0.2.66", "flat", escaped .. "." .. escaped),
              "c000020." .. escaped .. "." .. escaped)
            eq(dnsblv6.qname("192.0.2.66", "flat\\0", "{NAME}"), nil)
        """)

    def test_a_thousand_clients_are_collected(self):
        self.lua(f"""
            for _ = 1, 1000 do
              assert(dnsblv6.new{{ zones = "{NAME}", servers = servers }})
              collectgarbage()
            end
        """)

    def test_without_ffi_it_says_what_it_needs(self):
        script = self.write("plain.lua", """
            package.loaded.ffi = nil
            package.preload.ffi = function() error("no such module") end
            local is_good, why = pcall(require, "dnsblv6")
            assert(not is_good and why:find("needs LuaJIT", 1, true), why)
        """)
        self.run_program([harness.peer("luajit"), script], env={
            **os.environ, "LUA_PATH": os.path.join(harness.SOURCE, "client-lib/lua/?.lua")})


if __name__ == "__main__":
    harness.main()
