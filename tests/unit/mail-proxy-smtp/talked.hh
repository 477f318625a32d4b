// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A session of mail-proxy with a client and a next hop that say what a test wants them to.
#include <cstring>
#include <string>
#include <vector>

#include "integration/mail/mail-proxy/smtp/mailtalk.h"

class Talked
{
      public:
	std::string to_client, to_server, scanned;
	std::vector<std::string> outcomes;
	std::vector<std::string> recipients; // as those that scan see them
	unsigned connections = 0, scans_dropped = 0;
	bool is_connected = false, is_reached = true, is_closed = false, is_tunnel = false;
	bool has_room_to_scan = true;
	size_t hop_room = 16384; // for what goes to it, in a turn
	int verdict = 250;
	mailtalk talk;
	mailtalk_rules rules{};

	explicit Talked(bool is_lmtp = false)
	{
		rules.is_lmtp = is_lmtp;
	}
	void begin()
	{
		mailtalk_init(&talk, &rules);
		go();
	}
	// Greeting and EHLO, with what the next hop offers.
	void greet(const std::string &offers = "250-hop.test\r\n250-8BITMIME\r\n"
					       "250-PIPELINING\r\n250 DSN\r\n")
	{
		begin();
		server("220 hop.test ESMTP\r\n");
		client(rules.is_lmtp ? "LHLO c.test\r\n" : "EHLO c.test\r\n");
		server(offers);
		(void)heard();
		(void)said();
	}
	// MAIL, one RCPT and DATA, all taken.
	void mail(const std::string &recipient = "b@y.test")
	{
		client("MAIL FROM:<a@x.test>\r\n");
		server("250 2.1.0 Ok\r\n");
		client("RCPT TO:<" + recipient + ">\r\n");
		server("250 2.1.5 Ok\r\n");
	}
	void data()
	{
		mail();
		client("DATA\r\n");
		server("354 Go\r\n");
		(void)heard();
		(void)said();
	}
	// What the client hears of it.
	std::string client(const std::string &bytes)
	{
		from_client += bytes;
		go();
		return said();
	}
	// What the client hears of it.
	std::string server(const std::string &bytes)
	{
		from_server += bytes;
		go();
		return said();
	}
	// The same, with the end behind it.
	std::string last(const std::string &bytes)
	{
		is_server_ended = true;
		return server(bytes);
	}
	void end_client()
	{
		is_client_ended = true;
		go();
	}
	void end_server()
	{
		is_server_ended = true;
		go();
	}
	void expire()
	{
		mailtalk_expire(&talk);
		go();
	}
	std::string said()
	{
		std::string text;
		std::swap(text, to_client);
		return text;
	}
	// What the next hop has heard since it was asked last.
	std::string heard()
	{
		std::string text;
		std::swap(text, to_server);
		return text;
	}
	void go()
	{
		while (!is_closed && !is_tunnel && turn() != MAILTALK_WAIT)
			;
	}

      private:
	std::string from_client, from_server;
	bool is_client_ended = false, is_server_ended = false;

	mailtalk_ask turn()
	{
		std::vector<uint8_t> out(16384), up(16384), scratch(16384);
		mailtalk_io io{};
		io.client = reinterpret_cast<const uint8_t *>(from_client.data());
		io.client_size = from_client.size();
		io.is_client_ended = is_client_ended;
		io.server = reinterpret_cast<const uint8_t *>(from_server.data());
		io.server_size = from_server.size();
		io.to_client = out.data();
		io.to_client_room = out.size();
		io.to_server = up.data();
		io.to_server_room = is_connected && !is_server_ended ? hop_room : 0;
		io.is_server_ended = is_server_ended;
		io.scratch = scratch.data();
		io.scratch_room = scratch.size();
		const mailtalk_ask ask = mailtalk_turn(&talk, &io);
		from_client.erase(0, io.client_used);
		from_server.erase(0, io.server_used);
		to_client.append(out.begin(), out.begin() + static_cast<long>(io.to_client_size));
		to_server.append(up.begin(), up.begin() + static_cast<long>(io.to_server_size));
		take(ask, io);
		return ask;
	}
	void drop()
	{
		is_connected = false;
		is_server_ended = false;
		from_server.clear();
	}
	void begin_scan()
	{
		const char *names[8];
		const size_t count = mailtalk_recipients(&talk, names, 8);
		recipients.assign(names, names + count);
		scanned.clear();
		mailtalk_scan_begun(&talk, has_room_to_scan);
	}
	void take(mailtalk_ask ask, const mailtalk_io &io)
	{
		switch (ask) {
		case MAILTALK_CONNECT:
			drop();
			connections++;
			is_connected = is_reached;
			mailtalk_connected(&talk, is_reached);
			break;
		case MAILTALK_DROP:
			drop();
			break;
		case MAILTALK_SCAN_BEGIN:
			begin_scan();
			break;
		case MAILTALK_SCAN_PUSH:
			scanned.append(io.scratch, io.scratch + io.piece_size);
			break;
		case MAILTALK_SCAN_END:
			if (verdict != 0)
				mailtalk_judge(&talk, verdict, "5.7.1 Evil in part 1");
			break;
		case MAILTALK_MAIL:
			outcomes.push_back(std::string(mailtalk_end_name(talk.outcome.end)) + " " +
					   std::to_string(talk.outcome.code));
			break;
		case MAILTALK_TLS:
			mailtalk_secured(&talk);
			break;
		case MAILTALK_TUNNEL:
			is_tunnel = true;
			break;
		case MAILTALK_CLOSE:
			is_closed = true;
			break;
		case MAILTALK_SCAN_DROP:
			scans_dropped++;
			break;
		case MAILTALK_WAIT:
			break;
		}
	}
};
