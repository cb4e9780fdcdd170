import { isUtf8 } from "node:buffer";
import { type Problem, Refusal } from "../errors.ts";
import { scanJson } from "./scan-json.ts";

/** A parsed JSON body with what the routes need besides its value. */
export type JsonBody = { value: unknown; bytes: number; problems: readonly Problem[] };

export function parseJsonBody(buffer: Buffer): JsonBody {
  if (!isUtf8(buffer)) throw new Refusal("bad_request", "Send the body in UTF-8.");
  // First, so that a body refused for its size or nesting is never parsed.
  const problems = scanJson(buffer);
  try {
    return { value: JSON.parse(buffer.toString()), bytes: buffer.length, problems };
  } catch {
    throw new Refusal("bad_request", "The body is not valid JSON; check its syntax.");
  }
}

/** The same text for equal JSON values, whatever the order of their keys. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value) ?? "null";
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  const members = entries.map(([key, item]) => `${JSON.stringify(key)}:${canonicalJson(item)}`);
  return `{${members.join(",")}}`;
}
