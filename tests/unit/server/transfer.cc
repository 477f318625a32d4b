// SPDX-License-Identifier: GPL-3.0-or-later
#include "lib/common/log.h"
#include "lib/format/journal.h"
#include "lib/store/tables.h"
#include "server/message/access.h"
#include "server/transfer/notify.h"
#include "server/transfer/xfrout.h"
#include "server/transfer/transfer.h"
#include "tests/unit/server/fixture.hh"

#include <catch2/catch.hpp>

#include <sys/socket.h>
#include <unistd.h>

#include <functional>

using dns::message;
using dns::record;

// Both ends of a connection. What is written must fit the kernel's buffers:
// nobody reads before all of it has been written.
class connection
{
      public:
	connection()
	{
		int ends[2];
		REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
		ours = ends[0];
		client = ends[1];
		int size = 1 << 20;
		setsockopt(ours, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
		// The client has said all it wants to: nobody waits for it.
		shutdown(client, SHUT_WR);
	}
	~connection()
	{
		close(ours);
		hang_up();
	}
	connection(const connection &) = delete;
	connection &operator=(const connection &) = delete;
	void hang_up()
	{
		if (client >= 0)
			close(client);
		client = -1;
	}
	std::vector<message> messages() const
	{
		bytes all(4 << 20);
		size_t have = 0;
		ssize_t got;
		while ((got = read(client, all.data() + have, all.size() - have)) > 0)
			have += static_cast<size_t>(got);
		std::vector<message> out;
		for (size_t at = 0; at < have;) {
			size_t size = all[at] * 256U + all[at + 1];
			REQUIRE(at + 2 + size <= have);
			out.emplace_back(bytes(all.begin() + static_cast<long>(at + 2),
					       all.begin() + static_cast<long>(at + 2 + size)));
			at += 2 + size;
		}
		return out;
	}
	std::vector<record> records() const
	{
		std::vector<record> out;
		for (const message &one : messages())
			out.insert(out.end(), one.answer.begin(), one.answer.end());
		return out;
	}
	int ours;
	int client;
};

static settings_name name_of(const std::string &text)
{
	settings_name out = {};
	bytes wire = dns::name(text);
	out.size = wire.size();
	memcpy(out.wire, wire.data(), wire.size());
	out.text = const_cast<char *>(text.c_str());
	return out;
}

// A transfer as answer.c would have granted it.
struct granted {
	explicit granted(const std::string &path) : name(name_of(apex)), path_(path)
	{
		bytes question = dns::name(apex);
		dns::put16(question, dns::AXFR);
		dns::put16(question, 1);
		asked.name = &name;
		asked.path = path_.c_str();
		asked.id = 0x1234;
		asked.question_size = question.size();
		memcpy(asked.question, question.data(), question.size());
		asked.client.ss_family = AF_INET;
		log_set_level(
			LOG_LEVEL_ERROR); // of a transfer there is a line, whatever comes of it
	}
	~granted()
	{
		log_set_level(LOG_LEVEL_INFO);
	}
	granted(const granted &) = delete;
	granted &operator=(const granted &) = delete;
	std::vector<record> run()
	{
		connection link;
		is_done = transfer_run(&asked, &limits, link.ours) == TRANSFER_END_WHOLE;
		return link.records();
	}
	std::vector<record> run_from(uint32_t serial)
	{
		asked.is_incremental = true;
		asked.serial = serial;
		return run();
	}
	settings_name name;
	transfer asked = {};
	transfer_limits limits = { 10, 5 };
	bool is_done = false;

      private:
	std::string path_;
};

static uint32_t serial_in(const record &soa)
{
	REQUIRE(soa.type == dns::SOA);
	const uint8_t *at = soa.rdata.data() + soa.rdata.size() - 20;
	return static_cast<uint32_t>(at[0] << 24 | at[1] << 16 | at[2] << 8 | at[3]);
}

// ---- the whole zone ----

TEST_CASE("a whole transfer has the SOA first and last and every other record once",
	  "[server][transfer]")
{
	tmpdir directory;
	store_options options;
	std::map<std::string, std::set<uint16_t>> names;
	options.is_signed = GENERATE(false, true);
	options.names = &names;
	write_store(directory.file("bl6.mdb"), options);
	granted transfer(directory.file("bl6.mdb"));
	std::vector<record> records = transfer.run();
	REQUIRE(transfer.is_done);
	REQUIRE(records.size() > 3);
	CHECK(serial_in(records.front()) == 7);
	CHECK(serial_in(records.back()) == 7);
	std::map<std::string, std::set<uint16_t>> seen;
	std::set<std::pair<std::string, bytes>> unique;
	for (size_t i = 1; i < records.size(); i++) {
		const record &rr = records[i];
		size_t rest = rr.owner.size() - apex.size();
		bytes rdata = rr.rdata;
		dns::put16(rdata, rr.type);
		CHECK(unique.emplace(rr.owner, rdata).second);
		seen[rest == 0 ? "" : rr.owner.substr(0, rest - 1)].insert(rr.type);
	}
	for (auto &name : names) {
		if (options.is_signed)
			name.second.insert({ dns::RRSIG, dns::NSEC });
	}
	CHECK(seen == names);
}

TEST_CASE("a store that cannot be read gives SERVFAIL and no zone", "[server][transfer]")
{
	tmpdir directory;
	granted transfer(directory.file("absent.mdb"));
	connection link;
	CHECK(transfer_run(&transfer.asked, &transfer.limits, link.ours) == TRANSFER_END_TOLD);
	std::vector<message> messages = link.messages();
	REQUIRE(messages.size() == 1);
	CHECK(messages[0].rcode == dns::SERVFAIL);
	CHECK(messages[0].answer.empty());
}

TEST_CASE("a client that has gone ends the transfer", "[server][transfer]")
{
	tmpdir directory;
	write_store(directory.file("bl6.mdb"));
	granted transfer(directory.file("bl6.mdb"));
	connection link;
	link.hang_up();
	CHECK(transfer_run(&transfer.asked, &transfer.limits, link.ours) == TRANSFER_END_CUT);
}

// ---- messages ----

TEST_CASE("owners come out as they went in, whatever is compressed, over many messages",
	  "[server][xfrout]")
{
	granted transfer("");
	connection link;
	auto out = std::make_unique<xfrout>();
	xfrout_init(out.get(), &transfer.asked, &transfer.limits, link.ours);
	std::vector<std::string> names;
	// Steps that share everything, much, little and nothing; some stand twice.
	for (unsigned i = 0; i < 6000; i++) {
		unsigned at = i / 2 * 7919 % 50000;
		std::string text = std::to_string(at % 2) + "." + std::to_string(at / 2 % 9) + "." +
				   std::to_string(at / 18 % 40) + "." + std::to_string(at / 720);
		if (i % 97 == 0)
			text = "";
		if (i % 89 == 0)
			text = std::string(63, 'x') + "." + std::string(63, 'y') + "." + text;
		names.push_back(text.empty() || text.back() != '.'
					? text
					: text.substr(0, text.size() - 1));
		uint8_t address[4] = { 1, 2, static_cast<uint8_t>(i >> 8),
				       static_cast<uint8_t>(i) };
		dnsblv6_rr rr = { dns::A, 4, 60, address };
		dnsblv6_labels owner = labels(names.back());
		REQUIRE(xfrout_put(out.get(), &owner, &rr) == 0);
	}
	REQUIRE(xfrout_flush(out.get()) == 0);
	CHECK(out->rrs == 6000);
	std::vector<message> messages = link.messages();
	CHECK(messages.size() >= 2);
	CHECK(messages.size() == out->messages);
	size_t i = 0;
	for (const message &one : messages) {
		CHECK(one.qname == apex);
		CHECK(one.has(dns::AA));
		for (const record &rr : one.answer) {
			REQUIRE(rr.owner == full_name(names[i], apex));
			REQUIRE(rr.rdata[2] * 256U + rr.rdata[3] == i);
			i++;
		}
	}
	CHECK(i == 6000);
}

// Each name has one label more than the last one, as the nibbles of IPv6 addresses may.
TEST_CASE("owners of many labels come out, with no more pointers than readers follow",
	  "[server][xfrout]")
{
	granted transfer("");
	connection link;
	auto out = std::make_unique<xfrout>();
	xfrout_init(out.get(), &transfer.asked, &transfer.limits, link.ours);
	uint8_t address[4] = {};
	dnsblv6_rr rr = { dns::A, 4, 60, address };
	std::vector<std::string> names;
	for (unsigned turn = 0; turn < 3; turn++) {
		std::string name = std::to_string(turn);
		for (unsigned depth = 0; depth < 100; depth++) {
			dnsblv6_labels owner = labels(name);
			for (unsigned i = 0; i < 2; i++) {
				names.push_back(name);
				REQUIRE(xfrout_put(out.get(), &owner, &rr) == 0);
			}
			name = "a." + name;
		}
	}
	REQUIRE(xfrout_flush(out.get()) == 0);
	std::vector<record> records = link.records(); // counts the pointers
	REQUIRE(records.size() == names.size());
	for (size_t i = 0; i < names.size(); i++)
		CHECK(records[i].owner == full_name(names[i], apex));
	// They are compressed all the same.
	CHECK(out->bytes < names.size() * 40);
}

TEST_CASE("an RR that fills a message stands alone, a larger one is refused", "[server][xfrout]")
{
	granted transfer("");
	transfer.asked.has_edns = true;
	connection link;
	auto out = std::make_unique<xfrout>();
	xfrout_init(out.get(), &transfer.asked, &transfer.limits, link.ours);
	bytes rdata(65535);
	dnsblv6_labels owner = labels("");
	auto put = [&](size_t size) {
		dnsblv6_rr rr = { dns::TXT, static_cast<uint16_t>(size), 60, rdata.data() };
		return xfrout_put(out.get(), &owner, &rr);
	};
	size_t most = out->room - out->size - 12; // a pointer, and the rest of an RR's header
	CHECK(put(10) == 0);
	CHECK(put(most) == 0);
	CHECK(put(10) == 0);
	CHECK(put(most + 1) == DNSBLV6_ESPACE);
	CHECK(xfrout_flush(out.get()) == 0);
	std::vector<message> messages = link.messages();
	REQUIRE(messages.size() == 3);
	CHECK(messages[0].has_opt);
	CHECK(messages[1].answer.size() == 1);
}

TEST_CASE("a client that takes nothing is given up after the idle timeout", "[server][xfrout]")
{
	granted transfer("");
	transfer.limits = { 10, 1 };
	connection link;
	auto out = std::make_unique<xfrout>();
	xfrout_init(out.get(), &transfer.asked, &transfer.limits, link.ours);
	out->idle_ms = 10;
	bytes rdata(60000);
	dnsblv6_rr rr = { dns::TXT, 60000, 60, rdata.data() };
	dnsblv6_labels owner = labels("");
	int ret = 0;
	for (int i = 0; i < 1000 && ret == 0; i++)
		ret = xfrout_put(out.get(), &owner, &rr);
	CHECK(ret == -ETIMEDOUT);
}

TEST_CASE("a transfer that takes too long is given up, even when its client reads",
	  "[server][xfrout]")
{
	granted transfer("");
	connection link;
	auto out = std::make_unique<xfrout>();
	xfrout_init(out.get(), &transfer.asked, &transfer.limits, link.ours);
	out->deadline_ms = 1;
	dnsblv6_rr rr = { dns::TXT, 0, 60, nullptr };
	dnsblv6_labels owner = labels("");
	CHECK(xfrout_put(out.get(), &owner, &rr) == 0);
	CHECK(xfrout_flush(out.get()) == -ETIMEDOUT);
}

// ---- what changed ----

namespace
{
// A store at serial 12, and the journal of how it got there from 10. What a
// test breaks, it breaks in this.
struct history {
	uint32_t serial = 12;
	uint32_t first_from = 10;
	bool has_first_names = true;
	bool has_second_part = true;
	bool has_apex = true;
	uint32_t soa_after = 11; // in the first change
	bool is_cut = false;	 // a byte lacks at the end of the first change
};
} // namespace

static bytes apex_record(uint32_t serial)
{
	bytes soa = soa_rdata(apex, serial);
	bytes ns = dns::name("ns1." + apex);
	dnsblv6_rr rrs[] = { { dns::SOA, static_cast<uint16_t>(soa.size()), 3600, soa.data() },
			     { dns::NS, static_cast<uint16_t>(ns.size()), 86400, ns.data() } };
	bytes out(2000);
	size_t size = 0;
	REQUIRE(dnsblv6_record_encode_rrs(rrs, 2, out.data(), out.size(), &size) == DNSBLV6_OK);
	out.resize(size);
	return out;
}

static bytes bitmap_record(unsigned bit)
{
	dnsblv6_bitmap map = {};
	bytes out(DNSBLV6_BITMAP_RECORD_SIZE);
	dnsblv6_bitmap_add(&map, bit);
	dnsblv6_record_encode_bitmap(&map, out.data());
	return out;
}

static dnsblv6_key key_of(const std::string &name)
{
	dnsblv6_key key;
	dnsblv6_labels wire = labels(name);
	REQUIRE(dnsblv6_key_from_labels(wire.wire, wire.size, &key) == DNSBLV6_OK);
	return key;
}

static void add_name(bytes &part, const std::string &name, const bytes &before, const bytes &after)
{
	dnsblv6_key key = key_of(name);
	dnsblv6_name_change change = {};
	change.key = key.bytes;
	change.key_size = key.size;
	change.before.record = before.data();
	change.before.record_size = static_cast<uint16_t>(before.size());
	change.after.record = after.data();
	change.after.record_size = static_cast<uint16_t>(after.size());
	bytes out(4000);
	size_t size = 0;
	REQUIRE(dnsblv6_name_change_encode(&change, out.data(), out.size(), &size) == DNSBLV6_OK);
	part.insert(part.end(), out.begin(), out.begin() + static_cast<long>(size));
}

static void put_part(writer *w, uint64_t number, uint32_t part, const bytes &data)
{
	uint8_t key[DNSBLV6_JOURNAL_KEY_SIZE];
	dnsblv6_journal_make_key(number, part, key);
	REQUIRE(writer_put(w, STORE_JOURNAL, key, sizeof(key), data.data(), data.size()) == 0);
}

static void put_header(writer *w, uint64_t number, uint32_t from, bool has_names, uint32_t parts)
{
	dnsblv6_change header = {};
	header.from_serial = from;
	header.to_serial = static_cast<uint32_t>(10 + number);
	header.verb = DNSBLV6_CHANGE_UPDATE;
	header.has_names = has_names;
	header.part_count = has_names ? parts : 0;
	bytes data(DNSBLV6_CHANGE_SIZE);
	dnsblv6_change_encode(&header, data.data());
	put_part(w, number, 0, data);
}

static void put_journal(writer *w, const history &made)
{
	bytes part;
	put_header(w, 1, made.first_from, made.has_first_names, 2);
	if (made.has_apex)
		add_name(part, "", apex_record(10), apex_record(made.soa_after));
	add_name(part, "0.2.0.192", bitmap_record(1), bitmap_record(2));
	put_part(w, 1, 1, part);
	part.clear();
	add_name(part, "0.3.0.192", bitmap_record(3), {});
	if (made.is_cut)
		part.pop_back();
	if (made.has_second_part)
		put_part(w, 1, 2, part);
	part.clear();
	put_header(w, 2, 11, true, 1);
	add_name(part, "", apex_record(11), apex_record(12));
	add_name(part, "0.4.0.192", {}, bitmap_record(4));
	put_part(w, 2, 1, part);
}

static int put_history(writer *w, void *context)
{
	const history &made = *static_cast<const history *>(context);
	store_options options;
	store_writer out(w, options);
	dnsblv6_facts facts = {};
	facts.zone = labels(apex);
	facts.ttl = 2100;
	facts.serial = made.serial;
	out.facts(facts);
	out.rrs("", { { dns::SOA, 3600, soa_rdata(apex, made.serial) },
		      { dns::NS, 86400, dns::name("ns1." + apex) } });
	out.bitmap("0.2.0.192", std::vector<unsigned>{ 2 });
	out.bitmap("0.4.0.192", std::vector<unsigned>{ 4 });
	put_journal(w, made);
	return out.status();
}

// "soa 12", "0.4.0.192 AAAA 800::" without the apex, in order.
static std::vector<std::string> digest(const std::vector<record> &records)
{
	std::vector<std::string> out;
	for (const record &rr : records) {
		if (rr.type == dns::SOA) {
			out.push_back("soa " + std::to_string(serial_in(rr)));
			continue;
		}
		char text[INET6_ADDRSTRLEN] = "";
		if (rr.type == dns::AAAA)
			inet_ntop(AF_INET6, rr.rdata.data(), text, sizeof(text));
		out.push_back(rr.owner.substr(0, rr.owner.size() - apex.size()) + " " + text);
	}
	return out;
}

static std::vector<std::string> transfer_from(history made, uint32_t serial)
{
	tmpdir directory;
	REQUIRE(writer_run(directory.file("bl6.mdb").c_str(), &zone_store, put_history, &made) ==
		0);
	granted transfer(directory.file("bl6.mdb"));
	std::vector<std::string> out = digest(transfer.run_from(serial));
	CHECK(transfer.is_done);
	return out;
}

using lines = std::vector<std::string>;
static const lines all_of_it = { "soa 12", " ", "0.2.0.192. 2000::", "0.4.0.192. 800::", "soa 12" };

TEST_CASE("differences are those of each change, deletions first, between their SOAs",
	  "[server][transfer]")
{
	CHECK(transfer_from({}, 10) ==
	      lines{ "soa 12", "soa 10", "0.2.0.192. 4000::", "0.3.0.192. 1000::", "soa 11",
		     "0.2.0.192. 2000::", "soa 11", "soa 12", "0.4.0.192. 800::", "soa 12" });
	CHECK(transfer_from({}, 11) ==
	      lines{ "soa 12", "soa 11", "soa 12", "0.4.0.192. 800::", "soa 12" });
}

TEST_CASE("a client that has the newest version, or one from the future, gets its SOA alone",
	  "[server][transfer]")
{
	uint32_t serial = GENERATE(12U, 13U, 12U + 0x7fffffffU);
	CHECK(transfer_from({}, serial) == lines{ "soa 12" });
}

TEST_CASE("a serial that the journal does not reach back to gets the whole zone",
	  "[server][transfer]")
{
	// The last one is half of the numbers ahead, and so neither older nor newer: RFC 1982.
	uint32_t serial = GENERATE(9U, 0U, 12U + 0x80000001U);
	CHECK(transfer_from({}, serial) == all_of_it);
	history made;
	made.has_first_names = false;
	CHECK(transfer_from(made, 10) == all_of_it);
}

TEST_CASE("a journal that is cut short or does not fit leads to the whole zone, never to a part",
	  "[server][transfer]")
{
	auto damage = GENERATE(
		as<std::function<void(history &)>>{},
		[](history &made) { made.has_second_part = false; },
		[](history &made) { made.is_cut = true; },
		[](history &made) { made.has_apex = false; },
		[](history &made) { made.soa_after = 99; },
		[](history &made) { made.first_from = 9; });
	history made;
	damage(made);
	CHECK(transfer_from(made, made.first_from) == all_of_it);
	// What comes behind the damage is whole.
	CHECK(transfer_from(made, 11).size() == 5);
	// The store has moved on, and the journal did not.
	made = history();
	made.serial = 14;
	lines got = transfer_from(made, 10);
	REQUIRE(got.size() == 5);
	CHECK(got.front() == "soa 14");
	CHECK(got[1] == " ");
}

// ---- who may ----

namespace
{
struct rules {
	explicit rules(const std::string &text)
	{
		conf_error error;
		if (settings_parse(&value, text.data(), text.size(), "/", &error) != 0)
			throw std::runtime_error(error.reason);
	}
	~rules()
	{
		settings_deinit(&value);
	}
	rules(const rules &) = delete;
	rules &operator=(const rules &) = delete;
	settings value = {};
};
} // namespace

static sockaddr_storage socket_address(const std::string &text)
{
	sockaddr_storage out = {};
	auto *four = reinterpret_cast<sockaddr_in *>(&out);
	auto *six = reinterpret_cast<sockaddr_in6 *>(&out);
	out.ss_family = text.find(':') == std::string::npos ? AF_INET : AF_INET6;
	void *at = out.ss_family == AF_INET ? static_cast<void *>(&four->sin_addr)
					    : static_cast<void *>(&six->sin6_addr);
	REQUIRE(inet_pton(out.ss_family, text.c_str(), at) == 1);
	return out;
}

TEST_CASE("an address of a secondary and its key are needed, both", "[server][access]")
{
	rules made(
		"key:\n"
		"  - id: one\n    secret: c2VjcmV0\n"
		"  - id: two\n    secret: c2VjcmV0\n"
		"secondary:\n"
		"  - id: signs\n    address: [ 192.0.2.53, \"2001:db8::53@5353\" ]\n    key: one\n"
		"  - id: also\n    allow: 192.0.2.0/24\n    key: two\n"
		"  - id: plain\n    allow: [ 198.51.100.0/24, 2001:db8:1::/48 ]\n"
		"  - id: elsewhere\n    allow: 203.0.113.1\n"
		"zone:\n  - domain: a\n    store: a\n    secondary: [ signs, also, plain ]\n"
		"  - domain: b\n    store: b\n");
	const settings &value = made.value;
	const tsig_key *one = value.keys[0].key;
	const tsig_key *two = value.keys[1].key;
	struct asked {
		const char *client;
		const tsig_key *key;
		enum access verdict;
	};
	const asked cases[] = {
		{ "192.0.2.53", one, ACCESS_PERMITTED },
		{ "192.0.2.53", two, ACCESS_PERMITTED },
		{ "192.0.2.53", nullptr, ACCESS_KEY },
		{ "192.0.2.54", one, ACCESS_KEY },
		{ "192.0.2.54", two, ACCESS_PERMITTED },
		{ "2001:db8::53", one, ACCESS_PERMITTED },
		{ "2001:db8::53", two, ACCESS_KEY },
		{ "2001:db8::54", one, ACCESS_ADDRESS },
		{ "::ffff:192.0.2.53", one, ACCESS_PERMITTED },
		{ "198.51.100.255", nullptr, ACCESS_PERMITTED },
		{ "198.51.101.0", nullptr, ACCESS_ADDRESS },
		{ "2001:db8:1:ffff::", nullptr, ACCESS_PERMITTED },
		{ "203.0.113.1", nullptr, ACCESS_ADDRESS },
	};
	for (const asked &c : cases) {
		CAPTURE(c.client, c.key == one, c.key == two);
		sockaddr_storage client = socket_address(c.client);
		const auto *from = reinterpret_cast<const sockaddr *>(&client);
		const settings_secondary *found = nullptr;
		CHECK(access_decide(&value, &value.zones[0], from, c.key, &found) == c.verdict);
		CHECK((found != nullptr) == (c.verdict == ACCESS_PERMITTED));
		CHECK(access_decide(&value, &value.zones[1], from, c.key, &found) ==
		      ACCESS_ADDRESS);
	}
	const settings_secondary *found = nullptr;
	CHECK(access_decide(&value, &value.zones[0], nullptr, one, &found) == ACCESS_ADDRESS);
}

// ---- NOTIFY ----

static bytes notify_answer_to(const std::string &name, uint16_t type)
{
	dns::question question{ name, type };
	question.flags = dns::QR | 4 << 11 | dns::AA;
	return dns::query(question);
}

TEST_CASE("only an answer to the NOTIFY that was sent ends the tries", "[server][notify]")
{
	decision server;
	settings_secondary secondary = {};
	notify_target target = {};
	target.id = 0x1234;
	target.secondary = &secondary;
	notify asking = {};
	asking.catalog = &server.catalog;
	auto read = [&](bytes wire) {
		return notify_read_answer(&asking, &target, wire.data(), wire.size());
	};
	const bytes good = notify_answer_to("BL6.example.", dns::SOA);
	CHECK(read(good) == NOTIFY_TAKEN);
	bytes wire = good;
	wire[3] = dns::REFUSED;
	CHECK(read(wire) == NOTIFY_REFUSED);
	wire = good;
	wire[1] ^= 1; // the id
	CHECK(read(wire) == NOTIFY_OTHER);
	wire = good;
	wire[2] &= 0x7f; // a question
	CHECK(read(wire) == NOTIFY_OTHER);
	wire = good;
	wire[2] &= 0x87; // of another opcode
	CHECK(read(wire) == NOTIFY_OTHER);
	CHECK(read(notify_answer_to("bl7.example.", dns::SOA)) == NOTIFY_OTHER);
	CHECK(read(notify_answer_to("x.bl6.example.", dns::SOA)) == NOTIFY_OTHER);
	CHECK(read(notify_answer_to("bl6.example.", dns::NS)) == NOTIFY_OTHER);
	for (size_t size = 0; size < good.size(); size++)
		CHECK(read(bytes(good.begin(), good.begin() + static_cast<long>(size))) ==
		      NOTIFY_OTHER);

	rules made("key:\n  - id: one\n    secret: c2VjcmV0\n");
	secondary.key = made.value.keys[0].key;
	uint8_t asked[512] = { 0x12, 0x34, 4 << 3 };
	size_t asked_size = 12;
	REQUIRE(tsig_sign_query(&target.tsig, secondary.key, asked, &asked_size, sizeof(asked)) ==
		0);
	CHECK(read(good) == NOTIFY_OTHER);
	wire = good;
	wire[3] = 9; // NOTAUTH
	CHECK(read(wire) == NOTIFY_REFUSED_UNSIGNED);
	wire[1] ^= 1;
	CHECK(read(wire) == NOTIFY_OTHER);
}

// Worker 0 of several, with one zone and its secondary's addresses.
namespace
{

struct notifying {
	tmpdir directory;
	rules made;
	catalog zones = {};
	counters_bank bank = {};
	zonestatus status = {};
	uv_loop_t loop = {};
	notify asking = {};

	notifying(const std::string &addresses, size_t worker_count)
	    : made("server:\n    transfer-max: 8\nsecondary:\n  - id: many\n    address: [ " +
		   addresses + " ]\nzone:\n  - domain: bl6.example.\n    store: " +
		   directory.file("bl6.mdb") + "\n    secondary: [ many ]\n")
	{
		write_store(directory.file("bl6.mdb"), {});
		REQUIRE(catalog_init(&zones, &made.value) == 0);
		REQUIRE(zone_open(&zones.zones[0]) == DNSBLV6_OK);
		REQUIRE(counters_open(&bank, worker_count, 1, 1) == 0);
		REQUIRE(zonestatus_open(&status, worker_count, 1) == 0);
		REQUIRE(uv_loop_init(&loop) == 0);
		const counters count = counters_of_worker(&bank, 0);
		REQUIRE(notify_open(&asking, &loop, &zones, &made.value, &status, &count) == 0);
	}
	~notifying()
	{
		notify_close(&asking);
		uv_run(&loop, UV_RUN_DEFAULT);
		CHECK(uv_loop_close(&loop) == 0);
		notify_free(&asking);
		zonestatus_close(&status);
		counters_close(&bank);
		catalog_deinit(&zones);
	}
	notifying(const notifying &) = delete;
	notifying &operator=(const notifying &) = delete;

	void show(size_t worker, zonestatus_state state, uint32_t serial) const
	{
		zonestatus_zone zone = {};
		zone.state = state;
		zone.serial = serial;
		zonestatus_put(&status, worker, 0, &zone);
	}
	size_t told() const
	{
		size_t sum = 0;
		for (size_t i = 0; i < asking.target_count; i++)
			sum += asking.targets[i].tries > 0;
		return sum;
	}
	// As the loop would, but at once.
	void tick()
	{
		uv_update_time(&loop);
		asking.timer.timer_cb(&asking.timer);
	}
};

} // namespace

TEST_CASE("secondaries are told of a version in turns of a quarter of transfer-max",
	  "[server][notify]")
{
	notifying worker("127.0.0.1@1, 127.0.0.1@2, 127.0.0.1@3, 127.0.0.1@4, 127.0.0.1@5", 1);
	worker.show(0, ZONESTATUS_SERVING, 7);
	for (size_t wanted : { 2, 4, 5 }) {
		worker.tick();
		CHECK(worker.told() == wanted);
	}
}

TEST_CASE("secondaries are told of a version when all workers have it", "[server][notify]")
{
	notifying worker("127.0.0.1@1", 3);
	worker.show(0, ZONESTATUS_SERVING, 7);
	worker.show(1, ZONESTATUS_SERVING, 6);
	worker.tick(); // the third one opens its store
	CHECK(worker.told() == 0);
	worker.show(2, ZONESTATUS_SERVING, 7);
	worker.tick();
	CHECK(worker.told() == 0);
	worker.show(1, ZONESTATUS_SERVING, 8); // by an update that has come since
	worker.tick();
	CHECK(worker.told() == 1);
	CHECK(worker.asking.targets[0].serial == 7);
}

TEST_CASE("a worker that is stuck does not keep secondaries from hearing of a version",
	  "[server][notify]")
{
	notifying worker("127.0.0.1@1", 2);
	worker.show(0, ZONESTATUS_SERVING, 7);
	worker.show(1, ZONESTATUS_FAILED, 0);
	worker.tick();
	CHECK(worker.told() == 0);
	worker.asking.zones[0].since_ms -= 60000;
	worker.tick();
	CHECK(worker.told() == 1);
}
