/** What a trace holds. Written by scripts/make_types.py from trace-1.json: do not edit. */
/** The sizes of one kind of attention. */
export interface Kind {
  readonly layers: number;
  readonly heads: number;
  readonly d_head: number;
}

export interface Model {
  /** What links call the model. */
  readonly name: string;
  readonly arch: "rnn" | "luong" | "transformer";
  /** SHA-256 of the model; equal for equal weights and settings. */
  readonly fingerprint: string;
  readonly src_lang: string;
  readonly tgt_lang: string;
  readonly dtype: string;
  readonly device: string;
  readonly d_model: number;
  /** Most source pieces that the model takes. */
  readonly max_length: number;
  readonly positions: "sinusoidal" | "learned" | "rotary" | "none" | null;
  readonly score: "scaled_dot" | "dot" | "general" | "concat" | null;
  readonly layers: { readonly encoder: number; readonly decoder: number };
  /** The kinds of attention that the model has. */
  readonly kinds: { readonly enc_self?: Kind; readonly dec_self?: Kind; readonly cross?: Kind; readonly copy?: Kind };
  /** What the model reads. */
  readonly source?: "text" | "image";
  /** Of a model that reads pictures: pixels of a picture and of a patch, a side. */
  readonly image?: { readonly size: number; readonly patch: number } | null;
}

export interface Token {
  readonly i: number;
  /** Of a patch, its place: its content is in the picture. */
  readonly id: number;
  /** What to show; never blank. Of a patch, its row and column, from 1: "2,3". */
  readonly text: string;
  /** What the tokenizer stores: a word's leading space is part of it. */
  readonly piece: string;
  readonly type: "normal" | "special" | "unk" | "byte" | "pad" | "patch";
  /** Half-open range of code points in the side's text; null for special tokens and patches. The bytes of one character share its range. */
  readonly span: readonly [number, number] | null;
  /** Index into the side's words. */
  readonly word: number;
  /** The value of a byte piece. */
  readonly byte?: number;
  /** The same for all bytes of one character, whose text they show. */
  readonly group?: number;
}

export interface Word {
  readonly i: number;
  readonly text: string;
  /** Indices of its tokens, in order. */
  readonly tokens: readonly number[];
  /** Only there for a special token, which is a word of its own. */
  readonly type?: "special";
}

/** A picture as the model sees it, in patches by rows from the top left. */
export interface Image {
  /** The picture as a PNG in a data URL. */
  readonly url: string;
  readonly rows: number;
  readonly columns: number;
}

export interface Side {
  /** Tidied: NFC, single spaces. Of a picture, the picture as a data URL. */
  readonly text: string;
  readonly lang: string;
  readonly dir: "ltr" | "rtl";
  /** Only of the target: found by a search, or given. */
  readonly origin?: "decoded" | "given";
  /** Every token, the special ones included. */
  readonly tokens: readonly Token[];
  /** Every token is in exactly one word. */
  readonly words: readonly Word[];
  /** Only of a source that is a picture. */
  readonly image?: Image;
}

export interface Decode {
  readonly method: "beam" | "greedy" | "sample" | "given";
  readonly beam?: number;
  readonly n_best?: number;
  readonly length_penalty?: number;
  readonly max_len?: number;
  readonly min_len?: number;
  readonly no_repeat_ngram?: number;
  readonly temperature?: number | null;
  readonly top_k?: number | null;
  readonly top_p?: number | null;
  readonly seed?: number | null;
  /** Only of an answer that was chosen among this many draws. */
  readonly mbr?: number;
  /** What they were compared by. */
  readonly utility?: "chrf" | "rouge1";
  readonly prefix?: string;
  readonly ban?: readonly string[];
  readonly require?: readonly string[];
  /** Sum of the log-probabilities, in nats. */
  readonly score: number | null;
  readonly score_per_token: number | null;
  /** The target came to its end. */
  readonly finished: boolean;
  /** What the search took; null where there was none. */
  readonly ms: number | null;
}

export interface Candidate {
  readonly id: number;
  readonly text: string;
  readonly logprob: number | null;
}

export interface Step {
  readonly t: number;
  readonly id: number;
  readonly text: string;
  /** In nats. */
  readonly logprob: number | null;
  /** Of the whole distribution, in bits. */
  readonly entropy: number | null;
  /** The best candidates, best first. */
  readonly top: readonly Candidate[];
  /** Only of a model that copies: the share copied from the source; the rest is from the vocabulary. */
  readonly copied?: number | null;
}

/** What each head does, [layer][head]. */
export interface Fingerprint {
  /** Mean entropy of a query, in bits. */
  readonly entropy: readonly (readonly (number | null)[])[];
  /** Mean |q - k|. */
  readonly distance: readonly (readonly (number | null)[])[];
  /** Share on the diagonal. */
  readonly diagonal: readonly (readonly (number | null)[])[];
  /** Share on the key before. */
  readonly previous: readonly (readonly (number | null)[])[];
  /** Share on special tokens. */
  readonly special: readonly (readonly (number | null)[])[];
  /** Mean of the largest weight of a query. */
  readonly max: readonly (readonly (number | null)[])[];
  /** What the head mostly does. */
  readonly label: readonly (readonly ("previous" | "diagonal" | "special" | "sharp" | "broad" | "mixed")[])[];
}

/** One kind of attention. Row t of decoder kinds is the step that wrote target token t. */
export interface Attention {
  /** The side that the queries are. */
  readonly q: "source" | "target";
  /** The side that the keys are. */
  readonly k: "source" | "target_in";
  readonly causal: boolean;
  /** Layers, heads, queries, keys. */
  readonly shape: readonly [number, number, number, number];
  /** Tensors of each head, {kind}.{stage}; `out` is of a layer. */
  readonly stages: readonly ("q" | "k" | "v" | "scores" | "scaled" | "mask" | "weights" | "context" | "out")[];
  readonly atlas: { readonly tensor: string };
  readonly fingerprint: Fingerprint;
}

export interface Rnn {
  /** Shape of rnn.encoder: source tokens, width. */
  readonly encoder: readonly [number, number];
  /** Shape of rnn.decoder: steps, width. */
  readonly decoder: readonly [number, number];
  /** Shape of rnn.bridge: layers, parts of a cell's state, width. */
  readonly bridge: readonly [number, number, number];
  readonly layers: number;
  readonly cell: "rnn" | "gru" | "lstm";
  readonly bidirectional: boolean;
  readonly input_feeding: boolean;
}

export interface Link {
  readonly href: string;
}

export interface Intervention {
  readonly op: string;
}

export interface Warning {
  readonly code: string;
  readonly message: string;
}

/** One translation of one sentence: everything but its tensors. Readers ignore keys they do not know. A number that is not finite is null, and a sibling key with _nonfinite after its name says nan, inf or -inf. */
export interface Trace {
  readonly schema: "trace/1";
  /** Equal for equal inputs. */
  readonly id: string;
  readonly model: Model;
  readonly source: Side;
  readonly target: Side;
  /** The target as the decoder reads it: a start, then all tokens but the last. */
  readonly target_in: Side;
  readonly decode: Decode;
  /** One for each target token. */
  readonly steps: readonly Step[];
  /** The kinds that this trace holds; empty for a model without attention. */
  readonly attention: { readonly enc_self?: Attention; readonly dec_self?: Attention; readonly cross?: Attention; readonly copy?: Attention };
  readonly rnn: Rnn | null;
  readonly beam: Link | null;
  readonly influence: Link | null;
  readonly positions: Link | null;
  readonly interventions: readonly Intervention[];
  readonly warnings: readonly Warning[];
}
