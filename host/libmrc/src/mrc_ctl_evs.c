/*
 * Control of EV profiles. Lists of entries are longer than a message may be: they go in parts of
 * NIC_MAX_ENTRIES.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "mrc_internal.h"

#define EVS_ALL (MRC_CTL_EV_PROFILE_STATE | MRC_CTL_EV_PROFILE_CUR_STATE |          \
		 MRC_CTL_EV_PROFILE_MODE | MRC_CTL_EV_PROFILE_FMT_ID |              \
		 MRC_CTL_EV_PROFILE_COUNT | MRC_CTL_EV_PROFILE_MIN_ACTIVE |         \
		 MRC_CTL_EV_PROFILE_EVENT_MASK | MRC_CTL_EV_PROFILE_EV_OP |         \
		 MRC_CTL_EV_PROFILE_EV_FIELDS_OP | MRC_CTL_EV_PROFILE_VENDOR_CFG)

/* What one message may carry after nic_evs. */
union tail {
	struct nic_ev_entry entries[NIC_MAX_ENTRIES];
	struct nic_ev_field fields[NIC_MAX_FIELDS];
};

static int check(struct mrc_context *context, const struct mrc_ctl_ev_profile_attr *attr, int mask)
{
	bool entries = mask & MRC_CTL_EV_PROFILE_EV_OP;
	bool fields = mask & MRC_CTL_EV_PROFILE_EV_FIELDS_OP;

	if (!context || !attr || (mask & ~EVS_ALL) || (entries && fields))
		return EINVAL;
	if (entries && ((unsigned)attr->ev_op.op > MRC_CTL_EV_OP_QUERY_EV_ARRAY ||
			attr->ev_op.entry_count < 0 ||
			(attr->ev_op.entry_count && !attr->ev_op.entries)))
		return EINVAL;
	if (fields && ((unsigned)attr->ev_fields_op.op > MRC_CTL_EV_FIELDS_OP_QUERY_FIELDS ||
		       attr->ev_fields_op.field_count < 0 ||
		       (attr->ev_fields_op.field_count && !attr->ev_fields_op.fields)))
		return EINVAL;
	return 0;
}

static void put_entry(struct nic_ev_entry *to, const struct mrc_ctl_ev_op_entry *from)
{
	memcpy(to->ev, from->ev.val, sizeof(to->ev));
	memcpy(to->to, from->ev_new.val, sizeof(to->to));
	to->port = from->ev.port;
	to->to_port = from->ev_new.port;
	to->flags = from->flags;
	to->state = (uint32_t)from->state;
}

/* Sends a request with entries or fields after it; the answer's entries or fields come to tail. */
static int exchange(struct mrc_context *context, uint32_t op, struct nic_evs *e, union tail *tail)
{
	struct nic_evs answer = { 0 };
	struct weft_call call = {
		.op = op,
		.body = e,
		.body_size = sizeof(*e),
		.more = tail,
		.more_size = e->entries * sizeof(struct nic_ev_entry) +
			     e->fields * sizeof(struct nic_ev_field),
		.answer = &answer,
		.answer_size = sizeof(answer),
		.rest = tail,
		.rest_size = sizeof(*tail),
	};
	int error = weft_call(context->conn, &call);

	if (error)
		return error;
	*e = answer;
	if (answer.entries > NIC_MAX_ENTRIES || answer.fields > NIC_MAX_FIELDS)
		return EIO;
	if (call.got - sizeof(answer) < answer.entries * sizeof(struct nic_ev_entry) +
						answer.fields * sizeof(struct nic_ev_field))
		return EIO;
	return 0;
}

/* Fills in the state of each EV of the array. */
static int query_states(struct mrc_context *context, uint64_t id,
			struct mrc_ctl_ev_profile_attr *attr, union tail *tail)
{
	int count = attr->ev_op.entry_count;

	for (int at = 0; at < count;) {
		struct nic_evs e = { .id = id, .mask = MRC_CTL_EV_PROFILE_EV_OP,
				     .op = MRC_CTL_EV_OP_QUERY_EV_STATE };
		uint32_t n = count - at < NIC_MAX_ENTRIES ? (uint32_t)(count - at) : NIC_MAX_ENTRIES;
		int error;

		e.entries = n;
		for (uint32_t i = 0; i < n; i++)
			put_entry(&tail->entries[i], &attr->ev_op.entries[at + (int)i]);
		error = exchange(context, NIC_CTL_QUERY_EVS, &e, tail);
		if (error)
			return error;
		if (e.entries != n)
			return EIO;
		for (uint32_t i = 0; i < n; i++)
			attr->ev_op.entries[at + (int)i].state =
				(enum mrc_ctl_ev_state)tail->entries[i].state;
		at += (int)n;
	}
	return 0;
}

/* Fills in the whole list of a profile: E2BIG, with how many there are, if they do not fit. */
static int query_array(struct mrc_context *context, uint64_t id,
		       struct mrc_ctl_ev_profile_attr *attr, union tail *tail)
{
	uint32_t room = (uint32_t)attr->ev_op.entry_count, at = 0, total;

	do {
		struct nic_evs e = { .id = id, .mask = MRC_CTL_EV_PROFILE_EV_OP,
				     .op = MRC_CTL_EV_OP_QUERY_EV_ARRAY, .first = at };
		int error = exchange(context, NIC_CTL_QUERY_EVS, &e, tail);

		if (error)
			return error;
		total = e.total;
		if (total > INT32_MAX)
			return EIO;
		attr->ev_op.entry_count = (int)total;
		if (total > room)
			return E2BIG;
		if (at < total && !e.entries)
			return EIO;
		for (uint32_t i = 0; i < e.entries && at < total; i++, at++) {
			struct mrc_ctl_ev_op_entry *to = &attr->ev_op.entries[at];

			memcpy(to->ev.val, tail->entries[i].ev, sizeof(to->ev.val));
			to->ev.port = (uint8_t)tail->entries[i].port;
			to->state = (enum mrc_ctl_ev_state)tail->entries[i].state;
		}
	} while (at < total);
	return 0;
}

static int query_fields(struct mrc_context *context, uint64_t id,
			struct mrc_ctl_ev_profile_attr *attr, union tail *tail)
{
	struct nic_evs e = { .id = id, .mask = MRC_CTL_EV_PROFILE_EV_FIELDS_OP,
			     .op = MRC_CTL_EV_FIELDS_OP_QUERY_FIELDS };
	uint32_t room = (uint32_t)attr->ev_fields_op.field_count;
	int error = exchange(context, NIC_CTL_QUERY_EVS, &e, tail);

	if (error)
		return error;
	attr->ev_fields_op.field_count = (int)e.fields;
	if (e.fields > room)
		return E2BIG;
	for (uint32_t i = 0; i < e.fields; i++)
		attr->ev_fields_op.fields[i] = (struct mrc_ctl_ev_field){
			.width = tail->fields[i].width,
			.init_val = tail->fields[i].init,
			.min_val = tail->fields[i].min,
			.max_val = tail->fields[i].max,
			.mask = tail->fields[i].mask,
		};
	return 0;
}

/* What only reads, of the operations; 0 if there is nothing of it. */
static int read_operation(struct mrc_context *context, uint64_t id,
			  struct mrc_ctl_ev_profile_attr *attr, int mask, union tail *tail)
{
	if (mask & MRC_CTL_EV_PROFILE_EV_FIELDS_OP)
		return query_fields(context, id, attr, tail);
	if (!(mask & MRC_CTL_EV_PROFILE_EV_OP))
		return 0;
	return attr->ev_op.op == MRC_CTL_EV_OP_QUERY_EV_ARRAY ?
		       query_array(context, id, attr, tail) :
		       query_states(context, id, attr, tail);
}

static bool writes(const struct mrc_ctl_ev_profile_attr *attr, int mask)
{
	if (mask & MRC_CTL_EV_PROFILE_EV_FIELDS_OP)
		return attr->ev_fields_op.op == MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS;
	return (mask & MRC_CTL_EV_PROFILE_EV_OP) &&
	       (attr->ev_op.op == MRC_CTL_EV_OP_REPLACE_EV ||
		attr->ev_op.op == MRC_CTL_EV_OP_MODIFY_EV_STATE);
}

static struct nic_evs attributes(uint64_t id, const struct mrc_ctl_ev_profile_attr *attr)
{
	struct nic_evs e = {
		.id = id,
		.state = attr->profile_state,
		.cur_state = attr->cur_profile_state,
		.mode = attr->ev_mode,
		.format = attr->ev_fmt_profile_id,
		.count = attr->ev_count,
		.min_active = attr->ev_min_active,
		.event_mask = (uint32_t)attr->ev_event_mask,
	};

	memcpy(e.vendor, attr->vendor_cfg, sizeof(e.vendor));
	return e;
}

/*
 * Entries in parts: attributes go with the first, except that a profile which goes ONLINE does so
 * with the last, when its list is whole.
 */
static int modify_entries(struct mrc_context *context, uint64_t id,
			  const struct mrc_ctl_ev_profile_attr *attr, int mask, union tail *tail)
{
	int count = attr->ev_op.entry_count, at = 0;
	int late = attr->profile_state == MRC_CTL_PROFILE_ONLINE ? MRC_CTL_EV_PROFILE_STATE : 0;

	do {
		struct nic_evs e = attributes(id, attr);
		uint32_t n = count - at < NIC_MAX_ENTRIES ? (uint32_t)(count - at) : NIC_MAX_ENTRIES;
		bool first = at == 0, last = at + (int)n == count;
		int error;

		e.mask = MRC_CTL_EV_PROFILE_EV_OP;
		if (first)
			e.mask |= (uint32_t)(mask & ~late);
		if (last)
			e.mask |= (uint32_t)(mask & late);
		e.op = attr->ev_op.op;
		e.entries = n;
		for (uint32_t i = 0; i < n; i++)
			put_entry(&tail->entries[i], &attr->ev_op.entries[at + (int)i]);
		error = exchange(context, NIC_CTL_MODIFY_EVS, &e, tail);
		if (error)
			return error;
		at += (int)n;
	} while (at < count);
	return 0;
}

static int modify(struct mrc_context *context, uint64_t id,
		  const struct mrc_ctl_ev_profile_attr *attr, int mask, union tail *tail)
{
	struct nic_evs e = attributes(id, attr);

	if (mask & MRC_CTL_EV_PROFILE_EV_OP)
		return modify_entries(context, id, attr, mask, tail);
	e.mask = (uint32_t)mask;
	if (mask & MRC_CTL_EV_PROFILE_EV_FIELDS_OP) {
		if (attr->ev_fields_op.field_count > NIC_MAX_FIELDS)
			return E2BIG;
		e.op = attr->ev_fields_op.op;
		e.fields = (uint32_t)attr->ev_fields_op.field_count;
		for (uint32_t i = 0; i < e.fields; i++) {
			const struct mrc_ctl_ev_field *f = &attr->ev_fields_op.fields[i];

			tail->fields[i] = (struct nic_ev_field){ f->width, f->init_val, f->min_val,
								 f->max_val, f->mask };
		}
	}
	return exchange(context, NIC_CTL_MODIFY_EVS, &e, tail);
}

int mrc_ctl_modify_ev_profile(struct mrc_context *mrc_ctx, uint64_t ev_profile_id,
			      struct mrc_ctl_ev_profile_attr *attr, int attr_mask)
{
	const int operations = MRC_CTL_EV_PROFILE_EV_OP | MRC_CTL_EV_PROFILE_EV_FIELDS_OP;
	int error = check(mrc_ctx, attr, attr_mask);
	union tail *tail;

	if (error)
		return weft_failure(error);
	tail = malloc(sizeof(*tail));
	if (!tail)
		return weft_failure(ENOMEM);
	if (writes(attr, attr_mask)) {
		error = modify(mrc_ctx, ev_profile_id, attr, attr_mask, tail);
	} else {
		if ((attr_mask & ~operations) || !attr_mask)
			error = modify(mrc_ctx, ev_profile_id, attr, attr_mask & ~operations, tail);
		if (!error)
			error = read_operation(mrc_ctx, ev_profile_id, attr, attr_mask, tail);
	}
	free(tail);
	return weft_failure(error);
}

int mrc_ctl_query_ev_profile(struct mrc_context *mrc_ctx, uint64_t ev_profile_id,
			     struct mrc_ctl_ev_profile_attr *attr, int attr_mask)
{
	struct nic_evs e = { .id = ev_profile_id };
	int error = check(mrc_ctx, attr, attr_mask);
	union tail *tail;

	if (!error && writes(attr, attr_mask))
		error = EINVAL;
	if (error)
		return weft_failure(error);
	tail = malloc(sizeof(*tail));
	if (!tail)
		return weft_failure(ENOMEM);
	e.mask = (uint32_t)attr_mask &
		 ~(uint32_t)(MRC_CTL_EV_PROFILE_EV_OP | MRC_CTL_EV_PROFILE_EV_FIELDS_OP);
	error = exchange(mrc_ctx, NIC_CTL_QUERY_EVS, &e, tail);
	if (!error) {
		if (attr_mask & MRC_CTL_EV_PROFILE_STATE)
			attr->profile_state = e.state;
		if (attr_mask & MRC_CTL_EV_PROFILE_CUR_STATE)
			attr->cur_profile_state = e.state;
		if (attr_mask & MRC_CTL_EV_PROFILE_MODE)
			attr->ev_mode = e.mode;
		if (attr_mask & MRC_CTL_EV_PROFILE_FMT_ID)
			attr->ev_fmt_profile_id = e.format;
		if (attr_mask & MRC_CTL_EV_PROFILE_COUNT)
			attr->ev_count = e.count;
		if (attr_mask & MRC_CTL_EV_PROFILE_MIN_ACTIVE)
			attr->ev_min_active = e.min_active;
		if (attr_mask & MRC_CTL_EV_PROFILE_EVENT_MASK)
			attr->ev_event_mask = (int)e.event_mask;
		if (attr_mask & MRC_CTL_EV_PROFILE_VENDOR_CFG)
			memcpy(attr->vendor_cfg, e.vendor, sizeof(attr->vendor_cfg));
		error = read_operation(mrc_ctx, ev_profile_id, attr, attr_mask, tail);
	}
	free(tail);
	return weft_failure(error);
}
