/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "zone-tools/keys/signer.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/format/array.h"
#include "lib/format/fnv.h"
#include "lib/process/sharedmem.h"

enum {
	DAY_S = 86400,
	CLOCK_SKEW_S = 3600, /* validators may be that far behind */
	SHARE_MIN = 64,	     /* fewer signatures are not worth a process */
	PROCESSES_MAX = 64,
	INPUT_MAX = 65536, /* of one RRset */
};

struct job {
	const struct key *key;
	size_t input_at;
	size_t input_size;
};

/* What a child leaves in shared memory for each job. */
struct output {
	uint8_t is_made;
	uint8_t signature[DNSBLV6_SIGNATURE_BYTES];
};

/* What is signed in one go. */
struct batch {
	struct job *jobs;
	size_t job_count;
	size_t job_capacity;
	uint8_t *inputs; /* of all jobs, one behind the other */
	size_t inputs_size;
	size_t inputs_capacity;
	struct output *outputs; /* shared mapping */
	size_t output_capacity;
	pid_t children[PROCESSES_MAX]; /* that sign it now */
	unsigned child_count;
};

struct signer {
	struct signer_options options;
	struct batch batches[2];
	unsigned current; /* the one that is added to; the other is signed, or was */
	uint64_t made_count;
};

int signer_new(const struct signer_options *options, struct signer **ret_signer)
{
	struct signer *signer = calloc(1, sizeof(*signer));
	if (signer == NULL)
		return -ENOMEM;
	signer->options = *options;
	if (signer->options.process_count == 0) {
		long cores = sysconf(_SC_NPROCESSORS_ONLN);
		signer->options.process_count = cores > 0 ? (unsigned)cores : 1;
	}
	if (signer->options.process_count > PROCESSES_MAX)
		signer->options.process_count = PROCESSES_MAX;
	*ret_signer = signer;
	return DNSBLV6_OK;
}

static void unmap(struct batch *batch)
{
	sharedmem_free(batch->outputs, batch->output_capacity * sizeof(*batch->outputs));
	batch->outputs = NULL;
	batch->output_capacity = 0;
}

static void wait_for_children(struct batch *batch)
{
	for (unsigned i = 0; i < batch->child_count; i++) {
		while (waitpid(batch->children[i], NULL, 0) < 0 && errno == EINTR)
			continue;
	}
	batch->child_count = 0;
}

void signer_free(struct signer *signer)
{
	if (signer == NULL)
		return;
	for (unsigned i = 0; i < 2; i++) {
		struct batch *batch = &signer->batches[i];
		wait_for_children(batch);
		unmap(batch);
		free(batch->jobs);
		free(batch->inputs);
	}
	free(signer);
}

const struct signer_options *signer_options(const struct signer *signer)
{
	return &signer->options;
}

size_t signer_zone_keys(const struct signer *signer,
			const struct key *ret_keys[SIGNER_SIGNATURES_MAX])
{
	const struct key *first = signer->options.keys[0];
	const struct key *other = signer->options.other;
	bool is_other_first = other != NULL && key_algorithm(other) < key_algorithm(first);
	ret_keys[0] = is_other_first ? other : first;
	ret_keys[1] = is_other_first ? first : other;
	return other != NULL ? 2 : 1;
}

/* Each key vouches for the DNSKEYs, and for what the parent is to take over, RFC 7344. */
size_t signer_keys_for(const struct signer *signer, uint16_t type,
		       const struct key *ret_keys[SIGNER_SIGNATURES_MAX])
{
	const struct signer_options *options = &signer->options;
	bool is_for_parent = type == DNSBLV6_TYPE_CDS || type == DNSBLV6_TYPE_CDNSKEY;
	if (type != DNSBLV6_TYPE_DNSKEY && !is_for_parent)
		return signer_zone_keys(signer, ret_keys);
	size_t count = 0;
	bool has_other = options->other == NULL || !is_for_parent;
	for (size_t i = 0; i < options->key_count; i++) {
		has_other = has_other || options->keys[i] == options->other;
		ret_keys[count++] = options->keys[i];
	}
	if (!has_other)
		ret_keys[count++] = options->other;
	return count;
}

uint64_t signer_count(const struct signer *signer)
{
	return signer != NULL ? signer->made_count : 0;
}

/* ---- times ---- */

static uint32_t choose(const struct dnsblv6_labels *owner, uint16_t type, uint32_t range)
{
	const uint64_t hash = fnv_add(FNV_START ^ type, owner->wire, owner->size);
	return range == 0 ? 0 : (uint32_t)((hash ^ hash >> 32) % range);
}

/* The same name and type always end at the same distance: a second run changes nothing. */
static uint32_t jitter(const struct signer *signer, const struct dnsblv6_labels *owner,
		       uint16_t type)
{
	return choose(owner, type, signer->options.lifetime_s / 14);
}

/*
 * Has the owner had its day? All signatures of a name have the same one, since the name goes
 * into the journal as a whole. One made after noon counts as the next day's: what is built
 * before midnight is not signed again behind it.
 */
static bool had_its_day(const struct signer *signer, const struct dnsblv6_labels *owner,
			uint64_t made_s)
{
	uint32_t period = signer->options.lifetime_s / 2 / DAY_S;
	if (period == 0)
		return false;
	uint32_t phase = choose(owner, 0, period);
	uint64_t made_day = (made_s + DAY_S / 2) / DAY_S;
	uint64_t today = signer->options.now_s / DAY_S;
	return (today + phase) / period > (made_day + phase) / period;
}

bool signer_is_fresh(const struct signer *signer, const struct key *key,
		     const struct dnsblv6_labels *owner, const struct dnsblv6_signature *signature)
{
	uint32_t now = (uint32_t)signer->options.now_s;
	/* RFC 4034 section 3.1.5: serial number arithmetic. */
	int32_t left_s = (int32_t)(signature->expiration - now);
	int32_t age_s = (int32_t)(now - signature->inception);
	if (signature->key_tag != key_tag(key) || age_s < 0 ||
	    left_s <= (int32_t)(signer->options.lifetime_s / 14 * 5))
		return false;
	uint64_t made_s = signer->options.now_s - (uint64_t)age_s + CLOCK_SKEW_S;
	return !had_its_day(signer, owner, made_s);
}

/* ---- jobs ---- */

int signer_add(struct signer *signer, const struct key *key, struct dnsblv6_rrsig *rrsig,
	       const struct dnsblv6_labels *owner, struct dnsblv6_rdata *rdatas, size_t rdata_count,
	       size_t *ret_job)
{
	uint32_t now = (uint32_t)signer->options.now_s;
	rrsig->algorithm = key_algorithm(key);
	rrsig->signature.key_tag = key_tag(key);
	rrsig->signature.inception = now - CLOCK_SKEW_S;
	rrsig->signature.expiration =
		now + signer->options.lifetime_s - jitter(signer, owner, rrsig->type_covered);

	struct batch *batch = &signer->batches[signer->current];
	if (!array_reserve(batch->jobs, batch->job_count + 1, &batch->job_capacity) ||
	    !array_reserve(batch->inputs, batch->inputs_size + INPUT_MAX, &batch->inputs_capacity))
		return -ENOMEM;
	struct job *job = &batch->jobs[batch->job_count];
	int ret = dnsblv6_signing_input(rrsig, signer->options.zone, owner, rdatas, rdata_count,
					batch->inputs + batch->inputs_size, INPUT_MAX,
					&job->input_size);
	if (ret != DNSBLV6_OK)
		return ret;
	job->key = key;
	job->input_at = batch->inputs_size;
	batch->inputs_size += job->input_size;
	*ret_job = batch->job_count++;
	return DNSBLV6_OK;
}

/* The batch that was begun last. */
static unsigned begun(const struct signer *signer)
{
	return 1 - signer->current;
}

void signer_take(const struct signer *signer, size_t job, struct dnsblv6_signature *signature)
{
	const struct batch *batch = &signer->batches[begun(signer)];
	memcpy(signature->bytes, batch->outputs[job].signature, DNSBLV6_SIGNATURE_BYTES);
}

/* ---- signing ---- */

static int map_outputs(struct batch *batch)
{
	if (batch->outputs != NULL && batch->job_count <= batch->output_capacity)
		return DNSBLV6_OK;
	unmap(batch);
	/* One at least, so that there always are some. */
	size_t count = batch->job_count > 0 ? batch->job_count : 1;
	size_t size = count * sizeof(*batch->outputs);
	batch->outputs = sharedmem_new(size);
	if (batch->outputs == NULL)
		return -ENOMEM;
	batch->output_capacity = count;
	return DNSBLV6_OK;
}

static void sign_jobs(struct batch *batch, size_t first, size_t end)
{
	for (size_t i = first; i < end; i++) {
		const struct job *job = &batch->jobs[i];
		struct output *output = &batch->outputs[i];
		output->is_made = key_sign(job->key, batch->inputs + job->input_at, job->input_size,
					   output->signature) == DNSBLV6_OK;
	}
}

static pid_t start_child(struct batch *batch, size_t first, size_t end)
{
	pid_t parent = getpid();
	pid_t pid = fork();
	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == parent)
		sign_jobs(batch, first, end);
	_exit(0);
}

/* The program itself has other work, but for a share that is not worth a process or cannot have one. */
static void sign_in_processes(struct batch *batch, unsigned process_count)
{
	size_t share = (batch->job_count + process_count - 1) / process_count;
	size_t at = 0;
	while (batch->job_count >= SHARE_MIN && at < batch->job_count) {
		size_t end = at + share < batch->job_count ? at + share : batch->job_count;
		pid_t pid = start_child(batch, at, end);
		if (pid < 0)
			break;
		batch->children[batch->child_count++] = pid;
		at = end;
	}
	sign_jobs(batch, at, batch->job_count);
}

int signer_start(struct signer *signer)
{
	struct batch *batch = &signer->batches[signer->current];
	int ret = map_outputs(batch);
	if (ret != DNSBLV6_OK)
		return ret;
	for (size_t i = 0; i < batch->job_count; i++)
		batch->outputs[i].is_made = 0;
	signer->current = begun(signer);
	signer->batches[signer->current].job_count = 0;
	signer->batches[signer->current].inputs_size = 0;
	size_t worthwhile = batch->job_count / SHARE_MIN + 1;
	unsigned process_count = signer->options.process_count;
	if (process_count > worthwhile)
		process_count = (unsigned)worthwhile;
	sign_in_processes(batch, process_count);
	return DNSBLV6_OK;
}

int signer_finish(struct signer *signer)
{
	struct batch *batch = &signer->batches[begun(signer)];
	wait_for_children(batch);
	for (size_t i = 0; i < batch->job_count; i++) {
		if (!batch->outputs[i].is_made)
			return KEY_ECRYPTO;
	}
	signer->made_count += batch->job_count;
	batch->job_count = 0;
	return DNSBLV6_OK;
}
