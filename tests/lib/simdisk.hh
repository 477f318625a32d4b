// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// simdisk.hh - a disk below a mail store that loses what was not synced.
//
//     sim_disk disk(seed);
//     setup.disk = disk.handle();       // closing it closes nothing
//     disk.fail_after(17, -EIO);        // the 17th call from now on, and all after it
//     disk.cut_power();                 // what a machine finds when it starts again
//
// Of what was appended and not synced, any sectors of 512 or 4096 bytes stay, in any order; the
// length may have grown without the bytes, which are zeros then; an object that was never synced may
// have no name.

#include "lib/mailstore/disk.h"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <string>

class sim_disk
{
      public:
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
	void fail_after(unsigned calls, int status, bool once = false)
	{
		countdown_ = calls;
		status_ = status;
		once_ = once;
	}
	void work_again()
	{
		countdown_ = 0;
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
	uint64_t syncs() const
	{
		return syncs_;
	}

      private:
	struct object {
		std::string seen; // by who reads now
		std::string kept; // for certain
		bool is_named = false;
	};
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
		if (once_)
			status_ = 0;
		return status;
	}

	static sim_disk &of(disk *d)
	{
		return *reinterpret_cast<handle_type *>(d)->self;
	}

	static const disk_ops &operations();

	handle_type disk_{};
	std::mt19937 engine_;
	std::map<uint64_t, object> objects_;
	unsigned calls_ = 0;
	uint64_t syncs_ = 0;
	unsigned countdown_ = 0;
	int status_ = 0;
	bool once_ = false;
};

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
			const int ret = self.count();
			if (ret != 0)
				return ret;
			return self.objects_.emplace(number, object()).second ? 0 : -EEXIST;
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
			const int ret = self.count();
			if (ret != 0)
				bytes.resize(self.engine_() % (bytes.size() + 1));
			found->second.seen += bytes;
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
			const int ret = self.count();
			if (ret != 0)
				return ret;
			if (found == self.objects_.end())
				return -ENOENT;
			self.syncs_++;
			found->second.kept = found->second.seen;
			found->second.is_named = true;
			return 0;
		};
		made.cut = [](disk *d, uint64_t number, uint64_t size) {
			sim_disk &self = of(d);
			const auto found = self.objects_.find(number);
			const int ret = self.count();
			if (ret != 0)
				return ret;
			if (found == self.objects_.end())
				return -ENOENT;
			found->second.seen.resize(size, '\0');
			found->second.kept = found->second.seen;
			return 0;
		};
		made.remove = [](disk *d, uint64_t number) {
			sim_disk &self = of(d);
			const int ret = self.count();
			if (ret == 0)
				self.objects_.erase(number);
			return ret;
		};
		made.open_sync = [](disk *, uint64_t, int *) { return -EOPNOTSUPP; };
		made.open = [](disk *, uint64_t, int *) { return -EOPNOTSUPP; };
		made.close = [](disk *) {};
		return made;
	}();
	return ops;
}
