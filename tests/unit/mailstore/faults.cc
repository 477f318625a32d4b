// SPDX-License-Identifier: GPL-3.0-or-later
//
// The n-th call of the disk, the n-th write of the index, the n-th allocation fails, for every n: what
// was acknowledged is there, the store is whole, and one whose disk failed takes nothing more.

#include "tests/lib/fault.hh"
#include "tests/lib/mailstores.hh"

#include <cerrno>
#include <functional>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

// ---- what LMDB calls, and lib/lmdb: the linker gives these the names of the system's ----

namespace writes
{
enum class way { fails, is_short, is_done }; // is_done: it was written, and fails all the same

unsigned long left; // 0: nothing fails
bool goes_on;	    // all behind it fail, too
int error;
way how;
unsigned failures;

void fail_at(unsigned long number, int status, way as, bool is_for_good)
{
	left = number;
	error = status;
	how = as;
	goes_on = is_for_good;
	failures = 0;
}
void end()
{
	left = 0;
}
bool is_now()
{
	if (left == 0)
		return false;
	if (left > 1) {
		left--;
		return false;
	}
	if (!goes_on)
		left = 0;
	// LMDB takes back what it was told that failed: that fails, and is not done.
	if (goes_on && failures > 0)
		how = way::fails;
	failures++;
	return true;
}
ssize_t fail()
{
	errno = error;
	return -1;
}
} // namespace writes

extern "C" ssize_t writes_pwrite(int fd, const void *bytes, size_t size, off64_t at);
extern "C" ssize_t writes_pwrite(int fd, const void *bytes, size_t size, off64_t at)
{
	const bool is_failing = writes::is_now();
	if (is_failing && writes::how == writes::way::fails)
		return writes::fail();
	if (is_failing && writes::how == writes::way::is_short)
		size /= 2;
	const ssize_t done = syscall(SYS_pwrite64, fd, bytes, size, at);
	return is_failing && writes::how == writes::way::is_done ? writes::fail() : done;
}

extern "C" ssize_t writes_writev(int fd, const iovec *parts, int count);
extern "C" ssize_t writes_writev(int fd, const iovec *parts, int count)
{
	const bool is_failing = writes::is_now();
	if (is_failing && writes::how == writes::way::fails)
		return writes::fail();
	if (is_failing && writes::how == writes::way::is_short)
		return syscall(SYS_write, fd, parts[0].iov_base, parts[0].iov_len / 2);
	const ssize_t done = syscall(SYS_writev, fd, parts, count);
	return is_failing && writes::how == writes::way::is_done ? writes::fail() : done;
}

extern "C" int writes_fdatasync(int fd);
extern "C" int writes_fdatasync(int fd)
{
	if (writes::is_now())
		return static_cast<int>(writes::fail());
	return static_cast<int>(syscall(SYS_fdatasync, fd));
}

extern "C" int ftruncate64(int fd, off64_t size);
extern "C" int writes_ftruncate(int fd, off64_t size)
{
	if (writes::is_now())
		return static_cast<int>(writes::fail());
	return static_cast<int>(syscall(SYS_ftruncate, fd, size));
}

namespace
{
// Deliveries, deletions, syncs, flushes and collections, with an account of what was promised.
class scenario
{
      public:
	void run()
	{
		if (!open())
			return;
		for (unsigned i = 0; i < 10; i++) {
			deliver(i % 3 == 0 ? 1200 : 100);
			sync();
			if (i % 3 == 2)
				remove();
			if (i == 5)
				flush();
			if (i % 4 == 3)
				collect(i == 3 ? 101 : 90);
			if (i == 6 || has_stopped_) {
				bench.close();
				if (!open())
					return;
			}
		}
		bench.close();
	}

	// All is well again.
	void finish()
	{
		bench.kill();
		REQUIRE(bench.open() == 0);
		CHECK(bench.recovery.damaged == 0);
		compare(bench.look(), mails);
		mailstore_info info;
		REQUIRE(maillayer_describe(bench.store, &info) == 0);
		const uint64_t live = info.live_size;
		bench.close();
		const checked done = bench.check();
		CHECK(done.status == 0);
		CHECK(done.findings == std::vector<std::string>{});
		// And as the log alone says it.
		bench.load(bench.disk.objects(), "");
		REQUIRE(bench.open() == 0);
		compare(bench.look(), mails);
		REQUIRE(maillayer_describe(bench.store, &info) == 0);
		CHECK(info.live_size == live);
		bench.close();
	}

	mail_bench bench{ 1500 };
	known_mails mails;
	std::set<int> statuses; // that a call has returned

      private:
	bool note(int status)
	{
		if (status != 0)
			statuses.insert(status);
		if (status == MAILSTORE_EFAILED || status == MAILSTORE_EUNSURE)
			has_stopped_ = true;
		return status == 0;
	}

	bool open()
	{
		has_stopped_ = false;
		if (note(bench.open()))
			return true;
		return note(bench.open());
	}

	void deliver(size_t size)
	{
		const std::string text = std::to_string(count_++) + std::string(size, 'x') + "\r\n";
		mailid id;
		if (note(bench.deliver({ "a", "b" }, text, &id))) {
			mails[text].id = text_of(id);
			mails[text].to = { "a", "b" };
			return;
		}
		// Nothing of it is there, unless the disk did not let it be cut.
		if (is_stopped()) {
			mails[text].to = { "a", "b" };
			mails[text].has_failed = true;
		}
	}

	// A sync that fails is the last: nothing is written any more, and all is refused.
	void sync()
	{
		const int ret = maillayer_sync(bench.store);
		if (note(ret)) {
			commit(mails);
			return;
		}
		if (ret != MAILSTORE_EFAILED)
			CHECK(is_stopped());
		if (ret != MAILSTORE_EFAILED && ret != MAILSTORE_EUNSURE)
			refuse(mails);
		const unsigned calls = bench.disk.calls();
		const bool is_unsure = ret == MAILSTORE_EUNSURE;
		const int stopped = is_unsure ? MAILSTORE_EUNSURE : MAILSTORE_EFAILED;
		CHECK(maillayer_flush(bench.store) == stopped);
		CHECK(bench.deliver({ "a" }, "never\r\n") == MAILSTORE_EFAILED);
		CHECK(bench.remove("a", 1) == MAILSTORE_EFAILED);
		CHECK(bench.collect(101) == stopped);
		CHECK(bench.disk.calls() == calls);
		has_stopped_ = true;
	}
	bool is_stopped()
	{
		const int ret = maillayer_sync(bench.store);
		if (ret == 0)
			commit(mails);
		else
			has_stopped_ = true;
		return ret != 0;
	}

	void flush()
	{
		if (note(maillayer_flush(bench.store)))
			commit(mails);
	}

	void remove()
	{
		seen_mail one;
		if (!note(bench.next("a", 0, &one)) || mails.count(one.text) == 0)
			return;
		commit(mails);
		if (note(bench.remove("a", one.mail)))
			mails[one.text].leaving.insert("a");
		else if (is_stopped())
			mails[one.text].doubted.insert("a");
		sync();
	}

	void collect(unsigned share_max)
	{
		const int ret = bench.collect(share_max);
		if (ret == 0)
			commit(mails);
		else if (ret != DNSBLV6_ENOTFOUND)
			note(ret);
	}

	bool has_stopped_ = false;
	unsigned count_ = 0;
};

// prepare(n) lets the n-th thing fail, end() tells whether it has; until n is behind the last.
unsigned try_all(const std::function<void(scenario &, unsigned)> &prepare,
		 const std::function<bool(scenario &)> &end)
{
	for (unsigned n = 1;; n++) {
		CAPTURE(n);
		scenario one;
		prepare(one, n);
		one.run();
		const bool has_failed = end(one);
		one.finish();
		if (!has_failed) {
			CHECK(one.statuses == std::set<int>{});
			return n - 1;
		}
	}
}
} // namespace

TEST_CASE("whichever call of the disk fails, what was acknowledged is there", "[mailstore][faults]")
{
	struct way {
		int status;
		bool is_once;
		bool loses_power;
	};
	// Power is lost behind a sync that fails once, as that is what a later one does not mend.
	const way how = GENERATE(values<way>({ { -ENOSPC, true, false },
					       { -ENOSPC, false, false },
					       { -EIO, true, false },
					       { -EIO, false, false },
					       { -EIO, true, true } }));
	CAPTURE(how.status, how.is_once, how.loses_power);
	const unsigned count =
		try_all([&](scenario &one,
			    unsigned n) { one.bench.disk.fail_after(n, how.status, how.is_once); },
			[&](scenario &one) {
				one.bench.disk.work_again();
				if (how.loses_power) {
					one.bench.kill();
					one.bench.disk.cut_power();
				}
				return one.bench.disk.failures() > 0;
			});
	CHECK(count > 80);
}

TEST_CASE("whichever call of the disk fails and the one behind it, what was acknowledged is there",
	  "[mailstore][faults]")
{
	const unsigned behind = GENERATE(range(1U, 6U));
	CAPTURE(behind);
	const unsigned count =
		try_all([&](scenario &one,
			    unsigned n) { one.bench.disk.fail_after(n, -EIO, true, behind); },
			[](scenario &one) {
				one.bench.disk.work_again();
				return one.bench.disk.failures() > 0;
			});
	CHECK(count > 80);
}

TEST_CASE("whichever write of the index fails, what was acknowledged is there",
	  "[mailstore][faults]")
{
	const auto how = GENERATE(writes::way::fails, writes::way::is_short, writes::way::is_done);
	const bool is_for_good = GENERATE(false, true);
	const int status = GENERATE(ENOSPC, EIO);
	CAPTURE(how, is_for_good, status);
	const unsigned count = try_all(
		[&](scenario &, unsigned n) { writes::fail_at(n, status, how, is_for_good); },
		[](scenario &) {
			writes::end();
			return writes::failures > 0;
		});
	CHECK(count > 30);
}

TEST_CASE("whichever allocation fails, what was acknowledged is there", "[mailstore][faults]")
{
	const unsigned count = try_all([](scenario &, unsigned n) { fault::fail_at(n); },
				       [](scenario &) { return fault::end(); });
	CHECK(count > 50);
}
