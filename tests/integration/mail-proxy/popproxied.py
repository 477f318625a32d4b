# SPDX-License-Identifier: GPL-3.0-or-later
"""
popproxied.py - mail-proxy before a server of POP3, and such a server whose faults are wanted.

Flow: tests of this room -> PopProxy(case, next_hop) writes a configuration and starts the program ->
      address, tls_address -> log lines of what became of a mail.

    server = Misfit(case, [MAIL])
    proxy = PopProxy(self, server.address)
    poplib.POP3(*proxy.address)

The one signature that is looked for is that of EICAR's test file (clamd.py).
"""

import os
import re
import socket
import subprocess
import threading

import harness
from clamd import eicar
from harness import DEADLINE_S
from stored import USER

HOSTNAME = "proxy.example.org"
TEST_FILE = eicar()


def signatures(case):
    """The path of a database that knows the test file."""
    source = case.write("eicar.ndb", f"Eicar-Test:0:*:{TEST_FILE.hex()}\n")
    database = case.path("eicar.signatures")
    result = subprocess.run([harness.program("mail-scan"), "compile", "--quiet", "--output", database, source],
                            capture_output=True, text=True, check=False, timeout=DEADLINE_S)
    case.assertEqual(result.returncode, 0, result.stdout + result.stderr)
    return database


class PopProxy:
    """
    mail-proxy of a test case, with a listener in the clear, and with a certificate one where TLS begins
    at once.

        next_hop     (host, port)
        certificate  "CHAIN:KEY", or None
        tls          of the listener in the clear: "own", "pass", "none"; None: what is usual
        logins       of that listener, without TLS where it has some: "yes" or "no"
        preload      a library of tests/integration/meson.build that is loaded before it
        sections     items over the usual: pop3={"hold-first": "1K"}
    """

    def __init__(self, case, next_hop, certificate=None, tls=None, logins="yes", preload=None, **sections):
        self.case = case
        self.address = case.free_address()
        self.tls_address = case.free_address() if certificate else None
        usual = {"proxy": {"hostname": HOSTNAME, "processes": 2, "drain": "20s"},
                 "limits": {"connections": 0, "rate": 0, "errors": 10000},
                 "pop3": {}, "scan": {"signatures": signatures(case)},
                 "tls": {"certificates": f'[ "{certificate}" ]'} if certificate else {}}
        if os.geteuid() == 0:
            usual["proxy"]["user"] = USER
        else:
            case.expect_log("no user is given")
        for name, items in sections.items():
            usual[name].update(items)
        listeners = [self._listener(self.address, next_hop, tls) + f"\n    plain-logins: {logins}"]
        if certificate:
            listeners.append(self._listener(self.tls_address, next_hop, "implicit"))
        lines = ["listener:"] + listeners
        for name, items in usual.items():
            lines += [f"{name}:"] * bool(items) + [f"    {key}: {value}" for key, value in items.items()]
        config = case.write("proxy.conf", "\n".join(lines) + "\n")
        library = os.path.join(harness.BUILD, f"tests/integration/{preload}.so")
        if preload and not os.path.exists(library):  # the loader would go on without
            raise AssertionError(f"{library} is not built")
        environment = {**os.environ, "LD_PRELOAD": library} if preload else None
        self.process = case.start([harness.program("mail-proxy"), "--config", config], "proxy", env=environment)
        self.process.wait_for_log(r"^info: \[mail-proxy\] ready, ")
        self.process.wait_for_log(r"^info: \[mail-proxy\] process ready, ", usual["proxy"]["processes"])

    @staticmethod
    def _listener(address, next_hop, tls):
        lines = [f"  - listen: {address[0]}@{address[1]}", "    protocol: pop3",
                 f"    next-hop: {next_hop[0]}@{next_hop[1]}"]
        return "\n".join(lines + [f"    tls: {tls}"] * bool(tls))

    def fates(self, count=1):
        """["passed", "notice", ...] of the mails so far, when there are so many."""
        lines = self.process.wait_for_log(r"^info: \[\w+\] mail (?:passed|marked|notice|known|cut|deferred), .*", count)
        return [re.match(r"info: \[\w+\] mail (\w+), ", line).group(1) for line in lines]

    def ends(self, count=1):
        """The words for how sessions have ended."""
        lines = self.process.wait_for_log(r"^info: \[\w+\] session ended, .*", count)
        return [line.rsplit("end=", 1)[1] for line in lines]


class Misfit:
    """
    A server with these mails, for any user, that does what it should not.

        has_uids   False: it knows no UIDL
        piece      bytes that it writes at a time; 0: all
        cut        bytes of a mail after which it breaks off; None: never
        stalls     it says nothing more in place of that
    """

    def __init__(self, case, mails, has_uids=True, piece=0, cut=None, stalls=False):
        self.mails, self.has_uids, self.piece, self.cut, self.stalls = mails, has_uids, piece, cut, stalls
        self.answers = [b"+OK\r\n" + re.sub(rb"(?m)^\.", b"..", mail) + b".\r\n" for mail in mails]
        self.commands = []
        self.listener = socket.create_server((case.host, 0))
        self.address = self.listener.getsockname()
        self.connections = []
        case.addCleanup(self.close)
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        for one in [self.listener, *self.connections]:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # it has ended
            one.close()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.connections.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        try:
            self._say(connection, b"+OK misfit\r\n")
            with connection.makefile("rb") as lines:
                for line in lines:
                    self.commands.append(line)
                    answer, is_last = self._answer(line.split())
                    self._say(connection, answer)
                    if is_last:
                        connection.shutdown(socket.SHUT_RDWR)
                        return
        except OSError:
            pass  # the proxy has gone

    def _say(self, connection, answer):
        if not self.piece:
            connection.sendall(answer)
            return
        for at in range(0, len(answer), self.piece):
            connection.sendall(answer[at:at + self.piece])

    def _answer(self, words):
        """What it says, and whether it then breaks off."""
        verb = words[0].upper() if words else b""
        if verb == b"QUIT":
            return b"+OK bye\r\n", True
        if verb == b"CAPA" or (verb == b"UIDL" and not self.has_uids):
            return b"-ERR what\r\n", False
        if verb == b"UIDL" and len(words) > 1:
            return b"+OK %s uid-%s\r\n" % (words[1], words[1]), False
        if verb == b"RETR":
            answer = self.answers[int(words[1]) - 1]
            return (answer, False) if self.cut is None else (answer[:self.cut], not self.stalls)
        if verb == b"STAT":
            return b"+OK %d %d\r\n" % (len(self.mails), sum(map(len, self.mails))), False
        return b"+OK\r\n", False
