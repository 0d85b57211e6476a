/* SPDX-License-Identifier: Apache-2.0 */
/* Files that rotate, and plugins of all kinds, on a clock that is moved by hand. */
#include "fixture.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/rfc3339.h"
#include "kube/credentials.h"

#define NOW_US (1800000000 * USEC_PER_SEC) /* real time at the start */

struct world {
	struct manual_clock clock;
	struct loop *loop;
	char origin[64];
	struct kube_config config; /* borrows its texts */
	struct kube_credentials *credentials;
	int changes;
};

static void on_change(void *context)
{
	((struct world *)context)->changes++;
}

static void world_start(struct world *w)
{
	manual_clock_init(&w->clock, USEC_PER_SEC, NOW_US);
	w->loop = loop_new(&w->clock.clock);
	snprintf(w->origin, sizeof(w->origin), "the kubeconfig");
	w->config.origin = w->origin;
	w->credentials = kube_credentials_new(w->loop, &w->config);
	kube_credentials_on_change(w->credentials, on_change, w);
}

static void world_stop(struct world *w)
{
	kube_credentials_free(w->credentials);
	loop_free(w->loop);
}

static void advance(struct world *w, int64_t us)
{
	manual_clock_advance(&w->clock, us);
	loop_run_once(w->loop, 0);
}

static struct kube_identity get_ready(struct world *w)
{
	struct kube_identity identity = {0};
	struct error err = {0};

	if (kube_credentials_get(w->credentials, &identity, &err) != KUBE_CREDENTIALS_READY)
		fail_msg("%s", err.message);
	return identity;
}

static void get_failed(struct world *w, enum error_kind kind, const char *message)
{
	struct kube_identity identity;
	struct error err = {0};

	assert_int_equal(kube_credentials_get(w->credentials, &identity, &err),
			 KUBE_CREDENTIALS_FAILED);
	if (err.kind != kind || !strstr(err.message, message))
		fail_msg("%s: %s", error_kind_name(err.kind), err.message);
}

static void get_pending(struct world *w)
{
	struct kube_identity identity;
	struct error err = {0};

	assert_int_equal(kube_credentials_get(w->credentials, &identity, &err),
			 KUBE_CREDENTIALS_PENDING);
}

/* --- without plugin */

static void test_nobody(void **state)
{
	struct world w = {0};
	struct kube_identity identity;

	(void)state;
	world_start(&w);
	identity = get_ready(&w);
	assert_null(identity.authorization);
	assert_int_equal(identity.generation, 1);
	assert_true(str_empty(identity.tls.ca_pem));
	world_stop(&w);
}

static void test_inline(void **state)
{
	char token[] = "abc", name[] = "jane", password[] = "s:cret";
	struct world w = {.config = {.token = token}};

	(void)state;
	world_start(&w);
	assert_string_equal(get_ready(&w).authorization, "Bearer abc");
	world_stop(&w);

	w = (struct world){.config = {.username = name, .password = password}};
	world_start(&w);
	assert_string_equal(get_ready(&w).authorization, "Basic amFuZTpzOmNyZXQ=");
	world_stop(&w);
}

/* kubelet writes a new folder and lets a symlink point to it. */
static void swap(const char *to)
{
	assert_int_equal(symlink(path_of(to), path_of("next")), 0);
	assert_int_equal(rename(path_of("next"), path_of("current")), 0);
}

static void test_a_token_rotates_by_a_symlink(void **state)
{
	char inlined[] = "loses";
	struct world w = {.config = {.token = inlined}};
	struct kube_identity first, second;

	(void)state;
	write_file("a", "one\n");
	write_file("b", "two");
	swap("a");
	w.config.token_file = mem_strdup(path_of("current"));
	world_start(&w);
	first = get_ready(&w);
	assert_string_equal(first.authorization, "Bearer one");

	swap("b");
	advance(&w, 9 * USEC_PER_SEC);
	assert_string_equal(get_ready(&w).authorization, "Bearer one");
	advance(&w, 2 * USEC_PER_SEC);
	second = get_ready(&w);
	assert_string_equal(second.authorization, "Bearer two");
	assert_int_equal(second.generation, first.generation);
	assert_true(second.serial > first.serial);

	swap("a");
	kube_credentials_refused(w.credentials, first.serial);
	assert_string_equal(get_ready(&w).authorization, "Bearer two");
	kube_credentials_refused(w.credentials, second.serial);
	assert_string_equal(get_ready(&w).authorization, "Bearer one");

	assert_int_equal(unlink(path_of("current")), 0);
	advance(&w, 60 * USEC_PER_SEC);
	assert_string_equal(get_ready(&w).authorization, "Bearer one");
	mem_free(w.config.token_file);
	world_stop(&w);
}

static void test_a_missing_token_is_looked_for_again(void **state)
{
	struct world w = {0};

	(void)state;
	w.config.token_file = mem_strdup(path_of("late"));
	world_start(&w);
	get_failed(&w, ERROR_SYSTEM, "late: No such file");
	write_file("late", "here");
	get_failed(&w, ERROR_SYSTEM, "late: No such file");
	advance(&w, 2 * USEC_PER_SEC);
	assert_string_equal(get_ready(&w).authorization, "Bearer here");
	mem_free(w.config.token_file);
	world_stop(&w);
}

static void test_what_is_no_token(void **state)
{
	static const char *const texts[] = {"", "\n", "a b", "a\nb", "\x01", "a\xc3\xa4"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct world w = {0};

		write_file("token", texts[i]);
		w.config.token_file = mem_strdup(path_of("token"));
		world_start(&w);
		get_failed(&w, ERROR_INVALID, "token: the token is empty or no token");
		mem_free(w.config.token_file);
		world_stop(&w);
	}
}

static void test_a_certificate_rotates_when_both_files_fit(void **state)
{
	struct world w = {0};
	struct kube_identity identity;
	char *pem;

	(void)state;
	make_pair("old");
	make_pair("new");
	copy_file("old.pem", "tls.pem");
	copy_file("old.key", "tls.key");
	w.config.cert_file = mem_strdup(path_of("tls.pem"));
	w.config.key_file = mem_strdup(path_of("tls.key"));
	world_start(&w);
	assert_int_equal(get_ready(&w).generation, 1);

	copy_file("new.pem", "tls.pem");
	advance(&w, 11 * USEC_PER_SEC);
	assert_int_equal(get_ready(&w).generation, 1);
	copy_file("new.key", "tls.key");
	advance(&w, 11 * USEC_PER_SEC);
	identity = get_ready(&w);
	assert_int_equal(identity.generation, 2);
	pem = read_text("new.pem");
	assert_true(str_equal(identity.tls.cert_pem, str_from(pem)));
	mem_free(pem);
	mem_free(w.config.cert_file);
	mem_free(w.config.key_file);
	world_stop(&w);
}

static void test_a_certificate_and_a_foreign_key(void **state)
{
	struct world w = {0};

	(void)state;
	make_pair("old");
	make_pair("new");
	w.config.cert_file = mem_strdup(path_of("old.pem"));
	w.config.key_file = mem_strdup(path_of("new.key"));
	world_start(&w);
	get_failed(&w, ERROR_INVALID, "old.pem: client key: does not fit");
	mem_free(w.config.cert_file);
	mem_free(w.config.key_file);
	world_stop(&w);
}

/* --- with a plugin */

#define V1         "client.authentication.k8s.io/v1"
#define HEAD       "\"apiVersion\":\"" V1 "\",\"kind\":\"ExecCredential\""
#define SAYS(json) "#!/bin/sh\ncat <<'END'\n" json "\nEND\n"

static void plugin_start(struct world *w, const char *script)
{
	write_script("plugin", script);
	w->config.exec.command = mem_strdup(path_of("plugin"));
	w->config.exec.api_version = mem_strdup(V1);
	world_start(w);
}

static void plugin_stop(struct world *w)
{
	world_stop(w);
	mem_free(w->config.exec.command);
	mem_free(w->config.exec.api_version);
}

static void wait_for_change(struct world *w)
{
	int before = w->changes;

	WAIT_UNTIL(w->loop, w->changes > before);
	assert_int_equal(w->changes, before + 1);
}

/* A script that says "t1", "t2"... at each run, with an expiry @seconds from the start. */
static const char *counting_script(int seconds)
{
	static char script[1024];
	char when[TIME_TEXT_SIZE];

	write_file("count", "0");
	time_format(NOW_US + seconds * USEC_PER_SEC, false, when);
	snprintf(script, sizeof(script),
		 "#!/bin/sh\nn=$(($(cat %s) + 1))\necho $n >%s\n"
		 "printf '{" HEAD ",\"status\":{\"token\":\"t%%s\"%s%s%s}}' $n\n",
		 path_of("count"), path_of("count"), seconds ? ",\"expirationTimestamp\":\"" : "",
		 seconds ? when : "", seconds ? "\"" : "");
	return script;
}

static void test_a_plugin_gives_a_token(void **state)
{
	struct world w = {0};
	struct kube_identity identity;

	(void)state;
	plugin_start(&w, counting_script(0));
	get_pending(&w);
	get_pending(&w);
	wait_for_change(&w);
	identity = get_ready(&w);
	assert_string_equal(identity.authorization, "Bearer t1");
	advance(&w, 100000 * USEC_PER_SEC);
	assert_string_equal(get_ready(&w).authorization, "Bearer t1");

	kube_credentials_refused(w.credentials, identity.serial);
	get_pending(&w);
	wait_for_change(&w);
	identity = get_ready(&w);
	assert_string_equal(identity.authorization, "Bearer t2");

	kube_credentials_refused(w.credentials, identity.serial);
	get_failed(&w, ERROR_UNAUTHORIZED, "the server refused what credential plugin");
	advance(&w, 11 * USEC_PER_SEC);
	get_pending(&w);
	wait_for_change(&w);
	assert_string_equal(get_ready(&w).authorization, "Bearer t3");
	plugin_stop(&w);
}

static void test_a_token_is_renewed_before_it_expires(void **state)
{
	struct world w = {0};

	(void)state;
	plugin_start(&w, counting_script(100));
	get_pending(&w);
	wait_for_change(&w);
	advance(&w, 79 * USEC_PER_SEC);
	assert_string_equal(get_ready(&w).authorization, "Bearer t1");
	loop_run_once(w.loop, 0);
	assert_int_equal(w.changes, 1);
	advance(&w, 2 * USEC_PER_SEC);
	assert_string_equal(get_ready(&w).authorization, "Bearer t1");
	wait_for_change(&w);
	assert_string_equal(get_ready(&w).authorization, "Bearer t2");
	plugin_stop(&w);
}

static void test_an_expired_token_is_not_used(void **state)
{
	struct world w = {0};

	(void)state;
	plugin_start(&w, counting_script(100));
	get_pending(&w);
	wait_for_change(&w);
	advance(&w, 100 * USEC_PER_SEC);
	get_pending(&w);
	wait_for_change(&w);
	get_failed(&w, ERROR_UNAUTHORIZED, "has expired already");
	plugin_stop(&w);
}

static void test_a_plugin_gives_a_certificate(void **state)
{
	struct world w = {0};
	struct kube_identity identity;
	struct buf script;
	char *pem;

	(void)state;
	make_pair("plugin");
	buf_init(&script, 64 * 1024);
	buf_add_cstr(&script,
		     "#!/bin/sh\ncat <<'END'\n{" HEAD ",\"status\":{\"clientCertificateData\":\"");
	add_escaped(&script, "plugin.pem");
	buf_add_cstr(&script, "\",\"clientKeyData\":\"");
	add_escaped(&script, "plugin.key");
	buf_add_cstr(&script, "\"}}\nEND\n");
	plugin_start(&w, script.data);
	buf_clear(&script);
	get_pending(&w);
	wait_for_change(&w);
	identity = get_ready(&w);
	assert_null(identity.authorization);
	pem = read_text("plugin.pem");
	assert_true(str_equal(identity.tls.cert_pem, str_from(pem)));
	mem_free(pem);
	plugin_stop(&w);
}

static void test_bad_plugins(void **state)
{
	static const struct {
		const char *name, *script;
		enum error_kind kind;
		const char *message;
	} cases[] = {
		{"fails and says why", "#!/bin/sh\necho 'log in\nfirst' >&2\nexit 3\n",
		 ERROR_UNAUTHORIZED, "plugin: exit status 3; it said: log in first"},
		{"dies", "#!/bin/sh\nkill -TERM $$\n", ERROR_UNAUTHORIZED, "ended by signal 15"},
		{"says nothing", "#!/bin/sh\n", ERROR_INVALID, "its answer: "},
		{"says garbage", "#!/bin/sh\necho hello\n", ERROR_INVALID, "its answer: "},
		{"answers in another version",
		 SAYS("{\"apiVersion\":\"client.authentication.k8s.io/v1beta1\","
		      "\"kind\":\"ExecCredential\",\"status\":{\"token\":\"t\"}}"),
		 ERROR_INVALID, "its apiVersion is"},
		{"answers with another kind",
		 SAYS("{\"apiVersion\":\"" V1 "\",\"kind\":\"Pod\",\"status\":{\"token\":\"t\"}}"),
		 ERROR_INVALID, "its kind is not ExecCredential"},
		{"gives nothing", SAYS("{" HEAD "}"), ERROR_INVALID,
		 "neither token nor certificate"},
		{"forgets the key", SAYS("{" HEAD ",\"status\":{\"clientCertificateData\":\"c\"}}"),
		 ERROR_INVALID, "one is missing"},
		{"gives a certificate that is none",
		 SAYS("{" HEAD
		      ",\"status\":{\"clientCertificateData\":\"c\",\"clientKeyData\":\"k\"}}"),
		 ERROR_INVALID, "client certificate"},
		{"gives an odd expiry",
		 SAYS("{" HEAD ",\"status\":{\"token\":\"t\",\"expirationTimestamp\":\"soon\"}}"),
		 ERROR_INVALID, "expirationTimestamp"},
		{"never stops talking", "#!/bin/sh\nwhile :; do echo xxxxxxxxxxxxxxxxxxxx; done\n",
		 ERROR_LIMIT, "wrote more than"},
		{"talks to stderr for long",
		 "#!/bin/sh\ni=0\nwhile [ $i -lt 9999 ]; do echo line $i >&2; i=$((i+1)); done\n"
		 "exit 1\n",
		 ERROR_UNAUTHORIZED, "line 9998"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct world w = {0};
		struct kube_identity identity;
		struct error err = {0};

		plugin_start(&w, cases[i].script);
		get_pending(&w);
		wait_for_change(&w);
		if (kube_credentials_get(w.credentials, &identity, &err) !=
			    KUBE_CREDENTIALS_FAILED ||
		    err.kind != cases[i].kind || !strstr(err.message, cases[i].message))
			fail_msg("%s: %s, %s", cases[i].name, error_kind_name(err.kind),
				 err.message);
		if (!strstr(err.message, "plugin"))
			fail_msg("%s: does not name the plugin: %s", cases[i].name, err.message);
		plugin_stop(&w);
	}
}

static void test_a_plugin_is_tried_again_later(void **state)
{
	struct world w = {0};

	(void)state;
	plugin_start(&w, "#!/bin/sh\nexit 1\n");
	get_pending(&w);
	wait_for_change(&w);
	get_failed(&w, ERROR_UNAUTHORIZED, "exit status 1");
	write_script("plugin", SAYS("{" HEAD ",\"status\":{\"token\":\"t\"}}"));
	advance(&w, USEC_PER_SEC / 2);
	get_failed(&w, ERROR_UNAUTHORIZED, "exit status 1");
	advance(&w, USEC_PER_SEC);
	get_pending(&w);
	wait_for_change(&w);
	assert_string_equal(get_ready(&w).authorization, "Bearer t");
	plugin_stop(&w);
}

static void test_a_plugin_that_is_not_there(void **state)
{
	char hint[] = "see example.com";
	struct world w = {0};

	(void)state;
	plugin_start(&w, "");
	unlink(path_of("plugin"));
	w.config.exec.install_hint = hint;
	get_failed(&w, ERROR_SYSTEM, "No such file or directory; see example.com");
	plugin_stop(&w);
}

/* 0 until the plugin has written it. */
static pid_t read_pid(void)
{
	char *text = NULL;
	size_t len;
	pid_t pid = 0;

	if (kube_read_file(path_of("pid"), 64, &text, &len, NULL))
		return 0;
	if (len && text[len - 1] == '\n')
		pid = (pid_t)strtol(text, NULL, 10);
	mem_free(text);
	return pid;
}

static pid_t wait_for_pid(struct world *w)
{
	WAIT_UNTIL(w->loop, read_pid() > 0);
	return read_pid();
}

static void test_a_plugin_that_hangs_is_killed(void **state)
{
	struct world w = {0};
	char script[512];
	pid_t pid;

	(void)state;
	unlink(path_of("pid"));
	snprintf(script, sizeof(script), "#!/bin/sh\necho waiting >&2\necho $$ >%s\nread x <%s\n",
		 path_of("pid"), path_of("fifo"));
	assert_int_equal(mkfifo(path_of("fifo"), 0600), 0);
	plugin_start(&w, script);
	get_pending(&w);
	pid = wait_for_pid(&w);
	advance(&w, 59 * USEC_PER_SEC);
	get_pending(&w);
	assert_int_equal(kill(pid, 0), 0);
	advance(&w, 2 * USEC_PER_SEC);
	wait_for_change(&w);
	get_failed(&w, ERROR_TIMEOUT, "killed after 60 s; it said: waiting");
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(errno, ESRCH);
	plugin_stop(&w);
}

static void test_a_plugin_ends_with_its_owner(void **state)
{
	struct world w = {0};
	char script[512];
	pid_t pid;

	(void)state;
	unlink(path_of("pid"));
	snprintf(script, sizeof(script), "#!/bin/sh\necho $$ >%s\nread x <%s\n", path_of("pid"),
		 path_of("fifo"));
	plugin_start(&w, script);
	get_pending(&w);
	pid = wait_for_pid(&w);
	plugin_stop(&w);
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(errno, ESRCH);
}

static void test_what_a_plugin_is_told(void **state)
{
	char server[] = "https://a", ca[] = "CA", extension[] = "{\"k\":1}";
	char arg[] = "an argument", name[] = "GREETING", value[] = "hello";
	char *args[] = {arg};
	struct kube_env env = {name, value};
	struct world w = {.config = {.server = server,
				     .ca_pem = ca,
				     .exec = {.args = args,
					      .n_args = 1,
					      .env = &env,
					      .n_env = 1,
					      .provide_cluster_info = true,
					      .cluster_config = extension}}};
	char script[512], *text;

	(void)state;
	snprintf(script, sizeof(script),
		 "#!/bin/sh\necho \"$1,$GREETING,$KUBERNETES_EXEC_INFO\" >%s\n", path_of("told"));
	plugin_start(&w, script);
	get_pending(&w);
	wait_for_change(&w);
	text = read_text("told");
	assert_string_equal(text, "an argument,hello,{" HEAD
				  ",\"spec\":{\"interactive\":false,\"cluster\":{\"server\":"
				  "\"https://a\",\"certificate-authority-data\":\"Q0E=\","
				  "\"config\":{\"k\":1}}}}\n");
	mem_free(text);
	plugin_stop(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nobody),
		cmocka_unit_test(test_inline),
		cmocka_unit_test(test_a_token_rotates_by_a_symlink),
		cmocka_unit_test(test_a_missing_token_is_looked_for_again),
		cmocka_unit_test(test_what_is_no_token),
		cmocka_unit_test(test_a_certificate_rotates_when_both_files_fit),
		cmocka_unit_test(test_a_certificate_and_a_foreign_key),
		cmocka_unit_test(test_a_plugin_gives_a_token),
		cmocka_unit_test(test_a_token_is_renewed_before_it_expires),
		cmocka_unit_test(test_an_expired_token_is_not_used),
		cmocka_unit_test(test_a_plugin_gives_a_certificate),
		cmocka_unit_test(test_bad_plugins),
		cmocka_unit_test(test_a_plugin_is_tried_again_later),
		cmocka_unit_test(test_a_plugin_that_is_not_there),
		cmocka_unit_test(test_a_plugin_that_hangs_is_killed),
		cmocka_unit_test(test_a_plugin_ends_with_its_owner),
		cmocka_unit_test(test_what_a_plugin_is_told),
	};

	return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
