/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CODEC_YAML_H
#define GPUQOS_CODEC_YAML_H

#include "base/buf.h"
#include "base/error.h"
#include "base/str.h"

/*
 * Turns one YAML document (or JSON, which is YAML) into JSON text, with the scalar rules that
 * Kubernetes tools use (YAML 1.1 as sigs.k8s.io/yaml reads it): plain true, yes, y, on and their
 * opposites are booleans, plain null, ~ and nothing are null, plain numbers are numbers and keep
 * their value; quoted and block scalars are strings, as are times. No document at all is null.
 *
 * Anchors and aliases are followed as long as the nodes written, repetitions counted, are at most
 * LIMIT_YAML_NODES, so that a document cannot grow without bound. Refused are merge keys, duplicate
 * keys, keys that are not strings, a second document, tags other than YAML's own for these types,
 * and numbers that are not finite.
 *
 * Errors: INVALID with line and column, counted from 1; LIMIT for the text (LIMIT_YAML_DOCUMENT),
 * the nodes, nesting deeper than JSON_OUT_DEPTH, or no room in @ret_json. @ret_json is appended to;
 * after an error its content is undefined.
 */
int yaml_to_json(struct str yaml, struct buf *ret_json, struct error *err);

#endif
