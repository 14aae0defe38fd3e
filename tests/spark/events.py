"""What Spark's event log says of a job one of whose workers was killed; fails unless tasks were lost and done again.

  events.py LOG
"""
import json
import sys
from collections import Counter, defaultdict

ends, attempts, lost_executors, workers = Counter(), defaultdict(list), [], set()
with open(sys.argv[1]) as log:
    for line in log:
        event = json.loads(line)
        kind = event["Event"]
        if kind == "SparkListenerTaskEnd":
            reason = event["Task End Reason"]["Reason"]
            ends[reason] += 1
            attempts[event["Stage ID"], event["Task Info"]["Index"]].append(reason)
        elif kind == "SparkListenerExecutorAdded":
            workers.add(event["Executor ID"])
        elif kind == "SparkListenerExecutorRemoved":
            lost_executors.append(event["Executor ID"])

again = [tried for tried in attempts.values() if "ExecutorLostFailure" in tried and tried[-1] == "Success"]
print(f"  {len(attempts)} tasks on {len(workers)} executors; ends: {dict(ends)}; "
      f"executors lost: {len(lost_executors)}; tasks lost with one and done again: {len(again)}")
sys.exit(not (again and lost_executors and all("Success" in tried for tried in attempts.values())))
