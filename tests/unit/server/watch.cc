// SPDX-License-Identifier: GPL-3.0-or-later
#include "server/zone/watch.h"
#include "tests/lib/child.hh"
#include "tests/unit/server/fixture.hh"

#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <memory>
#include <regex>
#include <sstream>
#include <thread>
#include <vector>

// The lines of a log, sorted: which of two workers writes its line first is
// the scheduler's choice. How many seconds are left is the clock's.
static std::vector<std::string> lines_of(const std::string &log)
{
	std::istringstream xfrout(std::regex_replace(log, std::regex(" left_s=[0-9]+"), ""));
	std::vector<std::string> lines;
	for (std::string line; std::getline(xfrout, line);)
		lines.push_back(line);
	std::sort(lines.begin(), lines.end());
	return lines;
}

// Two processes that watch one store, as the workers of a server do. Stores
// are written here, where none is open.
class watchers
{
      public:
	watchers()
	{
		if (counters_open(&bank_, 2, 1, 1) != 0)
			throw std::runtime_error("no counters");
	}
	~watchers()
	{
		children_.clear();
		counters_close(&bank_);
	}
	watchers(const watchers &) = delete;
	watchers &operator=(const watchers &) = delete;

	// Another version of the store; they are started behind the first.
	void write(const store_options &options)
	{
		write_store(store(), options);
		while (children_.size() < 2)
			children_.push_back(std::make_unique<child>([this] { return watch(); }));
	}
	// Until the log has these lines, or it is clear that it never will.
	std::vector<std::string> wait_for_log(const std::string &wanted)
	{
		const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
		for (;;) {
			const std::vector<std::string> log =
				lines_of(std::filesystem::exists(log_) ? read_file(log_) : "");
			if (log == lines_of(wanted) || log.size() > lines_of(wanted).size() ||
			    std::chrono::steady_clock::now() > deadline)
				return log;
			std::this_thread::sleep_for(std::chrono::milliseconds(10));
		}
	}
	std::string serving(unsigned serial) const
	{
		return "info: [bl6.example.] serving, path=" + store() +
		       " serial=" + std::to_string(serial) + " records=0\n";
	}

      private:
	tmpdir directory_;
	std::string log_ = directory_.file("stderr");
	counters_bank bank_ = {};
	std::vector<std::unique_ptr<child>> children_;

	std::string store() const
	{
		return directory_.file("bl6.mdb");
	}
	int watch()
	{
		int fd = open(log_.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
		dup2(fd, STDERR_FILENO);
		const std::string text =
			"zone:\n  - domain: bl6.example.\n    store: " + store() + "\n";
		settings settings;
		conf_error error;
		struct catalog catalog;
		uv_loop_t loop;
		struct watch watch;
		if (settings_parse(&settings, text.data(), text.size(), "/", &error) != 0 ||
		    catalog_init(&catalog, &settings) != 0 || uv_loop_init(&loop) != 0 ||
		    watch_open(
			    &watch, &loop, &catalog, &settings, &bank_, [](void *) {}, nullptr) !=
			    0)
			return 1;
		return uv_run(&loop, UV_RUN_DEFAULT); // ended by the test
	}
};

TEST_CASE("each state of the signatures is logged once, by one of the workers", "[server][watch]")
{
	const auto now_s = static_cast<uint64_t>(time(nullptr));
	const std::string zone = "[bl6.example.] ";
	watchers both;
	store_options options;
	options.is_signed = true;
	options.signed_until_s = now_s + 4 * 86400;
	both.write(options);
	std::string log = both.serving(7);
	CHECK(both.wait_for_log(log) == lines_of(log));

	options.serial++;
	options.signed_until_s = now_s - 5;
	both.write(options);
	log += both.serving(8) + "error: " + zone +
	       "signatures have ended, validating resolvers refuse them, expired=" +
	       std::to_string(now_s - 5) + "\n";
	CHECK(both.wait_for_log(log) == lines_of(log));

	options.serial++;
	options.signed_until_s = now_s + 9 * 86400;
	both.write(options);
	log += both.serving(9) + "info: " + zone + "signatures good again\n";
	CHECK(both.wait_for_log(log) == lines_of(log));

	options.serial++;
	options.signed_until_s = now_s + 3 * 86400;
	both.write(options);
	log += both.serving(10) + "warning: " + zone +
	       "signatures end soon, expires=" + std::to_string(now_s + 3 * 86400) + "\n";
	CHECK(both.wait_for_log(log) == lines_of(log));
}

TEST_CASE("nothing is said about the signatures of a zone that has none", "[server][watch]")
{
	watchers both;
	store_options options;
	options.signed_until_s = 5;
	both.write(options);
	std::string log = both.serving(7);
	CHECK(both.wait_for_log(log) == lines_of(log));
	options.serial++;
	both.write(options);
	log += both.serving(8);
	CHECK(both.wait_for_log(log) == lines_of(log));
}

// ---- what is said once, and what is said again ----

// Watches of one generation in one process, where each has a store of its own, or none.
class generation
{
      public:
	explicit generation()
	{
		if (counters_open(&bank_, 2, 1, 1) != 0 || uv_loop_init(&loop_) != 0)
			throw std::runtime_error("no counters, or no loop");
		uv_timer_init(&loop_, &timer_);
	}
	generation(const generation &) = delete;
	generation &operator=(const generation &) = delete;

	// Returns when it has opened the store, or has not.
	void add(const std::string &store, bool is_filler = false)
	{
		members_.push_back(std::make_unique<member>());
		member &added = *members_.back();
		const std::string text =
			"zone:\n  - domain: bl6.example.\n    store: " + store + "\n";
		conf_error error;
		if (settings_parse(&added.value, text.data(), text.size(), "/", &error) != 0 ||
		    catalog_init(&added.zones, &added.value) != 0 ||
		    watch_open(&added.looking, &loop_, &added.zones, &added.value,
			       is_filler ? nullptr : &bank_, nullptr, nullptr) != 0)
			throw std::runtime_error("not watched: " + store);
		uv_timer_set_repeat(&added.looking.timer, TICK_MS);
		while (!added.looking.zones[0].is_decided)
			uv_run(&loop_, UV_RUN_ONCE);
	}
	// Each of them, some times.
	void look()
	{
		looks_ = 0;
		timer_.data = this;
		uv_timer_start(
			&timer_,
			[](uv_timer_t *timer) {
				auto *self = static_cast<generation *>(timer->data);
				self->looks_++;
			},
			TICK_MS, TICK_MS);
		while (looks_ < 6)
			uv_run(&loop_, UV_RUN_ONCE);
		uv_timer_stop(&timer_);
	}

      private:
	enum : unsigned { TICK_MS = 10 };
	struct member {
		settings value = {};
		catalog zones = {};
		watch looking = {};
	};
	uv_loop_t loop_ = {};
	uv_timer_t timer_ = {};
	unsigned looks_ = 0;
	counters_bank bank_ = {};
	std::vector<std::unique_ptr<member>> members_;
};

// What is logged in a process of its own, which is told of a store that is there and one that is not.
static std::string
log_of(const std::function<void(const std::string &store, const std::string &missing)> &act)
{
	tmpdir directory;
	const std::string log = directory.file("stderr");
	write_store(directory.file("bl6.mdb"), {});
	child logging([&] {
		const int fd = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
		if (dup2(fd, STDERR_FILENO) < 0)
			return 1;
		act(directory.file("bl6.mdb"), directory.file("missing.mdb"));
		return 0;
	});
	CHECK(logging.wait() == 0);
	return std::regex_replace(read_file(log), std::regex(directory.path() + "/"), "");
}

static const std::string served = "info: [bl6.example.] serving, path=bl6.mdb serial=7 records=0\n";
static const std::string not_opened =
	"error: [bl6.example.] store not opened, answering SERVFAIL, path=missing.mdb "
	"(No such file or directory)\n";
static const std::string not_switched =
	"warning: [bl6.example.] store not switched, serving the old one, path=bl6.mdb "
	"(No such file or directory)\n";

TEST_CASE("a worker that serves and one that cannot are told once each", "[server][watch]")
{
	CHECK(log_of([](const std::string &store, const std::string &missing) {
		      generation workers;
		      workers.add(store);
		      workers.add(missing);
		      workers.look();
	      }) == served + not_opened);
}

TEST_CASE("a worker that serves no store is told beside one that serves a deleted one",
	  "[server][watch]")
{
	CHECK(log_of([](const std::string &store, const std::string &missing) {
		      generation workers;
		      workers.add(store);
		      unlink(store.c_str());
		      workers.look();
		      workers.add(missing);
		      workers.look();
	      }) == served + not_switched + not_opened);
}

TEST_CASE("lists that were written again and say the same are not told of", "[server][watch]")
{
	CHECK(log_of([](const std::string &store, const std::string &) {
		      generation workers;
		      workers.add(store);
		      child writer([&store] {
			      store_options options;
			      options.more = [](store_writer &out) {
				      out.lists_time({ 0, 0, 0, 0, 0, 0, 1, 2 });
			      };
			      write_store(store, options);
			      return 0;
		      });
		      if (writer.wait() != 0)
			      _exit(1);
		      workers.look();
	      }) == served);
}

TEST_CASE("a version that cannot be read is said to be answered with SERVFAIL", "[server][watch]")
{
	CHECK(log_of([](const std::string &store, const std::string &) {
		      generation workers;
		      workers.add(store);
		      child writer([&store] {
			      store_options options;
			      options.more = [](store_writer &out) {
				      const uint8_t cut[5] = { DNSBLV6_RECORD_RRSETS };
				      out.record("", cut, sizeof(cut));
			      };
			      write_store(store, options);
			      return 0;
		      });
		      if (writer.wait() != 0)
			      _exit(1);
		      workers.look();
	      }) == served +
			    "error: [bl6.example.] store not opened, answering SERVFAIL, "
			    "path=bl6.mdb (" +
			    zone_strerror(DNSBLV6_ERECORD) + ")\n");
}

TEST_CASE("the filler speaks for the network driver, and says what workers do not",
	  "[server][watch]")
{
	CHECK(log_of([](const std::string &store, const std::string &missing) {
		      generation processes;
		      processes.add(store, true);
		      processes.add(missing, true);
		      unlink(store.c_str());
		      processes.look();
	      }) == "info: [bl6.example.] store not opened by the filler, sockets answer, "
		    "path=missing.mdb (No such file or directory)\n"
		    "warning: [bl6.example.] store not switched by the filler, the network driver "
		    "answers from the old one, path=bl6.mdb (No such file or directory)\n");
}
