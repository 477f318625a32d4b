// SPDX-License-Identifier: GPL-3.0-or-later
// Certificates and keys in files.
#include "tests/unit/mail-base/tls_fixture.hh"

#include <catch2/catch.hpp>

#include <cerrno>

namespace
{

using namespace front;

// Why the key of the only pair is refused; "" when it is not.
std::string refuse_key(const files &made)
{
	const chains read(made);
	EVP_PKEY *key = nullptr;
	keys_error error = {};
	const int ret = keys_read_private(&read.get()->chains[0], &key, &error);
	EVP_PKEY_free(key);
	REQUIRE((ret == 0 || std::string(error.path) == made.paths[0].key));
	return ret == 0 ? "" : error.reason;
}

std::string refuse_chain(const std::string &text)
{
	files made;
	made.add(text, "");
	const chains read(made);
	keys_error error = read.error;
	int ret = read.status;
	X509 *leaf = nullptr;
	STACK_OF(X509) *others = nullptr;
	if (ret == 0)
		ret = keys_parse_chain(&read.get()->chains[0], &leaf, &others, &error);
	X509_free(leaf);
	sk_X509_pop_free(others, X509_free);
	REQUIRE((ret == 0 || (ret == -EBADMSG && std::string(error.path) == made.paths[0].chain)));
	return ret == 0 ? "" : error.reason;
}

std::string encrypted_pem(const pkey_ptr &key)
{
	return pem_of([&](BIO *bio) {
		return PEM_write_bio_PKCS8PrivateKey(bio, key.get(), EVP_aes_256_cbc(), "word", 4,
						     nullptr, nullptr);
	});
}

} // namespace

TEST_CASE("RSA and ECDSA keys are read with their certificates", "[front][keys]")
{
	const auto key = GENERATE(as<pkey_ptr>(), rsa_key(), make_key("EC"),
				  make_key("EC", 0, "secp384r1"), make_key("EC", 0, "secp521r1"));
	files made;
	made.add(key, "mx.example");
	CHECK(refuse_key(made).empty());
}

TEST_CASE("a key of another kind is refused, and the message says which", "[front][keys]")
{
	const auto [key, reason] = GENERATE(
		table<pkey_ptr, std::string>({ { make_key("ED25519"), "Ed25519" },
					       { make_key("EC", 0, "secp256k1"), "another curve" },
					       { make_key("RSA", 1024), "2048 to 4096 bits" },
					       { make_key("RSA", 2050), "in whole bytes" } }));
	CAPTURE(reason);
	CHECK(refuse_chain(pem_of(make_certificate(key, "mx.example"))).find(reason) !=
	      std::string::npos);
}

TEST_CASE("a key that is not that of its certificate is refused", "[front][keys]")
{
	files made;
	made.add(pem_of(make_certificate(rsa_key(), "mx.example")), pem_of(make_key("EC")));
	CHECK(refuse_key(made) == "not the key of the first certificate of its chain");
}

TEST_CASE("a key that others may read is refused, one for a group is not", "[front][keys]")
{
	const auto key = make_key("EC");
	const auto [mode, is_refused] =
		GENERATE(table<mode_t, bool>({ { 0600, false }, { 0640, false }, { 0644, true } }));
	files made;
	made.add(pem_of(make_certificate(key, "mx.example")), pem_of(key), mode);
	CHECK((refuse_key(made).find("chmod o-rw") != std::string::npos) == is_refused);
}

TEST_CASE("a file without a key, with half of one, or with a password is refused", "[front][keys]")
{
	const auto key = make_key("EC");
	const std::string pem = pem_of(key);
	const auto text =
		GENERATE_COPY(as<std::string>(), "", "no key", pem_of(make_certificate(key, "x")),
			      pem.substr(0, pem.size() / 2), encrypted_pem(key));
	files made;
	made.add(pem_of(make_certificate(key, "mx.example")), text);
	CHECK(refuse_key(made) == "not a private key in PEM without a password, or damaged");
}

TEST_CASE("what openssl writes before an EC key is passed over", "[front][keys]")
{
	const auto key = make_key("EC");
	const std::string parameters =
		pem_of([&](BIO *bio) { return PEM_write_bio_Parameters(bio, key.get()); });
	files made;
	made.add(pem_of(make_certificate(key, "mx.example")), parameters + pem_of(key));
	CHECK(refuse_key(made).empty());
}

TEST_CASE("of a file with both nothing is kept but certificates", "[front][keys]")
{
	const auto key = make_key("EC");
	const std::string first = pem_of(make_certificate(key, "mx.example"));
	const std::string second = pem_of(make_certificate(key, "ca.example"));
	files made;
	made.add("text before\n" + first + pem_of(key) + "text between\n" + second, "");
	const chains read(made);
	const keys_chain &chain = read.get()->chains[0];
	CHECK(std::string(chain.pem, chain.pem_size) == first + second);
	X509 *leaf = nullptr;
	STACK_OF(X509) *others = nullptr;
	keys_error error;
	REQUIRE(keys_parse_chain(&chain, &leaf, &others, &error) == 0);
	CHECK(X509_check_host(leaf, "mx.example", 0, 0, nullptr) == 1);
	CHECK(sk_X509_num(others) == 1);
	X509_free(leaf);
	sk_X509_pop_free(others, X509_free);
}

TEST_CASE("certificates need no line between them", "[front][keys]")
{
	std::string one = pem_of(make_certificate(make_key("EC"), "mx.example"));
	one.pop_back();
	CHECK(refuse_chain(one + one + one).empty());
	std::string hollow;
	for (int i = 0; i < 4000; i++)
		hollow += "-----BEGIN CERTIFICATE----------END CERTIFICATE-----";
	CHECK(refuse_chain(hollow) == "a certificate in it is damaged");
}

TEST_CASE("a chain that is none is refused", "[front][keys]")
{
	const std::string good = pem_of(make_certificate(make_key("EC"), "mx.example"));
	std::string damaged = good;
	damaged[damaged.size() / 2] = '!';
	std::string many;
	for (int i = 0; i < KEYS_CHAIN_MAX + 1; i++)
		many += good;
	CHECK(refuse_chain(good).empty());
	CHECK(refuse_chain("") == "there is no certificate in it");
	/* A disk that was full, or a copy that was stopped. */
	for (const size_t lacks : { size_t(1), size_t(10), good.size() / 2 }) {
		const std::string cut = good.substr(0, good.size() - 1 - lacks);
		CHECK(refuse_chain(cut) == "a certificate in it is damaged");
		CHECK(refuse_chain(good + cut) == "a certificate in it is damaged");
	}
	CHECK(refuse_chain(good + damaged) == "a certificate in it is damaged");
	CHECK(refuse_chain(damaged) == "a certificate in it is damaged");
	CHECK(refuse_chain(many) == "there are more than 10 certificates in it");
	CHECK(refuse_chain(std::string("\0\0", 2) + good) == "not a file in PEM");
}

TEST_CASE("the file that cannot be read is named", "[front][keys]")
{
	const tmpdir directory;
	keys_paths paths = {};
	std::strcpy(paths.chain, directory.file("missing.pem").c_str());
	const chains missing({ paths });
	CHECK(missing.status == -ENOENT);
	CHECK(std::string(missing.error.path) == paths.chain);
	CHECK(std::string(missing.error.reason) == std::strerror(ENOENT));
	std::strcpy(paths.chain, directory.path().c_str());
	CHECK(std::string(chains({ paths }).error.reason) == "not a regular file");
	REQUIRE(mkfifo(directory.file("fifo").c_str(), 0600) == 0);
	std::strcpy(paths.chain, directory.file("fifo").c_str());
	CHECK(std::string(chains({ paths }).error.reason) == "not a regular file");
}

TEST_CASE("a pair is looked at without its key in this process", "[front][keys]")
{
	files made;
	made.add(rsa_key(), "mx.example");
	keys_error error;
	CHECK(keyholder_check(chains(made).get(), &error) == 0);
	CHECK(std::string(error.reason).empty());
	made.add(pem_of(make_certificate(rsa_key(), "mx.example")), "no key");
	CHECK(keyholder_check(chains(made).get(), &error) == -EBADMSG);
	CHECK(std::string(error.path) == made.paths[1].key);
	CHECK(std::string(error.reason) ==
	      "not a private key in PEM without a password, or damaged");
}

TEST_CASE("a certificate whose time is over, or has not come, is served and told", "[front][keys]")
{
	const auto key = make_key("EC");
	for (const long until_s : { -10L, 7300L }) {
		files made;
		made.add(key, "mx.example");
		made.add(pem_of(make_certificate(key, "mx.example", until_s)), pem_of(key));
		keys_error error;
		CHECK(keyholder_check(chains(made).get(), &error) == 0);
		CHECK(std::string(error.path) == made.paths[1].chain);
		CHECK(std::string(error.reason) ==
		      (until_s < 0 ? "it has expired" : "its time has not come"));
	}
}
