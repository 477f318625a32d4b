// SPDX-License-Identifier: GPL-3.0-or-later
// Streams of a PDF, whatever its tables say.
#include <map>

#include <catch2/catch.hpp>

#include "tests/unit/unpack/unpacking.hh"

namespace
{

std::string stream_of(const std::string &dictionary, const std::string &bytes,
		      const std::string &eol = "\n")
{
	return "1 0 obj" + eol + "<< " + dictionary + " >>" + eol + "stream" +
	       (eol == "\r" ? "\r\n" : eol) + bytes + eol + "endstream" + eol + "endobj" + eol;
}

std::string all_of(const std::string &bytes)
{
	const std::string pdf = "%PDF-1.4\n" + bytes + "trailer <<>>\n";
	const Unpacked whole = unpack_all(CONTENT_PDF, pdf);
	for (const size_t piece : { 1, 2, 7, 100 })
		CHECK(unpack_all(CONTENT_PDF, pdf, UNPACK_BUDGET, piece).all() == whole.all());
	return whole.all();
}

std::string hex(const std::string &bytes)
{
	static const char digits[] = "0123456789ABCDEF";
	std::string text;
	for (const char byte : bytes) {
		text += digits[static_cast<uint8_t>(byte) >> 4];
		text += digits[static_cast<uint8_t>(byte) & 15];
	}
	return text;
}

std::string ascii85(const std::string &bytes)
{
	std::string text;
	for (size_t at = 0; at < bytes.size(); at += 4) {
		const size_t size = std::min<size_t>(4, bytes.size() - at);
		uint32_t group = 0;
		for (size_t i = 0; i < 4; i++)
			group = group << 8 | (i < size ? static_cast<uint8_t>(bytes[at + i]) : 0);
		char digits[5];
		for (int i = 4; i >= 0; i--, group /= 85)
			digits[i] = static_cast<char>('!' + group % 85);
		text += size == 4 && std::string(digits, 5) == "!!!!!"
				? "z"
				: std::string(digits, size + 1);
	}
	return text + "~>";
}

// As TIFF and PDF have it, with a code of each length.
std::string lzw(const std::string &bytes, unsigned early)
{
	std::map<std::pair<unsigned, char>, unsigned> codes; // of a code and a byte behind it
	std::string packed;
	unsigned width = 9;
	unsigned bits = 0;
	unsigned bit_count = 0;
	const auto put = [&](unsigned code) {
		bits = bits << width | code;
		for (bit_count += width; bit_count >= 8; bit_count -= 8)
			packed += static_cast<char>(bits >> (bit_count - 8));
	};
	unsigned known = 256; // none
	unsigned next = 258;
	put(256);
	for (const char byte : bytes) {
		const auto longer = codes.find({ known, byte });
		if (known == 256 || longer != codes.end()) {
			known = known == 256 ? static_cast<uint8_t>(byte) : longer->second;
			continue;
		}
		put(known);
		codes[{ known, byte }] = next++;
		known = static_cast<uint8_t>(byte);
		// The reader has one code less.
		if (next - 1 + early >= 1U << width && width < 12)
			width++;
		if (next == 4096) {
			put(256);
			codes.clear();
			width = 9;
			next = 258;
		}
	}
	put(known == 256 ? 257 : known);
	put(257);
	if (bit_count > 0)
		packed += static_cast<char>(bits << (8 - bit_count));
	return packed;
}

// As PNG has it, with each of its filters in turn.
std::string predicted(const std::string &text, size_t row_size, size_t pixel_size)
{
	std::string rows;
	for (size_t begin = 0; begin < text.size(); begin += row_size) {
		const int tag = static_cast<int>(begin / row_size % 5);
		rows += static_cast<char>(tag);
		for (size_t at = begin; at < std::min(text.size(), begin + row_size); at++) {
			const auto byte = [&](bool is_there, size_t back) {
				return is_there ? static_cast<uint8_t>(text[at - back]) : 0;
			};
			const bool has_left = at - begin >= pixel_size;
			const bool has_up = begin > 0;
			const int left = byte(has_left, pixel_size);
			const int up = byte(has_up, row_size);
			const int corner = byte(has_left && has_up, row_size + pixel_size);
			const int guess = left + up - corner;
			const int to_left = std::abs(guess - left);
			const int to_up = std::abs(guess - up);
			const int to_corner = std::abs(guess - corner);
			const int paeth = to_left <= to_up && to_left <= to_corner ? left
					  : to_up <= to_corner			   ? up
										   : corner;
			const int of[] = { 0, left, up, (left + up) / 2, paeth };
			rows += static_cast<char>(text[at] - of[tag]);
		}
	}
	return rows;
}

} // namespace

TEST_CASE("streams come out as they are, and decompressed", "[unpack][pdf]")
{
	const std::string text = "line\r\n" + std::string(3000, 'x') + "\0end";
	CHECK(all_of("1 0 obj << /Length 3 >> endobj\n").empty());
	for (const char *eol : { "\n", "\r\n", "\r" }) {
		CHECK(all_of(stream_of("/Length 99", text, eol)) == "stream 1=" + text + ";");
		CHECK(all_of(stream_of("/Filter /FlateDecode", deflated(text, 15), eol)) ==
		      "stream 1=" + text + ";");
	}
	CHECK(all_of(stream_of("", "a") + stream_of("", "") + stream_of("", "bc")) ==
	      "stream 1=a;stream 2=;stream 3=bc;");
	// Compressed, whatever is said; said to be, and not.
	CHECK(all_of(stream_of("/Filter /Fl#61teDecode", deflated(text, 15))) ==
	      "stream 1=" + text + ";");
	CHECK(all_of(stream_of("", deflated(text, 15) + "behind it")) == "stream 1=" + text + ";");
	CHECK(all_of(stream_of("/Filter /FlateDecode", "plain")) == "stream 1=plain;");
	// Empty lines before it.
	CHECK(all_of(stream_of("/Filter /Fl", "\r\n\n" + deflated(text, 15))) ==
	      "stream 1=" + text + ";");
	CHECK(all_of(stream_of("", "\r\n\nplain")) == "stream 1=\r\n\nplain;");
}

TEST_CASE("filters of ASCII behind compression are undone", "[unpack][pdf]")
{
	const std::string text = "some text" + std::string(1200, 'x');
	CHECK(all_of(stream_of("/Filter [/FlateDecode /ASCIIHexDecode]",
			       deflated(hex(text) + "> 41", 15))) == "stream 1=" + text + ";");
	CHECK(all_of(stream_of("/Filter [/Fl /A85]", deflated(ascii85("abcde"), 15))) ==
	      "stream 1=abcde;");
	CHECK(all_of(stream_of("/Filter [/AHx /Fl /A85 /AHx]",
			       hex(deflated(ascii85(hex("abcde")), 15)) + ">")) ==
	      "stream 1=abcde;");
	// Not those of another stream, and not of what is not compressed.
	CHECK(all_of(stream_of("/Filter [/Fl /AHx]", deflated("4142", 15)) +
		     stream_of("/Filter /Fl", deflated("4142", 15))) ==
	      "stream 1=AB;stream 2=4142;");
	CHECK(all_of(stream_of("/Filter [/Fl /AHx]", "4142>")) == "stream 1=4142>;");
	// What a filter leaves out was there.
	const std::string blanks = deflated(std::string(10 << 20, ' ') + "41", 15);
	CHECK(unpack_all(CONTENT_PDF, stream_of("/Filter [/Fl /AHx]", blanks)).all() ==
	      "stream 1=|!ratio: stream 1");
}

TEST_CASE("filters of ASCII are undone", "[unpack][pdf]")
{
	const std::string text = "some text" + std::string(9, '\0') + "of 28 byte";
	const std::string packed = deflated(text, 15);
	CHECK(all_of(stream_of("/Filter /ASCIIHexDecode", hex(text) + ">")) ==
	      "stream 1=" + text + ";");
	CHECK(all_of(stream_of("/Filter[/AHx/Fl]", hex(packed) + ">ff")) ==
	      "stream 1=" + text + ";");
	CHECK(all_of(stream_of("/Filter /#41SCIIHexDecode", "4 1\n4>")) == "stream 1=A@;");
	for (size_t size = 0; size <= text.size(); size++) {
		const std::string part = text.substr(0, size);
		CHECK(all_of(stream_of("/Filter /ASCII85Decode", ascii85(part))) ==
		      "stream 1=" + part + ";");
	}
	CHECK(all_of(stream_of("/Filter [ /A85 /FlateDecode ]", ascii85(packed))) ==
	      "stream 1=" + text + ";");
	// That of another object, and a name that only begins so.
	CHECK(all_of("1 0 obj <</Filter /AHx>> endobj " + stream_of("", "4142>")) ==
	      "stream 1=4142>;");
	CHECK(all_of(stream_of("/AHxy 1", "4142>")) == "stream 1=4142>;");
	// The one that comes first, however far before the stream it was said.
	CHECK(all_of(stream_of("/Filter [/ASCIIHexDecode] /FlateDecode", "4142>")) ==
	      "stream 1=AB;");
	CHECK(all_of(stream_of("/X [/Fl] /Filter [/AHx /A85 /AHx /FlateDecode]",
			       hex(ascii85(hex(packed) + ">")) + ">")) == "stream 1=" + text + ";");
	CHECK(all_of(stream_of("/Filter [/A85 /A85]", ascii85(ascii85("abcde")))) ==
	      "stream 1=abcde;");
	CHECK(all_of(stream_of("/Filter [/AHx/AHx/AHx/AHx/AHx]", hex(hex(hex(hex(hex("ab"))))))) ==
	      "stream 1=" + hex("ab") + ";!unsupported method: stream 1");
	CHECK(all_of(stream_of("/Filter [/AHx/AHx/AHx/AHx/Fl/AHx]",
			       hex(hex(hex(hex(deflated(hex("ab"), 15))))))) == "stream 1=ab;");
	CHECK(all_of(stream_of("/Filter [/Fl/AHx/Fl/AHx]", deflated("", 15))) ==
	      "stream 1=;!unsupported method: stream 1");
	for (const size_t size : { 200, 300, 320, 330, 340, 400, 640, 1000, 5000 }) {
		INFO(size);
		const std::string pad = "/A (" + std::string(size, 'x') + ")";
		CHECK(all_of(stream_of("/Filter /AHx " + pad, "4142>")) == "stream 1=AB;");
		CHECK(all_of(stream_of("/Filter /AHx " + pad, "4142>") + stream_of(pad, "4142>")) ==
		      "stream 1=AB;stream 2=4142>;");
		CHECK(all_of("1 0 obj <</Filter /AHx>> endobj " + pad + stream_of(pad, "4142>")) ==
		      "stream 1=4142>;");
	}
	// "obj" in a name is no begin of an object, and a number may stand close to it.
	CHECK(all_of(stream_of("/Filter /AHx /Xobj 1 /obj 2", "4142>")) == "stream 1=AB;");
	CHECK(all_of("1 0obj <</Filter /AHx>> endobj 2 0obj<<>>stream\n4142>\nendstream ") ==
	      "stream 1=4142>;");
}

TEST_CASE("filters are what the dictionary's own key says", "[unpack][pdf]")
{
	const std::string packed = deflated("some text", 15);
	for (const char *other :
	     { "/X /AHx", "/X [/AHx]", "/X <</Filter /AHx>>", "/X (/Filter /AHx)",
	       "/X (\\) /Filter /AHx)", "/X (() /Filter /AHx)", "% /Filter /AHx\n",
	       "/X (1 0 obj <</Filter /AHx)", "% 1 0 obj <</Filter /AHx\n", "/X /Filter /AHx 1",
	       "/Filter#20 /AHx", "/X#2fFilter /AHx", "/X [1 [/A] /Filter /AHx]",
	       "/X () /Filter /Filter 3" }) {
		INFO(other);
		const std::string said = std::string("/Filter /Fl ") + other;
		const std::string before = std::string(other) + " /Filter /Fl";
		CHECK(all_of(stream_of(before, packed)) == "stream 1=some text;");
		if (strstr(other, "/Filter 3") == nullptr)
			CHECK(all_of(stream_of(said, packed)) == "stream 1=some text;");
	}
	CHECK(all_of(stream_of("/Filter /AHx /X [/Fl /AHx] /Y /RL", hex("ab") + ">")) ==
	      "stream 1=ab;");
	CHECK(all_of(stream_of("/Filter [/AHx % ]\n /AHx]", hex(hex("ab") + ">") + ">")) ==
	      "stream 1=ab;");
	// Of two the last, as most readers have it.
	CHECK(all_of(stream_of("/Filter /AHx /Filter /Fl", packed)) == "stream 1=some text;");
	CHECK(all_of(stream_of("/Filter /Fl /Filter /AHx", hex("ab") + ">")) == "stream 1=ab;");
	// Wherever the text is cut.
	for (size_t size = 0; size < 1400; size += 13) {
		INFO(size);
		const std::string pad(size, 'x');
		const std::string string = "/X (" + pad + " 1 0 obj <</Filter /AHx " + pad + ")";
		CHECK(all_of(stream_of("/Filter /Fl " + string, packed)) == "stream 1=some text;");
		CHECK(all_of(stream_of("/X <</Y (" + pad + ")/Filter /AHx>> /Filter /Fl",
				       packed)) == "stream 1=some text;");
		// A string that never ends, between objects; a number at the end of what is looked at.
		CHECK(all_of("(" + pad + stream_of("/Filter /AHx", hex("ab") + ">")) ==
		      "stream 1=ab;");
		CHECK(all_of("1 0 obj <</X(" + pad + ")/Length 3>>stream\nabcendstream ") ==
		      "stream 1=abc;");
	}
}

TEST_CASE("keys of a PDF's stream may be short ones", "[unpack][pdf]")
{
	const std::string packed = deflated("some text", 15);
	CHECK(all_of(stream_of("/F/AHx", hex("ab") + ">")) == "stream 1=ab;");
	CHECK(all_of(stream_of("/F [/AHx/Fl]", hex(packed) + ">")) == "stream 1=some text;");
	CHECK(all_of(stream_of("/Filter null /F /AHx", hex("ab") + ">")) == "stream 1=ab;");
	CHECK(all_of(stream_of("/Filter /Fl /DP <</Predictor 12 /Columns 2>>",
			       deflated("\2ab\2\1\1", 15))) == "stream 1=abbc;");
	CHECK(all_of(stream_of("/F /Fl /DP [<</Predictor 12 /Columns 2>>] /DP <</Predictor 12 "
			       "/Columns 2>> /DecodeParms null",
			       deflated("\2ab\2\1\1", 15))) == "stream 1=abbc;");
	// The long one counts, wherever it is; a file is no filter.
	for (const size_t size : { 0, 300, 400, 700, 1400 }) {
		INFO(size);
		const std::string pad = " /X (" + std::string(size, 'x') + ") ";
		CHECK(all_of(stream_of("/Filter /AHx" + pad + "/F /Fl", hex("ab") + ">")) ==
		      "stream 1=ab;");
		CHECK(all_of(stream_of("/F /Fl" + pad + "/Filter /AHx", hex("ab") + ">")) ==
		      "stream 1=ab;");
		CHECK(all_of(stream_of("/Filter /Fl" + pad, packed) +
			     stream_of("/F /AHx" + pad, hex("ab") + ">")) ==
		      "stream 1=some text;stream 2=ab;");
	}
	for (const char *file : { "/F (/AHx)", "/F <</F /AHx>>", "/F <2f414878>", "/X /F /AHx 1" })
		CHECK(all_of(stream_of(file, "4142>")) == "stream 1=4142>;");
}

TEST_CASE("a PDF's filters and parameters that are elsewhere are not known", "[unpack][pdf]")
{
	const std::string packed = deflated("\2ab\2\1\1", 15);
	for (const char *other :
	     { "/Filter 6 0 R", "/Filter[6 0 R/FlateDecode]", "/Filter [/FlateDecode 6 0 R]",
	       "/F 6 0 R", "/Filter 6 0 R /Subtype /Image", "/Filter 6% R\n0 R /Length 3",
	       "/Filter /Fl /DecodeParms <</Predictor 6 0 R /Columns 2>>",
	       "/Filter /Fl /DecodeParms <</Predictor 12 /Columns 6 0\nR>>",
	       "/Filter [/Fl] /DP [ <</Predictor 12 /Columns 2 /Colors 6 0 R>>]",
	       "/Filter [/LZW] /DecodeParms [<</EarlyChange 6 0 R>>]" }) {
		INFO(other);
		const Unpacked unpacked = unpack_all(CONTENT_PDF, stream_of(other, packed));
		CHECK(unpacked.flaws == std::vector<std::string>{ "unsupported method: stream 1" });
	}
	for (const char *other : { "/Filter /Fl /Length 6 0 R", "/X 6 0 R /Filter /Fl /Y 6 0 R",
				   "/Filter /Fl /DecodeParms null /X [6 0 R]" }) {
		INFO(other);
		CHECK(unpack_all(CONTENT_PDF, stream_of(other, packed)).flaws.empty());
	}
}

TEST_CASE("a window of any size may be said of what is compressed in a PDF", "[unpack][pdf]")
{
	const std::string packed = "\x88\x1c" + deflated("some text", 15).substr(2);
	CHECK(all_of(stream_of("/Filter /FlateDecode", packed)) == "stream 1=some text;");
	// But not of what is not said to be.
	CHECK(all_of(stream_of("", packed)) == "stream 1=" + packed + ";");
}

TEST_CASE("what a predictor has made of a PDF's stream is undone", "[unpack][pdf]")
{
	std::string text;
	for (unsigned i = 0; i < 600; i++)
		text += static_cast<char>(i * i / 7);
	for (const unsigned colors : { 1U, 3U }) {
		INFO(colors);
		const std::string parms = "/DecodeParms [null<</Columns 8 /Colors " +
					  std::to_string(colors) + " /Predictor ";
		const std::string said = "/Filter [/AHx /Fl /AHx] " + parms;
		const auto packed = [](const std::string &rows) {
			return hex(deflated(rows, 15)) + ">";
		};
		const std::string rows = predicted(hex(text), 8 * colors, colors);
		CHECK(all_of(stream_of(said + "15>>]", packed(rows))) == "stream 1=" + text + ";");
		CHECK(all_of(stream_of(said + "1>>]", packed(hex(text)))) ==
		      "stream 1=" + text + ";");
		CHECK(all_of(stream_of("/Filter [/AHx /LZW] " + parms + "10>>]",
				       hex(lzw(rows, 1)) + ">")) == "stream 1=" + hex(text) + ";");
		std::string tiff = hex(text);
		for (size_t at = tiff.size(); at-- > 0;)
			tiff[at] = static_cast<char>(
				tiff[at] - (at % (8 * colors) < colors ? 0 : tiff[at - colors]));
		CHECK(all_of(stream_of(said + "2>>]", packed(tiff))) == "stream 1=" + text + ";");
	}
	const std::string one = deflated("\2ab\2\1\1", 15);
	CHECK(all_of(stream_of("/Filter /Fl /DecodeParms<</Predictor 12/Columns 2>>", one) +
		     stream_of("/Filter /Fl", one)) == "stream 1=abbc;stream 2=\2ab\2\1\1;");
	// Only the parameters' own; one that is not known here, or elsewhere, is said.
	CHECK(all_of(stream_of("/Filter /Fl /DecodeParms <<>> /X <</Predictor 12>>", one)) ==
	      "stream 1=\2"
	      "ab\2\1\1;");
	for (const char *other :
	     { "[null <</Predictor 12>>]", "/Predictor", "[<</X [<<>>]>> <</Predictor 2>>]", "[]",
	       "<</Predictor 12>>" }) {
		INFO(other);
		const std::string said = std::string("/Filter [/Fl] /DecodeParms ") + other;
		CHECK(all_of(stream_of(said, one)) == "stream 1=\2"
						      "ab\2\1\1;");
	}
	// Of what else is compressed within it.
	for (const char *within : { "/LZW", "/Fl" })
		CHECK(unpack_all(CONTENT_PDF,
				 stream_of(std::string("/Filter [/Fl ") + within +
						   "] /DecodeParms [null <</Predictor 12>>]",
					   one))
			      .has("unsupported method: stream 1"));
	for (const char *other : { "<</Predictor 2 /BitsPerComponent 4>>", "9 0 R",
				   "<</Predictor 12 /Columns 9000>>" }) {
		const std::string said = std::string("/Filter /Fl /DecodeParms ") + other;
		CHECK(unpack_all(CONTENT_PDF, stream_of(said, one))
			      .has("unsupported method: stream 1"));
		CHECK(unpack_all(CONTENT_PDF, stream_of(said + "/Subtype /Image", one))
			      .flaws.empty());
	}
}

TEST_CASE("scripts in strings of a PDF are given as they are meant", "[unpack][pdf]")
{
	const std::string text = "app.alert(1)";
	const std::string wide = "\xfe\xff" + std::string("\0a\x20\xac\0b", 6);
	const std::pair<std::string, std::string> cases[] = {
		{ "/JS <" + hex(text) + ">", text },
		{ "/JS%>\r<" + hex(text).insert(3, "\n ") + ">", text },
		{ "/J#53(app\\056alert\\(1\\))", text },
		{ "/#4a#53 (a\\12\\n\\8(b)\\\nc)", "a\n\n8(b)c" },
		{ "/JS<61626>", "ab`" },
		{ "/JS <" + hex(wide) + ">", "a\x20\xac"
					     "b" },
		{ "/JS (\\376\\377\\000a)", "a" },
		{ "/JS <FE61>", "\xfe"
				"a" },
		{ "/JS <FFFE6100AC206200>", "a\xac b" },
		{ "/JS <FF61>", "\xff"
				"a" },
		{ "/JS (", "" },
	};
	for (const auto &[string, script] : cases) {
		INFO(string);
		const std::string given = "script 1=" + script + ";";
		CHECK(all_of("1 0 obj << " + string + " >>\nendobj\n") ==
		      (script.empty() ? "script 1= >>\nendobj\ntrailer <<>>\n;" : given));
		CHECK(all_of("1 0 obj\n" + string.substr(string.find_first_of("(<")) + "\nendobj\n")
			      .find(script) != std::string::npos);
	}
	for (const char *other : { "/JS <</A 1>>", "/JSX <61>", "/A/JS/B (a)", "/ID [<61><62>]",
				   "xobj (a)", "/J#5 <61>", "/JS 4 0 R (a)", "/JS [ (a) ]" })
		CHECK(all_of(std::string("1 0 obj << ") + other + " >>\nendobj\n") == "");
	// A comment begins one, and hides none.
	CHECK(all_of("% /JS (\n1 0 obj << /JS <6161> >>\n") ==
	      "script 1=\n1 0 obj << /JS <;script 2=aa;");
}

TEST_CASE("scripts in strings of a PDF's object streams are given", "[unpack][pdf]")
{
	const std::string objects = "5 0 << /JS <6161> >> << /JS (";
	const std::string script(1000, 'x');
	const std::string given =
		"stream 1=" + objects + script + ";script 1=aa;script 2=" + script + ";";
	CHECK(all_of(stream_of("/Type /ObjStm /Filter /FlateDecode",
			       deflated(objects + script, 15))) == given);
	CHECK(all_of(stream_of("/Type /ObjStm /Filter [/AHx /Fl]",
			       hex(deflated(objects + script, 15)) + ">")) == given);
	CHECK(all_of(stream_of("/Type /XObject /Filter /FlateDecode", deflated(objects, 15))) ==
	      "stream 1=" + objects + ";");
}

TEST_CASE("runs in a PDF are undone", "[unpack][pdf]")
{
	// Two bytes as they are, three and 128 of one kind; nothing is behind the end.
	const std::string packed = "\x01"
				   "ab\xfe"
				   "c\x81"
				   "d\x80"
				   "\x01xy";
	const std::string text = "abccc" + std::string(128, 'd');
	CHECK(all_of(stream_of("/Filter /RunLengthDecode", packed)) == "stream 1=" + text + ";");
	CHECK(all_of(stream_of("/Filter [/AHx /RL]", hex(packed) + ">")) ==
	      "stream 1=" + text + ";");
	CHECK(all_of(stream_of("/Filter [/Fl /RL]", deflated(packed, 15))) ==
	      "stream 1=" + text + ";");
	const std::string deflate = deflated("text", 15);
	CHECK(all_of(stream_of("/Filter [/RL /Fl]",
			       std::string(1, static_cast<char>(deflate.size() - 1)) + deflate)) ==
	      "stream 1=text;");
	// Runs of runs of blanks, which leave nothing.
	std::string runs;
	for (unsigned i = 0; i < 4000; i++)
		runs += "\x81\x81\x81 ";
	CHECK(unpack_all(CONTENT_PDF, stream_of("/Filter [/RL /RL /AHx]", runs)).all() ==
	      "stream 1=|!ratio: stream 1");
}

TEST_CASE("LZW in a PDF is undone", "[unpack][pdf]")
{
	// The example of 7.4.4.2.
	CHECK(all_of(stream_of("/Filter /LZWDecode", "\x80\x0b\x60\x50\x22\x0c\x0c\x85\x01")) ==
	      "stream 1=-----A---B;");
	std::string text = std::string(5000, 'x');
	uint32_t number = 1;
	for (unsigned i = 0; i < 20000; i++)
		text += static_cast<char>('a' + ((number = number * 1664525 + 1013904223) >> 27));
	CHECK(all_of(stream_of("/Filter /LZWDecode", lzw(text, 1))) == "stream 1=" + text + ";");
	CHECK(all_of(stream_of("/DecodeParms <</EarlyChange 0>> /Filter /LZW", lzw(text, 0)) +
		     stream_of("/Filter /LZW", lzw(text, 1))) ==
	      "stream 1=" + text + ";stream 2=" + text + ";");
	CHECK(all_of(stream_of("/Filter [/AHx /LZW /Fl]", hex(lzw(deflated(text, 15), 1)))) ==
	      "stream 1=" + text + ";");
	CHECK(all_of(stream_of("/Filter [/Fl /LZW]", deflated(lzw(text, 1), 15))) ==
	      "stream 1=" + text + ";");
	// A code that there is not ends it.
	CHECK(all_of(stream_of("/Filter /LZW", "\x80\x10\x7f\xff\xff\xff")) == "stream 1=A;");
	CHECK(all_of(stream_of("/Filter [/LZW /LZW]", lzw(lzw("text", 1), 1))) ==
	      "stream 1=;!unsupported method: stream 1");
	// A white page is no bomb.
	const std::string white = lzw(std::string(4 << 20, 'w'), 1);
	CHECK(unpack_all(CONTENT_PDF, stream_of("/Subtype /Image /Filter /LZW", white))
		      .flaws.empty());
	const std::string blanks = lzw(std::string(4 << 20, ' '), 1);
	CHECK(unpack_all(CONTENT_PDF, stream_of("/Filter [/LZW /AHx]", blanks)).all() ==
	      "stream 1=|!ratio: stream 1");
}

TEST_CASE("what is encrypted is said of a PDF", "[unpack][pdf]")
{
	const std::string one = stream_of("", "ab");
	CHECK(all_of(one + "trailer <</Size 3/Encrypt 5 0 R>>") == "stream 1=ab;!encrypted: ");
	CHECK(all_of("1 0 obj <</Type/XRef/Encrypt<</V 1>> >>stream\nab\nendstream " + one) ==
	      "stream 1=ab;stream 2=ab;!encrypted: ");
	CHECK(all_of("trailer <</Encrypt 5 0 R>>" + std::string(2000, ' ') + one) ==
	      "stream 1=ab;!encrypted: ");
	CHECK(all_of("trailer <</EncryptMetadata false>>" + stream_of("", "/Encrypt 5 0 R")) ==
	      "stream 1=/Encrypt 5 0 R;");
}

TEST_CASE("a stream ends where its word is", "[unpack][pdf]")
{
	for (const char *bytes :
	     { "e", "end", "endstrea", "endstrendstrea", "\nendstrea\r\n", "ee\r\r\n\n",
	       "end\nstream", "\rendstr\nendstr", "stream\n>\nstream\n" })
		CHECK(all_of(stream_of("", bytes)) == std::string("stream 1=") + bytes + ";");
	CHECK(all_of("<<>> stream\nendstrendstream") == "stream 1=endstr;");
	CHECK(all_of("<<>> stream \t\nabcendstream") == "stream 1=abc;");
	CHECK(all_of("<<>>stream\r\n\r\nendstream") == "stream 1=;");
	// Comments are nothing.
	CHECK(all_of("<<>> % a\r%b (>> %\n\n stream\nabc\nendstream ") == "stream 1=abc;");
	CHECK(all_of("<</A (5%) >> % stream\n stream\nabc\nendstream ") == "stream 1=abc;");
	CHECK(all_of("<<>> x % a\n stream\nabc\nendstream ").empty());
	// One in another, as behind a comment that reads so.
	CHECK(all_of("%>>stream\n" + stream_of("/Filter /AHx", "4142>")) ==
	      "stream 1=1 0 obj\n<< /Filter /AHx >>\nstream;stream 2=AB;");
	CHECK(all_of("%>>stream\r" + stream_of("", "ab", "\r")) ==
	      "stream 1=1 0 obj\r<<  >>\rstream;stream 2=ab;");
	// Bytes in the line of the word are the stream's.
	CHECK(all_of("<</Filter /AHx>> stream 4142>endstream ") == "stream 1=AB;");
	CHECK(all_of("<</Filter /AHx>>stream<4142>endstream ") == "stream 1=AB;");
	// Not a stream: without a dictionary, or without an end of line.
	CHECK(all_of("a stream\nof text endstream").empty());
	CHECK(all_of("<<>> streams\nof text endstream").empty());
	// Without its end.
	CHECK(all_of("<<>> stream\nabc") == "stream 1=abctrailer <<>>\n;");
	CHECK(all_of("<<>> stream\n" + deflated(std::string(50, 'x'), 15).substr(0, 5))
		      .substr(0, 9) == "stream 1=");
}

TEST_CASE("a word within the length that is said ends no stream", "[unpack][pdf]")
{
	const std::string text = "a\nendstream\nendobj\n" + std::string(700, 'x');
	const std::string length = "/Length " + std::to_string(text.size());
	CHECK(all_of(stream_of(length, text) + stream_of("", "next")) ==
	      "stream 1=" + text + ";stream 2=next;");
	// Of what is compressed: a block that is stored has the word as it is.
	std::string stored = "\x78\x01";
	stored += '\x01';
	for (const size_t part : { text.size(), ~text.size() })
		for (const unsigned shift : { 0U, 8U })
			stored += static_cast<char>(part >> shift);
	stored += text;
	CHECK(all_of(stream_of("/Length " + std::to_string(stored.size() + 4), stored + "sum4")) ==
	      "stream 1=" + text + ";");
	// Its own end is enough, where the length is an object elsewhere; but it may have none.
	CHECK(all_of(stream_of("/Length 9 0 R", stored + "sum4") + stream_of("", "next")) ==
	      "stream 1=" + text + ";stream 2=next;");
	CHECK(all_of(stream_of("/Length 9 0 R", stored.substr(0, 40)) + stream_of("", "next"))
		      .find("stream 2=next;") != std::string::npos);
	// Data that ends with the word; a length that is one too large, as of the end of a line.
	CHECK(all_of(stream_of("/Length 11", "a endstream")) == "stream 1=a endstream;");
	CHECK(all_of(stream_of("/Length 5", "abc") + stream_of("", "d")) ==
	      "stream 1=abc;stream 2=d;");
	// One that is elsewhere, and one that is too large: what is behind it is there all the same.
	CHECK(all_of(stream_of("/Length 12 0 R", "abc endstream")) == "stream 1=abc ;");
	const std::string lies = all_of(stream_of("/Length 99999999999999999999", "abc") +
					stream_of("", "next") + "trailer << /Encrypt 1 0 R >>");
	CHECK(lies.find("stream 1=abc\nendstream") == 0);
	CHECK(lies.find("stream 2=next;") != std::string::npos);
	CHECK(all_of(stream_of("/Length 99999", "abc") + "trailer << /Encrypt 1 0 R >>")
		      .find("!") != std::string::npos);
	// What has its own end has no more behind it.
	CHECK(all_of(stream_of("/Length 99999", deflated("abc", 15)) +
		     "trailer << /Encrypt 1 0 R >>")
		      .find("stream 1=abc;!") == 0);
}

TEST_CASE("pages that are white are no bombs, and bombs are", "[unpack][pdf]")
{
	const std::string white = deflated(std::string(10 << 20, '\xff'), 15);
	std::string images;
	for (int i = 0; i < 40; i++)
		images +=
			stream_of("/Type /XObject /Subtype /Image /Width 1000 /Height 1000 "
				  "/ColorSpace /DeviceRGB /BitsPerComponent 8 /Filter /FlateDecode",
				  white);
	const Unpacked pages = unpack_all(CONTENT_PDF, images);
	CHECK(pages.members.size() == 40);
	CHECK(pages.flaws.empty());
	CHECK(unpack_all(CONTENT_PDF, stream_of("/Filter /FlateDecode", white))
		      .has("ratio: stream 1"));
	// What is said to be an image, and is none, comes out.
	std::string program;
	for (uint32_t i = 0; program.size() < 300000; i++)
		program += little(i * 2654435761u, 4);
	CHECK((unpack_all(CONTENT_PDF, stream_of("/Subtype /Image", deflated(program, 15)))
		       .members.at(0)
		       .data == program));
	struct unpack_budget budget = UNPACK_BUDGET;
	budget.members_left = 5;
	CHECK(unpack_all(CONTENT_PDF, images, budget).has("members: "));
}
