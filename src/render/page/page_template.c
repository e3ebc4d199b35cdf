/* SPDX-License-Identifier: MIT */
#include "render/page/page_template.h"

#ifdef GMT_HAS_PAGE
static const char text[] =
#include "page_text.inc"
	;

const char *gmt_page_template(size_t *ret_length)
{
	*ret_length = sizeof(text) - 1;
	return text;
}
#else
const char *gmt_page_template(size_t *ret_length)
{
	*ret_length = 0;
	return NULL;
}
#endif
