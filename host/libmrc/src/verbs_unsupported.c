/* What libibverbs.so.1 has for programs to link with, and this device cannot: EOPNOTSUPP. */
#include <stdio.h>
#include <string.h>

#include "verbs.h"

/* Functions that give a pointer, an errno value, or -1. */
#define NO_POINTER(type, name, arguments) \
	WEFT_API type *name arguments;    \
	WEFT_API type *name arguments     \
	{                                 \
		return weft_null(EOPNOTSUPP); \
	}
#define NO_VALUE(name, arguments)      \
	WEFT_API int name arguments;   \
	WEFT_API int name arguments    \
	{                              \
		return weft_error(EOPNOTSUPP); \
	}
#define NO_RESULT(name, arguments)     \
	WEFT_API int name arguments;   \
	WEFT_API int name arguments    \
	{                              \
		return weft_failure(EOPNOTSUPP); \
	}
#define NOTHING(name, arguments)      \
	WEFT_API void name arguments; \
	WEFT_API void name arguments  \
	{                             \
	}

#pragma GCC diagnostic ignored "-Wunused-parameter"

/* Queue pairs other than those of MRC. */
NO_POINTER(struct ibv_qp, ibv_create_qp, (struct ibv_pd *pd, struct ibv_qp_init_attr *init))
NO_POINTER(struct ibv_qp_ex, ibv_qp_to_qp_ex, (struct ibv_qp *qp))
NO_VALUE(ibv_query_qp, (struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
			struct ibv_qp_init_attr *init))
NO_VALUE(ibv_modify_qp, (struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask))
NO_VALUE(ibv_destroy_qp, (struct ibv_qp *qp))
NO_VALUE(ibv_attach_mcast, (struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid))
NO_VALUE(ibv_detach_mcast, (struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid))
NO_VALUE(ibv_set_ece, (struct ibv_qp *qp, struct ibv_ece *ece))
NO_VALUE(ibv_query_ece, (struct ibv_qp *qp, struct ibv_ece *ece))

WEFT_API int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)
{
	return 0;
}

/* Shared receive queues. */
NO_POINTER(struct ibv_srq, ibv_create_srq, (struct ibv_pd *pd, struct ibv_srq_init_attr *init))
NO_VALUE(ibv_modify_srq, (struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask))
NO_VALUE(ibv_query_srq, (struct ibv_srq *srq, struct ibv_srq_attr *attr))
NO_VALUE(ibv_destroy_srq, (struct ibv_srq *srq))

/* Address handles, and what rdma_cm does with addresses of the kernel. */
NO_POINTER(struct ibv_ah, ibv_create_ah, (struct ibv_pd *pd, struct ibv_ah_attr *attr))
NO_POINTER(struct ibv_ah, ibv_create_ah_from_wc, (struct ibv_pd *pd, struct ibv_wc *wc,
						  struct ibv_grh *grh, uint8_t port))
NO_VALUE(ibv_init_ah_from_wc, (struct ibv_context *context, uint8_t port, struct ibv_wc *wc,
			       struct ibv_grh *grh, struct ibv_ah_attr *attr))
NO_VALUE(ibv_destroy_ah, (struct ibv_ah *ah))
NO_RESULT(ibv_resolve_eth_l2_from_gid, (struct ibv_context *context, struct ibv_ah_attr *attr,
					uint8_t mac[ETHERNET_LL_SIZE], uint16_t *vid))
NOTHING(ibv_copy_ah_attr_from_kern, (void *to, void *from))
NOTHING(ibv_copy_qp_attr_from_kern, (void *to, void *from))
NOTHING(ibv_copy_path_rec_from_kern, (void *to, void *from))
NOTHING(ibv_copy_path_rec_to_kern, (void *to, void *from))

/* Sharing with other processes. */
NO_POINTER(struct ibv_context, ibv_import_device, (int fd))
NO_POINTER(struct ibv_pd, ibv_import_pd, (struct ibv_context *context, uint32_t handle))
NO_POINTER(struct ibv_mr, ibv_import_mr, (struct ibv_pd *pd, uint32_t handle))
NO_POINTER(struct ibv_dm, ibv_import_dm, (struct ibv_context *context, uint32_t handle))
NOTHING(ibv_unimport_pd, (struct ibv_pd *pd))
NOTHING(ibv_unimport_mr, (struct ibv_mr *mr))
NOTHING(ibv_unimport_dm, (struct ibv_dm *dm))

/* sysfs, in which the device is not. */
WEFT_API const char *ibv_get_sysfs_path(void);
WEFT_API const char *ibv_get_sysfs_path(void)
{
	return "/sys";
}

WEFT_API int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size);
WEFT_API int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size)
{
	char path[512];
	FILE *f;
	size_t n;

	if (snprintf(path, sizeof(path), "%s/%s", dir, file) >= (int)sizeof(path))
		return weft_failure(ENAMETOOLONG);
	f = fopen(path, "re");
	if (!f)
		return -1;
	n = fread(buf, 1, size, f);
	fclose(f);
	if (n && buf[n - 1] == '\n')
		buf[--n] = 0;
	else if (n < size)
		buf[n] = 0;
	return (int)n;
}
