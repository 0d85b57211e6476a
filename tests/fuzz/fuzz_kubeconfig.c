/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two kubeconfigs, parted by a zero byte, that are merged, with a plugin's answer after a second
 * one. What is accepted has a server that can stand in a URL and texts that can stand in a header.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "kube/kubeconfig.h"
#include "kube/plugin.h"

static void check_line(const char *text)
{
	for (; text && *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			abort();
}

static void check_config(const struct kube_config *config)
{
	if (!config->server || !config->namespace || !config->origin)
		abort();
	if (strncmp(config->server, "https://", 8) != 0 &&
	    strncmp(config->server, "http://", 7) != 0)
		abort();
	check_line(config->server);
	check_line(config->server_name);
	check_line(config->token);
	check_line(config->as);
	check_line(config->as_uid);
	for (size_t i = 0; i < config->n_as_groups; i++)
		check_line(config->as_groups[i]);
	if (!config->exec.command != !config->exec.api_version)
		abort();
}

static void check_input(const struct kube_config *config)
{
	CLEANUP(buf_clear) struct buf json;

	buf_init(&json, 4 * (size_t)LIMIT_YAML_DOCUMENT);
	if (config->exec.command && !config->ca_file)
		kube_plugin_input(config, &json, NULL);
}

static void check_answer(struct str text)
{
	CLEANUP(kube_plugin_answer_clear) struct kube_plugin_answer answer = {0};

	if (kube_plugin_parse(text, "client.authentication.k8s.io/v1", &answer, NULL) == 0 &&
	    !answer.token && (!answer.cert_pem || !answer.key_pem))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(kube_config_free) struct kube_config *config = NULL;
	struct str first = {(const char *)data, size}, second, third;
	struct kubeconfig_file files[2];
	struct error err = {0};
	size_t n = 0;

	str_split(first, '\0', &first, &second);
	str_split(second, '\0', &second, &third);
	if (kubeconfig_parse("/a/config", first, &files[n], &err) == 0)
		n++;
	if (second.len && kubeconfig_parse("b/config", second, &files[n], &err) == 0)
		n++;
	if (n && kubeconfig_resolve(files, n, NULL, &config, &err) == 0) {
		check_config(config);
		check_input(config);
	}
	check_answer(third);
	for (size_t i = 0; i < n; i++)
		kubeconfig_file_clear(&files[i]);
	return 0;
}
