// Sessions of Claude Code itself, with a stand-in for the model: `/compact` as users type it.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";

import { folder, installed } from "./help.mjs";
import { startModel } from "./model.mjs";

const home = installed("claude-code", `@anthropic-ai/claude-code-${process.platform}-${process.arch}`);
export const claude = home && join(home, "claude");
export const skip = claude ? false : "@anthropic-ai/claude-code is not installed";

export const environment = (place, more) => ({
  ...process.env, HOME: place, CLAUDE_CONFIG_DIR: join(place, ".claude"), CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  DISABLE_AUTOUPDATER: "1", ANTHROPIC_API_KEY: "none", ...more,
});
const RULES = "The parser keeps line numbers, whatever the input is. ".repeat(700);
export const QUESTIONS = [1, 2, 3, 4].map((count) => `Question ${count}: never touch migrations/${count}. ${RULES}`);

// Types the lines, one after the answer to the other; a function makes its line just then. Returns the requests, and for each line the events until its end.
export async function session(context, lines, flags, path = process.env.PATH) {
  const place = folder(context);
  const model = await startModel({ name: "Bash", input: { description: "Run" } });
  context.after(() => model.stop());
  const command = ["-p", "--allowedTools", "Bash", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", ...flags];
  const options = { cwd: place, env: environment(place, { PATH: path, ANTHROPIC_BASE_URL: model.url }) };
  const child = spawn(claude, command, options);
  const events = [[]], left = [...lines];
  const type = () => {
    if (left.length === 0) return child.stdin.end();
    const line = left.shift(), content = typeof line === "function" ? line() : line;
    child.stdin.write(`${JSON.stringify({ type: "user", message: { role: "user", content } })}\n`);
  };
  let rest = "", errors = "";
  child.stderr.on("data", (text) => (errors += text));
  child.stdout.setEncoding("utf8").on("data", (text) => {
    const complete = (rest + text).split("\n");
    rest = complete.pop();
    for (const event of complete.map((line) => JSON.parse(line))) {
      events.at(-1).push({ ...event, requests: model.requests.length });
      if (event.type === "result") { events.push([]); type(); }
    }
  });
  type();
  assert.equal(await new Promise((end) => child.on("close", end)), 0, errors);
  return { requests: model.requests, events, home: place };
}
export const logged = (events) => events.filter(({ subtype }) => subtype === "ui_log").map(({ text }) => text);
export const text = ({ content }) => (typeof content === "string" ? content : content.map((part) => part.text ?? "").join("\n"));
