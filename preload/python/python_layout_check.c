/* SPDX-License-Identifier: MIT */
#include "python/python_layout_check.h"

#include <stddef.h>

#include "python/python_code.h"
#include "python/python_text.h"

enum { FRAME_LIMIT = 64 };

/*
 * The functions of the public API that the check calls. All versions from 3.9 on have them. Objects
 * are opaque here.
 */
struct api {
	void *(*PyThreadState_GetFrame)(void *thread);
	void *(*PyFrame_GetBack)(void *frame);
	void *(*PyFrame_GetCode)(void *frame);
	int (*PyFrame_GetLineNumber)(void *frame);
	void *(*PyObject_GetAttrString)(void *object, const char *name);
	const char *(*PyUnicode_AsUTF8AndSize)(void *string, ptrdiff_t *ret_length);
	void *(*PyErr_Occurred)(void);
	void (*PyErr_Clear)(void);
	void (*Py_DecRef)(void *object);
};

static bool find_api(gmt_python_find *find, struct api *ret_api)
{
	return (ret_api->PyThreadState_GetFrame = find("PyThreadState_GetFrame")) &&
		(ret_api->PyFrame_GetBack = find("PyFrame_GetBack")) &&
		(ret_api->PyFrame_GetCode = find("PyFrame_GetCode")) &&
		(ret_api->PyFrame_GetLineNumber = find("PyFrame_GetLineNumber")) &&
		(ret_api->PyObject_GetAttrString = find("PyObject_GetAttrString")) &&
		(ret_api->PyUnicode_AsUTF8AndSize = find("PyUnicode_AsUTF8AndSize")) &&
		(ret_api->PyErr_Occurred = find("PyErr_Occurred")) &&
		(ret_api->PyErr_Clear = find("PyErr_Clear")) && (ret_api->Py_DecRef = find("Py_DecRef"));
}

/* Returns whether `string`, as the recorder read it, is the attribute `name` of a code object. */
static bool same_text(const struct api *api, const struct gmt_python_layout *layout, void *code,
	const char *name, const char *string)
{
	char text[GMT_PYTHON_TEXT_BYTES];
	void *object = api->PyObject_GetAttrString(code, name);
	bool same = object == string;

	if (same) {
		ptrdiff_t length = 0;
		const char *utf8 = api->PyUnicode_AsUTF8AndSize(object, &length);

		/* Another test covers strings without UTF-8 and strings that are too long. */
		if (utf8 && length <= GMT_PYTHON_TEXT_BYTES && !memchr(utf8, 0, (size_t)length))
			same = gmt_python_text(layout, string, text) == (uint32_t)length &&
				!memcmp(text, utf8, (size_t)length);
	}
	if (object)
		api->Py_DecRef(object);
	api->PyErr_Clear();
	return same;
}

/* Returns NULL, or what differs between a frame of the interpreter and a frame of the recorder. */
static const char *compare(const struct api *api, const struct gmt_python_layout *layout,
	void *frame, const struct gmt_python_walked_frame *walked)
{
	bool has_qualified = layout->code.qualified != GMT_PYTHON_NONE;
	void *code = api->PyFrame_GetCode(frame);
	int line = api->PyFrame_GetLineNumber(frame);
	const char *what = NULL;

	if (code != walked->code)
		what = "functions";
	else if (!same_text(api, layout, code, has_qualified ? "co_qualname" : "co_name",
				 gmt_python_code_name(layout, walked->code)))
		what = "names";
	else if (!same_text(api, layout, code, "co_filename",
				 gmt_python_load(walked->code, layout->code.file)))
		what = "files";
	else if ((line < 0 ? 0 : (uint32_t)line) !=
		gmt_python_line(layout, walked->code, walked->instr))
		/* Compared last, because this reads a pointer next to those just found correct. */
		what = "lines";
	api->Py_DecRef(code);
	return what;
}

enum gmt_python_layout_result gmt_python_layout_check(const struct gmt_python_layout *layout,
	gmt_python_find *find, char *thread, const char **ret_what)
{
	struct api api;

	/* A set exception belongs to the program. The API must not be called while it is set. */
	if (!find_api(find, &api) || api.PyErr_Occurred())
		return GMT_PYTHON_LAYOUT_UNCHECKED;

	const char *ours = gmt_python_walk_start(layout, thread);
	void *theirs = api.PyThreadState_GetFrame(thread);
	const char *what = NULL;
	uint32_t count = 0;

	for (; theirs && !what && count < FRAME_LIMIT; count++) {
		struct gmt_python_walked_frame walked;

		/* Skips frames that the public API leaves out. */
		do {
			if (!gmt_python_walk_next(layout, &ours, &walked))
				what = "depths";
		} while (!what && !walked.is_complete);
		if (!what)
			what = compare(&api, layout, theirs, &walked);

		void *back = api.PyFrame_GetBack(theirs);

		api.Py_DecRef(theirs);
		theirs = back;
	}
	if (theirs)
		api.Py_DecRef(theirs);
	*ret_what = what;
	if (what)
		return GMT_PYTHON_LAYOUT_WRONG;
	return count ? GMT_PYTHON_LAYOUT_RIGHT : GMT_PYTHON_LAYOUT_UNCHECKED;
}
