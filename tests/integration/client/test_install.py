#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
libdnsblv6 as it is installed: its symbols, and that the examples, a program in
C++ and the example of the manual build with what pkg-config says and nothing
else, and do what they should against a served list.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

import harness
from harness import CLASSIC, ZONE
from lookups import LIBRARY, Served

CLIENT = os.path.join(harness.SOURCE, "client-lib")
NAME, CLASSIC_NAME = ZONE.rstrip("."), CLASSIC.rstrip(".")
UNBOUND_LIBRARY = os.path.join(harness.BUILD, "client-lib/unbound/libdnsblv6-unbound.so.0")
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]

if harness.IS_SANITIZED:
    print("the build is sanitized, and programs of others are not: skipped")
    sys.exit(77)


def output(*arguments, **how):
    return subprocess.run(arguments, check=True, stdout=subprocess.PIPE, text=True,
                          timeout=400, **how).stdout


def versioned_symbols(path="libdnsblv6.symbols"):
    """NAME@VERSION of each, and the VERSIONs themselves."""
    with open(os.path.join(CLIENT, path), encoding="ascii") as file:
        first, *lines = file.read().splitlines()
    assert first.split()[0] == os.path.basename(path).replace(".symbols", ".so.0"), first
    return [re.fullmatch(r" (\S+@DNSBLV6_[A-Z\d_.]+) [\d.]+", line).group(1) for line in lines
            if not line.startswith("* ")]


def listed_symbols(path="libdnsblv6.symbols"):
    pairs = [symbol.split("@") for symbol in versioned_symbols(path)]
    return [name for name, version in pairs if name != version]


def shown_symbols(library):
    """As versioned_symbols() has them, of a shared library."""
    shown = [line.split()[-1] for line in
             output("nm", "-D", "--with-symbol-versions", "--defined-only", library).splitlines()]
    # A version is a symbol, too.
    return sorted(name.replace("@@", "@") if "@" in name else f"{name}@{name}" for name in shown)


class Symbols(harness.Case):
    def test_the_shared_library_shows_what_the_list_names_and_nothing_else(self):
        names = listed_symbols()
        self.assertEqual(names, sorted(names))
        self.assertEqual(shown_symbols(LIBRARY), sorted(versioned_symbols()))

    def test_the_static_library_shows_the_same(self):
        archive = os.path.join(harness.BUILD, "client-lib/libdnsblv6.a")
        shown = [line.split()[-1] for line in
                 output("nm", "-g", "--defined-only", archive).splitlines() if " " in line]
        self.assertEqual(sorted(shown), listed_symbols())

    def test_the_list_and_the_header_agree(self):
        with open(os.path.join(CLIENT, "dnsblv6.h"), encoding="ascii") as file:
            declared = re.findall(r"(?m)^DNSBLV6_API [^;(]*?\b(\w+)\(", file.read())
        self.assertEqual(sorted(declared), listed_symbols())

    def test_it_needs_libc_alone(self):
        dynamic = output("readelf", "-dW", LIBRARY)
        self.assertEqual(re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic), ["libc.so.6"])
        self.assertEqual(re.findall(r"\(SONAME\).*\[(.+)\]", dynamic), ["libdnsblv6.so.0"])

    def test_each_function_has_a_manual_page(self):
        pages = {}
        for page in os.listdir(os.path.join(CLIENT, "man")):
            with open(os.path.join(CLIENT, "man", page), encoding="ascii") as file:
                head = file.read().split(".Sh SYNOPSIS")[0]
            for name in re.findall(r"(?m)^\.Nm (dnsblv6_\w+)", head):
                pages[name] = page
        self.assertEqual(sorted(pages), listed_symbols())


@unittest.skipUnless(os.path.exists(UNBOUND_LIBRARY), "built without libunbound")
class UnboundSymbols(harness.Case):
    def test_the_module_shows_what_its_list_and_its_header_name(self):
        path = "unbound/libdnsblv6-unbound.symbols"
        names = listed_symbols(path)
        self.assertEqual(shown_symbols(UNBOUND_LIBRARY), sorted(versioned_symbols(path)))
        with open(os.path.join(CLIENT, "unbound/dnsblv6-unbound.h"), encoding="ascii") as file:
            declared = re.findall(r"(?m)^DNSBLV6_API [^;(]*?\b(\w+)\(", file.read())
        self.assertEqual(sorted(declared), names)
        with open(os.path.join(CLIENT, "unbound/dnsblv6_unbound.3"), encoding="ascii") as file:
            head = file.read().split(".Sh SYNOPSIS")[0]
        self.assertEqual(sorted(re.findall(r"(?m)^\.Nm (dnsblv6_\w+)", head)), names)

    def test_it_needs_libunbound_and_the_library_itself_does_not(self):
        dynamic = output("readelf", "-dW", UNBOUND_LIBRARY)
        needed = re.findall(r"\(NEEDED\).*\[lib(.+?)\.so", dynamic)
        self.assertEqual(sorted(needed), ["c", "dnsblv6", "unbound"])
        self.assertEqual(re.findall(r"\(SONAME\).*\[(.+)\]", dynamic),
                         ["libdnsblv6-unbound.so.0"])


class Installed(Served):
    @classmethod
    def setUpClass(cls):
        cls.root = tempfile.mkdtemp(prefix="dnsblv6-install-")
        cls.addClassCleanup(shutil.rmtree, cls.root, ignore_errors=True)
        output(harness.peer("meson"), "install", "-C", harness.BUILD, "--no-rebuild", "--quiet",
               "--destdir", cls.root, "--tags", "devel,runtime,man")
        found = [directory for directory, _, names in os.walk(cls.root)
                 if "dnsblv6.pc" in names]
        assert len(found) == 1, found
        cls.pkg_config_dir = found[0]
        cls.library_dir = os.path.dirname(found[0])

    def setUp(self):
        super().setUp()
        self.environment = {**os.environ, "PKG_CONFIG_PATH": self.pkg_config_dir,
                            "PKG_CONFIG_SYSROOT_DIR": self.root,
                            "LD_LIBRARY_PATH": self.library_dir,
                            "DNSBLV6_SERVERS": self.servers}

    def pkg_config(self, *words):
        return shlex.split(output(harness.peer("pkg-config"), *words, env=self.environment))

    def compile(self, compiler, source, *packages, flags=(), package="dnsblv6"):
        """Away from the source tree, so that nothing of it is found by chance."""
        directory = self.path("work")
        os.makedirs(directory, exist_ok=True)
        copy = shutil.copy(source, directory)
        program = os.path.join(directory, "program")
        # Headers of the system's libraries are where they are, not below our root.
        output(harness.peer(compiler), *WARNINGS, *flags, copy, "-o", program,
               *self.pkg_config("--cflags", "--libs", package), *packages, cwd=directory)
        return program

    def say(self, program, *addresses, expect=0):
        return self.run_program([program, f"{NAME}*2 {CLASSIC_NAME}", *addresses],
                                expect=expect, env=self.environment).stdout

    def assert_verdicts(self, program):
        said = self.say(program, "192.0.2.66", "192.0.2.67", "2001:db8:0:2::1", "198.51.100.9")
        self.assertEqual(sorted(said.splitlines()),
                         ["192.0.2.66: listed, score 3", "192.0.2.67: clear, score 0",
                          "198.51.100.9: listed, score 3", "2001:db8:0:2::1: listed, score 3"])

    def test_the_blocking_example(self):
        for compiler in ("gcc", "clang"):
            program = self.compile(compiler, os.path.join(CLIENT, "examples/blocking.c"))
            said = self.say(program, "192.0.2.66", "192.0.2.67").splitlines()
            self.assertRegex(said[0], r"^554 5\.7\.1 .*192\.0\.2\.66.*" + re.escape(NAME))
            self.assertEqual(said[1], "220 192.0.2.67 is welcome, score 0")

    def test_the_epoll_example(self):
        self.assert_verdicts(self.compile("gcc", os.path.join(CLIENT, "examples/epoll.c")))

    def test_the_libuv_example(self):
        self.assert_verdicts(self.compile("gcc", os.path.join(CLIENT, "examples/libuv.c"),
                                          "-luv"))

    def test_the_examples_of_loops_processes_and_threads(self):
        for name, *flags in (("poll",), ("fork",), ("threads", "-pthread"), ("libevent", "-levent")):
            with self.subTest(example=name):
                self.assert_verdicts(self.compile(
                    "gcc", os.path.join(CLIENT, f"examples/{name}.c"), *flags))

    def test_the_example_in_go(self):
        go = harness.peer("go")
        directory = self.path("go")
        os.makedirs(directory)
        shutil.copy(os.path.join(CLIENT, "examples/check.go"), directory)
        # Nothing is loaded, and what it keeps is kept here.
        output(go, "build", "-o", "program", "check.go", cwd=directory, env={
            **self.environment, "GOCACHE": self.path("cache"), "GOPATH": self.path("gopath"),
            "GOTOOLCHAIN": "local", "GOPROXY": "off", "GOFLAGS": "", "CGO_ENABLED": "1"})
        self.assert_verdicts(f"{directory}/program")

    def test_the_example_in_rust(self):
        program = self.path("program")
        output(harness.peer("rustc"), "-D", "warnings", "-L", self.library_dir,
               os.path.join(CLIENT, "examples/check.rs"), "-o", program)
        self.assert_verdicts(program)

    def test_the_example_in_javascript(self):
        node = harness.peer("node")
        modules = os.path.join(harness.SOURCE, "build/npm/node_modules")
        if not os.path.exists(os.path.join(modules, "koffi")):
            self.skipTest("no koffi; ./check brings it where it can")
        self.environment["NODE_PATH"] = modules
        program = self.write("check", f"#!/bin/sh\nexec {node} {CLIENT}/examples/check.js \"$@\"\n")
        os.chmod(program, 0o755)
        self.assert_verdicts(program)

    def test_a_program_in_cxx(self):
        source = os.path.join(harness.SOURCE, "tests/install/program.cc")
        for compiler, standard in (("g++", "c++17"), ("clang++", "c++20")):
            self.assert_verdicts(self.compile(compiler, source, flags=[f"-std={standard}"]))

    @unittest.skipUnless(os.path.exists(UNBOUND_LIBRARY), "built without libunbound")
    def test_a_program_with_libunbound(self):
        source = os.path.join(harness.SOURCE, "tests/integration/client/unbound_client.c")
        # Nothing of libunbound's own development files is needed.
        program = self.compile("gcc", source, package="dnsblv6-unbound")
        told = self.run_program([program, "-o", f"zones={NAME}", "-u",
                                 f"stub={ZONE}={self.servers}"], input="192.0.2.66\n192.0.2.67\n",
                                env=self.environment).stdout
        self.assertEqual(told, "listed plain ok\nclear plain ok\n")

    def test_the_versions_of_header_and_library(self):
        source = self.write("version.c", """
            #include <dnsblv6.h>
            #include <stdio.h>
            #if DNSBLV6_VERSION_NUMBER < 0x000100
            #error "older than the first"
            #endif
            int main(void)
            {
                printf("%s\\n%s\\n%d.%d.%d\\n%#x\\n", dnsblv6_version(), DNSBLV6_VERSION,
                       DNSBLV6_VERSION_MAJOR, DNSBLV6_VERSION_MINOR, DNSBLV6_VERSION_PATCH,
                       DNSBLV6_VERSION_NUMBER);
            }""")
        said = output(self.compile("gcc", source), env=self.environment).split()
        version = self.pkg_config("--modversion", "dnsblv6")[0]
        self.assertEqual(said[:3], [version] * 3)
        major, minor, patch = map(int, version.split("."))
        self.assertEqual(int(said[3], 16), major << 16 | minor << 8 | patch)

    def test_the_static_library(self):
        program = self.compile("gcc", os.path.join(CLIENT, "examples/epoll.c"), flags=["-static"])
        self.assertNotIn("NEEDED", output("readelf", "-dW", program))
        self.assert_verdicts(program)

    def test_a_program_may_have_functions_of_the_names_that_the_library_hides(self):
        hidden = {line.split()[-1] for line in
                  output("nm", os.path.join(self.library_dir, "libdnsblv6.a")).splitlines()
                  if " t " in line}
        self.assertIn("cache_get", hidden)
        with open(os.path.join(CLIENT, "examples/blocking.c"), encoding="ascii") as file:
            code = file.read()
        source = self.write("own.c", code + "int cache_get(void);\n"
                            "int cache_get(void) { return 1; }\n")
        for flags in ((), ("-static",)):
            program = self.compile("gcc", source, flags=flags)
            self.assertIn("192.0.2.67 is welcome", self.say(program, "192.0.2.67"))

    def cmake(self, *libraries, version="0.1", expect=0):
        """A project of one program for each of the imported libraries, built by CMake."""
        directory = self.path("cmake")
        os.makedirs(directory, exist_ok=True)
        shutil.copy(os.path.join(CLIENT, "examples/epoll.c"), directory)
        with open(os.path.join(directory, "CMakeLists.txt"), "w", encoding="ascii") as file:
            file.write("cmake_minimum_required(VERSION 3.16)\nproject(program C)\n"
                       f"find_package(dnsblv6 {version} CONFIG REQUIRED)\n")
            for library in libraries:
                file.write(f"add_executable(program-{library} epoll.c)\n"
                           f"target_link_libraries(program-{library} PRIVATE dnsblv6::{library})\n")
        # Not the root of the machine, which may have a package of ours.
        told = self.run_program(
            [harness.peer("cmake"), "-G", "Ninja", "-S", directory, "-B", f"{directory}/build",
             f"-Ddnsblv6_DIR={self.library_dir}/cmake/dnsblv6"], expect=expect).stderr
        if expect == 0:
            output("cmake", "--build", f"{directory}/build")
        return told, [f"{directory}/build/program-{library}" for library in libraries]

    def test_programs_that_cmake_builds(self):
        _, programs = self.cmake("dnsblv6", "static")
        for program in programs:
            self.assert_verdicts(program)
        needed = [output("readelf", "-dW", program).count("[libdnsblv6.so.0]")
                  for program in programs]
        self.assertEqual(needed, [1, 0])

    def test_cmake_refuses_a_version_that_this_is_not(self):
        for version in ("0.99", "1"):
            with self.subTest(version=version):
                told, _ = self.cmake(version=version, expect=1)
                self.assertIn("version", told)
        self.cmake(version="0.1.0")

    def test_the_examples_of_header_and_manual(self):
        for path, begin, end in (("dnsblv6.h", r" \*     ", r" \*     }$"),
                                 ("man/libdnsblv6.3", "", r"}$")):
            with open(os.path.join(CLIENT, path), encoding="ascii") as file:
                text = file.read().replace("\\e", "\\")
            found = re.search(rf"(?ms)^{begin}#include <dnsblv6\.h>.*?^{end}", text).group(0)
            code = re.sub(rf"(?m)^{begin.rstrip() or '(?!)'} {{0,5}}", "", found)
            with self.subTest(path=path):
                program = self.compile("gcc", self.write("example.c", code))
                # Its zones are what it says; there is no server for them here.
                result = subprocess.run([program], env=self.environment, timeout=60,
                                        stdout=subprocess.PIPE, text=True, check=False)
                self.assertEqual(result.returncode, 0)
                self.assertRegex(result.stdout, r"^(unknown|clear|listed), score -?\d+\n$")

    def test_the_program_and_the_pages_are_there(self):
        found = {name for _, _, names in os.walk(self.root) for name in names}
        for name in ("dnsblv6-lookup", "dnsblv6-lookup.1", "libdnsblv6.3", "dnsblv6_check.3",
                     "dnsblv6_peek.3", "dnsblv6.h", "libdnsblv6.so", "libdnsblv6.so.0",
                     "libdnsblv6.a", "BSD-2-Clause.txt"):
            self.assertIn(name, found)
        program = output("find", self.root, "-name", "dnsblv6-lookup").strip()
        told = self.run_program([program, "--zones", NAME, "--server", self.servers,
                                 "192.0.2.66"], env=self.environment).stdout
        self.assertTrue(told.startswith("192.0.2.66\tlisted\t"), told)


if __name__ == "__main__":
    harness.main()
