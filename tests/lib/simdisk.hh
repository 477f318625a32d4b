// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// simdisk.hh - a disk below a mail store that loses what was not synced.
//
//     sim_disk disk(seed);
//     setup.disk = disk.handle();       // closing it closes nothing
//     disk.fail_after(17, -EIO);        // the 17th call from now on, and all after it
//     disk.cut_power();                 // what a machine finds when it starts again
//     for (const auto &left : sim_disk::losses(disk.objects(), 64, seed))
//             other.load(left);         // each of what it may find
//
// Of what was appended and not synced, any sectors of 512 or 4096 bytes stay, in any order; the
// length may have grown without the bytes, which are zeros then; an object that was never synced may
// have no name. What a sync that failed was to write is seen, and a later sync leaves it where it is,
// as those of Linux do: with the power it goes, unless it was written once more.

#include "lib/mailstore/disk.h"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

class sim_disk
{
      public:
	struct object {
		std::string seen; // as it is read now
		std::string kept; // for certain
		bool is_named = false;
		std::vector<std::pair<size_t, size_t>> pending; // appended since: from, to
		// A sync of it has failed, and no other takes it to the disk.
		std::vector<std::pair<size_t, size_t>> dropped;
	};
	using objects_type = std::map<uint64_t, object>;

	// What it says; appends do not count.
	uint64_t room = UINT64_MAX;

	explicit sim_disk(unsigned seed) : engine_(seed)
	{
		disk_.base.ops = &operations();
		disk_.self = this;
	}
	sim_disk(const sim_disk &) = delete;
	sim_disk &operator=(const sim_disk &) = delete;

	disk *handle()
	{
		return &disk_.base;
	}

	// A failing append leaves a part of its bytes. once: later calls succeed again.
	// again: and then one more, so many calls behind it.
	void fail_after(unsigned calls, int status, bool once = false, unsigned again = 0)
	{
		countdown_ = calls;
		status_ = status;
		once_ = once;
		again_ = again;
	}
	void work_again()
	{
		countdown_ = 0;
		again_ = 0;
		status_ = 0;
	}
	bool has_failed() const
	{
		return status_ != 0 && countdown_ == 0;
	}

	void cut_power()
	{
		work_again();
		for (auto it = objects_.begin(); it != objects_.end();) {
			object &o = it->second;
			if (!o.is_named && one_in(2)) {
				it = objects_.erase(it);
				continue;
			}
			lose(o);
			o.is_named = true;
			++it;
		}
	}

	// Called before and behind each call that changes something: there the power may go.
	void watch(std::function<void()> fn)
	{
		watch_ = std::move(fn);
	}
	const objects_type &objects() const
	{
		return objects_;
	}
	void load(const objects_type &objects)
	{
		objects_ = objects;
	}
	// What a machine may find that starts again: all ways to lose what is not on disk, or as
	// many of them as max, always with those that lose all and nothing.
	static std::vector<objects_type> losses(const objects_type &objects, size_t max,
						unsigned seed);

	// What tests change by hand.
	std::string &bytes(uint64_t number)
	{
		return objects_.at(number).seen;
	}
	std::map<uint64_t, std::string> all() const
	{
		std::map<uint64_t, std::string> found;
		for (const auto &[number, o] : objects_)
			found[number] = o.seen;
		return found;
	}
	void forget(uint64_t number)
	{
		objects_.erase(number);
	}
	unsigned calls() const
	{
		return calls_;
	}
	// Calls that failed, since there is this disk.
	unsigned failures() const
	{
		return failures_;
	}
	uint64_t syncs() const
	{
		return syncs_;
	}

      private:
	struct handle_type {
		disk base;
		sim_disk *self;
	};

	bool one_in(unsigned count)
	{
		return engine_() % count == 0;
	}

	void lose(object &o)
	{
		const size_t sector = one_in(2) ? 512 : 4096;
		const size_t from = o.kept.size();
		std::string left = o.kept;
		const unsigned keep_one_in = 1 + engine_() % 4;
		size_t end = from;
		if (o.seen.size() > from)
			end = from + engine_() % (o.seen.size() - from + 1);
		if (one_in(3))
			end = o.seen.size();
		left.resize(end, '\0');
		for (size_t at = from / sector * sector; at < end; at += sector) {
			const size_t begin = std::max(at, from);
			const size_t behind = std::min(at + sector, end);
			if (one_in(keep_one_in))
				left.replace(begin, behind - begin, o.seen, begin, behind - begin);
		}
		o.seen = left;
		o.kept = left;
		o.pending.clear();
		o.dropped.clear();
	}

	static void cut(object &o, size_t size)
	{
		o.seen.resize(size, '\0');
		if (o.kept.size() > size)
			o.kept.resize(size);
		for (auto *ranges : { &o.pending, &o.dropped })
			for (auto &[from, to] : *ranges)
				to = std::min(to, size);
		while (!o.pending.empty() && o.pending.back().first >= o.pending.back().second)
			o.pending.pop_back();
	}

	// 0, or what the call has to return.
	int count()
	{
		calls_++;
		if (status_ == 0)
			return 0;
		if (countdown_ > 0)
			countdown_--;
		if (countdown_ > 0)
			return 0;
		const int status = status_;
		failures_++;
		if (once_ && again_ > 0)
			countdown_ = std::exchange(again_, 0);
		else if (once_)
			status_ = 0;
		return status;
	}

	static sim_disk &of(disk *d)
	{
		return *reinterpret_cast<handle_type *>(d)->self;
	}

	static const disk_ops &operations();

	void look() const
	{
		if (watch_)
			watch_();
	}

	handle_type disk_{};
	std::mt19937 engine_;
	objects_type objects_;
	std::function<void()> watch_;
	unsigned calls_ = 0;
	unsigned failures_ = 0;
	uint64_t syncs_ = 0;
	unsigned countdown_ = 0;
	int status_ = 0;
	bool once_ = false;
	unsigned again_ = 0;
};

// One thing that is not on disk yet, and what may become of it.
struct sim_loss {
	uint64_t number;
	bool is_name; // of the object; else what was appended from here to there
	size_t from;
	size_t to;
	unsigned ways; // all of it, nothing, and what is torn at a sector of 512 or 4096 bytes
};

inline std::vector<sim_loss> sim_losses_of(const sim_disk::objects_type &objects)
{
	std::vector<sim_loss> all;
	for (const auto &[number, o] : objects) {
		if (!o.is_named)
			all.push_back({ number, true, 0, 0, 2 });
		for (const auto &[from, to] : o.pending) {
			unsigned ways = 2;
			ways += to > (from / 512 + 1) * 512 ? 2 : 0;
			ways += to > (from / 4096 + 1) * 4096 ? 2 : 0;
			all.push_back({ number, false, from, to, ways });
		}
	}
	return all;
}

// way: 0 all of it stays, 1 nothing; 2, 4: up to a sector's end; 3, 5: from there on. What was before
// it in its sector stays as well.
inline void sim_keep(const sim_disk::object &o, const sim_loss &loss, unsigned way,
		     std::string &left)
{
	const size_t sector = way < 4 ? 512 : 4096;
	const size_t cut = (loss.from / sector + 1) * sector;
	const size_t from = way == 3 || way == 5 ? cut : loss.from / 512 * 512;
	const size_t to = way == 2 || way == 4 ? cut : loss.to;
	if (way == 1)
		return;
	if (left.size() < to)
		left.resize(to, '\0');
	left.replace(from, to - from, o.seen, from, to - from);
}

// is_long: the length is on disk without the bytes, which are zeros.
inline sim_disk::objects_type sim_lose(const sim_disk::objects_type &objects,
				       const std::vector<sim_loss> &losses,
				       const std::vector<unsigned> &ways, bool is_long)
{
	sim_disk::objects_type left = objects;
	for (auto &[number, o] : left)
		o.seen = o.kept;
	for (size_t i = 0; i < losses.size(); i++)
		if (!losses[i].is_name)
			sim_keep(objects.at(losses[i].number), losses[i], ways[i],
				 left.at(losses[i].number).seen);
	for (size_t i = 0; i < losses.size(); i++)
		if (losses[i].is_name && ways[i] == 1)
			left.erase(losses[i].number);
	for (auto &[number, o] : left) {
		if (is_long)
			o.seen.resize(objects.at(number).seen.size(), '\0');
		o.kept = o.seen;
		o.is_named = true;
		o.pending.clear();
		o.dropped.clear();
	}
	return left;
}

// One more, in all its ways; false behind the last.
inline bool sim_next_ways(const std::vector<sim_loss> &losses, std::vector<unsigned> &ways)
{
	for (size_t i = 0; i < ways.size(); i++) {
		if (++ways[i] < losses[i].ways)
			return true;
		ways[i] = 0;
	}
	return false;
}

inline std::vector<sim_disk::objects_type> sim_disk::losses(const objects_type &objects, size_t max,
							    unsigned seed)
{
	const std::vector<sim_loss> each = sim_losses_of(objects);
	std::vector<objects_type> all;
	std::vector<unsigned> ways(each.size(), 0);
	double count = 1;
	for (const sim_loss &loss : each)
		count *= loss.ways;
	if (2 * count <= static_cast<double>(max)) {
		do {
			all.push_back(sim_lose(objects, each, ways, false));
			all.push_back(sim_lose(objects, each, ways, true));
		} while (sim_next_ways(each, ways));
		return all;
	}
	std::mt19937 engine(seed);
	all.push_back(sim_lose(objects, each, ways, false));
	for (const bool is_long : { false, true })
		all.push_back(
			sim_lose(objects, each, std::vector<unsigned>(each.size(), 1), is_long));
	while (all.size() < max) {
		for (size_t i = 0; i < ways.size(); i++)
			ways[i] = static_cast<unsigned>(engine() % each[i].ways);
		all.push_back(sim_lose(objects, each, ways, engine() % 2 == 0));
	}
	return all;
}

inline const disk_ops &sim_disk::operations()
{
	static const disk_ops ops = [] {
		disk_ops made{};
		made.list = [](disk *d, disk_list_fn fn, void *context) {
			sim_disk &self = of(d);
			int ret = self.count();
			for (auto it = self.objects_.rbegin();
			     ret == 0 && it != self.objects_.rend(); ++it)
				ret = fn(context, it->first);
			return ret;
		};
		made.create = [](disk *d, uint64_t number) {
			sim_disk &self = of(d);
			self.look();
			const int ret = self.count();
			if (ret != 0)
				return ret;
			const bool is_new = self.objects_.emplace(number, object()).second;
			self.look();
			return is_new ? 0 : -EEXIST;
		};
		made.append = [](disk *d, uint64_t number, uint64_t at, const iovec *parts,
				 int count) {
			sim_disk &self = of(d);
			const auto found = self.objects_.find(number);
			std::string bytes;
			if (found == self.objects_.end())
				return -ENOENT;
			if (found->second.seen.size() != at)
				return -ESTALE;
			for (int i = 0; i < count; i++)
				if (parts[i].iov_len > 0)
					bytes.append(static_cast<const char *>(parts[i].iov_base),
						     parts[i].iov_len);
			self.look();
			const int ret = self.count();
			if (ret != 0)
				bytes.resize(self.engine_() % (bytes.size() + 1));
			found->second.seen += bytes;
			if (!bytes.empty())
				found->second.pending.emplace_back(at, at + bytes.size());
			self.look();
			return ret;
		};
		made.read = [](disk *d, uint64_t number, uint64_t at, void *out, size_t size) {
			sim_disk &self = of(d);
			const auto found = self.objects_.find(number);
			const int ret = self.count();
			if (ret != 0)
				return ret;
			if (found == self.objects_.end())
				return -ENOENT;
			const std::string &seen = found->second.seen;
			if (at > seen.size() || size > seen.size() - at)
				return -ENODATA;
			if (size > 0)
				memcpy(out, seen.data() + at, size);
			return 0;
		};
		made.size = [](disk *d, uint64_t number, uint64_t *ret_size) {
			sim_disk &self = of(d);
			const auto found = self.objects_.find(number);
			const int ret = self.count();
			if (ret != 0)
				return ret;
			if (found == self.objects_.end())
				return -ENOENT;
			*ret_size = found->second.seen.size();
			return 0;
		};
		made.sync = [](disk *d, uint64_t number) {
			sim_disk &self = of(d);
			const auto found = self.objects_.find(number);
			self.look();
			const int ret = self.count();
			if (found == self.objects_.end())
				return ret != 0 ? ret : -ENOENT;
			object &o = found->second;
			if (ret != 0) {
				o.dropped.insert(o.dropped.end(), o.pending.begin(),
						 o.pending.end());
				o.pending.clear();
				return ret;
			}
			self.syncs_++;
			o.kept = o.seen;
			for (const auto &[from, to] : o.dropped)
				if (from < to)
					o.kept.replace(from, to - from, to - from, '\0');
			o.is_named = true;
			o.pending.clear();
			self.look();
			return 0;
		};
		made.renew = [](disk *d, uint64_t number, uint64_t from, uint64_t to) {
			sim_disk &self = of(d);
			const auto found = self.objects_.find(number);
			const int ret = self.count();
			if (ret != 0)
				return ret;
			if (found == self.objects_.end())
				return -ENOENT;
			for (auto &[begin, end] : found->second.dropped)
				if (begin >= from && end <= to)
					end = begin;
			return 0;
		};
		made.cut = [](disk *d, uint64_t number, uint64_t size) {
			sim_disk &self = of(d);
			const auto found = self.objects_.find(number);
			self.look();
			const int ret = self.count();
			if (ret != 0)
				return ret;
			if (found == self.objects_.end())
				return -ENOENT;
			cut(found->second, size);
			self.look();
			return 0;
		};
		made.remove = [](disk *d, uint64_t number) {
			sim_disk &self = of(d);
			self.look();
			const int ret = self.count();
			if (ret == 0)
				self.objects_.erase(number);
			self.look();
			return ret;
		};
		made.open_sync = [](disk *, uint64_t, int *) { return -EOPNOTSUPP; };
		made.open = [](disk *, uint64_t, int *) { return -EOPNOTSUPP; };
		made.room = [](disk *d, uint64_t *ret_size, uint64_t *ret_root_size) {
			*ret_size = *ret_root_size = of(d).room;
			return 0;
		};
		made.close = [](disk *) {};
		return made;
	}();
	return ops;
}
