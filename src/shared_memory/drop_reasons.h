/* SPDX-License-Identifier: MIT */
#ifndef GMT_SHARED_MEMORY_DROP_REASONS_H
#define GMT_SHARED_MEMORY_DROP_REASONS_H

/*
 * Kinds of events that a full ring drops, and the effect of their loss on live blocks and totals
 * (drop_reasons.def).
 */

#include <stdint.h>

enum gmt_drop_reason {
#define GMT_DROP(NAME, reason, effect) GMT_DROP_##NAME,
#include "shared_memory/drop_reasons.def"
#undef GMT_DROP
	GMT_DROP_COUNT
};

enum gmt_drop_effect {
	GMT_DROP_EFFECT_UNKNOWN,  /* also for reasons that are not in the list */
	GMT_DROP_EFFECT_NONE,
	GMT_DROP_EFFECT_TOO_FEW,  /* blocks are missing in the live set and in the totals */
	GMT_DROP_EFFECT_TOO_MANY, /* freed blocks stay in the live set for ever */
};

/*
 * Returns the kind of a dropped event. `ring_kind` is an enum gmt_event_kind or a GMT_RING_* kind.
 */
enum gmt_drop_reason gmt_drop_reason_of_ring_kind(uint8_t ring_kind);

const char *gmt_drop_reason_text(enum gmt_drop_reason drop);

/* Returns the effect for the reason in a drop record. */
enum gmt_drop_effect gmt_drop_effect_of_reason(const char *reason);

#endif
