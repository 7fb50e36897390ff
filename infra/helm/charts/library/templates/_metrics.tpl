{{/* For scrapes only: nobody calls a worker. Pods that are not ready are scraped too, they are those to look at. */}}
{{- define "dueline.service" -}}
apiVersion: v1
kind: Service
{{ include "dueline.metadata" . }}
spec:
  type: ClusterIP
  clusterIP: None
  publishNotReadyAddresses: true
  selector:
    {{- include "dueline.selector" . | nindent 4 }}
  ports:
    - name: http
      port: {{ .Values.port }}
      targetPort: http
{{- end -}}

{{- define "dueline.serviceMonitor" -}}
{{- if .Values.serviceMonitor.enabled -}}
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
{{ include "dueline.metadata" . }}
    {{- with .Values.serviceMonitor.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  jobLabel: app.kubernetes.io/name
  selector:
    matchLabels:
      {{- include "dueline.selector" . | nindent 6 }}
  endpoints:
    - port: http
      path: /metrics
      interval: {{ .Values.serviceMonitor.interval }}
      honorLabels: true # the app's own label `service` stays as it is
{{- end -}}
{{- end -}}

{{/* Which series an alert of this chart is about. */}}
{{- define "dueline.of" -}}
job="{{ .Chart.Name }}",namespace="{{ .Release.Namespace }}"
{{- end -}}

{{/* Alerts that every service has (but `withoutCommon`), then its own (`own`: YAML of a list), each with its page of docs/alerts.md. */}}
{{- define "dueline.prometheusRule" -}}
{{- if .Values.alerts.enabled -}}
{{- $common := ternary (list) (include "dueline.commonAlerts" . | fromYamlArray) (.withoutCommon | default false) -}}
{{- $own := .own | default "[]" | fromYamlArray -}}
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
{{ include "dueline.metadata" . }}
    {{- with .Values.alerts.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  groups:
    - name: {{ include "dueline.fullname" . }}
      rules:
        {{- range concat $common $own }}
        - alert: {{ .alert }}
          expr: {{ .expr | trim | quote }}
          for: {{ .for }}
          labels:
            severity: {{ .severity }}
            app: {{ $.Chart.Name }}
          annotations:
            summary: {{ .summary | quote }}
            runbook_url: {{ printf "%s#%s" $.Values.alerts.runbooks (lower .alert) | quote }}
        {{- end }}
{{- end -}}
{{- end -}}

{{- define "dueline.commonAlerts" -}}
{{- $of := include "dueline.of" . -}}
- alert: DuelineDown
  expr: absent(up{ {{ $of }} } == 1)
  for: 5m
  severity: page
  summary: No replica of {{ .Chart.Name }} answers scrapes.
- alert: DuelineBrokerBlocked
  expr: max(dueline_mq_blocked{ {{ $of }} }) == 1
  for: 2m
  severity: page
  summary: RabbitMQ takes no messages from {{ .Chart.Name }}.
- alert: DuelineDeadLetters
  expr: sum by (queue) (increase(dueline_mq_consume_total{ {{ $of }},result="dead_lettered"}[15m])) > 0
  for: 1m
  severity: ticket
  summary: {{ .Chart.Name }} gave messages up.
- alert: DuelineHandlersFail
  expr: |
    sum by (queue) (rate(dueline_mq_handler_failures_total{ {{ $of }} }[10m]))
      > 0.05 * sum by (queue) (rate(dueline_mq_consume_total{ {{ $of }} }[10m])) + 0.1
  for: 10m
  severity: ticket
  summary: More than one in twenty tries of {{ .Chart.Name }} fails.
- alert: DuelineReconnects
  expr: sum by (role) (increase(dueline_mq_connections_total{ {{ $of }} }[15m])) > 10 * count(up{ {{ $of }} })
  for: 5m
  severity: ticket
  summary: {{ .Chart.Name }} loses its connection to RabbitMQ again and again.
- alert: DuelineUnmeasured
  expr: sum by (metric) (increase(dueline_metric_collect_errors_total{ {{ $of }} }[15m])) > 3
  for: 10m
  severity: ticket
  summary: {{ .Chart.Name }} cannot read one of its metrics.
- alert: DuelineEventLoopLate
  expr: max(nodejs_eventloop_lag_p99_seconds{ {{ $of }} }) > 1
  for: 10m
  severity: ticket
  summary: A process of {{ .Chart.Name }} is busy for more than a second at a time.
{{- end -}}
