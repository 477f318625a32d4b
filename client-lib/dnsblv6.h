/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * dnsblv6.h - ask DNS blacklists about an address, from a mail server.
 *
 * Flow: the address of an SMTP client -> a handle with zones, a cache and a
 *       small resolver of its own -> a verdict, a score, and why.
 *
 * A zone of the DNSBLv6 format answers for 128 addresses at once, and a signed
 * one for whole ranges that are not listed; the handle remembers both, so most
 * questions need no DNS at all. Zones of the classic kind (RFC 5782) work too.
 *
 *     #include <dnsblv6.h>
 *     #include <stdio.h>
 *
 *     int main(void)
 *     {
 *             struct dnsblv6 *client = NULL;
 *             struct dnsblv6_ip ip;
 *             struct dnsblv6_result result;
 *
 *             if (dnsblv6_new(&client) < 0)
 *                     return 71;
 *             if (dnsblv6_set(client, "zones", "bl6.example*2 bl.example=127.0.0.[2..11]") < 0 ||
 *                 dnsblv6_set(client, "threshold", "2") < 0 || dnsblv6_start(client) < 0) {
 *                     fprintf(stderr, "%s\n", dnsblv6_error(client));
 *                     dnsblv6_free(client);
 *                     return 78;
 *             }
 *             if (dnsblv6_ip_parse("192.0.2.66", &ip) == 0 &&
 *                 dnsblv6_check(client, &ip, 2000, &result) == 0)
 *                     printf("%s, score %d\n", dnsblv6_verdict_name(result.verdict), result.score);
 *             dnsblv6_free(client);
 *             return 0;
 *     }
 *
 *     cc program.c $(pkg-config --cflags --libs dnsblv6)
 *
 * Errors. Functions that may fail return 0 (or a count) or a negative errno
 * value; dnsblv6_strerror() has a text for each. One that fails writes nothing to
 * ret_..., but for dnsblv6_peek() with -EAGAIN. What DNS does is no error of a
 * function: it is in the verdict. A context may be NULL, any other pointer where
 * that is said; elsewhere a NULL is -EINVAL.
 *
 * Threads. One handle may be used by any number of threads. dnsblv6_peek()
 * takes no lock; the others share one that is never held while a call waits.
 * dnsblv6_new(), _set(), _start() and _free() of one handle are for one thread,
 * with no other call at the same time. A thread that is cancelled (pthread_cancel(3)) in any
 * other call ends behind it.
 *
 * Forks. A handle may be started before fork(), which may come at any time.
 * Parent and children then share its cache, and each has its own sockets and
 * questions: what was submitted before belongs to the process that submitted it,
 * and is forgotten in the child without a callback. A child must ask dnsblv6_fd()
 * anew, for an event loop of its own. Each process ends its handle for itself
 * alone, with dnsblv6_free() or by exiting. The handle's descriptors are close-on-exec. A program
 * that closes all it does not know, as with closefrom(3), does so before dnsblv6_start().
 *
 * Signals. No function here is async-signal-safe but dnsblv6_peek().
 * A signal makes no call return early, and no call raises SIGPIPE.
 * The library installs no handler, starts no thread, runs no program, and
 * writes to no descriptor that is not its own.
 *
 * Time. Deadlines and TTLs are counted on CLOCK_MONOTONIC, a clock that cannot be set. On Linux it
 * stands still while the machine is suspended.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define DNSBLV6_API __attribute__((visibility("default")))
#else
#define DNSBLV6_API
#endif

struct sockaddr;
struct dnsblv6; /* a handle */

/* ---- versions ---- */

/*
 * The version of this header, which a program was compiled with. DNSBLV6_VERSION_NUMBER is one
 * number of the three, for the preprocessor and for comparisons: 0x010203 is 1.2.3.
 */
#define DNSBLV6_VERSION	      "0.1.0"
#define DNSBLV6_VERSION_MAJOR 0
#define DNSBLV6_VERSION_MINOR 1
#define DNSBLV6_VERSION_PATCH 0
#define DNSBLV6_VERSION_NUMBER                                                                     \
	((DNSBLV6_VERSION_MAJOR << 16) | (DNSBLV6_VERSION_MINOR << 8) | DNSBLV6_VERSION_PATCH)

/* DNSBLV6_VERSION of the library that runs. Static. */
DNSBLV6_API const char *dnsblv6_version(void);

/* ---- addresses ---- */

/*
 * An address in network order, as in struct in6_addr. IPv4 is IPv4-mapped
 * (::ffff:a.b.c.d), and an IPv4-mapped address is IPv4 everywhere. No other IPv6 address is: behind
 * a translator (NAT64, RFC 6052) a program takes the IPv4 address out of it. A plain value.
 */
struct dnsblv6_ip {
	uint8_t bytes[16];
};

/*
 * Reads four decimals without leading zeros, or RFC 4291 text; no brackets, no scope. -EINVAL
 * otherwise.
 */
DNSBLV6_API int dnsblv6_ip_parse(const char *text, struct dnsblv6_ip *ret_ip);
/* Takes AF_INET or AF_INET6; the port does not matter. -EAFNOSUPPORT for any other family. */
DNSBLV6_API int dnsblv6_ip_from_sockaddr(const struct sockaddr *address, struct dnsblv6_ip *ret_ip);
/* ret_text has DNSBLV6_IP_TEXT_SIZE bytes; returns the length of the text, 0 when one is NULL. */
#define DNSBLV6_IP_TEXT_SIZE 40
DNSBLV6_API size_t dnsblv6_ip_format(const struct dnsblv6_ip *ip, char *ret_text);

/* ---- a handle ---- */

/* Makes a handle, which the caller ends with dnsblv6_free(). -ENOMEM. */
DNSBLV6_API int dnsblv6_new(struct dnsblv6 **ret_client);

/*
 * Sets one option, before dnsblv6_start(). Both strings are copied. An option that is set again
 * replaces what it had, but what is said of one zone, NAME=WORD, is added: it can be said anew, and
 * is taken back with the handle alone. -EINVAL for a key or value that is refused, -EBUSY after
 * dnsblv6_start(); dnsblv6_error() then says what was wrong.
 * libdnsblv6(3) lists all keys; those that matter first:
 *
 *     zones       what to ask, in the syntax of Postfix' postscreen_dnsbl_sites:
 *                 NAME[=FILTER[=LABEL]][*WEIGHT], divided by blanks or commas. Up to 64.
 *                 LABEL is told in place of NAME, which may have a key in it; FILTER may be empty
 *     threshold   score from which on an address is listed (1)
 *     servers     ADDRESS[@PORT] ... of resolvers (those of /etc/resolv.conf), port 53
 *     on-failure  open, closed or defer: what a zone without an answer means (open)
 *     cache-size  bytes for the cache (4M)
 *     kind        addresses, names, sites or hashes: what zones are asked about, all of them, or
 *                 some by NAME=WORD (addresses)
 *     scope       global or all: are private addresses asked about, which are clear else (global)
 *     shared      directory of dnsblv6-cached, whose cache is used when it runs ("")
 */
DNSBLV6_API int dnsblv6_set(struct dnsblv6 *client, const char *key, const char *value);

/*
 * Makes the cache. No packet is sent, and no file is read but resolv.conf and the cache in
 * "shared"; without resolv.conf the resolver is 127.0.0.1, as in libc. Later resolv.conf is
 * looked at once a second while something is asked, and read again when it has changed. -EINVAL
 * when there is no zone, -ENOMEM, -EMFILE and the like; see dnsblv6_error(). Then options may be
 * set, and it may be called again. -EBUSY when it was started already. With "shared" it waits up to
 * two seconds for the daemon.
 */
DNSBLV6_API int dnsblv6_start(struct dnsblv6 *client);

/*
 * What was wrong with the last dnsblv6_set() or dnsblv6_start(): one line, never
 * NULL, borrowed until the next call of either.
 */
DNSBLV6_API const char *dnsblv6_error(const struct dnsblv6 *client);

/* Ends a handle; NULL is fine. Requests still open are forgotten without a callback. */
DNSBLV6_API void dnsblv6_free(struct dnsblv6 *client);

/*
 * Lines for a log: a zone that fell ill or recovered, a resolver that filters, a cache that may not
 * be used. level is as in syslog(3): 3 error, 4 warning, 6 information, 7 debug. Each question and
 * each answer has a line of level 7, which few logs need. A zone that has labels is called by them.
 * line has no newline and is borrowed until the hook returns. The hook is called by the thread whose call found out,
 * without a lock held, so that several threads may be in it at once; it must not call this library. It is set before
 * dnsblv6_start(); later nothing is changed.
 */
typedef void (*dnsblv6_log_fn)(void *context, int level, const char *line);
DNSBLV6_API void dnsblv6_set_log(struct dnsblv6 *client, dnsblv6_log_fn log, void *context);

/* ---- verdicts ---- */

enum dnsblv6_verdict {
	DNSBLV6_CLEAR = 0,   /* every zone that was asked answered, and the score is below the
				threshold; zones_answered is 0 for a private address, see "scope" */
	DNSBLV6_LISTED = 1,  /* the score has reached the threshold */
	DNSBLV6_UNKNOWN = 2, /* below the threshold, but a zone gave no answer: let it pass */
	DNSBLV6_DEFER = 3,   /* as UNKNOWN, and the zone's on-failure is defer: say 4xx */
};

/* "clear", "listed", "unknown" or "defer"; "invalid" for any other number. Static. */
DNSBLV6_API const char *dnsblv6_verdict_name(int verdict);

/*
 * An A record of a zone that lists: 127 and the three octets here. All zero where there is none. A
 * bitmap has no such records.
 */
struct dnsblv6_code {
	uint8_t entry; /* the first one of "zones" whose filter it fits */
	uint8_t octets[3];
};
#define DNSBLV6_CODES_MAX 12

/*
 * Bit n of each set stands for the n-th entry of "zones", from 0: UINT64_C(1) << n.
 * dnsblv6_zone_get() has the name of entry n. A plain value of 128 bytes; what is reserved is zero.
 */
struct dnsblv6_result {
	int32_t verdict; /* enum dnsblv6_verdict */
	int32_t score;	 /* sum of the weights of zones_listed, and of those of zones_failed whose
			    on-failure is closed; weights may be negative */
	uint64_t zones_listed;	 /* has the address, and the filter fits */
	uint64_t zones_answered; /* gave an answer, listed or not */
	uint64_t zones_failed;	 /* gave none: silent, refused, filtered, ill, out of time */
	uint64_t zones_stale;	 /* answered by an expired entry since DNS did not (RFC 8767) */
	uint64_t zones_secure;	 /* the answer was validated by a trusted resolver (AD) */
	uint64_t zones_cached;	 /* answered out of the cache, without a question */
	uint32_t ttl_s;		 /* how long the answers behind it hold, the shortest, to a second;
				    0: none */
	uint32_t elapsed_us;	 /* from the call to the verdict; 0: out of the cache, but with
				    dnsblv6_submit(), whose verdict takes some microseconds */
	uint32_t queries;	 /* DNS questions that this call caused; those of a probe
				    count when it is over */
	uint32_t is_due;	 /* of dnsblv6_peek(): 1 when there is an answer, and something to
				    be asked behind it, as a peek asks nothing; see there */
	uint32_t reserved[2];
	struct dnsblv6_code codes[DNSBLV6_CODES_MAX]; /* those that there is a place for */
};

/*
 * What the cache alone says. No system call, lock or allocation: some tens of nanoseconds.
 * 0: *ret_result is complete. -EAGAIN: something is not cached; *ret_result has the rest, zones
 * neither answered nor failed are missing, and the verdict is DNSBLV6_LISTED if the score is
 * reached already, else DNSBLV6_UNKNOWN. When is_due is set, an answer is near the end of its TTL
 * or a zone is to be probed: dnsblv6_submit() or dnsblv6_check() of the same address asks, and
 * answers out of the cache. Without that, a program that peeks first waits for DNS each time that a
 * TTL is over. -EINVAL as dnsblv6_check().
 */
DNSBLV6_API int dnsblv6_peek(const struct dnsblv6 *client, const struct dnsblv6_ip *ip,
			     struct dnsblv6_result *ret_result);

/*
 * Gets the verdict, and waits for DNS for at most timeout_ms (1 to 3600000) in all; a zone that has
 * not answered by then has failed. 0, or -EINVAL for a bad argument, or a handle that is not
 * started, or has no zone of the kind addresses. Nothing that DNS, a resolver or the cache daemon
 * does makes it late or makes it fail.
 */
DNSBLV6_API int dnsblv6_check(struct dnsblv6 *client, const struct dnsblv6_ip *ip, int timeout_ms,
			      struct dnsblv6_result *ret_result);

/*
 * dnsblv6_peek() and dnsblv6_check() of some entries of "zones" alone: zones is a set of bits as in
 * struct dnsblv6_result, 0 for all. Bits of no entry are ignored, and a set of nothing else is
 * -EINVAL. dnsblv6_zone_set() makes a set of names.
 */
DNSBLV6_API int dnsblv6_peek_zones(const struct dnsblv6 *client, const struct dnsblv6_ip *ip,
				   uint64_t zones, struct dnsblv6_result *ret_result);
DNSBLV6_API int dnsblv6_check_zones(struct dnsblv6 *client, const struct dnsblv6_ip *ip,
				    uint64_t zones, int timeout_ms,
				    struct dnsblv6_result *ret_result);

/*
 * dnsblv6_check() for count addresses at once, in one deadline; ret_results has count places.
 * Of none, both may be NULL. Without memory for the places it fails, with -ENOMEM.
 */
DNSBLV6_API int dnsblv6_check_batch(struct dnsblv6 *client, const struct dnsblv6_ip *ips,
				    size_t count, int timeout_ms,
				    struct dnsblv6_result *ret_results);

/*
 * dnsblv6_peek_zones() and dnsblv6_check_zones() about a name, in the zones whose "kind" is not
 * addresses. name is that of a domain (a host of a URL, a sender's domain), in any case, which is
 * asked for as it is: what stands outside ASCII as A-labels (RFC 5890), and cut to what the list
 * has, when it has registered domains only.
 * Or it is an IPv4 address out of a URL, of which zones of the kind sites alone are asked; the
 * others neither answer nor fail. Zones of the kind hashes are asked when zones names them, and
 * name is the hash as the list wants it, in one label or more.
 * -EINVAL also for what is no name (RFC 1035: up to 253 letters, digits, "-", "_" and dots, labels
 * of up to 63), and when zones has nothing that is asked about names.
 */
DNSBLV6_API int dnsblv6_peek_name(const struct dnsblv6 *client, const char *name, uint64_t zones,
				  struct dnsblv6_result *ret_result);
DNSBLV6_API int dnsblv6_check_name(struct dnsblv6 *client, const char *name, uint64_t zones,
				   int timeout_ms, struct dnsblv6_result *ret_result);

/* ---- event loops ---- */

/*
 * In a loop that can wait for one descriptor and for a time:
 *
 *     watch dnsblv6_fd() for reading;
 *     when it is readable, or dnsblv6_timeout_ms() are over: dnsblv6_process();
 *
 * Ask for the time before each wait: any other call may change it. The descriptor is
 * for level-triggered waiting: dnsblv6_process() may leave something for the next turn.
 * Another thread may submit and check while the loop waits: the descriptor becomes readable when
 * that leaves something to do before the time that the loop was told.
 *
 * Callbacks are called by dnsblv6_process() alone, in its thread, never by
 * dnsblv6_submit(). Where the loop is in another thread, one may come before dnsblv6_submit() has
 * returned, and finds *ret_id set. They may call all but dnsblv6_process() and dnsblv6_free(); what
 * waits holds up the loop, so dnsblv6_reason() is given 0 there. result is borrowed
 * until the callback returns.
 */
typedef void (*dnsblv6_fn)(void *context, const struct dnsblv6_result *result);

/*
 * Becomes readable when there is work; borrowed until dnsblv6_free(), before which a loop lets go of
 * it; another one after fork(), also where its number is the same. -EINVAL before the start, or
 * -EBADF in a child without descriptors.
 */
DNSBLV6_API int dnsblv6_fd(struct dnsblv6 *client);
/*
 * Milliseconds until dnsblv6_process() has something to do by itself; 0: now, -1: nothing, also
 * before the start.
 */
DNSBLV6_API int dnsblv6_timeout_ms(struct dnsblv6 *client);

/*
 * Asks; callback gets the verdict once, within timeout_ms (1 to 3600000), unless it is
 * cancelled before. ip is copied. zones limits question and score to these entries of "zones"
 * (0: all); bits of no entry are ignored, and a set of nothing that is asked about addresses is
 * -EINVAL. ret_id may be NULL; no id is 0, or given twice. 0, -EINVAL, -ENOMEM, or -ENOBUFS when
 * "max-requests" (4096) are open: treat it as unknown. When it fails, callback is not called.
 */
DNSBLV6_API int dnsblv6_submit(struct dnsblv6 *client, const struct dnsblv6_ip *ip, uint64_t zones,
			       int timeout_ms, dnsblv6_fn callback, void *context,
			       uint64_t *ret_id);
/* dnsblv6_submit() about a name, as dnsblv6_check_name() takes it. */
DNSBLV6_API int dnsblv6_submit_name(struct dnsblv6 *client, const char *name, uint64_t zones,
				    int timeout_ms, dnsblv6_fn callback, void *context,
				    uint64_t *ret_id);
/*
 * 0: no callback comes after this. -ENOENT when it has come, or another thread has begun it, or
 * there is no such request; -EINVAL before the start.
 */
DNSBLV6_API int dnsblv6_cancel(struct dnsblv6 *client, uint64_t id);
/*
 * Reads answers, minds deadlines, calls callbacks. Does not wait. Returns how many it called, or
 * -EINVAL before the start.
 */
DNSBLV6_API int dnsblv6_process(struct dnsblv6 *client);

/* ---- reasons and names ---- */

/*
 * Text for the reply to a refused client: "192.0.2.66 is listed by bl6.example, see https://..." of
 * the first listed zone that has a text; when none has, "192.0.2.66 is listed by bl6.example". An
 * entry with a label is called by that, and the name of its zone, which may have a key in it, is
 * nowhere in the text. Of a classic zone it is the TXT record, for which DNS is asked for at most
 * timeout_ms, as it is once in a TTL for that of a zone with bitmaps which this process has not
 * probed. With 0 DNS is not asked: no classic zone has a text, and one with bitmaps that which is known. At most size
 * bytes with the NUL, printable ASCII, cut if need be; 600 are always enough. Returns the length of
 * what is written, or -EINVAL when size is 0, or -ENOENT when zones_listed is empty, also when the
 * score was made by zones that failed and whose on-failure is closed: a program needs a text of its
 * own for that.
 */
DNSBLV6_API int dnsblv6_reason(struct dnsblv6 *client, const struct dnsblv6_ip *ip,
			       const struct dnsblv6_result *result, int timeout_ms, char *ret_text,
			       size_t size);

/* dnsblv6_reason() about a name, with the result of dnsblv6_check_name(). */
DNSBLV6_API int dnsblv6_reason_name(struct dnsblv6 *client, const char *name,
				    const struct dnsblv6_result *result, int timeout_ms,
				    char *ret_text, size_t size);

/*
 * The name that is asked for ip in zone: kind is "dotted", "flat" or "classic".
 * At most size bytes with the NUL: 256 are enough for a zone without escapes, 1024 for any. Returns
 * the length, -EINVAL or -ENOSPC.
 */
DNSBLV6_API int dnsblv6_qname(const struct dnsblv6_ip *ip, const char *kind, const char *zone,
			      char *ret_name, size_t size);

/* ---- zones, statistics ---- */

enum dnsblv6_zone_state {
	DNSBLV6_ZONE_UNPROBED = 0, /* nothing was asked yet, or the first probe goes on */
	DNSBLV6_ZONE_OK = 1,
	DNSBLV6_ZONE_FILTERED = 2, /* answers are dropped: asked the classic way, if there is one */
	DNSBLV6_ZONE_WILDCARDED = 3, /* answers where nothing can be: a parked or hijacked domain */
	DNSBLV6_ZONE_LISTS_WORLD = 4, /* its test point says that everything is listed */
	DNSBLV6_ZONE_UNREACHABLE = 5, /* silence, SERVFAIL, or no such zone */
	DNSBLV6_ZONE_BLOCKED = 6,     /* REFUSED, or 127.255.255.x: we are not welcome */
	DNSBLV6_ZONE_INSECURE = 7,    /* no answers with AD any more, or against "secure" */
};

/* "ok", "lists-the-world" ...; "invalid" for any other number. Static. */
DNSBLV6_API const char *dnsblv6_zone_state_name(int state);

/* A plain value of 384 bytes; what is reserved is zero. */
struct dnsblv6_zone_info {
	char name[256]; /* without a final dot; for texts that others read, label */
	int32_t weight;
	int32_t state;	      /* enum dnsblv6_zone_state; OK and FILTERED give answers, UNREACHABLE
				 and INSECURE what is still cached, the others none */
	int32_t is_bitmap;    /* 1: asked for bitmaps; 0: the classic way */
	uint32_t state_age_s; /* for how long */
	uint64_t asked;	      /* DNS questions sent for it */
	uint64_t failures;    /* of them without a useful answer, those of probes left out */
	char label[32];	      /* of the entry: what its codes mean; "": not said */
	uint32_t reserved[16];
};

/* Entry index of "zones". -ENOENT behind the last, -EINVAL before the start. */
DNSBLV6_API int dnsblv6_zone_get(struct dnsblv6 *client, unsigned index,
				 struct dnsblv6_zone_info *ret_info);

/*
 * The entries that names is about, as a set of bits: names of zones, in any case, and labels of
 * entries as they are written, with blanks or commas between. Made once, for calls that take a
 * set. -ENOENT for a name of no entry, -EINVAL without a name or before the start.
 */
DNSBLV6_API int dnsblv6_zone_set(const struct dnsblv6 *client, const char *names,
				 uint64_t *ret_zones);

/*
 * Probes test points and canaries of all zones now and waits for at most timeout_ms. Otherwise
 * they are probed when they are first asked and then every "probe-interval". Returns
 * how many entries are OK, or -EINVAL.
 */
DNSBLV6_API int dnsblv6_probe(struct dnsblv6 *client, int timeout_ms);
/*
 * dnsblv6_probe() without waiting, for an event loop and for its callbacks: the next calls read
 * what comes, and dnsblv6_zone_get() tells. 0, -EINVAL, or -EBADF in a child without descriptors.
 */
DNSBLV6_API int dnsblv6_probe_start(struct dnsblv6 *client);

/*
 * Counters by index: 0, 1, ... while it returns 0; -ENOENT behind the last, -EINVAL before the
 * start. *ret_name is static; libdnsblv6(3) says what each counts. New ones are added at the end.
 */
DNSBLV6_API int dnsblv6_stat_get(struct dnsblv6 *client, unsigned index, const char **ret_name,
				 uint64_t *ret_value);

/* ---- another resolver ---- */

/*
 * What asks DNS in place of the library's own small resolver: one that validates by itself, or
 * that goes by DNS over TLS. libdnsblv6-unbound has one made of libunbound, dnsblv6_unbound(3).
 * The library still merges questions, caches answers and minds deadlines; the options that are
 * about servers mean nothing then.
 *
 * The functions are called by the threads that call the library, one at a time and with its lock
 * held: they do not wait, and call nothing of this library. A process has one resolver, from
 * open() to close(). In a child the copy of the parent's is closed (is_copy is 1) in a way that
 * the parent does not notice, and then open() makes the child's own. Another thread may have been in
 * any of the functions at the fork: close() of a copy takes no lock, and trusts no list.
 */

/*
 * Called once for each question, from process() alone, unless the question was cancelled. reply is
 * a DNS message of size bytes, with the NSEC records of a negative one, and borrowed until this
 * returns; its id and its AD do not matter. is_secure: it was validated. status is 0, or -EBADMSG
 * for an answer that cannot be true (bogus), or another errno value when none was to be had; then
 * there is no reply. ask() and cancel() may be called meanwhile.
 */
typedef void (*dnsblv6_reply_fn)(void *library, uint64_t id, int status, const uint8_t *reply,
				 size_t size, int is_secure);

struct dnsblv6_resolver {
	size_t size; /* sizeof(struct dnsblv6_resolver): so much of it is there */
	/* context is that of dnsblv6_set_resolver(). 0, or a negative errno value. */
	int (*open)(void *context, void **ret_resolver);
	void (*close)(void *resolver, int is_copy);
	/* Readable when process() has something to do; the same one from open() to close(). */
	int (*fd)(void *resolver);
	/* name is text with a final dot, type a number: 1 A, 16 TXT, 28 AAAA. 0, or -errno: it is
	   asked again. There is no deadline: a question that is no longer needed is cancelled. */
	int (*ask)(void *resolver, const char *name, int type, uint64_t id);
	void (*cancel)(void *resolver, uint64_t id);
	void (*process)(void *resolver, dnsblv6_reply_fn reply, void *library);
};

/*
 * Sets the resolver before dnsblv6_start(), which opens it. *resolver and context are borrowed
 * until dnsblv6_free(). NULL: the library's own. 0, -EBUSY when started, -EINVAL when a function is
 * missing.
 */
DNSBLV6_API int dnsblv6_set_resolver(struct dnsblv6 *client,
				     const struct dnsblv6_resolver *resolver, void *context);

/*
 * A descriptor of the cache of a handle with "role" writer, which is that of dnsblv6-cached: sealed
 * and for reading, to be sent to the daemon's clients. Borrowed until dnsblv6_free(). -ENOENT for
 * another handle, -EINVAL before the start.
 */
DNSBLV6_API int dnsblv6_shared_fd(const struct dnsblv6 *client);

/* ---- odds and ends ---- */

/* Never NULL; static text, not to be freed. */
DNSBLV6_API const char *dnsblv6_strerror(int status);

#ifdef __cplusplus
}
#endif
