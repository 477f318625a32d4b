# SPDX-License-Identifier: GPL-3.0-or-later
"""
join.py - parts of bench/mail-users that were measured at different times, put together for one page.

Flow: PREFIX.json of earlier calls -> join() -> (options, Results) -> users_page.py.

Verdicts are judged again from what was counted, so a page never says what its figures do not. Parts go together only
when they were measured in the same way on the same machine. Nothing here runs anything.
"""
import argparse
import json

import verdict  # beside this file, as is the next
from users_page import Results
from mailservers import Missed  # of bench, as is the next
from replays import Failure

# What may differ: parts of one call, and where its search began.
ALIKE = ("mailboxes", "rate", "seed", "sessions", "tries", "window", "warmup", "drain")


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        if document["of"] != "bench/mail-users":
            raise ValueError("of another program")
        return document
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Failure(f"{path}: no result of bench/mail-users ({error})") from None


def judged(run):
    return {**run, "verdict": verdict.judge(run["load"])}


def judged_search(search):
    return search and {**search, "runs": list(map(judged, search["runs"])),
                       "doubtful": list(map(judged, search["doubtful"]))}


def results_of(document):
    return Results([judged_search(one) for one in document["servers"]],
                   [judged_search(one) for one in document["repeats"]], judged_search(document["sata"]),
                   judged_search(document["apart"]), [judged(run) for run in document["ladder"]],
                   document["hour"] and judged(document["hour"]), document["parameters"],
                   Missed(document["missed"]))


def check_alike(paths, documents):
    first = documents[0]
    for path, one in zip(paths[1:], documents[1:]):
        if one["machine"] != first["machine"]:
            raise Failure(f"{path}: measured on another machine than {paths[0]}")
        for name in ALIKE:
            if one["options"][name] != first["options"][name]:
                raise Failure(f"{path}: --{name} {one['options'][name]}, but {first['options'][name]} in {paths[0]}")


def servers_of(document):
    searches = [*document["servers"], *document["repeats"], *filter(None, (document["sata"], document["apart"]))]
    return list(dict.fromkeys(search["name"] for search in searches))


def when(document):
    """Of one call, as the page says it."""
    options = document["options"]
    load = ", ".join(f"{value:.1f}" for value in document["load"])
    servers = ", ".join(servers_of(document))
    return (f"`--parts {options['parts']}`, {servers}, on {document['date']}: load averages {load}; searches from"
            f" {options['disks_start'] if options['parts'] == 'd' else options['start']:,} users")


def join_results(found):
    """What a later one has replaces the same of an earlier one; repeats are those of one call."""
    joined = Results([], [], None, None, [], None, [], Missed())
    for one in found:
        servers = {search["name"]: search for search in [*joined.servers, *one.servers]}
        joined = Results(list(servers.values()), one.repeats or joined.repeats, one.sata or joined.sata,
                         one.apart or joined.apart, one.ladder or joined.ladder, one.hour or joined.hour,
                         one.parameters or joined.parameters, Missed([*joined.missed, *one.missed]))
    return joined


def join_options(output, documents):
    """As of one call that has measured all of it."""
    parts = "".join(letter for letter in "vrdh" if any(letter in one["options"]["parts"] for one in documents))
    options = dict(documents[0]["options"])
    for one in documents:
        if "d" in one["options"]["parts"]:
            options.update({name: one["options"][name] for name in ("disks_start", "disks_scale")})
        if set(one["options"]["parts"]) & set("vr"):
            options.update({name: one["options"][name] for name in ("start", "scale")})
    return argparse.Namespace(**{**options, "parts": parts, "output": output, "load": documents[0]["load"],
                                 "calls": [when(one) for one in documents],
                                 "servers": list(dict.fromkeys(name for one in documents
                                                               for name in servers_of(one)))})


def look_through(path, document):
    """All that is taken from it, once: what lacks a part of it is refused by name."""
    try:
        when(document)
        join_options("", [document])
        check_alike([path, path], [document, document])
        return results_of(document)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise Failure(f"{path}: not a whole result of bench/mail-users ({type(error).__name__}: {error})") from None


def join(paths, output):
    documents = [read(path) for path in paths]
    found = list(map(look_through, paths, documents))
    check_alike(paths, documents)
    return join_options(output, documents), join_results(found)
