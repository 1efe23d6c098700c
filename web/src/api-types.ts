/**
 * What the server sends and takes; docs/openapi.json says what each field means.
 * Written by scripts/make_types.py: do not edit.
 */
export type Arch = Card["arch"];
export type Kind = MaskHead["kind"];

export interface AtLengthOut {
  readonly first: number;
  readonly largest: number;
  readonly length: number;
  readonly loss: number;
  readonly smallest: number;
}

export interface AtlasName {
  readonly tensor: string;
}

export interface BackwardTensorOut {
  readonly axes: string;
  readonly gradient: readonly number[] | readonly (readonly number[])[];
  readonly operation: string;
  readonly stage: string;
  readonly values: readonly number[] | readonly (readonly number[])[];
}

/** Texts that the answer does not contain. */
export interface Ban {
  readonly op: "ban";
  readonly text: readonly string[];
}

/** The tree of one beam search. Readers ignore keys they do not know. */
export interface BeamDocument {
  readonly beam: number;
  readonly chosen: readonly number[];
  readonly dropped_candidates: string;
  readonly length_penalty: number;
  readonly nodes: readonly BeamNode[];
  readonly schema: "beam/1";
  readonly stable_prefix: number;
}

export interface BeamNode {
  readonly beam: number | null;
  readonly id: number;
  readonly logprob: number;
  readonly n: number;
  readonly norm: number;
  readonly parent: number | null;
  readonly rank: number;
  readonly score: number;
  readonly state: "expanded" | "pruned" | "finished" | "chosen";
  readonly t: number;
  readonly text: string;
}

export interface BestOut {
  readonly metric: string;
  readonly step: number;
  readonly value: number;
}

/** The vector that a recurrent decoder starts from: zero, that of another text, or the mean over lines. */
export interface Bridge {
  readonly mode: "zero" | "mean" | "swap";
  readonly op: "bridge";
  readonly text?: string;
}

export interface Candidate {
  readonly id: number;
  readonly logprob: number | null;
  readonly piece?: string;
  readonly text: string;
}

/** A token of the vocabulary at the token looked at; its gradient is (p - y) / N over N target tokens. */
export interface CandidateOut {
  readonly gradient: number;
  readonly id: number;
  readonly logit: number;
  readonly p: number;
  readonly text: string;
  readonly y: 0 | 1;
}

export interface Card {
  readonly arch: "rnn" | "luong" | "transformer";
  readonly confidence: boolean;
  readonly context: boolean;
  readonly d_model: number;
  readonly decoding: Readonly<Record<string, unknown>>;
  readonly directions?: readonly DirectionOut[];
  readonly examples: readonly string[];
  readonly fingerprint: string;
  readonly image: ImageSize | null;
  readonly kinds: { readonly [name in "enc_self" | "dec_self" | "cross" | "copy"]?: KindSize };
  readonly languages?: readonly string[];
  readonly limits: Readonly<Record<string, number>>;
  readonly lowest_score: number | null;
  readonly max_length: number;
  readonly members: readonly string[];
  readonly name: string;
  readonly neighbours: boolean;
  readonly parameters: number;
  readonly positions: "sinusoidal" | "learned" | "rotary" | "relative" | "none" | null;
  readonly run: string | null;
  readonly score: "scaled_dot" | "dot" | "general" | "concat" | null;
  readonly sentences: "split" | "as-is";
  readonly source: "text" | "image";
  readonly source_language: string;
  readonly target_language: string;
}

export interface ChangeOut {
  readonly a: readonly [number, number];
  readonly b: readonly [number, number];
  readonly op: "equal" | "replace" | "delete" | "insert";
}

export interface ColumnOut {
  readonly arch: "rnn" | "luong" | "transformer";
  readonly chrf: number | null;
  readonly id: string;
  readonly influence: InfluenceOut;
  readonly model: string;
  readonly score: number;
  readonly score_per_token: number;
  readonly text: string;
  readonly tokens: readonly TokenOut[];
}

export interface CompareOut {
  readonly grow: readonly CutOut[];
  readonly pseudo_reference: string | null;
  readonly results: readonly ColumnOut[];
  readonly source: WordsOut;
}

/** Calibrated probabilities that a person would change an answer. */
export interface ConfidenceOut {
  readonly change: number;
  readonly sentences: readonly number[];
  readonly words: readonly WordDoubtOut[];
}

export interface CurveOut {
  readonly elapsed_s: readonly (number | null)[];
  readonly step: readonly number[];
  readonly value: readonly number[];
}

export interface CutOut {
  readonly reference: string;
  readonly scores: Readonly<Record<string, GrownOut>>;
  readonly source: string;
  readonly words: number;
}

/** One way through a target: what was read or written at each place, its end included. */
export interface DecoderRun {
  readonly finished: boolean;
  readonly loss: number;
  readonly text: string;
  readonly tokens: readonly RunToken[];
  readonly wrong: number;
}

export interface DirectionOut {
  readonly source: string;
  readonly target: string;
}

/** What became of the segments so far. */
export interface DocumentCounts {
  readonly doubtful: number;
  readonly edited: number;
  readonly present: number;
  readonly skipped: number;
  readonly translated: number;
}

export interface DocumentOut {
  readonly bytes: number;
  readonly counts: DocumentCounts;
  readonly done: number;
  readonly format: string;
  readonly id: string;
  readonly model: string;
  readonly name: string;
  readonly problem: ProblemOut | null;
  readonly seconds_left: number | null;
  readonly status: "waiting" | "running" | "done" | "failed";
  readonly target_name: string;
  readonly total: number | null;
}

export interface DocumentsOut {
  readonly documents: readonly DocumentOut[];
  readonly formats: readonly FormatOut[];
}

/** Sentences of one length; next to these keys `bleu`, `bleu_ci95` and so on for each metric. */
export interface EvalBin {
  readonly examples?: readonly number[];
  readonly hi: number | null;
  readonly length_ratio?: number | null;
  readonly lo: number;
  readonly n: number;
  readonly thin?: boolean;
  readonly [more: string]: unknown;
}

export interface EvalData {
  readonly n: number;
  readonly name: string;
  readonly sha256?: string;
}

/** How good one system's translations of one test set are. */
export interface EvalDocument {
  readonly by_length?: EvalLengths | null;
  readonly data: EvalData;
  readonly decode?: Readonly<Record<string, unknown>>;
  readonly examples?: readonly EvalExample[];
  readonly length_ratio?: number | null;
  readonly metrics: Readonly<Record<string, EvalMetric>>;
  readonly mistakes?: MistakesDocument | null;
  readonly model: string;
  readonly notes?: readonly string[];
  readonly schema: "eval/1";
  readonly speed?: EvalSpeed | null;
  readonly train_length_counted?: number | null;
  readonly train_length_histogram?: readonly (readonly [number, number, number])[] | null;
}

export interface EvalExample {
  readonly chrf?: number | null;
  readonly hypothesis: string;
  readonly line: number;
  readonly reference: string;
  readonly references?: readonly string[];
  readonly source: string;
}

export interface EvalLengths {
  readonly bins: readonly EvalBin[];
  readonly unit: "source_words" | "source_characters";
}

export interface EvalMetric {
  readonly ci95?: readonly [number | null, number | null] | null;
  readonly signature?: string;
  readonly value: number | null;
}

export interface EvalOut {
  readonly data: string;
  readonly id: string;
  readonly metrics: Readonly<Record<string, EvalMetric>>;
  readonly model: string;
  readonly n: number;
  readonly run: string;
}

export interface EvalSpeed {
  readonly engine?: Readonly<Record<string, string>> | null;
  readonly sentences_per_s: number;
  readonly target_tokens_per_s: number;
  readonly wall_s: number;
}

export interface FindingOut {
  readonly advice: string;
  readonly count: number;
  readonly example: string;
  readonly kind: string;
  readonly lines: readonly number[];
  readonly severity: "error" | "warning" | "info";
  readonly title: string;
}

/** The answer begins with this text, or with exactly these ids. */
export interface ForcePrefix {
  readonly ids?: readonly number[];
  readonly op: "force_prefix";
  readonly text?: string;
}

export interface FormatOut {
  readonly name: string;
  readonly suffixes: readonly string[];
}

/** Every tensor of the pass behind a trace, in the order of computation; the numbers of the one at place 4 are the tensor `forward.tensor:4` of the trace. Readers ignore keys they do not know. */
export interface ForwardDocument {
  readonly id: string;
  readonly model: TraceModel;
  readonly schema: "forward/1";
  readonly sizes: Readonly<Record<string, number>>;
  readonly source: TraceSide;
  readonly target: TraceSide;
  readonly target_in: TraceSide;
  readonly tensors: readonly ForwardTensor[];
}

/** One tensor of a forward pass. */
export interface ForwardTensor {
  readonly axes: string;
  readonly detail: boolean;
  readonly dtype: string;
  readonly how: "given" | "same" | "lookup" | "product" | "sum" | "pixels" | "rotate" | "scores" | "additive" | "divide" | "softmax" | "weigh" | "join" | "beside" | "mean" | "variance" | "norm" | "square" | "rms" | "relu" | "gelu" | "gelu_tanh" | "silu" | "times" | "tanh" | "gate" | "cell" | "loss" | "average" | "opaque";
  readonly inputs: readonly number[];
  readonly number: number | null;
  readonly operation: string;
  readonly shape: readonly number[];
  readonly stage: string;
}

/** The same sentence forced, free, and free after one wrong token. */
export interface FreeRunning {
  readonly forced: DecoderRun;
  readonly free: DecoderRun;
  readonly slip: number | null;
  readonly slipped: DecoderRun | null;
  readonly source: string;
  readonly target: string;
}

export interface GradientsOut {
  readonly by_length: readonly AtLengthOut[];
  readonly fresh: number | null;
  readonly loss: number;
  readonly norms: readonly number[];
  readonly target: string;
  readonly tokens: readonly string[];
}

export interface GrownOut {
  readonly chrf: number;
  readonly text: string;
}

/** What each head does, [layer][head]; means over queries. */
export interface HeadProfile {
  readonly diagonal: readonly (readonly (number | null)[])[];
  readonly distance: readonly (readonly (number | null)[])[];
  readonly entropy: readonly (readonly (number | null)[])[];
  readonly label: readonly (readonly ("previous" | "diagonal" | "special" | "sharp" | "broad" | "mixed")[])[];
  readonly max: readonly (readonly (number | null)[])[];
  readonly previous: readonly (readonly (number | null)[])[];
  readonly special: readonly (readonly (number | null)[])[];
}

export interface HypothesisOut {
  readonly confidence?: ConfidenceOut | null;
  readonly finished: boolean;
  readonly links?: readonly LinkOut[];
  readonly score: number;
  readonly score_per_token: number;
  readonly sentences?: readonly SentenceOut[];
  readonly text: string;
  readonly tokens: readonly TokenOut[];
}

export interface ImageSize {
  readonly patch: number;
  readonly size: number;
}

export interface InfluenceOut {
  readonly replace: "unk" | "drop";
  readonly unit: "words" | "tokens";
  readonly units: readonly UnitOut[];
  readonly values: readonly (readonly number[])[];
}

/** The sizes of one kind of attention. */
export interface KindSize {
  readonly d_head: number;
  readonly heads: number;
  readonly layers: number;
}

export interface LayerCounts {
  readonly decoder: number;
  readonly encoder: number;
}

/** A token and how probable it was. */
export interface LikelyToken {
  readonly id: number;
  readonly p: number;
  readonly text: string;
}

/** A token of the answer and the characters of the source that it was written from, in code points. */
export interface LinkOut {
  readonly source: readonly [number, number];
  readonly target: readonly [number, number];
  readonly weight: number;
}

/** One translation of one sentence: everything but its tensors. Readers ignore keys they do not know. A number that is not finite is null, and a sibling key with _nonfinite after its name says nan, inf or -inf. */
export interface Manifest {
  readonly attention: { readonly [name in "enc_self" | "dec_self" | "cross" | "copy"]?: TraceAttention };
  readonly beam: TraceLink | null;
  readonly decode: TraceDecode;
  readonly id: string;
  readonly influence: TraceLink | null;
  readonly interventions: readonly (MaskHead | ScaleHead | MaskEdge | SetRow | Uniform | NoScale | Positions | Bridge | ForcePrefix | Ban | Require | ReplaceSource)[];
  readonly model: TraceModel;
  readonly positions: TraceLink | null;
  readonly rnn: TraceStates | null;
  readonly schema: "trace/1";
  readonly source: TraceSide;
  readonly steps: readonly TraceStep[];
  readonly target: TraceSide;
  readonly target_in: TraceSide;
  readonly warnings: readonly TraceWarning[];
}

/** Minus infinity before the softmax where each q looks at each k; the row renormalises over the rest. */
export interface MaskEdge {
  readonly head: number | readonly number[] | "*";
  readonly k: number | readonly number[];
  readonly kind: "enc_self" | "dec_self" | "cross" | "copy";
  readonly layer: number | readonly number[] | "*";
  readonly op: "mask_edge";
  readonly q: number | readonly number[];
}

/** The head's context before its output projection, or the share copied, times 0; not renormalised. */
export interface MaskHead {
  readonly head: number | readonly number[] | "*";
  readonly kind: "enc_self" | "dec_self" | "cross" | "copy";
  readonly layer: number | readonly number[] | "*";
  readonly op: "mask_head";
}

/** An entry of the server's translation memory for characters of the text. */
export interface MatchOut {
  readonly score: number;
  readonly source: string;
  readonly span: readonly [number, number];
  readonly target: string;
  readonly used: boolean;
}

/** What kinds of mistakes answers have, by word, by length of the source, and whose fault they are. */
export interface MistakesDocument {
  readonly causes: { readonly [name in "search" | "model"]?: number };
  readonly cut: number;
  readonly kinds: { readonly [name in "moved" | "repeated" | "wrong" | "added" | "omitted"]?: number };
  readonly lengths: readonly WrongLengthPart[];
  readonly lines: readonly WrongLinePart[];
  readonly n: number;
  readonly schema: "mistakes/1";
  readonly unit: "source_words" | "source_characters";
  readonly words: readonly WrongWordPart[];
}

/** A token of the text or of the answer, where its state lies on the map, and what is like it. */
export interface NearToken {
  readonly id: number;
  readonly near: readonly Neighbour[];
  readonly text: string;
  readonly x: number;
  readonly y: number;
}

/** A state of a training pair: the pair, the token in it, and the cosine of the angle between the two. */
export interface Neighbour {
  readonly pair: number;
  readonly place: number;
  readonly similarity: number;
}

/** What a model has seen in training that is like a text and its answer, token by token. */
export interface Neighbours {
  readonly decoder: StateSide;
  readonly encoder: StateSide;
  readonly pairs: readonly TrainingPair[];
  readonly source: string;
  readonly states: number;
  readonly target: string;
}

/** No division by √d_k, in every layer of this kind. */
export interface NoScale {
  readonly kind: "enc_self" | "dec_self" | "cross" | "copy";
  readonly op: "no_scale";
}

export interface NoticeOut {
  readonly code: string | null;
  readonly level: string | null;
  readonly message: string | null;
  readonly step: number | null;
}

/** How new a text is to a model: pairs of tokens that stand side by side in it. */
export interface NoveltyOut {
  readonly pairs: number;
  readonly strange: boolean;
  readonly unseen: number;
}

export interface PairsOut {
  readonly findings: readonly FindingOut[];
  readonly pairs: number;
  readonly trainable: boolean;
}

/** How much of the gradient reaches one parameter. */
export interface ParameterGradient {
  readonly name: string;
  readonly norm: number;
  readonly shape: readonly number[];
}

export interface PlainTokenOut {
  readonly id: number;
  readonly text: string;
}

export interface PositionRows {
  readonly positions: "sinusoidal" | "learned" | "rotary" | "relative" | "none" | null;
  readonly rows: readonly (readonly number[])[] | null;
}

/** Position rows of one side left out, shuffled, or taken from `by` places further on. */
export interface Positions {
  readonly by?: number;
  readonly mode: "none" | "shuffle" | "shift";
  readonly op: "positions";
  readonly seed?: number;
  readonly side?: "source" | "target" | "encoder" | "decoder";
}

export interface ProbeOut {
  readonly sentences: readonly ProbeSentence[];
  readonly step: number;
}

export interface ProbeSentence {
  readonly atlas: string;
  readonly shape: readonly number[];
  readonly source: readonly string[];
  readonly target: readonly string[];
  readonly text: string;
}

export interface ProblemOut {
  readonly code: string;
  readonly detail: string;
  readonly field?: string | null;
  readonly request_id: string;
  readonly status: number;
  readonly title: string;
  readonly type: string;
}

export interface RateLossOut {
  readonly loss: number | null;
  readonly lr: number;
}

/** One word of the given source written anew; a blank text takes it out. */
export interface ReplaceSource {
  readonly op: "replace_source";
  readonly text: string;
  readonly unit: number;
}

/** Texts that the answer contains. */
export interface Require {
  readonly op: "require";
  readonly text: readonly string[];
}

export interface RunDetails {
  readonly arch: string | null;
  readonly best: BestOut | null;
  readonly config: Readonly<Record<string, unknown>>;
  readonly elapsed_s: number | null;
  readonly max_steps: number | null;
  readonly name: string;
  readonly notices: readonly NoticeOut[];
  readonly offset: number;
  readonly probes: readonly number[];
  readonly reason: string | null;
  readonly samples: readonly SamplesOut[];
  readonly series: readonly string[];
  readonly start: StartOut | null;
  readonly status: "running" | "completed" | "stopped" | "failed" | "unknown";
  readonly step: number | null;
  readonly time_limit: number | null;
  readonly title: string;
  readonly updated: string | null;
}

/** One line of a run's `metrics.jsonl`. Which keys it has depends on its type. */
export interface RunEvent {
  readonly averaged?: number;
  readonly best?: boolean | number | null;
  readonly code?: string;
  readonly directions?: Readonly<Record<string, Readonly<Record<string, number | null>>>>;
  readonly elapsed_s?: number;
  readonly epoch?: number;
  readonly level?: string;
  readonly loss?: number | null;
  readonly message?: string;
  readonly metric?: number | null;
  readonly path?: string;
  readonly probe?: string;
  readonly reason?: string;
  readonly resumed_from?: number | null;
  readonly samples?: readonly SampleOut[];
  readonly status?: string;
  readonly step?: number;
  readonly time?: string;
  readonly type: "start" | "train" | "valid" | "checkpoint" | "notice" | "end";
  readonly [more: string]: unknown;
}

export interface RunOut {
  readonly arch: string | null;
  readonly best: BestOut | null;
  readonly elapsed_s: number | null;
  readonly max_steps: number | null;
  readonly name: string;
  readonly reason: string | null;
  readonly status: "running" | "completed" | "stopped" | "failed" | "unknown";
  readonly step: number | null;
  readonly time_limit: number | null;
  readonly title: string;
  readonly updated: string | null;
}

/** What stands at one place of a run, and what the model thought there. */
export interface RunToken {
  readonly best: readonly LikelyToken[];
  readonly id: number;
  readonly loss: number | null;
  readonly right: boolean;
  readonly text: string;
}

export interface SampleOut {
  readonly hyp: string;
  readonly ref: string;
  readonly score: number | null;
  readonly src: string;
}

export interface SamplesOut {
  readonly samples: readonly SampleOut[];
  readonly step: number;
}

/** The head's context is multiplied by a factor, or the share copied, which stays in 0 to 1. */
export interface ScaleHead {
  readonly factor: number;
  readonly head: number | readonly number[] | "*";
  readonly kind: "enc_self" | "dec_self" | "cross" | "copy";
  readonly layer: number | readonly number[] | "*";
  readonly op: "scale_head";
}

export interface ScoreAnswer {
  readonly model: string;
  readonly ms: number;
  readonly results: readonly ScoreOut[];
}

export interface ScoreOut {
  readonly score: number;
  readonly score_per_token: number;
  readonly tokens: readonly TokenOut[];
}

export interface SegmentOut {
  readonly doubts: readonly string[];
  readonly edited: boolean;
  readonly n: number;
  readonly outcome: "translated" | "present" | "skipped" | null;
  readonly source: string;
  readonly target: string | null;
  readonly where: string;
  readonly words: readonly WordDoubtOut[];
}

export interface SegmentsOut {
  readonly segments: readonly SegmentOut[];
  readonly total: number;
}

/** Where a sentence stands; characters are code points, and an end is the place behind the last. */
export interface SentenceOut {
  readonly source: readonly [number, number];
  readonly text: readonly [number, number];
  readonly tokens: readonly [number, number];
}

export interface SentencesAnswer {
  readonly model: string;
  readonly sentences: readonly string[];
}

export interface SeriesOut {
  readonly series: Readonly<Record<string, CurveOut>>;
}

/** The row of q is replaced after the softmax, normalised to sum 1. */
export interface SetRow {
  readonly head: number | readonly number[] | "*";
  readonly kind: "enc_self" | "dec_self" | "cross" | "copy";
  readonly layer: number | readonly number[] | "*";
  readonly op: "set_row";
  readonly q: number;
  readonly weights: Readonly<Record<string, number>>;
}

export interface SideOut {
  readonly id: string;
  readonly score: number;
  readonly text: string;
  readonly tokens: readonly TokenOut[];
}

/** The model that a run started from. */
export interface StartOut {
  readonly metric: string | null;
  readonly name: string;
  readonly series: Readonly<Record<string, CurveOut>>;
  readonly sha256: string | null;
}

/** A state of a training pair on the map. */
export interface StatePoint {
  readonly pair: number;
  readonly place: number;
  readonly x: number;
  readonly y: number;
}

/** One side: its tokens, the map's axes, and if asked for all training states on it. */
export interface StateSide {
  readonly points: readonly StatePoint[];
  readonly shares: readonly number[];
  readonly tokens: readonly NearToken[];
}

/** The last event of a stream. */
export interface StreamFinal {
  readonly align?: string | null;
  readonly alternatives: readonly HypothesisOut[];
  readonly confidence?: ConfidenceOut | null;
  readonly finished: boolean;
  readonly links?: readonly LinkOut[];
  readonly matches?: readonly MatchOut[];
  readonly ms: number;
  readonly novelty?: NoveltyOut | null;
  readonly score: number;
  readonly score_per_token: number;
  readonly sentences?: readonly SentenceOut[];
  readonly terms?: readonly TermOut[];
  readonly text: string;
  readonly tokens: readonly TokenOut[];
}

/** How far the answer has come. */
export interface StreamPartial {
  readonly score: number;
  readonly stable: number;
  readonly sure: number;
  readonly t: number;
  readonly text: string;
  readonly tokens: readonly string[];
}

/** The first event of a stream. */
export interface StreamStart {
  readonly id: string;
  readonly model: string;
  readonly source_tokens: readonly string[];
}

export interface SweepOut {
  readonly baseline_logprob: number;
  readonly kinds: { readonly [name in "enc_self" | "dec_self" | "cross" | "copy"]?: readonly (readonly number[])[] };
}

/** What masking each head of one layer adds to the log-probability. */
export interface SweepRowOut {
  readonly kind: "enc_self" | "dec_self" | "cross" | "copy";
  readonly layer: number;
  readonly values: readonly number[];
}

/** A term of the glossary that the source has. */
export interface TermOut {
  readonly present: boolean;
  readonly source: string;
  readonly targets: readonly string[];
}

export interface TokenOut {
  readonly id: number;
  readonly logprob: number;
  readonly text: string;
}

/** One kind of attention. Row t of decoder kinds is the step that wrote target token t. */
export interface TraceAttention {
  readonly atlas: AtlasName;
  readonly causal: boolean;
  readonly fingerprint: HeadProfile;
  readonly k: "source" | "target_in";
  readonly q: "source" | "target";
  readonly shape: readonly [number, number, number, number];
  readonly stages: readonly ("q" | "k" | "v" | "scores" | "scaled" | "bias" | "mask" | "weights" | "context" | "out")[];
}

/** How the target came about. Settings of a search are there where there was one. */
export interface TraceDecode {
  readonly ban?: readonly string[];
  readonly beam?: number;
  readonly finished: boolean;
  readonly length_penalty?: number;
  readonly max_len?: number;
  readonly mbr?: number;
  readonly method: "beam" | "greedy" | "sample" | "given";
  readonly min_len?: number;
  readonly ms: number | null;
  readonly n_best?: number;
  readonly no_repeat_ngram?: number;
  readonly prefix?: string;
  readonly require?: readonly string[];
  readonly score: number | null;
  readonly score_per_token: number | null;
  readonly seed?: number | null;
  readonly temperature?: number | null;
  readonly top_k?: number | null;
  readonly top_p?: number | null;
  readonly utility?: "chrf" | "rouge1";
}

export interface TraceLink {
  readonly href: string;
}

export interface TraceModel {
  readonly arch: "rnn" | "luong" | "transformer";
  readonly d_model: number;
  readonly device: string;
  readonly dtype: string;
  readonly fingerprint: string;
  readonly image?: ImageSize | null;
  readonly kinds: { readonly [name in "enc_self" | "dec_self" | "cross" | "copy"]?: KindSize };
  readonly layers: LayerCounts;
  readonly max_length: number;
  readonly name: string;
  readonly positions: "sinusoidal" | "learned" | "rotary" | "relative" | "none" | null;
  readonly score: "scaled_dot" | "dot" | "general" | "concat" | null;
  readonly source?: "text" | "image";
  readonly src_lang: string;
  readonly tgt_lang: string;
}

/** How much of a source was new to the model: pairs of tokens side by side. */
export interface TraceNovelty {
  readonly pairs: number;
  readonly strange: boolean;
  readonly unseen: number;
}

/** A picture as the model sees it, in patches by rows from the top left. */
export interface TracePicture {
  readonly columns: number;
  readonly rows: number;
  readonly url: string;
}

export interface TraceRequest {
  readonly ban?: readonly string[] | null;
  readonly beam?: number | null;
  readonly fingerprint?: string | null;
  readonly from_language?: string | null;
  readonly interventions?: readonly (MaskHead | ScaleHead | MaskEdge | SetRow | Uniform | NoScale | Positions | Bridge | ForcePrefix | Ban | Require | ReplaceSource)[];
  readonly length_penalty?: number | null;
  readonly long?: "split" | "cut" | "error" | null;
  readonly loops?: boolean | null;
  readonly max_len?: number | null;
  readonly mbr?: number | null;
  readonly min_len?: number | null;
  readonly model?: string | null;
  readonly n_best?: number | null;
  readonly no_repeat_ngram?: number | null;
  readonly prefix?: string | null;
  readonly protect?: boolean | null;
  readonly require?: readonly string[] | null;
  readonly sample?: boolean | null;
  readonly seed?: number | null;
  readonly sentences?: "auto" | "split" | "as-is" | null;
  readonly target?: string | null;
  readonly temperature?: number | null;
  readonly text: string;
  readonly to?: string | null;
  readonly top_k?: number | null;
  readonly top_p?: number | null;
  readonly utility?: "chrf" | "rouge1" | null;
}

export interface TraceSide {
  readonly dir: "ltr" | "rtl";
  readonly image?: TracePicture;
  readonly lang: string;
  readonly novelty?: TraceNovelty;
  readonly origin?: "decoded" | "given";
  readonly text: string;
  readonly tokens: readonly TraceToken[];
  readonly words: readonly TraceWord[];
}

/** The states of a recurrent model. */
export interface TraceStates {
  readonly bidirectional: boolean;
  readonly bridge: readonly [number, number, number];
  readonly cell: "rnn" | "gru" | "lstm";
  readonly decoder: readonly [number, number];
  readonly encoder: readonly [number, number];
  readonly input_feeding: boolean;
  readonly layers: number;
}

export interface TraceStep {
  readonly copied?: number | null;
  readonly entropy: number | null;
  readonly id: number;
  readonly logprob: number | null;
  readonly t: number;
  readonly text: string;
  readonly top: readonly Candidate[];
}

export interface TraceToken {
  readonly byte?: number;
  readonly group?: number;
  readonly i: number;
  readonly id: number;
  readonly piece: string;
  readonly span: readonly [number, number] | null;
  readonly text: string;
  readonly type: "normal" | "special" | "unk" | "byte" | "pad" | "patch";
  readonly word: number;
}

export interface TraceWarning {
  readonly code: string;
  readonly message: string;
}

export interface TraceWord {
  readonly i: number;
  readonly text: string;
  readonly tokens: readonly number[];
  readonly type?: "special";
}

export interface TrainerOut {
  readonly current: TrainingOut | null;
  readonly most_bytes: number;
  readonly most_seconds: number;
  readonly off: "not_allowed" | "no_torch" | null;
}

export interface TrainingOut {
  readonly arch: "rnn" | "luong" | "transformer";
  readonly command: string;
  readonly elapsed_s: number | null;
  readonly model: string | null;
  readonly pairs: number;
  readonly problem: string | null;
  readonly run: string;
  readonly seconds: number;
  readonly status: "starting" | "running" | "pausing" | "paused" | "stopping" | "loading" | "done" | "failed";
  readonly step: number | null;
}

/** A pair of the training data, with its tokens; ends are among them. */
export interface TrainingPair {
  readonly decoder: readonly string[];
  readonly encoder: readonly string[];
  readonly n: number;
  readonly source: string;
  readonly target: string;
}

export interface TrainingStepOut {
  readonly candidates: readonly CandidateOut[];
  readonly gradients: readonly ParameterGradient[];
  readonly loss: number;
  readonly loss_after: number;
  readonly losses: readonly number[];
  readonly losses_after: readonly number[];
  readonly rates: readonly RateLossOut[];
  readonly rule: UpdateRule;
  readonly source: string;
  readonly source_tokens: readonly string[];
  readonly target: string;
  readonly tensors: readonly BackwardTensorOut[];
  readonly token: number;
  readonly tokens: readonly PlainTokenOut[];
  readonly vocabulary: number;
  readonly weight: WeightUpdate;
}

export interface TranslateAnswer {
  readonly model: string;
  readonly ms: number;
  readonly results: readonly TranslationOut[];
}

export interface TranslationOut {
  readonly align?: string | null;
  readonly alternatives: readonly HypothesisOut[];
  readonly confidence?: ConfidenceOut | null;
  readonly finished: boolean;
  readonly links?: readonly LinkOut[];
  readonly matches?: readonly MatchOut[];
  readonly novelty?: NoveltyOut | null;
  readonly score: number;
  readonly score_per_token: number;
  readonly sentences?: readonly SentenceOut[];
  readonly terms?: readonly TermOut[];
  readonly text: string;
  readonly tokens: readonly TokenOut[];
}

/** Every allowed key gets equal weight. */
export interface Uniform {
  readonly head: number | readonly number[] | "*";
  readonly kind: "enc_self" | "dec_self" | "cross" | "copy";
  readonly layer: number | readonly number[] | "*";
  readonly op: "uniform";
}

export interface UnitOut {
  readonly text: string;
  readonly tokens: readonly number[];
}

/** The optimiser of a step and its settings. */
export interface UpdateRule {
  readonly betas: readonly [number, number];
  readonly eps: number;
  readonly lr: number;
  readonly name: "sgd" | "adam" | "adamw";
  readonly number: number;
  readonly weight_decay: number;
}

/** One step: the token that was written, and what else was wanted. */
export interface VoteStep {
  readonly candidates: readonly VotedToken[];
  readonly favourites: readonly number[];
  readonly id: number;
  readonly members: readonly number[];
  readonly p: number;
  readonly text: string;
}

/** One model of an ensemble. */
export interface VotedMember {
  readonly agrees: number;
  readonly arch: string;
  readonly name: string;
  readonly weight: number;
}

/** A token that might have come, and how probable all together and each by itself find it. */
export interface VotedToken {
  readonly id: number;
  readonly members: readonly number[];
  readonly p: number;
  readonly text: string;
}

/** What each member of an ensemble wanted while it wrote a target. */
export interface Votes {
  readonly mean: string;
  readonly members: readonly VotedMember[];
  readonly source: string;
  readonly steps: readonly VoteStep[];
  readonly target: string;
}

/** One number of one parameter, and what the optimiser did to it. SGD remembers m alone: m = momentum · m_before + gradient. Adam and AdamW also remember v. */
export interface WeightUpdate {
  readonly after: number;
  readonly before: number;
  readonly by_token: readonly number[];
  readonly gradient: number;
  readonly index: readonly number[];
  readonly m: number;
  readonly m_before: number;
  readonly name: string;
  readonly v: number | null;
  readonly v_before: number | null;
}

export interface WhatIfOut {
  readonly baseline: SideOut;
  readonly baseline_logprob_under_edit: number;
  readonly diff: readonly ChangeOut[];
  readonly edited: SideOut;
  readonly first_divergence: number | null;
}

export interface WordDoubtOut {
  readonly change: number;
  readonly text: readonly [number, number];
}

export interface WordsOut {
  readonly text: string;
  readonly words: readonly string[];
}

export interface WrongLengthPart {
  readonly hi: number | null;
  readonly kinds: { readonly [name in "moved" | "repeated" | "wrong" | "added" | "omitted"]?: number };
  readonly lo: number;
  readonly n: number;
  readonly wrong: number;
}

export interface WrongLinePart {
  readonly cause: "search" | "model" | null;
  readonly hypothesis: string;
  readonly kinds: { readonly [name in "moved" | "repeated" | "wrong" | "added" | "omitted"]?: number };
  readonly line: number;
  readonly reference: string;
  readonly source: string;
}

export interface WrongWordPart {
  readonly extra: number;
  readonly instead: readonly (readonly [string, number])[];
  readonly lines: readonly number[];
  readonly missed: number;
  readonly times: number;
  readonly word: string;
}
