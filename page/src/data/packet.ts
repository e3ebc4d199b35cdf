// SPDX-License-Identifier: MIT
// Decodes one packet: base64 text of a gzip stream that holds a JSON header and columns of integers.
// docs/internals/page-data.md describes the format.

export interface Packet<Header> {
  header: Header;
  /** Returns the column's integers, or an empty array if the packet lacks it. */
  column(name: string): Float64Array;
  has(name: string): boolean;
}

/** A column in the header. */
export interface ColumnLayout {
  name: string;
  offset: number;
  bytes: number;
  count: number;
  unit?: number;
  differences?: boolean;
  less?: string;
}

type FromBase64 = { fromBase64?: (text: string) => Uint8Array };

/** Returns the bytes of base64 text. White space in the text is ignored. */
export function bytesOfBase64(text: string): Uint8Array {
  const native = (Uint8Array as unknown as FromBase64).fromBase64;
  if (native) return native.call(Uint8Array, text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

async function gunzip(bytes: Uint8Array): Promise<Uint8Array> {
  const stream = new Blob([bytes as BlobPart]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/**
 * Decodes the integers of a column from its bytes. `of` is the column `layout.less`, which has as many numbers.
 * Values reach 2^53, so the arithmetic is that of floating-point numbers, not of 32-bit integers.
 */
export function decodeColumn(bytes: Uint8Array, layout: ColumnLayout, of?: Float64Array): Float64Array {
  const { count, unit = 1, differences = false } = layout;
  const values = new Float64Array(count);
  const planes = count > 0 ? bytes.length / count : 0;
  if (!Number.isInteger(planes) || (of && of.length !== count)) throw new Error(`column ${layout.name} does not have ${count} numbers`);
  // The lowest bit is the sign. The rest is added up apart from it: a number may need all 53 bits.
  for (let plane = 0, scale = 0.5; plane < planes; plane++, scale *= 256) {
    const first = plane * count;
    if (plane === 0) for (let i = 0; i < count; i++) values[i] = bytes[i]! >> 1;
    else for (let i = 0; i < count; i++) values[i]! += bytes[first + i]! * scale;
  }
  let previous = 0;
  for (let i = 0; i < count; i++) {
    const half = values[i]!;
    let value = planes > 0 && (bytes[i]! & 1) === 1 ? -half - 1 : half;
    if (differences) previous = value += previous;
    values[i] = value * unit;
    if (of) values[i] = of[i]! - values[i]!;
  }
  return values;
}

export async function decodePacket<Header>(text: string): Promise<Packet<Header>> {
  const bytes = await gunzip(bytesOfBase64(text.trim()));
  if (bytes.length < 4) throw new Error("a packet of the page is cut");
  const headerLength = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  if (4 + headerLength > bytes.length) throw new Error("the header of a packet is cut");
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + headerLength))) as Header;
  const layouts = new Map<string, ColumnLayout>();
  for (const layout of (header as { columns?: ColumnLayout[] }).columns ?? []) layouts.set(layout.name, layout);
  const start = 4 + headerLength;
  const decoded = new Map<string, Float64Array>();
  const column = (name: string): Float64Array => {
    let values = decoded.get(name);
    if (!values) {
      const layout = layouts.get(name);
      if (!layout) return new Float64Array(0);
      const from = start + layout.offset;
      if (from + layout.bytes > bytes.length) throw new Error(`column ${name} is cut`);
      // An empty column in place of itself, so that a damaged header cannot name a circle.
      decoded.set(name, new Float64Array(0));
      const of = layout.less === undefined ? undefined : column(layout.less);
      values = decodeColumn(bytes.subarray(from, from + layout.bytes), layout, of);
      decoded.set(name, values);
    }
    return values;
  };
  return { header, has: (name) => layouts.has(name), column };
}
