/* Protection domains and memory regions of libibverbs.so.1. */
#define _GNU_SOURCE
#include <stdlib.h>

#include "verbs.h"

#define ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
		IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED |      \
		IBV_ACCESS_HUGETLB)

WEFT_API struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct weft_conn *conn = weft_context(context)->conn;
	struct nic_object object;
	struct weft_call call = { .op = NIC_ALLOC_PD, .answer = &object,
				  .answer_size = sizeof(object) };
	struct weft_pd *pd = calloc(1, sizeof(*pd));
	int error;

	if (!pd)
		return weft_null(ENOMEM);
	error = weft_call(conn, &call);
	if (error) {
		free(pd);
		return weft_null(error);
	}
	pd->pd.context = context;
	pd->pd.handle = (uint32_t)object.handle;
	pd->handle = object.handle;
	pd->conn = conn;
	weft_hold(conn);
	return &pd->pd;
}

WEFT_API int ibv_dealloc_pd(struct ibv_pd *pd)
{
	struct weft_pd *p = (struct weft_pd *)pd;
	int error = weft_owned(p->conn);

	if (!error && atomic_load(&p->users))
		error = EBUSY;
	if (error)
		return weft_error(error);
	error = weft_call_object(p->conn, NIC_DEALLOC_PD, p->handle);
	if (error && !weft_dead(p->conn, true))
		return weft_error(error);
	weft_release(p->conn);
	free(p);
	return 0;
}

struct weft_mr {
	struct ibv_mr mr;
	uint64_t handle;
	struct weft_conn *conn;
};

static int check_access(uintptr_t addr, size_t length, unsigned int access)
{
	if (access & ~(unsigned int)ACCESS)
		return access & IBV_ACCESS_ON_DEMAND ? EOPNOTSUPP : EINVAL;
	if ((access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) &&
	    !(access & IBV_ACCESS_LOCAL_WRITE))
		return EINVAL;
	return addr + length < addr ? EINVAL : 0;
}

/* Optional flags, such as relaxed ordering, mean nothing here. */
WEFT_API struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
					 unsigned int access)
{
	struct weft_pd *p = (struct weft_pd *)pd;
	struct nic_mr m;
	struct weft_call call = { .op = NIC_REG_MR, .body = &m, .body_size = sizeof(m),
				  .answer = &m, .answer_size = sizeof(m) };
	struct weft_mr *mr;
	int error;

	if (!pd)
		return weft_null(EINVAL);
	access &= ~(unsigned int)IBV_ACCESS_OPTIONAL_RANGE;
	error = weft_owned(p->conn);
	if (!error)
		error = check_access((uintptr_t)addr, length, access);
	if (error)
		return weft_null(error);
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return weft_null(ENOMEM);
	m = (struct nic_mr){
		.pd = p->handle,
		.addr = (uintptr_t)addr,
		.length = length,
		.iova = access & IBV_ACCESS_ZERO_BASED ? 0 : iova,
		.access = access,
	};
	error = weft_call(p->conn, &call);
	if (error) {
		free(mr);
		return weft_null(error);
	}
	mr->handle = m.handle;
	mr->conn = p->conn;
	mr->mr = (struct ibv_mr){
		.context = pd->context,
		.pd = pd,
		.addr = addr,
		.length = length,
		.handle = (uint32_t)m.handle,
		.lkey = m.lkey,
		.rkey = m.rkey,
	};
	atomic_fetch_add(&p->users, 1);
	return &mr->mr;
}

WEFT_API struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
					int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, iova, (unsigned int)access);
}

WEFT_API struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, (uintptr_t)addr, (unsigned int)access);
}

WEFT_API int ibv_dereg_mr(struct ibv_mr *mr)
{
	struct weft_mr *m = (struct weft_mr *)mr;
	int error = weft_owned(m->conn);

	if (error)
		return weft_error(error);
	error = weft_call_object(m->conn, NIC_DEREG_MR, m->handle);
	if (error && !weft_dead(m->conn, true))
		return weft_error(error);
	weft_pd_use(mr->pd, -1);
	free(m);
	return 0;
}

WEFT_API struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length,
					  uint64_t iova, int fd, int access)
{
	(void)pd, (void)offset, (void)length, (void)iova, (void)fd, (void)access;
	return weft_null(EOPNOTSUPP);
}

WEFT_API int ibv_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length,
			  int access)
{
	(void)mr, (void)flags, (void)pd, (void)addr, (void)length, (void)access;
	errno = EOPNOTSUPP;
	return IBV_REREG_MR_ERR_INPUT;
}

/* Memory is not pinned, and children have copies of their own. */
WEFT_API int ibv_fork_init(void)
{
	return 0;
}

WEFT_API enum ibv_fork_status ibv_is_fork_initialized(void)
{
	return IBV_FORK_UNNEEDED;
}

WEFT_API int ibv_dontfork_range(void *base, size_t size);
WEFT_API int ibv_dontfork_range(void *base, size_t size)
{
	(void)base, (void)size;
	return 0;
}

WEFT_API int ibv_dofork_range(void *base, size_t size);
WEFT_API int ibv_dofork_range(void *base, size_t size)
{
	(void)base, (void)size;
	return 0;
}
