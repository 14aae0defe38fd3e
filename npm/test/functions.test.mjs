import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import test from "node:test";
import vm from "node:vm";
import { check, compact, plan, repair, search, show } from "../lib/index.mjs";
import { NOTES, conversation, folderOf, withVariables } from "./common.mjs";

const messages = conversation(12);

function holds(compaction, text) {
  return JSON.stringify(compaction.messages).includes(JSON.stringify(text).slice(1, -1));
}

test("compact keeps the objects that stay and puts one summary in the place of the others", async () => {
  const short = await compact(messages, { keep: "messages:5" });
  assert.equal(short.status, "compacted");
  assert.equal(short.cutoff, messages.indexOf(short.messages[2]));
  assert.deepEqual(short.messages.length, 2 + messages.length - short.cutoff);
  assert.equal(short.messages[0], messages[0], "the pinned one");
  for (const kept of short.messages.slice(2)) assert.ok(messages.includes(kept));
  assert.ok(short.summary.includes("Question 3") && holds(short, short.summary));
  assert.ok(short.tokensAfter < short.tokensBefore && short.tokensBefore === short.report.tokens);
  assert.equal(short.report.summarize.to, short.cutoff);
});

test("nothing to do leaves everything as it is", async () => {
  for (const [given, rules] of [
    [messages, { keep: "messages:500" }],
    [[], {}],
    [messages, { trigger: ["tokens:9m"] }],
  ]) {
    const same = await compact(given, rules);
    assert.deepEqual(same.messages, given);
    assert.deepEqual([same.status, same.cutoff, same.summary], ["unchanged", 0, null]);
    assert.equal(same.tokensAfter, same.tokensBefore);
  }
});

test("of equal messages the kept ones stay in order, and bytes come back as they were", async () => {
  const said = [
    { role: "user", content: "again" },
    { role: "assistant", content: "yes, again" },
  ];
  const equal = Array.from({ length: 40 }, () => said.map((one) => ({ ...one }))).flat();
  const short = await compact(equal, { keep: "messages:4" });
  assert.deepEqual(
    short.messages.slice(1).map((one) => equal.indexOf(one)),
    [76, 77, 78, 79],
  );

  const image = { type: "image", image: new Uint8Array([1, 2, 3]), mediaType: "image/png" };
  const last = {
    role: "user",
    content: [{ type: "text", text: "Look." }, image, { type: "image", image: new URL("https://a.example/b.png") }],
  };
  const long = [{ role: "user", content: "Which text?" }, { role: "assistant", content: "A long text. ".repeat(400) }];
  const withBytes = [...long, ...said, last];
  const shorter = await compact(withBytes, { from: "ai-sdk", keep: "messages:3" });
  assert.equal(shorter.status, "compacted");
  assert.equal(shorter.messages.at(-1), last);
});

test("an object around the messages keeps its other members", async () => {
  const short = await compact({ model: "gpt-4o", messages, tools: [] }, { keep: "messages:5" });
  assert.deepEqual([short.messages.model, short.messages.tools, short.status], ["gpt-4o", [], "compacted"]);
  assert.ok(short.messages.messages.length < messages.length);
});

test("options are flags: camel case, lists, booleans, objects, nothing", async () => {
  const planned = await plan(messages, {
    contextWindow: 1000,
    trigger: ["tokens:9m", "messages:3"],
    prune: ["reads", "cap:50"],
  });
  assert.deepEqual([planned.context_window, planned.fired], [1000, "messages:3"]);
  assert.ok(planned.prune.cap.messages > 0);
  const secret = "key=sk-proj-" + "a1B2".repeat(12);
  const masked = await compact([{ role: "user", content: secret }, ...messages.slice(1)], {
    keep: "messages:3",
    redact: true,
  });
  assert.ok(!masked.summary.includes(secret));
  const open = await compact([{ role: "user", content: secret }, ...messages.slice(1)], {
    keep: "messages:3",
    redact: false,
    pin: null,
  });
  assert.ok(open.summary.includes(secret));
  await assert.rejects(plan(messages, { requestJson: { model: "x" }, model: "openai:a" }), /model/);
  assert.equal((await compact(messages, { model: "none", prune: "results:2" })).summary, null);
});

test("plan decides as compact does, and asks nobody", async (t) => {
  const folder = folderOf(t);
  const rules = { keep: "tokens:900", cache: path.join(folder, "cache"), summarizer: () => assert.fail("asked") };
  const planned = await plan(messages, rules);
  assert.equal(planned.cutoff, (await compact(messages, { keep: "tokens:900" })).cutoff);
  assert.equal(planned.keep.to, messages.length);
  assert.deepEqual(fs.readdirSync(folder), []);
});

test("check finds what repair mends", async () => {
  const broken = messages.filter((message) => message.tool_call_id !== "c3" && message.tool_calls?.[0].id !== "c5");
  const found = await check(broken);
  assert.deepEqual(
    found.map(({ index }) => [broken[index].tool_calls?.[0].id, broken[index].tool_call_id]),
    [
      ["c3", undefined],
      [undefined, "c5"],
    ],
  );
  assert.match(found[0].message, /^a call \(c3\) without a result/);
  for (const how of ["drop", "synthesize"]) {
    const mended = await repair(broken, how);
    assert.deepEqual(await check(mended), []);
    assert.equal(
      mended.some((one) => one.tool_call_id === "c3"),
      how === "synthesize",
    );
    assert.ok(mended.every((one) => broken.includes(one) || ["assistant", "tool"].includes(one.role)));
  }
  assert.deepEqual(await repair(messages), messages);
  // Settings for compactions do not reach it.
  await withVariables({ TCOMPACT_FIT: "tokens:50", TCOMPACT_KEEP: "messages:1" }, async () => {
    assert.deepEqual(await repair(messages), messages);
  });
});

test("a summarizer is called with the prompt, and its answer is the summary", async () => {
  const prompts = [];
  const summarizer = async (prompt) => (prompts.push(prompt), `${NOTES} 總結 🙂\u2028`);
  const short = await compact(messages, { keep: "messages:5", summarizer, ledger: "off" });
  assert.equal(prompts.length, 1, "also where the summary's text is looked up");
  assert.ok(prompts[0].includes("Question 2: what does file 2 say? 檔案 🙂"));
  assert.equal(short.summary, `${NOTES} 總結 🙂`);
  assert.ok(holds(short, short.summary));
  const many = await Promise.all(
    [1, 2, 3, 4].map((n) =>
      compact(messages, { keep: "messages:5", ledger: "off", summarizer: () => `${NOTES} ${n}` }),
    ),
  );
  assert.deepEqual(
    many.map((one) => one.summary),
    [1, 2, 3, 4].map((n) => `${NOTES} ${n}`),
  );
});

test("a cache finds the summary of a function by its name", async (t) => {
  let asked = 0;
  const known = () => `${NOTES} ${(asked += 1)}`;
  const cache = folderOf(t);
  for (const _ of [1, 2]) {
    const short = await compact(messages, { keep: "messages:5", ledger: "off", cache, summarizer: known });
    assert.equal(short.summary, `${NOTES} 1`);
  }
  assert.equal(asked, 1);
});

test("an archive is written once, and the summary is the one that names it", async (t) => {
  const [folder, before] = [folderOf(t), process.cwd()];
  process.chdir(folder);
  t.after(() => process.chdir(before));
  for (const [archive, more] of [
    ["a.jsonl", {}],
    [path.resolve(`${"long".repeat(20)}.md`), { fit: "tokens:700" }],
  ]) {
    const short = await compact(messages, { keep: "messages:5", archive, ...more });
    assert.ok(holds(short, short.summary), "the text of the summary stands in the messages");
    assert.equal(fs.readFileSync(archive, "utf8").split("Question 2: what").length, 2, "each message once");
  }
  // A preset chooses an archive itself.
  await compact(messages, { preset: "deepagents", trigger: "messages:9", keep: "messages:5" });
  const [history] = fs.readdirSync("conversation_history");
  assert.equal(fs.readFileSync(path.join("conversation_history", history), "utf8").split("Question 2: what").length, 2);
  assert.equal(fs.readdirSync(folder).length, 3, "nothing else is written");
});

test("a config file counts, and paths in options are those of the caller", async (t) => {
  const [folder, before] = [folderOf(t), process.cwd()];
  process.chdir(folder);
  t.after(() => process.chdir(before));
  fs.writeFileSync("own.toml", 'keep = "messages:5"\nexit-status = true\n');
  fs.writeFileSync("prompt.txt", "Short: {messages}");
  const asked = [];
  const summarizer = (prompt) => (asked.push(prompt), NOTES);
  const short = await compact(messages, {
    config: "own.toml",
    promptFile: "prompt.txt",
    cache: "cache",
    ledger: "off",
    summarizer,
  });
  assert.deepEqual([short.summary, asked.length, asked[0].slice(0, 6)], [NOTES, 1, "Short:"]);
  const same = await compact(messages, { config: "own.toml", keep: "messages:500" });
  assert.equal(same.status, "unchanged");
});

test("settings of the environment do not count", async (t) => {
  const folder = folderOf(t);
  const taken = path.join(folder, "taken");
  const values = {
    SUMMARIZER_CMD: `touch '${taken}'; echo taken`,
    MODEL: "openai:taken",
    BASE_URL: "http://127.0.0.1:9",
    CONFIG: taken,
    ARCHIVE: `${taken}.jsonl`,
    CACHE: taken,
    HTML: `${taken}.html`,
    REPORT: taken,
    OUTPUT: taken,
    EMIT: "summary",
    EXIT_STATUS: "true",
    KEEP: "nonsense",
    FIT: "tokens:1",
    PRESET: "deepagents",
    NEW_ONE: "x",
  };
  const plain = await compact(messages, { keep: "messages:5" });
  const variables = Object.fromEntries(Object.entries(values).map(([name, value]) => [`TCOMPACT_${name}`, value]));
  await withVariables({ ...variables, tcompact_keep: "nonsense", OUTPUT: "x" }, async () => {
    const short = await compact(messages, { keep: "messages:5" });
    assert.deepEqual([short.messages, short.summary], [plain.messages, plain.summary]);
    assert.equal((await plan(messages, { keep: "messages:5" })).cutoff, plain.cutoff);
    assert.deepEqual(await check(messages), []);
    assert.deepEqual(await repair(messages), messages);
  });
  assert.deepEqual(fs.readdirSync(folder), []);
});

test("ten megabytes pass through the pipes", async () => {
  const large = conversation(400, 1800);
  assert.ok(JSON.stringify(large).length > 10e6);
  const short = await compact(large, { keep: "messages:1500" });
  assert.equal(short.messages.at(-1), large.at(-1));
  assert.ok(JSON.stringify(short.messages).length > 9e6);
  // The program ends before it has read everything.
  await assert.rejects(compact(large, { keep: "no" }), { exitCode: 2 });
});

test("what was cut is found, and shown as it was", async (t) => {
  const archive = path.join(folderOf(t), "it's cut.jsonl");
  const short = await compact(messages, { keep: "messages:5", archive, focus: "-- the file's $HOME" });
  const found = await search("It says [13]\\.", archive);
  assert.deepEqual(
    found.map(({ index, source, role }) => [index, source, role]),
    ["1:16", "1:8"].map((index) => [index, archive, "assistant"]),
  );
  assert.ok(found[0].lines.some(({ text, match }) => match && text.includes("It says 3.")));
  assert.deepEqual(await show(archive, found[0].index), [messages[16]]);
  assert.deepEqual(await show(archive, [1, "1:3", "5-6"]), [1, 3, 5, 6].map((at) => messages[at]));
  assert.deepEqual(await show(archive, 2), [messages[2]]);
  assert.deepEqual(await search("-- no such words", archive), []);
  await assert.rejects(show(archive, 99), { exitCode: 2, message: /99: / });
  for (const pattern of [/It says [13]\./, /it SAYS [13]\./gi, /^it says [13]\.$/iu, vm.runInNewContext("/it says [13]\\./i")]) {
    assert.deepEqual(await search(pattern, archive), found, String(pattern));
  }
  assert.deepEqual(await search(/it says/, archive), []);
  const warned = new Promise((resolve) => process.once("warning", resolve));
  assert.equal((await search("Question", [archive, archive], { limit: 3 })).length, 3);
  assert.match((await warned).message, /more; to see all: tcompact search --limit=\d+ -- Question /);
  const file = path.join(path.dirname(archive), "short.json");
  fs.writeFileSync(file, JSON.stringify(short.messages));
  assert.deepEqual(await show(file, "1:2", { archive }), [messages[2]]);
  assert.equal((await search("It says 11", file))[0].index, String(short.messages.length - 1));
});
