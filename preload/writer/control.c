/* SPDX-License-Identifier: MIT */
#include "writer/control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "system/file_identity.h"
#include "system/file_lock.h"
#include "system/process_start.h"
#include "system/runtime_folder.h"
#include "runtime/config.h"
#include "runtime/descriptor.h"
#include "producer/clock.h"
#include "producer/event.h"
#include "files/folder.h"
#include "writer/snapshots.h"
#include "shared_memory/control_page.h"
#include "runtime/stages.h"

enum { TRIES = 16 }; /* names that are tried in one folder */

static struct {
	struct gmt_control_page *page; /* NULL: there is none */
	enum gmt_mode mode; /* the mode that the page shows */
	int fd;
	struct gmt_file_identity file;
	int folder; /* files/folder.h */
	char path[4352];
} control = { .fd = -1, .folder = -1 };

/* Returns whether the process that made the control file is dead: its lock is then free. */
static bool is_orphan(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	bool is_free = fd >= 0 && gmt_file_lock(fd);

	if (fd >= 0)
		close(fd);
	return is_free;
}

/*
 * Creates the control file. Its name is the process id. A process with the same id may live in
 * another container. Then its file stays, and this file gets a number after the id. Replaces the
 * file of a dead process.
 */
static int create(const char *folder)
{
	for (unsigned try = 0; try < TRIES; try++) {
		char suffix[16] = "";

		if (try)
			snprintf(suffix, sizeof(suffix), "-%u", try);
		snprintf(control.path, sizeof(control.path), "%s/%u%s.control", folder, (unsigned)getpid(),
			suffix);
		if (is_orphan(control.path))
			unlink(control.path);

		int fd = open(control.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd >= 0 || errno != EEXIST)
			return fd;
	}
	return -1;
}

static bool map(int fd)
{
	void *page;

	/* Allocate the space first: a write to a hole in a full tmpfs would cause SIGBUS. */
	if (!gmt_file_lock(fd) || posix_fallocate(fd, 0, sizeof(struct gmt_control_page)))
		return false;
	page = mmap(NULL, sizeof(struct gmt_control_page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return false;
	madvise(page, sizeof(struct gmt_control_page), MADV_DONTDUMP);
	control.page = page;
	return true;
}

static void write_mode(enum gmt_mode mode)
{
	static const char *const names[] = {
		[GMT_MODE_FULL] = "full",
		[GMT_MODE_WINDOW] = "window",
		[GMT_MODE_AGGREGATE] = "aggregate",
	};

	control.mode = mode;
	snprintf(control.page->mode, sizeof(control.page->mode), "%s", names[mode]);
}

static void fill_in(const struct gmt_recording_state *recording)
{
	struct gmt_control_page *page = control.page;

	page->version = GMT_CONTROL_VERSION;
	page->pid = (uint32_t)getpid();
	page->start_ticks = gmt_process_start_ticks(getpid());
	page->start_time_ns = gmt_clock_start.realtime_ns;
	write_mode(gmt_config.mode);
	snprintf(page->program, sizeof(page->program), "%s", recording->identity.program);
	/* Use an absolute path, because a reader has another current folder. */
	if (recording->path[0] == '/' || !getcwd(page->path, sizeof(page->path)))
		page->path[0] = 0;
	size_t length = strlen(page->path);
	snprintf(page->path + length, sizeof(page->path) - length, "%s%s", length ? "/" : "",
		recording->path);
	atomic_store(&page->state,
		gmt_event_stacks_are_paused() ? GMT_CONTROL_PAUSED : GMT_CONTROL_RECORDING);
	atomic_store(&page->updated_ns, gmt_clock_monotonic_ns());
	/* Write the magic last: readers ignore a page without it. */
	atomic_thread_fence(memory_order_release);
	memcpy(page->magic, GMT_CONTROL_MAGIC, sizeof(page->magic));
}

void gmt_control_open(const struct gmt_recording_state *recording)
{
	char folder[4096];

	control.page = NULL;
	if (!gmt_descriptor_may_make_file(sizeof(struct gmt_control_page)))
		return;
	for (int kind = 0; kind < GMT_RUNTIME_FOLDERS && !control.page; kind++) {
		if (!gmt_runtime_folder((enum gmt_runtime_folder_kind)kind, gmt_config.runtime_folder, true,
				folder, sizeof(folder)))
			continue;

		int fd = create(folder);
		if (fd < 0)
			continue;
		control.fd = gmt_descriptor_move_high(fd);
		gmt_file_identity_of(control.fd, &control.file);
		if (map(control.fd)) {
			control.folder = gmt_folder_open(folder);
			break;
		}
		unlink(control.path);
		close(control.fd);
		control.fd = -1;
	}
	if (control.page)
		fill_in(recording);
}

static void publish(const struct gmt_stream *stream)
{
	struct gmt_control_page *page = control.page;
	uint32_t state = stream->has_failed ? GMT_CONTROL_STOPPED
		: gmt_event_stacks_are_paused() ? GMT_CONTROL_PAUSED
										: GMT_CONTROL_RECORDING;

	atomic_store_explicit(&page->state, state, memory_order_relaxed);
	atomic_store_explicit(&page->threads, stream->threads, memory_order_relaxed);
	atomic_store_explicit(&page->events, stream->events, memory_order_relaxed);
	atomic_store_explicit(&page->dropped, stream->dropped, memory_order_relaxed);
	atomic_store_explicit(&page->file_bytes, gmt_sink_written_bytes(stream->sink),
		memory_order_relaxed);
	atomic_store_explicit(&page->snapshots, gmt_snapshots_count(), memory_order_relaxed);
	atomic_store_explicit(&page->updated_ns, gmt_clock_monotonic_ns(), memory_order_relaxed);
}

static void finish_request(bool has_failed, const char *answer)
{
	struct gmt_control_page *page = control.page;
	uint32_t at_work = GMT_CONTROL_AT_WORK;

	page->has_failed = has_failed;
	snprintf(page->answer, sizeof(page->answer), "%s", answer);
	/*
	 * Pairs with the acquire of the reader. A reader that no longer waits has set the turn to IDLE.
	 */
	atomic_compare_exchange_strong_explicit(&page->turn, &at_work, GMT_CONTROL_ANSWERED,
		memory_order_release, memory_order_relaxed);
}

static void set_paused(bool pause)
{
	gmt_event_pause_stacks(pause);
	finish_request(false, pause ? "paused" : "resumed");
}

/* Answers the request for a snapshot. */
static void answer_snapshot(const char *path, const char *why)
{
	if (control.page)
		finish_request(!path, path ? path : why);
}

static void handle_request(void)
{
	/* Static, because stacks may be small; there is only one caller. */
	static char path[GMT_CONTROL_PATH_BYTES];
	struct gmt_control_page *page = control.page;
	uint32_t asked = GMT_CONTROL_REQUESTED;

	/* Pairs with the release of the reader, which has written verb and argument before that. */
	if (!atomic_compare_exchange_strong_explicit(&page->turn, &asked, GMT_CONTROL_AT_WORK,
			memory_order_acquire, memory_order_relaxed))
		return;
	snprintf(path, sizeof(path), "%.*s", (int)sizeof(path) - 1, page->argument);
	switch (page->verb) {
	case GMT_CONTROL_SNAPSHOT:
		gmt_snapshots_request_for_reader(path, answer_snapshot);
		break;
	case GMT_CONTROL_PAUSE:
		set_paused(true);
		break;
	case GMT_CONTROL_RESUME:
		set_paused(false);
		break;
	default:
		finish_request(true, "the recorder has another version and does not know this request");
	}
}

void gmt_control_round(const struct gmt_stream *stream, enum gmt_mode mode)
{
	if (!control.page)
		return;
	if (mode != control.mode)
		write_mode(mode);
	publish(stream);
	handle_request();
}

/* Unmaps and closes the control file. Does not remove it: after a fork, it is the parent's. */
static void close_page(void)
{
	if (control.page)
		munmap(control.page, sizeof(*control.page));
	control.page = NULL;
	control.folder = -1;
	gmt_descriptor_close(&control.fd, &control.file);
}

void gmt_control_close(void)
{
	if (!control.page)
		return;
	atomic_store(&control.page->state, GMT_CONTROL_ENDED);
	gmt_folder_unlink(control.folder, control.path);
	gmt_folder_close(&control.folder);
	close_page();
}

GMT_AT_STAGE(after_fork, WRITER, close_page);
