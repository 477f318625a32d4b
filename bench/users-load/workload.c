/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/users-load/workload.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_OF(array) ((unsigned)(sizeof(array) / sizeof((array)[0])))
#define NAME_MAX_SIZE	40
#define LINE_MAX_SIZE	400
#define VALUES_MAX	8

static const char *const transaction_names[TRANSACTIONS] = {
	"LOGIN",	   "LIST",	 "STATUS",	"SELECT", "FETCH_HEADERS", "FETCH_FLAGS",
	"FETCH_STRUCTURE", "FETCH_BODY", "SEARCH",	"STORE",  "COPY",	   "APPEND",
	"EXPUNGE",	   "SMTP_LOCAL", "SMTP_REMOTE",
};
static const char *const client_names[] = { "thunderbird", "applemail", "poller", "webmail" };
static const char *const sequence_names[] = { "begin", "look", "read", "tidy", "write", "end" };
static const char *const structure_names[] = { "plain", "alternative", "related",
					       "mixed", "mixed-rich",  "forwarded" };
static const char *const source_names[] = { "paper", "spec", "imaptest", "ours" };

/* ---- the names of parameters ---- */

/* A row: count numbers from offset on, each from min to max. */
struct item {
	const char *name;
	size_t offset;
	unsigned count;
	double min;
	double max;
};

#define ONE(name, member, min, max)                                                                \
	{                                                                                          \
		name, offsetof(struct workload, member), 1, min, max                               \
	}
#define ROW(name, member, min, max)                                                                \
	{                                                                                          \
		name, offsetof(struct workload, member),                                           \
			COUNT_OF(((struct workload *)NULL)->member), min, max                      \
	}
#define SHARE(name, member) ONE(name, member, 0, 1)
#define HOUR		    3600.0

static const struct item items[] = {
	ONE("users-min", users_min, 1, 1e6),
	ONE("active-users", active_share, 0.01, 1),
	ONE("mails-received", mails_received_h, 0.01, 1e4),
	ONE("recipients", recipients_mean, 1, 100),
	ROW("recipient-counts", recipient_counts, 1, 100),
	ROW("recipient-weights", recipient_weights, 0, 1000),
	ROW("flows", flows, 0, 1),
	ONE("limit-transaction", limit_transaction_s, 0.001, HOUR),
	ONE("limit-local", limit_local_s, 0.001, HOUR),
	ONE("limit-remote", limit_remote_s, 0.001, 24 * HOUR),
	SHARE("limit-share", limit_share),
	SHARE("limit-errors", limit_errors),
	ONE("mailbox-mails", mails, 1, 1e6),
	ONE("mailbox-mails-sigma", mails_sigma, 0, 3),
	ONE("mailbox-mails-max", mails_max, 1, 1e6),
	ONE("mailbox-folders", folders, WORKLOAD_SPECIALS, 64),
	ONE("mailbox-folders-sigma", folders_sigma, 0, 3),
	ONE("mailbox-folders-max", folders_max, WORKLOAD_SPECIALS, 64),
	ROW("mailbox-depths", depths, 0, 1000),
	ROW("mailbox-specials", specials, 0, 1),
	ONE("mailbox-power", folder_power, 0, 4),
	ONE("mailbox-history", history_s, 1, 50 * 365 * 24 * HOUR),
	SHARE("mailbox-unread", unread_share),
	ROW("structures", structures, 0, 1000),
	ROW("attachment-counts", attachment_counts, 0, 1000),
	ONE("text-median", text_median, 1, 1e6),
	ONE("text-sigma", text_sigma, 0, 4),
	ONE("text-max", text_max, 1, 1e7),
	ONE("html-factor", html_factor, 0, 100),
	ONE("attachment-median", attachment_median, 1, 1e7),
	ONE("attachment-sigma", attachment_sigma, 0, 4),
	ONE("attachment-max", attachment_max, 1, 1e8),
	SHARE("picture-share", picture_share),
	ONE("read-recent", read_recent, 0, 1e6),
	SHARE("read-answered", answer_share),
	SHARE("read-deleted", delete_share),
	SHARE("read-moved", move_share),
	SHARE("tidy-search", search_share),
	SHARE("tidy-elsewhere", tidy_elsewhere),
	SHARE("tidy-sent", tidy_sent),
	ONE("tidy-recent", tidy_recent, 0, 1e6),
};

/* Of each kind of client: "webmail.share", with offsets in its struct. */
#define OF_CLIENT(name, member, min, max)                                                          \
	{                                                                                          \
		name, offsetof(struct workload_client, member), 1, min, max                        \
	}
#define AFTER(name, sequence)                                                                      \
	{                                                                                          \
		"after-" name,                                                                     \
			offsetof(struct workload_client, after) +                                  \
				sizeof(double[WORKLOAD_SUCCESSORS]) * (sequence),                  \
			WORKLOAD_SUCCESSORS, 0, 1000                                               \
	}

static const struct item client_items[] = {
	OF_CLIENT("share", share, 0, 1),
	OF_CLIENT("sessions", sessions_h, 0, 1e4),
	OF_CLIENT("stays", stays, 0, 1),
	OF_CLIENT("keeps", keeps, 0, 1),
	OF_CLIENT("page", page_mails, 1, 1e4),
	OF_CLIENT("think", think_s, 0, HOUR),
	OF_CLIENT("pause", pause_s, 0, HOUR),
	OF_CLIENT("list", list_share, 0, 1),
	OF_CLIENT("statuses", status_folders, 0, 64),
	OF_CLIENT("flags", flags_share, 0, 1),
	OF_CLIENT("structure", structure_share, 0, 1),
	AFTER("begin", WORKLOAD_BEGIN),
	AFTER("look", WORKLOAD_LOOK),
	AFTER("read", WORKLOAD_READ),
	AFTER("tidy", WORKLOAD_TIDY),
	AFTER("write", WORKLOAD_WRITE),
};

#define ITEMS WORKLOAD_PARAMETERS
_Static_assert(ITEMS == COUNT_OF(items) + WORKLOAD_CLIENTS * COUNT_OF(client_items), "all");

/* The index-th of all: its row, its name in full, and where it is in a struct workload. */
static const struct item *get_item(unsigned index, char ret_name[NAME_MAX_SIZE], size_t *ret_offset)
{
	if (index < COUNT_OF(items)) {
		snprintf(ret_name, NAME_MAX_SIZE, "%s", items[index].name);
		*ret_offset = items[index].offset;
		return &items[index];
	}
	index -= COUNT_OF(items);
	unsigned client = index / COUNT_OF(client_items);
	const struct item *item = &client_items[index % COUNT_OF(client_items)];
	snprintf(ret_name, NAME_MAX_SIZE, "%s.%s", client_names[client], item->name);
	*ret_offset = offsetof(struct workload, clients) + client * sizeof(struct workload_client) +
		      item->offset;
	return item;
}

/* ---- a line ---- */

struct line {
	char name[NAME_MAX_SIZE];
	unsigned count;
	double values[VALUES_MAX];
	char values_text[LINE_MAX_SIZE];
	char source[16];
	char text[LINE_MAX_SIZE];
	unsigned item;
};

struct reading {
	char *bytes;
	char *at;
	unsigned line;
	unsigned seen[ITEMS]; /* in which line */
	struct workload workload;
	struct workload_error *error;
};

__attribute__((format(printf, 2, 3))) static int refuse(struct reading *reading, const char *format,
							...)
{
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(reading->error->reason, WORKLOAD_REASON_MAX, format, arguments);
	va_end(arguments);
	reading->error->line = reading->line;
	return -EINVAL;
}

static char *trim(char *text)
{
	text += strspn(text, " \t");
	size_t size = strlen(text);
	while (size > 0 && strchr(" \t\r", text[size - 1]) != NULL)
		text[--size] = '\0';
	return text;
}

static int parse_values(struct reading *reading, char *text, struct line *line)
{
	snprintf(line->values_text, sizeof(line->values_text), "%s", text);
	char *rest;
	for (char *word = strtok_r(text, " \t", &rest); word != NULL;
	     word = strtok_r(NULL, " \t", &rest)) {
		char *end = word;
		/* strtod() would take "inf" and "0x1p3" as well. */
		double value =
			strspn(word, "0123456789.+-e") == strlen(word) ? strtod(word, &end) : 0;
		if (end == word || *end != '\0' || !isfinite(value))
			return refuse(reading, "\"%.20s\" is no number", word);
		if (line->count == VALUES_MAX)
			return refuse(reading, "more than %u numbers", VALUES_MAX);
		line->values[line->count++] = value;
	}
	return 0;
}

static int parse_source(struct reading *reading, char *text, struct line *line)
{
	char *colon = strchr(text, ':');
	if (colon == NULL)
		return refuse(reading, "behind \"#\" has to be a source, a colon and a text");
	*colon = '\0';
	const char *source = trim(text);
	for (unsigned i = 0; i < COUNT_OF(source_names); i++)
		if (strcmp(source, source_names[i]) == 0) {
			snprintf(line->source, sizeof(line->source), "%s", source);
			snprintf(line->text, sizeof(line->text), "%s", trim(colon + 1));
			if (line->text[0] == '\0')
				return refuse(reading, "no text behind \"%s:\"", source);
			return 0;
		}
	return refuse(reading, "\"%.20s\" is no source: paper, spec, imaptest or ours", source);
}

/* What is in text, which is changed. 0 for a line without a parameter, 1 with one. */
static int parse_line(struct reading *reading, char *text, struct line *ret_line)
{
	text = trim(text);
	if (text[0] == '\0' || text[0] == '#')
		return 0;
	memset(ret_line, 0, sizeof(*ret_line));
	char *equals = strchr(text, '=');
	char *hash = strchr(text, '#');
	if (equals == NULL || (hash != NULL && hash < equals))
		return refuse(reading, "no \"=\"");
	if (hash == NULL)
		return refuse(reading, "it says not where its numbers come from");
	*equals = *hash = '\0';
	const char *name = trim(text);
	if (strlen(name) >= NAME_MAX_SIZE)
		return refuse(reading, "no parameter has such a long name");
	snprintf(ret_line->name, sizeof(ret_line->name), "%s", name);
	int status = parse_values(reading, trim(equals + 1), ret_line);
	if (status == 0)
		status = parse_source(reading, hash + 1, ret_line);
	return status == 0 ? 1 : status;
}

/* ---- a file ---- */

static int take_line(struct reading *reading, struct line *line)
{
	char name[NAME_MAX_SIZE];
	size_t offset;
	const struct item *item = NULL;
	for (unsigned i = 0; i < ITEMS && item == NULL; i++) {
		const struct item *other = get_item(i, name, &offset);
		if (strcmp(name, line->name) == 0) {
			item = other;
			line->item = i;
		}
	}
	if (item == NULL)
		return refuse(reading, "there is no parameter \"%s\"", line->name);
	if (reading->seen[line->item] != 0)
		return refuse(reading, "\"%s\" was in line %u already", name,
			      reading->seen[line->item]);
	if (line->count != item->count)
		return refuse(reading, "\"%s\" has %u numbers, not %u", name, item->count,
			      line->count);
	for (unsigned i = 0; i < item->count; i++)
		if (!(line->values[i] >= item->min && line->values[i] <= item->max))
			return refuse(reading, "\"%s\": permitted is %g to %g, not %g", name,
				      item->min, item->max, line->values[i]);
	reading->seen[line->item] = reading->line;
	memcpy((char *)&reading->workload + offset, line->values, item->count * sizeof(double));
	return 0;
}

/* 1 with *ret_line, 0 at the end. */
static int next_line(struct reading *reading, struct line *ret_line)
{
	int status = 0;
	while (status == 0 && reading->at != NULL) {
		char *text = reading->at;
		size_t size = strcspn(text, "\n");
		reading->at = text[size] == '\n' ? text + size + 1 : NULL;
		reading->line++;
		if (size >= LINE_MAX_SIZE)
			return refuse(reading, "a line of more than %u characters",
				      LINE_MAX_SIZE - 1);
		char copy[LINE_MAX_SIZE];
		memcpy(copy, text, size);
		copy[size] = '\0';
		status = parse_line(reading, copy, ret_line);
	}
	return status;
}

/* ---- numbers that contradict each other ---- */

static double sum_of(const double *values, unsigned count)
{
	double sum = 0;
	for (unsigned i = 0; i < count; i++)
		sum += values[i];
	return sum;
}

static bool is_near(double value, double wanted, double share)
{
	return fabs(value - wanted) <= share * wanted;
}

static double mean_recipients(const struct workload *workload)
{
	double sum = 0;
	for (unsigned i = 0; i < WORKLOAD_RECIPIENTS; i++)
		sum += workload->recipient_counts[i] * workload->recipient_weights[i];
	return sum / sum_of(workload->recipient_weights, WORKLOAD_RECIPIENTS);
}

/* What they are drawn with may not be 0 all in all; the end must be reached from each sequence. */
static const char *check_clients(const struct workload *workload)
{
	double shares = 0;
	for (unsigned i = 0; i < WORKLOAD_CLIENTS; i++) {
		const struct workload_client *client = &workload->clients[i];
		shares += client->share;
		for (unsigned from = 0; from < WORKLOAD_SEQUENCES; from++) {
			const double *after = client->after[from];
			double sum = sum_of(after, WORKLOAD_SUCCESSORS);
			if (from > WORKLOAD_BEGIN &&
			    !(after[WORKLOAD_SUCCESSORS - 1] >= 0.001 * sum))
				return "a sequence but \"begin\" that ends no session in 1000";
			if (!(sum > 0))
				return "a sequence without any that comes next";
		}
	}
	return is_near(shares, 1, 0.001) ? NULL : "shares of clients do not come to 1";
}

static const char *check(const struct workload *workload)
{
	if (!is_near(sum_of(workload->flows, WORKLOAD_FLOWS), 1, 0.001))
		return "\"flows\" do not come to 1";
	if (!(workload->flows[WORKLOAD_LOCAL_LOCAL] + workload->flows[WORKLOAD_REMOTE_LOCAL] >=
	      0.01))
		return "\"flows\": no mail is local";
	if (!is_near(mean_recipients(workload), workload->recipients_mean, 0.01))
		return "\"recipient-counts\" by their weights have not the mean of \"recipients\"";
	if (!(sum_of(workload->structures, WORKLOAD_STRUCTURES) > 0) ||
	    !(sum_of(workload->attachment_counts, WORKLOAD_ATTACHMENTS) > 0) ||
	    !(sum_of(workload->depths, WORKLOAD_DEPTHS) > 0))
		return "weights that are 0 all in all";
	if (!(sum_of(workload->specials, WORKLOAD_SPECIALS) <= 1))
		return "\"mailbox-specials\" are more than all";
	if (!(workload->delete_share + workload->move_share <= 1))
		return "\"read-deleted\" and \"read-moved\" are more than all";
	return check_clients(workload);
}

static int check_all(struct reading *reading)
{
	reading->line = 0;
	for (unsigned i = 0; i < ITEMS; i++) {
		char name[NAME_MAX_SIZE];
		size_t offset;
		get_item(i, name, &offset);
		if (reading->seen[i] == 0)
			return refuse(reading, "there is no line for \"%s\"", name);
	}
	const char *reason = check(&reading->workload);
	return reason == NULL ? 0 : refuse(reading, "%s", reason);
}

/* ---- outside: reading ---- */

static int begin_reading(struct reading *ret_reading, FILE *file, struct workload_error *ret_error)
{
	*ret_reading = (struct reading){ .error = ret_error };
	ret_reading->bytes = malloc(WORKLOAD_FILE_MAX + 1);
	if (ret_reading->bytes == NULL)
		return refuse(ret_reading, "no memory");
	size_t size = fread(ret_reading->bytes, 1, WORKLOAD_FILE_MAX + 1, file);
	int status = 0;
	if (ferror(file))
		status = refuse(ret_reading, "cannot be read");
	else if (size > WORKLOAD_FILE_MAX)
		status = refuse(ret_reading, "more than %u bytes", WORKLOAD_FILE_MAX);
	else if (memchr(ret_reading->bytes, '\0', size) != NULL)
		status = refuse(ret_reading, "no text: it has a NUL");
	if (status != 0) {
		free(ret_reading->bytes);
		return status;
	}
	ret_reading->bytes[size] = '\0';
	ret_reading->at = ret_reading->bytes;
	return 0;
}

static int read_all(struct reading *reading)
{
	struct line line;
	int status;
	while ((status = next_line(reading, &line)) == 1) {
		status = take_line(reading, &line);
		if (status != 0)
			break;
	}
	return status == 0 ? check_all(reading) : status;
}

int workload_read(FILE *file, struct workload *ret_workload, struct workload_error *ret_error)
{
	struct reading reading;
	int status = begin_reading(&reading, file, ret_error);
	if (status != 0)
		return status;
	status = read_all(&reading);
	if (status == 0)
		*ret_workload = reading.workload;
	free(reading.bytes);
	return status;
}

int workload_print(FILE *file, bool is_markdown, FILE *out, struct workload_error *ret_error)
{
	struct reading reading;
	int status = begin_reading(&reading, file, ret_error);
	if (status != 0)
		return status;
	status = read_all(&reading);
	if (status == 0) {
		struct line line;
		const char *format = is_markdown ? "| `%s` | %s | %s | %s |\n" : "%s\t%s\t%s\t%s\n";
		if (is_markdown)
			fputs("| parameter | value | source | what it is |\n|---|---|---|---|\n",
			      out);
		reading.at = reading.bytes;
		while (next_line(&reading, &line) == 1)
			fprintf(out, format, line.name, line.values_text, line.source, line.text);
		reading.line = 0;
		if (fflush(out) != 0 || ferror(out))
			status = refuse(&reading, "the table cannot be written");
	}
	free(reading.bytes);
	return status;
}

/* ---- outside: names, and what follows ---- */

const char *transaction_name(enum transaction transaction)
{
	return transaction_names[transaction];
}

const char *workload_client_name(enum workload_kind kind)
{
	return client_names[kind];
}

const char *workload_sequence_name(enum workload_sequence sequence)
{
	return sequence_names[sequence];
}

const char *workload_structure_name(enum workload_structure structure)
{
	return structure_names[structure];
}

/* How many of the users before this one are active. */
static double active_before(const struct workload *workload, uint64_t user)
{
	return floor((double)user * workload->active_share);
}

bool workload_is_active(const struct workload *workload, uint64_t user)
{
	return active_before(workload, user + 1) > active_before(workload, user);
}

enum workload_kind workload_client(const struct workload *workload, uint64_t user)
{
	/* Multiples of the golden ratio lie as evenly as numbers in a row can. */
	double at = active_before(workload, user) * 0.6180339887498949 + 0.5;
	at -= floor(at);
	for (unsigned i = 0; i < WORKLOAD_CLIENTS - 1; i++) {
		if (at < workload->clients[i].share)
			return (enum workload_kind)i;
		at -= workload->clients[i].share;
	}
	return WORKLOAD_CLIENTS - 1;
}

double workload_mails_h(const struct workload *workload, enum workload_flow flow, double users)
{
	double received = users * workload->active_share * workload->mails_received_h;
	double local =
		workload->flows[WORKLOAD_LOCAL_LOCAL] + workload->flows[WORKLOAD_REMOTE_LOCAL];
	return received / workload->recipients_mean / local * workload->flows[flow];
}

double workload_sessions_h(const struct workload *workload, double users)
{
	double sessions = 0;
	for (unsigned i = 0; i < WORKLOAD_CLIENTS; i++)
		sessions += workload->clients[i].share * workload->clients[i].sessions_h;
	return users * workload->active_share * sessions;
}

unsigned workload_recipients(const struct workload *workload, struct dice *dice)
{
	return (unsigned)workload->recipient_counts[dice_pick(dice, workload->recipient_weights,
							      WORKLOAD_RECIPIENTS)];
}

/* Each sequence ends one session in 1000, see check(): what is left then is below 1e-8. */
#define ROUNDS 20000

void workload_visits(const struct workload *workload, enum workload_kind kind,
		     double ret_visits[WORKLOAD_SEQUENCES])
{
	const struct workload_client *client = &workload->clients[kind];
	double now[WORKLOAD_SEQUENCES] = { [WORKLOAD_BEGIN] = 1 };
	memset(ret_visits, 0, WORKLOAD_SEQUENCES * sizeof(double));
	for (unsigned i = 0; i < ROUNDS && sum_of(now, WORKLOAD_SEQUENCES) > 1e-12; i++) {
		double next[WORKLOAD_SEQUENCES] = { 0 };
		for (unsigned from = 0; from < WORKLOAD_SEQUENCES; from++) {
			const double *after = client->after[from];
			double sum = sum_of(after, WORKLOAD_SUCCESSORS);
			ret_visits[from] += now[from];
			for (unsigned to = 0; to < WORKLOAD_SUCCESSORS - 1; to++)
				next[WORKLOAD_LOOK + to] += now[from] * after[to] / sum;
		}
		memcpy(now, next, sizeof(now));
	}
}

int workload_print_sums(const struct workload *workload, bool is_markdown, FILE *out)
{
	static const char *const first[] = { "client\tshare\tsessions/h\tlook\tread\ttidy\twrite\n",
					     "| client | share | sessions an hour | look | read | "
					     "tidy | write |\n|---|---|---|---|---|---|---|\n" };
	static const char *const row[] = { "%s\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\n",
					   "| %s | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f |\n" };
	double sums[WORKLOAD_SEQUENCES] = { 0 };
	double shares = 0;
	fputs(first[is_markdown], out);
	for (unsigned i = 0; i < WORKLOAD_CLIENTS; i++) {
		const struct workload_client *client = &workload->clients[i];
		double visits[WORKLOAD_SEQUENCES];
		workload_visits(workload, (enum workload_kind)i, visits);
		for (unsigned k = 0; k < WORKLOAD_SEQUENCES; k++) {
			visits[k] *= client->sessions_h;
			sums[k] += client->share * visits[k];
		}
		shares += client->share;
		fprintf(out, row[is_markdown], client_names[i], client->share, visits[0], visits[1],
			visits[2], visits[3], visits[4]);
	}
	fprintf(out, row[is_markdown], "all", shares, sums[0], sums[1], sums[2], sums[3], sums[4]);
	return ferror(out) ? -EIO : 0;
}
