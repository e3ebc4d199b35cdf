/* SPDX-License-Identifier: MIT */
#include "runtime/stderr_messages.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "system/file_identity.h"
#include "base/safe_text.h"
#include "runtime/config.h"
#include "runtime/recorder_stack.h"
#include "runtime/descriptor.h"
#include "runtime/standard_streams.h"
#include "runtime/stages.h"

enum { LINE_BYTES = 1200, KINDS = 24, FIRST_BYTES = 160, KEPT_BYTES = 4096 };

/*
 * The kinds of messages so far. A slot belongs to the first kind that took it.
 */
static struct kind {
	_Atomic(const char *) name; /* an address identifies the kind */
	_Atomic uint32_t count;
	char first[FIRST_BYTES]; /* the first message, shortened */
} kinds[KINDS];

static struct {
	struct gmt_file_identity stderr_at_start;
	bool had_stderr;
	/* Lines that the writer could not print itself. */
	char kept[KEPT_BYTES];
	_Atomic size_t kept_bytes, kept_printed;
} stderr_state;

void gmt_stderr_init(void)
{
	int kept_errno = errno;

	stderr_state.had_stderr = gmt_file_identity_of(STDERR_FILENO, &stderr_state.stderr_at_start);
	errno = kept_errno;
}

/*
 * Returns whether the descriptor for errors is really a stderr. Descriptor 2 may be any file if the
 * process was started without stderr or has closed it. A file other than at the start counts as
 * stderr in three cases. It is a terminal or a pipe, or stdout refers to the same file, or the file
 * is opened for appending. Otherwise it may be data of the host.
 */
static bool is_stderr(const struct gmt_standard_streams *streams)
{
	struct stat error, output;

	if (!stderr_state.had_stderr || fstat(streams->error, &error))
		return false;
	if (error.st_dev == stderr_state.stderr_at_start.device &&
		error.st_ino == stderr_state.stderr_at_start.inode)
		return true;
	if (S_ISCHR(error.st_mode) || S_ISFIFO(error.st_mode))
		return true;
	if (!fstat(streams->output, &output) && output.st_dev == error.st_dev &&
		output.st_ino == error.st_ino)
		return true;
	return S_ISREG(error.st_mode) && (fcntl(streams->error, F_GETFL) & O_APPEND);
}

/*
 * Returns whether the stream accepts a line now. A process that has stopped reading its pipe must
 * not stop the host. A line that fits into the smallest free space of a pipe is written completely.
 */
static bool has_room(int fd)
{
	struct pollfd stream = { .fd = fd, .events = POLLOUT };

	return poll(&stream, 1, 0) != 0;
}

/*
 * Writes a line. If the pipe has no reader, SIGPIPE must not end the host: print_to blocks the
 * signal and removes it.
 */
static void write_line(int fd, const char *text, size_t left)
{
	while (left && has_room(fd)) {
		ssize_t written = write(fd, text, left);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			break;
		text += written;
		left -= (size_t)written;
	}
}

static void print_to(const struct gmt_standard_streams *streams, const char *text, size_t length)
{
	static const int held_back[] = { SIGPIPE, SIGXFSZ, SIGTTOU };
	const struct timespec now = { 0 };
	sigset_t ours, before, pending;

	if (!is_stderr(streams))
		return;
	sigpending(&pending);
	sigemptyset(&ours);
	for (size_t i = 0; i < sizeof(held_back) / sizeof(*held_back); i++)
		if (!sigismember(&pending, held_back[i]))
			sigaddset(&ours, held_back[i]);
	pthread_sigmask(SIG_BLOCK, &ours, &before);
	write_line(streams->error, text, length);
	while (sigtimedwait(&ours, NULL, &now) > 0)
		;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/*
 * Keeps a line of the writer for a thread of the host. Drops the line if it does not fit, because
 * the file also contains it.
 */
static void keep_for_host(const char *text)
{
	size_t length = strlen(text),
		   used = atomic_load_explicit(&stderr_state.kept_bytes, memory_order_relaxed);

	if (length >= sizeof(stderr_state.kept) - used)
		return;
	memcpy(stderr_state.kept + used, text, length);
	/* Pairs with the acquire in gmt_stderr_print_kept. */
	atomic_store_explicit(&stderr_state.kept_bytes, used + length, memory_order_release);
}

void gmt_stderr_print_kept(void)
{
	const struct gmt_standard_streams streams = { STDOUT_FILENO, STDERR_FILENO };
	size_t there = atomic_load_explicit(&stderr_state.kept_bytes, memory_order_acquire),
		   from = atomic_load(&stderr_state.kept_printed);
	int kept_errno = errno;

	/* Only one thread prints a line. The buffer is never emptied, because such lines are few. */
	if (from >= there || gmt_descriptor_has_own_table() ||
		!atomic_compare_exchange_strong(&stderr_state.kept_printed, &from, there))
		return;
	print_to(&streams, stderr_state.kept + from, there - from);
	errno = kept_errno;
}

void gmt_stderr_print(const char *text)
{
	struct gmt_standard_streams streams;
	int kept_errno = errno;

	gmt_stderr_print_kept();
	if (gmt_standard_streams_open(&streams)) {
		print_to(&streams, text, strlen(text));
		gmt_standard_streams_close(&streams);
	} else {
		keep_for_host(text);
	}
	errno = kept_errno;
}

static void print_message(const char *text)
{
	char line[LINE_BYTES];
	int kept_errno = errno;

	snprintf(line, sizeof(line) - 1, "gpumemtrace: %s", text);
	gmt_safe_replace(line);
	strcat(line, "\n");
	gmt_stderr_print(line);
	errno = kept_errno;
}

/* Counts a message of this kind. Returns the kind's slot, or NULL if there are too many kinds. */
static struct kind *count_message(const char *name, bool *ret_is_first)
{
	for (struct kind *kind = kinds; kind < kinds + KINDS; kind++) {
		const char *taken = NULL;

		if (atomic_compare_exchange_strong(&kind->name, &taken, name) || taken == name) {
			*ret_is_first = atomic_fetch_add(&kind->count, 1) == 0;
			return kind;
		}
	}
	*ret_is_first = false;
	return NULL;
}

/* A message that is not formatted yet. */
struct unformatted {
	const char *format;
	va_list *arguments;
	struct kind *kind; /* NULL: such messages are not counted */
};

/* Runs on a recorder stack: messages are long, and formatting needs another kilobyte of stack. */
static void format_and_print(void *argument)
{
	const struct unformatted *message = argument;
	char text[LINE_BYTES - 16];

	vsnprintf(text, sizeof(text), message->format, *message->arguments);
	if (message->kind)
		snprintf(message->kind->first, sizeof(message->kind->first), "%.*s", FIRST_BYTES - 1, text);
	if (gmt_config.verbosity >= (message->kind ? 1 : 2))
		print_message(text);
}

bool gmt_stderr_warn_kind(const char *kind, const char *format, ...)
{
	int kept_errno = errno;
	bool is_first;
	struct kind *entry = count_message(kind, &is_first);
	va_list arguments;

	if (!is_first)
		return false;
	va_start(arguments, format);
	gmt_recorder_stack_run(format_and_print, &(struct unformatted){ format, &arguments, entry });
	va_end(arguments);
	errno = kept_errno;
	return true;
}

static void print_plain(void *text)
{
	print_message(text);
}

void gmt_stderr_warn_text(const char *text)
{
	if (gmt_config.verbosity >= 1)
		gmt_recorder_stack_run(print_plain, (void *)(uintptr_t)text);
}

void gmt_stderr_report(const char *format, ...)
{
	int kept_errno = errno;
	va_list arguments;

	if (gmt_config.verbosity < 2)
		return;
	va_start(arguments, format);
	gmt_recorder_stack_run(format_and_print, &(struct unformatted){ format, &arguments, NULL });
	va_end(arguments);
	errno = kept_errno;
}

void gmt_stderr_end(void)
{
	char text[FIRST_BYTES + 64];

	for (struct kind *kind = kinds; kind < kinds + KINDS; kind++) {
		uint32_t times = atomic_exchange(&kind->count, 1);

		if (times < 2 || !atomic_load(&kind->name))
			continue;
		snprintf(text, sizeof(text), "%u more times: %s", (unsigned)(times - 1), kind->first);
		gmt_stderr_warn_text(text);
	}
}

/* Resets the counts, so that each kind is printed again. Called in the child of a fork. */
static void after_fork(void)
{
	for (struct kind *kind = kinds; kind < kinds + KINDS; kind++)
		atomic_store(&kind->count, 0);
	/* The parent prints its own kept lines. */
	atomic_store(&stderr_state.kept_printed, atomic_load(&stderr_state.kept_bytes));
}

GMT_AT_STAGE(after_fork, RUNTIME, after_fork);
