import {
  check,
  compact,
  plan,
  repair,
  search,
  show,
  TcompactError,
  type Compaction,
  type Found,
  type Plan,
  type Rules,
  type Violation,
} from "tcompact";

interface Message {
  role: "user" | "assistant";
  content: string;
}

export async function use(messages: readonly Message[]): Promise<void> {
  const rules: Rules = {
    keep: "messages:5",
    trigger: ["tokens:8k", "messages:50"],
    contextWindow: 128_000,
    redact: true,
    focus: "the reader",
    archive: "cut.jsonl",
  };
  const short: Compaction<Message[]> = await compact(messages, rules);
  const first: Message | undefined = short.messages[0];
  const summary: string | null = short.summary;
  const status: "compacted" | "unchanged" = short.status;
  const figures: number[] = [short.cutoff, short.tokensBefore, short.tokensAfter];
  const around: Compaction<{ messages: Message[]; model: string }> = await compact({
    messages: [...messages],
    model: "a",
  });
  await compact(messages, { summarizer: (prompt) => prompt.slice(1) });
  await compact(messages, { summarizer: async (prompt) => prompt.slice(1), onError: "extractive" });
  const planned: Plan = await plan(messages, rules);
  const cut: number = planned.cutoff + planned.keep.to;
  const found: Violation[] = await check(messages, { from: "openai-chat" });
  const mended: Message[] = await repair(messages, "synthesize", { from: "openai-chat" });
  const hits: Found[] = await search("(?i)port", "cut.jsonl", { limit: 5 });
  const shown: unknown[] = await show("cut.jsonl", hits[0]?.index ?? [1, "3-9"], { archive: "cut.jsonl" });
  await search("a", ["cut.jsonl", "chat.json"]);
  await search(/a/i, "cut.jsonl");
  // @ts-expect-error: where to search
  await search("a");
  // @ts-expect-error: a function returns a text
  await compact(messages, { summarizer: () => 7 });
  // @ts-expect-error: one of two
  await repair(messages, "other");
  // @ts-expect-error: a size is a text
  await compact(messages, { keep: 5 });
  // @ts-expect-error: not a list of messages
  await compact("text");
  try {
    await compact(messages);
  } catch (error) {
    if (error instanceof TcompactError)
      console.log(error.exitCode?.toFixed(), error.hint?.length, error.cause, error.message);
  }
  console.log(
    first?.content,
    summary?.length,
    status,
    figures,
    around.messages.model,
    cut,
    found[0]?.index,
    mended.length,
    hits[0]?.lines[0]?.text,
    shown.length,
  );
}
