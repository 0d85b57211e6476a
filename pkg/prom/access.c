/* SPDX-License-Identifier: Apache-2.0 */
/* What goes together. */
#include "prom/access.h"

#include "base/str.h"

static bool is_url(const char *url)
{
	return url && (str_starts_with(str_from(url), STR("http://")) ||
		       str_starts_with(str_from(url), STR("https://")));
}

int prom_access_check(const struct prom_access *access, const char *name, struct error *err)
{
	if (!is_url(access->url))
		return error_set(err, ERROR_INVALID, "%s.url: must begin with http:// or https://",
				 name);
	if (access->bearer_token_file && access->username)
		return error_set(err, ERROR_INVALID, "%s: either bearerTokenFile or username",
				 name);
	if (!access->username != !access->password_file)
		return error_set(err, ERROR_INVALID, "%s: username and passwordFile go together",
				 name);
	if (!access->cert_file != !access->key_file)
		return error_set(err, ERROR_INVALID, "%s: certFile and keyFile go together", name);
	return 0;
}
