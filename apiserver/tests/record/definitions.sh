#!/bin/bash
# Records what a kube-apiserver says of definitions, sorted: the definitions are those of the fixture itself.
# Usage: definitions.sh https://127.0.0.1:6443 TOKEN < fixtures/definitions.jsonl > recorded
server=$1 token=$2
while read -r line; do
    answer=$(jq -c .crd <<<"$line" | curl -sk -X POST -H "Authorization: Bearer $token" \
        -H "Content-Type: application/json" --data-binary @- \
        "$server/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All")
    jq -c --argjson answer "$answer" \
        '.errors = ([$answer.details.causes // [] | .[] | "\(.reason) \(.field): \(.message)"] | sort)' <<<"$line"
done
