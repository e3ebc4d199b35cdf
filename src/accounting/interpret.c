/* SPDX-License-Identifier: MIT */
#include "accounting/interpret.h"

#include "accounting/interpret_internal.h"

static bool interpret_alloc(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event)
{
	if (gmt_has_handles(event->layer, event->space))
		return gmt_interpret_create_memory(interpreter, event);
	return gmt_interpret_alloc(interpreter, event);
}

static bool interpret_free(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event)
{
	const struct gmt_accounting *accounting = interpreter->accounting;
	bool is_cuda = gmt_layer_family(event->layer) == GMT_FAMILY_CUDA;
	uint32_t site;

	if (gmt_has_handles(event->layer, event->space))
		return gmt_interpret_release_memory(interpreter, event);
	/*
	 * A library outlives contexts, but the memory that it took in a context ends with that context.
	 */
	if (is_cuda && event->space == GMT_SPACE_MODULE &&
		!gmt_accounting_find(accounting, event->layer, event->space, event->address))
		return true;
	if (!gmt_interpret_free(interpreter, event, event->layer, event->space, event->address,
			event->size_bytes, &site))
		return false;
	if (is_cuda && event->space == GMT_SPACE_CONTEXT)
		return gmt_interpret_end_context(interpreter, event);
	/* The event of a free may lack the device. The block has it. */
	return gmt_interpret_reported_totals(interpreter, event,
		site == UINT32_MAX
			? event->device
			: accounting->accounts.items[accounting->sites.items[site].account].device);
}

static bool interpret_refusal(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event)
{
	uint32_t site;

	if (!gmt_interpret_get_site(interpreter, event, 0, &site))
		return false;
	gmt_accounting_refuse(interpreter->accounting, site);
	return GMT_REPORT(interpreter, refused, event, site) &&
		gmt_interpret_reported_totals(interpreter, event, event->device);
}

static bool interpret_refused_free(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event)
{
	bool is_handle = gmt_has_handles(event->layer, event->space);

	interpreter->accounting->anomalies.refused_frees++;
	return GMT_REPORT(interpreter, refused_free, event,
		is_handle ? gmt_physical_find(&interpreter->physical, event->address) != GMT_PHYSICAL_NONE
				  : gmt_accounting_find(interpreter->accounting, event->layer, event->space,
						event->address) != NULL);
}

bool gmt_interpret(struct gmt_event_interpreter *interpreter,
	const struct gmt_interpret_event *event)
{
	if (gmt_layer_family(event->layer) == GMT_FAMILY_CUSTOM)
		return gmt_interpret_heap_event(interpreter, event);
	switch ((enum gmt_event_kind)event->kind) {
	case GMT_KIND_ALLOC:
		return interpret_alloc(interpreter, event);
	case GMT_KIND_FREE:
		return interpret_free(interpreter, event);
	case GMT_KIND_ALLOC_FAILED:
		return interpret_refusal(interpreter, event);
	case GMT_KIND_FREE_FAILED:
		return interpret_refused_free(interpreter, event);
	case GMT_KIND_CREATE:
		return event->space != GMT_SPACE_GRAPH || gmt_interpret_instantiate(interpreter, event);
	case GMT_KIND_RETAIN:
		return gmt_interpret_retain(interpreter, event);
	case GMT_KIND_MAP:
		return gmt_interpret_map(interpreter, event);
	case GMT_KIND_UNMAP:
		return gmt_interpret_unmap(interpreter, event);
	case GMT_KIND_BIND:
	case GMT_KIND_BIND_ADDRESS:
		return gmt_interpret_bind(interpreter, event);
	case GMT_KIND_UNBIND:
		return gmt_interpret_unbind(interpreter, event);
	case GMT_KIND_NODE_ALLOC:
	case GMT_KIND_NODE_FREE:
		return gmt_interpret_add_node(interpreter, event);
	case GMT_KIND_LAUNCH:
		return gmt_interpret_launch(interpreter, event);
	case GMT_KIND_SET:
		return event->space != GMT_SPACE_LIMIT || gmt_interpret_set_limit(interpreter, event);
	case GMT_KIND_DESTROY:
		if (interpreter->forgets_ended && event->space == GMT_SPACE_GRAPH)
			gmt_interpret_forget_graph(interpreter, event);
		return true;
	case GMT_KIND_EXPORT:
	case GMT_KIND_TRIM:
	case GMT_KIND_RESET:
	case GMT_KIND_RESIZE:
		return true;
	}
	return true;
}

void gmt_event_interpreter_finish(struct gmt_event_interpreter *interpreter)
{
	interpreter->accounting->anomalies.unknown_frees += interpreter->physical.unknown_handles;
}

void gmt_event_interpreter_fini(struct gmt_event_interpreter *interpreter)
{
	gmt_map_fini(&interpreter->site_ids);
	gmt_physical_fini(&interpreter->physical);
	gmt_interpret_forget_graphs(interpreter);
	gmt_interpret_heaps_fini(interpreter);
}
