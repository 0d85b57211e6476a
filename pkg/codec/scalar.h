/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CODEC_SCALAR_H
#define GPUQOS_CODEC_SCALAR_H

#include "base/buf.h"

/*
 * What a plain scalar of YAML stands for. Inside of codec/yaml.h. The rules are those of
 * sigs.k8s.io/yaml, which are YAML 1.1's with Go's integers: 0x1F, 0o17, 017 and 0b11 are numbers,
 * 1_000 too, and y, yes and on are true. Base 60 is none of them, and a time is a string.
 */
enum scalar_class {
	SCALAR_STRING,
	SCALAR_NULL,
	SCALAR_TRUE,
	SCALAR_FALSE,
	SCALAR_INT,
	SCALAR_FLOAT,
	SCALAR_NOT_FINITE, /* infinite or no number, which JSON cannot say */
};

enum scalar_class scalar_resolve(struct str plain);

/* Writes an INT or FLOAT in the form of JSON; its value stays, to the last digit. */
void scalar_write_number(struct buf *out, struct str plain);

#endif
