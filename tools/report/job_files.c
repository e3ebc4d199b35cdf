/* SPDX-License-Identifier: MIT */
#include "tools/report/job_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/job/summary_encode.h"
#include "base/pages.h"
#include "format/encoding/inflate.h"
#include "tools/recordings/file_age.h"
#include "tools/output/message.h"
#include "tools/pipeline/summarize.h"
#include "tools/output/exit_codes.h"
#include "tools/report/report_each.h"
#include "tools/report/report_each_parallel.h"

enum {
	MAX_FILE_BYTES = 16 << 20,    /* of a summary */
	MAX_SUMMARY_BYTES = 64 << 20, /* of a summary, inflated */
	/* Of each file, to find out its kind. Small summaries are not longer. */
	FIRST_BYTES = 16 << 10,
	MAX_UNREADABLE_REMARKS = 16, /* of remarks about unreadable files */
	NOT_TAKEN = -1,
};

/* Reads one file after another, with the same buffers. */
struct reader {
	struct gmt_job_files *files;
	struct gmt_arena inflate_memory;
	void *inflate;
	GMT_VEC(uint8_t) in;  /* bytes of the file */
	GMT_VEC(uint8_t) out; /* the same, inflated */
};

void gmt_job_files_remark(struct gmt_job_files *files, const char *format, ...)
{
	const char **remark = gmt_vec_push(&files->remarks);
	va_list arguments;

	if (!remark) {
		files->is_out_of_memory = true;
		return;
	}
	va_start(arguments, format);
	*remark = gmt_arena_vprint(&files->store.arena, format, arguments);
	va_end(arguments);
	if (!*remark) {
		files->remarks.count--;
		files->is_out_of_memory = true;
	}
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), end_length = strlen(end);

	return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

bool gmt_summary_path(const char *recording, char ret_path[PATH_MAX])
{
	size_t length = strlen(recording);

	if (ends_with(recording, ".gmt.gz"))
		length -= strlen(".gmt.gz");
	return snprintf(ret_path, PATH_MAX, "%.*s%s", (int)length, recording, GMT_SUMMARY_SUFFIX) <
		PATH_MAX;
}

/* Reads up to `bytes` more bytes. Returns false on an error, with errno. */
static bool read_more(struct reader *reader, int fd, size_t bytes)
{
	if (!gmt_vec_reserve(&reader->in, bytes)) {
		errno = ENOMEM;
		return false;
	}
	while (bytes) {
		ssize_t got = read(fd, reader->in.items + reader->in.count, bytes);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got == 0;
		reader->in.count += (size_t)got;
		bytes -= (size_t)got;
	}
	return true;
}

/*
 * Inflates the bytes in reader->in, up to `max_bytes` bytes. Returns whether the member is
 * complete.
 */
static bool inflate_all(struct reader *reader, size_t max_bytes)
{
	struct gmt_inflate_bytes bytes = { .in = reader->in.items, .in_bytes = reader->in.count };
	enum gmt_inflate_answer answer = GMT_INFLATE_MORE;

	reader->out.count = 0;
	gmt_inflate_begin(reader->inflate);
	while (answer == GMT_INFLATE_MORE && reader->out.count < max_bytes) {
		size_t before = bytes.in_bytes, room;

		if (!gmt_vec_reserve(&reader->out, max_bytes < FIRST_BYTES ? max_bytes : FIRST_BYTES))
			return false;
		room = reader->out.capacity - reader->out.count;
		if (room > max_bytes - reader->out.count)
			room = max_bytes - reader->out.count;
		bytes.out = reader->out.items + reader->out.count;
		bytes.out_bytes = room;
		answer = gmt_inflate_run(reader->inflate, &bytes);
		reader->out.count += room - bytes.out_bytes;
		if (bytes.out_bytes && bytes.in_bytes == before)
			break;
	}
	return answer == GMT_INFLATE_ENDED;
}

static enum gmt_job_file_kind kind_of(const struct reader *reader)
{
	if (reader->out.count < GMT_FILE_HEADER_BYTES)
		return GMT_JOB_FILE_OTHER;
	if (memcmp(reader->out.items, GMT_SUMMARY_MAGIC, 8) == 0)
		return GMT_JOB_FILE_SUMMARY;
	return memcmp(reader->out.items, GMT_FORMAT_MAGIC, 8) == 0 ? GMT_JOB_FILE_RECORDING
															   : GMT_JOB_FILE_OTHER;
}

/* Reports that a file was not read. `text` has the reason, without the name of the file. */
static void leave_out(struct gmt_job_files *files, const struct gmt_job_file *file,
	const char *text)
{
	if (file->is_operand)
		gmt_message_error("%s: %s", file->path, text);
	else if (files->unreadable < MAX_UNREADABLE_REMARKS)
		gmt_job_files_remark(files, "%.400s: %s", file->path, text);
	files->unreadable++;
}

static bool add_summary(struct gmt_job_files *files, const struct gmt_job_file *file,
	const uint8_t *bytes, size_t length)
{
	struct gmt_process_summary summary = { .path = file->path }, *to;
	struct gmt_error error = { 0 };
	enum gmt_status status = gmt_summary_decode(&files->store, bytes, length, &summary, &error);

	if (status && status != GMT_NO_MEMORY) {
		leave_out(files, file, error.text);
		return false;
	}
	to = status ? NULL : gmt_vec_push(&files->summaries);
	if (!to) {
		files->is_out_of_memory = true;
		return false;
	}
	*to = summary;
	return true;
}

/*
 * Finds out the kind of a file from its first bytes, and reads a summary to its end. Returns 0, or
 * an exit code if the user named the file and it cannot be read.
 */
static int read_file(struct reader *reader, struct gmt_job_file *file)
{
	struct gmt_job_files *files = reader->files;
	int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	bool done;

	file->kind = GMT_JOB_FILE_OTHER;
	reader->in.count = 0;
	if (fd < 0 || !read_more(reader, fd, FIRST_BYTES)) {
		char text[128];

		snprintf(text, sizeof(text), "cannot be read: %s", strerror(errno));
		leave_out(files, file, text);
		if (fd >= 0)
			close(fd);
		return file->is_operand ? GMT_EXIT_UNREADABLE : 0;
	}
	inflate_all(reader, GMT_FILE_HEADER_BYTES);
	file->kind = kind_of(reader);
	if (file->kind == GMT_JOB_FILE_OTHER &&
		(file->is_operand || ends_with(file->path, ".gmt.gz"))) {
		/* Reading it as a recording gives the reason. */
		file->kind = GMT_JOB_FILE_RECORDING;
		file->lacks_header = true;
	} else if (file->kind == GMT_JOB_FILE_OTHER) {
		files->others++;
		files->other_path = files->other_path ? files->other_path : file->path;
	}
	done = file->kind != GMT_JOB_FILE_SUMMARY;
	if (!done) {
		if (reader->in.count == FIRST_BYTES)
			read_more(reader, fd, MAX_FILE_BYTES);
		inflate_all(reader, MAX_SUMMARY_BYTES);
		done = add_summary(files, file, reader->out.items, reader->out.count);
		/* A summary that cannot be read does not replace its recording. */
		if (!done)
			file->kind = GMT_JOB_FILE_OTHER;
	}
	close(fd);
	return done || !file->is_operand ? 0 : GMT_EXIT_UNREADABLE;
}

const struct gmt_job_file *gmt_job_files_by_path(const struct gmt_job_files *files,
	const char *path)
{
	size_t low = 0, high = files->files.count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		int order = strcmp(files->files.items[middle].path, path);

		if (!order)
			return &files->files.items[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* Returns whether a recording's summary was read and is newer than the recording. */
static bool has_summary(const struct gmt_job_files *files, const struct gmt_job_file *file)
{
	const struct gmt_job_file *found;
	struct stat summary, recording;
	char path[PATH_MAX];

	if (file->is_operand || !gmt_summary_path(file->path, path))
		return false;
	found = gmt_job_files_by_path(files, path);
	return found && found->kind == GMT_JOB_FILE_SUMMARY && stat(path, &summary) == 0 &&
		stat(file->path, &recording) == 0 && gmt_file_is_newer(&summary, &recording);
}

/* Writes the summary of a recording. Runs in a separate process. */
static int write_summary(const void *context, const char *path,
	struct gmt_report_each_output *output)
{
	struct gmt_summary_bytes summary = { 0 };
	int code = gmt_summarize_recording(path, context, &summary);

	if (!code)
		fwrite(summary.bytes.items, 1, summary.bytes.count, output->file);
	gmt_vec_fini(&summary.bytes);
	return code;
}

/* Reads a recording in this process. Returns an exit code. */
static int read_here(struct reader *reader, const struct gmt_job_file *file,
	const struct gmt_traces_options *options)
{
	struct gmt_summary_bytes summary = { 0 };
	int code = gmt_summarize_recording(file->path, options, &summary);

	if (!code)
		add_summary(reader->files, file, summary.bytes.items, summary.bytes.count);
	gmt_vec_fini(&summary.bytes);
	return code;
}

/*
 * Adds the summary that the process of recording number `index` wrote. Returns its exit code, or
 * NOT_TAKEN if the recording has no process or its summary does not fit into memory.
 */
static int take_summary(struct reader *reader, const struct gmt_job_file *file,
	struct gmt_report_each_parallel *parallel, int index)
{
	struct gmt_report_each_output output = { 0 };
	char *bytes = NULL;
	size_t length = 0;
	int code = NOT_TAKEN;
	bool is_whole = false;

	output.file = open_memstream(&bytes, &length);
	if (!output.file)
		return NOT_TAKEN;
	if (!gmt_report_each_parallel_take(parallel, index, &output, &code))
		code = NOT_TAKEN;
	is_whole = !ferror(output.file);
	is_whole &= fclose(output.file) == 0;
	if (!code && (!is_whole || !length))
		code = NOT_TAKEN;
	if (!code)
		add_summary(reader->files, file, (const uint8_t *)bytes, length);
	free(bytes);
	return code;
}

static int read_recordings(struct reader *reader, const struct gmt_traces_options *options,
	char **paths, const struct gmt_job_file **of, int count)
{
	const struct gmt_report_each files = {
		.count = count, .paths = paths, .report = write_summary, .context = options
	};
	struct gmt_report_each_output output = { 0 };
	struct gmt_report_each_parallel *parallel = gmt_report_each_parallel_open(&files, &output);
	int code = 0;

	for (int i = 0; i < count && !reader->files->is_out_of_memory; i++) {
		int answer = take_summary(reader, of[i], parallel, i);

		if (answer == NOT_TAKEN)
			answer = read_here(reader, of[i], options);
		if (answer) {
			/* The error was printed. The exit code does not count for a file in a folder. */
			reader->files->unreadable++;
			code = of[i]->is_operand ? answer : code;
		}
	}
	gmt_report_each_parallel_close(parallel);
	return code;
}

static int read_each_file(struct reader *reader)
{
	struct gmt_job_files *files = reader->files;
	int code = 0;

	for (size_t i = 0; i < files->files.count && !files->is_out_of_memory; i++) {
		int answer = read_file(reader, &files->files.items[i]);

		code = answer ? answer : code;
	}
	return code;
}

/* Reads the recordings, except those whose summary was read. */
static int read_all_recordings(struct reader *reader, const struct gmt_traces_options *options)
{
	struct gmt_job_files *files = reader->files;
	GMT_VEC(char *) paths = { 0 };
	GMT_VEC(const struct gmt_job_file *) of = { 0 };
	int code = 0;

	if (!gmt_vec_reserve(&paths, files->files.count + 1) ||
		!gmt_vec_reserve(&of, files->files.count + 1))
		files->is_out_of_memory = true;
	for (size_t i = 0; i < files->files.count && !files->is_out_of_memory; i++) {
		const struct gmt_job_file *file = &files->files.items[i];

		if (file->kind != GMT_JOB_FILE_RECORDING)
			continue;
		if (has_summary(files, file)) {
			files->summarized++;
			continue;
		}
		paths.items[paths.count++] = (char *)(uintptr_t)file->path;
		of.items[of.count++] = file;
	}
	if (paths.count) {
		int answer = read_recordings(reader, options, paths.items, of.items, (int)paths.count);

		code = answer ? answer : code;
	}
	gmt_vec_fini(&paths);
	gmt_vec_fini(&of);
	return code;
}

/* Reads the summaries, and with `options` also the recordings. */
static int read_files(struct gmt_job_files *files, const struct gmt_traces_options *options)
{
	struct reader reader = { .files = files };
	int code = 0;

	reader.inflate = gmt_inflate_open(&reader.inflate_memory);
	if (reader.inflate) {
		int answer;

		code = read_each_file(&reader);
		answer = options ? read_all_recordings(&reader, options) : 0;
		code = answer ? answer : code;
	} else {
		files->is_out_of_memory = true;
	}
	gmt_vec_fini(&reader.in);
	gmt_vec_fini(&reader.out);
	gmt_arena_fini(&reader.inflate_memory);
	if (files->others)
		gmt_job_files_remark(files, "%u file%s left out: not a recording: %.300s%s", files->others,
			files->others == 1 ? "" : "s", files->other_path, files->others == 1 ? "" : ", ...");
	if (files->unreadable > MAX_UNREADABLE_REMARKS)
		gmt_job_files_remark(files, "%u files could not be read", files->unreadable);
	if (files->is_out_of_memory) {
		gmt_message_error("out of memory");
		code = GMT_EXIT_UNREADABLE;
	}
	return code;
}

int gmt_job_files_read_summaries(struct gmt_job_files *files)
{
	return read_files(files, NULL);
}

int gmt_job_files_read(struct gmt_job_files *files, const struct gmt_traces_options *options)
{
	return read_files(files, options);
}

void gmt_job_files_fini(struct gmt_job_files *files)
{
	gmt_vec_fini(&files->files);
	gmt_vec_fini(&files->summaries);
	gmt_vec_fini(&files->remarks);
	gmt_job_store_fini(&files->store);
}
