/* SPDX-License-Identifier: MIT */
#include "shared_memory/drop_reasons.h"

#include <stddef.h>
#include <string.h>

#include "format/format.h"
#include "shared_memory/ring_event.h"

static const struct {
	const char *reason;
	enum gmt_drop_effect effect;
} drops[] = {
#define GMT_DROP(NAME, reason, effect) [GMT_DROP_##NAME] = { reason, GMT_DROP_EFFECT_##effect },
#include "shared_memory/drop_reasons.def"
#undef GMT_DROP
};

enum gmt_drop_reason gmt_drop_reason_of_ring_kind(uint8_t ring_kind)
{
	switch (ring_kind) {
	case GMT_KIND_ALLOC:
		return GMT_DROP_ALLOC;
	case GMT_KIND_FREE:
		return GMT_DROP_FREE;
	case GMT_KIND_ALLOC_FAILED:
	case GMT_KIND_FREE_FAILED:
	case GMT_RING_MARK:
	case GMT_RING_OOM:
	case GMT_RING_SAMPLE:
		return GMT_DROP_MARK;
	}
	return GMT_DROP_OTHER;
}

const char *gmt_drop_reason_text(enum gmt_drop_reason drop)
{
	return drops[drop].reason;
}

enum gmt_drop_effect gmt_drop_effect_of_reason(const char *reason)
{
	for (size_t i = 0; i < sizeof(drops) / sizeof(*drops); i++)
		if (strcmp(drops[i].reason, reason) == 0)
			return drops[i].effect;
	return GMT_DROP_EFFECT_UNKNOWN;
}
