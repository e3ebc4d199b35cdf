/* SPDX-License-Identifier: MIT */
/*
 * Stands for an interpreter whose loop a compiler cut in two: what is cold lies apart, and a
 * stripped file does not name it.
 */

typedef void callback(void);

int _PyEval_EvalFrameDefault(callback *call, int what);
void gmt_fake_other(callback *call);

int gmt_fake_done;

/* Where this is called is a rare part. */
__attribute__((cold, noinline)) static void rare(void)
{
	gmt_fake_done++;
}

/* Calls back from a rare part of itself, or from a usual one. */
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

/* Neither has a stripped file the name of this one, which is no part of the loop. */
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
