// SPDX-License-Identifier: GPL-3.0-or-later
// A server of POP3 with two mails, without a network: what a client says goes in, what it hears is
// said. Users are "mrose", "test", "user" and those that are refused in some way.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "lib/pop3/pop3_dialogue.h"
#include "lib/pop3/pop3_top.h"
#include "lib/pop3/scram.h"

inline const char *const SCRAM_NONCE = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";

// Those of RFC 7677, part 3: user, pencil.
inline struct scram_keys scram_sample()
{
	struct scram_keys keys = {};
	size_t size = 0;
	REQUIRE(base64_decode("W22ZaJ0SNY7soEsUEjb6gQ==", 24, sizeof(keys.salt), keys.salt, &size));
	keys.salt_size = size;
	keys.iterations = 4096;
	REQUIRE(scram_derive("pencil", &keys));
	return keys;
}

struct pop3_mail {
	uint64_t octets;
	std::string uid;
	std::string wire; // with doubled dots, and without the last
};

struct pop3_server {
	struct pop3_limits limits = {};
	struct pop3_dialogue dialogue = {};
	struct pop3_event event = {};
	std::vector<pop3_mail> mails;
	std::string said;
	std::string logins; // each as way:user:password
	size_t removed_count = 0;
	size_t room = POP3_LIST_ROOM_MIN; // of a piece of a list, and of a mail half as much
	bool is_broken = false;		  // the store is
	bool is_closed = false;

	pop3_server()
	{
		limits.ways = POP3_WAY_USER | POP3_WAY_PLAIN | POP3_WAY_SCRAM;
		limits.hostname = "mx.example.org";
		limits.offers_tls = true;
		limits.offers_utf8 = true;
		mails = { { 120, "whqtswO00WBw418f9t5JxYwZ", body(120, "one") },
			  { 200, "QhdPYR:00WBw1Ph7x7", body(200, "two") } };
		pop3_dialogue_init(&dialogue);
	}

	// What is said to a line.
	std::string say(const std::string &line)
	{
		const size_t before = said.size();
		feed(line + "\r\n");
		return said.substr(before);
	}

	// Logged in.
	void begin()
	{
		REQUIRE(say("USER mrose") == "+OK send PASS\r\n");
		REQUIRE(say("PASS tanstaaf").substr(0, 4) == "+OK ");
		REQUIRE(dialogue.state == POP3_AT_TRANSACTION);
	}

	// The action of one line, unanswered.
	pop3_action step(const std::string &line)
	{
		return pop3_dialogue_step(&dialogue, &limits, &maildrop, line.data(), line.size(),
					  &event);
	}

	void feed(const std::string &bytes)
	{
		unread += bytes;
		while (!is_closed && feed_some())
			;
	}

	struct pop3_maildrop maildrop = {};
	std::vector<struct pop3_message> messages;

      private:
	std::string unread;
	struct scram scram = {};
	bool is_skipping = false;

	// A header, an empty line, and lines of which the last has a dot.
	static std::string body(size_t octets, const std::string &subject)
	{
		std::string text = "Subject: " + subject + "\r\nTo: mrose\r\n\r\n..dot\r\n";
		while (text.size() - 1 < octets)
			text += "line\r\n";
		text.resize(octets + 1 - 2);
		return text + "\r\n";
	}

	bool feed_some()
	{
		const std::vector<uint8_t> bytes(unread.begin(), unread.end());
		size_t size = 0;
		if (is_skipping) {
			is_skipping =
				lines_skip(bytes.data(), bytes.size(), false, &size) != LINES_READY;
			unread.erase(0, size);
			return !is_skipping;
		}
		const lines_status status = lines_take(bytes.data(), bytes.size(),
						       pop3_dialogue_line_max(&dialogue), &size);
		if (status == LINES_MORE)
			return false;
		if (status != LINES_READY) {
			is_skipping = status == LINES_TOO_LONG;
			act(pop3_dialogue_malformed(&dialogue, &limits, status, &event));
			return true;
		}
		std::vector<char> line;
		line.reserve(std::max<size_t>(size, 1)); // not NULL
		line.assign(unread.data(), unread.data() + size);
		unread.erase(0, size + LINES_END_SIZE);
		act(pop3_dialogue_step(&dialogue, &limits, &maildrop, line.data(), size, &event));
		return true;
	}

	void open_maildrop()
	{
		messages.assign(mails.size(), {});
		for (size_t i = 0; i < mails.size(); i++) {
			messages[i].octets = mails[i].octets;
			messages[i].is_deleted = true;
			std::memcpy(messages[i].uid, mails[i].uid.data(), mails[i].uid.size());
		}
		pop3_maildrop_init(messages.data(), messages.size(), &maildrop);
	}

	void refuse(pop3_refusal refusal)
	{
		act(pop3_dialogue_refuse(&dialogue, &limits, refusal, &event));
	}

	void accept()
	{
		act(pop3_dialogue_accept(&dialogue, &limits, &maildrop, &event));
	}

	void challenge(const char *message, size_t size)
	{
		act(pop3_dialogue_challenge(&dialogue, message, size, &event));
	}

	void end_scram(sasl_status status)
	{
		if (status != SASL_FINE) {
			refuse(status == SASL_MALFORMED ? POP3_MALFORMED : POP3_BAD_LOGIN);
			return;
		}
		REQUIRE(pop3_dialogue_name(&dialogue, scram.user));
		open_maildrop();
		accept();
	}

	void begin_scram(const uint8_t *message, size_t size)
	{
		char answer[SCRAM_ANSWER_MAX];
		const uint8_t secret[4] = { 1, 2, 3, 4 };
		struct scram_keys keys = scram_sample();
		scram_init(&scram);
		const sasl_status status = scram_first(&scram, message, size);
		if (status != SASL_FINE) {
			end_scram(status);
			return;
		}
		if (std::string(scram.user) != "user")
			REQUIRE(scram_mock(secret, sizeof(secret), scram.user, 4096, &keys));
		challenge(answer, scram_challenge(&scram, &keys, SCRAM_NONCE, answer));
	}

	void take_scram()
	{
		char answer[SCRAM_ANSWER_MAX];
		const struct pop3_login login = event.login;
		size_t size = 0;
		if (login.is_first) {
			begin_scram(login.message, login.message_size);
			return;
		}
		if (scram.state == SCRAM_AT_EMPTY) {
			end_scram(login.message_size == 0 ? SASL_FINE : SASL_MALFORMED);
			return;
		}
		const sasl_status status =
			scram_final(&scram, login.message, login.message_size, answer, &size);
		if (status == SASL_FINE)
			challenge(answer, size);
		else
			end_scram(status);
	}

	void take_login()
	{
		const std::string user = event.login.user;
		const std::string password = event.login.password;
		if (event.login.way == POP3_WAY_SCRAM) {
			take_scram();
			return;
		}
		logins += std::to_string(event.login.way) + ":" + user + ":" + password + "\n";
		const bool is_right =
			(user == "mrose" && (password == "tanstaaf" ||
					     password == "c4c9334bac560ecc979e58001b3e22fb")) ||
			(user == "test" && password == "test");
		open_maildrop();
		if (user == "used")
			refuse(POP3_IN_USE);
		else if (user == "soon")
			refuse(POP3_LOGIN_DELAY);
		else if (is_right)
			accept();
		else
			refuse(POP3_BAD_LOGIN);
	}

	void send(size_t index, bool is_top)
	{
		const std::string &wire = mails[index].wire;
		struct pop3_top top;
		pop3_top_init(&top, event.line_count);
		if (is_broken) {
			refuse(POP3_TRY_LATER);
			return;
		}
		accept();
		for (size_t at = 0; at < wire.size() && !(is_top && top.is_done); at += room / 2) {
			const std::string piece = wire.substr(at, room / 2);
			const auto *bytes = reinterpret_cast<const uint8_t *>(piece.data());
			const size_t taken =
				is_top ? pop3_top_take(&top, bytes, piece.size()) : piece.size();
			said += piece.substr(0, taken);
		}
		said += ".\r\n";
	}

	void send_list()
	{
		std::vector<char> out(room);
		size_t size = 0;
		while ((size = pop3_list_fill(&event.list, &maildrop, out.data(), out.size())) > 0)
			said.append(out.data(), size);
	}

	void update()
	{
		if (is_broken) {
			refuse(POP3_NOT_REMOVED);
			return;
		}
		for (const auto &message : messages)
			removed_count += message.is_deleted ? 1 : 0;
		accept();
	}

	void act(pop3_action action)
	{
		REQUIRE(pop3_dialogue_is_valid(&dialogue));
		REQUIRE(std::strlen(event.reply) == event.reply_size);
		switch (action) {
		case POP3_AUTHENTICATE:
			take_login();
			return;
		case POP3_RETR:
		case POP3_TOP:
			send(event.index, action == POP3_TOP);
			return;
		case POP3_UPDATE:
			update();
			return;
		default:
			break;
		}
		said += event.reply;
		if (action == POP3_STLS)
			pop3_dialogue_tls(&dialogue);
		if (action == POP3_LIST)
			send_list();
		is_closed = action == POP3_QUIT || action == POP3_CLOSE;
	}
};
