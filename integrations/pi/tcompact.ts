// An extension of pi: tcompact writes the summary of a compaction. Put this file into ~/.pi/agent/extensions/.
import { spawn } from "node:child_process";
import { homedir } from "node:os";
import { convertToLlm, type ExtensionAPI } from "@earendil-works/pi-coding-agent";

// How long the summary may be. Other settings come from tcompact's config file. pi chooses what stays unchanged.
const FLAGS = ["--summary-tokens", "3072"];
const TIMEOUT_MS = 120_000;

// Returns what tcompact prints for `input`.
function tcompact(input: string, flags: string[], signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    // Not in the project's directory: it can hold a program of this name, and PATH or Windows can look there.
    const child = spawn("tcompact", flags, { cwd: homedir(), signal, timeout: TIMEOUT_MS });
    let output = "", errors = "";
    child.stdout.setEncoding("utf8").on("data", (text) => (output += text));
    child.stderr.setEncoding("utf8").on("data", (text) => (errors += text));
    child.on("error", reject);
    child.on("close", (code) => {
      if (code === 0) resolve(output);
      else reject(new Error(errors || (code === null ? "killed, or timed out" : `exit code ${code}`)));
    });
    // A child that ended before it read everything says why by its exit code.
    child.stdin.on("error", () => {});
    child.stdin.end(input);
  });
}

export default function (pi: ExtensionAPI) {
  pi.on("session_before_compact", async (event, ctx) => {
    // Only a model can follow the words behind `/compact`.
    if (event.customInstructions) return;
    const { messagesToSummarize, turnPrefixMessages, previousSummary, firstKeptEntryId, tokensBefore } = event.preparation;
    const messages = convertToLlm([...messagesToSummarize, ...turnPrefixMessages]);
    // A session as pi writes it. In this form, tcompact carries the earlier summary on.
    const earlier = `Here is a summary of the conversation to date:\n\n<summary>\n${previousSummary}\n</summary>`;
    const history: object[] = previousSummary ? [{ role: "user", content: earlier }, ...messages] : messages;
    const lines = history.map((message) => ({ type: "message", message }));
    const session = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
    try {
      const flags = ["--from", "pi", "--keep", "none", "--emit", "summary", "--json", ...FLAGS];
      const summary = JSON.parse(await tcompact(session, flags, event.signal))?.text;
      if (!summary) throw new Error("an empty summary");
      return { compaction: { summary, firstKeptEntryId, tokensBefore } };
    } catch (error) {
      if (event.signal.aborted) return;
      const reason = String((error as Error).message).trim().split("\n")[0].replace(/^tcompact: /, "");
      ctx.ui.notify(`tcompact: ${reason}; pi compacts the session itself`, "warning");
    }
  });
}
