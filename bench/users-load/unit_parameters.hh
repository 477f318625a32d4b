// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// unit_parameters.hh - the workload that the bench comes with.

#include "bench/users-load/workload.h"

#include <catch2/catch.hpp>

#include <cstdio>

inline const workload &parameters()
{
	static const workload read = [] {
		workload w;
		workload_error error;
		FILE *file = fopen("bench/enterprise.workload", "r");
		REQUIRE(file != nullptr);
		REQUIRE(workload_read(file, &w, &error) == 0);
		fclose(file);
		return w;
	}();
	return read;
}
