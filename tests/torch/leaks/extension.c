/* SPDX-License-Identifier: MIT */
/*
 * A native extension for extension.py. It allocates its scratch memory directly from CUDA, without
 * PyTorch's allocator. It does not link to the CUDA runtime: it uses the runtime that PyTorch has
 * loaded.
 */
extern int cudaMalloc(void **address, unsigned long size_bytes);
extern int cudaFree(void *address);

static unsigned long total_bytes;

/* Returns the memory, or NULL. */
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
 * Imitates a fused operator: allocates scratch memory and returns it; the caller must free it with
 * scratch_free.
 */
void *fused_scale(const void *input, unsigned long size_bytes)
{
	void *scratch = input ? scratch_new(2 * size_bytes) : 0;

	return total_bytes ? scratch : 0;
}
