/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/pop-front/facts/poplimits.h"

#include "lib/common/version.h"

/* Of the store, behind one another: a connection and the lock, and both again where the first had ended. */
#define ANSWERS_MAX 4

void poplimits_make(const struct popsetup *setup, struct pop3_limits *ret_limits)
{
	*ret_limits = (struct pop3_limits){
		.errors_max = setup->limits.errors_max,
		.logins_max = setup->login.failures_max,
		.commands_max = setup->limits.commands_max,
		.ways = setup->login.ways,
		.offers_tls = setup->tls.certificate_count > 0,
		.requires_tls = setup->login.requires_tls,
		.offers_utf8 = true,
		.hostname = setup->pop.hostname,
		.implementation = "DNSBLv6 pop-front " DNSBLV6_VERSION,
	};
}

unsigned poplimits_silence_ms(const struct popsetup *setup)
{
	const struct popsetup_limits *limits = &setup->limits;
	return limits->idle_timeout_ms + limits->send_timeout_ms +
	       ANSWERS_MAX * setup->store_timeout_ms;
}
