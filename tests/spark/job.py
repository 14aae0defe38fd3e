"""Compacts a data set of conversations with Apache Spark: each partition goes through one run of tcompact.

  spark-submit --files tcompact job.py lines   'IN/*.jsonl' OUT [RULES]
  spark-submit --files tcompact job.py parquet IN           OUT [RULES]

`lines` reads text files with a conversation a line; part N of OUT holds the lines of partition N, in order. `parquet`
reads the string columns `id` and `conversation`. RULES are flags of tcompact.
"""
import subprocess
import sys
import threading
from collections import deque

from pyspark import SparkFiles
from pyspark.sql import SparkSession


def compact(rows, rules):
    """Pipes (key, conversation) pairs through tcompact as they come, and yields the same keys with what came of them."""
    # `--files` puts the binary on every worker. One job, since Spark has a task for each core already.
    command = [SparkFiles.get("tcompact"), "--quiet", "--jobs", "1", "--lines", "conversations", *rules]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    keys, failures = deque(), []

    def feed():
        try:
            with process.stdin as pipe:
                for key, line in rows:
                    if "\n" in line:
                        raise ValueError(f"{key}: a conversation must be on one line")
                    keys.append(key)
                    pipe.write(line.encode() + b"\n")
        except BrokenPipeError:
            pass  # it has ended before its input; its exit code says why
        except BaseException as error:  # raised below: half a partition must not pass for a whole one
            failures.append(error)

    feeder = threading.Thread(target=feed, daemon=True)
    feeder.start()
    try:
        for line in process.stdout:
            yield keys.popleft(), line.decode().removesuffix("\n")
        feeder.join()
        if failures:
            raise failures[0]
        if process.wait() != 0 or keys:
            raise RuntimeError(f"tcompact ended with {process.returncode}, {len(keys)} lines unanswered")
    finally:
        process.kill()  # where Spark wants no more of the partition, or one of the above was raised
        process.wait()


def main(kind, source, target, *rules):
    spark = SparkSession.builder.appName("tcompact").getOrCreate()
    if kind == "lines":
        lines = spark.sparkContext.textFile(source)
        lines.mapPartitions(
            lambda part: (line for _, line in compact(((None, line) for line in part), rules))
        ).saveAsTextFile(target)
    elif kind == "parquet":
        rows = spark.read.parquet(source).select("id", "conversation").rdd
        done = rows.mapPartitions(lambda part: compact(part, rules))
        spark.createDataFrame(done, "id string, conversation string").write.parquet(target)
    else:
        sys.exit(f"{kind}: neither lines nor parquet")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
