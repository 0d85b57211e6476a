/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_PROM_ACCESS_H
#define GPUQOS_PROM_ACCESS_H

#include "base/error.h"

/*
 * Where a server of Prometheus's family is, and as whom it is asked. Paths of files; NULL is none.
 * Tokens and passwords are read anew for each request, so that they may be rotated; certificates
 * and the key once. All borrowed for the call that takes it.
 */
struct prom_access {
	const char *url; /* http or https, with the path before /api where there is one */
	const char *bearer_token_file;        /* not together with username */
	const char *username, *password_file; /* of basic authentication; both or none */
	const char *ca_file;                  /* PEM; NULL: the system's */
	const char *cert_file, *key_file;     /* PEM, a client certificate; both or none */
};

/* INVALID for what is no URL or does not go together, by the names of --config; @name: that all of
 * it has there. */
int prom_access_check(const struct prom_access *access, const char *name, struct error *err);

#endif
