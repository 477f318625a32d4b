/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * client_config.hh - a configuration of the client library, for its tests.
 */

#include "client-lib/config/config.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <sys/resource.h>
#include <unistd.h>

#include <catch2/catch.hpp>

/* The soft limit of descriptors, until the end of the block; below the hard one at most. */
class limited
{
      public:
	explicit limited(rlim_t count)
	{
		REQUIRE(getrlimit(RLIMIT_NOFILE, &before_) == 0);
		rlimit now = before_;
		now.rlim_cur = count;
		REQUIRE(setrlimit(RLIMIT_NOFILE, &now) == 0);
	}
	~limited()
	{
		setrlimit(RLIMIT_NOFILE, &before_);
	}
	limited(const limited &) = delete;
	limited &operator=(const limited &) = delete;

      private:
	rlimit before_ = {};
};

/* A struct config on the heap, and what was said last. */
class Config
{
      public:
	Config()
	{
		config_init(c.get());
	}
	/* "" or the refusal. */
	std::string set(const std::string &key, const std::string &value)
	{
		return told(config_set(c.get(), key.c_str(), value.c_str(), error));
	}
	std::string finish()
	{
		return told(config_finish(c.get(), error));
	}
	config *operator->()
	{
		return c.get();
	}
	/* The bytes, for what must not have changed. */
	std::string bytes() const
	{
		return std::string(reinterpret_cast<const char *>(c.get()), sizeof(config));
	}

      private:
	std::string told(int ret)
	{
		if (ret == 0)
			return "";
		REQUIRE(ret == -EINVAL);
		REQUIRE(memchr(error, '\0', sizeof(error)) != nullptr);
		for (const char *at = error; *at != '\0'; at++)
			REQUIRE((*at >= ' ' && *at < 0x7f));
		return error;
	}
	std::unique_ptr<config> c{ new config };
	char error[CONFIG_ERROR_MAX] = {};
};

inline bool contains(const std::string &text, const std::string &part)
{
	return text.find(part) != std::string::npos;
}

/* A file that ends with the test. */
class File
{
      public:
	explicit File(const std::string &content)
	{
		char name[] = "/tmp/client-config-XXXXXX";
		const int fd = mkstemp(name);
		REQUIRE(fd >= 0);
		REQUIRE(write(fd, content.data(), content.size()) ==
			static_cast<ssize_t>(content.size()));
		close(fd);
		path = name;
	}
	~File()
	{
		unlink(path.c_str());
	}
	std::string path;
};
