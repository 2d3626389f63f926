/* Posting work to queue pairs of MRC: rings in shared memory, without a system call while the NIC is
   awake. */
#define _GNU_SOURCE
#include <string.h>

#include "mrc_internal.h"

#define SEND_FLAGS (IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE)

/* What both queues check, before each post: EPERM, EIO, or EINVAL in a state too early for it. */
static int may_post(struct weft_qp *qp, enum ibv_qp_state least)
{
	int error = weft_owned(qp->conn);

	if (error)
		return error;
	if (weft_dead(qp->conn, false))
		return EIO;
	return weft_load(&qp->ring->state) < (uint32_t)least ? EINVAL : 0;
}

static int check_send(struct mrc_qp *qp, const struct ibv_send_wr *wr, uint64_t *total)
{
	*total = 0;
	if (wr->opcode != IBV_WR_RDMA_WRITE && wr->opcode != IBV_WR_RDMA_WRITE_WITH_IMM)
		return EINVAL;
	if (qp->init.send_ops_flags &&
	    !(qp->init.send_ops_flags & (wr->opcode == IBV_WR_RDMA_WRITE ?
						 IBV_QP_EX_WITH_RDMA_WRITE :
						 IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM)))
		return EINVAL;
	if (wr->send_flags & ~(unsigned)SEND_FLAGS)
		return EINVAL;
	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > qp->init.cap.max_send_sge ||
	    (wr->num_sge && !wr->sg_list))
		return EINVAL;
	for (int i = 0; i < wr->num_sge; i++)
		*total += wr->sg_list[i].length;
	if (*total > qp->context->conn->device.max_message)
		return EINVAL;
	if ((wr->send_flags & IBV_SEND_INLINE) && *total > qp->init.cap.max_inline_data)
		return EINVAL;
	return 0;
}

static void put_sges(struct nic_sge *to, const struct ibv_sge *from, int count)
{
	for (int i = 0; i < count; i++) {
		to[i].addr = from[i].addr;
		to[i].length = from[i].length;
		to[i].lkey = from[i].lkey;
	}
}

static void put_send(struct weft_qp *qp, const struct ibv_send_wr *wr, uint64_t total)
{
	struct nic_sqe *e = weft_sqe(qp, qp->sq_head);
	uint8_t *after = (uint8_t *)e + sizeof(*e);

	e->wr_id = wr->wr_id;
	e->remote_addr = wr->wr.rdma.remote_addr;
	e->opcode = wr->opcode;
	e->flags = wr->send_flags;
	e->imm = wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM ? wr->imm_data : 0;
	e->rkey = wr->wr.rdma.rkey;
	if (!(wr->send_flags & IBV_SEND_INLINE)) {
		e->num_sge = (uint32_t)wr->num_sge;
		e->inline_length = 0;
		put_sges((struct nic_sge *)after, wr->sg_list, wr->num_sge);
		return;
	}
	e->num_sge = 0;
	e->inline_length = (uint32_t)total;
	for (int i = 0; i < wr->num_sge; i++) {
		if (!wr->sg_list[i].length)
			continue;
		memcpy(after, (const void *)(uintptr_t)wr->sg_list[i].addr, wr->sg_list[i].length);
		after += wr->sg_list[i].length;
	}
}

int mrc_post_send(struct mrc_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	struct weft_qp *q;
	uint32_t before;
	int error;

	if (!qp) {
		if (bad_wr)
			*bad_wr = wr;
		return weft_error(EINVAL);
	}
	q = &qp->core;
	error = may_post(q, IBV_QPS_RTS);
	if (error) {
		if (bad_wr)
			*bad_wr = wr;
		return weft_error(error);
	}
	pthread_mutex_lock(&q->send);
	before = q->sq_head;
	for (; wr; wr = wr->next) {
		uint64_t total;

		error = check_send(qp, wr, &total);
		if (!error && q->sq_head - weft_load(&q->ring->sq_tail) >= q->sq_depth)
			error = ENOMEM;
		if (error)
			break;
		put_send(q, wr, total);
		weft_store(&q->sq_head, q->sq_head + 1);
	}
	if (q->sq_head != before) {
		weft_store(&q->ring->sq_head, q->sq_head);
		weft_ring_bell(q->conn, q->slot);
	}
	pthread_mutex_unlock(&q->send);
	if (error && bad_wr)
		*bad_wr = wr;
	return weft_error(error);
}

static int check_recv(struct mrc_qp *qp, const struct ibv_recv_wr *wr)
{
	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > qp->init.cap.max_recv_sge ||
	    (wr->num_sge && !wr->sg_list))
		return EINVAL;
	return 0;
}

int mrc_post_recv(struct mrc_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct weft_qp *q;
	uint32_t before;
	int error;

	if (!qp) {
		if (bad_wr)
			*bad_wr = wr;
		return weft_failure(EINVAL);
	}
	q = &qp->core;
	error = may_post(q, IBV_QPS_INIT);
	if (error) {
		if (bad_wr)
			*bad_wr = wr;
		return weft_failure(error);
	}
	pthread_mutex_lock(&q->recv);
	before = q->rq_head;
	for (; wr; wr = wr->next) {
		struct nic_rqe *e;

		error = check_recv(qp, wr);
		if (!error && q->rq_head - weft_load(&q->ring->rq_tail) >= q->rq_depth)
			error = ENOMEM;
		if (error)
			break;
		e = weft_rqe(q, q->rq_head);
		e->wr_id = wr->wr_id;
		e->num_sge = (uint32_t)wr->num_sge;
		put_sges((struct nic_sge *)(e + 1), wr->sg_list, wr->num_sge);
		weft_store(&q->rq_head, q->rq_head + 1);
	}
	if (q->rq_head != before) {
		weft_store(&q->ring->rq_head, q->rq_head);
		weft_ring_bell(q->conn, q->slot);
	}
	pthread_mutex_unlock(&q->recv);
	if (error && bad_wr)
		*bad_wr = wr;
	return weft_failure(error);
}
