// SPDX-License-Identifier: GPL-3.0-or-later
//
// Mail is delivered, deleted and collected while the power goes at any call of the disk, and calls
// fail that work again later. After each start every mail that was committed is in every mailbox that
// has it, once, and no other is there in part.

#include "lib/process/sanitized.h"
#include "tests/lib/mailstores.hh"
#include "tests/lib/random.hh"
#include "tests/lib/seeds.hh"

#include <cerrno>
#include <cstdlib>

namespace
{
const char *const BOXES[] = { "a@example.com", "b@example.com", "c@example.com", "..", "d/e" };

// A store on a simulated disk, and what has to be in it.
class world
{
      public:
	explicit world(unsigned seed) : rnd_(seed), bench_(2000 + rnd_.below(3000), seed)
	{
		open();
	}

	void run(unsigned steps)
	{
		for (unsigned i = 0; i < steps; i++) {
			if (rnd_.one_in(12))
				fail();
			step();
			if (bench_.disk.has_failed() || has_stopped_ || rnd_.one_in(25))
				restart();
		}
		restart();
	}

      private:
	// All calls from one on, or one, or two.
	void fail()
	{
		const bool is_once = rnd_.one_in(2);
		bench_.disk.fail_after(1 + rnd_.below(30), rnd_.one_in(2) ? -EIO : -ENOSPC, is_once,
				       rnd_.below(4));
	}

	void open()
	{
		has_stopped_ = false;
		const int ret = bench_.open();
		INFO(mailstore_strerror(ret));
		REQUIRE(ret == 0);
		CHECK(bench_.recovery.damaged == 0);
		failures_ = bench_.disk.failures();
	}
	bool has_failed() const
	{
		return bench_.disk.failures() != failures_;
	}

	// 0, or it has failed since the disk did.
	bool is_done(int status)
	{
		INFO(mailstore_strerror(status));
		REQUIRE((status == 0 || has_failed()));
		has_stopped_ = has_stopped_ || status == MAILSTORE_EFAILED;
		return status == 0;
	}

	void restart()
	{
		// One that ends well, one that is killed, and a machine without power.
		const bool is_ending = !has_failed() && rnd_.one_in(4);
		if (is_ending) {
			bench_.close();
			if (!has_failed())
				commit(mails_);
		} else {
			bench_.kill();
		}
		bench_.disk.work_again();
		if (!rnd_.one_in(3))
			bench_.disk.cut_power();
		if (rnd_.one_in(5))
			bench_.load(bench_.disk.objects(), "");
		open();
		const seen_boxes found = bench_.look();
		compare(found, mails_);
		take_over(mails_, found);
		if (rnd_.one_in(20))
			check();
	}

	void check()
	{
		const checked done = bench_.check();
		CHECK(done.status == 0);
		CHECK(done.findings == std::vector<std::string>{});
	}

	void step()
	{
		switch (rnd_.below(8)) {
		case 0:
		case 1:
		case 2:
			deliver();
			break;
		case 3:
			remove();
			break;
		case 4:
		case 5:
			if (is_done(maillayer_sync(bench_.store)))
				commit(mails_);
			break;
		case 6:
			if (is_done(maillayer_flush(bench_.store)))
				commit(mails_);
			break;
		default:
			collect();
		}
	}

	void deliver()
	{
		std::set<std::string> to;
		for (const char *box : BOXES)
			if (rnd_.one_in(2))
				to.insert(box);
		if (to.empty())
			to.insert(BOXES[0]);
		const std::string text = "Subject: " + std::to_string(++count_) + "\n\n" +
					 std::string(rnd_.below(rnd_.one_in(6) ? 6000 : 300), 'x') +
					 (rnd_.one_in(2) ? "\n" : ".\r\n");
		mailid id;
		known_mail known;
		known.to = to;
		if (is_done(bench_.deliver({ to.begin(), to.end() }, text, &id))) {
			known.id = text_of(id);
			mails_[text] = known;
		} else if (is_stopped()) {
			// What could not be cut may be there when the power comes back, whole.
			known.has_failed = true;
			mails_[text] = known;
		}
	}
	bool is_stopped()
	{
		if (!is_done(maillayer_sync(bench_.store)))
			return true;
		commit(mails_);
		return false;
	}

	void remove()
	{
		const std::string box = BOXES[rnd_.below(5)];
		seen_mail one;
		const int ret = bench_.next(box, rnd_.below(40), &one);
		if (ret == DNSBLV6_ENOTFOUND || !is_done(ret))
			return;
		commit(mails_); // asking for a mail has flushed, for a mailbox perhaps not
		if (one.text.empty())
			return;
		known_mail &known = mails_.at(one.text);
		if (is_done(bench_.remove(box, one.mail)))
			known.leaving.insert(box);
		else if (is_stopped())
			known.doubted.insert(box);
	}

	void collect()
	{
		const int ret = bench_.collect(rnd_.one_in(2) ? 101 : 20 + rnd_.below(80));
		if (ret != DNSBLV6_ENOTFOUND && is_done(ret))
			commit(mails_);
	}

	randomness rnd_;
	mail_bench bench_;
	unsigned count_ = 0;
	unsigned failures_ = 0;
	bool has_stopped_ = false;
	known_mails mails_;
};

unsigned number(const char *name, unsigned otherwise)
{
	const char *text = getenv(name);
	return text != nullptr ? static_cast<unsigned>(strtoul(text, nullptr, 10)) : otherwise;
}
} // namespace

// DNSBLV6_CRASHES: how often; DNSBLV6_CRASH_STEPS: how long each time.
TEST_CASE("the power goes at any time, and no committed mail is lost or doubled",
	  "[mailstore][crash]")
{
	const auto seed = RANDOM_SEED(number("DNSBLV6_CRASHES", IS_SANITIZED ? 500 : 2000));
	CAPTURE(seed);
	world w(seed);
	w.run(number("DNSBLV6_CRASH_STEPS", seed % 50 == 0 ? 300 : 30));
}
