// SPDX-License-Identifier: GPL-3.0-or-later
#include "zone-tools/keys/key.h"

#include "tests/lib/child.hh"
#include "tests/lib/random.hh"
#include "tests/lib/seeds.hh"
#include "tests/lib/tmpdir.hh"
#include "tests/unit/zone/keys.hh"

#include <catch2/catch.hpp>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <set>

#define EITHER() GENERATE(as<uint8_t>{}, KEY_ECDSAP256SHA256, KEY_ED25519)

namespace
{

key_ptr generated(uint8_t algorithm)
{
	struct key *key = nullptr;
	REQUIRE(key_generate(algorithm, &key) == DNSBLV6_OK);
	return { key, key_free };
}

// A private file with this content.
std::string private_file(const tmpdir &directory, const std::string &content)
{
	const std::string path = directory.file("key.pem");
	write_file(path, content);
	chmod(path.c_str(), 0600);
	return path;
}

int read_status(const std::string &path)
{
	struct key *key = nullptr;
	const int ret = key_read(path.c_str(), &key);
	CHECK((key != nullptr) == (ret == DNSBLV6_OK));
	key_free(key);
	return ret;
}

key_ptr read_key(const std::string &pem)
{
	const tmpdir directory;
	struct key *key = nullptr;
	REQUIRE(key_read(private_file(directory, pem).c_str(), &key) == DNSBLV6_OK);
	return { key, key_free };
}

struct signature {
	uint8_t bytes[DNSBLV6_SIGNATURE_BYTES];
};

signature sign(const key_ptr &key, const bytes &data)
{
	signature made = {};
	REQUIRE(key_sign(key.get(), data.data(), data.size(), made.bytes) == DNSBLV6_OK);
	return made;
}
} // namespace

// ---- what RFCs published ----

struct published {
	const char *pem;
	uint8_t algorithm;
	uint16_t tag;
	const char *public_key;
	const char *zone;
	const char *ds; // digest
};

static const published PUBLISHED[] = {
	{ RFC6605_PEM, KEY_ECDSAP256SHA256, 55648,
	  "1a88c88615d437fbb8bf9e1942a1929f28562706ae6c2bd399e7b1bfb6d1e9e7"
	  "5b92b4aa42917ae1c61b701ef035c3fe7be3009cbafe5a2f71316c902dcf0d00",
	  "example.net", "b4c8c1fe2e7477127b27115656ad6256f424625bf5c1e2770ce6d6e37df61d17" },
	{ RFC8080_PEM, KEY_ED25519, 3613,
	  "974d96a22d224bc01adb915091477d44ccd91c9a41a11430010117d52c59240e", "example.com",
	  "3aa5ab37efce57f737fc1627013fee07bdf241bd10f3b1964ab55c78e79a304b" },
};

TEST_CASE("keys of RFC 6605 and 8080 have the DNSKEY, key tag and DS published there",
	  "[zone][key]")
{
	const published &wanted = PUBLISHED[GENERATE(0, 1)];
	CAPTURE(wanted.zone);
	const key_ptr key = read_key(wanted.pem);
	CHECK(key_algorithm(key.get()) == wanted.algorithm);
	CHECK(key_tag(key.get()) == wanted.tag);
	const bytes head = { 1, 1, 3, wanted.algorithm };
	CHECK(to_hex(dnskey_of(key)) == to_hex(head) + wanted.public_key);

	const dnsblv6_labels zone = labels_struct(wanted.zone);
	bytes ds(KEY_DS_SIZE);
	REQUIRE(key_ds(&zone, key.get(), ds.data()) == KEY_DS_SIZE);
	const bytes ds_head = { static_cast<uint8_t>(wanted.tag >> 8),
				static_cast<uint8_t>(wanted.tag), wanted.algorithm, 2 };
	CHECK(to_hex(ds) == to_hex(ds_head) + wanted.ds);
}

TEST_CASE("the signatures of RFC 6605 and 8080 are of what lib/format would sign", "[zone][key]")
{
	const size_t index = GENERATE(0u, 1u);
	const vector_case c = vectors("rrsig").at(index);
	CAPTURE(c);
	const key_ptr key = read_key(PUBLISHED[index].pem);
	const bytes input = from_hex(c[12]);
	REQUIRE(c[3] == std::to_string(PUBLISHED[index].algorithm));
	CHECK(verifies(dnskey_of(key), input, from_hex(c[8]).data()));
	const signature ours = sign(key, input);
	CHECK(verifies(dnskey_of(key), input, ours.bytes));
	if (key_algorithm(key.get()) == KEY_ED25519) // has one signature for each text
		CHECK(to_hex(ours.bytes, sizeof(ours.bytes)) == c[8]);
}

// ---- signatures ----

TEST_CASE("a signature is of its data and of nothing else", "[zone][key]")
{
	const uint8_t algorithm = EITHER();
	const auto seed = RANDOM_SEED(20);
	CAPTURE(algorithm, seed);
	randomness rnd(seed);
	const key_ptr key = generated(algorithm);
	bytes data(1 + rnd.below(3000));
	for (uint8_t &byte : data)
		byte = static_cast<uint8_t>(rnd.below(256));
	const signature made = sign(key, data);
	CHECK(verifies(dnskey_of(key), data, made.bytes));
	data[rnd.below(static_cast<unsigned>(data.size()))] ^= 1;
	CHECK_FALSE(verifies(dnskey_of(key), data, made.bytes));
}

TEST_CASE("an empty text can be signed too", "[zone][key]")
{
	const key_ptr key = generated(EITHER());
	const uint8_t empty = 0;
	signature made = {};
	REQUIRE(key_sign(key.get(), &empty, 0, made.bytes) == DNSBLV6_OK);
	CHECK(verifies(dnskey_of(key), {}, made.bytes));
}

TEST_CASE("numbers of a signature that are short are padded on the left", "[zone][key]")
{
	const key_ptr key = generated(KEY_ECDSAP256SHA256);
	const bytes dnskey = dnskey_of(key);
	const bytes data = { 1, 2, 3 };
	unsigned short_count = 0;
	// One number in 256 begins with a zero; that none of 10,000 does has odds of 1 to 10^17.
	for (unsigned i = 0; i < 5000; i++) {
		const signature made = sign(key, data);
		if (made.bytes[0] != 0 && made.bytes[32] != 0)
			continue;
		short_count++;
		CHECK(verifies(dnskey, data, made.bytes));
	}
	CHECK(short_count > 0);
}

TEST_CASE("children sign with their parent's key, and never with the same nonce", "[zone][key]")
{
	const uint8_t algorithm = EITHER();
	CAPTURE(algorithm);
	const key_ptr key = generated(algorithm);
	const bytes data(200, 7);
	constexpr size_t COUNT = 4;
	auto *shared = static_cast<signature *>(mmap(nullptr, (COUNT + 1) * sizeof(signature),
						     PROT_READ | PROT_WRITE,
						     MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	REQUIRE(shared != MAP_FAILED);
	shared[COUNT] = sign(key, data); // and so has random numbers at hand already
	for (size_t i = 0; i < COUNT; i++) {
		child other([&] {
			return key_sign(key.get(), data.data(), data.size(), shared[i].bytes) ==
					       DNSBLV6_OK
				       ? 0
				       : 1;
		});
		CHECK(other.wait() == 0);
	}
	std::set<std::string> firsts; // r, which is the nonce's
	for (size_t i = 0; i <= COUNT; i++) {
		CHECK(verifies(dnskey_of(key), data, shared[i].bytes));
		firsts.insert(to_hex(shared[i].bytes, 32));
	}
	CHECK(firsts.size() == (algorithm == KEY_ED25519 ? 1 : COUNT + 1));
	munmap(shared, (COUNT + 1) * sizeof(signature));
}

// ---- files ----

TEST_CASE("a key comes out of its file as it went in", "[zone][key]")
{
	const uint8_t algorithm = EITHER();
	CAPTURE(algorithm);
	const tmpdir directory;
	const std::string path = directory.file("key.pem");
	const key_ptr key = generated(algorithm);
	REQUIRE(key_write(key.get(), path.c_str()) == DNSBLV6_OK);
	const key_ptr again = read_key(read_file(path));
	CHECK(key_algorithm(again.get()) == algorithm);
	CHECK(key_tag(again.get()) == key_tag(key.get()));
	CHECK(dnskey_of(again) == dnskey_of(key));
	const bytes data(100, 3);
	CHECK(verifies(dnskey_of(key), data, sign(again, data).bytes));
}

TEST_CASE("two new keys are different", "[zone][key]")
{
	const uint8_t algorithm = EITHER();
	CHECK(dnskey_of(generated(algorithm)) != dnskey_of(generated(algorithm)));
}

TEST_CASE("a new key file is its owner's alone, whatever the umask", "[zone][key]")
{
	const mode_t mask = GENERATE(0000, 0022, 0077, 0377, 0777);
	CAPTURE(mask);
	const tmpdir directory;
	const std::string path = directory.file("key.pem");
	const key_ptr key = generated(KEY_ED25519);
	const mode_t before = umask(mask);
	const int ret = key_write(key.get(), path.c_str());
	umask(before);
	REQUIRE(ret == DNSBLV6_OK);
	struct stat file;
	REQUIRE(stat(path.c_str(), &file) == 0);
	CHECK((file.st_mode & 07777) == 0600);
}

TEST_CASE("a file that is there is not overwritten", "[zone][key]")
{
	const tmpdir directory;
	const std::string path = private_file(directory, "precious");
	const key_ptr key = generated(KEY_ED25519);
	CHECK(key_write(key.get(), path.c_str()) == -EEXIST);
	CHECK(read_file(path) == "precious");
	CHECK(key_write(key.get(), directory.path().c_str()) == -EEXIST);
}

TEST_CASE("a key that does not fit the disk leaves no file", "[zone][key]")
{
	const tmpdir directory;
	const std::string path = directory.file("key.pem");
	const key_ptr key = generated(KEY_ECDSAP256SHA256);
	child full([&] {
		const struct rlimit limit = { 100, 100 }; // bytes a file may have
		signal(SIGXFSZ, SIG_IGN);
		return setrlimit(RLIMIT_FSIZE, &limit) == 0 &&
				       key_write(key.get(), path.c_str()) == -EFBIG
			       ? 0
			       : 1;
	});
	CHECK(full.wait() == 0);
	CHECK(access(path.c_str(), F_OK) != 0);
}

TEST_CASE("a key that group or others may read is refused", "[zone][key]")
{
	const mode_t mode = GENERATE(0400, 0600, 0700, 0440, 0640, 0604, 0644, 0660, 0666, 0777);
	CAPTURE(mode);
	const tmpdir directory;
	const std::string path = private_file(directory, RFC6605_PEM);
	REQUIRE(chmod(path.c_str(), mode) == 0);
	CHECK(read_status(path) == ((mode & 0044) != 0 ? KEY_EMODE : DNSBLV6_OK));
}

TEST_CASE("a path that is no file is refused with the reason", "[zone][key]")
{
	const tmpdir directory;
	CHECK(read_status(directory.file("absent")) == -ENOENT);
	const std::string path = directory.file("directory");
	REQUIRE(mkdir(path.c_str(), 0755) == 0);
	CHECK(read_status(path) == -EISDIR);
	CHECK(read_status(directory.file("absent") + "/key.pem") == -ENOENT);
}

// ---- what is in a file ----

// The key of RFC 6605 as other programs write it (openssl ec -param_enc, -conv_form, -no_public).
static const char *const OTHER_FORMS[] = {
	"-----BEGIN EC PRIVATE KEY-----\n"
	"MHcCAQEEIBlOkp0PzrvsQuUbpriFCLiWbXl09s9Dv6JNbN/BLepkoAoGCCqGSM49\n"
	"AwEHoUQDQgAEGojIhhXUN/u4v54ZQqGSnyhWJwaubCvTmeexv7bR6edbkrSqQpF6\n"
	"4cYbcB7wNcP+e+MAnLr+Wi9xMWyQLc8NAA==\n"
	"-----END EC PRIVATE KEY-----\n",

	"-----BEGIN EC PRIVATE KEY-----\n"
	"MDECAQEEIBlOkp0PzrvsQuUbpriFCLiWbXl09s9Dv6JNbN/BLepkoAoGCCqGSM49\n"
	"AwEH\n"
	"-----END EC PRIVATE KEY-----\n",

	"-----BEGIN PRIVATE KEY-----\n"
	"MGcCAQAwEwYHKoZIzj0CAQYIKoZIzj0DAQcETTBLAgEBBCAZTpKdD8677ELlG6a4\n"
	"hQi4lm15dPbPQ7+iTWzfwS3qZKEkAyIAAhqIyIYV1Df7uL+eGUKhkp8oVicGrmwr\n"
	"05nnsb+20enn\n"
	"-----END PRIVATE KEY-----\n",

	"-----BEGIN EC PRIVATE KEY-----\n"
	"MIIBaAIBAQQgGU6SnQ/Ou+xC5RumuIUIuJZteXT2z0O/ok1s38Et6mSggfowgfcC\n"
	"AQEwLAYHKoZIzj0BAQIhAP////8AAAABAAAAAAAAAAAAAAAA////////////////\n"
	"MFsEIP////8AAAABAAAAAAAAAAAAAAAA///////////////8BCBaxjXYqjqT57Pr\n"
	"vVV2mIa8ZR0GsMxTsPY7zjw+J9JgSwMVAMSdNgiG5wSTamZ44ROdJreBn36QBEEE\n"
	"axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpZP40Li/hp/m47n60p8D54W\n"
	"K84zV2sxXs7LtkBoN79R9QIhAP////8AAAAA//////////+85vqtpxeehPO5ysL8\n"
	"YyVRAgEBoUQDQgAEGojIhhXUN/u4v54ZQqGSnyhWJwaubCvTmeexv7bR6edbkrSq\n"
	"QpF64cYbcB7wNcP+e+MAnLr+Wi9xMWyQLc8NAA==\n"
	"-----END EC PRIVATE KEY-----\n",
};

TEST_CASE("a key is the same in every form that PEM files have it", "[zone][key]")
{
	const std::string pem = OTHER_FORMS[GENERATE(range(0, 4))];
	CAPTURE(pem);
	const key_ptr wanted = read_key(RFC6605_PEM);
	CHECK(dnskey_of(read_key(pem)) == dnskey_of(wanted));
	CHECK(dnskey_of(read_key("Text before is allowed.\n" + pem + "And behind.\n")) ==
	      dnskey_of(wanted));
}

static std::string pem_of(EVP_PKEY *pair, bool is_private, const char *password)
{
	BIO *bio = BIO_new(BIO_s_mem());
	if (is_private)
		PEM_write_bio_PKCS8PrivateKey(bio, pair, password ? EVP_aes_128_cbc() : nullptr,
					      password, password ? (int)strlen(password) : 0,
					      nullptr, nullptr);
	else
		PEM_write_bio_PUBKEY(bio, pair);
	char *text;
	const long size = BIO_get_mem_data(bio, &text);
	const std::string pem(text, static_cast<size_t>(size));
	BIO_free(bio);
	EVP_PKEY_free(pair);
	return pem;
}

TEST_CASE("a key of another kind or curve is refused", "[zone][key]")
{
	const std::string kind =
		GENERATE("P-384", "secp256k1", "P-521", "ED448", "X25519", "RSA-2048");
	CAPTURE(kind);
	EVP_PKEY *pair = kind == "RSA-2048"
				 ? EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", size_t{ 2048 })
			 : kind[0] == 'P' || kind[0] == 's'
				 ? EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", kind.c_str())
				 : EVP_PKEY_Q_keygen(nullptr, nullptr, kind.c_str());
	REQUIRE(pair != nullptr);
	const tmpdir directory;
	CHECK(read_status(private_file(directory, pem_of(pair, true, nullptr))) == KEY_EALGORITHM);
}

TEST_CASE("a public key is no private key", "[zone][key]")
{
	const tmpdir directory;
	EVP_PKEY *pair = EVP_EC_gen("P-256");
	CHECK(read_status(private_file(directory, pem_of(pair, false, nullptr))) == KEY_EFORMAT);
}

TEST_CASE("a key with a password is refused without a prompt", "[zone][key]")
{
	const tmpdir directory;
	EVP_PKEY *pair = EVP_EC_gen("P-256");
	const std::string path = private_file(directory, pem_of(pair, true, "secret"));
	CHECK(read_file(path).find("ENCRYPTED") != std::string::npos);
	CHECK(read_status(path) == KEY_EFORMAT);
}

TEST_CASE("a file with anything but a key is refused", "[zone][key]")
{
	const std::string content =
		GENERATE("", "\n", "192.0.2.1\n", "-----BEGIN PRIVATE KEY-----\n",
			 "-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n",
			 "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n");
	CAPTURE(content);
	const tmpdir directory;
	CHECK(read_status(private_file(directory, content)) == KEY_EFORMAT);
	CHECK(read_status(private_file(directory, std::string(100000, '\0'))) == KEY_EFORMAT);
}

TEST_CASE("a key file that is cut short is refused", "[zone][key]")
{
	const std::string pem = GENERATE(RFC6605_PEM, RFC8080_PEM);
	CAPTURE(pem);
	const tmpdir directory;
	const std::string path = private_file(directory, pem);
	// The last line feed, and dashes before it, are not missed by every reader of PEM.
	for (size_t size = pem.rfind("-----END"); size > 0; size--) {
		CAPTURE(size);
		write_file(path, pem.substr(0, size));
		REQUIRE(read_status(path) == KEY_EFORMAT);
	}
}

// A private half alone cannot tell that it is damaged: then it is another key.
TEST_CASE("a damaged key file is refused, or is a key that signs", "[zone][key]")
{
	const published &original = PUBLISHED[GENERATE(0, 1)];
	CAPTURE(original.zone);
	const std::string pem = original.pem;
	const tmpdir directory;
	const std::string path = private_file(directory, pem);
	unsigned refused_count = 0;
	for (size_t i = 0; i < pem.size(); i++) {
		std::string damaged = pem;
		damaged[i] = pem[i] == 'A' ? 'B' : 'A';
		write_file(path, damaged);
		struct key *read = nullptr;
		const int ret = key_read(path.c_str(), &read);
		const key_ptr key(read, key_free);
		CAPTURE(i, ret);
		if (ret != DNSBLV6_OK) {
			REQUIRE((ret == KEY_EFORMAT || ret == KEY_EALGORITHM));
			refused_count++;
			continue;
		}
		const bytes data = { 1 };
		REQUIRE(verifies(dnskey_of(key), data, sign(key, data).bytes));
		// Where both halves are in the file, damage is seen.
		if (original.algorithm == KEY_ECDSAP256SHA256)
			REQUIRE(dnskey_of(key) == dnskey_of(read_key(pem)));
	}
	CHECK(refused_count > pem.size() / 2);
}

// ---- the rest ----

TEST_CASE("only the two algorithms have names and keys", "[zone][key]")
{
	CHECK(key_parse_algorithm("ecdsap256sha256") == KEY_ECDSAP256SHA256);
	CHECK(key_parse_algorithm("ECDSAP256SHA256") == KEY_ECDSAP256SHA256);
	CHECK(key_parse_algorithm("Ed25519") == KEY_ED25519);
	for (const char *word : { "", "ed448", "13", "ecdsap256sha25", "ecdsap256sha2566", "rsa" })
		CHECK(key_parse_algorithm(word) == 0);

	const int number = GENERATE(0, 5, 8, 12, 14, 16, 255);
	struct key *key = nullptr;
	CHECK(key_generate(static_cast<uint8_t>(number), &key) == KEY_EALGORITHM);
	CHECK(key == nullptr);
}

TEST_CASE("each status of a key has a text of its own", "[zone][key]")
{
	std::set<std::string> texts;
	for (int status : { KEY_EMODE, KEY_EFORMAT, KEY_EALGORITHM, KEY_ECRYPTO, (int)DNSBLV6_OK,
			    (int)DNSBLV6_ERECORD, -ENOENT, -EEXIST })
		texts.insert(key_strerror(status));
	CHECK(texts.size() == 8);
	CHECK(texts.count("") == 0);
}

TEST_CASE("a failure leaves nothing in OpenSSL's row of errors", "[zone][key]")
{
	const tmpdir directory;
	ERR_clear_error();
	CHECK(read_status(private_file(directory, "no key")) == KEY_EFORMAT);
	CHECK(ERR_peek_error() == 0);
	CHECK(read_status(private_file(directory, OTHER_FORMS[1])) == DNSBLV6_OK);
	CHECK(ERR_peek_error() == 0);
}

TEST_CASE("freeing no key does nothing", "[zone][key]")
{
	key_free(nullptr);
	SUCCEED();
}
