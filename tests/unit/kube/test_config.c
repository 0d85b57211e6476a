/* SPDX-License-Identifier: Apache-2.0 */
/* Kubeconfigs as people write them, also wrongly; merging; the pod's own configuration. */
#include "fixture.h"

#include <stdio.h>

static struct kube_config *load(const struct kube_config_options *options)
{
	struct kube_config *config = NULL;
	struct error err = {0};

	if (kube_config_load(options, &config, &err))
		fail_msg("%s", err.message);
	return config;
}

static struct kube_config *load_text(const char *text)
{
	write_file("config", text);
	return load(&(struct kube_config_options){.path = path_of("config")});
}

#define CLUSTER    "clusters: [{name: c, cluster: {server: 'https://10.0.0.1:6443'}}]\n"
#define CONTEXT    "contexts: [{name: x, context: {cluster: c, user: u}}]\ncurrent-context: x\n"
#define USER(text) CLUSTER CONTEXT "users: [{name: u, user: " text "}]\n"
#define SERVED(text)                                                         \
	"contexts: [{name: x, context: {cluster: c}}]\ncurrent-context: x\n" \
	"clusters: [{name: c, cluster: " text "}]\n"
#define EXEC(text) USER("{exec: " text "}")
#define V1         "apiVersion: client.authentication.k8s.io/v1, "

static const char everything[] = "apiVersion: v1\nkind: Config\npreferences: {}\n"
				 "current-context: admin@dev\n"
				 "clusters:\n"
				 "- name: dev\n"
				 "  cluster:\n"
				 "    server: https://10.0.0.1:6443/prefix/\n"
				 "    tls-server-name: api.dev\n"
				 "    proxy-url: socks5://127.0.0.1:1080\n"
				 "    certificate-authority-data: Q0E=\n"
				 "    certificate-authority: ca.crt\n"
				 "    extensions:\n"
				 "    - name: client.authentication.k8s.io/exec\n"
				 "      extension: {audience: a, list: [1, 2]}\n"
				 "contexts:\n"
				 "- context: {cluster: dev, user: admin, namespace: team-a}\n"
				 "  name: admin@dev\n"
				 "users:\n"
				 "- name: admin\n"
				 "  user:\n"
				 "    client-certificate: /pki/admin.crt\n"
				 "    client-key-data: S0VZ\n"
				 "    tokenFile: tokens/admin\n"
				 "    token: t\n"
				 "    as: jane\n"
				 "    as-uid: '7'\n"
				 "    as-groups: [g1, 'g 2']\n"
				 "    exec:\n"
				 "      apiVersion: client.authentication.k8s.io/v1beta1\n"
				 "      command: ./bin/login\n"
				 "      args: [get, '', token]\n"
				 "      env: [{name: A, value: b}]\n"
				 "      installHint: install it\n"
				 "      provideClusterInfo: true\n";

static void test_everything(void **state)
{
	CLEANUP(kube_config_free) struct kube_config *config = load_text(everything);

	(void)state;
	assert_string_equal(config->server, "https://10.0.0.1:6443/prefix");
	assert_string_equal(config->server_name, "api.dev");
	assert_string_equal(config->proxy_url, "socks5://127.0.0.1:1080");
	assert_string_equal(config->namespace, "team-a");
	assert_string_equal(config->ca_pem, "CA");
	assert_string_equal(config->ca_file, path_of("ca.crt"));
	assert_string_equal(config->cert_file, "/pki/admin.crt");
	assert_string_equal(config->key_pem, "KEY");
	assert_string_equal(config->token_file, path_of("tokens/admin"));
	assert_string_equal(config->as, "jane");
	assert_string_equal(config->as_uid, "7");
	assert_int_equal(config->n_as_groups, 2);
	assert_string_equal(config->as_groups[1], "g 2");
	assert_string_equal(config->exec.command, path_of("./bin/login"));
	assert_int_equal(config->exec.n_args, 3);
	assert_string_equal(config->exec.args[1], "");
	assert_string_equal(config->exec.env[0].name, "A");
	assert_string_equal(config->exec.install_hint, "install it");
	assert_true(config->exec.provide_cluster_info);
	assert_string_equal(config->exec.cluster_config, "{\"audience\":\"a\",\"list\":[1,2]}");
	assert_non_null(strstr(config->origin, "context \"admin@dev\""));
}

static void test_little_is_enough(void **state)
{
	CLEANUP(kube_config_free)
	struct kube_config *config = load_text(SERVED("{server: 'http://localhost:8080'}"));

	(void)state;
	assert_string_equal(config->server, "http://localhost:8080");
	assert_string_equal(config->namespace, "default");
	assert_null(config->token);
	assert_null(config->exec.command);
	assert_false(config->insecure);
}

static void test_a_command_without_slash_is_looked_for_in_path(void **state)
{
	CLEANUP(kube_config_free)
	struct kube_config *config =
		load_text(EXEC("{" V1 "command: aws, interactiveMode: IfAvailable}"));

	(void)state;
	assert_string_equal(config->exec.command, "aws");
}

static const struct {
	const char *name, *text;
	enum error_kind kind;
	const char *message;
} mistakes[] = {
	{"no YAML", "a: [", ERROR_INVALID, "config: "},
	{"a list", "[1]", ERROR_INVALID, "config: "},
	{"an empty file", "", ERROR_INVALID, "current-context: missing"},
	{"only a comment", "# nothing\n", ERROR_INVALID, "current-context: missing"},
	{"a context that is not there", "current-context: z\n" CLUSTER, ERROR_INVALID,
	 "context \"z\" is not defined"},
	{"a context without cluster", "current-context: x\ncontexts: [{name: x}]\n", ERROR_INVALID,
	 "context \"x\": cluster: missing"},
	{"a cluster that is not there", CONTEXT, ERROR_INVALID, "cluster \"c\" is not defined"},
	{"a user that is not there", CLUSTER CONTEXT, ERROR_INVALID, "user \"u\" is not defined"},
	{"no server", SERVED("{}"), ERROR_INVALID, "cluster \"c\": server: missing"},
	{"a server without scheme", SERVED("{server: '10.0.0.1:6443'}"), ERROR_INVALID,
	 "server: \"10.0.0.1:6443\" does not begin with https://"},
	{"a server of another scheme", SERVED("{server: 'file:///etc/passwd'}"), ERROR_INVALID,
	 "does not begin with https://"},
	{"a server without host", SERVED("{server: 'https://'}"), ERROR_INVALID, "server: "},
	{"a server with port only", SERVED("{server: 'https://:6443'}"), ERROR_INVALID,
	 "has no host"},
	{"a server with a query", SERVED("{server: 'https://a/?b'}"), ERROR_INVALID,
	 "has a character that no server has"},
	{"a server with a user", SERVED("{server: 'https://u:p@a'}"), ERROR_INVALID,
	 "has a character that no server has"},
	{"a server of two lines", SERVED("{server: \"https://a\\r\\nX: y\"}"), ERROR_INVALID,
	 "server: control characters"},
	{"a server that is a number", SERVED("{server: 5}"), ERROR_INVALID, "server"},
	{"a proxy of another scheme", SERVED("{server: 'https://a', proxy-url: 'ftp://p'}"),
	 ERROR_INVALID, "proxy-url: "},
	{"a CA that is not base64",
	 SERVED("{server: 'https://a', certificate-authority-data: '%%'}"), ERROR_INVALID,
	 "certificate-authority-data"},
	{"a CA where nothing is verified",
	 SERVED("{server: 'https://a', insecure-skip-tls-verify: true, "
		"certificate-authority: ca}"),
	 ERROR_INVALID, "insecure-skip-tls-verify"},
	{"a certificate without key", USER("{client-certificate: a}"), ERROR_INVALID,
	 "user \"u\": client-certificate and client-key"},
	{"a key without certificate", USER("{client-key-data: S0VZ}"), ERROR_INVALID,
	 "client-certificate and client-key"},
	{"a token and a name", USER("{token: t, username: me}"), ERROR_INVALID,
	 "token and username"},
	{"a token of two lines", USER("{token: \"a\\nb\"}"), ERROR_INVALID,
	 "token: control characters"},
	{"an auth-provider", USER("{auth-provider: {name: gcp}}"), ERROR_INVALID,
	 "auth-provider: was removed"},
	{"groups without user", USER("{as-groups: [a]}"), ERROR_INVALID, "without as"},
	{"a group of two lines", USER("{as: a, as-groups: [\"x\\ny\"]}"), ERROR_INVALID,
	 "as-groups"},
	{"extra of an impersonation", USER("{as: a, as-user-extra: {k: [v]}}"), ERROR_INVALID,
	 "as-user-extra: not supported"},
	{"a plugin of an old version",
	 EXEC("{apiVersion: client.authentication.k8s.io/v1alpha1, command: a}"), ERROR_INVALID,
	 "exec.apiVersion: "},
	{"a plugin without command", EXEC("{" V1 "interactiveMode: Never}"), ERROR_INVALID,
	 "exec.command: missing"},
	{"a plugin that wants a terminal", EXEC("{" V1 "command: a, interactiveMode: Always}"),
	 ERROR_INVALID, "wants a terminal"},
	{"a plugin of v1 that does not say", EXEC("{" V1 "command: a}"), ERROR_INVALID,
	 "exec.interactiveMode: missing"},
	{"a plugin of an unknown mode", EXEC("{" V1 "command: a, interactiveMode: Sometimes}"),
	 ERROR_INVALID, "\"Sometimes\" is none of"},
	{"an environment without name",
	 EXEC("{" V1 "command: a, interactiveMode: Never, env: [{value: b}]}"), ERROR_INVALID,
	 "exec.env: "},
	{"an environment name with a sign",
	 EXEC("{" V1 "command: a, interactiveMode: Never, env: [{name: 'a=b', value: c}]}"),
	 ERROR_INVALID, "exec.env: "},
};

static void test_what_is_wrong_is_said(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(mistakes); i++) {
		struct kube_config *config = NULL;
		struct error err = {0};

		write_file("config", mistakes[i].text);
		if (!kube_config_load(&(struct kube_config_options){.path = path_of("config")},
				      &config, &err))
			fail_msg("%s: is accepted", mistakes[i].name);
		assert_null(config);
		if (err.kind != mistakes[i].kind || !strstr(err.message, mistakes[i].message))
			fail_msg("%s: %s", mistakes[i].name, err.message);
		if (!strstr(err.message, path_of("config")))
			fail_msg("%s: does not name the file: %s", mistakes[i].name, err.message);
	}
}

static void test_secrets_are_in_no_message(void **state)
{
	static const char *const texts[] = {
		USER("{token: s3cret, username: me}"),
		USER("{token: \"s3cret\\n\"}"),
		USER("{token: [s3cret]}"),
		USER("{username: me, password: {a: s3cret}}"),
		USER("{client-key-data: 's3cret!'}"),
		"s3cret",
		"a: s3cret: b",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct kube_config *config = NULL;
		struct error err = {0};

		write_file("config", texts[i]);
		assert_int_equal(
			kube_config_load(&(struct kube_config_options){.path = path_of("config")},
					 &config, &err),
			-1);
		if (strstr(err.message, "s3cret"))
			fail_msg("%s", err.message);
	}
}

/* The first file has the context, the second the cluster, the third the user; what it repeats
 * loses. */
static void test_lists_are_merged(void **state)
{
	char list[1024];
	struct kube_config *config;

	(void)state;
	write_file("one",
		   "current-context: ''\n"
		   "contexts: [{name: x, context: {cluster: c, user: u, namespace: first}}]\n");
	write_file("two", "current-context: x\n"
			  "clusters: [{name: c, cluster: {server: 'https://two', "
			  "certificate-authority: ca}}]\n");
	write_file("three", "current-context: z\n"
			    "clusters: [{name: c, cluster: {server: 'https://three'}}]\n"
			    "users: [{name: u, user: {tokenFile: t}}]\n"
			    "contexts: [{name: x, context: {cluster: d, namespace: third}}]\n");
	snprintf(list, sizeof(list), ":%s::%s:%s:%s:", path_of("one"), path_of("missing"),
		 path_of("two"), path_of("three"));
	config = load(&(struct kube_config_options){.env_kubeconfig = list});
	assert_string_equal(config->server, "https://two");
	assert_string_equal(config->ca_file, path_of("ca"));
	assert_string_equal(config->token_file, path_of("t"));
	assert_string_equal(config->namespace, "first");
	kube_config_free(config);
	config = load(&(struct kube_config_options){.env_kubeconfig = list, .context = "x"});
	assert_string_equal(config->server, "https://two");
	kube_config_free(config);
}

static void test_too_many_files(void **state)
{
	struct kube_config *config = NULL;
	struct error err = {0};
	struct buf list;

	(void)state;
	write_file("one", "");
	buf_init(&list, 64 * 1024);
	for (int i = 0; i <= LIMIT_KUBECONFIG_FILES; i++)
		buf_printf(&list, "%s:", path_of("one"));
	assert_int_equal(
		kube_config_load(&(struct kube_config_options){.env_kubeconfig = list.data},
				 &config, &err),
		-1);
	assert_int_equal(err.kind, ERROR_LIMIT);
	buf_clear(&list);
}

static void test_the_home_folder_comes_second(void **state)
{
	const struct kube_config_options options = {
		.home = path_of(""), .service_host = "10.96.0.1", .service_port = "443"};
	struct kube_config *config = load(&options);

	(void)state;
	assert_string_equal(config->origin, "in-cluster");
	kube_config_free(config);
}

static void test_in_a_pod(void **state)
{
	struct kube_config_options options = {.env_kubeconfig = path_of("missing"),
					      .service_host = "10.96.0.1",
					      .service_port = "443",
					      .service_account_dir = path_of(".")};
	struct kube_config *config;

	(void)state;
	config = load(&options);
	assert_string_equal(config->server, "https://10.96.0.1:443");
	assert_string_equal(config->token_file, path_of("./token"));
	assert_string_equal(config->ca_file, path_of("./ca.crt"));
	assert_string_equal(config->namespace, "default");
	kube_config_free(config);

	write_file("namespace", "team-b\n");
	options.service_host = "fd00::1";
	config = load(&options);
	assert_string_equal(config->server, "https://[fd00::1]:443");
	assert_string_equal(config->namespace, "team-b");
	kube_config_free(config);
}

static void test_nothing_anywhere(void **state)
{
	struct kube_config *config = NULL;
	struct error err = {0};

	(void)state;
	assert_int_equal(kube_config_load(&(struct kube_config_options){.home = "/nonexistent"},
					  &config, &err),
			 -1);
	assert_int_equal(err.kind, ERROR_NOT_FOUND);
	assert_non_null(strstr(err.message, "/nonexistent/.kube/config"));
	assert_int_equal(
		kube_config_load(&(struct kube_config_options){.path = "/nonexistent/config"},
				 &config, &err),
		-1);
	assert_int_equal(err.kind, ERROR_SYSTEM);
}

static void test_files(void **state)
{
	struct error err = {0};
	char *text = NULL;
	size_t len = 0;

	(void)state;
	write_file("five", "12345");
	assert_int_equal(kube_read_file(path_of("five"), 5, &text, &len, &err), 0);
	assert_int_equal(len, 5);
	assert_string_equal(text, "12345");
	mem_free(text);
	assert_int_equal(kube_read_file(path_of("five"), 4, &text, &len, &err), -1);
	assert_int_equal(err.kind, ERROR_LIMIT);
	assert_int_equal(kube_read_file(path_of("."), 4, &text, &len, &err), -1);
	assert_int_equal(err.kind, ERROR_INVALID);
	assert_int_equal(kube_read_file(path_of("nix"), 4, &text, &len, &err), -1);
	assert_int_equal(err.kind, ERROR_SYSTEM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_everything),
		cmocka_unit_test(test_little_is_enough),
		cmocka_unit_test(test_a_command_without_slash_is_looked_for_in_path),
		cmocka_unit_test(test_what_is_wrong_is_said),
		cmocka_unit_test(test_secrets_are_in_no_message),
		cmocka_unit_test(test_lists_are_merged),
		cmocka_unit_test(test_too_many_files),
		cmocka_unit_test(test_the_home_folder_comes_second),
		cmocka_unit_test(test_in_a_pod),
		cmocka_unit_test(test_nothing_anywhere),
		cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
