{{- /* The labels of every object. */}}
{{- define "reeve.labels" -}}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/part-of: reeve
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- /* The image of a component: a list of the root, the component's name, and the whole image if one is given. */}}
{{- define "reeve.image" -}}
{{- $root := index . 0 -}}
{{- $own := index . 2 -}}
{{- if $own -}}
{{ $own }}
{{- else if $root.Values.image.one -}}
{{ $root.Values.image.one }}
{{- else if and $root.Values.image.registry $root.Values.image.tag -}}
{{ printf "%s/%s:%s" $root.Values.image.registry (index . 1) $root.Values.image.tag }}
{{- else -}}
{{ fail (printf "no image of %s is named: set image.one to the image that you have built (docs/install.md, The image), or image.registry and image.tag" (index . 1)) }}
{{- end }}
{{- end }}

{{- /* Where Pods may run, and with which Secrets their images are pulled. */}}
{{- define "reeve.placement" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
