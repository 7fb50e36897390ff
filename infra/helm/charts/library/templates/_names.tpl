{{/* The name of every object of a chart: unique in its namespace, a valid DNS label. */}}
{{- define "dueline.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" (.Release.Name | trunc 30 | trimSuffix "-") .Chart.Name -}}
{{- end -}}
{{- end -}}

{{/* What selects the pods of a chart; never changed, because a Deployment's selector cannot be. */}}
{{- define "dueline.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "dueline.labels" -}}
{{ include "dueline.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: dueline
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 }}
{{- end -}}

{{- define "dueline.metadata" -}}
metadata:
  name: {{ include "dueline.fullname" . }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "dueline.labels" . | nindent 4 }}
{{- end -}}

{{/* By digest where one is given: it cannot be moved. */}}
{{- define "dueline.image" -}}
{{- $global := (.Values.global | default dict).image | default dict -}}
{{- $registry := .Values.image.registry | default $global.registry -}}
{{- with $registry }}{{ . }}/{{ end -}}
{{- .Values.image.repository -}}
{{- if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end -}}
{{- end -}}

{{- define "dueline.pullSecrets" -}}
{{- $global := (.Values.global | default dict).image | default dict -}}
{{- with .Values.image.pullSecrets | default $global.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- end -}}
