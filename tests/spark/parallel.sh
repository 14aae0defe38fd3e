#!/usr/bin/env bash
# One machine with many cores: GNU parallel gives each core a block of a big file, and what comes out is compared with one
# run of tcompact on one core, byte for byte. So is what tcompact writes with --jobs. Needs GNU parallel.
#
#   bash tests/spark/parallel.sh [BINARY]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
binary=$(realpath "${1:-$here/../../target/release/tcompact}")
[ -x "$binary" ] || { echo "$binary is not there: cargo build --release --locked" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CONFIG_HOME=$work  # settings of the user's would change the result
die() { echo "FAILED: $*" >&2; exit 1; }

if ! command -v parallel >/dev/null; then
  apt-get update -qq && apt-get install -y -qq parallel >/dev/null || die "GNU parallel is not here and cannot be installed: nothing was run"
fi
parallel --version | head -n 1 | grep "GNU parallel" || die "this parallel is not GNU's: nothing was run"

python3 "$here/data.py" make 3000 10 "$work"
cat "$work"/in/*.jsonl > "$work/big.jsonl"
# A space in the path would end the command's name, so PATH finds the binary, as in docs/engines.md.
mkdir "$work/bin" && ln -s "$binary" "$work/bin/tcompact"
export PATH=$work/bin:$PATH

timed() {  # timed NAME COMMAND…: into $work/NAME
  local name=$1 begun; shift
  begun=$(date +%s%N)
  "$@" > "$work/$name"
  echo "$name: $(( ($(date +%s%N) - begun) / 1000000 )) ms"
}
over_blocks() { parallel --pipepart -a "$1" --block "$2" --keep-order --halt soon,fail=1 \
  tcompact --quiet --jobs 1 --lines conversations --keep messages:4; }

echo "$(wc -l < "$work/big.jsonl") conversations, $(stat -c %s "$work/big.jsonl") bytes, $(nproc) cores"
timed single tcompact --quiet --jobs 1 --lines conversations --keep messages:4 "$work/big.jsonl"
[ "$(wc -l < "$work/single")" = 3000 ] || die "the single run did not write a line for each line"
if cmp -s "$work/single" "$work/big.jsonl"; then die "nothing was compacted"; fi
timed jobs tcompact --quiet --jobs "$(nproc)" --lines conversations --keep messages:4 "$work/big.jsonl"
timed parallel over_blocks "$work/big.jsonl" 2M
timed small-blocks over_blocks "$work/big.jsonl" 500k
for name in jobs parallel small-blocks; do
  cmp "$work/single" "$work/$name" || die "$name: not what the single run wrote"
done
echo "all the same, byte for byte"

# A line that is not a conversation must not go unnoticed.
sed '1500i {"messages": [' "$work/big.jsonl" > "$work/bad.jsonl"
if over_blocks "$work/bad.jsonl" 2M > "$work/bad" 2> "$work/said"; then die "a bad line went unnoticed"; fi
grep -q "tcompact: " "$work/said" || die "parallel failed for another reason: $(cat "$work/said")"
echo "a bad line: parallel ends with an error"
echo "passed"
