{{/* Nodes are drained one pod at a time; a pod that is not ready anyway does not hold a drain up. */}}
{{- define "dueline.disruptionBudget" -}}
{{- if and .Values.podDisruptionBudget.enabled (gt (int (include "dueline.minReplicas" .)) 1) -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
{{ include "dueline.metadata" . }}
spec:
  maxUnavailable: {{ .Values.podDisruptionBudget.maxUnavailable }}
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- include "dueline.selector" . | nindent 6 }}
{{- end -}}
{{- end -}}

{{/* Up at once, down slowly: a replica that goes hands its work back, which costs others. */}}
{{- define "dueline.scalingBehavior" -}}
behavior:
  scaleUp:
    stabilizationWindowSeconds: 0
    policies:
      - {type: Percent, value: 100, periodSeconds: 30}
  scaleDown:
    stabilizationWindowSeconds: 300
    policies:
      - {type: Pods, value: 1, periodSeconds: 60}
{{- end -}}

{{/* HPA (by processor time) or KEDA (by what waits), never both. `queues`: those that the app consumes. `late`: a PromQL of seconds. */}}
{{- define "dueline.autoscaler" -}}
{{- if eq .Values.autoscaling.kind "hpa" }}
{{- include "dueline.hpa" . }}
{{- else if eq .Values.autoscaling.kind "keda" }}
{{- include "dueline.keda" . }}
{{- end }}
{{- end -}}

{{- define "dueline.hpa" -}}
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
{{ include "dueline.metadata" . }}
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: {{ include "dueline.fullname" . }}
  minReplicas: {{ .Values.autoscaling.minReplicas }}
  maxReplicas: {{ .Values.autoscaling.maxReplicas }}
  metrics:
    - type: Resource
      resource:
        name: cpu
        target:
          type: Utilization
          averageUtilization: {{ .Values.autoscaling.cpuPercent }}
  {{- include "dueline.scalingBehavior" . | nindent 2 }}
{{- end -}}

{{- define "dueline.keda" -}}
{{- $name := include "dueline.fullname" . -}}
apiVersion: keda.sh/v1alpha1
kind: TriggerAuthentication
{{ include "dueline.metadata" . }}
spec:
  secretTargetRef:
    - parameter: host
      name: {{ .Values.secrets.AMQP_URL.name }}
      key: {{ .Values.secrets.AMQP_URL.key }}
---
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
{{ include "dueline.metadata" . }}
spec:
  scaleTargetRef:
    name: {{ $name }}
  pollingInterval: 15
  cooldownPeriod: 300
  minReplicaCount: {{ .Values.autoscaling.minReplicas }}
  maxReplicaCount: {{ .Values.autoscaling.maxReplicas }}
  fallback:
    failureThreshold: 4
    replicas: {{ .Values.autoscaling.minReplicas }}
  advanced:
    horizontalPodAutoscalerConfig:
      {{- include "dueline.scalingBehavior" . | nindent 6 }}
  triggers:
    {{- range .queues }}
    - type: rabbitmq
      name: {{ . | replace "." "-" | replace "_" "-" }}
      metadata:
        protocol: amqp
        queueName: {{ . }}
        mode: QueueLength
        value: {{ include "dueline.text" $.Values.autoscaling.queueMessages | quote }}
      authenticationRef:
        name: {{ $name }}
    {{- end }}
    {{- if .Values.autoscaling.prometheusUrl }}
    {{- range .late }}
    - type: prometheus
      name: {{ .name }}
      metadata:
        serverAddress: {{ $.Values.autoscaling.prometheusUrl }}
        query: {{ .query | quote }}
        threshold: {{ include "dueline.text" $.Values.autoscaling.lateSeconds | quote }}
        ignoreNullValues: "true"
    {{- end }}
    {{- end }}
{{- end -}}
