/* SPDX-License-Identifier: MIT */
#ifndef GMT_SHARED_MEMORY_DROPS_H
#define GMT_SHARED_MEMORY_DROPS_H

/* Kinds of events that a full ring refuses, and what their loss does to the live set and to totals (drops.def). */

#include <stdint.h>

enum gmt_drop_kind {
#define GMT_DROP(NAME, reason, effect) GMT_DROP_##NAME,
#include "shared_memory/drops.def"
#undef GMT_DROP
	GMT_DROP_COUNT
};

enum gmt_drop_effect {
	GMT_EFFECT_UNKNOWN,  /* also of reasons that are not in the list */
	GMT_EFFECT_NONE,
	GMT_EFFECT_TOO_FEW,  /* blocks are missing from the live set, and from totals */
	GMT_EFFECT_TOO_MANY, /* blocks live for ever that do not */
};

/* Of an event as it waits in a ring: enum gmt_kind, or what else rings hold. */
enum gmt_drop_kind gmt_drop_kind_of(uint8_t ring_kind);

const char *gmt_drop_reason(enum gmt_drop_kind drop);

/* By the reason that a drop record says. */
enum gmt_drop_effect gmt_drop_effect(const char *reason);

#endif
