-- SPDX-License-Identifier: GPL-3.0-or-later
--[[
dnsblv6_rbl.lua - a module of rspamd: asks DNS blacklists about a message's client, and about the
                  sites in it and its sender's domain, through libdnsblv6.

Flow: dnsblv6_rbl of rspamd.conf.local -> one client of the library, before rspamd makes its
      workers, which share its cache -> check() for each message -> DNSBLV6_LISTED, with
      the zones as options, and DNSBLV6_NAME, with each listed name and its zones. A zone is
      called by its labels: its name may have a key in it, and options go into logs and headers.

What is cached is answered at once. Else the message waits for the library, and nothing but the
message does: rspamd has no timer for modules before task:add_timer() of its later versions, but
its UDP client has, with which this module asks a socket of its own that never answers.
]]

if confighelp then
  return
end

local N = "dnsblv6_rbl"
local NOT_CACHED = "not cached" -- what peek() says of what can be asked about
local STEP_S, STEP_MAX_S = 0.002, 0.05 -- between two looks for an answer

local logger = require "rspamd_logger"
local lua_maps = require "lua_maps"
local lua_util = require "lua_util"
local udp = require "rspamd_udp"
local util = require "rspamd_util"

local settings = {
  symbol = "DNSBLV6_LISTED",
  score = 4.0,
  name_symbol = "DNSBLV6_NAME",
  name_score = 4.0,
  max_names = 20, -- of one message
  unknown_symbol = "DNSBLV6_UNKNOWN", -- a zone gave no answer, and the others do not list
  deadline = 1.0,
  check_authed = false,
  check_local = false,
}
local WITHOUT_DEFAULT = { library = true, exempt = true, enabled = true }
local client, exempt, silence, silent_port
local has_addresses, has_names -- among the zones

-- What an operator should know, without a line for each question and each answer.
local logs = { [3] = logger.errx, [4] = logger.warnx, [6] = logger.infox }
local function log(level, line)
  if logs[level] then
    logs[level](rspamd_config, "%s", line)
  end
end

-- A port on loopback where nothing answers, for all workers; nothing of what is sent there is read.
local function open_silence()
  local ffi = require "ffi"
  ffi.cdef [[
    int socket(int domain, int type, int protocol);
    int bind(int fd, const void *address, unsigned size);
    int getsockname(int fd, void *address, unsigned *size);
    int close(int fd);
  ]]
  local address, size = ffi.new("uint8_t[16]"), ffi.new("unsigned[1]", 16)
  address[ffi.abi("le") and 0 or 1] = 2 -- AF_INET
  address[4], address[7] = 127, 1
  local fd = ffi.C.socket(2, 2, 0)
  if fd < 0 or ffi.C.bind(fd, address, 16) ~= 0 or ffi.C.getsockname(fd, address, size) ~= 0 then
    error("no socket on loopback")
  end
  -- Until rspamd has read its configuration again.
  silence = ffi.gc(ffi.new("int[1]", fd), function(held)
    ffi.C.close(held[0])
  end)
  return address[2] * 256 + address[3]
end

-- Callbacks of requests come out of here, whichever message waits for them.
local function process()
  local is_good, why = pcall(client.process, client)
  if not is_good then
    logger.errx(rspamd_config, "library not processed: %s", why)
  end
end

-- All verdicts about a message are there: result and name of each, or no name.
local function finish(task, found)
  local failed, listed = {}, {}
  for _, one in ipairs(found) do
    local result = one.result
    if result.verdict == "listed" and one.name then
      listed[#listed + 1] = one.name .. " " .. table.concat(result.listed_as, " ")
    elseif result.verdict == "listed" then
      task:insert_result(settings.symbol, 1.0, result.listed_as)
    elseif result.verdict ~= "clear" then
      for _, zone in ipairs(result.failed_as) do
        failed[zone] = true
      end
    end
  end
  if #listed > 0 then
    table.sort(listed)
    task:insert_result(settings.name_symbol, 1.0, listed)
  end
  if next(failed) then
    task:insert_result(settings.unknown_symbol, 1.0, lua_util.keys(failed))
  end
end

-- May there be an answer, now or later? What no zone is asked about is refused. The daemon of shared
-- may have had the question before.
local function is_asked(known, why)
  return known ~= nil or why == NOT_CACHED
end

-- Registered domains of sites and of the sender, as lists of names have them, and addresses of
-- sites; each once. What is no name takes no place of one.
local function find_names(task)
  local names, seen = {}, {}
  local function add(name)
    if name and name:find("[\128-\255]") then
      name = task:get_resolver():idna_convert_utf8(name) -- A-labels, or nil
    end
    if name and not seen[name:lower()] and #names < settings.max_names then
      seen[name:lower()] = true
      names[#names + 1] = is_asked(client:peek_name(name)) and name or nil
    end
  end
  for _, url in ipairs(task:get_urls() or {}) do
    local host = url:get_host()
    add(host and host:match("^[%d.]+$") or url:get_tld())
  end
  local from = task:get_from("smtp")
  if from and from[1] and from[1].domain then
    add(util.get_tld(from[1].domain))
  end
  return names
end

local function is_exempt(task, ip)
  return (not settings.check_authed and task:get_user() ~= nil)
    or (not settings.check_local and ip:is_local())
    or (exempt ~= nil and exempt:get_key(ip))
end

local function check(task)
  local ip = task:get_from_ip()
  if not ip or not ip:is_valid() or is_exempt(task, ip) then
    return
  end
  local found, wanted, left_out, why_left_out = {}, 0, 0, nil
  local deadline_ms = math.ceil(settings.deadline * 1000)
  local function ask(submit, topic, name)
    local request, why = submit(client, topic, deadline_ms, function(result)
      found[#found + 1] = { result = result, name = name }
    end)
    if request then
      wanted = wanted + 1
    else
      left_out, why_left_out = left_out + 1, why
    end
  end
  if has_addresses then
    ask(client.submit, ip:to_string())
  end
  for _, name in ipairs(has_names and find_names(task) or {}) do
    ask(client.submit_name, name, name)
  end
  if left_out > 0 then
    logger.warnx(task, "not asked about %s of %s: %s", left_out, wanted + left_out, why_left_out)
  end
  -- The library has its own deadline; this is for its not being heard.
  local end_s, step_s = util.get_ticks() + settings.deadline + 1, STEP_S
  local function look()
    process()
    if #found == wanted then
      finish(task, found)
    elseif util.get_ticks() < end_s then
      udp.sendto{ task = task, host = "127.0.0.1", port = silent_port, data = "x",
        timeout = step_s, retransmits = 0, callback = look }
      step_s = math.min(step_s * 2, STEP_MAX_S)
    end
  end
  look()
end

-- One of an unknown name does nothing, and is no reason to let all clients pass.
local function check_settings(options)
  for name, value in pairs(options) do
    local kind = type(settings[name])
    if kind == "nil" and not WITHOUT_DEFAULT[name] then
      logger.errx(rspamd_config, "%s has no option %s", N, name)
    elseif kind ~= "nil" and type(value) ~= kind then
      return ("%s: a %s is wanted"):format(name, kind)
    end
  end
end

local function make_client()
  assert(settings.deadline > 0 and settings.deadline <= 3600, "deadline is up to 3600 seconds")
  local options = {}
  for key, value in pairs(settings.library or {}) do
    options[key] = type(value) == "table" and table.concat(value, " ") or value
  end
  client = assert(require "dnsblv6".new(options, log))
  has_addresses = is_asked(client:peek("192.0.2.1"))
  has_names = is_asked(client:peek_name("test.example"))
  silent_port = open_silence()
end

local function register()
  local id = rspamd_config:register_symbol{ name = settings.symbol, type = "normal",
    group = "dnsblv6", score = settings.score, callback = check,
    description = "The client is listed by DNS blacklists" }
  rspamd_config:register_symbol{ name = settings.name_symbol, type = "virtual", parent = id,
    group = "dnsblv6", score = settings.name_score,
    description = "A site or the sender's domain is listed by DNS blacklists" }
  rspamd_config:register_symbol{ name = settings.unknown_symbol, type = "virtual", parent = id,
    group = "dnsblv6", score = 0.0, description = "A DNS blacklist gave no answer" }
  -- What the library has to do when there is no mail: probes, and answers that come late.
  rspamd_config:add_on_load(function(_, ev_base, worker)
    if worker:is_scanner() then
      client:probe(1)
      rspamd_config:add_periodic(ev_base, 1.0, function()
        process()
        return true
      end)
    end
  end)
end

local options = rspamd_config:get_all_opt(N)
if not options then
  return
end
local wrong = check_settings(options)
settings = lua_util.override_defaults(settings, options)
if settings.exempt then
  exempt = lua_maps.map_add_from_ucl(settings.exempt, "radix", "networks that are not judged")
end
-- Mail is scanned without this module when it cannot begin.
local is_good, why = not wrong, wrong
if is_good then
  is_good, why = pcall(make_client)
end
if is_good then
  register()
else
  logger.errx(rspamd_config, "module %s is off: %s", N, why)
  lua_util.disable_module(N, "config")
end
