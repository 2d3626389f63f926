/*
 * Asynchronous events. They come by one pipe of the connection; whoever waits first reads it, and
 * gives each event to the inbox of the context that its object belongs to.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core.h"

#define INBOX_ROOM 1024 /* events; what comes when it is full is lost */

bool weft_event_of_qp(enum ibv_event_type type)
{
	switch (type) {
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		return true;
	default:
		return false;
	}
}

bool weft_event_of_cq(enum ibv_event_type type)
{
	return type == IBV_EVENT_CQ_ERR;
}

int weft_inbox_open(struct weft_conn *conn, struct weft_inbox *inbox)
{
	inbox->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (inbox->wake < 0)
		return errno;
	inbox->first = NULL;
	inbox->last = &inbox->first;
	pthread_mutex_lock(&conn->events);
	inbox->next = conn->inboxes;
	conn->inboxes = inbox;
	pthread_mutex_unlock(&conn->events);
	return 0;
}

void weft_inbox_close(struct weft_conn *conn, struct weft_inbox *inbox)
{
	struct weft_event *e, *next;

	pthread_mutex_lock(&conn->events);
	for (struct weft_inbox **at = &conn->inboxes; *at; at = &(*at)->next) {
		if (*at == inbox) {
			*at = inbox->next;
			break;
		}
	}
	pthread_mutex_unlock(&conn->events);
	for (e = inbox->first; e; e = next) {
		next = e->next;
		free(e);
	}
	close(inbox->wake);
}

void weft_object_add(struct weft_conn *conn, struct weft_object *object)
{
	pthread_mutex_lock(&conn->events);
	object->next = conn->objects;
	conn->objects = object;
	pthread_mutex_unlock(&conn->events);
}

static void drop_events(struct weft_inbox *inbox, struct weft_object *object)
{
	struct weft_event **at = &inbox->first, *e;

	while ((e = *at)) {
		if (e->object == object) {
			*at = e->next;
			inbox->count--;
			free(e);
		} else {
			at = &e->next;
		}
	}
	inbox->last = at;
}

void weft_object_remove(struct weft_conn *conn, struct weft_object *object)
{
	pthread_mutex_lock(&conn->events);
	for (struct weft_object **at = &conn->objects; *at; at = &(*at)->next) {
		if (*at == object) {
			*at = object->next;
			break;
		}
	}
	if (object->inbox)
		drop_events(object->inbox, object);
	while (object->got != object->acked || object->comp_got != object->comp_acked)
		pthread_cond_wait(&conn->acknowledged, &conn->events);
	pthread_mutex_unlock(&conn->events);
}

static struct weft_object *find(struct weft_conn *conn, enum weft_kind kind, uint64_t handle)
{
	for (struct weft_object *o = conn->objects; o; o = o->next)
		if (o->handle == handle && o->kind == kind)
			return o;
	return NULL;
}

static void put(struct weft_inbox *inbox, enum ibv_event_type type, uint32_t port,
		struct weft_object *object)
{
	struct weft_event *e;
	uint64_t one = 1;

	if (inbox->count >= INBOX_ROOM)
		return;
	e = calloc(1, sizeof(*e));
	if (!e)
		return;
	e->type = type;
	e->port = port;
	e->object = object;
	*inbox->last = e;
	inbox->last = &e->next;
	inbox->count++;
	if (write(inbox->wake, &one, sizeof(one)) < 0)
		weft_debug("event: no wake");
}

/* Of events about no object, a context has one that waits for events, and the one that reads. */
static void dispatch(struct weft_conn *conn, struct weft_inbox *reader, const struct nic_async *a)
{
	bool qp = weft_event_of_qp(a->type);
	struct weft_object *object;

	if (qp || weft_event_of_cq(a->type)) {
		object = find(conn, qp ? WEFT_QP : WEFT_CQ, a->handle);
		if (object && object->inbox)
			put(object->inbox, a->type, 0, object);
		return;
	}
	if (a->type == IBV_EVENT_DEVICE_FATAL) {
		for (struct weft_inbox *i = conn->inboxes; i; i = i->next) {
			if (!i->told)
				put(i, a->type, 0, NULL);
			i->told = true;
		}
		return;
	}
	for (struct weft_inbox *i = conn->inboxes; i; i = i->next)
		if (i == reader || i->waiters)
			put(i, a->type, a->port, NULL);
}

/* Reads what lies in the pipe. */
static void pump(struct weft_conn *conn, struct weft_inbox *reader)
{
	struct pollfd p = { .fd = conn->async, .events = POLLIN };

	while (poll(&p, 1, 0) == 1 && (p.revents & (POLLIN | POLLHUP))) {
		struct nic_async a;
		ssize_t n = read(conn->async, &a, sizeof(a));

		if (n < 0 && errno == EINTR)
			continue;
		if (n != (ssize_t)sizeof(a)) {
			weft_bury(conn); /* the other end is closed */
			return;
		}
		dispatch(conn, reader, &a);
	}
}

/* Takes the next event. EAGAIN: none. */
static int take(struct weft_conn *conn, struct weft_inbox *inbox, struct weft_event *event)
{
	struct weft_event *e;
	uint64_t woken;

	pump(conn, inbox);
	if (read(inbox->wake, &woken, sizeof(woken)) < 0 && errno != EAGAIN)
		return errno;
	e = inbox->first;
	if (e) {
		*event = *e;
		inbox->first = e->next;
		if (!inbox->first)
			inbox->last = &inbox->first;
		inbox->count--;
		free(e);
		if (event->object)
			event->object->got++;
		return 0;
	}
	if (!weft_dead(conn, true))
		return EAGAIN;
	if (inbox->told)
		return EIO;
	inbox->told = true;
	*event = (struct weft_event){ .type = IBV_EVENT_DEVICE_FATAL };
	return 0;
}

int weft_event_get(struct weft_conn *conn, struct weft_inbox *inbox, struct weft_event *event)
{
	struct pollfd p[3] = {
		{ .fd = conn->async, .events = POLLIN },
		{ .fd = inbox->wake, .events = POLLIN },
		{ .fd = conn->fd },
	};
	bool wait = !(fcntl(conn->async, F_GETFL) & O_NONBLOCK);
	int error = weft_owned(conn);

	if (error)
		return error;
	pthread_mutex_lock(&conn->events);
	inbox->waiters++;
	while ((error = take(conn, inbox, event)) == EAGAIN && wait) {
		int n;

		pthread_mutex_unlock(&conn->events);
		n = poll(p, 3, -1);
		error = n < 0 && errno != EINTR ? errno : 0;
		pthread_mutex_lock(&conn->events);
		if (error)
			break;
	}
	inbox->waiters--;
	pthread_mutex_unlock(&conn->events);
	return error;
}

void weft_event_ack(struct weft_conn *conn, struct weft_object *object)
{
	if (weft_owned(conn))
		return;
	pthread_mutex_lock(&conn->events);
	object->acked++;
	pthread_cond_broadcast(&conn->acknowledged);
	pthread_mutex_unlock(&conn->events);
}
