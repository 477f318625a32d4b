// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// simobjects.hh - objects in memory for a cluster's store, which fail as a network and its disks may.
//
//     sim_objects world(seed);
//     setup.objects = world.handle();    // of one process; closing it leaves the objects
//     world.faults.timeout_one_in = 20;  // a write, or a read, of so many
//     world.faults.page_max = 3;         // rows of a page
//     world.refuse(-ENOSPC);             // each write, for certain
//     world.crash_after(17);             // calls; the process of those behind it is dead
//     world.settle();                    // what was on its way has arrived
//
// A write that times out is not done, done, or done later: behind any number of further calls. All may be
// called from any thread.

#include "lib/mailcluster/objects.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <vector>

class sim_objects
{
      public:
	struct object {
		std::string bytes;
		std::map<std::string, std::string> rows;
	};
	struct fault_type {
		unsigned timeout_one_in = 0;
		unsigned read_timeout_one_in = 0;
		unsigned arrive_one_in = 4; // of what is late, with each call
		unsigned page_max = 1024;
		std::string unreadable; // an object of which no copy can be read
	};

	explicit sim_objects(unsigned seed = 1) : engine_(seed)
	{
	}
	sim_objects(const sim_objects &) = delete;
	sim_objects &operator=(const sim_objects &) = delete;

	objects *handle()
	{
		auto *made = new handle_type{ { &operations() }, this, false };
		const std::lock_guard<std::mutex> guard(mutex_);
		return &made->base;
	}
	// What the process of a handle calls from now on fails, and is not done.
	static void kill(objects *handle)
	{
		const std::lock_guard<std::mutex> guard(of(handle)->world->mutex_);
		of(handle)->is_dead = true;
	}
	static bool is_dead(objects *handle)
	{
		const std::lock_guard<std::mutex> guard(of(handle)->world->mutex_);
		return of(handle)->is_dead;
	}
	// The process that makes the call of that number dies with it; 0: none.
	void crash_after(unsigned calls)
	{
		const std::lock_guard<std::mutex> guard(mutex_);
		crash_ = calls;
	}
	// 0: none is any more.
	void refuse(int status)
	{
		const std::lock_guard<std::mutex> guard(mutex_);
		refusal_ = status;
	}
	// The next calls that write time out; each with what comes of it.
	enum outcome { NOT_DONE, DONE, LATE };
	void time_out(const std::vector<outcome> &outcomes,
		      const std::string &prefix = std::string())
	{
		const std::lock_guard<std::mutex> guard(mutex_);
		planned_.assign(outcomes.begin(), outcomes.end());
		planned_prefix_ = prefix;
	}
	void settle()
	{
		const std::lock_guard<std::mutex> guard(mutex_);
		while (!late_.empty())
			arrive(0);
	}
	// Objects as they are, for tests that read or change them by hand.
	std::map<std::string, object> objects_now()
	{
		const std::lock_guard<std::mutex> guard(mutex_);
		return objects_;
	}
	void change(const std::function<void(std::map<std::string, object> &)> &fn)
	{
		const std::lock_guard<std::mutex> guard(mutex_);
		fn(objects_);
	}
	unsigned calls()
	{
		const std::lock_guard<std::mutex> guard(mutex_);
		return calls_;
	}
	unsigned writes()
	{
		const std::lock_guard<std::mutex> guard(mutex_);
		return writes_;
	}
	unsigned count(const std::string &prefix)
	{
		unsigned found = 0;
		for (const auto &[name, one] : objects_now())
			found += name.compare(0, prefix.size(), prefix) == 0;
		return found;
	}

	// Called before each call, which has not begun: other machines may go on meanwhile. It hears what the
	// call is ("write", "read", "size", "row", "rows"), and of which object.
	using watch_type = std::function<void(objects *handle, const std::string &what,
					      const std::string &name)>;
	void watch(watch_type fn)
	{
		watch_ = std::move(fn);
	}

	fault_type faults; // changed while no other thread calls, as what watches

      private:
	struct handle_type {
		objects base;
		sim_objects *world;
		bool is_dead;
	};
	struct copy_type {
		std::string name;
		objects_guard guard;
		bool is_removal;
		std::vector<std::pair<std::string, std::string>> same;
		std::vector<std::pair<std::string, std::string>> set;
		std::vector<std::string> unset;
		bool has_bytes;
		std::string bytes;
	};

	static handle_type *of(objects *handle)
	{
		return reinterpret_cast<handle_type *>(handle);
	}
	bool one_in(unsigned count)
	{
		return count > 0 && engine_() % count == 0;
	}

	static std::string text(const void *bytes, size_t size)
	{
		return size > 0 ? std::string(static_cast<const char *>(bytes), size)
				: std::string();
	}
	static copy_type copy(const struct objects_write &write)
	{
		copy_type one{ write.name,
			       write.guard,
			       write.is_removal,
			       {},
			       {},
			       {},
			       write.bytes != nullptr,
			       text(write.bytes, write.size) };
		for (size_t i = 0; i < write.same_count; i++)
			one.same.emplace_back(write.same[i].key,
					      text(write.same[i].value, write.same[i].size));
		for (size_t i = 0; i < write.set_count; i++)
			one.set.emplace_back(write.set[i].key,
					     text(write.set[i].value, write.set[i].size));
		for (size_t i = 0; i < write.unset_count; i++)
			one.unset.emplace_back(write.unset[i]);
		return one;
	}
	static std::string row_of(const object &o, const std::string &key)
	{
		const auto found = o.rows.find(key);
		return found == o.rows.end() ? std::string() : found->second;
	}
	// A whole write, or nothing of it.
	int apply(const copy_type &write)
	{
		const auto found = objects_.find(write.name);
		const bool is_there = found != objects_.end();
		if (write.guard == OBJECTS_NEW && is_there)
			return -EEXIST;
		if ((write.guard == OBJECTS_OLD || write.is_removal) && !is_there)
			return -ENOENT;
		static const object nothing;
		const object &before = is_there ? found->second : nothing;
		for (const auto &[key, value] : write.same)
			if (row_of(before, key) != value)
				return -ECANCELED;
		writes_++;
		if (write.is_removal) {
			objects_.erase(found);
			return 0;
		}
		object &o = objects_[write.name];
		for (const std::string &key : write.unset)
			o.rows.erase(key);
		for (const auto &[key, value] : write.set)
			o.rows[key] = value;
		if (write.has_bytes)
			o.bytes = write.bytes;
		return 0;
	}

	void arrive(size_t at)
	{
		const copy_type write = late_[at];
		late_.erase(late_.begin() + static_cast<std::ptrdiff_t>(at));
		(void)apply(write);
	}
	// 0, or what the call has to return. The mutex is held.
	int begin(handle_type *handle)
	{
		calls_++;
		if (!late_.empty() && one_in(faults.arrive_one_in))
			arrive(engine_() % late_.size());
		if (crash_ > 0 && --crash_ == 0) {
			handle->is_dead = true;
			is_crashing_ = true;
		}
		return handle->is_dead && !is_crashing_ ? -ESHUTDOWN : 0;
	}
	bool take_planned(const std::string &name, outcome *ret_outcome)
	{
		if (planned_.empty() ||
		    name.compare(0, planned_prefix_.size(), planned_prefix_) != 0)
			return false;
		*ret_outcome = planned_.front();
		planned_.erase(planned_.begin());
		return true;
	}
	int write_one(const struct objects_write &write)
	{
		outcome what = NOT_DONE;
		const copy_type one = copy(write);
		if (refusal_ != 0)
			return refusal_;
		if (!take_planned(one.name, &what)) {
			if (!one_in(faults.timeout_one_in))
				return apply(one);
			what = static_cast<outcome>(engine_() % 3);
		}
		if (what == DONE)
			(void)apply(one);
		else if (what == LATE)
			late_.push_back(one);
		return -ETIMEDOUT;
	}

	void look_around(objects *handle, const char *what, const char *name)
	{
		if (watch_)
			watch_(handle, what, name);
	}
	static int write(objects *handle, struct objects_write *writes, size_t count)
	{
		sim_objects *world = of(handle)->world;
		int first = 0;
		for (size_t i = 0; i < count; i++) {
			world->look_around(handle, "write", writes[i].name);
			const std::lock_guard<std::mutex> guard(world->mutex_);
			int ret = world->begin(of(handle));
			if (ret == 0 && world->is_crashing_) {
				// Any part of what it was doing has happened, now or later.
				if (world->one_in(2))
					(void)world->apply(copy(writes[i]));
				else if (world->one_in(2))
					world->late_.push_back(copy(writes[i]));
				world->is_crashing_ = false;
				ret = -ESHUTDOWN;
			}
			if (ret == 0)
				ret = world->write_one(writes[i]);
			writes[i].status = ret;
			if (first == 0)
				first = ret;
		}
		return first;
	}
	// The status of a call that reads; with 0 *ret_object may be NULL.
	int find(handle_type *handle, const char *name, const object **ret_object)
	{
		int ret = begin(handle);
		if (is_crashing_) {
			is_crashing_ = false;
			ret = -ESHUTDOWN;
		}
		if (ret == 0 && one_in(faults.read_timeout_one_in))
			ret = -ETIMEDOUT;
		if (ret == 0 && !faults.unreadable.empty() && faults.unreadable == name)
			ret = -EIO;
		if (ret != 0)
			return ret;
		const auto found = objects_.find(name);
		*ret_object = found == objects_.end() ? nullptr : &found->second;
		return 0;
	}
	static int read(objects *handle, const char *name, uint64_t at, void *bytes, size_t size,
			size_t *ret_size)
	{
		sim_objects *world = of(handle)->world;
		world->look_around(handle, "read", name);
		const std::lock_guard<std::mutex> guard(world->mutex_);
		const object *o = nullptr;
		const int ret = world->find(of(handle), name, &o);
		if (ret != 0 || o == nullptr)
			return ret != 0 ? ret : -ENOENT;
		const size_t from = std::min<uint64_t>(at, o->bytes.size());
		*ret_size = o->bytes.copy(static_cast<char *>(bytes), size, from);
		return 0;
	}
	static int size(objects *handle, const char *name, uint64_t *ret_size)
	{
		sim_objects *world = of(handle)->world;
		world->look_around(handle, "size", name);
		const std::lock_guard<std::mutex> guard(world->mutex_);
		const object *o = nullptr;
		const int ret = world->find(of(handle), name, &o);
		if (ret != 0 || o == nullptr)
			return ret != 0 ? ret : -ENOENT;
		*ret_size = o->bytes.size();
		return 0;
	}
	static int row(objects *handle, const char *name, const char *key, void *value, size_t room,
		       size_t *ret_size)
	{
		sim_objects *world = of(handle)->world;
		world->look_around(handle, "row", name);
		const std::lock_guard<std::mutex> guard(world->mutex_);
		const object *o = nullptr;
		const int ret = world->find(of(handle), name, &o);
		if (ret != 0 || o == nullptr)
			return ret != 0 ? ret : -ENOENT;
		const auto found = o->rows.find(key);
		if (found == o->rows.end())
			return -ENOENT;
		if (found->second.size() > room)
			return -ERANGE;
		memcpy(value, found->second.data(), found->second.size());
		*ret_size = found->second.size();
		return 0;
	}

	static void fill(objects_page *page, const std::vector<const std::string *> &texts)
	{
		size_t total = 1;
		for (const std::string *one : texts)
			total += one->size() + 1;
		char *out = static_cast<char *>(malloc(total));
		page->memory = out;
		page->count = texts.size() / 2;
		page->rows = static_cast<objects_found *>(
			calloc(page->count + 1, sizeof(objects_found)));
		for (size_t i = 0; i < texts.size(); i++) {
			memcpy(out, texts[i]->c_str(), texts[i]->size() + 1);
			objects_found &found = page->rows[i / 2];
			if (i % 2 == 0) {
				found.key = out;
				found.key_size = texts[i]->size();
			} else {
				found.value = reinterpret_cast<uint8_t *>(out);
				found.size = texts[i]->size();
			}
			out += texts[i]->size() + 1;
		}
	}
	static int rows(objects *handle, const char *name, const char *behind, const char *prefix,
			size_t most, objects_page *ret_page)
	{
		sim_objects *world = of(handle)->world;
		world->look_around(handle, "rows", name);
		const std::lock_guard<std::mutex> guard(world->mutex_);
		const object *o = nullptr;
		*ret_page = {};
		const int ret = world->find(of(handle), name, &o);
		if (ret != 0 || o == nullptr)
			return ret != 0 ? ret : -ENOENT;
		const std::string begin = std::max<std::string>(behind, prefix);
		std::vector<const std::string *> texts;
		const size_t page = 1 + world->engine_() % world->faults.page_max;
		const size_t room = std::min(most, world->faults.page_max < 16 ? page : most);
		ret_page->is_last = true;
		for (auto it = o->rows.lower_bound(begin); it != o->rows.end(); ++it) {
			if (it->first == behind)
				continue;
			if (it->first.compare(0, strlen(prefix), prefix) != 0)
				break;
			if (texts.size() / 2 == room) {
				ret_page->is_last = false;
				break;
			}
			texts.push_back(&it->first);
			texts.push_back(&it->second);
		}
		fill(ret_page, texts);
		return 0;
	}
	static int list(objects *handle, bool (*take)(void *owner, const char *name, unsigned),
			void *owner)
	{
		sim_objects *world = of(handle)->world;
		std::vector<std::string> names;
		{
			const std::lock_guard<std::mutex> guard(world->mutex_);
			const object *o = nullptr;
			const int ret = world->find(of(handle), "", &o);
			if (ret != 0)
				return ret;
			for (const auto &[name, one] : world->objects_)
				names.push_back(name);
		}
		for (const std::string &name : names)
			if (!take(owner, name.c_str(), world->copies))
				break;
		return 0;
	}
	static int describe(objects *, objects_state *ret_state)
	{
		*ret_state = {};
		ret_state->copies_wanted = 3;
		ret_state->machines = 3;
		ret_state->machines_up = 3;
		return 0;
	}
	static void close(objects *handle)
	{
		delete of(handle);
	}
	static const objects_ops &operations()
	{
		static const objects_ops ops = {
			write, read, size, rows, row, list, describe, close
		};
		return ops;
	}

      public:
	unsigned copies = 3; // that each object has

      private:
	watch_type watch_;
	std::mutex mutex_;
	std::mt19937_64 engine_;
	std::map<std::string, object> objects_;
	std::vector<copy_type> late_;
	std::vector<outcome> planned_;
	std::string planned_prefix_;
	unsigned calls_ = 0;
	unsigned writes_ = 0;
	unsigned crash_ = 0;
	bool is_crashing_ = false;
	int refusal_ = 0;
};
