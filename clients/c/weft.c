#include "weft.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rdma/rdma_cma.h>

enum {
	MAGIC = 0x5746,
	VERSION = 1,
	HAS_MEMORY = 1,
	HAS_TOKEN = 2,
	TOKEN_LEN = 32,
	SENDS = 128,	/* requests of a source that are under way */
	RECEIVES = 512,	/* messages with immediate data that a receiver has room for */
	PATIENCE = 10000
};

/* What applications and groups tell each other in private data, big-endian (packet/cm, Join and
 * Offer). */
struct join {
	uint16_t magic;
	uint8_t version, flags;
	uint32_t rkey;
	uint64_t va, length;
	char token[TOKEN_LEN];
};

struct offer {
	uint16_t magic;
	uint8_t version, mtu;
	uint32_t rkey;
	uint64_t base, length;
	uint32_t epoch, zero;
};

_Static_assert(sizeof(struct join) == 56, "private data of an application");
_Static_assert(sizeof(struct offer) == 32, "private data of a group");

struct weft {
	struct rdma_cm_id *id, *listener;
	struct ibv_mr *mr;
	struct weft_offer offer;
	char *memory;
	size_t length;
	int receiver, under_way;
};

static _Thread_local char error_text[256];
static _Thread_local int refusal;

const char *weft_error(void) { return error_text; }

int weft_refused(void) { return refusal; }

static int fail(int code, const char *what)
{
	snprintf(error_text, sizeof error_text, "%s: %s", what, strerror(code));
	errno = code;
	return -1;
}

/* failed notes why a function of librdmacm failed at an id. */
static int failed(struct rdma_cm_id *id, const char *what)
{
	int code = errno;

	fail(code, what);
	if (id && id->event && id->event->event == RDMA_CM_EVENT_REJECTED) {
		const struct rdma_conn_param *p = &id->event->param.conn;
		int n = p->private_data ? p->private_data_len : 0;

		refusal = id->event->status;
		snprintf(error_text, sizeof error_text, "%s: refused, reason %d: %.*s", what, refusal, n,
			 n ? (const char *)p->private_data : "");
	}
	errno = code;
	return -1;
}

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

static int address_of(const char *text, uint16_t port, struct sockaddr_storage *out)
{
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)out;
	struct sockaddr_in *four = (struct sockaddr_in *)out;

	memset(out, 0, sizeof *out);
	if (text && inet_pton(AF_INET6, text, &six->sin6_addr) == 1) {
		six->sin6_family = AF_INET6;
		six->sin6_port = htons(port);
		return 0;
	}
	if (text && inet_pton(AF_INET, text, &four->sin_addr) == 1) {
		four->sin_family = AF_INET;
		four->sin_port = htons(port);
		return 0;
	}
	fail(EINVAL, text ? text : "an address");
	return -1;
}

static int receive(struct weft *w)
{
	struct ibv_recv_wr wr = {0}, *bad;
	int code = ibv_post_recv(w->id->qp, &wr, &bad);

	return code ? fail(code, "ibv_post_recv") : 0;
}

/* create makes the queue pair and registers the memory. */
static int create(struct weft *w)
{
	struct ibv_qp_init_attr init = {
		.cap = {.max_send_wr = w->receiver ? 1 : SENDS, .max_recv_wr = w->receiver ? RECEIVES : 1,
			.max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
	};
	int i;

	if (rdma_create_qp(w->id, NULL, &init))
		return failed(NULL, "rdma_create_qp");
	w->mr = ibv_reg_mr(w->id->pd, w->memory, w->length,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	if (!w->mr)
		return failed(NULL, "ibv_reg_mr");
	for (i = 0; w->receiver && i < RECEIVES; i++)
		if (receive(w))
			return -1;
	return 0;
}

/* say makes what the application tells the group. */
static int say(const struct weft *w, const char *token, struct join *out)
{
	size_t n = token ? strlen(token) : 0;

	if (n > TOKEN_LEN)
		return fail(EINVAL, "a token of more than 32 octets");
	memset(out, 0, sizeof *out);
	out->magic = htobe16(MAGIC);
	out->version = VERSION;
	if (n) {
		out->flags |= HAS_TOKEN;
		memcpy(out->token, token, n);
	}
	if (w->receiver) {
		out->flags |= HAS_MEMORY;
		out->rkey = htobe32(w->mr->rkey);
		out->va = htobe64((uintptr_t)w->memory);
		out->length = htobe64(w->length);
	}
	return 0;
}

/* hear reads what the group has told, from an event. */
static int hear(struct weft *w, const struct rdma_cm_event *e)
{
	const struct rdma_conn_param *p = &e->param.conn;
	struct offer o;

	if (!p->private_data || p->private_data_len < sizeof o)
		return fail(EPROTO, "private data of the group: too short");
	memcpy(&o, p->private_data, sizeof o);
	if (be16toh(o.magic) != MAGIC || o.version != VERSION || o.mtu < 1 || o.mtu > 5)
		return fail(EPROTO, "private data: not that of a group");
	w->offer = (struct weft_offer){.mtu = 128u << o.mtu, .rkey = be32toh(o.rkey),
				       .base = be64toh(o.base), .length = be64toh(o.length),
				       .epoch = be32toh(o.epoch)};
	return 0;
}

static struct rdma_conn_param param_of(const struct join *j)
{
	return (struct rdma_conn_param){.private_data = j, .private_data_len = sizeof *j,
					.retry_count = 7, .rnr_retry_count = 7};
}

static int connect_to(struct weft *w, const struct weft_options *o)
{
	struct sockaddr_storage to, from;
	struct rdma_conn_param param;
	struct join said;
	int wait = o->milliseconds ? o->milliseconds : PATIENCE;

	if (address_of(o->group, o->port + (w->receiver ? 1 : 0), &to) ||
	    (o->address && address_of(o->address, 0, &from)))
		return -1;
	if (rdma_create_id(NULL, &w->id, NULL, RDMA_PS_TCP))
		return failed(NULL, "rdma_create_id");
	if (rdma_resolve_addr(w->id, o->address ? (struct sockaddr *)&from : NULL,
			      (struct sockaddr *)&to, wait))
		return failed(w->id, "rdma_resolve_addr");
	if (rdma_resolve_route(w->id, wait))
		return failed(w->id, "rdma_resolve_route");
	if (create(w) || say(w, o->token, &said))
		return -1;
	param = param_of(&said);
	if (rdma_connect(w->id, &param))
		return failed(w->id, "rdma_connect");
	return hear(w, w->id->event);
}

static int accept_from(struct weft *w, const struct weft_options *o)
{
	struct sockaddr_storage at;
	struct rdma_conn_param param;
	struct join said;

	if (address_of(o->address, o->port, &at))
		return -1;
	if (rdma_create_id(NULL, &w->listener, NULL, RDMA_PS_TCP))
		return failed(NULL, "rdma_create_id");
	if (rdma_bind_addr(w->listener, (struct sockaddr *)&at))
		return failed(NULL, "rdma_bind_addr");
	if (rdma_listen(w->listener, 1))
		return failed(NULL, "rdma_listen");
	if (rdma_get_request(w->listener, &w->id))
		return failed(NULL, "rdma_get_request");
	if (hear(w, w->id->event) || create(w) || say(w, o->token, &said))
		return -1;
	param = param_of(&said);
	return rdma_accept(w->id, &param) ? failed(w->id, "rdma_accept") : 0;
}

/* discard frees a connection without a word. */
static void discard(struct weft *w)
{
	int code = errno;

	if (w->id && w->id->qp)
		rdma_destroy_qp(w->id);
	if (w->mr)
		ibv_dereg_mr(w->mr);
	if (w->id)
		rdma_destroy_id(w->id);
	if (w->listener)
		rdma_destroy_id(w->listener);
	free(w);
	errno = code;
}

static struct weft *begin(const struct weft_options *o, int receiver)
{
	struct weft *w = calloc(1, sizeof *w);

	refusal = 0;
	if (!w) {
		fail(ENOMEM, "weft");
		return NULL;
	}
	w->receiver = receiver;
	w->memory = o->memory;
	w->length = o->length;
	if (receiver && o->listen ? accept_from(w, o) : connect_to(w, o)) {
		discard(w);
		return NULL;
	}
	return w;
}

struct weft *weft_open_source(const struct weft_options *o) { return begin(o, 0); }

struct weft *weft_join(const struct weft_options *o) { return begin(o, 1); }

const struct weft_offer *weft_offer(const struct weft *w) { return &w->offer; }

/* complete takes a completion. 1: there was none within the time. */
static int complete(struct ibv_cq *cq, struct ibv_wc *wc, int64_t until)
{
	struct timespec pause = {0, 10000};
	int n;

	for (;;) {
		n = ibv_poll_cq(cq, 1, wc);
		if (n < 0)
			return fail(EIO, "ibv_poll_cq");
		if (n) {
			if (wc->status == IBV_WC_SUCCESS)
				return 0;
			return fail(EIO, ibv_wc_status_str(wc->status));
		}
		if (now() >= until)
			return 1;
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < 1000000)
			pause.tv_nsec *= 2;
	}
}

int weft_flush(struct weft *w, int milliseconds)
{
	int64_t until = now() + milliseconds;
	struct ibv_wc wc;
	int bad;

	while (w->under_way) {
		bad = complete(w->id->send_cq, &wc, until);
		if (bad)
			return bad < 0 ? -1 : fail(ETIMEDOUT, "writes are not acknowledged");
		w->under_way--;
	}
	return 0;
}

int weft_write(struct weft *w, uint64_t at, uint32_t octets, uint64_t to, const uint32_t *imm)
{
	struct ibv_sge sge = {.addr = (uintptr_t)w->memory + at, .length = octets, .lkey = w->mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED,
				 .opcode = IBV_WR_RDMA_WRITE},
			   *bad;
	struct ibv_wc wc;
	int code;

	if (w->receiver || at > w->length || octets > w->length - at ||
	    (w->offer.length && (to > w->offer.length || octets > w->offer.length - to)))
		return fail(EINVAL, "a write outside of the memory");
	if (w->under_way == SENDS) {
		if (complete(w->id->send_cq, &wc, INT64_MAX))
			return -1;
		w->under_way--;
	}
	wr.wr.rdma.remote_addr = w->offer.base + to;
	wr.wr.rdma.rkey = w->offer.rkey;
	if (imm) {
		wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
		wr.imm_data = htonl(*imm);
	}
	code = ibv_post_send(w->id->qp, &wr, &bad);
	if (code)
		return fail(code, "ibv_post_send");
	w->under_way++;
	return 0;
}

int weft_wait(struct weft *w, uint32_t *imm, int milliseconds)
{
	struct ibv_wc wc;
	int bad;

	if (!w->receiver)
		return fail(EINVAL, "a source gets no data");
	bad = complete(w->id->recv_cq, &wc, now() + milliseconds);
	if (bad)
		return bad < 0 ? -1 : fail(ETIMEDOUT, "nothing was written");
	if (imm)
		*imm = wc.wc_flags & IBV_WC_WITH_IMM ? ntohl(wc.imm_data) : 0;
	return receive(w);
}

int weft_event(struct weft *w, int milliseconds)
{
	struct pollfd fd = {.fd = w->id->channel->fd, .events = POLLIN};
	struct rdma_cm_event *e;
	int n = poll(&fd, 1, milliseconds), what;

	if (n <= 0)
		return n ? fail(errno, "poll") : WEFT_NOTHING;
	if (rdma_get_cm_event(w->id->channel, &e))
		return failed(NULL, "rdma_get_cm_event");
	what = e->event == RDMA_CM_EVENT_DISCONNECTED ? WEFT_ENDED : WEFT_OTHER;
	rdma_ack_cm_event(e);
	return what;
}

void weft_leave(struct weft *w)
{
	if (!w)
		return;
	rdma_disconnect(w->id);
	discard(w);
}
