/* SPDX-License-Identifier: MIT */
/*
 * The symbol cache on disk. Tests store a made-up name, which no file has. If the reader finds the
 * name, it has used the cache.
 */
#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "reader/symbols/symbols_cache.h"
#include "reader/symbols/symbols_cache_folder.h"

/* The fake libraries are in FAKE_FOLDER. */
static const char library[] = FAKE_FOLDER "/libpython-fake.so";
static const char debug[] = FAKE_FOLDER "/libframework-fake.so";
enum { ADDRESS = 42 };

static char temporary_folder[64], folder[128];

static int begin(void **state)
{
	(void)state;
	strcpy(temporary_folder, "/tmp/gmt-test-XXXXXX");
	if (!mkdtemp(temporary_folder))
		return 1;
	snprintf(folder, sizeof(folder), "%s/gpumemtrace/symbols", temporary_folder);
	return setenv("XDG_CACHE_HOME", temporary_folder, 1);
}

static int end(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", temporary_folder);
	return system(command);
}

/*
 * Opens the cache as a reader does, and looks for ADDRESS. Returns whether the cache has it, with
 * its name in `ret_name`. Otherwise adds `name`, unless that is NULL.
 */
static bool run_on(const char *functions_path, const char *lines_path, const char *name,
	char *ret_name, size_t bytes)
{
	struct gmt_symbols_cache *cache = gmt_symbols_cache_open();
	struct gmt_symbols_elf *functions = gmt_symbols_elf_open(functions_path),
						   *lines = lines_path ? gmt_symbols_elf_open(lines_path) : NULL;
	struct gmt_symbols_results *results;
	struct gmt_symbols_frame frames[GMT_SYMBOLS_MAX_FRAMES] = {
		{ .function = name, .file = "f.c", .line = 7 }
	};
	bool known = false;

	assert_non_null(cache);
	assert_non_null(functions);
	results = gmt_symbols_cache_get(cache, functions, lines);
	if (results) {
		struct gmt_symbols_frame found[GMT_SYMBOLS_MAX_FRAMES];

		known = gmt_symbols_results_find(results, ADDRESS, found);
		if (known)
			snprintf(ret_name, bytes, "%s", found[0].function);
		else if (name)
			assert_true(gmt_symbols_results_add(results, ADDRESS, frames, 1));
	}
	gmt_symbols_elf_close(functions);
	gmt_symbols_elf_close(lines);
	gmt_symbols_cache_close(cache);
	return known;
}

static void store_made_up_name(void)
{
	char name[64];

	assert_false(run_on(library, NULL, "made up", name, sizeof(name)));
}

static bool is_made_up_name_found(void)
{
	char name[64] = "";
	bool known = run_on(library, NULL, NULL, name, sizeof(name));

	assert_string_equal(name, known ? "made up" : "");
	return known;
}

/* Finds the only file of the cache. */
static void find_only_file(char *ret_path, size_t bytes)
{
	DIR *stream = opendir(folder);
	struct dirent *entry;
	int count = 0;

	assert_non_null(stream);
	while ((entry = readdir(stream)))
		if (*entry->d_name != '.') {
			count++;
			assert_true(snprintf(ret_path, bytes, "%s/%s", folder, entry->d_name) < (int)bytes);
		}
	closedir(stream);
	assert_int_equal(count, 1);
}

static void test_the_next_run_finds_added_entries(void **state)
{
	char path[512];
	struct stat status;

	(void)state;
	store_made_up_name();
	assert_true(is_made_up_name_found());
	find_only_file(path, sizeof(path));
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
	assert_int_equal(stat(folder, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0700);
}

static void test_any_text_and_a_missing_text_are_restored(void **state)
{
	struct gmt_symbols_frame frames[GMT_SYMBOLS_MAX_FRAMES] = {
		{ NULL, NULL, 0 }, { "", "", 1 }, { "\x1b[31m\xff\n", "a\tb", UINT32_MAX },
		{ "key", "key", 2 },
	}, found[GMT_SYMBOLS_MAX_FRAMES];
	struct gmt_symbols_results first = { 0 }, second = { 0 };
	gmt_symbols_results_bytes bytes = { 0 };

	(void)state;
	assert_true(gmt_symbols_results_add(&first, UINT64_MAX, frames, GMT_SYMBOLS_MAX_FRAMES));
	assert_true(gmt_symbols_results_add(&first, 0, frames + 2, 1));
	assert_true(gmt_symbols_results_encode(&first, "key", &bytes));
	assert_false(gmt_symbols_results_load(&second, bytes.items, bytes.count, "other key"));
	assert_true(gmt_symbols_results_load(&second, bytes.items, bytes.count, "key"));
	assert_int_equal(gmt_symbols_results_find(&second, 1, found), 0);
	assert_int_equal(gmt_symbols_results_find(&second, 0, found), 1);
	assert_string_equal(found[0].function, frames[2].function);
	for (int round = 0; round < 2; round++) {
		assert_int_equal(gmt_symbols_results_find(round ? &second : &first, UINT64_MAX, found),
			GMT_SYMBOLS_MAX_FRAMES);
		for (size_t i = 0; i < GMT_SYMBOLS_MAX_FRAMES; i++) {
			assert_int_equal(found[i].line, frames[i].line);
			assert_int_equal(!found[i].function, !frames[i].function);
			assert_int_equal(!found[i].file, !frames[i].file);
			if (frames[i].function)
				assert_string_equal(found[i].function, frames[i].function);
			if (frames[i].file)
				assert_string_equal(found[i].file, frames[i].file);
		}
	}
	gmt_symbols_results_fini(&second);
	gmt_symbols_results_fini(&first);
	gmt_vec_fini(&bytes);
}

static void test_an_entry_with_a_damaged_byte_is_rejected(void **state)
{
	char path[512];
	uint8_t bytes[4096], was;
	ssize_t size;
	int fd;

	(void)state;
	store_made_up_name();
	find_only_file(path, sizeof(path));
	fd = open(path, O_RDWR);
	size = pread(fd, bytes, sizeof(bytes), 0);
	assert_in_range(size, 64, sizeof(bytes) - 1);
	for (ssize_t i = 0; i < size; i++) {
		was = bytes[i] ^ 0x20;
		assert_int_equal(pwrite(fd, &was, 1, i), 1);
		assert_false(is_made_up_name_found());
		assert_int_equal(pwrite(fd, &bytes[i], 1, i), 1);
	}
	assert_true(is_made_up_name_found());
	for (ssize_t cut = 0; cut < size; cut += 7) {
		assert_int_equal(ftruncate(fd, cut), 0);
		assert_false(is_made_up_name_found());
	}
	close(fd);
	/* The reader replaces a damaged file. */
	store_made_up_name();
	assert_true(is_made_up_name_found());
}

static void test_a_file_or_folder_that_others_can_write_is_rejected(void **state)
{
	char path[512], parent[128];

	(void)state;
	store_made_up_name();
	find_only_file(path, sizeof(path));
	snprintf(parent, sizeof(parent), "%s/gpumemtrace", temporary_folder);
	assert_int_equal(chmod(path, 0640), 0);
	assert_false(is_made_up_name_found());
	assert_int_equal(chmod(path, 0600), 0);
	assert_true(is_made_up_name_found());
	assert_int_equal(chmod(folder, 0755), 0);
	assert_false(is_made_up_name_found());
	assert_int_equal(chmod(folder, 0700), 0);
	assert_int_equal(chmod(parent, 0777), 0);
	assert_false(is_made_up_name_found());
	assert_int_equal(chmod(parent, 0755), 0);
	assert_true(is_made_up_name_found());
	if (geteuid() == 0) {
		assert_int_equal(chown(path, 1, 1), 0);
		assert_false(is_made_up_name_found());
		assert_int_equal(chown(path, 0, 0), 0);
		assert_int_equal(chown(folder, 1, 1), 0);
		assert_false(is_made_up_name_found());
		assert_int_equal(chown(folder, 0, 0), 0);
		assert_true(is_made_up_name_found());
	}
}

static void test_links_are_not_followed_and_pipes_do_not_block(void **state)
{
	char path[512], aside[128];
	struct stat status;

	(void)state;
	snprintf(aside, sizeof(aside), "%s/aside", temporary_folder);
	store_made_up_name();
	find_only_file(path, sizeof(path));
	assert_int_equal(rename(path, aside), 0);
	assert_int_equal(symlink(aside, path), 0);
	assert_false(is_made_up_name_found());
	/* The reader replaces the link, not its target. */
	assert_int_equal(truncate(aside, 0), 0);
	store_made_up_name();
	assert_true(is_made_up_name_found());
	assert_int_equal(stat(aside, &status), 0);
	assert_int_equal(status.st_size, 0);

	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_false(is_made_up_name_found());
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	store_made_up_name();
	assert_false(is_made_up_name_found());
	assert_int_equal(rmdir(path), 0);

	store_made_up_name();
	assert_int_equal(unlink(aside), 0);
	assert_int_equal(rename(folder, aside), 0);
	assert_int_equal(symlink(aside, folder), 0);
	assert_false(is_made_up_name_found());
}

static void test_a_replaced_file_is_read_again(void **state)
{
	char copy[128], command[1024], name[64];
	struct timespec times[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	struct stat status;

	(void)state;
	snprintf(copy, sizeof(copy), "%s/copy.so", temporary_folder);
	snprintf(command, sizeof(command), "cp %s %s", library, copy);
	assert_int_equal(system(command), 0);
	assert_false(run_on(copy, NULL, "made up", name, sizeof(name)));
	assert_true(run_on(copy, NULL, NULL, name, sizeof(name)));
	/* The file now has line numbers. */
	assert_false(run_on(copy, debug, NULL, name, sizeof(name)));
	/* The length is the same, the times are not. */
	assert_int_equal(utimensat(AT_FDCWD, copy, times, 0), 0);
	assert_false(run_on(copy, NULL, "made up", name, sizeof(name)));
	assert_true(run_on(copy, NULL, NULL, name, sizeof(name)));
	assert_int_equal(stat(copy, &status), 0);
	assert_int_equal(truncate(copy, status.st_size + 1), 0);
	assert_false(run_on(copy, NULL, NULL, name, sizeof(name)));
}

static void test_a_file_without_a_build_id_is_not_cached(void **state)
{
	char bare[128], name[64];
	Elf64_Ehdr header = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(header),
		.e_shentsize = sizeof(Elf64_Shdr),
	};

	(void)state;
	snprintf(bare, sizeof(bare), "%s/bare", temporary_folder);
	int fd = open(bare, O_WRONLY | O_CREAT, 0600);
	assert_int_equal(write(fd, &header, sizeof(header)), sizeof(header));
	close(fd);
	assert_false(run_on(bare, NULL, "made up", name, sizeof(name)));
	assert_int_equal(access(folder, F_OK), -1);
}

static void with_limit(int resource, rlim_t limit, void (*what)(void))
{
	struct rlimit before, less;

	assert_int_equal(getrlimit(resource, &before), 0);
	less = before;
	less.rlim_cur = limit;
	assert_int_equal(setrlimit(resource, &less), 0);
	what();
	assert_int_equal(setrlimit(resource, &before), 0);
}

static void test_limits_on_memory_or_files_turn_the_cache_off(void **state)
{
	(void)state;
	with_limit(RLIMIT_AS, (rlim_t)1 << 46, store_made_up_name);
	assert_false(is_made_up_name_found());
	/* Without the reader's handling, the signal would end this process. */
	with_limit(RLIMIT_FSIZE, 16, store_made_up_name);
	assert_false(is_made_up_name_found());
	store_made_up_name();
	assert_true(is_made_up_name_found());
}

static void test_two_concurrent_readers_leave_one_whole_cache(void **state)
{
	struct gmt_symbols_elf *elf = gmt_symbols_elf_open(library);
	struct gmt_symbols_cache *caches[2] = { gmt_symbols_cache_open(), gmt_symbols_cache_open() };
	struct gmt_symbols_frame frame = { "made up", NULL, 1 };
	struct gmt_symbols_results *results[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		results[i] = gmt_symbols_cache_get(caches[i], elf, elf);
		assert_ptr_equal(gmt_symbols_cache_get(caches[i], elf, elf), results[i]);
		assert_true(gmt_symbols_results_add(results[i], (uint64_t)i, &frame, 1));
	}
	for (int i = 0; i < 2; i++)
		gmt_symbols_cache_close(caches[i]);
	caches[0] = gmt_symbols_cache_open();
	results[0] = gmt_symbols_cache_get(caches[0], elf, elf);
	assert_int_equal(results[0]->earlier.address_count, 1);
	/* Adds a result to the cached results. */
	assert_true(gmt_symbols_results_add(results[0], 0, &frame, 1));
	gmt_symbols_cache_close(caches[0]);
	caches[0] = gmt_symbols_cache_open();
	assert_int_equal(gmt_symbols_cache_get(caches[0], elf, elf)->earlier.address_count, 2);
	gmt_symbols_cache_close(caches[0]);
	gmt_symbols_elf_close(elf);
}

static void make_file(const char *name, time_t when, size_t bytes)
{
	char path[512];
	struct timespec times[2] = { { .tv_sec = when }, { .tv_sec = when } };

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	int fd = open(path, O_WRONLY | O_CREAT, 0600);
	assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
	assert_int_equal(futimens(fd, times), 0);
	close(fd);
}

static bool is_there(const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return access(path, F_OK) == 0;
}

static void test_the_least_recently_used_entry_is_evicted_first(void **state)
{
	enum { FILES = GMT_SYMBOLS_CACHE_FOLDER_MAX_FILES };
	time_t now = time(NULL);
	char name[64];

	(void)state;
	store_made_up_name();
	for (int i = 0; i < FILES; i++) {
		snprintf(name, sizeof(name), "abcdef%04x-0123456789abcdef", i);
		make_file(name, now - 100000 - i, 10);
	}
	make_file("somebody else's", 1, 10);
	make_file("abcdef-0123456789abcdef.77.new", 1, 10);
	make_file("abcdef-0123456789abcdef.78.new", now, 10);
	run_on(library, debug, "another", name, sizeof(name));
	assert_true(is_made_up_name_found());
	snprintf(name, sizeof(name), "abcdef%04x-0123456789abcdef", FILES - 3);
	assert_true(is_there(name));
	snprintf(name, sizeof(name), "abcdef%04x-0123456789abcdef", FILES - 2);
	assert_false(is_there(name));
	assert_true(is_there("somebody else's"));
	assert_false(is_there("abcdef-0123456789abcdef.77.new"));
	assert_true(is_there("abcdef-0123456789abcdef.78.new"));

	make_file("abcdef0000-0123456789abcdef", now - 1000, GMT_SYMBOLS_CACHE_FOLDER_MAX_BYTES);
	run_on(debug, NULL, "another", name, sizeof(name));
	assert_true(is_made_up_name_found());
	assert_false(is_there("abcdef0000-0123456789abcdef"));
	assert_false(is_there("abcdef0001-0123456789abcdef"));
}

static void test_a_cache_file_over_its_limit_starts_again(void **state)
{
	enum { NAME_BYTES = GMT_SYMBOLS_RESULTS_MAX_BYTES / 4 };
	struct gmt_symbols_results first = { 0 }, second = { 0 }, third = { 0 };
	gmt_symbols_results_bytes bytes[2] = { 0 };
	struct gmt_symbols_frame frame = { 0 };
	char *name = calloc(1, NAME_BYTES);

	(void)state;
	assert_non_null(name);
	for (int i = 0; i < 6; i++) {
		memset(name, 'a' + i, NAME_BYTES - 1);
		frame.function = name;
		assert_true(gmt_symbols_results_add(i < 3 ? &first : &second, (uint64_t)i, &frame, 1));
		if (i == 2) {
			assert_true(gmt_symbols_results_encode(&first, "key", &bytes[0]));
			assert_true(gmt_symbols_results_load(&second, bytes[0].items, bytes[0].count, "key"));
		}
	}
	assert_true(gmt_symbols_results_encode(&second, "key", &bytes[1]));
	assert_true(gmt_symbols_results_load(&third, bytes[1].items, bytes[1].count, "key"));
	assert_int_equal(third.earlier.address_count, 3);
	assert_int_equal(third.earlier.addresses[0].address, 3);
	gmt_vec_fini(&bytes[1]);
	memset(name, 'z', NAME_BYTES - 1);
	assert_true(gmt_symbols_results_add(&second, 6, &frame, 1));
	assert_false(gmt_symbols_results_encode(&second, "key", &bytes[1]));
	gmt_symbols_results_fini(&third);
	gmt_symbols_results_fini(&second);
	gmt_symbols_results_fini(&first);
	gmt_vec_fini(&bytes[0]);
	gmt_vec_fini(&bytes[1]);
	free(name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_the_next_run_finds_added_entries, begin, end),
		cmocka_unit_test_setup_teardown(test_any_text_and_a_missing_text_are_restored, begin, end),
		cmocka_unit_test_setup_teardown(test_an_entry_with_a_damaged_byte_is_rejected, begin, end),
		cmocka_unit_test_setup_teardown(test_a_file_or_folder_that_others_can_write_is_rejected,
			begin, end),
		cmocka_unit_test_setup_teardown(test_links_are_not_followed_and_pipes_do_not_block, begin,
			end),
		cmocka_unit_test_setup_teardown(test_a_replaced_file_is_read_again, begin, end),
		cmocka_unit_test_setup_teardown(test_a_file_without_a_build_id_is_not_cached, begin, end),
		cmocka_unit_test_setup_teardown(test_limits_on_memory_or_files_turn_the_cache_off, begin,
			end),
		cmocka_unit_test_setup_teardown(test_two_concurrent_readers_leave_one_whole_cache, begin,
			end),
		cmocka_unit_test_setup_teardown(test_the_least_recently_used_entry_is_evicted_first, begin,
			end),
		cmocka_unit_test_setup_teardown(test_a_cache_file_over_its_limit_starts_again, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
