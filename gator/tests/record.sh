#!/bin/sh
# Records what Gatekeeper's `gator` prints for the command in the first line of each file of `golden`. It is built with
#   go build -o gator github.com/open-policy-agent/gatekeeper/v3/cmd/gator
# and given as the argument. Times are written as 0.000s, and the folder of this package as nothing.
set -eu
gator=$(realpath "$1")
cd "$(dirname "$0")/.."
for file in tests/golden/*.txt; do
    line=$(head -n 1 "$file")
    set +e
    eval "\"$gator\" ${line#gator }" >/tmp/gator-output 2>/tmp/gator-errors </dev/null
    code=$?
    set -e
    {
        echo "$line"
        echo "exit $code"
        sed -E "s/[0-9]+\.[0-9]{3}s/0.000s/g; s#$(pwd)/##g; s#${PWD#/}/##g" /tmp/gator-output
    } >"$file.new"
    mv "$file.new" "$file"
done
