// SPDX-License-Identifier: GPL-3.0-or-later
// Requests of clients to nodes, of which this one has a played store.
#include "integration/mail/mail-stored/module/nodework.h"

#include "integration/mail/mail-stored/lmtp/lmtp_nodes.h"
#include "lib/mailstore/mailrecord.h"
#include "tests/lib/mailname.hh"
#include "tests/unit/mail-base/tls_fixture.hh"
#include "tests/unit/mail-stored/played_store.hh"
#include "tests/unit/mail-stored/routed.hh"

#include <openssl/evp.h>
#include <openssl/x509.h>

namespace
{

// A mail with few bytes, for these mailboxes.
struct mail_asked {
	std::vector<uint8_t> memory;
	storewire_request request = {};

	explicit mail_asked(const std::vector<std::string> &boxes)
	{
		std::vector<mailname> names;
		for (const auto &box : boxes)
			names.push_back(name_of(box));
		const std::string text = "Subject: x\r\n\r\n";
		memory.resize(mailmeta_size(name_of("s@x"), names.data(), names.size(), 0));
		mailmeta_encode(name_of("s@x"), names.data(), names.size(), nullptr, 0,
				memory.data());
		request.type = STOREWIRE_DELIVER;
		request.number = memory.size();
		request.size = text.size();
		memory.insert(memory.end(), text.begin(), text.end());
		request.has_memory = true;
		request.memory = memory.data();
		request.memory_size = memory.size();
	}
};

class worked
{
      public:
	routed side;
	locate where = {};
	uint64_t counters[NODEWORK_COUNTER_COUNT] = {};
	bool has_told[NODE_NUMBER_MAX + 1] = {};
	nodework_parts parts = {};
	std::vector<int> heard;

	explicit worked(unsigned nodes) : side(1, nodes)
	{
		side.setup->copies = 2;
		where.setup = side.setup.get();
		parts.router = side.router;
		parts.locate = &where;
		parts.setup = side.setup.get();
		parts.counters = counters;
		parts.has_told = has_told;
	}

	void ask(const storewire_request &request)
	{
		nodework_start start = {};
		start.parts = &parts;
		start.owner = this;
		start.answer = [](void *owner, const storewire_reply *reply, int) {
			static_cast<worked *>(owner)->heard.push_back(reply->status);
		};
		nodework_begin(&start, &request, -1);
	}

	void deliver(const std::vector<std::string> &boxes)
	{
		const mail_asked mail(boxes);
		ask(mail.request);
	}

	void erase(const std::string &box, uint64_t mail)
	{
		std::vector<uint8_t> memory(maildeletion_size(name_of(box), 1));
		maildeletion_encode(name_of(box), &mail, 1, memory.data());
		storewire_request request = {};
		request.type = STOREWIRE_ERASE;
		request.has_memory = true;
		request.memory = memory.data();
		request.memory_size = request.size = memory.size();
		ask(request);
	}

	// All requests that the store gets until there is an answer; each is refused or accepted.
	size_t play(played_store &played, int status)
	{
		size_t count = 0;
		REQUIRE(side.comes([&] { return played.accept_one(); }));
		played.greet();
		REQUIRE(side.comes([&] {
			played.take_all();
			for (; count < played.serials.size(); count++)
				played.answer(count, status);
			return !heard.empty();
		}));
		return count;
	}
};

// "sha256//" and the hash of a key, as a configuration has it.
std::string pin_of(const front::x509_ptr &certificate)
{
	uint8_t *bytes = nullptr;
	uint8_t hash[EVP_MAX_MD_SIZE];
	unsigned size = 0;
	unsigned char text[64];
	const int key_size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate.get()), &bytes);
	REQUIRE(EVP_Digest(bytes, static_cast<size_t>(key_size), hash, &size, EVP_sha256(),
			   nullptr) == 1);
	OPENSSL_free(bytes);
	EVP_EncodeBlock(text, hash, static_cast<int>(size));
	return "sha256//" + std::string(reinterpret_cast<const char *>(text));
}

} // namespace

TEST_CASE("a mail without recipients is answered, also where there are second copies",
	  "[mail-stored][nodework]")
{
	worked work(2);
	played_store played(work.side.path);
	work.deliver({});
	CHECK(work.play(played, MAILSTORE_ERECIPIENTS) == 1);
	CHECK(work.heard == std::vector<int>{ MAILSTORE_ERECIPIENTS });
}

TEST_CASE("a mailbox whose copies would have too long a name has none, and that is counted",
	  "[mail-stored][nodework]")
{
	const bool is_long = GENERATE(true, false);
	worked work(2);
	played_store played(work.side.path);
	work.deliver({ std::string(is_long ? MAILBOX_NAME_MAX : 20, 'x') });
	CHECK(work.play(played, 0) == 1); // the other node, where copies would be, is down
	CHECK(work.heard == std::vector<int>{ 0 });
	CHECK(work.counters[NODEWORK_DELIVERED] == 1);
	CHECK(work.counters[NODEWORK_COPIED] == 0);
	CHECK(work.counters[NODEWORK_UNCOPIED] == 1);
}

TEST_CASE("a mail that one node never takes is tried again for another that is down",
	  "[mail-stored][nodework]")
{
	const bool is_own_first = GENERATE(true, false);
	worked work(2);
	work.side.setup->copies = 1;
	work.side.setup->peers[1].is_spread = true;
	std::vector<std::string> boxes(2);
	for (int i = 0; boxes[0].empty() || boxes[1].empty(); i++) {
		const std::string box = std::to_string(i) + "@b";
		const bool is_own = locate_find(&work.where, name_of(box)) == 0;
		boxes[is_own == is_own_first ? 0 : 1] = box;
	}
	played_store played(work.side.path);
	work.deliver(boxes);
	CHECK(work.play(played, -EFBIG) == 1);
	CHECK(work.heard == std::vector<int>{ MAILSTORE_EAWAY });
}

TEST_CASE("a list that begins again and again is no reason to ask for its end",
	  "[mail-stored][nodework]")
{
	const size_t piece = 1024; // of nodeerase.c
	worked work(2);
	played_store played(work.side.path);
	work.erase("a@b", uint64_t{ 1 } << NODEWORK_NUMBER_BITS | 5);
	REQUIRE(work.side.comes([&] { return played.accept_one(); }));
	played.greet();
	size_t count = 0;
	REQUIRE(work.side.comes([&] {
		played.take_all();
		for (; count < played.serials.size(); count++) {
			if (played.types[count] == STOREWIRE_LIST)
				played.answer_rows(count,
						   std::string(piece * STOREWIRE_ENTRY_SIZE, '\0'),
						   piece);
			else
				played.answer(count, 0);
		}
		return !work.heard.empty() || count > 9;
	}));
	CHECK(played.types == std::vector<uint8_t>{ STOREWIRE_LIST, STOREWIRE_ERASE });
	CHECK(work.heard == std::vector<int>{ 0 });
}

TEST_CASE("a mail is deleted at the node of its number, and nowhere else",
	  "[mail-stored][nodework]")
{
	const uint64_t number = GENERATE(as<uint64_t>{}, 0, 2, 3);
	worked work(2);
	played_store played(work.side.path);
	work.erase("a@b", number << NODEWORK_NUMBER_BITS | 5); // its mailbox is of node 1
	REQUIRE(work.side.comes([&] { return !work.heard.empty(); }));
	CHECK(work.heard == std::vector<int>{ number == 2 ? MAILSTORE_EAWAY : MAILSTORE_EMAIL });
	CHECK(played.types.empty());
}

TEST_CASE("what nodes have said about a mail of LMTP does not wait for another event",
	  "[mail-stored][nodework]")
{
	const tmpdir dir;
	const front::pkey_ptr key = front::make_key("EC");
	const front::x509_ptr certificate = front::make_certificate(key, "node");
	front::files files;
	const keys_paths paths = files.add(front::pem_of(certificate), front::pem_of(key));
	auto setup = std::make_unique<stored_setup>();
	nodesetup &own = setup->nodes;
	own.peer_count = own.links_max = own.copies = 1;
	own.silence_ms = own.timeout_ms = 20000;
	own.peers[0].is_spread = true;
	std::strcpy(own.certificate, paths.chain);
	std::strcpy(own.key, paths.key);
	std::strcpy(own.peers[0].pin, pin_of(certificate).c_str());
	uv_loop_t loop = {};
	lmtp_nodes *nodes = nullptr;
	const std::string nowhere = dir.path() + "/nowhere";
	REQUIRE(uv_loop_init(&loop) == 0);
	REQUIRE(lmtp_nodes_open(setup.get(), nowhere.c_str(), nullptr, &nodes) == 0);
	REQUIRE(lmtp_nodes_start(nodes, &loop) == 0);
	mail_asked mail({ "a@b" });
	const iovec part = { mail.memory.data(), mail.memory.size() };
	const storelink_memory memory = { -1, &part, 1 };
	int heard = 0;
	lmtp_ask ask = {};
	ask.request = &mail.request;
	ask.memory = &memory;
	ask.owner = &heard;
	ask.answer = [](lmtp_ask *asked, int status, const mailid *) {
		*static_cast<int *>(asked->owner) = status;
	};
	lmtp_nodes_ask(nodes, &ask);
	CHECK(heard == 0);
	for (int turns = 0; heard == 0 && turns < 10; turns++) {
		uv_run(&loop, UV_RUN_NOWAIT);
		CHECK((heard != 0 || uv_backend_timeout(&loop) == 0));
	}
	CHECK(heard == MAILSTORE_EAWAY);
	lmtp_nodes_close(nodes);
	uv_run(&loop, UV_RUN_DEFAULT);
	lmtp_nodes_free(nodes);
	uv_loop_close(&loop);
}
