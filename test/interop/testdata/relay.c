/* A receiver or source of a group, by clients/c: a source writes messages with immediate data, a
 * receiver prints what it has got.
 *
 *	relay source|join|listen GROUP PORT ADDRESS TOKEN OCTETS COUNT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weft.h"

static int fail(const char *what)
{
	printf("%s: %s (%d)\n", what, weft_error(), weft_refused());
	return 1;
}

int main(int n, char **args)
{
	struct weft_options o = {0};
	uint32_t octets, count, i, k, imm;
	unsigned char *memory;
	struct weft *w;
	int source;

	if (n != 8)
		return 2;
	source = !strcmp(args[1], "source");
	octets = atoi(args[6]);
	count = atoi(args[7]);
	memory = calloc(1, octets);
	o = (struct weft_options){.group = args[2], .port = atoi(args[3]), .address = args[4],
				  .token = args[5], .listen = !strcmp(args[1], "listen"),
				  .memory = memory, .length = octets};
	w = source ? weft_open_source(&o) : weft_join(&o);
	if (!w)
		return fail("connect");
	for (i = 1; i <= count; i++) {
		if (source) {
			memset(memory, i, octets);
			if (weft_write(w, 0, octets, 0, &i) || weft_flush(w, 60000))
				return fail("write");
			continue;
		}
		if (weft_wait(w, &imm, 60000))
			return fail("wait");
		for (k = 0; k < octets && memory[k] >= imm; k++)
			;
		if (imm != i || k < octets) {
			printf("message %u: immediate %u, octet %u is %d\n", i, imm, k, memory[k]);
			return 1;
		}
	}
	printf("mtu %u length %llu messages %u\n", weft_offer(w)->mtu,
	       (unsigned long long)weft_offer(w)->length, count);
	weft_leave(w);
	return 0;
}
