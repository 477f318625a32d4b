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
import os
import socket

import harness
import masterfile
from harness import A, AAAA, NOERROR, NXDOMAIN, REFUSED, TXT
from rbldnsd import RbldnsdTest, name6

MX = 15
HINFO = 13
# Of each type, over all lists.
QUESTIONS = int(os.environ.get("DNSBLV6_QUESTIONS", 5_000 if harness.IS_SANITIZED else 20_000))
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
    data = re.sub(rb"\\(\d{3}|.)", lambda found: bytes([int(found[1])]) if len(found[1]) == 3
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


def mail_hosts(reply):
    """(preference, name) of each MX: names may be compressed, each server's way."""
    found = []
    for record in reply.answer:
        at = reply.wire.index(record.rdata)
        found.append((record.rdata[:2], reply._name(at + 2)[0]))
    return sorted(found)


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
        ends = [harness.wire_name(origin) for origin in origins]

        def are_alike(name, their, our):
            name = name.lower()
            return their == our or is_empty(their, our) and any(
                name.endswith(end) and name[:-len(end)] in existing for end in ends)

        return self.compare(names, addresses, rrtypes, 4, are_alike)


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


class Named(NamesTest):
    """What docs/rbldnsd.md says of names and clients, where questions at random do not show it."""

    def start_with(self, kind, content, *more):
        path = self.write(f"list{len(self.processes)}", content)
        self.addresses = self.start_both([f"{kind}:{path}", *more])

    def answers(self, name, rrtype=A, **how):
        full_name = f"{name}.{harness.CLASSIC}" if name else harness.CLASSIC
        return [harness.ask(address, full_name, rrtype, **how) for address in self.addresses]

    def test_generic_records_of_all_types(self):
        self.start_with("generic", "$SOA 0 ns.example.net h.example.net 1 2h 1h 1w 1h\n"
                        "$NS 0 ns.example.net\n@ A 192.0.2.7\n@ MX 5 mx.example.net\n"
                        "www A 192.0.2.8\nwww MX 10 mx.example.net\nwww MX 20 mx2.example.org\n")
        for name in ("", "www", "none", "x.www"):
            for rrtype in (A, TXT, MX, AAAA):
                with self.subTest(name=name, rrtype=rrtype):
                    their, our = self.answers(name, rrtype)
                    self.assertEqual(their.rcode, our.rcode)
                    self.assertEqual([r.ttl for r in their.answer], [r.ttl for r in our.answer])
                    if rrtype == MX:
                        self.assertEqual(mail_hosts(their), mail_hosts(our))
                    else:
                        self.assertEqual(their.rdata(rrtype), our.rdata(rrtype))

    def test_exclusions_below_a_wildcard_exist(self):
        self.start_with("dnset", "*.com\n!.no.com\n!here.com\n")
        for name, expected in (("no.com", [NXDOMAIN, NOERROR]), ("x.no.com", [NXDOMAIN] * 2),
                               ("here.com", [NXDOMAIN, NOERROR]), ("x.here.com", [NOERROR] * 2)):
            with self.subTest(name):
                their, our = self.answers(name)
                self.assertEqual([their.rcode, our.rcode], expected)
                self.assertEqual(len(their.answer), len(our.answer))
        self.assertEqual([len(reply.answer) for reply in self.answers("no.com", HINFO)], [0, 1])

    def test_names_of_more_labels_than_an_address_are_listed(self):
        many = "a." * 40
        self.start_with("dnset", f".spam.example\n{many}other.example\n")
        for name in (f"{many}spam.example", f"{many}other.example"):
            with self.subTest(name):
                self.assertEqual([reply.rdata(A) for reply in self.answers(name)], [[b"\x7f\0\0\2"]] * 2)

    def test_points_of_lists_of_names(self):
        self.start_with("dnset", "example.com\n")
        self.assertEqual([reply.rcode for reply in self.answers("test")], [NXDOMAIN, NOERROR])
        self.assertEqual([reply.rcode for reply in self.answers("invalid")], [NXDOMAIN] * 2)

    def ask_from(self, source, address, name, rrtype=A):
        """None when there is silence; that is decided by a second question that is answered."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            udp.bind((source, 0))
            udp.connect(address)
            udp.settimeout(harness.DEADLINE_S)
            udp.send(harness.query(name, rrtype, 1))
            if source in self.ignored:
                # Both servers answer in order: what has no zone is refused, so the first was dropped.
                udp.send(harness.query("elsewhere.test.", rrtype, 2))
            reply = harness.Reply(udp.recv(65535))
            return reply if reply.id == 1 else None

    ACL = ("$TTL 90\n127.9.0.0/16 :refuse\n127.9.1.0/24 :pass\n127.9.2.1 =empty\n"
           "127.9.3.1 :127.0.0.99:all listed, $\n127.9.4.1\n127.9.5.1 :blackhole\n"
           "::1 :refuse\n:7:by default $\n127.9.6.1\n127.9.7.1 text $ of it\n127.9.8.1 :8\n"
           "127.9.8.1 :refuse\n=empty\n127.9.10.1\n")
    CLIENTS = [f"127.9.{number}.1" for number in range(11)] + ["127.8.0.1"]
    ignored = ("127.9.4.1", "127.9.5.1")

    def compare_clients(self, names, rrtypes=(A, TXT)):
        for client in self.CLIENTS:
            for name in names:
                for rrtype in rrtypes:
                    full_name = f"{name}.{harness.CLASSIC}"
                    with self.subTest(client=client, name=name, rrtype=rrtype):
                        their, our = [self.ask_from(client, address, full_name, rrtype)
                                      for address in self.addresses]
                        self.assertEqual(their is None, our is None)
                        if their is None:
                            continue
                        self.assertEqual(their.rcode, our.rcode)
                        self.assertEqual([(r.type, r.ttl, r.rdata) for r in their.answer],
                                         [(r.type, r.ttl, r.rdata) for r in our.answer])

    def test_clients_of_addresses(self):
        acl = self.write("acl", self.ACL)
        self.start_with("ip4set", "192.0.2.1 :3:listed $\n", f"acl:{acl}")
        self.compare_clients(["1.2.0.192", "2.2.0.192", "256.2.0.192", "x.1.2.0.192", "com",
                              name6(int(harness.ip("::ffff:192.0.2.9")), "x")[:-2],
                              name6(int(harness.ip("2600::9")), "x")[:-2]])

    def test_clients_of_names(self):
        acl = self.write("acl", self.ACL)
        self.start_with("dnset", ".com :3:listed $\n", f"acl:{acl}")
        self.compare_clients(["com", "x.com", "net", "x.y.net"])

    def test_an_acl_alone_is_no_zone(self):
        acl = self.write("acl", self.ACL)
        refused = self.build(self.path("none.mdb"), f"acl:{acl}", expect=harness.EX_DATAERR)
        self.assertIn("error: zone refused (an acl alone lists nothing)", refused.err)

    def test_clients_that_are_dumped_are_the_same_list(self):
        listed = self.write("list", "192.0.2.1\n")
        texts = []
        acl = self.write("acl", self.ACL + "10.0.0.0/8 :pass\n2001:db8::/33 =refuse\n::/0 =empty\n")
        for turn in ("one", "two"):
            self.build(self.path(f"{turn}.mdb"), listed, f"acl:{acl}")
            texts.append(self.run_zone("dump", "--store", self.path(f"{turn}.mdb"),
                                       "--clients").out)
            acl = self.write(f"acl-{turn}", texts[-1])
        self.assertEqual(texts[0], texts[1])
        self.assertIn("127.9.3.1 :127.0.0.99:all listed, $\n", texts[0])

    def test_what_clients_are_told_of_the_bitmap_zone(self):
        acl = self.write("acl", self.ACL)
        self.start_with("ip4set", "192.0.2.1\n", f"acl:{acl}")
        name = harness.bitmap_name(harness.ip("192.0.2.1"))
        for client in self.CLIENTS:
            with self.subTest(client):
                reply = self.ask_from(client, self.addresses[1], name, AAAA)
                if client in self.ignored:
                    self.assertIsNone(reply)
                    continue
                passes = client in ("127.9.1.1", "127.8.0.1")
                self.assertEqual(reply.rcode, NOERROR if passes else REFUSED)
                self.assertEqual(len(reply.answer), passes)

    def test_records_are_not_told_from_names_to_a_client_that_sees_nothing(self):
        acl = self.write("acl", self.ACL)
        self.start_with("generic", "www A 192.0.2.8\n", f"acl:{acl}")
        name = f"www.{harness.CLASSIC}"
        their, our = [self.ask_from("127.9.2.1", address, name) for address in self.addresses]
        self.assertEqual([their.rcode, our.rcode], [NOERROR, NXDOMAIN])

    def test_the_apex_is_told_to_all_who_are_answered(self):
        acl = self.write("acl", self.ACL)
        self.start_with("dnset", "$SOA 0 ns.example.net h.example.net 1 2h 1h 1w 1h\ncom\n",
                        f"acl:{acl}")
        for client in ("127.9.2.1", "127.9.3.1"):
            for address in self.addresses:
                reply = self.ask_from(client, address, harness.CLASSIC, harness.SOA)
                self.assertEqual((reply.rcode, len(reply.answer)), (NOERROR, 1))


class Signed(masterfile.DumpCase):
    """Names in a signed zone: for verifiers, and beside Knot that serves the same master file."""

    def make_lists(self, names):
        lines = ["$DATASET dnset @", "$1 one", *dnset_lines(self.random, names, 150),
                 "$DATASET generic @ sub.zone", *generic_lines(self.random, names, 40),
                 "$DATASET dnset sub.zone", *dnset_lines(self.random, names, 80),
                 "$DATASET ip4set @", "192.0.2.1", "198.51.100.0/24"]
        return f"combined:{self.write('names', chr(10).join(lines) + chr(10))}"

    def test_verifiers_and_knot_agree(self):
        names = []
        zonefile = self.dump("--key", self.keygen(), self.make_lists(names))
        self.verify(zonefile)
        knot = self.start_knot(zonefile)
        server = self.serve([(harness.ZONE, self.path("bl6.mdb"), None)])
        asked = names_about(self.random, names, [harness.ZONE, f"sub.zone.{harness.ZONE}"], 4000)
        # For a name that begins with an asterisk and is none of the zone, Knot leaves the proof out.
        asked = [name for name in asked if not name.startswith(b"\x01*")]
        questions = [(name, self.random.choice((A, TXT, AAAA, HINFO))) for name in asked]
        pairs = zip(questions, harness.ask_all(server.address, questions, **masterfile.DO),
                    harness.ask_all(knot, questions, window=64, **masterfile.DO))
        different = [(question, masterfile.proof(ours), masterfile.proof(theirs))
                     for question, ours, theirs in pairs
                     if masterfile.proof(ours) != masterfile.proof(theirs)]
        self.assertEqual(different[:3], [], f"{len(different)} of {len(questions)} differ")

    def dump_names(self, store):
        """The records of domain names, out of the master file."""
        lines = self.run_zone("dump", "--store", store, "--zonefile").out.splitlines()
        return [line for line in lines if re.search(r"\t(A|TXT|MX|HINFO)\t", line)
                and "_dnsblv6." not in line]

    def test_an_update_of_addresses_leaves_names_alone(self):
        for style in ("dotted", "flat"):  # "de" and "ad" are among the flat names of addresses
            with self.subTest(style):
                store = self.path(f"{style}.mdb")
                more = self.write("more", "222.0.0.0/11\n")
                names = self.write("tops", "$DATASET dnset @\n.de :3\nx.y.de :4\n*.ad\n")
                key = ["--key", self.keygen(f"{style}.pem")] if style == "dotted" else []
                self.build(store, *key, "--style", style, self.make_lists([]), more,
                           f"combined:{names}")
                before = self.dump_names(store)
                self.assertGreater(len(before), 100)
                self.run_zone("update", "--store", store, *key, "--add", "222.1.2.3",
                              "--add", "222.128.0.0/12", "--remove", "222.16.0.0/13",
                              "--remove", "192.0.2.1")
                self.assertEqual(self.dump_names(store), before)
                self.run_zone("check", "--store", store)
                zonefile = self.path(f"{style}.zone")
                with open(zonefile, "wb") as file:
                    self.run_zone_into(file, "dump", "--store", store, "--zonefile")
                if key:
                    self.verify(zonefile)


if __name__ == "__main__":
    harness.main()
