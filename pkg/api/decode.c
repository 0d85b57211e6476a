/* SPDX-License-Identifier: Apache-2.0 */
/* Which reader reads what. */
#include "api/decode.h"

#include "codec/json.h"
#include "codec/pb.h"

int api_decode(const struct schema *schema, struct api_bytes bytes, struct arena *arena,
	       void *ret_object, struct error *err)
{
	if (bytes.protobuf)
		return pb_decode(schema, bytes.text, arena, ret_object, err);
	return json_decode(schema, bytes.text, arena, ret_object, err);
}

int api_open_answer(struct str body, bool protobuf, struct api_bytes *ret_bytes, struct error *err)
{
	struct pb_envelope envelope = {.raw = body};

	if (protobuf && pb_open_envelope(body, &envelope, err) < 0)
		return -1;
	*ret_bytes = (struct api_bytes){envelope.raw, protobuf};
	return 0;
}
