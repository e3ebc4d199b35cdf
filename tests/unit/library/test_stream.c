/* SPDX-License-Identifier: MIT */
/*
 * The streams of libgpumemtrace-read, as a consumer of the Arrow C stream interface uses them: what
 * is released when, which memory outlives what, and errors. The Python tests compare the contents.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "format/format.h"
#include "gpumemtrace-read.h"
#include "recording_file.h"
#include "temporary_file.h"

enum { BLOCKS = 300, ERROR_BYTES = 1024 };

static char error[ERROR_BYTES];

/* Writes a recording: BLOCKS blocks, of which every second one is freed at once. */
static int write_recording(void **state)
{
	struct recording_file file;
	uint64_t stamp = 500, events = 0;

	if (path_setup(state))
		return 1;
	recording_file_open(&file, path, 6);
	RECORDING_PUT(&file, PROCESS, gmt_process, .pid = 7, .rank = -1, .start_stamp = 500,
		.host = slice("h\xffre"), .executable = slice("/bin/x"), .command = slice("x"),
		.directory = slice("/"));
	RECORDING_PUT(&file, DEVICE, gmt_device, .name = slice("A GPU"), .total_bytes = 1 << 30);
	RECORDING_PUT(&file, THREAD, gmt_thread, .id = 1, .tid = 70, .name = slice("main"));
	for (uint64_t i = 0; i < BLOCKS; i++) {
		RECORDING_PUT(&file, EVENT, gmt_event, .stamp = ++stamp, .thread = 1,
			.kind = GMT_KIND_ALLOC, .layer = GMT_LAYER_CUDA, .space = GMT_SPACE_DEVICE,
			.address = 0x1000 * (i + 1), .size_bytes = i + 1);
		events++;
		if (i % 2)
			continue;
		RECORDING_PUT(&file, EVENT, gmt_event, .stamp = ++stamp, .thread = 1, .kind = GMT_KIND_FREE,
			.layer = GMT_LAYER_CUDA, .space = GMT_SPACE_DEVICE, .device = -2,
			.address = 0x1000 * (i + 1));
		events++;
	}
	RECORDING_PUT(&file, END, gmt_end, .stamp = ++stamp, .events = events);
	recording_file_close(&file);
	return 0;
}

static gpumemtrace_recording *open_recording(void)
{
	gpumemtrace_recording *recording;
	int status = gpumemtrace_read_open(path, &recording, error, sizeof(error));

	if (status)
		fail_msg("%d: %s", status, error);
	return recording;
}

static struct ArrowArrayStream open_stream(gpumemtrace_recording *recording, const char *table,
	const struct gpumemtrace_read_options *options)
{
	struct ArrowArrayStream stream;
	int status = gpumemtrace_read_stream(recording, table, options, &stream, error, sizeof(error));

	if (status)
		fail_msg("%s: %d: %s", table, status, error);
	return stream;
}

static struct gpumemtrace_read_options small_batches(void)
{
	struct gpumemtrace_read_options options = GPUMEMTRACE_READ_EVERYTHING;

	options.batch_rows = 7;
	return options;
}

/* Reads each byte of an array, so that a sanitizer sees memory that was freed or left out. */
static uint64_t touch(const struct ArrowSchema *schema, const struct ArrowArray *array)
{
	static const char formats[] = "lLiIgb";
	static const size_t bits[] = { 64, 64, 32, 32, 64, 1 };
	const char *format = strchr(formats, *schema->format);
	size_t bytes = format ? (bits[format - formats] * (size_t)array->length + 7) / 8 : 0;
	const uint8_t *validity = array->n_buffers ? array->buffers[0] : NULL;
	uint64_t sum = 0;

	if (!strcmp(schema->format, "u"))
		bytes = ((size_t)array->length + 1) * 4;
	for (size_t i = 0; i < bytes; i++)
		sum += ((const uint8_t *)array->buffers[1])[i];
	if (!strcmp(schema->format, "u"))
		for (int32_t i = 0; i < ((const int32_t *)array->buffers[1])[array->length]; i++)
			sum += ((const uint8_t *)array->buffers[2])[i];
	for (int64_t i = 0; validity && i < array->length; i++)
		sum += validity[i / 8] >> i % 8 & 1;
	for (int64_t i = 0; i < array->n_children; i++)
		sum += touch(schema->children[i], array->children[i]);
	return array->dictionary ? sum + touch(schema->dictionary, array->dictionary) : sum;
}

static int64_t nulls_in(const struct ArrowArray *array)
{
	const uint8_t *validity = array->buffers[0];
	int64_t nulls = 0;

	for (int64_t i = 0; validity && i < array->length; i++)
		nulls += !(validity[i / 8] >> i % 8 & 1);
	return nulls;
}

/* Checks what the interface demands of a batch. */
static void check_batch(const struct ArrowSchema *schema, const struct ArrowArray *batch)
{
	assert_int_equal(batch->n_children, schema->n_children);
	assert_int_equal(batch->n_buffers, 1);
	assert_int_equal(batch->null_count, 0);
	for (int64_t i = 0; i < batch->n_children; i++) {
		const struct ArrowArray *column = batch->children[i];
		const struct ArrowSchema *child = schema->children[i];

		assert_int_equal(column->length, batch->length);
		assert_int_equal(column->offset, 0);
		assert_int_equal(column->null_count, nulls_in(column));
		assert_true(!column->null_count || child->flags & ARROW_FLAG_NULLABLE);
		assert_int_equal(!column->dictionary, !child->dictionary);
		for (int64_t row = 0; column->dictionary && row < column->length; row++) {
			const uint8_t *validity = column->buffers[0];
			int32_t number = ((const int32_t *)column->buffers[1])[row];

			if (!validity || validity[row / 8] >> row % 8 & 1)
				assert_in_range(number, 0, column->dictionary->length - 1);
		}
	}
	touch(schema, batch);
}

/* Returns the number of rows. */
static int64_t read_all(struct ArrowArrayStream *stream, int64_t batch_rows)
{
	struct ArrowSchema schema;
	struct ArrowArray batch;
	int64_t rows = 0;
	bool is_last = false;

	assert_int_equal(stream->get_schema(stream, &schema), 0);
	assert_string_equal(schema.format, "+s");
	for (;;) {
		assert_int_equal(stream->get_next(stream, &batch), 0);
		if (!batch.release)
			break;
		/* Only the last batch is not full. */
		assert_false(is_last);
		assert_in_range(batch.length, 1, batch_rows);
		is_last = batch.length < batch_rows;
		check_batch(&schema, &batch);
		rows += batch.length;
		batch.release(&batch);
		assert_null(batch.release);
	}
	/* The end stays the end. */
	assert_int_equal(stream->get_next(stream, &batch), 0);
	assert_null(batch.release);
	schema.release(&schema);
	assert_null(schema.release);
	return rows;
}

static void each_table_streams_and_releases_everything(void **state)
{
	const struct gpumemtrace_read_options options = small_batches();
	gpumemtrace_recording *recording = open_recording();
	const char *name;
	size_t tables = 0;

	(void)state;
	for (; (name = gpumemtrace_read_table_name(tables)); tables++) {
		struct ArrowArrayStream stream = open_stream(recording, name, &options);
		int64_t rows = read_all(&stream, 7);

		if (!strcmp(name, "events"))
			assert_int_equal(rows, BLOCKS + BLOCKS / 2);
		if (!strcmp(name, "blocks"))
			assert_int_equal(rows, BLOCKS);
		stream.release(&stream);
		assert_null(stream.release);
		stream = open_stream(recording, name, NULL);
		assert_int_equal(read_all(&stream, 65536), rows);
		stream.release(&stream);
	}
	assert_int_equal(tables, 12);
	gpumemtrace_read_close(recording);
}

static void a_batch_outlives_the_stream_and_the_recording(void **state)
{
	gpumemtrace_recording *recording = open_recording();
	struct ArrowArrayStream stream = open_stream(recording, "blocks", NULL);
	struct ArrowSchema schema;
	struct ArrowArray batch;
	uint64_t sum;

	(void)state;
	gpumemtrace_read_close(recording);
	assert_int_equal(stream.get_schema(&stream, &schema), 0);
	assert_int_equal(stream.get_next(&stream, &batch), 0);
	sum = touch(&schema, &batch);
	stream.release(&stream);
	assert_int_equal(touch(&schema, &batch), sum);
	batch.release(&batch);
	schema.release(&schema);
}

static void columns_and_dictionaries_that_were_moved_out_outlive_their_batch(void **state)
{
	gpumemtrace_recording *recording = open_recording();
	struct ArrowArrayStream stream = open_stream(recording, "blocks", NULL);
	struct ArrowSchema schema;
	struct ArrowArray batch, number, text, dictionary;
	int64_t layer = 6;

	(void)state;
	assert_int_equal(stream.get_schema(&stream, &schema), 0);
	assert_string_equal(schema.children[layer]->name, "layer");
	assert_int_equal(stream.get_next(&stream, &batch), 0);
	/* To move: copy the structure, and mark the original as released. */
	number = *batch.children[1];
	batch.children[1]->release = NULL;
	text = *batch.children[layer];
	batch.children[layer]->release = NULL;
	dictionary = *text.dictionary;
	text.dictionary->release = NULL;
	batch.release(&batch);
	stream.release(&stream);
	gpumemtrace_read_close(recording);

	assert_int_equal(((const uint64_t *)number.buffers[1])[0], 1);
	assert_int_equal(touch(schema.children[1], &number) != 0, 1);
	text.release(&text);
	assert_memory_equal(dictionary.buffers[2], "cuda", 4);
	assert_int_equal(touch(schema.children[layer]->dictionary, &dictionary),
		(uint64_t)4 + 'c' + 'u' + 'd' + 'a');
	dictionary.release(&dictionary);
	number.release(&number);
	schema.release(&schema);
}

static void a_stream_may_be_released_in_the_middle(void **state)
{
	const struct gpumemtrace_read_options options = small_batches();
	gpumemtrace_recording *recording = open_recording();
	struct ArrowArrayStream first = open_stream(recording, "events", &options),
							second = open_stream(recording, "events", &options);
	struct ArrowArray batch;

	(void)state;
	assert_int_equal(first.get_next(&first, &batch), 0);
	batch.release(&batch);
	first.release(&first);
	/* The other stream of the table does not notice. */
	assert_int_equal(read_all(&second, 7), BLOCKS + BLOCKS / 2);
	second.release(&second);
	gpumemtrace_read_close(recording);
}

static void text_that_is_not_utf_8_is_repaired(void **state)
{
	static const char *const columns[] = { "host" };
	struct gpumemtrace_read_options options = GPUMEMTRACE_READ_EVERYTHING;
	gpumemtrace_recording *recording = open_recording();
	struct ArrowArrayStream stream;
	struct ArrowArray batch;

	(void)state;
	options.columns = columns;
	options.column_count = 1;
	stream = open_stream(recording, "process", &options);
	assert_int_equal(stream.get_next(&stream, &batch), 0);
	assert_int_equal(batch.n_children, 1);
	assert_memory_equal(batch.children[0]->dictionary->buffers[2], "h\xef\xbf\xbdre", 6);
	batch.release(&batch);
	stream.release(&stream);
	gpumemtrace_read_close(recording);
}

static void a_schema_without_a_recording_is_that_of_the_stream(void **state)
{
	static const char *const columns[] = { "rank", "job" };
	struct gpumemtrace_read_options options = GPUMEMTRACE_READ_EVERYTHING;
	gpumemtrace_recording *recording = open_recording();
	struct ArrowArrayStream stream;
	struct ArrowSchema alone, of_stream;

	(void)state;
	options.columns = columns;
	options.column_count = 2;
	stream = open_stream(recording, "process", &options);
	assert_int_equal(stream.get_schema(&stream, &of_stream), 0);
	assert_int_equal(gpumemtrace_read_schema("process", &options, &alone, error, ERROR_BYTES), 0);
	assert_int_equal(alone.n_children, of_stream.n_children);
	for (int64_t i = 0; i < alone.n_children; i++) {
		assert_string_equal(alone.children[i]->name, columns[i]);
		assert_string_equal(alone.children[i]->format, of_stream.children[i]->format);
		assert_int_equal(alone.children[i]->flags, of_stream.children[i]->flags);
		assert_int_equal(!alone.children[i]->dictionary, !of_stream.children[i]->dictionary);
	}
	alone.release(&alone);
	of_stream.release(&of_stream);
	stream.release(&stream);
	gpumemtrace_read_close(recording);
	assert_int_equal(gpumemtrace_read_schema("no such table", NULL, &alone, error, ERROR_BYTES),
		GPUMEMTRACE_READ_ARGUMENT);
	assert_non_null(strstr(error, "no such table"));
	assert_null(alone.release);
}

static void *read_from_a_thread(void *user)
{
	static const char *const tables[] = { "events", "blocks", "curve", "sites" };
	int64_t rows = 0;

	for (size_t i = 0; i < 4; i++) {
		const struct gpumemtrace_read_options options = small_batches();
		struct ArrowArrayStream stream = open_stream(user, tables[i], &options);

		rows += read_all(&stream, 7);
		stream.release(&stream);
	}
	return (void *)(intptr_t)rows;
}

static void several_threads_read_one_recording(void **state)
{
	enum { THREADS = 4 };
	gpumemtrace_recording *recording = open_recording();
	pthread_t threads[THREADS];
	intptr_t first = (intptr_t)read_from_a_thread(recording);

	(void)state;
	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, read_from_a_thread, recording), 0);
	for (size_t i = 0; i < THREADS; i++) {
		void *rows;

		assert_int_equal(pthread_join(threads[i], &rows), 0);
		assert_int_equal((intptr_t)rows, first);
	}
	gpumemtrace_read_close(recording);
}

static void *read_to_the_end(void *user)
{
	struct ArrowArrayStream *stream = user;

	assert_int_equal(read_all(stream, 7), BLOCKS - 7);
	stream->release(stream);
	return NULL;
}

static void a_stream_may_go_on_in_another_thread(void **state)
{
	const struct gpumemtrace_read_options options = small_batches();
	gpumemtrace_recording *recording = open_recording();
	struct ArrowArrayStream stream = open_stream(recording, "blocks", &options);
	struct ArrowArray batch;
	pthread_t thread;

	(void)state;
	assert_int_equal(stream.get_next(&stream, &batch), 0);
	batch.release(&batch);
	gpumemtrace_read_close(recording);
	assert_int_equal(pthread_create(&thread, NULL, read_to_the_end, &stream), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static void check_argument(const struct gpumemtrace_read_options *options, const char *table,
	const char *text)
{
	gpumemtrace_recording *recording = open_recording();
	struct ArrowArrayStream stream;

	assert_int_equal(gpumemtrace_read_stream(recording, table, options, &stream, error,
						 sizeof(error)),
		GPUMEMTRACE_READ_ARGUMENT);
	assert_null(stream.release);
	if (!strstr(error, text))
		fail_msg("\"%s\" is not in: %s", text, error);
	assert_int_equal(gpumemtrace_read_check(table, options, NULL, 0), GPUMEMTRACE_READ_ARGUMENT);
	gpumemtrace_read_close(recording);
}

static void wrong_arguments_are_named(void **state)
{
	static const char *const unknown[] = { "address", "colour" },
							 *const twice[] = { "line", "line" };
	struct gpumemtrace_read_options options = GPUMEMTRACE_READ_EVERYTHING;

	(void)state;
	check_argument(NULL, "planets", "there is no table \"planets\"; the tables are events, blocks");
	options.columns = unknown;
	options.column_count = 2;
	check_argument(&options, "blocks", "table blocks has no column \"colour\"; it has address");
	options.columns = twice;
	check_argument(&options, "blocks", "column line is wanted twice");
	options.column_count = 0;
	check_argument(&options, "blocks", "no column is wanted");
	options.columns = NULL;
	options.layer = "vulkan";
	check_argument(&options, "blocks", "there is no layer \"vulkan\"; the layers are cuda");
	options.layer = "cuda";
	check_argument(&options, "stacks", "table stacks cannot be filtered by layer");
	options.struct_bytes = 8;
	check_argument(&options, "blocks", "struct_bytes of the options is 8");
}

static void files_that_cannot_be_read_have_the_words_of_the_program(void **state)
{
	gpumemtrace_recording *recording = (void *)1;

	(void)state;
	assert_int_equal(gpumemtrace_read_open("/no/such/file", &recording, error, sizeof(error)),
		GPUMEMTRACE_READ_NO_FILE);
	assert_null(recording);
	assert_string_equal(error, "/no/such/file: No such file or directory");
	assert_int_equal(gpumemtrace_read_open("/dev/null", &recording, error, sizeof(error)),
		GPUMEMTRACE_READ_FORMAT);
	/* The text is cut to its room, and may be left out. */
	assert_int_equal(gpumemtrace_read_open("/no/such/file", &recording, error, 4),
		GPUMEMTRACE_READ_NO_FILE);
	assert_string_equal(error, "/no");
	assert_int_equal(gpumemtrace_read_open("/no/such/file", &recording, NULL, 0),
		GPUMEMTRACE_READ_NO_FILE);
	gpumemtrace_read_close(NULL);
}

static void a_stream_that_is_not_taken_is_freed_with_its_memory(void **state)
{
	gpumemtrace_recording *recording = open_recording();
	struct ArrowArrayStream *stream = gpumemtrace_read_new_stream();

	(void)state;
	assert_non_null(stream);
	assert_null(stream->release);
	assert_int_equal(gpumemtrace_read_stream(recording, "sites", NULL, stream, error,
						 sizeof(error)),
		0);
	gpumemtrace_read_close(recording);
	gpumemtrace_read_free_stream(stream);
	gpumemtrace_read_free_stream(gpumemtrace_read_new_stream());
	gpumemtrace_read_free_stream(NULL);
	/* Without Python in the process, nothing happens. */
	gpumemtrace_read_capsule_destructor((void *)1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_table_streams_and_releases_everything),
		cmocka_unit_test(a_batch_outlives_the_stream_and_the_recording),
		cmocka_unit_test(columns_and_dictionaries_that_were_moved_out_outlive_their_batch),
		cmocka_unit_test(a_stream_may_be_released_in_the_middle),
		cmocka_unit_test(text_that_is_not_utf_8_is_repaired),
		cmocka_unit_test(a_schema_without_a_recording_is_that_of_the_stream),
		cmocka_unit_test(several_threads_read_one_recording),
		cmocka_unit_test(a_stream_may_go_on_in_another_thread),
		cmocka_unit_test(wrong_arguments_are_named),
		cmocka_unit_test(files_that_cannot_be_read_have_the_words_of_the_program),
		cmocka_unit_test(a_stream_that_is_not_taken_is_freed_with_its_memory),
	};

	return cmocka_run_group_tests_name("stream", tests, write_recording, path_teardown);
}
