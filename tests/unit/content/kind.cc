// SPDX-License-Identifier: GPL-3.0-or-later
// What files are, by the first bytes of each.
#include <cstring>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "lib/content/kind.h"

namespace
{

std::string kind_of(const std::string &head)
{
	// In memory of that size, so that a sanitizer sees a read behind its end.
	const std::vector<uint8_t> bytes(head.begin(), head.end());
	return content_kind_name(content_kind(bytes.data(), bytes.size()));
}

std::string raw(const char *bytes, size_t size)
{
	return std::string(bytes, size);
}
#define RAW(text) raw(text, sizeof(text) - 1)

std::string tar_block(bool is_signed, const std::string &name = "caf\xe9.text",
		      const char *format = "%06o")
{
	std::string block(512, '\0');
	block.replace(0, name.size(), name);
	block.replace(100, 8, RAW("0000644\0"));
	block.replace(124, 12, RAW("00000000005\0"));
	block.replace(148, 8, "        ");
	block.replace(257, 6, RAW("ustar\0"));
	int sum = 0;
	for (const char byte : block)
		sum += is_signed ? static_cast<signed char>(byte) : static_cast<uint8_t>(byte);
	char field[9];
	snprintf(field, sizeof(field), format, static_cast<unsigned>(sum));
	if (format[0] == '0')
		field[0] = '\0'; // which GNU tar passes
	block.replace(148, 8, std::string(field, 6) + RAW("\0 "));
	return block;
}

} // namespace

TEST_CASE("each kind is known by its mark", "[content][kind]")
{
	const struct {
		const char *kind;
		std::string head;
	} samples[] = {
		{ "pe", "MZ\x90" },
		{ "elf", "\177ELF\2" },
		{ "mach-o", "\xcf\xfa\xed\xfe" },
		{ "mach-o", RAW("\xca\xfe\xba\xbe\0\0\0\2") },
		{ "java", RAW("\xca\xfe\xba\xbe\0\0\0\x34") },
		{ "ole", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" },
		{ "pdf", "%PDF-1.4\n" },
		{ "pdf", "some bytes \x01\x02\n%PDF-1.4\n" },
		{ "pdf", std::string(1000, 'x') + "\n%PDF-1.4\n" },
		{ "pdf", "\n%PDF-A" },
		{ "pdf", "%!PS-Adobe-3.0 PDF-1.4\n" },
		{ "pdf", " %!PS-Adobe-2.1 PDF-1.4\n" },
		{ "text", "%!PS-Adobe-3.0 EPSF-3.0\n" },
		{ "rtf", "{\\rtf1 " },
		{ "graphics", "GIF89a" },
		{ "graphics", "\x89PNG\r\n\x1a\n" },
		{ "graphics", "\xff\xd8\xff\xe0" },
		{ "graphics", RAW("BM\x46\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0") },
		{ "graphics", "RIFF1234WEBPVP8 " },
		{ "swf", "FWS\x0a"
			 "1234" },
		{ "swf", "CWS\x0a"
			 "1234" },
		{ "tnef", "\x78\x9f\x3e\x22" },
		{ "gzip", "\x1f\x8b\x08" },
		{ "bzip2", "BZh91AY&SY" },
		{ "bzip2", "BZh9\x17\x72\x45\x38\x50\x90" },
		{ "xz", RAW("\xfd"
			    "7zXZ\0") },
		{ "lzma", RAW("\x5d\0\0\x80\0\xff\xff\xff\xff\xff\xff\xff\xff\0\x12\x34\x56\x78") },
		{ "lzip", "LZIP\1" },
		{ "zstd", "\x28\xb5\x2f\xfd" },
		{ "zstd", RAW("\x51\x2a\x4d\x18\4\0\0\0abcd\x28\xb5\x2f\xfd") },
		{ "lz4", "\x04\x22\x4d\x18" },
		{ "lz4", RAW("\x51\x2a\x4d\x18\4\0\0\0abcd\x04\x22\x4d\x18") },
		{ "lzop", RAW("\x89LZO\0\r\n\x1a\n") },
		{ "compress", "\x1f\x9d\x90" },
		{ "zip", "PK\3\4" },
		{ "zip", "PK\5\6" },
		{ "cpio", "070701" },
		{ "cpio", RAW("\xc7\x71\1\0\2\0\xa4\x81\0\0\0\0\0\0\0\0\0\0\0\0\4\0\0\0\0\0") },
		{ "cpio", RAW("\x71\xc7\0\1\0\2\x81\xa4\0\0\0\0\0\0\0\0\0\0\0\0\0\4\0\0\0\0") },
		{ "ar", "!<arch>\n" },
		{ "cab", RAW("MSCF\0\0\0\0") },
		{ "cab",
		  RAW("MSCF\1\0\0\0\x92\0\0\0\0\0\0\0,\0\0\0\0\0\0\0\3\1\1\0\1\0\0\0\0\0\0\0") },
		{ "lha", RAW("\x20\x30-lh5-\0\0\0\0\0\0\0\0\0\0\0\0\0\2") },
		{ "arj", RAW("\x60\xea\x29\0\x1e\7\1\0\x10\0\2") },
		{ "rar", RAW("Rar!\x1a\7\0") },
		{ "rar", RAW("Rar!\x1a\7\1\0") },
		{ "7z", "7z\xbc\xaf\x27\x1c" },
		{ "xar", "xar!" },
		{ "lzfu", "12345678LZFu" },
		{ "cms", RAW("\x30\x80\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x02\xa0") },
		{ "cms", RAW("\x30\x80\x06\x81\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x02\xa0") },
		{ "cms", RAW("\x30\x80\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x03\xa0") },
		{ "cms", RAW("\x30\x80\x06\x0b\x2a\x86\x48\x86\xf7\x0d\x01\x09\x10\x01\x17") },
		{ "cms", RAW("\x30\x82\1\0\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x02\xa0") },
		{ "onenote", "\xe4\x52\x5c\x7b\x8c\xd8\xa7\x4d\xae\xb1\x53\x78\xd0\x29\x96\xd3" },
		{ "mso", RAW("ActiveMime\0\0") },
		{ "chm", RAW("ITSF\3\0\0\0") },
		{ "text", "=ybegin line=128 size=1\r\n\x01" },
		{ "zlib", "\x78\x9c\x4b\x4c\x4a\x4e\x01\x01" },
		{ "zlib", RAW("\x78\x01\1\5\0\xfa\xff"
			      "12345") },
		{ "tar", tar_block(false) },
		{ "tar", tar_block(true) },
		{ "tar", tar_block(false, "") }, // a header of PAX
		{ "tar", tar_block(false, "name", "0%05o") },
		{ "tar", tar_block(false, "name", "\t%05o") },
		{ "tar", tar_block(false, "name", "%05ox") },
	};
	for (const auto &sample : samples) {
		INFO(sample.kind);
		CHECK(kind_of(sample.head) == sample.kind);
	}
}

TEST_CASE("what only looks like a mark is none", "[content][kind]")
{
	CHECK(kind_of("") == "other");
	CHECK(kind_of(RAW("\0")) == "other");
	CHECK(kind_of(std::string(512, '\0')) == "other");
	CHECK(kind_of("BM is a letter's beginning, and nothing else") == "text");
	CHECK(kind_of("BZh91 is a word") == "text");
	CHECK(kind_of("x^2 + y^2 = z^2") == "text");
	CHECK(kind_of(RAW("\x78\x9c\x07\x01"
			  "12345")) == "other"); // block type 3
	CHECK(kind_of(RAW("\x78\x01\1\5\0\1\1"
			  "12345")) == "other");
	CHECK(kind_of(RAW("\x78\xbb\1\5\0\1\1"
			  "12345")) == "other"); // a dictionary
	CHECK(kind_of(RAW("\x5d\0\0\x81\0\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0\0")) == "other");
	CHECK(kind_of(RAW("\x1f\x9d\x82")) == "other");
	std::string tar = tar_block(false);
	tar[0] = 'd';
	CHECK(kind_of(tar) != "tar");
	CHECK(kind_of(tar_block(false).substr(0, 511)) != "tar");
}

TEST_CASE("texts are mails, pages or just texts", "[content][kind]")
{
	CHECK(kind_of("Received: from a by b;\r\n") == "mail");
	CHECK(kind_of("\r\n\nMESSAGE-ID: <1@a>\r\n") == "mail");
	CHECK(kind_of("From tina Mon Jan  1\nDate: x\n") == "mail");
	CHECK(kind_of("X-Unsent: 1\r\nX-Long: a\r\n b\r\nMIME-Version: 1.0\r\n") == "mail");
	CHECK(kind_of("Thread-Topic: a\nSubject: b\n") == "mail");
	CHECK(kind_of("X-Unsent: 1\r\n\r\nSubject: a\r\n") == "text");
	CHECK(kind_of("a: b\nnothing\nSubject: a\n") == "text");
	CHECK(kind_of("a: b\n subject: a\n") == "text");
	CHECK(kind_of("from module import name\n") == "text");
	CHECK(kind_of("1\r\n00:00:20,000 --> 00:00:24,400\r\nFrom: a\r\n") == "text");
	CHECK(kind_of("42\nName: x\nSubject: a\n") == "text");
	CHECK(kind_of("BEGIN:VCALENDAR\r\nSTATUS:CONFIRMED\r\n") == "text");
	CHECK(kind_of("Datebook\n") == "text");
	CHECK(kind_of("\xef\xbb\xbf"
		      "Subject: x\n") == "mail");
	CHECK(kind_of("<!-- -->\n<HTML>") == "html");
	CHECK(kind_of("text and <A HREF=x>") == "html");
	CHECK(kind_of("a < b and c > d\n") == "text");
	CHECK(kind_of("caf\xc3\xa9\n") == "text");
	CHECK(kind_of("caf\xe9\n") == "text");
	CHECK(kind_of("a\x01") == "other");
	// A control hides neither from a client.
	CHECK(kind_of("From: a\nTo: b\nSubject: x\x01\n") == "mail");
	CHECK(kind_of(RAW("\0\1\nFrom: a\nX: y\nTo: b\n")) == "mail");
	CHECK(kind_of("From: a To: b\nSubject x\x01\n") == "other");
	CHECK(kind_of("no field\nFrom: a\nContent-Type: b\n") == "mail");
	CHECK(kind_of("Hello,\nFrom: a\nTo: b\n") == "text");
	CHECK(kind_of("Hello,\nContent-Type: a\n") == "text");
	CHECK(kind_of("From: a\nXTo: b\n\x01") == "other");
	CHECK(kind_of(RAW("<h\0><body>")) == "html");
	CHECK(kind_of(RAW("a\0")) == "other");
	CHECK(kind_of(RAW("\xff\xfe<\0h\0t\0m\0l\0>\0")) == "html");
	CHECK(kind_of(RAW("\xfe\xff\0h\0i")) == "text");
	CHECK(kind_of(std::string(600, 'a')) == "text");
}

TEST_CASE("a mail or a page may be something else by its first bytes", "[content][kind]")
{
	const auto besides_of = [](const std::string &head) {
		const std::vector<uint8_t> bytes(head.begin(), head.end());
		const enum content_kind kind = content_kind(bytes.data(), bytes.size());
		return std::string(
			content_kind_name(content_kind_besides(kind, bytes.data(), bytes.size())));
	};
	CHECK(besides_of("MZ-Foo: bar\nContent-Type: a\n") == "mail");
	CHECK(besides_of("MZ\nFrom: a\nContent-Type: a\n\x01") == "mail");
	CHECK(besides_of("GIF8<html>") == "html");
	CHECK(besides_of(RAW("II*\0<body>")) == "html");
	CHECK(besides_of("%PDF-1.4<html>") == "html");
	CHECK(besides_of("070701<html>") == "html");
	CHECK(besides_of("BEGIN:VCALENDAR\r\nSTATUS:CONFIRMED\r\n") == "mail");
	CHECK(besides_of("BEGIN:VCALENDAR\r\n") == "other");
	// Of Apple Mail: how many bytes the mail has, and the mail.
	CHECK(besides_of("1234      \nReceived: from a\n by b\n") == "mail");
	CHECK(besides_of("1234      \nX-Foo: a\nSubject: <html>\n") == "mail");
	for (const std::string first : { "12a ", "12", "12 \n", "12 \r", " ", "12 \nno field" })
		CHECK(besides_of(first + "\nSubject: b\n") == "other");
	CHECK(besides_of("GIF89a") == "other");
	CHECK(besides_of("MZ\x90 %PDF-1.4") == "other");
	CHECK(besides_of("PK\3\4From: a\nContent-Type: a\n\x01") == "other");
	CHECK(besides_of("Subject: a\n") == "other");
	const std::string longest = "X-Foo: " + std::string(600, 'a') + "\n ";
	CHECK(besides_of("\n" + longest + std::string(2000, 'b')) == "mail");
	for (const std::string first : { "MZ: ", "GIF8: ", "X-L: <html>", "X-L: \x01",
					 "X-L: %PDF-1.4", "070701: ", "X.L: ", "X-L : " })
		CHECK(besides_of(first + std::string(2000, 'y') + "\n") == "mail");
	CHECK(besides_of("070701: a\nFrom: b\n") == "mail");
	CHECK(besides_of(RAW("070701: a\nFrom: b\nTo: c\n\0")) == "other");
	CHECK(besides_of(longest + std::string(200, 'b')) == "other");
	CHECK(besides_of(longest + "\nno field\n" + std::string(2000, 'b')) == "other");
}

TEST_CASE("a tar or an LHA may begin with the mark of something else", "[content][kind]")
{
	const auto kinds_of = [](const std::string &head) {
		const std::vector<uint8_t> bytes(head.begin(), head.end());
		const enum content_kind kind = content_kind(bytes.data(), bytes.size());
		return std::string(content_kind_name(
			       content_archive_besides(kind, bytes.data(), bytes.size()))) +
		       " " +
		       content_kind_name(content_kind_besides(kind, bytes.data(), bytes.size()));
	};
	// A mark may be the name of a first member, or a first header.
	for (const std::string name : { "MZ.exe", "PK\5\6", "GIF8", "070701", "\x1f\x8b\x08" })
		CHECK(kinds_of(tar_block(false, name)) == "tar other");
	CHECK(kinds_of(tar_block(false)) == "other other");
	std::string lha = "MZ-lh0-" + std::string(72, '\0');
	lha[2 + 77 - 1] = static_cast<char>('Z' - 2 * '-' - 'l' - 'h' - '0');
	CHECK(kinds_of(lha) == "lha other");
	lha[30]++;
	CHECK(kinds_of(lha) == "other other");
	// A right sum hides no mail and no page.
	CHECK(kinds_of(tar_block(false, "MZ: x\nSubject: a\nContent-Type: b\n")) == "tar mail");
	CHECK(kinds_of(tar_block(false, "MZ<html>")) == "tar html");
	lha[30]--;
	CHECK(kinds_of(lha + "<html>") == "lha html");
}

TEST_CASE("some heads say more of their kind than the mark does", "[content][kind]")
{
	const auto is_sure = [](enum content_kind kind, const std::string &head) {
		const std::vector<uint8_t> bytes(head.begin(), head.end());
		return content_is_sure(kind, bytes.data(), bytes.size());
	};
	CHECK(is_sure(CONTENT_CPIO, "070701" + std::string(104, 'a')));
	CHECK(is_sure(CONTENT_CPIO, "070707" + std::string(70, '7')));
	CHECK(is_sure(CONTENT_CPIO, "070701..x" + std::string(101, 'a')));
	CHECK_FALSE(is_sure(CONTENT_CPIO, "070707" + std::string(70, '8')));
	CHECK_FALSE(is_sure(CONTENT_CPIO, "070701" + std::string(103, 'a')));
	CHECK_FALSE(is_sure(CONTENT_CPIO, "070701" + std::string(104, 'x')));
	CHECK_FALSE(is_sure(CONTENT_LHA, RAW("\x20\x30-lh5-\0\0\0\0\0\0\0\0\0\0\0\0\0\2")));
	CHECK_FALSE(is_sure(CONTENT_LZMA, std::string(200, '0')));
}

TEST_CASE("what may have files in it as a text does", "[content][kind]")
{
	const auto may = [](const std::string &head) {
		const std::vector<uint8_t> bytes(head.begin(), head.end());
		const enum content_kind kind = content_kind(bytes.data(), bytes.size());
		return content_may_have_files(kind, bytes.data(), bytes.size());
	};
	for (const std::string text : { "text", "<html>", "a\x01", "MZ\ntext", "GIF8text" })
		CHECK(may(text));
	for (const std::string other : { "MZ\x01", "{\\rtf1 text", "%PDF-1.4\n", "Subject: x\n" })
		CHECK_FALSE(may(other));
}

TEST_CASE("translations have the fields of a mail, and are one to a client alone",
	  "[content][kind]")
{
	const std::string fields = "MIME-Version: 1.0\nContent-Type: text/plain\n";
	const auto kinds_of = [&fields](const std::string &mark) {
		const std::string head = mark + std::string(24, '\1') + '\n' + fields;
		const std::vector<uint8_t> bytes(head.begin(), head.end());
		const enum content_kind kind = content_kind(bytes.data(), bytes.size());
		return std::string(content_kind_name(kind)) + " " +
		       content_kind_name(content_kind_besides(kind, bytes.data(), bytes.size()));
	};
	CHECK(kinds_of(RAW("\xde\x12\x04\x95\0\0\0\0")) == "other mail");
	CHECK(kinds_of(RAW("\x95\x04\x12\xde\0\1\0\1")) == "other mail");
	CHECK(kinds_of(RAW("\xde\x12\x04\x95\2\0\0\0")) == "mail other");
	CHECK(kinds_of(RAW("\xde\x12\x04\x94\0\0\0\0")) == "mail other");
}

TEST_CASE("a head cut anywhere is something", "[content][kind]")
{
	const std::string heads[] = {
		tar_block(false), RAW("\x51\x2a\x4d\x18\4\0\0\0abcd\x04\x22\x4d\x18"),
		RAW("\x5d\0\0\x80\0\xff\xff\xff\xff\xff\xff\xff\xff\0\x12\x34\x56\x78"),
		RAW("\xfe\xff\0h\0i"), "Received: from a <html>"
	};
	for (const std::string &head : heads) {
		for (size_t size = 0; size <= head.size(); size++)
			CHECK(strlen(kind_of(head.substr(0, size)).c_str()) > 0);
	}
	CHECK(std::string(content_kind_name(CONTENT_KIND_COUNT)) == "other");
	for (int kind = 0; kind < CONTENT_KIND_COUNT; kind++)
		CHECK(content_kind_name(static_cast<enum content_kind>(kind)) != nullptr);
}
