// SPDX-License-Identifier: GPL-3.0-or-later
// What clients do: that it is possible, as often as the workload says, and that mailboxes stay as
// they are.
#include "bench/users-load/behaviour.h"
#include "bench/users-load/unit_parameters.hh"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace
{

// As REQUIRE() of what is checked millions of times.
void demand(bool is_so)
{
	if (!is_so)
		FAIL("a command that a client cannot give");
}

struct Mail {
	uint64_t number;
	bool is_deleted;
};

struct Folder {
	std::vector<Mail> mails;
	uint32_t keep;
};

// A mailbox, and what one session sees of it; it has had headers up to number old[folder] before.
struct Mailbox {
	std::vector<Folder> folders;
	std::vector<uint64_t> old;
	uint64_t next = 1;
	unsigned selected = 0;
	bool has_selected = false;
	uint32_t known = 0;
	std::set<uint64_t> seen; // numbers whose headers this session has had
	uint64_t copied = 0;
	uint64_t expunged = 0;

	explicit Mailbox(unsigned count, uint32_t mails) : folders(count), old(count)
	{
		for (unsigned f = 0; f < count; f++) {
			folders[f].keep = mails;
			for (uint32_t m = 0; m < mails; m++)
				deliver(f);
			old[f] = next - 1;
		}
	}

	void deliver(unsigned folder)
	{
		folders[folder].mails.push_back({ next++, false });
	}

	Folder &now()
	{
		return folders[selected];
	}

	behaviour_view view()
	{
		behaviour_view view = {};
		view.folder_count = unsigned(folders.size());
		view.has_selected = has_selected;
		if (has_selected) {
			auto is_deleted = [](const Mail &mail) { return mail.is_deleted; };
			view.exists = uint32_t(now().mails.size());
			view.known = known;
			view.keep = now().keep;
			view.deleted = uint32_t(
				std::count_if(now().mails.begin(), now().mails.end(), is_deleted));
		}
		return view;
	}

	void select(unsigned folder, bool keeps)
	{
		selected = folder;
		has_selected = true;
		known = 0;
		for (const Mail &mail : now().mails)
			known += keeps && mail.number <= old[folder];
	}

	void had_headers(const behaviour_step &step)
	{
		known = std::max(known, step.last);
		for (uint32_t i = step.first; i <= step.last; i++)
			seen.insert(now().mails[i - 1].number);
		old[selected] = std::max(old[selected], now().mails[step.last - 1].number);
	}

	// Only what the client has headers of is touched.
	void check_known(const behaviour_step &step, bool keeps)
	{
		demand(step.first >= 1);
		demand(step.first <= step.last);
		demand(step.last <= known);
		for (uint32_t i = step.first; i <= step.last; i++) {
			uint64_t number = now().mails[i - 1].number;
			demand(seen.count(number) == 1 || (keeps && number <= old[selected]));
		}
	}

	void expunge()
	{
		std::vector<Mail> left;
		uint32_t known_left = known;
		for (uint32_t i = 0; i < now().mails.size(); i++)
			if (!now().mails[i].is_deleted)
				left.push_back(now().mails[i]);
			else if (i < known)
				known_left--;
		expunged += now().mails.size() - left.size();
		known = known_left;
		now().mails = left;
	}

	void apply(const behaviour_step &step, bool keeps)
	{
		switch (step.command) {
		case TRANSACTION_SELECT:
			demand(step.folder < folders.size());
			select(step.folder, keeps);
			break;
		case TRANSACTION_FETCH_HEADERS:
			demand(step.first >= 1);
			demand(step.first <= step.last);
			demand(step.last <= now().mails.size());
			had_headers(step);
			break;
		case TRANSACTION_FETCH_FLAGS:
			demand(step.first == 1);
			demand(step.last == now().mails.size());
			break;
		case TRANSACTION_FETCH_STRUCTURE:
		case TRANSACTION_FETCH_BODY:
			check_known(step, keeps);
			demand(step.first == step.last);
			break;
		case TRANSACTION_STORE:
			check_known(step, keeps);
			for (uint32_t i = step.first; i <= step.last; i++)
				now().mails[i - 1].is_deleted |= step.flags == BEHAVIOUR_DELETED;
			break;
		case TRANSACTION_COPY:
			check_known(step, keeps);
			demand(step.folder >= 1);
			demand(step.folder < folders.size());
			deliver(step.folder);
			copied++;
			break;
		case TRANSACTION_APPEND:
			deliver(step.folder);
			break;
		case TRANSACTION_EXPUNGE:
			expunge();
			break;
		default:
			break;
		}
	}
};

struct Counts {
	std::map<unsigned, double> commands;
	double idle_s = 0;
	double think_s = 0;
	double stored_seen = 0;
	double stored_answered = 0;
};

// One session from its beginning to its end.
void run(const workload &w, workload_kind kind, uint64_t number, Mailbox &mailbox, Counts &counts)
{
	dice stream;
	dice_begin(&stream, 1, DICE_SESSION, number);
	behaviour client;
	behaviour_begin(&client, kind, &stream);
	mailbox.has_selected = false;
	mailbox.seen.clear();
	bool keeps = w.clients[kind].keeps > 0;
	unsigned last = BEHAVIOUR_END;
	for (unsigned i = 0;; i++) {
		demand(i < 6000);
		behaviour_view view = mailbox.view();
		behaviour_step step;
		behaviour_next(&client, &w, &view, &step);
		if (i == 0) {
			demand(step.command == TRANSACTION_LOGIN);
			demand(step.think_s == 0);
		}
		if (step.command == BEHAVIOUR_END) {
			demand(last == BEHAVIOUR_LOGOUT);
			return;
		}
		demand(step.client == kind);
		demand(step.think_s >= 0);
		counts.commands[step.command]++;
		counts.idle_s += step.idle_s;
		counts.think_s += step.think_s;
		counts.stored_seen += step.flags == BEHAVIOUR_SEEN;
		counts.stored_answered += step.flags == BEHAVIOUR_ANSWERED;
		mailbox.apply(step, keeps);
		last = step.command;
	}
}

// Many sessions of one kind, each beside a mailbox that is as large as before.
Counts run_many(const workload &w, workload_kind kind, unsigned sessions)
{
	const Mailbox full(10, 80);
	Counts counts;
	for (unsigned i = 0; i < sessions; i++) {
		Mailbox mailbox = full;
		run(w, kind, i, mailbox, counts);
	}
	for (auto &command : counts.commands)
		command.second /= sessions;
	counts.idle_s /= sessions;
	counts.think_s /= sessions;
	return counts;
}

constexpr unsigned SESSIONS = 4000;

} // namespace

TEST_CASE("sequences come as often as the workload's probabilities say")
{
	workload w = parameters();
	for (unsigned i = 0; i < WORKLOAD_CLIENTS; i++) {
		workload_kind kind = workload_kind(i);
		const struct workload_client &client = w.clients[kind];
		INFO(workload_client_name(kind));
		double visits[WORKLOAD_SEQUENCES];
		workload_visits(&w, kind, visits);
		Counts counts = run_many(w, kind, SESSIONS);
		std::map<unsigned, double> &of = counts.commands;

		CHECK(of[TRANSACTION_LOGIN] == 1);
		CHECK(of[BEHAVIOUR_LOGOUT] == 1);
		// A mean of 1 is known to some five hundredths, three times its deviation.
		CHECK(of[TRANSACTION_LIST] == Approx(client.list_share).margin(0.03));
		CHECK(of[TRANSACTION_FETCH_BODY] == Approx(visits[WORKLOAD_READ]).epsilon(0.08));
		CHECK(counts.stored_seen / SESSIONS == of[TRANSACTION_FETCH_BODY]);
		CHECK(counts.stored_answered / SESSIONS ==
		      Approx(visits[WORKLOAD_READ] * w.answer_share).epsilon(0.15));
		CHECK(of[TRANSACTION_FETCH_STRUCTURE] ==
		      Approx(visits[WORKLOAD_READ] * client.structure_share).epsilon(0.12));
		CHECK(of[TRANSACTION_COPY] ==
		      Approx(visits[WORKLOAD_READ] * w.move_share).epsilon(0.35));
		CHECK(of[TRANSACTION_APPEND] == Approx(visits[WORKLOAD_WRITE]).epsilon(0.2));
		CHECK(of[TRANSACTION_SEARCH] ==
		      Approx(visits[WORKLOAD_TIDY] * w.search_share).epsilon(0.4));
		CHECK(of[TRANSACTION_SELECT] ==
		      Approx(1 + 2 * visits[WORKLOAD_TIDY] * w.tidy_elsewhere).epsilon(0.06));
		double looks = 1 + visits[WORKLOAD_LOOK];
		CHECK(of[TRANSACTION_STATUS] ==
		      Approx(looks * client.status_folders).epsilon(0.08));
		CHECK(of[TRANSACTION_FETCH_FLAGS] ==
		      Approx(looks * client.flags_share).epsilon(0.08));
	}
}

TEST_CASE("a client that stays thinks in IDLE for twenty minutes, another one outside of it")
{
	workload w = parameters();
	Counts stays = run_many(w, WORKLOAD_THUNDERBIRD, SESSIONS);
	CHECK(stays.idle_s == Approx(1200).epsilon(0.08));
	CHECK(stays.think_s < 60);
	for (workload_kind kind : { WORKLOAD_POLLER, WORKLOAD_WEBMAIL }) {
		Counts leaves = run_many(w, kind, SESSIONS);
		CHECK(leaves.commands[BEHAVIOUR_IDLE] == 0);
		CHECK(leaves.think_s > w.clients[kind].think_s);
		CHECK(leaves.think_s < 4 * w.clients[kind].think_s);
	}
}

TEST_CASE("webmail asks for a page of headers in each session, and others for none when there is "
	  "nothing new")
{
	workload w = parameters();
	CHECK(run_many(w, WORKLOAD_WEBMAIL, 500).commands[TRANSACTION_FETCH_HEADERS] >= 1);
	// Only of what it has copied or appended itself to where it goes later.
	CHECK(run_many(w, WORKLOAD_POLLER, 500).commands[TRANSACTION_FETCH_HEADERS] < 0.05);

	Mailbox mailbox(4, 200);
	Counts counts;
	behaviour client;
	behaviour_step step;
	dice stream;
	dice_begin(&stream, 1, DICE_SESSION, 1);
	behaviour_begin(&client, WORKLOAD_WEBMAIL, &stream);
	do {
		behaviour_view view = mailbox.view();
		behaviour_next(&client, &w, &view, &step);
		mailbox.apply(step, false);
	} while (step.command != TRANSACTION_FETCH_HEADERS);
	CHECK(step.first == 151);
	CHECK(step.last == 200);
}

TEST_CASE("mails that come in IDLE are asked for at once, and thinking goes on behind")
{
	workload w = parameters();
	Mailbox mailbox(4, 200);
	dice stream;
	dice_begin(&stream, 1, DICE_SESSION, 1);
	behaviour client;
	behaviour_begin(&client, WORKLOAD_APPLEMAIL, &stream);
	behaviour_step step;
	auto next = [&] {
		behaviour_view view = mailbox.view();
		behaviour_next(&client, &w, &view, &step);
		mailbox.apply(step, true);
	};
	do
		next();
	while (step.command != BEHAVIOUR_IDLE);
	for (unsigned i = 0; i < 20; i++) {
		mailbox.deliver(BOXPLAN_INBOX);
		next();
		REQUIRE(step.command == TRANSACTION_FETCH_HEADERS);
		REQUIRE(step.first == 201 + i);
		REQUIRE(step.last == 201 + i);
		next();
		REQUIRE(step.command == BEHAVIOUR_IDLE);
		REQUIRE(step.idle_s > 0);
		REQUIRE(step.idle_s <= 1740);
	}
	next();
	CHECK(step.command != TRANSACTION_FETCH_HEADERS);
}

TEST_CASE("mailboxes neither grow nor shrink without end, and EXPUNGE comes about once an hour")
{
	workload w = parameters();
	const double hours = 1500;
	for (unsigned i = 0; i < WORKLOAD_CLIENTS; i++) {
		workload_kind kind = workload_kind(i);
		INFO(workload_client_name(kind));
		Mailbox mailbox(12, 100);
		Counts counts;
		dice stream;
		dice_begin(&stream, 1, DICE_ARRIVALS, i);
		double mail_s = 0;
		double delivered = 0;
		double inbox = 0;
		unsigned sessions = 0;
		for (double at_s = 0; at_s < hours * 3600; sessions++) {
			at_s += dice_exponential(&stream, 3600 / w.clients[kind].sessions_h);
			for (; mail_s < at_s; delivered++) {
				mailbox.deliver(BOXPLAN_INBOX);
				mail_s += dice_exponential(&stream, 3600 / w.mails_received_h);
			}
			run(w, kind, sessions, mailbox, counts);
			inbox += double(mailbox.folders[BOXPLAN_INBOX].mails.size());
		}
		CHECK(inbox / sessions > 80);
		CHECK(inbox / sessions < 125);
		double all = 0;
		for (const Folder &folder : mailbox.folders)
			all += double(folder.mails.size());
		CHECK(all > 0.8 * 1200);
		CHECK(all < 1.5 * 1200);
		double came =
			delivered + counts.commands[TRANSACTION_APPEND] + double(mailbox.copied);
		CHECK(double(mailbox.expunged) / came == Approx(1).margin(0.06));
		CHECK(counts.commands[TRANSACTION_EXPUNGE] / hours > 0.5);
		CHECK(counts.commands[TRANSACTION_EXPUNGE] / hours < 2);
	}
}

TEST_CASE("a session that was refused says LOGOUT, and no more")
{
	workload w = parameters();
	dice stream;
	dice_begin(&stream, 1, DICE_SESSION, 1);
	for (unsigned after : { 1u, 2u, 3u, 10u }) {
		behaviour client;
		behaviour_begin(&client, WORKLOAD_THUNDERBIRD, &stream);
		Mailbox mailbox(4, 50);
		behaviour_step step;
		for (unsigned i = 0; i < after; i++) {
			behaviour_view view = mailbox.view();
			behaviour_next(&client, &w, &view, &step);
			mailbox.apply(step, true);
		}
		behaviour_view view = mailbox.view();
		view.failed = true;
		behaviour_next(&client, &w, &view, &step);
		CHECK(step.command == BEHAVIOUR_LOGOUT);
		for (unsigned i = 0; i < 3; i++) {
			behaviour_next(&client, &w, &view, &step);
			CHECK(step.command == BEHAVIOUR_END);
		}
	}
}

TEST_CASE("sessions end whatever a server says, and ask for nothing outside of what it has")
{
	workload w = parameters();
	dice stream;
	dice_begin(&stream, 1, DICE_MESSAGES, 1);
	for (unsigned session = 0; session < 400; session++) {
		behaviour client;
		dice own;
		dice_begin(&own, 1, DICE_SESSION, session);
		behaviour_begin(&client, workload_kind(session % WORKLOAD_CLIENTS), &own);
		behaviour_step step = {};
		bool is_stubborn = session % 3 == 0; // mails for ever, and no headers of them
		for (unsigned i = 0; step.command != BEHAVIOUR_END; i++) {
			demand(i < 6000);
			behaviour_view view = {};
			view.has_selected = is_stubborn || dice_below(&stream, 4) > 0;
			view.exists = uint32_t(dice_below(&stream, 5));
			if (is_stubborn)
				view.exists = i + 1;
			else
				view.known = uint32_t(dice_below(&stream, 7));
			view.deleted = uint32_t(dice_below(&stream, 7));
			view.keep = uint32_t(dice_below(&stream, 3));
			view.folder_count = unsigned(dice_below(&stream, 4));
			behaviour_next(&client, &w, &view, &step);
			switch (step.command) {
			case TRANSACTION_FETCH_HEADERS:
			case TRANSACTION_FETCH_FLAGS:
			case TRANSACTION_FETCH_STRUCTURE:
			case TRANSACTION_FETCH_BODY:
			case TRANSACTION_STORE:
			case TRANSACTION_COPY:
				demand(step.first >= 1);
				demand(step.first <= step.last);
				demand(step.last <= view.exists);
				break;
			default:
				break;
			}
			demand(step.folder == 0 || step.folder < view.folder_count);
		}
	}
	SUCCEED();
}

TEST_CASE("a behaviour is small, and the same again")
{
	CHECK(sizeof(behaviour) < 128);
	workload w = parameters();
	std::vector<Counts> counts(2);
	std::vector<Mailbox> mailboxes(2, Mailbox(6, 80));
	for (unsigned i = 0; i < 2; i++)
		run(w, WORKLOAD_APPLEMAIL, 9, mailboxes[i], counts[i]);
	CHECK(counts[0].commands == counts[1].commands);
	CHECK(counts[0].think_s == counts[1].think_s);
}
