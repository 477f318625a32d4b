// SPDX-License-Identifier: GPL-3.0-or-later
// A server that does what it should has no wrong line, and one that does not has the line of it.
#include "bench/users-load/imap/imapcheck.h"

#include <catch2/catch.hpp>

#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace
{

struct Mail {
	unsigned uid;
	unsigned number; // of the check's mails
	std::string flags;
	bool is_told; // of in the session
};

struct Folder {
	std::vector<Mail> mails;
	unsigned uid_next = 1;
};

// A server with a mistake, and the session that finds it.
struct Checked {
	std::string mistake;
	imapcheck check = {};
	imaptalk talk = {};
	imaptalk_rules rules = {};
	std::map<std::string, Folder> folders = { { "INBOX", {} } };
	std::string selected;
	std::string wrong; // the first line that is, and why
	unsigned lines = 0;

	explicit Checked(std::string which = "") : mistake(std::move(which))
	{
		static const imaptalk_calls calls = {
			[](void *context, const imaptalk_mail *mail) {
				imapcheck_mail(&static_cast<Checked *>(context)->check, mail);
			},
			[](void *context, const char *name, bool) {
				imapcheck_folder(&static_cast<Checked *>(context)->check, name);
			},
			[](void *context, enum imaptalk_fault fault) {
				imapcheck_fault(&static_cast<Checked *>(context)->check, fault);
			},
		};
		workload parameters = {};
		workload_error error = {};
		FILE *file = std::fopen("bench/enterprise.workload", "r");
		REQUIRE(file != nullptr);
		REQUIRE(workload_read(file, &parameters, &error) == 0);
		std::fclose(file);
		rules.calls = &calls;
		rules.password = "secret";
		imaptalk_init(&talk, &rules, this);
		imapcheck_init(&check, &parameters, 4711, "user");
		hear("* OK [CAPABILITY IMAP4rev1] hello\r\n");
		imapcheck_order order = {};
		while (imapcheck_next(&check, &talk, &order) && wrong.empty())
			one(order);
	}
	~Checked()
	{
		imaptalk_deinit(&talk);
	}
	Checked(const Checked &) = delete;
	Checked &operator=(const Checked &) = delete;

	bool has(const char *what) const
	{
		return mistake == what;
	}

	imaptalk_event hear(const std::string &text)
	{
		imaptalk_event event = IMAPTALK_GOES_ON;
		for (size_t at = 0, taken = 0; at < text.size(); at += taken) {
			event = imaptalk_input(&talk, text.data() + at, text.size() - at, &taken);
			if (event == IMAPTALK_BROKEN)
				break;
		}
		return event;
	}

	std::string sent()
	{
		std::string all(1 << 20, ' ');
		size_t size = 0, part = 0;
		while ((part = imaptalk_output(&talk, &all[size], all.size() - size)) > 0) {
			imaptalk_sent(&talk, part);
			size += part;
		}
		return all.substr(0, size);
	}

	void one(const imapcheck_order &order)
	{
		REQUIRE(imaptalk_start(&talk, &order.step, order.name, order.mail) == 0);
		imaptalk_wake(&talk); // IDLE, which is not offered, is a NOOP
		const std::string text = sent();
		const std::string tag = text.substr(0, text.find(' '));
		const imaptalk_event event = hear(answer(order, text) + tag + " OK done\r\n");
		lines++;
		const char *why = event == IMAPTALK_BROKEN
					  ? imaptalk_fault_text(imaptalk_fault(&talk))
					  : imapcheck_done(&check, &talk);
		if (why != nullptr)
			wrong = std::string(order.what) + ": " + why;
		else
			REQUIRE(event == IMAPTALK_DONE);
	}

	std::string fetch(const imapcheck_order &order, unsigned sequence, Mail &mail)
	{
		const unsigned command = order.step.command;
		std::string items = "UID " + std::to_string(mail.uid);
		const size_t size = check.mails[mail.number].size_bytes + (has("size") ? 1 : 0);
		if (command == TRANSACTION_FETCH_HEADERS) {
			char header[100];
			std::snprintf(header, sizeof(header),
				      "Message-ID: <users-load.%016x.%016x@load.invalid>\r\n\r\n",
				      has("message-id") ? 1U : 4711U, mail.number);
			items += " INTERNALDATE \"17-Jul-1996 02:44:25 -0700\" RFC822.SIZE " +
				 std::to_string(size) + " BODY[HEADER.FIELDS (X)] {" +
				 std::to_string(std::string(header).size()) + "}\r\n" + header;
		}
		if (command == TRANSACTION_FETCH_BODY) {
			const size_t told =
				check.mails[mail.number].size_bytes - (has("body") ? 1 : 0);
			items += " BODY[] {" + std::to_string(told) + "}\r\n" +
				 std::string(told, 'x');
			if ((order.step.client == WORKLOAD_APPLEMAIL) == has("peek"))
				mail.flags += " \\Seen";
		}
		return "* " + std::to_string(sequence) + " FETCH (" + items + " FLAGS (" +
		       mail.flags + "))\r\n";
	}

	std::string exists() const
	{
		return "* " + std::to_string(folders.at(selected).mails.size()) + " EXISTS\r\n";
	}

	std::string store(const imapcheck_order &order, unsigned sequence, Mail &mail)
	{
		if (order.step.flags == BEHAVIOUR_ANSWERED && !has("store"))
			mail.flags += " \\Answered";
		if (order.step.flags == BEHAVIOUR_DELETED)
			mail.flags += " \\Deleted";
		return fetch(order, sequence, mail);
	}

	std::string expunge()
	{
		auto &mails = folders.at(selected).mails;
		std::string said;
		for (size_t i = mails.size(); i > 0 && !has("expunge"); i--) {
			if (mails[i - 1].flags.find("\\Deleted") == std::string::npos)
				continue;
			mails.erase(mails.begin() + (int)i - 1);
			said += "* " + std::to_string(i) + " EXPUNGE\r\n";
		}
		return said;
	}

	std::string append(const imapcheck_order &order)
	{
		hear("+ go on\r\n");
		const std::string bytes = sent();
		REQUIRE(bytes.size() == order.mail->size_bytes + 2);
		Folder &folder = folders[order.name];
		folder.mails.push_back({ folder.uid_next++, (unsigned)order.mail->number,
					 order.step.flags != 0 && !has("append") ? "\\Seen" : "",
					 false });
		return has("news") ? "" : exists();
	}

	std::string list() const
	{
		std::string said;
		for (const auto &folder : folders) {
			if (folder.first != mistake)
				said += "* LIST () \"/\" \"" + folder.first + "\"\r\n";
		}
		return said;
	}

	// All mails that are asked for: the check asks for those from the first on.
	std::string of_each(const imapcheck_order &order)
	{
		auto &mails = folders.at(selected).mails;
		std::string said;
		for (unsigned i = order.step.first; i <= mails.size() && i <= order.step.last; i++)
			said += order.step.command == TRANSACTION_STORE
					? store(order, i, mails[i - 1])
					: fetch(order, i, mails[i - 1]);
		return has("told") && order.step.command == TRANSACTION_FETCH_STRUCTURE ? "" : said;
	}

	std::string answer(const imapcheck_order &order, const std::string &text)
	{
		switch (order.step.command) {
		case TRANSACTION_LOGIN:
			return has("rev1") ? "* CAPABILITY IMAP2\r\n"
					   : "* CAPABILITY IMAP4rev1\r\n";
		case TRANSACTION_LIST:
			return list();
		case IMAPTALK_CREATE:
			folders[order.name] = {};
			return "";
		case TRANSACTION_STATUS:
			return "* STATUS x (MESSAGES " +
			       std::to_string(folders.at(order.name).mails.size() +
					      (has("status") ? 1 : 0)) +
			       ")\r\n";
		case TRANSACTION_SELECT:
		case IMAPTALK_EXAMINE:
			selected = order.name;
			return "* FLAGS (\\Seen)\r\n* OK [UIDVALIDITY 7] .\r\n" + exists();
		case TRANSACTION_APPEND:
			return append(order);
		case TRANSACTION_COPY:
			for (unsigned i = order.step.first; i <= order.step.last && !has("copy");
			     i++) {
				Mail mail = folders.at(selected).mails[i - 1];
				Folder &folder = folders.at(order.name);
				mail.uid = folder.uid_next++;
				folder.mails.push_back(mail);
			}
			return "";
		case TRANSACTION_EXPUNGE:
			return expunge();
		case IMAPTALK_NOOP:
		case BEHAVIOUR_IDLE:
		case TRANSACTION_SEARCH:
			return "";
		default:
			return text.find("FETCH") != std::string::npos ||
					       order.step.command == TRANSACTION_STORE
				       ? of_each(order)
				       : "";
		}
	}
};

} // namespace

TEST_CASE("a server that does what it should has no wrong line", "[users-load][imapcheck]")
{
	const Checked fine;
	CHECK(fine.wrong == "");
	CHECK(fine.lines == 34); // MOVE and UID EXPUNGE with its STORE are not offered
}

TEST_CASE("a server that does not do what it should has the line of it", "[users-load][imapcheck]")
{
	const auto row = GENERATE(values<std::pair<const char *, const char *>>({
		{ "rev1", "CAPABILITY: IMAP4rev1 is not in it" },
		{ "INBOX", "LIST: INBOX is not in it" },
		{ "users-load-1267/copies",
		  "LIST of what was made: the folders that were made are not in it" },
		{ "status", "STATUS: another number of mails" },
		{ "news", "NOOP tells of the mails: EXISTS is another number of mails" },
		{ "append", "FETCH_FLAGS: \\Seen is not as APPEND had it" },
		{ "message-id",
		  "FETCH_HEADERS as Thunderbird does: not each mail has its Message-ID" },
		{ "size",
		  "FETCH_HEADERS as Thunderbird does: RFC822.SIZE is another than that of APPEND" },
		{ "told", "FETCH_STRUCTURE: not each mail is told of" },
		{ "body",
		  "FETCH_BODY as Apple's Mail does: the body has another size than the mail" },
		{ "peek", "FETCH_FLAGS behind BODY.PEEK[]: BODY.PEEK[] has set \\Seen" },
		{ "store", "STORE: \\Answered is not told" },
		{ "copy", "STATUS of copies: another number of mails" },
		{ "expunge", "EXPUNGE: mails with \\Deleted are left" },
	}));
	const Checked found(row.first);
	CHECK(found.wrong == row.second);
}

TEST_CASE("behind a LOGIN that fails there is nothing more", "[users-load][imapcheck]")
{
	Checked fine;
	imapcheck_order order = {};
	fine.check.row = 0;
	fine.talk.result = IMAPTALK_NO;
	CHECK(std::string(imapcheck_done(&fine.check, &fine.talk)) == "the server says NO");
	CHECK_FALSE(imapcheck_next(&fine.check, &fine.talk, &order));
}
