import { toHex } from "./hex.ts";
import type { WebhookEvent } from "./webhook-events.ts";

// Uses Web Crypto instead of Node's modules, so that it runs in every JavaScript runtime.

const TOLERANCE_SECONDS = 300;
const DIGEST_BYTES = 32;
const STANDARD_HEADERS = ["webhook-id", "webhook-timestamp", "webhook-signature"] as const;

/** The body exactly as received, before a JSON parser has read it. */
export type RawBody = string | Uint8Array | ArrayBuffer;

/** The headers of a `Request`, Node's `request.headers`, or any record, Map or pairs. */
export type WebhookHeaders =
  | Headers
  | Iterable<readonly [name: string, value: string]>
  | { readonly [name: string]: string | readonly string[] | undefined };

export type VerifyOptions = {
  /** Maximum difference between `webhook-timestamp` and now; default 300. */
  tolerance_seconds?: number | undefined;
  /**
   * `any` (default) checks the Standard Webhooks headers if one of them is present, otherwise
   * `X-Webhook-Signature`. That signature does not cover the time, so an attacker who has seen a
   * request can send it again. `standard` rejects requests that have only that signature.
   */
  scheme?: "any" | "standard" | undefined;
  now?: Date | undefined;
};

export type SignOptions = { id?: string | undefined; timestamp?: Date | undefined };

export type WebhookVerificationReason =
  | "header_missing"
  | "header_malformed"
  | "too_old"
  | "too_new"
  | "signature_mismatch"
  | "body_unreadable";

/** The request is not from your Sliproad, or too old: answer 400 and ignore it. */
export class WebhookVerificationError extends Error {
  override readonly name: string = "WebhookVerificationError";
  readonly reason: WebhookVerificationReason;

  constructor(reason: WebhookVerificationReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

/**
 * Checks the signature of a request and returns its event. While you rotate a secret, pass both
 * the old and the new one.
 */
async function verify(
  rawBody: RawBody,
  headers: WebhookHeaders,
  secret: string | readonly string[],
  options: VerifyOptions = {},
): Promise<WebhookEvent> {
  const body = toBytes(rawBody);
  const secrets = readSecrets(secret);
  const header = readHeaders(headers);
  checkOptions(options);
  const is_standard = STANDARD_HEADERS.some((name) => header(name) !== null);
  const wanted =
    is_standard || options.scheme === "standard"
      ? readStandard(header, body, options)
      : readInterface(header, body);
  if (!(await matchesAny(wanted, secrets))) {
    const message = "The signature does not match; check the secret, and pass the raw body.";
    throw new WebhookVerificationError("signature_mismatch", message);
  }
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    throw new WebhookVerificationError("body_unreadable", "The body is not valid JSON.");
  }
}

/** The headers that Sliproad sends with this body; use it to test your receiver. */
async function sign(
  rawBody: RawBody,
  secret: string,
  { id = `msg_${crypto.randomUUID()}`, timestamp = new Date() }: SignOptions = {},
): Promise<{
  "x-webhook-signature": string;
  "webhook-id": string;
  "webhook-timestamp": string;
  "webhook-signature": string;
}> {
  const body = toBytes(rawBody);
  const [text] = readSecrets(secret) as [string];
  const seconds = String(Math.floor(timestamp.getTime() / 1000));
  const standard = await hmac(standardKey(text), standardText(id, seconds, body));
  return {
    "x-webhook-signature": toHex(await hmac(interfaceKey(text), body)),
    "webhook-id": id,
    "webhook-timestamp": seconds,
    "webhook-signature": `v1,${btoa(String.fromCharCode(...standard))}`,
  };
}

export const webhooks = { verify, sign };

/** The signed text, how its key is derived from the secret, and the received digests. */
type Claim = {
  text: Bytes;
  digests: readonly Bytes[];
  toKey: (secret: string) => Bytes;
};
type Bytes = Uint8Array<ArrayBuffer>;
type ReadHeader = (name: string) => string | null;

/** Standard Webhooks: `id.timestamp.body`; one or more `v1,<base64>`, separated by spaces. */
function readStandard(header: ReadHeader, body: Bytes, options: VerifyOptions): Claim {
  const [id, timestamp, signatures] = STANDARD_HEADERS.map((name) => needed(header, name)) as [
    string,
    string,
    string,
  ];
  checkTime(timestamp, options);
  const digests = signatures
    .split(" ")
    .filter((signature) => signature.startsWith("v1,"))
    .map((signature) => fromBase64(signature.slice("v1,".length)))
    .filter((digest) => digest?.length === DIGEST_BYTES) as Bytes[];
  if (digests.length === 0) throw malformed("webhook-signature has no v1 signature");
  return { text: standardText(id, timestamp, body), digests, toKey: standardKey };
}

/** `X-Webhook-Signature`: the digest of the body in lowercase hex. */
function readInterface(header: ReadHeader, body: Bytes): Claim {
  const signature = needed(header, "x-webhook-signature");
  if (!/^[0-9a-f]{64}$/.test(signature))
    throw malformed("X-Webhook-Signature is not a SHA-256 digest in lowercase hex");
  const digest = Uint8Array.from(signature.match(/../g)!, (pair) => Number.parseInt(pair, 16));
  return { text: body, digests: [digest], toKey: interfaceKey };
}

/** Invalid options, which would otherwise make every check pass. */
function checkOptions({ scheme = "any", tolerance_seconds, now }: VerifyOptions): void {
  if (!["any", "standard"].includes(scheme)) {
    throw new TypeError(`scheme must be "any" or "standard", not ${JSON.stringify(scheme)}.`);
  }
  const seconds = tolerance_seconds ?? TOLERANCE_SECONDS;
  if (!Number.isFinite(seconds) || seconds < 0) {
    throw new RangeError(`tolerance_seconds must be 0 or more, not ${String(seconds)}.`);
  }
  if (now !== undefined && !Number.isFinite(now?.getTime?.())) {
    throw new TypeError("now must be a valid Date.");
  }
}

function checkTime(timestamp: string, options: VerifyOptions): void {
  if (!/^\d{1,12}$/.test(timestamp))
    throw malformed("webhook-timestamp is not a number of seconds");
  const { tolerance_seconds = TOLERANCE_SECONDS, now = new Date() } = options;
  const age_seconds = Math.floor(now.getTime() / 1000) - Number(timestamp);
  if (age_seconds > tolerance_seconds) {
    throw new WebhookVerificationError(
      "too_old",
      `The request was signed ${age_seconds} s ago; check your clock, or ignore it.`,
    );
  }
  if (age_seconds < -tolerance_seconds) {
    throw new WebhookVerificationError(
      "too_new",
      `The request was signed ${-age_seconds} s in the future; check your clock.`,
    );
  }
}

/** Compares every digest with every secret, in constant time. */
async function matchesAny(
  { text, digests, toKey }: Claim,
  secrets: readonly string[],
): Promise<boolean> {
  let matches = false;
  for (const secret of secrets) {
    const own = await hmac(toKey(secret), text);
    for (const digest of digests) matches = equal(own, digest) || matches;
  }
  return matches;
}

function equal(left: Bytes, right: Bytes): boolean {
  let difference = left.length ^ right.length;
  for (let at = 0; at < DIGEST_BYTES; at += 1) {
    difference |= (left[at] ?? 0) ^ (right[at] ?? 0);
  }
  return difference === 0;
}

/** The key of `X-Webhook-Signature` is the text of the secret. */
function interfaceKey(secret: string): Bytes {
  return new TextEncoder().encode(secret);
}

const PREFIX = "whsec_";

/** The key of Standard Webhooks is decoded from the base64 after `whsec_`, if there is any. */
function standardKey(secret: string): Bytes {
  const encoded = secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : "";
  return (encoded && fromBase64(encoded)) || new TextEncoder().encode(secret);
}

function standardText(id: string, timestamp: string, body: Bytes): Bytes {
  const head = new TextEncoder().encode(`${id}.${timestamp}.`);
  const text = new Uint8Array(head.length + body.length);
  text.set(head);
  text.set(body, head.length);
  return text;
}

async function hmac(key: Bytes, text: Bytes): Promise<Bytes> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const imported = await crypto.subtle.importKey("raw", key, algorithm, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", imported, text));
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

function fromBase64(text: string): Bytes | null {
  if (!BASE64.test(text)) return null;
  return Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
}

function toBytes(body: RawBody): Bytes {
  if (typeof body === "string") return new TextEncoder().encode(body);
  if (body instanceof Uint8Array) return body as Bytes;
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  throw new TypeError("Pass the raw body as a string or bytes, not parsed JSON.");
}

function readSecrets(secret: string | readonly string[]): readonly string[] {
  const secrets = typeof secret === "string" ? [secret] : secret;
  const is_good = secrets?.every(
    (text) => typeof text === "string" && text !== "" && text !== PREFIX,
  );
  if (!is_good || secrets.length === 0)
    throw new TypeError("Pass the webhook secret; it must not be empty.");
  return secrets;
}

function readHeaders(headers: WebhookHeaders): ReadHeader {
  const values = new Map<string, string>();
  for (const [name, value] of entriesOf(headers)) {
    const text = typeof value === "string" ? value : value.join(", ");
    const before = values.get(name.toLowerCase());
    // A header that was sent twice matches no signature.
    values.set(name.toLowerCase(), before === undefined ? text : `${before}, ${text}`);
  }
  return (name) => values.get(name) ?? null;
}

type HeaderEntry = readonly [name: string, value: string | readonly string[]];

function entriesOf(headers: WebhookHeaders): HeaderEntry[] {
  if (typeof headers !== "object" || headers === null) throw noHeaders();
  const entries: unknown[] =
    Symbol.iterator in headers
      ? [...(headers as Iterable<unknown>)]
      : Object.entries(headers).filter(([, value]) => value !== undefined && value !== null);
  if (!entries.every(isHeaderEntry)) throw noHeaders();
  return entries;
}

function isHeaderEntry(entry: unknown): entry is HeaderEntry {
  if (!Array.isArray(entry) || entry.length !== 2 || typeof entry[0] !== "string") return false;
  return typeof entry[1] === "string" || Array.isArray(entry[1]);
}

function noHeaders(): TypeError {
  return new TypeError("Pass the headers of the request: Headers, a record, a Map or pairs.");
}

function needed(header: ReadHeader, name: string): string {
  const value = header(name);
  if (value) return value;
  throw new WebhookVerificationError("header_missing", `The header ${name} is missing.`);
}

function malformed(what: string): WebhookVerificationError {
  return new WebhookVerificationError("header_malformed", `The header ${what}.`);
}
