#!/bin/busybox sh
# First process of a guest.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
busybox mkdir -p /proc /sys /dev /tmp
busybox mount -t proc proc /proc
busybox mount -t sysfs sysfs /sys
busybox mount -t devtmpfs dev /dev
for module in virtio_pci virtio_net virtio_console rdma_rxe ib_uverbs rdma_ucm; do modprobe $module; done
exec /usr/bin/python3 /guest.py /dev/vport0p1
