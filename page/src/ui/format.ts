// SPDX-License-Identifier: MIT
// Numbers as the program prints them (src/base/text.c): three digits, IEC units.

function threeDigits(value: number, unit: string): string {
  const decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return `${value.toFixed(decimals)} ${unit}`;
}

const UNITS = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

export function size(bytes: number): string {
  if (bytes < 0) return `-${size(-bytes)}`;
  if (bytes < 1024) return `${bytes} B`;
  let value = bytes / 1024;
  let unit = 0;
  for (; value >= 1023.5 && unit + 1 < UNITS.length; unit++) value /= 1024;
  return threeDigits(value, UNITS[unit]!);
}

/** A size with its sign, for differences. */
export const change = (bytes: number): string => (bytes > 0 ? `+${size(bytes)}` : bytes < 0 ? `\u2212${size(-bytes)}` : "0 B");

export const exact = (bytes: number): string => `${count(bytes)} bytes`;

export function count(value: number): string {
  const sign = value < 0 ? "-" : "";
  return sign + String(Math.abs(Math.round(value))).replace(/\B(?=(\d{3})+$)/g, ",");
}

export function duration(ns: number): string {
  const seconds = Math.floor(ns / 1e9);
  if (ns < 1000) return `${Math.round(ns)} ns`;
  if (ns < 1e6) return threeDigits(ns / 1e3, "us");
  if (ns < 1e9) return threeDigits(ns / 1e6, "ms");
  if (seconds < 120) return threeDigits(ns / 1e9, "s");
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, "0")} s`;
  return `${Math.floor(seconds / 3600)} h ${String(Math.floor(seconds / 60) % 60).padStart(2, "0")} min`;
}

/** A share as the program prints it: "51 %". Shares that round to 0 or 100 wrongly get one digit more. */
export function percent(part: number, whole: number): string {
  if (whole <= 0) return "";
  const value = (part * 100) / whole;
  if (value > 0 && value < 0.05) return "< 0.1 %";
  return value !== 0 && value < 9.95 ? `${value.toFixed(1)} %` : `${Math.round(value)} %`;
}

export const plural = (value: number, one: string, many = `${one}s`): string => `${count(value)} ${value === 1 ? one : many}`;

/** Ticks for sizes: powers of two and their multiples, at most about `most` of them. */
export function sizeTicks(max: number, most: number): number[] {
  if (max <= 0) return [0];
  const step = 2 ** Math.max(0, Math.ceil(Math.log2(max / Math.max(1, most))));
  const ticks = [];
  for (let at = 0; at <= max * 1.0001; at += step) ticks.push(at);
  return ticks;
}

/** A tick's label: the shortest text of a round size. */
export function tickSize(bytes: number): string {
  if (bytes === 0) return "0";
  let value = bytes;
  let unit = -1;
  for (; value >= 1024 && unit + 1 < UNITS.length; unit++) value /= 1024;
  const text = Number.isInteger(value) ? String(value) : String(Number(value.toFixed(2)));
  return `${text} ${unit < 0 ? "B" : UNITS[unit]}`;
}

/** Replaces characters that change the direction of text or that terminals obey, and cuts megabyte names. */
export function clean(text: string, most = 2000): string {
  const cut = text.length > most ? `${text.slice(0, most)}\u2026` : text;
  return cut.replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, "\ufffd");
}
