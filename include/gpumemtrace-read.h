/* SPDX-License-Identifier: MIT */
#ifndef GPUMEMTRACE_READ_H
#define GPUMEMTRACE_READ_H

/*
 * Reads recordings of gpumemtrace as Arrow tables. Link with -lgpumemtrace-read.
 *
 *   gpumemtrace_recording *recording;
 *   struct ArrowArrayStream stream;
 *   char error[1024];
 *
 *   if (gpumemtrace_read_open("train.gmt.gz", &recording, error, sizeof(error)) ||
 *       gpumemtrace_read_stream(recording, "blocks", NULL, &stream, error, sizeof(error)))
 *       fprintf(stderr, "%s\n", error);
 *
 * The tables and their columns are described in docs/internals/python-tables.md. A stream follows
 * the Arrow C data interface: any Arrow library can import it. This library needs no Arrow library.
 *
 * Strings: all arguments and results are UTF-8 and end with NUL. Functions that can fail return an
 * enum gpumemtrace_read_status. On failure they write one line without a line break to `error`,
 * which has `error_bytes` bytes (cut if it is too long). `error` may be NULL.
 *
 * Threads: any thread may call any function. A stream is for one thread at a time, but not always
 * for the same thread. Calls about one recording wait for each other. The library has no
 * thread-local state. After fork, only one of the two processes may go on to use a recording.
 *
 * Compatibility: functions keep their meaning as long as the library's soname stays. Structures
 * only grow; `struct_bytes` tells the library which fields the caller knows. Tables may get more
 * columns, at their end. The table version in the metadata increases if a column changes.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How the functions are exported, if the library itself is compiled. */
#ifdef GPUMEMTRACE_READ_BUILDING
#define GPUMEMTRACE_READ_API __attribute__((visibility("default")))
#else
#define GPUMEMTRACE_READ_API
#endif

/* The version of this header: major * 1000 + minor. */
#define GPUMEMTRACE_READ_VERSION 1002

/*
 * The Arrow C data interface and C stream interface. Other headers may declare the same
 * structures under the same guards.
 */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
	const char *format;
	const char *name;
	const char *metadata;
	int64_t flags;
	int64_t n_children;
	struct ArrowSchema **children;
	struct ArrowSchema *dictionary;
	void (*release)(struct ArrowSchema *);
	void *private_data;
};

struct ArrowArray {
	int64_t length;
	int64_t null_count;
	int64_t offset;
	int64_t n_buffers;
	int64_t n_children;
	const void **buffers;
	struct ArrowArray **children;
	struct ArrowArray *dictionary;
	void (*release)(struct ArrowArray *);
	void *private_data;
};

#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
	int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
	int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
	const char *(*get_last_error)(struct ArrowArrayStream *);
	void (*release)(struct ArrowArrayStream *);
	void *private_data;
};

#endif

enum gpumemtrace_read_status {
	GPUMEMTRACE_READ_OK = 0,
	GPUMEMTRACE_READ_ARGUMENT = 1,  /* no such table, column, layer or filter */
	GPUMEMTRACE_READ_NO_FILE = 2,   /* the file cannot be opened or read */
	GPUMEMTRACE_READ_FORMAT = 3,    /* not a recording, or nothing in it can be read */
	GPUMEMTRACE_READ_NEWER = 4,     /* written in a format newer than this library */
	GPUMEMTRACE_READ_NO_MEMORY = 5, /* out of memory */
	GPUMEMTRACE_READ_FAILED = 6,    /* another reason */
};

/* An open recording. It is in memory: the file may be changed or removed. */
typedef struct gpumemtrace_recording gpumemtrace_recording;

/* Returns GPUMEMTRACE_READ_VERSION of the library. */
GPUMEMTRACE_READ_API int gpumemtrace_read_version(void);

/* Returns the version of gpumemtrace, such as "0.1.0". Never freed. */
GPUMEMTRACE_READ_API const char *gpumemtrace_read_program_version(void);

/*
 * Loads the recording in file `path`. A file that is damaged or cut is loaded up to the damage; see
 * gpumemtrace_read_warning. The events of a killed process are added from the memory that it left.
 * The caller closes *ret_recording with gpumemtrace_read_close.
 */
GPUMEMTRACE_READ_API int gpumemtrace_read_open(const char *path,
	gpumemtrace_recording **ret_recording, char *error, size_t error_bytes);

/*
 * Functions of the program that give the bytes of a recording, for example from an object store.
 * Exactly one of `read` and `read_at` is set. Both put up to `bytes` bytes (at least 1) into
 * `buffer` and return their number, 0 at the end, or -1 on failure. `read` gives the next bytes,
 * `read_at` those from `offset` on. The library reads each byte once, from the first to the last,
 * and calls the functions only in the thread that opens the recording. Other calls that open or
 * analyse a recording wait meanwhile, so the functions must not call this library.
 */
struct gpumemtrace_read_input {
	size_t struct_bytes; /* sizeof(struct gpumemtrace_read_input) */
	const char *name; /* for messages, such as "s3://bucket/train.gmt.gz"; NULL: "stream" */
	void *user;       /* first argument of the functions */
	int64_t (*read)(void *user, void *buffer, size_t bytes);
	int64_t (*read_at)(void *user, uint64_t offset, void *buffer, size_t bytes);
};

/*
 * Loads the recording that the functions of `input` give, as gpumemtrace_read_open does. The
 * library keeps the compressed bytes only until it has read them. Bytes that end early are a cut
 * recording; a failed read is GPUMEMTRACE_READ_NO_FILE. `input` is not used after the call. Since
 * version 1002.
 */
GPUMEMTRACE_READ_API int gpumemtrace_read_open_input(const struct gpumemtrace_read_input *input,
	gpumemtrace_recording **ret_recording, char *error, size_t error_bytes);

/*
 * Same, from the `byte_count` bytes at `bytes`, which are not used after the call. `name` as in
 * struct gpumemtrace_read_input. Since version 1002.
 */
GPUMEMTRACE_READ_API int gpumemtrace_read_open_memory(const void *bytes, size_t byte_count,
	const char *name, gpumemtrace_recording **ret_recording, char *error, size_t error_bytes);

/*
 * Same, from the descriptor `fd` of a file, pipe or socket: from its position to its end. The
 * position moves; `fd` stays the caller's. Since version 1002.
 */
GPUMEMTRACE_READ_API int gpumemtrace_read_open_descriptor(int fd, const char *name,
	gpumemtrace_recording **ret_recording, char *error, size_t error_bytes);

/*
 * Closes a recording (NULL: does nothing). Its streams and their arrays stay valid: the memory is
 * freed with the last of them.
 */
GPUMEMTRACE_READ_API void gpumemtrace_read_close(gpumemtrace_recording *recording);

/*
 * Returns warning number `index`, from 0, about the recording. NULL: there are no more warnings.
 * Valid until the recording is closed.
 */
GPUMEMTRACE_READ_API const char *gpumemtrace_read_warning(gpumemtrace_recording *recording,
	size_t index);

/* Returns 1 if the recording has its end and lacks no event, otherwise 0. */
GPUMEMTRACE_READ_API int gpumemtrace_read_is_complete(gpumemtrace_recording *recording);

/* Returns 1 if the file is damaged or cut and only its readable part was loaded, otherwise 0. */
GPUMEMTRACE_READ_API int gpumemtrace_read_is_damaged(gpumemtrace_recording *recording);

/* Returns the time from the beginning to the end of the recording, in nanoseconds. */
GPUMEMTRACE_READ_API int64_t gpumemtrace_read_duration_ns(gpumemtrace_recording *recording);

/* Returns the name of table `index`, from 0. NULL: there are no more tables. Never freed. */
GPUMEMTRACE_READ_API const char *gpumemtrace_read_table_name(size_t index);

/*
 * Returns the name of column `column` of table `table`, from 0. NULL: there are no more. Never
 * freed.
 */
GPUMEMTRACE_READ_API const char *gpumemtrace_read_column_name(size_t table, size_t column);

enum {
	GPUMEMTRACE_READ_HOST = -1,        /* the `device` of host memory */
	GPUMEMTRACE_READ_ANY_DEVICE = -100,
};
#define GPUMEMTRACE_READ_ANY INT64_MIN

/*
 * Which rows and columns a stream has. Filters select rows by the moment at which what they
 * describe begins. A filter that the table has no column for is an error.
 */
struct gpumemtrace_read_options {
	size_t struct_bytes; /* sizeof(struct gpumemtrace_read_options) */
	/* names of columns, in the wanted order; NULL: all columns */
	const char *const *columns;
	size_t column_count;
	/*
	 * Nanoseconds since the recording began: rows from `begin_time_ns` on and before `end_time_ns`.
	 * GPUMEMTRACE_READ_ANY: no limit.
	 */
	int64_t begin_time_ns, end_time_ns;
	/* numbers of steps, in the same way: from the first on, and before the last */
	int64_t begin_step, end_step;
	int32_t device;     /* ordinal, GPUMEMTRACE_READ_HOST or GPUMEMTRACE_READ_ANY_DEVICE */
	const char *layer;  /* such as "torch"; NULL: all layers */
	uint32_t batch_rows; /* rows of a batch; 0: 65,536 */
};

/* Options that select everything. */
#define GPUMEMTRACE_READ_EVERYTHING \
	{ sizeof(struct gpumemtrace_read_options), NULL, 0, GPUMEMTRACE_READ_ANY, \
		GPUMEMTRACE_READ_ANY, GPUMEMTRACE_READ_ANY, GPUMEMTRACE_READ_ANY, \
		GPUMEMTRACE_READ_ANY_DEVICE, NULL, 0 }

/*
 * Makes a stream of the table's batches. `options` NULL: everything; it is not used after the call.
 * The first stream that needs stacks or analyses computes them, which may take seconds.
 *
 * The caller releases `ret_stream` as the interface says. Stream and arrays keep what they need of
 * the recording alive, which may be closed. An array's column may be moved out and outlive the
 * others. Failures while batches are read are ENOMEM, or EIO if temporary files cannot be read
 * back; get_last_error has the text. A damaged recording is no failure: the schema's metadata says
 * so in `gpumemtrace.damaged`.
 */
GPUMEMTRACE_READ_API int gpumemtrace_read_stream(gpumemtrace_recording *recording,
	const char *table, const struct gpumemtrace_read_options *options,
	struct ArrowArrayStream *ret_stream, char *error, size_t error_bytes);

/*
 * Makes the schema of the streams with these arguments, without a recording. Its metadata has
 * `gpumemtrace.table` and `gpumemtrace.table_version` only. The caller releases `ret_schema` as the
 * interface says. Since version 1001.
 */
GPUMEMTRACE_READ_API int gpumemtrace_read_schema(const char *table,
	const struct gpumemtrace_read_options *options, struct ArrowSchema *ret_schema, char *error,
	size_t error_bytes);

/*
 * Checks the arguments of gpumemtrace_read_stream, without a recording. Returns
 * GPUMEMTRACE_READ_OK or GPUMEMTRACE_READ_ARGUMENT.
 */
GPUMEMTRACE_READ_API int gpumemtrace_read_check(const char *table,
	const struct gpumemtrace_read_options *options, char *error, size_t error_bytes);

/*
 * For bindings to Python: the destructor of a PyCapsule named "arrow_array_stream" that holds a
 * struct ArrowArrayStream from malloc. Releases the stream if its consumer did not, and frees it.
 * Finds PyCapsule_GetPointer in the process; does nothing where there is no Python.
 */
GPUMEMTRACE_READ_API void gpumemtrace_read_capsule_destructor(void *capsule);

/* Returns zeroed memory from malloc for that capsule; NULL: out of memory. */
GPUMEMTRACE_READ_API struct ArrowArrayStream *gpumemtrace_read_new_stream(void);

/* Releases the stream if that was not done, and frees it. NULL: does nothing. */
GPUMEMTRACE_READ_API void gpumemtrace_read_free_stream(struct ArrowArrayStream *stream);

#ifdef __cplusplus
}
#endif

#endif
