/** Shapes of what the server answers; those of a trace come from its schema. */
import type { Attention, Trace } from "./types";

export type Arch = "rnn" | "luong" | "transformer";
export type Kind = "enc_self" | "dec_self" | "cross" | "copy";
export const KINDS: readonly Kind[] = ["enc_self", "dec_self", "cross", "copy"];
/** The kind asked for if the model has it, else cross attention, else any that it has. */
export const kindOf = (asked: string | undefined, kinds: Card["kinds"]): Kind | undefined => [asked, "cross", ...KINDS].map((name) => KINDS.find((kind) => kind === name && kinds[kind])).find(Boolean);
export interface KindSize {
  readonly layers: number;
  readonly heads: number;
  readonly d_head: number;
}
export type Kinds = Partial<Record<Kind, KindSize>>;

export interface Card {
  readonly name: string;
  readonly arch: Arch;
  readonly source_language: string;
  readonly target_language: string;
  readonly parameters: number;
  readonly fingerprint: string;
  readonly max_length: number;
  readonly positions: string | null;
  readonly score?: string | null;
  readonly d_model: number;
  readonly kinds: Kinds;
  readonly decoding: Readonly<Record<string, unknown>>;
  readonly limits: Readonly<Record<string, number>>;
  readonly run: string | null;
  readonly examples: readonly string[];
  /** it reads a question and a context */
  readonly context?: boolean;
  readonly source?: "text" | "image";
  /** what it makes of a picture: a square of `size` pixels in patches of `patch` */
  readonly image?: { readonly size: number; readonly patch: number } | null;
}

export type { Candidate, Fingerprint, Side, Step, Token, Word } from "./types";
export type KindInfo = Attention;
export type Manifest = Omit<Trace, "interventions"> & { readonly interventions: readonly Op[] };
export type HeadLabel = "previous" | "diagonal" | "special" | "sharp" | "broad" | "mixed";
/** One intervention; the fields depend on `op` (mask_head, scale_head, mask_edge, set_row, uniform, no_scale, positions, bridge, force_prefix, ban, require, replace_source). */
export interface Op {
  readonly op: string;
  readonly [field: string]: unknown;
}

export interface TraceRequest {
  readonly model?: string;
  readonly text: string;
  readonly target?: string;
  readonly interventions?: readonly Op[];
  readonly fingerprint?: string;
  readonly [option: string]: unknown;
}

export interface OutToken {
  readonly text: string;
  readonly id: number;
  readonly logprob: number;
}
export interface Alternative {
  readonly text: string;
  readonly score: number;
  readonly score_per_token?: number;
}
export interface Result {
  readonly text: string;
  readonly score: number;
  readonly score_per_token: number;
  readonly finished: boolean;
  readonly tokens: readonly OutToken[];
  readonly alternatives: readonly Alternative[];
  readonly align?: unknown;
}
export interface StreamStart {
  readonly id: string;
  readonly model: string;
  readonly source_tokens: readonly string[];
}
export interface StreamPartial {
  readonly t: number;
  readonly text: string;
  readonly tokens: readonly string[];
  readonly stable: number;
  readonly score: number;
  readonly row?: string;
}
export interface StreamFinal {
  readonly text: string;
  readonly score: number;
  readonly score_per_token?: number;
  readonly alternatives: readonly Alternative[];
  readonly ms: number;
}

export interface BeamNode {
  readonly n: number;
  readonly parent: number | null;
  readonly t: number;
  readonly id: number;
  readonly text: string;
  readonly logprob: number;
  readonly score: number;
  readonly norm: number;
  readonly state: "expanded" | "pruned" | "finished" | "chosen";
  readonly rank?: number;
  readonly beam?: number | null;
}
export interface BeamTree {
  readonly schema: "beam/1";
  readonly beam: number;
  readonly length_penalty: number;
  readonly nodes: readonly BeamNode[];
  readonly chosen: readonly number[];
  readonly stable_prefix: number;
  readonly dropped_candidates?: string;
}
export interface InfluenceUnit {
  readonly text: string;
  readonly tokens: readonly number[];
}
export interface Influence {
  readonly unit: "words" | "pieces";
  readonly replace: "unk" | "drop";
  readonly units: readonly InfluenceUnit[];
  readonly values: readonly (readonly number[])[];
}
export interface DiffPart {
  readonly op: "equal" | "delete" | "insert" | "replace";
  readonly a: readonly [number, number];
  readonly b: readonly [number, number];
}
export interface WhatIfSide {
  readonly id: string;
  readonly text: string;
  readonly score: number;
  readonly tokens: readonly OutToken[];
}
export interface WhatIfAnswer {
  readonly baseline: WhatIfSide;
  readonly edited: WhatIfSide;
  readonly diff: readonly DiffPart[];
  readonly first_divergence: number | null;
  readonly baseline_logprob_under_edit: number;
}
export interface SweepRow {
  readonly kind: Kind;
  readonly layer: number;
  readonly values: readonly number[];
}
export interface SweepFinal {
  readonly baseline_logprob: number;
  readonly kinds: Partial<Record<Kind, readonly (readonly number[])[]>>;
}
export interface CompareResult {
  readonly model: string;
  readonly arch: Arch;
  readonly id: string;
  readonly text: string;
  readonly score: number;
  readonly score_per_token: number;
  readonly chrf: number | null;
  readonly tokens: readonly OutToken[];
  readonly influence: { readonly units: readonly InfluenceUnit[]; readonly values: readonly (readonly number[])[] };
}
export interface CompareAnswer {
  readonly source: { readonly words: readonly string[] };
  readonly pseudo_reference: string | null;
  readonly results: readonly CompareResult[];
  readonly grow: readonly { readonly words: number; readonly source?: string; readonly reference?: string; readonly scores: Readonly<Record<string, { readonly chrf: number; readonly text: string }>> }[];
}
export interface RunCard {
  /** as addresses use it: demo~rnn */
  readonly name: string;
  /** as people read it: demo/rnn */
  readonly title?: string;
  readonly reason?: string | null;
  readonly status: "running" | "completed" | "stopped" | "failed" | "unknown";
  readonly arch: Arch | null;
  readonly step: number | null;
  readonly max_steps: number | null;
  readonly best: { readonly metric: string; readonly value: number; readonly step: number } | null;
  readonly updated: string | number | null;
}
export interface Sample {
  readonly src: string;
  readonly ref: string;
  readonly hyp: string;
  readonly score: number | null;
}
export interface RunDetail extends RunCard {
  readonly config: Readonly<Record<string, unknown>>;
  readonly series: readonly string[];
  readonly notices: readonly Notice[];
  readonly samples: readonly { readonly step: number; readonly samples: readonly Sample[] }[];
  readonly probes: readonly number[];
  /** where this ends in the run's file; events after it are new */
  readonly offset?: number;
}
export interface Notice {
  readonly level: string | null;
  readonly code: string | null;
  readonly message: string | null;
  readonly step: number | null;
}
export interface Series {
  readonly step: readonly number[];
  readonly elapsed_s: readonly (number | null)[];
  readonly value: readonly number[];
}
export interface Probe {
  readonly step: number;
  readonly sentences: readonly {
    readonly source: readonly string[];
    readonly target: readonly string[];
    readonly text: string;
    readonly shape: readonly [number, number, number, number];
    readonly atlas: string;
  }[];
}
export interface Metric {
  readonly value: number | null;
  readonly ci95?: readonly [number | null, number | null] | null;
  readonly signature?: string;
}
export interface EvalCard {
  readonly id: string;
  readonly run?: string;
  readonly model: string;
  readonly data: string;
  readonly n: number;
  readonly metrics: Readonly<Record<string, Metric>>;
}
/** Sentences of one length; next to these fields `bleu`, `bleu_ci95` and so on for each metric. */
export interface EvalBin {
  readonly lo: number;
  /** null: no upper end */
  readonly hi: number | null;
  readonly n: number;
  readonly length_ratio?: number | null;
  readonly thin?: boolean;
  /** line numbers, the worst first; the texts are in the document's `examples` */
  readonly examples?: readonly number[];
  readonly [metric: string]: unknown;
}
export interface EvalExample {
  readonly line: number;
  readonly chrf?: number | null;
  readonly source: string;
  readonly reference: string;
  readonly hypothesis: string;
}
export interface EvalDoc {
  readonly schema: "eval/1";
  readonly model: string;
  readonly data: { readonly name: string; readonly n: number; readonly sha256?: string };
  readonly decode: Readonly<Record<string, unknown>>;
  readonly metrics: Readonly<Record<string, Metric>>;
  readonly length_ratio?: number | null;
  readonly by_length: { readonly unit: string; readonly bins: readonly EvalBin[] } | null;
  readonly train_length_histogram?: readonly (readonly [number, number, number])[] | null;
  readonly speed?: Readonly<Record<string, number>> | null;
  readonly examples?: readonly EvalExample[];
  readonly notes?: readonly string[];
}
