/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of model/quota.h. */
#include "model/quota.h"

const char *quota_condition_text(enum quota_condition condition)
{
	switch (condition) {
#define X(name, text)      \
	case QUOTA_##name: \
		return text;
		QUOTA_CONDITIONS(X)
#undef X
	case QUOTA_CONDITION_COUNT:
		break;
	}
	return "Unknown";
}

const char *quota_reason_text(enum quota_reason reason)
{
	switch (reason) {
#define X(name, text)             \
	case QUOTA_REASON_##name: \
		return text;
		QUOTA_REASONS(X)
#undef X
	}
	return "Unknown";
}

const char *condition_status_text(enum condition_status status)
{
	switch (status) {
	case CONDITION_TRUE:
		return "True";
	case CONDITION_FALSE:
		return "False";
	case CONDITION_UNKNOWN:
		break;
	}
	return "Unknown";
}

const char *shrink_policy_text(enum shrink_policy policy)
{
	switch (policy) {
#define X(name, text)       \
	case SHRINK_##name: \
		return text;
		SHRINK_POLICIES(X)
#undef X
	}
	return "Unknown";
}
