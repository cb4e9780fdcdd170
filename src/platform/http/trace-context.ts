import { smallRandomBytes } from "../random-bytes.ts";

// W3C Trace Context: version, trace, span and flags. Neither id may be all zeros.
const TRACEPARENT =
  /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}/;
const LENGTH_MAX = 200;

/** For the log: the ids of a `traceparent` header; empty if it is missing or invalid. */
export function traceOf(header: unknown): { trace_id?: string; parent_span_id?: string } {
  if (typeof header !== "string" || header.length > LENGTH_MAX) return {};
  const [, trace_id, parent_span_id] = TRACEPARENT.exec(header) ?? [];
  return trace_id && parent_span_id ? { trace_id, parent_span_id } : {};
}

/** A `traceparent` for an outgoing request: the record's UUID is the trace, the span is new. */
export function traceparentOf(id: string): string {
  return `00-${id.replaceAll("-", "")}-${smallRandomBytes(8).toString("hex")}-01`;
}
