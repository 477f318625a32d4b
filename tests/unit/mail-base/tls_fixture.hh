// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// front_tls_fixture.hh - certificates made here, a keyholder, and a client of TLS.
//
// The client is OpenSSL as mail servers use it: nothing of what is tested is in it.

#include "integration/mail/base/tls/keyholder.h"
#include "integration/mail/base/tls/keys.h"
#include "integration/mail/base/tls/signing.h"
#include "integration/mail/base/tls/tls.h"
#include "tests/lib/child.hh"
#include "tests/lib/tmpdir.hh"

#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace front
{

using pkey_ptr = std::shared_ptr<EVP_PKEY>;
using x509_ptr = std::shared_ptr<X509>;

inline std::string pem_of(const std::function<int(BIO *)> &write)
{
	BIO *bio = BIO_new(BIO_s_mem());
	char *text = nullptr;
	if (bio == nullptr || write(bio) != 1)
		throw std::runtime_error("no PEM");
	const auto size = static_cast<size_t>(BIO_get_mem_data(bio, &text));
	const std::string pem(text, size);
	BIO_free(bio);
	return pem;
}

// "RSA" with a number of bits, "EC" with a curve, or "ED25519".
inline pkey_ptr make_key(const std::string &kind, size_t bits = 2048,
			 const char *curve = "prime256v1")
{
	EVP_PKEY *key = kind == "RSA"  ? EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", bits)
			: kind == "EC" ? EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", curve)
				       : EVP_PKEY_Q_keygen(nullptr, nullptr, kind.c_str());
	if (key == nullptr)
		throw std::runtime_error("no key of " + kind);
	return { key, EVP_PKEY_free };
}

// One for all tests: a key takes longer to make than all else here.
inline pkey_ptr rsa_key()
{
	static const pkey_ptr key = make_key("RSA");
	return key;
}

// until_s: seconds from now.
inline x509_ptr make_certificate(const pkey_ptr &key, const std::string &name, long until_s = 3600)
{
	x509_ptr made(X509_new(), X509_free);
	X509_set_version(made.get(), 2);
	ASN1_INTEGER_set(X509_get_serialNumber(made.get()), 1);
	X509_gmtime_adj(X509_getm_notBefore(made.get()), until_s - 7200);
	X509_gmtime_adj(X509_getm_notAfter(made.get()), until_s);
	X509_set_pubkey(made.get(), key.get());
	X509_NAME_add_entry_by_txt(X509_get_subject_name(made.get()), "CN", MBSTRING_ASC,
				   reinterpret_cast<const unsigned char *>(name.c_str()), -1, -1,
				   0);
	X509_set_issuer_name(made.get(), X509_get_subject_name(made.get()));
	const std::string names = "DNS:" + name;
	X509_EXTENSION *extension =
		X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, names.c_str());
	X509_add_ext(made.get(), extension, -1);
	X509_EXTENSION_free(extension);
	const bool is_edwards = EVP_PKEY_get_base_id(key.get()) == EVP_PKEY_ED25519;
	if (X509_sign(made.get(), key.get(), is_edwards ? nullptr : EVP_sha256()) <= 0)
		throw std::runtime_error("no certificate");
	return made;
}

inline std::string pem_of(const x509_ptr &certificate)
{
	return pem_of([&](BIO *bio) { return PEM_write_bio_X509(bio, certificate.get()); });
}

inline std::string pem_of(const pkey_ptr &key)
{
	return pem_of([&](BIO *bio) {
		return PEM_write_bio_PrivateKey(bio, key.get(), nullptr, nullptr, 0, nullptr,
						nullptr);
	});
}

// Files of keys and certificates, as an administrator has them.
class files
{
      public:
	std::vector<keys_paths> paths;

	keys_paths add(const std::string &chain, const std::string &key, mode_t mode = 0600)
	{
		const std::string number = std::to_string(paths.size());
		keys_paths made = {};
		const std::string chain_path = directory_.file("chain" + number + ".pem");
		const std::string key_path = directory_.file("key" + number + ".pem");
		write_file(chain_path, chain);
		write_file(key_path, key);
		chmod(key_path.c_str(), mode);
		std::strcpy(made.chain, chain_path.c_str());
		std::strcpy(made.key, key_path.c_str());
		paths.push_back(made);
		return made;
	}
	keys_paths add(const pkey_ptr &key, const std::string &name)
	{
		return add(pem_of(make_certificate(key, name)), pem_of(key));
	}

      private:
	tmpdir directory_;
};

// Read, and freed with its owner.
class chains
{
      public:
	explicit chains(const std::vector<keys_paths> &paths)
	{
		status = keys_read_chains(paths.data(), static_cast<unsigned>(paths.size()), &read_,
					  &error);
	}
	explicit chains(const files &made) : chains(made.paths)
	{
	}
	~chains()
	{
		keys_free_chains(read_);
	}
	chains(const chains &) = delete;
	chains &operator=(const chains &) = delete;

	const keys_chains *get() const
	{
		if (read_ == nullptr)
			throw std::runtime_error(error.reason);
		return read_;
	}

	int status;
	keys_error error = {};

      private:
	keys_chains *read_ = nullptr;
};

// Two ends of a socket; each is closed once.
class sockets
{
      public:
	explicit sockets(int type = SOCK_STREAM)
	{
		if (socketpair(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends_) != 0)
			throw std::runtime_error("no sockets");
	}
	~sockets()
	{
		close_end(0);
		close_end(1);
	}
	sockets(const sockets &) = delete;
	sockets &operator=(const sockets &) = delete;

	int operator[](unsigned which) const
	{
		return ends_[which];
	}
	void close_end(unsigned which)
	{
		if (ends_[which] >= 0)
			close(ends_[which]);
		ends_[which] = -1;
	}
	// It is somebody else's.
	int take(unsigned which)
	{
		const int fd = ends_[which];
		ends_[which] = -1;
		return fd;
	}

      private:
	int ends_[2] = { -1, -1 };
};

inline int run_keyholder(const keys_chains *of, int fd)
{
	keyholder_start start = {};
	start.chains = of;
	start.sockets = &fd;
	start.socket_count = 1;
	return keyholder_run(&start);
}

// What an edge has at its start: certificates, and a keyholder that can be killed and made again.
class tls_edge
{
      public:
	explicit tls_edge(const files &made, bool has_keyholder = true)
	    : chains_(made), asking(SOCK_SEQPACKET)
	{
		if (has_keyholder) {
			start_keyholder();
			wait_for_keyholder();
		}
		keys_error error = {};
		if (tls_context_new(chains_.get(), asking[0], &context, &error) != 0)
			throw std::runtime_error(std::string(error.path) + ": " + error.reason);
	}
	~tls_edge()
	{
		tls_context_free(context);
	}
	tls_edge(const tls_edge &) = delete;
	tls_edge &operator=(const tls_edge &) = delete;

	void start_keyholder(bool is_silent = false, int pause_ms = 0)
	{
		process_ = std::make_unique<child>([this, is_silent, pause_ms] {
			if (is_silent)
				silence();
			poll(nullptr, 0, pause_ms);
			return run_keyholder(chains_.get(), asking[1]);
		});
	}
	// Reading keys may take longer than an edge is patient, on a machine that has much to do.
	void wait_for_keyholder() const
	{
		uint8_t bytes[SIGNING_REQUEST_MAX] = {};
		const uint8_t digest[32] = {};
		signing_request request = {};
		request.operation = SIGNING_ECDSA;
		request.input = digest;
		request.input_size = sizeof(digest);
		send(asking[0], bytes, signing_encode_request(&request, bytes), 0);
		pollfd place = { asking[0], POLLIN, 0 };
		poll(&place, 1, -1); // the child has an alarm, the test a limit
		if (recv(asking[0], bytes, sizeof(bytes), 0) <= 0)
			throw std::runtime_error("no keyholder");
	}
	void kill_keyholder()
	{
		process_->kill(SIGKILL);
		process_->wait();
		process_.reset();
	}
	uint64_t failed_signatures() const
	{
		return tls_count_failed(context);
	}

      private:
	chains chains_;

      public:
	sockets asking; // 0: the edge's end; 1: the keyholder's
	tls_context *context = nullptr;

      private:
	std::unique_ptr<child> process_;
};

struct client_options {
	int version = 0; // the only one; 0: any
	std::string name = {};
	std::string ciphers = {};
	std::string sigalgs = {};
	std::string groups = {};
};

// A client on one end of a socket.
class client
{
      public:
	explicit client(int fd, const client_options &options = {}) : context_(make(options))
	{
		ssl = SSL_new(context_);
		SSL_set_fd(ssl, fd);
		if (!options.name.empty())
			SSL_set_tlsext_host_name(ssl, options.name.c_str());
	}
	~client()
	{
		SSL_free(ssl);
		SSL_CTX_free(context_);
	}
	client(const client &) = delete;
	client &operator=(const client &) = delete;

	// 0: done; 1: goes on; negative: failed.
	int step()
	{
		ERR_clear_error();
		const int ret = SSL_connect(ssl);
		if (ret == 1)
			return 0;
		const int error = SSL_get_error(ssl, ret);
		return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? 1 : -1;
	}
	std::string certificate_name() const
	{
		char name[256] = "";
		X509 *certificate = SSL_get0_peer_certificate(ssl);
		if (certificate != nullptr)
			X509_NAME_get_text_by_NID(X509_get_subject_name(certificate),
						  NID_commonName, name, sizeof(name));
		return name;
	}
	int key_kind() const
	{
		X509 *certificate = SSL_get0_peer_certificate(ssl);
		return certificate == nullptr ? 0
					      : EVP_PKEY_get_base_id(X509_get0_pubkey(certificate));
	}

	SSL *ssl;

      private:
	SSL_CTX *context_;

	static SSL_CTX *make(const client_options &options)
	{
		SSL_CTX *made = SSL_CTX_new(TLS_client_method());
		SSL_CTX_set_security_level(made, 0);
		SSL_CTX_set_min_proto_version(made, options.version);
		SSL_CTX_set_max_proto_version(made, options.version);
		if (!options.ciphers.empty() &&
		    SSL_CTX_set_cipher_list(made, options.ciphers.c_str()) != 1)
			throw std::runtime_error("no such ciphers");
		if (!options.sigalgs.empty() &&
		    SSL_CTX_set1_sigalgs_list(made, options.sigalgs.c_str()) != 1)
			throw std::runtime_error("no such algorithms");
		if (!options.groups.empty() &&
		    SSL_CTX_set1_groups_list(made, options.groups.c_str()) != 1)
			throw std::runtime_error("no such groups");
		return made;
	}
};

// A session and its client, in turns. Returns the server's status.
inline int shake_hands(tls *server, client &peer)
{
	int of_client = 1;
	int of_server = TLS_WANT_READ;
	for (int turn = 0; turn < 1000; turn++) {
		if (of_client == 1)
			of_client = peer.step();
		if (of_server == TLS_WANT_READ || of_server == TLS_WANT_WRITE)
			of_server = tls_handshake(server);
		else
			return of_server;
		if (of_server == 0 && of_client <= 0)
			return of_server;
	}
	throw std::runtime_error("the handshake has no end");
}

} // namespace front
