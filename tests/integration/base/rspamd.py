# SPDX-License-Identifier: GPL-3.0-or-later
"""
rspamd.py - the real rspamd, with nothing of the machine in its configuration.

Flow: test_rspamd.py and test_peers.py -> start_rspamd(case, sections) -> its process, its address.

It is installed, or else unpacked by ./check: Debian's depends on libhyperscan5, in whose place
libvectorscan5 may be, whose library has the same name and does the same.
"""

import os
import shutil

from harness import is_open, unpacked, wait_for

# One worker, no lists of languages and domains that take seconds to read.
CONFIG = """\
options {{
    pidfile = "{directory}/pid";
    tempdir = "{directory}";
    control_socket = "{directory}/control mode=0600";
    url_tld = "{directory}/tld";
    dns {{ nameserver = "{resolver}"; timeout = 1s; retransmits = 3; }}
}}
lang_detection {{ languages = "{directory}/languages"; }}
actions {{ reject = 15; }}
logging {{ type = "console"; level = "info"; }}
worker "normal" {{ bind_socket = "{host}:{port}"; count = 1; }}
"""


def rspamd_file(path):
    """Of the package, path being below /usr; or the test is skipped."""
    if shutil.which("rspamd"):
        return os.path.join("/usr", path)
    return unpacked("rspamd", os.path.join("usr", path))


def rspamd_environment(**more):
    share = rspamd_file("share/rspamd")
    return {**os.environ, "LD_LIBRARY_PATH": rspamd_file("lib/rspamd"), "SHAREDIR": share,
            "LUALIBDIR": f"{share}/lualib", "PLUGINSDIR": f"{share}/plugins",
            "RULESDIR": f"{share}/rules", **more}


def start_rspamd(case, sections="", resolver="127.0.0.1:1", **environment):
    """(process, address)"""
    address = case.free_address()
    for name in ("languages", "lua"):
        os.mkdir(case.path(name))
    case.write("tld", "com\nexample\n")
    text = CONFIG.format(directory=case.directory, host=address[0], port=address[1],
                         resolver=resolver)
    config = case.write("rspamd.conf", text + sections)
    process = case.start([rspamd_file("bin/rspamd"), "-f", "-i", "-c", config], "rspamd",
                         start_new_session=True, env=rspamd_environment(**environment))

    def is_listening():
        case.assertIsNone(process.popen.poll(), process.log())
        return is_open(address)

    wait_for(is_listening, "rspamd to listen")
    return process, address
