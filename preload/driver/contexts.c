/* SPDX-License-Identifier: MIT */
#include "driver/contexts.h"

#include <stdatomic.h>
#include <stddef.h>

#include "runtime/config.h"
#include "runtime/bounded_wait.h"
#include "runtime/stages.h"

/*
 * A thread that destroys a context waits this long until the sampler has finished its query in that
 * context. The time is long: on a busy machine the sampler may not run for a second, and would then
 * query a destroyed context. The time is bounded: the driver may never answer the sampler.
 */
enum { HOLD_WAIT_NS = 2000000000 };

enum { CONTEXTS = 256, VIEWS = 64, DEVICES = 64, LOCK_WAIT_NS = 100000000 };

/*
 * A look-up finds a slot by its handle, reads it, and then reads the handle again, because the
 * slot may have been reassigned.
 */
static struct slot {
	_Atomic uint64_t handle;  /* 0: free */
	_Atomic uint32_t context; /* device << 16 | number */
	_Atomic uint32_t attached; /* references of cuCtxAttach */
	_Atomic bool is_reported; /* gmt_contexts_add has reported it by ret_is_new */
} slots[CONTEXTS];

static struct {
	_Atomic uint64_t primaries[DEVICES];
	_Atomic uint32_t view_count;
	_Atomic uint32_t used_count; /* only the first slots were ever used */
	atomic_flag write_lock;
	uint16_t last_number; /* protected by `write_lock` */
	/*
	 * The sampler sets `are_held` and then reads `ending_count`. A thread that ends a context does
	 * the opposite. So at least one of them sees the other. This needs sequential consistency.
	 */
	_Atomic bool are_held; /* the sampler queries the driver in a context */
	_Atomic uint32_t ending_count; /* number of threads inside calls that may end a context */
	void (*on_new)(void);
} contexts = { .write_lock = ATOMIC_FLAG_INIT };

/* Views of green contexts. The device of a view is written before its handle. */
static struct {
	_Atomic uint64_t handle; /* 0: free; 1: being filled */
	_Atomic int device;
} views[VIEWS];

/* Takes the write lock, for adding or removing a context. Returns false after a bounded wait. */
static bool lock(void)
{
	struct gmt_bounded_wait wait = gmt_bounded_wait_begin(LOCK_WAIT_NS);

	while (atomic_flag_test_and_set_explicit(&contexts.write_lock, memory_order_acquire))
		if (!gmt_bounded_wait_rest(&wait))
			return false;
	return true;
}

static void unlock(void)
{
	atomic_flag_clear_explicit(&contexts.write_lock, memory_order_release);
}

/* Resets the locks in the child of a fork: the threads that held them do not exist there. */
static void after_fork(void)
{
	unlock();
	atomic_store(&contexts.are_held, false);
	atomic_store(&contexts.ending_count, 0);
}

/* Returns the known context. Its number is 0 if the context was not seen yet. */
static inline struct gmt_context find(uint64_t handle)
{
	const struct gmt_context none = { 0, 0 };
	/* Pairs with the release in put: the slots below this index have been written. */
	const struct slot *slot = slots,
					  *behind =
						  slot + atomic_load_explicit(&contexts.used_count, memory_order_acquire);

	for (; handle && slot < behind; slot++) {
		if (atomic_load_explicit(&slot->handle, memory_order_acquire) != handle)
			continue;

		uint32_t context = atomic_load_explicit(&slot->context, memory_order_acquire);
		if (atomic_load_explicit(&slot->handle, memory_order_acquire) != handle)
			return none;
		return (struct gmt_context){ (int16_t)(context >> 16), (uint16_t)context };
	}
	return none;
}

/* Returns a free slot, or NULL. The caller holds `write_lock`. */
static struct slot *free_slot(void)
{
	uint32_t count = atomic_load_explicit(&contexts.used_count, memory_order_relaxed);

	for (uint32_t i = 0; i < count; i++)
		if (!atomic_load_explicit(&slots[i].handle, memory_order_relaxed))
			return &slots[i];
	return count < CONTEXTS ? &slots[count] : NULL;
}

/* Fills a free slot. Returns false if there is none. The caller holds `write_lock`. */
static bool put(uint64_t handle, int device, uint16_t number, bool is_reported)
{
	struct slot *slot = free_slot();

	if (!slot)
		return false;
	atomic_store_explicit(&slot->context, (uint32_t)(uint16_t)device << 16 | number,
		memory_order_relaxed);
	atomic_store_explicit(&slot->attached, 0, memory_order_relaxed);
	atomic_store_explicit(&slot->is_reported, is_reported, memory_order_relaxed);
	atomic_store_explicit(&slot->handle, handle, memory_order_release);
	if (slot == &slots[atomic_load_explicit(&contexts.used_count, memory_order_relaxed)])
		atomic_fetch_add_explicit(&contexts.used_count, 1, memory_order_release);
	return true;
}

static struct slot *find_slot(uint64_t handle)
{
	for (uint32_t i = 0;
		handle && i < atomic_load_explicit(&contexts.used_count, memory_order_acquire); i++)
		if (atomic_load_explicit(&slots[i].handle, memory_order_acquire) == handle)
			return &slots[i];
	return NULL;
}

void gmt_contexts_on_new(void (*work)(void))
{
	contexts.on_new = work;
}

uint16_t gmt_contexts_add(uint64_t handle, int device, bool *ret_is_new)
{
	uint16_t number;
	struct slot *slot;

	if (ret_is_new)
		*ret_is_new = false;
	if (!handle)
		return 0;
	number = find(handle).number;
	if (!number && lock()) {
		number = find(handle).number;
		if (!number && contexts.last_number < UINT16_MAX &&
			put(handle, device, (uint16_t)(contexts.last_number + 1), false))
			number = ++contexts.last_number;
		unlock();
		if (contexts.on_new)
			contexts.on_new();
	}
	slot = ret_is_new && number ? find_slot(handle) : NULL;
	if (slot)
		*ret_is_new = !atomic_exchange(&slot->is_reported, true);
	return number;
}

struct gmt_context gmt_contexts_end(uint64_t handle)
{
	struct gmt_context known = { 0, 0 };
	struct slot *slot;

	if (!lock())
		return known;
	slot = find_slot(handle);
	if (slot) {
		known = find(handle);
		atomic_store_explicit(&slot->handle, 0, memory_order_release);
	}
	unlock();
	return known;
}

void gmt_contexts_restore(uint64_t handle, const struct gmt_context *context)
{
	if (!context->number || !lock())
		return;
	put(handle, context->device, context->number, true);
	unlock();
}

void gmt_contexts_attach(uint64_t handle)
{
	struct slot *slot = find_slot(handle);

	if (slot)
		atomic_fetch_add_explicit(&slot->attached, 1, memory_order_relaxed);
}

bool gmt_contexts_detach(uint64_t handle)
{
	struct slot *slot = find_slot(handle);

	if (!slot)
		return false;
	if (!atomic_load_explicit(&slot->attached, memory_order_relaxed))
		return true;
	atomic_fetch_sub_explicit(&slot->attached, 1, memory_order_relaxed);
	return false;
}

uint64_t gmt_contexts_primary(int device)
{
	return device >= 0 && device < DEVICES
		? atomic_load_explicit(&contexts.primaries[device], memory_order_relaxed)
		: 0;
}

void gmt_contexts_set_primary(int device, uint64_t handle)
{
	if (device >= 0 && device < DEVICES)
		atomic_store_explicit(&contexts.primaries[device], handle, memory_order_relaxed);
}

void gmt_contexts_add_view(uint64_t view, int device)
{
	for (uint32_t i = 0; view && i < VIEWS; i++) {
		uint64_t expected = 0;

		if (!atomic_compare_exchange_strong(&views[i].handle, &expected, 1))
			continue;
		atomic_store_explicit(&views[i].device, device, memory_order_relaxed);
		/* Pairs with the acquire loads of handles. */
		atomic_store_explicit(&views[i].handle, view, memory_order_release);
		atomic_fetch_add_explicit(&contexts.view_count, 1, memory_order_release);
		return;
	}
}

void gmt_contexts_remove_view(uint64_t view)
{
	for (uint32_t i = 0; view && i < VIEWS; i++) {
		uint64_t expected = view;

		if (atomic_compare_exchange_strong(&views[i].handle, &expected, 0)) {
			atomic_fetch_sub_explicit(&contexts.view_count, 1, memory_order_release);
			return;
		}
	}
}

uint64_t gmt_contexts_resolve_view(uint64_t handle)
{
	if (!atomic_load_explicit(&contexts.view_count, memory_order_acquire))
		return handle;
	for (uint32_t i = 0; handle > 1 && i < VIEWS; i++)
		if (atomic_load_explicit(&views[i].handle, memory_order_acquire) == handle) {
			uint64_t primary =
				gmt_contexts_primary(atomic_load_explicit(&views[i].device, memory_order_relaxed));

			return primary ? primary : handle;
		}
	return handle;
}

struct gmt_context gmt_contexts_find(uint64_t handle)
{
	if (__builtin_expect(atomic_load_explicit(&contexts.view_count, memory_order_acquire) != 0, 0))
		handle = gmt_contexts_resolve_view(handle);
	return find(handle);
}

bool gmt_contexts_seen_any(void)
{
	return atomic_load_explicit(&contexts.used_count, memory_order_acquire) != 0;
}

uint64_t gmt_contexts_of_device(int device)
{
	uint32_t count = atomic_load_explicit(&contexts.used_count, memory_order_acquire);

	for (uint32_t i = 0; i < count; i++) {
		uint64_t handle = atomic_load_explicit(&slots[i].handle, memory_order_acquire);
		struct gmt_context known = find(handle);

		if (known.number && known.device == device && handle != gmt_contexts_primary(device))
			return handle;
	}
	return 0;
}

bool gmt_contexts_hold_all(void)
{
	atomic_store(&contexts.are_held, true);
	if (!atomic_load(&contexts.ending_count))
		return true;
	atomic_store(&contexts.are_held, false);
	return false;
}

void gmt_contexts_release_all(void)
{
	atomic_store(&contexts.are_held, false);
}

void gmt_contexts_block_sampler(void)
{
	struct gmt_bounded_wait wait = gmt_bounded_wait_begin(gmt_config_wait_ns(HOLD_WAIT_NS));

	atomic_fetch_add(&contexts.ending_count, 1);
	while (atomic_load(&contexts.are_held) && gmt_bounded_wait_rest(&wait))
		;
}

void gmt_contexts_unblock_sampler(void)
{
	atomic_fetch_sub(&contexts.ending_count, 1);
}

GMT_AT_STAGE(after_fork, DRIVER, after_fork);
