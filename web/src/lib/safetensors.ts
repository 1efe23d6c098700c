/** Reader and writer of the safetensors layout: 8-byte little-endian header length, JSON header, raw data. */
export interface Tensor {
  readonly shape: readonly number[];
  readonly data: Float32Array | Uint8Array;
  readonly dtype: string;
}

interface Entry {
  dtype: string;
  shape: number[];
  data_offsets: [number, number];
}

/** Every tensor in the bytes by name; float64, float16, bfloat16 and integers become float32. */
export function readSafetensors(buffer: ArrayBuffer): Map<string, Tensor> {
  const view = new DataView(buffer);
  const length = Number(view.getBigUint64(0, true));
  if (length > buffer.byteLength - 8) throw new Error(`safetensors header of ${length} bytes in ${buffer.byteLength} bytes`);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length))) as Record<string, Entry>;
  const tensors = new Map<string, Tensor>();
  for (const [name, entry] of Object.entries(header)) {
    if (name === "__metadata__") continue;
    const [from, to] = entry.data_offsets;
    const bytes = buffer.slice(8 + length + from, 8 + length + to);
    const data = toArray(entry.dtype, bytes);
    const size = entry.shape.reduce((product, n) => product * n, 1);
    if (data.length !== size) throw new Error(`tensor ${name} has ${data.length} values, its shape [${entry.shape}] needs ${size}`);
    tensors.set(name, { shape: entry.shape, data, dtype: entry.dtype });
  }
  return tensors;
}

function toArray(dtype: string, bytes: ArrayBuffer): Float32Array | Uint8Array {
  switch (dtype) {
    case "F32":
      return new Float32Array(bytes);
    case "U8":
    case "BOOL":
      return new Uint8Array(bytes);
    case "I8":
      return Float32Array.from(new Int8Array(bytes));
    case "F64":
      return Float32Array.from(new Float64Array(bytes));
    case "I32":
      return Float32Array.from(new Int32Array(bytes));
    case "I64":
      return Float32Array.from(new BigInt64Array(bytes), Number);
    case "BF16":
      return Float32Array.from(new Uint16Array(bytes), (half) => fromBits(half << 16));
    case "F16":
      return Float32Array.from(new Uint16Array(bytes), fromHalf);
    default:
      throw new Error(`tensor type ${dtype} is not known`);
  }
}

const scratch = new DataView(new ArrayBuffer(4));

function fromBits(bits: number): number {
  scratch.setInt32(0, bits);
  return scratch.getFloat32(0);
}

function fromHalf(half: number): number {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >> 10) & 31;
  const fraction = half & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** The tensors as one file: bytes as uint8, everything else as float32. */
export function writeSafetensors(tensors: ReadonlyMap<string, Tensor>): ArrayBuffer {
  const header: Record<string, Entry> = {};
  let end = 0;
  for (const [name, { shape, data }] of tensors) {
    header[name] = { dtype: data instanceof Uint8Array ? "U8" : "F32", shape: [...shape], data_offsets: [end, end + data.byteLength] };
    end += data.byteLength;
  }
  const text = new TextEncoder().encode(JSON.stringify(header));
  const length = Math.ceil(text.length / 8) * 8;
  const bytes = new Uint8Array(8 + length + end).fill(32, 8, 8 + length);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(length), true);
  bytes.set(text, 8);
  for (const [name, { data }] of tensors)
    bytes.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), 8 + length + header[name].data_offsets[0]);
  return bytes.buffer;
}
