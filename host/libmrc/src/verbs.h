/*
 * Objects of libibverbs.so.1. The system's <infiniband/verbs.h> declares what it implements; the
 * macros by which that header wraps functions are undone here.
 */
#ifndef WEFT_VERBS_H
#define WEFT_VERBS_H

#include "core.h"
#include "pd.h"

#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#define WEFT_API __attribute__((visibility("default")))

struct weft_device {
	struct ibv_device device; /* first */
	atomic_int refs;
	__be64 guid;
};

struct weft_context {
	struct weft_device *device;
	struct weft_conn *conn;
	struct weft_inbox inbox;
	struct verbs_context verbs; /* last, as programs compute from it */
};

static inline struct weft_context *weft_context(struct ibv_context *context)
{
	return (struct weft_context *)((uint8_t *)context - offsetof(struct weft_context, verbs) -
				       offsetof(struct verbs_context, context));
}

struct verbs_channel {
	struct ibv_comp_channel channel; /* first */
	struct weft_channel core;
};

struct verbs_cq {
	struct ibv_cq cq; /* first */
	struct weft_cq core;
};

/* Of verbs_cq.c: what inline functions of the header call. */
int weft_verbs_poll(struct ibv_cq *cq, int count, struct ibv_wc *wc);
int weft_verbs_notify(struct ibv_cq *cq, int solicited_only);

#endif
