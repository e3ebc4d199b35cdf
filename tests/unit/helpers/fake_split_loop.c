/* SPDX-License-Identifier: MIT */
/*
 * Replaces an interpreter whose main loop the compiler split in two parts. The cold part lies
 * elsewhere, and a stripped file has no name for it.
 */

typedef void callback(void);

int _PyEval_EvalFrameDefault(callback *call, int what);
void gmt_fake_other(callback *call);

int gmt_fake_done;

/* The compiler treats each branch that calls this as cold. */
__attribute__((cold, noinline)) static void rare(void)
{
	gmt_fake_done++;
}

/* Calls back from its cold part or from its usual part. */
__attribute__((visibility("default"))) int _PyEval_EvalFrameDefault(callback *call, int what)
{
	if (what == 1) {
		rare();
		call();
		gmt_fake_done += 1;
	}
	if (what == 2) {
		rare();
		call();
		gmt_fake_done += 2;
	}
	if (what == 3) {
		rare();
		call();
		gmt_fake_done += 3;
	}
	if (!what)
		call();
	return gmt_fake_done;
}

/* A stripped file has no name for this function either, which is not part of the loop. */
__attribute__((noinline)) static void other(callback *call)
{
	call();
	gmt_fake_done++;
}

__attribute__((visibility("default"))) void gmt_fake_other(callback *call)
{
	other(call);
	gmt_fake_done++;
}
