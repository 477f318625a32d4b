#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Breaks every wall of walls.py once, in a scratch tree, and sees it noticed.

For each row of the table: an include of every directory and library that the
row does not permit, an object that links one of each, a wrong licence. The
permitted ones are planted too: a check that refuses everything is no check.
"""

import itertools
import os
import shutil
import subprocess
import tempfile
import unittest

import walls

SAMPLE_HEADER = {
    "lmdb": "lmdb.h", "knot": "libknot/libknot.h", "dnssec": "libdnssec/key.h",
    "crypto": "openssl/evp.h", "uv": "uv.h", "event": "event2/event.h", "z": "zlib.h", "catch2": "catch2/catch.hpp",
    "dnsblv6": "dnsblv6.h", "seccomp": "seccomp.h", "fstrm": "fstrm.h",
    "protobuf-c": "protobuf-c/protobuf-c.h", "milter": "libmilter/mfapi.h",
    "ssl": "openssl/ssl.h", "unbound": "unbound.h", "dnsblv6-unbound": "dnsblv6-unbound.h",
    "isal": "isa-l/crc.h", "crypt": "crypt.h", "archive": "archive.h", "bz2": "bzlib.h", "hs": "hs/hs.h",
    "lzma": "lzma.h", "rados": "rados/librados.h", "fuse3": "fuse_lowlevel.h", "nfs": "nfsc/libnfs.h",
    "bpf": "bpf/libbpf.h", "xdp": "xdp/libxdp.h",
}
SAMPLE_SYMBOL = {"lmdb": "mdb_env_create", "knot": "knot_pkt_new", "crypto": "EVP_DigestSign",
                 "uv": "uv_run", "z": "inflate"}


class Scratch(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.source = os.path.join(directory.name, "source")
        self.build = os.path.join(directory.name, "build")
        for row_name in walls.ROWS:
            self.plant(f"{row_name}/known.h", "")
        os.mkdir(self.build)

    def plant(self, path, body, licence=None):
        row_name = walls.row_of(path)
        licence = licence or (walls.ROWS[row_name].licence if row_name else walls.GPL)
        file_path = os.path.join(self.source, path)
        os.makedirs(os.path.dirname(file_path), exist_ok=True)
        with open(file_path, "w", encoding="ascii") as file:
            file.write(f"/* SPDX-License-Identifier: {licence} */\n{body}\n")

    def crossings_of(self, path, body, licence=None):
        self.plant(path, body, licence)
        crossings = list(walls.check_sources(self.source))
        os.unlink(os.path.join(self.source, path))
        return crossings

    def assert_crossing(self, path, body, licence=None):
        crossings = self.crossings_of(path, body, licence)
        self.assertEqual(len(crossings), 1, (path, body, crossings))
        self.assertTrue(crossings[0].startswith(path + ":"), crossings)

    def assert_fine(self, path, body):
        self.assertEqual(self.crossings_of(path, body), [])

    def assert_judged(self, path, lines):
        """{line: whether it is fine}, all of them in one file."""
        crossings = self.crossings_of(path, "\n".join(lines))
        refused = sorted(crossing.rpartition(f"{path}:")[2].partition(":")[0] for crossing in crossings)
        # The licence is the first.
        self.assertEqual(refused, sorted(str(number) for number, is_fine in enumerate(lines.values(), 2)
                                         if not is_fine), (path, list(lines), crossings))


class Includes(Scratch):
    def test_each_directory_may_include_what_its_row_names_and_no_other_directory(self):
        for row_name, row in walls.ROWS.items():
            with self.subTest(row=row_name):
                self.assert_judged(f"{row_name}/planted.c", {
                    f'#include "{used}/known.h"': used == row_name or used in row.project
                    for used in walls.ROWS})

    def test_nobody_but_they_themselves_includes_tests_or_benchmarks(self):
        for row_name, row in walls.ROWS.items():
            for used in ("tests", "bench"):
                self.assertNotIn(used, row.project, row_name)

    def test_each_directory_may_include_the_libraries_of_its_row_and_no_other(self):
        for row_name, row in walls.ROWS.items():
            with self.subTest(row=row_name):
                self.assert_judged(f"{row_name}/planted.c", {
                    f"#include <{SAMPLE_HEADER[library]}>": library in row.external
                    for library in walls.EXTERNAL})

    def test_yparser_and_seccomp_stay_in_the_two_files_that_wrap_them(self):
        self.assert_fine("lib/process/callfilter.c", "#include <seccomp.h>")
        self.assert_fine("lib/common/conf.h", "#include <libknot/yparser/yparser.h>")
        self.assert_crossing("lib/common/conf.c", "#include <uv.h>")
        self.assert_crossing("lib/process/callfilter.c", "#include <libknot/yparser/yparser.h>")

    def test_libseccomp_stays_in_the_one_file_that_makes_filters(self):
        self.assert_fine("lib/process/callfilter.c", "#include <seccomp.h>")
        self.assert_crossing("lib/common/log.c", "#include <seccomp.h>")
        self.assert_crossing("server/confine/syscalls.c", "#include <seccomp.h>")
        self.assert_crossing("integration/mail/base/nanny/confine.c", "#include <seccomp.h>")

    def test_openssl_stays_in_the_one_file_of_the_zone_tools_that_knows_keys(self):
        self.assert_fine("zone-tools/keys/key.c", "#include <openssl/evp.h>")
        self.assert_crossing("zone-tools/keys/signer.c", "#include <openssl/evp.h>")
        self.assert_crossing("lib/format/key.c", "#include <openssl/evp.h>")
        self.assert_crossing("server/key.c", "#include <openssl/evp.h>")

    def test_one_adapter_does_not_include_another(self):
        self.plant("integration/adapters/milter/known.h", "")
        self.assert_fine("integration/adapters/milter/planted.c", '#include "integration/adapters/milter/known.h"')
        for place in ("adapters/cached", "common", "mail/smtp-front"):
            self.assert_crossing(f"integration/{place}/planted.c",
                                 '#include "integration/adapters/milter/known.h"')

    def test_what_servers_of_mail_share_knows_no_protocol(self):
        for used in ("lib/smtp", "integration/mail/smtp-front"):
            self.assert_crossing("integration/mail/base/planted.c", f'#include "{used}/known.h"')
        self.assert_crossing("lib/smtp/planted.c", "#include <uv.h>")

    def test_a_room_includes_what_is_below_it_and_nothing_above(self):
        for row_name, rooms in walls.ROOMS.items():
            for room in rooms:
                self.plant(f"{row_name}/{room}/known.h", "")
            self.plant(f"{row_name}/known.h", "")
            includes = [f'#include "{row_name}/{used}/known.h"' for used in rooms]
            for own in range(len(rooms)):
                with self.subTest(row=row_name, own=rooms[own]):
                    self.assert_judged(f"{row_name}/{rooms[own]}/planted.c", {
                        f'#include "{row_name}/known.h"': True,
                        **{include: used <= own for used, include in enumerate(includes)}})
            self.assert_fine(f"{row_name}/planted.c", "\n".join(includes))

    def test_an_include_that_hides_what_it_includes_is_refused(self):
        self.assert_crossing("server/planted.c", '#include "known.h"')
        self.assert_crossing("server/planted.c", '#include "lib/../client-lib/known.h"')
        self.assert_crossing("server/planted.c", '#include "server/absent.h"')
        self.assert_crossing("server/planted.c", "#include HEADER")
        self.assert_crossing("server/planted.c", " # include <ldns/ldns.h>")

    def test_a_file_with_a_header_includes_that_first(self):
        own, other = '#include "server/planted.h"', '#include "server/known.h"'
        self.plant("server/planted.h", "")
        self.assert_fine("server/planted.c", f"{own}\n{other}")
        self.assert_crossing("server/planted.c", f"{other}\n{own}")
        self.assert_crossing("server/planted.c", "")

    def test_code_outside_the_directories_of_the_table_is_refused(self):
        self.assert_crossing("elsewhere/planted.c", "")


class Licences(Scratch):
    def test_each_directory_has_one_licence(self):
        for row_name, row in walls.ROWS.items():
            other = walls.GPL if row.licence == walls.BSD else walls.BSD
            with self.subTest(row=row_name):
                self.assert_crossing(f"{row_name}/planted.c", "", licence=other)
                self.assert_crossing(f"{row_name}/meson.build", "", licence=other)

    def test_a_source_file_without_a_licence_line_is_refused(self):
        self.assert_crossing("planted.py", "", licence="\n")


class Links(Scratch):
    """Objects where Meson would put them: DIRECTORY/TARGET.p/FILE.o."""

    def compile(self, row_names, file_name, code):
        """One object, in each of these directories."""
        places = [os.path.join(self.build, row_name, "planted.p", file_name + ".o") for row_name in row_names]
        for place in places:
            os.makedirs(os.path.dirname(place), exist_ok=True)
        subprocess.run(["cc", "-x", "c", "-c", "-w", "-", "-o", places[0]], input=code, text=True, check=True)
        for place in places[1:]:
            shutil.copy(places[0], place)

    def crossings(self):
        return list(walls.check_objects(self.source, self.build))

    def test_an_object_links_the_libraries_of_its_row_and_no_other(self):
        known = set(walls.external_symbols().values())
        for library, symbol in SAMPLE_SYMBOL.items():
            self.assertIn(library, known, "not installed: its links cannot be checked")
            self.compile(list(walls.ROWS), library + "_user.c", f"void use_{library}(void) {{ {symbol}(); }}")
        crossings = self.crossings()
        for row_name, library in itertools.product(walls.ROWS, SAMPLE_SYMBOL):
            with self.subTest(row=row_name, library=library):
                is_reported = any(line.startswith(f"{row_name}/{library}_user.c:")
                                  for line in crossings)
                self.assertEqual(is_reported,
                                 library not in walls.ROWS[row_name].external)

    def test_an_object_links_the_directories_of_its_row_and_no_other(self):
        def symbol(row_name):
            return "defined_in_" + row_name.replace("/", "_").replace("-", "_")

        for row_name in walls.ROWS:
            calls = "".join(f"{symbol(used)}();" for used in walls.ROWS if used != row_name)
            self.compile([row_name], "user.c",
                         f"void {symbol(row_name)}(void) {{ {calls} }}")
        crossings = self.crossings()
        for row_name, used in itertools.permutations(walls.ROWS, 2):
            with self.subTest(row=row_name, used=used):
                is_reported = any(line.startswith(f"{row_name}/user.c: links {symbol(used)}()")
                                  for line in crossings)
                self.assertEqual(is_reported, used not in walls.ROWS[row_name].project)

    def test_an_object_of_a_room_links_what_is_below_it_and_nothing_above(self):
        for row_name, rooms in walls.ROOMS.items():
            low, high = rooms[0], rooms[-1]
            if low == high:
                continue
            self.compile([row_name], f"{low}_user.c", "void low(void) { high(); }")
            self.compile([row_name], f"{high}_user.c", "void high(void) { low(); }")
            with self.subTest(row=row_name):
                self.assertEqual(self.crossings(), [
                    f"{row_name}/{low}/user.c: links high() of {row_name}/{high}/user.c:"
                    f" {row_name}/{low} may not use {row_name}/{high}"])
            shutil.rmtree(self.build)

    def test_of_sources_compiled_as_one_those_of_the_directory_are_looked_at(self):
        for number, home in enumerate(("server", "bench")):
            self.compile(["server"], f"meson-generated_planted-unity{number}.cpp", "void use(void) { gzopen(); }")
            with open(os.path.join(self.build, "server", "planted.p", f"planted-unity{number}.cpp"), "w",
                      encoding="utf-8") as file:
                file.write(f"#include<{self.source}/server/../{home}/planted.cc>\n")
        self.assertEqual(self.crossings(), ["server/meson-generated_planted-unity0.cpp: links gzopen():"
                                            " server may not use z in this file"])

    def test_the_public_functions_of_the_client_library_are_for_those_who_may_use_it(self):
        self.compile(["client-lib"], "cache.c", "void dnsblv6_peek(void) {} void cache_get(void) {}")
        self.compile(["client-lib/lookup", "client-lib/examples", "server"], "user.c",
                     "void use(void) { dnsblv6_peek(); cache_get(); }")
        self.assertEqual([line.split(" of ")[0] for line in self.crossings()],
                         ["client-lib/examples/user.c: links cache_get()",
                          "client-lib/lookup/user.c: links cache_get()",
                          "server/user.c: links cache_get()",
                          "server/user.c: links dnsblv6_peek()"])

    def test_a_program_that_loads_a_library_its_row_does_not_permit_is_refused(self):
        for row_name in ("client-lib", "server"):
            directory = os.path.join(self.build, row_name)
            os.makedirs(directory, exist_ok=True)
            subprocess.run(["cc", "-x", "c", "-w", "-", "-Wl,--no-as-needed", "-luv", "-o",
                            os.path.join(directory, "program")],
                           input="int main(void) { return 0; }", text=True, check=True)
        crossings = list(walls.check_programs(self.build))
        self.assertEqual(crossings, ["client-lib/program: loads libuv: client-lib may not"])


if __name__ == "__main__":
    unittest.main()
