# SPDX-License-Identifier: GPL-3.0-or-later
"""
benching.py - what tests of the pages of bench/ need of bench/.

Flow: test_pop_bench.py, test_scan_bench.py -> import_quietly() -> a module of bench/.
"""

import importlib
import os
import sys

from harness import SOURCE


def import_quietly(name, *directory):
    """A module of bench/; nothing is written beside it."""
    sys.path.insert(0, os.path.join(SOURCE, "bench", *directory))
    dont_write, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    module = importlib.import_module(name)
    sys.dont_write_bytecode = dont_write
    return module
