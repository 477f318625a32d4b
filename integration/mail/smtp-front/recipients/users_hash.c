/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/smtp-front/recipients/users_hash.h"

#include "lib/pop3/sasl.h"
#include "lib/pop3/scram_text.h"

#include <crypt.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#define SCRAM_SALT_SIZE 16
#define BCRYPT_MAX	72 /* what is behind it would not count */

/* ---- a line ---- */

/* Of a terminal that shows nothing; 0: it did not come. */
static volatile sig_atomic_t signal_seen;

static void note_signal(int number)
{
	signal_seen = number;
}

/*
 * Without its line feed. 0 or an errno, EINTR when a signal came. Octet by octet: what is behind the
 * line is another program's.
 */
static int read_line(char *ret_line, size_t *ret_size)
{
	size_t size = 0;
	char c = '\0';
	ssize_t got;
	while ((got = read(STDIN_FILENO, &c, 1)) == 1 && c != '\n') {
		if (size < USERS_HASH_PASSWORD_SIZE)
			ret_line[size] = c;
		size++;
	}
	*ret_size = size;
	return got < 0 ? errno : 0;
}

static const char *check(char *line, size_t size)
{
	if (size > USERS_HASH_PASSWORD_SIZE - 1 || !sasl_is_text(line, size))
		return "permitted are 1 to 255 octets of UTF-8 without control characters";
	line[size] = '\0';
	return NULL;
}

static const char *read_once(char *ret_password, int *ret_errno)
{
	size_t size = 0;
	*ret_errno = read_line(ret_password, &size);
	return *ret_errno != 0 ? "not read" : check(ret_password, size);
}

/* ---- a terminal ---- */

static const int signals[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP };

enum { SIGNAL_COUNT = sizeof(signals) / sizeof(signals[0]) };

struct terminal {
	struct termios before;
	struct sigaction actions[SIGNAL_COUNT];
};

/* A signal ends the read, so that the terminal is as it was before the signal has its effect. */
static void hide(struct terminal *terminal)
{
	struct termios hidden = terminal->before;
	struct sigaction note = { .sa_handler = note_signal };
	sigemptyset(&note.sa_mask);
	for (size_t i = 0; i < SIGNAL_COUNT; i++)
		sigaction(signals[i], &note, &terminal->actions[i]);
	hidden.c_lflag &= ~(tcflag_t)ECHO;
	hidden.c_lflag |= ECHONL;
	tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden);
}

static void show(const struct terminal *terminal)
{
	tcsetattr(STDIN_FILENO, TCSAFLUSH, &terminal->before);
	for (size_t i = 0; i < SIGNAL_COUNT; i++)
		sigaction(signals[i], &terminal->actions[i], NULL);
	if (signal_seen != 0)
		raise(signal_seen);
}

static const char *ask_twice(char *ret_password, int *ret_errno)
{
	char again[USERS_HASH_PASSWORD_SIZE];
	fputs("Password: ", stderr);
	const char *reason = read_once(ret_password, ret_errno);
	if (reason != NULL)
		return reason;
	fputs("Again: ", stderr);
	reason = read_once(again, ret_errno);
	if (reason == NULL && strcmp(again, ret_password) != 0)
		reason = "the second is another";
	explicit_bzero(again, sizeof(again));
	return reason;
}

const char *users_hash_read(char *ret_password, int *ret_errno)
{
	struct terminal terminal;
	if (tcgetattr(STDIN_FILENO, &terminal.before) != 0)
		return read_once(ret_password, ret_errno);
	hide(&terminal);
	const char *reason = ask_twice(ret_password, ret_errno);
	show(&terminal);
	return reason;
}

/* ---- hashes ---- */

/* Each takes about as long as yescrypt does by its default; those of libcrypt for the others are old. */
static const struct row {
	const char *name;
	const char *prefix;
	unsigned long cost; /* 0: the default */
} rows[] = {
	[USERS_HASH_YESCRYPT] = { "yescrypt", "$y$", 0 },
	[USERS_HASH_SHA512] = { "sha512", "$6$", 50000 },
	[USERS_HASH_BCRYPT] = { "bcrypt", "$2b$", 10 },
};

bool users_hash_find(const char *name, enum users_hash_method *ret_method)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strcmp(rows[i].name, name) == 0) {
			*ret_method = (enum users_hash_method)i;
			return true;
		}
	}
	return false;
}

const char *users_hash_make(enum users_hash_method method, const char *password, char *ret_word)
{
	char setting[CRYPT_GENSALT_OUTPUT_SIZE];
	struct crypt_data data = { .initialized = 0 };
	if (method == USERS_HASH_BCRYPT && strlen(password) > BCRYPT_MAX)
		return "bcrypt looks at 72 octets, and the password has more";
	if (crypt_gensalt_rn(rows[method].prefix, rows[method].cost, NULL, 0, setting,
			     sizeof(setting)) == NULL)
		return "libcrypt does not know the method";
	const char *hash = crypt_r(password, setting, &data);
	int size = -1;
	if (hash != NULL && hash[0] == '$')
		size = snprintf(ret_word, USERS_HASH_WORD_SIZE, "password=%s", hash);
	explicit_bzero(&data, sizeof(data));
	return size > 0 && size < USERS_HASH_WORD_SIZE ? NULL : "libcrypt has failed";
}

const char *users_hash_make_scram(uint32_t iterations, const char *password, char *ret_word)
{
	static const char name[] = "scram=";
	struct scram_keys keys = { .salt_size = SCRAM_SALT_SIZE, .iterations = iterations };
	_Static_assert(sizeof(name) + SCRAM_TEXT_SIZE <= USERS_HASH_WORD_SIZE, "a word has room");
	if (getentropy(keys.salt, SCRAM_SALT_SIZE) != 0)
		return "no random salt";
	if (!scram_derive(password, &keys))
		return "libcrypto has failed";
	memcpy(ret_word, name, sizeof(name) - 1);
	scram_text_print(&keys, ret_word + sizeof(name) - 1);
	explicit_bzero(&keys, sizeof(keys));
	return NULL;
}
