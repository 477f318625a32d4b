/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/pop-front/facts/poplimits.h"

#include "lib/common/version.h"

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
