# SPDX-License-Identifier: GPL-3.0-or-later
"""
page.py - docs/hub.md as a fixture: its blocks, and a shell in which its commands run.

Flow: test_hub_page.py -> Page(case).run("Users", ...) -> a shell with the page's paths, ports and users
      replaced by those of the test, and with programs of the system in its PATH that are played.

A block is one of commands when it begins with "# " or "$ "; a line without goes on with the command before.
Others are files. What a command of systemctl does is the test's: Page.on_systemctl.
"""

import os
import re
import subprocess

import harness
from harness import DEADLINE_S, peer
from hub import USER

PATH = os.path.join(harness.SOURCE, "docs/hub.md")

# A program of the system: its name, and what a shell does in its place.
PLAYED = {
    # -u mail-hub -- PROGRAM: here the database is given to the user that the test has.
    "runuser": 'shift 3; "$@" || exit; [ "$(id -u)" != 0 ] || chown {user} {directory}/hub/*.mdb*\n',
    "journalctl": "cat {directory}/hub-*.log\n",
    "getent": "cat {directory}/shadow\n",
    "systemctl": "exit 0\n",  # of the hook, before there is a mail-hub
}


def commands_of(block):
    found = []
    for line in block.splitlines():
        if line.startswith(("# ", "$ ")):
            found.append(line[2:])
        else:
            found[-1] += "\n" + line
    return found


class Page:
    def __init__(self, case, hub):
        with open(PATH, encoding="utf-8") as file:
            self.text = file.read()
        self.case, self.hub = case, hub
        self.left = {title: self.commands(title) for title in self.sections()}
        self.variables = ""
        self.on_systemctl = None
        self.replaced = []
        self._play()

    def sections(self):
        """{title: [block, ...]}"""
        parts = re.split(r"^## (.*)$", self.text, flags=re.MULTILINE)
        return {title: [re.sub(r"^ {4}", "", block, flags=re.MULTILINE)
                        for block in re.findall(r"(?:^ {4}.*\n)+", body, re.MULTILINE)]
                for title, body in zip(parts[1::2], parts[2::2])}

    def commands(self, title):
        return [command for block in self.sections()[title] if block.startswith(("# ", "$ "))
                for command in commands_of(block)]

    def commands_left(self):
        return [command for commands in self.left.values() for command in commands]

    def file(self, title, beginning):
        """The block of a section that begins so."""
        block, = (block for block in self.sections()[title] if block.startswith(beginning))
        return block

    def replace(self, *pairs):
        self.replaced += pairs

    def here(self, text):
        """The same with what the test has in place of the machine."""
        for old, new in self.replaced:
            text = text.replace(old, new)
        return text

    def _play(self):
        directory = self.case.path("bin")
        os.mkdir(directory)
        for name, body in PLAYED.items():
            path = os.path.join(directory, name)
            with open(path, "w", encoding="ascii") as file:
                file.write("#!/bin/sh\n" + body.format(user=USER, directory=self.case.directory))
            os.chmod(path, 0o755)
        places = [os.path.dirname(harness.program(name)) for name in
                  ("mail-hub", "mail-store", "mail-stored", "smtp-front")]
        self.environment = {**os.environ, "PATH": ":".join([directory, *places, os.environ["PATH"]])}

    def shell(self, text, typed=""):
        return subprocess.run(["/bin/sh", "-c", self.variables + self.here(text)], input=typed, text=True,
                              capture_output=True, check=False, cwd=self.case.directory, env=self.environment,
                              timeout=2 * DEADLINE_S)

    def run(self, title, beginning, count=1, typed="", is_good=True):
        """
        The next commands of a section that are not run yet, the first of which begins so. Returns what the last
        one has said.
        """
        waiting = self.left[title]
        self.case.assertTrue(waiting and waiting[0].startswith(beginning), (beginning, waiting))
        said = ""
        for command in [waiting.pop(0) for _ in range(count)]:
            if command.startswith("systemctl "):
                self.on_systemctl(command.split()[1:])
                continue
            if re.match(r"\w+=", command):
                self.variables += self.here(command) + "\n"
                continue
            result = self.shell(command, typed)
            self.case.assertEqual(result.returncode == 0, is_good, f"{command}\n{result.stdout}{result.stderr}")
            said = result.stdout + result.stderr
        return said

    def skip(self, *beginnings):
        """Commands that want a machine of their own."""
        for beginning in beginnings:
            title, command = next((title, command) for title, commands in self.left.items()
                                  for command in commands if command.startswith(beginning))
            self.left[title].remove(command)


def make_peers(*names):
    """Skips the test where one is not installed."""
    for name in names:
        peer(name)
