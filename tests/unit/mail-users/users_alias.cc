// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/unit/mail-users/users.hh"

#include "integration/mail/base/users/users_address.h"

#include "lib/lmdb/writer.h"

#include "tests/lib/fault.hh"
#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <memory>

using lines = std::vector<std::string>;

static const std::string SHA512 = "$6$saltsalt$" + std::string(86, 'x');

static std::string many(int count, const std::string &local = "u")
{
	std::string all;
	for (int i = 0; i < count; i++)
		all += (i > 0 ? "," : "") + local + std::to_string(i) + "@example.org";
	return all;
}

// ---- words ----

// As a line of a list again; "" when it is refused.
static std::string print(const std::string &line, int *ret_status = nullptr)
{
	const users_facts facts = folding();
	users_key key = {};
	const auto value = std::make_unique<users_value>();
	const int ret = users_list_parse(line.data(), line.size(), &facts, &key, value.get());
	if (ret_status != nullptr)
		*ret_status = ret;
	if (ret != STORE_OK)
		return "";
	std::string text(USERS_LIST_PRINT_MAX, '\0');
	const store_bytes bytes = { reinterpret_cast<const uint8_t *>(key.bytes), key.size };
	text.resize(users_list_print(bytes, value.get(), text.data()));
	return text;
}

TEST_CASE("targets are addresses as entries keep them, each once", "[front][users_alias]")
{
	const auto [line, printed] = GENERATE_COPY(table<std::string, std::string>({
		{ "sales@a.b to=john@a.b", "sales@a.b to=john@a.b" },
		{ "sales@a.b to=john@a.b,mary@c.d", "sales@a.b to=john@a.b,mary@c.d" },
		{ "sales@a.b to=mary@c.d,john@a.b # both", "sales@a.b to=mary@c.d,john@a.b" },
		{ "sales@a.b to=John@A.B,\"john\"@a.b,jo@a.b", "sales@a.b to=john@a.b,jo@a.b" },
		{ "sales@a.b to=\"a,b c\"@a.b,\"\\\"\"@a.b",
		  "sales@a.b to=\"a,b c\"@a.b,\"\\\"\"@a.b" },
		{ "#x@a.b to=a@b", "" },
		{ "\"#x\"@a.b to=#y@a.b,\"@\"@a.b", "\"#x\"@a.b to=#y@a.b,\"@\"@a.b" },
		{ "@a.b to=john@a.b", "@a.b to=john@a.b" },
		{ "sales@a.b to=a@[192.0.2.1] keep=0", "sales@a.b to=a@[192.0.2.1]" },
		{ "sales@a.b to=" + many(64), "sales@a.b to=" + many(64) },
		{ "sales@a.b to=" + many(64) + "," + many(64), "sales@a.b to=" + many(64) },
	}));
	CAPTURE(line);
	CHECK(print(line) == printed);
	CHECK((printed.empty() || print(printed) == printed));
}

TEST_CASE("what is no list of targets is refused with the reason", "[front][users_alias]")
{
	const auto [words, status] = GENERATE_COPY(table<std::string, int>({
		{ "to", USERS_ESETTING },
		{ "To=a@b", USERS_ESETTING },
		{ "to=", USERS_ETARGETS },
		{ "to=,", USERS_ETARGETS },
		{ "to=a@b,", USERS_ETARGETS },
		{ "to=,a@b", USERS_ETARGETS },
		{ "to=a@b,,c@d", USERS_ETARGETS },
		{ "to=@b", USERS_ETARGETS },
		{ "to=a@b,@b", USERS_ETARGETS },
		{ "to=" + many(65), USERS_ETARGETS },
		{ "to=a", USERS_EADDRESS },
		{ "to=a@b,c", USERS_EADDRESS },
		{ "to=a@b;c@d", USERS_ELOCAL },
		{ "to=a@b,c@d..e", USERS_EDOMAIN },
		{ "to=a b@c", USERS_EADDRESS },
		{ "to=<a@b>", USERS_EDOMAIN },
		{ "to=|program@b", STORE_OK }, // a name like another: nothing is run
		{ "to=\"a@b", USERS_ELOCAL },
		{ "to=\xff@b", USERS_EUTF8 },
		{ "to=" + std::string(65, 'x') + "@b", USERS_ELOCALSIZE },
		{ "to=a@b, c@d", USERS_ETARGETS },
		{ "to=a@b to=c@d", USERS_ETWICE },
		{ "to=a@b keep=1d", USERS_EALONE },
		{ "octets=5 to=a@b", USERS_EALONE },
		{ "password=" + SHA512 + " to=a@b", USERS_EALONE },
	}));
	CAPTURE(words);
	int ret = STORE_OK;
	print("sales@a.b " + words, &ret);
	CHECK(ret == status);
}

TEST_CASE("the longest alias is a line of a list", "[front][users_alias]")
{
	const std::string labels = std::string(63, 'd') + "." + std::string(63, 'e') + "." +
				   std::string(63, 'f') + ".";
	const std::string domain = labels + std::string(255 - labels.size(), 'g');
	std::string line = std::string(64, '{') + "@" + domain + " to=";
	for (char c = 0; c < 64; c++)
		line += (c > 0 ? "," : "") + std::string(62, '{') + std::to_string(10 + c) + "@" +
			domain;
	CHECK(print(line) == line);
	CHECK(line.size() <= USERS_LIST_LINE_MAX);
	CHECK(USERS_LIST_PRINT_MAX <= USERS_LIST_LINE_MAX);
}

// ---- in a database ----

struct refusal {
	std::string alias;
	std::string target;
	int status;
};

struct refusals {
	lines list;
	std::vector<refusal> all;
};

static std::string text_of(store_bytes bytes)
{
	return { reinterpret_cast<const char *>(bytes.data), bytes.size };
}

static int build_and_hear(const std::string &path, refusals *heard)
{
	users_builder build = {};
	build.facts = folding();
	build.max_shrink_percent = 100;
	build.refuse = [](void *context, store_bytes alias, store_bytes target, int status) {
		static_cast<refusals *>(context)->all.push_back(
			{ text_of(alias), text_of(target), status });
	};
	return users_build(
		path.c_str(), &build,
		[](users_builder *into, void *context) {
			for (const auto &line : static_cast<refusals *>(context)->list) {
				const int ret = users_build_add(into, line.data(), line.size());
				if (ret != STORE_OK)
					return ret;
			}
			return int{ STORE_OK };
		},
		heard);
}

// With the answer before them when it is not that the address is valid.
static lines mailboxes(const opened_users &users, const std::string &address)
{
	const auto found = std::make_unique<users_mailboxes>();
	const int answer =
		users_find_mailboxes(users.get(), address.data(), address.size(), found.get());
	if (answer != USERS_VALID) {
		CHECK(found->count == 0);
		return { std::to_string(answer) };
	}
	lines names;
	for (size_t i = 0; i < found->count; i++)
		names.emplace_back(found->names[i]);
	return names;
}

TEST_CASE("mail for an address goes to the mailboxes that the list says", "[front][users_alias]")
{
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	REQUIRE(build(path,
		      { "all@example.org to=mary@example.org,john@example.org,\"a b\"@example.org",
			"john@example.org keep=1d", "mary@example.org", "\"a b\"@example.org",
			"@example.net to=john@example.org", "ann@example.net", "@example.com",
			"domain example.edu" },
		      folding(true, '+')) == STORE_OK);
	const opened_users users(path);
	const auto [address, expected] = GENERATE(table<std::string, lines>({
		{ "all@example.org",
		  { "mary@example.org", "john@example.org", "a b@example.org" } },
		{ "ALL+x@Example.org",
		  { "mary@example.org", "john@example.org", "a b@example.org" } },
		{ "john@example.org", { "john@example.org" } },
		{ "john+x@example.org", { "john@example.org" } },
		{ "any@example.net", { "john@example.org" } },
		{ "ann@example.net", { "ann@example.net" } },
		{ "any@example.com", { "@example.com" } },
		{ "Postmaster", { "postmaster" } },
		{ "x@example.org", { std::to_string(USERS_UNKNOWN) } },
		{ "x@example.edu", { std::to_string(USERS_UNKNOWN) } },
		{ "x@example.info", { std::to_string(USERS_NOT_OURS) } },
		{ "", { std::to_string(USERS_NOT_OURS) } },
	}));
	CAPTURE(address);
	CHECK(mailboxes(users, address) == expected);
	CHECK((users.find(address) == USERS_VALID) == (expected.front().size() > 1));
}

TEST_CASE("mail for <postmaster> goes where its line says, or where its only domain does, or to a "
	  "mailbox of "
	  "that name",
	  "[front][users_alias]")
{
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	const auto [list, expected] = GENERATE(table<lines, lines>({
		{ { "postmaster to=ann@a.b,bob@c.d", "ann@a.b", "bob@c.d", "postmaster@a.b" },
		  { "ann@a.b", "bob@c.d" } },
		{ { "Postmaster to=ann@a.b", "ann@a.b", "postmaster@a.b" }, { "ann@a.b" } },
		{ { "ann@a.b", "postmaster@a.b to=ann@a.b" }, { "ann@a.b" } },
		{ { "ann@a.b", "postmaster@a.b keep=1d" }, { "postmaster@a.b" } },
		{ { "ann@a.b", "@a.b" }, { "@a.b" } },
		{ { "@a.b to=ann@a.b", "ann@a.b" }, { "ann@a.b" } },
		{ { "ann@a.b" }, { "postmaster" } },
		{ { "ann@a.b", "postmaster@a.b to=ann@a.b", "domain c.d" }, { "postmaster" } },
	}));
	CAPTURE(list);
	REQUIRE(build(path, list) == STORE_OK);
	const opened_users users(path);
	CHECK(mailboxes(users, "postMaster") == expected);
	CHECK(users.find("postmaster") == USERS_VALID);
}

TEST_CASE("postmaster of a domain is one in any case, also in a list that keeps it",
	  "[front][users_alias]")
{
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	const std::string written = GENERATE("postmaster", "Postmaster", "\"POSTMASTER\"");
	REQUIRE(build(path, { written + "@a.b keep=1d", "Ann@a.b" }, folding(false, '+')) ==
		STORE_OK);
	const opened_users users(path);
	const auto address = GENERATE("postmaster", "postmaster@a.b", "Postmaster@a.b",
				      "POSTMASTER+x@A.b", "\"postMaster\"@a.b");
	CAPTURE(written, address);
	CHECK(mailboxes(users, address) == lines{ "postmaster@a.b" });
	CHECK(users.find("ann@a.b") == USERS_UNKNOWN);
	CHECK(users.find("postmasters@a.b") == USERS_UNKNOWN);
}

TEST_CASE("<postmaster> is a line of a list that has targets and nothing else",
	  "[front][users_alias]")
{
	const auto [words, status] = GENERATE(table<std::string, int>({
		{ "", USERS_EPOSTMASTER },
		{ " keep=1d", USERS_EPOSTMASTER },
		{ " password=" + SHA512, USERS_EPOSTMASTER },
		{ " to=a@b keep=1d", USERS_EALONE },
		{ " to=postmaster", USERS_EADDRESS },
		{ " to=a@b", STORE_OK },
	}));
	CAPTURE(words);
	int ret = STORE_OK;
	CHECK(print("PostMaster" + words, &ret) == (status == STORE_OK ? "postmaster to=a@b" : ""));
	CHECK(ret == status);
}

TEST_CASE("the targets of <postmaster> are mailboxes of the list, and a walk prints its line",
	  "[front][users_alias]")
{
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	refusals heard;
	heard.list = { "postmaster to=x@a.b", "ann@a.b" };
	CHECK(build_and_hear(path, &heard) == USERS_EREFUSED);
	CHECK(heard.all.at(0).alias == "apostmaster");
	const lines list = { "ann@a.b", "postmaster to=ann@a.b", "domain a.b" };
	REQUIRE(build(path, list) == STORE_OK);
	const opened_users users(path);
	CHECK(users.lines() == list);
	CHECK(users.entry("postmaster") == "postmaster");
	users_facts facts;
	REQUIRE(users_verify(path.c_str(), &facts) == STORE_OK);
	CHECK(facts.domain_count == 1);
}

TEST_CASE("an alias has neither settings nor a login", "[front][users_alias]")
{
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	REQUIRE(build(path, { "all@example.org to=john@example.org",
			      "john@example.org keep=1d password=" + SHA512 }) == STORE_OK);
	const opened_users users(path);
	char entry[USERS_ENTRY_SIZE] = "";
	users_settings settings = { 7, 7, 7, 0 };
	users_secret secret = { "untouched", "untouched" };
	const std::string all = "all@example.org";
	CHECK(users_find_settings(users.get(), all.data(), all.size(), entry, &settings) ==
	      USERS_VALID);
	CHECK(entry == all);
	CHECK_FALSE(users_settings_is_any(&settings));
	CHECK(users_find_secret(users.get(), all.data(), all.size(), entry, &secret) ==
	      USERS_VALID);
	CHECK_FALSE(users_secret_is_any(&secret));
}

TEST_CASE("a target that is no mailbox of the list is refused by its name", "[front][users_alias]")
{
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	REQUIRE(build(path, { "john@example.org" }) == STORE_OK);
	refusals heard;
	heard.list = { "all@a.b to=john@a.b,Jane@a.b,x@gmail.com",
		       "john@a.b",
		       "@c.d to=all@a.b",
		       "me@a.b to=me@a.b",
		       "@e.f",
		       "y@a.b to=any@e.f,john+x@a.b" };
	CHECK(build_and_hear(path, &heard) == USERS_EREFUSED);
	const std::vector<refusal> expected = {
		{ "aall@a.b", "jane@a.b", USERS_ENOMAILBOX },
		{ "aall@a.b", "x@gmail.com", USERS_ENOMAILBOX },
		{ "ame@a.b", "me@a.b", USERS_ETOALIAS },
		{ "ay@a.b", "any@e.f", USERS_ENOMAILBOX },
		{ "ay@a.b", "john+x@a.b", USERS_ENOMAILBOX },
		{ "cc.d", "all@a.b", USERS_ETOALIAS },
	};
	REQUIRE(heard.all.size() == expected.size());
	for (size_t i = 0; i < expected.size(); i++) {
		CHECK(heard.all[i].alias == expected[i].alias);
		CHECK(heard.all[i].target == expected[i].target);
		CHECK(heard.all[i].status == expected[i].status);
	}
	CHECK(opened_users(path).lines() == lines{ "john@example.org", "domain example.org" });
}

TEST_CASE("a walk prints aliases as lines that build the same database", "[front][users_alias]")
{
	const tmpdir dir;
	lines list = { "all@example.org to=" + many(64), "@example.net to=u1@example.org",
		       "domain example.net", "domain example.org" };
	for (int i = 0; i < 64; i++)
		list.push_back("u" + std::to_string(i) + "@example.org");
	REQUIRE(build(dir.file("a.mdb"), list) == STORE_OK);
	const auto first = opened_users(dir.file("a.mdb")).lines();
	CHECK(first.size() == list.size());
	CHECK(first.front() == list.front());
	REQUIRE(build(dir.file("b.mdb"), first) == STORE_OK);
	CHECK(opened_users(dir.file("b.mdb")).lines() == first);
}

TEST_CASE("an alias that is there twice has the same targets, or is refused",
	  "[front][users_alias]")
{
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	const lines boxes = { "a@b", "c@b" };
	const auto with = [&](lines more) {
		more.insert(more.end(), boxes.begin(), boxes.end());
		return build(path, more);
	};
	CHECK(with({ "x@b to=a@b,c@b", "x@b to=A@B,c@b" }) == STORE_OK);
	CHECK(with({ "x@b to=a@b", "x@b to=c@b" }) == USERS_EOTHER);
	CHECK(with({ "x@b to=a@b", "x@b" }) == USERS_EOTHER);
	CHECK(with({ "a@b to=c@b" }) == USERS_EOTHER);
}

TEST_CASE("mailboxes are found without memory", "[front][users_alias]")
{
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	REQUIRE(build(path, { "all@a.b to=c@a.b,d@a.b", "c@a.b", "d@a.b" }) == STORE_OK);
	const opened_users users(path);
	const auto found = std::make_unique<users_mailboxes>();
	fault::fail_at(1);
	const int answer = users_find_mailboxes(users.get(), "all@a.b", 7, found.get());
	CHECK_FALSE(fault::end());
	CHECK(answer == USERS_VALID);
	CHECK(found->count == 2);
}

// ---- damage ----

static std::string targets(const lines &all)
{
	std::string bytes;
	for (const auto &one : all)
		bytes += std::string{ static_cast<char>(one.size() >> 8),
				      static_cast<char>(one.size()) } +
			 one;
	return std::string{ '\6', static_cast<char>(bytes.size() >> 8),
			    static_cast<char>(bytes.size()) } +
	       bytes;
}

TEST_CASE("targets that no list could have are damage", "[front][users_alias]")
{
	const auto [bytes, is_found] = GENERATE_COPY(table<std::string, bool>({
		{ targets({}), false },
		{ targets({ "" }), true },
		{ targets({ "a@b" }).substr(0, 5), false },
		{ targets({ "a@b", "a@b" }), true },
		{ targets({ "a" }), true },
		{ targets({ "@b" }), true },
		{ targets({ "a@B" }), true },
		{ targets({ "a\n@b" }), true },
		{ targets({ std::string(321, 'x') }), true },
		{ targets(lines(65, "a@b")), true },
		{ std::string("\1\0\x8\0\0\0\0\0\0\0\1", 11) + targets({ "a@b" }), true },
	}));
	const store_bytes value = { reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size() };
	const auto decoded = std::make_unique<users_value>();
	bool has_others = false;
	store_bytes rest = {};
	CHECK(users_value_decode(value, decoded.get(), &has_others) == STORE_ECORRUPT);
	CHECK((users_alias_find(value, &rest) == STORE_OK) == is_found);
}

TEST_CASE("of an alias that is damaged nothing is known", "[front][users_alias]")
{
	const auto bytes = GENERATE_COPY(values<std::string>(
		{ targets({}), targets({ "a@b", "" }), targets(lines(65, "a@b")), "xxx" }));
	const tmpdir dir;
	const auto path = dir.file("users.mdb");
	REQUIRE(build(path, { "all@a.b to=c@a.b", "c@a.b" }) == STORE_OK);
	REQUIRE(writer_run(
			path.c_str(), &users_store,
			[](writer *w, void *context) {
				const auto *value = static_cast<const std::string *>(context);
				return writer_put(w, 0, "aall@a.b", 8, value->data(),
						  value->size());
			},
			const_cast<std::string *>(&bytes)) == STORE_OK);
	const opened_users users(path);
	CHECK(users.find("all@a.b") == USERS_VALID);
	CHECK(mailboxes(users, "all@a.b") == lines{ std::to_string(STORE_ECORRUPT) });
	CHECK(mailboxes(users, "c@a.b") == lines{ "c@a.b" });
}
