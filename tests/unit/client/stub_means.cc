/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/client/stub_fixture.hh"

#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "tests/lib/child.hh"
#include "tests/lib/fault.hh"
#include "tests/unit/client/config.hh"

namespace
{
// In a child a REQUIRE that fails must not lead back into the tests.
template <typename Function> auto contained(Function function)
{
	return [function] {
		try {
			return function();
		} catch (...) {
			return 99;
		}
	};
}
} // namespace

// ---- without means ----

TEST_CASE("without descriptors a question waits, and does not spin", "[client][stub]")
{
	resolver server(say_listed);
	asking client;
	outcome kept;
	outcome other;
	client.server(server);
	client.get();

	rlimit limit = {};
	REQUIRE(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	const int lowest_free = dup(0);
	REQUIRE(lowest_free >= 0);
	close(lowest_free);
	rlimit few = limit;
	few.rlim_cur = static_cast<rlim_t>(lowest_free);
	REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0);
	client.ask("abc.example", kept);
	client.ask("def.example", other, 120);
	CHECK(client.next() > 0);
	CHECK(client.next() <= 100);
	for (int i = 0; i < 12; i++)
		client.pass(10);
	CHECK(kept.calls == 0);
	CHECK(other.calls == 1);
	CHECK(other.status == -EMFILE);
	CHECK(client.stats().timeouts == 0); // no server is to blame
	CHECK(client.next() > 0);
	REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);

	// Nobody tries before the time is over, or each of a thousand would.
	client.ask("ghi.example", other);
	CHECK(client.stats().sent_udp == 0);
	client.pass(50);
	client.until([&] { return kept.calls == 1 && other.calls == 2; });
	CHECK(kept.is_listed());
	CHECK(other.is_listed());
}

TEST_CASE("a question without a descriptor gets that of a socket that is kept", "[client][stub]")
{
	resolver server(say_listed);
	asking client;
	outcome told[3];
	client.server(server);
	client.get();

	const int only_free = dup(0);
	REQUIRE(only_free >= 0);
	close(only_free);
	const limited one(static_cast<rlim_t>(only_free) + 1);
	client.ask("abc.example", told[0]);
	client.ask("def.example", told[1]);
	client.ask("ghi.example", told[2]);
	for (const outcome &each : told) {
		client.until_told(each);
		CHECK(each.is_listed());
		client.pass(50);
	}
	// Nothing that waits keeps a new one from what is there.
	outcome next;
	client.ask("jkl.example", next);
	client.until_told(next);
	CHECK(next.is_listed());
}

TEST_CASE("a stub that cannot be made leaves nothing behind", "[client][stub]")
{
	struct config config = {};
	config.max_sockets = CONFIG_SOCKETS_MIN;
	config.server_count = 1;
	config.servers[0].address = closed_port();
	unsigned failures = 0;

	for (unsigned n = 1;; n++) {
		stub *made = nullptr;
		fault::fail_at(n);
		const int ret = stub_new(&config, &made);
		if (!fault::end()) {
			CHECK(ret == 0);
			stub_free(made);
			break;
		}
		failures++;
		CHECK(ret == -ENOMEM);
		CHECK(made == nullptr);
	}
	CHECK(failures >= 8);
	stub_free(nullptr);
}

TEST_CASE("only TCP needs more memory, and waits for it", "[client][stub]")
{
	resolver server(say_truncated);
	asking client;
	outcome kept;
	client.server(server);
	client.get();

	fault::fail_at(1);
	client.ask("abc.example", kept);
	client.until([&] { return fault::has_failed; });
	CHECK(fault::end());
	CHECK(client.stats().sent_tcp == 0);
	CHECK(kept.calls == 0);
	client.pass(50);
	client.until_told(kept);
	CHECK(kept.is_listed());
}

TEST_CASE("a stub may end with questions in flight", "[client][stub]")
{
	resolver silent([](query &asked) {
		if (!asked.is_tcp && asked.number == 1)
			asked.reply(asked.empty(0, true));
	});
	outcome kept[3];
	{
		asking client;
		client.server(silent);
		client.ask("a.example", kept[0]);
		client.until_seen(silent, 2); // the second over TCP
		client.ask("b.example", kept[1]);
		client.ask("c.example", kept[2]);
	}
	for (const outcome &one : kept)
		CHECK(one.calls == 0);
}

// ---- forks ----

TEST_CASE("parent and child each get their own answers", "[client][stub]")
{
	auto held = std::make_shared<std::vector<query>>();
	resolver server([held](query &asked) {
		const std::string name = asked.name();
		if (name == "tcp.example." && !asked.is_tcp)
			return asked.reply(asked.empty(0, true));
		held->push_back(asked);
		if (name != "child.example.")
			return;
		for (query &one : *held)
			say_listed(one);
	});
	asking client;
	outcome of_parent[3];
	client.server(server);
	const uint64_t old = client.ask("a.example", of_parent[0]);
	client.ask("b.example", of_parent[1]);
	client.ask("tcp.example", of_parent[2]);
	client.until_seen(server, 4);

	child other(contained([&] {
		if (stub_after_fork(client.get()) != 0 || stub_fd(client.get()) < 0)
			return 1;
		if (!client.is_idle() || client.is_readable())
			return 2;
		outcome of_child;
		outcome same_name;
		client.ask("a.example", same_name);
		client.ask("child.example", of_child);
		stub_cancel(client.get(), old);
		client.until([&] { return of_child.calls == 1 && same_name.calls == 1; });
		for (const outcome &one : of_parent) {
			if (one.calls != 0)
				return 3;
		}
		return of_child.is_listed() ? 0 : 4;
	}));
	CHECK(other.wait() == 0);
	client.until(
		[&] { return of_parent[0].calls + of_parent[1].calls + of_parent[2].calls == 3; });
	for (const outcome &one : of_parent)
		CHECK(one.is_listed());
	CHECK(server.count() == 6);
}

TEST_CASE("a child without descriptors may try again", "[client][stub]")
{
	resolver server(say_listed);
	asking client;
	client.server(server);
	client.get();

	child other(contained([&] {
		rlimit limit = {};
		getrlimit(RLIMIT_NOFILE, &limit);
		rlimit none = limit;
		none.rlim_cur = 0;
		setrlimit(RLIMIT_NOFILE, &none);
		if (stub_after_fork(client.get()) != -EMFILE)
			return 1;
		outcome kept;
		client.ask("abc.example", kept, 500);
		client.pass(500);
		if (kept.calls != 1 || kept.status >= 0 || kept.has_reply)
			return 2;
		setrlimit(RLIMIT_NOFILE, &limit);
		if (stub_after_fork(client.get()) != 0)
			return 3;
		client.ask("abc.example", kept);
		client.until([&] { return kept.calls == 2; });
		return kept.is_listed() ? 0 : 4;
	}));
	CHECK(other.wait() == 0);
}

TEST_CASE("children do not repeat each other's ids", "[client][stub]")
{
	resolver server(say_listed);
	asking client;
	outcome before;
	client.server(server);
	client.ask("before.example", before); // now the parent holds random bytes
	client.until_told(before);

	for (unsigned i = 0; i < 2; i++) {
		child other(contained([&] {
			if (stub_after_fork(client.get()) != 0)
				return 1;
			for (unsigned k = 0; k < 4; k++) {
				outcome kept;
				client.ask("of-child.example", kept);
				client.until_told(kept);
			}
			return 0;
		}));
		REQUIRE(other.wait() == 0);
	}
	const std::vector<query> came = server.queries();
	REQUIRE(came.size() == 9);
	unsigned same = 0;
	for (unsigned k = 1; k <= 4; k++)
		same += came[k].id() == came[k + 4].id();
	CHECK(same < 4);
}

TEST_CASE("a child that inherited our sockets does not make us spin", "[client][stub]")
{
	auto first = std::make_shared<query>();
	resolver server([first](query &asked) {
		if (asked.number == 1) {
			*first = asked;
			return;
		}
		// To the socket that the parent has closed, and the child has not.
		first->reply(first->answer_a({ 127, 0, 0, 66 }));
		say_listed(asked);
	});
	asking client;
	outcome kept;
	signal_pipe done;
	client.server(server);
	client.ask("abc.example", kept);
	client.until_seen(server, 1);

	child other(contained([&] {
		done.take();
		return 0;
	}));
	client.pass(1000);
	client.until_told(kept);
	CHECK(kept.reply.a[0][3] == 2);
	CHECK(!client.is_readable());
	done.give();
	CHECK(other.wait() == 0);
}
