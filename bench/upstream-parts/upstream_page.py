# SPDX-License-Identifier: GPL-3.0-or-later
"""
upstream_page.py - what upstream-queries measures, its limits, and the page about it.

Flow: upstream-queries asks here for PARTS -> it measures -> problems(), report() and plot() of
      {(part, kind, resolver): Count}.
"""
import collections
import datetime
import os
import subprocess

from replays import NEGATIVE_TTL_S, TTL_S, machine  # of bench

LONG_NEGATIVE_TTL_S = 3600
BASE, BEST = "classic, unsigned", "flat, as served"
MAIN = (BASE, "classic, signed", "dotted, signed", "flat, signed", "flat, 4 neighbours", BEST,
        "both, asked flat")

# Queries that reached the authority, of so many lookups; answers that were not the list's, those of
# them that were SERVFAIL, and answers of a signed zone without AD.
Count = collections.namedtuple("Count", "lookups queries wrong bogus insecure")
# PowerDNS Recursor looks for the zone anew once a day, and gives one answer without AD meanwhile: of a
# few hundred lookups in some days these are more than one in a hundred.
INSECURE_MOST = 1 / 100

# kinds: None for all of them.
Part = collections.namedtuple("Part", "name is_real negative_ttl_s has_clients kinds")
PARTS = (
    Part("compressed", False, NEGATIVE_TTL_S, False, None),
    Part("real clocks", True, NEGATIVE_TTL_S, False, MAIN),
    Part("real clocks, an hour", True, LONG_NEGATIVE_TTL_S, False, MAIN[2:]),
    Part("clients listed", True, NEGATIVE_TTL_S, True, (BASE, *MAIN[2:6])),
    Part("clients listed, an hour", True, LONG_NEGATIVE_TTL_S, True, MAIN[2:6]),
)
# All resolvers beside one another, each with a part of the lookups.
TOGETHER = "the four together"
TOGETHER_ROWS = {(part, kind) for part in ("real clocks", "real clocks, an hour")
                 for kind in (BASE, "flat, signed", "flat, 4 neighbours", BEST)}
# What stands beside a part of a longer negative TTL: the list as it is published today.
BASE_PART = {"real clocks, an hour": "real clocks", "clients listed, an hour": "clients listed"}

Limit = collections.namedtuple("Limit", "part most")
LIMITS = (Limit("compressed", 1 / 20), Limit("real clocks, an hour", 0.35),
          Limit("clients listed, an hour", 0.5))


def ratio(found, part, kind, resolver):
    """Of the classic unsigned zone behind the same resolver; None when one was not measured."""
    base = found.get((BASE_PART.get(part, part), BASE, resolver))
    one = found.get((part, kind, resolver))
    return one.queries / base.queries if one and base else None


def resolvers_of(found):
    return list(dict.fromkeys(resolver for _, _, resolver in found))


def listed_share(measuring, zone):
    return sum(map(zone.truth[False].lists, measuring.trace)) / len(measuring.trace)


def is_mostly_listed(measuring):
    """Does the list itself have most of the trace's clients?"""
    return any(listed_share(measuring, zone) > 0.5
               for (has_clients, _), zone in measuring.zones.items() if not has_clients)


def check_limits(measuring, found):
    """(text, is it met) for each that was measured."""
    most_of_listed = LIMITS[-1].most if is_mostly_listed(measuring) else 0
    for limit in LIMITS:
        most = max(limit.most, most_of_listed)
        for resolver in resolvers_of(found):
            if resolver == TOGETHER:
                continue
            share = ratio(found, limit.part, BEST, resolver)
            if share is not None:
                yield (f"{limit.part}: {resolver}: {BEST} asks {share:.3f} of {BASE},"
                       f" at most {most:g}", share <= most)


def problems(measuring, found):
    """A line for each limit that is not met, and for each run with answers that are not right."""
    for text, is_met in check_limits(measuring, found):
        if not is_met:
            yield text
    looks_anew = 2 + int(measuring.times[-1] / 86400)
    for (part, kind, resolver), count in found.items():
        if count.wrong or count.insecure > max(looks_anew, INSECURE_MOST * count.lookups):
            yield (f"{part}: {kind}: {resolver}: {count.wrong} answers wrong, {count.bogus} of them"
                   f" SERVFAIL, {count.insecure} not validated")


# ---- the page ----


def versions(bench):
    commands = (["unbound", "-V"], ["named", "-V"], ["kresd", "-V"], ["pdns_recursor", "--version"],
                ["knotd", "-V"], [bench.server, "-V"])
    for command in commands:
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        text = (result.stdout + result.stderr).split("\n")[0].strip()
        text = text.split("PowerDNS ")[-1].split(" (C)")[0].split(" (Ext")[0].split(" <id")[0]
        yield text if command[0] != "unbound" else f"Unbound {text.split()[-1]}"


def table(found, part):
    names = [name for name in resolvers_of(found)
             if any((part, kind, name) in found for _, kind, _ in found)]
    kinds = dict.fromkeys(kind for one, kind, _ in found if one == part)
    yield "| kind of zone | " + " | ".join(f"{name} | of classic" for name in names) + " |"
    yield "|---|" + "---:|---:|" * len(names)
    for kind in kinds:
        cells = []
        for name in names:
            count, share = found.get((part, kind, name)), ratio(found, part, kind, name)
            cells.append(f"{count.queries:,} | {'' if share is None else f'{share:.3f}'}"
                         if count else " | ")
        yield f"| {kind} | " + " | ".join(cells) + " |"


TITLES = {
    "compressed": "Compressed: no TTL ends",
    "real clocks": "Real clocks, negative TTL {short} s",
    "real clocks, an hour": "Real clocks, negative TTL {long} s",
    "clients listed": "Real clocks, 60 % of the clients listed, negative TTL {short} s",
    "clients listed, an hour": "Real clocks, 60 % of the clients listed, negative TTL {long} s",
}

NOTE = """
Queries are all that the authority received during the lookups: over UDP and TCP, with what a
resolver asks for itself (DNSKEY, NS and the like). Every resolver is Debian's, as it comes but for
its address, its root server and a trust anchor for the zone; it starts empty for each run, and finds the
zone from a root server down. Lookups are put one after the other, with AD. Lines of the trace that repeat an
address within {quiet:g} s are left out: a client that keeps answers does not ask again, and hosts that scan
have many lines.

"Compressed" is as fast as answers come, so that nothing is forgotten: it says how many names and ranges
there are to learn. With real clocks the clock of the resolver and of dnsblv6d (bench/programs/shifted_clock.c) is moved to the
time of the trace before each lookup, so that TTLs end as they would have: {ttl} s of what is listed.
Where the negative TTL is {long} s, "of classic" is of the classic unsigned zone with {short} s,
which is what a list is moved from.

Authority of unsigned zones, and of signed bitmap zones: dnsblv6d; of signed classic zones Knot, which signed
them. Neighbours are the NSEC records beside the one that a denial needs, to each side, as far as they fit into 1,232
bytes (FORMAT.md 5.1), which is four in all for this zone. With "the four together" each lookup goes to one of them by chance, and all ask one authority. "As served" is what dnsblv6d does unless told otherwise: it
gives the proofs of the ranges that are asked for most in their place, and of neighbours where no range is due
(decision 64). It begins to count with each run. What asks so little as a resolver does here by the trace's clock is far below the rate limit,
which was set so high that this holds at the speed of the replay too. "Both" are zones with dotted names and flat ones of
IPv4 (`--style both`), asked by the one or by the other.

PowerDNS Recursor 4.8 puts no proof in the place of one that has ended before it has removed that one, a few at a time by a timer
of its own; the trace's clock is some ten thousand times faster than that timer.
"""


def list_lines(measuring):
    yield "| list | prefixes | lookups of listed addresses |"
    yield "|---|---:|---:|"
    seen = set()
    for (has_clients, _), zone in measuring.zones.items():
        if has_clients in seen:
            continue
        seen.add(has_clients)
        name = os.path.basename(measuring.options.list) + (" and clients" if has_clients else "")
        yield f"| {name} | {len(zone.prefixes):,} | {listed_share(measuring, zone):.1%} |"


def whose(found):
    names = {resolver for (_, _, resolver), count in found.items() if count.insecure}
    return f", from {' and '.join(sorted(names))}" if names else ""


def report_lines(measuring, found):
    options, trace = measuring.options, measuring.trace
    blocks = {(one.version, int(one) >> (7 if one.version == 4 else 71)) for one in trace}
    yield "# Queries that reach the authority"
    yield ""
    yield f"Written by `{options.command}`"
    yield f"on {datetime.date.today()}: {machine()};"
    yield "; ".join(versions(measuring.bench)) + "."
    yield ""
    yield (f"Trace: {os.path.basename(options.trace)}, the first {len(trace):,} lookups, which are"
           f" {measuring.times[-1] / 86400:.1f} days:")
    yield f"{len(set(trace)):,} addresses in {len(blocks):,} /25s (or IPv6 /57s)."
    yield ""
    yield from list_lines(measuring)
    yield ""
    wrong, bogus, insecure = (sum(getattr(count, what) for count in found.values())
                              for what in ("wrong", "bogus", "insecure"))
    yield (f"Of {len(found) * len(trace):,} answers in {len(found)} runs {wrong:,} were wrong,"
           f" {bogus:,} of them SERVFAIL.")
    yield f"{insecure:,} were right and of a signed zone, and came without AD" + whose(found) + "."
    for part in dict.fromkeys(part for part, _, _ in found):
        yield ""
        yield "## " + TITLES[part].format(short=NEGATIVE_TTL_S, long=LONG_NEGATIVE_TTL_S)
        yield ""
        yield from table(found, part)
    if options.plots:
        yield ""
        yield f"![queries by kind of zone]({os.path.basename(options.output)}.svg)"
    yield ""
    yield "## Limits"
    yield ""
    for text, is_met in check_limits(measuring, found):
        yield f"* {text}: {'met' if is_met else 'not met'}"
    yield ""
    yield "## How it is measured"
    yield NOTE.rstrip("\n").format(quiet=options.quiet, ttl=TTL_S, short=NEGATIVE_TTL_S, long=LONG_NEGATIVE_TTL_S)


def report(measuring, found):
    return "\n".join(report_lines(measuring, found)) + "\n"


# ---- the plot ----


def plot(pyplot, found, options):
    parts = list(dict.fromkeys(part for part, _, _ in found))
    names = resolvers_of(found)
    figure, axes = pyplot.subplots(len(parts), 1, figsize=(8, 2.6 * len(parts)), squeeze=False)
    height = 0.8 / len(names)
    for part, (axis,) in zip(parts, axes):
        kinds = list(dict.fromkeys(kind for one, kind, _ in found if one == part))
        for number, name in enumerate(names):
            values = [found[part, kind, name].queries if (part, kind, name) in found else 0
                      for kind in kinds]
            places = [row + (number - (len(names) - 1) / 2) * height for row in range(len(kinds))]
            axis.barh(places, values, height, label=name)
        axis.set_yticks(range(len(kinds)), kinds, fontsize=8)
        axis.invert_yaxis()
        axis.set_title(TITLES[part].format(short=NEGATIVE_TTL_S, long=LONG_NEGATIVE_TTL_S),
                       fontsize=9)
    axes[0][0].legend(fontsize=8)
    axes[-1][0].set_xlabel(f"queries that reach the authority, of {options.first:,} lookups")
    figure.tight_layout()
    figure.savefig(options.output + ".png", dpi=120, metadata={"Software": None})
    figure.savefig(options.output + ".svg", metadata={"Date": None})
