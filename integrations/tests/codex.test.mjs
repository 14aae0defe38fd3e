// The hooks of `claude-code-hooks` in Codex itself, with a stand-in for the model. Codex is large: `run-tests` does not
// install it by itself.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import http from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";

import { HERE, folder, installed, standIn } from "./help.mjs";

const home = installed("codex", `@openai/codex-${process.platform}-${process.arch}`);
const skip = home ? false : "@openai/codex is not installed";

// OpenAI's Responses API. The third answer is said to have filled the window.
async function startModel(context) {
  const requests = [];
  const server = http.createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    if (!request.url.endsWith("/responses")) return response.writeHead(404).end("{}");
    const count = requests.push(JSON.parse(text).input), tokens = count === 3 ? 60_000 : 500;
    const content = [{ type: "output_text", text: `Answer ${count}.`, annotations: [] }];
    const item = { id: `msg_${count}`, type: "message", role: "assistant", status: "completed", content };
    const usage = { input_tokens: tokens, input_tokens_details: null, output_tokens: 9, output_tokens_details: null, total_tokens: tokens + 9 };
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const event of [
      { type: "response.created", response: { id: `resp_${count}` } },
      { type: "response.output_item.done", output_index: 0, item },
      { type: "response.completed", response: { id: `resp_${count}`, output: [item], usage } },
    ]) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    response.end();
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  context.after(() => { server.closeAllConnections(); server.close(); });
  return { requests, url: `http://127.0.0.1:${server.address().port}/v1` };
}

// Asks four questions; Codex compacts before the last. Returns what the model was sent with the last.
async function lastRequest(context, path) {
  const place = folder(context), { requests, url } = await startModel(context);
  const hook = `command = ${JSON.stringify(join(HERE, "claude-code-hooks/give-back"))}`;
  writeFileSync(join(place, "config.toml"), `
model = "stand-in"
model_provider = "local"
model_auto_compact_token_limit = 50000
model_context_window = 100000
model_providers.local = { name = "local", base_url = "${url}", wire_api = "responses" }
[[hooks.PreCompact]]
[[hooks.PreCompact.hooks]]
type = "command"
${hook}
[[hooks.SessionStart]]
matcher = "compact"
[[hooks.SessionStart.hooks]]
type = "command"
${hook}
`);
  mkdirSync(join(place, "project"));
  const [vendor] = readdirSync(join(home, "vendor"));
  const options = { cwd: join(place, "project"), env: { ...process.env, PATH: path, HOME: place, CODEX_HOME: place }, timeout: 60_000 };
  for (const count of [1, 2, 3, 4]) {
    const flags = ["exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust", ...(count > 1 ? ["resume", "--last"] : [])];
    const question = `Question ${count}: never touch migrations/${count}. ${"The parser keeps line numbers. ".repeat(30 * count)}`;
    const run = promisify(execFile)(join(home, "vendor", vendor, "bin/codex"), [...flags, question], options);
    run.child.stdin.end();
    await run;
  }
  assert.equal(requests.length, 5, "four questions and Codex's own summary");
  return JSON.stringify(requests.at(-1));
}

test("Codex has the digest after its own compaction", { skip }, async (context) => {
  const sent = await lastRequest(context, process.env.PATH);
  assert.match(sent, /What was said and done before the compaction[^]*\] Question 1: never touch migrations\/1/);
});

test("Codex goes on where tcompact is not on the path", { skip }, async (context) => {
  const { path } = standIn(join(folder(context), "bin"));
  assert.doesNotMatch(await lastRequest(context, path), /What was said and done/);
});
