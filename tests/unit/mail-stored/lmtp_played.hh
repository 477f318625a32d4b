// SPDX-License-Identifier: GPL-3.0-or-later
// A session of LMTP with a client and a store that are played: what the client hears, what the
// store gets, and what it answers.
#pragma once

#include "integration/mail/mail-stored/lmtp/lmtp_session.h"
#include "lib/common/log.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

inline lmtp_world world_of_tests()
{
	lmtp_world world = {};
	world.limits.size_max = 200000;
	world.limits.recipients_max = 10000;
	world.limits.is_lmtp = true;
	world.limits.withheld = ENVELOPE_EXTENSION_DSN;
	world.limits.hostname = "mx.example.org";
	world.memory_max = 1 << 20;
	world.has_store = true;
	world.now_s = 1795322574; // Sun, 22 Nov 2026 04:42:54
	log_set_level(LOG_LEVEL_ERROR);
	return world;
}

// What the store gets.
struct delivered {
	std::string sender;
	std::vector<std::string> mailboxes;
	std::string text;
};

class played
{
      public:
	lmtp_world &world;
	std::string said;
	std::vector<delivered> mails;
	std::vector<std::string> checked; // "mailbox size"
	std::deque<int> answers;	  // what the store says; then it is 0
	bool holds = false;		  // it answers later: release()
	bool is_asking = false;
	bool is_closed = false;
	size_t out_room = SIZE_MAX; // the client takes no more than so much at a time

	explicit played(lmtp_world &shared, const char *client = "192.0.2.7")
	    : world(shared), session(std::make_unique<lmtp_session>())
	{
		lmtp_session_init(session.get(), &world, UINT64_C(0x1122334455667788), client);
		run();
	}
	played(const played &) = delete;
	played &operator=(const played &) = delete;
	~played()
	{
		lmtp_session_deinit(session.get());
	}

	void feed(const std::string &bytes)
	{
		unread += bytes;
		run();
	}

	// What is said to these bytes.
	std::string say(const std::string &bytes)
	{
		const size_t before = said.size();
		feed(bytes);
		return said.substr(before);
	}

	// The store answers what it was asked.
	// What each mailbox of the mail has come to, in the order of their names.
	std::string release_each(int status, const std::vector<int> &fates)
	{
		const mailid id = { { 0xab } };
		std::vector<uint8_t> rows(4 * fates.size());
		uint8_t *end = rows.data();
		for (const int fate : fates)
			bytes_put(&end, static_cast<uint32_t>(fate), 4);
		is_asking = holds = false;
		lmtp_session_answer(session.get(), status, &id, rows.data(),
				    static_cast<uint32_t>(fates.size()));
		return say("");
	}

	std::string release(int status)
	{
		const size_t before = said.size();
		REQUIRE(is_asking);
		is_asking = false;
		answer(status);
		run();
		return said.substr(before);
	}

	void end(dialogue_refusal refusal)
	{
		lmtp_session_end(session.get(), refusal);
		run();
	}

	void run()
	{
		while (!is_asking && !is_closed && step())
			;
	}

      private:
	std::unique_ptr<lmtp_session> session;
	std::string unread;

	// False: it waits for bytes, and there are none.
	bool step()
	{
		const lmtp_wish wish = lmtp_session_run(session.get());
		hear();
		if (wish == LMTP_ASK) {
			ask();
			return true;
		}
		is_closed = wish == LMTP_END;
		return wish != LMTP_READ || give();
	}

	void hear()
	{
		size_t size = 0;
		const char *bytes = lmtp_session_said(session.get(), &size);
		size = std::min(size, out_room);
		said.append(bytes, size);
		lmtp_session_sent(session.get(), size);
		lmtp_session_said(session.get(), &size);
		if (size > 0 && out_room != SIZE_MAX)
			hear();
	}

	bool give()
	{
		size_t room = 0;
		uint8_t *bytes = lmtp_session_room(session.get(), &room);
		REQUIRE(room > 0);
		const size_t size = std::min(room, unread.size());
		std::copy_n(unread.begin(), size, bytes);
		unread.erase(0, size);
		lmtp_session_fed(session.get(), size);
		return size > 0;
	}

	void ask()
	{
		const storewire_request &request = session->request;
		const std::string mailbox(reinterpret_cast<const char *>(request.mailbox.bytes),
					  request.mailbox.size);
		if (request.type == STOREWIRE_CHECK)
			checked.push_back(mailbox + " " + std::to_string(request.size));
		else
			mails.push_back(read_mail());
		if (holds) {
			is_asking = true;
			return;
		}
		int status = 0;
		if (!answers.empty()) {
			status = answers.front();
			answers.pop_front();
		}
		answer(status);
	}

	void answer(int status)
	{
		const mailid id = { { 0xab } };
		lmtp_session_answer(session.get(), status, &id, nullptr, 0);
	}

	std::string memory() const
	{
		const storelink_memory &from = session->memory;
		std::string bytes;
		if (from.fd < 0) {
			for (size_t i = 0; i < from.part_count; i++)
				bytes.append(static_cast<const char *>(from.parts[i].iov_base),
					     from.parts[i].iov_len);
			return bytes;
		}
		const off_t size = lseek(from.fd, 0, SEEK_END);
		bytes.resize(static_cast<size_t>(size));
		REQUIRE(pread(from.fd, bytes.data(), bytes.size(), 0) == size);
		return bytes;
	}

	delivered read_mail() const
	{
		const storewire_request &request = session->request;
		const std::string bytes = memory();
		mailmeta meta = {};
		mailname name = {};
		delivered mail;
		REQUIRE(request.type == STOREWIRE_DELIVER);
		REQUIRE(request.number + request.size == bytes.size());
		REQUIRE(mailmeta_decode(reinterpret_cast<const uint8_t *>(bytes.data()),
					request.number, &meta) == 0);
		mail.sender.assign(reinterpret_cast<const char *>(meta.sender.bytes),
				   meta.sender.size);
		while (mailmeta_next(&meta, &name))
			mail.mailboxes.emplace_back(reinterpret_cast<const char *>(name.bytes),
						    name.size);
		mail.text = bytes.substr(request.number);
		return mail;
	}
};

// A mail's text behind the fields that delivery has added.
inline std::string own_text(const delivered &mail)
{
	const std::string last = "+0000\r\n";
	const size_t at = mail.text.find(last);
	REQUIRE(at != std::string::npos);
	return mail.text.substr(at + last.size());
}
