/* SPDX-License-Identifier: MIT */
/* Another process, whose memory this process imports. It sends descriptors through a socket. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "random_calls.h"

struct others others;

static void need(bool fine, const char *what)
{
	if (fine)
		return;
	fprintf(stderr, "random-calls: the other process: %s\n", what);
	_exit(1);
}

static void make(void)
{
	CUmemAllocationHandleType type = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	CUmemPoolProps pool_properties = {
		.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.handleTypes = type,
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1 },
	};
	CUmemoryPool pool;
	CUcontext context;

	need(!cuInit(0) && !cuCtxCreate_v2(&context, 0, 0), "no context");
	need(!cuMemPoolCreate(&pool, &pool_properties) &&
			!cuMemPoolExportToShareableHandle(&others.pool_file, pool, type, 0),
		"no pool");
	for (int i = 0; i < FILES_OF_OTHERS; i++) {
		CUmemAllocationProp properties = {
			.type = CU_MEM_ALLOCATION_TYPE_PINNED,
			.requestedHandleTypes = type,
			.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = i % DEVICES },
		};
		CUmemGenericAllocationHandle handle;
		CUdeviceptr address;

		others.memory_bytes[i] = (size_t)(i + 1) * UNIT_BYTES;
		need(!cuMemCreate(&handle, others.memory_bytes[i], &properties, 0) &&
				!cuMemExportToShareableHandle(&others.memory_files[i], handle, type, 0),
			"no memory");
		need(!cuMemAllocFromPoolAsync(&address, (size_t)(i + 1) * 1000, pool, NULL) &&
				!cuMemPoolExportPointer(&others.blocks[i], address),
			"no block");
	}
}

union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(sizeof(int) * (FILES_OF_OTHERS + 1))];
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

static void send_all(int socket)
{
	struct iovec part = { &others, sizeof(others) };
	union control control = { 0 };
	struct msghdr message = message_of(&part, &control);
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int) * (FILES_OF_OTHERS + 1));
	memcpy(CMSG_DATA(header), others.memory_files, sizeof(others.memory_files));
	memcpy(CMSG_DATA(header) + sizeof(others.memory_files), &others.pool_file, sizeof(int));
	need(sendmsg(socket, &message, 0) == (ssize_t)sizeof(others), "cannot send");
}

static void receive_all(int socket)
{
	struct iovec part = { &others, sizeof(others) };
	union control control = { 0 };
	struct msghdr message = message_of(&part, &control);

	if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof(others) ||
		!CMSG_FIRSTHDR(&message)) {
		fputs("random-calls: nothing came from the other process\n", stderr);
		exit(1);
	}
	memcpy(others.memory_files, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(others.memory_files));
	memcpy(&others.pool_file, CMSG_DATA(CMSG_FIRSTHDR(&message)) + sizeof(others.memory_files),
		sizeof(int));
}

void others_begin(void)
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
		make();
		send_all(pair[1]);
		/* Waits until the first process has closed its end of the socket. */
		while (read(pair[1], &end, 1) > 0)
			;
		_exit(0);
	}
	close(pair[1]);
	receive_all(pair[0]);
}
