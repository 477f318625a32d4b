// SPDX-License-Identifier: GPL-3.0-or-later
//
// Mail is delivered, erased, rolled forward and taken back on three machines while writes time out, come
// late, are refused, processes die at any call, and between any two calls of one machine the others go
// on, for so long that they take it for dead. What was acknowledged is in each of its mailboxes,
// once; what was refused is in none; what was erased stays so; and a repair leaves nothing over.

#include "tests/lib/random.hh"
#include "tests/lib/seeds.hh"
#include "tests/unit/mailcluster/world.hh"

#include <cerrno>
#include <cstdlib>
#include <optional>
#include <set>

namespace
{
using strings = std::set<std::string>;

constexpr size_t NODES = 3;
const char *const BOXES[] = { "a@example.com", "b@example.com", "c", "d/e", "%" };

// Assertions count, and there are many places: this one is for those that fail.
#define HOLDS(...)                                                                                 \
	do {                                                                                       \
		if (!(__VA_ARGS__))                                                                \
			FAIL(#__VA_ARGS__);                                                        \
	} while (false)

enum fate {
	ACKNOWLEDGED,
	REFUSED,  // and nothing may be left of it
	UNCERTAIN // the process died, or it was tried again: all of it, or nothing
};

struct known {
	fate what;
	strings to;
	strings gone;	 // erased for certain
	strings doubted; // to be erased, without an answer
	std::optional<mailid> id;
	size_t node = 0; // where it was refused
	unsigned attempts = 0;
};

class campaign
{
      public:
	explicit campaign(unsigned seed) : rnd_(seed), world_(seed, NODES)
	{
		world_.skews = { 0, 3600000000, 0 };
		world_.objects.faults.page_max = 1 + rnd_.below(3);
		world_.objects.faults.timeout_one_in = rnd_.one_in(4) ? 0 : 8 + rnd_.below(40);
		world_.objects.faults.read_timeout_one_in = rnd_.one_in(3) ? 0 : 60;
		world_.objects.faults.arrive_one_in = 1 + rnd_.below(60);
		if (rnd_.one_in(2))
			world_.objects.watch([this](objects *handle, const std::string &,
						    const std::string &) { interrupt(handle); });
	}

	void run(unsigned steps)
	{
		for (unsigned i = 0; i < steps; i++) {
			interruptions_ = 2;
			step();
		}
		finish();
	}

      private:
	// A machine that is up and not in the middle of something; NODES: none.
	size_t choose_node()
	{
		const size_t i = rnd_.below(NODES);
		if (!world_.is_up(i) && !is_busy_[i])
			start(i);
		for (size_t k = 0; k < NODES; k++) {
			const size_t at = (i + k) % NODES;
			if (world_.is_up(at) && !is_busy_[at])
				return at;
		}
		return NODES;
	}
	void start(size_t node)
	{
		is_busy_[node] = true;
		(void)world_.start(node);
		is_busy_[node] = false;
	}
	// What a machine has told to be refused it may not take back any more.
	void doubt(size_t node)
	{
		for (auto &[text, mail] : mails_)
			if (mail.what == REFUSED && mail.node == node)
				mail.what = UNCERTAIN;
	}
	void bury(size_t node)
	{
		is_busy_[node] = true;
		world_.kill(node);
		is_busy_[node] = false;
		doubt(node);
	}

	// The others go on while a machine is about to call.
	void interrupt(objects *)
	{
		if (depth_ == 0 || depth_ > 2 || interruptions_ == 0 || !rnd_.one_in(30))
			return;
		interruptions_--;
		for (unsigned steps = 1 + rnd_.below(4); steps > 0; steps--)
			step();
	}

	void step()
	{
		const size_t node = choose_node();
		if (node == NODES)
			return;
		depth_++;
		is_busy_[node] = true;
		if (rnd_.one_in(12))
			world_.objects.crash_after(1 + rnd_.below(12));
		if (rnd_.one_in(20))
			world_.objects.refuse(rnd_.one_in(2) ? -ENOSPC : -EACCES);
		act(node);
		world_.objects.crash_after(0);
		world_.objects.refuse(0);
		is_busy_[node] = false;
		depth_--;
		// One that does not need an answer of the call with which it died.
		for (size_t i = 0; i < NODES; i++)
			if (world_.is_up(i) && !is_busy_[i] &&
			    sim_objects::is_dead(world_.nodes[i].handle))
				bury(i);
	}
	void act(size_t node)
	{
		switch (rnd_.below(13)) {
		case 0:
		case 1:
		case 2:
		case 3:
			deliver(node);
			break;
		case 4:
			try_again(node);
			break;
		case 5:
		case 6:
			erase(node);
			break;
		case 7:
			sweep(node);
			break;
		case 8:
			repair(node);
			break;
		case 9:
			if (rnd_.one_in(3))
				sim_objects::kill(world_.nodes[node].handle);
			break;
		case 10:
			if (rnd_.one_in(6))
				outlast(node);
			break;
		default:
			beat(node);
		}
	}

	void deliver(size_t node)
	{
		known mail{};
		mail.what = UNCERTAIN;
		for (const char *box : BOXES)
			if (rnd_.one_in(2))
				mail.to.insert(box);
		if (mail.to.empty())
			mail.to.insert(BOXES[0]);
		const std::string text = "mail " + std::to_string(++count_) + "\r\n";
		mailid id{};
		if (rnd_.one_in(2) && maillayer_make_id(world_.nodes[node].layer, &id) == 0)
			mail.id = id;
		mails_[text] = mail;
		attempt(node, text);
	}
	// By its id, whatever came of it before, and while it is under way: also what was acknowledged, since
	// that may get lost.
	void try_again(size_t node)
	{
		for (auto &[text, mail] : mails_) {
			if (!mail.id || !rnd_.one_in(4))
				continue;
			attempt(node, text);
			return;
		}
	}
	void attempt(size_t node, const std::string &text)
	{
		known &mail = mails_[text];
		if (mail.what == REFUSED)
			mail.what = UNCERTAIN;
		mail.attempts++;
		const unsigned beats = outlasted_;
		const int ret = world_.deliver(node, { mail.to.begin(), mail.to.end() }, text,
					       nullptr, mail.id ? &*mail.id : nullptr);
		INFO("delivery: " << mailstore_strerror(ret));
		HOLDS(ret == 0 || ret == -ETIMEDOUT || ret == -ESHUTDOWN || ret == -ENOSPC ||
		      ret == -EACCES || ret == -EAGAIN || ret == MAILSTORE_EFAILED ||
		      (ret == -ESTALE && (mail.id || beats != outlasted_)));
		if (ret == 0)
			mail.what = ACKNOWLEDGED;
		else if (mail.what == UNCERTAIN && mail.attempts == 1 && ret != -ESHUTDOWN &&
			 beats == outlasted_)
			mail.what = REFUSED;
		mail.node = node;
	}

	void erase(size_t node)
	{
		const std::string box = BOXES[rnd_.below(5)];
		const auto entries = world_.list(node, box);
		if (entries.empty())
			return;
		const uint64_t mail =
			entries[rnd_.below(static_cast<unsigned>(entries.size()))].mail;
		const std::string text = world_.read(node, mail);
		if (mails_.count(text) == 0)
			return; // not to be read now
		maillayer *layer = world_.nodes[node].layer;
		int ret = 0;
		if (rnd_.one_in(2))
			ret = maillayer_lock(layer, name_of(box));
		if (ret == 0)
			ret = world_.erase(node, box, mail);
		if (ret == 0)
			mails_[text].gone.insert(box);
		else
			mails_[text].doubted.insert(box);
		(void)maillayer_unlock(layer);
	}
	void sweep(size_t node)
	{
		// It may take others for dead that live: what these have told to be refused is kept, also
		// what they refuse between its calls.
		outlasted_ += has_outlasted_[node];
		const int ret = world_.sweep(node);
		for (size_t i = 0; has_outlasted_[node] && i < NODES; i++)
			if (i != node)
				doubt(i);
		INFO("sweep: " << mailstore_strerror(ret));
		HOLDS(ret == 0 || ret == -ETIMEDOUT || ret == -ESHUTDOWN || ret == -ENOSPC ||
		      ret == -EACCES || ret == -EAGAIN || ret == MAILSTORE_EFAILED ||
		      ret == -ECANCELED || ret == -ENOENT);
	}
	void repair(size_t node)
	{
		struct mailcluster_check check {
		};
		mailcluster_found found{};
		check.is_repair = true;
		check.is_deep = true;
		check.time_us = world_.now(node);
		(void)mailcluster_check(world_.nodes[node].cluster, &check, &found);
		HOLDS(found.damaged == 0);
		HOLDS(found.missing == 0);
	}
	void beat(size_t node)
	{
		const int ret = world_.beat(node);
		HOLDS(ret == 0 || ret == -ETIMEDOUT || ret == -ESHUTDOWN || ret == -ENOSPC ||
		      ret == -EACCES || ret == -ECANCELED);
	}
	// The others are dead for this one, which finishes what they have begun.
	void outlast(size_t node)
	{
		for (unsigned i = 0; i < 63; i++)
			beat(node);
		has_outlasted_[node] = true;
		sweep(node);
	}

	void compare(const seen_mailboxes &boxes)
	{
		std::map<std::string, strings> found;
		for (const auto &[box, entries] : boxes) {
			for (const seen_entry &entry : entries) {
				INFO(box << " has " << entry.text);
				HOLDS(mails_.count(entry.text) == 1);
				HOLDS(mails_.at(entry.text).to.count(box) == 1);
				HOLDS(mails_.at(entry.text).gone.count(box) == 0);
				HOLDS(found[entry.text].insert(box).second);
			}
		}
		for (const auto &[text, mail] : mails_) {
			INFO("mail " << text << " fate " << mail.what);
			const strings &seen = found[text];
			if (mail.what == REFUSED)
				HOLDS(seen.empty());
			if (mail.what == REFUSED || (mail.what == UNCERTAIN && seen.empty()))
				continue;
			for (const std::string &box : mail.to)
				HOLDS(mail.gone.count(box) + mail.doubted.count(box) +
					      seen.count(box) >
				      0);
		}
	}

	// Nothing fails any more, and what was late has come.
	void finish()
	{
		sim_objects &objects = world_.objects;
		objects.watch(nullptr);
		objects.faults.timeout_one_in = 0;
		objects.faults.read_timeout_one_in = 0;
		if (rnd_.one_in(2))
			objects.settle();
		for (size_t i = 0; i < NODES; i++)
			if (!world_.is_up(i))
				HOLDS(world_.start(i) == 0);
		// All see that the others live.
		for (size_t i = 0; i < 2 * NODES; i++)
			HOLDS(world_.beat(i % NODES) == 0);
		for (unsigned round = 0; round < 3; round++) {
			for (size_t i = 0; i < NODES; i++) {
				INFO("node " << i);
				int ret = world_.beat(i);
				INFO("beat: " << mailstore_strerror(ret));
				HOLDS(ret == 0);
				ret = world_.sweep(i);
				INFO("sweep: " << mailstore_strerror(ret));
				HOLDS(ret == 0);
			}
			objects.settle();
		}
		compare(world_.look(rnd_.below(NODES)));
		for (unsigned round = 1; round < 4; round++)
			(void)world_.check(0, true, round * TWO_DAYS_US);
		const seen_mailboxes last = world_.look(0);
		compare(last);
		const mailcluster_found found = world_.check(1, false, 9 * TWO_DAYS_US);
		for (const std::string &line : world_.findings)
			UNSCOPED_INFO(line);
		HOLDS(found.orphans == 0 && found.missing == 0 && found.damaged == 0 &&
		      found.old == 0);
		std::set<uint64_t> mails;
		for (const auto &[box, entries] : last)
			for (const seen_entry &entry : entries)
				mails.insert(entry.mail);
		HOLDS(objects.count("b.") == mails.size());
		HOLDS(world_.rows("x.", "t.") == 0);
		HOLDS(world_.rows("j.", "") == 0);
		SUCCEED();
	}

	randomness rnd_;
	cluster_world world_;
	unsigned count_ = 0;
	unsigned depth_ = 0;	     // of steps within steps
	unsigned interruptions_ = 0; // that a step may still have
	unsigned outlasted_ = 0;     // counts what happened behind backs
	bool is_busy_[NODES] = {};
	bool has_outlasted_[NODES] = {};
	std::map<std::string, known> mails_; // by text
};

unsigned number(const char *name, unsigned otherwise)
{
	const char *text = getenv(name);
	return text != nullptr ? static_cast<unsigned>(strtoul(text, nullptr, 10)) : otherwise;
}
} // namespace

// DNSBLV6_CRASHES: how often; DNSBLV6_CRASH_STEPS: how long each time; DNSBLV6_CRASH_SEED: this one.
TEST_CASE("machines fail at any time, and no acknowledged mail is lost, doubled or given back",
	  "[mailcluster][crash]")
{
	const auto drawn = RANDOM_SEED(number("DNSBLV6_CRASHES", 200));
	const unsigned seed = number("DNSBLV6_CRASH_SEED", drawn);
	CAPTURE(seed);
	campaign one(seed);
	one.run(number("DNSBLV6_CRASH_STEPS", seed % 20 == 0 ? 150 : 50));
}
