/* Protection domains, which libibverbs.so.1 makes and queue pairs of MRC belong to. */
#ifndef WEFT_PD_H
#define WEFT_PD_H

#include "core.h"

struct weft_pd {
	struct ibv_pd pd;
	uint64_t handle;
	struct weft_conn *conn;
	atomic_int users; /* memory regions and queue pairs */
};

static inline uint64_t weft_pd_handle(struct ibv_pd *pd)
{
	return ((struct weft_pd *)pd)->handle;
}

static inline void weft_pd_use(struct ibv_pd *pd, int more)
{
	atomic_fetch_add(&((struct weft_pd *)pd)->users, more);
}

#endif
