/* SPDX-License-Identifier: MIT */
/* Finds the recordings that `top` shows. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/pages.h"
#include "base/text.h"
#include "tools/live/live_target.h"
#include "tools/output/exit_codes.h"
#include "tools/output/message.h"
#include "tools/recordings/running_processes.h"

static struct gmt_live_target *add_target(struct gmt_live_targets *targets, const char *path,
	uint32_t pid)
{
	struct gmt_live_target *target = gmt_pages_grow(NULL, 0, sizeof(*target));
	struct gmt_live_target **slot = target ? gmt_vec_push(targets) : NULL;

	if (!slot) {
		gmt_pages_free(target, sizeof(*target));
		return NULL;
	}
	gmt_text_copy(target->path, sizeof(target->path), path);
	target->pid = pid;
	*slot = target;
	return target;
}

static void remove_target(struct gmt_live_targets *targets, size_t index)
{
	struct gmt_live_target *target = targets->items[index];

	gmt_live_target_fini(target);
	gmt_pages_free(target, sizeof(*target));
	memmove(&targets->items[index], &targets->items[index + 1],
		(targets->count - index - 1) * sizeof(*targets->items));
	targets->count--;
}

struct search {
	struct gmt_live_targets *targets;
	bool has_failed;
};

static bool visit_process(void *context, const struct gmt_running_process *running)
{
	struct search *search = context;
	struct gmt_live_target *target = NULL;

	for (size_t i = 0; i < search->targets->count && !target; i++)
		if (strcmp(search->targets->items[i]->path, running->control.path) == 0)
			target = search->targets->items[i];
	if (!target)
		target = add_target(search->targets, running->control.path, running->pid);
	if (target)
		target->is_listed = true;
	search->has_failed = !target;
	return target;
}

bool gmt_live_targets_find(struct gmt_live_targets *targets)
{
	struct search search = { .targets = targets };

	for (size_t i = 0; i < targets->count; i++)
		targets->items[i]->is_listed = false;
	gmt_running_processes_each(visit_process, &search);
	for (size_t i = targets->count; i-- > 0;)
		if (!targets->items[i]->is_listed)
			remove_target(targets, i);
	return !search.has_failed;
}

struct wanted {
	uint64_t pid;
	char path[GMT_CONTROL_PATH_BYTES];
};

static bool is_wanted(void *context, const struct gmt_running_process *running)
{
	struct wanted *wanted = context;

	if (running->pid != wanted->pid)
		return true;
	gmt_text_copy(wanted->path, sizeof(wanted->path), running->control.path);
	return false;
}

int gmt_live_targets_add(struct gmt_live_targets *targets, const char *operand)
{
	struct wanted wanted = { 0 };
	char whole[PATH_MAX];

	if (strcmp(operand, "-") == 0) {
		gmt_message_error("top: `-`: a pipe has no end to wait for: name the file");
		return GMT_EXIT_USAGE;
	}
	if (gmt_text_parse_u64(operand, &wanted.pid)) {
		gmt_running_processes_each(is_wanted, &wanted);
		if (!*wanted.path) {
			gmt_message_error("top: none of your processes with id %s is being recorded; "
							  "`gpumemtrace ps` lists those that are",
				operand);
			return GMT_EXIT_UNREADABLE;
		}
		operand = wanted.path;
	} else if (realpath(operand, whole)) {
		operand = whole;
	}
	if (!add_target(targets, operand, (uint32_t)wanted.pid)) {
		gmt_message_error("top: out of memory");
		return GMT_EXIT_UNREADABLE;
	}
	return 0;
}

void gmt_live_targets_fini(struct gmt_live_targets *targets)
{
	while (targets->count)
		remove_target(targets, targets->count - 1);
	gmt_vec_fini(targets);
}
