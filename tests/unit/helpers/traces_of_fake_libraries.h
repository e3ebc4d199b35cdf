/* SPDX-License-Identifier: MIT */
#ifndef GMT_TESTS_TRACES_OF_FAKE_LIBRARIES_H
#define GMT_TESTS_TRACES_OF_FAKE_LIBRARIES_H

/*
 * Recordings with stacks through two fake libraries, and the reader's traces of them. One file at a
 * time.
 */

#include <dlfcn.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/tables/short_names.h"
#include "fake_frames.h"
#include "reader/symbols/symbols_elf.h"
#include "reader/stacks/traces.h"
#include "recording_file.h"
#include "temporary_file.h"

static struct recording_file file;
static struct gmt_recording *recording;
static struct gmt_traces traces;
static uint32_t next_stack, next_module;

struct library {
	uint64_t start, end, bias;
	char path[512], build_id[130];
};

static struct library python, framework;

static inline int find_loaded(struct dl_phdr_info *info, size_t size, void *user)
{
	struct library *library = user;

	(void)size;
	if (!strstr(info->dlpi_name, library->path))
		return 0;
	snprintf(library->path, sizeof(library->path), "%s", info->dlpi_name);
	library->bias = info->dlpi_addr;
	library->start = UINT64_MAX;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		uint64_t from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

		if (info->dlpi_phdr[i].p_type != PT_LOAD)
			continue;
		library->start = from < library->start ? from : library->start;
		library->end = from + info->dlpi_phdr[i].p_memsz;
	}
	return 1;
}

static inline void find_library(struct library *library, const char *name)
{
	snprintf(library->path, sizeof(library->path), "%s", name);
	assert_int_equal(dl_iterate_phdr(find_loaded, library), 1);

	struct gmt_symbols_elf *elf = gmt_symbols_elf_open(library->path);
	assert_non_null(elf);
	snprintf(library->build_id, sizeof(library->build_id), "%s", gmt_symbols_elf_build_id(elf));
	assert_true(strlen(library->build_id) >= 16);
	gmt_symbols_elf_close(elf);
}

static inline void put_module(const struct library *library, uint32_t generation,
	const char *module_path, const char *build_id)
{
	RECORDING_PUT(&file, MODULE, gmt_module, .id = ++next_module, .generation = generation,
		.start = library->start, .end = library->end, .bias = library->bias,
		.path = slice(module_path), .build_id = slice(build_id));
}

static inline void begin_without_modules(void)
{
	next_stack = next_module = 0;
	recording_file_open(&file, path, 6);
	RECORDING_PUT(&file, PROCESS, gmt_process, .pid = 7, .directory = slice("/home/me"));
	for (uint32_t id = 1; id <= 5; id++) {
		char name[8] = { 'f', (char)('0' + id), 0 };

		RECORDING_PUT(&file, CODE, gmt_code, .id = id, .function = slice(name),
			.file = slice("/home/me/t.py"));
		RECORDING_PUT(&file, FRAME, gmt_frame, .id = id, .code = id, .line = id * 10);
	}
}

static inline void begin(void)
{
	begin_without_modules();
	put_module(&python, 0, python.path, python.build_id);
	put_module(&framework, 0, framework.path, framework.build_id);
}

/* Adds an event with these stacks. `frames` are record items. A count of 0 means no stack. */
static inline void put_trace(const uint64_t *addresses, uint32_t address_count,
	const uint64_t *frames, uint32_t frame_count, unsigned truncated)
{
	uint32_t id = ++next_stack;

	RECORDING_PUT(&file, STACK, gmt_stack, .id = id, .truncated = truncated,
		.items = { addresses, address_count });
	RECORDING_PUT(&file, FRAMES, gmt_frames, .id = id, .items = { frames, frame_count });
	RECORDING_PUT(&file, EVENT, gmt_event, .stamp = id, .thread = 1, .kind = GMT_KIND_ALLOC,
		.layer = GMT_LAYER_CUDA, .space = GMT_SPACE_DEVICE, .address = id * 4096, .size_bytes = 1,
		.stack = address_count ? id : 0, .frames = frame_count ? id : 0);
}

static inline void make_traces(enum gmt_traces_native native, const char *directory)
{
	struct gmt_traces_options options = {
		.native = native,
		.symbol_directories = &directory,
		.symbol_directory_count = directory ? 1 : 0,
	};
	struct gmt_error error;

	traces = (struct gmt_traces){ 0 };
	assert_int_equal(gmt_traces_compute(&traces, recording, &options, &error), GMT_OK);
}

static inline void finish(enum gmt_traces_native native, const char *directory)
{
	struct gmt_error error;

	recording_file_close(&file);
	assert_int_equal(gmt_recording_load(path, NULL, &recording, &error), GMT_OK);
	make_traces(native, directory);
}

static inline void end(void)
{
	gmt_traces_fini(&traces);
	gmt_recording_free(recording);
}

/*
 * Returns the functions of a merged stack, leaf first, separated by blanks. C++ names are cut
 * short.
 */
static inline const char *functions(size_t trace)
{
	static char text[2000];
	uint32_t count;
	const uint32_t *places = gmt_traces_stack(&traces, traces.stack_of_trace[trace], &count);

	text[0] = 0;
	for (uint32_t i = 0; i < count; i++) {
		char name[200];

		const struct gmt_place *place = gmt_traces_place(&traces, places[i]);
		gmt_short_name_of_function(gmt_traces_string(&traces, place->function), name, sizeof(name));
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i ? " " : "", name);
	}
	return text;
}

enum { ENTRY = 1 };
#define FRAME(id) ((id) * 2)
#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static void find_libraries(void)
{
	find_library(&python, "libpython-fake.so");
	find_library(&framework, "libframework-fake.so");
}

#endif
