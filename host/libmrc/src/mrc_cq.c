/* Completion channels and completion queues of MRC. */
#define _GNU_SOURCE
#include <stdlib.h>

#include "mrc_internal.h"

int mrc_create_comp_channel(struct mrc_context *mrc_ctx, struct mrc_comp_channel **channel)
{
	struct mrc_comp_channel *c;
	int error;

	if (!mrc_ctx || !channel)
		return weft_error(EINVAL);
	c = calloc(1, sizeof(*c));
	if (!c)
		return weft_error(ENOMEM);
	error = weft_channel_open(mrc_ctx->conn, &c->core);
	if (error) {
		free(c);
		return weft_error(error);
	}
	c->context = mrc_ctx;
	pthread_mutex_lock(&mrc_ctx->lock);
	mrc_link(&mrc_ctx->channels, c);
	pthread_mutex_unlock(&mrc_ctx->lock);
	*channel = c;
	return 0;
}

int mrc_get_comp_channel_fd(struct mrc_comp_channel *channel, int *fd)
{
	int error = channel && fd ? weft_owned(channel->core.conn) : EINVAL;

	if (!error)
		*fd = channel->core.fd;
	return weft_failure(error);
}

int mrc_destroy_comp_channel(struct mrc_comp_channel *channel)
{
	int error = channel ? weft_channel_close(&channel->core) : EINVAL;

	if (error)
		return weft_error(error);
	pthread_mutex_lock(&channel->context->lock);
	mrc_unlink(channel);
	pthread_mutex_unlock(&channel->context->lock);
	free(channel);
	return 0;
}

struct mrc_cq *mrc_open_cq(struct mrc_context *context, uint32_t kind, int cqe, void *cq_context,
			   struct mrc_comp_channel *channel, int comp_vector)
{
	struct mrc_cq *cq;
	int error;

	if (!context || comp_vector != 0 || (channel && channel->context->conn != context->conn))
		return weft_null(EINVAL);
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return weft_null(ENOMEM);
	cq->context = context;
	cq->core.context = cq_context;
	error = weft_cq_open(context->conn, &cq->core, kind, cqe, channel ? &channel->core : NULL,
			     &context->inbox, cq);
	if (error) {
		free(cq);
		return weft_null(error);
	}
	pthread_mutex_lock(&context->lock);
	mrc_link(&context->cqs, cq);
	pthread_mutex_unlock(&context->lock);
	return cq;
}

struct mrc_cq *mrc_create_cq(struct mrc_context *mrc_ctx, int cqe, void *cq_context,
			     struct mrc_comp_channel *channel, int comp_vector)
{
	return mrc_open_cq(mrc_ctx, 0, cqe, cq_context, channel, comp_vector);
}

int mrc_poll_cq(struct mrc_cq *cq, int num_entries, struct ibv_wc *wc)
{
	int n;

	if (!cq || num_entries < 0 || (!wc && num_entries) || cq->core.kind)
		return weft_failure(EINVAL);
	n = weft_cq_poll(&cq->core, num_entries, wc);
	return n < 0 ? weft_failure(-n) : n;
}

int mrc_destroy_cq(struct mrc_cq *cq)
{
	int error = cq ? weft_cq_close(&cq->core) : EINVAL;

	if (error)
		return weft_error(error);
	pthread_mutex_lock(&cq->context->lock);
	mrc_unlink(cq);
	pthread_mutex_unlock(&cq->context->lock);
	free(cq);
	return 0;
}

int mrc_req_notify_cq(struct mrc_cq *cq, int solicited_only)
{
	return weft_error(cq ? weft_cq_arm(&cq->core, solicited_only != 0) : EINVAL);
}

int mrc_get_cq_event(struct mrc_comp_channel *channel, struct mrc_cq **cq, void **cq_context)
{
	struct weft_cq *got;
	int error = channel && cq ? weft_channel_get(&channel->core, &got) : EINVAL;

	if (error)
		return weft_failure(error);
	*cq = got->object.user;
	if (cq_context)
		*cq_context = got->context;
	return 0;
}

void mrc_ack_cq_events(struct mrc_cq *cq, unsigned int nevents)
{
	if (cq)
		weft_cq_ack(&cq->core, nevents);
}
