#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
keygen and ds: a key that other programs read, the DS that they make of it.

The DS is computed here once more from the DNSKEY, by RFC 4034, and by
ldns-key2ds. openssl reads our keys and makes some for us. Then keys that are
wrong: each is refused with its reason, and what is there is not overwritten.
"""

import base64
import hashlib
import os
import pty
import resource
import select
import shutil
import stat
import subprocess
import time
import unittest

from harness import (DEADLINE_S, EX_DATAERR, EX_IOERR, EX_NOPERM, EX_USAGE, IS_SANITIZED, ZONE, Case, main,
                     peer, program, wire_name)

EX_NOINPUT, EX_CANTCREAT = 66, 73
ALGORITHMS = {"ecdsap256sha256": 13, "ed25519": 15}


def key_tag(rdata):
    """RFC 4034 appendix B."""
    total = sum(byte << 8 if i % 2 == 0 else byte for i, byte in enumerate(rdata))
    return (total + (total >> 16)) & 0xFFFF


def ds_of(zone, dnskey_line):
    """The DS line that belongs to "NAME IN DNSKEY flags protocol algorithm base64"."""
    _, _, _, flags, protocol, algorithm, public = dnskey_line.split()
    rdata = (int(flags).to_bytes(2, "big") + bytes([int(protocol), int(algorithm)])
             + base64.b64decode(public, validate=True))
    digest = hashlib.sha256(wire_name(zone.lower()) + rdata).hexdigest()
    return f"{zone.lower()} IN DS {key_tag(rdata)} {algorithm} 2 {digest.upper()}\n"


class Keys(Case):
    def setUp(self):
        super().setUp()
        self.key = self.path("bl6.pem")

    def read(self, path):
        with open(path, "rb") as file:
            return file.read()

    def keygen(self, *options, zone=ZONE, **how):
        return self.run_zone("keygen", "--zone", zone, "--key", self.key, *options, **how)

    def ds(self, *options, zone=ZONE, **how):
        return self.run_zone("ds", "--zone", zone, "--key", self.key, *options, **how)

    def openssl(self, *arguments):
        result = subprocess.run([peer("openssl"), *arguments], check=False, capture_output=True,
                                timeout=60)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def private(self, content):
        """The key file with this content, and mode 0600."""
        self.write("bl6.pem", content)
        os.chmod(self.key, 0o600)

    # ---- what they are for ----

    def test_keygen_makes_a_private_file_and_prints_the_ds_that_ds_prints_again(self):
        for algorithm, number in ALGORITHMS.items():
            with self.subTest(algorithm=algorithm):
                self.key = self.path(algorithm + ".pem")
                printed = self.keygen("--algorithm", algorithm).out
                self.assertEqual(stat.S_IMODE(os.stat(self.key).st_mode), 0o600)
                self.assertEqual(self.ds().out, printed)
                dnskey = self.ds("--dnskey").out
                self.assertRegex(dnskey, rf"^{ZONE} IN DNSKEY 257 3 {number} [A-Za-z0-9+/=]+\n$")
                self.assertEqual(printed, ds_of(ZONE, dnskey))

    def test_the_default_is_ecdsa_with_p256(self):
        self.keygen()
        self.assertIn(" DNSKEY 257 3 13 ", self.ds("--dnskey").out)

    def test_a_ds_is_of_a_key_and_a_name_in_whatever_case(self):
        self.keygen()
        lines = {self.ds(zone=zone).out for zone in (ZONE, "BL6.Example.", "bl6.example")}
        self.assertEqual(lines, {ds_of(ZONE, self.ds("--dnskey").out)})
        self.assertNotIn(self.ds(zone="bl7.example.").out.split()[-1], lines.pop())

    def test_ldns_makes_the_same_ds(self):
        ldns = peer("ldns-key2ds")
        for algorithm in ALGORITHMS:
            with self.subTest(algorithm=algorithm):
                self.key = self.path(algorithm + ".pem")
                printed = self.keygen("--algorithm", algorithm).out
                dnskey = self.write("dnskey", self.ds("--dnskey").out)
                theirs = subprocess.run([ldns, "-n", "-2", dnskey], check=True, text=True,
                                        capture_output=True, timeout=60).stdout
                self.assertEqual(theirs.split()[-4:], printed.lower().split()[-4:])

    def test_openssl_reads_our_keys(self):
        for algorithm in ALGORITHMS:
            with self.subTest(algorithm=algorithm):
                self.key = self.path(algorithm + ".pem")
                self.keygen("--algorithm", algorithm)
                self.openssl("pkey", "-in", self.key, "-check", "-noout")
                der = self.openssl("pkey", "-in", self.key, "-pubout", "-outform", "DER")
                public = base64.b64decode(self.ds("--dnskey").out.split()[-1])
                self.assertTrue(der.endswith(public))

    def test_keys_that_openssl_made_are_read(self):
        kinds = {13: ("-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"),
                 15: ("-algorithm", "ED25519")}
        for number, options in kinds.items():
            with self.subTest(algorithm=number):
                self.private(self.openssl("genpkey", *options))
                self.assertIn(f" DNSKEY 257 3 {number} ", self.ds("--dnskey").out)

    # ---- what may go wrong ----

    def test_a_key_that_is_there_is_not_overwritten(self):
        self.keygen()
        before = self.read(self.key)
        again = self.keygen(expect=EX_CANTCREAT)
        self.assertEqual(again.err, f"error: [{self.key}] key not written (File exists)\n")
        self.assertEqual(again.out, "")
        self.assertEqual(self.read(self.key), before)

    def refuse(self, reason, expect):
        refused = self.ds(expect=expect)
        self.assertEqual(refused.err, f"error: [{self.key}] key not read ({reason})\n")
        self.assertEqual(refused.out, "")

    def test_a_key_that_others_may_read_is_refused(self):
        self.keygen()
        for mode in (0o640, 0o604, 0o644):
            with self.subTest(mode=oct(mode)):
                os.chmod(self.key, mode)
                self.refuse("it may be read by others; chmod 600", EX_NOPERM)

    def test_what_is_no_key_is_refused(self):
        self.keygen()
        whole = self.read(self.key)
        no_key = "not a private key in PEM without a password, or damaged"
        cases = {
            "empty": b"",
            "a list": b"192.0.2.1\n",
            "cut short": whole[:150],
            "a wrong character": whole.replace(b"MIGH", b"MIGX"),
            "halves of two keys": whole[:180] + b"AAAA" + whole[184:],
            "the public half": self.openssl("pkey", "-in", self.key, "-pubout"),
            "a key with a password": self.openssl("pkcs8", "-topk8", "-in", self.key, "-passout",
                                                  "pass:secret"),
        }
        for name, content in cases.items():
            with self.subTest(case=name):
                self.private(content)
                self.refuse(no_key, EX_DATAERR)

    def test_a_key_of_another_kind_is_refused(self):
        kinds = {"P-384": ("-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"),
                 "RSA": ("-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:1024"),
                 "Ed448": ("-algorithm", "ED448")}
        for name, options in kinds.items():
            with self.subTest(kind=name):
                self.private(self.openssl("genpkey", *options))
                self.refuse("key is neither of ECDSA P-256 nor of Ed25519", EX_DATAERR)

    def test_a_key_with_a_password_is_refused_without_a_prompt(self):
        """On a terminal of its own, where OpenSSL would like to ask."""
        self.keygen()
        self.private(self.openssl("pkcs8", "-topk8", "-in", self.key, "-passout", "pass:secret"))
        pid, terminal = pty.fork()
        if pid == 0:
            os.execv(program("dnsblv6-zone"),
                     ["dnsblv6-zone", "ds", "--zone", ZONE, "--key", self.key])
        said = self.read_terminal(terminal)
        os.close(terminal)  # which ends one that still waits for an answer
        _, status = os.waitpid(pid, 0)
        self.assertEqual(os.waitstatus_to_exitcode(status), EX_DATAERR, said)
        self.assertIn("without a password", said)
        self.assertNotIn("pass phrase", said)

    def read_terminal(self, terminal):
        """Everything, up to the end of the program; a question is answered by a line feed."""
        said = b""
        end = time.monotonic() + DEADLINE_S
        while time.monotonic() < end:
            if not select.select([terminal], [], [], 1)[0]:
                os.write(terminal, b"\n")
                continue
            try:
                more = os.read(terminal, 4096)
            except OSError:  # how Linux says that nobody has the other end
                break
            if not more:
                break
            said += more
        return said.decode("utf-8", "replace")

    def test_a_file_that_cannot_be_opened_says_why(self):
        self.refuse("No such file or directory", EX_NOINPUT)
        os.mkdir(self.key)
        self.refuse("Is a directory", EX_NOINPUT)
        self.key = self.path("absent/bl6.pem")
        refused = self.keygen(expect=EX_NOINPUT)
        self.assertIn("key not written (No such file or directory)", refused.err)

    @unittest.skipIf(os.getuid() != 0, "only root can become somebody else")
    def test_a_key_of_another_user_is_not_read_and_not_written(self):
        self.keygen()
        self.refuse_nobody("ds", "key not read (Permission denied)")
        self.key = self.path("new.pem")
        self.refuse_nobody("keygen", "key not written (Permission denied)")
        self.assertFalse(os.path.exists(self.key))

    def refuse_nobody(self, command, words):
        """The program is copied: nobody may be kept out of the build directory."""
        copy = shutil.copy(program("dnsblv6-zone"), self.path("dnsblv6-zone"))
        result = subprocess.run([copy, command, "--zone", ZONE, "--key", self.key], user="nobody",
                                capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(result.returncode, EX_NOPERM, result.stderr)
        self.assertIn(words, result.stderr)

    def test_a_key_stays_when_its_ds_cannot_be_printed(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            result = subprocess.run([program("dnsblv6-zone"), "keygen", "--zone", ZONE, "--key",
                                     self.key], stdout=full, stderr=subprocess.PIPE, text=True,
                                    check=False, timeout=60)
        self.assertEqual(result.returncode, EX_IOERR)
        self.assertEqual(result.stderr, "error: output not written (No space left on device)\n")
        self.assertEqual(self.ds().out, ds_of(ZONE, self.ds("--dnskey").out))

    def test_a_signature_that_cannot_be_told_is_an_error(self):
        store = self.path("bl6.mdb")
        self.run_zone("keygen", "--zone", ZONE, "--key", self.key)
        self.build(store, "--key", self.key, self.write("list", "192.0.2.1\n"))
        with open("/dev/full", "w", encoding="ascii") as full:
            result = subprocess.run([program("dnsblv6-zone"), "sign", "--store", store, "--key", self.key],
                                    stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=60)
        self.assertEqual((result.returncode, result.stderr),
                         (EX_IOERR, "error: output not written (No space left on device)\n"))

    def test_a_first_build_without_room_leaves_a_key_at_most(self):
        """Another build may have signed with it meanwhile, so that a key stays, and the next build takes it."""
        store, keys = self.path("new/bl6.mdb"), self.path("new/keys")
        one = self.write("list", "192.0.2.1\n")
        os.mkdir(self.path("new"))

        def fail(size):
            result = self.build(store, "--keys", keys, one, expect=EX_IOERR, preexec_fn=lambda:
                                resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))
            self.assertRegex(result.err,
                             r"(?m)^error: \[.*new/(keys|bl6\.mdb)\] .* \(File too large\)\n\Z")
            return os.listdir(self.path("new"))

        self.assertEqual(fail(0), [])  # of the key
        os.mkdir(keys)  # which is the operator's
        self.assertEqual(fail(0), ["keys"])
        self.assertEqual(os.listdir(keys), [])
        os.rmdir(keys)
        self.assertEqual(fail(4096), ["keys"])  # of the lock file
        left = os.listdir(keys)
        self.assertEqual(len(left), 1)
        self.assertEqual(fail(100_000), ["keys"])  # of the store
        self.build(store, "--keys", keys, one)
        self.assertEqual(os.listdir(keys), left)

    def test_a_first_build_leaves_nothing_whose_last_write_fails(self):
        if IS_SANITIZED:
            self.skipTest("needs a program that can be traced")
        os.mkdir(self.path("new"))
        command = [program("dnsblv6-zone"), "build", "--zone", ZONE, "--ns", "ns1.example.net.", "--store",
                   self.path("new/bl6.mdb"), self.write("list", "192.0.2.1\n")]
        for number in (1, 2):  # the heads of the file; the one that publishes the version
            result = subprocess.run([peer("strace"), "-f", "-o", "/dev/null", "-e", "trace=pwrite64", "-e",
                                     f"inject=pwrite64:error=ENOSPC:when={number}", *command],
                                    capture_output=True, text=True, check=False, timeout=DEADLINE_S)
            self.assertEqual(result.returncode, EX_IOERR, result.stderr)
            self.assertRegex(result.stderr, r"^error: \[.*\] store not written, .*\(No space left on device\)\n$")
            self.assertEqual(os.listdir(self.path("new")), [], number)

    def test_wrong_use_names_the_word(self):
        both = ("--zone", ZONE, "--key", self.key)
        cases = [
            (("keygen",), "--zone is missing"),
            (("keygen", "--zone", ZONE), "--key is missing"),
            (("keygen", "--key", self.key), "--zone is missing"),
            (("keygen", "--zone", "a..b", "--key", self.key), "'a..b': not a domain name"),
            (("keygen", "--zone", "bl\u00e9.example", "--key", self.key), ": in ASCII, with A-labels (xn--...)"),
            (("keygen", "--zone", ".", "--key", self.key), "'.': not a domain name"),
            (("keygen", *both, "--algorithm", "rsa"), "'rsa': neither"),
            (("keygen", *both, "more"), "'more'"),
            (("ds",), "--zone is missing"),
            (("ds", "--zone", ZONE), "--key is missing, or --keys"),
            (("ds", *both, "--keys", self.directory), "--key and --keys are two ways"),
            (("ds", "--zone", "", "--key", self.key), "'': not a domain name"),
            (("ds", *both, "more"), "'more'"),
        ]
        for arguments, words in cases:
            with self.subTest(arguments=arguments):
                refused = self.run_zone(*arguments, expect=EX_USAGE)
                self.assertIn(words, refused.err)
                self.assertEqual(refused.err.count("\n"), 1)
                self.assertFalse(os.path.exists(self.key))


if __name__ == "__main__":
    main()
