# SPDX-License-Identifier: BSD-2-Clause
"""Asks DNS blacklists about addresses: libdnsblv6 for Python.

    import dnsblv6

    with dnsblv6.Client("bl6.example*2 bl.example", threshold=2) as client:
        result = client.check("192.0.2.66", timeout=2.0)
        if result.is_listed:
            print(554, client.reason("192.0.2.66", result))

Options are those of libdnsblv6(3), with "_" for "-": cache_size="16M". Numbers
and booleans may be given as such, and lists instead of words with blanks between.

In an event loop, wait for fileno() to be readable or for timeout() to be over,
and call process(); or await check_async() and check_name_async(), which do that
with asyncio.

A Client may be used by any number of threads and over fork(), as the library
says. The library is looked for as libdnsblv6.so.0, or where the environment
variable DNSBLV6_LIBRARY says. Nothing but the standard library is needed.
"""

import asyncio
import collections
import ctypes
import ipaddress
import itertools
import os
import threading

__all__ = ["CLEAR", "LISTED", "UNKNOWN", "DEFER", "Client", "Error", "Result", "Zone",
           "qname", "version"]

CLEAR, LISTED, UNKNOWN, DEFER = range(4)

_ENOENT, _EAGAIN, _EINVAL = -2, -11, -22
_CLOSED = "the client is closed"


class Error(Exception):
    """What a function of the library returned: status is negative."""

    def __init__(self, status, text=None):
        super().__init__(text or _lib.dnsblv6_strerror(status).decode())
        self.status = status


# ---- the library, as dnsblv6.h has it ----


class _Ip(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_uint8 * 16)]


class _Code(ctypes.Structure):
    _fields_ = [("entry", ctypes.c_uint8), ("octets", ctypes.c_uint8 * 3)]


class _Result(ctypes.Structure):
    _fields_ = [("verdict", ctypes.c_int32), ("score", ctypes.c_int32),
                ("zones_listed", ctypes.c_uint64), ("zones_answered", ctypes.c_uint64),
                ("zones_failed", ctypes.c_uint64), ("zones_stale", ctypes.c_uint64),
                ("zones_secure", ctypes.c_uint64), ("zones_cached", ctypes.c_uint64),
                ("ttl_s", ctypes.c_uint32), ("elapsed_us", ctypes.c_uint32),
                ("queries", ctypes.c_uint32), ("is_due", ctypes.c_uint32),
                ("reserved", ctypes.c_uint32 * 2),
                ("codes", _Code * 12)]


class _ZoneInfo(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char * 256), ("weight", ctypes.c_int32),
                ("state", ctypes.c_int32), ("is_bitmap", ctypes.c_int32),
                ("state_age_s", ctypes.c_uint32), ("asked", ctypes.c_uint64),
                ("failures", ctypes.c_uint64), ("label", ctypes.c_char * 32),
                ("reserved", ctypes.c_uint32 * 16)]


_LOG_FN = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p)
_VERDICT_FN = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(_Result))


def _load():
    lib = ctypes.CDLL(os.environ.get("DNSBLV6_LIBRARY", "libdnsblv6.so.0"))
    handle, text, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
    ip, result = ctypes.POINTER(_Ip), ctypes.POINTER(_Result)
    u64 = ctypes.c_uint64
    for name, returned, arguments in (
            ("new", number, [ctypes.POINTER(handle)]),
            ("set", number, [handle, text, text]),
            ("start", number, [handle]),
            ("error", text, [handle]),
            ("free", None, [handle]),
            ("set_log", None, [handle, _LOG_FN, ctypes.c_void_p]),
            ("verdict_name", text, [number]),
            ("peek_zones", number, [handle, ip, u64, result]),
            ("check_zones", number, [handle, ip, u64, number, result]),
            ("check_batch", number, [handle, ip, ctypes.c_size_t, number, result]),
            ("peek_name", number, [handle, text, u64, result]),
            ("check_name", number, [handle, text, u64, number, result]),
            ("fd", number, [handle]),
            ("timeout_ms", number, [handle]),
            ("submit", number, [handle, ip, u64, number, _VERDICT_FN, ctypes.c_void_p,
                                ctypes.POINTER(u64)]),
            ("submit_name", number, [handle, text, u64, number, _VERDICT_FN, ctypes.c_void_p,
                                     ctypes.POINTER(u64)]),
            ("cancel", number, [handle, u64]),
            ("process", number, [handle]),
            ("reason", number, [handle, ip, result, number, ctypes.c_char_p, ctypes.c_size_t]),
            ("reason_name", number, [handle, text, result, number, ctypes.c_char_p,
                                     ctypes.c_size_t]),
            ("qname", number, [ip, text, text, ctypes.c_char_p, ctypes.c_size_t]),
            ("zone_state_name", text, [number]),
            ("zone_get", number, [handle, ctypes.c_uint, ctypes.POINTER(_ZoneInfo)]),
            ("zone_set", number, [handle, text, ctypes.POINTER(u64)]),
            ("probe", number, [handle, number]),
            ("probe_start", number, [handle]),
            ("stat_get", number, [handle, ctypes.c_uint, ctypes.POINTER(text),
                                  ctypes.POINTER(u64)]),
            ("strerror", text, [number]),
            ("version", text, [])):
        function = getattr(lib, "dnsblv6_" + name)
        function.restype, function.argtypes = returned, arguments
    return lib


_lib = _load()


def _must(status):
    if status < 0:
        raise Error(status)
    return status


def _c(text):
    """Bytes for C, to which a NUL is an end: the name before it would be asked about."""
    if "\0" in text:
        raise Error(_EINVAL, f"{text!r}: a NUL is in no name")
    return text.encode(errors="replace")  # half a surrogate is in none either


def _ip(address):
    """Text, an ipaddress object, or 4 or 16 bytes. ValueError when it is none."""
    if isinstance(address, str) and "%" in address:
        raise ValueError(f"{address!r}: an address with a scope is nobody else's")
    parsed = ipaddress.ip_address(address)
    packed = parsed.packed if parsed.version == 6 else b"\0" * 10 + b"\xff\xff" + parsed.packed
    return _Ip((ctypes.c_uint8 * 16)(*packed))


def _milliseconds(seconds):
    """At least one. C would cut off bits of what is far beyond its limit, not refuse it."""
    return round(max(min(seconds, 1e6), 0.001) * 1000)


# ---- values ----


class Result:
    """
    A verdict. listed, answered, failed, stale, secure and cached are tuples
    of zone names; the same as sets of bits, one for each entry, are in zones_listed ...
    labels are those of the entries that list, codes the A records of classic zones
    behind it: tuples of zone, address and label. is_due is of peek(): submit() or
    check() should be called too (dnsblv6_peek(3)).
    """

    SETS = ("listed", "answered", "failed", "stale", "secure", "cached")

    def __init__(self, raw, zones):
        self._raw = _Result.from_buffer_copy(raw)
        self._zones = zones
        self.is_due = bool(raw.is_due)
        for field in ("verdict", "score", "ttl_s", "elapsed_us", "queries",
                      *("zones_" + name for name in self.SETS)):
            setattr(self, field, getattr(raw, field))

    def __getattr__(self, name):
        if name not in Result.SETS:
            raise AttributeError(name)
        bits = getattr(self, "zones_" + name)
        # Entries of one zone have one name.
        return tuple(dict.fromkeys(zone.name for index, zone in enumerate(self._zones)
                                   if bits >> index & 1))

    @property
    def labels(self):
        return tuple(dict.fromkeys(zone.label for index, zone in enumerate(self._zones)
                                   if self.zones_listed >> index & 1 and zone.label))

    @property
    def codes(self):
        return tuple((self._zones[code.entry].name, "127." + ".".join(map(str, code.octets)),
                      self._zones[code.entry].label)
                     for code in self._raw.codes if any(code.octets))

    @property
    def is_listed(self):
        return self.verdict == LISTED

    @property
    def verdict_name(self):
        return _lib.dnsblv6_verdict_name(self.verdict).decode()

    def __repr__(self):
        return f"<dnsblv6.Result {self.verdict_name} score={self.score} listed={self.listed}>"


Zone = collections.namedtuple("Zone", "name weight state is_bitmap state_age_s asked failures "
                                      "label")


# ---- a handle ----


def _text(value):
    if value is True or value is False:
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return " ".join(str(word) for word in value)
    return str(value)


class Client:
    """A handle. zones is what to ask; log(level, line) gets lines as of syslog(3)."""

    def __init__(self, zones, log=None, **options):
        self._handle = ctypes.c_void_p()
        self._requests = {}  # id -> the C callback, which must live until it is called
        self._keys = itertools.count(1)  # any thread may take the next
        self._futures = set()  # of check_async()
        self._watched = None  # (loop, descriptor, pid) of check_async()
        self._timer = None
        self._processing = {}  # thread in process() -> the C callbacks that it has called
        self._doomed = None  # a handle that a callback has closed
        _must(_lib.dnsblv6_new(ctypes.byref(self._handle)))
        try:
            self._log = _LOG_FN(lambda _, level, line: log(level, line.decode())
                                ) if log else _LOG_FN()
            _lib.dnsblv6_set_log(self._handle, self._log, None)
            for key, value in {"zones": zones, **options}.items():
                self._explain(_lib.dnsblv6_set(self._handle, _c(key.replace("_", "-")),
                                               _c(_text(value))))
            self._explain(_lib.dnsblv6_start(self._handle))
        except BaseException:
            self.close()
            raise
        self._zones = tuple(self.zones())

    def _explain(self, status):
        if status < 0:
            raise Error(status, _lib.dnsblv6_error(self._handle).decode())

    def _open(self):
        if not self._handle:
            raise ValueError(_CLOSED)
        return self._handle

    def close(self):
        """
        Requests that are open are forgotten without a callback, and check_async() raises
        ValueError. A callback may close too. No other call may be running in another thread.
        """
        self._unwatch()
        for future in self._futures:
            if not future.done() and not future.get_loop().is_closed():
                future.set_exception(ValueError(_CLOSED))
        handle, self._handle = self._handle, ctypes.c_void_p()
        if threading.get_ident() in self._processing:
            self._doomed = handle  # process() is still at work on it
            return
        _lib.dnsblv6_free(handle)
        self._requests.clear()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        if getattr(self, "_handle", None):
            self.close()

    # ---- verdicts ----

    def zone_set(self, names):
        """Entries by name or label, for calls with zones=; made once."""
        zones = ctypes.c_uint64()
        status = _lib.dnsblv6_zone_set(self._open(), _c(_text(names)), ctypes.byref(zones))
        if status == _ENOENT:
            raise Error(status, f"{_text(names)}: not all are a name or a label of an entry")
        _must(status)
        return zones.value

    def check(self, address, timeout=5.0, zones=0):
        """Waits for at most timeout seconds. zones is of zone_set(), or 0: all."""
        raw = _Result()
        _must(_lib.dnsblv6_check_zones(self._open(), _ip(address), zones, _milliseconds(timeout),
                                       raw))
        return Result(raw, self._zones)

    def check_batch(self, addresses, timeout=5.0):
        """A list of results, in one deadline."""
        ips = [_ip(address) for address in addresses]
        if not ips:
            return []
        raws = (_Result * len(ips))()
        _must(_lib.dnsblv6_check_batch(self._open(), (_Ip * len(ips))(*ips), len(ips),
                                       _milliseconds(timeout), raws))
        return [Result(raw, self._zones) for raw in raws]

    def peek(self, address, zones=0):
        """What the cache says, or None when it does not have all of it."""
        raw = _Result()
        status = _lib.dnsblv6_peek_zones(self._open(), _ip(address), zones, raw)
        if status == _EAGAIN:
            return None
        _must(status)
        return Result(raw, self._zones)

    def check_name(self, name, timeout=5.0, zones=0):
        """check() about a name, an address of a site, or, in zones, a hash."""
        raw = _Result()
        _must(_lib.dnsblv6_check_name(self._open(), _c(name), zones, _milliseconds(timeout),
                                      raw))
        return Result(raw, self._zones)

    def peek_name(self, name, zones=0):
        raw = _Result()
        status = _lib.dnsblv6_peek_name(self._open(), _c(name), zones, raw)
        if status == _EAGAIN:
            return None
        _must(status)
        return Result(raw, self._zones)

    def reason(self, address, result, timeout=5.0):
        """The text for the reply to a refused client, or None."""
        return self._reason(_lib.dnsblv6_reason, _ip(address), result, timeout)

    def reason_name(self, name, result, timeout=5.0):
        return self._reason(_lib.dnsblv6_reason_name, _c(name), result, timeout)

    def _reason(self, function, topic, result, timeout):
        text = ctypes.create_string_buffer(600)
        # 0 is "out of the cache alone".
        limit_ms = _milliseconds(timeout) if timeout > 0 else 0
        status = function(self._open(), topic, result._raw, limit_ms, text, len(text))
        if status == _ENOENT:
            return None
        _must(status)
        return text.value.decode("ascii")

    # ---- event loops ----

    def fileno(self):
        return _must(_lib.dnsblv6_fd(self._open()))

    def timeout(self):
        """Seconds until process() has something to do by itself, or None."""
        limit_ms = _lib.dnsblv6_timeout_ms(self._open())
        return None if limit_ms < 0 else limit_ms / 1000

    def submit(self, address, callback, timeout=5.0, zones=0):
        """callback(result) comes out of process(). Returns what cancel() takes."""
        return self._submit(_lib.dnsblv6_submit, _ip(address), callback, timeout, zones)

    def submit_name(self, name, callback, timeout=5.0, zones=0):
        return self._submit(_lib.dnsblv6_submit_name, _c(name), callback, timeout, zones)

    def _submit(self, start, topic, callback, timeout, zones):
        key = next(self._keys)

        def on_verdict(_, raw):
            # C is still in it, and Python up to 3.10 reads it to tell of an error.
            self._processing[threading.get_ident()].append(self._requests.pop(key))
            if self._handle:
                callback(Result(raw.contents, self._zones))

        function = _VERDICT_FN(on_verdict)
        ident = ctypes.c_uint64()
        self._requests[key] = function  # before, as another thread may process
        try:
            _must(start(self._open(), topic, zones, _milliseconds(timeout), function, None,
                        ctypes.byref(ident)))
        except BaseException:
            del self._requests[key]
            raise
        return key, ident.value

    def cancel(self, request):
        """No callback comes after this. False when it has come."""
        key, ident = request
        status = _lib.dnsblv6_cancel(self._open(), ident)
        if status == _ENOENT:
            return False  # another thread may be about to call it
        _must(status)
        self._requests.pop(key, None)
        return True

    def process(self):
        """Calls callbacks; returns how many."""
        handle = self._open()
        self._processing[threading.get_ident()] = []
        try:
            return _must(_lib.dnsblv6_process(handle))
        finally:
            del self._processing[threading.get_ident()]
            doomed, self._doomed = self._doomed, None
            if doomed:
                _lib.dnsblv6_free(doomed)
                self._requests.clear()

    async def check_async(self, address, timeout=5.0, zones=0):
        """check() for asyncio. One event loop at a time may use a Client so."""
        return await self._wait(self.submit, address, timeout, zones)

    async def check_name_async(self, name, timeout=5.0, zones=0):
        """check_name() for asyncio, as check_async()."""
        return await self._wait(self.submit_name, name, timeout, zones)

    async def _wait(self, submit, topic, timeout, zones):
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        request = submit(topic, lambda result: future.done() or future.set_result(result), timeout,
                         zones)
        self._watch(loop)
        self._arm(loop)
        self._futures.add(future)
        try:
            return await future
        finally:
            self._futures.discard(future)
            if future.cancelled() and self._handle:
                self.cancel(request)
            if not self._requests:
                self._unwatch()

    def _watch(self, loop):
        watched = (loop, self.fileno(), os.getpid())
        if self._watched != watched:
            self._unwatch()
            loop.add_reader(watched[1], self._on_event, loop)
            self._watched = watched

    def _unwatch(self):
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._watched is None:
            return
        loop, descriptor, pid = self._watched
        self._watched = None
        if pid == os.getpid() and not loop.is_closed():
            loop.remove_reader(descriptor)

    def _arm(self, loop):
        if self._timer is not None:
            self._timer.cancel()
        seconds = self.timeout()
        self._timer = None if seconds is None else loop.call_later(seconds, self._on_event, loop)

    def _on_event(self, loop):
        self.process()
        if self._handle:
            self._arm(loop)

    # ---- zones and counters ----

    def zones(self):
        """A list of Zone, one for each entry of zones."""
        found, info = [], _ZoneInfo()
        while _lib.dnsblv6_zone_get(self._open(), len(found), ctypes.byref(info)) == 0:
            found.append(Zone(info.name.decode(), info.weight,
                              _lib.dnsblv6_zone_state_name(info.state).decode(),
                              bool(info.is_bitmap), info.state_age_s, info.asked, info.failures,
                              info.label.decode()))
        return found

    def probe(self, timeout=5.0):
        """Looks at all test points now; how many entries are well."""
        return _must(_lib.dnsblv6_probe(self._open(), _milliseconds(timeout)))

    def probe_start(self):
        """The same without waiting: process() reads what comes, and zones() tells."""
        _must(_lib.dnsblv6_probe_start(self._open()))

    def stats(self):
        """{name: count}; libdnsblv6(3) says what is counted."""
        found, name, value = {}, ctypes.c_char_p(), ctypes.c_uint64()
        while _lib.dnsblv6_stat_get(self._open(), len(found), ctypes.byref(name),
                                    ctypes.byref(value)) == 0:
            found[name.value.decode()] = value.value
        return found


def qname(address, kind, zone):
    """The name that is asked for: kind is "dotted", "flat" or "classic"."""
    text = ctypes.create_string_buffer(1024)
    _must(_lib.dnsblv6_qname(_ip(address), _c(kind), _c(zone), text, len(text)))
    return text.value.decode()


def version():
    return _lib.dnsblv6_version().decode()
