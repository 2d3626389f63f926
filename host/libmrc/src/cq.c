/*
 * Completion channels and completion queues: the ring that the NIC fills, events of it, and what
 * becomes of outstanding work when the NIC has ended.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core.h"

/* --- Channels --- */

int weft_channel_open(struct weft_conn *conn, struct weft_channel *channel)
{
	struct nic_object object;
	struct weft_call call = { .op = NIC_CREATE_CHANNEL, .answer = &object,
				  .answer_size = sizeof(object), .fd_count = 1 };
	int error = weft_call(conn, &call);

	if (error)
		return error;
	channel->conn = conn;
	channel->handle = object.handle;
	channel->fd = call.fds[0];
	fcntl(channel->fd, F_SETFL, 0);
	pthread_mutex_init(&channel->lock, NULL);
	return 0;
}

int weft_channel_close(struct weft_channel *channel)
{
	int error = weft_owned(channel->conn);

	if (error)
		return error;
	pthread_mutex_lock(&channel->lock);
	error = channel->users ? EBUSY : 0;
	pthread_mutex_unlock(&channel->lock);
	if (!error)
		error = weft_call_object(channel->conn, NIC_DESTROY_CHANNEL, channel->handle);
	if (error && !weft_dead(channel->conn, true))
		return error;
	close(channel->fd);
	pthread_mutex_destroy(&channel->lock);
	return 0;
}

static void count_event(struct weft_cq *cq)
{
	pthread_mutex_lock(&cq->conn->events);
	cq->object.comp_got++;
	pthread_mutex_unlock(&cq->conn->events);
}

/* Takes the next event, under the lock of the channel. EAGAIN: none. */
static int take_event(struct weft_channel *channel, struct weft_cq **result)
{
	struct pollfd p = { .fd = channel->fd, .events = POLLIN };
	uint64_t handle;

	while (poll(&p, 1, 0) == 1) {
		ssize_t n = read(channel->fd, &handle, sizeof(handle));

		if (n < 0 && errno == EINTR)
			continue;
		if (n != (ssize_t)sizeof(handle)) {
			weft_bury(channel->conn);
			break;
		}
		for (struct weft_cq *cq = channel->cqs; cq; cq = cq->next) {
			if (cq->object.handle == handle) {
				count_event(cq);
				*result = cq;
				return 0;
			}
		}
		/* Of a queue that is gone. */
	}
	if (!weft_dead(channel->conn, true))
		return EAGAIN;
	for (struct weft_cq *cq = channel->cqs; cq; cq = cq->next) {
		if (__atomic_exchange_n(&cq->ring->armed, 0, __ATOMIC_SEQ_CST)) {
			count_event(cq);
			*result = cq;
			return 0;
		}
	}
	return EIO;
}

int weft_channel_get(struct weft_channel *channel, struct weft_cq **cq)
{
	struct pollfd p[2] = { { .fd = channel->fd, .events = POLLIN }, { .fd = channel->conn->fd } };
	bool wait = !(fcntl(channel->fd, F_GETFL) & O_NONBLOCK);
	int error = weft_owned(channel->conn);

	while (!error) {
		pthread_mutex_lock(&channel->lock);
		error = take_event(channel, cq);
		pthread_mutex_unlock(&channel->lock);
		if (error != EAGAIN || !wait)
			return error;
		error = poll(p, 2, -1) < 0 && errno != EINTR ? errno : 0;
	}
	return error;
}

/* --- Queues --- */

static void leave_channel(struct weft_cq *cq)
{
	struct weft_channel *channel = cq->channel;

	if (!channel)
		return;
	pthread_mutex_lock(&channel->lock);
	for (struct weft_cq **at = &channel->cqs; *at; at = &(*at)->next) {
		if (*at == cq) {
			*at = cq->next;
			channel->users--;
			break;
		}
	}
	pthread_mutex_unlock(&channel->lock);
}

static void unmap(struct weft_cq *cq)
{
	munmap(cq->ring, cq->mapped);
	pthread_mutex_destroy(&cq->lock);
}

int weft_cq_open(struct weft_conn *conn, struct weft_cq *cq, uint32_t kind, int depth,
		 struct weft_channel *channel, struct weft_inbox *inbox, void *user)
{
	struct nic_cq q = { .channel = channel ? channel->handle : 0, .kind = kind };
	struct weft_call call = { .op = NIC_CREATE_CQ, .body = &q, .body_size = sizeof(q),
				  .answer = &q, .answer_size = sizeof(q), .fd_count = 1 };
	void *at;
	int error;

	if (depth <= 0 || (uint32_t)depth > conn->device.max_cqe)
		return EINVAL;
	q.depth = (uint32_t)depth;
	error = weft_call(conn, &call);
	if (error)
		return error;
	error = weft_map(call.fds[0], NIC_RING_ENTRIES, &at, &cq->mapped);
	close(call.fds[0]);
	if (error) {
		weft_call_object(conn, NIC_DESTROY_CQ, q.handle);
		return error;
	}
	cq->conn = conn;
	cq->channel = channel;
	cq->kind = kind;
	cq->ring = at;
	cq->depth = cq->ring->depth;
	cq->entry = cq->ring->entry;
	pthread_mutex_init(&cq->lock, NULL);
	if (!cq->depth || (cq->depth & (cq->depth - 1)) || cq->depth < (uint32_t)depth ||
	    cq->entry < (kind ? sizeof(struct nic_ev_event) : sizeof(struct nic_cqe)) ||
	    cq->entry % 8 ||
	    cq->mapped < NIC_RING_ENTRIES + (size_t)cq->depth * cq->entry) {
		weft_debug("completion queue: a ring of %u entries of %u octets in %zu", cq->depth,
			   cq->entry, cq->mapped);
		weft_call_object(conn, NIC_DESTROY_CQ, q.handle);
		unmap(cq);
		return EIO;
	}
	cq->object.handle = q.handle;
	cq->object.kind = WEFT_CQ;
	cq->object.user = user;
	cq->object.inbox = inbox;
	weft_object_add(conn, &cq->object);
	if (channel) {
		pthread_mutex_lock(&channel->lock);
		cq->next = channel->cqs;
		channel->cqs = cq;
		channel->users++;
		pthread_mutex_unlock(&channel->lock);
	}
	return 0;
}

int weft_cq_close(struct weft_cq *cq)
{
	int error = weft_owned(cq->conn);

	if (error)
		return error;
	pthread_mutex_lock(&cq->lock);
	error = cq->users ? EBUSY : 0;
	pthread_mutex_unlock(&cq->lock);
	if (error)
		return error;
	error = weft_call_object(cq->conn, NIC_DESTROY_CQ, cq->object.handle);
	if (error && !weft_dead(cq->conn, true))
		return error;
	leave_channel(cq);
	weft_object_remove(cq->conn, &cq->object);
	unmap(cq);
	return 0;
}

int weft_cq_arm(struct weft_cq *cq, bool solicited)
{
	uint32_t was = 0, wanted = solicited ? 2 : 1;
	int error = weft_owned(cq->conn);

	if (error)
		return error;
	/* Who waits for each completion also waits for solicited ones. */
	while (!__atomic_compare_exchange_n(&cq->ring->armed, &was, was == 1 ? 1 : wanted, false,
					    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		;
	return weft_dead(cq->conn, false) ? EIO : 0;
}

void weft_cq_ack(struct weft_cq *cq, unsigned count)
{
	if (weft_owned(cq->conn))
		return;
	pthread_mutex_lock(&cq->conn->events);
	cq->object.comp_acked += count;
	pthread_cond_broadcast(&cq->conn->acknowledged);
	pthread_mutex_unlock(&cq->conn->events);
}

static void *entry_at(struct weft_cq *cq, uint32_t index)
{
	return (uint8_t *)cq->ring + NIC_RING_ENTRIES + (size_t)(index & (cq->depth - 1)) * cq->entry;
}

/* How many entries there are, at most count; their first. */
static uint32_t ready(struct weft_cq *cq, int count, uint32_t *tail)
{
	uint32_t n;

	*tail = cq->ring->tail;
	n = weft_load(&cq->ring->head) - *tail;
	if (n > cq->depth)
		n = cq->depth;
	return n < (uint32_t)count ? n : (uint32_t)count;
}

static void convert(struct ibv_wc *wc, const struct nic_cqe *e)
{
	*wc = (struct ibv_wc){
		.wr_id = e->wr_id,
		.status = e->status,
		.opcode = e->opcode,
		.vendor_err = e->vendor_err,
		.byte_len = e->byte_len,
		.imm_data = e->imm,
		.qp_num = e->qpn,
		.src_qp = e->src_qp,
		.wc_flags = e->flags,
	};
}

/* --- After the NIC's end --- */

static bool since(uint32_t from, uint32_t at)
{
	return at - from < 1u << 31;
}

/* The entry after one that has completed, unless what lies behind it is overwritten. */
static uint32_t after(uint32_t index, uint32_t head, uint32_t depth, uint32_t otherwise)
{
	return head - index <= depth ? index : otherwise;
}

/*
 * Works out which entries of the queue pairs are outstanding: those from the NIC's tail on, and those
 * before it of which the NIC could not write the completion any more. The last completion of a
 * queue is among the last entries of the ring, read or not, with its index, from 1.
 */
static void count_left(struct weft_cq *cq)
{
	uint32_t head = weft_load(&cq->ring->head);

	for (struct weft_qp *qp = cq->senders; qp; qp = qp->next_sender)
		qp->sq_left = qp->sq_end = weft_load(&qp->ring->sq_tail);
	for (struct weft_qp *qp = cq->receivers; qp; qp = qp->next_receiver)
		qp->rq_left = weft_load(&qp->ring->rq_tail);
	/* From the oldest, so that the newest has the last word. */
	for (uint32_t i = cq->depth; i > 0; i--) {
		const struct nic_cqe *e = entry_at(cq, head - i);

		if (!e->index)
			continue;
		for (struct weft_qp *qp = cq->senders; qp; qp = qp->next_sender)
			if (qp->qpn == e->qpn && !(e->opcode & IBV_WC_RECV) &&
			    since(qp->send_since, head - i))
				qp->sq_left = after(e->index, weft_load(&qp->sq_head), qp->sq_depth,
						    qp->sq_left);
		for (struct weft_qp *qp = cq->receivers; qp; qp = qp->next_receiver)
			if (qp->qpn == e->qpn && (e->opcode & IBV_WC_RECV) &&
			    since(qp->recv_since, head - i))
				qp->rq_left = after(e->index, weft_load(&qp->rq_head), qp->rq_depth,
						    qp->rq_left);
	}
	cq->counted = true;
}

/* Whether an entry makes a completion: the NIC was through with what lies before its tail, and that
   only does if it is signaled. */
static bool completes(struct weft_qp *qp, uint32_t index)
{
	return since(qp->sq_end, index) || qp->all ||
	       (weft_sqe(qp, index)->flags & IBV_SEND_SIGNALED);
}

static int flush(struct weft_cq *cq, int count, struct ibv_wc *wc)
{
	int n = 0;

	if (!cq->counted)
		count_left(cq);
	for (struct weft_qp *qp = cq->senders; qp; qp = qp->next_sender) {
		for (; n < count && qp->sq_left != weft_load(&qp->sq_head); qp->sq_left++) {
			if (!completes(qp, qp->sq_left))
				continue;
			wc[n++] = (struct ibv_wc){
				.wr_id = weft_sqe(qp, qp->sq_left)->wr_id,
				.status = IBV_WC_WR_FLUSH_ERR,
				.opcode = IBV_WC_RDMA_WRITE,
				.qp_num = qp->qpn,
			};
		}
	}
	for (struct weft_qp *qp = cq->receivers; qp; qp = qp->next_receiver) {
		for (; n < count && qp->rq_left != weft_load(&qp->rq_head); qp->rq_left++, n++)
			wc[n] = (struct ibv_wc){
				.wr_id = weft_rqe(qp, qp->rq_left)->wr_id,
				.status = IBV_WC_WR_FLUSH_ERR,
				.opcode = IBV_WC_RECV,
				.qp_num = qp->qpn,
			};
	}
	return n ? n : -EIO;
}

int weft_cq_poll(struct weft_cq *cq, int count, struct ibv_wc *wc)
{
	uint32_t tail, n;
	int result, error = weft_owned(cq->conn);

	if (error)
		return -error;
	pthread_mutex_lock(&cq->lock);
	n = ready(cq, count, &tail);
	for (uint32_t i = 0; i < n; i++)
		convert(&wc[i], entry_at(cq, tail + i));
	weft_store(&cq->ring->tail, tail + n);
	result = (int)n;
	if (!n && count && weft_load(&cq->ring->overflow))
		result = -EOVERFLOW;
	else if (!n && count && weft_dead(cq->conn, false)) {
		/* It may have written entries after the first look, and before it ended. */
		n = ready(cq, 1, &tail);
		result = n ? 0 : flush(cq, count, wc);
	}
	pthread_mutex_unlock(&cq->lock);
	return result;
}

int weft_cq_poll_ev(struct weft_cq *cq, int count,
		    void (*take)(void *to, int at, const struct nic_ev_event *event), void *to)
{
	uint32_t tail, n;
	int error = weft_owned(cq->conn);

	if (error)
		return -error;
	pthread_mutex_lock(&cq->lock);
	n = ready(cq, count, &tail);
	for (uint32_t i = 0; i < n; i++)
		take(to, (int)i, entry_at(cq, tail + i));
	weft_store(&cq->ring->tail, tail + n);
	pthread_mutex_unlock(&cq->lock);
	if (!n && count && weft_dead(cq->conn, false))
		return -EIO;
	return (int)n;
}
