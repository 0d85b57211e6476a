/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_PROM_URL_H
#define GPUQOS_PROM_URL_H

/* @path behind @base, which may end with slashes. To be freed with mem_free(). Inside prom only. */
char *prom_url(const char *base, const char *path);

#endif
