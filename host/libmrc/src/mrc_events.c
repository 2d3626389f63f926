/* Asynchronous events of MRC. */
#define _GNU_SOURCE
#include <string.h>

#include "mrc_internal.h"

int mrc_get_async_event(struct mrc_context *mrc_ctx, struct mrc_async_event *event)
{
	struct weft_event e;
	int error;

	if (!mrc_ctx || !event)
		return weft_failure(EINVAL);
	error = weft_event_get(mrc_ctx->conn, &mrc_ctx->inbox, &e);
	if (error)
		return weft_failure(error);
	memset(event, 0, sizeof(*event));
	event->event_type = e.type;
	if (!e.object)
		event->element.port_num = (int)e.port;
	else if (weft_event_of_cq(e.type))
		event->element.cq = e.object->user;
	else
		event->element.qp = e.object->user;
	return 0;
}

void mrc_ack_async_event(struct mrc_async_event *event)
{
	if (!event)
		return;
	if (weft_event_of_cq(event->event_type) && event->element.cq)
		weft_event_ack(event->element.cq->core.conn, &event->element.cq->core.object);
	else if (weft_event_of_qp(event->event_type) && event->element.qp)
		weft_event_ack(event->element.qp->core.conn, &event->element.qp->core.object);
}
