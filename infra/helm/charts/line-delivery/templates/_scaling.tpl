{{/* What it consumes; a test compares this with its sources. */}}
{{- define "line-delivery.queues" -}}
- action_execute
- line_delivery_chunk
- line_broadcast_rich_message
- line_multicast_rich_message
- webhook_call
{{- end -}}

{{/* How small a part of LINE's limits each takes while Redis is away: by the most replicas that there may be. */}}
{{- define "line-delivery.replicas" -}}
- name: LINE_DELIVERY_REPLICAS
  value: {{ add (include "dueline.maxReplicas" . | int) (.Values.rollout.maxSurge | int) | quote }}
{{- end -}}
