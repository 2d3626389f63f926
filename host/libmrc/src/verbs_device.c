/* Devices of libibverbs.so.1: the one NIC of the socket, its contexts, ports and addresses. */
#define _GNU_SOURCE
#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>

#include "verbs.h"

#define PHYS_DISABLED 3
#define PHYS_LINK_UP 5

/* --- List --- */

static void let_go(struct weft_device *device)
{
	if (atomic_fetch_sub(&device->refs, 1) == 1)
		free(device);
}

static struct weft_device *make_device(const struct nic_device *d)
{
	struct weft_device *device = calloc(1, sizeof(*device));

	if (!device)
		return NULL;
	atomic_init(&device->refs, 1);
	device->device.node_type = IBV_NODE_CA;
	device->device.transport_type = IBV_TRANSPORT_IB;
	snprintf(device->device.name, sizeof(device->device.name), "%s", d->name);
	snprintf(device->device.dev_name, sizeof(device->device.dev_name), "%s", d->name);
	memcpy(&device->guid, d->guid, sizeof(device->guid));
	return device;
}

WEFT_API struct ibv_device **ibv_get_device_list(int *num_devices)
{
	struct ibv_device **list = calloc(2, sizeof(*list));
	struct weft_device *device;
	struct weft_conn *conn;

	if (num_devices)
		*num_devices = 0;
	if (!list)
		return weft_null(ENOMEM);
	if (weft_connect(NULL, &conn))
		return list; /* no NIC is no device */
	device = make_device(&conn->device);
	weft_release(conn);
	if (!device) {
		free(list);
		return weft_null(ENOMEM);
	}
	list[0] = &device->device;
	if (num_devices)
		*num_devices = 1;
	return list;
}

WEFT_API void ibv_free_device_list(struct ibv_device **list)
{
	if (!list)
		return;
	for (int i = 0; list[i]; i++)
		let_go((struct weft_device *)list[i]);
	free(list);
}

WEFT_API const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

WEFT_API int ibv_get_device_index(struct ibv_device *device)
{
	(void)device;
	return -1;
}

WEFT_API __be64 ibv_get_device_guid(struct ibv_device *device)
{
	return ((struct weft_device *)device)->guid;
}

/* --- Context --- */

static int query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr,
		      size_t size);

WEFT_API struct weft_conn *weft_nic_connection(struct ibv_context *context)
{
	struct weft_context *c;

	/* A context of another library has another function here. */
	if (!context || context->abi_compat != __VERBS_ABI_IS_EXTENDED ||
	    context->ops.poll_cq != weft_verbs_poll)
		return NULL;
	c = weft_context(context);
	weft_hold(c->conn);
	return c->conn;
}

WEFT_API struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct weft_context *c;
	int error;

	if (!device)
		return weft_null(EINVAL);
	c = calloc(1, sizeof(*c));
	if (!c)
		return weft_null(ENOMEM);
	error = weft_connect(NULL, &c->conn);
	if (error) {
		free(c);
		return weft_null(error);
	}
	/* Another NIC may have taken the socket since the list was made. */
	error = strcmp(c->conn->device.name, device->name) ? ENODEV : 0;
	if (!error)
		error = weft_inbox_open(c->conn, &c->inbox);
	if (error) {
		weft_release(c->conn);
		free(c);
		return weft_null(error);
	}
	c->device = (struct weft_device *)device;
	atomic_fetch_add(&c->device->refs, 1);
	c->verbs.sz = sizeof(c->verbs);
	c->verbs.query_port = query_port;
	c->verbs.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
	c->verbs.context.device = device;
	c->verbs.context.cmd_fd = c->conn->fd;
	c->verbs.context.async_fd = c->conn->async;
	c->verbs.context.num_comp_vectors = 1;
	c->verbs.context.ops.poll_cq = weft_verbs_poll;
	c->verbs.context.ops.req_notify_cq = weft_verbs_notify;
	pthread_mutex_init(&c->verbs.context.mutex, NULL);
	return &c->verbs.context;
}

WEFT_API int ibv_close_device(struct ibv_context *context)
{
	struct weft_context *c;
	int error;

	if (!context)
		return weft_failure(EINVAL);
	c = weft_context(context);
	error = weft_owned(c->conn);
	if (error)
		return weft_failure(error);
	weft_inbox_close(c->conn, &c->inbox);
	weft_release(c->conn);
	let_go(c->device);
	pthread_mutex_destroy(&context->mutex);
	free(c);
	return 0;
}

/* --- Queries --- */

static int alive(struct weft_conn *conn)
{
	int error = weft_owned(conn);

	return error ? error : weft_dead(conn, true) ? EIO : 0;
}

WEFT_API int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	struct weft_conn *conn = weft_context(context)->conn;
	const struct nic_device *d = &conn->device;
	int error = alive(conn);

	if (error)
		return weft_error(error);
	memset(attr, 0, sizeof(*attr));
	snprintf(attr->fw_ver, sizeof(attr->fw_ver), "weft-%u", d->version);
	memcpy(&attr->node_guid, d->guid, sizeof(attr->node_guid));
	memcpy(&attr->sys_image_guid, d->guid, sizeof(attr->sys_image_guid));
	attr->max_mr_size = d->max_mr_size;
	attr->page_size_cap = 0xfffffffffffff000ull;
	attr->max_qp = (int)d->max_qp;
	attr->max_qp_wr = (int)d->max_qp_wr;
	attr->max_sge = (int)d->max_sge;
	attr->max_cq = (int)d->max_cq;
	attr->max_cqe = (int)d->max_cqe;
	attr->max_mr = (int)d->max_mr;
	attr->max_pd = (int)d->max_pd;
	attr->atomic_cap = IBV_ATOMIC_NONE;
	attr->max_pkeys = 1;
	attr->phys_port_cnt = (uint8_t)d->ports;
	return 0;
}

/* Rate of a link in the two numbers of the verbs: the first that is not less. */
static void speed_of(uint32_t mbps, struct ibv_port_attr *attr)
{
	static const struct {
		uint32_t mbps;
		uint8_t speed, width;
	} rates[] = {
		{ 2500, 1, 1 },    { 5000, 2, 1 },     { 10000, 4, 1 },    { 25000, 32, 1 },
		{ 40000, 4, 2 },   { 50000, 64, 1 },   { 100000, 32, 2 },  { 200000, 64, 2 },
		{ 400000, 128, 2 }, { 800000, 128, 4 }, { UINT32_MAX, 128, 8 },
	};
	size_t i = 0;

	while (rates[i].mbps < mbps)
		i++;
	attr->active_speed = rates[i].speed;
	attr->active_width = rates[i].width;
}

static int query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr,
		      size_t size)
{
	struct weft_conn *conn = weft_context(context)->conn;
	struct nic_object object = { .handle = port };
	struct nic_port p;
	struct weft_call call = { .op = NIC_QUERY_PORT, .body = &object, .body_size = sizeof(object),
				  .answer = &p, .answer_size = sizeof(p) };
	struct ibv_port_attr a = { 0 };
	int error = weft_owned(conn);

	if (!error && (port < 1 || port > conn->device.ports))
		error = EINVAL;
	if (!error)
		error = weft_call(conn, &call);
	if (error)
		return weft_error(error);
	a.state = p.state;
	a.max_mtu = p.max_mtu;
	a.active_mtu = p.active_mtu;
	a.gid_tbl_len = 1;
	a.max_msg_sz = conn->device.max_message > UINT32_MAX ? UINT32_MAX :
							       (uint32_t)conn->device.max_message;
	a.pkey_tbl_len = 1;
	a.max_vl_num = 1;
	a.phys_state = p.state == IBV_PORT_ACTIVE ? PHYS_LINK_UP : PHYS_DISABLED;
	a.link_layer = IBV_LINK_LAYER_ETHERNET;
	speed_of(p.speed, &a);
	memset(attr, 0, size);
	memcpy(attr, &a, size < sizeof(a) ? size : sizeof(a));
	return 0;
}

/* Of programs that do not know how large the structure is: without what came later. */
WEFT_API int ibv_query_port(struct ibv_context *context, uint8_t port_num,
			    struct _compat_ibv_port_attr *port_attr)
{
	return query_port(context, port_num, (struct ibv_port_attr *)port_attr,
			  offsetof(struct ibv_port_attr, port_cap_flags2));
}

static int check_index(struct weft_conn *conn, uint32_t port, uint32_t index)
{
	int error = alive(conn);

	if (!error && (port < 1 || port > conn->device.ports))
		error = EINVAL;
	if (!error && index)
		error = ENODATA;
	return error;
}

WEFT_API int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port_num, uint32_t gid_index,
			       struct ibv_gid_entry *entry, uint32_t flags, size_t entry_size)
{
	struct weft_conn *conn = weft_context(context)->conn;
	struct ibv_gid_entry e = { .gid_index = 0, .port_num = port_num,
				   .gid_type = IBV_GID_TYPE_ROCE_V2 };
	int error = flags || entry_size < offsetof(struct ibv_gid_entry, ndev_ifindex) ? EINVAL : 0;

	if (!error)
		error = check_index(conn, port_num, gid_index);
	if (error)
		return weft_error(error);
	memcpy(e.gid.raw, conn->device.gid, sizeof(e.gid.raw));
	memset(entry, 0, entry_size);
	memcpy(entry, &e, entry_size < sizeof(e) ? entry_size : sizeof(e));
	return 0;
}

WEFT_API ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries,
				      size_t max_entries, uint32_t flags, size_t entry_size)
{
	struct weft_conn *conn = weft_context(context)->conn;
	size_t n = 0;

	for (uint32_t port = 1; port <= conn->device.ports && n < max_entries; port++, n++) {
		void *at = (uint8_t *)entries + n * entry_size;
		int error = _ibv_query_gid_ex(context, port, 0, at, flags, entry_size);

		if (error)
			return -error;
	}
	return (ssize_t)n;
}

WEFT_API int ibv_query_gid(struct ibv_context *context, uint8_t port_num, int index,
			   union ibv_gid *gid)
{
	struct weft_conn *conn = weft_context(context)->conn;
	int error = check_index(conn, port_num, (uint32_t)index);

	if (error)
		return weft_failure(error);
	memcpy(gid->raw, conn->device.gid, sizeof(gid->raw));
	return 0;
}

WEFT_API int ibv_query_pkey(struct ibv_context *context, uint8_t port_num, int index, __be16 *pkey)
{
	int error = check_index(weft_context(context)->conn, port_num, (uint32_t)index);

	if (error)
		return weft_failure(error);
	*pkey = htobe16(0xffff);
	return 0;
}

WEFT_API int ibv_get_pkey_index(struct ibv_context *context, uint8_t port_num, __be16 pkey)
{
	int error = check_index(weft_context(context)->conn, port_num, 0);

	if (!error && (be16toh(pkey) & 0x7fff) != 0x7fff)
		error = ENODATA;
	return weft_failure(error);
}
