/* SPDX-License-Identifier: MIT */
#include "runtime/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "runtime/stderr_messages.h"
#include "runtime/stages.h"

/*
 * Each note has its own slot, so threads do not wait for each other. If a fork loses the thread
 * that fills a slot, the slot stays empty and the writer skips it.
 */
static struct notes {
	_Atomic uint32_t taken; /* also counts notes that found no free slot */
	_Atomic bool is_there[GMT_LOG_NOTES];
	char text[GMT_LOG_NOTES][GMT_LOG_NOTE_BYTES];
} logs[GMT_LOG_KINDS];

static void add(struct notes *notes, const char *text)
{
	uint32_t index = atomic_fetch_add(&notes->taken, 1);

	if (index >= GMT_LOG_NOTES)
		return;
	snprintf(notes->text[index], GMT_LOG_NOTE_BYTES, "%s", text);
	/* Pairs with the acquire in gmt_log_get. */
	atomic_store_explicit(&notes->is_there[index], true, memory_order_release);
}

void gmt_log_note(const char *text)
{
	add(&logs[GMT_LOG_PROCESS], text);
}

void gmt_log_note_recording(const char *text)
{
	add(&logs[GMT_LOG_RECORDING], text);
}

void gmt_log_fault(const char *where, const char *format, ...)
{
	char text[GMT_LOG_NOTE_BYTES];
	int kept_errno = errno;
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (gmt_stderr_warn_kind(format, "%s%s%s", where ? where : "", where ? ": " : "", text))
		gmt_log_note_recording(text);
	errno = kept_errno;
}

const char *gmt_log_get(enum gmt_log_kind kind, unsigned index)
{
	const struct notes *notes = &logs[kind];

	return index < GMT_LOG_NOTES &&
			atomic_load_explicit(&notes->is_there[index], memory_order_acquire)
		? notes->text[index]
		: NULL;
}

static void after_fork(void)
{
	memset(&logs[GMT_LOG_RECORDING], 0, sizeof(logs[GMT_LOG_RECORDING]));
}

GMT_AT_STAGE(after_fork, RUNTIME, after_fork);
