/* Source and receivers of RDMA multicast groups of Weft, by RDMA CM: one file over librdmacm.
 *
 * A group is a proxy address and a port (spec.connect of a multicast group, docs/multicast.md). The
 * source writes into memory that every receiver has registered; the fabric makes the copies, and
 * acknowledges what all receivers have.
 *
 *	cc program.c weft.c -lrdmacm -libverbs
 *
 * Functions that return int return 0, or -1 with errno and weft_error(). A struct weft is used by one
 * thread at a time.
 */
#ifndef WEFT_H
#define WEFT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct weft;

/* How an application connects. What is absent is zero. */
struct weft_options {
	const char *group;	/* proxy address */
	uint16_t port;		/* spec.connect.port */
	const char *token;	/* spec.connect.token, at most 32 octets */
	const char *address;	/* of this host; needed to listen */
	int listen;		/* receiver: wait at address until the group connects */
	void *memory;		/* registered; of the caller until weft_leave */
	size_t length;		/* in octets */
	int milliseconds;	/* for the resolution of the address; default 10000 */
};

/* What a source may write to. */
struct weft_offer {
	uint32_t mtu;		/* octets of payload in a packet */
	uint32_t rkey;
	uint64_t base;		/* address at which the receivers' memory begins */
	uint64_t length;	/* octets that every receiver has; 0: unknown */
	uint32_t epoch;
};

/* weft_event */
enum {
	WEFT_NOTHING = 0,	/* within the time */
	WEFT_ENDED,		/* the group has ended the connection */
	WEFT_OTHER
};

/* weft_open_source connects as the source, and returns when all receivers are in the tree; NULL: see
 * weft_error and weft_refused. */
struct weft *weft_open_source(const struct weft_options *o);

/* weft_join connects as a receiver, or listens until the group connects. */
struct weft *weft_join(const struct weft_options *o);

const struct weft_offer *weft_offer(const struct weft *w);

/* weft_write writes octets of the memory at an offset to an offset of the receivers' memory. With
 * immediate data (imm is not NULL) receivers get it by weft_wait. It returns before that is done. */
int weft_write(struct weft *w, uint64_t at, uint32_t octets, uint64_t to, const uint32_t *imm);

/* weft_flush waits until all receivers have acknowledged what was written. ETIMEDOUT: they have not. */
int weft_flush(struct weft *w, int milliseconds);

/* weft_wait returns the immediate data of the next write that has some. */
int weft_wait(struct weft *w, uint32_t *imm, int milliseconds);

/* weft_event returns what has happened to the connection. */
int weft_event(struct weft *w, int milliseconds);

/* weft_leave ends a connection, and frees it; NULL is taken. */
void weft_leave(struct weft *w);

/* weft_error returns what the last function of this thread that failed says of it. */
const char *weft_error(void);

/* weft_refused returns IBTA's reason (volume 1, section 12.6.7.2) where the group has refused the last
 * connection of this thread, and 0 elsewhere. */
int weft_refused(void);

#ifdef __cplusplus
}
#endif

#endif
