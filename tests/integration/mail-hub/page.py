# SPDX-License-Identifier: GPL-3.0-or-later
"""
page.py - docs/hub.md as a fixture: its blocks, and a shell in which its commands run.

Flow: test_hub_page.py -> Page(case).run("Users", ...) -> a shell with the page's paths, ports and users
      replaced by those of the test, and with programs of the system in its PATH that are played.

What a command of systemctl does is the test's: Page.on_systemctl.
"""

import os
import re
import subprocess

import harness
from docpage import DocPage
from harness import DEADLINE_S, peer
from hub import USER

# A program of the system: its name, and what a shell does in its place.
PLAYED = {
    # -u mail-hub -- PROGRAM: here the database is given to the user that the test has.
    "runuser": 'shift 3; "$@" || exit; [ "$(id -u)" != 0 ] || chown {user} {directory}/hub/*.mdb*\n',
    "journalctl": "cat {directory}/hub-*.log\n",
    "getent": "cat {directory}/shadow\n",
    "systemctl": "exit 0\n",  # of the hook, before there is a mail-hub
}


class Page(DocPage):
    def __init__(self, case, hub):
        super().__init__("docs/hub.md")
        self.case, self.hub = case, hub
        self.variables = ""
        self.on_systemctl = None
        self._play()

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
        said = ""
        for number in range(count):
            command = self.next(title, beginning if number == 0 else "").text
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


def make_peers(*names):
    """Skips the test where one is not installed."""
    for name in names:
        peer(name)
