# SPDX-License-Identifier: GPL-3.0-or-later
"""
Random lists of addresses, moved by their command line of rbldnsd, and asked beside rbldnsd itself.

Needs: rbldnsd.

Each round makes files of all types with every form of an entry, odd blanks, comments, special entries and
lines that neither program can read; `migrate` finds out what has to be permitted for them. test_rbldnsd_names.py
does the same for names. What may differ is in docs/rbldnsd.md.
"""

import ipaddress
import os
import re

import harness
import rbldnsd
from harness import CLASSIC, main
from rbldnsd import ALL_IPV4, TEST_POINTS, RbldnsdTest, addresses4, addresses6, name4, name6, read_ranges

QUESTIONS = int(os.environ.get("DNSBLV6_QUESTIONS", 6_000 if harness.IS_SANITIZED else 20_000))
ROUNDS = 8
# Few networks, so that entries lie inside, above and beside each other.
NETWORKS4 = ["44.1.2", "44.1.3", "44.2.0", "45.0.255", "45.1.0", "198.51.100", "203.0.113", "0.0.1", "255.255.255"]
NETWORKS6 = ["3fff:db8:1:1", "3fff:db8:1:2", "3fff:db8:2:0", "2001:21ab:c000:0", "1:0:3:0", "abac:adab:ad00:42f"]
VALUES = ["", "", ":2", ":3:three of $", ":127.0.0.4:$1 and $2, $3", " some text $", "\t:5:", " :6:a # in a text",
          "=whole text $, $=", " :127.1.9:x;y", ":10.20.30.40:", " :007:seven"]
COMMENTS = ["# a comment", "; another one", "", "   ", "\t", "#", "  # behind blanks", ":", "#$Id: x $"]
BAD4 = ["300.1.1.1", "44.1.2.3/33", "44.1.2.9-44.1.2.3", "44.1.2.9-3", "44.1.2.3.4", "44.1.2.", "0x2c.1.2.3",
        "44.1.2.3,44.1.2.4", "44.1.2.5-6x", "not an address", "::text", "!", "44.1.2.3/24/24", "44..2.3", "-44.1.2.3"]
BAD6 = ["3fff:db8::g", "3fff:db8::/129", "3fff:::1", "1:2:3:4:5:6:7:8:9", "44.1.2.3.4.5", ":", "3fff:db8:1:1::/-1"]
SPECIAL = ["$TTL 300", "$TTL 1h", "$1 one", "$2 two $ $1", ";$1 one", "#$3 three", "$TTL 90s", "$TTL  10m ", "$ttl 77",
           "$TIMESTAMP 2020:01:01 2099:01:01", "$0 not expanded", "$= See $= ($) $1", "$9 $$ $", "$UNKNOWN x", "$1"]
SPECIAL4 = [*SPECIAL, "$MAXRANGE4 /12", "$MAXRANGE4 300"]


class Lists:
    """Lines of each type."""

    def __init__(self, rng):
        self.random = rng

    def blanks(self):
        return self.random.choice(["", "", "", " ", "\t", " \t "])

    def address4(self):
        return f"{self.random.choice(NETWORKS4)}.{self.random.choice([0, 1, 15, 16, 63, 64, 127, 128, 254, 255])}"

    def prefix4(self):
        length = self.random.choice([8, 9, 15, 16, 17, 20, 22, 23, 24, 25, 28, 30, 31, 32])
        network = ipaddress.ip_network((self.address4(), length), strict=False)
        octets = str(network[0]).split(".")
        while len(octets) > 1 and octets[-1] == "0" and self.random.random() < 0.5:
            octets.pop()  # what is left out is zero
        return f"{'.'.join(octets)}/{length}"

    def range4(self):
        ends = sorted((int(ipaddress.ip_address(self.address4())) for _ in range(2)))
        first, last = (str(ipaddress.ip_address(end)) for end in ends)
        if ends[1] - ends[0] >= 1 << 22:
            last = first
        same = first.rpartition(".")[0] == last.rpartition(".")[0]
        return f"{first}-{last.rpartition('.')[2] if same and self.random.random() < 0.5 else last}"

    def short4(self):
        octets = self.random.choice(NETWORKS4).split(".")[:self.random.choice([2, 3, 3])]
        if self.random.random() < 0.3:
            return f"{'.'.join(octets)}-{min(255, int(octets[-1]) + self.random.randrange(3))}"
        return ".".join(octets)

    def entry4(self):
        form = self.random.choice([self.address4, self.address4, self.prefix4, self.range4, self.short4, self.host_bits4])
        return form()

    def host_bits4(self):
        return f"{self.address4()}/{self.random.choice([16, 22, 24, 28])}"

    def prefix6(self):
        network = self.random.choice(NETWORKS6)
        length = self.random.choice([36, 48, 50, 52, 60, 61, 64, 65, 80, 96, 112, 125, 127, 128])
        host = self.random.choice(["::", "::1", "::5", ":0:0:0:8", ":ffff:ffff:ffff:ffff"])
        prefix = ipaddress.ip_network((network + host, length), strict=False)
        text = prefix.exploded if self.random.random() < 0.2 else str(prefix)
        text = text.upper() if self.random.random() < 0.1 else text
        return text.removesuffix("/128") if self.random.random() < 0.7 else text

    def half6(self):
        """As an ip6tset has it."""
        return self.random.choice(NETWORKS6)

    def exact6(self):
        return f"{self.random.choice(NETWORKS6)}:{self.random.choice(['0:0:0:1', 'face:f:a:beef', '0:0:0:0'])}"

    def lines(self, count, entry, bad, *, exclusion=None, values=VALUES, special=SPECIAL):
        """exclusion: makes what "!" may stand before."""
        lines = []
        for _ in range(count):
            chance = self.random.random()
            if chance < 0.06:
                line = self.random.choice(COMMENTS)
            elif chance < 0.10:
                line = self.random.choice(bad)
            elif chance < 0.14:
                line = self.random.choice([":2:default of $", ":9:", ":127.0.1.1:other $1", ":3"])
            elif chance < 0.17:
                line = self.random.choice(special)
            elif chance < 0.32 and exclusion is not None:
                line = f"!{self.blanks()}{exclusion()}{self.random.choice(['', '  # why', ' and text'])}"
            else:
                line = f"{self.blanks()}{entry()}{self.blanks()}{self.random.choice(values)}"
            lines.append(line)
        return lines

    def ip4set(self, count):
        return self.lines(count, self.entry4, [*BAD4, "0/0"], exclusion=self.entry4, special=SPECIAL4)

    def ip4trie(self, count):
        def entry():
            return self.random.choice([self.address4, self.prefix4, self.prefix4, self.short_trie, self.host_bits4])()
        return self.lines(count, entry, BAD4, exclusion=entry, special=SPECIAL4)

    def short_trie(self):
        return ".".join(self.random.choice(NETWORKS4).split(".")[:self.random.choice([2, 3])])

    def ip4tset(self, count):
        return self.lines(count, self.address4, BAD4, values=["", "", " passed over", "\t:9:text", "#comment"])

    def ip6trie(self, count):
        return self.lines(count, self.prefix6, BAD6, exclusion=self.prefix6,
                          values=["", "", " :2", " :3:three of $", " # comment", " text $", "\t=whole $"])

    def ip6tset(self, count):
        return self.lines(count, self.half6, BAD6, exclusion=self.exact6, values=["", " passed over", " # comment"])

    def combined(self, count):
        lines = ["$1 one for all", "$TTL 11m"]
        for number in range(5):
            kind = self.random.choice(["ip4set", "ip4trie", "ip4tset", "ip6trie", "ip6tset"])
            zones = self.random.sample(["@", "spam", "old.Spam", "six"], self.random.randrange(1, 4))
            mark = self.random.choice(["$DATASET", "$dataset", "#$DATASET", ";$Dataset"])
            name = self.random.choice(["", f":d{number}"])
            blank = self.random.choice([" ", "\t", "  "])
            lines += [f"{mark} {kind}{name}{blank}{' '.join(zones)}{self.random.choice(['', ' # sub-zones'])}",
                      *getattr(self, kind)(count // 5)]
        return lines


class SameAnswers(RbldnsdTest):
    def setUp(self):
        super().setUp()
        os.chmod(self.directory, 0o755)

    def make(self, name, lines):
        return self.write(name, self.random.choice(["", "\n", "# a list\n"]) + "\n".join(lines) + "\n")

    def make_files(self, number):
        lists = Lists(self.random)
        files = {}
        for kind in ("ip4set", "ip4trie", "ip4tset", "ip6trie", "ip6tset", "combined"):
            for half in "ab":
                made = getattr(lists, kind)(20 + 20 * number)
                files.setdefault(kind, []).append(self.make(f"{kind}-{half}", made))
        return files

    def serve_migrated(self, datasets, flags):
        address = self.free_address()
        config, server = self.path("zones.conf"), self.path("dnsblv6d.conf")
        for path in (config, server, self.path("bl6.example.mdb"), self.path("bl6.example.mdb-lock")):
            if os.path.exists(path):
                os.unlink(path)
        line = " ".join(["rbldnsd", "-n", *flags, "-b", "{}/{}".format(*address), *datasets])
        self.run_zone("migrate", line, "--unsigned", "--ns", "ns1.example.net.", "--output", config, "--server", server,
                      "--stores", self.directory)
        self.run_zone("build", "bl6.example", "--config", config, "--max-listed", "100")
        with open(server, encoding="ascii") as file:
            text = file.read()
        self.write("dnsblv6d.conf", text.replace("server:\n", "server:\n    rate-limit: 0\n", 1))
        ours = harness.Server(server, address, self.path(f"dnsblv6d-{len(self.processes)}.log"))
        self.processes.append(ours)
        return ours.wait_until_ready().address

    def networks6(self, paths):
        """What an ip6tset has in groups alone is a /64."""
        found = []
        for path in paths:
            with open(path, encoding="ascii") as file:
                texts = re.findall(r"(?m)^\s*!?\s*([0-9a-f]+:[0-9a-fA-F:]*(?:/\d+)?)", file.read())
            for text in texts:
                text = text if "::" in text or text.count(":") == 7 else text + "::/64"
                try:
                    found.append(ipaddress.ip_network(text, strict=False))
                except ValueError:
                    pass  # a line that is bad
        return found

    def names(self, files):
        paths = [path for kind in files for path in files[kind]]
        ranges = read_ranges(path for path in paths if "ip6" not in path)
        origins = [CLASSIC, CLASSIC, *(f"{zone}.{CLASSIC}" for zone in ("spam", "old.spam", "six", "none"))]
        numbers = [n for n in addresses4(self.random, ranges, QUESTIONS * 2 // 3 // ROUNDS) if n not in TEST_POINTS]
        names = [name4(number % ALL_IPV4, self.random.choice(origins)) for number in numbers]
        return names + [name6(number, self.random.choice(origins))
                        for number in addresses6(self.random, QUESTIONS // 3 // ROUNDS, self.networks6(paths))]

    def test_random_lists(self):
        total = 0
        for number in range(ROUNDS):
            files = self.make_files(number)
            datasets = [f"bl.example:{kind}:{','.join(paths)}" for kind, paths in files.items()]
            flags = self.random.choice([[], ["-e"]])
            theirs = rbldnsd.start_rbldnsd(self, *flags, *datasets)
            ours = self.serve_migrated(datasets, flags)
            total += self.compare(self.names(files), (theirs, ours))
            for process in self.processes:
                process.stop()
        self.assertGreater(total, QUESTIONS // 10)


if __name__ == "__main__":
    main()
