// SPDX-License-Identifier: GPL-3.0-or-later
// A mailbox as a session sees it, of a store that another process has open.
#include "integration/mail/pop-front/worker/maildrop.h"

#include "integration/mail/mail-stored/store/counters.h"
#include "integration/mail/mail-stored/store/store_process.h"
#include "integration/mail/pop-front/worker/popretrieve.h"
#include "lib/common/log.h"
#include "lib/mailstore/status.h"
#include "lib/process/listening.h"

#include "tests/lib/child.hh"
#include "tests/lib/parsed.hh"
#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace
{

using parsed = parsed_as<stored_setup, stored_setup_parse>;

class drop
{
      public:
	explicit drop(const std::string &socket) : socket_(socket)
	{
		maildrop_init(socket_.c_str(), &maildrop);
	}
	~drop()
	{
		maildrop_deinit(&maildrop);
	}
	drop(const drop &) = delete;
	drop &operator=(const drop &) = delete;

	int open(const std::string &mailbox, size_t messages_max = 1000000)
	{
		return maildrop_open(&maildrop, mailbox.c_str(), messages_max);
	}
	size_t count() const
	{
		return maildrop.drop.message_count;
	}
	std::string uid(size_t index) const
	{
		return maildrop.drop.messages[index].uid;
	}
	// As RETR sends it, or the status as a number.
	std::string text(size_t index)
	{
		mailrecord record;
		popretrieve mail{};
		std::vector<uint8_t> room(POPRETRIEVE_SMALL_MAX);
		int ret = maildrop_find(&maildrop, index, &record, &mail.at, &mail.fd);
		if (ret == 0) {
			mail.size = record.wire_size;
			mail.crc = record.body_crc;
			ret = popretrieve_read(&mail, room.data());
		}
		if (ret != 0)
			return std::to_string(ret);
		return { room.begin(), room.begin() + static_cast<long>(mail.size) };
	}

	struct maildrop maildrop;

      private:
	std::string socket_;
};

// mail-stored's process that has the store open.
class store
{
      public:
	store()
	{
		REQUIRE(setup_.status == 0);
		REQUIRE(mkdir(setup_.setup.directory, 0700) == 0);
		REQUIRE(listening_bind_path(socket().c_str(), SOCK_SEQPACKET, &fd_) == 0);
		REQUIRE(listen(fd_, 16) == 0);
		begin();
	}
	~store()
	{
		end();
		close(fd_);
	}
	store(const store &) = delete;
	store &operator=(const store &) = delete;

	std::string socket() const
	{
		return directory_.file("socket");
	}
	void begin()
	{
		process_ = std::make_unique<child>([this] {
			uint64_t counters[STORED_COUNTER_COUNT] = {};
			log_set_level(LOG_LEVEL_ERROR);
			const store_process_start start = { &setup_.setup, fd_, counters, nullptr,
							    nullptr };
			return store_process_run(&start);
		});
	}
	void end()
	{
		process_.reset();
	}

	// By a client beside the sessions.
	void deliver(const std::string &mailbox, const std::string &text)
	{
		const std::string sender = "sender@example.net";
		const mailname box = name_of(mailbox);
		mailstore_mail mail{};
		mail.sender = name_of(sender);
		mail.recipients = &box;
		mail.recipient_count = 1;
		mail.text = reinterpret_cast<const uint8_t *>(text.data());
		mail.size = text.size();
		mailid id;
		REQUIRE(maillayer_deliver(layer(), &mail, &id) == 0);
	}
	void erase(const std::string &mailbox, uint64_t mail)
	{
		REQUIRE(maillayer_erase(layer(), name_of(mailbox), &mail, 1, 0) == 0);
	}
	static mailname name_of(const std::string &text)
	{
		return { reinterpret_cast<const uint8_t *>(text.data()), text.size() };
	}

      private:
	// By a mailbox of its own, whose lock nothing else wants.
	maillayer *layer()
	{
		if (own_ == nullptr) {
			own_ = std::make_unique<drop>(socket());
			REQUIRE(own_->open("postmaster@example.net") == 0);
		}
		return own_->maildrop.layer;
	}

	tmpdir directory_;
	parsed setup_{ "stored:\n    directory: " + directory_.file("store") +
		       "\n    socket: " + directory_.file("socket") + "\n" };
	int fd_ = -1;
	std::unique_ptr<child> process_;
	std::unique_ptr<drop> own_;
};

const std::string JOHN = "john@example.org";

} // namespace

TEST_CASE("a mailbox that has no mail is an empty maildrop", "[pop][maildrop]")
{
	store with;
	drop one(with.socket());
	REQUIRE(one.open(JOHN) == 0);
	CHECK(one.count() == 0);
	CHECK(maildrop_update(&one.maildrop) == 0);
	maildrop_close(&one.maildrop);
	maildrop_close(&one.maildrop);
}

TEST_CASE("one session has a mailbox, until it closes it or is gone", "[pop][maildrop]")
{
	store with;
	auto one = std::make_unique<drop>(with.socket());
	drop two(with.socket());
	REQUIRE(one->open(JOHN) == 0);
	CHECK(two.open(JOHN) == -EBUSY);
	CHECK(two.count() == 0);
	CHECK(two.open("mary@example.org") == 0);
	maildrop_close(&two.maildrop);
	maildrop_close(&one->maildrop);
	CHECK(two.open(JOHN) == 0);
	CHECK(one->open(JOHN) == -EBUSY);
	maildrop_close(&two.maildrop);
	REQUIRE(one->open(JOHN) == 0);
	one.reset();
	// The store learns of it by itself.
	int ret = -EBUSY;
	for (int i = 0; i < 10000 && ret == -EBUSY; i++) {
		ret = two.open(JOHN);
		usleep(1000);
	}
	CHECK(ret == 0);
}

TEST_CASE("a maildrop has the mails that were there, the oldest first", "[pop][maildrop]")
{
	store with;
	with.deliver(JOHN, "Subject: 1\r\n\r\n.dot\r\n");
	with.deliver("mary@example.org", "Subject: other\r\n\r\n");
	with.deliver(JOHN, "Subject: 2\r\n\r\n");
	drop one(with.socket());
	REQUIRE(one.open(JOHN) == 0);
	with.deliver(JOHN, "Subject: 3\r\n\r\n"); // too late
	REQUIRE(one.count() == 2);
	CHECK(one.maildrop.drop.left_octets == 20 + 14);
	CHECK(one.maildrop.drop.messages[0].octets == 20);
	CHECK(one.text(0) == "Subject: 1\r\n\r\n..dot\r\n");
	CHECK(one.text(1) == "Subject: 2\r\n\r\n");
	CHECK(one.text(0) == "Subject: 1\r\n\r\n..dot\r\n");
	const std::string first = one.uid(0);
	CHECK(first.size() == MAILID_TEXT_SIZE - 1);
	CHECK(first.find_first_not_of("0123456789abcdef") == std::string::npos);
	CHECK(one.uid(1) != first);
	maildrop_close(&one.maildrop);
	REQUIRE(one.open(JOHN) == 0);
	REQUIRE(one.count() == 3);
	CHECK(one.uid(0) == first);
	CHECK(one.text(2) == "Subject: 3\r\n\r\n");
}

TEST_CASE("what a session deletes is gone with its end, and the rest stays", "[pop][maildrop]")
{
	store with;
	for (int i = 0; i < 5; i++)
		with.deliver(JOHN, "Subject: " + std::to_string(i) + "\r\n\r\n");
	drop one(with.socket());
	REQUIRE(one.open(JOHN) == 0);
	REQUIRE(one.count() == 5);
	const std::string third = one.uid(2);
	pop3_maildrop_delete(&one.maildrop.drop, 0);
	pop3_maildrop_delete(&one.maildrop.drop, 4);
	// Nothing is without an update.
	maildrop_close(&one.maildrop);
	REQUIRE(one.open(JOHN) == 0);
	REQUIRE(one.count() == 5);
	CHECK(one.maildrop.drop.left_count == 5);
	pop3_maildrop_delete(&one.maildrop.drop, 1);
	pop3_maildrop_delete(&one.maildrop.drop, 4);
	CHECK(maildrop_update(&one.maildrop) == 0);
	maildrop_close(&one.maildrop);
	REQUIRE(one.open(JOHN) == 0);
	REQUIRE(one.count() == 3);
	CHECK(one.text(0) == "Subject: 0\r\n\r\n");
	CHECK(one.uid(1) == third);
	CHECK(one.text(2) == "Subject: 3\r\n\r\n");
}

TEST_CASE("of a mailbox that is too large the oldest mails are seen", "[pop][maildrop]")
{
	store with;
	for (int i = 0; i < 4; i++)
		with.deliver(JOHN, "Subject: " + std::to_string(i) + "\r\n\r\n");
	drop one(with.socket());
	REQUIRE(one.open(JOHN, 3) == 0);
	REQUIRE(one.count() == 3);
	CHECK(one.text(2) == "Subject: 2\r\n\r\n");
	maildrop_close(&one.maildrop);
	CHECK(one.open(JOHN, 4) == 0);
	CHECK(one.count() == 4);
}

// More than maildrop.c asks for at a time.
TEST_CASE("all of a large mailbox is listed once", "[pop][maildrop]")
{
	store with;
	const size_t all = 4096 + 4;
	for (size_t i = 0; i < all; i++)
		with.deliver(JOHN, std::string(i % 10, 'x') + "\r\n");
	drop one(with.socket());
	REQUIRE(one.open(JOHN) == 0);
	REQUIRE(one.count() == all);
	std::set<std::string> uids;
	size_t right = 0;
	for (size_t i = 0; i < all; i++) {
		uids.insert(one.uid(i));
		right += one.maildrop.drop.messages[i].octets == i % 10 + 2;
	}
	CHECK(uids.size() == all);
	CHECK(right == all);
	CHECK(one.text(all - 1) == std::string((all - 1) % 10, 'x') + "\r\n");
}

TEST_CASE("a mail that another has removed is not there, and can be deleted", "[pop][maildrop]")
{
	store with;
	with.deliver(JOHN, "Subject: 1\r\n\r\n");
	with.deliver(JOHN, "Subject: 2\r\n\r\n");
	with.deliver(JOHN, "Subject: 3\r\n\r\n");
	drop one(with.socket());
	REQUIRE(one.open(JOHN) == 0);
	with.erase(JOHN, one.maildrop.mails[0]);
	CHECK(one.text(0) == std::to_string(DNSBLV6_ENOTFOUND));
	CHECK(one.text(1) == "Subject: 2\r\n\r\n");
	pop3_maildrop_delete(&one.maildrop.drop, 0);
	pop3_maildrop_delete(&one.maildrop.drop, 1);
	CHECK(maildrop_update(&one.maildrop) == 0);
	maildrop_close(&one.maildrop);
	REQUIRE(one.open(JOHN) == 0);
	REQUIRE(one.count() == 1);
	CHECK(one.text(0) == "Subject: 3\r\n\r\n");
}

TEST_CASE("what is no name of a mailbox is refused before the store is asked", "[pop][maildrop]")
{
	drop one("/nowhere/socket");
	CHECK(one.open("") == MAILSTORE_EBOX);
	CHECK(one.open(std::string(MAILBOX_NAME_MAX + 1, 'n')) == MAILSTORE_EBOX);
	CHECK(one.open(JOHN) == -ENOENT);
	CHECK(one.open(std::string(MAILBOX_NAME_MAX, 'n')) == -ENOENT);
	CHECK(one.count() == 0);
	maildrop_close(&one.maildrop);
}

TEST_CASE("a store that ends amid a session fails it, and the next finds the one that began",
	  "[pop][maildrop]")
{
	store with;
	with.deliver(JOHN, "Subject: 1\r\n\r\n");
	with.deliver(JOHN, "Subject: 2\r\n\r\n");
	drop one(with.socket());
	REQUIRE(one.open(JOHN) == 0);
	CHECK(one.text(0) == "Subject: 1\r\n\r\n");
	with.end();
	// Not -ENOENT or another word of a store: an error of the connection.
	CHECK(std::stoi(one.text(1)) < 0);
	CHECK(one.text(1) != std::to_string(DNSBLV6_ENOTFOUND));
	pop3_maildrop_delete(&one.maildrop.drop, 0);
	CHECK(maildrop_update(&one.maildrop) < 0);
	maildrop_close(&one.maildrop);
	with.begin();
	REQUIRE(one.open(JOHN) == 0);
	CHECK(one.count() == 2);
}

TEST_CASE("a connection that was kept and has ended is made again without a word",
	  "[pop][maildrop]")
{
	store with;
	with.deliver(JOHN, "Subject: 1\r\n\r\n");
	drop one(with.socket());
	REQUIRE(one.open(JOHN) == 0);
	maildrop_close(&one.maildrop);
	with.end();
	with.begin();
	REQUIRE(one.open(JOHN) == 0);
	CHECK(one.count() == 1);
	CHECK(one.text(0) == "Subject: 1\r\n\r\n");
}
