# SPDX-License-Identifier: GPL-3.0-or-later
"""Documents that carry a file: compound files, macros, RTF, PDF, TNEF, compiled help."""

import base64
import struct
import zlib

END, FREE = 0xfffffffe, 0xffffffff


# ---- TNEF (MS-OXTNEF) ----


def attribute(level, number, kind, data):
    return struct.pack("<BHHI", level, number, kind, len(data)) + data + struct.pack("<H", sum(data) & 0xffff)


def attachment(name, data):
    return (attribute(2, 0x9002, 6, struct.pack("<HIHHI", 1, 0xffffffff, 0, 0, 0)) +
            attribute(2, 0x8010, 1, name.encode() + b"\0") + attribute(2, 0x800f, 6, data))


def tnef_of(*attributes):
    version = attribute(1, 0x9006, 8, struct.pack("<I", 0x10000))
    page = attribute(1, 0x9007, 6, struct.pack("<II", 1252, 0))
    return struct.pack("<IH", 0x223e9f78, 7) + version + page + b"".join(attributes)


def properties_of(*properties):
    """Of (id, type, value)."""
    data = struct.pack("<I", len(properties))
    for number, kind, value in properties:
        data += struct.pack("<HHII", kind, number, 1, len(value)) + value + b"\0" * (-len(value) % 4)
    return data


def outlook_rtf_of(rtf):
    """Not compressed (MS-OXRTFCP)."""
    return struct.pack("<II4sI", len(rtf) + 12, len(rtf), b"MELA", 0) + rtf


# ---- sections of OneNote (MS-ONESTORE), and what Office saves beside pages ----


def onenote_of(*files):
    section = bytes.fromhex("e4525c7b8cd8a74daeb15378d02996d3") + bytes(1008)
    for data in files:
        section += bytes.fromhex("e716e3bd65261145a4c48d4d0b7a9eac") + struct.pack("<QIQ", len(data), 0, 0)
        section += data + bytes(-len(data) % 8) + bytes.fromhex("22a7fb71790f0b4abb13899256426b24")
    return section


def mso_of(data):
    return b"ActiveMime".ljust(30, b"\0") + struct.pack("<H", 4) + bytes(18) + zlib.compress(data)


# ---- compiled help, as lib/unpack/apart/unpack_chm.c has it ----

CHM_PACKED = b"::DataSpace/Storage/MSCompressed/"
CHM_TABLE = CHM_PACKED + b"Transform/{7FC28940-9D31-11D0-9B27-00A0C91E9C7C}/InstanceData/ResetTable"
CHM_IDS = bytes.fromhex("10fd017caa7bd0119e0c00a0c922e6ec11fd017caa7bd0119e0c00a0c922e6ec")
CHM_DIRECTORY_ID = bytes.fromhex("6a92025d2e21d0119df900a0c922e6ec")
CHM_FRAME, CHM_RUN = 1 << 15, 2


def chm_number(value):
    """7 bits a byte, the high ones first."""
    return (chm_number(value >> 7)[:-1] + bytes((value >> 7 & 0x7f | 0x80,)) if value > 0x7f else b"") + bytes((value & 0x7f,))


def lzx_stored(data):
    """LZX that begins anew each second frame, in blocks that are stored; and where each frame is."""
    stream, places = b"", []
    size = CHM_RUN * CHM_FRAME
    for at in range(0, len(data), size):
        head = 3 << 28 | size << 4  # 1 no program's calls, 3 type, 24 size, and the rest of a word
        places += [len(stream), len(stream) + 16 + CHM_FRAME]
        stream += struct.pack("<HH3I", head >> 16, head & 0xffff, 1, 1, 1) + data[at:at + size].ljust(size, b"\0")
    return stream, places


def chm_around(stream, places, files, stored=(), page_size=4096):
    """files: name, offset and size in the stream; stored: names and bytes."""
    control = struct.pack("<I4s5I", 6, b"LZXC", 2, CHM_RUN, 2, 1, 0)
    size = max(offset + length for _, offset, length in files)
    table = struct.pack("<4I3Q", 2, len(places), 8, 40, size, len(stream), CHM_FRAME)
    table += b"".join(struct.pack("<Q", place) for place in places)
    entries = [(name, 1, offset, length) for name, offset, length in files]
    content = b""
    for name, data in (*stored, (CHM_PACKED + b"Content", stream), (CHM_PACKED + b"ControlData", control), (CHM_TABLE, table)):
        entries.append((name, 0, len(content), len(data)))
        content += data
    pages, page, count = [], b"", 0
    for name, section, offset, length in sorted(entries):
        entry = b"".join((chm_number(len(name)), name, chm_number(section), chm_number(offset), chm_number(length)))
        if 20 + len(page) + len(entry) + 2 > page_size:
            pages.append((page, count))
            page, count = b"", 0
        page, count = page + entry, count + 1
    pages.append((page, count))
    last = len(pages) - 1
    directory = struct.pack("<4s6I4i2I", b"ITSP", 1, 84, 10, page_size, 2, 1, -1, 0, last, -1, len(pages), 0x409)
    directory += CHM_DIRECTORY_ID + struct.pack("<I3i", 84, -1, -1, -1)
    for number, (page, count) in enumerate(pages):
        directory += struct.pack("<4s2I2i", b"PMGL", page_size - 20 - len(page), 0, number - 1,
                                 number + 1 if number < last else -1)
        directory += page.ljust(page_size - 22, b"\0") + struct.pack("<H", count)
    at = 96 + 24
    end = at + len(directory)
    head = struct.pack("<4s5I", b"ITSF", 3, 96, 1, 0, 0x409) + CHM_IDS + struct.pack("<5Q", 96, 24, at, len(directory), end)
    return head + struct.pack("<2IQ2I", 0x1fe, 0, end + len(content), 0, 0) + directory + content


def chm_of(packed, stored=()):
    """Of names and bytes, that are packed or not."""
    files, data = [], b""
    for name, content in packed:
        files.append((name, len(data), len(content)))
        data += content
    return chm_around(*lzx_stored(data), files, stored)


# ---- cabinets (MS-CAB) ----


def cab_of(folders, files, order=None):
    """Folders of bytes, which are stored; files: folder, offset, size and name. order: of folders in the cabinet."""
    listed = b"".join(struct.pack("<IIHHHH", size, offset, folder, 0, 0, 0x20) + name + b"\0"
                      for folder, offset, size, name in files)
    at, content, places = 36 + 8 * len(folders) + len(listed), b"", {}
    for folder in order or range(len(folders)):
        data = folders[folder]
        blocks = [data[i:i + 32768] for i in range(0, len(data), 32768)]
        places[folder] = struct.pack("<IHH", at + len(content), len(blocks), 0)
        content += b"".join(struct.pack("<IHH", 0, len(block), len(block)) + block for block in blocks)
    head = struct.pack("<4s5IBB5H", b"MSCF", 0, at + len(content), 0, 36 + 8 * len(folders), 0, 3, 1, len(folders),
                       len(files), 0, 0, 0)
    return head + b"".join(places[folder] for folder in range(len(folders))) + listed + content


# ---- compound files (MS-CFB) ----


class Compound:
    def __init__(self, streams):
        self.entries, self.numbers = [["Root Entry", 5, b"", [], END, 0]], {"": 0}
        self.fat, self.sectors = [], b""
        for path, data in streams.items():
            self.entries[self.make(path, 2)][2] = data

    def make(self, path, kind):
        if path not in self.numbers:
            parent, _, name = path.rpartition("/")
            above = self.make(parent, 1)
            self.entries.append([name, kind, b"", [], END, 0])
            self.numbers[path] = len(self.entries) - 1
            self.entries[above][3].append(self.numbers[path])
        return self.numbers[path]

    def add(self, data):
        begin, count = len(self.fat), -(-len(data) // 512)
        self.fat += [begin + i + 1 for i in range(count - 1)] + [END]
        self.sectors += data.ljust(512 * count, b"\0")
        return begin

    def directory(self):
        right = [FREE] * len(self.entries)
        for entry in self.entries:
            for one, following in zip(entry[3], entry[3][1:]):
                right[one] = following
        data = b""
        for number, (name, kind, _, children, start, size) in enumerate(self.entries):
            wide = name.encode("utf-16le")
            data += wide.ljust(64, b"\0") + struct.pack("<HBBIII", len(wide) + 2, kind, 1, FREE, right[number],
                                                        children[0] if children else FREE)
            data += bytes(36) + struct.pack("<IQ", start, size)
        return data

    def bytes(self):
        mini, mini_fat = b"", []
        for entry in self.entries:
            if entry[1] != 2 or not entry[2]:
                continue
            entry[5] = len(entry[2])
            if len(entry[2]) >= 4096:
                entry[4] = self.add(entry[2])
                continue
            entry[4] = len(mini_fat)
            mini += entry[2] + b"\0" * (-len(entry[2]) % 64)
            mini_fat += [i + 1 for i in range(len(mini_fat), len(mini) // 64 - 1)] + [END]
        mini_fat_begin = END
        if mini:
            self.entries[0][4:] = [self.add(mini), len(mini)]
            mini_fat_begin = self.add(struct.pack(f"<{len(mini_fat)}I", *mini_fat).ljust(512, b"\xff"))
        directory = self.add(self.directory())
        begin, count = len(self.fat), 1
        while len(self.fat) + count > 128 * count:
            count += 1
        fat = self.fat + [0xfffffffd] * count
        fat += [FREE] * (128 * count - len(fat))
        header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<5H", 0x3e, 3, 0xfffe, 9, 6) + bytes(10)
        header += struct.pack("<8I", count, directory, 0, 4096, mini_fat_begin, 1, END, 0)
        header += struct.pack("<109I", *(begin + i if i < count else FREE for i in range(109)))
        return header + self.sectors + struct.pack(f"<{len(fat)}I", *fat)


def ole_of(streams):
    return Compound(streams).bytes()


def vba_of(text):
    """A container of MS-OVBA that repeats nothing."""
    container = b"\1"
    for at in range(0, len(text), 3640):
        part = text[at:at + 3640]
        tokens = b"".join(b"\0" + part[i:i + 8] for i in range(0, len(part), 8))
        container += struct.pack("<H", 0xb000 | len(tokens) - 1) + tokens
    return container


def package_of(name, data):
    """What Windows' packager writes."""
    return (struct.pack("<H", 2) + name + b"\0C:\\" + name + b"\0" + struct.pack("<II", 0x30000, 4) + b"C:\\\0" +
            struct.pack("<I", len(data)) + data)


def native_of(name, data):
    package = package_of(name, data)
    return struct.pack("<I", len(package)) + package


def slides_of(data):
    packed = struct.pack("<I", len(data)) + zlib.compress(data)
    return struct.pack("<HHI", 0x10, 0x1011, len(packed)) + packed


# ---- RTF and PDF ----


def rtf_of(kind, data):
    name = kind + b"\0"
    ole = struct.pack("<II", 0x501, 2) + struct.pack("<I", len(name)) + name + struct.pack("<III", 0, 0, len(data)) + data
    return b"{\\rtf1 text {\\object\\objemb{\\*\\objdata " + base64.b16encode(ole).lower() + b"}}}"


def pdf_of(dictionary, data):
    return (b"%PDF-1.4\n1 0 obj\n<< /Type /EmbeddedFile " + dictionary + b" >>\nstream\n" + data +
            b"\nendstream\nendobj\ntrailer <<>>\n%%EOF\n")


def pdf_of_objects(*objects):
    """A whole file; the first is its catalog."""
    content = b"%PDF-1.7\n"
    places = b""
    for number, value in enumerate(objects, 1):
        places += b"%010d 00000 n \n" % len(content)
        content += b"%d 0 obj\n%s\nendobj\n" % (number, value)
    return content + (b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" %
                      (len(objects) + 1, places, len(objects) + 1, len(content)))


def pdf_stream(dictionary, data):
    return b"<< %s /Length %d >>\nstream\n%s\nendstream" % (dictionary, len(data), data)


def pdf_with(dictionary, data, script):
    """With a file in it, metadata that say so, and a script."""
    escaped = script.replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")
    return pdf_of_objects(
        b"<< /Type /Catalog /Pages 2 0 R /Names << /EmbeddedFiles << /Names [(a) 4 0 R] >> >> /OpenAction 6 0 R /Metadata 7 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 100 100] >>",
        b"<< /Type /Filespec /F (a.com) /UF (a.com) /EF << /F 5 0 R >> >>",
        pdf_stream(b"/Type /EmbeddedFile " + dictionary, data),
        b"<< /S /JavaScript /JS (" + escaped + b") >>",
        pdf_stream(b"/Type /Metadata /Subtype /XML", b"<?xpacket begin=\"\xef\xbb\xbf\"?>" + b"<x>" * 300))
