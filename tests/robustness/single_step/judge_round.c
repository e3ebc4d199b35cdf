/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "judge_parts.h"
#include "format/format.h"

/* The reasons by number of the loss; NULL: the loss of a stack only. */
static const char *const loss_reasons[] = {
#define GMT_LOSS(name, reason) reason,
#include "format/losses.def"
#undef GMT_LOSS
};

enum { LOSSES = sizeof(loss_reasons) / sizeof(*loss_reasons) };

/*
 * Maps the file if it is the memory of this recording. A process of an earlier run may have had the
 * same process number.
 */
static const struct gmt_shared_recording_header *map_memory(const char *path, const char *recording)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct gmt_shared_recording_header *head =
		fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(*head), PROT_READ, MAP_SHARED, fd, 0);
	void *all = MAP_FAILED;
	struct stat status;

	if (head != MAP_FAILED && !fstat(fd, &status) && (uint64_t)status.st_size >= sizeof(*head) &&
		!memcmp(head->magic, GMT_SHARED_RECORDING_MAGIC, sizeof(head->magic)) &&
		!strcmp(head->owner.path, recording) && head->size_bytes <= (uint64_t)status.st_size)
		all = mmap(NULL, head->size_bytes, PROT_READ, MAP_SHARED, fd, 0);
	if (head != MAP_FAILED)
		munmap(head, sizeof(*head));
	if (fd >= 0)
		close(fd);
	return all == MAP_FAILED ? NULL : all;
}

bool judge_memory_open(struct judge_memory *memory, pid_t pid, const char *recording)
{
	char folder[64], prefix[32];
	struct dirent *entry;
	DIR *entries;

	*memory = (struct judge_memory){ .header = NULL };
	snprintf(folder, sizeof(folder), "/dev/shm/gpumemtrace-%u", (unsigned)getuid());
	snprintf(prefix, sizeof(prefix), "%d.", (int)pid);
	entries = opendir(folder);
	while (entries && !memory->header && (entry = readdir(entries))) {
		if (strncmp(entry->d_name, prefix, strlen(prefix)))
			continue;
		snprintf(memory->path, sizeof(memory->path), "%s/%s", folder, entry->d_name);
		memory->header = map_memory(memory->path, recording);
	}
	if (entries)
		closedir(entries);
	return memory->header != NULL;
}

void judge_memory_remove(struct judge_memory *memory)
{
	judge_memory_close(memory);
	unlink(memory->path);
}

void judge_memory_close(struct judge_memory *memory)
{
	if (memory->header)
		munmap((void *)(uintptr_t)memory->header, memory->header->size_bytes);
	memory->header = NULL;
}

static const struct gmt_ring *first_ring(const struct judge_memory *memory)
{
	return (const void *)((const char *)memory->header + memory->header->rings_offset);
}

struct judge_counts judge_memory_counts(const struct judge_memory *memory)
{
	struct judge_counts counts = { .published = first_ring(memory)->published };

	for (unsigned i = 0; i < LOSSES; i++)
		counts.lost += loss_reasons[i] ? memory->header->losses[i] : 0;
	for (unsigned i = 0; i < GMT_DROP_COUNT; i++)
		counts.lost += first_ring(memory)->dropped[i];
	return counts;
}

/*
 * Checks the stack of an event. A place of the program always has the same stack. The stepped call
 * has one stack for each way, unless a jump left it.
 */
static void check_stack(struct checklist *list, const struct gmt_ring_event *event,
	struct judge_stacks *stacks, unsigned way, bool may_lack_stack)
{
	uint64_t place = (event->size_bytes - STEP_OF_PROGRAM) / STEP_PLACE_BYTES;

	if (event->size_bytes < STEP_OF_PROGRAM || place >= STEP_PLACES)
		return;

	uint32_t *known = &stacks->ids[place ? STEP_PLACES + place : way];

	if (!event->stack && !place && may_lack_stack)
		return;
	if (!event->stack)
		checklist_wrong(list, "the allocation of place %" PRIu64 " has no stack", place);
	else if (*known && *known != event->stack)
		checklist_wrong(list,
			"the allocation of place %" PRIu64 " has another stack than before (%" PRIu32
			", %" PRIu32 ")",
			place, event->stack, *known);
	else
		*known = event->stack;
}

void judge_round(const struct judge_memory *memory, const struct judge_counts *before,
	const struct judge_calls *calls, const struct judge_allowance *allowance,
	struct judge_stacks *stacks, unsigned way, char ret_text[JUDGE_TEXT_BYTES])
{
	const struct gmt_ring *ring = first_ring(memory);
	struct judge_counts now = judge_memory_counts(memory);
	struct checklist list;

	checklist_begin(&list, calls, ret_text);
	for (uint64_t i = before->published; i < now.published; i++) {
		const struct gmt_ring_event *event = &ring->events[i & (ring->capacity - 1)];

		if (event->layer != GMT_LAYER_CUDA ||
			(event->kind != GMT_KIND_ALLOC && event->kind != GMT_KIND_FREE))
			continue;
		checklist_event(&list, event->kind == GMT_KIND_ALLOC, event->address, event->size_bytes);
		if (stacks && event->kind == GMT_KIND_ALLOC)
			check_stack(&list, event, stacks, way, allowance->missing_program_calls != 0);
	}
	checklist_end(&list, now.lost - before->lost, allowance);
}
