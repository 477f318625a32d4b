// SPDX-License-Identifier: GPL-3.0-or-later
// The file of parameters: what is taken, what is refused, and what follows from the shipped one.
#include "bench/users-load/workload.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace
{

std::string shipped()
{
	std::ifstream file("bench/enterprise.workload");
	std::stringstream text;
	text << file.rdbuf();
	return text.str();
}

struct Result {
	int status;
	workload parameters;
	workload_error error;
};

Result read(std::string text)
{
	Result result = {};
	FILE *file = fmemopen(text.data(), text.size(), "r");
	result.status = workload_read(file, &result.parameters, &result.error);
	fclose(file);
	return result;
}

std::string print(std::string text, bool is_markdown)
{
	workload_error error = {};
	char *bytes = nullptr;
	size_t size = 0;
	FILE *file = fmemopen(text.data(), text.size(), "r");
	FILE *out = open_memstream(&bytes, &size);
	int status = workload_print(file, is_markdown, out, &error);
	fclose(file);
	fclose(out);
	std::string printed(bytes, size);
	free(bytes);
	INFO(error.reason);
	REQUIRE(status == 0);
	return printed;
}

// The shipped file with the first line that begins so replaced.
std::string with_line(const std::string &start, const std::string &line)
{
	std::string text = shipped();
	size_t at = text.find("\n" + start);
	REQUIRE(at != std::string::npos);
	size_t end = text.find('\n', at + 1);
	return text.substr(0, at + 1) + line + text.substr(end);
}

std::string reason_of(const std::string &text)
{
	Result result = read(text);
	CHECK(result.status < 0);
	return result.error.reason;
}

workload shipped_parameters()
{
	Result result = read(shipped());
	INFO(result.error.line << ": " << result.error.reason);
	REQUIRE(result.status == 0);
	return result.parameters;
}

unsigned line_of(const std::string &start)
{
	std::string text = shipped();
	size_t at = text.find("\n" + start);
	REQUIRE(at != std::string::npos);
	return unsigned(std::count(text.begin(), text.begin() + long(at), '\n')) + 2;
}

// Sums of all kinds of client, of an active user in an hour.
double an_hours(const workload &w, workload_sequence sequence)
{
	double sum = 0;
	for (unsigned i = 0; i < WORKLOAD_CLIENTS; i++) {
		double visits[WORKLOAD_SEQUENCES];
		workload_visits(&w, workload_kind(i), visits);
		sum += w.clients[i].share * w.clients[i].sessions_h * visits[sequence];
	}
	return sum;
}

} // namespace

TEST_CASE("the enterprise workload is read, with the paper's numbers")
{
	workload w = shipped_parameters();
	CHECK(w.active_share == 0.78);
	CHECK(w.mails_received_h == 5.06);
	CHECK(w.recipients_mean == 3.06);
	CHECK(w.flows[WORKLOAD_LOCAL_LOCAL] == 0.56);
	CHECK(w.flows[WORKLOAD_REMOTE_LOCAL] == 0.31);
	CHECK(w.flows[WORKLOAD_LOCAL_REMOTE] == 0.13);
	CHECK(w.limit_transaction_s == 5);
	CHECK(w.limit_local_s == 60);
	CHECK(w.limit_remote_s == 3600);
	CHECK(w.limit_share == 0.95);
	CHECK(w.limit_errors == 0.01);
	CHECK(w.users_min == 250);
	CHECK(w.clients[WORKLOAD_WEBMAIL].keeps == 0);
	CHECK(w.clients[WORKLOAD_POLLER].after[WORKLOAD_WRITE][WORKLOAD_SUCCESSORS - 1] == 80);
}

TEST_CASE("two hundred and fifty users send some 370 mails an hour in the paper's flows")
{
	workload w = shipped_parameters();
	double sum = 0;
	for (unsigned i = 0; i < WORKLOAD_FLOWS; i++)
		sum += workload_mails_h(&w, workload_flow(i), 250);
	CHECK(sum == Approx(370.7).epsilon(0.001));
	double received = w.recipients_mean * (workload_mails_h(&w, WORKLOAD_LOCAL_LOCAL, 250) +
					       workload_mails_h(&w, WORKLOAD_REMOTE_LOCAL, 250));
	CHECK(received == Approx(250 * 0.78 * 5.06));
	CHECK(workload_mails_h(&w, WORKLOAD_LOCAL_REMOTE, 250) == Approx(0.13 * sum));
}

TEST_CASE("as many mails are read as received, and as many kept in Sent as users send")
{
	workload w = shipped_parameters();
	double active = 250 * w.active_share;
	double sent = (workload_mails_h(&w, WORKLOAD_LOCAL_LOCAL, 250) +
		       workload_mails_h(&w, WORKLOAD_LOCAL_REMOTE, 250)) /
		      active;
	CHECK(an_hours(w, WORKLOAD_READ) == Approx(w.mails_received_h).epsilon(0.03));
	CHECK(an_hours(w, WORKLOAD_WRITE) == Approx(sent).epsilon(0.03));
	CHECK(an_hours(w, WORKLOAD_BEGIN) ==
	      Approx(workload_sessions_h(&w, 250) / active).epsilon(1e-9));
}

TEST_CASE("a session of a client that stays has twenty minutes of thinking")
{
	workload w = shipped_parameters();
	for (workload_kind kind : { WORKLOAD_THUNDERBIRD, WORKLOAD_APPLEMAIL }) {
		double visits[WORKLOAD_SEQUENCES];
		workload_visits(&w, kind, visits);
		double sequences = 0;
		for (unsigned i = WORKLOAD_LOOK; i < WORKLOAD_SEQUENCES; i++)
			sequences += visits[i];
		CHECK(sequences * w.clients[kind].think_s == Approx(1200).epsilon(0.03));
	}
}

TEST_CASE("any hundred users in a row have the shares of the workload")
{
	workload w = shipped_parameters();
	for (uint64_t from : { 0u, 1u, 77u, 1000u, 123456u }) {
		unsigned active = 0;
		unsigned kinds[WORKLOAD_CLIENTS] = {};
		for (uint64_t user = from; user < from + 100; user++)
			if (workload_is_active(&w, user)) {
				active++;
				kinds[workload_client(&w, user)]++;
			}
		CHECK(active == 78);
		for (unsigned i = 0; i < WORKLOAD_CLIENTS; i++)
			CHECK(std::fabs(kinds[i] - 78 * w.clients[i].share) <= 2.5);
	}
}

TEST_CASE("mails have the mean number of recipients")
{
	workload w = shipped_parameters();
	dice stream;
	dice_begin(&stream, 1, DICE_MESSAGES, 0);
	double sum = 0;
	for (unsigned i = 0; i < 100000; i++)
		sum += workload_recipients(&w, &stream);
	CHECK(sum / 100000 == Approx(3.06).epsilon(0.02));
}

TEST_CASE("a line that is wrong is refused, with its number and a reason")
{
	Result result = read(with_line("flows", "flows = 0.56 0.31 0.13"));
	CHECK(result.status < 0);
	CHECK(result.error.line == line_of("flows"));
	CHECK(std::string(result.error.reason) == "it says not where its numbers come from");

	CHECK(reason_of(with_line("flows", "flows # ours: x = y")) == "no \"=\"");
	CHECK(reason_of(with_line("flows", "flows 1 2 3")) == "no \"=\"");
	CHECK(reason_of(with_line("flows", "flows = 0.5 0.5 # ours: x")) ==
	      "\"flows\" has 3 numbers, not 2");
	CHECK(reason_of(with_line("flows", "flows = 1 2 3 4 5 6 7 8 9 # ours: x")) ==
	      "more than 8 numbers");
	CHECK(reason_of(with_line("flows", "flows = 0.5 0.5 # hearsay: x")) ==
	      "\"hearsay\" is no source: paper, spec, imaptest or ours");
	CHECK(reason_of(with_line("flows", "flows = 0.5 0.5 # ours")) ==
	      "behind \"#\" has to be a source, a colon and a text");
	CHECK(reason_of(with_line("flows", "flows = 0.5 0.5 # ours: ")) ==
	      "no text behind \"ours:\"");
	CHECK(reason_of(with_line("flows", "flow = 0.5 0.5 # ours: x")) ==
	      "there is no parameter \"flow\"");
	CHECK(reason_of(with_line("flows", "flows = 0.5 0.5 0.1 # ours: x")) ==
	      "\"flows\" do not come to 1");
	CHECK(reason_of(with_line("flows", "# none")) == "there is no line for \"flows\"");
	CHECK(reason_of(with_line("flows", std::string(50, 'a') + " = 1 # ours: x")) ==
	      "no parameter has such a long name");
	CHECK(reason_of(with_line("flows", "#" + std::string(400, 'a'))) ==
	      "a line of more than 399 characters");
	CHECK(reason_of(with_line("active-users", "active-users = 1.5 # ours: x")) ==
	      "\"active-users\": permitted is 0.01 to 1, not 1.5");
	CHECK(reason_of(shipped() + "active-users = 0.78 # ours: x\n") ==
	      "\"active-users\" was in line " + std::to_string(line_of("active-users")) +
		      " already");
	CHECK(reason_of(shipped() + std::string(1, '\0')) == "no text: it has a NUL");
	CHECK(reason_of(shipped() + std::string(65536, '\n')) == "more than 65536 bytes");
}

TEST_CASE("what strtod() takes beside decimal numbers is refused")
{
	for (const char *number : { "inf", "nan", "0x1", "1e999", "1,5", "e", "-", "1.2.3", "" }) {
		INFO(number);
		CHECK(read(with_line("users-min",
				     std::string("users-min = ") + number + " # ours: x"))
			      .status < 0);
	}
	CHECK(read(with_line("users-min", "users-min=2.5e2#ours:x\r")).status == 0);
}

TEST_CASE("numbers that contradict each other are refused")
{
	CHECK(reason_of(with_line("recipients ", "recipients = 3.2 # ours: x")) ==
	      "\"recipient-counts\" by their weights have not the mean of \"recipients\"");
	CHECK(reason_of(with_line("webmail.share", "webmail.share = 0.3 # ours: x")) ==
	      "shares of clients do not come to 1");
	CHECK(reason_of(with_line("structures", "structures = 0 0 0 0 0 0 # ours: x")) ==
	      "weights that are 0 all in all");
	CHECK(reason_of(with_line("mailbox-specials", "mailbox-specials = 1 1 0 0 # ours: x")) ==
	      "\"mailbox-specials\" are more than all");
	CHECK(reason_of(with_line("read-moved", "read-moved = 0.96 # ours: x")) ==
	      "\"read-deleted\" and \"read-moved\" are more than all");
	CHECK(reason_of(
		      with_line("poller.after-look", "poller.after-look = 1 1 1 1 0 # ours: x")) ==
	      "a sequence but \"begin\" that ends no session in 1000");
	CHECK(reason_of(with_line("poller.after-begin",
				  "poller.after-begin = 0 0 0 0 0 # ours: x")) ==
	      "a sequence without any that comes next");
	CHECK(reason_of(with_line("flows", "flows = 0 0 1 # ours: x")) ==
	      "\"flows\": no mail is local");
}

TEST_CASE("the table has a line for each parameter, with its source")
{
	std::string table = print(shipped(), false);
	std::istringstream lines(table);
	std::set<std::string> names;
	for (std::string line; std::getline(lines, line);) {
		std::vector<std::string> fields;
		std::istringstream words(line);
		for (std::string field; std::getline(words, field, '\t');)
			fields.push_back(field);
		REQUIRE(fields.size() == 4);
		names.insert(fields[0]);
	}
	CHECK(names.size() == WORKLOAD_PARAMETERS);
	CHECK(table.find("active-users\t0.78\tpaper\tthe share of users that are active") !=
	      std::string::npos);

	std::string markdown = print(shipped(), true);
	CHECK(markdown.find("| `flows` | 0.56 0.31 0.13 | paper | ") != std::string::npos);
	CHECK(std::count(markdown.begin(), markdown.end(), '\n') == 2 + WORKLOAD_PARAMETERS);
}

TEST_CASE("what follows is a line for each kind of client, and one for all")
{
	workload w = shipped_parameters();
	char *bytes = nullptr;
	size_t size = 0;
	FILE *out = open_memstream(&bytes, &size);
	REQUIRE(workload_print_sums(&w, false, out) == 0);
	REQUIRE(workload_print_sums(&w, true, out) == 0);
	fclose(out);
	std::string printed(bytes, size);
	free(bytes);
	CHECK(std::count(printed.begin(), printed.end(), '\n') == 6 + 7);
	CHECK(printed.find("poller\t0.25\t12.00\t12.00\t5.") != std::string::npos);
	CHECK(printed.find("\nall\t1.00\t6.16\t") != std::string::npos);
	CHECK(printed.find("| webmail | 0.25 | 8.64 | ") != std::string::npos);
	FILE *full = fopen("/dev/full", "w");
	setbuf(full, nullptr);
	CHECK(workload_print_sums(&w, false, full) < 0);
	fclose(full);
}

TEST_CASE("transactions, clients, sequences and structures have names")
{
	std::set<std::string> names;
	for (unsigned i = 0; i < TRANSACTIONS; i++)
		names.insert(transaction_name(transaction(i)));
	CHECK(names.size() == 15);
	CHECK(names.count("FETCH_HEADERS") == 1);
	CHECK(std::string(transaction_name(TRANSACTION_SMTP_REMOTE)) == "SMTP_REMOTE");
	CHECK(std::string(workload_client_name(WORKLOAD_WEBMAIL)) == "webmail");
	CHECK(std::string(workload_sequence_name(WORKLOAD_TIDY)) == "tidy");
	CHECK(std::string(workload_structure_name(WORKLOAD_FORWARDED)) == "forwarded");
}
