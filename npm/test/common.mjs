// What the tests share. The program is that of TCOMPACT_BIN.
import { spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

export const npm = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
export const program = process.env.TCOMPACT_BIN;
export const launcher = path.join(npm, "bin/tcompact.cjs");

/** Returns a folder that is gone after the test. */
export function folderOf(t) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tcompact test "));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const letters = "abcdefghijklmnopqrstuvwxyz";

/** Returns a conversation of so many turns, each with a call and its result. */
export function conversation(turns, words = 60) {
  const messages = [{ role: "system", content: "You read files." }];
  for (let turn = 0; turn < turns; turn++) {
    const call = { id: `c${turn}`, type: "function", function: { name: "read", arguments: `{"path":"f${turn}.txt"}` } };
    messages.push(
      // Messages that are equal but for digits would stand once in a summary.
      { role: "user", content: `Question ${turn}: what does file ${turn} say? 檔案 🙂 ${letters[turn % letters.length]}` },
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", tool_call_id: `c${turn}`, content: `line of file ${turn} `.repeat(words) },
      { role: "assistant", content: `It says ${turn}.` },
    );
  }
  return messages;
}

/** Runs a command, and returns its exit code, its signal and what it printed. */
export function ran(command, args, { input = "", started = () => {}, ...options } = {}) {
  const child = spawn(command, args, options);
  const printed = { out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (chunk) => (printed.out += chunk));
  child.stderr.setEncoding("utf8").on("data", (chunk) => (printed.err += chunk));
  child.stdin.on("error", () => {}).end(input);
  started(child);
  return new Promise((resolve, reject) => {
    child.on("error", reject).on("close", (code, signal) => resolve({ code, signal, ...printed }));
  });
}

/** Runs a function with other variables in the environment. */
export async function withVariables(variables, run) {
  const before = { ...process.env };
  for (const [name, value] of Object.entries(variables)) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
  try {
    return await run();
  } finally {
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
    Object.assign(process.env, before);
  }
}

/** A summary; a shorter one is refused for a long history. */
export const NOTES = "They read twelve files, one after the other, in order. Nothing of them is changed yet.";
