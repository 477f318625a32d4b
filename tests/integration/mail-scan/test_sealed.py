#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Documents of Office with a password: those that Excel opens by itself are opened, by lib/unpack and through a
process of mail-scan that may do nothing else, and others are said to be encrypted.
"""

import hashlib
import os
import struct
import subprocess

import documents
import harness
import sealed
from harness import BUILD, Case

EVENTS = os.path.join(BUILD, "tests/integration/unpack_events")
TOOL = os.path.join(BUILD, "integration/mail/mail-scan/mail-scan")
# In halves, so that no file of ours is taken for it.
EICAR = (rb"X5O!P%@AP[4\PZX54(P^)7CC)7}$EICAR-" + rb"STANDARD-ANTIVIRUS-TEST-FILE!$H+H*")
NAME = "Eicar-Signature"
RECORDS = [(0xe1, b"\xb0\4"), (sealed.BOUND_SHEET, b"\1\2\3\4sheet"), (0xfc, b"strings" * 900), (0xfc, EICAR),
           (0x3c, b"more" * 700), (0x194, b"plain"), (0x809, bytes(16)), (0x18, b"name")]
# Other names, quotes and order than Office's own; a key of another kind before, and one in a comment.
ODD = ("<!-- <keyData/> > --><x:encryption a='>' ><x:keyData b=\"'>\" {how}\tsaltValue = '{salt}' ></x:keyData>"
       "<c:encryptedKey encryptedKeyValue=\"AAAA\"/><!--<p:encryptedKey/>-->"
       "<q:encryptedKey encryptedKeyValue='{key}' encryptedVerifierHashValue='{digest}'\n spinCount = \"{rounds}\" {how} "
       "saltValue=\"{password_salt}\" encryptedVerifierHashInput=\"{verifier}\" />")


class Sealed(Case):
    def unpack(self, streams, seed=0, **settings):
        environment = dict(os.environ, **{name: str(value) for name, value in settings.items()})
        done = subprocess.run([EVENTS, "ole", str(seed)], input=documents.ole_of(streams), capture_output=True, check=False,
                              env=environment, timeout=3 * harness.DEADLINE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(harness.sanitizer_reports(done.stderr.decode()), [])
        return done.stdout if "BYTES" in settings else done.stdout.decode().splitlines()[1:]

    def flaws(self, streams):
        return [line for line in self.unpack(streams) if line.startswith("flaw ")]

    def check_opened(self, streams, opened, *settings):
        """What was encrypted follows what it was in."""
        self.assertEqual(self.flaws(streams), [], settings)
        bytes_of_all = self.unpack(streams, BYTES=1)
        self.assertIn(opened, bytes_of_all, settings)
        self.assertEqual(len(bytes_of_all), sum(len(data) for data in streams.values()) + len(opened), settings)
        self.assertEqual(self.unpack(streams, seed=3), self.unpack(streams), settings)

    def check_sealed(self, streams, *settings):
        flaws = self.flaws(streams)
        self.assertEqual(len(flaws), 1, settings)
        self.assertTrue(flaws[0].startswith("flaw encrypted: "), flaws)


class Vectors(Case):
    """The encryption of this test is that of others: values that msoffcrypto-tool's documentation has."""

    def test_agile(self):
        sealed_key = bytes.fromhex("a16cd5165a7ab9d271113ed386a78cf49692e8e527b0c5fc0055ed080b7cb94b")
        self.assertEqual(
            sealed.agile_key_value("Password1234_", bytes.fromhex("4c725d45dc610f939412a04da7910466"), "sha512", 100000,
                                   256, sealed_key).hex(),
            "40206609d9faadf24b076aebf2c435b74292c8b8a7aa81bc679be89711b02ac2")

    def test_standard(self):
        salt = bytes.fromhex("e88266490c5bd1eebd2b4394e3f830ef")
        self.assertEqual(sealed.standard_key("Password1234_", salt, 128).hex(), "40b13a71f90b966e375408f2d181a1aa")

    def test_rc4(self):
        salt = bytes.fromhex("e8772c1d91c56a37964761b280183217")
        key = sealed.rc4_key("password1", salt, 0)
        self.assertEqual(key.hex(), "20bf32ddf540858c513744af0f24e03c")
        both = sealed.rc4(key, bytes.fromhex("c9e997d454973d310bb1ba701426837e" "b1de178f07e989c44dae5e4cf96ac407"))
        self.assertEqual(hashlib.md5(both[:16]).digest(), both[16:])


class Packages(Sealed):
    def test_agile_encryption_is_opened(self):
        for size in (0, 1, 15, 16, 4095, 4096, 4097, 70000):
            data = bytes(i * i % 251 for i in range(size))
            for bits, name in ((256, "sha512"), (128, "sha1"), (192, "sha384"), (256, "sha256"), (128, "md5")):
                streams = sealed.agile_of(data, name=name, bits=bits)
                self.check_opened(streams, data, size, name)

    def test_keys_that_are_longer_than_a_hash_are(self):
        for name in ("sha1", "md5"):
            self.check_opened(sealed.agile_of(EICAR, name=name, bits=256), EICAR, name)

    def test_the_other_chaining_is(self):
        for bits in (128, 256):
            self.check_opened(sealed.agile_of(EICAR * 99, bits=bits, chaining="CFB"), EICAR * 99, bits)

    def test_xml_may_be_written_otherwise(self):
        self.check_opened(sealed.agile_of(EICAR, template=ODD), EICAR)

    def test_hashes_may_have_a_hyphen(self):
        for name in ("sha1", "sha256", "sha384", "sha512"):
            streams = sealed.agile_of(EICAR, name=name)
            info = streams["EncryptionInfo"].replace(b'm="SHA', b'm="SHA-')
            self.check_opened(dict(streams, EncryptionInfo=info), EICAR, name)

    def test_keys_that_do_not_fit_are_passed(self):
        good = sealed.agile_of(EICAR)
        other = sealed.agile_of(EICAR, password="other")["EncryptionInfo"]
        key = other[other.index(b"<p:encryptedKey"):other.index(b"</keyEncryptor>")]
        info = good["EncryptionInfo"].replace(b"<keyEncryptors>", b"<keyEncryptors>" + key)
        self.check_opened(dict(good, EncryptionInfo=info), EICAR)
        info = good["EncryptionInfo"].replace(b"<keyEncryptors>", b"<keyEncryptors>" + 20 * key)
        self.check_sealed(dict(good, EncryptionInfo=info))

    def test_two_keys_of_the_data_are_not_known(self):
        good = sealed.agile_of(EICAR)
        info = good["EncryptionInfo"]
        other = info[info.index(b"<keyData"):info.index(b"<dataIntegrity")].replace(b'saltValue="', b'saltValue="AAAA')
        for mark in (b"<keyData", b"<dataIntegrity", b"</encryption>"):
            self.check_sealed(dict(good, EncryptionInfo=info.replace(mark, other + mark)), mark)

    def test_it_may_be_in_utf_16(self):
        good = sealed.agile_of(EICAR)
        text = good["EncryptionInfo"][8:].decode()
        for coded in (text.encode("utf-16"), text.encode("utf-16-le"), text.encode("utf-16-be"),
                      b"\xfe\xff" + text.encode("utf-16-be")):
            self.check_opened(dict(good, EncryptionInfo=good["EncryptionInfo"][:8] + coded), EICAR)

    def test_a_comment_does_not_end_in_its_beginning(self):
        good = sealed.agile_of(EICAR)
        for comment in (b"<!--><keyData a='-->", b"<!---><encryptedKey a=\"-->"):
            info = good["EncryptionInfo"].replace(b"<keyData", comment + b"<keyData")
            self.check_opened(dict(good, EncryptionInfo=info), EICAR)

    def test_characters_may_be_written_as_numbers(self):
        good = sealed.agile_of(EICAR)
        info = good["EncryptionInfo"]
        for one, other in ((b'"1000"', b'" &#49;0&#x30;0 "'), (b'"SHA512"', b'"SHA&#x0035;12"'), (b'"AES"', b'"&#65;ES"'),
                           (b'Value="', b'Value=" \r\n&#x20;'), (b'ModeCBC', b'Mode&#67;BC')):
            self.check_opened(dict(good, EncryptionInfo=info.replace(one, other)), EICAR, other)
        for other in (b'"&#49000"', b'"&#x;1000"', b'"&#1234;1000"', b'"&#xg;1000"', b'"&#0;1000"', b'"&49;000"',
                      b'"' + b"0" * 200 + b'1000"'):
            self.check_sealed(dict(good, EncryptionInfo=info.replace(b'"1000"', other)), other)

    def test_the_rounds_of_office_are(self):
        self.check_opened(sealed.agile_of(EICAR, rounds=100000), EICAR)
        self.check_opened(sealed.agile_of(EICAR, rounds=0), EICAR)

    def test_standard_encryption_is_opened(self):
        data = bytes(i * i % 251 for i in range(9000))
        for bits in (128, 192, 256):
            self.check_opened(sealed.standard_of(data, bits=bits), data, bits)

    def test_another_password_is_not_known(self):
        for streams in (sealed.agile_of(EICAR, password="VelvetSweatshop1"), sealed.standard_of(EICAR, password="v")):
            self.check_sealed(streams)

    def test_what_is_not_known_is_encrypted(self):
        good = sealed.agile_of(EICAR)
        info = good["EncryptionInfo"]
        for changed in (info.replace(b'"AES"', b'"RC2"'), info.replace(b"SHA512", b"SHA513"),
                        info.replace(b"ModeCBC", b"ModeECB"), info.replace(b'="1000"', b'="10000001"'),
                        info.replace(b'="1000"', b'="4294968296"'), info.replace(b'keyBits="256"', b'keyBits="255"'),
                        info.replace(b'"1000"', b'""'), info.replace(b"saltValue", b"SaltValue"), info[:200], info[:8], b"",
                        b"\3\0\3\0" + info[4:], info.replace(b'Input="', b'Input="*')):
            self.check_sealed(dict(good, EncryptionInfo=changed), changed)
        self.check_sealed({"EncryptedPackage": good["EncryptedPackage"]})
        self.check_sealed({"A/EncryptionInfo": info, "EncryptedPackage": good["EncryptedPackage"]})
        old = sealed.standard_of(EICAR)["EncryptionInfo"]
        for size in range(0, len(old), 7):
            self.check_sealed({"EncryptionInfo": old[:size], "EncryptedPackage": good["EncryptedPackage"]}, size)

    def test_a_size_that_lies_is_damage(self):
        streams = sealed.agile_of(EICAR)
        streams["EncryptedPackage"] = struct.pack("<Q", 1 << 31) + streams["EncryptedPackage"][8:]
        self.assertEqual(self.flaws(streams), ["flaw damaged: package"])
        self.assertIn(EICAR, self.unpack(streams, BYTES=1))
        streams["EncryptedPackage"] = streams["EncryptedPackage"][:8]
        self.assertEqual(self.flaws(streams), ["flaw damaged: package"])
        for size in (1, 7):
            streams["EncryptedPackage"] = streams["EncryptedPackage"][:size]
            self.assertEqual(self.flaws(streams), ["flaw damaged: package"])

    def test_a_size_that_is_too_small_hides_nothing(self):
        for make in (sealed.agile_of, sealed.standard_of):
            streams = make(EICAR * 99)
            package = streams["EncryptedPackage"]
            for size in (0, 5, 1 << 32, len(EICAR) * 99 - 32):
                streams["EncryptedPackage"] = struct.pack("<Q", size) + package[8:]
                self.assertEqual(self.flaws(streams), ["flaw damaged: package"], size)
                self.assertIn(EICAR * 99, self.unpack(streams, BYTES=1), size)

    def test_rounds_are_of_the_bytes_that_a_mail_may_make(self):
        streams = {}
        for i in range(3):
            for name, data in sealed.agile_of(EICAR, rounds=30000).items():
                streams[f"{i}/{name}"] = data
        for name in [name for name in streams if name.endswith("Info")]:
            streams[name] = streams[name].replace(b'"30000"', b'"9000000"')
        self.assertIn("flaw total size: ", "\n".join(self.flaws(streams)))

    def test_what_costs_no_rounds_is_passed(self):
        streams = {f"{i}/EncryptedPackage": b"none" for i in range(20)}
        streams |= {f"Z/{name}": data for name, data in sealed.agile_of(EICAR).items()}
        self.assertIn(EICAR, self.unpack(streams, BYTES=1))


class Workbooks(Sealed):
    def test_all_kinds_are_opened(self):
        for make in (sealed.rc4_workbook_of, sealed.cryptoapi_workbook_of, sealed.xor_workbook_of,
                     lambda records: sealed.cryptoapi_workbook_of(records, bits=40),
                     lambda records: sealed.cryptoapi_workbook_of(records, bits=56),
                     lambda records: sealed.xor_workbook_of(records, is_old=True)):
            streams, opened = make(RECORDS)
            self.check_opened(streams, opened, make)

    def test_of_excel_95_too(self):
        streams, opened = sealed.xor_workbook_of(RECORDS, is_old=True)
        self.check_opened({"Book": streams["Workbook"]}, opened)

    def test_records_may_stand_before_the_password(self):
        for make in (sealed.rc4_workbook_of, sealed.cryptoapi_workbook_of, sealed.xor_workbook_of):
            for size in (10, 1500, 8000):
                streams, opened = make(RECORDS, before=[(0x86, b""), (0x3c, b"b" * size)])
                self.check_opened(streams, opened, size)

    def test_a_password_of_a_sheet_is_none(self):
        sheets = b"".join(sealed.record(kind, data) for kind, data in ((sealed.BOF, bytes(16)), (sealed.END, b""),
                                                                       (sealed.FILEPASS, bytes(6))))
        self.assertEqual(self.flaws({"Workbook": sheets}), [])

    def test_another_password_is_not_known(self):
        for streams, _ in (sealed.rc4_workbook_of(RECORDS, password="x"), sealed.xor_workbook_of(RECORDS, is_wrong=True),
                           sealed.cryptoapi_workbook_of(RECORDS, password="x")):
            self.check_sealed(streams)

    def test_what_is_cut_is_encrypted(self):
        for make in (sealed.rc4_workbook_of, sealed.cryptoapi_workbook_of, sealed.xor_workbook_of):
            stream = make(RECORDS)[0]["Workbook"]
            for cut in range(0, struct.unpack_from("<H", stream, 22)[0], 3):
                self.check_sealed({"Workbook": stream[:22] + struct.pack("<H", cut) + stream[24:24 + cut]}, cut)


class Mails(Case):
    def test_a_process_without_rights_opens_them(self):
        database, path = self.path("own.signatures"), self.path("own.ndb")
        with open(path, "w", encoding="ascii") as file:
            file.write(f"{NAME}:0:*:{EICAR.hex()}\n")
        subprocess.run([TOOL, "compile", "-o", database, path], check=True, capture_output=True)
        for name, streams in (("agile.xlsx", sealed.agile_of(EICAR)), ("standard.xlsx", sealed.standard_of(EICAR)),
                              ("rc4.xls", sealed.rc4_workbook_of(RECORDS)[0]),
                              ("cryptoapi.xls", sealed.cryptoapi_workbook_of(RECORDS)[0]),
                              ("xor.xls", sealed.xor_workbook_of(RECORDS)[0])):
            path = self.path(name)
            with open(path, "wb") as file:
                file.write(documents.ole_of(streams))
            done = subprocess.run([TOOL, "-d", database, "--no-summary", "-n", "-i", path], capture_output=True, check=False,
                                  timeout=3 * harness.DEADLINE_S)
            where = "package" if name.endswith("x") else "workbook"
            self.assertEqual(done.stdout.decode().splitlines(), [f"{path}: {where}: {NAME} FOUND"], done.stderr)


if __name__ == "__main__":
    harness.main()
