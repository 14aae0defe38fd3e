// An extension of pi: tcompact writes the summary of a compaction. Put this file into ~/.pi/agent/extensions/.
import { spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

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
      else reject(Object.assign(new Error(errors || (code === null ? "killed, or timed out" : `exit code ${code}`)), { code }));
    });
    // A child that ended before it read everything says why by its exit code.
    child.stdin.on("error", () => {});
    child.stdin.end(input);
  });
}

// Where what is cut away from a session stays: the summary says how to find it there.
function archiveOf(session: string): string | undefined {
  if (process.env.TCOMPACT_NO_ARCHIVE) return undefined;
  const state = process.env.XDG_STATE_HOME ?? "";
  const folder = join(isAbsolute(state) ? state : join(homedir(), ".local/state"), "tcompact/pi");
  return join(folder, `${session.replace(/[^\w-]/g, "_")}.jsonl`);
}

// As `tcompact`, with an archive that only you can read. Where it cannot be written, goes on without, and says why.
async function archived(input: string, flags: string[], signal: AbortSignal, archive: string, warn: (why: string) => void) {
  try {
    mkdirSync(dirname(archive), { recursive: true, mode: 0o700 });
    chmodSync(dirname(archive), 0o700);
    const output = await tcompact(input, [...flags, "--archive", archive], signal);
    if (existsSync(archive)) chmodSync(archive, 0o600);
    return output;
  } catch (error) {
    const { code, syscall } = error as { code?: unknown; syscall?: string };
    if (code !== 1 && syscall !== "mkdir" && syscall !== "chmod") throw error;
    const output = await tcompact(input, flags, signal);
    warn(`${reasonOf(error).replace(/; --archive .*/, "")}; it goes on without an archive`);
    return output;
  }
}

// Why tcompact failed, in one line, with what to do where it is missing or too old.
function reasonOf(error: unknown): string {
  const { code, message } = error as { code?: unknown; message: string };
  const why = String(message).trim().split("\n")[0].replace(/^tcompact: /, "");
  if (code === "ENOENT") return "the program tcompact is not on your path";
  return /^(there is no flag|invalid value)/.test(why) ? `${why}; update tcompact, or correct FLAGS` : why;
}

export default function (pi: ExtensionAPI) {
  pi.on("session_before_compact", async (event, ctx) => {
    const warn = (line: string) => ctx.ui.notify(`tcompact: ${line}`, "warning");
    const { convertToLlm } = await import("@earendil-works/pi-coding-agent").catch(() => ({ convertToLlm: undefined }));
    // An older pi has another name, or other events.
    if (!convertToLlm || !event.preparation?.messagesToSummarize || !event.preparation.turnPrefixMessages || !event.signal) {
      return warn("this pi is too old, and 1.3.0 or later is needed; pi compacts the session itself");
    }
    const { messagesToSummarize, turnPrefixMessages, previousSummary, firstKeptEntryId, tokensBefore } = event.preparation;
    const messages = convertToLlm([...messagesToSummarize, ...turnPrefixMessages]);
    // A session as pi writes it. In this form, tcompact carries an earlier summary of pi's own on.
    const earlier = previousSummary?.includes("<summary>\n") ? previousSummary
      : `Here is a summary of the conversation to date:\n\n<summary>\n${previousSummary}\n</summary>`;
    const history: object[] = previousSummary ? [{ role: "user", content: earlier }, ...messages] : messages;
    const lines = history.map((message) => ({ type: "message", message }));
    const session = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
    try {
      const flags = ["--from", "pi", "--keep", "none", "--emit", "summary", "--json", ...FLAGS];
      // What the user typed behind `/compact`.
      if (event.customInstructions?.trim()) flags.push(`--focus=${event.customInstructions.trim()}`);
      const archive = archiveOf(ctx.sessionManager.getSessionId());
      const output = await (archive ? archived(session, flags, event.signal, archive, warn) : tcompact(session, flags, event.signal));
      const summary = JSON.parse(output)?.message;
      if (!summary) throw new Error("an empty summary");
      return { compaction: { summary, firstKeptEntryId, tokensBefore } };
    } catch (error) {
      if (event.signal.aborted) return;
      warn(`${reasonOf(error)}; pi compacts the session itself`);
    }
  });
}
