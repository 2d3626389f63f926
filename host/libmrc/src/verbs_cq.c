/*
 * Completion channels, completion queues and asynchronous events of libibverbs.so.1. Programs of MRC
 * make such queues beside those of MRC; without queue pairs of verbs they stay empty.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "verbs.h"

WEFT_API struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct verbs_channel *c = calloc(1, sizeof(*c));
	int error;

	if (!c)
		return weft_null(ENOMEM);
	error = weft_channel_open(weft_context(context)->conn, &c->core);
	if (error) {
		free(c);
		return weft_null(error);
	}
	c->channel.context = context;
	c->channel.fd = c->core.fd;
	return &c->channel;
}

WEFT_API int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	struct verbs_channel *c = (struct verbs_channel *)channel;
	int error = weft_channel_close(&c->core);

	if (!error)
		free(c);
	return weft_error(error);
}

WEFT_API struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
				      struct ibv_comp_channel *channel, int comp_vector)
{
	struct weft_context *w = weft_context(context);
	struct verbs_cq *cq;
	int error;

	if (comp_vector < 0 || comp_vector >= context->num_comp_vectors)
		return weft_null(EINVAL);
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return weft_null(ENOMEM);
	cq->core.context = cq_context;
	error = weft_cq_open(w->conn, &cq->core, 0, cqe,
			     channel ? &((struct verbs_channel *)channel)->core : NULL, &w->inbox, cq);
	if (error) {
		free(cq);
		return weft_null(error);
	}
	cq->cq.context = context;
	cq->cq.channel = channel;
	cq->cq.cq_context = cq_context;
	cq->cq.handle = (uint32_t)cq->core.object.handle;
	cq->cq.cqe = (int)cq->core.depth;
	pthread_mutex_init(&cq->cq.mutex, NULL);
	pthread_cond_init(&cq->cq.cond, NULL);
	return &cq->cq;
}

WEFT_API int ibv_destroy_cq(struct ibv_cq *cq)
{
	struct verbs_cq *c = (struct verbs_cq *)cq;
	int error = weft_cq_close(&c->core);

	if (error)
		return weft_error(error);
	pthread_mutex_destroy(&c->cq.mutex);
	pthread_cond_destroy(&c->cq.cond);
	free(c);
	return 0;
}

WEFT_API int ibv_resize_cq(struct ibv_cq *cq, int cqe)
{
	(void)cq, (void)cqe;
	return weft_error(EOPNOTSUPP);
}

int weft_verbs_poll(struct ibv_cq *cq, int count, struct ibv_wc *wc)
{
	int n = count < 0 ? -EINVAL : weft_cq_poll(&((struct verbs_cq *)cq)->core, count, wc);

	return n < 0 ? weft_failure(-n) : n;
}

int weft_verbs_notify(struct ibv_cq *cq, int solicited_only)
{
	return weft_error(weft_cq_arm(&((struct verbs_cq *)cq)->core, solicited_only != 0));
}

WEFT_API int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq,
			      void **cq_context)
{
	struct weft_cq *got;
	int error = weft_channel_get(&((struct verbs_channel *)channel)->core, &got);

	if (error)
		return weft_failure(error);
	*cq = &((struct verbs_cq *)got->object.user)->cq;
	*cq_context = got->context;
	return 0;
}

WEFT_API void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int nevents)
{
	weft_cq_ack(&((struct verbs_cq *)cq)->core, nevents);
}

WEFT_API int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	struct weft_context *c = weft_context(context);
	struct weft_event e;
	int error = weft_event_get(c->conn, &c->inbox, &e);

	if (error)
		return weft_failure(error);
	memset(event, 0, sizeof(*event));
	event->event_type = e.type;
	if (e.object)
		event->element.cq = &((struct verbs_cq *)e.object->user)->cq;
	else
		event->element.port_num = (int)e.port;
	return 0;
}

WEFT_API void ibv_ack_async_event(struct ibv_async_event *event)
{
	struct verbs_cq *cq = (struct verbs_cq *)event->element.cq;

	if (weft_event_of_cq(event->event_type) && cq)
		weft_event_ack(cq->core.conn, &cq->core.object);
}
