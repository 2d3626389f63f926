#!/bin/sh
# Before dpkg ("remove", "upgrade") and rpm (0 of a removal, 1 of an upgrade) take the files away.
set -e
case "$1" in
remove | 0)
	if [ -d /run/systemd/system ]; then
		systemctl disable --now weft.service weft-switch.service weft-nic.service weft-agent.service
	fi
	;;
esac
