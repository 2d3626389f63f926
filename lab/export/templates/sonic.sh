#!/bin/sh
# What switch {{.At.Name}} lacks to be one of the lab, to be run on it, with its certificate in the
# folder /etc/sonic/weft: gNMI for the controller, the MAC that link-local addresses are made of, and
# the hosts at its ports, which answer no neighbor solicitations.
set -eu
set_row() { sudo sonic-db-cli CONFIG_DB hset "$@" > /dev/null; }

set_row 'GNMI|certs' server_crt /etc/sonic/weft/switch-{{.At.Name}}.pem server_key /etc/sonic/weft/switch-{{.At.Name}}.key
set_row 'GNMI|gnmi' client_auth false port {{port .GRPC}} log_level 2
set_row 'DEVICE_METADATA|localhost' mac {{.Switch.MAC}}
{{- range .Neighbors}}
set_row 'NEIGH|{{.Port}}|{{.Address}}' neigh {{.MAC}} family IPv6
{{- end}}
sudo config save -y
sudo config reload -y -f
