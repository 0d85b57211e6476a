/* SPDX-License-Identifier: Apache-2.0 */
/* TLS: whom the client trusts, who it says it is, and what it tells when that fails. */
#include "unit/http/fixture.h"

#include <stdio.h>
#include <string.h>

struct handshake {
	const char *what;
	const char *client_ca;       /* of the server; NULL: asks for no certificate */
	const char *ca, *cert, *key; /* files; NULL: none */
	const char *server_name;
	bool insecure;
	const char *host;
	const char *refusal; /* in the message; NULL: an answer */
};

static const struct handshake handshakes[] = {
	{.what = "a server of the CA that is given", .ca = "ca.pem"},
	{.what = "a server of another CA",
	 .ca = "other-ca.pem",
	 .refusal = "SSL certificate problem: unable to get local issuer certificate"},
	{.what = "no CA: the system's, which do not know it", .refusal = "SSL certificate problem"},
	{.what = "no verification where the kubeconfig says so", .insecure = true},
	{.what = "a host that the certificate does not name",
	 .ca = "ca.pem",
	 .host = "localhost",
	 .refusal = "SSL: no alternative certificate subject name matches target host name"},
	{.what = "a server name in place of the host",
	 .ca = "ca.pem",
	 .host = "localhost",
	 .server_name = "api.test"},
	{.what = "a server name that the certificate has not",
	 .ca = "ca.pem",
	 .server_name = "other.test",
	 .refusal = "matches target host name 'other.test'"},
	{.what = "a client certificate that the server trusts",
	 .client_ca = "ca.pem",
	 .ca = "ca.pem",
	 .cert = "client.pem",
	 .key = "client.key"},
	{.what = "a client certificate of another CA",
	 .client_ca = "ca.pem",
	 .ca = "ca.pem",
	 .cert = "stranger.pem",
	 .key = "stranger.key",
	 .refusal = "alert"},
	{.what = "no client certificate where one is wanted",
	 .client_ca = "ca.pem",
	 .ca = "ca.pem",
	 .refusal = "certificate required"},
};

static struct str text_of(const char *name)
{
	return name ? file_text(name) : STR_NONE;
}

/* The server tells which Host it was asked for: the URL's, whatever the TLS server name. */
static void assert_result(const struct handshake *h, const char *authority, struct reply *reply)
{
	char line[128];

	if (h->refusal) {
		assert_fails(reply, ERROR_UNAVAILABLE, h->refusal);
		assert_true(snprintf(line, sizeof(line), "GET %s/echo: ", authority) > 0);
		assert_int_equal(strncmp(reply->error.message, line, strlen(line)), 0);
		return;
	}
	assert_int_equal(reply->response.status, 200);
	assert_true(snprintf(line, sizeof(line), "Host: %s\n", authority) > 0);
	assert_non_null(strstr(reply->body.data, line));
}

static void try_handshake(const struct handshake *h)
{
	struct http_pool_options options = default_options();
	char authority[64], address[128];
	struct world w;
	struct reply reply;

	options.tls = (struct http_tls){.ca_pem = text_of(h->ca),
					.cert_pem = text_of(h->cert),
					.key_pem = text_of(h->key),
					.server_name = str_from(h->server_name),
					.insecure = h->insecure};
	world_init(&w, start_http1(true, h->client_ca), &options);
	assert_true(snprintf(authority, sizeof(authority), "%s:%u", h->host ? h->host : "127.0.0.1",
			     w.server.port) > 0);
	assert_true(snprintf(address, sizeof(address), "https://%s/echo?a=b", authority) > 0);
	for (int round = 0; round < 2; round++) {
		fetch_url(&w, address, &reply);
		assert_result(h, authority, &reply);
		reply_clear(&reply);
	}
	world_clear(&w);
}

static void handshakes_end_as_they_should(void **state UNUSED)
{
	for (size_t i = 0; i < ARRAY_SIZE(handshakes); i++) {
		print_message("    %s\n", handshakes[i].what);
		try_handshake(&handshakes[i]);
	}
}

struct credentials {
	const char *ca, *cert, *key;
	const char *refusal;
};

static void bad_credentials_are_refused_before_use(void **state UNUSED)
{
	static const struct credentials all[] = {
		{"log", NULL, NULL, "CA certificate: no start line"},
		{"client.key", NULL, NULL, "CA certificate: no start line"},
		{NULL, "client.pem", NULL, "client key: empty"},
		{NULL, NULL, "client.key", "client certificate: empty"},
		{NULL, "client.pem", "server.key", "client key: does not fit the certificate"},
		{NULL, "client.pem", "locked.key", "client key: "},
		{NULL, "client.pem", "client.pem", "client key: "},
		{NULL, "client.key", "client.key", "client certificate: no start line"},
	};
	CLEANUP(loop_free) struct loop *loop = loop_new(clock_system());

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		struct http_pool_options options = default_options();
		struct http_pool *pool = NULL;
		struct error err = {0};

		options.tls = (struct http_tls){.ca_pem = text_of(all[i].ca),
						.cert_pem = text_of(all[i].cert),
						.key_pem = text_of(all[i].key)};
		if (all[i].ca && str_empty(options.tls.ca_pem))
			options.tls.ca_pem = STR("not PEM");
		assert_int_equal(http_pool_new(loop, &options, &pool, &err), -1);
		assert_null(pool);
		assert_int_equal(err.kind, ERROR_INVALID);
		if (!strstr(err.message, all[i].refusal))
			fail_msg("no \"%s\" in \"%s\"", all[i].refusal, err.message);
	}
}

static void a_certificate_tells_when_it_is_valid(void **state UNUSED)
{
	const int64_t day = 24 * 3600 * USEC_PER_SEC;
	int64_t now = clock_real(clock_system()), from = -1, to = -1;
	struct error err = {0};

	assert_int_equal(http_certificate_check(file_text("client.pem"), file_text("client.key"),
						&from, &to, &err),
			 0);
	assert_true(from <= now && now - from < day);
	assert_int_equal(to - from, 2 * day);
	assert_int_equal(http_certificate_check(file_text("client.pem"), file_text("ca.key"), &from,
						&to, &err),
			 -1);
	assert_int_equal(to - from, 2 * day);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(handshakes_end_as_they_should),
		cmocka_unit_test(bad_credentials_are_refused_before_use),
		cmocka_unit_test(a_certificate_tells_when_it_is_valid),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
