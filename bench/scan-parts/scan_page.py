# SPDX-License-Identifier: GPL-3.0-or-later
"""
scan_page.py - what bench/scan measures, its limits, and the page about it.

Flow: bench/scan measures -> Results -> limits(), report() and plot() here.
"""
import collections
import datetime
import os
import sys

sys.path.insert(1, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from mailservers import figure, median_of, times  # noqa: E402  (of bench, as are the next)
from replays import machine  # noqa: E402
from store_page import Limit, table  # noqa: E402

# Of a mail: milliseconds of a processor, of all processes; and mails a second by the clock.
Sent = collections.namedtuple("Sent", "cpu_ms rate")
Delay = collections.namedtuple("Delay", "p50_ms p99_ms first_ms segments")
# sent: {(name, mail): [Sent]}; delays: {name: Delay}; memory: {(name, mail, connections): KiB};
# slope: {name: {MB of a mail: KiB}}; speeds: {what: number}; sizes: {mail: bytes}; compiled: text
# of mail-scan.
Results = collections.namedtuple(
    "Results", "sent delays memory slope speeds sizes compiled missed")

EXE, ZIP = "1 MB executable", "its zip"
POSTFIX = "Postfix alone"
AMAVISD_FORWARD, AMAVISD = "amavisd-new, no scan", "amavisd-new"
CLAMSMTP_FORWARD = "clamsmtp, without clamd's time"
CLAMSMTP, CLAMDSCAN, CLAMSCAN, RSPAMD = "clamsmtp", "clamdscan", "clamscan", "rspamd"
FORWARD, OWN, BESIDE = "mail-proxy, no scan", "mail-proxy", "mail-proxy, clamd"
FRONT = "smtp-front"
DIRECT = "the next hop alone"
AT_ONCE, LINK_MBITS = ", as fast as it is taken", 50
MATCHER, MAIL_PARTS = "matcher, over the library's own loop", "MIME and base64, MB/s"
HELD_MAILS = ("text", "gzip", "zip")
THESIS = {  # Mbit/s: Chen, NCTU 2005: forward, scan, scan and decompress
    "forward": (65.2, 9.51), "scan": (21.79, 6.9), "decompress": (8.05, 3.82)}
KB = 1000 / 1024  # KiB


def cost(results, name, mail):
    return median_of(results.sent.get((name, mail), ()), "cpu_ms")


def faster(results, ours, theirs, mail):
    """How many mails of ours one of theirs costs."""
    return times(cost(results, theirs, mail), cost(results, ours, mail))


def rate(results, name, mail):
    """Mails a second by the clock; None where none were sent by a load."""
    rows = results.sent.get((name, mail), ())
    return median_of([one for one in rows if one.rate is not None], "rate")


def mbits(results, name, mail):
    """Of mails that one processor does in a second."""
    bits = results.sizes.get(mail, 0) * 8 / 1e6
    return times(bits * 1000, cost(results, name, mail)) if bits else None


# ---- limits ----


def limits(options, results):
    """Of the parts that were to be measured."""
    if "t" in options.parts:
        yield from throughput_limits(results)
    if "l" in options.parts:
        found, direct = results.delays.get(OWN), results.delays.get(DIRECT)
        yield Limit("ms behind the last byte, 99 % quantile, over the median without a proxy",
                    found and direct and found.p99_ms - direct.p50_ms, 5)
        yield Limit("segments of TCP until the first byte goes on", found and found.segments, 1)
    if "m" in options.parts:
        for count in options.counts:
            for mail in HELD_MAILS:
                bound = 64 if mail == "text" else 176 * KB
                yield Limit(f"KiB of a connection, {count:,} of them, {mail}",
                            results.memory.get((OWN, mail, count)), bound)
        yield Limit("KB more for a MB more of a mail", slope_of(results.slope.get(OWN)), 1)
    if "s" in options.parts:
        speeds = results.speeds
        yield Limit("matcher on plain bytes over the library's own loop", speeds.get(MATCHER), 0.7,
                    False)
        yield Limit("MB/s of MIME and base64 on one core", speeds.get(MAIL_PARTS), 400, False)


def throughput_limits(results):
    yield Limit("forward over amavisd-new", faster(results, FORWARD, AMAVISD_FORWARD, EXE), 7,
                False)
    yield Limit("forward over clamsmtp", faster(results, FORWARD, CLAMSMTP_FORWARD, EXE), 2, False)
    for mail in (EXE, ZIP):
        yield Limit(f"scan, {mail}, over amavisd-new", faster(results, OWN, AMAVISD, mail), 5,
                    False)
        yield Limit(f"scan, {mail}, over clamsmtp", faster(results, OWN, CLAMSMTP, mail), 2, False)
        ratio = faster(results, BESIDE, CLAMDSCAN, mail)
        # Rounds differ by more than a hundredth.
        yield Limit(f"clamd besides, {mail}, over clamd itself, to a hundredth",
                    ratio and round(ratio, 2), 1, False)


def slope_of(points):
    """KB for each MB, from the smallest mail to the largest."""
    if not points or len(points) < 2:
        return None
    least, most = min(points), max(points)
    return max(0.0, (points[most] - points[least]) / KB / (most - least))


# ---- tables ----


def sent_lines(results):
    yield "## Throughput"
    yield ""
    rows = []
    names = list(dict.fromkeys(name for name, _ in results.sent))
    for name in names:
        cells = []
        for mail in (EXE, ZIP):
            value = cost(results, name, mail)
            cells += [f"{figure(value, 1)} ms", figure(times(1000, value), 1),
                      figure(rate(results, name, mail), 1)]
        rows.append((name, cells))
    heads = []
    for mail in (EXE, ZIP):
        heads += [f"CPU, {mail}", "mails of one processor in a second",
                  "mails a second by the clock"]
    yield from table(heads, rows)


def thesis_lines(results):
    yield ("The thesis's table, stream proxy and AMaViS, and the same here, of the time of one "
           "processor, Mbit/s being of mails as they come in:")
    yield ""
    rows = []
    for what, ours, theirs, mail in (("forward", FORWARD, AMAVISD_FORWARD, EXE),
                                     ("scan", OWN, AMAVISD, EXE),
                                     ("decompress", OWN, AMAVISD, ZIP)):
        then = THESIS[what]
        rows.append((what, [f"{then[0]} / {then[1]} Mbit/s", f"{then[0] / then[1]:.1f}",
                            f"{figure(mbits(results, ours, mail), 1)} / "
                            f"{figure(mbits(results, theirs, mail), 1)} Mbit/s",
                            figure(faster(results, ours, theirs, mail), 1)]))
    yield from table(["2005", "ratio", "here", "ratio"], rows)


def delay_lines(results):
    yield "## Latency"
    yield ""
    rows = [(name, [f"{one.p50_ms:.2f} ms", f"{one.p99_ms:.2f} ms", f"{one.first_ms:.1f} ms",
                    f"{one.segments:,}"]) for name, one in results.delays.items()]
    yield from table(["behind the last byte, median", "99 % quantile",
                      "to the first byte at the next hop", "segments sent until then"], rows)


def memory_lines(results):
    yield "## Memory of a connection"
    yield ""
    names = list(dict.fromkeys((name, mail) for name, mail, _ in results.memory))
    counts = sorted({count for _, _, count in results.memory})
    rows = [(f"{name}, {mail}", [figure(results.memory.get((name, mail, count)), 1)
                                 for count in counts]) for name, mail in names]
    yield from table([f"KiB of each of {count:,}" for count in counts], rows)
    for name, points in results.slope.items():
        cells = (f"{size:g} MB {kib:,.0f} KiB" for size, kib in sorted(points.items()))
        yield f"{name}, each connection within a large mail of text: {', '.join(cells)}."
        yield ""


def speed_lines(results):
    yield "## Parts"
    yield ""
    rows = [(what, [figure(value, 2 if value is not None and value < 10 else 0)])
            for what, value in results.speeds.items()]
    yield from table(["MB/s, or over"], rows)


def report(options, results, versions):
    """The lines of the page."""
    yield "# What it costs to scan mails as they flow"
    yield ""
    yield (f"Written by `bench/scan` on {datetime.date.today().isoformat()}: {machine()}.")
    yield f"{versions}."
    yield ""
    yield from TEXT.format(rounds=options.rounds, link=LINK_MBITS).splitlines()
    yield ""
    yield "## Limits"
    yield ""
    for limit in limits(options, results):
        yield f"* {limit.text()}."
    for line in results.missed:
        yield f"* {line}."
    yield ""
    yield from sent_lines(results)
    yield from thesis_lines(results)
    yield from delay_lines(results)
    yield from memory_lines(results)
    yield "![memory of a connection by the size of its mail](scan.svg)"
    yield ""
    yield from speed_lines(results)
    yield "## Signatures"
    yield ""
    yield "What `mail-scan compile` says of the lists of this run:"
    yield ""
    yield from (f"    {line}".rstrip() for line in results.compiled.splitlines())


TEXT = """\
Figures are medians of {rounds} rounds in which servers take turns. Ratios carry over to other machines, times do not. All servers
have one processor; the load and the next hop, Postfix' smtp-sink, the other. Processor time is the kernel's
(perf_event_open(2)) over all processes of a server, clamd among them, and what one processor does in a second follows from
it; that by the clock is of a load of two sessions, and of a machine that others may use as well.

The mails are those of the thesis (Chen, NCTU 2005): one with an executable of 1 MB, in base64, and one with its zip. All have the
same signatures. The same mail comes again and again, so clamd's cache of clean files is off: each mail is scanned. amavisd-new
stands behind Postfix' smtpd (`smtpd_proxy_filter`), has no queue behind it, and asks clamd about the parts it has taken apart; "no
scan" bypasses decoding and viruses. clamsmtp asks clamd and knows no other way, so that what it forwards with is its own
time without clamd's. clamdscan gives clamd the bytes of files, clamscan has
the signatures itself and reads them each time: that is taken off. rspamd is asked over HTTP, forwards nothing, and has clamd as its only
module. mail-proxy and smtp-front match themselves, or with "clamd" mail-proxy gives the bytes to clamd at the same time instead.

Behind the last byte: from the client's dot to the reply; the client sends {link} Mbit/s, or as fast as it is taken: then what is behind the
last byte is what lies in the kernel's buffers, of which a processor with many signatures has much. Memory is the growth of Pss with connections that are within a mail, over three
that are there before; what amavisd-new has in files is not in it. amavisd-new has a process for each connection, and is
measured with the least number of them only."""


def plot(pyplot, results, output):
    """The thesis's figures 10 and 11: memory over the size of a mail."""
    figure_, axes = pyplot.subplots(figsize=(6, 3.6))
    for name, points in results.slope.items():
        sizes = sorted(points)
        axes.plot(sizes, [points[size] for size in sizes], marker="o", label=name)
    axes.set_xlabel("MB of a mail")
    axes.set_ylabel("KiB of each connection")
    axes.set_xscale("log")
    axes.set_yscale("symlog", linthresh=10)
    axes.legend(fontsize=7)
    figure_.tight_layout()
    for end in ("svg", "png"):
        figure_.savefig(f"{output}.{end}", metadata={"Date": None} if end == "svg" else None)
