/* SPDX-License-Identifier: MIT */
/* The wrappers that rows of hooks.def describe completely: GMT_HOOK and GMT_HOOK_NAME. */
#include "wrappers/wrapper.h"

/* A row may override members that the macro sets for all rows. */
#pragma GCC diagnostic ignored "-Woverride-init"

/* Whether gmt_call_add_alloc and gmt_call_add_free can record a row's events. */
#define HAS_DETAILS(...) (0 __VA_OPT__(+1))
#define IS_PLAIN(space, ...) \
	(!HAS_DETAILS(__VA_ARGS__) && \
		(GMT_SPACE_##space == GMT_SPACE_DEVICE || GMT_SPACE_##space == GMT_SPACE_MANAGED))

/* A refused call has no address, unless it is a free: then the address is an argument. */
#define IS_REFUSED_WITHOUT_ADDRESS(kind) \
	(failed && gmt_event_kind_failure(kind) != GMT_KIND_FREE_FAILED)

/* The members that a row adds come last, so they override the others. */
#define DETAILS(in_kind, in_space, in_address, size, ...) \
	(&(struct gmt_call_details){ .kind = (in_kind), \
		.space = (in_space), \
		.address = IS_REFUSED_WITHOUT_ADDRESS(in_kind) ? 0 : (in_address), \
		.size_bytes = (uint64_t)(size), \
		__VA_ARGS__ })

#define GMT_HOOK(library, symbol, base, since, mode, parameters, arguments, in_kind, in_space, \
	in_address, size, ...) \
	BEGIN_WRAPPER(library, symbol, parameters) \
	struct gmt_call call = gmt_call_begin(GMT_HOOK_##symbol, ROLE_##library, GMT_KIND_##in_kind); \
	RESULT_##library result = original arguments; \
	if (gmt_call_is_event(&call)) { \
		bool failed = result != 0, readable = !failed || (uint32_t)result == GMT_OOM_RESULT; \
		(void)readable; \
		if (!failed && IS_PLAIN(in_space, ##__VA_ARGS__) && GMT_KIND_##in_kind == GMT_KIND_ALLOC) \
			gmt_call_add_alloc(U64(in_address), (uint64_t)(size), GMT_SPACE_##in_space); \
		else if (!failed && IS_PLAIN(in_space, ##__VA_ARGS__) && \
			GMT_KIND_##in_kind == GMT_KIND_FREE) \
			gmt_call_add_free(call.stamp, U64(in_address), GMT_SPACE_##in_space); \
		else \
			gmt_call_add(&call, (uint32_t)result, \
				DETAILS(GMT_KIND_##in_kind, GMT_SPACE_##in_space, U64(in_address), size, \
					__VA_ARGS__)); \
	} \
	gmt_call_end(&call); \
	return result; \
	}

#define GMT_HOOK_NAME(library, symbol, base, since, mode, parameters, arguments) \
	BEGIN_WRAPPER(library, symbol, parameters) \
	struct gmt_call call = gmt_call_begin(GMT_HOOK_##symbol, ROLE_##library, GMT_KIND_ALLOC); \
	RESULT_##library result = original arguments; \
	gmt_call_end(&call); \
	return result; \
	}

#define GMT_HOOK_BY_HAND(...)
#define GMT_HOOK_ELSEWHERE(...)

#include "hooks/hooks.def"
