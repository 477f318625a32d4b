// SPDX-License-Identifier: GPL-3.0-or-later
// Signals and metrics of an adapter's loop.
#include "integration/common/upkeep.h"
#include "lib/common/log.h"
#include "tests/lib/tmpdir.hh"

#include <catch2/catch.hpp>

#include <csignal>
#include <filesystem>
#include <string>

namespace
{

const counts_label labels[] = { { "requests-cut", "Requests." } };
const uint64_t values[] = { 7 };

class service
{
      public:
	explicit service(const std::string &path) : path_(path)
	{
		log_set_level(LOG_LEVEL_ERROR);
		REQUIRE(uv_loop_init(&loop) == 0);
		REQUIRE(upkeep_open(&upkeep, &loop, nullptr, "dnsblv6-test", path_.c_str(), &work,
				    this) == 0);
	}
	~service()
	{
		upkeep_close(&upkeep);
		uv_run(&loop, UV_RUN_DEFAULT);
		CHECK(uv_loop_close(&loop) == 0);
		log_set_level(LOG_LEVEL_INFO);
	}
	service(const service &) = delete;
	service &operator=(const service &) = delete;

	std::string raised(int number)
	{
		said.clear();
		raise(number);
		uv_run(&loop, UV_RUN_ONCE);
		return said;
	}

	uv_loop_t loop = {};
	struct upkeep upkeep = {};
	counts_label gauge = { "clients", "Clients." };
	std::string said;

      private:
	static void measure(void *data, struct report *ret_report)
	{
		*ret_report = {};
		ret_report->gauge = static_cast<service *>(data)->gauge;
		ret_report->gauge_value = 3;
		ret_report->labels = labels;
		ret_report->values = values;
		ret_report->count = 1;
		static_cast<service *>(data)->said += "measured ";
	}
	static void reload(void *data)
	{
		static_cast<service *>(data)->said += "reloaded ";
	}
	static void stop(void *data, int number)
	{
		static_cast<service *>(data)->said += "stopped by " + std::to_string(number) + " ";
	}

	const upkeep_work work = { measure, reload, stop };
	std::string path_;
};

} // namespace

TEST_CASE("a zone is told by its labels, as a name may have a key in it", "[adapter][report]")
{
	const tmpdir dir;
	const std::string path = dir.file("metrics.prom");
	report all = {};
	all.program = "dnsblv6-test";
	REQUIRE(dnsblv6_new(&all.client) == 0);
	REQUIRE(dnsblv6_set(all.client, "servers", "127.0.0.1@1") == 0);
	REQUIRE(dnsblv6_set(
			all.client, "zones",
			"key.zen.example=127.0.0.2=SBL key.zen.example=127.0.0.4=XBL bl.example "
			"key.zen.example=127.0.0.9=SBL one.example==SBL two.example==SBL") == 0);
	REQUIRE(dnsblv6_start(all.client) == 0);
	CHECK(report_write(&all, path.c_str()) == 0);
	const std::string text = read_file(path);
	for (const char *zone : { "SBL,XBL", "bl.example", "SBL", "SBL#4" }) {
		CAPTURE(zone);
		CHECK(text.find("\ndnsblv6_test_zone_state{zone=\"" + std::string(zone) +
				"\"} 0\n") != std::string::npos);
	}
	CHECK(text.find(".zen.example") == std::string::npos);
	CHECK(text.find("one.example") == std::string::npos);
	dnsblv6_free(all.client);
}

TEST_CASE("each signal is acted on, and the program ends once", "[adapter][upkeep]")
{
	service service("");
	CHECK(service.raised(SIGUSR1) == "measured ");
	CHECK(service.raised(SIGHUP) == "reloaded ");
	CHECK(service.raised(SIGINT) == "stopped by 2 ");
	CHECK(service.raised(SIGTERM).empty());
	upkeep_write_metrics(&service.upkeep);
	CHECK(service.said.empty());
}

TEST_CASE("metrics are written from the beginning", "[adapter][upkeep]")
{
	const tmpdir directory;
	const std::string path = directory.file("test.prom");
	service service(path);
	uv_run(&service.loop, UV_RUN_NOWAIT);
	CHECK_THAT(read_file(path),
		   Catch::Contains("\ndnsblv6_test_clients 3\n") &&
			   Catch::Contains("\ndnsblv6_test_requests_cut_total 7\n"));
	service.gauge.help = nullptr;
	upkeep_write_metrics(&service.upkeep);
	CHECK_THAT(read_file(path),
		   !Catch::Contains("dnsblv6_test_clients") &&
			   Catch::Contains("\ndnsblv6_test_requests_cut_total 7\n"));
}

TEST_CASE("metrics that could not be written are written when it is possible again",
	  "[adapter][upkeep]")
{
	const tmpdir directory;
	service service(directory.file("later/test.prom"));
	uv_run(&service.loop, UV_RUN_NOWAIT);
	CHECK(service.upkeep.has_failed);
	std::filesystem::create_directory(directory.file("later"));
	upkeep_write_metrics(&service.upkeep);
	CHECK_FALSE(service.upkeep.has_failed);
	CHECK(std::filesystem::exists(directory.file("later/test.prom")));
}
