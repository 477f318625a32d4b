// SPDX-License-Identifier: GPL-3.0-or-later
// Mails and archives for tests that look into them.
#pragma once

#include <cstdint>
#include <string>
#include <zlib.h>

inline std::string gzip(const std::string &bytes)
{
	z_stream stream = {};
	std::string out(bytes.size() + 1000, '\0');
	deflateInit2(&stream, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY);
	stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(bytes.data()));
	stream.avail_in = static_cast<uInt>(bytes.size());
	stream.next_out = reinterpret_cast<Bytef *>(&out[0]);
	stream.avail_out = static_cast<uInt>(out.size());
	deflate(&stream, Z_FINISH);
	out.resize(stream.total_out);
	deflateEnd(&stream);
	return out;
}

inline std::string least_first(uint64_t value, int size)
{
	std::string bytes;
	for (int i = 0; i < size; i++)
		bytes += static_cast<char>(value >> (8 * i));
	return bytes;
}

// One member, stored.
inline std::string zip(const std::string &name, const std::string &bytes)
{
	const uint32_t crc = static_cast<uint32_t>(crc32(
		0, reinterpret_cast<const Bytef *>(bytes.data()), static_cast<uInt>(bytes.size())));
	const std::string sizes = least_first(crc, 4) + least_first(bytes.size(), 4) +
				  least_first(bytes.size(), 4) + least_first(name.size(), 2);
	const std::string head = least_first(20, 2) + least_first(0, 8) + sizes + least_first(0, 2);
	const std::string local = "PK\x03\x04" + head + name + bytes;
	const std::string central =
		"PK\x01\x02" + least_first(20, 2) + head + least_first(0, 14) + name;
	return local + central + "PK\x05\x06" + least_first(0, 4) + least_first(1, 2) +
	       least_first(1, 2) + least_first(central.size(), 4) + least_first(local.size(), 4) +
	       least_first(0, 2);
}

inline std::string base64(const std::string &bytes)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	std::string text;
	for (size_t i = 0; i < bytes.size(); i += 3) {
		uint32_t bits = 0;
		for (size_t k = 0; k < 3; k++)
			bits = bits << 8 |
			       (i + k < bytes.size() ? static_cast<uint8_t>(bytes[i + k]) : 0U);
		for (size_t k = 0; k < 4; k++)
			text += i + k <= bytes.size() ? digits[bits >> (18 - 6 * k) & 63] : '=';
		if (i / 3 % 19 == 18)
			text += "\r\n";
	}
	return text + "\r\n";
}

inline std::string mail_with(const std::string &name, const std::string &bytes)
{
	return "From: a@example.org\r\nTo: b@example.org\r\nMIME-Version: 1.0\r\n"
	       "Content-Type: multipart/mixed; boundary=\"next\"\r\n\r\n"
	       "--next\r\nContent-Type: text/plain\r\n\r\nhello\r\n"
	       "--next\r\nContent-Type: application/octet-stream\r\n"
	       "Content-Disposition: attachment; filename=\"" +
	       name + "\"\r\nContent-Transfer-Encoding: base64\r\n\r\n" + base64(bytes) +
	       "--next--\r\n";
}
