/* SPDX-License-Identifier: GPL-3.0-or-later */
/* RSA_private_encrypt() and PKCS1_MGF1(): what an edge sends has been padded already. */
#define OPENSSL_API_COMPAT 0x10100000L
#include "integration/mail/base/tls/keyholder.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#include "integration/mail/base/tls/signing.h"
#include "lib/common/log.h"

struct held {
	uint8_t fingerprint[KEYS_FINGERPRINT_SIZE];
	EVP_PKEY *key;
};

struct keyholder {
	unsigned count;
	struct held held[KEYS_PAIRS_MAX];
};

/* ---- the keys ---- */

static int hold(const struct keys_chain *chain, struct held *ret_held,
		struct keys_error *reterr_error)
{
	X509 *leaf = NULL;
	STACK_OF(X509) *others = NULL;
	int ret = keys_parse_chain(chain, &leaf, &others, reterr_error);
	if (ret != 0)
		return ret;
	ret = keys_fingerprint(leaf, ret_held->fingerprint);
	if (ret == 0)
		ret = keys_read_private(chain, &ret_held->key, reterr_error);
	X509_free(leaf);
	sk_X509_pop_free(others, X509_free);
	return ret;
}

int keyholder_new(const struct keys_chains *chains, struct keyholder **ret_keyholder,
		  struct keys_error *reterr_error)
{
	memset(reterr_error, 0, sizeof(*reterr_error));
	struct keyholder *keyholder = calloc(1, sizeof(*keyholder));
	if (keyholder == NULL)
		return -ENOMEM;
	for (unsigned i = 0; i < chains->count; i++) {
		keyholder->count = i + 1;
		int ret = hold(&chains->chains[i], &keyholder->held[i], reterr_error);
		if (ret != 0) {
			keyholder_free(keyholder);
			return ret;
		}
	}
	*ret_keyholder = keyholder;
	return 0;
}

void keyholder_free(struct keyholder *keyholder)
{
	if (keyholder == NULL)
		return;
	for (unsigned i = 0; i < keyholder->count; i++)
		EVP_PKEY_free(keyholder->held[i].key);
	free(keyholder);
}

static const struct held *find(const struct keyholder *keyholder, const uint8_t *fingerprint)
{
	for (unsigned i = 0; i < keyholder->count; i++) {
		if (memcmp(keyholder->held[i].fingerprint, fingerprint, KEYS_FINGERPRINT_SIZE) == 0)
			return &keyholder->held[i];
	}
	return NULL;
}

/* ---- what may be signed ---- */

/* What TLS 1.2 and 1.3 hash with, and how the DigestInfo of it begins (RFC 8017, 9.2). */
static const struct hash {
	size_t size;
	uint8_t prefix[19];
	const EVP_MD *(*md)(void);
} hashes[] = {
	{ 32,
	  { 0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02,
	    0x01, 0x05, 0x00, 0x04, 0x20 },
	  EVP_sha256 },
	{ 48,
	  { 0x30, 0x41, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02,
	    0x02, 0x05, 0x00, 0x04, 0x30 },
	  EVP_sha384 },
	{ 64,
	  { 0x30, 0x51, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02,
	    0x03, 0x05, 0x00, 0x04, 0x40 },
	  EVP_sha512 },
};

enum { HASH_COUNT = sizeof(hashes) / sizeof(hashes[0]) };

static bool is_digest_info(const struct signing_request *request)
{
	for (size_t i = 0; i < HASH_COUNT; i++) {
		if (request->input_size == sizeof(hashes[i].prefix) + hashes[i].size &&
		    memcmp(request->input, hashes[i].prefix, sizeof(hashes[i].prefix)) == 0)
			return true;
	}
	return false;
}

static bool is_digest(const struct signing_request *request)
{
	for (size_t i = 0; i < HASH_COUNT; i++) {
		if (request->input_size == hashes[i].size)
			return true;
	}
	return false;
}

/*
 * RFC 8017, 9.1.2, steps 4 to 10, with a salt of the hash's size as TLS has it: masked is DB, then
 * H, then 0xbc; DB under its mask is zeros, 0x01 and the salt. At least a thousand bits have no
 * choice: an attacker with a ciphertext finds no multiple of it that looks so.
 */
static bool is_pss_of(const struct hash *hash, const uint8_t *block, size_t size)
{
	uint8_t db[KEYS_SIGNATURE_MAX];
	if (size < 2 * hash->size + 2)
		return false;
	size_t db_size = size - hash->size - 1;
	if (PKCS1_MGF1(db, (long)db_size, block + db_size, (long)hash->size, hash->md()) != 0)
		return false;
	unsigned others = 0;
	size_t zeros = db_size - hash->size - 1;
	/* The block has one bit less than the modulus, which keys.c has seen to fill its bytes. */
	for (size_t i = 0; i < zeros; i++)
		others |= (unsigned)(db[i] ^ block[i]) & (i == 0 ? 0x7f : 0xff);
	return others == 0 && (db[zeros] ^ block[zeros]) == 1;
}

static bool is_pss(const struct signing_request *request, const RSA *rsa)
{
	size_t size = request->input_size;
	if (size != (size_t)RSA_size(rsa) || request->input[size - 1] != 0xbc ||
	    (request->input[0] & 0x80) != 0)
		return false;
	for (size_t i = 0; i < HASH_COUNT; i++) {
		if (is_pss_of(&hashes[i], request->input, size))
			return true;
	}
	return false;
}

/* ---- signatures ---- */

static enum signing_result sign_rsa(RSA *rsa, const struct signing_request *request,
				    uint8_t *ret_signature, size_t *ret_size)
{
	bool is_pkcs1 = request->operation == SIGNING_RSA_PKCS1;
	if (is_pkcs1 ? !is_digest_info(request) : !is_pss(request, rsa))
		return SIGNING_REFUSED;
	int size = RSA_private_encrypt((int)request->input_size, request->input, ret_signature, rsa,
				       is_pkcs1 ? RSA_PKCS1_PADDING : RSA_NO_PADDING);
	if (size <= 0)
		return SIGNING_FAILED;
	*ret_size = (size_t)size;
	return SIGNING_SIGNED;
}

static enum signing_result sign_ecdsa(EC_KEY *ec, const struct signing_request *request,
				      uint8_t *ret_signature, size_t *ret_size)
{
	unsigned size = 0;
	if (!is_digest(request))
		return SIGNING_REFUSED;
	if (ECDSA_size(ec) > KEYS_SIGNATURE_MAX ||
	    ECDSA_sign(0, request->input, (int)request->input_size, ret_signature, &size, ec) != 1)
		return SIGNING_FAILED;
	*ret_size = size;
	return SIGNING_SIGNED;
}

/* The key is shared with the one that is held, and counted. */
static enum signing_result sign(const struct held *held, const struct signing_request *request,
				uint8_t *ret_signature, size_t *ret_size)
{
	enum signing_result result = SIGNING_FAILED;
	bool is_ecdsa = request->operation == SIGNING_ECDSA;
	if ((EVP_PKEY_get_base_id(held->key) == EVP_PKEY_EC) != is_ecdsa)
		return SIGNING_REFUSED;
	if (is_ecdsa) {
		EC_KEY *ec = EVP_PKEY_get1_EC_KEY(held->key);
		if (ec != NULL)
			result = sign_ecdsa(ec, request, ret_signature, ret_size);
		EC_KEY_free(ec);
		return result;
	}
	RSA *rsa = EVP_PKEY_get1_RSA(held->key);
	if (rsa != NULL)
		result = sign_rsa(rsa, request, ret_signature, ret_size);
	RSA_free(rsa);
	return result;
}

size_t keyholder_answer(struct keyholder *keyholder, const uint8_t *request_bytes,
			size_t request_size, uint8_t *ret_answer)
{
	struct signing_request request;
	uint8_t signature[KEYS_SIGNATURE_MAX];
	if (signing_decode_request(request_bytes, request_size, &request) != 0)
		return 0;
	struct signing_answer answer = { .number = request.number,
					 .result = SIGNING_UNKNOWN_KEY,
					 .signature = signature };
	const struct held *held = find(keyholder, request.fingerprint);
	if (held != NULL)
		answer.result = sign(held, &request, signature, &answer.signature_size);
	ERR_clear_error();
	return signing_encode_answer(&answer, ret_answer);
}

/* ---- the process ---- */

/*
 * One request; nothing when there is none. A socket whose other end has gone is not looked at any
 * more; an empty message reads like that, but the socket has not hung up.
 */
static void serve(struct keyholder *keyholder, struct pollfd *place)
{
	uint8_t request[SIGNING_REQUEST_MAX + 1]; /* a longer one does not fit the format */
	uint8_t answer[SIGNING_ANSWER_MAX];
	ssize_t size = recv(place->fd, request, sizeof(request), MSG_DONTWAIT);
	if (size <= 0) {
		if (size == 0 ? (place->revents & POLLHUP) != 0 : errno != EAGAIN && errno != EINTR)
			place->fd = -1;
		return;
	}
	size_t answer_size = keyholder_answer(keyholder, request, (size_t)size, answer);
	if (answer_size > 0)
		(void)send(place->fd, answer, answer_size, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Ends by a signal; or when no socket is left, because the nanny has gone. */
static int serve_all(struct keyholder *keyholder, const struct keyholder_start *start)
{
	struct pollfd places[KEYHOLDER_SOCKETS_MAX];
	unsigned open_count = start->socket_count;
	for (unsigned i = 0; i < start->socket_count; i++)
		places[i] = (struct pollfd){ .fd = start->sockets[i], .events = POLLIN };
	while (open_count > 0) {
		if (poll(places, start->socket_count, -1) < 0 && errno != EINTR)
			return EX_OSERR;
		open_count = 0;
		for (unsigned i = 0; i < start->socket_count; i++) {
			if (places[i].fd >= 0 && places[i].revents != 0)
				serve(keyholder, &places[i]);
			open_count += places[i].fd >= 0;
		}
	}
	return EX_OK;
}

/* No core file of its memory, and no other process of its user looks into it. */
static void hide(void)
{
	const struct rlimit none = { 0, 0 };
	(void)setrlimit(RLIMIT_CORE, &none);
	(void)prctl(PR_SET_DUMPABLE, 0);
}

/*
 * Those keys that can be had. keyholder_check() has seen all of them; but when this process is made
 * again, one may have been replaced, and must not take the others with it. NULL without any.
 */
static struct keyholder *hold_some(const struct keyholder_start *start)
{
	const struct keys_chains *chains = start->chains;
	struct keyholder *keyholder = calloc(1, sizeof(*keyholder));
	for (unsigned i = 0; keyholder != NULL && i < chains->count; i++) {
		struct held *held = &keyholder->held[keyholder->count];
		struct keys_error error;
		if (hold(&chains->chains[i], held, &error) == 0)
			keyholder->count++;
		else
			log_error(start->program, "key not read, path=%s (%s)", error.path,
				  error.reason);
	}
	if (keyholder != NULL && keyholder->count > 0)
		return keyholder;
	keyholder_free(keyholder);
	return NULL;
}

int keyholder_run(const struct keyholder_start *start)
{
	if (start->socket_count > KEYHOLDER_SOCKETS_MAX) {
		log_error(start->program, "not started, edges=%u (at most %d)", start->socket_count,
			  KEYHOLDER_SOCKETS_MAX);
		return EX_SOFTWARE;
	}
	hide();
	struct keyholder *keyholder = hold_some(start);
	if (keyholder == NULL)
		return EX_CONFIG;
	int status = start->confine == NULL ? EX_OK : start->confine(start->context);
	/* A change of user resets PR_SET_DUMPABLE: hide from the new user's processes, too. */
	hide();
	if (status == EX_OK)
		status = serve_all(keyholder, start);
	keyholder_free(keyholder);
	return status;
}

/* ---- a look ---- */

struct finding {
	int status;
	struct keys_error error;
};

static _Noreturn void check_in_child(const struct keys_chains *chains, int fd)
{
	struct keyholder *keyholder = NULL;
	struct finding finding;
	memset(&finding, 0, sizeof(finding));
	hide();
	finding.status = keyholder_new(chains, &keyholder, &finding.error);
	keyholder_free(keyholder);
	for (unsigned i = 0; finding.status == 0 && i < chains->count; i++)
		if (!keys_is_in_time(&chains->chains[i], &finding.error))
			break;
	_exit(write(fd, &finding, sizeof(finding)) == sizeof(finding) ? EX_OK : EX_OSERR);
}

int keyholder_check(const struct keys_chains *chains, struct keys_error *reterr_error)
{
	int ends[2];
	struct finding finding;
	memset(reterr_error, 0, sizeof(*reterr_error));
	if (pipe2(ends, O_CLOEXEC) != 0)
		return -errno;
	pid_t child = fork();
	if (child == 0)
		check_in_child(chains, ends[1]);
	int ret = child < 0 ? -errno : 0;
	close(ends[1]);
	if (child > 0) {
		/* Smaller than PIPE_BUF: it is there as a whole or not at all. */
		if (read(ends[0], &finding, sizeof(finding)) != sizeof(finding))
			finding = (struct finding){ .status = -ECHILD };
		/* Other code of the process may wait for all children. */
		while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
			;
		ret = finding.status;
		*reterr_error = finding.error;
	}
	close(ends[0]);
	return ret;
}
