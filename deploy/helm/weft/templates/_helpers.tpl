{{- define "weft.name" -}}
{{- if contains "weft" .Release.Name }}{{ .Release.Name | trunc 40 }}{{ else }}{{ printf "%s-weft" .Release.Name | trunc 40 }}{{ end -}}
{{- end }}

{{- define "weft.selector" -}}
app.kubernetes.io/name: weft
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "weft.labels" -}}
{{ include "weft.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | replace "+" "_" | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "weft.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default (.Chart.AppVersion | replace "+" "_") }}
{{- end }}

{{- define "weft.certificate" -}}
{{ .Values.certificates.secret | default (printf "%s-tls" (include "weft.name" .)) }}
{{- end }}

{{/* The name by which pods and people reach a controller: its number is "i". */}}
{{- define "weft.host" -}}
{{ $n := include "weft.name" .root }}{{ printf "%s-%v.%s-peers.%s.svc" $n .i $n .root.Release.Namespace }}
{{- end }}

{{- define "weft.hardened" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}
