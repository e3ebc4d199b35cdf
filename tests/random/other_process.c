/* SPDX-License-Identifier: MIT */
/* The other process, whose memory this process imports. It sends descriptors through a socket. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "random_calls.h"

struct other_process other_process;

static void check(bool fine, const char *what)
{
	if (fine)
		return;
	fprintf(stderr, "random-calls: the other process: %s\n", what);
	_exit(1);
}

static void allocate_shared_memory(void)
{
	CUmemAllocationHandleType type = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	CUmemPoolProps pool_properties = {
		.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.handleTypes = type,
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1 },
	};
	CUmemoryPool pool;
	CUcontext context;

	check(!cuInit(0) && !cuCtxCreate_v2(&context, 0, 0), "no context");
	check(!cuMemPoolCreate(&pool, &pool_properties) &&
			!cuMemPoolExportToShareableHandle(&other_process.pool_file, pool, type, 0),
		"no pool");
	for (int i = 0; i < SHARED_COUNT; i++) {
		CUmemAllocationProp properties = {
			.type = CU_MEM_ALLOCATION_TYPE_PINNED,
			.requestedHandleTypes = type,
			.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = i % DEVICES },
		};
		CUmemGenericAllocationHandle handle;
		CUdeviceptr address;

		other_process.memory_bytes[i] = (size_t)(i + 1) * UNIT_BYTES;
		check(!cuMemCreate(&handle, other_process.memory_bytes[i], &properties, 0) &&
				!cuMemExportToShareableHandle(&other_process.memory_files[i], handle, type, 0),
			"no memory");
		check(!cuMemAllocFromPoolAsync(&address, (size_t)(i + 1) * 1000, pool, NULL) &&
				!cuMemPoolExportPointer(&other_process.blocks[i], address),
			"no block");
	}
}

union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(sizeof(int) * (SHARED_COUNT + 1))];
};

static struct msghdr message_of(struct iovec *part, union control *control)
{
	return (struct msghdr){
		.msg_iov = part,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(*control),
	};
}

static void send_descriptors(int socket)
{
	struct iovec part = { &other_process, sizeof(other_process) };
	union control control = { 0 };
	struct msghdr message = message_of(&part, &control);
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int) * (SHARED_COUNT + 1));
	memcpy(CMSG_DATA(header), other_process.memory_files, sizeof(other_process.memory_files));
	memcpy(CMSG_DATA(header) + sizeof(other_process.memory_files), &other_process.pool_file,
		sizeof(int));
	check(sendmsg(socket, &message, 0) == (ssize_t)sizeof(other_process), "cannot send");
}

static void receive_descriptors(int socket)
{
	struct iovec part = { &other_process, sizeof(other_process) };
	union control control = { 0 };
	struct msghdr message = message_of(&part, &control);

	if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof(other_process) ||
		!CMSG_FIRSTHDR(&message)) {
		fputs("random-calls: nothing came from the other process\n", stderr);
		exit(1);
	}
	memcpy(other_process.memory_files, CMSG_DATA(CMSG_FIRSTHDR(&message)),
		sizeof(other_process.memory_files));
	memcpy(&other_process.pool_file,
		CMSG_DATA(CMSG_FIRSTHDR(&message)) + sizeof(other_process.memory_files), sizeof(int));
}

void start_other_process(void)
{
	int pair[2];
	char end;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) {
		perror("random-calls: socketpair");
		exit(1);
	}
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, 9);
		close(pair[0]);
		allocate_shared_memory();
		send_descriptors(pair[1]);
		/* Waits until the first process has closed its end of the socket. */
		while (read(pair[1], &end, 1) > 0)
			;
		_exit(0);
	}
	close(pair[1]);
	receive_descriptors(pair[0]);
}
