#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
What pages, manuals and samples show of configurations is taken by the program that they are for: each
item is there and each value permitted, and the users are those that packages make. What they leave to the
reader, such as certificates, recipients and stores, may be missing.
"""

import glob
import os
import re
import subprocess
from typing import NamedTuple

from harness import DEADLINE_S, SOURCE, Case, main, program

# By the first of its sections that is here.
READERS = {"cached": "dnsblv6-cached", "filter": "dnsblv6-filter", "front": "smtp-front", "hub": "mail-hub",
           "listener": "mail-proxy", "lmtp": "mail-stored", "login": "pop-front", "nodes": "mail-stored",
           "policy": "dnsblv6-policy", "pop": "pop-front", "proxy": "mail-proxy", "secondary": "dnsblv6d",
           "server": "dnsblv6d", "sink": "smtp-front", "stored": "mail-stored", "translate": "dnsblv6-translate",
           "trust": "smtp-front", "xdp": "dnsblv6d"}
OTHERS = ("do-not-query-localhost:", "request-xfr:")  # of Unbound and NSD
ITEM_OF_USER = re.compile(r"^ *#?((?:[a-z]+-)?(?:user|owner)): ([\w-]+)(?::[\w-]+)?$", re.MULTILINE)


def files(*patterns):
    return sorted(path for pattern in patterns for path in glob.glob(os.path.join(SOURCE, pattern), recursive=True)
                  if not re.search(r"/build/|/tests/|/docs/(?:bench|decisions)/", path))


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Snippet(NamedTuple):
    path: str
    text: str

    @property
    def sections(self):
        return re.findall(r"(?m)^([a-z]+):$", self.text)

    @property
    def reader(self):
        sections = set(self.sections)
        if "milter" in sections or sections == {"scan"}:
            return "mail-scan-milter" if "scan" in sections else "dnsblv6-milter"
        if sections == {"zone"}:
            return "dnsblv6-zone" if " list: " in self.text else "dnsblv6-translate"
        return next((READERS[section] for section in self.sections if section in READERS), None)


def blocks_of(path):
    text = read(path)
    if not path.endswith(".md"):
        return [block.replace("\\e", "\\") for block in re.findall(r"(?ms)^\.Bd -literal.*?\n(.*?)^\.Ed$", text)]
    fenced = re.compile(r"(?ms)^```\w*\n(.*?)^```$")
    indented = re.findall(r"(?:^ {4}.*\n)+", fenced.sub("", text), re.MULTILINE)
    return fenced.findall(text) + [re.sub(r"(?m)^ {4}", "", block) for block in indented]


def snippets():
    """Blocks that begin with a section."""
    for path in files("*.md", "docs/*.md", "**/README.md", "**/*.[1-8]"):
        for block in blocks_of(path):
            block = re.sub(r"\A(?:\s*#.*\n)*", "", block)
            if re.match(r"[a-z]+:\n", block) and not any(item in block for item in OTHERS):
                yield Snippet(path, block)


def without_users(text):
    """Of the test's machine, which has none of them."""
    return re.sub(r"(?m)^ *(?:[a-z]+-)?(?:user|group|owner): .*\n", "", text)


class Snippets(Case):
    def check(self, snippet):
        config = self.write("snippet.conf", without_users(snippet.text))
        words = (["conf-check", "--config"] if snippet.reader == "dnsblv6-zone" else ["--check", "--config"])
        result = subprocess.run([program(snippet.reader), *words, config], capture_output=True, text=True,
                                timeout=DEADLINE_S, check=False)
        self.assertNotIn("configuration refused", result.stderr, f"{snippet.path}\n{snippet.text}")

    def test_what_pages_and_manuals_show_is_taken(self):
        found = list(snippets())
        self.assertGreater(len(found), 25)
        for snippet in found:
            with self.subTest(path=snippet.path, text=snippet.text):
                self.assertIsNotNone(snippet.reader)
                self.check(snippet)

    def test_what_samples_show_as_a_comment_is_taken(self):
        for path in files("**/*.conf.sample"):
            if path.endswith("/zones.conf.sample"):  # settings that need others; test_zones_conf.py has it
                continue
            text = read(path)
            for line in re.findall(r"(?m)^ {4}#[a-z0-9-]+: \S.*$", text):
                with self.subTest(path=path, line=line):
                    shown = Snippet(path, text.replace(line, line.replace("#", "", 1)))
                    self.check(shown)

    def test_users_that_are_named_are_those_of_packages(self):
        made = set(re.findall(r"(?m)^u ([\w-]+)", "".join(map(read, files("**/*.sysusers", "**/*.sysusers.in")))))
        self.assertIn("smtp-front", made)
        texts = [(path, read(path)) for path in files("**/*.conf.sample")] + list(snippets())
        for path, text in texts:
            for item, name in ITEM_OF_USER.findall(text):
                if item != "ceph-user":
                    with self.subTest(path=path, item=item):
                        self.assertIn(name, made)


if __name__ == "__main__":
    main()
