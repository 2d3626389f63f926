#!/bin/sh
# The data in /var/lib/weft stays, also after a purge: it is the user's.
set -e
if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
