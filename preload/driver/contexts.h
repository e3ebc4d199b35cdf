/* SPDX-License-Identifier: MIT */
#ifndef GMT_DRIVER_CONTEXTS_H
#define GMT_DRIVER_CONTEXTS_H

/*
 * The numbers of the process's CUDA contexts. The driver uses a handle again, that of a device's primary
 * context even always; a number belongs to one context from its first sight to its end. Any thread;
 * looking up takes no lock.
 */

#include <stdbool.h>
#include <stdint.h>

struct gmt_context {
	int16_t device;  /* ordinal, or GMT_DEVICE_UNKNOWN */
	uint16_t number; /* from 1; 0: none */
};

/*
 * The context's number, a new one where it has none yet. 0 when there are too many. `ret_is_new` may be NULL;
 * else *ret_is_new says whether nobody asked so before: another thread may use a context before the one that
 * made it comes to tell of it.
 */
uint16_t gmt_contexts_add(uint64_t handle, int device, bool *ret_is_new);

/* The context ends: what it was, which nobody finds from now on. Its number is 0 when it was not known. */
struct gmt_context gmt_contexts_end(uint64_t handle);

/* It did not end after all. */
void gmt_contexts_restore(uint64_t handle, const struct gmt_context *context);

/* The old kind of reference: attached to once more; detached, true when it was for the last time. */
void gmt_contexts_attach(uint64_t handle);
bool gmt_contexts_detach(uint64_t handle);

/* Handle of a device's primary context; 0: none was seen. */
uint64_t gmt_contexts_primary(int device);
void gmt_contexts_set_primary(int device, uint64_t handle);

/*
 * The view of a green context, on that device, through which calls are made in the primary context; from
 * now on, and not any more.
 */
void gmt_contexts_add_view(uint64_t view, int device);
void gmt_contexts_remove_view(uint64_t view);

/* The context that has what is made in this one: of a view, the primary one where it is known. */
uint64_t gmt_contexts_owner(uint64_t handle);

/* That one; its number is 0 when it was not seen yet. */
struct gmt_context gmt_contexts_find_owner(uint64_t handle);

/* `work` is called when a context is seen for the first time, by the thread that sees it, from now on. */
void gmt_contexts_call_at_new(void (*work)(void));

/* Whether there ever was one. */
bool gmt_contexts_were_seen(void);

/* Handle of a context of that device which is not its primary one; 0: none is known. */
uint64_t gmt_contexts_of_device(int device);

/*
 * For the sampler: no context ends until it lets go, soon. False: one may be ending just now.
 */
bool gmt_contexts_hold(void);
void gmt_contexts_release(void);

/*
 * Around a call of the program's that may end a context, and what is written down of that here. The first waits for
 * the sampler, but not for long.
 */
void gmt_contexts_ending_begins(void);
void gmt_contexts_ending_ends(void);

/* In the child of a fork: who was writing is not there any more. */
void gmt_contexts_reset_locks(void);

#endif
