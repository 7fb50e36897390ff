{{/* What it consumes; a test compares this with its sources. */}}
{{- define "trigger-worker.queues" -}}
- attribute_changed
- form_submitted
- campaign_click
- friend_track_event_inserted
- booking_event
- custom_event
- delivery_settled
- scheduled_action_fire
- scheduled_action_fire.now
- scheduled_trigger_fire
{{- end -}}

{{/* How late it is, as others measure it: events that are not decided, actions that are due. */}}
{{- define "trigger-worker.late" -}}
- name: events
  query: max(dueline_outbox_oldest_seconds{namespace="{{ .Release.Namespace }}"})
- name: actions
  query: max(dueline_actions_oldest_due_seconds{namespace="{{ .Release.Namespace }}"})
{{- end -}}
