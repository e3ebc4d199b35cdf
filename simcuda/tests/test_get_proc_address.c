/* SPDX-License-Identifier: MIT */
#include "testing.h"

#include <dlfcn.h>
#include <stdio.h>

enum {
	LEGACY = CU_GET_PROC_ADDRESS_LEGACY_STREAM,
	PER_THREAD = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
};

/* Returns the exported symbol of that name, as the dynamic linker finds it. */
static void *exported(const char *symbol)
{
	void *address = dlsym(RTLD_DEFAULT, symbol);

	assert_non_null(address);
	return address;
}

static void expect_found(const char *name, int version, cuuint64_t flags, const char *symbol)
{
	CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	void *address = NULL;

	assert_success(cuGetProcAddress_v2(name, &address, version, flags, &status));
	assert_int_equal(status, CU_GET_PROC_ADDRESS_SUCCESS);
	assert_ptr_equal(address, exported(symbol));
}

static void expect_missing(const char *name, int version, CUdriverProcAddressQueryResult expected)
{
	CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
	void *address = &status;

	assert_int_equal(cuGetProcAddress_v2(name, &address, version, 0, &status),
		CUDA_ERROR_NOT_FOUND);
	assert_int_equal(status, expected);
	assert_null(address);
}

static void a_name_gives_the_newest_form_of_the_version(void **state)
{
	(void)state;
	expect_found("cuMemAlloc", 2000, 0, "cuMemAlloc");
	expect_found("cuMemAlloc", 3010, 0, "cuMemAlloc");
	expect_found("cuMemAlloc", 3020, 0, "cuMemAlloc_v2");
	expect_found("cuMemAlloc", 13000, 0, "cuMemAlloc_v2");
	expect_found("cuCtxCreate", 11030, 0, "cuCtxCreate_v2");
	expect_found("cuCtxCreate", 11040, 0, "cuCtxCreate_v3");
	expect_found("cuCtxCreate", 12050, 0, "cuCtxCreate_v4");
}

static void per_thread_forms_are_given_on_request_where_they_exist(void **state)
{
	(void)state;
	expect_found("cuMemAllocAsync", 11020, 0, "cuMemAllocAsync");
	expect_found("cuMemAllocAsync", 11020, LEGACY, "cuMemAllocAsync");
	expect_found("cuMemAllocAsync", 11020, PER_THREAD, "cuMemAllocAsync_ptsz");
	expect_found("cuMemcpyHtoD", 12000, PER_THREAD, "cuMemcpyHtoD_v2_ptds");
	expect_found("cuMemFree", 12000, PER_THREAD, "cuMemFree_v2");
}

static void the_lookup_finds_itself_in_the_form_of_the_version(void **state)
{
	(void)state;
	expect_found("cuGetProcAddress", 11030, 0, "cuGetProcAddress");
	expect_found("cuGetProcAddress", 12000, 0, "cuGetProcAddress_v2");
}

static void an_unknown_name_and_a_too_new_name_have_different_status(void **state)
{
	(void)state;
	expect_missing("cuNoSuchThing", 12000, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
	expect_missing("cuMemAlloc_v2", 12000, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
	expect_missing("", 0, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
	expect_missing("cuMemAllocAsync", 11010, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
}

static void invalid_lookups_are_refused(void **state)
{
	void *address;

	(void)state;
	assert_int_equal(cuGetProcAddress_v2(NULL, &address, 12000, 0, NULL), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuGetProcAddress_v2("cuInit", NULL, 12000, 0, NULL), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuGetProcAddress_v2("cuInit", &address, 12000, 4, NULL),
		CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuGetProcAddress_v2("cuInit", &address, 99000, 0, NULL),
		CUDA_ERROR_INVALID_VALUE);
}

static void the_status_of_a_lookup_is_optional(void **state)
{
	void *address = NULL;

	(void)state;
	assert_success(cuGetProcAddress("cuInit", &address, 11030, 0));
	assert_ptr_equal(address, exported("cuInit"));
	assert_success(cuGetProcAddress_v2("cuInit", &address, 12000, 0, NULL));
}

/* The lookup finds each row by its name, version and stream, and returns the exported symbol. */
static void every_row_of_the_table_is_found(void **state)
{
	(void)state;
#define STREAM_LEGACY LEGACY
#define STREAM_PER_THREAD PER_THREAD
#define ENTRY(symbol, name, version, stream) expect_found(#name, version, STREAM_##stream, #symbol);
#include "../driver/functions.def"
#include "../driver/unsupported.def"
#undef ENTRY
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_gives_the_newest_form_of_the_version),
		cmocka_unit_test(per_thread_forms_are_given_on_request_where_they_exist),
		cmocka_unit_test(the_lookup_finds_itself_in_the_form_of_the_version),
		cmocka_unit_test(an_unknown_name_and_a_too_new_name_have_different_status),
		cmocka_unit_test(invalid_lookups_are_refused),
		cmocka_unit_test(the_status_of_a_lookup_is_optional),
		cmocka_unit_test(every_row_of_the_table_is_found),
	};
	/* Simulates a driver that has every row of the table. */
	setenv("SIMCUDA_DRIVER_VERSION", "13090", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
