// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// guarded.hh - bytes that end where the readable memory ends.
//
// A read of one byte too many is a crash in every build, not only under the
// address sanitizer. The bytes are read-only too: decoders must not write them.

#include "tests/lib/pages.hh"

#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <new>
#include <vector>

class guarded
{
      public:
	explicit guarded(const std::vector<uint8_t> &bytes) : size_(bytes.size())
	{
		const size_t page = page_size();
		const size_t body_size = (size_ / page + 1) * page;
		map_size_ = body_size + page;
		void *map = mmap(nullptr, map_size_, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (map == MAP_FAILED)
			throw std::bad_alloc();
		map_ = static_cast<uint8_t *>(map);
		data_ = map_ + body_size - size_;
		if (size_ > 0)
			memcpy(data_, bytes.data(), size_);
		mprotect(map_, body_size, PROT_READ);
		mprotect(map_ + body_size, page, PROT_NONE);
	}
	~guarded()
	{
		munmap(map_, map_size_);
	}
	guarded(const guarded &) = delete;
	guarded &operator=(const guarded &) = delete;

	const uint8_t *data() const
	{
		return data_;
	}
	const char *text() const
	{
		return reinterpret_cast<const char *>(data_);
	}
	size_t size() const
	{
		return size_;
	}

      private:
	size_t size_;
	size_t map_size_;
	uint8_t *map_;
	uint8_t *data_;
};

// Calls visit with bytes, with bytes cut after every byte, and with every
// byte of it changed in turn to each of a few others.
template <typename Visit> void damage(const std::vector<uint8_t> &bytes, Visit visit)
{
	visit(guarded(bytes));
	for (size_t cut = 0; cut < bytes.size(); cut++)
		visit(guarded({ bytes.begin(), bytes.begin() + static_cast<long>(cut) }));
	for (size_t i = 0; i < bytes.size(); i++) {
		const uint8_t old = bytes[i];
		for (int other :
		     { 0x00, 0x01, 0x3f, 0x40, 0x7f, 0x80, 0xff, old ^ 1, old ^ 0x80 }) {
			std::vector<uint8_t> changed = bytes;
			changed[i] = static_cast<uint8_t>(other);
			visit(guarded(changed));
		}
	}
}
