// SPDX-License-Identifier: GPL-3.0-or-later
// Commands and answers: each is parsed and written again, in its order.
#include <string>

#include <catch2/catch.hpp>

#include "tests/unit/mail-proxy-pop3/proxied.hh"

TEST_CASE("the greeting is passed on with its stamp", "[popproxy]")
{
	Proxied proxied;
	CHECK(proxied.server("+OK POP3 <1.2@example.org>\t\x01!\r\n") ==
	      "+OK POP3 <1.2@example.org>  !\r\n");
	CHECK(proxied.status == POPPROXY_MORE);

	Proxied refused;
	CHECK(refused.server("-ERR not now\r\n") == "-ERR not now\r\n");
	CHECK(refused.status == POPPROXY_END);

	Proxied other;
	CHECK(other.server("220 mx ESMTP\r\n") ==
	      "-ERR [SYS/TEMP] The server has said what is not POP3\r\n");
	CHECK(other.status == POPPROXY_END);
}

TEST_CASE("commands are written again with one spelling", "[popproxy]")
{
	Proxied proxied;
	proxied.login();
	CHECK(proxied.client("  \r\n").empty());
	CHECK(proxied.client("stat \r\nlist   7\r\nUidl\r\ndele 3\r\nnoop\r\nRset\r\ncapa\r\n") ==
	      "STAT\r\nLIST 7\r\nUIDL\r\nDELE 3\r\nNOOP\r\nRSET\r\nCAPA\r\n");
}

TEST_CASE("a password keeps its blanks, and what logs in waits for its answer", "[popproxy]")
{
	Proxied proxied;
	proxied.server("+OK\r\n");
	CHECK(proxied.client("user  john \r\npass  a b \r\nSTAT\r\n") == "USER john\r\n");
	CHECK(proxied.server("+OK\r\n") == "+OK\r\n");
	CHECK(proxied.to_server == "USER john\r\nPASS  a b \r\n");
	CHECK(proxied.server("+OK in\r\n") == "+OK in\r\n");
	CHECK(proxied.to_server == "USER john\r\nPASS  a b \r\nSTAT\r\n");
	CHECK(std::string(proxied.proxy.user) == "john");
}

TEST_CASE("what is not known, or malformed, is refused here and in its place", "[popproxy]")
{
	Proxied proxied;
	proxied.login();
	CHECK(proxied.client("STAT\r\nXTND XMIT\r\nRETR\r\nNOOP\r\n") == "STAT\r\nNOOP\r\n");
	CHECK(proxied.to_client.empty());
	CHECK(proxied.server("+OK 1 2\r\n") ==
	      "+OK 1 2\r\n-ERR The command is not known\r\n-ERR The numbers are wrong\r\n");
	CHECK(proxied.server("+OK\r\n") == "+OK\r\n");
	CHECK(proxied.client("DELE 1 2\r\n").empty());
	CHECK(proxied.status == POPPROXY_END);
	CHECK(std::string(proxied.proxy.why) == "errors");
}

TEST_CASE("a line ends in CR LF", "[popproxy]")
{
	for (const char *line : { "NOOP\n", "NO\rOP\r\n" }) {
		Proxied proxied;
		proxied.login();
		CAPTURE(line);
		CHECK(proxied.client(line).empty());
		CHECK(proxied.status == POPPROXY_END);
		CHECK(proxied.to_client.compare(0, 5, "-ERR ") == 0);
	}
	Proxied proxied;
	proxied.login();
	CHECK(proxied.client(std::string(POPPROXY_LINE_MAX + 1, 'x')).empty());
	CHECK(proxied.status == POPPROXY_END);
	Proxied server;
	server.login();
	server.client("NOOP\r\n");
	server.server("+OK a\nb\r\n");
	CHECK(server.status == POPPROXY_END);
	CHECK(std::string(server.proxy.why) == "server-broken");
}

TEST_CASE("lists are parsed and written again", "[popproxy]")
{
	Proxied proxied;
	proxied.login();
	proxied.client("LIST\r\nUIDL\r\nUIDL 2\r\n");
	CHECK(proxied.server(
		      "+OK 2\r\n1  120 more\r\n2 5\r\n.\r\n+OK\r\n1 a<b>c\r\n.\r\n+OK 2 x\r\n") ==
	      "+OK 2\r\n1 120\r\n2 5\r\n.\r\n+OK\r\n1 a<b>c\r\n.\r\n+OK 2 x\r\n");
	proxied.client("LIST\r\n");
	proxied.server("+OK\r\n1 2\r\nwrong\r\n");
	CHECK(proxied.status == POPPROXY_CUT);
}

TEST_CASE("CAPA has what is known, and TLS of ours", "[popproxy][capa]")
{
	const std::string capa =
		"+OK\r\nTOP\r\nSASL GSSAPI PLAIN DIGEST-MD5 xoauth2\r\nSTLS\r\nX-ODD 1\r\n"
		"EXPIRE 60 USER\r\nIMPLEMENTATION x y\r\n.\r\n";
	const std::string known = "+OK\r\nTOP\r\nSASL PLAIN XOAUTH2\r\n";
	const std::string rest = "EXPIRE 60 USER\r\nIMPLEMENTATION x y\r\n";
	Proxied none(POPPROXY_STLS_NONE);
	none.step("CAPA\r\n", "+OK\r\n");
	CHECK(none.server(capa) == known + rest + ".\r\n");
	Proxied own(POPPROXY_STLS_OWN);
	own.limits.has_plain_logins = true;
	own.step("CAPA\r\n", "+OK\r\n");
	CHECK(own.server(capa) == known + rest + "STLS\r\n.\r\n");
	Proxied passed(POPPROXY_STLS_PASS);
	passed.step("CAPA\r\n", "+OK\r\n");
	CHECK(passed.server(capa) == known + "STLS\r\n" + rest + ".\r\n");
	Proxied old(POPPROXY_STLS_OWN);
	old.limits.has_plain_logins = true;
	old.step("CAPA\r\n", "+OK\r\n");
	CHECK(old.server("-ERR what\r\n") == "+OK\r\nUSER\r\nSTLS\r\n.\r\n");
	Proxied without(POPPROXY_STLS_OWN);
	popproxy_tls(&without.proxy);
	without.step("CAPA\r\n", "+OK\r\n");
	CHECK(without.server("+OK\r\nSASL GSSAPI\r\nSTLS\r\n.\r\n") == "+OK\r\n.\r\n");
}

TEST_CASE("STLS ends here, or is passed on and nothing is looked at behind it", "[popproxy][stls]")
{
	Proxied own(POPPROXY_STLS_OWN);
	own.server("+OK\r\n");
	CHECK(own.client("STLS\r\n").empty());
	CHECK(own.status == POPPROXY_CLIENT_TLS);
	own.stls(true);
	CHECK(own.status == POPPROXY_MORE);
	CHECK(own.to_client == "+OK\r\n+OK Begin TLS\r\n");
	CHECK(own.client("CAPA\r\nSTLS\r\n") == "CAPA\r\n");
	CHECK(own.server("+OK\r\n.\r\n") == "+OK\r\n.\r\n-ERR TLS has begun\r\n");

	Proxied forgets(POPPROXY_STLS_OWN);
	forgets.limits.has_plain_logins = true;
	forgets.step("USER evil\r\n", "+OK\r\n+OK\r\n");
	forgets.client("STLS\r\n");
	forgets.stls(true);
	CHECK(forgets.client("PASS secret\r\n").empty());
	CHECK(forgets.client("USER john\r\n") == "USER john\r\n");
	CHECK(forgets.server("+OK\r\n") == "+OK\r\n");
	CHECK(forgets.client("PASS secret\r\n") == "PASS secret\r\n");
	CHECK(forgets.server("+OK\r\n") == "+OK\r\n");

	Proxied late(POPPROXY_STLS_OWN);
	late.limits.has_plain_logins = true;
	late.login();
	CHECK(late.client("STLS\r\n").empty());
	CHECK(late.to_client == "-ERR STLS comes before the login\r\n");

	Proxied early(POPPROXY_STLS_OWN);
	early.server("+OK\r\n");
	CHECK(early.client("STLS\r\nUSER evil\r\n").empty());
	early.stls(false);
	CHECK(early.status == POPPROXY_END);
	CHECK(early.to_server.empty());

	Proxied passed(POPPROXY_STLS_PASS);
	passed.server("+OK\r\n");
	CHECK(passed.client("STLS\r\n") == "STLS\r\n");
	CHECK(passed.server("-ERR\r\n") == "-ERR\r\n");
	CHECK(passed.client("STLS\r\n") == "STLS\r\n");
	CHECK(passed.server("+OK\r\nrest") == "+OK\r\n");
	CHECK(passed.status == POPPROXY_TUNNEL);
	CHECK(passed.server_left == "rest");

	Proxied none;
	none.server("+OK\r\n");
	CHECK(none.client("STLS\r\n").empty());
	CHECK(none.to_client == "+OK\r\n-ERR There is no TLS here\r\n");
}

TEST_CASE("a login in the clear is neither offered nor passed on where TLS ends here",
	  "[popproxy][stls]")
{
	const std::string capa = "+OK\r\nUSER\r\nSASL PLAIN\r\nTOP\r\n.\r\n";
	for (const std::string line :
	     { "USER john", "PASS secret", "APOP john 0123456789abcdef0123456789abcdef",
	       "AUTH PLAIN AGEAYg==", "AUTH PLAIN" }) {
		Proxied own(POPPROXY_STLS_OWN);
		own.server("+OK\r\n");
		CHECK(own.client("CAPA\r\n") == "CAPA\r\n");
		CHECK(own.server(capa) == "+OK\r\nTOP\r\nSTLS\r\n.\r\n");
		const size_t size = own.to_client.size();
		CHECK(own.client(line + "\r\n").empty());
		CHECK(own.to_client.substr(size) == "-ERR Send STLS first\r\n");
		CHECK(own.client("STLS\r\n").empty());
		own.stls(true);
		CHECK(own.client("CAPA\r\n") == "CAPA\r\n");
		CHECK(own.server(capa) == capa);
		CHECK(own.client(line + "\r\n") == line + "\r\n");
	}
	Proxied old(POPPROXY_STLS_OWN);
	old.step("CAPA\r\n", "+OK\r\n");
	CHECK(old.server("-ERR what\r\n") == "+OK\r\nSTLS\r\n.\r\n");
	Proxied passed(POPPROXY_STLS_PASS);
	passed.server("+OK\r\n");
	CHECK(passed.client("USER john\r\n") == "USER john\r\n");
}

TEST_CASE("an exchange of SASL passes by lines", "[popproxy][sasl]")
{
	Proxied proxied;
	proxied.server("+OK\r\n");
	CHECK(proxied.client("auth plain\r\n") == "AUTH PLAIN\r\n");
	CHECK(proxied.client("AGpvaG4Ac2VjcmV0\r\n").empty());
	CHECK(proxied.server("+ \r\n") == "+ \r\n");
	CHECK(proxied.to_server == "AUTH PLAIN\r\nAGpvaG4Ac2VjcmV0\r\n");
	CHECK(std::string(proxied.proxy.user) == "john");
	CHECK(proxied.server("-ERR no\r\n") == "-ERR no\r\n");
	CHECK(popproxy_is_at_client(&proxied.proxy));
	CHECK(proxied.client("AUTH LOGIN\r\n") == "AUTH LOGIN\r\n");
	CHECK_FALSE(popproxy_is_at_client(&proxied.proxy));
	proxied.server("+ VXNlcm5hbWU6\r\n");
	CHECK(proxied.client("YW5uYQ==\r\n") == "YW5uYQ==\r\n");
	proxied.server("+ UGFzc3dvcmQ6\r\n");
	CHECK(proxied.client("not base64!\r\n") == "*\r\n");
	CHECK(proxied.server("-ERR cancelled\r\n") == "-ERR cancelled\r\n");
	CHECK(std::string(proxied.proxy.user) == "anna");
	CHECK(proxied.client("AUTH PLAIN AGpvaG4Ac2VjcmV0\r\n") ==
	      "AUTH PLAIN AGpvaG4Ac2VjcmV0\r\n");
	CHECK(proxied.server("+OK in\r\n") == "+OK in\r\n");
	CHECK(proxied.proxy.is_logged_in);
	CHECK(proxied.client("AUTH GSSAPI\r\n").empty());
}

TEST_CASE("the server's end is told, unless a client would take that for something else",
	  "[popproxy]")
{
	Proxied idle;
	idle.login();
	CHECK(idle.server("-ERR Disconnected").empty());
	CHECK(idle.client("NOOP\r\n").empty());
	CHECK(idle.server(" for inactivity.\r\n") == "-ERR Disconnected for inactivity.\r\n");
	CHECK(idle.status == POPPROXY_END);
	Proxied silent;
	silent.login();
	CHECK(silent.gone() == POPPROXY_END);
	CHECK(silent.to_client.empty());
	Proxied asked;
	asked.login();
	asked.client("NOOP\r\n");
	CHECK(asked.gone() == POPPROXY_END);
	CHECK(asked.to_client == "-ERR [SYS/TEMP] The server has closed the connection\r\n");
	Proxied amid;
	amid.login();
	amid.client("LIST\r\n");
	amid.server("+OK\r\n1 2\r\n");
	CHECK(amid.gone() == POPPROXY_CUT);
	Proxied quit;
	quit.login();
	quit.client("QUIT\r\nNOOP\r\n");
	CHECK(quit.server("+OK bye\r\n") == "+OK bye\r\n");
	CHECK(quit.status == POPPROXY_END);
	CHECK(quit.to_server == "QUIT\r\n");
	CHECK(quit.gone() == POPPROXY_END);
}

TEST_CASE("an answer that was not asked for is not that of the next command", "[popproxy]")
{
	Proxied proxied;
	SECTION("of a login")
	{
		proxied.server("+OK\r\n");
		proxied.client("USER john\r\n");
		CHECK(proxied.server("+OK\r\n+OK in\r\n") == "+OK\r\n");
		CHECK(proxied.client("PASS wrong\r\n").empty());
	}
	SECTION("amid an exchange of SASL")
	{
		proxied.server("+OK\r\n");
		proxied.client("AUTH PLAIN\r\n");
		proxied.server("+ \r\n+OK in\r\n");
		CHECK(proxied.client("AGpvaG4AeA==\r\n").empty());
		CHECK_FALSE(proxied.proxy.is_logged_in);
	}
	SECTION("of DELE, so that a mail would look deleted that is not")
	{
		proxied.login();
		proxied.client("DELE 1\r\n");
		CHECK(proxied.server("+OK\r\n+OK\r\n") == "+OK\r\n");
		CHECK(proxied.client("DELE 2\r\n").empty());
	}
	SECTION("behind a mail, so that the next would be another, which DELE then takes")
	{
		proxied.login();
		proxied.client("RETR 1\r\nRETR 2\r\n");
		proxied.server("+OK 1 a\r\n");
		proxied.server_left = "+OK\r\none\r\n.\r\n+OK\r\ntwo\r\n.\r\n";
		CHECK(proxied.server("") == "+OK\r\none\r\n.\r\n-ERR [SYS/TEMP] The server has "
					    "closed the connection\r\n");
		CHECK(proxied.to_server == "UIDL 1\r\nRETR 1\r\n");
	}
	SECTION("while a mail waits for room")
	{
		proxied.login();
		proxied.has_room = false;
		proxied.client("RETR 1\r\n");
		proxied.server("+OK 1 a\r\n+OK\r\none\r\n.\r\n");
		proxied.has_room = true;
		CHECK(proxied.client("").empty());
	}
	CHECK(proxied.status == POPPROXY_END);
}
