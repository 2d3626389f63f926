#!/bin/sh
# Runs simple_switch_grpc in a container of Compose:
#
#   bmv2.sh PORT@SUBNET...
#
# Compose chooses the names of interfaces. A SUBNET is that of a link, as /proc/net/route has it, and
# the interface with a route to it is the port's.
ports=
for text in "$@"; do
	found=
	while read -r name subnet _; do
		[ "$subnet" = "${text#*@}" ] && found=$name
	done </proc/net/route
	[ -n "$found" ] || { echo "bmv2.sh: no interface has the subnet of $text" >&2; exit 1; }
	ports="$ports -i ${text%@*}@$found"
done
cd /tmp || exit 1
# shellcheck disable=SC2086 # the ports are words
exec simple_switch_grpc $ports --device-id 1 --no-p4 --log-level warn --log-console -- \
	--grpc-server-addr 0.0.0.0:9559 --cpu-port 510 --drop-port 511 --priority-queues 8
