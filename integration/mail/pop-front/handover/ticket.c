/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/pop-front/handover/ticket.h"

#include <string.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "integration/mail/base/handover/seal.h"
#include "integration/mail/base/users/users.h"

#define TIME_SIZE 8

/* The time has one size, so that no mailbox runs into it. */
static bool sum_of(const uint8_t *key, const char *mailbox, uint64_t made_us, uint8_t *ret_sum)
{
	uint8_t bytes[TIME_SIZE + USERS_ENTRY_SIZE];
	unsigned sum_size = 0;
	const size_t size = strnlen(mailbox, USERS_ENTRY_SIZE);
	seal_put_number(bytes, TIME_SIZE, made_us);
	memcpy(bytes + TIME_SIZE, mailbox, size);
	return HMAC(EVP_sha256(), key, TICKET_KEY_SIZE, bytes, TIME_SIZE + size, ret_sum,
		    &sum_size) != NULL &&
	       sum_size == TICKET_SUM_SIZE;
}

bool ticket_make(const uint8_t *key, const char *mailbox, uint64_t now_us,
		 struct ticket *ret_ticket)
{
	ret_ticket->made_us = now_us;
	return sum_of(key, mailbox, now_us, ret_ticket->sum);
}

bool ticket_is_good(const uint8_t *key, const char *mailbox, const struct ticket *ticket,
		    uint64_t now_us, uint64_t age_max_us)
{
	uint8_t sum[TICKET_SUM_SIZE];
	if (ticket->made_us > now_us || now_us - ticket->made_us > age_max_us)
		return false;
	return sum_of(key, mailbox, ticket->made_us, sum) &&
	       CRYPTO_memcmp(sum, ticket->sum, sizeof(sum)) == 0;
}
