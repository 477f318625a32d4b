/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/wire/mechanism.h"

#include "lib/wire/word.h"

static const char *const mechanisms[] = { "PLAIN",	 "LOGIN",	  "CRAM-MD5",
					  "SCRAM-SHA-1", "SCRAM-SHA-256", "SCRAM-SHA-512",
					  "XOAUTH2",	 "OAUTHBEARER",	  "NTLM",
					  "EXTERNAL",	 "ANONYMOUS" };

const char *mechanism_find(const char *word, size_t word_size)
{
	for (size_t i = 0; i < sizeof(mechanisms) / sizeof(mechanisms[0]); i++)
		if (word_is(word, word_size, mechanisms[i]))
			return mechanisms[i];
	return NULL;
}
