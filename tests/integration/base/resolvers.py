# SPDX-License-Identifier: GPL-3.0-or-later
"""
resolvers.py - Debian's resolvers in front of a dnsblv6d, in the foreground.

Flow: test_resolvers.py, test_dnssec.py and test_unbound.py build and serve a
      zone -> start_NAME() writes a configuration, starts the resolver on it and
      returns its address when it answers -> harness.ask_all() asks it.
      Tests with a wiring of their own prepare() a place, fill in a template -> run_NAME().

servers are all that serve the zone. anchors are DS records as text, as
dnsblv6-zone ds prints them; several mean that any of them will do. None of the
resolvers knows a root server or the root's key, so that nothing leaves the
loopback interface.
"""

import os
import shutil

from harness import SOA, ZONE, ask, peer, wait_for

UNBOUND = """
server:
    interface: {host}
    port: {port}
    do-daemonize: no
    use-syslog: no
    logfile: ""
    chroot: ""
    username: ""
    directory: "{directory}"
    pidfile: ""
    do-ip6: no
    access-control: 127.0.0.0/8 allow
    do-not-query-localhost: no
    val-log-level: 2
    outgoing-range: 512
    {lines}
remote-control:
    control-enable: no
"""

UNBOUND_STUB = """
stub-zone:
    name: "{zone}"{servers}
"""

BIND = """
options {{
    directory "{directory}";
    pid-file none;
    session-keyfile none;
    listen-on port {port} {{ {host}; }};
    listen-on-v6 {{ none; }};
    recursion yes;
    dnssec-validation yes;
    empty-zones-enable no;
    max-cache-size 64m;
    {lines}
}};
controls {{ }};
trust-anchors {{ {anchors} }};
zone "." {{ type hint; file "hints"; }};
"""

BIND_FORWARD = """
zone "{zone}" {{ type forward; forward only; forwarders {{ {servers} }}; }};
"""

# named takes only addresses that an interface has; others of 127/8 no interface has.
BIND_HOST = "127.0.0.1"
# Nobody listens there.
BIND_HINTS = ". 3600 NS nobody.\nnobody. 3600 A {host}\n"

KRESD = """
net.ipv6 = false
net.listen('{host}', {port}, {{ kind = 'dns' }})
cache.open(100 * MB, 'lmdb://{directory}/cache')
cache.min_ttl(0)
for _, name in ipairs({{ 'priming', 'ta_update', 'ta_signal_query', 'detect_time_skew' }}) do
    modules.unload(name)
end
trust_anchors.remove('.')
trust_anchors.add([[
{anchors}
]])
{lines}
"""

KRESD_FORWARD = "policy.add(policy.all(policy.FORWARD({{ {servers} }})))"

RECURSOR = """
local-address={host}
local-port={port}
daemon=no
write-pid=no
disable-syslog=yes
socket-dir={directory}
threads=1
dnssec=validate
dont-query=
hint-file={hints}
security-poll-suffix=
lua-config-file={directory}/anchors.lua
{lines}
"""

RECURSOR_FORWARD = "forward-zones={zone}={servers}"


def unconfined(case, name):
    """
    A peer program, copied: AppArmor's profiles are for the path that Debian
    installs it at, and forbid it our directory.
    """
    copy = case.path(name)
    if not os.path.exists(copy):
        shutil.copy(peer(name), copy)
    return copy


def prepare(case, servers=(), form="", host=None):
    """What every configuration needs. form is how it writes an address, and what follows."""
    host = host or case.host
    port = case.free_port(host)
    directory = case.path(f"resolver-{port}")
    os.mkdir(directory)
    return {"directory": directory, "host": host, "port": port, "zone": ZONE,
            "servers": "".join(form.format(*server.address) for server in servers)}


def write_into(where, name, text):
    path = os.path.join(where["directory"], name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def wait_until_it_answers(where):
    """Anything: with a wrong anchor it will be SERVFAIL."""
    address = (where["host"], where["port"])

    def does_answer():
        try:
            return ask(address, ZONE, SOA, timeout_s=5)
        except OSError:  # not listening yet, or the datagram was lost: it is put again
            return None

    wait_for(does_answer, f"the resolver at {address} to answer")
    return address


def split_ds(anchor):
    """"ZONE IN DS TAG ALGORITHM TYPE DIGEST" -> the zone and the four last words."""
    words = anchor.split()
    return words[0], *words[3:7]


# ---- each with a configuration; returns the process ----


def run_unbound(case, where, text):
    process = case.start([unconfined(case, "unbound"), "-d", "-c",
                          write_into(where, "unbound.conf", text)], "unbound")
    process.wait_for_log("start of service")
    return process


def run_bind(case, where, hints, anchors, lines, zones=""):
    """lines: of its options. zones: whole clauses."""
    static = "".join('{0} static-ds {1} {2} {3} "{4}"; '.format(*split_ds(anchor))
                     for anchor in anchors)
    write_into(where, "hints", hints)
    text = BIND.format(**where, anchors=static, lines="\n    ".join(lines)) + zones
    process = case.start([unconfined(case, "named"), "-g", "-n", "1", "-c",
                          write_into(where, "named.conf", text)], "named")
    process.wait_for_log("running$")
    return process


def run_kresd(case, where, anchors, lines):
    # All at once: each call takes the place of the one before.
    text = KRESD.format(**where, anchors="\n".join(anchors), lines="\n".join(lines))
    return case.start([peer("kresd"), "-n", "-c", write_into(where, "config", text),
                       where["directory"]], "kresd")


def run_recursor(case, where, anchors, lines, hints="no"):
    """hints: the path of a file of root servers."""
    added = ["addTA('{0}', \"{1} {2} {3} {4}\")".format(*split_ds(anchor)) for anchor in anchors]
    write_into(where, "anchors.lua", "\n".join(["clearTA()", *added, ""]))
    write_into(where, "recursor.conf",
               RECURSOR.format(**where, hints=hints, lines="\n".join(lines)))
    return case.start([peer("pdns_recursor"), f"--config-dir={where['directory']}"],
                      "pdns_recursor")


# ---- each in front of servers; returns its address ----


def start_unbound(case, servers, anchors=(), zones=(ZONE,), lines=()):
    """lines: settings of the server section. Without anchors nothing is validated."""
    where = prepare(case, servers, "\n    stub-addr: {}@{}")
    lines = [f'module-config: "{"validator " if anchors else ""}iterator"', *lines,
             *(f'trust-anchor: "{anchor}"' for anchor in anchors)]
    text = UNBOUND.format(**where, lines="\n    ".join(lines))
    for zone in zones:
        text += UNBOUND_STUB.format(**{**where, "zone": zone})
    run_unbound(case, where, text)
    return wait_until_it_answers(where)


def start_bind(case, servers, anchors, lines=()):
    """lines: of its options."""
    where = prepare(case, servers, "{} port {}; ", BIND_HOST)
    run_bind(case, where, BIND_HINTS.format(host=case.host), anchors, lines,
             BIND_FORWARD.format(**where))
    return wait_until_it_answers(where)


def start_kresd(case, servers, anchors):
    where = prepare(case, servers, "'{}@{}', ")
    run_kresd(case, where, anchors, [KRESD_FORWARD.format(**where)])
    return wait_until_it_answers(where)


def start_recursor(case, servers, anchors):
    where = prepare(case, servers, "{}:{};")
    run_recursor(case, where, anchors, [RECURSOR_FORWARD.format(**where)])
    return wait_until_it_answers(where)


VALIDATORS = {"Unbound": start_unbound, "BIND": start_bind, "Knot Resolver": start_kresd,
              "PowerDNS Recursor": start_recursor}
