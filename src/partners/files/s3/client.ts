import { setTimeout as pause } from "node:timers/promises";
import aws4 from "aws4";
import { Agent, type Dispatcher, request as httpRequest } from "undici";
import { readElements } from "./xml.ts";

export type S3Settings = {
  bucket: string;
  endpoint: string;
  region: string;
  access_key_id: string;
  secret_access_key: string;
  /** `endpoint/bucket/key` rather than `bucket.endpoint/key`. */
  path_style: boolean;
  /** Without progress for this long, a request has failed. */
  timeout_ms?: number;
};

/** A body that can be sent again. Its hash is signed: what arrives otherwise, S3 refuses. */
export type S3Body = {
  open: () => NonNullable<Dispatcher.DispatchOptions["body"]>;
  bytes: number;
  /** SHA-256 in hex. */
  hash: string;
};

type S3Request = {
  method: "GET" | "HEAD" | "PUT" | "POST" | "DELETE";
  /** Of the object; empty for the bucket itself. */
  key: string;
  query?: Readonly<Record<string, string>>;
  body?: S3Body;
};

export type S3Client = {
  /** An answer of 2xx. Rejects with an S3Error for any other, and if there is none. */
  send(request: S3Request): Promise<Dispatcher.ResponseData>;
};

/** What S3 refused, or why it did not answer. `status` is 0 then. */
export class S3Error extends Error {
  readonly status: number;
  readonly code: string;

  constructor(message: string, status: number, code: string, cause?: unknown) {
    super(message, { cause });
    this.status = status;
    this.code = code;
  }

  /** There is no such object. A missing bucket is another matter. */
  get is_missing(): boolean {
    return this.status === 404 && this.code === NO_SUCH_KEY;
  }
}

const NO_SUCH_KEY = "NoSuchKey";
const TIMEOUT_MS = 10_000;
const ATTEMPTS_MAX = 3;
const RETRY_BASE_MS = 200;
const CONNECTIONS_MAX = 32;
/** A page of a list has at most 1000 names; the rest is a few lines. */
const XML_BYTES_MAX = 4 * 1024 * 1024;

/** Signed requests to one bucket (AWS Signature Version 4). What may pass is tried three times. */
export function openS3Client(settings: S3Settings): S3Client {
  const { timeout_ms = TIMEOUT_MS } = settings;
  const dispatcher = new Agent({
    connections: CONNECTIONS_MAX,
    connect: { timeout: timeout_ms },
    headersTimeout: timeout_ms,
    bodyTimeout: timeout_ms,
  });
  return {
    send: async (request) => {
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await sendOnce(settings, dispatcher, request);
        } catch (error) {
          if (!(error instanceof S3Error) || !mayPass(error)) throw error;
          if (attempt >= ATTEMPTS_MAX) throw error;
          await pause(RETRY_BASE_MS * 4 ** (attempt - 1) * (0.5 + Math.random()));
        }
      }
    },
  };
}

/** No answer, too many requests, or an error of S3 itself. */
function mayPass({ status }: S3Error): boolean {
  return status === 0 || status === 408 || status === 429 || status >= 500;
}

async function sendOnce(
  settings: S3Settings,
  dispatcher: Dispatcher,
  request: S3Request,
): Promise<Dispatcher.ResponseData> {
  const { origin, path, headers } = signRequest(settings, request);
  const { method, body } = request;
  let answer: Dispatcher.ResponseData;
  try {
    answer = await httpRequest(`${origin}${path}`, {
      method,
      headers,
      dispatcher,
      body: body?.open() ?? null,
    });
  } catch (error) {
    const { code = "", message } = error as Error & { code?: string };
    throw new S3Error(`no answer from ${origin} (${code || message})`, 0, code, error);
  }
  if (answer.statusCode >= 200 && answer.statusCode < 300) return answer;
  const { code, message } = await readError(method, answer);
  const said = [code, message].filter(Boolean).join(": ");
  throw new S3Error(
    `${origin} answered ${answer.statusCode} to ${method}${said && ` (${said})`}`,
    answer.statusCode,
    code,
  );
}

/** Exported for a test with the example of S3's documentation. */
export function signRequest(
  settings: S3Settings,
  { method, key, query, body }: S3Request,
  given_headers: Readonly<Record<string, string>> = {},
): { origin: string; path: string; headers: Record<string, string> } {
  const { protocol, host, pathname } = new URL(settings.endpoint);
  const { bucket, path_style, region } = settings;
  let base = pathname;
  while (base.endsWith("/")) base = base.slice(0, -1);
  const parts = [base, ...(path_style ? [bucket] : []), key];
  const named = path_style ? host : `${bucket}.${host}`;
  const search = query ? `?${new URLSearchParams(query)}` : "";
  const signed = aws4.sign(
    {
      service: "s3",
      region,
      method,
      host: named,
      path: `${path_style || base !== "" ? parts.join("/") : `/${key}`}${search}`,
      headers: {
        ...given_headers,
        ...(body
          ? { "content-length": String(body.bytes), "x-amz-content-sha256": body.hash }
          : {}),
      },
    },
    { accessKeyId: settings.access_key_id, secretAccessKey: settings.secret_access_key },
  );
  const headers = signed.headers as Record<string, string>;
  return { origin: `${protocol}//${named}`, path: signed.path!, headers };
}

async function readError(method: string, { statusCode, body }: Dispatcher.ResponseData) {
  const xml = await readXml(body).catch(() => "");
  // The answer to HEAD has no body that could say more.
  if (method === "HEAD") return { code: statusCode === 404 ? NO_SUCH_KEY : "", message: "" };
  try {
    const { Code, Message } = readElements(xml, ["Code", "Message"]);
    return { code: Code[0] ?? "", message: Message[0] ?? "" };
  } catch {
    // A proxy in front of it may answer with anything.
    return { code: "", message: "" };
  }
}

/** The whole body of an answer that is known to be small. */
export async function readXml(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > XML_BYTES_MAX) throw new S3Error("an answer was too long", 0, "");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
