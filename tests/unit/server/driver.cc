// SPDX-License-Identifier: GPL-3.0-or-later
#include "server/control/report.h"
#include "server/process/filler.h"
#include "server/xdp-kernel/fill.h"

#include <catch2/catch.hpp>

#include <string>

static void read(settings *value, const std::string &text)
{
	conf_error error;
	int ret = settings_parse(value, text.data(), text.size(), "/", &error);
	INFO(error.reason);
	REQUIRE(ret == 0);
}

TEST_CASE("a zone with rules is left to sockets, and so are those behind the thirty-second",
	  "[server][filler]")
{
	std::string text = "access:\n  - id: all\nzone:\n  - domain: z.example\n    store: z\n"
			   "    access: all\n";
	for (int i = 1; i < 34; i++)
		text += "  - domain: z" + std::to_string(i) + ".example\n    store: z" +
			std::to_string(i) + "\n";
	settings value;
	read(&value, text);
	CHECK(filler_judge(&value, 0) == DRIVERSTATUS_RULES);
	for (size_t i = 1; i < 32; i++)
		CHECK(filler_judge(&value, i) == DRIVERSTATUS_READING);
	CHECK(filler_judge(&value, 32) == DRIVERSTATUS_PLACE);
	CHECK(filler_judge(&value, 33) == DRIVERSTATUS_PLACE);
	settings_deinit(&value);
}

TEST_CASE("a zone of the query log is left to sockets, above and below its names",
	  "[server][filler]")
{
	if (!settings_has_dnstap())
		return;
	const std::string zones = "zone:\n  - domain: a.example\n    store: a\n"
				  "  - domain: b.example\n    store: b\n"
				  "  - domain: ba.example\n    store: c\n";
	auto judge = [&](const std::string &log, size_t zone) {
		settings value;
		read(&value, log + zones);
		driverstatus_state state = filler_judge(&value, zone);
		settings_deinit(&value);
		return state;
	};
	const std::string log = "dnstap:\n    file: /l\n";
	CHECK(judge("", 0) == DRIVERSTATUS_READING);
	CHECK(judge(log, 0) == DRIVERSTATUS_LOGGED);
	CHECK(judge(log, 1) == DRIVERSTATUS_LOGGED);
	for (const char *name : { "a.example", "example", "x.a.example", "." }) {
		CAPTURE(name);
		const std::string some = log + "    zone: " + name + "\n";
		CHECK(judge(some, 0) == DRIVERSTATUS_LOGGED);
	}
	CHECK(judge(log + "    zone: a.example\n", 1) == DRIVERSTATUS_READING);
	CHECK(judge(log + "    zone: a.example\n", 2) == DRIVERSTATUS_READING);
	CHECK(judge(log + "    zone: [ other.example, b.example ]\n", 0) == DRIVERSTATUS_READING);
	CHECK(judge(log + "    zone: [ other.example, b.example ]\n", 1) == DRIVERSTATUS_LOGGED);
}

// What report_print() says of two zones, the first of them as given.
static std::string report_text(request_verb verb, const driverstatus_zone &first, bool has_driver)
{
	settings value;
	read(&value, "zone:\n  - domain: a\n    store: a\n  - domain: b\n    store: b\n");
	driverstatus status = {};
	zonestatus zones = {};
	followstatus follow = {};
	REQUIRE(driverstatus_open(&status, 2) == 0);
	REQUIRE(zonestatus_open(&zones, 1, 2) == 0);
	REQUIRE(followstatus_open(&follow, 0) == 0);
	driverstatus_put(&status, 0, &first);
	totals sum;
	totals_init(&sum);
	const report_interface interface = { "eth0", "generic" };
	const report_filler filler = { 3, 4711, 60, 2 };
	report value_report = {};
	value_report.settings = &value;
	value_report.zonestatus = &zones;
	value_report.followstatus = &follow;
	value_report.driverstatus = &status;
	value_report.totals = &sum;
	if (has_driver) {
		value_report.interfaces = &interface;
		value_report.interface_count = 1;
		value_report.filler = &filler;
	}
	char *text = nullptr;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	const request asked = { verb, 0 };
	CHECK(report_print(&value_report, &asked, out) == 0);
	fclose(out);
	std::string said(text, size);
	free(text);
	driverstatus_close(&status);
	zonestatus_close(&zones);
	followstatus_close(&follow);
	totals_deinit(&sum);
	settings_deinit(&value);
	return said;
}

TEST_CASE("dnsblv6ctl hears which zones the driver answers for, or why not", "[server][report]")
{
	const std::string head = "interface\teth0\tgeneric\nfiller\t3\t4711\t60\t2\n";
	const std::string rest = "zone\tb.\t0\t-\t0\tsockets\tit is being read\n";
	CHECK(report_text(REQUEST_DRIVER, { DRIVERSTATUS_ANSWERING, 0, 7, 86400, 12 }, true) ==
	      head + "zone\ta.\t7\t1970-01-02T00:00:00Z\t12\tdriver\t-\n" + rest);
	CHECK(report_text(REQUEST_DRIVER, { DRIVERSTATUS_MEMORY, 0, 0, 0, 0 }, true) ==
	      head + "zone\ta.\t0\t-\t0\tsockets\tthere is no room for it\n" + rest);
	CHECK(report_text(REQUEST_DRIVER, { DRIVERSTATUS_UNFIT, FILL_CLIENTS, 0, 0, 0 }, true) ==
	      head + "zone\ta.\t0\t-\t0\tsockets\t" + fill_reason_text(FILL_CLIENTS) + "\n" + rest);
	CHECK(report_text(REQUEST_DRIVER, { DRIVERSTATUS_ANSWERING, 0, 7, 86400, 12 }, false)
		      .empty());
}

TEST_CASE("metrics have a serial of the driver where it answers", "[server][report]")
{
	const driverstatus_zone answering = { DRIVERSTATUS_ANSWERING, 0, 7, 86400, 12 };
	auto has = [](const std::string &text, const std::string &line) {
		return text.find("\n" + line + "\n") != std::string::npos;
	};
	const std::string text = report_text(REQUEST_METRICS, answering, true);
	CHECK(has(text, "dnsblv6_zone_driver_up{zone=\"a.\"} 1"));
	CHECK(has(text, "dnsblv6_zone_driver_up{zone=\"b.\"} 0"));
	CHECK(has(text, "dnsblv6_zone_driver_serial{zone=\"a.\"} 7"));
	CHECK(has(text, "dnsblv6_zone_driver_switched_timestamp_seconds{zone=\"a.\"} 86400"));
	CHECK(text.find("driver_serial{zone=\"b.\"}") == std::string::npos);
	CHECK(report_text(REQUEST_METRICS, answering, false).find("zone_driver") ==
	      std::string::npos);
}

TEST_CASE("each state of a zone in the driver has its words", "[server][driverstatus]")
{
	for (int i = 0; i < DRIVERSTATUS_COUNT; i++) {
		for (int j = 0; j < i; j++)
			CHECK(std::string(driverstatus_text(static_cast<driverstatus_state>(i))) !=
			      driverstatus_text(static_cast<driverstatus_state>(j)));
	}
	CHECK(std::string(driverstatus_text(DRIVERSTATUS_COUNT)) == "unknown");
}
