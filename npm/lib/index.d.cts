/** A size: `messages:20`, `tokens:8k`, `fraction:0.5`, `steps:20`, `turns:3` or `bytes:1m`. */
export type Size = string;

/**
 * The long names of the program's flags, in camel case: `contextWindow` is `--context-window`. A list stands for a flag
 * that repeats, true for a bare flag, an object for JSON.
 */
export interface Flags {
  /** The format of the messages, where they could be of several. */
  from?: string;
  /** The model that will read the result. */
  for?: string;
  contextWindow?: number;
  counter?: string;
  /** A command that counts: each text as a JSON string on a line of its input, the number on a line of its output. */
  counterCmd?: string;
  [flag: string]: unknown;
}

export interface Rules extends Flags {
  /** How much of the end stays, `messages:20` if not given; or `none`. */
  keep?: Size;
  /** When to compact: all sizes of one item, separated by commas, or those of another. */
  trigger?: Size | readonly Size[];
  /** How large the result may be. */
  fit?: Size;
  /** What to remove before anything is summarized. */
  prune?: string | readonly string[];
  /** Who summarizes: `PROVIDER:MODEL`, `none`, or by default the embedded summarizer. */
  model?: string;
  /** Gets the prompt and returns the summary. */
  summarizer?: (prompt: string) => string | Promise<string>;
  preset?: string;
  /** What the next work is about. */
  focus?: string;
  /** A file that keeps what is cut away; `search` and `show` read one that ends in `.jsonl`, also with `.gz` or `.zst`. */
  archive?: string;
}

/** Tokens are counted as `counter` says, by default estimated. */
export interface Compaction<T> {
  messages: T;
  /** The text of the summary, without the words around it; null where nothing was summarized. */
  summary: string | null;
  /** The index of the first message that was not summarized; 0 where nothing was. */
  cutoff: number;
  status: "compacted" | "unchanged";
  tokensBefore: number;
  tokensAfter: number;
  /** All that `--report` says. */
  report: Record<string, unknown>;
}

/** The keys of `--dry-run --json`. */
export interface Plan {
  source: string;
  format: string;
  counter: string;
  messages: number;
  tokens: number;
  context_window: number | null;
  triggered: boolean;
  fired: string | null;
  wanted_cutoff: number;
  cutoff: number;
  moved_because: string | null;
  reason?: string;
  pinned: number[];
  prune: Record<string, { messages: number; tokens: number }>;
  summarize: Part;
  middle: Part;
  keep: Part;
  [key: string]: unknown;
}

/** The messages from an index to another, which is not in it. */
export interface Part {
  from: number;
  to: number;
  tokens: number;
}

/** A breach of the provider's rules for calls and results. */
export interface Violation {
  index: number;
  message: string;
}

/** A message that `search` found. */
export interface Found {
  /** The file. */
  source: string;
  /** The conversation, in a file with one on each line. */
  line?: number;
  /** Where the message is, as `show` takes it. */
  index: string;
  role: string;
  tool: string | null;
  /** The lines that match, and those around them. */
  lines: { number: number; text: string; match: boolean }[];
}

/** The program failed. The message is the program's own sentence. */
export class TcompactError extends Error {
  /** The program's exit code, or null where it did not run to its end. */
  readonly exitCode: number | null;
  /** What its `try:` line suggests, or null. */
  readonly hint: string | null;
  constructor(message: string, details?: { exitCode?: number | null; hint?: string | null });
}

/**
 * Compacts messages, or an object around them. A message that stays is the object that was given. Rejects with a
 * TcompactError: 1, no transcript; 2, a wrong option; 4, the summarizer failed (`cause` is what it threw); 5, the summary
 * was refused, or `fit` cannot be reached.
 */
export function compact<M>(messages: readonly M[], rules?: Rules): Promise<Compaction<M[]>>;
export function compact<T extends object>(conversation: T, rules?: Rules): Promise<Compaction<T>>;

/** Returns what `compact` would do. Asks no model and writes nothing. */
export function plan(messages: object, rules?: Rules): Promise<Plan>;

/** Returns each violation of the provider's rules for calls, results and turns. */
export function check(messages: object, flags?: Flags): Promise<Violation[]>;

/** Returns the messages with all violations mended: calls without a result are removed, or get one that says so. */
export function repair<M>(messages: readonly M[], how?: "drop" | "synthesize", flags?: Flags): Promise<M[]>;
export function repair<T extends object>(conversation: T, how?: "drop" | "synthesize", flags?: Flags): Promise<T>;

/**
 * Returns the messages of archives and transcripts whose text matches a regular expression, the newest first; of more
 * than `limit`, 20 if not given, a warning tells. Of a RegExp, the program gets the source, and the flags i, m and s; in
 * either, `^` and `$` stand for a line, and there is no lookaround.
 */
export function search(
  pattern: string | RegExp,
  files: string | readonly string[],
  options?: Flags & { limit?: number },
): Promise<Found[]>;

/**
 * Returns messages of a transcript or an archive as they were: `17`, `"2:17"`, `"3-9,12"`, or a list of these. The second
 * index of a range is not in it. With `archive`, they are those that were cut from `file`.
 */
export function show(
  file: string,
  indices: number | string | readonly (number | string)[],
  options?: Flags & { archive?: string },
): Promise<unknown[]>;
