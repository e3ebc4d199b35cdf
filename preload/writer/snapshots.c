/* SPDX-License-Identifier: MIT */
#include "writer/snapshots.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "system/file_identity.h"
#include "system/recording_name.h"
#include "runtime/config.h"
#include "runtime/descriptor.h"
#include "runtime/stderr_messages.h"
#include "producer/clock.h"
#include "producer/session_state.h"
#include "runtime/stages.h"

enum {
	SLICE_BYTES = 8 << 20, /* maximum bytes copied in one round */
	PART_BYTES = 64 << 10,
	AUTOMATIC_MAX = 16, /* the most snapshots for OOM and PEAK together */
	NAME_TRIES = 10000,
	GZIP_LEVEL = 1,
};

#define BETWEEN_NS UINT64_C(10000000000) /* minimum time between two snapshots for OOM or PEAK */

static const char *const cause_texts[GMT_SNAPSHOT_CAUSES] = {
	[GMT_SNAPSHOT_READER] = "another process requested it",
	[GMT_SNAPSHOT_SIGNAL] = "a signal requested it",
	[GMT_SNAPSHOT_PROGRAM] = "the program requested it",
	[GMT_SNAPSHOT_OOM] = "a request for memory was refused",
	[GMT_SNAPSHOT_PEAK] = "memory in use reached a new peak",
};

static struct {
	_Atomic uint32_t wanted; /* one bit for each cause */
	_Atomic uint32_t is_naming; /* a thread is writing or reading program_name */
	char program_name[128];
} requests;

/* Only the writer's thread uses it. */
static struct {
	bool is_active;
	enum gmt_snapshot_cause cause;
	int from, to;
	struct gmt_file_identity from_file, to_file; /* the files that `from` and `to` must refer to */
	uint64_t length, done;
	struct gmt_snapshot_end {
		uint64_t stamp, events, time_ns;
		uint8_t tail[GMT_SINK_TAIL_BYTES];
	} end;
	const char *recording_path;
	char path[4400]; /* the file's name when it is complete */
	char unfinished[4480]; /* the file's name until it is complete */
	char requested_path[4352];
	/* Receives the result for a reader (GMT_SNAPSHOT_READER). */
	void (*answer)(const char *path, const char *why);
	char name[sizeof(requests.program_name)];
	uint64_t count;
	uint64_t automatic_count;
	uint64_t last_automatic_ns;
	uint64_t peak_bytes[64]; /* of each device, at the last peak that caused a snapshot */
} snapshot = { .from = -1, .to = -1 };

/* Adds a request. Returns false if there is already a request for this cause. */
static bool add_request(enum gmt_snapshot_cause cause)
{
	uint32_t bit = 1U << cause;

	return !(atomic_fetch_or_explicit(&requests.wanted, bit, memory_order_release) & bit);
}

void gmt_snapshots_request(enum gmt_snapshot_cause cause)
{
	if (add_request(cause))
		gmt_writer_calls.wake();
}

void gmt_snapshots_request_named(const char *name)
{
	uint32_t unlocked = 0;

	/* Two requests at one moment cause one snapshot, with one of their names. */
	if (atomic_compare_exchange_strong(&requests.is_naming, &unlocked, 1)) {
		snprintf(requests.program_name, sizeof(requests.program_name), "%s", name ? name : "");
		atomic_store_explicit(&requests.is_naming, 0, memory_order_release);
	}
	gmt_snapshots_request(GMT_SNAPSHOT_PROGRAM);
}

void gmt_snapshots_request_for_reader(const char *path,
	void (*answer)(const char *path, const char *why))
{
	snapshot.answer = answer;
	snprintf(snapshot.requested_path, sizeof(snapshot.requested_path), "%s", path);
	atomic_fetch_or_explicit(&requests.wanted, 1U << GMT_SNAPSHOT_READER, memory_order_relaxed);
}

static bool may_snapshot_automatically(void)
{
	return snapshot.automatic_count < AUTOMATIC_MAX &&
		(!snapshot.automatic_count ||
			gmt_clock_monotonic_ns() - snapshot.last_automatic_ns >= BETWEEN_NS);
}

void gmt_snapshots_note_usage(int16_t device, uint64_t used_bytes)
{
	if (!gmt_config.snapshot_peak_bytes || used_bytes < gmt_config.snapshot_peak_bytes ||
		device < 0 || device >= (int)(sizeof(snapshot.peak_bytes) / sizeof(*snapshot.peak_bytes)))
		return;
	/* A peak counts only if it is more than 5 % higher than the last one. */
	if (used_bytes <= snapshot.peak_bytes[device] + snapshot.peak_bytes[device] / 20 ||
		!may_snapshot_automatically())
		return;
	snapshot.peak_bytes[device] = used_bytes;
	atomic_fetch_or_explicit(&requests.wanted, 1U << GMT_SNAPSHOT_PEAK, memory_order_relaxed);
}

/*
 * Returns the next cause. Requests of users and programs come before the recorder's own snapshots.
 */
static bool next_cause(enum gmt_snapshot_cause *ret_cause)
{
	uint32_t bits = atomic_load_explicit(&requests.wanted, memory_order_acquire);

	if (bits & (1U << GMT_SNAPSHOT_OOM) && !may_snapshot_automatically())
		bits &= ~(1U << GMT_SNAPSHOT_OOM);
	if (!bits)
		return false;
	*ret_cause = (enum gmt_snapshot_cause)__builtin_ctz(bits);
	return true;
}

bool gmt_snapshots_is_due(void)
{
	enum gmt_snapshot_cause cause;

	return !snapshot.is_active && next_cause(&cause);
}

static void close_files(void)
{
	gmt_descriptor_close(&snapshot.from, &snapshot.from_file);
	gmt_descriptor_close(&snapshot.to, &snapshot.to_file);
	snapshot.is_active = false;
}

static void fail(const char *what)
{
	char why[256];

	snprintf(why, sizeof(why), "the snapshot could not be written: %s", what);
	if (snapshot.to >= 0)
		unlink(snapshot.unfinished);
	close_files();
	if (snapshot.cause == GMT_SNAPSHOT_READER)
		snapshot.answer(NULL, why);
	else
		gmt_stderr_warn_kind("a snapshot failed", "%s: %s", snapshot.path, why);
}

/*
 * Returns whether no file has this name. Returns false, with errno, if the name is taken or
 * unusable.
 */
static bool is_free(const char *path)
{
	struct stat status;

	if (!lstat(path, &status))
		errno = EEXIST;
	return errno == ENOENT;
}

/*
 * Chooses a free name: "a.gmt.gz" gives "a.snapshot-1.gmt.gz", or the next free number from
 * `number` on.
 */
static bool take_free_name(const char *path, unsigned number)
{
	const char *suffix = gmt_recording_name_suffix(path);
	int stem = (int)(suffix - path);

	for (; number < NAME_TRIES; number++) {
		snprintf(snapshot.path, sizeof(snapshot.path), "%.*s.snapshot-%u%s", stem, path, number,
			suffix);
		if (is_free(snapshot.path))
			return true;
		if (errno != EEXIST)
			return false;
	}
	return false;
}

/* Returns whether the request names a path. Only requests of a reader may do so. */
static bool has_requested_path(void)
{
	return snapshot.cause == GMT_SNAPSHOT_READER && snapshot.requested_path[0];
}

/*
 * Creates the file under a temporary name. If the process is killed meanwhile, the file does not
 * look like a recording and does not block the final name.
 */
static int create_unfinished(void)
{
	enum { BEHIND = 40 };
	const char *name = strrchr(snapshot.path, '/');
	size_t start = name ? (size_t)(name + 1 - snapshot.path) : 0, length = strlen(snapshot.path);
	int fd = -1;

	/* Shorten the name if it would be too long for file systems. */
	if (length > start + NAME_MAX - BEHIND)
		length = start + NAME_MAX - BEHIND;
	for (unsigned number = 0; number < NAME_TRIES && fd < 0; number++) {
		snprintf(snapshot.unfinished, sizeof(snapshot.unfinished), "%.*s.unfinished-%d-%u",
			(int)length, snapshot.path, (int)getpid(), number);
		fd = open(snapshot.unfinished, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	return fd;
}

static int create(const char *path)
{
	if (!has_requested_path())
		return take_free_name(path, (unsigned)snapshot.count + 1) ? create_unfinished() : -1;
	snprintf(snapshot.path, sizeof(snapshot.path), "%s", snapshot.requested_path);
	return is_free(snapshot.path) ? create_unfinished() : -1;
}

/*
 * Gives the file its final name. link() never replaces a file, but some file systems do not support
 * it.
 */
static bool give_this_name(void)
{
	if (!link(snapshot.unfinished, snapshot.path)) {
		unlink(snapshot.unfinished);
		return true;
	}
	return errno != EEXIST && is_free(snapshot.path) && !rename(snapshot.unfinished, snapshot.path);
}

/*
 * Gives the complete file its name. If the name was taken meanwhile, the function uses the next
 * free name.
 */
static bool give_name(void)
{
	while (!give_this_name())
		if (errno != EEXIST || has_requested_path() ||
			!take_free_name(snapshot.recording_path, (unsigned)snapshot.count + 1))
			return false;
	return true;
}

/*
 * Opens the file again for reading. The stream writes to its own descriptor and may move it to
 * another file.
 */
static int reopen(int fd)
{
	char path[64];

	snprintf(path, sizeof(path), GMT_DESCRIPTOR_PATH, fd);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/*
 * Copies the program's name for the snapshot. Does not wait: if another thread is writing the name,
 * the snapshot has no name.
 */
static void take_program_name(void)
{
	uint32_t unlocked = 0;

	if (!atomic_compare_exchange_strong(&requests.is_naming, &unlocked, 1))
		return;
	snprintf(snapshot.name, sizeof(snapshot.name), "%s", requests.program_name);
	atomic_store_explicit(&requests.is_naming, 0, memory_order_release);
}

void gmt_snapshots_begin(struct gmt_stream *stream)
{
	const struct gmt_recording_state *recording = stream->recording;

	if (snapshot.is_active || !next_cause(&snapshot.cause))
		return;
	atomic_fetch_and_explicit(&requests.wanted, ~(1U << snapshot.cause), memory_order_relaxed);
	if (snapshot.cause >= GMT_SNAPSHOT_OOM) {
		snapshot.automatic_count++;
		snapshot.last_automatic_ns = gmt_clock_monotonic_ns();
	}
	snapshot.name[0] = 0;
	if (snapshot.cause == GMT_SNAPSHOT_PROGRAM)
		take_program_name();
	snapshot.recording_path = recording->path;
	snprintf(snapshot.path, sizeof(snapshot.path), "%s", recording->path);
	if (stream->has_failed || !gmt_sink_tail(stream->sink, snapshot.end.tail)) {
		fail("the recording has stopped");
		return;
	}
	snapshot.length = gmt_sink_written_bytes(stream->sink);
	snapshot.done = 0;
	snapshot.end.stamp = gmt_clock_stamp();
	snapshot.end.time_ns = gmt_clock_monotonic_ns() - gmt_clock_start.monotonic_ns;
	snapshot.end.events = stream->events;
	snapshot.from = reopen(recording->fd);
	if (snapshot.from >= 0) {
		snapshot.from = gmt_descriptor_move_high(snapshot.from);
		gmt_file_identity_of(snapshot.from, &snapshot.from_file);
		snapshot.to = create(recording->path);
	}
	if (snapshot.to < 0) {
		fail(strerror(errno));
		return;
	}
	snapshot.to = gmt_descriptor_move_high(snapshot.to);
	gmt_file_identity_of(snapshot.to, &snapshot.to_file);
	snapshot.is_active = true;
}

/*
 * Checks both descriptors. Between two rounds the program may have closed them and opened other
 * files under their numbers.
 */
static bool has_both_files(void)
{
	bool has_both = gmt_file_identity_matches(snapshot.from, &snapshot.from_file) &&
		gmt_file_identity_matches(snapshot.to, &snapshot.to_file);

	if (!has_both)
		errno = EBADF;
	return has_both;
}

static bool write_all(const void *bytes, size_t length)
{
	const char *at = bytes;

	while (length) {
		ssize_t written = write(snapshot.to, at, length);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return false;
		at += written;
		length -= (size_t)written;
	}
	return true;
}

/*
 * Copies a part. If the file system supports it, the kernel copies the data. Otherwise, or between
 * two file systems, the function reads and writes it.
 */
static bool copy_part(size_t bytes)
{
	static char part[PART_BYTES];
	off_t at = (off_t)snapshot.done;
	ssize_t got;

	if (!has_both_files())
		return false;
	got = copy_file_range(snapshot.from, &at, snapshot.to, NULL, bytes, 0);
	if (got <= 0) {
		got = pread(snapshot.from, part, bytes < sizeof(part) ? bytes : sizeof(part),
			(off_t)snapshot.done);
		if (got < 0 && errno == EINTR)
			return true;
		if (got == 0)
			errno = EIO; /* the file was truncated */
		if (got <= 0 || !write_all(part, (size_t)got))
			return false;
	}
	snapshot.done += (uint64_t)got;
	return true;
}

/*
 * Writes what makes the copy a complete file: the end of its gzip member, and one more member with
 * the snapshot's last records.
 */
static bool write_end(void)
{
	static struct gmt_encoder encoder;
	struct gmt_sink *sink = NULL;
	struct gmt_error error;
	char text[512];

	snprintf(text, sizeof(text),
		"this is a snapshot of a continuing recording, taken %.3f s after the start because %s%s%s",
		(double)snapshot.end.time_ns / 1e9, cause_texts[snapshot.cause],
		snapshot.name[0] ? ": " : "", snapshot.name);

	struct gmt_note note = { { text, (uint32_t)strlen(text) } };
	struct gmt_end end = { .stamp = snapshot.end.stamp, .events = snapshot.end.events };
	struct {
		uint32_t kind;
		const void *row;
	} rows[] = { { GMT_RECORD_NOTE, &note }, { GMT_RECORD_END, &end } };
	bool is_well = has_both_files() && write_all(snapshot.end.tail, sizeof(snapshot.end.tail)) &&
		!gmt_sink_open(snapshot.to, GZIP_LEVEL, &sink, &error);

	for (size_t i = 0; is_well && i < sizeof(rows) / sizeof(*rows); i++)
		is_well = !gmt_encode_rows(&encoder, rows[i].kind, rows[i].row, 1, &error) &&
			!gmt_sink_push(sink, encoder.block.items, encoder.block.count, &error);
	is_well = !gmt_sink_close(sink, &error) && is_well;
	gmt_encoder_fini(&encoder);
	return is_well;
}

static void finish(void)
{
	if (!write_end() || !give_name()) {
		fail(strerror(errno));
		return;
	}
	close_files();
	snapshot.count++;
	if (snapshot.cause == GMT_SNAPSHOT_READER)
		snapshot.answer(snapshot.path, NULL);
	gmt_stderr_report("snapshot written to %s", snapshot.path);
}

bool gmt_snapshots_work(bool all)
{
	uint64_t stop = snapshot.done + SLICE_BYTES;

	while (snapshot.is_active && snapshot.done < snapshot.length && (all || snapshot.done < stop)) {
		uint64_t left = snapshot.length - snapshot.done;

		if (!copy_part(left < SLICE_BYTES ? (size_t)left : SLICE_BYTES)) {
			fail(strerror(errno));
			return false;
		}
	}
	if (snapshot.is_active && snapshot.done >= snapshot.length)
		finish();
	return snapshot.is_active;
}

uint64_t gmt_snapshots_count(void)
{
	return snapshot.count;
}

void gmt_snapshots_reset(void)
{
	close_files();
	memset(&snapshot, 0, sizeof(snapshot));
	snapshot.from = snapshot.to = -1;
	atomic_store(&requests.wanted, 0);
	atomic_store(&requests.is_naming, 0);
}

static void on_signal(int number)
{
	int kept_errno = errno;

	(void)number;
	if (add_request(GMT_SNAPSHOT_SIGNAL))
		gmt_session_wake_writer_safely();
	errno = kept_errno;
}

void gmt_snapshots_handle_signal(void)
{
	struct sigaction ours = { .sa_handler = on_signal, .sa_flags = SA_RESTART }, before;
	int number = gmt_config.snapshot_signal;

	if (!number || sigaction(number, NULL, &before))
		return;
	if (before.sa_handler == on_signal)
		return;
	if (before.sa_handler != SIG_DFL) {
		gmt_stderr_warn("the program handles signal %d itself; the signal takes no snapshots",
			number);
		return;
	}
	sigaction(number, &ours, NULL);
}

GMT_AT_STAGE(after_fork, WRITER, gmt_snapshots_reset);
