// SPDX-License-Identifier: GPL-3.0-or-later
// The server's side of TLS, against OpenSSL's client.
#include "integration/mail/base/tls/remotekey.h"
#include "integration/mail/base/tls/signing.h"
#include "lib/process/sanitized.h"
#include "tests/unit/mail-base/tls_fixture.hh"

#include <catch2/catch.hpp>

#include <sys/resource.h>

#include <cerrno>
#include <csignal>
#include <fstream>

namespace
{

using namespace front;

const files &ec_files()
{
	static files made;
	if (made.paths.empty())
		made.add(make_key("EC"), "mx.example");
	return made;
}

// A session, its client, and the socket between them.
class pair_of
{
      public:
	pair_of(front::tls_edge &edge, const client_options &options = {}) : peer(ends[1], options)
	{
		REQUIRE(tls_new(edge.context, ends[0], &server) == 0);
	}
	~pair_of()
	{
		tls_free(server);
	}
	pair_of(const pair_of &) = delete;
	pair_of &operator=(const pair_of &) = delete;

	int shake()
	{
		return shake_hands(server, peer);
	}
	struct tls_facts facts() const
	{
		struct tls_facts made;
		::tls_facts(server, &made);
		return made;
	}
	std::string reason(int status) const
	{
		return tls_reason(server, status);
	}

	sockets ends;
	client peer;
	tls *server = nullptr;
};

int shake(front::tls_edge &edge, const client_options &options = {})
{
	return pair_of(edge, options).shake();
}

std::string read_text(tls *server)
{
	char text[100];
	const ssize_t size = tls_read(server, text, sizeof(text));
	return size < 0 ? std::to_string(size) : std::string(text, static_cast<size_t>(size));
}

} // namespace

// ---- handshakes ----

TEST_CASE("RSA and ECDSA, TLS 1.2 and 1.3: bytes go both ways", "[front][tls]")
{
	const auto key =
		GENERATE(as<pkey_ptr>(), rsa_key(), make_key("EC"), make_key("EC", 0, "secp384r1"));
	const int version = GENERATE(TLS1_2_VERSION, TLS1_3_VERSION);
	files made;
	made.add(key, "mx.example");
	front::tls_edge edge(made);
	client_options options;
	options.version = version;
	pair_of both(edge, options);
	REQUIRE(both.shake() == 0);
	CHECK(both.facts().protocol ==
	      std::string(version == TLS1_2_VERSION ? "TLSv1.2" : "TLSv1.3"));
	CHECK(std::string(both.facts().cipher) == SSL_get_cipher_name(both.peer.ssl));
	CHECK(std::string(both.facts().sni).empty());
	CHECK(both.peer.key_kind() == EVP_PKEY_get_base_id(key.get()));

	char text[100];
	CHECK(tls_read(both.server, text, sizeof(text)) == TLS_WANT_READ);
	CHECK(SSL_write(both.peer.ssl, "EHLO x\r\n", 8) == 8);
	CHECK(read_text(both.server) == "EHLO x\r\n");
	CHECK(tls_write(both.server, "250 y\r\n", 7) == 7);
	CHECK(SSL_read(both.peer.ssl, text, sizeof(text)) == 7);
	CHECK(edge.failed_signatures() == 0);
}

TEST_CASE("each signature that TLS 1.2 has for RSA is made", "[front][tls]")
{
	files made;
	made.add(rsa_key(), "mx.example");
	front::tls_edge edge(made);
	client_options options;
	options.version = TLS1_2_VERSION;
	options.sigalgs = GENERATE(as<std::string>(), "RSA+SHA256", "RSA+SHA384", "RSA+SHA512",
				   "RSA-PSS+SHA256", "RSA-PSS+SHA384", "RSA-PSS+SHA512");
	CAPTURE(options.sigalgs);
	CHECK(shake(edge, options) == 0);
}

TEST_CASE("the name that the client says picks the certificate", "[front][tls]")
{
	files made;
	made.add(rsa_key(), "mx.example");
	made.add(make_key("EC"), "other.example");
	made.add(make_key("EC"), "*.wild.example");
	front::tls_edge edge(made);
	const auto [name, certificate] =
		GENERATE(table<std::string, std::string>({ { "", "mx.example" },
							   { "mx.example", "mx.example" },
							   { "Other.Example", "other.example" },
							   { "a.wild.example", "*.wild.example" },
							   { "a.b.wild.example", "mx.example" },
							   { "unknown.example", "mx.example" } }));
	client_options options;
	options.name = name;
	options.version = GENERATE(TLS1_2_VERSION, TLS1_3_VERSION);
	pair_of both(edge, options);
	REQUIRE(both.shake() == 0);
	CHECK(both.peer.certificate_name() == certificate);
	CHECK(std::string(both.facts().sni) == name);
}

TEST_CASE("between two certificates for one name the client's signature algorithms decide",
	  "[front][tls]")
{
	files made;
	made.add(rsa_key(), "mx.example");
	made.add(make_key("EC"), "mx.example");
	front::tls_edge edge(made);
	client_options options;
	options.version = GENERATE(TLS1_2_VERSION, TLS1_3_VERSION);
	options.sigalgs = GENERATE("RSA-PSS+SHA256", "ECDSA+SHA256");
	pair_of both(edge, options);
	REQUIRE(both.shake() == 0);
	CHECK(both.peer.key_kind() == (options.sigalgs[0] == 'R' ? EVP_PKEY_RSA : EVP_PKEY_EC));
}

TEST_CASE("a name with other letters than names have is not passed on", "[front][tls]")
{
	front::tls_edge edge(ec_files());
	client_options options;
	options.name = "a\"b\r\n.example";
	pair_of both(edge, options);
	REQUIRE(both.shake() == 0);
	CHECK(std::string(both.facts().sni).empty());
}

TEST_CASE("old versions and key exchanges of TLS are refused, with the reason", "[front][tls]")
{
	front::tls_edge edge(ec_files());
	client_options options;
	SECTION("TLS 1.1")
	{
		options.version = TLS1_1_VERSION;
		options.ciphers = "ALL:@SECLEVEL=0";
		pair_of both(edge, options);
		CHECK(both.shake() == TLS_EPEER);
		CHECK(both.reason(TLS_EPEER) == "unsupported protocol");
	}
	SECTION("no fresh key of the session")
	{
		options.version = TLS1_2_VERSION;
		options.ciphers = "AES128-GCM-SHA256";
		pair_of both(edge, options);
		CHECK(both.shake() == TLS_EPEER);
		CHECK(both.reason(TLS_EPEER) == "no shared cipher");
	}
}

TEST_CASE("a client whose first key is of another curve says hello twice", "[front][tls]")
{
	front::tls_edge edge(ec_files());
	client_options options;
	options.version = TLS1_3_VERSION;
	options.groups = "P-521:P-256";
	CHECK(shake(edge, options) == 0);
	options.groups = "P-521";
	CHECK(shake(edge, options) == TLS_EPEER);
}

TEST_CASE("no session is resumed", "[front][tls]")
{
	front::tls_edge edge(ec_files());
	client_options options;
	options.version = GENERATE(TLS1_2_VERSION, TLS1_3_VERSION);
	SSL_SESSION *session = nullptr;
	{
		pair_of first(edge, options);
		char byte;
		REQUIRE(first.shake() == 0);
		REQUIRE(tls_write(first.server, "x", 1) == 1);
		REQUIRE(SSL_read(first.peer.ssl, &byte, 1) == 1);
		session = SSL_get1_session(first.peer.ssl);
		CHECK(SSL_SESSION_has_ticket(session) == 0);
	}
	pair_of second(edge, options);
	SSL_set_session(second.peer.ssl, session);
	SSL_SESSION_free(session);
	REQUIRE(second.shake() == 0);
	CHECK(SSL_session_reused(second.peer.ssl) == 0);
}

TEST_CASE("a client that wants to begin again in the session is refused", "[front][tls]")
{
	front::tls_edge edge(ec_files());
	client_options options;
	options.version = TLS1_2_VERSION;
	pair_of both(edge, options);
	REQUIRE(both.shake() == 0);
	REQUIRE(SSL_renegotiate(both.peer.ssl) == 1);
	SSL_do_handshake(both.peer.ssl);
	read_text(both.server);
	CHECK(SSL_do_handshake(both.peer.ssl) != 1);
	CHECK(ERR_GET_REASON(ERR_peek_error()) == SSL_R_NO_RENEGOTIATION);
}

TEST_CASE("what is no TLS is refused", "[front][tls]")
{
	front::tls_edge edge(ec_files());
	sockets ends;
	struct tls *server = nullptr;
	REQUIRE(tls_new(edge.context, ends[0], &server) == 0);
	const std::string text = "EHLO client.example\r\n";
	REQUIRE(write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()));
	CHECK(tls_handshake(server) == TLS_EPEER);
	CHECK(std::string(tls_reason(server, TLS_EPEER)) == "wrong version number");
	// It stays so.
	CHECK(tls_handshake(server) == TLS_EPEER);
	char byte;
	CHECK(tls_read(server, &byte, 1) == TLS_EPEER);
	CHECK(tls_write(server, "x", 1) == TLS_EPEER);
	CHECK(tls_close(server) == TLS_EPEER);
	tls_free(server);
}

TEST_CASE("a client that claims a large hello gets no memory for it", "[front][tls]")
{
	front::tls_edge edge(ec_files());
	sockets ends;
	struct tls *server = nullptr;
	REQUIRE(tls_new(edge.context, ends[0], &server) == 0);
	const char claim[] = "\x16\3\1\0\x8\1\1\xff\0\3\3xx";
	REQUIRE(write(ends[1], claim, 13) == 13);
	CHECK(tls_handshake(server) == TLS_EPEER);
	CHECK(std::string(tls_reason(server, TLS_EPEER)) == "message too large");
	tls_free(server);
}

// ---- clients that go, or change their mind ----

namespace
{

// A client whose bytes pass through here on their way to the server.
class through
{
      public:
	through(front::tls_edge &edge, const client_options &options) : peer(outer[1], options)
	{
		REQUIRE(tls_new(edge.context, inner[0], &server) == 0);
	}
	~through()
	{
		tls_free(server);
	}
	through(const through &) = delete;
	through &operator=(const through &) = delete;

	// At most count bytes of the client in all, one of them changed. Returns the server's
	// status.
	int shake(size_t count, size_t flipped = SIZE_MAX)
	{
		int status = TLS_WANT_READ;
		for (int turn = 0; turn < 20 && status == TLS_WANT_READ; turn++) {
			peer.step();
			move(outer[0], inner[1], count, flipped);
			status = tls_handshake(server);
			size_t ignored = 0;
			move(inner[1], outer[0], SIZE_MAX, SIZE_MAX, &ignored);
		}
		return status;
	}

	sockets outer; // 1: the client
	sockets inner; // 0: the server
	client peer;
	tls *server = nullptr;
	size_t moved = 0;

      private:
	void move(int from, int to, size_t count, size_t flipped, size_t *ret_moved = nullptr)
	{
		char bytes[20000];
		size_t *total = ret_moved != nullptr ? ret_moved : &moved;
		const ssize_t size = read(from, bytes, std::min(sizeof(bytes), count - *total));
		if (size <= 0)
			return;
		if (flipped >= *total && flipped < *total + static_cast<size_t>(size))
			bytes[flipped - *total] ^= 0x55;
		REQUIRE(write(to, bytes, static_cast<size_t>(size)) == size);
		*total += static_cast<size_t>(size);
	}
};

} // namespace

TEST_CASE("a client may go after each byte of the handshake", "[front][tls]")
{
	front::tls_edge edge(ec_files());
	client_options options;
	options.version = GENERATE(TLS1_2_VERSION, TLS1_3_VERSION);
	options.name = "mx.example";
	size_t all = 0;
	{
		through whole(edge, options);
		REQUIRE(whole.shake(SIZE_MAX) == 0);
		all = whole.moved;
	}
	REQUIRE(all > 200);
	for (size_t count = 0; count < all; count++) {
		through cut(edge, options);
		CAPTURE(count);
		REQUIRE(cut.shake(count) == TLS_WANT_READ);
		REQUIRE(cut.moved == count);
		cut.inner.close_end(1);
		const int status = tls_handshake(cut.server);
		REQUIRE((status == TLS_ECUT || status == -EPIPE || status == -ECONNRESET));
		REQUIRE(tls_handshake(cut.server) == status);
	}
}

TEST_CASE("a byte of the handshake that is another ends it, or makes no difference", "[front][tls]")
{
	front::tls_edge edge(ec_files());
	client_options options;
	options.version = GENERATE(TLS1_2_VERSION, TLS1_3_VERSION);
	options.name = "mx.example";
	through whole(edge, options);
	REQUIRE(whole.shake(SIZE_MAX) == 0);
	for (size_t at = 0; at < whole.moved; at++) {
		through changed(edge, options);
		const int status = changed.shake(SIZE_MAX, at);
		CAPTURE(at, status);
		REQUIRE((status == 0 || status == TLS_EPEER || status == TLS_WANT_READ ||
			 status == TLS_ECRYPT));
	}
}

TEST_CASE("bytes of the handshake may come one by one", "[front][tls]")
{
	front::tls_edge edge(ec_files());
	client_options options;
	options.version = GENERATE(TLS1_2_VERSION, TLS1_3_VERSION);
	through slow(edge, options);
	int status = TLS_WANT_READ;
	size_t count = 1;
	for (; status == TLS_WANT_READ && count < 5000; count++)
		status = slow.shake(count);
	CHECK(status == 0);
	CHECK(slow.moved == count - 1);
}

TEST_CASE("the end of the client's words is told from a cut", "[front][tls]")
{
	front::tls_edge edge(ec_files());
	client_options options;
	options.version = GENERATE(TLS1_2_VERSION, TLS1_3_VERSION);
	pair_of both(edge, options);
	char text[100];
	REQUIRE(both.shake() == 0);
	REQUIRE(SSL_write(both.peer.ssl, "QUIT\r\n", 6) == 6);
	SECTION("said")
	{
		SSL_shutdown(both.peer.ssl);
		CHECK(read_text(both.server) == "QUIT\r\n");
		CHECK(tls_read(both.server, text, sizeof(text)) == TLS_CLOSED);
		CHECK(tls_read(both.server, text, sizeof(text)) == TLS_CLOSED);
		// He may still listen.
		CHECK(tls_write(both.server, "221\r\n", 5) == 5);
		CHECK(SSL_read(both.peer.ssl, text, sizeof(text)) == 5);
	}
	SECTION("cut")
	{
		both.ends.close_end(1);
		CHECK(read_text(both.server) == "QUIT\r\n");
		CHECK(tls_read(both.server, text, sizeof(text)) == TLS_ECUT);
		CHECK(both.reason(TLS_ECUT) == "the connection was cut");
	}
	SECTION("gone when something is said to him")
	{
		both.ends.close_end(1);
		CHECK(tls_write(both.server, "221\r\n", 5) == -EPIPE);
	}
}

TEST_CASE("close_notify is sent once", "[front][tls]")
{
	front::tls_edge edge(ec_files());
	pair_of both(edge);
	char byte;
	REQUIRE(both.shake() == 0);
	CHECK(tls_close(both.server) == 0);
	CHECK(SSL_read(both.peer.ssl, &byte, 1) == 0);
	CHECK(SSL_get_error(both.peer.ssl, 0) == SSL_ERROR_ZERO_RETURN);
	// Nor does it read then, which would wait for the client.
	CHECK(tls_close(both.server) == 0);
}

TEST_CASE("close_notify is sent to a client that has sent its own", "[front][tls]")
{
	front::tls_edge edge(ec_files());
	pair_of both(edge);
	char byte;
	REQUIRE(both.shake() == 0);
	CHECK(SSL_shutdown(both.peer.ssl) == 0);
	CHECK(tls_read(both.server, &byte, 1) == TLS_CLOSED);
	CHECK(tls_close(both.server) == 0);
	CHECK(SSL_shutdown(both.peer.ssl) == 1);
}

TEST_CASE("close_notify is not sent amid a handshake", "[front][tls]")
{
	front::tls_edge edge(ec_files());
	pair_of both(edge);
	CHECK(tls_close(both.server) == 0);
	CHECK(both.shake() == 0);
}

TEST_CASE("what is decrypted and not taken is known", "[front][tls]")
{
	front::tls_edge edge(ec_files());
	pair_of both(edge);
	char text[4];
	REQUIRE(both.shake() == 0);
	REQUIRE(SSL_write(both.peer.ssl, "EHLO x\r\n", 8) == 8);
	CHECK_FALSE(tls_has_pending(both.server));
	CHECK(tls_read(both.server, text, sizeof(text)) == 4);
	CHECK(tls_has_pending(both.server));
	CHECK(tls_read(both.server, text, sizeof(text)) == 4);
	CHECK_FALSE(tls_has_pending(both.server));
}

TEST_CASE("a client that does not read makes the server wait", "[front][tls]")
{
	front::tls_edge edge(ec_files());
	pair_of both(edge);
	const std::string text(4096, 'x');
	REQUIRE(both.shake() == 0);
	size_t sent = 0;
	ssize_t count;
	while ((count = tls_write(both.server, text.data(), text.size())) > 0)
		sent += static_cast<size_t>(count);
	CHECK(count == TLS_WANT_WRITE);
	std::vector<char> taken(sent);
	size_t at = 0;
	while (at < sent && (count = SSL_read(both.peer.ssl, taken.data() + at,
					      static_cast<int>(sent - at))) > 0)
		at += static_cast<size_t>(count);
	CHECK(tls_write(both.server, text.data(), text.size()) > 0);
}

// ---- keyholders ----

TEST_CASE("without a keyholder a handshake fails, with a new one the next does not", "[front][tls]")
{
	front::tls_edge edge(ec_files());
	CHECK(shake(edge) == 0);
	edge.kill_keyholder();
	pair_of late(edge);
	CHECK(late.shake() == TLS_EKEY);
	CHECK(late.reason(TLS_EKEY) == "the keyholder does not answer");
	// The next wait is short, and what was asked in vain waits in the socket.
	CHECK(shake(edge) == TLS_EKEY);
	edge.start_keyholder();
	int status = TLS_EKEY;
	for (int i = 0; i < 100 && status == TLS_EKEY; i++)
		status = shake(edge);
	CHECK(status == 0);
	CHECK(shake(edge) == 0);
	CHECK(edge.failed_signatures() >= 2);
}

TEST_CASE("a session that is begun does not need the keyholder", "[front][tls]")
{
	front::tls_edge edge(ec_files());
	pair_of both(edge);
	REQUIRE(both.shake() == 0);
	edge.kill_keyholder();
	REQUIRE(SSL_write(both.peer.ssl, "x", 1) == 1);
	CHECK(read_text(both.server) == "x");
}

TEST_CASE("a socket without another end fails at once", "[front][tls]")
{
	front::tls_edge edge(ec_files(), false);
	edge.asking.close_end(1);
	pair_of both(edge);
	CHECK(both.shake() == TLS_EKEY);
	CHECK(both.reason(TLS_EKEY) == "the keyholder's socket is closed");
}

TEST_CASE("a keyholder with other keys does not sign", "[front][tls]")
{
	front::tls_edge edge(ec_files(), false);
	files others;
	others.add(make_key("EC"), "mx.example");
	const chains read(others);
	child other([&] { return run_keyholder(read.get(), edge.asking[1]); });
	pair_of both(edge);
	CHECK(both.shake() == TLS_EKEY);
	CHECK(both.reason(TLS_EKEY) == "the keyholder has no key for this certificate");
}

namespace
{

using answer_fn = std::function<std::vector<uint8_t>(const signing_request &)>;

std::vector<uint8_t> answer_with(uint64_t number, signing_result result,
				 const std::vector<uint8_t> &signature)
{
	const signing_answer answer = { number, result, signature.data(), signature.size() };
	uint8_t bytes[SIGNING_ANSWER_MAX];
	const size_t size = signing_encode_answer(&answer, bytes);
	return { bytes, bytes + size };
}

// Says what lie returns, until it is killed.
child liar(int fd, const answer_fn &lie)
{
	return child([fd, lie] {
		uint8_t bytes[SIGNING_REQUEST_MAX];
		for (;;) {
			pollfd place = { fd, POLLIN, 0 };
			poll(&place, 1, -1);
			const ssize_t size = recv(fd, bytes, sizeof(bytes), 0);
			signing_request request;
			if (size <= 0 ||
			    signing_decode_request(bytes, static_cast<size_t>(size), &request) != 0)
				return 1;
			const auto answer = lie(request);
			send(fd, answer.data(), answer.size(), 0);
		}
	});
}

// How the handshake ends for the server, and why.
std::string shake_with(const files &made, const answer_fn &lie)
{
	front::tls_edge edge(made, false);
	const child other = liar(edge.asking[1], lie);
	pair_of both(edge);
	const int status = both.shake();
	return (status == TLS_EKEY ? "" : std::to_string(status) + " ") + both.reason(status);
}

} // namespace

TEST_CASE("a keyholder that lies does not get far", "[front][tls]")
{
	files rsa;
	rsa.add(rsa_key(), "mx.example");
	using request = const signing_request &;
	using answer = std::vector<uint8_t>;
	SECTION("another size")
	{
		CHECK(shake_with(rsa, [](request asked) {
			      return answer_with(asked.number, SIGNING_SIGNED, answer(255, 1));
		      }) == "the keyholder's signature has another size than the key");
	}
	SECTION("no signature of ECDSA")
	{
		CHECK(shake_with(ec_files(), [](request asked) {
			      return answer_with(asked.number, SIGNING_SIGNED, answer(70, 1));
		      }) == "the keyholder's signature is none of ECDSA");
	}
	SECTION("a short message")
	{
		CHECK(shake_with(rsa, [](request) { return answer(15, 1); }) ==
		      "the keyholder's answer is none");
	}
	SECTION("a long message")
	{
		CHECK(shake_with(rsa, [](request) { return answer(5000, 1); }) ==
		      "the keyholder's answer is none");
	}
	SECTION("no")
	{
		CHECK(shake_with(rsa, [](request asked) {
			      return answer_with(asked.number, SIGNING_REFUSED, {});
		      }) == "the keyholder does not sign such a thing");
	}
	SECTION("the answer to another request")
	{
		CHECK(shake_with(rsa, [](request asked) {
			      return answer_with(asked.number - 1, SIGNING_SIGNED, answer(256, 1));
		      }) == "the keyholder does not answer");
	}
}

TEST_CASE("a keyholder that stands still for a while is waited for", "[front][tls]")
{
	front::tls_edge edge(ec_files(), false);
	SECTION("of which nothing is known")
	{
		edge.start_keyholder(false, 1500);
		CHECK(shake(edge) == 0);
	}
	SECTION("that has been waited for in vain, and has answered since")
	{
		CHECK(shake(edge) == TLS_EKEY);
		const auto answer = answer_with(0, SIGNING_FAILED, {});
		REQUIRE(send(edge.asking[1], answer.data(), answer.size(), 0) > 0);
		edge.start_keyholder(false, 500);
		CHECK(shake(edge) == 0);
	}
}

TEST_CASE("a wrong signature makes the client end the handshake", "[front][tls]")
{
	files rsa;
	rsa.add(rsa_key(), "mx.example");
	front::tls_edge edge(rsa, false);
	const child other = liar(edge.asking[1], [](const signing_request &asked) {
		return answer_with(asked.number, SIGNING_SIGNED, std::vector<uint8_t>(256, 1));
	});
	client_options options;
	options.version = TLS1_3_VERSION;
	pair_of both(edge, options);
	int status = TLS_WANT_READ;
	SSL_set_verify(both.peer.ssl, SSL_VERIFY_NONE, nullptr);
	for (int i = 0; i < 10 && status == TLS_WANT_READ; i++) {
		both.peer.step();
		status = tls_handshake(both.server);
	}
	CHECK(status == TLS_EPEER);
	CHECK_FALSE(SSL_is_init_finished(both.peer.ssl));
}

// ---- memory ----

#if !IS_SANITIZED
namespace
{

size_t resident_bytes()
{
	size_t ignored, pages = 0;
	std::ifstream("/proc/self/statm") >> ignored >> pages;
	return pages * 4096;
}

// In a process that has nothing of the clients. Returns KiB for each session.
int hold_sessions(front::tls_edge &edge, const std::vector<int> &fds)
{
	const size_t before = resident_bytes();
	for (const int fd : fds) {
		struct tls *server = nullptr;
		int status = tls_new(edge.context, fd, &server);
		char byte;
		while (status == 0 && (status = tls_handshake(server)) == TLS_WANT_READ) {
			pollfd place = { fd, POLLIN, 0 };
			poll(&place, 1, -1);
			status = 0;
		}
		while (status == 0 && (tls_read(server, &byte, 1)) == TLS_WANT_READ) {
			pollfd place = { fd, POLLIN, 0 };
			poll(&place, 1, -1);
		}
		if (status != 0 || byte != 'x' || tls_write(server, "y", 1) != 1)
			return 255;
	}
	return static_cast<int>((resident_bytes() - before) / fds.size() / 1024);
}

} // namespace

TEST_CASE("a session that waits has at most 48 KiB", "[front][tls]")
{
	const size_t count = getenv("FRONT_TLS_SESSIONS") != nullptr
				     ? std::stoul(getenv("FRONT_TLS_SESSIONS"))
				     : 200;
	rlimit files_limit;
	getrlimit(RLIMIT_NOFILE, &files_limit);
	files_limit.rlim_cur = files_limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files_limit);
	files made;
	made.add(rsa_key(), "mx.example");
	front::tls_edge edge(made);
	client_options options;
	options.version = GENERATE(TLS1_2_VERSION, TLS1_3_VERSION);
	std::vector<std::unique_ptr<sockets>> pairs;
	std::vector<int> fds;
	for (size_t i = 0; i < count; i++) {
		pairs.push_back(std::make_unique<sockets>());
		fds.push_back((*pairs.back())[0]);
	}
	child server([&] { return hold_sessions(edge, fds); });
	for (const auto &ends : pairs) {
		client peer((*ends)[1], options);
		int status = 1;
		char byte = 0;
		while ((status = peer.step()) == 1) {
			pollfd place = { (*ends)[1], POLLIN, 0 };
			poll(&place, 1, 10000);
		}
		REQUIRE(status == 0);
		REQUIRE(SSL_write(peer.ssl, "x", 1) == 1);
		while (SSL_read(peer.ssl, &byte, 1) != 1) {
			pollfd place = { (*ends)[1], POLLIN, 0 };
			REQUIRE(poll(&place, 1, 10000) == 1);
		}
		REQUIRE(byte == 'y');
		SSL_set_quiet_shutdown(peer.ssl, 1);
	}
	const int kib = server.wait();
	if (getenv("FRONT_TLS_SESSIONS") != nullptr)
		WARN(count << " sessions of TLS, KiB each: " << kib);
	CHECK(kib <= 48);
}
#endif
