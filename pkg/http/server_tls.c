/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server's side of TLS: three files that may be replaced at any time, and what of them is in
 * force. A set of files counts as changed by what stat() says of them, so that a mounted secret,
 * whose folder is exchanged as a whole, is seen too. What was looked at before it was read can only
 * be older than what was read: a change in between is met at the next look.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "base/limits.h"
#include "base/mem.h"
#include "http/server_internal.h"

#define MAX_DEPTH 4 /* of certificates between a client's and the CA's */

DEFINE_CLEANUP(BIO *, BIO_free_all)
DEFINE_CLEANUP(X509 *, X509_free)
DEFINE_CLEANUP(EVP_PKEY *, EVP_PKEY_free)
DEFINE_CLEANUP(SSL_CTX *, SSL_CTX_free)

enum { FILE_CERT, FILE_KEY, FILE_CA, N_FILES };

/* What tells one state of a file from another; zeroed for one that is not there. */
struct stamp {
	dev_t device;
	ino_t inode;
	off_t size;
	struct timespec changed;
};

struct server_tls {
	struct loop *loop;
	struct loop_timer timer;
	char *paths[N_FILES];
	struct stamp stamps[N_FILES]; /* of what was read last, good or bad */
	SSL_CTX *context;             /* of what was good last */
	int64_t reread_us;
	void (*reread)(void *context, const struct error *err);
	void *reread_context;
};

/* --- files */

static struct stamp look_at(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return (struct stamp){0};
	return (struct stamp){st.st_dev, st.st_ino, st.st_size, st.st_mtim};
}

static bool same_stamp(const struct stamp *a, const struct stamp *b)
{
	return a->device == b->device && a->inode == b->inode && a->size == b->size &&
	       a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec;
}

/* Whether a file is not what it was; it is now. */
static bool take_changes(struct server_tls *tls)
{
	bool changed = false;

	for (size_t i = 0; i < N_FILES; i++) {
		struct stamp now = look_at(tls->paths[i]);

		changed |= !same_stamp(&now, &tls->stamps[i]);
		tls->stamps[i] = now;
	}
	return changed;
}

static int file_error(struct error *err, const char *path)
{
	int saved = errno;

	error_set_errno(err, saved, "%s", path);
	if (saved == ENOENT)
		err->kind = ERROR_NOT_FOUND;
	return -1;
}

/* All of it, or as much as shows that it is too long. A pipe without a writer does not block. */
static int read_bytes(int fd, const char *path, struct buf *bytes, struct error *err)
{
	ssize_t n;
	char *space;

	do {
		space = buf_reserve(bytes, LIMIT_CERTIFICATE + 1 - bytes->len);
		n = space ? read(fd, space, LIMIT_CERTIFICATE + 1 - bytes->len) : 0;
		if (n < 0)
			return file_error(err, path);
		buf_commit(bytes, (size_t)n);
	} while (n > 0);
	if (bytes->len > LIMIT_CERTIFICATE)
		return error_set(err, ERROR_LIMIT, "%s: more than %d bytes", path,
				 LIMIT_CERTIFICATE);
	return 0;
}

static int read_file(const char *path, struct buf *bytes, struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int status;

	if (fd < 0)
		return file_error(err, path);
	status = read_bytes(fd, path, bytes, err);
	close(fd);
	return status;
}

/* --- what they mean */

static int refuse(struct error *err, const char *path)
{
	const char *reason = ERR_reason_error_string(ERR_peek_last_error());

	error_set(err, ERROR_INVALID, "%s: %s", path, reason ? reason : "not valid");
	ERR_clear_error();
	return -1;
}

/* An encrypted key must not make OpenSSL ask on the terminal. */
static int no_password(char *buf UNUSED, int size UNUSED, int writing UNUSED, void *context UNUSED)
{
	return 0;
}

static X509 *next_certificate(BIO *bio)
{
	return PEM_read_bio_X509(bio, NULL, no_password, NULL);
}

/* Whether reading certificates stopped at the end of the text and not at something odd. */
static bool is_end(void)
{
	unsigned long error = ERR_peek_last_error();
	bool end =
		ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;

	if (end)
		ERR_clear_error();
	return end;
}

static int use_certificates(SSL_CTX *context, BIO *bio, const char *path, struct error *err)
{
	CLEANUP(X509_free) X509 *own = next_certificate(bio);
	X509 *signer;

	if (!own || SSL_CTX_use_certificate(context, own) != 1)
		return refuse(err, path);
	while ((signer = next_certificate(bio)))
		if (SSL_CTX_add0_chain_cert(context, signer) != 1) {
			X509_free(signer);
			return refuse(err, path);
		}
	return is_end() ? 0 : refuse(err, path);
}

static int use_key(SSL_CTX *context, BIO *bio, const char *path, struct error *err)
{
	CLEANUP(EVP_PKEY_free)
	EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, no_password, NULL);

	if (!key || SSL_CTX_use_PrivateKey(context, key) != 1 ||
	    SSL_CTX_check_private_key(context) != 1)
		return refuse(err, path);
	return 0;
}

/* Those that may sign clients; their names are told, so that clients know which certificate to
 * show. */
static int use_client_cas(SSL_CTX *context, BIO *bio, const char *path, struct error *err)
{
	size_t n = 0;
	X509 *ca;

	for (; (ca = next_certificate(bio)); n++) {
		bool used = X509_STORE_add_cert(SSL_CTX_get_cert_store(context), ca) == 1 &&
			    SSL_CTX_add_client_CA(context, ca) == 1;

		X509_free(ca);
		if (!used)
			return refuse(err, path);
	}
	return n > 0 && is_end() ? 0 : refuse(err, path);
}

static int use_file(struct server_tls *tls, SSL_CTX *context, int which, struct error *err)
{
	static int (*const use[N_FILES])(SSL_CTX *, BIO *, const char *, struct error *) = {
		use_certificates, use_key, use_client_cas};
	const char *path = tls->paths[which];
	CLEANUP(BIO_free_all) BIO *bio = NULL;
	struct buf bytes CLEANUP(buf_clear);
	int status;

	buf_init(&bytes, LIMIT_CERTIFICATE + 1);
	if (read_file(path, &bytes, err) < 0)
		return -1;
	bio = BIO_new_mem_buf(bytes.data, (int)bytes.len);
	status = use[which](context, bio, path, err);
	mem_wipe(bytes.data, bytes.len);
	return status;
}

/*
 * No resumption: a session would outlive the CA that its client was let in by. A client cannot
 * begin another handshake, nor send certificates without end. Buffers are for those who use them.
 */
static SSL_CTX *new_context(void)
{
	SSL_CTX *context = SSL_CTX_new(TLS_server_method());

	SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
	SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET |
					     SSL_OP_NO_COMPRESSION |
					     SSL_OP_CIPHER_SERVER_PREFERENCE);
	SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_num_tickets(context, 0);
	SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_max_cert_list(context, LIMIT_SERVER_CHAIN);
	SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
	SSL_CTX_set_verify_depth(context, MAX_DEPTH);
	return context;
}

/* All three files, or none. */
static int read_files(struct server_tls *tls, struct error *err)
{
	CLEANUP(SSL_CTX_free) SSL_CTX *context = new_context();

	for (int i = 0; i < N_FILES; i++)
		if (use_file(tls, context, i, err) < 0)
			return -1;
	SSL_CTX_free(tls->context);
	tls->context = TAKE(context);
	return 0;
}

/* --- life */

static void on_timer(void *context)
{
	struct server_tls *tls = context;
	struct error err;
	int status;

	loop_timer_set(&tls->timer, loop_now(tls->loop) + tls->reread_us);
	if (!take_changes(tls))
		return;
	status = read_files(tls, &err);
	if (tls->reread)
		tls->reread(tls->reread_context, status < 0 ? &err : NULL);
}

int server_tls_new(struct loop *loop, const struct http_server_options *options,
		   struct server_tls **ret_tls, struct error *err)
{
	const struct http_server_tls *files = options->tls;
	struct server_tls *tls = mem_alloc(sizeof(*tls));

	tls->loop = loop;
	tls->paths[FILE_CERT] = mem_strdup(files->cert_file);
	tls->paths[FILE_KEY] = mem_strdup(files->key_file);
	tls->paths[FILE_CA] = mem_strdup(files->client_ca_file);
	tls->reread_us = files->reread_us ? files->reread_us : LIMIT_SERVER_REREAD_US;
	tls->reread = files->reread;
	tls->reread_context = options->context;
	loop_timer_init(&tls->timer, loop, "http-server-tls", on_timer, tls);
	take_changes(tls);
	if (read_files(tls, err) < 0) {
		server_tls_free(tls);
		return -1;
	}
	loop_timer_set(&tls->timer, loop_now(loop) + tls->reread_us);
	*ret_tls = tls;
	return 0;
}

void server_tls_free(struct server_tls *tls)
{
	if (!tls)
		return;
	loop_timer_clear(&tls->timer);
	SSL_CTX_free(tls->context);
	for (size_t i = 0; i < N_FILES; i++)
		mem_free(tls->paths[i]);
	mem_free(tls);
}

SSL *server_tls_begin(struct server_tls *tls)
{
	return SSL_new(tls->context);
}

/* OpenSSL lets nobody else come so far; what it all stands on is worth asking for once more. */
bool server_tls_is_authenticated(SSL *ssl)
{
	CLEANUP(X509_free) X509 *shown = SSL_get1_peer_certificate(ssl);

	return shown && SSL_get_verify_result(ssl) == X509_V_OK;
}
