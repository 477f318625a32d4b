# SPDX-License-Identifier: GPL-3.0-or-later
"""
Asks rbldnsd and dnsblv6d about the same lists of domain names and records,
and wants the same answers: those of `dnset` and `generic` datasets.

Needs: rbldnsd.

The lists are made at random from few labels, so that names, wildcards,
exclusions and records lie above, below and beside each other in all ways; the
questions are about listed names, names above and below them, and others. What
may differ is in docs/rbldnsd.md.
"""

import re

import harness
from harness import A, NOERROR, NXDOMAIN, TXT
from test_rbldnsd import RbldnsdTest, records

MX = 15
HINFO = 13
QUESTIONS = 100_000  # of each type, over all lists
ROUNDS = 8

TOPS = ["com", "net", "org", "co-uk", "xn--p1ai", "0x", "a-b", "zz", "3com", "ip", "300"]
PLAIN = ["a", "b", "www", "mail", "0", "x-y", "z", "-", "_spf"]
# Around the asterisk, which is where a wildcard stands among its siblings; as a list has them.
LABELS = [*PLAIN, "!", "$", "(", "+", "a\\.b", "\\001", "\\200", "\\000"]
VALUES = ["", " :3:three", " :4", " :5:", " some text", " name $ is bad", " :127.0.0.9:$ $$ $1",
          " # nothing", " =plain $"]


def random_name(rng, deep=4):
    """Labels, the last one first; the first one means nothing at the start of a line."""
    count = rng.randrange(deep)
    labels = [rng.choice(PLAIN)] * (count > 0)
    labels += [rng.choice(LABELS) for _ in range(count - 1)]
    return (*labels, rng.choice(TOPS))


def dnset_lines(rng, names, count):
    """Lines; the names in them go to names."""
    lines = []
    for _ in range(count):
        name = random_name(rng)
        names.append(name)
        mark = rng.choice(["", "", "", "!"])
        reach = rng.choice(["", "", ".", "*."])
        value = "" if mark else rng.choice(VALUES)
        lines.append(f"{mark}{reach}{'.'.join(name)}{value}")
        if rng.random() < 0.05:
            lines.append(rng.choice([":2:default of $", ":6:", ":7", ":127.0.1.1:other $1"]))
    return lines


def generic_lines(rng, names, count):
    lines = []
    for _ in range(count):
        name = random_name(rng)
        names.append(name)
        ttl = rng.choice(["", "", "300 ", "1h "])
        data = rng.choice(["A 192.0.2.1", "A 192.0.2.2 # two", "in a 127.1", "TXT some words",
                           'txt "quoted  words"', 'TXT ""', "A 0.0.0.0"])
        lines.append(f"{'.'.join(name)} {ttl}{data}")
    return lines


def wire_label(text):
    data = re.sub(rb"\\\\(\d{3}|.)", lambda found: bytes([int(found[1])]) if len(found[1]) == 3
                  else found[1], text.encode("ascii"))
    return bytes([len(data)]) + data


def wire_name(labels, origin):
    return b"".join(wire_label(label) for label in labels) + harness.wire_name(origin)


def names_about(rng, listed, origins, count):
    """Listed names, those above and below them, and others; in wire form."""
    names = []
    while len(names) < count:
        name = rng.choice(listed)
        way = rng.randrange(6)
        if way == 1:
            name = (rng.choice(LABELS), *name)
        elif way == 2:
            name = (rng.choice(LABELS), rng.choice(LABELS), *name)
        elif way == 3:
            name = name[1:]
        elif way == 4:
            name = random_name(rng, 6)
        elif way == 5:
            name = ("*", *name[rng.randrange(2):])
        if rng.random() < 0.1:
            name = tuple(label.upper() for label in name)
        if name:
            names.append(wire_name(name, rng.choice(origins)))
    return names


def is_empty(their, our):
    """Something may be below, or an exclusion keeps a wildcard off: it exists here."""
    return their == (NXDOMAIN, frozenset()) and our == (NOERROR, frozenset())


def names_that_exist(listed):
    """Those of the lists and those above them, without origin; in wire form."""
    found = set()
    for name in listed:
        labels = [wire_label(label).lower() for label in name]
        found.update(b"".join(labels[i:]) for i in range(len(labels)))
    return found


class NamesTest(RbldnsdTest):
    def compare_names(self, names, addresses, existing, origins, rrtypes=(A, TXT)):
        """Returns how many of the answers held a record."""
        listed = 0
        ends = [harness.wire_name(origin) for origin in origins]
        for rrtype in rrtypes:
            theirs, ours = self.ask_both(names, rrtype, addresses)
            differences = []
            for name, their, our in zip(names, theirs, ours):
                self.assertIsNotNone(their, f"rbldnsd is silent about {name}")
                self.assertIsNotNone(our, f"dnsblv6d is silent about {name}")
                if our[2] & 2:
                    their, our = self.ask_again(name, rrtype, addresses)
                size = len(name) + 4
                their, our = records(their, size), records(our, size)
                listed += len(our[1]) > 0
                if is_empty(their, our):
                    name = name.lower()
                    if any(name.endswith(end) and name[:-len(end)] in existing for end in ends):
                        continue
                if their != our:
                    differences.append(f"{name} {rrtype}: rbldnsd {their}, dnsblv6d {our}")
            self.assertEqual(differences[:10], [], f"{len(differences)} differences")
        return listed


class SameAnswers(NamesTest):
    def run_rounds(self, make_lists, origins=(harness.CLASSIC,)):
        """make_lists(round, names) returns LIST arguments; what they name goes to names."""
        total = 0
        for number in range(ROUNDS):
            listed_names = []
            addresses = self.start_both(make_lists(number, listed_names))
            names = names_about(self.random, listed_names, origins, QUESTIONS // ROUNDS)
            existing = names_that_exist([*listed_names, *self.sub_zones(origins)])
            total += self.compare_names(names, addresses, existing, origins)
            for process in self.processes:
                process.stop()
        self.assertGreater(total, QUESTIONS // 10)

    def sub_zones(self, origins):
        """They exist, and what is above them; as names below the zone."""
        return [origin[:-len(harness.CLASSIC)].rstrip(".").split(".") for origin in origins
                if origin != harness.CLASSIC]

    def write_list(self, name, lines):
        return self.write(name, "\n".join(lines) + "\n")

    def test_a_dnset(self):
        def make(number, names):
            lines = ["$1 one", *dnset_lines(self.random, names, 40 + 60 * number)]
            return [f"dnset:{self.write_list(f'd{number}', lines)}"]

        self.run_rounds(make)

    def test_two_dnsets_and_a_generic(self):
        def make(number, names):
            first = ["$1 one", "$TTL 600", *dnset_lines(self.random, names, 60)]
            second = ["$1 two", *dnset_lines(self.random, names, 60)]
            third = generic_lines(self.random, names, 30)
            return [f"dnset:{self.write_list(f'e{number}', first)}",
                    f"generic:{self.write_list(f'g{number}', third)}",
                    f"dnset:{self.write_list(f'f{number}', second)}"]

        self.run_rounds(make)

    def test_combined_with_sub_zones(self):
        def make(number, names):
            lines = []
            for dataset, origins in (("dnset", "@ sub.zone"), ("generic", "sub.zone @"),
                                     ("dnset", "deep.sub.zone"), ("dnset:x", "zone @")):
                maker = generic_lines if dataset == "generic" else dnset_lines
                lines += [f"$DATASET {dataset} {origins}", *maker(self.random, names, 40)]
            return [f"combined:{self.write_list(f'c{number}', lines)}"]

        zone = harness.CLASSIC
        self.run_rounds(make, [zone, f"sub.zone.{zone}", f"zone.{zone}", f"deep.sub.zone.{zone}"])


if __name__ == "__main__":
    harness.main()
