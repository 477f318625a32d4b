// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// zone_rbldnsd.hh - texts of rbldnsd's lists, and what is said about them.
//
// What is expected here was seen in answers of Debian's rbldnsd, not read in its manual:
// tests/integration/answers/test_rbldnsd.py asks both. docs/rbldnsd.md lists the differences.

struct sample {
	const char *text;
	const char *meaning;
};

static const char NOT_IPV4[] = "not an IPv4 address";
static const char NOT_IPV6[] = "not an IPv6 address";
static const char ENDS[] = "ends of the range have different numbers of octets";
static const char MAPPED[] = "IPv4-mapped address; list it in an IPv4 dataset";
