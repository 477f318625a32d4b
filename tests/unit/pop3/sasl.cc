// SPDX-License-Identifier: GPL-3.0-or-later
// Base64 with one spelling, texts of users, and the messages of PLAIN and SCRAM.
#include "tests/lib/bytes_of.hh"
#include "tests/unit/pop3/session.hh"

namespace
{

bool decode(const std::string &text, std::string *ret_bytes, size_t room = 64)
{
	std::vector<uint8_t> out(room + 1, 0xaa);
	size_t size = 0;
	const bool is_one = base64_decode(text.data(), text.size(), room, out.data(), &size);
	ret_bytes->assign(out.begin(), out.begin() + static_cast<long>(size));
	return is_one && out[room] == 0xaa;
}

bool is_text(const std::string &text)
{
	return sasl_is_text(text.data(), text.size());
}

sasl_status parse(const std::string &message, struct sasl_plain *ret_plain)
{
	return sasl_parse_plain(bytes_of(message), message.size(), ret_plain);
}

std::string nul(const std::string &a, const std::string &b, const std::string &c)
{
	return a + '\0' + b + '\0' + c;
}

sasl_status first(struct scram *scram, const std::string &message)
{
	scram_init(scram);
	return scram_first(scram, bytes_of(message), message.size());
}

const std::string NONCE = std::string("rOprNGfwEbeRWgbNEkqO") + SCRAM_NONCE;
const std::string PROOF = ",p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";

// What is said to the client's last message of the exchange of RFC 7677.
sasl_status finish(const std::string &message, const struct scram_keys &keys,
		   std::string *ret_answer,
		   const std::string &opening = "n,,n=user,r=rOprNGfwEbeRWgbNEkqO")
{
	struct scram scram;
	char answer[SCRAM_ANSWER_MAX];
	size_t size = 0;
	REQUIRE(first(&scram, opening) == SASL_FINE);
	scram_challenge(&scram, &keys, SCRAM_NONCE, answer);
	const sasl_status status =
		scram_final(&scram, bytes_of(message), message.size(), answer, &size);
	ret_answer->assign(answer, size);
	CHECK(scram.state == (status == SASL_FINE ? SCRAM_AT_EMPTY : SCRAM_AT_END));
	return status;
}

} // namespace

TEST_CASE("base64 is that of RFC 4648, part 10", "[pop3][base64]")
{
	struct row {
		std::string bytes, text;
	};
	const row tried = GENERATE(values<row>({ { "", "" },
						 { "f", "Zg==" },
						 { "fo", "Zm8=" },
						 { "foo", "Zm9v" },
						 { "foob", "Zm9vYg==" },
						 { "fooba", "Zm9vYmE=" },
						 { "foobar", "Zm9vYmFy" },
						 { "\xff\xfe\xfb", "//77" } }));
	std::vector<char> out(BASE64_SIZE(tried.bytes.size()) + 1);
	CHECK(base64_encode(bytes_of(tried.bytes), tried.bytes.size(), out.data()) ==
	      tried.text.size());
	CHECK(std::string(out.data()) == tried.text);
	std::string back;
	CHECK(decode(tried.text, &back));
	CHECK(back == tried.bytes);
	CHECK(decode(tried.text, &back, tried.bytes.size()));
	CHECK((tried.bytes.empty() || !decode(tried.text, &back, tried.bytes.size() - 1)));
}

TEST_CASE("what has another spelling is no base64", "[pop3][base64]")
{
	std::string bytes;
	for (const char *text :
	     { "Z",	 "Zg",	 "Zg=",	    "Zg===",	"Zh==",	  "Zm9=",  "=",
	       "==",	 "====", "Z===",    "Zg==Zg==", "Zg==\n", " Zg==", "Zm 9v",
	       "Zm9v\n", "Zm-_", "Zm9\xff", "=m9v",	"Z=9v",	  "Zm=v",  "*" })
		CHECK_FALSE(decode(text, &bytes));
	CHECK_FALSE(decode(std::string("Zm9\0", 4), &bytes));
}

TEST_CASE("all bytes go through base64 and back", "[pop3][base64]")
{
	const size_t size = GENERATE(range<size_t>(0, 30));
	for (unsigned seed = 0; seed < 256; seed++) {
		std::string text;
		for (size_t i = 0; i < size; i++)
			text += static_cast<char>(seed + i * 37);
		std::vector<char> out(BASE64_SIZE(size) + 1);
		std::string back;
		base64_encode(bytes_of(text), size, out.data());
		REQUIRE(decode(out.data(), &back));
		REQUIRE(back == text);
	}
}

TEST_CASE("a name is UTF-8 without control characters, up to 255 octets", "[pop3][sasl]")
{
	for (const char *text : { "a", "a b", " ", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
				  "\xc2\xa0", "\xed\x9f\xbf", "\xee\x80\x80", "\xf4\x8f\xbf\xbf" })
		CHECK(is_text(text));
	for (const char *text :
	     { "", "\t", "a\x1f", "\x7f", "\xc2\x80", "\xc2\x9f", "\x80", "\xc3", "\xc0\xaf",
	       "\xc1\xbf", "\xe0\x80\x80", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x80\x80\x80",
	       "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80", "\xff", "\xe2\x82", "\xe2\x82x" })
		CHECK_FALSE(is_text(text));
	CHECK_FALSE(is_text(std::string("a\0b", 3)));
	CHECK(is_text(std::string(255, 'x')));
	CHECK_FALSE(is_text(std::string(256, 'x')));
}

TEST_CASE("PLAIN has two NULs, a name and a password", "[pop3][sasl]")
{
	struct sasl_plain plain;
	CHECK(parse(nul("", "tim", "tanstaaftanstaaf"), &plain) == SASL_FINE); // RFC 4616, part 4
	CHECK(std::string(plain.user) == "tim");
	CHECK(std::string(plain.password) == "tanstaaftanstaaf");
	CHECK(parse(nul("Ursel", "Kurt", "xipj3plmq"), &plain) == SASL_FOREIGN);
	CHECK(parse(nul("tim", "tim", "x"), &plain) == SASL_FINE);
	CHECK(parse(nul("", std::string(255, 'u'), std::string(255, 'p')), &plain) == SASL_FINE);
	CHECK(std::string(plain.user) == std::string(255, 'u'));
	for (const auto &message :
	     { std::string(), std::string("\0", 1), std::string("tim"), std::string("\0tim", 4),
	       nul("", "", "x"), nul("", "tim", ""), nul("", "tim", std::string("a\0b", 3)),
	       nul("", "t\xff", "x"), nul("", "tim", "x\n"), nul("\x01", "tim", "x"),
	       nul("", std::string(256, 'u'), "x"), nul("", "tim", std::string(256, 'p')) })
		CHECK(parse(message, &plain) == SASL_MALFORMED);
}

TEST_CASE("the first message of SCRAM is read as RFC 5802 says", "[pop3][scram]")
{
	struct row {
		std::string message;
		sasl_status status;
		std::string user;
	};
	const row tried = GENERATE(values<row>({
		{ "n,,n=user,r=abc", SASL_FINE, "user" },
		{ "y,,n=user,r=abc", SASL_FINE, "user" },
		{ "n,a=user,n=user,r=abc", SASL_FINE, "user" },
		{ "n,,n=a=2Cb=3Dc,r=abc", SASL_FINE, "a,b=c" },
		{ "n,a=a=2Cb,n=a=2Cb,r=abc", SASL_FINE, "a,b" },
		{ "n,,n=user,r=abc,x=1,Y=2", SASL_FINE, "user" },
		{ "n,a=other,n=user,r=abc", SASL_FOREIGN, "" },
		{ "p=tls-exporter,,n=user,r=abc", SASL_BINDING, "" },
		{ "p,,n=user,r=abc", SASL_MALFORMED, "" },
		{ "", SASL_MALFORMED, "" },
		{ "n", SASL_MALFORMED, "" },
		{ "n,", SASL_MALFORMED, "" },
		{ "n,,", SASL_MALFORMED, "" },
		{ "x,,n=user,r=abc", SASL_MALFORMED, "" },
		{ "n,n=user,r=abc", SASL_MALFORMED, "" },
		{ "n,a=,n=user,r=abc", SASL_MALFORMED, "" },
		{ "n,,n=,r=abc", SASL_MALFORMED, "" },
		{ "n,,n=user", SASL_MALFORMED, "" },
		{ "n,,n=user,r=", SASL_MALFORMED, "" },
		{ "n,,n=user,r=a b", SASL_MALFORMED, "" },
		{ "n,,r=abc,n=user", SASL_MALFORMED, "" },
		{ "n,,m=x,n=user,r=abc", SASL_MALFORMED, "" },
		{ "n,,n=user,r=abc,m=x", SASL_MALFORMED, "" },
		{ "n,,n=user,r=abc,", SASL_MALFORMED, "" },
		{ "n,,n=user,r=abc,x", SASL_MALFORMED, "" },
		{ "n,,n=user,r=abc,x=", SASL_MALFORMED, "" },
		{ "n,,n=user,r=abc,p=x", SASL_MALFORMED, "" },
		{ "n,,n=us=er,r=abc", SASL_MALFORMED, "" },
		{ "n,,n=us=2c,r=abc", SASL_MALFORMED, "" },
		{ "n,,n=us=2,r=abc", SASL_MALFORMED, "" },
		{ "n,,n=us\x01,r=abc", SASL_MALFORMED, "" },
		{ "n,,n=us\xff,r=abc", SASL_MALFORMED, "" },
		{ std::string("n,,n=us\0r,r=abc", 15), SASL_MALFORMED, "" },
		{ "n,,n=user,r=" + std::string(SCRAM_NONCE_MAX, 'r'), SASL_FINE, "user" },
		{ "n,,n=user,r=" + std::string(SCRAM_NONCE_MAX + 1, 'r'), SASL_MALFORMED, "" },
		{ "n,,n=" + std::string(255, 'u') + ",r=x", SASL_FINE, std::string(255, 'u') },
		{ "n,,n=" + std::string(256, 'u') + ",r=x", SASL_MALFORMED, "" },
		{ "n,,n=u,r=x,x=" + std::string(SASL_MESSAGE_MAX, 'x'), SASL_MALFORMED, "" },
	}));
	CAPTURE(tried.message);
	struct scram scram;
	CHECK(first(&scram, tried.message) == tried.status);
	CHECK(scram.state == (tried.status == SASL_FINE ? SCRAM_AT_KEYS : SCRAM_AT_END));
	if (tried.status == SASL_FINE)
		CHECK(std::string(scram.user) == tried.user);
}

TEST_CASE("the longest messages of SCRAM fit", "[pop3][scram]")
{
	std::string name;
	for (int i = 0; i < SASL_TEXT_MAX; i++)
		name += "=2C";
	struct scram scram;
	const std::string nonce(SCRAM_NONCE_MAX, 'n');
	REQUIRE(first(&scram, "n,,n=" + name + ",r=" + nonce) == SASL_FINE);
	struct scram_keys keys = scram_sample();
	keys.salt_size = SCRAM_SALT_MAX;
	keys.iterations = SCRAM_ITERATIONS_MAX;
	char answer[SCRAM_ANSWER_MAX];
	const size_t size = scram_challenge(&scram, &keys, nonce.c_str(), answer);
	CHECK(std::string(answer).substr(0, 2 + 256) == "r=" + nonce + nonce);
	CHECK(std::string(answer).substr(size - 10) == ",i=1000000");
	CHECK(size <= POP3_CHALLENGE_MAX);
}

TEST_CASE("the proof of RFC 7677 is right, and no other is", "[pop3][scram]")
{
	const struct scram_keys keys = scram_sample();
	std::string answer;
	CHECK(finish("c=biws,r=" + NONCE + PROOF, keys, &answer) == SASL_FINE);
	CHECK(answer == "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
	/* One bit of it, in each byte. */
	for (size_t i = 0; i < SCRAM_KEY_SIZE; i++) {
		uint8_t proof[SCRAM_KEY_SIZE];
		char text[BASE64_SIZE(SCRAM_KEY_SIZE) + 1];
		size_t size = 0;
		REQUIRE(base64_decode(PROOF.data() + 3, PROOF.size() - 3, sizeof(proof), proof,
				      &size));
		proof[i] ^= static_cast<uint8_t>(1U << i % 8);
		base64_encode(proof, sizeof(proof), text);
		CHECK(finish("c=biws,r=" + NONCE + ",p=" + text, keys, &answer) == SASL_WRONG);
	}
	CHECK(finish("c=biws,r=" + NONCE + ",x=1" + PROOF, keys, &answer) == SASL_WRONG);
	CHECK(finish("c=eSws,r=" + NONCE + PROOF, keys, &answer,
		     "y,,n=user,r=rOprNGfwEbeRWgbNEkqO") == SASL_WRONG);
	struct scram_keys mock = keys;
	mock.is_mock = true;
	CHECK(finish("c=biws,r=" + NONCE + PROOF, mock, &answer) == SASL_WRONG);
	for (const std::string &message :
	     { std::string(), std::string("c=biws"), "c=biws,r=" + NONCE,
	       "c=biws,r=" + NONCE + ",p=", "c=biws,r=" + NONCE + ",p=AAAA",
	       "c=eSws,r=" + NONCE + PROOF, "c=,r=" + NONCE + PROOF, "c=biws,r=x" + PROOF,
	       "c=biws,r=" + NONCE + "x" + PROOF, "r=" + NONCE + ",c=biws" + PROOF,
	       "c=biws,r=" + NONCE + PROOF + ",x=1", "c=biws,r=" + NONCE + ",m=1" + PROOF,
	       "c=biws,r=" + NONCE + PROOF + PROOF, "x,c=biws,r=" + NONCE + PROOF })
		CHECK(finish(message, keys, &answer) == SASL_MALFORMED);
}

TEST_CASE("keys prove a password without an exchange", "[pop3][scram]")
{
	struct scram_keys keys = scram_sample();
	CHECK(scram_is_password(&keys, "pencil") == SASL_FINE);
	CHECK(scram_is_password(&keys, "pencils") == SASL_WRONG);
	CHECK(scram_is_password(&keys, "") == SASL_WRONG);
	keys.is_mock = true;
	CHECK(scram_is_password(&keys, "pencil") == SASL_WRONG);
}

TEST_CASE("the salt of a user that does not exist is always the same, and its own", "[pop3][scram]")
{
	const uint8_t secret[3] = { 1, 2, 3 };
	struct scram_keys one, again, other;
	REQUIRE(scram_mock(secret, sizeof(secret), "a", 4096, &one));
	REQUIRE(scram_mock(secret, sizeof(secret), "a", 4096, &again));
	REQUIRE(scram_mock(secret, sizeof(secret), "b", 4096, &other));
	CHECK(one.salt_size == SCRAM_MOCK_SALT_SIZE);
	CHECK(one.is_mock);
	CHECK(std::memcmp(one.salt, again.salt, one.salt_size) == 0);
	CHECK(std::memcmp(one.salt, other.salt, one.salt_size) != 0);
	REQUIRE(scram_mock(secret, 2, "a", 4096, &again));
	CHECK(std::memcmp(one.salt, again.salt, one.salt_size) != 0);
}
