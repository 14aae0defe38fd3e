// The plugin in opencode itself, over its server, with a stand-in for the model.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { HERE, assertArchive, assertFound, folder, installed } from "./help.mjs";
import { FACT, startModel } from "./model.mjs";

const home = installed("opencode", `opencode-${process.platform}-${process.arch}`);
const skip = home ? false : `opencode-${process.platform}-${process.arch} is not installed`;

// Asks in one session. Returns the requests behind each question, and what the plugin wrote into the log.
async function session(context, questions) {
  const place = folder(context), project = join(place, "project");
  const model = await startModel({ name: "bash", input: { description: "Run" } });
  context.after(() => model.stop());
  mkdirSync(join(place, ".config/opencode/plugin"), { recursive: true });
  mkdirSync(project);
  // A tenth of the sizes.
  const plugin = readFileSync(join(HERE, "opencode/tcompact.js"), "utf8").replace("tokens:100k", "tokens:10k").replace("tokens:20k", "tokens:2k");
  writeFileSync(join(place, ".config/opencode/plugin/tcompact.js"), plugin);
  const models = { "stand-in": { limit: { context: 1_000_000, output: 4096 } } };
  const local = { npm: "@ai-sdk/anthropic", options: { baseURL: `${model.url}/v1`, apiKey: "none" }, models };
  const config = { model: "local/stand-in", small_model: "local/stand-in", permission: "allow", share: "disabled", provider: { local } };
  const env = {
    ...process.env, HOME: place, PWD: project, OPENCODE_CONFIG_CONTENT: JSON.stringify(config),
    OPENCODE_DISABLE_MODELS_FETCH: "1", OPENCODE_DISABLE_AUTOUPDATE: "1",
    XDG_CONFIG_HOME: "", XDG_DATA_HOME: "", XDG_CACHE_HOME: "", XDG_STATE_HOME: "",
  };
  const server = spawn(join(home, "bin/opencode"), ["serve", "--port", "0", "--print-logs"], { cwd: project, env });
  context.after(() => server.kill("SIGKILL"));
  let log = "";
  server.stderr.setEncoding("utf8").on("data", (text) => (log += text));
  const url = await new Promise((resolve, reject) => {
    server.stdout.setEncoding("utf8").on("data", (text) => /http:\S+/.test(text) && resolve(/http:\S+/.exec(text)[0]));
    server.on("close", (code) => reject(new Error(`exit code ${code}: ${log}`)));
  });
  const post = async (where, body) => {
    const response = await fetch(url + where, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
    assert.ok(response.ok, `${where}: ${await response.clone().text()}`);
    return response.json();
  };
  const { id } = await post("/session", { title: "A title" });
  const behind = [];
  for (const question of questions) {
    const before = model.requests.length;
    await post(`/session/${id}/message`, { parts: [{ type: "text", text: question }] });
    behind.push(model.requests.slice(before).filter(({ tools }) => tools?.length > 0).map(({ messages }) => messages));
  }
  const lines = log.split("\n").filter((line) => line.includes("tcompact: "));
  return { behind, lines, requests: model.requests, home: place };
}
const words = (message) => [message.content].flat().map(({ text }) => text ?? "").join("\n");
const ask = (count) => `Question ${count}: never touch migrations/${count}. ${"The parser keeps line numbers, whatever the input is. ".repeat(220)}`;
const SUMMARY = /^Here is a summary of the conversation to date:\n\n<summary>\n[^]*<\/summary>\n\n\(/;

test("tcompact shortens what a model is sent, and requests between two cuts begin alike", { skip }, async (context) => {
  const questions = [...[1, 2, 3, 4, 5, 6, 7].map((count) => ask(count)), "Question: which port is it?"];
  const { behind, lines, requests, home } = await session(context, questions);
  assert.deepEqual(lines, []);
  const first = behind.flat().map((messages) => words(messages[0]));
  const cuts = new Set(first.filter((text) => SUMMARY.test(text)));
  assert.ok(cuts.size >= 2 && cuts.size <= 3, `${cuts.size} summaries`);
  assert.ok(first.lastIndexOf([...cuts][0]) > first.indexOf([...cuts][0]), "a cut holds for several requests");
  for (const messages of behind.flat()) {
    assert.ok(JSON.stringify(messages).length < 4 * 17_000, "no request is much longer than the trigger");
    assert.match(JSON.stringify(messages), /migrations\/1/);
    const ids = (kind, key) => messages.flatMap(({ content }) => [content].flat()).filter(({ type }) => type === kind).map((part) => part[key]);
    assert.deepEqual(ids("tool_use", "id"), ids("tool_result", "tool_use_id"));
  }
  assert.equal(words(behind.at(-1).at(-1)[0]).split("<summary>").length, 2, "the first summary is carried on, not quoted");
  assertArchive(home, "opencode", cuts.size);
  assertFound(requests, FACT);
});
