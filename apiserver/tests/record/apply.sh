#!/bin/bash
# Records what a kube-apiserver makes of a story of writes, one JSON object a line: the request, the object before,
# and the answer. Usage: apply.sh https://127.0.0.1:6443 TOKEN < fixtures/apply.story > fixtures/apply.jsonl
# A line of the story: METHOD PATH?QUERY TYPE BODY.
server=$1 token=$2
call() { curl -sk -X "$1" -H "Authorization: Bearer $token" "${@:3}" "$server$2"; }
while read -r method path type body; do
    object=${path%%\?*}
    [[ $method == POST ]] && object=$object/$(jq -r .metadata.name <<<"$body")
    before=$(call GET "${object%/status}" | jq -c 'if .kind == "Status" then null else . end')
    after=$(call "$method" "$path" -H "Content-Type: application/$type" --data-binary "$body")
    jq -cn --arg method "$method" --arg path "$path" --arg type "$type" --argjson body "$body" \
        --argjson before "$before" --argjson after "$after" '$ARGS.named'
done
