#!/bin/sh
# After dpkg ("configure", with the version before where there was one) and rpm (how many are installed).
set -e
if command -v systemd-sysusers >/dev/null; then systemd-sysusers weft.conf; fi
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	# A controller that restarts stops no traffic. A switch and a NIC would: they wait for their operator.
	systemctl try-restart weft.service
fi
case "$1${2:+ upgrade}" in
configure | 1)
	cat <<-END
		Weft is installed. Start the controller:  systemctl enable --now weft
		  configuration  /etc/weft/controller.yaml: without a switch, until you add one
		  data           /var/lib/weft
		  dashboard      http://127.0.0.1:8080/
		  API            http://127.0.0.1:8080 (OpenAPI at /openapi.json)
		Or look at a whole network in one process:  weft lab
	END
	;;
esac
