// SPDX-License-Identifier: GPL-3.0-or-later
// What a client holds of a folder, and what of it a server cannot have meant.
#include "bench/users-load/imap/imapreader.h"
#include "bench/users-load/imap/imapview.h"

#include <catch2/catch.hpp>

namespace
{

struct Held : imapview {
	Held()
	{
		imapview_open(this);
	}
	~Held()
	{
		imapview_close(this);
	}
	Held(const Held &) = delete;
	Held &operator=(const Held &) = delete;
};

} // namespace

TEST_CASE("EXISTS grows, and falls by EXPUNGE alone", "[users-load][imapview]")
{
	Held view;
	CHECK(imapview_exists(&view, 100) == 0);
	CHECK(imapview_exists(&view, 99) == IMAPVIEW_EFELL);
	CHECK(imapview_exists(&view, IMAPVIEW_MAILS_MAX + 1) == IMAPVIEW_EMANY);
	CHECK(imapview_exists(&view, 4000000000U) == IMAPVIEW_EMANY);
	CHECK(view.count == 100);
	CHECK(imapview_expunge(&view, 101) == IMAPVIEW_ERANGE);
	CHECK(imapview_expunge(&view, 0) == IMAPVIEW_ERANGE);
	CHECK(imapview_expunge(&view, 100) == 0);
	CHECK(imapview_exists(&view, 99) == 0);
	CHECK(imapview_exists(&view, IMAPVIEW_MAILS_MAX) == 0);
	CHECK(view.unknown == IMAPVIEW_MAILS_MAX);
}

TEST_CASE("UIDs ascend, stay, and move with EXPUNGE", "[users-load][imapview]")
{
	Held view;
	REQUIRE(imapview_exists(&view, 5) == 0);
	CHECK(imapview_put_uid(&view, 3, 30) == 0);
	CHECK(imapview_put_uid(&view, 3, 30) == 0);
	CHECK(imapview_put_uid(&view, 3, 31) == IMAPVIEW_ECHANGED);
	CHECK(imapview_put_uid(&view, 5, 30) == IMAPVIEW_EORDER);
	CHECK(imapview_put_uid(&view, 1, 30) == IMAPVIEW_EORDER);
	CHECK(imapview_put_uid(&view, 6, 60) == IMAPVIEW_ERANGE);
	CHECK(imapview_put_uid(&view, 1, 10) == 0);
	CHECK(imapview_put_uid(&view, 5, 50) == 0);
	CHECK(view.unknown == 2);
	CHECK(imapview_expunge(&view, 2) == 0);
	CHECK(view.unknown == 1);
	CHECK(imapview_uid(&view, 2) == 30);
	CHECK(imapview_uid(&view, 4) == 50);
	CHECK(imapview_uid(&view, 5) == 0);
}

TEST_CASE("a UID that lies far from its neighbours is held against them when the gap is filled",
	  "[users-load][imapview]")
{
	Held view;
	REQUIRE(imapview_exists(&view, 1000) == 0);
	REQUIRE(imapview_put_uid(&view, 1, 5000) == 0);
	REQUIRE(imapview_put_uid(&view, 1000, 4000) == 0);
	int wrong = 0;
	for (uint32_t i = 2; i < 1000 && wrong == 0; i++)
		wrong = imapview_put_uid(&view, i, 5000 + i);
	CHECK(wrong == IMAPVIEW_EORDER);
}

TEST_CASE("a new mail has no UID of before", "[users-load][imapview]")
{
	Held view;
	REQUIRE(imapview_exists(&view, 2) == 0);
	view.uid_next = 100;
	imapview_selected(&view);
	REQUIRE(imapview_exists(&view, 4) == 0);
	CHECK(imapview_put_uid(&view, 3, 99) == IMAPVIEW_EREUSED);
	CHECK(imapview_put_uid(&view, 2, 99) == 0);
	CHECK(imapview_put_uid(&view, 3, 100) == 0);
	CHECK(imapview_expunge(&view, 1) == 0);
	CHECK(imapview_put_uid(&view, 3, 99) == IMAPVIEW_EORDER);
	CHECK(imapview_put_uid(&view, 3, 101) == 0);
}

TEST_CASE("a flag that was stored is missed", "[users-load][imapview]")
{
	Held view;
	REQUIRE(imapview_exists(&view, 3) == 0);
	for (uint32_t i = 1; i <= 3; i++)
		REQUIRE(imapview_put_uid(&view, i, 10 * i) == 0);
	imapview_stored(&view, 20, UINT32_MAX, IMAPREADER_SEEN | IMAPREADER_DELETED);
	CHECK(view.deleted == 2);
	CHECK(imapview_put_flags(&view, 1, 0) == 0);
	CHECK(imapview_put_flags(&view, 2, IMAPREADER_SEEN) == IMAPREADER_DELETED);
	CHECK(imapview_put_flags(&view, 2, IMAPREADER_SEEN) == 0);
	CHECK(view.deleted == 1);
	CHECK(imapview_expunge(&view, 3) == 0);
	CHECK(view.deleted == 0);
}

TEST_CASE("mails whose headers are known are those from the first on", "[users-load][imapview]")
{
	Held view;
	REQUIRE(imapview_exists(&view, 5) == 0);
	imapview_put_header(&view, 2);
	CHECK(view.known == 0);
	imapview_put_header(&view, 1);
	CHECK(view.known == 2);
	imapview_put_header(&view, 4);
	CHECK(imapview_expunge(&view, 3) == 0);
	CHECK(view.known == 3);
	CHECK(imapview_expunge(&view, 1) == 0);
	CHECK(view.known == 2);
	imapview_know(&view, 100);
	CHECK(view.known == 3);
	imapview_clear(&view);
	CHECK(view.known == 0);
	CHECK(view.count == 0);
}

TEST_CASE("a UID is strange when all are known and it is none", "[users-load][imapview]")
{
	Held view;
	REQUIRE(imapview_exists(&view, 3) == 0);
	CHECK(imapview_may_have(&view, 15));
	for (uint32_t i = 1; i <= 3; i++)
		REQUIRE(imapview_put_uid(&view, i, 10 * i) == 0);
	CHECK_FALSE(imapview_may_have(&view, 15));
	CHECK_FALSE(imapview_may_have(&view, 5));
	CHECK(imapview_may_have(&view, 10));
	CHECK(imapview_may_have(&view, 30));
	CHECK(imapview_may_have(&view, 31));
}
