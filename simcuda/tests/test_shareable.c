/* SPDX-License-Identifier: MIT */
#include "testing.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../driver/accounting.h"

/*
 * Physical memory of which other processes get a handle. The second process runs this program again
 * and inherits a descriptor. A fork alone would not work, because CUDA does not survive it.
 */

enum { UNIT = 2 << 20 };

static const CUmemAllocationProp shareable = {
	.type = CU_MEM_ALLOCATION_TYPE_PINNED,
	.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
	.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 },
};

static void *as_handle(int file)
{
	return (void *)(intptr_t)file;
}

static int export(CUmemGenericAllocationHandle handle)
{
	int file = -1;

	assert_success(cuMemExportToShareableHandle(&file, handle,
		CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	assert_true(file >= 0);
	return file;
}

/* Reserves addresses, maps the memory and makes it accessible. */
static CUdeviceptr map(CUmemGenericAllocationHandle handle, size_t size_bytes)
{
	CUdeviceptr address;
	CUmemAccessDesc access = { .location = shareable.location,
		.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };

	assert_success(cuMemAddressReserve(&address, size_bytes, 0, 0, 0));
	assert_success(cuMemMap(address, size_bytes, 0, handle, 0));
	assert_success(cuMemSetAccess(address, size_bytes, &access, 1));
	return address;
}

static void unmap(CUdeviceptr address, size_t size_bytes)
{
	assert_success(cuMemUnmap(address, size_bytes));
	assert_success(cuMemAddressFree(address, size_bytes));
}

static void a_descriptor_keeps_released_memory_alive(void **state)
{
	CUmemGenericAllocationHandle handle, again;

	(void)state;
	assert_success(cuMemCreate(&handle, UNIT, &shareable, 0));
	int file = export(handle), second = export(handle);
	assert_success(cuMemRelease(handle));
	assert_int_equal(used_bytes(), UNIT);
	close(second);
	assert_int_equal(used_bytes(), UNIT);
	assert_int_equal(cuMemRelease(handle), CUDA_ERROR_INVALID_VALUE);
	struct simcuda_item items[16], kept = { 0 };
	size_t count = simcuda_list(items, 16);
	for (size_t i = 0; i < count; i++)
		if (items[i].kind == SIMCUDA_KIND_PHYSICAL)
			kept = items[i];
	assert_int_equal(kept.charged_bytes, UNIT);
	assert_int_equal(kept.references + kept.mappings, 0);
	/* The descriptor names the same memory, which is not charged again. */
	assert_success(cuMemImportFromShareableHandle(&again, as_handle(file),
		CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
	assert_int_equal(used_bytes(), UNIT);
	close(file);
	assert_int_equal(used_bytes(), UNIT);
	assert_success(cuMemRelease(again));
	assert_int_equal(used_bytes(), 0);
}

static void memory_is_free_after_its_last_descriptor_is_closed(void **state)
{
	CUmemGenericAllocationHandle handle;

	(void)state;
	assert_success(cuMemCreate(&handle, CAPACITY_BYTES, &shareable, 0));
	int file = export(handle);
	assert_success(cuMemRelease(handle));
	assert_int_equal(cuMemCreate(&handle, UNIT, &shareable, 0), CUDA_ERROR_OUT_OF_MEMORY);
	close(file);
	assert_success(cuMemCreate(&handle, UNIT, &shareable, 0));
	assert_success(cuMemRelease(handle));
}

static void export_keeps_bytes_and_mappings(void **state)
{
	CUmemGenericAllocationHandle handle, again;
	char read_back[6] = "";

	(void)state;
	assert_success(cuMemCreate(&handle, 2 * UNIT, &shareable, 0));
	CUdeviceptr address = map(handle, 2 * UNIT);
	assert_success(cuMemcpyHtoD_v2(address + UNIT + 77, "early", 6));
	int file = export(handle);
	assert_success(cuMemcpyDtoH_v2(read_back, address + UNIT + 77, 6));
	assert_string_equal(read_back, "early");
	assert_success(cuMemImportFromShareableHandle(&again, as_handle(file),
		CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
	CUdeviceptr other = map(again, 2 * UNIT);
	assert_success(cuMemcpyHtoD_v2(other + 5, "later", 6));
	assert_success(cuMemcpyDtoH_v2(read_back, address + 5, 6));
	assert_string_equal(read_back, "later");
	close(file);
	unmap(address, 2 * UNIT);
	unmap(other, 2 * UNIT);
	assert_success(cuMemRelease(handle));
	assert_success(cuMemRelease(again));
	assert_int_equal(used_bytes(), 0);
}

static void only_exportable_memory_is_exported(void **state)
{
	CUmemAllocationProp properties = shareable;
	CUmemGenericAllocationHandle handle;
	int file;

	(void)state;
	properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_FABRIC;
	assert_int_equal(cuMemCreate(&handle, UNIT, &properties, 0), CUDA_ERROR_NOT_SUPPORTED);
	properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_NONE;
	assert_success(cuMemCreate(&handle, UNIT, &properties, 0));
	assert_int_equal(cuMemExportToShareableHandle(&file, handle,
						 CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
		CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemExportToShareableHandle(&file, handle, CU_MEM_HANDLE_TYPE_FABRIC, 0),
		CUDA_ERROR_NOT_SUPPORTED);
	assert_success(cuMemRelease(handle));
	/* Any other file is not memory. */
	file = open("/dev/null", O_RDONLY);
	assert_int_equal(cuMemImportFromShareableHandle(&handle, as_handle(file),
						 CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
		CUDA_ERROR_INVALID_VALUE);
	close(file);
	assert_int_equal(cuMemImportFromShareableHandle(&handle, as_handle(file),
						 CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
		CUDA_ERROR_INVALID_VALUE);
}

static void a_dma_buf_keeps_mapped_memory(void **state)
{
	CUmemAllocationProp properties = shareable;
	CUmemGenericAllocationHandle handle;
	CUdeviceptr block;
	int file;

	(void)state;
	properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_NONE;
	assert_success(cuMemCreate(&handle, UNIT, &properties, 0));
	CUdeviceptr address = map(handle, UNIT);
	assert_success(cuMemGetHandleForAddressRange(&file, address, 8192,
		CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0));
	unmap(address, UNIT);
	assert_success(cuMemRelease(handle));
	assert_int_equal(used_bytes(), UNIT);
	close(file);
	assert_int_equal(used_bytes(), 0);

	assert_success(cuMemAlloc_v2(&block, 10000));
	assert_int_equal(cuMemGetHandleForAddressRange(&file, block, 10000,
						 CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0),
		CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemGetHandleForAddressRange(&file, block, 16384,
						 CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0),
		CUDA_ERROR_INVALID_VALUE);
	assert_success(cuMemGetHandleForAddressRange(&file, block, 12288,
		CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0));
	close(file);
	assert_success(cuMemFree_v2(block));
}

/* --- between processes ------------------------------------------------------------------------ */

static int channel[2];

/* The work of the second process. Returns 0, or the number of the step that failed. */
static int import_in_child(int file, int control)
{
	CUmemGenericAllocationHandle handle, again;
	CUdeviceptr address;
	CUcontext context;
	CUmemAllocationProp properties;
	CUmemAccessDesc access = { .location = shareable.location,
		.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	size_t free_bytes, total_bytes;
	char read_back[6] = "", byte = 'r';

	if (cuInit(0) || cuCtxCreate_v2(&context, 0, 0))
		return 1;
	if (cuMemImportFromShareableHandle(&handle, as_handle(file),
			CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
		return 2;
	close(file);
	if (cuMemGetAllocationPropertiesFromHandle(&properties, handle) || properties.location.id != 0)
		return 3;
	if (cuMemAddressReserve(&address, UNIT, 0, 0, 0) || cuMemMap(address, UNIT, 0, handle, 0) ||
		cuMemSetAccess(address, UNIT, &access, 1))
		return 4;
	/* The exporter is charged. */
	if (cuMemGetInfo_v2(&free_bytes, &total_bytes) || free_bytes != total_bytes)
		return 5;
	if (cuMemcpyDtoH_v2(read_back, address, 6) || strcmp(read_back, "ping!") != 0 ||
		cuMemcpyHtoD_v2(address, "pong!", 6))
		return 6;
	if (cuMemRetainAllocationHandle(&again, (void *)address) || again != handle ||
		cuMemRelease(again) || cuMemRelease(handle))
		return 7;
	/* Now only the mapping is left. Reports this and waits until the exporter has checked. */
	if (write(control, &byte, 1) != 1 || read(control, &byte, 1) != 1)
		return 8;
	if (cuMemUnmap(address, UNIT) || cuMemRelease(handle) != CUDA_ERROR_INVALID_VALUE)
		return 9;
	return 0;
}

static void imported_memory_is_charged_to_the_exporter(void **state)
{
	CUmemGenericAllocationHandle handle;
	char read_back[6] = "", byte = 0, file_text[12], control_text[12];
	int status;

	(void)state;
	assert_success(cuMemCreate(&handle, UNIT, &shareable, 0));
	CUdeviceptr address = map(handle, UNIT);
	assert_success(cuMemcpyHtoD_v2(address, "ping!", 6));
	int file = export(handle);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, channel), 0);
	pid_t child = fork();
	if (child == 0) {
		close(channel[0]);
		fcntl(file, F_SETFD, 0);
		snprintf(file_text, sizeof(file_text), "%d", file);
		snprintf(control_text, sizeof(control_text), "%d", channel[1]);
		execl("/proc/self/exe", "test_shareable", file_text, control_text, (char *)NULL);
		_exit(99);
	}
	assert_true(child > 0);
	close(channel[1]);
	close(file);
	assert_int_equal(read(channel[0], &byte, 1), 1);
	assert_success(cuMemcpyDtoH_v2(read_back, address, 6));
	assert_string_equal(read_back, "pong!");
	/* This process releases everything. The other process's mapping keeps the memory alive. */
	unmap(address, UNIT);
	assert_success(cuMemRelease(handle));
	assert_int_equal(used_bytes(), UNIT);
	assert_int_equal(write(channel[0], &byte, 1), 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(used_bytes(), 0);
	close(channel[0]);
}

/* Sends descriptors and the description of a pool's block to the process at the other end. */
static bool send_all(int control, const int files[2], const CUmemPoolPtrExportData *data)
{
	union {
		struct cmsghdr header;
		char buffer[CMSG_SPACE(2 * sizeof(int))];
	} ancillary = { .buffer = { 0 } };
	CUmemPoolPtrExportData copy = *data;
	struct iovec vector = { &copy, sizeof(copy) };
	struct msghdr message = { .msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = ancillary.buffer,
		.msg_controllen = sizeof(ancillary.buffer) };
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(2 * sizeof(int));
	memcpy(CMSG_DATA(header), files, 2 * sizeof(int));
	return sendmsg(control, &message, 0) == sizeof(copy);
}

static void receive_all(int control, int ret_files[2], CUmemPoolPtrExportData *ret_data)
{
	union {
		struct cmsghdr header;
		char buffer[CMSG_SPACE(2 * sizeof(int))];
	} ancillary;
	struct iovec vector = { ret_data, sizeof(*ret_data) };
	struct msghdr message = { .msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = ancillary.buffer,
		.msg_controllen = sizeof(ancillary.buffer) };

	assert_int_equal(recvmsg(control, &message, 0), sizeof(*ret_data));
	assert_non_null(CMSG_FIRSTHDR(&message));
	memcpy(ret_files, CMSG_DATA(CMSG_FIRSTHDR(&message)), 2 * sizeof(int));
}

/*
 * The work of the second process: exports the memory of a handle and a pool with a block, then
 * waits.
 */
static int export_in_child(int control)
{
	CUmemPoolProps properties = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
		.location = shareable.location };
	CUmemGenericAllocationHandle handle;
	CUmemPoolPtrExportData data;
	CUcontext context;
	CUmemoryPool pool;
	CUdeviceptr block;
	size_t free_bytes, total_bytes;
	int files[2];
	char byte;

	if (cuInit(0) || cuCtxCreate_v2(&context, 0, 0) || cuMemCreate(&handle, UNIT, &shareable, 0) ||
		cuMemExportToShareableHandle(&files[0], handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
			0) ||
		cuMemRelease(handle))
		return 1;
	if (cuMemPoolCreate(&pool, &properties) || cuMemAllocFromPoolAsync(&block, 5000, pool, NULL) ||
		cuMemPoolExportToShareableHandle(&files[1], pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
			0) ||
		cuMemPoolExportPointer(&data, block))
		return 2;
	if (!send_all(control, files, &data))
		return 3;
	close(files[0]);
	close(files[1]);
	/*
	 * The other process has imported both. Its import keeps the handle's memory alive. The pool's
	 * memory stays only because of the block here.
	 */
	if (read(control, &byte, 1) != 1 || cuMemGetInfo_v2(&free_bytes, &total_bytes) ||
		total_bytes - free_bytes != 2 * UNIT || write(control, &byte, 1) != 1)
		return 4;
	if (read(control, &byte, 1) != 1 || cuMemFree_v2(block) || cuMemPoolDestroy(pool) ||
		cuMemGetInfo_v2(&free_bytes, &total_bytes) || total_bytes != free_bytes)
		return 5;
	return 0;
}

static void descriptors_are_sent_over_a_socket(void **state)
{
	CUmemGenericAllocationHandle handle;
	CUmemPoolPtrExportData data;
	CUmemoryPool pool;
	CUdeviceptr block;
	char text[12], byte = 0;
	size_t size_bytes;
	int status, files[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, channel), 0);
	pid_t child = fork();
	if (child == 0) {
		close(channel[0]);
		snprintf(text, sizeof(text), "%d", channel[1]);
		execl("/proc/self/exe", "test_shareable", text, (char *)NULL);
		_exit(99);
	}
	assert_true(child > 0);
	close(channel[1]);
	receive_all(channel[0], files, &data);
	assert_success(cuMemImportFromShareableHandle(&handle, as_handle(files[0]),
		CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
	assert_success(cuMemPoolImportFromShareableHandle(&pool, as_handle(files[1]),
		CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	close(files[0]);
	close(files[1]);
	assert_success(cuMemPoolImportPointer(&block, pool, &data));
	assert_success(cuMemGetAddressRange_v2(NULL, &size_bytes, block));
	assert_int_equal(size_bytes, 5000);
	assert_int_equal(used_bytes(), 0);
	assert_int_equal(write(channel[0], &byte, 1), 1);
	assert_int_equal(read(channel[0], &byte, 1), 1);
	assert_success(cuMemRelease(handle));
	assert_success(cuMemFree_v2(block));
	assert_success(cuMemPoolDestroy(pool));
	assert_int_equal(write(channel[0], &byte, 1), 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
	close(channel[0]);
}

int main(int argument_count, char **arguments)
{
	const struct CMUnitTest tests[] = {
		CONTEXT_TEST(a_descriptor_keeps_released_memory_alive),
		CONTEXT_TEST(memory_is_free_after_its_last_descriptor_is_closed),
		CONTEXT_TEST(export_keeps_bytes_and_mappings),
		CONTEXT_TEST(only_exportable_memory_is_exported),
		CONTEXT_TEST(a_dma_buf_keeps_mapped_memory),
		CONTEXT_TEST(imported_memory_is_charged_to_the_exporter),
		CONTEXT_TEST(descriptors_are_sent_over_a_socket),
	};
	if (argument_count == 2)
		return export_in_child(atoi(arguments[1]));
	if (argument_count == 3)
		return import_in_child(atoi(arguments[1]), atoi(arguments[2]));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
