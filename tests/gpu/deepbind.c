/* SPDX-License-Identifier: MIT */
/*
 * deepbind PLUGIN: opens the driver and looks up a symbol in it. Then opens a library with
 * RTLD_DEEPBIND that is linked to the driver, and calls the library. The library's calls reach the
 * recorder only through the driver's symbol table.
 */
#include <dlfcn.h>
#include <stdio.h>

int main(int argument_count, char **arguments)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	int (*start)(unsigned) = driver ? (int (*)(unsigned))dlsym(driver, "cuInit") : NULL;
	void *plugin = argument_count == 2 && start && start(0) == 0
		? dlopen(arguments[1], RTLD_NOW | RTLD_DEEPBIND)
		: NULL;
	int (*compute)(void) = plugin ? (int (*)(void))dlsym(plugin, "compute") : NULL;

	if (!compute) {
		fprintf(stderr, "%s\n", plugin || !driver || !start ? "no driver" : dlerror());
		return 2;
	}
	return compute();
}
