/* SPDX-License-Identifier: MIT */
#include "testing.h"

#include <stdio.h>
#include <unistd.h>

/* Modules and libraries: their contents, their cost, and how long it lasts. */

#define MODULE_BYTES (3 * MIB)

static char image[] = "// code without a source\n"
					  ".version 8.0\n.target sm_90\n.address_size 64\n"
					  ".extern .global .align 4 .u32 elsewhere;\n"
					  ".visible .global .align 4 .b8 table[16][1024]; /* .global .u8 no; */\n"
					  ".global .attribute(.managed) .align 8 .u64 counter = 7;\n"
					  ".const .v2 .f32 pair = {1.0, 2.0}, other[2];\n"
					  ".visible .entry first(.param .u64 first_param_0)\n"
					  "{ .reg .b32 r; .shared .align 4 .b8 inner[64]; { ret; } }\n"
					  ".func (.param .b32 result) helper(.param .b32 x) { ret; }\n"
					  ".visible .entry second() .maxntid 128, 1, 1 { ret; }\n";
/* Device memory that the variables take. Each variable is rounded up to whole units. */
#define VARIABLE_BYTES ((size_t)16384 + 512 + 512)

static CUmodule load(void)
{
	CUmodule module;

	assert_success(cuModuleLoadData(&module, image));
	return module;
}

static void a_variable_has_an_address_and_its_declared_size(void **state)
{
	CUdeviceptr table, counter, pair, base;
	size_t size;

	(void)state;
	CUmodule module = load();
	assert_success(cuModuleGetGlobal_v2(&table, &size, module, "table"));
	assert_int_equal(size, 16384);
	assert_success(cuMemGetAddressRange_v2(&base, &size, table + 100));
	assert_int_equal(base, table);
	assert_success(cuMemsetD8_v2(table, 1, 16384));
	assert_success(cuModuleGetGlobal_v2(&counter, &size, module, "counter"));
	assert_int_equal(size, 8);
	assert_success(cuModuleGetGlobal_v2(&pair, &size, module, "pair"));
	assert_int_equal(size, 8);
	assert_success(cuModuleGetGlobal_v2(NULL, &size, module, "other"));
	assert_int_equal(size, 16);
	assert_int_equal(cuMemFree_v2(table), CUDA_ERROR_INVALID_VALUE);
	const char *none[] = { "elsewhere", "no", "inner", "first", "nothing" };
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_int_equal(cuModuleGetGlobal_v2(&base, &size, module, none[i]), CUDA_ERROR_NOT_FOUND);
	assert_success(cuModuleUnload(module));
	assert_int_equal(cuMemGetAddressRange_v2(&base, &size, table), CUDA_ERROR_NOT_FOUND);
	assert_int_equal(cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
}

static void a_module_has_the_functions_that_it_declares(void **state)
{
	CUfunction functions[3], function;
	const char *name;
	unsigned int count;
	CUmodule of;

	(void)state;
	CUmodule module = load();
	assert_success(cuModuleGetFunctionCount(&count, module));
	assert_int_equal(count, 2);
	assert_success(cuModuleEnumerateFunctions(functions, 3, module));
	assert_success(cuFuncGetName(&name, functions[1]));
	assert_string_equal(name, "second");
	assert_success(cuModuleGetFunction(&function, module, "second"));
	assert_ptr_equal(function, functions[1]);
	assert_success(cuFuncGetModule(&of, function));
	assert_ptr_equal(of, module);
	assert_success(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	assert_int_equal(cuModuleGetFunction(&function, module, "helper"), CUDA_ERROR_NOT_FOUND);
	assert_success(cuModuleUnload(module));
	assert_int_equal(cuFuncGetModule(&of, function), CUDA_ERROR_INVALID_HANDLE);
}

static void binary_code_has_every_function_and_no_variable(void **state)
{
	CUmodule module;
	CUfunction function;
	size_t size;

	(void)state;
	assert_success(cuModuleLoadData(&module, "\177ELF"));
	assert_success(cuModuleGetFunction(&function, module, "anything"));
	assert_int_equal(cuModuleGetGlobal_v2(NULL, &size, module, "anything"), CUDA_ERROR_NOT_FOUND);
	assert_success(cuModuleUnload(module));
}

static void a_module_costs_its_code_and_its_variables(void **state)
{
	(void)state;
	size_t before = used_bytes();
	CUmodule module = load();
	assert_int_equal(used_bytes() - before, MODULE_BYTES + VARIABLE_BYTES);
	assert_success(cuModuleUnload(module));
	assert_int_equal(used_bytes(), before);
}

static void a_module_can_be_loaded_from_a_file(void **state)
{
	char path[] = "/tmp/simcuda_module_XXXXXX";
	CUmodule module;
	size_t size;

	(void)state;
	int file = mkstemp(path);
	assert_int_equal(write(file, image, sizeof(image) - 1), sizeof(image) - 1);
	close(file);
	assert_success(cuModuleLoad(&module, path));
	assert_success(cuModuleGetGlobal_v2(NULL, &size, module, "table"));
	assert_success(cuModuleUnload(module));
	unlink(path);
	assert_int_equal(cuModuleLoad(&module, path), CUDA_ERROR_FILE_NOT_FOUND);
}

static void a_linked_image_contains_all_inputs_of_the_linker(void **state)
{
	CUlinkState linker;
	CUmodule module;
	size_t size;
	void *code;

	(void)state;
	size_t before = used_bytes();
	assert_success(cuLinkCreate_v2(0, NULL, NULL, &linker));
	assert_success(cuLinkAddData_v2(linker, CU_JIT_INPUT_PTX, image, sizeof(image), "", 0, NULL,
		NULL));
	assert_success(cuLinkComplete(linker, &code, &size));
	assert_int_equal(used_bytes(), before);
	assert_success(cuModuleLoadData(&module, code));
	assert_success(cuLinkDestroy(linker));
	assert_success(cuModuleGetGlobal_v2(NULL, &size, module, "table"));
	assert_int_equal(size, 16384);
	assert_success(cuModuleUnload(module));
}

static void a_library_is_in_every_context_and_has_its_managed_variables_once(void **state)
{
	CUdeviceptr tables[2], counters[2];
	CUlibrary library;
	CUcontext second, third;
	CUmodule module;
	size_t size;

	size_t before = used_bytes();
	assert_success(cuCtxCreate_v2(&second, 0, 1));
	assert_int_equal(used_bytes(), 0);
	assert_success(cuLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0));
	assert_int_equal(used_bytes(), MODULE_BYTES + VARIABLE_BYTES);
	assert_success(cuCtxCreate_v2(&third, 0, 1));
	assert_int_equal(used_bytes(), 2 * (MODULE_BYTES + VARIABLE_BYTES));
	assert_success(cuCtxDestroy_v2(third));
	assert_int_equal(used_bytes(), MODULE_BYTES + VARIABLE_BYTES);

	for (int i = 0; i < 2; i++) {
		assert_success(cuCtxSetCurrent(i ? *state : second));
		assert_success(cuLibraryGetGlobal(&tables[i], &size, library, "table"));
		assert_success(cuLibraryGetManaged(&counters[i], &size, library, "counter"));
		assert_int_equal(size, 8);
	}
	assert_int_not_equal(tables[0], tables[1]);
	assert_int_equal(counters[0], counters[1]);
	assert_int_equal(cuLibraryGetManaged(&counters[0], &size, library, "table"),
		CUDA_ERROR_NOT_FOUND);
	assert_success(cuLibraryGetModule(&module, library));
	assert_int_equal(cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);

	assert_success(cuLibraryUnload(library));
	assert_int_equal(used_bytes(), before);
	assert_int_equal(cuLibraryUnload(library), CUDA_ERROR_INVALID_HANDLE);
	assert_success(cuCtxDestroy_v2(second));
}

static void a_library_outlives_its_contexts(void **state)
{
	CUlibrary library;
	CUcontext second;
	CUdeviceptr table;
	size_t size;

	assert_success(cuCtxCreate_v2(&second, 0, 1));
	assert_success(cuLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0));
	assert_success(cuCtxDestroy_v2(second));
	assert_success(cuCtxSetCurrent(*state));
	assert_success(cuLibraryGetGlobal(&table, &size, library, "table"));
	assert_success(cuLibraryUnload(library));
}

static void kernels_of_a_library_are_functions_of_each_context(void **state)
{
	CUkernel kernels[2], kernel;
	CUfunction function;
	CUlibrary library, of;
	CUmodule module, expected;
	unsigned int count;

	(void)state;
	assert_success(cuLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0));
	assert_success(cuLibraryGetKernelCount(&count, library));
	assert_int_equal(count, 2);
	assert_success(cuLibraryEnumerateKernels(kernels, 2, library));
	assert_success(cuLibraryGetKernel(&kernel, library, "second"));
	assert_ptr_equal(kernel, kernels[1]);
	assert_success(cuKernelGetLibrary(&of, kernel));
	assert_ptr_equal(of, library);
	assert_success(cuKernelGetFunction(&function, kernel));
	assert_success(cuFuncGetModule(&module, function));
	assert_success(cuLibraryGetModule(&expected, library));
	assert_ptr_equal(module, expected);
	assert_success(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	assert_success(cuLibraryUnload(library));
	assert_int_equal(cuKernelGetFunction(&function, kernel), CUDA_ERROR_INVALID_HANDLE);
}

static void code_is_not_loaded_while_a_capture_forbids_it(void **state)
{
	CUmodule module;
	CUstream stream;
	CUgraph graph;

	(void)state;
	assert_success(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	assert_success(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	assert_int_equal(cuModuleLoadData(&module, image), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	assert_int_equal(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	assert_success(cuStreamDestroy_v2(stream));
}

static void lazy_code_costs_memory_from_its_first_use(void **state)
{
	CUfunctionLoadingState loading;
	CUmoduleLoadingMode mode;
	CUfunction functions[2], function;
	CUdeviceptr table;
	CUlibrary library;
	CUkernel kernel;
	size_t size;

	(void)state;
	assert_success(cuModuleGetLoadingMode(&mode));
	assert_int_equal(mode, CU_MODULE_LAZY_LOADING);
	size_t before = used_bytes();
	CUmodule first = load(), second = load(), third = load();
	assert_success(cuLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0));
	assert_success(cuLibraryGetKernel(&kernel, library, "first"));
	assert_int_equal(used_bytes(), before);

	assert_success(cuModuleGetFunction(&function, first, "first"));
	assert_int_equal(used_bytes() - before, MODULE_BYTES + VARIABLE_BYTES);
	assert_success(cuModuleGetGlobal_v2(&table, &size, second, "table"));
	assert_int_equal(used_bytes() - before, 2 * (MODULE_BYTES + VARIABLE_BYTES));
	assert_success(cuModuleEnumerateFunctions(functions, 2, third));
	assert_success(cuFuncIsLoaded(&loading, functions[0]));
	assert_int_equal(loading, CU_FUNCTION_LOADING_STATE_UNLOADED);
	assert_int_equal(used_bytes() - before, 2 * (MODULE_BYTES + VARIABLE_BYTES));
	assert_success(cuFuncLoad(functions[0]));
	assert_int_equal(used_bytes() - before, 3 * (MODULE_BYTES + VARIABLE_BYTES));
	assert_success(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	assert_int_equal(used_bytes() - before, 4 * (MODULE_BYTES + VARIABLE_BYTES));

	assert_success(cuModuleUnload(first));
	assert_success(cuModuleUnload(second));
	assert_success(cuModuleUnload(third));
	assert_success(cuLibraryUnload(library));
	assert_int_equal(used_bytes(), before);
}

int main(void)
{
	const struct CMUnitTest either[] = {
		CONTEXT_TEST(a_variable_has_an_address_and_its_declared_size),
		CONTEXT_TEST(a_module_has_the_functions_that_it_declares),
		CONTEXT_TEST(binary_code_has_every_function_and_no_variable),
		CONTEXT_TEST(a_module_can_be_loaded_from_a_file),
		CONTEXT_TEST(a_linked_image_contains_all_inputs_of_the_linker),
		CONTEXT_TEST(a_library_outlives_its_contexts),
		CONTEXT_TEST(kernels_of_a_library_are_functions_of_each_context),
		CONTEXT_TEST(code_is_not_loaded_while_a_capture_forbids_it),
	};
	const struct CMUnitTest eager[] = {
		CONTEXT_TEST(a_module_costs_its_code_and_its_variables),
		CONTEXT_TEST(a_library_is_in_every_context_and_has_its_managed_variables_once),
	};
	const struct CMUnitTest lazy[] = {
		CONTEXT_TEST(lazy_code_costs_memory_from_its_first_use),
	};
	const char *is_lazy = getenv("SIMCUDA_LAZY_MODULES");

	setenv("SIMCUDA_MODULE_MEMORY", "3M", 1);
	int failures = cmocka_run_group_tests(either, NULL, NULL);
	return failures +
		(is_lazy && *is_lazy == '1' ? cmocka_run_group_tests(lazy, NULL, NULL)
									: cmocka_run_group_tests(eager, NULL, NULL));
}
