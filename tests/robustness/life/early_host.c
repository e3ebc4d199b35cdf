/* SPDX-License-Identifier: MIT */
/*
 * early-host [exit|pthread_exit|quick_exit|_exit]: calls its library once, and ends by this
 * function. By default it returns from main.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "early.h"

int main(int count, char **words)
{
	const char *how = count > 1 ? words[1] : "return";

	early_use();
	if (strcmp(how, "exit") == 0)
		exit(0);
	if (strcmp(how, "pthread_exit") == 0)
		pthread_exit(NULL);
	if (strcmp(how, "quick_exit") == 0)
		quick_exit(0);
	if (strcmp(how, "_exit") == 0)
		_exit(0);
	return 0;
}
