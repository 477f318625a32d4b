/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/base/tls/sslio.h"

#include <errno.h>

#include <openssl/err.h>
#include <openssl/ssl.h>

static int settle(SSL *ssl, int ret)
{
	const int error_number = errno;
	int status = TLS_EPEER;
	switch (SSL_get_error(ssl, ret)) {
	case SSL_ERROR_WANT_READ:
		status = TLS_WANT_READ;
		break;
	case SSL_ERROR_WANT_WRITE:
		status = TLS_WANT_WRITE;
		break;
	case SSL_ERROR_ZERO_RETURN:
		status = TLS_CLOSED;
		break;
	case SSL_ERROR_SYSCALL:
		status = error_number != 0 ? -error_number : TLS_ECUT;
		break;
	default:
		break;
	}
	ERR_clear_error();
	return status;
}

int sslio_handshake(SSL *ssl)
{
	ERR_clear_error();
	errno = 0;
	int ret = SSL_do_handshake(ssl);
	return ret == 1 ? 0 : settle(ssl, ret);
}

ssize_t sslio_read(SSL *ssl, void *ret_bytes, size_t size)
{
	size_t count = 0;
	ERR_clear_error();
	errno = 0;
	int ret = SSL_read_ex(ssl, ret_bytes, size, &count);
	return ret == 1 ? (ssize_t)count : settle(ssl, ret);
}

ssize_t sslio_write(SSL *ssl, const void *bytes, size_t size)
{
	size_t count = 0;
	ERR_clear_error();
	errno = 0;
	int ret = SSL_write_ex(ssl, bytes, size, &count);
	return ret == 1 ? (ssize_t)count : settle(ssl, ret);
}
