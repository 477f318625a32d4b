#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
smtp-front under TLS: with other people's clients, from the handshake in an edge to a mail that a
worker has taken; where the private keys are; and what happens to open sessions when
certificates are replaced or processes are killed.

Postfix and the looks into a process's memory need root; without, those tests are skipped.
"""

import datetime
import os
import re
import signal
import ssl
import subprocess
import unittest

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

import harness
import mta
from front import HOSTNAME, RECIPIENT, SENDER, Front, is_root
from harness import DEADLINE_S, EX_CONFIG, Case, main, peer, sanitizer_reports, wait_for

CONTENT = b"Subject: test\r\n\r\nHello,\r\n.\r\n..dots\r\n"
SESSIONS = 50
RELAYED = 5
PARKED = 200
RESIDENT_MAX = 48 * 1024
HALF_MAX = 64 * 1024  # amid a handshake; OpenSSL would give 128 KiB more for nine bytes
CHUNK = 1 << 20
UNSIGNED = r"handshake not signed, .* \(the keyholder does not answer\)$"


EXIM_CLIENT = """\
primary_hostname = client.example.net
exim_path = {program}
spool_directory = {directory}/spool
log_file_path = {directory}/%slog
log_selector = +all
disable_ipv6 = true
keep_environment =
trusted_users = root

begin routers
all:
  driver = manualroute
  route_list = * {host}
  self = send
  transport = out

begin transports
out:
  driver = smtp
  port = {port}
  hosts_require_tls = *
  tls_verify_hosts = *
  tls_verify_certificates = {ca}
  tls_verify_cert_hostnames =
  tls_sni = {name}
"""


def content_as_read(mail):
    """What follows the lines of Received and its like that smtp-front has added."""
    return mail[mail.index(b"Subject:"):].replace(b"\n", b"\r\n")


made_rsa_keys = []  # they take long: tests have the same, of which no two are of one test


def rsa_key(case):
    case.rsa_keys = getattr(case, "rsa_keys", 0) + 1
    while len(made_rsa_keys) < case.rsa_keys:
        made_rsa_keys.append(rsa.generate_private_key(65537, 2048))
    return made_rsa_keys[case.rsa_keys - 1]


class Certificate:
    """A key and its certificate in files; pair is what "certificates" takes."""

    def __init__(self, case, name=HOSTNAME, kind="rsa", stem=None):
        self.case = case
        self.name = name
        self.chain = case.path(f"{stem or name}.pem")
        self.key_path = case.path(f"{stem or name}.key")
        self.pair = f"{self.chain}:{self.key_path}"
        self.renew(kind)

    def renew(self, kind="rsa"):
        """Another key, and a certificate for it, in the same files."""
        self.key = {"rsa": lambda: rsa_key(self.case),
                    "ec": lambda: ec.generate_private_key(ec.SECP256R1()),
                    "ed25519": ed25519.Ed25519PrivateKey.generate}[kind]()
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, self.name)])
        now = datetime.datetime.now(datetime.timezone.utc)
        self.certificate = (
            x509.CertificateBuilder().subject_name(name).issuer_name(name)
            .public_key(self.key.public_key()).serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(self.name)]), False)
            .sign(self.key, None if kind == "ed25519" else hashes.SHA256()))
        self.pem = self.certificate.public_bytes(serialization.Encoding.PEM)
        self.key_pem = self.key.private_bytes(serialization.Encoding.PEM,
                                              serialization.PrivateFormat.PKCS8,
                                              serialization.NoEncryption())
        self.write(self.pem, self.key_pem)

    def write(self, chain, key):
        """Each is replaced as a whole, as those do who renew certificates."""
        for path, text, mode in ((self.chain, chain, 0o644), (self.key_path, key, 0o600)):
            with open(path + ".new", "wb") as file:
                file.write(text)
            os.chmod(path + ".new", mode)
            os.rename(path + ".new", path)

    def secrets(self):
        """Numbers and text that only who has the key can have, as they may lie in memory."""
        numbers = self.key.private_numbers()
        secret = ([numbers.p, numbers.q, numbers.d] if hasattr(numbers, "p")
                  else [numbers.private_value])
        found = [self.key_pem.splitlines()[3 if len(secret) > 1 else 1]]
        for number in secret:
            size = (number.bit_length() + 7) // 8
            found += [number.to_bytes(size, order) for order in ("big", "little")]
        return found


def memory_of(pid):
    """All that can be read of a process, in pieces that overlap."""
    with open(f"/proc/{pid}/maps", encoding="ascii") as file:
        areas = [(int(begin, 16), int(end, 16)) for begin, end in
                 re.findall(r"^([0-9a-f]+)-([0-9a-f]+) r", file.read(), re.MULTILINE)]
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for begin, end in areas:
            for at in range(begin, end, CHUNK):
                try:
                    memory.seek(at)
                    yield memory.read(min(CHUNK + 4096, end - at))
                except (OSError, OverflowError):
                    break  # such as vvar


def has_secret(pid, secrets):
    return any(secret in piece for piece in memory_of(pid) for secret in secrets)


class TlsCase(Case):
    def front(self, *certificates, **sections):
        self.fixture = Front(self, certificates=[each.pair for each in certificates], **sections)
        return self.fixture

    def open(self, certificate=None, name=None, has_said_hello=True):
        """A client after the handshake, who believes in certificate alone."""
        client = self.fixture.client()
        self.addCleanup(client.close)
        client.hello()
        client.starttls(name or (certificate and certificate.name),
                        certificate and certificate.chain)
        if has_said_hello:
            client.say("EHLO client.example.net", 250)
        return client

    def park(self, certificate=None):
        """In an edge: nothing is proved yet."""
        client = self.open(certificate)
        client.say(f"MAIL FROM:<{SENDER}>", 250)
        return client

    def park_if(self, certificate):
        """None as long as there is another one, or none, or an edge that drains (421)."""
        try:
            return self.park(certificate)
        except (ssl.SSLError, ConnectionError, EOFError, AssertionError):
            return None

    def prove(self, client):
        """In a worker from then on."""
        client.say(f"RCPT TO:<{RECIPIENT}>", 250)
        return client

    def finish(self, client, content=CONTENT):
        client.say("DATA", 354)
        client.send(re.sub(rb"(?m)^\.", b"..", content) + b".\r\n")
        client.expect(250)
        client.say("QUIT", 221)

    def wait_for_mails(self, count):
        return wait_for(lambda: len(self.fixture.mails()) >= count and self.fixture.mails(),
                        f"{count} mails")


class ClientsTest(TlsCase):
    """Those who send mail."""

    def test_python(self):
        certificate = Certificate(self)
        front = self.front(certificate)
        with self.open(certificate) as client:
            self.assertEqual(client.socket.version(), "TLSv1.3")
            client.send_mail(SENDER, [RECIPIENT], CONTENT)
            client.say("QUIT", 221)
            self.assertEqual(client.socket.recv(1), b"")  # close_notify, else it raises
        mail, = self.wait_for_mails(1)
        self.assertEqual(content_as_read(mail), CONTENT)
        self.assertRegex(mail.decode(), r"with ESMTPS")
        self.assertRegex(mail.decode(), r"using TLSv1\.3 with cipher TLS_AES_256_GCM_SHA384")
        line, = front.wait_for_sessions(1)
        self.assertEqual(line["tls"], "TLSv1.3")

    def test_swaks(self):
        self.front(Certificate(self))
        host, port = self.fixture.address
        for version in ("tlsv1_2", "tlsv1_3"):
            result = subprocess.run(
                [peer("swaks"), "--server", host, "--port", str(port), "--tls",
                 "--tls-protocol", version, "--from", SENDER, "--to", RECIPIENT,
                 "--body", "hello from swaks", "--helo", "client.example.net"],
                capture_output=True, text=True, check=False, timeout=DEADLINE_S)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        for mail in self.wait_for_mails(2):
            self.assertIn(b"hello from swaks\n", mail)

    def s_client(self, *options, text="EHLO client.example.net\r\nQUIT\r\n"):
        host, port = self.fixture.address
        return subprocess.run(
            [peer("openssl"), "s_client", "-starttls", "smtp", "-connect", f"{host}:{port}",
             "-quiet", "-no_ign_eof", *options], input=text, capture_output=True, text=True,
            check=False, timeout=DEADLINE_S)

    def certificate_of(self, *options):
        host, port = self.fixture.address
        result = subprocess.run(
            [peer("openssl"), "s_client", "-starttls", "smtp", "-connect", f"{host}:{port}",
             "-showcerts", *options], input="QUIT\r\n", capture_output=True, text=True,
            check=False, timeout=DEADLINE_S)
        pem = re.search("-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----\n",
                        result.stdout, re.DOTALL)
        self.assertIsNotNone(pem, result.stdout + result.stderr)
        return pem.group().encode()

    def test_names(self):
        first = Certificate(self, HOSTNAME)
        other = Certificate(self, "other.example.com", "ec")
        self.front(first, other)
        for version in ("-tls1_2", "-tls1_3"):
            with self.subTest(version):
                self.assertEqual(self.certificate_of(version, "-noservername"), first.pem)
                self.assertEqual(self.certificate_of(version, "-servername", other.name),
                                 other.pem)
                self.assertEqual(self.certificate_of(version, "-servername", "x.example"),
                                 first.pem)

    def test_kinds_of_key(self):
        certificates = {"rsa": Certificate(self, kind="rsa", stem="one"),
                        "ec": Certificate(self, kind="ec", stem="two")}
        self.front(*certificates.values())
        for kind, sigalgs in (("rsa", "RSA-PSS+SHA256"), ("ec", "ECDSA+SHA256")):
            self.assertEqual(self.certificate_of("-sigalgs", sigalgs), certificates[kind].pem)

    def test_chain(self):
        """What is behind the first certificate is sent too."""
        certificate = Certificate(self)
        other = Certificate(self, "ca.example.com", "ec")
        certificate.write(certificate.pem + other.pem, certificate.key_pem)
        self.front(certificate)
        host, port = self.fixture.address
        result = subprocess.run(
            [peer("openssl"), "s_client", "-starttls", "smtp", "-connect", f"{host}:{port}",
             "-showcerts"], input="QUIT\r\n", capture_output=True, text=True, check=False,
            timeout=DEADLINE_S)
        self.assertIn(other.pem.decode(), result.stdout)

    def test_old_versions(self):
        self.front(Certificate(self), front={"log-level": "debug"})
        for options in (["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"],
                        ["-tls1_2", "-cipher", "AES128-SHA"],
                        ["-tls1_2", "-cipher", "ECDHE-RSA-AES256-SHA384"]):
            with self.subTest(options):
                self.assertNotEqual(self.s_client(*options).returncode, 0)
        ends = wait_for(lambda: [each["end"] for each in self.fixture.sessions()
                                 if each["end"] == "tls-failed"] if
                        len(self.fixture.sessions()) >= 3 else None, "three session lines")
        self.assertEqual(len(ends), 3)
        self.fixture.wait_for_log(r"^debug: \[[0-9a-f]{12}\] handshake failed \(no shared cipher\)",
                                  2)
        self.assertEqual(self.s_client("-tls1_2").returncode, 0)

    def test_no_session_again(self):
        self.front(Certificate(self))
        for version in ("-tls1_2", "-tls1_3"):
            host, port = self.fixture.address
            command = [peer("openssl"), "s_client", "-starttls", "smtp", "-connect",
                       f"{host}:{port}", version]
            path = self.path("session")
            for option in ("-sess_out", "-sess_in"):
                if option == "-sess_in" and not os.path.exists(path):
                    break  # TLS 1.3: there is nothing to keep
                result = subprocess.run([*command, option, path], input="QUIT\r\n",
                                        capture_output=True, text=True, check=False,
                                        timeout=DEADLINE_S)
                self.assertNotIn("Reused, ", result.stdout)
                self.assertNotIn("TLS session ticket:", result.stdout)

    def test_postfix(self):
        """Debian's client, which looks at the certificate and says a name."""
        other = Certificate(self, "other.example.com", "ec")
        front = self.front(Certificate(self), other)
        host, port = front.address
        postfix = mta.Postfix(
            self, main=[f"transport_maps = static:smtp:[{host}]:{port}",
                        "smtp_tls_security_level = verify", f"smtp_tls_CAfile = {other.chain}",
                        f"smtp_tls_verify_cert_match = {other.name}",
                        f"smtp_tls_servername = {other.name}", "smtp_tls_loglevel = 1"],
            master=["smtp unix - - n - - smtp", "tlsmgr unix - - n 1000? 1 tlsmgr",
                    "scache unix - - n - 1 scache"])
        lines = "".join(f"line {number} of a longer mail\n" for number in range(2000))
        body = ".a dot\n" + lines
        for _ in range(3):
            outcome = mta.send(postfix.address, message=f"Subject: test\n\n.{body}")
            self.assertTrue(outcome.is_accepted, outcome)
        for mail in self.wait_for_mails(3):
            self.assertEqual(mail.split(b"\n\n", 1)[1], body.encode())
            self.assertIn(b"ESMTPS", mail.split(b"Received:")[1])
        postfix.wait_for_log("Verified TLS connection established to .*: TLSv1.3", 1)

    def test_exim(self):
        """Debian's has GnuTLS, and says what it has in chunks."""
        other = Certificate(self, "other.example.com")
        host, port = self.front(Certificate(self), other).address
        exim = mta.Exim(self)
        config = exim.write("client.conf", EXIM_CLIENT.format(
            program=exim.program, directory=exim.directory, host=host, port=port, ca=other.chain,
            name=other.name))
        body = "".join(f"line {number} of a longer mail\n" for number in range(2000))
        result = subprocess.run(
            mta.with_files(exim.files, [exim.program, "-C", config, "-odf", "-i", "-f", SENDER,
                                        RECIPIENT]),
            input=f"Subject: test\n\n.a dot\n{body}", capture_output=True, text=True, check=False,
            timeout=mta.SESSION_S)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr + exim.log())
        mail, = wait_for(self.fixture.mails, f"a mail of Exim\n{exim.log()}")
        self.assertEqual(mail.split(b"\n\n", 1)[1].decode(), f".a dot\n{body}")
        self.assertRegex(exim.log(), r'=> .* X=TLS1\.3:.* CV=yes DN="CN=other\.example\.com".* K ')


class BeforeTest(TlsCase):
    """What was said before the handshake does not count after it."""

    def test_end_of_the_client(self):
        """unwrap() waits for the server's close_notify, and fails without."""
        certificate = Certificate(self)
        self.front(certificate)
        for client in (self.open(certificate), self.open(certificate, has_said_hello=False),
                       self.park(certificate), self.prove(self.park(certificate))):
            client.socket.unwrap().close()

    def test_behind_starttls(self):
        """CVE-2011-0411: whoever sits between puts commands behind STARTTLS."""
        self.front(Certificate(self))
        for injected in ("RSET", f"EHLO evil.example\r\nMAIL FROM:<{SENDER}>", "x", "\0", "\r\n"):
            with self.subTest(injected), self.fixture.client() as client:
                client.hello()
                client.send(b"STARTTLS\r\n" + injected.encode() + b"\r\n")
                self.assertGreaterEqual(client.reply()[0], 500)

    def test_behind_the_reply(self):
        """It comes when the handshake has begun already, and is none."""
        self.front(Certificate(self))
        with self.fixture.client() as client:
            client.hello()
            client.say("STARTTLS", 220)
            client.send(f"EHLO evil.example\r\nMAIL FROM:<{SENDER}>\r\n".encode())
            with self.assertRaises((EOFError, ConnectionResetError, AssertionError)):
                client.say("NOOP", 250)
        self.assertEqual(self.fixture.wait_for_sessions(1)[0]["end"], "tls-failed")

    def test_state(self):
        certificate = Certificate(self)
        self.front(certificate)
        client = self.fixture.client()
        self.addCleanup(client.close)
        self.assertIn("STARTTLS", client.hello())
        client.say(f"MAIL FROM:<{SENDER}>", 250)
        client.say("RSET", 250)
        client.starttls(certificate.name, certificate.chain)
        client.say(f"MAIL FROM:<{SENDER}>", 503)
        self.assertNotIn("STARTTLS", client.say("EHLO client.example.net", 250))
        client.say("STARTTLS", 503)
        client.say(f"RCPT TO:<{RECIPIENT}>", 503)

    def test_required(self):
        certificate = Certificate(self)
        self.front(certificate, tls={"require": "yes"})
        with self.fixture.client() as client:
            client.hello()
            client.say(f"MAIL FROM:<{SENDER}>", 530)
        self.finish(self.prove(self.park(certificate)))
        self.wait_for_mails(1)

    def test_not_offered(self):
        self.front()
        with self.fixture.client() as client:
            self.assertNotIn("STARTTLS", client.hello())
            self.assertGreaterEqual(client.say("STARTTLS")[0], 500)


class SessionTest(TlsCase):
    """From the edge to the worker, and to the end."""

    def test_pipelined(self):
        """All at once, in one record, across the hand-over."""
        certificate = Certificate(self)
        self.front(certificate)
        client = self.open(certificate)
        client.send(f"MAIL FROM:<{SENDER}>\r\nRCPT TO:<nobody@example.com>\r\n"
                    f"RCPT TO:<{RECIPIENT}>\r\nDATA\r\n".encode())
        for code in (250, 550, 250, 354):
            client.expect(code)
        client.send(re.sub(rb"(?m)^\.", b"..", CONTENT) + b".\r\n" + b"QUIT\r\n")
        client.expect(250)
        client.expect(221)
        self.assertEqual(content_as_read(self.wait_for_mails(1)[0]), CONTENT)

    def test_chunks(self):
        certificate = Certificate(self)
        self.front(certificate)
        client = self.prove(self.park(certificate))
        content = b"Subject: chunks\r\n\r\n" + b"0123456789\r\n" * 100000
        for at in range(0, len(content), 70000):
            part = content[at:at + 70000]
            is_last = at + 70000 >= len(content)
            client.send(f"BDAT {len(part)}{' LAST' if is_last else ''}\r\n".encode() + part)
            client.expect(250)
        client.say("QUIT", 221)
        self.assertEqual(content_as_read(self.wait_for_mails(1)[0]), content)

    def test_byte_by_byte(self):
        """A record of TLS for each."""
        certificate = Certificate(self)
        self.front(certificate)
        client = self.open(certificate)
        for byte in f"MAIL FROM:<{SENDER}>\r\nRCPT TO:<{RECIPIENT}>\r\nDATA\r\n".encode():
            client.send(bytes([byte]))
        for code in (250, 250, 354):
            client.expect(code)
        for byte in CONTENT.replace(b"\n.", b"\n..") + b".\r\nQUIT\r\n":
            client.send(bytes([byte]))
        client.expect(250)
        client.expect(221)
        self.assertEqual(content_as_read(self.wait_for_mails(1)[0]), CONTENT)

    def test_slow_reader(self):
        """Who does not read his replies stops nobody but himself."""
        certificate = Certificate(self)
        self.front(certificate, limits={"commands": 1000000, "junk-commands": 1000000})
        lazy = self.prove(self.park(certificate))
        lazy.socket.settimeout(1)
        with self.assertRaises((TimeoutError, ssl.SSLWantWriteError, ConnectionError)):
            while True:
                lazy.send(b"NOOP\r\n" * 1000)
        self.finish(self.prove(self.park(certificate)))
        self.wait_for_mails(1)
        # Nor the end of the program.
        self.assertEqual(self.fixture.stop(), 0)
        self.assertIn("drained", [session["end"] for session in self.fixture.sessions()])

    def test_silent_at_the_end(self):
        """A worker is told behind "drain", and gives a client as much again before its 421."""
        certificate = Certificate(self)
        front = self.front(certificate, front={"drain": "9s"})
        client = self.prove(self.park(certificate))
        front.process.send_signal(signal.SIGTERM)
        client.expect(421)
        client.close()
        self.assertEqual(front.process.popen.wait(DEADLINE_S), 0)


class CutTest(TlsCase):
    """MAIL, RCPT, RCPT, DATA and the mail, cut at every byte, on both sides of the hand-over."""

    HEAD = (f"MAIL FROM:<{SENDER}>\r\nRCPT TO:<nobody@example.com>\r\nRCPT TO:<{RECIPIENT}>\r\n"
            f"RCPT TO:<{RECIPIENT}>\r\nDATA\r\n").encode()
    CODES = [250, 550, 250, 250, 354]

    def content(self, number):
        return b"Subject: %d\r\n\r\n..\r\nend\r\n.\r\n" % (1000 + number)

    def subjects(self):
        return sorted(int(re.search(rb"^Subject: (\d+)\n\n\.\nend\n\Z", mail, re.MULTILINE)
                          .group(1)) - 1000 for mail in self.fixture.mails())

    def test_in_two(self):
        """Both parts at once, and the second when the first is answered."""
        certificate = Certificate(self, kind="ec")
        self.front(certificate)
        size = len(self.HEAD + self.content(0))
        for cut in range(1, size):
            for is_patient in (False, True):
                data = self.HEAD + self.content(2 * cut + is_patient)
                client = self.open(certificate)
                client.send(data[:cut])
                answered = self.HEAD.count(b"\r\n", 0, cut) if is_patient else 0
                codes = [client.reply()[0] for _ in range(answered)]
                client.send(data[cut:] + b"QUIT\r\n")
                codes += [client.reply()[0] for _ in range(len(self.CODES) + 2 - answered)]
                self.assertEqual(codes, self.CODES + [250, 221], f"cut before {cut}")
                client.close()
        self.assertEqual(self.subjects(), list(range(2, 2 * size)))

    def test_off(self):
        """A mail whose end has not come is none; one whose end has come is there once at most."""
        certificate = Certificate(self, kind="ec")
        front = self.front(certificate)
        size = len(self.HEAD + self.content(0))
        for cut in range(size + 1):
            data = self.HEAD + self.content(cut)
            client = self.open(certificate)
            client.send(data[:cut])
            client.reset() if cut % 2 else client.close()
        front.wait_for_sessions(size + 1)
        self.assertIn(self.subjects(), ([], [size]))


@unittest.skipIf(harness.IS_SANITIZED, "memory figures mean nothing")
class ResidentTest(TlsCase):
    """What an edge has for each session that it waits for, OpenSSL and all."""

    def grow(self, begin):
        """Bytes for each session that begin() makes."""
        edge, = self.fixture.processes()["edge"]
        begin()  # what is made once
        before = harness.anonymous_kb(edge)
        for _ in range(PARKED):
            begin()
        return (harness.anonymous_kb(edge) - before) * 1024 / PARKED

    def test_parked(self):
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            with self.subTest(version):
                self.front(Certificate(self), front={"edges": 1, "sessions": 2 * PARKED})
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
                context.check_hostname = False
                context.verify_mode = ssl.CERT_NONE
                context.minimum_version = context.maximum_version = version

                def begin(context=context):
                    client = self.fixture.client()
                    self.addCleanup(client.close)
                    client.hello()
                    client.say("STARTTLS", 220)
                    client.socket = context.wrap_socket(client.socket)
                    client.say("EHLO client.example.net", 250)
                    client.say(f"MAIL FROM:<{SENDER}>", 250)

                self.assertLessEqual(self.grow(begin), RESIDENT_MAX)

    def test_half_a_hello(self):
        """The largest that is believed, without its last bytes."""
        front = self.front(Certificate(self), front={"edges": 1, "sessions": 2 * PARKED})
        message = b"\1\0\x20\0\3\3" + b"x" * 8000
        record = b"\x16\3\1" + len(message).to_bytes(2, "big") + message

        def begin():
            client = front.client()
            self.addCleanup(client.close)
            client.hello()
            client.say("STARTTLS", 220)
            client.send(record)

        def is_read():
            with open("/proc/net/tcp", encoding="ascii") as file:
                return not re.search(rf":{front.address[1]:04X} \S+ 01 \w+:0*[1-9A-F]",
                                     file.read())

        def begin_read():
            begin()
            wait_for(is_read, "the edge to read")

        self.assertLessEqual(self.grow(begin_read), HALF_MAX)


class KeyTest(TlsCase):
    """The private keys, and the process that has them."""

    @unittest.skipUnless(is_root(), "the memory of others needs root")
    @unittest.skipIf(harness.IS_SANITIZED, "terabytes are mapped by the sanitizer")
    def test_memory(self):
        certificates = [Certificate(self, kind="rsa", stem="one"),
                        Certificate(self, "other.example.com", "ec")]
        both = Certificate(self, "both.example.com", "rsa")
        os.chmod(both.chain, 0o600)
        with open(both.chain, "ab") as file:
            file.write(both.key_pem)
        both.pair = f"{both.chain}:{both.chain}"
        front = self.front(*certificates, both)
        for certificate in (*certificates, both):
            self.finish(self.prove(self.park(certificate)))
        processes = front.processes()
        holder, = processes["keyholder"]
        for certificate in (*certificates, both):
            secrets = certificate.secrets()
            self.assertTrue(has_secret(holder, secrets), "the control")
            for pid in (front.process.pid, *processes["edge"], *processes["worker"]):
                with self.subTest(certificate.name, pid=pid):
                    self.assertFalse(has_secret(pid, secrets))
        # That the pages of an edge are looked at at all.
        self.assertTrue(has_secret(processes["edge"][0], [certificates[0].pem]))

    def test_keyholder_killed(self):
        self.expect_log("process died", UNSIGNED)
        certificate = Certificate(self)
        front = self.front(certificate)
        parked = self.park(certificate)
        relayed = self.prove(self.park(certificate))
        for _ in range(3):
            holder, = front.wait_for_processes("keyholder", 1)
            os.kill(holder, signal.SIGKILL)
            front.wait_for_processes("keyholder", 1, but=[holder])
            # It has begun, and an edge may have no patience until it has read its keys.
            wait_for(lambda: self.park_if(certificate), "a handshake").close()
        self.finish(relayed)
        self.finish(self.prove(parked))
        self.assertEqual(len(self.wait_for_mails(2)), 2)

    def test_keyholder_stopped(self):
        """A handshake that has waited in vain fails; sessions in the clear go on."""
        self.expect_log(UNSIGNED)  # as often as the waits are long
        certificate = Certificate(self)
        front = self.front(certificate)
        holder, = front.processes()["keyholder"]
        os.kill(holder, signal.SIGSTOP)
        self.addCleanup(os.kill, holder, signal.SIGCONT)
        for _ in range(4):
            with self.assertRaises((ssl.SSLError, ConnectionError, EOFError)):
                self.open(certificate)
        front.wait_for_log(r"^error: \[[0-9a-f]{12}\] handshake not signed, edge=[01] count=1 "
                           r"\(the keyholder does not answer\)$")
        with front.client() as client:
            client.hello()
            client.send_mail(SENDER, [RECIPIENT], CONTENT)
        os.kill(holder, signal.SIGCONT)
        wait_for(lambda: self.park_if(certificate), "an answer of the keyholder")

    def test_keyholder_made_again_has_the_keys_that_are_there(self):
        """Of two, one has been replaced since; after SIGHUP there are both."""
        self.expect_log("process died")
        certificates = [Certificate(self), Certificate(self, "other.example.com", "ec")]
        front = self.front(*certificates, front={"drain": "0s"})
        for certificate in certificates:
            self.open(certificate).close()
        certificates[0].renew("ec")
        holder, = front.processes()["keyholder"]
        os.kill(holder, signal.SIGKILL)
        front.wait_for_log(re.escape(f"key not read, path={certificates[0].key_path} (not the"))
        self.open(certificates[1]).close()
        with self.assertRaises((ssl.SSLError, ConnectionError, EOFError)):
            self.open(certificates[0])
        front.wait_for_log(r"handshake not signed, .* \(the keyholder has no key for this "
                           r"certificate\)$")
        self.assertTrue(front.reload())
        for certificate in certificates:
            wait_for(lambda one=certificate: self.park_if(one), "an edge with the new certificate")

    def check(self, expect, *certificates):
        front = Front(self, certificates=[each.pair for each in certificates], is_started=False)
        result = subprocess.run([harness.program("smtp-front"), "--check", "--config",
                                 front.config_path], capture_output=True, text=True, check=False,
                                timeout=DEADLINE_S)
        self.assertEqual(sanitizer_reports(result.stderr), [])
        self.assertEqual(result.returncode, expect, result.stderr)
        return result.stderr

    def test_refused(self):
        """Each error names the file."""
        good = Certificate(self, "good.example.com", "ec")
        self.check(0, good)
        bad = Certificate(self, "bad.example.com", "ed25519")
        self.assertIn(f'path={bad.chain} (an Ed25519', self.check(EX_CONFIG, good, bad)
                      .replace('"', ""))
        bad.renew("ec")
        os.chmod(bad.key_path, 0o644)
        self.assertIn("it may be read or written by others", self.check(EX_CONFIG, bad))
        bad.write(bad.pem, good.key_pem)
        told = self.check(EX_CONFIG, bad)
        self.assertIn(bad.key_path, told)
        self.assertIn("not the key of the first certificate", told)
        bad.write(b"no certificate\n", good.key_pem)
        self.assertIn("there is no certificate in it", self.check(EX_CONFIG, bad))
        os.unlink(bad.chain)
        self.assertIn(os.strerror(2), self.check(EX_CONFIG, bad))


class ReloadTest(TlsCase):
    """SIGHUP, with sessions open."""

    def test_renewed(self):
        certificate = Certificate(self)
        front = self.front(certificate, front={"drain": "60s", "workers": RELAYED + 2})
        old = certificate.certificate
        clients = [self.park(certificate) for _ in range(SESSIONS)]
        for client in clients[:RELAYED]:
            self.prove(client)
        certificate.renew("ec")
        self.assertTrue(front.reload(), front.log()[-2000:])
        fresh = wait_for(lambda: self.park_if(certificate), "an edge with the new certificate")
        shown = x509.load_der_x509_certificate(fresh.socket.getpeercert(True))
        self.assertEqual(shown, certificate.certificate)
        self.assertNotEqual(shown, old)
        for number, client in enumerate(clients):
            if number >= RELAYED:
                self.prove(client)
            self.finish(client)
        self.finish(self.prove(fresh))
        self.assertEqual(len(self.wait_for_mails(SESSIONS + 1)), SESSIONS + 1)

    def test_renewed_under_load(self):
        """Whoever comes at any moment has one of the two, and his mail arrives."""
        certificate = Certificate(self)
        front = self.front(certificate, front={"drain": "20s"})
        count = 0
        for kind in ("ec", "rsa", "ec"):
            certificate.renew(kind)
            front.process.send_signal(signal.SIGHUP)
            # With either certificate, and again when it is told to come again; with the last one behind them, which shows
            # that the new key was read.
            for wanted in [None] * 10 + [certificate]:
                client = wait_for(lambda wanted=wanted: self.park_if(wanted), "an edge")
                self.finish(self.prove(client))
                count += 1
        self.assertEqual(len(self.wait_for_mails(count)), count)

    def test_bad_files_change_nothing(self):
        self.expect_log("configuration not read", "private key refused")
        certificate = Certificate(self)
        front = self.front(certificate)
        pem, key_pem = certificate.pem, certificate.key_pem
        certificate.write(b"no certificate\n", key_pem)
        self.assertFalse(front.reload())
        certificate.write(pem, b"no key\n")
        self.assertFalse(front.reload())
        certificate.write(pem, key_pem)
        self.finish(self.prove(self.park(certificate)))
        self.wait_for_mails(1)

    def test_edge_made_again_has_its_own_certificates(self):
        """Those of its generation, not those that have been put in their place since."""
        self.expect_log("process died")
        certificate = Certificate(self)
        front = self.front(certificate, front={"edges": 1})
        old = self.write("old.pem", certificate.pem)
        self.open(certificate).close()  # the keyholder has read its file
        certificate.renew("ec")
        edge, = front.processes()["edge"]
        os.kill(edge, signal.SIGKILL)
        front.wait_for_processes("edge", 1, but=[edge])
        client = front.client()
        self.addCleanup(client.close)
        client.hello()
        client.starttls(certificate.name, old)
        client.say("EHLO client.example.net", 250)


if __name__ == "__main__":
    main(has_own_network=True)
