#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
libdnsblv6 with another libc than Debian's: built alone with musl, and asked about
a served list, shared and static; compiled for FreeBSD, whose headers ./check brings, with 64 bits and with 32.
"""

import glob
import os
import subprocess
import sys

import harness
from harness import CLASSIC, ZONE
from lookups import Served

if harness.IS_SANITIZED:
    print("the build is sanitized, and this one is not: skipped")
    sys.exit(77)

ADDRESSES = ("192.0.2.66", "192.0.2.67", "2001:db8:0:2::1", "198.51.100.9", "192.0.2.bad")
VERDICTS = ["192.0.2.66: listed, score 3", "192.0.2.67: clear, score 0",
            "198.51.100.9: listed, score 3", "2001:db8:0:2::1: listed, score 3"]


class Musl(Served):
    def setUp(self):
        super().setUp()
        self.musl_gcc = harness.peer("musl-gcc")
        # Meson's has the libraries of this build.
        self.environment = {name: value for name, value in os.environ.items()
                            if name != "LD_LIBRARY_PATH"}
        self.environment |= {"CC": self.musl_gcc, "DNSBLV6_SERVERS": self.servers}

    def run_to_end(self, *arguments):
        result = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True, timeout=240, check=False, env=self.environment)
        self.assertEqual(result.returncode, 0, result.stdout[-4000:])
        return result.stdout

    def build_library(self):
        directory = self.path("musl")
        self.run_to_end(harness.peer("meson"), "setup", "-Dlibrary-only=true", "-Dwerror=true",
                        directory, harness.SOURCE)
        self.run_to_end(harness.peer("ninja"), "-C", directory)
        return os.path.join(directory, "client-lib")

    def assert_verdicts(self, program):
        said = self.run_program([program, f"{ZONE}*2 {CLASSIC}", *ADDRESSES],
                                env=self.environment)
        self.assertEqual(sorted(said.stdout.splitlines()), VERDICTS)
        self.assertRegex(said.stderr, r"^192\.0\.2\.bad: Invalid argument\n$")

    def test_the_library_shared_and_static(self):
        built = self.build_library()
        needed = self.run_to_end("readelf", "-dW", os.path.join(built, "libdnsblv6.so.0"))
        self.assertIn("[libc.so]", needed)
        self.assertNotIn("libc.so.6", needed)
        self.assert_verdicts(os.path.join(built, "examples/example-epoll"))

        static = self.path("static")
        self.run_to_end(self.musl_gcc, "-static", "-I", os.path.join(harness.SOURCE, "client-lib"),
                        os.path.join(harness.SOURCE, "client-lib/examples/epoll.c"),
                        os.path.join(built, "libdnsblv6.a"), "-o", static)
        self.assertNotIn("NEEDED", self.run_to_end("readelf", "-dW", static))
        self.assert_verdicts(static)


class FreeBSD(harness.Case):
    def compile_all(self, target, *flags, without=()):
        headers = os.path.join(harness.SOURCE, "build/freebsd")
        if not os.path.exists(headers):
            self.skipTest("no build/freebsd; ./check brings it where it can")
        programs = ("examples", "lookup", "unbound")
        sources = [path for pattern in ("client-lib/*/*.c", "lib/format/*.c")
                   for path in sorted(glob.glob(os.path.join(harness.SOURCE, pattern)))
                   if os.path.basename(os.path.dirname(path)) not in programs
                   and os.path.basename(path) not in without]
        # One call for each, so that what one says does not hide the others.
        failed = []
        for source in sources:
            result = subprocess.run(
                [harness.peer("clang"), f"--target={target}-unknown-freebsd14", *flags, "-nostdlibinc",
                 "-isystem", headers, "-std=gnu11", "-D_GNU_SOURCE", "-I", harness.SOURCE,
                 "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror", "-c", source,
                 "-o", self.path("object.o")],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, check=False)
            if result.returncode != 0:
                failed.append(result.stdout[-2000:])
        self.assertEqual(failed, [])
        self.assertGreater(len(sources), 30)

    def test_all_of_the_library_compiles(self):
        self.compile_all("x86_64")

    def test_no_number_is_cut_where_sizes_have_32_bits(self):
        # kqueue's pointers are too small for a tag there. Debian's i386 has epoll, and numbers of 64 bits in
        # memory where clang would have them further apart.
        self.compile_all("i686", "-malign-double", without=("waitset.c",))


if __name__ == "__main__":
    harness.main()
