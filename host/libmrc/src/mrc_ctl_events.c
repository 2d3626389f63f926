/* EV events. */
#define _GNU_SOURCE
#include <string.h>

#include "mrc_internal.h"

/* The event of API versions before 1.0.1, which has no state. */
struct old_event {
	uint64_t profile_id;
	struct mrc_ctl_ev ev;
	uint32_t drop_count;
};

struct mrc_cq *mrc_ctl_create_ev_event_cq(struct mrc_context *mrc_ctx, int cqe, void *cq_context,
					  struct mrc_comp_channel *channel, int comp_vector)
{
	return mrc_open_cq(mrc_ctx, 1, cqe, cq_context, channel, comp_vector);
}

static void take_new(void *to, int at, const struct nic_ev_event *from)
{
	struct mrc_ctl_ev_event e;

	memset(&e, 0, sizeof(e));
	e.profile_id = from->profile;
	memcpy(e.ev.val, from->ev, sizeof(e.ev.val));
	e.ev.port = (uint8_t)from->port;
	e.drop_count = from->dropped;
	e.state = (enum mrc_ctl_ev_state)from->state;
	memcpy((struct mrc_ctl_ev_event *)to + at, &e, sizeof(e));
}

static void take_old(void *to, int at, const struct nic_ev_event *from)
{
	struct old_event e;

	memset(&e, 0, sizeof(e));
	e.profile_id = from->profile;
	memcpy(e.ev.val, from->ev, sizeof(e.ev.val));
	e.ev.port = (uint8_t)from->port;
	e.drop_count = from->dropped;
	memcpy((struct old_event *)to + at, &e, sizeof(e));
}

int mrc_ctl_poll_ev_event(struct mrc_cq *ev_cq, int num_entries, struct mrc_ctl_ev_event *ev_event)
{
	uint32_t version;
	bool old;

	if (!ev_cq || num_entries < 0 || (num_entries && !ev_event) || !ev_cq->core.kind)
		return -weft_error(EINVAL);
	version = ev_cq->context->api_version;
	old = version && version < MRC_CTL_API_VER(1, 0, 1);
	return weft_cq_poll_ev(&ev_cq->core, num_entries, old ? take_old : take_new, ev_event);
}
