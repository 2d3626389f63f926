/* Queue pairs of MRC: making, changing and reading them. What is posted to them is in mrc_post.c. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mrc_internal.h"
#include "pd.h"

#define SEND_OPS (IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM)

/* What programs that come from verbs pass, and MRC has no use for. */
#define MEANINGLESS (IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY)
#define MODIFIABLE (IBV_QP_STATE | IBV_QP_CUR_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY | \
		    IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY |    \
		    IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_RQ_PSN | IBV_QP_SQ_PSN |            \
		    IBV_QP_DEST_QPN)
#define MRC_MODIFIABLE (MRC_QP_MAX_WIMM | MRC_QP_MAX_WIMM_DEST | MRC_QP_MPR | MRC_QP_MPR_DEST | \
			MRC_QP_TIMEOUT | MRC_QP_EV_PROFILE_ID | MRC_QP_CC_PROFILE_ID |         \
			MRC_QP_HINT | MRC_QP_RETRY_CNT | MRC_QP_CAP | MRC_QP_VENDOR_CFG)

static bool power_of_two(uint32_t n)
{
	return n && !(n & (n - 1));
}

/* Whether a queue of depth entries lies within the mapping, and its entries have room. */
static bool fits(const struct weft_qp *qp, size_t offset, uint32_t depth, uint32_t entry,
		 size_t least)
{
	return power_of_two(depth) && entry >= least && entry % 64 == 0 && offset % 64 == 0 &&
	       offset >= NIC_RING_ENTRIES && offset <= qp->mapped &&
	       (qp->mapped - offset) / entry >= depth;
}

static int map_rings(struct weft_qp *qp, int fd, const struct nic_qp *q)
{
	size_t payload = (size_t)q->max_send_sge * sizeof(struct nic_sge);
	void *at;
	int error = weft_map(fd, NIC_RING_ENTRIES, &at, &qp->mapped);

	if (error)
		return error;
	if (payload < q->max_inline)
		payload = q->max_inline;
	qp->ring = at;
	qp->sq_depth = qp->ring->sq_depth;
	qp->sq_entry = qp->ring->sq_entry;
	qp->rq_depth = qp->ring->rq_depth;
	qp->rq_entry = qp->ring->rq_entry;
	qp->rq_offset = qp->ring->rq_offset;
	if (fits(qp, NIC_RING_ENTRIES, qp->sq_depth, qp->sq_entry, sizeof(struct nic_sqe) + payload) &&
	    fits(qp, qp->rq_offset, qp->rq_depth, qp->rq_entry,
		 sizeof(struct nic_rqe) + (size_t)q->max_recv_sge * sizeof(struct nic_sge)) &&
	    q->slot < NIC_DIRTY_WORDS * 64)
		return 0;
	weft_debug("queue pair: rings of %u entries of %u octets, and %u of %u at %u, in %zu",
		   qp->sq_depth, qp->sq_entry, qp->rq_depth, qp->rq_entry, qp->rq_offset, qp->mapped);
	munmap(qp->ring, qp->mapped);
	return EIO;
}

static void join(struct weft_qp *qp)
{
	pthread_mutex_lock(&qp->send_cq->lock);
	qp->send_since = weft_load(&qp->send_cq->ring->head);
	qp->next_sender = qp->send_cq->senders;
	qp->send_cq->senders = qp;
	qp->send_cq->users++;
	pthread_mutex_unlock(&qp->send_cq->lock);
	pthread_mutex_lock(&qp->recv_cq->lock);
	qp->recv_since = weft_load(&qp->recv_cq->ring->head);
	qp->next_receiver = qp->recv_cq->receivers;
	qp->recv_cq->receivers = qp;
	qp->recv_cq->users++;
	pthread_mutex_unlock(&qp->recv_cq->lock);
}

static void leave(struct weft_qp *qp)
{
	pthread_mutex_lock(&qp->send_cq->lock);
	for (struct weft_qp **at = &qp->send_cq->senders; *at; at = &(*at)->next_sender) {
		if (*at == qp) {
			*at = qp->next_sender;
			qp->send_cq->users--;
			break;
		}
	}
	pthread_mutex_unlock(&qp->send_cq->lock);
	pthread_mutex_lock(&qp->recv_cq->lock);
	for (struct weft_qp **at = &qp->recv_cq->receivers; *at; at = &(*at)->next_receiver) {
		if (*at == qp) {
			*at = qp->next_receiver;
			qp->recv_cq->users--;
			break;
		}
	}
	pthread_mutex_unlock(&qp->recv_cq->lock);
}

static bool same_device(struct mrc_context *context, struct ibv_context *other)
{
	struct weft_conn *conn = mrc_connection(other);

	if (conn)
		weft_release(conn);
	return conn == context->conn;
}

static int check_init(struct mrc_context *context, const struct mrc_qp_init_attr *init)
{
	if (!init->send_cq || !init->recv_cq || !init->pd)
		return EINVAL;
	if (init->send_cq->context->conn != context->conn ||
	    init->recv_cq->context->conn != context->conn || init->send_cq->core.kind ||
	    init->recv_cq->core.kind || !same_device(context, init->pd->context))
		return EINVAL;
	if (init->cap.max_send_sge > NIC_MAX_SGE || init->cap.max_recv_sge > NIC_MAX_SGE ||
	    init->cap.max_inline_data > NIC_MAX_INLINE)
		return EINVAL;
	if (init->send_ops_flags & ~(uint64_t)SEND_OPS)
		return EOPNOTSUPP;
	if (init->protocol_version != MRC_PROTOCOL_VERSION_0 &&
	    init->protocol_version != MRC_PROTOCOL_VERSION_1)
		return EOPNOTSUPP;
	return 0;
}

static int open_qp(struct mrc_context *context, struct mrc_qp *qp, struct mrc_qp_init_attr *init)
{
	struct nic_qp q = {
		.pd = weft_pd_handle(init->pd),
		.send_cq = init->send_cq->core.object.handle,
		.recv_cq = init->recv_cq->core.object.handle,
		.max_send_wr = init->cap.max_send_wr,
		.max_recv_wr = init->cap.max_recv_wr,
		.max_send_sge = init->cap.max_send_sge,
		.max_recv_sge = init->cap.max_recv_sge,
		.max_inline = init->cap.max_inline_data,
		.sq_sig_all = init->sq_sig_all != 0,
		.protocol_version = init->protocol_version,
		.send_ops = init->send_ops_flags,
	};
	struct weft_call call = { .op = NIC_CREATE_QP, .body = &q, .body_size = sizeof(q),
				  .answer = &q, .answer_size = sizeof(q), .fd_count = 1 };
	struct weft_qp *core = &qp->core;
	int error = weft_call(context->conn, &call);

	if (error)
		return error;
	error = map_rings(core, call.fds[0], &q);
	close(call.fds[0]);
	if (error) {
		weft_call_object(context->conn, NIC_DESTROY_QP, q.handle);
		return error;
	}
	qp->context = context;
	qp->send_cq = init->send_cq;
	qp->recv_cq = init->recv_cq;
	core->conn = context->conn;
	core->send_cq = &init->send_cq->core;
	core->recv_cq = &init->recv_cq->core;
	core->qpn = q.qpn;
	core->slot = q.slot;
	core->all = init->sq_sig_all != 0;
	pthread_mutex_init(&core->send, NULL);
	pthread_mutex_init(&core->recv, NULL);
	core->object.handle = q.handle;
	core->object.kind = WEFT_QP;
	core->object.user = qp;
	core->object.inbox = &context->inbox;
	init->cap.max_send_wr = q.max_send_wr;
	init->cap.max_recv_wr = q.max_recv_wr;
	init->cap.max_send_sge = q.max_send_sge;
	init->cap.max_recv_sge = q.max_recv_sge;
	init->cap.max_inline_data = q.max_inline;
	qp->init = *init;
	weft_pd_use(init->pd, 1);
	join(core);
	weft_object_add(context->conn, &core->object);
	return 0;
}

struct mrc_qp *mrc_create_qp(struct mrc_context *mrc_ctx, struct mrc_qp_init_attr *mrc_qp_attr)
{
	struct mrc_qp *qp;
	int error;

	if (!mrc_ctx || !mrc_qp_attr)
		return weft_null(EINVAL);
	error = weft_owned(mrc_ctx->conn);
	if (!error)
		error = check_init(mrc_ctx, mrc_qp_attr);
	if (error)
		return weft_null(error);
	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return weft_null(ENOMEM);
	error = open_qp(mrc_ctx, qp, mrc_qp_attr);
	if (error) {
		free(qp);
		return weft_null(error);
	}
	pthread_mutex_lock(&mrc_ctx->lock);
	mrc_link(&mrc_ctx->qps, qp);
	pthread_mutex_unlock(&mrc_ctx->lock);
	return qp;
}

/* Gives a queue pair another hint, or none; under the lock of the context. */
static void hold_hint(struct mrc_qp *qp, struct mrc_qp_hint *hint)
{
	if (qp->hint)
		qp->hint->users--;
	qp->hint = hint;
	if (hint)
		hint->users++;
}

int mrc_destroy_qp(struct mrc_qp *qp)
{
	struct mrc_context *context;
	int error;

	if (!qp)
		return weft_error(EINVAL);
	context = qp->context;
	error = weft_owned(context->conn);
	if (error)
		return weft_error(error);
	error = weft_call_object(context->conn, NIC_DESTROY_QP, qp->core.object.handle);
	if (error && !weft_dead(context->conn, true))
		return weft_error(error);
	weft_object_remove(context->conn, &qp->core.object);
	leave(&qp->core);
	weft_pd_use(qp->init.pd, -1);
	pthread_mutex_lock(&context->lock);
	hold_hint(qp, NULL);
	mrc_unlink(qp);
	pthread_mutex_unlock(&context->lock);
	munmap(qp->core.ring, qp->core.mapped);
	pthread_mutex_destroy(&qp->core.send);
	pthread_mutex_destroy(&qp->core.recv);
	free(qp);
	return 0;
}

int mrc_get_qpn(struct mrc_qp *qp, uint32_t *qpn)
{
	int error = qp && qpn ? weft_owned(qp->context->conn) : EINVAL;

	if (!error)
		*qpn = qp->core.qpn;
	return weft_failure(error);
}

/* --- Attributes --- */

static void verbs_to_nic(struct nic_qp_attr *a, const struct ibv_qp_attr *v)
{
	const struct ibv_ah_attr *ah = &v->ah_attr;

	a->state = v->qp_state;
	a->cur_state = v->cur_qp_state;
	a->path_mtu = v->path_mtu;
	a->qkey = v->qkey;
	a->rq_psn = v->rq_psn;
	a->sq_psn = v->sq_psn;
	a->dest_qpn = v->dest_qp_num;
	a->access = v->qp_access_flags;
	a->pkey_index = v->pkey_index;
	a->port = v->port_num;
	a->en_sqd_notify = v->en_sqd_async_notify;
	a->is_global = ah->is_global;
	a->sgid_index = ah->grh.sgid_index;
	a->traffic_class = ah->grh.traffic_class;
	a->flow_label = ah->grh.flow_label;
	a->hop_limit = ah->grh.hop_limit;
	a->sl = ah->sl;
	memcpy(a->dgid, ah->grh.dgid.raw, sizeof(a->dgid));
}

static void nic_to_verbs(struct ibv_qp_attr *v, const struct nic_qp_attr *a)
{
	memset(v, 0, sizeof(*v));
	v->qp_state = a->state;
	v->cur_qp_state = a->state;
	v->path_mtu = a->path_mtu;
	v->path_mig_state = IBV_MIG_MIGRATED;
	v->qkey = a->qkey;
	v->rq_psn = a->rq_psn;
	v->sq_psn = a->sq_psn;
	v->dest_qp_num = a->dest_qpn;
	v->qp_access_flags = a->access;
	v->pkey_index = (uint16_t)a->pkey_index;
	v->port_num = (uint8_t)a->port;
	v->en_sqd_async_notify = (uint8_t)a->en_sqd_notify;
	v->sq_draining = a->state == IBV_QPS_SQD;
	v->ah_attr.is_global = (uint8_t)a->is_global;
	v->ah_attr.port_num = (uint8_t)a->port;
	v->ah_attr.sl = (uint8_t)a->sl;
	v->ah_attr.grh.sgid_index = (uint8_t)a->sgid_index;
	v->ah_attr.grh.traffic_class = (uint8_t)a->traffic_class;
	v->ah_attr.grh.flow_label = a->flow_label;
	v->ah_attr.grh.hop_limit = (uint8_t)a->hop_limit;
	memcpy(v->ah_attr.grh.dgid.raw, a->dgid, sizeof(a->dgid));
}

static void mrc_to_nic(struct nic_qp_attr *a, const struct mrc_qp_attr *m)
{
	a->mpr = m->mpr.mpr;
	a->mpr_dest = m->mpr.mpr_dest;
	a->max_wimm = m->wimm.max_wimm;
	a->max_wimm_dest = m->wimm.max_wimm_dest;
	a->timeout = m->timeout;
	a->ev_profile = m->profile.ev_profile_id;
	a->cc_profile = m->profile.cc_profile_id;
	a->linear_cnt = m->retry.linear_cnt;
	a->exp_cnt = m->retry.exp_cnt;
	a->cap = m->cap;
	memcpy(a->vendor, m->vendor_cfg, sizeof(a->vendor));
}

static void nic_to_mrc(struct mrc_qp_attr *m, const struct nic_qp_attr *a)
{
	memset(m, 0, sizeof(*m));
	m->mpr.mpr = (uint8_t)a->mpr;
	m->mpr.mpr_dest = (uint8_t)a->mpr_dest;
	m->wimm.max_wimm = (uint16_t)a->max_wimm;
	m->wimm.max_wimm_dest = (uint16_t)a->max_wimm_dest;
	m->timeout = (uint8_t)a->timeout;
	m->profile.ev_profile_id = a->ev_profile;
	m->profile.cc_profile_id = a->cc_profile;
	m->retry.linear_cnt = (uint8_t)a->linear_cnt;
	m->retry.exp_cnt = (uint8_t)a->exp_cnt;
	m->cap = a->cap;
	memcpy(m->vendor_cfg, a->vendor, sizeof(m->vendor_cfg));
}

/* After RESET, completions from before say nothing of what is outstanding. */
static void begin_anew(struct weft_qp *qp)
{
	pthread_mutex_lock(&qp->send_cq->lock);
	qp->send_since = weft_load(&qp->send_cq->ring->head);
	pthread_mutex_unlock(&qp->send_cq->lock);
	pthread_mutex_lock(&qp->recv_cq->lock);
	qp->recv_since = weft_load(&qp->recv_cq->ring->head);
	pthread_mutex_unlock(&qp->recv_cq->lock);
}

int mrc_modify_qp(struct mrc_qp *qp, struct ibv_qp_attr *vattr, int vattr_mask,
		  struct mrc_qp_attr *mrc_attr, int mrc_attr_mask)
{
	struct nic_qp_attr a = { 0 };
	struct mrc_qp_hint *hint = NULL;
	int error;

	if (!qp || (vattr_mask && !vattr) || (mrc_attr_mask && !mrc_attr))
		return weft_error(EINVAL);
	if ((vattr_mask & ~(MODIFIABLE | MEANINGLESS)) || (mrc_attr_mask & ~MRC_MODIFIABLE))
		return weft_error(EINVAL);
	a.handle = qp->core.object.handle;
	a.mask = (uint32_t)(vattr_mask & ~MEANINGLESS);
	a.mrc_mask = (uint32_t)mrc_attr_mask;
	if (vattr_mask)
		verbs_to_nic(&a, vattr);
	if (mrc_attr_mask)
		mrc_to_nic(&a, mrc_attr);
	if (mrc_attr_mask & MRC_QP_HINT) {
		hint = mrc_attr->qp_hint;
		if (hint && hint->context != qp->context)
			return weft_error(EINVAL);
		a.hint = hint ? hint->handle : 0;
	}
	error = mrc_exchange(qp->context, NIC_MODIFY_QP, &a, sizeof(a), NULL, 0);
	if (error)
		return weft_error(error);
	if ((vattr_mask & IBV_QP_STATE) && vattr->qp_state == IBV_QPS_RESET)
		begin_anew(&qp->core);
	if (mrc_attr_mask & MRC_QP_HINT) {
		pthread_mutex_lock(&qp->context->lock);
		hold_hint(qp, hint);
		pthread_mutex_unlock(&qp->context->lock);
	}
	return 0;
}

int mrc_query_qp(struct mrc_qp *qp, struct ibv_qp_attr *vattr, int vattr_mask,
		 struct mrc_qp_attr *mrc_attr, int mrc_attr_mask,
		 struct mrc_qp_init_attr *init_attr)
{
	struct nic_object object;
	struct nic_qp_attr a;
	int error;

	if (!qp || (vattr_mask && !vattr) || (mrc_attr_mask && !mrc_attr) ||
	    (mrc_attr_mask & ~MRC_MODIFIABLE))
		return weft_error(EINVAL);
	object.handle = qp->core.object.handle;
	error = mrc_exchange(qp->context, NIC_QUERY_QP, &object, sizeof(object), &a, sizeof(a));
	if (error)
		return weft_error(error);
	if (vattr) {
		nic_to_verbs(vattr, &a);
		vattr->cap = qp->init.cap;
	}
	if (mrc_attr) {
		nic_to_mrc(mrc_attr, &a);
		pthread_mutex_lock(&qp->context->lock);
		mrc_attr->qp_hint = qp->hint;
		pthread_mutex_unlock(&qp->context->lock);
	}
	if (init_attr)
		*init_attr = qp->init;
	return 0;
}
