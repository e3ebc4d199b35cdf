/* SPDX-License-Identifier: MIT */
#ifndef GMT_RUNTIME_STAGES_H
#define GMT_RUNTIME_STAGES_H

/*
 * Stages in the life of a process, and the work of each file at a stage. A file registers its work
 * next to the state that the work changes:
 *
 *	GMT_AT_STAGE(after_fork, DRIVER, after_fork);
 *
 * So each file resets its own state, and a lower folder does not depend on a higher one. The linker
 * collects the entries of each stage in one section. The stages are:
 *
 *   initialize      before the first use of the recorder (runtime/initialize.h)
 *   driver_found    the driver's library is known; queries look for their functions
 *   driver_reached  the program has called cuInit or cuGetProcAddress with success
 *   thread_end      in a thread that has a ring and ends: release what belongs to it
 *   before_fork     a fork follows: take the locks that a child must find free
 *   fork_parent     the fork is done, in the parent: release these locks
 *   after_fork      in the child: release all that belongs to the parent
 *
 * Work at a stage takes no arguments. It must not depend on other work of the same folder in
 * enum gmt_stage_order, because the linker decides the order within a folder.
 */

#include <stdint.h>

/*
 * The folders of preload/, lowest first. Work runs in this order, before_fork in the opposite one.
 */
enum gmt_stage_order {
	GMT_STAGE_RUNTIME,
	GMT_STAGE_HOOKS,
	GMT_STAGE_INTERPOSE,
	GMT_STAGE_UNWIND,
	GMT_STAGE_PYTHON,
	GMT_STAGE_THREAD, /* the calling thread's state, which all folders below this line may read */
	GMT_STAGE_PRODUCER,
	GMT_STAGE_DRIVER,
	GMT_STAGE_WRITER,
	GMT_STAGE_MARKS,
	GMT_STAGE_LIFECYCLE,
	GMT_STAGE_COUNT,
};

struct gmt_stage_work {
	void (*work)(void);
	uintptr_t order; /* enum gmt_stage_order */
};

/* Registers a function for a stage. At file scope, once per function and stage. */
#define GMT_AT_STAGE(stage, folder, function) \
	static const struct gmt_stage_work gmt_at_##stage##_##function \
		__attribute__((used, section("gmt_at_" #stage))) = { function, GMT_STAGE_##folder }

/* Both are NULL if no file has work at this stage. */
#define GMT_STAGE_BOUNDS(stage) \
	extern const struct gmt_stage_work __start_gmt_at_##stage[] \
		__attribute__((weak, visibility("hidden"))); \
	extern const struct gmt_stage_work __stop_gmt_at_##stage[] \
		__attribute__((weak, visibility("hidden")))

GMT_STAGE_BOUNDS(initialize);
GMT_STAGE_BOUNDS(driver_found);
GMT_STAGE_BOUNDS(driver_reached);
GMT_STAGE_BOUNDS(thread_end);
GMT_STAGE_BOUNDS(before_fork);
GMT_STAGE_BOUNDS(fork_parent);
GMT_STAGE_BOUNDS(after_fork);

/* Does the work of a stage, the lowest folder first. */
#define GMT_RUN_STAGE(stage) gmt_stage_run(__start_gmt_at_##stage, __stop_gmt_at_##stage)
/* Does the work of a stage, the highest folder first. */
#define GMT_RUN_STAGE_BACKWARDS(stage) \
	gmt_stage_run_backwards(__start_gmt_at_##stage, __stop_gmt_at_##stage)

static inline void gmt_stage_run_folder(const struct gmt_stage_work *first,
	const struct gmt_stage_work *behind, uintptr_t order)
{
	for (const struct gmt_stage_work *entry = first; entry < behind; entry++)
		if (entry->order == order)
			entry->work();
}

static inline void gmt_stage_run(const struct gmt_stage_work *first,
	const struct gmt_stage_work *behind)
{
	for (uintptr_t order = 0; order < GMT_STAGE_COUNT; order++)
		gmt_stage_run_folder(first, behind, order);
}

static inline void gmt_stage_run_backwards(const struct gmt_stage_work *first,
	const struct gmt_stage_work *behind)
{
	for (uintptr_t order = GMT_STAGE_COUNT; order-- > 0;)
		gmt_stage_run_folder(first, behind, order);
}

#endif
