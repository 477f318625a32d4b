/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/lmdb/branches.h"

#include "lib/lmdb/entries.h"
#include "lib/lmdb/environment.h"

#include <string.h>
#include <unistd.h>

enum { DEPTH_MAX = 32 }; /* LMDB's */

struct tree {
	const uint8_t *file; /* as it is mapped */
	size_t page_size;
	uint64_t page_last;
	uint64_t left; /* branches that the table should have beside those that were seen */
};

/* What a table is, in LMDB's table of tables. */
struct root {
	uint16_t depth;
	uint64_t branch_count;
	uint64_t number;
};

static bool is_right(struct tree *tree, uint64_t number, unsigned depth);

/* The entry at that place, and all below it. */
static bool leads_right(struct tree *tree, const uint8_t *page, size_t place, unsigned depth)
{
	enum { HEAD_SIZE = 8 };
	uint16_t head[HEAD_SIZE / sizeof(uint16_t)];
	if (place + HEAD_SIZE > tree->page_size)
		return false;
	memcpy(head, page + place, HEAD_SIZE);
	uint64_t below = head[0] | (uint64_t)head[1] << 16 | (uint64_t)head[2] << 32;
	return place + HEAD_SIZE + head[3] <= tree->page_size && is_right(tree, below, depth - 1);
}

/* Leaves, of depth 1, have been looked at. */
static bool is_right(struct tree *tree, uint64_t number, unsigned depth)
{
	enum { FLAGS_AT = 8 + 2, PLACES_AT = 16, KINDS = 0x6f, BRANCH = 0x01 };
	uint64_t own;
	uint16_t words[3]; /* flags, end of the places, begin of the entries */
	if (depth == 1)
		return true;
	if (number < 2 || number > tree->page_last || tree->left == 0)
		return false;
	tree->left--;
	const uint8_t *page = tree->file + number * tree->page_size;
	memcpy(&own, page, sizeof(own));
	memcpy(words, page + FLAGS_AT, sizeof(words));
	if (own != number || (words[0] & KINDS) != BRANCH || words[1] > words[2])
		return false;
	size_t lowest = tree->page_size;
	for (size_t at = PLACES_AT; at < words[1]; at += sizeof(uint16_t)) {
		uint16_t place;
		memcpy(&place, page + at, sizeof(place));
		if (!leads_right(tree, page, place, depth))
			return false;
		lowest = place < lowest ? place : lowest;
	}
	return words[1] % 2 == 0 && words[2] == lowest;
}

/* Depth, branches, leaves, other pages, entries, root: of 48 bytes, in the order of this machine. */
static bool take_root(struct store_bytes record, struct root *ret_root)
{
	enum { SIZE = 48, DEPTH_AT = 6, BRANCHES_AT = 8, ROOT_AT = 40 };
	if (record.size != SIZE)
		return false;
	memcpy(&ret_root->depth, record.data + DEPTH_AT, sizeof(ret_root->depth));
	memcpy(&ret_root->branch_count, record.data + BRANCHES_AT, sizeof(ret_root->branch_count));
	memcpy(&ret_root->number, record.data + ROOT_AT, sizeof(ret_root->number));
	return true;
}

int branches_check(MDB_txn *txn, const char *name)
{
	enum { TABLES = 1 }; /* LMDB's own table, of the others */
	struct store_bytes record;
	struct root root;
	MDB_envinfo info;
	MDB_stat stat_;
	uint64_t number;
	int code = mdb_env_info(mdb_txn_env(txn), &info);
	if (code == MDB_SUCCESS)
		code = mdb_env_stat(mdb_txn_env(txn), &stat_);
	int ret = code == MDB_SUCCESS ? entries_get(txn, TABLES, name, strlen(name), &record)
				      : environment_status(code);
	if (ret != STORE_OK || stat_.ms_psize > (size_t)sysconf(_SC_PAGESIZE))
		return ret;
	if (!take_root(record, &root) || root.depth > DEPTH_MAX)
		return STORE_ECORRUPT;
	const uint8_t *page = record.data - ((uintptr_t)record.data & (stat_.ms_psize - 1));
	memcpy(&number, page, sizeof(number));
	struct tree tree = { .file = page - number * stat_.ms_psize,
			     .page_size = stat_.ms_psize,
			     .page_last = info.me_last_pgno,
			     .left = root.branch_count };
	bool is_whole = root.depth == 0 || is_right(&tree, root.number, root.depth);
	return is_whole && tree.left == 0 ? STORE_OK : STORE_ECORRUPT;
}
