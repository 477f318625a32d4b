// SPDX-License-Identifier: GPL-3.0-or-later
//
// All that a few operations may leave behind when the power goes: each sequence of them up to a
// length, each place between two calls of the disk, and each way to lose what was not synced there.
// What is started from it has every mail that was committed, each once, whole or not at all; so has
// what is started when the power goes again amid that.
//
// DNSBLV6_STATES=7 is for sequences of up to seven operations.

#include "lib/process/sanitized.h"
#include "tests/lib/mailstores.hh"

#include <cstdlib>
#include <functional>
#include <unordered_set>

// Random bytes that are the same in each run, so that states that were seen can be told.
static uint64_t random_count;

extern "C" int __wrap_getentropy(void *bytes, size_t size);
int __wrap_getentropy(void *bytes, size_t size)
{
	std::mt19937_64 engine(++random_count);
	for (size_t i = 0; i < size; i++)
		static_cast<uint8_t *>(bytes)[i] = static_cast<uint8_t>(engine());
	return 0;
}

namespace
{
// a, b: a mail for a, or a large one for a and b. x, y: the oldest mail of a goes, or of b.
// s: sync. f: flush. c, d: collect, whatever lives, or what is mostly dead.
const char OPERATIONS[] = "abxysfcd";

// What there was at one moment.
struct moment {
	sim_disk::objects_type objects;
	std::string index;
	known_mails mails;
};

class history
{
      public:
	explicit history(uint64_t segment_size) : bench_(segment_size)
	{
		random_count = 0;
	}

	// Moments of the last operation. The first one makes the store.
	std::vector<moment> run(const std::string &operations)
	{
		if (operations.empty())
			watch();
		REQUIRE(bench_.open() == 0);
		for (size_t i = 0; i < operations.size(); i++) {
			if (i + 1 == operations.size())
				watch();
			has_done_ = step(operations[i]);
		}
		note();
		bench_.disk.watch({});
		bench_.kill();
		return moments_;
	}
	// The last operation had nothing to do.
	bool is_idle() const
	{
		return !has_done_;
	}

      private:
	void note()
	{
		moments_.push_back({ bench_.disk.objects(), bench_.index(), mails_ });
	}
	void watch()
	{
		note();
		bench_.disk.watch([this] { note(); });
	}

	bool step(char operation)
	{
		const unsigned calls = bench_.disk.calls();
		int ret = 0;
		switch (operation) {
		case 'a':
			deliver({ "a" }, 150);
			return true;
		case 'b':
			deliver({ "a", "b" }, 4300);
			return true;
		case 'x':
			return remove("a");
		case 'y':
			return remove("b");
		case 's':
			REQUIRE(maillayer_sync(bench_.store) == 0);
			break;
		case 'f':
			REQUIRE(maillayer_flush(bench_.store) == 0);
			commit(mails_);
			return true;
		default:
			ret = bench_.collect(operation == 'c' ? 101 : 60);
			REQUIRE((ret == 0 || ret == DNSBLV6_ENOTFOUND));
		}
		commit(mails_);
		return bench_.disk.calls() != calls;
	}

	void deliver(const std::set<std::string> &to, size_t size)
	{
		const std::string text =
			std::to_string(mails_.size()) + std::string(size, 'x') + "\r\n";
		mailid id;
		mails_[text].to = to;
		REQUIRE(bench_.deliver({ to.begin(), to.end() }, text, &id) == 0);
		mails_[text].id = text_of(id);
		mails_[text].mail = number_of(text_of(id));
	}

	// Asking the store would flush it: the record says it.
	uint64_t number_of(const std::string &id) const
	{
		for (const auto &[object, o] : bench_.disk.objects()) {
			const size_t at = o.seen.find(id);
			if (at != std::string::npos)
				return bytes_get(reinterpret_cast<const uint8_t *>(o.seen.data()) +
							 at - 24,
						 8);
		}
		FAIL("no record of the mail");
		return 0;
	}

	bool remove(const std::string &box)
	{
		known_mail *oldest = nullptr;
		for (auto &[text, known] : mails_)
			if (known.to.count(box) == 1 && known.leaving.count(box) == 0 &&
			    known.gone.count(box) == 0 &&
			    (oldest == nullptr || known.mail < oldest->mail))
				oldest = &known;
		if (oldest == nullptr)
			return false;
		oldest->leaving.insert(box);
		REQUIRE(bench_.remove(box, oldest->mail) == 0);
		return true;
	}

	mail_bench bench_;
	known_mails mails_;
	std::vector<moment> moments_;
	bool has_done_ = true;
};

size_t length_of_sequences()
{
	const char *text = getenv("DNSBLV6_STATES");
	if (text != nullptr)
		return strtoul(text, nullptr, 10);
	return IS_SANITIZED ? 2 : 3;
}

// ---- what is started again ----

class restarts
{
      public:
	explicit restarts(uint64_t segment_size, size_t max) : bench_(segment_size), max_(max)
	{
	}

	void try_all(const moment &at)
	{
		if (!is_new(at, "killed"))
			return;
		try_killed(at);
		for (const auto &left : sim_disk::losses(at.objects, max_, 1)) {
			const moment cut{ left, at.index, at.mails };
			if (is_new(cut, "cut"))
				try_one(cut);
		}
	}
	size_t count() const
	{
		return count_;
	}

      private:
	bool is_new(const moment &at, const std::string &what)
	{
		std::string all = what;
		for (const auto &[number, o] : at.objects) {
			all += std::to_string(number) + ' ' + std::to_string(o.seen.size()) + ' ' +
			       std::to_string(o.kept.size()) + (o.is_named ? 'n' : ' ');
			all += o.seen;
			for (const auto &[from, to] : o.pending)
				all += std::to_string(from) + '-' + std::to_string(to);
		}
		all += at.index;
		for (const auto &[text, known] : at.mails) {
			all += text.substr(0, 8) + known.id + (known.is_committed ? 'c' : ' ');
			for (const std::string &box : known.leaving)
				all += box;
			for (const std::string &box : known.gone)
				all += '-' + box;
		}
		return seen_.insert(std::hash<std::string>()(all)).second;
	}

	void start(const moment &at)
	{
		bench_.load(at.objects, at.index);
		count_++;
		const int ret = bench_.open();
		INFO(mailstore_strerror(ret));
		HOLDS(ret == 0);
		HOLDS(bench_.recovery.damaged == 0);
	}
	void start_and_end(const moment &at)
	{
		start(at);
		compare(bench_.look(), at.mails);
		bench_.kill();
	}
	// It forks, and reads all: one in four is read so.
	void check(bool is_ended)
	{
		if (length_of_sequences() <= 3 && ++check_count_ % 4 != 0)
			return;
		const checked done = bench_.check();
		INFO(mailstore_strerror(done.status));
		HOLDS(done.status == 0);
		INFO((done.findings.empty() ? "" : done.findings[0]));
		HOLDS(done.findings.empty() ||
		      (!is_ended && done.findings[0] == "index: there is none"));
		HOLDS(!is_ended || (done.run.behind == 0 && done.run.uncommitted == 0));
	}

	// The power goes, then once more while that is put right; then mail is taken again.
	void try_one(const moment &at)
	{
		std::vector<moment> again;
		bench_.load(at.objects, at.index);
		INFO("power");
		check_before(at);
		bench_.disk.watch([&] {
			again.push_back({ bench_.disk.objects(), bench_.index(), at.mails });
		});
		start(at);
		bench_.disk.watch({});
		compare(bench_.look(), at.mails);
		go_on(at);
		for (const moment &one : again)
			try_again(one, "power again");
		if (!at.index.empty())
			try_again({ at.objects, "", at.mails }, "no index");
	}
	void check_before(const moment &at)
	{
		// A machine whose power went before there was a store.
		if (at.objects.count(0) == 1 && at.objects.at(0).seen.size() == 64 &&
		    at.objects.at(0).seen[0] != '\0')
			check(false);
	}
	void try_again(const moment &at, const char *what)
	{
		INFO(what);
		for (const auto &left : sim_disk::losses(at.objects, 8, 2)) {
			const moment cut{ left, at.index, at.mails };
			if (is_new(cut, "again"))
				start_and_end(cut);
		}
	}
	void go_on(const moment &at)
	{
		known_mails mails = at.mails;
		const std::string text = "more\r\n";
		HOLDS(bench_.deliver({ "b" }, text) == 0);
		HOLDS(maillayer_sync(bench_.store) == 0);
		mails[text].to = { "b" };
		mails[text].is_committed = true;
		compare(bench_.look(), mails);
		bench_.close();
		check(true);
	}

	// A process is killed, and the power goes amid what the next one does with what it has left.
	void try_killed(const moment &at)
	{
		std::vector<moment> again;
		INFO("kill");
		bench_.disk.watch([&] {
			again.push_back({ bench_.disk.objects(), bench_.index(), at.mails });
		});
		start(at);
		bench_.disk.watch({});
		again.push_back({ bench_.disk.objects(), bench_.index(), at.mails });
		compare(bench_.look(), at.mails);
		bench_.kill();
		for (const moment &one : again)
			try_again(one, "kill, then power");
	}

	mail_bench bench_;
	std::unordered_set<size_t> seen_;
	size_t max_;
	size_t count_ = 0;
	size_t check_count_ = 0;
};

// ---- all of them ----

void walk(restarts &after, uint64_t segment_size, const std::string &operations, size_t length)
{
	history before(segment_size);
	const std::vector<moment> moments = before.run(operations);
	if (before.is_idle())
		return;
	INFO("operations: " << operations);
	for (const moment &at : moments)
		after.try_all(at);
	if (operations.size() == length)
		return;
	for (const char *next = OPERATIONS; *next != '\0'; next++)
		walk(after, segment_size, operations + *next, length);
}

} // namespace

TEST_CASE("whatever a few operations leave when the power goes, committed mail is there once",
	  "[mailstore][states]")
{
	const uint64_t segment_size = GENERATE(700, 1U << 20);
	CAPTURE(segment_size);
	restarts after(segment_size, 64);
	walk(after, segment_size, "", length_of_sequences());
	if (getenv("DNSBLV6_STATES") != nullptr)
		WARN(after.count() << " starts");
	CHECK(after.count() > 100);
}
