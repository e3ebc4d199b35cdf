/* SPDX-License-Identifier: MIT */
/* The typed wrappers of the rows of hooks.def that say all there is to know of a function. */
#include "wrapper.h"

/* A row may correct what is said of all rows. */
#pragma GCC diagnostic ignored "-Woverride-init"

#define GMT_HOOK(library, symbol, base, since, mode, parameters, arguments, in_kind, in_space, in_address, size, ...) \
	BEGIN_WRAPPER(library, symbol, parameters) \
		struct gmt_call call = gmt_call_begin(GMT_HOOK_##symbol, ROLE_##library, GMT_KIND_##in_kind); \
		RESULT_##library result = real arguments; \
		if (gmt_call_is_event(&call)) { \
			bool failed = result != 0, readable = !failed || (uint32_t)result == GMT_OOM_RESULT; \
			(void)readable; \
			gmt_call_add(&call, (uint32_t)result, &(struct gmt_call_facts){ \
				.kind = GMT_KIND_##in_kind, \
				.space = GMT_SPACE_##in_space, \
				.address = failed && gmt_kind_failure(GMT_KIND_##in_kind) != GMT_KIND_FREE_FAILED ? \
					0 : N(in_address), \
				.size_bytes = (uint64_t)(size), \
				##__VA_ARGS__ }); \
		} \
		gmt_call_end(&call); \
		return result; \
	}

#define GMT_HOOK_NAME(library, symbol, base, since, mode, parameters, arguments) \
	BEGIN_WRAPPER(library, symbol, parameters) \
		struct gmt_call call = gmt_call_begin(GMT_HOOK_##symbol, ROLE_##library, GMT_KIND_ALLOC); \
		RESULT_##library result = real arguments; \
		gmt_call_end(&call); \
		return result; \
	}

#define GMT_HOOK_BODY(...)
#define GMT_HOOK_ROUTE(...)

#include "hooks.def"
