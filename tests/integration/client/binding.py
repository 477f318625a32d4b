# SPDX-License-Identifier: GPL-3.0-or-later
"""
binding.py - the Python binding of this build, as dnsblv6, or the test is skipped.

Flow: test_python.py, test_client.py and test_client_names.py take it from here.
"""

import importlib
import os
import sys

import harness
from lookups import LIBRARY

if harness.IS_SANITIZED:
    # The library wants a runtime that the interpreter would have to be started with.
    print("the build is sanitized: skipped")
    sys.exit(77)
os.environ["DNSBLV6_LIBRARY"] = LIBRARY
sys.path.insert(0, os.path.join(harness.SOURCE, "client-lib/python"))
dnsblv6 = importlib.import_module("dnsblv6")
