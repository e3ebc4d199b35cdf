/* SPDX-License-Identifier: MIT */
/*
 * What extension.py loads: a native extension that takes its scratch memory from CUDA itself, past
 * PyTorch's allocator. It links to nothing: the runtime is the one that PyTorch has brought into
 * the process.
 */
extern int cudaMalloc(void **address, unsigned long size_bytes);
extern int cudaFree(void *address);

static unsigned long total_bytes;

/* The memory, or NULL. */
__attribute__((noinline)) void *scratch_new(unsigned long size_bytes)
{
	void *address = 0;

	if (cudaMalloc(&address, size_bytes)) /* leaks here */
		return 0;
	total_bytes += size_bytes;
	return address;
}

int scratch_free(void *address)
{
	return cudaFree(address);
}

/*
 * As if it were a fused operator: needs scratch memory, and hands it out for the caller's next
 * call.
 */
void *fused_scale(const void *input, unsigned long size_bytes)
{
	void *scratch = input ? scratch_new(2 * size_bytes) : 0;

	return total_bytes ? scratch : 0;
}
