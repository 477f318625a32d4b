// SPDX-License-Identifier: GPL-3.0-or-later
// A session between a client and a server that are two strings.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "integration/mail/mail-proxy/pop3/popproxy.h"

struct Proxied {
	struct popproxy_limits limits = {};
	struct popproxy proxy = {};
	enum popproxy_status status = POPPROXY_MORE;

	// What the scan finds, and when.
	std::string marker = "VIRUS";
	enum popproxy_action at_end = POPPROXY_ACCEPT;
	std::string header;
	bool is_busy = false;
	bool has_room = true; // of the pool
	unsigned begun = 0;
	unsigned open = 0;
	int holds = 0;
	size_t hold_size = 0;
	size_t hold_most = 0;
	bool ended_whole = false;
	std::string scanned;
	std::map<std::string, std::string> known;
	std::vector<std::string> fates;
	struct popproxy_verdict verdict = {};
	std::string verdict_name;

	explicit Proxied(enum popproxy_stls stls = POPPROXY_STLS_NONE, bool is_scanning = true)
	{
		limits.hostname = "proxy.example.org";
		limits.stls = stls;
		limits.is_scanning = is_scanning;
		limits.hold_first = 1024;
		limits.hold_last = 128;
		limits.errors_max = 3;
		popproxy_init(&proxy, &limits, &calls(), this);
	}
	~Proxied()
	{
		popproxy_deinit(&proxy);
	}
	Proxied(const Proxied &) = delete;
	Proxied &operator=(const Proxied &) = delete;

	// Bytes of both; what goes to the two is put behind these.
	std::string to_client, to_server;
	std::string client_left, server_left;

	// The server says a line when it is asked for one, and what is left of them all the same.
	enum popproxy_status step(const std::string &client, std::string server)
	{
		client_left += client;
		turn();
		while (!server.empty() && popproxy_is_at_server(&proxy) &&
		       status == POPPROXY_MORE) {
			const size_t size = std::min(server.find('\n'), server.size() - 1) + 1;
			server_left += server.substr(0, size);
			server.erase(0, size);
			turn();
		}
		server_left += server;
		return turn();
	}
	std::string client(const std::string &bytes)
	{
		const size_t size = to_server.size();
		step(bytes, "");
		return to_server.substr(size);
	}
	std::string server(const std::string &bytes)
	{
		const size_t size = to_client.size();
		step("", bytes);
		return to_client.substr(size);
	}
	void stls(bool is_fine)
	{
		struct popproxy_io io = begin_io();
		popproxy_stls(&proxy, &io, is_fine);
		end_io(io);
		status = proxy.status;
	}
	enum popproxy_status gone()
	{
		struct popproxy_io io = begin_io();
		status = popproxy_server_gone(&proxy, &io);
		end_io(io);
		return status;
	}
	enum popproxy_status stop()
	{
		struct popproxy_io io = begin_io();
		status = popproxy_stop(&proxy, &io, "Enough", "test");
		end_io(io);
		return status;
	}
	void login()
	{
		step("USER john\r\nPASS secret\r\n", "+OK ready\r\n+OK\r\n+OK in\r\n");
		to_client.clear();
		to_server.clear();
	}

      private:
	enum popproxy_status turn()
	{
		bool has_moved = true;
		while (has_moved) {
			struct popproxy_io io = begin_io();
			status = popproxy_step(&proxy, &io);
			has_moved = end_io(io);
		}
		return status;
	}
	std::vector<uint8_t> client_room = std::vector<uint8_t>(16384);
	std::vector<uint8_t> server_room = std::vector<uint8_t>(16384);

	struct popproxy_io begin_io()
	{
		struct popproxy_io io = {};
		io.client = reinterpret_cast<const uint8_t *>(client_left.data());
		io.client_size = client_left.size();
		io.server = reinterpret_cast<const uint8_t *>(server_left.data());
		io.server_size = server_left.size();
		io.to_client = client_room.data();
		io.to_client_room = client_room.size();
		io.to_server = server_room.data();
		io.to_server_room = server_room.size();
		return io;
	}
	bool end_io(const struct popproxy_io &io)
	{
		client_left.erase(0, io.client_used);
		server_left.erase(0, io.server_used);
		to_client.append(reinterpret_cast<const char *>(client_room.data()),
				 io.to_client_size);
		to_server.append(reinterpret_cast<const char *>(server_room.data()),
				 io.to_server_size);
		return io.client_used + io.server_used + io.to_client_size + io.to_server_size > 0;
	}

	static Proxied *self(void *context)
	{
		return static_cast<Proxied *>(context);
	}
	static bool begin(void *context)
	{
		if (!self(context)->has_room)
			return false;
		self(context)->begun++;
		self(context)->open++;
		self(context)->scanned.clear();
		return true;
	}
	static void push(void *context, const uint8_t *bytes, size_t size)
	{
		self(context)->scanned.append(reinterpret_cast<const char *>(bytes), size);
	}
	static void end(void *context, bool is_whole)
	{
		self(context)->ended_whole = is_whole;
	}
	static bool busy(void *context)
	{
		return self(context)->is_busy;
	}
	static bool has_found(void *context)
	{
		return self(context)->scanned.find(self(context)->marker) != std::string::npos;
	}
	static const struct popproxy_verdict *verdict_of(void *context)
	{
		Proxied *proxied = self(context);
		if (proxied->is_busy)
			return nullptr;
		const bool is_found = has_found(context);
		proxied->verdict_name = is_found ? "Test-Virus in part 2 / a.zip" : "Oddity";
		proxied->verdict = { is_found ? POPPROXY_WITHHOLD : proxied->at_end, is_found,
				     proxied->verdict_name.c_str(), proxied->header.c_str() };
		return &proxied->verdict;
	}
	static void free_scan(void *context)
	{
		self(context)->open--;
	}
	static uint8_t *hold(void *context, uint8_t *old, size_t size)
	{
		Proxied *proxied = self(context);
		proxied->hold_size = size;
		proxied->hold_most = std::max(proxied->hold_most, size);
		if (size == 0) {
			std::free(old);
			proxied->holds--;
			return nullptr;
		}
		proxied->holds += old == nullptr ? 1 : 0;
		return static_cast<uint8_t *>(std::realloc(old, size));
	}
	static bool key(void *, const char *user, const char *uid, const uint8_t *first,
			size_t first_size, uint8_t *ret_key)
	{
		const std::string content(reinterpret_cast<const char *>(first), first_size);
		const std::string all = std::string(user) + "/" +
					(uid != nullptr ? "u" + std::string(uid) : "c" + content);
		const size_t hash = std::hash<std::string>()(all);
		std::memset(ret_key, 0, POPPROXY_KEY_SIZE);
		std::memcpy(ret_key, &hash, sizeof(hash));
		return true;
	}
	static std::string text_of(const uint8_t *key)
	{
		return std::string(reinterpret_cast<const char *>(key), POPPROXY_KEY_SIZE);
	}
	static bool knows(void *context, const uint8_t *key, char *ret_name)
	{
		const auto found = self(context)->known.find(text_of(key));
		if (found == self(context)->known.end())
			return false;
		std::strcpy(ret_name, found->second.c_str());
		return true;
	}
	static void remember(void *context, const uint8_t *key, const char *name)
	{
		self(context)->known[text_of(key)] = name;
	}
	static uint64_t now(void *)
	{
		return 1795000000;
	}
	static void told(void *context, const struct popproxy_mail *mail)
	{
		self(context)->fates.push_back(popproxy_fate_name(mail->fate));
	}
	static const struct popproxy_calls &calls()
	{
		static const struct popproxy_calls table = { begin,	push,	    end,       busy,
							     has_found, verdict_of, free_scan, hold,
							     key,	knows,	    remember,  now,
							     told };
		return table;
	}
};
