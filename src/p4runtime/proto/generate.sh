#!/bin/sh
# Make the TypeScript message descriptions from the .proto files, under src/ or the folder in the arguments. Needs protoc (3.15 or later)
# with its standard imports.
set -eu
cd "$(dirname "$0")"
descriptors=$(mktemp)
trap 'rm -f "$descriptors"' EXIT
protoc -I . -I ../../controller/jobservice/proto -I ../../controller/sidechannel/bfruntime --include_imports --descriptor_set_out="$descriptors" \
  google/rpc/status.proto p4/config/v1/p4types.proto p4/config/v1/p4info.proto p4/v1/p4data.proto p4/v1/p4runtime.proto \
  jobs.proto bfruntime.proto
node --import tsx generate.ts "$descriptors" "$@"
