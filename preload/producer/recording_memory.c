/* SPDX-License-Identifier: MIT */
#include "producer/recording_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "system/file_lock.h"
#include "system/runtime_folder.h"
#include "runtime/config.h"
#include "runtime/descriptor.h"
#include "runtime/log.h"
#include "files/folder.h"
#include "files/remove_dead_recordings.h"
#include "shared_memory/shared_recording_owner.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum {
	PAGE_BYTES = 65536, /* the largest page of all supported machines */
	DEPOT_FIRST_BYTES = 4 << 20,
	DEPOT_STEP_BYTES = 2 << 20,
	PREAMBLE_BYTES = 2 * PAGE_BYTES,
	POPULATE_TRIES = 100, /* if signals interrupt it */
	/* More than the definitions between two sync points (writer/stream.c) */
	JOURNAL_BYTES = 2 << 20,
};

/*
 * Sizes of the mapping. They are address space: only used parts take memory. `tight_size` is for
 * processes with a small RLIMIT_AS.
 */
static const struct memory_size {
	uint64_t depot_bytes;
	uint32_t slots;
} tight_size = { 16 << 20, 32 };

/*
 * The recorder's other memory: tables, buffers, memory of the compressor
 * (docs/internals/bounds.md).
 */
#define OTHER_BYTES ((uint64_t)16 << 20)

static struct memory_size wanted_size(void)
{
	uint64_t bytes =
		gmt_config.memory_bytes > OTHER_BYTES ? gmt_config.memory_bytes - OTHER_BYTES : 0;

	if (bytes < DEPOT_FIRST_BYTES)
		bytes = DEPOT_FIRST_BYTES;
	return (struct memory_size){ bytes & ~(uint64_t)(PAGE_BYTES - 1), GMT_RECORDING_MEMORY_RINGS };
}

static uint64_t page_aligned(uint64_t bytes)
{
	return (bytes + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);
}

/*
 * Replaces a part of the mapping by anonymous memory, because the file cannot grow. If the process
 * is killed, the content of this part is lost. This is better than no recording.
 */
static bool replace_by_anonymous(struct gmt_recording_memory *memory, uint64_t offset,
	uint64_t bytes)
{
	char *start = (char *)memory->header + offset;
	int kept_errno = errno;

	if (mmap(start, bytes, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
		return false;
	madvise(start, bytes, MADV_DONTDUMP);
	errno = kept_errno;
	gmt_log_fault(memory->path,
		"%s; part of the recorder's memory is not in a file: its events are lost if the process is "
		"killed",
		strerror(errno));
	return true;
}

/*
 * Allocates in a thread whose descriptor table lacks the file. The kernel creates the pages that a
 * write would create, and reports a failure.
 */
static bool allocate_without_descriptor(struct gmt_recording_memory *memory, uint64_t offset,
	uint64_t bytes)
{
	char *start = (char *)memory->header + offset;

	if (mprotect(start, bytes, PROT_READ | PROT_WRITE))
		return false;
	for (int tries = 0; madvise(start, bytes, MADV_POPULATE_WRITE); tries++)
		if ((errno != EINTR && errno != EAGAIN) || tries == POPULATE_TRIES) {
			int kept_errno = errno == EFAULT ? ENOSPC : errno;

			mprotect(start, bytes, PROT_NONE);
			errno = kept_errno;
			return false;
		}
	return true;
}

/*
 * Allocates disk space first and then makes it writable: a write to a hole of a full tmpfs raises
 * SIGBUS.
 */
static bool allocate(struct gmt_recording_memory *memory, uint64_t offset, uint64_t bytes)
{
	int failure = 0;

	if (memory->fd >= 0 && gmt_descriptor_is_elsewhere())
		return allocate_without_descriptor(memory, offset, bytes);
	if (memory->fd >= 0) {
		if (!gmt_file_identity_matches(memory->fd, &memory->file)) {
			errno = EBADF;
			return false;
		}
		do
			failure = posix_fallocate(memory->fd, (off_t)offset, (off_t)bytes);
		while (failure == EINTR);
	}
	errno = failure;
	return !failure && !mprotect((char *)memory->header + offset, bytes, PROT_READ | PROT_WRITE);
}

static uint64_t ring_stride(void)
{
	return page_aligned(gmt_ring_size_bytes(GMT_RECORDING_MEMORY_RING_EVENTS));
}

static uint64_t depot_offset(void)
{
	return page_aligned(sizeof(struct gmt_shared_recording_header)) + PREAMBLE_BYTES +
		JOURNAL_BYTES;
}

static uint64_t memory_bytes(const struct memory_size *size)
{
	return depot_offset() + size->depot_bytes + ring_stride() * size->slots;
}

/* Fills the header, except the owner and the magic. The magic says that the header is complete. */
static void fill_header(struct gmt_shared_recording_header *header, const struct memory_size *size)
{
	header->version = GMT_SHARED_RECORDING_VERSION;
	header->slots = size->slots;
	header->size_bytes = memory_bytes(size);
	header->preamble_offset = page_aligned(sizeof(*header));
	header->preamble_bytes = PREAMBLE_BYTES;
	header->journal_offset = header->preamble_offset + PREAMBLE_BYTES;
	header->journal_bytes = JOURNAL_BYTES;
	header->depot_offset = depot_offset();
	header->depot_bytes = size->depot_bytes;
	header->rings_offset = depot_offset() + size->depot_bytes;
	header->ring_stride = ring_stride();
}

/* Maps the file of memory->fd, or anonymous memory if memory->fd is -1. */
static bool map(struct gmt_recording_memory *memory, const struct memory_size *size)
{
	int sharing = MAP_SHARED | MAP_NORESERVE | (memory->fd < 0 ? MAP_ANONYMOUS : 0);

	memory->size_bytes = memory_bytes(size);
	if (memory->fd >= 0 && ftruncate(memory->fd, (off_t)memory->size_bytes))
		return false;

	/*
	 * The mapping is inaccessible until it is allocated. So an mlockall() of the host does not make
	 * all of it resident.
	 */
	void *start = mmap(NULL, memory->size_bytes, PROT_NONE, sharing, memory->fd, 0);
	if (start == MAP_FAILED)
		return false;
	memory->header = start;
	if (!allocate(memory, 0, depot_offset() + DEPOT_FIRST_BYTES)) {
		munmap(start, memory->size_bytes);
		memory->header = NULL;
		return false;
	}
	/* Keeps the recorder's memory out of the host's core dumps. */
	madvise(start, memory->size_bytes, MADV_DONTDUMP);

	fill_header(memory->header, size);
	atomic_store(&memory->depot_ready_bytes, DEPOT_FIRST_BYTES);
	return true;
}

static bool map_any_size(struct gmt_recording_memory *memory)
{
	struct memory_size wanted = wanted_size();

	return map(memory, &wanted) || map(memory, &tight_size);
}

void gmt_recording_memory_sign(struct gmt_recording_memory *memory,
	const struct gmt_shared_recording_owner *owner)
{
	memory->header->owner = *owner;
	atomic_thread_fence(memory_order_release);
	memcpy(memory->header->magic, GMT_SHARED_RECORDING_MAGIC, sizeof(memory->header->magic));
}

/*
 * Creates the file in `folder` and maps it. The name contains the start time, because a process in
 * another container may have the same process id.
 */
static bool open_in(struct gmt_recording_memory *memory, const char *folder, const char *prefix,
	const struct gmt_shared_recording_owner *owner)
{
	snprintf(memory->path, sizeof(memory->path), "%s/%s%" PRIu32 ".%" PRIx64 ".area", folder,
		prefix, owner->pid, owner->start_time_ns);
	memory->fd = open(memory->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (memory->fd < 0)
		return false;
	memory->folder = gmt_folder_open(folder);
	memory->fd = gmt_descriptor_move_high(memory->fd);
	gmt_file_identity_of(memory->fd, &memory->file);
	gmt_file_lock(memory->fd);
	if (map_any_size(memory))
		return true;

	int kept_errno = errno;
	close(memory->fd);
	unlink(memory->path);
	gmt_folder_close(&memory->folder);
	errno = kept_errno;
	return false;
}

bool gmt_recording_memory_open_in_memory(struct gmt_recording_memory *ret_memory, char *ret_why,
	uint32_t why_bytes)
{
	memset(ret_memory, 0, sizeof(*ret_memory));
	ret_memory->fd = ret_memory->folder = -1;
	if (map_any_size(ret_memory))
		return true;
	snprintf(ret_why, why_bytes, "no memory for the recorder: %s", strerror(errno));
	return false;
}

bool gmt_recording_memory_open(struct gmt_recording_memory *ret_memory,
	const struct gmt_shared_recording_owner *owner, const char *fallback_folder, char *ret_why,
	uint32_t why_bytes)
{
	static char whole_path[PATH_MAX]; /* static: there is one caller, and stacks may be small */
	struct memory_size wanted = wanted_size();
	char folder[128];

	memset(ret_memory, 0, sizeof(*ret_memory));
	ret_memory->fd = ret_memory->folder = -1;
	if (!gmt_descriptor_may_make_file(memory_bytes(&wanted))) {
		/*
		 * Prints no message: no data is lost so far, and the snapshot prints a message when it
		 * reaches the limit.
		 */
		gmt_log_note_recording("the recorder's memory is not in a file, because of RLIMIT_FSIZE: "
							   "events that are not yet written are lost if the process is killed");
		return gmt_recording_memory_open_in_memory(ret_memory, ret_why, why_bytes);
	}
	if (gmt_runtime_folder(GMT_RUNTIME_SHM, NULL, true, folder, sizeof(folder))) {
		gmt_remove_dead_recordings(folder);
		if (open_in(ret_memory, folder, "", owner))
			return true;
	}
	/* Uses the absolute path: the host may change its working directory before the process ends. */
	if (realpath(fallback_folder, whole_path)) {
		gmt_remove_dead_recordings(whole_path);
		if (open_in(ret_memory, whole_path, ".gpumemtrace-", owner))
			return true;
	}

	const char *why = strerror(errno);
	if (!gmt_recording_memory_open_in_memory(ret_memory, ret_why, why_bytes))
		return false;
	gmt_log_fault(NULL,
		"the recorder's memory is not in a file, because /dev/shm and the recording's folder "
		"refuse it (%s): events that are not yet written are lost if the process is killed",
		why);
	return true;
}

void *gmt_recording_memory_journal(const struct gmt_recording_memory *memory)
{
	return (char *)memory->header + memory->header->journal_offset;
}

void gmt_recording_memory_add_to_preamble(struct gmt_recording_memory *memory, const void *blocks,
	size_t bytes)
{
	struct gmt_shared_recording_preamble *preamble =
		(void *)((char *)memory->header + memory->header->preamble_offset);
	uint64_t used = atomic_load_explicit(&preamble->used_bytes, memory_order_relaxed);

	if (bytes > memory->header->preamble_bytes - sizeof(*preamble) - used)
		return;
	memcpy(preamble->blocks + used, blocks, bytes);
	atomic_store_explicit(&preamble->used_bytes, used + bytes, memory_order_release);
}

void *gmt_recording_memory_depot(const struct gmt_recording_memory *memory)
{
	return (char *)memory->header + memory->header->depot_offset;
}

bool gmt_recording_memory_grow_depot(struct gmt_recording_memory *memory, uint64_t bytes)
{
	uint64_t ready = atomic_load_explicit(&memory->depot_ready_bytes, memory_order_relaxed);

	while (ready < bytes) {
		uint64_t step = memory->header->depot_bytes - ready < DEPOT_STEP_BYTES
			? memory->header->depot_bytes - ready
			: DEPOT_STEP_BYTES;

		uint64_t offset = memory->header->depot_offset + ready;
		if (!step ||
			(!allocate(memory, offset, step) && !replace_by_anonymous(memory, offset, step)))
			return false;
		ready += step;
		atomic_store_explicit(&memory->depot_ready_bytes, ready, memory_order_release);
	}
	return true;
}

struct gmt_ring *gmt_recording_memory_ring(const struct gmt_recording_memory *memory,
	uint32_t index)
{
	return (struct gmt_ring *)((char *)memory->header + memory->header->rings_offset +
		memory->header->ring_stride * index);
}

bool gmt_recording_memory_has_ring(const struct gmt_recording_memory *memory, uint32_t index)
{
	/* Pairs with the release below. */
	return atomic_load_explicit(&memory->ring_ready[index / 64], memory_order_acquire) >>
		(index % 64) &
		1;
}

static bool allocate_ring(struct gmt_recording_memory *memory, uint32_t index)
{
	if (gmt_recording_memory_has_ring(memory, index))
		return true;
	uint64_t offset = memory->header->rings_offset + memory->header->ring_stride * index;
	if (!allocate(memory, offset, memory->header->ring_stride) &&
		!replace_by_anonymous(memory, offset, memory->header->ring_stride))
		return false;
	atomic_fetch_or_explicit(&memory->ring_ready[index / 64], (uint64_t)1 << (index % 64),
		memory_order_release);
	return true;
}

bool gmt_recording_memory_claim_ring(struct gmt_recording_memory *memory, uint32_t *ret_index)
{
	struct gmt_shared_recording_header *header = memory->header;

	for (uint32_t index = 0; index < header->slots; index++) {
		uint32_t expected = GMT_SLOT_FREE;

		/*
		 * Pairs with the writer's release when it frees a slot: the writer's reads of the old ring
		 * are over.
		 */
		if (!atomic_compare_exchange_strong_explicit(&header->slot_states[index], &expected,
				GMT_SLOT_OWNED, memory_order_acquire, memory_order_relaxed))
			continue;
		if (!allocate_ring(memory, index)) {
			atomic_store(&header->slot_states[index], GMT_SLOT_FREE);
			return false;
		}
		*ret_index = index;
		return true;
	}
	return false;
}

void gmt_recording_memory_leave_ring(struct gmt_recording_memory *memory, uint32_t index)
{
	/* Pairs with the writer's acquire: the writer sees everything that the thread pushed before. */
	atomic_store_explicit(&memory->header->slot_states[index], GMT_SLOT_LEFT, memory_order_release);
}

/*
 * Gives the pages of a free ring back to the system. The first rings keep their pages: otherwise
 * each short-lived thread would pay for new pages.
 */
static void release_ring_pages(struct gmt_recording_memory *memory, uint32_t index)
{
	uint64_t offset = memory->header->rings_offset + memory->header->ring_stride * index;

	if (index < GMT_RECORDING_MEMORY_KEPT_RINGS ||
		(memory->fd >= 0 && !gmt_file_identity_matches(memory->fd, &memory->file)))
		return;
	/*
	 * Before the removal: the next thread that claims the slot must allocate the pages again.
	 */
	atomic_fetch_and_explicit(&memory->ring_ready[index / 64], ~((uint64_t)1 << (index % 64)),
		memory_order_relaxed);
	madvise((char *)memory->header + offset, memory->header->ring_stride, MADV_REMOVE);
}

void gmt_recording_memory_free_ring(struct gmt_recording_memory *memory, uint32_t index)
{
	gmt_ring_fini(gmt_recording_memory_ring(memory, index));
	release_ring_pages(memory, index);
	/* Pairs with the acquire in gmt_recording_memory_claim_ring. */
	atomic_store_explicit(&memory->header->slot_states[index], GMT_SLOT_FREE, memory_order_release);
}

/*
 * Asks the kernel whether the thread of the ring has ended. Returns `if_refused` if a sandbox
 * refuses the system call.
 */
static bool has_ended(const struct gmt_ring *ring, bool if_refused)
{
	if (!syscall(SYS_tgkill, getpid(), (pid_t)ring->tid, 0))
		return false;
	return errno == ESRCH || if_refused;
}

bool gmt_recording_memory_has_left_ring(const struct gmt_recording_memory *memory)
{
	uint32_t used = atomic_load_explicit(&memory->header->slots_used, memory_order_acquire);

	for (uint32_t index = 0; index < used; index++)
		if (atomic_load_explicit(&memory->header->slot_states[index], memory_order_relaxed) ==
			GMT_SLOT_LEFT)
			return true;
	return false;
}

bool gmt_recording_memory_may_free_ring(const struct gmt_recording_memory *memory, uint32_t index)
{
	return atomic_load_explicit(&memory->header->slot_states[index], memory_order_acquire) ==
		GMT_SLOT_LEFT &&
		has_ended(gmt_recording_memory_ring(memory, index), true);
}

void gmt_recording_memory_leave_dead_rings(struct gmt_recording_memory *memory)
{
	uint32_t used = atomic_load_explicit(&memory->header->slots_used, memory_order_acquire);

	for (uint32_t index = 0; index < used; index++) {
		const struct gmt_ring *ring = gmt_recording_memory_ring(memory, index);

		if (atomic_load_explicit(&memory->header->slot_states[index], memory_order_acquire) ==
				GMT_SLOT_OWNED &&
			gmt_recording_memory_has_ring(memory, index) && gmt_ring_is_initialized(ring) &&
			has_ended(ring, false))
			gmt_recording_memory_leave_ring(memory, index);
	}
}

bool gmt_recording_memory_remove_name(struct gmt_recording_memory *memory)
{
	bool has_name = memory->fd >= 0 && memory->path[0];

	if (has_name)
		gmt_folder_unlink(memory->folder, memory->path);
	memory->path[0] = 0;
	return has_name;
}

void gmt_recording_memory_unlink(struct gmt_recording_memory *memory)
{
	if (memory->fd < 0)
		return;
	gmt_recording_memory_remove_name(memory);
	gmt_folder_close(&memory->folder);
	gmt_descriptor_close(&memory->fd, &memory->file);
}

void gmt_recording_memory_abandon(struct gmt_recording_memory *memory, bool is_in_use)
{
	/*
	 * Zeros are an empty ring and an empty depot, so code that continues there finds no data.
	 */
	if (memory->header && is_in_use)
		mmap(memory->header, memory->size_bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	else if (memory->header)
		munmap(memory->header, memory->size_bytes);
	gmt_descriptor_close(&memory->fd, &memory->file);
	memset(memory, 0, sizeof(*memory));
	memory->fd = memory->folder = -1;
}
