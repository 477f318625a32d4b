/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * cache.h - what was answered before: a table of 32-byte slots.
 *
 * Flow: fetch.c -> cache_put() -> slots -> cache_get() <- look.c
 *       ranges.c keeps what NSEC proves in slots of its own kind.
 *
 * Readers take no lock. A slot is four 64-bit words, read and written with relaxed atomics, and one
 * of them carries a checksum over the others: a torn write, a write whose writer was killed, a
 * damaged page, all read as a miss. Two writers of one slot make a miss at worst. The table may be
 * private, shared with forked children (it always is), or memory of which other processes get a
 * descriptor and which they map read-only.
 * By chance one torn slot in 2^24 has a checksum that fits.
 *
 *     OFFSET  SIZE  DESCRIPTION of a slot
 *        0      8   key: zone (6 bits), family and kind of key (1), block or hash (57)
 *        8     16   payload: a bitmap, values, or nothing
 *       24      8   expiry (28 bits, seconds since the table's epoch), kind (4),
 *                   flags (4), TTL class (4), checksum (24)
 *
 * Each zone has an era, a number that the checksums of its slots are made with. A new era makes
 * void at once what was put into the zone before, for all processes that share the table, and costs
 * nothing: its slots read as a miss, as torn ones do, and are free for others.
 *
 * Four slots are a set, which a key is hashed to with the table's own random seed.
 * When all four are live a key goes away into another set, if there is room; its own set
 * tells how many of its keys have, so that most misses read one set and hits do not read more.
 *
 * Time is CLOCK_MONOTONIC_COARSE in seconds: the same in all processes of a machine,
 * never set, read without a system call.
 */

#include "lib/format/address.h"
#include "lib/format/bitmap.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CACHE_SLOT_SIZE 32
#define CACHE_ZONES_MAX 64

struct cache; /* opaque */

enum cache_kind {
	CACHE_BITMAP = 1, /* listings of a block; an empty one: nothing listed */
	CACHE_VALUES = 2, /* classic: up to four A records, in the payload */
	CACHE_LOW = 3,	  /* classic: A records 127.0.0.n, n below 128, as bits of the payload */
	CACHE_FAILED = 4, /* no answer: byte 0 of the payload is an enum answer_failure */
	CACHE_RANGE = 5,  /* ranges.c: which of 128 parts of a range are proven empty */
	CACHE_PAIRS = 6, /* classic: up to eight A records 127.0.x.y, the last two octets of each */
};

/* Byte 0 of the payload of a CACHE_FAILED entry: what answer.h found. Append only. */
enum answer_failure {
	ANSWER_GOOD = 0,
	ANSWER_SILENT = 1,    /* no reply in time */
	ANSWER_NETWORK = 2,   /* no resolver there: ICMP, no route, no descriptor */
	ANSWER_SERVFAIL = 3,  /* SERVFAIL and every other RCODE that is none of those here */
	ANSWER_BLOCKED = 4,   /* REFUSED, prohibited (EDE 18), 127.255.255.x */
	ANSWER_LYING = 5,     /* two AAAA, a CNAME, an A outside 127/8 */
	ANSWER_FILTERED = 6,  /* NOERROR without the AAAA that must be there */
	ANSWER_FOREIGN = 7,   /* "no such name" of another zone */
	ANSWER_LATE = 8,      /* its TTL was over before it was read */
	ANSWER_MISASKED = 9,  /* the list has no answer to such a question: 127.0.1.255 */
	ANSWER_UNPROVEN = 10, /* a listing, of a zone that was not seen to deny what it must */
	ANSWER_INSECURE = 11, /* no AD, of a zone that has it */
};

struct cache_entry {
	enum cache_kind kind;
	bool is_secure;
	bool is_stale;	    /* kept beyond its TTL because DNS failed (RFC 8767) */
	uint32_t expires_s; /* on the clock of cache_now_s() */
	uint32_t ttl_s; /* what it had when it was put, rounded down to a class: for prefetching */
	struct dnsblv6_bitmap payload;
};

/* What a slot is about. Plain value, made by the two below, or by cache_key_range(). */
struct cache_key {
	uint64_t word;
};

/* The /25 or /57 of addr. zone is below CACHE_ZONES_MAX. */
struct cache_key cache_key_block(unsigned zone, struct dnsblv6_addr addr);
/* One address, for classic answers: IPv4 exactly, IPv6 as 56 bits of a hash with the table's seed.
 */
struct cache_key cache_key_address(const struct cache *cache, unsigned zone,
				   struct dnsblv6_addr addr);

/*
 * A table of at most size_bytes, header (2176 bytes) included, at least CACHE_SIZE_MIN, in
 * whole pages of 4 kB. All of it is taken at once: nothing grows later, and a
 * look-up causes no page fault. 129 bytes a set. Shared with children. -ENOMEM, -EINVAL.
 */
#define CACHE_SIZE_MIN 8192
int cache_new(uint64_t size_bytes, struct cache **ret_cache);
void cache_free(struct cache *cache);

/*
 * The table of dnsblv6-cached: memory that only this process writes to, and that cannot be made
 * shorter, whatever descriptor of it others get (memfd_create(2), sealed). A file that is mapped
 * could be cut short, and then SIGBUS would kill all that read it.
 *
 * path is a copy, which is never mapped: each put is written to it as well, at once or in
 * cache_release(), so that the next writer goes on with what this one has known, whether it ended or
 * was killed. The file is made beside path and renamed over it, mode 0640, as names of zones may have keys in
 * them; its blocks allocated at once so that a full disk is told here (-ENOSPC). zones are the names whose
 * indices keys use, in presentation form. A copy that is there and fits (version, size, zones, owner, and made
 * since the machine started) is read; any other is replaced. Its writer holds a lock on PATH.lock, mode 0600,
 * until it ends in any way; a second one gets -EBUSY. The directory must be writable by its owner alone.
 * cache_free() leaves the file, and the table retired: not current for its readers.
 */
int cache_create_shared(const char *path, uint64_t size_bytes, const char *const *zones,
			unsigned zone_count, struct cache **ret_cache);
/* A descriptor of it for readers, borrowed; -ENOENT for a table of another kind. */
int cache_shared_fd(const struct cache *cache);

/*
 * From cache_hold() to cache_release(), which are one thread's at a time, puts are in the table at
 * once, and in the copy with the latter: a writer that is killed in between has lost its last
 * answers. What is not an answer, the zones' words and what is forgotten, is never held.
 * cache_forget_held(), in a child: the copy is its parent's to write.
 */
void cache_hold(struct cache *cache);
void cache_release(struct cache *cache);
void cache_forget_held(struct cache *cache);

/*
 * The same, read-only, for others, from a descriptor that is borrowed. -EPROTO when it is not
 * sealed as above, so that it could be cut short, or no table of this version.
 */
int cache_map_shared(int fd, struct cache **ret_cache);
/* Is it this table that fd is of? */
bool cache_is_same(const struct cache *cache, int fd);
/* Has its writer ended, as it should? */
bool cache_is_retired(const struct cache *cache);
/*
 * Gives the memory of a mapped table back. Any thread may be reading it just now: it finds zeros,
 * and so nothing, until cache_free().
 */
void cache_shed(struct cache *cache);
/* Which index zone (presentation form, without final dot) has in it; -ENOENT. */
int cache_zone_index(const struct cache *cache, const char *zone);

/*
 * Its writer is at work at now_ms, on CLOCK_MONOTONIC. It is written into the copy too, where
 * a client without a table reads it, and need not ask a writer that may be stopped.
 */
void cache_beat(struct cache *cache, int64_t now_ms);
/* Has the writer of a mapped table said so in the last seconds? */
bool cache_is_attended(const struct cache *cache, uint32_t seconds);
/* What the copy at path says of that. -ENOENT, -EACCES; -EPROTO when it is none. */
int cache_read_beat(const char *path, int64_t *ret_beat_ms);

/*
 * Four words for each zone, beside the slots, for all that share the table. 0 at first, and atomic,
 * as slots are. What is in them but the era is known by health.h.
 */
enum cache_zone_part {
	CACHE_ZONE_WORD,     /* what was found out about it */
	CACHE_ZONE_EVIDENCE, /* what that rests on */
	CACHE_ZONE_ERA,	     /* only read, and begun anew by cache_begin_era() */
	CACHE_ZONE_TRUST,    /* when it was last seen to be believable */
};
uint64_t cache_zone_get(const struct cache *cache, unsigned zone, enum cache_zone_part part);
void cache_zone_set(struct cache *cache, unsigned zone, enum cache_zone_part part, uint64_t value);
/* Sets it if it is still old_value; false: it is not, or read-only. */
bool cache_zone_swap(struct cache *cache, unsigned zone, enum cache_zone_part part,
		     uint64_t old_value, uint64_t value);
/*
 * The next era begins. That is seen not later than what the same writer writes into the zone's word
 * after it. An answer that was asked for in an era that is over is not to be put. Nothing when
 * read-only.
 */
void cache_begin_era(struct cache *cache, unsigned zone);

/*
 * How much of its TTL, in percent, an answer has left when it is to be asked for again: for
 * cache_slot_fresh_s(). 0 at first. Of this handle, before other threads use it.
 */
void cache_set_prefetch(struct cache *cache, unsigned percent);

/* Seconds on the cache's clock. No system call. */
uint32_t cache_now_s(const struct cache *cache);

/*
 * DNSBLV6_OK and *ret_entry, expired or not (look at expires_s), or
 * DNSBLV6_ENOTFOUND. Any thread, any process, no lock, no system call.
 */
int cache_get(const struct cache *cache, struct cache_key key, struct cache_entry *ret_entry);

/*
 * Puts or replaces. Evicts from its set, in this order: the same key, a free
 * slot, what expired longest ago (stale ones of use last); the same in the set where it goes away;
 * and then from its own by a clock over the marks that cache_mark() leaves. Never fails; nothing
 * for a table that is mapped read-only.
 */
void cache_put(struct cache *cache, struct cache_key key, const struct cache_entry *entry);
/*
 * Forgets what says that nothing is listed in blocks of a zone: empty bitmaps and ranges. Looks
 * at the whole table, so for what happens rarely; nothing when read-only.
 */
void cache_forget_denials(struct cache *cache, unsigned zone);
/* The same for what was listed at since_s or later; as TTLs are kept as classes, for some before. */
void cache_forget_listings(struct cache *cache, unsigned zone, uint32_t since_s);
/* Says that a key is in use; cheap, may be called for each hit; nothing when read-only. */
void cache_mark(const struct cache *cache, struct cache_key key);

struct cache_stats {
	uint64_t slots;
	uint64_t size_bytes;
	uint64_t puts,
		evicted; /* by this handle; evicted: of them, took the place of a live entry */
};
void cache_get_stats(const struct cache *cache, struct cache_stats *ret_stats);

#ifdef __cplusplus
}
#endif
