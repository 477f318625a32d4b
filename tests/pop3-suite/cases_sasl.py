# SPDX-License-Identifier: GPL-3.0-or-later
"""
cases_sasl.py - RFC 5034 with PLAIN (RFC 4616), and SCRAM-SHA-256 (RFC 5802, 7677) with the server verified.
"""

import base64
import hashlib
import hmac
import os

from pop3 import Closed, show
from suite import case, expect, expect_err, expect_ok, stat


def encode(data):
    """base64 as bytes."""
    return base64.b64encode(data if isinstance(data, bytes) else data.encode("utf-8"))


def plain(bench, password=None, authzid="", user=None):
    """The message of PLAIN, encoded."""
    return encode(f"{authzid}\0{bench.user if user is None else user}\0"
                  f"{bench.password if password is None else password}")


def _start(bench, mechanism="PLAIN"):
    bench.need_mechanism(mechanism)
    return bench.ready()


def _challenged(pop, mechanism="PLAIN"):
    reply = pop.command(f"AUTH {mechanism}")
    expect(reply.is_challenge, str(reply))
    return reply


@case("5034", "4", "MUST", "The argument of SASL is one mechanism or more, in capitals")
def sasl_lists_mechanisms(bench):
    words = bench.offer("SASL").split()
    expect(words, "SASL lists nothing")
    for word in words:
        expect(0 < len(word) <= 20 and set(word) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"),
               f'SASL lists "{word}"')


@case("5034", "4", "MAY", "AUTH without a mechanism has a list or is refused, and the session goes on")
def auth_without_argument(bench):
    bench.offer("SASL")
    pop = bench.ready()
    pop.command("AUTH", more=True)
    bench.login(pop)


@case("5034", "4", "MUST", "PLAIN with an initial response logs in")
def auth_plain_initial(bench):
    pop = _start(bench)
    expect_ok(pop.command(b"AUTH PLAIN " + plain(bench)))
    stat(pop)


@case("5034", "4", "MUST", 'PLAIN without an initial response has the challenge "+ ", and logs in')
def auth_plain_prompted(bench):
    pop = _start(bench)
    reply = _challenged(pop)
    expect(reply.line == b"+ ", f"the empty challenge is {show(reply.line)}")
    expect_ok(pop.command(plain(bench)))
    stat(pop)


@case("5034", "4", "MUST", "AUTH in lower case is the same")
def auth_in_lower_case(bench):
    pop = _start(bench)
    expect_ok(pop.command(b"auth PLAIN " + plain(bench)))


@case("5034", "4", "MUST", "PLAIN refuses a wrong password, and takes the right one then, or closes")
def auth_plain_wrong(bench):
    pop = _start(bench)
    expect_err(pop.command(b"AUTH PLAIN " + plain(bench, "wrong")))
    try:
        reply = pop.command(b"AUTH PLAIN " + plain(bench))
    except Closed:
        return
    expect_ok(reply)


@case("4616", "2", "MUST", "PLAIN with the user's own name as authorization identity logs in")
def auth_plain_own_authzid(bench):
    expect_ok(_start(bench).command(b"AUTH PLAIN " + plain(bench, authzid=bench.user)))


@case("4616", "2", "MUST", "PLAIN refuses another's name as authorization identity")
def auth_plain_other_authzid(bench):
    expect_err(_start(bench).command(b"AUTH PLAIN " + plain(bench, authzid="pop3-suite-no-such-user")))


@case("4616", "2", "MUST", "PLAIN refuses a message with too few or too many NULs, and one without a name")
def auth_plain_malformed(bench):
    for text in (bench.user, f"{bench.user}\0{bench.password}", f"\0{bench.user}\0{bench.password}\0",
                 f"\0\0{bench.password}", "\0\0", f"\0{bench.user}\0"):
        expect_err(_start(bench).command(b"AUTH PLAIN " + encode(text)))


@case("5034", "4", "MUST", '"=" is an initial response of no octets, which PLAIN refuses without a challenge')
def auth_equals(bench):
    pop = _start(bench)
    reply = pop.command("AUTH PLAIN =")
    expect_err(reply)


@case("5034", "4", "MUST", '"*" cancels: -ERR, and the session goes on')
def auth_cancelled(bench):
    pop = _start(bench)
    _challenged(pop)
    expect_err(pop.command("*"))
    bench.login(pop)


@case("5034", "4", "MUST", "An initial response that is no base64 is refused, and the session goes on")
def auth_wrong_base64(bench):
    for text in (b"!!!!", b"AAA", plain(bench) + b"!", plain(bench)[:-1] + b"\xff", b"A==="):
        pop = _start(bench)
        expect_err(pop.command(b"AUTH PLAIN " + text))
        expect(pop.command("CAPA", more=True).is_ok, "CAPA is refused then")


@case("5034", "4", "MUST", "A response that is no base64 is refused, and the session goes on")
def auth_wrong_base64_in_response(bench):
    for text in (b"!!!!", b"AAA", b"QUIT"):
        pop = _start(bench)
        _challenged(pop)
        expect_err(pop.command(text))
        expect(pop.command("CAPA", more=True).is_ok, "CAPA is refused then")


@case("5034", "4", "MUST", "An unknown mechanism is refused, and the session goes on")
def auth_unknown_mechanism(bench):
    bench.offer("SASL")
    pop = bench.ready()
    for text in ("AUTH X-NONE", "AUTH X-NONE AAAA", "AUTH PLAINX", "AUTH PLAI", "AUTH " + "A" * 21):
        expect_err(pop.command(text))
    bench.login(pop)


@case("5034", "4", "MUST", "AUTH is refused after login")
def auth_after_login(bench):
    bench.need_mechanism("PLAIN")
    pop = bench.login()
    expect_err(pop.command(b"AUTH PLAIN " + plain(bench)))
    stat(pop)


@case("5034", "4", "MUST", "A response that is longer than a command may be is taken whole, and decides")
def auth_long_response(bench):
    pop = _start(bench)
    _challenged(pop)
    expect_err(pop.command(plain(bench, "p" * 500, "a" * 255)))
    bench.login(pop)


@case("5034", "4", "MUST", "A response of 100 kB is refused or ends the connection, and the server goes on")
def auth_too_long_response(bench):
    pop = _start(bench)
    _challenged(pop)
    try:
        expect_err(pop.command(b"A" * 100000))
    except Closed:
        pass
    bench.alive()


@case("5034", "4", "MUST", "A client that goes away amid AUTH leaves the server as it was")
def auth_dropped(bench):
    for text in (b"", b"AAA"):
        pop = _start(bench)
        _challenged(pop)
        pop.send(text)
        pop.close()
    bench.alive()


@case("3206", "6", "MUST", "A refused AUTH has the code AUTH, where AUTH-RESP-CODE is listed")
def auth_code_for_sasl(bench):
    bench.offer("AUTH-RESP-CODE")
    reply = expect_err(_start(bench).command(b"AUTH PLAIN " + plain(bench, "wrong")))
    expect(reply.text.upper().startswith(b"[AUTH]"), str(reply))


# SCRAM.

class Scram:
    """A client of SCRAM-SHA-256."""

    def __init__(self, bench, password=None, header="n,,", nonce=None):
        self.password = bench.password if password is None else password
        self.header = header
        self.nonce = nonce or base64.b64encode(os.urandom(18)).decode()
        user = bench.user.replace("=", "=3D").replace(",", "=2C")
        self.bare = f"n={user},r={self.nonce}"
        self.server_nonce = self.salt = self.iterations = self.verifier = None

    def first(self):
        """The first message, encoded."""
        return encode(self.header + self.bare)

    def take(self, challenge):
        """The server's first message."""
        self.server_first = challenge.decode("ascii")
        words = dict(word.split("=", 1) for word in self.server_first.split(","))
        self.server_nonce, self.salt = words["r"], base64.b64decode(words["s"], validate=True)
        self.iterations = int(words["i"])

    def final(self, nonce=None, channel=None, proof=lambda proof: proof):
        """The final message, encoded; what is given stands in the place of what is right."""
        salted = hashlib.pbkdf2_hmac("sha256", self.password.encode("utf-8"), self.salt, self.iterations)
        key = hmac.digest(salted, b"Client Key", "sha256")
        channel = encode(self.header).decode() if channel is None else channel
        bare = f"c={channel},r={nonce or self.server_nonce}"
        message = f"{self.bare},{self.server_first},{bare}".encode("utf-8")
        signature = hmac.digest(hashlib.sha256(key).digest(), message, "sha256")
        self.verifier = hmac.digest(hmac.digest(salted, b"Server Key", "sha256"), message, "sha256")
        made = proof(bytes(one ^ other for one, other in zip(key, signature)))
        return encode(f"{bare},p={encode(made).decode()}")


def _scram(bench, initial=True, **settings):
    """A session to which the server's first message has come."""
    pop = _start(bench, "SCRAM-SHA-256")
    scram = Scram(bench, **settings)
    if initial:
        reply = pop.command(b"AUTH SCRAM-SHA-256 " + scram.first())
    else:
        _challenged(pop, "SCRAM-SHA-256")
        reply = pop.command(scram.first())
    expect(reply.is_challenge, str(reply))
    scram.take(base64.b64decode(reply.text, validate=True))
    return pop, scram


def _succeeds(pop, scram):
    reply = pop.command(scram.final())
    expect(reply.is_challenge, f"the server's signature is due, and {reply}")
    text = base64.b64decode(reply.text, validate=True)
    expect(text == b"v=" + encode(scram.verifier), f"the server's signature is {show(text)}")
    expect_ok(pop.command(""))
    stat(pop)


@case("7677", "3", "MUST", "SCRAM-SHA-256 logs in, and the server's signature is right")
def scram(bench):
    _succeeds(*_scram(bench))


@case("7677", "3", "MUST", "SCRAM-SHA-256 without an initial response logs in")
def scram_prompted(bench):
    _succeeds(*_scram(bench, initial=False))


@case("5802", "6", "MUST", "SCRAM takes a client that could bind to the channel, and believes the server cannot")
def scram_y(bench):
    _succeeds(*_scram(bench, header="y,,"))


@case("5802", "7", "MUST", "SCRAM refuses a wrong password")
def scram_wrong_password(bench):
    pop, client = _scram(bench, password="wrong")
    expect_err(pop.command(client.final()))


@case("5802", "7", "MUST", "SCRAM refuses a proof with one bit changed, and one cut short")
def scram_wrong_proof(bench):
    for proof in (lambda made: bytes([made[0] ^ 1]) + made[1:], lambda made: made[:-1], lambda made: b""):
        pop, client = _scram(bench)
        expect_err(pop.command(client.final(proof=proof)))


@case("5802", "5.1", "MUST", "SCRAM refuses a nonce that is not the one of both")
def scram_wrong_nonce(bench):
    pop, client = _scram(bench)
    expect_err(pop.command(client.final(nonce=client.server_nonce + "x")))


@case("5802", "5.1", "MUST", "SCRAM refuses a header in c= that is not the one it was begun with")
def scram_wrong_header(bench):
    pop, client = _scram(bench)
    expect_err(pop.command(client.final(channel=encode("y,,").decode())))


@case("5802", "6", "MUST", "SCRAM-SHA-256 refuses a client that binds to the channel")
def scram_binding(bench):
    pop = _start(bench, "SCRAM-SHA-256")
    client = Scram(bench, header="p=tls-unique,,")
    reply = pop.command(b"AUTH SCRAM-SHA-256 " + client.first())
    if reply.is_challenge:
        client.take(base64.b64decode(reply.text, validate=True))
        reply = pop.command(client.final())
    expect_err(reply)


@case("5802", "5.1", "MUST", "The server's nonce begins with the client's, is longer, and another each time")
def scram_nonces(bench):
    seen = set()
    for _ in range(3):
        _, client = _scram(bench, nonce="fyko+d2lbbFgONRv9qkxdawL")
        expect(client.server_nonce.startswith(client.nonce) and len(client.server_nonce) > len(client.nonce) + 8,
               f"the nonce is {client.server_nonce}")
        seen.add(client.server_nonce)
        bench.end()
    expect(len(seen) == 3, "a nonce came twice")


@case("7677", "4", "SHOULD", "SCRAM-SHA-256 iterates 4096 times at least")
def scram_iterations(bench):
    _, client = _scram(bench)
    expect(client.iterations >= 4096, f"i={client.iterations}")


@case("5802", "7", "MUST", "SCRAM refuses first messages that are malformed, and the session goes on")
def scram_malformed(bench):
    pop = _start(bench, "SCRAM-SHA-256")
    for text in ("", "n", "n,,", "n,,n=", f"n,,r=abc,n={bench.user}", f"x,,n={bench.user},r=abc",
                 f"n,,n={bench.user},r=", f"n,,m=x,n={bench.user},r=abc", f"n,,n={bench.user}=zz,r=abc"):
        reply = pop.command(b"AUTH SCRAM-SHA-256 " + (encode(text) or b"="))
        if reply.is_challenge:
            pop.command("*")
        expect(reply.is_err, f'"{text}" was answered {show(reply.line)}')
    bench.login(pop)
