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

{{/* The alerts of these templates (`alerts`: names), each with its section of docs/alerts.md. */}}
{{- define "dueline.prometheusRule" -}}
{{- if .Values.alerts.enabled -}}
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
        {{- range $name := .alerts }}
        {{- range include $name $ | fromYamlArray }}
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
        {{- end }}
{{- end -}}
{{- end -}}
