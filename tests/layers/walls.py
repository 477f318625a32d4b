#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fails when an include, a link or a licence crosses a wall of the tree.

    walls.py SOURCE-DIRECTORY [BUILD-DIRECTORY]
    walls.py --table                            prints the walls, and checks nothing

The walls are the table below, and nothing else decides. Includes are read
from the sources; links from the symbols that the objects of the build
directory leave undefined, and from what its programs and shared libraries
name as NEEDED, so that a declaration copied by hand does not get around the
table either. Each crossing is one line with its place; any is exit status 1.
"""

import ctypes.util
import functools
import os
import re
import subprocess
import sys
from typing import NamedTuple

BSD = "BSD-2-Clause"
GPL = "GPL-3.0-or-later"


class Row(NamedTuple):
    """What files of one directory may use. Their own directory they always may."""

    licence: str
    project: tuple = ()  # directories of this project
    external: tuple = ()  # libraries of EXTERNAL, in every file
    external_of: dict = {}  # the same, for files of one name only (without suffix)


ROWS = {
    "lib/format": Row(BSD),
    # One file of LMDB, whatever it keeps; lib/store is a zone's.
    "lib/lmdb": Row(BSD, project=("lib/format",), external=("lmdb",)),
    # A log of mails below mailboxes: no sockets, no threads. Its public header is dnsblv6-mail.h.
    "lib/mailstore": Row(BSD, project=("lib/format", "lib/lmdb"),
                         external_of={"mailid": ("crypto",), "mailrecord": ("isal",)}),
    # Mailboxes over named objects that are on several machines: no sockets, no threads, and no library that has the objects.
    "lib/mailcluster": Row(GPL, project=("lib/mailstore", "lib/lmdb", "lib/format"), external=("crypto",)),
    "lib/store": Row(BSD, project=("lib/format", "lib/lmdb")),
    # Files that wrap a library are static libraries of their own: only who needs it links it.
    "lib/common": Row(GPL, external_of={"conf": ("knot",)}),
    # What daemons have in common because they are processes.
    "lib/process": Row(GPL, project=("lib/common",), external_of={"callfilter": ("seccomp",), "doors": ("uv",)}),
    # What programs that answer questions share: packets and sockets, and no DNS library.
    "lib/dns": Row(GPL, project=("lib/format",), external=("uv",)),
    # What more than one protocol of mail has on the wire, as PROXY headers: no I/O, no clock, no memory of its own.
    "lib/wire": Row(GPL, project=("lib/format",)),
    # What SMTP is, in the same way.
    "lib/smtp": Row(GPL, project=("lib/format", "lib/wire")),
    # What POP3 and logging in are, in the same way; SCRAM's hashes alone are libcrypto's.
    "lib/pop3": Row(GPL, project=("lib/format", "lib/wire"), external_of={"scram": ("crypto",)}),
    # What a file is, by its bytes.
    "lib/content": Row(GPL, project=("lib/format",)),
    # A mail as it flows: no I/O, no clock, no memory of its own.
    "lib/mstream": Row(GPL, project=("lib/format", "lib/wire", "lib/content"), external_of={"yenc": ("z",)}),
    # Signatures in ClamAV's formats, against bytes that flow by.
    "lib/match": Row(GPL, project=("lib/content", "lib/common", "lib/format"), external=("hs", "crypto")),
    # Compressed files and archives, as their bytes flow by.
    "lib/unpack": Row(GPL, project=("lib/content", "lib/format"), external_of={"unpack_streams": ("bz2", "lzma"), "unpack_office": ("crypto",), "unpack_arj": ("z",), "unpack_inflate": ("z",), "unpack_inflate64": ("z",), "unpack_lzfu": ("z",),
                                                                  "unpack_zlib": ("z",), "unpack_zip": ("z",), "unpack_archive": ("archive",)}),
    # All of these together, over one mail or file.
    "lib/inspect": Row(GPL, project=("lib/content", "lib/mstream", "lib/match", "lib/unpack"),
                       external_of={"selfpack": ("z",)}),
    # What a maildir is: files and directories alone.
    "lib/maildir": Row(GPL, project=("lib/common", "lib/format")),
    "zone-tools": Row(GPL, project=("lib/format", "lib/lmdb", "lib/store", "lib/common",
                                    "lib/process", "lib/dns"),
                      external=("knot", "z"),
                      external_of={"key": ("crypto",), "zonemd": ("crypto",)}),
    "server": Row(GPL, project=("lib/format", "lib/lmdb", "lib/store", "lib/common", "lib/process",
                                "lib/dns"),
                  external=("knot", "uv"),
                  # The last is the object of what protoc-c makes of dnstap.proto.
                  external_of={"frames": ("fstrm",), "dnstap": ("protobuf-c",),
                               # The program in the network driver, and what loads it.
                               "answer": ("bpf", "xdp"), "maps": ("bpf",), "packet": ("bpf",), "load": ("bpf",), "attach": ("bpf", "xdp"),
                               "meson-generated_": ("protobuf-c",)}),
    # Programs that use libdnsblv6 as anybody does: by the header that is installed.
    "client-lib/examples": Row(BSD, external=("dnsblv6",), external_of={"libuv": ("uv",), "libevent": ("event",)}),
    "client-lib/lookup": Row(BSD, project=("lib/format",), external=("dnsblv6",)),
    "client-lib/unbound": Row(BSD, external=("dnsblv6", "unbound")),
    "client-lib": Row(BSD, project=("lib/format",)),
    # What programs between libdnsblv6 and a mail server have in common.
    "integration/common": Row(GPL, project=("client-lib", "lib/common", "lib/process", "lib/format"),
                              external=("uv", "dnsblv6"), external_of={"milterloop": ("milter",)}),
    # Programs that other people's mail servers use: none knows another.
    "integration/adapters": Row(GPL, project=("client-lib", "lib/common", "lib/process", "lib/dns", "lib/format",
                                              "integration/common"),
                                external=("uv", "dnsblv6"), external_of={"milter": ("milter",)}),
    # What servers of mail have in common, whatever their protocol: so nothing of SMTP.
    # The store itself is known to mail-stored alone; here are the names and bytes that its clients need.
    # Of lib/pop3, how the keys of a login are written.
    "integration/mail/base": Row(GPL, project=("client-lib", "lib/common", "lib/process", "lib/lmdb", "lib/mailstore",
                                              "lib/format", "lib/pop3", "lib/wire", "lib/content", "lib/inspect",
                                              "lib/match", "lib/mstream", "lib/unpack", "integration/common"),
                                 external=("uv",),
                                 external_of={"tls": ("ssl", "crypto"),
                                              "keys": ("crypto",),
                                              "keyholder": ("crypto",),
                                              "remotekey": ("crypto",),
                                              "seal": ("z",),
                                              "sslio": ("ssl", "crypto"),
                                              "users_password": ("crypt", "crypto")}),
    # The tool of a store, or of a daemon that has one; it serves nothing.
    "integration/mail/mail-store": Row(GPL, project=("lib/mailstore", "lib/lmdb", "lib/format", "lib/common",
                                                     "lib/process", "lib/maildir", "integration/mail/base")),
    # The tool of a cluster: it asks one of its daemons, and gives it the users.
    "integration/mail/mail-cluster": Row(GPL, project=("lib/mailstore", "lib/lmdb", "lib/format", "lib/common",
                                                       "integration/mail/base")),
    # It runs the programs of a mail server, and knows of them no more than their files.
    "integration/mail/mail-hub": Row(GPL, project=("client-lib", "lib/common", "lib/process", "lib/format",
                                                  "integration/common")),
    # Files against signatures; it serves nothing.
    "integration/mail/mail-scan": Row(GPL, project=("lib/common", "lib/process", "lib/content", "lib/inspect", "lib/match",
                                                   "lib/mstream", "lib/unpack", "integration/mail/base")),
    # Between clients and any server of mail: it has no users and no mails of its own.
    "integration/mail/mail-proxy": Row(GPL, project=("client-lib", "lib/common", "lib/process", "lib/format", "lib/pop3",
                                                    "lib/smtp", "lib/wire", "lib/content", "lib/inspect", "lib/match",
                                                    "lib/mstream", "lib/unpack", "lib/lmdb", "lib/mailstore",
                                                    "integration/common", "integration/mail/base"),
                                       external=("uv",), external_of={"popfound": ("crypto",)}),
    # The scanner for mail servers that speak to milters.
    "integration/mail/scan-milter": Row(GPL, project=("client-lib", "lib/common", "lib/process", "lib/content", "lib/inspect",
                                                     "lib/match", "lib/mstream", "lib/unpack",
                                                     "integration/common", "integration/mail/base"),
                                        external=("uv",), external_of={"scanmilter": ("milter",)}),
    # The daemon of a store, and its process that speaks LMTP.
    "integration/mail/mail-stored": Row(GPL, project=("client-lib", "lib/common", "lib/process", "lib/lmdb", "lib/mailcluster",
                                                      "lib/mailstore",
                                                      "lib/maildir", "lib/format", "lib/pop3", "lib/smtp", "lib/wire",
                                                      "integration/common", "integration/mail/base"),
                                        external=("uv",), external_of={
                                            "nodetls": ("ssl", "crypto"),
                                            **dict.fromkeys(("objects_rados", "rados_handle", "rados_looks",
                                                             "rados_reads", "rados_writes"), ("rados",))}),
    # A server of mailboxes that it never opens itself: it is a client of the store's daemon.
    "integration/mail/pop-front": Row(GPL, project=("client-lib", "lib/common", "lib/process", "lib/lmdb",
                                                    "lib/mailstore", "lib/format", "lib/pop3", "lib/wire",
                                                    "integration/common", "integration/mail/base"),
                                      external=("uv", "dnsblv6"),
                                      external_of={"asking": ("crypto",), "poplogin": ("crypto",),
                                                   "checker": ("crypto",), "logincache": ("crypto",),
                                                   "ticket": ("crypto",)}),
    "integration/mail/smtp-front": Row(GPL, project=("client-lib", "lib/common", "lib/process", "lib/dns",
                                                     "lib/lmdb", "lib/maildir", "lib/mailstore",
                                                     "lib/format", "lib/pop3", "lib/smtp", "lib/wire",
                                                     "lib/content", "lib/inspect", "lib/match", "lib/mstream",
                                                     "lib/unpack", "integration/common",
                                                     "integration/mail/base"),
                                       external=("uv", "dnsblv6"),
                                       external_of={"delivered": ("crypto",), "users_hash": ("crypt",)}),
    # These may use everything that is public; nobody may include them.
    "bench": Row(GPL, project=("lib/format", "lib/lmdb", "lib/mailcluster", "lib/mailstore", "lib/store", "lib/common", "lib/process", "lib/dns",
                               "lib/smtp", "lib/wire", "lib/content", "lib/inspect", "lib/match", "lib/mstream", "lib/unpack",
                               "zone-tools", "server", "client-lib", "integration/common",
                               "integration/adapters", "integration/mail/base",
                               "integration/mail/smtp-front"),
                 external=("lmdb", "knot", "dnssec", "crypto", "hs", "uv", "z", "catch2",
                           "fuse3", "nfs"),
                 # The second and third are of xdp-load, which asks as fast as a driver answers.
                 external_of={"links_tls": ("ssl",), "load": ("bpf",), "main": ("bpf",)}),
    "tests": Row(GPL, project=("lib/format", "lib/lmdb", "lib/mailcluster", "lib/mailstore", "lib/store", "lib/common", "lib/process", "lib/dns",
                               "lib/maildir", "lib/pop3", "lib/smtp", "lib/wire", "lib/content", "lib/inspect", "lib/match",
                               "lib/mstream", "lib/unpack", "zone-tools", "server", "client-lib",
                               "client-lib/unbound",
                               "integration/common", "integration/adapters",
                               "integration/mail/base", "integration/mail/mail-cluster", "integration/mail/mail-hub",
                               "integration/mail/mail-proxy",
                               "integration/mail/mail-scan", "integration/mail/mail-store",
                               "integration/mail/mail-stored", "integration/mail/pop-front",
                               "integration/mail/scan-milter", "integration/mail/smtp-front"),
                 external=("archive", "bpf", "lmdb", "knot", "dnssec", "crypto", "ssl", "uv", "z", "catch2",
                           "dnsblv6", "dnsblv6-unbound")),
}

# The rooms of a folder, from the bottom to the top: files of one use it and those before it. What
# lies beside them is a header for all of them, or a program that uses all.
ROOMS = {
    "lib/match": ("logic", "lines", "stream", "compiler"),
    "server": ("counts", "askers", "settings", "confine", "querylog", "zone", "xdp-kernel", "message",
               "transfer", "answer", "control", "process"),
    "zone-tools": ("base", "keys", "records", "names", "plan", "lists", "reading", "chain",
                   "zones", "commands"),
    "lib/mstream": ("head", "read"),
    "client-lib": ("base", "cache", "config", "resolver", "shared", "engine", "handle"),
    "lib/unpack": ("zip", "office", "pdf", "apart"),
    "integration/mail/base": ("users", "store", "tls", "handover", "loop", "edge", "facts", "worker", "nanny",
                              "peers", "scan", "setup"),
    "integration/mail/mail-proxy": ("setup", "facts", "side", "smtp", "pop3", "process"),
    "integration/mail/mail-stored": ("layers", "login", "nodes", "rados", "boxes", "store", "module", "cluster", "lmtp"),
    "integration/mail/pop-front": ("setup", "facts", "handover", "login", "edge", "worker", "nanny"),
    "integration/mail/smtp-front": ("setup", "recipients", "facts", "sinks", "handover", "edge",
                                    "worker", "nanny"),
}

# What a library's headers are called.
EXTERNAL = {
    "archive": r"archive\.h|archive_entry\.h",
    "bpf": r"bpf/.*",
    "bz2": r"bzlib\.h",
    "hs": r"hs/.*|hs\.h",
    "lmdb": r"lmdb\.h",
    "lzma": r"lzma\.h",
    "knot": r"libknot/.*|knot/.*|libzscanner/.*",
    "dnssec": r"libdnssec/.*",
    "ssl": r"openssl/ssl.*",
    "crypto": r"openssl/.*|gnutls/.*",
    "crypt": r"crypt\.h",
    "uv": r"uv\.h|uv/.*",
    "event": r"event2/.*",
    "seccomp": r"seccomp\.h",
    "fuse3": r"fuse_lowlevel\.h",
    "nfs": r"nfsc/.*",
    "fstrm": r"fstrm\.h|fstrm/.*",
    "protobuf-c": r"protobuf-c/.*",
    "milter": r"libmilter/.*",
    "rados": r"rados/.*",
    "z": r"zlib\.h",
    "catch2": r"catch2/.*",
    "isal": r"isa-l/.*|isa-l\.h",
    "unbound": r"unbound\.h",
    "xdp": r"xdp/.*",
    "dnsblv6": r"dnsblv6\.h",  # our own, from outside
    "dnsblv6-unbound": r"dnsblv6-unbound\.h",
}

# What a program may load besides: libc, and what the compiler and its sanitizers bring.
RUNTIME = re.compile(r"(a|l|t|ub)san|c|gcc_s|m|stdc\+\+")

# The functions of libdnsblv6, the only ones that it shows to others.
PUBLIC_SYMBOLS = set(re.findall(r"^ (\w+)@", open(os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "../../client-lib/libdnsblv6.symbols"),
    encoding="ascii").read(), re.MULTILINE))

# Every other header in angle brackets must be of libc or of the language.
LIBC = re.compile(
    r"(assert|ctype|dirent|dlfcn|elf|endian|errno|fcntl|float|fts|getopt|glob|grp|ifaddrs|inttypes|libgen|limits|link|locale|malloc|math|pthread"
    r"|netdb|poll|pwd|sched|search|setjmp|signal|spawn|std(align|arg|bool|def|int|io|lib|noreturn)"
    r"|string|strings|sysexits|syslog|termios|time|ucontext|unistd)\.h"
    r"|(arpa|linux|net|netinet|sys)/[a-z_0-9]+\.h")
CXX = re.compile(r"[a-z_]+")  # <vector>, <cstdio>: the tests and benchmarks alone

CODE = (".c", ".h", ".cc", ".hh")
SKIPPED = {".git", "__pycache__", "LICENSES", "corpus"}
INCLUDE = re.compile(r'^\s*#\s*include\s*(.*)')
SPDX = re.compile(r"SPDX-License-Identifier: (\S+)")


def row_of(path):
    """The table's directory that holds path, or None for the top of the tree."""
    return next((name for name in ROWS if path.startswith(name + "/")), None)


def room_of(row_name, path):
    """The room of a file of that row, or None for one that is in none."""
    rooms = ROOMS.get(row_name, ())
    return next((name for name in rooms if path.startswith(f"{row_name}/{name}/")), None)


def may_use_room(row_name, path, used_path):
    rooms = ROOMS.get(row_name, ())
    own, used = room_of(row_name, path), room_of(row_name, used_path)
    return own is None or used is None or rooms.index(used) <= rooms.index(own)


def place_of(row_name, path):
    """What a file may be called to be used or not: its room, or else its row."""
    room = room_of(row_name, path)
    return f"{row_name}/{room}" if room else row_name


def may_use_project(row_name, path, used_path):
    used = row_of(used_path)
    if used == row_name and not may_use_room(row_name, path, used_path):
        return False
    if used != row_name and used not in ROWS[row_name].project:
        return False
    # Adapters are separate programs.
    if used == row_name == "integration/adapters":
        return os.path.dirname(used_path) == os.path.dirname(path)
    return True


def may_use_external(row_name, path, library):
    row = ROWS[row_name]
    stem = os.path.basename(path).split(".")[0]
    return library in row.external or library in row.external_of.get(stem, ())


# ---- includes ----


def check_include(source_dir, row_name, path, what):
    """Why this include is forbidden, or None."""
    quoted = re.match(r'"([^"]+)"', what)
    if quoted:
        used = quoted.group(1)
        if row_of(used) is None or ".." in used.split("/"):
            return "is not written from the top of the tree"
        # Some are made from another file.
        origin = re.sub(r"\.skel\.h$", ".bpf.c", re.sub(r"\.pb-c\.h$", ".proto", used))
        if not any(os.path.exists(os.path.join(source_dir, origin + end)) for end in ("", ".in")):
            return "does not exist"
        if not may_use_project(row_name, path, used):
            return f"{place_of(row_name, path)} may not use {place_of(row_of(used), used)}"
        return None

    angled = re.match(r"<([^>]+)>", what)
    if not angled:
        return "names neither a \"file\" nor a <file>"
    used = angled.group(1)
    library = next((name for name, pattern in EXTERNAL.items() if re.fullmatch(pattern, used)),
                   None)
    if library is not None:
        if not may_use_external(row_name, path, library):
            return f"{row_name} may not use {library} in this file"
        return None
    if LIBC.fullmatch(used) or (row_name in ("bench", "tests") and CXX.fullmatch(used)):
        return None
    return "is no header of the C library; a new library needs a row in walls.py"


def check_includes(source_dir, path, text):
    row_name = row_of(path)
    if row_name is None:
        yield f"{path}:1: code outside the directories of the table"
        return
    for number, line in enumerate(text.splitlines(), 1):
        found = INCLUDE.match(line)
        reason = found and check_include(source_dir, row_name, path, found.group(1))
        if reason:
            yield f"{path}:{number}: {found.group(1).strip()} {reason}"


def check_own_header(source_dir, path, text):
    """A header with a .c is complete when that compiles, as it includes the header first."""
    header = path[:-1] + "h"
    if not path.endswith(".c") or not os.path.exists(os.path.join(source_dir, header)):
        return
    includes = [line for line in text.splitlines() if INCLUDE.match(line)]
    if not includes or INCLUDE.match(includes[0]).group(1) != f'"{header}"':
        yield f"{path}:1: its own header, {header}, is not what it includes first"


# ---- licences ----


def check_licence(path, text):
    row_name = row_of(path)
    wanted = ROWS[row_name].licence if row_name else GPL
    found = SPDX.search("\n".join(text.splitlines()[:2]))  # the second line, behind a #!
    if not found:
        yield f"{path}:1: no SPDX-License-Identifier, {wanted} expected"
    elif found.group(1) != wanted:
        yield f"{path}:1: licence is {found.group(1)}, {wanted} expected"


def needs_licence(path, text):
    name = os.path.basename(path)
    return (name.endswith(CODE + (".in", ".py", ".sh")) or re.search(r"\.[1-8]$", name)
            or name in ("meson.build", "meson_options.txt") or text.startswith("#!"))


def source_files(source_dir):
    for directory, subdirectories, names in os.walk(source_dir):
        subdirectories[:] = sorted(
            name for name in subdirectories if name not in SKIPPED
            and not (directory == source_dir and name.startswith("build")))
        for name in sorted(names):
            yield os.path.relpath(os.path.join(directory, name), source_dir)


def check_sources(source_dir):
    for path in source_files(source_dir):
        with open(os.path.join(source_dir, path), encoding="latin-1") as file:
            text = file.read()
        if path.endswith(CODE):
            yield from check_includes(source_dir, path, text)
            yield from check_own_header(source_dir, path, text)
        if needs_licence(path, text):
            yield from check_licence(path, text)


# ---- links ----


def symbols(files, *options):
    """(file, name, is_defined) of objects or libraries, all of them read by one program."""
    if not files:
        return
    listing = subprocess.run(["nm", "--no-demangle", "-A", *options, *files], check=True, text=True,
                             stdout=subprocess.PIPE).stdout
    for line in listing.splitlines():
        file, colon, rest = line.partition(":")
        fields = rest.split()
        if len(fields) >= 2:
            yield file, fields[-1].split("@")[0], fields[-2] not in ("U", "w", "v")


@functools.cache
def external_symbols():
    """Which library of EXTERNAL has a symbol. Libraries that are not installed have none."""
    owners = {}
    for library in EXTERNAL:
        file_name = ctypes.util.find_library(library)
        for directory in ("/usr/lib", "/usr/lib/" + os.uname().machine + "-linux-gnu", "/lib",
                          "/lib/" + os.uname().machine + "-linux-gnu"):
            file_path = os.path.join(directory, file_name or "")
            if file_name and os.path.exists(file_path):
                for _, name, is_defined in symbols([file_path], "-D"):
                    if is_defined and not name.startswith("_"):
                        owners.setdefault(name, library)
                break
    return owners


def source_name(owner, name):
    """answer_quick.c of server/, which has a room answer, is answer/quick.c."""
    for room in ROOMS.get(owner, ()):
        if name.startswith(room + "_"):
            return f"{room}/{name[len(room) + 1:]}"
    return name


# Several sources that Meson has compiled as one.
UNITED = re.compile(r"meson-generated_(.+-unity\d+\.cpp)\.o")


def is_compiled_once_more(source_dir, owner, directory, name):
    """Whether an object is of a source of another directory: that is looked at where it is at home."""
    united = UNITED.fullmatch(name)
    if not united:
        return name.startswith(".._")
    with open(os.path.join(directory, united.group(1)), encoding="utf-8") as file:
        sources = re.findall(r"#include<(.+)>", file.read())
    home = os.path.realpath(os.path.join(source_dir, owner)) + "/"
    return not all(os.path.realpath(source).startswith(home) for source in sources)


def built_files(source_dir, build_dir):
    """
    (source directory, source file name, path of the object). Meson puts the
    objects of a target into DIRECTORY/TARGET.p/, with the source's own
    slashes turned into underscores, and ".._" before one of another directory.
    """
    for directory, subdirectories, names in os.walk(build_dir):
        subdirectories[:] = [name for name in subdirectories if not name.startswith("meson-")]
        if not directory.endswith(".p"):
            continue
        owner = os.path.relpath(os.path.dirname(directory), build_dir)
        for name in names:
            if name.endswith(".o") and not is_compiled_once_more(source_dir, owner, directory, name):
                yield owner, source_name(owner, name[:-2]), os.path.join(directory, name)


def check_objects(source_dir, build_dir):
    externals = external_symbols()
    definers, users = {}, []
    paths = {file_path: f"{owner}/{name}" for owner, name, file_path in built_files(source_dir, build_dir)
             if row_of(f"{owner}/{name}") is not None}
    for file_path, symbol, is_defined in symbols(list(paths)):
        path = paths[file_path]
        if is_defined:
            definers.setdefault(symbol, []).append(path)
        else:
            users.append((row_of(path), path, symbol))

    for row_name, path, symbol in sorted(set(users)):
        if symbol in PUBLIC_SYMBOLS and may_use_external(row_name, path, "dnsblv6"):
            continue
        if symbol in definers:
            # Adapters may have files, and so functions, of one name: each links its own.
            if not any(may_use_project(row_name, path, used) for used in definers[symbol]):
                used = definers[symbol][0]
                yield (f"{path}: links {symbol}() of {used}: {place_of(row_name, path)}"
                       f" may not use {place_of(row_of(used), used)}")
        elif symbol in externals:
            library = externals[symbol]
            if not may_use_external(row_name, path, library):
                yield f"{path}: links {symbol}(): {row_name} may not use {library} in this file"


def may_need(row_name):
    """Libraries that a program of this directory may load, by way of others or itself."""
    names = set()
    for used in (row_name, *ROWS[row_name].project):
        names.update(ROWS[used].external, *ROWS[used].external_of.values())
    return names


def is_program(file_path):
    """Or a shared library."""
    if os.path.islink(file_path) or not os.path.isfile(file_path):
        return False
    with open(file_path, "rb") as file:
        header = file.read(18)
    return header[:4] == b"\x7fELF" and header[16:18] in (b"\2\0", b"\3\0")


def check_programs(build_dir):
    for directory, subdirectories, names in os.walk(build_dir):
        subdirectories[:] = [name for name in subdirectories if not name.endswith(".p")]
        for name in names:
            path = os.path.relpath(os.path.join(directory, name), build_dir)
            row_name = row_of(path)
            if row_name is None or not is_program(os.path.join(build_dir, path)):
                continue
            dynamic = subprocess.run(["readelf", "-dW", os.path.join(build_dir, path)],
                                     check=True, text=True, stdout=subprocess.PIPE).stdout
            for needed in re.findall(r"\(NEEDED\).*\[lib(.+?)\.so", dynamic):
                if needed not in may_need(row_name) and not RUNTIME.fullmatch(needed):
                    yield f"{path}: loads lib{needed}: {row_name} may not"


# ---- the table, for a reader ----


def table_lines():
    for name, row in ROWS.items():
        yield f"{name}  ({row.licence})"
        yield f"    may use {', '.join(('libc', *row.project, *row.external))}"
        for stem, libraries in row.external_of.items():
            origin = "made of a .proto" if stem.endswith("_") else stem + ".c"
            yield f"    {origin}: {', '.join(libraries)}"
        if name in ROOMS:
            yield f"    rooms, from the bottom to the top: {', '.join(ROOMS[name])}"


def main(arguments):
    if arguments == ["--table"]:
        print("\n".join(table_lines()))
        return 0
    if len(arguments) not in (1, 2):
        sys.exit("usage: walls.py SOURCE-DIRECTORY [BUILD-DIRECTORY], or walls.py --table")
    crossings = list(check_sources(arguments[0]))
    if len(arguments) == 2:
        crossings += check_objects(*arguments)
        crossings += check_programs(arguments[1])
    for crossing in crossings:
        print(crossing)
    return 1 if crossings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
