// SPDX-License-Identifier: GPL-3.0-or-later
// Mailboxes before a load: how many folders and mails, their names, their numbers, their bytes.
#include "bench/users-load/boxplan.h"
#include "bench/users-load/unit_parameters.hh"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <vector>

namespace
{

constexpr unsigned USERS = 2000;
constexpr int64_t NOW_S = 1767225600;

boxplan make(const workload &w, uint64_t user, double scale = 1, uint64_t seed = 1)
{
	boxplan plan;
	boxplan_make(&plan, &w, seed, user, scale);
	return plan;
}

unsigned depth_of(const std::string &name)
{
	return unsigned(std::count(name.begin(), name.end(), '/')) + 1;
}

mailplan mail_of(const workload &w, const boxplan &plan, unsigned folder, uint32_t index)
{
	mailplan mail;
	boxplan_mail(&plan, &w, 1, folder, index, NOW_S, "user7@example.com", &mail);
	return mail;
}

double size_of(const workload &w, const boxplan &plan)
{
	double size = 0;
	for (unsigned f = 0; f < plan.folder_count; f++)
		for (uint32_t m = 0; m < plan.folders[f].mails; m++)
			size += double(mail_of(w, plan, f, m).size_bytes);
	return size;
}

} // namespace

TEST_CASE("users have some 2,400 mails and up to 40 folders, the mean and the most")
{
	workload w = parameters();
	double mails = 0;
	std::vector<unsigned> folders;
	for (uint64_t user = 0; user < USERS; user++) {
		boxplan plan = make(w, user);
		mails += double(plan.mails);
		folders.push_back(plan.folder_count);
	}
	std::sort(folders.begin(), folders.end());
	CHECK(mails / USERS == Approx(2400).epsilon(0.04));
	CHECK(folders[USERS / 2] >= 13);
	CHECK(folders[USERS / 2] <= 15);
	CHECK(folders.front() >= 4);
	CHECK(folders.back() == 40);
}

TEST_CASE("a user with the mean number of mails has 145 to 160 MB")
{
	workload w = parameters();
	double size = 0;
	double mails = 0;
	for (uint64_t user = 0; user < 60; user++) {
		boxplan plan = make(w, user);
		size += size_of(w, plan);
		mails += double(plan.mails);
	}
	CHECK(size / mails * w.mails > 145e6);
	CHECK(size / mails * w.mails < 160e6);
}

TEST_CASE("folders have names of one kind each, of four levels at most, behind those above them")
{
	workload w = parameters();
	unsigned depths[5] = {};
	for (uint64_t user = 0; user < USERS; user++) {
		boxplan plan = make(w, user);
		std::set<std::string> names;
		for (unsigned f = 0; f < plan.folder_count; f++) {
			std::string name = plan.folders[f].name;
			REQUIRE(name.size() < BOXPLAN_NAME_MAX);
			REQUIRE(name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopq"
						       "rstuvwxyz0123456789/") ==
				std::string::npos);
			REQUIRE(depth_of(name) <= 4);
			if (depth_of(name) > 1)
				REQUIRE(names.count(name.substr(0, name.rfind('/'))) == 1);
			REQUIRE(names.insert(name).second);
			depths[depth_of(name)] += f >= WORKLOAD_SPECIALS;
		}
		REQUIRE(std::string(plan.folders[BOXPLAN_INBOX].name) == "INBOX");
		REQUIRE(std::string(plan.folders[BOXPLAN_SENT].name) == "Sent");
		REQUIRE(std::string(plan.folders[BOXPLAN_DRAFTS].name) == "Drafts");
		REQUIRE(std::string(plan.folders[BOXPLAN_TRASH].name) == "Trash");
	}
	double all = depths[1] + depths[2] + depths[3] + depths[4];
	// A folder whose depth has none above it yet is on the first level.
	CHECK(depths[1] / all == Approx(0.65).margin(0.08));
	CHECK(depths[2] / all == Approx(0.26).margin(0.05));
	CHECK(depths[4] > 0);
}

TEST_CASE("mails of all users have numbers of their own, in a row in each folder")
{
	workload w = parameters();
	for (uint64_t user : { 0u, 1u, 999999u }) {
		boxplan plan = make(w, user);
		uint64_t next = user << 32;
		for (unsigned f = 0; f < plan.folder_count; f++) {
			REQUIRE(plan.folders[f].first == next);
			next += plan.folders[f].mails;
		}
		REQUIRE(next == (user << 32) + plan.mails);
	}
}

TEST_CASE("a scale has so much fewer mails, in folders that have one, and the four")
{
	workload w = parameters();
	for (double scale : { 0.1, 0.01, 0.001 }) {
		double mails = 0;
		for (uint64_t user = 0; user < USERS; user++) {
			boxplan plan = make(w, user, scale);
			mails += double(plan.mails);
			REQUIRE(plan.folder_count >= WORKLOAD_SPECIALS);
			for (unsigned f = WORKLOAD_SPECIALS; f < plan.folder_count; f++)
				REQUIRE(plan.folders[f].mails >= 1);
		}
		INFO(scale);
		CHECK(mails / USERS == Approx(2400 * scale).epsilon(0.06));
	}
}

TEST_CASE("a plan is the same again, and another one with another seed")
{
	workload w = parameters();
	boxplan one = make(w, 3);
	boxplan two = make(w, 3);
	CHECK(memcmp(&one, &two, sizeof(one)) == 0);
	boxplan other = make(w, 3, 1, 2);
	CHECK(memcmp(&one, &other, sizeof(one)) != 0);
}

TEST_CASE("mails of a folder are of its user, filled, the oldest first, none newer than now")
{
	workload w = parameters();
	boxplan plan = make(w, 7);
	int64_t before = 0;
	double ages = 0;
	const boxplan_folder &inbox = plan.folders[BOXPLAN_INBOX];
	for (uint32_t m = 0; m < inbox.mails; m++) {
		mailplan mail = mail_of(w, plan, BOXPLAN_INBOX, m);
		REQUIRE(mail.run == MAILPLAN_FILLED);
		REQUIRE(mail.number == inbox.first + m);
		REQUIRE(std::string(mail.to) == "user7@example.com");
		REQUIRE(mail.time_s >= before);
		REQUIRE(mail.time_s <= NOW_S);
		before = mail.time_s;
		ages += double(NOW_S - mail.time_s);
	}
	REQUIRE(inbox.mails > 100);
	CHECK(ages / inbox.mails == Approx(w.history_s).epsilon(0.05));
}

TEST_CASE("some mails of INBOX are unread, and none elsewhere")
{
	workload w = parameters();
	unsigned unread = 0;
	unsigned all = 0;
	for (uint64_t user = 0; user < 100; user++) {
		boxplan plan = make(w, user);
		for (uint32_t m = 0; m < plan.folders[BOXPLAN_INBOX].mails; m++, all++)
			unread += !boxplan_is_seen(&plan, &w, 1, BOXPLAN_INBOX, m);
		for (uint32_t m = 0; m < plan.folders[BOXPLAN_SENT].mails; m++)
			REQUIRE(boxplan_is_seen(&plan, &w, 1, BOXPLAN_SENT, m));
	}
	CHECK(unread / double(all) == Approx(w.unread_share).margin(0.006));
}
