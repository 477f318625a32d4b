/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * dnsblv6-unbound.h - libunbound as the resolver of libdnsblv6.
 *
 * Flow: settings -> dnsblv6_unbound_use() -> a handle's questions -> libunbound, which
 *       resolves, validates and speaks TLS -> the handle's cache.
 *
 * With it a handle believes no resolver's AD bit: an answer is secure when its signatures lead
 * to a trust anchor of the program's own, and one that cannot be true is a failure.
 *
 *     struct dnsblv6_unbound *resolver = NULL;
 *     struct dnsblv6 *client = NULL;
 *
 *     if (dnsblv6_unbound_new(&resolver) < 0 || dnsblv6_new(&client) < 0)
 *             return 71;
 *     if (dnsblv6_unbound_set(resolver, "trust-anchor-file", "/usr/share/dns/root.key") < 0 ||
 *         dnsblv6_unbound_set(resolver, "forward", "192.0.2.53@853#dns.example") < 0 ||
 *         dnsblv6_unbound_set(resolver, "tls", "yes") < 0 ||
 *         dnsblv6_unbound_use(resolver, client) < 0)
 *             fprintf(stderr, "%s\n", dnsblv6_unbound_error(resolver));
 *     // dnsblv6_set(client, "zones", ...), dnsblv6_start(client), and so on
 *     dnsblv6_free(client);
 *     dnsblv6_unbound_free(resolver);
 *
 * libunbound does its work in a thread of its own, which begins with the first question of a
 * process and ends with dnsblv6_free(). dnsblv6_unbound(3) says what that means for programs
 * that fork.
 */

#include <dnsblv6.h>

#ifdef __cplusplus
extern "C" {
#endif

struct dnsblv6_unbound; /* opaque */

/* Makes a resolver, which the caller ends after the handles that use it. -ENOMEM. */
DNSBLV6_API int dnsblv6_unbound_new(struct dnsblv6_unbound **ret_resolver);
DNSBLV6_API void dnsblv6_unbound_free(struct dnsblv6_unbound *resolver);

/*
 * Makes one setting, before dnsblv6_unbound_use(). Both strings are copied. Each key may be set
 * several times:
 *
 *     trust-anchor       a DS or DNSKEY record, as dnsblv6-zone ds prints it
 *     trust-anchor-file  a file of them
 *     forward            ADDRESS[@PORT][#NAME]: asks there, and does not recurse by itself
 *     tls                yes or no: to there by DNS over TLS; NAME is that of the certificate
 *     stub               ZONE=ADDRESS[@PORT]: asks there what is below ZONE, without TLS
 *     resolv-conf        a file whose name servers are as "forward"
 *     config             a file as unbound.conf(5)
 *
 * Any other key is one of the section server of unbound.conf(5), such as tls-cert-bundle.
 * -EINVAL when libunbound refuses it, -ENOSPC after DNSBLV6_UNBOUND_SETTINGS_MAX, -EBUSY, -ENOMEM.
 */
#define DNSBLV6_UNBOUND_SETTINGS_MAX 64
DNSBLV6_API int dnsblv6_unbound_set(struct dnsblv6_unbound *resolver, const char *key,
				    const char *value);

/*
 * Has client ask by resolver, before dnsblv6_start(). Files are read, and read again in each
 * process: a setting that does not do is told here, -EINVAL. Several handles may use one resolver;
 * each has a thread of its own.
 */
DNSBLV6_API int dnsblv6_unbound_use(struct dnsblv6_unbound *resolver, struct dnsblv6 *client);

/* What was wrong with the last _set() or _use(): one line, never NULL, good until the next. */
DNSBLV6_API const char *dnsblv6_unbound_error(const struct dnsblv6_unbound *resolver);

#ifdef __cplusplus
}
#endif
