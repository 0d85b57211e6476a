/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The current identity, and when it is made anew. Sources are texts: each comes inlined from the
 * configuration, from a file that is read again, or from a plugin. An identity is built from all of
 * them at once and replaces the earlier one only when it is whole.
 */
#include "kube/credentials.h"

#include "base/mem.h"
#include "kube/base64.h"
#include "kube/plugin.h"

#define FILES_EVERY_US   (10 * USEC_PER_SEC)
#define RENEW_BEFORE_US  (20 * USEC_PER_SEC)
#define REFUSED_AGAIN_US (10 * USEC_PER_SEC)
#define BACKOFF_US       USEC_PER_SEC
#define BACKOFF_MOST_US  (60 * USEC_PER_SEC)

/* Owned texts; NULL for none. */
struct material {
	char *ca, *cert, *key, *authorization;
};

struct kube_credentials {
	struct loop *loop;
	const struct kube_config *config;
	loop_fn on_change;
	void *context;

	struct material now;
	uint64_t generation, serial;
	bool valid;            /* `now` may be used */
	int64_t read_us;       /* monotonic: when files were last looked at */
	struct error failure;  /* of the last try */
	int64_t retry_us;      /* monotonic: not before, after a failure */
	unsigned int failures; /* in a row */

	struct kube_plugin *plugin;       /* runs */
	struct kube_plugin_answer answer; /* the last; empty before the first */
	bool has_answer;
	int64_t answered_us; /* monotonic */
};

static void material_clear(struct material *material)
{
	mem_free_secret(material->ca);
	mem_free_secret(material->cert);
	mem_free_secret(material->key);
	mem_free_secret(material->authorization);
	*material = (struct material){0};
}
DEFINE_CLEAR(struct material, material_clear)

/* --- building one */

static int load(char **ret_text, const char *inlined, const char *path, size_t max,
		struct error *err)
{
	size_t len;

	if (inlined)
		*ret_text = mem_strdup(inlined);
	else if (path)
		return kube_read_file(path, max, ret_text, &len, err);
	return 0;
}

static void trim(char *text)
{
	size_t len = strlen(text);

	while (len && strchr(" \t\r\n", text[len - 1]))
		text[--len] = '\0';
}

static char *bearer(const char *token)
{
	struct buf value;

	buf_init(&value, strlen(token) + 8);
	buf_printf(&value, "Bearer %s", token);
	return buf_take(&value);
}

static char *basic(const char *username, const char *password)
{
	struct buf pair, value;

	buf_init(&pair, strlen(username) + strlen(password) + 1);
	buf_printf(&pair, "%s:%s", username, password);
	buf_init(&value, 2 * pair.len + 16);
	buf_add_cstr(&value, "Basic ");
	base64_add(&value, buf_str(&pair));
	mem_wipe(pair.data, pair.len);
	buf_clear(&pair);
	return buf_take(&value);
}

/* A bearer token is one word of visible characters. */
static bool is_token(const char *text)
{
	if (!*text)
		return false;
	for (; *text; text++)
		if ((unsigned char)*text <= 0x20 || (unsigned char)*text >= 0x7f)
			return false;
	return true;
}

static int load_authorization(const struct kube_credentials *credentials, char **ret_value,
			      struct error *err)
{
	const struct kube_config *config = credentials->config;
	CLEANUP(mem_free) char *token = NULL;

	if (load(&token, config->token_file ? NULL : config->token, config->token_file, LIMIT_TOKEN,
		 err) < 0)
		return -1;
	if (!token && credentials->answer.token)
		token = mem_strdup(credentials->answer.token);
	if (!token) {
		if (config->username)
			*ret_value =
				basic(config->username, config->password ? config->password : "");
		return 0;
	}
	trim(token);
	if (is_token(token))
		*ret_value = bearer(token);
	mem_wipe(token, strlen(token));
	if (*ret_value)
		return 0;
	return error_set(err, ERROR_INVALID, "%s: the token is empty or no token",
			 config->token_file ? config->token_file : config->origin);
}

static int load_certificate(const struct kube_credentials *credentials, struct material *material,
			    struct error *err)
{
	const struct kube_config *config = credentials->config;
	int64_t from, to;

	if (load(&material->cert, config->cert_pem, config->cert_file, LIMIT_CERTIFICATE, err) <
		    0 ||
	    load(&material->key, config->key_pem, config->key_file, LIMIT_CERTIFICATE, err) < 0)
		return -1;
	if (!material->cert && credentials->answer.cert_pem) {
		material->cert = mem_strdup(credentials->answer.cert_pem);
		material->key = mem_strdup(credentials->answer.key_pem);
	}
	if (!material->cert)
		return 0;
	if (http_certificate_check(str_from(material->cert), str_from(material->key), &from, &to,
				   err) == 0)
		return 0;
	if (config->cert_file)
		return error_wrap(err, "%s", config->cert_file);
	if (config->cert_pem)
		return error_wrap(err, "%s", config->origin);
	return error_wrap(err, "credential plugin %s", config->exec.command);
}

static bool is_same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static void replace(struct kube_credentials *credentials, struct material *fresh)
{
	struct material *now = &credentials->now;
	bool same_tls = is_same(now->ca, fresh->ca) && is_same(now->cert, fresh->cert) &&
			is_same(now->key, fresh->key);
	bool same_header = is_same(now->authorization, fresh->authorization);

	if (!same_tls || credentials->generation == 0)
		credentials->generation++;
	if (!same_tls || !same_header || credentials->serial == 0)
		credentials->serial++;
	credentials->valid = true;
	if (same_tls && same_header)
		return;
	material_clear(now);
	*now = *fresh;
	*fresh = (struct material){0};
}

static int build(struct kube_credentials *credentials, struct error *err)
{
	const struct kube_config *config = credentials->config;
	CLEANUP(material_clear) struct material fresh = {0};

	if (load(&fresh.ca, config->ca_pem, config->ca_file, LIMIT_CERTIFICATE, err) < 0 ||
	    load_certificate(credentials, &fresh, err) < 0 ||
	    load_authorization(credentials, &fresh.authorization, err) < 0)
		return -1;
	replace(credentials, &fresh);
	return 0;
}

/* --- when */

static void fail(struct kube_credentials *credentials, const struct error *err)
{
	int64_t wait = BACKOFF_US << MIN(credentials->failures, 6u);

	credentials->failures++;
	credentials->failure = *err;
	credentials->retry_us = loop_now(credentials->loop) + MIN(wait, BACKOFF_MOST_US);
}

/* Looks at the files. What cannot be read does not hurt an identity that is still good. */
static void refresh(struct kube_credentials *credentials)
{
	struct error err = {0};

	credentials->read_us = loop_now(credentials->loop);
	if (build(credentials, &err) < 0) {
		fail(credentials, &err);
		return;
	}
	credentials->failures = 0;
	credentials->failure.kind = ERROR_NONE;
	credentials->retry_us = 0;
}

static bool has_files(const struct kube_config *config)
{
	return config->token_file || config->ca_file || config->cert_file || config->key_file;
}

static int64_t real_now(const struct kube_credentials *credentials)
{
	return clock_real(loop_clock(credentials->loop));
}

static void on_plugin(void *context, struct kube_plugin_answer *answer, const struct error *err)
{
	struct kube_credentials *credentials = context;
	struct error expired;

	kube_plugin_free(TAKE(credentials->plugin));
	credentials->answered_us = loop_now(credentials->loop);
	if (answer && answer->expires_us <= real_now(credentials)) {
		error_set(&expired, ERROR_UNAUTHORIZED,
			  "credential plugin %s: its answer has expired already",
			  credentials->config->exec.command);
		err = &expired;
	}
	if (err) {
		fail(credentials, err);
	} else if (answer) {
		kube_plugin_answer_clear(&credentials->answer);
		credentials->answer = *answer;
		*answer = (struct kube_plugin_answer){0};
		refresh(credentials);
		/* What cannot be used is asked for anew. */
		credentials->has_answer = credentials->failure.kind == ERROR_NONE;
	}
	if (credentials->on_change)
		credentials->on_change(credentials->context);
}

static void run_plugin(struct kube_credentials *credentials)
{
	const struct kube_plugin_handler handler = {on_plugin, credentials};
	struct error err = {0};

	if (credentials->plugin || loop_now(credentials->loop) < credentials->retry_us)
		return;
	if (kube_plugin_start(credentials->loop, credentials->config, &handler,
			      &credentials->plugin, &err) < 0)
		fail(credentials, &err);
}

/* Asks the plugin for what is missing or about to expire; drops what has expired. */
static void tend_plugin(struct kube_credentials *credentials)
{
	int64_t expires_us = credentials->answer.expires_us, now = real_now(credentials);

	if (!credentials->config->exec.command)
		return;
	if (credentials->has_answer && expires_us <= now) {
		credentials->has_answer = false;
		credentials->valid = false;
	}
	if (!credentials->has_answer || expires_us - RENEW_BEFORE_US <= now)
		run_plugin(credentials);
}

static void tend_files(struct kube_credentials *credentials)
{
	const struct kube_config *config = credentials->config;
	int64_t now = loop_now(credentials->loop);

	if (config->exec.command && !credentials->has_answer)
		return;
	if (credentials->valid ? has_files(config) && now - credentials->read_us >= FILES_EVERY_US
			       : now >= credentials->retry_us)
		refresh(credentials);
}

enum kube_credentials_outcome kube_credentials_get(struct kube_credentials *credentials,
						   struct kube_identity *ret_identity,
						   struct error *err)
{
	const struct material *now = &credentials->now;

	tend_plugin(credentials);
	tend_files(credentials);
	if (credentials->valid) {
		*ret_identity = (struct kube_identity){
			.generation = credentials->generation,
			.serial = credentials->serial,
			.tls = {.ca_pem = str_from(now->ca),
				.cert_pem = str_from(now->cert),
				.key_pem = str_from(now->key),
				.server_name = str_from(credentials->config->server_name),
				.insecure = credentials->config->insecure},
			.authorization = now->authorization,
		};
		return KUBE_CREDENTIALS_READY;
	}
	if (credentials->plugin)
		return KUBE_CREDENTIALS_PENDING;
	if (err)
		*err = credentials->failure;
	return KUBE_CREDENTIALS_FAILED;
}

void kube_credentials_on_change(struct kube_credentials *credentials, loop_fn fn, void *context)
{
	credentials->on_change = fn;
	credentials->context = context;
}

/* Another run at once would most likely give the same. */
static void hold_plugin(struct kube_credentials *credentials)
{
	int64_t again_us = credentials->answered_us + REFUSED_AGAIN_US;

	if (loop_now(credentials->loop) >= again_us)
		return;
	error_set(&credentials->failure, ERROR_UNAUTHORIZED,
		  "the server refused what credential plugin %s just gave",
		  credentials->config->exec.command);
	credentials->retry_us = again_us;
}

void kube_credentials_refused(struct kube_credentials *credentials, uint64_t serial)
{
	if (serial != credentials->serial)
		return;
	credentials->read_us = INT64_MIN / 2;
	if (!credentials->config->exec.command || !credentials->has_answer)
		return;
	credentials->has_answer = false;
	credentials->valid = false;
	hold_plugin(credentials);
}

struct kube_credentials *kube_credentials_new(struct loop *loop, const struct kube_config *config)
{
	struct kube_credentials *credentials = mem_alloc(sizeof(*credentials));

	credentials->loop = loop;
	credentials->config = config;
	return credentials;
}

void kube_credentials_free(struct kube_credentials *credentials)
{
	if (!credentials)
		return;
	kube_plugin_free(credentials->plugin);
	kube_plugin_answer_clear(&credentials->answer);
	material_clear(&credentials->now);
	mem_free(credentials);
}
