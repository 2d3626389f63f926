/* Objects of lib_mrc.so. */
#ifndef WEFT_MRC_INTERNAL_H
#define WEFT_MRC_INTERNAL_H

#include "core.h"

/* What the library exports; the rest is hidden. */
#pragma GCC visibility push(default)
#include "mrc.h"
#include "mrc_ctl.h"
#pragma GCC visibility pop

struct mrc_context {
	struct weft_conn *conn;
	struct weft_inbox inbox;
	uint32_t api_version; /* as the application said, 0: the newest */
	pthread_mutex_t lock; /* guards the lists, and probes */
	struct mrc_qp *qps;
	struct mrc_cq *cqs;
	struct mrc_comp_channel *channels;
	struct mrc_qp_hint *hints;
	struct mrc_cc_answer *cc; /* what queries of CC profiles gave (mrc_ctl_cc.c) */
	struct weft_conn *probes; /* for batches of probes; NULL before the first */
};

struct mrc_comp_channel {
	struct mrc_context *context;
	struct mrc_comp_channel *next, **at;
	struct weft_channel core;
};

struct mrc_cq {
	struct mrc_context *context;
	struct mrc_cq *next, **at;
	struct weft_cq core;
};

struct mrc_qp_hint {
	struct mrc_context *context;
	struct mrc_qp_hint *next, **at;
	uint64_t handle;
	unsigned users; /* guarded by the lock of the context */
};

struct mrc_qp {
	struct mrc_context *context;
	struct mrc_qp *next, **at;
	struct weft_qp core;
	struct mrc_cq *send_cq, *recv_cq;
	struct mrc_qp_hint *hint;
	struct mrc_qp_init_attr init; /* as granted */
	uint64_t handle;
};

/* Lists of a context, under its lock. */
#define mrc_link(list, object)                          \
	do {                                            \
		(object)->next = *(list);               \
		if (*(list))                            \
			(*(list))->at = &(object)->next; \
		*(list) = (object);                     \
		(object)->at = (list);                  \
	} while (0)

#define mrc_unlink(object)                              \
	do {                                            \
		*(object)->at = (object)->next;         \
		if ((object)->next)                     \
			(object)->next->at = (object)->at; \
	} while (0)

/* The connection of a context of our libibverbs.so.1, held; NULL if it is another's. */
struct weft_conn *mrc_connection(struct ibv_context *context);

/* A completion queue of work (0) or of EV events (1). */
struct mrc_cq *mrc_open_cq(struct mrc_context *context, uint32_t kind, int cqe, void *cq_context,
			   struct mrc_comp_channel *channel, int comp_vector);

/* Frees what the queries of a context gave. */
void mrc_ctl_forget(struct mrc_context *context);

/* Sends a request whose answer, if any, has the same form. */
int mrc_exchange(struct mrc_context *context, uint32_t op, const void *body, size_t body_size,
		 void *answer, size_t answer_size);

#endif
