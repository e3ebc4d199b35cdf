/* SPDX-License-Identifier: MIT */
#ifndef GMT_IMPORT_IMPORT_WRITER_H
#define GMT_IMPORT_IMPORT_WRITER_H

/*
 * Writes a recording from the data of another tool. In the flow: file of another tool -> reader of
 * its format -> import writer -> rows -> encode. The writer gives ids to texts, stacks and threads,
 * keeps rows until a block is full, and counts the events. The rows may come in any order of time.
 *
 * 	gmt_import_begin(&writer, &options)
 * 	gmt_import_stack, gmt_import_event, gmt_import_note ...
 * 	gmt_import_end(&writer, last_stamp)
 * 	gmt_import_fini(&writer)
 *
 * A function that returns a bool returns false if memory is exhausted or the output cannot be
 * written. The writer then has failed. One thread at a time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "containers/intern.h"
#include "containers/vec.h"
#include "format/format.h"

/* The stamp of the start of each imported recording. Stamps are nanoseconds. */
enum { GMT_IMPORT_START_STAMP = 1000 };

/*
 * Takes `count` rows of a kind, in the form that gmt_encode_rows takes. The rows are valid until
 * the function returns. Returns false if they cannot be written.
 */
typedef bool gmt_import_write(void *user, uint32_t kind, const void *rows, uint32_t count);

struct gmt_import_options {
	const char *tool;       /* what the data comes from: the field `imported_from` */
	const char *version;    /* of the program that imports */
	uint64_t start_time_ns; /* time of the start stamp; 0: not known */
	uint32_t pid;           /* of the process that had the memory; 0: not known */
	gmt_import_write *write;
	void *user;
};

struct gmt_import_writer {
	struct gmt_import_options options;
	struct gmt_intern texts, codes, frames, stacks, names, apis;
	GMT_VEC(struct gmt_code) code_rows;
	GMT_VEC(struct gmt_frame) frame_rows;
	GMT_VEC(struct gmt_frames) stack_rows;
	GMT_VEC(struct gmt_name) name_rows;
	GMT_VEC(struct gmt_event) event_rows;
	GMT_VEC(struct gmt_mark) mark_rows;
	GMT_VEC(uint64_t) items; /* of the stack that is being interned */
	uint64_t waiting_items; /* frames in stack_rows */
	uint64_t events;
	bool failed;
};

/* Starts a recording and writes its `process` record. `ret_writer` is zeroed. */
bool gmt_import_begin(struct gmt_import_writer *ret_writer,
	const struct gmt_import_options *options);

/* Write a GPU, if more than its number is known, and a thread. Texts are copied. */
bool gmt_import_device(struct gmt_import_writer *writer, const struct gmt_device *device);
bool gmt_import_thread(struct gmt_import_writer *writer, uint32_t id, uint32_t tid,
	const char *name, size_t length);

/* Gets the id of a function that events name, of a name of marks, and of a text of a frame. */
bool gmt_import_api(struct gmt_import_writer *writer, const char *name, const char *library,
	uint16_t *ret_id);
bool gmt_import_name(struct gmt_import_writer *writer, const char *text, size_t length,
	uint32_t *ret_id);
bool gmt_import_text(struct gmt_import_writer *writer, const char *text, size_t length,
	uint32_t *ret_id);

/* A frame. `function` and `file` are ids of gmt_import_text. */
struct gmt_import_frame {
	uint32_t function, file;
	uint32_t line; /* 0: not known */
	bool is_native;
};

/* A frame in the words of another tool. Texts need not end with NUL. */
struct gmt_import_frame_text {
	const char *function, *file;
	size_t function_length, file_length;
	uint64_t line; /* in a library: an offset; 0: not known */
};

/*
 * Gets the id of a frame, where the data does not say whether it is native. Python's files end in
 * .py or are no files, such as "<string>". Native frames have no file, a source file of a compiled
 * language, or a library.
 */
bool gmt_import_frame_of_text(struct gmt_import_writer *writer,
	const struct gmt_import_frame_text *text, uint32_t *ret_id);

/*
 * Gets the id of a frame, and of a stack of such frames, leaf first. A stack without frames is 0.
 */
bool gmt_import_frame(struct gmt_import_writer *writer, const struct gmt_import_frame *frame,
	uint32_t *ret_id);
bool gmt_import_stack(struct gmt_import_writer *writer, const uint32_t *frames, size_t count,
	uint32_t *ret_id);

/* Writes an event. PyTorch's totals are absolute. */
bool gmt_import_event(struct gmt_import_writer *writer, const struct gmt_event *event);

bool gmt_import_mark(struct gmt_import_writer *writer, const struct gmt_mark *mark);
bool gmt_import_oom(struct gmt_import_writer *writer, const struct gmt_oom *oom);

/* Writes a note: a fact that a user of the report must know. */
bool gmt_import_note(struct gmt_import_writer *writer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Writes everything that waits, the clocks and the end. */
bool gmt_import_end(struct gmt_import_writer *writer, uint64_t last_stamp);

void gmt_import_fini(struct gmt_import_writer *writer);

#endif
