{{/* How many replicas there may be at most. */}}
{{- define "dueline.maxReplicas" -}}
{{- $scaling := .Values.autoscaling | default dict -}}
{{- if eq ($scaling.kind | default "none") "none" }}{{ .Values.replicas }}{{ else }}{{ $scaling.maxReplicas }}{{ end -}}
{{- end -}}

{{- define "dueline.minReplicas" -}}
{{- $scaling := .Values.autoscaling | default dict -}}
{{- if eq ($scaling.kind | default "none") "none" }}{{ .Values.replicas }}{{ else }}{{ $scaling.minReplicas }}{{ end -}}
{{- end -}}

{{/*
What the chart knows better than the person who installs: the pod's name, which stays over restarts of its container and which no
other living pod has, and a stop that is shorter than the pod's grace. Besides, at most four replicas should LISTEN.
*/}}
{{- define "dueline.own" -}}
- name: INSTANCE_NAME
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
- name: HTTP_PORT
  value: {{ .Values.port | quote }}
- name: SHUTDOWN_TIMEOUT_SECONDS
  value: {{ .Values.shutdownSeconds | quote }}
{{- $max := int (include "dueline.maxReplicas" .) }}
{{- if and .listens (gt $max 4) (not (hasKey .Values.config "LISTEN_FOR_DUE")) }}
- name: LISTEN_FOR_DUE
  value: "false"
{{- end }}
{{- end -}}

{{- define "dueline.probes" -}}
{{- /* Whether it lives asks nothing of database or broker: their outage must not restart every pod. */ -}}
startupProbe:
  httpGet: {path: /livez, port: http}
  periodSeconds: 2
  timeoutSeconds: 2
  failureThreshold: {{ div (add .Values.probes.startSeconds 1) 2 }}
livenessProbe:
  httpGet: {path: /livez, port: http}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: {{ div (add .Values.probes.hungSeconds 9) 10 }}
readinessProbe:
  httpGet: {path: /readyz, port: http}
  periodSeconds: 5
  timeoutSeconds: 3
  failureThreshold: 3
{{- end -}}

{{/* The Deployment of a service. `extra`: further variables, which the chart derives. */}}
{{- define "dueline.deployment" -}}
{{- $scaling := .Values.autoscaling | default dict -}}
apiVersion: apps/v1
kind: Deployment
{{ include "dueline.metadata" . }}
spec:
  {{- if eq ($scaling.kind | default "none") "none" }}
  replicas: {{ .Values.replicas }}
  {{- end }}
  revisionHistoryLimit: 5
  minReadySeconds: 5
  progressDeadlineSeconds: 600
  strategy:
    type: RollingUpdate
    rollingUpdate:
      maxUnavailable: {{ .Values.rollout.maxUnavailable }}
      maxSurge: {{ .Values.rollout.maxSurge }}
  selector:
    matchLabels:
      {{- include "dueline.selector" . | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "dueline.labels" . | nindent 8 }}
        {{- with .Values.podLabels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- include "dueline.annotations" . | nindent 6 }}
    spec:
      {{- with .Values.serviceAccount.name }}
      serviceAccountName: {{ . }}
      {{- end }}
      {{- include "dueline.podSecurity" . | nindent 6 }}
      {{- include "dueline.pullSecrets" . | nindent 6 }}
      terminationGracePeriodSeconds: {{ add .Values.shutdownSeconds 10 }}
      {{- include "dueline.placement" . | nindent 6 }}
      {{- if .Values.topologySpread.enabled }}
      topologySpreadConstraints:
        {{- range $key := list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
        - topologyKey: {{ $key }}
          maxSkew: 1
          whenUnsatisfiable: {{ $.Values.topologySpread.whenUnsatisfiable }}
          labelSelector:
            matchLabels:
              {{- include "dueline.selector" $ | nindent 14 }}
          matchLabelKeys: [pod-template-hash]
        {{- end }}
      {{- end }}
      containers:
        - name: {{ .Chart.Name }}
          image: {{ include "dueline.image" . }}
          imagePullPolicy: {{ .Values.image.pullPolicy }}
          {{- include "dueline.containerSecurity" . | nindent 10 }}
          ports:
            - name: http
              containerPort: {{ .Values.port }}
          env:
            {{- include "dueline.own" . | trim | nindent 12 }}
            {{- with .extra }}
            {{- . | trim | nindent 12 }}
            {{- end }}
            {{- include "dueline.given" . | trim | nindent 12 }}
          {{- include "dueline.probes" . | nindent 10 }}
          resources:
            {{- toYaml .Values.resources | nindent 12 }}
      {{- include "dueline.volumes" . | nindent 6 }}
{{- end -}}
