// SPDX-License-Identifier: GPL-3.0-or-later
// PDFs that are encrypted, and open without a password.
#include <catch2/catch.hpp>

#include "lib/unpack/office/unpack_office.h"
#include "lib/unpack/pdf/unpack_lock.h"
#include "tests/unit/unpack/unpacking.hh"

namespace
{

// What comes out of the PDF, and then of the copy that is kept of it.
struct Sealed {
	Unpacked here;
	std::string copy;
	bool has_copy = false;
	bool is_whole = false;
};

namespace sealing
{
void *begin(void *context, const char *name)
{
	return unpacking::begin(&static_cast<Sealed *>(context)->here, name);
}
void data(void *context, void *member, const uint8_t *bytes, size_t size)
{
	auto *sealed = static_cast<Sealed *>(context);
	if (member == &sealed->copy)
		sealed->copy.append(reinterpret_cast<const char *>(bytes), size);
	else
		unpacking::data(nullptr, member, bytes, size);
}
void end(void *context, void *member, bool is_whole)
{
	auto *sealed = static_cast<Sealed *>(context);
	if (member == &sealed->copy)
		sealed->is_whole = is_whole;
	else
		unpacking::end(nullptr, member, is_whole);
}
void flaw(void *context, enum unpack_flaw flaw, const char *name)
{
	unpacking::flaw(&static_cast<Sealed *>(context)->here, flaw, name);
}
void *begin_as(void *context, enum content_kind kind)
{
	auto *sealed = static_cast<Sealed *>(context);
	CHECK(kind == CONTENT_PDF_SEALED);
	CHECK(!sealed->has_copy);
	sealed->has_copy = true;
	return &sealed->copy;
}
} // namespace sealing

Sealed copied(const std::string &pdf, size_t piece = SIZE_MAX,
	      struct unpack_budget budget = UNPACK_BUDGET)
{
	static const struct unpack_events events = { sealing::begin, sealing::data, sealing::end,
						     sealing::flaw, sealing::begin_as };
	Sealed sealed;
	std::unique_ptr<uint8_t[]> memory(new uint8_t[UNPACK_HERE_MEMORY]);
	struct unpack *unpack = nullptr;
	REQUIRE(unpack_begin(unpack_find(CONTENT_PDF), memory.get(), &budget, &events, &sealed,
			     &unpack) == 0);
	for (size_t at = 0; at < pdf.size();) {
		const size_t size = std::min(piece, pdf.size() - at);
		unpack_push(unpack, reinterpret_cast<const uint8_t *>(pdf.data()) + at, size);
		at += size;
	}
	unpack_end(unpack, true);
	return sealed;
}

std::string opened(const std::string &pdf)
{
	const Sealed whole = copied(pdf);
	for (const size_t piece : { 1, 7, 1000 })
		CHECK(copied(pdf, piece).copy == whole.copy);
	if (!whole.is_whole)
		return "no copy";
	const Unpacked unpacked = unpack_all(CONTENT_PDF_SEALED, whole.copy);
	CHECK(unpack_all(CONTENT_PDF_SEALED, whole.copy, UNPACK_BUDGET, 3).all() == unpacked.all());
	return unpacked.all();
}

// A lock of version 1, whose key is known as long as no identifier is in it.
struct Lock {
	struct pdf_lock lock = {};
	Lock(const std::string &owner = std::string(32, 'o'))
	{
		uint8_t pad[32] = { 0x28, 0xbf, 0x4e, 0x5e, 0x4e, 0x75, 0x8a, 0x41,
				    0x64, 0x00, 0x4e, 0x56, 0xff, 0xfa, 0x01, 0x08,
				    0x2e, 0x2e, 0x00, 0xb6, 0xd0, 0x68, 0x3e, 0x80,
				    0x2f, 0x0c, 0xa9, 0xfe, 0x64, 0x53, 0x69, 0x7a };
		const std::string behind = owner + std::string("\xfc\xff\xff\xff", 4);
		lock.version = 1;
		lock.revision = 2;
		lock.key_size = 5;
		uint8_t hash[OFFICE_HASH_MAX];
		REQUIRE(office_hash(OFFICE_MD5, pad, 32, behind.data(), behind.size(), hash));
		std::memcpy(lock.key, hash, 5);
		office_rc4(lock.key, 5, pad, 32);
		user = std::string(reinterpret_cast<char *>(pad), 32);
		this->owner = owner;
	}
	static std::string hex(const std::string &bytes)
	{
		static const char digits[] = "0123456789ABCDEF";
		std::string text = "<";
		for (const char byte : bytes) {
			text += digits[static_cast<uint8_t>(byte) >> 4];
			text += digits[static_cast<uint8_t>(byte) & 15];
		}
		return text + ">";
	}
	std::string dictionary() const
	{
		return "<< /Filter /Standard /V 1 /R 2 /P -4 /O " + hex(owner) + "/U" + hex(user) +
		       " >>";
	}
	std::string object() const
	{
		return "9 0 obj\n" + dictionary() + "\nendobj\n";
	}
	std::string encrypted(unsigned number, std::string bytes) const
	{
		uint8_t key[PDF_LOCK_KEY];
		const size_t size = pdf_lock_key(&lock, PDF_CIPHER_RC4, number, 0, key);
		office_rc4(key, size, reinterpret_cast<uint8_t *>(&bytes[0]), bytes.size());
		return bytes;
	}
	std::string owner;
	std::string user;
};

std::string stream_of(unsigned number, const std::string &bytes, const std::string &more = "")
{
	return std::to_string(number) + " 0 obj\n<< " + more + " /Length " +
	       std::to_string(bytes.size()) + " >>\nstream\n" + bytes + "\nendstream\nendobj\n";
}

const char trailer[] = "trailer << /Root 1 0 R /Encrypt 9 0 R >>\n";
const std::string long_text(5000, 'x');

} // namespace

TEST_CASE("a PDF that opens without a password is opened", "[unpack][pdf][sealed]")
{
	const Lock lock;
	const std::string text = "some " + long_text + " endstream text";
	const std::string streams =
		stream_of(3, lock.encrypted(3, text)) +
		stream_of(4, lock.encrypted(4, deflated(text, 15)), "/Filter /Fl");
	const std::string wanted = "stream 1=" + text + ";stream 2=" + text + ";";
	CHECK(opened("%PDF-1.4\n" + streams + lock.object() + trailer) == wanted);
	// Before them, in the trailer, and far before what is encrypted.
	CHECK(opened("%PDF-1.4\n" + lock.object() + streams + trailer) == wanted);
	CHECK(opened("%PDF-1.4\n" + streams + "trailer << /Encrypt " + lock.dictionary() + " >>") ==
	      wanted);
	CHECK(opened("%PDF-1.4\n" + lock.object() + std::string(9999, ' ') + streams + trailer) ==
	      wanted);
	CHECK(opened("%PDF-1.4\n" + streams + lock.object() +
		     "trailer << /Root 1 0 R /#45ncr#79p#74 9 0 R >>\n") == wanted);
	CHECK(opened("%PDF-1.4\n" + streams +
		     "trailer << /Encryp#7 9 0 R /Encrypt#20 /#2fEncrypt 9 >>\n")
		      .empty());
	// The stream with the tables is plain, and noise when it is decrypted.
	const std::string tables = deflated("tables", 15);
	CHECK(opened("%PDF-1.5\n" + streams + lock.object() +
		     stream_of(5, tables, "/Type /XRef /Encrypt 9 0 R /Filter /Fl")) ==
	      wanted + "stream 3=" + lock.encrypted(5, tables) + ";");
}

TEST_CASE("scripts in strings of an encrypted PDF are opened", "[unpack][pdf][sealed]")
{
	const Lock lock;
	const std::string script = Lock::hex(lock.encrypted(2, "app.alert"));
	CHECK(opened("2 0 obj << /J#53 %a comment\n" + script + " >> endobj " +
		     std::string(9999, ' ') + lock.object() + trailer) == "script 1=app.alert;");
	CHECK(opened("2 0 obj " + script + " endobj " + lock.object() + trailer) ==
	      "script 1=app.alert;");
	std::string literal = "(";
	for (const char byte : lock.encrypted(2, "app.alert")) {
		char octal[8];
		snprintf(octal, sizeof(octal), "\\%03o", static_cast<uint8_t>(byte));
		literal += octal;
	}
	CHECK(opened("2 0 obj << /JS" + literal + ") >> endobj " + lock.object() + trailer) ==
	      "script 1=app.alert;");
	// Wherever the copy begins, whose text goes round before.
	for (size_t count = 8192 - 40; count <= 8192; count++)
		CHECK(opened(std::string(count, '\n') + "2 0 obj << /JS" + literal +
			     ") >> endobj " + lock.object() + trailer) == "script 1=app.alert;");
	// In a stream of objects they are not encrypted again.
	const std::string inner = "1 0 << /JS (app.alert) >>";
	CHECK(opened(stream_of(3, lock.encrypted(3, inner), "/Type /ObjStm") + lock.object() +
		     trailer) == "stream 1=" + inner + ";script 1=app.alert;script 2=app.alert;");
}

TEST_CASE("of a PDF that does not open it is said that it is encrypted", "[unpack][pdf][sealed]")
{
	Lock lock;
	const std::string stream = stream_of(3, lock.encrypted(3, long_text));
	CHECK(opened(stream + trailer) == "!encrypted: ");
	lock.user[0]++;
	CHECK(opened(stream + lock.object() + trailer) == "!encrypted: ");
	// No copy is whole when there is no room for it, and none when nobody wants it.
	struct unpack_budget budget = UNPACK_BUDGET;
	budget.spool_left = 1000;
	const Sealed cut = copied(stream + trailer, SIZE_MAX, budget);
	CHECK((cut.has_copy && !cut.is_whole));
	CHECK(cut.here.has("encrypted: "));
	CHECK(unpack_all(CONTENT_PDF, stream + trailer).has("encrypted: "));
	// With its copy it is the copy's to say.
	CHECK(!copied(stream + trailer).here.has("encrypted: "));
	CHECK(unpack_all(CONTENT_PDF_SEALED, copied(stream + trailer).copy, budget).all() ==
	      "!encrypted: ");
}

TEST_CASE("other locks hide none that opens", "[unpack][pdf][sealed]")
{
	const Lock lock;
	const Lock other(std::string(32, 'p'));
	Lock wrong;
	wrong.user[0]++;
	const std::string stream = stream_of(3, lock.encrypted(3, "a text"));
	const std::string both = stream + wrong.object() + lock.object() + trailer;
	CHECK(opened(both) == "stream 1=a text;");
	const std::string all = opened(stream + other.object() + lock.object() + trailer);
	CHECK(all.find("=a text;") != std::string::npos);
	// A lock in what a length that lies has made a part of a stream.
	CHECK(opened("3 0 obj << /Length 99999 >>\nstream\n" + lock.encrypted(3, long_text) +
		     "\nendstream endobj\n" + lock.object() + trailer)
		      .find("stream 1=" + long_text) == 0);
	// A stream there.
	CHECK(opened("3 0 obj << /Length 99999 >>\nstream\n" + lock.encrypted(3, long_text) +
		     "\nendstream endobj\n" + stream_of(4, lock.encrypted(4, "a text")) +
		     lock.object() + trailer)
		      .find("stream 2=a text;") != std::string::npos);
}

TEST_CASE("streams of an encrypted PDF are read as they are, too", "[unpack][pdf][sealed]")
{
	const Lock lock;
	const std::string text = "a plain text that is too long for chance";
	const std::string pdf = stream_of(3, text) +
				stream_of(4, deflated(text, 15), "/Filter /Fl") + lock.object() +
				trailer;
	CHECK(copied(pdf).here.all() == "stream 1=" + text + ";stream 2=" + text + ";");
	CHECK(opened(pdf) == "stream 1=;stream 2=;!encrypted: ");
}

TEST_CASE("encrypted streams that seem to be plain are told", "[unpack][pdf][sealed]")
{
	const Lock lock;
	const std::string begin = "%PDF-1.4\n" + lock.object();
	// Readers see noise, and then a text: its begin is chosen so that it is this when it is encrypted.
	const auto seeming = [&lock](const std::string &head) {
		return head + lock.encrypted(3, std::string(head.size(), ' ') + long_text)
				      .substr(head.size());
	};
	const std::string deflate = deflated(std::string(2000, 'x') + lock.user + lock.owner, 15);
	const std::string image = "\xff\xd8\xff\xe0" + std::string(900, 'i');
	const std::string coded = "/Subtype /Image /Filter /DCTDecode";
	for (const std::string more :
	     { "", "/Type /EmbeddedFile", "/Metadata 5 0 R /Foo /XRef", "/Type /FooXRef" }) {
		CHECK(opened(begin + stream_of(3, seeming(long_text.substr(0, 700)), more) +
			     trailer) == "stream 1=;!encrypted: ");
		CHECK(opened(stream_of(3, seeming(long_text.substr(0, 700)), more) +
			     std::string(9999, ' ') + lock.object() + trailer) == "!encrypted: ");
		CHECK(opened(begin + stream_of(3, deflate, "/Filter /Fl " + more) + trailer) ==
		      "stream 1=;!encrypted: ");
		CHECK(opened(begin + stream_of(3, seeming(image), coded + more) + trailer) ==
		      "stream 1=;!encrypted: ");
	}
	// What its dictionary says is plain is read in both ways, if there is a copy already.
	const std::string plain = lock.encrypted(3, seeming(long_text.substr(0, 700)));
	for (const std::string more : { "/Type /Metadata", "/Type /XRef", "/Filter /Crypt" })
		CHECK(opened(begin + stream_of(3, seeming(long_text.substr(0, 700)), more) +
			     trailer) == "stream 1=" + plain + ";");
	for (const std::string more : { "/Type /Metadata", "/Type /XRef" })
		CHECK(opened(stream_of(3, seeming(long_text.substr(0, 700)), more) +
			     std::string(9999, ' ') + lock.object() + trailer) == "!encrypted: ");
	// There is none yet: it begins with what a crypt filter is said to leave as it is.
	CHECK(opened(stream_of(3, seeming(long_text.substr(0, 700)), "/Filter /Crypt") +
		     std::string(9999, ' ') + lock.object() + trailer) ==
	      "stream 1=" + plain + ";");
	// Short ones are in the copy, and so are images that do not begin as such.
	CHECK(opened(begin + stream_of(3, "a text") + trailer) ==
	      "stream 1=" + lock.encrypted(3, "a text") + ";");
	CHECK(opened(begin + stream_of(3, lock.encrypted(3, image), coded) + trailer) ==
	      "stream 1=" + image + ";");
	CHECK(opened(begin + stream_of(3, "") + trailer) == "stream 1=;");
}

TEST_CASE("streams that are not to be encrypted are not told to be", "[unpack][pdf][sealed]")
{
	const Lock lock;
	const std::string begin = "%PDF-1.4\n" + lock.object();
	const std::string long_key = "/Index [" + std::string(1000, ' ') + "] ";
	const std::string tables = deflated("tables", 15);
	const std::string noise = "stream 1=" + lock.encrypted(3, tables) + ";";
	for (const std::string more :
	     { "/Type /XRef /Filter /Fl ", "/Filter [/Crypt /FlateDecode]",
	       "/Filter [/Crypt /Fl] /DecodeParms [null null]",
	       "/DecodeParms [<< /Type /CryptFilterDecodeParms /Name/Identity>> null] "
	       "/Filter [/Crypt /Fl]" })
		CHECK(opened(begin + stream_of(3, tables, more) + trailer) == noise);
	CHECK(opened(begin + stream_of(3, tables, "/Filter /Fl /Type /XRef " + long_key) +
		     trailer) == noise);
	CHECK(opened(stream_of(3, tables, "/Filter [/Crypt /Fl]") + std::string(9999, ' ') +
		     lock.object() + trailer) == noise);
	// A filter of another name, or none knows which.
	for (const std::string more :
	     { "/Name /StdCF", "/Name/StdCF/X/Identity", "/Name /IdentityX", "/Name 5 0 R",
	       "/NameX /Identity /Name /StdCF" })
		CHECK(opened(begin +
			     stream_of(3, tables,
				       "/Filter [/Crypt /Fl] /DecodeParms [<< " + more +
					       " >> null]") +
			     trailer) == "stream 1=;!encrypted: ");
	CHECK(opened(begin + stream_of(3, tables, "/Filter [/Crypt /Fl] /DecodeParms 7 0 R /X 8") +
		     trailer) == "stream 1=;!encrypted: ");
	CHECK(opened(begin + stream_of(3, tables, "/Filter [/Crypt /Fl] " + long_key) + trailer) ==
	      "stream 1=;!encrypted: ");
}

TEST_CASE("what a dictionary says is to be plain is opened all the same", "[unpack][pdf][sealed]")
{
	const Lock lock;
	const std::string begin = "%PDF-1.4\n" + lock.object();
	for (const std::string more : { "/Type /XRef", "/Foo /XRef", "/Type /Metadata",
					"/Filter /Crypt", "/Filter /Crypt /Name /Identity" })
		CHECK(opened(begin + stream_of(3, lock.encrypted(3, long_text), more) + trailer) ==
		      "stream 1=" + long_text + ";");
}

TEST_CASE("a long dictionary hides no objects in its stream", "[unpack][pdf]")
{
	const std::string inner = "1 0 << /JS (app.alert) >>";
	CHECK(unpack_all(CONTENT_PDF, stream_of(3, deflated(inner, 15),
						"/Filter /Fl /Type /ObjStm /Extends [" +
							std::string(1000, ' ') + "]"))
		      .all()
		      .find("script 1=app.alert;") != std::string::npos);
}

TEST_CASE("no copy is made of a PDF that is plain", "[unpack][pdf][sealed]")
{
	std::string noise;
	for (unsigned i = 0; i < 5000; i++)
		noise += static_cast<char>((i * i * 31 + i) >> 3);
	CHECK(!copied(stream_of(3, deflated("a text " + long_text + noise.substr(0, 999), 15),
				"/Filter /FlateDecode") +
		      stream_of(4, deflated("", 15), "/Filter /FlateDecode") + stream_of(5, "") +
		      stream_of(6, long_text) +
		      stream_of(7, "<?xpacket begin=\"\xef\xbb\xbf\"?><x:xmpmeta>") +
		      stream_of(8, "48656C6C6F48656C6C6F48656C6C6F48656C6C6F>", "/Filter /AHx") +
		      stream_of(9, "\xff\xd8\xff" + noise, "/Subtype /Image /Filter /DCTDecode") +
		      "trailer << /EncryptMetadata false >>")
		       .has_copy);
	// One of whatever else may be encrypted, and what it is not in the end is not told.
	const Sealed sealed = copied(stream_of(3, noise) + "trailer <<>>");
	CHECK(sealed.is_whole);
	CHECK(unpack_all(CONTENT_PDF_SEALED, sealed.copy).all().empty());
	CHECK(copied(stream_of(3, noise, "/Filter /FlateDecode")).is_whole);
	// What begins as zlib does, and bytes that are stored, which say nothing.
	CHECK(copied(stream_of(3, "\x78\x9c" + noise, "/Filter /FlateDecode")).is_whole);
	CHECK(copied(stream_of(3, deflated("a", 15) + noise, "/Filter /FlateDecode")).is_whole);
	CHECK(copied(stream_of(3, std::string("\x78\x01\0\xff\x7f\0\x80", 7) + noise,
			       "/Filter /FlateDecode"))
		      .is_whole);
}

TEST_CASE("a copy may be any bytes", "[unpack][pdf][sealed]")
{
	for (size_t size = 0; size < 20; size++)
		CHECK(unpack_all(CONTENT_PDF_SEALED, std::string(size, '\1')).members.empty());
	CHECK(unpack_all(CONTENT_PDF_SEALED, std::string("\0\xff\xff\xff\xff/V 1\1", 10)).all() ==
	      "!encrypted: ");
}
