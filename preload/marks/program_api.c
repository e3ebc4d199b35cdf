/* SPDX-License-Identifier: MIT */
/*
 * The functions that a program calls to mark steps and phases, and to report the blocks of its own
 * pools. include/gpumemtrace.h and python/gpumemtrace call these functions if this library is
 * loaded, and otherwise do nothing.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "runtime/config.h"
#include "runtime/initialize.h"
#include "marks/custom_heaps.h"
#include "marks/open_phases.h"
#include "producer/event.h"
#include "producer/mark.h"
#include "producer/session_state.h"
#include "writer/snapshots.h"

#define EXPORTED __attribute__((visibility("default")))

void gpumemtrace_step(void) EXPORTED;
void gpumemtrace_phase_push(const char *name) EXPORTED;
void gpumemtrace_phase_pop(void) EXPORTED;
void gpumemtrace_mark(const char *name) EXPORTED;
int gpumemtrace_is_recording(void) EXPORTED;
void gpumemtrace_snapshot(const char *name) EXPORTED;
void gpumemtrace_pause(void) EXPORTED;
void gpumemtrace_resume(void) EXPORTED;
unsigned gpumemtrace_heap(const char *name, const void *address, size_t size_bytes) EXPORTED;
void gpumemtrace_heap_resize(unsigned heap, size_t size_bytes) EXPORTED;
void gpumemtrace_heap_reset(unsigned heap) EXPORTED;
void gpumemtrace_heap_end(unsigned heap) EXPORTED;
void gpumemtrace_suballoc(unsigned heap, const void *address, size_t size_bytes,
	const void *stream) EXPORTED;
void gpumemtrace_subfree(unsigned heap, const void *address) EXPORTED;

static size_t length_of(const char *name)
{
	/* One byte more than is kept, so that gmt_mark cuts a longer name. */
	return name ? strnlen(name, GMT_MARK_NAME_BYTES + 1) : 0;
}

void gpumemtrace_step(void)
{
	gmt_initialize();
	gmt_mark(GMT_MARK_KIND_STEP, GMT_MARK_SOURCE_PROGRAM, NULL, 0, 0);
}

void gpumemtrace_phase_push(const char *name)
{
	gmt_initialize();
	gmt_phase_push(GMT_MARK_SOURCE_PROGRAM, name, length_of(name), 0);
}

void gpumemtrace_phase_pop(void)
{
	gmt_phase_pop(GMT_MARK_SOURCE_PROGRAM, 0);
}

void gpumemtrace_mark(const char *name)
{
	gmt_initialize();
	gmt_mark(GMT_MARK_KIND_POINT, GMT_MARK_SOURCE_PROGRAM, name, length_of(name), 0);
}

int gpumemtrace_is_recording(void)
{
	gmt_initialize();
	return gmt_session_may_begin();
}

void gpumemtrace_snapshot(const char *name)
{
	int kept_errno = errno;

	if (gmt_session_is_on())
		gmt_snapshots_request_named(name);
	errno = kept_errno;
}

/* If the recording has not begun, it will begin paused. */
void gpumemtrace_pause(void)
{
	gmt_initialize();
	gmt_config.paused = true;
	gmt_event_pause_stacks(true);
}

void gpumemtrace_resume(void)
{
	gmt_initialize();
	gmt_config.paused = false;
	gmt_event_pause_stacks(false);
}

unsigned gpumemtrace_heap(const char *name, const void *address, size_t size_bytes)
{
	gmt_initialize();
	return gmt_custom_heap_begin(GMT_MARK_SOURCE_PROGRAM, name, length_of(name), (uintptr_t)address,
		size_bytes);
}

void gpumemtrace_heap_resize(unsigned heap, size_t size_bytes)
{
	gmt_custom_heap_resize(heap, size_bytes);
}

void gpumemtrace_heap_reset(unsigned heap)
{
	gmt_custom_heap_reset(heap);
}

void gpumemtrace_heap_end(unsigned heap)
{
	gmt_custom_heap_end(heap);
}

void gpumemtrace_suballoc(unsigned heap, const void *address, size_t size_bytes, const void *stream)
{
	struct gmt_heap_block block = { (uintptr_t)address, size_bytes };

	gmt_custom_heap_alloc(heap, &block, 1, (uintptr_t)stream);
}

/*
 * A program gets number 0 without the recorder, or if it has too many heaps. Heap 0 is not
 * recorded.
 */
void gpumemtrace_subfree(unsigned heap, const void *address)
{
	if (heap)
		gmt_custom_heap_free(heap, (uintptr_t)address);
}
