// SPDX-License-Identifier: GPL-3.0-or-later
// Answers about passwords, out of a users database that is made here.
#include "integration/mail/pop-front/login/checker.h"

#include "integration/mail/pop-front/facts/popcount.h"
#include "lib/pop3/base64.h"

#include "tests/lib/child.hh"
#include "tests/lib/tmpdir.hh"
#include "tests/unit/mail-users/users.hh"

#include <catch2/catch.hpp>

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <sys/socket.h>
#include <sysexits.h>

#include <cstring>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

namespace
{

const std::string PASSWORD = "Secret4all";
const std::string JOHN = "john@example.org";
// Of that password, as libxcrypt makes them.
const std::string YESCRYPT =
	"password=$y$j9T$ugxX.DOc/5PvAlwh5U8rb1$3LBIdp7/rPNuaNbSVoYqj8ruJFtyC7ykndzxJ1eGSV6";
const std::string SHA512 = "password=$6$rounds=50000$ZjBPCzIWxJZ6Ekrb$"
			   "IhzRwZKhcEE8L4CeRkTzCBOYECZip07mXjgUly2ZDXgj5VltfdZ5lDq/"
			   "JcKv9NRqMBMDt3O1Ubq9eqGBcEued.";
const std::string BCRYPT = "password=$2b$10$mohUsKLBr6C4kxkgXfd0C./I4T.JFjvbulBvNGcF/vMBm1//q788q";
// Of the same password with another salt, and of "another".
const std::string SHA512_AGAIN =
	"password=$6$rounds=50000$72NYLqij3QIg.yKH$mN4JbfGZhUfbXVQ1Y/Aq"
	"9C0SD9/R0oZB9PMPZKb/sPLj03ofROsgMNjFwREC5rtriaHEPFXUys1BYlLMeeChv1";
const std::string SHA512_OTHER =
	"password=$6$rounds=50000$xtxiCxDA7wi4GvaX$VDC3t.1VaG9BwsjeN11L"
	"Vf1jF4iBiJdML37QOkvD3MzjcoHpjVXyXDQjd6HLyLaFI4QtfnVvbnU79b44lMwsp1";
const std::string SCRAM = "scram=SCRAM-SHA-256$4096:duQAJb1AQqfUscuWmM7HnQ==$"
			  "PC0DojAPDYlpzKkFxPMnLGRuy6Dj/zwu991xg+uVrNE=:"
			  "mfvtWQbhTjjAbOlOHUSFGb9VBnLWeNSw2ddkObGiCss=";

using bytes = std::vector<uint8_t>;

// A checker of a database of its own.
class bench
{
      public:
	explicit bench(const std::vector<std::string> &lines, unsigned cache_ms = 3600000)
	{
		REQUIRE(build(path(), lines) == 0);
		const std::string text = path();
		memcpy(setup_->login.users, text.c_str(), text.size() + 1);
		setup_->login.cache_ms = cache_ms;
		memset(&keys, 's', sizeof(keys));
		given_.setup = setup_.get();
		given_.counters = counters;
		open();
	}
	~bench()
	{
		checker_close(checker_);
	}
	bench(const bench &) = delete;
	bench &operator=(const bench &) = delete;

	std::string path() const
	{
		return directory_.file("users.mdb");
	}
	void open()
	{
		checker_close(checker_);
		checker_ = nullptr;
		REQUIRE(checker_open(&given_, &keys, &checker_) == EX_OK);
	}
	// While the checker has it open.
	void rebuild(const std::vector<std::string> &lines) const
	{
		child other([&] { return build(path(), lines) == 0 ? 0 : 1; });
		REQUIRE(other.wait() == 0);
	}

	const check_reply &ask(const check_request &request)
	{
		memset(&reply, 0xff, sizeof(reply));
		checker_answer(checker_, &request, &reply);
		CHECK(reply.serial == request.serial);
		CHECK(check_reply_is_valid(&reply));
		// A name is told with the right password alone.
		CHECK((reply.answer == CHECK_YES) == (reply.mailbox[0] != '\0'));
		return reply;
	}
	int password(const std::string &user, const std::string &word)
	{
		check_request request{};
		request.serial = 4711;
		request.kind = CHECK_PASSWORD;
		memcpy(request.user, user.data(), user.size());
		memcpy(request.password, word.data(), word.size());
		return ask(request).answer;
	}
	int first(const std::string &message)
	{
		request_ = {};
		request_.serial = 1;
		request_.kind = CHECK_SCRAM_FIRST;
		request_.first_size = static_cast<uint16_t>(message.size());
		memcpy(request_.first, message.data(), message.size());
		return ask(request_).answer;
	}
	// Of the exchange that first() has begun, as an edge asks.
	int last(const std::string &message, const std::string &nonce)
	{
		request_.serial = 2;
		request_.kind = CHECK_SCRAM_FINAL;
		memset(request_.nonce, 0, sizeof(request_.nonce));
		memcpy(request_.nonce, nonce.data(), nonce.size());
		request_.final_size = static_cast<uint16_t>(message.size());
		memcpy(request_.final, message.data(), message.size());
		return ask(request_).answer;
	}
	std::string text() const
	{
		return { reply.text, reply.text_size };
	}

	uint64_t counters[POP_NUMBERS] = {};
	checker_keys keys{};
	check_reply reply{};

      private:
	tmpdir directory_;
	std::unique_ptr<popsetup> setup_ = std::make_unique<popsetup>();
	nanny_child given_{};
	checker *checker_ = nullptr;
	check_request request_{};
};

// ---- a client of SCRAM, by OpenSSL alone ----

bytes mac(const bytes &key, const std::string &text)
{
	bytes out(32);
	unsigned size = 0;
	REQUIRE(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
		     reinterpret_cast<const uint8_t *>(text.data()), text.size(), out.data(),
		     &size) != nullptr);
	return out;
}

std::string base64(const bytes &from)
{
	std::string out(BASE64_SIZE(from.size()) + 1, '\0');
	out.resize(base64_encode(from.data(), from.size(), out.data()));
	return out;
}

bytes from_base64(const std::string &text)
{
	bytes out(text.size());
	out.resize(static_cast<size_t>(
		EVP_DecodeBlock(out.data(), reinterpret_cast<const uint8_t *>(text.data()),
				static_cast<int>(text.size()))));
	for (size_t at = text.size(); at > 0 && text[at - 1] == '='; at--)
		out.pop_back();
	return out;
}

std::string part(const std::string &message, const std::string &name)
{
	const size_t at = message.find(name + "=") + name.size() + 1;
	return message.substr(at, message.find(',', at) - at);
}

struct client {
	std::string user = JOHN;
	std::string password = PASSWORD;
	std::string nonce = "rOprNGfwEbeRWgbNEkqO";
	bytes server_key = {};
	std::string whole = {}; // of both, which is signed

	std::string first() const
	{
		return "n,,n=" + user + ",r=" + nonce;
	}
	// The answer to a challenge; change is for the proof.
	std::string last(const std::string &challenge, uint8_t change = 0)
	{
		bytes salted(32);
		const bytes salt = from_base64(part(challenge, "s"));
		REQUIRE(PKCS5_PBKDF2_HMAC(password.data(), static_cast<int>(password.size()),
					  salt.data(), static_cast<int>(salt.size()),
					  std::stoi(part(challenge, "i")), EVP_sha256(), 32,
					  salted.data()) == 1);
		const bytes key = mac(salted, "Client Key");
		bytes stored(32);
		REQUIRE(EVP_Digest(key.data(), 32, stored.data(), nullptr, EVP_sha256(), nullptr) ==
			1);
		const std::string bare = "c=biws,r=" + part(challenge, "r");
		whole = first().substr(3) + "," + challenge + "," + bare;
		bytes proof = mac(stored, whole);
		for (size_t i = 0; i < 32; i++)
			proof[i] ^= key[i];
		proof[7] ^= change;
		server_key = mac(salted, "Server Key");
		return bare + ",p=" + base64(proof);
	}
	std::string signature() const
	{
		return "v=" + base64(mac(server_key, whole));
	}
};

std::string server_nonce(const bench &bench)
{
	return bench.reply.nonce;
}

} // namespace

// ---- passwords ----

TEST_CASE("a password is right by a hash of each form, and by keys of SCRAM", "[pop][checker]")
{
	const std::string words = GENERATE_REF(
		values<std::string>({ YESCRYPT, SHA512, BCRYPT, SCRAM, SHA512 + " " + SCRAM }));
	CAPTURE(words);
	bench with({ JOHN + " " + words });
	CHECK(with.password(JOHN, PASSWORD) == CHECK_YES);
	CHECK(std::string(with.reply.mailbox) == JOHN);
	CHECK(with.reply.text_size == 0);
	for (const std::string &wrong :
	     { PASSWORD + "x", std::string("secret4all"), PASSWORD.substr(0, 9),
	       std::string(255, 'x'), std::string() }) {
		CAPTURE(wrong);
		CHECK(with.password(JOHN, wrong) == CHECK_NO);
	}
	CHECK(with.counters[POP_CHECKS] == 6);
	CHECK(with.counters[POP_CHECKS_BAD] == 0);
}

TEST_CASE("a name is written in more ways than one, and the mailbox in one", "[pop][checker]")
{
	bench with({ JOHN + " " + SCRAM });
	CHECK(with.password("John@Example.ORG", PASSWORD) == CHECK_YES);
	CHECK(std::string(with.reply.mailbox) == JOHN);
}

TEST_CASE("a user that there is not has the answer of a wrong password", "[pop][checker]")
{
	bench with({ JOHN + " " + SHA512, "mary@example.org" });
	CHECK(with.password(JOHN, "wrong") == CHECK_NO);
	const check_reply wrong = with.reply;
	for (const std::string &user :
	     { std::string("nobody@example.org"), std::string("john@example.net"),
	       std::string("john"), std::string(), std::string(255, 'j'), std::string("a@b@c"),
	       std::string("mary@example.org") }) { // who has no password
		CAPTURE(user);
		CHECK(with.password(user, PASSWORD) == CHECK_NO);
		CHECK(memcmp(&with.reply, &wrong, sizeof(wrong)) == 0);
		CHECK(with.password(user, "") == CHECK_NO);
	}
}

TEST_CASE("the second answer comes out of the cache, and is the same", "[pop][checker]")
{
	const std::string words = GENERATE_REF(values<std::string>({ SHA512, SCRAM }));
	bench with({ JOHN + " " + words });
	REQUIRE(with.password(JOHN, PASSWORD) == CHECK_YES);
	CHECK(with.counters[POP_CHECKS_CACHED] == 0);
	check_reply whole = with.reply;
	REQUIRE(with.password(JOHN, PASSWORD) == CHECK_YES);
	CHECK(with.counters[POP_CHECKS_CACHED] == 1);
	// But for its time.
	whole.ticket = with.reply.ticket;
	CHECK(memcmp(&with.reply, &whole, sizeof(whole)) == 0);
	// A wrong one is not taken for it, and not kept.
	CHECK(with.password(JOHN, "wrong") == CHECK_NO);
	CHECK(with.password(JOHN, "wrong") == CHECK_NO);
	CHECK(with.counters[POP_CHECKS_CACHED] == 1);
	CHECK(with.counters[POP_CHECKS] == 4);
}

TEST_CASE("without a cache each answer has its hash", "[pop][checker]")
{
	bench with({ JOHN + " " + SCRAM }, 0);
	CHECK(with.password(JOHN, PASSWORD) == CHECK_YES);
	CHECK(with.password(JOHN, PASSWORD) == CHECK_YES);
	CHECK(with.counters[POP_CHECKS_CACHED] == 0);
}

TEST_CASE("a hash that changes in the database is not found in the cache", "[pop][checker]")
{
	bench with({ JOHN + " " + SHA512 });
	REQUIRE(with.password(JOHN, PASSWORD) == CHECK_YES);
	with.rebuild({ JOHN + " " + SHA512_OTHER });
	CHECK(with.password(JOHN, PASSWORD) == CHECK_NO);
	CHECK(with.counters[POP_CHECKS_CACHED] == 0);
	CHECK(with.password(JOHN, "another") == CHECK_YES);
	// The same password, with another salt.
	with.rebuild({ JOHN + " " + SHA512_AGAIN });
	CHECK(with.password(JOHN, PASSWORD) == CHECK_YES);
	CHECK(with.counters[POP_CHECKS_CACHED] == 0);
	CHECK(with.password(JOHN, PASSWORD) == CHECK_YES);
	CHECK(with.counters[POP_CHECKS_CACHED] == 1);
	with.rebuild({ "mary@example.org " + SHA512 });
	CHECK(with.password(JOHN, PASSWORD) == CHECK_NO);
}

TEST_CASE("a question that could not be of an edge has no answer but that it is none",
	  "[pop][checker]")
{
	bench with({ JOHN + " " + SCRAM });
	check_request request{};
	request.serial = UINT64_MAX;
	request.kind = CHECK_KINDS;
	CHECK(with.ask(request).answer == CHECK_MALFORMED);
	request.kind = CHECK_PASSWORD;
	memset(request.user, 'x', sizeof(request.user));
	CHECK(with.ask(request).answer == CHECK_MALFORMED);
	request.kind = CHECK_SCRAM_FIRST;
	request.first_size = SASL_MESSAGE_MAX + 1;
	CHECK(with.ask(request).answer == CHECK_MALFORMED);
	CHECK(with.counters[POP_CHECKS_BAD] == 3);
	CHECK(with.counters[POP_CHECKS] == 3);
}

TEST_CASE("without a users database there is no checker", "[pop][checker]")
{
	const tmpdir directory;
	const auto setup = std::make_unique<popsetup>();
	const std::string path = directory.file("users.mdb");
	memcpy(setup->login.users, path.c_str(), path.size() + 1);
	const checker_keys keys{};
	nanny_child given{};
	given.setup = setup.get();
	checker *checker = nullptr;
	CHECK(checker_open(&given, &keys, &checker) == EX_NOINPUT);
	write_file(path, "not a database\n");
	CHECK(checker_open(&given, &keys, &checker) == EX_NOINPUT);
	CHECK(checker == nullptr);
	checker_close(nullptr);
}

// ---- SCRAM ----

TEST_CASE("an exchange of SCRAM is two questions, and the proof of the password is yes",
	  "[pop][checker]")
{
	bench with({ JOHN + " " + SCRAM });
	client john;
	REQUIRE(with.first(john.first()) == CHECK_CHALLENGE);
	const std::string challenge = with.text();
	CHECK(part(challenge, "r") == john.nonce + server_nonce(with));
	CHECK(server_nonce(with).size() == 24);
	CHECK(part(challenge, "s") == "duQAJb1AQqfUscuWmM7HnQ==");
	CHECK(part(challenge, "i") == "4096");
	REQUIRE(with.last(john.last(challenge), server_nonce(with)) == CHECK_YES);
	CHECK(std::string(with.reply.mailbox) == JOHN);
	CHECK(with.text() == john.signature());
}

// It keeps nothing, so that it may be another process of the same secret.
TEST_CASE("any checker can judge the proof of another's challenge", "[pop][checker]")
{
	bench with({ JOHN + " " + SCRAM });
	client john;
	REQUIRE(with.first(john.first()) == CHECK_CHALLENGE);
	const std::string last = john.last(with.text());
	const std::string nonce = server_nonce(with);
	with.open();
	CHECK(with.last(last, nonce) == CHECK_YES);
}

TEST_CASE("each challenge has a nonce of its own, whose proof is right for no other",
	  "[pop][checker]")
{
	bench with({ JOHN + " " + SCRAM });
	client john;
	REQUIRE(with.first(john.first()) == CHECK_CHALLENGE);
	const std::string last = john.last(with.text());
	const std::string nonce = server_nonce(with);
	REQUIRE(with.first(john.first()) == CHECK_CHALLENGE);
	CHECK(server_nonce(with) != nonce);
	CHECK(with.last(last, server_nonce(with)) != CHECK_YES);
	CHECK(with.last(last, nonce) == CHECK_YES);
}

TEST_CASE("a proof with one bit changed, and one of another password, is no", "[pop][checker]")
{
	bench with({ JOHN + " " + SCRAM });
	client john;
	REQUIRE(with.first(john.first()) == CHECK_CHALLENGE);
	const std::string challenge = with.text();
	const std::string nonce = server_nonce(with);
	CHECK(with.last(john.last(challenge, 1), nonce) == CHECK_NO);
	CHECK(with.text().empty());
	john.password = "secret4all";
	CHECK(with.last(john.last(challenge), nonce) == CHECK_NO);
	john.password = PASSWORD;
	CHECK(with.last(john.last(challenge), nonce) == CHECK_YES);
}

TEST_CASE("a message of SCRAM that is none is malformed", "[pop][checker]")
{
	bench with({ JOHN + " " + SCRAM });
	for (const std::string &message :
	     { std::string(), std::string("n,,"), std::string("n,,n=,r=abc"),
	       std::string("p=tls-unique,,n=") + JOHN + ",r=abc",
	       std::string("n,a=mary@example.org,n=") + JOHN + ",r=abc", JOHN,
	       std::string(SASL_MESSAGE_MAX, 'n') }) {
		CAPTURE(message);
		CHECK(with.first(message) == CHECK_MALFORMED);
	}
	client john;
	REQUIRE(with.first(john.first()) == CHECK_CHALLENGE);
	const std::string nonce = server_nonce(with);
	const std::string right = john.last(with.text());
	for (const std::string &message :
	     { std::string(), right.substr(0, right.size() - 1), "x" + right, right + ",x",
	       std::string(SASL_MESSAGE_MAX, 'c') }) {
		CAPTURE(message);
		CHECK(with.last(message, nonce) == CHECK_MALFORMED);
	}
	// The nonce that the proof repeats is not that of this exchange.
	CHECK(with.last(right, "another") == CHECK_MALFORMED);
	CHECK(with.counters[POP_CHECKS_BAD] == 0);
}

TEST_CASE("a user that there is not, or has no keys, gets a challenge, and its proof is wrong",
	  "[pop][checker]")
{
	bench with({ JOHN + " " + SCRAM, "mary@example.org " + SHA512 });
	client other;
	other.user =
		GENERATE(as<std::string>(), "nobody@example.org", "nobody", "mary@example.org");
	REQUIRE(with.first(other.first()) == CHECK_CHALLENGE);
	const std::string challenge = with.text();
	const std::string nonce = server_nonce(with);
	const std::string salt = part(challenge, "s");
	CHECK(from_base64(salt).size() == 16);
	CHECK(part(challenge, "i") == "4096");
	CHECK(with.last(other.last(challenge), nonce) == CHECK_NO);

	// Also of another checker, as all have the secret: a client cannot tell.
	with.open();
	REQUIRE(with.first(other.first()) == CHECK_CHALLENGE);
	CHECK(part(with.text(), "s") == salt);
	CHECK(server_nonce(with) != nonce);

	// But not of another secret, nor of another name.
	with.keys.salts[0] ^= 1;
	REQUIRE(with.first(other.first()) == CHECK_CHALLENGE);
	CHECK(part(with.text(), "s") != salt);
	with.keys.salts[0] ^= 1;
	other.user += "x";
	REQUIRE(with.first(other.first()) == CHECK_CHALLENGE);
	CHECK(part(with.text(), "s") != salt);
}

// ---- as a process ----

TEST_CASE("a checker serves all its edges, and ends when they have", "[pop][checker]")
{
	const tmpdir directory;
	const std::string path = directory.file("users.mdb");
	REQUIRE(build(path, { JOHN + " " + SCRAM }) == 0);
	int pairs[2][2];
	for (auto &ends : pairs)
		REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
	child other([&] {
		auto setup = std::make_unique<popsetup>();
		memcpy(setup->login.users, path.c_str(), path.size() + 1);
		const checker_keys keys{};
		const int sockets[2] = { pairs[0][0], pairs[1][0] };
		close(pairs[0][1]);
		close(pairs[1][1]);
		nanny_child given{};
		given.setup = setup.get();
		given.check_fds = sockets;
		given.check_count = 2;
		return checker_run(&given, &keys);
	});
	check_request request{};
	request.kind = CHECK_PASSWORD;
	memcpy(request.user, JOHN.data(), JOHN.size());
	memcpy(request.password, PASSWORD.data(), PASSWORD.size());
	for (auto &ends : pairs) {
		close(ends[0]);
		check_reply reply{};
		// What has not the size of a question has no answer.
		REQUIRE(send(ends[1], &request, 5, 0) == 5);
		request.serial++;
		REQUIRE(send(ends[1], &request, sizeof(request), 0) == sizeof(request));
		REQUIRE(recv(ends[1], &reply, sizeof(reply), 0) == sizeof(reply));
		CHECK(reply.serial == request.serial);
		CHECK(reply.answer == CHECK_YES);
		close(ends[1]);
	}
	CHECK(other.wait() == EX_OK);
}
