/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_PAGE_PAGE_TEMPLATE_H
#define GMT_RENDER_PAGE_PAGE_TEMPLATE_H

#include <stddef.h>

/*
 * Returns the page without data: an HTML document with the page's code, which the build takes from
 * the file of its option `page`. The data belongs at `<!--gpumemtrace data-->`, the summary at
 * `<!--gpumemtrace summary-->`. Returns NULL if the program was built without the file.
 */
const char *gmt_page_template(size_t *ret_length);

#endif
