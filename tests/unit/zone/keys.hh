// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// zone_keys.hh - keys that RFCs have published, and who checks signatures.
//
// verifies() knows a key by its DNSKEY RDATA alone and a signature by the 64
// bytes that a resolver gets: nothing of zone-tools/keys/key.c is asked.

#include "tests/unit/vectors.hh"

#include "zone-tools/keys/key.h"

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>

#include <memory>
#include <string>

using key_ptr = std::unique_ptr<struct key, decltype(&key_free)>;

// RFC 6605 section 6.1: the private key, here as PKCS#8.
inline const char *const RFC6605_PEM =
	"-----BEGIN PRIVATE KEY-----\n"
	"MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgGU6SnQ/Ou+xC5Rum\n"
	"uIUIuJZteXT2z0O/ok1s38Et6mShRANCAAQaiMiGFdQ3+7i/nhlCoZKfKFYnBq5s\n"
	"K9OZ57G/ttHp51uStKpCkXrhxhtwHvA1w/574wCcuv5aL3ExbJAtzw0A\n"
	"-----END PRIVATE KEY-----\n";

// RFC 8080 section 6.1: the same.
inline const char *const RFC8080_PEM =
	"-----BEGIN PRIVATE KEY-----\n"
	"MC4CAQAwBQYDK2VwBCIEIDgyMjYwMzg0NjI4MDgwMTIyNjQ1MTkwMjA0MTQyMjYy\n"
	"-----END PRIVATE KEY-----\n";

inline bytes dnskey_of(const key_ptr &key)
{
	bytes rdata(KEY_DNSKEY_MAX);
	rdata.resize(key_dnskey(key.get(), rdata.data()));
	return rdata;
}

namespace zone_keys
{
using pair_ptr = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

inline pair_ptr public_of(const bytes &dnskey)
{
	const uint8_t *raw = dnskey.data() + 4;
	EVP_PKEY *pair = nullptr;
	if (dnskey[3] == KEY_ED25519) {
		pair = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, raw,
						   dnskey.size() - 4);
		return { pair, EVP_PKEY_free };
	}
	bytes point = { 4 }; // uncompressed
	point.insert(point.end(), raw, raw + dnskey.size() - 4);
	char curve[] = "P-256";
	OSSL_PARAM params[] = {
		OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, curve, 0),
		OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, point.data(),
						  point.size()),
		OSSL_PARAM_construct_end(),
	};
	EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(nullptr, "EC", nullptr);
	EVP_PKEY_fromdata_init(context);
	EVP_PKEY_fromdata(context, &pair, EVP_PKEY_PUBLIC_KEY, params);
	EVP_PKEY_CTX_free(context);
	return { pair, EVP_PKEY_free };
}

// Two numbers as DER, which OpenSSL wants.
inline bytes der_of(const uint8_t *signature)
{
	ECDSA_SIG *pair = ECDSA_SIG_new();
	ECDSA_SIG_set0(pair, BN_bin2bn(signature, 32, nullptr),
		       BN_bin2bn(signature + 32, 32, nullptr));
	unsigned char *der = nullptr;
	const int size = i2d_ECDSA_SIG(pair, &der);
	const bytes out(der, der + size);
	OPENSSL_free(der);
	ECDSA_SIG_free(pair);
	return out;
}
} // namespace zone_keys

// Is signature (64 bytes) one over data by the key of this DNSKEY RDATA?
inline bool verifies(const bytes &dnskey, const bytes &data, const uint8_t *signature)
{
	const bool is_ecdsa = dnskey[3] == KEY_ECDSAP256SHA256;
	const bytes made = is_ecdsa ? zone_keys::der_of(signature)
				    : bytes(signature, signature + DNSBLV6_SIGNATURE_BYTES);
	const zone_keys::pair_ptr pair = zone_keys::public_of(dnskey);
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	const bool is_good =
		pair != nullptr &&
		EVP_DigestVerifyInit(context, nullptr, is_ecdsa ? EVP_sha256() : nullptr, nullptr,
				     pair.get()) == 1 &&
		EVP_DigestVerify(context, made.data(), made.size(), data.data(), data.size()) == 1;
	EVP_MD_CTX_free(context);
	return is_good;
}
