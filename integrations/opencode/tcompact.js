// A plugin of opencode: before each request to a model, what is too long is shortened. Put this file into
// ~/.config/opencode/plugin/. The session itself stays whole.
import { spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";

// When to cut, what stays unchanged, and how long the summary may be. Other settings come from tcompact's config file.
const FLAGS = ["--trigger", "tokens:100k", "--keep", "tokens:20k", "--summary-tokens", "3072"];
const TIMEOUT_MS = 120_000;

/** @type {import("@opencode-ai/plugin").Plugin} */
export const Tcompact = async ({ client }) => {
  /** The last cut of each session: the messages it replaces, by their ids, its summary and its archive. @type {Map<string, {ids: string[], text: string, archive?: string}>} */
  const cuts = new Map();
  /** The question of each session during which tcompact failed: it is not asked again before the next one. @type {Map<string, string>} */
  const failures = new Map();
  /** The sessions whose archive could not be written: the user is told so once. @type {Set<string>} */
  const unarchived = new Set();
  const warn = async (line) => {
    const message = `tcompact: ${line}`;
    await client.app.log({ body: { service: "tcompact", level: "warn", message } });
    await client.tui.showToast({ body: { message, variant: "warning" } });
  };
  /** Whether the hook below was called. Some versions of opencode never do, and the user is told so once. */
  let isCalled = false;
  return {
    event: async ({ event }) => {
      const info = event.type === "message.updated" ? event.properties.info : undefined;
      const isAnswer = info?.role === "assistant" && info.tokens?.output > 0;
      if (isCalled || !isAnswer) return;
      isCalled = true;
      await warn("this opencode shows its plugins no messages, and nothing is shortened; opencode 1.18.33 does");
    },
    "experimental.chat.messages.transform": async (_input, { messages }) => {
      isCalled = true;
      const question = messages.findLast(({ info }) => info.role === "user")?.info;
      if (!question) return;
      const session = question.sessionID;
      const known = cuts.get(session);
      // Requests between two cuts begin with the same bytes, so that the provider's cache keeps its worth.
      const stands = known?.ids.every((id, index) => messages[index]?.info.id === id) && messages.length > known.ids.length;
      const ids = stands ? known.ids : [];
      if (stands) replace(messages, ids.length, known.text);
      if (failures.get(session) === question.id) return;
      try {
        const { history, sources } = chat(messages);
        const place = unarchived.has(session) ? undefined : stands ? known.archive : archiveOf(session, question.id);
        const { output, archive, why } = await archived(JSON.stringify(history), place);
        if (why) {
          unarchived.add(session);
          await warn(`${why}; it goes on without an archive`);
        }
        const summary = JSON.parse(output);
        if (summary === null) return; // No trigger is reached.
        const start = sources[summary.cutoff];
        if (!summary.message || !start) throw new Error("an answer without a summary");
        const text = summary.message;
        const replaced = messages.slice(stands ? 1 : 0, start).map(({ info }) => info.id);
        cuts.set(session, { ids: [...ids, ...replaced], text, archive });
        replace(messages, start, text);
      } catch (error) {
        failures.set(session, question.id);
        await warn(`${reasonOf(error)}; opencode compacts the session itself`);
      }
    },
  };
};

/**
 * A file for what is cut away: the summary says how to find it there. A session that is cut from its first message again,
 * as after a start of opencode, has a new one, so that no place in it means two messages.
 */
function archiveOf(session, question) {
  if (process.env.TCOMPACT_NO_ARCHIVE) return undefined;
  const state = process.env.XDG_STATE_HOME ?? "";
  const folder = join(isAbsolute(state) ? state : join(homedir(), ".local/state"), "tcompact/opencode");
  return join(folder, `${session}.${question}.jsonl`.replace(/[^\w.-]/g, "_"));
}

/** What tcompact prints, with an archive that only you can read; where that cannot be written, without it, and why. */
async function archived(input, archive) {
  const flags = ["--from", "openai-chat", "--emit", "summary", "--json", ...FLAGS];
  if (!archive) return { output: await tcompact(input, flags) };
  try {
    mkdirSync(dirname(archive), { recursive: true, mode: 0o700 });
    chmodSync(dirname(archive), 0o700);
    const output = await tcompact(input, [...flags, "--archive", archive]);
    if (existsSync(archive)) chmodSync(archive, 0o600);
    return { output, archive };
  } catch (error) {
    if (error.code !== 1 && error.syscall !== "mkdir" && error.syscall !== "chmod") throw error;
    return { output: await tcompact(input, flags), why: reasonOf(error).replace(/; --archive .*/, "") };
  }
}

/** Why tcompact failed, in one line, with what to do where it is missing or too old. */
function reasonOf(error) {
  const [line] = String(error.message).trim().split("\n"), why = line.replace(/^tcompact: /, "");
  if (error.code === "ENOENT") return "the program tcompact is not on your path";
  return /^(there is no flag|invalid value)/.test(why) ? `${why}; update tcompact, or correct FLAGS` : why;
}

/** Puts `text` in the place of the first `count` messages. opencode reads the array that it handed over. */
function replace(messages, count, text) {
  const { info } = messages.slice(0, count).find(({ info }) => info.role === "user") ?? messages.find(({ info }) => info.role === "user");
  const part = { id: `prt_tcompact_${info.id}`, sessionID: info.sessionID, messageID: info.id, type: "text", text, synthetic: true };
  messages.splice(0, count, { info, parts: [part] });
}

/** Messages of OpenAI's chat, and for each of them the index of the message that it comes from. */
function chat(messages) {
  const history = [], sources = [];
  messages.forEach(({ info, parts }, index) => {
    const put = (entry) => { history.push(entry); sources.push(index); };
    const words = parts.flatMap((part) => part.type === "text" && !part.ignored ? [part.text]
      : part.type === "file" ? [`[${part.mime}: ${part.filename ?? "a file"}]`] : []);
    const tools = parts.filter(({ type }) => type === "tool");
    const calls = tools.map(({ callID, tool, state }) => ({
      id: callID, type: "function", function: { name: tool, arguments: JSON.stringify(state.input ?? {}) },
    }));
    const content = words.join("\n");
    if (content || calls.length > 0) put({ role: info.role, content, ...(calls.length > 0 && { tool_calls: calls }) });
    for (const { callID, state } of tools) {
      const output = state.status === "error" ? `Error: ${state.error}` : state.output ?? "[no result]";
      put({ role: "tool", tool_call_id: callID, content: state.time?.compacted ? "[removed by opencode]" : output });
    }
  });
  return { history, sources };
}

/** What tcompact prints for `input`. */
function tcompact(input, flags) {
  return new Promise((resolve, reject) => {
    // Not in the project's directory: it can hold a program of this name, and PATH or Windows can look there.
    const child = spawn("tcompact", flags, { cwd: homedir(), timeout: TIMEOUT_MS });
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
