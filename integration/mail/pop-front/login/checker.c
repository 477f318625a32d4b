/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/pop-front/login/checker.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sysexits.h>

#include <openssl/crypto.h>

#include "integration/mail/base/users/users_password.h"
#include "integration/mail/pop-front/facts/popcount.h"
#include "integration/mail/pop-front/login/logincache.h"
#include "lib/common/log.h"
#include "lib/pop3/base64.h"
#include "lib/pop3/scram_text.h"
#include "lib/process/clock.h"

static const char context[] = "pop-front";

#define NICE		10
#define MOCK_ITERATIONS 4096 /* what RFC 7677 wants, and what smtp-front-users gives */
#define NONCE_BYTES	18   /* whose base64 has no padding */

_Static_assert(BASE64_SIZE(NONCE_BYTES) < CHECK_NONCE_SIZE, "a nonce has room");

struct checker {
	const struct nanny_child *child;
	const struct popsetup_login *login;
	const struct checker_keys *keys;
	struct users *users;
	struct logincache *cache;
	struct users_password *password;
	bool has_failed; /* the users could not be read when they last were to be */
};

/* What the database has about a name. */
struct known {
	bool is_known;
	struct users_secret secret;
	char mailbox[USERS_ENTRY_SIZE];
};

static void count(const struct checker *checker, enum popcount_number number)
{
	bank_add(checker->child->counters, number, 1);
}

/* No user gets in then: one line says so, and one that it is over. */
static void note_users(struct checker *checker, int found)
{
	const char *path = checker->login->users;
	if (found < 0 && !checker->has_failed)
		log_error(context, "users not read, path=%s (%s)", path, users_strerror(found));
	else if (found >= 0 && checker->has_failed)
		log_info(context, "users read again, path=%s", path);
	checker->has_failed = found < 0;
}

/* False: the database cannot be asked. */
static bool find(struct checker *checker, const char *user, struct known *ret_known)
{
	memset(ret_known, 0, sizeof(*ret_known));
	const int found = users_find_secret(checker->users, user, strlen(user), ret_known->mailbox,
					    &ret_known->secret);
	note_users(checker, found);
	ret_known->is_known = found == USERS_VALID;
	return found >= 0;
}

/* ---- passwords ---- */

static bool is_password(struct checker *checker, const struct known *known, const char *password)
{
	const bool has_crypt = known->secret.password[0] != '\0';
	const struct logincache_login login = {
		known->mailbox, has_crypt ? known->secret.password : known->secret.scram, password
	};
	if (!known->is_known || login.hash[0] == '\0')
		return users_password_is(checker->password, NULL, password);
	if (logincache_has(checker->cache, &login, clock_now_ms())) {
		count(checker, POP_CHECKS_CACHED);
		return true;
	}
	const bool is_right = users_password_is(checker->password, &known->secret, password);
	if (is_right)
		logincache_put(checker->cache, &login, clock_now_ms());
	return is_right;
}

static enum check_answer answer_password(struct checker *checker,
					 const struct check_request *request,
					 struct check_reply *reply)
{
	struct known known;
	enum check_answer answer = CHECK_FAILED;
	if (find(checker, request->user, &known)) {
		answer = is_password(checker, &known, request->password) ? CHECK_YES : CHECK_NO;
		if (answer == CHECK_YES)
			memcpy(reply->mailbox, known.mailbox, sizeof(reply->mailbox));
	}
	OPENSSL_cleanse(&known, sizeof(known));
	return answer;
}

/* ---- SCRAM ---- */

/* Keys of a user, or such as look like a user's. False: they cannot be had. */
static bool find_keys(struct checker *checker, const char *user, struct known *ret_known,
		      struct scram_keys *ret_keys)
{
	const char *text = ret_known->secret.scram;
	if (!find(checker, user, ret_known))
		return false;
	if (ret_known->is_known && text[0] != '\0')
		return scram_text_parse(text, strlen(text), ret_keys) == NULL;
	/* A user's are the same however the name is written. */
	const char *name = ret_known->mailbox[0] != '\0' ? ret_known->mailbox : user;
	return scram_mock(checker->keys->salts, sizeof(checker->keys->salts), name, MOCK_ITERATIONS,
			  ret_keys);
}

/* The exchange up to the challenge, as it was or is. CHECK_CHALLENGE, or why not. */
static enum check_answer challenge(struct checker *checker, const struct check_request *request,
				   const char *nonce, struct scram *scram,
				   struct check_reply *reply)
{
	struct known known;
	struct scram_keys keys;
	scram_init(scram);
	if (scram_first(scram, request->first, request->first_size) != SASL_FINE)
		return CHECK_MALFORMED;
	const bool has_found = find_keys(checker, scram->user, &known, &keys);
	if (has_found) {
		reply->text_size = (uint16_t)scram_challenge(scram, &keys, nonce, reply->text);
		memcpy(reply->mailbox, known.mailbox, sizeof(reply->mailbox));
	}
	OPENSSL_cleanse(&known, sizeof(known));
	OPENSSL_cleanse(&keys, sizeof(keys));
	return has_found ? CHECK_CHALLENGE : CHECK_FAILED;
}

static enum check_answer answer_first(struct checker *checker, const struct check_request *request,
				      struct check_reply *reply)
{
	uint8_t random[NONCE_BYTES];
	struct scram scram;
	if (getentropy(random, sizeof(random)) != 0)
		return CHECK_FAILED;
	(void)base64_encode(random, sizeof(random), reply->nonce);
	const enum check_answer answer = challenge(checker, request, reply->nonce, &scram, reply);
	OPENSSL_cleanse(&scram, sizeof(scram));
	return answer;
}

static enum check_answer answer_final(struct checker *checker, const struct check_request *request,
				      struct check_reply *reply)
{
	static const enum check_answer answers[] = {
		[SASL_FINE] = CHECK_YES,	  [SASL_MALFORMED] = CHECK_MALFORMED,
		[SASL_FOREIGN] = CHECK_MALFORMED, [SASL_BINDING] = CHECK_MALFORMED,
		[SASL_WRONG] = CHECK_NO,	  [SASL_FAILED] = CHECK_FAILED,
	};
	struct scram scram;
	size_t size = 0;
	enum check_answer answer = challenge(checker, request, request->nonce, &scram, reply);
	if (answer == CHECK_CHALLENGE) {
		reply->text_size = 0;
		answer = answers[scram_final(&scram, request->final, request->final_size,
					     reply->text, &size)];
		if (answer == CHECK_YES)
			reply->text_size = (uint16_t)size;
	}
	OPENSSL_cleanse(&scram, sizeof(scram));
	return answer;
}

/* ---- requests ---- */

void checker_answer(struct checker *checker, const struct check_request *request,
		    struct check_reply *ret_reply)
{
	memset(ret_reply, 0, sizeof(*ret_reply));
	ret_reply->serial = request->serial;
	count(checker, POP_CHECKS);
	if (!check_request_is_valid(request)) {
		count(checker, POP_CHECKS_BAD);
		ret_reply->answer = CHECK_MALFORMED;
	} else if (request->kind == CHECK_PASSWORD) {
		ret_reply->answer = (uint8_t)answer_password(checker, request, ret_reply);
	} else if (request->kind == CHECK_SCRAM_FIRST) {
		ret_reply->answer = (uint8_t)answer_first(checker, request, ret_reply);
	} else {
		ret_reply->answer = (uint8_t)answer_final(checker, request, ret_reply);
	}
	if (ret_reply->answer == CHECK_YES &&
	    !ticket_make(checker->keys->tickets, ret_reply->mailbox, clock_now_us(),
			 &ret_reply->ticket))
		ret_reply->answer = CHECK_FAILED;
	/* A name that is known is told with the right password alone. */
	if (ret_reply->answer != CHECK_YES)
		memset(ret_reply->mailbox, 0, sizeof(ret_reply->mailbox));
}

/* False: this edge has ended. */
static bool serve_edge(struct checker *checker, int fd)
{
	struct check_request request;
	struct check_reply reply;
	const ssize_t size = recv(fd, &request, sizeof(request), MSG_DONTWAIT | MSG_TRUNC);
	if (size < 0)
		return errno == EAGAIN || errno == EINTR; /* another checker was faster */
	if (size == 0)
		return false;
	if (size == (ssize_t)sizeof(request)) {
		checker_answer(checker, &request, &reply);
		OPENSSL_cleanse(&request, sizeof(request));
		/*
		 * There is room for all that an edge may have open. A broken one, which asks for more
		 * and does not listen, has no answer: the others are not to wait for it.
		 */
		(void)send(fd, &reply, sizeof(reply), MSG_NOSIGNAL | MSG_DONTWAIT);
		OPENSSL_cleanse(&reply, sizeof(reply));
	} else {
		count(checker, POP_CHECKS_BAD);
	}
	return true;
}

static int serve(struct checker *checker)
{
	const struct nanny_child *child = checker->child;
	struct pollfd pollers[LISTENERS_EDGES_MAX];
	unsigned open_count = child->check_count;
	for (unsigned i = 0; i < child->check_count; i++)
		pollers[i] = (struct pollfd){ .fd = child->check_fds[i], .events = POLLIN };
	while (open_count > 0) {
		if (poll(pollers, child->check_count, -1) < 0 && errno != EINTR)
			return EX_OSERR;
		for (unsigned i = 0; i < child->check_count; i++) {
			if (pollers[i].fd < 0 || pollers[i].revents == 0)
				continue;
			if (serve_edge(checker, pollers[i].fd))
				continue;
			pollers[i].fd = -1;
			open_count--;
		}
	}
	return EX_OK;
}

/* ---- begin and end ---- */

int checker_open(const struct nanny_child *child, const struct checker_keys *keys,
		 struct checker **ret_checker)
{
	const struct popsetup *setup = child->setup;
	const struct popsetup_login *login = &setup->login;
	struct checker *checker = calloc(1, sizeof(*checker));
	if (checker == NULL)
		return EX_OSERR;
	checker->child = child;
	checker->login = login;
	checker->keys = keys;
	const int ret = users_open(login->users, &checker->users);
	if (ret != 0) {
		log_error(context, "users not opened, path=%s (%s)", login->users,
			  users_strerror(ret));
		checker_close(checker);
		return EX_NOINPUT;
	}
	if (logincache_new(login->cache_ms, &checker->cache) != 0 ||
	    users_password_new(&checker->password) != 0) {
		log_error(context, "checker not started, index=%u (no memory, or no hash of crypt)",
			  child->index);
		checker_close(checker);
		return EX_OSERR;
	}
	*ret_checker = checker;
	return EX_OK;
}

void checker_close(struct checker *checker)
{
	if (checker == NULL)
		return;
	users_close(checker->users);
	logincache_free(checker->cache);
	users_password_free(checker->password);
	OPENSSL_cleanse(checker, sizeof(*checker));
	free(checker);
}

int checker_run(const struct nanny_child *child, const struct checker_keys *keys)
{
	struct checker *checker = NULL;
	/* Sessions that are logged in go first. */
	(void)setpriority(PRIO_PROCESS, 0, NICE);
	int status = checker_open(child, keys, &checker);
	if (status == EX_OK && child->confine != NULL)
		status = child->confine(child->context);
	if (status == EX_OK)
		status = serve(checker);
	checker_close(checker);
	return status;
}
