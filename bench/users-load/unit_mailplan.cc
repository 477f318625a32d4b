// SPDX-License-Identifier: GPL-3.0-or-later
// Mails of a load: their lines, their parts, their sizes, and any piece of them.
#include "bench/users-load/mailplan.h"
#include "bench/users-load/unit_parameters.hh"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <unistd.h>

namespace
{

constexpr unsigned MAILS = 200;
constexpr int64_t TIME_S = 1767225600; // 2026-01-01

mailplan make(uint64_t number, uint64_t seed = 1, uint64_t run = 5,
	      const workload &w = parameters())
{
	mailplan plan;
	mailplan_wish wish = {
		seed, run, number, TIME_S, "user1@example.com", "user2@example.com"
	};
	mailplan_make(&plan, &w, &wish);
	return plan;
}

std::string bytes_of(const mailplan &plan)
{
	std::string bytes(plan.size_bytes, '\0');
	CHECK(mailplan_copy(&plan, 0, &bytes[0], bytes.size()) == bytes.size());
	return bytes;
}

// With texts and attachments that are small.
workload small()
{
	workload w = parameters();
	w.text_median = 300;
	w.attachment_median = 500;
	w.attachment_sigma = 0.5;
	w.text_sigma = 0.5;
	return w;
}

std::vector<std::string> lines_of(const std::string &bytes)
{
	std::vector<std::string> lines;
	for (size_t at = 0; at < bytes.size();) {
		size_t end = bytes.find_first_of("\r\n", at);
		if (bytes.compare(end, 2, "\r\n") != 0)
			FAIL("a line end that is none");
		lines.push_back(bytes.substr(at, end - at));
		at = end + 2;
	}
	return lines;
}

std::string header_of(const std::string &bytes)
{
	return bytes.substr(0, bytes.find("\r\n\r\n") + 4);
}

// ---- a reader of MIME, just enough ----

struct Part {
	std::string type;
	std::string body;
	bool is_coded = false;
	std::vector<Part> parts;
};

std::string field(const std::string &header, const std::string &name)
{
	size_t at = ("\r\n" + header).find("\r\n" + name + ": ");
	if (at == std::string::npos)
		return "";
	std::string rest = header.substr(at + name.size() + 2);
	size_t end = 0;
	do
		end = rest.find("\r\n", end + 1);
	while (end != std::string::npos && end + 2 < rest.size() &&
	       (rest[end + 2] == ' ' || rest[end + 2] == '\t'));
	return rest.substr(0, end);
}

Part parse(const std::string &bytes)
{
	size_t empty = bytes.find("\r\n\r\n");
	REQUIRE(empty != std::string::npos);
	std::string header = bytes.substr(0, empty + 2);
	std::string value = field(header, "Content-Type");
	Part part = { value.substr(0, value.find(';')), bytes.substr(empty + 4), false, {} };
	part.is_coded = field(header, "Content-Transfer-Encoding") == "base64";
	if (part.type == "message/rfc822")
		part.parts.push_back(parse(part.body));
	if (part.type.rfind("multipart/", 0) != 0)
		return part;
	size_t at = value.find("boundary=\"");
	REQUIRE(at != std::string::npos);
	std::string boundary = value.substr(at + 10);
	boundary = "\r\n--" + boundary.substr(0, boundary.find('"'));
	size_t from = ("\r\n" + part.body).find(boundary); // in part.body two before it
	while (part.body.compare(from + boundary.size() - 2, 2, "--") != 0) {
		REQUIRE(part.body.compare(from + boundary.size() - 2, 2, "\r\n") == 0);
		size_t begin = from + boundary.size();
		size_t end = part.body.find(boundary, begin);
		REQUIRE(end != std::string::npos);
		part.parts.push_back(parse(part.body.substr(begin, end - begin)));
		from = end + 2;
	}
	return part;
}

std::string tree(const Part &part)
{
	std::string text = part.type;
	for (size_t i = 0; i < part.parts.size(); i++)
		text += (i == 0 ? "(" : " ") + tree(part.parts[i]);
	return part.parts.empty() ? text : text + ")";
}

// What base64 says, strictly: groups of four, the unused bits 0, nothing behind "=".
size_t decoded_size(const std::string &body)
{
	static const std::string digits =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	std::string code;
	std::copy_if(body.begin(), body.end(), std::back_inserter(code),
		     [](char c) { return c != '\r' && c != '\n'; });
	REQUIRE(code.size() % 4 == 0);
	size_t end = code.find('=');
	size_t pad = end == std::string::npos ? 0 : code.size() - end;
	REQUIRE(pad <= 2);
	REQUIRE(code.find_first_not_of(digits) >= code.size() - pad);
	if (pad > 0) {
		size_t last = digits.find(code[code.size() - pad - 1]);
		REQUIRE((last & (pad == 1 ? 3 : 15)) == 0);
	}
	return code.size() / 4 * 3 - pad;
}

// Sizes of all that is coded, in the order of the mail.
void add_coded(const Part &part, std::vector<size_t> &sizes)
{
	if (part.is_coded)
		sizes.push_back(decoded_size(part.body));
	for (const Part &within : part.parts)
		add_coded(within, sizes);
}

std::vector<size_t> planned_sizes(const mailplan &plan)
{
	std::vector<size_t> sizes;
	for (unsigned i = 0; i < plan.piece_count; i++)
		if (plan.pieces[i].raw_size > 0)
			sizes.push_back(plan.pieces[i].raw_size);
	return sizes;
}

} // namespace

TEST_CASE("lines of a mail end in CRLF, are short, 7-bit, and do not begin with a dot")
{
	auto is_fine = [](const std::string &line) {
		auto is_ascii = [](char c) { return (c >= ' ' && c <= '~') || c == '\t'; };
		return line.size() <= 78 && (line.empty() || line[0] != '.') &&
		       line.rfind("From ", 0) == std::string::npos &&
		       std::all_of(line.begin(), line.end(), is_ascii);
	};
	for (unsigned i = 0; i < MAILS; i++) {
		std::string bytes = bytes_of(make(i));
		REQUIRE(bytes.substr(bytes.size() - 2) == "\r\n");
		std::vector<std::string> lines = lines_of(bytes);
		auto bad = std::find_if_not(lines.begin(), lines.end(), is_fine);
		REQUIRE((bad == lines.end() ? "" : *bad) == "");
	}
}

TEST_CASE("any piece of a mail is that of the whole")
{
	for (unsigned structure = 0; structure < WORKLOAD_STRUCTURES; structure++) {
		workload one = small();
		std::fill(one.structures, one.structures + WORKLOAD_STRUCTURES, 0);
		one.structures[structure] = 1;
		mailplan plan = make(structure, 1, 5, one);
		REQUIRE(plan.structure == structure);
		std::string bytes = bytes_of(plan);
		for (size_t room : { 1u, 77u, 78u, 79u, 1000u, 100000u }) {
			size_t wrong = 0;
			for (size_t offset = 0; offset < bytes.size() + 2; offset++) {
				std::string piece(room, '#');
				size_t size = mailplan_copy(&plan, offset, &piece[0], room);
				std::string wanted =
					offset < bytes.size() ? bytes.substr(offset, room) : "";
				wanted += std::string(room - wanted.size(), '#');
				size_t left = offset < bytes.size() ? bytes.size() - offset : 0;
				wrong += piece != wanted || size != std::min(room, left);
			}
			REQUIRE(wrong == 0);
		}
	}
}

TEST_CASE("a mail has the parts of its structure")
{
	const std::map<unsigned, std::string> trees = {
		{ WORKLOAD_PLAIN, "text/plain" },
		{ WORKLOAD_ALTERNATIVE, "multipart/alternative(text/plain text/html)" },
		{ WORKLOAD_RELATED, "multipart/related(multipart/alternative(text/plain text/html) "
				    "image/png)" },
		{ WORKLOAD_MIXED, "multipart/mixed(text/plain application/octet-stream)" },
		{ WORKLOAD_MIXED_RICH,
		  "multipart/mixed(multipart/alternative(text/plain text/html) "
		  "application/octet-stream)" },
		{ WORKLOAD_FORWARDED,
		  "multipart/mixed(text/plain message/rfc822(multipart/mixed(text/plain "
		  "application/octet-stream)))" },
	};
	std::set<unsigned> seen;
	std::set<unsigned> attachments;
	for (unsigned i = 0; i < MAILS; i++) {
		mailplan plan = make(i);
		Part mail = parse(bytes_of(plan));
		std::string wanted = trees.at(plan.structure);
		if (plan.structure == WORKLOAD_MIXED || plan.structure == WORKLOAD_MIXED_RICH)
			for (unsigned k = 1; k < plan.attachment_count; k++)
				wanted.insert(wanted.size() - 1, " application/octet-stream");
		REQUIRE(tree(mail) == wanted);
		std::vector<size_t> coded;
		add_coded(mail, coded);
		REQUIRE(coded.size() ==
			plan.attachment_count + unsigned(plan.structure == WORKLOAD_RELATED));
		REQUIRE(coded == planned_sizes(plan));
		seen.insert(plan.structure);
		attachments.insert(plan.attachment_count);
	}
	CHECK(seen.size() == WORKLOAD_STRUCTURES);
	CHECK(attachments == std::set<unsigned>{ 0, 1, 2, 3 });
}

TEST_CASE("structures come as often as the workload says")
{
	unsigned counts[WORKLOAD_STRUCTURES] = {};
	const unsigned many = 20000;
	for (unsigned i = 0; i < many; i++)
		counts[make(i).structure]++;
	for (unsigned i = 0; i < WORKLOAD_STRUCTURES; i++)
		CHECK(counts[i] / double(many) == Approx(parameters().structures[i]).margin(0.015));
}

TEST_CASE("mails have some 64 KB, the mean, and the median is far below")
{
	std::vector<double> sizes;
	double sum = 0;
	for (unsigned i = 0; i < 100000; i++) {
		sizes.push_back(double(make(i).size_bytes));
		sum += sizes.back();
	}
	std::nth_element(sizes.begin(), sizes.begin() + 50000, sizes.end());
	CHECK(sum / 100000 > 61000);
	CHECK(sum / 100000 < 67000);
	CHECK(sizes[50000] < 10000);
}

TEST_CASE("a mail is the same again, and another one with another seed, run or number")
{
	CHECK(bytes_of(make(3)) == bytes_of(make(3)));
	std::set<std::string> texts;
	for (const mailplan &plan : { make(3, 1, 5), make(4, 1, 5), make(3, 2, 5), make(3, 1, 6) })
		texts.insert(bytes_of(plan).substr(header_of(bytes_of(plan)).size(), 200));
	CHECK(texts.size() == 4);
}

TEST_CASE("a header has the addresses, the time, and the run and number in its Message-ID")
{
	mailplan plan = make(0x4711, 1, 0xabcdef0123456789);
	std::string header = header_of(bytes_of(plan));
	CHECK(field(header, "From") == "user1@example.com");
	CHECK(field(header, "To") == "user2@example.com");
	CHECK(field(header, "Date") == "Thu, 01 Jan 2026 00:00:00 +0000");
	CHECK(field(header, "Message-ID") ==
	      "<users-load.abcdef0123456789.0000000000004711@load.invalid>");
	CHECK(field(header, "MIME-Version") == "1.0");
	uint64_t run = 0;
	uint64_t number = 0;
	REQUIRE(mailplan_find_id(header.data(), header.size(), &run, &number));
	CHECK(run == 0xabcdef0123456789);
	CHECK(number == 0x4711);
}

TEST_CASE("addresses that are missing or too long are not in the header, and times are kept within "
	  "years of four digits")
{
	std::string long_one = std::string(60, 'a') + "@example.com";
	for (int64_t time_s : { INT64_MIN, INT64_C(-1), INT64_MAX }) {
		mailplan plan;
		mailplan_wish wish = { 1, 1, 1, time_s, long_one.c_str(), nullptr };
		mailplan_make(&plan, &parameters(), &wish);
		std::string header = header_of(bytes_of(plan));
		CHECK(field(header, "From") == "someone@load.invalid");
		CHECK(field(header, "To") == "someone@load.invalid");
		CHECK(field(header, "Date").size() == 31);
		CHECK(field(header, "Date") == (time_s < 0 ? "Thu, 01 Jan 1970 00:00:00 +0000"
							   : "Fri, 31 Dec 9999 23:59:59 +0000"));
	}
}

TEST_CASE("a Message-ID is found wherever it stands in a header, and in no other field")
{
	const std::string id = "<users-load.00000000000000aa.00000000000000bb@load.invalid>";
	uint64_t run = 1;
	uint64_t number = 2;
	using Headers = std::vector<std::string>;
	auto find = [&](const std::string &text) {
		std::string exact(text); // its own memory, for the sanitizer
		return mailplan_find_id(exact.data(), exact.size(), &run, &number);
	};
	for (const std::string &header :
	     Headers{ "Message-ID: " + id + "\r\n", "message-id:" + id,
		      "Subject: x\nMESSAGE-ID:\t " + id, "Message-Id:\r\n " + id + "\r\n\r\n",
		      "From: a\r\n\r\nMessage-ID: " + id }) {
		run = number = 0;
		INFO(header);
		CHECK(find(header));
		CHECK(run == 0xaa);
		CHECK(number == 0xbb);
	}
	run = 1;
	number = 2;
	for (const std::string &header :
	     Headers{ "", "Message-ID:", "Message-ID: ", "In-Reply-To: " + id + "\r\n",
		      "X-Message-ID: " + id, "Message-ID: <a@b>\r\nMessage-ID: " + id,
		      "Message-ID: " + id.substr(0, 45),
		      "Message-ID: <users-load.00000000000000aA." + id,
		      "Message-ID: <users-load.00000000000000aa-00000000000000bb@load.invalid>",
		      "Message-ID: <users-load.00000000000000aa.00000000000000bbb@load.invalid>",
		      "Message-ID: " + std::string(1, '\0') + id }) {
		INFO(header);
		CHECK(!find(header));
	}
	CHECK(run == 1);
	CHECK(number == 2);
}

namespace
{

// Reads "SIZE\nMAIL" again and again, and says what is wrong with each.
const char *const python = R"(
import base64, email, email.policy, email.utils, re, sys
mails, parts = 0, 0
data = sys.stdin.buffer
while line := data.readline():
    text = data.read(int(line))
    mail = email.message_from_bytes(text, policy=email.policy.default)
    assert mail["Date"].datetime.year == 2026, mail["Date"]
    assert mail["To"].addresses[0].addr_spec == "user2@example.com"
    assert mail["From"].addresses[0].domain == "example.com"
    mark = r"<users-load\.[0-9a-f]{16}\.[0-9a-f]{16}@load\.invalid>"
    assert re.fullmatch(mark, mail["Message-ID"])
    for part in mail.walk():
        assert not part.defects, (mails, part.get_content_type(), part.defects)
        assert not any(value.defects for value in part.values()), part.items()
        parts += 1
        if part["Content-Transfer-Encoding"] == "base64":
            base64.b64decode(part.get_payload().replace("\r\n", ""), validate=True)
    again = mail.as_bytes(policy=email.policy.compat32.clone(linesep="\r\n"))
    assert again.count(b"\r\n") == text.count(b"\r\n")
    mails += 1
print(mails, parts)
)";

} // namespace

TEST_CASE("Python's email package takes mails without a defect")
{
	char path[] = "/tmp/users-load-mails-XXXXXX";
	int fd = mkstemp(path);
	REQUIRE(fd >= 0);
	FILE *file = fdopen(fd, "w");
	const workload w = small();
	size_t parts = 0;
	for (unsigned i = 0; i < MAILS; i++) {
		mailplan plan = make(i, 1, 5, w);
		std::string bytes = bytes_of(plan);
		fprintf(file, "%zu\n", bytes.size());
		fwrite(bytes.data(), 1, bytes.size(), file);
		for (size_t at = 0; (at = bytes.find("Content-Type: ", at)) != std::string::npos;
		     at++)
			parts++;
	}
	REQUIRE(fclose(file) == 0);
	setenv("USERS_LOAD_PYTHON", python, 1);
	std::string command =
		std::string("/usr/bin/python3 -c \"$USERS_LOAD_PYTHON\" < ") + path + " 2>&1";
	FILE *output = popen(command.c_str(), "r");
	REQUIRE(output != nullptr);
	std::string said;
	for (int c; (c = fgetc(output)) != EOF;)
		said += char(c);
	CHECK(pclose(output) == 0);
	unlink(path);
	CHECK(said == std::to_string(MAILS) + " " + std::to_string(parts) + "\n");
}
