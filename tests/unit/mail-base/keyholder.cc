// SPDX-License-Identifier: GPL-3.0-or-later
// What the keyholder signs, and what it does not.
#define OPENSSL_API_COMPAT 0x10100000L // blocks of PSS, and RSA without padding
#include "integration/mail/base/tls/signing.h"
#include "tests/unit/mail-base/tls_fixture.hh"

#include <catch2/catch.hpp>

#include <openssl/rsa.h>

#include <csignal>

namespace
{

using namespace front;
using bytes = std::vector<uint8_t>;

const bytes SHA256_INFO = { 0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01,
			    0x65, 0x03, 0x04, 0x02, 0x01, 0x05, 0x00, 0x04, 0x20 };

bytes operator+(bytes one, const bytes &other)
{
	one.insert(one.end(), other.begin(), other.end());
	return one;
}

bytes request_of(const bytes &fingerprint, signing_operation operation, const bytes &input)
{
	uint8_t made[SIGNING_REQUEST_MAX];
	signing_request request = {};
	request.number = 77;
	request.operation = operation;
	std::copy(fingerprint.begin(), fingerprint.end(), request.fingerprint);
	request.input = input.data();
	request.input_size = input.size();
	const size_t size = signing_encode_request(&request, made);
	return { made, made + size };
}

// One key, and a holder of it in this process.
class holder
{
      public:
	explicit holder(const pkey_ptr &key) : key(key), fingerprint(KEYS_FINGERPRINT_SIZE)
	{
		files made;
		made.add(key, "mx.example");
		const chains read(made);
		keys_error error;
		REQUIRE(keyholder_new(read.get(), &keyholder_, &error) == 0);
		REQUIRE(keys_fingerprint(make_certificate(key, "mx.example").get(),
					 fingerprint.data()) == 0);
	}
	~holder()
	{
		keyholder_free(keyholder_);
	}
	holder(const holder &) = delete;
	holder &operator=(const holder &) = delete;

	bytes answer(const bytes &request)
	{
		uint8_t made[SIGNING_ANSWER_MAX];
		const size_t size =
			keyholder_answer(keyholder_, request.data(), request.size(), made);
		return { made, made + size };
	}
	// *ret_signature is written when it is signed.
	signing_result sign(signing_operation operation, const bytes &input,
			    bytes *ret_signature = nullptr)
	{
		signing_answer read;
		const bytes made = answer(request_of(fingerprint, operation, input));
		REQUIRE(signing_decode_answer(made.data(), made.size(), &read) == 0);
		REQUIRE(read.number == 77);
		if (ret_signature != nullptr && read.result == SIGNING_SIGNED)
			*ret_signature = { read.signature, read.signature + read.signature_size };
		return read.result;
	}

	pkey_ptr key;
	bytes fingerprint;

      private:
	keyholder *keyholder_ = nullptr;
};

// As OpenSSL sees it. padding of RSA, or 0.
bool is_good(const holder &of, const EVP_MD *md, const bytes &digest, const bytes &signature,
	     int padding)
{
	EVP_PKEY_CTX *context = EVP_PKEY_CTX_new(of.key.get(), nullptr);
	bool is_done = EVP_PKEY_verify_init(context) == 1 &&
		       (padding == 0 || EVP_PKEY_CTX_set_rsa_padding(context, padding) == 1) &&
		       EVP_PKEY_CTX_set_signature_md(context, md) == 1 &&
		       EVP_PKEY_verify(context, signature.data(), signature.size(), digest.data(),
				       digest.size()) == 1;
	EVP_PKEY_CTX_free(context);
	return is_done;
}

// A block of PSS, made as an edge makes it: by "signing" with a key whose private half is 1.
bytes pss_block(const holder &of, const EVP_MD *md, const bytes &digest, int salt_size)
{
	RSA *rsa = EVP_PKEY_get1_RSA(of.key.get());
	bytes block(static_cast<size_t>(RSA_size(rsa)));
	REQUIRE(RSA_padding_add_PKCS1_PSS(rsa, block.data(), digest.data(), md, salt_size) == 1);
	RSA_free(rsa);
	return block;
}

holder &rsa_holder()
{
	static holder made(rsa_key());
	return made;
}

} // namespace

TEST_CASE("a digest with its name is signed by RSA", "[front][keyholder]")
{
	const bytes digest(32, 0x42);
	bytes signature;
	REQUIRE(rsa_holder().sign(SIGNING_RSA_PKCS1, SHA256_INFO + digest, &signature) ==
		SIGNING_SIGNED);
	CHECK(is_good(rsa_holder(), EVP_sha256(), digest, signature, RSA_PKCS1_PADDING));
}

TEST_CASE("a block of PSS is signed by RSA", "[front][keyholder]")
{
	const auto md = GENERATE(EVP_sha256(), EVP_sha384(), EVP_sha512());
	const bytes digest(static_cast<size_t>(EVP_MD_get_size(md)), 0x42);
	bytes signature;
	// It is random: a mistake about its highest bits shows in one of some.
	for (int i = 0; i < 20; i++) {
		REQUIRE(rsa_holder().sign(SIGNING_RSA_PSS,
					  pss_block(rsa_holder(), md, digest, EVP_MD_get_size(md)),
					  &signature) == SIGNING_SIGNED);
		REQUIRE(is_good(rsa_holder(), md, digest, signature, RSA_PKCS1_PSS_PADDING));
	}
}

TEST_CASE("a digest is signed by ECDSA", "[front][keyholder]")
{
	const auto curve = GENERATE("prime256v1", "secp384r1", "secp521r1");
	holder made(make_key("EC", 0, curve));
	const bytes digest(48, 0x42);
	bytes signature;
	REQUIRE(made.sign(SIGNING_ECDSA, digest, &signature) == SIGNING_SIGNED);
	CHECK(is_good(made, EVP_sha384(), digest, signature, 0));
}

TEST_CASE("a block with wrong PSS padding is not signed", "[front][keyholder]")
{
	const bytes digest(32, 0x42);
	const bytes good = pss_block(rsa_holder(), EVP_sha256(), digest, 32);
	const size_t at = GENERATE(size_t{ 0 }, size_t{ 1 }, size_t{ 100 }, size_t{ 190 },
				   size_t{ 230 }, size_t{ 255 });
	CAPTURE(at);
	bytes changed = good;
	changed[at] ^= at == 0 ? 0x80 : 1;
	CHECK(rsa_holder().sign(SIGNING_RSA_PSS, changed) == SIGNING_REFUSED);
}

TEST_CASE("the keyholder decrypts no ciphertext", "[front][keyholder]")
{
	const int padding = GENERATE(RSA_PKCS1_PADDING, RSA_PKCS1_OAEP_PADDING);
	RSA *rsa = EVP_PKEY_get1_RSA(rsa_holder().key.get());
	const uint8_t secret[48] = { 3, 3 };
	bytes cipher(static_cast<size_t>(RSA_size(rsa)));
	REQUIRE(RSA_public_encrypt(sizeof(secret), secret, cipher.data(), rsa, padding) ==
		RSA_size(rsa));
	RSA_free(rsa);
	CHECK(rsa_holder().sign(SIGNING_RSA_PSS, cipher) == SIGNING_REFUSED);
	CHECK(rsa_holder().sign(SIGNING_RSA_PKCS1, cipher) == SIGNING_REFUSED);
	CHECK(rsa_holder().sign(SIGNING_ECDSA, cipher) == SIGNING_REFUSED);
}

TEST_CASE("PSS with another salt than TLS has is refused", "[front][keyholder]")
{
	const int salt_size = GENERATE(0, 20, 64);
	const bytes block = pss_block(rsa_holder(), EVP_sha256(), bytes(32, 1), salt_size);
	CHECK(rsa_holder().sign(SIGNING_RSA_PSS, block) == SIGNING_REFUSED);
}

TEST_CASE("what is too short or too long to be it is refused", "[front][keyholder]")
{
	const size_t size =
		GENERATE(size_t{ 1 }, size_t{ 20 }, size_t{ 31 }, size_t{ 33 }, size_t{ 50 },
			 size_t{ 52 }, size_t{ 255 }, size_t{ 257 }, size_t{ 512 });
	CAPTURE(size);
	bytes input = SHA256_INFO + bytes(size, 0xbc);
	input.resize(size);
	CHECK(rsa_holder().sign(SIGNING_RSA_PKCS1, input) == SIGNING_REFUSED);
	CHECK(rsa_holder().sign(SIGNING_RSA_PSS, input) == SIGNING_REFUSED);
	static holder ec(make_key("EC"));
	CHECK(ec.sign(SIGNING_ECDSA, input) == SIGNING_REFUSED);
}

TEST_CASE("an operation of another kind of key is refused", "[front][keyholder]")
{
	holder ec(make_key("EC"));
	CHECK(ec.sign(SIGNING_RSA_PKCS1, SHA256_INFO + bytes(32, 1)) == SIGNING_REFUSED);
	CHECK(rsa_holder().sign(SIGNING_ECDSA, bytes(32, 1)) == SIGNING_REFUSED);
}

TEST_CASE("a key that is not there is not replaced by another", "[front][keyholder]")
{
	holder ec(make_key("EC"));
	ec.fingerprint[31] ^= 1;
	CHECK(ec.sign(SIGNING_ECDSA, bytes(32, 1)) == SIGNING_UNKNOWN_KEY);
}

TEST_CASE("a message that is no request gets no answer", "[front][keyholder]")
{
	CHECK(rsa_holder().answer({}).empty());
	CHECK(rsa_holder().answer(bytes(SIGNING_REQUEST_MAX + 1, 0)).empty());
}

TEST_CASE("the process goes on after invalid messages", "[front][keyholder]")
{
	files made;
	made.add(make_key("EC"), "mx.example");
	const front::tls_edge edge(made);
	const bytes noise(5000, 0xff);
	for (size_t size : { size_t{ 0 }, size_t{ 1 }, size_t{ 48 }, size_t{ 600 }, noise.size() })
		REQUIRE(send(edge.asking[0], noise.data(), size, 0) == static_cast<ssize_t>(size));
	sockets ends;
	struct tls *server = nullptr;
	client peer(ends[1]);
	REQUIRE(tls_new(edge.context, ends[0], &server) == 0);
	CHECK(shake_hands(server, peer) == 0);
	tls_free(server);
}

TEST_CASE("the process ends when the other end is closed", "[front][keyholder]")
{
	files made;
	made.add(make_key("EC"), "mx.example");
	const chains read(made);
	sockets ends(SOCK_SEQPACKET);
	child process([&] {
		ends.close_end(0);
		return run_keyholder(read.get(), ends[1]);
	});
	ends.close_end(0);
	CHECK(process.wait() == 0);
}

TEST_CASE("the process does not begin without its keys", "[front][keyholder]")
{
	files made;
	made.add(pem_of(make_certificate(rsa_key(), "mx.example")), "no key");
	const chains read(made);
	const sockets ends(SOCK_SEQPACKET);
	child process([&] {
		silence();
		return run_keyholder(read.get(), ends[1]);
	});
	CHECK(process.wait() == 78);
}

TEST_CASE("a key that has been replaced does not take the others with it", "[front][keyholder]")
{
	files made;
	made.add(make_key("EC"), "mx.example");
	made.add(make_key("EC"), "other.example");
	front::tls_edge edge(made, false);
	write_file(made.paths[0].key, pem_of(make_key("EC")));
	edge.start_keyholder(true);
	edge.wait_for_keyholder();
	client_options options;
	for (const char *name : { "mx.example", "other.example" }) {
		sockets ends;
		struct tls *server = nullptr;
		options.name = name;
		client peer(ends[1], options);
		REQUIRE(tls_new(edge.context, ends[0], &server) == 0);
		CHECK(shake_hands(server, peer) ==
		      (std::string(name) == "mx.example" ? TLS_EKEY : 0));
		tls_free(server);
	}
}

TEST_CASE("the function that gives up root is called after the keys are read", "[front][keyholder]")
{
	files made;
	made.add(make_key("EC"), "mx.example");
	const chains read(made);
	child process([&] {
		keyholder_start start = {};
		start.chains = read.get();
		start.confine = [](void *context) { return *static_cast<int *>(context); };
		int status = 42;
		start.context = &status;
		return keyholder_run(&start);
	});
	CHECK(process.wait() == 42);
}
