// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// world.hh - machines of a cluster over objects in memory, and all that its mailboxes have.
//
//     cluster_world world(seed, 2);
//     world.deliver(0, { "a" }, "x\r\n");
//     world.kill(0);                      // as a process that is killed
//     world.start(0);                     // its next incarnation
//     world.look(1);                      // texts by mailbox, as that machine sees them

#include "lib/mailcluster/mailcluster.h"
#include "lib/mailstore/mailbody.h"

#include "tests/lib/mailname.hh"
#include "tests/lib/simobjects.hh"

#include <catch2/catch.hpp>

#include <map>
#include <string>
#include <vector>

struct seen_entry {
	std::string text; // "" when it cannot be read
	uint64_t mail;
};
using seen_mailboxes = std::map<std::string, std::vector<seen_entry>>;

class cluster_world
{
      public:
	cluster_world(unsigned seed, size_t count) : objects(seed), nodes(count)
	{
		for (size_t i = 0; i < count; i++)
			REQUIRE(start(i) == 0);
		for (size_t i = 0; i < count; i++)
			REQUIRE(beat(i) == 0);
	}
	~cluster_world()
	{
		for (size_t i = 0; i < nodes.size(); i++)
			kill(i);
	}
	cluster_world(const cluster_world &) = delete;
	cluster_world &operator=(const cluster_world &) = delete;

	struct node {
		struct objects *handle = nullptr;
		mailcluster *cluster = nullptr;
		maillayer *layer = nullptr;
	};

	int start(size_t i)
	{
		mailcluster_setup setup{};
		const std::string name = "node" + std::to_string(i);
		node &one = nodes[i];
		one.handle = objects.handle();
		setup.objects = one.handle;
		setup.node = name.c_str();
		setup.memory_max = 1 << 20;
		setup.time_us = now(i);
		const uint64_t random = ++incarnations_ * 0x9e3779b97f4a7c15;
		memcpy(setup.incarnation, &random, sizeof(random));
		const int ret = mailcluster_open(&setup, &one.cluster);
		if (ret != 0) {
			one = node{};
			return ret;
		}
		REQUIRE(mailcluster_layer(one.cluster, &one.layer) == 0);
		return 0;
	}
	bool is_up(size_t i) const
	{
		return nodes[i].cluster != nullptr;
	}
	void kill(size_t i)
	{
		if (!is_up(i))
			return;
		sim_objects::kill(nodes[i].handle);
		stop(i);
	}
	void stop(size_t i)
	{
		maillayer_close(nodes[i].layer);
		mailcluster_close(nodes[i].cluster);
		nodes[i] = node{};
	}
	// Its clock: they are not the same, and may be set back.
	uint64_t now(size_t i) const
	{
		return 1800000000000000 + time_us + (i < skews.size() ? skews[i] : 0);
	}
	int beat(size_t i)
	{
		time_us += 400000;
		return mailcluster_beat(nodes[i].cluster, now(i));
	}
	int sweep(size_t i)
	{
		swept = {};
		return mailcluster_sweep(nodes[i].cluster, &swept);
	}
	int deliver(size_t i, const std::vector<std::string> &to, const std::string &text,
		    mailid *ret_id = nullptr, const mailid *id = nullptr)
	{
		std::vector<mailname> names;
		for (const std::string &box : to)
			names.push_back(name_of(box));
		mailstore_mail mail{};
		mailid made{};
		mail.recipients = names.data();
		mail.recipient_count = names.size();
		mail.text = reinterpret_cast<const uint8_t *>(text.data());
		mail.size = text.size();
		mail.time_us = now(i);
		mail.id = id;
		const int ret = maillayer_deliver(nodes[i].layer, &mail, &made);
		if (ret == 0 && ret_id != nullptr)
			*ret_id = made;
		return ret;
	}
	int erase(size_t i, const std::string &box, uint64_t mail)
	{
		return maillayer_erase(nodes[i].layer, name_of(box), &mail, 1, 0);
	}
	std::vector<mailentry> list(size_t i, const std::string &box)
	{
		std::vector<mailentry> entries(1000);
		size_t count = 0;
		const int ret = maillayer_list(nodes[i].layer, name_of(box), 0, entries.size(),
					       entries.data(), &count);
		entries.resize(ret == 0 ? count : 0);
		return entries;
	}
	std::string read(size_t i, uint64_t mail)
	{
		mailrow row{};
		if (maillayer_find_row(nodes[i].layer, mail, &row) != 0)
			return "";
		std::string wire(row.wire_size, '\0');
		const int ret = maillayer_read(nodes[i].layer, &row, 0, wire.data(), wire.size());
		return ret == 0 ? wire : "";
	}
	seen_mailboxes look(size_t i)
	{
		seen_mailboxes boxes;
		std::string name;
		uint8_t bytes[MAILBOX_NAME_MAX];
		size_t size = 0;
		mailcounts counts{};
		int ret;
		while ((ret = maillayer_next_box(nodes[i].layer, name_of(name), bytes, &size,
						 &counts)) == 0) {
			name.assign(reinterpret_cast<char *>(bytes), size);
			for (const mailentry &entry : list(i, name))
				boxes[name].push_back({ read(i, entry.mail), entry.mail });
		}
		REQUIRE(ret == DNSBLV6_ENOTFOUND);
		return boxes;
	}
	std::vector<std::string> texts(size_t i, const std::string &box)
	{
		std::vector<std::string> found;
		for (const mailentry &entry : list(i, box))
			found.push_back(read(i, entry.mail));
		return found;
	}
	// findings has the lines.
	mailcluster_found check(size_t i, bool is_repair = false, uint64_t later_us = 0)
	{
		mailcluster_found found{};
		struct mailcluster_check run {
		};
		run.is_deep = true;
		run.is_repair = is_repair;
		run.time_us = now(i) + later_us;
		run.tell = [](void *owner, const char *line) {
			static_cast<std::vector<std::string> *>(owner)->push_back(line);
		};
		run.owner = &findings;
		findings.clear();
		REQUIRE(mailcluster_check(nodes[i].cluster, &run, &found) == 0);
		return found;
	}
	// Rows of all objects that begin so, and whose keys do.
	size_t rows(const std::string &object, const std::string &key)
	{
		size_t count = 0;
		for (const auto &[name, one] : objects.objects_now())
			if (name.compare(0, object.size(), object) == 0)
				for (const auto &[row, value] : one.rows)
					count += row.compare(0, key.size(), key) == 0;
		return count;
	}

	sim_objects objects;
	std::vector<node> nodes;
	std::vector<uint64_t> skews;
	uint64_t time_us = 0;
	mailcluster_swept swept{};
	std::vector<std::string> findings;

      private:
	uint64_t incarnations_ = 0;
};

constexpr uint64_t TWO_DAYS_US = 2 * MAILCLUSTER_OLD_US;

// Beats of one machine, so that others seem quiet to it.
inline void beat_often(cluster_world &world, size_t node, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		REQUIRE(world.beat(node) == 0);
}

inline uint64_t first_mail(cluster_world &world, size_t node, const std::string &box)
{
	const auto entries = world.list(node, box);
	REQUIRE(!entries.empty());
	return entries[0].mail;
}

inline std::string name_of_mail(uint64_t mail)
{
	char text[32];
	(void)snprintf(text, sizeof(text), "b.%016llx", static_cast<unsigned long long>(mail));
	return text;
}
