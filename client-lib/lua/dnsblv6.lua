-- SPDX-License-Identifier: BSD-2-Clause
--[[
dnsblv6.lua - libdnsblv6 for LuaJIT, which rspamd is built with.

    local dnsblv6 = require "dnsblv6"

    local client = assert(dnsblv6.new{ zones = "bl6.example*2 bl.example", threshold = 2 })
    local result = client:peek("192.0.2.66") or client:check("192.0.2.66", 200)
    if result and result.verdict == "listed" then
        print(client:reason("192.0.2.66", result), table.concat(result.listed, " "))
    end

Options are those of libdnsblv6(3), with "_" or "-". Times are milliseconds. What can
fail returns nil and a text, as Lua has it. A client is ended when it is collected; one
that has called submit(), or has a log, must be ended with client:close().

A zone's name may have an access key in it. What logs and other people read has
result.listed_as and result.failed_as in place of listed and failed: labels, and names
only of entries without one.

In rspamd make the client when the configuration is loaded: the workers then share
its cache. peek() never waits and is all that most messages need. check() stops the worker
while it waits, so give it little time; or let submit() ask for what peek() does not
know, and call process() every now and then, in a periodic callback.

The library is looked for as libdnsblv6.so.0, or where the environment variable
DNSBLV6_LIBRARY says.
]]

local has_ffi, ffi = pcall(require, "ffi")
if not has_ffi then
  error("dnsblv6 needs LuaJIT, whose module ffi is not there: " .. tostring(ffi), 0)
end

ffi.cdef [[
struct dnsblv6;
struct dnsblv6_ip { uint8_t bytes[16]; };
struct dnsblv6_result {
  int32_t verdict, score;
  uint64_t zones_listed, zones_answered, zones_failed, zones_stale, zones_secure, zones_cached;
  uint32_t ttl_s, elapsed_us, queries, is_due, reserved[2];
  struct { uint8_t entry, octets[3]; } codes[12];
};
struct dnsblv6_zone_info {
  char name[256];
  int32_t weight, state, is_bitmap;
  uint32_t state_age_s;
  uint64_t asked, failures;
  char label[32];
  uint32_t reserved[16];
};
typedef void (*dnsblv6_fn)(void *context, const struct dnsblv6_result *result);
typedef void (*dnsblv6_log_fn)(void *context, int level, const char *line);
int dnsblv6_new(struct dnsblv6 **ret_client);
int dnsblv6_set(struct dnsblv6 *client, const char *key, const char *value);
int dnsblv6_start(struct dnsblv6 *client);
void dnsblv6_set_log(struct dnsblv6 *client, dnsblv6_log_fn log, void *context);
const char *dnsblv6_error(const struct dnsblv6 *client);
void dnsblv6_free(struct dnsblv6 *client);
int dnsblv6_ip_parse(const char *text, struct dnsblv6_ip *ret_ip);
const char *dnsblv6_verdict_name(int verdict);
int dnsblv6_peek_zones(const struct dnsblv6 *client, const struct dnsblv6_ip *ip, uint64_t zones,
                       struct dnsblv6_result *ret_result);
int dnsblv6_check_zones(struct dnsblv6 *client, const struct dnsblv6_ip *ip, uint64_t zones,
                        int timeout_ms, struct dnsblv6_result *ret_result);
int dnsblv6_check_batch(struct dnsblv6 *client, const struct dnsblv6_ip *ips, size_t count,
                        int timeout_ms, struct dnsblv6_result *ret_results);
int dnsblv6_zone_set(const struct dnsblv6 *client, const char *names, uint64_t *ret_zones);
int dnsblv6_peek_name(const struct dnsblv6 *client, const char *name, uint64_t zones,
                      struct dnsblv6_result *ret_result);
int dnsblv6_check_name(struct dnsblv6 *client, const char *name, uint64_t zones, int timeout_ms,
                       struct dnsblv6_result *ret_result);
int dnsblv6_submit_name(struct dnsblv6 *client, const char *name, uint64_t zones, int timeout_ms,
                        dnsblv6_fn callback, void *context, uint64_t *ret_id);
int dnsblv6_fd(struct dnsblv6 *client);
int dnsblv6_timeout_ms(struct dnsblv6 *client);
int dnsblv6_submit(struct dnsblv6 *client, const struct dnsblv6_ip *ip, uint64_t zones,
                   int timeout_ms, dnsblv6_fn callback, void *context, uint64_t *ret_id);
int dnsblv6_cancel(struct dnsblv6 *client, uint64_t id);
int dnsblv6_process(struct dnsblv6 *client);
int dnsblv6_reason(struct dnsblv6 *client, const struct dnsblv6_ip *ip,
                   const struct dnsblv6_result *result, int timeout_ms, char *ret_text,
                   size_t size);
int dnsblv6_reason_name(struct dnsblv6 *client, const char *name,
                        const struct dnsblv6_result *result, int timeout_ms, char *ret_text,
                        size_t size);
int dnsblv6_qname(const struct dnsblv6_ip *ip, const char *kind, const char *zone,
                  char *ret_name, size_t size);
const char *dnsblv6_zone_state_name(int state);
int dnsblv6_zone_get(struct dnsblv6 *client, unsigned index, struct dnsblv6_zone_info *ret_info);
int dnsblv6_probe(struct dnsblv6 *client, int timeout_ms);
int dnsblv6_probe_start(struct dnsblv6 *client);
int dnsblv6_stat_get(struct dnsblv6 *client, unsigned index, const char **ret_name,
                     uint64_t *ret_value);
const char *dnsblv6_strerror(int status);
const char *dnsblv6_version(void);
]]

local lib = ffi.load(os.getenv("DNSBLV6_LIBRARY") or "libdnsblv6.so.0")

local EAGAIN, ENOENT = -11, -2
local TIMEOUT_MS = 5000
local TEXT_SIZE = 600
local SETS = { "listed", "answered", "failed", "stale", "secure", "cached" }

local M = {}
local Client = {}
Client.__index = Client

local function text_of(status)
  return ffi.string(lib.dnsblv6_strerror(status))
end

-- A text for C, to which a NUL is its end. Another control character is refused as what it is.
local function c(text)
  return text and (text:gsub("%z", "\1"))
end

local function parse(address)
  local ip = ffi.new("struct dnsblv6_ip")
  if lib.dnsblv6_ip_parse(c(address), ip) < 0 then
    return nil, tostring(address) .. ": not an address"
  end
  return ip
end

-- ---- values ----

-- What the entries in a set of bits have as field, each once.
local function names_of(bits, zones, field)
  local names, seen = {}, {}
  for _, zone in ipairs(zones) do
    local name = zone[field]
    if bits % 2 == 1 and name ~= "" and not seen[name] then
      names[#names + 1] = name
      seen[name] = true
    end
    bits = bits / 2 -- unsigned 64 bits: whole
  end
  return names
end

-- The A records behind a verdict.
local function codes_of(raw, zones)
  local codes = {}
  for i = 0, 11 do
    local code = raw.codes[i]
    local b, c, d = code.octets[0], code.octets[1], code.octets[2]
    if b + c + d > 0 then
      local zone = zones[code.entry + 1]
      codes[#codes + 1] = {
        zone = zone.name, label = zone.label, value = ("127.%d.%d.%d"):format(b, c, d) }
    end
  end
  return codes
end

local function result_of(raw, zones)
  local copy = ffi.new("struct dnsblv6_result")
  ffi.copy(copy, raw, ffi.sizeof(copy))
  local result = {
    raw = copy,
    verdict = ffi.string(lib.dnsblv6_verdict_name(copy.verdict)),
    score = copy.score,
    ttl_s = copy.ttl_s,
    elapsed_us = copy.elapsed_us,
    queries = copy.queries,
    is_due = copy.is_due ~= 0, -- of peek(): submit() or check() should be called too
  }
  for _, set in ipairs(SETS) do
    result[set] = names_of(copy["zones_" .. set], zones, "name")
  end
  result.labels = names_of(copy.zones_listed, zones, "label")
  result.listed_as = names_of(copy.zones_listed, zones, "called")
  result.failed_as = names_of(copy.zones_failed, zones, "called")
  result.codes = codes_of(copy, zones)
  return result
end

-- ---- a handle ----

local function set_all(handle, options)
  for key, value in pairs(options) do
    if type(value) == "boolean" then
      value = value and "yes" or "no"
    end
    if lib.dnsblv6_set(handle, c(key:gsub("_", "-")), c(tostring(value))) < 0 then
      return nil, ffi.string(lib.dnsblv6_error(handle))
    end
  end
  if lib.dnsblv6_start(handle) < 0 then
    return nil, ffi.string(lib.dnsblv6_error(handle))
  end
  return true
end

local function make_log(log)
  return ffi.cast("dnsblv6_log_fn", function(_, level, line)
    pcall(log, level, ffi.string(line)) -- an error may not cross C
  end)
end

-- log(level, line), which may be left out, gets lines as of syslog(3). It calls nothing of its client.
function M.new(options, log)
  local out = ffi.new("struct dnsblv6 *[1]")
  local status = lib.dnsblv6_new(out)
  if status < 0 then
    return nil, text_of(status)
  end
  local handle = ffi.gc(out[0], lib.dnsblv6_free)
  local client = setmetatable({ handle = handle, callbacks = {} }, Client)
  if log then
    client.on_line = make_log(log)
    lib.dnsblv6_set_log(handle, client.on_line, nil)
  end
  local is_set, why = set_all(handle, options)
  if not is_set then
    client:close()
    return nil, why
  end
  client.following = 0
  client.entries = client:zones()
  return client
end

-- A callback may close too: process(), which is still at work, ends the handle then.
function Client:close()
  if self.is_processing then
    self.is_closing = true
    return
  end
  if self.handle == nil then
    return
  end
  lib.dnsblv6_free(ffi.gc(self.handle, nil))
  self.handle = nil
  for _, callback in ipairs{ "on_verdict", "on_line" } do
    if self[callback] then
      self[callback]:free()
      self[callback] = nil
    end
  end
end

-- Entries by name or label, divided by blanks: for peek(), check() and submit(). Made once.
function Client:zone_set(names)
  local set = ffi.new("uint64_t[1]")
  local status = lib.dnsblv6_zone_set(self.handle, c(names), set)
  if status == ENOENT then
    return nil, names .. ": not all are a name or a label of an entry"
  end
  if status < 0 then
    return nil, text_of(status)
  end
  return set[0]
end

-- What a call that filled raw has told.
local function told(self, status, raw)
  if status == EAGAIN then
    return nil, "not cached"
  end
  if status < 0 then
    return nil, text_of(status)
  end
  return result_of(raw, self.entries)
end

-- What the cache says; nil and "not cached" when it does not have all of it. zones: of
-- zone_set(), or nil for all.
function Client:peek(address, zones)
  local ip, why = parse(address)
  if not ip then
    return nil, why
  end
  local raw = ffi.new("struct dnsblv6_result")
  return told(self, lib.dnsblv6_peek_zones(self.handle, ip, zones or 0, raw), raw)
end

function Client:check(address, timeout_ms, zones)
  local ip, why = parse(address)
  if not ip then
    return nil, why
  end
  local raw = ffi.new("struct dnsblv6_result")
  return told(self, lib.dnsblv6_check_zones(self.handle, ip, zones or 0,
    timeout_ms or TIMEOUT_MS, raw), raw)
end

-- A list of results about a list of addresses, in one deadline.
function Client:check_batch(addresses, timeout_ms)
  local ips = ffi.new("struct dnsblv6_ip[?]", #addresses)
  for i, address in ipairs(addresses) do
    local ip, why = parse(address)
    if not ip then
      return nil, why
    end
    ips[i - 1] = ip
  end
  local raws, results = ffi.new("struct dnsblv6_result[?]", #addresses), {}
  local status = lib.dnsblv6_check_batch(self.handle, ips, #addresses, timeout_ms or TIMEOUT_MS,
    raws)
  if status < 0 then
    return nil, text_of(status)
  end
  for i = 1, #addresses do
    results[i] = result_of(raws[i - 1], self.entries)
  end
  return results
end

-- peek() and check() about a name, an address of a site, or, in zones, a hash.
function Client:peek_name(name, zones)
  local raw = ffi.new("struct dnsblv6_result")
  return told(self, lib.dnsblv6_peek_name(self.handle, c(name), zones or 0, raw), raw)
end

function Client:check_name(name, timeout_ms, zones)
  local raw = ffi.new("struct dnsblv6_result")
  return told(self, lib.dnsblv6_check_name(self.handle, c(name), zones or 0,
    timeout_ms or TIMEOUT_MS, raw), raw)
end

-- One callback of C for all requests of a client: a process has room for few
-- hundreds. It keeps the client from being collected.
local function make_callback(client)
  return ffi.cast("dnsblv6_fn", function(context, raw)
    local key = tonumber(ffi.cast("uintptr_t", context))
    local callback = client.callbacks[key]
    client.callbacks[key] = nil
    if client.is_closing then
      return
    end
    -- An error may not cross C.
    local is_good, problem = pcall(callback, result_of(raw, client.entries))
    client.problem = client.problem or (not is_good and problem or nil)
  end)
end

-- start is the function of C, topic what it asks about.
local function submit(self, start, topic, timeout_ms, callback, zones)
  self.on_verdict = self.on_verdict or make_callback(self)
  self.following = self.following + 1
  local key = self.following
  self.callbacks[key] = callback
  local id = ffi.new("uint64_t[1]")
  local status = start(self.handle, topic, zones or 0, timeout_ms or TIMEOUT_MS, self.on_verdict,
    ffi.cast("void *", ffi.cast("uintptr_t", key)), id)
  if status < 0 then
    self.callbacks[key] = nil
    return nil, text_of(status)
  end
  return { key = key, id = id[0] }
end

-- callback(result) comes out of process(). Returns what cancel() takes.
function Client:submit(address, timeout_ms, callback, zones)
  local ip, why = parse(address)
  if not ip then
    return nil, why
  end
  return submit(self, lib.dnsblv6_submit, ip, timeout_ms, callback, zones)
end

function Client:submit_name(name, timeout_ms, callback, zones)
  return submit(self, lib.dnsblv6_submit_name, c(name), timeout_ms, callback, zones)
end

-- No callback comes after this. nil when it has come.
function Client:cancel(request)
  local status = lib.dnsblv6_cancel(self.handle, request.id)
  if status < 0 then
    return nil, text_of(status)
  end
  self.callbacks[request.key] = nil
  return true
end

-- Returns how many callbacks it called. An error of one of them is raised here.
function Client:process()
  self.is_processing = true
  local count = lib.dnsblv6_process(self.handle)
  self.is_processing = false
  if self.is_closing then
    self:close()
  end
  local problem = self.problem
  if problem then
    self.problem = nil
    error(problem, 0)
  end
  if count < 0 then
    return nil, text_of(count)
  end
  return count
end
function Client:fd()
  return lib.dnsblv6_fd(self.handle)
end

function Client:timeout_ms()
  return lib.dnsblv6_timeout_ms(self.handle)
end

-- start is the function of C, topic what it is about.
local function reason(self, start, topic, result, timeout_ms)
  local text = ffi.new("char[?]", TEXT_SIZE)
  local status = start(self.handle, topic, result.raw, timeout_ms or TIMEOUT_MS, text, TEXT_SIZE)
  if status == ENOENT then
    return nil, "nothing is listed"
  end
  if status < 0 then
    return nil, text_of(status)
  end
  return ffi.string(text)
end

function Client:reason(address, result, timeout_ms)
  local ip, why = parse(address)
  if not ip then
    return nil, why
  end
  return reason(self, lib.dnsblv6_reason, ip, result, timeout_ms)
end

function Client:reason_name(name, result, timeout_ms)
  return reason(self, lib.dnsblv6_reason_name, c(name), result, timeout_ms)
end

-- ---- zones and counters ----

function Client:zones()
  local found, info = {}, ffi.new("struct dnsblv6_zone_info")
  while lib.dnsblv6_zone_get(self.handle, #found, info) == 0 do
    found[#found + 1] = {
      name = ffi.string(info.name),
      weight = info.weight,
      state = ffi.string(lib.dnsblv6_zone_state_name(info.state)),
      is_bitmap = info.is_bitmap == 1,
      state_age_s = info.state_age_s,
      asked = tonumber(info.asked),
      failures = tonumber(info.failures),
      label = ffi.string(info.label),
    }
    local zone = found[#found]
    -- For texts that others read, as a name may have a key in it.
    zone.called = zone.label ~= "" and zone.label or zone.name
  end
  return found
end

-- How many entries are well.
function Client:probe(timeout_ms)
  local count = lib.dnsblv6_probe(self.handle, timeout_ms or TIMEOUT_MS)
  if count < 0 then
    return nil, text_of(count)
  end
  return count
end

-- The same without waiting: process() reads what comes, and zones() tells.
function Client:probe_start()
  local status = lib.dnsblv6_probe_start(self.handle)
  if status < 0 then
    return nil, text_of(status)
  end
  return true
end

function Client:stats()
  local found, index = {}, 0
  local name, value = ffi.new("const char *[1]"), ffi.new("uint64_t[1]")
  while lib.dnsblv6_stat_get(self.handle, index, name, value) == 0 do
    found[ffi.string(name[0])] = tonumber(value[0])
    index = index + 1
  end
  return found
end

-- A function of C that calls back into Lua may not be called by compiled code. Each that takes the lock
-- may have lines for a log.
if jit then
  jit.off(submit)
  jit.off(reason)
  for name, method in pairs(Client) do
    if type(method) == "function" and not name:find("^peek") then
      jit.off(method)
    end
  end
end

-- ---- without a handle ----

-- The name that is asked for: kind is "dotted", "flat" or "classic".
function M.qname(address, kind, zone)
  local ip, why = parse(address)
  if not ip then
    return nil, why
  end
  local text = ffi.new("char[1024]")
  local status = lib.dnsblv6_qname(ip, c(kind), c(zone), text, 1024)
  if status < 0 then
    return nil, text_of(status)
  end
  return ffi.string(text)
end

function M.version()
  return ffi.string(lib.dnsblv6_version())
end

return M
