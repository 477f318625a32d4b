// SPDX-License-Identifier: GPL-3.0-or-later
// A mail out of a file to a client that takes it, or does not.
#include "integration/mail/pop-front/worker/popretrieve.h"

#include "lib/mailstore/status.h"

#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <thread>

namespace
{

const std::string HEAD(123, 'h'); // what stands before the mail in its segment

// A mail in a file, with another behind it, and a client.
class bench
{
      public:
	explicit bench(const std::string &mail) : text(mail)
	{
		const std::string path = directory_.file("segment");
		write_file(path, HEAD + mail + std::string(200, 'b'));
		this->mail.fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
		REQUIRE(this->mail.fd >= 0);
		this->mail.at = HEAD.size();
		this->mail.size = mail.size();
		this->mail.crc = mailrecord_crc(0, mail.data(), mail.size());
		this->mail.send_timeout_ms = 60000;
		signal(SIGPIPE, SIG_IGN); // as intake_set_signals() of a worker does
		REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_) == 0);
		REQUIRE(fcntl(ends_[0], F_SETFL, O_NONBLOCK) == 0);
		stream_init(stream.get(), ends_[0]);
	}
	~bench()
	{
		close(mail.fd);
		close(ends_[0]);
		hang_up();
	}
	bench(const bench &) = delete;
	bench &operator=(const bench &) = delete;

	void hang_up()
	{
		if (ends_[1] >= 0)
			close(ends_[1]);
		ends_[1] = -1;
	}
	// What a client hears until the server's end is shut, while work is done.
	template <typename Work> std::string heard(Work work)
	{
		std::string all;
		std::thread reader([&] {
			std::string part(1 << 16, '\0');
			ssize_t size = 0;
			while ((size = read(ends_[1], part.data(), part.size())) > 0)
				all.append(part, 0, static_cast<size_t>(size));
		});
		work();
		shutdown(ends_[0], SHUT_WR);
		reader.join();
		return all;
	}
	void cut_file(uint64_t size) const
	{
		const std::string path = directory_.file("segment");
		REQUIRE(truncate(path.c_str(), static_cast<off_t>(size)) == 0);
	}
	int flush() const
	{
		return stream_flush(stream.get(), stream_deadline(60000));
	}
	int send()
	{
		return popretrieve_send(&mail, stream.get(), room.data());
	}
	int top(uint64_t lines)
	{
		return popretrieve_top(&mail, lines, stream.get(), room.data());
	}

	const std::string text;
	popretrieve mail{};
	std::unique_ptr<struct stream> stream = std::make_unique<struct stream>();
	std::vector<uint8_t> room = std::vector<uint8_t>(POPRETRIEVE_SMALL_MAX);

      private:
	tmpdir directory_;
	int ends_[2];
};

// Lines of another length each.
std::string mail_of(size_t size)
{
	std::string made = "Subject: x\r\n\r\n";
	for (unsigned i = 0; made.size() < size; i++)
		made += std::string(i % 70, static_cast<char>('a' + i % 26)) + "\r\n";
	made.resize(size - 2);
	return made + "\r\n";
}

} // namespace

TEST_CASE("a small mail is read whole", "[pop][popretrieve]")
{
	const size_t size = GENERATE(2U, 1000U, unsigned(POPRETRIEVE_SMALL_MAX));
	bench with(mail_of(size));
	REQUIRE(with.text.size() == size);
	REQUIRE(popretrieve_read(&with.mail, with.room.data()) == 0);
	CHECK(std::string(with.room.begin(), with.room.begin() + static_cast<long>(size)) ==
	      with.text);
}

TEST_CASE("a mail without a byte is one", "[pop][popretrieve]")
{
	bench with("");
	CHECK(popretrieve_read(&with.mail, with.room.data()) == 0);
	CHECK(with.heard([&] {
		CHECK(with.send() == 0);
		CHECK(with.top(10) == 0);
		CHECK(with.flush() == 0);
	}) == "");
}

TEST_CASE("a small mail with another sum, or in a file that is too short, is damaged",
	  "[pop][popretrieve]")
{
	bench with(mail_of(5000));
	with.mail.crc ^= 1;
	CHECK(popretrieve_read(&with.mail, with.room.data()) == MAILSTORE_EDAMAGED);
	with.mail.crc ^= 1;
	with.cut_file(HEAD.size() + 4999);
	CHECK(popretrieve_read(&with.mail, with.room.data()) == MAILSTORE_EDAMAGED);
	with.mail.fd = -1;
	CHECK(popretrieve_read(&with.mail, with.room.data()) == -EBADF);
}

TEST_CASE("a large mail comes to the client as it is, behind what was said before",
	  "[pop][popretrieve]")
{
	const size_t size = GENERATE(POPRETRIEVE_SMALL_MAX + 1U, 3U << 20, (1U << 20) + 7U);
	bench with(mail_of(size));
	const std::string reply = "+OK " + std::to_string(size) + " octets\r\n";
	int ret = -1;
	const std::string heard = with.heard([&] {
		REQUIRE(stream_put(with.stream.get(), reply.data(), reply.size(),
				   stream_deadline(60000)) == 0);
		ret = with.send();
	});
	CHECK(ret == 0);
	// Catch2 would print all of it.
	CHECK((heard == reply + with.text));
	CHECK(with.stream->bytes_out == reply.size() + size);
}

TEST_CASE("a large mail with another sum is sent, but does not end well", "[pop][popretrieve]")
{
	bench with(mail_of(3U << 20));
	with.mail.crc ^= 1;
	int ret = -1;
	const std::string heard = with.heard([&] { ret = with.send(); });
	CHECK(ret == MAILSTORE_EDAMAGED);
	CHECK((heard == with.text));
}

TEST_CASE("a large mail in a file that is too short does not end well", "[pop][popretrieve]")
{
	bench with(mail_of(3U << 20));
	with.cut_file(HEAD.size() + (2U << 20));
	int ret = -1;
	const std::string heard = with.heard([&] { ret = with.send(); });
	CHECK(ret == MAILSTORE_EDAMAGED);
	CHECK((heard == with.text.substr(0, 2U << 20)));
}

TEST_CASE("a client that reads nothing of a large mail is given up", "[pop][popretrieve]")
{
	bench with(mail_of(3U << 20));
	with.mail.send_timeout_ms = 50;
	CHECK(with.send() == -ETIMEDOUT);
}

TEST_CASE("a client that has gone amid a large mail is gone", "[pop][popretrieve]")
{
	bench with(mail_of(3U << 20));
	with.hang_up();
	CHECK(with.send() == -EPIPE);
}

TEST_CASE("a client that reads nothing of a long TOP is given up", "[pop][popretrieve]")
{
	bench with(mail_of(3U << 20));
	with.mail.send_timeout_ms = 50;
	CHECK(with.top(UINT64_MAX) == -ETIMEDOUT);
}

TEST_CASE("TOP has the header and so many lines of the body", "[pop][popretrieve]")
{
	const std::string head = "Subject: x\r\nTo: y\r\n\r\n";
	bench with(head + "one\r\n..two\r\n\r\nfour\r\n");
	const auto row = GENERATE(table<uint64_t, std::string>({
		{ 0, "" },
		{ 1, "one\r\n" },
		{ 2, "one\r\n..two\r\n" },
		{ 3, "one\r\n..two\r\n\r\n" },
		{ 4, "one\r\n..two\r\n\r\nfour\r\n" },
		{ 5, "one\r\n..two\r\n\r\nfour\r\n" },
		{ UINT64_MAX, "one\r\n..two\r\n\r\nfour\r\n" },
	}));
	CAPTURE(std::get<0>(row));
	CHECK(with.heard([&] {
		CHECK(with.top(std::get<0>(row)) == 0);
		CHECK(with.flush() == 0);
	}) == head + std::get<1>(row));
}

TEST_CASE("TOP of a large mail has its beginning, and all of it with the right sum",
	  "[pop][popretrieve]")
{
	bench with(mail_of(1U << 20));
	size_t end = with.text.find("\r\n\r\n") + 4;
	for (int i = 0; i < 5000; i++)
		end = with.text.find("\r\n", end) + 2;
	CHECK((with.heard([&] {
		CHECK(with.top(5000) == 0);
		CHECK(with.flush() == 0);
	}) == with.text.substr(0, end)));
}

TEST_CASE("TOP of all of a mail finds a wrong sum before the last piece is sent",
	  "[pop][popretrieve]")
{
	bench with(mail_of(1U << 20));
	with.mail.crc ^= 1;
	int ret = -1;
	const std::string heard = with.heard([&] { ret = with.top(UINT64_MAX); });
	CHECK(ret == MAILSTORE_EDAMAGED);
	CHECK(heard.size() < with.text.size());
	CHECK((heard == with.text.substr(0, heard.size())));
}

TEST_CASE("the beginning of a mail has no sum, and is sent", "[pop][popretrieve]")
{
	bench with(mail_of(1U << 20));
	with.mail.crc ^= 1;
	CHECK(with.heard([&] {
		CHECK(with.top(0) == 0);
		CHECK(with.flush() == 0);
	}) == "Subject: x\r\n\r\n");
}

TEST_CASE("TOP of a mail in a file that is too short does not end well", "[pop][popretrieve]")
{
	bench with(mail_of(1U << 20));
	with.cut_file(HEAD.size() + (1U << 19));
	int ret = -1;
	with.heard([&] { ret = with.top(UINT64_MAX); });
	CHECK(ret == MAILSTORE_EDAMAGED);
}
