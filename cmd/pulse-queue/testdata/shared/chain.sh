#!/bin/sh
# Checks the chain of a queue's audit log without pulse, and prints its head.
want=$(printf %064d 0)
for file in "$1"/audit/????-??.jsonl; do
	while IFS= read -r line; do
		prev=$(printf %s "$line" | jq -r .prev)
		[ "$prev" = "sha256:$want" ] || { echo "$file: broken behind $want"; exit 1; }
		want=$(printf %s "$line" | sha256sum | cut -d' ' -f1)
	done <"$file"
done
echo "$want"
