/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program in C++ that uses libdnsblv6, as somebody writes it who has read
 * dnsblv6.h and libdnsblv6(3). test_install.py compiles it against what is installed.
 */
#include <dnsblv6.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace
{

class Client
{
      public:
	explicit Client(const std::string &zones)
	{
		dnsblv6 *made = nullptr;
		if (dnsblv6_new(&made) < 0)
			throw std::runtime_error("no memory");
		handle.reset(made);
		set("zones", zones);
		if (const char *servers = std::getenv("DNSBLV6_SERVERS"))
			set("servers", servers);
		if (dnsblv6_start(made) < 0)
			throw std::runtime_error(dnsblv6_error(made));
	}

	dnsblv6_result check(const std::string &address)
	{
		dnsblv6_ip ip;
		dnsblv6_result result;
		if (dnsblv6_ip_parse(address.c_str(), &ip) < 0)
			throw std::invalid_argument(address);
		int ret = dnsblv6_check(handle.get(), &ip, 5000, &result);
		if (ret < 0)
			throw std::runtime_error(dnsblv6_strerror(ret));
		return result;
	}

      private:
	struct Free {
		void operator()(dnsblv6 *client) const
		{
			dnsblv6_free(client);
		}
	};

	void set(const std::string &key, const std::string &value)
	{
		if (dnsblv6_set(handle.get(), key.c_str(), value.c_str()) < 0)
			throw std::runtime_error(dnsblv6_error(handle.get()));
	}

	std::unique_ptr<dnsblv6, Free> handle;
};

} // namespace

int main(int argc, char **argv)
try {
	if (argc < 3)
		return 64;
	Client client(argv[1]);
	for (const std::string &address : std::vector<std::string>(argv + 2, argv + argc)) {
		dnsblv6_result result = client.check(address);
		std::printf("%s: %s, score %d\n", address.c_str(),
			    dnsblv6_verdict_name(result.verdict), result.score);
	}
	return 0;
} catch (const std::exception &error) {
	std::fprintf(stderr, "%s\n", error.what());
	return 70;
}
