# SPDX-License-Identifier: GPL-3.0-or-later
"""Documents of Office with a password (MS-OFFCRYPTO, MS-XLS): the streams of a compound file."""

import base64
import hashlib
import struct

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

EXCEL = "VelvetSweatshop"
SALT, OTHER_SALT, VERIFIER = bytes(range(16)), bytes(range(100, 116)), bytes(range(200, 216))
KEY = bytes(range(32))
OF_VERIFIER, OF_HASH, OF_KEY = (bytes.fromhex(digits) for digits in
                                ("fea7d2763b4b9e79", "d7aa0f6d3061344e", "146e0be7abacd0d6"))


def seal(cipher, mode, data):
    encryptor = Cipher(cipher, mode).encryptor()
    return encryptor.update(data + bytes(-len(data) % 16)) + encryptor.finalize()


def number(value):
    return struct.pack("<I", value)


def spun(name, password, salt, rounds):
    digest = hashlib.new(name, salt + password.encode("utf-16le")).digest()
    for i in range(rounds):
        digest = hashlib.new(name, number(i) + digest).digest()
    return digest


def fitted(data, size):
    return data[:size].ljust(size, b"\x36")


# ---- since 2007 ----


def standard_key(password, salt, bits):
    digest = hashlib.sha1(spun("sha1", password, salt, 50000) + number(0)).digest()
    both = b"".join(hashlib.sha1(bytes(a ^ value for a in digest) + bytes([value]) * 44).digest()
                    for value in (0x36, 0x5c))
    return both[:bits // 8]


def header_of(algorithm, bits, salt, verifier, digest):
    name = "Microsoft Enhanced Cryptographic Provider v1.0\0".encode("utf-16le")
    header = struct.pack("<8I", 0x24, 0, algorithm, 0x8004, bits, 0x18, 0, 0) + name
    return struct.pack("<II", 0x24, len(header)) + header + number(16) + salt + verifier + number(20) + digest


def standard_of(data, password=EXCEL, bits=128):
    cipher = algorithms.AES(standard_key(password, SALT, bits))
    digest = hashlib.sha1(VERIFIER).digest()
    algorithm = {128: 0x660e, 192: 0x660f, 256: 0x6610}[bits]
    return {"EncryptionInfo": struct.pack("<HH", 4, 2) + header_of(
                algorithm, bits, SALT, seal(cipher, modes.ECB(), VERIFIER), seal(cipher, modes.ECB(), digest)),
            "EncryptedPackage": struct.pack("<Q", len(data)) + seal(cipher, modes.ECB(), data)}


def purpose_key(name, spun_digest, purpose, bits):
    return fitted(hashlib.new(name, spun_digest + purpose).digest(), bits // 8)


def agile_key_value(password, salt, name, rounds, bits, sealed):
    """What the intermediate key is, by the password."""
    key = purpose_key(name, spun(name, password, salt, rounds), OF_KEY, bits)
    decryptor = Cipher(algorithms.AES(key), modes.CBC(salt)).decryptor()
    return decryptor.update(sealed) + decryptor.finalize()


def agile_xml(values, template=None):
    return (template or (
        '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\r\n'
        '<encryption xmlns="http://schemas.microsoft.com/office/2006/encryption" '
        'xmlns:p="http://schemas.microsoft.com/office/2006/keyEncryptor/password">'
        '<keyData {how} saltValue="{salt}"/><dataIntegrity encryptedHmacKey="" encryptedHmacValue=""/>'
        '<keyEncryptors><keyEncryptor uri="http://schemas.microsoft.com/office/2006/keyEncryptor/password">'
        '<p:encryptedKey spinCount="{rounds}" {how} saltValue="{password_salt}" '
        'encryptedVerifierHashInput="{verifier}" encryptedVerifierHashValue="{digest}" encryptedKeyValue="{key}"/>'
        '</keyEncryptor></keyEncryptors></encryption>')).format(**values).encode()


def agile_of(data, password=EXCEL, name="sha512", bits=256, rounds=1000, chaining="CBC", template=None):
    mode = modes.CBC if chaining == "CBC" else modes.CFB8
    digest = spun(name, password, SALT, rounds)

    def sealed(purpose, value):
        cipher = algorithms.AES(purpose_key(name, digest, purpose, bits))
        return base64.b64encode(seal(cipher, mode(SALT), value)).decode()

    how = (f'saltSize="16" blockSize="16" keyBits="{bits}" hashSize="{len(digest)}" cipherAlgorithm="AES" '
           f'cipherChaining="ChainingMode{chaining}" hashAlgorithm="{name.upper()}"')
    values = {"how": how, "rounds": rounds, "salt": base64.b64encode(OTHER_SALT).decode(),
              "password_salt": base64.b64encode(SALT).decode(), "verifier": sealed(OF_VERIFIER, VERIFIER),
              "digest": sealed(OF_HASH, hashlib.new(name, VERIFIER).digest()), "key": sealed(OF_KEY, KEY[:bits // 8])}
    package = struct.pack("<Q", len(data))
    for i in range(0, len(data), 4096):
        vector = fitted(hashlib.new(name, OTHER_SALT + number(i // 4096)).digest(), 16)
        package += seal(algorithms.AES(KEY[:bits // 8]), mode(vector), data[i:i + 4096])
    return {"EncryptionInfo": struct.pack("<HHI", 4, 4, 0x40) + agile_xml(values, template),
            "EncryptedPackage": package}


# ---- up to 2003 ----

BOF, BOUND_SHEET, FILEPASS, END = 0x809, 0x85, 0x2f, 0x0a
PLAIN = (BOF, FILEPASS, 0xe1, 0x138, 0x194, 0x195, 0x196)


def record(kind, data):
    return struct.pack("<HH", kind, len(data)) + data


def rc4(key, data):
    state, j, out = list(range(256)), 0, bytearray()
    for i in range(256):
        j = (j + state[i] + key[i % len(key)]) % 256
        state[i], state[j] = state[j], state[i]
    i = j = 0
    for byte in data:
        i = (i + 1) % 256
        j = (j + state[i]) % 256
        state[i], state[j] = state[j], state[i]
        out.append(byte ^ state[(state[i] + state[j]) % 256])
    return bytes(out)


def rc4_key(password, salt, block):
    digest = hashlib.md5((hashlib.md5(password.encode("utf-16le")).digest()[:5] + salt) * 16).digest()
    return hashlib.md5(digest[:5] + number(block)).digest()


def cryptoapi_key(password, salt, block, bits):
    digest = hashlib.sha1(hashlib.sha1(salt + password.encode("utf-16le")).digest() + number(block)).digest()
    return digest[:bits // 8] if bits > 40 else digest[:5] + bytes(11)


def xored(offset, size, data):
    """By the specification's method 1, with its array for Excel's password."""
    array = bytes.fromhex("876b9ae21ee305621e699660986e9404")
    out = bytearray()
    for i, byte in enumerate(data):
        out.append((byte << 5 & 0xff | byte >> 3) ^ array[(offset + i + size) % 16])
    return bytes(out)


def workbook_of(records, filepass, change, before):
    """change(offset, size, data): data from there on, of a record of that size; before: records before the password's."""
    plain = b"".join(record(kind, data) for kind, data in
                     [(BOF, struct.pack("<HHIII", 0x600, 5, 0, 0, 0)), *before, (FILEPASS, filepass)])
    opened, sealed = plain, plain
    for kind, data in [*records, (END, b"")]:
        kept = len(data) if kind in PLAIN else 4 if kind == BOUND_SHEET else 0
        opened += record(kind, data)
        sealed += record(kind, data)[:4 + kept] + change(len(sealed) + 4 + kept, len(data), data[kept:])
    return {"Workbook": sealed}, opened


def keyed(key):
    """RC4 with a key for each KiB of the stream."""
    def change(offset, _, data):
        out = b""
        while data:
            begin = offset % 1024
            part = data[:1024 - begin]
            out += rc4(key(offset // 1024), bytes(begin) + part)[begin:]
            offset, data = offset + len(part), data[len(part):]
        return out
    return change


def rc4_workbook_of(records, password=EXCEL, before=()):
    def key(block):
        return rc4_key(password, SALT, block)
    filepass = struct.pack("<HHH", 1, 1, 1) + SALT + rc4(key(0), VERIFIER + hashlib.md5(VERIFIER).digest())
    return workbook_of(records, filepass, keyed(key), before)


def cryptoapi_workbook_of(records, password=EXCEL, bits=128, before=()):
    def key(block):
        return cryptoapi_key(password, SALT, block, bits)
    both = rc4(key(0), VERIFIER + hashlib.sha1(VERIFIER).digest())
    filepass = struct.pack("<HHH", 1, 4, 2) + header_of(0x6801, bits, SALT, both[:16], both[16:])
    return workbook_of(records, filepass, keyed(key), before)


def xor_workbook_of(records, is_old=False, is_wrong=False, before=()):
    filepass = bytes.fromhex("59b30a9a" if not is_wrong else "59b30a9b")
    return workbook_of(records, filepass if is_old else b"\0\0" + filepass, xored, before)
