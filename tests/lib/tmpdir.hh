// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// tmpdir.hh - a directory that is gone when its owner is: in memory, where a sync costs nothing, as
// tests make thousands; on a disk where there is no such place.

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

class tmpdir
{
      public:
	tmpdir()
	{
		const std::filesystem::path memory = "/dev/shm";
		const bool has_memory = access(memory.c_str(), W_OK) == 0;
		std::string name = ((has_memory ? memory : std::filesystem::temp_directory_path()) /
				    "dnsblv6-XXXXXX")
					   .string();
		if (mkdtemp(name.data()) == nullptr)
			throw std::runtime_error("no temporary directory: " + name);
		path_ = name;
	}
	~tmpdir()
	{
		std::error_code ignored;
		std::filesystem::remove_all(path_, ignored);
	}
	tmpdir(const tmpdir &) = delete;
	tmpdir &operator=(const tmpdir &) = delete;

	const std::string &path() const
	{
		return path_;
	}
	std::string file(const std::string &name) const
	{
		return path_ + "/" + name;
	}

      private:
	std::string path_;
};

inline void write_file(const std::string &path, const std::string &content)
{
	std::ofstream out(path, std::ios::binary | std::ios::trunc);
	out << content;
	if (!out.flush())
		throw std::runtime_error("cannot write " + path);
}

inline std::string read_file(const std::string &path)
{
	std::ifstream in(path, std::ios::binary);
	if (!in)
		throw std::runtime_error("cannot read " + path);
	return { std::istreambuf_iterator<char>(in), {} };
}
