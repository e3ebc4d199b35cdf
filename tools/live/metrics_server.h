/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_LIVE_METRICS_SERVER_H
#define GMT_TOOLS_LIVE_METRICS_SERVER_H

/*
 * A small HTTP server for Prometheus: answers GET /metrics with a text that the caller sets. It
 * never waits for a single client, also not for a slow one. It serves 16 clients at a time; other
 * clients wait in the kernel's queue. For one thread.
 */

#include <stdbool.h>
#include <stddef.h>

struct gmt_metrics_server;

/*
 * Listens on `address`: "PORT", "HOST:PORT" or "[IPv6]:PORT". Without a host, only this machine can
 * connect (127.0.0.1). Port 0 means a free port. Returns NULL after an error message.
 */
struct gmt_metrics_server *gmt_metrics_server_open(const char *address);

/* Returns the address of the server, e.g. "127.0.0.1:9400". */
const char *gmt_metrics_server_address(const struct gmt_metrics_server *server);

/* Replaces the text by a copy of `text`. Returns false when out of memory; the old text stays. */
bool gmt_metrics_server_set_text(struct gmt_metrics_server *server, const char *text,
	size_t length);

/*
 * Serves clients for at most `wait_ms`. Returns early when `other_fd` (-1: no descriptor) can be
 * read.
 */
void gmt_metrics_server_run(struct gmt_metrics_server *server, int other_fd, int wait_ms);

/* Closes all connections. `server` may be NULL. */
void gmt_metrics_server_close(struct gmt_metrics_server *server);

#endif
