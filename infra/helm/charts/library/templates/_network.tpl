{{- define "dueline.peerPorts" -}}
ports:
  {{- range .ports }}
  - {port: {{ . }}, protocol: TCP}
  {{- end }}
{{- with .to }}
to:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Name service, and those whom the app talks to; nothing else. `talksTo`: names of .Values.networkPolicy. */}}
{{- define "dueline.egress" -}}
egress:
  - ports:
      - {port: 53, protocol: UDP}
      - {port: 53, protocol: TCP}
    {{- with .Values.networkPolicy.dns.to }}
    to:
      {{- toYaml . | nindent 6 }}
    {{- end }}
  {{- range .talksTo }}
  - {{ include "dueline.peerPorts" (index $.Values.networkPolicy .) | nindent 4 | trim }}
  {{- end }}
  {{- if (.Values.config | default dict).OTEL_EXPORTER_OTLP_ENDPOINT }}
  - {{ include "dueline.peerPorts" .Values.networkPolicy.collector | nindent 4 | trim }}
  {{- end }}
{{- end -}}

{{- define "dueline.networkPolicy" -}}
{{- if .Values.networkPolicy.enabled -}}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
{{ include "dueline.metadata" . }}
spec:
  podSelector:
    matchLabels:
      {{- include "dueline.selector" . | nindent 6 }}
  policyTypes: [Ingress, Egress]
  ingress:
    - ports:
        - {port: http, protocol: TCP}
      {{- with .Values.networkPolicy.metrics.from }}
      from:
        {{- toYaml . | nindent 8 }}
      {{- end }}
  {{- include "dueline.egress" . | nindent 2 }}
{{- end -}}
{{- end -}}
