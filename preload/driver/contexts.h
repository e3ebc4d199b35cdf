/* SPDX-License-Identifier: MIT */
#ifndef GMT_DRIVER_CONTEXTS_H
#define GMT_DRIVER_CONTEXTS_H

/*
 * Numbers the process's CUDA contexts, because the driver reuses their handles. The primary context
 * of a device even has the same handle each time. A number belongs to one context, from its first
 * use to its end. Any thread. A look-up takes no lock.
 */

#include <stdbool.h>
#include <stdint.h>

struct gmt_context {
	int16_t device;  /* ordinal, or GMT_DEVICE_UNKNOWN */
	uint16_t number; /* from 1; 0: no context */
};

/*
 * Returns the context's number. Assigns a new number if the context has none. Returns 0 if there
 * are too many contexts.
 *
 * `ret_is_new` may be NULL. Otherwise *ret_is_new is true in the context's first call with
 * `ret_is_new`. Earlier calls without it are possible: another thread may use a context before the
 * thread that made it reports it.
 */
uint16_t gmt_contexts_add(uint64_t handle, int device, bool *ret_is_new);

/* Removes the context and returns its data. The number is 0 if the context was not known. */
struct gmt_context gmt_contexts_end(uint64_t handle);

/* Adds the context again, because the program's call failed to end it. */
void gmt_contexts_restore(uint64_t handle, const struct gmt_context *context);

/*
 * Count the references that cuCtxAttach adds and cuCtxDetach removes. gmt_contexts_detach returns
 * true if it removed the last reference.
 */
void gmt_contexts_attach(uint64_t handle);
bool gmt_contexts_detach(uint64_t handle);

/*
 * Returns the handle of a device's primary context. Returns 0 if the primary context was not seen.
 */
uint64_t gmt_contexts_primary(int device);
void gmt_contexts_set_primary(int device, uint64_t handle);

/*
 * Adds or removes a view: the CUcontext handle that the driver returns for a green context
 * (cuCtxFromGreenCtx). Calls that use the view run in the device's primary context.
 */
void gmt_contexts_add_view(uint64_t view, int device);
void gmt_contexts_remove_view(uint64_t view);

/*
 * Returns the context that owns objects made while `handle` is current. This is the primary context
 * if `handle` is a view and the primary context is known. Otherwise it is `handle` itself.
 */
uint64_t gmt_contexts_resolve_view(uint64_t handle);

/* Same as above, but returns the data of the context. The number is 0 if it was not seen yet. */
struct gmt_context gmt_contexts_find(uint64_t handle);

/* Sets a function that a thread calls when it sees a context for the first time. */
void gmt_contexts_on_new(void (*work)(void));

/* Returns whether any context was ever seen. */
bool gmt_contexts_seen_any(void);

/*
 * Returns the handle of a context of that device that is not its primary context. Returns 0 if no
 * such context is known.
 */
uint64_t gmt_contexts_of_device(int device);

/*
 * For the sampler: keeps all contexts alive until gmt_contexts_release_all, which must follow soon.
 * Returns false if a context may be ending right now.
 */
bool gmt_contexts_hold_all(void);
void gmt_contexts_release_all(void);

/*
 * Surround a call of the program that may end a context, and the removal of the context.
 * gmt_contexts_block_sampler waits until the sampler has released all contexts, for a limited time.
 */
void gmt_contexts_block_sampler(void);
void gmt_contexts_unblock_sampler(void);

#endif
