#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes each kind of wrong prose once, in a scratch tree, and sees prose.py find it, and nothing else."""

import os
import tempfile
import unittest

import prose

TABLE = "".join(f"| {number} | `made` | server/made.c | x |\n" for number in range(1, 10))
ARCHITECTURE = f"# Map\n\n{TABLE}\nand\n\n{TABLE}"
CODE = """/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "server/made.h"

static void told(void)
{
	log_warning("x", "cup not found, path=%s (%s)", a, b);
}

/* Of no use. */
static void never(void)
{
	log_error("x", "never said (%s)", a);
}

int made(int argc)
{
	/* log_error("x", "in a comment") */
	return argc ? told() : elsewhere();
}
"""
MANUAL = """.Sh DIAGNOSTICS
.Bl -diag
.It "warning: [x] cup not found, path=... (...)"
There is none.
.El
.Sh SEE ALSO
"""


class Scratch(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        self.plant("ARCHITECTURE.md", ARCHITECTURE)
        self.plant("README.md", "# x\n")
        self.plant("server/made.c", CODE)
        self.plant("server/made.h", "int made(int argc);\n")
        self.plant("docs/bench/cost.md", "# Cost\n\n| 4.36 us | 1,230 |\n")

    def plant(self, path, text):
        full = os.path.join(self.directory, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)

    def findings(self):
        tree = prose.Tree(self.directory)
        return [*prose.check_comments(tree), *prose.check_pages(tree),
                *prose.check_architecture(tree), *prose.check_glossary(tree),
                *prose.check_figures(tree)]

    def assert_finds(self, place, words):
        findings = self.findings()
        self.assertEqual(len(findings), 1, findings)
        self.assertTrue(findings[0].startswith(place + ": "), findings)
        self.assertIn(words, findings[0])

    def test_what_is_right_is_left_alone(self):
        self.plant("docs/page.md", "# A page\n\nmade() in made.c, server/made.h, server/made; uv_run(), memcpy(), "
                   "<sys/socket.h>, tests/NAME.c, [it](#a-page), [all](../README.md).\n")
        self.assertEqual(self.findings(), [])

    def test_a_file_in_a_comment(self):
        self.plant("server/x.c", "int x; /*\n * Flow: gone.c -> made.c\n */\n")
        self.assert_finds("server/x.c:2", "the file gone.c")

    def test_a_function_in_a_comment(self):
        self.plant("server/x.c", "int x; // as gone_away() does\n")
        self.assert_finds("server/x.c:1", "gone_away()")

    def test_a_function_that_only_comments_name(self):
        self.plant("server/x.c", "/* made_up() */\n/* and made_up() */\n")
        self.assertEqual(len(self.findings()), 2)

    def test_a_path_a_directory_and_a_link(self):
        for text, words in (("server/gone.h", "server/gone.h"), ("lib/gone is", "lib/gone"),
                            ("[x](gone.md)", "links gone.md"), ("[x](#gone)", "no such heading")):
            with self.subTest(text):
                self.plant("docs/page.md", f"# x\n\n{text}\n")
                self.assert_finds("docs/page.md:3", words)

    def test_a_page_that_grows_and_tables_that_lie(self):
        self.plant("ARCHITECTURE.md", ARCHITECTURE + "x" * prose.ARCHITECTURE_MAX)
        self.assert_finds("ARCHITECTURE.md:1", "bytes")
        self.plant("ARCHITECTURE.md", ARCHITECTURE + "| 1 | `made` | server/made.c | x |\n")
        self.assert_finds("ARCHITECTURE.md:1", "not two of nine")
        self.plant("ARCHITECTURE.md", ARCHITECTURE.replace("| 4 | `made`", "| 4 | `told_not`", 1))
        self.assert_finds("ARCHITECTURE.md:6", "told_not()")

    def test_a_word_that_has_gone(self):
        glossary = "\n## Glossary\n\n| server | |\n|---|---|\n| made, told | x |\n"
        self.plant("ARCHITECTURE.md", ARCHITECTURE + glossary)
        self.assertEqual(self.findings(), [])
        self.plant("ARCHITECTURE.md", ARCHITECTURE + glossary + "| made, gone | x |\n")
        lines = (ARCHITECTURE + glossary).count("\n")
        self.assert_finds(f"ARCHITECTURE.md:{lines + 1}", "the word gone")

    def test_a_figure(self):
        for cell in ("4.36 us", "1,230 prefixes"):
            self.plant("README.md", f"| {cell} | [cost](docs/bench/cost.md) |\n")
            self.assertEqual(self.findings(), [])
        self.plant("README.md", "| 4.3 us | [cost](docs/bench/cost.md) |\n")
        self.assert_finds("README.md:1", "the figure 4.3")

    def missing_lines(self, code, manual):
        source = prose.Source("server/made.c", code)
        items = list(prose.diagnostics(manual))
        return [event for _, _, levels, event in prose.used_log_lines([source])
                if not prose.is_told(items, levels[0], event)]

    def test_a_diagnostic(self):
        code = CODE.replace("int made(int argc)", "int main(int argc)")
        self.assertEqual(self.missing_lines(code, MANUAL), [])
        for manual in (MANUAL.replace("cup", "cups"), MANUAL.replace("warning:", "error:"), ""):
            self.assertEqual(self.missing_lines(code, manual), ["cup not found"])
        # In the pages that have a section for each level.
        manual = MANUAL.replace(".Bl", ".Ss Warnings: less than it should be\n.Bl").replace("warning: [x] ", "")
        self.assertEqual(self.missing_lines(code, manual), [])

    def test_a_finding(self):
        code = CODE.replace("int made(int argc)", "int main(int argc)").replace(
            'log_warning("x", "cup not found, path=%s (%s)", a, b);',
            'findings_add(list->findings, FINDING_REFUSAL, place, "cup is empty", NULL, 0, reason);\n'
            '\treading_warn(reader, "cup ignored", "why");\n\trefuse(findings, NULL, "no cup", reason);\n'
            '\tsnprintf(what, sizeof(what), "cups too many, count=%u", 2);')
        manual = ('.Sh DIAGNOSTICS\n.It Li "error: [x] cup is empty (...)"\n.It Li "warning: [x] cup ignored (...)"\n'
                  '.It Li "error: no cup (...)"\n.It Li "error: cups too many, count=N (...)"\n.Sh SEE ALSO\n')
        self.assertEqual(self.missing_lines(code, manual), [])
        self.assertEqual(sorted(self.missing_lines(code, manual.replace("cup", "mug"))),
                         ["cup ignored", "cup is empty", "cups too many", "no cup"])
        self.assertEqual(sorted(self.missing_lines(code, manual.replace("error", "warning"))), ["cup is empty", "no cup"])

    def test_a_section_that_a_manual_does_not_have(self):
        self.plant("server/made.8", MANUAL + ".Xr made 8\n.Xr made 1 ,\n.Xr other 7\n")
        self.assertEqual(list(prose.check_sections(prose.Tree(self.directory))), ["server/made.8:8: no made(1)"])

    def test_a_line_that_no_program_writes(self):
        self.plant("server/made.c", CODE.replace("cup not", "cup %u not").replace("never said", "%s never said"))
        self.plant("server/made.8", MANUAL)
        self.assertEqual(list(prose.check_stale(prose.Tree(self.directory))),
                         ['server/made.8:1: no program writes "warning: cup not found"'])
        self.plant("server/made.8", MANUAL.replace("cup not", "cup ... not").replace("path=", "way="))
        self.assertEqual(list(prose.check_stale(prose.Tree(self.directory))), [])


if __name__ == "__main__":
    unittest.main()
