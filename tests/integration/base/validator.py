# SPDX-License-Identifier: GPL-3.0-or-later
"""
validator.py - whether an answer of a signed zone proves what it says.

Flow: test_update_live.py and soak.py put the answers in that they got during changes.

Needs python3-dnspython and python3-cryptography.
"""

import dns.dnssec
import dns.message
import dns.name
import dns.rdatatype
import dns.rrset

from harness import NXDOMAIN, ZONE

ZONE_NAME = dns.name.from_text(ZONE)


class Validator:
    """Signatures and proofs of answers, by the DNSKEY of a zone. A signature is computed once."""

    def __init__(self, dnskey_line):
        name, _, _, rdata = dnskey_line.split(" ", 3)
        keys = dns.rrset.from_text(name, 2100, "IN", "DNSKEY", rdata)
        self.keys = {ZONE_NAME: keys}
        self.seen = set()

    def check(self, wire, name):
        """Raises what is wrong with an answer to name AAAA."""
        message = dns.message.from_wire(wire)
        qname = dns.name.from_text(name)
        nsecs, is_expanded = [], False
        for section in (message.answer, message.authority):
            for rrset in section:
                if rrset.rdtype == dns.rdatatype.RRSIG:
                    continue
                signature = self._validate(section, rrset)
                is_expanded |= signature.labels < len(rrset.name) - 1
                if rrset.rdtype == dns.rdatatype.NSEC:
                    nsecs.append(rrset)
        if message.rcode() == NXDOMAIN:
            encloser = self._covers(nsecs, qname)
            self._covers(nsecs, dns.name.Name([b"*"]) + encloser)
        elif is_expanded:
            self._covers(nsecs, qname)
        elif not message.answer:
            raise ValueError("neither an answer nor NXDOMAIN")

    def _validate(self, section, rrset):
        for signatures in section:
            if (signatures.rdtype == dns.rdatatype.RRSIG and signatures.name == rrset.name
                    and signatures.covers == rrset.rdtype):
                break
        else:
            raise ValueError(f"no signature for {rrset.name} {rrset.rdtype}")
        key = (rrset.to_text(), signatures.to_text())
        if key not in self.seen:
            dns.dnssec.validate(rrset, signatures, self.keys)
            self.seen.add(key)
        return signatures[0]

    @staticmethod
    def _covers(nsecs, name):
        """The closest encloser of name that the NSEC over it tells of."""
        for rrset in nsecs:
            following = rrset[0].next
            if rrset.name < name and (name < following or following == ZONE_NAME):
                shared = max(name.fullcompare(other)[2] for other in (rrset.name, following))
                return name.split(shared)[1]
        raise ValueError(f"nothing denies {name}")
