# SPDX-License-Identifier: GPL-3.0-or-later
"""
docpage.py - a page of docs/ as what is to be run of it: blocks of commands, and files.

Flow: page.py, test_cluster_page.py, which have a shell for them -> DocPage("docs/hub.md").

A block is one of commands when it begins with a prompt: "# " or "$ ", and before it perhaps the name of a
machine, "a# ". A line without a prompt goes on with the command before. Other blocks are files.
"""

import os
import re
from typing import NamedTuple

import harness

PROMPT = re.compile(r"([a-z]*)[#$] ")


class Command(NamedTuple):
    machine: str  # "": it is not named
    text: str


def commands_of(block):
    found = []
    for line in block.splitlines():
        prompt = PROMPT.match(line)
        if prompt:
            found.append(Command(prompt[1], line[prompt.end():]))
        else:
            found[-1] = found[-1]._replace(text=found[-1].text + "\n" + line)
    return found


class DocPage:
    """What is left of its commands, by the titles of sections, and the files in it."""

    def __init__(self, path):
        with open(os.path.join(harness.SOURCE, path), encoding="utf-8") as file:
            parts = re.split(r"^##+ (.*)$", file.read(), flags=re.MULTILINE)
        self.sections = {title: re.findall(r"(?ms)^```\n(.*?)^```$", body)
                         for title, body in zip(parts[1::2], parts[2::2])}
        self.left = {title: self.commands(title) for title in self.sections}
        self.replaced = []

    def commands(self, title):
        return [command for block in self.sections[title] if PROMPT.match(block)
                for command in commands_of(block)]

    def commands_left(self):
        return [command for commands in self.left.values() for command in commands]

    def file(self, title, beginning):
        """The block of a section that begins so."""
        block, = (block for block in self.sections[title] if block.startswith(beginning))
        return block

    def next(self, title, beginning):
        """The next command of a section, which begins so."""
        waiting = self.left[title]
        assert waiting and waiting[0].text.startswith(beginning), (beginning, waiting)
        return waiting.pop(0)

    def skip(self, *beginnings):
        """Commands that want a machine of their own."""
        for beginning in beginnings:
            title, command = next((title, command) for title, commands in self.left.items()
                                  for command in commands if command.text.startswith(beginning))
            self.left[title].remove(command)

    def replace(self, *pairs):
        self.replaced += pairs

    def here(self, text):
        """The same with what the test has in place of the machine."""
        for old, new in self.replaced:
            text = text.replace(old, new)
        return text
