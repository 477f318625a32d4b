// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// xdp_program.hh - the program in the network driver in the kernel of this machine, with maps filled
// from the arrays of xdp_fixture.hh, and packets that it is run with.
//
//     xdp_program program;
//     if (!program.is_loaded()) { SUCCEED(program.reason()); return; }
//     program.fill(memory);
//     auto [action, packet] = program.run(xdp_frame(query).packet());
//
// Nothing is attached anywhere: the kernel runs it with bytes of ours.

#include "server/xdp-kernel/answer.skel.h"
#include "tests/unit/server/xdp-kernel/xdp_fixture.hh"

#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <sys/mman.h>
#include <unistd.h>

enum : uint16_t { XDP_PORT = 53, XDP_CLIENT_PORT = 40000 };
enum : uint32_t { XDP_LOOPBACK = 1 }; // the interface that the kernel says such packets are from

// ---- packets ----

inline bytes mac_of(uint8_t last)
{
	return { 2, 0, 0, 0, 0, last };
}

// The sum of RFC 1071 over size bytes: 0xffff when a checksum in them is right.
inline uint32_t sum_words(const bytes &data, uint32_t sum = 0)
{
	for (size_t i = 0; i < data.size(); i += 2)
		sum += static_cast<uint32_t>(data[i]) << 8 |
		       (i + 1 < data.size() ? data[i + 1] : 0U);
	while (sum > 0xffff)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

inline bytes part(const bytes &whole, size_t from, size_t size)
{
	const auto begin = whole.begin() + static_cast<long>(from);
	return { begin, begin + static_cast<long>(size) };
}

// A message around which there is a packet.
struct xdp_frame {
	bytes message;
	std::vector<uint16_t> tags; // types of the VLAN tags
	bool is_ipv6 = false;
	bytes to_mac = mac_of(1);
	bytes from_mac = mac_of(2);
	std::string to = "192.0.2.53";
	std::string from = "198.51.100.7";
	uint16_t port = XDP_PORT;
	uint16_t client_port = XDP_CLIENT_PORT;
	uint8_t protocol = 17;
	uint8_t words = 5; // of an IPv4 header
	uint16_t fragment = 0x4000;
	uint16_t ip_error = 0; // added to the checksum of IPv4
	uint16_t udp_more = 0; // more than there is, says UDP
	bytes padding;	       // behind IP

	explicit xdp_frame(bytes m) : message(std::move(m))
	{
	}
	xdp_frame &six()
	{
		is_ipv6 = true;
		to = "2001:db8::53";
		from = "2001:db8:1:2::7";
		return *this;
	}
	static bytes address(const std::string &text)
	{
		bytes out(16);
		dnsblv6_addr_to_bytes(addr(text), out.data());
		return out;
	}
	// The sum of what UDP adds of IP.
	static uint32_t pseudo(const bytes &from, const bytes &to, size_t udp_size)
	{
		return sum_words(to, sum_words(from, static_cast<uint32_t>(17 + udp_size)));
	}
	size_t link_size() const
	{
		return 14 + 4 * tags.size();
	}
	size_t ip_size() const
	{
		return is_ipv6 ? 40 : words * 4U;
	}
	bytes packet() const
	{
		bytes out = to_mac;
		dns::append(out, from_mac);
		for (uint16_t tag : tags) {
			dns::put16(out, tag);
			dns::put16(out, 42);
		}
		dns::put16(out, is_ipv6 ? 0x86dd : 0x0800);
		size_t udp_size = 8 + message.size();
		dns::append(out, is_ipv6 ? ipv6(udp_size) : ipv4(udp_size));
		bytes udp;
		dns::put16(udp, client_port);
		dns::put16(udp, port);
		dns::put16(udp, static_cast<unsigned>(udp_size + udp_more));
		dns::put16(udp, 0);
		dns::append(udp, message);
		uint32_t sum = sum_words(udp, pseudo(address(from), address(to), udp_size));
		udp[6] = static_cast<uint8_t>(~sum >> 8);
		udp[7] = static_cast<uint8_t>(~sum);
		dns::append(out, udp);
		dns::append(out, padding);
		return out;
	}

      private:
	bytes ipv4(size_t udp_size) const
	{
		bytes out = { static_cast<uint8_t>(0x40 | words), 0x10 };
		dns::put16(out, static_cast<unsigned>(ip_size() + udp_size));
		dns::put16(out, 0xbeef);
		dns::put16(out, fragment);
		out.push_back(17);
		out.push_back(protocol);
		dns::put16(out, 0);
		dns::append(out, part(address(from), 12, 4));
		dns::append(out, part(address(to), 12, 4));
		out.resize(ip_size(), 1);
		uint32_t sum = ~sum_words(out) + ip_error;
		out[10] = static_cast<uint8_t>(sum >> 8);
		out[11] = static_cast<uint8_t>(sum);
		return out;
	}
	bytes ipv6(size_t udp_size) const
	{
		bytes out = { 0x60, 0x12, 0x34, 0x56 };
		dns::put16(out, static_cast<unsigned>(udp_size));
		out.push_back(protocol);
		out.push_back(17);
		dns::append(out, address(from));
		dns::append(out, address(to));
		return out;
	}
};

// The message of an answer to frame. Throws when anything around it is not as it must be.
inline bytes message_of(const xdp_frame &frame, const bytes &packet)
{
	auto must = [](bool is_so, const char *what) {
		if (!is_so)
			throw std::runtime_error(what);
	};
	bytes asked = frame.packet();
	size_t at = frame.link_size();
	must(packet.size() >= at + frame.ip_size() + 8, "too short");
	must(part(packet, 0, 6) == frame.from_mac && part(packet, 6, 6) == frame.to_mac, "MACs");
	must(part(packet, 12, at - 12) == part(asked, 12, at - 12), "tags and type");
	bytes ip = part(packet, at, frame.ip_size());
	bytes udp = part(packet, at + ip.size(), packet.size() - at - ip.size());
	bytes from = frame.address(frame.from);
	bytes to = frame.address(frame.to);
	if (frame.is_ipv6) {
		must(part(ip, 0, 4) == bytes({ 0x60, 0, 0, 0 }), "class and flow");
		must(ip[4] * 256U + ip[5] == udp.size(), "size of IPv6");
		must(ip[6] == 17 && ip[7] == 64, "protocol and hops");
		must(part(ip, 8, 16) == to && part(ip, 24, 16) == from, "addresses");
	} else {
		must(ip[0] == 0x45 && ip[1] == 0, "version and service");
		must(ip[2] * 256U + ip[3] == ip.size() + udp.size(), "size of IPv4");
		must(ip[6] == 0 && ip[7] == 0 && ip[8] == 64 && ip[9] == 17, "middle of IPv4");
		must(sum_words(ip) == 0xffff, "checksum of IPv4");
		must(part(ip, 12, 4) == part(to, 12, 4) && part(ip, 16, 4) == part(from, 12, 4),
		     "addresses");
	}
	must(udp[0] * 256U + udp[1] == frame.port && udp[2] * 256U + udp[3] == frame.client_port,
	     "ports");
	must(udp[4] * 256U + udp[5] == udp.size(), "size of UDP");
	must(udp[6] != 0 || udp[7] != 0, "no checksum");
	must(sum_words(udp, frame.pseudo(from, to, udp.size())) == 0xffff, "checksum of UDP");
	return part(udp, 8, udp.size() - 8);
}

// ---- the program ----

class xdp_program
{
      public:
	explicit xdp_program(uint32_t line_count = 40000, uint32_t mtu = 1500) : mtu_(mtu)
	{
		if (geteuid() != 0) {
			reason_ = "only root loads a program into the kernel";
			return;
		}
		libbpf_set_print(nullptr);
		skeleton_ = answer_bpf__open();
		if (skeleton_ == nullptr)
			throw std::runtime_error("no program");
		processors_ = static_cast<uint32_t>(libbpf_num_possible_cpus());
		bpf_map__set_max_entries(skeleton_->maps.lines, line_count);
		bpf_map__set_max_entries(skeleton_->maps.counts, processors_ * (XDP_ZONES_MAX + 1));
		int ret = answer_bpf__load(skeleton_);
		// What the verifier refuses is an error; a kernel that has no BPF for us is none.
		if (ret == -EPERM || ret == -ENOSYS)
			reason_ = "no BPF here";
		else if (ret != 0)
			throw std::runtime_error("not loaded: " + std::to_string(ret));
	}
	~xdp_program()
	{
		for (const auto &[at, size] : mapped_)
			munmap(at, size);
		answer_bpf__destroy(skeleton_);
	}
	xdp_program(const xdp_program &) = delete;
	xdp_program &operator=(const xdp_program &) = delete;

	bool is_loaded() const
	{
		return reason_.empty();
	}
	const std::string &reason() const
	{
		return reason_;
	}
	int fd() const
	{
		return bpf_program__fd(skeleton_->progs.dnsblv6_answer);
	}
	// The maps become what memory has, with leases that do not end; links and addresses are ours.
	void fill(const xdp_memory &memory)
	{
		xdp_config config = memory.config();
		config.until_ns = UINT64_MAX;
		config.link_count = 1;
		config.links[0] = { XDP_LOOPBACK, mtu_, { 2, 0, 0, 0, 0, 1 }, {} };
		config.address_count = 2;
		for (const char *text : { "192.0.2.53", "2001:db8::53" }) {
			xdp_address &address = config.addresses[text[0] == '2'];
			address.port = htons(XDP_PORT);
			dnsblv6_addr_to_bytes(addr(text), address.bytes);
		}
		set_config(config);
		for (uint32_t i = 0; i < XDP_ZONES_MAX; i++) {
			xdp_zone zone = memory.zone(i);
			zone.until_ns = zone.until_ns != 0 ? UINT64_MAX : 0;
			set(skeleton_->maps.zones, i, zone);
		}
		const size_t size = memory.native.line_count * sizeof(xdp_line);
		void *lines = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED,
				   bpf_map__fd(skeleton_->maps.lines), 0);
		if (lines == MAP_FAILED)
			throw std::runtime_error("lines are not mapped");
		memcpy(lines, memory.native.lines, size);
		munmap(lines, size);
	}
	// The maps in memory, until the program is gone; they have what line_count says.
	tables_arrays map(uint32_t line_count)
	{
		tables_arrays out = {};
		out.config = map_one<xdp_config>(skeleton_->maps.config, 1);
		out.zones = map_one<xdp_zone>(skeleton_->maps.zones, XDP_ZONES_MAX);
		out.lines = map_one<xdp_line>(skeleton_->maps.lines, line_count);
		out.line_count = line_count;
		return out;
	}
	xdp_config config() const
	{
		uint32_t first = 0;
		xdp_config out;
		bpf_map_lookup_elem(bpf_map__fd(skeleton_->maps.config), &first, &out);
		return out;
	}
	void set_config(const xdp_config &config)
	{
		set(skeleton_->maps.config, 0, config);
	}
	// Of all processors; number XDP_ZONES_MAX is the line of no zone.
	xdp_counts counts(uint32_t number) const
	{
		uint64_t sums[sizeof(xdp_counts) / 8] = {};
		for (uint32_t i = 0; i < processors_; i++) {
			uint32_t key = i * (XDP_ZONES_MAX + 1) + number;
			uint64_t line[sizeof(xdp_counts) / 8];
			bpf_map_lookup_elem(bpf_map__fd(skeleton_->maps.counts), &key, line);
			for (size_t j = 0; j < sizeof(sums) / sizeof(sums[0]); j++)
				sums[j] += line[j];
		}
		xdp_counts out;
		memcpy(&out, sums, sizeof(out));
		return out;
	}

	struct outcome {
		uint32_t action;
		bytes packet;
		uint32_t duration_ns;
	};
	outcome run(const bytes &packet) const
	{
		uint8_t out[4096];
		bpf_test_run_opts opts = {};
		opts.sz = sizeof(opts);
		opts.data_in = packet.data();
		opts.data_size_in = static_cast<uint32_t>(packet.size());
		opts.data_out = out;
		opts.data_size_out = sizeof(out);
		int ret = bpf_prog_test_run_opts(fd(), &opts);
		if (ret != 0)
			throw std::runtime_error("not run: " + std::to_string(ret));
		return { opts.retval, bytes(out, out + opts.data_size_out), opts.duration };
	}

	// As xdp_memory::ask(), by the program in the kernel.
	long ask(const bytes &wire, bytes &ret_answer)
	{
		xdp_frame frame(wire);
		outcome out = run(frame.packet());
		ret_answer.clear();
		if (out.action == XDP_PASS)
			return XDP_NATIVE_PASS;
		if (out.action == XDP_DROP)
			return XDP_NATIVE_DROP;
		ret_answer = message_of(frame, out.packet);
		return static_cast<long>(ret_answer.size());
	}

      private:
	answer_bpf *skeleton_ = nullptr;
	std::string reason_;
	uint32_t processors_ = 0;
	uint32_t mtu_;
	std::vector<std::pair<void *, size_t>> mapped_;

	template <typename T> T *map_one(bpf_map *map, size_t count)
	{
		void *at = mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED,
				bpf_map__fd(map), 0);
		if (at == MAP_FAILED)
			throw std::runtime_error("no map in memory");
		mapped_.emplace_back(at, count * sizeof(T));
		return static_cast<T *>(at);
	}
	template <typename T> void set(bpf_map *map, uint32_t number, const T &value)
	{
		if (bpf_map_update_elem(bpf_map__fd(map), &number, &value, BPF_ANY) != 0)
			throw std::runtime_error("map is not written");
	}
};
