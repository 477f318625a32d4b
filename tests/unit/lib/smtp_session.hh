// SPDX-License-Identifier: GPL-3.0-or-later
// A session of the dialogue machine: bytes of a client go in, in pieces, and what happened comes
// out. It does what edge and worker do, with a sink that keeps mails.
#pragma once

#include "lib/smtp/body.h"
#include "lib/smtp/dialogue.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

inline dialogue_limits limits_of_tests()
{
	dialogue_limits limits = {};
	limits.size_max = 1000;
	limits.recipients_max = 3;
	limits.errors_max = 10;
	limits.commands_max = 100;
	limits.mails_max = 5;
	limits.offers_tls = true;
	limits.offers_xclient = true;
	limits.hostname = "mx.example.org";
	return limits;
}

class scripted
{
      public:
	dialogue_limits limits = limits_of_tests();
	struct dialogue dialogue;
	dialogue_event event = {};
	std::vector<std::string> mails; // "sender>recipient,recipient:body"
	std::string said;		// all replies
	bool is_closed = false;

	scripted()
	{
		dialogue_init(&dialogue);
	}

	// What one command is answered.
	std::string say(const std::string &line)
	{
		const size_t before = said.size();
		feed(line + "\r\n");
		return said.substr(before);
	}

	// The action of one command, unanswered.
	dialogue_action step(const std::string &line)
	{
		return dialogue_step(&dialogue, &limits, line.data(), line.size(), &event);
	}

	void feed(const std::string &bytes)
	{
		unread += bytes;
		while (!is_closed && feed_some())
			;
	}

	// All of it, in pieces.
	void feed_pieces(const std::string &bytes, size_t piece)
	{
		for (size_t fed = 0; fed < bytes.size(); fed += piece)
			feed(bytes.substr(fed, piece));
	}

	// Until EHLO is answered.
	void begin()
	{
		REQUIRE(say("EHLO client.example").substr(0, 4) == "250-");
	}

      private:
	enum { COMMANDS, DATA, CHUNK, SWALLOW, SKIP } reading = COMMANDS;
	std::string unread;
	uint64_t chunk_left = 0;
	std::string recipients;
	std::string kept;
	struct body body = {};

	bool feed_some()
	{
		switch (reading) {
		case COMMANDS:
			return feed_command();
		case DATA:
			return feed_data();
		case SKIP:
			return feed_skip();
		default:
			return feed_chunk();
		}
	}

	bool feed_command()
	{
		const std::vector<uint8_t> bytes(unread.begin(), unread.end());
		size_t size = 0;
		const lines_status status =
			lines_take(bytes.data(), bytes.size(), DIALOGUE_LINE_MAX, &size);
		if (status == LINES_MORE)
			return false;
		if (status != LINES_READY) {
			if (status == LINES_TOO_LONG)
				reading = SKIP;
			act(dialogue_malformed(&dialogue, &limits, status, &event));
			return true;
		}
		std::vector<char> line;
		line.reserve(std::max<size_t>(size, 1)); // not NULL
		line.assign(unread.data(), unread.data() + size);
		unread.erase(0, size + LINES_END_SIZE);
		act(dialogue_step(&dialogue, &limits, line.data(), size, &event));
		return true;
	}

	bool feed_skip()
	{
		size_t used = 0;
		const lines_status status =
			lines_skip(reinterpret_cast<const uint8_t *>(unread.data()), unread.size(),
				   false, &used);
		unread.erase(0, used);
		if (status == LINES_READY)
			reading = COMMANDS;
		return status == LINES_READY;
	}

	bool feed_data()
	{
		std::vector<uint8_t> in(unread.begin(), unread.end());
		std::vector<uint8_t> out(in.size());
		size_t used = 0;
		size_t out_size = 0;
		const body_status status =
			body_take(&body, in.data(), in.size(), &used, out.data(), &out_size);
		kept.append(out.begin(), out.begin() + static_cast<long>(out_size));
		unread.erase(0, used);
		if (status == BODY_MORE)
			return false;
		reading = COMMANDS;
		end_mail();
		return true;
	}

	bool feed_chunk()
	{
		const size_t size =
			static_cast<size_t>(std::min<uint64_t>(chunk_left, unread.size()));
		std::vector<uint8_t> in(unread.begin(), unread.begin() + static_cast<long>(size));
		std::vector<uint8_t> out(size + BODY_END_MAX);
		size_t out_size = 0;
		unread.erase(0, size);
		chunk_left -= size;
		if (reading == CHUNK) {
			body_take_chunk(&body, in.data(), size, out.data(), &out_size);
			kept.append(out.begin(), out.begin() + static_cast<long>(out_size));
		}
		if (chunk_left > 0)
			return false;
		if (reading == SWALLOW) {
			hear();
		} else if (dialogue.is_last) {
			body_end(&body, out.data(), &out_size);
			kept.append(out.begin(), out.begin() + static_cast<long>(out_size));
			end_mail();
		} else {
			act(body.refusal == BODY_FINE
				    ? dialogue_accept(&dialogue, &limits, &event)
				    : dialogue_answer(&dialogue, &limits, body_code(body.refusal),
						      body_text(body.refusal), &event));
		}
		reading = COMMANDS;
		return true;
	}

	void end_mail()
	{
		const std::string mail =
			std::string(dialogue.envelope.sender) + ">" + recipients + ":" + kept;
		recipients.clear();
		kept.clear();
		if (body.refusal == BODY_FINE) {
			mails.push_back(mail);
			act(dialogue_accept(&dialogue, &limits, &event));
		} else {
			act(dialogue_answer(&dialogue, &limits, body_code(body.refusal),
					    body_text(body.refusal), &event));
		}
	}

	void take_recipient()
	{
		const std::string address = event.recipient.address;
		if (address.substr(0, 3) == "bad") {
			act(dialogue_refuse(&dialogue, &limits, DIALOGUE_NO_SUCH_USER, &event));
			return;
		}
		recipients += (recipients.empty() ? "" : ",") + address;
		act(dialogue_accept(&dialogue, &limits, &event));
	}

	void begin_body()
	{
		body_init(&body, limits.size_max);
		kept.clear();
	}

	void act(dialogue_action action)
	{
		REQUIRE(dialogue_is_valid(&dialogue));
		switch (action) {
		case DIALOGUE_MAIL:
			recipients.clear();
			act(dialogue_accept(&dialogue, &limits, &event));
			return;
		case DIALOGUE_RECIPIENT:
			take_recipient();
			return;
		case DIALOGUE_BDAT:
			if (event.is_first)
				begin_body();
			chunk_left = event.chunk_size;
			reading = CHUNK;
			return;
		case DIALOGUE_SWALLOW:
			chunk_left = event.chunk_size;
			kept.clear();
			reading = SWALLOW;
			return;
		case DIALOGUE_XCLIENT:
			act(dialogue_accept(&dialogue, &limits, &event));
			return;
		case DIALOGUE_DATA:
			begin_body();
			reading = DATA;
			break;
		case DIALOGUE_STARTTLS:
			dialogue_tls(&dialogue);
			break;
		case DIALOGUE_RESET:
			recipients.clear();
			kept.clear();
			break;
		case DIALOGUE_QUIT:
		case DIALOGUE_CLOSE:
			is_closed = true;
			break;
		default:
			break;
		}
		hear();
	}

	void hear()
	{
		for (unsigned i = 0; i < event.reply_count; i++)
			said += event.reply;
	}
};
