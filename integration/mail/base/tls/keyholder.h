/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * keyholder.h - the only process that has private keys.
 *
 * Flow: the nanny forks -> keyholder_run(): the keys are read, as root -> start->confine() -> for
 *       each edge a socket: signing_decode_request() -> a signature -> signing_encode_answer().
 * This file alone knows what may be signed: it is that which TLS 1.2 and 1.3 have signed, and
 * nothing else. An edge in foreign hands can have handshakes signed as long as it lives; it can
 * neither have the key nor decrypt with it. For that, what is to be raised to the private exponent
 * without any padding must be a block of PSS: its shape is tried (RFC 8017, 9.1.2), and no
 * ciphertext has it. With PKCS#1 it must be the DigestInfo of a SHA-2, and for ECDSA a digest of
 * the size of a SHA-2.
 *
 * The process lives until it is ended by a signal: it has no state but the keys. Its sockets stay
 * when it dies, for the nanny keeps both of their ends: requests wait in them for the next
 * keyholder. Requests are answered in turn, one of each edge; an edge that does not read its
 * answers loses them.
 */

#include "integration/mail/base/tls/keys.h"

#ifdef __cplusplus
extern "C" {
#endif

#define KEYHOLDER_SOCKETS_MAX 128 /* edges of two generations */

struct keyholder_start {
	const char *program;		  /* in the log */
	const struct keys_chains *chains; /* of this generation */
	const int *sockets;		  /* the keyholder's ends, SOCK_SEQPACKET */
	unsigned socket_count;
	/*
	 * Called when the keys are there: gives up root, descriptors that are not among sockets,
	 * and system calls. 0, or an exit status, which is returned. May be NULL. What is needed
	 * afterwards: poll, recvfrom, sendto, write to standard error, getrandom, memory,
	 * futex, exit.
	 */
	int (*confine)(void *context);
	void *context;
};

/*
 * Does not return, but an exit status: EX_CONFIG when no key could be read. Those that could not
 * are logged, and what is asked of them is answered with a no.
 */
int keyholder_run(const struct keyholder_start *start);

/*
 * Would keyholder_run() take these? Looked at in a process of its own, so that no key comes into
 * this one: for --check, and before a generation is made by SIGHUP. 0, or a negative status and
 * *reterr_error. With 0 that has a reason, too, where clients will refuse a certificate for its time.
 */
int keyholder_check(const struct keys_chains *chains, struct keys_error *reterr_error);

/* ---- for its own and the tests ---- */

struct keyholder;

/* 0, -errno or -EBADMSG. */
int keyholder_new(const struct keys_chains *chains, struct keyholder **ret_keyholder,
		  struct keys_error *reterr_error);
void keyholder_free(struct keyholder *keyholder);

/*
 * The answer to one message; ret_answer has SIGNING_ANSWER_MAX bytes. Returns its size, or 0 for
 * a message that is none, to which nothing is said.
 */
size_t keyholder_answer(struct keyholder *keyholder, const uint8_t *request, size_t request_size,
			uint8_t *ret_answer);

#ifdef __cplusplus
}
#endif
