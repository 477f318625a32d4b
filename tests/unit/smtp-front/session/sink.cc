// SPDX-License-Identifier: GPL-3.0-or-later
// The sinks that need no next hop: none, maildirs, and an smtpd that takes descriptors.
#include "integration/mail/smtp-front/sinks/sink.h"

#include "tests/lib/child.hh"
#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace
{

struct closer {
	void operator()(sink *sink) const
	{
		sink_close(sink);
	}
};
using sink_owner = std::unique_ptr<struct sink, closer>;

// A sink within a session, and the setup that it borrows.
class sink_fixture
{
      public:
	sink_fixture(setup_sink_kind kind, const std::string &to, setup_maildir maildir)
	{
		setup_.kind = kind;
		setup_.maildir = maildir;
		setup_.timeout_ms = 20000;
		to.copy(setup_.to.text, sizeof(setup_.to.text) - 1);
		auto *address = (struct sockaddr_un *)&setup_.to.address;
		if (kind == SETUP_SINK_POSTFIX) {
			address->sun_family = AF_UNIX;
			to.copy(address->sun_path, sizeof(address->sun_path) - 1);
			setup_.to.address_size = sizeof(*address);
		}
		sink *opened = nullptr;
		status = sink_open(&setup_, "mx.example.org", &opened);
		it.reset(opened);
		if (status != 0)
			return;
		dnsblv6_ip_parse("192.0.2.7", &session_.facts.client_ip);
		dnsblv6_ip_parse("198.51.100.25", &session_.facts.local_ip);
		session_.facts.client_port = 40112;
		session_.facts.local_port = 25;
		session_.helo = "mail.example.net";
		sink_enter(it.get(), &session_);
	}

	bool mail(const char *sender)
	{
		envelope envelope = {};
		std::strcpy(envelope.sender, sender);
		return sink_mail(it.get(), &envelope, &reply);
	}
	bool recipient(const std::string &mailbox)
	{
		return alias({ mailbox });
	}
	bool alias(const std::vector<std::string> &names)
	{
		auto mailboxes = std::make_unique<users_mailboxes>();
		for (const auto &name : names)
			name.copy(mailboxes->names[mailboxes->count++], USERS_ENTRY_SIZE - 1);
		auto recipient = std::make_unique<struct recipient>();
		std::strcpy(recipient->address, "as.written@example.org");
		return sink_recipient(it.get(), recipient.get(), mailboxes.get(), &reply);
	}
	bool append(const std::string &text)
	{
		return sink_append(it.get(), (const uint8_t *)text.data(), text.size(), &reply);
	}
	// The whole of it, as far as it goes.
	bool deliver(const std::vector<std::string> &recipients, const std::string &text)
	{
		return mail("sender@example.net") &&
		       std::all_of(recipients.begin(), recipients.end(),
				   [this](const std::string &to) { return recipient(to); }) &&
		       sink_begin(it.get(), &reply) && append(text) &&
		       sink_commit(it.get(), &reply);
	}
	std::string trouble()
	{
		char text[SINK_TROUBLE_MAX];
		sink_trouble(it.get(), text);
		return text;
	}

	sink_owner it;
	sink_reply reply = {};
	int status = 0;

      private:
	setup_sink setup_ = {};
	sink_session session_ = {};
};

std::vector<std::string> files_in(const std::string &path)
{
	std::vector<std::string> found;
	if (!std::filesystem::exists(path))
		return found;
	for (const auto &entry : std::filesystem::directory_iterator(path))
		found.push_back(entry.path().filename());
	return found;
}

// The mails in a maildir, and that nothing is left in its tmp/.
std::vector<std::string> mails_in(const std::string &path)
{
	std::vector<std::string> found;
	for (const std::string &name : files_in(path + "/new"))
		found.push_back(read_file(path + "/new/" + name));
	CHECK(files_in(path + "/tmp").empty());
	CHECK(files_in(path + "/cur").empty());
	return found;
}

} // namespace

TEST_CASE("a sink of kind null takes every mail", "[front][sink]")
{
	sink_fixture sink(SETUP_SINK_NULL, "", SETUP_MAILDIR_ONE);
	REQUIRE(sink.status == 0);
	CHECK(sink.deliver({ "a@example.org", "b@example.org" }, "Subject: x\r\n\r\ny\r\n"));
	CHECK(sink.reply.code == 250);
	sink_abort(sink.it.get());
	sink_leave(sink.it.get());
}

TEST_CASE("a mail is in the maildir, with lines that end in LF", "[front][sink]")
{
	tmpdir dir;
	sink_fixture sink(SETUP_SINK_MAILDIR, dir.path(), SETUP_MAILDIR_ONE);
	REQUIRE(sink.status == 0);
	CHECK(sink.deliver({ "a@example.org" }, "Subject: x\r\n\r\n.\r\nFrom y\r\n"));
	CHECK(sink.reply.code == 250);
	CHECK(mails_in(dir.path()) ==
	      std::vector<std::string>{
		      "Return-Path: <sender@example.net>\nSubject: x\n\n.\nFrom y\n" });
	struct stat facts = {};
	REQUIRE(stat(dir.file("new/" + files_in(dir.file("new"))[0]).c_str(), &facts) == 0);
	CHECK((facts.st_mode & 0777) == 0600);
}

TEST_CASE("a large mail in pieces is the same", "[front][sink]")
{
	tmpdir dir;
	sink_fixture sink(SETUP_SINK_MAILDIR, dir.path(), SETUP_MAILDIR_ONE);
	const size_t piece = GENERATE(1, 777, 16384, 100000);
	std::string text;
	for (int i = 0; i < 5000; i++)
		text += "line " + std::to_string(i) + "\r\n";
	REQUIRE(sink.mail(""));
	REQUIRE(sink.recipient("a@example.org"));
	REQUIRE(sink_begin(sink.it.get(), &sink.reply));
	for (size_t at = 0; at < text.size(); at += piece)
		REQUIRE(sink.append(text.substr(at, piece)));
	CHECK(files_in(dir.file("new")).empty());
	REQUIRE(sink_commit(sink.it.get(), &sink.reply));
	text.erase(std::remove(text.begin(), text.end(), '\r'), text.end());
	CHECK(mails_in(dir.path()) == std::vector<std::string>{ "Return-Path: <>\n" + text });
}

TEST_CASE("each recipient has a maildir, and a mail to several is one file", "[front][sink]")
{
	tmpdir dir;
	sink_fixture sink(SETUP_SINK_MAILDIR, dir.path(), SETUP_MAILDIR_RECIPIENT);
	REQUIRE(sink.deliver(
		{ "john@example.org", "a/b%@example.org", ".x@example.org", "john@example.org" },
		"mail\r\n"));
	for (const char *box : { "john@example.org", "a%2Fb%25@example.org", "%2Ex@example.org" }) {
		CAPTURE(box);
		CHECK(mails_in(dir.file(box)) ==
		      std::vector<std::string>{ "Return-Path: <sender@example.net>\nmail\n" });
		struct stat facts = {};
		const std::string name = std::string(box) + "/new/" +
					 files_in(dir.file(std::string(box) + "/new"))[0];
		REQUIRE(stat(dir.file(name).c_str(), &facts) == 0);
		CHECK(facts.st_nlink == 3);
	}
	CHECK(files_in(dir.path()).size() == 4);
	CHECK(files_in(dir.file("tmp")).empty());
}

TEST_CASE("a recipient makes no directory, and a mail that is not committed none for anybody",
	  "[front][sink]")
{
	tmpdir dir;
	sink_fixture sink(SETUP_SINK_MAILDIR, dir.path(), SETUP_MAILDIR_RECIPIENT);
	REQUIRE(sink.mail("sender@example.net"));
	REQUIRE(sink.recipient("a@example.org"));
	REQUIRE(sink.recipient("b@example.org"));
	CHECK(files_in(dir.path()).empty());
	REQUIRE(sink_begin(sink.it.get(), &sink.reply));
	REQUIRE(sink.append("mail\r\n"));
	sink_abort(sink.it.get());
	CHECK(files_in(dir.path()) == std::vector<std::string>{ "tmp" });
	CHECK(files_in(dir.file("tmp")).empty());
}

TEST_CASE("a mailbox is named as it is called, whatever the case", "[front][sink]")
{
	tmpdir dir;
	sink_fixture sink(SETUP_SINK_MAILDIR, dir.path(), SETUP_MAILDIR_RECIPIENT);
	REQUIRE(sink.deliver({ "John@example.org", "@example.org", "john doe@example.org" },
			     "mail\r\n"));
	for (const char *box : { "John@example.org", "@example.org", "john%20doe@example.org" })
		CHECK(mails_in(dir.file(box)).size() == 1);
}

TEST_CASE("what a killed worker has left in tmp is removed after 36 hours", "[front][sink]")
{
	tmpdir dir;
	std::filesystem::create_directory(dir.file("tmp"));
	const auto now = std::filesystem::file_time_type::clock::now();
	for (const int hours : { 0, 35, 37 }) {
		const std::string path = dir.file("tmp/" + std::to_string(hours));
		write_file(path, "half a mail\n");
		std::filesystem::last_write_time(path, now - std::chrono::hours(hours));
	}
	sink_fixture sink(SETUP_SINK_MAILDIR, dir.path(), SETUP_MAILDIR_RECIPIENT);
	std::vector<std::string> left = files_in(dir.file("tmp"));
	std::sort(left.begin(), left.end());
	CHECK(left == std::vector<std::string>{ "0", "35" });
}

TEST_CASE("an address that is no name of a directory is refused", "[front][sink]")
{
	tmpdir dir;
	sink_fixture sink(SETUP_SINK_MAILDIR, dir.path(), SETUP_MAILDIR_RECIPIENT);
	REQUIRE(sink.mail("sender@example.net"));
	CHECK_FALSE(sink.recipient(std::string(300, 'a')));
	CHECK(sink.reply.code == 550);
	CHECK(sink.deliver({ "../../b@example.org" }, "mail\r\n"));
	CHECK(mails_in(dir.file("%2E.%2F..%2Fb@example.org")).size() == 1);
}

TEST_CASE("an alias has its maildirs all, or is refused with none", "[front][sink]")
{
	tmpdir dir;
	sink_fixture sink(SETUP_SINK_MAILDIR, dir.path(), SETUP_MAILDIR_RECIPIENT);
	REQUIRE(sink.mail("sender@example.net"));
	REQUIRE(sink.recipient("a@example.org"));
	CHECK_FALSE(sink.alias({ "b@example.org", std::string(300, 'c'), "d@example.org" }));
	CHECK(sink.reply.code == 550);
	REQUIRE(sink.alias({ "a@example.org", "e@example.org", "f@example.org" }));
	REQUIRE(sink_begin(sink.it.get(), &sink.reply));
	REQUIRE(sink.append("mail\r\n"));
	REQUIRE(sink_commit(sink.it.get(), &sink.reply));
	for (const char *box : { "a@example.org", "e@example.org", "f@example.org" })
		CHECK(mails_in(dir.file(box)).size() == 1);
	CHECK(files_in(dir.path()).size() == 4); // with tmp
}

TEST_CASE("an aborted mail leaves nothing", "[front][sink]")
{
	tmpdir dir;
	sink_fixture sink(SETUP_SINK_MAILDIR, dir.path(), SETUP_MAILDIR_ONE);
	REQUIRE(sink.mail(""));
	REQUIRE(sink.recipient("a@example.org"));
	REQUIRE(sink_begin(sink.it.get(), &sink.reply));
	REQUIRE(sink.append(std::string(100000, 'x')));
	CHECK(files_in(dir.file("tmp")).size() == 1);
	switch (GENERATE(0, 1, 2, 3)) {
	case 0:
		sink_abort(sink.it.get());
		break;
	case 1:
		sink.mail("");
		break;
	case 2:
		sink_leave(sink.it.get());
		break;
	default:
		sink.it.reset(); // the end of the worker
	}
	CHECK(mails_in(dir.path()).empty());
}

TEST_CASE("a maildir that cannot be opened is no sink", "[front][sink]")
{
	tmpdir dir;
	sink_fixture sink(SETUP_SINK_MAILDIR, dir.file("absent"), SETUP_MAILDIR_ONE);
	CHECK(sink.status == -ENOENT);
}

TEST_CASE("a maildir that goes away is 451, and the reason is for the log", "[front][sink]")
{
	tmpdir dir;
	sink_fixture sink(SETUP_SINK_MAILDIR, dir.path(), SETUP_MAILDIR_ONE);
	REQUIRE(sink.deliver({ "a@example.org" }, "mail\r\n"));
	CHECK(sink.trouble().empty());
	std::filesystem::remove_all(dir.file("new"));
	CHECK_FALSE(sink.deliver({ "a@example.org" }, "mail\r\n"));
	CHECK(sink.reply.code == 451);
	CHECK(sink.trouble().find("No such file or directory") != std::string::npos);
	CHECK(sink.trouble().empty());
}

TEST_CASE("a mailbox that fails takes the mail back from the others", "[front][sink]")
{
	tmpdir dir;
	sink_fixture sink(SETUP_SINK_MAILDIR, dir.path(), SETUP_MAILDIR_RECIPIENT);
	const std::vector<std::string> both = { "a@example.org", "b@example.org" };
	REQUIRE(sink.deliver(both, "one\r\n"));
	std::filesystem::remove_all(dir.file("b@example.org/new"));
	CHECK_FALSE(sink.deliver(both, "two\r\n"));
	CHECK(sink.reply.code == 451);
	CHECK(mails_in(dir.file("a@example.org")) ==
	      std::vector<std::string>{ "Return-Path: <sender@example.net>\none\n" });
}

// In a file system of its own, which takes root, or a namespace where we are.
TEST_CASE("a full disk is 452, and nothing of the mail is there", "[front][sink]")
{
	tmpdir dir;
	child other([&] {
		if (unshare(CLONE_NEWNS) != 0 ||
		    mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
		    mount("none", dir.path().c_str(), "tmpfs", 0, "size=64k") != 0)
			return 77;
		sink_fixture sink(SETUP_SINK_MAILDIR, dir.path(), SETUP_MAILDIR_ONE);
		if (sink.status != 0 ||
		    sink.deliver({ "a@example.org" }, std::string(1 << 20, 'x')))
			return 1;
		if (sink.reply.code != 452 || std::string(sink.reply.text).substr(0, 6) != "4.3.1 ")
			return 2;
		if (!files_in(dir.file("tmp")).empty() || !files_in(dir.file("new")).empty())
			return 3;
		return sink.deliver({ "a@example.org" }, "small\r\n") &&
				       files_in(dir.file("new")).size() == 1
			       ? 0
			       : 4;
	});
	const int status = other.wait();
	if (status == 77)
		WARN("no mount namespace: skipped");
	CHECK((status == 0 || status == 77));
}

// ---- an smtpd ----

namespace
{

struct sockaddr_un address_of(const std::string &path)
{
	struct sockaddr_un address = {};
	address.sun_family = AF_UNIX;
	path.copy(address.sun_path, sizeof(address.sun_path) - 1);
	return address;
}

int listen_at(const std::string &path, int backlog)
{
	const struct sockaddr_un address = address_of(path);
	const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return bind(listener, (const struct sockaddr *)&address, sizeof(address)) == 0 &&
			       listen(listener, backlog) == 0
		       ? listener
		       : -1;
}

// What smtpd does: one byte with the descriptor, then the attributes, then it closes.
int take_descriptor(int listener, const std::string &expected)
{
	const int from = accept(listener, nullptr, nullptr);
	char byte = 'x';
	alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
	struct iovec part = { &byte, 1 };
	struct msghdr message = {};
	message.msg_iov = &part;
	message.msg_iovlen = 1;
	message.msg_control = control;
	message.msg_controllen = sizeof(control);
	if (recvmsg(from, &message, 0) != 1 || byte != '\0')
		return 2;
	const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	if (header == nullptr || header->cmsg_type != SCM_RIGHTS)
		return 3;
	int fd = -1;
	std::memcpy(&fd, CMSG_DATA(header), sizeof(fd));
	std::string text(expected.size(), '\0');
	if (recv(from, text.data(), text.size(), MSG_WAITALL) != (ssize_t)text.size() ||
	    text != expected)
		return 4;
	return write(fd, "220 smtpd\r\n", 11) == 11 ? 0 : 5;
}

using namespace std::string_literals;
const std::string ATTRIBUTES = "client_address\0"
			       "192.0.2.7\0"
			       "client_port\0"
			       "40112\0"
			       "server_address\0"
			       "198.51.100.25\0"
			       "server_port\0"
			       "25\0\0"s;

volatile sig_atomic_t interruptions;

} // namespace

TEST_CASE("smtpd gets the connection and the client's address", "[front][sink]")
{
	tmpdir dir;
	const std::string path = dir.file("smtpd");
	child smtpd([&] { return take_descriptor(listen_at(path, 1), ATTRIBUTES); });
	sink_fixture sink(SETUP_SINK_POSTFIX, path, SETUP_MAILDIR_ONE);
	int ends[2];
	REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
	// Until it listens.
	while (!sink_pass(sink.it.get(), ends[0], &sink.reply)) {
		REQUIRE(sink.reply.code == 421);
		REQUIRE_THAT(sink.trouble(), Catch::StartsWith("connect: "));
	}
	close(ends[0]);
	char text[64] = "";
	CHECK(read(ends[1], text, sizeof(text)) == 11);
	CHECK(std::string(text) == "220 smtpd\r\n");
	CHECK(smtpd.wait() == 0);
	close(ends[1]);
}

TEST_CASE("a signal does not end the wait for an smtpd", "[front][sink]")
{
	tmpdir dir;
	const std::string path = dir.file("smtpd");
	const struct sockaddr_un address = address_of(path);
	const int listener = listen_at(path, 0);
	const int before = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	REQUIRE(connect(before, (const struct sockaddr *)&address, sizeof(address)) == 0);
	// Its backlog is full now, until a third signal has come.
	static signal_pipe *is_enough;
	signal_pipe enough;
	is_enough = &enough;
	child smtpd([&] {
		enough.take();
		close(accept(listener, nullptr, nullptr));
		return take_descriptor(listener, ATTRIBUTES);
	});
	interruptions = 0;
	struct sigaction action = {};
	struct sigaction old = {};
	action.sa_handler = [](int) {
		interruptions = interruptions + 1;
		if (interruptions == 3)
			is_enough->give();
	};
	sigaction(SIGALRM, &action, &old);
	const struct itimerval often = { { 0, 20000 }, { 0, 20000 } };
	setitimer(ITIMER_REAL, &often, nullptr);
	sink_fixture sink(SETUP_SINK_POSTFIX, path, SETUP_MAILDIR_ONE);
	int ends[2];
	REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
	CHECK(sink_pass(sink.it.get(), ends[0], &sink.reply));
	const struct itimerval never = {};
	setitimer(ITIMER_REAL, &never, nullptr);
	sigaction(SIGALRM, &old, nullptr);
	CHECK(interruptions >= 3);
	CHECK(sink.trouble().empty());
	CHECK(smtpd.wait() == 0);
	for (int fd : { listener, before, ends[0], ends[1] })
		close(fd);
}

TEST_CASE("a connection that no smtpd has taken is 421", "[front][sink]")
{
	tmpdir dir;
	const std::string path = dir.file("smtpd");
	const int listener = listen_at(path, 1);
	// With bytes that it has not read.
	child smtpd([&] {
		const int from = accept(listener, nullptr, nullptr);
		char byte = 'x';
		return recv(from, &byte, 1, MSG_PEEK) == 1 && close(from) == 0 ? 0 : 1;
	});
	sink_fixture sink(SETUP_SINK_POSTFIX, path, SETUP_MAILDIR_ONE);
	int ends[2];
	REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
	CHECK_FALSE(sink_pass(sink.it.get(), ends[0], &sink.reply));
	CHECK(sink.reply.code == 421);
	CHECK_THAT(sink.trouble(), Catch::StartsWith("pass: "));
	CHECK(smtpd.wait() == 0);
	for (int fd : { listener, ends[0], ends[1] })
		close(fd);
}

TEST_CASE("a sink of mails takes no connection, one of connections no mail", "[front][sink]")
{
	sink_fixture none(SETUP_SINK_NULL, "", SETUP_MAILDIR_ONE);
	CHECK_FALSE(sink_pass(none.it.get(), 0, &none.reply));
	CHECK(none.reply.code == 421);
	sink_fixture postfix(SETUP_SINK_POSTFIX, "/nonexistent", SETUP_MAILDIR_ONE);
	CHECK_FALSE(postfix.mail("sender@example.net"));
	CHECK(postfix.reply.code == 451);
	CHECK_FALSE(postfix.trouble().empty());
}
