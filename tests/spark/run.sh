#!/usr/bin/env bash
# Runs job.py on a real cluster of this machine (a standalone master and three workers, each a process of its own), kills
# a worker in the middle of a partition, and compares what came out with one run of tcompact over everything, byte for
# byte: once for JSON lines, once for Parquet. Needs Linux, Java 17 and Python 3.10 with venv; installs PySpark into a
# temporary folder, which goes when this ends.
#
#   bash tests/spark/run.sh [BINARY]
#
# SPARK_PYTHON names an interpreter that has PySpark and PyArrow already; with KEEP=1 the temporary folder stays.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
binary=$(realpath "${1:-$here/../../target/release/tcompact}")
[ -x "$binary" ] || { echo "$binary is not there: cargo build --release --locked" >&2; exit 1; }
[ "${binary##*/}" = tcompact ] || { echo "$binary: the job looks for it by the name tcompact" >&2; exit 1; }
conversations=4000 files=40 workers=3
rules=(--keep messages:4)

work=$(mktemp -d)
started=()   # what this script started, by pid

# A process and all below it. The pids come from the kernel, so nothing else can be among them.
tree() {
  local child
  echo "$1"
  for child in $(cat "/proc/$1/task/"*/children 2>/dev/null); do tree "$child"; done
}

clean() {
  local all=() pid
  for pid in "${started[@]}"; do [ -d "/proc/$pid" ] && all+=($(tree "$pid")); done
  [ ${#all[@]} = 0 ] || kill -KILL "${all[@]}" 2>/dev/null || true
  wait 2>/dev/null || true
  if [ -n "${KEEP:-}" ]; then echo "kept: $work"; else rm -rf "$work"; fi
}
trap clean EXIT

die() { echo "FAILED: $*" >&2; exit 1; }
say() { printf '%s %s\n' "$(date +%T)" "$*"; }

python=${SPARK_PYTHON:-}
if [ -z "$python" ]; then
  say "installing PySpark"
  python3 -m venv "$work/venv"
  "$work/venv/bin/pip" install --quiet --disable-pip-version-check pyspark==4.1.4 pyarrow==26.0.1
  python=$work/venv/bin/python
fi
SPARK_HOME=$("$python" -c 'import os, pyspark; print(os.path.dirname(pyspark.__file__))')
export SPARK_HOME PYSPARK_PYTHON=$python PYSPARK_DRIVER_PYTHON=$python
export SPARK_LOCAL_IP=127.0.0.1 SPARK_DAEMON_MEMORY=256m SPARK_LOCAL_DIRS=$work/local
export XDG_CONFIG_HOME=$work/config  # settings of the user's would change the result

say "data: $conversations conversations in $files files, one of them empty"
"$python" "$here/data.py" make "$conversations" "$files" "$work"
"$python" "$here/data.py" parquet "$work"
cat "$work"/in/*.jsonl > "$work/all.jsonl"
SECONDS=0
"$binary" --quiet --lines conversations "${rules[@]}" < "$work/all.jsonl" > "$work/expected.jsonl"
[ "$(wc -l < "$work/expected.jsonl")" = "$conversations" ] || die "the single run did not write a line for each line"
changed=$(diff --changed-group-format='%<' --unchanged-group-format= "$work/all.jsonl" "$work/expected.jsonl" | wc -l || true)
[ "$changed" -gt $((conversations / 2)) ] || die "only $changed conversations were compacted"
say "single run: $SECONDS s, $changed conversations changed, $(stat -c %s "$work/all.jsonl") bytes to $(stat -c %s "$work/expected.jsonl")"

start() {  # start LOG COMMAND…: in the background, its pid in $pid
  local log=$1; shift
  "$@" > "$log" 2>&1 &
  pid=$!
  started+=("$pid")
}

within() {  # within SECONDS COMMAND…: waits until COMMAND succeeds
  local end=$((SECONDS + $1)); shift
  until "$@" 2>/dev/null; do
    [ $SECONDS -lt $end ] || die "waited in vain for: $*"
    sleep 0.05
  done
}

class=$SPARK_HOME/bin/spark-class
start "$work/master.log" "$class" org.apache.spark.deploy.master.Master --host 127.0.0.1 --port 0 --webui-port 0
within 60 grep -q "Starting Spark master at" "$work/master.log"
master=$(sed -n 's/.*Starting Spark master at //p' "$work/master.log")

number=0 pids=()
add_worker() {
  number=$((number + 1))
  start "$work/worker$number.log" "$class" org.apache.spark.deploy.worker.Worker --host 127.0.0.1 --port 0 --webui-port 0 \
    --cores 1 --memory 1g --work-dir "$work/worker$number" "$master"
  pids+=("$pid")
  within 60 grep -q "Successfully registered with master" "$work/worker$number.log"
}
for _ in $(seq $workers); do add_worker; done
say "cluster: master and ${#pids[@]} workers of one core, pids ${pids[*]}"

# The limits on partitions are for the test: small ones although there is little data, and empty ones not left out.
submit() {  # submit LOG JOB-ARGUMENTS…
  local log=$1; shift
  start "$log" "$SPARK_HOME/bin/spark-submit" --master "$master" --files "$binary" --driver-memory 512m --executor-memory 512m \
    --conf spark.ui.enabled=false --conf spark.sql.files.maxPartitionBytes=1m --conf spark.hadoopRDD.ignoreEmptySplits=false \
    --conf spark.eventLog.enabled=true --conf spark.eventLog.dir="file://$work/events" \
    --conf spark.eventLog.compress=false --conf spark.eventLog.rolling.enabled=false \
    "$here/job.py" "$@"
}
mkdir -p "$work/events" "$work/local" "$work/config"

# Partitions that are written; a job's output is moved to its place when all of them are.
written() { find "$1/_temporary/0" -maxdepth 1 -name 'task_*' 2>/dev/null | wc -l; }
some_written() { [ "$(written "$1")" -ge 8 ]; }

# The pid of a tcompact below a process, stopped in the middle of its partition.
busy() {
  local pid
  for pid in $(tree "$1"); do
    [[ $(readlink "/proc/$pid/exe") = */tcompact ]] || continue
    kill -STOP "$pid" 2>/dev/null || continue
    sleep 0.1
    # Its task waits for its end, so while it stands still the task cannot be over.
    [ "$(awk '{print $3}' "/proc/$pid/stat" 2>/dev/null)" = T ] && { echo "$pid"; return 0; }
  done
  return 1
}
stopped() { victim_task=$(busy "$1"); }

round() {  # round KIND SOURCE: the job, with a worker killed in the middle
  local kind=$1 source=$2 out=$work/out-$1 job worker victims begun
  begun=$SECONDS
  submit "$work/$kind.log" "$kind" "$source" "$out" "${rules[@]}"
  job=$pid
  within 120 some_written "$out"
  worker=${pids[-1]}
  within 60 stopped "$worker"
  victims=($(tree "$worker"))
  kill -KILL "${victims[@]}"
  wait "$worker" 2>/dev/null || true
  say "$kind: worker $worker killed with the ${#victims[@]} processes of its tree $((SECONDS - begun)) s after the start," \
    "$(written "$out") partitions written, its tcompact $victim_task in the middle of one"
  unset 'pids[-1]'
  wait "$job" || { tail -n 40 "$work/$kind.log" >&2; die "$kind: the job ended with an error"; }
  [ -e "$out/_SUCCESS" ] || die "$kind: the job did not finish its output"
  say "$kind: job done in $((SECONDS - begun)) s"
  "$python" "$here/events.py" "$work/events"/app-* || die "$kind: no task was lost"
  mv "$work/events" "$work/events-$kind"; mkdir "$work/events"
}

round lines "$work/in/*.jsonl"
cat "$work"/out-lines/part-* | cmp - "$work/expected.jsonl" || die "lines: not what the single run wrote"
say "lines: $(cat "$work"/out-lines/part-* | wc -l) lines in $(ls "$work"/out-lines/part-* | wc -l) parts, byte for byte those of the single run"

add_worker
say "a new worker, pid $pid"
round parquet "$work/table"
"$python" "$here/data.py" lines "$work/out-parquet" | cmp - "$work/expected.jsonl" || die "parquet: not what the single run wrote"
say "parquet: byte for byte those of the single run"

# A line that is not a conversation fails its partition and with it the job, unless it is passed through.
mkdir "$work/bad"
head -n 20 "$work/all.jsonl" > "$work/bad/00.jsonl"
{ sed -n 21,30p "$work/all.jsonl"; echo '{"messages": ['; sed -n 31,40p "$work/all.jsonl"; } > "$work/bad/01.jsonl"
submit "$work/bad.log" lines "$work/bad/*.jsonl" "$work/out-bad" "${rules[@]}"
if wait "$pid"; then die "a bad line went unnoticed"; fi
[ ! -e "$work/out-bad/_SUCCESS" ] || die "a bad line, and an output that looks whole"
grep -q "tcompact ended with 7" "$work/bad.log" || die "the job failed for another reason: $(tail -n 5 "$work/bad.log")"
submit "$work/passed.log" lines "$work/bad/*.jsonl" "$work/out-passed" "${rules[@]}" --on-error passthrough
wait "$pid" || die "--on-error passthrough failed"
cat "$work"/bad/*.jsonl | "$binary" --quiet --lines conversations "${rules[@]}" --on-error passthrough 2>/dev/null |
  cmp - <(cat "$work"/out-passed/part-*) || die "passthrough: not what the single run wrote"
say "a bad line: the job fails; with --on-error passthrough it is as in the single run"
echo "passed"
