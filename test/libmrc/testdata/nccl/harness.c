/*
 * Does with an NCCL network plugin what NCCL does, without a GPU: two processes, each at a NIC of
 * its own, load it, connect, and one sends messages to the other, which compares every octet.
 *
 *   harness PLUGIN SOCKET1 SOCKET2 CONNECTIONS MESSAGES LARGEST SEED
 *
 * Messages have 1 to LARGEST octets, by a uniform logarithm. The process at SOCKET1 sends. Exit
 * status 0: all arrived, in order, and nothing beside them was written.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "nccl.h"
#include "net.h"

#define WINDOW 6 /* requests of a connection at a time; NCCL has 8 at most */
#define GUARD 64 /* octets after a buffer that must stay */
#define POOL (16u << 20)
#define MARK 0xA5

struct request {
	void *handle;
	size_t size, from;
};

struct connection {
	void *comm, *mr;
	uint8_t *buffers; /* of the receiver: WINDOW of them */
	struct request window[WINDOW];
	unsigned begun, done, total;
	uint64_t sizes, places; /* states of their generators */
};

static ncclNet_v11_t *net;
static const char *role;
static uint8_t *pool; /* what messages are cut from: the same in both processes */
static size_t largest;

/* The device is in no /sys: the plugin wants a path of each device all the same. */
char *realpath(const char *path, char *into)
{
	static char *(*next)(const char *, char *);
	static const char stands[] = "/sys/class/infiniband/";

	if (!strncmp(path, stands, strlen(stands)) && !into)
		return strdup("/sys/devices/weft/0000:00:00.0");
	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "realpath");
	return next(path, into);
}

static void __attribute__((format(printf, 1, 2), noreturn)) fail(const char *format, ...)
{
	va_list args;

	fprintf(stderr, "%s: ", role);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

static void check(ncclResult_t result, const char *what)
{
	if (result != ncclSuccess)
		fail("%s: %d", what, result);
}

static void logger(ncclDebugLogLevel level, unsigned long flags, const char *file, int line,
		   const char *format, ...)
{
	va_list args;

	(void)flags;
	if (level > (getenv("HARNESS_DEBUG") ? NCCL_LOG_INFO : NCCL_LOG_WARN))
		return;
	fprintf(stderr, "%s: %s:%d ", role, file, line);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

/* splitmix64 */
static uint64_t draw(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

/* The next message of a connection: both processes draw the same. */
static struct request next_of(struct connection *c)
{
	double u = (double)(draw(&c->sizes) >> 11) / (double)(1ull << 53);
	struct request r = { .size = (size_t)exp(u * log((double)largest + 1)) };

	if (r.size > largest)
		r.size = largest;
	r.from = draw(&c->places) % (POOL - largest);
	return r;
}

static void send_next(struct connection *c)
{
	struct request r = next_of(c);
	uint64_t sizes = c->sizes, places = c->places;

	check(net->isend(c->comm, pool + r.from, r.size, 0, c->mr, NULL, &r.handle), "isend");
	if (!r.handle) { /* later; the next try draws the same */
		c->sizes = sizes - 0x9e3779b97f4a7c15;
		c->places = places - 0x9e3779b97f4a7c15;
		return;
	}
	c->window[c->begun++ % WINDOW] = r;
}

static uint8_t *buffer_of(struct connection *c, unsigned i)
{
	return c->buffers + (i % WINDOW) * (largest + GUARD);
}

static void receive_next(struct connection *c)
{
	struct request r = { 0 };
	void *data = buffer_of(c, c->begun);
	size_t size = largest;
	int tag = 0;

	check(net->irecv(c->comm, 1, &data, &size, &tag, &c->mr, NULL, &r.handle), "irecv");
	if (r.handle)
		c->window[c->begun++ % WINDOW] = r;
}

/* Compares what has arrived, and marks the buffer for the next message. */
static void compare(struct connection *c, int size)
{
	struct request r = next_of(c);
	uint8_t *b = buffer_of(c, c->done);

	if ((size_t)size != r.size)
		fail("message %u: %d octets, want %zu", c->done, size, r.size);
	if (memcmp(b, pool + r.from, r.size))
		fail("message %u: other octets than were sent", c->done);
	for (int i = 0; i < GUARD; i++)
		if (b[r.size + i] != MARK)
			fail("message %u: octet %zu after its end was written", c->done, (size_t)i);
	memset(b, MARK, r.size);
}

/* Moves every connection on until all is done. */
static void work(struct connection *all, int count, bool sender)
{
	int left = count;

	while (left) {
		left = 0;
		for (int i = 0; i < count; i++) {
			struct connection *c = &all[i];
			int done = 0, size = 0;

			if (c->begun < c->total && c->begun - c->done < WINDOW)
				sender ? send_next(c) : receive_next(c);
			if (c->done < c->begun) {
				check(net->test(c->window[c->done % WINDOW].handle, &done, &size), "test");
				if (done && !sender)
					compare(c, size);
				c->done += done != 0;
			}
			left += c->done < c->total;
		}
	}
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void *memory(size_t size)
{
	void *m = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (m == MAP_FAILED)
		fail("mmap of %zu octets", size);
	return m;
}

static void put(int fd, const void *b, size_t size)
{
	if (write(fd, b, size) != (ssize_t)size)
		fail("pipe");
}

static void get(int fd, void *b, size_t size)
{
	if (read(fd, b, size) != (ssize_t)size)
		fail("pipe");
}

static void run(const char *plugin, const char *socket, int count, unsigned messages, uint64_t seed,
		bool sender, int in, int out)
{
	struct connection *all = calloc((size_t)count, sizeof(*all));
	char handle[NCCL_NET_HANDLE_MAXSIZE];
	ncclNetProperties_v11_t properties;
	ncclNetCommConfig_v11_t config = { .trafficClass = NCCL_NET_TRAFFIC_CLASS_UNDEF };
	void *library, *context = NULL, *listening = NULL;
	uint64_t octets = 0, contents = seed;
	double began;
	int devices;

	setenv("WEFT_NIC_SOCKET", socket, 1);
	library = dlopen(plugin, RTLD_NOW);
	if (!library)
		fail("%s", dlerror());
	net = dlsym(library, "ncclNetPlugin_v11");
	if (!net)
		fail("%s", dlerror());
	check(net->init(&context, 1, &config, logger, NULL), "init");
	check(net->devices(&devices), "devices");
	if (devices < 1)
		fail("the plugin has no device");
	check(net->getProperties(0, &properties), "getProperties");
	if (!(properties.ptrSupport & NCCL_PTR_HOST))
		fail("no memory of hosts");
	pool = memory(POOL);
	for (size_t i = 0; i < POOL; i += 8) {
		uint64_t v = draw(&contents);

		memcpy(pool + i, &v, 8);
	}
	for (int i = 0; i < count; i++) {
		struct connection *c = &all[i];
		size_t size = WINDOW * (largest + GUARD);

		c->total = messages / (unsigned)count + ((unsigned)i < messages % (unsigned)count);
		c->sizes = seed + 2 * (uint64_t)i + 1;
		c->places = ~c->sizes;
		if (sender) {
			get(in, handle, sizeof(handle));
			while (!c->comm)
				check(net->connect(context, 0, handle, &c->comm, NULL), "connect");
			check(net->regMr(c->comm, pool, POOL, NCCL_PTR_HOST, &c->mr), "regMr");
			continue;
		}
		check(net->listen(context, 0, handle, &listening), "listen");
		put(out, handle, sizeof(handle));
		while (!c->comm)
			check(net->accept(listening, &c->comm, NULL), "accept");
		check(net->closeListen(listening), "closeListen");
		c->buffers = memory(size);
		memset(c->buffers, MARK, size);
		check(net->regMr(c->comm, c->buffers, size, NCCL_PTR_HOST, &c->mr), "regMr");
	}
	began = now();
	work(all, count, sender);
	if (!sender) {
		for (int i = 0; i < count; i++) {
			struct connection *c = &all[i];

			c->sizes = seed + 2 * (uint64_t)i + 1;
			for (unsigned n = 0; n < c->total; n++)
				octets += next_of(c).size;
		}
		printf("%u messages, %llu octets, %.1f s\n", messages, (unsigned long long)octets,
		       now() - began);
	}
	/* The receiver has sent acknowledgements that the sender may still wait for. */
	sender ? put(out, "", 1) : get(in, handle, 1);
	for (int i = 0; i < count; i++) {
		check(net->deregMr(all[i].comm, all[i].mr), "deregMr");
		check(sender ? net->closeSend(all[i].comm) : net->closeRecv(all[i].comm), "close");
		if (all[i].buffers)
			munmap(all[i].buffers, WINDOW * (largest + GUARD));
	}
	check(net->finalize(context), "finalize");
	free(all);
}

int main(int argc, char **argv)
{
	int handles[2], word[2], status;
	pid_t child;

	role = "harness";
	if (argc != 8)
		fail("harness PLUGIN SOCKET1 SOCKET2 CONNECTIONS MESSAGES LARGEST SEED");
	largest = strtoul(argv[6], NULL, 0);
	if (pipe(handles) || pipe(word))
		fail("pipe");
	child = fork();
	if (child < 0)
		fail("fork");
	if (!child) {
		role = "sender";
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		run(argv[1], argv[2], atoi(argv[4]), (unsigned)atoi(argv[5]), strtoull(argv[7], NULL, 0),
		    true, handles[0], word[1]);
		exit(0);
	}
	role = "receiver";
	run(argv[1], argv[3], atoi(argv[4]), (unsigned)atoi(argv[5]), strtoull(argv[7], NULL, 0),
	    false, word[0], handles[1]);
	if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status))
		fail("the sender failed: %x", status);
	return 0;
}
