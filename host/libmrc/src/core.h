/*
 * What lib_mrc.so and libibverbs.so.1 have in common. Both are built from the files that implement
 * this; a connection, which libibverbs.so.1 makes, is used by both, so they must be of one build:
 * weft_conn.size tells.
 *
 * Functions return 0 or an errno value unless they say otherwise.
 */
#ifndef WEFT_CORE_H
#define WEFT_CORE_H

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/un.h>

#include <infiniband/verbs.h>

#include "nic.h"

/* Sets errno to a value, and gives it back, or another result. */
static inline int weft_error(int error)
{
	if (error)
		errno = error;
	return error;
}

static inline int weft_failure(int error)
{
	if (error)
		errno = error;
	return error ? -1 : 0;
}

static inline void *weft_null(int error)
{
	errno = error;
	return NULL;
}

/* --- Connection (conn.c) --- */

struct weft_inbox;
struct weft_object;

struct weft_conn {
	uint32_t size; /* of this struct */
	atomic_int refs;
	/* By the library that made it, which lists it for fork. */
	void (*free)(struct weft_conn *conn);
	struct weft_conn *next;
	struct sockaddr_un address;
	int fd;                 /* of the socket */
	pid_t pid;              /* of the process that opened it */
	atomic_bool forked;     /* this process is a child of that */
	atomic_bool dead;       /* the NIC has ended */
	atomic_ullong looked;   /* when the socket was last looked at: coarse, ns */

	pthread_mutex_t call; /* a request and its answer */
	uint32_t seq;
	uint8_t *message; /* NIC_MAX_MESSAGE */

	struct nic_device device;
	struct nic_doorbell *doorbell;
	int bell;  /* eventfd */
	int async; /* pipe of nic_async */

	pthread_mutex_t events; /* guards what follows, and counts of objects */
	pthread_cond_t acknowledged;
	struct weft_object *objects;
	struct weft_inbox *inboxes;
};

/* A request. Of the answer as much is kept as there is room for. */
struct weft_call {
	uint32_t op;
	const void *body;
	size_t body_size;
	const void *more; /* follows the body */
	size_t more_size;
	void *answer;
	size_t answer_size;
	void *rest; /* of the answer, after answer_size */
	size_t rest_size;
	size_t got; /* octets of the answer, answer and rest together */
	int fds[3];
	int fd_count; /* wanted: fewer or more is an error */
	int memory;   /* to send, of HELLO */
};

/* Connects to the NIC at the socket of another connection, or that the environment names. */
int weft_connect(const struct weft_conn *like, struct weft_conn **conn);
void weft_hold(struct weft_conn *conn);
void weft_release(struct weft_conn *conn);

/* Sends a request, and waits for its answer. */
int weft_call(struct weft_conn *conn, struct weft_call *call);

/* The requests with an object for body and no answer, or the other way round. */
int weft_call_object(struct weft_conn *conn, uint32_t op, uint64_t handle);

/* EPERM in a child of the process that opened it, else 0. */
int weft_owned(struct weft_conn *conn);

/* Whether the NIC has ended; looks at the socket at most each few milliseconds unless now. */
bool weft_dead(struct weft_conn *conn, bool now);
void weft_bury(struct weft_conn *conn);

/* Tells the NIC of new work of a queue pair. */
void weft_ring_bell(struct weft_conn *conn, uint32_t slot);

/* Maps a ring of at least size octets. */
int weft_map(int fd, size_t size, void **at, size_t *mapped);

/* A line on stderr: what the user has to do something about. */
void weft_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A line on stderr, where WEFT_NIC_DEBUG is set. */
void weft_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* --- Asynchronous events (events.c) --- */

enum weft_kind { WEFT_CQ, WEFT_QP };

/* What events are about: the first member of queues. */
struct weft_object {
	struct weft_object *next;
	uint64_t handle;
	enum weft_kind kind;
	void *user; /* what the program knows it by */
	struct weft_inbox *inbox;
	unsigned got, acked;           /* asynchronous events */
	unsigned comp_got, comp_acked; /* completion events */
};

struct weft_event {
	struct weft_event *next;
	enum ibv_event_type type;
	uint32_t port;
	struct weft_object *object;
};

/* Events of one context. */
struct weft_inbox {
	struct weft_inbox *next;
	int wake; /* eventfd */
	int waiters;
	bool told; /* that the NIC has ended */
	struct weft_event *first, **last;
	unsigned count;
};

int weft_inbox_open(struct weft_conn *conn, struct weft_inbox *inbox);
void weft_inbox_close(struct weft_conn *conn, struct weft_inbox *inbox);

void weft_object_add(struct weft_conn *conn, struct weft_object *object);
/* Waits until its events are acknowledged; then no more come. */
void weft_object_remove(struct weft_conn *conn, struct weft_object *object);

/* Waits for the next event of an inbox. event.object.user is what it is about. */
int weft_event_get(struct weft_conn *conn, struct weft_inbox *inbox, struct weft_event *event);
void weft_event_ack(struct weft_conn *conn, struct weft_object *object);

/* Whether an event of this type is about a queue pair or a completion queue. */
bool weft_event_of_qp(enum ibv_event_type type);
bool weft_event_of_cq(enum ibv_event_type type);

/* --- Completion channels and queues (cq.c) --- */

struct weft_channel {
	struct weft_conn *conn;
	uint64_t handle;
	int fd;
	pthread_mutex_t lock;
	struct weft_cq *cqs;
	unsigned users;
};

struct weft_qp;

struct weft_cq {
	struct weft_object object;
	struct weft_conn *conn;
	struct weft_channel *channel;
	struct weft_cq *next; /* of the channel */
	uint32_t kind;        /* of nic_cq */
	void *context;        /* of the program */
	struct nic_cq_ring *ring;
	size_t mapped;
	uint32_t depth, entry;
	pthread_mutex_t lock;
	struct weft_qp *senders, *receivers; /* queue pairs that complete here */
	bool counted; /* what was outstanding when the NIC ended is known */
	unsigned users;
};

int weft_channel_open(struct weft_conn *conn, struct weft_channel *channel);
/* EBUSY while queues use it. */
int weft_channel_close(struct weft_channel *channel);
/* Waits for a completion event. */
int weft_channel_get(struct weft_channel *channel, struct weft_cq **cq);

int weft_cq_open(struct weft_conn *conn, struct weft_cq *cq, uint32_t kind, int depth,
		 struct weft_channel *channel, struct weft_inbox *inbox, void *user);
int weft_cq_close(struct weft_cq *cq);
/* The number of completions, or a negative errno value. */
int weft_cq_poll(struct weft_cq *cq, int count, struct ibv_wc *wc);
/* The number of EV events, or a negative errno value. */
int weft_cq_poll_ev(struct weft_cq *cq, int count,
		    void (*take)(void *to, int at, const struct nic_ev_event *event), void *to);
int weft_cq_arm(struct weft_cq *cq, bool solicited);
void weft_cq_ack(struct weft_cq *cq, unsigned count);

/* A queue pair, as far as completion queues know it. */
struct weft_qp {
	struct weft_object object;
	struct weft_conn *conn;
	struct weft_cq *send_cq, *recv_cq;
	struct weft_qp *next_sender, *next_receiver; /* of the completion queues */
	uint32_t qpn, slot;
	struct nic_qp_ring *ring;
	size_t mapped;
	uint32_t sq_depth, sq_entry, rq_depth, rq_entry, rq_offset;
	pthread_mutex_t send, recv;
	uint32_t sq_head, rq_head;
	uint32_t send_since, recv_since; /* heads of the completion queues when it was made */
	/* When the NIC has ended: the next entries to complete. Guarded by the completion queues. */
	uint32_t sq_left, rq_left;
	uint32_t sq_end; /* the NIC's tail */
	bool all;        /* each work request makes a completion */
};

static inline struct nic_sqe *weft_sqe(struct weft_qp *qp, uint32_t index)
{
	return (struct nic_sqe *)((uint8_t *)qp->ring + NIC_RING_ENTRIES +
				  (size_t)(index & (qp->sq_depth - 1)) * qp->sq_entry);
}

static inline struct nic_rqe *weft_rqe(struct weft_qp *qp, uint32_t index)
{
	return (struct nic_rqe *)((uint8_t *)qp->ring + qp->rq_offset +
				  (size_t)(index & (qp->rq_depth - 1)) * qp->rq_entry);
}

/* Loads and stores of what both ends see. */
#define weft_load(at) __atomic_load_n(at, __ATOMIC_ACQUIRE)
#define weft_store(at, value) __atomic_store_n(at, value, __ATOMIC_RELEASE)

/* weft_nic_connection of libibverbs.so.1, for lib_mrc.so: the connection of a context, or NULL if it is not ours. Who
   gets it holds it. */
typedef struct weft_conn *weft_connection_fn(struct ibv_context *context);

#endif
