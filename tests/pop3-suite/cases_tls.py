# SPDX-License-Identifier: GPL-3.0-or-later
"""
cases_tls.py - RFC 2595 (STLS) and RFC 8314 (TLS from the first octet on).
"""

import ssl
import warnings

from pop3 import Closed, Failure, Pop, lax_tls, show
from suite import NotOffered, case, expect, expect_err, expect_ok, read_capabilities, stat


def _stls(bench):
    if not bench.stls:
        raise NotOffered("--stls is not given")
    return bench.connect()


@case("2595", "4", "MUST", "CAPA lists STLS before TLS")
def stls_is_listed(bench):
    found = read_capabilities(_stls(bench))
    expect(found is not None and "STLS" in found, f"CAPA lists {sorted(found or ())}")


@case("2595", "4", "MUST", "STLS has +OK, TLS follows, and no second greeting")
def stls(bench):
    pop = bench.stls_connect()
    bench.login(pop)
    stat(pop)


@case("2595", "4", "MUST", "The session behind STLS is in AUTHORIZATION, and CAPA is taken")
def capa_behind_stls(bench):
    pop = bench.stls_connect()
    expect(read_capabilities(pop) is not None, "CAPA is refused behind STLS")
    expect_err(pop.command("STAT"))
    bench.login(pop)


@case("2595", "4", "SHOULD", "CAPA behind STLS lists a way to log in, and STLS no more")
def login_is_listed_behind_stls(bench):
    found = read_capabilities(bench.stls_connect()) or {}
    expect("USER" in found or found.get("SASL"), f"CAPA lists {sorted(found)}")
    expect("STLS" not in found, "CAPA lists STLS within TLS")


@case("2595", "4", "MAY", "STLS within TLS is refused, and the session goes on")
def stls_twice(bench):
    pop = bench.stls_connect()
    expect_err(pop.command("STLS"))
    bench.login(pop)


@case("2595", "4", "MUST", "STLS is refused after login")
def stls_after_login(bench):
    if not bench.stls:
        raise NotOffered("--stls is not given")
    pop = bench.login()
    expect_err(pop.command("STLS"))
    expect_ok(pop.command("NOOP"))


@case("2595", "4", "SHOULD", "STLS in lower case is the same")
def stls_in_lower_case(bench):
    pop = _stls(bench)
    expect_ok(pop.command("stls"))
    pop.start_tls()
    bench.login(pop)


@case("2595", "4", "MUST", "Nothing that came before TLS is executed within it")
def stls_injection(bench):
    for injected in (b"XINJECTED\r\n", b"USER x\r\nPASS x\r\n", b"QUIT\r\n", b"XCUT"):
        pop = _stls(bench)
        pop.send(b"STLS\r\n" + injected)
        reply = pop.reply(b"STLS")
        if reply.is_err:
            # Refused, and the connection ends: nothing was executed either.
            try:
                reply = pop.reply(b"STLS")
            except Closed:
                continue
            raise Failure(f"STLS was refused, and {show(injected)} behind it answered {show(reply.line)}")
        if pop.buffer:
            raise Failure(f"in the clear came {show(pop.buffer)}")
        try:
            pop.start_tls()
        except Failure:
            continue
        # With a reply to what was injected this one would not be the first.
        try:
            reply = pop.command("CAPA", more=True)
        except Closed as error:
            raise Failure(f"behind {show(injected)} TLS was taken, and closed") from error
        expect(reply.is_ok, f"behind {show(injected)} the first reply within TLS is {show(reply.line)}")
        reply = pop.command("XUNKNOWN")
        expect(reply.is_err, f"behind {show(injected)} the second reply within TLS is {show(reply.line)}")


# RFC 3207 demands this of SMTP; the RFC for POP3 says it in no word.
@case("2595", "4", "MAY", "A USER before STLS is forgotten within TLS")
def stls_forgets_user(bench):
    pop = _stls(bench)
    if pop.command(f"USER {bench.user}").is_err:
        raise NotOffered("USER is refused before TLS")
    reply = pop.command("STLS")
    if reply.is_err:
        return
    pop.start_tls()
    expect_err(pop.command(f"PASS {bench.password}"))


@case("2595", "4", "SHOULD", "A handshake that fails ends that connection alone")
def stls_failed_handshake(bench):
    other = bench.ready()
    pop = _stls(bench)
    expect_ok(pop.command("STLS"))
    pop.send(b"this is no handshake\r\nNOOP\r\n")
    try:
        while pop.receive():
            expect(b"+OK" not in pop.buffer and b"-ERR" not in pop.buffer,
                   f"in the clear came {show(pop.buffer)}")
            pop.buffer = b""
    except Failure as error:
        if "in the clear" in str(error):
            raise
    bench.login(other)


@case("2595", "4", "MUST", "A client that goes away amid the handshake leaves the server as it was")
def stls_dropped(bench):
    for text in (b"", b"\x16\x03\x01", b"\x16\x03\x01\x02\x00\x01"):
        pop = _stls(bench)
        expect_ok(pop.command("STLS"))
        pop.send(text)
        pop.close(abruptly=True)
    bench.alive()


@case("8314", "3.2", "MUST", "On the port for TLS the greeting comes within TLS, and a login succeeds")
def implicit_tls(bench):
    pop = bench.connect(tls=True)
    bench.login(pop)
    stat(pop)


@case("8314", "3.2", "MUST", "On the port for TLS no STLS is listed, and it is refused")
def no_stls_within_implicit_tls(bench):
    pop = bench.connect(tls=True)
    found = read_capabilities(pop) or {}
    expect("STLS" not in found, "CAPA lists STLS within TLS")
    expect_err(pop.command("STLS"))
    bench.login(pop)


@case("8314", "4.1", "MUST", "TLS 1.2 is taken")
def tls_1_2(bench):
    _versioned(bench, ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_2)


@case("8314", "4.1", "SHOULD", "TLS 1.3 is taken")
def tls_1_3(bench):
    _versioned(bench, ssl.TLSVersion.TLSv1_3, ssl.TLSVersion.TLSv1_3)


@case("8314", "4.1", "SHOULD", "TLS 1.1 is not taken")
def tls_1_1(bench):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _versioned(bench, ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1)
    except Failure:
        return
    raise Failure("a session with TLS 1.1 or 1.0")


def _versioned(bench, lowest, highest):
    if bench.tls_address is None:
        raise NotOffered("--tls-port is not given")
    context = lax_tls()
    if highest < ssl.TLSVersion.TLSv1_2:
        context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version, context.maximum_version = lowest, highest
    pop = Pop(bench.tls_address, context)
    bench.opened.append(pop)
    expect_ok(pop.reply(b"(the connection)"))


@case("8314", "3.2", "MUST", "Plain text on the port for TLS has no POP3 reply, and the server goes on")
def plain_text_on_tls_port(bench):
    if bench.tls_address is None:
        raise NotOffered("--tls-port is not given")
    pop = Pop(bench.tls_address)
    bench.opened.append(pop)
    pop.send(b"CAPA\r\nQUIT\r\n")
    try:
        while pop.receive():
            pass
    except Failure:
        pass
    expect(b"+OK" not in pop.buffer, f"in the clear came {show(pop.buffer)}")
    bench.login(bench.connect(tls=True))


@case("8314", "3.2", "SHOULD", "The server ends TLS with close_notify behind QUIT")
def close_notify(bench):
    pop = bench.connect(tls=True)
    expect_ok(pop.command("QUIT"))
    try:
        data = pop.socket.recv(100)
    except ssl.SSLEOFError as error:
        raise Failure("the connection was closed without it") from error
    expect(data == b"", f"{show(data)} came behind the reply to QUIT")
