/* SPDX-License-Identifier: MIT */
/*
 * Programs built with CUDA 12 pass CUDA 12's structures to the CUDA 12 runtime, not those of CUDA
 * 13.
 */
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

enum { UNTOUCHED = 0xAA, GUARD_BYTES = 128, ON_DEVICE = 2, MANAGED = 3, BYTES = 100 };

/* The same structure as in the headers of CUDA 12. */
struct cudaPointerAttributes {
	int type, device;
	void *devicePointer, *hostPointer;
};

int cudaMalloc(void **ret_address, size_t size_bytes);
int cudaMallocManaged(void **ret_address, size_t size_bytes, unsigned int flags);
int cudaFree(void *address);
int cudaPointerGetAttributes(struct cudaPointerAttributes *ret_attributes, const void *pointer);
int cudaGetDeviceProperties_v2(void *ret_properties, int device);

static void assert_untouched(const unsigned char *bytes)
{
	for (size_t i = 0; i < GUARD_BYTES; i++)
		assert_int_equal(bytes[i], UNTOUCHED);
}

static void a_pointers_attributes_are_24_bytes(void **state)
{
	struct {
		struct cudaPointerAttributes found;
		unsigned char behind[GUARD_BYTES];
	} buffer;
	void *address;

	(void)state;
	memset(&buffer, UNTOUCHED, sizeof(buffer));
	assert_int_equal(cudaMalloc(&address, BYTES), 0);
	assert_int_equal(cudaPointerGetAttributes(&buffer.found, address), 0);
	assert_int_equal(buffer.found.type, ON_DEVICE);
	assert_int_equal(buffer.found.device, 0);
	assert_ptr_equal(buffer.found.devicePointer, address);
	assert_untouched(buffer.behind);
	assert_int_equal(cudaFree(address), 0);

	assert_int_equal(cudaMallocManaged(&address, BYTES, 1), 0);
	assert_int_equal(cudaPointerGetAttributes(&buffer.found, address), 0);
	assert_int_equal(buffer.found.type, MANAGED);
	assert_untouched(buffer.behind);
	assert_int_equal(cudaFree(address), 0);
	assert_int_not_equal(cudaPointerGetAttributes(NULL, NULL), 0);
}

static void a_devices_properties_are_1032_bytes(void **state)
{
	struct {
		char properties[1032];
		unsigned char behind[GUARD_BYTES];
	} buffer;

	(void)state;
	memset(&buffer, UNTOUCHED, sizeof(buffer));
	assert_int_equal(cudaGetDeviceProperties_v2(&buffer, 0), 0);
	assert_untouched(buffer.behind);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pointers_attributes_are_24_bytes),
		cmocka_unit_test(a_devices_properties_are_1032_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
