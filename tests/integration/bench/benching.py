# SPDX-License-Identifier: GPL-3.0-or-later
"""
benching.py - what tests of the pages and programs of bench/ need.

Flow: test_pop_bench.py, test_scan_bench.py -> import_quietly() -> a module of bench/.
      test_users_load.py, test_users_imap.py -> check_no_errors() looks at what users-load says.
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


def check_no_errors(case, result):
    """None but a COPY of mails that another session of this user has just expunged: RFC 2180, 4.4."""
    refused = result["transactions"]["COPY"]["errors"]
    case.assertLessEqual(refused, 2, result)
    case.assertEqual({name: count for name, count in result["errors"].items() if count},
                     {"no": refused} if refused else {}, result)
    case.assertEqual(result["faults"], {})
    case.assertEqual(sum(row["errors"] for row in result["transactions"].values()), refused)
