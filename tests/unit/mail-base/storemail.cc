// SPDX-License-Identifier: GPL-3.0-or-later
#include "integration/mail/base/store/storemail.h"

#include <catch2/catch.hpp>

#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace
{
const std::string sender = "sender@example.net";
const std::string box = "anna@example.com";

mailname name_of(const std::string &text)
{
	return { reinterpret_cast<const uint8_t *>(text.data()), text.size() };
}

std::string meta_of(const std::vector<mailname> &names)
{
	std::string meta(mailmeta_size(name_of(sender), names.data(), names.size(), 0), '\0');
	mailmeta_encode(name_of(sender), names.data(), names.size(), nullptr, 0,
			reinterpret_cast<uint8_t *>(meta.data()));
	return meta;
}

std::string pattern(size_t size)
{
	std::string text(size, '\0');
	for (size_t i = 0; i < size; i++)
		text[i] = static_cast<char>('a' + (i * 7 + i / 251) % 26);
	return text;
}

std::string read_whole(int fd)
{
	struct stat st {
	};
	REQUIRE(fstat(fd, &st) == 0);
	std::string content(static_cast<size_t>(st.st_size), '\0');
	REQUIRE(pread(fd, content.data(), content.size(), 0) == st.st_size);
	return content;
}

void check_seals(int fd)
{
	const int wanted = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
	CHECK(fcntl(fd, F_GET_SEALS) == wanted);
	CHECK(fcntl(fd, F_GETFD) == FD_CLOEXEC);
	CHECK(pwrite(fd, "x", 1, 0) == -1);
	CHECK(ftruncate(fd, 0) == -1);
}

class fixture
{
      public:
	fixture()
	{
		REQUIRE(storemail_init(&mail) == 0);
	}
	~fixture()
	{
		storemail_deinit(&mail);
	}
	fixture(const fixture &) = delete;
	fixture &operator=(const fixture &) = delete;

	void begin(const std::vector<mailname> &names = { name_of(box) })
	{
		meta = meta_of(names);
		REQUIRE(storemail_begin(&mail, name_of(sender), names.data(), names.size()) == 0);
	}
	void append(const std::string &text, size_t piece)
	{
		for (size_t at = 0; at < text.size(); at += piece) {
			const std::string part = text.substr(at, piece);
			REQUIRE(storemail_append(&mail, part.data(), part.size()) == 0);
		}
	}
	// Finishes, and looks at what would be sent.
	void check(const std::string &text)
	{
		storewire_request request{};
		storelink_memory memory{};
		REQUIRE(storemail_finish(&mail, &request, &memory) == 0);
		CHECK(request.type == STOREWIRE_DELIVER);
		CHECK(request.number == meta.size());
		CHECK(request.size == text.size());
		CHECK(request.mailbox.size == 0);
		CHECK_FALSE(request.has_id);
		const bool is_small = meta.size() + text.size() <= STOREWIRE_INLINE_MAX;
		REQUIRE((memory.fd < 0) == is_small);
		std::string content;
		if (is_small) {
			for (size_t i = 0; i < memory.part_count; i++)
				content.append(static_cast<const char *>(memory.parts[i].iov_base),
					       memory.parts[i].iov_len);
		} else {
			content = read_whole(memory.fd);
			check_seals(memory.fd);
		}
		CHECK(content == meta + text);
	}

	struct storemail mail {
	};
	std::string meta;
};
} // namespace

TEST_CASE("a mail is in the packet up to its limit, and in sealed memory beyond",
	  "[mail-base][storemail]")
{
	const long around = GENERATE(-2, -1, 0, 1, 2);
	const size_t times = GENERATE(1, 2, 3);
	const size_t piece = GENERATE(1000, STOREWIRE_INLINE_MAX, 1000000);
	CAPTURE(around, times, piece);
	fixture f;
	f.begin();
	const std::string text = pattern(static_cast<size_t>(
		static_cast<long>(times * STOREWIRE_INLINE_MAX - f.meta.size()) + around));
	f.append(text, piece);
	f.check(text);
}

TEST_CASE("a mail that comes byte by byte, or not at all, is the same", "[mail-base][storemail]")
{
	fixture f;
	f.begin();
	f.check("");
	f.begin();
	const std::string text = pattern(STOREWIRE_INLINE_MAX + 10);
	f.append(text, 1);
	f.check(text);
}

TEST_CASE("recipients that fill the packet send their mail into memory", "[mail-base][storemail]")
{
	std::vector<std::string> texts;
	std::vector<mailname> names;
	for (int i = 0; i < 1000; i++)
		texts.push_back("mailbox-with-a-long-name-" + std::to_string(10000 + i) +
				"@example.com");
	for (const std::string &text : texts)
		names.push_back(name_of(text));
	fixture f;
	f.begin(names);
	REQUIRE(f.meta.size() > STOREWIRE_INLINE_MAX);
	f.append("text\r\n", 6);
	f.check("text\r\n");
}

TEST_CASE("one is used for mail after mail, also when one was given up", "[mail-base][storemail]")
{
	fixture f;
	storemail_abort(&f.mail);
	const std::string large = pattern(100000);
	for (int i = 0; i < 3; i++) {
		f.begin();
		f.append(large, 30000);
		f.check(large);
		f.begin();
		f.append("small", 5);
		f.check("small");
		f.begin();
		f.append(large, 30000);
		storemail_abort(&f.mail);
		CHECK(f.mail.fd == -1);
	}
}

TEST_CASE("a mail that was never made is taken apart", "[mail-base][storemail]")
{
	struct storemail mail {
	};
	storemail_deinit(&mail);
	REQUIRE(storemail_init(&mail) == 0);
	storemail_deinit(&mail);
	storemail_deinit(&mail);
	CHECK(mail.buffer == nullptr);
}

TEST_CASE("any bytes are sealed", "[mail-base][storemail]")
{
	const size_t size = GENERATE(0, 1, 100000);
	const std::string text = pattern(size);
	const int fd = storemail_seal(text.data(), text.size());
	REQUIRE(fd >= 0);
	CHECK(read_whole(fd) == text);
	CHECK(fcntl(fd, F_GET_SEALS) == (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE));
	close(fd);
}
