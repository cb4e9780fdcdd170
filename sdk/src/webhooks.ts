import { toHex } from "./hex.ts";
import type { WebhookEvent } from "./webhook-events.ts";

// Web Crypto and nothing of Node's, so that a receiver may run anywhere.

const TOLERANCE_SECONDS = 300;
const DIGEST_BYTES = 32;
const STANDARD_HEADERS = ["webhook-id", "webhook-timestamp", "webhook-signature"] as const;

/** The bytes as they arrived, before any parser of JSON has touched them. */
export type RawBody = string | Uint8Array | ArrayBuffer;

/** Of a Request, of Node's `request.headers`, or any record, Map or pairs of names and values. */
export type WebhookHeaders =
  | Headers
  | Iterable<readonly [name: string, value: string]>
  | { readonly [name: string]: string | readonly string[] | undefined };

export type VerifyOptions = {
  /** How far `webhook-timestamp` may be from now, either way; 300 unless given. */
  tolerance_seconds?: number | undefined;
  /**
   * `any` (unless given) takes Standard Webhooks' headers where one of them is present, and
   * `X-Webhook-Signature` otherwise. That one does not cover the time: whoever once saw a request
   * can send it again. `standard` refuses requests that have only that.
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

/** The request is not from your Sliproad, or not fresh: answer 400 and do nothing else. */
export class WebhookVerificationError extends Error {
  override readonly name: string = "WebhookVerificationError";
  readonly reason: WebhookVerificationReason;

  constructor(reason: WebhookVerificationReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

/**
 * The event that a request carries, once its signature is proved. Several secrets may be given
 * while one replaces another.
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
    const message = "No signature fits: another secret, or a body that is not as it was sent.";
    throw new WebhookVerificationError("signature_mismatch", message);
  }
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    throw new WebhookVerificationError("body_unreadable", "The body is not JSON.");
  }
}

/** The headers that Sliproad would send with this body: for tests of a receiver. */
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

/** What is signed, with which form of a secret, and the digests that are claimed for it. */
type Claim = {
  text: Bytes;
  digests: readonly Bytes[];
  toKey: (secret: string) => Bytes;
};
type Bytes = Uint8Array<ArrayBuffer>;
type ReadHeader = (name: string) => string | null;

/** Standard Webhooks: `id.timestamp.body`, one or several `v1,<base64>` with spaces between. */
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
  if (digests.length === 0) throw malformed("webhook-signature holds no v1 signature");
  return { text: standardText(id, timestamp, body), digests, toKey: standardKey };
}

/** The interface's own: the lowercase hex digest of the body alone. */
function readInterface(header: ReadHeader, body: Bytes): Claim {
  const signature = needed(header, "x-webhook-signature");
  if (!/^[0-9a-f]{64}$/.test(signature)) throw malformed("X-Webhook-Signature is not a digest");
  const digest = Uint8Array.from(signature.match(/../g)!, (pair) => Number.parseInt(pair, 16));
  return { text: body, digests: [digest], toKey: interfaceKey };
}

/** What a comparison would silently let pass. */
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
  if (!/^\d{1,12}$/.test(timestamp)) throw malformed("webhook-timestamp is not a number");
  const { tolerance_seconds = TOLERANCE_SECONDS, now = new Date() } = options;
  const age_seconds = Math.floor(now.getTime() / 1000) - Number(timestamp);
  if (age_seconds > tolerance_seconds) {
    throw new WebhookVerificationError("too_old", `Signed ${age_seconds} s ago.`);
  }
  if (age_seconds < -tolerance_seconds) {
    throw new WebhookVerificationError("too_new", `Signed ${-age_seconds} s in the future.`);
  }
}

/** Every digest is compared with every secret's, whole: the time taken tells nothing. */
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

/** The interface's key is the whole text of the secret. */
function interfaceKey(secret: string): Bytes {
  return new TextEncoder().encode(secret);
}

const PREFIX = "whsec_";

/** Standard's key is what the base64 after `whsec_` stands for; another secret is its own bytes. */
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
  throw new TypeError("Give the raw body, as text or bytes, before any JSON parser has read it.");
}

function readSecrets(secret: string | readonly string[]): readonly string[] {
  const secrets = typeof secret === "string" ? [secret] : secret;
  const is_good = secrets?.every(
    (text) => typeof text === "string" && text !== "" && text !== PREFIX,
  );
  if (!is_good || secrets.length === 0) throw new TypeError("The webhook secret is empty.");
  return secrets;
}

function readHeaders(headers: WebhookHeaders): ReadHeader {
  const values = new Map<string, string>();
  for (const [name, value] of entriesOf(headers)) {
    const text = typeof value === "string" ? value : value.join(", ");
    const before = values.get(name.toLowerCase());
    // What was sent twice is no single value, and fits nothing.
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
  return new TypeError("Give the request's headers: Headers, a record, a Map or pairs.");
}

function needed(header: ReadHeader, name: string): string {
  const value = header(name);
  if (value) return value;
  throw new WebhookVerificationError("header_missing", `The header ${name} is missing.`);
}

function malformed(what: string): WebhookVerificationError {
  return new WebhookVerificationError("header_malformed", `The header ${what}.`);
}
