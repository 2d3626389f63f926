/* Hints of traffic, for queue pairs. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "mrc_internal.h"

#define HINT_COUNTS (MRC_QP_HINT_NUM_QPS_PER_PEER | MRC_QP_HINT_NUM_SEND_PEERS | \
		     MRC_QP_HINT_NUM_REMOTE_RECV_PEERS)
#define HINT_ALL (HINT_COUNTS | MRC_QP_HINT_VENDOR_CFG)

static int to_nic(struct nic_hint *to, const struct mrc_qp_hint_attr *from, int mask)
{
	if (mask & ~HINT_ALL)
		return EINVAL;
	if (((mask & MRC_QP_HINT_NUM_QPS_PER_PEER) && from->num_qps_per_peer < 0) ||
	    ((mask & MRC_QP_HINT_NUM_SEND_PEERS) && from->num_send_peers < 0) ||
	    ((mask & MRC_QP_HINT_NUM_REMOTE_RECV_PEERS) && from->num_remote_recv_peers < 0))
		return EINVAL;
	to->mask = (uint32_t)mask;
	to->qps_per_peer = from->num_qps_per_peer;
	to->send_peers = from->num_send_peers;
	to->remote_recv_peers = from->num_remote_recv_peers;
	memcpy(to->vendor, from->vendor_cfg, sizeof(to->vendor));
	return 0;
}

struct mrc_qp_hint *mrc_create_qp_hint(struct mrc_context *mrc_ctx,
				       struct mrc_qp_hint_init_attr *init_attr)
{
	struct nic_hint h = { 0 };
	struct mrc_qp_hint *hint;
	int error;

	if (!mrc_ctx || !init_attr)
		return weft_null(EINVAL);
	hint = calloc(1, sizeof(*hint));
	if (!hint)
		return weft_null(ENOMEM);
	error = to_nic(&h, &init_attr->attr, HINT_ALL);
	if (!error)
		error = mrc_exchange(mrc_ctx, NIC_CREATE_HINT, &h, sizeof(h), &h, sizeof(h));
	if (error) {
		free(hint);
		return weft_null(error);
	}
	hint->context = mrc_ctx;
	hint->handle = h.handle;
	pthread_mutex_lock(&mrc_ctx->lock);
	mrc_link(&mrc_ctx->hints, hint);
	pthread_mutex_unlock(&mrc_ctx->lock);
	return hint;
}

int mrc_destroy_qp_hint(struct mrc_qp_hint *qp_hint)
{
	struct mrc_context *context;
	int error;

	if (!qp_hint)
		return weft_failure(EINVAL);
	context = qp_hint->context;
	error = weft_owned(context->conn);
	if (error)
		return weft_failure(error);
	pthread_mutex_lock(&context->lock);
	error = qp_hint->users ? EBUSY : 0;
	pthread_mutex_unlock(&context->lock);
	if (!error)
		error = weft_call_object(context->conn, NIC_DESTROY_HINT, qp_hint->handle);
	if (error && (error == EBUSY || !weft_dead(context->conn, true)))
		return weft_failure(error);
	pthread_mutex_lock(&context->lock);
	mrc_unlink(qp_hint);
	pthread_mutex_unlock(&context->lock);
	free(qp_hint);
	return 0;
}

int mrc_query_qp_hint(struct mrc_qp_hint *qp_hint, struct mrc_qp_hint_attr *qp_hint_attr,
		      int qp_hint_attr_mask)
{
	struct nic_object object;
	struct nic_hint h;
	int error;

	if (!qp_hint || !qp_hint_attr || (qp_hint_attr_mask & ~HINT_ALL))
		return weft_failure(EINVAL);
	object.handle = qp_hint->handle;
	error = mrc_exchange(qp_hint->context, NIC_QUERY_HINT, &object, sizeof(object), &h, sizeof(h));
	if (error)
		return weft_failure(error);
	if (qp_hint_attr_mask & MRC_QP_HINT_NUM_QPS_PER_PEER)
		qp_hint_attr->num_qps_per_peer = h.qps_per_peer;
	if (qp_hint_attr_mask & MRC_QP_HINT_NUM_SEND_PEERS)
		qp_hint_attr->num_send_peers = h.send_peers;
	if (qp_hint_attr_mask & MRC_QP_HINT_NUM_REMOTE_RECV_PEERS)
		qp_hint_attr->num_remote_recv_peers = h.remote_recv_peers;
	if (qp_hint_attr_mask & MRC_QP_HINT_VENDOR_CFG)
		memcpy(qp_hint_attr->vendor_cfg, h.vendor, sizeof(qp_hint_attr->vendor_cfg));
	return 0;
}

int mrc_modify_qp_hint(struct mrc_qp_hint *qp_hint, struct mrc_qp_hint_attr *qp_hint_attr,
		       int qp_hint_attr_mask)
{
	struct nic_hint h = { 0 };
	int error;

	if (!qp_hint || !qp_hint_attr)
		return weft_failure(EINVAL);
	error = to_nic(&h, qp_hint_attr, qp_hint_attr_mask);
	h.handle = qp_hint->handle;
	if (!error)
		error = mrc_exchange(qp_hint->context, NIC_MODIFY_HINT, &h, sizeof(h), NULL, 0);
	return weft_failure(error);
}
