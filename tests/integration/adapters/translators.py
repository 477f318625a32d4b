# SPDX-License-Identifier: GPL-3.0-or-later
"""
translators.py - dnsblv6-translate, ready to be asked.

Flow: a test serves a list (harness.py) -> start_translator() in front of it ->
      harness.ask() the classic way.

    server = self.serve()
    translator = start_translator(self, [server.address])
    translator.ask("2.0.0.127.bl.local", A)
"""

from harness import Process, ZONE, ask, program, wait_for

LOCAL = "bl.local."
LISTS = (f"{ZONE.rstrip('.')}:127.0.0.2",)


class Translator(Process):
    """dnsblv6-translate at address, by a command that starter begins."""

    def __init__(self, config_path, address, log_path, starter=(), **how):
        super().__init__([*starter, program("dnsblv6-translate"), "--config", config_path], log_path,
                         **how)
        self.config_path = config_path
        self.address = address

    def wait_until_ready(self):
        self.wait_for_log(r"^info: \[dnsblv6-translate\] ready, ")
        return self

    def ask(self, name, rrtype, **how):
        return ask(self.address, name, rrtype, **how)


def config_text(address, servers, zones=((LOCAL, LISTS, ()),), lines=(), library=()):
    """
    servers: (host, port) each. zones: (domain, lists, more lines) each. Lists have nearly as long
    as there may be for an answer, unless lines says otherwise: the machine may be busy.
    """
    if not any(line.startswith("timeout: ") for line in lines):
        lines = [*lines, "timeout: 9s"]
    text = ["translate:", f"    listen: [ {address[0]}@{address[1]} ]",
            *(f"    {line}" for line in lines), "zone:"]
    for domain, lists, more in zones:
        quoted = ", ".join(f'"{one}"' for one in lists)
        text += [f"  - domain: {domain}", f"    lists: [ {quoted} ]",
                 *(f"    {line}" for line in more)]
    resolvers = ", ".join(f"{host}@{port}" for host, port in servers)
    text += ["library:", f"    servers: [ {resolvers} ]", *(f"    {line}" for line in library)]
    return "\n".join(text) + "\n"


def start_translator(case, servers, address=None, wait_s=None, starter=(), **how):
    """
    In front of servers, with what else config_text() takes. It has answered about
    127.0.0.2 in every zone, so that the lists are known to be well, unless wait_s is 0.
    """
    address = address or case.free_address()
    config = case.write(f"translate-{address[1]}.conf", config_text(address, servers, **how))
    translator = Translator(config, address, case.path(f"translate-{len(case.processes)}.log"),
                            starter)
    case.processes.append(translator)
    translator.wait_until_ready()
    if wait_s != 0:
        for domain in [zone[0] for zone in how.get("zones", ((LOCAL,),))]:
            wait_for(lambda name=f"2.0.0.127.{domain}": is_listed(translator, name),
                     f"{domain} to be well")
    return translator


def is_listed(translator, name, rrtype=1):
    """False also when it does not answer."""
    try:
        return bool(translator.ask(name, rrtype).answer)
    except OSError:
        return False
