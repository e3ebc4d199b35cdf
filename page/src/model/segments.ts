// SPDX-License-Identifier: MIT
// PyTorch's segments at a moment: blocks of layer cuda that PyTorch owns, with the blocks of layer torch inside.
import type { Device } from "../data/device";
import type { Recording } from "../data/recording";

export interface Piece {
  address: number;
  bytes: number;
  /** A block of the device's list; -1: a hole. */
  block: number;
}

export interface Segment {
  block: number;
  address: number;
  bytes: number;
  pieces: Piece[];
  usedBytes: number;
  pool: Pool;
}

/** PyTorch serves requests up to 1 MiB from segments (or pages) of 2 MiB, all others from larger ones. */
export type Pool = "large" | "small";

const SMALL_SEGMENT = 2 << 20;

export const poolOfRequest = (bytes: number): Pool => (bytes <= 1 << 20 ? "small" : "large");

export interface SegmentMap {
  segments: Segment[];
  reserved: number;
  usedBytes: number;
  blocks: number;
  largestHole: number;
  /** The largest hole of each pool: a request cannot use the other pool. */
  largestHoleOf: Record<Pool, number>;
  empty: number;
}

export function segmentsAt(recording: Recording, device: Device, ns: number): SegmentMap {
  const { blocks } = device;
  const cuda = device.layers.findIndex((layer) => layer.name === "cuda");
  const torch = device.layers.findIndex((layer) => layer.name === "torch");
  const segments: Segment[] = [];
  const inside: Piece[] = [];
  for (let i = 0; i < blocks.count && blocks.beginNs[i]! <= ns; i++) {
    const end = blocks.endNs[i]!;
    if (end >= 0 && end <= ns) continue;
    const address = blocks.address[i]! * 256;
    const bytes = blocks.bytes[i]!;
    if (blocks.layer[i] === torch) inside.push({ address, bytes, block: i });
    else if (blocks.layer[i] === cuda && recording.sites[blocks.site[i]!]?.owner === "PyTorch") segments.push({ block: i, address, bytes, pieces: [], usedBytes: 0, pool: bytes <= SMALL_SEGMENT ? "small" : "large" });
  }
  segments.sort((a, b) => a.address - b.address);
  inside.sort((a, b) => a.address - b.address);
  let at = 0;
  const largestHoleOf: Record<Pool, number> = { large: 0, small: 0 };
  let usedBytes = 0;
  for (const segment of segments) {
    const end = segment.address + segment.bytes;
    let free = segment.address;
    const hole = (until: number): void => {
      if (until <= free) return;
      segment.pieces.push({ address: free, bytes: until - free, block: -1 });
      largestHoleOf[segment.pool] = Math.max(largestHoleOf[segment.pool], until - free);
    };
    while (at < inside.length && inside[at]!.address < segment.address) at++;
    for (; at < inside.length && inside[at]!.address < end; at++) {
      const piece = inside[at]!;
      hole(piece.address);
      segment.pieces.push(piece);
      segment.usedBytes += piece.bytes;
      free = Math.max(free, piece.address + piece.bytes);
    }
    hole(end);
    usedBytes += segment.usedBytes;
  }
  return {
    segments,
    reserved: segments.reduce((sum, segment) => sum + segment.bytes, 0),
    usedBytes,
    blocks: segments.reduce((sum, segment) => sum + segment.pieces.filter((piece) => piece.block >= 0).length, 0),
    largestHole: Math.max(largestHoleOf.large, largestHoleOf.small),
    largestHoleOf,
    empty: segments.filter((segment) => segment.usedBytes === 0).length,
  };
}
