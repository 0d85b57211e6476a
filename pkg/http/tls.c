/* SPDX-License-Identifier: Apache-2.0 */
/* Library initialisation and the reading of certificates. */
#include <limits.h>
#include <stdlib.h>
#include <time.h>

#include <curl/curl.h>
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "http/internal.h"

DEFINE_CLEANUP(BIO *, BIO_free_all)
DEFINE_CLEANUP(X509 *, X509_free)
DEFINE_CLEANUP(EVP_PKEY *, EVP_PKEY_free)

static void *lib_realloc(void *block, size_t size)
{
	return mem_realloc_array(block, size, 1);
}

/* Not mem_alloc(): these libraries ask for large buffers often, and need no zeroes. */
static void *lib_malloc(size_t size)
{
	return lib_realloc(NULL, size);
}

static void *lib_calloc(size_t count, size_t size)
{
	return mem_alloc_array(count, size);
}

static void *crypto_malloc(size_t size, const char *file UNUSED, int line UNUSED)
{
	return lib_malloc(size);
}

/* As realloc() of C17: size 0 releases. */
static void *crypto_realloc(void *block, size_t size, const char *file UNUSED, int line UNUSED)
{
	if (size > 0)
		return lib_realloc(block, size);
	mem_free(block);
	return NULL;
}

static void crypto_free(void *block, const char *file UNUSED, int line UNUSED)
{
	mem_free(block);
}

void http_library_init(void)
{
	static bool done;

	if (done)
		return;
	done = true;
	/* Refused when a constructor used OpenSSL before main(): then it reports what it cannot
	 * get. */
	CRYPTO_set_mem_functions(crypto_malloc, crypto_realloc, crypto_free);
	if (curl_global_init_mem(CURL_GLOBAL_ALL, lib_malloc, mem_free, lib_realloc, mem_strdup,
				 lib_calloc) != CURLE_OK)
		abort();
}

/* An encrypted key must not make OpenSSL ask on the terminal. */
static int no_password(char *buf UNUSED, int size UNUSED, int writing UNUSED, void *context UNUSED)
{
	return 0;
}

static int refuse(struct error *err, const char *what)
{
	const char *reason = ERR_reason_error_string(ERR_peek_last_error());

	error_set(err, ERROR_INVALID, "%s: %s", what, reason ? reason : "not valid");
	ERR_clear_error();
	return -1;
}

static BIO *open_pem(struct str pem, const char *what, struct error *err)
{
	if (pem.len > LIMIT_CERTIFICATE) {
		error_set(err, ERROR_LIMIT, "%s: more than %d bytes", what, LIMIT_CERTIFICATE);
		return NULL;
	}
	if (str_empty(pem)) {
		error_set(err, ERROR_INVALID, "%s: empty", what);
		return NULL;
	}
	return BIO_new_mem_buf(pem.data, (int)pem.len);
}

/* The first certificate, or NULL with @err. */
static X509 *read_certificate(struct str pem, const char *what, struct error *err)
{
	CLEANUP(BIO_free_all) BIO *bio = open_pem(pem, what, err);
	X509 *cert;

	if (!bio)
		return NULL;
	cert = PEM_read_bio_X509(bio, NULL, no_password, NULL);
	if (!cert)
		refuse(err, what);
	return cert;
}

int http_ca_check(struct str ca_pem, struct error *err)
{
	CLEANUP(X509_free) X509 *cert = read_certificate(ca_pem, "CA certificate", err);

	return cert ? 0 : -1;
}

static int check_key(X509 *cert, struct str key_pem, struct error *err)
{
	static const char what[] = "client key";
	CLEANUP(BIO_free_all) BIO *bio = open_pem(key_pem, what, err);
	CLEANUP(EVP_PKEY_free) EVP_PKEY *key = NULL;

	if (!bio)
		return -1;
	key = PEM_read_bio_PrivateKey(bio, NULL, no_password, NULL);
	if (!key)
		return refuse(err, what);
	if (X509_check_private_key(cert, key) != 1) {
		ERR_clear_error();
		return error_set(err, ERROR_INVALID, "%s: does not fit the certificate", what);
	}
	return 0;
}

static int to_usec(const ASN1_TIME *time, int64_t *ret_us)
{
	struct tm tm;
	time_t seconds;

	if (ASN1_TIME_to_tm(time, &tm) != 1)
		return -1;
	seconds = timegm(&tm);
	*ret_us = (int64_t)seconds * USEC_PER_SEC;
	return 0;
}

int http_certificate_check(struct str cert_pem, struct str key_pem, int64_t *ret_not_before_us,
			   int64_t *ret_not_after_us, struct error *err)
{
	static const char what[] = "client certificate";
	CLEANUP(X509_free) X509 *cert = read_certificate(cert_pem, what, err);
	int64_t not_before, not_after;

	if (!cert || check_key(cert, key_pem, err) < 0)
		return -1;
	if (to_usec(X509_get0_notBefore(cert), &not_before) < 0 ||
	    to_usec(X509_get0_notAfter(cert), &not_after) < 0)
		return refuse(err, what);
	*ret_not_before_us = not_before;
	*ret_not_after_us = not_after;
	return 0;
}
