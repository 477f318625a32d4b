// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// random.hh - random addresses and names that are unlike uniform ones: runs of
// zeros, ones and repeated groups, where mistakes live.
//
//     const auto seed = RANDOM_SEED(100); // of seeds.hh
//     CAPTURE(seed);
//     randomness rnd(seed);

#include "lib/format/address.h"

#include <cstdint>
#include <random>
#include <vector>

class randomness
{
      public:
	explicit randomness(unsigned seed) : engine_(seed)
	{
	}

	// 0 to count - 1.
	unsigned below(unsigned count)
	{
		return static_cast<unsigned>(engine_() % count);
	}
	bool one_in(unsigned count)
	{
		return below(count) == 0;
	}
	uint32_t ipv4()
	{
		uint32_t ipv4 = 0;
		for (int i = 0; i < 4; i++)
			ipv4 = ipv4 << 8 | part(0xff);
		return ipv4;
	}
	// IPv6, by chance IPv4-mapped only once in 2^48.
	dnsblv6_addr ipv6()
	{
		dnsblv6_addr addr = { 0, 0 };
		for (int i = 0; i < 4; i++) {
			addr.hi = addr.hi << 16 | part(0xffff);
			addr.lo = addr.lo << 16 | part(0xffff);
		}
		return dnsblv6_addr_is_ipv4(addr) ? dnsblv6_addr{ 1, 1 } : addr;
	}
	dnsblv6_addr addr()
	{
		return one_in(2) ? dnsblv6_addr_from_ipv4(ipv4()) : ipv6();
	}
	// Labels in wire form, at most size_max bytes, of awkward bytes.
	std::vector<uint8_t> labels(unsigned size_max)
	{
		static const uint8_t awkward[] = { 0, 1, 2, '.', '*', '@', '\\', 'A', 'a', '0' };
		std::vector<uint8_t> wire;
		for (unsigned count = below(7); count > 0; count--) {
			const unsigned size = one_in(8) ? 63 : 1 + below(4);
			if (wire.size() + 1 + size > size_max)
				break;
			wire.push_back(static_cast<uint8_t>(size));
			for (unsigned i = 0; i < size; i++)
				wire.push_back(one_in(3) ? static_cast<uint8_t>(below(256))
							 : awkward[below(sizeof(awkward))]);
		}
		return wire;
	}

      private:
	unsigned part(unsigned max)
	{
		switch (below(4)) {
		case 0:
			return 0;
		case 1:
			return max;
		default:
			return static_cast<unsigned>(engine_()) & max;
		}
	}

	std::mt19937_64 engine_;
};
