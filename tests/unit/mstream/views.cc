// SPDX-License-Identifier: GPL-3.0-or-later
// What readers of mail understand differently: each view has its parts, and what is the same is given once.
#include <algorithm>
#include <random>
#include <string>

#include "tests/unit/mstream/mail.hh"

namespace
{

long count(const Mail &mail, const std::string &bytes)
{
	return std::count_if(mail.parts.begin(), mail.parts.end(),
			     [&](const Part *part) { return part->bytes == bytes; });
}

} // namespace

TEST_CASE("two types are two views", "[mstream][views]")
{
	Mail mail;
	read_all("Content-Type: multipart/mixed; boundary=o\n\n"
		 "--o\n"
		 "Content-Type: text/plain\n"
		 "Content-Type: multipart/mixed; boundary=x\n\n"
		 "--x\n\none\n--x--\n"
		 "--o\n\nafter\n--o--\n",
		 mail);
	CHECK(mail.has("--x\n\none\n--x--"));
	CHECK(count(mail, "one") == 1);
	CHECK(count(mail, "after") == 1); // both have met again
	CHECK(mail.is_odd("two types 1"));
	for (const Part *part : mail.parts) {
		if (part->bytes == "one")
			CHECK(part->view == 1);
		if (part->bytes == "after")
			CHECK(part->view == 0);
	}
}

TEST_CASE("of three types the first and the last", "[mstream][views]")
{
	Mail mail;
	read_all("Content-Type: multipart/mixed; boundary=a\n"
		 "Content-Type: multipart/mixed; boundary=b\n"
		 "Content-Type: multipart/mixed; boundary=c\n\n"
		 "--a\n\none\n--c\n\ntwo\n--a--\n",
		 mail);
	CHECK(mail.has("one\n--c\n\ntwo"));
	CHECK(mail.has("two\n--a--\n"));
	CHECK(mail.is_odd("too odd"));
}

TEST_CASE("two boundaries", "[mstream][views]")
{
	Mail mail;
	read_all("Content-Type: multipart/mixed; boundary=a; boundary=b\n\n"
		 "--a\nContent-Transfer-Encoding: base64\n\naGVsbG8=\n--a--\n"
		 "--b\nContent-Transfer-Encoding: base64\n\nd29ybGQ=\n--b--\n",
		 mail);
	CHECK(mail.has("hello"));
	CHECK(mail.has("world"));
	CHECK(mail.is_odd("bad boundary"));
}

TEST_CASE("a boundary of what is no multipart", "[mstream][views]")
{
	Mail mail;
	read_all("Content-Type: text/plain; boundary=a\n\n--a\nContent-Transfer-Encoding: "
		 "base64\n\naGVsbG8=\n--a--\n",
		 mail);
	CHECK(mail.has("hello"));
	CHECK(mail.parts[0]->bytes.size() > 5);
	CHECK(mail.is_odd("bad field"));
}

TEST_CASE("an encoded multipart", "[mstream][views]")
{
	// "--a", an empty line, "hi", "--a--"
	Mail mail;
	read_all("Content-Type: multipart/mixed; boundary=a\nContent-Transfer-Encoding: base64\n\n"
		 "LS1hCgpoaQotLWEtLQo=\n",
		 mail);
	CHECK(mail.has("hi"));
	CHECK(mail.has("LS1hCgpoaQotLWEtLQo=\n"));
	CHECK(mail.is_odd("bad coding"));
}

TEST_CASE("a message that says it is encoded, and is not", "[mstream][views]")
{
	Mail mail;
	read_all("Content-Type: message/rfc822\nContent-Transfer-Encoding: base64\n\n"
		 "Subject: x\nContent-Type: a/b\n\nplain\n",
		 mail);
	CHECK(mail.has("plain\n"));
	CHECK(mail.is_odd("bad coding"));
}

TEST_CASE("views within views do not grow without bound", "[mstream][views]")
{
	std::string text;
	for (unsigned i = 0; i < 12; i++) {
		const std::string one(1, static_cast<char>('a' + i));
		text += "Content-Type: multipart/mixed; boundary=" + one + "; boundary=" + one +
			"x\n\n--" + one + "\n\n" + one + "\n--" + one + "x\n";
	}
	text += "\nlast\n";
	Mail mail;
	read_mail(text, text.size(), mail);
	CHECK(mail.parts.size() < 200);
	CHECK(mail.is_odd("too odd"));
	CHECK_FALSE(mail.is_wrong);
}

TEST_CASE("odd parts do not cost those that follow", "[mstream][views]")
{
	std::string text = "Content-Type: multipart/mixed; boundary=o\n\n";
	for (unsigned i = 0; i < 100; i++)
		text += "--o\nContent-Type: multipart/mixed; boundary=x; boundary=y\n\n"
			"--x\n\nin x\n--x--\n--y\n\nin y\n--y--\n";
	text += "--o\n\nlast\n--o--\n";
	Mail mail;
	read_mail(text, text.size(), mail);
	CHECK(count(mail, "last") == 1);
	CHECK(count(mail, "in x") == 100);
	CHECK(count(mail, "in y") == 100);
	CHECK_FALSE(mail.is_odd("too odd"));
}

TEST_CASE("what looks for files does not depend on where odd parts are cut", "[mstream][views]")
{
	// A leaf, a multipart, and one that is encoded in two ways: each has a text of its own.
	const std::string text = "Content-Type: text/plain\n"
				 "Content-Type: multipart/mixed; boundary=x\n"
				 "Content-Transfer-Encoding: base28\n\n"
				 "aGVsbG8-\n--x--\n";
	Mail mail;
	read_all(text, mail);
	CHECK_FALSE(mail.is_odd("too odd"));
}

TEST_CASE("words of oddities and codings", "[mstream][views]")
{
	for (int i = 0; i < MSTREAM_ODDITY_COUNT; i++)
		CHECK(mstream_oddity_text(static_cast<enum mstream_oddity>(i)) !=
		      std::string("unknown"));
	for (int i = 0; i < MSTREAM_CODING_COUNT; i++)
		CHECK(mstream_coding_name(static_cast<enum mstream_coding>(i)) !=
		      std::string("unknown"));
	CHECK(mstream_oddity_text(MSTREAM_ODDITY_COUNT) == std::string("unknown"));
	CHECK(mstream_coding_name(MSTREAM_CODING_COUNT) == std::string("unknown"));
}

TEST_CASE("two CRs in a field end the header for some readers alone", "[mstream][views]")
{
	Mail mail;
	read_all("Subject: x\r\ry\r\nContent-Transfer-Encoding: base64\r\n\r\naGVsbG8=\r\n", mail);
	CHECK(mail.has("hello"));
	CHECK(mail.parts.size() == 2);
	CHECK(mail.is_odd("bad field"));
}

TEST_CASE("a delimiter behind a lone CR is one for some readers alone", "[mstream][views]")
{
	for (const std::string inner : { "--(.)--", "--(.)" }) {
		Mail mail;
		read_all("Content-Type: multipart/mixed; boundary=\"(.)\"\r\n\r\n--(.)\r\n"
			 "Content-Transfer-Encoding: base64\r\n\r\naGVs\r" +
				 inner + "\rbG8=\r\n--(.)--\r\n",
			 mail);
		CHECK(mail.has("hel"));
		CHECK(std::any_of(mail.parts.begin(), mail.parts.end(), [](const Part *part) {
			return part->bytes.compare(0, 5, "hello") == 0;
		}));
		CHECK(mail.is_odd("bad boundary"));
	}
	// A mail of such lines has two readings, and not one more for each of them.
	std::string text = "Content-Type: multipart/mixed; boundary=a\r\r";
	for (unsigned i = 0; i < 20; i++)
		text += "--a\r\rpart " + std::to_string(i) + "\r";
	Mail mail;
	read_all(text + "--a--\r", mail);
	CHECK(mail.has("part 0"));
	CHECK(mail.has("part 19"));
	CHECK_FALSE(mail.is_odd("too odd"));
}

TEST_CASE("a CR before a field ends the header for some readers alone", "[mstream][views]")
{
	const std::string field = "Content-Transfer-Encoding: base64\r\n\r\naGVsbG8=\r\n";
	const std::string multipart = "Content-Type: multipart/mixed; boundary=a\r\n\r\n--a\r\n";
	for (const std::string &text :
	     { "Subject: x\r\n\r" + field, multipart + "X: y\r\n\r" + field + "--a--\r\n",
	       multipart + "\r" + field + "--a--\r\n" }) {
		Mail mail;
		read_all(text, mail);
		CHECK(mail.has("hello"));
		CHECK((mail.has(field) || mail.has(field.substr(0, field.size() - 2))));
		CHECK(mail.is_odd("bad field"));
	}
	for (const std::string end : { "\r\n", "\r\r\n" }) {
		Mail plain;
		read_all("Subject: x\r\n" + end + field, plain);
		CHECK(plain.has(field));
		CHECK(plain.parts.size() == 1);
		CHECK_FALSE(plain.is_odd("bad field"));
		Mail parts;
		read_all(multipart + "X: y\r\n" + end + field + "--a--\r\n", parts);
		CHECK(parts.has(field.substr(0, field.size() - 2)));
		CHECK_FALSE(parts.is_odd("bad field"));
	}
	Mail twice;
	read_all("Subject: x\r\n\r\r" + field, twice);
	CHECK(twice.has("hello"));
	CHECK(twice.has("\r" + field));
	CHECK(twice.is_odd("bad field"));
	for (const std::string end : { "\r", "\r\r" }) {
		Mail cut;
		read_all("Subject: x\r\n" + end, cut);
		CHECK(cut.parts.size() == 1);
	}
}

TEST_CASE("which readings there are does not depend on where a mail is cut", "[mstream][views]")
{
	const std::string multipart = "Content-Type: multipart/mixed; boundary=b";
	for (const std::string &text : {
		     multipart + "\r-\r\n\r--b\nQUJD=\r",		     // of two readings
		     multipart + "\n--b\ngarbage\n\r--bx\n\r",		     // of too many
		     multipart + "\r\n \r\r--b x\r--\r",		     // and no header
		     multipart + "\rContent-Type: text/plain\r\n\r\n--b\r\r" // both amid a line
				 "Content-Transfer-Encoding: base64\r\r--c\n\n",
		     // Two codings, each with bytes that readers take differently.
		     std::string("Content-Transfer-Encoding: quoted-printable\n"
				 "Content-Transfer-Encoding: base64\n\n=3D\n-\n \n\n--c--\n\n"),
		     // The name of a field, as long as one that is kept, and shorter.
		     std::string(512, 'x') + ": y\n\nz",
		     std::string(511, 'x') + ": y\n\nz",
		     // A boundary that one reading has, where it has the name of the field.
		     std::string("Content-\xffType: multipart/mixed; boundary=x\r\n"
				 ",\nz\r\n\r\nc\r\n--x\r\n\rz\n"),
	     }) {
		CAPTURE(text);
		Mail mail;
		read_all(text, mail);
	}
}

TEST_CASE("mails within two readings do not depend on where a mail is cut", "[mstream][views]")
{
	// In base64: a multipart z, text, "--z" behind a CR alone, text, "--z x", which is odd, and "--z--".
	const std::string coded =
		"Q29udGVudC1UeXBlOiBtdWx0aXBhcnQvbWl4ZWQ7IGJvdW5kYXJ5PXoNCg0KLS16DQoNCkEgdGV4\r\n"
		"dCBvZiBzb21lIGxlbmd0aCwgYW5kIHNvIG9uLCB0aGF0IGdvZXMgb24gYW5kIG9uLg0KQSB0ZXh0\r\n"
		"IG9mIHNvbWUgbGVuZ3RoLCBhbmQgc28gb24sIHRoYXQgZ29lcyBvbiBhbmQgb24uDQpBIGxpbmUN\r\n"
		"LS16DQoNCm1vcmUNCkFub3RoZXIgdGV4dCBvZiBzb21lIGxlbmd0aCwgYW5kIHNvIG9uLCB0aGF0\r\n"
		"IGdvZXMgb24uDQpBbm90aGVyIHRleHQgb2Ygc29tZSBsZW5ndGgsIGFuZCBzbyBvbiwgdGhhdCBn\r\n"
		"b2VzIG9uLg0KLS16IHgNCg0KQg0KLS16LS0NCg==\r\n";
	for (const std::string type :
	     { "Content-Type: multipart/mixed; boundary=a\r\n"
	       "Content-Type: multipart/mixed; boundary=b\r\n",
	       "Content-Type: multipart/mixed; boundary=a; boundary=b\r\n" }) {
		Mail mail;
		read_all(type +
				 "\r\n--a\r\n--b\r\n"
				 "Content-Type: message/rfc822\r\n"
				 "Content-Transfer-Encoding: base64\r\n\r\n" +
				 coded + "--b--\r\n--a--\r\n",
			 mail);
		CHECK(mail.is_odd("bad boundary 1.1"));
	}
}

// How many bytes a part has at a time, on average.
static size_t piece_of(const std::string &text)
{
	struct Sum {
		size_t calls = 0, bytes = 0;
	} sum;
	static const struct mstream_events events = {
		[](void *context, const struct mstream_part *) { return context; },
		[](void *, void *part, const uint8_t *, size_t size) {
			static_cast<Sum *>(part)->calls++;
			static_cast<Sum *>(part)->bytes += size;
		},
		[](void *, void *, bool) {},
		[](void *, enum mstream_oddity, const char *) {},
	};
	std::vector<unsigned char> memory(mstream_size());
	struct mstream *stream = mstream_begin(memory.data(), &events, &sum);
	mstream_push(stream, reinterpret_cast<const uint8_t *>(text.data()), text.size());
	mstream_end(stream, true);
	return sum.bytes / sum.calls;
}

TEST_CASE("several readings have more than a byte at a time", "[mstream][views]")
{
	const std::string types = "Content-Type: message/rfc822\r\n"
				  "Content-Type: multipart/mixed; boundary=q\r\n"
				  "Content-Type: multipart/mixed; boundary=r\r\n";
	const std::string multiparts = "Content-Type: multipart/mixed; boundary=q\r\n"
				       "Content-Type: multipart/mixed; boundary=r\r\n\r\n";
	const auto mail = GENERATE_COPY(table<std::string, std::string>({
		// What stands before, and what comes again and again.
		{ multiparts, "--\r\nabcdef\r\n" },
		{ multiparts, "--x\r\n" },
		{ "Content-Type: multipart/mixed; boundary=q\r\n\r\n", "--\r\n" },
		{ types + "Content-Transfer-Encoding: quoted-printable\r\n\r\nA: b\r\n\r\n",
		  "A text, =3D and so on.\r\n" },
		{ types + "Content-Transfer-Encoding: quoted-printable\r\n\r\nA: b\r\n\r\n",
		  "--\r\n=41=42 =\r\ncdef \r\n" },
		// "A: bc" and an empty line; "--", "abcdef" and ends of lines.
		{ types + "Content-Transfer-Encoding: base64\r\n\r\nQTogYmMNCg0K",
		  "LS0NCmFiY2RlZg0K\r\n" },
		{ types + "Content-Transfer-Encoding: base64\r\n\r\n",
		  "no field, and no base64\r\n" },
	}));
	CAPTURE(std::get<0>(mail), std::get<1>(mail));
	std::string text = std::get<0>(mail);
	while (text.size() < 700)
		text += std::get<1>(mail);
	Mail read;
	read_all(text, read);
	while (text.size() < 20000)
		text += std::get<1>(mail);
	CHECK(piece_of(text) >= 8);
}

TEST_CASE("a short mail of any lines is the same in pieces", "[mstream][views]")
{
	const std::vector<std::string> lines = {
		"From: a",
		"Content-Type: multipart/mixed; boundary=b",
		"Content-Type: multipart/mixed; boundary=c",
		"Content-Type: message/rfc822",
		"Content-Transfer-Encoding: base64",
		"Content-Transfer-Encoding: quoted-printable",
		"Content-Type: text/plain",
		"garbage",
		"--b",
		"--b--",
		"--b x",
		"--c",
		" ",
		":",
		"-",
		"QUJD=",
		"=3D",
		"begin 644 a",
		// A multipart with a boundary b and a part behind a CR.
		"Q29udGVudC1UeXBlOiBtdWx0aXBhcnQvbWl4ZWQ7IGJvdW5kYXJ5PWIKCgotLWIKZ2FyYmFnZQoNLS1iDQ"
		"0K",
		"",
		// As long as a line of dashes is kept, and longer.
		"--" + std::string(510, 'a'),
		"--b" + std::string(509, ' '),
		"--" + std::string(700, '-'),
	};
	const std::vector<std::string> ends = { "\r\n", "\n", "\r", "\r\r\n", "\n\r" };
	std::minstd_rand random(1);
	for (unsigned count = 0; count < 400; count++) {
		std::string text = count % 2 == 0 ? "" : lines[1] + ends[random() % ends.size()];
		for (unsigned line = 0; line < 12; line++)
			text += lines[random() % lines.size()] + ends[random() % ends.size()];
		CAPTURE(text);
		Mail mail;
		read_all(text, mail);
	}
}
