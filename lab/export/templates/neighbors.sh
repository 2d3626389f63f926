#!/bin/sh
# What kernels that are switches of the lab {{.Name}} lack once containerlab has made their links: the
# hosts at their ports, which answer no neighbor solicitations, and the rates of links. As root.
set -eu
at() { ip netns exec "$@"; }
{{- range $s := .Switches}}{{if eq .System "linux"}}
{{- range .Ports}}{{if .Rate}}
at {{$s.At.Service}} tc qdisc replace dev {{.Interface}} root tbf rate {{.Bits}}bit burst 64kb latency 200ms
{{- end}}{{end}}
{{- range .Neighbors}}
at {{$s.At.Service}} ip -6 neighbor replace {{.Address}} lladdr {{.MAC}} nud permanent dev {{.Interface}}
{{- end}}
{{- end}}{{end}}
