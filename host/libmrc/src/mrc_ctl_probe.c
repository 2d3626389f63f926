/* Probes of paths and messages of port status. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mrc_internal.h"

/* Requests of a message. */
#define BATCH ((NIC_MAX_MESSAGE - sizeof(struct nic_request) - sizeof(struct nic_endpoint)) / \
	       sizeof(struct nic_ep_request))

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void put_request(struct nic_ep_request *to, const struct mrc_ctl_ep_req *from,
			enum mrc_ctl_ep_op_type op)
{
	memset(to, 0, sizeof(*to));
	to->id = from->req_id;
	to->mode = from->ev_fmt_mode;
	memcpy(to->sgid, from->sgid.raw, sizeof(to->sgid));
	memcpy(to->dgid, from->dgid.raw, sizeof(to->dgid));
	memcpy(to->ev, from->req_ev.val, sizeof(to->ev));
	to->port = from->req_ev.port;
	if (op == MRC_CTL_EP_OP_PORT_STATUS_UPDATE)
		to->port_status = from->op.port_status_update.port_status;
}

/* One message. got is how many answers came, at most count. */
static int batch(struct weft_conn *conn, struct nic_endpoint *e, struct nic_ep_request *requests,
		 struct nic_ep_answer *answers, uint32_t *got)
{
	struct nic_endpoint answer;
	struct weft_call call = {
		.op = NIC_CTL_ENDPOINT,
		.body = e,
		.body_size = sizeof(*e),
		.more = requests,
		.more_size = e->count * sizeof(*requests),
		.answer = &answer,
		.answer_size = sizeof(answer),
		.rest = answers,
		.rest_size = e->count * sizeof(*answers),
	};
	int error = weft_call(conn, &call);

	if (error)
		return error;
	*got = answer.count;
	if (answer.count > e->count ||
	    call.got - sizeof(answer) < answer.count * sizeof(*answers))
		return EIO;
	return 0;
}

static int send_all(struct weft_conn *conn, struct nic_endpoint *e,
		    const struct mrc_ctl_ep_req *req, int num_req, struct mrc_ctl_ep_rsp *rsp,
		    int *num_rsp, struct nic_ep_request *requests, struct nic_ep_answer *answers)
{
	uint64_t until = now() + e->timeout;

	for (int at = 0; at < num_req;) {
		uint32_t n = num_req - at < (int)BATCH ? (uint32_t)(num_req - at) : (uint32_t)BATCH;
		uint64_t t = now();
		uint32_t got;
		int error;

		e->timeout = at == 0 ? e->timeout : t < until ? (uint32_t)(until - t) : 0;
		e->count = n;
		for (uint32_t i = 0; i < n; i++)
			put_request(&requests[i], &req[at + (int)i], e->op);
		error = batch(conn, e, requests, answers, &got);
		if (error)
			return error;
		for (uint32_t i = 0; i < got; i++, (*num_rsp)++)
			rsp[*num_rsp] = (struct mrc_ctl_ep_rsp){
				.req_id = (uint16_t)answers[i].id,
				.port = (uint8_t)answers[i].port,
				.rtt = answers[i].rtt,
				.adj_svc_time = answers[i].adjusted != 0,
			};
		at += (int)n;
	}
	return *num_rsp < num_req ? ETIMEDOUT : 0;
}

/* The connection for batches: the NIC answers the requests of one in turn, and others would wait as
   long as a batch does. It goes with the context. */
static int aside(struct mrc_context *context, struct weft_conn **conn)
{
	int error = weft_owned(context->conn);

	if (!error && weft_dead(context->conn, true))
		error = EIO;
	if (error)
		return error;
	pthread_mutex_lock(&context->lock);
	if (!context->probes)
		error = weft_connect(context->conn, &context->probes);
	*conn = context->probes;
	pthread_mutex_unlock(&context->lock);
	return error == ENOENT || error == ECONNREFUSED ? EIO : error;
}

int mrc_ctl_ep_batch_send_wait(struct mrc_context *mrc_ctx, uint8_t req_tc,
			       enum mrc_ctl_ep_op_type op_type, struct mrc_ctl_ep_req *req,
			       int num_req, uint32_t rsp_timeout, struct mrc_ctl_ep_rsp *rsp,
			       int *num_rsp)
{
	struct nic_endpoint e = { .op = op_type, .dscp = req_tc, .timeout = rsp_timeout };
	struct nic_ep_request *requests;
	struct nic_ep_answer *answers;
	struct weft_conn *conn;
	int error;

	if (num_rsp)
		*num_rsp = 0;
	if (!mrc_ctx || !req || num_req <= 0 || !rsp || !num_rsp || req_tc > 63 ||
	    (op_type != MRC_CTL_EP_OP_EV_PROBE && op_type != MRC_CTL_EP_OP_PORT_STATUS_UPDATE))
		return weft_failure(EINVAL);
	error = aside(mrc_ctx, &conn);
	if (error)
		return weft_failure(error);
	requests = calloc(BATCH, sizeof(*requests));
	answers = calloc(BATCH, sizeof(*answers));
	error = requests && answers ? send_all(conn, &e, req, num_req, rsp, num_rsp, requests, answers) :
				      ENOMEM;
	free(requests);
	free(answers);
	return weft_failure(error);
}
